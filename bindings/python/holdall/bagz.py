"""The interface of the package `bagz`, version 0.3.8, for its files.

`import holdall.bagz as bagz` is the only change to a program that uses `bagz`. Names, parameters
and defaults are those of the package. Specs are those of `holdall.Bag`.

    >>> import holdall.bagz as bagz
    >>> with bagz.Writer("lines.bagz") as writer:
    ...     writer.write(b"one")
    >>> bagz.Reader("lines.bagz").read()
    [b'one']

Differences when reading:

- A corrupt record raises an error. bagz returns an empty record for it, and for the records after
  it, unless it is read by itself.
- Indices are checked against a slice. bagz can return records outside it.
- `stop` of `Reader.index()` is an end, as in `list.index()`. bagz adds it to `start`.
- An iterator returns the records before an invalid index or a corrupt record, then raises the
  error. `read_ahead=0` means no read-ahead. bagz may return nothing in both cases.
- Several threads may share a reader or an iterator. An open iterator does not abort the process at
  exit.
- Automatic compression is determined for each file of a spec. A file with zstd frames that is
  neither `.bag` nor `.bagz` raises an error.
- Separate limits work with several files, and `@*` works in each path of a spec.
- A path that names an existing file is taken literally, also with a comma or `@`. A backslash
  escapes these.
- A file that is truncated while a reader has it open raises an error. Therefore records are read by
  system calls instead of mapped memory, which adds a few microseconds to `reader[i]`. Reads of many
  records share these calls.
- `max_parallelism` above the number of processors has no effect.
- `read_indices()` refuses an array of floats that are not integers.

Differences when writing:

- A file appears at the first `flush()` or at `close()`, complete. Until then, an existing file
  stays as it was. bagz replaces it when the writer is opened, and has a second file, `limits.NAME`,
  until `close()`.
- `flush()` makes the records durable and readable under the name of the file, and syncs it. A
  writer that is dropped without `close()` loses the records since the last `flush()`.
- Uncompressed records have checksums in a second file, `checksums.NAME`. Zstd frames contain them.
  bagz reads both kinds of files. If it replaces a file, remove the `checksums.NAME` of the old one,
  which may otherwise raise `ChecksumError`.
- Several threads may share a writer. Two writers of one file exclude each other: the second raises `BusyError`.
- A missing folder raises `FileNotFoundError`, a compression level that zstd does not have
  `ValueError`. bagz raises `ValueError`, or uses the nearest level.
- A name with `@N` or `@*`, which a reader takes for a set of files, raises `ValueError`. Write sets
  with `holdall.BagWriter`.

A dictionary may also be bytes, such as a trained one. The errors of holdall inherit from those that
bagz raises: `FormatError`, `ChecksumError` and `CodecError` from `ValueError`, `RangeError` from
`IndexError`, `MissingError` from `FileNotFoundError`. `read_range()` and `read_indices()` raise
`LimitError` for more than 4 GiB of records.

The Beam source `bagz.beam`, and the paths of the package `bagz-gcs`, are not included.
docs/clouds.md describes the object stores of holdall.
"""

import collections.abc
import enum
import operator
import os
import re
from typing import Any, Iterable, List, Optional, Union

from ._native import Bag, BagWriter, Stream
from ._native import Index as _Index

__all__ = [
    "CompressionAutoDetect", "CompressionNone", "CompressionZstd", "Index", "LimitsPlacement",
    "LimitsStorage", "MultiIndex", "Reader", "ReaderIterator", "ShardingLayout", "Writer",
]  # fmt: skip

ReaderIterator = Stream

# The first @ of a name is expanded by a reader. 0 and numbers of more than five digits are not.
_SET = re.compile(r"[^@]*@(\*|0*[1-9][0-9]{0,4}(?![0-9]))")


class _Choice(enum.Enum):
    def __repr__(self) -> str:
        return str(self)


class LimitsPlacement(_Choice):
    """Where the limits (end offsets) of records are: after the records, or in `limits.NAME`."""

    TAIL = 0
    SEPARATE = 1


class LimitsStorage(_Choice):
    """Whether a reader reads limits as needed, or all of them when it opens the files."""

    ON_DISK = 0
    IN_MEMORY = 1


class ShardingLayout(_Choice):
    """How several files form one sequence: one after the other, or record by record in turn."""

    CONCATENATED = 0
    INTERLEAVED = 1


class _Attributes:
    """An object whose attributes have types."""

    __slots__ = ()
    _types: dict = {}

    def __setattr__(self, name: str, value: Any) -> None:
        expected = self._types.get(name, object)
        if isinstance(expected, type) and issubclass(expected, enum.Enum):
            value = expected(value)
        elif expected is int:
            value = operator.index(value)
        elif not isinstance(value, expected):
            raise TypeError(f"{name}: unexpected type {type(value).__name__}")
        super().__setattr__(name, value)

    def _copy(self) -> Any:
        made = object.__new__(type(self))
        for name in self._types:
            setattr(made, name, getattr(self, name))
        return made


class CompressionAutoDetect(_Attributes):
    """Zstd for names that end in `.bagz`, or in `.bagz` before the number of a shard."""

    __slots__ = ()


class CompressionNone(_Attributes):
    """Records without compression."""

    __slots__ = ()


class CompressionZstd(_Attributes):
    """Zstd frames. level 0 is the default of zstd. dictionary: empty for none."""

    __slots__ = ("level", "dictionary")
    _types = {"level": int, "dictionary": (str, bytes)}

    level: int
    dictionary: Union[str, bytes]

    def __init__(self, level: int = 0, dictionary: Union[str, bytes] = "") -> None:
        self.level, self.dictionary = level, dictionary


_Compression = Union[CompressionAutoDetect, CompressionNone, CompressionZstd]
_COMPRESSIONS = (CompressionAutoDetect, CompressionNone, CompressionZstd)


def _codec(compression: _Compression) -> dict:
    """Returns the options of holdall of a compression."""
    if isinstance(compression, CompressionAutoDetect):
        return {}
    if isinstance(compression, CompressionNone):
        return {"codec": "none"}
    return {"codec": "zstd", "dictionary": _octets(compression.dictionary) or None}


def _octets(record: Union[str, bytes], name: str = "record") -> bytes:
    """Returns bytes, or a string as UTF-8."""
    if isinstance(record, str):
        return record.encode()
    if not isinstance(record, bytes):
        raise TypeError(f"{name} must be str or bytes, not {type(record).__name__}")
    return record


def _bytes(value: bytes) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"value must be bytes, not {type(value).__name__}")
    return value


def _number(name: str, value: Any, negative: type = TypeError) -> int:
    """Returns an integer that is not negative."""
    number = operator.index(value)
    if number < 0:
        raise negative(f"{name} must not be negative, found {number}")
    return number


def _indices(indices: Any) -> Any:
    """Returns the record numbers of a sequence or an array."""
    if hasattr(indices, "__array__"):
        array = indices.__array__()
        if array.ndim != 1:
            raise ValueError("indices must be a 1D array")
        rows = array.astype("int64", copy=False)
        if array.dtype.kind not in "biu" and (rows != array).any():
            raise TypeError("indices must be integers")
        if rows.size and rows.min() < 0:
            raise IndexError("indices must not be negative")
        return rows
    if isinstance(indices, (str, bytes)) or not isinstance(indices, collections.abc.Sequence):
        raise TypeError(f"indices must be a sequence of integers, not {type(indices).__name__}")
    return [_number("an index", i) for i in indices]


class Reader:
    """The records of files in the order of a spec, a sequence of bytes.

    file_spec: a path, or several separated by commas, where `@8` or `@*` stands for the shards of a
    set.
    """

    class Options(_Attributes):
        """Options of a reader. max_parallelism: the number of threads, 0 and 1 for none."""

        __slots__ = (
            "sharding_layout", "limits_placement", "compression", "limits_storage",
            "max_parallelism",
        )  # fmt: skip
        _types = {
            "sharding_layout": ShardingLayout,
            "limits_placement": LimitsPlacement,
            "compression": _COMPRESSIONS,
            "limits_storage": LimitsStorage,
            "max_parallelism": int,
        }

        def __init__(
            self,
            sharding_layout: ShardingLayout = ShardingLayout.CONCATENATED,
            limits_placement: LimitsPlacement = LimitsPlacement.TAIL,
            compression: _Compression = CompressionAutoDetect(),
            limits_storage: LimitsStorage = LimitsStorage.ON_DISK,
            max_parallelism: int = 100,
        ) -> None:
            self.sharding_layout = sharding_layout
            self.limits_placement = limits_placement
            self.compression = compression
            self.limits_storage = limits_storage
            self.max_parallelism = max_parallelism

    __slots__ = ("_spec", "_options", "_bag", "_rows", "__weakref__")

    def __init__(self, file_spec: Union[os.PathLike, str], options: Options = Options()) -> None:
        spec = os.fspath(file_spec)
        if not isinstance(spec, str):
            raise TypeError(f"file_spec must be str or os.PathLike, not {type(spec).__name__}")
        if not isinstance(options, Reader.Options):
            raise TypeError(f"options must be Reader.Options, not {type(options).__name__}")
        self._open(spec, options._copy())

    def _open(self, spec: str, options: Options) -> None:
        threads = options.max_parallelism
        if threads < 0:
            raise ValueError(f"max_parallelism must not be negative, found {threads}")
        bag = Bag(
            spec,
            bag_shards=options.sharding_layout.name.lower(),
            bag_limits=options.limits_placement.name.lower(),
            bag_limits_cache=options.limits_storage is LimitsStorage.IN_MEMORY,
            threads=max(threads, 1) if threads < (os.cpu_count() or 1) else None,
            **_codec(options.compression),
        )
        if isinstance(options.compression, CompressionAutoDetect):
            found = {"none": CompressionNone, "zstd": CompressionZstd}
            options.compression = found.get(bag.codec, CompressionAutoDetect)()
        self._spec, self._options, self._bag = spec, options, bag
        self._rows = range(len(bag))

    def _strided(self, rows: range) -> "Reader":
        """Returns the reader of some of the records of the files."""
        made = object.__new__(type(self))
        made._spec, made._options, made._rows = self._spec, self._options, rows
        return made

    def __getstate__(self) -> tuple:
        rows = self._rows
        return self._spec, self._options, rows.start, rows.step, len(rows)

    def __setstate__(self, state: tuple) -> None:
        spec, options, start, step, length = state
        self._open(spec, options)
        if (start, step, length) != (0, 1, len(self._bag)):
            self._rows = range(start, start + step * length, step)
            self._bag = self._bag._strided(start if length else 0, step if length else 1, length)

    @property
    def options(self) -> Options:
        """The options of the reader. The compression is the one that was determined."""
        return self._options._copy()

    @property
    def file_spec(self) -> str:
        """The spec that the reader was opened with."""
        return self._spec

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Union[int, slice]) -> Any:
        """Returns a record, or the reader of a slice, which shares the files."""
        if not isinstance(index, slice):
            return self._bag[_number("index", index)]
        made = self._strided(self._rows[index])
        made._bag = self._bag[index]
        return made

    def __iter__(self) -> ReaderIterator:
        return self._bag.stream()

    def __reversed__(self) -> "Reader":
        return self[::-1]

    def __contains__(self, value: bytes) -> bool:
        return _bytes(value) in self._bag

    def approximate_bytes_per_record(self) -> float:
        """Returns the stored bytes per record; for a slice, those of all records."""
        return self._bag.approximate_bytes_per_record()

    def count(self, value: bytes) -> int:
        """Returns the number of records that equal value."""
        return self._bag.count(_bytes(value))

    def index(self, value: bytes, start: int = 0, stop: Optional[int] = None) -> int:
        """Returns the number of the first record from start to stop that equals value.

        Raises ValueError without one, IndexError if start or stop is past the end.
        """
        n = len(self)
        first, end = _number("start", start), n if stop is None else _number("stop", stop)
        if max(first, end) > n:
            raise IndexError(f"records {first} to {end} of {n}")
        return self._bag.index(_bytes(value), first, end)

    def read(self) -> List[bytes]:
        """Returns all records."""
        return list(self._bag.stream())

    def read_range(self, start: int, num_records: int) -> List[bytes]:
        """Returns the records start to start + num_records. Raises IndexError past the end."""
        start, num_records = _number("start", start), _number("num_records", num_records)
        return self._bag.read_range(start, num_records)[:]

    def read_indices(self, indices: Any) -> List[bytes]:
        """Returns the records at indices: a sequence of integers, an array or a slice."""
        if isinstance(indices, slice):
            return self[indices].read()
        return self._bag.__getitems__(_indices(indices))

    def read_range_iter(
        self, start: int, num_records: int, *, read_ahead: Optional[int] = None
    ) -> ReaderIterator:
        """Returns an iterator of the records start to start + num_records.

        read_ahead: the number of records to read in advance. Raises IndexError past the end.
        """
        start, num_records = _number("start", start), _number("num_records", num_records)
        return self._bag.read_range_iter(start, num_records, **_read_ahead(read_ahead))

    def read_indices_iter(
        self, indices: Iterable[int], *, read_ahead: Optional[int] = None
    ) -> ReaderIterator:
        """Returns an iterator of the records at indices, an iterable that may be endless.

        read_ahead: the number of indices to take in advance.
        """
        rows = (_number("an index", i, IndexError) for i in iter(indices))
        return self._bag.stream(rows, **_read_ahead(read_ahead))


collections.abc.Sequence.register(Reader)


def _read_ahead(records: Optional[int]) -> dict:
    return {} if records is None else {"bag_read_ahead": _number("read_ahead", records)}


class Writer:
    """A writer of one file. Closes it at the end of a `with` block, also after an exception.

    filename: the path, which is replaced when the writer flushes or closes.
    """

    class Options(_Attributes):
        """Options of a writer."""

        __slots__ = ("limits_placement", "compression")
        _types = {"limits_placement": LimitsPlacement, "compression": _COMPRESSIONS}

        def __init__(
            self,
            limits_placement: LimitsPlacement = LimitsPlacement.TAIL,
            compression: _Compression = CompressionAutoDetect(),
        ) -> None:
            self.limits_placement, self.compression = limits_placement, compression

    __slots__ = ("_writer", "__weakref__")

    def __init__(self, filename: Union[os.PathLike, str], options: Options = Options()) -> None:
        name = os.fspath(filename)
        if not isinstance(name, str):
            raise TypeError(f"filename must be str or os.PathLike, not {type(name).__name__}")
        if not isinstance(options, Writer.Options):
            raise TypeError(f"options must be Writer.Options, not {type(options).__name__}")
        if _SET.match(name.rpartition("/")[2]):
            raise ValueError(
                f"{name}: a reader takes this name for a set of files; "
                "write sets with holdall.BagWriter"
            )
        self._writer: Optional[BagWriter] = BagWriter(
            name,
            "w",
            bag_limits=options.limits_placement.name.lower(),
            level=getattr(options.compression, "level", None),
            **_codec(options.compression),
        )

    def _open(self) -> BagWriter:
        if self._writer is None:
            raise ValueError("the writer is closed")
        return self._writer

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.close()

    def write(self, record: Union[str, bytes]) -> None:
        """Appends one record: bytes, or a string, which is encoded as UTF-8."""
        self._open().append(_octets(record))

    def flush(self) -> None:
        """Makes the records so far durable, and readable under the name of the file."""
        self._open().commit()

    def close(self) -> None:
        """Flushes and closes the writer. Closing a closed writer has no effect."""
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.commit()
            finally:
                writer.close()


class Index:
    """The number of the first record that equals a key, for the records of a reader."""

    __slots__ = ("_index",)

    def __init__(self, reader: Reader) -> None:
        self._index = _index(reader)

    def __contains__(self, record: Union[str, bytes]) -> bool:
        return _octets(record) in self._index

    def __getitem__(self, record: Union[str, bytes], /) -> int:
        return self._index[_octets(record)]

    def __len__(self) -> int:
        """Returns the number of different records."""
        return len(self._index)

    def get(self, record: Union[str, bytes]) -> Optional[int]:
        """Returns the number of the first record that equals record, or None."""
        return self._index.first(_octets(record))


class MultiIndex:
    """The numbers of all records that equal a key, for the records of a reader."""

    __slots__ = ("_index",)

    def __init__(self, reader: Reader) -> None:
        self._index = _index(reader)

    def __contains__(self, record: Union[str, bytes]) -> bool:
        return _octets(record) in self._index

    def __getitem__(self, record: Union[str, bytes], /) -> List[int]:
        found = self._index.find(_octets(record))
        if not found:
            raise KeyError(record)
        return found

    def __len__(self) -> int:
        """Returns the number of different records."""
        return len(self._index)

    def get(self, item: Union[str, bytes], default: Any = None) -> Any:
        """Returns the numbers of all records that equal item, or default without one."""
        return self._index.find(_octets(item, "item")) or default


def _index(reader: Reader) -> _Index:
    if not isinstance(reader, Reader):
        raise TypeError(f"reader must be a Reader, not {type(reader).__name__}")
    return _Index(reader._bag)
