"""Compares holdall with the Bagz package, on the same files in one run.

The package is called from Python; holdall from C (bench.c) and from Python (from_python.py).
Environment variables: HOLDALL_LIB is the library, HOLDALL_BENCH_RECORDS the number of records
(default 1,000,000), HOLDALL_BENCH_ROUNDS the number of rounds (5).

The goals compare both libraries with their default settings: 1 everywhere, 3 for batches of
scattered records. The table has the best number of threads of each row, too. Rows with a star are
informative and have no goal: they do more than the other side (checksums, syncs, safe reads instead
of mapping), or less (one thread).
"""

import collections
import hashlib
import os
import pathlib
import sys
import time

import bagz
import numpy as np

import common
import from_python
from common import CHECKSUM_ZSTD, CODECS, CRC32, MAP, NONE, READ, bind, version
from rows import Part, Row, memory, publish

RECORDS = int(os.environ.get("HOLDALL_BENCH_RECORDS", 1_000_000))
RANDOM = 100_000  # single random reads, and records of all batches
BATCH = 1_000  # random records of a batch
SEQUENTIAL = 10_000  # records of a batch in order
OPENS = 1_000
SHARDS, NUMBERS = 1_000, 10_000_000  # of the opened set
SET_OPENS = 10
PARALLELISM = (100, 1, 2)  # the first is the package's default


# ---- the records


def make_data(folder):
    """Text of about 200 bytes per record; the same every time."""
    rng = np.random.default_rng(200)
    syllables = [
        a + b
        for a in "b d f g k l m n p r s t v st tr ch th".split()
        for b in "a e i o u ai ea ou an er in on".split()
    ]
    vocabulary = ["".join(rng.choice(syllables, size=n)) for n in rng.integers(1, 5, size=20_000)]
    rank = np.arange(1, len(vocabulary) + 1)
    weights = 1 / (rank + 2.7)
    chosen = rng.choice(len(vocabulary), size=5_000_000, p=weights / weights.sum())
    book = " ".join(map(vocabulary.__getitem__, chosen.tolist())).encode()
    sizes = np.clip(rng.normal(200, 50, size=RECORDS), 20, 400).astype(np.int64)
    starts = rng.integers(0, len(book) - 400, size=RECORDS)
    records = [book[a : a + n] for a, n in zip(starts.tolist(), sizes.tolist())]
    offsets = np.zeros(RECORDS + 1, dtype="<u8")
    np.cumsum(sizes, out=offsets[1:])
    (folder / "data").write_bytes(b"".join(records))
    offsets.tofile(folder / "offsets")
    rng.integers(0, RECORDS, size=RANDOM).astype("<u8").tofile(folder / "indices")
    return records


def digest(records):
    sha = hashlib.sha256()
    for r in records:
        sha.update(len(r).to_bytes(8, "little"))
        sha.update(r)
    return sha.hexdigest()


# ---- the two libraries


class Ours(common.Ours):
    def __init__(self, folder):
        super().__init__("bench.c", folder, folder / "data", folder / "offsets", folder / "indices")

    def time(self, *command):
        if command[0] == "write":
            common.remove(command[1])
        return super().time(*command)

    def peak(self, *command):
        if command[0] == "write":
            common.remove(command[1])
        return super().peak(*command)


class Theirs:
    """The operations of the package. Each returns its seconds."""

    def __init__(self, folder, records=None):
        self.folder, self.records = folder, records
        self.indices = np.fromfile(folder / "indices", dtype="<u8").astype(np.int64)

    def reader(self, path, parallelism=PARALLELISM[0]):
        return bagz.Reader(str(path), bagz.Reader.Options(max_parallelism=parallelism))

    def write(self, path):
        common.remove(path)
        start = time.perf_counter()
        with bagz.Writer(str(path)) as w:
            write = w.write
            for r in self.records:
                write(r)
        return time.perf_counter() - start

    def open(self, path, times=OPENS):
        path = str(path)
        start = time.perf_counter()
        for _ in range(times):
            bagz.Reader(path)
        return time.perf_counter() - start

    def single(self, path):
        reader, indices = self.reader(path), self.indices.tolist()
        start = time.perf_counter()
        for i in indices:
            reader[i]
        return time.perf_counter() - start

    def read_indices(self, path, parallelism):
        reader = self.reader(path, parallelism)
        batches = [self.indices[k : k + BATCH] for k in range(0, RANDOM, BATCH)]
        start = time.perf_counter()
        for batch in batches:
            reader.read_indices(batch)
        return time.perf_counter() - start

    def iterate(self, path, parallelism):
        reader = self.reader(path, parallelism)
        start = time.perf_counter()
        collections.deque(reader, maxlen=0)
        return time.perf_counter() - start

    def read_range(self, path, parallelism):
        reader = self.reader(path, parallelism)
        n = len(reader)
        start = time.perf_counter()
        for k in range(0, n, SEQUENTIAL):
            reader.read_range(k, min(SEQUENTIAL, n - k))
        return time.perf_counter() - start

    def read(self, path, parallelism):
        reader = self.reader(path, parallelism)
        start = time.perf_counter()
        records = reader.read()
        took = time.perf_counter() - start
        assert len(records) == len(reader)
        return took

    def peak(self, *command):
        return common.peak(sys.executable, __file__, "peak", self.folder, *command)


class Stream:
    """The records, read from the file piece by piece, to measure the memory of writing."""

    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        offsets = np.memmap(self.folder / "offsets", dtype="<u8", mode="r")
        with open(self.folder / "data", "rb") as f:
            for k in range(0, len(offsets) - 1, SEQUENTIAL):
                for n in np.diff(offsets[k : k + SEQUENTIAL + 1].astype(np.int64)).tolist():
                    yield f.read(n)


def peak_of(folder, what="", path=None, parallelism=None):
    """Runs one operation in this process, and prints the memory peak."""
    theirs = Theirs(pathlib.Path(folder))
    theirs.records = Stream(theirs.folder)
    if what:
        getattr(theirs, what)(path, *([int(parallelism)] if parallelism else []))
    common.print_peak()


# ---- rows


def write_rows(by, theirs, folder):
    for name, codec, sum in (
        ("bagz", CODECS["zstd"], CHECKSUM_ZSTD),
        ("bag", CODECS["none"], CRC32),
    ):

        def write(checksum, durability, threads, batch, path=folder / f"ours.{name}", codec=codec):
            how = codec, checksum, durability, threads, batch
            return bind(by.ours, "write", path, *how, before=lambda: common.remove(path))

        yield Row(
            f".{name}: write",
            {"write()": lambda path=folder / f"theirs.{name}": theirs.write(path)},
            {
                "one by one, checksums": write(sum, 0, 0, 1),
                "one by one": write(NONE, 0, 0, 1),
                "10,000 at once, checksums": write(sum, 0, 0, SEQUENTIAL),
                "10,000 at once": write(NONE, 0, 0, SEQUENTIAL),
                "10,000 at once, checksums, 1 thread": write(sum, 0, 1, SEQUENTIAL),
                # last, because its file is read below
                "10,000 at once, checksums, durable": write(sum, 1, 0, SEQUENTIAL),
            },
            1,
            python=by.python,
            each=RECORDS,
            shown=(
                "one by one, checksums",
                "10,000 at once, checksums, 1 thread",
                "10,000 at once, checksums, durable",
            ),
        )


def read_rows(by, theirs, folder):
    ours = by.ours

    for whose in ("theirs", "ours"):
        for name in ("bagz", "bag"):
            path = folder / f"{whose}.{name}"
            raw = name == "bag"
            file = f".{name} of {'bagz' if whose == 'theirs' else 'holdall, with checksums'}"

            def row(what, each, their_ways, our_ways, goal=1, file=file, **more):
                return Row(
                    f"{file}: {what}",
                    their_ways,
                    our_ways,
                    goal,
                    python=by.python,
                    each=each,
                    **more,
                )

            yield row(
                "open and close",
                OPENS,
                {"mapped": lambda path=path: theirs.open(path)},
                {
                    "read": bind(ours, "open", path, READ, OPENS),
                    "mapped": bind(ours, "open", path, MAP, OPENS),
                },
                shown=("read", "mapped"),
            )
            yield row(
                "one at random",
                RANDOM,
                {"r[i], mapped": lambda path=path: theirs.single(path)},
                {
                    "mapped": bind(ours, "single", path, MAP, 0),
                    "mapped, limits in memory": bind(ours, "single", path, MAP, 1),
                    "read": bind(ours, "single", path, READ, 0),
                    "read, limits in memory": bind(ours, "single", path, READ, 1),
                },
                shown=(
                    "read",
                    "read, limits in memory",
                    "mapped" if raw and whose == "ours" else "",
                ),
            )
            yield row(
                "1,000 at random",
                RANDOM,
                parallel(theirs.read_indices, path),
                {
                    "mapped": bind(ours, "indices", path, MAP, 0, BATCH),
                    "read": bind(ours, "indices", path, READ, 0, BATCH),
                    "mapped, 1 thread": bind(ours, "indices", path, MAP, 1, BATCH),
                    "read, 1 thread": bind(ours, "indices", path, READ, 1, BATCH),
                },
                goal=3,
                shown=("mapped, 1 thread", "read, 1 thread"),
            )
            yield row(
                "in order, piece by piece",
                RECORDS,
                parallel(theirs.iterate, path, "iteration, ")
                | parallel(theirs.read_range, path, "read_range, "),
                {
                    "10,000 a call, read": bind(ours, "range", path, READ, 0, SEQUENTIAL),
                    "10,000 a call, mapped": bind(ours, "range", path, MAP, 0, SEQUENTIAL),
                    "10,000 a call, read, 1 thread": bind(ours, "range", path, READ, 1, SEQUENTIAL),
                    "10,000 a call, mapped, 1 thread": bind(
                        ours, "range", path, MAP, 1, SEQUENTIAL
                    ),
                },
                shown=("10,000 a call, read, 1 thread", "10,000 a call, mapped, 1 thread"),
            )
            yield row(
                "all in one call",
                RECORDS,
                parallel(theirs.read, path),
                {
                    "read": bind(ours, "range", path, READ, 0, 0),
                    "mapped": bind(ours, "range", path, MAP, 0, 0),
                    "read, 1 thread": bind(ours, "range", path, READ, 1, 0),
                    "mapped, 1 thread": bind(ours, "range", path, MAP, 1, 0),
                },
                shown=("read, 1 thread", "mapped, 1 thread"),
            )


def set_rows(by, theirs, folder):
    ours = by.ours
    path = folder / f"numbers@{SHARDS}.bag"
    ours.time("numbers", path, NUMBERS)
    yield Row(
        f"{SHARDS:,} shards, {NUMBERS:,} records: open and close",
        {"mapped": lambda: theirs.open(path, SET_OPENS)},
        {"read": bind(ours, "open", path, READ, SET_OPENS)},
        python=by.python,
        each=SET_OPENS,
    )


def parallel(function, path, label=""):
    return {f"{label}{p} thread{'s' * (p > 1)}": lambda p=p: function(path, p) for p in PARALLELISM}


def memories(ours, theirs, folder):
    yield memory(
        "nothing (Python and the package; C)",
        dict(bagz=theirs.peak(), holdall=ours.peak("nothing")),
    )
    for name, codec, sum in (
        ("bagz", CODECS["zstd"], CHECKSUM_ZSTD),
        ("bag", CODECS["none"], CRC32),
    ):
        t, o = folder / f"theirs.{name}", folder / f"scratch.{name}"
        one, many = (ours.peak("write", o, codec, sum, 0, 0, batch) for batch in (1, SEQUENTIAL))
        yield memory(
            f".{name}: write",
            {
                "bagz": theirs.peak("write", folder / f"scratch.{name}"),
                "holdall": one,
                "10,000 at once": many,
            },
        )
        for what, they, we in (
            ("open and close", ["open", t], [("open", t, io, OPENS) for io in (READ, MAP)]),
            ("one at random", ["single", t], [("single", t, io, 0) for io in (READ, MAP)]),
            (
                "1,000 at random",
                ["read_indices", t, 100],
                [("indices", t, io, 0, BATCH) for io in (READ, MAP)],
            ),
            (
                "in order, piece by piece",
                ["iterate", t, 100],
                [("range", t, io, 0, SEQUENTIAL) for io in (READ, MAP)],
            ),
            ("all in one call", ["read", t, 100], [("range", t, io, 0, 0) for io in (READ, MAP)]),
        ):
            read, mapped = (ours.peak(*c) for c in we)
            yield memory(
                f".{name}: {what}", dict(bagz=theirs.peak(*they), holdall=read, mapped=mapped)
            )
    path = folder / f"numbers@{SHARDS}.bag"
    yield memory(
        f"{SHARDS:,} shards: open and close",
        dict(
            bagz=theirs.peak("open", path, SET_OPENS),
            holdall=ours.peak("open", path, READ, SET_OPENS),
        ),
    )


# ---- main


def compare(folder):
    records = make_data(folder)
    ours, theirs, content = Ours(folder), Theirs(folder, records), digest(records)
    by = common.Callers(ours, from_python.Bags(records, theirs.indices))
    others = common.Others(ours)
    copy = ours.time("memcpy")
    rows = list(write_rows(by, theirs, folder))
    for row in rows:
        row.measure()
    sizes = {}
    for whose in ("theirs", "ours"):
        for name in ("bagz", "bag"):
            path = folder / f"{whose}.{name}"
            sizes[whose, name] = path.stat().st_size / 1e6
            assert ours.ask("digest", path) == [
                content
            ], f"holdall reads something else from {path}"
            assert (
                digest(bagz.Reader(str(path)).read()) == content
            ), f"bagz reads something else from {path}"
    for row in (reading := [*read_rows(by, theirs, folder), *set_rows(by, theirs, folder)]):
        row.measure()
    mean = (folder / "data").stat().st_size / RECORDS
    return Part(
        "Bags, compared with the Bagz package",
        ours.version,
        dict(bagz=version("bagz")),
        [
            others.said(),
            f"{RECORDS:,} records of text, {mean:.0f} bytes on average; files "
            + ", ".join(
                f".{name} {sizes['theirs', name]:.0f} MB (holdall {sizes['ours', name]:.0f})"
                for name in ("bagz", "bag")
            ),
            "both read the same file; bagz maps files; its first way uses its default of 100 "
            "threads; it writes and verifies no checksums, and does not sync",
        ],
        [*rows, *reading, *memories(ours, theirs, folder)],
        copy,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["peak"]:
        peak_of(*sys.argv[2:])
    else:
        publish(compare, "bag")
