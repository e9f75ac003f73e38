"""What zstd alone takes for the records of a bag: the frames that Bagz wrote, out of a map of its file, or the records themselves. Nothing
is opened or looked up: where each frame is, and how long its content, is known before the clock starts, and threads do not wait for
each other (zstandard can have threads of its own, which it makes anew, with decoders, for every call).

The map is a new one each time, so that the pages of the file have to be found, and come into the caches, as for everybody who reads it.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import zstandard


def segments(offsets):
    """Where pieces that lie one behind the other begin, and how long they are, as zstandard wants it."""
    return np.stack((offsets[:-1], np.diff(offsets)), axis=1).astype("<u8")


def decoded(pieces):
    """What the last piece holds; each is given back before the next one."""
    decoder, content = zstandard.ZstdDecompressor(), None
    for some, sizes in pieces:
        content = None
        content = decoder.multi_decompress_to_buffer(some, decompressed_sizes=sizes, threads=1)
    return content


def decode(path, offsets, threads, which=slice(None), at_once=None):
    """Seconds for the records of `which`, of a bag whose records begin and end at `offsets` if they lie one behind the other. Each thread
    has its share of them, and of those that are decoded in a call."""
    file = np.memmap(path, dtype=np.uint8, mode="r")
    limits = file[int.from_bytes(file[-8:].tobytes(), "little") :].view("<u8")
    frames = segments(np.concatenate(([0], limits)))[which]
    sizes = np.diff(offsets)[which].astype("<u8")

    def pieces(share):
        n = -(-at_once // threads) if at_once else len(share)
        some = [share[k : k + n] for k in range(0, len(share), n)]
        return [(zstandard.BufferWithSegments(file, frames[s].tobytes()), sizes[s].tobytes()) for s in some]

    shares = [pieces(share) for share in np.array_split(np.arange(len(sizes)), threads)]
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        last = list(pool.map(decoded, shares))
    took = time.perf_counter() - start
    assert all(map(len, last))
    return took


def encode(data, offsets, threads):
    """Seconds for all records, which the file `data` has one behind the other."""
    records = zstandard.BufferWithSegments(np.fromfile(data, dtype=np.uint8), segments(offsets).tobytes())
    encoder = zstandard.ZstdCompressor(level=3)
    start = time.perf_counter()
    encoded = encoder.multi_compress_to_buffer(records, threads=threads)
    took = time.perf_counter() - start
    assert len(encoded) == len(offsets) - 1
    return took
