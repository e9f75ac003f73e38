"""Chunks with dictionaries: python-blosc2 reads and extends frames of holdall, and holdall those of
python-blosc2; each side keeps adding dictionaries.

python-blosc2 4.14.1 fails, or crashes, when it reads a part of such a chunk, so it reads whole ones.
"""

import itertools
import json
import pathlib
import random
import tempfile
import unittest

import blosc2

import holdall_c as h

CODECS = {"ZSTD": h.CODEC_ZSTD, "LZ4": h.CODEC_LZ4, "LZ4HC": h.CODEC_LZ4HC}
CHUNK = 200_000


def lines(rng, n):
    """Text whose short blocks have much in common."""
    cities = ("Osaka", "Lima", "Turin", "Accra", "Quito")
    made = []
    while sum(map(len, made)) < n:
        row = {"user": rng.randrange(1000), "city": rng.choice(cities), "score": rng.random()}
        made.append(json.dumps(row).encode() + b"\n")
    return b"".join(made)[:n]


def content(frame):
    return b"".join(frame.decompress_chunk(i) for i in range(frame.nchunks))


def has_dictionary(chunk):
    return bool(chunk[31] & 1)


class Dictionaries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "a.b2frame")
        self.rng = random.Random(28)

    def create(self, codec, with_dictionary, **options):
        """Returns the content that was written, and the size of the file."""
        data = lines(self.rng, 3 * CHUNK)
        with h.Schunk.create(
            self.path, 1, h.REPLACE, h.FORMAT_B2FRAME, codec=CODECS[codec],
            chunk_dictionary=with_dictionary, chunk_bytes=CHUNK, **options,
        ) as frame:  # fmt: skip
            frame.append(data)
            frame.commit()
        return data, self.path.stat().st_size

    def chunks_with(self):
        with h.Schunk(self.path) as frame:
            return [has_dictionary(frame.read_raw(i)) for i in range(frame.chunk_count)]

    def test_both_sides_extend_them(self):
        for codec, level, block in itertools.product(CODECS, (1, 9), (400, 50_000)):
            with self.subTest(codec=codec, level=level, block=block):
                data, _ = self.create(codec, 1, level=level, block_bytes=block)
                if block == 400:
                    self.assertEqual(self.chunks_with(), [True] * 3)
                frame = blosc2.open(str(self.path), mode="a")
                self.assertEqual(content(frame), data)
                more = lines(self.rng, CHUNK)
                frame.append_data(more)
                del frame
                with h.Schunk(self.path, h.APPEND) as frame:
                    self.assertEqual(frame.read(), data + more)
                    again = lines(self.rng, CHUNK)
                    frame.append(again)
                    frame.write(CHUNK + 77, again[:500])
                    frame.commit()
                data = data + more + again
                data = data[: CHUNK + 77] + again[:500] + data[CHUNK + 577 :]
                if block == 400:
                    self.assertEqual(self.chunks_with(), [True] * 5)
                self.assertEqual(content(blosc2.open(str(self.path), mode="r")), data)
                with h.Schunk(self.path) as frame:
                    for _ in range(20):
                        at = self.rng.randrange(len(data))
                        n = self.rng.randrange(1, 3000)
                        self.assertEqual(frame.read(at, len(data[at : at + n])), data[at : at + n])

    def test_frames_of_blosc2_keep_them(self):
        for codec in CODECS:
            data = lines(self.rng, 2 * CHUNK)
            parameters = blosc2.CParams(
                codec=blosc2.Codec[codec], typesize=1, use_dict=True, blocksize=400, nthreads=1
            )
            blosc2.remove_urlpath(str(self.path))
            frame = blosc2.SChunk(
                chunksize=CHUNK, data=data, cparams=parameters, urlpath=str(self.path), mode="w"
            )
            del frame
            with h.Schunk(self.path, h.APPEND) as frame:
                frame.append(data)
                frame.commit()
                self.assertTrue(all(has_dictionary(frame.read_raw(i)) for i in range(4)))
            self.assertEqual(content(blosc2.open(str(self.path), mode="r")), data + data)
            # and it is no more than a setting
            with h.Schunk(self.path, h.APPEND, chunk_dictionary=0) as frame:
                frame.append(data[:CHUNK])
                frame.commit()
                self.assertFalse(has_dictionary(frame.read_raw(4)))
            frame = blosc2.open(str(self.path), mode="a")
            self.assertFalse(frame.cparams.use_dict)
            self.assertEqual(content(frame), data + data + data[:CHUNK])

    def test_they_make_short_blocks_smaller(self):
        for codec in CODECS:
            sizes = [self.create(codec, on, level=5, block_bytes=500)[1] for on in (0, 1)]
            print(f"{codec}, blocks of 500 bytes: {sizes[1] / sizes[0]:.2f} of the size without")
            self.assertLess(sizes[1], sizes[0])

    def test_ctables_have_none(self):
        # python-blosc2 fails when it appends to such columns
        for dtype in ("<i4", "T"):
            with self.assertRaises(h.Error) as raised:
                h.Table.create(
                    self.path.with_name("x.b2d"), {"a": dtype}, format=h.FORMAT_CTABLE,
                    codec=h.CODEC_ZSTD, chunk_dictionary=1,
                )  # fmt: skip
            self.assertEqual(raised.exception.status, h.E_UNSUPPORTED)

    def test_other_codecs_are_refused(self):
        with self.assertRaises(h.Error) as raised:
            h.Schunk.create(
                self.path, 1, h.CREATE, h.FORMAT_B2FRAME, codec=h.CODEC_ZLIB, chunk_dictionary=1
            )
        self.assertIn("HOLDALL_OPT_CHUNK_DICTIONARY: zlib has no dictionaries", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
