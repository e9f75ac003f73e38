"""Tables: named columns of equal length, with Arrow input and output."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _errors, _native
from ._arrays import TEXT, Array, octets, spelled
from ._attributes import Attributes, encoded
from ._casts import exact, natural, values
from ._infos import TableInfo
from ._pickling import Pickled

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    from typing_extensions import Buffer, Self

    from ._native import Mode, Target


class Table(Pickled, _native.Table):
    """An open table. Table.create() creates one.

    table["name"] is a column, an Array. table[10:20] is a structured NumPy array of rows.
    pyarrow.table(), polars.from_arrow(), DuckDB and others accept the table through its Arrow
    stream.

    name: a path or a storage. mode: "r" to read, "a" to read and change.

        >>> table = holdall.Table("prices.bcolz")
        >>> table.names, len(table)
        (['price', 'code'], 3)
        >>> table["price"][:]
        array([9.5, 8. , 7.5])
    """

    @classmethod
    def create(
        cls,
        name: Target,
        columns: Mapping[str, npt.DTypeLike],
        format: str = "bcolz",
        mode: Mode = "x",
        **options: Any,
    ) -> Self:
        """Creates a table without rows, and opens it for changes.

        name: a path or a storage. columns: a dict of dtypes by column name, at least one; "T" are
        texts of any length, only in CTables. format: "bcolz", "blz", "blz_rfc", or "ctable" with a
        name that ends in ".b2d". mode: "x" creates; "w" also replaces.

        Raises ExistsError if the path exists (mode "x"), TypeError for a dtype that cannot be
        stored.

            >>> with holdall.Table.create("prices.bcolz", {"price": "f8", "code": "S3"}) as table:
            ...     table.append({"price": [9.5, 8.0], "code": [b"EWR", b"JFK"]})
            ...     table.commit()
        """
        dtypes = [(column, spelled(dtype)) for column, dtype in columns.items()]
        return cls(cls._create(name, mode, dtypes, format, options))

    @classmethod
    def from_arrow(
        cls, name: Target, rows: Any, format: str = "ctable", mode: Mode = "x", **options: Any
    ) -> Self:
        """Creates a table with the columns and rows of an Arrow stream, and commits it.

        Returns the table, open for changes. A CTable keeps the types of the fields: numbers,
        Booleans, timestamps and rows of them; text, dictionaries of text, bytes, lists and
        structures; with nulls, if the field may have them. Other formats have no values of any
        length and no nulls.

        name, format, mode: as for create(). rows: an object with an Arrow stream.

        Raises UnsupportedError for a field of another type, and as create() and append().

            >>> holdall.Table.from_arrow("people.b2d", pyarrow.table({"name": ["Ada", None]})).close()
        """
        return cls(cls._from_arrow(name, mode, rows, format, options))

    @property
    def info(self) -> TableInfo:
        """A TableInfo, a named tuple with the fields of holdall_table_info.

            >>> table.info.column_count
            2
        """
        return TableInfo._make(self._info())

    nbytes = property(lambda self: self.info.nbytes, doc="Size of all items in bytes.")
    stored_bytes = property(lambda self: self.info.stored_bytes, doc="Size on disk in bytes.")

    def _described(self):
        info = self.info
        return f"{info.format} table of {info.row_count} rows, columns {', '.join(self.names)}"

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: builtins.slice) -> np.ndarray: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._records(key)
        if not isinstance(key, str) or "\0" in key:
            raise KeyError(key)
        column = Column(self._column(key))
        column.name = key
        column._viewed = self._made().then("column", key)
        return column

    def __getitems__(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Returns the rows of these numbers, a list of dicts by column name, read in one call.

        indices: as for read_points(). It is what data loaders call.

            >>> table.__getitems__([2])
            [{'price': 7.5, 'code': b'LGA'}]
        """
        rows = self.read_points(indices)
        return [dict(zip(rows, row)) for row in zip(*rows.values())]

    def _records(self, rows):
        """Returns rows as a structured array."""
        chosen = range(len(self))[rows]
        back = chosen.step < 0
        ascending = chosen[::-1] if back else chosen
        n = len(ascending)
        columns = self.read_rows(ascending.start if n else 0, n, ascending.step if n else 1)
        fields = [(name, items.dtype, items.shape[1:]) for name, items in columns.items()]
        out = np.empty(n, fields)
        for name, items in columns.items():
            out[name] = items[::-1] if back else items
        return out

    def column(self, name: str) -> Column:
        """Returns a column, as table[name] does. Raises KeyError if there is none of this name.

            >>> table.column("price").shape
            (3,)
        """
        if not isinstance(name, str):
            raise KeyError(name)
        return self[name]

    def read_rows(
        self,
        start: int = 0,
        count: int | None = None,
        step: int = 1,
        columns: Sequence[str] | None = None,
    ) -> dict[str, np.ndarray]:
        """Returns rows start, start + step, ... as a dict of NumPy arrays by column name.

        count: the number of rows; None: all from `start` on. columns: names of columns; None: all.

        Raises KeyError if there is no such column, RangeError past the last row.

            >>> table.read_rows(1, 2, columns=["price"])
            {'price': array([8. , 7.5])}
        """
        return self._read_rows(start, count, step, self._names_of(columns))

    def read_points(
        self, rows: Any, columns: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Returns rows by number, in any order and with repetitions, as read_rows() does.

            >>> table.read_points([2, 0, 2], columns=["price"])
            {'price': array([7.5, 9.5, 7.5])}
        """
        return self._read_points([operator.index(i) for i in rows], self._names_of(columns))

    def where(self, predicate: str) -> np.ndarray:
        """Returns the numbers of the rows for which a predicate is true, in ascending order.

        predicate: a condition of SQL, such as "delay > 60 and carrier in ('UA', 'AA')", with names
        of columns, numbers, texts and times in single quotes, true, false; = <> < <= > >=, between,
        in, is null, and, or, not; starts_with(column, 'A'), contains(column, 'A'). As in DuckDB, a
        comparison with a null is neither true nor false, and NaN is greater than other numbers.
        Raises ArgumentError for a malformed predicate or a column that does not exist, TypeError for
        values that cannot be compared, RangeError for an integer or time that the column cannot
        have.

            >>> table.read_points(table.where("price < 9 and code = 'JFK'"))
            {'price': array([8.]), 'code': array([b'JFK'], dtype='|S3')}
        """
        return np.frombuffer(self._where(predicate), dtype=np.uint64)

    def nulls(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray | None:
        """Returns for each row of a column whether it is null; None if the column has no nulls.

        Only CTables have nulls. Reads return what is stored in such rows; Arrow streams have them as
        nulls. Raises ArgumentError if there is no such column, RangeError past the last row.

            >>> table.nulls("v", 0, 2)
            array([ True, False])
        """
        nulls = self._nulls(column, start, len(self) if stop is None else stop)
        return None if nulls is None else np.frombuffer(nulls, dtype=bool)

    @staticmethod
    def _names_of(columns):
        if columns is None:
            return None
        columns = list(columns)
        for name in columns:
            if not isinstance(name, str):
                raise KeyError(name)
        return columns

    def append(self, rows: Any) -> None:
        """Appends rows. After an error nothing is appended.

        rows: a dict of arrays of equal length with all columns by name, or an object with an Arrow
        stream. Texts of any length (dtype "T") are a list or array of str; None is a null. Bytes of
        any length, and lists, structures and objects in MessagePack, are a list of bytes.

        Raises ArgumentError for other columns or shapes, TypeError if a value would change or is
        masked.

            >>> table.append({"price": [7.5], "code": [b"LGA"]})
        """
        if hasattr(rows, "__arrow_c_stream__"):
            self._append_arrow(rows)
        else:
            self._append(*self._columns_of(rows))

    def insert_rows(self, start: int, rows: Any) -> None:
        """Inserts rows before row `start`; the rows after it move.

        rows: a dict with the new items of every column. After an error nothing is inserted. If only
        some columns could be changed, all further changes raise StateError.

        Raises RangeError if `start` is past the end, and as append().

            >>> table.insert_rows(0, {"price": [7.5], "code": [b"LGA"]})
        """
        self._insert(start, *self._columns_of(rows))

    def _columns_of(self, rows):
        """Returns the number of rows, and the items of all columns in order."""
        if not hasattr(rows, "keys"):
            kind = type(rows).__name__
            raise TypeError(f"rows: expected a dict or an Arrow stream, found {kind}")
        names = self.names
        if set(rows) != set(names):
            message = f"wrong columns (expected {sorted(names)}, found {sorted(rows)})"
            raise _errors.ArgumentError(message)
        columns: list = []
        for name in names:
            column = self[name]
            items = self._items_of(column, rows[name])
            shape = np.shape(items) if column.dtype is not None else (len(items),)
            if columns and len(items) != len(columns[0]) or shape[1:] != column.shape[1:]:
                raise _errors.ArgumentError(f"column {name!r}: wrong shape {shape}")
            columns.append(items)
        return len(columns[0]), columns

    @staticmethod
    def _items_of(column, items):
        """Returns new items of a column: an array, or a list of bytes of any length."""
        if column.dtype is None:
            return values(items, column._spelling, f"column {column.name!r}")
        return np.ascontiguousarray(exact(items, column.dtype, f"column {column.name!r}"))

    def write(self, name: str, start: int, items: Any) -> None:
        """Overwrites rows of a column from row `start` on.

        Raises KeyError if there is no such column, RangeError past the last row, TypeError if a
        value would change.

            >>> table.write("price", 0, [10.0, 8.5])
        """
        items = self._items_of(self[name], items)
        self._write(name, start, len(items), items)

    def add(
        self,
        name: str,
        items: npt.ArrayLike,
        at: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        """Adds a column.

        name: its name. items: one item per row of the table. at: the index of the column before
        which it is inserted; None: the column is appended. dtype: "T" for texts of any length, which
        CTables have; None: that of the items. Raises ExistsError if the name exists.

            >>> table.add("volume", np.zeros(len(table), "i4"))
        """
        if dtype is not None and spelled(dtype) == TEXT:
            return self._add(at, name, TEXT, values(items, TEXT, f"column {name!r}"))
        if dtype is not None:
            items = exact(items, np.dtype(dtype), f"column {name!r}")
        items = np.ascontiguousarray(natural(items, f"column {name!r}"))
        dtype = np.dtype((items.dtype, items.shape[1:])) if items.ndim > 1 else items.dtype
        self._add(at, name, spelled(dtype), items)

    @property
    def attrs(self) -> Attributes:
        """The attributes of the table, a mapping to what JSON holds. Columns have their own.

            >>> table.attrs
            {'source': {'city': 'Turin', 'year': 2013}}
        """
        return Attributes(self)

    def set_attr(self, name: str, value: Any, column: str | None = None) -> None:
        """Sets an attribute of the table or of a column.

        value: what JSON can hold, or JSON as bytes; None removes the attribute. column: the name of
        the column; None: the attribute belongs to the table.

        Raises ArgumentError for invalid JSON, TypeError for a value that would change.

            >>> table.set_attr("source", {"city": "Turin", "year": 2013})
            >>> table.set_attr("unit", "EUR", column="price")
        """
        value = encoded(self._format, value)
        self._set_attribute(name, value, None if column is None else self[column].name)

    def set_meta_file(self, name: str, value: Buffer | None) -> None:
        """Sets the bytes of a further file in the folder meta of a table in the BLZ RFC layout.

        name: as for Array.set_meta_file(). value: bytes; None removes the file. The commit writes
        it.

        Raises ArgumentError for another name, UnsupportedError for other tables.

            >>> table.set_meta_file("units.json", b'"K"')
        """
        self._set_meta_file(name, None if value is None else octets(value))

    def slice(
        self, rows: builtins.slice = slice(None), columns: Sequence[str] | None = None
    ) -> Table:
        """Returns rows of some columns as a read-only table that shares the files.

        rows: a slice, such as slice(10, 20). columns: names of columns, None: all. A slice can be
        read and copied as any table. While it is open, the table cannot be changed.

        Raises KeyError if there is no such column.

            >>> table.slice(slice(0, 1000), ["price"]).copy("part.bcolz")
        """
        names = None if columns is None else [self[name].name for name in columns]
        chosen = range(len(self))[rows]
        start = chosen.start if chosen else 0
        return self._part(start, len(chosen), chosen.step if len(chosen) > 1 else 1, names)

    def _part(self, *arguments):
        made = Table(self._slice(*arguments))
        made._viewed = self._made().then("_part", *arguments)
        return made

    def copy(
        self, name: Target, format: str = "bcolz", mode: Mode = "x", **options: Any
    ) -> None:
        """Copies all rows, columns and attributes to a new table, which is complete or absent.

        name: a path or a storage. format, mode: as for create().

            >>> table.copy("prices.blz", "blz", codec="zlib")
        """
        self._copy(name, mode, format, options)

    def arrow(
        self, columns: Sequence[str] | None = None, start: int = 0, count: int | None = None
    ) -> Any:
        """Returns rows of some columns as an object with an Arrow stream, as the table itself is.

        columns: names of columns, in the order of the stream, None: all. Other columns are not
        read. start: the first row. count: the number of rows, None: all from start on.

        Raises KeyError if there is no such column, RangeError past the last row.

            >>> pyarrow.table(table.arrow(["price"], 1)).num_rows
            2
        """
        stop = len(self) if count is None else start + count
        return self.scan(columns, start=start, stop=stop)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        start: int = 0,
        stop: int | None = None,
        limit: int | None = None,
        rows: Iterable[int] | None = None,
        batch_rows: int = 0,
    ) -> Any:
        """Returns what is selected as an object with an Arrow stream, as the table itself is.

        columns: names of columns, in the order of the stream, None: all. filter: a condition of SQL,
        as of where(): only rows for which it is true. The columns that it compares are read first,
        and others only where rows pass. start, stop: the range of rows, None: to the last one. limit:
        the maximum number of rows. rows: numbers of rows, in any order, instead of a filter, a range
        or a limit. batch_rows: maximum number of rows of a batch, 0: about 16 MB.

        Raises KeyError if there is no such column, RangeError past the last row, and as where().

            >>> pyarrow.table(table.scan(["code"], filter="price < 9")).to_pylist()
            [{'code': 'JFK'}, {'code': 'LGA'}]
        """
        names = self.names if columns is None else [self[name].name for name in columns]
        if rows is not None:
            if filter is not None or limit is not None or start or stop is not None:
                raise _errors.ArgumentError("rows, and also a filter, a range or a limit")
            rows = [operator.index(i) for i in rows]
            if wrong := [i for i in rows if not 0 <= i < len(self)]:
                raise _errors.RangeError(f"row {wrong[0]} of {len(self)}")
        have = len(self)
        stop = have if stop is None else stop
        if not 0 <= start <= stop <= have:
            raise _errors.RangeError(f"rows {start} to {stop} of {have}")
        if batch_rows < 0 or (limit is not None and limit < 0):
            raise _errors.ArgumentError("a negative limit or batch_rows")
        limit = None if limit is None else min(limit, have)
        batch_rows = min(batch_rows, have)
        return ArrowRows(self, names, filter, start, stop, limit, rows, batch_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns a capsule with a stream of all rows, as that of arrow()."""
        return self.arrow().__arrow_c_stream__(requested_schema)


class ArrowRows:
    """Rows of some columns of a table, for pyarrow, Polars, DuckDB and others. See Table.scan().

    Each use reads the rows again. The table must be open.
    """

    def __init__(self, table, names, *what):
        self._table, self._names, self._what = table, names, what

    def __arrow_c_stream__(self, requested_schema=None):
        """Returns a capsule with a stream.

        requested_schema: the names of its fields choose and order the columns, if all of them are
        there. Types are not converted.
        """
        return self._table._arrow_stream(self._names, self._what, requested_schema)

    def __repr__(self):
        filter, start, stop, limit, numbers, _ = self._what
        rows = f"rows {start} to {stop}" if numbers is None else f"{len(numbers)} rows"
        where = "" if filter is None else f", filter {filter!r}"
        most = "" if limit is None else f", limit {limit}"
        columns = ", ".join(self._names)
        return f"<holdall.ArrowRows: {rows}{where}{most}, columns {columns}>"


class Column(Array):
    """A column of a table. Changes are made through the table.

    After the column was removed, calls raise StateError.

        >>> table["price"].attrs
        {'unit': 'EUR'}
    """

    name = ""  # of the column

    def __getitem__(self, key: Any) -> Any:
        """Returns rows, as of an array. Texts of any length are str, in an array of objects; a null is
        None."""
        if not self._is_text:
            return super().__getitem__(key)
        chosen = np.arange(len(self))[key]
        if np.ndim(chosen) == 0:
            return self.values(int(chosen), int(chosen) + 1)[0]
        made = np.empty(chosen.shape, object)
        if made.size:
            first, last = int(chosen.min()), int(chosen.max())
            texts = np.empty(last + 1 - first, object)
            texts[:] = self.values(first, last + 1)
            made[...] = texts[chosen - first]
        return made

    def _described(self):
        return f"column {self.name!r}, {super()._described()}"
