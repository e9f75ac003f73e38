"""The package `bloscpack`, adapted to current versions of Python and its dependencies."""

import collections
import collections.abc
import warnings

collections.MutableMapping = collections.abc.MutableMapping
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import bloscpack
    import bloscpack.append
    import bloscpack.file_io
    import bloscpack.numpy_io

__all__ = ["bloscpack", "Found", "CHECKSUM_NAMES", "pack", "append", "unpack_ndarray"]

CHECKSUM_NAMES = ("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512")


def pack(
    path,
    data,
    codec,
    shuffle,
    sum,
    typesize,
    chunk_size,
    level=5,
    offsets=True,
    meta=None,
    spare=None,
):
    """Creates a file; `sum` is one of CHECKSUM_NAMES."""
    blosc_args = bloscpack.BloscArgs(typesize=typesize, clevel=level, shuffle=shuffle, cname=codec)
    spare = {} if spare is None else {"max_app_chunks": spare}
    pack_args = bloscpack.BloscpackArgs(offsets=offsets, checksum=sum, **spare)
    bloscpack.pack_bytes_to_file(
        data,
        str(path),
        chunk_size=chunk_size,
        metadata=meta,
        blosc_args=blosc_args,
        bloscpack_args=pack_args,
    )


def append(path, data, codec, shuffle, level=5):
    """Appends to a file, items of the size that its header gives."""
    blosc_args = dict(typesize=None, clevel=level, shuffle=shuffle, cname=codec)
    with open(path, "r+b") as f:
        bloscpack.append.append_fp(f, bloscpack.file_io.StringIO(data), len(data), blosc_args)


def unpack_ndarray(path):
    """Reads an array."""
    with open(path, "rb") as f:
        return bloscpack.numpy_io.unpack_ndarray(bloscpack.file_io.CompressedFPSource(f))


class Found:
    """The header and content of a file: `content`, `meta`, `header`, `offsets`, the `positions` and
    `sizes` of its chunks."""

    def __init__(self, path):
        # this verifies the digests
        self.content, self.meta = bloscpack.unpack_bytes_from_file(str(path))
        self.positions, self.sizes = [], []
        with open(path, "rb") as f:
            source = bloscpack.file_io.CompressedFPSource(f)
            self.header, self.offsets = source.bloscpack_header, source.offsets
            for _ in range(self.header.nchunks):
                self.positions.append(f.tell())
                _, chunk, _ = bloscpack.file_io._read_compressed_chunk_fp(f, source.checksum_impl)
                self.sizes.append(chunk["nbytes"])
            self.end = f.tell()

    def room(self):
        """Returns how many bytes may be appended; 0 if none."""
        chunk = self.header.chunk_size
        if not self.offsets or not chunk or self.sizes[-1] > chunk or not self.header.typesize:
            return 0
        return chunk - self.sizes[-1] + chunk * self.header.max_app_chunks
