"""Kills a writer with SIGKILL while it appends to a CTable and commits: the complete content is that
of the last returned commit, or of the one in progress; for python-blosc2, too, after the next writer
has recovered the table."""

import os
import unittest

import blosc2
import numpy as np

import holdall_c as h
from killing import Kill
from test_kill_bcolz import CHUNK, KILLS_A_DATASET, Table
from test_kill_schunk import values

TRIALS = int(os.environ.get("HOLDALL_KILLS", 60))


class CTable(Table):
    FORM = dict(format=h.FORMAT_CTABLE, chunk_bytes=CHUNK)

    def __init__(self, test, what, rng):
        super().__init__(test, what, rng)
        self.path = self.folder / "x.b2d"
        self.sum = rng.choice((h.CHECKSUM_NONE, h.CHECKSUM_CRC32))

    def texts(self, start, n):
        """The texts of the last column, as in kill_dataset.c."""
        items = values(start, n, len(self.DTYPES) + 1) & np.uint64(0xFFF)
        return [str(item) for item in items]

    def read(self):
        got = super().read()
        with h.Table(self.path) as t:
            n = len(t)
            some = {0, n - 1, *(self.rng.randrange(n) for _ in range(50))} if n else ()
            expected = self.texts(0, n)
            for i in some:
                self.test.assertEqual(t["t"].read_object(i), expected[i].encode())
        return got

    def theirs(self, expected):
        """python-blosc2 knows no journal: while one waits, some of the frames are of either state."""
        if (self.path / "ctable.holdall-journal").exists():
            self.test.tally["python-blosc2: a journal waits"] += 1
            return
        if not expected or not (self.path / "embed.b2e").exists():
            return
        table = blosc2.CTable.open(str(self.path), mode="r")
        got = tuple(np.asarray(table[name][:]).tobytes() for name in self.DTYPES)
        self.test.assertIn(got, list(expected.values()), "python-blosc2 reads something else")
        n = len(table)
        self.test.assertEqual(n, len(table["d"][:]))
        self.test.assertEqual(list(table["t"][:]) if n else [], self.texts(0, n))
        self.test.tally["python-blosc2: right"] += 1

    def go_on(self):
        """A later writer continues, and python-blosc2 after it."""
        created = self.state is None
        both = {**self.DTYPES, "t": "T"}
        t = h.Table.create(self.path, both, **self.FORM) if created else h.Table(self.path, h.APPEND)
        with t:
            more, n = self.rng.randrange(1, 5000), len(t)
            texts = h.Values([text.encode() for text in self.texts(n, more)])
            t.append(more, [*self.columns(n, more), texts])
            number = (self.state or 0) + more
            t.attr_set("number", b"%d" % number)
            t.commit()
        self.look([number])
        left = [f.name for f in self.path.rglob("*holdall*") if not f.name.endswith("-lock")]
        self.test.assertEqual(left, [])
        self.test.tally["later commits read back"] += 1


class KillCTable(Kill):
    writer = "kill_dataset.c"

    def test_ctable_survives_kills(self):
        make = lambda number, rng: CTable(self, "ctable", rng)
        self.trials("ctable", TRIALS, KILLS_A_DATASET, 0.4, make)


if __name__ == "__main__":
    unittest.main()
