#!/usr/bin/env python3
"""Tests of the command-line tool: stats, diff, tune and view. See tool.py."""

import json
import math
import os
import random
import statistics
import struct
import subprocess
import unittest
import xml.dom.minidom
import zlib

from tool import LONG, TOOL, Base, run, sample


def picture(data):
    """Returns the width, the height and the rows of bytes of a PNG file without filters of rows."""
    at, body = 8, b""
    width, height, depth, color = struct.unpack_from(">IIBB", data, 16)
    while at < len(data):
        (n,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            body += data[at + 8 : at + 8 + n]
        at += 12 + n
    raw, rows = zlib.decompress(body), []
    channels = {0: 1, 2: 3}[color]
    assert depth == 8
    line = width * channels
    previous = bytes(line)
    for y in range(height):
        kind, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1 : (y + 1) * (line + 1)])
        for x in range(line):
            left = row[x - channels] if x >= channels else 0
            up, corner = previous[x], previous[x - channels] if x >= channels else 0
            paeth = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row[x] = (row[x] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(row))
        previous = row
    return width, height, channels, rows


class Insight(Base):
    def array(self, name, dtype, values, shape=None, *flags):
        """Writes an array of items that `struct` packs."""
        code = {"<f8": "d", "<f4": "f", "<i8": "q", "<u8": "Q", "<i2": "h", "|u1": "B"}[dtype]
        self.write("raw", struct.pack("<%d%s" % (len(values), code), *values))
        shape = ",".join(map(str, shape or [len(values)]))
        self.good(
            "convert", "-q", "--force", "raw", name, "--from", "raw", "--dtype", dtype,
            "--shape", shape, *flags,
        )  # fmt: skip

    def table(self, name, text):
        self.write("rows.csv", text.encode())
        self.good("convert", "-q", "--force", "rows.csv", name, "--to", "bcolz")

    def stats(self, name, *flags):
        return json.loads(self.good("stats", "--json", name, *flags))

    def diff(self, *args, code):
        r = run("diff", *args, cwd=self.folder.name)
        self.assertEqual(r.returncode, code, (args, r.stdout, r.stderr))
        return r.stdout.decode()

    def limited(self, *args):
        """Runs the tool with 64 MB of memory, and returns its exit code and output."""
        command = 'ulimit -v 65536; exec "$0" "$@" --threads 1'
        r = subprocess.run(
            ["bash", "-c", command, TOOL, *args], cwd=self.folder.name, capture_output=True,
            timeout=LONG,
        )  # fmt: skip
        self.assertNotIn(b"memory allocation", r.stderr)
        return r.returncode, r.stdout


class Stats(Insight):
    def test_summaries_are_those_of_python(self):
        r = random.Random(1)
        values = [r.gauss(1e6, 3) for _ in range(20000)]
        self.array("a.b2nd", "<f8", values, [200, 100], "--chunks", "30,30")
        found = self.stats("a.b2nd")
        self.assertEqual((found["format"], found["kind"]), ("b2nd", "array"))
        self.assertEqual(found["shape"], [200, 100])
        (column,) = found["columns"]
        self.assertEqual((column["count"], column["nulls"]), (20000, 0))
        self.assertEqual((column["min"], column["max"]), (min(values), max(values)))
        self.assertAlmostEqual(column["mean"], math.fsum(values) / 20000, delta=1e-9)
        self.assertAlmostEqual(column["std"], statistics.pstdev(values), delta=1e-7)
        self.assertEqual(column["content_bytes"], 160000)
        self.assertEqual(column["ratio"], 160000 / column["stored_bytes"])

    def test_integers_are_exact(self):
        for dtype, values in [
            ("<u8", [2**64 - 1, 2**64 - 3, 2**64 - 2]),
            ("<i8", [-(2**63), 2**63 - 1, 7]),
        ]:
            self.array("a.b2nd", dtype, values)
            (column,) = self.stats("a.b2nd")["columns"]
            self.assertEqual((column["min"], column["max"]), (min(values), max(values)))
            self.assertEqual(column["mean"], sum(values) / len(values))

    def test_nan_is_null_and_infinity_is_a_value(self):
        self.array("a.b2nd", "<f8", [math.nan, 1.0, math.nan, 3.0])
        (column,) = self.stats("a.b2nd")["columns"]
        self.assertEqual([column[k] for k in ("count", "nulls", "min", "max")], [2, 2, 1.0, 3.0])
        self.assertEqual((column["mean"], column["std"]), (2.0, 1.0))
        self.array("a.b2nd", "<f4", [math.nan] * 3)
        (column,) = self.stats("a.b2nd")["columns"]
        self.assertEqual((column["nulls"], column["min"], column["mean"]), (3, None, None))
        self.array("a.b2nd", "<f8", [math.inf, 1.0])
        (column,) = self.stats("a.b2nd")["columns"]
        self.assertEqual((column["max"], column["mean"]), ("inf", "inf"))
        self.array("a.b2nd", "<f8", [math.inf] + [1.0] * 9000)
        (column,) = self.stats("a.b2nd")["columns"]
        self.assertEqual((column["min"], column["mean"]), (1.0, "inf"))
        self.array("a.b2nd", "<f8", [1e9, 1e9 + 1] * 5000)
        (column,) = self.stats("a.b2nd")["columns"]
        self.assertEqual((column["mean"], column["std"]), (1e9 + 0.5, 0.5))

    def test_arrays_without_items_and_with_one(self):
        self.write("raw", b"")
        self.good(
            "convert", "-q", "raw", "e.b2nd", "--from", "raw", "--dtype", "<f8", "--shape", "0,5"
        )
        (column,) = self.stats("e.b2nd")["columns"]
        self.assertEqual((column["count"], column["min"], column["std"]), (0, None, None))
        self.good("stats", "e.b2nd")
        self.array("o.b2nd", "<i2", [-5])
        (column,) = self.stats("o.b2nd")["columns"]
        self.assertEqual([column[k] for k in ("min", "max", "mean", "std")], [-5, -5, -5.0, 0.0])

    def test_columns_of_a_table(self):
        self.table("t.bcolz", "n,x,s\n1,0.5,b\n2,,\n5,2.5,abc\n")
        found = {column["name"]: column for column in self.stats("t.bcolz")["columns"]}
        self.assertEqual(list(found), ["n", "x", "s"])
        self.assertEqual((found["n"]["min"], found["n"]["max"], found["n"]["mean"]), (1, 5, 8 / 3))
        self.assertEqual([found["x"][k] for k in ("count", "nulls", "mean")], [2, 1, 1.5])
        self.assertEqual((found["s"]["count"], found["n"]["count"]), (2, 3))
        self.assertEqual((found["s"]["nulls"], found["s"]["min"], found["s"]["max"]), (1, "abc", "b"))
        self.assertEqual(
            [c["name"] for c in self.stats("t.bcolz", "--columns", "s,n")["columns"]], ["s", "n"]
        )
        lines = self.good("stats", "t.bcolz").decode().splitlines()
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[0], r"^t\.bcolz: bcolz table, 3 rows, 3 columns, .* \(ratio ")
        message, _ = self.fails("stats", "t.bcolz", "--columns", "nothing")
        self.assertIn("'nothing'", message)

    def test_lengths_of_records(self):
        records = [r.replace(b"\n", b"") for r in sample()]
        self.pack("a.bagz", records)
        self.pack("e.bagz", [])
        found = self.stats("a.bagz")
        (column,) = found["columns"]
        lengths = [len(record) for record in records]
        self.assertEqual((found["records"], column["content_bytes"]), (100, sum(lengths)))
        self.assertEqual((column["min"], column["max"]), (min(lengths), max(lengths)))
        self.assertAlmostEqual(column["mean"], statistics.mean(lengths))
        self.assertEqual(column["nulls"], lengths.count(0))
        self.assertEqual(column["count"], 100 - lengths.count(0))
        self.assertEqual(self.stats("e.bagz")["records"], 0)

    def test_damage_is_an_error(self):
        self.array("a.b2nd", "<f8", [math.sin(i) for i in range(10000)], None, "--chunks", "1000")
        self.flip("a.b2nd", 20000)
        message, _ = self.fails("stats", "a.b2nd")
        self.assertIn("a.b2nd", message)
        self.assertIn("chunk", message)

    def test_wrong_usage_and_closed_pipes(self):
        self.fails("stats", code=2)
        self.fails("stats", "--bogus", "x", code=2)
        self.fails("stats", "absent")
        self.table("t.bcolz", "n\n1\n")
        self.fails("stats", "t.bcolz", "--limits", "tail", code=2)
        r = subprocess.run(
            ["bash", "-c", '"$0" stats t.bcolz | true; exit ${PIPESTATUS[0]}', TOOL],
            cwd=self.folder.name, capture_output=True,
        )  # fmt: skip
        self.assertEqual((r.returncode, r.stderr), (0, b""))

    def test_memory_is_bounded(self):
        self.array("a.b2nd", "<u8", range(4_000_000), [4_000_000])
        code, out = self.limited("stats", "a.b2nd", "--json")
        self.assertEqual((code, json.loads(out)["columns"][0]["mean"]), (0, 1999999.5))
        self.assertEqual(self.limited("diff", "a.b2nd", "a.b2nd")[0], 0)
        self.assertEqual(self.limited("view", "a.b2nd")[0], 0)


class Diff(Insight):
    def test_the_same_content_is_equal_in_any_format(self):
        values = [math.sin(i) for i in range(600)]
        self.array("a.b2nd", "<f8", values, [20, 30], "--chunks", "7,8")
        self.good("convert", "-q", "a.b2nd", "b.bcolz", "--to", "bcolz")
        self.assertEqual(self.diff("a.b2nd", "b.bcolz", code=0), "")
        self.assertIn("format: b2nd and bcolz", self.diff("--encoding", "a.b2nd", "b.bcolz", code=1))
        self.assertEqual(self.diff("--encoding", "a.b2nd", "a.b2nd", code=0), "")
        records = self.pack("a.bagz", [b"one", b"", b"three"])
        self.pack("b.bag", records)
        self.assertEqual(self.diff("a.bagz", "b.bag", code=0), "")

    def test_the_first_differences_are_printed_in_c_order(self):
        values = [float(i) for i in range(600)]
        self.array("a.b2nd", "<f8", values, [20, 30], "--chunks", "7,8")
        changed = {35: -1.0, 3 * 30 + 29: math.nan, 599: 0.5}
        self.array(
            "b.b2nd", "<f8", [changed.get(i, v) for i, v in enumerate(values)], [20, 30],
            "--chunks", "20,3",
        )  # fmt: skip
        self.assertEqual(
            self.diff("a.b2nd", "b.b2nd", code=1).splitlines(),
            [
                "items: 3 of 600 differ",
                "  at 1,5: 35.0 and -1.0",
                "  at 3,29: 119.0 and null",
                "  at 19,29: 599.0 and 0.5",
            ],
        )
        found = json.loads(self.diff("--json", "a.b2nd", "b.b2nd", code=1))
        self.assertFalse(found["equal"])
        self.assertEqual((found["differences"][0]["count"], found["differences"][0]["of"]), (3, 600))
        self.assertEqual(self.diff("-q", "a.b2nd", "b.b2nd", code=1), "")
        self.assertTrue(json.loads(self.diff("--json", "a.b2nd", "a.b2nd", code=0))["equal"])

    def test_an_array_equals_the_superchunk_of_its_items(self):
        values = [float(i) for i in range(600)]
        self.array("a.b2nd", "<f8", values, [20, 30], "--chunks", "7,8")
        packed = struct.pack("<600d", *values)
        self.good("pack", "-q", "-", "a.blp", stdin=packed)
        for pair in (("a.b2nd", "a.blp"), ("a.blp", "a.b2nd")):
            self.assertEqual(self.diff(*pair, code=0), "")
        kinds = self.diff("--encoding", "a.b2nd", "a.blp", code=1).splitlines()
        self.assertEqual(kinds, ["kind: array and schunk"])
        self.good("pack", "-q", "-", "b.blp", stdin=packed[:4000] + b"!" + packed[4001:4796])
        self.assertEqual(
            self.diff("a.b2nd", "b.blp", code=1).splitlines(),
            ["bytes: 4800 and 4796", "content: 1 of 4796 differ", "  at 4000: 0 and 33"],
        )

    def test_orders_and_formats_of_arrays_do_not_matter(self):
        values = [float(i) for i in range(600)]
        self.array("c.b2nd", "<f8", values, [20, 30])
        columns = [values[30 * y + x] for x in range(30) for y in range(20)]
        self.array("f.b2nd", "<f8", columns, [20, 30], "--order", "F")
        self.good("convert", "-q", "c.b2nd", "c.blp")
        for name in ("f.b2nd", "c.blp"):
            self.assertEqual(self.diff("c.b2nd", name, code=0), "")
        self.table("t.bcolz", "n\n1\n")
        self.assertEqual(self.diff("c.blp", "t.bcolz", code=1), "kind: array and table\n")

    def test_nan_equals_nan(self):
        self.array("a.b2nd", "<f8", [math.nan, 1.0])
        self.assertEqual(self.diff("a.b2nd", "a.b2nd", code=0), "")

    def test_shapes_types_and_kinds_differ(self):
        self.array("a.b2nd", "<f8", [1.0] * 6, [2, 3])
        self.array("b.b2nd", "<f8", [1.0] * 6, [3, 2])
        self.array("c.b2nd", "<i8", [1] * 6, [2, 3])
        self.pack("d.bagz", [b"x"])
        self.assertEqual(self.diff("a.b2nd", "b.b2nd", code=1), "shape: [2,3] and [3,2]\n")
        self.assertEqual(self.diff("a.b2nd", "c.b2nd", code=1), "dtype: <f8 and <i8\n")
        self.assertEqual(self.diff("a.b2nd", "d.bagz", code=1), "kind: array and bag\n")

    def test_tables_differ_in_columns_rows_and_attributes(self):
        self.table("a.bcolz", "n,x\n1,0.5\n2,1.5\n")
        self.table("b.bcolz", "n,y\n1,0.5\n3,1.5\n4,2.5\n")
        self.good("attr", "set", "b.bcolz", "unit", '"m"')
        self.assertEqual(
            self.diff("a.bcolz", "b.bcolz", code=1).splitlines(),
            [
                "attribute unit: null and m",
                'columns: ["n","x"] and ["n","y"]',
                "rows: 2 and 3",
                "column n: items: 1 of 2 differ",
                "  at 1: 2 and 3",
            ],
        )

    def test_records_and_bytes_differ(self):
        self.pack("a.bagz", [b"one", b"two", b"three"])
        self.pack("b.bagz", [b"one", b"tvo", b"three", b"four"])
        self.assertEqual(
            self.diff("a.bagz", "b.bagz", code=1).splitlines(),
            ["records: 3 and 4", "content of records: 1 of 3 differ", "  at 1: two and tvo"],
        )
        for name, data in [("a.blp", b"x" * 5000), ("b.blp", b"x" * 4999 + b"y")]:
            self.good("pack", "-q", "--typesize", "1", "-", name, stdin=data)
        self.assertEqual(
            self.diff("a.blp", "b.blp", code=1).splitlines(),
            ["content: 1 of 5000 differ", "  at 4999: 120 and 121"],
        )

    def test_trouble_is_exit_code_2(self):
        self.pack("a.bagz", [b"one"])
        self.fails("diff", "a.bagz", "absent", code=2)
        self.fails("diff", "a.bagz", code=2)
        self.fails("diff", "--bogus", "a.bagz", "a.bagz", code=2)
        values = [math.sin(i) for i in range(10000)]
        self.array("a.b2nd", "<f8", values, None, "--chunks", "1000")
        self.array("b.b2nd", "<f8", values, None, "--chunks", "1000")
        self.flip("b.b2nd", 20000)
        message, _ = self.fails("diff", "a.b2nd", "b.b2nd", code=2)
        self.assertIn("b.b2nd", message)
        self.assertIn("chunk", message)

    def test_empty_containers_are_equal(self):
        self.pack("a.bagz", [])
        self.pack("b.bagz", [])
        self.assertEqual(self.diff("a.bagz", "b.bagz", code=0), "")


class Tune(Insight):
    def test_options_are_recommended_that_convert_takes(self):
        self.array("a.b2nd", "<i2", [i % 1000 for i in range(200_000)], [200, 1000])
        found = json.loads(self.good("tune", "--json", "--seconds", "3", "a.b2nd"))
        self.assertEqual(found["sample_bytes"], 400_000)
        trials = found["trials"]
        best = [trial for trial in trials if trial["pareto"]]
        self.assertTrue(best)
        self.assertIn(found["recommended"], [trial["options"] for trial in best])
        sizes = [trial["size"] for trial in trials]
        self.assertEqual(sizes, sorted(sizes))
        self.good("convert", "-q", "a.b2nd", "c.b2nd", *found["recommended"].split())
        self.assertEqual(self.diff("a.b2nd", "c.b2nd", code=0), "")

    def test_goals_and_plots(self):
        self.write("raw", bytes(range(256)) * 2000)
        out = self.good(
            "tune", "raw", "--typesize", "4", "--seconds", "2", "--goal", "size", "--plot", "p.svg"
        ).decode()
        self.assertIn("recommended (size): --codec ", out)
        self.assertTrue(out.splitlines()[2].startswith("*"))
        svg = xml.dom.minidom.parseString(self.read("p.svg"))
        self.assertEqual(svg.documentElement.tagName, "svg")
        texts = svg.getElementsByTagName("text")
        texts = [text.firstChild.data.strip() for text in texts if text.firstChild]
        self.assertIn("write, MB/s", texts)
        self.assertIn("read, MB/s", texts)
        message, _ = self.fails("tune", "raw", "--seconds", "0.5", "--plot", "p.svg")
        self.assertIn("--force", message)

    def test_bags_tables_and_npy_files(self):
        self.pack("a.bagz", [b"record %d" % i for i in range(3000)])
        found = json.loads(self.good("tune", "--json", "--seconds", "2", "a.bagz"))
        self.assertTrue(any("zstd" in trial["options"] for trial in found["trials"]))
        self.table("t.bcolz", "n,x\n" + "".join(f"{i},{i}.5\n" for i in range(2000)))
        self.good("tune", "--seconds", "1", "t.bcolz", "--column", "n")
        self.array("a.b2nd", "<f8", [float(i) for i in range(6000)], [60, 100])
        self.good("convert", "-q", "a.b2nd", "a.npy")
        found = json.loads(self.good("tune", "--json", "--seconds", "2", "a.npy"))
        self.assertEqual(found["sample_bytes"], 48000)

    def test_wrong_usage_and_empty_input(self):
        self.write("empty", b"")
        self.fails("tune", "empty")
        self.fails("tune", "absent")
        self.write("raw", b"x" * 1000)
        self.fails("tune", "raw", "--seconds", "0", code=2)
        self.fails("tune", "raw", "--goal", "beauty", code=2)
        self.fails("tune", "raw", "--dtype", "<z9", code=2)
        self.assertEqual(sorted(self.files()), ["empty", "raw"])


class View(Insight):
    def test_a_plane_becomes_a_picture_of_grays(self):
        values = [100 * y + x for z in range(3) for y in range(100) for x in range(300)]
        values[30000:60000] = [x for y in range(100) for x in range(300)]
        self.array("a.b2nd", "<i2", values, [3, 100, 300])
        self.good("view", "a.b2nd", "-o", "p.png", "-q")
        width, height, channels, rows = picture(self.read("p.png"))
        self.assertEqual((width, height, channels), (300, 100, 1))
        # percentiles 2 and 98 are black and white, and each column has its gray
        self.assertEqual(set(rows), {rows[0]})
        self.assertEqual((rows[0][0], rows[0][5], rows[0][294], rows[0][299]), (0, 0, 255, 255))
        self.assertAlmostEqual(rows[0][150], 128, delta=2)
        self.fails("view", "a.b2nd", "-o", "p.png")
        self.good("view", "a.b2nd", "-o", "p.png", "--force", "-q", "--slice", "0,:,:", "--width", "75")
        width, height, _, rows = picture(self.read("p.png"))
        self.assertEqual((width, height), (75 * 3, 25 * 3))
        self.assertLess(rows[0][0], rows[-1][0])

    def test_nan_is_marked(self):
        self.array("a.b2nd", "<f8", [math.nan, 1.0, 2.0, 3.0], [2, 2])
        self.good("view", "a.b2nd", "-o", "p.png", "-q")
        width, _, channels, rows = picture(self.read("p.png"))
        self.assertEqual((width, channels), (256, 3))
        self.assertEqual(tuple(rows[0][:3]), (214, 60, 60))
        self.assertIn("?", self.good("view", "a.b2nd").decode().splitlines()[0])

    def test_planes_are_printed_without_colors_to_a_pipe(self):
        self.array("a.b2nd", "<f8", [float(i) for i in range(1600)], [40, 40])
        out = self.good("view", "a.b2nd", "--width", "20")
        self.assertNotIn(b"\x1b", out)
        lines = out.decode().splitlines()
        self.assertEqual(len(lines), 11)
        self.assertEqual((lines[0].strip(), lines[9][0]), ("", "@"))

    def test_histograms_count_all_values(self):
        self.table("t.bcolz", "s,n\n" + "".join(f"a,{i % 4}\n" for i in range(101)))
        lines = self.good("view", "t.bcolz").decode().splitlines()
        self.assertEqual(lines[0], "n: 101 values, 0 without a value")
        self.assertEqual([line.split()[:2] for line in lines[1:]],
                         [["0", "26"], ["1", "25"], ["2", "25"], ["3", "25"]])  # fmt: skip
        self.good("view", "t.bcolz", "--column", "n", "-o", "h.svg")
        xml.dom.minidom.parseString(self.read("h.svg"))
        message, _ = self.fails("view", "t.bcolz", "--column", "s")
        self.assertIn("no numbers", message)
        self.array("a.b2nd", "<f8", [math.nan, math.inf, 1.0])
        self.assertIn("1 values, 2 without", self.good("view", "a.b2nd").decode())

    def test_nothing_and_one_item_can_be_viewed(self):
        self.write("raw", b"")
        for shape in ["0", "0,4"]:
            self.good(
                "convert", "-q", "--force", "raw", "e.b2nd", "--from", "raw", "--dtype", "<f8",
                "--shape", shape,
            )  # fmt: skip
            r = run("view", "e.b2nd", cwd=self.folder.name)
            self.assertIn(r.returncode, (0, 1))
        self.array("o.b2nd", "<i2", [7], [1, 1])
        self.good("view", "o.b2nd")
        self.good("view", "o.b2nd", "-o", "o.png", "-q")

    def test_wrong_usage(self):
        self.array("a.b2nd", "<i2", [7] * 6, [2, 3])
        self.fails("view", "a.b2nd", "--slice", "0,0,0", code=2)
        message, _ = self.fails("view", "a.b2nd", "--slice", "9,:", code=2)
        self.assertIn("a.b2nd: --slice: 9 ", message)
        self.fails("view", "a.b2nd", "-o", "x.gif", code=2)
        self.fails("view", "a.b2nd", "--width", "1", code=2)
        self.pack("a.bagz", [b"x"])
        self.fails("view", "a.bagz")
        self.assertNotIn("x.gif", os.listdir(self.folder.name))


if __name__ == "__main__":
    unittest.main()
