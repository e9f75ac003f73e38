"""Hyperplanes of a 4-D NIfTI volume of 16-bit numbers, cut out of its plain file: what volume.sh compares with.

planes.py make FILE | header FILE | slices FILE | cut FILE AXIS PLACE

Nothing but the standard library, and no word of what holdall knows.
"""

import itertools
import struct
import sys


def header(data):
    """The shape, and where the numbers begin."""
    dims = struct.unpack_from("<8h", data, 40)
    kind, = struct.unpack_from("<h", data, 70)
    start, = struct.unpack_from("<f", data, 108)
    assert dims[0] == 4 and kind == 4, "no volume of 4 dimensions and 16-bit numbers"
    return dims[1:5], int(start)


def make(path):
    """A small volume, in the layout of a real one."""
    shape, start = (14, 11, 6, 3), 416
    head = bytearray(start)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 4, *shape, 1, 1, 1)
    struct.pack_into("<2h", head, 70, 4, 16)
    struct.pack_into("<f", head, 108, start)
    head[344:348] = b"n+1\0"
    count = shape[0] * shape[1] * shape[2] * shape[3]
    with open(path, "wb") as f:
        f.write(head + b"".join(struct.pack("<h", (i * 7919) % 65536 - 32768) for i in range(count)))


def slices(shape):
    """The first, the middle and the last hyperplane of each dimension, as a slice of NumPy has them."""
    for axis, n in enumerate(shape):
        for place in sorted({0, n // 2, n - 1}):
            yield ",".join(str(place) if d == axis else ":" for d in range(len(shape))), axis, place


def cut(data, axis, place):
    """The numbers of a hyperplane, its last index fastest; in the file the first one is."""
    shape, start = header(data)
    steps = [2]
    for n in shape[:-1]:
        steps.append(steps[-1] * n)
    places = [range(n) if d != axis else [place] for d, n in enumerate(shape)]
    for index in itertools.product(*places):
        at = start + sum(i * step for i, step in zip(index, steps))
        yield data[at:at + 2]


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
