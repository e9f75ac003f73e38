"""Ray Data: bags, tables and arrays as datasets.

    >>> trips = holdall.ray.read_table("trips.bcolz", columns=["km"])
    >>> trips.sum("km")

Workers open the container by its path. A worker that finds another version of it, because it was
changed while the job runs, raises StateError.
"""

try:
    import pyarrow
    import ray.data
    from ray.data.block import BlockAccessor, BlockMetadata
except ImportError as error:
    raise ImportError("holdall.ray needs Ray Data: pip install 'holdall[ray]'") from error

import functools

from . import Array, Bag, Table


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
    options: as for holdall.Bag().
    """
    return ray.data.read_datasource(_Source(Bag(spec, **options)), **(ray_options or {}))


def read_table(path, columns=None, ray_options=None, **options):
    """Returns a dataset of the rows of a table, with the types of its Arrow stream.

    columns: names of columns; None: all. Others are not read. ray_options: as for read_bag().
    options: as for holdall.Table().
    """
    table = Table(path, **options)
    table = table if columns is None else table.slice(columns=columns)
    return ray.data.read_datasource(_Source(table), **(ray_options or {}))


def read_array(path, ray_options=None, **options):
    """Returns a dataset of the rows of an array along its first axis, in the column "data".

    ray_options: as for read_bag(). options: as for holdall.Array().
    """
    return ray.data.read_datasource(_Source(Array(path, **options)), **(ray_options or {}))
