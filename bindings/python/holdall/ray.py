"""Ray Data: bags, tables and arrays as datasets, and datasets written to them.

    >>> trips = holdall.ray.read_table("trips.bcolz", columns=["km"])
    >>> trips.sum("km")
    >>> holdall.ray.write_table(trips.filter(expr="km > 10"), "long.bcolz")

Workers open the container by its path. A worker that finds another version of it, because it was
changed while the job runs, raises StateError.

The functions that write append with one commit: each task writes a part, and the driver commits the
parts in the order of the dataset, if Ray keeps it (DataContext.execution_options.preserve_order).
After an error, or a crash, the container has what it had; holdall.repair() removes parts that were
left beside it.
"""

try:
    import pyarrow
    import ray.data
    from ray.data.block import BlockAccessor, BlockMetadata
except ImportError as error:
    raise ImportError("holdall.ray needs Ray Data: pip install 'holdall[ray]'") from error

import functools
import os

from . import Array, ArrayPart, Bag, BagPart, Table, TablePart, commit_parts
from ._items import of_a_task


def _read(handle, split):
    """Yields the blocks of a split."""
    if isinstance(handle, Array):
        rows = max(handle.chunk_shape[0], 1)
        for first in range(split.first, split.first + split.count, rows):
            end = min(first + rows, split.first + split.count)
            yield BlockAccessor.batch_to_block({"data": handle[first:end]})
        return
    part = slice(split.first, split.first + split.count)
    part = handle[part] if isinstance(handle, Bag) else handle.slice(part)
    for batch in pyarrow.RecordBatchReader.from_stream(part):
        yield pyarrow.Table.from_batches([batch])


def _size(handle, count):
    """Returns the estimated size of some items in memory; that of records is their stored size."""
    total = handle.stored_bytes if isinstance(handle, Bag) else handle.nbytes
    return total * count // max(len(handle), 1)


class _Source(ray.data.Datasource):
    """Reads an open bag, table or array. Workers get it pickled, as its path and options."""

    def __init__(self, handle):
        super().__init__()
        self._handle = handle

    def get_name(self):
        return f"Holdall{type(self._handle).__name__}"

    def estimate_inmemory_data_size(self):
        return _size(self._handle, len(self._handle))

    def get_read_tasks(self, parallelism, per_task_row_limit=None, data_context=None):
        tasks = []
        for split in self._handle.splits(parallelism):
            size = _size(self._handle, split.count)
            about = BlockMetadata(num_rows=split.count, size_bytes=size, exec_stats=None)
            read = functools.partial(_read, self._handle, split)
            tasks.append(ray.data.ReadTask(read, about, per_task_row_limit=per_task_row_limit))
        return tasks


def read_bag(spec, ray_options=None, **options):
    """Returns a dataset of the records of a bag or a set, in the column "record" of bytes.

    ray_options: a dict of arguments of ray.data.read_datasource(), such as override_num_blocks.
    options: as for holdall.Bag(); threads is 1 by default, as for tables and arrays.
    """
    return ray.data.read_datasource(_Source(Bag(spec, **of_a_task(options))), **(ray_options or {}))


def read_table(path, columns=None, ray_options=None, **options):
    """Returns a dataset of the rows of a table, with the types of its Arrow stream.

    columns: names of columns; None: all. Others are not read. ray_options: as for read_bag().
    options: as for holdall.Table().
    """
    table = Table(path, **of_a_task(options))
    table = table if columns is None else table.slice(columns=columns)
    return ray.data.read_datasource(_Source(table), **(ray_options or {}))


def read_array(path, ray_options=None, **options):
    """Returns a dataset of the rows of an array along its first axis, in the column "data".

    ray_options: as for read_bag(). options: as for holdall.Array().
    """
    return ray.data.read_datasource(_Source(Array(path, **of_a_task(options))), **(ray_options or {}))


class _Sink(ray.data.Datasink):
    """Appends the blocks of each task to a part, and commits the parts."""

    def __init__(self, path, part, column, options):
        self._path, self._part, self._column = os.fspath(path), part, column
        self._options = options

    def write(self, blocks, ctx):
        with self._part(self._path, **self._options) as part:
            for block in map(BlockAccessor.for_block, blocks):
                if self._part is BagPart:
                    part.extend(block.to_arrow()[self._column].to_pylist())
                else:
                    part.append(block.to_numpy(self._column) if self._column else block.to_arrow())
            return ctx.task_idx, part.finish()

    def on_write_complete(self, write_result):
        commit_parts(self._path, [token for _, token in sorted(write_result.write_returns)])


def write_bag(dataset, spec, column="record", ray_options=None, **options):
    """Appends a column of bytes to a bag, which is created if it does not exist, or writes a set.

    spec: a path that the workers have, too. "lines@*.bagz" is a new set of one shard per task.
    ray_options: a dict of arguments of Dataset.write_datasink(), such as concurrency. options: as
    for holdall.BagWriter().

    Raises an error if the set exists, or a value is null or not bytes.
    """
    dataset.write_datasink(_Sink(spec, BagPart, column, options), **(ray_options or {}))


def write_table(dataset, path, ray_options=None, **options):
    """Appends rows to a table that exists. ray_options, options: as for write_bag().

    Raises an error for other columns, or if a value is null or would change.
    """
    dataset.write_datasink(_Sink(path, TablePart, None, options), **(ray_options or {}))


def write_array(dataset, path, column="data", ray_options=None, **options):
    """Appends a column to an array that exists, along its first axis.

    ray_options, options: as for write_bag(). Raises an error if a value would change.
    """
    dataset.write_datasink(_Sink(path, ArrayPart, column, options), **(ray_options or {}))
