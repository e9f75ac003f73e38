"""holdall.polars: queries of lazy frames have the results of the same queries on frames in memory."""

import datetime
import os
import random
import unittest
from unittest import mock

import polars
import pyarrow as pa

from case import SEED, Case, holdall

import holdall.polars

QUERIES = int(os.environ.get("HOLDALL_TIMES", 300))
START = datetime.datetime(2013, 1, 1)
col = polars.col


def table(rng, n):
    def of(values, type):
        values = [None if rng.random() < 0.1 else rng.choice(values) for _ in range(n)]
        return pa.array(values, type)

    floats = [0.0, -0.0, 0.1, 0.5, 7.0, float("nan"), float("inf"), -float("inf")]
    return pa.table(
        {
            "i": of(range(-5, 6), pa.int32()),
            "u": of([0, 1, 5, 2**64 - 1], pa.uint64()),
            "f": of(floats, pa.float32()),
            "d": of(floats, pa.float64()),
            "flag": of([True, False], pa.bool_()),
            "s": of(["", "a", "ab", "b", "é", "it's"], pa.string()),
            "t": of([START + datetime.timedelta(hours=i) for i in range(9)], pa.timestamp("us")),
            'a "b"': of(range(3), pa.int8()),
        }
    )


class Conditions:
    def __init__(self, rng):
        self.rng = rng

    def test(self):
        rng = self.rng
        i, time = rng.randrange(-6, 7), START + datetime.timedelta(hours=rng.randrange(9))
        number = rng.choice([i, i + 0.5, 0.1, float("nan"), float("inf"), 2**60, -0.0])
        text = rng.choice(["", "a", "b", "it's", "é"])
        name = rng.choice(["i", "u", "f", "d", 'a "b"'])
        compare = rng.choice(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
        return rng.choice(
            [
                lambda: getattr(col(name), compare)(number),
                lambda: getattr(polars.lit(number), compare)(col(name)),
                lambda: getattr(col(name), compare)(polars.lit(abs(i), polars.UInt8)),
                lambda: getattr(col(name), compare)(polars.lit(0.1, polars.Float32)),
                lambda: getattr(col("t"), compare)(time),
                lambda: getattr(col("s"), compare)(text),
                lambda: getattr(col("i") + 1, compare)(col("d")),
                lambda: col("flag"),
                lambda: col(rng.choice(["f", "i", "s", "t"])).is_null(),
                lambda: col("s").is_not_null(),
                lambda: col("i").is_between(i, 4, closed=rng.choice(["both", "left", "right", "none"])),
                lambda: col("s").str.starts_with(text),
                lambda: col("s").str.contains(text, literal=True),
                lambda: col("s").str.contains("a|b"),
                lambda: col("s").is_in([text, "b"], nulls_equal=rng.random() < 0.3),
                lambda: col("i").is_in(rng.choice([[i, 3], [i, None]])),
            ]
        )()

    def any(self, depth):
        kind = self.rng.randrange(4) if depth else 3
        if kind == 3:
            return self.test()
        if kind == 2:
            return ~self.any(depth - 1)
        left, right = self.any(depth - 1), self.any(depth - 1)
        return left & right if kind else left | right


class Polars(Case):
    def test_queries_have_the_results_of_frames(self):
        rng = random.Random(SEED)
        all, understood = table(rng, 500), []
        frame, conditions = polars.DataFrame(all), Conditions(rng)
        learn = holdall.polars._understood

        def noted(*given):
            understood.append(learn(*given))
            return understood[-1]

        path = self.path(".b2d")
        options = {"durability": 0, "chunk_bytes": 1000}
        with holdall.Table.from_arrow(path, all, **options) as rows, \
                mock.patch("holdall.polars._understood", noted), \
                mock.patch("holdall.polars.ROWS", 130):  # fmt: skip
            lazy = holdall.polars.scan(rows)
            self.assertEqual(lazy.collect_schema(), frame.schema)
            for number in range(QUERIES):
                condition, names = conditions.any(rng.randrange(4)), rng.sample(frame.columns, 3)
                with self.subTest(seed=SEED, number=number, condition=str(condition)):
                    for query in (
                        lambda all: all.filter(condition).select(names),
                        lambda all: all.filter(condition).head(7),
                        lambda all: all.head(200).filter(condition),
                    ):
                        found, expected = query(lazy).collect(), query(frame)
                        self.assertTrue(found.equals(expected, null_equal=True), (found, expected))
        share = sum(filter is not None for filter in understood) / len(understood)
        self.assertGreater(share, 0.3)
        print(f"{QUERIES} conditions, {share:.0%} of the filters understood, seed {SEED}")

    def test_only_what_a_query_needs_is_read(self):
        asked = []

        class Noted(holdall.Table):
            def scan(self, *given, **options):
                asked.append(given)
                return super().scan(*given, **options)

        path = self.path(".b2d")
        rows = pa.table({name: range(9) for name in "abc"})
        holdall.Table.from_arrow(path, rows, durability=0).close()
        with Noted(path) as rows, mock.patch("holdall.polars.ROWS", 4):
            lazy = holdall.polars.scan(rows)
            self.assertEqual(lazy.filter(col("a") > 5).select("b").collect()["b"].to_list(), [6, 7, 8])
            read = [given for given in asked if len(given) == 4]
            self.assertEqual({(tuple(names), filter) for names, filter, *_ in read}, {(("a", "b"), '"a" > 5')})
            asked.clear()
            self.assertEqual(lazy.head(3).select("b").collect()["b"].to_list(), [0, 1, 2])
            self.assertEqual([given[2:] for given in asked if len(given) == 4], [(0, 3)])
            self.assertEqual(lazy.filter(col("a") > 99).select("b").collect().schema, {"b": polars.Int64})

    def test_a_table_without_rows(self):
        path = self.path(".b2d")
        none = pa.table({"a": pa.array([], pa.int64()), "s": pa.array([], pa.string())})
        with holdall.Table.from_arrow(path, none, durability=0) as rows:
            lazy = holdall.polars.scan(rows)
            for query in (lazy, lazy.filter(col("a") > 1), lazy.head(3)):
                self.assertTrue(query.collect().equals(polars.DataFrame(none)))


if __name__ == "__main__":
    unittest.main()
