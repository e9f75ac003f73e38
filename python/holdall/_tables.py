"""Tables: named columns of one length, to and from Arrow."""
import ctypes as c

import numpy as np

from . import _errors
from ._arrays import Array, address, spelled
from ._arrow import capsule, given
from ._call import Handle, lib, mode_of, number, numbers, octets
from ._casts import exact, natural
from ._storage import place


class Table(Handle):
    """An open table; Table.create() makes one. mode: "r", or "a" to change it. table["name"] is a column, an Array; the whole
    is what pyarrow.table(), polars.from_arrow(), DuckDB and others take."""

    _closes = "holdall_table_close"

    def __init__(self, name, mode="r", **options):
        self._turns = 0
        self._open(options, "table_open", place(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, columns, format="bcolz", mode="x", **options):
        """columns: dtypes by name; format: "bcolz", "blz" or "blz_paper"; mode: "x" or "w"."""
        names = strings(columns)
        dtypes = strings(spelled(d) for d in columns.values())
        made = cls.__new__(cls)
        made._turns = 0
        made._open(options, "table_create", place(name), mode_of(mode), number("FORMAT_", format), len(columns), names, dtypes, changes=True)
        made._uncommitted = True
        return made

    def __len__(self):
        return self._get("table_rows")

    @property
    def names(self):
        with self._lock:
            return [self._get("table_column_name", i).decode() for i in range(self._get("table_columns"))]

    def __contains__(self, name):
        return name in self.names

    def __iter__(self):
        return iter(self.names)

    def __getitem__(self, name):
        with self._lock:
            return Column(self, self._number(name))

    def _number(self, name):
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None

    def append(self, rows):
        """Rows behind the last: arrays by name, all columns of them, or what has an Arrow stream (all of it or nothing)."""
        if hasattr(rows, "__arrow_c_stream__"):
            stream, held = given(rows)
            self._change("table_append_arrow", stream)
            return
        with self._lock:
            if set(rows) != set(self.names):
                raise _errors.ArgumentError(f"columns {sorted(rows)}, not {sorted(self.names)}")
            columns = [np.ascontiguousarray(exact(rows[name], self[name].dtype, f"column {name!r}")) for name in self.names]
            for name, column in zip(self.names, columns):
                if len(column) != len(columns[0]) or column.shape[1:] != self[name].shape[1:]:
                    raise _errors.ArgumentError(f"column {name!r} has the shape {column.shape}")
            data = numbers([a.ctypes.data for a in columns], c.c_void_p)
            self._change("table_append", len(columns[0]), data, numbers([a.nbytes for a in columns], c.c_size_t))

    def write(self, name, first, items):
        """Writes over rows of a column, from `first` on."""
        with self._lock:
            items = np.ascontiguousarray(exact(items, self[name].dtype, f"column {name!r}"))
            self._change("table_write", self._number(name), first, len(items), address(items), items.nbytes)

    def add(self, name, items, at=None):
        """A new column, with an item for each row, before column `at`, or behind the last."""
        items = np.ascontiguousarray(natural(items, f"column {name!r}"))
        dtype = np.dtype((items.dtype, items.shape[1:])) if items.ndim > 1 else items.dtype
        with self._lock:
            self._turns += 1
            at = len(self.names) if at is None else at
            self._change("table_column_add", at, name.encode(), spelled(dtype).encode(), address(items), items.nbytes)

    def remove(self, name):
        """Takes a column away."""
        with self._lock:
            self._turns += 1
            self._change("table_column_remove", name.encode())

    def truncate(self, rows):
        """Keeps the first rows."""
        self._change("table_truncate", rows)

    @property
    def attrs(self):
        """Its named values, JSON; those of a column are its own."""
        with self._lock:
            names = [self._get("table_attr_name", i).decode() for i in range(self._get("table_attrs"))]
            return {name: self._value("table_attr_get", name) for name in names}

    def set_attr(self, name, value, column=None):
        """A value of JSON, as bytes, of the table or of a column; None removes it."""
        value = None if value is None else octets(value)
        if column is None:
            self._change("table_attr_set", name.encode(), value, len(value or b""))
        else:
            self._change("table_column_attr_set", self._number(column), name.encode(), value, len(value or b""))

    def commit(self):
        """All changes count from now on, together."""
        self._commit("table_commit")

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self, "table_to_arrow", len(self))


def strings(texts):
    texts = [text.encode() for text in texts]
    return (c.c_char_p * max(len(texts), 1))(*texts)


class Column(Array):
    """A column of a table, which is changed by way of it. When one is added or removed, ask for it again."""

    def __init__(self, table, i):
        self._table, self._i, self._turn = table, i, table._turns
        self._lock = table._lock

    @property
    def _owned(self):
        return self._table._owned

    @property
    def _p(self):
        table = self._table._p
        if self._turn != self._table._turns:
            raise _errors.StateError("a column was added or removed since: ask the table for this one again")
        return Borrowed(lib.holdall_table_column(table, self._i), table)

    def close(self):
        """Leaves it open: it is closed with its table."""


class Borrowed:
    """A handle that lives as long as another one."""

    def __init__(self, pointer, owned):
        self._as_parameter_, self.owned, self.keep = c.c_void_p(pointer), owned, owned.keep
