"""python-blosc2 reads and changes frames of holdall, and holdall reads and changes them again, for
combinations of codec, filter and typesize, in one file and in a folder, with checksums and without.

The tests `make` and `go_on` in tests/frames.rs create and change the frames of holdall.
"""

import itertools
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

import blosc2

import holdall_c as h
import rust_tests
from rust_tests import ROOT

FIXTURES = pathlib.Path(os.environ.get("HOLDALL_FIXTURES", ROOT / "tests/fixtures"))
# plugins that holdall does not have, blocks of any length, lazy objects, bits that are lost by the
# write, content that was never written
ELSEWHERE = (
    "s_uninit",
    "s_empty",
    "k_ndcell",
    "k_ndlz",
    "k_zfp",
    "k_int_trunc",
    "v_",
    "k_trunc",
    "c5d_f4_cont_trunc",
    "p_",
    "vlblocks",
)


def ours(test, folder):
    """Runs one of the Rust tests over the frames in a folder."""
    rust_tests.run("frames", test, HOLDALL_FRAMES=str(folder))


def change(frame, rng):
    """Changes a frame with the functions of blosc2."""
    size = frame.chunksize
    frame.update_data(1, rng.randbytes(size), True)
    frame.update_data(2, b"\0" * size, True)
    frame.insert_data(3, rng.randbytes(size // 2) + b"\7" * (size - size // 2), True)
    frame.delete_chunk(0)
    frame.append_data(b"abc!" * (size // 4) + b"a" * (size % 4))
    frame.vlmeta["theirs"] = "other"


def metalayers(frame):
    """Unpacks all variable-length metalayers of a superchunk in each way that `blosc2` has: every
    one must be MessagePack."""
    all_at_once = dict(frame.vlmeta.getall())
    assert all_at_once == dict(frame.vlmeta[:]) and repr(frame.vlmeta), all_at_once
    assert all(frame.vlmeta[name] == value for name, value in all_at_once.items()), all_at_once
    return all_at_once


class Frames(unittest.TestCase):
    def check(self, folder, name):
        frame = blosc2.open(str(folder / name), mode="a")
        want = (folder / f"{name}.bin").read_bytes()
        self.assertEqual(frame.nbytes, len(want), name)
        got = b"".join(frame.decompress_chunk(i) for i in range(frame.nchunks))
        self.assertTrue(got == want, f"{name}: other content")
        self.assertEqual(metalayers(frame)["vl"], "value", name)
        # these are of holdall; b2nd itself writes a metalayer of 16 dimensions that blosc2 does not
        # unpack
        self.assertTrue(all(frame.meta[name] for name in frame.meta.keys()), name)
        return frame

    def test_frames_of_holdall_are_changed_by_both(self):
        rng = random.Random(5)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            ours("make", folder)
            names = sorted(p.name[:-4] for p in folder.glob("*.bin"))
            for name in names:
                frame = self.check(folder, name)
                change(frame, rng)
                content = b"".join(frame.decompress_chunk(i) for i in range(frame.nchunks))
                (folder / f"{name}.bin").write_bytes(content)
                del frame
            ours("go_on", folder)
            for name in names:
                self.check(folder, name)
        print(f"{len(names)} frames there and back, blosc2 {blosc2.__version__}")

    def test_frames_of_blosc2_are_changed_by_holdall(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for kind, ends in (("b2nd", (".b2nd", ".b2frame")), ("caterva", (".cat",))):
                for path in (FIXTURES / kind).iterdir():
                    if not path.name.startswith(ELSEWHERE) and path.suffix in ends:
                        (shutil.copytree if path.is_dir() else shutil.copyfile)(
                            path, folder / path.name
                        )
            subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
            names = sorted(p.name for p in folder.iterdir())
            ours("change_theirs", folder)
            for name in names:
                # the frame of an array is closed with the array
                array = blosc2.open(str(folder / name), mode="r")
                frame = getattr(array, "schunk", array)
                got = b"".join(frame.decompress_chunk(i) for i in range(frame.nchunks))
                self.assertTrue(
                    got == (folder / f"{name}.bin").read_bytes(), f"{name}: other content"
                )
                self.assertEqual(metalayers(frame)["changed"], "yes", name)
        print(f"{len(names)} frames of others changed by us")


class VariableBlocks(unittest.TestCase):
    """Frames whose chunks have blocks of variable length, which BatchArray of blosc2 writes."""

    CODECS = ("BLOSCLZ", "LZ4", "LZ4HC", "ZLIB", "ZSTD")
    FILTERS = ((), ("SHUFFLE",), ("BITSHUFFLE",), ("SHUFFLE", "BYTEDELTA"))

    def written(self, path, rng, codec, filters, **more):
        """Returns the content, block after block."""
        filters = [getattr(blosc2.Filter, name) for name in filters]
        parameters = blosc2.CParams(
            codec=getattr(blosc2.Codec, codec), filters=filters, filters_meta=[0] * len(filters), **more
        )
        batches = blosc2.BatchArray(
            urlpath=str(path), mode="w", cparams=parameters, items_per_block=rng.choice((1, 3, 10))
        )
        kinds = (lambda n: b"abc" * n, rng.randbytes, bytes, lambda n: b"z" * (n // 9))
        for _ in range(rng.randrange(1, 5)):
            batches.append([rng.choice(kinds)(rng.randrange(300)) for _ in range(rng.randrange(1, 30))])
        blocks, frame = [], batches.schunk
        for i in range(frame.nchunks):
            count = int.from_bytes(frame.get_chunk(i)[8:12], "little")
            blocks += [frame.get_vlblock(i, k) for k in range(count)]
        return b"".join(blocks)

    def test_they_are_read_and_copied(self):
        rng, read = random.Random(6), 0
        with tempfile.TemporaryDirectory() as folder:
            path, copy = (pathlib.Path(folder, name) for name in ("a.b2frame", "copy.b2frame"))
            for codec, filters in itertools.product(self.CODECS, self.FILTERS):
                for typesize, level, use_dict in itertools.product((1, 4, 7), (1, 9), (False, True)):
                    if use_dict and codec not in ("ZSTD", "LZ4", "LZ4HC"):
                        continue
                    want = self.written(
                        path, rng, codec, filters, typesize=typesize, clevel=level, use_dict=use_dict
                    )
                    with h.Schunk(path) as frame:
                        self.assertEqual(frame.read(), want)
                        for _ in range(5):
                            start = rng.randrange(len(want))
                            size = rng.randrange(1, len(want) - start + 1)
                            self.assertEqual(frame.read(start, size), want[start : start + size])
                        frame.copy(copy, h.REPLACE, h.FORMAT_B2FRAME)
                    theirs, ours = (blosc2.open(str(p), mode="r") for p in (path, copy))
                    self.assertEqual([list(b) for b in ours], [list(b) for b in theirs])
                    del theirs, ours
                    read += 1
        print(f"{read} frames with blocks of variable length")

    def blocks_of(self, frame):
        """Returns the blocks of each chunk, as blosc2 reads them."""
        counts = [int.from_bytes(frame.get_chunk(i)[8:12], "little") for i in range(frame.nchunks)]
        return [[frame.get_vlblock(i, k) for k in range(n)] for i, n in enumerate(counts)]

    def made(self, rng):
        kinds = (lambda n: b"abc" * n, rng.randbytes, bytes)
        return [rng.choice(kinds)(rng.randrange(300)) + b"!" for _ in range(rng.randrange(1, 30))]

    def test_both_change_them_in_turn(self):
        rng, turns = random.Random(8), 0
        with tempfile.TemporaryDirectory() as folder:
            for n, codec in enumerate(self.CODECS):
                path = pathlib.Path(folder, f"{n}.b2frame")
                model = [self.made(rng)]
                if n % 2:
                    with h.Schunk.create(path, 1, format=h.FORMAT_B2FRAME) as frame:
                        frame.insert_blocks(0, model[0])
                        frame.commit()
                else:
                    cparams = blosc2.CParams(codec=getattr(blosc2.Codec, codec))
                    frame = blosc2.SChunk(chunksize=-1, urlpath=str(path), mode="w", cparams=cparams)
                    frame.append_chunk(blosc2.blosc2_ext.vlcompress(model[0]))
                    del frame
                for _ in range(6):
                    at, blocks = rng.randrange(len(model) + 1), self.made(rng)
                    with h.Schunk(path, h.APPEND) as frame:
                        frame.insert_blocks(at, blocks)
                        model.insert(at, blocks)
                        start = len(b"".join(itertools.chain(*model[:at])))
                        frame.write(start, b"?")
                        model[at] = [b"?" + blocks[0][1:], *blocks[1:]]
                        if len(model) > 4:
                            frame.remove(0)
                            del model[0]
                        frame.commit()
                    theirs = blosc2.open(str(path), mode="a")
                    self.assertEqual(self.blocks_of(theirs), model, codec)
                    blocks = self.made(rng)
                    theirs.append_chunk(blosc2.blosc2_ext.vlcompress(blocks))
                    model.append(blocks)
                    del theirs
                    with h.Schunk(path) as frame:
                        self.assertEqual([frame.blocks(i) for i in range(len(model))], model, codec)
                    turns += 2
        print(f"{turns} turns of both over blocks of variable length")

    def test_blosc2_appends_to_an_emptied_frame(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.b2frame")
            frame = blosc2.SChunk(chunksize=-1, urlpath=str(path), mode="w")
            frame.append_chunk(blosc2.blosc2_ext.vlcompress([b"one", b"block"]))
            del frame
            length = 10
            for empty in (lambda f: f.remove(0), lambda f: f.truncate(0)):
                with h.Schunk(path, h.APPEND) as frame:
                    empty(frame)
                    frame.commit()
                # the new chunk is longer than the one that was removed
                theirs = blosc2.open(str(path), mode="a")
                length *= 10
                blocks = [b"x" * length, b"y"]
                theirs.append_chunk(blosc2.blosc2_ext.vlcompress(blocks))
                self.assertEqual(self.blocks_of(theirs), [blocks])
                del theirs
                with h.Schunk(path) as frame:
                    self.assertEqual(frame.blocks(0), blocks)

    def test_what_blosc2_does_not_define_is_refused(self):
        # it decodes such blocks differently one by one and together
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.b2frame")
            self.written(path, random.Random(7), "LZ4", ("DELTA",), typesize=4, clevel=5)
            with h.Schunk(path) as frame, self.assertRaises(h.Error) as raised:
                frame.read()
            self.assertEqual(raised.exception.status, h.E_UNSUPPORTED)


if __name__ == "__main__":
    unittest.main()
