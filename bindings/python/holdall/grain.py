"""Sources of Grain: grain.MapDataset.source(holdall.grain.Source("train@*.bagz")).

The state of a Grain iterator, get_state(), is a position. After set_state() in a new process the
iterator returns the same elements, also with worker processes. The container must be the same: a
source of a file that has grown has another length, and thus another shuffled order.
"""

try:
    import grain
except ImportError as error:
    raise ImportError("holdall.grain needs Grain: pip install 'holdall[grain]'") from error

from . import Array, Bag, Table, _items


def _options(source, options):
    """Grain reads in several threads or processes: each uses one thread by default."""
    is_open = isinstance(source, (Array, Bag, Table))
    return options if is_open else _items.of_a_task(options)


class Source(_items.Items, grain.sources.RandomAccessDataSource):
    """A data source of records of a bag (bytes), rows of an array, or rows of a table (dicts).

    source: a path, a spec of a bag, or a Bag, Array or Table that is open for reading, such as a
    slice. columns: names of columns of a table; None: all. options: as for opening; threads is 1 by
    default, because Grain reads in several. Workers get it pickled, as the path and the options.

    Raises TypeError for containers of other kinds, KeyError if there is no such column.
    """

    def __init__(self, source, columns=None, **options):
        super().__init__(source, columns, **_options(source, options))

    def _getitems(self, indices):
        """Reads a batch in one call, for the batched reads of Grain."""
        return self.__getitems__(indices)


class Batches(grain.sources.RandomAccessDataSource):
    """A data source of batches of shuffled epochs, each of which is read in one call.

    Element i is a batch of epoch i // n, where n is the number of batches of an epoch. Each epoch
    has every item once. A batch is a list of records, an array, or a dict of arrays; the last one
    of an epoch may have fewer items. seed: determines the order, in every version of the library.
    epochs: the number of epochs. source, columns, options: as for Source.

    It is read as it is, with slice() for several hosts, and without shuffle() or batch().

        >>> batches = grain.MapDataset.source(holdall.grain.Batches("train@*.bagz", 64, epochs=3))
    """

    def __init__(self, source, batch_size, seed=0, epochs=1, columns=None, **options):
        items = _items.Items(source, columns, **_options(source, options))
        self._batches, self._epochs = _items.Batches(items, batch_size, seed, 0, 1), epochs

    def __len__(self):
        return self._epochs * len(self._batches)

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError(f"batch {i} of {len(self)}")
        return self._batches.read(*divmod(i, len(self._batches)))

    def __repr__(self):
        return f"Batches({self._batches!r}, epochs={self._epochs})"
