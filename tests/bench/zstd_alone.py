"""Measures zstd alone for the records of a bag: the frames that Bagz wrote, from a map of its file,
or the records themselves.

Nothing is opened or looked up: the offset of each frame and the length of its content are known
before the clock starts, and threads do not wait for each other (the threads of zstandard are
created, with decoders, for every call). The map is a new one each time, so that the pages of the
file have to be faulted in, as for every reader.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import zstandard


def segments(offsets):
    """Offsets and lengths of adjacent pieces, in the form that zstandard requires."""
    return np.stack((offsets[:-1], np.diff(offsets)), axis=1).astype("<u8")


def decoded(pieces):
    """Decodes the pieces; each result is freed before the next one."""
    decoder, content = zstandard.ZstdDecompressor(), None
    for some, sizes in pieces:
        content = None
        content = decoder.multi_decompress_to_buffer(some, decompressed_sizes=sizes, threads=1)
    return content


def decode(path, offsets, threads, which=slice(None), at_once=None):
    """Returns the seconds for the records of `which`, of a bag whose adjacent records begin and end
    at `offsets`. Each thread has its share of them, and of those of one call."""
    file = np.memmap(path, dtype=np.uint8, mode="r")
    limits = file[int.from_bytes(file[-8:].tobytes(), "little") :].view("<u8")
    frames = segments(np.concatenate(([0], limits)))[which]
    sizes = np.diff(offsets)[which].astype("<u8")

    def pieces(share):
        n = -(-at_once // threads) if at_once else len(share)
        some = [share[k : k + n] for k in range(0, len(share), n)]
        return [
            (zstandard.BufferWithSegments(file, frames[s].tobytes()), sizes[s].tobytes())
            for s in some
        ]

    shares = [pieces(share) for share in np.array_split(np.arange(len(sizes)), threads)]
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        last = list(pool.map(decoded, shares))
    took = time.perf_counter() - start
    assert all(map(len, last))
    return took


def encode(data, offsets, threads):
    """Returns the seconds for all records, which are adjacent in the file `data`."""
    records = zstandard.BufferWithSegments(
        np.fromfile(data, dtype=np.uint8), segments(offsets).tobytes()
    )
    encoder = zstandard.ZstdCompressor(level=3)
    start = time.perf_counter()
    encoded = encoder.multi_compress_to_buffer(records, threads=threads)
    took = time.perf_counter() - start
    assert len(encoded) == len(offsets) - 1
    return took
