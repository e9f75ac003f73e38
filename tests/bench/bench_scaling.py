"""Measures the cost of opening containers, of reading a piece, and of adding one with a commit, as
they grow from 10 pieces to 10 million; and how reads scale with threads. HOLDALL_LIB is the
library, HOLDALL_BENCH_MOST the maximum number of pieces (default 10,000,000).

A piece is a record or a chunk of 16 bytes, so that the cost of the container dominates. A dataset
has a file per chunk, and ends at 100,000. The slope is that of both logarithms: 0 if the cost is
independent of the size, 1 if it grows in proportion to the container.

For more threads than this machine has, the schedule of the library's pool is simulated: the threads
take the chunks in order, one at a time, each for the time that the chunk took on one thread. Shared
memory bandwidth and the waking of threads are not simulated. The measured values for 1 and 2
threads are shown beside the simulated ones.
"""

import heapq
import os
import shutil
import statistics

import common
from from_python import Pieces
from report import slope
from rows import ROUNDS, Part, curve, goal, publish

MOST = int(os.environ.get("HOLDALL_BENCH_MOST", 10_000_000))
LIMITS = dict.fromkeys(("bag", "bagz", "schunk", "frame", "array"), MOST)
LIMITS["dataset"] = min(MOST, 100_000)
NAMES = {
    "bag": "bag",
    "bagz": "bag, zstd",
    "schunk": "Bloscpack",
    "frame": "frame",
    "array": "b2nd",
    "dataset": "bcolz",
}
WHAT = {
    "open": "open and close",
    "read": "read a random piece",
    "grow": "add a piece and commit, not synced",
    "durable": "add a piece and commit, durable",
}
LANGUAGES = {"C": "", "Python": ", from Python"}  # added to names
READS, FEW = 200, 5
MIB, THREADS, MEASURED = 128, (1, 2, 4, 8, 16, 32, 64), (1, 2)
CODECS = dict(LZ4=common.CODECS["lz4"], zstd=common.CODECS["zstd"])
# seconds; the limits of a raw bag have to move
SLOPE = 0.1
GOALS = {
    "open": dict.fromkeys(LIMITS, 100e-6),
    "grow": {"bagz": 200e-6, "frame": 1e-3, "array": 1e-3},
}


def sizes(most):
    n = 10
    while n <= most:
        yield n
        n *= 10


def median(caller, times, *command):
    """The seconds per piece."""
    return (
        statistics.median(caller.time(*command[:3], times, *command[3:]) for _ in range(ROUNDS))
        / times
    )


def of_kind(ours, callers, folder, kind):
    """By operation and language, pairs of the number of pieces and microseconds."""
    found = {(what, language): [] for what in WHAT for language in callers}
    for n in sizes(LIMITS[kind]):
        path = folder / (f"{kind}.{kind}" if kind.startswith("bag") else kind)
        ours.time("make", kind, path, n)
        for language, caller in callers.items():
            took = {
                "open": median(caller, FEW, "open", kind, path),
                "read": median(caller, READS, "read", kind, path),
                # each round adds a few pieces
                "grow": median(caller, FEW, "grow", kind, path, 0),
                "durable": median(caller, FEW, "grow", kind, path, 1),
            }
            for what, seconds in took.items():
                found[what, language].append((n, seconds * 1e6))
        shutil.rmtree(path) if path.is_dir() else common.remove(path)
    return found


def simulated(seconds, threads):
    """Returns the time at which the last chunk is done."""
    free = [0.0] * threads
    for took in seconds:
        heapq.heapreplace(free, free[0] + took)
    return max(free)


def scaled(ours, folder, codec):
    """The speedup by threads: simulated, and measured."""
    path = folder / f"walk.{codec}"
    ours.time("walk", path, CODECS[codec], MIB)
    rounds = {
        t: [list(map(float, ours.ask("pieces", path, t))) for _ in range(ROUNDS)] for t in MEASURED
    }
    whole = {t: statistics.median(r[0] for r in rounds[t]) for t in MEASURED}
    each = [statistics.median(chunk) for chunk in list(zip(*rounds[1]))[1:]]
    yield f"{codec}, simulated", [(t, simulated(each, 1) / simulated(each, t)) for t in THREADS]
    yield f"{codec}, measured", [(t, whole[1] / whole[t]) for t in MEASURED]


def curves(found):
    """A curve of each operation and language, with a line of each kind."""
    for what, text in WHAT.items():
        for language in LANGUAGES:
            by = {NAMES[kind]: found[kind][what, language] for kind in found}
            yield curve(text + LANGUAGES[language], "µs", "pieces", by)


def goals(found):
    for what, goals in GOALS.items():
        for kind, seconds in goals.items():
            for language, text in LANGUAGES.items():
                points = found[kind][what, language]
                most, took = points[-1]
                yield goal(
                    took < seconds * 1e6 and slope(points) < SLOPE,
                    f"{WHAT[what]}, {NAMES[kind]} of {most:,} pieces{text}: {took:,.0f} µs, slope "
                    f"{slope(points):.2f} (goal {seconds * 1e6:g} µs and {SLOPE:g})",
                )


def compare(folder):
    ours = common.Ours("scaling.c", folder)
    others = common.Others(ours)
    callers = {"C": ours, "Python": Pieces()}
    found = {kind: of_kind(ours, callers, folder, kind) for kind in LIMITS}
    threads = dict(line for codec in CODECS for line in scaled(ours, folder, codec))
    return Part(
        "Scaling: size of containers and number of threads",
        ours.version,
        {},
        [others.said(), f"pieces of 16 bytes; one thread; {MIB} chunks of 1 MiB for the threads"],
        [*curves(found), curve("read a frame", "times as fast", "threads", threads), *goals(found)],
    )


if __name__ == "__main__":
    publish(compare, "scaling")
