"""Spark 4: tables and bags as a data source, for reading and appending.

    >>> spark.dataSource.register(holdall.spark.Source)
    >>> trips = spark.read.format("holdall").option("columns", "km,code").load("trips.bcolz")
    >>> trips.where("km > 10").write.format("holdall").mode("append").save("long.bcolz")

A bag has the column "record" of bytes. Options of holdall.Table() and holdall.Bag(), or of
holdall.TablePart() and holdall.BagPart(), are options of the source: option("threads", 1).
Executors open the container by its path. One that finds another version of it, because it was
changed while the job runs, raises StateError. Each task writes a part, and the driver commits the
parts. After an error, or a crash, the container has what it had; repair() removes parts.
"""

try:
    import pyarrow
    from pyspark.sql import datasource
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
except ImportError as error:
    message = "holdall.spark needs Spark 4: pip install 'holdall[spark]'"
    raise ImportError(message) from error

import json
import os

from . import Bag, BagPart, Table, TablePart, _errors, _items, commit_parts, discard_parts


def _options(given):
    """Returns options, which are text in Spark, with numbers and truth values as such."""
    options = {}
    for name, value in given.items():
        try:
            options[name.lower()] = json.loads(value)
        except ValueError:
            options[name.lower()] = value
    return options


def _opened(options):
    """Returns the bag or table that is to be read."""
    options = _options(options)
    path, columns = options.pop("path"), options.pop("columns", None)
    handle = _items.opened(path, _items.of_a_task(options))
    if isinstance(handle, Table):
        return handle if columns is None else handle.slice(columns=columns.split(","))
    if not isinstance(handle, Bag) or columns is not None:
        kind = type(handle).__name__.lower()
        raise _errors.TypeError(f"{path}: wrong kind (expected a bag or a table, found {kind})")
    return handle


class _Split(datasource.InputPartition):
    """A range of rows, which Spark sends to an executor."""

    def __init__(self, split):
        super().__init__((split.first, split.count))


class _Reader(datasource.DataSourceReader):
    def __init__(self, handle, schema, partitions):
        self._handle, self._schema, self._partitions = handle, schema, partitions

    def partitions(self):
        return [_Split(split) for split in self._handle.splits(self._partitions)]

    def read(self, partition):
        first, count = partition.value
        part = slice(first, first + count)
        part = self._handle[part] if isinstance(self._handle, Bag) else self._handle.slice(part)
        for batch in pyarrow.RecordBatchReader.from_stream(part):
            yield batch.cast(self._schema)  # in the units of Spark; an error if a value changes


class _Written(datasource.WriterCommitMessage):
    """The token of a part, which Spark sends to the driver."""

    def __init__(self, token):
        self.token = token


class _Writer(datasource.DataSourceArrowWriter):
    """Writes the rows of each task to a part. `schema`: that of the table, None for a bag."""

    def __init__(self, path, schema, options):
        self._path, self._schema, self._options = path, schema, options

    def write(self, iterator):
        if self._schema is None:
            with BagPart(self._path, **self._options) as bag:
                for batch in iterator:
                    bag.extend(batch.column("record").to_pylist())
                return _Written(bag.finish())
        with TablePart(self._path, **self._options) as table:
            for batch in iterator:
                batch = batch.select(self._schema.names).cast(self._schema)
                table.append(pyarrow.Table.from_batches([batch]))
            return _Written(table.finish())

    def commit(self, messages):
        commit_parts(self._path, [message.token for message in messages])

    def abort(self, messages):
        discard_parts(self._path, [message.token for message in messages if message])


class Source(datasource.DataSource):
    """The format "holdall" of spark.read and DataFrame.write, after spark.dataSource.register().

    Options of reading: "columns": names of columns of a table, separated by commas; "partitions":
    the number of partitions, at most; options of opening.

    Only the mode "append" writes: to a table that exists, to a bag, which is created if it does not
    exist, or to a new set such as "lines@*.bagz".

    Raises TypeError for containers of other kinds, KeyError if there is no such column. Spark has
    no unsigned integers: columns of them need a schema, as in spark.read.schema("id long").
    """

    @classmethod
    def name(cls):
        return "holdall"

    def _handle(self):
        options = dict(self.options)
        options.pop("partitions", None)
        return _opened(options)

    def schema(self):
        with pyarrow.RecordBatchReader.from_stream(self._handle()) as stream:
            return from_arrow_schema(stream.schema)

    def reader(self, schema):
        handle = self._handle()
        # as files of Spark, which have 128 MiB per partition, but stored bytes
        partitions = max(handle.stored_bytes >> 26, 2 * (os.cpu_count() or 1))
        partitions = int(self.options.get("partitions", partitions))
        return _Reader(handle, to_arrow_schema(schema), partitions)

    def writer(self, schema, overwrite):
        options = _options(self.options)
        path, names = options.pop("path"), schema.names
        if overwrite:
            raise _errors.ArgumentError(f'{path}: expected mode("append"), found overwrite')
        stored, expected = None, ["record"]
        if os.path.isdir(path):
            with Table(path) as table, pyarrow.RecordBatchReader.from_stream(table) as stream:
                stored, expected = stream.schema, stream.schema.names
        if sorted(names) != sorted(expected):
            raise _errors.ArgumentError(f"{path}: expected columns {expected}, found {names}")
        return _Writer(path, stored, options)
