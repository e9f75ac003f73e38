"""Superchunks: a sequence of bytes in compressed chunks."""
import ctypes as c

from ._call import Handle, Options, mode_of, number, octets, path, sound, whole
from ._storage import place

SIZE = c.c_size_t


class Schunk(Handle):
    """An open superchunk. Schunk.create() creates one.

    len() is the number of bytes of content. Offsets and lengths are in bytes. Chunks are numbered
    from 0.

    name: a path or a storage. mode: "r" to read, "a" to read and change.
    """

    _closes = "holdall_schunk_close"

    def __init__(self, name, mode="r", **options):
        self._open(options, "schunk_open", place(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, typesize=1, format="bloscpack", mode="x", **options):
        """Creates a superchunk and opens it for changes.

        name: a path or a storage. typesize: bytes per item, for filters. format: "bloscpack" or
        "b2frame". mode: "x" creates; "w" also replaces. Raises ExistsError if the path exists
        (mode "x").
        """
        made = cls.__new__(cls)
        made._open(options, "schunk_create", place(name), mode_of(mode), number("FORMAT_", format), whole(typesize, SIZE), changes=True)
        made._uncommitted = True
        return made

    def __len__(self):
        return self._get("schunk_nbytes")

    chunks = property(lambda self: self._get("schunk_chunks"), doc="Number of chunks.")
    stored_bytes = property(
        lambda self: self._get("schunk_cbytes"),
        doc="Size on disk in bytes at the last commit.",
    )
    typesize = property(lambda self: self._get("schunk_typesize"), doc="Bytes per item.")
    chunk_size = property(
        lambda self: self._get("schunk_chunk_size"),
        doc="Bytes of content per chunk; 0 for chunks of any length.",
    )
    sum = property(
        lambda self: self._get("schunk_sum"),
        doc="Checksum of the chunks, one of HOLDALL_SUM_*.",
    )
    version = property(lambda self: self._get("schunk_version"), doc="Version of the header.")

    def chunk_info(self, chunk):
        """Returns the bytes of content, the stored bytes and the codec of a chunk.

        The codec is one of HOLDALL_CODEC_*.
        """
        nbytes, cbytes, codec = SIZE(), SIZE(), c.c_int32()
        self._call("schunk_chunk_info", chunk, c.byref(nbytes), c.byref(cbytes), c.byref(codec))
        return nbytes.value, cbytes.value, codec.value

    def read(self, at=0, n=None):
        """Returns n bytes of content at offset `at`.

        n: the number of bytes; None: all from `at` on. Raises RangeError past the end,
        ChecksumError or FormatError for a corrupt chunk.
        """
        n = max(0, len(self) - at) if n is None else n
        dst = c.create_string_buffer(max(n, 1))
        sound(self._call("schunk_read", at, dst, n))
        return dst.raw[:n]

    def read_into(self, at, buffer):
        """Reads content at offset `at` into a writable buffer, and fills it.

        Raises RangeError past the end.
        """
        view = memoryview(buffer).cast("B")
        sound(self._call("schunk_read", at, (c.c_char * max(len(view), 1)).from_buffer(view) if len(view) else b"\0", len(view)))

    def read_chunk(self, chunk):
        """Returns the content of a chunk."""
        return self._sized("schunk_read_chunk", chunk)

    def read_raw(self, chunk):
        """Returns a chunk as it is stored."""
        return self._sized("schunk_read_raw", chunk)

    def checksum(self, sum="sha256"):
        """Returns a checksum of all content, as bytes. sum: the name of the checksum."""
        return self._sized("schunk_checksum", number("SUM_", sum))

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

    def write(self, at, data):
        """Overwrites content at offset `at`. Raises RangeError past the end."""
        data = octets(data)
        self._change("schunk_write", at, data, len(data))

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
    def metas(self):
        """The named values, a dict of bytes. Bloscpack has one value, named ""."""
        names = [self._get("schunk_meta_name", i).decode() for i in range(self._get("schunk_metas"))]
        return {name: self._value("schunk_meta_get", name) for name in names}

    def set_meta(self, name, value):
        """Sets a named value from the next commit on.

        value: bytes; None removes the value. Bloscpack has only the name "", and JSON.
        """
        value = None if value is None else octets(value)
        self._change("schunk_meta_set", name.encode(), value, len(value or b""))

    def commit(self):
        """Makes all changes durable and visible, all or none."""
        self._commit("schunk_commit")

    def copy(self, name, format="bloscpack", mode="x", **options):
        """Copies content and named values to a new superchunk, which is complete or absent.

        name: the path. format, mode: as for create().
        """
        with Options(options) as o:
            sound(self._call("schunk_copy", path(name), mode_of(mode), number("FORMAT_", format), o.handle))
            o.check()
