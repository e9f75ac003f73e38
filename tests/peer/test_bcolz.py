"""Datasets of ours read, appended to and trimmed by the package `bcolz-zipline`; datasets of its making changed by ours, and
read by it again. NumPy is what they are measured by.
"""

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
CODECS = dict(none=h.CODEC_NONE, blosclz=h.CODEC_BLOSCLZ, lz4=h.CODEC_LZ4, lz4hc=h.CODEC_LZ4HC, zlib=h.CODEC_ZLIB, zstd=h.CODEC_ZSTD)
FILTERS = dict(none=b"\0", shuffle=b"\1", bitshuffle=b"\2")
# those that bcolz opens again
DTYPES = ("<f8", ">f8", "<f4", "<f2", ">i4", "<i8", "|i1", ">u2", "|u1", "|b1", "|S5", "|S300", "<U3", "<M8[ns]", "<M8[D]")
NOT_THEIRS = ("<M8[D]",)  # it opens them and cannot make them


def joined(*parts):
    """NumPy would turn numbers round."""
    return np.concatenate(parts).astype(parts[0].dtype)


class Datasets(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-bcolz-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng = random.Random(f"{SEED} {self._testMethodName}")
        self.noise = np.random.default_rng(self.rng.randrange(1 << 30))
        self.tally = collections.Counter()
        self.files = itertools.count()

    def tearDown(self):
        told = ", ".join(f"{n} {what}" for what, n in self.tally.items())
        print(f"{self._testMethodName}: {told} (HOLDALL_SEED={SEED})")

    def path(self):
        return self.folder / f"{next(self.files)}.bcolz"

    def items(self, dtype, shape):
        """Any items, some of them alike; text is ASCII, as both have it."""
        dtype = np.dtype(dtype)
        n = int(np.prod(shape))
        if dtype.kind == "U":
            return np.array([self.rng.choice(["", "a", "bcd", "xyz"]) for _ in range(n)], dtype).reshape(shape)
        if dtype.kind == "b":
            return self.noise.integers(0, 2, shape).astype(dtype)
        if dtype.kind == "f":
            return self.noise.integers(-1000, 1000, shape).astype(dtype)
        if dtype.kind == "S":
            return np.array([b"%d" % self.rng.randrange(1000) for _ in range(n)], dtype).reshape(shape)
        return self.noise.integers(0, 120, shape).astype(dtype)

    def theirs(self, path, want):
        array = bcolz.open(str(path), mode="r")
        got = array[:]
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), path)
        self.assertEqual(got.tobytes(), want.tobytes(), path)

    def ours(self, path, want):
        with h.Array(path, verify=2) as array:
            self.assertEqual((np.dtype(array.dtype), array.shape), (want.dtype, want.shape), path)
            self.assertEqual(array.read([0] * want.ndim, want.shape, [1] * want.ndim), want.tobytes(), path)

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
                        array.write([at] + [0] * len(row), [few, *row], [1] * want.ndim, new.tobytes())
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

    def test_every_dtype_changed_by_turns(self):
        for dtype, row, first in itertools.product(DTYPES, ((), (3,)), ("ours", "theirs")):
            if dtype in NOT_THEIRS and first == "theirs":
                continue
            want = self.items(dtype, (self.rng.choice([0, 1, 500, 4000]), *row))
            path = self.path()
            if first == "ours":
                with h.Array.create(path, np.dtype(dtype).str, (0, *row), format=h.FORMAT_BCOLZ, expected_rows=self.rng.choice([0, 10, 10**6])) as array:
                    array.append(0, len(want), want.tobytes())
                    array.commit()
            else:
                bcolz.carray(want, rootdir=str(path), mode="w").flush()
            with self.subTest(dtype=dtype, row=row, first=first):
                self.both(path, want)
                for _ in range(4):
                    want = (self.change_ours if self.rng.randrange(2) else self.change_theirs)(path, want)
                    self.both(path, want)

    def test_every_codec_and_filter_is_read_by_bcolz(self):
        want = self.items("<i8", (30_000,))
        for (codec, number), (filter, bytes), sum in itertools.product(CODECS.items(), FILTERS.items(), (h.SUM_NONE, h.SUM_CRC32, h.SUM_SHA256)):
            path = self.path()
            with h.Array.create(path, "<i8", (0,), format=h.FORMAT_BCOLZ, codec=number, filters=bytes, checksum=sum, chunk_bytes=65536) as array:
                array.append(0, len(want), want.tobytes())
                array.commit()
            with self.subTest(codec=codec, filter=filter, sum=sum):
                self.both(path, want)
                self.both(path, self.change_theirs(path, want))

    def test_attributes_go_both_ways(self):
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
        self.assertEqual(dict(bcolz.open(str(path), mode="r").attrs.getall()), {"ours": 1, "theirs": [1, "x"]})
        # what BLZ needs is there, too
        storage = json.loads((path / "meta/storage").read_text())
        self.assertTrue({"dtype", "cparams", "bparams", "chunklen", "expectedlen", "dflt"} <= set(storage))
        self.tally["attributes"] += 2

    def test_columns_of_their_tables_are_arrays_of_ours(self):
        path = self.path()
        a, b = self.items("<i4", (5000,)), self.items("|S5", (5000,))
        bcolz.ctable((a, b), names=["a", "b"], rootdir=str(path), mode="w").flush()
        self.both(path / "a", self.change_ours(path / "a", a))
        self.tally["columns"] += 1


if __name__ == "__main__":
    unittest.main()
