"""Stores of python-blosc2: a mapping of nodes, by handle and by path, in memory, pickled."""
import dataclasses
import hashlib
import json
import pickle
import unittest

import blosc2
import numpy
import pyarrow
from case import ROOT, Case, holdall

STORES = ROOT / "tests/fixtures/stores"


def values(column):
    """The values of a column of python-blosc2, which masks some kinds of nulls."""
    return [None if one is None or one is numpy.ma.masked else one for one in column[:]]



class Stores(Case):
    def check(self, node, facts):
        if facts["kind"] == "array":
            self.assertIsInstance(node, holdall.Array)
            self.assertEqual((node.dtype.str, list(node.shape)), (facts["dtype"], facts["shape"]))
            content = numpy.ascontiguousarray(node[...]).tobytes()
        else:
            self.assertIsInstance(node, holdall.Schunk)
            content = node.read()
        self.assertEqual(hashlib.sha256(content).hexdigest(), facts["sha256"])

    def test_nodes_are_those_of_the_manifest(self):
        read = 0
        for name, nodes in json.loads((STORES / "manifest.json").read_text()).items():
            with holdall.Store(STORES / name) as store:
                for path, facts in nodes.items():
                    if facts["kind"] == "reference":
                        self.assertRaises(holdall.UnsupportedError, store.open, path)
                        continue
                    self.check(store.open(path), facts)
                    kind = holdall.Array if facts["kind"] == "array" else holdall.Schunk
                    self.check(kind(f"{STORES / name}{path}"), facts)
                    read += 1
        self.assertGreater(read, 60)

    def test_a_store_is_a_mapping(self):
        store = holdall.Store(STORES / "dict.b2z", threads=1)
        self.assertEqual((store.format, len(store), list(store)[0]), ("b2z", 8, "/a"))
        self.assertTrue("/group/b" in store and "/none" not in store)
        self.assertEqual(store["group/b"][:2].tolist(), store["/group/b"][:2].tolist())
        self.assertEqual(store.identify("/group/s"), ("b2frame", "schunk"))
        self.assertEqual(holdall.identify(STORES / "dict.b2z"), ("b2z", "store"))
        self.assertEqual({path: type(node).__name__ for path, node in store.items()}["/objects"], "Schunk")
        self.assertRaises(KeyError, store.__getitem__, "/none")
        self.assertRaises(holdall.TypeError, store.__getitem__, "/group")
        array = store["/a"]
        self.assertIn("dict.b2z", repr(store))
        store.close()
        store.close()
        self.assertRaises(holdall.StateError, store.nodes)
        self.assertEqual(array[9, 99], 999)

    def test_handles_are_pickled(self):
        store = holdall.Store(STORES / "embed.b2e")
        again, array = pickle.loads(pickle.dumps((store, store["/a"])))
        self.assertEqual((list(again), array[1, 1]), (list(store), 101))

    def test_stores_in_memory(self):
        memory = holdall.Memory((STORES / "threshold.b2z").read_bytes())
        self.assertEqual(holdall.Store(memory)["/a"][0, :3].tolist(), [0, 1, 2])
        files = holdall.MemoryFiles()
        for file in (STORES / "tree.b2d").rglob("*.b2*"):
            files.put(str(file.relative_to(STORES / "tree.b2d")), file.read_bytes())
        store = holdall.Store(files)
        self.assertEqual((store.format, store["/group/deep/c"][:].tolist()), ("b2d", [1, 2, 3]))

    def test_stores_are_created_and_changed(self):
        for end, read in (("b2d", blosc2.TreeStore), ("b2z", blosc2.TreeStore), ("b2e", blosc2.EmbedStore)):
            path = self.folder / f"x.{end}"
            rows = pyarrow.table({"id": [1, 2, 3], "name": ["Ada", None, "Zuse"]})
            with holdall.Store(path, "x") as store:
                store["/a"] = numpy.arange(20).reshape(4, 5)
                store["/g/größe"] = b"some bytes"
                store["/g/copy"] = store["/a"]
                if end != "b2e":
                    holdall.Table.from_arrow(store.new("/t", "table"), rows).close()
                self.assertEqual(len(store), 0)
                self.assertFalse(path.is_file())
                store.commit()
                self.assertEqual(len(store), 4 - (end == "b2e"))
                with store.open("/a", "a") as array, store.open("/g/copy", "a") as other:
                    for one in (array, other):
                        one.append(numpy.ones((2, 5), int))
                        one.commit()
                    with holdall.Store(path) as before:
                        self.assertEqual(before["/a"].shape, (4, 5))
                    store.commit()
                del store["/g/größe"]
                with self.assertRaises(KeyError):
                    del store["/none"]
                with self.assertRaises(holdall.ExistsError):
                    holdall.Array.create(store.new("/g"), 3, "u1")
                self.assertRaises(ValueError, store.new, "/x", "bag")
                self.assertRaises(holdall.TypeError, pickle.dumps, store)
                store.commit()
            theirs = read(str(path), mode="r")
            for node in ("/a", "/g/copy"):
                self.assertEqual(theirs[node][:].sum(), 200)
            if end != "b2e":
                self.assertEqual(values(theirs["/t"]["name"]), ["Ada", None, "Zuse"])
            self.assertNotIn("/g/größe", list(theirs.keys()))
            with holdall.Store(path) as store:
                self.assertRaises(holdall.StateError, store.commit)
                self.assertRaises(holdall.StateError, store.__delitem__, "/a")
                copy = self.folder / f"{end}.b2z"
                store.copy(copy)
                self.assertRaises(holdall.ExistsError, store.copy, copy)
                store.copy(copy, mode="w")
                self.assertEqual(list(holdall.Store(copy)), list(store))
        files = holdall.MemoryFiles()
        with holdall.Store(files, "w", "b2z") as store:
            store.update({"/a": [1, 2], "/b": [3.5]})
            store.commit()
        self.assertEqual(holdall.Store(files)["/b"][:].tolist(), [3.5])
        self.assertRaises(holdall.ArgumentError, holdall.Store, holdall.MemoryFiles(), "w")

    def test_ctables_are_tables(self):
        facts = json.loads((STORES / "tables.json").read_text())
        for name, about in facts.items():
            with holdall.Table(STORES / name) as table:
                self.assertEqual(len(table), about["rows"])
                if "texts" in about:
                    chosen = table.arrow(["x", *about["texts"]])
                    for column, texts in about["texts"].items():
                        self.assertEqual(pyarrow.table(chosen)[column].to_pylist(), texts)
                        self.assertEqual(table[column].read_object(1).decode(), texts[1])
                        read = table[column]
                        self.assertEqual(read.values(), texts)
                        self.assertEqual(read.values(3, -1), texts[3:-1])
                        self.assertEqual(read[:].tolist(), texts)
                        self.assertEqual(read[5:1:-2].tolist(), texts[5:1:-2])
                        self.assertEqual((read[-1], read[[0, 4]].tolist()), (texts[-1], [texts[0], texts[4]]))
                        self.assertEqual(read[:0].tolist(), [])
                        self.assertRaises(IndexError, read.__getitem__, len(texts))
                        self.assertRaises(holdall.TypeError, table["x"].values)
                    for column, values in about["bytes"].items():
                        values = [None if value is None else bytes.fromhex(value) for value in values]
                        got = pyarrow.table(table.arrow([column]))[column].to_pylist()
                        self.assertEqual(got, values)
                        self.assertEqual(table[column].values(), values)
                    for column, values in about["lists"].items():
                        got = pyarrow.table(table.arrow([column]))[column]
                        self.assertEqual(got.type, pyarrow.list_(pyarrow.int32()))
                        self.assertEqual(got.to_pylist(), values)
                        self.assertIsNone(table[column].dtype)
                    continue
                arrow = pyarrow.table(table)
                for column, values in about.get("values", {}).items():
                    got = arrow[column].to_pylist()
                    if column == "o":
                        # any objects, in MessagePack
                        self.assertEqual(got, table[column].values())
                        self.assertEqual([one is None for one in got], [v is None for v in values])
                    elif "hex" not in json.dumps(values):
                        self.assertEqual(got, values, column)
                for column, of in about.get("columns", {}).items():
                    nulls = table.nulls(column)
                    found = [] if nulls is None else numpy.flatnonzero(nulls).tolist()
                    self.assertEqual(found, of["nulls"], column)
                    self.assertEqual(arrow[column].null_count, len(of["nulls"]), column)
                    items = numpy.array(table[column][:])
                    items[found] = numpy.zeros((), items.dtype)
                    self.assertEqual(hashlib.sha256(items.tobytes()).hexdigest(), of["sha256"], column)
        self.assertIsInstance(holdall.Store(STORES / "tree.b2z")["/tables/t"], holdall.Table)

    def test_errors(self):
        self.assertRaises(holdall.MissingError, holdall.Store, self.path(".b2z"))
        self.assertRaises(holdall.FormatError, holdall.Store, holdall.Memory(b"PK\x03\x04"))
        with self.assertRaisesRegex(holdall.TypeError, "Store"):
            holdall.Array(STORES / "tree.b2z")
        self.assertRaises(holdall.UnsupportedError, holdall.Array, STORES / "tree.b2z/a", "a")

    def test_ctables_are_written(self):
        types = {"n": "<i4", "at": "<M8[ms]", "s": "<U3", "pair": ("<f8", (2,))}
        rows = {
            "n": numpy.arange(5, dtype="<i4"),
            "at": numpy.arange(5).astype("<M8[ms]"),
            "s": numpy.array(["a", "bcd", "", "é", "z"], "<U3"),
            "pair": numpy.arange(10.0).reshape(5, 2),
        }
        path = self.folder / "x.b2d"
        with holdall.Table.create(path, types, format="ctable") as table:
            table.append(rows)
            table.commit()
        with holdall.Table(path, "a") as table:
            table.append(rows)
            table.attrs["note"] = {"a": [1]}
            table.commit()
        self.assertEqual(holdall.identify(path), ("ctable", "table"))
        with holdall.Table(path) as table:
            self.assertEqual((len(table), table.attrs["note"]), (10, {"a": [1]}))
            for name, values in rows.items():
                numpy.testing.assert_array_equal(table[name][5:], values)
        self.assertRaises(holdall.ArgumentError, holdall.Table.create, self.folder / "x", types, "ctable")

    def test_nulls_of_arrow_are_those_of_the_column(self):
        @dataclasses.dataclass
        class Row:
            i: int = blosc2.field(blosc2.int32(null_value=-1))
            f: float = blosc2.field(blosc2.float64(null_value=float("nan")))
            s: str = blosc2.field(blosc2.string(max_length=4, null_value="?"))
            m: int = blosc2.field(blosc2.int64(nullable=True))  # by a mask

        path, copy = str(self.folder / "n.b2d"), str(self.folder / "copy.b2d")
        with blosc2.CTable(Row, urlpath=path, mode="w", expected_size=4) as table:
            table.append([5, 0.5, "a", 3])
        arrow = pyarrow.table({"i": [None, 7], "f": [1.5, None], "s": ["b", None], "m": [None, 0]})
        with holdall.Table(path, "a") as table:
            table.append(arrow)
            wrong = pyarrow.table({"i": [-1], "f": [1.5], "s": ["b"], "m": [0]})
            with self.assertRaisesRegex(holdall.TypeError, "marks nulls"):
                table.append(wrong)
            table.commit()
        with holdall.Table(path) as table:
            table.copy(copy, format="ctable")
        for name in (path, copy):
            with holdall.Table(name) as table:
                got = pyarrow.table(table).to_pydict()
            self.assertEqual(got["i"], [5, None, 7])
            self.assertEqual(got["s"], ["a", "b", None])
            self.assertEqual(got["m"], [3, None, 0])
            with blosc2.CTable.open(name, mode="r") as table:
                self.assertEqual(table["i"].is_null().tolist(), [False, True, False])
                self.assertEqual(table["f"].is_null().tolist(), [False, False, True])
                self.assertEqual(table["s"].is_null().tolist(), [False, False, True])
                self.assertEqual(table["m"].is_null().tolist(), [False, True, False])

    def test_ctables_take_arrow(self):
        arrow = pyarrow.table({"n": pyarrow.array([1, 2], "int32"), "x": [0.5, -1.0]})
        with holdall.Table.create(self.folder / "y.b2d", {"n": "<i4", "x": "<f8"}, "ctable") as table:
            table.append(arrow)
            table.commit()
        with holdall.Table(self.folder / "y.b2d") as table:
            self.assertEqual(pyarrow.table(table).to_pydict(), arrow.to_pydict())

    def test_texts_of_any_length_are_written(self):
        path, texts = self.folder / "t.b2d", ["a", None, "", "größe" * 9]
        with holdall.Table.create(path, {"t": "T", "n": "<i8"}, "ctable") as table:
            table.append({"t": texts, "n": range(4)})
            table.insert_rows(1, {"t": numpy.array(["x", "y"], object), "n": [7, 8]})
            table.write("t", 0, ["first"])
            table.add("u", [*"abcdef"], dtype="T")
            table.commit()
            for wrong in ([1], [b"x"], [1.5]):
                with self.assertRaisesRegex(TypeError, "'t': expected str"):
                    table.append({"t": wrong, "n": [0], "u": ["x"]})
            self.assertRaises(holdall.ArgumentError, table.append, {"t": ["x"], "n": [1, 2], "u": ["x"]})
            self.assertEqual(len(table), 6)
        expected = ["first", "x", "y", *texts[1:]]
        with holdall.Table(path) as table:
            self.assertEqual(pyarrow.table(table)["t"].to_pylist(), expected)
            self.assertEqual(pyarrow.table(table)["u"].to_pylist(), [*"abcdef"])
            self.assertEqual(table["t"].read_object(5).decode(), texts[3])
        with blosc2.CTable.open(str(path), mode="r") as table:
            self.assertEqual(values(table["t"]), expected)

    def test_values_of_arrow(self):
        @dataclasses.dataclass
        class Row:
            t: str = blosc2.field(blosc2.vlstring(nullable=True))
            b: bytes = blosc2.field(blosc2.vlbytes())
            d: str = blosc2.field(blosc2.dictionary())
            l: list[int] = blosc2.field(blosc2.list(blosc2.int32(), nullable=True))
            s: dict = blosc2.field(blosc2.struct({"a": blosc2.int64(), "f": blosc2.float64()}))

        path = str(self.folder / "v.b2d")
        blosc2.CTable(Row, urlpath=path, mode="w").close()
        arrow = pyarrow.table(
            {
                "t": pyarrow.array(["a", None, "ä" * 100], pyarrow.large_string()),
                "b": pyarrow.array([b"", b"\0", b"xyz"], pyarrow.binary()),
                "d": pyarrow.array(["k", "k", None]).dictionary_encode(),
                "l": pyarrow.array([[1, None], None, []], pyarrow.large_list(pyarrow.int64())),
                "s": pyarrow.array([{"f": 0.5, "a": 1}, {"f": None, "a": -1}, {"f": 2.0, "a": 2}]),
            }
        )
        with holdall.Table(path, "a") as table:
            table.append(arrow)
            table.append(arrow.slice(1))
            table.commit()
        expected = [*arrow.to_pylist(), *arrow.slice(1).to_pylist()]
        with holdall.Table(path) as table:
            self.assertEqual(pyarrow.table(table).to_pylist(), expected)
        with blosc2.CTable.open(path, mode="r") as table:
            for name in arrow.column_names:
                self.assertEqual(values(table[name]), [row[name] for row in expected], name)
        copy = self.folder / "copy.b2d"
        with holdall.Table.from_arrow(copy, holdall.Table(path)) as table:
            table.append(arrow)
            table.commit()
        with blosc2.CTable.open(str(copy), mode="r") as table:
            for name in arrow.column_names:
                self.assertEqual(values(table[name])[:5], [row[name] for row in expected], name)
        wrong = [
            ("l", pyarrow.array([["x"]])),
            ("l", pyarrow.array([[2**31]])),
            ("t", pyarrow.array([b"x"])),
            ("b", pyarrow.array([None], pyarrow.binary())),
            ("s", pyarrow.array([{"a": 1}])),
        ]
        for name, column in wrong:
            one = arrow.slice(0, 1)
            one = one.set_column(one.column_names.index(name), name, column)
            with holdall.Table(path, "a") as table:
                self.assertRaises(holdall.TypeError, table.append, one)
                self.assertEqual(len(table), 5)

    def test_tables_of_arrow(self):
        arrow = pyarrow.table(
            {
                "i": pyarrow.array([1, None, 3], "int16"),
                "flag": [True, None, False],
                "f": pyarrow.array([0.5, float("nan"), None], "float32"),
                "at": pyarrow.array([0, None, 5], pyarrow.timestamp("ms", "UTC")),
                "t": ["a", None, "größe"],
                "d": pyarrow.array(["k", None, "k"]).dictionary_encode(),
                "code": pyarrow.array([7, None, 7]).dictionary_encode(),
                "b": pyarrow.array([b"x", None, b""], pyarrow.large_binary()),
                "l": [[{"a": 1, "b": ["x"]}], None, []],
                "s": [{"n": 1, "t": "x"}, None, {"n": None, "t": ""}],
                "row": pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.int32(), 2)),
            }
        )
        path = self.folder / "all.b2d"
        holdall.Table.from_arrow(path, arrow).close()
        self.assertRaises(holdall.ExistsError, holdall.Table.from_arrow, path, arrow)
        with holdall.Table.from_arrow(path, arrow, mode="w", codec="lz4") as table:
            self.assertEqual(len(table), 3)
        with holdall.Table(path) as table:
            got = pyarrow.table(table)
        for name in arrow.column_names:
            expected, found = arrow[name].to_pylist(), got[name].to_pylist()
            if name == "at":
                expected = [None if one is None else one.replace(tzinfo=None) for one in expected]
            self.assertEqual(repr(found), repr(expected), name)
        with blosc2.CTable.open(str(path), mode="r") as table:
            self.assertEqual(len(table), 3)
            for name in ("i", "flag", "f", "at", "t", "code"):
                self.assertEqual(table[name].is_null().tolist(), arrow[name].is_null().to_pylist(), name)
            for name in ("d", "b", "l", "s"):
                self.assertEqual(values(table[name]), arrow[name].to_pylist(), name)
        for one in (pyarrow.array([1], "date32"), pyarrow.array([1.0], "float16")):
            with self.assertRaisesRegex(holdall.UnsupportedError, "'x'|\"x\""):
                holdall.Table.from_arrow(self.folder / "no.b2d", pyarrow.table({"x": one}))
        self.assertFalse((self.folder / "no.b2d").exists())
        plain = pyarrow.table({"n": [1, 2], "x": [0.5, 1.5]})
        holdall.Table.from_arrow(self.folder / "plain.bcolz", plain, "bcolz").close()
        with holdall.Table(self.folder / "plain.bcolz") as table:
            self.assertEqual(pyarrow.table(table).to_pydict(), plain.to_pydict())
        self.assertRaises(holdall.UnsupportedError, holdall.Table.from_arrow, self.folder / "t.bcolz", arrow, "bcolz")
        nulls = pyarrow.table({"n": pyarrow.array([1, None])})
        self.assertRaises(holdall.TypeError, holdall.Table.from_arrow, self.folder / "t.bcolz", nulls, "bcolz")


if __name__ == "__main__":
    unittest.main()
