#!/usr/bin/env python3
"""Tests of the command-line tool with arrays in Bloscpack files.

Such an array is a superchunk whose metadata contain a dtype and a shape.
"""

import hashlib
import json
import os
import random
import struct
import zlib
import unittest

from tool import Blp, items, np_count, run


class Array(Blp):
    """Superchunks whose metadata declare an array."""

    KINDS = {
        "b1": "?",
        "i1": "b",
        "u1": "B",
        "i2": "h",
        "u2": "H",
        "i4": "i",
        "u4": "I",
        "i8": "q",
        "u8": "Q",
        "f2": "e",
        "f4": "f",
        "f8": "d",
    }

    def array(self, name, data, dtype, shape, *flags, order="C"):
        meta = {
            "dtype": repr(dtype) if isinstance(dtype, str) else str(dtype),
            "shape": shape,
            "order": order,
            "container": "numpy",
        }
        self.write("m.json", json.dumps(meta).encode())
        return self.blp(name, data, "--metadata", "m.json", *flags)

    def in_c_order(self, data, size, shape):
        """Returns the items, in C order, of an array that is stored in Fortran order."""
        strides = [1]
        for n in shape:
            strides.append(strides[-1] * n)
        indices = [()]
        for n in shape:
            indices = [i + (k,) for i in indices for k in range(n)]
        at = [sum(i * p for i, p in zip(index, strides)) * size for index in indices]
        return b"".join(data[a : a + size] for a in at)

    def npy(self, *args):
        out = self.good("cat", "--to", "npy", *args)
        n = 10 + struct.unpack_from("<H", out, 8)[0]
        self.assertEqual((out[:8], n % 64), (b"\x93NUMPY\1\0", 0))
        return eval(out[10:n].decode()), out[n:]

    def test_info_shows_type_shape_and_order(self):
        self.array("a.blp", items(24), "<u8", [2, 3, 4])
        facts = self.info("a.blp")
        self.assertEqual(
            (facts["kind"], facts["dtype"], facts["shape"], facts["order"]),
            ("array", "<u8", [2, 3, 4], "C"),
        )
        self.assertEqual(facts["metadata"]["container"], "numpy")
        lines = self.good("info", "a.blp").decode()
        for expected in ["kind: +array\n", "dtype: +<u8\n", "shape: +2, 3, 4\n", "order: +C\n"]:
            self.assertRegex(lines, expected)
        self.assertEqual(self.good("identify", "a.blp"), b"a.blp: bloscpack array\n")
        # The shape has more items than the content.
        self.array("a.blp", items(23), "<u8", [2, 3, 4])
        for args in [["info"], ["cat"]]:
            message, _ = self.fails(*args, "a.blp")
            self.assertIn("a.blp", message)
        self.assertEqual(self.good("unpack", "a.blp", "-"), items(23))

    def test_cat_prints_items_in_c_order(self):
        r = random.Random(8)
        for size, shape in [
            (8, [7]),
            (2, [5, 6]),
            (3, [4, 3, 5]),
            (1, [3, 0, 2]),
            (8, [0]),
            (4, []),
            (300, [9, 2]),
            (16, [1, 1, 6, 1]),
        ]:
            n = 1
            for s in shape:
                n *= s
            for order in "CF":
                with self.subTest(size=size, shape=shape, order=order):
                    data = self.array(
                        "a.blp", r.randbytes(size * n), f"|V{size}", shape, order=order
                    )
                    want = data if order == "C" else self.in_c_order(data, size, shape)
                    self.assertEqual(self.good("cat", "a.blp"), want)
                    self.assertEqual(self.good("unpack", "a.blp", "-"), data)
                    head, body = self.npy("a.blp")
                    self.assertEqual(head["descr"], f"|V{size}")
                    self.assertEqual(head["shape"], tuple(shape))
                    self.assertEqual(body, data if head["fortran_order"] else want)
                    if not shape:
                        self.fails("cat", "a.blp", "--slice", ":")
                        self.assertEqual(self.good("cat", "a.blp", "--slice", "..."), want)
                        continue
                    row = len(want) // shape[0] if shape[0] else 0
                    rows = [want[i * row : (i + 1) * row] for i in range(shape[0])]
                    for text in [
                        ":",
                        "::-1",
                        "1:",
                        ":-1:2",
                        "-1:0:-2",
                        "2:1",
                        "::-3",
                        "1:2",
                        "99:",
                    ]:
                        s = slice(*(int(p) if p else None for p in text.split(":")))
                        self.assertEqual(
                            self.good("cat", "a.blp", "--slice", text), b"".join(rows[s]), text
                        )
                        head, body = self.npy("a.blp", "--slice", text)
                        self.assertEqual(
                            (head["shape"], head["fortran_order"], body),
                            ((len(rows[s]), *shape[1:]), False, b"".join(rows[s])),
                        )

    def test_cat_reads_boxes_larger_than_one_read(self):
        # Larger than one read, in both orders and directions. Some rows are larger than one read.
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
                        stride, position = 1, 0
                        for i, s in zip(
                            index if order == "F" else index[::-1],
                            shape if order == "F" else shape[::-1],
                        ):
                            position += i * stride
                            stride *= s
                        self.assertEqual(out[k], flat[position])

    def test_format_text_prints_numbers_that_parse_back(self):
        inf, nan = float("inf"), float("nan")
        for kind, values in [
            ("b1", [True, False]),
            ("i1", [-128, -1, 0, 127]),
            ("u1", [0, 255]),
            ("i2", [-32768, 32767]),
            ("u2", [65535]),
            ("i4", [-(2**31), 2**31 - 1]),
            ("u4", [2**32 - 1]),
            ("i8", [-(2**63), -(2**63) + 1, 2**63 - 1, -1]),
            ("u8", [2**64 - 1]),
            (
                "f2",
                [
                    0.0,
                    -0.0,
                    1.0,
                    0.5,
                    -2.75,
                    65504.0,
                    2**-24,
                    2**-14,
                    0.0999755859375,
                    inf,
                    -inf,
                    nan,
                ],
            ),
            (
                "f4",
                [0.0, 1.5, 0.1, 3.4028234663852886e38, 1e-45, 16777217.0, -1e10, inf, -inf, nan],
            ),
            (
                "f8",
                [
                    0.0,
                    -0.0,
                    0.1,
                    1 / 3,
                    5e-324,
                    1.7976931348623157e308,
                    123456789.123456789,
                    1e22,
                    2.5,
                    inf,
                    -inf,
                    nan,
                ],
            ),
        ]:
            for sign in "<>" if kind[1] != "1" else "|":
                code = ("<" if sign == "|" else sign) + "%d" % len(values) + self.KINDS[kind]
                self.array(
                    "a.blp",
                    struct.pack(code, *values),
                    sign + kind,
                    [len(values)],
                    "--typesize",
                    kind[1],
                )
                lines = self.good("cat", "a.blp", "--to", "text").decode().splitlines()
                if kind[0] == "f":
                    again = struct.pack(code, *map(float, lines))
                    self.assertEqual(again, self.good("cat", "a.blp"))
                else:
                    self.assertEqual(lines, [str(int(v)) for v in values])
        self.array("a.blp", struct.pack("<4d", 0.1, 2.0, 1e100, -3.25), "<f8", [4])
        self.assertEqual(self.good("cat", "a.blp", "--to=text"), b"0.1\n2\n1e+100\n-3.25\n")
        self.assertEqual(
            self.good("cat", "a.blp", "--to=text", "--slice", "::-2"), b"-3.25\n2\n"
        )
        # Chunks end inside an item.
        data = self.array(
            "a.blp", items(5000), "<u8", [5000], "--chunk-size", "999", "--typesize", "3"
        )
        self.assertEqual(
            [int(v) for v in self.good("cat", "a.blp", "--to=text").split()],
            list(struct.unpack("<5000Q", data)),
        )
        for dtype in ["<c16", "|S4", "<M8[ns]", "|V4", "<f16", [("a", "<i4"), ("b", "<f8")]]:
            size = (
                16
                if dtype in ("<c16", "<f16")
                else 8 if dtype == "<M8[ns]" else 4 if isinstance(dtype, str) else 12
            )
            self.array("a.blp", bytes(size * 3), dtype, [3])
            message, out = self.fails("cat", "a.blp", "--to", "text")
            self.assertEqual(out, b"")
            self.assertIn("--to text", message)
            head, _ = self.npy("a.blp")
            self.assertEqual((head["descr"], head["shape"]), (dtype, (3,)))

    def test_append_adds_rows_and_updates_the_shape(self):
        data = self.array("a.blp", items(12), "<u8", [2, 6])
        more = items(6 * 300_000)
        self.write("in", more)
        r = run("append", "a.blp", "in", cwd=self.folder.name)
        self.assertRegex(
            r.stderr.decode(),
            r"^a.blp: 14400000 bytes appended; now 14400096 bytes in 300002 rows, \d+ bytes on disk\n$",
        )
        self.assertEqual(
            (self.info("a.blp")["shape"], self.info("a.blp")["metadata"]["shape"]),
            ([300_002, 6], [300_002, 6]),
        )
        self.assertEqual(self.good("cat", "a.blp"), data + more)
        message, _ = self.fails("append", "a.blp", "-", stdin=more[:-8])
        self.assertIn("40 bytes", message)
        self.good("append", "-q", "a.blp", "-", stdin=b"")
        self.assertEqual(self.info("a.blp")["shape"], [300_002, 6])
        for shape, order in [([3, 4], "F"), ([], "C"), ([12, 0], "C")]:
            self.array(
                "a.blp",
                items(int(shape == [3, 4]) * 12 or int(shape == [])),
                "<u8",
                shape,
                order=order,
            )
            before = self.read("a.blp")
            self.fails("append", "a.blp", "-", stdin=items(12))
            self.assertEqual(self.read("a.blp"), before)
        self.array("a.blp", b"", "<u8", [0, 3])
        self.good("append", "-q", "a.blp", "-", stdin=items(9))
        self.assertEqual(
            (self.info("a.blp")["shape"], self.good("cat", "a.blp")), ([3, 3], items(9))
        )

    def test_corrupt_chunks_are_errors_or_zeros(self):
        data = self.array(
            "a.blp", items(40_000), "<u8", [200, 200], "--chunk-size", "16K", order="F"
        )
        whole = self.in_c_order(data, 8, [200, 200])
        self.flip("a.blp", os.path.getsize(self.path("a.blp")) - 600)
        self.fails("cat", "a.blp")
        message, out = self.fails("cat", "--skip-damaged", "a.blp")
        self.assertIn("a.blp", message)
        self.assertEqual(len(out), len(whole))
        self.assertNotEqual(out, whole)
        self.assertTrue(all(o in (w, 0) for o, w in zip(out, whole)))
        self.flip("a.blp", 5)
        self.fails("cat", "--skip-damaged", "a.blp", lines=2)
        self.array("a.blp", data, "<u8", [200, 200], "--chunk-size", "16K", order="F")
        self.flip("a.blp", 5)
        message, out = self.fails("cat", "--skip-damaged", "a.blp")
        self.assertEqual(out, whole)

    def header(self, descr, order, shape, version=1, encoding="latin-1"):
        text = f"{{'descr': {descr!r}, 'fortran_order': {order == 'F'}, 'shape': {shape!r}, }}\n".encode(
            encoding
        )
        return (
            b"\x93NUMPY"
            + bytes([version, 0])
            + struct.pack("<H" if version == 1 else "<I", len(text))
            + text
        )

    def test_pack_stores_npy_files_as_arrays(self):
        two = [("a", "<i4"), ("b", ">f8", (2,))]
        for descr, size, order, shape, version in [
            ("<f8", 8, "C", (4, 5), 1),
            ("<f8", 8, "F", (4, 5), 1),
            (">i2", 2, "C", (7,), 2),
            ("|b1", 1, "C", (), 1),
            ("<U3", 12, "F", (2, 3, 4), 3),
            (two, 20, "C", (3, 1), 1),
            ([("\u00e9", "<i4")], 4, "C", (3,), 1),
            ([("\u20ac", "<i4")], 4, "C", (3,), 3),
            ("<i4", 4, "C", (0, 3), 1),
            ("<i4", 4, "C", (3, 0), 1),
            ("|S300", 300, "F", (5, 2), 1),
            ("|V0", 0, "C", (5,), 1),
        ]:
            content = items(1000)[: size * int(np_count(shape))]
            self.write(
                "x.npy",
                self.header(descr, order, shape, version, "utf-8" if version == 3 else "latin-1")
                + content,
            )
            self.good("pack", "-q", "--force", "--no-sync", "x.npy", "x.blp")
            facts = self.info("x.blp")
            self.assertEqual(
                (facts["kind"], facts["shape"], facts["order"]), ("array", list(shape), order)
            )
            self.assertEqual(eval(facts["metadata"]["dtype"]), descr)
            self.assertEqual(
                (facts["typesize"], facts["nbytes"]), (size if 0 < size < 256 else 1, len(content))
            )
            self.assertEqual(self.good("unpack", "x.blp", "-"), content)
            self.good(
                "convert",
                "-q",
                "--force",
                "--chunk-size",
                "100",
                "--codec",
                "zlib",
                "x.blp",
                "y.blp",
            )
            now = self.info("y.blp")
            self.assertEqual(
                [now[k] for k in ("metadata", "order", "typesize")],
                [facts[k] for k in ("metadata", "order", "typesize")],
            )
            self.assertEqual(self.good("unpack", "y.blp", "-"), content)
        # Chunks end with a row. With --raw and from standard input, the file is plain bytes.
        whole = self.header("<f8", "C", (1000, 13)) + items(13000)
        self.write("x.npy", whole)
        self.good("pack", "-q", "--force", "--chunk-size", "1000", "x.npy", "x.blp")
        self.assertEqual(
            (self.info("x.blp")["chunk_size"], self.good("cat", "x.blp")), (936, items(13000))
        )
        self.good("pack", "-q", "--force", "--raw", "x.npy", "x.blp")
        self.assertEqual((self.info("x.blp")["kind"], self.good("cat", "x.blp")), ("schunk", whole))
        self.good("pack", "-q", "--force", "-", "x.blp", stdin=whole)
        self.assertEqual((self.info("x.blp")["kind"], self.good("cat", "x.blp")), ("schunk", whole))

    def test_append_adds_the_rows_of_npy_files(self):
        two = [("a", "<i4"), ("b", ">f8", (2,))]
        for descr, size, rest in [
            ("<f8", 8, ()),
            ("<i4", 4, (3,)),
            (two, 20, (2, 1)),
            ("|S300", 300, ()),
        ]:
            some, more = (
                items(1000)[: size * 4 * np_count(rest)],
                items(1000)[-size * 3 * np_count(rest) :],
            )
            self.write("x.npy", self.header(descr, "C", (4, *rest)) + some)
            self.write("y.npy", self.header(descr, "C", (3, *rest), 2) + more)
            self.write("0.npy", self.header(descr, "C", (0, *rest)))
            self.good("pack", "-q", "--force", "x.npy", "x.blp")
            self.good("append", "-q", "x.blp", "y.npy")
            self.good("append", "-q", "x.blp", "0.npy")
            self.assertEqual(
                (self.info("x.blp")["shape"], self.good("cat", "x.blp")), ([7, *rest], some + more)
            )
        # Other spellings of the type are equivalent.
        self.array("x.blp", items(4), "<u8", [4])
        for descr in ["'<u8'", '"<u8"', " '<u8' "]:
            head = self.header("<u8", "F", (2,)).replace(
                b"'descr': '<u8'", b"'descr': " + descr.encode()
            )
            self.write("y.npy", head[:8] + struct.pack("<H", len(head) - 10) + head[10:] + items(2))
            self.good("append", "-q", "x.blp", "y.npy")
        self.assertEqual(self.good("cat", "x.blp"), items(4) + 3 * items(2))
        # Rows of another type or shape, and files of another length.
        self.array("x.blp", items(12), "<u8", [2, 6])
        before = self.read("x.blp")
        for descr, order, shape, content, expected in [
            ("<f8", "C", (1, 6), items(6), "<f8"),
            (">u8", "C", (1, 6), items(6), ">u8"),
            ("<u8", "C", (6, 1), items(6), "(6, 1)"),
            ("<u8", "C", (6,), items(6), "(6,)"),
            ("<u8", "C", (), items(1), "()"),
            ("<u8", "F", (2, 6), items(12), "Fortran"),
            ("<u8", "C", (1, 6), items(5), "bytes"),
            ("<u8", "C", (1, 6), items(12), "bytes"),
            ("<u8", "C", (2**60, 6), items(12), "bytes"),
        ]:
            self.write("y.npy", self.header(descr, order, shape) + content)
            message, _ = self.fails("append", "x.blp", "y.npy")
            self.assertIn(expected, message)
            self.assertIn("y.npy", message)
            self.assertEqual(self.read("x.blp"), before)
        self.write("y.npy", items(12))
        self.assertIn("--raw", self.fails("append", "x.blp", "y.npy")[0])
        self.good("append", "-q", "--raw", "x.blp", "y.npy")
        self.assertEqual(
            (self.info("x.blp")["shape"], self.good("cat", "x.blp")), ([4, 6], items(12) * 2)
        )
        # A superchunk that is not an array takes bytes.
        self.blp("s.blp", b"some")
        self.good("append", "-q", "s.blp", "y.npy")
        self.assertEqual(self.good("cat", "s.blp"), b"some" + items(12))

    def test_sum_of_a_slice_equals_the_sum_of_its_bytes(self):
        data = items(5000)
        self.blp("s.blp", data + b"odd", "--chunk-size", "4K")
        self.array("c.blp", data, "<u8", [250, 20], "--chunk-size", "4K")
        self.array("f.blp", data, "<u8", [250, 20], "--chunk-size", "4K", order="F")
        for part in ["3:700", "::-7", ":", "10:20:3", "5:5", "100:3:-9"]:
            for name in ["s.blp", "c.blp", "f.blp"]:
                for kind in ["sha256", "md5"]:
                    out = self.good("sum", "--checksum", kind, f"--slice={part}", name).decode()
                    want = hashlib.new(kind, self.good("cat", f"--slice={part}", name)).hexdigest()
                    self.assertEqual(out, f"{want}  {name}\n", part)
        self.flip("c.blp", os.path.getsize(self.path("c.blp")) - 600)
        self.fails("sum", "--slice=::3", "c.blp")
        self.array("0.blp", items(1), "<u8", [])
        self.fails("sum", "--slice=:", "0.blp")

    def test_sum_covers_the_items_in_c_order(self):
        data = items(5000)
        self.array("f.blp", data, "<u8", [250, 20], "--chunk-size", "4K", order="F")
        c = self.array(
            "c.blp", self.in_c_order(data, 8, [250, 20]), "<u8", [250, 20], "--chunk-size", "16K"
        )
        self.blp("s.blp", c)
        for kind in ["sha256", "crc32"]:
            checksums = [
                self.good("sum", "--checksum", kind, *more, name).split()[0]
                for name, more in [
                    ("f.blp", []),
                    ("f.blp", ["--slice=:"]),
                    ("c.blp", []),
                    ("c.blp", ["--slice=:"]),
                    ("s.blp", []),
                ]
            ]
            self.assertEqual(len(set(checksums)), 1)
        self.assertEqual(checksums[0].decode(), "%08x" % zlib.crc32(c))
        self.flip("f.blp", os.path.getsize(self.path("f.blp")) - 600)
        self.assertIn("f.blp", self.fails("sum", "f.blp")[0])

    def test_invalid_npy_files_are_refused(self):
        head, content = self.header("<f8", "C", (4,)), items(4)
        for data in [
            b"",
            b"hello",
            head[:7],
            head[:30],
            head,
            head + content[:-1],
            head + content + b"x",
            head.replace(b"'descr'", b"'other'") + content,
            head.replace(b"False", b"Maybe") + content,
            head.replace(b"<f8", b"<q9") + content,
            head.replace(b"<f8", b"|O8") + content,
            head.replace(b"(4,)", b"(-4,)") + content,
            head.replace(b"(4,)", b"4") + content,
            head.replace(b"{", b"[") + content,
            head.replace(b"(4,)", b"(4611686018427387904,)") + content,
            head.replace(b"(4,)", b"(99999999999999999999,)") + content,
            self.header("<f8", "C", (1,) * 17) + items(1),
            head.replace(b"\1\0", b"\7\0", 1) + content,
            head.replace(b"'<f8'", b"open('x')") + content,
        ]:
            self.write("x.npy", data)
            self.fails("pack", "x.npy", "x.blp")
            self.assertEqual([n for n in self.files() if n.startswith("x.blp")], [], data)
        self.write("x.npy", head + content)
        self.write("m.json", b"{}")
        self.fails("pack", "x.npy", "x.blp", "--typesize", "8", code=2)
        self.fails("pack", "x.npy", "x.blp", "--metadata", "m.json", code=2)
        self.fails("pack", "x.npy", "x.blp", "--format-version", "2")


if __name__ == "__main__":
    unittest.main()
