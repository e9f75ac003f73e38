"""Scans return the rows and columns that pyarrow selects from the whole table."""

import os
import random
import unittest

import duckdb
import numpy as np
import polars
import pyarrow as pa

from case import SEED, Case, holdall

TABLES = int(os.environ.get("HOLDALL_TIMES", 6))
SCANS = 25
PAIR = pa.struct({"a": pa.int64(), "b": pa.string()})


def rows_of_all_types(rng, n):
    """A table with a column of each type, `x` ascending with repetitions."""
    x = np.sort(np.array([rng.randrange(n // 3 + 1) for _ in range(n)], "i4"))
    texts = [None if i % 7 == 0 else "é" * (i % 5) for i in range(n)]
    return pa.table(
        {
            "x": x,
            "y": pa.array(np.array([rng.randrange(10) for _ in range(n)], "u1")),
            "half": pa.array([i % 3 == 0 for i in range(n)], pa.bool_()),
            "f": pa.array([None if i % 11 == 0 else i / 2 for i in range(n)], pa.float64()),
            "time": pa.array(np.arange(n).astype("M8[ms]")),
            "text": pa.array(texts, pa.string()),
            "word": pa.array([f"w{i % 20}" for i in range(n)], pa.string()).dictionary_encode(),
            "octets": pa.array([b"\0" * (i % 3) for i in range(n)], pa.binary()),
            "list": pa.array([[i] * (i % 4) for i in range(n)], pa.list_(pa.int64())),
            "pair": pa.array([{"a": i, "b": str(i)} for i in range(n)], PAIR),
            "row": pa.FixedSizeListArray.from_arrays(pa.array(range(3 * n), pa.int32()), 3),
        }
    )


class Scan(Case):
    def random_scan(self, rng, table, whole):
        n = len(whole)
        names = rng.sample(whole.column_names, rng.randrange(1, 6))
        batch = rng.choice((0, 1, 3, 1000))
        if rng.randrange(3) == 0:
            near = rng.randrange(n + 1)
            near = [i for i in range(near, min(n, near + 300)) if rng.randrange(3)]
            rows = near + [rng.randrange(n) for _ in range(rng.choice((0, 1, 50)) if n else 0)]
            if rng.randrange(2):
                rows.sort()
            return table.scan(names, rows=rows, batch_rows=batch), rows, names, batch
        start = rng.randrange(n + 1)
        stop = rng.randrange(start, n + 1)
        low, share = rng.randrange(n // 3 + 1), rng.randrange(11)
        wide = rng.choice((0, 3, n))
        filter, mask = {
            0: (None, np.ones(n, bool)),
            1: (f"y < {share}", whole["y"].to_numpy() < share),
            2: (
                f"x between {low} and {low + wide}",
                (whole["x"].to_numpy() >= low) & (whole["x"].to_numpy() <= low + wide),
            ),
            3: ("text is null", whole["text"].is_null().to_numpy()),
        }[rng.randrange(4)]
        rows = [int(i) for i in np.flatnonzero(mask) if start <= i < stop]
        limit = rng.choice((None, None, 0, 1, 40))
        scan = table.scan(names, filter, start, stop, limit, batch_rows=batch)
        return scan, rows[:limit], names, batch

    def test_rows_are_those_that_pyarrow_takes(self):
        scans = 0
        for number in range(TABLES):
            rng = random.Random(f"{SEED} {number}")
            path = self.path(".b2d")
            all = rows_of_all_types(rng, rng.choice((0, 1, 700, 30_000)))
            chunk = rng.choice((100, 5000, 1 << 20))
            options = {"chunk_bytes": chunk, "durability": 0}
            with holdall.Table.from_arrow(path, all, **options) as table:
                whole = pa.table(table)
                for scan in range(SCANS):
                    with self.subTest(seed=SEED, table=number, scan=scan):
                        stream, rows, names, batch = self.random_scan(rng, table, whole)
                        got = pa.RecordBatchReader.from_stream(stream)
                        batches = list(got)
                        sizes = [len(one) for one in batches]
                        self.assertTrue(all_within(sizes, batch), (sizes, batch))
                        found = pa.Table.from_batches(batches, got.schema)
                        # pyarrow cannot take structures of some types in chunks
                        expected = whole.select(names).combine_chunks().take(pa.array(rows, "i8"))
                        self.assertEqual(found.to_pylist(), expected.to_pylist(), stream)
                        scans += 1
        print(f"{scans} scans, seed {SEED}")

    def test_all_formats(self):
        n = np.arange(300_000, dtype=">i4")
        for format in ("bcolz", "blz", "blz_rfc"):
            columns = {"n": ">i4", "code": "S3", "name": "U4", "pair": "(2,)f8"}
            with holdall.Table.create(self.path(), columns, format, durability=0) as table:
                codes = np.array([b"UA", b"AA", b"DL"])[n % 3]
                pairs = np.stack([n, -n], 1).astype("f8")
                table.append({"n": n, "code": codes, "name": codes.astype("U4"), "pair": pairs})
                table.commit()
                for filter, mask in (
                    ("code = 'UA' and n > 100", (n % 3 == 0) & (n > 100)),
                    ("n in (5, 100, 299999)", np.isin(n, [5, 100, 299_999])),
                    ("n >= 0", n >= 0),
                ):
                    found = pa.table(table.scan(["pair", "name"], filter))
                    pair = np.array(found["pair"].combine_chunks().flatten()).reshape(-1, 2)
                    np.testing.assert_array_equal(pair, pairs[mask])
                    self.assertEqual(found["name"].to_pylist(), codes[mask].astype("U4").tolist())

    def test_engines_accept_it(self):
        path = self.path(".b2d")
        rows = pa.table({"km": [1.5, 20, 300], "carrier": ["UA", "AA", "UA"]})
        with holdall.Table.from_arrow(path, rows, durability=0) as table:
            scan = table.scan(filter="carrier = 'UA'")
            self.assertEqual(duckdb.sql("select sum(km) from scan").fetchall(), [(301.5,)])
            self.assertEqual(polars.DataFrame(scan)["km"].to_list(), [1.5, 300])
            self.assertEqual(pa.table(table.scan(limit=1 << 64, batch_rows=1 << 64)), rows)
            self.assertIn("filter \"carrier = 'UA'\"", repr(scan))
            self.assertIn("2 rows", repr(table.scan(rows=[0, 1])))
            for wrong, error in (
                ({"columns": ["none"]}, KeyError),
                ({"start": 4}, holdall.RangeError),
                ({"stop": 4}, holdall.RangeError),
                ({"rows": [0], "limit": 1}, holdall.ArgumentError),
                ({"rows": [3]}, holdall.RangeError),
                ({"rows": [-1]}, holdall.RangeError),
                ({"rows": [1 << 64]}, holdall.RangeError),
                ({"limit": -1}, holdall.ArgumentError),
                ({"batch_rows": -1}, holdall.ArgumentError),
            ):
                with self.assertRaises(error, msg=wrong):
                    table.scan(**wrong)
            for wrong, error in (
                ({"filter": "km >"}, holdall.ArgumentError),
                ({"filter": "km = 'x'"}, holdall.TypeError),
            ):
                with self.assertRaises(error, msg=wrong):
                    pa.table(table.scan(**wrong))


def all_within(sizes, batch):
    return all(0 < size <= (batch or 1 << 20) for size in sizes)


if __name__ == "__main__":
    unittest.main()
