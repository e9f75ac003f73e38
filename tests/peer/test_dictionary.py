"""Bags that store a dictionary, as zstd and the Bagz package see them."""

import pathlib
import tempfile
import unittest

import bagz
import zstandard

import holdall_c as h


class Dictionary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.records = [b'{"id": %d, "city": "%s"}' % (i, b"Osaka" * (i % 3)) for i in range(5000)]

    def written(self, name, **options):
        path = self.folder / name
        with h.Writer(path, h.CREATE, bag_dictionary=h.BAG_DICTIONARY_AUTO, **options) as writer:
            writer.append_many(self.records)
            writer.commit()
        return path

    def test_zstd_decodes_each_record_with_the_stored_dictionary(self):
        for options in ({}, {"checksum": h.CHECKSUM_NONE}, {"bag_limits": h.BAG_LIMITS_SEPARATE}):
            path = self.written("x.bagz" if not options else f"{next(iter(options))}.bagz", **options)
            limits = {"bag_limits": options.get("bag_limits")}
            with h.Bag(path, **limits) as bag:
                dictionary = zstandard.ZstdCompressionDict(bag.dictionary())
                self.assertEqual(bag.read_range(), self.records)
            with h.Bag(path, codec=h.CODEC_NONE, **limits) as bag:
                frames = bag.read_range()
            zstd = zstandard.ZstdDecompressor(dictionary)
            self.assertEqual([zstd.decompress(frame) for frame in frames], self.records)
            ids = {zstandard.get_frame_parameters(frame).dict_id for frame in frames}
            self.assertEqual(ids, {dictionary.dict_id()})
            self.assertTrue(32768 <= dictionary.dict_id() < 65536)
            with self.assertRaises(zstandard.ZstdError):
                zstandard.ZstdDecompressor().decompress(frames[1])

    def test_bagz_without_the_dictionary_refuses_a_record(self):
        reader = bagz.Reader(str(self.written("x.bagz")))
        self.assertEqual(len(reader), 5000)
        for i in (0, 1, 4999):
            with self.assertRaises(ValueError):
                reader[i]

    def test_a_dictionary_of_zstd_is_stored(self):
        trained = zstandard.train_dictionary(4096, self.records).as_bytes()
        path = self.folder / "x.bagz"
        options = {"bag_dictionary": h.BAG_DICTIONARY_STORED, "dictionary": trained}
        with h.Writer(path, h.CREATE, **options) as writer:
            writer.append_many(self.records)
            writer.commit()
        with h.Bag(path) as bag:
            self.assertEqual(bag.dictionary(), trained)
            self.assertEqual(bag.read_range(), self.records)


if __name__ == "__main__":
    unittest.main()
