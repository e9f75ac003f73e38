"""Sources of Grain: against the plain reader, and resumed after kill -9."""

import json
import pickle
import unittest

import grain
import numpy as np
from common import Case, holdall

from holdall import _items
from holdall.grain import Batches, Source

# Prints each batch of a shuffled dataset, in threads or worker processes, and resumes.
PROGRAM = """
import hashlib, json, os, pickle, sys
import grain
import holdall.grain

def main(spec, workers):
    records = grain.MapDataset.source(holdall.grain.Source(spec)).shuffle(seed=5)
    batches = records.batch(20, batch_fn=list).to_iter_dataset()
    if workers:
        batches = batches.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    batches = iter(batches)
    if os.path.exists("state"):
        with open("state", "rb") as file:
            batches.set_state(pickle.load(file))
    for batch in batches:
        print(hashlib.sha256(pickle.dumps(batch)).hexdigest(), flush=True)
        with open("state.new", "wb") as file:
            pickle.dump(batches.get_state(), file)
        os.replace("state.new", "state")

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
"""


class Sources(Case):
    def test_items_are_those_of_the_plain_reader(self):
        spec, records = self.bag("lines@3.bagz")
        path, items = self.array()
        table, columns = self.table()
        self.assertEqual(list(grain.MapDataset.source(Source(spec))), records)
        self.assertEqual(list(Source(holdall.Bag(spec)[10:20])), records[10:20])
        np.testing.assert_array_equal(list(grain.MapDataset.source(Source(path))), items)
        rows = Source(table, columns=["code", "km"])
        self.assertEqual(rows[7], {"code": columns["code"][7], "km": columns["km"][7]})
        self.assertEqual(rows._getitems([7, 3]), [rows[7], rows[3]])
        for source in (Source(spec), Source(path), rows):
            again = pickle.loads(pickle.dumps(source))
            self.assertIsInstance(source, grain.sources.RandomAccessDataSource)
            self.assertEqual((len(again), repr(again)), (len(source), repr(source)))
            with self.assertRaises(IndexError):
                source[len(source)]

    def test_each_epoch_has_every_record_once(self):
        spec, records = self.bag()
        dataset = grain.MapDataset.source(Source(spec)).shuffle(seed=5).repeat(2)
        options = grain.MultiprocessingOptions(num_workers=2)
        read = list(dataset.to_iter_dataset().mp_prefetch(options))
        self.assertNotEqual(read[:1000], read[1000:])
        self.assertEqual(sorted(read[:1000]), sorted(records))
        self.assertEqual(sorted(read[1000:]), sorted(records))

    def test_batches_of_epochs_have_every_item_once(self):
        spec, records = self.bag()
        path, items = self.array()
        source = Batches(spec, 30, seed=7, epochs=2)
        dataset = grain.MapDataset.source(source).to_iter_dataset()
        read = list(dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
        self.assertEqual((len(read), len(read[33]), len(read[34])), (68, 10, 30))
        for epoch in range(2):
            order = [record for batch in read[34 * epoch : 34 * (epoch + 1)] for record in batch]
            self.assertEqual(order, list(holdall.Bag(spec).epoch(7, epoch)))
        read = np.concatenate(list(Batches(path, 30)))
        np.testing.assert_array_equal(np.sort(read, axis=0), np.sort(items, axis=0))
        self.assertIn("size 30, seed 7", repr(source))
        for index in (-1, 68):
            with self.assertRaises(IndexError):
                source[index]
        with self.assertRaises(holdall.ArgumentError):
            Batches(spec, 0)

    def test_batches_that_are_read_ahead_are_those_read_by_number(self):
        spec, _ = self.bag("lines.bagz", 1003)
        batches = _items.Batches(_items.Items(spec), 20, 7, 0, 1)
        numbers = range(1, len(batches), 3)
        read = list(batches.read_each(2, numbers))
        self.assertEqual(read, [batches.read(2, number) for number in numbers])
        with open(spec, "r+b") as file:
            file.seek(100)
            file.write(bytes(8))
        batches, lengths = _items.Batches(_items.Items(spec), 20, 7, 0, 1), []
        with self.assertRaises((holdall.ChecksumError, holdall.FormatError)):
            for batch in batches.read_each(0, range(len(batches))):
                lengths.append(len(batch))
        self.assertLessEqual(set(lengths), {20})

    def test_a_data_loader_resumes_and_refuses_another_source(self):
        def loader(spec):
            sampler = grain.samplers.IndexSampler(1000, shuffle=True, seed=3, num_epochs=1)
            return iter(grain.DataLoader(data_source=Source(spec), sampler=sampler, worker_count=2))

        spec, records = self.bag()
        other, _ = self.bag("other.bagz")
        batches = loader(spec)
        first = [next(batches) for _ in range(333)]
        state = batches.get_state()
        rest = loader(spec)
        rest.set_state(state)
        self.assertEqual(sorted([*first, *rest]), sorted(records))
        self.assertIn("lines.bagz", json.loads(state)["data_source"])
        with self.assertRaises(ValueError):
            loader(other).set_state(state)

    def test_an_iterator_resumes_after_kill(self):
        spec, _ = self.bag()
        for workers in (0, 2):
            with self.subTest(workers=workers):
                self.resumes(PROGRAM, spec, workers)

    def test_other_containers_and_columns_are_refused(self):
        path, _ = self.array()
        table, _ = self.table()
        schunk = str(self.folder / "data.blp")
        with holdall.Schunk.create(schunk) as made:
            made.append(b"bytes")
            made.commit()
        with self.assertRaises(holdall.TypeError):
            Source(schunk)
        with self.assertRaises(holdall.TypeError):
            Source(path, columns=["km"])
        with self.assertRaises(KeyError):
            Source(table, columns=["miles"])
        with self.assertRaises(TypeError):
            Source(holdall.Table(table), threads=1)


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        self.check_guide("resume.py")


if __name__ == "__main__":
    unittest.main()
