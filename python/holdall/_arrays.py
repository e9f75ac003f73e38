"""Arrays: items of one type in a grid, indexed as those of NumPy are."""
import ast
import ctypes as c

import numpy as np

from . import _errors, _selection, _table
from ._call import Handle, Options, mode_of, number, numbers, octets, path, sound
from ._casts import exact, natural
from ._storage import place

I64 = c.c_int64


def dtype_of(spelling):
    """NumPy's type of a dtype as the library spells it; of Python's objects None."""
    if spelling in ("object", "O", "|O"):
        return None
    return np.dtype(ast.literal_eval(spelling) if spelling[0] in "[({" else spelling)


def spelled(dtype):
    """And the other way."""
    dtype = np.dtype(dtype)
    if dtype.names:
        dtype = np.dtype((np.void, dtype))  # no recarray
    return str(dtype) if dtype.names or dtype.subdtype else dtype.str


def item_bytes(item, dtype):
    """One item as it is stored; of other types than strings, bytes are it already."""
    if isinstance(item, bytes) and dtype.kind not in "SU":
        return item
    item = exact(item, dtype.base)
    return np.broadcast_to(item, dtype.shape or item.shape).tobytes()


def address(array):
    return c.c_void_p(array.ctypes.data)


class Array(Handle):
    """An open array; Array.create() makes one. mode: "r", or "a" to change it. What is read are arrays of NumPy's."""

    _closes = "holdall_array_close"

    def __init__(self, name, mode="r", **options):
        self._open(options, "array_open", place(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, shape, dtype, format="b2nd", chunks=None, blocks=None, mode="x", **options):
        """Zeros, or `fill`. format: "b2nd", "caterva", "bloscpack", "bcolz", "blz" or "blz_paper"; mode: "x" or "w"."""
        shape = tuple(np.atleast_1d(shape)) if np.ndim(shape) == 0 else tuple(shape)
        for grid in (chunks, blocks):
            if grid is not None and len(grid) != len(shape):
                raise ValueError(f"{len(grid)} numbers for {len(shape)} dimensions")
        if options.get("fill") is not None:
            options["fill"] = item_bytes(options["fill"], np.dtype(dtype))
        made = cls.__new__(cls)
        grids = numbers(shape), numbers(chunks), numbers(blocks)
        made._open(options, "array_create", place(name), mode_of(mode), number("FORMAT_", format), spelled(dtype).encode(), len(shape), *grids, changes=True)
        made._uncommitted = True
        return made

    @classmethod
    def save(cls, name, data, format="b2nd", chunks=None, blocks=None, mode="x", **options):
        """Creates one of what NumPy takes for an array, and commits it."""
        data = natural(data)
        with cls.create(name, data.shape, data.dtype, format, chunks, blocks, mode, **options) as made:
            made[...] = data
            made.commit()

    def _grid(self, name):
        with self._lock:
            return tuple((c.c_uint64 * self.ndim).from_address(self._get(name)))

    ndim = property(lambda self: self._get("array_ndim"))
    itemsize = property(lambda self: self._get("array_itemsize"))
    nbytes = property(lambda self: self._get("array_nbytes"))
    stored_bytes = property(lambda self: self._get("array_cbytes"))
    shape = property(lambda self: self._grid("array_shape"))
    chunks = property(lambda self: self._grid("array_chunkshape"))
    blocks = property(lambda self: self._grid("array_blockshape"))
    order = property(lambda self: "CF"[self._get("array_order")], doc="How the items are stored; what is read is in C order.")
    dtype = property(lambda self: dtype_of(self._get("array_dtype").decode()), doc="None: Python's objects, see read_object().")

    def __len__(self):
        if not self.ndim:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        return f"<holdall array {self.shape} {self.dtype}>" if self._owned else "<holdall array, closed>"

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[...], dtype)

    def __getitem__(self, key):
        with self._lock:
            chosen = _selection.of(key, self.shape)
            read = {"box": self._read_box, "lists": self._read_lists, "points": self._read_points}[chosen.kind]
            return read(chosen)

    def _read_box(self, box):
        out = np.empty(box.count, self.dtype)
        # Where a step is negative, the box is put down backwards.
        strides = [-s if back else s for s, back in zip(out.strides, box.backwards)]
        arguments = numbers(box.start), numbers(box.count), numbers(box.step), address(out), numbers(strides, I64), out.nbytes
        sound(self._call("array_read", *arguments))
        out = out.reshape(box.shape)
        return out[()] if box.item else out

    @staticmethod
    def _lists(lists):
        kept = [None if list is None else np.ascontiguousarray(list, np.uint64) for list in lists.positions]
        pointers = numbers([0 if list is None else list.ctypes.data for list in kept], c.c_void_p)
        return kept, pointers, numbers(lists.count)

    def _read_lists(self, lists):
        out = np.empty(lists.count, self.dtype)
        kept, pointers, counts = self._lists(lists)
        sound(self._call("array_read_orthogonal", pointers, counts, address(out), out.nbytes))
        return out

    def _read_points(self, points):
        out = np.empty(points.shape, self.dtype)
        if out.size:
            sound(self._call("array_read_points", address(points.coordinates), out.size, address(out), out.nbytes))
        return out

    def __setitem__(self, key, value):
        with self._lock:
            chosen = _selection.of(key, self.shape)
            value = exact(value, self.dtype)
            if chosen.kind == "points":
                # NumPy does it, in memory, on all combinations of the places.
                chosen, inside = _selection.hull(key, self.shape)
                there = self._read_lists(chosen)
                there[inside] = value
                value = there
            if chosen.kind == "box":
                self._write_box(chosen, value)
            else:
                value = np.ascontiguousarray(np.broadcast_to(value, chosen.count))
                kept, pointers, counts = self._lists(chosen)
                self._change("array_write_orthogonal", pointers, counts, address(value), value.nbytes)

    def _write_box(self, box, value):
        value = np.broadcast_to(value, box.shape).reshape(box.count)
        if any(box.backwards):
            value = value[tuple(slice(None, None, -1 if back else 1) for back in box.backwards)]
        if any(s < 0 for s in value.strides):
            value = np.ascontiguousarray(value)
        # From the first item to behind the last, repeated or apart as they are.
        size = sum((n - 1) * s for n, s in zip(box.count, value.strides)) + value.itemsize if value.size else 0
        self._change("array_write", numbers(box.start), numbers(box.count), numbers(box.step), address(value), numbers(value.strides, I64), size)

    def _items(self, items, axis):
        """Items that are put in along an axis, and how many places they are."""
        shape = list(self.shape)
        items = exact(items, self.dtype)
        if not 0 <= axis < len(shape):
            raise _errors.ArgumentError(f"axis {axis} of {len(shape)}")
        if items.ndim != len(shape):
            raise ValueError(f"items of {items.ndim} dimensions for an array of {len(shape)}")
        shape[axis] = items.shape[axis]
        items = np.ascontiguousarray(np.broadcast_to(items, shape))
        return shape[axis], items

    def append(self, items, axis=0):
        """Lets it grow along an axis by these items."""
        with self._lock:
            n, items = self._items(items, axis)
            self._change("array_append", axis, n, address(items), items.nbytes)

    def insert(self, at, items, axis=0):
        """Puts items before place `at` of an axis."""
        with self._lock:
            n, items = self._items(items, axis)
            self._change("array_insert", axis, at, n, address(items), items.nbytes)

    def remove(self, at, n=1, axis=0):
        """Takes n places away."""
        self._change("array_remove", axis, at, n)

    def resize(self, *shape):
        """Gives it another shape; what is new is zeros, or `fill`."""
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        if len(shape) != self.ndim:
            raise _errors.ArgumentError(f"a shape of {len(shape)} dimensions for {self.ndim}")
        self._change("array_resize", numbers(shape))

    @property
    def fill(self):
        """The item that is where nothing was written, or None: zeros."""
        value, n = c.c_void_p(), c.c_size_t()
        with self._lock:
            if self._call("array_fill", c.byref(value), c.byref(n)) == _table.NOT_FOUND:
                return None
            items = np.frombuffer(c.string_at(value, n.value), self.dtype)
            return items[0] if len(items) == 1 else items

    def set_fill(self, item):
        """None: zeros."""
        item = b"" if item is None else item_bytes(item, self.dtype)
        self._change("array_fill_set", item, len(item))

    def read_object(self, i):
        """Item i of an array of Python's objects, pickled: unpickling runs what its writer wanted to be run."""
        return self._sized("array_read_object", i)

    @property
    def attrs(self):
        """Its named values, as they are stored: JSON, of frames any bytes."""
        with self._lock:
            names = [self._get("array_attr_name", i).decode() for i in range(self._get("array_attrs"))]
            return {name: self._value("array_attr_get", name) for name in names}

    def set_attr(self, name, value):
        """None removes it."""
        value = None if value is None else octets(value)
        self._change("array_attr_set", name.encode(), value, len(value or b""))

    def commit(self):
        """All changes count from now on."""
        self._commit("array_commit")

    def copy(self, name, format="b2nd", chunks=None, blocks=None, mode="x", **options):
        """Writes it into a new container."""
        for grid in (chunks, blocks):
            if grid is not None and len(grid) != self.ndim:
                raise ValueError(f"{len(grid)} numbers for {self.ndim} dimensions")
        with Options(options) as o:
            sound(self._call("array_copy", path(name), mode_of(mode), number("FORMAT_", format), numbers(chunks), numbers(blocks), o.handle))
            o.check()
