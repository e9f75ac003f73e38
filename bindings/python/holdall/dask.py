"""Dask: arrays and bags of holdall as those of Dask.

    >>> mean = holdall.dask.from_array("field.b2nd").mean(axis=0).compute()
    >>> length = holdall.dask.bag("lines@*.bagz").map(len).sum().compute()

Workers open the container by its path. While a job reads it, other processes may append to it, but
must not change what it has.
"""

try:
    import dask
    import dask.array
    import dask.bag
except ImportError as error:
    raise ImportError("holdall.dask needs Dask: pip install 'holdall[dask]'") from error

import os

import numpy as np

from . import Array, Bag, _errors


def from_array(path, chunks=None, **options):
    """Returns a dask.array.Array of an array. Each chunk is read by a task of its own.

    path: a path, or an Array that is open for reading, such as a slice or the column of a table.
    chunks: the chunks of Dask, as dask.array.from_array() takes them; None: those of the file.
    options: as for holdall.Array().

    Raises TypeError for an array of Python objects, and the errors of opening.
    """
    array = path if isinstance(path, Array) else Array(path, **options)
    if array.dtype is None:
        raise _errors.TypeError(f"{path}: an array of Python objects has no dtype for Dask")
    chunks = array.chunk_shape if chunks is None else chunks
    meta = np.empty((0,) * array.ndim, array.dtype)
    return dask.array.from_array(array, chunks=chunks, meta=meta)


def _records(bag, split):
    return list(bag[split.first : split.first + split.count])


def bag(spec, npartitions=None, **options):
    """Returns a dask.bag.Bag of the records of a bag or a set, in order.

    spec: a spec, or a Bag that is open for reading, such as a slice. npartitions: the number of
    partitions, at most; None: four per processor. options: as for holdall.Bag().
    """
    opened = spec if isinstance(spec, Bag) else Bag(spec, **options)
    splits = opened.splits(npartitions or 4 * (os.cpu_count() or 1))
    read = dask.delayed(_records, pure=True)
    if not splits:
        return dask.bag.from_sequence([], npartitions=1)
    return dask.bag.from_delayed([read(opened, split) for split in splits])
