"""The Python module: arrays against NumPy, tables and bags against pyarrow, Polars and DuckDB."""
import hashlib
import itertools
import struct
import unittest

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from case import SEED, Case, holdall

RECORD = np.dtype([("a", ">i4"), ("b", "S3"), ("c", "<f8", (2,))])
APART = np.dtype([("a", "i1"), ("b", "<f8")], align=True)


class Arrays(Case):
    def some_index(self, shape):
        """Any that NumPy has."""
        rng = self.rng
        if all(shape) and rng.random() < 0.1:
            return np.ix_(*([rng.randrange(-n, n) for _ in range(rng.choice([0, 1, 3]))] for n in shape))
        key = []
        for n in shape:
            kinds = ["slice", "slice", "all"] + (["number", "list", "mask"] if n else [])
            match rng.choice(kinds):
                case "slice":
                    a, b = (rng.choice([None, rng.randint(-n - 2, n + 2)]) for _ in range(2))
                    key.append(slice(a, b, rng.choice([None, 1, 2, 3, -1, -2, n + 1])))
                case "all":
                    key.append(slice(None))
                case "number":
                    key.append(rng.randrange(-n, n))
                case "list":
                    key.append([rng.randrange(-n, n) for _ in range(rng.choice([0, 1, 3, 3]))])
                case "mask":
                    key.append(np.array([rng.random() < 0.5 for _ in range(n)]))
        if rng.random() < 0.2:
            key.insert(rng.randint(0, len(key)), None)
        if rng.random() < 0.3:
            key[rng.randint(0, len(key)) :] = [Ellipsis]
        return key[0] if len(key) == 1 and rng.random() < 0.5 else tuple(key)

    def test_any_index_reads_and_writes_as_numpy_does(self):
        tally = 0
        for format, dtype in itertools.product(["b2nd", "bloscpack", "bcolz", "blz"], ["<f8", ">i2", "S5", "<M8[s]", RECORD]):
            shape = tuple(self.rng.randint(1, 9) for _ in range(self.rng.choice([1, 2, 3])))
            want = np.frombuffer(self.rng.randbytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape).copy()
            path = self.path()
            holdall.Array.save(path, want, format=format, level=1)
            with holdall.Array(path, "a") as a:
                self.assertEqual((a.shape, a.dtype, a.nbytes, len(a)), (shape, want.dtype, want.nbytes, shape[0]))
                for _ in range(25):
                    key = self.some_index(shape)
                    say = f"HOLDALL_SEED={SEED} {format} {shape} {dtype} {key}"
                    try:
                        part = want[key]
                    except IndexError:
                        with self.assertRaises(IndexError, msg=say):
                            a[key]
                        continue
                    have = a[key]
                    if not np.shape(have):  # NumPy gives a scalar, which is native, or an array of no dimensions
                        have, part = np.asarray(have, want.dtype), np.asarray(part, want.dtype)
                    self.assertEqual((np.shape(have), have.dtype), (np.shape(part), part.dtype), say)
                    self.assertEqual(have.tobytes(), part.tobytes(), say)
                    if self.rng.random() < 0.4:
                        items = np.frombuffer(self.rng.randbytes(part.nbytes), dtype).reshape(np.shape(part))
                        if self.unrepeated(shape, key):
                            want[key] = items
                            a[key] = items
                            self.assertEqual(a[...].tobytes(), want.tobytes(), say)
                    tally += 1
                a.commit()
            with holdall.Array(path) as a:
                self.assertEqual(np.asarray(a).tobytes(), want.tobytes(), f"HOLDALL_SEED={SEED}")
        print(f"{tally} indices as in NumPy")

    @staticmethod
    def unrepeated(shape, key):
        """Of an item that is there twice NumPy does not say which value it gets."""
        chosen = np.arange(int(np.prod(shape))).reshape(shape)[key]
        return len(np.unique(chosen)) == np.size(chosen)

    def test_values_are_broadcast_and_cast(self):
        a = holdall.Array.create(self.path(), (4, 6), "<i4", chunk_shape=(2, 3), block_shape=(2, 2), codec="zstd", filters=["bitshuffle"])
        want = np.zeros((4, 6), "<i4")
        for key, value in [((slice(None), 1), 7), ((2,), range(6)), ((slice(None, None, -1), slice(1, 3)), [[1], [2], [3], [4]]), (([3, 0], slice(None)), 1.0)]:
            a[key] = value
            want[key] = value
        self.assertTrue((a[...] == want).all())
        self.assertEqual((a.chunk_shape, a.block_shape, a.order, a.itemsize, a.ndim), ((2, 3), (2, 2), "C", 4, 2))
        a.append(np.ones((1, 6)))
        a.insert(2, np.full((5, 1), 9), axis=1)
        a.remove(0, 2)
        a.resize(3, 8)
        want = np.insert(np.vstack([want, np.ones((1, 6), "<i4")]), 2, 9, axis=1)[2:]
        self.assertTrue((a[:, :7] == want).all() and (a[:, 7] == 0).all())
        a.set_attr("unit", b"\xa1m")
        a.set_attr("fixed", b"\x01", fixed=True)
        a.commit()
        self.assertEqual((a.raw_attrs, a.attrs), ({"fixed": b"\x01", "unit": b"\xa1m"}, {"fixed": 1, "unit": "m"}))
        self.assertEqual((a.info.attr_count, a.info.fixed_attr_count), (2, 1))
        a.copy(self.folder / "copy.bcolz", format="bcolz", level=9)
        with holdall.Array(self.folder / "copy.bcolz") as copy:
            self.assertTrue((copy[:] == a[:]).all())
        self.assertEqual(holdall.identify(self.folder / "copy.bcolz"), ("bcolz", "array"))

    def test_precision_is_truncated_on_request(self):
        with holdall.Array.create(self.path(), (3,), "<f4", precision=3) as a:
            a[:] = [1.999, -2.7, np.inf]
            self.assertEqual(list(a[:]), [1.875, -2.5, np.inf])
            self.assertEqual((a.precision, a.filters), (3, ("trunc_prec", "shuffle")))
            a.commit()
        with holdall.Schunk.create(self.path(), 8, format="b2frame", precision=-40) as s:
            s.set_attr("fixed", b"\x01", fixed=True)
            self.assertEqual((s.precision, s.info.fixed_attr_count), (-40, 1))
            s.commit()
        with self.assertRaises(ValueError):
            holdall.Array.create(self.path(), (3,), "<i4", precision=3)

    def test_no_dimensions_and_fill(self):
        with holdall.Array.create(self.path(), (), "<f4") as a:
            a[()] = 2.5
            self.assertEqual((a[()], a.shape, float(np.asarray(a))), (2.5, (), 2.5))
            a.commit()
        with holdall.Array.create(self.path(), 3, "<i2", format="bcolz", fill_value=-1) as a:
            a.resize(5)
            self.assertEqual((a[:].tolist(), int(a.fill_value)), ([-1] * 5, -1))
            a.set_fill_value(4)
            self.assertEqual(int(a.fill_value), 4)
            a.commit()

    def test_dtypes_come_back(self):
        for values in (np.array(["\u00e9", "xx"]), np.array([True, False]), np.zeros(3, APART), np.zeros((2, 0), ">c8"), np.zeros(2, "M8[25us]")):
            for format in ("b2nd", "bloscpack", "bcolz"):
                path = self.path()
                holdall.Array.save(path, values, format)
                with holdall.Array(path) as a:
                    self.assertEqual((a.shape, str(a.dtype.descr), a[...].tolist()), (values.shape, str(values.dtype.descr), values.tolist()))

    def test_metadata_files_of_datasets(self):
        path = self.path(".blz")
        with holdall.Array.create(path, 3, "<i2", format="blz_rfc") as a:
            a.set_meta_file("units.json", b'"K"')
            a.set_meta_file("\u00e9", b"")
            a.set_meta_file("gone", bytearray(3))
            a.set_meta_file("gone", None)
            for name in ("sizes", "../x", ".x", "", "a/b"):
                with self.assertRaises(holdall.ArgumentError):
                    a.set_meta_file(name, b"")
            a.commit()
            a.copy(self.folder / "copy.bcolz", format="bcolz")
            with self.assertRaises(holdall.UnsupportedError):
                a.copy(self.folder / "copy.b2nd")
        for path in (path, self.folder / "copy.bcolz"):
            self.assertEqual((path / "meta/units.json").read_bytes(), b'"K"')
            with holdall.Array(path) as a:
                self.assertEqual(a.meta_files, ["units.json", "\u00e9"])
                found = [a.meta_file(name) for name in ("units.json", "\u00e9", "none")]
                self.assertEqual(found, [b'"K"', b"", None])

    def test_linked_superchunks_are_followed_on_request(self):
        path, disk = self.path(".blz"), self.path("-disk")
        disk.mkdir()
        values = np.arange(1000, dtype="<i4")
        holdall.Array.save(path, values, "blz_rfc")
        (superchunk,) = (path / "data").iterdir()
        linked = disk / superchunk.name
        superchunk.rename(linked)
        superchunk.symlink_to(linked)
        with self.assertRaises(holdall.FormatError):
            with holdall.Array(path) as a:
                a[:]
        with holdall.Array(path, follow_links=True) as a:
            self.assertTrue((a[:] == values).all())
        before = linked.read_bytes()
        with holdall.Array(path, "a", follow_links=True) as a:
            a[3] = -7
            a.commit()
        with holdall.Array(path, follow_links=True) as a:
            self.assertEqual(a[2:5].tolist(), [2, -7, 4])
        # the commit removes the link, not what it leads to
        self.assertEqual((superchunk.is_symlink(), linked.read_bytes()), (False, before))

    def test_what_numpy_refuses(self):
        a = holdall.Array.create(self.path(), (3, 4), "<i2")
        for key in [3, (0, -5), (0, 0, 0), ([0, 3],), ([1.5],), (np.zeros(4, bool),), (Ellipsis, Ellipsis), "x", ([0, 1], [0, 1, 2])]:
            with self.assertRaises(IndexError, msg=str(key)):
                a[key]
        with self.assertRaises(TypeError):
            a[True]
        with self.assertRaises(ValueError):
            a[0] = [1, 2, 3]
        with self.assertRaises(TypeError):
            holdall.Array.create(self.path(), 3, "<i2", colour=1)
        with self.assertRaisesRegex(ValueError, "lz4"):
            holdall.Array.create(self.path(), 3, "<i2", codec="lz5")


class Tables(Case):
    COLUMNS = {"key": "<i4", "name": "S5", "value": "<f8", "pair": ("<f4", (2,)), "when": "<M8[ms]"}

    def rows(self, n):
        noise = np.random.default_rng(self.rng.randrange(1 << 30))
        return {
            "key": noise.integers(-9, 9, n).astype("<i4"), "name": np.array([b"ab", b"", b"zyxwv"], "S5")[noise.integers(0, 3, n)],
            "value": noise.random(n), "pair": noise.random((n, 2), np.float32), "when": noise.integers(0, 10**9, n).astype("<M8[ms]"),
        }  # fmt: skip

    def table(self, n=1000, **options):
        path, rows = self.path(), self.rows(n)
        with holdall.Table.create(path, self.COLUMNS, **options) as t:
            t.append(rows)
            t.commit()
        return path, rows

    def test_engines_read_a_table(self):
        path, rows = self.table()
        t = holdall.Table(path)
        self.assertEqual((len(t), t.names, "key" in t), (1000, list(self.COLUMNS), True))
        for name, column in rows.items():
            self.assertEqual(t[name][:].tobytes(), column.tobytes())
        arrow = pa.table(t)
        self.assertEqual(arrow["value"].to_numpy().tolist(), rows["value"].tolist())
        self.assertEqual(arrow["name"].to_pylist(), [s.decode() for s in rows["name"]])
        self.assertEqual(arrow["pair"].to_pylist(), rows["pair"].tolist())
        part = t.arrow(["value", "name"], 2, 5)
        for _ in range(2):  # each use reads again
            self.assertEqual(pa.table(part), arrow.select(["value", "name"]).slice(2, 5))
        self.assertEqual(duckdb.sql("select count(*) from part").fetchall(), [(5,)])
        self.assertEqual(pl.DataFrame(part).to_arrow()["value"], pa.table(part)["value"])
        requested = pa.schema([arrow.field("name"), arrow.field("value")])
        self.assertEqual(pa.RecordBatchReader.from_stream(t, requested).read_all(), arrow.select(["name", "value"]))
        self.assertEqual(pa.table(t.arrow([])).column_names, [])
        other = pa.schema([("none", pa.int8())]).__arrow_c_schema__()
        self.assertEqual(pa.RecordBatchReader._import_from_c_capsule(t.__arrow_c_stream__(other)).schema, arrow.schema)
        with self.assertRaises(KeyError):
            t.arrow(["none"])
        for start, count in ((1, len(t)), (-1, 1), (len(t) + 1, None)):
            with self.assertRaises(holdall.RangeError):
                t.arrow(None, start, count)
        self.assertEqual(pl.DataFrame(t)["key"].to_list(), rows["key"].tolist())
        ((total,),) = duckdb.sql("select sum(key) from t").fetchall()
        self.assertEqual(total, rows["key"].sum())
        reader = pa.RecordBatchReader.from_stream(t)
        t.close()
        self.assertEqual(reader.read_all().num_rows, 1000)  # a stream outlives its table

    def test_engines_fill_a_table(self):
        path, rows = self.table(10)
        with holdall.Table(path) as t:
            arrow = pa.table(t)
        for given in (arrow, pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches()), pl.from_arrow(arrow), duckdb.sql("select * from arrow")):
            with holdall.Table.create(self.path(), {"key": "<i8", "name": "S9", "value": "<f8", "pair": ("<f4", (2,)), "when": "<M8[us]"}, format="blz") as to:
                if hasattr(given, "select") and not isinstance(given, pa.Table):
                    given = given.select("key", "name", "value", "pair", "when")
                to.append(given)
                self.assertEqual((to["key"][:].tolist(), to["name"][:].tolist()), (rows["key"].tolist(), rows["name"].tolist()))
                with self.assertRaises(holdall.TypeError):
                    to.append(pa.table({"key": [1]}))
                self.assertEqual(len(to), 10)
                to.commit()
        with self.assertRaises(TypeError):
            to.append(3)

    def test_unread_streams_are_freed(self):
        path, _ = self.table(3)
        t = holdall.Table(path, "a")
        stream = t.__arrow_c_stream__()
        with self.assertRaises(holdall.StateError):
            t.truncate(1)
        del stream
        t.truncate(1)

    def test_parts(self):
        path, rows = self.table(6)
        with holdall.Table(path, "a") as t:
            key, name = t["key"], t.column("name")
            t.add("new", np.arange(12, dtype="<u2").reshape(6, 2), at=0)
            self.assertEqual(key[:].tolist(), rows["key"].tolist())
            t.write("key", 1, [77])
            t.remove("name")
            with self.assertRaises(holdall.StateError):
                name[:]
            t.set_attr("who", b'"me"')
            t.set_attr("unit", b"1", column="key")
            before = {column: t[column][:] for column in t.names}
            some = {column: values[3:5] for column, values in before.items()}
            t.insert_rows(1, some)
            self.assertEqual(t["key"][:4].tolist(), [before["key"][i] for i in (0, 3, 4, 1)])
            self.assertEqual(len(t), 8)
            t.remove_rows(1, 2)
            self.assertTrue(all((t[column][:] == values).all() for column, values in before.items()))
            with self.assertRaises(holdall.RangeError):
                t.insert_rows(7, some)
            with self.assertRaises(holdall.RangeError):
                t.remove_rows(5, 2)
            with self.assertRaises(holdall.ArgumentError):
                t.insert_rows(1, {"key": [1]})
            t.truncate(5)
            t.commit()
            for name in ("name", "key\0", 0):
                with self.assertRaises(KeyError):
                    t[name]
                with self.assertRaises(KeyError):
                    t.set_attr("unit", b"1", column=name)
            with self.assertRaises(holdall.ArgumentError):
                t.append({"key": [1]})
            with self.assertRaises(holdall.StateError):
                t["key"][0] = 3
        with holdall.Table(path) as t:
            self.assertEqual((list(t), t.raw_attrs, t["key"].raw_attrs), (["new", "key", "value", "pair", "when"], {"who": b'"me"'}, {"unit": b"1"}))
            self.assertEqual(t["new"][:].tolist(), np.arange(10).reshape(5, 2).tolist())
            self.assertEqual(int(t["key"][1]), 77)

    def test_rows_of_several_columns(self):
        path, rows = self.table(50)
        with holdall.Table(path) as t:
            for out, chosen in [(t.read_rows(), slice(None)), (t.read_rows(3, 9, 4), slice(3, 36, 4)), (t.read_rows(7, step=50), slice(7, 8)), (t.read_points([9, 0, 9]), [9, 0, 9])]:
                self.assertEqual(list(out), list(self.COLUMNS))
                for name, items in out.items():
                    self.assertEqual((items.dtype, items.tobytes()), (rows[name].dtype, rows[name][chosen].tobytes()), name)
            self.assertEqual({name: items.tolist() for name, items in t.read_rows(48, columns=["pair", "key"]).items()}, {name: rows[name][48:].tolist() for name in ("pair", "key")})
            with self.assertRaises(KeyError):
                t.read_rows(columns=["no"])
            with self.assertRaises(holdall.RangeError):
                t.read_rows(0, 51)
            with self.assertRaises(holdall.RangeError):
                t.read_points([50])

    def test_copies(self):
        path, rows = self.table(50, codec="zlib")
        with holdall.Table(path, "a") as t:
            t.set_attr("who", b'"me"')
            t.commit()
            copies = [self.path() for _ in range(3)]
            for copy, format in zip(copies, ("bcolz", "blz", "blz_rfc")):
                t.copy(copy, format, codec="blosclz")
        for copy in copies:
            with holdall.Table(copy) as t:
                self.assertEqual(({n: a.tobytes() for n, a in t.read_rows().items()}, t.attrs), ({n: a.tobytes() for n, a in rows.items()}, {"who": "me"}))
                if t.info.format == "bcolz":  # the others do not store it apart from the chunks
                    self.assertEqual({t[name].codec for name in t}, {"blosclz"})

    def test_splits(self):
        with holdall.Table.create(self.path(), {"a": "<f8", "b": "<i4"}, chunk_bytes=8000) as t:
            t.append({"a": np.arange(10000.0), "b": np.arange(10000, dtype="<i4")})
            t.commit()
            self.assertEqual([s[:2] for s in t.splits(5)], [(i * 2000, 2000) for i in range(5)])
            self.assertEqual([s[:2] for s in t["a"].splits(99)], [(i * 1000, 1000) for i in range(10)])
            with t.slice(slice(500, None)) as part:
                self.assertEqual([s.first for s in part.splits(5)[1:]], [i * 2000 - 500 for i in range(1, 5)])
            with self.assertRaises(holdall.ArgumentError):
                t.splits(0)

    def test_metadata_files(self):
        path = self.path(".blz")
        with holdall.Table.create(path, {"a": "<i2"}, "blz_rfc") as t:
            t.set_meta_file("units.json", b'"K"')
            t.set_meta_file("gone", bytearray(3))
            t.set_meta_file("gone", None)
            with self.assertRaises(holdall.ArgumentError):
                t.set_meta_file("../x", b"")
            t.commit()
            t.copy(self.folder / "copy.blz", "blz_rfc")
            with self.assertRaises(holdall.UnsupportedError):
                t.copy(self.folder / "copy.bcolz")
        for path in (path, self.folder / "copy.blz"):
            self.assertEqual((path / "meta/units.json").read_bytes(), b'"K"')
            with holdall.Table(path) as t:
                found = t.meta_files, t.meta_file("units.json"), t.meta_file("none")
                self.assertEqual(found, (["units.json"], b'"K"', None))
        with holdall.Table(self.table(3)[0], "a") as t:
            self.assertEqual(t.meta_files, [])
            with self.assertRaises(holdall.UnsupportedError):
                t.set_meta_file("x", b"")

    def test_what_is_known(self):
        path, rows = self.table(50, codec="zstd", level=3)
        with holdall.Table(path) as t:
            self.assertEqual((t.info.format, t.info.row_count, t.info.column_count, t.nbytes), ("bcolz", 50, 5, sum(a.nbytes for a in rows.values())))
            self.assertEqual((t["key"].codec, t["key"].level, t["key"].filters, t["key"].checksum), ("zstd", 3, ("shuffle",), "crc32"))
        options = {"codec": "lz4hc", "level": 7, "filters": ["delta", "bitshuffle"], "checksum": "none"}
        with holdall.Array.create(self.path(), (4, 6), ">i4", chunk_shape=(2, 6), block_shape=(2, 3), **options) as a:
            self.assertEqual((a.codec, a.level, a.filters, a.checksum), ("lz4hc", 7, ("delta", "bitshuffle"), "none"))
            self.assertEqual((a.info.dtype, a.info.shape, a.info.chunk_shape, a.info.block_shape), (">i4", (4, 6), (2, 6), (2, 3)))
            self.assertEqual((a.info.format, a.info.itemsize, a.info.nbytes, a.info.order, a.info.attr_count, a.info.generation), ("b2nd", 4, 96, "C", 0, 0))
            a.commit()
            self.assertEqual((a.info.generation, a.stored_bytes), (1, a.info.stored_bytes))
        path = self.bag([b"a", b"b"])
        bag = holdall.Bag(path)
        self.assertEqual((bag.codec, bag.checksum, bag.info.limits, bag.info.shards, bag.info.record_count), ("zstd", "zstd", "tail", "concatenated", 2))
        with self.assertRaisesRegex(holdall.TypeError, "bag"):
            holdall.Array(path)


class Bags(Case):
    def records(self, n):
        return [self.rng.randbytes(self.rng.choice([0, 1, 5, 300])) for _ in range(n)]

    def test_a_bag_is_a_sequence(self):
        want = self.records(200)
        with holdall.Bag(self.bag(want)) as bag:
            self.assertEqual((len(bag), list(bag), bag[-1], bag[np.int64(3)]), (200, want, want[-1], want[3]))
            for _ in range(50):
                s = slice(*(self.rng.choice([None, self.rng.randint(-220, 220)]) for _ in range(2)), self.rng.choice([None, 1, 3, -1, -7]))
                self.assertEqual(list(bag[s]), want[s], s)
                self.assertEqual(list(bag[s].read()), want[s])
            chosen = [self.rng.randrange(-200, 200) for _ in range(30)]
            batch = bag[chosen]
            self.assertEqual((list(batch), batch[1:3], batch.damaged), ([want[i] for i in chosen], [want[i] for i in chosen[1:3]], []))
            self.assertEqual(list(bag[[]]), [])
            self.assertEqual(batch.data[batch.offsets[0] : batch.offsets[1]].tobytes(), batch[0])
            for wrong in (200, -201, [200], [-201]):
                with self.assertRaises(IndexError):
                    bag[wrong]
            with self.assertRaises(TypeError):
                bag[[1.5]]
            self.assertIn(want[7], bag)
            self.assertEqual(bag.compute_checksum("sha256"), hashlib.sha256(b"".join(struct.pack("<Q", len(r)) + r for r in want)).digest())
        self.assertEqual(list(batch), [want[i] for i in chosen])  # a batch outlives its bag

    def test_streams(self):
        want = self.records(300)
        bag = holdall.Bag(self.bag(want))
        order = [self.rng.randrange(300) for _ in range(1000)]
        with bag.stream(iter(order), threads=2) as s:
            self.assertEqual([(s.number, r) for r in s], [(i, want[i]) for i in order])
        endless = bag.stream(itertools.cycle([1, 2]))
        self.assertEqual([next(endless) for _ in range(4)], [want[1], want[2], want[1], want[2]])
        ranks = [list(bag.epoch(5, 1, rank, 3)) for rank in range(3)]
        self.assertEqual(sorted(itertools.chain(*ranks)), sorted(want))
        self.assertEqual(list(bag.epoch(5, 1, 2, 3, position=60)), ranks[2][60:])
        self.assertEqual(bag.stream().take(7).numbers.tolist(), list(range(7)))

        def failing():
            yield 0
            raise KeyError("mine")

        s = bag.stream(failing())
        self.assertEqual(next(s), want[0])
        with self.assertRaisesRegex(KeyError, "mine"):
            next(s)
        endless.close()
        with self.assertRaises(holdall.StateError):
            next(endless)

    def test_ranges(self):
        want = self.records(50) + [b"twice", b"twice"]
        with holdall.Bag(self.bag(want)) as bag:
            self.assertEqual((list(bag.read_range(3, 9)), list(bag.read_range_iter(3, 9))), (want[3:12],) * 2)
            self.assertEqual((list(bag.read_range_iter(52, 0)), list(bag[40:].read_range_iter(11, 1))), ([], [b"twice"]))
            self.assertEqual(list(bag.read_indices_iter(iter([7, 7, 0]))), [want[7], want[7], want[0]])
            for start, count in ((52, 1), (0, 53), (2**64 - 1, 1)):
                with self.assertRaises(holdall.RangeError):
                    bag.read_range_iter(start, count)
            self.assertEqual((bag.index(b"twice"), bag.index(b"twice", -1), bag.count(b"twice")), (50, 51, 2))
            self.assertEqual((b"twice" in bag, b"twice" in bag[:50], want[9] in bag), (True, False, True))
            self.assertEqual(list(reversed(bag[48:])), want[:47:-1])
            for start, stop in ((0, 50), (52, None), (51, 40)):
                with self.assertRaises(ValueError):
                    bag.index(b"twice", start, stop)

    def test_splits(self):
        with holdall.Bag(self.bag([b"x" * (i % 50) for i in range(1000)], ".bag")) as bag:
            for n in (1, 7, 2000):
                splits = bag.splits(n)
                self.assertEqual([i for s in splits for i in range(s.first, s.first + s.count)], list(range(1000)))
                self.assertEqual((len(splits) <= n, sum(s.bytes for s in splits)), (True, 24500 + 8000))
            first, count, size = bag[::-1].splits(4)[0]
            self.assertEqual((first, abs(count - 250) < 20, abs(size - 8125) < 100), (0, True, True))
            self.assertEqual((bag[:0].splits(3), repr(bag[:1].splits(3))), ([], "[Split(first=0, count=1, bytes=8)]"))
            for wrong, error in ((0, holdall.ArgumentError), (-1, OverflowError), ("1", TypeError)):
                with self.assertRaises(error):
                    bag.splits(wrong)

    def test_index(self):
        bag = holdall.Bag(self.bag([b"a", b"b", b"a", b""] * 10))
        holdall.Index(bag, self.folder / "i", "x").close()
        for x in (holdall.Index(bag), holdall.Index(bag, self.folder / "i")):
            self.assertEqual((len(x), x.damaged, x.first(b"b"), x.first(b"no")), (3, 0, 1, None))
            self.assertEqual((x.find(b"a"), x.find(b"no")), (sorted([*range(0, 40, 4), *range(2, 40, 4)]), []))
            self.assertEqual(x.find_many([b"", b"q", b"b"]), [3, None, 1])
            self.assertEqual((x[b"b"], x.get(b"b"), x.get(b"no"), x.get(b"no", -1)), (1, 1, None, -1))
            self.assertEqual((b"" in x, bytearray(b"a") in x, b"no" in x), (True, True, False))
            with self.assertRaises(KeyError):
                x[b"no"]

    def test_engines_read_a_bag(self):
        want = [b"%d" % i for i in range(100)]
        bag = holdall.Bag(self.bag(want))
        self.assertEqual(pa.table(bag)["record"].to_pylist(), want)
        self.assertEqual(duckdb.sql("select count(*), max(octet_length(record)) from bag").fetchall(), [(100, 2)])
        self.assertEqual(pl.from_arrow(bag[10:20]).to_list(), want[10:20])

    def test_sets(self):
        with holdall.BagWriter(self.folder / "s@3.bag") as w:
            w.extend([b"%d" % i for i in range(10)])
            w.append(memoryview(b"last"))
            w.commit()
        with holdall.Bag(self.folder / "s@*.bag", bag_shards="interleaved") as bag:
            self.assertEqual((list(bag[8:]), [n for _, n in bag.shards]), ([b"8", b"9", b"last"], [4, 4, 3]))


if __name__ == "__main__":
    unittest.main()
