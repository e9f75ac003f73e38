"""Python interface of the C library holdall: chunked, compressed containers.

The containers are bags of records, superchunks, arrays, tables and stores.

An object is closed by `with`, by close(), or when nothing refers to it any more. A call after
close() raises StateError.

Options are keyword arguments. Their names are those of the header in lower case, without
HOLDALL_OPT_: threads=2, codec="zstd", skip_damaged=True. None means the default.

Several threads may use one object at once. Calls that change a container wait for other calls with
the same object. Reads never wait for each other. A callback must not use the object that it is
called for.

Changes are durable and visible only after commit(). refresh() moves an object that was opened for
reading to the newest commit.

Results, including NumPy arrays, Records and Arrow streams, own their memory or keep it alive. They
stay valid after changes, refresh() and close().

Where a path opens or creates a container, a storage may be passed instead: Memory(bytes),
MemoryFiles(), or an object with the methods of Storage.

A failed call raises Error or one of its subclasses, one per status of the header.
"""

import collections.abc

from ._arrays import Array
from ._errors import (
    ArgumentError, BufferError, BusyError, CallbackError, CancelledError, ChecksumError, CodecError,
    DamageWarning, Error, ExistsError, FormatError, InternalError, IOError, LimitError, MemoryError,
    MissingError, RangeError, StateError, TypeError, UncommittedWarning, UnsupportedError, VersionError,
)  # fmt: skip
from ._infos import (
    ArrayInfo, BagInfo, ChunkInfo, RepairResult, SchunkInfo, Split, TableInfo, VerifyResult,
)  # fmt: skip
from ._native import (
    Bag, BagWriter, Index, Memory, MemoryFiles, Records, Stream, train_dictionary, version,
)  # fmt: skip
from ._parts import ArrayPart, BagPart, TablePart, commit_parts, discard_parts, list_parts
from ._schunks import Schunk, SchunkStream
from ._storage import RangeStorage, Storage
from ._stores import Store
from ._tables import Table
from ._whole import Fault, identify, repair, verify

__version__ = version().split()[0]

collections.abc.Sequence.register(Bag)
collections.abc.Sequence.register(Records)

# BufferError, IOError, MemoryError and TypeError are omitted: `import *` must not shadow a builtin.
__all__ = [
    "Array", "ArrayInfo", "ArrayPart", "Bag", "BagInfo", "BagPart", "BagWriter", "ChunkInfo",
    "DamageWarning", "Error", "Fault", "Index", "Memory", "MemoryFiles", "RangeStorage", "Records", "RepairResult",
    "Schunk", "SchunkInfo", "SchunkStream", "Split", "Storage", "Store", "Stream", "Table", "TableInfo",
    "TablePart", "UncommittedWarning", "VerifyResult", "commit_parts", "discard_parts", "identify",
    "list_parts", "repair", "train_dictionary", "verify", "version", "ArgumentError", "BusyError",
    "CallbackError", "CancelledError", "ChecksumError", "CodecError", "ExistsError", "FormatError", "InternalError",
    "LimitError", "MissingError", "RangeError", "StateError", "UnsupportedError", "VersionError",
]  # fmt: skip
