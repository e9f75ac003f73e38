"""The Arrow C stream interface in PyCapsules.

pyarrow, Polars, DuckDB and others accept and return such capsules.
"""

import ctypes as c

NAME = b"arrow_array_stream"


class ArrowArrayStream(c.Structure):
    _fields_ = [
        (name, c.c_void_p)
        for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")
    ]

    def drop(self):
        if self.release:
            c.CFUNCTYPE(None, c.c_void_p)(self.release)(c.addressof(self))


_python = c.pythonapi
_python.PyCapsule_New.restype, _python.PyCapsule_New.argtypes = (
    c.py_object,
    [c.c_void_p, c.c_char_p, c.c_void_p],
)
# Takes an address: a capsule has no references while it is destroyed, and must not get one.
_pointer_of = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", _python))
_streams = {}


@c.PYFUNCTYPE(None, c.c_void_p)
def _destroy(capsule):
    stream = _streams.pop(_pointer_of(capsule, NAME), None)
    if stream is not None:
        stream.drop()


def capsule(of, name, *range_of):
    """Returns a capsule with a stream of rows or records of a handle.

    range_of: the arguments of the function between the handle and the rows per batch.
    """
    stream = ArrowArrayStream()
    of._call(name, *range_of, 0, c.byref(stream))
    address = c.addressof(stream)
    _streams[address] = stream
    return _python.PyCapsule_New(address, NAME, c.cast(_destroy, c.c_void_p))


class ArrowSchema(c.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", c.c_void_p),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(ArrowSchema))),
    ("dictionary", c.c_void_p),
    ("release", c.c_void_p),
    ("private_data", c.c_void_p),
]


def fields(requested):
    """Returns the names of the fields of a capsule with a schema."""
    schema = ArrowSchema.from_address(_pointer_of(id(requested), b"arrow_schema"))
    return [schema.children[i].contents.name.decode() for i in range(schema.n_children)]


def given(data):
    """Returns the address of an Arrow stream, and the object that must outlive it.

    Raises TypeError if the data have no stream.
    """
    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"{type(data).__name__} has no __arrow_c_stream__()")
    held = data.__arrow_c_stream__()
    return _pointer_of(id(held), NAME), held
