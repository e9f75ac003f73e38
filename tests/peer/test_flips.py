"""Changes one random byte in a bag with checksums, or truncates it: no result of a read may be
silently wrong.

Prints the numbers beside those of the Bagz package on the same files.
"""

import collections
import os
import pathlib
import pickle
import random
import resource
import shutil
import sys
import tempfile
import unittest

import bagz

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
FLIPS = int(os.environ.get("HOLDALL_FLIPS", 100))
CUTS = int(os.environ.get("HOLDALL_CUTS", 30))
RECORDS = 1000
VOCABULARY = (
    "the of and sea wind stone river light hold carry open close north water seven page".split()
)


def make_records():
    rng = random.Random(1)
    text = (" ".join(rng.choices(VOCABULARY, k=60)).encode() for _ in range(RECORDS))
    return [t[: rng.randrange(150, 250)] for t in text]


WANT = make_records()
SOME = random.Random(2).sample(range(RECORDS), 300) + [7, 7]


class Found:
    """The result of one way of reading one changed file: records that were wrong, and refused."""

    def __init__(self):
        self.wrong, self.refused, self.size_wrong = 0, 0, False

    def records(self, positions, got):
        self.wrong += sum(g != WANT[i] for i, g in zip(positions, got, strict=True))

    def verdict(self):
        if self.wrong or self.size_wrong:
            return "silently wrong"
        return "error" if self.refused else "right"


def each(found, size, read, error):
    found.size_wrong = size != RECORDS
    for i in range(min(size, RECORDS)):
        try:
            got = read(i)
        except error:
            found.refused += 1
        else:
            found.wrong += got != WANT[i]


def many(found, size, read, positions, error):
    found.size_wrong = size != RECORDS
    if found.size_wrong:
        return
    try:
        found.records(positions, read())
    except error:
        found.refused += len(positions)


def by_ours(path, io):
    """Returns a `Found` for each way."""
    ways = {
        name: Found()
        for name in ("read", "read_range", "read_indices", "skipping damage", "verify")
    }
    try:
        with h.Bag(path, io=io) as bag:
            n = len(bag)
            each(ways["read"], n, bag.read, h.Error)
            many(ways["read_range"], n, bag.read_range, range(RECORDS), h.Error)
            many(ways["read_indices"], n, lambda: bag.read_indices(SOME), SOME, h.Error)
        with h.Bag(path, io=io, skip_damaged=1) as bag:
            found = ways["skipping damage"]
            got = bag.read_range()
            found.size_wrong = len(got) != RECORDS
            found.refused = len(got.damaged)
            undamaged = [i for i in range(len(got)) if i not in got.damaged]
            found.wrong = sum(got[i] != WANT[i] for i in undamaged) + sum(
                got[i] != b"" for i in got.damaged
            )
    except h.Error:
        for found in ways.values():
            found.refused = RECORDS
    v = h.Verified(path, io=io)
    found = ways["verify"]
    if v.error:
        found.refused = max(v.corrupt, 1)
    else:
        # it reports all records as intact, so they must be
        found.wrong = any(
            ways[w].verdict() != "right" for w in ("read", "read_range", "read_indices")
        )
        found.size_wrong = (v.intact, v.corrupt, v.unchecked) != (RECORDS, 0, 0)
    return ways


def theirs_here(path):
    ways = {name: Found() for name in ("r[i]", "read()", "read_indices")}
    try:
        reader = bagz.Reader(str(path))
        n = len(reader)
        each(ways["r[i]"], n, reader.__getitem__, Exception)
        many(ways["read()"], n, reader.read, range(RECORDS), Exception)
        many(ways["read_indices"], n, lambda: reader.read_indices(SOME), SOME, Exception)
    except Exception:
        for found in ways.values():
            found.refused = RECORDS
    return ways


def by_theirs(path):
    """Like `by_ours`, in a process of its own, because the package may abort on corrupt files.
    None: it did."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # the message of an abort, and its core, are not needed
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open(ends[1], "wb") as f:
                pickle.dump(theirs_here(path), f)
        finally:
            os._exit(0)
    os.close(ends[1])
    with open(ends[0], "rb") as f:
        said = f.read()
    os.waitpid(child, 0)
    return pickle.loads(said) if said else None


def flipped(rng, original):
    at, bits = rng.randrange(len(original)), rng.randrange(1, 256)
    return (at, bits), original[:at] + bytes([original[at] ^ bits]) + original[at + 1 :]


def cut(rng, original):
    # an empty file is a bag without records
    n = rng.choice((rng.randrange(1, len(original)), len(original) - rng.randrange(1, 20)))
    return n, original[:n]


class Flips(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-flips-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def flips(self, name, changed):
        self.damage(name, changed, "flips", FLIPS, flipped)
        self.damage(name, changed, "cuts", CUTS, cut)

    def damage(self, name, changed, what, times, hurt):
        """Corrupts the file `changed` of a bag, so many times."""
        path = self.folder / name
        with h.Writer(path, h.REPLACE, durability=0) as w:
            w.append_many(WANT)
            w.commit()
        self.assertEqual({*by_verdicts(by_ours(path, h.IO_READ))}, {"right"})
        rng = random.Random(f"{SEED} {what} {changed}")
        target = self.folder / changed
        original = target.read_bytes()
        rows = collections.defaultdict(collections.Counter)
        for n in range(times):
            at, damaged = hurt(rng, original)
            with self.subTest(what=what, file=changed, n=n, at=at, seed=SEED):
                target.write_bytes(damaged)
                found = {}
                for io, how in ((h.IO_READ, ""), (h.IO_MAP, ", mapped")):
                    found.update(
                        {f"holdall, {way}{how}": f for way, f in by_ours(path, io).items()}
                    )
                ours = [way for way, f in found.items() if f.verdict() == "silently wrong"]
                theirs = by_theirs(path)
                crashed = {f"bagz, {way}": None for way in ("r[i]", "read()", "read_indices")}
                found.update(
                    crashed if theirs is None else {f"bagz, {way}": f for way, f in theirs.items()}
                )
                for way, f in found.items():
                    rows[way]["crash" if f is None else f.verdict()] += 1
                    if f and f.verdict() == "silently wrong":
                        rows[way]["wrong records"] += f.wrong
                    elif f and f.verdict() == "error":
                        rows[way]["refused records"] += f.refused
                self.assertEqual(ours, [], "silently wrong")
        self.table(f"{times} {what} in {changed}", rows)

    def table(self, title, rows):
        columns = ("right", "error", "silently wrong", "crash")
        print(f"\n{title}, {RECORDS} records", file=sys.stderr)
        print(
            f"| way | {' | '.join(columns)} | records refused an error | wrong records in all |",
            file=sys.stderr,
        )
        print("| --- |" + " --: |" * (len(columns) + 2), file=sys.stderr)
        for way, row in rows.items():
            if row == rows.get(way + ", mapped"):
                way += " (mapped: the same)"
            elif way.endswith(", mapped") and row == rows[way.removesuffix(", mapped")]:
                continue
            mean = row["refused records"] / max(row["error"], 1)
            print(
                f"| {way} | {' | '.join(str(row[c]) for c in columns)} | {mean:.1f} | "
                f"{row['wrong records']} |",
                file=sys.stderr,
            )

    def test_zstd_bags_are_never_silently_wrong(self):
        self.flips("x.bagz", "x.bagz")

    def test_uncompressed_bags_are_never_silently_wrong(self):
        self.flips("x.bag", "x.bag")

    def test_corrupt_checksum_files_are_never_silently_wrong(self):
        self.flips("x.bag", "checksums.x.bag")


def by_verdicts(ways):
    return (f.verdict() for f in ways.values())


def setUpModule():
    print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
