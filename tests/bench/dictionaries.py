"""usage: dictionaries.py MODULE

Prints, for docs/figures/dictionaries.csv, what short records take with stored dictionaries of
several sizes and levels of zstd, with one thread: their stored size by that of their content, and
microseconds per record to write all, to read all in batches, and to read 1,000 at random at once.

MODULE is the folder of the Python module. texts.py has the records.
"""

import csv
import io
import json
import os
import sys
import tempfile
import time

import numpy as np
from texts import flights, text

sys.path.insert(0, sys.argv[1])

import holdall  # noqa: E402

COUNT, BATCH, ROUNDS = 100_000, 1_000, 3
SIZES = 0, 16 << 10, 110 << 10
LEVELS = 1, 3, 9, 19


def pieces():
    rng = np.random.default_rng(200)
    book = text(rng)
    sizes = np.clip(rng.normal(200, 50, size=COUNT), 20, 400).astype(int)
    starts = rng.integers(0, len(book) - 400, size=COUNT)
    return [book[a : a + n] for a, n in zip(starts.tolist(), sizes.tolist())]


def lines():
    rows = csv.DictReader(io.TextIOWrapper(io.BytesIO(flights()), "utf-8"))
    return [json.dumps(row).encode() for row, _ in zip(rows, range(COUNT))]


def best(call):
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return min(took)


def measure(records, path, size, level):
    """Returns the ratio, and the microseconds per record of each operation."""
    options = {}
    if size:
        given = holdall.train_dictionary(records[: 100 * size // len(records[0])], size)
        options = {"bag_dictionary": "stored", "dictionary": given}

    def write():
        with holdall.BagWriter(path, "w", level=level, threads=1, durability=0, **options) as made:
            made.extend(records)
            made.commit()

    def scan():
        for first in range(0, COUNT, BATCH):
            bag.read(first, BATCH)

    def scattered():
        for first in range(0, len(indices), BATCH):
            bag.read_indices(indices[first : first + BATCH])

    written = best(write)
    bag = holdall.Bag(path, threads=1, io="map")
    indices = np.random.default_rng(1).integers(0, COUNT, 20 * BATCH)
    ratio = sum(map(len, records)) / bag.stored_bytes
    times = written / COUNT, best(scan) / COUNT, best(scattered) / len(indices)
    return ratio, *(1e6 * took for took in times)


def main():
    print("data,dictionary,level,ratio,write,scan,random")
    with tempfile.TemporaryDirectory(prefix="holdall-bench-") as folder:
        for name, records in (("text", pieces()), ("flights", lines())):
            for size in SIZES:
                for level in LEVELS:
                    found = measure(records, os.path.join(folder, "records.bagz"), size, level)
                    numbers = ",".join(f"{number:.3f}" for number in found)
                    print(f"{name},{size},{level},{numbers}", flush=True)


if __name__ == "__main__":
    main()
