"""Arrays: items of one type in a grid, indexed as in NumPy."""

from __future__ import annotations

import operator
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _errors, _native, _selection
from ._attributes import Attributes, encoded
from ._casts import exact, natural
from ._infos import ArrayInfo
from ._pickling import Pickled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt
    from typing_extensions import Buffer, Self

    from ._native import Mode, Target


# the dtype of texts of any length, which NumPy has from version 2 on
TEXT = "T"


def spelled(dtype):
    """Returns the spelling of a dtype that the library reads."""
    if isinstance(dtype, str) and dtype == TEXT:
        return TEXT
    dtype = np.dtype(dtype)
    if dtype.kind == TEXT:
        return TEXT
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


def octets(value):
    """Returns the bytes of an object with a buffer. Raises TypeError for other objects."""
    if isinstance(value, bytes):
        return value
    view = memoryview(value)
    if "O" in view.format:
        raise TypeError("a buffer of Python objects has no bytes to store")
    return view.tobytes()


def lengths(ndim, **shapes):
    """Returns shapes as lists. Raises ValueError for another number of dimensions."""
    for name, shape in shapes.items():
        if shape is not None and len(shape) != ndim:
            raise ValueError(f"{name}: expected {ndim} lengths, found {len(shape)}")
    return [None if shape is None else list(shape) for shape in shapes.values()]


class Array(Pickled, _native.Array):
    """An open array. Array.create() creates one.

    array[...] reads with the indexing of NumPy, including lists and masks, and returns NumPy
    arrays. array[...] = value writes.

    name: a path or a storage. mode: "r" to read, "a" to read and change.

        >>> array = holdall.Array("data.b2nd")
        >>> array.shape, array.dtype
        ((100, 100), dtype('int32'))
        >>> array[0, 10:12]
        array([10, 11], dtype=int32)
    """

    @classmethod
    def create(
        cls,
        name: Target,
        shape: Any,
        dtype: npt.DTypeLike,
        format: str = "b2nd",
        chunk_shape: Sequence[int] | None = None,
        block_shape: Sequence[int] | None = None,
        mode: Mode = "x",
        **options: Any,
    ) -> Self:
        """Creates an array of zeros, or of the option `fill_value`, and opens it for changes.

        name: a path or a storage. shape: an integer or a sequence of lengths. dtype: anything that
        numpy.dtype() accepts. format: "b2nd", "caterva", "bloscpack", "bcolz", "blz" or "blz_rfc".
        chunk_shape, block_shape: the lengths of chunks and blocks, one per dimension, or None for
        the defaults of the library. mode: "x" creates; "w" also replaces.

        Raises ExistsError if the path exists (mode "x"), TypeError for a dtype that cannot be
        stored, ValueError if chunk_shape or block_shape has another number of dimensions.

            >>> with holdall.Array.create("data.b2nd", (100, 100), "i4") as array:
            ...     array[0] = range(100)
            ...     array.commit()
        """
        shape = list(np.atleast_1d(shape)) if np.ndim(shape) == 0 else list(shape)
        if options.get("fill_value") is not None:
            options["fill_value"] = item_bytes(options["fill_value"], np.dtype(dtype))
        shapes = lengths(len(shape), chunk_shape=chunk_shape, block_shape=block_shape)
        return cls(cls._create(name, mode, shape, spelled(dtype), format, *shapes, options))

    @classmethod
    def save(
        cls,
        name: Target,
        data: Any,
        format: str = "b2nd",
        chunk_shape: Sequence[int] | None = None,
        block_shape: Sequence[int] | None = None,
        mode: Mode = "x",
        **options: Any,
    ) -> None:
        """Creates an array from data that NumPy converts to an array, and commits it.

        The other parameters are those of create(). Raises TypeError if a value would change or is
        masked.

            >>> holdall.Array.save("data.b2nd", np.arange(10000).reshape(100, 100))
        """
        data = natural(data)
        with cls.create(
            name, data.shape, data.dtype, format, chunk_shape, block_shape, mode, **options
        ) as made:
            made[...] = data
            made.commit()

    @property
    def info(self) -> ArrayInfo:
        """An ArrayInfo, a named tuple with the fields of holdall_array_info.

            >>> array.info.chunk_shape
            (50, 100)
        """
        return ArrayInfo._make(self._info())

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

    def __getitems__(self, indices: Iterable[int]) -> list[Any]:
        """Returns the items at these positions of the first axis, a list, read in one call.

        indices: integers in any order, with repetitions; negative ones count from the end. It is
        what data loaders call. Raises IndexError past the end.

            >>> [row.sum() for row in array.__getitems__([99, 0])]
            [4950, 4950]
        """
        return list(self[[operator.index(i) for i in indices]])

    def values(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """Returns items of any length of an array of one dimension, a list, read in one call.

        start, stop: as of a slice. Items of the dtype "T" are str, others bytes: Python objects in
        their pickled form; in CTables lists, structures and objects in MessagePack. A null is None.
        Raises TypeError for another array.

            >>> holdall.Table("people.b2d")["name"].values()
            ['Ada', None]
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._read_values(start, max(start, stop))

    def _described(self):
        info = self.info
        return f"{info.format} array of {info.dtype}, shape {info.shape}"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a NumPy array of a holdall.Array is always a copy")
        return np.asarray(self[...], dtype)

    @property
    def _changes(self):
        """The lock of calls that read the shape or items before they change them."""
        return self.__dict__.setdefault("_lock", threading.RLock())

    def __setitem__(self, key: Any, value: npt.ArrayLike) -> None:
        with self._changes:
            chosen = _selection.of(key, self.shape)
            value = exact(value, self.dtype)
            if chosen.kind == "points":
                # NumPy assigns in memory, in the block of all combinations of the positions.
                chosen, inside = _selection.hull(key, self.shape)
                there = self._read_lists(chosen.positions)
                there[inside] = value
                value = there
            if chosen.kind == "box":
                self._write(chosen, value)
            else:
                value = np.ascontiguousarray(np.broadcast_to(value, chosen.count))
                self._write_lists(chosen.positions, value)

    def _write(self, box, value):
        # The strides of the broadcast array, in the memory of the array that is broadcast. Along a
        # negative stride the box begins at the far end.
        value = np.ascontiguousarray(value).reshape(np.shape(value))
        spread = np.broadcast_to(value, box.shape).reshape(box.count)
        strides = [-s if back else s for s, back in zip(spread.strides, box.backwards)]
        self._write_box(box.start, box.count, box.step, strides, value)

    def _items(self, items, axis):
        """Returns the number of positions along an axis, and the items to insert there."""
        shape = list(self.shape)
        items = exact(items, self.dtype)
        if not 0 <= axis < len(shape):
            raise _errors.ArgumentError(f"no axis {axis} (the array has {len(shape)} dimensions)")
        if items.ndim != len(shape):
            raise ValueError(f"items: expected {len(shape)} dimensions, found {items.ndim}")
        shape[axis] = items.shape[axis]
        return shape[axis], np.ascontiguousarray(np.broadcast_to(items, shape))

    def append(self, items: npt.ArrayLike, axis: int = 0) -> None:
        """Appends items at the end of an axis.

        items: an array of the same number of dimensions, broadcast along the other axes. axis: the
        axis that grows. After an error nothing is appended.

        Raises ArgumentError if there is no such axis, TypeError if a value would change.

            >>> array.append(np.zeros((1, 100)))
        """
        with self._changes:
            self._append(axis, *self._items(items, axis))

    def insert(self, start: int, items: npt.ArrayLike, axis: int = 0) -> None:
        """Inserts items before position `start` of an axis.

        items: an array of the same number of dimensions, broadcast along the other axes. After an
        error nothing is inserted.

        Raises RangeError if `start` is past the end, ArgumentError if there is no such axis,
        TypeError if a value would change.

            >>> array.insert(0, np.zeros((100, 1)), axis=1)
        """
        with self._changes:
            self._insert(axis, start, *self._items(items, axis))

    def remove(self, start: int, count: int = 1, axis: int = 0) -> None:
        """Removes positions of an axis from `start` on.

        Raises RangeError if there are fewer, ArgumentError if there is no such axis.

            >>> array.remove(0, 2)
        """
        with self._changes:
            self._remove(axis, start, count)

    def resize(self, *shape: Any) -> None:
        """Changes the shape: removes items outside, and adds the fill value (default: zeros).

        shape: the new lengths, as separate arguments or as one sequence. Raises ArgumentError for
        another number of dimensions.

            >>> array.resize(200, 100)
        """
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        with self._changes:
            if len(shape) != self.ndim:
                message = f"shape: expected {self.ndim} lengths, found {len(shape)}"
                raise _errors.ArgumentError(message)
            self._resize(list(shape))

    @property
    def fill_value(self) -> Any:
        """The fill value: the value of items that were never written. None: zeros.

        It is one item, or an array of one row if its items differ.

            >>> int(array.fill_value)
            -1
        """
        value = self._fill_value
        if not value:
            return None
        items = np.frombuffer(value, self.dtype)
        return items[0] if len(items) == 1 else items

    def set_fill_value(self, item: Any) -> None:
        """Sets the fill value for later growth. Stored items do not change.

        item: the value, or its stored bytes; None: zeros. Raises UnsupportedError for Bloscpack
        files and frames, which have no fill value.

            >>> array.set_fill_value(-1)
        """
        self._set_fill_value(b"" if item is None else item_bytes(item, self.dtype))

    def set_meta_file(self, name: str, value: Buffer | None) -> None:
        """Sets the bytes of a file in the folder meta of a dataset; None removes it.

        The commit writes it. Copies to datasets include it. Raises ArgumentError for a name that
        such a file cannot have, UnsupportedError for other formats.

            >>> array.set_meta_file("units.json", b'"K"')
        """
        self._set_meta_file(name, None if value is None else octets(value))

    @property
    def attrs(self) -> Attributes:
        """The attributes, a mapping to values: what JSON holds, or bytes that are not valid.

        Formats other than frames store JSON, frames MessagePack. Its bytes are {"hex": "00ff"}.

            >>> array.attrs
            {'unit': 'K', 'scale': [1, 2.5]}
        """
        return Attributes(self)

    def set_attr(self, name: str, value: Any, fixed: bool = False) -> None:
        """Sets an attribute.

        value: what JSON can hold, or bytes, which are stored as they are; None removes the
        attribute. Bloscpack has only the name "" with a JSON object, which cannot be removed.
        fixed: in the header of a frame, as `meta` of python-blosc2. There, a new attribute or
        another length makes the commit rewrite a file that has chunks, and attributes are not
        removed.

        Raises TypeError for a value that would change.

            >>> array.set_attr("source", {"city": "Turin"})
            >>> array.attrs["source"]
            {'city': 'Turin'}
        """
        self._set_attribute(name, encoded(self._format, value), fixed)

    def slice(self, key: Any) -> Array:
        """Returns a box as a read-only array that shares the files, and reads nothing.

        key: integers and slices, as array[key] takes them, such as numpy.s_[2:5, ::-1]. A slice
        can be read and copied as any array. While it is open, the array cannot be changed.

        Raises IndexError or TypeError as array[key] does, TypeError for lists and masks.

            >>> array.slice(np.s_[10:20, 0]).copy("part.b2nd")
        """
        made, shape, box = self._slice(key)
        return self._view(made, "_strided", *box)._reshaped(shape)

    def _strided(self, start, step, count):
        return self._view(self._strided_view(start, step, count), "_strided", start, step, count)

    def squeeze(self, axis: int) -> Array:
        """Returns the array without an axis of length 1, as slice() does.

            >>> array.slice(np.s_[0:1]).squeeze(0).shape
            (100,)
        """
        return self._view(self._squeeze(axis), "squeeze", axis)

    def expand_dims(self, axis: int) -> Array:
        """Returns the array with a new axis of length 1, as slice() does.

            >>> array.expand_dims(0).shape
            (1, 100, 100)
        """
        return self._view(self._expand_dims(axis), "expand_dims", axis)

    def _view(self, made, *step):
        view = Array(made)
        view._viewed = self._made().then(*step)
        return view

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

    def copy(
        self,
        name: Target,
        format: str = "b2nd",
        chunk_shape: Sequence[int] | None = None,
        block_shape: Sequence[int] | None = None,
        mode: Mode = "x",
        **options: Any,
    ) -> None:
        """Copies the array, as this object sees it, to a new container.

        name: a path or a storage. The other parameters are those of create(). The copy is complete
        or absent. Raises ValueError if chunk_shape or block_shape has another number of dimensions.

            >>> array.copy("copy.blp", format="bloscpack", codec="zstd")
        """
        shapes = lengths(self.ndim, chunk_shape=chunk_shape, block_shape=block_shape)
        self._copy(name, mode, format, *shapes, options)
