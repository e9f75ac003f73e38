"""Arrays and bags of Dask: against the plain reader, in threads, processes and a local cluster."""

import os
import pickle
import signal
import unittest

import dask
import distributed
import numpy as np
from common import KILLS, Case, holdall

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

    def test_partitions_are_read_by_several_tasks(self):
        spec, records = self.bag()
        for scheduler in ("synchronous", "threads", "processes"):
            with self.subTest(scheduler=scheduler), dask.config.set(scheduler=scheduler):
                read = holdall.dask.bag(spec, npartitions=2)
                lengths = read.map(len)
                pair = dask.bag.zip(read, lengths)
                together = (read, lengths.sum(), read.count(), pair)
                for optimized in (True, False):
                    found = dask.compute(*together, optimize_graph=optimized)
                    self.assertEqual(found[:3], (records, sum(map(len, records)), len(records)))
                    self.assertEqual(found[3], [(record, len(record)) for record in records])
        with open(spec, "r+b") as file:
            file.seek(3000)
            file.write(bytes(64))
        with self.assertRaises(holdall.Error):
            holdall.dask.bag(spec).map(len).sum().compute(scheduler="threads")

    def test_a_graph_can_be_pickled(self):
        spec, records = self.bag()
        again = pickle.loads(pickle.dumps(holdall.dask.bag(spec)))
        self.assertEqual(again.compute(scheduler="synchronous"), records)


# Appends records in two worker processes.
PROGRAM = """
import sys
import dask
import holdall.dask

def record(i):
    return b"new %d" % i

if __name__ == "__main__":
    records = dask.bag.range(2000, npartitions=8).map(record)
    print("start", flush=True)
    with dask.config.set(scheduler="processes", num_workers=2):
        holdall.dask.to_bag(records, sys.argv[1])
"""


def killed(record, at, marker):
    """Returns the record; at one record of a partition, kills once a worker that wrote a part."""
    if int(record.split()[1]) % 125 == at and not os.path.exists(marker):
        if any("_write_records" in str(key) for key in distributed.get_worker().data):
            open(marker, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
    return record


class Writing(Case):
    def test_arrays_are_those_of_numpy_in_every_scheduler(self):
        items = self.rng.integers(0, 1000, (37, 23, 5), dtype=np.int32)
        for scheduler in ("synchronous", "threads", "processes"):
            for chunks in ((10, 10, 5), (37, 23, 5), ((20, 17), (4, 19), (5,)), (1, 23, 5)):
                with self.subTest(chunks=chunks), dask.config.set(scheduler=scheduler):
                    given = dask.array.from_array(items, chunks=chunks)
                    path = self.folder / "new.b2nd"
                    holdall.dask.to_array(given, path, mode="w", chunk_shape=(10, 4, 5))
                    np.testing.assert_array_equal(holdall.Array(path)[...], items)
                    self.assertEqual(os.listdir(self.folder), ["new.b2nd"])
        holdall.dask.to_array(given, self.folder / "new.bcolz", format="bcolz", codec="zstd")
        with holdall.Array(self.folder / "new.bcolz") as array:
            self.assertEqual(array.codec, "zstd")
            np.testing.assert_array_equal(array[...], items)

    def test_a_file_that_is_replaced_keeps_its_mode(self):
        path, _ = self.array()
        os.chmod(path, 0o640)
        holdall.dask.to_array(dask.array.ones((4, 4)), path, mode="w")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o640)
        self.assertEqual(holdall.Array(path).shape, (4, 4))

    def test_a_box_of_an_array_is_overwritten_with_one_commit(self):
        path, items = self.array()
        box = self.rng.integers(0, 1000, (35, 4, 6), dtype=np.int32)
        given = dask.array.from_array(box, chunks=(7, 4, 6))
        with dask.config.set(scheduler="processes", num_workers=2):
            holdall.dask.to_array(given[:30], path, mode="a", start=[20, 4, 0])
        items[20:50, 4:] = box[:30]
        np.testing.assert_array_equal(holdall.Array(path)[...], items)
        holdall.dask.to_array(given, path, mode="a", start=[3, 2, 0])  # not on chunks
        items[3:38, 2:6] = box
        np.testing.assert_array_equal(holdall.Array(path)[...], items)

    def test_records_are_appended_or_become_a_set_in_order(self):
        spec, records = self.bag()
        new = [b"new %d" % i for i in range(100)]
        for scheduler in ("synchronous", "threads", "processes"):
            with self.subTest(scheduler=scheduler), dask.config.set(scheduler=scheduler):
                given = dask.bag.from_sequence(new, npartitions=7)
                holdall.dask.to_bag(given, spec)
                records += new
                self.assertEqual(list(holdall.Bag(spec)), records)
                whole = str(self.folder / f"{scheduler}@*.bagz")
                holdall.dask.to_bag(given, whole, level=3)
                shards = holdall.Bag(whole).shards
                self.assertEqual((len(shards), sum(n for _, n in shards)), (7, 100))
                self.assertEqual(sorted(holdall.Bag(whole)), sorted(new))

    def test_a_failed_job_changes_nothing(self):
        def fails(block):
            if block[0, 0, 0] == items[50, 0, 0]:
                raise ZeroDivisionError
            return block

        path, items = self.array()
        items[50:] = items[50, 0, 0] + 1
        items[50, 0, 0] -= 1
        given = dask.array.from_array(items, chunks=(10, 8, 6)).map_blocks(fails, meta=items[:0])
        new = str(self.folder / "new.b2nd")
        with dask.config.set(scheduler="synchronous"), self.assertRaises(ZeroDivisionError):
            holdall.dask.to_array(given, new)
        self.assertEqual(os.listdir(self.folder), ["field.b2nd"])
        with self.assertRaises(holdall.ExistsError):
            holdall.dask.to_array(given, path)
        with self.assertRaises(holdall.ArgumentError):
            holdall.dask.to_array(given, new, mode="r")

    def test_a_cluster_writes_again_what_a_killed_worker_has_lost(self):
        spec, records = self.bag()
        for kill in range(KILLS):
            given = [b"%d %d" % (kill, i) for i in range(1000)]
            marker, at = str(self.folder / f"killed-{kill}"), self.rng.integers(125)
            new = dask.bag.from_sequence(given, npartitions=8).map(killed, at, marker)
            # of its own, because Dask was seen to restart none after many kills
            cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None)
            with cluster, distributed.Client(cluster):
                holdall.dask.to_bag(new, spec)
            self.assertTrue(os.path.exists(marker))
            records += given
            self.assertEqual(list(holdall.Bag(spec)), records)
            parts = [n for n in os.listdir(self.folder) if "holdall-parts" in n]
            self.assertGreater(len(parts), kill)
        holdall.repair(spec)
        self.assertEqual([n for n in os.listdir(self.folder) if "holdall-parts" in n], [])

    def test_a_killed_job_leaves_the_last_commit(self):
        new = [b"new %d" % i for i in range(2000)]
        self.survives_kills(PROGRAM, str(self.folder / "lines.bagz"), [b"old"] * 10, new)


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        self.check_guide("deviation.py")


if __name__ == "__main__":
    unittest.main()
