"""Cuts hyperplanes of a 4-D NIfTI volume of 16-bit numbers out of its uncompressed file, to check
the results in volume.sh.

planes.py make FILE | header FILE | slices FILE | cut FILE AXIS INDEX

Uses only the standard library, and no code of holdall.
"""

import itertools
import struct
import sys


def header(data):
    """Returns the shape, and the offset of the numbers."""
    dims = struct.unpack_from("<8h", data, 40)
    (kind,) = struct.unpack_from("<h", data, 70)
    (start,) = struct.unpack_from("<f", data, 108)
    assert dims[0] == 4 and kind == 4, "no volume of 4 dimensions and 16-bit numbers"
    return dims[1:5], int(start)


def make(path):
    """Creates a small volume in the layout of a real one."""
    shape, start = (14, 11, 6, 3), 416
    head = bytearray(start)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 4, *shape, 1, 1, 1)
    struct.pack_into("<2h", head, 70, 4, 16)
    struct.pack_into("<f", head, 108, start)
    head[344:348] = b"n+1\0"
    count = shape[0] * shape[1] * shape[2] * shape[3]
    with open(path, "wb") as f:
        f.write(
            head + b"".join(struct.pack("<h", (i * 7919) % 65536 - 32768) for i in range(count))
        )


def slices(shape):
    """Yields the first, the middle and the last hyperplane of each dimension, as NumPy slices."""
    for axis, n in enumerate(shape):
        for index in sorted({0, n // 2, n - 1}):
            yield ",".join(str(index) if d == axis else ":" for d in range(len(shape))), axis, index


def cut(data, axis, index):
    """Returns the numbers of a hyperplane, last index fastest; in the file the first index is
    fastest."""
    shape, start = header(data)
    steps = [2]
    for n in shape[:-1]:
        steps.append(steps[-1] * n)
    ranges = [range(n) if d != axis else [index] for d, n in enumerate(shape)]
    for position in itertools.product(*ranges):
        at = start + sum(i * step for i, step in zip(position, steps))
        yield data[at : at + 2]


def main(what, path, *more):
    if what == "make":
        return make(path)
    with open(path, "rb") as f:
        data = f.read()
    shape, start = header(data)
    if what == "header":
        print(",".join(map(str, shape)), start, ",".join(str(max(1, (n + 2) // 3)) for n in shape))
    elif what == "slices":
        for line in slices(shape):
            print(*line)
    else:
        sys.stdout.buffer.write(b"".join(cut(data, int(more[0]), int(more[1]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
