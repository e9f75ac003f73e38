"""Arrow's C stream interface in PyCapsules: what pyarrow, Polars, DuckDB and others take, and give."""
import ctypes as c

NAME = b"arrow_array_stream"


class ArrowArrayStream(c.Structure):
    _fields_ = [(name, c.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]

    def let_go(self):
        if self.release:
            c.CFUNCTYPE(None, c.c_void_p)(self.release)(c.addressof(self))


_python = c.pythonapi
_python.PyCapsule_New.restype, _python.PyCapsule_New.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
# Of addresses: when it is destroyed a capsule has no references, and must not get one.
_pointer_of = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", _python))
_streams = {}


@c.PYFUNCTYPE(None, c.c_void_p)
def _destroy(capsule):
    stream = _streams.pop(_pointer_of(capsule, NAME), None)
    if stream is not None:
        stream.let_go()


def capsule(of, name, n):
    """A stream of all n rows or records of a handle."""
    stream = ArrowArrayStream()
    of._call(name, 0, n, 0, c.byref(stream))
    address = c.addressof(stream)
    _streams[address] = stream
    return _python.PyCapsule_New(address, NAME, c.cast(_destroy, c.c_void_p))


def given(data):
    """The address of a stream of what has one, and what must live as long."""
    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"{type(data).__name__} has no __arrow_c_stream__()")
    held = data.__arrow_c_stream__()
    return _pointer_of(id(held), NAME), held
