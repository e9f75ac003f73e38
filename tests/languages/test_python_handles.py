"""The Python module: pickles, tokens and texts of arrays, tables and superchunks, rows as structured arrays, and callbacks that use their object."""
import os
import pickle
import threading
import unittest

import numpy as np

from case import Case, holdall

FORMATS = ("b2nd", "bloscpack", "bcolz", "blz", "blz_rfc")


class Handles(Case):
    def array(self, format="b2nd"):
        path = self.path()
        items = np.arange(4 * 5 * 6, dtype="<i2").reshape(4, 5, 6)
        holdall.Array.save(path, items, format)
        return path, items

    def table(self):
        path = self.path()
        with holdall.Table.create(path, {"a": "<i4", "when": "<M8[s]", "pair": ("<f4", (2,)), "b": "S2"}) as t:
            t.append({"a": [1, 2, 3], "when": np.array([4, 5, 6], "M8[s]"), "pair": np.arange(6, dtype="f4").reshape(3, 2), "b": [b"x", b"yy", b"z"]})
            t.commit()
        return path

    def again(self, handle):
        pickled = pickle.dumps(handle)
        self.assertLessEqual(len(pickled), 1024)
        return pickle.loads(pickled)

    def test_arrays_and_slices_are_pickled_as_recipes(self):
        for format in FORMATS:
            path, items = self.array(format)
            with holdall.Array(path, threads=1, progress=lambda done, total: True) as a:
                self.assertTrue((self.again(a)[...] == items).all())
                s, want = a, items
                for key in (np.s_[1:, ::-1], np.s_[::2, :, 1:5], np.s_[:, None, 3], np.s_[-1, ..., ::-2]):
                    s, want = s.slice(key), want[key]
                    again = self.again(s)
                    self.assertEqual((again.shape, again[...].tolist()), (want.shape, want.tolist()))
                s = a
                for _ in range(50):  # the recipe does not grow
                    s = s.slice(np.s_[::-1])
                self.assertTrue((self.again(s)[...] == items).all())
                self.assertEqual(type(self.again(a)), holdall.Array)

    def test_tables_columns_and_superchunks(self):
        path = self.table()
        with holdall.Table(path) as t:
            for handle in (t, t.slice(slice(None, None, -2), ["b", "a"]), t["when"], t["a"].slice(np.s_[1:]), t.slice(slice(1, None))["pair"]):
                again = self.again(handle)
                self.assertEqual(type(again), type(handle))
                self.assertEqual(again[:].tobytes(), handle[:].tobytes())
        path = self.path()
        with holdall.Schunk.create(path) as s:
            s.append(b"abc")
            s.commit()
            self.assertRaisesRegex(TypeError, "opened for changes", pickle.dumps, s)
        self.assertEqual(self.again(holdall.Schunk(path)).read(), b"abc")
        self.assertEqual(self.again(holdall.Schunk(holdall.Memory(path.read_bytes()))).read(), b"abc")

    def test_handles_for_changes_are_not_pickled(self):
        array, table = holdall.Array(self.array()[0], "a"), holdall.Table(self.table(), "a")
        for handle in (array, table, array.slice(np.s_[1:]), table["a"], table.slice(slice(1))):
            self.assertRaisesRegex(TypeError, "opened for changes", pickle.dumps, handle)

    def test_other_versions_are_not_opened(self):
        for format in FORMATS:
            path, items = self.array(format)
            a = holdall.Array(path)
            texts = [pickle.dumps(of) for of in (a, a.slice(np.s_[1:2]))]
            with holdall.Array(path, "a") as changed:
                changed.append(items[:1])
                changed.commit()
            for text in texts:
                with self.assertRaisesRegex(holdall.StateError, "changed since it was pickled"):
                    pickle.loads(text)

    def test_tokens_differ_between_contents(self):
        path, items = self.array()
        a, same = holdall.Array(path), holdall.Array(str(path))
        token = a.__dask_tokenize__()
        self.assertEqual((token, token), (same.__dask_tokenize__(), a.__dask_tokenize__()))
        self.assertNotEqual(token, a.slice(np.s_[1:]).__dask_tokenize__())
        self.assertEqual(same.slice(np.s_[1:]).__dask_tokenize__(), a.slice(np.s_[1:]).__dask_tokenize__())
        os.utime(path, ns=(1, 1))
        holdall.Array.save(path, items + 1, mode="w")
        self.assertEqual(token, a.__dask_tokenize__())  # it still reads the earlier commit
        self.assertNotEqual(token, holdall.Array(path).__dask_tokenize__())
        same.refresh()
        self.assertEqual(same.__dask_tokenize__(), holdall.Array(path).__dask_tokenize__())
        with holdall.Table(self.table()) as t, holdall.Array(path, "a") as writer:
            for handle in (t, t["a"], writer):
                self.assertEqual(handle.__dask_tokenize__(), handle.__dask_tokenize__())
            self.assertNotEqual(t.__dask_tokenize__(), holdall.Table(t._recipe[0]).__dask_tokenize__())

    def test_texts_say_what_it_is(self):
        path, _ = self.array()
        with holdall.Array(path) as a:
            self.assertEqual(repr(a), f"<holdall.Array {str(path)!r}: b2nd array of int16, shape (4, 5, 6)>")
        self.assertEqual(repr(a), f"<holdall.Array {str(path)!r}: closed>")
        path = self.table()
        with holdall.Table(path) as t:
            self.assertEqual(repr(t), f"<holdall.Table {str(path)!r}: bcolz table of 3 rows, columns a, when, pair, b>")
            self.assertEqual(repr(t["a"]), f"<holdall.Column {str(path)!r}: column 'a', bcolz array of int32, shape (3,)>")
        with holdall.Schunk.create(holdall.MemoryFiles()) as s:
            self.assertEqual(repr(s), "<holdall.Schunk: bloscpack superchunk of 0 bytes in 0 chunks>")
            s.commit()

    def test_rows_are_structured(self):
        with holdall.Table(self.table()) as t:
            want = np.array([(1, 4, (0, 1), b"x"), (2, 5, (2, 3), b"yy"), (3, 6, (4, 5), b"z")], [("a", "<i4"), ("when", "<M8[s]"), ("pair", "<f4", (2,)), ("b", "S2")])
            for key in (np.s_[:], np.s_[0:3], np.s_[1:], np.s_[::-1], np.s_[::2], np.s_[2:0:-1], np.s_[5:], np.s_[-2:100]):
                rows = t[key]
                self.assertEqual((rows.dtype, rows.tobytes()), (want.dtype, want[key].tobytes()), key)

    def test_items_without_dimensions(self):
        path = self.path()
        holdall.Array.save(path, np.float32(2.5))
        with holdall.Array(path) as a:
            whole, item = a[...], a[()]
            self.assertEqual((type(whole), whole.shape, type(item), whole, item), (np.ndarray, (), np.float32, 2.5, 2.5))
            self.assertEqual(type(holdall.Array(self.array()[0])[0, 0, 0, ...]), np.ndarray)

    def test_a_callback_may_read_but_not_change_its_object(self):
        path, items = self.array()
        seen, calls = [], []

        def progress(done, total):
            calls.append(done)
            self.assertTrue((a[...] == items).all())
            for call in (a.refresh, getattr(a, "commit")):
                with self.assertRaisesRegex(holdall.StateError, "callback"):
                    call()
            seen.append(done)

        a = holdall.Array(path, progress=progress)
        self.assertTrue((a[...] == items).all())
        self.assertTrue(seen)
        self.assertEqual(calls, seen)  # its own reads do not report
        a.close()

        def failing(done, total):
            if writer is not None:
                writer[0]

        writer = None
        writer = holdall.Array(path, "a", progress=failing)
        writer[...] = 1
        with self.assertRaisesRegex(holdall.StateError, "callback"):
            writer.commit()
        writer.close()

    def test_a_close_during_a_read(self):
        path, items = self.array()

        def progress(done, total):
            a.close()

        a = holdall.Array(path, progress=progress)
        self.assertTrue((a[...] == items).all())
        with self.assertRaisesRegex(holdall.StateError, "closed"):
            a[...]

    def test_threads_that_change_one_array_lose_nothing(self):
        with holdall.Array.create(self.path(), (0,), "<i4") as a:

            def run(n):
                for _ in range(50):
                    a.append([n])
                    a[[0, -1], ] = a[[0, -1], ]

            threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(a.shape, (200,))
            a.commit()


if __name__ == "__main__":
    unittest.main()
