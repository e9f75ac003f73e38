"""holdall from Python: the commands of the C programs of the benchmarks, as methods of the same
names that return seconds.

`make stage` installs the module where it is found here.
"""

import collections
import sys
import threading
import time

import numpy as np

import common
from boxes import Boxes, plane
from common import CHECKSUM_ZSTD, IN_MEMORY, MAP, READ, timed

MODULE = common.HERE.parents[1] / "target/prefix/share/holdall/python"
sys.path.insert(0, str(MODULE))

import holdall

FAR = 0x9E3779B97F4A7C15  # a step to the next position at random


class Commands:
    """Answers commands as `common.Ours` does."""

    def time(self, command, *arguments):
        return getattr(self, command)(*arguments)


def open_often(times, open_one):
    def all():
        for _ in range(times):
            open_one().close()

    return timed(all)


def steps(step, positions, times):
    """Positions of the C programs: multiples of a step, in a circle."""
    return [k * step % positions for k in range(1, times + 1)]


def spent(iterator):
    """Drops all items."""
    collections.deque(iterator, maxlen=0)


class Bags(Commands):
    """bench.c, for these records and the numbers of those that are read at random."""

    def __init__(self, records, indices):
        self.records, self.chosen = records, indices.astype(np.int64)

    def open_bag(self, path, io, threads=0, cache=0):
        return holdall.Bag(str(path), io=io, threads=threads, bag_limits_cache=cache)

    def write(self, path, codec, checksum, durability, threads, batch, dictionary=None):
        options = dict(codec=codec, checksum=checksum, durability=durability, threads=threads)
        options["bag_dictionary"] = dictionary
        if checksum == CHECKSUM_ZSTD:  # the default with this codec, which has no other name
            del options["checksum"]
        start = time.perf_counter()
        with holdall.BagWriter(str(path), "w", **options) as writer:
            if batch == 1:
                append = writer.append
                for record in self.records:
                    append(record)
            else:
                writer.extend(self.records)
            writer.commit()
        return time.perf_counter() - start

    def open(self, path, io, times):
        path = str(path)

        def counted():
            bag = holdall.Bag(path, io=io)
            len(bag)
            return bag

        return open_often(times, counted)

    def single(self, path, io, cache):
        bag, indices = self.open_bag(path, io, 0, cache), self.chosen.tolist()

        def all():
            for i in indices:
                bag[i]

        return timed(all)

    def indices(self, path, io, threads, batch):
        bag = self.open_bag(path, io, threads)
        batches = [self.chosen[k : k + batch] for k in range(0, len(self.chosen), batch)]
        return timed(lambda: [bag.__getitems__(some) and None for some in batches])

    def on_threads(self, path, n, batch):
        """The same on Python threads, of which each uses one thread of the library."""
        bag = self.open_bag(path, MAP, 1)
        batches = [self.chosen[k : k + batch] for k in range(0, len(self.chosen), batch)]

        def some(k):
            for indices in batches[k::n]:
                bag.read_indices(indices)

        threads = [threading.Thread(target=some, args=(k,)) for k in range(n)]

        def all():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return timed(all)

    def range(self, path, io, threads, batch):
        """Each record as a bytes object, as the others return them."""
        bag = self.open_bag(path, io, threads)
        all, last = len(bag), None
        start = time.perf_counter()
        for k in range(0, all, batch or all):
            last = list(bag.read_range(k, min(batch or all, all - k)))
        took = time.perf_counter() - start
        assert last
        return took

    def buffers(self, path, io, threads, batch):
        """The records in one buffer a call, as Arrow arrays are."""
        bag = self.open_bag(path, io, threads)
        all = len(bag)

        def read():
            for k in range(0, all, batch or all):
                bag.read_range(k, min(batch or all, all - k))

        return timed(read)

    def stream(self, path, io, threads, order, take):
        bag = self.open_bag(path, io, threads)
        stream = lambda: bag.stream(None if order else self.chosen)  # noqa: E731
        if take == 1:
            return timed(lambda: spent(stream()))
        return timed(lambda: spent(iter(lambda s=stream(): s.take(take), None)))


class Arrays(Commands):
    """bench_b2nd.c, but for the layout of the RFC."""

    def __init__(self):
        self.copies, self.loaded = {}, {}

    def open_array(self, path, io, threads):
        if io != IN_MEMORY:
            return holdall.Array(str(path), io=io, threads=threads)
        if path not in self.copies:
            self.copies[path] = holdall.Memory(path.read_bytes())
        return holdall.Array(self.copies[path], threads=threads)

    def write(self, file, path, dtype, shape, chunks, blocks, codec, checksum, threads):
        shape, chunks, blocks = (tuple(map(int, s.split(","))) for s in (shape, chunks, blocks))
        if file not in self.loaded:
            self.loaded = {file: np.fromfile(file, dtype).reshape(shape)}
        data = self.loaded[file]
        start = time.perf_counter()
        holdall.Array.save(
            holdall.MemoryFiles() if path == "-" else str(path),
            data,
            chunk_shape=chunks,
            block_shape=blocks if len(blocks) == len(shape) else None,
            codec=codec,
            level=5,
            checksum=checksum,
            threads=threads,
            durability=0,
        )
        return time.perf_counter() - start

    def read(self, path, io, threads):
        def all():
            with self.open_array(path, io, threads) as array:
                array[...]

        return timed(all)

    def boxes(self, path, io, threads, count, times, along=False):
        """Reads as many at other positions first, as bench_b2nd.c."""
        with self.open_array(path, io, threads) as array:
            boxes = Boxes(array, count(array.shape), 2 * times, along)
            boxes.read(boxes.all[times:])
            return timed(boxes.read, boxes.all[:times])

    def planes(self, path, io, threads, axis, times):
        return self.boxes(path, io, threads, lambda shape: plane(shape, axis), times)

    def cubes(self, path, io, threads, edge, times):
        return self.boxes(path, io, threads, lambda shape: [edge] * len(shape), times)

    def points(self, path, io, threads, times):
        return self.cubes(path, io, threads, 1, times)

    def near(self, path, io, threads, times):
        return self.boxes(path, io, threads, lambda shape: [1] * len(shape), times, along=True)


class Datasets(Commands):
    """bench_bcolz.c, but for the limit."""

    THREADS, COLUMNS = 2, 8

    def __init__(self):
        self.loaded = {}

    def data(self, file):
        if file not in self.loaded:
            self.loaded = {file: np.fromfile(file, "<f8")}
        return self.loaded[file]

    def options(self, codec, durability, rows):
        return dict(
            format="bcolz",
            mode="w",
            codec=codec,
            level=5,
            durability=durability,
            expected_rows=rows,
            threads=self.THREADS,
        )

    def append(self, file, path, codec, rows, checksum, durability):
        data, options = self.data(file), self.options(codec, durability, len(self.data(file)))
        start = time.perf_counter()
        with holdall.Array.create(str(path), 0, "<f8", checksum=checksum, **options) as array:
            for at in range(0, len(data), rows):
                array.append(data[at : at + rows])
            array.commit()
        return time.perf_counter() - start

    def commits(self, file, path, codec, rows, times, durability):
        data, options = self.data(file), self.options(codec, durability, len(self.data(file)))
        with holdall.Array.create(str(path), 0, "<f8", checksum="none", **options) as array:
            array.commit()

            def all():
                for i in range(times):
                    at = i * rows % (len(data) - rows)
                    array.append(data[at : at + rows])
                    array.commit()

            return timed(all)

    def tables(self, file, path, codec, rows, times, durability):
        data, names = self.data(file), [f"f{k}" for k in range(self.COLUMNS)]
        options = self.options(codec, durability, len(data) // self.COLUMNS)
        columns = dict.fromkeys(names, "<f8")
        with holdall.Table.create(str(path), columns, checksum="none", **options) as table:
            table.commit()

            def all():
                for i in range(times):
                    starts = [
                        (i * self.COLUMNS + k) * rows % (len(data) - rows)
                        for k in range(self.COLUMNS)
                    ]
                    table.append({name: data[at : at + rows] for name, at in zip(names, starts)})
                    table.commit()

            return timed(all)

    def open_array(self, path, io):
        return holdall.Array(str(path), io=io, threads=self.THREADS)

    def read(self, path, io):
        def all():
            with self.open_array(path, io) as array:
                array[:]

        return timed(all)

    def pieces(self, path, io, rows):
        def all():
            with self.open_array(path, io) as array:
                for at in range(0, len(array), rows):
                    array[at : at + rows]

        return timed(all)

    def slices(self, path, io, rows, times, along=False):
        with self.open_array(path, io) as array:
            positions = len(array) - rows
            starts = steps(rows if along else FAR, positions, times)

            def all():
                for start in starts:
                    array[start : start + rows]

            return timed(all)

    def along(self, path, io, rows, times):
        return self.slices(path, io, rows, times, along=True)

    def column(self, path, io, name):
        def all():
            with holdall.Table(str(path), io=io, threads=self.THREADS) as table:
                table[name][:]

        return timed(all)


class Tables(Commands):
    """real.c, for these columns."""

    def __init__(self, columns):
        self.columns = columns

    def write(self, _, path, codec, checksum, threads):
        dtypes = {name: column.dtype for name, column in self.columns.items()}
        options = dict(
            codec=codec,
            level=5,
            checksum=checksum,
            threads=threads,
            durability=0,
            expected_rows=len(next(iter(self.columns.values()))),
        )
        start = time.perf_counter()
        with holdall.Table.create(str(path), dtypes, mode="w", **options) as table:
            table.append(self.columns)
            table.commit()
        return time.perf_counter() - start

    def open_table(self, path, io, threads):
        return holdall.Table(str(path), io=io, threads=threads)

    def read(self, path, io, threads):
        def all():
            with self.open_table(path, io, threads) as table:
                table.read_rows()

        return timed(all)

    def rows(self, path, io, threads, rows, times):
        with self.open_table(path, io, threads) as table:
            starts = steps(FAR, len(table) - rows, times)

            def all():
                for start in starts:
                    table.read_rows(start, rows)

            return timed(all)


class Cold(Commands):
    """cold.c: opens, reads and closes."""

    def box(self, path, io, threads, start, count):
        starts, counts = ([int(n) for n in str(text).split(",")] for text in (start, count))
        key = tuple(slice(s, s + n) for s, n in zip(starts, counts))

        def read():
            with holdall.Array(str(path), io=io, threads=threads) as array:
                array[key]

        return timed(read)

    def records(self, path, io, threads, first, step, count):
        indices = range(first, first + count * step, step)

        def read():
            with holdall.Bag(str(path), io=io, threads=threads) as bag:
                list(bag.read_indices(indices) if count else bag.read())

        return timed(read)


class Superchunks(Commands):
    """bench_blpk.c, but for chunks without a container."""

    TYPESIZE, PIECE = 8, 8 << 20

    def open_schunk(self, path, io=READ, threads=0, verify=1):
        return holdall.Schunk(str(path), io=io, threads=threads, verify=verify)

    def pack(self, file, path, codec, level, checksum, durability, threads):
        options = dict(
            codec=codec, level=level, checksum=checksum, durability=durability, threads=threads
        )
        buffer = bytearray(self.PIECE)
        start = time.perf_counter()
        with (
            open(file, "rb", buffering=0) as source,
            holdall.Schunk.create(str(path), self.TYPESIZE, mode="w", **options) as to,
        ):
            while n := source.readinto(buffer):
                to.append(memoryview(buffer)[:n])
            to.commit()
        return time.perf_counter() - start

    def unpack(self, path, file, threads):
        buffer = memoryview(bytearray(self.PIECE))
        start = time.perf_counter()
        with self.open_schunk(path, threads=threads) as source, open(file, "wb", buffering=0) as to:
            for at in range(0, len(source), self.PIECE):
                piece = buffer[: len(source) - at]
                source.read_into(at, piece)
                to.write(piece)
        return time.perf_counter() - start

    def read(self, path, io, threads, verify):
        buffer = memoryview(bytearray(self.PIECE))

        def all():
            with self.open_schunk(path, io, threads, verify) as source:
                for at in range(0, len(source), self.PIECE):
                    source.read_into(at, buffer[: len(source) - at])

        return timed(all)

    def open(self, path, io, times):
        return open_often(times, lambda: self.open_schunk(path, io))

    def slice(self, path, io, at, n, times):
        def all():
            for _ in range(times):
                with self.open_schunk(path, io) as source:
                    source.read(at, n)

        return timed(all)

    def slices(self, path, io, n, times):
        with self.open_schunk(path, io) as source:
            starts = [
                at // self.TYPESIZE * self.TYPESIZE for at in steps(FAR, len(source) - n, times)
            ]

            def all():
                for start in starts:
                    source.read(start, n)

            return timed(all)


class Pieces(Commands):
    """scaling.c, but for the threads."""

    ITEMS = 4  # of a piece

    def open_container(self, kind, path, mode="r", **options):
        options |= dict(threads=1)
        if not kind.startswith("bag"):
            cls = holdall.Array if kind in ("array", "dataset") else holdall.Schunk
            return cls(str(path), mode, **options)
        if mode == "r":
            return holdall.Bag(str(path), **options)
        codec = "none" if kind == "bag" else "zstd"
        return holdall.BagWriter(str(path), mode, codec=codec, **options)

    def open(self, kind, path, times):
        self.open_container(kind, path).close()
        return open_often(times, lambda: self.open_container(kind, path))

    def read(self, kind, path, times):
        with self.open_container(kind, path) as container:
            if kind.startswith("bag"):
                count, read = len(container), container.__getitem__
            elif isinstance(container, holdall.Schunk):
                count, read = container.chunk_count, container.read_chunk
            else:
                count = len(container) // self.ITEMS

                def read(i):
                    return container[i * self.ITEMS : (i + 1) * self.ITEMS]

            some = steps(FAR % count + 1, count, 2 * times)

            def all(some):
                for i in some:
                    read(i)

            all(some[:times])
            return timed(all, some[times:])

    def grow(self, kind, path, times, durable):
        piece = np.arange(self.ITEMS, dtype="<i4")
        piece = piece if kind in ("array", "dataset") else piece.tobytes()
        with self.open_container(kind, path, "a", durability=durable) as container:

            def all(times):
                for _ in range(times):
                    container.append(piece)
                    container.commit()

            all(1)
            return timed(all, times)


class Opens(Commands):
    """The paths of paths.c that open a container and close it."""

    FILES = {
        "open a bag": ("raw.bag", holdall.Bag),
        "open a bag of zstd": ("zstd.bagz", holdall.Bag),
        "open an array": ("lz4.b2nd", holdall.Array),
        "open a file of Bloscpack": ("walk.blp", holdall.Schunk),
        "open a frame": ("walk.b2frame", holdall.Schunk),
        "open a table": ("table.bcolz", holdall.Table),
    }

    def open(self, folder, name, times):
        file, cls = self.FILES[name]
        path = str(folder / file)
        return open_often(times, lambda: cls(path))


class Indexes(Commands):
    """bench_index.c, for these keys."""

    BATCH = 10_000

    def __init__(self, keys):
        self.keys = keys

    def build(self, path, io, threads):
        with holdall.Bag(str(path), io=io, threads=threads) as bag:
            return timed(lambda: holdall.Index(bag).close())

    def create(self, path, io, file, threads):
        with holdall.Bag(str(path), io=io, threads=threads) as bag:
            return timed(lambda: holdall.Index(bag, file, "w").close())

    def find(self, path, file, io, cache, find):
        with (
            holdall.Bag(str(path), io=io, bag_limits_cache=cache) as bag,
            holdall.Index(bag, file, io=io) as index,
        ):
            call = getattr(index, find)

            def all():
                for key in self.keys:
                    call(key)

            return timed(all)

    def first(self, path, file, io, cache):
        return self.find(path, file, io, cache, "first")

    def all(self, path, file, io, cache):
        return self.find(path, file, io, cache, "find")

    def many(self, path, file, io, threads):
        with (
            holdall.Bag(str(path), io=io, threads=threads) as bag,
            holdall.Index(bag, file, io=io) as index,
        ):
            parts = [self.keys[k : k + self.BATCH] for k in range(0, len(self.keys), self.BATCH)]
            return timed(lambda: [index.find_many(part) and None for part in parts])
