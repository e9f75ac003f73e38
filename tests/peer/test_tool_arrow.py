"""The command-line tool and Arrow's IPC format: pyarrow and Polars read its output, and it reads
theirs."""

import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import bagz
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc

TOOL = os.environ["HOLDALL_TOOL"]
SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)


class Ipc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = random.Random(SEED)

    def path(self, name):
        return str(self.folder / name)

    def run_tool(self, *args, code=0):
        done = subprocess.run([TOOL, *args], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, (args, done.stderr, SEED))
        return done.stderr

    def records(self, n):
        return [
            self.random.randbytes(self.random.choice([0, 1, 4, 11, 12, 13, 40, 300]))
            for _ in range(n)
        ]

    def bag(self, name, records):
        with bagz.Writer(self.path(name)) as writer:
            for r in records:
                writer.write(r)

    def test_records_written_by_the_tool_are_read(self):
        for n in (0, 1, 7, 70_000):
            records = self.records(n)
            self.bag("a.bagz", records)
            for name in ("a.arrow", "a.arrows"):
                self.run_tool("convert", "-q", "--force", "a.bagz", name)
            with pa.ipc.open_file(self.path("a.arrow")) as file:
                table = file.read_all()
                self.assertEqual(
                    sum(
                        file.get_batch(i).num_rows for i in reversed(range(file.num_record_batches))
                    ),
                    n,
                )
            table.validate(full=True)
            self.assertEqual(table.schema, pa.schema([("record", pa.binary())]))
            self.assertEqual(table["record"].to_pylist(), records)
            with pa.memory_map(self.path("a.arrow")) as mapped:
                self.assertEqual(pa.ipc.open_file(mapped).read_all(), table)
            self.assertEqual(pa.ipc.open_stream(self.path("a.arrows")).read_all(), table)
            self.assertEqual(pa.feather.read_table(self.path("a.arrow")), table)
            self.assertEqual(pl.read_ipc(self.path("a.arrow"))["record"].to_list(), records)

    def test_tables_written_by_the_tool_are_read(self):
        table = pa.table(
            {"n": [1, 2, 3], "s": ["a", "bc", ""], "t": pa.array([1, 2, 3], pa.timestamp("ms"))}
        )
        with open(self.path("t.csv"), "w") as f:
            f.write("n,s,t\n1,a,5\n2,bc,6\n3,d,7\n")
        self.run_tool("convert", "-q", "t.csv", "t.bcolz")
        self.run_tool("convert", "-q", "t.bcolz", "t.arrow")
        self.assertEqual(
            pa.ipc.open_file(self.path("t.arrow")).read_all().to_pydict(),
            {"n": [1, 2, 3], "s": ["a", "bc", "d"], "t": [5, 6, 7]},
        )
        del table

    def read_by_us(self, column, records, name):
        self.run_tool("convert", "-q", "--force", "--columns", column, name, "o.bagz")
        self.assertEqual(list(bagz.Reader(self.path("o.bagz"))), records, SEED)

    def test_the_tool_reads_files_of_pyarrow(self):
        records, texts = self.records(1000), [r.hex() for r in self.records(1000)]
        fixed = [self.random.randbytes(6) for _ in range(1000)]
        table = pa.table(
            {
                "number": pa.array(range(1000)),
                "none": pa.nulls(1000),
                "flag": pa.array([i % 3 == 0 for i in range(1000)]),
                "list": pa.array([[1] * (i % 3) for i in range(1000)]),
                "word": pa.array(["x", "y"] * 500).dictionary_encode(),
                "struct": pa.array([{"a": i, "b": str(i), "c": [b"x"]} for i in range(1000)]),
                "view0": pa.array(texts, pa.string_view()),
                "union": pa.UnionArray.from_sparse(
                    pa.array([0] * 1000, pa.int8()), [pa.array(range(1000)), pa.array(texts)]
                ),
                "map": pa.array(
                    [[("k", i)] for i in range(1000)], pa.map_(pa.string(), pa.int64())
                ),
                "binary": pa.array(records),
                "text": pa.array(texts),
                "large": pa.array(records, pa.large_binary()),
                "large_text": pa.array(texts, pa.large_string()),
                "view": pa.array(records, pa.binary_view()),
                "fixed": pa.array(fixed, pa.binary(6)),
                "holes": pa.array([None if i == 700 else b"x" for i in range(1000)]),
            }
        )
        as_bytes = [t.encode() for t in texts]
        expected = {
            "binary": records,
            "text": as_bytes,
            "large": records,
            "large_text": as_bytes,
            "view": records,
            "view0": as_bytes,
            "fixed": fixed,
        }
        for rows in (1, 999, 1000):
            with pa.ipc.new_file(self.path("a.arrow"), table.schema) as file, pa.ipc.new_stream(
                self.path("a.arrows"), table.schema
            ) as stream:
                for batch in table.to_batches(max_chunksize=max(rows, 100)):
                    file.write_batch(batch)
                    stream.write_batch(batch)
            for column, values in expected.items():
                for name in ("a.arrow", "a.arrows"):
                    self.read_by_us(column, values, name)
        message = self.run_tool("convert", "--columns", "holes", "a.arrow", "n.bagz", code=1)
        self.assertIn("record 700, ", message)
        self.assertIn(
            "dictionary", self.run_tool("convert", "--columns", "word", "a.arrow", "n.bagz", code=1)
        )
        # slices: arrays that begin later in their buffers
        with pa.ipc.new_stream(self.path("s.arrows"), table.schema) as stream:
            stream.write_batch(table.slice(333, 100).to_batches()[0])
        for column, values in expected.items():
            self.read_by_us(column, values[333:433], "s.arrows")

    def test_compressed_files_are_read(self):
        records = self.records(2000)
        for compression in ("lz4", "zstd", "uncompressed"):
            pa.feather.write_feather(
                pa.table({"a": records}), self.path("a.feather"), compression=compression
            )
            self.read_by_us("a", records, "a.feather")

    def test_the_tool_reads_files_of_polars(self):
        records = self.records(2000)
        frame = pl.DataFrame({"n": list(range(2000)), "record": records})
        frame.write_ipc(self.path("p.arrow"))
        self.read_by_us("record", records, "p.arrow")
        frame.write_ipc_stream(self.path("p.arrows"))
        self.read_by_us("record", records, "p.arrows")

    def test_truncated_files_are_refused(self):
        table = pa.table({"record": self.records(300)})
        with pa.ipc.new_file(self.path("a.arrow"), table.schema) as file:
            file.write_table(table, max_chunksize=100)
        whole = (self.folder / "a.arrow").read_bytes()
        for n in {self.random.randrange(len(whole)) for _ in range(60)} | {len(whole) - 1}:
            (self.folder / "b.arrow").write_bytes(whole[:n])
            self.run_tool("convert", "b.arrow", "o.bagz", code=1)
            self.assertFalse(os.path.exists(self.path("o.bagz")))


if __name__ == "__main__":
    unittest.main()
