"""Compares superchunks of holdall with the packages bloscpack, blosc and blosc2, on the same files
in one run.

The packages are called from Python, holdall from C (bench_blpk.c) and from Python (from_python.py).
Environment variables: HOLDALL_LIB is the library, HOLDALL_BENCH_MB the amount of data (default
400), HOLDALL_BENCH_ROUNDS the number of rounds (5), HOLDALL_BENCH_ONLY the parts ("files",
"slices", "chunks", "memory", "kernels"; default all), HOLDALL_BENCH_CODECS the codecs of the
chunks. CARGO builds and runs the benchmark of the filter kernels, examples/filters.rs, because no C
program can call them.

Chunks in memory have 1 MiB and are encoded and decoded one by one on one thread; the time is the
CPU time of that thread, so that other load has little effect. Their goals apply at equal ratio:
both decode the same chunks; for encoding, blosc2 gets the block size and the split mode of holdall,
and there is no goal if its chunks still differ in length by 2 % (another zlib). Rows with a star
are informative and have no goal.

The lower bound for a decoder is the time of LZ4 or zstd for the streams of the same chunks, without
filters: "codec alone". The lower bound for packing is the codec's time from memory, by the faster
of blosc and blosc2 on all processors, plus the time of the system to read one file and to write the
other. That work uses one processor, at best shared by all: "codec, reading, writing alone".
"""

import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time

import blosc
import blosc2
import numpy as np

import common
import from_python
import holdall_c
import theirs
from common import CODECS, CRC32, HERE, MAP, READ, bind, timed, version
from rows import Part, Row, memory, publish, table
from theirs import bloscpack

MB = int(os.environ.get("HOLDALL_BENCH_MB", 400))
ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "files slices chunks memory kernels").split()
CHUNK = 1 << 20
ITEMS, OPENS = 1000, 100
COPIED, UNSPLIT = 0x02, 0x10  # flags of a chunk
FILES = (("lz4", 5), ("zstd", 1))
# and how many MiB of data, for slow ones
CHUNKS = (
    ("lz4", 5, 64),
    ("blosclz", 5, 64),
    ("zstd", 1, 32),
    ("zstd", 5, 8),
    ("lz4hc", 5, 8),
    ("zlib", 1, 16),
    ("zlib", 5, 8),
)
CHUNKS = [
    c
    for c in CHUNKS
    if c[0] in os.environ.get("HOLDALL_BENCH_CODECS", "lz4 blosclz zstd lz4hc zlib").split()
]
SHUFFLE = 1
FILTERS = {0: "no filter", SHUFFLE: "shuffle", 2: "bitshuffle"}  # by the numbers of blosc
ALONE = "codec, reading, writing alone"
# the codecs that the library of blosc2 exports, and the library
EXPORTED, CODEC_ALONE = ("lz4", "lz4hc", "zstd"), "codec alone"
LIBRARY = next(pathlib.Path(blosc2.__file__).parent.glob("lib*/libblosc2.so"))
PROCESSORS = len(os.sched_getaffinity(0))
GOALS = dict(pack=2, unpack=2, dd=0.9, encode=1, decode=1.1, slice=100)


def make_data(folder):
    """A random walk of floats with two decimals; the same every time."""
    data = np.round(100 + np.random.default_rng(200).standard_normal(MB * 125_000).cumsum(), 2)
    data.tofile(folder / "data")
    for n in {n for *_, n in CHUNKS}:
        data[: n << 17].tofile(folder / f"data.{n}")
    return data


def theirs_pack(source, path, codec, level):
    blosc_args = bloscpack.BloscArgs(typesize=8, clevel=level, cname=codec)
    bloscpack_args = bloscpack.BloscpackArgs(checksum="crc32")
    bloscpack.pack_file_to_file(
        str(source),
        str(path),
        chunk_size=CHUNK,
        blosc_args=blosc_args,
        bloscpack_args=bloscpack_args,
    )


def theirs_slice(path, at, n):
    return bloscpack.unpack_bytes_from_file(str(path))[0][at : at + n]


def theirs_open(path):
    with open(path, "rb") as f:
        bloscpack.file_io.CompressedFPSource(f)


def idle_without(path):
    """Removes earlier files and syncs, so that no writes are pending."""
    pathlib.Path(path).unlink(missing_ok=True)
    os.sync()


def fresh(path, do):
    idle_without(path)
    return do()


def copied(source, to):
    """Writes the same bytes, read from another file."""
    command = ["dd", f"if={source}", f"of={to}", "bs=1M", "status=none"]
    return {"dd alone": lambda: fresh(to, lambda: timed(subprocess.run, command, check=True))}


def move(source, content, to):
    """Reads one file and writes other content to another, chunk by chunk."""
    piece = bytearray(CHUNK)
    with open(source, "rb", buffering=0) as f:
        while f.readinto(piece):
            pass
    with open(to, "wb", buffering=0) as f:
        for at in range(0, len(content), CHUNK):
            f.write(content[at : at + CHUNK])


def like(chunk, codec, level, filter, threads):
    """Returns the settings with which blosc2 writes chunks with the blocks of this one."""
    block, split = struct.unpack_from("<i", chunk, 8)[0], (
        blosc2.SplitMode.NEVER_SPLIT if chunk[2] & UNSPLIT else blosc2.SplitMode.ALWAYS_SPLIT
    )
    return blosc2.CParams(
        **plainly(codec, level, filter, threads), blocksize=block, splitmode=split
    )


def plainly(codec, level, filter, threads):
    return dict(
        codec=blosc2.Codec[codec.upper()],
        clevel=level,
        typesize=8,
        nthreads=threads,
        filters=[blosc2.Filter(filter)],
        filters_meta=[0],
    )


class Limits:
    """The lower bounds of packing and unpacking: see the top of the file."""

    def __init__(self, source, packed, out, codec, level):
        self.source, self.packed, self.out, self.how = (
            source,
            packed,
            out,
            (8, level, SHUFFLE, codec),
        )
        self.content = memoryview(source.read_bytes())
        self.pieces = [
            self.content[k : k + CHUNK].tobytes() for k in range(0, len(self.content), CHUNK)
        ]
        self.chunks = [blosc.compress(p, *self.how) for p in self.pieces]
        self.room = np.empty(CHUNK, "u1")
        self.alike = like(self.chunks[0], codec, level, SHUFFLE, PROCESSORS)

    def encode(self):
        def other():
            for piece in self.pieces:
                blosc2.compress2(piece, cparams=self.alike)

        def one():
            for piece in self.pieces:
                blosc.compress(piece, *self.how)

        return min(timed(one), timed(other))

    def decode(self):
        def other():
            for chunk in self.chunks:
                blosc2.decompress2(chunk, dst=self.room, nthreads=PROCESSORS)

        def one():
            for chunk in self.chunks:
                blosc.decompress_ptr(chunk, self.room.ctypes.data)

        return min(timed(one), timed(other))

    def pack(self):
        content = memoryview(self.packed.read_bytes())
        return (
            self.encode()
            + fresh(self.out, lambda: timed(move, self.source, content, self.out)) / PROCESSORS
        )

    def unpack(self):
        return (
            self.decode()
            + fresh(self.out, lambda: timed(move, self.packed, self.content, self.out)) / PROCESSORS
        )


# ---- rows


def file_rows(by, folder):
    ours = by.ours
    source, size = folder / "data", MB * 1_000_000
    for codec, level in FILES:
        name = f"{codec}-{level}"
        t, o, out = folder / f"theirs.{name}", folder / f"ours.{name}", folder / "out"
        limits = Limits(source, t, out, codec, level)

        def pack(threads, durability, o=o, codec=codec, level=level):
            how = CODECS[codec], level, CRC32, durability, threads
            return bind(ours, "pack", source, o, *how, before=lambda: idle_without(o))

        yield Row(
            f"pack a file, {name}, CRC-32",
            {
                "bloscpack": lambda t=t, c=codec, v=level: fresh(
                    t, lambda: timed(theirs_pack, source, t, c, v)
                ),
                ALONE: limits.pack,
                **copied(t, out),
            },
            {"holdall": pack(0, 0), "1 thread": pack(1, 0), "durable": pack(0, 1)},
            GOALS["pack"],
            size,
            python=by.python,
            shown=("1 thread", "durable"),
            bound=ALONE,
        )
        for whose, path in (("bloscpack", t), ("holdall", o)):
            yield Row(
                f"unpack a file of {whose}, {name}, CRC-32",
                {
                    "bloscpack": lambda p=path: fresh(
                        out, lambda: timed(bloscpack.unpack_file_from_file, str(p), str(out))
                    ),
                    ALONE: limits.unpack,
                    **copied(source, out),
                },
                {
                    way: bind(
                        ours, "unpack", path, out, threads, before=lambda: idle_without(out)
                    )
                    for way, threads in (("holdall", 0), ("1 thread", 1))
                },
                GOALS["unpack"],
                size,
                python=by.python,
                shown=("1 thread",),
                bound=ALONE,
                goals=[("holdall", ["dd alone"], GOALS["dd"])],
            )
        yield Row(
            f"read all to memory, {name}, CRC-32",
            {"bloscpack": lambda t=t: timed(bloscpack.unpack_bytes_from_file, str(t))},
            {
                f"{threads or 2} threads, {how}": bind(ours, "read", t, io, threads, 1)
                for threads in (0, 1)
                for io, how in ((READ, "read"), (MAP, "mapped"))
            },
            nbytes=size,
            python=by.python,
        )


def slice_rows(by, folder):
    ours = by.ours
    at, n = MB * 125_000 // 2 // 8 * 8, ITEMS * 8
    for codec, level in FILES:
        path = folder / f"theirs.{codec}-{level}"
        yield Row(
            f"open, read {ITEMS:,} items, close, {codec}-{level}",
            {"bloscpack": lambda path=path: timed(theirs_slice, path, at, n) * OPENS},
            {
                "read": bind(ours, "slice", path, READ, at, n, OPENS),
                "mapped": bind(ours, "slice", path, MAP, at, n, OPENS),
            },
            GOALS["slice"],
            python=by.python,
            each=OPENS,
        )
        yield Row(
            f"{ITEMS:,} items of an open file, {codec}-{level}",
            {"bloscpack": lambda path=path: timed(theirs_slice, path, at, n) * OPENS},
            {
                "read": bind(ours, "slices", path, READ, n, OPENS),
                "mapped": bind(ours, "slices", path, MAP, n, OPENS),
            },
            GOALS["slice"],
            python=by.python,
            each=OPENS,
        )
    yield Row(
        "open and close",
        {"bloscpack": lambda path=path: sum(timed(theirs_open, path) for _ in range(OPENS))},
        {
            "read": bind(ours, "open", path, READ, OPENS),
            "mapped": bind(ours, "open", path, MAP, OPENS),
        },
        python=by.python,
        each=OPENS,
    )


def chunk_rows(ours, folder):
    for codec, level, mib in CHUNKS:
        for filter in FILTERS:
            yield from coding_rows(ours, folder, codec, level, mib, filter)


def coding_rows(ours, folder, codec, level, mib, filter):
    name = f"{codec}-{level}, {FILTERS[filter]}"
    file, path = folder / f"data.{mib}", folder / f"chunks.{codec}-{level}-{filter}"
    raw = file.read_bytes()
    pieces = [raw[k : k + CHUNK] for k in range(0, len(raw), CHUNK)]
    chunks = [blosc.compress(p, 8, level, filter, codec) for p in pieces]
    theirs.pack(path, raw, codec, filter, "None", 8, CHUNK, level)
    total, ours_total = sum(map(len, chunks)), int(
        ours.ask("encode", file, CODECS[codec], level, holdall_c.FILTERS[filter])[1]
    )
    # of a chunk that is not stored uncompressed
    first = max(chunks, key=lambda c: ~c[2] & COPIED)
    alike = like(first, codec, level, filter, 1)
    plain, one = blosc2.CParams(**plainly(codec, level, filter, 1)), blosc2.DParams(nthreads=1)

    def encode2(cparams):
        start = time.thread_time()
        for p in pieces:
            blosc2.compress2(p, cparams=cparams)
        return time.thread_time() - start

    def encode1():
        start = time.thread_time()
        for p in pieces:
            blosc.compress(p, 8, level, filter, codec)
        return time.thread_time() - start

    size = {
        k: sum(len(blosc2.compress2(p, cparams=c)) for p in pieces)
        for k, c in (("alike", alike), ("plain", plain))
    }
    ratios = (
        f"{len(raw) / ours_total:.3f}; blosc2 {len(raw) / size['alike']:.3f}, "
        f"{len(raw) / size['plain']:.3f}; blosc {len(raw) / total:.3f}"
    )
    yield Row(
        f"encode {name}",
        {
            "blosc2, blocks alike": lambda: encode2(alike),
            "blosc2": lambda: encode2(plain),
            "blosc": encode1,
        },
        {"holdall": bind(ours, "encode", file, CODECS[codec], level, holdall_c.FILTERS[filter])},
        GOALS["encode"] if abs(ours_total / size["alike"] - 1) < 0.02 else 0,
        len(raw),
        note="ratio " + ratios,
    )
    room = bytearray(CHUNK)
    own = [blosc2.compress2(p, cparams=plain) for p in pieces]
    target = np.empty(CHUNK, "u1")

    alone = {CODEC_ALONE: bind(ours, "alone", LIBRARY, path)} if codec in EXPORTED else {}

    def decode2(which):
        start = time.thread_time()
        for chunk in which:
            blosc2.decompress2(chunk, room, dparams=one)
        return time.thread_time() - start

    def decode1():
        at = target.ctypes.data
        start = time.thread_time()
        for chunk in chunks:
            blosc.decompress_ptr(chunk, at)
        return time.thread_time() - start

    yield Row(
        f"decode {name}",
        {
            "blosc2": lambda: decode2(chunks),
            "blosc2, chunks of its own": lambda: decode2(own),
            "blosc": decode1,
            **alone,
        },
        {"holdall": bind(ours, "decode", path)},
        GOALS["decode"],
        len(raw),
        bound="".join(alone),
    )


# ---- kernels


def kernels():
    """The filter kernels on one thread, compared with memcpy of the same bytes."""
    command = [
        os.environ.get("CARGO", "cargo"),
        "run",
        "--quiet",
        "--locked",
        "--release",
        "--example",
        "filters",
        "4",
        "8",
    ]
    out = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"{' '.join(command)}: {out.stderr}")
    found, part = {}, ""
    for line in out.stdout.splitlines():
        if line.startswith("-- "):
            part = line[3:]
            continue
        name, speed = line.removesuffix(" GB/s").rsplit(None, 1)
        # memcpy is listed twice
        found.setdefault(part, {}).setdefault(name, float(speed))
    head = [
        "kernel and typesize, 1 thread",
        *(word for part in found for word in (f"{part}, GB/s", "of memcpy")),
    ]
    lines = []
    for name in next(iter(found.values())):
        cells = [
            (
                (f"{speeds[name]:.1f}", f"{speeds[name] / speeds['memcpy']:.2f}")
                if name in speeds
                else ("", "")
            )
            for speeds in found.values()
        ]
        lines.append([name, *(word for cell in cells for word in cell)])
    return table(head, lines)


# ---- memory


def memories(ours, folder):
    yield memory(
        "nothing (Python and the packages; C)",
        dict(bloscpack=their_peak("nothing"), holdall=ours.peak("nothing")),
    )
    codec, level = FILES[0]
    source, path, out = folder / "data", folder / "peak", folder / "out"
    path.unlink(missing_ok=True)
    theirs = their_peak("pack", source, path, codec, level)
    path.unlink()
    yield memory(
        f"pack a file, {codec}-{level}",
        dict(
            bloscpack=theirs,
            holdall=ours.peak("pack", source, path, CODECS[codec], level, CRC32, 0, 0),
        ),
    )
    yield memory(
        "unpack a file",
        dict(bloscpack=their_peak("unpack", path, out), holdall=ours.peak("unpack", path, out, 0)),
    )
    read, mapped = (ours.peak("slice", path, io, 800_000, ITEMS * 8, 1) for io in (READ, MAP))
    yield memory(
        f"{ITEMS:,} items", dict(bloscpack=their_peak("slice", path), holdall=read, mapped=mapped)
    )


def their_peak(*command):
    return common.peak(sys.executable, __file__, "peak", *command)


def peak_of(what, *arguments):
    """Runs one operation in this process, and prints the memory peak."""
    if what == "pack":
        source, path, codec, level = arguments
        theirs_pack(source, path, codec, int(level))
    elif what == "unpack":
        bloscpack.unpack_file_from_file(*arguments)
    elif what == "slice":
        theirs_slice(arguments[0], 800_000, ITEMS * 8)
    common.print_peak()


# ---- main


def write_speed(folder):
    """Returns MB/s of plain writing, the bound for files."""
    with open(folder / "data", "rb") as f:
        piece = f.read(8 << 20)
    took = []
    for _ in range(3):
        path = folder / "plain"
        start = time.perf_counter()
        with open(path, "wb", buffering=0) as f:
            for _ in range(MB * 1_000_000 // len(piece)):
                f.write(piece)
        took.append(time.perf_counter() - start)
        path.unlink()
    return MB / statistics.median(took)


def compare(folder):
    content = make_data(folder).tobytes()
    ours = common.Ours("bench_blpk.c", folder)
    by = common.Callers(ours, from_python.Superchunks())
    blosc.set_nthreads(PROCESSORS)
    others = common.Others(ours)
    copy, write = ours.time("memcpy"), write_speed(folder)
    rows = []
    for codec, level in FILES:
        theirs_pack(folder / "data", folder / f"theirs.{codec}-{level}", codec, level)
    if "files" in ONLY:
        for row in file_rows(by, folder):
            row.measure()
            rows.append(row)
        assert (folder / "out").read_bytes() == content, "unpacked, it is another file"
        for codec, level in FILES:
            assert (
                theirs.Found(folder / f"ours.{codec}-{level}").content == content
            ), "bloscpack reads something else"
    if "slices" in ONLY:
        for row in slice_rows(by, folder):
            row.measure()
            rows.append(row)
    if "chunks" in ONLY:
        blosc.set_nthreads(1)
        for row in chunk_rows(ours, folder):
            row.measure()
            rows.append(row)
    return Part(
        "Superchunks and chunks, compared with bloscpack, blosc and blosc2",
        ours.version,
        dict(
            bloscpack=version("bloscpack"),
            blosc=f"{blosc.__version__} ({blosc.blosclib_version})",
            blosc2=f"{blosc2.__version__} ({blosc2.blosclib_version})",
        ),
        [
            others.said(),
            f"write() {write:,.0f} MB/s",
            f"{MB} MB of float64, a random walk with two decimals; chunks of 1 MiB",
        ],
        [
            *rows,
            *(memories(ours, folder) if "memory" in ONLY else ()),
            *([kernels()] if "kernels" in ONLY else ()),
        ],
        copy,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["peak"]:
        peak_of(*sys.argv[2:])
    else:
        publish(compare, "blpk")
