"""Exceptions: one class per status of the library, and the warnings.

Each class also inherits from the builtin exception of the same meaning, if there is one.
"""

import builtins


class DamageWarning(UserWarning):
    """Warning: corrupt data was skipped because of skip_damaged; it reads as empty or zeros."""


class UncommittedWarning(UserWarning):
    """Warning: a `with` block ended without commit(), so its changes were dropped."""


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

    def __reduce__(self):
        return type(self), (self.message, self.position, self.errno, self.status)

    @property
    def name(self):
        """The name of the status, such as "E_FORMAT"."""
        kind = BY_STATUS.get(self.status)
        return f"E_{kind.__name__.removesuffix('Error').upper()}" if kind else str(self.status)


BY_STATUS: dict = {}


def _error(label, status, *bases):
    name = label.removesuffix("Error").upper()
    attributes = {"status": status, "__doc__": f"HOLDALL_E_{name}.", "__module__": "holdall"}
    BY_STATUS[status] = type(label, (Error, *bases), attributes)
    return BY_STATUS[status]


ArgumentError = _error("ArgumentError", -1, ValueError)
InternalError = _error("InternalError", -2, RuntimeError)
MemoryError = _error("MemoryError", -3, builtins.MemoryError)
BufferError = _error("BufferError", -4, ValueError)
IOError = _error("IOError", -5, OSError)
MissingError = _error("MissingError", -6, FileNotFoundError)
ExistsError = _error("ExistsError", -7, FileExistsError)
FormatError = _error("FormatError", -8, ValueError)
ChecksumError = _error("ChecksumError", -9, ValueError)
VersionError = _error("VersionError", -10, ValueError)
CodecError = _error("CodecError", -11, ValueError)
TypeError = _error("TypeError", -12, builtins.TypeError)
RangeError = _error("RangeError", -13, IndexError)
StateError = _error("StateError", -14, RuntimeError)
LimitError = _error("LimitError", -15, builtins.MemoryError)
CancelledError = _error("CancelledError", -16)
CallbackError = _error("CallbackError", -17)
BusyError = _error("BusyError", -18, BlockingIOError)
UnsupportedError = _error("UnsupportedError", -19, NotImplementedError)


def of(status, message, position=None, errno=0):
    """Returns the exception of a status."""
    return BY_STATUS.get(status, Error)(message, position, errno, status)
