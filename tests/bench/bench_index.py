"""Compares indexes of holdall with Index of the Bagz package, over the same bags in one run.

Goals: building takes a third of the time, or, if records must be decompressed, hardly more than
zstd alone takes for them; a third of the memory, and for 10^7 keys less than the keys themselves;
lookups are as fast or faster (if records need not be decompressed to compare them with the key).

The package is called from Python; holdall from C (bench_index.c) and from Python (from_python.py).
Environment variables: HOLDALL_LIB is the library, HOLDALL_BENCH_RECORDS the number of records
(default 1,000,000), HOLDALL_BENCH_ROUNDS the number of rounds (5).
"""

import os
import pathlib
import sys
import time

import bagz
import numpy as np

import common
import from_python
import zstd_alone
from common import MAP, READ, bind, version
from rows import Part, Row, goal, memory, publish, table

RECORDS = int(os.environ.get("HOLDALL_BENCH_RECORDS", 1_000_000))
LOOKUPS = 200_000
BUILD_GOAL, MEMORY_GOAL, FIND_GOAL = 3, 3, 1
# with fewer records, most memory is independent of the index
MANY = 10_000_000
# threads of zstd alone, and of holdall unless a row states another number; and the size of a batch
THREADS, AT_ONCE = 2, 10_000


def keys(rng):
    """18.8 bytes on average, a tenth of them repeated."""
    made = [
        b"%0*d" % (n, i)
        for i, n in enumerate(rng.integers(10, 29, size=RECORDS * 9 // 10).tolist())
    ]
    made += [made[i] for i in rng.integers(0, len(made), size=RECORDS - len(made)).tolist()]
    return [made[i] for i in rng.permutation(RECORDS).tolist()]


def texts(rng):
    """200 bytes each."""
    vocabulary = [
        b"".join(rng.choice([b"ka", b"lo", b"mi", b"ren", b"st", b"u"], size=3).tolist())
        for _ in range(3000)
    ]
    book = b" ".join(vocabulary[i] for i in rng.integers(0, 3000, size=RECORDS).tolist())
    return [book[i : i + 200] for i in rng.integers(0, len(book) - 200, size=RECORDS).tolist()]


def write(path, records):
    with bagz.Writer(str(path)) as w:
        for r in records:
            w.write(r)


def asked(folder, records, rng):
    """Writes files of the keys to look up, and returns the keys."""
    some = [records[i] for i in rng.integers(0, len(records), size=LOOKUPS).tolist()]
    (folder / "data").write_bytes(b"".join(some))
    np.cumsum([0, *map(len, some)]).astype("<u8").tofile(folder / "offsets")
    return some


def build_theirs(path):
    reader = bagz.Reader(str(path))
    start = time.perf_counter()
    index = bagz.Index(reader)
    took = time.perf_counter() - start
    assert len(index) > 0
    return took


def find_theirs(index, some):
    get = index.get
    start = time.perf_counter()
    for key in some:
        get(key)
    return time.perf_counter() - start


def rows(by, path, some, offsets):
    ours = by.ours
    file = f"{path}.index"
    limit = (
        {}
        if path.suffix == ".bag"
        else {"zstd alone": lambda: zstd_alone.decode(path, offsets, THREADS, at_once=AT_ONCE)}
    )
    yield Row(
        f"{path.name}: build",
        {"bagz Index": lambda: build_theirs(path)} | limit,
        {
            "in memory": bind(ours, "build", path, MAP, THREADS),
            "in a file, durable": bind(ours, "create", path, MAP, file, THREADS),
            "in memory, 1 thread": bind(ours, "build", path, MAP, 1),
        },
        goals=[("in memory", ["bagz Index"], BUILD_GOAL)],
        bound="zstd alone" if limit else "",
        python=by.python,
        each=RECORDS,
    )
    index = bagz.Index(bagz.Reader(str(path)))
    yield Row(
        f"{path.name}: find",
        {"bagz get": lambda: find_theirs(index, some)},
        {
            "first, mapped": bind(ours, "first", path, file, MAP, 0),
            "first, mapped, limits in memory": bind(ours, "first", path, file, MAP, 1),
            "first, read": bind(ours, "first", path, file, READ, 0),
            "all, mapped": bind(ours, "all", path, file, MAP, 0),
            "10,000 a call, mapped": bind(ours, "many", path, file, MAP, 0),
            "10,000 a call, read": bind(ours, "many", path, file, READ, 0),
        },
        goals=[
            (way, ["bagz get"], FIND_GOAL)
            for way in ("first, mapped", "10,000 a call, mapped")
            if path.suffix == ".bag"
        ],
        python=by.python,
        each=LOOKUPS,
    )


def memories(ours, path, size):
    """The memory peak of a process without its initial memory. holdall reads the bag instead of
    mapping it, so that its pages are not counted. The keys have `size` bytes."""
    me = (sys.executable, __file__, "peak")
    they = common.peak(*me, path) - common.peak(*me)
    nothing = ours.peak("nothing")
    for way, command in (
        ("in memory", ("build", path, READ, 0)),
        ("in a file", ("create", path, READ, f"{path}.index", 0)),
    ):
        we = ours.peak(*command) - nothing
        yield memory(f"{path.name}: build {way}", dict(bagz=they, holdall=we))
        yield goal(
            they / we >= MEMORY_GOAL,
            f"{path.name}: memory to build {way}: {they / we:.2f} times less, at least "
            f"{MEMORY_GOAL}",
        )
        share = we * (1 << 20) / size
        if RECORDS >= MANY:
            yield goal(
                share < 1,
                f"{path.name}: memory to build {way}: {share:.2f} of the keys' {size / 1e6:.0f} "
                "MB, less than 1",
            )


def compare(folder):
    rng = np.random.default_rng(1)
    records, sizes = [], []
    for name, some in (("keys.bag", keys(rng)), ("keys.bagz", None), ("texts.bagz", texts(rng))):
        some = some or keys(np.random.default_rng(1))
        path = folder / name
        write(path, some)
        offsets, requested = np.cumsum([0, *map(len, some)]).astype("<u8"), asked(folder, some, rng)
        size = int(offsets[-1])
        del some
        ours = common.Ours("bench_index.c", folder, folder / "data", folder / "offsets")
        by = common.Callers(ours, from_python.Indexes(requested))
        for row in rows(by, path, requested, offsets):
            row.measure(nbytes=size)
            records.append(row)
        records += memories(ours, path, size)
        sizes.append(
            [
                name,
                f"{size / 1e6:.1f}",
                f"{pathlib.Path(f'{path}.index').stat().st_size / RECORDS:.2f}",
            ]
        )
        ours.process.stdin.close()
    return Part(
        "Indexes, compared with bagz",
        ours.version,
        dict(bagz=version("bagz")),
        [
            f"{RECORDS:,} records in bags of bagz, mapped",
            "a single lookup waits for memory three times: for a bucket, the limits and the "
            "record; reading instead of mapping takes one system call"
            " for the bucket and one for the record; three quarters of building from compressed "
            "texts are decoding",
            "memory is the peak of a process minus that of an idle process; there holdall reads "
            "the bag instead of mapping it",
        ],
        [*records, table(["index", "MB of keys", "bytes of a key in the file"], sizes)],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["peak"]:
        if sys.argv[2:]:
            build_theirs(sys.argv[2])
        common.print_peak()
    else:
        publish(compare, "index")
