"""python-blosc2 reads and changes frames of holdall, and holdall reads and changes them again, for
combinations of codec, filter and typesize, in one file and in a folder, with checksums and without.

The tests `make` and `go_on` in tests/frames.rs create and change the frames of holdall.
"""

import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

import blosc2

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


if __name__ == "__main__":
    unittest.main()
