"""Storage of the caller instead of a path: objects with files in memory, and their exceptions."""
import gc
import unittest

import numpy as np

from case import Case, holdall


class Files:
    """Files by their names; of a folder those that begin with its name."""

    def __init__(self):
        self.files = {}

    def _file(self, name):
        if name not in self.files:
            raise FileNotFoundError(name)
        return self.files[name]

    def size(self, name):
        return len(self._file(name))

    def read_at(self, name, at, n):
        return self._file(name)[at : at + n]

    def write_at(self, name, at, data):
        file = self.files.setdefault(name, bytearray())
        file.extend(bytes(max(0, at + len(data) - len(file))))
        file[at : at + len(data)] = data

    def truncate(self, name, size):
        file = self.files.setdefault(name, bytearray())
        file[:] = file[:size].ljust(size, b"\0")

    def sync(self, name):
        self._file(name)

    def rename(self, name, to):
        self.files[to] = self.files.pop(name)

    def remove(self, name):
        del self.files[self._file(name) and name]

    def list(self, folder):
        inside = folder and folder + "/"
        return {name[len(inside) :].split("/")[0] for name in self.files if name.startswith(inside)}


class Broken(holdall.Memory):
    def read_at(self, name, at, n):
        raise ZeroDivisionError("a fault of the caller's")


class Long(holdall.Memory):
    more = 0

    def read_at(self, name, at, n):
        return super().read_at(name, at, n) + b"x" * self.more


class Server(Files):
    """Files that are read by few calls."""

    def __init__(self, files):
        super().__init__()
        self.files, self.calls = files, 0
        self.change = list

    def read_ranges(self, ranges):
        self.calls += 1
        return self.change(self._read(*each) for each in ranges)

    def _read(self, name, at, n):
        if name not in self.files:
            return None
        size = self.size(name)
        start = max(at + size, 0) if at < 0 else at
        return size, super().read_at(name, start, n)

    def read_at(self, name, at, n):
        self.calls += 1
        return super().read_at(name, at, n)


class Storage(Case):
    def tearDown(self):
        gc.collect()
        retained = [o for o in gc.get_objects() if isinstance(o, (Files, holdall.Memory))]
        self.assertEqual([], retained, "unused storage is retained")

    def test_what_is_made_in_storage_is_read_from_it(self):
        memory, field = Files(), np.arange(600.0).reshape(20, 30)
        holdall.Array.save(memory, field, chunk_shape=(5, 30))
        with holdall.Array(memory) as a:
            np.testing.assert_array_equal(a[3:9, ::-2], field[3:9, ::-2])
        with holdall.Array(memory, "a") as a:
            a.append(field)
            a.commit()
        with holdall.Array(holdall.Memory(memory.files[""])) as a:
            np.testing.assert_array_equal(a[...], np.concatenate([field, field]))
        path = self.path(".b2nd")
        holdall.Array.save(path, np.concatenate([field, field]), chunk_shape=(5, 30))
        self.assertEqual(holdall.Array(path).shape, (40, 30))

    def test_bags_of_several_storages(self):
        storages, records = [Files(), Files()], [b"%d" % i for i in range(1000)]
        for storage, some in zip(storages, (records[:300], records[300:])):
            with holdall.BagWriter(storage) as writer:
                writer.extend(some)
                writer.commit()
        with holdall.Bag([storages[0], holdall.Memory(bytes(storages[1].files[""]))]) as bag:
            self.assertEqual(list(bag), records)
            index = holdall.Index(bag, Files(), "x")
            self.assertEqual(index.first(b"777"), 777)
            some = bag[::-100]
        self.assertEqual(some[0], b"999")  # the slice has the storage when the bag is closed
        with self.assertRaises(ValueError):
            holdall.Array([Files(), Files()])

    def test_ranges_are_read_by_few_calls(self):
        memory, field = Files(), np.arange(60000.0).reshape(200, 300)
        holdall.Array.save(memory, field, chunk_shape=(50, 70))
        server = Server(memory.files)
        with holdall.Array(server) as a:
            self.assertEqual(server.calls, 2)
            np.testing.assert_array_equal(a[20:180, 30:200], field[20:180, 30:200])
        self.assertLessEqual(server.calls, 4)
        records = [b"record %d" % i * 9 for i in range(5000)]
        for codec in ("none", "zstd"):
            memory = Files()
            with holdall.BagWriter(memory, codec=codec) as writer:
                writer.extend(records)
                writer.commit()
            server = Server(memory.files)
            with holdall.Bag(server, codec=codec) as bag:
                self.assertEqual(list(bag[::100]), records[::100])
            self.assertLessEqual(server.calls, 5)

    def test_wrong_ranges_are_errors(self):
        memory = Files()
        holdall.Array.save(memory, np.arange(5))
        server = Server(memory.files)
        for change, error in [
            (lambda results: list(results)[1:], ValueError),
            (lambda results: [result and (result[0], result[1] + b"x") for result in results], ValueError),
            (lambda results: [result and result[0] for result in results], TypeError),
            (lambda results: 1 / 0, ZeroDivisionError),
        ]:
            server.change = change
            with self.assertRaises(error):
                holdall.Array(server)
        with self.assertRaises(FileNotFoundError):
            holdall.Array(Server({}))

    def test_copies_into_storage(self):
        array, schunk, table = Files(), Files(), Files()
        with holdall.Array.create(self.path(), 5, "<i2", fill_value=3) as a:
            a.copy(array, chunk_shape=(2,))
            a.commit()
        self.assertEqual(holdall.Array(array)[...].tolist(), [3] * 5)
        with holdall.Schunk.create(self.path()) as s:
            s.append(b"abc")
            s.commit()
            s.copy(schunk, "b2frame")
        self.assertEqual(holdall.Schunk(schunk).read(), b"abc")
        with holdall.Table.create(self.path(), {"a": "<i4"}) as t:
            t.append({"a": [1, 2]})
            t.commit()
            t.copy(table, "blz_rfc")
        self.assertEqual(holdall.Table(table)["a"][...].tolist(), [1, 2])

    def test_superchunks_and_tables(self):
        memory = Files()
        with holdall.Schunk.create(memory) as s:
            s.append(b"abc" * 1000)
            s.commit()
        self.assertEqual(holdall.Schunk(memory).read(), b"abc" * 1000)
        memory = Files()
        with holdall.Table.create(memory, {"a": "<i4"}) as t:
            t.append({"a": np.arange(5)})
            t.commit()
        self.assertEqual(list(holdall.Table(memory)["a"][...]), [0, 1, 2, 3, 4])

    def test_files_in_memory(self):
        files, field = holdall.MemoryFiles(), np.arange(600.0).reshape(20, 30)
        holdall.Array.save(files, field, chunk_shape=(5, 30))
        before = files.file()
        with holdall.Array(files, "a") as a:
            with self.assertRaises(holdall.BusyError):
                holdall.Array(files, "a")
            a.append(field)
            a.commit()
        twice = np.concatenate([field, field])
        np.testing.assert_array_equal(holdall.Array(files)[...], twice)
        self.assertEqual((files.names, before.readonly), ([""], True))
        np.testing.assert_array_equal(holdall.Array(holdall.MemoryFiles(before))[...], field)
        frame = files.file()
        path = self.path(".b2nd")
        path.write_bytes(frame)
        del files
        gc.collect()
        np.testing.assert_array_equal(holdall.Array(path)[...], twice)
        self.assertEqual(path.read_bytes(), frame)  # a view outlives its storage
        files = holdall.MemoryFiles()
        with holdall.Table.create(files, {"a": "<i4"}) as t:
            t.append({"a": np.arange(5)})
            t.commit()
        self.assertIn("a/meta/sizes", files.names)
        with self.assertRaises(holdall.MissingError):
            files.file("none")
        files = [holdall.MemoryFiles(), Files()]
        for part, some in enumerate(files):
            with holdall.BagWriter(some) as writer:
                writer.append(b"%d" % part)
                writer.commit()
        self.assertEqual(list(holdall.Bag(files)), [b"0", b"1"])

    def test_what_storage_raises(self):
        memory = Files()
        holdall.Array.save(memory, np.arange(10))
        content = bytes(memory.files[""])
        with self.assertRaises(ZeroDivisionError):
            holdall.Array(Broken(content))
        with self.assertRaises(holdall.Error):
            holdall.Array(Files())
        with self.assertRaises(holdall.Error):  # it has no functions that write
            holdall.Array.save(holdall.Memory(b""), np.arange(3), mode="w")
        with holdall.Array(good := Long(content)) as a:
            good.more = 1
            with self.assertRaises(ValueError):
                a[...]


if __name__ == "__main__":
    unittest.main()
