"""Storages: objects whose methods the library calls instead of accessing files by path.

Every storage has these methods:

    size(name)              returns the size of a file in bytes
    read_at(name, at, n)    returns n bytes at offset `at`; fewer only at the end of the file

A storage for writing also has these:

    write_at(name, at, data)    writes all bytes of data at offset `at`; extends the file if needed
    truncate(name, size)        sets the size of a file in bytes; creates a file that does not exist
    sync(name)                  makes the content, size and name of a file durable
    rename(name, to)            renames a file atomically and replaces a file of the new name
    remove(name)                removes a file

Containers that are folders also need this one:

    list(folder)    returns the names of the files in a folder

A container of one file has the name "".

A method raises FileNotFoundError if the file does not exist. Any other exception ends the call of
the library, which raises it again.

Several threads may call the methods at once. holdall.h documents the requirements of each at
holdall_storage_functions.

A storage has no file name that shows whether the records of a bag are compressed. If they are, set
codec="zstd".
"""

import ctypes as c
import errno
import itertools
import os
import threading

from ._call import STRUCTS, Owned, call, lib, octets, whole

Functions = STRUCTS["holdall_storage_functions"]
EACH = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)
# The storages that the library may call. The key is a number that the library gets as ctx pointer.
# _destroy removes an entry when no handle uses the storage any more.
_used = {}
_numbers = itertools.count(1)


class Storage:
    """A storage that the library uses, and the last exception of its methods."""

    def __init__(self, functions):
        self.functions, self.raised = functions, None

    def check(self):
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def run(self, function, *arguments):
        """Returns the result of the function, or the negative errno of its exception."""
        try:
            return function(self.functions, *arguments)
        except FileNotFoundError:
            return -errno.ENOENT
        except BaseException as e:
            self.raised = e
            return -(getattr(e, "errno", None) or errno.EIO)


class Memory:
    """A read-only storage of one file in memory: Array(Memory(content)).

    content: bytes, or an object with a buffer, which is copied.
    """

    # holdall_storage_from_memory() is not used: objects that the library makes from a bag, such as
    # an Arrow stream, may outlive all references in Python.

    def __init__(self, content):
        self.content = octets(content)

    def size(self, name):
        if name:
            raise FileNotFoundError(name)
        return len(self.content)

    def read_at(self, name, at, n):
        return self.content[at : min(self.size(name), at + n)]


class MemoryFiles:
    """A storage of files in memory that can be written: Array.create(files := MemoryFiles(), ...).

    content: bytes, or an object with a buffer: the file "", a container of one file, which is
    copied; None: no files.

    Several containers may use it at once; a writer excludes others, as on a disk.
    """

    def __init__(self, content=None):
        out = c.c_void_p()
        call("storage_new_memory", c.byref(out))
        self._owned = Owned(out.value, lib.holdall_storage_free)
        self._lock = threading.Lock()
        if content is not None:
            self.put("", content)

    @property
    def names(self):
        """The names of all files, a list."""
        with self._lock:
            count = lib.holdall_storage_file_count(self._owned)
            return [
                os.fsdecode(lib.holdall_storage_file_name(self._owned, i)) for i in range(count)
            ]

    def file(self, name=""):
        """Returns a file as a read-only memoryview, without a copy.

        name: the name of the file; "": the container, if it is one file.

        Later commits do not change the view: the first one copies the file. Raises MissingError if
        the file does not exist.
        """
        out, data, n = c.c_void_p(), c.c_void_p(), c.c_size_t()
        call("storage_clone", self._owned, c.byref(out))
        owned = Owned(out.value, lib.holdall_storage_free)
        call("storage_get_file", owned, os.fsencode(name), c.byref(data), c.byref(n))
        if not n.value:
            return memoryview(b"")
        room = (c.c_uint8 * n.value).from_address(data.value)
        room.owned = owned
        return memoryview(room).cast("B").toreadonly()

    def put(self, name, content):
        """Stores a file, which is copied. Open containers keep a previous file of this name."""
        content = octets(content)
        with self._lock:
            call("storage_put_file", self._owned, os.fsencode(name), content, len(content))


def _size(storage, name):
    return whole(storage.size(name), c.c_int64)


def _read_at(storage, name, at, dst, n):
    data = memoryview(storage.read_at(name, at, n)).cast("B")
    if len(data) > n:
        message = f"{name!r}: read_at() returned too many bytes (expected {n}, found {len(data)})"
        raise ValueError(message)
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
READ = {
    "size": _function(_size, c.c_char_p),
    "read_at": _function(_read_at, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t),
}
WRITE = {
    "write_at": _function(_write_at, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t),
    "truncate": _function(_done("truncate"), c.c_char_p, c.c_uint64),
    "sync": _function(_done("sync"), c.c_char_p),
    "rename": _function(_done("rename"), c.c_char_p, c.c_char_p),
    "remove": _function(_done("remove"), c.c_char_p),
}
LIST = {"list": _function(_list, c.c_char_p, EACH, c.c_void_p)}


class Location:
    """The storages that replace a path in a call: one, or several for a bag."""

    def __init__(self, *storages):
        self.storages, self.opened = [], []
        for storage in storages:
            if isinstance(storage, MemoryFiles):
                self.opened.append(storage._owned)
            else:
                self.storages.append(Storage(storage))
                self.opened.append(opened(self.storages[-1]))

    def check(self):
        for storage in self.storages:
            storage.check()

    def handles(self):
        """Returns a C array of the handles, which belong to this object."""
        return (c.c_void_p * len(self.opened))(
            *(storage._as_parameter_.value for storage in self.opened)
        )


def opened(storage):
    """Returns the handle of a new storage of the library."""
    number, out = next(_numbers), c.c_void_p()
    some = {
        **READ,
        **(WRITE if hasattr(storage.functions, "write_at") else {}),
        **(LIST if hasattr(storage.functions, "list") else {}),
    }
    pointers = {name: c.cast(function, c.c_void_p) for name, function in some.items()}
    table = Functions(
        struct_size=c.sizeof(Functions),
        ctx=number,
        destroy=c.cast(_destroy, c.c_void_p),
        **pointers,
    )
    _used[number] = storage
    call("storage_from_functions", c.byref(table), c.byref(out))
    return Owned(out.value, lib.holdall_storage_free)


def target_of(name):
    """Returns a path as bytes, or the Location of a storage or a list of storages."""
    storages = name if isinstance(name, (list, tuple)) and name else [name]
    is_storage = all(isinstance(s, MemoryFiles) or hasattr(s, "read_at") for s in storages)
    return Location(*storages) if is_storage else os.fsencode(name)
