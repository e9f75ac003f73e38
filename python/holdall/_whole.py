"""What is it, is it sound, make it whole."""
import collections
import ctypes as c

from . import _errors, _table
from ._call import CALLBACKS, Function, Options, call, path

Counts = collections.namedtuple("Counts", "sound bad unchecked")
Fault = collections.namedtuple("Fault", "part error")


def _name(prefix, value):
    return next(n[len(prefix) :].lower() for n, v in vars(_table).items() if n.startswith(prefix) and v == value)


def identify(name):
    """Format and kind of what is at a path, such as ("b2nd", "array")."""
    format, kind = c.c_int32(), c.c_int32()
    call("identify", path(name), c.byref(format), c.byref(kind))
    return _name("FORMAT_", format.value), _name("KIND_", kind.value)


def verify(name, fault=None, **options):
    """Reads and checks everything at a path: (Counts, error), where the error is None if all is sound, and else the first Fault's.
    fault: is called with each Fault, and stops it with False."""

    def tell(_, part, err):
        return 0 if fault(Fault(part.decode(errors="replace"), _errors.of(err.contents))) is not False else 1

    told = Function("holdall_fault_fn", tell) if fault else None
    counts, error = [c.c_uint64() for _ in range(3)], None
    with Options(options) as o:
        try:
            call("verify", path(name), o.handle, told.pointer if told else CALLBACKS["holdall_fault_fn"](), None, *map(c.byref, counts))
        except _errors.Error as e:
            error = e
        o.check()
    if told:
        told.check()
    return Counts(*(n.value for n in counts)), error


def repair(name, **options):
    """Brings what was torn back to its last whole state: how many records or chunks were kept, and dropped."""
    kept, dropped = c.c_uint64(), c.c_uint64()
    with Options(options) as o:
        call("repair", path(name), o.handle, c.byref(kept), c.byref(dropped))
    return kept.value, dropped.value
