"""The command-line tool and Bloscpack through pipes: each reads what the other writes."""

import os
import pathlib
import random
import subprocess
import tempfile
import unittest

from theirs import CHECKSUM_NAMES, bloscpack

import theirs

TOOL = os.environ["HOLDALL_TOOL"]
SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)


class Pipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = random.Random(SEED)

    def run_tool(self, *args, stdin):
        done = subprocess.run([TOOL, *args], stdin=stdin, capture_output=True)
        self.assertEqual(done.returncode, 0, (args, done.stderr, SEED))
        return done.stdout

    def pack(self, data, *flags):
        """Writes a file to a pipe; its length is known."""
        content = self.folder / "content"
        content.write_bytes(data)
        with open(content, "rb") as file:
            packed = self.run_tool("pack", "--to", "blpk", *flags, "-", "-", stdin=file)
        path = self.folder / "packed.blp"
        path.write_bytes(packed)
        return path

    def contents(self):
        for n in (0, 1, 4096, 8192, 30_001):
            yield bytes(self.random.choices(b"abcdefgh", k=n))

    def test_streams_of_known_length_are_read_by_bloscpack(self):
        for data in self.contents():
            for sum in self.random.sample(CHECKSUM_NAMES, 3):
                with self.subTest(n=len(data), sum=sum, seed=SEED):
                    path = self.pack(data, "--chunk-size", "4K", "--checksum", sum.lower())
                    self.assertEqual(bloscpack.unpack_bytes_from_file(str(path))[0], data)

    def test_streams_of_unknown_length_are_read_after_a_copy(self):
        for data in self.contents():
            pack = subprocess.Popen(
                [TOOL, "pack", "--to", "blpk", "--chunk-size", "4K", "-", "-"],
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
            packed, _ = pack.communicate(data)
            path = self.folder / "stream.blp"
            path.write_bytes(packed)
            # it takes -1 chunks for none
            self.assertEqual(bloscpack.unpack_bytes_from_file(str(path))[0], b"")
            copy = self.folder / "copy.blp"
            with open(path, "rb") as file:
                self.run_tool("convert", "-f", "-", str(copy), stdin=file)
            self.assertEqual(bloscpack.unpack_bytes_from_file(str(copy))[0], data)

    def test_files_of_bloscpack_are_read_from_a_pipe(self):
        for data in self.contents():
            for offsets in (True, False):
                path = self.folder / "theirs.blp"
                path.unlink(missing_ok=True)
                theirs.pack(path, data, "lz4", 1, "crc32", 4, 4096, offsets=offsets)
                with open(path, "rb") as file:
                    self.assertEqual(self.run_tool("unpack", "-", "-", stdin=file), data)


if __name__ == "__main__":
    unittest.main()
