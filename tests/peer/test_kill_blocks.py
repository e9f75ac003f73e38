"""Kills a writer with SIGKILL while it appends and changes chunks of blocks of any length, and commits:
the blocks are those of the last returned commit, or of the one in progress."""

import os
import pathlib
import tempfile
import unittest

import blosc2

import holdall_c as h
from killing import Kill, check_found, kill_one, mix
from test_kill_schunk import Draws, values

TRIALS = int(os.environ.get("HOLDALL_KILLS", 30))
KILLS_A_FILE = 6


def made(k):
    """The blocks of chunk k, as in kill_blocks.c."""
    draws = Draws(mix(k))
    count = 1 + draws.next() % 12
    return [values(i, 1 + draws.next() % 300, k).tobytes() for i in range(count)]


class Frame:
    """A frame whose writers are killed again and again. `state` is the number of its chunks; None: there
    is no file."""

    def __init__(self, test, rng):
        self.test, self.rng, self.state = test, rng, None
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.path = self.folder / "x.b2frame"
        self.sparse = rng.randrange(2)
        self.codec = rng.choice((h.CODEC_LZ4, h.CODEC_ZSTD, h.CODEC_BLOSCLZ))
        self.sum = rng.choice((h.CHECKSUM_NONE, h.CHECKSUM_CRC32))
        self.expected = []

    def __repr__(self):
        return f"sparse {self.sparse}, codec {self.codec}, sum {self.sum}"

    def kill_one(self):
        durable = int(self.rng.random() < 0.6)
        arguments = [self.path, self.sparse, self.codec, self.sum, durable]
        return kill_one(self.test, self.rng, arguments, 0.2, self.state, self.state or 0)

    def content(self, n):
        """The blocks of n chunks, all but the first item."""
        self.expected += [made(k) for k in range(len(self.expected), n)]
        return self.expected[:n]

    def look(self, may_be):
        """Checks that the complete content is one of these states. Writes nothing."""
        try:
            with h.Schunk(self.path) as s:
                n = s.chunk_count
                found = [s.blocks(k) for k in range(n)]
        except h.Error as e:
            if e.status != h.E_MISSING:
                raise
            self.test.assertIn(None, may_be, f"the file is gone: {e}")
            self.state = None
            return
        self.test.assertIn(n, may_be)
        self.check(found)
        self.state = n
        check_found(self.test, self.path, may_be, self.state)

    def check(self, found):
        first, n = found[0][0], len(found)
        self.test.assertEqual(int.from_bytes(first[:8], "little"), n)
        found = [[first[8:], *found[0][1:]], *found[1:]]
        (first, *rest), *more = self.content(n)
        self.test.assertTrue(found == [[first[8:], *rest], *more], f"not the blocks of {n} chunks")

    def go_on(self):
        """A later writer continues; its commits are present, for blosc2 too."""
        n = self.state or 0
        s = h.Schunk(self.path, h.APPEND) if n else h.Schunk.create(self.path, 8, format=h.FORMAT_B2FRAME)
        with s:
            s.insert_blocks(n, made(n))
            s.write(0, (n + 1).to_bytes(8, "little"))
            s.commit()
        self.look([n + 1])
        frame = blosc2.open(str(self.path), mode="r")
        counts = [int.from_bytes(frame.get_chunk(k)[8:12], "little") for k in range(n + 1)]
        self.check([[frame.get_vlblock(k, i) for i in range(m)] for k, m in enumerate(counts)])
        self.test.tally["later commits read back"] += 1


class KillBlocks(Kill):
    writer = "kill_blocks.c"

    def test_blocks_survive_kills(self):
        self.trials("blocks", TRIALS, KILLS_A_FILE, 0.4, lambda number, rng: Frame(self, rng))


if __name__ == "__main__":
    unittest.main()
