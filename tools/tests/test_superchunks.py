#!/usr/bin/env python3
"""Tests of the command-line tool with superchunks in files of Bloscpack.

HOLDALL_FIXTURES contains files that Bloscpack wrote: blpk/ with a manifest.json.
"""

import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

from tool import FIXTURES, LONG, TOOL, Base, Blp, digest, items, run


class Superchunk(Blp):
    def test_settings_are_stored_and_content_is_equal(self):
        data = items(5000) + b"odd tail"[:5]
        self.write("in", data)
        for flags, facts in [
            (
                [],
                {
                    "chunks": 1,
                    "chunk_size": 1 << 20,
                    "typesize": 8,
                    "codec": "lz4",
                    "checksum": "crc32",
                    "dialect": "v3",
                },
            ),
            (["--chunk-size", "8K"], {"chunks": 5, "chunk_size": 8192}),
            (
                ["--chunk-size=5001", "--typesize", "3"],
                {"chunks": 8, "chunk_size": 5001, "typesize": 3},
            ),
            (["--typesize", "255"], {"typesize": 255, "chunk_size": (1 << 20) // 255 * 255}),
            *(
                (["--codec", c, "--chunk-size", "16K"], {"codec": {"lz4hc": "lz4"}.get(c, c)})
                for c in ["none", "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]
            ),
            *(
                (["--checksum", c], {"checksum": c})
                for c in [
                    "none",
                    "adler32",
                    "crc32",
                    "md5",
                    "sha1",
                    "sha224",
                    "sha256",
                    "sha384",
                    "sha512",
                ]
            ),
            (["--checksum", "none"], {"checksum": "none"}),
            (["--filters", "none"], {}),
            (["--filters=bitshuffle", "--level", "9"], {}),
            (["--level", "0"], {"codec": "none"}),
            (["--no-offsets"], {}),
            (["--threads", "1"], {}),
            (
                ["--format-version", "1", "--chunk-size", "8K"],
                {"dialect": "v1", "checksum": "none", "typesize": 8, "chunks": 5},
            ),
            (["--format-version", "2"], {"dialect": "v2"}),
            (["--format-version=3"], {"dialect": "v3"}),
            # Without metadata this layout cannot be distinguished from version 3.
            (["--format-version", "rfc"], {"dialect": "v3"}),
        ]:
            for source, stdin in [("in", b""), ("-", data)]:
                with self.subTest(flags=flags, source=source):
                    self.good("pack", "--force", "--no-sync", source, "a.blp", *flags, stdin=stdin)
                    found = self.info("a.blp")
                    self.assertEqual({k: found[k] for k in facts}, facts)
                    self.assertEqual(
                        list(found),
                        [
                            "path",
                            "format",
                            "kind",
                            "dialect",
                            "nbytes",
                            "cbytes",
                            "chunks",
                            "chunk_size",
                            "typesize",
                            "codec",
                            "checksum",
                            "metadata",
                        ],
                    )
                    self.assertEqual(
                        (found["format"], found["kind"], found["nbytes"]),
                        ("bloscpack", "schunk", len(data)),
                    )
                    self.assertEqual(found["cbytes"], os.path.getsize(self.path("a.blp")))
                    self.assertEqual(self.good("cat", "a.blp"), data)
                    self.assertEqual(self.good("unpack", "a.blp", "-"), data)
                    self.good("unpack", "-q", "--force", "a.blp", "out")
                    self.assertEqual(self.read("out"), data)
                    self.good("verify", "a.blp")
                    self.assertEqual(
                        self.good("sum", "a.blp").decode(),
                        hashlib.sha256(data).hexdigest() + "  a.blp\n",
                    )
        lines = self.good("info", "a.blp").decode()
        for expected in [
            "dialect: +v3\n",
            rf"nbytes: +{len(data)} \(39\.1 KiB\)\n",
            "chunks: +1\n",
            "codec: +lz4\n",
            "metadata: +none\n",
        ]:
            self.assertRegex(lines, expected)

    def test_settings_change_the_size(self):
        data, size = items(50_000), {}
        for flags in [
            "--codec none",
            "--codec zstd --level 9",
            "--codec zstd --level 1",
            "--filters none",
            "",
        ]:
            self.blp("a.blp", data, *flags.split())
            size[flags] = self.info("a.blp")["cbytes"]
        self.assertLess(size["--codec zstd --level 9"], size["--codec zstd --level 1"])
        self.assertLess(size[""], size["--filters none"])
        self.assertGreater(size["--codec none"], len(data))
        # If the number of chunks is known, space is reserved for ten times as many offsets.
        self.write("in", items(4096 * 200))
        self.good("pack", "in", "b.blp", "--chunk-size", "32K")
        spare = struct.unpack_from("<q", self.read("b.blp"), 24)[0]
        self.assertGreaterEqual(spare, 10 * 200)
        self.blp("c.blp", data, "--no-offsets")
        self.assertEqual(self.read("c.blp")[5] & 1, 0)

    def test_an_empty_superchunk_can_be_read_and_appended_to(self):
        self.blp("a.blp", b"")
        self.assertEqual(
            (
                self.info("a.blp")["nbytes"],
                self.good("cat", "a.blp"),
                self.good("cat", "a.blp", "--slice", "::-1"),
            ),
            (0, b"", b""),
        )
        self.good("unpack", "a.blp", "out")
        self.assertEqual(self.read("out"), b"")
        self.good("append", "-q", "a.blp", "-", stdin=b"now there is some")
        self.assertEqual(self.good("cat", "a.blp"), b"now there is some")

    def test_the_name_determines_the_format(self):
        for name, flags, kind in [
            ("a.blp", [], "bloscpack schunk"),
            ("a.blpk", [], "bloscpack schunk"),
            ("a", ["--to", "blpk"], "bloscpack schunk"),
            ("b.blp", ["--to=bagz"], "bagz bag"),
            ("a.bagz", [], "bagz bag"),
            (".blp", [], "bloscpack schunk"),
        ]:
            self.good("pack", "-q", "-", name, *flags, stdin=b"one\ntwo\n")
            self.assertEqual(self.good("identify", name).decode(), f"{name}: {kind}\n")
            self.assertEqual(
                self.good("cat", name), b"one\ntwo\n" if "schunk" in kind else b"onetwo"
            )

    def test_existing_files_are_replaced_only_with_force(self):
        self.blp("a.blp", b"old")
        self.write("in", b"new")
        self.write("out", b"old")
        for args in [["pack", "in", "a.blp"], ["unpack", "a.blp", "out"]]:
            message, _ = self.fails(*args)
            self.assertIn("--force", message)
            self.assertIn(args[2], message)
        self.assertEqual((self.good("cat", "a.blp"), self.read("out")), (b"old", b"old"))
        self.good("pack", "--force", "in", "a.blp")
        self.good("unpack", "--force", "a.blp", "out")
        self.assertEqual((self.good("cat", "a.blp"), self.read("out")), (b"new", b"new"))
        for args in [
            ["pack", "in", "in", "--to", "blpk", "--force"],
            ["append", "a.blp", "a.blp"],
            ["pack", "nope", "n.blp"],
            ["pack", ".", "n.blp"],
            ["pack", "in", "no/n.blp"],
            ["append", "nope.blp", "in"],
            ["append", "in", "in"],
            ["append", "a.blp", "nope"],
            ["unpack", "nope.blp", "n"],
            ["unpack", "in", "n"],
            ["unpack", "a.blp", "."],
            ["unpack", "a.blp", "no/n"],
            ["pack", "in", "n.blp", "--metadata", "nope"],
        ]:
            message, _ = self.fails(*args)
            self.assertEqual(self.files(), ["a.blp", "in", "out"], args)
        self.assertEqual((self.good("cat", "a.blp"), self.read("in")), (b"new", b"new"))

    def test_commands_print_a_summary(self):
        r = run("pack", "-", "a.blp", stdin=b"content", cwd=self.folder.name)
        size = os.path.getsize(self.path("a.blp"))
        self.assertEqual(
            (r.returncode, r.stdout, r.stderr.decode()),
            (0, b"", f"a.blp: 7 bytes packed; now 7 bytes in 1 chunk, {size} bytes on disk\n"),
        )
        r = run("append", "a.blp", "-", stdin=b"more", cwd=self.folder.name)
        self.assertRegex(
            r.stderr.decode(),
            r"^a.blp: 4 bytes appended; now 11 bytes in 1 chunk, \d+ bytes on disk\n$",
        )
        r = run("unpack", "a.blp", "out", cwd=self.folder.name)
        self.assertEqual(r.stderr.decode(), "out: 11 bytes unpacked\n")
        for args in [
            ["pack", "-q", "--force", "out", "a.blp"],
            ["append", "-q", "a.blp", "out"],
            ["unpack", "-q", "--force", "a.blp", "out"],
        ]:
            r = run(*args, cwd=self.folder.name)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))

    def test_append_retains_the_settings(self):
        pieces = [items(n, n) for n in (2100, 1, 1024, 5000)] + [b"odd", b"", items(3)]
        for flags in [
            [],
            ["--no-offsets"],
            ["--format-version", "1"],
            ["--format-version", "rfc"],
            ["--codec", "zstd", "--checksum", "sha512"],
        ]:
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
        self.good(
            "append",
            "-q",
            "--codec",
            "zlib",
            "--level=9",
            "--filters=none",
            "a.blp",
            "-",
            stdin=items(5000),
        )
        self.assertEqual(self.info("a.blp")["codec"], "mixed")

    def test_metadata_are_stored_as_json(self):
        for text in [
            '{"a": [1, -2.5e3, {}], "b": "\\u00e9 \\"\u00e9", "c": {"d": null}}',
            "[]",
            "3",
            '"x"',
            " {}\n",
            "[[[]], true, false]",
        ]:
            meta = self.write("m.json", text.encode())
            for flags in [[], ["--format-version", "rfc"]]:
                self.blp("a.blp", b"content", "--metadata", meta, *flags)
                self.assertEqual(
                    (self.info("a.blp")["metadata"], self.info("a.blp")["dialect"]),
                    (json.loads(text), "rfc" if flags else "v3"),
                )
                self.assertIn(text.strip(), self.good("info", "a.blp").decode())
        self.assertEqual(self.good("cat", "a.blp"), b"content")
        self.good("append", "-q", "a.blp", "-", stdin=b"!")
        self.assertEqual(self.info("a.blp")["metadata"], [[[]], True, False])
        self.write("in", b"content")
        self.good("pack", "-q", "--force", "in", "a.blp", "--metadata", "-", stdin=b'{"z": 0}')
        self.assertEqual(self.info("a.blp")["metadata"], {"z": 0})
        self.write("m.json", b"{'a': 1}")
        message, _ = self.fails("pack", "in", "b.blp", "--metadata", "m.json")
        self.assertIn("m.json", message)
        self.write("m.json", b"{}")
        for version in "12":
            self.fails("pack", "in", "b.blp", "--metadata", "m.json", "--format-version", version)
        self.assertNotIn("b.blp", self.files())

    def test_metadata_that_are_not_json_are_shown_as_text(self):
        # The older layout has no checksum of its metadata, so they can be any text.
        for text in [
            "{'a': 1}  ",
            '{"a": NaN}',
            "[" * 600 + "]" * 600,
            '{"a"; 1}  ',
            '["\\x41"]  ',
            "[1 2]     ",
            "[01]      ",
            '{"a":1,}  ',
            '["\n"]     ',
            "nul       ",
            "[1.]      ",
            "[1}       ",
            '{"":1}}   ',
            '"\\u12"    ',
            "[,]       ",
            "{1:2}     ",
        ]:
            self.write("m.json", b'"%s"' % (b"x" * (len(text) - 2)))
            self.blp("a.blp", b"content", "--format-version", "rfc", "--metadata", "m.json")
            data = self.read("a.blp")
            self.write("a.blp", data[:32] + text.encode() + data[32 + len(text) :])
            self.assertEqual(self.info("a.blp")["metadata"], text)
            self.assertEqual(self.good("info", "a.blp").count(b"\n"), 12)

    def test_slices_are_those_of_python(self):
        r = random.Random(5)
        for typesize, n, flags in [
            (8, 0, []),
            (1, 9, []),
            (8, 3000, ["--chunk-size", "4K"]),
            (3, 5000, ["--chunk-size", "999"]),
            (255, 40, []),
        ]:
            data = self.blp("a.blp", r.randbytes(typesize * n), "--typesize", str(typesize), *flags)
            part = [data[i : i + typesize] for i in range(0, len(data), typesize)]
            slices = [
                (None, None, None),
                (None, None, -1),
                (0, 0, 1),
                (5, 2, None),
                (2, 5, -1),
                (None, None, 10**30),
                (-(10**30), 10**30, 1),
                (None, None, -(10**30)),
                (2**63, None, -1),
                (None, 2**64, 2**63 - 1),
                (0, None, 2**62),
            ]
            ends = [None, 0, 1, -1, n // 2, n - 1, n, n + 5, -n, -n - 3]
            slices += [
                (
                    r.choice(ends),
                    r.choice(ends),
                    r.choice([None, 1, -1, 2, -2, 7, -7, 600, -600, n, -n - 1]) or 1,
                )
                for _ in range(40)
            ]
            for s in slices:
                text = ":".join("" if p is None else str(p) for p in s)
                with self.subTest(typesize=typesize, n=n, slice=text):
                    self.assertEqual(
                        self.good("cat", "a.blp", "--slice", text), b"".join(part[slice(*s)])
                    )
        data = self.blp("a.blp", items(10) + b"tail")
        self.assertEqual(self.good("cat", "a.blp", "--slice", ":"), data[:80])
        self.assertEqual(self.good("cat", "a.blp", "--slice=-1:"), data[72:80])

    def test_slices_of_large_content_are_complete(self):
        data = self.blp("a.blp", items(3_000_000), "--chunk-size", "256K")
        part = memoryview(data).cast("Q")
        for s in [
            (None, None, 2),
            (None, None, -1),
            (1, None, 33),
            (None, None, -40_000),
            (5, None, 600_000),
            (None, 5, -999_999),
            (2_999_999, None, -524_287),
        ]:
            text = ":".join("" if p is None else str(p) for p in s)
            self.assertEqual(
                self.good("cat", "a.blp", "--slice", text), part[slice(*s)].tobytes(), text
            )

    def test_format_npy_has_a_valid_header(self):
        for data, flags, more, descr, shape, content in [
            (items(30), [], [], "'|V8'", (30,), None),
            (b"abc", ["--typesize=1"], [], "'|u1'", (3,), None),
            (b"", [], [], "'|V8'", (0,), None),
            (items(30), ["--typesize=24"], ["--slice", "::-3"], "'|V24'", (4,), None),
            (items(2) + b"x", [], ["--slice", ":"], "'|V8'", (2,), items(2)),
        ]:
            self.blp("a.blp", data, *flags)
            out = self.good("cat", "a.blp", "--to", "npy", *more)
            self.assertEqual(out[:8], b"\x93NUMPY\1\0")
            n = 10 + struct.unpack_from("<H", out, 8)[0]
            self.assertEqual(n % 64, 0)
            head = out[10:n].decode()
            self.assertTrue(head.endswith("\n"))
            self.assertEqual(
                eval(head), {"descr": eval(descr), "fortran_order": False, "shape": shape}
            )
            self.assertEqual(
                out[n:],
                (
                    content
                    if content is not None
                    else data if not more else self.good("cat", "a.blp", *more)
                ),
            )
        message, out = self.fails("cat", "a.blp", "--to", "npy")
        self.assertEqual(out, b"")
        self.assertIn("17 bytes", message)
        message, out = self.fails("cat", "a.blp", "--to", "text")
        self.assertEqual(out, b"")
        self.assertIn("--to text", message)

    def test_corrupt_chunks_are_reported_and_repaired(self):
        data = self.blp("a.blp", items(40_000), "--chunk-size", "16K")
        whole = self.read("a.blp")
        for corrupt in [[0], [19], [3, 4, 11]]:
            self.write("a.blp", whole)
            for chunk in corrupt:
                self.flip("a.blp", self.chunks("a.blp")[chunk] + 40)
            zeros = bytearray(data)
            for chunk in corrupt:
                zeros[chunk * 16384 : (chunk + 1) * 16384] = bytes(
                    len(zeros[chunk * 16384 : (chunk + 1) * 16384])
                )
            message, out = self.fails("cat", "a.blp")
            self.assertEqual(out, data[: corrupt[0] * 16384])
            self.assertIn(f"chunk {corrupt[0]}: ", message)
            message, _ = self.fails("unpack", "a.blp", "out")
            self.assertIn(f"a.blp: chunk {corrupt[0]}: ", message)
            self.assertEqual(self.files(), ["a.blp"])
            for flags, want in [
                ([], zeros),
                (
                    ["--slice", "::-1"],
                    b"".join(bytes(zeros[i : i + 8]) for i in range(len(zeros) - 8, -1, -8)),
                ),
            ]:
                message, out = self.fails(
                    "cat", "--skip-damaged", "a.blp", *flags, lines=len(corrupt)
                )
                self.assertEqual(out, want)
                lines = message.splitlines()
                for chunk, line in zip(corrupt, lines):
                    self.assertRegex(line, rf"a.blp: chunk {chunk}: .*\(skipped\)$")
            self.fails("unpack", "-q", "--skip-damaged", "a.blp", "out", lines=len(corrupt))
            self.assertEqual(self.read("out"), zeros)
            os.remove(self.path("out"))
            message, out = self.fails("verify", "a.blp")
            lines = out.decode().splitlines()
            for chunk, line in zip(corrupt, lines):
                self.assertRegex(line, rf"\bchunk {chunk}: ")
            self.assertEqual(
                lines[len(corrupt) :],
                [f"a.blp: {20 - len(corrupt)} intact, {len(corrupt)} corrupt, 0 unchecked"],
            )
            self.fails("sum", "a.blp")
            before, named = self.read("a.blp"), ", ".join(f"chunk {i}" for i in corrupt)
            message, out = self.fails("repair", "a.blp")
            self.assertEqual((out, self.read("a.blp")), (b"", before))
            self.assertIn(f"a.blp: damaged: {named} (--skip-damaged ", message)
            message, out = self.fails("repair", "--skip-damaged", "a.blp")
            self.assertIn(f"a.blp: damaged: {named}; zeros", message)
            self.assertEqual(
                out.decode(),
                f"a.blp: {20 - len(corrupt)} chunks retained, {len(corrupt)} lost\n",
            )
            self.assertEqual(
                self.good("verify", "a.blp"), b"a.blp: 20 intact, 0 corrupt, 0 unchecked\n"
            )
            self.assertEqual(self.good("cat", "a.blp"), zeros)
        # Only the checksum detects a changed byte in a chunk that is not compressed.
        self.blp("a.blp", os.urandom(1000))
        self.flip("a.blp", self.chunks("a.blp")[0] + 500)
        self.fails("cat", "a.blp")
        self.assertEqual(len(self.good("cat", "a.blp", "--unchecked")), 1000)
        self.blp("a.blp", items(1000), "--checksum", "none")
        self.assertEqual(self.good("verify", "a.blp"), b"a.blp: 0 intact, 0 corrupt, 1 unchecked\n")

    def test_repair_recovers_a_truncated_file(self):
        data = self.blp("a.blp", items(40_000), "--chunk-size", "16K")
        os.truncate(self.path("a.blp"), self.chunks("a.blp")[7] + 9)
        for args in [["cat"], ["info"], ["sum"]]:
            message, out = self.fails(*args, "a.blp")
            self.assertEqual(out, b"")
            self.assertIn("--skip-damaged", message)
        message, out = self.fails("cat", "--skip-damaged", "a.blp")
        self.assertEqual(out, data[: 7 * 16384])
        message, out = self.fails("info", "--json", "--skip-damaged", "a.blp")
        self.assertEqual(json.loads(out)["nbytes"], 7 * 16384)
        message, out = self.fails("verify", "a.blp")
        self.assertRegex(
            out.decode(),
            (
                r"chunk 7\b.*\na.blp: 7 intact, \d+ corrupt, 0 unchecked; this is not an intact superchunk\n$"
                if b"not an intact" in out
                else r"chunk 7\b.*\na.blp: 7 intact, [1-9]\d* corrupt"
            ),
        )
        self.fails("append", "a.blp", "-", stdin=b"x")
        self.assertEqual(self.good("repair", "a.blp"), b"a.blp: 7 chunks retained, 13 lost\n")
        self.assertEqual(self.good("cat", "a.blp"), data[: 7 * 16384])

    def test_corrupt_metadata_are_reported(self):
        self.write("m.json", b'{"name": "value"}')
        self.blp("a.blp", b"content", "--metadata", "m.json")
        self.flip("a.blp", 70)
        message, out = self.fails("info", "--json", "a.blp")
        self.assertIn("metadata", message)
        self.assertEqual((json.loads(out)["metadata"], json.loads(out)["nbytes"]), (None, 7))
        self.fails("info", "--skip-damaged", "a.blp")
        # Without metadata, the type and shape of the content are unknown.
        self.fails("cat", "a.blp")
        self.assertEqual(self.fails("cat", "--skip-damaged", "a.blp")[1], b"content")
        for args in [
            ["sum"],
            ["sum", "--slice=:"],
            ["unpack", "-"],
            ["unpack", "out"],
            ["convert", "b.blp"],
        ]:
            message, out = self.fails(args[0], "a.blp", *args[1:])
            self.assertIn("metadata", message)
            self.assertNotIn("(skipped)", message)
            self.assertEqual((out, self.files()), (b"", ["a.blp", "m.json"]), args)
        message, out = self.fails("unpack", "--skip-damaged", "a.blp", "-")
        self.assertEqual(out, b"content")
        self.assertIn("(skipped)", message)
        self.fails("unpack", "-q", "--skip-damaged", "a.blp", "out")
        self.assertEqual(self.read("out"), b"content")
        self.fails("verify", "a.blp")

    def test_repair_reports_lost_metadata(self):
        self.write("m.json", b'{"name": "value"}')
        for at in [70, 5]:  # Offset 5 is in the header.
            self.blp("a.blp", b"content", "--metadata", "m.json")
            self.flip("a.blp", 70)
            self.flip("a.blp", at) if at != 70 else None
            message, out = self.fails("repair", "a.blp")
            self.assertIn("metadata", message)
            self.assertEqual(out, b"a.blp: 1 chunk retained, 0 lost\n")
            self.assertEqual(
                (self.info("a.blp")["metadata"], self.good("cat", "a.blp")), (None, b"content")
            )
            self.good("repair", "a.blp")
        self.blp("a.blp", b"content", "--metadata", "m.json")
        self.flip("a.blp", 5)
        self.good("repair", "a.blp")
        self.assertEqual(self.info("a.blp")["metadata"], {"name": "value"})

    def test_a_corrupt_header_can_be_skipped(self):
        data = self.blp("a.blp", bytes(16384) + items(10_000), "--chunk-size", "16K")
        self.flip("a.blp", 5)
        for args in [["cat"], ["unpack", "-"], ["sum"]]:
            message, out = self.fails(args[0], "a.blp", *args[1:])
            self.assertIn("header", message)
            self.assertEqual(out, b"")
        # All chunks are intact, the first one has zeros only.
        for args in [["cat"], ["cat", "--slice", ":"], ["unpack", "-"]]:
            message, out = self.fails(args[0], "--skip-damaged", "a.blp", *args[1:])
            self.assertEqual(out, data)
            self.assertRegex(message, r"a.blp: header: .*\(skipped\)$")
        # A corrupt chunk is reported.
        self.flip("a.blp", self.chunks("a.blp")[3] + 40)
        message, out = self.fails("cat", "--skip-damaged", "a.blp", lines=2)
        self.assertEqual(out, data[: 3 * 16384] + bytes(16384) + data[4 * 16384 :])
        self.assertRegex(message, r"header: [^\n]*\n.*chunk 3: [^\n]*\(skipped\)$")
        message, _ = self.fails("convert", "-q", "--skip-damaged", "a.blp", "b.blp", lines=2)
        self.assertRegex(message, r"header: [^\n]*\n.* zeros in the copy ")
        os.remove(self.path("b.blp"))
        # The same without checksums.
        self.blp("a.blp", data, "--chunk-size", "16K", "--checksum", "none")
        at = self.chunks("a.blp")[3]
        self.write(
            "a.blp", self.read("a.blp")[: at + 16] + b"\xff" * 40 + self.read("a.blp")[at + 56 :]
        )
        for header in [False, True]:
            if header:
                self.flip("a.blp", 5)
            message, out = self.fails("cat", "--skip-damaged", "a.blp", lines=1 + header)
            self.assertRegex(message, r"chunk 3: [^\n]*\(skipped\)$")
            self.assertEqual(out, data[: 3 * 16384] + bytes(16384) + data[4 * 16384 :])

    def test_verify_and_sum_take_paths_of_all_formats(self):
        data = self.blp("a.blp", items(100))
        self.pack("b.bagz", [b"one", b"two"])
        self.assertEqual(
            self.good("verify", "a.blp", "b.bagz"),
            b"a.blp: 1 intact, 0 corrupt, 0 unchecked\nb.bagz: 2 intact, 0 corrupt, 0 unchecked\n",
        )
        out = self.good("sum", "--checksum", "crc32", "b.bagz", "a.blp").decode()
        self.assertEqual(
            out, f"{digest([b'one', b'two'], 'crc32')}  b.bagz\n{zlib.crc32(data):08x}  a.blp\n"
        )
        out = self.good("sum", "--slice", "1:", "a.blp", "b.bagz").decode()
        self.assertEqual(
            out, f"{hashlib.sha256(data[8:]).hexdigest()}  a.blp\n{digest([b'two'])}  b.bagz\n"
        )
        for args in [
            ["verify", "--limits", "separate", "a.blp"],
            ["sum", "--limits=separate", "a.blp"],
            ["repair", "--limits", "separate", "a.blp"],
        ]:
            message, _ = self.fails(*args, code=2)
            self.assertIn(args[1].split("=")[0], message)

    def test_reader_flags_do_not_change_the_content(self):
        data = self.blp("a.blp", items(100_000), "--chunk-size", "64K")
        for flags in [
            ["--threads", "1"],
            ["--threads=3"],
            ["--map"],
            ["--memory-limit", "1M"],
            ["--unchecked"],
        ]:
            self.assertEqual(self.good("cat", "a.blp", *flags), data)
            self.good("unpack", "--force", "a.blp", "out", *flags)
            self.assertEqual(self.read("out"), data)
            self.assertEqual(self.info("a.blp", *flags)["nbytes"], len(data))
        message, _ = self.fails("cat", "a.blp", "--memory-limit", "1K")
        self.assertIn("--memory-limit", message)

    def test_outputs_may_be_pipes_and_devices(self):
        data = self.blp("a.blp", items(100_000))
        self.good("unpack", "-q", "a.blp", "/dev/null")
        os.mkfifo(self.path("pipe"))
        p = subprocess.Popen([TOOL, "unpack", "-q", "a.blp", "pipe"], cwd=self.folder.name)
        self.assertEqual(self.read("pipe"), data)
        self.assertEqual(p.wait(LONG), 0)
        self.assertEqual(self.files(), ["a.blp", "pipe"])
        if os.path.exists("/dev/full"):
            self.fails("unpack", "a.blp", "/dev/full")
        os.mkdir(self.path("folder"))
        os.chmod(self.path("folder"), 0o500)
        if os.getuid():
            self.fails("unpack", "a.blp", "folder/x")

    def test_cat_ends_silently_if_the_pipe_closes(self):
        self.blp("a.blp", items(1_000_000))
        for args in [
            ["cat", "a.blp"],
            ["unpack", "a.blp", "-"],
            ["cat", "a.blp", "--slice", "::-1"],
            ["cat", "--to=npy", "a.blp"],
        ]:
            p = subprocess.Popen(
                [TOOL, *args], cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            self.assertEqual(len(p.stdout.read(10)), 10)
            p.stdout.close()
            self.assertEqual((p.stderr.read(), p.wait(LONG)), (b"", 0))
            p.stderr.close()

    def test_a_signal_leaves_no_file(self):
        old = self.blp("b.blp", b"old content")
        os.truncate(self.write("zeros", b""), 1 << 30)
        self.good("pack", "-q", "--no-sync", "zeros", "big.blp")
        self.write("out", b"old")
        before = self.files()
        for number in [signal.SIGINT, signal.SIGTERM]:
            for args in [
                ["pack", "-", "a.blp"],
                ["pack", "--force", "-", "b.blp"],
                ["append", "b.blp", "-"],
            ]:
                self.interrupt_fed(number, os.urandom(20_000_000), *args)
                self.assertEqual(self.files(), before)
            self.interrupt(number, "unpack", "--force", "big.blp", "out")
            self.assertEqual(self.files(), before)
        self.assertEqual((self.good("cat", "b.blp"), self.read("out")), (old, b"old"))

    @unittest.skipUnless(sys.platform == "linux", "ulimit -v counts differently")
    def test_memory_is_bounded(self):
        # The content exceeds the memory limit.
        line = (
            "ulimit -v 262144; head -c 600000000 /dev/zero | "
            '"$0" pack --threads 1 --no-sync -q $1 - a.blp && '
            '"$0" cat --threads 1 a.blp | wc -c && '
            '"$0" cat --threads 1 a.blp --slice ::-70000001 | wc -c && '
            '"$0" unpack -q --threads 1 a.blp out'
        )
        for flags in ["", "--chunk-size 64K", "--chunk-size 64M --typesize 1"]:
            p = subprocess.run(
                ["bash", "-c", line, TOOL, flags], cwd=self.folder.name, capture_output=True
            )
            count = -(-600000000 // (1 if "typesize" in flags else 8) // 70000001)
            self.assertEqual(
                (p.stderr, p.stdout.split()[0], p.returncode), (b"", b"600000000", 0), flags
            )
            self.assertEqual(os.path.getsize(self.path("out")), 600000000)
            os.remove(self.path("out"))
            os.remove(self.path("a.blp"))


class Convert(Blp):
    def test_convert_changes_only_the_requested_settings(self):
        data = self.blp(
            "a.blp",
            items(5000),
            "--chunk-size",
            "4K",
            "--codec",
            "zstd",
            "--checksum",
            "md5",
            "--typesize",
            "4",
        )
        for flags, changed in [
            ([], {}),
            (["--codec", "lz4", "--level", "9", "--filters", "none"], {"codec": "lz4"}),
            (["--chunk-size", "16K"], {"chunk_size": 16384, "chunks": 3}),
            (["--checksum", "sha256"], {"checksum": "sha256"}),
            (["--checksum", "none"], {"checksum": "none"}),
            (["--format-version", "1"], {"dialect": "v1", "checksum": "none"}),
            (["--format-version", "2", "--no-offsets"], {"dialect": "v2"}),
        ]:
            self.good("convert", "-q", "--force", "a.blp", "b.blp", *flags)
            facts = {k: v for k, v in self.info("a.blp").items() if k not in ("path", "cbytes")}
            self.assertEqual(
                facts | changed,
                {k: v for k, v in self.info("b.blp").items() if k not in ("path", "cbytes")},
                flags,
            )
            self.assertEqual(self.good("cat", "b.blp"), data)
        self.good("convert", "-q", "--force", "b.blp", "a.blp")
        self.assertEqual((self.info("a.blp")["dialect"], self.good("cat", "a.blp")), ("v3", data))

    def test_convert_copies_metadata(self):
        self.write("m.json", b'{"a": [1]}')
        data = self.blp("a.blp", items(100), "--metadata", "m.json", "--format-version", "rfc")
        self.good("convert", "-q", "a.blp", "b.blp")
        self.assertEqual(
            (self.info("b.blp")["metadata"], self.info("b.blp")["dialect"]), ({"a": [1]}, "v3")
        )
        before = self.files()
        message, _ = self.fails("convert", "a.blp", "c.blp", "--format-version", "2")
        self.assertIn("metadata", message)
        self.assertEqual((self.files(), self.good("cat", "b.blp")), (before, data))

    def test_invalid_conversions_are_refused(self):
        self.blp("a.blp", items(9))
        self.blp("b.blp", items(8))
        os.link(self.path("a.blp"), self.path("same.blp"))
        before = self.read("a.blp"), self.read("b.blp")
        for args, code in [
            (["a.blp", "b.blp"], 1),
            (["a.blp", "a.blp"], 1),
            (["a.blp", "same.blp", "--force"], 1),
            (["none.blp", "c.blp"], 1),
            (["m.json", "c.blp"], 1),
            (["-", "c.blp"], 1),
            (["a.blp", "-", "--to", "bcolz"], 2),
            (["a.blp", "c.blp", "--level=10"], 2),
            (["a.blp", "c.blp", "--chunk-size=12"], 1),
            (["a.blp", "c.blp", "--filters=none,shuffle"], 2),
        ]:
            self.fails("convert", *args, code=code)
            self.assertFalse(os.path.exists(self.path("c.blp")), args)
        self.assertEqual((self.read("a.blp"), self.read("b.blp")), before)

    def test_corrupt_chunks_become_zeros_on_request(self):
        data = self.blp("a.blp", items(5000), "--chunk-size", "4K")
        self.flip("a.blp", self.chunks("a.blp")[3] + 50)
        before = self.files()
        self.fails("convert", "a.blp", "b.blp")
        self.assertEqual(self.files(), before)
        message, _ = self.fails("convert", "--skip-damaged", "-q", "a.blp", "b.blp")
        self.assertIn("zeros in the copy", message)
        self.assertEqual(
            self.good("cat", "b.blp"), data[: 3 * 4096] + bytes(4096) + data[4 * 4096 :]
        )

    @unittest.skipUnless(sys.platform == "linux", "ulimit -v counts differently")
    def test_memory_is_bounded_and_a_signal_leaves_no_file(self):
        os.truncate(self.write("zeros", b""), 1 << 30)
        self.good("pack", "-q", "--no-sync", "zeros", "a.blp")
        line = (
            "ulimit -v 262144; "
            '"$0" convert --threads 1 --no-sync -q a.blp b.blp --codec zstd --level 1'
        )
        p = subprocess.run(["bash", "-c", line, TOOL], cwd=self.folder.name, capture_output=True)
        self.assertEqual((p.stderr, p.returncode), (b"", 0))
        self.assertEqual(self.good("sum", "a.blp").split()[0], self.good("sum", "b.blp").split()[0])
        before = self.files(), self.read("b.blp")
        self.interrupt(signal.SIGTERM, "convert", "--force", "--level=9", "a.blp", "b.blp")
        self.assertEqual((self.files(), self.read("b.blp")), before)


class Overview(Base):
    """count, schema, tree, head, tail, sample, and the JSON of verify, repair and sum."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("d"))
        self.pack("r.bagz", [b"%d" % i for i in range(30)])
        self.write("t.csv", b"x,y\n" + b"".join(b"%d,%c\n" % (i, 97 + i % 26) for i in range(30)))
        self.good("convert", "-q", "t.csv", "d/t.bcolz")
        self.write("raw", bytes(range(240)))
        self.good("convert", "-q", "raw", "d/a.b2nd", "--dtype", "|u1", "--shape", "30,8")
        self.good("convert", "-q", "raw", "d/a.blp", "--dtype", "<i4")
        self.good("pack", "-q", "--chunk-size", "80", "raw", "d/s.blp")

    def test_count_prints_one_number(self):
        for path, count in [("r.bagz", 30), ("d/t.bcolz", 30), ("d/a.b2nd", 30), ("d/a.blp", 60), ("d/s.blp", 30)]:
            self.assertEqual(self.good("count", path), b"%d\n" % count)
            self.assertEqual(json.loads(self.good("count", "--json", path)), {"path": path, "count": count})
        self.fails("count", "none")

    def test_schema_prints_names_and_types(self):
        self.assertEqual(self.good("schema", "d/t.bcolz"), b"x  <i8  []\ny  |S1  []\n")
        self.assertEqual(self.good("schema", "d/a.b2nd"), b"|u1  [30, 8]\n")
        self.assertEqual(
            json.loads(self.good("schema", "--json", "d/t.bcolz"))["columns"],
            [{"name": "x", "dtype": "<i8", "shape": []}, {"name": "y", "dtype": "|S1", "shape": []}],
        )
        self.assertEqual(json.loads(self.good("schema", "--json", "d/a.blp"))["shape"], [60])
        self.assertEqual(json.loads(self.good("schema", "--json", "r.bagz"))["compression"], "zstd")
        self.assertEqual(json.loads(self.good("schema", "--json", "d/s.blp"))["item_size"], 8)

    def test_head_and_tail_are_slices_of_cat(self):
        for path in ("r.bagz", "d/t.bcolz", "d/a.b2nd", "d/a.blp", "d/s.blp"):
            for n in (0, 1, 7, 100):
                for command, part in (("head", f":{n}"), ("tail", f"-{n}:" if n else ":0")):
                    self.assertEqual(
                        self.good(command, "-n", str(n), path), self.good("cat", path, f"--slice={part}")
                    )
            self.assertEqual(self.good("head", path), self.good("cat", path, "--slice=:10"))
        self.assertEqual(self.good("tail", "-n1", "--to", "jsonl", "--columns", "x", "d/t.bcolz"), b'{"x":29}\n')
        for args in (["-n", "-1"], ["-n", "x"], ["--slice", "1:"]):
            self.fails("head", *args, "r.bagz", code=2)

    def test_a_sample_is_in_rising_order_and_repeatable(self):
        for path in ("d/a.b2nd", "d/t.bcolz", "r.bagz", "d/s.blp"):
            full = self.good("sample", "-n", "99", path)
            self.assertEqual(full, self.good("cat", path))
        for seed in ("1", "2"):
            rows = self.good("sample", "-n", "5", "--seed", seed, "d/t.bcolz")
            self.assertEqual(rows, self.good("sample", "-n", "5", "--seed", seed, "d/t.bcolz"))
            numbers = [int(line.split(b",")[0]) for line in rows.splitlines()[1:]]
            self.assertEqual((len(set(numbers)), numbers), (5, sorted(numbers)))
        self.assertNotEqual(rows, self.good("sample", "-n", "5", "--seed", "1", "d/t.bcolz"))
        items = self.good("sample", "-n", "5", "d/s.blp")
        whole = [bytes(range(at, at + 8)) for at in range(0, 240, 8)]
        chosen = [items[at : at + 8] for at in range(0, 40, 8)]
        self.assertEqual((chosen, len(set(chosen))), ([item for item in whole if item in chosen], 5))
        self.fails("sample", "d/s.blp", "--to", "text")

    def test_tree_draws_the_structure(self):
        lines = self.good("tree", "d").decode().splitlines()
        self.assertEqual(lines[0], "d")
        self.assertEqual(lines[1], "├── a.b2nd  b2nd array  |u1 [30, 8]")
        self.assertRegex(lines[2], r"^│   └── chunks \[\d+, \d+\].*, lz4 level 5, shuffle$")
        self.assertEqual(lines[5], "├── s.blp  bloscpack schunk")
        self.assertEqual(lines[6], "└── t.bcolz  bcolz table  30 rows")
        self.assertEqual(lines[7], "    ├── x  <i8 [30]")
        self.assertEqual(self.good("tree", "d/s.blp"), b"d/s.blp  bloscpack schunk\n")

    def test_ls_and_tree_list_bags_and_report_what_is_corrupt(self):
        self.pack("d/r.bag", [b"one", b"two"], "--separate")
        self.assertIn("r.bag  bagz bag  2 records", self.good("ls", "d").decode().splitlines())
        self.assertIn("├── r.bag  bagz bag  2 records", self.good("tree", "d").decode())
        (bag,) = [x for x in json.loads(self.good("ls", "--json", "d")) if x["kind"] == "bag"]
        self.assertEqual((bag["path"], bag["records"]), ("d/r.bag", 2))
        count = len(self.good("ls", "d").splitlines())
        for name in ("d/x.b2nd", "d/x.blp"):
            self.write(name, self.read("d/a" + name[3:])[:40])
        self.write("d/x.bagz", b"no bag")
        for command, lines in (("ls", count), ("tree", None)):
            message, out = self.fails(command, "d", lines=3)
            for name in ("d/x.b2nd", "d/x.blp", "d/x.bagz"):
                self.assertIn(name, message)
            self.assertIn(lines, (None, len(out.splitlines())))
        self.fails("ls", "raw")

    def test_json_of_verify_repair_and_sum(self):
        data = self.read("d/s.blp")
        self.write("d/s.blp", data[:-20] + bytes(20))  # The last chunk ends the file.
        r = run("verify", "--json", "d/a.b2nd", "d/s.blp", "none", cwd=self.folder.name)
        self.assertEqual(r.returncode, 1)
        intact, corrupt, absent = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual(
            intact,
            {"path": "d/a.b2nd", "faults": [], "intact": 1, "corrupt": 0, "unchecked": 0, "result": "intact"},
        )
        self.assertEqual((corrupt["result"], corrupt["corrupt"], absent["result"]), ("corrupt", 1, "unreadable"))
        self.assertEqual((corrupt["faults"][0]["part"], corrupt["faults"][0]["position"]), ("chunk 2", 2))
        expected = {
            "path": "d/s.blp", "unit": "chunk", "retained": None, "lost": None, "metadata_lost": False,
            "corrupt": None, "damaged": ["chunk 2"], "columns_lost": [], "parts_removed": [],
        }  # fmt: skip
        _, out = self.fails("repair", "--json", "d/s.blp")
        self.assertEqual(json.loads(out), expected)
        _, out = self.fails("repair", "--json", "--skip-damaged", "d/s.blp")
        self.assertEqual(json.loads(out), expected | {"retained": 2, "lost": 1})
        _, out = self.fails("repair", "--json", "none")
        self.assertIsNone(json.loads(out)["retained"])
        found = json.loads(self.good("sum", "--json", "--checksum", "crc32", "d/a.b2nd"))
        self.assertEqual(
            found, {"path": "d/a.b2nd", "checksum": "crc32", "digest": "%08x" % zlib.crc32(self.read("raw"))}
        )


@unittest.skipUnless(FIXTURES, "HOLDALL_FIXTURES is not set")
class Bloscpack(Base):
    """Files that all versions of Bloscpack wrote."""

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

    def test_fixtures_have_the_expected_content(self):
        for e in self.entries:
            with self.subTest(e["id"]):
                path, content, header = (
                    os.path.join(self.root, e["path"]),
                    e["content"],
                    e["layout"]["header"],
                )
                damaged = e["expect"] == "damaged"
                run_it = self.fails if damaged else self.good
                out = run_it("info", "--json", path, *["--skip-damaged"] * damaged)
                facts = json.loads(out[1] if damaged else out)
                dialect = e["layout"]["dialect"].split("-")[0]
                self.assertEqual(
                    (facts["format"], facts["dialect"], facts["metadata"]),
                    ("bloscpack", dialect, e["metadata"]),
                )
                self.assertEqual(
                    (facts["nbytes"], facts["chunks"]),
                    (content["nbytes"], len(e["layout"]["chunks"])),
                )
                self.assertEqual(facts["cbytes"], os.path.getsize(path))
                self.assertEqual(facts["checksum"], header.get("checksum_name", "None").lower())
                codecs = {c[4] for c in e["layout"]["chunks"] if not c[6]} or {"none"}
                self.assertEqual({facts["codec"]}, codecs if len(codecs) == 1 else {"mixed"})
                if "typesize" in header:
                    self.assertEqual(facts["typesize"], max(header["typesize"], 1))
                out = run_it("cat", path, *["--skip-damaged"] * damaged)
                # Digests of the manifest cover the items in C order.
                out = out[1] if damaged else out
                self.assertEqual(
                    hashlib.sha256(out).hexdigest(), content.get("sha256_stored", content["sha256"])
                )
                self.check_array(e, path, facts)
                (self.fails if damaged else self.good)("verify", path)

    def test_converted_fixtures_have_the_same_content(self):
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
                self.assertEqual(
                    (facts["dialect"], facts["metadata"], facts["nbytes"]),
                    ("v3", e["metadata"], content["nbytes"]),
                )
                self.assertEqual(
                    hashlib.sha256(self.good("cat", to)).hexdigest(),
                    content.get("sha256_stored", content["sha256"]),
                )
                self.check_array(e, to, facts)

    def check_array(self, e, path, facts):
        content = e["content"]
        if not e.get("container"):
            self.assertEqual(facts["kind"], "schunk")
            return
        self.assertEqual(
            (facts["kind"], facts["shape"], facts["order"]),
            ("array", content["shape"], e["metadata"]["order"]),
        )
        if isinstance(content["dtype"], str):
            self.assertEqual(facts["dtype"], content["dtype"])
        out = self.good("cat", "--to", "npy", path)
        n = 10 + struct.unpack_from("<H", out, 8)[0]
        head = eval(out[10:n].decode())
        self.assertEqual(
            (head["shape"], len(out) - n), (tuple(content["shape"]), content["nbytes"])
        )
        if "first" in content and content["dtype"] != "<f16":
            numbers = [float(v) for v in self.good("cat", "--to", "text", path).split()]
            self.assertEqual((numbers[:3], numbers[-3:]), (content["first"], content["last"]))


if __name__ == "__main__":
    unittest.main()
