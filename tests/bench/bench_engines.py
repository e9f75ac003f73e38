"""usage: bench_engines.py ENGINE

Compares reading through an engine (beam, dask, grain, ray, spark, torch) with the plain reader of
the module in one process, which has all processors: the same container and result, in alternating
rounds. The engine has two workers where it has any, and has started before the first round. "Empty"
is the same job without holdall, over content that each worker makes: what the engine itself takes.
The goal is 0.9 of the throughput of the plain reader, or of what both together allow: the time of
the plain reader and that of the engine without it, one after the other.

The environment is that of the tests of the engine, see tests/run/engines.sh; PYTHONPATH has the
module. HOLDALL_BENCH_ROUNDS is the number of rounds (5), HOLDALL_BENCH_SCALE a factor of the sizes.
"""

import concurrent.futures
import functools
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

import holdall
from rows import measure

SCALE = float(os.environ.get("HOLDALL_BENCH_SCALE", 1))
RECORDS, ROWS, BATCH, WORKERS = int(1_000_000 * SCALE), int(8_000_000 * SCALE), 1000, 2
SIDE, CHUNK = 384, 128
GOAL = 0.9
RECORD = b"flights that left New York in 2013, by carrier and month; " * 4


# ---- containers


def make_bag(folder):
    spec = str(folder / "lines@4.bagz")
    rng = np.random.default_rng(1)
    with holdall.BagWriter(spec, "w") as writer:
        writer.extend(RECORD[: int(n)] + rng.bytes(20) for n in rng.integers(100, 200, RECORDS))
        writer.commit()
    return spec


def make_table(folder):
    path = str(folder / "trips.bcolz")
    rng = np.random.default_rng(1)
    with holdall.Table.create(path, {"km": "f8", "id": "i8"}) as table:
        table.append({"km": np.round(rng.random(ROWS) * 100, 2), "id": np.arange(ROWS)})
        table.commit()
    return path


def make_array(folder):
    path = str(folder / "field.b2nd")
    rng = np.random.default_rng(1)
    items = rng.integers(0, 1000, (SIDE, SIDE, SIDE), dtype=np.int32)
    holdall.Array.save(path, items, chunk_shape=(CHUNK,) * 3)
    return path


def made_records(n):
    """Makes records that are objects of their own, as those of a file are."""
    return np.full(n, RECORD[:170]).tolist()


# ---- the plain reader: the sum of lengths, of a column, of all items


def plain_bag(spec):
    return sum(map(len, holdall.Bag(spec)))


def plain_column(path):
    return float(holdall.Table(path)["km"][:].sum())


def plain_array(path):
    return int(holdall.Array(path)[...].sum())


def plain_epoch(spec):
    """Batches of a shuffled epoch."""
    total, stream = 0, holdall.Bag(spec).epoch(1)
    while records := stream.take(BATCH):
        total += sum(map(len, records))
    return total


class Seconds(float):
    """The result of a job that has measured itself."""


def after_first(batches):
    """Returns the seconds for all batches but the first, before which workers start."""
    batches = iter(batches)
    next(batches)
    start = time.perf_counter()
    assert sum(sum(map(len, batch)) for batch in batches) > 0
    return Seconds(time.perf_counter() - start)


# ---- engines: each yields what is done, the plain reader, the engine, and the engine on content
# that it makes


def of_dask(folder):
    import dask
    import dask.array
    import dask.bag

    import holdall.dask

    spec, path = make_bag(folder), make_array(folder)
    # stays, so that its start is not measured
    pool = concurrent.futures.ProcessPoolExecutor(WORKERS)
    made = dask.delayed(made_records)

    def empty_bag():
        return dask.bag.from_delayed([made(RECORDS // 8) for _ in range(8)])

    def total(bag):
        return bag.map(len).sum().compute(scheduler="processes", pool=pool)

    yield (
        "bag, sum of lengths, processes",
        lambda: plain_bag(spec),
        lambda: total(holdall.dask.bag(spec, npartitions=8)),
        lambda: total(empty_bag()),
    )

    def empty_array():
        return dask.array.zeros((SIDE,) * 3, chunks=CHUNK, dtype=np.int32)

    yield (
        "array, sum, threads",
        lambda: plain_array(path),
        lambda: int(holdall.dask.from_array(path).sum(dtype="i8").compute()),
        lambda: int(empty_array().sum(dtype="i8").compute()),
    )
    import xarray

    import holdall.xarray

    def opened(path):
        return xarray.open_dataset(path, engine=holdall.xarray.Backend, chunks={})

    yield (
        "xarray, sum, threads",
        lambda: plain_array(path),
        lambda: int(opened(path)["field"].sum(dtype="i8").compute()),
        lambda: int(xarray.DataArray(empty_array()).sum(dtype="i8").compute()),
    )


def of_grain(folder):
    import grain

    import holdall.grain

    spec = make_bag(folder)

    class Empty(grain.sources.RandomAccessDataSource):
        def __len__(self):
            return -(-RECORDS // BATCH)

        def __getitem__(self, i):
            return made_records(BATCH)

    def total(source, workers):
        batches = grain.MapDataset.source(source).to_iter_dataset()
        if workers:
            batches = batches.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
        return after_first(batches)

    for workers in (0, WORKERS):
        yield (
            f"bag, batches of {BATCH} of an epoch, {workers} workers",
            lambda: plain_epoch(spec),
            lambda workers=workers: total(holdall.grain.Batches(spec, BATCH, seed=1), workers),
            lambda workers=workers: total(Empty(), workers),
        )


def of_torch(folder):
    from torch.utils import data

    import holdall.torch

    spec = make_bag(folder)

    def total(dataset, workers):
        loader = data.DataLoader(dataset, batch_size=None, num_workers=workers)
        return after_first(loader)

    for workers in (0, WORKERS):
        yield (
            f"bag, batches of {BATCH} of an epoch, {workers} workers",
            lambda: plain_epoch(spec),
            lambda workers=workers: total(holdall.torch.Epochs(spec, BATCH, seed=1), workers),
            lambda workers=workers: total(EmptyBatches(), workers),
        )


class EmptyBatches:
    """A map-style dataset of batches."""

    def __len__(self):
        return -(-RECORDS // BATCH)

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return made_records(BATCH)


def of_ray(folder):
    import pyarrow.compute
    import ray

    import holdall.ray

    ray.init(num_cpus=WORKERS, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    spec, path = make_bag(folder), make_table(folder)

    def lengths(dataset):
        return sum(
            pyarrow.compute.sum(pyarrow.compute.binary_length(batch["record"])).as_py()
            for batch in dataset.iter_batches(batch_format="pyarrow", batch_size=None)
        )

    class Empty(holdall.ray._Source):
        """The same tasks."""

        def get_read_tasks(self, *args, **options):
            tasks = super().get_read_tasks(*args, **options)
            makes = [functools.partial(made_table, task.metadata.num_rows) for task in tasks]
            return [ray.data.ReadTask(make, task.metadata) for make, task in zip(makes, tasks)]

    yield (
        "bag, sum of lengths",
        lambda: plain_bag(spec),
        lambda: lengths(holdall.ray.read_bag(spec)),
        lambda: lengths(ray.data.read_datasource(Empty(holdall.Bag(spec)))),
    )
    yield (
        "table, sum of a column",
        lambda: plain_column(path),
        lambda: holdall.ray.read_table(path, columns=["km"]).sum("km"),
        lambda: ray.data.range(ROWS).sum("id"),
    )


def made_table(n):
    import pyarrow

    yield pyarrow.Table.from_batches([made_batch(n)])


def of_spark(folder):
    from pyspark.sql import SparkSession, datasource

    import holdall.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable  # of the workers
    spark = SparkSession.builder.master(f"local[{WORKERS}]").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    class EmptyReader(datasource.DataSourceReader):
        def __init__(self, reader, make):
            self.partitions, self.make = reader.partitions, make

        def read(self, partition):
            count = partition.value[1]
            for first in range(0, count, 10_000):
                yield self.make(min(count - first, 10_000))

    class Empty(holdall.spark.Source):
        """The same partitions."""

        @classmethod
        def name(cls):
            return "empty"

        def reader(self, schema):
            make = made_rows if "columns" in self.options else made_batch
            return EmptyReader(super().reader(schema), make)

    for source in (holdall.spark.Source, Empty):
        spark.dataSource.register(source)
    spec, path = make_bag(folder), make_table(folder)

    def total(source, name, column, sum):
        frame = spark.read.format(source)
        frame = frame.option("columns", column) if column else frame
        return frame.load(name).selectExpr(sum).first()[0]

    bag = (spec, None, "sum(length(record))")
    yield (
        "bag, sum of lengths",
        lambda: plain_bag(spec),
        lambda: total("holdall", *bag),
        lambda: total("empty", *bag),
    )
    table = (path, "km", "sum(km)")
    yield (
        "table, sum of a column",
        lambda: plain_column(path),
        lambda: total("holdall", *table),
        lambda: total("empty", *table),
    )


def made_batch(n):
    import pyarrow

    records = pyarrow.array(made_records(n), pyarrow.binary())
    return pyarrow.RecordBatch.from_arrays([records], ["record"])


def made_rows(n):
    import pyarrow

    schema = pyarrow.schema([pyarrow.field("km", pyarrow.float64(), nullable=False)])
    return pyarrow.RecordBatch.from_arrays([pyarrow.array(np.zeros(n))], schema=schema)


def of_beam(folder):
    import apache_beam as beam

    import holdall.beam

    spec = make_bag(folder)

    def run(source):
        with beam.Pipeline() as pipeline:
            pipeline | source | beam.Map(len) | beam.CombineGlobally(sum)

    yield (
        "bag, sum of lengths",
        lambda: plain_bag(spec),
        lambda: run(holdall.beam.ReadFromBagz(spec)),
        lambda: run(beam.Create(made_records(RECORDS))),
    )


# ---- main

ENGINES = dict(
    beam=of_beam, dask=of_dask, grain=of_grain, ray=of_ray, spark=of_spark, torch=of_torch
)


def timed(call):
    def seconds():
        start = time.perf_counter()
        result = call()
        return result if isinstance(result, Seconds) else time.perf_counter() - start

    return seconds


def main(engine):
    print(f"{engine}: {RECORDS:,} records, {ROWS:,} rows, {SIDE}^3 items; seconds, ratios")
    with tempfile.TemporaryDirectory(prefix="holdall-bench-") as folder:
        for what, plain, through, empty in ENGINES[engine](pathlib.Path(folder)):
            ways = {engine: timed(through), "empty": timed(empty)}
            times = measure(what, {"plain": timed(plain)}, ways)
            one, all, nothing = (statistics.median(some) for some in times.values())
            of_both = (one + nothing) / all
            reached = max(one / all, of_both) >= GOAL
            print(
                f"\r{what:52} plain {one:.3f}, {engine} {all:.3f}, empty {nothing:.3f}; of plain "
                f"{one / all:.2f}, of both {of_both:.2f}, {'' if reached else 'not '}reached"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
