"""Arrays: items of one type in a grid, indexed as in NumPy."""

import ast
import ctypes as c

import numpy as np

from . import _errors, _selection, _table
from ._call import (
    Container,
    lib,
    mode_of,
    number,
    numbers,
    octets,
    run,
    sized,
    struct,
    warn_damaged,
)
from ._casts import exact, natural
from ._storage import target_of

I64 = c.c_int64


def dtype_of(spelling):
    """Returns the NumPy dtype for a spelling of the library; None for Python objects."""
    if spelling in ("object", "O", "|O"):
        return None
    return np.dtype(ast.literal_eval(spelling) if spelling[0] in "[({" else spelling)


def spelled(dtype):
    """Returns the spelling of a dtype that the library reads."""
    dtype = np.dtype(dtype)
    if dtype.names:
        dtype = np.dtype((np.void, dtype))  # otherwise a recarray has another spelling
    return str(dtype) if dtype.names or dtype.subdtype else dtype.str


def item_bytes(item, dtype):
    """Returns the stored bytes of one item.

    For types other than strings, a bytes object is already the stored form.
    """
    if isinstance(item, bytes) and dtype.kind not in "SU":
        return item
    item = exact(item, dtype.base)
    return np.broadcast_to(item, dtype.shape or item.shape).tobytes()


def spec_of(ndim, format, chunk_shape, block_shape, **fields):
    """Returns a holdall_array_spec. Raises ValueError for another number of dimensions."""
    for name, lengths in (("chunk_shape", chunk_shape), ("block_shape", block_shape)):
        if lengths is not None and len(lengths) != ndim:
            raise ValueError(f"{name}: expected {ndim} lengths, found {len(lengths)}")
    lengths = {"chunk_shape": numbers(chunk_shape), "block_shape": numbers(block_shape)}
    return struct("array_spec", format=number("FORMAT_", format), ndim=ndim, **lengths, **fields)


def address(array):
    return c.c_void_p(array.ctypes.data)


class Array(Container):
    """An open array. Array.create() creates one.

    array[...] reads with the indexing of NumPy, including lists and masks, and returns NumPy
    arrays. array[...] = value writes.

    name: a path or a storage. mode: "r" to read, "a" to read and change.
    """

    _kind, _closes = "array", "holdall_array_close"

    def __init__(self, name, mode="r", **options):
        self._open(options, "array_open", target_of(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(
        cls,
        name,
        shape,
        dtype,
        format="b2nd",
        chunk_shape=None,
        block_shape=None,
        mode="x",
        **options,
    ):
        """Creates an array of zeros, or of the option `fill_value`, and opens it for changes.

        name: a path or a storage. shape: an integer or a sequence of lengths. dtype: anything that
        numpy.dtype() accepts. format: "b2nd", "caterva", "bloscpack", "bcolz", "blz" or "blz_rfc".
        chunk_shape, block_shape: the lengths of chunks and blocks, one per dimension, or None for
        the defaults of the library. mode: "x" creates; "w" also replaces.

        Raises ExistsError if the path exists (mode "x"), TypeError for a dtype that cannot be
        stored, ValueError if chunk_shape or block_shape has another number of dimensions.
        """
        shape = tuple(np.atleast_1d(shape)) if np.ndim(shape) == 0 else tuple(shape)
        if options.get("fill_value") is not None:
            options["fill_value"] = item_bytes(options["fill_value"], np.dtype(dtype))
        spec = spec_of(
            len(shape),
            format,
            chunk_shape,
            block_shape,
            dtype=spelled(dtype).encode(),
            shape=numbers(shape),
        )
        made = cls.__new__(cls)
        made._open(
            options, "array_create", target_of(name), mode_of(mode), c.byref(spec), changes=True
        )
        made._uncommitted = True
        return made

    @classmethod
    def save(
        cls, name, data, format="b2nd", chunk_shape=None, block_shape=None, mode="x", **options
    ):
        """Creates an array from data that NumPy converts to an array, and commits it.

        The other parameters are those of create(). Raises TypeError if a value would change or is
        masked.
        """
        data = natural(data)
        with cls.create(
            name, data.shape, data.dtype, format, chunk_shape, block_shape, mode, **options
        ) as made:
            made[...] = data
            made.commit()

    ndim = property(lambda self: self._get("array_ndim"), doc="Number of dimensions.")
    itemsize = property(lambda self: self._get("array_itemsize"), doc="Bytes per item.")
    nbytes = property(lambda self: self._get("array_nbytes"), doc="Size of the content in bytes.")

    @property
    def shape(self):
        """Length of each dimension."""
        with self._lock:
            owned = self._p
            return tuple(
                (c.c_uint64 * lib.holdall_array_ndim(owned)).from_address(
                    lib.holdall_array_shape(owned)
                )
            )

    dtype = property(
        lambda self: dtype_of(self._get("array_dtype").decode()),
        doc="NumPy dtype, or None for Python objects: see read_object().",
    )

    @property
    def info(self):
        """An ArrayInfo, a named tuple with the fields of holdall_array_info."""
        info = self._info("array_get_info", "array_info")
        return info._replace(dtype=dtype_of(info.dtype), order=info.order.upper())

    stored_bytes = property(
        lambda self: self.info.stored_bytes,
        doc="Size on disk in bytes at the last commit.",
    )
    chunk_shape = property(
        lambda self: self.info.chunk_shape,
        doc="Length of a chunk in each dimension.",
    )
    block_shape = property(
        lambda self: self.info.block_shape,
        doc="Length of a block in each dimension.",
    )
    order = property(
        lambda self: self.info.order,
        doc='Storage order, "C" or "F". Items are read in C order.',
    )
    codec = property(lambda self: self.info.codec, doc='Name of the codec, such as "zstd".')
    level = property(lambda self: self.info.level, doc="Compression level; -1 if it is not stored.")
    filters = property(lambda self: self.info.filters, doc="Names of the filters, a tuple.")
    precision = property(
        lambda self: self.info.precision,
        doc="Bits of the mantissa that new floats retain (negative: that are cleared); 0: all.",
    )
    checksum = property(
        lambda self: self.info.checksum,
        doc='Name of the checksum of the chunks, such as "crc32", or "none".',
    )

    def __len__(self):
        if not self.ndim:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        return (
            f"<holdall array {self.shape} {self.dtype}>"
            if self._owned
            else "<holdall array, closed>"
        )

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[...], dtype)

    def __getitem__(self, key):
        with self._lock:
            chosen = _selection.of(key, self.shape)
            read = {"box": self._read_box, "lists": self._read_lists, "points": self._read_points}[
                chosen.kind
            ]
            return read(chosen)

    def _read_box(self, box):
        out = np.empty(box.count, self.dtype)
        # Dimensions with a negative step are stored in reverse.
        strides = [-s if back else s for s, back in zip(out.strides, box.backwards)]
        arguments = (
            numbers(box.start),
            numbers(box.count),
            numbers(box.step),
            address(out),
            out.nbytes,
            numbers(strides, I64),
        )
        warn_damaged(self._call("array_read", *arguments))
        out = out.reshape(box.shape)
        return out[()] if box.item else out

    @staticmethod
    def _lists(lists):
        held = [
            None if list is None else np.ascontiguousarray(list, np.uint64)
            for list in lists.positions
        ]
        pointers = numbers([0 if list is None else list.ctypes.data for list in held], c.c_void_p)
        return held, pointers, numbers(lists.count)

    def _read_lists(self, lists):
        out = np.empty(lists.count, self.dtype)
        held, pointers, counts = self._lists(lists)  # `held` owns the memory
        warn_damaged(
            self._call("array_read_orthogonal", pointers, counts, address(out), out.nbytes)
        )
        return out

    def _read_points(self, points):
        out = np.empty(points.shape, self.dtype)
        if out.size:
            warn_damaged(
                self._call(
                    "array_read_points",
                    address(points.coordinates),
                    out.size,
                    address(out),
                    out.nbytes,
                )
            )
        return out

    def __setitem__(self, key, value):
        with self._lock:
            chosen = _selection.of(key, self.shape)
            value = exact(value, self.dtype)
            if chosen.kind == "points":
                # NumPy assigns in memory, in the block of all combinations of the positions.
                chosen, inside = _selection.hull(key, self.shape)
                there = self._read_lists(chosen)
                there[inside] = value
                value = there
            if chosen.kind == "box":
                self._write_box(chosen, value)
            else:
                value = np.ascontiguousarray(np.broadcast_to(value, chosen.count))
                held, pointers, counts = self._lists(chosen)  # `held` owns the memory
                self._change(
                    "array_write_orthogonal", pointers, counts, address(value), value.nbytes
                )

    def _write_box(self, box, value):
        value = np.broadcast_to(value, box.shape).reshape(box.count)
        if any(box.backwards):
            value = value[tuple(slice(None, None, -1 if back else 1) for back in box.backwards)]
        if any(s < 0 for s in value.strides):
            value = np.ascontiguousarray(value)
        # From the first item to the end of the last one; strides may be 0 or leave gaps.
        size = (
            sum((n - 1) * s for n, s in zip(box.count, value.strides)) + value.itemsize
            if value.size
            else 0
        )
        self._change(
            "array_write",
            numbers(box.start),
            numbers(box.count),
            numbers(box.step),
            address(value),
            size,
            numbers(value.strides, I64),
        )

    def _items(self, items, axis):
        """Returns the number of positions along an axis, and the items to insert there."""
        shape = list(self.shape)
        items = exact(items, self.dtype)
        if not 0 <= axis < len(shape):
            raise _errors.ArgumentError(f"no axis {axis} (the array has {len(shape)} dimensions)")
        if items.ndim != len(shape):
            raise ValueError(f"items: expected {len(shape)} dimensions, found {items.ndim}")
        shape[axis] = items.shape[axis]
        items = np.ascontiguousarray(np.broadcast_to(items, shape))
        return shape[axis], items

    def append(self, items, axis=0):
        """Appends items at the end of an axis.

        items: an array of the same number of dimensions, broadcast along the other axes. axis: the
        axis that grows. After an error nothing is appended.

        Raises ArgumentError if there is no such axis, TypeError if a value would change.
        """
        with self._lock:
            n, items = self._items(items, axis)
            self._change("array_append", axis, n, address(items), items.nbytes)

    def insert(self, start, items, axis=0):
        """Inserts items before position `start` of an axis.

        items: an array of the same number of dimensions, broadcast along the other axes. After an
        error nothing is inserted.

        Raises RangeError if `start` is past the end, ArgumentError if there is no such axis,
        TypeError if a value would change.
        """
        with self._lock:
            n, items = self._items(items, axis)
            self._change("array_insert", axis, start, n, address(items), items.nbytes)

    def remove(self, start, count=1, axis=0):
        """Removes positions of an axis from `start` on.

        Raises RangeError if there are fewer, ArgumentError if there is no such axis.
        """
        self._change("array_remove", axis, start, count)

    def resize(self, *shape):
        """Changes the shape: removes items outside, and adds the fill value (default: zeros).

        shape: the new lengths, as separate arguments or as one sequence. Raises ArgumentError for
        another number of dimensions.
        """
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        if len(shape) != self.ndim:
            raise _errors.ArgumentError(f"shape: expected {self.ndim} lengths, found {len(shape)}")
        self._change("array_resize", numbers(shape))

    @property
    def fill_value(self):
        """The fill value: the value of items that were never written. None: zeros.

        It is one item, or an array of one row if its items differ.
        """
        value, n = c.c_void_p(), c.c_size_t()
        with self._lock:
            self._call("array_fill_value_get", c.byref(value), c.byref(n))
            if not value:
                return None
            items = np.frombuffer(c.string_at(value, n.value), self.dtype)
            return items[0] if len(items) == 1 else items

    def set_fill_value(self, item):
        """Sets the fill value for later growth. Stored items do not change.

        item: the value, or its stored bytes; None: zeros. Raises UnsupportedError for Bloscpack
        files and frames, which have no fill value.
        """
        item = b"" if item is None else item_bytes(item, self.dtype)
        self._change("array_fill_value_set", item, len(item))

    def read_object(self, i):
        """Returns the pickle of item i of an array of Python objects, as bytes.

        Unpickling runs code that the writer of the file chose. Raises RangeError if there is no
        item i, TypeError for another array.
        """
        with self._lock:
            return sized(self._p, "array_read_object", i)

    @property
    def meta_files(self):
        """The names of the further files in the folder meta of a dataset, a list."""
        with self._lock:
            names = sized(self._p, "array_meta_file_names")
        return [name.decode() for name in names.split(b"\0")[:-1]]

    def meta_file(self, name):
        """Returns the bytes of such a file as it is now, or None if it does not exist."""
        with self._lock:
            n = c.c_size_t()
            status = run(self._p, "array_meta_file_read", name.encode(), None, 0, c.byref(n))
            if status == _table.NOT_FOUND:
                return None
            return sized(self._p, "array_meta_file_read", name.encode())

    def set_meta_file(self, name, value):
        """Sets the bytes of such a file; None removes it. The commit writes it.

        Copies to datasets include it. Raises ArgumentError for a name that such a file cannot
        have, UnsupportedError for other formats.
        """
        value = None if value is None else octets(value)
        self._change("array_meta_file_write", name.encode(), value, len(value or b""))

    @property
    def attrs(self):
        """The named values, a dict of bytes as stored: JSON; in frames any bytes."""
        with self._lock:
            names = [
                self._get("array_attr_name", i).decode()
                for i in range(self._get("array_attr_count"))
            ]
            return {name: self._value("array_attr_get", name) for name in names}

    def set_attr(self, name, value, fixed=False):
        """Sets a named value.

        value: bytes of JSON, in frames any bytes; None removes the value. Bloscpack has only the
        name "" with a JSON object, which cannot be removed. fixed: in the header of a frame, as
        `meta` of python-blosc2. There, a new value or another length makes the commit rewrite a
        file that has chunks, and values are not removed.
        """
        value = None if value is None else octets(value)
        set_ = "array_attr_set_fixed" if fixed else "array_attr_set"
        self._change(set_, name.encode(), value, len(value or b""))

    def commit(self):
        """Makes all changes durable and visible, content and shape together."""
        self._commit("array_commit")

    def slice(self, key):
        """Returns a box as a read-only array that shares the files, and reads nothing.

        key: integers and slices, as array[key] takes them, such as numpy.s_[2:5, ::-1]. A slice
        can be read and copied as any array. While it is open, the array cannot be changed.

        Raises IndexError or TypeError as array[key] does, TypeError for lists and masks.
        """
        with self._lock:
            box = _selection.of(key, self.shape)
            if box.kind != "box":
                raise TypeError("a slice of an array takes integers and slices")
            starts, steps = [], []
            for start, count, step, back in zip(box.start, box.count, box.step, box.backwards):
                starts.append(start + (count - 1) * step if back and count else start)
                steps.append(-step if back else step)
            made = self._viewed(
                "array_slice", numbers(starts), numbers(box.count), numbers(steps, I64)
            )
        return made._reshaped(box.shape)

    def squeeze(self, axis):
        """Returns the array without an axis of length 1, as slice() does."""
        return self._viewed("array_squeeze", axis)

    def expand_dims(self, axis):
        """Returns the array with a new axis of length 1, as slice() does."""
        return self._viewed("array_expand_dims", axis)

    def _viewed(self, name, *arguments):
        out = c.c_void_p()
        with self._lock:
            owned = self._p
            self._call(name, *arguments, c.byref(out))
            made = Array.__new__(Array)
            made._take(out.value, owned.keep)
        return made

    def _reshaped(self, shape):
        """Returns the array with other dimensions of length 1."""
        made, axis = self, 0
        for n in shape:
            while axis < made.ndim and made.shape[axis] == 1 != n:
                made = made.squeeze(axis)
            if axis == made.ndim or made.shape[axis] != n:
                made = made.expand_dims(axis)
            axis += 1
        while made.ndim > axis:
            made = made.squeeze(axis)
        return made

    def compute_checksum(self, kind="sha256"):
        """Returns a checksum, as bytes, of dtype, shape and items, however they are stored.

        kind: the name of the checksum.
        """
        with self._lock:
            return sized(self._p, "array_checksum", number("CHECKSUM_", kind))

    def copy(self, name, format="b2nd", chunk_shape=None, block_shape=None, mode="x", **options):
        """Copies the array, as this object sees it, to a new container.

        name: a path or a storage. The other parameters are those of create(). The copy is complete
        or absent. Raises ValueError if chunk_shape or block_shape has another number of dimensions.
        """
        with self._lock:
            spec = spec_of(self.ndim, format, chunk_shape, block_shape)
            self._copy(options, "array_copy", target_of(name), mode_of(mode), c.byref(spec))
