"""Changes one random byte in any file of a dataset, or truncates it: with checksums no result of a
read may be silently wrong; without them there is no crash, and an inconsistent structure is an
error.

Prints the numbers beside those of the package bcolz-zipline on the same files.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

import bcolz
import numpy as np

import holdall_c as h
from damage import alone, Found, table

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
FLIPS = int(os.environ.get("HOLDALL_FLIPS", 100))
CUTS = int(os.environ.get("HOLDALL_CUTS", 30))
CHUNK, ROWS = 8192, 9500
CODECS = (h.CODEC_LZ4, h.CODEC_ZLIB, h.CODEC_BLOSCLZ, h.CODEC_NONE)
ATTRS = {"number": b"[1, 2, 3]", "text": b'"some texts, and others"'}
NOISE = np.random.default_rng(1)
COLUMNS = {
    "a": np.round(100 + NOISE.standard_normal(ROWS).cumsum(), 2),
    "b": np.arange(ROWS, dtype="<i4") ** 2,
    "c": np.array([b"word %d" % (i % 71) for i in range(ROWS)], "|S8"),
    "d": NOISE.integers(0, 9, (ROWS, 3)).astype("<i2"),
}
HEADERS = 32  # of the file of a chunk, and of the chunk in it


WAYS = ("read", "attributes", "verify", "skipping damage")
VERDICTS = ("right", "error", "silently wrong", "crash")


def read_array(a, want, found):
    found.wrong += (a.shape, np.dtype(a.dtype)) != (want.shape, want.dtype)
    if a.shape != want.shape:
        return
    box = lambda at, n: ([at, *[0] * (want.ndim - 1)], (n, *want.shape[1:]), [1] * want.ndim)
    found.take(lambda: a.read(*box(0, len(want))), want.tobytes())
    for at in range(0, len(want) - 30, 511):
        found.take(lambda: a.read(*box(at, 30)), want[at : at + 30].tobytes())


def by_ours(path, open, io):
    """Returns a `Found` for each way."""
    ways = {name: Found() for name in WAYS}
    for way, skip in (("read", 0), ("skipping damage", 1)):
        try:
            with open(path, io=io, skip_damaged=skip) as found:
                columns = (
                    [(found, COLUMNS["a"])]
                    if isinstance(found, h.Array)
                    else [(found[name], COLUMNS[name]) for name in found.names]
                )
                ways[way].wrong += isinstance(found, h.Table) and found.names != list(COLUMNS)
                for a, want in columns:
                    (skipping if skip else read_array)(a, want, ways[way])
                if not skip:
                    for name, value in ATTRS.items():
                        ways["attributes"].take(lambda: found.attr_get(name), value)
        except h.Error:
            ways[way].refused += 1
            ways["attributes"].refused += not skip
    v = h.Verified(path, io=io)
    ways["verify"].refused = v.error is not None
    ways["verify"].wrong = v.error is None and any(ways[w].verdict() != "right" for w in WAYS[:2])
    return ways


def skipping(a, want, found):
    """Checks that everything not reported as corrupt is right."""
    if a.shape != want.shape or np.dtype(a.dtype) != want.dtype:
        found.wrong += 1
        return
    for at in range(0, len(want) - 99, 99):
        got = a.read([at, *[0] * (want.ndim - 1)], (99, *want.shape[1:]), [1] * want.ndim)
        found.refused += a.damaged
        found.wrong += not a.damaged and got != want[at : at + 99].tobytes()


def by_theirs(path, is_table):
    """Returns "right", "error", "silently wrong" or "crash", in a process of its own."""

    def is_right():
        found = bcolz.open(str(path), mode="r")
        same = lambda got, want: (got.dtype, got.shape, got.tobytes()) == (
            want.dtype,
            want.shape,
            want.tobytes(),
        )
        if is_table:
            right = list(found.names) == list(COLUMNS) and all(
                same(found[name][:], want) for name, want in COLUMNS.items()
            )
        else:
            right = same(found[:], COLUMNS["a"])
        return right and {k: json.loads(v) for k, v in ATTRS.items()} == found.attrs.getall()

    return alone(is_right)


class Flips(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-flips-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "x.bcolz"

    def make(self, sum, rng, is_table):
        """Returns the files by name."""
        shutil.rmtree(self.path, ignore_errors=True)
        options = dict(checksum=sum, codec=rng.choice(CODECS), chunk_bytes=CHUNK, durability=0)
        if is_table:
            dtypes = {
                name: str((want.dtype.str, want.shape[1:])) if want.ndim > 1 else want.dtype.str
                for name, want in COLUMNS.items()
            }
            made = h.Table.create(self.path, dtypes, **options)
        else:
            made = h.Array.create(
                self.path, COLUMNS["a"].dtype.str, (0,), format=h.FORMAT_BCOLZ, **options
            )
        with made:
            if is_table:
                made.append(ROWS, [want.tobytes() for want in COLUMNS.values()])
            else:
                made.append(0, ROWS, COLUMNS["a"].tobytes())
            for name, value in ATTRS.items():
                made.attr_set(name, value)
            made.commit()
        for lock in self.path.rglob("*.holdall-lock"):
            lock.unlink()
        ways = by_ours(self.path, h.Table if is_table else h.Array, h.IO_READ)
        self.assertEqual({f.verdict() for f in ways.values()}, {"right"})
        self.assertEqual(by_theirs(self.path, is_table), "right")
        return {f: f.read_bytes() for f in self.path.rglob("*") if f.is_file()}

    def read(self, file, damaged, rows, is_table):
        """Reads a corrupt file in every way; returns the results."""
        intact = file.read_bytes()
        file.write_bytes(damaged)
        verdicts = collections.Counter()
        try:
            for io, how in ((h.IO_READ, ""), (h.IO_MAP, ", mapped")):
                for way, f in by_ours(self.path, h.Table if is_table else h.Array, io).items():
                    rows[f"holdall, {way}{how}"][f.verdict()] += 1
                    verdicts[f.verdict()] += 1
            rows["bcolz"][by_theirs(self.path, is_table)] += 1
        finally:
            file.write_bytes(intact)
        return verdicts

    def flips(self, sum, rng, rows, is_table, small):
        """Changes a byte; `small`: of the files that are not chunks."""
        files = {
            f: b
            for f, b in self.make(sum, rng, is_table).items()
            if not small or f.suffix != ".blp"
        }
        names = list(files)
        for flip in range(FLIPS):
            file = (
                rng.choice(names)
                if small
                else rng.choices(names, [len(b) for b in files.values()])[0]
            )
            intact = files[file]
            at, bits = rng.randrange(len(intact)), rng.randrange(1, 256)
            with self.subTest(
                sum=sum,
                flip=flip,
                file=str(file.relative_to(self.path)),
                at=at,
                bits=bits,
                seed=SEED,
            ):
                found = self.read(
                    file,
                    intact[:at] + bytes([intact[at] ^ bits]) + intact[at + 1 :],
                    rows,
                    is_table,
                )
                if sum != h.CHECKSUM_NONE or file.name in ("sizes", "__rootdirs__"):
                    self.assertEqual(found["silently wrong"], 0)

    def cuts(self, sum, rng, rows, is_table):
        files = self.make(sum, rng, is_table)
        for cut in range(CUTS):
            file = rng.choice(list(files))
            size = len(files[file])
            n = {0: 0, 1: max(0, size - 1 - cut // 5)}.get(cut % 5, rng.randrange(size))
            with self.subTest(sum=sum, file=str(file.relative_to(self.path)), n=n, seed=SEED):
                found = self.read(file, files[file][:n], rows, is_table)
                if (
                    n or sum != h.CHECKSUM_NONE or file.name != "__attrs__"
                ):  # bcolz leaves empty files
                    self.assertEqual(found["silently wrong"], 0)

    def every_way(self, is_table):
        what = "a table" if is_table else "an array"
        for checksums, which in (
            ((h.CHECKSUM_CRC32, h.CHECKSUM_SHA256), "with"),
            ((h.CHECKSUM_NONE,), "without"),
        ):
            for small, where in ((False, "anywhere"), (True, "in files that are no chunks")):
                rows = collections.defaultdict(collections.Counter)
                for sum in checksums:
                    self.flips(
                        sum,
                        random.Random(f"{SEED} flips {sum} {small} {is_table}"),
                        rows,
                        is_table,
                        small,
                    )
                table(
                    f"{what} {which} checksums, {FLIPS * len(checksums)} flips {where}",
                    VERDICTS,
                    rows,
                )
            rows = collections.defaultdict(collections.Counter)
            for sum in checksums:
                self.cuts(sum, random.Random(f"{SEED} cuts {sum} {is_table}"), rows, is_table)
            table(f"{what} {which} checksums, {CUTS * len(checksums)} cuts", VERDICTS, rows)

    def test_corrupt_arrays_are_never_silently_wrong(self):
        self.every_way(False)

    def test_corrupt_tables_are_never_silently_wrong(self):
        self.every_way(True)


def setUpModule():
    print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
