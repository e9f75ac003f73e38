"""Changes one random byte in a superchunk, or truncates it: no result of a read may be silently
wrong, and intact chunks stay readable.

Prints the numbers beside those of the package bloscpack on the same files.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile
import unittest

import numpy as np

import holdall_c as h
import theirs
from damage import alone, Found, table

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
FLIPS = int(os.environ.get("HOLDALL_FLIPS", 100))
CUTS = int(os.environ.get("HOLDALL_CUTS", 30))
CHUNK, LENGTH = 8192, 8192 * 9 + 4000
META = json.dumps({f"key {i}": "value " * i for i in range(4)}).encode()
WANT = np.round(
    100 + np.random.default_rng(1).standard_normal(LENGTH // 8 + 1).cumsum(), 2
).tobytes()[:LENGTH]
CHUNKS = [WANT[k : k + CHUNK] for k in range(0, LENGTH, CHUNK)]
CODECS = (h.CODEC_LZ4, h.CODEC_ZSTD, h.CODEC_BLOSCLZ, h.CODEC_ZLIB)


WAYS = ("read", "read_chunk", "metadata", "verify", "skipping damage")
VERDICTS = ("right", "in part", "error", "silently wrong", "crash")


def by_ours(path, io):
    """Returns a `Found` for each way, and the numbers of the chunks that are read right if corrupt
    ones are skipped."""
    ways = {name: Found() for name in WAYS}
    readable = set()
    try:
        with h.Schunk(path, io=io) as s:
            ways["read"].take(s.read, WANT)
            ways["read_chunk"].wrong = s.chunk_count != len(CHUNKS)
            for i, want in enumerate(CHUNKS):
                ways["read_chunk"].take(lambda: s.read_chunk(i), want)
                at = i * CHUNK + 100 * i
                ways["read"].take(lambda: s.read(at, 300), WANT[at : at + 300])
            ways["metadata"].take(s.meta, META)
    except h.Error:
        for way in WAYS[:3]:
            ways[way].refused += 1
    skipping(path, io, ways["skipping damage"], readable)
    verified(path, io, ways)
    return ways, readable


def skipping(path, io, found, readable):
    """Checks that everything not reported as corrupt, or as possibly corrupt, is right."""
    try:
        with h.Schunk(path, io=io, skip_damaged=1) as s:
            for i in range(s.chunk_count):
                got = s.read_chunk(i)
                right = i < len(CHUNKS) and got == CHUNKS[i]
                found.refused += s.damaged
                found.wrong += not right and not s.damaged
                if right:
                    readable.add(i)
    except h.Error:
        found.refused += 1


def verified(path, io, ways):
    """It reports all chunks as intact, so they must be."""
    v = h.Verified(path, io=io)
    if v.error:
        ways["verify"].refused += 1
    else:
        ways["verify"].wrong = (
            any(ways[w].verdict() != "right" for w in WAYS[:3])
            or v.corrupt
            or v.intact + v.unchecked != len(CHUNKS)
        )


def by_theirs(path):
    """Returns "right", "error", "silently wrong" or "crash", in a process of its own."""

    def is_right():
        content, meta = theirs.bloscpack.unpack_bytes_from_file(str(path))
        return content == WANT and meta == json.loads(META)

    return alone(is_right)


class Flips(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-flips-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "x.blp"

    def make(self, sum, rng, offsets=1):
        """Creates the file; returns its bytes, and the offsets of metadata, offsets, chunks and
        their end."""
        self.path.unlink(missing_ok=True)
        options = dict(
            checksum=sum,
            codec=rng.choice(CODECS),
            chunk_bytes=CHUNK,
            offsets=offsets,
            spare_chunks=4 if offsets else None,
            durability=0,
        )
        with h.Schunk.create(self.path, 8, **options) as s:
            s.set_meta(META)
            s.append(WANT)
            s.commit()
        ways, readable = by_ours(self.path, h.IO_READ)
        self.assertEqual({f.verdict() for f in ways.values()}, {"right"})
        self.assertEqual(readable, set(range(len(CHUNKS))))
        found = theirs.Found(self.path)
        first = found.positions[0]
        return (
            self.path.read_bytes(),
            (32, first - 8 * (len(CHUNKS) + 4) * offsets, first),
            [*found.positions, found.end],
        )

    def read(self, damaged, rows, compare):
        """Reads a corrupt file in every way; returns the chunks that could be read."""
        self.path.write_bytes(damaged)
        retained = None
        for io, how in ((h.IO_READ, ""), (h.IO_MAP, ", mapped")):
            ways, readable = by_ours(self.path, io)
            self.assertIn(retained, (None, readable))
            retained = readable
            for way, f in ways.items():
                rows[f"holdall, {way}{how}"][f.verdict()] += 1
            self.assertEqual(
                [w for w, f in ways.items() if f.verdict() == "silently wrong"],
                [],
                "silently wrong",
            )
        if compare:
            rows["bloscpack"][by_theirs(self.path)] += 1
        return retained

    def repaired(self, rows):
        """After any repair, no chunk is wrong."""
        try:
            h.repair(self.path, durability=0)
        except h.Error as e:
            self.assertIn(
                e.status, (h.E_FORMAT, h.E_CHECKSUM, h.E_VERSION, h.E_UNSUPPORTED, h.E_LIMIT), e
            )
            rows["holdall, repair"]["error"] += 1
            return
        v = h.Verified(self.path)
        self.assertEqual((v.error, v.faults), (None, []))
        with h.Schunk(self.path) as s:
            chunks = [s.read_chunk(i) for i in range(s.chunk_count)]
            self.assertIn(s.meta(), (META, None))
        for i, got in enumerate(chunks):
            self.assertTrue(got == CHUNKS[i] or not any(got), f"chunk {i} after repair")
        rows["holdall, repair"]["right" if chunks == CHUNKS else "in part"] += 1
        self.path.unlink()

    def flips(self, sum, rng, region, rows, compare=True, offsets=1, flips=None):
        """Changes a byte at one of the positions. At most one chunk is lost if the byte is in a
        chunk."""
        original, begin, ends = self.make(sum, rng, offsets)
        from_, to = region(begin, ends)
        flips = flips or FLIPS
        for flip in range(flips):
            at, bits = rng.randrange(from_, to), rng.randrange(1, 256)
            with self.subTest(sum=sum, flip=flip, at=at, bits=bits, begin=begin, seed=SEED):
                retained = self.read(
                    original[:at] + bytes([original[at] ^ bits]) + original[at + 1 :], rows, compare
                )
                if begin[2] <= at:
                    self.assertGreaterEqual(len(retained), len(CHUNKS) - 1, "other chunks")
                    self.assertEqual(
                        retained, set(range(len(CHUNKS))) - {sum_of(e <= at for e in ends[1:])}
                    )
                elif begin[1] <= at or 64 <= at or offsets and (at == 5 or 16 <= at):
                    self.assertEqual(len(retained), len(CHUNKS), "no chunk was damaged")
                # otherwise the checksum type, or, without offsets, the chunk sizes
                if flip % 4 == 0:
                    self.repaired(rows)

    def test_flips_are_never_silently_wrong(self):
        rows = collections.defaultdict(collections.Counter)
        for sum in h.CHECKSUMS[1:]:
            self.flips(
                sum, random.Random(f"{SEED} flips {sum}"), lambda begin, ends: (0, ends[-1]), rows
            )
        table(f"{FLIPS} flips with each checksum, {len(CHUNKS)} chunks", VERDICTS, rows)

    def test_flips_in_header_and_offsets_are_never_silently_wrong(self):
        rows = collections.defaultdict(collections.Counter)
        for sum in (h.CHECKSUM_CRC32, h.CHECKSUM_SHA256):
            rng = random.Random(f"{SEED} head {sum}")
            self.flips(sum, rng, lambda begin, ends: (0, 32), rows)
            self.flips(sum, rng, lambda begin, ends: (begin[1], begin[2]), rows)
            self.flips(sum, rng, lambda begin, ends: (0, 32), rows, offsets=0)
        table(f"{6 * FLIPS} flips in headers and offsets", VERDICTS, rows)

    def test_flips_in_metadata_are_never_silently_wrong(self):
        rows = collections.defaultdict(collections.Counter)
        rng = random.Random(f"{SEED} metadata")
        self.flips(h.CHECKSUM_CRC32, rng, lambda begin, ends: (32, begin[1]), rows)
        self.flips(h.CHECKSUM_CRC32, rng, lambda begin, ends: (32, 64), rows)
        table(f"{2 * FLIPS} flips in metadata and their header", VERDICTS, rows)

    def test_truncations_are_never_silently_wrong(self):
        rows = collections.defaultdict(collections.Counter)
        for sum in h.CHECKSUMS:
            rng = random.Random(f"{SEED} cuts {sum}")
            original, begin, ends = self.make(sum, rng)
            for cut in range(CUTS):
                n = rng.randrange(len(original)) if cut else ends[-1] - 1
                with self.subTest(sum=sum, n=n, begin=begin, seed=SEED):
                    retained = self.read(original[:n], rows, compare=True)
                    self.assertEqual(
                        retained,
                        {i for i, e in enumerate(ends[1:]) if e <= n},
                        "chunks before the end",
                    )
                    if cut % 4 == 0:
                        self.repaired(rows)
        table(f"{CUTS} cuts with each checksum and none", VERDICTS, rows)


def sum_of(found):
    return sum(map(int, found))


def setUpModule():
    print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
