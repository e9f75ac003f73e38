"""Spark's data source: against the plain reader, with two executors, some of which are killed.

Needs Spark and Java: make check-engines ENGINE=spark.
"""

import os
import sys
import unittest

import pyarrow
from common import Case, holdall
from pyspark.sql import SparkSession

import holdall.spark

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


if __name__ == "__main__":
    unittest.main()
