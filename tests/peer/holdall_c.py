"""The C library through ctypes, as far as the tests here need it.

HOLDALL_LIB is the path of the shared library. Every failed call raises `Error`.
"""

import ctypes as c
import itertools
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The constants, structures and functions of the header.
TABLE = runpy.run_path(ROOT / "tests/peer/holdall_table.py")
globals().update((name, value) for name, value in TABLE.items() if isinstance(value, int))
CHECKSUMS = tuple(range(CHECKSUM_NONE, CHECKSUM_SHA512 + 1))
FILTERS = bytes((FILTER_NONE, FILTER_SHUFFLE, FILTER_BITSHUFFLE))


class Error(Exception):
    """The error of a failed call."""

    def __init__(self, status, err):
        self.status, self.os_code, self.position = status, err.os_code, err.position
        self.message = err.message.decode(errors="replace")
        super().__init__(f"{status_name(status)}: {self.message} (position {self.position})")


P, U64, SIZE = c.c_void_p, c.c_uint64, c.c_size_t
NUMBERS = {
    "int": c.c_int, "i32": c.c_int32, "i64": c.c_int64, "u8": c.c_uint8, "u32": c.c_uint32,
    "u64": U64, "size": SIZE, "char": c.c_char,
    "str": c.c_char_p, "void": None,
}  # fmt: skip


def _field(kind):
    kind, _, of = kind.partition(" ")
    if kind == "ptr":
        return P if of == "void" else c.POINTER(NUMBERS.get(of) or c.c_char_p)
    return NUMBERS[kind] * int(of) if of else NUMBERS[kind]


STRUCTS = {
    name: type(name, (c.Structure,), {"_fields_": [(f, _field(k)) for f, k in fields]})
    for name, fields in TABLE["STRUCTS"].items()
}
CError = STRUCTS["holdall_error"]
FAULT = c.CFUNCTYPE(c.c_int, P, c.c_char_p, c.POINTER(CError))


def _type(kind, result=False):
    """The type of an argument or a result; pointers to numbers are typed only in results."""
    if kind.startswith("ptr "):
        return c.POINTER(U64) if result and kind == "ptr u64" else P
    return P if kind.startswith("fn ") else NUMBERS[kind]


def struct(name, **fields):
    kind = STRUCTS["holdall_" + name]
    return kind(struct_size=c.sizeof(kind), **fields)


def library():
    """Path of the shared library."""
    path = os.environ.get("HOLDALL_LIB")
    if not path:
        sys.exit("HOLDALL_LIB must be the path of the shared library")
    return pathlib.Path(path).resolve()


_lib = c.CDLL(str(library()))
for _name, (_result, *_arguments) in TABLE["FUNCTIONS"].items():
    _function = getattr(_lib, _name)
    _function.restype, _function.argtypes = _type(_result, True), list(map(_type, _arguments))


def name_of(constant):
    """ "zstd", "b2nd" and the like."""
    return _lib.holdall_constant_name(constant).decode()


def status_name(status):
    return _lib.holdall_status_name(status).decode()


def version():
    return _lib.holdall_version_text().decode()


def call(name, *arguments):
    """Calls a function that can fail; returns its status."""
    err = CError()
    status = getattr(_lib, "holdall_" + name)(*arguments, c.byref(err))
    if status < 0:
        if err.status != status or not err.message:
            raise AssertionError(
                f"{name} returned {status}, its error says {err.status}: {err.message!r}"
            )
        raise Error(status, err)
    return status


class Options:
    """A set of options, for one call: `with Options(level=3) as o`."""

    def __init__(self, **values):
        self._values = values

    def __enter__(self):
        self._handle = _lib.holdall_options_new()
        for name, value in self._values.items():
            if name == "storage":
                call("options_set_storage", self._handle, c.byref(value), 1)
                continue
            option = TABLE["OPT_" + name.upper()]
            if isinstance(value, bytes):
                call("options_set_bytes", self._handle, option, value, len(value))
            elif value is not None:
                call("options_set", self._handle, option, value)
        return self._handle

    def __exit__(self, *_):
        _lib.holdall_options_free(self._handle)


class Handle:
    """Closed at the end of a `with`."""

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

    def _info(self, kind, name, *arguments):
        info = struct(kind)
        call(name, self._handle, *arguments, c.byref(info))
        return info


class _Room(threading.local):
    """Output buffers of each thread."""

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
        return _lib.holdall_bag_record_count(self._handle)

    info = property(lambda self: self._info("bag_info", "bag_get_info"))

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

    def dictionary(self):
        n = SIZE()
        call("bag_read_dictionary", self._handle, None, 0, c.byref(n))
        dictionary = c.create_string_buffer(n.value)
        call("bag_read_dictionary", self._handle, dictionary, n.value, c.byref(n))
        return dictionary.raw

    def size_of(self, i):
        n = SIZE()
        call("bag_read", self._handle, i, None, 0, c.byref(n))
        return n.value

    def read_range(self, start=0, count=None):
        out = P()
        call(
            "bag_read_range",
            self._handle,
            start,
            len(self) - start if count is None else count,
            c.byref(out),
        )
        return _records(out)

    def read_indices(self, indices):
        out = P()
        array = (U64 * len(indices))(*indices)
        call("bag_read_indices", self._handle, array, len(indices), c.byref(out))
        return _records(out)

    def slice(self, start, count, step):
        out = P()
        call("bag_slice", self._handle, start, count, step, c.byref(out))
        slice = Bag.__new__(Bag)
        Handle.__init__(slice, out)
        return slice

    def checksum(self, kind):
        n = SIZE()
        call("bag_checksum", self._handle, kind, _room.bytes, len(_room.bytes), c.byref(n))
        return c.string_at(_room.bytes, n.value)

    def to_arrow(self, stream, start=0, count=None, batch=0):
        """stream: the address of a struct ArrowArrayStream."""
        call(
            "bag_to_arrow",
            self._handle,
            start,
            len(self) - start if count is None else count,
            batch,
            stream,
        )


class Records(list):
    """The records of a batch; `damaged` are the positions of the skipped ones."""

    damaged = ()


def _records(handle):
    try:
        n = _lib.holdall_records_count(handle)
        offsets = _lib.holdall_records_offsets(handle)[: n + 1]
        data = c.string_at(_lib.holdall_records_data(handle), offsets[-1])
        records = Records(data[a:b] for a, b in zip(offsets, offsets[1:]))
        count = _lib.holdall_records_damaged_count(handle)
        records.damaged = (
            tuple(_lib.holdall_records_damaged_positions(handle)[:count]) if count else ()
        )
        return records
    finally:
        _lib.holdall_records_free(handle)


def _concatenated(records):
    offsets = (U64 * (len(records) + 1))(0, *itertools.accumulate(map(len, records)))
    return b"".join(records), offsets, len(records)


def train_dictionary(records, size):
    dictionary, n = c.create_string_buffer(size), SIZE()
    call("dictionary_train", *_concatenated(records), dictionary, size, c.byref(n))
    return dictionary.raw[: n.value]


class Writer(Handle):
    close_name = "holdall_bag_writer_close"

    def __init__(self, path, mode, **options):
        out = P()
        with Options(**options) as o:
            call("bag_writer_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    def __len__(self):
        return _lib.holdall_bag_writer_record_count(self._handle)

    def append(self, record):
        call("bag_writer_append", self._handle, record, len(record))

    def append_many(self, records):
        call("bag_writer_append_many", self._handle, *_concatenated(records))

    def commit(self):
        call("bag_writer_commit", self._handle)


class Index(Handle):
    """An index of a bag: in memory, or in a file at a path, which a mode creates."""

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
        return _lib.holdall_bag_index_key_count(self._handle)

    damaged = property(lambda self: _lib.holdall_bag_index_damaged_count(self._handle))

    def first(self, key):
        """Returns the first record that equals the key, or None."""
        record = U64()
        found = call("bag_index_find_first", self._handle, key, len(key), c.byref(record))
        return record.value if found == OK else None

    def find(self, key):
        """Returns all of them."""
        n = SIZE()
        try:
            call(
                "bag_index_find",
                self._handle,
                key,
                len(key),
                _room.rows,
                len(_room.rows),
                c.byref(n),
            )
        except Error as e:
            if e.status != E_BUFFER:
                raise
            _room.rows = (U64 * n.value)()
            call(
                "bag_index_find",
                self._handle,
                key,
                len(key),
                _room.rows,
                len(_room.rows),
                c.byref(n),
            )
        return _room.rows[: n.value]

    def find_many(self, keys):
        """Returns the first of each, or None."""
        offsets = _numbers(U64, [0, *itertools.accumulate(map(len, keys))])
        rows = (U64 * len(keys))()
        call("bag_index_find_many", self._handle, b"".join(keys), offsets, len(keys), rows)
        return [None if r == 2**64 - 1 else r for r in rows]


class Schunk(Handle):
    """An open superchunk; `Schunk.create` makes one. `damaged`: did the last read skip corrupt
    chunks?"""

    close_name = "holdall_schunk_close"
    damaged = False

    def __init__(self, path, mode=READ, **options):
        out = P()
        with Options(**options) as o:
            call("schunk_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    @classmethod
    def create(cls, path, typesize, mode=CREATE, format=FORMAT_BLOSCPACK, **options):
        out = P()
        with Options(**options) as o:
            call(
                "schunk_create",
                os.fsencode(path),
                mode,
                format,
                typesize,
                o,
                c.byref(out),
            )
        schunk = cls.__new__(cls)
        Handle.__init__(schunk, out)
        return schunk

    chunk_count = property(lambda self: _lib.holdall_schunk_chunk_count(self._handle))
    nbytes = property(lambda self: _lib.holdall_schunk_nbytes(self._handle))
    info = property(lambda self: self._info("schunk_info", "schunk_get_info"))

    def chunk_info(self, i):
        return self._info("chunk_info", "schunk_get_chunk_info", i)

    def read(self, start=0, size=None):
        size = self.nbytes - start if size is None else size
        dst = c.create_string_buffer(max(size, 1))
        self.damaged = call("schunk_read", self._handle, start, dst, size) == DAMAGED
        return c.string_at(dst, size)

    def read_chunk(self, i):
        return self._sized("schunk_read_chunk", i)

    def read_raw(self, i):
        return self._sized("schunk_read_raw", i)

    def _sized(self, name, *which):
        n = SIZE()
        call(name, self._handle, *which, None, 0, c.byref(n))
        dst = c.create_string_buffer(max(n.value, 1))
        self.damaged = call(name, self._handle, *which, dst, n.value, c.byref(n)) == DAMAGED
        return c.string_at(dst, n.value)

    def append(self, data):
        call("schunk_append", self._handle, data, len(data))

    def append_raw(self, chunk):
        call("schunk_append_raw", self._handle, chunk, len(chunk))

    def write(self, start, data):
        call("schunk_write", self._handle, start, data, len(data))

    def insert(self, chunk, data):
        call("schunk_insert", self._handle, chunk, data, len(data))

    def insert_blocks(self, chunk, blocks):
        offsets = [0, *itertools.accumulate(map(len, blocks))]
        call(
            "schunk_insert_blocks", self._handle, chunk, b"".join(blocks),
            (c.c_uint64 * len(offsets))(*offsets), len(blocks),
        )

    def blocks(self, chunk):
        """Returns the content of each block of a chunk, read one by one."""
        n = SIZE()
        call("schunk_block_offsets", self._handle, chunk, None, 0, c.byref(n))
        return [self._sized("schunk_read_block", chunk, i) for i in range(n.value)]

    def remove(self, chunk):
        call("schunk_remove", self._handle, chunk)

    def copy(self, path, mode=CREATE, format=FORMAT_BLOSCPACK):
        call("schunk_copy", self._handle, os.fsencode(path), mode, format, None)

    def truncate(self, nbytes):
        call("schunk_truncate", self._handle, nbytes)

    def meta(self):
        """Returns the stored metadata, or None."""
        value, n = P(), SIZE()
        if call("schunk_attr_get", self._handle, b"", c.byref(value), c.byref(n)) == NOT_FOUND:
            return None
        return c.string_at(value, n.value)

    def set_meta(self, value):
        call("schunk_attr_set", self._handle, b"", value, len(value or b""))

    def attrs(self):
        """Returns pairs of names and values."""
        value, n, pairs = P(), SIZE(), []
        for i in range(_lib.holdall_schunk_attr_count(self._handle)):
            name = _lib.holdall_schunk_attr_name(self._handle, i)
            call("schunk_attr_get", self._handle, name, c.byref(value), c.byref(n))
            pairs.append((name.decode(), c.string_at(value, n.value)))
        return pairs

    def commit(self):
        call("schunk_commit", self._handle)


def _numbers(kind, values):
    return (kind * max(len(values), 1))(*values)


def _array_spec(format, chunk_shape, block_shape, **fields):
    lengths = {
        name: n if n is None else _numbers(U64, n)
        for name, n in (("chunk_shape", chunk_shape), ("block_shape", block_shape))
    }
    return struct("array_spec", format=format, **lengths, **fields)


class Array(Handle):
    """An open array of bytes: the packed items in C order are read and written. `damaged`: did the
    last read skip corrupt chunks?"""

    damaged = False
    close_name = "holdall_array_close"

    def __init__(self, path, mode=READ, **options):
        out = P()
        with Options(**options) as o:
            call("array_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    @classmethod
    def create(
        cls,
        path,
        dtype,
        shape,
        mode=CREATE,
        format=FORMAT_BLOSCPACK,
        chunk_shape=None,
        block_shape=None,
        **options,
    ):
        out = P()
        spec = _array_spec(
            format,
            chunk_shape,
            block_shape,
            dtype=dtype.encode(),
            ndim=len(shape),
            shape=_numbers(U64, shape),
        )
        with Options(**options) as o:
            call("array_create", os.fsencode(path), mode, c.byref(spec), o, c.byref(out))
        array = cls.__new__(cls)
        Handle.__init__(array, out)
        return array

    ndim = property(lambda self: _lib.holdall_array_ndim(self._handle))
    shape = property(lambda self: tuple(_lib.holdall_array_shape(self._handle)[: self.ndim]))
    info = property(lambda self: self._info("array_info", "array_get_info"))
    chunk_shape = property(lambda self: tuple(self.info.chunk_shape[: self.ndim]))
    block_shape = property(lambda self: tuple(self.info.block_shape[: self.ndim]))
    dtype = property(lambda self: _lib.holdall_array_dtype(self._handle).decode())
    itemsize = property(lambda self: _lib.holdall_array_itemsize(self._handle))
    order = property(lambda self: name_of(self.info.order).upper())

    def _read(self, count, name, *arguments):
        n = self.itemsize
        for k in count:
            n *= k
        dst = c.create_string_buffer(max(n, 1))
        status = call(
            name, self._handle, *arguments, dst, n, *([None] if name == "array_read" else [])
        )
        self.damaged = status == DAMAGED
        return c.string_at(dst, n)

    def read(self, start, count, step):
        return self._read(
            count, "array_read", _numbers(U64, start), _numbers(U64, count), _numbers(U64, step)
        )

    def read_orthogonal(self, lists):
        lists = [_numbers(U64, list) for list in lists]
        counts = [len(list) for list in lists]
        return self._read(
            counts,
            "array_read_orthogonal",
            _numbers(P, [c.addressof(list) for list in lists]),
            _numbers(U64, counts),
        )

    def read_points(self, points):
        return self._read(
            [len(points)],
            "array_read_points",
            _numbers(U64, [i for point in points for i in point]),
            len(points),
        )

    def write(self, start, count, step, data):
        call(
            "array_write",
            self._handle,
            _numbers(U64, start),
            _numbers(U64, count),
            _numbers(U64, step),
            data,
            len(data),
            None,
        )

    def refresh(self):
        """Moves to the newest commit. Is there one?"""
        return call("array_refresh", self._handle) != NOT_FOUND

    def append(self, axis, count, data):
        call("array_append", self._handle, axis, count, data, len(data))

    def insert(self, axis, start, count, data):
        call("array_insert", self._handle, axis, start, count, data, len(data))

    def remove(self, axis, start, count):
        call("array_remove", self._handle, axis, start, count)

    def attr_get(self, name):
        """Returns the stored value, or None."""
        value, n = P(), SIZE()
        if (
            call("array_attr_get", self._handle, name.encode(), c.byref(value), c.byref(n))
            == NOT_FOUND
        ):
            return None
        return c.string_at(value, n.value)

    def attr_set(self, name, value):
        call("array_attr_set", self._handle, name.encode(), value, len(value or b""))

    def attr_set_fixed(self, name, value):
        call("array_attr_set_fixed", self._handle, name.encode(), value, len(value))

    def resize(self, shape):
        call("array_resize", self._handle, _numbers(U64, shape))

    def copy(
        self,
        path,
        mode=CREATE,
        format=FORMAT_BLOSCPACK,
        chunk_shape=None,
        block_shape=None,
        **options,
    ):
        spec = _array_spec(format, chunk_shape, block_shape)
        with Options(**options) as o:
            call("array_copy", self._handle, os.fsencode(path), mode, c.byref(spec), o)

    def commit(self):
        call("array_commit", self._handle)


class Column(Array):
    """A column of an open table, which closes it."""

    def read_object(self, i):
        value, n = c.create_string_buffer(1 << 16), SIZE()
        call("array_read_object", self._handle, i, value, len(value), c.byref(n))
        return value.raw[: n.value]

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
    def create(cls, path, columns, mode=CREATE, format=FORMAT_BCOLZ, **options):
        """columns: names and dtypes."""
        out, columns = P(), dict(columns)
        names, dtypes = (
            _numbers(c.c_char_p, [text.encode() for text in texts])
            for texts in (columns, columns.values())
        )
        with Options(**options) as o:
            spec = struct(
                "table_spec", format=format, column_count=len(columns), names=names, dtypes=dtypes
            )
            call("table_create", os.fsencode(path), mode, c.byref(spec), o, c.byref(out))
        table = cls.__new__(cls)
        Handle.__init__(table, out)
        return table

    def __len__(self):
        return _lib.holdall_table_row_count(self._handle)

    @property
    def names(self):
        return [
            _lib.holdall_table_column_name(self._handle, i).decode()
            for i in range(_lib.holdall_table_column_count(self._handle))
        ]

    def __getitem__(self, name):
        column = Column.__new__(Column)
        Handle.__init__(column, _lib.holdall_table_find_column(self._handle, name.encode()))
        assert column._handle, name
        return column

    def stored_rows(self):
        """of each column"""
        return [
            _lib.holdall_table_column_row_count(self._handle, i) for i in range(len(self.names))
        ]

    def where(self, predicate):
        """The numbers of the rows for which a predicate is true."""
        start, count, part, found = c.c_uint64(), SIZE(), (c.c_uint64 * 4096)(), []
        while start.value < len(self):
            call(
                "table_where", self._handle, predicate.encode(), c.byref(start), len(self), part,
                len(part), c.byref(count),
            )  # fmt: skip
            found += part[: count.value]
        return found

    def append(self, rows, columns):
        """The bytes of each column."""
        data = _numbers(c.c_char_p, columns)
        call(
            "table_append",
            self._handle,
            rows,
            data,
            _numbers(SIZE, [len(bytes) for bytes in columns]),
        )

    def attr_get(self, name):
        """Returns the stored value, or None."""
        value, n = P(), SIZE()
        if (
            call("table_attr_get", self._handle, name.encode(), c.byref(value), c.byref(n))
            == NOT_FOUND
        ):
            return None
        return c.string_at(value, n.value)

    def attr_set(self, name, value):
        call("table_attr_set", self._handle, name.encode(), value, len(value))

    def to_arrow(self, stream, start=0, count=None, batch=0):
        """stream: the address of a struct ArrowArrayStream."""
        call(
            "table_to_arrow",
            self._handle,
            start,
            len(self) - start if count is None else count,
            batch,
            stream,
        )

    def append_arrow(self, stream):
        call("table_append_arrow", self._handle, stream)

    def insert(self, start, rows, columns):
        """The bytes of each column."""
        sizes = _numbers(SIZE, [len(bytes) for bytes in columns])
        call("table_insert", self._handle, start, rows, _numbers(c.c_char_p, columns), sizes)

    def remove(self, start, rows):
        call("table_remove", self._handle, start, rows)

    def write(self, column, start, rows, src):
        call("table_write", self._handle, column.encode(), start, rows, src, len(src))

    def copy(self, path, mode=CREATE, format=FORMAT_BCOLZ, **options):
        with Options(**options) as o:
            call("table_copy", self._handle, os.fsencode(path), mode, format, o)

    def column_add(self, at, name, dtype, src):
        call("table_column_add", self._handle, at, name.encode(), dtype.encode(), src, len(src))

    def nulls(self, column, start, rows):
        nulls = (c.c_uint8 * rows)()
        call("table_read_nulls", self._handle, column.encode(), start, rows, nulls)
        return [bool(null) for null in nulls]

    def values(self, column):
        """The values of a column of values of any length; None is a null."""
        array, nulls = self[column], self.nulls(column, 0, len(self))
        return [None if null else array.read_object(i) for i, null in enumerate(nulls)]

    def commit(self):
        call("table_commit", self._handle)


class Store(Handle):
    """An open store."""

    close_name = "holdall_store_close"

    def __init__(self, path, mode=READ, **options):
        out = P()
        with Options(**options) as o:
            call("store_open", os.fsencode(path), mode, o, c.byref(out))
        super().__init__(out)

    @classmethod
    def create(cls, path, mode=CREATE, format=0, **options):
        out = P()
        with Options(**options) as o:
            call("store_create", os.fsencode(path), mode, format, o, c.byref(out))
        store = cls.__new__(cls)
        Handle.__init__(store, out)
        return store

    def nodes(self):
        count = _lib.holdall_store_node_count(self._handle)
        return [_lib.holdall_store_node_path(self._handle, i).decode() for i in range(count)]

    def _open(self, cls, node, mode, options):
        out = P()
        name = f"store_open_{cls.__name__.lower()}"
        with Options(**options) as o:
            call(name, self._handle, node.encode(), mode, o, c.byref(out))
        made = cls.__new__(cls)
        Handle.__init__(made, out)
        return made

    def open_array(self, node, mode=READ, **options):
        return self._open(Array, node, mode, options)

    def open_schunk(self, node, mode=READ, **options):
        return self._open(Schunk, node, mode, options)

    def open_table(self, node, mode=READ, **options):
        return self._open(Table, node, mode, options)

    def _new(self, node, kind, create):
        """Calls `create` with the storage of a new node."""
        storage = P()
        call("store_node_storage", self._handle, node.encode(), kind, c.byref(storage))
        try:
            return create(storage)
        finally:
            _lib.holdall_storage_free(storage)

    def create_array(self, node, dtype, shape, mode=CREATE, **options):
        create = lambda storage: Array.create(
            "", dtype, shape, mode, FORMAT_B2ND, storage=storage, **options
        )
        return self._new(node, KIND_ARRAY, create)

    def create_schunk(self, node, mode=CREATE, **options):
        create = lambda storage: Schunk.create(
            "", 1, mode, format=FORMAT_B2FRAME, storage=storage, **options
        )
        return self._new(node, KIND_SCHUNK, create)

    def create_table(self, node, columns, mode=CREATE, **options):
        create = lambda storage: Table.create(
            "", columns, mode, FORMAT_CTABLE, storage=storage, **options
        )
        return self._new(node, KIND_TABLE, create)

    def remove(self, node):
        call("store_remove", self._handle, node.encode())

    def commit(self):
        call("store_commit", self._handle)


def nodes(path, **options):
    """The paths of the nodes of a store."""
    with Store(path, **options) as store:
        return store.nodes()


class Values(bytes):
    """Values of any length for append, insert and write: an array of holdall_value. None is a null."""

    def __new__(cls, values):
        made = (STRUCTS["holdall_value"] * len(values))()
        held = [None if value is None else c.create_string_buffer(value) for value in values]
        for one, value, buffer in zip(made, values, held):
            if buffer is not None:
                one.data, one.size = c.addressof(buffer), len(value)
        self = super().__new__(cls, made)
        self.held = held
        return self


class Verified:
    """The results of verify; `error` is None for an intact container."""

    def __init__(self, path, **options):
        self.faults = []
        self.error = None
        result = struct("verify_result")

        def fault(_ctx, part, err):
            self.faults.append((part.decode(), err.contents.status, err.contents.message.decode()))
            return 0

        with Options(**options) as o:
            try:
                call("verify", os.fsencode(path), o, FAULT(fault), None, c.byref(result))
            except Error as e:
                self.error = e
        self.intact, self.corrupt, self.unchecked = result.intact, result.corrupt, result.unchecked


def repair(path, **options):
    """Returns how many records or chunks were retained, and lost."""
    result = struct("repair_result")
    with Options(**options) as o:
        call("repair", os.fsencode(path), o, c.byref(result))
    return result.retained, result.lost


def compile_c(source, folder, *flags):
    """Compiles a C program against the library in `folder`; returns its path."""
    lib = library()
    named = subprocess.run(
        ["readelf", "-d", lib], capture_output=True, text=True, check=True
    ).stdout
    soname = re.search(r"SONAME.*\[(.+)\]", named)
    at = pathlib.Path(folder) / (soname[1] if soname else lib.name)
    if not at.exists():  # a program may run with it; a concurrent build changes nothing
        shutil.copyfile(lib, at)
    out = pathlib.Path(folder) / pathlib.Path(source).stem
    cc = os.environ.get("CC", "gcc").split()
    warnings = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    command = [
        *cc,
        *warnings,
        "-O2",
        "-pthread",
        f"-I{ROOT / 'include'}",
        source,
        *flags,
        "-o",
        out,
        at,
        f"-Wl,-rpath,{at.parent}",
    ]
    subprocess.run(list(map(str, command)), check=True)
    return out


if __name__ == "__main__":
    print(version())
