"""Room before the limits of a compressed bag, as the Bagz package and zstd see it."""

import pathlib
import tempfile
import unittest

import bagz
import zstandard

import holdall_c as h

MIN_RECORDS = 8192
IN_MEMORY = bagz.Reader.Options(limits_storage=bagz.LimitsStorage.IN_MEMORY)


class Room(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.bagz"
        self.records = [b"record %d" % i for i in range(MIN_RECORDS)]
        with h.Writer(self.path, h.CREATE) as writer:
            writer.append_many(self.records)
            writer.commit()

    def append(self, *records):
        """Appends records with a commit each, and returns where the limits are then."""
        offsets = []
        with h.Writer(self.path, h.APPEND) as writer:
            for record in records:
                writer.append(record)
                writer.commit()
                self.records.append(record)
                offsets.append(int.from_bytes(self.path.read_bytes()[-8:], "little"))
        return offsets

    def test_bagz_and_zstd_read_each_record(self):
        first, *others = self.append(*(b"appended %d" % i * (i % 50) for i in range(60)))
        self.assertEqual(set(others), {first})
        self.assertEqual(bagz.Reader(str(self.path)).read(), self.records)
        last = range(MIN_RECORDS - 1, len(self.records))
        reader = bagz.Reader(str(self.path))
        self.assertEqual([reader[i] for i in last], self.records[last.start :])
        with h.Bag(self.path, codec=h.CODEC_NONE) as bag:
            frames = bag.read_range(last.start, len(last))
        zstd = zstandard.ZstdDecompressor()
        self.assertEqual([zstd.decompress(frame) for frame in frames], self.records[last.start :])

    def test_readers_that_were_open_before_a_commit(self):
        self.append(b"leaves room")
        n = len(self.records)
        in_file, in_memory = bagz.Reader(str(self.path)), bagz.Reader(str(self.path), IN_MEMORY)
        with h.Bag(self.path, bag_limits_cache=1) as ours:
            in_memory[0]
            (offset,) = self.append(b"another")
            self.assertEqual(offset, int.from_bytes(self.path.read_bytes()[-8:], "little"))
            self.assertEqual(in_file.read(), self.records[:n])
            self.assertEqual(in_memory.read()[:-1], self.records[: n - 1])
            self.assertEqual(in_memory.read()[-1], b"")  # what Bagz makes of two frames
            self.assertEqual(ours.read_range(), self.records[:n])
            self.assertEqual(ours.read(n - 1), b"leaves room")


if __name__ == "__main__":
    unittest.main()
