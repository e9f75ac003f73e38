"""Superchunks: a run of bytes in compressed chunks."""
import ctypes as c

from ._call import Handle, Options, mode_of, number, octets, path, sound, whole
from ._storage import place

SIZE = c.c_size_t


class Schunk(Handle):
    """An open superchunk; Schunk.create() makes one. mode: "r", or "a" to change it."""

    _closes = "holdall_schunk_close"

    def __init__(self, name, mode="r", **options):
        self._open(options, "schunk_open", place(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, typesize=1, format="bloscpack", mode="x", **options):
        """format: "bloscpack" or "b2frame"; mode: "x" or "w"."""
        made = cls.__new__(cls)
        made._open(options, "schunk_create", place(name), mode_of(mode), number("FORMAT_", format), whole(typesize, SIZE), changes=True)
        made._uncommitted = True
        return made

    def __len__(self):
        return self._get("schunk_nbytes")

    chunks = property(lambda self: self._get("schunk_chunks"))
    stored_bytes = property(lambda self: self._get("schunk_cbytes"))
    typesize = property(lambda self: self._get("schunk_typesize"))
    chunk_size = property(lambda self: self._get("schunk_chunk_size"))
    sum = property(lambda self: self._get("schunk_sum"))
    version = property(lambda self: self._get("schunk_version"))

    def chunk_info(self, chunk):
        """Bytes of content, bytes as stored, codec."""
        nbytes, cbytes, codec = SIZE(), SIZE(), c.c_int32()
        self._call("schunk_chunk_info", chunk, c.byref(nbytes), c.byref(cbytes), c.byref(codec))
        return nbytes.value, cbytes.value, codec.value

    def read(self, at=0, n=None):
        """n bytes from byte `at` on, or all the others."""
        n = max(0, len(self) - at) if n is None else n
        dst = c.create_string_buffer(max(n, 1))
        sound(self._call("schunk_read", at, dst, n))
        return dst.raw[:n]

    def read_into(self, at, buffer):
        """Fills what has a buffer that can be written."""
        view = memoryview(buffer).cast("B")
        sound(self._call("schunk_read", at, (c.c_char * max(len(view), 1)).from_buffer(view) if len(view) else b"\0", len(view)))

    def read_chunk(self, chunk):
        return self._sized("schunk_read_chunk", chunk)

    def read_raw(self, chunk):
        """A chunk as it is stored."""
        return self._sized("schunk_read_raw", chunk)

    def checksum(self, sum="sha256"):
        return self._sized("schunk_checksum", number("SUM_", sum))

    def append(self, data):
        data = octets(data)
        self._change("schunk_append", data, len(data))

    def append_raw(self, chunk):
        chunk = octets(chunk)
        self._change("schunk_append_raw", chunk, len(chunk))

    def write(self, at, data):
        data = octets(data)
        self._change("schunk_write", at, data, len(data))

    def insert(self, chunk, data):
        """A chunk of its own before a chunk."""
        data = octets(data)
        self._change("schunk_insert", chunk, data, len(data))

    def remove(self, chunk):
        self._change("schunk_remove", chunk)

    def truncate(self, nbytes):
        self._change("schunk_truncate", nbytes)

    @property
    def metas(self):
        """Its named values; that of Bloscpack is named ""."""
        names = [self._get("schunk_meta_name", i).decode() for i in range(self._get("schunk_metas"))]
        return {name: self._value("schunk_meta_get", name) for name in names}

    def set_meta(self, name, value):
        """None removes it."""
        value = None if value is None else octets(value)
        self._change("schunk_meta_set", name.encode(), value, len(value or b""))

    def commit(self):
        self._commit("schunk_commit")

    def copy(self, name, format="bloscpack", mode="x", **options):
        with Options(options) as o:
            sound(self._call("schunk_copy", path(name), mode_of(mode), number("FORMAT_", format), o.handle))
            o.check()
