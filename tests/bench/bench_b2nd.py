"""Compares N-dimensional arrays of holdall with the packages blosc2, zarr, h5py and tensorstore:
the same data, codec, filter and chunks, in one run.

The packages are called from Python, and c-blosc2 from C as well (peer_blosc2.c, with the library
and headers of the package blosc2), zarrs from Rust (the package in the folder zarrs, which needs
Rust 1.91); holdall from C (bench_b2nd.c) and from Python (from_python.py).
Environment variables: HOLDALL_BENCH_ROUNDS is the number of rounds (default 5; fewer for slow
rows), HOLDALL_BENCH_ONLY the parts ("full", "write", "planes", "cubes", "points", "lengths", "rfc",
"far", "memory"; default all), HOLDALL_BENCH_DATA the data ("int32", "float64"),
HOLDALL_BENCH_CODECS the codecs ("lz4", "zstd").

holdall reads the file that blosc2 has written, without checksums, in the block shape that blosc2
chooses: by read calls, mapped, and from storage in memory. A file of holdall with checksums, the
default, is measured beside it. For the comparison with the others, which have no blocks, it reads a
file of its own without checksums, in the block shape that it chooses for the same chunks. The
others have files of their own (h5py with the Blosc filter of hdf5plugin). They decode complete
chunks, so their times depend on the chunk size: chunks have 4 MB, and small reads ("lengths") are
measured with chunks of 2 and 8 MB, too. All files are in the page cache. blosc2 and holdall have
the number of threads of the row, the others two. Rows with a star are informative and have no goal.

The lower bound for a reader is the time of codec and filter for the requested blocks in memory.
These rows show it as well ("codec alone"): blosc2 decodes and unshuffles the same stored blocks
with the same threads in the same round. Planes across an axis along which a block has the length of
its chunk take complete chunks, which are decoded to one buffer. The blocks of a cube, or of another
plane, are combined to one chunk. Everything is decoded chunk by chunk to memory of the size of the
result: new memory (the system spends most of that time clearing it), or memory in use. The time to
decode all chunks to one buffer, which stays in the CPU caches, is shown beside that; no array that
is larger than the caches can be read in that time.

For writes, the time to write the same bytes to a file is shown, too.

Memory is the peak of allocated bytes while all items, or cubes, are read, without the open array
and the result.
"""

import dataclasses
import functools
import itertools
import math
import os
import pathlib
import shutil
import struct

import blosc2
import h5py
import hdf5plugin
import numpy as np
import tensorstore
import zarr
import zstandard

import common
import from_python
from boxes import Boxes, plane
from common import CRC32, IN_MEMORY, MAP, NONE, READ, bind, codecs, timed, version
from rows import ROUNDS, Part, Row, goal, publish

ONLY = os.environ.get(
    "HOLDALL_BENCH_ONLY", "full write planes cubes points lengths rfc far memory"
).split()
DATA = {
    # shape, chunks, blocks
    "int32": ((600, 400, 400), (100, 100, 100), (5, 100, 100)),
    "float64": ((480, 320, 320), (80, 80, 80), (5, 80, 80)),
}
DATA = {
    k: v
    for k, v in DATA.items()
    if k in os.environ.get("HOLDALL_BENCH_DATA", "int32 float64").split()
}
# chunks of other lengths, along axis 0
LENGTHS = (0.5, 2)
# maximum seconds of a row
LONG = 12
CODECS = codecs("lz4 zstd")
ALONE = "codec alone"
# bytes of a chunk's header, and of a write
HEAD, PIECE = 32, 4 << 20
LEVEL = 5
# blocks of the layout of the RFC, in C and in Fortran order: a run of the items of a chunk
RFC_BLOCKS = {"C": (2, 100, 100), "F": (100, 100, 2)}
PLANES, EDGE, CUBES, POINTS, FAR = 6, 32, 100, 1000, 1_000_000
GOALS = {1: 1.3, 2: 2, "others": 10, "near": 50, "codec": 0.8, "last": 0.8, "blocks": 2, "rfc": 0.9}


def make_data(kind, path):
    """The same data every time: slow waves with noise in the lowest bits, or with two decimals."""
    shape = DATA[kind][0]
    rng = np.random.default_rng(5)
    x, y, z = (np.linspace(0, 6 * np.pi, n, dtype=np.float32) for n in shape)
    data = np.sin(x)[:, None, None] + np.cos(y)[None, :, None] * np.sin(z)[None, None, :]
    noise = rng.standard_normal(shape, dtype=np.float32)
    data = (
        (data * 100_000).astype(np.int32) + (noise * 0.4).astype(np.int32)
        if kind == "int32"
        else np.round((data * 10 + noise).astype(np.float64), 2)
    )
    data.tofile(path)
    return data


# ---- the other libraries: operations that all of them support


def of_blosc2(data, path, chunks, blocks, codec, threads=2):
    cparams = dict(
        codec=blosc2.Codec[codec.upper()],
        clevel=LEVEL,
        filters=[blosc2.Filter.SHUFFLE],
        typesize=data.itemsize,
        nthreads=threads,
    )
    return blosc2.asarray(
        data, urlpath=str(path), mode="w", chunks=chunks, blocks=blocks, cparams=cparams
    )


def of_zarr(data, path, chunks, codec):
    blosc = zarr.codecs.BloscCodec(
        cname=codec, clevel=LEVEL, shuffle="shuffle", typesize=data.itemsize
    )
    z = zarr.create_array(
        str(path),
        shape=data.shape,
        chunks=chunks,
        dtype=data.dtype,
        compressors=[blosc],
        overwrite=True,
    )
    z[...] = data
    return zarr.open_array(str(path), mode="r")


def of_h5py(data, path, chunks, codec):
    with h5py.File(path, "w") as f:
        f.create_dataset(
            "a",
            data=data,
            chunks=chunks,
            **hdf5plugin.Blosc(cname=codec, clevel=LEVEL, shuffle=hdf5plugin.Blosc.SHUFFLE),
        )
    return h5py.File(path, "r")["a"]


class OfTensorstore:
    def __init__(self, data, path, chunks, codec):
        compressor = dict(id="blosc", cname=codec, clevel=LEVEL, shuffle=1)
        spec = dict(
            driver="zarr",
            kvstore=dict(driver="file", path=str(path)),
            context=dict(data_copy_concurrency=dict(limit=2)),
        )
        metadata = dict(
            shape=data.shape, chunks=chunks, dtype=data.dtype.str, compressor=compressor
        )
        tensorstore.open(
            {**spec, "metadata": metadata}, create=True, delete_existing=True
        ).result().write(data).result()
        self.store = tensorstore.open(spec, open=True).result()
        self.shape, self.ndim = data.shape, data.ndim

    def __getitem__(self, key):
        return self.store[key].read().result()


def of_others(data, folder, mark, chunks, codec):
    """Creates the arrays of libraries without blocks, and syncs, so that no writes are pending."""
    others = dict(
        zarr=of_zarr(data, folder / f"zarr.{mark}", chunks, codec),
        h5py=of_h5py(data, folder / f"h5.{mark}", chunks, codec),
        tensorstore=OfTensorstore(data, folder / f"ts.{mark}", chunks, codec),
    )
    os.sync()
    return others


def callers(folder):
    """holdall, the library of the package blosc2 as the peer from C, and zarrs."""
    at = pathlib.Path(blosc2.__file__).parent
    flags = [f"-I{at / 'include'}", f"-L{at / 'lib'}", "-lblosc2", f"-Wl,-rpath,{at / 'lib'}"]
    return common.Callers(
        common.Ours("bench_b2nd.c", folder),
        from_python.Arrays(),
        common.Ours("peer_blosc2.c", folder, flags=flags),
        common.Zarrs(),
    )


def of_zarrs(by, others, command, threads, *rest):
    """The same command on the file of zarr, as a way in Rust."""
    return {"zarrs": bind(by.rust, command, others["zarr"].store.root, READ, threads, *rest)}


def open_blosc2(path, threads):
    return blosc2.open(str(path), mode="r", dparams=blosc2.DParams(nthreads=threads))


def decode_all(path, threads, times=1, every=1):
    """The time of codec and filter: chunk by chunk in memory, or one of so many, to one buffer."""
    schunk = blosc2.schunk_from_cframe(path.read_bytes())
    chunks = [schunk.get_chunk(i) for i in range(0, schunk.nchunks, every)]
    to = bytearray(schunk.chunksize)

    def run():
        for chunk in chunks * times:
            blosc2.decompress2(chunk, dst=to, nthreads=threads)

    return run


def decode_planes(path, every, _, threads):
    """The same for planes that take complete chunks."""
    return decode_all(path, threads, PLANES, every)


def decode_apart(path, threads, used=False):
    """The same, each chunk to its own memory: new memory, or memory in use."""
    schunk = blosc2.schunk_from_cframe(path.read_bytes())
    chunks = [schunk.get_chunk(i) for i in range(schunk.nchunks)]
    shape = (len(chunks), schunk.chunksize)
    in_use = np.ones(shape, np.uint8) if used else None

    def run():
        for chunk, part in zip(chunks, in_use if used else np.empty(shape, np.uint8)):
            blosc2.decompress2(chunk, dst=part, nthreads=threads)

    return run


def stored_blocks(chunk):
    """Returns the stored blocks of a chunk: writers store them in the order of completion."""
    nbytes, size, cbytes = struct.unpack_from("<3i", chunk, 4)
    starts = np.frombuffer(chunk, "<i4", -(-nbytes // size), HEAD)
    ends = np.append(np.sort(starts), cbytes)
    return [chunk[start : ends[np.searchsorted(ends, start, "right")]] for start in starts]


def chunk_of(head, size, stored):
    """Returns a chunk of such blocks, with the header of another chunk."""
    ends = HEAD + 4 * len(stored) + np.cumsum([0, *map(len, stored)])
    return (
        head[:4]
        + struct.pack("<3i", len(stored) * size, size, ends[-1])
        + head[16:HEAD]
        + ends[:-1].astype("<i4").tobytes()
        + b"".join(stored)
    )


def decode_boxes(path, boxes, threads):
    """The time of codec and filter for the blocks of these boxes."""
    schunk, array = blosc2.schunk_from_cframe(path.read_bytes()), boxes.array
    size = array.dtype.itemsize * math.prod(array.blocks)
    stored, heads = {}, {}
    grid, within = (
        [-(-n // c) for n, c in zip(*s)]
        for s in ((array.shape, array.chunks), (array.chunks, array.blocks))
    )

    def chunk(key):
        found = []
        for corner in itertools.product(
            *(range(s.start // b, (s.stop - 1) // b + 1) for s, b in zip(key, array.blocks))
        ):
            i = np.ravel_multi_index([p // w for p, w in zip(corner, within)], grid)
            if i not in stored:
                heads[i] = schunk.get_chunk(i)
                stored[i] = stored_blocks(heads[i])
            found.append(
                stored[i][np.ravel_multi_index([p % w for p, w in zip(corner, within)], within)]
            )
        return chunk_of(heads[i], size, found)

    chunks = [chunk(key) for key in boxes.all]
    to = bytearray(max(struct.unpack_from("<i", c, 4)[0] for c in chunks))

    def run():
        for c in chunks:
            blosc2.decompress2(c, dst=to, nthreads=threads)

    return run


def encode_all(path, threads):
    """The same for encoding."""
    schunk = blosc2.schunk_from_cframe(path.read_bytes())
    chunks, cparams = [
        schunk.decompress_chunk(i) for i in range(schunk.nchunks)
    ], dataclasses.replace(schunk.cparams, nthreads=threads)

    def run():
        for chunk in chunks:
            blosc2.compress2(chunk, cparams=cparams)

    return run


def read_same(path):
    """Reads the bytes of a file to memory in use."""
    to = bytearray(PIECE)
    with open(path, "rb", buffering=0) as f:
        while f.readinto(to):
            pass


def write_same(path, to):
    """Copies the bytes of a file to another one."""
    content = memoryview(path.read_bytes())

    def run():
        with open(to, "wb", buffering=0) as f:
            for at in range(0, len(content), PIECE):
                f.write(content[at : at + PIECE])

    return run


# ---- rows


def rows_of(by, folder, kind, data, codec, only=ONLY, asked=(0,)):
    """Yields the rows of one array, by these callers; the files are created before the first one.
    `asked`: the axes across which planes of the other libraries are read as well."""
    shape, chunks, blocks = DATA[kind]
    name = f"{kind}, {codec}"
    t, o, own = (folder / f"{whose}.{kind}.{codec}" for whose in ("theirs", "ours", "own"))
    raw = folder / f"raw.{kind}"

    ours, native = by.ours, functools.partial(bind, by.native)

    def written(path, sum, threads, blocks=blocks, chunks=chunks):
        text = [",".join(map(str, s)) for s in (shape, chunks, blocks)]
        return ("write", raw, path, data.dtype.str, *text, CODECS[codec], sum, threads)

    def write(path, *how, by=ours, **shapes):
        before = functools.partial(idle_without, path)
        return bind(by, *written(path, *how, **shapes), before=before)

    of_blosc2(data, t, chunks, blocks, codec)
    write(o, CRC32, 2)()
    write(own, NONE, 2, [0])()
    for path in (t, o, own):
        assert ours.time("equal", path, raw) == 1, f"holdall reads something else: {path}"
    assert (blosc2.open(str(o), mode="r")[...] == data).all(), "blosc2 reads something else"
    others = of_others(data, folder, f"{kind}.{codec}", chunks, codec)
    arrays = {n: open_blosc2(t, n) for n in (1, 2)}

    def both(what, count, times, command, others_goal=0, along=False, least=None, alone=None):
        """Yields a row for each number of threads, and one against the others. `alone` computes the
        codec-alone functions from boxes and threads."""
        for threads, array in arrays.items():
            boxes = Boxes(array, count, times, along)
            bound = {ALONE: lambda run=alone(boxes, threads): timed(run)} if alone else {}
            rest = (threads, *command[1:], times)
            yield Row(
                f"{what}, {name}, {threads} thread{'s'[: threads - 1]}",
                {"blosc2": lambda boxes=boxes: timed(boxes), **bound},
                {
                    "holdall": bind(ours, command[0], t, READ, *rest),
                    "mapped": bind(ours, command[0], t, MAP, *rest),
                    "in memory": bind(ours, command[0], t, IN_MEMORY, *rest),
                    "with checksums": bind(ours, command[0], o, READ, *rest),
                },
                python=by.python,
                native={"C": {"blosc2": native(command[0], t, READ, *rest)}},
                goal=least or GOALS[threads],
                each=times,
                shown=("mapped", "in memory", "with checksums"),
                bound=ALONE if bound else "",
            )
        if others_goal:
            paths = {"holdall": own, "the file of blosc2": t}
            yield beside_others(
                by,
                f"{what}, {name}, 2 threads",
                others,
                paths,
                count,
                times,
                command,
                others_goal,
                bool(alone),
            )

    if "planes" in only:
        for axis in range(data.ndim):
            # along some axes the blocks have the length of the chunks
            whole = chunks[axis] == blocks[axis]
            alone = (
                functools.partial(decode_planes, t, shape[axis] // chunks[axis])
                if whole
                else functools.partial(decode_boxes, t)
            )
            yield from both(
                f"planes across axis {axis}",
                plane(shape, axis),
                PLANES,
                ("planes", axis),
                GOALS["others"] if axis in asked else 0,
                alone=alone,
            )
    if "cubes" in only:
        yield from both(
            f"cubes of {EDGE}",
            [EDGE] * data.ndim,
            CUBES,
            ("cubes", EDGE),
            GOALS["others"],
            alone=functools.partial(decode_boxes, t),
        )
    if "points" in only:
        yield from both(
            "random items", [1] * data.ndim, POINTS, ("points",), GOALS["others"], least=1
        )
        yield from both(
            "neighbouring items",
            [1] * data.ndim,
            POINTS,
            ("near",),
            along=True,
            least=GOALS["near"],
        )
    if "lengths" in only:
        for factor in LENGTHS:
            yield from rows_of_length(by, folder, kind, data, codec, factor, write)
    for threads in arrays:
        if "full" in only:
            yield Row(
                f"read all, {name}, {threads} thread{'s'[: threads - 1]}",
                {
                    "blosc2": lambda threads=threads: timed(lambda: open_blosc2(t, threads)[...]),
                    ALONE: lambda run=decode_apart(t, threads): timed(run),
                    "read() alone": lambda: timed(read_same, t),
                    **(
                        {n: lambda a=a: timed(lambda: a[...]) for n, a in others.items()}
                        if threads == 2
                        else {}
                    ),
                },
                {
                    "holdall": bind(ours, "read", t, READ, threads),
                    "mapped": bind(ours, "read", t, MAP, threads),
                    "in memory": bind(ours, "read", t, IN_MEMORY, threads),
                    "with checksums": bind(ours, "read", o, READ, threads),
                },
                python=by.python,
                native={
                    "C": {"blosc2": native("read", t, READ, threads)},
                    "Rust": of_zarrs(by, others, "read", threads),
                },
                goal=GOALS[threads],
                nbytes=data.nbytes,
                shown=("mapped", "in memory", "with checksums"),
                bound=ALONE,
            )
            yield Row(
                f"read all to memory in use, {name}, {threads} thread{'s'[: threads - 1]}",
                {
                    ALONE: lambda run=decode_apart(t, threads, used=True): timed(run),
                    f"{ALONE}, to one buffer": lambda run=decode_all(t, threads): timed(run),
                },
                {
                    "holdall": bind(ours, "again", t, READ, threads),
                    "mapped": bind(ours, "again", t, MAP, threads),
                    "in memory": bind(ours, "again", t, IN_MEMORY, threads),
                },
                GOALS["codec"],
                data.nbytes,
                native={"C": {"blosc2": native("again", t, READ, threads)}},
                shown=("mapped", "in memory"),
            )
        if "write" in only:
            out, again = folder / "out.theirs", folder / "out.ours"
            yield Row(
                f"write all, {name}, {threads} thread{'s'[: threads - 1]}",
                {
                    ALONE: lambda run=encode_all(t, threads): timed(run),
                    "blosc2": lambda threads=threads: fresh(
                        out, lambda: timed(of_blosc2, data, out, chunks, blocks, codec, threads)
                    ),
                    "its bytes alone": lambda run=write_same(t, out): fresh(
                        out, lambda: timed(run)
                    ),
                },
                {
                    "holdall": write(again, NONE, threads),
                    "in memory": bind(ours, *written("-", NONE, threads)),
                    "with checksums": write(again, CRC32, threads),
                },
                python=by.python,
                native={"C": {"blosc2": write(out, NONE, threads, by=by.native)}},
                goal=GOALS["codec"],
                nbytes=data.nbytes,
                shown=("in memory", "with checksums"),
            )


def beside_others(by, what, others, paths, count, times, command, goal=0, bounded=False):
    """A row against libraries that decode complete chunks, which takes long. `paths`: the files of
    holdall, the first of which has the goal. `bounded`: shows the codec alone for the blocks of
    that file."""
    few = min(times, 20)
    boxes = {other: Boxes(array, count, few) for other, array in others.items()}
    first = next(iter(paths.values()))
    bound = (
        {
            ALONE: lambda run=decode_boxes(
                first, Boxes(open_blosc2(first, 2), count, few), 2
            ): timed(run)
        }
        if bounded
        else {}
    )
    return Row(
        what,
        {**{other: lambda boxes=boxes: timed(boxes) for other, boxes in boxes.items()}, **bound},
        {
            way: bind(by.ours, command[0], path, READ, 2, *command[1:], few)
            for way, path in paths.items()
        },
        goal,
        python=by.python,
        native={"Rust": of_zarrs(by, others, command[0], 2, *command[1:], few)},
        each=few,
        shown=tuple(paths)[1 if goal else 0 :],
        to_all=True,
        bound=ALONE if bounded else "",
    )


def rows_of_length(by, folder, kind, data, codec, factor, write):
    """Small reads from many chunks, compared with the others, for chunks of so many times the
    length; without a goal."""
    shape, (first, *rest), _ = DATA[kind]
    chunks = (int(first * factor), *rest)
    label = (
        f"{kind}, {codec}, chunks of {data.itemsize * math.prod(chunks) / 1e6:.0f} MB, 2 threads"
    )
    own, mark = folder / "own.length", f"length{factor}.{kind}.{codec}"
    write(own, NONE, 2, blocks=[0], chunks=chunks)()
    others = of_others(data, folder, mark, chunks, codec)
    for what, count, times, command in (
        ("planes across axis 0", plane(shape, 0), PLANES, ("planes", 0)),
        (f"cubes of {EDGE}", [EDGE] * data.ndim, CUBES, ("cubes", EDGE)),
        ("random items", [1] * data.ndim, POINTS, ("points",)),
    ):
        yield beside_others(
            by, f"{what}, {label}", others, {"holdall": own}, count, times, command
        )
    for path in folder.glob(f"*.{mark}"):
        remove(path)


def remove(path):
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def idle_without(path):
    """Removes earlier files and syncs, so that no writes are pending."""
    remove(path)
    os.sync()


def fresh(path, do):
    idle_without(path)
    return do()


def far_row(ours, folder):
    """One item of the first chunk, and of the last of a million; both with holdall."""
    path, raw, n = folder / "far", folder / "raw.far", 4 * FAR
    np.arange(n, dtype=np.int32).tofile(raw)
    # blosc2 takes minutes for that many
    ours.time("write", raw, path, "<i4", n, 4, 4, common.CODECS["lz4"], NONE, 2)
    return Row(
        f"the last of {FAR:,} chunks",
        {"the first": bind(ours, "at", path, READ, 1, 0, 30)},
        {"the last": bind(ours, "at", path, READ, 1, n - 1, 30)},
        GOALS["last"],
        each=30,
    )


def rfc_rows(ours, folder, kind, codec):
    """Arrays in the layout of the RFC of BLZ and bcolz, in chunks along every dimension, beside b2nd
    with the same chunks and blocks; both with holdall."""
    shape, chunks, _ = DATA[kind]
    raw, text = folder / f"raw.{kind}", [",".join(map(str, s)) for s in (shape, chunks)]
    for order, blocks in RFC_BLOCKS.items():
        paths = [folder / f"{form}.{order}" for form in ("b2nd", "rfc")]
        how = (np.dtype(kind).str, *text, ",".join(map(str, blocks)), CODECS[codec], NONE, 2)
        ours.time("write", raw, paths[0], *how)
        ours.time("write", raw, paths[1], *how, order)
        assert ours.time("equal", paths[1], raw) == 1, "the items of the RFC differ"
        for what, times, command in (
            ("read all to memory in use", 1, ("again",)),
            *((f"planes across axis {a}", PLANES, ("planes", a)) for a in range(len(shape))),
            (f"cubes of {EDGE}", CUBES, ("cubes", EDGE)),
            ("random items", POINTS, ("points",)),
        ):
            rest = (READ, 1, *command[1:], *([] if times == 1 else [times]))
            b2nd, rfc = (bind(ours, command[0], path, *rest) for path in paths)
            yield Row(
                f"{what}, {kind}, {codec}, {order} order",
                {"b2nd, the same shapes": b2nd},
                {"RFC": rfc},
                GOALS["rfc"],
                each=times,
            )
        for path in paths:
            remove(path)


def memory_goals(ours, folder, kind, codec):
    """The peak of allocated bytes without the open array and the result: so many blocks per
    thread."""
    path, block = folder / f"theirs.{kind}.{codec}", np.dtype(kind).itemsize * math.prod(
        DATA[kind][2]
    )
    # the state of a zstd decoder
    own = zstandard.ZstdDecompressor().memory_size() / block if codec == "zstd" else 0
    for what, threads, command in (
        ("read all, 1 thread", 1, ("read", path, READ, 1)),
        ("read all, 2 threads", 2, ("read", path, READ, 2)),
        (f"{CUBES} cubes of {EDGE}, 2 threads", 2, ("cubes", path, READ, 2, EDGE, CUBES)),
    ):
        blocks = ours.once("most", *command) / block / threads
        beside = f", of which {own:.2f} are the decoder of zstd, which are excluded" if own else ""
        yield goal(
            blocks - own <= GOALS["blocks"],
            f"{what}, {kind}, {codec}: {blocks:.2f} blocks a thread held{beside} (goal "
            f"{GOALS['blocks']})",
        )


def compare(folder):
    zarr.config.set({"threading.max_workers": 2, "async.concurrency": 2})
    by = callers(folder)
    ours = by.ours
    others = common.Others(ours)
    copy = ours.time("memcpy")
    rows, memory, sizes = [], [], []
    for kind in DATA:
        data = make_data(kind, folder / f"raw.{kind}")
        for codec in CODECS:
            for row in rows_of(by, folder, kind, data, codec):
                row.measure(seconds=LONG, warm="write" not in row.what)
                rows.append(row)
            files = {
                whose: (folder / f"{whose}.{kind}.{codec}").stat().st_size / 1e6
                for whose in ("theirs", "own")
            }
            sizes.append(
                f"{kind}, {codec}: {data.nbytes / 1e6:.0f} MB, in a file {files['theirs']:.0f}; "
                f"in the blocks that holdall chooses {files['own']:.0f}"
            )
            if "rfc" in ONLY and (kind, codec) == ("int32", "lz4"):
                for row in rfc_rows(ours, folder, kind, codec):
                    row.measure(seconds=LONG)
                    rows.append(row)
            if "memory" in ONLY:
                memory += memory_goals(ours, folder, kind, codec)
    if "far" in ONLY:
        row = far_row(ours, folder)
        row.measure()
        rows.append(row)
    return Part(
        "N-dimensional arrays, compared with blosc2, zarr, zarrs, h5py and tensorstore",
        ours.version,
        {p: version(p) for p in ("blosc2", "zarr", "h5py", "hdf5plugin", "tensorstore")}
        | {"zarrs": by.rust.version},
        [
            others.said(),
            *(
                f"{kind}: shape {shape}, chunks {chunks}, blocks {blocks}"
                for kind, (shape, chunks, blocks) in DATA.items()
            ),
            *sizes,
            f"level {LEVEL}, shuffle; up to {ROUNDS} rounds after a warm-up (but for writing)",
        ],
        rows + memory,
        copy,
    )


if __name__ == "__main__":
    publish(compare, "b2nd")
