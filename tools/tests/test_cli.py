#!/usr/bin/env python3
"""Tests of the command-line tool, from outside: what it prints, its exit codes, the files it leaves.

HOLDALL_TOOL is the tool's path. HOLDALL_FIXTURES is a folder with bags of the reference implementation and
broken ones, and files of Bloscpack (bagz/, bagz-bad/ and blpk/, each with a manifest.json); without it those
tests are skipped.
"""

import hashlib
import io
import json
import os
import pickle
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import zlib

TOOL = os.path.abspath(os.environ.get("HOLDALL_TOOL") or shutil.which("holdall") or "holdall")
FIXTURES = os.environ.get("HOLDALL_FIXTURES")
# seconds: no run takes nearly as many
LONG = 600
COMMANDS = ["info", "ls", "cat", "pack", "unpack", "append", "convert", "trim", "attr", "verify", "repair", "sum", "identify"]


def run(*args, stdin=b"", cwd=None, **more):
    return subprocess.run([TOOL, *args], input=stdin, capture_output=True, cwd=cwd, timeout=LONG, **more)


def np_count(shape):
    """Items of a shape."""
    count = 1
    for n in shape:
        count *= n
    return count


def framed(records):
    """What cat --lengths prints."""
    return b"".join(struct.pack("<Q", len(r)) + r for r in records)


def digest(records, kind="sha256"):
    data = framed(records)
    if kind in ("crc32", "adler32"):
        return "%08x" % getattr(zlib, kind)(data)
    return hashlib.new(kind, data).hexdigest()


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def good(self, *args, **more):
        """Runs in the folder; it must succeed without a word of error. Gives what it printed."""
        r = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(r.returncode, 0, (args, r.stderr))
        self.assertNotIn(b"holdall: ", r.stderr)
        return r.stdout

    def interrupt(self, number, *args):
        """Runs, and sends a signal when there is a new file: that must end it. Where all was done before the signal came,
        the last of `args` is put back as it was, for another try."""
        before, old = self.files(), self.read(args[-1])
        for _ in range(20):
            p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stderr=subprocess.DEVNULL)
            while self.files() == before and p.poll() is None:
                time.sleep(0.001)
            p.send_signal(number)
            if p.wait(LONG) != 0:
                break
            self.write(args[-1], old)
        self.assertEqual(p.returncode, -number)

    def interrupt_fed(self, number, data, *args):
        """Sends a signal when all of `data` is taken from a pipe, and more might come."""
        p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdin.write(data)
        p.stdin.flush()
        time.sleep(0.05)
        p.send_signal(number)
        self.assertEqual(p.wait(LONG), -number)
        p.stdin.close()

    def bad(self, *args, code=1, lines=1, **more):
        """It must fail with lines on stderr of the right form. Gives these and what it printed."""
        r = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(r.returncode, code, (args, r.stdout[:200], r.stderr))
        words = r.stderr.decode()
        self.assertTrue(words.endswith("\n"), (args, words))
        self.assertEqual(len(words.splitlines()), lines, (args, words))
        for line in words.splitlines():
            self.assertRegex(line, r"^holdall: \S")
        # words of the C library do not belong here
        self.assertNotIn("HOLDALL_OPT", words)
        return words, r.stdout

    def pack(self, name, records, *flags):
        """A bag of these records, which have no newline."""
        self.good("pack", "-q", "-", name, *flags, stdin=b"".join(r + b"\n" for r in records))
        return records

    def flip(self, name, at):
        data = bytearray(self.read(name))
        data[at] ^= 0x40
        self.write(name, data)

    def info(self, name, *flags):
        return json.loads(self.good("info", "--json", name, *flags))


def sample(n=100):
    r = random.Random(n)
    return [bytes(r.choices(b"abcdefgh \t\r\0\xff", k=r.choice([0, 1, 7, 60, 300]))) for _ in range(n)]


class Usage(Base):
    def test_help_and_version(self):
        overview = self.good("--help").decode()
        for c in COMMANDS:
            self.assertIn(c, overview)
            for flag in ("--help", "-h"):
                text = self.good(c, flag).decode()
                self.assertIn("usage: holdall " + c, text)
                self.assertIn("--quiet", text)
        self.assertRegex(self.good("--version").decode(), r"^holdall \d+\.\d+\.\d+ .*zstd/\d")

    def test_wrong_usage(self):
        self.pack("a.bag", [b"x"])
        for args in [
            [], ["nonsense"], ["--nonsense"], [""],
            ["info"], ["info", "a.bag", "b.bag"], ["info", ""],
            ["cat"], ["cat", "a.bag", "--nonsense"], ["cat", "a.bag", "-x"], ["cat", "a.bag", "--json"],
            ["cat", "a.bag", "--slice", "1"], ["cat", "a.bag", "--slice", "::0"], ["cat", "a.bag", "--slice", "1:2:3:4"],
            ["cat", "a.bag", "--slice", "1:x"], ["cat", "a.bag", "--slice", "1: 2"], ["cat", "a.bag", "--slice="],
            ["cat", "a.bag", "--slice"], ["cat", "a.bag", "--records", "1,"], ["cat", "a.bag", "--records", ",1"],
            ["cat", "a.bag", "--records", "1;2"], ["cat", "a.bag", "--records", "0x1"], ["cat", "a.bag", "--records="],
            ["cat", "a.bag", "--lengths=1"], ["cat", "a.bag", "--length"], ["cat", "a.bag", "--threads", "-1"],
            ["cat", "a.bag", "--threads", "2x"], ["cat", "a.bag", "--threads", "99999999999999999999"],
            ["cat", "a.bag", "--limits", "tails"], ["cat", "a.bag", "--limits", "tail|separate"],
            ["cat", "a.bag", "--limits-storage", "ram"], ["cat", "a.bag", "--shards", "2"],
            ["cat", "a.bag", "--compression", "gzip"], ["cat", "a.bag", "--dictionary"],
            ["cat", "a.bag", "--memory-limit", "1T"], ["cat", "a.bag", "--memory-limit", "-1"],
            ["cat", "a.bag", "--memory-limit", "1KB"], ["cat", "a.bag", "--memory-limit", "9999999999G"],
            ["pack", "x"], ["pack", "x", "y", "z"], ["pack", "--append", "--replace", "x", "y"],
            ["pack", "--level", "23", "x", "y"], ["pack", "--level", "1.5", "x", "y"], ["pack", "--level", "", "x", "y"],
            ["pack", "--separate", "--limits", "tail", "x", "y"], ["pack", "--map", "x", "y"],
            ["verify"], ["verify", "--unchecked", "a.bag"], ["repair"], ["repair", "a.bag", "b.bag"],
            ["repair", "--map", "a.bag"], ["sum"], ["sum", "--sum", "zstd", "a.bag"], ["identify"],
            ["cat", "a.bag", "--format", "raw"], ["cat", "a.bag", "--format", "csv"], ["pack", "x", "y", "--to", "b2nd"],
            ["pack", "--codec", "lz4", "x", "y"], ["pack", "--metadata", "m", "x", "y.bagz"],
            ["pack", "--typesize=4", "x", "y.blp", "--to", "bagz"], ["pack", "x", "y", "z.blp"],
            *(["pack", "x", "y.blp", *f.split()] for f in [
                "--append", "--separate", "--limits tail", "--whole", "--compression none", "--dictionary d", "--level 10",
                "--level -1", "--codec gzip", "--shuffle byte", "--typesize 0", "--typesize 256", "--chunk-size 12",
                "--chunk-size 1001 --typesize 2", "--chunk-size 1X", "--checksum crc", "--format-version 0",
                "--no-checksum --checksum md5"]),
            ["pack", "x", "-", "--to", "blpk"], ["pack", "-", "y.blp", "--metadata", "-"],
            ["unpack", "x.blp"], ["unpack", "x.blp", "y", "z"], ["unpack", "-", "y"], ["append", "x.blp"],
            ["append", "x.blp", "y", "z"], ["append", "--level", "10", "x.blp", "y"], ["append", "--checksum", "md5", "x.blp", "y"],
        ]:
            with self.subTest(args=args):
                words, out = self.bad(*args, code=2)
                self.assertEqual(out, b"")
                self.assertIn("--help", words)
                flag = next((a.split("=")[0] for a in args if re.match("--?[a-z]", a)), None)
                if flag and args[0] in COMMANDS and "exclude" not in words and flag != "--to":
                    self.assertIn(flag, words)
        self.assertEqual(self.files(), ["a.bag", "checksums.a.bag"])

    def test_help_tells_the_defaults_of_the_command(self):
        def help_of(command, flag):
            return re.search(rf"  --{flag} .*\n?(?:   .*)?", self.good(command, "--help").decode())[0]

        self.assertIn("default: lz4", help_of("pack", "codec"))
        for command, words in [("convert", "of IN"), ("append", "last chunk")]:
            for flag in ["codec", "shuffle"]:
                self.assertIn(words, help_of(command, flag))
                self.assertNotIn("lz4)", help_of(command, flag))
            self.assertNotIn("bags", help_of(command, "level"))
        for flag in ["chunk-size", "checksum"]:
            self.assertIn("as in IN", help_of("convert", flag))

    def test_words_of_usage(self):
        self.pack("a.bag", [b"x"])
        self.good("pack", "-q", "-", "a.blp", stdin=b"content")
        self.write("x.npy", b"content")
        files = self.files()
        for args, words in [
            (["append", "--level", "99", "a.blp", "x"], "from 0 to 9"), (["convert", "--level", "-1", "a.blp", "b.blp"], "from 0 to 9"),
            (["pack", "--level", "99", "x", "y.blp"], "from 0 to 9"), (["pack", "--level", "99", "x", "y.blp"], "to 22 for bags"),
            (["append", "x.npy", "a.blp"], "comes first"), (["append", "a.bag", "a.blp"], "comes first"),
            (["cat", "--slice", "3", "a.blp"], "3:4"), (["cat", "--slice", "0:2,1:3", "a.blp"], "one dimension"),
            (["convert", "a.blp", "b.bagz"], "b.bagz"), (["convert", "--to", "blpk", "a.blp", "-"], "not to '-'"),
            (["pack", "x.npy", "b.xyz"], "--to blpk"), (["pack", "x.npy", "b.bagz"], "--to bagz"),
        ]:  # fmt: skip
            self.assertIn(words, self.bad(*args, code=2)[0], args)
        self.assertEqual(self.files(), files)
        self.bad("append", "none.blp", "a.blp")
        self.good("pack", "-q", "--to", "bagz", "x.npy", "b.xyz")
        self.good("pack", "-q", "--whole", "x.npy", "c.bagz")

    def test_verify_counts_what_cannot_be_read(self):
        self.pack("a.bag", [b"x"])
        self.write("b.blp", b"blpk and no more of it")
        words, _ = self.bad("verify", "a.bag", "b.blp", "none", lines=2)
        self.assertRegex(words, r"damage was found in 1 of 3, 1 could not be read\n$")

    def test_flags_anywhere(self):
        records = self.pack("a.bag", [b"zero", b"one", b"two"])
        self.assertEqual(self.good("cat", "--slice", "1:", "a.bag"), b"onetwo")
        self.assertEqual(self.good("cat", "a.bag", "--slice=1:"), b"onetwo")
        self.assertEqual(self.good("cat", "--slice=0:1", "a.bag", "--slice", "-1:"), b"two")
        self.assertEqual(self.good("cat", "-q", "--threads=1", "--", "a.bag"), b"".join(records))
        self.pack("./-x.bag", [b"dash"])
        self.assertEqual(self.good("cat", "--", "-x.bag"), b"dash")
        self.assertEqual(self.good("cat", "--lengths", "--", "-x.bag"), framed([b"dash"]))
        self.bad("cat", "--", "-x.bag", "--lengths", code=2)

    def test_reader_flags(self):
        records = self.pack("a.bagz", sample())
        for flags in [
            ["--limits", "tail"], ["--limits-storage", "disk"], ["--limits-storage=memory"], ["--compression", "auto"],
            ["--compression=zstd"], ["--shards", "concatenated"], ["--shards=interleaved"], ["--threads", "0"],
            ["--threads", "3"], ["--map"], ["--memory-limit", "1048576"], ["--memory-limit", "512K"],
            ["--memory-limit=1m"], ["--memory-limit", "2G"],
        ]:
            with self.subTest(flags=flags):
                self.assertEqual(self.good("cat", "a.bagz", "--lengths", *flags), framed(records))
                self.assertEqual(self.good("sum", "a.bagz", *flags).decode(), digest(records) + "  a.bagz\n")
                self.assertEqual(self.info("a.bagz", *flags)["size"], len(records))
                self.assertEqual(self.good("verify", "a.bagz", *flags), b"a.bagz: 100 sound, 0 bad, 0 unchecked\n")


class Info(Base):
    def test_json(self):
        records = sample()
        for name, flags, reader, compression, limits, checksum in [
            ("a.bag", [], [], "none", "tail", "crc32"),
            ("b.bagz", [], [], "zstd", "tail", "zstd"),
            ("c.bag", ["--separate"], ["--limits", "separate"], "none", "separate", "crc32"),
            ("d.bagz", ["--limits", "separate", "--no-checksum"], ["--limits", "separate"], "zstd", "separate", "none"),
            ("e.bag", ["--no-checksum"], [], "none", "tail", "none"),
            ("f.bag", ["--compression", "zstd"], ["--compression", "zstd"], "zstd", "tail", "zstd"),
            ("g.bagz", ["--compression", "none"], ["--compression", "none"], "none", "tail", "crc32"),
        ]:
            with self.subTest(name=name):
                self.pack(name, records, *flags)
                files = [f for f in self.files() if f in (name, "limits." + name, "checksums." + name)]
                size = sum(os.path.getsize(self.path(f)) for f in files)
                self.assertEqual(len(files), 1 + (limits == "separate") + (checksum == "crc32"))
                self.assertEqual(self.info(name, *reader), {
                    "path": name, "format": "bagz", "kind": "bag", "size": 100, "compression": compression,
                    "limits": limits, "checksum": checksum, "shards": 1, "bytes": size})
                lines = self.good("info", name, *reader).decode()
                for words in ["records: +100\n", f"compression: +{compression}\n", f"limits: +{limits}\n",
                              f"checksum: +{checksum}\n", f"bytes: +{size}\n", f"path: +{name}\n"]:
                    self.assertRegex(lines, words)

    def test_odd_names(self):
        for name in ['q"\\\t\n.bag', "\x1b[31m.bag", "h\u00e9\u6f22\U0001f4e6.bag"]:
            self.pack(name, [b"x"])
            self.assertEqual(self.info(name)["path"], name)
            line = self.good("identify", name).decode()
            self.assertEqual(len(line.splitlines()), 1)
            self.assertNotIn("\x1b", line)
            self.bad("pack", "-", name, stdin=b"x")
        name = os.fsdecode(b"\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80.bag")
        self.pack(name, [b"x"])
        self.assertEqual(self.info(name)["path"], "\ufffd\ufffd(" + "\ufffd" * 7 + ".bag")

    def test_missing(self):
        words, _ = self.bad("info", "nope.bag")
        self.assertIn("nope.bag", words)
        self.bad("info", ".")
        self.write("text", b"this is certainly no bag at all")
        self.bad("info", "text")

    def test_identify(self):
        self.pack("a.bag", [b"x"])
        self.pack("b.bagz", [])
        self.assertEqual(self.good("identify", "a.bag", "b.bagz"), b"a.bag: bagz bag\nb.bagz: bagz bag\n")
        self.write("text", b"this is certainly no bag at all")
        words, out = self.bad("identify", "text", "nope", "a.bag", lines=2)
        self.assertEqual(out, b"a.bag: bagz bag\n")
        self.assertIn("text", words)
        self.assertIn("nope", words)


class Cat(Base):
    def test_all(self):
        for records in [[], [b""], [b"", b"", b""], [b"a"], sample(3000)]:
            for name in ["a.bag", "a.bagz"]:
                self.pack(name, records, "--replace")
                self.assertEqual(self.good("cat", name), b"".join(records))
                self.assertEqual(self.good("cat", name, "--lengths"), framed(records))

    def test_slices(self):
        r = random.Random(7)
        for n in [0, 1, 2, 9, 40]:
            records = self.pack("a.bag", [b"%d;" % i for i in range(n)], "--replace", "--no-sync")
            slices = [(None, None, None), (None, None, -1), (0, 0, 1), (5, 2, None), (2, 5, -1), (None, None, 10**30),
                      (None, None, -(10**30)), (-(10**30), 10**30, 1), (10**30, -(10**30), -1), (2**63, None, -1),
                      (None, -(2**63), -1), (None, 2**64, 2**63 - 1), (-1, None, -(2**63))]
            ends = [None, *range(-n - 3, n + 4)]
            slices += [(r.choice(ends), r.choice(ends), r.choice([None, 1, -1, 2, -2, 3, -7, n + 1, -n - 1])) for _ in range(60)]
            for s in slices:
                text = ":".join("" if part is None else str(part) for part in s)
                with self.subTest(n=n, slice=text):
                    self.assertEqual(self.good("cat", "a.bag", "--slice", text), b"".join(records[slice(*s)]))
                    if s[2] is None:
                        self.assertEqual(self.good("cat", "a.bag", "--slice=" + text[:-1]), b"".join(records[slice(*s)]))

    def test_records(self):
        records = self.pack("a.bagz", [b"%d;" % i for i in range(50)])
        for wanted in [[0], [49], [-1], [-50], [3, 3, 3], [49, 0, 25, -1, 0], list(range(49, -1, -1))]:
            text = ",".join(map(str, wanted))
            self.assertEqual(self.good("cat", "a.bagz", "--records", text), b"".join(records[i] for i in wanted))
        part = records[40:10:-3]
        self.assertEqual(self.good("cat", "a.bagz", "--slice", "40:10:-3", "--records=-1,0,2"), part[-1] + part[0] + part[2])
        for wanted in ["50", "-51", "0,50", "1,2,99999999999999999999", "-99999999999999999999"]:
            words, out = self.bad("cat", "a.bagz", "--records", wanted)
            self.assertEqual(out, b"")
            self.assertIn("there are 50", words)
        self.bad("cat", "a.bagz", "--slice", "0:10", "--records", "10")
        self.bad("cat", "a.bagz", "--slice", "5:5", "--records", "0")

    def test_shards(self):
        whole = [b"%d;" % i for i in range(11)]
        for i in range(3):
            self.pack("s-0000%d-of-00003.bag" % i, whole[i::3])
        interleaved = b"".join(whole)
        concatenated = b"".join(b"".join(whole[i::3]) for i in range(3))
        for spec in ["s@3.bag", "s@*.bag"]:
            self.assertEqual(self.good("cat", spec), concatenated)
            self.assertEqual(self.good("cat", spec, "--shards", "interleaved"), interleaved)
        self.assertEqual(self.info("s@3.bag")["shards"], 3)
        self.pack("t.bagz", [b"last"])
        self.assertEqual(self.good("cat", "s@3.bag,t.bagz"), concatenated + b"last")
        self.assertEqual(self.info("s@3.bag,t.bagz")["compression"], "mixed")
        os.remove(self.path("s-00001-of-00003.bag"))
        words, _ = self.bad("cat", "s@3.bag")
        self.assertIn("s-00001-of-00003.bag", words)

    def test_pipe_closed_early(self):
        self.pack("a.bag", [b"x" * 1000] * 20000, "--no-sync")
        for args in [["cat", "a.bag"], ["cat", "a.bag", "--lengths"]]:
            p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(len(p.stdout.read(10)), 10)
            p.stdout.close()
            self.assertEqual((p.stderr.read(), p.wait(LONG)), (b"", 0))
            p.stderr.close()

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_output_that_fails(self):
        self.pack("a.bag", [b"x" * 1000] * 1000, "--no-sync")
        for args in [["cat", "a.bag"], ["info", "a.bag"], ["sum", "a.bag"], ["verify", "a.bag"], ["--help"], ["--version"]]:
            with open("/dev/full", "wb") as full:
                p = subprocess.run([TOOL, *args], cwd=self.folder.name, stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(p.returncode, 1, args)
            self.assertRegex(p.stderr, rb"^holdall: standard output: No space left on device\n$")

    def test_descriptors_that_are_closed(self):
        self.pack("a.bag", [b"x"])
        shell = lambda line: subprocess.run(["sh", "-c", line, TOOL], cwd=self.folder.name, capture_output=True)
        self.assertEqual(shell('"$0" cat a.bag >&-').returncode, 1)
        self.assertEqual(shell('echo y | "$0" pack - b.bag 2>&- >&-').returncode, 0)
        self.assertEqual(self.good("cat", "b.bag"), b"y")
        self.assertEqual(shell('"$0" pack - c.bag <&-').returncode, 1)
        self.assertNotIn("c.bag", self.files())

    def test_memory_stays_small(self):
        # sizes that change suddenly, and a record that is larger than a batch may be
        records = [b"x"] * 5000 + [os.urandom(2_000_000).replace(b"\n", b"-") for _ in range(40)] + [b"y"] * 5000
        for name in ["a.bag", "a.bagz"]:
            self.pack(name, records, "--no-sync")
            if sys.platform == "linux":
                line = 'ulimit -v 65536; exec "$0" cat --threads 1 "$1" | sha256sum'
                p = subprocess.run(["sh", "-c", line, TOOL, name], cwd=self.folder.name, capture_output=True)
                want = hashlib.sha256(b"".join(records)).hexdigest()
                self.assertEqual((p.stdout.split()[0].decode(), p.stderr), (want, b""), name)
            self.assertEqual(hashlib.sha256(self.good("cat", name)).digest(), hashlib.sha256(b"".join(records)).digest())

    def test_large_records(self):
        big = os.urandom(20_000_000).replace(b"\n", b"-")
        records = [b"a", big, b"b"]
        for name in ["a.bag", "a.bagz"]:
            self.pack(name, records, "--no-sync")
            for flags in [[], ["--map"], ["--limits-storage", "memory"], ["--threads", "1"]]:
                self.assertEqual(self.good("cat", name, "--lengths", *flags), framed(records))
            self.assertEqual(self.good("cat", name, "--slice", "1:", "--records", "1,0,1"), b"b" + big + b"b")
            words, out = self.bad("cat", name, "--memory-limit", "1M")
            self.assertEqual(out, b"a")
            self.assertIn("--memory-limit", words)
            # it is too large, not damaged
            _, out = self.bad("cat", name, "--memory-limit", "1M", "--skip-damaged")
            self.assertEqual(out, b"a")


class Pack(Base):
    def test_lines(self):
        for data, records in [
            (b"", []), (b"\n", [b""]), (b"a", [b"a"]), (b"a\n", [b"a"]), (b"a\n\nb", [b"a", b"", b"b"]),
            (b"\n\n", [b"", b""]), (b"a\r\nb\0c\n", [b"a\r", b"b\0c"]),
        ]:
            self.write("lines", data)
            for out in ["a.bag", "a.bagz"]:
                self.good("pack", "--replace", "lines", out)
                self.assertEqual(self.good("cat", "--lengths", out), framed(records))
                self.good("pack", "--replace", "-", out, stdin=data)
                self.assertEqual(self.good("cat", "--lengths", out), framed(records))

    def test_around_the_buffer(self):
        r = random.Random(3)
        piece = 4 << 20
        many = [b"%d" % i for i in range(200_000)]
        for records in [
            [b"x" * (piece - 1), b"y"], [b"x" * piece, b"y"], [b"x" * (piece + 1), b"y"], [b"x" * (3 * piece + 5)],
            [b""] * 100_000, many, [b"a" * r.choice([0, 10, 100_000, 1_500_000]) for _ in range(40)],
        ]:
            want = hashlib.sha256(framed(records)).hexdigest()
            for last in [b"\n", b""] if records[-1] else [b"\n"]:
                data = b"\n".join(records) + last
                self.good("pack", "--replace", "--no-sync", "-q", "-", "a.bag", stdin=data)
                self.assertEqual(hashlib.sha256(self.good("cat", "--lengths", "a.bag")).hexdigest(), want)

    def test_input_that_trickles(self):
        p = subprocess.Popen([TOOL, "pack", "-q", "-", "a.bagz"], cwd=self.folder.name, stdin=subprocess.PIPE)
        for piece in [b"on", b"e\n", b"\ntw", b"o"]:
            p.stdin.write(piece)
            p.stdin.flush()
            time.sleep(0.02)
        self.assertEqual(self.files().count("a.bagz"), 0)
        p.stdin.close()
        self.assertEqual(p.wait(LONG), 0)
        self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed([b"one", b"", b"two"]))

    def test_modes(self):
        for name, flags, reader in [("a.bag", [], []), ("a.bagz", [], []), ("b.bag", ["--separate"], ["--limits=separate"])]:
            words, _ = self.bad("pack", "--append", "-", name, *flags, stdin=b"x\n")
            self.assertIn(name, words)
            first = self.pack(name, [b"one", b"two"], *flags)
            words, _ = self.bad("pack", "-", name, *flags, stdin=b"x\n")
            self.assertIn(name, words)
            self.assertIn("--replace", words)
            self.assertEqual(self.good("cat", name, *reader), b"".join(first))
            second = self.pack(name, [b"", b"three"], "--append", *flags)
            self.assertEqual(self.good("cat", "--lengths", name, *reader), framed(first + second))
            self.assertEqual(self.good("verify", name, *reader).decode(), f"{name}: 4 sound, 0 bad, 0 unchecked\n")
            self.pack(name, [b"new"], "--replace", *flags)
            self.assertEqual(self.good("cat", name, *reader), b"new")

    def test_summary(self):
        r = run("pack", "-", "a.bag", stdin=b"one\ntwo\n", cwd=self.folder.name)
        self.assertEqual((r.returncode, r.stdout), (0, b""))
        size = self.info("a.bag")["bytes"]
        self.assertEqual(r.stderr.decode(), f"a.bag: 2 records of 6 bytes packed; now 2 records in {size} bytes\n")
        r = run("pack", "--append", "-", "a.bag", stdin=b"x", cwd=self.folder.name)
        self.assertRegex(r.stderr.decode(), r"^a.bag: 1 record of 1 byte appended; now 3 records in \d+ bytes\n$")
        for flag in ["-q", "--quiet"]:
            r = run("pack", "--replace", flag, "-", "a.bag", stdin=b"x", cwd=self.folder.name)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))

    def test_compression(self):
        records = [b"the quick brown fox jumps over the lazy dog " * 20] * 50
        size = {}
        for name, flags in [("n.bagz", ["--compression", "none"]), ("z.bag", ["--compression", "zstd"]),
                            ("l.bagz", ["--level", "19"]), ("f.bagz", ["--level", "-50"]), ("a.bagz", ["--compression", "auto"])]:
            self.pack(name, records, *flags)
            size[name] = self.info(name, *[f for f in flags if "--level" not in flags])["bytes"]
        self.assertLess(size["l.bagz"], size["f.bagz"])
        self.assertLess(size["a.bagz"], size["n.bagz"])
        self.assertEqual(self.good("cat", "z.bag", "--compression", "zstd"), b"".join(records))
        words, _ = self.bad("pack", "--level", "3", "-", "x.bag", stdin=b"x")
        self.assertIn("--level", words)

    def test_dictionary(self):
        dictionary = self.write("dict", b'{"user": 1, "name": "somebody", "mail": "somebody@example.org"}' * 4)
        other = self.write("other", os.urandom(500))
        records = [b'{"user": %d, "name": "somebody", "mail": "somebody@example.org"}' % i for i in range(100)]
        self.pack("a.bagz", records, "--dictionary", dictionary)
        self.pack("b.bagz", records)
        self.assertLess(self.info("a.bagz")["bytes"], self.info("b.bagz")["bytes"])
        self.assertEqual(self.good("cat", "a.bagz", "--dictionary=dict"), b"".join(records))
        self.assertEqual(self.good("sum", "a.bagz", "--dictionary=dict").split()[0].decode(), digest(records))
        self.assertEqual(self.good("verify", "a.bagz", "--dictionary=dict"), b"a.bagz: 100 sound, 0 bad, 0 unchecked\n")
        self.bad("cat", "a.bagz")
        self.bad("cat", "a.bagz", "--dictionary", other)
        words, _ = self.bad("cat", "a.bagz", "--dictionary", "nope")
        self.assertIn("nope", words)
        self.bad("pack", "--dictionary", "nope", "-", "c.bagz", stdin=b"x")
        self.assertNotIn("c.bagz", self.files())

    def test_whole_files(self):
        contents = [b"one\ntwo\n", b"", os.urandom(300_000)]
        for i, c in enumerate(contents):
            self.write("f%d" % i, c)
        self.good("pack", "--whole", "f0", "f1", "f2", "a.bagz")
        self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed(contents))
        self.good("pack", "--whole", "--append", "-", "a.bagz", stdin=b"in\n")
        self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed(contents + [b"in\n"]))
        words, _ = self.bad("pack", "--whole", "f0", "nope", "b.bagz")
        self.assertIn("nope", words)
        self.assertNotIn("b.bagz", self.files())

    def test_what_cannot_be_packed(self):
        before = self.write("lines", b"x\n")
        for args in [["nope", "a.bag"], [".", "a.bag"], ["lines", "no/a.bag"], ["lines", "."], ["lines", "a@3.bag"]]:
            words, _ = self.bad("pack", *args)
            self.assertEqual(self.files(), ["lines"], args)
        for flags in [["--append"], ["--replace"], []]:
            words, _ = self.bad("pack", "lines", "./lines", *flags)
            self.assertIn("lines", words)
        self.assertEqual(self.read(before), b"x\n")

    def test_a_signal_leaves_nothing(self):
        records = self.pack("b.bag", [b"old"])
        before = self.files()
        for out, flags in [("a.bag", []), ("b.bag", ["--append"]), ("b.bag", ["--replace"]), ("w.bag", ["--whole"])]:
            for number in [signal.SIGINT, signal.SIGTERM]:
                self.interrupt_fed(number, b"line\n" * 2_000_000, "pack", *flags, "-", out)
                self.assertEqual(self.files(), before)
        self.assertEqual(self.good("cat", "b.bag"), b"".join(records))

    def test_one_writer_at_a_time(self):
        p = subprocess.Popen([TOOL, "pack", "-q", "-", "a.bag"], cwd=self.folder.name, stdin=subprocess.PIPE)
        first = b"first" * 200_000
        p.stdin.write(first)
        p.stdin.flush()
        # more than a pipe holds: it reads, so it writes
        words, _ = self.bad("pack", "-", "a.bag", stdin=b"x\n")
        self.assertIn("--no-lock", words)
        p.stdin.close()
        self.assertEqual(p.wait(LONG), 0)
        self.assertEqual(self.good("cat", "a.bag"), first)


def items(n, seed=0):
    """Bytes that chunks make smaller: n numbers of 8 bytes that rise slowly."""
    r = random.Random(seed)
    value, out = 0, []
    for _ in range(n):
        value += r.choice([0, 1, 1, 2, 300])
        out.append(value)
    return struct.pack("<%dQ" % n, *out)


class Blp(Base):
    """What tests of superchunks need."""

    def blp(self, name, data, *flags):
        self.good("pack", "-q", "--force", "--no-sync", "-", name, *flags, stdin=data)
        return data

    def chunks(self, name):
        """Where the chunks of a file with offsets and without metadata are."""
        data = self.read(name)
        return list(struct.unpack_from("<%dq" % struct.unpack_from("<q", data, 16)[0], data, 32))


class Superchunk(Blp):
    def test_settings(self):
        data = items(5000) + b"odd tail"[:5]
        self.write("in", data)
        for flags, facts in [
            ([], {"chunks": 1, "chunk_size": 1 << 20, "typesize": 8, "codec": "lz4", "checksum": "crc32", "dialect": "v3"}),
            (["--chunk-size", "8K"], {"chunks": 5, "chunk_size": 8192}),
            (["--chunk-size=5001", "--typesize", "3"], {"chunks": 8, "chunk_size": 5001, "typesize": 3}),
            (["--typesize", "255"], {"typesize": 255, "chunk_size": (1 << 20) // 255 * 255}),
            *((["--codec", c, "--chunk-size", "16K"], {"codec": {"lz4hc": "lz4"}.get(c, c)})
              for c in ["none", "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]),
            *((["--checksum", c], {"checksum": c})
              for c in ["none", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]),
            (["--no-checksum"], {"checksum": "none"}),
            (["--shuffle", "none"], {}), (["--shuffle=bitshuffle", "--level", "9"], {}),
            (["--level", "0"], {"codec": "none"}), (["--no-offsets"], {}), (["--threads", "1"], {}),
            (["--format-version", "1", "--chunk-size", "8K"], {"dialect": "v1", "checksum": "none", "typesize": 8, "chunks": 5}),
            (["--format-version", "2"], {"dialect": "v2"}), (["--format-version=3"], {"dialect": "v3"}),
            # without metadata nothing tells this layout from that of version 3
            (["--format-version", "rfc"], {"dialect": "v3"}),
        ]:
            for source, stdin in [("in", b""), ("-", data)]:
                with self.subTest(flags=flags, source=source):
                    self.good("pack", "--force", "--no-sync", source, "a.blp", *flags, stdin=stdin)
                    found = self.info("a.blp")
                    self.assertEqual({k: found[k] for k in facts}, facts)
                    self.assertEqual(list(found), ["path", "format", "kind", "dialect", "nbytes", "cbytes", "chunks", "chunk_size",
                                                   "typesize", "codec", "checksum", "metadata"])
                    self.assertEqual((found["format"], found["kind"], found["nbytes"]), ("bloscpack", "schunk", len(data)))
                    self.assertEqual(found["cbytes"], os.path.getsize(self.path("a.blp")))
                    self.assertEqual(self.good("cat", "a.blp"), data)
                    self.assertEqual(self.good("unpack", "a.blp", "-"), data)
                    self.good("unpack", "-q", "--force", "a.blp", "out")
                    self.assertEqual(self.read("out"), data)
                    self.good("verify", "a.blp")
                    self.assertEqual(self.good("sum", "a.blp").decode(), hashlib.sha256(data).hexdigest() + "  a.blp\n")
        lines = self.good("info", "a.blp").decode()
        for words in ["dialect: +v3\n", f"nbytes: +{len(data)}\n", "chunks: +1\n", "codec: +lz4\n", "metadata: +none\n"]:
            self.assertRegex(lines, words)

    def test_settings_matter(self):
        data, size = items(50_000), {}
        for flags in ["--codec none", "--codec zstd --level 9", "--codec zstd --level 1", "--shuffle none", ""]:
            self.blp("a.blp", data, *flags.split())
            size[flags] = self.info("a.blp")["cbytes"]
        self.assertLess(size["--codec zstd --level 9"], size["--codec zstd --level 1"])
        self.assertLess(size[""], size["--shuffle none"])
        self.assertGreater(size["--codec none"], len(data))
        # offsets for ten times as many chunks, where it was known how many there are
        self.write("in", items(4096 * 200))
        self.good("pack", "in", "b.blp", "--chunk-size", "32K")
        spare = struct.unpack_from("<q", self.read("b.blp"), 24)[0]
        self.assertGreaterEqual(spare, 10 * 200)
        self.blp("c.blp", data, "--no-offsets")
        self.assertEqual(self.read("c.blp")[5] & 1, 0)

    def test_empty(self):
        self.blp("a.blp", b"")
        self.assertEqual((self.info("a.blp")["nbytes"], self.good("cat", "a.blp"), self.good("cat", "a.blp", "--slice", "::-1")), (0, b"", b""))
        self.good("unpack", "a.blp", "out")
        self.assertEqual(self.read("out"), b"")
        self.good("append", "-q", "a.blp", "-", stdin=b"now there is some")
        self.assertEqual(self.good("cat", "a.blp"), b"now there is some")

    def test_name_chooses(self):
        for name, flags, kind in [("a.blp", [], "bloscpack schunk"), ("a.blpk", [], "bloscpack schunk"), ("a", ["--to", "blpk"], "bloscpack schunk"),
                                  ("b.blp", ["--to=bagz"], "bagz bag"), ("a.bagz", [], "bagz bag"), (".blp", [], "bloscpack schunk")]:
            self.good("pack", "-q", "-", name, *flags, stdin=b"one\ntwo\n")
            self.assertEqual(self.good("identify", name).decode(), f"{name}: {kind}\n")
            self.assertEqual(self.good("cat", name), b"one\ntwo\n" if "schunk" in kind else b"onetwo")

    def test_what_is_there_stays(self):
        self.blp("a.blp", b"old")
        self.write("in", b"new")
        self.write("out", b"old")
        for args in [["pack", "in", "a.blp"], ["unpack", "a.blp", "out"]]:
            words, _ = self.bad(*args)
            self.assertIn("--force", words)
            self.assertIn(args[2], words)
        self.assertEqual((self.good("cat", "a.blp"), self.read("out")), (b"old", b"old"))
        self.good("pack", "--replace", "in", "a.blp")
        self.good("unpack", "--force", "a.blp", "out")
        self.assertEqual((self.good("cat", "a.blp"), self.read("out")), (b"new", b"new"))
        for args in [["pack", "in", "in", "--to", "blpk", "--force"], ["append", "a.blp", "a.blp"], ["pack", "nope", "n.blp"],
                     ["pack", ".", "n.blp"], ["pack", "in", "no/n.blp"], ["append", "nope.blp", "in"], ["append", "in", "in"],
                     ["append", "a.blp", "nope"], ["unpack", "nope.blp", "n"], ["unpack", "in", "n"], ["unpack", "a.blp", "."],
                     ["unpack", "a.blp", "no/n"], ["pack", "in", "n.blp", "--metadata", "nope"], ["pack", "in", "n.blp", "--chunk-size", "0"]]:
            words, _ = self.bad(*args)
            self.assertEqual(self.files(), ["a.blp", "in", "out"], args)
        self.assertEqual((self.good("cat", "a.blp"), self.read("in")), (b"new", b"new"))

    def test_summary(self):
        r = run("pack", "-", "a.blp", stdin=b"content", cwd=self.folder.name)
        size = os.path.getsize(self.path("a.blp"))
        self.assertEqual((r.returncode, r.stdout, r.stderr.decode()), (0, b"", f"a.blp: 7 bytes packed; now 7 bytes in 1 chunk, {size} bytes on disk\n"))
        r = run("append", "a.blp", "-", stdin=b"more", cwd=self.folder.name)
        self.assertRegex(r.stderr.decode(), r"^a.blp: 4 bytes appended; now 11 bytes in 1 chunk, \d+ bytes on disk\n$")
        r = run("unpack", "a.blp", "out", cwd=self.folder.name)
        self.assertEqual(r.stderr.decode(), "out: 11 bytes unpacked\n")
        for args in [["pack", "-q", "--force", "out", "a.blp"], ["append", "-q", "a.blp", "out"], ["unpack", "-q", "--force", "a.blp", "out"]]:
            r = run(*args, cwd=self.folder.name)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))

    def test_append(self):
        pieces = [items(n, n) for n in (2100, 1, 1024, 5000)] + [b"odd", b"", items(3)]
        for flags in [[], ["--no-offsets"], ["--format-version", "1"], ["--format-version", "rfc"], ["--codec", "zstd", "--checksum", "sha512"]]:
            self.blp("a.blp", pieces[0], "--chunk-size", "8K", *flags)
            was = self.info("a.blp")
            for i, piece in enumerate(pieces[1:]):
                self.write("in", piece)
                if i % 2:
                    self.good("append", "-q", "--no-sync", "a.blp", "in")
                else:
                    self.good("append", "-q", "--no-sync", "a.blp", "-", stdin=piece)
                self.assertEqual(self.good("cat", "a.blp"), b"".join(pieces[: i + 2]))
            now = self.info("a.blp")
            for key in ("dialect", "chunk_size", "typesize", "codec", "checksum"):
                self.assertEqual(now[key], was[key])
            self.assertEqual(now["chunks"], -(-now["nbytes"] // now["chunk_size"]))
        self.blp("a.blp", items(700), "--chunk-size", "8K")
        self.good("append", "-q", "--codec", "zstd", "a.blp", "-", stdin=items(5000))
        self.assertEqual(self.info("a.blp")["codec"], "zstd")
        self.good("append", "-q", "--codec", "zlib", "--level=9", "--shuffle=none", "a.blp", "-", stdin=items(5000))
        self.assertEqual(self.info("a.blp")["codec"], "mixed")

    def test_metadata(self):
        for text in ['{"a": [1, -2.5e3, {}], "b": "\\u00e9 \\"\u00e9", "c": {"d": null}}', "[]", "3", '"x"', " {}\n", "[[[]], true, false]"]:
            meta = self.write("m.json", text.encode())
            for flags in [[], ["--format-version", "rfc"]]:
                self.blp("a.blp", b"content", "--metadata", meta, *flags)
                self.assertEqual((self.info("a.blp")["metadata"], self.info("a.blp")["dialect"]), (json.loads(text), "rfc" if flags else "v3"))
                self.assertIn(text.strip(), self.good("info", "a.blp").decode())
        self.assertEqual(self.good("cat", "a.blp"), b"content")
        self.good("append", "-q", "a.blp", "-", stdin=b"!")
        self.assertEqual(self.info("a.blp")["metadata"], [[[]], True, False])
        self.write("in", b"content")
        self.good("pack", "-q", "--force", "in", "a.blp", "--metadata", "-", stdin=b'{"z": 0}')
        self.assertEqual(self.info("a.blp")["metadata"], {"z": 0})
        self.write("m.json", b"{'a': 1}")
        words, _ = self.bad("pack", "in", "b.blp", "--metadata", "m.json")
        self.assertIn("m.json", words)
        self.write("m.json", b"{}")
        for version in "12":
            self.bad("pack", "in", "b.blp", "--metadata", "m.json", "--format-version", version)
        self.assertNotIn("b.blp", self.files())

    def test_metadata_that_are_no_json(self):
        # the older layout has no checksum of its metadata: any text can stand there
        for text in ["{'a': 1}  ", '{"a": NaN}', "[" * 600 + "]" * 600, '{"a"; 1}  ', '["\\x41"]  ', "[1 2]     ", "[01]      ", '{"a":1,}  ',
                     '["\n"]     ', "nul       ", "[1.]      ", "[1}       ", '{"":1}}   ', '"\\u12"    ', "[,]       ", "{1:2}     "]:
            self.write("m.json", b'"%s"' % (b"x" * (len(text) - 2)))
            self.blp("a.blp", b"content", "--format-version", "rfc", "--metadata", "m.json")
            data = self.read("a.blp")
            self.write("a.blp", data[:32] + text.encode() + data[32 + len(text):])
            self.assertEqual(self.info("a.blp")["metadata"], text)
            self.assertEqual(self.good("info", "a.blp").count(b"\n"), 12)

    def test_slices(self):
        r = random.Random(5)
        for typesize, n, flags in [(8, 0, []), (1, 9, []), (8, 3000, ["--chunk-size", "4K"]), (3, 5000, ["--chunk-size", "999"]), (255, 40, [])]:
            data = self.blp("a.blp", r.randbytes(typesize * n), "--typesize", str(typesize), *flags)
            part = [data[i:i + typesize] for i in range(0, len(data), typesize)]
            slices = [(None, None, None), (None, None, -1), (0, 0, 1), (5, 2, None), (2, 5, -1), (None, None, 10**30), (-(10**30), 10**30, 1),
                      (None, None, -(10**30)), (2**63, None, -1), (None, 2**64, 2**63 - 1), (0, None, 2**62)]
            ends = [None, 0, 1, -1, n // 2, n - 1, n, n + 5, -n, -n - 3]
            slices += [(r.choice(ends), r.choice(ends), r.choice([None, 1, -1, 2, -2, 7, -7, 600, -600, n, -n - 1]) or 1) for _ in range(40)]
            for s in slices:
                text = ":".join("" if p is None else str(p) for p in s)
                with self.subTest(typesize=typesize, n=n, slice=text):
                    self.assertEqual(self.good("cat", "a.blp", "--slice", text), b"".join(part[slice(*s)]))
        data = self.blp("a.blp", items(10) + b"tail")
        self.assertEqual(self.good("cat", "a.blp", "--slice", ":"), data[:80])
        self.assertEqual(self.good("cat", "a.blp", "--slice=-1:"), data[72:80])

    def test_slices_of_large_content(self):
        data = self.blp("a.blp", items(3_000_000), "--chunk-size", "256K")
        part = memoryview(data).cast("Q")
        for s in [(None, None, 2), (None, None, -1), (1, None, 33), (None, None, -40_000), (5, None, 600_000), (None, 5, -999_999), (2_999_999, None, -524_287)]:
            text = ":".join("" if p is None else str(p) for p in s)
            self.assertEqual(self.good("cat", "a.blp", "--slice", text), part[slice(*s)].tobytes(), text)

    def test_npy(self):
        for data, flags, more, descr, shape, content in [
            (items(30), [], [], "'|V8'", (30,), None), (b"abc", ["--typesize=1"], [], "'|u1'", (3,), None), (b"", [], [], "'|V8'", (0,), None),
            (items(30), ["--typesize=24"], ["--slice", "::-3"], "'|V24'", (4,), None), (items(2) + b"x", [], ["--slice", ":"], "'|V8'", (2,), items(2)),
        ]:
            self.blp("a.blp", data, *flags)
            out = self.good("cat", "a.blp", "--format", "npy", *more)
            self.assertEqual(out[:8], b"\x93NUMPY\1\0")
            n = 10 + struct.unpack_from("<H", out, 8)[0]
            self.assertEqual(n % 64, 0)
            head = out[10:n].decode()
            self.assertTrue(head.endswith("\n"))
            self.assertEqual(eval(head), {"descr": eval(descr), "fortran_order": False, "shape": shape})
            self.assertEqual(out[n:], content if content is not None else data if not more else self.good("cat", "a.blp", *more))
        words, out = self.bad("cat", "a.blp", "--format", "npy")
        self.assertEqual(out, b"")
        self.assertIn("17 bytes", words)
        words, out = self.bad("cat", "a.blp", "--format", "text")
        self.assertEqual(out, b"")
        self.assertIn("--format text", words)

    def test_damaged_chunks(self):
        data = self.blp("a.blp", items(40_000), "--chunk-size", "16K")
        whole = self.read("a.blp")
        for bad in [[0], [19], [3, 4, 11]]:
            self.write("a.blp", whole)
            for chunk in bad:
                self.flip("a.blp", self.chunks("a.blp")[chunk] + 40)
            zeros = bytearray(data)
            for chunk in bad:
                zeros[chunk * 16384:(chunk + 1) * 16384] = bytes(len(zeros[chunk * 16384:(chunk + 1) * 16384]))
            words, out = self.bad("cat", "a.blp")
            self.assertEqual(out, data[:bad[0] * 16384])
            self.assertIn(f"chunk {bad[0]}: ", words)
            words, _ = self.bad("unpack", "a.blp", "out")
            self.assertIn(f"a.blp: chunk {bad[0]}: ", words)
            self.assertEqual(self.files(), ["a.blp"])
            for flags, want in [([], zeros), (["--slice", "::-1"], b"".join(bytes(zeros[i:i + 8]) for i in range(len(zeros) - 8, -1, -8)))]:
                words, out = self.bad("cat", "--skip-damaged", "a.blp", *flags, lines=len(bad))
                self.assertEqual(out, want)
                lines = words.splitlines()
                for chunk, line in zip(bad, lines):
                    self.assertRegex(line, rf"a.blp: chunk {chunk}: .*\(skipped\)$")
            self.bad("unpack", "-q", "--skip-damaged", "a.blp", "out", lines=len(bad))
            self.assertEqual(self.read("out"), zeros)
            os.remove(self.path("out"))
            words, out = self.bad("verify", "a.blp")
            lines = out.decode().splitlines()
            for chunk, line in zip(bad, lines):
                self.assertRegex(line, rf"\bchunk {chunk}: ")
            self.assertEqual(lines[len(bad):], [f"a.blp: {20 - len(bad)} sound, {len(bad)} bad, 0 unchecked"])
            self.bad("sum", "a.blp")
            self.assertEqual(self.good("repair", "a.blp").decode(), f"a.blp: {20 - len(bad)} chunks kept, {len(bad)} dropped\n")
            self.assertEqual(self.good("verify", "a.blp"), b"a.blp: 20 sound, 0 bad, 0 unchecked\n")
            self.assertEqual(self.good("cat", "a.blp"), zeros)
        # bytes that nothing is decoded of, and that are wrong only for the checksum
        self.blp("a.blp", os.urandom(1000))
        self.flip("a.blp", self.chunks("a.blp")[0] + 500)
        self.bad("cat", "a.blp")
        self.assertEqual(len(self.good("cat", "a.blp", "--unchecked")), 1000)
        self.blp("a.blp", items(1000), "--no-checksum")
        self.assertEqual(self.good("verify", "a.blp"), b"a.blp: 0 sound, 0 bad, 1 unchecked\n")

    def test_chunks_that_are_gone(self):
        data = self.blp("a.blp", items(40_000), "--chunk-size", "16K")
        os.truncate(self.path("a.blp"), self.chunks("a.blp")[7] + 9)
        for args in [["cat"], ["info"], ["sum"]]:
            words, out = self.bad(*args, "a.blp")
            self.assertEqual(out, b"")
            self.assertIn("--skip-damaged", words)
        words, out = self.bad("cat", "--skip-damaged", "a.blp")
        self.assertEqual(out, data[:7 * 16384])
        words, out = self.bad("info", "--json", "--skip-damaged", "a.blp")
        self.assertEqual(json.loads(out)["nbytes"], 7 * 16384)
        words, out = self.bad("verify", "a.blp")
        self.assertRegex(out.decode(), r"chunk 7\b.*\na.blp: 7 sound, \d+ bad, 0 unchecked; this is not a sound superchunk\n$" if b"not a sound" in out else r"chunk 7\b.*\na.blp: 7 sound, [1-9]\d* bad")
        self.bad("append", "a.blp", "-", stdin=b"x")
        self.assertEqual(self.good("repair", "a.blp"), b"a.blp: 7 chunks kept, 13 dropped\n")
        self.assertEqual(self.good("cat", "a.blp"), data[:7 * 16384])

    def test_damaged_metadata(self):
        self.write("m.json", b'{"name": "value"}')
        self.blp("a.blp", b"content", "--metadata", "m.json")
        self.flip("a.blp", 70)
        words, out = self.bad("info", "--json", "a.blp")
        self.assertIn("metadata", words)
        self.assertEqual((json.loads(out)["metadata"], json.loads(out)["nbytes"]), (None, 7))
        self.bad("info", "--skip-damaged", "a.blp")
        # what the content is, an array for example, is not known any more
        self.bad("cat", "a.blp")
        self.assertEqual(self.bad("cat", "--skip-damaged", "a.blp")[1], b"content")
        for args in [["sum"], ["sum", "--slice=:"], ["unpack", "-"], ["unpack", "out"], ["convert", "b.blp"]]:
            words, out = self.bad(args[0], "a.blp", *args[1:])
            self.assertIn("metadata", words)
            self.assertNotIn("(skipped)", words)
            self.assertEqual((out, self.files()), (b"", ["a.blp", "m.json"]), args)
        words, out = self.bad("unpack", "--skip-damaged", "a.blp", "-")
        self.assertEqual(out, b"content")
        self.assertIn("(skipped)", words)
        self.bad("unpack", "-q", "--skip-damaged", "a.blp", "out")
        self.assertEqual(self.read("out"), b"content")
        self.bad("verify", "a.blp")

    def test_repair_tells_that_metadata_went(self):
        self.write("m.json", b'{"name": "value"}')
        for at in [70, 5]:  # 5: the header too
            self.blp("a.blp", b"content", "--metadata", "m.json")
            self.flip("a.blp", 70)
            self.flip("a.blp", at) if at != 70 else None
            words, out = self.bad("repair", "a.blp")
            self.assertIn("metadata", words)
            self.assertEqual(out, b"a.blp: 1 chunk kept, 0 dropped\n")
            self.assertEqual((self.info("a.blp")["metadata"], self.good("cat", "a.blp")), (None, b"content"))
            self.good("repair", "a.blp")
        self.blp("a.blp", b"content", "--metadata", "m.json")
        self.flip("a.blp", 5)
        self.good("repair", "a.blp")
        self.assertEqual(self.info("a.blp")["metadata"], {"name": "value"})

    def test_damaged_header(self):
        data = self.blp("a.blp", bytes(16384) + items(10_000), "--chunk-size", "16K")
        self.flip("a.blp", 5)
        for args in [["cat"], ["unpack", "-"], ["sum"]]:
            words, out = self.bad(args[0], "a.blp", *args[1:])
            self.assertIn("header", words)
            self.assertEqual(out, b"")
        # the chunks are sound, the first one is of zeros
        for args in [["cat"], ["cat", "--slice", ":"], ["unpack", "-"]]:
            words, out = self.bad(args[0], "--skip-damaged", "a.blp", *args[1:])
            self.assertEqual(out, data)
            self.assertRegex(words, r"a.blp: header: .*\(skipped\)$")
        # one that is not is told of
        self.flip("a.blp", self.chunks("a.blp")[3] + 40)
        words, out = self.bad("cat", "--skip-damaged", "a.blp", lines=2)
        self.assertEqual(out, data[:3 * 16384] + bytes(16384) + data[4 * 16384:])
        self.assertRegex(words, r"header: [^\n]*\n.*chunk 3: [^\n]*\(skipped\)$")
        words, _ = self.bad("convert", "-q", "--skip-damaged", "a.blp", "b.blp", lines=2)
        self.assertRegex(words, r"header: [^\n]*\n.* zeros in the copy ")
        os.remove(self.path("b.blp"))
        # also where no checksum tells
        self.blp("a.blp", data, "--chunk-size", "16K", "--no-checksum")
        at = self.chunks("a.blp")[3]
        self.write("a.blp", self.read("a.blp")[:at + 16] + b"\xff" * 40 + self.read("a.blp")[at + 56:])
        for header in [False, True]:
            if header:
                self.flip("a.blp", 5)
            words, out = self.bad("cat", "--skip-damaged", "a.blp", lines=1 + header)
            self.assertRegex(words, r"chunk 3: [^\n]*\(skipped\)$")
            self.assertEqual(out, data[:3 * 16384] + bytes(16384) + data[4 * 16384:])

    def test_mixed_paths(self):
        data = self.blp("a.blp", items(100))
        self.pack("b.bagz", [b"one", b"two"])
        self.assertEqual(self.good("verify", "a.blp", "b.bagz"), b"a.blp: 1 sound, 0 bad, 0 unchecked\nb.bagz: 2 sound, 0 bad, 0 unchecked\n")
        out = self.good("sum", "--sum", "crc32", "b.bagz", "a.blp").decode()
        self.assertEqual(out, f"{digest([b'one', b'two'], 'crc32')}  b.bagz\n{zlib.crc32(data):08x}  a.blp\n")
        out = self.good("sum", "--slice", "1:", "a.blp", "b.bagz").decode()
        self.assertEqual(out, f"{hashlib.sha256(data[8:]).hexdigest()}  a.blp\n{digest([b'two'])}  b.bagz\n")
        for args in [["verify", "--limits", "separate", "a.blp"], ["sum", "--compression=zstd", "a.blp"], ["repair", "--limits", "tail", "a.blp"]]:
            words, _ = self.bad(*args)
            self.assertIn(args[1].split("=")[0], words)

    def test_reader_flags(self):
        data = self.blp("a.blp", items(100_000), "--chunk-size", "64K")
        for flags in [["--threads", "1"], ["--threads=3"], ["--map"], ["--memory-limit", "1M"], ["--unchecked"]]:
            self.assertEqual(self.good("cat", "a.blp", *flags), data)
            self.good("unpack", "--force", "a.blp", "out", *flags)
            self.assertEqual(self.read("out"), data)
            self.assertEqual(self.info("a.blp", *flags)["nbytes"], len(data))
        words, _ = self.bad("cat", "a.blp", "--memory-limit", "1K")
        self.assertIn("--memory-limit", words)

    def test_outputs_that_are_no_files(self):
        data = self.blp("a.blp", items(100_000))
        self.good("unpack", "-q", "a.blp", "/dev/null")
        os.mkfifo(self.path("pipe"))
        p = subprocess.Popen([TOOL, "unpack", "-q", "a.blp", "pipe"], cwd=self.folder.name)
        self.assertEqual(self.read("pipe"), data)
        self.assertEqual(p.wait(LONG), 0)
        self.assertEqual(self.files(), ["a.blp", "pipe"])
        if os.path.exists("/dev/full"):
            self.bad("unpack", "a.blp", "/dev/full")
        os.mkdir(self.path("folder"))
        os.chmod(self.path("folder"), 0o500)
        if os.getuid():
            self.bad("unpack", "a.blp", "folder/x")

    def test_pipe_closed_early(self):
        self.blp("a.blp", items(1_000_000))
        for args in [["cat", "a.blp"], ["unpack", "a.blp", "-"], ["cat", "a.blp", "--slice", "::-1"], ["cat", "--format=npy", "a.blp"]]:
            p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(len(p.stdout.read(10)), 10)
            p.stdout.close()
            self.assertEqual((p.stderr.read(), p.wait(LONG)), (b"", 0))
            p.stderr.close()

    def test_a_signal_leaves_nothing(self):
        old = self.blp("b.blp", b"old content")
        os.truncate(self.write("zeros", b""), 1 << 30)
        self.good("pack", "-q", "--no-sync", "zeros", "big.blp")
        self.write("out", b"old")
        before = self.files()
        for number in [signal.SIGINT, signal.SIGTERM]:
            for args in [["pack", "-", "a.blp"], ["pack", "--force", "-", "b.blp"], ["append", "b.blp", "-"]]:
                self.interrupt_fed(number, os.urandom(20_000_000), *args)
                self.assertEqual(self.files(), before)
            self.interrupt(number, "unpack", "--force", "big.blp", "out")
            self.assertEqual(self.files(), before)
        self.assertEqual((self.good("cat", "b.blp"), self.read("out")), (old, b"old"))

    @unittest.skipUnless(sys.platform == "linux", "ulimit -v counts differently")
    def test_memory_stays_small(self):
        # more content than there is memory, in and out, whatever the size of its chunks
        line = 'ulimit -v 262144; head -c 600000000 /dev/zero | "$0" pack --threads 1 --no-sync -q $1 - a.blp && ' \
               '"$0" cat --threads 1 a.blp | wc -c && "$0" cat --threads 1 a.blp --slice ::-70000001 | wc -c && "$0" unpack -q --threads 1 a.blp out'
        for flags in ["", "--chunk-size 64K", "--chunk-size 64M --typesize 1"]:
            p = subprocess.run(["bash", "-c", line, TOOL, flags], cwd=self.folder.name, capture_output=True)
            count = -(-600000000 // (1 if "typesize" in flags else 8) // 70000001)
            self.assertEqual((p.stderr, p.stdout.split()[0], p.returncode), (b"", b"600000000", 0), flags)
            self.assertEqual(os.path.getsize(self.path("out")), 600000000)
            os.remove(self.path("out"))
            os.remove(self.path("a.blp"))


class Convert(Blp):
    def test_settings(self):
        data = self.blp("a.blp", items(5000), "--chunk-size", "4K", "--codec", "zstd", "--checksum", "md5", "--typesize", "4")
        for flags, changed in [
            ([], {}),
            (["--codec", "lz4", "--level", "9", "--shuffle", "none"], {"codec": "lz4"}),
            (["--chunk-size", "16K"], {"chunk_size": 16384, "chunks": 3}),
            (["--checksum", "sha256"], {"checksum": "sha256"}),
            (["--no-checksum"], {"checksum": "none"}),
            (["--format-version", "1"], {"dialect": "v1", "checksum": "none"}),
            (["--format-version", "2", "--no-offsets"], {"dialect": "v2"}),
        ]:
            self.good("convert", "-q", "--force", "a.blp", "b.blp", *flags)
            facts = {k: v for k, v in self.info("a.blp").items() if k not in ("path", "cbytes")}
            self.assertEqual(facts | changed, {k: v for k, v in self.info("b.blp").items() if k not in ("path", "cbytes")}, flags)
            self.assertEqual(self.good("cat", "b.blp"), data)
        self.good("convert", "-q", "--force", "b.blp", "a.blp")
        self.assertEqual((self.info("a.blp")["dialect"], self.good("cat", "a.blp")), ("v3", data))

    def test_metadata(self):
        self.write("m.json", b'{"a": [1]}')
        data = self.blp("a.blp", items(100), "--metadata", "m.json", "--format-version", "rfc")
        self.good("convert", "-q", "a.blp", "b.blp")
        self.assertEqual((self.info("b.blp")["metadata"], self.info("b.blp")["dialect"]), ({"a": [1]}, "v3"))
        before = self.files()
        words, _ = self.bad("convert", "a.blp", "c.blp", "--format-version", "2")
        self.assertIn("metadata", words)
        self.assertEqual((self.files(), self.good("cat", "b.blp")), (before, data))

    def test_what_is_refused(self):
        self.blp("a.blp", items(9))
        self.blp("b.blp", items(8))
        os.link(self.path("a.blp"), self.path("same.blp"))
        before = self.read("a.blp"), self.read("b.blp")
        for args, code in [
            (["a.blp", "b.blp"], 1), (["a.blp", "a.blp"], 1), (["a.blp", "same.blp", "--force"], 1), (["none.blp", "c.blp"], 1),
            (["m.json", "c.blp"], 1), (["-", "c.blp"], 2), (["a.blp", "-"], 2), (["a.blp", "c.blp", "--level=10"], 2),
            (["a.blp", "c.blp", "--chunk-size=12"], 1), (["a.blp", "c.blp", "--no-checksum", "--checksum=md5"], 2),
        ]:
            self.bad("convert", *args, code=code)
            self.assertFalse(os.path.exists(self.path("c.blp")), args)
        self.assertEqual((self.read("a.blp"), self.read("b.blp")), before)

    def test_damage(self):
        data = self.blp("a.blp", items(5000), "--chunk-size", "4K")
        self.flip("a.blp", self.chunks("a.blp")[3] + 50)
        before = self.files()
        self.bad("convert", "a.blp", "b.blp")
        self.assertEqual(self.files(), before)
        words, _ = self.bad("convert", "--skip-damaged", "-q", "a.blp", "b.blp")
        self.assertIn("zeros in the copy", words)
        self.assertEqual(self.good("cat", "b.blp"), data[:3 * 4096] + bytes(4096) + data[4 * 4096:])

    @unittest.skipUnless(sys.platform == "linux", "ulimit -v counts differently")
    def test_memory_stays_small_and_a_signal_leaves_nothing(self):
        os.truncate(self.write("zeros", b""), 1 << 30)
        self.good("pack", "-q", "--no-sync", "zeros", "a.blp")
        line = 'ulimit -v 262144; "$0" convert --threads 1 --no-sync -q a.blp b.blp --codec zstd --level 1'
        p = subprocess.run(["bash", "-c", line, TOOL], cwd=self.folder.name, capture_output=True)
        self.assertEqual((p.stderr, p.returncode), (b"", 0))
        self.assertEqual(self.good("sum", "a.blp").split()[0], self.good("sum", "b.blp").split()[0])
        before = self.files(), self.read("b.blp")
        self.interrupt(signal.SIGTERM, "convert", "--force", "--level=9", "a.blp", "b.blp")
        self.assertEqual((self.files(), self.read("b.blp")), before)


def datasets():
    """The archive with the datasets of other tools, or None."""
    for name in ("blpk", "datasets"):
        path = os.path.join(FIXTURES or "", name, "files.tar.gz")
        if FIXTURES and os.path.exists(path):
            return path
    return None


@unittest.skipUnless(datasets(), "no datasets in HOLDALL_FIXTURES")
class Dataset(Base):
    """Folders that bcolz and BLZ wrote."""

    def unpack(self, path, name):
        with tarfile.open(datasets()) as archive:
            members = [m for m in archive.getmembers() if m.name == path or m.name.startswith(path + "/")]
            archive.extractall(self.folder.name, members)
        shutil.move(self.path(path), self.path(name))

    def test_array(self):
        self.unpack("bcolz/bcolz121_attrs/attrs_many", "a")
        self.assertEqual(self.good("identify", "a"), b"a: bcolz array\n")
        facts = json.loads(self.good("info", "--json", "a"))
        self.assertEqual([facts[k] for k in ("format", "kind", "dtype", "shape", "chunk", "nbytes")], ["bcolz", "array", "<f8", [120], [50], 960])
        self.assertEqual((facts["attrs"]["coords"], facts["attrs"]["unic\u00f6de"]), ({"lat": 40.1, "lon": 0.5}, "\u6f22\u5b57"))
        self.assertIn(b"\nattributes:\n  coords: {", self.good("info", "a"))
        items = struct.unpack("<120d", self.good("cat", "a"))
        self.assertEqual(self.good("cat", "--format", "text", "--slice", "117:", "a").split(), [b"%g" % x for x in items[117:]])
        self.assertEqual(self.good("cat", "--slice", "::-7", "a"), struct.pack("<18d", *items[::-7]))
        self.assertTrue(self.good("cat", "--format", "npy", "a").startswith(b"\x93NUMPY"))
        self.assertEqual(self.good("verify", "a/"), b"a/: 0 sound, 0 bad, 3 unchecked\n")
        self.good("convert", "--quiet", "a", "a.blp")
        self.assertEqual(self.good("cat", "a.blp"), struct.pack("<120d", *items))
        # what is for others
        for flags in (["--lengths"], ["--records", "1"]):
            self.bad("cat", *flags, "a", code=2)
        for flags in ([], ["--slice", "3:90:2"]):
            self.assertEqual(self.good("sum", *flags, "a"), hashlib.sha256(self.good("cat", *flags, "a")).hexdigest().encode() + b"  a\n")

    def test_table(self):
        self.unpack("bcolz/bcolz121_table/t_attrs", "t")
        facts = json.loads(self.good("info", "--json", "t"))
        self.assertEqual((facts["kind"], facts["rows"], facts["attrs"]), ("table", 530, {"n": 1, "title": "x"}))
        self.assertEqual([(c["name"], c["dtype"], c["rows_stored"]) for c in facts["columns"]], [("a", "<i4", 530), ("b", "<f8", 530), ("c", "|S6", 530)])
        self.assertEqual(len(self.good("cat", "t/c")), 530 * 6)
        self.assertEqual(self.good("cat", "--rows", "0:1", "t"), b"a,b,c\n1,2.0,-2\n")
        # a column that is longer than the others
        self.write("t/b/meta/sizes", b'{"shape": [500], "nbytes": 4000, "cbytes": 1}')
        self.assertRegex(self.good("info", "t"), rb"\n  a: <i4 \[500\], 2000 bytes, chunks of \d+, 30 more rows that other columns lack\n")
        os.rename(self.path("t/c"), self.path("t/d"))
        self.assertIn('column "c"', self.bad("info", "t")[0])

    def test_objects(self):
        self.unpack("bcolz/bcolz121_object/obj", "o")
        found = self.good("cat", "o")
        pickles = io.BytesIO(found)
        self.assertEqual([pickle.load(pickles) for _ in range(5)], ["x", None, 17, 2.5, [1, 2]])
        self.assertEqual(pickles.read(), b"")
        self.assertTrue(found.startswith(self.good("cat", "--slice", ":2", "o")))
        self.bad("cat", "--format", "npy", "o")
        self.bad("sum", "o")

    def test_damage(self):
        self.unpack("bcolz/bcolz121_dflt/dflt_S", "a")
        good = self.good("cat", "a")
        rows = json.loads(self.good("info", "--json", "a"))["chunk"][0]
        chunk = bytearray(self.read("a/data/__1.blp"))
        chunk[16] = 99
        self.write("a/data/__1.blp", chunk)
        r = run("verify", "a", cwd=self.folder.name)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout.decode(), r"^a/data/__1.blp: chunk 1: .*\na: 0 sound, 1 bad, \d+ unchecked\n$")
        r = run("cat", "a", cwd=self.folder.name)
        self.assertIn(b"chunk 1", r.stderr)
        self.assertEqual(r.returncode, 1)
        r = run("cat", "--skip-damaged", "a", cwd=self.folder.name)
        self.assertEqual((r.returncode, len(r.stdout)), (1, len(good)))
        self.assertEqual(r.stdout[: rows * 5], good[: rows * 5])
        self.assertEqual(r.stdout[rows * 5 : 2 * rows * 5], b"abc\0\0" * rows)
        self.assertEqual(r.stdout[2 * rows * 5 :], good[2 * rows * 5 :])
        os.remove(self.path("a/data/__1.blp"))
        self.assertEqual(run("verify", "a", cwd=self.folder.name).returncode, 1)


class Array(Blp):
    """Superchunks whose metadata say that they are arrays."""

    KINDS = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f2": "e", "f4": "f", "f8": "d"}

    def array(self, name, data, dtype, shape, *flags, order="C"):
        meta = {"dtype": repr(dtype) if isinstance(dtype, str) else str(dtype), "shape": shape, "order": order, "container": "numpy"}
        self.write("m.json", json.dumps(meta).encode())
        return self.blp(name, data, "--metadata", "m.json", *flags)

    def in_c_order(self, data, size, shape):
        """The items of an array that is stored in Fortran order."""
        place = [1]
        for n in shape:
            place.append(place[-1] * n)
        indices = [()]
        for n in shape:
            indices = [i + (k,) for i in indices for k in range(n)]
        at = [sum(i * p for i, p in zip(index, place)) * size for index in indices]
        return b"".join(data[a:a + size] for a in at)

    def npy(self, *args):
        out = self.good("cat", "--format", "npy", *args)
        n = 10 + struct.unpack_from("<H", out, 8)[0]
        self.assertEqual((out[:8], n % 64), (b"\x93NUMPY\1\0", 0))
        return eval(out[10:n].decode()), out[n:]

    def test_info(self):
        self.array("a.blp", items(24), "<u8", [2, 3, 4])
        facts = self.info("a.blp")
        self.assertEqual((facts["kind"], facts["dtype"], facts["shape"], facts["order"]), ("array", "<u8", [2, 3, 4], "C"))
        self.assertEqual(facts["metadata"]["container"], "numpy")
        lines = self.good("info", "a.blp").decode()
        for words in ["kind: +array\n", "dtype: +<u8\n", "shape: +2, 3, 4\n", "order: +C\n"]:
            self.assertRegex(lines, words)
        # more items than there are bytes
        self.array("a.blp", items(23), "<u8", [2, 3, 4])
        for args in [["info"], ["cat"]]:
            words, _ = self.bad(*args, "a.blp")
            self.assertIn("a.blp", words)
        self.assertEqual(self.good("unpack", "a.blp", "-"), items(23))

    def test_cat(self):
        r = random.Random(8)
        for size, shape in [(8, [7]), (2, [5, 6]), (3, [4, 3, 5]), (1, [3, 0, 2]), (8, [0]), (4, []), (300, [9, 2]), (16, [1, 1, 6, 1])]:
            n = 1
            for s in shape:
                n *= s
            for order in "CF":
                with self.subTest(size=size, shape=shape, order=order):
                    data = self.array("a.blp", r.randbytes(size * n), f"|V{size}", shape, order=order)
                    want = data if order == "C" else self.in_c_order(data, size, shape)
                    self.assertEqual(self.good("cat", "a.blp"), want)
                    self.assertEqual(self.good("unpack", "a.blp", "-"), data)
                    head, body = self.npy("a.blp")
                    self.assertEqual(head["descr"], f"|V{size}")
                    self.assertEqual(head["shape"], tuple(shape))
                    self.assertEqual(body, data if head["fortran_order"] else want)
                    if not shape:
                        self.bad("cat", "a.blp", "--slice", ":")
                        self.assertEqual(self.good("cat", "a.blp", "--slice", "..."), want)
                        continue
                    row = len(want) // shape[0] if shape[0] else 0
                    rows = [want[i * row:(i + 1) * row] for i in range(shape[0])]
                    for text in [":", "::-1", "1:", ":-1:2", "-1:0:-2", "2:1", "::-3", "1:2", "99:"]:
                        s = slice(*(int(p) if p else None for p in text.split(":")))
                        self.assertEqual(self.good("cat", "a.blp", "--slice", text), b"".join(rows[s]), text)
                        head, body = self.npy("a.blp", "--slice", text)
                        self.assertEqual((head["shape"], head["fortran_order"], body), ((len(rows[s]), *shape[1:]), False, b"".join(rows[s])))

    def test_large_boxes(self):
        # more than is read at once, in both orders and directions, and rows that are too large as well
        for shape in [[3_000_000, 2], [2, 6_000_000], [3, 2_000_000, 2]]:
            n = 1
            for s in shape:
                n *= s
            data = struct.pack("<%dQ" % n, *range(n))
            flat = memoryview(data).cast("Q")
            for order in "CF":
                self.array("a.blp", data, "<u8", shape, order=order)
                for text, step in [(":", 1), ("::-1", -1), ("::2", 2)]:
                    out = memoryview(self.good("cat", "a.blp", "--slice", text)).cast("Q")
                    first = range(shape[0])[::step]
                    rest = n // shape[0]
                    self.assertEqual(len(out), len(first) * rest)
                    for k in random.Random(1).sample(range(len(out)), 2000) + [0, len(out) - 1]:
                        index, at = [first[k // rest]], k % rest
                        for s in reversed(shape[1:]):
                            index.insert(1, at % s)
                            at //= s
                        place, want = 1, 0
                        for i, s in zip(index if order == "F" else index[::-1], shape if order == "F" else shape[::-1]):
                            want += i * place
                            place *= s
                        self.assertEqual(out[k], flat[want])

    def test_text(self):
        inf, nan = float("inf"), float("nan")
        for kind, values in [
            ("b1", [True, False]), ("i1", [-128, -1, 0, 127]), ("u1", [0, 255]), ("i2", [-32768, 32767]), ("u2", [65535]),
            ("i4", [-2**31, 2**31 - 1]), ("u4", [2**32 - 1]), ("i8", [-2**63, -2**63 + 1, 2**63 - 1, -1]), ("u8", [2**64 - 1]),
            ("f2", [0.0, -0.0, 1.0, 0.5, -2.75, 65504.0, 2**-24, 2**-14, 0.0999755859375, inf, -inf, nan]),
            ("f4", [0.0, 1.5, 0.1, 3.4028234663852886e38, 1e-45, 16777217.0, -1e10, inf, -inf, nan]),
            ("f8", [0.0, -0.0, 0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 123456789.123456789, 1e22, 2.5, inf, -inf, nan]),
        ]:
            for sign in "<>" if kind[1] != "1" else "|":
                code = ("<" if sign == "|" else sign) + "%d" % len(values) + self.KINDS[kind]
                self.array("a.blp", struct.pack(code, *values), sign + kind, [len(values)], "--typesize", kind[1])
                lines = self.good("cat", "a.blp", "--format", "text").decode().splitlines()
                if kind[0] == "f":
                    again = struct.pack(code, *map(float, lines))
                    self.assertEqual(again, self.good("cat", "a.blp"))
                else:
                    self.assertEqual(lines, [str(int(v)) for v in values])
        self.array("a.blp", struct.pack("<4d", 0.1, 2.0, 1e100, -3.25), "<f8", [4])
        self.assertEqual(self.good("cat", "a.blp", "--format=text"), b"0.1\n2\n1e+100\n-3.25\n")
        self.assertEqual(self.good("cat", "a.blp", "--format=text", "--slice", "::-2"), b"-3.25\n2\n")
        # chunks that cut numbers
        data = self.array("a.blp", items(5000), "<u8", [5000], "--chunk-size", "999", "--typesize", "3")
        self.assertEqual([int(v) for v in self.good("cat", "a.blp", "--format=text").split()], list(struct.unpack("<5000Q", data)))
        for dtype in ["<c16", "|S4", "<M8[ns]", "|V4", "<f16", [("a", "<i4"), ("b", "<f8")]]:
            size = 16 if dtype in ("<c16", "<f16") else 8 if dtype == "<M8[ns]" else 4 if isinstance(dtype, str) else 12
            self.array("a.blp", bytes(size * 3), dtype, [3])
            words, out = self.bad("cat", "a.blp", "--format", "text")
            self.assertEqual(out, b"")
            self.assertIn("--format text", words)
            head, _ = self.npy("a.blp")
            self.assertEqual((head["descr"], head["shape"]), (dtype, (3,)))

    def test_append(self):
        data = self.array("a.blp", items(12), "<u8", [2, 6])
        more = items(6 * 300_000)
        self.write("in", more)
        r = run("append", "a.blp", "in", cwd=self.folder.name)
        self.assertRegex(r.stderr.decode(), r"^a.blp: 14400000 bytes appended; now 14400096 bytes in 300002 rows, \d+ bytes on disk\n$")
        self.assertEqual((self.info("a.blp")["shape"], self.info("a.blp")["metadata"]["shape"]), ([300_002, 6], [300_002, 6]))
        self.assertEqual(self.good("cat", "a.blp"), data + more)
        words, _ = self.bad("append", "a.blp", "-", stdin=more[:-8])
        self.assertIn("40 bytes", words)
        self.good("append", "-q", "a.blp", "-", stdin=b"")
        self.assertEqual(self.info("a.blp")["shape"], [300_002, 6])
        for shape, order in [([3, 4], "F"), ([], "C"), ([12, 0], "C")]:
            self.array("a.blp", items(int(shape == [3, 4]) * 12 or int(shape == [])), "<u8", shape, order=order)
            before = self.read("a.blp")
            self.bad("append", "a.blp", "-", stdin=items(12))
            self.assertEqual(self.read("a.blp"), before)
        self.array("a.blp", b"", "<u8", [0, 3])
        self.good("append", "-q", "a.blp", "-", stdin=items(9))
        self.assertEqual((self.info("a.blp")["shape"], self.good("cat", "a.blp")), ([3, 3], items(9)))

    def test_damage(self):
        data = self.array("a.blp", items(40_000), "<u8", [200, 200], "--chunk-size", "16K", order="F")
        whole = self.in_c_order(data, 8, [200, 200])
        self.flip("a.blp", os.path.getsize(self.path("a.blp")) - 600)
        self.bad("cat", "a.blp")
        words, out = self.bad("cat", "--skip-damaged", "a.blp")
        self.assertIn("a.blp", words)
        self.assertEqual(len(out), len(whole))
        self.assertNotEqual(out, whole)
        self.assertTrue(all(o in (w, 0) for o, w in zip(out, whole)))
        self.flip("a.blp", 5)
        self.bad("cat", "--skip-damaged", "a.blp", lines=2)
        self.array("a.blp", data, "<u8", [200, 200], "--chunk-size", "16K", order="F")
        self.flip("a.blp", 5)
        words, out = self.bad("cat", "--skip-damaged", "a.blp")
        self.assertEqual(out, whole)

    def header(self, descr, order, shape, version=1, encoding="latin-1"):
        text = f"{{'descr': {descr!r}, 'fortran_order': {order == 'F'}, 'shape': {shape!r}, }}\n".encode(encoding)
        return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text

    def test_files_of_numpy_become_arrays(self):
        two = [("a", "<i4"), ("b", ">f8", (2,))]
        for descr, size, order, shape, version in [
            ("<f8", 8, "C", (4, 5), 1), ("<f8", 8, "F", (4, 5), 1), (">i2", 2, "C", (7,), 2), ("|b1", 1, "C", (), 1), ("<U3", 12, "F", (2, 3, 4), 3),
            (two, 20, "C", (3, 1), 1), ([("\u00e9", "<i4")], 4, "C", (3,), 1), ([("\u20ac", "<i4")], 4, "C", (3,), 3), ("<i4", 4, "C", (0, 3), 1),
            ("<i4", 4, "C", (3, 0), 1), ("|S300", 300, "F", (5, 2), 1), ("|V0", 0, "C", (5,), 1),
        ]:  # fmt: skip
            content = items(1000)[:size * int(np_count(shape))]
            self.write("x.npy", self.header(descr, order, shape, version, "utf-8" if version == 3 else "latin-1") + content)
            self.good("pack", "-q", "--force", "--no-sync", "x.npy", "x.blp")
            facts = self.info("x.blp")
            self.assertEqual((facts["kind"], facts["shape"], facts["order"]), ("array", list(shape), order))
            self.assertEqual(eval(facts["metadata"]["dtype"]), descr)
            self.assertEqual((facts["typesize"], facts["nbytes"]), (size if 0 < size < 256 else 1, len(content)))
            self.assertEqual(self.good("unpack", "x.blp", "-"), content)
            self.good("convert", "-q", "--force", "--chunk-size", "100", "--codec", "zlib", "x.blp", "y.blp")
            now = self.info("y.blp")
            self.assertEqual([now[k] for k in ("metadata", "order", "typesize")], [facts[k] for k in ("metadata", "order", "typesize")])
            self.assertEqual(self.good("unpack", "y.blp", "-"), content)
        # chunks end with rows; --raw and standard input take the bytes
        whole = self.header("<f8", "C", (1000, 13)) + items(13000)
        self.write("x.npy", whole)
        self.good("pack", "-q", "--force", "--chunk-size", "1000", "x.npy", "x.blp")
        self.assertEqual((self.info("x.blp")["chunk_size"], self.good("cat", "x.blp")), (936, items(13000)))
        self.good("pack", "-q", "--force", "--raw", "x.npy", "x.blp")
        self.assertEqual((self.info("x.blp")["kind"], self.good("cat", "x.blp")), ("schunk", whole))
        self.good("pack", "-q", "--force", "-", "x.blp", stdin=whole)
        self.assertEqual((self.info("x.blp")["kind"], self.good("cat", "x.blp")), ("schunk", whole))

    def test_files_of_numpy_become_rows(self):
        two = [("a", "<i4"), ("b", ">f8", (2,))]
        for descr, size, rest in [("<f8", 8, ()), ("<i4", 4, (3,)), (two, 20, (2, 1)), ("|S300", 300, ())]:
            some, more = items(1000)[:size * 4 * np_count(rest)], items(1000)[-size * 3 * np_count(rest):]
            self.write("x.npy", self.header(descr, "C", (4, *rest)) + some)
            self.write("y.npy", self.header(descr, "C", (3, *rest), 2) + more)
            self.write("0.npy", self.header(descr, "C", (0, *rest)))
            self.good("pack", "-q", "--force", "x.npy", "x.blp")
            self.good("append", "-q", "x.blp", "y.npy")
            self.good("append", "-q", "x.blp", "0.npy")
            self.assertEqual((self.info("x.blp")["shape"], self.good("cat", "x.blp")), ([7, *rest], some + more))
        # the type may be spelled in another way
        self.array("x.blp", items(4), "<u8", [4])
        for descr in ["'<u8'", '"<u8"', " '<u8' "]:
            head = self.header("<u8", "F", (2,)).replace(b"'descr': '<u8'", b"'descr': " + descr.encode())
            self.write("y.npy", head[:8] + struct.pack("<H", len(head) - 10) + head[10:] + items(2))
            self.good("append", "-q", "x.blp", "y.npy")
        self.assertEqual(self.good("cat", "x.blp"), items(4) + 3 * items(2))
        # what does not fit
        self.array("x.blp", items(12), "<u8", [2, 6])
        before = self.read("x.blp")
        for descr, order, shape, content, words in [
            ("<f8", "C", (1, 6), items(6), "<f8"), (">u8", "C", (1, 6), items(6), ">u8"), ("<u8", "C", (6, 1), items(6), "(6, 1)"),
            ("<u8", "C", (6,), items(6), "(6,)"), ("<u8", "C", (), items(1), "()"), ("<u8", "F", (2, 6), items(12), "Fortran"),
            ("<u8", "C", (1, 6), items(5), "bytes"), ("<u8", "C", (1, 6), items(12), "bytes"), ("<u8", "C", (2**60, 6), items(12), "bytes"),
        ]:  # fmt: skip
            self.write("y.npy", self.header(descr, order, shape) + content)
            said, _ = self.bad("append", "x.blp", "y.npy")
            self.assertIn(words, said)
            self.assertIn("y.npy", said)
            self.assertEqual(self.read("x.blp"), before)
        self.write("y.npy", items(12))
        self.assertIn("--raw", self.bad("append", "x.blp", "y.npy")[0])
        self.good("append", "-q", "--raw", "x.blp", "y.npy")
        self.assertEqual((self.info("x.blp")["shape"], self.good("cat", "x.blp")), ([4, 6], items(12) * 2))
        # what is no array takes bytes
        self.blp("s.blp", b"some")
        self.good("append", "-q", "s.blp", "y.npy")
        self.assertEqual(self.good("cat", "s.blp"), b"some" + items(12))

    def test_sum_of_a_slice(self):
        data = items(5000)
        self.blp("s.blp", data + b"odd", "--chunk-size", "4K")
        self.array("c.blp", data, "<u8", [250, 20], "--chunk-size", "4K")
        self.array("f.blp", data, "<u8", [250, 20], "--chunk-size", "4K", order="F")
        for part in ["3:700", "::-7", ":", "10:20:3", "5:5", "100:3:-9"]:
            for name in ["s.blp", "c.blp", "f.blp"]:
                for kind in ["sha256", "md5"]:
                    out = self.good("sum", "--sum", kind, f"--slice={part}", name).decode()
                    want = hashlib.new(kind, self.good("cat", f"--slice={part}", name)).hexdigest()
                    self.assertEqual(out, f"{want}  {name}\n", part)
        self.flip("c.blp", os.path.getsize(self.path("c.blp")) - 600)
        self.bad("sum", "--slice=::3", "c.blp")
        self.array("0.blp", items(1), "<u8", [])
        self.bad("sum", "--slice=:", "0.blp")

    def test_sum_is_of_the_items_in_c_order(self):
        data = items(5000)
        self.array("f.blp", data, "<u8", [250, 20], "--chunk-size", "4K", order="F")
        c = self.array("c.blp", self.in_c_order(data, 8, [250, 20]), "<u8", [250, 20], "--chunk-size", "16K")
        self.blp("s.blp", c)
        for kind in ["sha256", "crc32"]:
            sums = [self.good("sum", "--sum", kind, *more, name).split()[0] for name, more in
                    [("f.blp", []), ("f.blp", ["--slice=:"]), ("c.blp", []), ("c.blp", ["--slice=:"]), ("s.blp", [])]]
            self.assertEqual(len(set(sums)), 1)
        self.assertEqual(sums[0].decode(), "%08x" % zlib.crc32(c))
        self.flip("f.blp", os.path.getsize(self.path("f.blp")) - 600)
        self.assertIn("f.blp", self.bad("sum", "f.blp")[0])

    def test_what_is_no_file_of_numpy(self):
        head, content = self.header("<f8", "C", (4,)), items(4)
        for data in [
            b"", b"hello", head[:7], head[:30], head, head + content[:-1], head + content + b"x", head.replace(b"'descr'", b"'other'") + content,
            head.replace(b"False", b"Maybe") + content, head.replace(b"<f8", b"<q9") + content, head.replace(b"<f8", b"|O8") + content,
            head.replace(b"(4,)", b"(-4,)") + content, head.replace(b"(4,)", b"4") + content, head.replace(b"{", b"[") + content,
            head.replace(b"(4,)", b"(4611686018427387904,)") + content, head.replace(b"(4,)", b"(99999999999999999999,)") + content,
            self.header("<f8", "C", (1,) * 17) + items(1), head.replace(b"\1\0", b"\7\0", 1) + content, head.replace(b"'<f8'", b"open('x')") + content,
        ]:  # fmt: skip
            self.write("x.npy", data)
            self.bad("pack", "x.npy", "x.blp")
            self.assertEqual([n for n in self.files() if n.startswith("x.blp")], [], data)
        self.write("x.npy", head + content)
        self.write("m.json", b"{}")
        self.bad("pack", "x.npy", "x.blp", "--typesize", "8", code=2)
        self.bad("pack", "x.npy", "x.blp", "--metadata", "m.json", code=2)
        self.bad("pack", "x.npy", "x.blp", "--format-version", "2")


class Damage(Base):
    def setUp(self):
        super().setUp()
        self.records = [b"record number %04d" % i for i in range(2000)]

    def damaged(self, name, which, *flags):
        self.pack(name, self.records, "--replace", *flags)
        data = self.read(name)
        limits = struct.unpack("<2000Q", data[-16000:])
        for i in which:
            self.flip(name, limits[i] - 3)

    def test_verify(self):
        self.pack("sound.bag", self.records)
        for name in ["a.bag", "a.bagz"]:
            self.damaged(name, [7, 1234])
            words, out = self.bad("verify", "nope.bag", name, "sound.bag", lines=2)
            self.assertIn("nope.bag", words)
            self.assertIn("1 of 3", words)
            lines = out.decode().splitlines()
            self.assertEqual(len(lines), 4)
            self.assertRegex(lines[0], r"\brecord 7: ")
            self.assertRegex(lines[1], r"\brecord 1234: ")
            self.assertEqual(lines[2], f"{name}: 1998 sound, 2 bad, 0 unchecked")
            self.assertEqual(lines[3], "sound.bag: 2000 sound, 0 bad, 0 unchecked")
            _, out = self.bad("verify", "-q", name, "sound.bag")
            self.assertEqual(out.decode().splitlines(), lines[:2])
        self.assertEqual(self.good("verify", "-q", "sound.bag"), b"")
        self.pack("e.bag", self.records, "--no-checksum")
        self.assertEqual(self.good("verify", "e.bag"), b"e.bag: 0 sound, 0 bad, 2000 unchecked\n")

    def test_verify_of_shards(self):
        for i in range(2):
            self.pack("s-0000%d-of-00002.bag" % i, self.records[:10])
        self.flip("s-00001-of-00002.bag", 3)
        _, out = self.bad("verify", "s@2.bag")
        self.assertRegex(out.decode(), r"^record 10: s-00001-of-00002.bag: record 0: .*\ns@2.bag: 19 sound, 1 bad, 0 unchecked\n$")

    def test_verify_of_what_is_no_bag(self):
        self.write("a.bag", b"this is certainly no bag")
        _, out = self.bad("verify", "a.bag")
        self.assertRegex(out.decode(), r"^a.bag: .*\na.bag: 0 sound, 0 bad, 0 unchecked; this is not a sound bag\n$")

    def test_cat(self):
        for name in ["a.bag", "a.bagz"]:
            for bad in [[0], [1999], [7, 8, 9, 1500], list(range(0, 2000, 3))]:
                self.damaged(name, bad)
                sound = [r for i, r in enumerate(self.records) if i not in bad]
                words, out = self.bad("cat", name)
                self.assertEqual(out, b"".join(self.records[:bad[0]]))
                self.assertIn(f"record {bad[0]}: ", words)
                self.assertIn(name, words)
                words, out = self.bad("cat", name, "--skip-damaged", lines=len(bad))
                self.assertEqual(out, b"".join(sound))
                for i, line in zip(bad, words.splitlines()):
                    self.assertIn(f"record {i}: ", line)
                _, out = self.bad("cat", name, "--skip-damaged", "--lengths", "--slice", "::-1", lines=len(bad))
                self.assertEqual(out, framed(sound[::-1]))
                self.bad("sum", name)
        self.damaged("a.bag", [5])
        for wanted, before in [("4,5,6", 1), ("6,4,5,5", 2), ("5", 0), ("-1,1,1,5", 3)]:
            _, out = self.bad("cat", "a.bag", "--records", wanted)
            good = b"".join(self.records[int(i)] for i in wanted.split(",")[:before])
            self.assertEqual(out, good)
        _, out = self.bad("cat", "a.bag", "--records", "4,5,6,5", "--skip-damaged", lines=2)
        self.assertEqual(out, self.records[4] + self.records[6])
        self.assertEqual(self.good("cat", "a.bag", "--slice", "6:9"), b"".join(self.records[6:9]))
        self.assertEqual(len(self.good("cat", "a.bag", "--unchecked")), len(b"".join(self.records)))

    def test_checksums_of_another_state(self):
        self.pack("a.bag", self.records[:5])
        os.truncate(self.path("checksums.a.bag"), 12)
        words, _ = self.bad("cat", "a.bag")
        self.assertIn("--unchecked", words)
        self.assertEqual(self.good("cat", "a.bag", "--unchecked"), b"".join(self.records[:5]))
        # nothing proves which of the two is right: only who knows may take the checksums away
        words, _ = self.bad("repair", "a.bag")
        self.assertIn("checksums.a.bag", words)
        os.remove(self.path("checksums.a.bag"))
        self.assertEqual(self.good("cat", "a.bag"), b"".join(self.records[:5]))

    def test_repair_of_a_writer_cut_off(self):
        # what the reference writer of a single file leaves: two files, the second one torn
        # records behind the last limit: frames are counted, bytes are one
        for cut, kept, dropped_bag, dropped_bagz in [(0, 10, 0, 0), (3, 9, 1, 1), (16, 8, 1, 2)]:
            for name, dropped in [("r%d.bag" % cut, dropped_bag), ("r%d.bagz" % cut, dropped_bagz)]:
                self.pack(name, self.records[:10], "--separate", "--no-checksum")
                size = os.path.getsize(self.path("limits." + name))
                os.truncate(self.path("limits." + name), size - cut)
                self.bad("cat", name)
                self.assertEqual(self.good("repair", name).decode(), f"{name}: {kept} records kept, {dropped} dropped\n")
                self.assertNotIn("limits." + name, self.files())
                self.assertEqual(self.good("cat", name), b"".join(self.records[:kept]))
                self.assertEqual(self.good("repair", "-q", name), b"")

    def test_repair_of_separate_limits(self):
        self.pack("a.bag", self.records[:10], "--separate", "--no-checksum")
        with open(self.path("limits.a.bag"), "ab") as f:
            f.write(b"torn")
        words, _ = self.bad("cat", "a.bag", "--limits", "separate")
        self.assertIn("limits.a.bag", words)
        self.assertEqual(self.good("repair", "--limits", "separate", "a.bag"), b"a.bag: 10 records kept, 1 dropped\n")
        self.assertEqual(self.good("cat", "a.bag", "--limits=separate"), b"".join(self.records[:10]))

    def test_repair_of_what_cannot_be(self):
        self.write("a.bag", b"this is certainly no bag")
        self.bad("repair", "a.bag")
        self.assertEqual(self.read("a.bag"), b"this is certainly no bag")
        self.bad("repair", "nope.bag")

    def test_hints_speak_the_language_of_the_tool(self):
        self.pack("a.bag", self.records[:10], "--separate")
        words, _ = self.bad("cat", "a.bag")
        self.assertIn("--limits separate", words)


class Sum(Base):
    def test_kinds_and_storages(self):
        records = sample(500)
        names = [("a.bag", []), ("b.bagz", []), ("c.bag", ["--no-checksum"]), ("d.bagz", ["--level=9"])]
        for name, flags in names:
            self.pack(name, records, *flags)
        for kind in ["sha256", "crc32", "adler32", "md5", "sha1", "sha224", "sha384", "sha512"]:
            out = self.good("sum", "--sum", kind, *[n for n, _ in names]).decode()
            self.assertEqual(out, "".join(f"{digest(records, kind)}  {n}\n" for n, _ in names))
        self.assertEqual(self.good("sum", "a.bag", "--slice", "10:-5:3").decode(), digest(records[10:-5:3]) + "  a.bag\n")
        words, out = self.bad("sum", "nope.bag", "a.bag")
        self.assertEqual(out.decode(), digest(records) + "  a.bag\n")
        self.assertEqual(hashlib.sha256(self.good("cat", "--lengths", "b.bagz")).hexdigest(), digest(records))


class Progress(Base):
    def terminal(self, args, feed):
        """Runs with stderr on a terminal; gives what came there."""
        ours, theirs = pty.openpty()
        p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stdin=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        seen = b""
        feeder = threading.Thread(target=lambda: (feed(p.stdin), p.stdin.close()))
        feeder.start()
        try:
            while piece := os.read(ours, 4096):
                seen += piece
        except OSError:  # the terminal's other end is closed
            pass
        feeder.join()
        self.assertEqual(p.wait(LONG), 0)
        os.close(ours)
        return seen

    def slowly(self, to):
        for _ in range(14):
            to.write(b"x\n" * 400_000)
            time.sleep(0.1)

    def test_shown_and_taken_away(self):
        seen = self.terminal(["pack", "--no-sync", "-", "a.bag"], self.slowly)
        self.assertRegex(seen, rb"\rpack: \d+ records\x1b\[K")
        lines = seen.split(b"\r\x1b[K")
        self.assertRegex(lines[-1], rb"^a.bag: 5600000 records of 5600000 bytes packed")

    def test_not_shown(self):
        start = time.monotonic()
        quick = self.terminal(["pack", "--no-sync", "-", "a.bag"], lambda to: to.write(b"x\n"))
        # it is shown from the second second on
        self.assertTrue(b"\x1b" not in quick or time.monotonic() - start > 1, quick)
        quiet = self.terminal(["pack", "-q", "--no-sync", "-", "b.bag"], self.slowly)
        self.assertEqual(quiet, b"")


@unittest.skipUnless(FIXTURES, "HOLDALL_FIXTURES is not set")
class Reference(Base):
    """Bags that the reference implementation wrote, and broken ones."""

    def manifest(self, folder):
        with open(os.path.join(FIXTURES, folder, "manifest.json"), encoding="utf-8") as f:
            return json.load(f)["fixtures"]

    def flags(self, fixture):
        o = fixture["options"]
        flags = ["--limits", o["limits_placement"], "--shards", o["sharding_layout"], "--compression", o["compression"]]
        if o.get("dictionary"):
            flags += ["--dictionary", self.write("dictionary", o["dictionary"].encode())]
        return flags

    def tool(self, folder, *args):
        return run(*args, cwd=os.path.join(FIXTURES, folder))

    def test_bags(self):
        for f in self.manifest("bagz"):
            with self.subTest(f["name"]):
                spec, flags = f["spec"], self.flags(f)
                facts = json.loads(self.tool("bagz", "info", "--json", spec, *flags).stdout)
                self.assertEqual((facts["size"], facts["format"], facts["kind"]), (f["n"], "bagz", "bag"))
                self.assertEqual(self.tool("bagz", "sum", spec, *flags).stdout.decode(), f"{f['digest']}  {spec}\n")
                everything = self.tool("bagz", "cat", spec, *flags).stdout
                self.assertEqual(hashlib.sha256(everything).hexdigest(), f["concat_sha256"])
                self.assertEqual(self.tool("bagz", "verify", spec, *flags).returncode, 0)
                for s in f["slices"]:
                    text = ":".join("" if s[k] is None else str(s[k]) for k in ("start", "stop", "step"))
                    out = self.tool("bagz", "sum", "--slice", text, spec, *flags).stdout
                    self.assertEqual(out.split()[0].decode(), s["digest"], text)
                for i in f["read_indices"]:
                    if i["indices"]:
                        wanted = ",".join(map(str, i["indices"]))
                        out = self.tool("bagz", "cat", "--lengths", "--records", wanted, spec, *flags).stdout
                        self.assertEqual(hashlib.sha256(out).hexdigest(), i["digest"])

    def test_broken_bags(self):
        readable = {"two_frames", "skippable", "bomb_real_1g", "sep_limits_short", "comma_separate", "comma_separate_dirs",
                    "comma_mixed_ext", "star_separate"}
        for f in self.manifest("bagz-bad"):
            with self.subTest(f["name"]):
                if f["name"] == "trunc8_aligned":  # nothing in it tells
                    continue
                r = self.tool("bagz-bad", "verify", f["spec"], *self.flags(f))
                self.assertEqual(r.returncode, 0 if f["name"] in readable else 1, (r.stdout, r.stderr))
                self.assertEqual(r.stderr == b"", r.returncode == 0)
                r = self.tool("bagz-bad", "cat", f["spec"], "--skip-damaged", "--memory-limit", "16M", *self.flags(f))
                self.assertIn(r.returncode, (0, 1))
                for line in r.stderr.decode().splitlines():
                    self.assertTrue(line.startswith("holdall: "), line)

    def test_repair_of_an_unclosed_writer(self):
        f = next(f for f in self.manifest("bagz") if f["name"] == "unclosed")
        for name in f["files"]:
            with open(os.path.join(FIXTURES, "bagz", name), "rb") as source:
                self.write(os.path.basename(name), source.read())
        self.assertEqual(self.good("repair", "unclosed.bagz"), b"unclosed.bagz: %d records kept, 0 dropped\n" % f["n"])
        self.assertEqual(self.good("sum", "unclosed.bagz").split()[0].decode(), f["digest"])
        self.assertEqual(self.files(), ["unclosed.bagz"])


@unittest.skipUnless(FIXTURES, "HOLDALL_FIXTURES is not set")
class Bloscpack(Base):
    """Files of Bloscpack, of all its versions."""

    @classmethod
    def setUpClass(cls):
        cls.root = os.path.join(FIXTURES, "blpk")
        with open(os.path.join(cls.root, "manifest.json"), encoding="utf-8") as f:
            cls.entries = [e for e in json.load(f)["fixtures"] if e["kind"] == "bloscpack"]
        archive = os.path.join(cls.root, "files.tar.gz")
        if os.path.exists(archive):
            folder = tempfile.TemporaryDirectory()
            cls.addClassCleanup(folder.cleanup)
            cls.root = folder.name
            with tarfile.open(archive) as tar:
                tar.extractall(cls.root, filter="data")

    def test_files(self):
        for e in self.entries:
            with self.subTest(e["id"]):
                path, content, header = os.path.join(self.root, e["path"]), e["content"], e["layout"]["header"]
                damaged = e["expect"] == "damaged"
                run_it = self.bad if damaged else self.good
                out = run_it("info", "--json", path, *["--skip-damaged"] * damaged)
                facts = json.loads(out[1] if damaged else out)
                dialect = e["layout"]["dialect"].split("-")[0]
                self.assertEqual((facts["format"], facts["dialect"], facts["metadata"]), ("bloscpack", dialect, e["metadata"]))
                self.assertEqual((facts["nbytes"], facts["chunks"]), (content["nbytes"], len(e["layout"]["chunks"])))
                self.assertEqual(facts["cbytes"], os.path.getsize(path))
                self.assertEqual(facts["checksum"], header.get("checksum_name", "None").lower())
                codecs = {c[4] for c in e["layout"]["chunks"] if not c[6]} or {"none"}
                self.assertEqual({facts["codec"]}, codecs if len(codecs) == 1 else {"mixed"})
                if "typesize" in header:
                    self.assertEqual(facts["typesize"], max(header["typesize"], 1))
                out = run_it("cat", path, *["--skip-damaged"] * damaged)
                # the manifest's digests are of items in C order
                out = out[1] if damaged else out
                self.assertEqual(hashlib.sha256(out).hexdigest(), content.get("sha256_stored", content["sha256"]))
                self.check_array(e, path, facts)
                (self.bad if damaged else self.good)("verify", path)

    def test_converted(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        to = os.path.join(folder.name, "x.blp")
        for e in self.entries:
            if e["expect"] == "damaged":
                continue
            with self.subTest(e["id"]):
                path, content = os.path.join(self.root, e["path"]), e["content"]
                self.good("convert", "-q", "--no-sync", "--force", "--codec", "lz4", path, to)
                facts = json.loads(self.good("info", "--json", to))
                self.assertEqual((facts["dialect"], facts["metadata"], facts["nbytes"]), ("v3", e["metadata"], content["nbytes"]))
                self.assertEqual(hashlib.sha256(self.good("cat", to)).hexdigest(), content.get("sha256_stored", content["sha256"]))
                self.check_array(e, to, facts)

    def check_array(self, e, path, facts):
        content = e["content"]
        if not e.get("container"):
            self.assertEqual(facts["kind"], "schunk")
            return
        self.assertEqual((facts["kind"], facts["shape"], facts["order"]), ("array", content["shape"], e["metadata"]["order"]))
        if isinstance(content["dtype"], str):
            self.assertEqual(facts["dtype"], content["dtype"])
        out = self.good("cat", "--format", "npy", path)
        n = 10 + struct.unpack_from("<H", out, 8)[0]
        head = eval(out[10:n].decode())
        self.assertEqual((head["shape"], len(out) - n), (tuple(content["shape"]), content["nbytes"]))
        if "first" in content and content["dtype"] != "<f16":
            numbers = [float(v) for v in self.good("cat", "--format", "text", path).split()]
            self.assertEqual((numbers[:3], numbers[-3:]), (content["first"], content["last"]))


if __name__ == "__main__":
    unittest.main()
