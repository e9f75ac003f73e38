"""Calls every function of the library at least once, with the signatures of a layer of calls.

`run(lib, layer, folder)`: `lib` is a CDLL whose functions are called as the layer says. A result
that is returned through a pointer is written to a buffer of the size that the layer gives, with
guard bytes after it.
"""
import ctypes as c
import pathlib
import struct

OUT = object()  # as an argument: a buffer for the result of the function
GUARD = b"\xa5" * 16


class Caller:
    def __init__(self, lib, layer, structs, as_ctypes, inside):
        self.lib, self.layer, self.structs = lib, layer, structs
        self.as_ctypes, self.inside = as_ctypes, inside
        self.called = set()
        self.k = layer.constants

    def room(self, kind):
        """Returns a buffer for what the type points to, followed by guard bytes, and its type."""
        of = self.as_ctypes(self.inside(kind, "Ptr"))
        size = c.sizeof(of)
        memory = c.create_string_buffer(bytes(size) + GUARD, size + len(GUARD))
        return memory, of

    def __call__(self, name, *arguments):
        """What the function returns, and what it hands back, in order."""
        _, given = self.layer.functions["holdall_" + name]
        if len(arguments) != len(given):
            raise AssertionError(f"{name} is called with {len(arguments)} arguments, and the layer has {len(given)}")
        rooms = []
        for i, argument in enumerate(arguments):
            if argument is OUT:
                rooms.append(self.room(given[i][1]))
                arguments = (*arguments[:i], rooms[-1][0], *arguments[i + 1 :])
        self.called.add("holdall_" + name)
        result = getattr(self.lib, "holdall_" + name)(*arguments)
        for memory, of in rooms:
            if memory.raw[c.sizeof(of) :] != GUARD:
                raise AssertionError(f"{name} wrote beyond what its layer says it gives")
        return [result, *(of.from_buffer(memory).value for memory, of in rooms)]

    def ok(self, name, *arguments, status=0):
        """Calls a function that can fail, with the error as last argument; returns no status."""
        kind = self.structs["holdall_error"]
        err = (kind * 2)()
        c.memset(c.addressof(err[1]), 0xA5, c.sizeof(kind))
        result, *out = self(name, *arguments, c.byref(err))
        if bytes(err[1]) != b"\xa5" * c.sizeof(kind):
            raise AssertionError(f"{name} wrote beyond the error")
        message = bytes(err[0].message)
        message = message[: message.index(0)].decode()
        if result != status or (status < 0) != (err[0].status == status and message != ""):
            raise AssertionError(f"{name} returned {result}, not {status}: {message}")
        if status < 0:
            return err[0].position, message
        return out[0] if len(out) == 1 else out

    def get(self, name, *arguments):
        return self(name, *arguments)[0]

    def spec(self, name, **fields):
        """A structure for the library, with its size; arrays become their addresses."""
        kind = self.structs["holdall_" + name]
        made = kind(struct_size=c.sizeof(kind), **{f: c.addressof(v) if isinstance(v, c.Array) else v for f, v in fields.items()})
        made.held = fields
        return c.byref(made)

    def info(self, name, kind, *arguments):
        """The structure that a function fills in, which must end where the layer says."""
        kind = self.structs["holdall_" + kind]
        made = (kind * 2)()
        c.memset(c.addressof(made[1]), 0xA5, c.sizeof(kind))
        made[0].struct_size = c.sizeof(kind)
        self.ok(name, *arguments, made)
        if bytes(made[1]) != b"\xa5" * c.sizeof(kind):
            raise AssertionError(f"{name} wrote beyond its structure")
        same(made[0].struct_size, c.sizeof(kind))
        return made[0]

    def sized(self, name, *arguments):
        """One that is asked for the size."""
        n = self.ok(name, *arguments, None, 0, OUT)
        dst = c.create_string_buffer(n + 1)
        assert self.ok(name, *arguments, dst, n, OUT) == n
        return dst.raw[:n]


def same(have, want):
    if have != want:
        raise AssertionError(f"{have!r} is not {want!r}")


def u64(*values):
    return (c.c_uint64 * max(len(values), 1))(*values)


def f64(*values):
    return struct.pack(f"={len(values)}d", *values)


def run(caller, folder):
    """Runs the whole script; returns the functions that were not called."""
    folder = pathlib.Path(folder)
    parts = [versions, options, bags, writers, streams, indexes, storage, schunks, schunk_streams, arrays, array_values, tables, table_parts, container_parts, stores, arrow, whole]
    for part in parts:
        at = folder / part.__name__
        at.mkdir()
        part(caller, caller.k, lambda name, at=at: str(at / name).encode())
    return sorted(set(caller.layer.functions) - caller.called)


def versions(f, k, path):
    same(f.get("version_number"), k["HOLDALL_VERSION_NUMBER"])
    assert f.get("version_text").startswith(b"%d.%d." % (k["HOLDALL_VERSION_MAJOR"], k["HOLDALL_VERSION_MINOR"]))
    same(f.get("status_name", k["HOLDALL_E_CHECKSUM"]), b"HOLDALL_E_CHECKSUM")
    same([f.get("constant_name", k[name]) for name in ("HOLDALL_CODEC_ZSTD", "HOLDALL_FORMAT_B2ND", "HOLDALL_CREATE")], [b"zstd", b"b2nd", b"create"])
    same(f.get("constant_name", -1), None)
    md5 = f.sized("checksum_compute", k["HOLDALL_CHECKSUM_MD5"], b"abc", 3)
    checksum = f.ok("checksum_new", k["HOLDALL_CHECKSUM_MD5"], OUT)
    f.ok("checksum_update", checksum, b"ab", 2)
    f.ok("checksum_update", checksum, b"c", 1)
    same(f.sized("checksum_finish", checksum), md5)
    f("checksum_free", checksum)
    same(md5.hex(), "900150983cd24fb0d6963f7d28e17f72")


def options(f, k, path):
    o = f.get("options_new")
    f.ok("options_set", o, k["HOLDALL_OPT_MEMORY_LIMIT"], 5 << 32)
    f.ok("options_set", o, k["HOLDALL_OPT_LEVEL"], -5)
    f.ok("options_set_bytes", o, k["HOLDALL_OPT_DICTIONARY"], b"abc", 3)
    f.ok("options_set", o, 10**6, 1, status=k["HOLDALL_E_ARGUMENT"])
    f("options_set_progress", o, None, None)
    f("options_free", o)


def made(f, k, path, records=(b"one", b"", b"three", b"one")):
    w = f.ok("bag_writer_open", path, k["HOLDALL_CREATE"], None, OUT)
    for r in records:
        f.ok("bag_writer_append", w, r, len(r))
    f.ok("bag_writer_commit", w)
    f("bag_writer_close", w)
    return f.ok("bag_open", path, None, OUT)


def batch(f, records):
    n = f.get("records_count", records)
    offsets = (c.c_uint64 * (n + 1)).from_address(f.get("records_offsets", records))[:]
    data = c.string_at(f.get("records_data", records), offsets[-1])
    return [data[a:b] for a, b in zip(offsets, offsets[1:])]


def closed(f, records):
    same(f.get("records_damaged_count", records), 0)
    f.get("records_damaged_positions", records)
    f("records_free", records)


def refreshed(f, kind, handle):
    """Nothing was committed, but files that were just written may look changed."""
    f.ok(kind + "_refresh", handle)
    assert f.get(kind + "_generation", handle) in (0, 1)


def bags(f, k, path):
    bag = made(f, k, path("a.bagz"))
    same(f.get("bag_record_count", bag), 4)
    info = f.info("bag_get_info", "bag_info", bag)
    same([info.format, info.codec, info.checksum], [k["HOLDALL_FORMAT_BAGZ"], k["HOLDALL_CODEC_ZSTD"], k["HOLDALL_CHECKSUM_ZSTD"]])
    same([info.limits, info.shards], [k["HOLDALL_BAG_LIMITS_TAIL"], k["HOLDALL_BAG_SHARDS_CONCATENATED"]])
    same([info.record_count, info.shard_count, info.generation], [4, 1, 0])
    same(info.stored_bytes, pathlib.Path(path("a.bagz").decode()).stat().st_size)
    same([f.get("bag_shard_count", bag), f.get("bag_shard_name", bag, 0), f.get("bag_shard_record_count", bag, 0)], [1, path("a.bagz"), 4])
    refreshed(f, "bag", bag)
    same(f.sized("bag_read", bag, 2), b"three")
    f.ok("bag_read", bag, 2**32, None, 0, OUT, status=k["HOLDALL_E_RANGE"])
    slice = f.ok("bag_slice", bag, 3, 2, -2, OUT)
    same([f.sized("bag_read", slice, i) for i in (0, 1)], [b"one", b""])
    f.ok("bag_copy", slice, u64(1, 0), 2, path("copy.bag"), k["HOLDALL_CREATE"], None)
    copy = f.ok("bag_open", path("copy.bag"), None, OUT)
    same([f.sized("bag_read", copy, i) for i in (0, 1)], [b"", b"one"])
    f("bag_close", copy)
    firsts, counts, sizes = u64(9), u64(9), u64(9)
    same((f.ok("bag_splits", bag, 1, firsts, counts, sizes, OUT), firsts[:], counts[:]), (1, [0], [4]))
    range_ = f.ok("bag_read_range", bag, 1, 3, OUT)
    same(batch(f, range_), [b"", b"three", b"one"])
    chosen = f.ok("bag_read_indices", bag, u64(3, 0, 2), 3, OUT)
    same(batch(f, chosen), [b"one", b"one", b"three"])
    same(f.get("records_numbers", chosen), None)
    closed(f, range_), closed(f, chosen)
    same(len(f.sized("bag_checksum", bag, k["HOLDALL_CHECKSUM_SHA512"])), 64)
    same(f.sized("bag_read_dictionary", bag), b"")
    f.ok("dictionary_train", b"abc", u64(0, 1, 3), 2, None, 1024, OUT, status=k["HOLDALL_E_ARGUMENT"])
    same(f.sized("bag_files", path("x@2.bag")), path("x-00000-of-00002.bag") + b"\0" + path("x-00001-of-00002.bag") + b"\0")
    buffers = []

    @c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t)
    def allocate(_, n):
        buffers.append(c.create_string_buffer(n))
        return c.addressof(buffers[-1])

    ends = u64(*[7] * 4)
    f.ok("bag_read_range_to", bag, 0, 3, allocate, None, ends)
    same((buffers[-1].raw, ends[:]), (b"onethree", [0, 3, 3, 8]))
    f.ok("bag_read_indices_to", bag, u64(2, 3), 2, allocate, None, ends)
    same((buffers[-1].raw, ends[:3]), (b"threeone", [0, 5, 8]))
    f("bag_close", slice), f("bag_close", bag)


def writers(f, k, path):
    w = f.ok("bag_writer_open", path("b.bag"), k["HOLDALL_REPLACE"], None, OUT)
    f.ok("bag_writer_append_many", w, b"abc", u64(0, 1, 1, 3), 3)
    same(f.get("bag_writer_record_count", w), 3)
    f("bag_writer_close", w)
    f.ok("bag_open", path("b.bag"), None, OUT, status=k["HOLDALL_E_MISSING"])


def streams(f, k, path):
    bag = made(f, k, path("a.bagz"), [b"%d" % i for i in range(10)])
    stream = f.ok("bag_stream_open", bag, None, None, None, OUT)
    record, n = f.ok("bag_stream_next", stream, OUT, OUT)
    same((c.string_at(record, n), f.get("bag_stream_number", stream), f.get("bag_stream_damaged_count", stream)), (b"0", 0, 0))
    taken = f.ok("bag_stream_take", stream, 3, OUT)
    same(batch(f, taken), [b"1", b"2", b"3"])
    numbers = (c.c_uint64 * 3).from_address(f.get("records_numbers", taken))
    same(numbers[:], [1, 2, 3])
    closed(f, taken)
    f("bag_stream_close", stream)

    epoch = f.ok("epoch_new", 10, 2**40 + 1, 0, 1, 2, OUT)
    same(f.get("epoch_count", epoch), 5)
    all_ = [f("epoch_next", epoch, OUT)[1] for _ in range(5)]
    same(f("epoch_next", epoch, OUT)[0], k["HOLDALL_END"])
    f.ok("epoch_seek", epoch, 0, 2)
    next_index = c.cast(f.lib.holdall_epoch_next, c.c_void_p)
    stream = f.ok("bag_stream_open", bag, next_index, epoch, None, OUT)
    taken = f.ok("bag_stream_take", stream, 5, OUT)
    same(batch(f, taken), [b"%d" % i for i in all_[2:]])
    closed(f, taken)
    f.ok("bag_stream_take", stream, 5, OUT, status=k["HOLDALL_END"])
    f("bag_stream_close", stream), f("epoch_free", epoch), f("bag_close", bag)


def indexes(f, k, path):
    bag = made(f, k, path("a.bagz"))
    f("bag_index_close", f.ok("bag_index_create", path("a.index"), k["HOLDALL_CREATE"], bag, None, OUT))
    for x in (f.ok("bag_index_build", bag, None, OUT), f.ok("bag_index_open", path("a.index"), bag, None, OUT)):
        same([f.get("bag_index_key_count", x), f.get("bag_index_damaged_count", x)], [3, 0])
        same(f.ok("bag_index_find_first", x, b"three", 5, OUT), 2)
        same(f.ok("bag_index_find_first", x, b"no", 2, OUT, status=k["HOLDALL_NOT_FOUND"]), k["HOLDALL_NO_RECORD"])
        found = u64(0, 0)
        same((f.ok("bag_index_find", x, b"one", 3, found, 2, OUT), found[:]), (2, [0, 3]))
        f.ok("bag_index_find_many", x, b"oneno", u64(0, 3, 5), 2, found, status=k["HOLDALL_NOT_FOUND"])
        same(found[:], [0, k["HOLDALL_NO_RECORD"]])
        f("bag_index_close", x)
    f("bag_close", bag)


class Memory:
    """Storage of functions, whose table is filled in as the layer has it."""

    def __init__(self, kind):
        self.files = {}
        self.functions = {
            "size": self.hand(self.size, c.c_char_p), "read_at": self.hand(self.read_at, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t),
            "write_at": self.hand(self.write_at, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t),
            "truncate": self.hand(self.truncate, c.c_char_p, c.c_uint64), "sync": self.hand(lambda name: 0, c.c_char_p),
            "rename": self.hand(self.rename, c.c_char_p, c.c_char_p), "remove": self.hand(self.remove, c.c_char_p),
            "list": self.hand(self.list, c.c_char_p, c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p), c.c_void_p),
        }  # fmt: skip
        self.table = kind(struct_size=c.sizeof(kind), **{name: c.cast(f, c.c_void_p) for name, f in self.functions.items()})

    @staticmethod
    def hand(function, *kinds):
        return c.CFUNCTYPE(c.c_int64, c.c_void_p, *kinds)(lambda _ctx, *arguments: function(*arguments))

    def size(self, name):
        return len(self.files[name]) if name in self.files else -2

    def read_at(self, name, at, dst, n):
        there = bytes(self.files.get(name, b"")[at : at + n])
        c.memmove(dst, there, len(there))
        return len(there) if name in self.files else -2

    def write_at(self, name, at, src, n):
        self.truncate(name, max(len(self.files.get(name, b"")), at + n))
        self.files[name][at : at + n] = c.string_at(src, n)
        return n

    def truncate(self, name, n):
        file = self.files.setdefault(name, bytearray())
        file[:] = file[:n].ljust(n, b"\0")
        return 0

    def rename(self, a, b):
        self.files[b] = self.files.pop(a)
        return 0

    def remove(self, name):
        return 0 if self.files.pop(name, None) is not None else -2

    def list(self, folder, each, arg):
        for name in list(self.files):
            inside, _, last = name.rpartition(b"/")
            if inside == folder and each(arg, last):
                break
        return 0


def stored(f, storage):
    """Options with a storage, which replaces the path."""
    o = f.get("options_new")
    f.ok("options_set_storage", o, (c.c_void_p * 1)(storage), 1)
    return o


def storage(f, k, path):
    opened = []

    def new_storage():
        memory = Memory(f.structs["holdall_storage_functions"])
        handle = f.ok("storage_from_functions", c.byref(memory.table), OUT)
        opened.append((memory, handle, stored(f, handle)))
        return memory, opened[-1][2]

    create, read = k["HOLDALL_CREATE"], k["HOLDALL_READ"]
    memory, o = new_storage()
    w = f.ok("bag_writer_open", None, create, o, OUT)
    f.ok("bag_writer_append", w, b"x", 1)
    f.ok("bag_writer_commit", w)
    f("bag_writer_close", w)
    bag = f.ok("bag_open", None, o, OUT)
    same(f.sized("bag_read", bag, 0), b"x")
    f.ok("bag_open", path("x"), o, OUT, status=k["HOLDALL_E_ARGUMENT"])
    _, index = new_storage()
    f("bag_index_close", f.ok("bag_index_create", None, create, bag, index, OUT))
    f("bag_index_close", f.ok("bag_index_open", None, bag, index, OUT))
    content = bytes(memory.files[b""])
    plain = f.ok("storage_from_memory", content, len(content), OUT)
    of_plain = stored(f, plain)
    again = f.ok("bag_open", b"", of_plain, OUT)
    same(f.get("bag_record_count", again), 1)
    for b in (bag, again):
        f("bag_close", b)
    f("options_free", of_plain), f("storage_free", plain)

    files = f.ok("storage_new_memory", OUT)
    f.ok("storage_put_file", files, b"", content, len(content))
    same([f.get("storage_file_count", files), f.get("storage_file_name", files, 0)], [1, b""])
    shared = f.ok("storage_clone", files, OUT)
    there, n = f.ok("storage_get_file", shared, b"", OUT, OUT)
    same(c.string_at(there, n), content)
    f("storage_free", shared), f("storage_free", files)

    _, o = new_storage()
    s = f.ok("schunk_create", None, create, k["HOLDALL_FORMAT_BLOSCPACK"], 1, o, OUT)
    f.ok("schunk_append", s, b"abc", 3)
    f.ok("schunk_commit", s)
    f("schunk_close", s)
    s = f.ok("schunk_open", None, read, o, OUT)
    same(f.get("schunk_nbytes", s), 3)
    f("schunk_close", s)

    _, o = new_storage()
    spec = f.spec("array_spec", format=k["HOLDALL_FORMAT_B2ND"], dtype=b"<f8", ndim=1, shape=u64(3))
    a = f.ok("array_create", None, create, spec, o, OUT)
    f.ok("array_commit", a)
    f("array_close", a)
    a = f.ok("array_open", None, read, o, OUT)
    same(f.get("array_nbytes", a), 24)
    f("array_close", a)

    _, o = new_storage()
    t = f.ok("table_create", None, create, table_spec(f, k["HOLDALL_FORMAT_BCOLZ"], a=b"<i4"), o, OUT)
    f.ok("table_commit", t)
    f("table_close", t)
    t = f.ok("table_open", None, read, o, OUT)
    same(f.get("table_column_count", t), 1)
    f("table_close", t)
    for _, handle, options in opened:
        f("options_free", options), f("storage_free", handle)


def table_spec(f, format, **dtypes):
    names = (c.c_char_p * len(dtypes))(*(name.encode() for name in dtypes))
    return f.spec("table_spec", format=format, column_count=len(dtypes), names=names, dtypes=(c.c_char_p * len(dtypes))(*dtypes.values()))


def schunk_streams(f, k, path):
    written = []

    @c.CFUNCTYPE(c.c_int64, c.c_void_p, c.c_void_p, c.c_size_t)
    def write(_, src, n):
        written.append(c.string_at(src, n))
        return n

    s = f.ok("schunk_stream_new", c.cast(write, c.c_void_p), None, 4, 8, None, OUT)
    f.ok("schunk_stream_set_metadata", s, b"1", 1)
    f.ok("schunk_stream_write", s, b"01234567", 8)
    f.ok("schunk_stream_finish", s)
    f("schunk_stream_free", s)
    pathlib.Path(path("streamed").decode()).write_bytes(b"".join(written))
    s = f.ok("schunk_open", path("streamed"), k["HOLDALL_READ"], None, OUT)
    same([f.get("schunk_" + n, s) for n in ("nbytes", "attr_count")], [8, 1])
    f("schunk_close", s)


def schunks(f, k, path):
    s = f.ok("schunk_create", path("s"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_BLOSCPACK"], 4, None, OUT)
    f.ok("schunk_append", s, b"01234567", 8)
    f.ok("schunk_write", s, 2, b"XY", 2)
    f.ok("schunk_insert", s, 1, b"abcd", 4)
    f.ok("schunk_attr_set", s, b"", b'{"a": 1}', 8)
    f.ok("schunk_commit", s)
    raw = f.sized("schunk_read_raw", s, 1)
    f.ok("schunk_append_raw", s, raw, len(raw))
    f.ok("schunk_remove", s, 2)
    f.ok("schunk_truncate", s, 12)
    f.ok("schunk_commit", s)
    f("schunk_close", s)
    s = f.ok("schunk_open", path("s"), k["HOLDALL_READ"], None, OUT)
    same([f.get("schunk_" + n, s) for n in ("chunk_count", "nbytes", "attr_count")], [2, 12, 1])
    info = f.info("schunk_get_info", "schunk_info", s)
    same([info.format, info.version, info.typesize, info.level, info.is_sparse], [k["HOLDALL_FORMAT_BLOSCPACK"], 3, 4, -1, 0])
    same([info.chunk_count, info.nbytes, info.attr_count, info.generation], [2, 12, 1, 0])
    same([info.checksum, info.filters[: info.filter_count]], [k["HOLDALL_CHECKSUM_CRC32"], [k["HOLDALL_FILTER_SHUFFLE"]]])
    same(info.stored_bytes, pathlib.Path(path("s").decode()).stat().st_size)
    assert info.chunk_size >= 4
    chunk = f.info("schunk_get_chunk_info", "chunk_info", s, 1)
    same([chunk.nbytes, chunk.codec, chunk.is_pending], [4, k["HOLDALL_CODEC_NONE"], 0])
    refreshed(f, "schunk", s)
    dst = c.create_string_buffer(6)
    f.ok("schunk_read", s, 4, dst, 6)
    same(dst.raw, b"4567ab")
    same(f.sized("schunk_read_chunk", s, 1), b"abcd")
    same(len(f.sized("schunk_checksum", s, k["HOLDALL_CHECKSUM_SHA1"])), 20)
    same(f.get("schunk_attr_name", s, 0), b"")
    value, n = f.ok("schunk_attr_get", s, b"", OUT, OUT)
    same(c.string_at(value, n), b'{"a": 1}')
    f.ok("schunk_copy", s, path("copy"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_B2FRAME"], None)
    f("schunk_close", s)
    s = f.ok("schunk_create", path("blocks"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_B2FRAME"], 1, None, OUT)
    f.ok("schunk_insert_blocks", s, 0, b"oneanother", u64(0, 3, 10), 2)
    f.ok("schunk_commit", s)
    offsets = u64(9, 9, 9)
    same((f.ok("schunk_block_offsets", s, 0, offsets, 3, OUT), offsets[:]), (2, [0, 3, 10]))
    same([f.sized("schunk_read_block", s, 0, i) for i in (0, 1)], [b"one", b"another"])
    f("schunk_close", s)
    s = f.ok("schunk_open", path("copy"), k["HOLDALL_APPEND"], None, OUT)
    f.ok("schunk_attr_set_fixed", s, b"fixed", b"\x01", 1)
    same(f.get("schunk_attr_name", s, 0), b"fixed")
    f("schunk_close", s)


def lengths(address, n):
    return (c.c_uint64 * n).from_address(address)[:]


def arrays(f, k, path):
    spec = f.spec("array_spec", format=k["HOLDALL_FORMAT_B2ND"], dtype=b"<f8", ndim=2, shape=u64(2, 3), chunk_shape=u64(2, 2), block_shape=u64(1, 2))
    a = f.ok("array_create", path("a"), k["HOLDALL_CREATE"], spec, None, OUT)
    f.ok("array_write", a, None, None, None, f64(*range(6)), 48, None)
    f.ok("array_append", a, 0, 1, f64(6, 7, 8), 24)
    f.ok("array_insert", a, 1, 0, 1, f64(-1, -2, -3), 24)
    f.ok("array_remove", a, 0, 1, 1)
    f.ok("array_resize", a, u64(2, 3))
    rows = u64(1)
    f.ok("array_write_orthogonal", a, (c.c_void_p * 2)(c.addressof(rows), None), u64(1, 3), f64(9, 8, 7), 24)
    f.ok("array_attr_set_fixed", a, b"fixed", b"\x01", 1)
    f.ok("array_commit", a)
    f("array_close", a)
    a = f.ok("array_open", path("a"), k["HOLDALL_READ"], None, OUT)
    same([f.get("array_" + n, a) for n in ("ndim", "dtype", "itemsize", "nbytes")], [2, b"<f8", 8, 48])
    same(lengths(f.get("array_shape", a), 2), [2, 3])
    info = f.info("array_get_info", "array_info", a)
    same([lengths(at, 2) for at in (info.shape, info.chunk_shape, info.block_shape)], [[2, 3], [2, 2], [1, 2]])
    same([info.format, info.ndim, info.dtype, info.itemsize, info.nbytes], [k["HOLDALL_FORMAT_B2ND"], 2, b"<f8", 8, 48])
    same([info.order, info.codec, info.level, info.checksum], [k["HOLDALL_ORDER_C"], k["HOLDALL_CODEC_LZ4"], 5, k["HOLDALL_CHECKSUM_CRC32"]])
    same([info.filters[: info.filter_count], info.precision, info.generation], [[k["HOLDALL_FILTER_SHUFFLE"]], 0, 0])
    same([info.attr_count, info.fixed_attr_count], [1, 1])
    assert info.stored_bytes > 0
    refreshed(f, "array", a)
    dst = c.create_string_buffer(16)
    f.ok("array_read", a, u64(0, 0), u64(1, 2), u64(1, 2), dst, 16, (c.c_int64 * 2)(16, -8))
    same(dst.raw, f64(1, -1))
    columns = u64(2, 0)
    f.ok("array_read_orthogonal", a, (c.c_void_p * 2)(c.addressof(rows), c.addressof(columns)), u64(1, 2), dst, 16)
    same(dst.raw, f64(7, 9))
    f.ok("array_read_points", a, u64(1, 1, 0, 2), 2, dst, 16)
    same(dst.raw, f64(8, 1))
    f.ok("array_copy", a, path("copy"), k["HOLDALL_CREATE"], f.spec("array_spec", format=k["HOLDALL_FORMAT_BLOSCPACK"]), None)
    same(len(f.sized("array_checksum", a, k["HOLDALL_CHECKSUM_SHA1"])), 20)
    slice = f.ok("array_slice", a, u64(1, 2), u64(1, 2), (c.c_int64 * 2)(1, -2), OUT)
    flat = f.ok("array_squeeze", slice, 0, OUT)
    deep = f.ok("array_expand_dims", flat, 1, OUT)
    same(lengths(f.get("array_shape", deep), 2), [2, 1])
    f.ok("array_read", deep, None, None, None, dst, 16, None)
    same(dst.raw, f64(7, 9))
    for view in (slice, flat, deep):
        f("array_close", view)
    f("array_close", a)


def array_values(f, k, path):
    a = f.ok("array_create", path("a"), k["HOLDALL_CREATE"], f.spec("array_spec", format=k["HOLDALL_FORMAT_BCOLZ"], dtype=b"<i4", ndim=1, shape=u64(2)), None, OUT)
    same(f.ok("array_fill_value_get", a, OUT, OUT), [None, 0])
    f.ok("array_fill_value_set", a, struct.pack("=i", -7), 4)
    value, n = f.ok("array_fill_value_get", a, OUT, OUT)
    same(c.string_at(value, n), struct.pack("=i", -7))
    f.ok("array_attr_set", a, b"name", b"[1]", 3)
    same([f.get("array_attr_count", a), f.get("array_attr_name", a, 0)], [1, b"name"])
    value, n = f.ok("array_attr_get", a, b"name", OUT, OUT)
    same(c.string_at(value, n), b"[1]")
    f.ok("array_read_object", a, 0, None, 0, OUT, status=k["HOLDALL_E_TYPE"])
    f.ok("array_read_values", a, 0, 1, OUT, status=k["HOLDALL_E_TYPE"])
    same(f.get("values_items", None), None)
    f("values_free", None)
    f.ok("array_meta_file_write", a, b"units", b"km", 2)
    f.ok("array_commit", a)
    same(f.sized("array_meta_file_names", a), b"units\0")
    same(f.sized("array_meta_file_read", a, b"units"), b"km")
    f("array_close", a)


def tables(f, k, path):
    t = f.ok("table_create", path("t"), k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BCOLZ"], a=b"<i4", b=b"<f8"), None, OUT)
    data = [c.create_string_buffer(struct.pack("=2i", 1, 2), 8), c.create_string_buffer(f64(3, 4), 16)]
    f.ok("table_append", t, 2, (c.c_void_p * 2)(*map(c.addressof, data)), (c.c_size_t * 2)(8, 16))
    f.ok("table_write", t, b"b", 1, 1, f64(5), 8)
    f.ok("table_column_add", t, 0, b"c", b"|u1", b"\1\2", 2)
    f.ok("table_column_remove", t, b"a")
    f.ok("table_insert", t, 1, 1, (c.c_void_p * 2)(*map(c.addressof, data)), (c.c_size_t * 2)(1, 8))
    f.ok("table_remove", t, 1, 1)
    f.ok("table_truncate", t, 2)
    f.ok("table_commit", t)
    f.ok("table_index_build", t, 0, None, status=k["HOLDALL_E_UNSUPPORTED"])
    f("table_close", t)
    t = f.ok("table_open", path("t"), k["HOLDALL_READ"], None, OUT)
    same([f.get("table_row_count", t), f.get("table_column_count", t)], [2, 2])
    info = f.info("table_get_info", "table_info", t)
    same([info.format, info.row_count, info.column_count, info.nbytes, info.attr_count, info.generation], [k["HOLDALL_FORMAT_BCOLZ"], 2, 2, 18, 0, 0])
    assert info.stored_bytes > 0
    same([f.get("table_column_name", t, i) for i in (0, 1)], [b"c", b"b"])
    dst = c.create_string_buffer(16)
    f.ok("array_read", f.get("table_column", t, 1), u64(0), u64(2), None, dst, 16, None)
    same((dst.raw, f.get("table_column_row_count", t, 1)), (f64(3, 5), 2))
    same([f.get("table_find_column", t, b"b"), f.get("table_find_column", t, b"a")], [f.get("table_column", t, 1), None])
    c_, b_ = c.create_string_buffer(2), c.create_string_buffer(16)
    f.ok("table_read_rows", t, 0, 2, 1, 2, None, (c.c_void_p * 2)(c.addressof(c_), c.addressof(b_)), (c.c_size_t * 2)(2, 16))
    same((c_.raw, b_.raw), (b"\1\2", f64(3, 5)))
    f.ok("table_read_points", t, u64(1, 0), 2, 1, (c.c_char_p * 1)(b"b"), (c.c_void_p * 1)(c.addressof(b_)), (c.c_size_t * 1)(16))
    same(b_.raw, f64(5, 3))
    start, found = u64(0), u64(9, 9)
    same((f.ok("table_where", t, b"b > 3", start, 2, found, 2, OUT), start[:], found[:]), (1, [2], [1, 9]))
    firsts, counts, sizes = u64(9), u64(9), u64(9)
    same((f.ok("table_splits", t, 1, firsts, counts, sizes, OUT), firsts[:], counts[:]), (1, [0], [2]))
    same((f.ok("array_splits", f.get("table_column", t, 1), 1, firsts, counts, sizes, OUT), firsts[:], counts[:]), (1, [0], [2]))
    refreshed(f, "table", t)
    f.ok("table_copy", t, path("copy"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_BLZ_RFC"], None)
    slice = f.ok("table_slice", t, 1, 2, -1, 1, (c.c_char_p * 1)(b"b"), OUT)
    f.ok("array_read", f.get("table_column", slice, 0), None, None, None, dst, 16, None)
    same(dst.raw, f64(5, 3))
    f("table_close", slice)
    f("table_close", t)


def table_parts(f, k, path):
    t = f.ok("table_create", path("t"), k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BLZ"], a=b"<i4"), None, OUT)
    f.ok("table_attr_set", t, b"x", b"1", 1)
    f.ok("table_column_attr_set", t, b"a", b"y", b"2", 1)
    same([f.get("table_attr_count", t), f.get("table_attr_name", t, 0)], [1, b"x"])
    value, n = f.ok("table_attr_get", t, b"x", OUT, OUT)
    same(c.string_at(value, n), b"1")
    value, n = f.ok("array_attr_get", f.get("table_column", t, 0), b"y", OUT, OUT)
    same(c.string_at(value, n), b"2")
    f("table_close", t)
    t = f.ok("table_create", path("rfc"), k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BLZ_RFC"], a=b"<i4"), None, OUT)
    f.ok("table_meta_file_write", t, b"units", b"km", 2)
    f.ok("table_commit", t)
    same(f.sized("table_meta_file_names", t), b"units\0")
    same(f.sized("table_meta_file_read", t, b"units"), b"km")
    f("table_close", t)


def container_parts(f, k, path):
    def finished(part, add):
        token = c.create_string_buffer(k["HOLDALL_PART_TOKEN_SIZE"])
        add(f.get("part_path", part))
        f.ok("part_finish", part, token)
        f("part_close", part)
        return token.raw

    def record(at):
        w = f.ok("bag_writer_open", at, k["HOLDALL_APPEND"], None, OUT)
        f.ok("bag_writer_append", w, b"one", 3)
        f.ok("bag_writer_commit", w)
        f("bag_writer_close", w)

    bag = path("a.bagz")
    tokens = [finished(f.ok("part_of_bag", bag, None, OUT), record) for _ in range(2)]
    same(len(f.sized("parts_list", bag).split(b"\0")), 3)
    f.ok("parts_discard", bag, tokens[1], 1)
    f.ok("parts_commit", bag, tokens[0], 1, None)
    f.ok("parts_commit", bag, b"", 0, None)
    b = f.ok("bag_open", bag, None, OUT)
    same((f.get("bag_record_count", b), f.sized("parts_list", bag)), (1, b""))
    f("bag_close", b)

    t = f.ok("table_create", path("t"), k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BCOLZ"], a=b"<i4"), None, OUT)
    f.ok("table_commit", t)
    f("table_close", t)
    f("part_close", f.ok("part_of_table", path("t"), None, OUT))
    f("part_close", f.ok("part_of_array", path("t") + b"/a", 1, u64(0), u64(0), None, OUT))


def stores(f, k, path):
    pathlib.Path(path("s.b2d").decode()).mkdir()
    s = f.ok("schunk_create", path("s.b2d/embed.b2e"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_B2FRAME"], 1, None, OUT)
    f.ok("schunk_commit", s)
    f("schunk_close", s)
    spec = f.spec("array_spec", format=k["HOLDALL_FORMAT_B2ND"], dtype=b"<i4", ndim=1, shape=u64(2))
    a = f.ok("array_create", path("s.b2d/a.b2nd"), k["HOLDALL_CREATE"], spec, None, OUT)
    f.ok("array_commit", a)
    f("array_close", a)
    store = f.ok("store_open", path("s.b2d"), k["HOLDALL_READ"], None, OUT)
    same([f.get("store_node_count", store), f.get("store_node_path", store, 0), f.get("store_node_path", store, 1)], [1, b"/a", None])
    same(f.ok("store_identify", store, b"/a", OUT, OUT), [k["HOLDALL_FORMAT_B2ND"], k["HOLDALL_KIND_ARRAY"]])
    f("array_close", f.ok("store_open_array", store, b"/a", k["HOLDALL_READ"], None, OUT))
    f("schunk_close", f.ok("store_open_schunk", store, b"/a", k["HOLDALL_READ"], None, OUT))
    f.ok("store_open_table", store, b"/a", k["HOLDALL_READ"], None, OUT, status=k["HOLDALL_E_TYPE"])
    f.ok("store_commit", store, status=k["HOLDALL_E_STATE"])
    f("store_close", store)
    store = f.ok("store_create", path("new.b2z"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_B2Z"], None, OUT)
    for node in (b"/a", b"/g/b"):
        at = f.ok("store_node_storage", store, node, k["HOLDALL_KIND_ARRAY"], OUT)
        o = stored(f, at)
        a = f.ok("array_create", None, k["HOLDALL_CREATE"], spec, o, OUT)
        f.ok("array_commit", a)
        f("array_close", a), f("options_free", o), f("storage_free", at)
    f.ok("store_commit", store)
    same(f.get("store_node_count", store), 2)
    f.ok("store_remove", store, b"/g")
    a = f.ok("store_open_array", store, b"/a", k["HOLDALL_APPEND"], None, OUT)
    f.ok("array_resize", a, u64(5))
    f.ok("array_commit", a)
    f.ok("store_commit", store)
    f("array_close", a), f("store_close", store)
    store = f.ok("store_open", path("new.b2z"), k["HOLDALL_APPEND"], None, OUT)
    same([f.get("store_node_count", store), f.get("store_node_path", store, 0)], [1, b"/a"])
    f.ok("store_copy", store, path("copy.b2e"), k["HOLDALL_CREATE"], 0, None)
    f.ok("store_copy", store, path("copy.b2e"), k["HOLDALL_CREATE"], 0, None, status=k["HOLDALL_E_EXISTS"])
    f("store_close", store)
    t = f.ok("table_create", path("t"), k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BCOLZ"], a=b"<i4"), None, OUT)
    f.ok("table_read_nulls", t, b"a", 0, 0, (c.c_uint8 * 1)(), status=k["HOLDALL_NOT_FOUND"])
    f("table_close", t)


def arrow(f, k, path):
    def release(stream):
        c.CFUNCTYPE(None, c.c_void_p)(stream[3])(c.addressof(stream))

    bag = made(f, k, path("a.bagz"))
    stream = (c.c_void_p * 5)()
    f.ok("bag_to_arrow", bag, 0, 4, 0, stream)
    release(stream)
    form = (k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BCOLZ"], a=b"<i4"), None)
    t = f.ok("table_create", path("t"), *form, OUT)
    four = c.create_string_buffer(struct.pack("=i", 4), 4)
    f.ok("table_append", t, 1, (c.c_void_p * 1)(c.addressof(four)), (c.c_size_t * 1)(4))
    to = f.ok("table_create", path("to"), *form, OUT)
    f.ok("table_to_arrow", t, 0, 1, 0, stream)
    f.ok("table_append_arrow", to, stream)
    same([f.get("table_row_count", to), stream[3]], [1, None])
    f.ok("table_to_arrow", t, 0, 1, 0, stream)
    f("table_close", to)
    to = f.ok("table_from_arrow", path("from.b2d"), k["HOLDALL_CREATE"], k["HOLDALL_FORMAT_CTABLE"], stream, None, OUT)
    same([f.get("table_row_count", to), stream[3]], [1, None])
    f.ok("table_columns_to_arrow", t, 0, 1, 1, (c.c_char_p * 1)(b"a"), 0, stream)
    release(stream)
    f.ok("table_scan", t, b"a > 0", 0, 1, 1, 1, (c.c_char_p * 1)(b"a"), 0, stream)
    release(stream)
    f.ok("table_points_to_arrow", t, u64(0, 0), 2, 1, (c.c_char_p * 1)(b"a"), 0, stream)
    release(stream)
    for table in (t, to):
        f("table_close", table)
    f("bag_close", bag)


def whole(f, k, path):
    f("bag_close", made(f, k, path("a.bagz")))
    same(f.ok("identify", path("a.bagz"), OUT, OUT), [k["HOLDALL_FORMAT_BAGZ"], k["HOLDALL_KIND_BAG"]])
    found = f.info("verify", "verify_result", path("a.bagz"), None, None, None)
    same([found.intact, found.corrupt, found.unchecked], [4, 0, 0])
    done = f.info("repair", "repair_result", path("a.bagz"), None)
    same([done.retained, done.lost], [4, 0])
