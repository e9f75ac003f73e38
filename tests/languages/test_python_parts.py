"""The Python module: containers that many processes write in parts."""
import multiprocessing
import pickle
import unittest
import warnings

import numpy as np

from case import Case, holdall


def write_records(spec, number):
    with holdall.BagPart(spec) as part:
        part.extend(b"%d %d" % (number, i) for i in range(100))
        return part.finish()


def write_rows(path, number):
    with holdall.TablePart(path) as part:
        part.append({"a": [number] * number})
        return part.finish()


def write_box(path, number):
    with holdall.ArrayPart(path, (4 * number, 0), (4, 5)) as part:
        part[...] = number + 1
        return part.finish()


class Parts(Case):
    def in_processes(self, write, path, numbers):
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            tokens = pool.starmap(write, [(str(path), number) for number in numbers])
        self.assertEqual(pickle.loads(pickle.dumps(tokens)), tokens)
        return tokens

    def left(self):
        return [p.name for p in self.folder.iterdir() if "holdall-parts" in p.name]

    def test_bags_and_sets(self):
        expected = [b"%d %d" % (number, i) for number in (2, 0, 1) for i in range(100)]
        one, all = self.folder / "one.bagz", self.folder / "all@*.bagz"
        for spec in (one, all):
            tokens = self.in_processes(write_records, spec, [2, 0, 1])
            holdall.commit_parts(spec, tokens)
            self.assertEqual(list(holdall.Bag(spec)), expected)
        self.assertEqual([n for _, n in holdall.Bag(all).shards], [100] * 3)
        holdall.commit_parts(one, [write_records(one, 7)])
        self.assertEqual(len(holdall.Bag(one)), 400)
        with self.assertRaises(holdall.ExistsError):
            holdall.commit_parts(all, self.in_processes(write_records, all, [2, 0, 1]))

    @unittest.skipUnless("fork" in multiprocessing.get_all_start_methods(), "forks")
    def test_forked_processes_write_different_parts(self):
        write_records(self.folder / "x.bagz", 0)  # what the children have in common
        with multiprocessing.get_context("fork").Pool(3) as pool:
            tokens = pool.starmap(write_records, [(str(self.folder / "x.bagz"), number) for number in range(20)])
        self.assertEqual(len(set(tokens)), 20)

    def test_arrays(self):
        for format in ("b2nd", "bcolz"):
            path = self.path()
            with holdall.Array.create(path, (12, 5), "i4", format, chunk_shape=(4, 5)) as array:
                array.commit()
            holdall.commit_parts(path, self.in_processes(write_box, path, [1, 0, 2]))
            with holdall.ArrayPart(path, fill_value=3) as part:
                part.append(np.full((2, 5), 9))
                token = part.finish()
            holdall.commit_parts(path, [token])
            self.assertEqual(holdall.Array(path)[:, 0].tolist(), [1] * 4 + [2] * 4 + [3] * 4 + [9] * 2)

    def test_tables(self):
        path = self.path()
        with holdall.Table.create(path, {"a": "i4"}) as table:
            table.commit()
        holdall.commit_parts(path, self.in_processes(write_rows, path, [3, 1]))
        self.assertEqual(holdall.Table(path)["a"][:].tolist(), [3, 3, 3, 1])

    def test_parts_that_are_not_committed(self):
        path = self.folder / "x.bagz"
        with warnings.catch_warnings(), holdall.BagPart(path) as part:
            warnings.simplefilter("ignore")
            part.append(b"lost")
            self.assertEqual(len(holdall.list_parts(path)), 1)
        self.assertEqual(self.left(), [])
        token = write_records(path, 1)
        holdall.discard_parts(path, [token])
        self.assertEqual(self.left(), [])
        with self.assertRaises(holdall.MissingError):
            holdall.commit_parts(path, [token])
        write_records(path, 2)
        self.assertEqual(holdall.repair(path).parts_removed, 1)
        self.assertEqual(self.left(), [])
        self.assertFalse(path.exists())

    def test_tokens_that_are_none(self):
        path = self.folder / "x.bagz"
        for token, error in ((b"", holdall.FormatError), (write_records(path, 1)[:-1] + b"?", holdall.ChecksumError), ("x", TypeError), (5, TypeError)):
            with self.assertRaises(error):
                holdall.commit_parts(path, [token])


if __name__ == "__main__":
    unittest.main()
