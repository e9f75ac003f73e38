"""Chunked, compressed containers: bags of records, superchunks, arrays and tables, by the C library holdall.

What is opened is closed by `with`, by close(), or when nothing refers to it any more; a call behind close() raises
StateError. Options are arguments by name, those of the header in small letters (threads=2, codec="zstd", skip_damaged=True).
All may be used by several threads; nothing counts before commit(). In the place of a path may be storage: Memory(bytes), or an
object with the functions that holdall._storage tells of.
"""
from ._arrays import Array
from ._bags import Bag, BagWriter, Index, Records, Stream
from ._call import DamageWarning, UncommittedWarning, version
from ._errors import (
    ArgumentError, BufferError, BusyError, CallbackError, CancelledError, ChecksumError, CodecError, Error, ExistsError, FormatError,
    IOError, LimitError, MemoryError, MissingError, PanicError, RangeError, StateError, TypeError, UnsupportedError, VersionError,
)  # fmt: skip
from ._schunks import Schunk
from ._storage import Memory
from ._tables import Table
from ._whole import Counts, Fault, identify, repair, verify

# Without BufferError, IOError, MemoryError and TypeError: `import *` must not shadow a builtin.
__all__ = [
    "Array", "Bag", "BagWriter", "Counts", "DamageWarning", "Error", "Fault", "Index", "Memory", "Records", "Schunk", "Stream", "Table",
    "UncommittedWarning", "identify", "repair", "verify", "version",
    "ArgumentError", "BusyError", "CallbackError", "CancelledError", "ChecksumError", "CodecError", "ExistsError", "FormatError",
    "LimitError", "MissingError", "PanicError", "RangeError", "StateError", "UnsupportedError", "VersionError",
]  # fmt: skip
