"""Where the bytes live when that is no path: an object whose functions the library calls, in the place of a name.

It has

    size(name)              the length of a file
    read_at(name, at, n)    n bytes of it from byte `at` on, fewer only at its end

and where it is to be written to write_at(name, at, data), truncate(name, size), which makes a file that is not there, sync(name),
rename(name, to), remove(name), and for folders list(folder), the names in one. A container of one file has the name "". They raise
FileNotFoundError where there is no such file; what else they raise ends the call that called them. Several threads may call
them. What each has to promise is said at holdall_io_functions in holdall.h. No name tells whether the records of a bag are
compressed: codec="zstd" where they are.
"""
import ctypes as c
import errno
import itertools
import os

from ._call import STRUCTS, Owned, call, lib, octets, whole

Functions = STRUCTS["holdall_io_functions"]
EACH = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)
# The storage that the library may call, by the number that it has in place of a pointer: until it says that nothing uses it any more.
_used = {}
_numbers = itertools.count(1)


class Storage:
    """An object that the library uses, and what its functions raised."""

    def __init__(self, functions):
        self.functions, self.raised = functions, None

    def check(self):
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def run(self, function, *arguments):
        """What the function returns, or the negative errno of what it raised."""
        try:
            return function(self.functions, *arguments)
        except FileNotFoundError:
            return -errno.ENOENT
        except BaseException as e:
            self.raised = e
            return -(getattr(e, "errno", None) or errno.EIO)


class Memory:
    """Storage that is one file, of these bytes: Array(Memory(content))."""

    # Not holdall_io_from_memory(): what is made of a bag, such as an Arrow stream, may outlive all that Python sees of it.

    def __init__(self, content):
        self.content = octets(content)

    def size(self, name):
        if name:
            raise FileNotFoundError(name)
        return len(self.content)

    def read_at(self, name, at, n):
        return self.content[at : min(self.size(name), at + n)]


def _size(storage, name):
    return whole(storage.size(name), c.c_int64)


def _read_at(storage, name, at, dst, n):
    data = memoryview(storage.read_at(name, at, n)).cast("B")
    if len(data) > n:
        raise ValueError(f"{name!r}: {len(data)} bytes were read, not the {n} from {at} on")
    c.memmove(dst, bytes(data), len(data))
    return len(data)


def _write_at(storage, name, at, src, n):
    storage.write_at(name, at, c.string_at(src, n))
    return n


def _list(storage, folder, each, arg):
    for name in storage.list(folder):
        if each(arg, os.fsencode(name)):
            break
    return 0


def _done(name):
    def run(storage, *arguments):
        getattr(storage, name)(*arguments)
        return 0

    return run


def _function(run, *kinds):
    def called(number, *arguments):
        given = (os.fsdecode(a) if isinstance(a, bytes) else a for a in arguments)
        return _used[number].run(run, *given)

    return c.CFUNCTYPE(c.c_int64, c.c_void_p, *kinds)(called)


_destroy = c.CFUNCTYPE(None, c.c_void_p)(lambda number, pop=_used.pop: pop(number, None))
READ = {"size": _function(_size, c.c_char_p), "read_at": _function(_read_at, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t)}
WRITE = {
    "write_at": _function(_write_at, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t),
    "truncate": _function(_done("truncate"), c.c_char_p, c.c_uint64),
    "sync": _function(_done("sync"), c.c_char_p),
    "rename": _function(_done("rename"), c.c_char_p, c.c_char_p),
    "remove": _function(_done("remove"), c.c_char_p),
}
LIST = {"list": _function(_list, c.c_char_p, EACH, c.c_void_p)}


class Place:
    """Storage, one or for a bag several, as arguments in the place of a path."""

    def __init__(self, *places):
        self.storages = [Storage(place) for place in places]
        self.opened = [opened(storage) for storage in self.storages]

    def check(self):
        for storage in self.storages:
            storage.check()

    def given(self, call):
        """To this call: a bag is of several."""
        if call == "bag_open":
            return (c.c_void_p * len(self.opened))(*(io._as_parameter_.value for io in self.opened)), len(self.opened)
        if len(self.opened) != 1:
            raise ValueError(f"{len(self.opened)} places, where one is wanted")
        return (self.opened[0],)


def opened(storage):
    """A handle of C's."""
    number, out = next(_numbers), c.c_void_p()
    some = {**READ, **(WRITE if hasattr(storage.functions, "write_at") else {}), **(LIST if hasattr(storage.functions, "list") else {})}
    pointers = {name: c.cast(function, c.c_void_p) for name, function in some.items()}
    table = Functions(struct_size=c.sizeof(Functions), ctx=number, destroy=c.cast(_destroy, c.c_void_p), **pointers)
    _used[number] = storage
    call("io_from_functions", c.byref(table), c.byref(out))
    return Owned(out.value, lib.holdall_io_close)


def place(name):
    """A path as C has it; or storage, or a list of it, for the call that opens it."""
    places = name if isinstance(name, (list, tuple)) and name else [name]
    return Place(*places) if all(hasattr(one, "read_at") for one in places) else os.fsencode(name)
