"""Compares datasets of holdall with the package bcolz-zipline: the same data and settings, in one
run.

The package is called from Python; holdall from C (bench_bcolz.c) and from Python (from_python.py).
Environment variables: HOLDALL_BENCH_MB is the amount of data (default 400), HOLDALL_BENCH_ROUNDS
the number of rounds (5), HOLDALL_BENCH_ONLY the parts ("files", "slices", "table", "memory";
default all), HOLDALL_BENCH_CODECS the codecs ("lz4 blosclz").

Both have 2 threads, level 5, shuffle and the chunk size of bcolz; nothing is synced. Slices and the
table are read from files that bcolz wrote, which have no checksums; files of holdall have
checksums, the default. Slices are at random positions of an open array. For LZ4 the lower bound is
shown beside them: opening, reading and closing the files of the chunks, and the LZ4 decoder up to
the rows. Rows with a star are informative and have no goal.
"""

import os
import pathlib
import shutil
import sys

import bcolz
import blosc2
import numpy as np

import common
import from_python
from common import CRC32, MAP, NONE, READ, bind, codecs, timed, version
from rows import Part, Row, goal, memory, publish

MB = int(os.environ.get("HOLDALL_BENCH_MB", 400))
ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "files slices table memory").split()
CODECS = codecs("lz4 blosclz")
ROWS = 1_000_000  # of an append, and of a piece
THREADS, COLUMNS, FEW = 2, 8, 100
COMMITS, FEW_ROWS = 50, 1000
# it exports the LZ4 decoder
LIBRARY = next(pathlib.Path(blosc2.__file__).parent.glob("lib*/libblosc2.so"))
LIMIT = "files and codec alone"
NAMES = [f"f{i}" for i in range(COLUMNS)]
GOALS = dict(
    append=1.3, read=2, slice={10: 20, 1000: 20, 100_000: 4}, column=2, commit=2, memcpy=0.5
)


def make_data(folder):
    """A random walk of floats with two decimals; the same every time."""
    data = np.round(100 + np.random.default_rng(200).standard_normal(MB * 125_000).cumsum(), 2)
    data.tofile(folder / "data")
    return data


def settings(codec):
    return bcolz.cparams(clevel=5, shuffle=bcolz.SHUFFLE, cname=codec)


def idle_without(path):
    """Removes earlier files and syncs, so that no writes are pending."""
    shutil.rmtree(path, ignore_errors=True)
    os.sync()


def fresh(path, do):
    idle_without(path)
    return do()


def theirs_append(data, path, codec):
    array = bcolz.carray(
        data[:0], rootdir=str(path), mode="w", expectedlen=len(data), cparams=settings(codec)
    )
    for at in range(0, len(data), ROWS):
        array.append(data[at : at + ROWS])
    array.flush()


def theirs_read(path):
    return bcolz.open(str(path), mode="r")[:]


def theirs_pieces(path):
    array = bcolz.open(str(path), mode="r")
    for at in range(0, len(array), ROWS):
        array[at : at + ROWS]


class Slices:
    """Slices of an open array, at the positions of bench_bcolz.c."""

    def __init__(self, path, rows, times, along=False):
        array = bcolz.open(str(path), mode="r")
        positions, at, self.all = len(array) - rows, 0, []
        for _ in range(times):
            at = (at + (rows if along else 0x9E3779B97F4A7C15 % positions)) % positions
            self.all.append((at, at + rows))
        self.array = array

    def __call__(self):
        for start, stop in self.all:
            self.array[start:stop]


def theirs_column(path, name):
    return bcolz.open(str(path), mode="r")[name][:]


def file_rows(by, folder, data):
    ours, size = by.ours, data.nbytes
    for codec, number in CODECS.items():
        t, o = folder / f"theirs.{codec}", folder / f"ours.{codec}"

        def append(sum, durability, o=o, number=number):
            how = number, ROWS, sum, durability
            return bind(ours, "append", folder / "data", o, *how, before=lambda: idle_without(o))

        yield Row(
            f"append {ROWS:,} rows at a time, {codec}",
            {
                "bcolz": lambda t=t, codec=codec: fresh(
                    t, lambda: timed(theirs_append, data, t, codec)
                )
            },
            {
                "durable": append(CRC32, 1),
                "without checksums": append(NONE, 0),
                "holdall": append(CRC32, 0),
            },
            GOALS["append"],
            size,
            python=by.python,
            shown=("durable", "without checksums"),
        )
        yield Row(
            f"read all rows, {codec}",
            {"bcolz": lambda t=t: timed(theirs_read, t)},
            {
                "holdall": bind(ours, "read", t, READ),
                "mapped": bind(ours, "read", t, MAP),
                "with checksums": bind(ours, "read", o, READ),
            },
            GOALS["read"],
            size,
            python=by.python,
            shown=("mapped", "with checksums"),
        )
        yield Row(
            f"read {ROWS:,} rows after {ROWS:,} rows, {codec}",
            {"bcolz": lambda t=t: timed(theirs_pieces, t)},
            {
                "holdall": bind(ours, "pieces", t, READ, ROWS),
                "mapped": bind(ours, "pieces", t, MAP, ROWS),
                "with checksums": bind(ours, "pieces", o, READ, ROWS),
            },
            GOALS["read"],
            size,
            python=by.python,
            shown=("mapped", "with checksums"),
        )


def slice_rows(by, folder):
    ours = by.ours
    for codec in CODECS:
        t, o = folder / f"theirs.{codec}", folder / f"ours.{codec}"
        for rows, least in GOALS["slice"].items():
            times = FEW if rows > ROWS // 100 else 4 * FEW
            limit = {LIMIT: bind(ours, "limit", LIBRARY, t, rows, times)} if codec == "lz4" else {}
            yield Row(
                f"{rows:,} random rows, {codec}",
                {"bcolz": lambda slices=Slices(t, rows, times): timed(slices), **limit},
                {
                    "holdall": bind(ours, "slices", t, READ, rows, times),
                    "mapped": bind(ours, "slices", t, MAP, rows, times),
                    "with checksums": bind(ours, "slices", o, READ, rows, times),
                },
                least,
                python=by.python,
                each=times,
                shown=("mapped", "with checksums"),
                bound=LIMIT if limit else "",
            )
        yield Row(
            f"10 rows, then the next 10, and so on, {codec}",
            {"bcolz": lambda slices=Slices(t, 10, FEW, along=True): timed(slices)},
            {
                "holdall": bind(ours, "along", t, READ, 10, FEW),
                "with checksums": bind(ours, "along", o, READ, 10, FEW),
            },
            python=by.python,
            each=FEW,
        )


def table_rows(by, folder, data):
    ours = by.ours
    columns = np.split(data[: len(data) // COLUMNS * COLUMNS], COLUMNS)
    for codec in CODECS:
        t = folder / f"table.{codec}"
        bcolz.ctable(columns, names=NAMES, rootdir=str(t), mode="w", cparams=settings(codec))
        yield Row(
            f"one of {COLUMNS} columns of a table, {codec}",
            {"bcolz": lambda t=t: timed(theirs_column, t, NAMES[3])},
            {
                "holdall": bind(ours, "column", t, READ, NAMES[3]),
                "mapped": bind(ours, "column", t, MAP, NAMES[3]),
            },
            GOALS["column"],
            columns[0].nbytes,
            python=by.python,
            shown=("mapped",),
        )
        yield commit_row(by, folder, data, codec, "table")
        yield commit_row(by, folder, data, codec, "array")


def commit_row(by, folder, data, codec, kind):
    """Small appends, each with a commit, to an empty container."""
    t, o = folder / f"theirs.commits.{codec}", folder / f"ours.commits.{codec}"
    more = dict(rootdir=str(t), mode="w", cparams=settings(codec))

    def theirs():
        if kind == "array":
            to = bcolz.carray(data[:0], expectedlen=len(data), **more)
            some = [data[i * FEW_ROWS : (i + 1) * FEW_ROWS] for i in range(COMMITS)]
        else:
            to = bcolz.ctable(
                [data[:0]] * COLUMNS, names=NAMES, expectedlen=len(data) // COLUMNS, **more
            )
            some = [
                list(
                    data[i * COLUMNS * FEW_ROWS :][: COLUMNS * FEW_ROWS].reshape(COLUMNS, FEW_ROWS)
                )
                for i in range(COMMITS)
            ]
        to.flush()

        def commits():
            for rows in some:
                to.append(rows)
                to.flush()

        return timed(commits)

    command = (
        dict(array="commits", table="tables")[kind],
        folder / "data",
        o,
        CODECS[codec],
        FEW_ROWS,
        COMMITS,
    )
    return Row(
        f"append {FEW_ROWS:,} rows to "
        f"{dict(array='an array', table=f'a table of {COLUMNS} columns')[kind]} and commit, "
        f"{codec}",
        {"bcolz": lambda: fresh(t, theirs)},
        {
            way: bind(by.ours, *command, durable, before=lambda: idle_without(o))
            for way, durable in (("durable", 1), ("holdall", 0))
        },
        GOALS["commit"] if kind == "table" else 0,
        python=by.python,
        each=COMMITS,
        shown=("durable",),
    )


def copy_goals(rows, copy):
    """Compares reads with memcpy."""
    for row in rows:
        if row.what.startswith(f"read {ROWS:,} rows after") and "lz4" in row.what:
            speed = row.nbytes / row.median("ours", "holdall") / 1e9
            yield goal(
                speed >= GOALS["memcpy"] * copy,
                f"{row.what}: {speed:.1f} GB/s, {speed / copy:.2f} of memcpy (goal "
                f"{GOALS['memcpy']})",
            )


def memories(ours, folder):
    yield memory(
        "nothing (Python and the package; C)",
        dict(bcolz=their_peak("nothing"), holdall=ours.peak("nothing")),
    )
    path = next(folder / f"theirs.{codec}" for codec in CODECS)
    for what, theirs, command in (
        (f"{MB} MB of rows, {ROWS:,} after {ROWS:,}", "pieces", ("pieces", path, READ, ROWS)),
        (f"{4 * FEW} slices of 10 rows", "slices", ("slices", path, READ, 10, 4 * FEW)),
    ):
        yield memory(what, dict(bcolz=their_peak(theirs, path), holdall=ours.peak(*command)))


def their_peak(*command):
    return common.peak(sys.executable, __file__, "peak", *command)


def peak_of(what, *arguments):
    """Runs one operation in this process, and prints the memory peak."""
    if what == "pieces":
        theirs_pieces(*arguments)
    elif what == "slices":
        Slices(*arguments, 10, 4 * FEW)()
    common.print_peak()


def compare(folder):
    bcolz.set_nthreads(THREADS)
    data = make_data(folder)
    ours = common.Ours("bench_bcolz.c", folder)
    by = common.Callers(ours, from_python.Datasets())
    others = common.Others(ours)
    copy = ours.time("memcpy")
    rows = []

    def measure(some):
        for row in some:
            row.measure()
            rows.append(row)

    for codec, number in CODECS.items():
        theirs_append(data, folder / f"theirs.{codec}", codec)
        ours.time("append", folder / "data", folder / f"ours.{codec}", number, ROWS, CRC32, 0)
        for path in (folder / f"theirs.{codec}", folder / f"ours.{codec}"):
            assert theirs_read(path).tobytes() == data.tobytes(), "bcolz reads something else"
    if "files" in ONLY:
        measure(file_rows(by, folder, data))
    if "slices" in ONLY:
        measure(slice_rows(by, folder))
    if "table" in ONLY:
        measure(table_rows(by, folder, data))
    return Part(
        "Datasets, compared with bcolz",
        ours.version,
        {"bcolz-zipline": version("bcolz-zipline")},
        [
            others.said(),
            f"{MB} MB of float64, a random walk with two decimals; level 5, shuffle, chunks as "
            f"bcolz chooses them, {THREADS} threads each;"
            " only the ways named durable sync",
        ],
        [
            *rows,
            *(memories(ours, folder) if "memory" in ONLY else ()),
            *copy_goals(rows, copy / 1e9),
        ],
        copy,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["peak"]:
        peak_of(*sys.argv[2:])
    else:
        publish(compare, "bcolz")
