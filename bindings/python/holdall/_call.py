"""Loads the library and calls its functions: options, errors, handles.

_table.py lists the functions and their parameters.
"""

import collections
import contextlib
import ctypes as c
import operator
import os
import pathlib
import sys
import threading
import types
import warnings
from threading import get_ident

from . import _errors, _table

NUMBERS = {
    "int": c.c_int, "i32": c.c_int32, "i64": c.c_int64, "u8": c.c_uint8, "u32": c.c_uint32,
    "u64": c.c_uint64, "size": c.c_size_t, "char": c.c_char, "str": c.c_char_p, "void": None,
}  # fmt: skip


class DamageWarning(UserWarning):
    """Warning: corrupt data was skipped because of skip_damaged; it reads as empty or zeros."""


class UncommittedWarning(UserWarning):
    """Warning: a `with` block ended without commit(), so its changes were dropped."""


def whole(value, ctype=c.c_uint64):
    """Returns an integer in the range of a C type.

    ctypes itself truncates a value that is too large. Raises OverflowError out of the range.
    """
    i = operator.index(value)
    bits, signed = 8 * c.sizeof(ctype), ctype(-1).value == -1
    low, end = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    if not low <= i < end:
        raise OverflowError(f"{i} is out of range (expected {low} to {end - 1})")
    return i


def octets(value):
    """Returns the bytes of an object with a buffer.

    bytes() itself returns zeros for an integer. Raises TypeError without a buffer, or for a buffer
    of Python objects.
    """
    if isinstance(value, bytes):
        return value
    view = memoryview(value)
    if "O" in view.format:
        raise TypeError("a buffer of Python objects has no bytes to store")
    return view.tobytes()


def _field(kind):
    """Returns the ctypes type of a field. An array can be assigned to a pointer to its items."""
    kind, _, of = kind.partition(" ")
    if kind == "ptr":
        return c.c_void_p if of == "void" else c.POINTER(NUMBERS.get(of) or c.c_char_p)
    return NUMBERS[kind] * int(of) if of else NUMBERS[kind]


STRUCTS = {
    name: type(name, (c.Structure,), {"_fields_": [(f, _field(k)) for f, k in fields]})
    for name, fields in _table.STRUCTS.items()
}
CError = STRUCTS["holdall_error"]


def struct(name, **fields):
    """Returns a structure of the header with its size and some fields set.

    Raises OverflowError for an integer out of the range of its field.
    """
    kind = STRUCTS["holdall_" + name]
    types = dict(kind._fields_)
    return kind(
        struct_size=c.sizeof(kind),
        **{f: whole(v, types[f]) if isinstance(v, int) else v for f, v in fields.items()},
    )


# Fields of structures: those that describe others, and those with constants, which become names.
_HELPERS = {"struct_size", "filter_count", "reserved"}
_CONSTANTS = {"format", "codec", "checksum", "order", "limits", "shards"}


def _tuple(name):
    label = "".join(part.capitalize() for part in name.split("_")[1:])
    return collections.namedtuple(
        label, [f for f, _ in _table.STRUCTS[name] if f not in _HELPERS], module="holdall"
    )


TUPLES = {name: _tuple(name) for name in STRUCTS if name.endswith(("_info", "_result"))}


def constant_name(number):
    """Returns the name of a constant, such as "zstd"; None if there is none."""
    name = lib.holdall_constant_name(number)
    return name and name.decode()


def unpacked(info):
    """Returns the fields of an info or result structure as a named tuple."""
    made = TUPLES[type(info).__name__]
    kinds = dict(_table.STRUCTS[type(info).__name__])
    return made(*(_unpacked(info, field, kinds[field]) for field in made._fields))


def _unpacked(info, field, kind):
    value = getattr(info, field)
    if field in _CONSTANTS:
        return constant_name(value)
    if field == "filters":
        return tuple(map(constant_name, value[: info.filter_count]))
    if kind == "ptr u64":
        return tuple(value[: info.ndim])
    if kind == "str":
        return value.decode()
    return bool(value) if field.startswith("is_") else value


def _whole_of(ctype):
    """Returns the type of an integer argument: raises an error where ctypes would convert."""
    end = 1 << 8 * c.sizeof(ctype) - 1  # smaller values fit, signed or not

    def from_param(value):
        if type(value) is int and 0 <= value < end:
            return ctype(value)
        return ctype(whole(value, ctype))

    return types.SimpleNamespace(from_param=from_param)


# Sizes are not checked: they are lengths of buffers, and reading one record passes two of them.
WHOLE = {kind: _whole_of(NUMBERS[kind]) for kind in ("int", "i32", "i64", "u8", "u32", "u64")}


def _type(kind, pointer=c.c_void_p):
    """Returns the ctypes type of an argument.

    A pointer may be an address, a result of byref(), an array, a handle, or None.
    """
    return (
        CALLBACKS[kind[3:]]
        if kind.startswith("fn ")
        else pointer
        if kind.startswith("ptr ")
        else NUMBERS[kind]
    )


def _callback(result, *parameters):
    # A callback reads its arguments by type: a pointer to a number, or to an error.
    pointers = {
        "ptr " + kind: c.POINTER(t) for kind, t in [*NUMBERS.items(), *STRUCTS.items()] if t
    }
    return c.CFUNCTYPE(_type(result), *(pointers.get(k) or _type(k) for k in parameters))


CALLBACKS = {}
CALLBACKS.update((name, _callback(*kinds)) for name, kinds in _table.CALLBACKS.items())


def _candidates():
    """Returns the paths to load the library from, in order of precedence.

    These are HOLDALL_LIB alone if it is set; else the folder of this file, the installation
    prefix, and the search path of the loader.
    """
    if os.environ.get("HOLDALL_LIB"):
        return [os.environ["HOLDALL_LIB"]]
    version = f"{_table.VERSION_MAJOR}.{_table.VERSION_MINOR}"
    name = f"libholdall.{version}.dylib" if sys.platform == "darwin" else f"libholdall.so.{version}"
    plain = "libholdall.dylib" if sys.platform == "darwin" else "libholdall.so"
    here = pathlib.Path(__file__).resolve().parent  # in a wheel
    beside = [str(here / n) for n in (name, plain) if (here / n).exists()]
    if len(pathlib.Path(__file__).resolve().parents) > 4:
        prefix = (
            pathlib.Path(__file__).resolve().parents[4]
        )  # of PREFIX/share/holdall/python/holdall
        beside += [
            str(found)
            for lib in ("lib", "lib64")
            for found in (*(prefix / lib).glob(name), *(prefix / lib).glob("*/" + name))
        ]
    return [*beside, name]


def _load():
    tried = []
    for candidate in _candidates():
        try:
            return c.CDLL(candidate)
        except OSError as e:
            tried.append(str(e))
    raise ImportError(
        "the library holdall was not found; set HOLDALL_LIB to its path: " + "; ".join(tried)
    )


lib = _load()
for _name, (_result, *_parameters) in _table.FUNCTIONS.items():
    _function = getattr(lib, _name, None)
    if _function is None:
        raise ImportError(
            f"{lib._name} has no function {_name}: its version differs from that of this module"
        )
    _function.restype, _function.argtypes = (
        _type(_result),
        [WHOLE.get(k) or _type(k) for k in _parameters],
    )


def version():
    """Returns the versions of the library and its codecs as text."""
    return lib.holdall_version_text().decode()


def call(name, *arguments):
    """Calls a function that can fail, and returns its status, 0 or more.

    Raises the exception of a negative status.
    """
    err = CError()
    try:
        status = getattr(lib, "holdall_" + name)(*arguments, c.byref(err))
    except c.ArgumentError:
        # ctypes replaces every error of from_param() by its own class: raise the original one.
        for value, kind in zip(arguments, _table.FUNCTIONS["holdall_" + name][1:]):
            if kind in WHOLE:
                WHOLE[kind].from_param(value)
        raise
    if status < 0:
        raise _errors.of(err)
    return status


def warn_damaged(status):
    """Warns if the status reports that corrupt data was skipped."""
    if status == _table.DAMAGED:
        warnings.warn("corrupt data was skipped", DamageWarning, stacklevel=4)


class Function:
    """A Python function that the library calls.

    An exception of the function is raised again by the call that ran it.
    """

    def __init__(self, kind, function, failed=-1):
        def run(*arguments):
            try:
                return function(*arguments)
            except BaseException as e:
                self.raised = e
                return failed

        self.raised = None
        self.pointer = CALLBACKS[kind](run)

    def check(self):
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised


# Prefixes of the constants that an option accepts by name.
PREFIXES = {
    "codec": "CODEC_", "checksum": "CHECKSUM_", "filters": "FILTER_", "io": "IO_",
    "bag_limits": "BAG_LIMITS_", "bag_shards": "BAG_SHARDS_",
}  # fmt: skip


def number(prefix, value):
    """Returns a constant of the header, given by name in any case, or as a number.

    Raises ValueError for an unknown name.
    """
    if not isinstance(value, str):
        return operator.index(value)
    found = getattr(_table, prefix + value.upper(), None)
    if found is None:
        said = sorted(n[len(prefix) :].lower() for n in vars(_table) if n.startswith(prefix))
        raise ValueError(f"unknown name {value!r} (expected one of {', '.join(said)})")
    return found


class Options:
    """A set of options that exists during a `with` block."""

    def __init__(self, values):
        self.keep = []
        self.values = {name: value for name, value in values.items() if value is not None}
        for name in self.values:
            if name != "progress" and not hasattr(_table, "OPT_" + name.upper()):
                raise TypeError(f"unknown option {name!r}")

    def __enter__(self):
        self.handle = lib.holdall_options_new()
        try:
            for name, value in self.values.items():
                self.set(name, value)
        except BaseException:
            self.__exit__()
            raise
        return self

    def set(self, name, value):
        if name == "progress":
            function = Function(
                "holdall_progress_fn",
                lambda _, done, total: 0 if value(done, total) is not False else 1,
            )
            self.keep.append(function)
            lib.holdall_options_set_progress(self.handle, function.pointer, None)
            return
        option = getattr(_table, "OPT_" + name.upper())
        if name == "filters" and not isinstance(value, bytes):
            value = bytes(
                number("FILTER_", f) for f in ([value] if isinstance(value, str) else value)
            )
        if isinstance(value, (bytes, bytearray)):
            call("options_set_bytes", self.handle, option, bytes(value), len(value))
        elif isinstance(value, str) and name not in PREFIXES:
            raise TypeError(f"option {name}: expected a number, found {value!r}")
        else:
            call("options_set", self.handle, option, number(PREFIXES.get(name), value))

    def path(self, target):
        """Returns the path to pass to a function; a _storage.Location becomes an option instead."""
        if not hasattr(target, "handles"):
            return target
        self.keep.append(target)
        call("options_set_storage", self.handle, target.handles(), len(target.opened))
        return None

    def call(self, function, *arguments):
        """Calls a function with these options, and returns its result.

        Raises the exception of a callback in place of the error that it caused.
        """
        try:
            return function(*arguments)
        except _errors.Error:
            check(self.keep)
            raise

    def __exit__(self, *_):
        lib.holdall_options_free(self.handle)


class Owned:
    """A handle of the C library, closed when nothing refers to it, including calls in progress."""

    def __init__(self, pointer, close, keep=()):
        self._as_parameter_ = c.c_void_p(pointer)
        self.close, self.keep = close, list(keep)

    def __del__(self):
        self.close(self._as_parameter_)


def check(owners):
    """Raises the exception of a callback, if one of these raised one."""
    for one in owners:
        if hasattr(one, "check"):
            one.check()


def run(owned, name, *arguments):
    """Calls a function of a handle that can fail, and returns its status."""
    try:
        return call(name, owned, *arguments)
    except _errors.Error:
        check(owned.keep)
        raise


def sized(owned, name, *arguments):
    """Calls a function first for the size, then for the bytes, and returns the bytes."""
    n = c.c_size_t()
    run(owned, name, *arguments, None, 0, c.byref(n))
    dst = c.create_string_buffer(max(n.value, 1))
    warn_damaged(run(owned, name, *arguments, dst, n.value, c.byref(n)))
    return dst.raw[: n.value]


class NoLock:
    """A lock that does nothing, for handles that no call changes."""

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


NoLock = NoLock()


class Handle:
    """Base class of objects with close(), which are closed at the end of a `with` block.

    A handle that is opened for changes has a lock, so that several threads may use it.
    """

    _owned = None
    _lock = NoLock
    _closes = ""
    _uncommitted = False

    def _take(self, pointer, keep=(), changes=False):
        self._owned = Owned(pointer, getattr(lib, self._closes), keep)
        if changes:
            self._lock = threading.RLock()

    def _open(self, options, name, target, *arguments, keep=(), changes=False):
        """Calls a function that opens a handle, and takes the handle, the output after the options.

        target: the first argument: a handle, a path or a _storage.Location.
        """
        out = c.c_void_p()
        with Options(options) as o:
            o.keep += keep
            o.call(call, name, o.path(target), *arguments, o.handle, c.byref(out))
            self._take(out.value, o.keep, changes)

    def _copy(self, options, name, target, *arguments):
        """Calls a function that copies the container to a path or a _storage.Location."""
        with Options(options) as o:
            warn_damaged(o.call(self._call, name, o.path(target), *arguments, o.handle))

    def _info(self, name, kind, *arguments):
        """Calls a function that fills an info structure, and returns it as a named tuple."""
        info = struct(kind)
        with self._lock:
            self._call(name, *arguments, c.byref(info))
            return unpacked(info)

    @property
    def _p(self):
        """The handle, for one call. Raises StateError if it is closed."""
        owned = self._owned
        if owned is None:
            raise _errors.StateError("the handle is closed")
        return owned

    def _call(self, name, *arguments):
        """Calls a function of the handle that can fail, and returns its status."""
        with self._lock:
            return run(self._p, name, *arguments)

    def _change(self, name, *arguments):
        """Calls a function that makes a change for the next commit."""
        with self._lock:
            self._call(name, *arguments)
            self._uncommitted = True

    def _commit(self, name):
        with self._lock:
            self._call(name)
            self._uncommitted = False

    def _get(self, name, *arguments):
        """Calls a function of the handle that cannot fail, and returns its result."""
        with self._lock:
            return getattr(lib, "holdall_" + name)(self._p, *arguments)

    def _value(self, name, key):
        """Returns a named value as bytes, or None if there is none."""
        value, n = c.c_void_p(), c.c_size_t()
        with self._lock:
            status = self._call(name, key.encode(), c.byref(value), c.byref(n))
            warn_damaged(status)
            return c.string_at(value, n.value) if status == _table.OK else None

    def close(self):
        """Closes the object. Changes since the last commit() are dropped.

        Calls in progress complete normally. Closing a closed object has no effect.
        """
        self._owned = None

    def __enter__(self):
        return self

    def __exit__(self, raised, *_):
        lost = self._uncommitted and self._owned is not None and raised is None
        self.close()
        if lost:
            warnings.warn("changes without commit() were dropped", UncommittedWarning, stacklevel=2)


class Readers:
    """A readers-writer lock of a handle. The writer is refresh(), the readers are all other calls.

    Each thread has an RLock of its own, so that readers never wait for each other. refresh()
    acquires all of them.
    """

    def __init__(self):
        self.locks = {}  # by thread
        self.free = self.locks  # empty during a refresh, so that new calls wait for it
        self.turn = threading.Lock()  # held by a refresh, or to add a thread

    def mine(self):
        """Returns the lock of the current thread, if `free` has none."""
        thread = get_ident()
        lock = self.locks.get(thread)
        if lock is not None and lock._is_owned():
            return lock  # a call within another one, for which the refresh waits
        with self.turn:
            return self.locks.setdefault(thread, threading.RLock())

    @contextlib.contextmanager
    def exclusive(self):
        """Waits for calls in progress, and makes new calls wait.

        Raises StateError in a callback of a call of the same handle, which would never end.
        """
        if self.mine()._is_owned():
            raise _errors.StateError("a callback cannot refresh the object that it is called for")
        with self.turn:
            self.free = {}
            try:
                with contextlib.ExitStack() as stack:
                    for lock in self.locks.values():
                        stack.enter_context(lock)
                    yield
            finally:
                self.free = self.locks


class ThreadLock:
    """The attribute _lock of a handle that has Readers: the lock of the current thread."""

    def __get__(self, handle, _):
        readers = handle._readers
        return readers.free.get(get_ident()) or readers.mine()


class Container(Handle):
    """Base class of open containers, which can follow a writer."""

    _kind = ""
    _lock = ThreadLock()  # of handles for reading; those for changes have an attribute of their own

    def _take(self, pointer, keep=(), changes=False):
        super()._take(pointer, keep, changes)
        self._readers = Readers()

    @property
    def generation(self):
        """The number of commits through this object, and of refreshes that may have found one."""
        return self._get(self._kind + "_generation")

    def refresh(self):
        """Moves an object that was opened for reading to the newest commit.

        Lengths, dtypes, columns and named values are those of the new commit. Results of earlier
        reads do not change. Without a newer commit, it takes about one system call per file.

        Waits for calls in progress in other threads; their later calls wait for it. A callback of
        a call must not refresh the same object. After an error the object is unchanged.

        Raises StateError if the object was opened for changes, and the errors of opening.
        """
        with self._readers.exclusive():
            self._call(self._kind + "_refresh")


def mode_of(name):
    """Returns the constant of a mode.

    "r": reads. "a": changes an existing container. "x": creates a container; none may exist.
    "w": creates a container and replaces an existing one. Raises ValueError for another mode.
    """
    try:
        return {"r": _table.READ, "a": _table.APPEND, "x": _table.CREATE, "w": _table.REPLACE}[name]
    except KeyError:
        raise ValueError(f"unknown mode {name!r} (expected r, a, x or w)") from None


def path(name):
    return os.fsencode(name)


def numbers(values, ctype=c.c_uint64):
    """Returns a C array of integers; None for None."""
    ctype = c.c_size_t if ctype is c.c_void_p else ctype  # addresses
    return (
        None
        if values is None
        else (ctype * max(len(values), 1))(*(whole(n, ctype) for n in values))
    )
