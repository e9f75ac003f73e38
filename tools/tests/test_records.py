#!/usr/bin/env python3
"""Tests of the command-line tool: conversion of bags from and to files of records.

The tests build the files byte by byte. See tool.py.
"""

import base64
import hashlib
import itertools
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import unittest
import zlib

from tool import TOOL, Base, framed, run


def crc32c(data):
    """Returns the CRC-32C, computed bit by bit from the polynomial."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def lines(records):
    return b"".join(r + b"\n" for r in records)


def lengths32(records):
    return b"".join(struct.pack("<I", len(r)) + r for r in records)


def tfrecord(records):
    return b"".join(
        struct.pack("<Q", len(r)) + masked(struct.pack("<Q", len(r))) + r + masked(r)
        for r in records
    )


FORMATS = {"lines": lines, "lengths32": lengths32, "lengths64": framed, "tfrecord": tfrecord}


def any_records():
    r = random.Random(1)
    return [
        b"",
        b"a",
        b"",
        *(r.randbytes(r.choice([0, 1, 9, 64, 500])).replace(b"\n", b"-") for _ in range(60)),
        b"x" * 3000,
    ]


class Ways(Base):
    def test_crc32c_equals_the_published_values(self):
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(crc32c(bytes(32)), 0x8A9136AA)  # RFC 3720

    def test_each_format_converts_to_bags_and_back(self):
        for records in [[], [b""], [b"", b""], [b"one"], any_records()]:
            for name, encode in FORMATS.items():
                with self.subTest(format=name, records=len(records)):
                    self.write("in", encode(records))
                    self.good("convert", "--force", "--from", name, "in", "a.bagz")
                    self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed(records))
                    self.good("convert", "--force", "--to", name, "a.bagz", "out")
                    self.assertEqual(self.read("out"), encode(records))
                    # The same through pipes.
                    self.good(
                        "convert", "--force", "--from", name, "-", "b.bag", stdin=encode(records)
                    )
                    self.assertEqual(
                        self.good("convert", "b.bag", "-", "--to", name), encode(records)
                    )

    def test_names_determine_the_format(self):
        records = [b"one", b"two"]
        for name, encode in [
            ("a.txt", lines),
            ("a.lines", lines),
            ("a.jsonl", lines),
            ("a.tfrecord", tfrecord),
            ("a.tfrecords", tfrecord),
        ]:
            self.write(name, encode(records))
            self.good("convert", name, "a.bagz", "--force")
            self.good("convert", "a.bagz", name, "--force")
            self.assertEqual(self.read(name), encode(records))

    def test_records_convert_to_arrow_and_back(self):
        for records in [[], [b""], [b"", b""], any_records(), [b"%d" % i for i in range(70_000)]]:
            self.good(
                "convert", "--from", "lengths64", "-", "a.bagz", "--force", stdin=framed(records)
            )
            for name in ["a.arrow", "a.feather", "a.arrows"]:
                self.good("convert", "a.bagz", name, "--force")
                self.assertEqual(self.read(name).startswith(b"ARROW1"), name != "a.arrows")
                self.good("convert", name, "b.bag", "--force")
                self.assertEqual(
                    hashlib.sha256(self.good("cat", "--lengths", "b.bag")).digest(),
                    hashlib.sha256(framed(records)).digest(),
                )
            stream = self.good("convert", "a.bagz", "-", "--to", "arrow-stream")
            self.assertEqual(stream, self.read("a.arrows"))
            self.good(
                "convert",
                "-",
                "c.bag",
                "--from",
                "arrow",
                "--columns",
                "record",
                "--force",
                stdin=stream,
            )
            self.assertEqual(self.read("c.bag"), self.read("b.bag"))
        message, _ = self.fails("convert", "a.arrow", "d.bag", "--columns", "nope")
        self.assertIn("no column 'nope'", message)
        self.assertNotIn("d.bag", self.files())

    def test_bags_convert_to_bags(self):
        records = self.pack("a.bag", any_records())
        self.good("convert", "a.bag", "b.bagz", "--level", "9")
        self.assertEqual(self.info("b.bagz")["compression"], "zstd")
        self.good("convert", "b.bagz", "c.bag", "--separate", "--checksum", "none")
        self.assertEqual(
            self.files(), ["a.bag", "b.bagz", "c.bag", "checksums.a.bag", "limits.c.bag"]
        )
        # --limits applies to the input.
        self.good("convert", "c.bag", "d.bag", "--limits", "separate")
        for name in ["b.bagz", "d.bag"]:
            self.assertEqual(self.good("cat", "--lengths", name), framed(records))
        text = b"the five boxing wizards jump over the lazy dog"
        dictionary = self.write("dict", text * 4)
        self.pack("e.bag", [text] * 10)
        self.good("convert", "e.bag", "e.bagz", "--dictionary", dictionary)
        self.fails("cat", "e.bagz")
        self.good("convert", "e.bagz", "f.txt", "--dictionary", dictionary)
        self.assertEqual(self.read("f.txt"), lines([text] * 10))

    def test_from_bagz_declares_a_bag(self):
        records = self.pack("a.bag", any_records())
        for name, out in [("a.bag", "b.bagz"), ("a.bag", "c.txt")]:
            self.good("convert", name, out, "--from", "bagz")
        os.rename(self.path("b.bagz"), self.path("b.dat"))
        self.assertIn("--from bagz", self.fails("convert", "b.dat", "d.bag", "--separate")[0])
        self.assertNotIn("d.bag", self.files())
        self.good("convert", "b.dat", "d.bag", "--from", "bagz", "--separate", "--checksum", "none")
        os.rename(self.path("b.dat"), self.path("b.bag"))
        frames = self.good("cat", "--lengths", "b.bag")
        self.assertEqual(self.good("cat", "--lengths", "d.bag", "--limits", "separate"), frames)
        self.assertEqual(self.read("c.txt"), lines(records))
        message, _ = self.fails("convert", "c.txt", "e.bag", "--from", "bagz")
        self.assertIn("c.txt", message)
        self.assertNotIn("e.bag", self.files())

    def test_unchecked_reads_a_bag_with_checksums_of_another_state(self):
        records = self.pack("a.bag", any_records())
        self.write("checksums.a.bag", b"\0" * 4)
        self.assertEqual(self.good("identify", "a.bag"), b"a.bag: bagz bag\n")
        for flags in [(), ("--from", "bagz")]:
            self.fails("convert", "a.bag", "b.bag", *flags)
            self.assertNotIn("b.bag", self.files())
            self.good("convert", "a.bag", "b.bag", "--unchecked", *flags)
            self.assertEqual(self.good("cat", "--lengths", "b.bag"), framed(records))
            self.assertIn(b" 0 corrupt, 0 unchecked", self.good("verify", "b.bag"))
            os.remove(self.path("b.bag"))
            os.remove(self.path("checksums.b.bag"))

    def test_frames_are_not_compressed_twice(self):
        records = [b"", *(b"record %d" % i for i in range(50))]
        self.pack("a.bag", records, "--codec", "zstd")
        for out, flags in [("b.bagz", ()), ("b.bag", ("--codec", "zstd"))]:
            message, _ = self.fails("convert", "a.bag", out, *flags)
            self.assertIn(".bagz", message)
            self.assertNotIn(out, self.files())
        os.symlink("a.bag", self.path("link.bagz"))
        self.good("convert", "link.bagz", "b.bagz")
        self.good("convert", "a.bag", "same.bag", "--checksum", "none")
        self.good("convert", "a.bag", "twice.bagz", "--from", "bagz")
        frames = self.good("cat", "--lengths", "a.bag")
        self.assertEqual(self.good("cat", "--lengths", "same.bag"), frames)
        self.assertEqual(self.good("cat", "--lengths", "twice.bagz"), frames)
        self.assertEqual(self.good("cat", "--lengths", "b.bagz"), framed(records))

    def test_sets_convert_to_one_file(self):
        for i in range(3):
            self.pack("s-0000%d-of-00003.bag" % i, [b"%d" % n for n in range(i, 11, 3)])
        self.good("convert", "s@3.bag", "all.txt", "--shard-order", "interleaved")
        self.assertEqual(self.read("all.txt"), b"".join(b"%d\n" % n for n in range(11)))
        self.assertEqual(
            self.good("convert", "s@*.bag", "-", "--to", "lines").split(),
            [b"%d" % n for i in range(3) for n in range(i, 11, 3)],
        )

    def test_one_shard_of_a_set_can_be_written(self):
        for i in range(3):
            self.good(
                "convert",
                "-",
                "s.v1.bagz",
                "--from",
                "lines",
                "--shards",
                "3",
                "--shard",
                str(i),
                stdin=b"%d\n" % i,
            )
        self.assertEqual(self.files(), ["s.v1-0000%d-of-00003.bagz" % i for i in range(3)])
        self.assertEqual(self.good("cat", "s.v1@3.bagz"), b"012")

    def test_records_are_distributed_over_a_set(self):
        records = [b"%d" % i for i in range(20)]
        for name in ["s.bagz", "t.bag", "u", "odd@name,with\\all.of.bag", ".bag"]:
            with self.subTest(name=name):
                self.good("pack", "-q", "--shards", "3", "-", name, stdin=lines(records))
                stem, dot = os.path.splitext(name)
                for i in range(3):
                    shard = "%s-0000%d-of-00003%s" % (stem, i, dot)
                    self.assertEqual(self.good("cat", "--lengths", shard), framed(records[i::3]))
                spec = "%s@3%s" % (re.sub(r"([@,\\])", r"\\\1", stem), dot)
                self.assertEqual(
                    self.good("cat", "--lengths", "--shard-order", "interleaved", spec), framed(records)
                )
                self.fails("pack", "--shards", "3", "-", name, stdin=b"x")
                self.good(
                    "pack", "-q", "--shards", "3", "--append", "-", name, stdin=lines(records)
                )
                self.assertEqual(
                    self.good("cat", "--lengths", "--shard-order", "interleaved", spec), framed(records * 2)
                )
                # By default, sets are read in the order of writing.
                for path in [spec, spec.replace("@3", "@*")]:
                    self.assertEqual(self.good("cat", "--lengths", path), framed(records * 2))
                    self.good("convert", "-q", "--force", path, "o.txt")
                    self.assertEqual(self.read("o.txt"), lines(records * 2))
                self.assertEqual(
                    self.good("cat", "--lengths", "--shard-order", "concatenated", spec),
                    framed([r for i in range(3) for r in (records * 2)[i::3]]),
                )
                os.remove(self.path("o.txt"))
        self.good("pack", "-q", "-", "v@2.bag", stdin=lines(records))
        self.good("convert", "v@2.bag", "w.bag", "--shards", "7")
        self.assertEqual(self.good("cat", "w@*.bag"), b"".join(records))
        message, _ = self.fails("cat", "s@3.bagz,v@2.bag")
        self.assertIn("s-00000-of-00003.bagz: it belongs to an interleaved set", message)
        self.assertIn("--shard-order", message)
        self.good("verify", "s@3.bagz,v@2.bag")
        # A set that does not record its order.
        for i in range(2):
            self.good("pack", "-q", "-", "x-0000%d-of-00002.bagz" % i, stdin=lines(records[i::2]))
        self.assertIn(
            "--interleaved", self.fails("pack", "-", "x@2.bagz", "--append", stdin=b"y")[0]
        )
        self.good("pack", "-q", "-", "x@2.bagz", "--append", "--interleaved", stdin=b"y")
        self.assertEqual(
            self.good("cat", "x@2.bagz"), b"".join(records[::2] + [b"y"] + records[1::2])
        )
        self.fails("pack", "--shards", "3", "-", "v@2.bag", stdin=b"", code=2)
        message, _ = self.fails("pack", "-", "v@2.bag", stdin=b"")
        self.assertIn("v-00000-of-00002.bag", message)

    def test_a_set_is_all_or_nothing(self):
        data = b"line\n" * 2_000_000
        for number in [signal.SIGINT, signal.SIGTERM]:
            self.interrupt_fed(number, data, "pack", "--shards", "4", "-", "a.bag")
            self.assertEqual(self.files(), [])

    def test_wrong_usage_leaves_no_files(self):
        self.pack("a.bag", [b"x"])
        self.write("x.txt", b"x\n")
        self.write("x.csv", b"x\n")
        self.write("odd", b"no bag at all, nor anything else")
        self.good("pack", "-q", "-", "c.blp", stdin=b"content")
        files = self.files()
        for args, expected in [
            (["a.bag", "b.blp"], "a bag becomes"),
            (["a.bag", "odd.xyz"], "--to"),
            (["a.bag", "b.csv"], "a bag becomes"),
            (["odd", "b.bag"], "--from"),
            (["-", "b.bag"], "--from"),
            (["x.csv", "b.bag", "--from", "csv"], "--from lines"),
            (["x.txt", "-", "--to", "bagz", "--separate"], "'-' takes one"),
            (["x.txt", "b.bag", "--codec", "lz4"], "--codec"),
            (["x.txt", "b.bag", "--chunks", "3"], "--chunks"),
            (["a.bag", "b.txt", "--shards", "3"], "--shards"),
            (["a.bag", "b.txt", "--level", "3"], "--level"),
            (["x.txt", "b.bag", "--limits", "tail"], "--limits"),
            (["x.txt", "b.bag", "--skip-damaged"], "--skip-damaged"),
            (["x.txt", "b.bag", "--columns", "x"], "--columns"),
            (["x.txt", "b.bag", "--shard", "1"], "--shards"),
            (["x.txt", "b.bag", "--shard", "3", "--shards", "3"], "0 to 2"),
            (["x.txt", "b.bag", "--shards", "0"], "--shards"),
            (["c.blp", "b.bag"], "superchunk"),
            (["x.txt", "b.npy", "--from", "tfrecord"], "--to bagz"),
            (["c.blp", "d.blp", "--separate"], "--separate"),
            (["c.blp", "d.arrow"], "tables and bags"),
        ]:
            with self.subTest(args=args):
                self.assertIn(expected, self.fails("convert", *args, code=2)[0])
        for args in [
            ["nope.bag", "b.bag"],
            ["nope.txt", "b.bag"],
            ["nope", "b.bag"],
            ["nope.bag", "b.txt"],
            ["x.txt", "x.txt", "--to", "bagz", "--force"],
        ]:
            self.fails("convert", *args)
        self.assertEqual(self.files(), files)


class Parts(Base):
    def setUp(self):
        super().setUp()
        self.records = self.pack("a.bagz", [b"record %d" % i for i in range(1000)])

    def test_selected_records_are_converted(self):
        self.good("convert", "a.bagz", "b.bag", "--slice", "::-100")
        self.assertEqual(self.good("cat", "--lengths", "b.bag"), framed(self.records[::-100]))
        self.good("convert", "a.bagz", "c.txt", "--records", "5,-1,5")
        self.assertEqual(self.read("c.txt"), lines([self.records[i] for i in (5, -1, 5)]))
        self.good("convert", "a.bagz", "d.arrow", "--slice", ":3")
        self.good("convert", "d.arrow", "d.bag")
        self.assertEqual(self.good("cat", "--lengths", "d.bag"), framed(self.records[:3]))
        self.assertIn("1000", self.fails("convert", "a.bagz", "e.bag", "--records", "1000")[0])
        message, _ = self.fails("convert", "c.txt", "e.bag", "--slice", ":1", code=2)
        self.assertIn("--slice", message)
        self.assertNotIn("e.bag", self.files())

    def test_stored_frames_are_copied(self):
        records = [b"record %d " % i * (i % 40) for i in range(3000)]
        self.pack("s.bagz", records, "--level", "19")
        stored = self.read("s.bagz")
        ends = struct.unpack("<Q", stored[-8:])[0]
        self.good("merge", "-q", "s.bagz", "b.bagz")
        self.good("convert", "-q", "s.bagz", "c.bagz")
        for name in ("b.bagz", "c.bagz"):
            self.assertEqual(self.read(name), stored)
        self.good("split", "-q", "s.bagz", "-n", "2", "d.bagz")
        parts = [self.read("d-0000%d-of-00002.bagz" % i) for i in (0, 1)]
        parts = [part[: struct.unpack("<Q", part[-8:])[0]] for part in parts]
        self.assertEqual(b"".join(parts), stored[:ends])
        # another level, or none, encodes again
        self.good("convert", "-q", "--level", "1", "s.bagz", "e.bagz")
        self.assertNotEqual(self.read("e.bagz"), stored)
        self.good("convert", "-q", "s.bagz", "f.bag")
        self.good("convert", "-q", "f.bag", "g.bagz")
        for name in ("e.bagz", "f.bag", "g.bagz"):
            self.assertEqual(self.good("sum", name).split()[0], self.good("sum", "s.bagz").split()[0])

    def test_a_corrupt_record_is_named_or_omitted_by_copies(self):
        records = [b"record %d" % i * 20 for i in range(3000)]
        self.pack("s.bagz", records)
        data = bytearray(self.read("s.bagz"))
        end = struct.unpack("<Q", data[-8:])[0]
        data[struct.unpack_from("<Q", data, end + 8 * 1999)[0] + 9] ^= 0xFF
        self.write("s.bagz", bytes(data))
        for command in (["merge", "s.bagz", "b.bagz"], ["convert", "s.bagz", "b.bagz"]):
            self.assertIn("record 2000", self.fails(*command)[0])
            self.assertFalse(os.path.exists(self.path("b.bagz")))
        self.fails("merge", "-q", "--skip-damaged", "s.bagz", "b.bagz")
        self.assertEqual(self.good("count", "b.bagz").split()[0], b"2999")
        self.good("verify", "-q", "b.bagz")

    def test_a_bag_is_split_and_merged(self):
        for n in [1, 3, 1000]:
            self.good("split", "a.bagz", "-n", str(n), "p.bag", "-q")
            spec = "p@%d.bag" % n
            self.assertEqual(self.good("cat", "--lengths", spec), framed(self.records))
            counts = [shard["size"] for shard in self.info(spec).get("files", [])]
            self.assertTrue(n == 1 or max(counts) - min(counts) <= 1)
            self.good("merge", spec, "a.bagz", "m.bagz", "--force")
            self.assertEqual(self.good("cat", "--lengths", "m.bagz"), framed(self.records * 2))
            for name in self.files():
                if "p-0" in name:
                    os.remove(self.path(name))

    def test_a_dictionary_is_trained_stored_and_exported(self):
        text = b"".join(b"user %d of the city of Osaka\n" % i for i in range(60_000))
        self.good("pack", "-q", "-", "plain.bagz", stdin=text)
        self.good("pack", "-q", "--train-dictionary", "-", "auto.bagz", stdin=text)
        stored = self.good("dictionary", "export", "auto.bagz", "-")
        shown = json.loads(self.good("dictionary", "show", "--json", "auto.bagz"))
        self.assertEqual(shown["bytes"], len(stored))
        self.assertEqual(self.info("auto.bagz")["dictionary"], len(stored))
        self.assertNotIn("dictionary", self.info("plain.bagz"))
        self.good("dictionary", "train", "--size", "4K", "plain.bagz", "a.dict")
        self.good("dictionary", "train", "--size", "4K", "-", "b.dict", stdin=text)
        trained = self.read("a.dict")
        self.assertEqual(trained, self.read("b.dict"))
        self.assertLessEqual(len(trained), 4096)
        store = ["--dictionary", "a.dict", "--store-dictionary"]
        self.good("pack", "-q", *store, "--shards", "2", "-", "given.bagz", stdin=text)
        self.good("dictionary", "export", "--force", "given@2.bagz", "b.dict")
        self.assertEqual(trained, self.read("b.dict"))
        self.good("pack", "-q", "--append", "-", "auto.bagz", stdin=b"one more\n")
        records = text.splitlines()
        self.assertEqual(self.good("cat", "--lengths", "auto.bagz"), framed([*records, b"one more"]))
        self.good("convert", "-q", "--train-dictionary", "plain.bagz", "copy.bagz")
        for name in ("given@2.bagz", "copy.bagz"):
            self.assertEqual(self.good("cat", "--lengths", name), framed(records))
            self.good("verify", name)
            self.assertLess(self.info(name)["bytes"], self.info("plain.bagz")["bytes"] * 0.8)
        shard = "given-00000-of-00002.bagz"
        intact = self.read(shard)
        middle = intact.index(trained) + len(trained) // 2
        self.write(shard, intact[:middle] + bytes(64) + intact[middle + 64 :])
        self.fails("verify", "given@2.bagz")
        self.fails("repair", shard)  # alone, nothing proves what the bytes were
        self.assertNotEqual(self.read(shard), intact)
        self.good("repair", "given@2.bagz")
        self.assertEqual(self.read(shard), intact)
        self.write("raw", b"user of the city of Osaka")
        raw = json.loads(self.good("dictionary", "show", "--json", "--dictionary", "raw", "plain.bagz"))
        self.assertEqual((raw["id"], raw["bytes"]), (None, 25))
        self.assertIn("stores no dictionary", self.fails("dictionary", "show", "plain.bagz")[0])
        self.assertIn("too few", self.fails("dictionary", "train", "-", "c.dict", stdin=b"one\n")[0])
        self.assertIn("--force", self.fails("dictionary", "export", "auto.bagz", "a.dict")[0])
        self.assertIn("uncompressed", self.fails("pack", "--train-dictionary", "-", "x.bag", stdin=text)[0])

    def test_advice_names_what_would_be_smaller(self):
        text = b"".join(b"user %d of the city of Osaka\n" % i for i in range(60_000))
        said = run("pack", "-", "lines.bagz", stdin=text, cwd=self.folder.name).stderr
        self.assertRegex(said, rb"larger: --codec none would need \d+ %.*--train-dictionary about")
        text = b"".join(b"%d\n" % i for i in range(300_000))
        said = run("pack", "-", "numbers.bagz", stdin=text, cwd=self.folder.name).stderr
        self.assertRegex(said, rb"larger: --codec none would need \d+ %")
        self.assertNotIn(b"--train-dictionary", said)

    def test_failures_of_parts_leave_no_files(self):
        self.good("pack", "-q", "a.bagz", "c.blp", "--raw")
        self.write("p-00001-of-00002.bagz", b"something")
        files = self.files()
        self.fails("split", "a.bagz", "-n", "2", "p.bagz")
        self.fails("split", "a.bagz", "-n", "1001", "p.bagz", code=2)
        self.fails("split", "a.bagz", "p.bagz", code=2)
        self.fails("merge", "a.bagz", "none.bagz", "m.bagz")
        self.fails("merge", "a.bagz", "c.blp", "m.bagz", code=2)
        self.fails("merge", "a.bagz", "-", code=2)
        self.assertEqual(self.files(), files)
        self.flip("a.bagz", 3)
        self.fails("merge", "a.bagz", "m.bagz")
        self.fails("split", "a.bagz", "-n", "2", "q.bagz")
        self.assertEqual(self.files(), files)
        self.fails("merge", "a.bagz", "m.bagz", "--skip-damaged", "-q")
        self.assertEqual(self.info("m.bagz")["size"], 999)


class Damage(Base):
    def refused(self, name, data, *parts):
        """The tool rejects the data, names these parts in its message, and leaves no bag."""
        for args, stdin in [(["in"], b""), (["-"], data)]:
            self.write("in", data)
            message, _ = self.fails("convert", "--from", name, *args, "a.bagz", stdin=stdin)
            for part in parts:
                self.assertIn(part, message)
            self.assertEqual(self.files(), ["in"])

    def test_truncated_files_are_refused(self):
        records = [b"one", b"", b"three" * 10]
        for name in ["lengths32", "lengths64", "tfrecord"]:
            whole = FORMATS[name](records)
            ends = [len(FORMATS[name](records[:i])) for i in range(4)]
            for n in range(1, len(whole)):
                if n in ends:
                    continue
                i = sum(end <= n for end in ends) - 1
                if n % 3 == 0 or n in (1, len(whole) - 1):
                    self.refused(name, whole[:n], "record %d at byte %d: " % (i, ends[i]))

    def test_wrong_lengths_are_refused(self):
        for name, data in [
            ("lengths32", b"\xff\xff\xff\xff"),
            ("lengths64", b"\xff" * 8),
            ("lengths64", b"\0\0\0\0\0\1\0\0"),
        ]:
            self.refused(name, data + b"abc", "record 0 at byte 0: ")
        length = struct.pack("<Q", 1 << 50)
        self.refused("tfrecord", length + masked(length) + b"abc", "record 0 at byte 0: ")
        # The size of a pipe is unknown: the tool neither waits for the data nor allocates memory.
        message, _ = self.fails(
            "convert",
            "--from",
            "lengths64",
            "-",
            "a.bag",
            "--memory-limit",
            "1M",
            stdin=struct.pack("<Q", 1 << 50) + bytes(9 << 20),
        )
        self.assertIn("--memory-limit", message)

    def test_checksums_of_tfrecord_are_verified(self):
        records = [b"record number %d" % i for i in range(20)]
        data = tfrecord(records)
        at = len(tfrecord(records[:7]))
        for offset, expected in [
            (at, "CRC-32C of its length"),
            (at + 9, "CRC-32C of its length"),
            (at + 13, "its CRC-32C"),
            (len(tfrecord(records[:8])) - 1, "its CRC-32C"),
        ]:
            corrupt = bytearray(data)
            corrupt[offset] ^= 4
            self.refused("tfrecord", bytes(corrupt), "record 7 at byte %d: " % at, expected)
            self.write("in", bytes(corrupt))
            if expected == "its CRC-32C":
                message, _ = self.fails(
                    "convert", "--from", "tfrecord", "in", "a.bagz", "--skip-damaged", "-q"
                )
                self.assertIn("record 7 at byte %d: " % at, message)
                self.assertEqual(
                    self.good("cat", "--lengths", "a.bagz"), framed(records[:7] + records[8:])
                )
                os.remove(self.path("a.bagz"))

    def test_gzip_is_refused(self):
        packer = zlib.compressobj(wbits=31)
        self.refused(
            "tfrecord", packer.compress(tfrecord([b"x" * 100])) + packer.flush(), "gzip", "gunzip"
        )
        self.refused("tfrecord", zlib.compress(tfrecord([b"x" * 100])), "zlib")

    def test_records_that_a_format_cannot_store_are_refused(self):
        self.good(
            "convert", "--from", "lengths64", "-", "a.bagz", stdin=framed([b"one", b"two\nthree"])
        )
        for args in [["a.bagz", "a.txt"], ["a.bagz", "-", "--to", "lines"]]:
            message, _ = self.fails("convert", *args)
            self.assertIn("record 1 ", message)
            self.assertIn("newline", message)
        self.assertEqual(self.files(), ["a.bagz"])

    def test_corrupt_records_of_a_bag_are_skipped_on_request(self):
        records = self.pack("a.bag", [b"record number %04d" % i for i in range(100)])
        self.flip("a.bag", 18 * 7 + 3)
        for name in ["o.txt", "o.tfrecord", "o.arrow"]:
            message, _ = self.fails("convert", "a.bag", name)
            self.assertIn("record 7", message)
            self.assertNotIn(name, self.files())
        self.fails("convert", "a.bag", "o.txt", "--skip-damaged", "-q")
        self.assertEqual(self.read("o.txt"), lines(records[:7] + records[8:]))

    def test_compressed_arrow_is_read(self):
        records = [b"one", b"", b"ab" * 300, b"x" * 40]
        for stream in [
            # PyArrow 26: binary with LZ4, and binary_view with zstd
            "c-nPPJqyAx6uh*t7719PNQZ*p<l=vDaTEj>!NCu3RdMPl`e*!?@shl1D0q<E`?%bDt+m$P02FW-z#u~pIU_=8=3tid)^fAV"
            "Q~Eb0YZ>}pRfvbujw{hZ^mm`@Z;fN^TYMZ0UxdlVyCK!6Nn8A2SSkD-LF0P0c<4yi&PnkfvkuRrp6d7^+EY(g)nV}*G2F<S"
            "k6i-1lF)BibYq75>*ahrCH&;&q)`~I8;9sWIQ{_j@gC3",
            "c-nPPI|{-;5PiF@iAWHOfMVm8DFj=^#zQDrnt-Jr#3E(D!*~J@VCONsh^%kd@q^%lnb~>!=FKL~IkyAQhDQ?#BGl2~iBN_;"
            "*fp4qWYUZ@%%tQZ#6i^-57qItD_V$tAA0lVxYk|8$0I>cHYdRiH3Q4C#5Y>x((sam+gfA}j1glX-(bGfO5%fvlQHx2x`zLl"
            "NS#XU|M;38{Y#gfhj%-jE2P@nZ#OF}G>{j0fs8~+c%3IT?8M%5n5*<>ep#tCVDq9ZH7>`~Y&;16%ili$8{Q;4",
        ]:
            data = zlib.decompress(base64.b85decode(stream))
            self.write("in.arrows", data)
            self.good("convert", "in.arrows", "out.bag", "--force")
            self.assertEqual(self.good("cat", "--lengths", "out.bag"), framed(records))
            message, _ = self.fails("convert", "in.arrows", "o3.bag", "--memory-limit", "600")
            self.assertIn("batch 0 at byte", message)
            for at in range(0, len(data), 3):
                corrupt = bytearray(data)
                corrupt[at] ^= 0x81
                self.write("in.arrows", bytes(corrupt))
                done = run(
                    "convert", "-q", "in.arrows", "o2.bag", "--force", cwd=self.folder.name
                )
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertRegex(done.stderr, rb"^(holdall: [^\n]*\n)?$")

    def test_malformed_arrow_is_refused(self):
        self.good(
            "convert",
            "--from",
            "lines",
            "-",
            "a.bagz",
            stdin=b"one\ntwo\nthree and more than twelve\n",
        )
        for name in ["a.arrow", "a.arrows"]:
            self.good("convert", "a.bagz", name)
        whole, stream = self.read("a.arrow"), self.read("a.arrows")
        for n in range(0, len(whole), 13):
            self.write("cut.arrow", whole[:n])
            self.fails("convert", "cut.arrow", "b.bag")
        r = random.Random(5)
        for data in [whole, stream]:
            for _ in range(150):
                corrupt = bytearray(data)
                for _ in range(r.choice([1, 1, 4])):
                    corrupt[r.randrange(len(corrupt))] = r.choice(
                        [0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)]
                    )
                self.write("corrupt.arrow", bytes(corrupt))
                done = run(
                    "convert",
                    "-q",
                    "corrupt.arrow",
                    "b.bag",
                    "--force",
                    "--memory-limit",
                    "16M",
                    cwd=self.folder.name,
                )
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertRegex(done.stderr, rb"^(holdall: [^\n]*\n)?$")
        for data, expected in [
            (b"PAR1" + bytes(20), "Parquet"),
            (b"FEA1" + bytes(20), "Feather"),
            (b"", "no schema"),
            (b"what is this, " * 9, "another kind"),
        ]:
            self.write("other.arrow", data)
            self.assertIn(expected, self.fails("convert", "other.arrow", "c.bag")[0])

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_device_is_an_error(self):
        self.pack("a.bag", [b"x" * 1000] * 1000, "--no-sync")
        for kind in ["lines", "tfrecord", "arrow", "arrow-stream"]:
            with open("/dev/full", "wb") as full:
                p = subprocess.run(
                    [TOOL, "convert", "a.bag", "-", "--to", kind],
                    cwd=self.folder.name,
                    stdout=full,
                    stderr=subprocess.PIPE,
                )
            self.assertEqual(
                (p.returncode, p.stderr),
                (1, b"holdall: standard output: No space left on device\n"),
                kind,
            )
            message, _ = self.fails("convert", "a.bag", "/dev/full", "--to", kind)
            self.assertIn("No space left", message)

    def test_a_signal_leaves_no_file(self):
        data = tfrecord([b"x" * 50] * 100) * 200
        for number in [signal.SIGINT, signal.SIGTERM]:
            self.interrupt_fed(number, data, "convert", "--from", "tfrecord", "-", "a.bag")
            self.assertEqual(self.files(), [])

    def test_memory_is_bounded(self):
        if sys.platform != "linux":
            self.skipTest("ulimit -v")
        self.write(
            "in",
            b"".join(struct.pack("<I", 100_000) + bytes([i % 256]) * 100_000 for i in range(600)),
        )
        kilobytes = 77824 + os.path.getsize(TOOL) // 1024
        line = (
            f'ulimit -v {kilobytes}; "$0" convert -q --threads 1 --from lengths32 in a.bag && '
            '"$0" convert -q --threads 1 a.bag a.arrow && '
            '"$0" convert -q --threads 1 a.arrow b.bag'
        )
        p = subprocess.run(["sh", "-c", line, TOOL], cwd=self.folder.name, capture_output=True)
        self.assertEqual((p.returncode, p.stderr), (0, b""))
        self.assertEqual(self.good("sum", "a.bag").split()[0], self.good("sum", "b.bag").split()[0])

    @unittest.skipUnless(sys.platform == "linux", "ulimit -v counts differently")
    def test_a_failed_allocation_is_an_error(self):
        self.write("in", b"".join(struct.pack("<I", 100_000) + bytes(100_000) for _ in range(600)))
        self.good("convert", "-q", "--from", "lengths32", "in", "a.bag")
        before = self.files()

        def limited(kilobytes, threads, *args):
            # a backtrace would allocate while the standard library holds a lock
            line = 'ulimit -v $1; export HOLDALL_THREADS=$2 RUST_BACKTRACE=1; shift 2; exec "$0" "$@"'
            return subprocess.run(
                ["sh", "-c", line, TOOL, str(kilobytes), threads, *args],
                cwd=self.folder.name, capture_output=True, timeout=60,
            )  # fmt: skip

        # the least memory in which the tool starts depends on the system
        least = next(n for n in itertools.count(8000, 1000) if not limited(n, "1", "-V").returncode)
        codes = set()
        for threads, more in itertools.product(["1", "3"], range(1000, 100_000, 2300)):
            p = limited(least + more, threads, "convert", "-q", "a.bag", "a.arrow")
            codes.add(p.returncode)
            if p.returncode == 0:
                os.remove(self.path("a.arrow"))
            else:
                self.assertEqual(p.returncode, 1, (threads, more, p.stderr))
                self.assertRegex(p.stderr, rb"(?m)^holdall: .*(memory|allocation)", more)
            self.assertEqual(self.files(), before, (threads, more, p.stderr))
        self.assertEqual(codes, {0, 1})


if __name__ == "__main__":
    unittest.main()
