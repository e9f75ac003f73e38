"""Lance, Vortex and Parquet, for the rows of records and tables: each with the settings that it has
by default, Parquet with zstd. All are called from Python, and return Arrow arrays.
"""

import os
import shutil
import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import vortex

from common import timed, version


class Columns:
    """A file of a table. Each operation returns its seconds; the table is in memory before."""

    def __init__(self, path, table):
        self.path, self.table = str(path), table

    def write(self):
        """Starts with an idle disk."""
        if os.path.isdir(self.path):
            shutil.rmtree(self.path)
        elif os.path.exists(self.path):
            os.remove(self.path)
        os.sync()
        return timed(self.write_all)

    def open(self, times):
        return timed(lambda: [self.opened() for _ in range(times)])

    def batches(self, indices, at_once):
        """Rows at random, so many per call, in ascending order, which Vortex requires."""
        return self.taken(
            [np.unique(indices[k : k + at_once]) for k in range(0, len(indices), at_once)]
        )

    def ranges(self, starts, rows):
        """Adjacent rows from each of these on."""
        return self.taken([np.arange(start, start + rows) for start in starts])

    def taken(self, parts, seconds=2):
        """The rows of each part in a call. A reader that takes long reads fewer of them."""
        file = self.opened()
        start, done = time.perf_counter(), 0
        for part in parts:
            assert self.take(file, part).num_rows == len(part)
            done += 1
            if time.perf_counter() - start > seconds:
                break
        return (time.perf_counter() - start) * len(parts) / done

    def all(self, columns=None):
        """All rows, piece by piece."""
        file = self.opened()
        start, rows = time.perf_counter(), 0
        for batch in self.scan(file, columns):
            rows += len(batch)
        took = time.perf_counter() - start
        assert rows == self.table.num_rows
        return took


class Lance(Columns):
    def write_all(self):
        lance.write_dataset(self.table, self.path)

    def opened(self):
        return lance.dataset(self.path)

    def take(self, file, rows):
        return file.take(rows.tolist())

    def scan(self, file, columns):
        return file.to_batches(columns=columns)


class Vortex(Columns):
    def write_all(self):
        vortex.io.write(self.table, self.path)

    def opened(self):
        return vortex.open(self.path)

    def take(self, file, rows):
        return file.to_arrow(indices=vortex.array(pa.array(rows.astype("<u8")))).read_all()

    def scan(self, file, columns):
        return file.to_arrow(columns)


class Parquet(Columns):
    def write_all(self):
        pyarrow.parquet.write_table(self.table, self.path, compression="zstd")

    def opened(self):
        return pyarrow.dataset.dataset(self.path)

    def take(self, file, rows):
        return file.take(rows)

    def scan(self, file, columns):
        return file.to_batches(columns=columns)


KINDS = {"lance": Lance, "vortex": Vortex, "parquet": Parquet}
VERSIONS = {name: version(package) for name, package in
            (("lance", "pylance"), ("vortex", "vortex-data"), ("pyarrow", "pyarrow"))}


def files(folder, mark, table):
    """One of each kind."""
    return {name: kind(folder / f"{mark}.{name}", table) for name, kind in KINDS.items()}


def of_records(records):
    """A table with one column of bytes."""
    return pa.table({"record": pa.array(records, pa.large_binary())})
