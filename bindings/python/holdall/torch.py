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


def _tensors(item):
    """Returns an item with tensors in place of the arrays and numbers that fit one."""
    if isinstance(item, dict):
        return {name: _tensors(value) for name, value in item.items()}
    if isinstance(item, list):
        records = item and isinstance(item[0], bytes)
        return item if records else [_tensors(value) for value in item]
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
        items = _items.Items(source, columns, **options)
        self._batches = _items.Batches(items, batch_size, seed, rank, world)
        # in shared memory, for workers that stay alive between epochs
        self._position = torch.zeros(2, dtype=torch.int64).share_memory_()

    epoch = property(lambda self: int(self._position[0]), doc="The number of the epoch.")
    batch = property(lambda self: int(self._position[1]), doc="The number of the first batch.")

    def set_epoch(self, epoch, batch=0):
        """Sets the epoch, and the first batch of it, of the iterators that are made later."""
        if epoch < 0 or batch < 0:
            raise _errors.ArgumentError(f"expected numbers from 0 on, found {epoch} and {batch}")
        self._position[0], self._position[1] = epoch, batch

    def __len__(self):
        """Returns the number of batches of this rank from the first one on."""
        return max(len(self._batches) - self.batch, 0)

    def __iter__(self):
        worker = data.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        # The loader takes a batch from each worker in turn.
        batches = range(self.batch + first, len(self._batches), step)
        return map(_tensors, self._batches.read_each(self.epoch, batches))
