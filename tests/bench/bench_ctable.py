"""Compares CTables of holdall with those of python-blosc2: the same rows and settings, in one run.

Both are called from Python: python-blosc2 has no CTables in other languages. One column is also read
from C, which has no goal. Environment variables:
HOLDALL_BENCH_ROWS is the number of rows (default 2,000,000), HOLDALL_BENCH_ROUNDS the number of
rounds (5), HOLDALL_BENCH_ONLY the parts ("append", "read", "texts"; default all).

Both have 2 threads and zstd at level 5. Nothing is synced, except in the way named durable:
python-blosc2 has no commits. A table is opened for each read. Rows with a star are informative and
have no goal.
"""

import dataclasses
import os
import shutil

import blosc2
import numpy as np
import pyarrow as pa

import common
from common import READ, timed, version
from from_python import holdall
from rows import Part, Row, publish

N = int(os.environ.get("HOLDALL_BENCH_ROWS", 2_000_000))
ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "append read texts").split()
THREADS, PIECES, FEW = 2, 20, 10
GOAL = 1.5
OURS, THEIRS = "holdall, Python", "python-blosc2"
NATIVE = "holdall, C"
OPTIONS = dict(codec="zstd", level=5, threads=THREADS)


@dataclasses.dataclass
class Numbers:
    id: int = blosc2.field(blosc2.int64())
    price: float = blosc2.field(blosc2.float64())
    count: int = blosc2.field(blosc2.int32())
    flag: bool = blosc2.field(blosc2.bool())
    code: str = blosc2.field(blosc2.string(max_length=4))


DTYPES = {"id": "<i8", "price": "<f8", "count": "<i4", "flag": "|b1", "code": "<U4"}


@dataclasses.dataclass
class Texts:
    text: str = blosc2.field(blosc2.utf8())
    id: int = blosc2.field(blosc2.int64())


def make_numbers():
    rng = np.random.default_rng(200)
    return {
        "id": np.arange(N),
        "price": np.round(100 + rng.standard_normal(N).cumsum(), 2),
        "count": rng.integers(0, 1000, N, "<i4"),
        "flag": rng.integers(0, 2, N).astype(bool),
        "code": rng.choice(np.array(["EWR", "JFK", "LGA", "ABQ"], "<U4"), N),
    }


def make_texts():
    rng = np.random.default_rng(201)
    parts = np.array([f"part {i} of many" for i in range(5000)], object)
    texts = parts[rng.integers(0, 5000, N // 2)] + parts[rng.integers(0, 5000, N // 2)]
    return {"text": texts.tolist(), "id": np.arange(N // 2)}


def pieces(columns):
    n = len(columns["id"])
    for at in range(0, n, n // PIECES):
        yield {name: values[at : at + n // PIECES] for name, values in columns.items()}


def bind(call, *arguments):
    return lambda: timed(call, *arguments)


def fresh(path, do):
    """Removes earlier files and syncs, so that no writes are pending."""
    shutil.rmtree(path, ignore_errors=True)
    os.sync()
    return timed(do)


def theirs_append(path, row, columns):
    n = len(columns["id"])
    with blosc2.CTable(row, urlpath=str(path), mode="w", expected_size=n) as table:
        for piece in pieces(columns):
            table.extend(piece, validate=False)


def ours_append(path, dtypes, columns, durability=0):
    options = OPTIONS | dict(durability=durability)
    with holdall.Table.create(path, dtypes, "ctable", **options) as table:
        for piece in pieces(columns):
            table.append(piece)
        table.commit()


def theirs_few(path, rows):
    with blosc2.CTable.open(str(path), mode="a") as table:
        table.extend(rows, validate=False)


def ours_few(path, rows, durability=0):
    with holdall.Table(path, "a", threads=THREADS, durability=durability) as table:
        table.append(rows)
        table.commit()


def theirs_read(path, names):
    with blosc2.CTable.open(str(path), mode="r") as table:
        for name in names:
            table[name][:]


def ours_read(path, names):
    with holdall.Table(path, threads=THREADS) as table:
        for name in names:
            table[name][:]


def ours_texts(path):
    with holdall.Table(path, threads=THREADS) as table:
        pa.table(table.arrow(["text"]))


def append_rows(folder, numbers):
    t, o = folder / "theirs.b2d", folder / "ours.b2d"
    size = sum(values.nbytes for values in numbers.values())
    yield Row(
        f"append {N:,} rows of {len(DTYPES)} columns, {N // PIECES:,} at a time",
        {THEIRS: lambda: fresh(t, lambda: theirs_append(t, Numbers, numbers))},
        {
            OURS: lambda: fresh(o, lambda: ours_append(o, DTYPES, numbers)),
            "durable, Python": lambda: fresh(o, lambda: ours_append(o, DTYPES, numbers, 1)),
        },
        GOAL,
        size,
        shown=("durable, Python",),
    )
    few = {name: values[:FEW] for name, values in numbers.items()}
    yield Row(
        f"open, append {FEW} rows and commit",
        {THEIRS: bind(theirs_few, t, few)},
        {OURS: bind(ours_few, o, few), "durable, Python": bind(ours_few, o, few, 1)},
        GOAL,
        shown=("durable, Python",),
    )


def read_rows(ours, folder, numbers):
    size = sum(values.nbytes for values in numbers.values())
    for whose in ("theirs", "ours"):
        path = folder / f"{whose}.b2d"
        of = dict(theirs=THEIRS, ours="holdall")[whose]
        for what, names in (("all columns", list(DTYPES)), ("one column", ["price"])):
            native = {NATIVE: common.bind(ours, "column", path, READ, names[0])}
            yield Row(
                f"read {what} of a table by {of}",
                {THEIRS: bind(theirs_read, path, names)},
                {OURS: bind(ours_read, path, names)} | (native if len(names) == 1 else {}),
                GOAL,
                size if len(names) > 1 else numbers["price"].nbytes,
                shown=(NATIVE,),
            )


def text_rows(folder, texts):
    t, o = folder / "theirs.texts.b2d", folder / "ours.texts.b2d"
    size = sum(map(len, texts["text"])) + texts["id"].nbytes
    dtypes = {"text": "T", "id": "<i8"}
    yield Row(
        f"append {N // 2:,} texts and numbers, {N // 2 // PIECES:,} at a time",
        {THEIRS: lambda: fresh(t, lambda: theirs_append(t, Texts, texts))},
        {OURS: lambda: fresh(o, lambda: ours_append(o, dtypes, texts))},
        GOAL,
        size,
    )
    for path, of in ((t, THEIRS), (o, "holdall")):
        yield Row(
            f"read texts of a table by {of}, as an array of NumPy or of Arrow",
            {THEIRS: bind(theirs_read, path, ["text"])},
            {OURS: bind(ours_texts, path)},
            GOAL,
            size - texts["id"].nbytes,
        )


def compare(folder):
    blosc2.set_nthreads(THREADS)
    ours = common.Ours("bench_bcolz.c", folder)
    others, rows = common.Others(ours), []
    numbers, texts = make_numbers(), make_texts()
    theirs_append(folder / "theirs.b2d", Numbers, numbers)
    ours_append(folder / "ours.b2d", DTYPES, numbers)
    for whose in ("theirs", "ours"):
        with holdall.Table(folder / f"{whose}.b2d") as table:
            for name, values in numbers.items():
                assert np.array_equal(table[name][:], values), "holdall reads something else"

    def measure(some):
        for row in some:
            row.measure()
            rows.append(row)

    if "read" in ONLY:
        measure(read_rows(ours, folder, numbers))
    if "append" in ONLY:
        measure(append_rows(folder, numbers))
    if "texts" in ONLY:
        measure(text_rows(folder, texts))
    return Part(
        "CTables, compared with python-blosc2",
        ours.version,
        {name: version(name) for name in ("blosc2", "numpy", "pyarrow")},
        [
            others.said(),
            f"{N:,} rows of numbers and short texts, half as many of texts of any length; zstd at "
            f"level 5, {THREADS} threads each; only the ways named durable sync",
        ],
        rows,
        ours.time("memcpy"),
    )


if __name__ == "__main__":
    publish(compare, "ctable")
