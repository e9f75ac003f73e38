#!/usr/bin/env python3
"""Tests of the command-line tool: what all commands share, and info. See tool.py."""

import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from tool import LONG, TOOL, Base, digest, framed, run, run_once, sample

COMMANDS = [
    "info",
    "ls",
    "tree",
    "schema",
    "count",
    "cat",
    "head",
    "tail",
    "sample",
    "pack",
    "unpack",
    "append",
    "convert",
    "trim",
    "attr",
    "index",
    "verify",
    "repair",
    "sum",
    "identify",
]


class Containers(Base):
    """Containers of each kind, as inputs and as outputs of commands."""

    def setUp(self):
        super().setUp()
        self.write("raw", bytes(range(240)))
        self.pack("r.bag", [b"one", b"two"])
        self.pack("r.bagz", [b"one", b"two"])
        self.write("t.csv", b"x,y\n1,a\n2,b\n")
        self.good("pack", "-q", "raw", "s.blp")
        for end in ("blp", "b2nd", "caterva", "b2frame", "bcolz", "blz", "npy"):
            self.good("convert", "-q", "raw", "a." + end, "--dtype", "<i4")
        self.good("convert", "-q", "t.csv", "t.bcolz")
        self.good("convert", "-q", "t.bcolz", "t.arrow")
        self.good("convert", "-q", "a.npy", "f.b2nd", "--sparse")
        self.kinds = [
            "r.bagz",
            "s.blp",
            "a.blp",
            "a.b2nd",
            "a.caterva",
            "a.b2frame",
            "a.bcolz",
            "a.blz",
            "a.npy",
            "t.bcolz",
            "t.arrow",
            "f.b2nd",
        ]

    def test_containers_are_not_read_as_plain_items(self):
        for name in self.kinds:
            other = "other-" + name.replace(".", "-")  # detected by its bytes, not its name
            os.rename(self.path(name), self.path(other))
            before = self.files()
            for args in [
                ["convert", other, "o.b2nd", "--dtype", "|u1"],
                ["convert", other, "o.blp", "--dtype", "|u1"],
                ["convert", other, "o.npy", "--dtype", "|u1"],
                ["pack", other, "o.bagz"],
            ]:
                with self.subTest(args=args):
                    self.fails(*args, code=2)
                    self.assertEqual(self.files(), before)
            if os.path.isfile(self.path(other)):
                self.good("convert", "-q", "--from", "raw", "--dtype", "|u1", other, "o.b2nd")
                self.assertEqual(self.good("cat", "o.b2nd"), self.read(other))
                os.remove(self.path("o.b2nd"))
                for to in ("a.b2nd", "t.bcolz"):
                    if (
                        self.path(to) != self.path(name)
                        and "npy" not in name
                        and os.path.exists(self.path(to))
                    ):
                        self.fails("append", to, other)
            os.rename(self.path(other), self.path(name))

    def test_a_long_path_does_not_truncate_the_reason(self):
        for n in range(50, 1500, 50):
            name = "/".join(["d" * 49] * (n // 50)) + "/n.blp"
            for args in [["verify", name], ["pack", "raw", name], ["sum", "/" + name]]:
                self.assertRegex(self.fails(*args)[0], "(?i)no such (file|folder)")

    def test_a_long_operand_does_not_truncate_a_usage_error(self):
        for depth in (3, 12, 15):
            long = "/".join(["d" * 200] * depth)
            for args, reason in [
                (
                    ["pack", "--shards", "2", "raw", long + "@2.bagz"],
                    "says how many files there are, and so does --shards",
                ),
                (["convert", "a.npy", long + ".zarr"], "ends in none of .blp|"),
                (["pack", "raw", long + ".b2nd"], "convert makes one"),
                (
                    ["pack", "--append", "raw", long + "/a", long + "/b", "--to", "bagz"],
                    "one operand too many",
                ),
                (["pack", "raw", "-" + long], "unknown option -d"),
            ]:
                message, _ = self.fails(*args, code=2)
                self.assertIn(reason, message)
                self.assertTrue(message.endswith(" --help)\n"), message)
                self.assertTrue("..." in message or "unknown option" in message, message)
        folder = "/".join(["d" * 200] * 3)
        os.makedirs(self.path(folder))
        os.rename(self.path("a.b2nd"), self.path(folder + "/a.b2nd"))
        self.assertIn(
            "which has its own types",
            self.fails("convert", folder + "/a.b2nd", "o.blp", "--dtype", "<i4", code=2)[0],
        )
        message, _ = self.fails("convert", folder + "/a.b2nd", folder + "/o.bagz", code=2)
        self.assertRegex(
            message,
            r"'d+\.\.\.d+/o\.bagz' becomes a bag, which has records, and 'd+\.\.\.d+/a\.b2nd' is a dataset \(usage: ",
        )

    def stored_files(self):
        """Creates files of other formats. Returns the format of each, by file name."""
        self.good("convert", "-q", "r.bagz", "r.tfrecord")
        self.good("convert", "-q", "r.bagz", "r.arrow")
        self.good("convert", "-q", "r.bagz", "r.arrows")
        self.good("convert", "-q", "t.bcolz", "t.arrows")
        self.good("index", "build", "-q", "r.bagz")
        return {
            "r.tfrecord": "tfrecord",
            "r.arrow": "arrow",
            "r.arrows": "arrow-stream",
            "t.arrows": "arrow-stream",
            "r.bagz.index": "bagz-index",
        }

    def test_other_formats_are_not_read_as_items_or_lines(self):
        for name, format in [
            *self.stored_files().items(),
            ("f.b2nd/00000000.chunk", "b2frame"),
            ("f.b2nd/chunks.b2frame", "b2nd"),
            ("a.bcolz/data/__0.blp", "bloscpack"),
        ]:
            other = name if "/" in name else "other"
            os.rename(self.path(name), self.path(other))
            before = self.files()
            for args in [
                ["convert", other, "o.b2nd", "--dtype", "|u1"],
                ["convert", other, "o.blp", "--dtype", "|u1"],
                ["pack", other, "o.bagz"],
            ]:
                self.assertIn(
                    f"is a file of {format}, which has ", self.fails(*args, code=2)[0], args
                )
            self.assertIn(f"it is a file of {format}, ", self.fails("append", "a.blp", other)[0])
            self.assertEqual(self.files(), before)
            self.good("convert", "-q", "--from", "raw", "--dtype", "|u1", other, "o.b2nd")
            self.assertEqual(self.good("cat", "o.b2nd"), self.read(other))
            os.remove(self.path("o.b2nd"))
            os.rename(self.path(other), self.path(name))
        self.write("0.chunk", b"a line\n")  # Not in the folder of a frame.
        self.good("pack", "-q", "0.chunk", "o.bagz")

    def test_the_format_of_standard_input_is_detected(self):
        self.good("convert", "-q", "a.npy", "to.blp")
        known = {
            **self.stored_files(),
            "a.npy": "npy",
            "a.blp": "bloscpack",
            "a.b2nd": "b2frame",
            "a.b2frame": "b2frame",
            "r.bagz": "zstd",
        }
        for name, format in known.items():
            data, before = self.read(name), self.files()
            for args, code in [
                (["convert", "-", "o.b2nd", "--dtype", "|u1", "--shape", str(len(data))], 2),
                (["pack", "-", "o.bagz"], 2),
                (["append", "to.blp", "-"], 1),
                (["append", "t.bcolz", "-"], 1),
            ]:
                self.assertIn(
                    f" a file of {format}, ", self.fails(*args, code=code, stdin=data)[0], args
                )
                with open(self.path(name), "rb") as file:
                    done = subprocess.run(
                        [TOOL, *args], cwd=self.folder.name, stdin=file, capture_output=True
                    )
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(f" a file of {format}, ", done.stderr.decode())
                self.assertEqual(self.files(), before)
            self.good(
                "convert",
                "-q",
                "-",
                "o.b2nd",
                "--from",
                "raw",
                "--dtype",
                "|u1",
                "--shape",
                str(len(data)),
                stdin=data,
            )
            self.assertEqual(self.good("cat", "o.b2nd"), data)
            self.good("pack", "-q", "-", "o.blp", stdin=data)
            self.assertEqual(self.good("cat", "o.blp"), data)
            for made in ("o.b2nd", "o.blp"):
                os.remove(self.path(made))

    def test_detection_does_not_consume_standard_input(self):
        for n in (0, 1, 5, 4095, 4096, 4097, 300000):
            data = bytes(range(1, 252)) * (n // 251 + 1)
            self.good(
                "convert",
                "-q",
                "--force",
                "-",
                "o.b2nd",
                "--dtype",
                "|u1",
                "--shape",
                str(n),
                stdin=data[:n],
            )
            self.assertEqual(self.good("cat", "o.b2nd"), data[:n])
            lines = b"".join(b"%d\n" % i for i in range(n // 8))
            self.good("pack", "-q", "--force", "-", "o.bagz", stdin=lines)
            self.assertEqual(self.good("cat", "--lengths", "o.bagz"), framed(lines.split()))
        with open(self.path("raw"), "rb") as file:  # A shell has read the first bytes.
            file.seek(40)
            os.lseek(file.fileno(), 40, os.SEEK_SET)
            subprocess.run(
                [TOOL, "convert", "-q", "--force", "-", "o.b2nd", "--dtype", "<i4"],
                cwd=self.folder.name,
                stdin=file,
                check=True,
            )
        self.assertEqual(self.good("cat", "o.b2nd"), bytes(range(40, 240)))

    def test_force_is_suggested_only_where_it_helps(self):
        self.good("pack", "-q", "raw", "o", "--to", "blpk")
        os.mkdir(self.path("folder"))
        self.write("folder/mine", b"x")
        for source, to in [
            ("a.npy", "b2nd"),
            ("a.npy", "blpk"),
            ("a.npy", "b2frame"),
            ("a.b2nd", "blpk"),
            ("a.b2nd", "b2frame"),
            ("a.blp", "b2nd"),
            ("t.bcolz", "bcolz"),
            ("t.bcolz", "blpk"),
        ]:
            args = ["convert", source, "folder", "--to", to]
            self.assertIn("--force", self.fails("convert", source, "o", "--to", to)[0])
            self.assertNotIn("--force replaces", self.fails(*args, "--force")[0], args)
        self.assertNotIn(
            "--force replaces", self.fails("index", "build", "--force", "r.bagz", "--index", "folder")[0]
        )
        self.assertEqual(os.listdir(self.path("folder")), ["mine"])

    def test_unknown_endings_are_refused(self):
        before = self.files()
        for name in self.kinds + ["t.csv", "raw"]:
            for end in (".parquet", ".zarr", ".bn2d", ".B2ND", ".npz", ".v1", ".zarr/", ".b2nd.gz"):
                flags = ["--dtype", "<i4"] if name == "raw" else []
                for args in [["convert", name, "o" + end, *flags], ["pack", "raw", "o" + end]]:
                    with self.subTest(args=args):
                        message = self.fails(*args, code=2)[0]
                        self.assertIn("--to", message)
                        self.assertEqual(self.files(), before)
        known = re.search(r"none of (\S+)", self.fails("convert", "a.npy", "o.zarr", code=2)[0])[
            1
        ].split("|")
        records = {".bag", ".bagz", ".txt", ".lines", ".tfrecord", ".tfrecords"}
        self.assertLess({".b2nd"} | records, set(known))
        for end in sorted(records - {".bag", ".bagz"}):
            self.assertIn(
                "the name of a file of records",
                self.fails("convert", "a.npy", "o" + end, code=2)[0],
            )
        for end in known:
            taken = (
                "r.bagz"
                if end in records
                else "t.bcolz" if end in (".arrow", ".arrows", ".feather") else "a.npy"
            )
            self.good("convert", "-q", taken, "k" + end)
        self.good("convert", "-q", "a.npy", "o.zarr", "--to", "b2nd")
        self.good("convert", "-q", "a.npy", "plain")
        for name in ("plain2", "p.bagz", "p.bag", "p@2.bagz"):
            self.good("pack", "-q", "t.csv", name)


class Usage(Base):
    def test_help_and_version_are_printed(self):
        overview = self.good("--help").decode()
        for c in COMMANDS:
            self.assertIn(c, overview)
            for flag in ("--help", "-h"):
                text = self.good(c, flag).decode()
                if c == "index":
                    text += self.good(c, "build", flag).decode()
                self.assertIn("Usage: holdall " + c, text)
                self.assertIn("--quiet", text)
        self.assertRegex(self.good("--version").decode(), r"^holdall \d+\.\d+\.\d+ .*zstd/\d")

    def test_signals_that_a_parent_ignores_still_end_the_tool(self):
        """The tests can stop the tool by signals even if their parent ignores these."""
        ask = (
            "import signal; "
            "print([signal.getsignal(n) for n in (2, 15)], signal.pthread_sigmask(0, []))"
        )
        tests = (
            "import signal, subprocess, sys, tool; "
            f"subprocess.run([sys.executable, '-c', {ask!r}], check=True)"
        )

        def ignore():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

        here = {
            "cwd": os.path.dirname(os.path.abspath(__file__)),
            "stdout": subprocess.PIPE,
            "check": True,
        }
        usual = subprocess.run([sys.executable, "-c", tests], **here).stdout
        self.assertEqual(
            subprocess.run([sys.executable, "-c", tests], preexec_fn=ignore, **here).stdout, usual
        )
        self.assertIn(b"set()", usual)

    def test_wrong_usage_exits_with_2(self):
        self.pack("a.bag", [b"x"])
        for args in [
            [],
            ["nonsense"],
            ["--nonsense"],
            [""],
            ["info"],
            ["info", "a.bag", "b.bag"],
            ["info", ""],
            ["cat"],
            ["cat", "a.bag", "--nonsense"],
            ["cat", "a.bag", "-x"],
            ["cat", "a.bag", "--json"],
            ["cat", "a.bag", "--slice", "1"],
            ["cat", "a.bag", "--slice", "::0"],
            ["cat", "a.bag", "--slice", "1:2:3:4"],
            ["cat", "a.bag", "--slice", "1:x"],
            ["cat", "a.bag", "--slice", "1: 2"],
            ["cat", "a.bag", "--slice="],
            ["cat", "a.bag", "--slice"],
            ["cat", "a.bag", "--records", "1,"],
            ["cat", "a.bag", "--records", ",1"],
            ["cat", "a.bag", "--records", "1;2"],
            ["cat", "a.bag", "--records", "0x1"],
            ["cat", "a.bag", "--records="],
            ["cat", "a.bag", "--lengths=1"],
            ["cat", "a.bag", "--length"],
            ["cat", "a.bag", "--threads", "-1"],
            ["cat", "a.bag", "--threads", "2x"],
            ["cat", "a.bag", "--threads", "99999999999999999999"],
            ["cat", "a.bag", "--limits", "tails"],
            ["cat", "a.bag", "--limits", "tail|separate"],
            ["cat", "a.bag", "--limits-storage", "ram"],
            ["cat", "a.bag", "--shard-order", "2"],
            ["cat", "a.bag", "--codec", "gzip"],
            ["cat", "a.bag", "--dictionary"],
            ["cat", "a.bag", "--memory-limit", "1T"],
            ["cat", "a.bag", "--memory-limit", "-1"],
            ["cat", "a.bag", "--memory-limit", "1KB"],
            ["cat", "a.bag", "--memory-limit", "9999999999G"],
            ["pack", "x", "y.blp", "--chunk-size", "0"],
            ["pack", "x", "y.blp", "--chunk-size", "2G"],
            ["convert", "a.bag", "y.blp", "--chunk-size", "0"],
            ["pack", "x", "-", "--separate"],
            ["convert", "a.bag", "-", "--to", "bagz", "--shards", "2"],
            ["index", "build", "--index=-", "a.bag"],
            ["pack", "x"],
            ["pack", "x", "y", "z"],
            ["pack", "--append", "--force", "x", "y"],
            ["pack", "--level", "23", "x", "y"],
            ["pack", "--level", "1.5", "x", "y"],
            ["pack", "--level", "", "x", "y"],
            ["pack", "--map", "x", "y"],
            ["verify"],
            ["verify", "--unchecked", "a.bag"],
            ["repair"],
            ["repair", "a.bag", "b.bag"],
            ["repair", "--map", "a.bag"],
            ["sum"],
            ["sum", "--checksum", "zstd", "a.bag"],
            ["identify"],
            ["cat", "a.bag", "--to", "raw"],
            ["cat", "a.bag", "--to", "csv"],
            ["pack", "x", "y", "--to", "b2nd"],
            ["pack", "--codec", "lz4", "x", "y"],
            ["pack", "--metadata", "m", "x", "y.bagz"],
            ["pack", "--typesize=4", "x", "y.blp", "--to", "bagz"],
            ["pack", "x", "y", "z.blp"],
            *(
                ["pack", "x", "y.blp", *f.split()]
                for f in [
                    "--append",
                    "--separate",
                    "--whole",
                    "--dictionary d",
                    "--level 10",
                    "--level -1",
                    "--codec gzip",
                    "--filters byte",
                    "--typesize 0",
                    "--typesize 256",
                    "--chunk-size 12",
                    "--chunk-size 1001 --typesize 2",
                    "--chunk-size 1X",
                    "--checksum crc",
                    "--format-version 0",
                ]
            ),
            ["pack", "-", "y.blp", "--metadata", "-"],
            ["unpack", "x.blp"],
            ["unpack", "x.blp", "y", "z"],
            ["append", "x.blp"],
            ["append", "x.blp", "y", "z"],
            ["append", "--level", "10", "x.blp", "y"],
            ["append", "--checksum", "md5", "x.blp", "y"],
        ]:
            with self.subTest(args=args):
                message, out = self.fails(*args, code=2)
                self.assertEqual(out, b"")
                self.assertIn("--help", message)
                flag = next((a.split("=")[0] for a in args if re.match("--?[a-z]", a)), None)
                if flag and args[0] in COMMANDS and "exclude" not in message and flag != "--to":
                    self.assertIn(flag, message)
        self.assertEqual(self.files(), ["a.bag", "checksums.a.bag"])

    def test_help_shows_the_defaults_of_the_command(self):
        def help_of(command, flag):
            text = self.good(command, "--help").decode()
            return re.search(rf"  --{flag} .*\n(?: {{9}}.*\n)+", text)[0]

        self.assertIn("default: lz4", help_of("pack", "codec"))
        for command, expected in [("convert", "of IN"), ("append", "last chunk")]:
            for flag in ["codec", "filters"]:
                self.assertIn(expected, help_of(command, flag))
                self.assertNotIn("lz4)", help_of(command, flag))
        self.assertNotIn("bags", help_of("append", "level"))
        for flag in ["chunk-size", "checksum"]:
            self.assertIn("as in IN", help_of("convert", flag))

    def test_usage_errors_name_the_cause(self):
        self.pack("a.bag", [b"x"])
        self.good("pack", "-q", "-", "a.blp", stdin=b"content")
        self.write("x.npy", b"content")
        files = self.files()
        for args, expected in [
            (["append", "--level", "99", "a.blp", "x"], "from 0 to 9"),
            (["convert", "--level", "-1", "a.blp", "b.blp"], "from 0 to 9"),
            (["pack", "--level", "99", "x", "y.blp"], "from 0 to 9"),
            (["pack", "--level", "99", "x", "y.blp"], "to 22 for bags"),
            (["append", "x.npy", "a.blp"], "comes first"),
            (["append", "a.bag", "a.blp"], "comes first"),
            (["cat", "--slice", "3", "a.blp"], "3:4"),
            (["cat", "--slice", "0:2,1:3", "a.blp"], "one dimension"),
            (["convert", "a.blp", "b.bagz"], "b.bagz"),
            (["convert", "--to", "bcolz", "a.blp", "-"], "'-' takes one"),
            (["pack", "x.npy", "b.xyz"], "--to blpk"),
            (["pack", "x.npy", "b.bagz"], "--to bagz"),
            (["pack", "x.npy", "b.b2nd"], "convert makes one"),
            (["pack", "x", "b.b2frame"], "convert makes one"),
        ]:
            self.assertIn(expected, self.fails(*args, code=2)[0], args)
        self.assertEqual(self.files(), files)
        self.fails("append", "none.blp", "a.blp")
        self.good("pack", "-q", "--to", "bagz", "x.npy", "b.xyz")
        self.good("pack", "-q", "--whole", "x.npy", "c.bagz")

    def test_verify_counts_files_that_cannot_be_read(self):
        self.pack("a.bag", [b"x"])
        self.write("b.blp", b"blpk\x03\x00\x00\x00 and no more of it")
        message, _ = self.fails("verify", "a.bag", "b.blp", "none", lines=2)
        self.assertRegex(message, r"damage was found in 1 of 3, 1 could not be read\n$")

    def test_flags_may_stand_anywhere(self):
        records = self.pack("a.bag", [b"zero", b"one", b"two"])
        self.assertEqual(self.good("cat", "--slice", "1:", "a.bag"), b"onetwo")
        self.assertEqual(self.good("cat", "a.bag", "--slice=1:"), b"onetwo")
        self.assertEqual(self.good("cat", "--slice=0:1", "a.bag", "--slice", "-1:"), b"two")
        self.assertEqual(self.good("cat", "-q", "--threads=1", "--", "a.bag"), b"".join(records))
        self.pack("./-x.bag", [b"dash"])
        self.assertEqual(self.good("cat", "--", "-x.bag"), b"dash")
        self.assertEqual(self.good("cat", "--lengths", "--", "-x.bag"), framed([b"dash"]))
        self.fails("cat", "--", "-x.bag", "--lengths", code=2)

    def test_reader_flags_do_not_change_the_records(self):
        records = self.pack("a.bagz", sample())
        for flags in [
            ["--limits", "tail"],
            ["--limits-storage", "disk"],
            ["--limits-storage=memory"],
            ["--codec", "auto"],
            ["--codec=zstd"],
            ["--shard-order", "concatenated"],
            ["--shard-order=interleaved"],
            ["--threads", "0"],
            ["--threads", "3"],
            ["--map"],
            ["--memory-limit", "1048576"],
            ["--memory-limit", "512K"],
            ["--memory-limit=1m"],
            ["--memory-limit", "2G"],
        ]:
            with self.subTest(flags=flags):
                self.assertEqual(self.good("cat", "a.bagz", "--lengths", *flags), framed(records))
                self.assertEqual(
                    self.good("sum", "a.bagz", *flags).decode(), digest(records) + "  a.bagz\n"
                )
                self.assertEqual(self.info("a.bagz", *flags)["size"], len(records))
                self.assertEqual(
                    self.good("verify", "a.bagz", *flags),
                    b"a.bagz: 100 intact, 0 corrupt, 0 unchecked\n",
                )


class Info(Base):
    def test_info_prints_json_or_text(self):
        records = sample()
        for name, flags, reader, compression, limits, checksum in [
            ("a.bag", [], [], "none", "tail", "crc32"),
            ("b.bagz", [], [], "zstd", "tail", "zstd"),
            ("c.bag", ["--separate"], ["--limits", "separate"], "none", "separate", "crc32"),
            (
                "d.bagz",
                ["--limits", "separate", "--checksum", "none"],
                ["--limits", "separate"],
                "zstd",
                "separate",
                "none",
            ),
            ("e.bag", ["--checksum", "none"], [], "none", "tail", "none"),
            ("f.bag", ["--codec", "zstd"], ["--codec", "zstd"], "zstd", "tail", "zstd"),
            (
                "g.bagz",
                ["--codec", "none"],
                ["--codec", "none"],
                "none",
                "tail",
                "crc32",
            ),
        ]:
            with self.subTest(name=name):
                self.pack(name, records, *flags)
                files = [
                    f for f in self.files() if f in (name, "limits." + name, "checksums." + name)
                ]
                size = sum(os.path.getsize(self.path(f)) for f in files)
                self.assertEqual(len(files), 1 + (limits == "separate") + (checksum == "crc32"))
                self.assertEqual(
                    self.info(name, *reader),
                    {
                        "path": name,
                        "format": "bagz",
                        "kind": "bag",
                        "size": 100,
                        "compression": compression,
                        "limits": limits,
                        "checksum": checksum,
                        "shards": 1,
                        "bytes": size,
                    },
                )
                lines = self.good("info", name, *reader).decode()
                for expected in [
                    "records: +100\n",
                    f"compression: +{compression}\n",
                    f"limits: +{limits}\n",
                    f"checksum: +{checksum}\n",
                    rf"bytes: +{size} \(\d\.\d KiB\)\n",
                    f"path: +{name}\n",
                ]:
                    self.assertRegex(lines, expected)

    def test_odd_names_are_printed_on_one_line(self):
        for name in ['q"\\\t\n.bag', "\x1b[31m.bag", "h\u00e9\u6f22\U0001f4e6.bag"]:
            self.pack(name, [b"x"])
            self.assertEqual(self.info(name)["path"], name)
            line = self.good("identify", name).decode()
            self.assertEqual(len(line.splitlines()), 1)
            self.assertNotIn("\x1b", line)
            self.fails("pack", "-", name, stdin=b"x")
        name = os.fsdecode(b"\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80.bag")
        self.pack(name, [b"x"])
        self.assertEqual(self.files().count(name), 1)
        self.assertEqual(self.info(name)["path"], os.fsencode(name).decode(errors="replace"))

    def test_verbose_prints_the_time(self):
        self.pack("a.bag", [b"x"])
        done = subprocess.run([TOOL, "count", "-v", self.path("a.bag")], capture_output=True)
        self.assertRegex(done.stderr.decode(), r"^count: \d+\.\d{3} s\n$")

    def test_quiet_and_verbose_may_precede_the_command(self):
        before = run_once("-q", "pack", "-", "a.bagz", cwd=self.folder.name, stdin=b"x\n")
        self.assertEqual((before.returncode, before.stderr), (0, b""))
        done = run_once("-v", "count", self.path("a.bagz"))
        self.assertRegex(done.stderr.decode(), r"^count: \d+\.\d{3} s\n$")

    def test_hints_name_options_of_the_command(self):
        self.pack("a.bagz", [b"x"])
        self.pack("b.bagz", [b"x"])
        for command in (["merge", "a.bagz", "a.bagz", "b.bagz"], ["convert", "a.bagz", "b.bagz"]):
            message, _ = self.fails(*command)
            self.assertEqual(
                message, "holdall: b.bagz: it is there already (--force replaces it)\n"
            )

    def test_a_wrong_number_of_threads_in_the_environment_is_named(self):
        self.pack("a.bagz", [b"x"])
        for value, code in [("x", 2), ("-1", 2), ("1.5", 2), ("1", 0), ("0", 0), ("", 0)]:
            environment = dict(os.environ, HOLDALL_THREADS=value)
            done = run_once("count", "a.bagz", cwd=self.folder.name, env=environment)
            self.assertEqual(done.returncode, code, value)
            if code:
                self.assertIn(f"HOLDALL_THREADS takes a whole number, not '{value}'", done.stderr.decode())

    def test_a_closed_pipe_is_no_error_whatever_its_name(self):
        self.pack("a.bagz", [b"x" * 100] * 20000)
        for out in ("-", "/dev/stdout"):
            for command in (["cat", "a.bagz", "-o", out], ["convert", "a.bagz", out, "--to", "lines"]):
                p = subprocess.Popen(
                    [TOOL, "-q", *command],
                    cwd=self.folder.name,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
                p.stdout.close()
                message = p.stderr.read()
                p.stderr.close()
                self.assertEqual((p.wait(), message), (0, b""), command)

    def test_options_of_other_containers_are_refused(self):
        self.pack("a.bagz", [b"x"])
        self.good("pack", "-q", "-", "a.blp", stdin=b"x")
        for args in (
            ["pack", "--filters", "shuffle", "-", "b.bagz"],
            ["convert", "--filters", "shuffle", "a.bagz", "b.bagz"],
            ["convert", "--chunk-size", "4K", "a.bagz", "b.bagz"],
            ["sum", "--codec", "zstd", "a.blp"],
            ["verify", "--limits", "tail", "a.blp"],
            ["repair", "--limits", "tail", "a.blp"],
        ):
            self.assertIn(f"{args[1]} is for ", self.fails(*args, code=2, stdin=b"x")[0])
        # the option fits one of them
        self.good("sum", "--limits", "tail", "a.bagz", "a.blp")

    def test_missing_files_are_named(self):
        message, _ = self.fails("info", "nope.bag")
        self.assertIn("nope.bag", message)
        self.fails("info", ".")
        self.write("text", b"this is certainly no bag at all")
        self.fails("info", "text")

    def test_identify_prints_format_and_kind(self):
        self.pack("a.bag", [b"x"])
        self.pack("b.bagz", [])
        self.assertEqual(
            self.good("identify", "a.bag", "b.bagz"), b"a.bag: bagz bag\nb.bagz: bagz bag\n"
        )
        self.write("text", b"this is certainly no bag at all")
        message, out = self.fails("identify", "text", "nope", "a.bag", lines=2)
        self.assertEqual(out, b"a.bag: bagz bag\n")
        self.assertIn("text", message)
        self.assertIn("nope", message)


class Sum(Base):
    def test_each_kind_of_sum_equals_hashlib(self):
        records = sample(500)
        names = [
            ("a.bag", []),
            ("b.bagz", []),
            ("c.bag", ["--checksum", "none"]),
            ("d.bagz", ["--level=9"]),
        ]
        for name, flags in names:
            self.pack(name, records, *flags)
        for kind in ["sha256", "crc32", "adler32", "md5", "sha1", "sha224", "sha384", "sha512"]:
            out = self.good("sum", "--checksum", kind, *[n for n, _ in names]).decode()
            self.assertEqual(out, "".join(f"{digest(records, kind)}  {n}\n" for n, _ in names))
        self.assertEqual(
            self.good("sum", "a.bag", "--slice", "10:-5:3").decode(),
            digest(records[10:-5:3]) + "  a.bag\n",
        )
        message, out = self.fails("sum", "nope.bag", "a.bag")
        self.assertEqual(out.decode(), digest(records) + "  a.bag\n")
        self.assertEqual(
            hashlib.sha256(self.good("cat", "--lengths", "b.bagz")).hexdigest(), digest(records)
        )


class Progress(Base):
    def terminal(self, args, feed):
        """Runs the tool with stderr on a terminal. Returns what the tool wrote to it."""
        ours, theirs = pty.openpty()
        p = subprocess.Popen(
            [TOOL, *args],
            cwd=self.folder.name,
            env={**os.environ, "TERM": "xterm"},
            stdin=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        feeder = threading.Thread(target=lambda: (feed(p.stdin), p.stdin.close()))
        feeder.start()
        try:
            while piece := os.read(ours, 4096):
                seen += piece
        except OSError:  # The tool closed its end of the terminal.
            pass
        feeder.join()
        self.assertEqual(p.wait(LONG), 0)
        os.close(ours)
        return seen

    def slowly(self, to):
        for _ in range(28):
            to.write(b"x\n" * 200_000)
            time.sleep(0.1)

    def test_progress_is_shown_and_erased(self):
        seen = self.terminal(["pack", "--no-sync", "-", "a.bag"], self.slowly)
        self.assertRegex(seen, rb"pack [\d.]+ (Ki|Mi)?B +[\d.]+ (Ki|Mi)?B/s")
        lines = seen.split(b"\r\x1b[2K")
        self.assertRegex(lines[-1], rb"^a.bag: 5600000 records of 5600000 bytes packed")

    def test_progress_of_short_or_quiet_runs_is_not_shown(self):
        start = time.monotonic()
        brief = self.terminal(["pack", "--no-sync", "-", "a.bag"], lambda to: to.write(b"x\n"))
        # Progress is shown after one second.
        self.assertTrue(b"\x1b" not in brief or time.monotonic() - start > 1, brief)
        quiet = self.terminal(["pack", "-q", "--no-sync", "-", "b.bag"], self.slowly)
        self.assertEqual(quiet, b"")


class Names(Base):
    """File names of bytes that are not UTF-8, of newlines and of escape characters."""

    ODD = os.fsdecode(b"\xff\n\x1b[31m")
    SHOWN = "\ufffd\\n\\x1b[31m"

    def setUp(self):
        super().setUp()
        os.mkdir(self.path(self.ODD))

    def named(self, name):
        return f"{self.ODD}/{self.ODD}{name}"

    def clean(self, *args, code=0, **more):
        """Runs the tool. All that it prints must be printable. Returns the output and stderr."""
        done = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(done.returncode, code, (args, done.stderr))
        for text in (done.stdout.decode(), done.stderr.decode()):
            self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f]")
        return done.stdout.decode(), done.stderr.decode()

    def folder_files(self):
        return sorted(os.listdir(self.path(self.ODD)))

    def test_bags(self):
        lines, bag, other, back = map(self.named, ("l", "a.bagz", "b.bag", "c.lines"))
        shown = f"{self.SHOWN}/{self.SHOWN}"
        self.write(lines, b"one\ntwo\nsix\n")
        self.assertIn(f"{shown}a.bagz: 3 records", self.clean("pack", lines, bag)[1])
        self.assertIn(f"{shown}a.bagz\n", self.clean("info", bag)[0])
        self.assertEqual(self.info(bag)["path"], bag.replace("\udcff", "\ufffd"))
        self.assertEqual(self.clean("cat", bag)[0], "onetwosix")
        self.clean("cat", bag, "-o", back)
        self.assertEqual(self.read(back), b"onetwosix")
        self.clean("convert", bag, "-o", other)
        self.clean("convert", bag, back, "--to", "lines", "--force")
        self.assertEqual(self.read(back), b"one\ntwo\nsix\n")
        self.clean("convert", back, self.named("d.bagz"), "--from", "lines")
        self.assertEqual(
            self.clean("sum", bag)[0], self.clean("sum", other)[0].replace("b.bag", "a.bagz")
        )
        self.assertEqual(self.clean("diff", bag, other), ("", ""))
        self.clean("pack", "--append", lines, bag)
        self.assertEqual(self.clean("count", bag)[0].split()[:1], ["6"])
        for command in ("verify", "repair", "stats", "identify", "schema", "head", "tail", "sample"):
            self.clean(command, bag)
        both = self.named("both.bagz")
        self.clean("merge", bag, other, "-o", both)
        self.assertEqual(self.info(both)["size"], 9)
        self.clean("split", "-n", "3", both, self.named("part.bagz"))
        parts = [self.named(f"part-0000{i}-of-00003.bagz") for i in range(3)]
        self.assertEqual([self.info(part)["size"] for part in parts], [3, 3, 3])
        for bags in (self.named("part@3.bagz"), self.named("part@*.bagz"), ",".join(parts)):
            self.assertEqual(self.info(bags)["size"], 9)
            self.assertEqual(len(self.info(bags)["files"]), 3)
            self.clean("verify", bags)
            self.clean("cat", bags)
        self.clean("pack", "--shards", "2", lines, self.named("set.bagz"), "--dictionary", lines)
        self.assertIn(self.ODD + "set-00001-of-00002.bagz", self.folder_files())
        self.clean("cat", self.named("set@2.bagz"), "--dictionary", lines)
        self.clean("pack", "--separate", lines, self.named("far.bagz"))
        self.assertIn(f"limits.{self.ODD}far.bagz", self.folder_files())

    def test_the_index_of_a_bag(self):
        bag, keys = self.named("a.bagz"), self.named("keys")
        self.pack(bag, [b"one", b"two", b"six"])
        self.write(keys, b"six\nten\n")
        self.assertIn("a.bagz.index: 3 keys", self.clean("index", "build", bag)[1])
        self.assertIn(self.ODD + "a.bagz.index", self.folder_files())
        self.assertEqual(self.clean("index", "find", bag, "two")[0], "1\n")
        self.assertEqual(self.clean("index", "find", bag, "--keys", keys, code=1)[0], "2\nnone\n")
        index = self.named("i")
        self.clean("index", "build", bag, "--index", index)
        self.assertEqual(self.clean("index", "find", "--index", index, bag, "two")[0], "1\n")
        self.clean("index", "find", bag, os.fsdecode(b"\xff"), code=1)

    def test_superchunks(self):
        raw, packed, back = map(self.named, ("raw", "s.blp", "back"))
        self.write(raw, bytes(range(240)))
        self.write(self.named("json"), b"[1]")
        self.clean("pack", raw, packed, "--metadata", self.named("json"))
        self.assertIn("[1]", self.clean("info", packed)[0])
        self.clean("append", packed, raw)
        self.clean("unpack", packed, back)
        self.assertEqual(self.read(back), 2 * self.read(raw))
        self.clean("unpack", packed, "-o", back, "--force")
        for command in ("verify", "repair", "sum", "stats", "count", "identify"):
            self.clean(command, packed)
        self.clean("tune", "--seconds", "0.1", "--plot", self.named("p.svg"), raw)
        self.assertIn(b"</svg>", self.read(self.named("p.svg")))

    def test_arrays_and_tables(self):
        csv, table, array = map(self.named, ("t.csv", "t.bcolz", "a.b2nd"))
        self.write(csv, b"x,y\n1,a\n2,b\n")
        self.write(self.named("raw"), bytes(range(240)))
        self.clean("convert", csv, table)
        self.clean("convert", self.named("raw"), array, "--dtype", "<i4")
        self.clean("append", table, csv)
        self.assertEqual(self.clean("cat", table)[0], "x,y\n1,a\n2,b\n1,a\n2,b\n")
        self.clean("trim", table, "-2")
        self.clean("attr", "set", table, "k", "[1, 2]")
        self.assertEqual(self.clean("attr", "get", table, "k")[0], "[1, 2]\n")
        self.write(self.named("json"), b"3")
        self.clean("attr", "set", "--raw", table, "k", self.named("json"))
        self.assertEqual(self.clean("attr", "get", table, "k")[0], "3\n")
        for command in ("info", "verify", "repair", "sum", "stats", "count", "schema", "head"):
            for path in (table, array):
                if (command, path) != ("head", array):
                    self.clean(command, path)
        self.clean("info", "--files", table)
        self.clean("cat", table, "-o", self.named("back.csv"))
        self.assertEqual(self.read(self.named("back.csv")), self.read(csv))
        self.clean("convert", table, self.named("z.csv.gz"))
        self.clean("convert", self.named("z.csv.gz"), self.named("z.bcolz"))
        self.assertEqual(self.clean("diff", table, self.named("z.bcolz"), code=1)[0].count("\n"), 1)
        self.clean("convert", array, self.named("a.npy"))
        self.clean("append", array, self.named("a.npy"))
        self.clean("merge", table, table, self.named("m.bcolz"))
        self.assertEqual(self.info(self.named("m.bcolz"))["rows"], 4)
        self.clean("view", array, "-o", self.named("v.svg"))
        self.clean("view", array)

    def test_folders(self):
        for odd in (b"\xfe", b"\xff"):
            self.pack(os.path.join(self.ODD, os.fsdecode(odd) + "x.bag"), [b"one"])
        self.pack(self.named("a.bagz"), [b"one"], "--separate")
        listed = ["\ufffdx.bag", "\ufffdx.bag", f"{self.SHOWN}a.bagz"]
        for path, before in ((self.ODD, ""), (".", self.SHOWN + "/")):
            lines = [f"{before}{name}  bagz bag  1 record\n" for name in listed]
            self.assertEqual(sorted(self.clean("ls", path)[0].splitlines(True)), sorted(lines))
        found = json.loads(self.clean("ls", "--json", self.ODD)[0])
        self.assertIn("/\ufffdx.bag", found[0]["path"] + found[1]["path"] + found[2]["path"])
        tree = self.clean("tree", ".")[0]
        self.assertEqual(tree.count("\ufffdx.bag  bagz bag  1 record\n"), 2)
        self.assertEqual(tree.count(f"{self.SHOWN}a.bagz  bagz bag  1 record\n"), 1)

    def test_messages(self):
        missing = self.named("none")
        for command in ("info", "cat", "verify", "repair", "sum", "ls", "tree", "stats", "identify"):
            message = self.clean(command, missing, code=1)[1]
            self.assertEqual(message.count(f"{self.SHOWN}none"), 1, message)
        self.write(self.named("a"), b"text")
        self.clean("info", self.named("a"), code=1)
        self.pack(self.named("b.bag"), [b"x"])
        message = self.clean("pack", self.named("a"), self.named("b.bag"), code=1)[1]
        self.assertIn(f"{self.SHOWN}b.bag", message)
        self.clean("pack", self.named("a"), self.named("o.zarr"), code=2)
        self.clean("unpack", self.named("a"), self.named("b"), self.named("c"), code=2)
        odd = os.fsdecode(b"\xff")
        for args in (["--level", odd], ["--dtype", odd], ["--columns", odd]):
            message = self.clean("convert", *args, "a", "b", code=2)[1]
            self.assertIn("an argument is not UTF-8", message)


if __name__ == "__main__":
    unittest.main()
