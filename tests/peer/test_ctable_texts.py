"""Columns of texts and of other values of any length that holdall and python-blosc2 change in turn:
both read the same rows after each change."""

import dataclasses
import os
import pathlib
import random
import tempfile
import unittest

import blosc2
import msgpack

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
ROUNDS = int(os.environ.get("HOLDALL_TIMES", 3))
CHANGES = 8


@dataclasses.dataclass
class Row:
    utf8: str = blosc2.field(blosc2.utf8())
    masked: str = blosc2.field(blosc2.utf8(nullable=True))
    marked: str = blosc2.field(blosc2.utf8(null_value="NULL"))
    text: str = blosc2.field(blosc2.vlstring(nullable=True))
    octets: bytes = blosc2.field(blosc2.vlbytes())
    word: str = blosc2.field(blosc2.dictionary())
    numbers: list[int] = blosc2.field(blosc2.list(blosc2.int64()))
    pair: dict = blosc2.field(blosc2.struct({"a": blosc2.int64(), "t": blosc2.string(max_length=8)}))
    single: list[str] = blosc2.field(blosc2.list(blosc2.vlstring(), storage="vl"))
    any: object = blosc2.field(blosc2.object(nullable=True))
    x: int = blosc2.field(blosc2.int64())


NAMES = [field.name for field in dataclasses.fields(Row)]
NULLABLE = ("masked", "marked", "text", "word", "any")


def value(rng, name):
    """A random value, as python-blosc2 takes it."""
    if name in NULLABLE and rng.randrange(5) == 0:
        return None
    n = rng.choice((0, 1, 2, 9, 300))
    text = "".join(rng.choice("aé\U0001f600 ") for _ in range(n))
    return {
        "octets": bytes(rng.randrange(256) for _ in range(n)),
        "word": f"word {rng.randrange(30)}",
        "numbers": [rng.randrange(-(1 << 40), 1 << 40) for _ in range(min(n, 20))],
        "single": [text[:3]] * min(n, 3),
        "any": rng.choice((n, text, -0.5, [text, {"a": True}], b"\xff" * n)),
        "pair": {"a": rng.randrange(1000), "t": text[:2]},
        "x": n,
    }.get(name, text)


def rows(rng, n):
    return {name: [value(rng, name) for _ in range(n)] for name in NAMES}


def stored(name, one):
    """A value as holdall takes it."""
    if one is None:
        return None
    if name in ("numbers", "pair", "single", "any"):
        return msgpack.packb(one)
    return one if name == "octets" else one.encode()


def packed(made):
    """The columns for holdall."""
    return [column(name, values) for name, values in made.items()]


def column(name, values):
    if name == "x":
        return b"".join(one.to_bytes(8, "little") for one in values)
    return h.Values([stored(name, one) for one in values])


class InTurn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_changes_in_turn(self):
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, round=number):
                self.path = self.folder / f"x{number}.b2d"
                self.in_turn(random.Random(f"{SEED} {number}"))

    def test_rows_at_positions_of_nulls_are_not_null(self):
        # blosc2 does not write the mask for rows without nulls
        path = self.folder / "nulls.b2d"
        changes = (
            lambda table: table.remove(1, 3),
            lambda table: table.append(2, packed(rows(nulls, 2))) or table.remove(1, 5),
        )
        for change in changes:
            nulls = random.Random(1)
            first = rows(nulls, 4)
            first.update({name: ["x", None, None, None] for name in NULLABLE})
            with blosc2.CTable(Row, urlpath=str(path), mode="w") as table:
                table.extend(first)
            with h.Table(path, h.APPEND) as table:
                change(table)
                table.commit()
            new = rows(nulls, 2)
            new.update({name: ["y", "z"] for name in NULLABLE})
            with blosc2.CTable.open(str(path), mode="a") as table:
                table.extend(new)
            self.path = path
            self.check({name: [first[name][0], *new[name]] for name in NAMES})

    def in_turn(self, rng):
        with blosc2.CTable(Row, urlpath=str(self.path), mode="w") as table:
            model = rows(rng, rng.choice((0, 1, 50, 5000)))
            if model["x"]:
                table.extend(model)
        if rng.randrange(2):
            # a copy has the same kinds of columns
            other = self.path.with_name(f"copy of {self.path.name}")
            with h.Table(self.path) as table:
                codec = rng.choice((h.CODEC_LZ4, h.CODEC_ZSTD))
                table.copy(other, format=h.FORMAT_CTABLE, codec=codec)
            self.path = other
        self.check(model)
        for _ in range(CHANGES):
            model = rng.choice((self.by_holdall, self.by_holdall, self.by_blosc2))(rng, model)
            self.check(model)

    def by_holdall(self, rng, model):
        with h.Table(self.path, h.APPEND) as table:
            for _ in range(rng.randrange(1, 4)):
                n = len(model["x"])
                at, more = rng.randrange(n + 1), rng.choice((1, 7, 2500))
                new = rows(rng, more)
                what = rng.randrange(5) if n < 9 else rng.randrange(4)
                if what == 0:
                    table.append(more, packed(new))
                    model = {name: [*model[name], *new[name]] for name in NAMES}
                elif what == 1:
                    table.insert(at, more, packed(new))
                    both = lambda name: [*model[name][:at], *new[name], *model[name][at:]]
                    model = {name: both(name) for name in NAMES}
                elif what == 2:
                    gone = min(more, n - at)
                    table.remove(at, gone)
                    model = {k: v[:at] + v[at + gone :] for k, v in model.items()}
                elif what == 4:
                    # what is appended to no rows at all is longer than what there was
                    table.remove(0, n)
                    model = {name: [] for name in NAMES}
                else:
                    over = min(more, n - at)
                    name = rng.choice(NAMES)
                    table.write(name, at, over, column(name, new[name][:over]))
                    model[name] = [*model[name][:at], *new[name][:over], *model[name][at + over :]]
            table.commit()
        return model

    def by_blosc2(self, rng, model):
        n, more = len(model["x"]), rng.choice((1, 7, 2500))
        with blosc2.CTable.open(str(self.path), mode="a") as table:
            # python-blosc2 4.14.1 appends to the end of these columns, but to others after the last
            # row that exists: if those at the end are deleted, the values are not aligned
            gone = sorted(rng.sample(range(n - 1), min(more, n // 2))) if n > 1 else []
            if rng.randrange(2) and gone:
                table.delete(gone)
                lost = set(gone)
                keep = lambda values: [v for i, v in enumerate(values) if i not in lost]
                return {name: keep(values) for name, values in model.items()}
            new = rows(rng, more)
            table.extend(new)
            return {name: [*model[name], *new[name]] for name in NAMES}

    def check(self, model):
        n = len(model["x"])
        with h.Table(self.path) as table:
            self.assertEqual((table.names, len(table)), (NAMES, n))
            for name in NAMES[:-1]:
                expected = [stored(name, one) for one in model[name]]
                self.assertTrue(table.values(name) == expected, name)
        with blosc2.CTable.open(str(self.path), mode="r") as table:
            self.assertEqual(len(table), n)
            for name in NAMES:
                got = list(table[name][:]) if n else []
                if name in ("masked", "marked") and n:
                    got = [None if null else one for one, null in zip(got, table[name].is_null())]
                self.assertTrue(got == model[name], f"{name} by python-blosc2")
        verified = h.Verified(self.path)
        self.assertEqual((verified.error, verified.corrupt, verified.faults), (None, 0, []))


if __name__ == "__main__":
    unittest.main()
