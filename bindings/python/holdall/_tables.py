"""Tables: named columns of equal length, with Arrow input and output."""

import ctypes as c

import numpy as np

from . import _errors
from ._arrays import Array, address, spelled
from ._arrow import capsule, fields, given
from ._call import Container, lib, mode_of, number, numbers, octets, struct, warn_damaged
from ._casts import exact, natural
from ._storage import target_of


class Table(Container):
    """An open table. Table.create() creates one.

    table["name"] is a column, an Array. pyarrow.table(), polars.from_arrow(), DuckDB and others
    accept the table through its Arrow stream.

    name: a path or a storage. mode: "r" to read, "a" to read and change.
    """

    _kind, _closes = "table", "holdall_table_close"

    def __init__(self, name, mode="r", **options):
        self._open(options, "table_open", target_of(name), mode_of(mode), changes=mode != "r")

    @classmethod
    def create(cls, name, columns, format="bcolz", mode="x", **options):
        """Creates a table without rows, and opens it for changes.

        name: a path or a storage. columns: a dict of dtypes by column name, at least one. format:
        "bcolz", "blz" or "blz_rfc". mode: "x" creates; "w" also replaces.

        Raises ExistsError if the path exists (mode "x"), TypeError for a dtype that cannot be
        stored.
        """
        fields = {
            "names": strings(columns),
            "dtypes": strings(spelled(d) for d in columns.values()),
        }
        spec = struct(
            "table_spec", format=number("FORMAT_", format), column_count=len(columns), **fields
        )
        made = cls.__new__(cls)
        made._open(
            options, "table_create", target_of(name), mode_of(mode), c.byref(spec), changes=True
        )
        made._uncommitted = True
        return made

    def __len__(self):
        return self._get("table_row_count")

    info = property(
        lambda self: self._info("table_get_info", "table_info"),
        doc="A TableInfo, a named tuple with the fields of holdall_table_info.",
    )
    nbytes = property(lambda self: self.info.nbytes, doc="Size of all items in bytes.")
    stored_bytes = property(lambda self: self.info.stored_bytes, doc="Size on disk in bytes.")

    @property
    def names(self):
        """The names of the columns, in order."""
        with self._lock:
            owned = self._p
            return [
                lib.holdall_table_column_name(owned, i).decode()
                for i in range(lib.holdall_table_column_count(owned))
            ]

    def __contains__(self, name):
        return name in self.names

    def __iter__(self):
        return iter(self.names)

    def __getitem__(self, name):
        with self._lock:
            if (
                not isinstance(name, str)
                or "\0" in name
                or not self._get("table_find_column", name.encode())
            ):
                raise KeyError(name)
            return Column(self, name)

    def column(self, name):
        """Returns a column, as table[name] does. Raises KeyError if there is none of this name."""
        return self[name]

    def read_rows(self, start=0, count=None, step=1, columns=None):
        """Returns rows start, start + step, ... as a dict of NumPy arrays by column name.

        count: the number of rows; None: all from `start` on. columns: names of columns; None: all.

        Raises KeyError if there is no such column, RangeError past the last row.
        """
        with self._lock:
            count = len(range(start, len(self), step)) if count is None else count
            out, buffers = self._buffers(count, columns)
            warn_damaged(self._call("table_read_rows", start, count, step, *buffers))
        return out

    def read_points(self, rows, columns=None):
        """Returns rows by number, in any order and with repetitions, as read_rows() does."""
        rows = numbers(list(rows))
        with self._lock:
            out, buffers = self._buffers(len(rows), columns)
            warn_damaged(self._call("table_read_points", rows, len(rows), *buffers))
        return out

    def _buffers(self, count, columns):
        """Returns a dict of arrays for rows, and their description for the library."""
        chosen = {name: self[name] for name in (self.names if columns is None else columns)}
        out = {name: np.empty((count, *a.shape[1:]), a.dtype) for name, a in chosen.items()}
        addresses = numbers([a.ctypes.data for a in out.values()], c.c_void_p)
        return out, (
            len(out),
            strings(out),
            addresses,
            numbers([a.nbytes for a in out.values()], c.c_size_t),
        )

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
        self._add_rows("table_append", rows)

    def insert_rows(self, start, rows):
        """Inserts rows before row `start`; the rows after it move.

        rows: a dict with the new items of every column. After an error nothing is inserted. If only
        some columns could be changed, all further changes raise StateError.

        Raises RangeError if `start` is past the end, and as append().
        """
        self._add_rows("table_insert", rows, start)

    def remove_rows(self, start, count):
        """Removes rows from row `start` on; the rows after them move.

        Raises RangeError if there are fewer. An error is as that of insert_rows().
        """
        self._change("table_remove", start, count)

    def _add_rows(self, function, rows, *start):
        with self._lock:
            if set(rows) != set(self.names):
                message = f"wrong columns (expected {sorted(self.names)}, found {sorted(rows)})"
                raise _errors.ArgumentError(message)
            columns = [
                np.ascontiguousarray(exact(rows[name], self[name].dtype, f"column {name!r}"))
                for name in self.names
            ]
            for name, column in zip(self.names, columns):
                if len(column) != len(columns[0]) or column.shape[1:] != self[name].shape[1:]:
                    raise _errors.ArgumentError(f"column {name!r}: wrong shape {column.shape}")
            data = numbers([a.ctypes.data for a in columns], c.c_void_p)
            sizes = numbers([a.nbytes for a in columns], c.c_size_t)
            self._change(function, *start, len(columns[0]), data, sizes)

    def write(self, name, start, items):
        """Overwrites rows of a column from row `start` on.

        Raises KeyError if there is no such column, RangeError past the last row, TypeError if a
        value would change.
        """
        with self._lock:
            items = np.ascontiguousarray(exact(items, self[name].dtype, f"column {name!r}"))
            self._change(
                "table_write", name.encode(), start, len(items), address(items), items.nbytes
            )

    def add(self, name, items, at=None):
        """Adds a column.

        name: its name. items: one item per row of the table. at: the index of the column before
        which it is inserted; None: the column is appended. Raises ExistsError if the name exists.
        """
        items = np.ascontiguousarray(natural(items, f"column {name!r}"))
        dtype = np.dtype((items.dtype, items.shape[1:])) if items.ndim > 1 else items.dtype
        with self._lock:
            at = len(self.names) if at is None else at
            self._change(
                "table_column_add",
                at,
                name.encode(),
                spelled(dtype).encode(),
                address(items),
                items.nbytes,
            )

    def remove(self, name):
        """Removes a column. Raises ArgumentError if there is no such column, or no other one."""
        self._change("table_column_remove", name.encode())

    def truncate(self, rows):
        """Removes all but the first rows. Raises RangeError if there are fewer."""
        self._change("table_truncate", rows)

    @property
    def attrs(self):
        """The attributes of the table, a dict of JSON as bytes. Columns have their own."""
        with self._lock:
            names = [
                self._get("table_attr_name", i).decode()
                for i in range(self._get("table_attr_count"))
            ]
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
            self._change(
                "table_column_attr_set",
                self[column].name.encode(),
                name.encode(),
                value,
                len(value or b""),
            )

    def commit(self):
        """Makes all changes durable and visible, all or none: rows, columns, attributes."""
        self._commit("table_commit")

    def slice(self, rows=slice(None), columns=None):
        """Returns rows of some columns as a read-only table that shares the files.

        rows: a slice, such as slice(10, 20). columns: names of columns, None: all. A slice can be
        read and copied as any table. While it is open, the table cannot be changed.

        Raises KeyError if there is no such column.
        """
        names = self.names if columns is None else [self[name].name for name in columns]
        out = c.c_void_p()
        with self._lock:
            chosen = range(len(self))[rows]
            start = chosen.start if chosen else 0
            step = chosen.step if len(chosen) > 1 else 1
            owned = self._p
            arguments = start, len(chosen), step, len(names), strings(names)
            self._call("table_slice", *arguments, c.byref(out))
            made = Table.__new__(Table)
            made._take(out.value, owned.keep)
        return made

    def copy(self, name, format="bcolz", mode="x", **options):
        """Copies all rows, columns and attributes to a new table, which is complete or absent.

        name: a path or a storage. format, mode: as for create().
        """
        self._copy(options, "table_copy", target_of(name), mode_of(mode), number("FORMAT_", format))

    def arrow(self, columns=None, start=0, count=None):
        """Returns rows of some columns as an object with an Arrow stream, as the table itself is.

        columns: names of columns, in the order of the stream, None: all. Other columns are not
        read. start: the first row. count: the number of rows, None: all from start on.

        Raises KeyError if there is no such column, RangeError past the last row.
        """
        names = self.names if columns is None else [self[name].name for name in columns]
        with self._lock:
            count = len(self) - start if count is None else count
            if not 0 <= start <= start + count <= len(self):
                raise _errors.RangeError(f"rows {start} to {start + count} of {len(self)}")
        return ArrowRows(self, names, start, count)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.arrow().__arrow_c_stream__(requested_schema)


class ArrowRows:
    """Rows of some columns of a table, for pyarrow, Polars, DuckDB and others. See Table.arrow().

    Each use reads the rows again. The table must be open.
    """

    def __init__(self, table, names, start, count):
        self._table, self._names, self._rows = table, names, (start, count)

    def __arrow_c_stream__(self, requested_schema=None):
        """Returns a capsule with a stream.

        requested_schema: the names of its fields choose and order the columns, if all of them are
        there. Types are not converted.
        """
        names = fields(requested_schema) if requested_schema is not None else self._names
        names = names if set(names) <= set(self._names) else self._names
        with self._table._lock:
            chosen = len(names), strings(names)
            return capsule(self._table, "table_columns_to_arrow", *self._rows, *chosen)


def strings(texts):
    texts = [text.encode() for text in texts]
    return (c.c_char_p * max(len(texts), 1))(*texts)


class Column(Array):
    """A column of a table. Changes are made through the table.

    After the column was removed, calls raise StateError.
    """

    _lock = property(lambda self: self._table._lock)
    _owned = property(lambda self: self._table._owned)
    generation = property(lambda self: self._table.generation, doc="The generation of the table.")

    def __init__(self, table, name):
        self._table, self.name = table, name

    @property
    def _p(self):
        # The pointer is valid until a column is added or removed, or the table is refreshed, so
        # each call gets it again.
        table = self._table._p
        found = lib.holdall_table_find_column(table, self.name.encode())
        if not found:
            raise _errors.StateError(f"column {self.name!r} was removed")
        return Borrowed(found, table)

    def refresh(self):
        """Raises StateError. A column is refreshed with its table."""
        raise _errors.StateError(
            f"column {self.name!r}: a column cannot be refreshed; refresh the table"
        )

    def close(self):
        """Does nothing. A column is closed with its table."""


class Borrowed:
    """A handle that is valid as long as another handle, its owner."""

    def __init__(self, pointer, owned):
        self._as_parameter_, self.owned, self.keep = c.c_void_p(pointer), owned, owned.keep
