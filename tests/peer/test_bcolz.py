"""The package `bcolz-zipline` reads, appends to and trims datasets of holdall; holdall changes
datasets of the package, which reads them again. NumPy is the reference."""

import collections
import itertools
import json
import os
import pathlib
import random
import shutil
import tempfile
import unittest

import bcolz
import numpy as np

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
CODECS = dict(
    none=h.CODEC_NONE,
    blosclz=h.CODEC_BLOSCLZ,
    lz4=h.CODEC_LZ4,
    lz4hc=h.CODEC_LZ4HC,
    zlib=h.CODEC_ZLIB,
    zstd=h.CODEC_ZSTD,
)
FILTERS = dict(zip(("none", "shuffle", "bitshuffle"), (h.FILTERS[i : i + 1] for i in range(3))))
# those that bcolz opens again
DTYPES = (
    "<f8",
    ">f8",
    "<f4",
    "<f2",
    ">i4",
    "<i8",
    "|i1",
    ">u2",
    "|u1",
    "|b1",
    "|S5",
    "|S300",
    "<U3",
    "<M8[ns]",
    "<M8[D]",
)
NOT_THEIRS = ("<M8[D]",)  # it opens them and cannot create them


def joined(*parts):
    """NumPy would swap the bytes of numbers."""
    return np.concatenate(parts).astype(parts[0].dtype)


class Peers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-bcolz-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng = random.Random(f"{SEED} {self._testMethodName}")
        self.noise = np.random.default_rng(self.rng.randrange(1 << 30))
        self.tally = collections.Counter()
        self.files = itertools.count()

    def tearDown(self):
        summary = ", ".join(f"{n} {what}" for what, n in self.tally.items())
        print(f"{self._testMethodName}: {summary} (HOLDALL_SEED={SEED})")

    def path(self):
        return self.folder / f"{next(self.files)}.bcolz"

    def items(self, dtype, shape):
        """Random items, some of them equal; text is ASCII, which both support."""
        dtype = np.dtype(dtype)
        n = int(np.prod(shape))
        if dtype.kind == "U":
            return np.array(
                [self.rng.choice(["", "a", "bcd", "xyz"]) for _ in range(n)], dtype
            ).reshape(shape)
        if dtype.kind == "b":
            return self.noise.integers(0, 2, shape).astype(dtype)
        if dtype.kind == "f":
            return self.noise.integers(-1000, 1000, shape).astype(dtype)
        if dtype.kind == "S":
            return np.array([b"%d" % self.rng.randrange(1000) for _ in range(n)], dtype).reshape(
                shape
            )
        return self.noise.integers(0, 120, shape).astype(dtype)


class Datasets(Peers):
    def theirs(self, path, want):
        array = bcolz.open(str(path), mode="r")
        got = array[:]
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), path)
        self.assertEqual(got.tobytes(), want.tobytes(), path)

    def ours(self, path, want):
        with h.Array(path, verify=2) as array:
            self.assertEqual((np.dtype(array.dtype), array.shape), (want.dtype, want.shape), path)
            self.assertEqual(
                array.read([0] * want.ndim, want.shape, [1] * want.ndim), want.tobytes(), path
            )

    def both(self, path, want):
        self.theirs(path, want)
        self.ours(path, want)
        self.tally["states"] += 1

    def change_ours(self, path, want):
        """Changes a dataset in some ways, with one commit."""
        with h.Array(path, h.APPEND) as array:
            for _ in range(self.rng.randrange(1, 4)):
                rows, row = len(want), want.shape[1:]
                at, n = self.rng.randrange(rows + 1), self.rng.choice([0, 1, 7, 100, 1000])
                few = min(n, rows - at)
                match self.rng.randrange(5):
                    case 0 | 1:
                        new = self.items(want.dtype, (n, *row))
                        array.append(0, n, new.tobytes())
                        want = joined(want, new)
                    case 2:
                        new = self.items(want.dtype, (few, *row))
                        array.write(
                            [at] + [0] * len(row), [few, *row], [1] * want.ndim, new.tobytes()
                        )
                        want = joined(want[:at], new, want[at + few :])
                    case 3:
                        new = self.items(want.dtype, (n, *row))
                        array.insert(0, at, n, new.tobytes())
                        want = joined(want[:at], new, want[at:])
                    case 4:
                        array.remove(0, at, few)
                        want = joined(want[:at], want[at + few :])
            array.commit()
        self.tally["changes of ours"] += 1
        return want

    def change_theirs(self, path, want):
        array = bcolz.open(str(path), mode="a")
        rows, n = len(want), self.rng.choice([1, 7, 100, 1000])
        match self.rng.randrange(3):
            case 0 | 1:
                new = self.items(want.dtype, (n, *want.shape[1:]))
                array.append(new)
                want = joined(want, new)
            case 2 if rows > 0:
                n = min(n, rows)
                array.trim(n)
                want = want[: rows - n]
        array.flush()
        self.tally["changes of theirs"] += 1
        return want

    def test_every_dtype_is_changed_in_turns(self):
        for dtype, row, first in itertools.product(DTYPES, ((), (3,)), ("ours", "theirs")):
            if dtype in NOT_THEIRS and first == "theirs":
                continue
            want = self.items(dtype, (self.rng.choice([0, 1, 500, 4000]), *row))
            path = self.path()
            if first == "ours":
                with h.Array.create(
                    path,
                    np.dtype(dtype).str,
                    (0, *row),
                    format=h.FORMAT_BCOLZ,
                    expected_rows=self.rng.choice([0, 10, 10**6]),
                ) as array:
                    array.append(0, len(want), want.tobytes())
                    array.commit()
            else:
                bcolz.carray(want, rootdir=str(path), mode="w").flush()
            with self.subTest(dtype=dtype, row=row, first=first):
                self.both(path, want)
                for _ in range(4):
                    want = (self.change_ours if self.rng.randrange(2) else self.change_theirs)(
                        path, want
                    )
                    self.both(path, want)

    def test_every_codec_and_filter_is_read_by_bcolz(self):
        want = self.items("<i8", (30_000,))
        for (codec, number), (filter, bytes), sum in itertools.product(
            CODECS.items(), FILTERS.items(), (h.CHECKSUM_NONE, h.CHECKSUM_CRC32, h.CHECKSUM_SHA256)
        ):
            path = self.path()
            with h.Array.create(
                path,
                "<i8",
                (0,),
                format=h.FORMAT_BCOLZ,
                codec=number,
                filters=bytes,
                checksum=sum,
                chunk_bytes=65536,
            ) as array:
                array.append(0, len(want), want.tobytes())
                array.commit()
            with self.subTest(codec=codec, filter=filter, sum=sum):
                self.both(path, want)
                self.both(path, self.change_theirs(path, want))

    def test_attributes_are_read_by_both(self):
        path = self.path()
        with h.Array.create(path, "<f8", (3,), format=h.FORMAT_BCOLZ) as array:
            array.attr_set("ours", b'{"a": [1, 2.5, null], "b": "\xc3\xa9"}')
            array.commit()
        theirs = bcolz.open(str(path), mode="a")
        self.assertEqual(theirs.attrs["ours"], {"a": [1, 2.5, None], "b": "\xe9"})
        theirs.attrs["theirs"] = [1, "x"]
        theirs.flush()
        with h.Array(path, h.APPEND) as array:
            array.attr_set("ours", b"1")
            array.commit()
        self.assertEqual(
            dict(bcolz.open(str(path), mode="r").attrs.getall()), {"ours": 1, "theirs": [1, "x"]}
        )
        # the files that BLZ needs exist, too
        storage = json.loads((path / "meta/storage").read_text())
        self.assertTrue(
            {"dtype", "cparams", "bparams", "chunklen", "expectedlen", "dflt"} <= set(storage)
        )
        self.tally["attributes"] += 2

    def test_columns_of_bcolz_tables_are_arrays(self):
        path = self.path()
        a, b = self.items("<i4", (5000,)), self.items("|S5", (5000,))
        bcolz.ctable((a, b), names=["a", "b"], rootdir=str(path), mode="w").flush()
        self.both(path / "a", self.change_ours(path / "a", a))
        self.tally["columns"] += 1


class Table(h.Table):
    """Tables as dictionaries of arrays."""

    @classmethod
    def of(cls, path, columns, **options):
        table = cls.create(
            path, {name: spelled(values) for name, values in columns.items()}, **options
        )
        table.extend(columns)
        return table

    def extend(self, columns):
        self.append(
            len(next(iter(columns.values()))), [values.tobytes() for values in columns.values()]
        )

    def truncate(self, rows):
        h.call("table_truncate", self._handle, rows)

    def write(self, name, start, values):
        data = values.tobytes()
        h.call("table_write", self._handle, name.encode(), start, len(values), data, len(data))

    def add(self, at, name, values):
        data = values.tobytes()
        h.call(
            "table_column_add",
            self._handle,
            at,
            name.encode(),
            spelled(values).encode(),
            data,
            len(data),
        )

    def remove(self, name):
        h.call("table_column_remove", self._handle, name.encode())


def spelled(values):
    """Returns the dtype of a column with rows like these."""
    row = values.shape[1:]
    return f"('{values.dtype.str}', {row})" if row else values.dtype.str


class Tables(Peers):
    def columns(self, n, names, dtypes=DTYPES):
        """n rows of columns of random kinds."""
        kinds = (
            (name, self.rng.choice(dtypes), self.rng.choice([(), (), (3,), (2, 2)]))
            for name in names
        )
        return {name: self.items(dtype, (n, *row)) for name, dtype, row in kinds}

    def more(self, want, n):
        return {
            name: self.items(values.dtype, (n, *values.shape[1:])) for name, values in want.items()
        }

    def equal(self, path, got, want):
        self.assertEqual(list(got), list(want), path)
        for name, values in want.items():
            self.assertEqual(
                (got[name].dtype, got[name].shape), (values.dtype, values.shape), (path, name)
            )
            self.assertEqual(got[name].tobytes(), values.tobytes(), (path, name))

    def both(self, path, want):
        theirs = bcolz.open(str(path), mode="r")
        self.assertEqual(len(theirs), len(next(iter(want.values()))), path)
        self.equal(path, {name: theirs[name][:] for name in theirs.names}, want)
        with Table(path, verify=2) as table:
            self.assertEqual(set(table.stored_rows()), {len(table)}, path)
            got = {}
            for name in table.names:
                array = table[name]
                bytes = array.read([0] * len(array.shape), array.shape, [1] * len(array.shape))
                got[name] = np.frombuffer(bytes, array.dtype).reshape(array.shape)
            self.equal(path, got, want)
        self.tally["states"] += 1

    def change_ours(self, path, want, new_names):
        """Changes a table in some ways, with one commit."""
        want = dict(want)
        with Table(path, h.APPEND) as table:
            for _ in range(self.rng.randrange(1, 4)):
                rows = len(next(iter(want.values())))
                at, n = self.rng.randrange(rows + 1), self.rng.choice([0, 1, 7, 100, 3000])
                match self.rng.randrange(6):
                    case 0 | 1:
                        new = self.more(want, n)
                        table.extend(new)
                        want = {name: joined(values, new[name]) for name, values in want.items()}
                    case 2:
                        table.truncate(at)
                        want = {name: values[:at] for name, values in want.items()}
                    case 3:
                        name, few = self.rng.choice(list(want)), min(n, rows - at)
                        new = self.items(want[name].dtype, (few, *want[name].shape[1:]))
                        table.write(name, at, new)
                        want[name] = joined(want[name][:at], new, want[name][at + few :])
                    case 4 if new_names:
                        name, position = new_names.pop(), self.rng.randrange(len(want) + 1)
                        new = self.columns(rows, [name])
                        table.add(position, name, new[name])
                        want = dict(
                            [
                                *list(want.items())[:position],
                                *new.items(),
                                *list(want.items())[position:],
                            ]
                        )
                    case 5 if len(want) > 1:
                        name = self.rng.choice(list(want))
                        table.remove(name)
                        new_names.append(name)
                        del want[name]
            table.commit()
        self.tally["changes of ours"] += 1
        return want

    def change_theirs(self, path, want, new_names):
        want = dict(want)
        table = bcolz.open(str(path), mode="a")
        rows, n = len(table), self.rng.choice([1, 7, 100, 3000])
        match self.rng.randrange(5):
            case 0 | 1:
                new = self.more(want, n)
                table.append(list(new.values()))
                want = {name: joined(values, new[name]) for name, values in want.items()}
            case 2 if rows > 0:
                table.trim(min(n, rows))
                want = {name: values[: rows - min(n, rows)] for name, values in want.items()}
            case 3 if new_names:
                name = new_names.pop()
                dtypes = [dtype for dtype in DTYPES if dtype not in NOT_THEIRS]
                new = self.columns(rows, [name], dtypes)
                table.addcol(new[name], name=name)
                want |= new
            case 4 if len(want) > 1:
                name = self.rng.choice(list(want))
                table.delcol(name)
                new_names.append(name)
                del want[name]
        table.flush()
        self.tally["changes of theirs"] += 1
        return want

    def test_tables_are_changed_in_turns(self):
        for round in range(60):
            first = ("ours", "theirs")[round % 2]
            names = ["a", "b_b", "\xe9t\xe9", "d", "e"][: self.rng.randrange(1, 6)]
            dtypes = (
                DTYPES
                if first == "ours"
                else [dtype for dtype in DTYPES if dtype not in NOT_THEIRS]
            )
            path, want = self.path(), self.columns(self.rng.choice([1, 500, 4000]), names, dtypes)
            if first == "ours":
                with Table.of(path, want, expected_rows=self.rng.choice([0, 10, 10**6])) as table:
                    table.commit()
            else:
                bcolz.ctable(list(want.values()), names=names, rootdir=str(path), mode="w").flush()
            new_names = ["x", "y", "z"]
            with self.subTest(first=first, round=round):
                self.both(path, want)
                for _ in range(6):
                    want = (self.change_ours if self.rng.randrange(2) else self.change_theirs)(
                        path, want, new_names
                    )
                    self.both(path, want)

    def test_chunks_have_the_length_that_bcolz_chooses(self):
        for rows in (0, 1, 1000, 10**5, 10**7, 10**9):
            ours, theirs = self.path(), self.path()
            want = {
                "a": self.items("<i4", (3,)),
                "b": self.items("|S300", (3,)),
                "c": self.items("<f8", (3, 5)),
            }
            bcolz.ctable(
                list(want.values()),
                names=list(want),
                rootdir=str(theirs),
                mode="w",
                expectedlen=rows,
            ).flush()
            with Table.of(ours, want, expected_rows=rows) as table:
                table.commit()
            for name in want:
                lengths = [
                    json.loads((path / name / "meta/storage").read_text())["chunklen"]
                    for path in (ours, theirs)
                ]
                self.assertEqual(*lengths, (rows, name))
                self.tally["columns"] += 1

    def test_tables_have_equal_properties(self):
        path = self.path()
        with Table.of(
            path, {"a": self.items("<i4", (10,)), "b": self.items("<f8", (10,))}
        ) as table:
            table.attr_set("ours", b'{"a": [1, 2.5, null]}')
            table.commit()
        theirs = bcolz.open(str(path), mode="a")
        self.assertEqual(theirs.attrs["ours"], {"a": [1, 2.5, None]})
        theirs.attrs["theirs"] = "x"
        theirs.flush()
        with Table(path, h.APPEND) as table:
            h.call("table_attr_set", table._handle, b"ours", None, 0)
            table.commit()
        self.assertEqual(dict(bcolz.open(str(path), mode="r").attrs.getall()), {"theirs": "x"})
        # the files that BLZ needs exist, too
        dirs = json.loads((path / "__rootdirs__").read_text())
        self.assertEqual(dirs, {"names": ["a", "b"], "dirs": {"a": "a", "b": "b"}})
        self.assertEqual(json.loads((path / "a/__attrs__").read_text()), {})
        self.tally["attributes"] += 2

    def test_unequal_columns_of_a_crashed_bcolz_are_read(self):
        path = self.path()
        want = {"a": self.items("<i4", (5000,)), "b": self.items("|S5", (5000,))}
        bcolz.ctable(list(want.values()), names=list(want), rootdir=str(path), mode="w").flush()
        # it wrote only two columns
        second = bcolz.open(str(path / "b"), mode="a")
        second.append(self.items("|S5", (3000,)))
        second.flush()
        with Table(path, h.APPEND) as table:
            self.assertEqual((len(table), table.stored_rows()), (5000, [5000, 8000]))
            new = self.more(want, 100)
            table.extend(new)
            table.commit()
        self.both(path, {name: joined(values, new[name]) for name, values in want.items()})


if __name__ == "__main__":
    unittest.main()
