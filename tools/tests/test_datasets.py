#!/usr/bin/env python3
"""Tests of the command-line tool with datasets: arrays and tables in folders. See tool.py."""

import hashlib
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import tarfile
import unittest

try:
    import pyarrow
    import pyarrow.ipc
except ImportError:
    pyarrow = None

from tables import Tables, npy, npy_file
from tool import Base, datasets, run


class Cat(Tables):
    def setUp(self):
        super().setUp()
        self.convert(self.SMALL)

    def test_csv_is_the_default(self):
        self.assertEqual(
            self.good("cat", "t"),
            b'name,n,x,ok\nann,1,0.5,true\nbob,-2,NaN,false\n"c, d",3,1e+300,true\n',
        )

    def test_rows_are_selected_by_a_condition(self):
        condition = "n > 0 and (not ok = false or name = 'bob') and x <= 0.5"
        self.assertEqual(
            self.rows("t", "--columns", "name,n", "--where", condition), [["name", "n"], ["ann", "1"]]
        )
        self.assertEqual([r["n"] for r in self.objects("t", "--where", "starts_with(name, 'c')")], [3])
        self.assertIn("at ^ in: n >^", self.fails("cat", "t", "--where", "n >")[0])
        self.assertIn("no column", self.fails("cat", "t", "--where", "z = 1")[0])

    def test_columns_have_indexes(self):
        self.good("convert", "-q", "t", "t.b2d")
        self.good("index", "build", "t.b2d", "--columns", "n")
        self.assertTrue(os.path.exists(self.path("t.b2d/_indexes/n/summary.block.b2nd")))
        self.assertFalse(os.path.exists(self.path("t.b2d/_indexes/x")))
        self.good("index", "build", "t.b2d")
        self.assertTrue(os.path.exists(self.path("t.b2d/_indexes/x/summary.block.b2nd")))
        self.assertEqual([r["n"] for r in self.objects("t.b2d", "--where", "n > 1")], [3])
        self.good("verify", "t.b2d")
        self.assertIn("only a CTable", self.fails("index", "build", "t")[0])
        self.assertIn("no index", self.fails("index", "build", "t.b2d", "--columns", "name")[0])
        self.assertIn("for bags", self.fails("index", "build", "t.b2d", "--index", "x", code=2)[0])

    def test_rows_and_columns_can_be_selected(self):
        self.assertEqual(
            self.rows("t", "--rows", "::-2", "--columns", "n,name"),
            [["n", "name"], ["3", "c, d"], ["1", "ann"]],
        )
        self.assertEqual([r["n"] for r in self.objects("t", "--rows", "2,0,-3,2")], [3, 1, 1, 3])
        self.assertEqual(self.rows("t", "--rows", "5:"), [["name", "n", "x", "ok"]])
        self.assertEqual(
            self.good("cat", "t", "--rows=1:2"), self.good("cat", "t", "--slice", "1:2")
        )
        self.assertIn("there is no row 3", self.fails("cat", "t", "--rows", "0,3")[0])
        self.assertIn("there is no row -4", self.fails("cat", "t", "--rows=-4")[0])
        self.assertIn("no column 'z'", self.fails("cat", "t", "--columns", "n,z")[0])
        self.assertIn("twice", self.fails("cat", "t", "--columns", "n,n")[0])
        for flags in (
            ["--rows", "x"],
            ["--rows", "1:2:0"],
            ["--rows", ""],
            ["--rows", "1", "--slice", "1:"],
            ["--records", "1"],
        ):
            self.fails("cat", "t", *flags, code=2)

    def test_format_jsonl_prints_an_object_per_row(self):
        self.assertEqual(
            self.objects("t"),
            [
                {"name": "ann", "n": 1, "x": 0.5, "ok": True},
                {"name": "bob", "n": -2, "x": None, "ok": False},
                {"name": "c, d", "n": 3, "x": 1e300, "ok": True},
            ],
        )

    def test_items_of_a_structured_type_are_rows(self):
        head, data = npy(self.good("cat", "--to", "npy", "t"))
        self.assertEqual(
            head,
            {
                "descr": [("name", "|S4"), ("n", "<i8"), ("x", "<f8"), ("ok", "|b1")],
                "fortran_order": False,
                "shape": (3,),
            },
        )
        self.assertEqual(data[:21], b"ann\0" + struct.pack("<qd?", 1, 0.5, True))
        self.assertEqual(data, self.good("cat", "--to", "raw", "t"))
        self.assertEqual(
            self.good("sum", "t"), hashlib.sha256(data).hexdigest().encode() + b"  t\n"
        )
        self.assertEqual(
            npy(self.good("cat", "--to", "npy", "--rows", "1", "--columns", "n", "t"))[1],
            struct.pack("<q", -2),
        )

    def test_only_the_requested_columns_are_read(self):
        requested = [
            ["cat", "--columns", "n,name", "--to", to, "t"] for to in ("arrow", "csv", "jsonl", "npy")
        ]
        before = [self.good(*args) for args in requested]
        for column in ("x", "ok"):
            os.remove(self.path(f"t/{column}/data/__0.blp"))
        self.assertEqual([self.good(*args) for args in requested], before)
        self.good("convert", "-q", "--columns", "n,name", "t", "o.csv")
        self.assertIn("x/data/__0.blp", self.fails("cat", "--to", "arrow", "t")[0])

    def test_tables_convert_to_arrow_and_back(self):
        out = self.good("cat", "--to", "arrow", "--rows", "1:", "--columns", "n,name", "t")
        self.assertTrue(
            out.startswith(b"\xff\xff\xff\xff") and out.endswith(b"\xff\xff\xff\xff\0\0\0\0")
        )
        self.assertEqual(len(out) % 8, 0)
        self.assertIn(struct.pack("<2q", -2, 3), out)
        self.assertIn(b"bobc, d", out)
        out = self.good("cat", "--to", "arrow", "--rows", "::2", "--columns", "n", "t")
        self.assertIn(struct.pack("<2q", 1, 3), out)
        self.assertIn("for tables", self.fails("cat", "--to", "arrow", "t/n")[0])

    @unittest.skipUnless(pyarrow, "no pyarrow")
    def test_pyarrow_reads_the_arrow_files(self):
        self.convert(
            b's,t,v,b,o\nx,2013-01-01T10:00:00Z,"[1,2]",1,"{""a"":1}"\n\u00e9,NA,"[3,4]",0,"{""a"":2}"\n'.replace(
                b"\\u00e9", b"\xc3\xa9"
            ),
            "u",
            "--dtypes",
            "t=M8[us],v=('<f4',(2,)),b=?,o=[('a','<i2')]",
        )
        for path in ("t", "u"):
            table = pyarrow.ipc.open_stream(self.good("cat", "--to", "arrow", path)).read_all()
            table.validate(full=True)
            rows = json.loads(json.dumps(table.to_pylist(), default=lambda x: x.isoformat()))
            self.assertEqual(
                json.loads(
                    json.dumps(rows).replace("NaN", "null").replace("10:00:00", "10:00:00.000000")
                ),
                self.objects(path),
            )

        def read(*args):
            stream = self.good("cat", "--to", "arrow", *args, "t")
            return pyarrow.ipc.open_stream(stream).read_all()

        table = read("--rows", "1:1")
        self.assertEqual((table.num_rows, table.column_names), (0, ["name", "n", "x", "ok"]))
        self.assertEqual(read("--rows", "2,0,2", "--columns", "n").to_pydict(), {"n": [3, 1, 3]})
        self.assertEqual(read("--where", "n < 3 and ok").to_pydict()["name"], ["ann"])

    def test_columns_are_arrays(self):
        self.assertEqual(self.good("cat", "t/n"), struct.pack("<3q", 1, -2, 3))
        self.assertEqual(self.good("cat", "--to", "csv", "t/n"), b"f0\n1\n-2\n3\n")
        self.assertEqual(self.good("cat", "--to", "jsonl", "t/name"), b'"ann"\n"bob"\n"c, d"\n')
        self.assertEqual(self.good("cat", "--rows", "2,0", "t/n"), struct.pack("<2q", 3, 1))
        self.assertEqual(self.good("cat", "--to", "text", "--rows", "-1,0", "t/n"), b"3\n1\n")
        self.fails("cat", "--columns", "n", "t/n")
        self.fails("cat", "--to", "text", "t")

    def test_missing_rows_and_columns_are_named(self):
        for args in (
            ["cat", "u", "--rows", "1"],
            ["info", "u", "--files"],
            ["ls", "u"],
            ["trim", "u", "1"],
            ["append", "u", "in.csv"],
        ):
            self.assertIn("u: No such file", self.fails(*args)[0])


class Append(Tables):
    def setUp(self):
        super().setUp()
        self.convert(self.SMALL)
        self.once = self.good("cat", "--to", "raw", "t")

    def test_rows_are_appended_from_every_format(self):
        self.write("more.csv", b"ok,x,n,name\nfalse,NA,9,eve\n")
        self.good("append", "-q", "t", "more.csv")
        self.write("more.jsonl", b'{"n": 8, "name": "fay", "ok": true}\n')
        self.good("append", "-q", "t", "more.jsonl")
        self.good("append", "-q", "t", "-", "--from", "csv", stdin=b"name,n,x,ok\ngil,7,1,true\n")
        self.good("append", "-q", "t", "-", stdin=self.once)
        self.write("more.npy", self.good("cat", "--to", "npy", "t"))
        self.good("append", "-q", "t", "more.npy")
        rows = self.rows("t")[1:]
        self.assertEqual(len(rows), 18)
        self.assertEqual(
            rows[3:6],
            [
                ["eve", "9", "NaN", "false"],
                ["fay", "8", "NaN", "true"],
                ["gil", "7", "1.0", "true"],
            ],
        )
        self.assertEqual(rows[:9], rows[9:])
        self.good("verify", "t")

    def test_invalid_rows_are_refused(self):
        for name, data, expected in [
            ("b.csv", b"name,n,x\na,1,2\n", "3 fields, and there are 4"),
            ("b.csv", b"name,n,x,no\na,1,2,true\n", "'no' is none of the columns"),
            ("b.csv", b"name,n,x,n\na,1,2,3\n", "twice"),
            (
                "b.csv",
                b"name,n,x,ok\nann,1,2,true\nrobert,1,2,true\n",
                "line 3, column 'name': \"robert\" is too long",
            ),
            (
                "b.jsonl",
                b'{"name": "a", "n": 1, "ok": true}\n{"n": 1}\n',
                "line 2, column 'ok': \"\" is missing",
            ),
            ("b.jsonl", b'{"z": 1}\n', "'z' is none"),
            ("b.raw", self.once[:-1], "are no whole row, of 21 bytes"),
            ("b.npy", npy_file("<f8", (1,), bytes(8)), "1 column"),
            (
                "b.npy",
                npy_file(
                    [("name", "|S4"), ("n", "<i4"), ("x", "<f8"), ("ok", "|b1")], (1,), bytes(17)
                ),
                "expected rows of column 'n', <i8",
            ),
            ("b.npy", self.good("cat", "--to", "npy", "t")[:-21], "declares 3 rows, found 2"),
        ]:
            self.write(name, data)
            self.assertIn(expected, self.fails("append", "t", name)[0], data)
            self.assertEqual(self.good("cat", "--to", "raw", "t"), self.once)

    def test_arrays_take_items_of_their_type(self):
        self.write("a.npy", npy_file("<i4", (3,), struct.pack("<3i", 1, 2, 3)))
        self.good("convert", "-q", "a.npy", "a", "--to", "bcolz")
        self.good("append", "-q", "a", "a.npy")
        self.good("append", "-q", "a", "-", stdin=struct.pack("<i", 9))
        self.assertEqual(
            self.good("cat", "--to", "text", "a").split(), b"1 2 3 1 2 3 9".split()
        )
        self.write("b.csv", b"n\n1\n2\n")
        self.assertIn("rows of text are for tables", self.fails("append", "a", "b.csv")[0])
        self.fails("append", "a", "-", stdin=b"abc")


class Change(Tables):
    def setUp(self):
        super().setUp()
        self.convert(b"n,s\n" + b"".join(b"%d,x%d\n" % (i, i) for i in range(1000)))

    def test_trim_removes_rows_at_the_end(self):
        self.good("trim", "-q", "t", "700")
        self.assertEqual(self.rows("t")[-1], ["699", "x699"])
        r = run("trim", "t", "--", "-100", cwd=self.folder.name)
        self.assertEqual((r.returncode, r.stderr), (0, b"t: 100 rows gone, now 600\n"))
        self.good("trim", "-q", "t", "600")
        self.assertEqual(self.info("t")["rows"], 600)
        self.assertIn("it has 600 rows, and not 601", self.fails("trim", "t", "601")[0])
        self.fails("trim", "t", "--", "-601")
        for rows in ("x", "", "1x", "9" * 30):
            self.fails("trim", "t", rows, code=2)
        self.good("trim", "-q", "t", "0")
        self.assertEqual(self.rows("t"), [["n", "s"]])
        self.write("a.npy", npy_file("<i4", (3,), struct.pack("<3i", 1, 2, 3)))
        for name, to in (("a", "bcolz"), ("a.blp", "blpk")):
            self.good("convert", "-q", "a.npy", name, "--to", to)
            self.good("trim", "-q", name, "2")
            self.assertEqual(self.good("cat", name), struct.pack("<2i", 1, 2))
        self.good("pack", "-q", "a.npy", "b.blp", "--raw")
        self.assertIn("no array", self.fails("trim", "b.blp", "1")[0])

    def test_rows_are_removed_and_inserted_anywhere(self):
        before = self.rows("t")
        r = run("trim", "t", "--remove", "100:150", cwd=self.folder.name)
        self.assertEqual((r.returncode, r.stderr), (0, b"t: 50 rows gone, now 950\n"))
        self.assertEqual(self.rows("t"), before[:101] + before[151:])
        self.write("some.csv", b"n,s\n" + b"".join(b"%d,x%d\n" % (i, i) for i in range(100, 150)))
        r = run("append", "t", "some.csv", "--before", "100", cwd=self.folder.name)
        self.assertEqual((r.returncode, r.stderr), (0, b"t: 50 rows inserted; now 1000\n"))
        self.assertEqual(self.rows("t"), before)
        self.good("trim", "-q", "t", "--remove", "-10:")
        self.good("append", "-q", "t", "some.csv", "--before", "990")
        self.assertEqual(self.rows("t"), before[:991] + before[101:151])
        self.good("trim", "-q", "t", "--remove", "5:5")
        for rows in ("1:2000", "2000:", "-2000:"):
            self.assertIn("exceeds", self.fails("trim", "t", "--remove", rows)[0])
        for rows in ("1:5:2", "::-1", "3", "x"):
            self.fails("trim", "t", "--remove", rows, code=2)
        self.fails("trim", "t", "5", "--remove", "1:2", code=2)
        self.fails("trim", "t", code=2)
        self.assertIn("no row 1041", self.fails("append", "t", "some.csv", "--before", "1041")[0])
        self.write("a.npy", npy_file("<i4", (3,), struct.pack("<3i", 1, 2, 3)))
        self.good("convert", "-q", "a.npy", "a", "--to", "bcolz")
        self.good("trim", "-q", "a", "--remove", "1:2")
        self.assertEqual(self.good("cat", "a"), struct.pack("<2i", 1, 3))
        self.assertIn("for tables", self.fails("append", "a", "a.npy", "--before", "0")[0])

    def test_links_out_of_the_folder_are_followed_on_request(self):
        folder = pathlib.Path(self.folder.name)
        before = self.rows("t")
        for column in ("n", "s"):
            (folder / "t" / column / "data").rename(folder / column)
            (folder / "t" / column / "data").symlink_to(folder / column)
        self.assertIn("leads out of", self.fails("cat", "t")[0])
        self.write("some.csv", b"n,s\n1,x\n")
        self.assertIn("leads out of", self.fails("append", "t", "some.csv")[0])
        self.fails("verify", "t")
        self.assertEqual(self.rows("t", "--follow-links"), before)
        self.good("verify", "t", "--follow-links")
        self.good("trim", "-q", "t", "990", "--follow-links")
        self.good("append", "-q", "t", "some.csv", "--follow-links")
        self.good("attr", "set", "t", "a", "1", "--follow-links")
        self.good("repair", "-q", "t", "--follow-links")
        self.assertEqual(self.rows("t", "--follow-links"), before[:991] + [["1", "x"]])
        self.assertTrue((folder / "t/n/data").is_symlink() and list((folder / "n").iterdir()))

    def test_attributes_are_set_read_and_removed(self):
        for path in ("t", "t/n"):
            self.assertEqual(self.good("attr", "get", path), b"{}\n")
            self.good("attr", "set", path, "unit", '"km"')
            self.good("attr", "set", path, "\u00e9", '[1, {"a": null}]')
            self.assertEqual(
                json.loads(self.good("attr", "get", path)),
                {"unit": "km", "\u00e9": [1, {"a": None}]},
            )
            self.assertEqual(self.good("attr", "get", path, "unit"), b'"km"\n')
            self.good("attr", "remove", path, "unit")
            self.assertIn("no attribute 'unit'", self.fails("attr", "get", path, "unit")[0])
            self.assertIn("no attribute 'unit'", self.fails("attr", "remove", path, "unit")[0])
            self.assertEqual(list(json.loads(self.good("attr", "get", path))), ["\u00e9"])
        for args in (
            ["get"],
            ["nonsense", "t"],
            ["get", "t", "a", "b"],
            ["set", "t", "a"],
            ["set", "t", "a", "no json"],
            ["set", "t", "a", "NaN"],
            ["remove", "t"],
            ["remove", "t", "a", "b"],
        ):
            self.fails("attr", *args, code=2)
        self.write("b.bag", b"")
        self.assertIn("none", self.fails("attr", "get", "b.bag")[0])

    def test_further_files_of_columns_are_copied(self):
        self.write("t/n/meta/units", b"K\0m")
        for name in ("u.bcolz", "u.blz"):
            self.good("convert", "-q", "t", name)
            self.assertEqual(self.read(name + "/n/meta/units"), b"K\0m")
            self.assertEqual(self.rows(name), self.rows("t"))
        for args in (["--to", "blz-rfc", "t", "v"], ["t", "v.csv"]):
            self.assertIn("n/meta/units", self.fails("convert", *args)[0])

    def test_repair_restores_a_lost_file_of_sizes(self):
        want = self.rows("t")
        self.write("t/n/meta/sizes", b"")
        self.fails("cat", "t")
        r = run("repair", "t", cwd=self.folder.name)
        if b"does not repair datasets" in r.stderr:
            self.skipTest("the library does not repair datasets")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout.decode(), r"^t: \d+ chunks? retained, \d+ lost\n$")
        self.assertEqual(self.rows("t"), want)

    def test_repair_names_lost_columns(self):
        shutil.rmtree(self.path("t/s"))
        self.fails("repair", "t")
        message, out = self.fails("repair", "--skip-damaged", "--json", "t")
        self.assertIn("t: column removed: s", message)
        self.assertEqual(json.loads(out)["columns_lost"], ["s"])
        self.assertEqual(self.rows("t")[0], ["n"])
        self.good("repair", "--skip-damaged", "t")

    def test_verify_names_the_corrupt_chunk(self):
        self.assertRegex(
            self.good("verify", "t").decode(), r"^t: [1-9]\d* intact, 0 corrupt, 0 unchecked\n$"
        )
        self.flip("t/s/data/__0.blp", 60)
        out = run("verify", "t", cwd=self.folder.name)
        self.assertEqual(out.returncode, 1)
        self.assertIn(b"__0.blp", out.stdout)
        self.fails("cat", "t")
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

    def test_ls_lists_containers_below_a_folder(self):
        self.assertEqual(
            self.good("ls", "d").decode(),
            "a  bcolz array  <f4 [5, 2]\nb.blp  bloscpack array  <f4 [5, 2]\n"
            "sub/t  bcolz table  3 rows\n"
            "  name  |S4 [3]\n  n  <i8 [3]\n  x  <f8 [3]\n  ok  |b1 [3]\n",
        )
        found = json.loads(self.good("ls", "--json", "d"))
        self.assertEqual(
            [(x["path"], x["kind"]) for x in found],
            [("d/a", "array"), ("d/b.blp", "array"), ("d/sub/t", "table")],
        )
        self.assertEqual(
            (found[0]["shape"], found[2]["rows"], found[2]["columns"][1]),
            ([5, 2], 3, {"name": "n", "dtype": "<i8", "shape": [3]}),
        )
        self.assertEqual(
            self.good("ls", "d/sub/t").splitlines()[0], b"d/sub/t  bcolz table  3 rows"
        )
        os.mkdir(self.path("empty"))
        self.assertEqual(self.good("ls", "empty"), b"")
        self.assertEqual(json.loads(self.good("ls", "--json", "empty")), [])
        # A corrupt dataset is reported, the others are listed.
        os.remove(self.path("d/a/meta/sizes"))
        r = run("ls", "d", cwd=self.folder.name)
        self.assertEqual((r.returncode, len(r.stdout.splitlines())), (1, 6))
        self.assertIn(b"d/a", r.stderr)

    def test_links_are_not_followed(self):
        os.symlink("..", self.path("d/up"))
        self.assertEqual(len(self.good("ls", "d").splitlines()), 7)

    def test_info_shows_the_columns(self):
        facts = self.info("d/sub/t")
        self.assertEqual(
            (facts["rows"], facts["columns"][1]["nbytes"], facts["columns"][1]["rows_stored"]),
            (3, 24, 3),
        )
        self.assertRegex(
            self.good("info", "d/sub/t").decode(), r"\n  n: <i8 \[3\], 24 bytes, chunks of \d+\n"
        )

    def test_implausible_sizes_are_refused(self):
        storage = b'{"dtype": "int8", "cparams": {}, "chunklen": 1000}'
        for name in ("huge/a", "huge/b"):
            for folder in ("meta", "data"):
                os.makedirs(self.path(name + "/" + folder))
            self.write(
                name + "/meta/sizes",
                b'{"shape": [%d], "nbytes": %d, "cbytes": 9}' % (1 << 57, 1 << 57),
            )
            self.write(name + "/meta/storage", storage)
        self.write("huge/__rootdirs__", b'{"names": ["a", "b"]}')
        os.symlink("..", self.path("huge/b/data/up"))
        for path in ("huge", "huge/a"):
            self.good("ls", path)
            self.good("info", path)
            for args in (
                ["cat"],
                ["verify"],
                ["repair"],
                ["info", "--files"],
                ["sum"],
                ["cat", "--skip-damaged"],
                ["repair", "--skip-damaged"],
            ):
                r = run(*args, path, cwd=self.folder.name)
                self.assertEqual(r.returncode, 1, args)
            for to in ("bcolz", "csv", "blpk"):
                for more in ([], ["--skip-damaged"]):
                    r = run("convert", "-q", path, "out", "--to", to, *more, cwd=self.folder.name)
                    self.assertEqual(r.returncode, 1, (to, more))
                    self.assertFalse(os.path.exists(self.path("out")))

    def test_the_tool_does_not_wait_for_pipes(self):
        os.remove(self.path("d/a/data/__0.blp"))
        os.mkfifo(self.path("d/a/data/__0.blp"))
        for args in (["info"], ["info", "--files"], ["cat"], ["verify"], ["ls"]):
            run(*args, "d/a", cwd=self.folder.name)

    def files_of(self, path):
        found = {
            os.path.relpath(os.path.join(f, n), self.path(path))
            for f, _, names in os.walk(self.path(path))
            for n in names
        }
        return {n for n in found if not n.endswith(".holdall-lock")}

    def test_info_files_lists_all_files_of_a_dataset(self):
        self.convert(
            b"n,s\n" + b"".join(b"%d,x%d\n" % (i, i) for i in range(50000)),
            "big",
            "--chunk-size",
            "64K",
        )
        for path in ("d/a", "d/sub/t", "big"):
            listed = self.good("info", "--files", path).decode().splitlines()
            self.assertEqual(len(listed), len(set(listed)))
            # The list is complete: copies of the listed files are the dataset.
            for name in listed:
                os.makedirs(os.path.dirname(self.path("copy/" + name)), exist_ok=True)
                shutil.copy(self.path(path + "/" + name), self.path("copy/" + name))
            self.assertEqual(self.good("sum", path).split()[0], self.good("sum", "copy").split()[0])
            self.assertEqual(
                {n for n in self.files_of(path) if n.endswith(".blp")},
                {n for n in listed if n.endswith(".blp")},
            )
            shutil.rmtree(self.path("copy"))
        self.assertGreater(len([n for n in listed if n.startswith("n/data/")]), 3)
        os.remove(self.path("big/n/data/__2.blp"))
        listed = self.good("info", "--files", "big").decode().splitlines()
        self.assertEqual(
            [n for n in listed if n.endswith(" (missing)")], ["n/data/__2.blp (missing)"]
        )
        found = {
            f["name"]: f["bytes"]
            for f in json.loads(self.good("info", "--files", "--json", "big"))["files"]
        }
        self.assertEqual(
            (found["n/data/__2.blp"], found["n/data/__1.blp"]),
            (None, os.path.getsize(self.path("big/n/data/__1.blp"))),
        )
        # The other chunks can be read.
        self.assertEqual(len(self.good("cat", "--rows", "0:100", "big").splitlines()), 101)
        self.assertIn("__2.blp", self.fails("cat", "--to", "raw", "--columns", "n", "big")[0])
        self.assertEqual(self.good("info", "--files", "d/b.blp"), b"b.blp\n")


@unittest.skipUnless(datasets(), "no datasets in HOLDALL_FIXTURES")
class Dataset(Base):
    """Datasets that bcolz wrote."""

    def unpack(self, path, name):
        with tarfile.open(datasets()) as archive:
            members = [
                m for m in archive.getmembers() if m.name == path or m.name.startswith(path + "/")
            ]
            archive.extractall(self.folder.name, members)
        shutil.move(self.path(path), self.path(name))

    def test_arrays_of_bcolz_are_read(self):
        self.unpack("bcolz/bcolz121_attrs/attrs_many", "a")
        self.assertEqual(self.good("identify", "a"), b"a: bcolz array\n")
        facts = json.loads(self.good("info", "--json", "a"))
        self.assertEqual(
            [facts[k] for k in ("format", "kind", "dtype", "shape", "chunk", "nbytes")],
            ["bcolz", "array", "<f8", [120], [50], 960],
        )
        self.assertEqual(
            (facts["attrs"]["coords"], facts["attrs"]["unic\u00f6de"]),
            ({"lat": 40.1, "lon": 0.5}, "\u6f22\u5b57"),
        )
        self.assertIn(b"\nattributes:\n  coords: {", self.good("info", "a"))
        items = struct.unpack("<120d", self.good("cat", "a"))
        self.assertEqual(
            self.good("cat", "--to", "text", "--slice", "117:", "a").split(),
            [b"%g" % x for x in items[117:]],
        )
        self.assertEqual(
            self.good("cat", "--slice", "::-7", "a"), struct.pack("<18d", *items[::-7])
        )
        self.assertTrue(self.good("cat", "--to", "npy", "a").startswith(b"\x93NUMPY"))
        self.assertEqual(self.good("verify", "a/"), b"a/: 0 intact, 0 corrupt, 3 unchecked\n")
        self.good("convert", "--quiet", "a", "a.blp")
        self.assertEqual(self.good("cat", "a.blp"), struct.pack("<120d", *items))
        # Flags of other formats are refused.
        for flags in (["--lengths"], ["--records", "1"]):
            self.fails("cat", *flags, "a", code=2)
        for flags in ([], ["--slice", "3:90:2"]):
            self.assertEqual(
                self.good("sum", *flags, "a"),
                hashlib.sha256(self.good("cat", *flags, "a")).hexdigest().encode() + b"  a\n",
            )

    def test_tables_of_bcolz_are_read(self):
        self.unpack("bcolz/bcolz121_table/t_attrs", "t")
        facts = json.loads(self.good("info", "--json", "t"))
        self.assertEqual(
            (facts["kind"], facts["rows"], facts["attrs"]), ("table", 530, {"n": 1, "title": "x"})
        )
        self.assertEqual(
            [(c["name"], c["dtype"], c["rows_stored"]) for c in facts["columns"]],
            [("a", "<i4", 530), ("b", "<f8", 530), ("c", "|S6", 530)],
        )
        self.assertEqual(len(self.good("cat", "t/c")), 530 * 6)
        self.assertEqual(self.good("cat", "--rows", "0:1", "t"), b"a,b,c\n1,2.0,-2\n")
        # A column is longer than the others.
        self.write("t/b/meta/sizes", b'{"shape": [500], "nbytes": 4000, "cbytes": 1}')
        self.assertRegex(
            self.good("info", "t"),
            rb"\n  a: <i4 \[500\], 2000 bytes, chunks of \d+, 30 more rows that other columns lack\n",
        )
        os.rename(self.path("t/c"), self.path("t/d"))
        self.assertIn('column "c"', self.fails("info", "t")[0])

    def test_objects_of_bcolz_are_printed_as_pickles(self):
        self.unpack("bcolz/bcolz121_object/obj", "o")
        found = self.good("cat", "o")
        pickles = io.BytesIO(found)
        self.assertEqual([pickle.load(pickles) for _ in range(5)], ["x", None, 17, 2.5, [1, 2]])
        self.assertEqual(pickles.read(), b"")
        self.assertTrue(found.startswith(self.good("cat", "--slice", ":2", "o")))
        self.fails("cat", "--to", "npy", "o")
        self.fails("sum", "o")

    def test_corrupt_chunks_become_default_values(self):
        self.unpack("bcolz/bcolz121_dflt/dflt_S", "a")
        good = self.good("cat", "a")
        rows = json.loads(self.good("info", "--json", "a"))["chunk"][0]
        chunk = bytearray(self.read("a/data/__1.blp"))
        chunk[16] = 99
        self.write("a/data/__1.blp", chunk)
        r = run("verify", "a", cwd=self.folder.name)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(
            r.stdout.decode(),
            r"^a/data/__1.blp: chunk 1: .*\na: 0 intact, 1 corrupt, \d+ unchecked\n$",
        )
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
