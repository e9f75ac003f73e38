"""holdall.bagz has the interface and results of bagz, except for documented differences."""

import ast
import doctest
import enum
import functools
import inspect
import itertools
import os
import pathlib
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import bagz
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python"))

import holdall  # noqa: E402
import holdall.bagz as ours  # noqa: E402

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
PROGRAMS, CALLS = 60, 40
MODULES = (bagz, ours)


def outcome(call):
    """Returns the result of a call, or its exception."""
    try:
        return call()
    except Exception as e:
        return e


def plain(value):
    """Returns what both modules have in common of a result."""
    if isinstance(value, (bagz.Reader, ours.Reader)):
        return "reader", len(value), value.read()
    if isinstance(value, (bagz.ReaderIterator, ours.ReaderIterator)):
        return "iterator", list(value)
    if isinstance(value, enum.Enum):
        return str(value)
    if hasattr(value, "level"):
        return type(value).__name__, value.level, value.dictionary
    return type(value).__name__ if type(value).__module__.endswith("bagz") else value


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="holdall-bagz-module-")
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        self.rng = random.Random(f"{SEED} {self._testMethodName}")

    def write(self, name, records, module=ours, **options):
        with module.Writer(name, module.Writer.Options(**options)) as writer:
            for record in records:
                writer.write(record)

    def run_python(self, program):
        """Returns the output of a program, which must succeed."""
        path = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=path, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def same(self, call, what):
        """Compares the outcome of call(module) of both, and returns the two results."""
        theirs, mine = (outcome(lambda: call(module)) for module in MODULES)
        self.compare(theirs, mine, what)
        return theirs, mine

    def compare(self, theirs, mine, what):
        what = f"{what} (HOLDALL_SEED={SEED})"
        if isinstance(theirs, Exception) or isinstance(mine, Exception):
            self.assertIsInstance(mine, type(theirs), f"{what}: {theirs!r}, {mine!r}")
        else:
            self.assertEqual(plain(mine), plain(theirs), what)


def parameters(function):
    """Returns the parameters of a function of either module: name, kind and default of each."""
    known = getattr(function, "__nb_signature__", None)
    if known is None:
        found = inspect.signature(function).parameters.values()
        return [(one.name, one.kind, default(one.default)) for one in found]
    text, defaults = known[0][0], known[0][2]
    text = re.sub(r"\\(\d+)", r"\1", re.sub(r"\[.*?\]", "", text))
    arguments = ast.parse(text + ": pass").body[0].args

    def value(node):
        return default(inspect.Parameter.empty if node is None else defaults[node.value])

    kinds = inspect.Parameter
    positional = [(one.arg, kinds.POSITIONAL_ONLY) for one in arguments.posonlyargs]
    positional += [(one.arg, kinds.POSITIONAL_OR_KEYWORD) for one in arguments.args]
    nodes = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found = [(name, kind, value(node)) for (name, kind), node in zip(positional, nodes)]
    for one, node in zip(arguments.kwonlyargs, arguments.kw_defaults):
        found.append((one.arg, kinds.KEYWORD_ONLY, value(node)))
    return found


def default(value):
    if type(value).__name__ == "Options":
        return "Options", [(name, default(getattr(value, name))) for name in attributes(value)]
    return plain(value)


def attributes(value):
    return [name for name in dir(value) if not name.startswith("_")]


def classes(module):
    """Yields the qualified name and the class of each public class."""
    for name in dir(module):
        value = getattr(module, name)
        if not name.startswith("_") and inspect.isclass(value):
            yield name, value
            if hasattr(value, "Options"):
                yield f"{name}.Options", value.Options


class Interface(Case):
    def test_every_public_name_is_there(self):
        names = dict(classes(bagz))
        self.assertEqual(sorted(ours.__all__), sorted(name for name in names if "." not in name))
        for name, theirs in names.items():
            mine = functools.reduce(getattr, name.split("."), ours)
            self.assertLessEqual(set(attributes(theirs)), set(dir(mine)), name)
            if issubclass(theirs, enum.Enum):
                self.assertEqual(
                    [(one.name, one.value, str(one), repr(one)) for one in mine],
                    [(one.name, one.value, str(one), repr(one)) for one in theirs],
                )

    def test_parameters(self):
        compared = 0
        for name, theirs in classes(bagz):
            mine = functools.reduce(getattr, name.split("."), ours)
            for member in dir(theirs):
                function = getattr(theirs, member)
                special = member.startswith("_") and member not in ("__init__", "__exit__")
                if special or not hasattr(function, "__nb_signature__"):
                    continue
                if name.startswith(("CompressionA", "CompressionN")):
                    continue  # without parameters
                expected = parameters(function)
                self.assertEqual(parameters(getattr(mine, member)), expected, f"{name}.{member}")
                compared += 1
        self.assertGreater(compared, 15)

    def test_options_check_types(self):
        for make in (
            lambda m: m.Reader.Options(compression=3),
            lambda m: m.Reader.Options(compression=None),
            lambda m: m.Reader.Options(max_parallelism=1.5),
            lambda m: m.Reader.Options(limits_placement=1).limits_placement,
            lambda m: m.CompressionZstd(level=1.5),
            lambda m: m.CompressionZstd(3, "abc"),
            lambda m: setattr(m.Reader.Options(), "unknown", 1),
            lambda m: m.Reader(5),
            lambda m: m.Reader(None),
            lambda m: m.Reader("", m.Writer.Options()),
            lambda m: m.Reader("", None),
            lambda m: m.Reader("", m.Reader.Options(max_parallelism=-1)),
            lambda m: m.Writer(5),
            lambda m: m.Writer("x.bag", m.Reader.Options()),
            lambda m: m.Index(5),
            lambda m: m.ReaderIterator(),
            lambda m: pickle.loads(pickle.dumps(m.Reader.Options(max_parallelism=5)))
            .max_parallelism,
        ):
            self.same(make, inspect.getsource(make).strip())

    def test_example(self):
        failed, tried = doctest.testmod(ours)
        self.assertEqual((failed, tried > 0), (0, True))


    def test_program_of_the_guide(self):
        guide = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
        program = re.search(r"```python\n(# events.py.*?)```", guide, re.S)[1]
        output = re.search(r"events.py\n```.*?```text\n(.*?)```", guide, re.S)[1]
        for module in MODULES:
            found = self.run_python(program.replace("holdall.bagz", module.__name__))
            self.assertEqual(found, output)


class Calls(Case):
    """Random programs of calls, with files of either module."""

    def files(self):
        """Writes files. Returns a spec, two arguments of open(), and the module that wrote them."""
        rng = self.rng
        for name in os.listdir():
            os.remove(name)
        writer, shards = rng.choice(MODULES), rng.randrange(1, 5)
        ending = rng.choice((".bag", ".bagz"))
        separate = shards == 1 and rng.random() < 0.5
        interleaved = rng.random() < 0.5
        records = [
            b"" if rng.random() < 0.1 else b"%d " % rng.randrange(30) * rng.choice((1, 1, 40))
            for _ in range(rng.choice((0, 1, 7, 60)))
        ]
        n = len(records)
        for shard in range(shards):
            name = f"x-{shard:05}-of-{shards:05}{ending}" if shards > 1 else f"x{ending}"
            options = {}
            if separate:
                options["limits_placement"] = writer.LimitsPlacement.SEPARATE
            some = records[shard::shards] if interleaved else records[: rng.randrange(n + 1)]
            self.write(name, some, writer, **options)
        sets = f"x@{shards}{ending}", f"x@*{ending}", f"/posix:x@{shards}{ending}"
        spec = rng.choice(sets) if shards > 1 else f"x{ending}"
        names = dict(
            sharding_layout="INTERLEAVED" if interleaved else "CONCATENATED",
            limits_placement="SEPARATE" if separate else "TAIL",
            limits_storage=rng.choice(("ON_DISK", "IN_MEMORY")),
        )
        return spec, names, rng.choice((0, 1, 2, 100)), writer

    def open(self, module, spec, names, parallel):
        kinds = dict(
            sharding_layout=module.ShardingLayout,
            limits_placement=module.LimitsPlacement,
            limits_storage=module.LimitsStorage,
        )
        options = {key: kinds[key][name] for key, name in names.items()}
        return module.Reader(spec, module.Reader.Options(max_parallelism=parallel, **options))

    def number(self, n):
        """An index, mostly of a record."""
        if n and self.rng.random() < 0.9:
            return self.rng.randrange(n)
        return self.rng.choice((-1, n, n + 3))

    def indices(self, n, beyond):
        rng = self.rng
        some = [rng.randrange(n) for _ in range(rng.randrange(40))] if n else []
        if beyond and rng.random() < 0.2:
            some.append(rng.choice((-1, n, n + 3)))
        kind = rng.choice((list, tuple, np.array, np.uint8, np.float64, range, slice))
        if kind is np.uint8:
            return np.array([i for i in some if i >= 0], np.uint8)
        if kind in (np.array, np.float64):
            return np.array(some, float if kind is np.float64 else int)
        if kind is range:
            return range(n)[self.slice(n)]
        return self.slice(n) if kind is slice else kind(some)

    def slice(self, n):
        rng = self.rng
        edge = lambda: rng.choice((None, rng.randrange(-n - 2, n + 3)))  # noqa: E731
        return slice(edge(), edge(), rng.choice((None, 1, 2, -1, -3, 7)))

    def call(self, n, whole, records):
        """Draws a call: a description, and a function of a reader."""
        rng = self.rng
        value = rng.choice(records) if records and rng.random() < 0.8 else b"none"
        i, j, s = self.number(n), self.number(n), self.slice(n)
        if rng.random() < 0.8:
            i, j = abs(i), abs(j)
        # bagz does not check indices against a slice
        some = self.indices(n, whole)
        rows = [i] if whole or i < n else []
        ahead = rng.choice((None, 1, 3))
        numbers = some if isinstance(some, slice) else [int(k) for k in some]
        start = min(i, n)
        end = max(start, j)
        return rng.choice((
            (f"[{i}]", lambda r: r[i]),
            (f"[{i:#x}]", lambda r: r[np.int64(i)]),
            (f"[{s}]", lambda r: r[s]),
            (f"reversed [{s}]", lambda r: reversed(r[s])),
            ("len", len),
            ("bool", bool),
            ("list", list),
            ("iter", iter),
            ("read", lambda r: r.read()),
            (f"{value} in", lambda r: value in r),
            ("str in", lambda r: "a" in r),
            (f"count {value}", lambda r: r.count(value)),
            (f"index {value}", lambda r: r.index(value)),
            (f"index {value} {i}", lambda r: r.index(value, i)),
            # the end of bagz is a length
            (f"index {value} {start} {end}", lambda r: r.index(
                value, start, end if isinstance(r, ours.Reader) else end - start)),
            (f"read_range {i} {j}", lambda r: r.read_range(i, j)),
            (f"read_range_iter {i} {j or 1} {ahead}",
             lambda r: list(r.read_range_iter(i, j or 1, read_ahead=ahead))),
            (f"read_indices {some}", lambda r: r.read_indices(some)),
            (f"read_indices_iter {some}",
             lambda r: list(r.read_indices_iter(numbers, read_ahead=ahead))),
            (f"read_indices_iter of a generator, {rows}",
             lambda r: list(r.read_indices_iter(k for k in rows))),
            ("read_indices of a set", lambda r: r.read_indices({0})),
            ("read_indices of bytes", lambda r: r.read_indices(b"\0")),
            ("read_indices of 2 dimensions", lambda r: r.read_indices(np.array([[0]]))),
            ("pickle", lambda r: pickle.loads(pickle.dumps(r))),
            ("file_spec", lambda r: r.file_spec),
            ("options", lambda r: default(r.options)),
        ))  # fmt: skip

    def test_random_programs(self):
        for program in range(PROGRAMS):
            spec, names, parallel, writer = self.files()
            what = f"program {program}: {spec}, {names}, {parallel} threads, of {writer.__name__}"
            theirs, mine = self.same(lambda m: self.open(m, spec, names, parallel), what)
            if isinstance(theirs, Exception):
                continue
            if writer is bagz:
                self.assertAlmostEqual(
                    mine.approximate_bytes_per_record(), theirs.approximate_bytes_per_record(), 6
                )
            records, readers = theirs.read(), [(theirs, mine, True)]
            for _ in range(CALLS):
                r, m, whole = self.rng.choice(readers)
                name, call = self.call(len(r), whole, records)
                results = outcome(lambda: call(r)), outcome(lambda: call(m))
                self.compare(*results, f"{what}: {name} of {len(r)} records")
                if isinstance(results[0], bagz.Reader):
                    readers.append((*results, False))

    def test_specs(self):
        self.write("a.bag", [b"a"])
        self.write("a.bagz", [b"a"] * 3)
        self.write("b-00000-of-00002.bagz", [b"b"] * 3)
        self.write("b-00001-of-00002.bagz", [b"c"] * 2)
        pathlib.Path("short.bagz").write_bytes(b"abc")
        here = os.getcwd()
        for spec in (
            "", ",", "a.bag", "a.bag,", "a.bagz", ",a.bagz,,a.bagz", "a.bagz,b@2.bagz",
            "b@2.bagz,a.bagz",
            "b@*.bagz", "b@3.bagz", "b@0.bagz", "none.bagz", "none@*.bagz", "short.bagz",
            "posix:a.bagz", "/posix:a.bagz", f"posix:{here}/a.bagz", f"/posix:{here}/a.bagz",
            "fs:a.bagz",
            ".", pathlib.Path("a.bagz"), "a.bagz,none.bagz",
        ):  # fmt: skip
            self.same(lambda m: m.Reader(spec), spec)
        names = dict(sharding_layout="INTERLEAVED")
        unequal = "b-00001-of-00002.bagz,b-00000-of-00002.bagz"
        for spec in ("b@2.bagz", "a.bagz,a.bagz", unequal, ""):
            self.same(lambda m: self.open(m, spec, names, 1), f"interleaved {spec}")

    def test_indexes(self):
        for module in MODULES:
            records = [b"%d" % self.rng.randrange(50) for _ in range(200)] + [b"", b"\xff"]
            self.write("x.bagz", records, module)
            for rows in (slice(None), slice(150, 20, -3), slice(0, 0)):
                for key in (*records[:30], b"", b"none", "7", "none", 5, None, bytearray(b"7")):
                    for kind in ("Index", "MultiIndex"):
                        made = functools.cache(lambda m: getattr(m, kind)(m.Reader("x.bagz")[rows]))
                        what = f"{kind} of {rows}, {key!r}"
                        self.same(lambda m: made(m)[key], what)
                        self.same(lambda m: made(m).get(key), what)
                        self.same(lambda m: made(m).get(key, 3), what)
                        self.same(lambda m: key in made(m), what)
                        self.same(lambda m: len(made(m)), what)


class Writing(Case):
    def test_files(self):
        """Uncompressed files are identical, and both modules read what either writes."""
        records = [self.rng.randbytes(self.rng.randrange(200)) for _ in range(300)] + [b""]
        kinds = [("CompressionAutoDetect", {}), ("CompressionNone", {}), ("CompressionZstd", {})]
        kinds.append(("CompressionZstd", {"dictionary": "abcdefghijklmnop", "level": 7}))
        cases = itertools.product(("TAIL", "SEPARATE"), kinds, ("x.bag", "x.bagz"))
        for placement, (compression, arguments), name in cases:
            files = []
            for writer in MODULES:
                for old in os.listdir():
                    os.remove(old)
                stored = self.stored(writer, placement, compression, arguments)
                self.write(name, records, writer, **stored)
                files.append(pathlib.Path(name).read_bytes())
                for reader in MODULES:
                    stored = self.stored(reader, placement, compression, arguments)
                    found = reader.Reader(name, reader.Reader.Options(**stored)).read()
                    self.assertEqual(found, records)
            if compression == "CompressionNone":
                self.assertEqual(*files)

    def stored(self, module, placement, compression, arguments):
        return dict(
            limits_placement=module.LimitsPlacement[placement],
            compression=getattr(module, compression)(**arguments),
        )

    def test_calls(self):
        def each(call):
            def run(m):
                writer = m.Writer("x.bag")
                try:
                    result = call(writer)
                    writer.close()
                    return result, m.Reader("x.bag").read()
                finally:
                    writer.close()

            return run

        for call in (
            lambda w: w.write(b"a"),
            lambda w: w.write("\u00e9"),
            lambda w: w.write(bytearray(b"a")),
            lambda w: w.write(5),
            lambda w: w.write(None),
            lambda w: w.flush(),
            lambda w: (w.close(), w.close())[0],
            lambda w: (w.close(), w.write(b"a")),
            lambda w: (w.close(), w.flush()),
            lambda w: (w.write(b"a"), w.flush(), w.write(b"b"))[0],
            lambda w: w.__enter__() is w,
            lambda w: None,
        ):
            self.same(each(call), inspect.getsource(call).strip())

    def test_exception_in_with(self):
        """Records before an exception are written."""

        def run(m):
            try:
                with m.Writer(f"{m.__name__}.bag") as writer:
                    writer.write(b"a")
                    raise KeyError("stop")
            except KeyError:
                return m.Reader(f"{m.__name__}.bag").read()

        self.assertEqual(self.same(run, "with")[1], [b"a"])


class Differences(Case):
    """Each difference that the documentation of the module lists."""

    def records(self, n=10):
        return [b"record %d" % i for i in range(n)]

    def test_corrupt_record(self):
        self.write("x.bagz", self.records(), bagz)
        content = bytearray(pathlib.Path("x.bagz").read_bytes())
        content[len(content[:-80]) // 10 * 3] ^= 0xFF  # the magic number of record 3
        pathlib.Path("x.bagz").write_bytes(content)
        self.assertEqual(bagz.Reader("x.bagz").read()[3:], [b""] * 7)
        r = ours.Reader("x.bagz")
        for call in (
            r.read,
            r[2:5].read,
            lambda: r[3],
            lambda: r.read_indices([3]),
            lambda: r.read_range(0, 10),
            lambda: r.count(b"a"),
            lambda: ours.Index(r),
            lambda: ours.MultiIndex(r),
        ):
            self.assertRaises(ValueError, call)
        got = []
        with self.assertRaises(ValueError):
            for record in r:
                got.append(record)
        self.assertEqual(got, self.records()[:3])

    def test_indices_of_a_slice(self):
        self.write("x.bag", self.records())
        self.assertEqual(bagz.Reader("x.bag")[:5].read_indices([7]), [b"record 7"])
        part = ours.Reader("x.bag")[:5]
        self.assertRaises(IndexError, part.read_indices, [7])
        self.assertRaises(IndexError, list, part.read_indices_iter([7]))
        self.assertRaises(IndexError, ours.Reader("x.bag")[2:8].read_range, 2**64 - 2, 3)

    def test_end_of_index(self):
        self.write("x.bag", self.records())
        self.assertRaises(IndexError, bagz.Reader("x.bag").index, b"record 6", 4, 8)
        r = ours.Reader("x.bag")
        self.assertEqual(r.index(b"record 6", 4, 8), 6)
        self.assertRaises(ValueError, r.index, b"record 8", 4, 8)
        self.assertRaises(IndexError, r.index, b"record 6", 0, 11)

    def test_iterators(self):
        self.write("x.bag", self.records())
        iterator, got = ours.Reader("x.bag").read_indices_iter([1, 2, 10]), []
        with self.assertRaises(IndexError):
            for record in iterator:
                got.append(record)
        self.assertEqual(got, [b"record 1", b"record 2"])
        r = ours.Reader("x.bag")
        self.assertEqual(list(r.read_range_iter(2, 3, read_ahead=0)), r[2:5].read())

    def test_shared_iterator(self):
        self.write("x.bag", self.records(1000))
        iterator, got = iter(ours.Reader("x.bag")), []
        threads = [threading.Thread(target=lambda: got.extend(iterator)) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join(60) for thread in threads]
        self.assertEqual(sorted(got), sorted(self.records(1000)))

    def test_iterator_at_exit(self):
        self.write("x.bag", self.records(1000))
        program = "import holdall.bagz as b; i = iter(b.Reader('x.bag')); next(i)"
        self.run_python(program)

    def test_compression_by_file(self):
        self.write("a.bagz", [b"a" * 50])
        self.write("b.bag", [b"b"])
        self.assertEqual(ours.Reader("a.bagz,b.bag").read(), [b"a" * 50, b"b"])
        shutil.copy("a.bagz", "a.tmp")
        self.assertRaises(ValueError, ours.Reader, "a.tmp")
        zstd = ours.Reader.Options(compression=ours.CompressionZstd())
        self.assertEqual(ours.Reader("a.tmp", zstd).read(), [b"a" * 50])

    def test_separate_limits_of_several_files(self):
        separate = ours.LimitsPlacement.SEPARATE
        for shard in range(2):
            self.write(f"x-0000{shard}-of-00002.bag", [b"%d" % shard], limits_placement=separate)
        options = ours.Reader.Options(limits_placement=separate)
        for spec in ("x@*.bag", "x@2.bag", "x-00000-of-00002.bag,x-00001-of-00002.bag"):
            self.assertEqual(ours.Reader(spec, options).read(), [b"0", b"1"])
        self.write("a.bag", [b"a"])
        self.write("b-00000-of-00001.bag", [b"b"])
        self.assertEqual(ours.Reader("a.bag,b@*.bag").read(), [b"a", b"b"])
        self.assertRaises(FileNotFoundError, bagz.Reader, "a.bag,b@*.bag")

    def test_existing_names(self):
        for name, spec in (("a,b.bag", "a\\,b.bag"), ("a@3.bag", "a\\@3.bag")):
            self.write("x.bag", self.records())
            os.rename("x.bag", name)
            for path in (name, spec):
                self.assertEqual(ours.Reader(path).read(), self.records())

    def test_truncated_while_open(self):
        self.write("x.bag", self.records(10000))
        r = ours.Reader("x.bag")
        os.truncate("x.bag", 10)
        self.assertRaises(holdall.Error, r.read)

    def test_float_indices(self):
        self.write("x.bag", self.records())
        self.assertRaises(TypeError, ours.Reader("x.bag").read_indices, np.array([1.5]))

    def test_file_appears_complete(self):
        self.write("x.bag", [b"old"])
        with ours.Writer("x.bag") as writer:
            writer.write(b"new")
            self.assertEqual(ours.Reader("x.bag").read(), [b"old"])
            writer.flush()
            for module in MODULES:
                self.assertEqual(module.Reader("x.bag").read(), [b"new"])
            self.assertFalse(os.path.exists("limits.x.bag"))
            self.assertRaises(holdall.BusyError, ours.Writer, "x.bag")
            writer.write(b"more")
        self.assertEqual(bagz.Reader("x.bag").read(), [b"new", b"more"])
        writer = ours.Writer("x.bag")
        writer.write(b"dropped")
        del writer
        self.assertEqual(ours.Reader("x.bag").read(), [b"new", b"more"])

    def test_shared_writer(self):
        with ours.Writer("x.bag") as writer:
            each = [[b"%d %d" % (t, i) for i in range(3000)] for t in range(4)]
            threads = [
                threading.Thread(target=lambda some=some: [writer.write(r) for r in some])
                for some in each
            ]
            [thread.start() for thread in threads]
            [thread.join(60) for thread in threads]
        self.assertEqual(sorted(ours.Reader("x.bag").read()), sorted(sum(each, [])))

    def test_checksums(self):
        for name, checksum in (("x.bag", "crc32"), ("x.bagz", "zstd")):
            self.write(name, self.records())
            self.assertEqual(holdall.Bag(name).checksum, checksum)
        self.assertTrue(os.path.exists("checksums.x.bag"))

    def test_refused_names_and_levels(self):
        self.assertRaises(FileNotFoundError, ours.Writer, "folder/x.bag")
        for name in ("x@2.bag", "x@*.bag", "x@00007.bag"):
            self.assertRaises(ValueError, ours.Writer, name)
        level = ours.Writer.Options(compression=ours.CompressionZstd(100))
        self.assertRaises(ValueError, ours.Writer, "x.bagz", level)
        os.mkdir("dir@2")
        for name in ("x@0.bag", "x@100000.bag", "x@.bag", "dir@2/x.bag"):
            self.write(name, self.records())
            self.assertEqual(ours.Reader(name).read(), self.records())

    def test_dictionary_of_bytes(self):
        dictionary = b"\xff\x00the wind and the sea carry the stones" * 9
        records = [b"the wind and the sea carry %d" % i for i in range(10)]
        self.write("x.bagz", records, compression=ours.CompressionZstd(0, dictionary))
        options = ours.Reader.Options(compression=ours.CompressionZstd(dictionary=dictionary))
        self.assertEqual(ours.Reader("x.bagz", options).read(), records)
        self.assertRaises(ValueError, ours.Reader("x.bagz").read)


if __name__ == "__main__":
    unittest.main()
