"""Predicates select the same rows as DuckDB: random tables, and random conditions on them."""

import contextlib
import os
import random
import re
import unittest

import duckdb
import numpy as np
import pyarrow as pa

from case import SEED, Case, holdall

TABLES = int(os.environ.get("HOLDALL_TIMES", 12))
CONDITIONS = 250
ROWS = (0, 1, 40, 300)
INTEGERS = {"i1": pa.int8(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64()} | {
    "u1": pa.uint8(), "u2": pa.uint16(), "u4": pa.uint32(), "u8": pa.uint64()
}
FLOATS = {"f4": pa.float32(), "f8": pa.float64()}
TIMES = {unit: pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")}
TEXTS = ["", "a", "ab", "abc", "b", "é", "éa", "z", "\U0001f600", "it's", "A"]


def limits(name):
    bits = 8 * int(name[1])
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Columns:
    """Random values, and constants that are near them."""

    def __init__(self, rng, nulls):
        self.rng, self.nulls = rng, nulls
        self.types = INTEGERS | FLOATS | {"flag": pa.bool_(), "text": pa.string()} | TIMES

    def value(self, name):
        rng = self.rng
        if name in INTEGERS:
            low, high = limits(name)
            edges = [low, low + 1, high - 1, high]
            return rng.choice([*edges, *(max(low, min(high, rng.randrange(-9, 9))) for _ in edges)])
        if name in FLOATS:
            few = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 2.0**100, -(2.0**-100)]
            return rng.choice([*few, *(rng.randrange(-40, 40) / 8 for _ in few)])
        if name == "flag":
            return rng.random() < 0.5
        if name == "text":
            return rng.choice(TEXTS)
        return np.datetime64("2013-01-01T00:00:00", name) + rng.randrange(-5, 5) * 43_200 * {
            "s": 1, "ms": 1000, "us": 10**6, "ns": 10**9
        }[name]

    def table(self, n):
        def column(name, of):
            values = [self.value(name) for _ in range(n)]
            if self.nulls:
                values = [None if self.rng.random() < 0.2 else value for value in values]
            return pa.array(values, of, from_pandas=False)

        return pa.table({name: column(name, of) for name, of in self.types.items()})

    def constant(self, name):
        """A constant as both understand it, and as only DuckDB does."""
        rng, value = self.rng, self.value(name)
        if name in INTEGERS:
            if rng.random() < 0.2:
                # beyond the integers that a float has
                return 2 * (f"{value}.0",)
            if rng.random() < 0.2:
                fraction = rng.randrange(-20, 20) + 0.5
                low, high = limits(name)
                if low <= fraction <= high:
                    return str(fraction), str(fraction)
            return str(value), str(value)
        if name in FLOATS:
            # constants that both types have: DuckDB compares a float with a constant as doubles
            if abs(value) < 100:
                return repr(value), repr(value)
            return str(value), f"'{value}'::{'float' if name == 'f4' else 'double'}"
        if name == "flag":
            return str(value).lower(), str(value).lower()
        if name == "text":
            text = "'" + value.replace("'", "''") + "'"
            return text, text
        return f"'{value}'", f"'{str(value).replace('T', ' ')}'::timestamp_{name}".replace("_us", "")


class Conditions:
    """Random conditions in two spellings."""

    def __init__(self, columns):
        self.columns, self.rng = columns, columns.rng

    def test(self):
        rng, columns = self.rng, self.columns
        name = rng.choice(list(columns.types))
        quoted = rng.choice((name, f'"{name}"'))
        kind = rng.randrange(8)
        if name == "flag" and kind == 0:
            return quoted, f'"{name}"'
        if name == "text" and kind < 3:
            function, part = rng.choice(("starts_with", "contains")), columns.constant(name)[0]
            return (f"{function}({quoted}, {part})", f'{function}("{name}", {part})')
        if kind == 1:
            negated = rng.choice(("", "not "))
            return f"{quoted} is {negated}null", f'"{name}" is {negated}null'
        negated = rng.choice(("", "not "))
        if kind == 2:
            (a, a2), (b, b2) = columns.constant(name), columns.constant(name)
            return (
                f"{quoted} {negated}between {a} and {b}",
                f'"{name}" {negated}between {a2} and {b2}',
            )
        if kind == 3:
            all = [columns.constant(name) for _ in range(rng.randrange(1, 5))]
            ours, theirs = (", ".join(spelling) for spelling in zip(*all))
            return f"{quoted} {negated}in ({ours})", f'"{name}" {negated}in ({theirs})'
        comparison, (ours, theirs) = rng.choice("= <> < <= > >=".split()), columns.constant(name)
        if kind == 4:
            return f"{ours} {comparison} {quoted}", f'{theirs} {comparison} "{name}"'
        return f"{quoted} {comparison} {ours}", f'"{name}" {comparison} {theirs}'

    def any(self, depth):
        kind = self.rng.randrange(6) if depth else 9
        if kind < 4:
            word = ("and", "or")[kind % 2]
            parts = [self.any(depth - 1) for _ in range(self.rng.randrange(2, 4))]
            return tuple(f"({f' {word} '.join(spelling)})" for spelling in zip(*parts))
        if kind == 4:
            return tuple(f"not {spelling}" for spelling in self.any(depth - 1))
        return tuple(f"({spelling})" for spelling in self.test())


class Where(Case):
    def test_rows_are_those_of_duckdb(self):
        cases = 0
        for number in range(TABLES):
            rng = random.Random(f"{SEED} {number}")
            columns = Columns(rng, number % 2)
            rows = columns.table(rng.choice(ROWS))
            path = self.path(".b2d")
            holdall.Table.from_arrow(path, rows, durability=0).close()
            with contextlib.ExitStack() as stack:
                table = stack.enter_context(holdall.Table(path))
                db = stack.enter_context(duckdb.connect())
                numbers = pa.array(range(len(rows)), pa.int64())
                db.register("given", rows.append_column("row_number", numbers))
                db.execute("create table t as select * from given")
                conditions = Conditions(columns)
                for _ in range(CONDITIONS):
                    ours, theirs = conditions.any(rng.randrange(3))
                    query = f"select row_number from t where {theirs} order by row_number"
                    with self.subTest(seed=SEED, table=number, condition=ours, duckdb=theirs):
                        expected = [row for (row,) in db.execute(query).fetchall()]
                        self.assertEqual(table.where(ours).tolist(), expected)
                    cases += 1
        print(f"{cases} conditions, seed {SEED}")

    def test_all_formats(self):
        numbers = np.arange(100_000, dtype=">i4") % 1000
        for format in ("bcolz", "blz", "blz_rfc"):
            columns = {"n": ">i4", "code": "S3", "name": "U4"}
            with holdall.Table.create(self.path(), columns, format, durability=0) as table:
                texts = np.array(["a", "é", "bcd", ""])[numbers % 4]
                code = np.char.encode(texts, "utf-8")
                table.append({"n": numbers, "code": code, "name": texts})
                table.commit()
                found = table.where("n between 10 and 20 and (name = 'é' or code = 'bcd')")
                expected = (numbers >= 10) & (numbers <= 20) & (numbers % 4 % 3 > 0)
                np.testing.assert_array_equal(found, np.flatnonzero(expected))

    def test_what_is_wrong_is_named(self):
        columns = Columns(random.Random(1), True)
        with holdall.Table.from_arrow(self.path(".b2d"), columns.table(5), durability=0) as table:
            for condition, error, part in (
                ("nothing = 1", holdall.ArgumentError, "nothing"),
                ("i1 > 1000", holdall.RangeError, "-128 to 127"),
                ("u1 = -1", holdall.RangeError, "0 to 255"),
                ("i4 = 'x'", holdall.TypeError, "a number"),
                ("text = 1", holdall.TypeError, "text"),
                ("text", holdall.TypeError, "Boolean"),
                ("i4", holdall.TypeError, "Boolean"),
                ("flag = 1", holdall.TypeError, "true or false"),
                ("us > 'yesterday'", holdall.TypeError, "a time"),
                ("us > 5", holdall.TypeError, "a time"),
                ("starts_with(i4, 'x')", holdall.TypeError, "texts"),
                ("i4 > (1", holdall.ArgumentError, "^"),
            ):
                with self.assertRaisesRegex(error, re.escape(part), msg=condition):
                    table.where(condition)


if __name__ == "__main__":
    unittest.main()
