"""Superchunks: a sequence of bytes in compressed chunks."""

import ctypes as c
import errno
import io

from ._call import (
    Container, Function, Handle, mode_of, number, octets, sized, warn_damaged, whole,
)  # fmt: skip
from ._storage import target_of

SIZE = c.c_size_t
UNKNOWN = (1 << 64) - 1  # the length of a stream


class Schunk(Container):
    """An open superchunk. Schunk.create() creates one.

    len() is the number of bytes of content. Offsets and lengths are in bytes. Chunks are numbered
    from 0.

    name: a path or a storage. mode: "r" to read, "a" to read and change.
    """

    _kind, _closes = "schunk", "holdall_schunk_close"

    def __init__(self, name, mode="r", **options):
        self._open(options, "schunk_open", target_of(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, typesize=1, format="bloscpack", mode="x", **options):
        """Creates a superchunk and opens it for changes.

        name: a path or a storage. typesize: bytes per item, for filters. format: "bloscpack" or
        "b2frame". mode: "x" creates; "w" also replaces. Raises ExistsError if the path exists
        (mode "x").
        """
        made = cls.__new__(cls)
        made._open(
            options,
            "schunk_create",
            target_of(name),
            mode_of(mode),
            number("FORMAT_", format),
            whole(typesize, SIZE),
            changes=True,
        )
        made._uncommitted = True
        return made

    def __len__(self):
        return self._get("schunk_nbytes")

    chunk_count = property(lambda self: self._get("schunk_chunk_count"), doc="Number of chunks.")
    info = property(
        lambda self: self._info("schunk_get_info", "schunk_info"),
        doc="A SchunkInfo, a named tuple with the fields of holdall_schunk_info.",
    )
    stored_bytes = property(
        lambda self: self.info.stored_bytes,
        doc="Size on disk in bytes at the last commit.",
    )
    typesize = property(lambda self: self.info.typesize, doc="Bytes per item.")
    chunk_size = property(
        lambda self: self.info.chunk_size,
        doc="Bytes of content per chunk; 0 for chunks of any length.",
    )
    codec = property(lambda self: self.info.codec, doc='Name of the codec, such as "zstd".')
    level = property(lambda self: self.info.level, doc="Compression level; -1 if it is not stored.")
    filters = property(lambda self: self.info.filters, doc="Names of the filters, a tuple.")
    precision = property(
        lambda self: self.info.precision,
        doc="Bits of the mantissa that new floats retain (negative: that are cleared); 0: all.",
    )
    checksum = property(
        lambda self: self.info.checksum,
        doc='Name of the checksum of the chunks, such as "crc32", or "none".',
    )

    def chunk_info(self, chunk):
        """Returns a ChunkInfo, a named tuple with the fields of holdall_chunk_info."""
        return self._info("schunk_get_chunk_info", "chunk_info", chunk)

    def read(self, start=0, size=None):
        """Returns content from offset `start` on.

        size: the number of bytes; None: all from `start` on. Raises RangeError past the end,
        ChecksumError or FormatError for a corrupt chunk.
        """
        with self._lock:
            size = max(0, len(self) - start) if size is None else size
            dst = c.create_string_buffer(max(size, 1))
            warn_damaged(self._call("schunk_read", start, dst, size))
        return dst.raw[:size]

    def read_into(self, start, buffer):
        """Reads content at offset `start` into a writable buffer, and fills it.

        Raises RangeError past the end.
        """
        view = memoryview(buffer).cast("B")
        warn_damaged(
            self._call(
                "schunk_read",
                start,
                (c.c_char * max(len(view), 1)).from_buffer(view) if len(view) else b"\0",
                len(view),
            )
        )

    def read_chunk(self, chunk):
        """Returns the content of a chunk."""
        with self._lock:
            return sized(self._p, "schunk_read_chunk", chunk)

    def read_raw(self, chunk):
        """Returns a chunk as it is stored."""
        with self._lock:
            return sized(self._p, "schunk_read_raw", chunk)

    def compute_checksum(self, kind="sha256"):
        """Returns a checksum of all content, as bytes. kind: the name of the checksum."""
        with self._lock:
            return sized(self._p, "schunk_checksum", number("CHECKSUM_", kind))

    def append(self, data):
        """Appends content: bytes, or an object with a buffer. Fills up the last chunk first."""
        data = octets(data)
        self._change("schunk_append", data, len(data))

    def append_raw(self, chunk):
        """Appends one encoded chunk without checksum, unchanged.

        Raises FormatError if it is not one complete chunk.
        """
        chunk = octets(chunk)
        self._change("schunk_append_raw", chunk, len(chunk))

    def write(self, start, data):
        """Overwrites content at offset `start`. Raises RangeError past the end."""
        data = octets(data)
        self._change("schunk_write", start, data, len(data))

    def insert(self, chunk, data):
        """Inserts data as one chunk before a chunk, or at the end for the number of chunks.

        Raises RangeError if `chunk` exceeds the number of chunks.
        """
        data = octets(data)
        self._change("schunk_insert", chunk, data, len(data))

    def remove(self, chunk):
        """Removes a chunk with its content. Raises RangeError if there is no such chunk."""
        self._change("schunk_remove", chunk)

    def truncate(self, nbytes):
        """Truncates the content to nbytes bytes. Raises RangeError if it is shorter."""
        self._change("schunk_truncate", nbytes)

    @property
    def attrs(self):
        """The named values, a dict of bytes. Bloscpack has one value, named ""."""
        with self._lock:
            names = [
                self._get("schunk_attr_name", i).decode()
                for i in range(self._get("schunk_attr_count"))
            ]
            return {name: self._value("schunk_attr_get", name) for name in names}

    def set_attr(self, name, value, fixed=False):
        """Sets a named value from the next commit on.

        value: bytes; None removes the value. Bloscpack has only the name "", and JSON. fixed: in
        the header of a frame, as in an array.
        """
        value = None if value is None else octets(value)
        set_ = "schunk_attr_set_fixed" if fixed else "schunk_attr_set"
        self._change(set_, name.encode(), value, len(value or b""))

    def commit(self):
        """Makes all changes durable and visible, all or none."""
        self._commit("schunk_commit")

    def copy(self, name, format="bloscpack", mode="x", **options):
        """Copies content and named values to a new superchunk, which is complete or absent.

        name: a path or a storage. format, mode: as for create().
        """
        self._copy(
            options, "schunk_copy", target_of(name), mode_of(mode), number("FORMAT_", format)
        )


class SchunkStream(Handle):
    """Writes a Bloscpack file from front to back, for a pipe or a socket, in bounded memory.

    file: an object with a function write(bytes), which must write all bytes or return their number.
    Its exceptions are raised again. typesize: bytes per item, for filters. length: the number of
    bytes of content, if it is known. metadata: JSON as bytes. options: as for Schunk.create().

    A `with` block calls finish() unless it ends with an exception. Without finish() the file is
    truncated.
    """

    _closes = "holdall_schunk_stream_free"

    def __init__(self, file, typesize=1, length=None, metadata=None, **options):
        def write(_, src, n):
            rest = c.string_at(src, n)
            while rest:
                done = file.write(rest)
                if done is None and not isinstance(file, io.RawIOBase):
                    break
                if not 0 < (done or 0) <= len(rest):
                    message = f"write() returned {done} (expected 1 to {len(rest)})"
                    raise OSError(errno.EIO, message)
                rest = rest[done:]
            return 0

        function = Function("holdall_write_fn", write, -errno.EIO)
        length = UNKNOWN if length is None else whole(length)
        name, typesize = "schunk_stream_new", whole(typesize, SIZE)
        self._open(
            options, name, function.pointer, None, typesize, length, keep=[function], changes=True
        )
        if metadata is not None:
            metadata = octets(metadata)
            self._call("schunk_stream_set_metadata", metadata, len(metadata))

    def write(self, data):
        """Appends content, and returns its number of bytes. Writes the chunks that are complete.

        data: bytes, or an object with a buffer. Raises RangeError if there is more content than
        length, and StateError after a failure of the file.
        """
        data = octets(data)
        self._call("schunk_stream_write", data, len(data))
        return len(data)

    def finish(self):
        """Writes the rest and closes the stream, but not the file.

        Raises StateError if there is less content than length, which may still be written.
        """
        with self._lock:
            self._call("schunk_stream_finish")
            self.close()

    def __exit__(self, raised, *_):
        try:
            if raised is None and self._owned is not None:
                self.finish()
        finally:
            self.close()
