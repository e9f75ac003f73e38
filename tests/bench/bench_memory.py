"""Measures the memory peak of each code path, without its input and result, compared with the
packages blosc2, zarr, h5py, tensorstore, bcolz, bloscpack and bagz.

Environment variables: HOLDALL_LIB is the library, HOLDALL_BENCH_ONLY which of "b2nd", "bcolz",
"schunk", "frame" and "bag" (all). Each path runs in a process of its own, so that counting does not
affect the times. For holdall from C, all memory allocated by malloc is counted (held.py). For
holdall from C and from Python and for the others, which are called from Python, also the growth of
the resident memory, which the system reports with an error of some hundred kilobytes.

The goal is two chunks per thread. Bags have no chunks: 1 MiB stands for a chunk, or a record if it
is longer.
"""

import collections
import math
import os
import pathlib
import subprocess
import sys

import bagz
import bcolz
import h5py
import numpy as np
import tensorstore
import zarr

import bench_b2nd
import bench_bcolz
import bench_blpk
import holdall_c
from common import HERE, version
from from_python import holdall
from held import CHUNKS, ITEMS, NAMES, PATHS, SHAPE, THREADS, of_holdall, walk, with_threads
from rows import Part, goal, publish, table
from theirs import bloscpack

ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "b2nd bcolz schunk frame bag").split()
# of arrays of blosc2, equal to those of holdall
BLOCKS = (4, 64, 64)
GOAL = 2


# ---- the others, each in a process of its own


def status(which):
    text = pathlib.Path("/proc/self/status").read_text()
    return int(text.split(which + ":")[1].split()[0]) << 10


def grown(run, given=0):
    """Returns the growth of the resident memory without the result."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    held_result = run()
    most = status("VmHWM")
    del held_result
    return most - before - given


def of_arrays(who, command):
    action, path = command[0], pathlib.Path(command[2] if command[0] == "array" else command[1])
    codec, theirs = path.name.split(".")[1], path.with_name(f"{who}.{path.name}")
    if action == "array":
        data = np.fromfile(command[1]).reshape(SHAPE)
        make = dict(
            blosc2=bench_b2nd.of_blosc2,
            zarr=bench_b2nd.of_zarr,
            h5py=bench_b2nd.of_h5py,
            tensorstore=bench_b2nd.OfTensorstore,
        )[who]
        return grown(
            lambda: make(data, theirs, CHUNKS, *([BLOCKS] if who == "blosc2" else []), codec)
        )
    spec = dict(
        driver="zarr",
        kvstore=dict(driver="file", path=str(theirs)),
        context=dict(data_copy_concurrency=dict(limit=2)),
    )
    opened = dict(
        blosc2=lambda: bench_b2nd.open_blosc2(theirs, 2),
        zarr=lambda: zarr.open_array(str(theirs), mode="r"),
        h5py=lambda: h5py.File(theirs, "r")["a"],
        tensorstore=lambda: tensorstore.open(spec, open=True).result(),
    )[who]()
    return grown(
        lambda: opened[...].read().result() if who == "tensorstore" else opened[...], 8 * ITEMS
    )


def of_bcolz(_, command):
    bcolz.set_nthreads(2)
    path = pathlib.Path(command[2] if command[0] == "array" else command[1])
    theirs = path.with_name(f"theirs.{path.name}")
    if command[0] == "array":
        data = np.fromfile(command[1])
        return grown(lambda: bench_bcolz.theirs_append(data, theirs, path.name.split(".")[1]))
    opened = bcolz.open(str(theirs), mode="r")
    return grown(lambda: opened[:], 8 * ITEMS)


def of_bloscpack(_, command):
    path = pathlib.Path(command[2] if command[0] == "schunk" else command[1])
    theirs = path.with_name(f"theirs.{path.name}")
    if command[0] == "schunk":
        return grown(lambda: bench_blpk.theirs_pack(command[1], theirs, path.name.split(".")[1], 5))
    return grown(lambda: bloscpack.unpack_bytes_from_file(str(theirs)), 8 * ITEMS)


def of_bagz(_, command):
    path = pathlib.Path(command[2] if command[0] == "bag" else command[1])
    theirs = path.with_name(f"theirs.{path.name}")
    if command[0] == "bag":
        data, size = pathlib.Path(command[1]).read_bytes(), int(command[5])

        def write():
            with bagz.Writer(str(theirs)) as w:
                for at in range(0, len(data) // size * size, size):
                    w.write(data[at : at + size])

        return grown(write)
    reader = bagz.Reader(str(theirs), bagz.Reader.Options(max_parallelism=2))
    if command[0] == "stream":
        return grown(lambda: [None for _ in reader])
    batch, size = int(command[4]), int(path.name.split(".")[0])
    given = min(batch, len(reader)) * (size + sys.getsizeof(b""))
    return grown(
        lambda: [
            reader.read_range(k, min(batch, len(reader) - k)) and None
            for k in range(0, len(reader), batch)
        ],
        given,
    )


# ---- holdall from Python: the commands of memory.c


def of_python(_, command):
    action, *arguments = command
    return getattr(PythonCommands(), action)(*arguments)


class PythonCommands:
    """Each returns the growth of the resident memory."""

    def created(self, path, codec, threads):
        """Returns the path, and the options of creating it."""
        path = pathlib.Path(path)
        options = dict(mode="w", codec=int(codec), threads=int(threads), durability=0)
        return str(path.with_name(f"python.{path.name}")), options

    def array(self, file, path, format, dtype, shape, chunks, codec, threads):
        shape, chunks = (tuple(map(int, text.split(","))) for text in (shape, chunks))
        data = np.fromfile(file, dtype).reshape(shape)
        path, options = self.created(path, codec, threads)
        options |= dict(format=int(format), chunk_shape=chunks)
        return grown(lambda: holdall.Array.save(path, data, **options))

    def box(self, path, io, threads, count, times):
        array, times = holdall.Array(path, io=int(io), threads=int(threads)), int(times)
        counts = array.shape if count == "0" else tuple(map(int, count.split(",")))

        def read():
            for i in range(times):
                starts = [(n - c) * i // times for n, c in zip(array.shape, counts)]
                array[tuple(slice(at, at + c) for at, c in zip(starts, counts))]

        return grown(read, array.itemsize * math.prod(counts))

    def schunk(self, file, path, format, codec, threads, chunk, piece):
        data, piece = memoryview(pathlib.Path(file).read_bytes()), int(piece)
        path, options = self.created(path, codec, threads)
        options |= dict(format=int(format), chunk_bytes=int(chunk))

        def write():
            with holdall.Schunk.create(path, 8, **options) as schunk:
                for at in range(0, len(data), piece):
                    schunk.append(data[at : at + piece])
                schunk.commit()

        return grown(write)

    def content(self, path, io, threads, piece):
        schunk = holdall.Schunk(path, io=int(io), threads=int(threads))
        piece = int(piece) or len(schunk)
        buffer = memoryview(bytearray(b"x") * piece)

        def read():
            for at in range(0, len(schunk), piece):
                schunk.read_into(at, buffer[: len(schunk) - at])

        return grown(read)

    def bag(self, file, path, codec, threads, size, batch):
        data, size = memoryview(pathlib.Path(file).read_bytes()), int(size)
        path, options = self.created(path, codec, threads)

        def write():
            with holdall.BagWriter(path, **options) as writer:
                writer.extend(data[k : k + size] for k in range(0, len(data) - size + 1, size))
                writer.commit()

        return grown(write)

    def records(self, path, io, threads, batch):
        bag, batch = holdall.Bag(path, io=int(io), threads=int(threads)), int(batch)
        all, some = len(bag), min(batch, len(bag))
        given = some * (len(bag[0]) + 8)

        def read():
            for k in range(0, all, batch):
                bag.read_range(k, min(batch, all - k))

        return grown(read, given)

    def stream(self, path, io, threads):
        bag = holdall.Bag(path, io=int(io), threads=int(threads))
        return grown(lambda: collections.deque(bag.stream(), maxlen=0))


PYTHON = "holdall from Python"
OTHERS = {PYTHON: of_python, "bcolz": of_bcolz, "bloscpack": of_bloscpack, "bagz": of_bagz}


def of_other(who, command):
    """Runs the equivalent of a command of memory.c and returns the bytes."""
    arguments = [sys.executable, __file__, "grown", who, *map(str, with_threads(command, 2))]
    run = subprocess.run(arguments, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{who}: {run.stderr}")
    return int(run.stdout.split()[-1])


# ---- main


def mib(n):
    return f"{max(n, 0) / (1 << 20):.2f}"


def measured(program, kind, folder):
    """Returns the lines of the paths of a kind, and for each the maximum of chunks per thread."""
    lines, chunks = [], {}
    for what, chunk, command, others in PATHS[kind](folder):
        print(f"\r{what[:78]:78}", end="", file=sys.stderr, flush=True)
        heap, resident = of_holdall(program, command)
        each = {t: heap[t] / t / chunk for t in THREADS}
        chunks[what] = max(each.values())
        beside = ", ".join(f"{who} {mib(of_other(who, command))}" for who in others)
        lines.append(
            [
                what,
                mib(chunk),
                *(word for t in THREADS for word in (mib(heap[t]), f"{each[t]:.2f}")),
                mib(resident[THREADS[-1]]),
                mib(of_other(PYTHON, command)),
                beside,
            ]
        )
    return lines, chunks


def goals(kind, chunks):
    """The maximum over writes, and over reads."""
    for action in ("writing", "reading"):
        some = {
            what: n
            for what, n in chunks.items()
            if what.endswith(": write") == (action == "writing")
        }
        worst = max(some, key=some.get)
        yield goal(
            some[worst] <= GOAL,
            f"{NAMES[kind]}, {action}: at most {some[worst]:.2f} chunks a thread, {worst} (goal "
            f"{GOAL})",
        )


def compare(folder):
    program = holdall_c.compile_c(HERE / "memory.c", folder)
    walk(folder / "data")
    lines, verdicts, drawn = [], [], []
    for kind in ONLY:
        some, chunks = measured(program, kind, folder)
        lines += some
        verdicts += goals(kind, chunks)
        drawn += chunks.items()
    head = [
        "MiB beyond the result",
        "a chunk",
        "held, 1 thread",
        "chunks",
        "held, 2 threads",
        "chunks a thread",
        "resident, 2 threads",
        "from Python, resident",
        "others, resident",
    ]
    return Part(
        "Memory beyond the result",
        holdall_c.version(),
        {
            p: version(p)
            for p in ("blosc2", "zarr", "h5py", "tensorstore", "bcolz-zipline", "bloscpack", "bagz")
        },
        [
            f"{8 * ITEMS / 1e6:.0f} MB of float64, a random walk with two decimals, also cut into "
            "the records; each path in a separate process",
            "files are read, not mapped; a chunk of a bag is 1 MiB, or one record if that is "
            "longer; the result of a batch of a bag is its records",
            "bagz maps its files; the resident memory includes their pages",
        ],
        [table(head, lines, dict(caption="chunks a thread", goal=GOAL, amounts=drawn)), *verdicts],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["grown"]:
        print(OTHERS.get(sys.argv[2], of_arrays)(sys.argv[2], sys.argv[3:]))
    else:
        publish(compare, "memory")
