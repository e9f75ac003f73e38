"""Runs the tests of python-blosc2 and c-blosc2, and compares what python-blosc2 and holdall read of
every container that they write: equal, or an error that names the reason.

usage: compare.py FOLDER"""

import collections
import faulthandler
import importlib.metadata
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import warnings

import blosc2
import numpy as np
import pyarrow as pa
from blosc2.msgpack_utils import msgpack_unpackb

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


def run_c_tests(folder, files):
    """Compiles the tests of c-blosc2 with the library in python-blosc2, and runs each in a new
    folder. HOLDALL_C_BLOSC2 is the path of the sources, which are cloned without it."""
    source = pathlib.Path(os.environ.get("HOLDALL_C_BLOSC2") or folder / "c-blosc2")
    if not source.exists():
        url = "https://github.com/Blosc/c-blosc2"
        tag = f"v{blosc2.blosclib_version.split()[0]}"
        subprocess.run(["git", "clone", "-q", "--depth=1", "-b", tag, url, source], check=True)
    installed = pathlib.Path(blosc2.__file__).parent
    library = installed / "lib" / "libblosc2.so"
    # cmake would write it
    (folder / "config.h").write_text("#define HAVE_ZSTD 1\n", encoding="ascii")
    includes = [folder, source / "include", source / "blosc", source / "plugins/codecs/zfp"]
    cc = ["cc", "-O1", "-w", "-pthread", "-DBLOSC_TESTING", *(f"-I{path}" for path in includes)]
    capture = folder / "captured.so"
    shared = ["-shared", "-fPIC", HERE / "captured.c", "-o", capture, "-ldl"]
    subprocess.run([*cc, *shared], check=True)
    environment = dict(os.environ, SUITE_FILES=str(files), LD_PRELOAD=str(capture))
    libraries = ["-lm", "-ldl", f"-Wl,-rpath,{folder}"]
    tests = [*source.glob("tests/**/test_*.c"), *source.glob("plugins/**/test_*.c")]
    # tests with a table of arguments compress only buffers
    tests = sorted(test for test in tests if not test.with_suffix(".csv").exists())
    with open(folder / "tests.log", "w", encoding="utf-8") as log:
        for test in tests:
            program = folder / test.stem
            # some tests call functions that the shared library does not export
            linked = any(
                not subprocess.run(
                    [*cc, test, "-o", program, capture, lib, *libraries, f"-Wl,-rpath,{lib.parent}"],
                    stderr=subprocess.DEVNULL,
                    check=False,
                ).returncode
                for lib in (library, library.with_suffix(".a"))
            )
            print(f"{test.stem}: {'runs' if linked else 'does not link'}", file=log, flush=True)
            if linked:
                shutil.copytree(source / "plugins" / "test_data", folder / "run")
                ran = subprocess.run(
                    [program],
                    cwd=folder / "run",
                    env=environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=600,
                    check=False,
                )
                print(f"\n{test.stem}: status {ran.returncode}", file=log, flush=True)
                shutil.rmtree(folder / "run")


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
    if isinstance(theirs, blosc2.NDArray):
        # c-blosc2 writes an item size of 1 if it copies an array in memory whose items are larger
        # than 255 bytes to a file. Then it reads the chunks, but no items.
        padded = [-(-chunk // block) * block for chunk, block in zip(theirs.chunks, theirs.blocks)]
        theirs = theirs.schunk
        if theirs.chunksize != math.prod(padded) * theirs.typesize:
            return False
    if isinstance(theirs, blosc2.SChunk):
        try:
            return all(theirs.decompress_chunk(i) is not None for i in range(theirs.nchunks))
        except RuntimeError:
            return False
    if not isinstance(theirs, blosc2.CTable):
        return theirs is not None

    def reads(name):
        try:
            return theirs[name][:] is not None
        except Exception:
            return False

    return any(reads(name) for name in theirs.col_names)


def metalayers(theirs):
    """Returns the fixed metalayers of a superchunk, then those of variable length."""
    fixed = [(name, blosc2.blosc2_ext.meta__getitem__(theirs, name)) for name in theirs.meta.keys()]
    return fixed + [(name, theirs.vlmeta.get_vlmeta(name)) for name in theirs.vlmeta]


def later_frames(path):
    """Returns the offsets of frames after the first one of a file."""
    content = pathlib.Path(path).read_bytes() if os.path.isfile(path) else b""
    magic = b"\x9e\xa8b2frame\0"
    if not content.startswith(magic):
        return []
    return [found.start() for found in re.finditer(re.escape(magic), content) if found.start()]


class Comparison:
    def __init__(self):
        self.found = collections.Counter()
        self.wrong = []
        # the options that open the frame which is compared
        self.at = {}

    def differ(self, path, why):
        self.found["wrong"] += 1
        self.wrong.append(f"{path} {self.at or ''}: {why}")

    def container(self, path):
        try:
            theirs = blosc2.open(path, mode="r")
        except Exception:
            theirs = None
        self.value(path, theirs)
        for offset in later_frames(path):
            try:
                theirs = blosc2.open(path, mode="r", offset=offset)
            except Exception:
                theirs = None
            if isinstance(theirs, (blosc2.NDArray, blosc2.SChunk)) and is_readable(theirs):
                self.found["frames after others"] += 1
                self.at = {"frame_offset": offset}
                self.value(path, theirs)
                self.at = {}

    def value(self, path, theirs):
        """Compares what python-blosc2 has opened, or not, with what is at a path."""
        try:
            self.of_kind(path, theirs)
        except RuntimeError:
            self.found["read in part by python-blosc2"] += 1
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
            with h.Array(path, **self.at) as array:
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
        with h.Schunk(path, **self.at) as schunk:
            if schunk.chunk_count != theirs.nchunks:
                return self.differ(path, f"{schunk.chunk_count} chunks, not {theirs.nchunks}")
            if schunk.attrs() != metalayers(theirs):
                return self.differ(path, f"metalayers {schunk.attrs()}")
            # python-blosc2 does not say what is in frames that follow others
            infos = [] if self.at else list(theirs.iterchunks_info())
            undefined = {at.nchunk for at in infos if at.special == blosc2.SpecialValue.UNINIT}
            for i in range(theirs.nchunks):
                if i in undefined:
                    self.found["chunks without defined content"] += 1
                elif schunk.read_chunk(i) != theirs.decompress_chunk(i):
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
        if expected is None:
            self.found["columns read by holdall alone"] += 1
            return None
        if got != expected:
            return self.differ(path, f"column {name}: {got[:9]}, not {expected[:9]}")
        self.found["columns equal"] += 1


def column(table, name):
    # a struct ArrowArrayStream: five pointers
    stream = (h.P * 5)()
    names = h._numbers(h.c.c_char_p, [name.encode()])
    address = h.c.addressof(stream)
    h.call("table_columns_to_arrow", table._handle, 0, len(table), 1, names, 0, address)
    read = pa.RecordBatchReader._import_from_c(address).read_all()
    values = read.column(0).to_pylist()
    if b"holdall:encoding" not in (read.schema.field(0).metadata or {}):
        return values
    # objects that python-blosc2 has packed
    return [value if value is None else msgpack_unpackb(value) for value in values]


def compare(folder, run, least):
    """Compares what the tests that `run` runs write, and returns whether any of it differs."""
    files = folder / "files"
    if not files.exists():
        files.mkdir(parents=True)
        run(folder, files)
    comparison = Comparison()
    paths = sorted(str(path) for path in files.iterdir())
    for path in paths:
        comparison.container(path)
    print(f"{len(paths)} containers of {run.__name__}():")
    for what, n in comparison.found.most_common():
        print(f"{n:7} {what}")
    print("\n".join(comparison.wrong), flush=True)
    assert len(paths) > least, folder
    return bool(comparison.wrong)


def main(folder):
    faulthandler.enable()
    warnings.simplefilter("ignore", UserWarning)
    folder = pathlib.Path(folder).resolve()
    differs = [
        compare(folder, run_tests, 1000),
        compare(folder / "c", run_c_tests, 4000),
    ]
    return any(differs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
