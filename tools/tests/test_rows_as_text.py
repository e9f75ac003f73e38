#!/usr/bin/env python3
"""Tests of the command-line tool: rows as CSV and JSON lines, in both directions.

HOLDALL_DATA is a folder with nyc-flights-2013.csv.zip; without it the test of
this table is skipped. See tool.py.
"""

import csv
import gzip
import io
import json
import math
import os
import random
import struct
import unittest
import zipfile

from tables import Tables, npy, npy_file

HERE = os.path.dirname(os.path.abspath(__file__))
WEATHER = os.path.join(HERE, "..", "..", "examples", "data", "nyc-weather-2013.csv")
DATA = os.environ.get("HOLDALL_DATA") or os.path.join(HERE, "..", "..", "..", "shared", "data")
FLIGHTS = os.path.join(DATA, "nyc-flights-2013.csv.zip")


class Values(Tables):
    """Printed values parse back to equal values."""

    def array(self, dtype, data, count, *row):
        self.write("a.npy", npy_file(dtype, (count, *row), data))
        self.good("convert", "-q", "--force", "a.npy", "a", "--to", "bcolz")
        head, *lines = self.good("cat", "--to", "csv", "a").decode().splitlines()
        self.assertEqual(head, ",".join(f"f{i}" for i in range(row[0] if row else 1)))
        return lines

    def test_floating_point_numbers_survive_text(self):
        r = random.Random(1)
        values = [
            0.0,
            -0.0,
            1.0,
            0.1,
            -2.5,
            1e22,
            5e-324,
            1.7976931348623157e308,
            123456789.125,
            1 / 3,
            2.0**53 + 2,
            0.3,
            1e15,
            12345.6789,
        ]
        values += [struct.unpack("<d", r.randbytes(8))[0] for _ in range(2000)]
        values += [round(r.uniform(-1e6, 1e6), r.randint(0, 6)) for _ in range(2000)]
        values = [v for v in values if math.isfinite(v)]
        lines = self.array("<f8", struct.pack(f"<{len(values)}d", *values), len(values))
        self.assertEqual(
            [struct.pack("<d", float(x)) for x in lines], [struct.pack("<d", v) for v in values]
        )
        # No text is longer than that of Python.
        for text, value in zip(lines, values):
            self.assertLessEqual(
                len(text.replace("e+", "e").lstrip("-")), len(repr(value).lstrip("-")) + 1, text
            )
            self.assertTrue("." in text or "e" in text, text)
        self.assertEqual(
            [json.loads(x) for x in self.good("cat", "--to", "jsonl", "a").splitlines()], values
        )

    def test_nan_and_infinity_are_spelled_out(self):
        data = struct.pack("<3d", math.nan, math.inf, -math.inf)
        self.assertEqual(self.array("<f8", data, 3), ["NaN", "inf", "-inf"])
        self.assertEqual(
            self.good("cat", "--to", "jsonl", "a"), b'null\n"Infinity"\n"-Infinity"\n'
        )

    def test_narrow_and_big_endian_types_are_printed(self):
        self.assertEqual(
            self.array("<f4", struct.pack("<3f", 0.1, 16777216, 3e38), 3),
            ["0.1", "16777216.0", "3e+38"],
        )
        self.assertEqual(
            self.array("<f2", struct.pack("<3e", 0.1, 65504, 6e-8), 3), ["0.1", "6.55e+04", "6e-08"]
        )
        self.assertEqual(
            self.array(">i2", struct.pack(">3h", -1, 32767, -32768), 3), ["-1", "32767", "-32768"]
        )
        self.assertEqual(
            self.array("<u8", struct.pack("<2Q", 0, 2**64 - 1), 2), ["0", str(2**64 - 1)]
        )
        self.assertEqual(
            self.array("<i8", struct.pack("<2q", -(2**63), 2**63 - 1), 2),
            [str(-(2**63)), str(2**63 - 1)],
        )
        self.assertEqual(self.array("|b1", b"\0\1", 2), ["false", "true"])

    def test_times_are_printed_and_parsed(self):
        self.assertEqual(
            self.array("<M8[ns]", struct.pack("<3q", 0, -1, -(2**63)), 3),
            ["1970-01-01T00:00:00.000000000", "1969-12-31T23:59:59.999999999", "NaT"],
        )
        self.assertEqual(self.good("cat", "--to", "jsonl", "--rows=-1", "a"), b"null\n")
        self.assertEqual(
            self.array("<M8[s]", struct.pack("<2q", 951782400, -62135596800), 2),
            ["2000-02-29T00:00:00", "0001-01-01T00:00:00"],
        )
        self.assertEqual(
            self.array("<M8[D]", struct.pack("<4q", 11016, -1, -719529, 2932896), 4),
            ["2000-02-29", "1969-12-31", "-0001-12-31", "9999-12-31"],
        )
        self.assertEqual(
            self.array("<M8[M]", struct.pack("<2q", -1, 500), 2), ["1969-12", "2011-09"]
        )
        self.assertEqual(self.array("<M8[Y]", struct.pack("<q", 43), 1), ["2013"])
        self.assertEqual(
            self.array("<M8[s]", struct.pack("<2q", 1 << 62, 1 - (1 << 63)), 2),
            ["146138514283-06-19T07:45:04", "-292277022657-01-27T08:29:53"],
        )
        self.assertEqual(
            self.array("<M8[D]", struct.pack("<2q", 10**9, 1 << 62), 2),
            ["2739877-01-03", "12626367463885247-04-15"],
        )
        self.assertEqual(
            self.array("<M8[25us]", struct.pack("<q", 1), 1), ["1970-01-01T00:00:00.000025"]
        )

    def test_days_equal_those_of_python(self):
        import datetime

        r = random.Random(2)
        days = [r.randint(-719162, 2932896) for _ in range(3000)]
        want = [(datetime.date(1970, 1, 1) + datetime.timedelta(d)).isoformat() for d in days]
        self.assertEqual(
            self.array("<M8[D]", struct.pack(f"<{len(days)}q", *days), len(days)), want
        )
        # The reverse direction.
        self.convert(b"d\n" + "\n".join(want).encode(), "t", "--dtypes", "d=M8[D]")
        self.assertEqual(struct.unpack(f"<{len(days)}q", self.good("cat", "t/d")), tuple(days))

    def test_strings_survive_text(self):
        texts = [b"plain", b'say "x"', b"a,b", "\u00e9\u6f22".encode(), b"line\nbreak", b""]
        self.array("|S16", b"".join(t.ljust(16, b"\0") for t in texts), len(texts))
        self.assertEqual(
            [
                r[0]
                for r in csv.reader(
                    io.StringIO(self.good("cat", "--to", "csv", "a").decode(), newline="")
                )
            ],
            ["f0", *(t.decode() for t in texts)],
        )
        self.assertEqual(
            [json.loads(x) for x in self.good("cat", "--to", "jsonl", "a").splitlines()],
            [t.decode() for t in texts],
        )
        # Bytes that are not UTF-8.
        self.assertEqual(
            self.array("|S4", b"a\xff\xc3(" + b"\xe9\0\0\0", 2), ["a\\xff\\xc3(", "\\xe9"]
        )
        self.assertEqual(
            json.loads(self.good("cat", "--to", "jsonl", "--rows", "0", "a")), "a\\xff\\xc3("
        )
        for name in ("o.csv", "o.jsonl"):  # Not lossless, so refused.
            self.assertIn(
                "a: row 0: it has a string that is no UTF-8", self.fails("convert", "a", name)[0]
            )
        self.array("<U2", struct.pack("<4I", 0x41, 0, 0xD800, 0), 2)
        self.assertIn(
            "a: row 1: it has a string that is no UTF-8", self.fails("convert", "a", "o.csv")[0]
        )
        self.assertEqual(self.files(), ["a", "a.npy"])
        self.assertEqual(
            self.array("<U2", struct.pack("<4I", 0x6F22, 0, 0x1F600, 0x41), 2),
            ["\u6f22", "\U0001f600A"],
        )

    def test_rows_with_dimensions_are_lists(self):
        self.assertEqual(self.array("<i4", struct.pack("<4i", 1, 2, 3, 4), 2, 2), ["1,2", "3,4"])
        self.assertEqual(self.good("cat", "--to", "jsonl", "a"), b"[1,2]\n[3,4]\n")
        self.assertEqual(
            self.array("<i4", struct.pack("<4i", 1, 2, 3, 4), 1, 2, 2), ['"[1,2]","[3,4]"']
        )

    def test_structured_items_are_objects(self):
        self.write(
            "a.npy",
            npy_file([("a", "<i2"), ("b", "<f4", (2,))], (1, 1), struct.pack("<hff", 7, 0.5, -1)),
        )
        self.good("convert", "-q", "a.npy", "a.blp")
        self.assertEqual(
            json.loads(self.good("cat", "--to", "jsonl", "a.blp")), [{"a": 7, "b": [0.5, -1.0]}]
        )


class FromText(Tables):
    """CSV and JSON lines become tables."""

    def types(self, *values):
        return self.convert(b"c\n" + b"\n".join(values) + b"\n", "t", "--force")["c"]

    def test_types_are_detected(self):
        self.assertEqual(self.types(b"1", b"-2", b"9223372036854775807"), "<i8")
        self.assertEqual(self.types(b"1", b"NA"), "<f8")
        self.assertEqual(self.types(b"1", b"nan", b"1.5"), "<f8")
        self.assertEqual(self.types(b"1", b"18446744073709551615"), "<u8")
        self.assertEqual(self.types(b"1e5", b".5", b"-inf"), "<f8")
        self.assertEqual(self.types(b"true", b"False"), "|b1")
        self.assertEqual(self.types(b"ann", b"NA", b"robert"), "|S6")
        self.assertEqual(self.types("\u00e9t\u00e9s".encode(), b"a"), "<U4")
        self.assertEqual(self.types(b"NA", b"NA"), "<f8")

    def test_nothing_is_rounded_or_mixed(self):
        self.assertEqual(self.types(b"9007199254740993", b"NA"), "|S16")
        self.assertEqual(self.types(b"9007199254740993", b"0.5"), "|S16")
        self.assertEqual(self.types(b"18446744073709551616"), "|S20")
        self.assertEqual(self.types(b"-1", b"18446744073709551615"), "|S20")
        self.assertEqual(self.types(b"true", b"NA"), "|S4")
        self.assertEqual(self.types(b"true", b"1"), "|S4")
        self.assertEqual(self.types(b"007"), "|S3")
        self.assertEqual(self.types(b"0x10"), "|S4")
        self.assertEqual(self.types(b"1 2"), "|S3")
        self.assertEqual(self.rows("t")[1:], [["1 2"]])

    def test_quotes_are_parsed(self):
        self.convert(b'\xef\xbb\xbfa,"b ""x"""\r\n"1\n2",\r\n"say ""hi""","3"\r\n\r\n,4')
        self.assertEqual(
            self.rows("t"), [["a", 'b "x"'], ["1\n2", "NaN"], ['say "hi"', "3.0"], ["", "4.0"]]
        )

    def test_a_carriage_return_is_part_of_a_field(self):
        self.convert(b"a\n\rx\n2\r")
        self.assertEqual(
            self.good("cat", "t", "--to", "jsonl"), b'{"a":"\\rx"}\n{"a":"2\\r"}\n'
        )

    def test_declared_types_take_precedence(self):
        types = self.convert(
            b'a,b,c,d,e\n1,x,2013-01-01T05:00:00Z,"[1,2]",0\n2,,NA,"[3, 4.5]",1\n',
            "t",
            "--dtypes",
            "a=<i2,b=U3,c=M8[s],d=('<f4', (2,)),e=?",
        )
        self.assertEqual(types, {"a": "<i2", "b": "<U3", "c": "<M8[s]", "d": "<f4", "e": "|b1"})
        self.assertEqual(
            self.objects("t"),
            [
                {"a": 1, "b": "x", "c": "2013-01-01T05:00:00", "d": [1.0, 2.0], "e": False},
                {"a": 2, "b": "", "c": None, "d": [3.0, 4.5], "e": True},
            ],
        )
        self.assertEqual([c["shape"] for c in self.info("t")["columns"]][3], [2, 2])

    def test_lines_of_json_become_tables(self):
        types = self.convert(
            b'{"a": 1, "s": "x\\u00e9\\ud83d\\ude00"}\n\n{"s": null, "b": true, "a": 2.5}\n',
            source="in.jsonl",
        )
        self.assertEqual(types, {"a": "<f8", "s": "<U3", "b": "|S4"})
        self.assertEqual(
            self.objects("t"),
            [{"a": 1.0, "s": "x\u00e9\U0001f600", "b": ""}, {"a": 2.5, "s": "", "b": "true"}],
        )
        self.convert(
            b'{"v":[1,2],"o":{"x":1,"y":[2,3]}}\n{"o":{"y":[5,6],"x":4},"v":[3,"NaN"]}',
            "u",
            "--dtypes",
            "v=('<f8',(2,)),o=[('x','<i4'),('y','<i2',(2,))]",
            source="in.jsonl",
        )
        self.assertEqual(
            self.objects("u"),
            [
                {"v": [1.0, 2.0], "o": {"x": 1, "y": [2, 3]}},
                {"v": [3.0, None], "o": {"x": 4, "y": [5, 6]}},
            ],
        )

    def test_lines_of_values_become_arrays(self):
        """Lines with JSON values become an array, as does CSV with one type for all columns."""
        for text, flags, want in [
            (b"[1,2]\n[3,null]\n", [], ("<f8", (2, 2))),
            (b'[["a"],["bc"]]\n', [], ("|S2", (1, 2, 1))),
            (b"1\n\n2", [], ("<i8", (2,))),
            (b"[]\n[]\n", [], ("<f8", (2, 0))),
            (b"[1,2]\n", ["--dtypes", "<c8"], ("<c8", (1,))),
            (b"", ["--dtypes", "('<i2',(3,))"], ("<i2", (0, 3))),
            (b"[[1],[2]]\n", ["--dtypes", "('<i2', (2, 1))"], ("<i2", (1, 2, 1))),
            (b'{"a":7}\n', ["--dtypes", "[('a', '<i2')]"], ([("a", "<i2")], (1,))),
        ]:
            self.write("in.jsonl", text)
            header, _ = npy(self.good("convert", "-q", *flags, "in.jsonl", "-", "--to", "npy"))
            self.assertEqual((header["descr"], header["shape"]), want, text)
        self.write("in.csv", b"f0,f1\n1,2\n3,4\n")
        header, data = npy(
            self.good("convert", "-q", "--dtypes", "('<i2',(2,))", "in.csv", "-", "--to", "npy")
        )
        self.assertEqual(
            (header["descr"], header["shape"], data),
            ("<i2", (2, 2), struct.pack("<4h", 1, 2, 3, 4)),
        )
        self.assertEqual(
            self.convert(
                b'{"a":[1,2],"b":[[0.5]]}\n{"b":[[1]],"a":[3,4]}\n', "t", source="in.jsonl"
            ),
            {"a": "<i8", "b": "<f8"},
        )
        self.assertEqual(
            self.objects("t"), [{"a": [1, 2], "b": [[0.5]]}, {"a": [3, 4], "b": [[1.0]]}]
        )

    def test_invalid_text_is_refused(self):
        for text, expected, flags in [
            (b"", "names of the columns", []),
            (b"a,a\n1,2\n", "two columns are called 'a'", []),
            (b"a,b\n1,2\n3\n", "line 3: 1 field, and there are 2", []),
            (b'a,b\n1,"2\n', "line 2: a quote is not closed", []),
            (b'a,b\n1,"2"x\n', "line 2: there is text after", []),
            (b'a\n1\n"x\ny"\n1,2\n', "line 5: 2 fields", []),
            (
                b"a,b\n1,2\n1,x\n",
                "line 3, column 'b': \"x\" is no whole number",
                ["--dtypes", "b=i4"],
            ),
            (b"a\n300\n", "line 2, column 'a': \"300\" is too large", ["--dtypes", "a=u1"]),
            (b"a\n-1\n", "negative", ["--dtypes", "a=u1"]),
            (b"a\nabc\n", '"abc" is too long', ["--dtypes", "a=S2"]),
            (b"a\n1e39\n", "too large", ["--dtypes", "a=f4"]),
            (b"a\n2013-02-29\n", "no time", ["--dtypes", "a=M8[D]"]),
            (b"a\n2013-02-28T10\n", "no time", ["--dtypes", "a=M8[D]"]),
            (b"a\n\xff\n", "not UTF-8", ["--dtypes", "a=U2"]),
            (b"a\n1\n", "no column 'b'", ["--dtypes", "b=i4"]),
            (b"a\n1\n", "not COLUMN=DTYPE", ["--dtypes", "i4,a=i4"]),
            (b"a\n1\n", "line 1: 'a' is not 'f0'", ["--dtypes", "i4"]),
            (b"1,2\n3,4\n", "line 1: '1' is not 'f0'", ["--dtypes", "('<i4',(2,))"]),
            (b"f0\n1\n", "line 1: 1 field, and there are 2", ["--dtypes", "('<i4',(2,))"]),
            (b"f0,f1\n1\n", "line 2: 1 field, and there are 2", ["--dtypes", "('<i4',(2,))"]),
            (b"f0\n1\n", "do not become items of 'nonsense'", ["--dtypes", "nonsense"]),
            (b"f0\n1.5\n", 'line 2: "1.5" is no whole number', ["--dtypes", "i4"]),
            (b"a\n1\n", "do not become items of 'nonsense'", ["--dtypes", "a=nonsense"]),
            (b"a\n1\n", "do not become items of 'O'", ["--dtypes", "a=O"]),
            (b'a\n"[1]"\n', "not as many items", ["--dtypes", "a=('<f8',(2,))"]),
            (b"a\n[1\n", "no JSON", ["--dtypes", "a=('<f8',(2,))"]),
            (b"a/b\n1\n", "a/b", []),
        ]:
            self.write("in.csv", text)
            self.assertIn(expected, self.fails("convert", "in.csv", "t", *flags)[0], text)
            self.assertEqual(self.files(), ["in.csv"])
        os.remove(self.path("in.csv"))
        for text, expected in [
            (b"", "no line with a JSON object"),
            (b"x\n", "line 1: it is no JSON value"),
            (b'{"a":1}\n{"a":}\n', "line 2"),
            (b'{"a":1}\n[1]\n', "line 2: it is no JSON object"),
            (b'[1]\n{"a":1}\n', "line 2: lists of"),
            (b"[1]\n2\n", "line 2: lists of"),
            (b"[[1,2],[3]]\n", "line 1: lists of"),
            (b"[1]\n[]\n", "line 2: lists of"),
            (b'{"a":[1]}\n{"a":[{}]}\n', "line 2, column 'a': lists of"),
            (b'{"a":[1]}\n{"b":1}\n', "line 2, column 'a'"),
            (b'{"a":1}\n{"a":[1]}\n', "line 2, column 'a': lists of"),
            (b'{"a":"\xff"}\n', "line 1"),
            (b'{"a":"\\ud800"}\n', "half of a surrogate pair"),
        ]:
            self.write("in.jsonl", text)
            self.assertIn(expected, self.fails("convert", "in.jsonl", "t")[0], text)
            self.assertEqual(self.files(), ["in.jsonl"])
        self.assertIn(
            "standard input: there is no line",
            self.fails("convert", "-", "t", "--from", "csv")[0],
        )
        self.assertIn("truncated", self.fails("convert", "-", "t")[0])
        self.fails("convert", "in.jsonl", "t", "--from", "raw", code=2)

    def test_times_become_datetime64_on_request(self):
        text = (
            b"d,s,z,f,mixed,no\n"
            b"2012-02-29,2013-01-01T05:00:00,2013-01-01T05:00:00Z,2013-01-01 05:00:00.5,2013-01-01,1\n"
            b",NA,2013-01-01T06:00:00Z,2013-01-01 05:00:00.25,2013-01-01T05:00:00,2013-02-29\n"
        )
        self.assertEqual(set(t[:2] for t in self.convert(text).values()), {"|S"})
        self.assertEqual(
            self.convert(text, "t", "--times", "--force"),
            {
                "d": "<M8[D]",
                "s": "<M8[s]",
                "z": "<M8[s]",
                "f": "<M8[ms]",
                "mixed": "|S19",
                "no": "|S10",
            },
        )
        self.assertEqual(
            self.objects("t")[1],
            {
                "d": None,
                "s": None,
                "z": "2013-01-01T06:00:00",
                "f": "2013-01-01T05:00:00.250",
                "mixed": "2013-01-01T05:00:00",
                "no": "2013-02-29",
            },
        )
        types = self.convert(text, "t", "--times", "--force", "--dtypes", "d=S10")
        self.assertEqual((types["d"], types["s"]), ("|S10", "<M8[s]"))

    def test_fields_are_separated_by_other_characters(self):
        text = b'a;b,c;"x;y"\n1;2;3\n'
        self.convert(text, "t", "--delimiter", ";")
        self.assertEqual(self.rows("t"), [["a", "b,c", "x;y"], ["1", "2", "3"]])
        self.assertEqual(
            self.good("convert", "-q", "t", "-", "--to", "csv", "--delimiter", ";"),
            b'a;"b,c";"x;y"\n1;2;3\n',
        )
        self.assertEqual(self.good("cat", "t", "--delimiter", ";"), b'a;"b,c";"x;y"\n1;2;3\n')
        self.assertEqual(self.good("head", "t", "--delimiter", ";", "-n", "0"), b'a;"b,c";"x;y"\n')
        self.fails("cat", "t", "--to", "jsonl", "--delimiter", ";", code=2)
        self.convert(b"a\tb\n1\tx y\n", "u", "--delimiter", "\\t")
        self.assertEqual(self.rows("u"), [["a", "b"], ["1", "x y"]])
        for wrong in ("", "ab", '"', "1", "."):
            self.fails("convert", "in.csv", "o", "--delimiter", wrong, code=2)
        self.fails("convert", "t", "o.bcolz", "--delimiter", ";", code=2)

    def test_the_line_of_names_may_be_missing(self):
        self.convert(b"1,x\n2,y\n", "t", "--no-header")
        self.assertEqual(self.rows("t"), [["f0", "f1"], ["1", "x"], ["2", "y"]])
        self.assertEqual(
            self.good("convert", "-q", "t", "-", "--to", "csv", "--no-header"), b"1,x\n2,y\n"
        )
        self.good("append", "-q", "t", "in.csv", "--no-header")
        self.assertEqual(self.info("t")["rows"], 4)
        self.write("in.csv", b"1,2\n3,4\n")
        self.good("convert", "-q", "in.csv", "a", "--no-header", "--dtypes", "('<i2',(2,))")
        self.assertEqual(self.good("cat", "a", "--to", "csv"), b"f0,f1\n1,2\n3,4\n")

    def test_compressed_text_is_read_and_written(self):
        self.convert(self.SMALL)
        plain = self.good("cat", "t")
        for name in ("o.csv.gz", "o.csv.zst", "o.jsonl.gz", "o.jsonl.zst"):
            self.good("convert", "-q", "t", name)
            data = self.read(name)
            self.assertTrue(data.startswith(b"\x1f\x8b" if name[-1] == "z" else b"\x28\xb5\x2f\xfd"))
            if name.endswith("csv.gz"):
                self.assertEqual(gzip.decompress(data), plain)
            self.good("convert", "-q", name, "u", "--force")
            self.assertEqual(self.good("cat", "u"), plain)
            self.fails("convert", "t", name)
        # recognized by the first bytes, also of several members, and on standard input
        self.write("in.csv", gzip.compress(plain) + gzip.compress(b"eve,4,1.5,false\n"))
        self.good("convert", "-q", "in.csv", "u", "--force")
        self.assertEqual(self.info("u")["rows"], 4)
        with open(self.path("in.csv"), "rb") as f:
            data = f.read()
        self.good("convert", "-q", "-", "v", "--from", "csv", "--to", "bcolz", stdin=data)
        self.assertEqual(self.good("cat", "v"), self.good("cat", "u"))
        self.good("append", "-q", "v", "o.csv.zst")
        self.assertEqual(self.info("v")["rows"], 7)
        for end in (3, -5):
            self.write("torn.csv", gzip.compress(plain)[:end])
            self.assertIn("torn.csv: ", self.fails("convert", "torn.csv", "w")[0])

    def test_rows_and_columns_of_tables_are_converted(self):
        self.convert(self.SMALL)
        self.good("convert", "-q", "t", "u", "--columns", "n,name", "--rows", "1:")
        self.assertEqual(self.rows("u"), [["n", "name"], ["-2", "bob"], ["3", "c, d"]])
        self.assertEqual(
            self.good("convert", "-q", "t", "-", "--to", "csv", "--columns", "n", "--rows", "2,-3"),
            b"n\n3\n1\n",
        )
        self.assertIn("no row 3", self.fails("convert", "t", "v", "--rows", "3")[0])
        self.assertIn("no column 'z'", self.fails("convert", "t", "v", "--columns", "z")[0])
        self.good("convert", "-q", "t", "t.npy")
        self.fails("convert", "t.npy", "v", "--rows", "1", code=2)

    def test_rows_and_columns_of_text_are_converted(self):
        self.write("in.csv", b"a,b,c\n1,x,0\n2,y,1\n3,z,2\n4,w,3\n")
        lines = b"".join(b'{"a":%d,"b":"%c","c":%d}\n' % row for row in zip(range(1, 5), b"xyzw", range(4)))
        self.write("in.jsonl", lines)
        for source in ("in.csv", "in.jsonl"):
            for rows, expected in [
                ("1:3", [["y", "2"], ["z", "3"]]),
                ("-1:", [["w", "4"]]),
                ("::3", [["x", "1"], ["w", "4"]]),
                ("0,-1", [["x", "1"], ["w", "4"]]),
                ("9:", []),
            ]:
                flags = ("--columns", "b,a", f"--rows={rows}")
                self.good("convert", "-qf", source, "t", *flags)
                self.assertEqual(self.rows("t"), [["b", "a"], *expected], (source, rows))
            self.good("convert", "-qf", source, "out.csv", "--rows", "2:", "--columns", "c")
            self.assertEqual(self.read("out.csv"), b"c\n2\n3\n")
            for flags, expected in [
                (("--columns", "a,d"), "there is no column 'd'"),
                (("--columns", "a,a"), "column 'a' is asked for twice"),
                (("--rows", "::-1"), "rows of text are read in their order"),
                (("--rows", "1,0"), "rows of text are read in their order"),
                (("--rows", "4"), "there is no row 4"),
            ]:
                self.assertIn(expected, self.fails("convert", source, "u", *flags)[0])
        self.good("convert", "-qf", "in.csv", "t", "--no-header", "--columns", "f1", "--rows", "1:3")
        self.assertEqual(self.rows("t"), [["f1"], ["x"], ["y"]])
        self.write("in.jsonl", b"1\n2\n")
        self.fails("convert", "in.jsonl", "u", "--columns", "a")
        self.good("convert", "-q", "in.jsonl", "v", "--rows", "1:")
        self.assertEqual(self.good("cat", "v", "--to", "csv"), b"f0\n2\n")

    def test_text_of_no_known_name_is_not_taken_for_bytes(self):
        self.convert(b"a,b\n1,x\n")
        self.write("more.txt", b"a,b\n2,y\n")
        for args, stdin in [(("more.txt",), b""), (("-",), b"a,b\n2,y\n")]:
            self.assertIn("--from csv", self.fails("append", "t", *args, stdin=stdin)[0])
        self.good("append", "-q", "t", "more.txt", "--from", "csv")
        self.write("raw.txt", b"\x03" + bytes(7) + b"z")
        self.good("append", "-q", "t", "raw.txt")
        self.write("printable.txt", b"12345678w")
        self.fails("append", "t", "printable.txt")
        self.good("append", "-q", "t", "printable.txt", "--from", "raw")
        values = [["1", "x"], ["2", "y"], ["3", "z"], ["4050765991979987505", "w"]]
        self.assertEqual(self.rows("t"), [["a", "b"], *values])

    def test_endings_in_upper_case_are_recognized(self):
        self.convert(b"a\n1\n", "t", source="IN.CSV")
        self.good("convert", "-q", "t", "OUT.JSONL")
        self.assertEqual(self.read("OUT.JSONL"), b'{"a":1}\n')
        self.good("convert", "-q", "OUT.JSONL", "out.NPY")
        self.assertEqual(self.read("out.NPY")[:6], b"\x93NUMPY")
        self.good("append", "-q", "t", "out.NPY")
        self.good("append", "-q", "t", "IN.CSV")
        self.good("convert", "-q", "t", "OUT.CSV.GZ")
        self.assertEqual(self.read("OUT.CSV.GZ")[:2], b"\x1f\x8b")
        self.convert(b"a\n1\n", "u", "--from", "csv", source="x.txt")
        self.assertEqual(len(self.rows("t")), 4)

    def test_rows_across_buffers_are_parsed(self):
        """Rows that span two read buffers are parsed correctly."""
        r = random.Random(3)
        rows = [
            [
                str(r.randint(-(10**9), 10**9)),
                repr(r.uniform(-1, 1)),
                "".join(r.choices('ab",\n', k=r.randint(1, 9))),
            ]
            for _ in range(150000)
        ]
        out = io.StringIO()
        csv.writer(out).writerows([["i", "f", "s"], *rows])
        self.convert(out.getvalue().encode())
        self.assertEqual(self.rows("t")[1:], [[i, *v] for i, *v in rows])

    def test_the_weather_table_survives_conversion(self):
        with open(WEATHER, newline="") as f:
            head, *rows = csv.reader(f)
        self.good("convert", "-q", WEATHER, "w.bcolz")
        self.assertEqual(self.info("w.bcolz")["rows"], len(rows))
        names, *found = self.rows("w.bcolz")
        self.assertEqual(names, head)
        for one, other in zip(rows, found):
            for a, b in zip(one, other):
                if a != b:
                    (
                        self.assertEqual(float("nan" if a == "NA" else a), float(b))
                        if a != "NA"
                        else self.assertEqual(b, "NaN")
                    )

    @unittest.skipUnless(os.path.exists(FLIGHTS), "no nyc-flights-2013.csv.zip")
    def test_the_flights_table_equals_its_source(self):
        with zipfile.ZipFile(FLIGHTS) as z:
            z.extract("flights.csv", self.folder.name)
        with open(self.path("flights.csv"), newline="") as f:
            head, *rows = csv.reader(f)
        self.good("convert", "-q", "flights.csv", "flights.bcolz")
        facts = self.info("flights.bcolz")
        self.assertEqual((facts["rows"], len(facts["columns"])), (336776, 19))
        header, data = npy(self.good("cat", "--to", "npy", "flights.bcolz"))
        kinds = {"<i8": "q", "<f8": "d"}
        layout = "<" + "".join(kinds.get(t) or t[2:] + "s" for _, t in header["descr"])
        parse = [
            (
                int
                if t == "<i8"
                else (
                    (lambda x: x.encode())
                    if t[1] == "S"
                    else (lambda x: math.nan if x == "NA" else float(x))
                )
            )
            for _, t in header["descr"]
        ]
        self.assertEqual([n for n, _ in header["descr"]], head)
        count = 0
        for row, found in zip(rows, struct.iter_unpack(layout, data)):
            for value, read, text in zip(found, parse, row):
                value = value.rstrip(b"\0") if isinstance(value, bytes) else value
                expected = read(text)
                self.assertTrue(
                    value == expected or (value != value and expected != expected), (text, value)
                )
            count += 1
        self.assertEqual(count, 336776)


if __name__ == "__main__":
    unittest.main()
