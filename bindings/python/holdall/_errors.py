"""Exceptions: one class per status of the library.

Each class also inherits from the builtin exception of the same meaning, if there is one.
"""

import builtins

from . import _table


class Error(Exception):
    """A failed call of the library.

    status: the status of the header, a negative number. name: its name, such as "E_FORMAT".
    position: the index of the record or chunk that failed, or None. errno: the error number of the
    operating system, or 0. message: the message.
    """

    status = 0

    def __init__(self, message, position=None, errno=0, status=None):
        super().__init__(message)
        self.message, self.position, self.errno = message, position, errno
        self.status = self.status if status is None else status

    def __str__(self):
        return f"{self.message} ({self.name})"

    @property
    def name(self):
        """The name of the status, such as "E_FORMAT"."""
        return next(
            (n for n, v in vars(_table).items() if n.startswith("E_") and v == self.status),
            str(self.status),
        )


def _error(name, *bases):
    status = getattr(_table, "E_" + name.upper())
    label = {"io": "IO"}.get(name, name.capitalize()) + "Error"
    return type(
        label,
        (Error, *bases),
        {"status": status, "__doc__": f"HOLDALL_E_{name.upper()}.", "__module__": "holdall"},
    )


ArgumentError = _error("argument", ValueError)
InternalError = _error("internal", RuntimeError)
MemoryError = _error("memory", builtins.MemoryError)
BufferError = _error("buffer", ValueError)
IOError = _error("io", OSError)
MissingError = _error("missing", FileNotFoundError)
ExistsError = _error("exists", FileExistsError)
FormatError = _error("format", ValueError)
ChecksumError = _error("checksum", ValueError)
VersionError = _error("version", ValueError)
CodecError = _error("codec", ValueError)
TypeError = _error("type", builtins.TypeError)
RangeError = _error("range", IndexError)
StateError = _error("state", RuntimeError)
LimitError = _error("limit", builtins.MemoryError)
CancelledError = _error("cancelled")
CallbackError = _error("callback")
BusyError = _error("busy", BlockingIOError)
UnsupportedError = _error("unsupported", NotImplementedError)

BY_STATUS = {e.status: e for e in Error.__subclasses__()}


def of(err):
    """Returns the exception for a holdall_error."""
    position = None if err.position < 0 else err.position
    kind = BY_STATUS.get(err.status, Error)
    return kind(err.message.decode(errors="replace"), position, err.os_code, err.status)
