"""The Python module: what an argument's type or size would change on its way into C is an error; nothing is dropped in silence."""
import builtins
import subprocess
import sys
import unittest

import numpy as np

from case import ROOT, Case, holdall

NO_BYTES = ["hello", 5, 2.5, [1, 2], None, np.array([None])]
NO_COUNTS = [(2**64, OverflowError), (-1, OverflowError), (1.0, TypeError), (2.5, TypeError), ("1", TypeError), (None, TypeError)]


class Types(Case):
    def opened(self):
        """One of each, to be changed, with three of what it has."""
        field = holdall.Array.create(self.path(), 3, "<i4")
        table = holdall.Table.create(self.path(), {"key": "<i4"})
        table.append({"key": [1, 2, 3]})
        schunk = holdall.Schunk.create(self.path(), 4)
        schunk.append(b"abc")
        bag = holdall.Bag(self.bag([b"a", b"b", b"c"]))
        return field, table, schunk, bag, holdall.BagWriter(self.path()), holdall.Index(bag)

    def test_only_bytes_are_bytes(self):
        field, table, schunk, bag, writer, index = self.opened()
        calls = {
            "schunk append": schunk.append, "append_raw": schunk.append_raw, "write": lambda v: schunk.write(0, v),
            "insert": lambda v: schunk.insert(0, v), "bag append": writer.append, "extend": lambda v: writer.extend([v]),
            "first": index.first, "find": index.find, "find_many": lambda v: index.find_many([v]), "memory": holdall.Memory,
        }  # fmt: skip
        for what, call in calls.items():
            for value in NO_BYTES:
                with self.assertRaises(TypeError, msg=f"{what} of {value!r}"):
                    call(value)
        with self.assertRaises(TypeError):
            writer.extend(b"abc")
        self.assertEqual((len(writer), len(schunk)), (0, 3))
        for value in (b"ab", bytearray(b"ab"), memoryview(b"axbx")[::2], np.frombuffer(b"ab", "u1")):
            writer.append(value)
        writer.commit()
        self.assertEqual(len(writer), 4)

    def attributes(self):
        """Sets an attribute of each kind of container; then what returns its value and its bytes."""
        frame = holdall.Schunk.create(self.path(), format="b2frame")
        blp = holdall.Schunk.create(self.path())
        field, table, *_ = self.opened()
        folder = holdall.Array.create(self.path(), 3, "<i4", "bcolz")
        column = table["key"]
        for name, handle, set_ in [
            ("note", frame, frame.set_attr), ("", blp, blp.set_attr), ("note", field, field.set_attr), ("note", folder, folder.set_attr),
            ("note", table, table.set_attr), ("note", column, lambda name, value: table.set_attr(name, value, column="key")),
        ]:  # fmt: skip
            yield (lambda v, name=name, set_=set_: set_(name, v)), (lambda name=name, h=handle: (h.attrs[name], h.raw_attrs[name])), handle

    def test_attributes_are_what_json_holds(self):
        values = ["hello", "\u00e9\n", "", 5, -(2**63), 2**63 - 1, 2.5, 1e300, True, False, [], {}, [1, [None, "x"], {"a": {"b": [0.5]}}], {"hex": "00ff"}, {"": 1}]
        for set_, get, handle in self.attributes():
            for value in values:
                set_(value)
                got = get()[0]
                self.assertEqual((got, type(got)), (value, type(value)), handle)
            set_((1, 2))
            self.assertEqual(get()[0], [1, 2])
            stored = get()[1]
            set_(stored)
            self.assertEqual(get(), ([1, 2], stored))

    def test_attributes_of_other_kinds_are_refused(self):
        refused = [
            {1: 2}, {"a": {None: 1}}, {1, 2}, object(), 1j, b"ab".join, [b"ab"], {"a": b"ab"}, np.array([1, 2]), np.array([None]), np.int64(3), range(3),
        ]  # fmt: skip
        for set_, get, handle in self.attributes():
            set_([1])
            for value in refused:
                with self.assertRaises(TypeError, msg=f"{value!r} in {handle}"):
                    set_(value)
            for value in (float("nan"), [float("inf")], "\ud800"):
                with self.assertRaises(ValueError, msg=f"{value!r} in {handle}"):
                    set_(value)
            self.assertEqual(get()[0], [1])

    def test_attributes_are_a_mapping_that_changes_the_container(self):
        field, table, *_ = self.opened()
        for handle in (field, table, holdall.Schunk.create(self.path(), format="b2frame")):
            attrs = handle.attrs
            attrs["note"] = [1]
            attrs.update(other="x", note=[2])
            self.assertEqual((attrs, handle.attrs, dict(attrs), len(attrs)), (({"note": [2], "other": "x"},) * 3 + (2,)))
            self.assertEqual((repr(attrs), attrs.pop("note"), attrs.get("note")), (repr({"note": [2], "other": "x"}), [2], None))
            with self.assertRaises(KeyError):
                del attrs["note"]
            with self.assertRaises(TypeError):
                attrs["other"] = None
            self.assertEqual(list(handle.raw_attrs), ["other"])
            handle.commit()
        path = self.path()
        holdall.Array.save(path, [1, 2])
        for handle in (holdall.Array(path), table["key"]):
            with self.assertRaises(holdall.StateError):
                handle.attrs["note"] = 1

    def test_items_of_several_positions_are_a_list(self):
        field, table, *_ = self.opened()
        for rows in ([], [1, 0, 1, -1]):
            self.assertEqual([np.array(item).tolist() for item in field.__getitems__(rows)], [field[i].tolist() for i in rows])
        for rows in ([], [1, 0, 1]):
            self.assertEqual(table.__getitems__(rows), [{name: table[name][i] for name in table.names} for i in rows])
        for handle in (field, table):
            with self.assertRaises(TypeError):
                handle.__getitems__([0.5])
            with self.assertRaises(IndexError):
                handle.__getitems__([len(handle)])

    def test_bytes_of_attributes_are_stored_as_they_are(self):
        for set_, get, handle in self.attributes():
            is_frame = handle.info.format in ("b2frame", "b2nd")
            for stored, value in [(b"\x93\x01\xc0\xa1m", [1, None, "m"]), (b"no MessagePack", b"no MessagePack"), (b"\xc4\x02\0\xff", {"hex": "00ff"})] if is_frame else [(b"[1, 2]", [1, 2])]:
                for given in (stored, bytearray(stored), memoryview(stored)):
                    set_(given)
                    self.assertEqual(get(), (value, stored))
            set_(None)
            self.assertEqual(handle.attrs, {})

    def test_counts_are_whole_and_fit(self):
        field, table, schunk, bag, writer, index = self.opened()
        stream = bag.stream()
        calls = {
            "resize": lambda n: field.resize((n,)), "insert": lambda n: field.insert(n, [1]), "remove": lambda n: field.remove(0, n),
            "remove at": lambda n: field.remove(n), "create": lambda n: holdall.Array.create(self.path(), (n,), "<i4"),
            "chunks": lambda n: holdall.Array.create(self.path(), (3,), "<i4", chunk_shape=(n,)), "read_object": field.read_object,
            "truncate": table.truncate, "remove rows": lambda n: table.remove_rows(n, 1),
            "write": lambda n: table.write("key", n, [1]), "schunk truncate": schunk.truncate,
            "schunk read": lambda n: schunk.read(n, 1), "schunk write": lambda n: schunk.write(n, b"x"), "read_chunk": schunk.read_chunk,
            "schunk insert": lambda n: schunk.insert(n, b"x"), "schunk remove": schunk.remove, "chunk_info": schunk.chunk_info,
            "typesize": lambda n: holdall.Schunk.create(self.path(), n), "bag read": bag.read, "take": stream.take,
            "stream": lambda n: next(bag.stream([n])), "epoch": lambda n: bag.epoch(n), "position": lambda n: bag.epoch(1, position=n),
            "rank": lambda n: bag.epoch(1, rank=n),
        }  # fmt: skip
        for what, call in calls.items():
            for value, error in NO_COUNTS:
                if value is None and what == "stream":
                    continue  # the library's own iterator ends there
                with self.assertRaises(error, msg=f"{what} of {value!r}"):
                    call(value)
        for value in (2**63, -(2**63) - 1):
            with self.assertRaises(OverflowError):
                holdall.Bag(self.bag([]), threads=value)
        with self.assertRaises(TypeError):
            holdall.Bag(self.bag([]), threads=2.7)
        self.assertEqual((field.shape, len(table), schunk.read()), ((3,), 3, b"abc"))
        self.assertEqual((list(bag[:: 2**70]), field[:: 2**70].tolist()), ([b"a"], [0]))

    def test_casts_that_lose_are_refused(self):
        refused = [
            ("i1", [3.7]), ("i1", [300]), ("i1", np.array([300])), ("u8", [-1]), ("u8", [2**64]), ("i4", [1, "2"]), ("i4", ["2"]), ("i8", [np.nan]),
            ("i8", [2.0**63]), ("f4", np.array([0.1])), ("f4", [1e300]), ("f8", np.array([2**53 + 1])), ("f8", np.array([2**63 - 1])), ("f4", [1j]),
            ("S4", [b"zzzzzz"]), ("S4", ["\u00e9"]), ("S4", [12]), ("U2", ["abc"]), ("U2", [b"abc"]), ("?", [2]), ("M8[D]", np.array(["2020-01-01T10"], "M8[h]")),
            ("M8[D]", ["2020-01-01T10"]), ("M8[D]", [1.5]), ("i8", np.array(["2020-01-01"], "M8[D]")), ([("a", "i1"), ("b", "S2")], [(1, b"xyz")]),
            ([("a", "i1"), ("b", "S2")], [(1.5, b"x")]), ([("a", "i1")], np.array([(300,)], [("a", "i4")])), ("i1", np.array([1, 3.7], object)),
        ]  # fmt: skip
        taken = [
            ("i1", [3.0, -128]), ("u8", [2**64 - 1]), ("f4", [0.1]), ("f4", np.array([0.5, np.nan, -np.inf])), ("f8", np.array([2**53])),
            ("S4", [b"zzzz", b"a"]), ("S4", ["ab"]), ("U3", [b"ab"]), (">i2", np.array([7, -7], "<i8")), ("?", [0, 1]), ("M8[s]", ["2020-01-01", "NaT"]),
            ("M8[D]", np.array(["2020-01-01T00"], "M8[h]")), ([("a", "i1"), ("b", "S2"), ("c", "f4", (2,))], [(1, b"x", [0.5, 2])]),
            ([("a", "i1")], np.array([(3,)], [("a", "i4")])), ("c8", [1.5]), ("i1", []),
        ]  # fmt: skip
        for dtype, values, no in [(*case, True) for case in refused] + [(*case, False) for case in taken]:
            name = self.path()
            array = holdall.Array.create(name, 1, dtype)
            table = holdall.Table.create(self.path(), {"a": dtype})
            table.append({"a": np.zeros(1, dtype)})
            calls = [array.append, lambda v: array.insert(0, v), lambda v: table.append({"a": v}), lambda v: table.write("a", 0, v)]
            if len(values) == 1:
                calls += [lambda v: array.__setitem__(0, v[0]), lambda v: array.__setitem__([0], v)]
                calls.append(lambda v: holdall.Array.create(self.path(), 1, dtype, fill_value=v[0]))
                calls += [array.set_fill_value] if no else []  # a b2nd array has none
            for i, call in enumerate(calls):
                if no:
                    with self.assertRaises((TypeError, OverflowError, ValueError), msg=f"call {i}: {values!r} into {dtype}"):
                        call(values)
                elif len(values) == 1 or i not in (3,):
                    call(values)
            if no:
                self.assertEqual((array.shape, len(table), array[...].tolist()), ((1,), 1, np.zeros(1, dtype).tolist()), f"{values!r} into {dtype}")
            elif len(values):
                self.assertEqual(str(table["a"][1:].tolist()), str(np.asarray(values, dtype).tolist()), f"{values!r} into {dtype}")

    def test_masked_elements_are_refused(self):
        for mask in ([0, 1], [0, 0]):
            array = holdall.Array.create(self.path(), 2, "<i4")
            table = holdall.Table.create(self.path(), {"a": "<i4"})
            pairs = holdall.Array.create(self.path(), 0, [("x", "<i4"), ("y", "<f8")])
            data = np.ma.array([1, 2], mask=mask)
            fields = np.ma.array([(1, 2.5)], [("x", "<i4"), ("y", "<f8")], mask=[tuple(mask)])
            calls = [
                lambda: table.append({"a": data}), lambda: table.append({"a": [data[0], data[1]]}), lambda: table.write("a", 0, data), lambda: table.add("b", [[data]] * 2),
                lambda: array.__setitem__(..., data), lambda: array.__setitem__([0, 1], data), lambda: array.append(data), lambda: array.insert(0, list(data)),
                lambda: holdall.Array.save(self.path(), data), lambda: holdall.Array.save(self.path(), [data, data]), lambda: pairs.append(fields),
                lambda: holdall.Array.save(self.path(), fields),
            ]  # fmt: skip
            if any(mask):
                for i, call in enumerate(calls):
                    with self.assertRaisesRegex(TypeError, "column 'a'.*masked" if i < 3 else "masked elements", msg=i):
                        call()
                self.assertEqual((len(table), array[...].tolist(), pairs.shape), (0, [0, 0], (0,)))
            else:
                calls = [call for i, call in enumerate(calls) if i != 3]
                for call in calls:
                    call()
                self.assertEqual((table["a"][...].tolist(), array[...].tolist()), ([1, 2, 1, 2], [1, 2, 1, 2, 1, 2]))
                self.assertEqual(pairs[...].tolist(), [(1, 2.5)])

    def test_fields_are_matched_by_name(self):
        dtype = np.dtype([("x", "<i4"), ("y", "<f8"), ("p", [("u", "<i2"), ("v", "<i2")])])
        data = np.array([((3, 4), 1.5, 2)], [("p", [("v", "<i2"), ("u", "<i2")]), ("y", "<f8"), ("x", "<i4")])
        array = holdall.Array.create(self.path(), 1, dtype)
        for value in (data, data[0], [data[0]], [(2, 1.5, data[0]["p"])], [(2, 1.5, (4, 3))], data[["x", "p", "y"]]):
            array[...] = np.zeros(1, dtype)
            array[...] = value
            self.assertEqual(array[...].tolist(), [(2, 1.5, (4, 3))])
        table = holdall.Table.create(self.path(), {"a": dtype})
        table.append({"a": data})
        self.assertEqual(table["a"][...].tolist(), [(2, 1.5, (4, 3))])
        for names in (("x", "y", "z"), ("x", "y"), ("X", "Y", "P")):
            other = np.zeros(1, [(name, "<i4") for name in names])
            for value in (other, [other[0]]):
                with self.assertRaisesRegex(TypeError, "fields .expected x, y, p, found " + ", ".join(names)):
                    array[...] = value

    def test_lists_that_numpy_would_change_are_refused(self):
        refused = [[2**63 + 1, -1], [1, "2"], [b"a", "b"], [0.5, 2**53 + 1], [[1, 2], [3, "4"]], [np.uint64(2**63 + 1), np.int64(-1)], (1, b"2"), [True, "x"]]
        for values in refused:
            table = holdall.Table.create(self.path(), {"a": "<f8", "b": "<U30"})
            table.append({"a": [0] * len(values), "b": [""] * len(values)})
            for call in (lambda v: holdall.Array.save(self.path(), v), lambda v: table.add("c", v), lambda v: table.write("a", 0, v), lambda v: table.write("b", 0, v)):
                with self.assertRaises(TypeError, msg=values):
                    call(values)
        taken = [[1, 2.5], [True, 2], [1, 1j], [2**64 - 1], [-(2**63)], ["a", "bcd"], [b"a\0", b"b"], [float("nan"), 1], [[1, 2], [3, 4.5]], [], 7, range(3), [np.float32(0.1), 1]]
        taken.append([np.datetime64("2020"), np.datetime64("2020-01-02")])
        for values in taken:
            path = self.path()
            holdall.Array.save(path, values)
            self.assertEqual(str(holdall.Array(path)[...].tolist()), str(np.asarray(values).tolist()))

    def test_no_fill(self):
        for format in ("b2nd", "bcolz"):
            array = holdall.Array.create(self.path(), 3, "<f8", format, fill_value=None)
            self.assertEqual(array[...].tolist(), [0, 0, 0])
        self.assertEqual(holdall.Array.create(self.path(), 2, "S4", fill_value=b"ab")[...].tolist(), [b"ab", b"ab"])

    def test_no_float_is_an_index(self):
        field = self.opened()[0]
        for key in (1.0, np.float32(1), (1.0,), slice(0.0, 2)):
            with self.assertRaises(TypeError):
                field[key]
            with self.assertRaises(TypeError):
                field[key] = 1

    def test_nothing_is_dropped_in_silence(self):
        def array(mode):
            return holdall.Array(self.folder / "a", mode) if mode == "a" else holdall.Array.create(self.folder / "a", 3, "i4")

        def table(mode):
            return holdall.Table(self.folder / "t", mode) if mode == "a" else holdall.Table.create(self.folder / "t", {"a": "i4"})

        def schunk(mode):
            return holdall.Schunk(self.folder / "s", mode) if mode == "a" else holdall.Schunk.create(self.folder / "s")

        changes = {array: lambda h: h.append([1]), table: lambda h: h.append({"a": [1]}), schunk: lambda h: h.append(b"x")}
        changes[lambda mode: holdall.BagWriter(self.folder / "b", mode)] = lambda h: h.append(b"x")
        for opened, change in changes.items():
            with self.assertWarns(holdall.UncommittedWarning), opened("x") as handle:
                change(handle)
            with self.assertWarns(holdall.UncommittedWarning), opened("x"):
                pass
            with opened("x") as handle:
                change(handle)
                handle.commit()
            with opened("a"):
                pass
            with self.assertWarns(holdall.UncommittedWarning), opened("a") as handle:
                handle.commit()
                change(handle)
            with self.assertRaises(ZeroDivisionError), opened("a") as handle:  # and no warning
                change(handle)
                raise ZeroDivisionError
            with opened("a") as handle:
                change(handle)
                handle.close()

    def test_import_star_shadows_nothing(self):
        self.assertEqual(set(holdall.__all__) & set(dir(builtins)), set())
        self.assertTrue(all(hasattr(holdall, name) for name in holdall.__all__))

    def test_the_stub_is_that_of_the_extension(self):
        stub = ROOT / "bindings/generate/stub.py"
        done = subprocess.run([sys.executable, stub, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
