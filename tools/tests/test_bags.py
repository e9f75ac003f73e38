#!/usr/bin/env python3
"""Tests of the command-line tool with bags of records: output, exit codes and files.

HOLDALL_FIXTURES contains bags of the reference implementation in bagz/ and malformed ones in
bagz-bad/, each with a manifest.json.
"""

import hashlib
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

from tool import FIXTURES, LONG, TOOL, Base, digest, framed, run, sample


class Cat(Base):
    def test_records_are_printed_as_lines(self):
        self.pack("a.bagz", [b"one", b"", b"three"])
        self.assertEqual(self.good("cat", "a.bagz", "--to", "lines"), b"one\n\nthree\n")
        self.assertEqual(self.good("head", "-n", "1", "a.bagz", "--to", "lines"), b"one\n")
        self.good("pack", "-q", "--whole", "--append", self.write("two", b"a\nb"), "a.bagz")
        self.assertIn("record 3 ", self.fails("cat", "a.bagz", "--to", "lines")[0])
        for args in [("a.bagz", "--to", "csv"), ("a.bagz", "--to", "lines", "--lengths")]:
            self.fails("cat", *args, code=2)

    def test_a_wrong_dictionary_is_named(self):
        frame = bytes.fromhex("28b52ffd2107031900006162 63")  # its header names ID 7
        self.write("frame", frame)
        self.good("pack", "-q", "--whole", "--checksum", "none", "frame", "a.bag")
        os.rename(self.path("a.bag"), self.path("a.bagz"))
        self.assertIn("no dictionary is given", self.fails("cat", "a.bagz")[0])
        self.write("text", b"some text that is no trained dictionary")
        message, _ = self.fails("cat", "a.bagz", "--dictionary", "text")
        self.assertIn("the dictionary has no ID", message)
        self.assertIn("needs ID 7 (--dictionary)", message)

    def test_ls_lists_bags_and_reports_corrupt_ones(self):
        self.pack("a.bagz", [b"one", b"two"])
        self.pack("b.bag", [b"one"], "--separate")
        self.good("index", "build", "a.bagz", "-q")
        lines = [b"a.bagz  bagz bag  2 records", b"b.bag  bagz bag  1 record"]
        self.assertEqual(self.good("ls", ".").splitlines(), lines)
        self.assertIn("a.bagz  bagz bag  2 records", self.good("tree", ".").decode())
        self.write("c.bagz", self.read("a.bagz")[:-3])
        message, out = self.fails("ls", "--json", ".")
        self.assertIn("c.bagz: a torn or corrupt bag", message)
        self.assertEqual([bag["records"] for bag in json.loads(out)], [2, 1])

    def test_a_torn_bag_is_called_one(self):
        self.pack("a.bagz", [b"record %d" % i for i in range(100)])
        self.write("a.bagz", self.read("a.bagz")[:-3])
        for command in ["info", "cat", "count"]:
            message, _ = self.fails(command, "a.bagz")
            self.assertIn("a torn or corrupt bag", message)
            self.assertIn("repair restores it", message)

    def test_cat_prints_all_records(self):
        for records in [[], [b""], [b"", b"", b""], [b"a"], sample(3000)]:
            for name in ["a.bag", "a.bagz"]:
                self.pack(name, records, "--force")
                self.assertEqual(self.good("cat", name), b"".join(records))
                self.assertEqual(self.good("cat", name, "--lengths"), framed(records))

    def test_slices_are_those_of_python(self):
        r = random.Random(7)
        for n in [0, 1, 2, 9, 40]:
            records = self.pack("a.bag", [b"%d;" % i for i in range(n)], "--force", "--no-sync")
            slices = [
                (None, None, None),
                (None, None, -1),
                (0, 0, 1),
                (5, 2, None),
                (2, 5, -1),
                (None, None, 10**30),
                (None, None, -(10**30)),
                (-(10**30), 10**30, 1),
                (10**30, -(10**30), -1),
                (2**63, None, -1),
                (None, -(2**63), -1),
                (None, 2**64, 2**63 - 1),
                (-1, None, -(2**63)),
            ]
            ends = [None, *range(-n - 3, n + 4)]
            slices += [
                (
                    r.choice(ends),
                    r.choice(ends),
                    r.choice([None, 1, -1, 2, -2, 3, -7, n + 1, -n - 1]),
                )
                for _ in range(60)
            ]
            for s in slices:
                text = ":".join("" if part is None else str(part) for part in s)
                with self.subTest(n=n, slice=text):
                    self.assertEqual(
                        self.good("cat", "a.bag", "--slice", text), b"".join(records[slice(*s)])
                    )
                    if s[2] is None:
                        self.assertEqual(
                            self.good("cat", "a.bag", "--slice=" + text[:-1]),
                            b"".join(records[slice(*s)]),
                        )

    def test_records_are_printed_in_the_requested_order(self):
        records = self.pack("a.bagz", [b"%d;" % i for i in range(50)])
        for requested in [
            [0],
            [49],
            [-1],
            [-50],
            [3, 3, 3],
            [49, 0, 25, -1, 0],
            list(range(49, -1, -1)),
        ]:
            text = ",".join(map(str, requested))
            self.assertEqual(
                self.good("cat", "a.bagz", "--records", text),
                b"".join(records[i] for i in requested),
            )
        part = records[40:10:-3]
        self.assertEqual(
            self.good("cat", "a.bagz", "--slice", "40:10:-3", "--records=-1,0,2"),
            part[-1] + part[0] + part[2],
        )
        for requested in ["50", "-51", "0,50", "1,2,99999999999999999999", "-99999999999999999999"]:
            message, out = self.fails("cat", "a.bagz", "--records", requested)
            self.assertEqual(out, b"")
            self.assertIn("there are 50", message)
        self.fails("cat", "a.bagz", "--slice", "0:10", "--records", "10")
        self.fails("cat", "a.bagz", "--slice", "5:5", "--records", "0")

    def test_repair_removes_parts_that_were_never_committed(self):
        self.pack("a.bagz", [b"one"])
        ids = ["0" * 31 + "1", "0" * 31 + "2"]
        for part in ids:
            self.write(f"a.bagz.holdall-parts.{part}.bagz", self.read("a.bagz"))
        out = json.loads(self.good("repair", "--dry-run", "--json", "a.bagz"))
        self.assertEqual(out["parts_removed"], ids)
        expected = f"a.bagz: removed 2 uncommitted parts: {', '.join(ids)}\n"
        self.assertIn(expected, self.good("repair", "a.bagz").decode())
        self.assertEqual(json.loads(self.good("repair", "--json", "a.bagz"))["parts_removed"], [])
        self.assertEqual(self.files(), ["a.bagz"])

    def test_repair_recovers_the_complete_frames_of_a_truncated_bag(self):
        records = self.pack("x.bagz", [b"line %d" % i for i in range(500)])
        whole = self.read("x.bagz")
        cut = len(whole) // 2
        self.write("cut.bagz", whole[:cut])
        message, _ = self.fails("repair", "cut.bagz")
        found = int(
            re.search(
                r"(\d+) intact zstd frames from its beginning on can become its records: --skip-damaged",
                message,
            )[1]
        )
        self.assertGreater(found, 100)
        self.assertEqual(self.read("cut.bagz"), whole[:cut])
        message, out = self.fails("repair", "cut.bagz", "--skip-damaged")
        self.assertIn(".holdall-damaged", message)
        self.assertEqual(out, f"cut.bagz: {found} records retained, 1 lost\n".encode())
        self.assertEqual(self.good("cat", "--lengths", "cut.bagz"), framed(records[:found]))
        self.assertTrue(
            (self.read("cut.bagz")[: -8 * found] + self.read("cut.bagz.holdall-damaged"))
            == whole[:cut]
        )
        self.good("verify", "cut.bagz")

    def test_an_empty_file_is_a_bag_by_its_name_alone(self):
        for name in ("x.bag", "x.bagz", "x-00000-of-00002.bag"):
            self.write(name, b"")
            self.assertEqual(
                self.good("verify", name), f"{name}: 0 intact, 0 corrupt, 0 unchecked\n".encode()
            )
            self.assertEqual(self.good("identify", name), f"{name}: bagz bag\n".encode())
        for name in ("x", "x.txt"):
            self.write(name, b"")
            message = self.fails("identify", name)[0]
            self.assertIn(message.split("holdall: ")[1], self.fails("verify", name)[1].decode())
            self.good("verify", "--codec", "none", name)
            for command in ("cat", "info", "sum", "repair"):
                message, out = self.fails(command, name)
                self.assertEqual(message, self.fails("identify", name)[0], command)
            for command in ("cat", "info", "sum"):
                self.good(command, "--codec", "none", name)

    def test_raw_bytes_are_a_bag_by_their_name_alone(self):
        for raw in (bytes(8000), b"text " * 800 + bytes(8), struct.pack("<4Q", 1, 9, 3, 8)):
            self.write("raw", raw)
            for command in ("identify", "info", "cat", "count", "sum", "stats"):
                self.assertIn("raw: no container", self.fails(command, "raw")[0], command)
            self.fails("verify", "raw")
            self.good("count", "--codec", "none", "raw")
            self.write("raw.bag", raw)
            self.assertEqual(self.good("identify", "raw.bag"), b"raw.bag: bagz bag\n")
        self.pack("x.bag", [b""] * 9)
        for prefix in ("", "checksums."):
            os.replace(self.path(f"{prefix}x.bag"), self.path(f"{prefix}x"))
        self.assertEqual(self.good("identify", "x"), b"x: bagz bag\n")
        self.assertEqual(self.good("count", "x"), b"9\n")

    def test_compressed_bags_under_another_name_need_a_flag(self):
        records = self.pack("x.bagz", sample(20))
        for name in ["x", "x.tmp", "x.bagz.part"]:
            os.replace(self.path("x.bagz"), self.path(name))
            for command in (
                ["cat"],
                ["verify"],
                ["sum"],
                ["info"],
                ["repair"],
                ["convert", "--to", "lengths64"],
            ):
                message, out = self.fails(
                    *command, name, *(["o"] if command[0] == "convert" else [])
                )
                self.assertIn("set --codec", message)
                self.assertEqual(out, b"", command)
            self.good("convert", "-q", "--to", "lengths64", "--from", "bagz", name, "o")
            self.assertEqual(
                self.read("o"), self.good("cat", "--lengths", "--codec", "none", name)
            )
            self.good("convert", "-q", "--force", "--to", "arrow", "--from", "bagz", name, "o")
            self.good("convert", "-q", "--force", "--to", "bagz", "--from", "arrow", "o", "p")
            self.assertEqual(
                self.good("cat", "--lengths", "p", "--codec", "none"),
                self.good("cat", "--lengths", "--codec", "none", name),
            )
            self.good(
                "convert",
                "-q",
                "--force",
                "--to",
                "lengths64",
                "--from",
                "bagz",
                "--codec",
                "zstd",
                name,
                "o",
            )
            self.assertEqual(self.read("o"), framed(records))
            self.pack("y.bagz", [b"y"])
            self.assertIn(
                "set --codec",
                self.fails("convert", "--to", "lengths64", "--from", "bagz", "y.bagz," + name, "q")[
                    0
                ],
            )
            for made in ("o", "p", "y.bagz"):
                os.remove(self.path(made))
            self.assertEqual(self.good("identify", name), f"{name}: bagz bag\n".encode())
            self.assertEqual(
                self.good("cat", "--lengths", "--codec", "zstd", name), framed(records)
            )
            self.assertNotEqual(
                self.good("cat", "--lengths", "--codec", "none", name), framed(records)
            )
            os.replace(self.path(name), self.path("x.bagz"))

    def test_sets_of_shards_are_read_in_order(self):
        whole = [b"%d;" % i for i in range(11)]
        for i in range(3):
            self.pack("s-0000%d-of-00003.bag" % i, whole[i::3])
        interleaved = b"".join(whole)
        concatenated = b"".join(b"".join(whole[i::3]) for i in range(3))
        for spec in ["s@3.bag", "s@*.bag"]:
            self.assertEqual(self.good("cat", spec), concatenated)
            self.assertEqual(self.good("cat", spec, "--shard-order", "interleaved"), interleaved)
            self.assertEqual(
                self.good("cat", spec, "--shard-order", "interleaved", "--slice", "-3:", "--records=2,0"), b"10;8;"
            )
        self.assertEqual(self.info("s@3.bag")["shards"], 3)
        self.pack("t.bagz", [b"last"])
        self.assertEqual(self.good("cat", "s@3.bag,t.bagz"), concatenated + b"last")
        self.assertEqual(self.info("s@3.bag,t.bagz")["compression"], "mixed")
        os.remove(self.path("s-00001-of-00003.bag"))
        message, _ = self.fails("cat", "s@3.bag")
        self.assertIn("s-00001-of-00003.bag", message)

    def test_shuffle_is_a_permutation_that_ranks_partition(self):
        records = self.pack("a.bagz", [b"%d;" % i for i in range(70_000)])
        orders = set()
        for flags in [["--seed", "7"], ["--seed", "7", "--epoch", "1"], ["--seed=8"]]:
            out = self.good("cat", "a.bagz", *flags)
            self.assertEqual(out, self.good("cat", "a.bagz", *flags, "--threads", "1"))
            self.assertEqual(sorted(out.split(b";")), sorted(b"".join(records).split(b";")))
            orders.add(out)
            parts = [
                self.good("cat", "a.bagz", *flags, "--world", "3", "--rank", str(i)).split(b";")[
                    :-1
                ]
                for i in range(3)
            ]
            merged = [parts[i % 3][i // 3] for i in range(70_000)]
            self.assertEqual(b"".join(r + b";" for r in merged), out)
        self.assertEqual(len(orders), 3)
        some = self.good("cat", "a.bagz", "--slice", "10:20", "--seed", "1")
        self.assertEqual(sorted(some.split(b";")), sorted(b"".join(records[10:20]).split(b";")))
        self.pack("e.bag", [])
        self.assertEqual(self.good("cat", "e.bag", "--seed", "1"), b"")
        for flags in [
            ["--rank", "0"],
            ["--epoch", "1"],
            ["--world", "2"],
            ["--seed", "1", "--rank", "1"],
            ["--seed", "-1"],
            ["--seed", "1", "--world", "3", "--rank", "3"],
            ["--seed", "1", "--records", "1"],
        ]:
            self.fails("cat", "a.bagz", *flags, code=2)

    def test_shuffle_skips_corrupt_records(self):
        records = self.pack("a.bag", [b"record number %05d;" % i for i in range(5000)])
        self.flip("a.bag", 20 * 1234 + 3)
        message, out = self.fails("cat", "a.bag", "--seed", "3", "--skip-damaged")
        self.assertIn("record 1234: ", message)
        self.assertEqual(
            sorted(out.split(b";")), sorted(b"".join(records[:1234] + records[1235:]).split(b";"))
        )

    def test_cat_ends_silently_if_the_pipe_closes(self):
        self.pack("a.bag", [b"x" * 1000] * 20000, "--no-sync")
        for args in [["cat", "a.bag"], ["cat", "a.bag", "--lengths"]]:
            p = subprocess.Popen(
                [TOOL, *args], cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            self.assertEqual(len(p.stdout.read(10)), 10)
            p.stdout.close()
            self.assertEqual((p.stderr.read(), p.wait(LONG)), (b"", 0))
            p.stderr.close()

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_device_is_an_error(self):
        self.pack("a.bag", [b"x" * 1000] * 1000, "--no-sync")
        for args in [
            ["cat", "a.bag"],
            ["info", "a.bag"],
            ["sum", "a.bag"],
            ["verify", "a.bag"],
            ["--help"],
            ["--version"],
        ]:
            with open("/dev/full", "wb") as full:
                p = subprocess.run(
                    [TOOL, *args], cwd=self.folder.name, stdout=full, stderr=subprocess.PIPE
                )
            self.assertEqual(p.returncode, 1, args)
            self.assertRegex(p.stderr, rb"^holdall: standard output: No space left on device\n$")

    def test_closed_descriptors_do_not_harm_files(self):
        self.pack("a.bag", [b"x"])
        shell = lambda line: subprocess.run(
            ["sh", "-c", line, TOOL], cwd=self.folder.name, capture_output=True
        )
        self.assertEqual(shell('"$0" cat a.bag >&-').returncode, 1)
        self.assertEqual(shell('echo y | "$0" pack - b.bag 2>&- >&-').returncode, 0)
        self.assertEqual(self.good("cat", "b.bag"), b"y")
        self.assertEqual(shell('"$0" pack - c.bag <&-').returncode, 1)
        self.assertNotIn("c.bag", self.files())

    def test_memory_is_bounded(self):
        # Record sizes change abruptly, and some records are larger than a batch.
        records = (
            [b"x"] * 5000
            + [os.urandom(2_000_000).replace(b"\n", b"-") for _ in range(40)]
            + [b"y"] * 5000
        )
        for name in ["a.bag", "a.bagz"]:
            self.pack(name, records, "--no-sync")
            if sys.platform == "linux":
                line = 'ulimit -v 65536; exec "$0" cat --threads 1 "$1" | sha256sum'
                p = subprocess.run(
                    ["sh", "-c", line, TOOL, name], cwd=self.folder.name, capture_output=True
                )
                want = hashlib.sha256(b"".join(records)).hexdigest()
                self.assertEqual((p.stdout.split()[0].decode(), p.stderr), (want, b""), name)
            self.assertEqual(
                hashlib.sha256(self.good("cat", name)).digest(),
                hashlib.sha256(b"".join(records)).digest(),
            )

    def test_large_records_are_read_within_the_memory_limit(self):
        big = os.urandom(20_000_000).replace(b"\n", b"-")
        records = [b"a", big, b"b"]
        for name in ["a.bag", "a.bagz"]:
            self.pack(name, records, "--no-sync")
            for flags in [[], ["--map"], ["--limits-storage", "memory"], ["--threads", "1"]]:
                self.assertEqual(self.good("cat", name, "--lengths", *flags), framed(records))
            self.assertEqual(
                self.good("cat", name, "--slice", "1:", "--records", "1,0,1"), b"b" + big + b"b"
            )
            message, out = self.fails("cat", name, "--memory-limit", "1M")
            self.assertEqual(out, b"a")
            self.assertIn("--memory-limit", message)
            # The record is too large, not corrupt.
            _, out = self.fails("cat", name, "--memory-limit", "1M", "--skip-damaged")
            self.assertEqual(out, b"a")


class Pack(Base):
    def test_each_line_becomes_a_record(self):
        for data, records in [
            (b"", []),
            (b"\n", [b""]),
            (b"a", [b"a"]),
            (b"a\n", [b"a"]),
            (b"a\n\nb", [b"a", b"", b"b"]),
            (b"\n\n", [b"", b""]),
            (b"a\r\nb\0c\n", [b"a\r", b"b\0c"]),
        ]:
            self.write("lines", data)
            for out in ["a.bag", "a.bagz"]:
                self.good("pack", "--force", "lines", out)
                self.assertEqual(self.good("cat", "--lengths", out), framed(records))
                self.good("pack", "--force", "-", out, stdin=data)
                self.assertEqual(self.good("cat", "--lengths", out), framed(records))

    def test_lines_across_buffers_become_one_record(self):
        r = random.Random(3)
        piece = 4 << 20
        many = [b"%d" % i for i in range(200_000)]
        for records in [
            [b"x" * (piece - 1), b"y"],
            [b"x" * piece, b"y"],
            [b"x" * (piece + 1), b"y"],
            [b"x" * (3 * piece + 5)],
            [b""] * 100_000,
            many,
            [b"a" * r.choice([0, 10, 100_000, 1_500_000]) for _ in range(40)],
        ]:
            want = hashlib.sha256(framed(records)).hexdigest()
            for last in [b"\n", b""] if records[-1] else [b"\n"]:
                data = b"\n".join(records) + last
                self.good("pack", "--force", "--no-sync", "-q", "-", "a.bag", stdin=data)
                self.assertEqual(
                    hashlib.sha256(self.good("cat", "--lengths", "a.bag")).hexdigest(), want
                )

    def test_input_may_arrive_in_pieces(self):
        p = subprocess.Popen(
            [TOOL, "pack", "-q", "-", "a.bagz"], cwd=self.folder.name, stdin=subprocess.PIPE
        )
        for piece in [b"on", b"e\n", b"\ntw", b"o"]:
            p.stdin.write(piece)
            p.stdin.flush()
            time.sleep(0.02)
        self.assertEqual(self.files().count("a.bagz"), 0)
        p.stdin.close()
        self.assertEqual(p.wait(LONG), 0)
        self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed([b"one", b"", b"two"]))

    def test_an_existing_bag_needs_append_or_replace(self):
        for name, flags, reader in [
            ("a.bag", [], []),
            ("a.bagz", [], []),
            ("b.bag", ["--separate"], ["--limits=separate"]),
        ]:
            message, _ = self.fails("pack", "--append", "-", name, *flags, stdin=b"x\n")
            self.assertIn(name, message)
            first = self.pack(name, [b"one", b"two"], *flags)
            message, _ = self.fails("pack", "-", name, *flags, stdin=b"x\n")
            self.assertIn(name, message)
            self.assertIn("--force", message)
            self.assertEqual(self.good("cat", name, *reader), b"".join(first))
            second = self.pack(name, [b"", b"three"], "--append", *flags)
            self.assertEqual(self.good("cat", "--lengths", name, *reader), framed(first + second))
            self.assertEqual(
                self.good("verify", name, *reader).decode(),
                f"{name}: 4 intact, 0 corrupt, 0 unchecked\n",
            )
            self.pack(name, [b"new"], "--force", *flags)
            self.assertEqual(self.good("cat", name, *reader), b"new")

    def test_pack_prints_a_summary(self):
        r = run("pack", "-", "a.bag", stdin=b"one\ntwo\n", cwd=self.folder.name)
        self.assertEqual((r.returncode, r.stdout), (0, b""))
        size = self.info("a.bag")["bytes"]
        self.assertEqual(
            r.stderr.decode(),
            f"a.bag: 2 records of 6 bytes packed; now 2 records in {size} bytes\n",
        )
        r = run("pack", "--append", "-", "a.bag", stdin=b"x", cwd=self.folder.name)
        self.assertRegex(
            r.stderr.decode(), r"^a.bag: 1 record of 1 byte appended; now 3 records in \d+ bytes\n$"
        )
        for flag in ["-q", "--quiet"]:
            r = run("pack", "--force", flag, "-", "a.bag", stdin=b"x", cwd=self.folder.name)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))

    def test_compression_and_levels_set_the_size(self):
        records = [b"the five boxing wizards jump over the lazy dog " * 20] * 50
        size = {}
        for name, flags in [
            ("n.bagz", ["--codec", "none"]),
            ("z.bag", ["--codec", "zstd"]),
            ("l.bagz", ["--level", "19"]),
            ("f.bagz", ["--level", "-50"]),
            ("a.bagz", ["--codec", "auto"]),
        ]:
            self.pack(name, records, *flags)
            size[name] = self.info(name, *[f for f in flags if "--level" not in flags])["bytes"]
        self.assertLess(size["l.bagz"], size["f.bagz"])
        self.assertLess(size["a.bagz"], size["n.bagz"])
        self.assertEqual(self.good("cat", "z.bag", "--codec", "zstd"), b"".join(records))
        message, _ = self.fails("pack", "--level", "3", "-", "x.bag", stdin=b"x")
        self.assertIn("--level", message)

    def test_a_dictionary_is_needed_to_read(self):
        dictionary = self.write(
            "dict", b'{"user": 1, "name": "a person", "mail": "a person@example.org"}' * 4
        )
        other = self.write("other", os.urandom(500))
        records = [
            b'{"user": %d, "name": "a person", "mail": "a person@example.org"}' % i
            for i in range(100)
        ]
        self.pack("a.bagz", records, "--dictionary", dictionary)
        self.pack("b.bagz", records)
        self.assertLess(self.info("a.bagz")["bytes"], self.info("b.bagz")["bytes"])
        self.assertEqual(self.good("cat", "a.bagz", "--dictionary=dict"), b"".join(records))
        self.assertEqual(
            self.good("sum", "a.bagz", "--dictionary=dict").split()[0].decode(), digest(records)
        )
        self.assertEqual(
            self.good("verify", "a.bagz", "--dictionary=dict"),
            b"a.bagz: 100 intact, 0 corrupt, 0 unchecked\n",
        )
        self.fails("cat", "a.bagz")
        self.fails("cat", "a.bagz", "--dictionary", other)
        message, _ = self.fails("cat", "a.bagz", "--dictionary", "nope")
        self.assertIn("nope", message)
        self.fails("pack", "--dictionary", "nope", "-", "c.bagz", stdin=b"x")
        self.assertNotIn("c.bagz", self.files())

    def test_whole_packs_each_file_as_one_record(self):
        contents = [b"one\ntwo\n", b"", os.urandom(300_000)]
        for i, c in enumerate(contents):
            self.write("f%d" % i, c)
        self.good("pack", "--whole", "f0", "f1", "f2", "a.bagz")
        self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed(contents))
        self.good("pack", "--whole", "--append", "-", "a.bagz", stdin=b"in\n")
        self.assertEqual(self.good("cat", "--lengths", "a.bagz"), framed(contents + [b"in\n"]))
        message, _ = self.fails("pack", "--whole", "f0", "nope", "b.bagz")
        self.assertIn("nope", message)
        self.assertNotIn("b.bagz", self.files())

    def test_invalid_inputs_leave_no_files(self):
        before = self.write("lines", b"x\n")
        for args in [["nope", "a.bag"], [".", "a.bag"], ["lines", "no/a.bag"], ["lines", "."]]:
            message, _ = self.fails("pack", *args)
            self.assertEqual(self.files(), ["lines"], args)
        for flags in [["--append"], ["--force"], []]:
            message, _ = self.fails("pack", "lines", "./lines", *flags)
            self.assertIn("lines", message)
        self.assertEqual(self.read(before), b"x\n")

    def test_a_signal_leaves_no_file(self):
        records = self.pack("b.bag", [b"old"])
        before = self.files()
        for out, flags in [
            ("a.bag", []),
            ("b.bag", ["--append"]),
            ("b.bag", ["--force"]),
            ("w.bag", ["--whole"]),
        ]:
            for number in [signal.SIGINT, signal.SIGTERM]:
                self.interrupt_fed(number, b"line\n" * 2_000_000, "pack", *flags, "-", out)
                self.assertEqual(self.files(), before)
        self.assertEqual(self.good("cat", "b.bag"), b"".join(records))

    def test_a_second_writer_is_refused(self):
        p = subprocess.Popen(
            [TOOL, "pack", "-q", "-", "a.bag"], cwd=self.folder.name, stdin=subprocess.PIPE
        )
        first = b"first" * 200_000
        p.stdin.write(first)
        p.stdin.flush()
        # The data exceed the capacity of a pipe, so the tool has opened the bag.
        message, _ = self.fails("pack", "-", "a.bag", stdin=b"x\n")
        self.assertIn("--no-lock", message)
        p.stdin.close()
        self.assertEqual(p.wait(LONG), 0)
        self.assertEqual(self.good("cat", "a.bag"), first)


class Damage(Base):
    def setUp(self):
        super().setUp()
        self.records = [b"record number %04d" % i for i in range(2000)]

    def damaged(self, name, which, *flags):
        self.pack(name, self.records, "--force", *flags)
        data = self.read(name)
        limits = struct.unpack("<2000Q", data[-16000:])
        for i in which:
            self.flip(name, limits[i] - 3)

    def test_verify_reports_each_corrupt_record(self):
        self.pack("intact.bag", self.records)
        for name in ["a.bag", "a.bagz"]:
            self.damaged(name, [7, 1234])
            message, out = self.fails("verify", "nope.bag", name, "intact.bag", lines=2)
            self.assertIn("nope.bag", message)
            self.assertIn("1 of 3", message)
            lines = out.decode().splitlines()
            self.assertEqual(len(lines), 4)
            self.assertRegex(lines[0], r"\brecord 7: ")
            self.assertRegex(lines[1], r"\brecord 1234: ")
            self.assertEqual(lines[2], f"{name}: 1998 intact, 2 corrupt, 0 unchecked")
            self.assertEqual(lines[3], "intact.bag: 2000 intact, 0 corrupt, 0 unchecked")
            _, out = self.fails("verify", "-q", name, "intact.bag")
            self.assertEqual(out.decode().splitlines(), lines[:2])
        self.assertEqual(self.good("verify", "-q", "intact.bag"), b"")
        self.pack("e.bag", self.records, "--checksum", "none")
        self.assertEqual(
            self.good("verify", "e.bag"), b"e.bag: 0 intact, 0 corrupt, 2000 unchecked\n"
        )

    def test_verify_names_the_corrupt_shard(self):
        for i in range(2):
            self.pack("s-0000%d-of-00002.bag" % i, self.records[:10])
        self.flip("s-00001-of-00002.bag", 3)
        _, out = self.fails("verify", "s@2.bag")
        self.assertRegex(
            out.decode(),
            r"^record 10: s-00001-of-00002.bag: record 0: .*\ns@2.bag: 19 intact, 1 corrupt, 0 unchecked\n$",
        )

    def test_info_lists_the_shards(self):
        self.pack("s-00000-of-00002.bag", self.records[:10])
        self.pack("s-00001-of-00002.bag", self.records[:3], "--checksum", "none")
        self.pack("z.bagz", self.records)
        size = lambda *names: sum(os.path.getsize(self.path(n)) for n in names)
        facts = self.info("s@2.bag,z.bagz")
        self.assertEqual(
            (facts["size"], facts["shards"], facts["checksum"], facts["compression"]),
            (2013, 3, "none", "mixed"),
        )
        self.assertEqual(
            facts["files"],
            [
                {
                    "path": "s-00000-of-00002.bag",
                    "size": 10,
                    "compression": "none",
                    "checksum": "crc32",
                    "bytes": size("s-00000-of-00002.bag", "checksums.s-00000-of-00002.bag"),
                },
                {
                    "path": "s-00001-of-00002.bag",
                    "size": 3,
                    "compression": "none",
                    "checksum": "none",
                    "bytes": size("s-00001-of-00002.bag"),
                },
                {
                    "path": "z.bagz",
                    "size": 2000,
                    "compression": "zstd",
                    "checksum": "zstd",
                    "bytes": size("z.bagz"),
                },
            ],
        )
        self.assertEqual(sum(f["bytes"] for f in facts["files"]), facts["bytes"])
        text = self.good("info", "s@2.bag,z.bagz").decode()
        self.assertRegex(text, r"\nshards: +3\n")
        self.assertRegex(
            text,
            r"\n +3 +\d+  none +none +s-00001-of-00002.bag\n +2000 +\d+  zstd +zstd +z.bagz\n$",
        )
        self.assertNotIn("files", self.info("z.bagz"))
        self.assertNotIn("file", self.good("info", "z.bagz").decode())

    def test_verify_checks_the_shards_that_can_be_read(self):
        for i in range(3):
            self.pack("s-0000%d-of-00003.bag" % i, self.records[:10])
        self.flip("s-00002-of-00003.bag", 3)
        os.truncate(self.path("s-00000-of-00003.bag"), 100)
        # The first shard cannot be opened. Faults of the others are reported nevertheless.
        _, out = self.fails("verify", "s@3.bag")
        output = out.decode()
        self.assertIn("record 0: ", output)
        self.assertIn(
            "s-00000-of-00003.bag: 0 intact, 0 corrupt, 0 unchecked; this is not an intact bag\n",
            output,
        )
        self.assertIn("s-00002-of-00003.bag: 9 intact, 1 corrupt, 0 unchecked\n", output)
        self.assertTrue(
            output.endswith(
                "s@3.bag: 19 intact, 1 corrupt, 0 unchecked\ns@3.bag: 2 of 3 files are faulty\n"
            ),
            output,
        )
        os.remove(self.path("s-00001-of-00003.bag"))
        message, out = self.fails("verify", "s@3.bag", lines=3)
        self.assertIn("s-00001-of-00003.bag: ", message)
        self.assertTrue(
            out.decode().endswith(
                "s@3.bag: 9 intact, 1 corrupt, 0 unchecked\ns@3.bag: 3 of 3 files are faulty\n"
            ),
            out,
        )

    def test_progress_is_printed_to_files_on_request(self):
        self.pack("a.bagz", self.records)
        spec = ",".join(["a.bagz"] * 100)
        r = run("verify", "--progress", spec, cwd=self.folder.name)
        self.assertEqual(
            (r.returncode, r.stdout.split(b":")[1]),
            (0, b" 200000 intact, 0 corrupt, 0 unchecked\n"),
        )
        self.assertRegex(r.stderr, rb"^(verify: \d+ %\n)+$")
        self.assertEqual(run("verify", spec, cwd=self.folder.name).stderr, b"")

    def test_a_signal_ends_verify(self):
        self.pack("a.bagz", [b"%d" % i * 20 for i in range(200_000)], "--no-sync")
        spec = ",".join(["a.bagz"] * 200)
        for number in [signal.SIGINT, signal.SIGTERM]:
            p = subprocess.Popen(
                [TOOL, "verify", "--progress", spec],
                cwd=self.folder.name,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            p.stderr.readline()  # The tool has started.
            p.send_signal(number)
            p.communicate(timeout=LONG)
            self.assertEqual(p.returncode, -number)

    def test_verify_reports_a_file_that_is_not_a_bag(self):
        self.write("a.bag", b"this is certainly no bag")
        _, out = self.fails("verify", "a.bag")
        self.assertRegex(
            out.decode(),
            r"^a.bag: .*\na.bag: 0 intact, 0 corrupt, 0 unchecked; this is not an intact bag\n$",
        )

    def test_cat_skips_corrupt_records_on_request(self):
        for name in ["a.bag", "a.bagz"]:
            for corrupt in [[0], [1999], [7, 8, 9, 1500], list(range(0, 2000, 3))]:
                self.damaged(name, corrupt)
                intact = [r for i, r in enumerate(self.records) if i not in corrupt]
                message, out = self.fails("cat", name)
                self.assertEqual(out, b"".join(self.records[: corrupt[0]]))
                self.assertIn(f"record {corrupt[0]}: ", message)
                self.assertIn(name, message)
                message, out = self.fails("cat", name, "--skip-damaged", lines=len(corrupt))
                self.assertEqual(out, b"".join(intact))
                for i, line in zip(corrupt, message.splitlines()):
                    self.assertIn(f"record {i}: ", line)
                _, out = self.fails(
                    "cat",
                    name,
                    "--skip-damaged",
                    "--lengths",
                    "--slice",
                    "::-1",
                    lines=len(corrupt),
                )
                self.assertEqual(out, framed(intact[::-1]))
                self.fails("sum", name)
        self.damaged("a.bag", [5])
        for requested, before in [("4,5,6", 1), ("6,4,5,5", 2), ("5", 0), ("-1,1,1,5", 3)]:
            _, out = self.fails("cat", "a.bag", "--records", requested)
            good = b"".join(self.records[int(i)] for i in requested.split(",")[:before])
            self.assertEqual(out, good)
        _, out = self.fails("cat", "a.bag", "--records", "4,5,6,5", "--skip-damaged", lines=2)
        self.assertEqual(out, self.records[4] + self.records[6])
        self.assertEqual(self.good("cat", "a.bag", "--slice", "6:9"), b"".join(self.records[6:9]))
        self.assertEqual(len(self.good("cat", "a.bag", "--unchecked")), len(b"".join(self.records)))

    def test_checksums_of_another_state_are_an_error(self):
        self.pack("a.bag", self.records[:5])
        os.truncate(self.path("checksums.a.bag"), 12)
        message, _ = self.fails("cat", "a.bag")
        self.assertIn("--unchecked", message)
        self.assertEqual(self.good("cat", "a.bag", "--unchecked"), b"".join(self.records[:5]))
        # Either file may be the stale one, so only the user can decide to remove the checksums.
        message, _ = self.fails("repair", "a.bag")
        self.assertIn("checksums.a.bag", message)
        os.remove(self.path("checksums.a.bag"))
        self.assertEqual(self.good("cat", "a.bag"), b"".join(self.records[:5]))

    def test_repair_completes_what_an_interrupted_writer_left(self):
        # An interrupted reference writer of a single file leaves two files, the second truncated.
        # Bytes after the last limit: each complete frame is a lost record, other bytes are one.
        for cut, retained, lost_bag, lost_bagz in [(0, 10, 0, 0), (3, 9, 1, 1), (16, 8, 1, 2)]:
            for name, lost in [("r%d.bag" % cut, lost_bag), ("r%d.bagz" % cut, lost_bagz)]:
                self.pack(name, self.records[:10], "--separate", "--checksum", "none")
                size = os.path.getsize(self.path("limits." + name))
                os.truncate(self.path("limits." + name), size - cut)
                self.fails("cat", name)
                self.assertEqual(
                    self.good("repair", name).decode(),
                    f"{name}: {retained} records retained, {lost} lost\n",
                )
                self.assertNotIn("limits." + name, self.files())
                self.assertEqual(self.good("cat", name), b"".join(self.records[:retained]))
                self.assertEqual(self.good("repair", "-q", name), b"")

    def test_repair_truncates_separate_limits(self):
        self.pack("a.bag", self.records[:10], "--separate", "--checksum", "none")
        with open(self.path("limits.a.bag"), "ab") as f:
            f.write(b"torn")
        message, _ = self.fails("cat", "a.bag", "--limits", "separate")
        self.assertIn("limits.a.bag", message)
        self.assertEqual(
            self.good("repair", "--limits", "separate", "a.bag"),
            b"a.bag: 10 records retained, 1 lost\n",
        )
        self.assertEqual(
            self.good("cat", "a.bag", "--limits=separate"), b"".join(self.records[:10])
        )

    def test_repair_reports_records_that_stay_corrupt(self):
        for name, flags in [
            ("a.bag", ()),
            ("a.bagz", ()),
            ("s.bag", ("--separate",)),
            ("s.bagz", ("--separate",)),
        ]:
            records = [b"record number %d" % i for i in range(100)]
            self.pack(name, records, *flags)
            self.good("repair", name, *(("--limits", "separate") if flags else ()))
            # Inside the bytes of a record or of its frame.
            self.flip(
                name,
                os.path.getsize(self.path("checksums." + name if name == "a.bag" else name)) // 4,
            )
            limits = ("--limits", "separate") if flags else ()
            before = self.read(name)
            self.fails("verify", name, *limits)
            message, out = self.fails("repair", name, *limits)
            self.assertIn("1 record is corrupt", message)
            self.assertEqual(out, b"%s: 100 records retained, 0 lost\n" % name.encode())
            self.assertEqual(self.read(name), before)
            self.fails("repair", "-q", name, *limits)

    def test_repair_changes_no_file_that_is_not_a_bag(self):
        self.write("a.bag", b"this is certainly no bag")
        self.fails("repair", "a.bag")
        self.assertEqual(self.read("a.bag"), b"this is certainly no bag")
        self.fails("repair", "nope.bag")

    def test_hints_name_options_of_the_tool(self):
        self.pack("a.bag", self.records[:10], "--separate")
        message, _ = self.fails("cat", "a.bag")
        self.assertIn("--limits separate", message)


@unittest.skipUnless(FIXTURES, "HOLDALL_FIXTURES is not set")
class Reference(Base):
    """Bags that the reference implementation wrote, and malformed ones."""

    def manifest(self, folder):
        with open(os.path.join(FIXTURES, folder, "manifest.json"), encoding="utf-8") as f:
            return json.load(f)["fixtures"]

    def flags(self, fixture):
        o = fixture["options"]
        flags = [
            "--limits",
            o["limits_placement"],
            "--shard-order",
            o["sharding_layout"],
            "--codec",
            o["compression"],
        ]
        if o.get("dictionary"):
            flags += ["--dictionary", self.write("dictionary", o["dictionary"].encode())]
        return flags

    def tool(self, folder, *args):
        return run(*args, cwd=os.path.join(FIXTURES, folder))

    def test_reference_bags_have_the_expected_content(self):
        for f in self.manifest("bagz"):
            with self.subTest(f["name"]):
                spec, flags = f["spec"], self.flags(f)
                facts = json.loads(self.tool("bagz", "info", "--json", spec, *flags).stdout)
                self.assertEqual(
                    (facts["size"], facts["format"], facts["kind"]), (f["n"], "bagz", "bag")
                )
                self.assertEqual(
                    self.tool("bagz", "sum", spec, *flags).stdout.decode(),
                    f"{f['digest']}  {spec}\n",
                )
                everything = self.tool("bagz", "cat", spec, *flags).stdout
                self.assertEqual(hashlib.sha256(everything).hexdigest(), f["concat_sha256"])
                self.assertEqual(self.tool("bagz", "verify", spec, *flags).returncode, 0)
                for s in f["slices"]:
                    text = ":".join(
                        "" if s[k] is None else str(s[k]) for k in ("start", "stop", "step")
                    )
                    out = self.tool("bagz", "sum", "--slice", text, spec, *flags).stdout
                    self.assertEqual(out.split()[0].decode(), s["digest"], text)
                for i in f["read_indices"]:
                    if i["indices"]:
                        requested = ",".join(map(str, i["indices"]))
                        out = self.tool(
                            "bagz", "cat", "--lengths", "--records", requested, spec, *flags
                        ).stdout
                        self.assertEqual(hashlib.sha256(out).hexdigest(), i["digest"])

    def test_malformed_bags_are_reported(self):
        readable = {
            "two_frames",
            "skippable",
            "bomb_real_1g",
            "sep_limits_short",
            "comma_separate",
            "comma_separate_dirs",
            "comma_mixed_ext",
            "star_separate",
        }
        for f in self.manifest("bagz-bad"):
            with self.subTest(f["name"]):
                if f["name"] == "trunc8_aligned":  # Nothing in the file shows the fault.
                    continue
                r = self.tool("bagz-bad", "verify", f["spec"], *self.flags(f))
                self.assertEqual(
                    r.returncode, 0 if f["name"] in readable else 1, (r.stdout, r.stderr)
                )
                self.assertEqual(r.stderr == b"", r.returncode == 0)
                r = self.tool(
                    "bagz-bad",
                    "cat",
                    f["spec"],
                    "--skip-damaged",
                    "--memory-limit",
                    "16M",
                    *self.flags(f),
                )
                self.assertIn(r.returncode, (0, 1))
                for line in r.stderr.decode().splitlines():
                    self.assertTrue(line.startswith("holdall: "), line)

    def test_repair_completes_an_unclosed_reference_bag(self):
        f = next(f for f in self.manifest("bagz") if f["name"] == "unclosed")
        for name in f["files"]:
            with open(os.path.join(FIXTURES, "bagz", name), "rb") as source:
                self.write(os.path.basename(name), source.read())
        self.assertEqual(
            self.good("repair", "unclosed.bagz"),
            b"unclosed.bagz: %d records retained, 0 lost\n" % f["n"],
        )
        self.assertEqual(self.good("sum", "unclosed.bagz").split()[0].decode(), f["digest"])
        self.assertEqual(self.files(), ["unclosed.bagz"])


if __name__ == "__main__":
    unittest.main()
