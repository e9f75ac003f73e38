"""The examples in the documentation strings of arrays, tables and superchunks in Python, each with new containers."""
import doctest
import inspect
import io
import os
import pathlib
import pickle
import unittest

import numpy as np
import pyarrow

from case import Case, holdall

CLASSES = ("Array", "Column", "Schunk", "SchunkStream", "Table")
TEXTS = pathlib.Path(__file__).resolve().parents[1] / "fixtures/stores/text.b2d"
BLOCKS = """schunk = holdall.Schunk.create("texts.b2frame", format="b2frame")
schunk.insert_blocks(0, [b"one", b"and another"])"""
# What an example needs further: variables that are different, or files.
BEFORE = {
    "Array.fill_value": 'array = holdall.Array.create("a.bcolz", 3, "i4", "bcolz", fill_value=-1)',
    "Array.meta_file": 'array = holdall.Array.create("a.blz", 3, "i4", "blz"); array.set_meta_file("units.json", b\'"K"\')',
    "Array.read_object": None,  # the module cannot create such an array
    "Array.refresh": 'array = holdall.Array("data.b2nd")',
    "Array.set_fill_value": 'array = holdall.Array.create("a.bcolz", 3, "i4", "bcolz")',
    "Array.set_meta_file": 'array = holdall.Array.create("a.blz", 3, "i4", "blz")',
    "Array.values": 'holdall.Table.from_arrow("people.b2d", pyarrow.table({"name": ["Ada", None]})).close()',
    "Schunk.append_raw": 'other = holdall.Schunk("data.blp")',
    "Schunk.read_block": BLOCKS,
    "Schunk.read_blocks": BLOCKS,
    "Schunk.read_raw": 'other = holdall.Schunk.create("other.blp", typesize=4)',
    "Schunk.refresh": 'schunk = holdall.Schunk("data.blp")',
    "SchunkStream.close": "stream = holdall.SchunkStream(io.BytesIO())",
    "SchunkStream.finish": "stream = holdall.SchunkStream(io.BytesIO())",
    "SchunkStream.write": "stream = holdall.SchunkStream(io.BytesIO())",
    "Table.build_index": 'table = holdall.Table.create("a.b2d", {"a": "i4"}, "ctable")',
    "Table.meta_file": 'table = holdall.Table.create("a.blz", {"a": "i4"}, "blz_rfc"); table.set_meta_file("units.json", b\'"K"\')',
    "Table.nulls": f"table = holdall.Table({str(TEXTS)!r})",
    "Table.refresh": 'table = holdall.Table("prices.bcolz")',
    "Table.set_meta_file": 'table = holdall.Table.create("a.blz", {"a": "i4"}, "blz_rfc")',
}


def documented():
    """Yields the name and documentation of each class and of its public members."""
    for kind in CLASSES:
        cls = getattr(holdall, kind, None) or holdall._tables.Column
        yield kind, inspect.getdoc(cls)
        for name in dir(cls):
            if not name.startswith("_") and not (kind == "Column" and hasattr(holdall.Array, name)):
                yield f"{kind}.{name}", inspect.getdoc(getattr(cls, name))


class Examples(Case):
    def create(self):
        items = np.arange(10000, dtype="i4").reshape(100, 100)
        with holdall.Array.create("data.b2nd", items.shape, items.dtype, chunk_shape=(50, 100), durability=0) as array:
            array[...] = items
            array.set_attr("unit", "K")
            array.set_attr("scale", [1, 2.5])
            array.commit()
        with holdall.Table.create("prices.bcolz", {"price": "f8", "code": "S3"}, durability=0) as table:
            table.append({"price": [9.5, 8.0, 7.5], "code": [b"EWR", b"JFK", b"LGA"]})
            table.set_attr("source", {"city": "Turin", "year": 2013})
            table.set_attr("unit", "EUR", column="price")
            table.commit()
        with holdall.Schunk.create("data.blp", typesize=4, durability=0) as schunk:
            schunk.append(b"head" * 2500)
            schunk.set_attr("", {"unit": "K"})
            schunk.commit()
        return {
            "array": holdall.Array("data.b2nd", "a", lock=False),
            "table": holdall.Table("prices.bcolz", "a", lock=False),
            "schunk": holdall.Schunk("data.blp", "a", lock=False),
        }

    def test_examples(self):
        here, count = os.getcwd(), 0
        self.addCleanup(os.chdir, here)
        for name, text in documented():
            if ">>>" not in text or BEFORE.get(name, "") is None:
                continue
            folder = self.path()
            folder.mkdir()
            os.chdir(folder)
            variables = {"holdall": holdall, "np": np, "io": io, "pickle": pickle, "pyarrow": pyarrow}
            if not name.endswith((".create", ".save")):
                variables |= self.create()
            exec(BEFORE.get(name, ""), variables)
            test, output = doctest.DocTestParser().get_doctest(text, variables, name, None, None), io.StringIO()
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
            runner.run(test, out=output.write)
            with self.subTest(name):
                self.assertEqual(runner.failures, 0, f"{name}: {output.getvalue()}")
            count += 1
        print(count, "examples")


if __name__ == "__main__":
    unittest.main()
