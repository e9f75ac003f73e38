"""The package `bloscpack` (with python-blosc, c-blosc 1.21) reads Bloscpack files of holdall and
appends to them; holdall reads and changes files of the package."""

import ast
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
CODECS = dict(
    blosclz=h.CODEC_BLOSCLZ,
    lz4=h.CODEC_LZ4,
    lz4hc=h.CODEC_LZ4HC,
    zlib=h.CODEC_ZLIB,
    zstd=h.CODEC_ZSTD,
)
FILTERS = range(3)
CHECKSUM_NAMES = dict(zip(h.CHECKSUMS, theirs.CHECKSUM_NAMES))  # by the constants of holdall
TYPESIZES = (1, 2, 3, 4, 8, 16, 100, 255)
HISTORIES = int(os.environ.get("HOLDALL_HISTORIES", 2))  # of each codec, filter and checksum
META = (
    {"a": 1},
    [1, 2.5, None],
    "text",
    {"k" * i: "v" * 20 * i for i in range(1, 12)},
    {"ünï": "\u20ac"},
)


def content(rng, typesize, n):
    """Bytes that filters and codecs can compress, or cannot."""
    items = n // typesize + 1
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(n)
    if kind == 1:
        return bytes(n)
    step, noise = rng.randrange(1, 1000), rng.randrange(1, 8)
    ramp = np.arange(items, dtype="<u8") * step + np.random.default_rng(
        rng.getrandbits(32)
    ).integers(0, noise, items, dtype="u8")
    return np.pad(ramp.view("u1").reshape(items, 8), ((0, 0), (0, max(typesize - 8, 0))))[
        :, :typesize
    ].tobytes()[:n]


class Case:
    """One set of parameters: three of the product, the others at random."""

    def __init__(self, rng, codec, filter, sum, typesize=None):
        self.codec, self.filter, self.sum = codec, filter, sum
        self.typesize = typesize or rng.choice(TYPESIZES)
        self.level = rng.choice((0, 1, 3, 5, 5, 5, 7, 9))
        self.offsets = rng.random() < 0.75
        self.meta = rng.choice(META) if rng.random() < 0.5 else None
        self.items = rng.choice((16, 100, 512, 1000) if rng.random() < 0.95 else (20000, 60000))
        self.chunk_size = self.items * self.typesize
        self.spare_chunks = rng.choice((None, None, 0, 1, 40)) if self.offsets else None
        self.spare_bytes = rng.choice((None, None, 0, 7, 300))

    def __repr__(self):
        return f"{vars(self)}"

    def sizes(self, rng):
        """0, 1, less than a chunk, one chunk, odd ones, several."""
        c = self.chunk_size
        return (
            0,
            1,
            self.typesize,
            c // 2 + 1,
            c,
            c + 1,
            3 * c,
            rng.randrange(5 * c) if c < 1 << 20 else 2 * c + 7,
        )

    def create(self, path, mode=h.CREATE, **more):
        options = dict(
            codec=CODECS[self.codec],
            level=self.level,
            filters=bytes([h.FILTERS[self.filter]]),
            checksum=self.sum,
            offsets=int(self.offsets),
            chunk_bytes=self.chunk_size,
            spare_chunks=self.spare_chunks,
            spare_bytes=self.spare_bytes,
            durability=0,
        )
        return h.Schunk.create(path, self.typesize, mode, **(options | more))

    def theirs(self, path, data):
        spare = self.spare_chunks if self.offsets else None
        theirs.pack(
            path,
            data,
            self.codec,
            self.filter,
            CHECKSUM_NAMES[self.sum],
            self.typesize,
            self.chunk_size,
            self.level,
            self.offsets,
            self.meta,
            spare,
        )


def has_mark(path, found):
    """Whether the last entry before the chunks is the mark of a file whose header describes all of
    them."""
    at = found.positions[0]
    return path.read_bytes()[at - 4 : at] == b"\x7fun\xff"


def packed(meta):
    return None if meta is None else json.dumps(meta).encode()


class Bloscpack(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-bloscpack-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.tally = collections.Counter()
        self.began = time.monotonic()

    def tearDown(self):
        summary = ", ".join(f"{n} {what}" for what, n in self.tally.items())
        print(
            f"{self._testMethodName}: {summary}, {time.monotonic() - self.began:.0f} s",
            file=sys.stderr,
        )

    def path(self):
        self.tally["files"] += 1
        return self.folder / f"{self.tally['files']}.blp"

    def check_theirs(self, path, data, meta, finished=True):
        """Checks that the package reads the file, and that its header and offsets are right.
        Returns what it found."""
        found = theirs.Found(path)
        self.assertTrue(
            found.content == data,
            f"bloscpack reads {len(found.content)} bytes, {len(data)} are right",
        )
        self.assertEqual(found.meta, meta)
        self.tally["reads by bloscpack"] += 1
        if finished:
            self.assertEqual(found.header.last_chunk, found.sizes[-1])
            # and sometimes one byte more, so that readers notice a change that does not change the
            # length
            self.assertIn(
                os.path.getsize(path) - found.end, (0, 1), "the file ends with its last chunk"
            )
        if found.header.offsets:
            self.assertEqual(found.offsets, found.positions)
        return found

    def check_ours(self, path, data, meta, rng):
        with h.Schunk(path, io=rng.choice((h.IO_READ, h.IO_MAP))) as s:
            self.assertEqual(s.nbytes, len(data))
            self.assertTrue(s.read() == data, "all")
            for _ in range(3):
                at = rng.randrange(len(data) + 1)
                n = min(rng.randrange(200), len(data) - at)
                self.assertEqual(s.read(at, n), data[at : at + n])
            self.assertEqual(b"".join(map(s.read_chunk, range(s.chunk_count))), data)
            stored = s.meta()
            self.assertEqual(None if stored is None else json.loads(stored), meta)
            self.tally["reads by holdall"] += 1
            return s.info.checksum, s.info.typesize, s.info.chunk_size

    # ---- files of holdall

    def test_files_of_holdall_are_read_by_bloscpack(self):
        rng = random.Random(f"{SEED} write")
        for codec, filter, sum, typesize in itertools.product(
            CODECS, FILTERS, CHECKSUM_NAMES, TYPESIZES
        ):
            case = Case(rng, codec, filter, sum, typesize)
            for n in rng.sample(case.sizes(rng), 2):
                with self.subTest(case=case, n=n, seed=SEED):
                    path = self.path()
                    data = content(rng, typesize, n)
                    with case.create(path) as s:
                        if case.meta is not None:
                            s.set_meta(packed(case.meta))
                        s.append(data)
                        s.commit()
                    found = self.check_theirs(path, data, case.meta)
                    self.assertEqual(
                        (found.header.checksum, found.header.typesize),
                        (CHECKSUM_NAMES[sum], typesize),
                    )
                    path.unlink()

    def test_blz_rfc_files_without_metadata_are_both(self):
        rng = random.Random(f"{SEED} blz_rfc")
        for codec, sum, offsets in itertools.product(CODECS, CHECKSUM_NAMES, (0, 1)):
            with self.subTest(codec=codec, sum=sum, offsets=offsets, seed=SEED):
                case = Case(rng, codec, 1, sum)
                data, path = content(rng, case.typesize, 2 * case.chunk_size + 5), self.path()
                with case.create(path, format_version=103, offsets=offsets, spare_chunks=None) as s:
                    s.append(data)
                    s.commit()
                self.check_theirs(path, data, None)
                path.unlink()

    def change(self, s, data, rng, case):
        """Makes a random change; returns the content after it."""
        n, c = len(data), case.chunk_size
        what = rng.choice(
            ("append", "append", "write", "write", "insert", "remove", "truncate", "raw")
        )
        more = content(
            rng, case.typesize, rng.choice((0, 1, c // 3 + 1, c, rng.randrange(2 * c + 2)))
        )
        # files that bloscpack made of a few bytes have chunks of that length
        more = more[: 2000 * s.info.chunk_size]
        starts = list(
            itertools.accumulate((s.chunk_info(i).nbytes for i in range(s.chunk_count)), initial=0)
        )
        if what == "append":
            s.append(more)
            data += more
        elif what == "write" and n:
            at = rng.randrange(n)
            more = more[: n - at] if rng.random() < 0.7 else bytes(min(len(more), n - at))
            s.write(at, more)
            data = data[:at] + more + data[at + len(more) :]
        elif what == "insert" and more:
            i = rng.randrange(s.chunk_count + 1)
            s.insert(i, more)
            data = data[: starts[i]] + more + data[starts[i] :]
        elif what == "remove" and s.chunk_count:
            i = rng.randrange(s.chunk_count)
            s.remove(i)
            data = data[: starts[i]] + data[starts[i + 1] :]
        elif what == "truncate":
            keep = rng.choice(
                (n, n - min(n, 1), rng.randrange(n + 1), starts[-1] if s.chunk_count else 0)
            )
            s.truncate(keep)
            data = data[:keep]
        elif what == "raw" and s.chunk_count:
            i = rng.randrange(s.chunk_count)
            raw = s.read_raw(i)
            s.append_raw(raw)
            data += data[starts[i] : starts[i + 1]]
        else:
            return data
        self.tally[f"x {what}"] += 1
        return data

    def commit_some(self, path, data, meta, rng, case, **options):
        """Opens a file, changes it, commits; returns content and metadata after it."""
        with h.Schunk(path, h.APPEND, durability=0, **options) as s:
            self.assertEqual(s.nbytes, len(data))
            for _ in range(rng.randrange(1, 3)):
                for _ in range(rng.randrange(1, 4)):
                    data = self.change(s, data, rng, case)
                if rng.random() < 0.3:
                    meta = rng.choice((*META, None))
                    s.set_meta(packed(meta))
                if rng.random() < 0.3:
                    self.assertTrue(s.read() == data, "before the commit")
                s.commit()
        return data, meta

    def append_theirs(self, path, data, rng, found):
        """Appends with the package if possible; returns the content after it."""
        room = min(found.room(), 3 * max(found.header.chunk_size, 1))
        if not room:
            return data, False
        more = content(rng, found.header.typesize, rng.randrange(1, room + 1))
        theirs.append(path, more, rng.choice(list(CODECS)), rng.choice(FILTERS))
        self.tally["appends by bloscpack"] += 1
        return data + more, True

    def history(self, path, data, case, rng):
        """holdall and the package change a file in turns."""
        meta = case.meta
        for _ in range(rng.randrange(2, 5)):
            options = (
                {}
                if rng.random() < 0.7
                else dict(
                    codec=CODECS[case.codec],
                    level=rng.randrange(10),
                    spare_bytes=rng.choice((0, 50)),
                )
            )
            before = path.read_bytes()
            data, meta = self.commit_some(path, data, meta, rng, case, **options)
            found = self.check_theirs(path, data, meta, finished=path.read_bytes() != before)
            self.check_ours(path, data, meta, rng)
            if rng.random() < 0.6:
                data, done = self.append_theirs(path, data, rng, found)
                if done:
                    self.check_theirs(path, data, meta, finished=False)
                    self.check_ours(path, data, meta, rng)

    def test_changed_files_of_holdall_are_read_by_bloscpack(self):
        rng = random.Random(f"{SEED} change")
        for codec, filter, sum, _ in itertools.product(
            CODECS, FILTERS, CHECKSUM_NAMES, range(HISTORIES)
        ):
            case = Case(rng, codec, filter, sum)
            path, start = self.path(), rng.getstate()
            with self.subTest(case=case, path=path.name, seed=SEED):
                data = content(rng, case.typesize, rng.choice(case.sizes(rng)))
                with case.create(path) as s:
                    if case.meta is not None:
                        s.set_meta(packed(case.meta))
                    s.append(data)
                    s.commit()
                self.history(path, data, case, rng)
                path.unlink()

    def test_files_of_many_chunks_change_in_turns(self):
        rng = random.Random(f"{SEED} many")
        for sum, spare, n in itertools.product(
            CHECKSUM_NAMES, (1, 3, 400), (64_000, 64_100, 70_000)
        ):
            case = Case(rng, "lz4", 1, sum, 8)
            case.offsets, case.chunk_size, case.spare_chunks = True, 64, spare
            with self.subTest(case=case, n=n, seed=SEED):
                path, data = self.path(), content(rng, 8, n)
                with case.create(path) as s:
                    s.set_meta(packed(case.meta))
                    s.append(data)
                    s.commit()
                found = self.check_theirs(path, data, case.meta)
                self.assertTrue(has_mark(path, found))
                self.check_ours(path, data, case.meta, rng)
                data, done = self.append_theirs(path, data, rng, found)
                self.assertTrue(done)
                self.check_theirs(path, data, case.meta, finished=False)
                self.check_ours(path, data, case.meta, rng)
                self.history(path, data, case, rng)
                self.tally["marks at the end"] += has_mark(path, theirs.Found(path))
                path.unlink()

    # ---- files of the package

    def test_files_of_bloscpack_are_read_by_holdall(self):
        rng = random.Random(f"{SEED} read")
        for codec, filter, sum, typesize in itertools.product(
            CODECS, FILTERS, CHECKSUM_NAMES, TYPESIZES
        ):
            case = Case(rng, codec, filter, sum, typesize)
            n = rng.choice(case.sizes(rng))
            with self.subTest(case=case, n=n, seed=SEED):
                path, data = self.path(), content(rng, typesize, n)
                case.theirs(path, data)
                found = self.check_ours(path, data, case.meta, rng)
                self.assertEqual(found[:2], (sum, typesize))
                self.assertTrue(n == 0 or found[2] == min(n, case.chunk_size), found[2])
                v = h.Verified(path)
                self.assertEqual((v.error, v.corrupt, v.faults), (None, 0, []))
                path.unlink()

    def test_files_of_bloscpack_are_changed_by_holdall(self):
        rng = random.Random(f"{SEED} change theirs")
        for codec, filter, sum, _ in itertools.product(
            CODECS, FILTERS, CHECKSUM_NAMES, range(HISTORIES)
        ):
            case = Case(rng, codec, filter, sum)
            with self.subTest(case=case, seed=SEED):
                path, data = self.path(), content(rng, case.typesize, rng.choice(case.sizes(rng)))
                case.theirs(path, data)
                if rng.random() < 0.3:
                    data, _ = self.append_theirs(path, data, rng, theirs.Found(path))
                self.history(path, data, case, rng)
                path.unlink()

    def test_holdall_appends_to_one_short_chunk_of_bloscpack(self):
        rng = random.Random(f"{SEED} short")
        for n, offsets, sum in itertools.product(
            (1, 8, 100, (16 << 10) - 8), (False, True), ("None", "crc32")
        ):
            with self.subTest(n=n, offsets=offsets, sum=sum, seed=SEED):
                path, data, more = self.path(), content(rng, 8, n), content(rng, 8, 1_500_000)
                theirs.pack(path, data, "lz4", 1, sum, 8, 1 << 20, offsets=offsets)
                with h.Schunk(path, h.APPEND, durability=0) as s:
                    s.append(more[:100_000])
                    s.append(more[100_000:])
                    s.commit()
                found = theirs.Found(path)
                self.assertTrue(found.content == data + more)
                self.assertEqual(len(found.sizes), 2)
                if offsets:
                    theirs.append(path, data, "lz4", 1)
                    self.assertTrue(theirs.Found(path).content == data + more + data)
                with h.Schunk(path) as s:
                    self.assertTrue(s.read() == data + more + (data if offsets else b""))
                path.unlink()

    # ---- NumPy arrays

    def arrays(self):
        rng = np.random.default_rng(SEED)
        plain = (
            "<f8",
            ">f8",
            "<i4",
            ">i2",
            "u1",
            "?",
            "<c16",
            "<f2",
            "<i8",
            "S7",
            "<U3",
            "<M8[ns]",
            "<m8[D]",
            "V5",
        )
        nested = (
            [("a", "<i4"), ("b", ">f8")],
            [("a", "<i4", (2, 3)), ("s", "S3")],
            [("p", [("x", "<f4"), ("y", "u1")]), ("q", "<U2")],
        )
        for dtype in map(np.dtype, (*plain, *nested)):
            for shape in ((), (0,), (1,), (1000,), (37, 41), (5, 6, 7), (30, 0, 2)):
                size = int(np.prod(shape)) * dtype.itemsize
                raw = rng.integers(0, 2 if dtype.char == "?" else 100, size, dtype="u1").tobytes()
                array = np.frombuffer(raw, dtype).reshape(shape) if size else np.zeros(shape, dtype)
                yield array
                if len(shape) > 1:
                    yield np.asfortranarray(array)
        yield np.arange(400_000, dtype="<f8").round(2)

    def equal(self, a, b):
        self.assertEqual(
            (a.dtype.descr, a.shape, np.isfortran(a)), (b.dtype.descr, b.shape, np.isfortran(b))
        )
        self.assertEqual(a.tobytes("A"), b.tobytes("A"))
        self.tally["arrays"] += 1

    def test_arrays_of_holdall_are_read_by_bloscpack(self):
        rng = random.Random(f"{SEED} arrays")
        for array in self.arrays():
            with self.subTest(dtype=array.dtype, shape=array.shape):
                order = "F" if np.isfortran(array) else "C"
                dtype = repr(array.dtype.descr if array.dtype.names else array.dtype.str)
                meta = dict(dtype=dtype, shape=array.shape, order=order, container="numpy")
                path, codec = self.path(), rng.choice(list(CODECS.values()))
                with h.Schunk.create(
                    path,
                    array.itemsize,
                    codec=codec,
                    checksum=rng.choice(h.CHECKSUMS),
                    durability=0,
                ) as s:
                    s.set_meta(packed(meta))
                    s.append(array.tobytes("A"))
                    s.commit()
                self.equal(bloscpack.unpack_ndarray_from_file(str(path)), array)

    def test_arrays_of_bloscpack_are_read_by_holdall(self):
        rng = random.Random(f"{SEED} arrays")
        for array in self.arrays():
            with self.subTest(dtype=array.dtype, shape=array.shape):
                path = self.path()
                blosc_args = bloscpack.BloscArgs(
                    cname=rng.choice(list(CODECS)), shuffle=rng.randrange(3)
                )
                bloscpack.pack_ndarray_to_file(
                    array, str(path), chunk_size=array.itemsize * 100, blosc_args=blosc_args
                )
                with h.Schunk(path) as s:
                    meta = json.loads(s.meta())
                    dtype = np.dtype(ast.literal_eval(meta["dtype"]))
                    self.assertEqual(s.info.typesize, array.itemsize)
                    got = np.frombuffer(s.read(), dtype) if s.nbytes else np.zeros(0, dtype)
                self.equal(got.reshape(meta["shape"], order=meta["order"]), array)


def setUpModule():
    print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
