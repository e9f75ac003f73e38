"""BLZ 0.6.2 reads and changes datasets of holdall, in the layout of BLZ and in that of both;
holdall changes datasets of BLZ, which reads them again. BLZ runs in a Python of its own, if it
could be built."""

import itertools
import os
import pathlib
import random
import shutil
import tempfile
import unittest

import holdall_c as h
import numpy as np
from beside import Beside

PYTHON = pathlib.Path(os.environ.get("HOLDALL_BLZ") or h.ROOT / "target/venv-blz") / "bin/python"
SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
FORMS = dict(blz=h.FORMAT_BLZ, both=h.FORMAT_BCOLZ)
CODECS = dict(blosclz=h.CODEC_BLOSCLZ, lz4=h.CODEC_LZ4, lz4hc=h.CODEC_LZ4HC, zlib=h.CODEC_ZLIB)
DTYPES = ("<f8", ">f8", "<f4", ">i4", "<i8", "|i1", "<u2", "|b1", "|S5", "<U3", "<M8[ns]")
ROWS = ((), (3,), (2, 2))


@unittest.skipUnless(PYTHON.exists(), f"BLZ is not there: {PYTHON}")
class Blz(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-blz-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng, self.states = random.Random(SEED), 0
        self.theirs = Beside(PYTHON, "theirs_blz.py", self.folder)
        self.addCleanup(self.theirs.close)

    def tearDown(self):
        print(f"{self._testMethodName}: {self.states} states (HOLDALL_SEED={SEED})")

    def items(self, dtype, shape):
        numbers = np.array([self.rng.randrange(100) for _ in range(int(np.prod(shape)))]).reshape(
            shape
        )
        return numbers.astype("<i8").astype(dtype)

    def check(self, path, want):
        got = self.folder / "got.npy"
        self.theirs("read", path=path, to=got)
        theirs = np.load(got)
        self.assertEqual((theirs.shape, theirs.dtype.itemsize), (want.shape, want.dtype.itemsize))
        self.assertEqual(theirs.astype(want.dtype).tobytes(), want.tobytes())
        with h.Array(path, verify=2) as array:
            self.assertEqual((array.shape, np.dtype(array.dtype)), (want.shape, want.dtype))
            self.assertEqual(
                array.read([0] * want.ndim, want.shape, [1] * want.ndim), want.tobytes()
            )
        self.states += 1

    def change(self, path, want):
        """A change by either side."""
        row, n, rows = want.shape[1:], self.rng.choice([1, 7, 100, 700]), len(want)
        new, at = self.items(want.dtype, (n, *row)), self.rng.randrange(rows + 1)
        few = new[: rows - at]
        match self.rng.randrange(7):
            case 0:
                self.theirs("append", path=path, rows=new)
                return np.concatenate([want, new]).astype(want.dtype)
            case 1 if rows:
                self.theirs("trim", path=path, n=min(n, rows))
                return want[: rows - min(n, rows)]
            case 2 if len(few):
                self.theirs("write", path=path, at=at, rows=few)
                return np.concatenate([want[:at], few, want[at + len(few) :]]).astype(want.dtype)
        with h.Array(path, h.APPEND) as array:
            if self.rng.randrange(2):
                array.append(0, n, new.tobytes())
                want = np.concatenate([want, new]).astype(want.dtype)
            else:
                array.insert(0, at, n, new.tobytes())
                want = np.concatenate([want[:at], new, want[at:]]).astype(want.dtype)
            array.commit()
        return want

    def test_every_dtype_is_changed_in_turns(self):
        makers = [*FORMS, "theirs"]
        for i, (dtype, row, maker) in enumerate(itertools.product(DTYPES, ROWS, makers)):
            want, path = (
                self.items(dtype, (self.rng.choice([0, 1, 500, 3000]), *row)),
                self.folder / f"{i}.blz",
            )
            if maker == "theirs":
                self.theirs("create", path=path, rows=want)
            else:
                with h.Array.create(
                    path,
                    dtype,
                    (0, *row),
                    format=FORMS[maker],
                    chunk_bytes=self.rng.choice([512, 4096, 65536]),
                ) as array:
                    array.append(0, len(want), want.tobytes())
                    array.attr_set("unit", b'"m"')
                    array.commit()
            with self.subTest(dtype=dtype, row=row, maker=maker):
                self.check(path, want)
                if maker != "theirs":
                    self.assertEqual(self.theirs("attrs", path=path), {"unit": "m"})
                for _ in range(4):
                    want = self.change(path, want)
                    self.check(path, want)

    def test_every_codec_and_the_fill_value_are_read(self):
        for (form, format), (codec, number), shuffle in itertools.product(
            FORMS.items(), CODECS.items(), (h.FILTERS[:1], h.FILTERS[1:2])
        ):
            path, want = self.folder / f"{form}-{codec}-{shuffle[0]}.blz", self.items(
                "<i4", (20_000,)
            )
            fill = np.int32(7)
            with h.Array.create(
                path,
                "<i4",
                (5,),
                format=format,
                codec=number,
                filters=shuffle,
                fill_value=fill.tobytes(),
            ) as array:
                array.append(0, len(want), want.tobytes())
                array.commit()
            want = np.concatenate([np.full(5, fill, "<i4"), want])
            with self.subTest(form=form, codec=codec, shuffle=shuffle):
                self.check(path, want)
                self.assertEqual(self.theirs("dflt", path=path), int(fill))
                self.check(path, self.change(path, want))


if __name__ == "__main__":
    unittest.main()
