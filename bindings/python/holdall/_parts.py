"""Commits in parts: many processes write one container, and one process commits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._arrays import Array, item_bytes
from ._native import BagWriter
from ._tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Buffer, Self

    from ._native import Path


class _Part:
    """What the parts of all kinds have in common."""

    _unfinished: _native.Part
    if TYPE_CHECKING:  # the container that is the part
        commit: Any

    def finish(self) -> bytes:
        """Commits and closes the part, and returns its token, a bytes object.

        The part stays until the token is passed to commit_parts() or discard_parts().
        """
        self.commit()
        super().close()  # type: ignore[misc]
        return self._unfinished.finish()

    def close(self) -> None:
        """Closes the part. If it is not finished, it is removed."""
        super().close()  # type: ignore[misc]
        self._unfinished.close()

    def __exit__(self, *raised: Any) -> None:
        try:
            super().__exit__(*raised)  # type: ignore[misc]
        finally:
            self._unfinished.close()


class BagPart(_Part, BagWriter):
    """A part of a bag, or of a new set: a BagWriter whose records are committed by commit_parts().

    name: the path of a bag, which may not exist yet, and to which the records are appended; or a set
    such as "lines@*.bagz", which must not exist: each part becomes one of its shards, without a
    copy. The options are those of BagWriter.

        >>> with holdall.BagPart("parts.bagz") as part:
        ...     part.extend([b"one", b"two"])
        ...     token = part.finish()
        >>> holdall.commit_parts("parts.bagz", [token])
        >>> len(holdall.Bag("parts.bagz"))
        2
    """

    def __new__(cls, name: Path, **options: Any) -> Self:
        """Creates a part without records."""
        part = _native.Part.of_bag(name, options)
        self = super().__new__(cls, part.path, "a", **options)  # type: ignore[call-arg]
        self._unfinished = part
        return self


class ArrayPart(_Part, Array):
    """A part of an array: an Array whose items are committed by commit_parts().

    name: the path of the array. start, shape: the box that the part replaces. Its items are zeros or
    the fill value at first. If both are None, the part has no rows, and those that are appended to it
    are appended to the array.

    If the array is "b2nd" or "caterva" and the box begins and ends with its chunks, or ends with the
    array, the commit copies chunks without encoding them again. The options are those of
    Array.create().

        >>> with holdall.Array.create("halves.b2nd", (4, 2), "i4", chunk_shape=(2, 2)) as array:
        ...     array.commit()
        >>> with holdall.ArrayPart("halves.b2nd", (2, 0), (2, 2)) as part:
        ...     part[...] = 7
        ...     token = part.finish()
        >>> holdall.commit_parts("halves.b2nd", [token])
        >>> holdall.Array("halves.b2nd")[:, 0]
        array([0, 0, 7, 7], dtype=int32)
    """

    def __new__(
        cls,
        name: Path,
        start: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        **options: Any,
    ) -> Self:
        """Creates a part with these items."""
        if options.get("fill_value") is not None:
            with Array(name) as array:
                options["fill_value"] = item_bytes(options["fill_value"], array.dtype)
        part = _native.Part.of_array(name, start, shape, options)
        self = super().__new__(cls, part.path, "a")  # type: ignore[call-arg]
        self._unfinished = part
        return self


class TablePart(_Part, Table):
    """A part of a table: a Table whose rows are appended by commit_parts().

    name: the path of the table. The part has the same columns and no rows. The options are those of
    Table.create().

        >>> with holdall.Table.create("rows.bcolz", {"a": "i4"}) as table:
        ...     table.commit()
        >>> with holdall.TablePart("rows.bcolz") as part:
        ...     part.append({"a": [1, 2]})
        ...     token = part.finish()
        >>> holdall.commit_parts("rows.bcolz", [token])
        >>> len(holdall.Table("rows.bcolz"))
        2
    """

    def __new__(cls, name: Path, **options: Any) -> Self:
        """Creates a part without rows."""
        part = _native.Part.of_table(name, options)
        self = super().__new__(cls, part.path, "a")  # type: ignore[call-arg]
        self._unfinished = part
        return self


def commit_parts(name: Path, tokens: Iterable[Buffer], **options: Any) -> None:
    """Commits parts of a container, all or none, and removes them.

    name: the path of the container, as the parts had it; for a set "lines@*.bagz", the number of
    shards may be given. tokens: what finish() of the parts returned, from any process. Records and
    rows are appended in their order; of boxes that overlap, the last one counts. The options are
    those of opening for writing.

    The call may be repeated after any failure, also by another process: parts are not committed
    twice. Raises MissingError if a part is gone, because an earlier call committed or discarded it,
    ExistsError if the set exists, TypeError if a part has another dtype or other columns.

        >>> holdall.commit_parts("lines.bagz", [])
    """
    _native.commit_parts(name, tokens, options)


def discard_parts(name: Path, tokens: Iterable[Buffer]) -> None:
    """Removes parts without committing them. Those that are gone are ignored.

        >>> holdall.discard_parts("lines.bagz", [])
    """
    _native.discard_parts(name, tokens)


def list_parts(name: Path) -> list[str]:
    """Returns the names of all parts of a container: being written, or not committed.

    repair() removes those that no process writes.

        >>> holdall.list_parts("lines.bagz")
        []
    """
    return _native.list_parts(name)
