"""Runs the tests of python-blosc2, and compares what it and holdall read of every container that
they write: equal, or an error that names the reason.

usage: compare.py FOLDER"""

import collections
import faulthandler
import importlib.metadata
import math
import os
import pathlib
import subprocess
import sys
import tarfile
import warnings

import blosc2
import numpy as np
import pyarrow as pa

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import holdall_c as h  # noqa: E402

# Errors that name what holdall does not read: forms and codecs.
NAMED = (h.E_UNSUPPORTED, h.E_CODEC)
# Errors of tables that tests damage.
DAMAGED = (h.E_FORMAT, h.E_MISSING)


def run_tests(folder, files):
    """Runs the tests of the version that is installed. Some fail on some machines."""
    version = importlib.metadata.version("blosc2")
    get = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "blosc2"]
    subprocess.run([*get, f"blosc2=={version}", "-d", folder], check=True)
    with tarfile.open(folder / f"blosc2-{version}.tar.gz") as source:
        source.extractall(folder, filter="data")
    environment = dict(os.environ, SUITE_FILES=str(files), PYTHONPATH=str(HERE))
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "captured", "-p", "no:cacheprovider"]
    marks = ["-o", "addopts=", "-m", "not network and not heavy and not tui"]
    with open(folder / "pytest.log", "wb") as log:
        subprocess.run(
            [*pytest, *marks, "tests"],
            cwd=folder / f"blosc2-{version}",
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )


def flat(values):
    """Returns the numbers, texts and nulls of a column, whatever form Arrow gives its rows."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        return [one for value in values for one in flat(value)]
    if isinstance(values, np.generic):
        values = values.item()
    if isinstance(values, complex):
        return flat([values.real, values.imag])
    return ["NaN" if isinstance(values, float) and math.isnan(values) else values]


def is_readable(theirs):
    """Whether python-blosc2 reads what it has opened; of a table, any of its columns."""
    if not isinstance(theirs, blosc2.CTable):
        return theirs is not None

    def reads(name):
        try:
            return theirs[name][:] is not None
        except Exception:
            return False

    return any(reads(name) for name in theirs.col_names)


class Comparison:
    def __init__(self):
        self.found = collections.Counter()
        self.wrong = []

    def differ(self, path, why):
        self.found["wrong"] += 1
        self.wrong.append(f"{path}: {why}")

    def container(self, path):
        try:
            theirs = blosc2.open(path, mode="r")
        except Exception:
            theirs = None
        self.value(path, theirs)

    def value(self, path, theirs):
        """Compares what python-blosc2 has opened, or not, with what is at a path."""
        try:
            self.of_kind(path, theirs)
        except h.Error as e:
            is_table = isinstance(theirs, blosc2.CTable)
            if type(theirs).__name__.startswith("Remote") and e.status == h.E_TYPE:
                # a store with the reference to a remote one, or to a table
                self.found["references"] += 1
                return None
            if is_table and e.status in DAMAGED and "column" in e.message:
                # python-blosc2 reads the other columns
                self.found["tables with a damaged column, which is named"] += 1
                return None
            kind = f"as {h.status_name(e.status)}" if is_readable(theirs) else "by both"
            if is_readable(theirs) and e.status not in NAMED:
                return self.differ(path, e)
            self.found[f"refused {kind}"] += 1

    def of_kind(self, path, theirs):
        if isinstance(theirs, blosc2.CTable):
            return self.table(path, theirs)
        if isinstance(theirs, (blosc2.TreeStore, blosc2.DictStore, blosc2.EmbedStore)):
            return self.store(path, theirs)
        if isinstance(theirs, blosc2.NDArray):
            with h.Array(path) as array:
                if list(array.shape) != list(theirs.shape):
                    return self.differ(path, f"shape {array.shape}, not {theirs.shape}")
            return self.chunks(path, theirs.schunk)
        # lists and objects are superchunks for holdall, whose chunks have blocks of any length
        if isinstance(theirs, blosc2.SChunk):
            return self.chunks(path, theirs)
        if theirs is None:
            h.nodes(path) if os.path.isdir(path) else h.Schunk(path).close()
            self.found["read by holdall alone"] += 1
            return None
        with h.Schunk(path) as schunk:
            schunk.read()
        self.found["objects, as chunks"] += 1

    def chunks(self, path, theirs):
        if theirs.nbytes == 0:
            h.Schunk(path).close()
        for i, about in enumerate(theirs.iterchunks_info()):
            if about.special == blosc2.SpecialValue.UNINIT:
                self.found["chunks without defined content"] += 1
                continue
            with h.Schunk(path) as schunk:
                if schunk.read_chunk(i) != theirs.decompress_chunk(i):
                    return self.differ(path, f"chunk {i}")
        self.found["equal"] += 1

    def store(self, path, theirs):
        ours = set(h.nodes(path))
        for key in theirs.keys():
            try:
                value = theirs[key]
            except Exception:
                value = None
            if key in ours:
                self.value(f"{path}{key}", value)
            elif not any(node.startswith(f"{key}/") for node in ours):
                self.differ(path, f"no node {key}")

    def table(self, path, theirs):
        # the number of rows that was stored may be that before a crash
        theirs._n_rows = None
        with h.Table(path) as table:
            if len(table) != len(theirs):
                return self.differ(path, f"{len(table)} rows, not {len(theirs)}")
            if not set(theirs.col_names) <= set(table.names):
                return self.differ(path, f"columns {table.names}, not {theirs.col_names}")
            for name in table.names:
                self.value_of(path, name, table, theirs)

    def value_of(self, path, name, table, theirs):
        try:
            expected = flat(theirs.select([name]).to_arrow().column(0).to_pylist())
        except Exception:
            try:
                expected = flat(list(theirs[name][:]))
            except Exception:
                expected = None
        try:
            got = flat(column(table, name))
        except (h.Error, pa.ArrowException, OSError) as e:
            named = any(word in str(e) for word in ("are not read", "cannot be read in place"))
            if expected is not None and not named:
                return self.differ(path, f"column {name}: {e}")
            self.found["columns refused by both" if expected is None else "columns refused"] += 1
            return None
        if got != expected:
            return self.differ(path, f"column {name}: {got[:9]}, not {(expected or [])[:9]}")
        self.found["columns equal"] += 1


def column(table, name):
    # a struct ArrowArrayStream: five pointers
    stream = (h.P * 5)()
    names = h._numbers(h.c.c_char_p, [name.encode()])
    address = h.c.addressof(stream)
    h.call("table_columns_to_arrow", table._handle, 0, len(table), 1, names, 0, address)
    return pa.RecordBatchReader._import_from_c(address).read_all().column(0).to_pylist()


def main(folder):
    faulthandler.enable()
    warnings.simplefilter("ignore", UserWarning)
    folder = pathlib.Path(folder).resolve()
    files = folder / "files"
    if not files.exists():
        files.mkdir(parents=True)
        run_tests(folder, files)
    comparison = Comparison()
    paths = sorted(str(path) for path in files.iterdir())
    for path in paths:
        comparison.container(path)
    print(f"{len(paths)} containers:")
    for what, n in comparison.found.most_common():
        print(f"{n:7} {what}")
    print("\n".join(comparison.wrong))
    assert len(paths) > 1000, folder / "pytest.log"
    return bool(comparison.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
