"""Identification, verification and repair of containers."""
import collections
import ctypes as c

from . import _errors, _table
from ._call import CALLBACKS, Function, Options, call, path

Counts = collections.namedtuple("Counts", "sound bad unchecked")
Fault = collections.namedtuple("Fault", "part error")


def _name(prefix, value):
    return next(n[len(prefix) :].lower() for n, v in vars(_table).items() if n.startswith(prefix) and v == value)


def identify(name):
    """Returns the format and kind of the container at a path, such as ("b2nd", "array").

    name: the path, or a spec of a bag (see Bag).

    Raises FormatError for an unknown format, MissingError if nothing exists there.
    """
    format, kind = c.c_int32(), c.c_int32()
    call("identify", path(name), c.byref(format), c.byref(kind))
    return _name("FORMAT_", format.value), _name("KIND_", kind.value)


def verify(name, fault=None, **options):
    """Reads everything at a path, and verifies all lengths and checksums.

    name: the path, or a spec of a bag (see Bag). fault: is called with each Fault; the call stops
    if it returns False.

    Returns (Counts, error). Counts has the numbers of records or chunks: sound (intact),
    bad (corrupt or missing) and unchecked (without a checksum that applies, or of an unknown codec,
    filter or version). error is None if everything is intact, else the Error of the first fault,
    or of a call that gives no verdict (CancelledError, ArgumentError, BusyError). bad may be 0 with
    corrupt headers or metadata, so check the error.
    """

    def on_fault(_, part, err):
        return 0 if fault(Fault(part.decode(errors="replace"), _errors.of(err.contents))) is not False else 1

    callback = Function("holdall_fault_fn", on_fault) if fault else None
    counts, error = [c.c_uint64() for _ in range(3)], None
    with Options(options) as o:
        try:
            pointer = callback.pointer if callback else CALLBACKS["holdall_fault_fn"]()
            call("verify", path(name), o.handle, pointer, None, *map(c.byref, counts))
        except _errors.Error as e:
            error = e
        o.check()
    if callback:
        callback.check()
    return Counts(*(n.value for n in counts)), error


def repair(name, **options):
    """Repairs a container: restores its last consistent state.

    Completes or rolls back an interrupted change. Intact records and chunks keep their positions.

    name: the path, or a spec of a bag (see Bag).

    Returns (retained, dropped): the numbers of records or chunks retained and lost. dropped
    includes metadata, trailers, commits, names and columns.

    Raises FormatError if the container cannot be repaired, or only with the option skip_damaged,
    BusyError if another writer has it open.
    """
    retained, dropped = c.c_uint64(), c.c_uint64()
    with Options(options) as o:
        call("repair", path(name), o.handle, c.byref(retained), c.byref(dropped))
    return retained.value, dropped.value
