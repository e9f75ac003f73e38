#!/usr/bin/env python3
"""Tests of containers on standard input and standard output ("-")."""

import json
import os
import pty
import struct
import subprocess
import unittest

from tool import LONG, TOOL, Base, items

CSV = b"id,name\n1,one\n2,two\n3,three\n"
LINES = b"".join(b"line %d\n" % i for i in range(500))


class Pipes(Base):
    def setUp(self):
        super().setUp()
        self.data = items(20_000)
        self.write("in", self.data)
        self.write("lines", LINES)
        self.good("convert", "-q", "in", "cube.b2nd", "--dtype", "<i8", "--shape", "20,100,10")

    def test_superchunks(self):
        packed = self.good("pack", "--to", "blpk", "--chunk-size", "16K", "in", "-")
        self.assertEqual(self.good("unpack", "-", "-", stdin=packed), self.data)
        self.assertEqual(self.good("cat", "-", "--slice", "5:7", stdin=packed), self.data[40:56])
        info = json.loads(self.good("info", "--json", "-", stdin=packed))
        self.assertEqual((info["path"], info["format"], info["chunks"]), ("-", "bloscpack", 10))
        frame = self.good("convert", "--to", "b2frame", "-", "-", stdin=packed)
        self.assertEqual(self.good("unpack", "-", "-", stdin=frame), self.data)
        self.write("a.blp", packed)
        self.assertEqual(self.good("diff", "a.blp", "-", stdin=frame), b"")
        self.assertEqual(
            self.good("sum", "-", stdin=frame).split()[0], self.good("sum", "a.blp").split()[0]
        )

    def test_superchunks_of_a_pipe_are_streamed(self):
        flags = ["pack", "--to", "blpk", "--chunk-size", "16K", "-", "-"]
        with open(self.path("in"), "rb") as file:
            done = subprocess.run(
                [TOOL, *flags], stdin=file, capture_output=True, timeout=LONG, check=True
            )
        known = done.stdout
        self.assertEqual(struct.unpack_from("<iiq", known, 8), (16384, 12544, 10))
        for extra in [[], ["--checksum", "none"], ["--format-version", "2"]]:
            piped = self.good(*flags, *extra, stdin=self.data)
            self.assertEqual(struct.unpack_from("<iiq", piped, 8), (-1, 0, -1))
            self.assertEqual(self.good("unpack", "-", "-", stdin=piped), self.data)
            end = len(piped) - 16 - (0 if "none" in extra else 4)
            for short in [end, end + 1, end - 1, 3000]:
                message, out = self.fails("unpack", "-", "-", stdin=piped[:short])
                self.assertEqual(out, b"")
            _, out = self.fails("unpack", "--skip-damaged", "-", "-", stdin=piped[:end])
            self.assertEqual(out, self.data)
        self.good("convert", "-q", "-", "a.blp", stdin=piped)
        self.assertEqual(struct.unpack_from("<q", self.read("a.blp"), 16), (10,))
        self.good("verify", "a.blp")
        self.write("m", b'{"a": 1}')
        piped = self.good(*flags, "--metadata", "m", stdin=b"")
        info = json.loads(self.good("info", "--json", "-", stdin=piped))
        self.assertEqual((info["metadata"], info["nbytes"], info["chunks"]), ({"a": 1}, 0, 1))
        self.assertIn("version 1", self.fails(*flags, "--format-version", "1", stdin=b"x")[0])

    def test_a_stream_takes_little_memory(self):
        command = f"head -c 1G /dev/zero | {TOOL} pack -q --to blpk - - | {TOOL} count -"
        done = subprocess.run(
            ["bash", "-c", f"ulimit -v 1000000; {command}"],
            capture_output=True,
            timeout=LONG,
            env={**os.environ, "HOLDALL_THREADS": "2"},
        )
        self.assertEqual(done.stdout, b"%d\n" % ((1 << 30) // 8), done.stderr)

    def test_a_stream_ends_with_its_reader(self):
        tool = subprocess.Popen(
            [TOOL, "pack", "-q", "--to", "blpk", "/dev/urandom", "-"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual(tool.stdout.read(4), b"blpk")
        tool.stdout.close()
        self.assertEqual((tool.wait(LONG), tool.stderr.read()), (0, b""))
        tool.stderr.close()
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [TOOL, "pack", "--to", "blpk", self.path("in"), "-"],
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=LONG,
            )
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, b"^holdall: standard output: No space left")

    def test_arrays_in_npy_files_are_streamed(self):
        self.good("convert", "-q", "--slice", ":7", "cube.b2nd", "a.npy")
        packed = self.good("pack", "--to", "blpk", "a.npy", "-")
        copy = self.good("convert", "--to", "npy", "-", "-", stdin=packed)
        self.assertEqual(copy, self.read("a.npy"))
        self.assertEqual(self.good("convert", "--to", "blpk", "a.npy", "-"), packed)

    def test_arrays(self):
        stored = self.read("cube.b2nd")
        for to in ["b2nd", "caterva", "blpk"]:
            other = self.good("convert", "--to", to, "-", "-", stdin=stored)
            self.assertEqual(self.good("convert", "--to", "raw", "-", "-", stdin=other), self.data)
            schema = json.loads(self.good("schema", "--json", "-", stdin=other))
            self.assertEqual(schema["shape"], [20, 100, 10], to)
        self.assertEqual(
            self.good("cat", "-", "--slice", "1,2,3", stdin=stored), self.data[8184:8192]
        )
        self.assertIn(b"lz4", self.good("info", "-", stdin=stored))
        self.assertEqual(self.good("attr", "get", "-", stdin=stored), b"{}\n")
        self.assertIn(b"[10,0:100,0:10]", self.good("view", "-", "--width", "10", stdin=stored))
        self.good("convert", "-q", "-", "copy.b2nd", stdin=stored)
        self.assertEqual(self.good("diff", "copy.b2nd", "cube.b2nd"), b"")

    def test_rows(self):
        self.write("t.csv", CSV)
        array = self.good("convert", "--to", "b2nd", "t.csv", "-")
        rows = self.good("cat", "-", "--to", "jsonl", stdin=array).splitlines()
        self.assertEqual(json.loads(rows[2]), {"id": 3, "name": "three"})
        self.assertEqual(self.good("count", "-", stdin=array), b"3\n")
        self.good("convert", "-q", "t.csv", "t.bcolz")
        self.assertEqual(self.good("convert", "-q", "--to", "b2nd", "t.bcolz", "-"), array)
        again = self.good("convert", "--from", "csv", "--to", "jsonl", "t.csv", "-")
        self.assertEqual(again.splitlines()[0], b'{"id":1,"name":"one"}')

    def test_bags(self):
        for codec in [[], ["--codec", "zstd"], ["--codec", "none", "--checksum", "none"]]:
            bag = self.good("pack", "lines", "-", *codec)
            self.assertEqual(self.good("identify", "-", stdin=bag), b"-: bagz bag\n")
            self.assertEqual(self.good("count", *codec[:2], "-", stdin=bag), b"500\n")
            last = self.good("tail", *codec[:2], "-", "-n", "1", stdin=bag)
            self.assertEqual(last, b"line 499")
            lines = self.good("convert", *codec[:2], "-", "-", "--to", "lines", stdin=bag)
            self.assertEqual(lines, LINES)
            flags = ["--from", "lines", "--to", "bagz", *codec]
            copy = self.good("convert", *flags, "-", "-", stdin=LINES)
            self.assertEqual(copy, bag)
        bag = self.good("pack", "lines", "-", "--codec", "zstd")
        message, out = self.fails("cat", "-", stdin=bag)
        self.assertIn("--codec", message)
        self.assertEqual(out, b"")
        bag = self.good("pack", "lines", "-")
        self.good("convert", "-q", "--from", "bagz", "-", "copy.bag", stdin=bag)
        self.assertEqual(self.good("cat", "copy.bag", "--to", "lines"), LINES)

    def test_several_files_are_refused(self):
        self.write("t.csv", CSV)
        for args in [
            ["convert", "t.csv", "-"],
            ["convert", "--to", "bcolz", "cube.b2nd", "-"],
            ["convert", "--to", "blz", "t.csv", "-"],
            ["convert", "--to", "blz-rfc", "cube.b2nd", "-"],
            ["convert", "--to", "b2nd", "--sparse", "cube.b2nd", "-"],
            ["pack", "lines", "-", "--shards", "2"],
            ["pack", "lines", "-", "--separate"],
        ]:
            message, out = self.fails(*args, code=2)
            self.assertIn("'-' takes one", message)
            self.assertEqual(out, b"")
        self.assertIn("exists", self.fails("pack", "--append", "lines", "-", code=2)[0])

    def test_what_is_no_container_is_an_error(self):
        for data in [b"", CSV, b"\x93NUMPY" + bytes(100), self.read("cube.b2nd")[:100]]:
            for args in [["info", "-"], ["convert", "-", "x.b2nd"], ["unpack", "-", "x"]]:
                self.assertRegex(self.fails(*args, stdin=data)[0], "^holdall: (-|standard input): ")
        self.assertIn("npy", self.fails("info", "-", stdin=b"\x93NUMPY" + bytes(100))[0])
        packed = self.good("pack", "--to", "blpk", "--chunk-size", "16K", "in", "-")
        _, out = self.fails("cat", "-", stdin=packed[:-100])
        self.assertEqual(out, b"")
        _, out = self.fails("cat", "--skip-damaged", "-", stdin=packed[:-100])
        self.assertEqual(out[: 9 * 16384], self.data[: 9 * 16384])
        message, _ = self.fails("cat", "--memory-limit", "1K", "-", stdin=packed)
        self.assertIn("--memory-limit", message)
        self.assertEqual(self.files(), ["cube.b2nd", "in", "lines"])

    def test_other_commands_read_files(self):
        for args in [
            ["verify", "-"],
            ["repair", "-"],
            ["trim", "-", "3"],
            ["append", "-", "in"],
            ["index", "build", "-"],
            ["attr", "set", "-", "a", "1"],
        ]:
            self.assertIn("takes files", self.fails(*args, stdin=self.read("cube.b2nd"))[0])
        self.write("-", self.read("cube.b2nd"))
        self.good("verify", "./-")
        self.assertEqual(self.good("count", "./-"), b"20\n")

    def test_a_terminal_gets_no_bytes(self):
        packed = self.good("pack", "--to", "blpk", "in", "-")
        for args in [
            ["pack", "--to", "blpk", "in", "-"],
            ["pack", "lines", "-"],
            ["unpack", "-", "-"],
            ["convert", "-", "-"],
            ["convert", "--to", "raw", "-", "-"],
            ["convert", "--from", "lines", "--to", "bagz", "lines", "-"],
            ["cat", "-"],
        ]:
            ours, theirs = pty.openpty()
            done = subprocess.run(
                [TOOL, *args],
                cwd=self.folder.name,
                input=packed,
                stdout=theirs,
                stderr=subprocess.PIPE,
                timeout=LONG,
            )
            os.close(theirs)
            os.set_blocking(ours, False)
            try:
                seen = os.read(ours, 4096)
            except OSError:
                seen = b""
            os.close(ours)
            self.assertEqual((done.returncode, seen), (2, b""), args)
            self.assertIn(b"terminal", done.stderr)


if __name__ == "__main__":
    unittest.main()
