#!/usr/bin/env python3
"""Tests of the command-line tool with frames inside larger files (--at). See tool.py."""

import os
import struct
import unittest

from tool import Base

AT = 4099  # A prime, so aligned with nothing.


class At(Base):
    def setUp(self):
        super().setUp()
        self.data = struct.pack("<1200d", *(i / 7 for i in range(1200)))
        self.write("raw", self.data)
        for name, flags in [
            ("a.b2nd", ["--shape", "30,40", "--chunks", "8,40"]),
            ("a.b2frame", []),
            ("a.caterva", ["--shape", "30,40", "--both"]),
        ]:
            self.good("convert", "-q", "raw", name, "--dtype", "<f8", *flags)
            self.write("in." + name, os.urandom(AT) + self.read(name) + os.urandom(77))
        self.names = ["a.b2nd", "a.b2frame", "a.caterva"]

    def test_a_frame_at_an_offset_reads_like_a_file(self):
        for name in self.names:
            with self.subTest(name=name):
                there = ["in." + name, "--at", str(AT)]
                inside, alone = self.info(*there), self.info(name)
                self.assertEqual(inside.pop("path"), "in." + name)
                alone.pop("path")
                # The size of a frame inside a file may include bytes after it.
                self.assertGreaterEqual(inside.pop("cbytes"), alone.pop("cbytes"))
                self.assertEqual(inside, alone)
                self.assertEqual(self.good("cat", *there), self.data)
                self.assertEqual(
                    self.good("sum", *there).split()[0], self.good("sum", name).split()[0]
                )
                self.assertIn(b" intact, 0 corrupt, 0 unchecked\n", self.good("verify", *there))
                for out in ["o.npy", "o.blp", "o.b2nd", "o.b2frame", "o.bcolz", "o.raw"]:
                    self.good(
                        "convert",
                        "-q",
                        "--force",
                        *there[:1],
                        out,
                        *there[1:],
                        *(["--to", "raw"] if out == "o.raw" else [])
                    )
                    content = self.read(out) if out in ("o.raw", "o.npy") else self.good("cat", out)
                    self.assertEqual(content[-len(self.data) :], self.data)
        self.assertEqual(
            self.good("cat", "in.a.b2nd", "--at", str(AT), "--slice", "3,5:7"),
            self.data[8 * 125 : 8 * 127],
        )

    def test_an_offset_without_a_frame_is_an_error(self):
        for name in self.names:
            for at in [0, 1, AT - 1, AT + 1, AT + 100, 1 << 20, (1 << 63) - 2]:
                for command in ["cat", "info", "sum"]:
                    self.fails(command, "in." + name, "--at", str(at))
                _, out = self.fails("verify", "in." + name, "--at", str(at))
                self.assertIn(b"not an intact superchunk", out)
                self.fails("convert", "in." + name, "o.npy", "--at", str(at))
        self.assertNotIn("o.npy", self.files())
        self.fails("cat", "none", "--at", "5")

    def test_corruption_at_an_offset_is_reported(self):
        self.flip("in.a.b2nd", AT + 300)
        message, _ = self.fails("cat", "in.a.b2nd", "--at", str(AT))
        _, out = self.fails("verify", "in.a.b2nd", "--at", str(AT))
        self.assertIn(b"chunk 0", out)

    def test_bags_refuse_an_offset(self):
        self.pack("a.bag", [b"x"])
        for args in [
            ["convert", "a.bag", "o.txt", "--at", "0"],
            ["convert", "raw", "o.bag", "--from", "lines", "--at", "0"],
            ["repair", "a.bag", "--at", "0"],
        ]:
            self.assertIn("--at", self.fails(*args, code=2)[0])


if __name__ == "__main__":
    unittest.main()
