"""Frames that grow while others read them: handles of holdall and of python-blosc2 follow the commits of
the other, in turn and beside a writer."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h

COMMITS = int(os.environ.get("HOLDALL_TIMES", 300))
# Appends the numbers that follow, and commits each time.
WRITER = """
import sys
import numpy as np
import holdall_c as h

path, commits = sys.argv[1], int(sys.argv[2])
with h.Array(path, h.APPEND) as array:
    for _ in range(commits):
        n = array.shape[0]
        array.append(0, 37, np.arange(n, n + 37).tobytes())
        array.commit()
"""


class Growth(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "x.b2nd")
        blosc2.asarray(np.arange(10), urlpath=self.path, mode="w", chunks=(100,), blocks=(20,))

    def check(self, got):
        self.assertTrue((got == np.arange(len(got))).all())
        return len(got)

    def test_holdall_follows_blosc2(self):
        theirs = blosc2.open(self.path, mode="a")
        with h.Array(self.path) as ours:
            for n in (15, 40, 1000, 1003):
                old = theirs.shape[0]
                theirs.resize((n,))
                theirs[old:] = np.arange(old, n)
                self.assertTrue(ours.refresh())
                got = np.frombuffer(ours.read([0], ours.shape, [1]), "<i8")
                self.assertEqual(self.check(got), n)

    def test_blosc2_follows_holdall(self):
        theirs = blosc2.open(self.path, mode="r")
        with h.Array(self.path, h.APPEND) as ours:
            for n in (15, 40, 1000, 1003):
                old = ours.shape[0]
                ours.append(0, n - old, np.arange(old, n).tobytes())
                ours.commit()
                self.assertTrue(theirs.refresh())
                self.assertEqual(self.check(theirs[:]), n)

    def test_blosc2_reads_beside_holdall(self):
        """Whatever it sees is that of one commit."""
        here = pathlib.Path(__file__).parent
        arguments = [sys.executable, "-c", WRITER, self.path, str(COMMITS)]
        writer = subprocess.Popen(arguments, cwd=here)
        theirs, seen = blosc2.open(self.path, mode="r"), set()
        while writer.poll() is None:
            theirs.refresh()
            n = self.check(theirs[:])
            self.assertEqual((n - 10) % 37, 0)
            seen.add(n)
        self.assertEqual(writer.returncode, 0)
        theirs.refresh()
        self.assertEqual(self.check(theirs[:]), 10 + 37 * COMMITS)
        print(f"{len(seen)} of {COMMITS} commits seen", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
