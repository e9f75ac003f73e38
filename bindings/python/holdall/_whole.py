"""Identification, verification and repair of containers."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from . import _native
from ._infos import RepairResult, VerifyResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._errors import Error
    from ._native import Path

Fault = collections.namedtuple("Fault", "part error")


def identify(name: Path) -> tuple[str | None, str | None]:
    """Returns the format and kind of the container at a path, such as ("b2nd", "array").

    name: the path, or a spec of a bag (see Bag).

    Raises FormatError for an unknown format, MissingError if nothing exists there.

        >>> holdall.identify("lines.bagz")
        ('bagz', 'bag')
    """
    return _native.identify(name)


def verify(
    name: Path, fault: Callable[[Fault], Any] | None = None, **options: Any
) -> tuple[VerifyResult, Error | None]:
    """Reads everything at a path, and verifies all lengths and checksums.

    name: the path, or a spec of a bag (see Bag). fault: is called with each Fault; the call stops
    if it returns False.

    Returns (result, error). The result is a VerifyResult, a named tuple of numbers of records or
    chunks: intact, corrupt (or missing) and unchecked (without a checksum that applies, or of an
    unknown codec, filter or version). error is None if everything is intact, else the Error of the
    first fault, or of a call that gives no verdict (CancelledError, ArgumentError, BusyError).
    corrupt may be 0 with corrupt headers or metadata, so check the error.

        >>> holdall.verify("lines.bagz")
        (VerifyResult(intact=3, corrupt=0, unchecked=0), None)
    """
    report = None if fault is None else lambda part, error: fault(Fault(part, error))
    result, error = _native.verify(name, report, options)
    return VerifyResult(*result), error


def repair(name: Path, **options: Any) -> RepairResult:
    """Repairs a container: restores its last consistent state.

    Completes or rolls back an interrupted change. Intact records and chunks keep their positions.

    name: the path, or a spec of a bag (see Bag).

    Returns a RepairResult, a named tuple: retained, the number of records or chunks; lost, which
    includes metadata, trailers, commits, names and columns; and parts_removed, the number of parts
    (see BagPart) that were never committed.

    Raises FormatError if the container cannot be repaired, or only with the option skip_damaged,
    BusyError if another writer has it open.

        >>> holdall.repair("lines.bagz")
        RepairResult(retained=3, lost=0, parts_removed=0)
    """
    return RepairResult(*_native.repair(name, options))
