"""A back end of xarray: xarray.open_dataset("field.b2nd", engine="holdall").

An array becomes a dataset of one variable, a table one of a variable per column along the dimension
"row". Opening reads no items. Later reads decode only the blocks that they need. With `chunks={}`,
Dask reads each chunk of the file in a task of its own, in threads, processes, or a cluster that has
the file at the same path.

The attribute "_ARRAY_DIMENSIONS" of an array, a list of names as in Zarr, names its dimensions. The
other attributes are those of the variable.
"""

import os
import pathlib

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import _errors
from ._arrays import Array
from ._tables import Table
from ._whole import identify

DIMENSIONS = "_ARRAY_DIMENSIONS"


class _Items(BackendArray):
    """The items of an array, read when they are used."""

    def __init__(self, array, name):
        if array.dtype is None:
            raise _errors.TypeError(f"{name}: an array of Python objects has no dtype for xarray")
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, indexer):
        if isinstance(indexer, indexing.VectorizedIndexer):
            return self._points(indexer.tuple)
        return self._box(indexer.tuple)

    def _box(self, key):
        """Reads the combinations of the positions of each dimension; those of integers disappear."""
        numbers = tuple(axis for axis, k in enumerate(key) if not isinstance(k, (slice, np.ndarray)))
        key = [slice(k, k + 1 or None) if axis in numbers else k for axis, k in enumerate(key)]
        if sum(isinstance(k, np.ndarray) for k in key) > 1:
            lists = (
                np.arange(n)[k] if isinstance(k, slice) else k for k, n in zip(key, self.shape)
            )
            key = np.ix_(*lists)
        return self.array[tuple(key)].squeeze(numbers)

    def _points(self, key):
        """Reads items at positions that are broadcast; their dimensions come first, as in xarray."""
        lists = [axis for axis, k in enumerate(key) if isinstance(k, np.ndarray)]
        found = self.array[key]
        if lists == list(range(lists[0], lists[-1] + 1)):
            # NumPy has them where the lists are
            ndim = len(np.broadcast_shapes(*(key[axis].shape for axis in lists)))
            found = np.moveaxis(found, range(lists[0], lists[0] + ndim), range(ndim))
        return found


def _variable(array, name, dims):
    """Returns the variable of an array whose dimensions have these names by default."""
    attrs = dict(array.attrs.items())
    given = attrs.pop(DIMENSIONS, None)
    if given is not None:
        if not isinstance(given, list) or not all(isinstance(d, str) for d in given):
            raise _errors.FormatError(f"{name}: {DIMENSIONS} is no list of names: {given!r}")
        if len(given) != array.ndim:
            raise _errors.FormatError(
                f"{name}: wrong number of names in {DIMENSIONS} "
                f"(expected {array.ndim}, found {len(given)})"
            )
        dims = given
    chunks = dict(zip(dims, array.chunk_shape))
    items = indexing.LazilyIndexedArray(_Items(array, name))
    return Variable(dims, items, attrs, {"preferred_chunks": chunks})


def _variables_of_array(path, variable, options):
    array = Array(path, **options)
    name = variable or pathlib.PurePath(path).stem
    dims = [f"dim_{axis}" for axis in range(array.ndim)]
    return {name: _variable(array, name, dims)}, {}, array.close


def _variables_of_table(path, variable, options):
    if variable is not None:
        raise _errors.ArgumentError("variable: the variables of a table have the names of columns")
    table = Table(path, **options)
    variables = {}
    for name in table.names:
        column = table[name]
        inner = [f"{name}_dim_{axis}" for axis in range(1, column.ndim)]
        variables[name] = _variable(column, name, ["row", *inner])
    return variables, dict(table.attrs.items()), table.close


class Backend(BackendEntrypoint):
    """The engine "holdall" of xarray.open_dataset().

    variable: the name of the variable of an array; None: the name of the file without its suffix.
    options: a dict of options of holdall.Array() or holdall.Table(), such as {"threads": 1}.

    Raises the errors of opening, TypeError for bags, superchunks and arrays of Python objects,
    FormatError if the names of the dimensions do not fit.
    """

    description = "Open arrays and tables of holdall: b2nd, Caterva, bcolz, BLZ, Bloscpack"
    url = "https://docs.rs/holdall"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "variable", "options")

    def open_dataset(self, filename_or_obj, *, drop_variables=None, variable=None, options=None):
        path = os.fspath(filename_or_obj)
        kind = identify(path)[1]
        if kind not in ("array", "table"):
            raise _errors.TypeError(f"{path}: wrong kind (expected an array or a table, found {kind})")
        opens = _variables_of_table if kind == "table" else _variables_of_array
        variables, attrs, close = opens(path, variable, options or {})
        dropped = [drop_variables] if isinstance(drop_variables, str) else drop_variables or ()
        dataset = Dataset({n: v for n, v in variables.items() if n not in dropped}, attrs=attrs)
        dataset.set_close(close)
        return dataset

    def guess_can_open(self, filename_or_obj):
        try:
            return identify(os.fspath(filename_or_obj))[1] in ("array", "table")
        except (_errors.Error, TypeError):
            return False
