"""Storages: objects whose methods the library calls instead of accessing files by path."""

from typing import Iterable, Optional, Protocol


class Storage(Protocol):
    """What an object needs to be passed instead of a path. It need not inherit from this class.

    Every storage has `size` and `read_at`. A storage for writing also has `write_at`, `truncate`,
    `sync`, `rename` and `remove`. Containers that are folders also need `list`.

    A container of one file has the name "".

    A method raises FileNotFoundError if the file does not exist. Any other exception ends the call
    of the library, which raises it again.

    Several threads may call the methods at once. holdall.h documents the requirements of each at
    holdall_storage_functions.

    A storage has no file name that shows whether the records of a bag are compressed. If they are,
    set codec="zstd".

        >>> class Remote:
        ...     def size(self, name):
        ...         return server.size("data.b2nd")
        ...     def read_at(self, name, at, n):
        ...         return server.read("data.b2nd", at, n)
        >>> holdall.Array(Remote())[0]
    """

    def size(self, name: str) -> int:
        """Returns the size of a file in bytes."""

    def read_at(self, name: str, at: int, n: int) -> bytes:
        """Returns n bytes at offset `at`; fewer only at the end of the file."""

    def write_at(self, name: str, at: int, data: bytes) -> None:
        """Writes all bytes of data at offset `at`; extends the file if needed.

        Bytes that were never written are read as zeros.
        """

    def truncate(self, name: str, size: int) -> None:
        """Sets the size of a file in bytes; creates a file that does not exist."""

    def sync(self, name: str) -> None:
        """Makes the content, size and name of a file durable."""

    def rename(self, name: str, to: str) -> None:
        """Renames a file atomically and replaces a file of the new name."""

    def remove(self, name: str) -> None:
        """Removes a file."""

    def list(self, folder: str) -> Iterable[str]:
        """Returns the names of the files in a folder."""


class RangeStorage(Storage, Protocol):
    """A storage in which each call takes long, such as a server."""

    def read_ranges(self, ranges: list[tuple[str, int, int]]) -> Iterable[Optional[tuple[int, bytes]]]:
        """Reads ranges, at once or one by one.

        A range is a name, an offset, and a number of bytes. A negative offset is counted from the end
        of the file; the range begins at 0 if the file is shorter. The number of bytes may be 0.

        Returns for each range the size of the file in bytes, and the bytes that the file has of the
        range; None if the file does not exist. Frames and bags are then opened and read with few
        calls. Writers and folders call the other methods.
        """
