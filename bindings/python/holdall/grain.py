"""Sources of Grain: grain.MapDataset.source(holdall.grain.Source("train@*.bagz")).

The state of a Grain iterator, get_state(), is a position. After set_state() in a new process the
iterator returns the same elements, also with worker processes. The container must be the same: a
source of a file that has grown has another length, and thus another shuffled order.
"""

try:
    import grain
except ImportError as error:
    raise ImportError("holdall.grain needs Grain: pip install 'holdall[grain]'") from error

from ._items import Items


class Source(Items, grain.sources.RandomAccessDataSource):
    """A RandomAccessDataSource of records of a bag (bytes), rows of an array, or of a table (dicts).

    source: a path, a spec of a bag, or a Bag, Array or Table that is open for reading, such as a
    slice. columns: names of columns of a table; None: all. options: as for opening. Workers get it
    pickled, as the path and the options.

    Raises TypeError for containers of other kinds, KeyError if there is no such column.
    """

    def _getitems(self, indices):
        """Reads a batch in one call, for the batched reads of Grain."""
        return self.__getitems__(indices)
