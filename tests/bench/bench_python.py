"""usage: bench_python.py [RECORDS]

Compares the Python module with the Bagz package, both called from Python, over the same bags, in
alternating rounds of one process. Prints microseconds per record (or per bag opened), and the ratio
of the medians: above 1, holdall is faster. No result is stored.

Goals: single records and opening as fast as Bagz; batches and appends 1.5 times, iteration 2 times
as fast; batches on two Python threads 1.8 times as fast as on one, each with threads=1. The module
must be in PYTHONPATH. HOLDALL_BENCH_ROUNDS is the number of rounds (9).
"""

import os
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

import bagz

import holdall

RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ROUNDS = int(os.environ.get("HOLDALL_BENCH_ROUNDS", 9))
CHOSEN, AT_ONCE, OPENED = 20_000, 1000, 300


def timed(f):
    """Returns the seconds that a function takes."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def row(name, goal, n, ours, theirs):
    """Prints the times of two functions, which run in turns."""
    rounds = [(timed(ours), timed(theirs)) for _ in range(ROUNDS + 1)][1:]
    mine, other = (statistics.median(times) / n * 1e6 for times in zip(*rounds))
    reached = "reached" if other / mine >= goal else "not reached"
    print(f"{name:34} {mine:9.3f} {other:9.3f} {other / mine:6.2f}  goal {goal} {reached}")


def records(compressible):
    """Returns records of 20 to 400 bytes of text, or of 200 random bytes."""
    rng = random.Random(1)
    if not compressible:
        return [rng.randbytes(200) for _ in range(RECORDS)]
    vocabulary = [b"w%d" % rng.randrange(5000) for _ in range(5000)]
    return [b" ".join(rng.choices(vocabulary, k=rng.randrange(5, 80))) for _ in range(RECORDS)]


def write_ours(path, given):
    with holdall.BagWriter(path, "w") as writer:
        for record in given:
            writer.append(record)
        writer.commit()


def write_theirs(path, given):
    with bagz.Writer(path) as writer:
        for record in given:
            writer.write(record)


def each(bag, indices):
    for i in indices:
        bag[i]


def opened(open_bag):
    for _ in range(OPENED):
        bag = open_bag()
        len(bag)
        if hasattr(bag, "close"):
            bag.close()


def on_threads(n, read, batches):
    """Reads batches on n threads."""

    def some(k):
        for batch in batches[k::n]:
            read(batch)

    threads = [threading.Thread(target=some, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def compare(folder, name, given):
    path = str(folder / (name + ".bagz"))
    write_theirs(path, given)
    ours, theirs = holdall.Bag(path, io="map", threads=1), bagz.Reader(path)
    both = holdall.Bag(path, io="map")
    indices = random.Random(2).choices(range(RECORDS), k=CHOSEN)
    batches = [indices[i : i + AT_ONCE] for i in range(0, CHOSEN, AT_ONCE)]
    assert ours.__getitems__(batches[0]) == theirs.read_indices(batches[0])

    print(f"\n{name}: {RECORDS} records; holdall, Bagz in us, ratio")
    row("bag[i]", 1, CHOSEN, lambda: each(ours, indices), lambda: each(theirs, indices))
    for label, bag in (("1 thread", ours), ("all threads", both)):
        row(
            f"__getitems__ of {AT_ONCE}, {label}",
            1.5,
            CHOSEN,
            lambda bag=bag: [bag.__getitems__(batch) for batch in batches],
            lambda: [theirs.read_indices(batch) for batch in batches],
        )
    row("iteration", 2, RECORDS, lambda: list(both), lambda: list(theirs))
    written = given[:CHOSEN]
    row(
        "append and commit",
        1.5,
        len(written),
        lambda: write_ours(str(folder / "ours.bagz"), written),
        lambda: write_theirs(str(folder / "theirs.bagz"), written),
    )
    row(
        "open, len, close",
        1,
        OPENED,
        lambda: opened(lambda: holdall.Bag(path, io="map")),
        lambda: opened(lambda: bagz.Reader(path)),
    )
    row(
        "batches, 2 Python threads, 1",
        1.8,
        CHOSEN,
        lambda: on_threads(2, ours.read_indices, batches),
        lambda: on_threads(1, ours.read_indices, batches),
    )


def main():
    print(holdall.version(), f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="holdall-bench-") as folder:
        for name in ("text", "random"):
            compare(pathlib.Path(folder), name, records(name == "text"))


if __name__ == "__main__":
    main()
