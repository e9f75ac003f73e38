#!/usr/bin/env python3
"""Tests of the command-line tool: nodes of stores, and CTables as text. See tool.py."""

import csv
import io
import json
import os
import tempfile
import unittest

from tool import run

STORES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/fixtures/stores")


class Stores(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(STORES, "tables.json"), encoding="utf-8") as facts:
            self.texts = json.load(facts)["text.b2d"]["texts"]

    def good(self, *args):
        done = run(*args, cwd=STORES)
        self.assertEqual(done.returncode, 0, (args, done.stderr))
        return done.stdout.decode()

    def refused(self, *args):
        done = run(*args, cwd=STORES)
        self.assertEqual(done.returncode, 1, (args, done))
        return done.stderr.decode()

    def test_nodes_are_listed_and_read(self):
        tree = self.good("tree", "tree.b2z")
        self.assertIn("größe", tree)
        for path in ("tree.b2z/group/b", "tree.b2d/group/b"):
            self.assertEqual(self.good("identify", path), f"{path}: b2nd array\n")
            self.assertEqual(len(self.good("cat", path, "--to", "text").split()), 50)
        self.good("verify", "tree.b2z")
        self.assertIn("tree.b2z/none", self.refused("cat", "tree.b2z/none"))
        self.assertIn("group", self.refused("cat", "tree.b2z/group"))

    def test_content_that_is_not_supported_is_no_damage(self):
        path = "../b2nd/p_proxy.b2nd"
        message = self.refused("verify", path, path)
        self.assertRegex(message, r"content that is not supported in 2 of 2\n$")
        done = run("verify", "--json", path, cwd=STORES)
        found = json.loads(done.stdout)
        self.assertEqual((done.returncode, found["result"], found["corrupt"]), (1, "unsupported", 0))

    def test_texts_and_nulls_are_printed(self):
        for to in ("csv", "jsonl"):
            for name, texts in self.texts.items():
                got = self.good("cat", "text.b2d", "--columns", name, "--to", to)
                if to == "jsonl":
                    got = [json.loads(line)[name] for line in got.splitlines()]
                    self.assertEqual(got, texts, name)
                else:
                    # an empty field is a null; an empty text is in quotes, which csv removes
                    got = [row[0] for row in csv.reader(io.StringIO(got), strict=True)]
                    self.assertEqual(got, [name] + [text or "" for text in texts], name)
        got = self.good("cat", "text.b2d", "--columns", "x,t", "--rows", "4,0").splitlines()
        self.assertEqual([line.split(",", 1)[1] for line in got], ["t", '""', ""])
        got = self.good("cat", "text.b2d", "--columns", "t,v", "--rows", "3:9:2", "--to", "jsonl")
        expected = [{"t": self.texts["t"][i], "v": self.texts["v"][i]} for i in range(3, 9, 2)]
        self.assertEqual([json.loads(line) for line in got.splitlines()], expected)

    def test_what_would_not_read_back_is_refused(self):
        self.assertIn("w: values of this kind are not printed", self.refused("cat", "text.b2d"))
        done = self.refused("cat", "text.b2d", "--columns", "x,t", "--to", "npy")
        self.assertIn("t: texts of any length", done)
        done = self.refused("convert", "text.b2d", "-", "--columns", "d", "--to", "csv")
        self.assertIn("column 'd' has nulls", done)
        for args in (("--columns", "x"), ("--columns", "t,w", "--to", "arrow")):
            self.assertTrue(run("cat", "text.b2d", *args, cwd=STORES).stdout)

    def test_nodes_of_archives_are_listed(self):
        for path in ("tree.b2z/group/b", "tree.b2d/group/b"):
            self.assertEqual(self.good("ls", path), f"{path}  b2nd array  <f8 [50]\n")
            self.assertIn("chunks", self.good("tree", path))
        self.assertIn("x  <i8 [5]", self.good("ls", "tree.b2z/tables/t"))
        self.refused("ls", "tree.b2z/none")

    def test_ctables_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            rows, path = os.path.join(folder, "rows.csv"), os.path.join(folder, "x.b2d")
            text = "n,at,s\n1,2.5,a\n-2,0.5,bc\n"
            with open(rows, "w", encoding="utf-8") as file:
                file.write(text)
            self.good("convert", rows, path)
            self.good("append", path, rows)
            whole = text + text.split("\n", 1)[1]
            self.assertEqual(self.good("cat", path), whole)
            self.assertEqual(self.good("identify", path), f"{path}: ctable table\n")
            self.good("verify", path)
            self.good("repair", path)
            self.assertEqual(self.good("cat", path), whole)
            for name in ("y.bcolz", "y.b2d", "y.arrow"):
                copy = os.path.join(folder, name)
                fixed = ("--columns", "n,at") if name == "y.bcolz" else ()
                self.good("convert", path, copy, *fixed)
                if name != "y.arrow":
                    self.assertEqual(self.good("cat", copy), self.good("cat", path, *fixed))
            self.assertIn("there already", self.refused("convert", rows, path))
            self.good("convert", "--force", rows, path)
            self.assertEqual(self.good("cat", path), text)
            self.assertIn(".b2d", self.refused("convert", "--to", "ctable", rows, copy + "x"))
        self.assertIn("read-only", self.refused("append", "table.b2z", os.devnull, "--from", "csv"))

    def test_texts_of_any_length_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            rows, lines = os.path.join(folder, "rows.csv"), os.path.join(folder, "rows.jsonl")
            path, copy = os.path.join(folder, "x.b2d"), os.path.join(folder, "y.b2d")
            text = 'n,s,t\n1,"a, b",größe\n2,,"two\nlines"\n3,"",x\n'
            with open(rows, "w", encoding="utf-8") as file:
                file.write(text)
            with open(lines, "w", encoding="utf-8") as file:
                file.write('{"n":4,"t":"%s","s":null}\n{"n":5,"t":"y"}\n' % ("long" * 5000))
            self.good("convert", rows, path)
            self.assertEqual(self.good("cat", path), text)
            self.assertIn("s: T [3]", self.good("info", path))
            self.good("append", path, lines)
            whole = f'{text}4,,{"long" * 5000}\n5,,y\n'
            self.assertEqual(self.good("cat", path), whole)
            self.good("append", "--before", "1", path, lines)
            self.assertEqual(self.good("cat", path, "--rows", "1:3", "--columns", "n,s"), "n,s\n4,\n5,\n")
            self.good("convert", path, copy, "--rows", "3:", "--columns", "s,t")
            self.assertTrue(self.good("cat", copy).startswith('s,t\n,"two\nlines"\n"",x\n'))
            self.good("verify", path)
            self.good("repair", path)
            back = os.path.join(folder, "back.bcolz")
            self.assertIn("texts of any length", self.refused("convert", path, back))
            with open(lines, "w", encoding="utf-8") as file:
                file.write('{"n":4,"t":7}\n')
            self.assertIn("is no text", self.refused("append", path, lines))
            with open(rows, "wb") as file:
                file.write(b"n,s,t\n1,\xff,x\n")
            self.assertIn("is not UTF-8", self.refused("append", path, rows))
            # a copy keeps nulls, and columns whose values the tool does not print
            for name in ("text.b2d", "deleted.b2d"):
                made = os.path.join(folder, name)
                self.good("convert", name, made)
                self.assertEqual(
                    self.good("cat", made, "--columns", "x,t" if name == "text.b2d" else "i,s"),
                    self.good("cat", name, "--columns", "x,t" if name == "text.b2d" else "i,s"),
                )

    def test_tables_are_listed_with_their_rows(self):
        got = json.loads(self.good("info", "--json", "text.b2d"))
        self.assertEqual((got["format"], got["rows"]), ("ctable", 20))
        self.assertNotIn("more rows", self.good("info", "text.b2d"))
        self.assertIn("nodes", self.refused("info", "--files", "text.b2d"))

    def test_nodes_are_created_and_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            rows, items = os.path.join(folder, "rows.csv"), os.path.join(folder, "items.bin")
            with open(rows, "w", encoding="utf-8") as file:
                file.write("n,s\n1,one\n2,\n")
            with open(items, "wb") as file:
                file.write(b"".join(i.to_bytes(2, "little") for i in range(12)))
            raw = ("--from", "raw", "--dtype", "<u2", "--shape", "3,4")
            for end in ("b2d", "b2z", "b2e"):
                store = os.path.join(folder, f"x.{end}")
                self.good("convert", items, f"{store}/group/a", *raw)
                self.good("convert", items, f"{store}/flat", *raw, "--to", "b2frame")
                self.assertIn("--force", self.refused("convert", items, f"{store}/group/a", *raw))
                self.good("convert", "--force", items, f"{store}/group/a", *raw)
                self.good("append", f"{store}/group/a", items)
                self.assertEqual(self.good("cat", f"{store}/group/a", "--slice", "4", "--to", "text"), "4\n5\n6\n7\n")
                self.good("attr", "set", f"{store}/group/a", "unit", '"m"')
                self.assertEqual(self.good("attr", "get", f"{store}/group/a", "unit"), '"m"\n')
                self.good("trim", f"{store}/group/a", "1")
                self.assertEqual(self.good("cat", f"{store}/group/a", "--to", "text"), "0\n1\n2\n3\n")
                self.assertEqual(self.good("verify", store).count(" 0 corrupt"), 1)
                if end == "b2e":
                    self.assertIn("b2e store", self.refused("convert", rows, f"{store}/t"))
                    continue
                self.good("convert", rows, f"{store}/t")
                self.good("append", f"{store}/t", rows)
                self.assertEqual(self.good("cat", f"{store}/t", "--rows", "1:3"), "n,s\n2,\n1,one\n")
                done = run("convert", items, f"{store}/b", *raw, "--to", "blpk")
                self.assertEqual((done.returncode, b"--to b2nd" in done.stderr), (2, True), done)
            for end in ("b2d", "b2z"):
                copy = os.path.join(folder, f"copy.{end}")
                self.good("convert", os.path.join(folder, "x.b2z"), copy)
                self.assertEqual(self.good("cat", f"{copy}/t", "--columns", "s", "--rows", ":1"), "s\none\n")
                self.assertIn("--force", self.refused("convert", os.path.join(folder, "x.b2d"), copy))
                self.good("convert", "--force", os.path.join(folder, "x.b2d"), copy)
            left = [name for _, _, files in os.walk(folder) for name in files if "holdall" in name]
            self.assertEqual([name for name in left if not name.endswith("-lock")], [])


if __name__ == "__main__":
    unittest.main()
