"""Arrays and bags of Dask: against the plain reader, in threads, processes and a local cluster."""

import pickle
import unittest

import dask
import distributed
import numpy as np
from common import Case, holdall

import holdall.dask


class Arrays(Case):
    def test_chunks_are_those_of_the_file_in_every_scheduler(self):
        path, items = self.array()
        for scheduler in ("synchronous", "threads", "processes"):
            with self.subTest(scheduler=scheduler), dask.config.set(scheduler=scheduler):
                read = holdall.dask.from_array(path, threads=1)
                self.assertEqual(read.chunks, ((10,) * 10, (4, 4), (6,)))
                np.testing.assert_array_equal(read.compute(num_workers=2), items)
                total = read.astype("i8").sum(axis=0).compute(num_workers=2)
                np.testing.assert_array_equal(total, items.sum(axis=0))
        chosen = holdall.dask.from_array(path, chunks=(50, 8, 3))
        self.assertEqual(chosen.chunks, ((50, 50), (8,), (3, 3)))
        np.testing.assert_array_equal(chosen[7:80, ::-2].compute(), items[7:80, ::-2])

    def test_slices_and_columns_are_read_in_processes(self):
        path, items = self.array()
        table, columns = self.table()
        part = holdall.dask.from_array(holdall.Array(path).slice(np.s_[20:60, 1]))
        km = holdall.dask.from_array(holdall.Table(table)["km"])
        with dask.config.set(scheduler="processes", num_workers=2):
            np.testing.assert_array_equal(part.compute(), items[20:60, 1])
            self.assertEqual(km.sum().compute(), columns["km"].sum())

    def test_names_change_with_a_commit(self):
        path, _ = self.array()
        first = holdall.dask.from_array(path).name
        self.assertEqual(holdall.dask.from_array(path).name, first)
        with holdall.Array(path, "a") as array:
            array[0] = 1
            array.commit()
        self.assertNotEqual(holdall.dask.from_array(path).name, first)

    def test_corrupt_chunks_and_objects_are_errors(self):
        path, _ = self.array()
        with open(path, "r+b") as file:
            file.seek(3000)
            file.write(bytes(64))
        with self.assertRaises((holdall.ChecksumError, holdall.FormatError)):
            holdall.dask.from_array(path).compute()
        with self.assertRaises(holdall.MissingError):
            holdall.dask.from_array(self.folder / "none.b2nd")


class Bags(Case):
    def test_records_are_in_order_in_every_scheduler(self):
        spec, records = self.bag("lines@3.bagz")
        for scheduler in ("synchronous", "threads", "processes"):
            with self.subTest(scheduler=scheduler), dask.config.set(scheduler=scheduler):
                read = holdall.dask.bag(spec, npartitions=7)
                self.assertLessEqual(read.npartitions, 7)
                self.assertEqual(read.compute(num_workers=2), records)
        self.assertEqual(holdall.dask.bag(holdall.Bag(spec)[5:9]).compute(), records[5:9])
        empty, _ = self.bag("empty.bagz", 0)
        self.assertEqual(holdall.dask.bag(empty).count().compute(), 0)

    def test_workers_of_a_cluster_read(self):
        spec, records = self.bag()
        path, items = self.array()
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster):
                length = holdall.dask.bag(spec).map(len).sum().compute()
                self.assertEqual(length, sum(map(len, records)))
                np.testing.assert_array_equal(holdall.dask.from_array(path).compute(), items)

    def test_a_graph_can_be_pickled(self):
        spec, records = self.bag()
        again = pickle.loads(pickle.dumps(holdall.dask.bag(spec)))
        self.assertEqual(again.compute(scheduler="synchronous"), records)


if __name__ == "__main__":
    unittest.main()
