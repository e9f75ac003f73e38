"""The package `blosc2` reads and changes N-dimensional arrays of holdall, and holdall those of the
package. NumPy is the reference."""

import itertools
import pathlib
import shutil
import sys
import unittest

import blosc2
import numpy as np

import holdall_c as h
import test_arrays
from test_arrays import SEED, literal, same
from test_frames import metalayers

DTYPES = (
    "|u1",
    "<i2",
    "<f4",
    ">i4",
    "<f8",
    ">f8",
    "<c16",
    "|S5",
    "<U3",
    "|b1",
    "<M8[ns]",
    [("a", "<i4"), ("b", "<f8")],
)
CODECS = test_arrays.CODECS
FILTERS = (
    b"",
    bytes([h.FILTER_SHUFFLE]),
    bytes([h.FILTER_BITSHUFFLE]),
    bytes([h.FILTER_SHUFFLE, h.FILTER_BYTEDELTA]),
)


class B2nd(test_arrays.Arrays):
    # these are of Bloscpack files
    test_arrays_of_holdall_are_read_by_bloscpack = None
    test_arrays_of_bloscpack_are_changed_by_holdall = None
    test_each_checksum_is_read_by_bloscpack = None

    def path(self):
        return self.folder / f"{next(self.files)}.b2nd"

    def axis(self, array):
        return self.rng.randrange(max(array.ndim, 1))

    def shape(self, ndim):
        most = (1, 300, 40, 14, 8, 6, 5, 4, 3)[ndim]
        return tuple(
            self.rng.randrange(0 if self.rng.random() < 0.05 else 1, most + 1) for _ in range(ndim)
        )

    def cuts(self, shape):
        """Shapes of chunks and of blocks, or none."""
        if self.rng.random() < 0.2:
            return None, None
        chunks = [self.rng.randrange(1, n + 3) for n in shape]
        return chunks, [self.rng.randrange(1, n + 1) for n in chunks]

    def check_theirs(self, path, model):
        array = blosc2.open(str(path), mode="r")
        self.assertIsInstance(array, blosc2.NDArray)
        got = np.asarray(array[...]) if model.ndim else np.asarray(array[()])
        self.assertEqual((got.shape, array.dtype), (model.shape, model.dtype))
        self.assertTrue(same(np.asarray(got, model.dtype), model), "items differ")
        metalayers(array.schunk)
        self.tally["reads by blosc2"] += 1

    def changed_by_theirs(self, path, model):
        """Writes a box, writes a metalayer, or resizes."""
        rng = self.rng
        array = blosc2.open(str(path), mode="a")
        what = rng.choice(("write", "resize", "vlmeta")) if model.ndim and model.size else "vlmeta"
        if what == "write":
            selection = tuple(
                slice(a := rng.randrange(n), rng.randrange(a + 1, n + 1)) for n in model.shape
            )
            model = model.copy()
            model[selection] = self.items(model.dtype, model[selection].shape)
            array[selection] = np.ascontiguousarray(model[selection])
        elif what == "resize":
            shape = list(model.shape)
            shape[rng.randrange(model.ndim)] += rng.randrange(1, 5)
            array.resize(tuple(shape))
            model = self.grown(model, shape)
        else:
            array.schunk.vlmeta["note"] = {"n": rng.randrange(1000)}
        self.tally[f"{what}s by blosc2"] += 1
        return model

    def grown(self, model, shape):
        new = (
            np.frombuffer(bytes(int(np.prod(shape)) * model.dtype.itemsize), model.dtype)
            .reshape(shape)
            .copy()
        )
        new[tuple(map(slice, model.shape))] = model
        return new

    def history(self, path, model):
        for _ in range(2):
            with h.Array(path, h.APPEND, durability=0) as array:
                for _ in range(self.rng.randrange(1, 4)):
                    model = self.change(array, model)
                self.check_ours(array, model)
                array.commit()
            self.check_theirs(path, model)
            model = self.changed_by_theirs(path, model)
            with h.Array(path) as array:
                self.check_ours(array, model)
            v = h.Verified(path)
            self.assertEqual((v.error, v.corrupt), (None, 0))

    def test_arrays_of_holdall_are_changed_by_blosc2(self):
        rng = self.rng
        for n, (ndim, sparse, codec) in enumerate(itertools.product(range(9), (0, 1), CODECS)):
            dtype, filters = DTYPES[n % len(DTYPES)], FILTERS[n % len(FILTERS)]
            model, path = self.items(dtype, self.shape(ndim)), self.path()
            chunks, blocks = self.cuts(model.shape)
            options = dict(
                codec=CODECS[codec],
                level=rng.choice((1, 5, 9)),
                filters=filters,
                sparse=sparse,
                durability=0,
            )
            with self.subTest(
                dtype=dtype, shape=model.shape, chunks=chunks, blocks=blocks, seed=SEED, **options
            ):
                with h.Array.create(
                    path,
                    literal(dtype),
                    model.shape,
                    format=h.FORMAT_B2ND,
                    chunk_shape=chunks,
                    block_shape=blocks,
                    **options,
                ) as array:
                    array.write((0,) * ndim, model.shape, (1,) * ndim, model.tobytes())
                    array.commit()
                    self.check_ours(array, model)
                self.check_theirs(path, model)
                self.history(path, model)
                shutil.rmtree(path) if sparse else path.unlink()

    def test_arrays_of_blosc2_are_changed_by_holdall(self):
        rng = self.rng
        for n, (ndim, sparse, codec) in enumerate(itertools.product(range(1, 9), (0, 1), CODECS)):
            dtype = DTYPES[n * 5 % len(DTYPES)]
            model, path = self.items(dtype, self.shape(ndim)), self.path()
            chunks, blocks = self.cuts(model.shape)
            if 0 in model.shape and not chunks:
                # it gives them empty chunks, which never grow
                chunks = blocks = [1] * ndim
            cparams = dict(
                codec=blosc2.Codec[codec.upper()],
                clevel=rng.choice((1, 5, 9)),
                filters=[blosc2.Filter(rng.randrange(3))],
                typesize=model.itemsize,
            )
            with self.subTest(
                dtype=dtype,
                shape=model.shape,
                chunks=chunks,
                blocks=blocks,
                sparse=sparse,
                seed=SEED,
                **cparams,
            ):
                blosc2.asarray(
                    np.ascontiguousarray(model),
                    urlpath=str(path),
                    mode="w",
                    chunks=chunks,
                    blocks=blocks,
                    contiguous=not sparse,
                    cparams=cparams,
                )
                with h.Array(path) as array:
                    self.check_ours(array, model)
                self.history(path, model)

    def test_precision_is_truncated_by_both(self):
        trunc, shuffle = blosc2.Filter.TRUNC_PREC, blosc2.Filter.SHUFFLE
        # python-blosc2 does not open its own files with a negative number of bits
        for dtype, bits in (("<f4", 10), ("<f4", 22), ("<f8", 20), ("<f8", 1)):
            whole, mantissa = ("<u4", 23) if dtype == "<f4" else ("<u8", 52)
            cleared = np.array(mantissa - bits, whole)

            def truncated(items):
                return (items.view(whole) >> cleared << cleared).view(items.dtype)

            items = np.sin(np.arange(3000, dtype=dtype) / 700).reshape(100, 30)
            for ours in (True, False):
                path = self.path()
                with self.subTest(dtype=dtype, bits=bits, ours=ours):
                    if ours:
                        create = dict(format=h.FORMAT_B2ND, precision=bits, durability=0)
                        with h.Array.create(path, dtype, (100, 30), **create) as array:
                            array.write((0, 0), (100, 30), (1, 1), items.tobytes())
                            array.commit()
                    else:
                        cparams = dict(filters=[trunc, shuffle], filters_meta=[bits, 0])
                        blosc2.asarray(items, urlpath=str(path), mode="w", cparams=cparams)
                    array = blosc2.open(str(path), mode="a")
                    self.assertIn(trunc, array.schunk.cparams.filters)
                    self.assertTrue((array[:] == truncated(items)).all())
                    array.resize((140, 30))
                    array[100:] = items[:40] / 3
                    with h.Array(path, h.APPEND, durability=0) as array:
                        array.write((0, 0), (2, 30), (1, 1), (items[:2] / 7).tobytes())
                        array.commit()
                    expected = np.concatenate((items[:2] / 7, items[2:], items[:40] / 3))
                    self.check_theirs(path, truncated(expected))

    def test_metalayers_of_the_header_are_changed_by_both(self):
        model = self.items("<i4", (50, 30))
        for sparse in (0, 1):
            path = self.path()
            form = dict(format=h.FORMAT_B2ND, sparse=sparse, durability=0)
            with h.Array.create(path, "<i4", (50, 30), **form) as array:
                array.attr_set_fixed("ours", b"\xa3abc")
                array.write((0, 0), (50, 30), (1, 1), model.tobytes())
                array.attr_set_fixed("late", b"\x93\x01\x02\x03")
                array.commit()
            self.check_theirs(path, model)
            # the metalayers are closed with the array
            theirs = blosc2.open(str(path), mode="a")
            meta = theirs.schunk.meta
            self.assertEqual((meta["ours"], meta["late"]), ("abc", [1, 2, 3]))
            meta["ours"] = "xyz"
            with h.Array(path, h.APPEND, durability=0) as array:
                self.assertEqual(array.attr_get("ours"), b"\xa3xyz")
                array.attr_set_fixed("late", b"\x93\x04\x05\x06")
                array.attr_set_fixed("more", b"\xa5hello")
                array.commit()
            self.check_theirs(path, model)
            theirs = blosc2.open(str(path), mode="r")
            meta = theirs.schunk.meta
            self.assertEqual([meta[n] for n in ("ours", "late", "more")], ["xyz", [4, 5, 6], "hello"])

    def test_items_beyond_the_edge_stay_discarded(self):
        """A shrunk array of blosc2 still contains the items beyond its edge."""
        model, path = self.items("<i4", (50, 30)) + 1, self.path()
        array = blosc2.asarray(model, urlpath=str(path), mode="w", chunks=(20, 20), blocks=(10, 10))
        array.resize((33, 15))
        with h.Array(path, h.APPEND, durability=0) as array:
            array.resize((50, 30))
            array.commit()
        self.check_theirs(path, self.grown(model[:33, :15], (50, 30)))

    def test_both_metalayers_are_written(self):
        path = pathlib.Path(self.path())
        with h.Array.create(path, "<f8", (3, 4), format=h.FORMAT_CATERVA, durability=0) as array:
            array.write((0, 0), (3, 4), (1, 1), np.arange(12.0).tobytes())
            array.commit()
        self.assertEqual(blosc2.open(str(path)).meta["caterva"][2], [3, 4])


if __name__ == "__main__":
    print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)
    unittest.main()
