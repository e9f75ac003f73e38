"""Dask: arrays and bags of holdall as those of Dask, and back.

    >>> field = holdall.dask.from_array("field.b2nd")
    >>> holdall.dask.to_array(field.mean(axis=0), "mean.b2nd")
    >>> length = holdall.dask.bag("lines@*.bagz").map(len).sum().compute()

Workers open the container by its path. A worker that finds another version of it, because it was
changed while the job runs, raises StateError.
"""

try:
    import dask
    import dask.array
    import dask.bag
except ImportError as error:
    raise ImportError("holdall.dask needs Dask: pip install 'holdall[dask]'") from error

import contextlib
import glob
import itertools
import os
import shutil
import uuid

import numpy as np

from . import Array, ArrayPart, Bag, BagPart, _errors, commit_parts
from ._items import of_a_task


def from_array(path, chunks=None, **options):
    """Returns a dask.array.Array of an array. Each chunk is read by a task of its own.

    path: a path, or an Array that is open for reading, such as a slice or the column of a table.
    chunks: the chunks of Dask, as dask.array.from_array() takes them; None: those of the file.
    options: as for holdall.Array(), but one thread by default.

    Raises TypeError for an array of Python objects, and the errors of opening.
    """
    array = path if isinstance(path, Array) else Array(path, **of_a_task(options))
    if array.dtype is None:
        raise _errors.TypeError(f"{path}: an array of Python objects has no dtype for Dask")
    chunks = array.chunk_shape if chunks is None else chunks
    meta = np.empty((0,) * array.ndim, array.dtype)
    return dask.array.from_array(array, chunks=chunks, meta=meta)


def _records(bag, first, count):
    return iter(bag[first : first + count])


def bag(spec, npartitions=None, **options):
    """Returns a dask.bag.Bag of the records of a bag or a set, in order.

    spec: a spec, or a Bag that is open for reading, such as a slice. npartitions: the number of
    partitions, at most; None: four per processor. options: as for holdall.Bag(), but one thread.
    """
    opened = spec if isinstance(spec, Bag) else Bag(spec, **of_a_task(options))
    splits = opened.splits(npartitions or 4 * (os.cpu_count() or 1))
    if not splits:
        return dask.bag.from_sequence([], npartitions=1)
    name = f"holdall-{dask.base.tokenize(opened, splits)}"
    # Dask leaves out `list` where no list is needed
    graph = {(name, i): (list, (_records, opened, *split[:2])) for i, split in enumerate(splits)}
    return dask.bag.Bag(graph, name, len(splits))


def _write_box(items, path, start, options):
    with ArrayPart(path, start, items.shape, **options) as box:
        box[...] = items
        return box.finish()


def _write_records(records, spec, options):
    with BagPart(spec, **options) as part:
        part.extend(records)
        return part.finish()


def _write_boxes(x, path, start, options):
    """Writes an array of Dask to a box of an array, by a task per block, with one commit."""
    with Array(path) as array:
        chunks = array.chunk_shape
    aligned = all(
        length % chunk == 0 for lengths, chunk in zip(x.chunks, chunks) for length in lengths[:-1]
    )
    x = x if aligned else x.rechunk(chunks)
    first = [[at + sum(n[:i]) for i in range(len(n))] for at, n in zip(start, x.chunks)]
    write = dask.delayed(_write_box)
    blocks = zip(x.to_delayed().ravel(), itertools.product(*first))
    commit_parts(path, dask.compute(*(write(items, path, at, options) for items, at in blocks)))


def _keep_owner(path, new):
    """Gives a new file the mode of the one that it replaces, and its owner if this user may."""
    was = os.stat(path)
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):
            os.chown(new, was.st_uid, was.st_gid)
    os.chmod(new, was.st_mode & 0o7777)


def to_array(x, path, mode="x", start=None, format="b2nd", chunk_shape=None, **options):
    """Writes an array of Dask, with one commit. Each block is written by a task of its own.

    path: a path that the workers have, too. mode: "x" creates an array, "w" also replaces a file,
    "a" overwrites a box of an existing array. start: the first position of the box. format: as for
    holdall.Array.create(). chunk_shape: the shape of chunks of the file; None: that of the first
    block. options: as for holdall.Array.create().

    A new array is written under a hidden name, and appears complete. After an error, or a crash,
    the path has what it had. A crash, or tasks that still ran, may leave files whose names
    begin with a dot and contain the name of the array.

    Raises ExistsError if the path exists (mode "x"), RangeError if the box is not in the array.
    """
    path = os.path.abspath(os.fsdecode(path))
    if mode == "a":
        return _write_boxes(x, path, start, options)
    if mode not in ("x", "w"):
        raise _errors.ArgumentError(f"mode: expected x, w or a, found {mode}")
    if os.path.lexists(path) and (mode == "x" or os.path.isdir(path)):
        raise _errors.ExistsError(f"{path}: exists; remove it first")
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{uuid.uuid4().hex}.{name}")
    try:
        chunks = x.chunksize if chunk_shape is None else chunk_shape
        with Array.create(new, x.shape, x.dtype, format, chunks, **options) as array:
            array.commit()
        _write_boxes(x, new, [0] * x.ndim, options)
        if os.path.lexists(path):
            _keep_owner(path, new)
        os.replace(new, path)
    finally:
        for left in glob.glob(f"{glob.escape(new)}*"):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(left) if os.path.isdir(left) else os.remove(left)


def to_bag(records, spec, **options):
    """Appends the records of a bag of Dask to a bag, or writes a new set, with one commit.

    records: a dask.bag.Bag of bytes. spec: a path that the workers have, too: records are appended
    to this bag, which is created if it does not exist, in order. "name@*.bagz" is a new set of a
    shard per partition, "name@8.bagz" one of eight. options: as for holdall.BagWriter().
    """
    write = dask.delayed(_write_records)
    tokens = dask.compute(*(write(part, spec, options) for part in records.to_delayed()))
    commit_parts(spec, tokens)
