"""Items of a container for data loaders: records of a bag, rows of an array or a table."""

import itertools
import operator

from . import _errors
from ._arrays import Array
from ._native import Bag, epoch_numbers
from ._tables import Table
from ._whole import identify


def of_a_task(options):
    """Returns options with one thread by default: an engine runs as many tasks as processors."""
    return {"threads": 1, **options}


def opened(source, options):
    """Returns an open bag, array or table.

    source: a path, a spec of a bag, or a handle that is open. Raises TypeError for other kinds.
    """
    if isinstance(source, (Bag, Array, Table)):
        if options:
            raise TypeError(f"{source!r} is open, options do not apply: {', '.join(options)}")
        return source
    kind = identify(source)[1]
    types = {"bag": Bag, "array": Array, "table": Table}
    if kind not in types:
        raise _errors.TypeError(
            f"{source}: wrong kind (expected a bag, an array or a table, found {kind})"
        )
    return types[kind](source, **options)


class Items:
    """A sequence of records of a bag (bytes), rows of an array, or rows of a table (dicts).

    The arguments are those of holdall.torch.Items. Several threads may use it.
    """

    def __init__(self, source, columns=None, **options):
        self._handle = opened(source, options)
        if columns is not None:
            if not isinstance(self._handle, Table):
                raise _errors.TypeError("columns: only a table has columns")
            self._handle = self._handle.slice(columns=columns)

    def __len__(self):
        return len(self._handle)

    def __getitem__(self, i):
        if isinstance(self._handle, Table):
            return self.__getitems__([i])[0]
        return self._handle[operator.index(i)]

    def __getitems__(self, indices):
        """Returns a list of the items of these numbers, read in one call."""
        return self._handle.__getitems__(indices)

    def batch(self, indices):
        """Returns items as one object: a list of records, an array, or a dict of arrays."""
        if isinstance(self._handle, Bag):
            return self._handle.__getitems__(indices)
        if isinstance(self._handle, Table):
            return self._handle.read_points(indices)
        return self._handle[list(indices)]

    def batches(self, indices, size):
        """Yields one object per list of indices, each of which but the last one has `size`.

        Records are read ahead. A batch with a record that cannot be read is an error as a whole.
        """
        if not isinstance(self._handle, Bag):
            yield from map(self.batch, indices)
            return
        with self._handle.stream(itertools.chain.from_iterable(indices)) as stream:
            while records := stream.take(size):
                if len(records) < size:
                    stream.take(size)  # nothing is left, or an error ended the batch early
                yield records[:]

    def __repr__(self):
        return f"{type(self).__name__}({self._handle!r})"


class Batches:
    """The batches of shuffled epochs, as holdall.torch.Epochs describes them, by number."""

    def __init__(self, items, batch_size, seed, rank, world):
        if batch_size < 1:
            raise _errors.ArgumentError(f"batch_size: expected at least 1, found {batch_size}")
        self.items, self.size, self._order = items, batch_size, (seed, rank, world)
        self._numbers(0, 0)  # refuses wrong arguments

    def _numbers(self, epoch, batch):
        seed, rank, world = self._order
        start = batch * self.size
        return epoch_numbers(len(self.items), seed, epoch, rank, world, start, self.size)

    def __len__(self):
        """Returns the number of batches of an epoch."""
        _, rank, world = self._order
        return -(-len(range(rank, len(self.items), world)) // self.size)

    def read(self, epoch, batch):
        return self.items.batch(self._numbers(epoch, batch))

    def read_each(self, epoch, batches):
        """Yields the batches of these numbers in turn."""
        numbers = (self._numbers(epoch, batch) for batch in batches)
        return self.items.batches(numbers, self.size)

    def __repr__(self):
        seed, rank, world = self._order
        return f"{self.items!r}, size {self.size}, seed {seed}, rank {rank} of {world}"
