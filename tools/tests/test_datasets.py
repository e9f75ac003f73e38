#!/usr/bin/env python3
"""Tests of the command-line tool with datasets: arrays and tables in folders, and the files that become such.

HOLDALL_TOOL is the tool's path; see tool.py. HOLDALL_DATA is a folder with
nyc-flights-2013.csv.zip; without it the test of that is skipped.
"""

import csv
import hashlib
import io
import json
import math
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import unittest
import zipfile

try:
    import pyarrow
    import pyarrow.ipc
except ImportError:
    pyarrow = None

from tool import TOOL, Base, datasets, run

HERE = os.path.dirname(os.path.abspath(__file__))
WEATHER = os.path.join(HERE, "..", "..", "examples", "data", "nyc-weather-2013.csv")
DATA = os.environ.get("HOLDALL_DATA") or os.path.join(HERE, "..", "..", "..", "shared", "data")
FLIGHTS = os.path.join(DATA, "nyc-flights-2013.csv.zip")


def npy(data):
    """Header and bytes of a file of NumPy."""
    size, = struct.unpack_from("<H", data, 8)
    return eval(data[10:10 + size].decode("latin1")), data[10 + size:]


def npy_file(descr, shape, data, fortran=False):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


class Tables(Base):
    """Base with some tables."""

    SMALL = b"name,n,x,ok\nann,1,0.5,true\nbob,-2,NA,false\n\"c, d\",3,1e300,true\n"

    def convert(self, text, name="t", *flags, source="in.csv"):
        self.write(source, text)
        self.good("convert", "-q", source, name, *flags)
        return {c["name"]: c["dtype"] for c in self.info(name)["columns"]} if os.path.isdir(self.path(name)) else None

    def rows(self, name, *flags):
        return list(csv.reader(io.StringIO(self.good("cat", "--format", "csv", *flags, name).decode())))

    def objects(self, name, *flags):
        return [json.loads(line) for line in self.good("cat", "--format", "jsonl", *flags, name).decode().splitlines()]


class Cat(Tables):
    def setUp(self):
        super().setUp()
        self.convert(self.SMALL)

    def test_csv_is_the_default(self):
        self.assertEqual(self.good("cat", "t"), b"name,n,x,ok\nann,1,0.5,true\nbob,-2,NaN,false\n\"c, d\",3,1e+300,true\n")

    def test_rows_and_columns(self):
        self.assertEqual(self.rows("t", "--rows", "::-2", "--columns", "n,name"), [["n", "name"], ["3", "c, d"], ["1", "ann"]])
        self.assertEqual([r["n"] for r in self.objects("t", "--rows", "2,0,-3,2")], [3, 1, 1, 3])
        self.assertEqual(self.rows("t", "--rows", "5:"), [["name", "n", "x", "ok"]])
        self.assertEqual(self.good("cat", "t", "--rows=1:2"), self.good("cat", "t", "--slice", "1:2"))
        self.assertIn("there is no row 3", self.bad("cat", "t", "--rows", "0,3")[0])
        self.assertIn("there is no row -4", self.bad("cat", "t", "--rows=-4")[0])
        self.assertIn("no column 'z'", self.bad("cat", "t", "--columns", "n,z")[0])
        self.assertIn("twice", self.bad("cat", "t", "--columns", "n,n")[0])
        for flags in (["--rows", "x"], ["--rows", "1:2:0"], ["--rows", ""], ["--rows", "1", "--slice", "1:"], ["--records", "1"]):
            self.bad("cat", "t", *flags, code=2)

    def test_json_lines(self):
        self.assertEqual(self.objects("t"), [{"name": "ann", "n": 1, "x": 0.5, "ok": True}, {"name": "bob", "n": -2, "x": None, "ok": False},
                                             {"name": "c, d", "n": 3, "x": 1e300, "ok": True}])

    def test_items_of_a_structured_type(self):
        head, data = npy(self.good("cat", "--format", "npy", "t"))
        self.assertEqual(head, {"descr": [("name", "|S4"), ("n", "<i8"), ("x", "<f8"), ("ok", "|b1")], "fortran_order": False, "shape": (3,)})
        self.assertEqual(data[:21], b"ann\0" + struct.pack("<qd?", 1, 0.5, True))
        self.assertEqual(data, self.good("cat", "--format", "raw", "t"))
        self.assertEqual(self.good("sum", "t"), hashlib.sha256(data).hexdigest().encode() + b"  t\n")
        self.assertEqual(npy(self.good("cat", "--format", "npy", "--rows", "1", "--columns", "n", "t"))[1], struct.pack("<q", -2))

    def test_arrow(self):
        out = self.good("cat", "--format", "arrow", "--rows", "1:", "--columns", "n,name", "t")
        self.assertTrue(out.startswith(b"\xff\xff\xff\xff") and out.endswith(b"\xff\xff\xff\xff\0\0\0\0"))
        self.assertEqual(len(out) % 8, 0)
        self.assertIn(struct.pack("<2q", -2, 3), out)
        self.assertIn(b"bobc, d", out)
        self.assertIn("side by side", self.bad("cat", "--format", "arrow", "--rows", "::2", "t")[0])
        self.assertIn("for tables", self.bad("cat", "--format", "arrow", "t/n")[0])

    @unittest.skipUnless(pyarrow, "no pyarrow")
    def test_arrow_by_pyarrow(self):
        self.convert(b"s,t,v,b,o\nx,2013-01-01T10:00:00Z,\"[1,2]\",1,\"{\"\"a\"\":1}\"\n\u00e9,NA,\"[3,4]\",0,\"{\"\"a\"\":2}\"\n".replace(b"\\u00e9", b"\xc3\xa9"), "u", "--dtypes",
                     "t=M8[us],v=('<f4',(2,)),b=?,o=[('a','<i2')]")
        for path in ("t", "u"):
            table = pyarrow.ipc.open_stream(self.good("cat", "--format", "arrow", path)).read_all()
            table.validate(full=True)
            rows = json.loads(json.dumps(table.to_pylist(), default=lambda x: x.isoformat()))
            self.assertEqual(json.loads(json.dumps(rows).replace("NaN", "null").replace("10:00:00", "10:00:00.000000")), self.objects(path))
        table = pyarrow.ipc.open_stream(self.good("cat", "--format", "arrow", "--rows", "1:1", "t")).read_all()
        self.assertEqual((table.num_rows, table.column_names), (0, ["name", "n", "x", "ok"]))

    def test_columns_are_arrays(self):
        self.assertEqual(self.good("cat", "t/n"), struct.pack("<3q", 1, -2, 3))
        self.assertEqual(self.good("cat", "--format", "csv", "t/n"), b"1\n-2\n3\n")
        self.assertEqual(self.good("cat", "--format", "jsonl", "t/name"), b'"ann"\n"bob"\n"c, d"\n')
        self.assertEqual(self.good("cat", "--rows", "2,0", "t/n"), struct.pack("<2q", 3, 1))
        self.assertEqual(self.good("cat", "--format", "text", "--rows", "-1,0", "t/n"), b"3\n1\n")
        self.bad("cat", "--columns", "n", "t/n")
        self.bad("cat", "--format", "text", "t")

    def test_what_is_not_there(self):
        for args in (["cat", "u", "--rows", "1"], ["info", "u", "--files"], ["ls", "u"], ["trim", "u", "1"], ["append", "u", "in.csv"]):
            self.assertIn("u: No such file", self.bad(*args)[0])


class Values(Tables):
    """Each value is printed so that it reads back equal."""

    def array(self, dtype, data, count, *row):
        self.write("a.npy", npy_file(dtype, (count, *row), data))
        self.good("convert", "-q", "--force", "a.npy", "a", "--to", "bcolz")
        return self.good("cat", "--format", "csv", "a").decode().splitlines()

    def test_floating_point(self):
        r = random.Random(1)
        values = [0.0, -0.0, 1.0, 0.1, -2.5, 1e22, 5e-324, 1.7976931348623157e308, 123456789.125, 1 / 3, 2.0**53 + 2, 0.3, 1e15, 12345.6789]
        values += [struct.unpack("<d", r.randbytes(8))[0] for _ in range(2000)]
        values += [round(r.uniform(-1e6, 1e6), r.randint(0, 6)) for _ in range(2000)]
        values = [v for v in values if math.isfinite(v)]
        lines = self.array("<f8", struct.pack(f"<{len(values)}d", *values), len(values))
        self.assertEqual([struct.pack("<d", float(x)) for x in lines], [struct.pack("<d", v) for v in values])
        # and no text is longer than Python's
        for text, value in zip(lines, values):
            self.assertLessEqual(len(text.replace("e+", "e").lstrip("-")), len(repr(value).lstrip("-")) + 1, text)
            self.assertTrue("." in text or "e" in text, text)
        self.assertEqual([json.loads(x) for x in self.good("cat", "--format", "jsonl", "a").splitlines()], values)

    def test_no_numbers(self):
        data = struct.pack("<3d", math.nan, math.inf, -math.inf)
        self.assertEqual(self.array("<f8", data, 3), ["NaN", "inf", "-inf"])
        self.assertEqual(self.good("cat", "--format", "jsonl", "a"), b'null\n"Infinity"\n"-Infinity"\n')

    def test_narrow_and_big_endian(self):
        self.assertEqual(self.array("<f4", struct.pack("<3f", 0.1, 16777216, 3e38), 3), ["0.1", "16777216.0", "3e+38"])
        self.assertEqual(self.array("<f2", struct.pack("<3e", 0.1, 65504, 6e-8), 3), ["0.1", "6.55e+04", "6e-08"])
        self.assertEqual(self.array(">i2", struct.pack(">3h", -1, 32767, -32768), 3), ["-1", "32767", "-32768"])
        self.assertEqual(self.array("<u8", struct.pack("<2Q", 0, 2**64 - 1), 2), ["0", str(2**64 - 1)])
        self.assertEqual(self.array("<i8", struct.pack("<2q", -2**63, 2**63 - 1), 2), [str(-2**63), str(2**63 - 1)])
        self.assertEqual(self.array("|b1", b"\0\1", 2), ["false", "true"])

    def test_times(self):
        self.assertEqual(self.array("<M8[ns]", struct.pack("<3q", 0, -1, -2**63), 3),
                         ["1970-01-01T00:00:00.000000000", "1969-12-31T23:59:59.999999999", "NaT"])
        self.assertEqual(self.good("cat", "--format", "jsonl", "--rows=-1", "a"), b"null\n")
        self.assertEqual(self.array("<M8[s]", struct.pack("<2q", 951782400, -62135596800), 2), ["2000-02-29T00:00:00", "0001-01-01T00:00:00"])
        self.assertEqual(self.array("<M8[D]", struct.pack("<4q", 11016, -1, -719529, 2932896), 4), ["2000-02-29", "1969-12-31", "-0001-12-31", "9999-12-31"])
        self.assertEqual(self.array("<M8[M]", struct.pack("<2q", -1, 500), 2), ["1969-12", "2011-09"])
        self.assertEqual(self.array("<M8[Y]", struct.pack("<q", 43), 1), ["2013"])
        self.assertEqual(self.array("<M8[25us]", struct.pack("<q", 1), 1), ["1970-01-01T00:00:00.000025"])

    def test_days_against_python(self):
        import datetime
        r = random.Random(2)
        days = [r.randint(-719162, 2932896) for _ in range(3000)]
        want = [(datetime.date(1970, 1, 1) + datetime.timedelta(d)).isoformat() for d in days]
        self.assertEqual(self.array("<M8[D]", struct.pack(f"<{len(days)}q", *days), len(days)), want)
        # and back
        self.convert(b"d\n" + "\n".join(want).encode(), "t", "--dtypes", "d=M8[D]")
        self.assertEqual(struct.unpack(f"<{len(days)}q", self.good("cat", "t/d")), tuple(days))

    def test_strings(self):
        texts = [b"plain", b'say "x"', b"a,b", "\u00e9\u6f22".encode(), b"line\nbreak", b""]
        self.array("|S16", b"".join(t.ljust(16, b"\0") for t in texts), len(texts))
        self.assertEqual([r[0] for r in csv.reader(io.StringIO(self.good("cat", "--format", "csv", "a").decode(), newline=""))],
                         [t.decode() for t in texts])
        self.assertEqual([json.loads(x) for x in self.good("cat", "--format", "jsonl", "a").splitlines()], [t.decode() for t in texts])
        # what is no UTF-8
        self.assertEqual(self.array("|S4", b"a\xff\xc3(" + b"\xe9\0\0\0", 2), ["a\\xff\\xc3(", "\\xe9"])
        self.assertEqual(json.loads(self.good("cat", "--format", "jsonl", "--rows", "0", "a")), "a\\xff\\xc3(")
        self.assertEqual(self.array("<U2", struct.pack("<4I", 0x6f22, 0, 0x1f600, 0x41), 2), ["\u6f22", "\U0001f600A"])

    def test_rows_with_dimensions(self):
        self.assertEqual(self.array("<i4", struct.pack("<4i", 1, 2, 3, 4), 2, 2), ["1,2", "3,4"])
        self.assertEqual(self.good("cat", "--format", "jsonl", "a"), b"[1,2]\n[3,4]\n")
        self.assertEqual(self.array("<i4", struct.pack("<4i", 1, 2, 3, 4), 1, 2, 2), ['"[1,2]","[3,4]"'])

    def test_structured_items(self):
        self.write("a.npy", npy_file([("a", "<i2"), ("b", "<f4", (2,))], (1, 1), struct.pack("<hff", 7, 0.5, -1)))
        self.good("convert", "-q", "a.npy", "a.blp")
        self.assertEqual(json.loads(self.good("cat", "--format", "jsonl", "a.blp")), [{"a": 7, "b": [0.5, -1.0]}])


class FromText(Tables):
    """CSV and JSON lines become tables."""

    def types(self, *values):
        return self.convert(b"c\n" + b"\n".join(values) + b"\n", "t", "--force")["c"]

    def test_types(self):
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

    def test_quotes(self):
        self.convert(b'\xef\xbb\xbfa,"b ""x"""\r\n"1\n2",\r\n"say ""hi""","3"\r\n\r\n,4')
        self.assertEqual(self.rows("t"), [["a", 'b "x"'], ["1\n2", "NaN"], ['say "hi"', "3.0"], ["", "4.0"]])

    def test_told_types(self):
        types = self.convert(b"a,b,c,d,e\n1,x,2013-01-01T05:00:00Z,\"[1,2]\",0\n2,,NA,\"[3, 4.5]\",1\n", "t", "--dtypes",
                             "a=<i2,b=U3,c=M8[s],d=('<f4', (2,)),e=?")
        self.assertEqual(types, {"a": "<i2", "b": "<U3", "c": "<M8[s]", "d": "<f4", "e": "|b1"})
        self.assertEqual(self.objects("t"), [{"a": 1, "b": "x", "c": "2013-01-01T05:00:00", "d": [1.0, 2.0], "e": False},
                                             {"a": 2, "b": "", "c": None, "d": [3.0, 4.5], "e": True}])
        self.assertEqual([c["shape"] for c in self.info("t")["columns"]][3], [2, 2])

    def test_json_lines(self):
        types = self.convert(b'{"a": 1, "s": "x\\u00e9\\ud83d\\ude00"}\n\n{"s": null, "b": true, "a": 2.5}\n', source="in.jsonl")
        self.assertEqual(types, {"a": "<f8", "s": "<U3", "b": "|S4"})
        self.assertEqual(self.objects("t"), [{"a": 1.0, "s": "x\u00e9\U0001f600", "b": ""}, {"a": 2.5, "s": "", "b": "true"}])
        self.convert(b'{"v":[1,2],"o":{"x":1,"y":[2,3]}}\n{"o":{"y":[5,6],"x":4},"v":[3,"NaN"]}', "u", "--dtypes",
                     "v=('<f8',(2,)),o=[('x','<i4'),('y','<i2',(2,))]", source="in.jsonl")
        self.assertEqual(self.objects("u"), [{"v": [1.0, 2.0], "o": {"x": 1, "y": [2, 3]}}, {"v": [3.0, None], "o": {"x": 4, "y": [5, 6]}}])

    def test_bad_text(self):
        for text, words, flags in [
            (b"", "names of the columns", []),
            (b"a,a\n1,2\n", "two columns are called 'a'", []),
            (b"a,b\n1,2\n3\n", "line 3: 1 field, and there are 2", []),
            (b"a,b\n1,\"2\n", "line 2: a quote is not closed", []),
            (b"a,b\n1,\"2\"x\n", "line 2: there is text behind", []),
            (b"a\n1\n\"x\ny\"\n1,2\n", "line 5: 2 fields", []),
            (b"a,b\n1,2\n1,x\n", "line 3, column 'b': \"x\" is no whole number", ["--dtypes", "b=i4"]),
            (b"a\n300\n", "line 2, column 'a': \"300\" is too large", ["--dtypes", "a=u1"]),
            (b"a\n-1\n", "negative", ["--dtypes", "a=u1"]),
            (b"a\nabc\n", '"abc" is too long', ["--dtypes", "a=S2"]),
            (b"a\n1e39\n", "too large", ["--dtypes", "a=f4"]),
            (b"a\n2013-02-29\n", "no time", ["--dtypes", "a=M8[D]"]),
            (b"a\n2013-02-28T10\n", "no time", ["--dtypes", "a=M8[D]"]),
            (b"a\n\xff\n", "not UTF-8", ["--dtypes", "a=U2"]),
            (b"a\n1\n", "no column 'b'", ["--dtypes", "b=i4"]),
            (b"a\n1\n", "not COLUMN=DTYPE", ["--dtypes", "i4"]),
            (b"a\n1\n", "do not become items of 'nonsense'", ["--dtypes", "a=nonsense"]),
            (b"a\n1\n", "do not become items of 'O'", ["--dtypes", "a=O"]),
            (b"a\n\"[1]\"\n", "not as many items", ["--dtypes", "a=('<f8',(2,))"]),
            (b"a\n[1\n", "no JSON", ["--dtypes", "a=('<f8',(2,))"]),
            (b"a/b\n1\n", "a/b", []),
        ]:
            self.write("in.csv", text)
            self.assertIn(words, self.bad("convert", "in.csv", "t", *flags)[0], text)
            self.assertEqual(self.files(), ["in.csv"])
        os.remove(self.path("in.csv"))
        for text, words in [(b"", "no line with a JSON object"), (b"[1]\n", "line 1: it is no JSON object"), (b'{"a":1}\n{"a":}\n', "line 2"),
                            (b'{"a":1}\n{"a":[1]}\n', "line 2, column 'a': of lists"), (b'{"a":"\xff"}\n', "line 1")]:
            self.write("in.jsonl", text)
            self.assertIn(words, self.bad("convert", "in.jsonl", "t")[0], text)
            self.assertEqual(self.files(), ["in.jsonl"])
        self.bad("convert", "-", "t", "--from", "csv", code=2)
        self.bad("convert", "in.jsonl", "t", "--from", "raw", code=2)

    def test_long_file(self):
        """Rows over the limits of what is read at once."""
        r = random.Random(3)
        rows = [[str(r.randint(-10**9, 10**9)), repr(r.uniform(-1, 1)), "".join(r.choices('ab",\n', k=r.randint(1, 9)))] for _ in range(150000)]
        out = io.StringIO()
        csv.writer(out).writerows([["i", "f", "s"], *rows])
        self.convert(out.getvalue().encode())
        self.assertEqual(self.rows("t")[1:], [[i, *v] for i, *v in rows])

    def test_weather(self):
        with open(WEATHER, newline="") as f:
            head, *rows = csv.reader(f)
        self.good("convert", "-q", WEATHER, "w.bcolz")
        self.assertEqual(self.info("w.bcolz")["rows"], len(rows))
        names, *found = self.rows("w.bcolz")
        self.assertEqual(names, head)
        for one, other in zip(rows, found):
            for a, b in zip(one, other):
                if a != b:
                    self.assertEqual(float("nan" if a == "NA" else a), float(b)) if a != "NA" else self.assertEqual(b, "NaN")

    @unittest.skipUnless(os.path.exists(FLIGHTS), "no nyc-flights-2013.csv.zip")
    def test_flights(self):
        with zipfile.ZipFile(FLIGHTS) as z:
            z.extract("flights.csv", self.folder.name)
        with open(self.path("flights.csv"), newline="") as f:
            head, *rows = csv.reader(f)
        self.good("convert", "-q", "flights.csv", "flights.bcolz")
        facts = self.info("flights.bcolz")
        self.assertEqual((facts["rows"], len(facts["columns"])), (336776, 19))
        header, data = npy(self.good("cat", "--format", "npy", "flights.bcolz"))
        kinds = {"<i8": "q", "<f8": "d"}
        layout = "<" + "".join(kinds.get(t) or t[2:] + "s" for _, t in header["descr"])
        parse = [int if t == "<i8" else (lambda x: x.encode()) if t[1] == "S" else (lambda x: math.nan if x == "NA" else float(x))
                 for _, t in header["descr"]]
        self.assertEqual([n for n, _ in header["descr"]], head)
        count = 0
        for row, found in zip(rows, struct.iter_unpack(layout, data)):
            for value, read, text in zip(found, parse, row):
                value = value.rstrip(b"\0") if isinstance(value, bytes) else value
                wanted = read(text)
                self.assertTrue(value == wanted or (value != value and wanted != wanted), (text, value))
            count += 1
        self.assertEqual(count, 336776)


class Append(Tables):
    def setUp(self):
        super().setUp()
        self.convert(self.SMALL)
        self.once = self.good("cat", "--format", "raw", "t")

    def test_every_format(self):
        self.write("more.csv", b"ok,x,n,name\nfalse,NA,9,eve\n")
        self.good("append", "-q", "t", "more.csv")
        self.write("more.jsonl", b'{"n": 8, "name": "fay", "ok": true}\n')
        self.good("append", "-q", "t", "more.jsonl")
        self.good("append", "-q", "t", "-", "--from", "csv", stdin=b"name,n,x,ok\ngil,7,1,true\n")
        self.good("append", "-q", "t", "-", stdin=self.once)
        self.write("more.npy", self.good("cat", "--format", "npy", "t"))
        self.good("append", "-q", "t", "more.npy")
        rows = self.rows("t")[1:]
        self.assertEqual(len(rows), 18)
        self.assertEqual(rows[3:6], [["eve", "9", "NaN", "false"], ["fay", "8", "NaN", "true"], ["gil", "7", "1.0", "true"]])
        self.assertEqual(rows[:9], rows[9:])
        self.good("verify", "t")

    def test_bad_rows(self):
        for name, data, words in [
            ("b.csv", b"name,n,x\na,1,2\n", "3 fields, and there are 4"),
            ("b.csv", b"name,n,x,no\na,1,2,true\n", "'no' is none of the columns"),
            ("b.csv", b"name,n,x,n\na,1,2,3\n", "twice"),
            ("b.csv", b"name,n,x,ok\nann,1,2,true\nrobert,1,2,true\n", "line 3, column 'name': \"robert\" is too long"),
            ("b.jsonl", b'{"name": "a", "n": 1, "ok": true}\n{"n": 1}\n', "line 2, column 'ok': \"\" is missing"),
            ("b.jsonl", b'{"z": 1}\n', "'z' is none"),
            ("b.raw", self.once[:-1], "are no whole row, of 21 bytes"),
            ("b.npy", npy_file("<f8", (1,), bytes(8)), "1 column"),
            ("b.npy", npy_file([("name", "|S4"), ("n", "<i4"), ("x", "<f8"), ("ok", "|b1")], (1,), bytes(17)), "column 'n', <i8, are wanted"),
            ("b.npy", self.good("cat", "--format", "npy", "t")[:-21], "3 rows, 2 come"),
        ]:
            self.write(name, data)
            self.assertIn(words, self.bad("append", "t", name)[0], data)
            self.assertEqual(self.good("cat", "--format", "raw", "t"), self.once)

    def test_arrays(self):
        self.write("a.npy", npy_file("<i4", (3,), struct.pack("<3i", 1, 2, 3)))
        self.good("convert", "-q", "a.npy", "a", "--to", "bcolz")
        self.good("append", "-q", "a", "a.npy")
        self.good("append", "-q", "a", "-", stdin=struct.pack("<i", 9))
        self.assertEqual(self.good("cat", "--format", "text", "a").split(), b"1 2 3 1 2 3 9".split())
        self.write("b.csv", b"n\n1\n2\n")
        self.assertIn("rows of text are for tables", self.bad("append", "a", "b.csv")[0])
        self.bad("append", "a", "-", stdin=b"abc")


class Change(Tables):
    def setUp(self):
        super().setUp()
        self.convert(b"n,s\n" + b"".join(b"%d,x%d\n" % (i, i) for i in range(1000)))

    def test_trim(self):
        self.good("trim", "-q", "t", "700")
        self.assertEqual(self.rows("t")[-1], ["699", "x699"])
        r = run("trim", "t", "--", "-100", cwd=self.folder.name)
        self.assertEqual((r.returncode, r.stderr), (0, b"t: 100 rows gone, now 600\n"))
        self.good("trim", "-q", "t", "600")
        self.assertEqual(self.info("t")["rows"], 600)
        self.assertIn("it has 600 rows, and not 601", self.bad("trim", "t", "601")[0])
        self.bad("trim", "t", "--", "-601")
        for rows in ("x", "", "1x", "9" * 30):
            self.bad("trim", "t", rows, code=2)
        self.good("trim", "-q", "t", "0")
        self.assertEqual(self.rows("t"), [["n", "s"]])
        self.write("a.npy", npy_file("<i4", (3,), struct.pack("<3i", 1, 2, 3)))
        for name, to in (("a", "bcolz"), ("a.blp", "blpk")):
            self.good("convert", "-q", "a.npy", name, "--to", to)
            self.good("trim", "-q", name, "2")
            self.assertEqual(self.good("cat", name), struct.pack("<2i", 1, 2))
        self.good("pack", "-q", "a.npy", "b.blp", "--raw")
        self.assertIn("no array", self.bad("trim", "b.blp", "1")[0])

    def test_attributes(self):
        for path in ("t", "t/n"):
            self.assertEqual(self.good("attr", "get", path), b"{}\n")
            self.good("attr", "set", path, "unit", '"km"')
            self.good("attr", "set", path, "\u00e9", "[1, {\"a\": null}]")
            self.assertEqual(json.loads(self.good("attr", "get", path)), {"unit": "km", "\u00e9": [1, {"a": None}]})
            self.assertEqual(self.good("attr", "get", path, "unit"), b'"km"\n')
            self.good("attr", "remove", path, "unit")
            self.assertIn("no attribute 'unit'", self.bad("attr", "get", path, "unit")[0])
            self.assertIn("no attribute 'unit'", self.bad("attr", "remove", path, "unit")[0])
            self.assertEqual(list(json.loads(self.good("attr", "get", path))), ["\u00e9"])
        for args in (["get"], ["nonsense", "t"], ["get", "t", "a", "b"], ["set", "t", "a"], ["set", "t", "a", "no json"], ["set", "t", "a", "NaN"],
                     ["remove", "t"], ["remove", "t", "a", "b"]):
            self.bad("attr", *args, code=2)
        self.write("b.bag", b"")
        self.assertIn("none", self.bad("attr", "get", "b.bag")[0])

    def test_repair(self):
        want = self.rows("t")
        self.write("t/n/meta/sizes", b"")
        self.bad("cat", "t")
        r = run("repair", "t", cwd=self.folder.name)
        if b"does not repair datasets" in r.stderr:
            self.skipTest("the library does not repair datasets")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout.decode(), r"^t: \d+ chunks? kept, \d+ dropped\n$")
        self.assertEqual(self.rows("t"), want)

    def test_verify(self):
        self.assertRegex(self.good("verify", "t").decode(), r"^t: [1-9]\d* sound, 0 bad, 0 unchecked\n$")
        self.flip("t/s/data/__0.blp", 60)
        out = run("verify", "t", cwd=self.folder.name)
        self.assertEqual(out.returncode, 1)
        self.assertIn(b"__0.blp", out.stdout)
        self.bad("cat", "t")
        self.good("cat", "t", "--columns", "n")


class Look(Tables):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("d"))
        os.mkdir(self.path("d/sub"))
        self.convert(self.SMALL, "d/sub/t")
        self.write("a.npy", npy_file("<f4", (5, 2), bytes(40)))
        self.good("convert", "-q", "a.npy", "d/a", "--to", "bcolz")
        self.good("pack", "-q", "a.npy", "d/b.blp")
        self.write("d/other.txt", b"nothing")

    def test_ls(self):
        self.assertEqual(self.good("ls", "d").decode(), "a  bcolz array  <f4 [5, 2]\nb.blp  bloscpack array  <f4 [5, 2]\nsub/t  bcolz table  3 rows\n"
                         "  name  |S4 [3]\n  n  <i8 [3]\n  x  <f8 [3]\n  ok  |b1 [3]\n")
        found = json.loads(self.good("ls", "--json", "d"))
        self.assertEqual([(x["path"], x["kind"]) for x in found], [("d/a", "array"), ("d/b.blp", "array"), ("d/sub/t", "table")])
        self.assertEqual((found[0]["shape"], found[2]["rows"], found[2]["columns"][1]), ([5, 2], 3, {"name": "n", "dtype": "<i8", "shape": [3]}))
        self.assertEqual(self.good("ls", "d/sub/t").splitlines()[0], b"d/sub/t  bcolz table  3 rows")
        os.mkdir(self.path("empty"))
        self.assertEqual(self.good("ls", "empty"), b"")
        self.assertEqual(json.loads(self.good("ls", "--json", "empty")), [])
        # a broken one is told of, the others are listed
        os.remove(self.path("d/a/meta/sizes"))
        r = run("ls", "d", cwd=self.folder.name)
        self.assertEqual((r.returncode, len(r.stdout.splitlines())), (1, 6))
        self.assertIn(b"d/a", r.stderr)

    def test_links_are_not_followed(self):
        os.symlink("..", self.path("d/up"))
        self.assertEqual(len(self.good("ls", "d").splitlines()), 7)

    def test_info(self):
        facts = self.info("d/sub/t")
        self.assertEqual((facts["rows"], facts["columns"][1]["nbytes"], facts["columns"][1]["rows_stored"]), (3, 24, 3))
        self.assertRegex(self.good("info", "d/sub/t").decode(), r"\n  n: <i8 \[3\], 24 bytes, chunks of \d+\n")

    def test_what_claims_far_too_much(self):
        storage = b'{"dtype": "int8", "cparams": {}, "chunklen": 1000}'
        for name in ("huge/a", "huge/b"):
            for folder in ("meta", "data"):
                os.makedirs(self.path(name + "/" + folder))
            self.write(name + "/meta/sizes", b'{"shape": [%d], "nbytes": %d, "cbytes": 9}' % (1 << 57, 1 << 57))
            self.write(name + "/meta/storage", storage)
        self.write("huge/__rootdirs__", b'{"names": ["a", "b"]}')
        os.symlink("..", self.path("huge/b/data/up"))
        for path in ("huge", "huge/a"):
            self.good("ls", path)
            self.good("info", path)
            for args in (["cat"], ["verify"], ["repair"], ["info", "--files"], ["sum"], ["cat", "--skip-damaged"], ["repair", "--skip-damaged"]):
                r = run(*args, path, cwd=self.folder.name)
                self.assertEqual(r.returncode, 1, args)
            for to in ("bcolz", "csv", "blpk"):
                for more in ([], ["--skip-damaged"]):
                    r = run("convert", "-q", path, "out", "--to", to, *more, cwd=self.folder.name)
                    self.assertEqual(r.returncode, 1, (to, more))
                    self.assertFalse(os.path.exists(self.path("out")))

    def test_pipes_are_not_waited_for(self):
        os.remove(self.path("d/a/data/__0.blp"))
        os.mkfifo(self.path("d/a/data/__0.blp"))
        for args in (["info"], ["info", "--files"], ["cat"], ["verify"], ["ls"]):
            run(*args, "d/a", cwd=self.folder.name)

    def files_of(self, path):
        found = {os.path.relpath(os.path.join(f, n), self.path(path)) for f, _, names in os.walk(self.path(path)) for n in names}
        return {n for n in found if not n.endswith(".holdall-lock")}

    def test_files(self):
        self.convert(b"n,s\n" + b"".join(b"%d,x%d\n" % (i, i) for i in range(50000)), "big", "--chunk-size", "64K")
        for path in ("d/a", "d/sub/t", "big"):
            listed = self.good("info", "--files", path).decode().splitlines()
            self.assertEqual(len(listed), len(set(listed)))
            # all that is needed: copied elsewhere one by one, they are the dataset
            for name in listed:
                os.makedirs(os.path.dirname(self.path("copy/" + name)), exist_ok=True)
                shutil.copy(self.path(path + "/" + name), self.path("copy/" + name))
            self.assertEqual(self.good("sum", path).split()[0], self.good("sum", "copy").split()[0])
            self.assertEqual({n for n in self.files_of(path) if n.endswith(".blp")}, {n for n in listed if n.endswith(".blp")})
            shutil.rmtree(self.path("copy"))
        self.assertGreater(len([n for n in listed if n.startswith("n/data/")]), 3)
        os.remove(self.path("big/n/data/__2.blp"))
        listed = self.good("info", "--files", "big").decode().splitlines()
        self.assertEqual([n for n in listed if n.endswith(" (missing)")], ["n/data/__2.blp (missing)"])
        found = {f["name"]: f["bytes"] for f in json.loads(self.good("info", "--files", "--json", "big"))["files"]}
        self.assertEqual((found["n/data/__2.blp"], found["n/data/__1.blp"]), (None, os.path.getsize(self.path("big/n/data/__1.blp"))))
        # what is there can be read
        self.assertEqual(len(self.good("cat", "--rows", "0:100", "big").splitlines()), 101)
        self.assertIn("__2.blp", self.bad("cat", "--format", "raw", "--columns", "n", "big")[0])
        self.bad("info", "--files", "d/b.blp", code=2)


class Convert(Tables):
    """Between all formats, and back."""

    def test_tables(self):
        self.convert(self.SMALL, "t")
        self.good("attr", "set", "t", "title", '"x"')
        self.good("attr", "set", "t/n", "unit", '"m"')
        want = self.good("sum", "t").split()[0]
        for name in ("o.csv", "o.jsonl", "o.npy", "o.bcolz", "o.blz"):
            r = run("convert", "t", name, cwd=self.folder.name)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(b"no place for 2 attributes" in r.stderr, not name.endswith("z"))
            if name.endswith("z"):
                self.assertEqual((self.info(name)["format"], self.good("sum", name).split()[0]), (name[2:], want))
            else:
                self.good("convert", "-q", name, "back", "--to", "bcolz", "--force")
                self.assertEqual(self.good("sum", "back").split()[0], want, name)
        self.assertEqual(self.good("attr", "get", "o.bcolz", "title") + self.good("attr", "get", "o.bcolz/n", "unit"), b'"x"\n"m"\n')
        self.assertEqual(self.good("sum", "o.bcolz").split()[0], want)
        # a file of Bloscpack has items with fields, and attributes as metadata
        self.good("convert", "-q", "t", "o.blp")
        self.assertEqual(self.good("sum", "o.blp").split()[0], want)
        self.assertEqual(self.info("o.blp")["metadata"]["attrs"], {"title": "x"})
        self.assertEqual(self.good("convert", "-q", "t", "-", "--to", "csv"), self.good("cat", "t"))
        # as the papers have it: the fields of one dataset
        self.good("convert", "-q", "t", "paper", "--to", "blz-paper")
        self.assertEqual((self.info("paper")["format"], self.good("sum", "paper").split()[0]), ("blz-paper", want))
        self.assertTrue(os.path.exists(self.path("paper/data/n/__1__.bin")))
        self.assertEqual(self.good("attr", "get", "paper", "title"), b'"x"\n')
        self.assertEqual(self.good("cat", "paper"), self.good("cat", "t"))
        self.good("append", "-q", "paper", "in.csv")
        self.good("trim", "-q", "paper", "4")
        self.good("verify", "paper")
        self.good("convert", "-q", "paper", "back", "--to", "bcolz", "--force")
        self.assertEqual(self.good("sum", "back").split()[0], self.good("sum", "paper").split()[0])
        self.bad("convert", "t", "o.bcolz")
        self.good("convert", "-q", "--force", "t", "o.bcolz")
        # all of it counts at once: what fails leaves nothing
        self.write("t/n/__attrs__", b"{")
        self.assertIn("__attrs__", self.bad("convert", "-q", "t", "gone.bcolz")[0])
        self.assertFalse(os.path.exists(self.path("gone.bcolz")))
        self.good("convert", "-q", "t", "kept.bcolz", "--skip-damaged")
        self.good("attr", "get", "kept.bcolz/n")

    def test_arrays(self):
        data = struct.pack("<12d", *range(12))
        self.write("a.npy", npy_file("<f8", (6, 2), data))
        self.good("convert", "-q", "a.npy", "a", "--to", "bcolz")
        self.good("attr", "set", "a", "unit", '"K"')
        for path in (["a", "b.blp"], ["b.blp", "c.bcolz"], ["c.bcolz", "d.bcolz"], ["d.bcolz", "e.npy"], ["e.npy", "f.blp"], ["b.blp", "g.npy"]):
            self.good("convert", "-q", *path)
            self.assertEqual(npy(self.good("cat", "--format", "npy", path[1]))[1] if not path[1].endswith("npy") else npy(self.read(path[1]))[1], data)
        for to in ("blz", "blz-paper"):
            self.good("convert", "-q", "b.blp", "p", "--to", to, "--force")
            self.assertEqual((self.info("p")["format"], self.good("cat", "p"), self.good("attr", "get", "p", "unit")), (to, data, b'"K"\n'))
            self.good("append", "-q", "p", "a.npy")
            self.good("trim", "-q", "p", "9")
            self.assertEqual(self.good("cat", "p"), data + data[:48])
            self.good("verify", "p")
        self.assertEqual(self.good("attr", "get", "d.bcolz"), b'{\n  "unit": "K"\n}\n')
        self.good("convert", "-q", "b.blp", "h.csv")
        self.assertEqual(self.read("h.csv").splitlines()[1], b"2.0,3.0")
        self.assertEqual([json.loads(x) for x in self.good("convert", "-q", "a", "-", "--to", "jsonl").splitlines()][5], [10.0, 11.0])

    def test_fortran_order(self):
        self.write("f.npy", npy_file("<i4", (2, 3), struct.pack("<6i", 1, 4, 2, 5, 3, 6), True))
        self.good("pack", "-q", "f.npy", "f.blp")
        self.good("convert", "-q", "f.blp", "f.bcolz")
        self.assertEqual(self.good("cat", "f.bcolz"), struct.pack("<6i", 1, 2, 3, 4, 5, 6))
        self.assertIn("Fortran", self.bad("convert", "f.npy", "g.bcolz")[0])

    def test_signals(self):
        with open(WEATHER, "rb") as f:
            head, rows = f.read().split(b"\n", 1)
        self.write("long.csv", head + b"\n" + 60 * rows)
        for out in ("o.bcolz", "o.csv"):
            p = subprocess.Popen([TOOL, "convert", "long.csv", out], cwd=self.folder.name, stderr=subprocess.PIPE)
            time.sleep(0.25)
            p.send_signal(signal.SIGINT)
            self.assertEqual((p.wait(60), p.stderr.read()), (-signal.SIGINT, b""))
            p.stderr.close()
            self.assertFalse(os.path.exists(self.path(out)) and os.listdir(self.path(out)))
            self.assertEqual([f for f in self.files() if f.startswith("o.csv")], [])

    def test_skipped_damage(self):
        self.convert(b"n\n" + b"".join(b"%d\n" % i for i in range(3000)), "t", "--chunk-size", "8K")
        self.flip("t/n/data/__1.blp", 60)
        self.bad("cat", "t")
        for args in (["cat"], ["convert", "--to", "csv", "-q"]):
            words, out = self.bad(*args, "--skip-damaged", "t", *(["-"] if args[0] == "convert" else []))
            rows = out.split()
            self.assertEqual((len(rows), rows[1024], rows[1025], rows[2048], rows[2049]), (3001, b"1023", b"0", b"0", b"2048"))
            self.assertIn("t: ", words)

    def test_names_of_datasets(self):
        self.write("in.csv", self.SMALL)
        self.assertIn("convert makes one", self.bad("pack", "in.csv", "o.bcolz", code=2)[0])

    def test_what_is_there_stays(self):
        self.convert(self.SMALL, "t")
        self.write("o.csv", b"mine")
        self.bad("convert", "t", "o.csv")
        self.assertEqual(self.read("o.csv"), b"mine")
        self.flip("t/x/data/__0.blp", 50)
        self.bad("convert", "t", "o.csv", "--force")
        self.bad("convert", "t", "u")
        self.assertEqual((self.read("o.csv"), os.path.exists(self.path("u"))), (b"mine", False))
        self.bad("convert", "nothere.csv", "u")
        self.bad("convert", "in.csv", "t/n", code=1)


@unittest.skipUnless(datasets(), "no datasets in HOLDALL_FIXTURES")
class Others(Tables):
    """Datasets that bcolz and BLZ wrote."""

    def test_all_of_them(self):
        with tarfile.open(datasets()) as archive:
            members = [m for m in archive.getmembers() if m.name.split("/")[0] in ("bcolz", "blz", "rfc")]
            archive.extractall(self.folder.name, members)
        found = [x for top in ("bcolz", "blz", "rfc") for x in json.loads(self.good("ls", "--json", top))]
        self.assertGreater(len(found), 200)
        for x in found[::7] + [x for x in found if x["kind"] == "table"]:
            if x.get("dtype") == "|O":
                continue
            listed = self.good("info", "--files", x["path"]).decode()
            self.assertNotIn("missing", listed)
            rows = x["rows"] if x["kind"] == "table" else x["shape"][0]
            lines = self.good("cat", "--format", "jsonl", x["path"]).splitlines()
            self.assertEqual(len(lines), rows, x)
            for line in lines[:3]:
                json.loads(line)
            if rows == 0 or x["kind"] != "table":
                continue
            # all but types that differ come back
            self.good("convert", "-q", x["path"], "o.csv", "--force")
            self.good("convert", "-q", x["path"], "o", "--to", "bcolz", "--force")
            self.assertEqual(self.good("sum", "o").split()[0], self.good("sum", x["path"]).split()[0])
            self.good("append", "-q", "o", "o.csv")
            self.assertEqual(self.good("cat", "o", "--rows", f"{rows}:", "--format", "raw"), self.good("cat", "--format", "raw", x["path"]))


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


if __name__ == "__main__":
    unittest.main()
