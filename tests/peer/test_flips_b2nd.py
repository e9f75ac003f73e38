"""Changes one random byte in an array in a Blosc2 frame, or truncates it, in one file and in any
file of a folder: with checksums no result of a read may be silently wrong, and a repair makes
nothing wrong.

Prints the numbers beside those of the package blosc2 on the same files.
"""

import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h
from damage import alone, Found, table

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
FLIPS = int(os.environ.get("HOLDALL_FLIPS", 100))
CUTS = int(os.environ.get("HOLDALL_CUTS", 30))
SHAPE, CHUNKS, BLOCKS = (90, 40, 7), (32, 16, 7), (16, 8, 4)
WANT = np.round(100 + np.random.default_rng(1).standard_normal(SHAPE).cumsum(0), 2)
WANT[40:70, :20] = 0  # some chunks are not stored
NOTE = b"some texts, and others, " * 9
ATTRS = {"number": b"\x2a", "note": b"\xd9" + bytes([len(NOTE)]) + NOTE}
BOXES = [((a, b, c), (9, 5, 3)) for a in range(0, 81, 20) for b in range(0, 35, 11) for c in (0, 3)]
POINTS = [(i * 7 % 90, i * 11 % 40, i % 7) for i in range(60)]
CODECS = (h.CODEC_LZ4, h.CODEC_ZSTD, h.CODEC_BLOSCLZ, h.CODEC_NONE)
WAYS = ("shape and dtype", "read", "boxes", "points", "attributes", "verify", "skipping damage")
VERDICTS = ("right", "in part", "error", "silently wrong", "crash")


def box_of(at, n):
    return tuple(slice(a, a + k) for a, k in zip(at, n))


def whole(a):
    return a.read((0, 0, 0), a.shape, (1, 1, 1))


def by_ours(path, io):
    """Returns a `Found` for each way."""
    ways = {name: Found() for name in WAYS}
    for skip in (0, 1):
        try:
            with h.Array(path, io=io, skip_damaged=skip) as a:
                (skipping if skip else read)(a, ways)
        except h.Error:
            for way in WAYS[6:] if skip else WAYS[:5]:
                ways[way].refused += 1
    v = h.Verified(path, io=io)
    ways["verify"].refused = v.error is not None
    ways["verify"].wrong = v.error is None and (
        v.corrupt or any(ways[w].verdict() != "right" for w in WAYS[:5])
    )
    return ways


def read(a, ways):
    ways["shape and dtype"].take(
        lambda: (a.shape, np.dtype(a.dtype), a.chunk_shape, a.block_shape),
        (SHAPE, WANT.dtype, CHUNKS, BLOCKS),
    )
    ways["read"].take(lambda: whole(a), WANT.tobytes())
    for at, n in BOXES:
        ways["boxes"].take(lambda: a.read(at, n, (1, 1, 1)), WANT[box_of(at, n)].tobytes())
    ways["points"].take(lambda: a.read_points(POINTS), WANT[tuple(zip(*POINTS))].tobytes())
    for name, value in ATTRS.items():
        ways["attributes"].take(lambda: a.attr_get(name), value)


def skipping(a, ways):
    """Checks that everything not reported as corrupt is right."""
    found = ways["skipping damage"]
    for at, n in BOXES:
        got = a.read(at, n, (1, 1, 1))
        found.refused += a.damaged
        found.wrong += not a.damaged and got != WANT[box_of(at, n)].tobytes()


def by_theirs(path):
    """Returns "right", "error", "silently wrong" or "crash", in a process of its own."""

    def is_right():
        a = blosc2.open(str(path), mode="r")
        got = a[...]
        right = (got.shape, got.dtype, got.tobytes()) == (SHAPE, WANT.dtype, WANT.tobytes())
        right = right and all(
            np.array_equal(a[box_of(at, n)], WANT[box_of(at, n)]) for at, n in BOXES
        )
        right = right and (a.schunk.vlmeta["number"], a.schunk.vlmeta["note"]) == (
            42,
            NOTE.decode(),
        )
        return right

    return alone(is_right)


class Flips(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-flips-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "x.b2nd"

    def make(self, sparse, rng):
        """Creates the array in two commits; returns the files by name."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.unlink(missing_ok=True)
        options = dict(
            format=h.FORMAT_B2ND,
            chunk_shape=CHUNKS,
            block_shape=BLOCKS,
            sparse=sparse,
            codec=rng.choice(CODECS),
            durability=0,
        )
        with h.Array.create(self.path, WANT.dtype.str, SHAPE, **options) as a:
            a.write((0, 0, 0), (60, 40, 7), (1, 1, 1), WANT[:60].tobytes())
            a.commit()
            a.write((60, 0, 0), (30, 40, 7), (1, 1, 1), WANT[60:].tobytes())
            for name, value in ATTRS.items():
                a.attr_set(name, value)
            a.commit()
        for lock in self.folder.rglob("*.holdall-lock"):
            lock.unlink()
        self.assertEqual({f.verdict() for f in by_ours(self.path, h.IO_READ).values()}, {"right"})
        self.assertEqual(by_theirs(self.path), "right")
        return {f: f.read_bytes() for f in self.folder.rglob("*") if f.is_file()}

    def look(self, file, damaged, rows, repair):
        """Reads a corrupt file in every way."""
        file.write_bytes(damaged)
        wrong = []
        for io, how in ((h.IO_READ, ""), (h.IO_MAP, ", mapped")):
            for way, f in by_ours(self.path, io).items():
                rows[f"holdall, {way}{how}"][f.verdict()] += 1
                wrong += [way + how] if f.wrong else []
        rows["blosc2"][by_theirs(self.path)] += 1
        if repair:
            rows["holdall, repair"][self.repaired()] += 1
        self.assertEqual(wrong, [], "silently wrong")

    def repaired(self):
        """After any repair, no chunk and no attribute is wrong."""
        try:
            _, dropped = h.repair(self.path, durability=0)
        except h.Error as e:
            self.assertIn(
                e.status,
                (
                    h.E_FORMAT,
                    h.E_CHECKSUM,
                    h.E_CODEC,
                    h.E_VERSION,
                    h.E_UNSUPPORTED,
                    h.E_LIMIT,
                    h.E_MISSING,
                ),
                e,
            )
            return "error"
        v = h.Verified(self.path)
        self.assertEqual((v.error, v.faults), (None, []))
        with h.Array(self.path) as a:
            self.assertEqual((a.shape, np.dtype(a.dtype)), (SHAPE, WANT.dtype))
            got = np.frombuffer(whole(a), WANT.dtype).reshape(SHAPE)
            attrs = {name: a.attr_get(name) for name in ATTRS}
        for at in np.ndindex(*(-(-n // c) for n, c in zip(SHAPE, CHUNKS))):
            chunk = box_of([i * c for i, c in zip(at, CHUNKS)], CHUNKS)
            before = WANT[chunk].copy()
            before[max(0, 60 - chunk[0].start) :] = 0
            self.assertTrue(
                any(np.array_equal(got[chunk], was) for was in (WANT[chunk], before, before * 0)),
                f"chunk {at} after repair",
            )
        for name, value in attrs.items():
            self.assertIn(value, (ATTRS[name], None), name)
        right = np.array_equal(got, WANT) and attrs == ATTRS
        self.assertTrue(right or dropped, "something was silently lost")
        return "right" if right else "in part"

    def damage(self, sparse, what, many, damaged, small=False):
        """`damaged` makes corrupt bytes from a number, random numbers and intact bytes; `small`: of
        files that are not chunks."""
        rng, rows = random.Random(f"{SEED} {what} {sparse}"), collections.defaultdict(
            collections.Counter
        )
        files = self.make(sparse, rng)
        for number in range(many):
            file = rng.choice([f for f in files if not small or f.suffix != ".chunk"])
            bytes, how = damaged(number, rng, files[file])
            with self.subTest(
                what=what, number=number, file=file.name, how=how, sparse=sparse, seed=SEED
            ):
                repair = number % 4 == 0
                try:
                    self.look(file, bytes, rows, repair)
                finally:
                    if repair:
                        for there in [f for f in self.folder.rglob("*") if f.is_file()]:
                            there.unlink()
                        for name, intact in files.items():
                            name.write_bytes(intact)
                    file.write_bytes(files[file])
        table(
            f"{many} {what} {'in a folder' if sparse else 'in one file'} of "
            f"{sum(map(len, files.values()))} bytes",
            VERDICTS,
            rows,
        )

    def flips(self, what, position, small):
        def flipped(_, rng, intact):
            at, bits = position(rng, len(intact)), rng.randrange(1, 256)
            return intact[:at] + bytes([intact[at] ^ bits]) + intact[at + 1 :], (at, bits)

        for sparse in (0, 1):
            self.damage(sparse, what, FLIPS, flipped, small)

    def test_flips_are_never_silently_wrong(self):
        self.flips("flips anywhere", lambda rng, n: rng.randrange(n), False)

    def test_flips_in_header_and_trailer_are_never_silently_wrong(self):
        self.flips(
            "flips in header, index and trailer",
            lambda rng, n: rng.choice((rng.randrange(220), n - 1 - rng.randrange(500))),
            True,
        )

    def test_truncations_are_never_silently_wrong(self):
        def cut(number, rng, intact):
            # an empty file is an empty bag
            n = {0: 1, 1: len(intact) - 1 - number // 5}.get(
                number % 5, rng.randrange(1, len(intact))
            )
            return intact[:n], n

        for sparse in (0, 1):
            self.damage(sparse, "cuts", CUTS, cut)


def setUpModule():
    print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
