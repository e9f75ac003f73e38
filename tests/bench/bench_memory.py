"""Measures the memory peak of each code path, without its input and result, compared with the
packages blosc2, zarr, h5py, tensorstore, bcolz, bloscpack and bagz.

Environment variables: HOLDALL_LIB is the library, HOLDALL_BENCH_ONLY which of "b2nd", "bcolz",
"schunk", "frame" and "bag" (all). Each path runs in a process of its own, so that counting does not
affect the times. For holdall, all memory allocated by malloc is counted (held.py). For holdall and
the others, also the growth of the resident memory, which the system reports with an error of some
hundred kilobytes.

The goal is two chunks per thread. Bags have no chunks: 1 MiB stands for a chunk, or a record if it
is longer.
"""

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


OTHERS = dict(bcolz=of_bcolz, bloscpack=of_bloscpack, bagz=of_bagz)


def of_other(who, command):
    """Runs the equivalent of a command of holdall and returns the bytes."""
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
