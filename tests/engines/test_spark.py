"""Spark's data source: against the plain reader, with two executors, some of which are killed.

Needs Spark and Java: make check-engines ENGINE=spark.
"""

import os
import sys
import unittest

import numpy as np
import pyarrow
from common import Case, holdall
from pyspark.sql import SparkSession

import holdall.spark

# Appends records, from tasks of two executors.
PROGRAM = """
import sys
from pyspark.sql import SparkSession
import holdall.spark

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR")
spark = builder.getOrCreate()
spark.dataSource.register(holdall.spark.Source)
records = spark.range(0, 2000, 1, 8).selectExpr("cast(concat('new ', id) as binary) as record")
print("start", flush=True)
records.write.format("holdall").mode("append").save(sys.argv[1])
"""

SPARK = None


def setUpModule():
    global SPARK
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR")
    SPARK = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate()
    SPARK.dataSource.register(holdall.spark.Source)


def tearDownModule():
    SPARK.stop()


def load(path, **options):
    return SPARK.read.format("holdall").options(**options).load(str(path))


class Reading(Case):
    def test_records_and_rows_are_those_of_the_plain_reader(self):
        spec, records = self.bag("lines@3.bagz")
        table, columns = self.table()
        read = load(spec, partitions=5, threads=1)
        self.assertLessEqual(read.rdd.getNumPartitions(), 5)
        self.assertEqual([bytes(row.record) for row in read.collect()], records)
        read = load(table, partitions=3)
        with holdall.Table(table) as opened:
            expected = pyarrow.table(opened).to_pydict()
        self.assertEqual(read.toArrow().to_pydict(), expected)
        read = load(table, columns="code,km")
        self.assertEqual(read.columns, ["code", "km"])
        total = read.where("code = 'EWR'").agg({"km": "sum"}).collect()[0][0]
        self.assertAlmostEqual(total, columns["km"][::2].sum())

    def test_other_containers_and_columns_are_refused(self):
        path, _ = self.array()
        table, _ = self.table()
        for name, options, error in (
            (path, {}, "expected a bag or a table, found array"),
            (table, {"columns": "miles"}, "miles"),
            (self.folder / "none.bagz", {}, "none.bagz"),
        ):
            with self.subTest(path=name), self.assertRaisesRegex(Exception, error):
                load(name, **options).collect()


def save(frame, path, **options):
    frame.write.format("holdall").options(**options).mode("append").save(str(path))


class Writing(Case):
    def test_records_are_appended_or_become_a_set(self):
        spec, records = self.bag()
        read = load(spec, partitions=4)
        save(read, spec, level=3)
        self.assertEqual(list(holdall.Bag(spec)), 2 * records)
        for name, shards in (("new@*.bagz", 4), ("one.bagz", 1)):
            path = self.folder / name
            save(load(spec, partitions=4), path)
            self.assertEqual(list(holdall.Bag(path)), 2 * records)
            self.assertEqual(len(holdall.Bag(path).shards), shards)

    def test_rows_are_appended_in_any_order_of_columns(self):
        path, columns = self.table()
        save(load(path, partitions=4).select("code", "at", "km"), path)
        with holdall.Table(path) as table:
            for name, items in columns.items():
                np.testing.assert_array_equal(table[name][:], np.concatenate([items, items]))

    def test_a_refused_or_failed_job_changes_nothing(self):
        spec, records = self.bag()
        table, columns = self.table()
        rows = load(table, partitions=4)
        for frame, path, error in (
            (rows, spec, "expected columns"),
            (rows.select("km"), table, "expected columns"),
            (rows.selectExpr("code", "at", "'x' as km"), table, "km|cast|parse|string"),
            (rows.selectExpr("code", "at", "if(km < 0.9, km, null) as km"), table, "null"),
            (rows.selectExpr("concat('longer', code) as code", "at", "km"), table, "code"),
            (rows.selectExpr("cast(raise_error('no') as binary) as record"), spec, "no"),
            (rows.selectExpr("cast(null as binary) as record"), spec, "None"),
        ):
            with self.subTest(path=path, columns=frame.columns), self.assertRaisesRegex(Exception, error):
                save(frame, path)
        with self.assertRaisesRegex(Exception, "append"):
            rows.write.format("holdall").mode("overwrite").save(table)
        self.assertEqual(list(holdall.Bag(spec)), records)
        self.assertEqual(len(holdall.Table(table)), 1000)
        for path in (spec, table):
            holdall.repair(path)
            self.assertEqual(holdall.list_parts(path), [])

    def test_a_killed_job_leaves_the_last_commit(self):
        new = [b"new %d" % i for i in range(2000)]
        self.survives_kills(PROGRAM, str(self.folder / "lines.bagz"), [b"old"] * 10, new)


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        self.check_guide("fares.py")


if __name__ == "__main__":
    unittest.main()
