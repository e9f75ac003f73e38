"""The package `bloscpack` reads arrays of holdall; holdall reads, changes and copies arrays of the
package, which reads them again. NumPy is the reference."""

import collections
import itertools
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import unittest

import numpy as np

import holdall_c as h
import theirs
from theirs import bloscpack

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
HISTORIES = int(os.environ.get("HOLDALL_HISTORIES", 2))  # of each type and order
CODECS = dict(
    blosclz=h.CODEC_BLOSCLZ,
    lz4=h.CODEC_LZ4,
    lz4hc=h.CODEC_LZ4HC,
    zlib=h.CODEC_ZLIB,
    zstd=h.CODEC_ZSTD,
)
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
    "<c16",
    ">c8",
    "|S5",
    "|S300",
    "<U3",
    ">U2",
    "|V7",
    "<M8[ns]",
    ">m8[s]",
    "<M8[25D]",
    [("a", "<i4"), ("b", ">f8")],
    [("a", "|S3"), ("grid", "<u2", (2, 3)), ("in", [("x", "<f4"), ("it's", "|b1")])],
    [("pad", "|V3"), ("\xfcn\xef", "<U2")],
)


def literal(dtype):
    """A type in the spelling of NumPy files."""
    return str(np.dtype(dtype).descr) if np.dtype(dtype).names else np.dtype(dtype).str


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def joined(parts, axis):
    """NumPy would swap the bytes of numbers, and of fields."""
    dtype = parts[0].dtype
    return np.concatenate(
        [np.ascontiguousarray(part).view(f"V{dtype.itemsize}") for part in parts], axis
    ).view(dtype)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-arrays-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.tally = collections.Counter()
        self.began = time.monotonic()
        self.rng = random.Random(f"{SEED} {self._testMethodName}")
        self.files = itertools.count()

    def tearDown(self):
        summary = ", ".join(f"{n} {what}" for what, n in self.tally.items())
        print(
            f"{self._testMethodName}: {summary}, {time.monotonic() - self.began:.0f} s",
            file=sys.stderr,
        )

    def path(self):
        return self.folder / f"{next(self.files)}.blp"

    def items(self, dtype, shape):
        """Random items; text and booleans are such that NumPy reads them unchanged."""
        dtype, rng = np.dtype(dtype), np.random.default_rng(self.rng.getrandbits(32))
        n = int(np.prod(shape)) * dtype.itemsize
        data = (
            rng.integers(0, 2, n, "u1")
            if self.rng.random() < 0.8 or dtype.kind in "bU" or dtype.names
            else rng.integers(0, 256, n, "u1")
        )
        return np.frombuffer(data.tobytes(), dtype).reshape(shape) if n else np.zeros(shape, dtype)

    def shape(self, empty=True):
        ndim = self.rng.choice((0, 1, 1, 2, 2, 3) if empty else (1, 1, 2, 2, 3))
        return tuple(
            self.rng.randrange(
                0 if empty and self.rng.random() < 0.1 else 1, (4000, 90, 20)[ndim - 1]
            )
            for _ in range(ndim)
        )

    def options(self, itemsize):
        rng = self.rng
        codec = rng.choice(list(CODECS))
        return dict(
            codec=CODECS[codec],
            level=rng.choice((1, 5, 9)),
            filters=bytes([rng.choice(h.FILTERS)]),
            checksum=rng.choice(h.CHECKSUMS),
            offsets=rng.choice((0, 1, 1)),
            chunk_bytes=rng.choice((1, 7, 60, 500)) * max(itemsize, 1),
            durability=0,
        )

    # ---- reading

    def check_theirs(self, path, model):
        got = theirs.unpack_ndarray(path)
        self.assertTrue(
            same(got, model),
            f"bloscpack reads {got.dtype} {got.shape}, {model.dtype} {model.shape} is right, or "
            "items differ",
        )
        self.tally["reads by bloscpack"] += 1

    def check_ours(self, array, model):
        rng = self.rng
        self.assertEqual(
            (array.shape, np.dtype(eval(array.dtype) if array.dtype[0] == "[" else array.dtype)),
            (model.shape, model.dtype),
        )
        self.assertTrue(
            array.read((0,) * model.ndim, model.shape, (1,) * model.ndim) == model.tobytes()
        )
        for _ in range(3):
            slices = [
                slice(a := rng.randrange(n + 1), rng.randrange(a, n + 1), rng.randrange(1, 5))
                for n in model.shape
            ]
            part = model[(*slices, ...)]  # of an array without dimensions too, one item is taken
            got = array.read([s.start for s in slices], part.shape, [s.step for s in slices])
            self.assertTrue(got == part.tobytes(), f"{slices} of {model.shape}")
        if model.size and model.ndim:
            lists = [[rng.randrange(n) for _ in range(rng.randrange(1, 6))] for n in model.shape]
            self.assertTrue(
                array.read_orthogonal(lists) == model[np.ix_(*lists)].tobytes(),
                f"{lists} of {model.shape}",
            )
            points = [[rng.randrange(n) for n in model.shape] for _ in range(9)]
            self.assertTrue(
                array.read_points(points) == model[tuple(zip(*points))].tobytes(),
                f"{points} of {model.shape}",
            )
        self.tally["reads by holdall"] += 1

    # ---- changing

    def axis(self, array):
        """Returns an axis along which it grows and shrinks."""
        return 0 if array.order == "C" else array.ndim - 1

    def change(self, array, model):
        """Makes one change to an array and to its model."""
        rng, axis = self.rng, self.axis(array)
        what = (
            rng.choice(("append", "insert", "remove", "resize", "write")) if model.ndim else "write"
        )
        shape, n = list(model.shape), rng.randrange(12)
        at = rng.randrange(shape[axis] + 1) if model.ndim else 0
        if what in ("append", "insert"):
            at = shape[axis] if what == "append" else at
            shape[axis] = n
            new = self.items(model.dtype, shape)
            (
                array.append(axis, n, new.tobytes())
                if what == "append"
                else array.insert(axis, at, n, new.tobytes())
            )
            before, after = np.split(model, [at], axis)
            model = joined([before, new, after], axis)
        elif what == "remove":
            n = min(n, shape[axis] - at)
            array.remove(axis, at, n)
            before, _, after = np.split(model, [at, at + n], axis)
            model = joined([before, after], axis)
        elif what == "resize":
            shape[axis] = max(shape[axis] + rng.randrange(-9, 9), 0)
            array.resize(shape)
            retained = tuple(slice(0, min(a, b)) for a, b in zip(shape, model.shape))
            new = (
                np.frombuffer(bytes(int(np.prod(shape)) * model.dtype.itemsize), model.dtype)
                .reshape(shape)
                .copy()
            )
            new[retained] = model[retained]
            model = new
        else:
            start = [rng.randrange(n + 1) for n in shape]
            step = [rng.randrange(1, 4) for _ in shape]
            selection = tuple(slice(a, None, s) for a, s in zip(start, step))
            model = model.copy()
            new = self.items(
                model.dtype, model[(*selection, ...)].shape
            )  # a scalar of random characters is none
            array.write(start, new.shape, step, new.tobytes())
            model[selection] = new
        self.tally[f"{what}s"] += 1
        return model

    def history(self, path, model):
        for _ in range(2):
            with h.Array(path, h.APPEND, durability=0) as array:
                for _ in range(self.rng.randrange(1, 4)):
                    model = self.change(array, model)
                self.check_ours(array, model)
                array.commit()
            self.check_theirs(path, model)
            with h.Array(path) as array:
                self.check_ours(array, model)
        options = self.options(model.dtype.itemsize)
        options["chunk_bytes"] = None if self.rng.random() < 0.3 else options["chunk_bytes"]
        copy = self.path()
        with h.Array(path) as array:
            array.copy(copy, **options)
        self.check_theirs(copy, model)
        with h.Array(copy) as array:
            self.check_ours(array, model)
        self.tally["copies"] += 1

    # ---- tests

    def test_arrays_of_holdall_are_read_by_bloscpack(self):
        for dtype, order, _ in itertools.product(DTYPES, "CF", range(HISTORIES)):
            with self.subTest(dtype=dtype, order=order, seed=SEED):
                model, path = self.items(dtype, self.shape()), self.path()
                options = self.options(model.dtype.itemsize)
                if order == "C":
                    with h.Array.create(path, literal(dtype), model.shape, **options) as array:
                        array.write(
                            (0,) * model.ndim, model.shape, (1,) * model.ndim, model.tobytes()
                        )
                        array.commit()
                else:
                    spelled = literal(dtype) if model.dtype.names else repr(literal(dtype))
                    meta = dict(dtype=spelled, shape=model.shape, order="F", container="numpy")
                    with h.Schunk.create(path, 1, **options) as schunk:
                        schunk.set_meta(json.dumps(meta).encode())
                        schunk.append(model.tobytes("F"))
                        schunk.commit()
                self.check_theirs(path, model)
                self.history(path, model)

    def test_each_checksum_is_read_by_bloscpack(self):
        for sum in h.CHECKSUMS:
            model, path = self.items("<f8", (200, 30)), self.path()
            with h.Array.create(
                path, "<f8", model.shape, checksum=sum, chunk_bytes=2400, durability=0
            ) as array:
                array.write((0, 0), model.shape, (1, 1), model.tobytes())
                array.commit()
            self.check_theirs(path, model)
            self.history(path, model)

    def test_arrays_of_bloscpack_are_changed_by_holdall(self):
        for dtype, order, _ in itertools.product(DTYPES, "CF", range(HISTORIES)):
            with self.subTest(dtype=dtype, order=order, seed=SEED):
                if np.dtype(dtype).itemsize > 255:
                    continue  # it does not pack these
                model, path, rng = (
                    np.asarray(self.items(dtype, self.shape(empty=False)), order=order),
                    self.path(),
                    self.rng,
                )
                blosc_args = bloscpack.BloscArgs(
                    typesize=model.itemsize,
                    clevel=rng.choice((1, 5, 9)),
                    shuffle=rng.randrange(3),
                    cname=rng.choice(list(CODECS)),
                )
                pack_args = bloscpack.BloscpackArgs(
                    offsets=rng.random() < 0.7, checksum=theirs.CHECKSUM_NAMES[rng.randrange(9)]
                )
                chunk_size = rng.choice((1, 50, 700, 100_000)) * model.itemsize
                bloscpack.pack_ndarray_to_file(
                    model,
                    str(path),
                    chunk_size=chunk_size,
                    blosc_args=blosc_args,
                    bloscpack_args=pack_args,
                )
                with h.Array(path) as array:
                    self.check_ours(array, model)
                self.history(path, model)


if __name__ == "__main__":
    unittest.main()
