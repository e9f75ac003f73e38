"""Superchunks: a sequence of bytes in compressed chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._attributes import Attributes, encoded
from ._infos import ChunkInfo, SchunkInfo
from ._native import SchunkStream
from ._pickling import Pickled

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._native import Mode, Target

__all__ = ["ChunkInfo", "Schunk", "SchunkInfo", "SchunkStream"]


class Schunk(Pickled, _native.Schunk):
    """An open superchunk. Schunk.create() creates one.

    len() is the number of bytes of content. Offsets and lengths are in bytes. Chunks are numbered
    from 0.

    name: a path or a storage. mode: "r" to read, "a" to read and change.

        >>> schunk = holdall.Schunk("data.blp")
        >>> len(schunk), schunk.read(0, 4)
        (10000, b'head')
    """

    @classmethod
    def create(
        cls,
        name: Target,
        typesize: int = 1,
        format: str = "bloscpack",
        mode: Mode = "x",
        **options: Any,
    ) -> Self:
        """Creates a superchunk and opens it for changes.

        name: a path or a storage. typesize: bytes per item, for filters. format: "bloscpack" or
        "b2frame". mode: "x" creates; "w" also replaces. Raises ExistsError if the path exists
        (mode "x").

            >>> with holdall.Schunk.create("data.blp", typesize=4) as schunk:
            ...     schunk.append(b"head" * 2500)
            ...     schunk.commit()
        """
        return cls(cls._create(name, mode, typesize, format, options))

    @property
    def info(self) -> SchunkInfo:
        """A SchunkInfo, a named tuple with the fields of holdall_schunk_info.

            >>> schunk.info.typesize
            4
        """
        return SchunkInfo._make(self._info())

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

    def _described(self):
        info = self.info
        return f"{info.format} superchunk of {info.nbytes} bytes in {info.chunk_count} chunks"

    def chunk_info(self, chunk: int) -> ChunkInfo:
        """Returns a ChunkInfo, a named tuple with the fields of holdall_chunk_info.

            >>> schunk.chunk_info(0).codec
            'lz4'
        """
        return ChunkInfo._make(self._chunk_info(chunk))

    @property
    def attrs(self) -> Attributes:
        """The attributes, a mapping to values: what JSON holds, or bytes that are not valid.

        Bloscpack has one attribute, named "", and stores JSON. Frames store MessagePack. Its bytes
        are {"hex": "00ff"}.

            >>> schunk.attrs
            {'': {'unit': 'K'}}
        """
        return Attributes(self)

    def set_attr(self, name: str, value: Any, fixed: bool = False) -> None:
        """Sets an attribute from the next commit on.

        value: what JSON can hold, or bytes, which are stored as they are; None removes the
        attribute. Bloscpack has only the name "", and JSON. fixed: in the header of a frame, as in
        an array. Raises TypeError for a value that would change.

            >>> schunk.set_attr("", {"unit": "K"})
        """
        self._set_attribute(name, encoded(self._format, value), fixed)

    def copy(
        self, name: Target, format: str = "bloscpack", mode: Mode = "x", **options: Any
    ) -> None:
        """Copies content and attributes to a new superchunk, which is complete or absent.

        name: a path or a storage. format, mode: as for create().

            >>> schunk.copy("data.b2frame", "b2frame", codec="zstd")
        """
        self._copy(name, mode, format, options)
