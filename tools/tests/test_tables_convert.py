#!/usr/bin/env python3
"""Tests of the command-line tool: conversion of tables and arrays in folders. See tool.py."""

import json
import os
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import unittest

from tables import Tables, npy, npy_file
from tool import TOOL, datasets, run

HERE = os.path.dirname(os.path.abspath(__file__))
WEATHER = os.path.join(HERE, "..", "..", "examples", "data", "nyc-weather-2013.csv")


class Convert(Tables):
    """Conversions between all formats."""

    def test_tables_convert_to_each_format_and_back(self):
        self.convert(self.SMALL, "t")
        self.good("attr", "set", "t", "title", '"x"')
        self.good("attr", "set", "t/n", "unit", '"m"')
        want = self.good("sum", "t").split()[0]
        for name in ("o.csv", "o.jsonl", "o.npy", "o.bcolz", "o.blz"):
            r = run("convert", "t", name, cwd=self.folder.name)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(b"cannot store 2 attributes" in r.stderr, not name.endswith("z"))
            if name.endswith("z"):
                self.assertEqual(
                    (self.info(name)["format"], self.good("sum", name).split()[0]), (name[2:], want)
                )
            else:
                self.good("convert", "-q", name, "back", "--to", "bcolz", "--force")
                self.assertEqual(self.good("sum", "back").split()[0], want, name)
        self.assertEqual(
            self.good("attr", "get", "o.bcolz", "title")
            + self.good("attr", "get", "o.bcolz/n", "unit"),
            b'"x"\n"m"\n',
        )
        self.assertEqual(self.good("sum", "o.bcolz").split()[0], want)
        # A Bloscpack file stores structured items, and attributes in its metadata.
        self.good("convert", "-q", "t", "o.blp")
        self.assertEqual(self.good("sum", "o.blp").split()[0], want)
        self.assertEqual(self.info("o.blp")["metadata"]["attrs"], {"title": "x"})
        self.assertEqual(self.good("convert", "-q", "t", "-", "--to", "csv"), self.good("cat", "t"))
        # In the BLZ RFC layout, a table is one dataset with fields.
        self.good("convert", "-q", "t", "rfc", "--to", "blz-rfc")
        self.assertEqual(
            (self.info("rfc")["format"], self.good("sum", "rfc").split()[0]), ("blz-rfc", want)
        )
        self.assertTrue(os.path.exists(self.path("rfc/data/n/__1__.bin")))
        self.assertEqual(self.good("attr", "get", "rfc", "title"), b'"x"\n')
        self.assertEqual(self.good("cat", "rfc"), self.good("cat", "t"))
        self.good("append", "-q", "rfc", "in.csv")
        self.good("trim", "-q", "rfc", "4")
        self.good("verify", "rfc")
        self.good("convert", "-q", "rfc", "back", "--to", "bcolz", "--force")
        self.assertEqual(self.good("sum", "back").split()[0], self.good("sum", "rfc").split()[0])
        self.fails("convert", "t", "o.bcolz")
        self.good("convert", "-q", "--force", "t", "o.bcolz")
        # The output appears as a whole: a failed conversion leaves nothing.
        self.write("t/n/__attrs__", b"{")
        self.assertIn("__attrs__", self.fails("convert", "-q", "t", "gone.bcolz")[0])
        self.assertFalse(os.path.exists(self.path("gone.bcolz")))
        self.good("convert", "-q", "t", "retained.bcolz", "--skip-damaged")
        self.good("attr", "get", "retained.bcolz/n")

    def test_arrays_convert_to_each_format_and_back(self):
        data = struct.pack("<12d", *range(12))
        self.write("a.npy", npy_file("<f8", (6, 2), data))
        self.good("convert", "-q", "a.npy", "a", "--to", "bcolz")
        self.good("attr", "set", "a", "unit", '"K"')
        for path in (
            ["a", "b.blp"],
            ["b.blp", "c.bcolz"],
            ["c.bcolz", "d.bcolz"],
            ["d.bcolz", "e.npy"],
            ["e.npy", "f.blp"],
            ["b.blp", "g.npy"],
        ):
            self.good("convert", "-q", *path)
            self.assertEqual(
                (
                    npy(self.good("cat", "--to", "npy", path[1]))[1]
                    if not path[1].endswith("npy")
                    else npy(self.read(path[1]))[1]
                ),
                data,
            )
        for to in ("blz", "blz-rfc"):
            self.good("convert", "-q", "b.blp", "p", "--to", to, "--force")
            self.assertEqual(
                (
                    self.info("p")["format"],
                    self.good("cat", "p"),
                    self.good("attr", "get", "p", "unit"),
                ),
                (to, data, b'"K"\n'),
            )
            self.good("append", "-q", "p", "a.npy")
            self.good("trim", "-q", "p", "9")
            self.assertEqual(self.good("cat", "p"), data + data[:48])
            self.good("verify", "p")
        self.assertEqual(self.good("attr", "get", "d.bcolz"), b'{\n  "unit": "K"\n}\n')
        self.good("convert", "-q", "b.blp", "h.csv")
        self.assertEqual(self.read("h.csv").splitlines()[:3], [b"f0,f1", b"0.0,1.0", b"2.0,3.0"])
        self.good("convert", "-q", "h.csv", "h.bcolz")
        self.assertEqual(self.info("h.bcolz")["rows"], 6)
        self.assertEqual(
            [
                json.loads(x)
                for x in self.good("convert", "-q", "a", "-", "--to", "jsonl").splitlines()
            ][5],
            [10.0, 11.0],
        )

    def test_arrays_in_fortran_order_become_c_order(self):
        self.write("f.npy", npy_file("<i4", (2, 3), struct.pack("<6i", 1, 4, 2, 5, 3, 6), True))
        self.good("pack", "-q", "f.npy", "f.blp")
        self.good("convert", "-q", "f.blp", "f.bcolz")
        self.assertEqual(self.good("cat", "f.bcolz"), struct.pack("<6i", 1, 2, 3, 4, 5, 6))
        self.assertIn("Fortran", self.fails("convert", "f.npy", "g.bcolz")[0])

    def test_convert_replaces_no_folder_of_other_files(self):
        self.write("a.npy", npy_file("<f8", (3,), bytes(24)))
        for source in ("a.blp", "a.b2nd", "a.bcolz"):
            self.good("convert", "-q", "a.npy", source)
        before = self.files()
        for source in ("a.npy", "a.blp", "a.b2nd", "a.bcolz"):
            for out in ("o.blp", "o.b2nd", "o.bcolz", "o.blz", "o.npy", "o.csv", "o.jsonl"):
                os.mkdir(self.path(out))
                self.write(out + "/mine", b"x")
                self.fails("convert", "-q", "--force", source, out)
                self.assertEqual(
                    (self.files(), self.read(out + "/mine")),
                    (sorted([*before, out]), b"x"),
                    (source, out),
                )
                shutil.rmtree(self.path(out))

    def test_further_files_in_meta_are_copied_or_named(self):
        """Files that the copy cannot store are not lost silently."""
        self.write("a.npy", npy_file("<f8", (3,), bytes(24)))
        self.convert(self.SMALL, "t")
        for to in ("bcolz", "blz", "blz-rfc"):
            self.good("convert", "-q", "a.npy", "a", "--to", to, "--force")
            self.good("attr", "set", "a", "unit", '"K"')
            for out in ("o.bcolz", "o.blz", "o.npy", "o.csv", "o.b2nd"):
                self.good("convert", "-q", "a", out)
                shutil.rmtree(self.path(out), ignore_errors=True)
                if os.path.exists(self.path(out)):
                    os.remove(self.path(out))
                self.write("a/meta/units", b"m")
                self.write("a/meta/more", b"")
                if out in ("o.bcolz", "o.blz"):
                    self.good("convert", "-q", "a", out)
                    for name, content in [("units", b"m"), ("more", b"")]:
                        self.assertEqual(self.read(f"{out}/meta/{name}"), content)
                    files = self.good("info", "--files", out).splitlines()
                    self.assertLessEqual({b"meta/more", b"meta/units"}, set(files))
                    shutil.rmtree(self.path(out))
                else:
                    message, _ = self.fails("convert", "a", out)
                    self.assertRegex(message, "a: meta/(units, meta/more|more, meta/units): ")
                    self.assertFalse(os.path.exists(self.path(out)))
                os.remove(self.path("a/meta/units"))
                os.remove(self.path("a/meta/more"))
        self.write("t/n/meta/units", b"m")
        self.good("convert", "-q", "t", "o.blz")
        self.assertEqual(self.read("o.blz/n/meta/units"), b"m")
        self.assertIn("t: n/meta/units: ", self.fails("convert", "t", "o", "--to", "blz-rfc")[0])

    def test_further_files_of_tables_in_the_rfc_layout(self):
        self.write("in.csv", self.SMALL)
        self.good("convert", "-q", "in.csv", "t", "--to", "blz-rfc")
        self.assertEqual(self.good("attr", "get", "--file", "t"), b"")
        self.good("attr", "set", "--file", "t", "units", "-", stdin=b"\0m")
        self.good("attr", "set", "--file", "t", "more", "in.csv")
        self.assertEqual(self.good("attr", "get", "--file", "t"), b"more\nunits\n")
        self.good("convert", "-q", "t", "o", "--to", "blz-rfc")
        self.assertEqual(self.good("attr", "get", "--file", "o", "units"), b"\0m")
        self.assertEqual(self.read("o/meta/more"), self.read("in.csv"))
        self.assertIn("t: meta/", self.fails("convert", "t", "o.blz")[0])
        self.good("attr", "remove", "--file", "t", "more")
        self.assertIn("'more'", self.fails("attr", "remove", "--file", "t", "more")[0])
        self.assertIn("'more'", self.fails("attr", "get", "--file", "t", "more")[0])
        # a table that replaces another one has only its own files
        self.good("convert", "-q", "t", "o", "--to", "blz-rfc", "--force")
        self.assertEqual(self.good("attr", "get", "--file", "o"), b"units\n")
        self.good("convert", "-q", "in.csv", "o", "--to", "blz-rfc", "--force")
        self.assertEqual(sorted(os.listdir(self.path("o/meta"))), ["attributes", "sizes", "storage"])
        for name in ("../x", "sizes", ".hidden"):
            self.fails("attr", "set", "--file", "t", name, "in.csv")
        self.fails("attr", "set", "--file", "--fixed", "t", "x", "in.csv", code=2)
        self.fails("attr", "get", "--file", "--raw", "t", "x", code=2)
        self.convert(self.SMALL, "b")
        self.good("attr", "set", "--file", "b/n", "units", "in.csv")
        self.assertEqual(self.good("attr", "get", "--file", "b/n"), b"units\n")
        self.assertIn("columns", self.fails("attr", "set", "--file", "b", "x", "in.csv")[0])
        self.assertEqual(self.good("attr", "get", "--file", "b"), b"")

    def test_files_of_others_beside_chunks_are_named(self):
        self.write("a.npy", npy_file("<f8", (3,), bytes(24)))
        self.write("in.csv", self.SMALL)
        for to in ("bcolz", "blz", "blz-rfc"):
            array, table = "a-" + to, "t-" + to
            self.good("convert", "-q", "a.npy", array, "--to", to)
            self.good("convert", "-q", "in.csv", table, "--to", to)
            column = "data/x" if to == "blz-rfc" else "x/data"
            for dataset, inside in [
                (array, ""),
                (array, "data"),
                (array, "meta"),
                (table, ""),
                (table, os.path.dirname(column)),
                (table, column),
            ]:
                for mine, folder in [("notes.txt", False), ("__0.blp.txt", False), ("more", True)]:
                    name = os.path.join(inside, mine)
                    path = self.path(os.path.join(dataset, name))
                    os.mkdir(path) if folder else self.write(os.path.join(dataset, name), b"mine")
                    for out in ("o.bcolz", "o.blz", "o.npy", "o.csv"):
                        if inside == "meta" and not folder and out in ("o.bcolz", "o.blz"):
                            self.good("convert", "-q", dataset, out)
                            self.assertEqual(self.read(f"{out}/{name}"), b"mine")
                            shutil.rmtree(self.path(out))
                            continue
                        self.assertIn(
                            f"{dataset}: {name}: of these files",
                            self.fails("convert", dataset, out)[0],
                        )
                        self.assertFalse(os.path.exists(self.path(out)))
                    os.rmdir(path) if folder else os.remove(path)
                for mine in (
                    ".DS_Store",
                    ".hidden",
                    "a.holdall-lock",
                    ".holdall-journal.holdall-part",
                ):
                    self.write(os.path.join(dataset, inside, mine), b"")
            self.good("convert", "-q", "--force", array, "a.bcolz")
            self.good("convert", "-q", "--force", table, "t.bcolz")
            self.good("convert", "-q", "--force", table, "t.csv")

    def test_a_signal_leaves_no_output(self):
        with open(WEATHER, "rb") as f:
            head, rows = f.read().split(b"\n", 1)
        self.write("long.csv", head + b"\n" + 60 * rows)
        for out in ("o.bcolz", "o.csv"):
            p = subprocess.Popen(
                [TOOL, "convert", "long.csv", out], cwd=self.folder.name, stderr=subprocess.PIPE
            )
            time.sleep(0.25)
            p.send_signal(signal.SIGINT)
            self.assertEqual((p.wait(60), p.stderr.read()), (-signal.SIGINT, b""))
            p.stderr.close()
            self.assertFalse(os.path.exists(self.path(out)) and os.listdir(self.path(out)))
            self.assertEqual([f for f in self.files() if f.startswith("o.csv")], [])

    def test_corrupt_chunks_are_zeros_on_request(self):
        self.convert(b"n\n" + b"".join(b"%d\n" % i for i in range(3000)), "t", "--chunk-size", "8K")
        self.flip("t/n/data/__1.blp", 60)
        self.fails("cat", "t")
        for args in (["cat"], ["convert", "--to", "csv", "-q"]):
            message, out = self.fails(
                *args, "--skip-damaged", "t", *(["-"] if args[0] == "convert" else [])
            )
            rows = out.split()
            self.assertEqual(
                (len(rows), rows[1024], rows[1025], rows[2048], rows[2049]),
                (3001, b"1023", b"0", b"0", b"2048"),
            )
            self.assertIn("t: ", message)

    def test_pack_refuses_names_of_datasets(self):
        self.write("in.csv", self.SMALL)
        self.assertIn("convert makes one", self.fails("pack", "in.csv", "o.bcolz", code=2)[0])

    def test_existing_outputs_stay_unless_convert_succeeds(self):
        self.convert(self.SMALL, "t")
        self.write("o.csv", b"mine")
        self.fails("convert", "t", "o.csv")
        self.assertEqual(self.read("o.csv"), b"mine")
        self.flip("t/x/data/__0.blp", 50)
        self.fails("convert", "t", "o.csv", "--force")
        self.fails("convert", "t", "u")
        self.assertEqual((self.read("o.csv"), os.path.exists(self.path("u"))), (b"mine", False))
        self.fails("convert", "nothere.csv", "u")
        self.fails("convert", "in.csv", "t/n", code=1)


@unittest.skipUnless(datasets(), "no datasets in HOLDALL_FIXTURES")
class Others(Tables):
    """Datasets that bcolz and BLZ wrote."""

    def test_datasets_of_other_tools_convert(self):
        with tarfile.open(datasets()) as archive:
            members = [
                m for m in archive.getmembers() if m.name.split("/")[0] in ("bcolz", "blz", "rfc")
            ]
            archive.extractall(self.folder.name, members)
        found = [
            x for top in ("bcolz", "blz", "rfc") for x in json.loads(self.good("ls", "--json", top))
        ]
        self.assertGreater(len(found), 40)
        for x in found[::7] + [x for x in found if x["kind"] == "table"]:
            if x.get("dtype") == "|O":
                continue
            listed = self.good("info", "--files", x["path"]).decode()
            self.assertNotIn("missing", listed)
            rows = x["rows"] if x["kind"] == "table" else x["shape"][0]
            lines = self.good("cat", "--to", "jsonl", x["path"]).splitlines()
            self.assertEqual(len(lines), rows, x)
            for line in lines[:3]:
                json.loads(line)
            if rows == 0 or x["kind"] != "table":
                continue
            # The rows of text equal those of the table.
            self.good("convert", "-q", x["path"], "o.csv", "--force")
            self.good("convert", "-q", x["path"], "o", "--to", "bcolz", "--force")
            self.assertEqual(
                self.good("sum", "o").split()[0], self.good("sum", x["path"]).split()[0]
            )
            self.good("append", "-q", "o", "o.csv")
            self.assertEqual(
                self.good("cat", "o", "--rows", f"{rows}:", "--to", "raw"),
                self.good("cat", "--to", "raw", x["path"]),
            )


if __name__ == "__main__":
    unittest.main()
