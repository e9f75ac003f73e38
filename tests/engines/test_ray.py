"""Ray Data: against the plain reader, with two workers, some of which are killed.

Needs Ray Data: make check-engines ENGINE=ray.
"""

import os
import unittest

import numpy as np
import pyarrow
from common import Case, holdall

os.environ["RAY_AUTH_MODE"] = "disabled"
import ray

import holdall.ray


def setUpModule():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True


def tearDownModule():
    ray.shutdown()


class Reading(Case):
    def test_records_rows_and_items_are_those_of_the_plain_reader(self):
        spec, records = self.bag("lines@3.bagz")
        path, items = self.array()
        table, columns = self.table()
        blocks = {"override_num_blocks": 5}
        read = holdall.ray.read_bag(spec, ray_options=blocks)
        self.assertEqual([row["record"] for row in read.iter_rows()], records)
        read = holdall.ray.read_array(path, ray_options=blocks)
        np.testing.assert_array_equal([row["data"] for row in read.iter_rows()], items)
        read = holdall.ray.read_table(table, ray_options=blocks)
        found = pyarrow.concat_tables(ray.get(read.to_arrow_refs()))
        with holdall.Table(table) as opened:
            self.assertEqual(found, pyarrow.table(opened))
        read = holdall.ray.read_table(table, columns=["km"], ray_options=blocks)
        self.assertEqual(read.schema().names, ["km"])
        self.assertEqual((read.count(), read.sum("km")), (1000, columns["km"].sum()))

    def test_transformations_run_in_the_workers(self):
        spec, records = self.bag()
        read = holdall.ray.read_bag(spec, threads=1)
        lengths = read.map(lambda row: {"n": len(row["record"])}).sum("n")
        self.assertEqual(lengths, sum(map(len, records)))


if __name__ == "__main__":
    unittest.main()
