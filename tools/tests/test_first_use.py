#!/usr/bin/env python3
"""Tests of what surprised people who used the command-line tool for the first time."""

import bz2
import gzip
import json
import lzma
import os
import pty
import subprocess
import unittest

from tool import TOOL, Base


class FirstUse(Base):
    def setUp(self):
        super().setUp()
        self.pack("r.bagz", [b"one", b"two", b"three"])
        self.write("t.csv", b"x,y\n1,a\n2,b\n3,c\n")
        self.good("convert", "-q", "t.csv", "t.bcolz")
        self.write("raw", bytes(range(240)))
        self.good("convert", "-q", "raw", "a.b2nd", "--dtype", "<i4")

    def test_options_for_records_are_refused_for_others(self):
        for args in [
            ["t.bcolz", "o.csv", "--records", "0"],
            ["t.csv", "o.bcolz", "--slice", "0:2"],
        ]:
            self.assertIn("is for bags", self.fails("convert", *args, code=2)[0])

    def test_no_command_replaces_its_input_by_its_output(self):
        self.good("pack", "-q", "raw", "s.blp")
        for command, name in [("cat", "r.bagz"), ("head", "r.bagz"), ("view", "a.b2nd")]:
            before = self.read(name)
            message, _ = self.fails(command, name, "-o", name, "-f")
            self.assertIn("both what is to be read and what is to be written", message)
            self.assertEqual(self.read(name), before)
        self.fails("unpack", "s.blp", "s.blp", "-f")
        self.assertEqual(self.good("unpack", "s.blp", "-"), self.read("raw"))

    def test_compressed_files_are_not_read_as_lines_or_items(self):
        self.write("l.gz", gzip.compress(b"a\nb\n" * 100))
        self.write("l.xz", lzma.compress(b"a\nb\n" * 100))
        self.write("l.bz2", bz2.compress(b"a\nb\n" * 100))
        for name in ("l.gz", "l.xz", "l.bz2"):
            self.assertIn("is a file of ", self.fails("pack", name, "o.bagz", code=2)[0])
            self.fails("convert", name, "o.b2nd", "--dtype", "|u1", code=2)

    def test_the_name_of_the_output_says_what_cat_writes(self):
        self.good("cat", "a.b2nd", "-o", "a.npy")
        self.assertEqual(self.read("a.npy")[:6], b"\x93NUMPY")
        self.good("cat", "t.bcolz", "-o", "o.jsonl")
        self.assertEqual(json.loads(self.read("o.jsonl").splitlines()[0]), {"x": 1, "y": "a"})
        for name in ("o.csv.gz", "o.bcolz", "o.arrow"):
            self.assertIn("convert", self.fails("cat", "t.bcolz", "-o", name, code=2)[0])
        self.good("cat", "t.bcolz", "-o", "o.arrow", "--to", "csv")

    def test_merge_refuses_names_of_other_formats(self):
        for inputs, out in [
            (["t.bcolz", "t.bcolz"], "o.csv"),
            (["a.b2nd", "a.b2nd"], "o.npy"),
            (["a.b2nd", "a.b2nd"], "o.bagz"),
            (["r.bagz", "r.bagz"], "o.txt"),
        ]:
            self.assertIn("is not a name of", self.fails("merge", *inputs, out, code=2)[0])
        self.good("merge", "-q", "t.bcolz", "t.bcolz", "o.bcolz")
        self.assertEqual(
            self.good("cat", "o.bcolz"), b"x,y\n1,a\n2,b\n3,c\n1,a\n2,b\n3,c\n"
        )

    def test_files_that_are_no_containers_are_named_as_such(self):
        for command in ("identify", "info", "cat", "count"):
            self.assertIn("t.csv: no container (pack and convert make", self.fails(command, "t.csv")[0])
        self.good("cat", "a.b2nd", "-o", "a.npy")
        for command in ("identify", "info"):
            message, _ = self.fails(command, "a.npy")
            self.assertIn("a.npy: a file of npy, and no container", message)

    def test_folders_that_are_no_containers_are_named_as_such(self):
        os.mkdir(self.path("folder"))
        for command in ("identify", "info", "cat", "count"):
            message, _ = self.fails(command, "folder")
            self.assertIn("folder: a folder that is no container: expected ", message)

    def test_pack_refuses_containers_as_bytes(self):
        self.good("pack", "-q", "raw", "s.blp")
        for name in ("r.bagz", "a.b2nd", "s.blp", "t.bcolz"):
            self.assertIn("convert copies its content", self.fails("pack", name, "o.blp")[0])
        for name in ("r.bagz", "a.b2nd", "s.blp"):
            self.good("pack", "-q", "--raw", "-f", name, "o.blp")
            self.assertEqual(self.good("unpack", "o.blp", "-"), self.read(name))

    def test_commands_for_other_containers_are_named(self):
        for args, hint in [
            (["unpack", "r.bagz", "o"], "convert, or cat"),
            (["unpack", "t.bcolz", "o"], "convert, or cat"),
            (["unpack", "a.b2nd", "o"], "convert --to raw, or cat"),
            (["trim", "r.bagz", "1"], "convert --slice :N"),
            (["append", "r.bagz", "raw"], "pack --append"),
        ]:
            self.assertIn(hint, self.fails(*args)[0])

    def test_bytes_are_not_written_to_a_terminal(self):
        self.good("pack", "-q", "raw", "s.blp")
        for args in (["unpack", "s.blp", "-"], ["convert", "s.blp", "-", "--to", "raw"]):
            ours, theirs = pty.openpty()
            done = subprocess.run(
                [TOOL, *args], cwd=self.folder.name, stdout=theirs, stderr=subprocess.PIPE
            )
            os.close(theirs)
            os.close(ours)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"not printed to a terminal", done.stderr)

    def test_trim_takes_negative_numbers(self):
        self.good("trim", "-q", "t.bcolz", "-1")
        self.assertEqual(self.good("count", "t.bcolz"), b"2\n")

    def test_ranges_are_named(self):
        message, _ = self.fails("pack", "t.csv", "o.bagz", "--shards", "0", code=2)
        self.assertIn("--shards takes a whole number from 1 to 99999, not '0'", message)


if __name__ == "__main__":
    unittest.main()
