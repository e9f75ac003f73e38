"""Ray Data: against the plain reader, with two workers, some of which are killed.

Needs Ray Data: make check PART=engines, or more kills with make check-engines ENGINE=ray.
"""

import os
import time
import unittest

import numpy as np
import pyarrow
from common import Case, holdall

os.environ["RAY_AUTH_MODE"] = "disabled"
import ray

import holdall.ray

# Appends records, from tasks of two workers.
PROGRAM = """
import os
import sys
os.environ["RAY_AUTH_MODE"] = "disabled"
import ray
import holdall.ray

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
records = ray.data.range(2000, override_num_blocks=8)
records = records.map(lambda row: {"record": b"new %d" % row["id"]}).materialize()
print("start", flush=True)
holdall.ray.write_bag(records, sys.argv[1])
"""


def setUpModule():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True


def wait_for_tasks():
    """Waits until no task runs: Ray does not wait for the others of a job that has failed."""
    for _ in range(1200):
        if ray.available_resources().get("CPU") == 2:
            return
        time.sleep(0.1)
    raise AssertionError("tasks run for two minutes after a job has failed")


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


class Writing(Case):
    def test_records_are_appended_or_become_a_set(self):
        spec, records = self.bag()
        read = holdall.ray.read_bag(spec, ray_options={"override_num_blocks": 4})
        holdall.ray.write_bag(read, spec, level=3)
        self.assertEqual(list(holdall.Bag(spec)), 2 * records)
        with self.assertRaises(Exception):  # the bag has changed
            read.materialize()
        shards = str(self.folder / "all@*.bagz")
        read = holdall.ray.read_bag(spec, ray_options={"override_num_blocks": 4})
        holdall.ray.write_bag(read, shards)
        self.assertEqual(sorted(holdall.Bag(shards)), sorted(2 * records))
        self.assertGreater(len(holdall.Bag(shards).shards), 1)
        with self.assertRaises(Exception):
            holdall.ray.write_bag(read, shards)

    def test_rows_and_items_are_appended(self):
        path, columns = self.table()
        read = holdall.ray.read_table(path, ray_options={"override_num_blocks": 4})
        holdall.ray.write_table(read.map_batches(lambda rows: rows, batch_format="pyarrow"), path)
        with holdall.Table(path) as table:
            for name, items in columns.items():
                np.testing.assert_array_equal(table[name][:], np.concatenate([items, items]))
        path, items = self.array()
        read = holdall.ray.read_array(path, ray_options={"override_num_blocks": 4})
        holdall.ray.write_array(read, path)
        with holdall.Array(path) as array:
            np.testing.assert_array_equal(array[:], np.concatenate([items, items]))

    def test_a_failed_job_changes_nothing(self):
        spec, records = self.bag()
        numbers = ray.data.range(1000, override_num_blocks=4)
        failing = numbers.map(lambda row: {"record": b"%d" % (1 // (row["id"] - 700))})
        null = numbers.map(lambda row: {"record": None if row["id"] == 999 else b"x"})
        text = numbers.map(lambda row: {"record": str(row["id"])})
        table, columns = self.table()
        for dataset in (failing, null, text):
            with self.assertRaises(Exception):
                holdall.ray.write_bag(dataset, spec)
        with self.assertRaises(Exception):
            holdall.ray.write_table(numbers, table)
        self.assertEqual(list(holdall.Bag(spec)), records)
        self.assertEqual(len(holdall.Table(table)), 1000)
        wait_for_tasks()
        for path in (spec, table):
            holdall.repair(path)
            self.assertEqual(holdall.list_parts(path), [])

    def test_a_killed_job_leaves_the_last_commit(self):
        new = [b"new %d" % i for i in range(2000)]
        self.survives_kills(PROGRAM, str(self.folder / "lines.bagz"), [b"old"] * 10, new)


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        self.check_guide("shorten.py")


if __name__ == "__main__":
    unittest.main()
