"""Tables and bags through the Arrow C stream interface: read by pyarrow, Polars and DuckDB, and
appended from their exports. NumPy and pandas are the reference."""

import collections
import ctypes
import itertools
import json
import os
import pathlib
import random
import shutil
import tarfile
import tempfile
import unittest
import zipfile

import bcolz
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
FIXTURES = pathlib.Path(os.environ.get("HOLDALL_FIXTURES", h.ROOT / "tests/fixtures"))
DATA = FIXTURES.parent / "data"
NATIVE = ("i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
SWAPPED = (">i2", ">u4", ">i8", ">f2", ">f4", ">f8")
OTHERS = (
    "b1",
    "S1",
    "S7",
    "<U1",
    "<U5",
    ">U3",
    "<c8",
    ">c16",
    "V3",
    "<M8[D]",
    ">M8[ns]",
    "<M8[us]",
    "<M8[h]",
    "<M8[M]",
    "<m8[ms]",
    "<m8[m]",
)
RECORD = "[('a', '>i4'), ('b', '|S3'), ('c', '<f8', (2,)), ('d', [('e', '|b1'), ('f', '<M8[s]')])]"


class StreamMemory:
    """Memory for a struct ArrowArrayStream."""

    def __init__(self):
        self._room = (ctypes.c_void_p * 5)()
        self.address = ctypes.addressof(self._room)

    @property
    def released(self):
        return not self._room[3]


def reader(of, *arguments, **named):
    """Returns a table or a bag as a pyarrow reader."""
    memory = StreamMemory()
    of.to_arrow(memory.address, *arguments, **named)
    reader = pa.RecordBatchReader._import_from_c(memory.address)
    assert memory.released
    return reader


def append(table, data):
    """Appends an object that has a stream."""
    memory = StreamMemory()
    data = (
        data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
    )
    data._export_to_c(memory.address)
    try:
        table.append_arrow(memory.address)
    finally:
        assert memory.released


def sql(query, stream):
    """Returns the result of a DuckDB query, which names the table `stream`."""
    return duckdb.sql(query).fetchall()


def dtype_of(spelling):
    return np.dtype(eval(spelling) if spelling.startswith(("[", "(")) else spelling)


class Arrow(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-arrow-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng = random.Random(f"{SEED} {self._testMethodName}")
        self.noise = np.random.default_rng(self.rng.randrange(1 << 30))
        self.tally = collections.Counter()
        self.files = itertools.count()

    def tearDown(self):
        summary = ", ".join(f"{n} {what}" for what, n in self.tally.items())
        print(f"{self._testMethodName}: {summary} (HOLDALL_SEED={SEED})")

    def path(self):
        return self.folder / f"{next(self.files)}.bcolz"

    def items(self, dtype, shape):
        """Random items of types that Arrow has, including missing times."""
        if dtype.names:
            items = np.zeros(shape, dtype)
            for name in dtype.names:
                items[name] = self.items(dtype[name].base, (*shape, *dtype[name].shape))
            return items
        n = int(np.prod(shape))
        if dtype.kind in "US":
            texts = [
                self.rng.choice(["", "a", "zyx", "1", "été", "☃", "abcdefghijkl"]) for _ in range(n)
            ]
            texts = (
                texts
                if dtype.kind == "U"
                else [w.encode()[: dtype.itemsize].decode(errors="ignore").encode() for w in texts]
            )
            return np.array(texts, dtype).reshape(shape)
        if dtype.kind in "mM":
            items = self.noise.integers(-30000, 30000, shape).astype(dtype)
            items[self.noise.random(shape) < 0.1] = "NaT"
            return items
        if dtype.kind == "V":
            return np.frombuffer(self.noise.bytes(n * dtype.itemsize), dtype).reshape(shape)
        return self.noise.integers(0, 2 if dtype.kind == "b" else 120, shape).astype(dtype)

    def table(self, columns, **options):
        """Makes a table of arrays by name."""
        path = self.path()
        spelled = [
            (
                name,
                (
                    str((a.dtype.descr if a.dtype.names else a.dtype.str, a.shape[1:]))
                    if a.ndim > 1 or a.dtype.names
                    else a.dtype.str
                ),
            )
            for name, a in columns.items()
        ]
        with h.Table.create(path, spelled, **options) as table:
            rows = len(next(iter(columns.values())))
            table.append(rows, [a.tobytes() for a in columns.values()])
            table.commit()
        return path

    def same(self, column, want):
        """Does a pyarrow column equal a NumPy array?"""
        got = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if want.ndim > 1:
            self.assertEqual(got.type.list_size, want.shape[1])
            return self.same(got.flatten(), want.reshape(-1, *want.shape[2:]))
        if want.dtype.names:
            for name in want.dtype.names:
                self.same(got.field(name), want[name])
        elif want.dtype.kind == "c":
            self.same(
                got,
                want.astype(want.dtype.newbyteorder("="))
                .view(f"f{want.itemsize // 2}")
                .reshape(-1, 2),
            )
        elif want.dtype.kind == "S":
            self.assertEqual(got.to_pylist(), [w.decode() for w in want.tolist()])
        elif want.dtype.kind == "V":
            self.assertEqual(got.to_pylist(), [w.tobytes() for w in want])
        elif want.dtype.kind == "U":
            self.assertEqual(got.to_pylist(), want.tolist())
        elif want.dtype.kind in "mM":
            self.assertEqual(got.null_count, int(np.isnat(want).sum()))
            got = got.to_numpy(zero_copy_only=False)
            self.assertTrue(
                np.array_equal(got, want.astype(got.dtype), equal_nan=True), (got, want)
            )
        else:
            self.assertEqual(got.null_count, 0)
            np.testing.assert_array_equal(got.to_numpy(zero_copy_only=False), want)
        self.tally["columns"] += 1

    def test_every_dtype_is_exported_and_imported(self):
        for spelling, row in itertools.product(
            (*NATIVE, *SWAPPED, *OTHERS, RECORD), ((), (3,), (2, 2))
        ):
            dtype = dtype_of(spelling)
            want = self.items(dtype, (self.rng.choice([0, 1, 100, 5000]), *row))
            path = self.table({"x": want})
            with self.subTest(dtype=spelling, row=row), h.Table(path) as table:
                for batch in (0, 1000):
                    got = reader(table, batch=batch).read_all()
                    got.validate(full=True)
                    self.assertEqual(got.num_rows, len(want))
                    self.same(got["x"], want)
                    summary = dtype_of(got.schema.field("x").metadata[b"holdall.dtype"].decode())
                    self.assertEqual(summary, dtype)
                first = self.rng.randrange(len(want) + 1)
                n = self.rng.randrange(len(want) - first + 1)
                self.same(reader(table, first, n).read_all()["x"], want[first : first + n])
                again = self.table({"x": want[:0]})
                with h.Table(again, h.APPEND) as other:
                    append(other, got.slice(0, first))
                    append(other, got.slice(first))
                    other.commit()
                with h.Array(again / "x") as a:
                    self.assertEqual(a.shape, want.shape)
                    read = np.frombuffer(
                        a.read([0] * want.ndim, want.shape, [1] * want.ndim), dtype
                    ).reshape(want.shape)
                    self.assertEqual(read.tobytes(), want.tobytes())

    def test_tables_of_bcolz_and_blz_are_exported(self):
        archive, manifest = FIXTURES / "blpk/files.tar.gz", FIXTURES / "blpk/manifest.json"
        if not archive.exists():
            archive, manifest = (
                FIXTURES / "datasets/files.tar.gz",
                FIXTURES / "datasets/manifest.json",
            )
        with tarfile.open(archive) as tar:
            tar.extractall(self.folder, filter="data")
        for fixture in json.loads(manifest.read_text())["fixtures"]:
            if fixture.get("container") not in ("ctable", "btable"):
                continue
            with self.subTest(fixture["path"]), h.Table(self.folder / fixture["path"]) as table:
                got = reader(table).read_all()
                got.validate(full=True)
                self.assertEqual(got.column_names, table.names)
                for column in fixture["content"]["columns"]:
                    with h.Array(self.folder / fixture["path"] / column["name"]) as a:
                        if a.itemsize == 0:
                            continue
                        want = np.frombuffer(
                            a.read([0] * len(a.shape), a.shape, [1] * len(a.shape)),
                            dtype_of(a.dtype),
                        ).reshape(a.shape)
                    self.same(got[column["name"]], want[: len(table)])
                engines = [
                    pl.DataFrame(reader(table)).height,
                    sql("SELECT count(*) FROM stream", reader(table))[0][0],
                ]
                self.assertEqual(engines, [len(table)] * 2)
                self.tally["tables"] += 1
        self.assertGreater(self.tally["tables"], 30 if "blpk" in str(archive) else 0)

    def test_objects_are_pickles(self):
        import pickle

        want = [None, "é", [1, 2], {"a": b"x" * 1000}, 7] * 20
        path = self.path()
        objects = np.empty(len(want), object)
        objects[:] = want
        bcolz.ctable(
            (bcolz.carray(objects, dtype=np.dtype("O")), np.arange(len(want))),
            names=["o", "i"],
            rootdir=str(path),
            mode="w",
        ).flush()
        with h.Table(path) as table:
            got = reader(table, batch=7).read_all()
        got.validate(full=True)
        self.assertEqual([pickle.loads(p) for p in got["o"].to_pylist()], want)
        self.assertEqual(got["i"].to_pylist(), list(range(len(want))))
        self.tally["objects"] += len(want)

    def test_streams_outlive_tables_and_end_early(self):
        want = np.arange(1_000_000)
        table = h.Table(self.table({"x": want, "s": want.astype("S7")}))
        streams = [reader(table, batch=1000) for _ in range(3)]
        table.close()
        streams[0].read_next_batch()
        streams[0].close()
        del streams[1]
        batches = list(streams[-1])
        self.assertEqual([b.num_rows for b in batches], [1000] * 1000)
        self.assertTrue(np.array_equal(np.concatenate([b["x"].to_numpy() for b in batches]), want))
        del streams
        for batch in batches[::100]:
            batch.validate(full=True)
        # addresses that Arrow accepts
        self.assertEqual({b["x"].buffers()[1].address % 64 for b in batches}, {0})
        self.tally["batches"] += len(batches)

    def test_errors_name_column_and_row(self):
        values = np.array([b"ab", b"\xff", b"c"] * 1000, "S2")
        path = self.table({"good": np.arange(3000), "binary": values})
        with h.Table(path) as table:
            stream = reader(table, batch=1)
            self.assertEqual(stream.read_next_batch()["binary"].to_pylist(), ["ab"])
            with self.assertRaisesRegex(
                pa.ArrowInvalid, r'column "binary": row 1: "\\xff" is not UTF-8'
            ):
                stream.read_next_batch()
            for first, n in ((0, 3001), (3000, 1), (1 << 63, 1 << 63)):
                with self.assertRaises(h.Error) as e:
                    table.to_arrow(StreamMemory().address, first, n)
                self.assertEqual(h.status_name(e.exception.status), "HOLDALL_E_RANGE")
        with h.Table(path, arrow_binary=1) as table:
            self.assertEqual(reader(table).read_all()["binary"].to_pylist(), values.tolist())
            self.assertEqual(reader(table).schema.field("binary").type, pa.binary())
        chunk = path / "good/data/__0.blp"
        chunk.write_bytes(chunk.read_bytes()[:-9])
        with h.Table(path, arrow_binary=1) as table, self.assertRaisesRegex(
            OSError, 'column "good".*__0.blp'
        ):
            reader(table).read_all()
        self.tally["errors"] += 5

    def test_tables_that_are_read_are_not_changed(self):
        path = self.table({"x": np.arange(10)})
        with h.Table(path, h.APPEND) as table:
            stream = reader(table)
            with self.assertRaises(h.Error) as e:
                append(table, pa.table({"x": [1]}))
            self.assertEqual(h.status_name(e.exception.status), "HOLDALL_E_STATE")
            self.assertEqual(stream.read_all()["x"].to_pylist(), list(range(10)))
            stream.close()
            del stream
            append(table, pa.table({"x": [1]}))
            self.assertEqual(reader(table).read_all()["x"].to_pylist(), [*range(10), 1])
            # its own rows
            with self.assertRaises(h.Error):
                append(table, reader(table))
            self.assertEqual(len(table), 11)
        self.tally["refusals"] += 2

    def test_results_of_engines_are_appended(self):
        n = 10_000
        columns = {
            "i": np.arange(n, dtype="<i4"),
            "f": self.noise.random(n),
            "s": self.items(np.dtype("S12"), (n,)),
            "u": self.items(np.dtype("<U12"), (n,)),
            "t": self.items(np.dtype("<M8[ns]"), (n,)),
            "b": self.items(np.dtype("b1"), (n,)),
        }
        path = self.table(columns)
        with h.Table(path) as table:
            all = reader(table).read_all()
        frames = {
            "pyarrow": all,
            "polars": pl.from_arrow(all).select(reversed(all.column_names)),
            "pandas": pa.Table.from_pandas(all.to_pandas(), preserve_index=False),
            "duckdb": duckdb.from_arrow(all),
            "dictionaries": all.set_column(2, "s", all["s"].dictionary_encode()).set_column(
                3, "u", all["u"].dictionary_encode()
            ),
            "views": all.set_column(2, "s", all["s"].cast(pa.string_view())).set_column(
                3, "u", all["u"].cast(pa.string_view())
            ),
            "large": all.set_column(2, "s", all["s"].cast(pa.large_binary())).set_column(
                3, "u", all["u"].cast(pa.large_string())
            ),
        }
        for name, data in frames.items():
            with self.subTest(name), h.Table(path, h.APPEND) as table:
                append(table, data)
                table.commit()
                self.assertEqual(
                    reader(table, len(table) - n).read_all().replace_schema_metadata(),
                    all.replace_schema_metadata(),
                )
                self.tally["engines"] += 1

    def test_values_that_do_not_fit_are_refused_and_nothing_is_appended(self):
        want = {"i": np.arange(100, dtype="<i4"), "s": np.array([b"ab"] * 100)}
        path = self.table(want)
        good = pa.table({"i": pa.array(range(1000), pa.int64()), "s": ["x"] * 1000})
        invalid = {
            "row 1700: 3000000000 is": pa.concat_tables(
                [good, good.set_column(0, "i", pa.array([0] * 700 + [3_000_000_000] * 300))]
            ),
            'row 1999: "abc" does not fit': pa.concat_tables(
                [good, good.set_column(1, "s", pa.array(["ab"] * 999 + ["abc"]))]
            ),
            "row 500: a null": pa.table({"i": pa.array([1] * 500 + [None] * 500), "s": good["s"]}),
            "cannot be converted to '<i4'": pa.table({"i": pa.array([1.5]), "s": ["x"]}),
            'column "s": not in the Arrow stream': good.select(["i"]),
            "no such column": good.append_column("z", good["i"]),
            '"+l" of "l" cannot be converted to \'<i4\'': good.set_column(0, "i", pa.array([[1]] * 1000)),
        }
        with h.Table(path, h.APPEND) as table:
            for texts, data in invalid.items():
                with self.subTest(texts), self.assertRaises(h.Error) as e:
                    append(table, data)
                self.assertIn(texts, e.exception.message)
                self.assertEqual(len(table), 100)
                self.tally["refusals"] += 1

            def failing():
                yield good.to_batches()[0]
                raise OSError("no more of it")

            with self.assertRaisesRegex(h.Error, "no more of it"):
                append(table, pa.RecordBatchReader.from_batches(good.schema, failing()))
            self.assertEqual(len(table), 100)
            append(table, good)
            table.commit()
        with h.Table(path) as table:
            got = reader(table).read_all()
        self.same(got["i"], np.concatenate([want["i"], np.arange(1000, dtype="<i4")]))
        self.same(got["s"], np.array([b"ab"] * 100 + [b"x"] * 1000))

    def test_bags_are_exported(self):
        path = self.folder / "a.bagz"
        want = [self.noise.bytes(self.rng.choice([0, 1, 10, 1000, 100_000])) for _ in range(3000)]
        with h.Writer(path, h.CREATE) as writer:
            writer.append_many(want)
            writer.commit()
        with h.Bag(path) as bag:
            for batch in (0, 1, 1000):
                stream = reader(bag, batch=batch)
                if batch == 0:
                    batches = list(stream)
                    self.assertLess(max(b.nbytes for b in batches), 32 << 20)
                    got = pa.Table.from_batches(batches)
                else:
                    got = stream.read_all()
                got.validate(full=True)
                self.assertEqual(got["record"].to_pylist(), want)
            self.assertEqual(
                reader(bag.slice(2999, 1000, -2), 10, 5, 2).read_all()["record"].to_pylist(),
                want[2979:2969:-2],
            )
            self.assertEqual(pl.from_arrow(reader(bag))["record"].to_list(), want)
            self.assertEqual(
                sql("SELECT sum(octet_length(record)) FROM stream", reader(bag))[0][0],
                sum(map(len, want)),
            )
        self.tally["records"] += len(want)

    def test_flights_agree_with_pandas(self):
        archive = DATA / "nyc-flights-2013.csv.zip"
        if not archive.exists():
            self.skipTest(f"{archive} is not there")
        with zipfile.ZipFile(archive) as zip:
            csv = zip.extract(zip.namelist()[0], self.folder)
        frame = pd.read_csv(csv)
        read = pa.csv.read_csv(
            csv,
            convert_options=pa.csv.ConvertOptions(
                null_values=["", "NA"], strings_can_be_null=False
            ),
        )

        def dtype(column):
            if pa.types.is_string(column.type):
                return f"|S{max(len(v.encode()) for v in column.unique().to_pylist())}"
            if pa.types.is_timestamp(column.type):
                return "<M8[s]"
            return "<f8" if column.null_count or pa.types.is_floating(column.type) else "<i4"

        columns = [(name, dtype(read[name])) for name in read.column_names]
        with h.Table.create(self.path(), columns, expected_rows=len(frame), arrow_nulls=1) as table:
            append(table, read)
            table.commit()
            got = dict(
                sql(
                    "SELECT carrier, avg(dep_delay) FROM stream GROUP BY carrier ORDER BY carrier",
                    reader(table),
                )
            )
            want = frame.groupby("carrier")["dep_delay"].mean().to_dict()
            self.assertEqual(list(got), list(want))
            for carrier in want:
                self.assertAlmostEqual(got[carrier], want[carrier], 10)
            all = reader(table).read_all()
        all.validate(full=True)
        self.assertEqual((all.num_rows, all.num_columns), frame.shape)
        for name in frame.columns:
            # text has no null: missing values are read as stored
            want = (
                frame[name]
                if pd.api.types.is_numeric_dtype(frame[name])
                else frame[name].fillna("NA")
            )
            if pa.types.is_timestamp(all[name].type):
                want = pd.to_datetime(want).dt.tz_localize(None)
            pd.testing.assert_series_equal(all[name].to_pandas(), want, check_dtype=False)
            self.tally["columns"] += 1


if __name__ == "__main__":
    unittest.main()
