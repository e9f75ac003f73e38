"""Spark 4: tables and bags as a data source.

    >>> spark.dataSource.register(holdall.spark.Source)
    >>> trips = spark.read.format("holdall").option("columns", "km,code").load("trips.bcolz")
    >>> lines = spark.read.format("holdall").load("lines@*.bagz")

A bag has the column "record" of bytes. Options of holdall.Table() and holdall.Bag() are options of
the reader: option("threads", 1). Executors open the container by its path. One that finds another
version of it, because it was changed while the job runs, raises StateError.
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

from . import Bag, Table, _errors, _items


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
    handle = _items.opened(path, options)
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


class Source(datasource.DataSource):
    """The format "holdall" of spark.read, after spark.dataSource.register().

    Options: "columns": names of columns of a table, separated by commas; "partitions": the number
    of partitions, at most; options of opening.

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
