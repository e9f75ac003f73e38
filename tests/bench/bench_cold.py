"""Measures opening and first reads of files that are not in the page cache, compared with the
packages blosc2, zarr, h5py, tensorstore, bagz, LMDB and bcolz: seconds, and bytes requested from
the disk.

Environment variables: HOLDALL_LIB is the library, HOLDALL_BENCH_ROUNDS the number of rounds
(default 5), HOLDALL_BENCH_ONLY which of "array", "bag" and "dataset" (all), TMPDIR the folder of
the files, which must be on a disk.

Each time includes opening, reading and closing, after all files of the measured library were
dropped from the cache; pages that stay there nevertheless are counted. The bytes are those that the
system has read for the process (/proc/PID/io), including read-ahead. "the same bytes alone" repeats
only the system calls with which holdall read; "its files alone" reads the complete files to one
buffer; "fio alone" reads as many pages as holdall at random, 128 at a time, past the cache. The disk may have a cache of its own in the machine, which cannot be dropped: the bytes are
more reliable than the seconds.
"""

import ctypes
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import bagz
import bcolz
import h5py
import numpy as np
import tensorstore
import zarr

import bench_b2nd
import bench_bcolz
import bench_records
import common
import from_python
from bench_b2nd import read_same
from common import MAP, READ, bind, timed, version
from rows import Part, Row, goal, publish, table

ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "array bag dataset").split()
KIND, CODEC, THREADS = "cold", "lz4", 2
SHAPE, CHUNKS, BLOCKS = (256, 320, 320), (64, 80, 80), (4, 80, 80)
RECORDS, SOME = 200_000, 1_000
ROWS = 12_000_000
ALONE, FILES, FIO = "the same bytes alone", "its files alone", "fio alone"
# compared with the first of the others: the speedup, and the ratio of requested bytes
GOALS = dict(time=1, bytes=1.2)
TRIES = 20
PAGE = os.sysconf("SC_PAGE_SIZE")


# ---- the cache


class Map:
    """Returns the resident part of a file, from mincore()."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_long,
        ]
        self.libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

    def pages(self, fd):
        size = os.fstat(fd).st_size
        if size == 0:
            return 0
        found = (ctypes.c_ubyte * -(-size // PAGE))()
        at = self.libc.mmap(None, size, 1, 1, fd, 0)
        failed = at == ctypes.c_void_p(-1).value or self.libc.mincore(at, size, found)
        self.libc.munmap(at, size)
        if failed:
            sys.exit(f"mincore: {os.strerror(ctypes.get_errno())}")
        return sum(page & 1 for page in found)


MAPPED = Map()


def files_of(path):
    path = pathlib.Path(path)
    return [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]


def drop(path):
    """Writes dirty pages and drops the files from the cache; returns the number of pages that
    stayed."""
    return sum(map(drop_file, files_of(path)))


def drop_file(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    # pages that are being read ahead for the previous operation cannot be dropped until they arrive
    for _ in range(TRIES):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        stayed = MAPPED.pages(fd)
        if stayed == 0:
            break
        time.sleep(0.01)
    os.close(fd)
    return stayed


def read_bytes(pid):
    """Returns the bytes that a process requested from the disk."""
    text = pathlib.Path(f"/proc/{pid}/io").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("read_bytes"))


def fio_seconds(path, pages):
    """Returns the seconds in which fio reads so many random pages of a file."""
    repeats = 5  # fio counts milliseconds
    command = [
        "fio", "--name=pages", f"--filename={path}", "--readonly", "--rw=randread", f"--bs={PAGE}",
        "--direct=1", "--ioengine=libaio", "--iodepth=128", "--norandommap", "--output-format=json",
        f"--number_ios={repeats * pages}",
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True)
    return pages / json.loads(done.stdout)["jobs"][0]["read"]["iops"]


class Cold:
    """Calls that are timed after their files were dropped. Records the bytes requested from the
    disk, and the pages that had stayed."""

    def __init__(self, ours, python):
        self.ours, self.python, self.asked, self.stayed = ours, python, {}, {}

    def call(self, key, path, run, pid="self", before=None):
        def cold():
            if before:
                before()
            if pages := drop(path):
                self.stayed[key] = pages
            start = read_bytes(pid)
            seconds = run()
            self.asked.setdefault(key, []).append(read_bytes(pid) - start)
            return seconds

        return cold

    def row(self, what, path, command, theirs, alone=ALONE, nbytes=0, scattered=False):
        """`command` makes the command of holdall from a path and the kind of I/O; `theirs` are
        calls by name, each with its path."""
        ways = {
            name: self.call((what, name), p, functools.partial(timed, run))
            for name, (p, run) in theirs.items()
        }
        ours = {name: command(path, io) for name, io in (("holdall", READ), ("mapped", MAP))}
        own = {
            name: self.call(
                (what, name),
                path,
                lambda arguments=arguments: self.ours.time(*arguments),
                self.ours.process.pid,
            )
            for name, arguments in ours.items()
        }
        own |= {
            f"{name}, Python": self.call((what, f"{name}, Python"), path, bind(self.python, *arguments))
            for name, arguments in ours.items()
        }
        if alone == ALONE:
            # the bytes are known after the call
            ways[ALONE] = self.call(
                (what, ALONE),
                path,
                lambda: self.ours.time("again", path),
                self.ours.process.pid,
                lambda: self.ours.time(*ours["holdall"]),
            )
        elif alone == FILES:
            ways[FILES] = self.call(
                (what, FILES), path, lambda: timed(lambda: [read_same(f) for f in files_of(path)])
            )
        if scattered:
            # the bytes are those of the calls before
            ways[FIO] = lambda: fio_seconds(path, int(self.median_of(what, "holdall")) // PAGE)
        return Row(
            what, ways, own, GOALS["time"], nbytes, shown=("mapped", "mapped, Python")
        )

    def said(self):
        """Reports pages that stayed in the cache."""
        some = ", ".join(f"{pages} of {what} ({way})" for (what, way), pages in self.stayed.items())
        return f"pages stayed there all the same, {some}" if some else "no page stayed there"

    def median_of(self, what, way):
        return statistics.median(self.asked[what, way])

    def median(self, row, way):
        return self.median_of(row.what, way)

    def goals(self, rows):
        """Compares with the first of the others, which reads the same file."""
        for row in rows:
            first = next(iter(row.theirs))
            theirs, ours = self.median(row, first), self.median(row, "holdall")
            yield goal(
                ours <= GOALS["bytes"] * theirs,
                f"{row.what}: reads {ours / theirs:.2f} of the bytes that {first} reads from disk "
                f"(goal {GOALS['bytes']:g})",
            )

    def table(self, rows):
        lines = []
        for row in rows:
            ways = (way for way in (*row.theirs, *row.ours) if way != FIO)
            mb = {way: f"{self.median(row, way) / 1e6:.3f}" for way in ways}
            peers = ", ".join(f"{way} {mb[way]}" for way in row.theirs if "alone" not in way)
            limit = next((mb[way] for way in mb if "alone" in way), "")
            lines.append([row.what, peers, limit, mb["holdall"], mb["mapped"]])
        return table(["MB read from disk", "others", "alone", "holdall", "mapped"], lines)


# ---- the operations


def array_rows(cold, folder):
    bench_b2nd.DATA[KIND] = SHAPE, CHUNKS, BLOCKS
    zarr.config.set({"threading.max_workers": THREADS, "async.concurrency": THREADS})
    data = bench_b2nd.make_data(KIND, folder / "raw")
    paths = {who: folder / who for who in ("blosc2", "zarr", "h5py", "tensorstore")}
    bench_b2nd.of_blosc2(data, paths["blosc2"], CHUNKS, BLOCKS, CODEC)
    bench_b2nd.of_zarr(data, paths["zarr"], CHUNKS, CODEC)
    bench_b2nd.of_h5py(data, paths["h5py"], CHUNKS, CODEC).file.close()
    bench_b2nd.OfTensorstore(data, paths["tensorstore"], CHUNKS, CODEC)
    spec = dict(
        driver="zarr",
        kvstore=dict(driver="file", path=str(paths["tensorstore"])),
        context=dict(data_copy_concurrency=dict(limit=THREADS)),
    )

    def of_h5py(key):
        with h5py.File(paths["h5py"], "r") as f:
            return f["a"][key]

    reads = {
        "blosc2": lambda key: bench_b2nd.open_blosc2(paths["blosc2"], THREADS)[key],
        "zarr": lambda key: zarr.open_array(str(paths["zarr"]), mode="r")[key],
        "h5py": of_h5py,
        "tensorstore": lambda key: tensorstore.open(spec, open=True).result()[key].read().result(),
    }
    for what, start, count in (
        ("a plane across axis 0", (100, 0, 0), (1, *SHAPE[1:])),
        ("a cube of 32", (100, 130, 130), (32, 32, 32)),
        ("all", (0, 0, 0), SHAPE),
    ):
        key = tuple(slice(s, s + n) for s, n in zip(start, count))
        assert all(
            (read(key) == data[key]).all() for read in reads.values()
        ), "one reads something else"
        arguments = [",".join(map(str, w)) for w in (start, count)]
        yield cold.row(
            f"b2nd, {what}",
            paths["blosc2"],
            lambda path, io, arguments=arguments: ("box", path, io, THREADS, *arguments),
            {
                who: (paths[who], lambda read=read, key=key: read(key))
                for who, read in reads.items()
            },
            nbytes=data.nbytes if what == "all" else 0,
        )


def bag_rows(cold, folder):
    bench_records.SETS[KIND] = RECORDS, 200, SOME, SOME
    for word, codec, suffix in (
        ("zstd", "zstd", "bagz"),
        ("raw", None, "bag"),
    ):
        data = bench_records.Data(KIND, folder / suffix)
        path, other = data.folder / f"a.{suffix}", data.folder / "a.mdb"
        bench_records.Bagz(data, path).write()
        database = bench_records.Lmdb(data, other, codec)
        database.write()

        def of_lmdb(which, database=database):
            unpack = database.unpack()
            with database.env(readonly=True) as env, env.begin(buffers=True) as t:
                return [bytes(unpack(t.get(i.to_bytes(8, "big")))) for i in which]

        step = data.count // SOME
        for what, first, count in (
            ("one record", data.count // 2, 1),
            (f"{SOME:,} records", 7, SOME),
            ("all records", 0, 0),
        ):
            which = range(first, first + count * step, step) if count else range(data.count)
            of_bagz = (
                (lambda path=path, which=list(which): bagz.Reader(str(path)).read_indices(which))
                if count
                else (lambda path=path: bagz.Reader(str(path)).read())
            )
            assert (
                list(map(bytes, of_bagz())) == of_lmdb(which) == [data.records[i] for i in which]
            ), "one reads something else"
            yield cold.row(
                f"bag, {word}, {what}",
                path,
                lambda path, io, first=first, count=count: (
                    "records",
                    path,
                    io,
                    THREADS,
                    first,
                    step,
                    count,
                ),
                {"bagz": (path, of_bagz), "LMDB": (other, lambda which=which: of_lmdb(which))},
                nbytes=0 if count else data.bytes,
                scattered=count > 1,
            )


def dataset_rows(cold, folder):
    bcolz.set_nthreads(THREADS)
    data = np.round(100 + np.random.default_rng(200).standard_normal(ROWS).cumsum(), 2)
    path = folder / "bcolz"
    bench_bcolz.theirs_append(data, path, CODEC)
    assert (bench_bcolz.theirs_read(path) == data).all(), "bcolz reads something else"
    for what, start, count in (("10 rows", ROWS // 2, 10), ("all rows", 0, ROWS)):
        yield cold.row(
            f"bcolz, {what}",
            path,
            lambda path, io, start=start, count=count: ("box", path, io, THREADS, start, count),
            {
                "bcolz": (
                    path,
                    lambda start=start, count=count: bcolz.open(str(path), mode="r")[
                        start : start + count
                    ],
                )
            },
            alone=FILES if count == ROWS else "",
            nbytes=data.nbytes if count == ROWS else 0,
        )


# ---- main


def compare(folder):
    ours = common.Ours("cold.c", folder)
    others, copy = common.Others(ours), ours.time("memcpy")
    cold = Cold(ours, from_python.Cold())
    kinds = dict(array=array_rows, bag=bag_rows, dataset=dataset_rows)
    measured = []
    for name in ONLY:
        for row in kinds[name](cold, folder):
            row.measure()
            measured.append(row)
    return Part(
        "Files that are not in the page cache",
        ours.version,
        {
            p: version(p)
            for p in ("blosc2", "zarr", "h5py", "tensorstore", "bagz", "lmdb", "bcolz-zipline")
        },
        [
            others.said(),
            "open, read and close, each time after the file was removed from the page cache: "
            f"{cold.said()}",
            f"the array: {' x '.join(map(str, SHAPE))} float64, {CODEC}; the bags: records of 200 "
            f"bytes; the dataset: {ROWS:,} rows of float64, {CODEC}; {THREADS} threads",
        ],
        [*measured, cold.table(measured), *cold.goals(measured)],
        copy,
    )


if __name__ == "__main__":
    publish(compare, "cold")
