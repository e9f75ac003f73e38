"""Measures the memory of each path of holdall without its input and result: the list of paths, and
the results of memory.c for each. For bench_memory.py, and for versus.py, which compares two
versions of the library.

Each path runs in a process of its own, so that counting does not affect the times. All memory
allocated by malloc is counted (heap.h), including the state of codecs. Files are read, not mapped,
because the pages of a mapped file count as memory of the process.
"""

import array
import functools
import itertools
import math
import random
import shutil
import subprocess
import sys

import common
import holdall_c as h
from common import READ, remove

ITEMS, THREADS = 1 << 23, (1, 2)
SHAPE, CHUNKS = (128, 256, 256), (64, 64, 64)
CHUNK, PIECE, SOME = 1 << 20, 8 << 20, 100_000
CODECS = {name: common.CODECS[name] for name in ("lz4", "zstd")}
# bytes of a record, and records per call
RECORDS = {200: 10_000, 4096: 10_000, 8 << 20: 2}
FORMATS = dict(
    b2nd=h.FORMAT_B2ND, bcolz=h.FORMAT_BCOLZ, schunk=h.FORMAT_BLOSCPACK, frame=h.FORMAT_B2FRAME
)
NAMES = dict(b2nd="b2nd", bcolz="bcolz", schunk="Bloscpack", frame="frame", bag="bag")
WRITES = ("array", "schunk", "bag")


def walk(path):
    """Doubles with two decimals, the same every time."""
    steps = random.Random(2).choices(range(-173, 174), k=ITEMS - 1)
    with open(path, "wb") as f:
        array.array("d", (at / 100 for at in itertools.accumulate(steps, initial=10_000))).tofile(f)


def by_commas(numbers):
    return ",".join(map(str, numbers))


# ---- the operations: a name, bytes of a chunk, the command of holdall, and those of others, by
# name


def array_paths(folder):
    for codec, number in CODECS.items():
        path, others = folder / f"b2nd.{codec}", ("blosc2", "zarr", "h5py", "tensorstore")
        size = 8 * math.prod(CHUNKS)
        yield f"b2nd, {codec}: write", size, (
            "array",
            folder / "data",
            path,
            FORMATS["b2nd"],
            "<f8",
            by_commas(SHAPE),
            by_commas(CHUNKS),
            number,
        ), others
        yield f"b2nd, {codec}: read all", size, ("box", path, READ, None, 0, 1), others
        yield f"b2nd, {codec}: 50 cubes of 32", size, ("box", path, READ, None, "32,32,32", 50), ()


def dataset_paths(folder):
    for codec, number in CODECS.items():
        path = folder / f"bcolz.{codec}"
        yield f"bcolz, {codec}: write", CHUNK, (
            "array",
            folder / "data",
            path,
            FORMATS["bcolz"],
            "<f8",
            ITEMS,
            CHUNK // 8,
            number,
        ), ("bcolz",)
        yield f"bcolz, {codec}: read all", CHUNK, ("box", path, READ, None, 0, 1), ("bcolz",)
        yield f"bcolz, {codec}: 50 times 10 rows", CHUNK, ("box", path, READ, None, 10, 50), ()


def superchunk_paths(kind, folder):
    for codec, number in CODECS.items():
        path, name, others = (
            folder / f"{kind}.{codec}",
            f"{NAMES[kind]}, {codec}",
            ("bloscpack",) if kind == "schunk" else (),
        )
        yield f"{name}: write", CHUNK, (
            "schunk",
            folder / "data",
            path,
            FORMATS[kind],
            number,
            None,
            CHUNK,
            PIECE,
        ), others
        yield f"{name}: read all", CHUNK, ("content", path, READ, None, 0), others
        yield f"{name}: read, {SOME:,} bytes at a time", CHUNK, (
            "content",
            path,
            READ,
            None,
            SOME,
        ), ()


def bag_paths(folder):
    for codec, suffix in ((common.CODECS["none"], "bag"), (CODECS["zstd"], "bagz")):
        for size, batch in RECORDS.items():
            path, name = (
                folder / f"{size}.{suffix}",
                f"bag, {'zstd' if suffix == 'bagz' else 'raw'}, records of {size:,}",
            )
            yield f"{name}: write", max(size, CHUNK), (
                "bag",
                folder / "data",
                path,
                codec,
                None,
                size,
                batch,
            ), ("bagz",)
            yield f"{name}: {batch:,} in a call", max(size, CHUNK), (
                "records",
                path,
                READ,
                None,
                batch,
            ), ("bagz",)
            yield f"{name}: stream", max(size, CHUNK), ("stream", path, READ, None), ("bagz",)


PATHS = dict(
    b2nd=array_paths,
    bcolz=dataset_paths,
    schunk=functools.partial(superchunk_paths, "schunk"),
    frame=functools.partial(superchunk_paths, "frame"),
    bag=bag_paths,
)


# ---- holdall


def with_threads(command, threads):
    """The position of the path argument; for an array that is written it is the last."""
    command = [threads if word is None else word for word in command]
    return [*command, threads] if command[0] == "array" else command


def held(program, command, env=None):
    """Bytes allocated by malloc, and resident bytes."""
    if command[0] in WRITES:
        shutil.rmtree(command[2], ignore_errors=True) if command[2].is_dir() else remove(command[2])
    run = subprocess.run(
        list(map(str, [program, *command])), capture_output=True, text=True, env=env
    )
    if run.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {run.stderr}")
    return map(int, run.stdout.split())


def of_holdall(program, command):
    """By threads."""
    found = {threads: tuple(held(program, with_threads(command, threads))) for threads in THREADS}
    return {t: f[0] for t, f in found.items()}, {t: f[1] for t, f in found.items()}
