"""Identification, verification and repair of containers."""

import collections
import ctypes as c

from . import _errors
from ._call import CALLBACKS, Function, Options, call, constant_name, path, struct, unpacked

Fault = collections.namedtuple("Fault", "part error")


def identify(name):
    """Returns the format and kind of the container at a path, such as ("b2nd", "array").

    name: the path, or a spec of a bag (see Bag).

    Raises FormatError for an unknown format, MissingError if nothing exists there.
    """
    format, kind = c.c_int32(), c.c_int32()
    call("identify", path(name), c.byref(format), c.byref(kind))
    return constant_name(format.value), constant_name(kind.value)


def verify(name, fault=None, **options):
    """Reads everything at a path, and verifies all lengths and checksums.

    name: the path, or a spec of a bag (see Bag). fault: is called with each Fault; the call stops
    if it returns False.

    Returns (result, error). The result is a VerifyResult, a named tuple of numbers of records or
    chunks: intact, corrupt (or missing) and unchecked (without a checksum that applies, or of an
    unknown codec, filter or version). error is None if everything is intact, else the Error of the
    first fault, or of a call that gives no verdict (CancelledError, ArgumentError, BusyError).
    corrupt may be 0 with corrupt headers or metadata, so check the error.
    """

    def on_fault(_, part, err):
        return (
            0
            if fault(Fault(part.decode(errors="replace"), _errors.of(err.contents))) is not False
            else 1
        )

    callback = Function("holdall_fault_fn", on_fault) if fault else None
    result, error = struct("verify_result"), None
    with Options(options) as o:
        try:
            pointer = callback.pointer if callback else CALLBACKS["holdall_fault_fn"]()
            o.call(call, "verify", path(name), o.handle, pointer, None, c.byref(result))
        except _errors.Error as e:
            error = e
    if callback:
        callback.check()
    return unpacked(result), error


def repair(name, **options):
    """Repairs a container: restores its last consistent state.

    Completes or rolls back an interrupted change. Intact records and chunks keep their positions.

    name: the path, or a spec of a bag (see Bag).

    Returns a RepairResult, a named tuple: retained, the number of records or chunks, and lost,
    which includes metadata, trailers, commits, names and columns.

    Raises FormatError if the container cannot be repaired, or only with the option skip_damaged,
    BusyError if another writer has it open.
    """
    result = struct("repair_result")
    with Options(options) as o:
        o.call(call, "repair", path(name), o.handle, c.byref(result))
    return unpacked(result)
