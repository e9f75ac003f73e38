"""Datasets of PyTorch: Items reads by number, Epochs reads shuffled epochs.

Both are for torch.utils.data.DataLoader, with worker processes that are forked or spawned. Records
are bytes. Rows of arrays and columns of tables are tensors; items that no tensor holds, such as
strings and times, stay NumPy arrays.
"""

try:
    import torch
    from torch.utils import data
except ImportError as error:
    raise ImportError("holdall.torch needs PyTorch: pip install 'holdall[torch]'") from error

import numpy as np

from . import _errors, _items
from ._native import epoch_numbers


def _tensors(item):
    """Returns an item with tensors in place of the arrays and numbers that fit one."""
    if isinstance(item, dict):
        return {name: _tensors(value) for name, value in item.items()}
    if isinstance(item, list):
        return [_tensors(value) for value in item]
    if isinstance(item, (np.ndarray, np.generic)):
        return torch.as_tensor(item) if item.dtype.kind in "biufc" and item.dtype.isnative else item
    return item


class Items(_items.Items, data.Dataset):
    """A map-style dataset of records of a bag (bytes), rows of an array, or of a table (dicts).

    source: a path, a spec of a bag, or a Bag, Array or Table that is open for reading, such as a
    slice. columns: names of columns of a table; None: all. options: as for opening. Workers get it
    pickled, as the path and the options. A DataLoader reads each batch in one call.

    Raises TypeError for containers of other kinds, KeyError if there is no such column.
    """

    def __getitem__(self, i):
        return _tensors(super().__getitem__(i))

    def __getitems__(self, indices):
        return _tensors(super().__getitems__(indices))


class Epochs(data.IterableDataset):
    """Every item once per epoch in shuffled order, in batches, for one of `world` ranks.

    source, columns, options: as for Items. batch_size: the number of items of a batch; the last one
    of an epoch may have fewer. A batch is a list of records, a tensor, or a dict of tensors. seed:
    determines the order of every epoch, in every version of the library, as in Bag.epoch(). rank,
    world: this rank has the positions rank, rank + world, ... of the order.

    The batches and their order are the same for any number of workers. To resume, set_epoch() takes
    the number of batches that were used.

        >>> dataset = holdall.torch.Epochs("train@*.bagz", batch_size=64, seed=1)
        >>> loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=4)
        >>> for epoch in range(3):
        ...     dataset.set_epoch(epoch)
        ...     for records in loader:
        ...         train(records)

    Raises ArgumentError if batch_size is not positive or rank is not below world, and as Items.
    """

    def __init__(self, source, batch_size, seed=0, rank=0, world=1, columns=None, **options):
        if batch_size < 1:
            raise _errors.ArgumentError(f"batch_size: expected at least 1, found {batch_size}")
        self._items = _items.Items(source, columns, **options)
        self._batch_size, self._order = batch_size, (seed, rank, world)
        # in shared memory, for workers that stay alive between epochs
        self._position = torch.zeros(2, dtype=torch.int64).share_memory_()
        self.set_epoch(0)

    epoch = property(lambda self: int(self._position[0]), doc="The number of the epoch.")
    batch = property(lambda self: int(self._position[1]), doc="The number of the first batch.")

    def set_epoch(self, epoch, batch=0):
        """Sets the epoch, and the first batch of it, of the iterators that are made later."""
        seed, rank, world = self._order
        epoch_numbers(len(self._items), seed, epoch, rank, world, 0, 0)  # refuses wrong arguments
        self._position[0], self._position[1] = epoch, batch

    def __len__(self):
        """Returns the number of batches of this rank from the first one on."""
        _, rank, world = self._order
        items = len(range(rank, len(self._items), world))
        return max(-(-items // self._batch_size) - self.batch, 0)

    def __iter__(self):
        seed, rank, world = self._order
        worker = data.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        n, size, epoch = len(self._items), self._batch_size, self.epoch
        start, batches = self.batch, len(self)
        # The loader takes a batch from each worker in turn.
        for batch in range(start + first, start + batches, step):
            numbers = epoch_numbers(n, seed, epoch, rank, world, batch * size, size)
            yield _tensors(self._items.batch(numbers))
