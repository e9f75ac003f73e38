"""Tables: named columns of equal length, with Arrow input and output."""
import ctypes as c

import numpy as np

from . import _errors
from ._arrays import Array, address, spelled
from ._arrow import capsule, given
from ._call import Handle, lib, mode_of, number, numbers, octets
from ._casts import exact, natural
from ._storage import place


class Table(Handle):
    """An open table. Table.create() creates one.

    table["name"] is a column, an Array. pyarrow.table(), polars.from_arrow(), DuckDB and others
    accept the table through its Arrow stream.

    name: a path or a storage. mode: "r" to read, "a" to read and change.
    """

    _closes = "holdall_table_close"

    def __init__(self, name, mode="r", **options):
        self._turns = 0
        self._open(options, "table_open", place(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, columns, format="bcolz", mode="x", **options):
        """Creates a table without rows, and opens it for changes.

        name: a path or a storage. columns: a dict of dtypes by column name, at least one. format:
        "bcolz", "blz" or "blz_paper" (the BLZ RFC layout). mode: "x" creates; "w" also replaces.

        Raises ExistsError if the path exists (mode "x"), TypeError for a dtype that cannot be
        stored.
        """
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
        """Appends rows. After an error nothing is appended.

        rows: a dict of arrays of equal length with all columns by name, or an object with an Arrow
        stream.

        Raises ArgumentError for other columns or shapes, TypeError if a value would change or is
        masked.
        """
        if hasattr(rows, "__arrow_c_stream__"):
            stream, held = given(rows)
            self._change("table_append_arrow", stream)
            return
        with self._lock:
            if set(rows) != set(self.names):
                message = f"wrong columns (expected {sorted(self.names)}, found {sorted(rows)})"
                raise _errors.ArgumentError(message)
            columns = [np.ascontiguousarray(exact(rows[name], self[name].dtype, f"column {name!r}")) for name in self.names]
            for name, column in zip(self.names, columns):
                if len(column) != len(columns[0]) or column.shape[1:] != self[name].shape[1:]:
                    raise _errors.ArgumentError(f"column {name!r}: wrong shape {column.shape}")
            data = numbers([a.ctypes.data for a in columns], c.c_void_p)
            self._change("table_append", len(columns[0]), data, numbers([a.nbytes for a in columns], c.c_size_t))

    def write(self, name, first, items):
        """Overwrites rows of a column from row `first` on.

        Raises KeyError if there is no such column, RangeError past the last row, TypeError if a
        value would change.
        """
        with self._lock:
            items = np.ascontiguousarray(exact(items, self[name].dtype, f"column {name!r}"))
            self._change("table_write", self._number(name), first, len(items), address(items), items.nbytes)

    def add(self, name, items, at=None):
        """Adds a column.

        name: its name. items: one item per row of the table. at: the index of the column before
        which it is inserted; None: the column is appended. Objects of the other columns become
        invalid. Raises ExistsError if the name exists.
        """
        items = np.ascontiguousarray(natural(items, f"column {name!r}"))
        dtype = np.dtype((items.dtype, items.shape[1:])) if items.ndim > 1 else items.dtype
        with self._lock:
            self._turns += 1
            at = len(self.names) if at is None else at
            self._change("table_column_add", at, name.encode(), spelled(dtype).encode(), address(items), items.nbytes)

    def remove(self, name):
        """Removes a column.

        Objects of the other columns become invalid. Raises ArgumentError if there is no such
        column, or no other one.
        """
        with self._lock:
            self._turns += 1
            self._change("table_column_remove", name.encode())

    def truncate(self, rows):
        """Removes all but the first rows. Raises RangeError if there are fewer."""
        self._change("table_truncate", rows)

    @property
    def attrs(self):
        """The attributes of the table, a dict of JSON as bytes. Columns have their own."""
        with self._lock:
            names = [self._get("table_attr_name", i).decode() for i in range(self._get("table_attrs"))]
            return {name: self._value("table_attr_get", name) for name in names}

    def set_attr(self, name, value, column=None):
        """Sets an attribute of the table or of a column.

        value: JSON as bytes; None removes the attribute. column: the name of the column; None: the
        attribute belongs to the table. Raises ArgumentError for invalid JSON.
        """
        value = None if value is None else octets(value)
        if column is None:
            self._change("table_attr_set", name.encode(), value, len(value or b""))
        else:
            self._change("table_column_attr_set", self._number(column), name.encode(), value, len(value or b""))

    def commit(self):
        """Makes all changes durable and visible, all or none: rows, columns, attributes."""
        self._commit("table_commit")

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self, "table_to_arrow", len(self))


def strings(texts):
    texts = [text.encode() for text in texts]
    return (c.c_char_p * max(len(texts), 1))(*texts)


class Column(Array):
    """A column of a table. Changes are made through the table.

    After a column was added or removed, calls raise StateError: get the column again.
    """

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
            raise _errors.StateError("a column was added or removed; get it from the table again")
        return Borrowed(lib.holdall_table_column(table, self._i), table)

    def close(self):
        """Does nothing. A column is closed with its table."""


class Borrowed:
    """A handle that is valid as long as another handle, its owner."""

    def __init__(self, pointer, owned):
        self._as_parameter_, self.owned, self.keep = c.c_void_p(pointer), owned, owned.keep
