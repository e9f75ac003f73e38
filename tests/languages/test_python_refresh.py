"""The Python module: readers that follow a writer with refresh(), alone and while other threads read."""
import os
import threading
import unittest

import numpy as np
import pyarrow as pa

from case import Case, holdall

STEPS = 20


class Refresh(Case):
    def test_a_bag_follows_its_writer(self):
        path = self.bag([b"one", b"two"])
        # the limits in memory keep the earlier commit readable
        with holdall.Bag(path, bag_limits_cache=True) as bag, holdall.BagWriter(path, "a") as writer:
            batch, part, stream = bag.read(), bag[1:], bag.stream()
            index = holdall.Index(bag)
            writer.append(b"three")
            self.assertEqual((bag.generation, len(bag)), (0, 2))
            writer.commit()
            bag.refresh()
            self.assertEqual((bag.generation, bag.info.generation, list(bag), bag.shards[0][1]), (1, 1, [b"one", b"two", b"three"], 3))
            # what was made from the earlier commit stays there
            self.assertEqual((list(batch), list(part), list(stream), index.first(b"three")), ([b"one", b"two"], [b"two"], [b"one", b"two"], None))
            self.assertEqual(batch.data.tobytes(), b"onetwo")
            writer.append(b"four")
            writer.commit()
            bag.refresh()
            self.assertEqual((len(bag), bag[-1], bag.generation), (4, b"four", 2))
            with self.assertRaises(holdall.StateError):
                part.refresh()
            self.assertEqual((part.generation, list(part)), (0, [b"two"]))

    def test_an_array_follows_its_writer(self):
        for format in ("b2nd", "bloscpack", "bcolz", "blz"):
            path = self.path()
            holdall.Array.save(path, np.arange(6).reshape(3, 2), format)
            with holdall.Array(path) as a, holdall.Array(path, "a") as writer:
                before = a[...]
                writer.append([[6, 7]])
                if format != "bloscpack":
                    writer.set_attr("unit", b'"m"')
                writer.commit()
                a.refresh()
                self.assertEqual((a.shape, len(a), a.nbytes, a.attrs), ((4, 2), 4, 64, writer.attrs), format)
                self.assertEqual((a[3].tolist(), before.tolist(), a.generation), ([6, 7], [[0, 1], [2, 3], [4, 5]], 1))

    def test_an_array_of_another_dtype_and_shape(self):
        path = self.path()
        holdall.Array.save(path, np.arange(3.0))
        with holdall.Array(path) as a:
            holdall.Array.save(path, np.array([[b"ab"], [b"cd"]]), mode="w")
            with self.assertRaises(holdall.Error) as raised:
                a.refresh()
            self.assertEqual(raised.exception.name, "E_TYPE")
            self.assertEqual((a.dtype, a.shape, a.generation), (np.dtype("f8"), (3,), 0))

    def test_a_table_follows_its_writer(self):
        path = self.path()
        with holdall.Table.create(path, {"a": "<i4", "b": "<f8"}) as t:
            t.append({"a": [1, 2], "b": [0.5, 1.5]})
            t.commit()
        with holdall.Table(path) as t, holdall.Table(path, "a") as writer:
            a, b, reader = t["a"], t["b"], pa.RecordBatchReader.from_stream(t)
            self.assertEqual(a[:].tolist(), [1, 2])
            writer.append({"a": [3], "b": [2.5]})
            writer.set_attr("who", b'"me"')
            writer.add("c", [7, 8, 9])
            writer.remove("b")
            writer.commit()
            t.refresh()
            self.assertEqual((len(t), t.names, t.attrs, t.generation), (3, ["a", "c"], {"who": "me"}, 1))
            self.assertEqual((a[:].tolist(), a.shape, a.generation), ([1, 2, 3], (3,), 1))
            self.assertEqual(t.read_rows(1)["c"].tolist(), [8, 9])
            with self.assertRaisesRegex(holdall.StateError, "removed"):
                b[:]
            with self.assertRaisesRegex(holdall.StateError, "refresh the table"):
                a.refresh()
            self.assertEqual(reader.schema.names, ["a", "b"])

    def test_a_superchunk_follows_its_writer(self):
        for format in ("bloscpack", "b2frame"):
            path = self.path()
            with holdall.Schunk.create(path, format=format) as s:
                s.append(b"abc")
                s.commit()
            with holdall.Schunk(path) as s, holdall.Schunk(path, "a") as writer:
                writer.append(b"def")
                writer.set_attr("", b"{}") if format == "bloscpack" else writer.set_attr("x", b"y")
                writer.commit()
                s.refresh()
                self.assertEqual((s.read(), len(s), len(s.attrs), s.generation), (b"abcdef", 6, 1, 1), format)

    def test_only_open_readers_are_refreshed(self):
        self.bag([b"x"])
        writers = (
            holdall.Array.create(self.path(), 3, "<i4"),
            holdall.Table.create(self.path(), {"a": "<i4"}),
            holdall.Schunk.create(self.path()),
        )
        for writer in writers:
            writer.commit()
            with self.assertRaisesRegex(holdall.StateError, "HOLDALL_READ"):
                writer.refresh()
            self.assertEqual(writer.generation, 1)
            writer.close()
            for use in (writer.refresh, lambda: writer.generation):
                with self.assertRaisesRegex(holdall.StateError, "closed"):
                    use()

    def test_a_refresh_that_fails_changes_nothing(self):
        path = self.path()
        holdall.Array.save(path, np.arange(5))
        with holdall.Array(path) as a:
            other = self.path()
            other.write_bytes(b"no array" * 100)
            os.replace(other, path)
            with self.assertRaises(holdall.FormatError):
                a.refresh()
            self.assertEqual((a.shape, a.generation, a[4]), ((5,), 0, 4))


class Threads(Case):
    """Every read is of one commit, whatever another thread refreshes meanwhile."""

    def reading(self, handle, *reads):
        """Calls each of the functions in a thread until the returned function is called, which raises their errors."""
        done, failed, counts = threading.Event(), [], []

        def run(read):
            n = 0
            try:
                while not done.is_set() or not n:
                    try:
                        read(handle)
                        n += 1
                    except holdall.StateError:
                        pass  # the files of the earlier commit have changed
            except BaseException as e:
                failed.append(e)
            counts.append(n)

        threads = [threading.Thread(target=run, args=(read,)) for read in reads]
        for thread in threads:
            thread.start()

        def stop():
            done.set()
            for thread in threads:
                thread.join()
            self.assertEqual(failed, [])
            self.assertTrue(all(counts))
            return sum(counts)

        return stop

    def test_of_a_bag(self):
        path = self.path(".bagz")

        def commit(n):
            with holdall.BagWriter(path, "w") as writer:
                writer.extend([bytes([n]) * (n % 7 + 1)] * (n + 1))
                writer.commit()

        def same(records, count=None):
            n = records[0][0]
            self.assertEqual(set(records), {bytes([n]) * (n % 7 + 1)})
            self.assertEqual(len(records), count or n + 1)

        commit(0)
        with holdall.Bag(path) as bag:
            reads = lambda b: same([b[-1]], 1), lambda b: same(b.read()), lambda b: same(b[:]), lambda b: same(b[[0, -1]], 2)
            others = lambda b: same(list(b.epoch(1))), lambda b: self.assertEqual(len(holdall.Index(b)), 1)
            stop = self.reading(bag, *reads, *others, lambda b: same(pa.table(b)["record"].to_pylist()))
            for n in range(1, STEPS):
                commit(n)
                bag.refresh()
                self.assertEqual((len(bag), bag.generation), (n + 1, n))
            print(stop(), f"reads of a bag during {STEPS - 1} refreshes")

    def test_of_an_array(self):
        path = self.path()
        def commit(n):
            holdall.Array.save(path, np.full((n + 1, n + 1), n, "<i4"), mode="w")

        def whole(a):
            items = a[...]
            n = items.shape[0] - 1
            self.assertEqual((items.dtype, items.ndim), (np.dtype("<i4"), 2))
            self.assertTrue((items == np.array(n, items.dtype)).all())

        def info(a):
            info = a.info
            n = info.shape[0] - 1
            self.assertEqual((info.dtype, len(info.chunk_shape)), (np.dtype("<i4"), 2))

        def shape(a):
            self.assertEqual(len(set(a.shape)), 1)

        commit(0)
        with holdall.Array(path) as a:
            stop = self.reading(a, whole, info, shape)
            for n in range(1, STEPS):
                commit(n % 20)
                a.refresh()
                self.assertEqual((len(a), a.generation), (n % 20 + 1, n))
            print(stop(), f"reads of an array during {STEPS - 1} refreshes")

    def test_of_a_table(self):
        path = self.path()
        with holdall.Table.create(path, {"a": "<i4", "b": "<i4"}) as writer:
            writer.append({"a": [0], "b": [0]})
            writer.commit()

            def rows(t):
                columns = t.read_rows()
                self.assertEqual(len({column.tobytes() for column in columns.values()}), 1)

            def names(t):
                self.assertEqual(t.names[:2], ["a", "b"])
                t["a"][0]

            with holdall.Table(path) as t:
                stop = self.reading(t, rows, names, rows)
                for n in range(1, STEPS):
                    writer.append({name: [n] for name in writer.names})
                    if n % 5 == 0:
                        writer.add(f"c{n}", writer["a"][:])
                    writer.commit()
                    t.refresh()
                    self.assertEqual(len(t), n + 1)
                print(stop(), f"reads of a table during {STEPS - 1} refreshes")

    def test_a_refresh_and_a_read_do_not_wait_for_each_other(self):
        content = self.bag([b"one", b"two"]).read_bytes()
        reading, release = threading.Event(), threading.Event()

        class Slow(holdall.Memory):
            slow = None

            def read_at(self, name, at, n):
                if self.slow == threading.get_ident():
                    reading.set()
                    release.wait()
                return super().read_at(name, at, n)

        storage = Slow(content)
        bag, records = holdall.Bag(storage, codec="zstd"), []
        self.assertEqual(bag[0], b"one")

        def read():
            storage.slow = threading.get_ident()
            records.append(bag[1])

        slow = threading.Thread(target=read)
        slow.start()
        reading.wait()
        bag.refresh()
        self.assertEqual((bag[0], bag.generation, records), (b"one", 1, []))
        bag.close()  # the call in progress ends normally
        with self.assertRaisesRegex(holdall.StateError, "closed"):
            bag[0]
        release.set()
        slow.join()
        self.assertEqual(records, [b"two"])

    def test_a_callback_refreshes(self):
        called = []

        def progress(done, total):
            called.append(done)
            bag.refresh()

        bag = holdall.Bag(self.bag([b"x"] * 1000), progress=progress)
        bag.compute_checksum()
        self.assertTrue(called)
        bag.refresh()


if __name__ == "__main__":
    unittest.main()
