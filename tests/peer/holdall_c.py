"""The C library through ctypes, as much of it as the tests here need.

HOLDALL_LIB is the path of the shared library. Every call that fails raises `Error`.
"""

import ctypes as c
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

OK, NOT_FOUND = 0, 1
E_ARGUMENT, E_PANIC, E_MEMORY, E_BUFFER, E_IO, E_MISSING, E_EXISTS = range(-1, -8, -1)
E_FORMAT, E_CHECKSUM, E_VERSION, E_CODEC, E_TYPE, E_RANGE, E_STATE = range(-8, -15, -1)
E_LIMIT, E_CANCELLED, E_CALLBACK, E_BUSY, E_UNSUPPORTED = range(-15, -20, -1)
READ, APPEND, NEW, REPLACE = range(4)
CODEC_NONE, CODEC_BLOSCLZ, CODEC_LZ4, CODEC_LZ4HC, CODEC_SNAPPY, CODEC_ZLIB, CODEC_ZSTD = range(7)
FORMAT_BLOSCPACK, FORMAT_BCOLZ, FORMAT_BLZ, FORMAT_BLZ_PAPER, FORMAT_B2FRAME, FORMAT_CATERVA, FORMAT_B2ND = range(1, 8)
SUM_NONE, SUM_CRC32, SUM_SHA256, SUM_ZSTD = 0, 2, 6, 9
TAIL, SEPARATE = 0, 1
IO_READ, IO_MAP = 0, 1
OPTIONS = dict(
    threads=1, memory_limit=2, io=3, verify=4, skip_damaged=5, durability=6, lock=7, codec=8, level=9,
    filters=10, chunk_bytes=11, block_bytes=12, checksum=13, dictionary=14, fill=15, expected_rows=16, sparse=17, superchunk_chunks=18, at=29, both_metalayers=30, offsets=19,
    spare_chunks=20, spare_bytes=21, format_version=22, limits=23, limits_cache=24, shards=25, timeout=39, retries=40, requests=41, arrow_binary=27, arrow_nulls=28,
)  # fmt: skip

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CError(c.Structure):
    _fields_ = [("status", c.c_int32), ("os_code", c.c_int32), ("position", c.c_int64), ("message", c.c_char * 496)]


class Error(Exception):
    """What a call that failed said."""

    def __init__(self, status, err):
        self.status, self.os_code, self.position = status, err.os_code, err.position
        self.message = err.message.decode(errors="replace")
        super().__init__(f"{status_name(status)}: {self.message} (position {self.position})")


P, U64, SIZE, STATUS = c.c_void_p, c.c_uint64, c.c_size_t, c.c_int32
FAULT = c.CFUNCTYPE(c.c_int, P, c.c_char_p, c.POINTER(CError))
ERR = c.POINTER(CError)
# name: result, arguments; calls that give a STATUS take the error last
CALLS = {
    "version_text": (c.c_char_p,),
    "status_name": (c.c_char_p, STATUS),
    "options_new": (P,),
    "options_free": (None, P),
    "options_set": (STATUS, P, c.c_int32, c.c_int64, ERR),
    "options_set_bytes": (STATUS, P, c.c_int32, c.c_char_p, SIZE, ERR),
    "verify": (STATUS, c.c_char_p, P, FAULT, P, c.POINTER(U64), c.POINTER(U64), c.POINTER(U64), ERR),
    "repair": (STATUS, c.c_char_p, P, c.POINTER(U64), c.POINTER(U64), ERR),
    "schunk_open": (STATUS, c.c_char_p, c.c_int32, P, c.POINTER(P), ERR),
    "schunk_create": (STATUS, c.c_char_p, c.c_int32, c.c_int32, SIZE, P, c.POINTER(P), ERR),
    "schunk_close": (None, P),
    "schunk_chunks": (U64, P),
    "schunk_nbytes": (U64, P),
    "schunk_cbytes": (U64, P),
    "schunk_typesize": (SIZE, P),
    "schunk_chunk_size": (SIZE, P),
    "schunk_sum": (c.c_int32, P),
    "schunk_version": (c.c_int32, P),
    "schunk_chunk_info": (STATUS, P, U64, c.POINTER(SIZE), c.POINTER(SIZE), c.POINTER(c.c_int32), ERR),
    "schunk_read": (STATUS, P, U64, P, SIZE, ERR),
    "schunk_read_chunk": (STATUS, P, U64, P, SIZE, c.POINTER(SIZE), ERR),
    "schunk_read_raw": (STATUS, P, U64, P, SIZE, c.POINTER(SIZE), ERR),
    "schunk_append": (STATUS, P, c.c_char_p, SIZE, ERR),
    "schunk_append_raw": (STATUS, P, c.c_char_p, SIZE, ERR),
    "schunk_write": (STATUS, P, U64, c.c_char_p, SIZE, ERR),
    "schunk_insert": (STATUS, P, U64, c.c_char_p, SIZE, ERR),
    "schunk_remove": (STATUS, P, U64, ERR),
    "schunk_truncate": (STATUS, P, U64, ERR),
    "schunk_meta_get": (STATUS, P, c.c_char_p, c.POINTER(P), c.POINTER(SIZE), ERR),
    "schunk_meta_set": (STATUS, P, c.c_char_p, c.c_char_p, SIZE, ERR),
    "schunk_commit": (STATUS, P, ERR),
    "schunk_copy": (STATUS, P, c.c_char_p, c.c_int32, c.c_int32, P, ERR),
    "array_open": (STATUS, c.c_char_p, c.c_int32, P, c.POINTER(P), ERR),
    "array_create": (STATUS, c.c_char_p, c.c_int32, c.c_int32, c.c_char_p, c.c_uint32, P, P, P, P, c.POINTER(P), ERR),
    "array_close": (None, P),
    "array_ndim": (c.c_uint32, P),
    "array_shape": (c.POINTER(U64), P),
    "array_chunkshape": (c.POINTER(U64), P),
    "array_blockshape": (c.POINTER(U64), P),
    "array_dtype": (c.c_char_p, P),
    "array_itemsize": (SIZE, P),
    "array_order": (c.c_int32, P),
    "array_nbytes": (U64, P),
    "array_read": (STATUS, P, P, P, P, P, P, SIZE, ERR),
    "array_write": (STATUS, P, P, P, P, P, P, SIZE, ERR),
    "array_read_orthogonal": (STATUS, P, P, P, P, SIZE, ERR),
    "array_read_points": (STATUS, P, P, SIZE, P, SIZE, ERR),
    "array_append": (STATUS, P, c.c_uint32, U64, c.c_char_p, SIZE, ERR),
    "array_insert": (STATUS, P, c.c_uint32, U64, U64, c.c_char_p, SIZE, ERR),
    "array_remove": (STATUS, P, c.c_uint32, U64, U64, ERR),
    "array_copy": (STATUS, P, c.c_char_p, c.c_int32, c.c_int32, P, P, P, ERR),
    "array_resize": (STATUS, P, P, ERR),
    "array_commit": (STATUS, P, ERR),
    "array_attr_get": (STATUS, P, c.c_char_p, c.POINTER(P), c.POINTER(SIZE), ERR),
    "array_attr_set": (STATUS, P, c.c_char_p, c.c_char_p, SIZE, ERR),
    "table_to_arrow": (STATUS, P, U64, U64, U64, P, ERR),
    "table_append_arrow": (STATUS, P, P, ERR),
    "bag_to_arrow": (STATUS, P, U64, U64, U64, P, ERR),
    "bag_open": (STATUS, c.c_char_p, P, c.POINTER(P), ERR),
    "bag_slice": (STATUS, P, U64, c.c_int64, U64, c.POINTER(P), ERR),
    "table_open": (STATUS, c.c_char_p, c.c_int32, P, c.POINTER(P), ERR),
    "table_create": (STATUS, c.c_char_p, c.c_int32, c.c_int32, c.c_uint32, P, P, P, c.POINTER(P), ERR),
    "table_close": (None, P),
    "table_rows": (U64, P),
    "table_columns": (c.c_uint32, P),
    "table_column_name": (c.c_char_p, P, c.c_uint32),
    "table_column": (P, P, c.c_uint32),
    "table_column_rows": (U64, P, c.c_uint32),
    "table_attr_get": (STATUS, P, c.c_char_p, c.POINTER(P), c.POINTER(SIZE), ERR),
    "table_attr_set": (STATUS, P, c.c_char_p, c.c_char_p, SIZE, ERR),
    "table_append": (STATUS, P, U64, P, P, ERR),
    "table_write": (STATUS, P, c.c_uint32, U64, U64, c.c_char_p, SIZE, ERR),
    "table_column_add": (STATUS, P, c.c_uint32, c.c_char_p, c.c_char_p, c.c_char_p, SIZE, ERR),
    "table_column_remove": (STATUS, P, c.c_char_p, ERR),
    "table_truncate": (STATUS, P, U64, ERR),
    "table_commit": (STATUS, P, ERR),
    "bag_close": (None, P),
    "bag_size": (U64, P),
    "bag_codec": (c.c_int32, P),
    "bag_sum": (c.c_int32, P),
    "bag_limits": (c.c_int32, P),
    "bag_read": (STATUS, P, U64, c.c_char_p, SIZE, c.POINTER(SIZE), ERR),
    "bag_read_range": (STATUS, P, U64, U64, c.POINTER(P), ERR),
    "bag_read_indices": (STATUS, P, c.POINTER(U64), SIZE, c.POINTER(P), ERR),
    "bag_checksum": (STATUS, P, c.c_int32, c.c_char_p, SIZE, c.POINTER(SIZE), ERR),
    "records_count": (SIZE, P),
    "records_data": (P, P),
    "records_offsets": (c.POINTER(U64), P),
    "records_damaged": (SIZE, P),
    "records_damaged_at": (c.POINTER(U64), P),
    "records_close": (None, P),
    "bag_writer_open": (STATUS, c.c_char_p, c.c_int32, P, c.POINTER(P), ERR),
    "bag_writer_append": (STATUS, P, c.c_char_p, SIZE, ERR),
    "bag_writer_append_many": (STATUS, P, c.c_char_p, c.POINTER(U64), SIZE, ERR),
    "bag_writer_size": (U64, P),
    "bag_writer_commit": (STATUS, P, ERR),
    "bag_writer_close": (None, P),
    "bag_index_build": (STATUS, P, P, c.POINTER(P), ERR),
    "bag_index_create": (STATUS, c.c_char_p, c.c_int32, P, P, c.POINTER(P), ERR),
    "bag_index_open": (STATUS, c.c_char_p, P, P, c.POINTER(P), ERR),
    "bag_index_close": (None, P),
    "bag_index_keys": (U64, P),
    "bag_index_damaged": (U64, P),
    "bag_index_find_first": (STATUS, P, c.c_char_p, SIZE, c.POINTER(U64), ERR),
    "bag_index_find": (STATUS, P, c.c_char_p, SIZE, c.POINTER(U64), SIZE, c.POINTER(SIZE), ERR),
    "bag_index_find_many": (STATUS, P, c.c_char_p, c.POINTER(U64), SIZE, c.POINTER(U64), ERR),
}


def library():
    """Path of the shared library."""
    path = os.environ.get("HOLDALL_LIB")
    if not path:
        sys.exit("HOLDALL_LIB must be the path of the shared library")
    return pathlib.Path(path).resolve()


_lib = c.CDLL(str(library()))
for _name, (_result, *_arguments) in CALLS.items():
    _function = getattr(_lib, "holdall_" + _name)
    _function.restype, _function.argtypes = _result, _arguments


def status_name(status):
    return _lib.holdall_status_name(status).decode()


def version():
    return _lib.holdall_version_text().decode()


def call(name, *arguments):
    """Calls a function that can fail; gives its status."""
    err = CError()
    status = getattr(_lib, "holdall_" + name)(*arguments, c.byref(err))
    if status < 0:
        if err.status != status or not err.message:
            raise AssertionError(f"{name} returned {status}, its error says {err.status}: {err.message!r}")
        raise Error(status, err)
    return status


class Options:
    """A set of options, for one call: `with Options(level=3) as o`."""

    def __init__(self, **values):
        self._values = values

    def __enter__(self):
        self._handle = _lib.holdall_options_new()
        for name, value in self._values.items():
            if isinstance(value, bytes):
                call("options_set_bytes", self._handle, OPTIONS[name], value, len(value))
            elif value is not None:
                call("options_set", self._handle, OPTIONS[name], value)
        return self._handle

    def __exit__(self, *_):
        _lib.holdall_options_free(self._handle)


class Handle:
    """What is closed at the end of a `with`."""

    close_name = ""

    def __init__(self, handle):
        self._handle = handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        getattr(_lib, self.close_name)(self._handle)
        self._handle = None


class _Room(threading.local):
    """Where functions write to, of each thread."""

    def __init__(self):
        self.bytes = c.create_string_buffer(1 << 16)
        self.rows = (U64 * 16)()


_room = _Room()


class Bag(Handle):
    close_name = "holdall_bag_close"

    def __init__(self, path, **options):
        out = P()
        with Options(**options) as o:
            call("bag_open", os.fsencode(path), o, c.byref(out))
        super().__init__(out)

    def __len__(self):
        return _lib.holdall_bag_size(self._handle)

    codec = property(lambda self: _lib.holdall_bag_codec(self._handle))
    sum = property(lambda self: _lib.holdall_bag_sum(self._handle))
    limits = property(lambda self: _lib.holdall_bag_limits(self._handle))

    def read(self, i):
        n = SIZE()
        try:
            call("bag_read", self._handle, i, _room.bytes, len(_room.bytes), c.byref(n))
        except Error as e:
            if e.status != E_BUFFER:
                raise
            _room.bytes = c.create_string_buffer(n.value)
            call("bag_read", self._handle, i, _room.bytes, len(_room.bytes), c.byref(n))
        return c.string_at(_room.bytes, n.value)

    def size_of(self, i):
        n = SIZE()
        call("bag_read", self._handle, i, None, 0, c.byref(n))
        return n.value

    def read_range(self, first=0, n=None):
        out = P()
        call("bag_read_range", self._handle, first, len(self) - first if n is None else n, c.byref(out))
        return _records(out)

    def read_indices(self, indices):
        out = P()
        array = (U64 * len(indices))(*indices)
        call("bag_read_indices", self._handle, array, len(indices), c.byref(out))
        return _records(out)

    def slice(self, start, step, n):
        out = P()
        call("bag_slice", self._handle, start, step, n, c.byref(out))
        slice = Bag.__new__(Bag)
        Handle.__init__(slice, out)
        return slice

    def checksum(self, sum):
        n = SIZE()
        call("bag_checksum", self._handle, sum, _room.bytes, len(_room.bytes), c.byref(n))
        return c.string_at(_room.bytes, n.value)

    def to_arrow(self, stream, first=0, n=None, batch=0):
        """stream: the address of a struct ArrowArrayStream."""
        call("bag_to_arrow", self._handle, first, len(self) - first if n is None else n, batch, stream)


class Records(list):
    """The records of a batch; `damaged` are the places of those that were skipped."""

    damaged = ()


def _records(handle):
    try:
        n = _lib.holdall_records_count(handle)
        offsets = _lib.holdall_records_offsets(handle)[: n + 1]
        data = c.string_at(_lib.holdall_records_data(handle), offsets[-1])
        records = Records(data[a:b] for a, b in zip(offsets, offsets[1:]))
        bad = _lib.holdall_records_damaged(handle)
        records.damaged = tuple(_lib.holdall_records_damaged_at(handle)[:bad]) if bad else ()
        return records
    finally:
        _lib.holdall_records_close(handle)


class Writer(Handle):
    close_name = "holdall_bag_writer_close"

    def __init__(self, path, mode, **options):
        out = P()
        with Options(**options) as o:
            call("bag_writer_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    def __len__(self):
        return _lib.holdall_bag_writer_size(self._handle)

    def append(self, record):
        call("bag_writer_append", self._handle, record, len(record))

    def append_many(self, records):
        offsets = (U64 * (len(records) + 1))()
        at = 0
        for i, r in enumerate(records, 1):
            at += len(r)
            offsets[i] = at
        call("bag_writer_append_many", self._handle, b"".join(records), offsets, len(records))

    def commit(self):
        call("bag_writer_commit", self._handle)


class Index(Handle):
    """An index of a bag: in memory, or with a path the one there, which a mode makes."""

    close_name = "holdall_bag_index_close"

    def __init__(self, bag, path=None, mode=None, **options):
        out = P()
        with Options(**options) as o:
            if path is None:
                call("bag_index_build", bag._handle, o, c.byref(out))
            elif mode is None:
                call("bag_index_open", os.fsencode(path), bag._handle, o, c.byref(out))
            else:
                call("bag_index_create", os.fsencode(path), mode, bag._handle, o, c.byref(out))
        super().__init__(out)

    def __len__(self):
        return _lib.holdall_bag_index_keys(self._handle)

    damaged = property(lambda self: _lib.holdall_bag_index_damaged(self._handle))

    def first(self, key):
        """The first record that is the key, or None."""
        record = U64()
        found = call("bag_index_find_first", self._handle, key, len(key), c.byref(record))
        return record.value if found == OK else None

    def find(self, key):
        """All of them."""
        n = SIZE()
        try:
            call("bag_index_find", self._handle, key, len(key), _room.rows, len(_room.rows), c.byref(n))
        except Error as e:
            if e.status != E_BUFFER:
                raise
            _room.rows = (U64 * n.value)()
            call("bag_index_find", self._handle, key, len(key), _room.rows, len(_room.rows), c.byref(n))
        return _room.rows[: n.value]

    def find_many(self, keys):
        """The first of each, or None."""
        offsets = _numbers(U64, [0, *itertools.accumulate(map(len, keys))])
        rows = (U64 * len(keys))()
        call("bag_index_find_many", self._handle, b"".join(keys), offsets, len(keys), rows)
        return [None if r == 2**64 - 1 else r for r in rows]


class Schunk(Handle):
    """An open superchunk; `Schunk.create` makes one. `damaged`: did the last read skip any?"""

    close_name = "holdall_schunk_close"
    damaged = False

    def __init__(self, path, mode=READ, **options):
        out = P()
        with Options(**options) as o:
            call("schunk_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    @classmethod
    def create(cls, path, typesize, mode=NEW, **options):
        out = P()
        with Options(**options) as o:
            call("schunk_create", os.fsencode(path), mode, FORMAT_BLOSCPACK, typesize, o, c.byref(out))
        schunk = cls.__new__(cls)
        Handle.__init__(schunk, out)
        return schunk

    chunks = property(lambda self: _lib.holdall_schunk_chunks(self._handle))
    nbytes = property(lambda self: _lib.holdall_schunk_nbytes(self._handle))
    cbytes = property(lambda self: _lib.holdall_schunk_cbytes(self._handle))
    typesize = property(lambda self: _lib.holdall_schunk_typesize(self._handle))
    chunk_size = property(lambda self: _lib.holdall_schunk_chunk_size(self._handle))
    sum = property(lambda self: _lib.holdall_schunk_sum(self._handle))
    version = property(lambda self: _lib.holdall_schunk_version(self._handle))

    def chunk_info(self, i):
        """Bytes of content, bytes as stored, codec."""
        nbytes, cbytes, codec = SIZE(), SIZE(), c.c_int32()
        call("schunk_chunk_info", self._handle, i, c.byref(nbytes), c.byref(cbytes), c.byref(codec))
        return nbytes.value, cbytes.value, codec.value

    def read(self, at=0, n=None):
        n = self.nbytes - at if n is None else n
        dst = c.create_string_buffer(max(n, 1))
        self.damaged = call("schunk_read", self._handle, at, dst, n) == NOT_FOUND
        return c.string_at(dst, n)

    def read_chunk(self, i):
        return self._sized("schunk_read_chunk", i)

    def read_raw(self, i):
        return self._sized("schunk_read_raw", i)

    def _sized(self, name, i):
        n = SIZE()
        call(name, self._handle, i, None, 0, c.byref(n))
        dst = c.create_string_buffer(max(n.value, 1))
        self.damaged = call(name, self._handle, i, dst, n.value, c.byref(n)) == NOT_FOUND
        return c.string_at(dst, n.value)

    def append(self, data):
        call("schunk_append", self._handle, data, len(data))

    def append_raw(self, chunk):
        call("schunk_append_raw", self._handle, chunk, len(chunk))

    def write(self, at, data):
        call("schunk_write", self._handle, at, data, len(data))

    def insert(self, chunk, data):
        call("schunk_insert", self._handle, chunk, data, len(data))

    def remove(self, chunk):
        call("schunk_remove", self._handle, chunk)

    def truncate(self, nbytes):
        call("schunk_truncate", self._handle, nbytes)

    def meta(self):
        """The metadata as they are stored, or None."""
        value, n = P(), SIZE()
        if call("schunk_meta_get", self._handle, b"", c.byref(value), c.byref(n)) == NOT_FOUND:
            return None
        return c.string_at(value, n.value)

    def set_meta(self, value):
        call("schunk_meta_set", self._handle, b"", value, len(value or b""))

    def commit(self):
        call("schunk_commit", self._handle)


def _numbers(kind, values):
    return (kind * max(len(values), 1))(*values)


class Array(Handle):
    """An open array of bytes: what is read and written are the items, packed, in C order. `damaged`: did the last read
    skip any?"""

    damaged = False
    close_name = "holdall_array_close"

    def __init__(self, path, mode=READ, **options):
        out = P()
        with Options(**options) as o:
            call("array_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    @classmethod
    def create(cls, path, dtype, shape, mode=NEW, format=FORMAT_BLOSCPACK, chunks=None, blocks=None, **options):
        out = P()
        grid = [n if n is None else _numbers(U64, n) for n in (shape, chunks, blocks)]
        with Options(**options) as o:
            call("array_create", os.fsencode(path), mode, format, dtype.encode(), len(shape), *grid, o, c.byref(out))
        array = cls.__new__(cls)
        Handle.__init__(array, out)
        return array

    ndim = property(lambda self: _lib.holdall_array_ndim(self._handle))
    shape = property(lambda self: tuple(_lib.holdall_array_shape(self._handle)[: self.ndim]))
    chunkshape = property(lambda self: tuple(_lib.holdall_array_chunkshape(self._handle)[: self.ndim]))
    blockshape = property(lambda self: tuple(_lib.holdall_array_blockshape(self._handle)[: self.ndim]))
    dtype = property(lambda self: _lib.holdall_array_dtype(self._handle).decode())
    itemsize = property(lambda self: _lib.holdall_array_itemsize(self._handle))
    order = property(lambda self: "CF"[_lib.holdall_array_order(self._handle)])

    def _read(self, count, name, *arguments):
        n = self.itemsize
        for k in count:
            n *= k
        dst = c.create_string_buffer(max(n, 1))
        status = call(name, self._handle, *arguments, dst, *([None] if name == "array_read" else []), n)
        self.damaged = status == NOT_FOUND
        return c.string_at(dst, n)

    def read(self, start, count, step):
        return self._read(count, "array_read", _numbers(U64, start), _numbers(U64, count), _numbers(U64, step))

    def read_orthogonal(self, lists):
        lists = [_numbers(U64, list) for list in lists]
        counts = [len(list) for list in lists]
        return self._read(counts, "array_read_orthogonal", _numbers(P, [c.addressof(list) for list in lists]), _numbers(U64, counts))

    def read_points(self, points):
        return self._read([len(points)], "array_read_points", _numbers(U64, [i for point in points for i in point]), len(points))

    def write(self, start, count, step, data):
        call("array_write", self._handle, _numbers(U64, start), _numbers(U64, count), _numbers(U64, step), data, None, len(data))

    def append(self, axis, count, data):
        call("array_append", self._handle, axis, count, data, len(data))

    def insert(self, axis, at, count, data):
        call("array_insert", self._handle, axis, at, count, data, len(data))

    def remove(self, axis, at, count):
        call("array_remove", self._handle, axis, at, count)

    def attr_get(self, name):
        """The value as it is stored, or None."""
        value, n = P(), SIZE()
        if call("array_attr_get", self._handle, name.encode(), c.byref(value), c.byref(n)) == NOT_FOUND:
            return None
        return c.string_at(value, n.value)

    def attr_set(self, name, value):
        call("array_attr_set", self._handle, name.encode(), value, len(value or b""))

    def resize(self, shape):
        call("array_resize", self._handle, _numbers(U64, shape))

    def copy(self, path, mode=NEW, format=FORMAT_BLOSCPACK, chunks=None, blocks=None, **options):
        grid = [n if n is None else _numbers(U64, n) for n in (chunks, blocks)]
        with Options(**options) as o:
            call("array_copy", self._handle, os.fsencode(path), mode, format, *grid, o)

    def commit(self):
        call("array_commit", self._handle)


class Column(Array):
    """A column of an open table, which closes it."""

    def close(self):
        self._handle = None


class Table(Handle):
    """An open table; `Table.create` makes one, of columns and their dtypes by name."""

    close_name = "holdall_table_close"

    def __init__(self, path, mode=READ, **options):
        out = P()
        with Options(**options) as o:
            call("table_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    @classmethod
    def create(cls, path, columns, mode=NEW, format=FORMAT_BCOLZ, **options):
        """columns: names and dtypes."""
        out, columns = P(), dict(columns)
        names, dtypes = (_numbers(c.c_char_p, [text.encode() for text in texts]) for texts in (columns, columns.values()))
        with Options(**options) as o:
            call("table_create", os.fsencode(path), mode, format, len(columns), names, dtypes, o, c.byref(out))
        table = cls.__new__(cls)
        Handle.__init__(table, out)
        return table

    def __len__(self):
        return _lib.holdall_table_rows(self._handle)

    @property
    def names(self):
        return [_lib.holdall_table_column_name(self._handle, i).decode() for i in range(_lib.holdall_table_columns(self._handle))]

    def __getitem__(self, name):
        column = Column.__new__(Column)
        Handle.__init__(column, _lib.holdall_table_column(self._handle, self.names.index(name)))
        return column

    def stored_rows(self):
        """Of each column."""
        return [_lib.holdall_table_column_rows(self._handle, i) for i in range(len(self.names))]

    def append(self, rows, columns):
        """The bytes of each column."""
        data = _numbers(c.c_char_p, columns)
        call("table_append", self._handle, rows, data, _numbers(SIZE, [len(bytes) for bytes in columns]))

    def attr_get(self, name):
        """The value as it is stored, or None."""
        value, n = P(), SIZE()
        if call("table_attr_get", self._handle, name.encode(), c.byref(value), c.byref(n)) == NOT_FOUND:
            return None
        return c.string_at(value, n.value)

    def attr_set(self, name, value):
        call("table_attr_set", self._handle, name.encode(), value, len(value))

    def to_arrow(self, stream, first=0, rows=None, batch=0):
        """stream: the address of a struct ArrowArrayStream."""
        call("table_to_arrow", self._handle, first, len(self) - first if rows is None else rows, batch, stream)

    def append_arrow(self, stream):
        call("table_append_arrow", self._handle, stream)

    def commit(self):
        call("table_commit", self._handle)


class Verified:
    """What verifying found; `error` is None for what is sound."""

    def __init__(self, path, **options):
        self.faults = []
        self.error = None
        counts = [U64() for _ in range(3)]

        def fault(_ctx, part, err):
            self.faults.append((part.decode(), err.contents.status, err.contents.message.decode()))
            return 0

        with Options(**options) as o:
            try:
                call("verify", os.fsencode(path), o, FAULT(fault), None, *map(c.byref, counts))
            except Error as e:
                self.error = e
        self.sound, self.bad, self.unchecked = (n.value for n in counts)


def repair(path, **options):
    """Gives how many records or chunks were kept, and dropped."""
    kept, dropped = U64(), U64()
    with Options(**options) as o:
        call("repair", os.fsencode(path), o, c.byref(kept), c.byref(dropped))
    return kept.value, dropped.value


def compile_c(source, folder, *flags):
    """Compiles a C program against the library; gives its path, in `folder`."""
    lib = library()
    named = subprocess.run(["readelf", "-d", lib], capture_output=True, text=True, check=True).stdout
    soname = re.search(r"SONAME.*\[(.+)\]", named)
    at = pathlib.Path(folder) / (soname[1] if soname else lib.name)
    shutil.copyfile(lib, at)  # a build meanwhile changes nothing
    out = pathlib.Path(folder) / pathlib.Path(source).stem
    cc = os.environ.get("CC", "gcc").split()
    warnings = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    command = [*cc, *warnings, "-O2", "-pthread", *flags, f"-I{ROOT / 'include'}", source, "-o", out, at, f"-Wl,-rpath,{at.parent}"]
    subprocess.run(list(map(str, command)), check=True)
    return out


if __name__ == "__main__":
    print(version())
