"""A pair of tails after the chunks of a long frame, as python-blosc2 sees it."""

import pathlib
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h

MIN_CHUNKS = 8192
CHUNK = 100


class TailPair(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.b2frame"
        self.content = bytearray(np.arange(MIN_CHUNKS * CHUNK // 4, dtype="<u4").tobytes())
        options = dict(format=h.FORMAT_B2FRAME, chunk_bytes=CHUNK)
        with h.Schunk.create(self.path, 4, **options) as s:
            s.append(bytes(self.content))
            s.commit()

    def commits(self, times):
        """Appends a part of a chunk to several chunks with a commit each, and yields after each."""
        with h.Schunk(self.path, h.APPEND) as s:
            for i in range(times):
                new = bytes([i % 251]) * (4 * (7 + 31 * (i % 5)))
                s.append(new)
                s.commit()
                self.content += new
                yield

    def see(self, frame):
        """The content as python-blosc2 reads it, without the first chunks."""
        return b"".join(frame.decompress_chunk(i) for i in range(MIN_CHUNKS - 2, frame.nchunks))

    def last(self):
        return bytes(self.content[(MIN_CHUNKS - 2) * CHUNK :])

    def test_blosc2_reads_each_commit(self):
        for _ in range(2):
            for _ in self.commits(40):
                self.assertEqual(self.see(blosc2.open(str(self.path), mode="r")), self.last())
        self.assertEqual(self.path.read_bytes().count(b"holdpair"), 4)
        frame = blosc2.open(str(self.path), mode="r")
        self.assertEqual(frame[:], bytes(self.content))

    def test_blosc2_that_was_open_reads_its_commit_or_fails(self):
        for _ in self.commits(2):
            pass
        for read_before in (False, True):
            frame, content = blosc2.open(str(self.path), mode="r"), self.last()
            if read_before:
                self.assertEqual(self.see(frame), content)
            for _ in self.commits(5):
                try:
                    seen = self.see(frame)
                except RuntimeError:
                    continue
                self.assertIn(seen, (content, self.last()[: len(seen)]))

    def check_reader(self, reader, before):
        try:
            self.assertEqual(reader.read(), before)
        except h.Error as e:
            self.assertEqual(e.status, h.E_STATE)

    def test_blosc2_changes_it_and_holdall_continues(self):
        for commits in range(1, 6):
            for _ in self.commits(commits):
                pass
            reader = h.Schunk(self.path)
            before = bytes(self.content)
            frame = blosc2.open(str(self.path), mode="a")
            # blosc2 appends complete chunks only
            whole = len(self.content) // CHUNK
            changed = np.full(CHUNK // 4, commits, "<u4").tobytes()
            frame.update_data(whole - 1, changed, True)
            self.content[(whole - 1) * CHUNK : whole * CHUNK] = changed
            self.assertEqual(self.see(blosc2.open(str(self.path), mode="r")), self.last())
            with h.Schunk(self.path) as s:
                self.assertEqual(s.read(), bytes(self.content))
            self.assertEqual(h.Verified(self.path).faults, [])
            self.check_reader(reader, before)
            for _ in self.commits(commits):
                self.check_reader(reader, before)
            reader.close()
        for _ in self.commits(5):
            with h.Schunk(self.path) as s:
                self.assertEqual(s.read(), bytes(self.content))


if __name__ == "__main__":
    unittest.main()
