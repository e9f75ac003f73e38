"""Kills a writer with SIGKILL while it appends to a superchunk, or overwrites it, and commits: the
complete content is that of the last returned commit, or of the one in progress."""

import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import holdall_c as h
import killing
import theirs
from killing import M64, Kill, check_found, kill_one

TRIALS = int(os.environ.get("HOLDALL_KILLS", 30))
KILLS_A_FILE = 6
CHUNK = 32768


def mix(z):
    """Mixes a number, or an array of numbers."""
    if isinstance(z, int):
        return killing.mix(z)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def values(start, n, k):
    """Items as in kill_schunk.c."""
    i = np.arange(start, start + n, dtype="u8")
    noise = np.uint64(0xFFF if k % 5 else 0xFFFFFFFFFF)
    return (
        np.uint64(k << 48 & M64)
        ^ (i << np.uint64(12))
        ^ (mix(i * np.uint64(0x9E3779B97F4A7C15) + np.uint64(k)) & noise)
    )


class Draws:
    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = self.state + 0x9E3779B97F4A7C15 & M64
        return mix(self.state)


class Appended:
    """Content by the number of items. None: no file."""

    first = None

    def at(self, n):
        return values(0, n, 1)

    def go_on(self, s, n, rng):
        """Appends; returns the new state."""
        more = rng.randrange(1, 5000)
        s.append(values(n, more, 1).tobytes())
        return n + more


class Edited:
    """Content by the number of the last commit."""

    first = 0

    def __init__(self, seed, items):
        self.seed = seed
        self.number, self.content = 0, values(0, items, 0)
        self.start = self.content.copy()

    def writes(self, k):
        draws, all = Draws(mix(self.seed + k & M64)), len(self.start)
        for _ in range(1 + draws.next() % 3):
            at, most = draws.next() % all, 50 if draws.next() % 4 else 9000
            n = min(1 + draws.next() % most, all - at)
            yield at, values(at, n, k)

    def at(self, k):
        if k < self.number:
            self.number, self.content = 0, self.start.copy()
        while self.number < k:
            self.number += 1
            for at, items in self.writes(self.number):
                self.content[at : at + len(items)] = items
        return self.content

    def go_on(self, s, k, rng):
        for at, items in self.writes(k + 1):
            s.write(8 * at, items.tobytes())
        return k + 1


class File:
    """A superchunk whose writers are killed again and again. `state` is the number of its last
    commit."""

    def __init__(self, test, what, rng):
        self.test, self.what, self.rng = test, what, rng
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.path = self.folder / "x.blp"
        self.codec = rng.choice((h.CODEC_LZ4, h.CODEC_ZSTD, h.CODEC_BLOSCLZ))
        self.sum = rng.choice((h.CHECKSUM_NONE, h.CHECKSUM_CRC32, h.CHECKSUM_SHA256))
        self.offsets, self.spare = rng.random() < 0.7, rng.choice((0, 100, 2000))
        self.seed = rng.getrandbits(62)
        self.model = (
            Appended() if what == "append" else Edited(self.seed, rng.randrange(5000, 100_000))
        )
        self.state = self.model.first
        if what == "edit":
            self.make()

    def __repr__(self):
        return (
            f"{self.what}, codec {self.codec}, sum {self.sum}, offsets {self.offsets}, spare "
            f"{self.spare}"
        )

    def make(self):
        options = dict(
            codec=self.codec,
            checksum=self.sum,
            offsets=int(self.offsets),
            chunk_bytes=CHUNK,
            spare_bytes=self.spare,
        )
        with h.Schunk.create(self.path, 8, **options) as s:
            s.append(self.model.at(0).tobytes())
            s.set_meta(b'{"number":0}')
            s.commit()

    def kill_one(self):
        rng = self.rng
        seed = self.seed if self.what == "edit" else rng.getrandbits(62)
        durable = rng.random() < 0.6
        arguments = [
            self.path,
            self.what,
            seed,
            (self.state or 0) + 1,
            self.codec,
            self.sum,
            self.spare,
            int(self.offsets),
            int(durable),
        ]
        return kill_one(
            self.test, rng, arguments, 0.2, self.state, (self.state or 0) + (self.what == "edit")
        )

    def look(self, may_be):
        """Checks that the complete content is one of these states. Writes nothing."""
        for f in self.folder.iterdir():
            if f.name.endswith((".holdall-journal", ".holdall-new", ".holdall-part")):
                self.test.tally["left: *." + f.name.rpartition(".")[2]] += 1
        try:
            with h.Schunk(self.path, io=self.rng.choice((h.IO_READ, h.IO_MAP))) as s:
                got = s.read()
                number = json.loads(s.meta())["number"]
        except h.Error as e:
            if e.status != h.E_MISSING:
                raise
            self.test.assertIn(None, may_be, f"the file is gone: {e}")
            self.state = None
            return
        self.test.assertIn(number, may_be)
        self.test.assertTrue(
            self.model.at(number).tobytes() == got, f"the content is not that of {number}"
        )
        self.state = number
        check_found(self.test, self.path, may_be, self.state)

    def go_on(self):
        """A later writer continues; its commits are present, for bloscpack too."""
        s = (
            h.Schunk(self.path, h.APPEND, spare_bytes=self.spare)
            if self.state is not None
            else h.Schunk.create(self.path, 8, chunk_bytes=CHUNK)
        )
        with s:
            number = self.model.go_on(s, self.state or 0, self.rng)
            s.set_meta(b'{"number":%d}' % number)
            s.commit()
        self.look([number])
        found = theirs.Found(self.path)
        self.test.assertTrue(
            found.content == self.model.at(number).tobytes(), "bloscpack reads something else"
        )
        self.test.assertEqual(found.meta, {"number": number})
        left = {f.name for f in self.folder.iterdir() if not f.name.endswith(".holdall-lock")}
        self.test.assertEqual(left, {self.path.name})
        self.test.tally["later commits read back"] += 1


class KillSchunk(Kill):
    writer = "kill_schunk.c"

    def kill(self, what):
        self.trials(what, TRIALS, KILLS_A_FILE, 0.4, lambda number, rng: File(self, what, rng))

    def test_append_survives_kills(self):
        self.kill("append")

    def test_edit_survives_kills(self):
        self.kill("edit")


if __name__ == "__main__":
    unittest.main()
