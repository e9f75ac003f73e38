"""Datasets of PyTorch: against the plain reader, with forked and spawned workers, after kill -9.

Needs PyTorch: make check-engines.
"""

import unittest

import numpy as np
import torch
from common import Case, holdall
from torch.utils.data import DataLoader

from holdall.torch import Epochs, Items

# Prints each batch of three epochs, and resumes, each time with another number of workers.
PROGRAM = """
import hashlib, json, os, sys
import torch
import holdall.torch

def main(spec, rank, world):
    dataset = holdall.torch.Epochs(spec, 20, seed=5, rank=int(rank), world=int(world))
    state = [0, 0, 0]
    if os.path.exists("state"):
        with open("state") as file:
            state = json.load(file)
    epoch, batch, workers = state
    for epoch in range(epoch, 3):
        dataset.set_epoch(epoch, batch)
        for records in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers):
            batch += 1
            print(hashlib.sha256(b"".join(records)).hexdigest(), flush=True)
            with open("state.new", "w") as file:
                json.dump([epoch, batch, (workers + 1) % 3], file)
            os.replace("state.new", "state")
        batch = 0

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def same(batch):
    return batch


class MapStyle(Case):
    def test_items_are_those_of_the_plain_reader(self):
        spec, records = self.bag("lines@3.bagz")
        path, items = self.array()
        table, columns = self.table()
        for context in ("fork", "spawn"):
            with self.subTest(context=context):
                loader = DataLoader(
                    Items(spec), 64, num_workers=2, multiprocessing_context=context, collate_fn=same
                )
                self.assertEqual([r for batch in loader for r in batch], records)
        loader = DataLoader(Items(path), 30, num_workers=2)
        np.testing.assert_array_equal(torch.cat(list(loader)).numpy(), items)
        loader = DataLoader(Items(table, columns=["km"]), 64)
        np.testing.assert_array_equal(torch.cat([b["km"] for b in loader]), columns["km"])
        self.assertEqual(Items(table)[5]["code"], columns["code"][5])
        self.assertIsInstance(Items(path)[0], torch.Tensor)

    def test_a_sampler_of_ranks_reads_every_record_once(self):
        spec, records = self.bag()
        read = []
        for rank in range(2):
            items = Items(spec)
            sampler = torch.utils.data.DistributedSampler(items, 2, rank, seed=3)
            loader = DataLoader(items, 50, sampler=sampler, num_workers=2, collate_fn=same)
            read += [r for batch in loader for r in batch]
        self.assertEqual(sorted(read), sorted(records))


class Shuffled(Case):
    def test_ranks_and_workers_read_every_record_once_per_epoch(self):
        spec, records = self.bag("lines@2.bagz", 1003)
        cases = (
            (1, 0, False, None),
            (3, 2, False, "fork"),
            (2, 3, True, "fork"),
            (1, 2, True, "spawn"),
        )
        for world, workers, persistent, context in cases:
            read = {epoch: [] for epoch in range(2)}
            for rank in range(world):
                dataset = Epochs(spec, 20, seed=7, rank=rank, world=world)
                loader = DataLoader(
                    dataset, batch_size=None, num_workers=workers,
                    persistent_workers=persistent, multiprocessing_context=context,
                )  # fmt: skip
                for epoch in read:
                    dataset.set_epoch(epoch)
                    batches = list(loader)
                    self.assertEqual(len(batches), len(loader))
                    read[epoch].append([r for batch in batches for r in batch])
            for epoch, ranks in read.items():
                with self.subTest(world=world, workers=workers, persistent=persistent, epoch=epoch):
                    self.assertEqual(sorted(sum(ranks, [])), sorted(records))
                    order = [ranks[i % world][i // world] for i in range(1003)]
                    self.assertEqual(order, list(holdall.Bag(spec).epoch(7, epoch)))

    def test_arrays_and_tables_are_batches_of_tensors(self):
        path, items = self.array()
        table, columns = self.table()
        batches = list(DataLoader(Epochs(path, 30, seed=1), batch_size=None, num_workers=2))
        self.assertEqual([len(b) for b in batches], [30, 30, 30, 10])
        got = torch.cat(batches).numpy()
        np.testing.assert_array_equal(np.sort(got.reshape(-1)), np.sort(items.reshape(-1)))
        batches = list(Epochs(table, 64, seed=1, columns=["km", "code"]))
        km = torch.cat([batch["km"] for batch in batches])
        self.assertEqual(sorted(km.tolist()), sorted(columns["km"]))
        self.assertEqual(batches[0]["code"].dtype, columns["code"].dtype)

    def test_it_resumes_after_kill_with_any_number_of_workers(self):
        spec, _ = self.bag(n=403)
        self.resumes(PROGRAM, spec, 1, 2)

    def test_wrong_arguments_are_refused(self):
        spec, _ = self.bag()
        for options in ({"batch_size": 0}, {"batch_size": 1, "rank": 2, "world": 2}):
            with self.subTest(options=options), self.assertRaises(holdall.ArgumentError):
                Epochs(spec, **options)
        dataset = Epochs(spec, 100)
        dataset.set_epoch(0, 50)
        self.assertEqual(list(dataset), [])


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        self.check_guide("train.py")


if __name__ == "__main__":
    unittest.main()
