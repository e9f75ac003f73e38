"""CTables that holdall and python-blosc2 change in turn: both read the same rows after each change."""

import dataclasses
import os
import pathlib
import random
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
ROUNDS = int(os.environ.get("HOLDALL_TIMES", 6))
CHANGES = 12
DTYPES = {
    "i": "<i4",
    "u": "|u1",
    "f": "<f8",
    "z": "<c8",
    "flag": "|b1",
    "text": "<U4",
    "bytes": "|S3",
    "at": "<M8[us]",
    "pair": "('<f4', (2,))",
    "a.b": "<i8",
}


def rows(rng, n):
    """Random rows: an array per column."""
    draw = np.random.default_rng(rng.randrange(1 << 30))
    made = {}
    for name, dtype in DTYPES.items():
        shape = (n, 2) if name == "pair" else (n,)
        items = draw.integers(0, 99, shape)
        if name in ("text", "bytes"):
            made[name] = items.astype(str).astype(dtype)
        elif name == "pair":
            made[name] = items.astype("<f4")
        elif name == "flag":
            made[name] = items > 50
        else:
            made[name] = items.astype(dtype)
    return made


def packed(made):
    return [np.ascontiguousarray(made[name]).tobytes() for name in DTYPES]


class InTurn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.b2d"

    def test_changes_in_turn(self):
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, round=number):
                self.path = self.path.with_name(f"x{number}.b2d")
                self.in_turn(random.Random(f"{SEED} {number}"))

    def in_turn(self, rng):
        model = rows(rng, rng.choice((1, 40, 3000)))
        options = rng.choice(({}, dict(chunk_bytes=4096), dict(checksum=h.CHECKSUM_NONE)))
        with h.Table.create(self.path, DTYPES, format=h.FORMAT_CTABLE, **options) as table:
            table.append(len(model["i"]), packed(model))
            table.commit()
        self.check(model)
        for _ in range(CHANGES):
            change = rng.choice((self.by_holdall, self.by_holdall, self.by_blosc2))
            model = change(rng, model)
            self.check(model)
        self.add_columns(len(model["i"]))

    def add_columns(self, n):
        """Rows of new columns are those of the other columns, whatever was deleted before."""
        numbers, texts = np.arange(n), [str(i) for i in range(n)]
        with h.Table(self.path, h.APPEND) as table:
            table.column_add(0, "number", "<i8", numbers.tobytes())
            table.column_add(2, "long", "T", h.Values([text.encode() for text in texts]))
            table.commit()
        with blosc2.CTable.open(str(self.path), mode="r") as table:
            self.assertEqual(len(table), n)
            if n:
                self.assertTrue(np.array_equal(table["number"][:], numbers))
                self.assertEqual(list(table["long"][:]), texts)

    def by_holdall(self, rng, model):
        n = len(model["i"])
        with h.Table(self.path, h.APPEND) as table:
            for _ in range(rng.randrange(1, 4)):
                n = len(model["i"])
                at, more = rng.randrange(n + 1), rng.choice((1, 7, 500))
                new = rows(rng, more)
                what = rng.randrange(4)
                if what == 0:
                    table.append(more, packed(new))
                    model = {k: np.concatenate((model[k], new[k])) for k in model}
                elif what == 1:
                    table.insert(at, more, packed(new))
                    both = lambda k: (model[k][:at], new[k], model[k][at:])
                    model = {k: np.concatenate(both(k)) for k in model}
                elif what == 2:
                    gone = min(more, n - at)
                    table.remove(at, gone)
                    model = {k: np.delete(v, slice(at, at + gone), 0) for k, v in model.items()}
                else:
                    over = min(more, n - at)
                    name = rng.choice(list(DTYPES))
                    model[name] = model[name].copy()
                    model[name][at : at + over] = new[name][:over]
                    table.write(name, at, over, new[name][:over].tobytes())
            table.commit()
        return model

    def by_blosc2(self, rng, model):
        n, more = len(model["i"]), rng.choice((1, 7, 500))
        with blosc2.CTable.open(str(self.path), mode="a") as table:
            what = rng.randrange(3)
            if what == 0 or n == 0:
                new = rows(rng, more)
                as_stored = {k: v.astype("i8") if k == "at" else v for k, v in new.items()}
                table.extend(as_stored, validate=False)
                model = {k: np.concatenate((model[k], new[k])) for k in model}
            elif what == 1:
                gone = sorted(rng.sample(range(n), min(more, n // 2)))
                if gone:
                    table.delete(gone)
                    model = {k: np.delete(v, gone, 0) for k, v in model.items()}
            else:
                row, value = rng.randrange(n), rng.randrange(99)
                table["i"][row] = value
                model["i"] = model["i"].copy()
                model["i"][row] = value
        return model

    def check(self, model):
        n = len(model["i"])
        with h.Table(self.path) as table:
            self.assertEqual((table.names, len(table)), (list(DTYPES), n))
            for name, expected in model.items():
                column = table[name]
                ndim = expected.ndim
                got = column.read([0] * ndim, list(expected.shape), [1] * ndim)
                self.assertEqual(got, expected.tobytes(), name)
        with blosc2.CTable.open(str(self.path), mode="r") as table:
            self.assertEqual(len(table), n)
            for name, expected in model.items():
                got = np.asarray(table[name][:]).astype(expected.dtype)
                self.assertTrue(np.array_equal(got, expected), f"{name} by python-blosc2")
            # an index that is out of date would lose rows, or find others
            least = int(np.median(model["i"])) if n else 0
            found = len(table.where(table["i"] >= least))
            self.assertEqual(found, int((model["i"] >= least).sum()))
        verified = h.Verified(self.path)
        self.assertEqual((verified.error, verified.corrupt, verified.faults), (None, 0, []))


@dataclasses.dataclass
class Indexed:
    i: int = blosc2.field(blosc2.int64(), default=0)
    u: int = blosc2.field(blosc2.uint16(), default=0)
    f: float = blosc2.field(blosc2.float64(), default=0)
    flag: bool = blosc2.field(blosc2.bool(), default=False)
    n: int = blosc2.field(blosc2.int32(null_value=-1), default=0)
    x: float = blosc2.field(blosc2.float32(null_value=float("nan")), default=0)


class Summaries(unittest.TestCase):
    """The extrema of blocks that python-blosc2 stores are current after changes by holdall."""

    NULLS = {"n": lambda items: items == -1, "x": np.isnan}

    def rows(self, draw, n):
        sorted_, noise = np.sort(draw.integers(-(10**9), 10**9, n)), draw.integers(0, 9, n)
        return {
            "i": sorted_.astype("<i8"),
            "u": draw.integers(0, 60000, n).astype("<u2"),
            "f": np.where(noise == 0, np.nan, sorted_ / 7).astype("<f8"),
            "flag": sorted_ > 0,
            "n": np.where(noise == 1, -1, abs(sorted_)).astype("<i4"),
            "x": np.where(noise == 2, np.nan, sorted_).astype("<f4"),
        }

    def test_they_are_current_after_changes(self):
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, round=number), tempfile.TemporaryDirectory() as folder:
                self.changed(pathlib.Path(folder) / "x.b2d", np.random.default_rng([SEED, number]))

    def changed(self, path, draw):
        model = self.rows(draw, int(draw.choice((1, 3000, 100_000))))
        table = blosc2.CTable(Indexed, urlpath=str(path), mode="w")
        table.extend(model)
        table.close()
        self.check(path, model)
        for _ in range(6):
            n, more = len(model["i"]), int(draw.choice((1, 40, 70_000)))
            new, at, what = self.rows(draw, more), int(draw.integers(0, n + 1)), draw.integers(0, 4)
            gone = min(more, n - at, n // 2)
            items = [np.ascontiguousarray(new[name]).tobytes() for name in new]
            with h.Table(path, h.APPEND) as table:
                if what == 0:
                    table.append(more, items)
                    at, gone = n, 0
                elif what == 1:
                    table.insert(at, more, items)
                    gone = 0
                elif what == 2:
                    table.remove(at, gone)
                    new = {name: column[:0] for name, column in new.items()}
                else:
                    new = {name: column[:gone] for name, column in new.items()}
                    for name, column in new.items():
                        table.write(name, at, gone, column.tobytes())
                table.commit()
            model = {k: np.concatenate((v[:at], new[k], v[at + gone :])) for k, v in model.items()}
            self.check(path, model)

    def check(self, path, model):
        with blosc2.CTable.open(str(path), mode="r") as table:
            catalog = table._get_index_catalog()
            self.assertEqual(set(catalog), set(model))
            for name, index in catalog.items():
                level = index["levels"]["block"]
                stored = blosc2.open(level["path"], mode="r")[:]
                items = blosc2.open(str(path / f"_cols/{name}.b2nd"), mode="r")[:]
                valid = ~self.NULLS[name](items) if name in self.NULLS else None
                expected = blosc2.indexing._compute_segment_summaries(
                    items, items.dtype, level["segment_len"], valid
                )
                self.assertEqual(stored.tolist(), expected.tolist(), name)
                self.assertEqual((index["stale"], index["shape"]), (False, items.shape), name)
                self.assertEqual(level["nsegments"], len(stored), name)
            least = int(np.median(model["i"])) if len(model["i"]) else 0
            found = table.where(table["i"] >= least)
            self.assertEqual(len(found), int((model["i"] >= least).sum()))
        self.check_conditions(path, model)

    def check_conditions(self, path, model):
        """Conditions, for which the extrema exclude rows, select those that pass."""
        i, u, f, flag, n, x = model.values()
        n_valid, x_valid = n != -1, ~np.isnan(x)
        draw = np.random.default_rng([SEED, len(i)])
        with h.Table(path) as table:
            for _ in range(2):
                a, b = sorted(int(v) for v in draw.choice(np.append(i, 0), 2))
                small, wide = sorted(int(v) for v in draw.integers(0, 60000, 2))
                for condition, passes in (
                    (f"i between {a} and {b}", (i >= a) & (i <= b)),
                    (f"i < {a} or i > {b}", (i < a) | (i > b)),
                    (f"not (i < {a} or u > {wide})", (i >= a) & (u <= wide)),
                    (f"u in ({small}, {wide})", (u == small) | (u == wide)),
                    (f"f > {b / 7}", (f > b / 7) | np.isnan(f)),
                    (f"not f > {b / 7}", f <= b / 7),
                    (f"flag and i < {b}", flag & (i < b)),
                    (f"n < {b} and n is not null", n_valid & (n < b)),
                    (f"not n = {abs(a)}", n_valid & (n != abs(a))),
                    (f"x >= {b} or i = {a}", x_valid & (x >= np.float32(b)) | (i == a)),
                    (f"x is null and i > {a}", ~x_valid & (i > a)),
                ):
                    self.assertEqual(table.where(condition), np.flatnonzero(passes).tolist(), condition)


@dataclasses.dataclass
class Source:
    x: int = blosc2.field(blosc2.int64())


class Generated(unittest.TestCase):
    """Columns that python-blosc2 computes from others."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.b2d"
        with blosc2.CTable(Source, urlpath=str(self.path), mode="w") as table:
            table.extend({"x": np.arange(10)})
            table.add_generated_column("stored", values="x * 2", dtype=np.int64)
            table.add_computed_column("virtual", "x + 1")

    def read(self, name):
        with h.Table(self.path) as table:
            self.assertEqual(table.names, ["x", "stored", "virtual"])
            return np.frombuffer(table[name].read((0,), (10,), (1,)), "<i8").tolist()

    def refused(self, name):
        with self.assertRaises(h.Error), h.Table(self.path) as table:
            table[name].read((0,), (10,), (1,))
        with self.assertRaises(h.Error) as raised, h.Table(self.path) as table:
            table.values(name)
        self.assertEqual(raised.exception.status, h.E_UNSUPPORTED)
        return str(raised.exception)

    def test_what_is_stored_is_read_unless_it_is_out_of_date(self):
        self.assertEqual(self.read("stored"), list(range(0, 20, 2)))
        self.assertIn("computed", self.refused("virtual"))
        with blosc2.CTable.open(str(self.path), mode="a") as table:
            table["x"][3] = 100
        self.assertEqual(self.read("x")[3], 100)
        self.assertIn("out of date", self.refused("stored"))
        with blosc2.CTable.open(str(self.path), mode="a") as table:
            table.refresh_generated_column("stored")
        self.assertEqual(self.read("stored")[3], 200)

    def test_the_table_is_read_only(self):
        with self.assertRaises(h.Error) as raised:
            h.Table(self.path, h.APPEND)
        self.assertEqual(raised.exception.status, h.E_UNSUPPORTED)


if __name__ == "__main__":
    unittest.main()
