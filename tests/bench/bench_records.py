"""Compares holdall with its peers for records: Bagz, array_record and LMDB; and with zstd alone on
the same records and threads.

All read the file that the Bagz package has written; those with files of their own read the same
records from there. holdall is called from C (bench.c) and from Python (from_python.py), its streams
and batches with two threads. Peers are called from Python; LMDB and zstd from C as well
(peer_lmdb.c). Bagz, array_record, Lance, Vortex and Parquet have no interface for C, C++ or Rust
that is installed with the package. Environment variables: HOLDALL_LIB is the library,
HOLDALL_BENCH_SETS some of the sets below (default: all), HOLDALL_BENCH_SCALE a fraction of their
records (1), HOLDALL_BENCH_ROUNDS the number of rounds (5).

Rules of the comparison:
- Both sides do the same. Bagz maps its files, so the goals apply to the mapped reads of holdall.
- Reading an uncompressed record at a random position without a map takes one system call, by
  design: truncation of a mapped file kills its reader. Bagz has no such reads, so these rows have a
  star, and `pread alone` is their bound. Unmapped reads in order, and of compressed records, have
  the goals of the mapped reads.
- A limit has as many threads as holdall, and the same memory to write to: new memory if holdall
  returns all records in one call, otherwise memory in use. memcpy copies random records, and zstd
  alone decodes all frames, from a new map of the file, whose pages every reader has to fault in.
- If the goal is a multiple of bagz and the limit itself is less than that, the goal cannot be
  reached; then the ratio to the limit decides.
- Opening includes the number of records, which Bagz finds when it is asked.
- From Python, Bagz and holdall return bytes objects; Lance, Vortex and Parquet return Arrow arrays,
  as their users get them, beside which holdall returns one buffer a call ("buffers").
- A writer starts with an idle disk: writes of others have completed.
- "Dictionary" is a bag with a dictionary, which the writer trains; its goals are those of "ahead of
  Vortex and Lance".
"""

import collections
import dataclasses
import functools
import os
import pathlib
import time

import bagz
import lmdb
import numpy as np
import zstandard
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

import columns
import common
import from_python
import holdall_c
import zstd_alone
from common import CODECS, MAP, NONE, READ, version
from rows import Part, Row, publish
from texts import text

SETS = {
    "text200": (1_000_000, 200, 100_000, 1_000),
    "mid4k": (100_000, 4_096, 20_000, 1_000),
    "big8m": (200, 8 << 20, 100, 10),
}
SCALE = float(os.environ.get("HOLDALL_BENCH_SCALE", 1))
THREADS = 2
AUTO = holdall_c.BAG_DICTIONARY_AUTO
# bagz with its defaults; the best settings that its users may choose
DEFAULT, CHOSEN = 100, (1, 2)
# of zstd alone, of memcpy alone; of bagz with its defaults: batches and streams, in order, raw; of
# the best of bagz
GOALS = dict(
    zstd=0.95,
    zstd_single=0.97,
    memcpy=0.5,
    scattered=4,
    ordered=2,
    raw=3,
    raw_single=1.5,
    single=1,
    open=1,
    write=2,
    append=1.5,
    python_threads=1.8,
    dictionary=1,
    best=1.4,
    best_ordered=1.8,
)


@dataclasses.dataclass
class Data:
    """The records of one set, of about so many bytes each; the same every time."""

    name: str
    folder: pathlib.Path

    def __post_init__(self):
        count, size, random, self.batch = SETS[self.name]
        self.count = max(2 * self.batch, int(count * SCALE))
        self.random = max(2 * self.batch, int(random * SCALE))
        rng = np.random.default_rng(size)
        book = text(rng)
        sizes = (
            np.clip(rng.normal(size, size / 4, size=self.count), 20, 2 * size).astype(np.int64)
            if size < 1000
            else np.full(self.count, size)
        )
        starts = rng.integers(0, len(book) - sizes.max(), size=self.count)
        self.keep([book[a : a + n] for a, n in zip(starts.tolist(), sizes.tolist())], rng)

    def keep(self, records, rng):
        """The records, also in files, and the indices of random reads."""
        self.records, self.count = records, len(records)
        self.offsets = np.zeros(self.count + 1, dtype="<u8")
        np.cumsum(np.fromiter(map(len, records), "<u8", self.count), out=self.offsets[1:])
        self.bytes = int(self.offsets[-1])
        self.indices = rng.integers(0, self.count, size=self.random).astype("<u8")
        (folder := self.folder).mkdir()
        with open(folder / "data", "wb") as f:
            f.writelines(self.records)
        self.offsets.tofile(folder / "offsets")
        self.indices.tofile(folder / "indices")


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def drain(iterator):
    return timed(lambda: collections.deque(iterator, maxlen=0))[0]


# ---- the others: each way returns its seconds


class Bagz:
    def __init__(self, data, path):
        self.data, self.path = data, str(path)
        self.indices = data.indices.astype(np.int64)

    def reader(self, parallelism):
        return bagz.Reader(self.path, bagz.Reader.Options(max_parallelism=parallelism))

    def write(self):
        common.remove(self.path)
        os.sync()

        def all():
            with bagz.Writer(self.path) as w:
                for r in self.data.records:
                    w.write(r)

        return timed(all)[0]

    def open(self, times):
        def all():
            for _ in range(times):
                len(bagz.Reader(self.path))

        return timed(all)[0]

    def single(self):
        r = self.reader(DEFAULT)
        return timed(lambda: [r[i] and None for i in self.indices.tolist()])[0]

    def batches(self, parallelism):
        r, n = self.reader(parallelism), self.data.batch
        parts = [self.indices[k : k + n] for k in range(0, len(self.indices), n)]
        return timed(lambda: [r.read_indices(p) and None for p in parts])[0]

    def stream(self, parallelism):
        return drain(self.reader(parallelism).read_indices_iter(self.indices))

    def iterate(self, parallelism):
        return drain(iter(self.reader(parallelism)))

    def all(self, parallelism):
        r = self.reader(parallelism)
        took, records = timed(r.read)
        assert len(records) == self.data.count
        return took


class ArrayRecord:
    def __init__(self, data, path, codec):
        self.data, self.path = data, str(path)
        self.options = f"group_size:1,{'zstd:3' if codec else 'uncompressed'}"

    def write(self):
        common.remove(self.path)
        os.sync()

        def all():
            w = ArrayRecordWriter(self.path, self.options)
            for r in self.data.records:
                w.write(r)
            w.close()

        return timed(all)[0]

    def reader(self, options="readahead_buffer_size:0"):
        return ArrayRecordReader(self.path, options)

    def single(self):
        r, some = (
            self.reader(),
            self.data.indices[: len(self.data.indices) // 50 + 1].tolist(),
        )  # a read takes milliseconds
        return (
            timed(lambda: [r.read([i]) and None for i in some])[0]
            * len(self.data.indices)
            / len(some)
        )

    def batches(self):
        r, all, n = self.reader(), self.data.indices.tolist(), self.data.batch
        return timed(lambda: [r.read(all[k : k + n]) and None for k in range(0, len(all), n)])[0]

    def iterate(self):
        r, n = self.reader(""), 10 * self.data.batch
        return timed(
            lambda: [
                r.read(k, min(k + n, self.data.count)) and None
                for k in range(0, self.data.count, n)
            ]
        )[0]

    def all(self):
        return timed(self.reader("").read_all)[0]


class Lmdb:
    """Each value is a zstd frame, or uncompressed."""

    def __init__(self, data, path, codec):
        self.data, self.path, self.codec = data, str(path), codec

    def env(self, **more):
        return lmdb.open(
            self.path, subdir=False, map_size=2 * self.data.bytes + (1 << 28), lock=False, **more
        )

    def write(self):
        common.remove(self.path)
        os.sync()
        pack = zstandard.ZstdCompressor(level=3).compress if self.codec else bytes

        def all():
            with self.env(sync=False) as env, env.begin(write=True) as t:
                for i, r in enumerate(self.data.records):
                    t.put(i.to_bytes(8, "big"), pack(r), append=True)

        return timed(all)[0]

    def unpack(self):
        return zstandard.ZstdDecompressor().decompress if self.codec else bytes

    def single(self):
        unpack = self.unpack()
        with self.env(readonly=True) as env, env.begin(buffers=True) as t:
            return timed(
                lambda: [
                    unpack(t.get(i.to_bytes(8, "big"))) and None for i in self.data.indices.tolist()
                ]
            )[0]

    def iterate(self):
        unpack = self.unpack()
        with self.env(readonly=True) as env, env.begin(buffers=True) as t:
            return drain(map(unpack, t.cursor().iternext(keys=False, values=True)))


def write_alone(data, path):
    """Writes the bytes of all records from memory to a file."""
    content = memoryview((data.folder / "data").read_bytes())

    def all():
        with open(path, "wb", buffering=0) as f:
            for k in range(0, len(content), 8 << 20):
                f.write(content[k : k + (8 << 20)])

    common.remove(path)
    os.sync()
    return timed(all)[0]


# ---- rows


def by_parallelism(function, label="bagz"):
    return {
        f"{label}, {p} thread{'s' * (p > 1)}": (lambda p=p: function(p)) for p in (DEFAULT, *CHOSEN)
    }


def callers(data, folder):
    """holdall, and LMDB with zstd as the peer from C."""
    files = [data.folder / file for file in ("data", "offsets", "indices")]
    return common.Callers(
        common.Ours("bench.c", folder, *files),
        from_python.Bags(data.records, data.indices),
        common.Ours("peer_lmdb.c", folder, *files, flags=["-llmdb", "-lzstd"]),
    )


def rows(data, by, codec):
    """The rows of one set, by these callers."""
    name = f"{data.name}, {'zstd' if codec else 'raw'}"
    suffix = "bagz" if codec else "bag"
    path = data.folder / f"theirs.{suffix}"
    their = Bagz(data, path)
    array, db = ArrayRecord(data, data.folder / f"{suffix}.array_record", codec), Lmdb(
        data, data.folder / f"{suffix}.mdb", codec
    )
    mine, mdb = data.folder / f"ours.{suffix}", data.folder / f"{suffix}.c.mdb"
    files = columns.files(data.folder, suffix, columns.of_records(data.records)) if codec else {}
    best = [f"bagz, {p} thread{'s' * (p > 1)}" for p in (DEFAULT, *CHOSEN)]

    limit, of_limit = ("zstd alone", GOALS["zstd"]) if codec else ("memcpy alone", GOALS["memcpy"])

    def goals(ways, default, chosen):
        """The ratios of each of these ways to bagz with its defaults, the best of bagz, and the
        limit."""
        default = GOALS[default] if codec else GOALS["raw"]
        return [
            g
            for way in ways
            for g in (
                (way, best[:1], default),
                (way, best, GOALS[chosen]),
                (way, [limit], of_limit),
            )
        ]

    def limit_of(order, batch):
        return {
            limit: (
                decoded(THREADS, order, batch)
                if codec
                else bind("copy", path, THREADS, order, batch)
            )
        }

    def decoded(threads, order, batch):
        return lambda: zstd_alone.decode(
            path, data.offsets, threads, slice(None) if order else data.indices, batch
        )

    bind = functools.partial(common.bind, by.ours)

    def fresh(path):
        """A writer starts with an idle disk and without the file."""
        common.remove(path)
        os.sync()

    def lmdb_in_c(command):
        before = functools.partial(fresh, mdb) if command == "write" else None
        run = common.bind(by.native, command, mdb, int(bool(codec)), before=before)
        return {"C": {"lmdb": run}}

    def written(threads, batch, *dictionary):
        how = CODECS["zstd" if codec else "none"], NONE, 0, threads, batch, *dictionary
        return bind("write", mine, *how, before=lambda: fresh(mine))

    at_once = 10 * data.batch
    small = data.folder / "dictionary.bagz"
    if codec:
        by.ours.time("write", small, CODECS["zstd"], NONE, 0, THREADS, at_once, AUTO)
    columnar = [name for name in files if name in ("lance", "vortex")]

    def with_dictionary(way, *command):
        """The same command for a bag with a dictionary: a way, and its goal."""
        way = f"{way}, dictionary"
        return (
            {way: bind(command[0], small, *command[1:])} if codec else {},
            [(way, columnar, GOALS["dictionary"])] * bool(columnar),
        )

    theirs = {"bagz": their.write, "array_record": array.write, "lmdb": db.write} | {
        name: file.write for name, file in files.items()
    }
    for threads in (1, 2):
        bytes_alone = "zstd alone" if codec else "its bytes alone"
        alone_of = {
            bytes_alone: (
                (lambda t=threads: zstd_alone.encode(data.folder / "data", data.offsets, t))
                if codec
                else lambda: write_alone(data, mine)
            )
        }
        yield Row(
            f"{name}: write, {threads} thread{'s' * (threads > 1)}",
            (theirs if threads == 2 else {}) | alone_of,
            {"many at once": written(threads, at_once), "one by one": written(threads, 1)}
            | ({"many at once, dictionary": written(threads, at_once, AUTO)} if codec else {}),
            python=by.python,
            native=lmdb_in_c("write") if threads == 2 else {},
            bound=bytes_alone,
            goals=[
                ("many at once", ["bagz"], GOALS["write"]),
                ("one by one", ["bagz"], GOALS["append"]),
            ]
            * (threads == 2)
            + [("many at once", ["zstd alone"], GOALS["zstd"])] * bool(codec),
            each=data.count,
        )
    opens = 5000  # the first ones of a process take longer
    reading = () if codec else ("read", "read, one by one", "read, batches")
    yield Row(
        f"{name}: open and close",
        {"bagz": lambda: their.open(opens)}
        | {
            name: lambda file=file: file.open(opens // 50) * 50 for name, file in files.items()
        },
        {"mapped": bind("open", path, MAP, opens)},
        python=by.python,
        goals=[("mapped", ["bagz"], GOALS["open"])],
        each=opens,
    )
    small_single, _ = with_dictionary("mapped", "single", MAP, 0)
    # faster for records of this size
    single = limit if codec or data.bytes < data.count << 20 else "pread alone"
    yield Row(
        f"{name}: one at random",
        {"bagz": their.single, "array_record": array.single, "lmdb": db.single}
        | (
            {"zstd alone": decoded(1, 0, data.batch)}
            if codec
            else {limit: bind("copy", path, 1, 0, 1), "pread alone": bind("pread", path)}
        ),
        {"mapped": bind("single", path, MAP, 0), "read": bind("single", path, READ, 0)}
        | small_single,
        python=by.python,
        native=lmdb_in_c("single"),
        goals=[("mapped", ["bagz"], GOALS["single" if codec else "raw_single"])]
        + [("mapped", ["zstd alone"], GOALS["zstd_single"])] * bool(codec),
        bound=single,
        shown=reading,
        each=data.random,
    )
    small_batches, ahead = with_dictionary("mapped", "indices", MAP, THREADS, data.batch)
    yield Row(
        f"{name}: {data.batch:,} at random",
        by_parallelism(their.batches)
        | {"array_record": array.batches}
        | {
            name: lambda file=file: file.batches(data.indices, data.batch)
            for name, file in files.items()
        }
        | limit_of(0, data.batch),
        {
            way: bind("indices", path, io, THREADS, data.batch)
            for way, io in (("mapped", MAP), ("read", READ))
        }
        | small_batches,
        python=by.python,
        goals=goals(("mapped", "read")[: 1 + bool(codec)], "scattered", "best") + ahead,
        bound=limit,
        shown=reading,
        each=data.random,
    )
    yield Row(
        f"{name}: {data.batch:,} at random, Python threads with a thread of the library each",
        {"1 thread": common.bind(by.python, "on_threads", path, 1, data.batch)},
        {"2 threads, Python": common.bind(by.python, "on_threads", path, 2, data.batch)},
        GOALS["python_threads"],
        each=data.random,
    )
    yield Row(
        f"{name}: stream of random numbers",
        by_parallelism(their.stream) | limit_of(0, data.batch),
        {
            f"{way}, {how}": bind("stream", path, io, THREADS, 0, take)
            for way, io in (("mapped", MAP), ("read", READ))
            for how, take in (("one by one", 1), ("batches", data.batch))
        },
        python=by.python,
        goals=goals(
            ("mapped, one by one", "read, one by one")[: 1 + bool(codec)], "scattered", "best"
        ),
        bound=limit,
        shown=reading,
        each=data.random,
    )
    small_range, ahead = with_dictionary("mapped, batches", "range", MAP, THREADS, at_once)
    yield Row(
        f"{name}: in order",
        by_parallelism(their.iterate)
        | {"array_record": array.iterate, "lmdb": db.iterate}
        | {name: file.all for name, file in files.items()}
        | limit_of(1, at_once),
        {
            f"{way}, {how}": bind(*command)
            for way, io in (("mapped", MAP), ("read", READ))
            for how, command in (
                ("stream", ("stream", path, io, THREADS, 1, 1)),
                ("batches", ("range", path, io, THREADS, at_once)),
            )
        }
        | small_range
        | {
            "mapped, buffers, Python": common.bind(
                by.python, "buffers", path, MAP, THREADS, at_once
            )
        },
        python=by.python,
        native=lmdb_in_c("range"),
        goals=goals(("mapped, stream", "read, stream"), "ordered", "best_ordered") + ahead,
        bound=limit,
        each=data.count,
    )
    yield Row(
        f"{name}: all in one call",
        by_parallelism(their.all) | {"array_record": array.all} | limit_of(1, 0),
        {way: bind("range", path, io, THREADS, 0) for way, io in (("mapped", MAP), ("read", READ))},
        python=by.python,
        goals=goals(("mapped", "read"), "ordered", "best_ordered"),
        bound=limit,
        each=data.count,
    )


def sizes(data):
    """The sizes of the compressed files of these records."""
    names = {"theirs.bagz": "bagz", "dictionary.bagz": "holdall with a dictionary"}
    names |= {f"bagz.{name}": name for name in ("lance", "vortex", "parquet")}
    found = {name: data.folder / file for file, name in names.items()}
    return ", ".join(
        f"{name} {size(path) / 1e6:,.1f}" for name, path in found.items() if path.exists()
    )


def size(path):
    """The bytes of a file, or of all files of a folder."""
    paths = path.rglob("*") if path.is_dir() else [path]
    return sum(path.stat().st_size for path in paths if path.is_file())


def compare(folder):
    measured, others = [], []
    for name in os.environ.get("HOLDALL_BENCH_SETS", ",".join(SETS)).split(","):
        data = Data(name, folder / name)
        by = callers(data, folder)
        other, copy = common.Others(by.ours), by.ours.time("memcpy")
        for codec in ("zstd", None):
            for row in rows(data, by, codec):
                row.measure(nbytes=data.bytes)
                measured.append(row)
        others.append(f"{name}: {data.count:,} records, {data.bytes / 1e6:,.0f} MB; {other.said()}")
        others.append(f"{name}, stored in MB: {sizes(data)}")
        by.end()
    return Part(
        "Records, compared with bagz, array_record, LMDB, Lance, Vortex, Parquet and zstd alone",
        by.ours.version,
        {p: version(p) for p in ("bagz", "array-record", "lmdb", "zstandard")} | columns.VERSIONS,
        [
            *others,
            f"holdall has {THREADS} threads; bagz uses {DEFAULT} threads by default; array_record "
            "has group_size:1; no library writes checksums or syncs files",
            "random records that are read, not mapped, take one system call each",
        ],
        measured,
        copy,
    )


if __name__ == "__main__":
    publish(compare, "records")
