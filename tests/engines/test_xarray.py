"""The back end of xarray: against the same data in NumPy, with Dask in threads and in processes.

Needs the packages of cmake/python/engines.txt, and the extension of the Python module in
bindings/python.
"""

import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

import dask
import numpy as np
import xarray as xr

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python"))

import holdall  # noqa: E402
from holdall.xarray import Backend  # noqa: E402

SHAPE, CHUNKS, DIMS = (30, 40, 20), (10, 20, 20), ["time", "y", "x"]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rng = np.random.default_rng(3)

    def array(self, name="field.b2nd", dims=DIMS, **attrs):
        """Returns the path of a new array, and its items."""
        data = self.rng.integers(0, 1000, SHAPE, dtype=np.int32)
        path = self.folder / name
        with holdall.Array.create(path, SHAPE, "i4", chunk_shape=CHUNKS) as array:
            array[...] = data
            if dims:
                array.set_attr("_ARRAY_DIMENSIONS", dims)
            for key, value in attrs.items():
                array.set_attr(key, value)
            array.commit()
        return path, data

    def table(self):
        path, columns = self.folder / "trips.bcolz", {"km": "f8", "code": "S3", "at": "M8[s]"}
        data = {
            "km": self.rng.random(1000),
            "code": np.array([b"EWR", b"JFK"] * 500),
            "at": np.arange(1000).astype("M8[s]"),
        }
        with holdall.Table.create(path, columns) as table:
            table.append(data)
            table.commit()
        return path, data


class Arrays(Case):
    def test_an_array_is_a_variable_with_names_attributes_and_chunks(self):
        path, data = self.array(units="K", scale={"from": 1, "to": [2, 3.5]})
        with xr.open_dataset(path, engine=Backend) as found:
            field = found["field"]
            self.assertEqual((field.dims, field.shape), (tuple(DIMS), SHAPE))
            self.assertEqual(field.attrs, {"units": "K", "scale": {"from": 1, "to": [2, 3.5]}})
            self.assertEqual(field.encoding["preferred_chunks"], dict(zip(DIMS, CHUNKS)))
            np.testing.assert_array_equal(field.values, data)
        with xr.open_dataset(path, engine=Backend, variable="t", options={"threads": 1}) as found:
            self.assertEqual(list(found), ["t"])
        with xr.open_dataset(path, engine=Backend, drop_variables="field") as found:
            self.assertEqual(list(found), [])

    def test_every_selection_reads_what_numpy_reads(self):
        path, data = self.array(dims=None)
        inside = xr.DataArray(data, dims=["dim_0", "dim_1", "dim_2"])
        with xr.open_dataset(path, engine=Backend) as found:
            lazy = found["field"]
            for _ in range(200):
                chosen = {}
                for axis, n in enumerate(SHAPE):
                    kind = self.rng.integers(6)
                    a, b = self.rng.integers(-n, n, 2)
                    chosen[f"dim_{axis}"] = (
                        int(a),
                        slice(int(a), int(b), int(self.rng.choice([-3, -1, 1, 2, 5]))),
                        self.rng.integers(-n, n, 7),
                        self.rng.random(n) < 0.2,
                        slice(None),
                        xr.DataArray(self.rng.integers(0, n, 5), dims="points"),
                    )[kind]
                with self.subTest(chosen=chosen):
                    xr.testing.assert_equal(lazy.isel(chosen), inside.isel(chosen))

    def test_opening_reads_no_items_and_corruption_is_an_error_of_its_chunk_alone(self):
        path, data = self.array()
        content = bytearray(path.read_bytes())
        at = len(content) // 2
        content[at : at + 64] = bytes(64)
        path.write_bytes(content)
        with xr.open_dataset(path, engine=Backend) as found:
            intact, corrupt = 0, 0
            for time in range(0, SHAPE[0], CHUNKS[0]):
                for y in range(0, SHAPE[1], CHUNKS[1]):
                    part = slice(time, time + CHUNKS[0]), slice(y, y + CHUNKS[1])
                    try:
                        np.testing.assert_array_equal(found["field"][part].values, data[part])
                        intact += 1
                    except (holdall.ChecksumError, holdall.FormatError):
                        corrupt += 1
            self.assertEqual((intact, corrupt), (5, 1))

    def test_dask_computes_chunk_by_chunk_in_threads_and_processes(self):
        path, data = self.array()
        expected = data.astype("f8").mean(axis=0)
        for scheduler in ("threads", "processes", "synchronous"):
            with self.subTest(scheduler=scheduler), dask.config.set(scheduler=scheduler):
                with xr.open_dataset(path, engine=Backend, chunks={}) as found:
                    field = found["field"]
                    self.assertEqual(field.chunks, ((10,) * 3, (20,) * 2, (20,)))
                    mean = field.astype("f8").mean("time").compute(num_workers=2)
                np.testing.assert_allclose(mean.values, expected)

    def test_a_dataset_can_be_pickled(self):
        path, data = self.array()
        with xr.open_dataset(path, engine=Backend) as found:
            again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again["field"][3].values, data[3])


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        guide = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
        program = re.search(r"```python\n(# mean.py.*?)```", guide, re.S)[1]
        output = re.search(r"mean.py field.b2nd\n```.*?```text\n(.*?)```", guide, re.S)[1]
        (self.folder / "mean.py").write_text(program, encoding="utf-8")
        said = subprocess.run(
            [sys.executable, "mean.py", "field.b2nd"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")},
            capture_output=True,
            text=True,
        )
        self.assertEqual((said.returncode, said.stderr, said.stdout), (0, "", output))


class Tables(Case):
    def test_columns_are_variables_along_rows(self):
        path, data = self.table()
        with xr.open_dataset(path, engine=Backend, drop_variables=["at"]) as found:
            self.assertEqual(sorted(found), ["code", "km"])
        with xr.open_dataset(path, engine=Backend) as found:
            self.assertEqual(dict(found.sizes), {"row": 1000})
            for name, values in data.items():
                np.testing.assert_array_equal(found[name].values.astype(values.dtype), values)
            chosen = found.isel(row=found["km"].values > 0.5)
            self.assertEqual(chosen.sizes["row"], np.count_nonzero(data["km"] > 0.5))


class Errors(Case):
    def test_other_containers_and_wrong_names_are_refused(self):
        bag = self.folder / "lines.bagz"
        with holdall.BagWriter(bag) as writer:
            writer.append(b"a line")
            writer.commit()
        table, _ = self.table()
        few, _ = self.array("few.b2nd", ["time"])
        number, _ = self.array("number.b2nd", [1, 2, 3])
        for path, kind, named, options in (
            (bag, holdall.TypeError, "expected an array or a table, found bag", {}),
            (self.folder / "none.b2nd", holdall.MissingError, "none.b2nd", {}),
            (few, holdall.FormatError, "expected 3, found 1", {}),
            (number, holdall.FormatError, "is no list of names", {}),
            (table, holdall.ArgumentError, "names of columns", {"variable": "t"}),
        ):
            with self.subTest(path=path.name):
                with self.assertRaises(kind) as raised:
                    xr.open_dataset(path, engine=Backend, **options)
                self.assertIn(named, str(raised.exception))

    def test_only_arrays_and_tables_are_guessed(self):
        path, _ = self.array()
        table, _ = self.table()
        text = self.folder / "text"
        text.write_text("no container")
        guessed = [Backend().guess_can_open(p) for p in (path, str(table), text, "none", b"", 5)]
        self.assertEqual(guessed, [True, True, False, False, False, False])


if __name__ == "__main__":
    unittest.main()
