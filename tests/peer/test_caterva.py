"""caterva 0.7.3, and `blosc2` if it can, read and change arrays of holdall with the metalayer of
caterva, and with that of b2nd beside it; holdall changes arrays of caterva. caterva runs in a
Python of its own, if it is available."""

import itertools
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

import blosc2
import holdall_c as h
import numpy as np
from beside import Beside
from test_frames import metalayers

PYTHON = (
    pathlib.Path(os.environ.get("HOLDALL_CATERVA") or h.ROOT / "target/venv-caterva") / "bin/python"
)
SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
CODECS = dict(blosclz=h.CODEC_BLOSCLZ, lz4=h.CODEC_LZ4, zstd=h.CODEC_ZSTD)
DTYPES = ("|u1", "<i2", "<f4", "<f8", "<c16")


@unittest.skipUnless(PYTHON.exists(), f"caterva is not there: {PYTHON}")
class Caterva(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-caterva-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng, self.states, self.files = random.Random(SEED), 0, itertools.count()
        self.theirs = Beside(PYTHON, "theirs_caterva.py", self.folder)
        self.addCleanup(self.theirs.close)

    def tearDown(self):
        print(
            f"{self._testMethodName}: {self.states} states (HOLDALL_SEED={SEED})", file=sys.stderr
        )

    def items(self, dtype, shape):
        numbers = np.array([self.rng.randrange(100) for _ in range(int(np.prod(shape)))]).reshape(
            shape
        )
        return numbers.astype(dtype)

    def shape(self, ndim):
        return [self.rng.randrange(1, (60, 30, 12, 7, 5)[ndim - 1] + 1) for _ in range(ndim)]

    def cuts(self, shape):
        chunks = [self.rng.randrange(1, n + 1) for n in shape]
        return chunks, [
            self.rng.randrange(1, n + (4 if self.rng.random() < 0.2 else 1)) for n in chunks
        ]

    def check(self, path, want, both=False):
        got = self.folder / "got.npy"
        self.theirs("read", path=path, to=got)
        theirs = np.load(got)
        self.assertEqual((theirs.shape, theirs.tobytes()), (want.shape, want.tobytes()))
        with h.Array(path) as array:
            self.assertEqual((array.shape, array.itemsize), (want.shape, want.itemsize))
            self.assertEqual(
                array.read([0] * want.ndim, want.shape, [1] * want.ndim), want.tobytes()
            )
        if both:
            array = blosc2.open(str(path), mode="r")
            self.assertEqual((array.dtype, array[...].tobytes()), (want.dtype, want.tobytes()))
        frame = blosc2.open(str(path), mode="r")
        metalayers(getattr(frame, "schunk", frame))
        self.states += 1

    def changed_by_theirs(self, path, want):
        start = [self.rng.randrange(n) for n in want.shape]
        new = self.items(
            want.dtype, [self.rng.randrange(1, n - a + 1) for a, n in zip(start, want.shape)]
        )
        self.theirs("write", path=path, start=start, rows=new)
        want = want.copy()
        want[tuple(slice(a, a + n) for a, n in zip(start, new.shape))] = new
        return want

    def changed_by_ours(self, path, want):
        axis = self.rng.randrange(want.ndim)
        with h.Array(path, h.APPEND, durability=0) as array:
            start = [self.rng.randrange(n) for n in want.shape]
            new = self.items(
                want.dtype, [self.rng.randrange(1, n - a + 1) for a, n in zip(start, want.shape)]
            )
            array.write(start, new.shape, [1] * want.ndim, new.tobytes())
            want = want.copy()
            want[tuple(slice(a, a + n) for a, n in zip(start, new.shape))] = new
            shape = list(want.shape)
            shape[axis] = self.rng.randrange(1, 4)
            more = self.items(want.dtype, shape)
            at = self.rng.randrange(want.shape[axis] + 1)
            array.insert(axis, at, shape[axis], more.tobytes())
            before, after = np.split(want, [at], axis)
            want = np.concatenate([before, more, after], axis)
            if want.shape[axis] > 1:
                array.remove(axis, 0, 1)
                want = np.delete(want, 0, axis)
            array.commit()
        return want

    def history(self, path, want, both=False):
        for _ in range(2):
            want = self.changed_by_ours(path, want)
            self.check(path, want, both)
            if not both:
                want = self.changed_by_theirs(path, want)
                self.check(path, want)

    def test_arrays_of_holdall_are_changed_by_caterva(self):
        for ndim, sparse, codec in itertools.product(range(1, 6), (0, 1), CODECS):
            for both in (False, True):
                dtype, path = self.rng.choice(DTYPES), self.folder / f"{next(self.files)}"
                want = self.items(dtype, self.shape(ndim))
                chunks, blocks = self.cuts(want.shape)
                more = dict(
                    format=h.FORMAT_CATERVA,
                    chunk_shape=chunks,
                    block_shape=blocks,
                    codec=CODECS[codec],
                    sparse=sparse,
                    durability=0,
                )
                if both:
                    more["both_metalayers"] = 1
                with self.subTest(dtype=dtype, shape=want.shape, both=both, seed=SEED, **more):
                    with h.Array.create(path, want.dtype.str, want.shape, **more) as array:
                        array.write([0] * ndim, want.shape, [1] * ndim, want.tobytes())
                        array.commit()
                    self.check(path, want, both)
                    self.assertEqual(
                        self.theirs("shapes", path=path), [list(want.shape), chunks, blocks]
                    )
                    self.history(path, want, both)

    def test_arrays_of_caterva_are_changed_by_holdall(self):
        for ndim, contiguous in itertools.product(range(1, 6), (True, False)):
            dtype, path = self.rng.choice(DTYPES), self.folder / f"{next(self.files)}"
            want = self.items(dtype, self.shape(ndim))
            chunks, blocks = self.cuts(want.shape)
            with self.subTest(
                dtype=dtype,
                shape=want.shape,
                chunks=chunks,
                blocks=blocks,
                contiguous=contiguous,
                seed=SEED,
            ):
                self.theirs(
                    "create",
                    path=path,
                    rows=want,
                    chunks=chunks,
                    blocks=blocks,
                    contiguous=contiguous,
                )
                self.check(path, want)
                self.history(path, want)


if __name__ == "__main__":
    unittest.main()
