"""Operations of caterva 0.7.3 on arrays, in a Python of its own (see beside.py). It has no types:
items are runs of bytes."""

import caterva
import numpy as np
from beside import serve


def plain(rows):
    items = np.load(rows)
    return items.view(f"V{items.itemsize}") if items.ndim else items


def create(path, rows, chunks, blocks, contiguous, **options):
    items = plain(rows)
    caterva.asarray(
        items, urlpath=path, chunks=chunks, blocks=blocks, contiguous=contiguous, **options
    )


def read(path, to):
    array = caterva.open(path)
    np.save(to, np.frombuffer(array.to_buffer(), f"V{array.itemsize}").reshape(array.shape))


def shapes(path):
    array = caterva.open(path)
    return [list(array.shape), list(array.chunks), list(array.blocks)]


def write(path, start, rows):
    array, items = caterva.open(path), plain(rows)
    array[tuple(slice(a, a + n) for a, n in zip(start, items.shape))] = items


def resize(path, shape):
    caterva.open(path).resize(tuple(shape))


serve(globals())
