"""The extrema of blocks that python-blosc2 stores for columns with a mask of nulls are current after
changes, and exclude no row that passes a condition."""

import os
import random
import unittest

import blosc2
import numpy as np
import pyarrow as pa

from case import SEED, Case, holdall

ROUNDS = int(os.environ.get("HOLDALL_TIMES", 4))
TYPES = {"i": pa.int32(), "f": pa.float64(), "flag": pa.bool_(), "t": pa.timestamp("us")}


def rows(rng, n):
    base = rng.randrange(10**6)

    def column(name):
        if rng.random() < 0.2:
            return [None] * n
        values = sorted(base + rng.randrange(5000) for _ in range(n))
        if name == "f":
            values = [float("nan") if rng.random() < 0.1 else value / 2 for value in values]
        values = [value > base + 9 for value in values] if name == "flag" else values
        return [None if rng.random() < 0.1 else value for value in values]

    return pa.table({name: pa.array(column(name), of, from_pandas=False) for name, of in TYPES.items()})


class Summaries(Case):
    def test_they_are_current_after_changes(self):
        changes = 0
        for number in range(ROUNDS):
            rng = random.Random(f"{SEED} {number}")
            with self.subTest(seed=SEED, round=number):
                path = self.path(".b2d")
                model = rows(rng, rng.choice((1, 300, 40_000)))
                holdall.Table.from_arrow(path, model, durability=0).close()
                if rng.randrange(2):
                    with blosc2.CTable.open(path, mode="a") as table:
                        for name in TYPES:
                            table.create_index(name, kind=blosc2.IndexKind.SUMMARY)
                else:
                    with holdall.Table(path, "a", durability=0) as table:
                        table.build_index(rng.choice((None, list(TYPES))))
                        table.commit()
                for _ in range(6):
                    self.check(path, model)
                    model = self.changed(rng, path, model)
                    changes += 1
                self.check(path, model)
        print(f"{changes} changes, seed {SEED}")

    def changed(self, rng, path, model):
        """Returns the rows after some changes and a commit."""
        with holdall.Table(path, "a", durability=0) as table:
            for _ in range(rng.randrange(1, 4)):
                new, n = rows(rng, rng.choice((1, 9, 20_000))), len(model)
                at = rng.randrange(n + 1)
                what = rng.randrange(3)
                if what == 0:
                    table.append(new)
                    model = pa.concat_tables([model, new])
                elif what == 1:
                    gone = min(len(new), n - at)
                    table.remove_rows(at, gone)
                    model = pa.concat_tables([model[:at], model[at + gone :]])
                else:
                    # values that are written are not null
                    items = np.arange(min(5, n - at), dtype="i4")
                    table.write("i", at, items)
                    values = model["i"].to_pylist()
                    values[at : at + len(items)] = items.tolist()
                    model = model.set_column(0, "i", pa.array(values, pa.int32()))
            table.commit()
        return model

    def check(self, path, model):
        with blosc2.CTable.open(path, mode="r") as table:
            catalog = table._get_index_catalog()
            self.assertEqual(set(catalog), set(TYPES))
            for name, index in catalog.items():
                level = index["levels"]["block"]
                stored = blosc2.open(level["path"], mode="r")[:]
                items = blosc2.open(os.path.join(path, f"_cols/{name}.b2nd"), mode="r")[:]
                mask = os.path.join(path, f"_cols/{name}.notnull.b2nd")
                valid = blosc2.open(mask, mode="r")[:] if os.path.exists(mask) else np.ones(len(items), bool)
                expected = blosc2.indexing._compute_segment_summaries(
                    items, items.dtype, level["segment_len"], valid
                )
                self.assertEqual((index["stale"], index["null_aware"]), (False, True), name)
                np.testing.assert_array_equal(stored, expected, name)
        with holdall.Table(path) as table:
            low = model["i"].drop_null().to_pylist()[: len(model) // 2][-1:] or [0]
            for condition, passes in (
                (f"i >= {low[0]}", lambda row: row["i"] is not None and row["i"] >= low[0]),
                (f"not i >= {low[0]}", lambda row: row["i"] is not None and row["i"] < low[0]),
                ("f > 2000.5", lambda row: row["f"] is not None and not row["f"] <= 2000.5),
                ("not flag", lambda row: row["flag"] is False),
                ("i is null and f is not null", lambda row: row["i"] is None and row["f"] is not None),
            ):
                expected = [i for i, row in enumerate(model.to_pylist()) if passes(row)]
                self.assertEqual(table.where(condition).tolist(), expected, condition)


    def test_what_can_have_an_index(self):
        path = self.path(".b2d")
        model = rows(random.Random(1), 9).append_column("text", pa.array(["x"] * 9))
        with holdall.Table.from_arrow(path, model, durability=0) as table:
            table.build_index()
            table.build_index(["i"])
            for wrong, error in ((["text"], holdall.UnsupportedError), (["none"], holdall.ArgumentError)):
                with self.assertRaises(error):
                    table.build_index(wrong)
            table.commit()
            table.remove("f")
            table.commit()
        with blosc2.CTable.open(path, mode="r") as table:
            self.assertEqual(set(table._get_index_catalog()), {"i", "flag", "t"})
            self.assertEqual(len(table.where(table["i"] < -5)), 0)
        self.assertFalse(os.path.exists(os.path.join(path, "_indexes/f")))
        result, faults = holdall.verify(path)
        self.assertEqual((result.corrupt, faults), (0, None))
        with holdall.Table.create(self.path(".bcolz"), {"x": "i4"}, durability=0) as table:
            with self.assertRaises(holdall.UnsupportedError):
                table.build_index()
            table.commit()


if __name__ == "__main__":
    unittest.main()
