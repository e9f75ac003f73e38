"""Compares indexes of holdall with Index and MultiIndex of the Bagz package, over the same bags."""

import pathlib
import random
import tempfile
import unittest

import bagz

import holdall_c as h


def keys(n, seed):
    """Keys that occur once, twice, often, or are empty."""
    rng = random.Random(seed)
    kinds = [
        lambda: b"",
        lambda: b"\0" * rng.randrange(4),
        lambda: b"%d" % rng.randrange(n // 3 + 1),
        lambda: rng.randbytes(rng.randrange(300)),
    ]
    return [rng.choices(kinds, (1, 1, 5, 9))[0]() for _ in range(n)]


class Indexes(unittest.TestCase):
    def compare(self, reader, index, asked):
        theirs, multi = bagz.Index(reader), bagz.MultiIndex(reader)
        self.assertEqual((len(index), len(index)), (len(theirs), len(multi)))
        want = [theirs.get(k) for k in asked]
        self.assertEqual([index.first(k) for k in asked], want)
        self.assertEqual(index.find_many(asked), want)
        self.assertEqual([index.find(k) for k in asked], [list(multi.get(k) or []) for k in asked])

    def test_both_find_the_same_records(self):
        with tempfile.TemporaryDirectory() as folder:
            for n in (0, 1, 7, 3000, 40_000):
                for name in ("x.bag", "x.bagz"):
                    path = pathlib.Path(folder, name)
                    records = keys(n, n)
                    with bagz.Writer(str(path)) as w:
                        for r in records:
                            w.write(r)
                    asked = (
                        records[:2000]
                        + [b"stranger %d" % i for i in range(100)]
                        + [r + b"x" for r in records[:200]]
                    )
                    reader = bagz.Reader(str(path))
                    with self.subTest(n=n, name=name), h.Bag(path) as bag:
                        with h.Index(bag) as index:
                            self.compare(reader, index, asked)
                        with h.Index(bag, f"{path}.index", h.REPLACE, threads=2):
                            pass
                        with h.Index(bag, f"{path}.index", io=h.IO_MAP) as index:
                            self.compare(reader, index, asked)
                        first, step = n // 5, 3
                        count = len(range(first, n, step))
                        with bag.slice(first, count, step) as slice, h.Index(slice) as index:
                            self.compare(reader[first::step], index, asked)

    def test_a_corrupt_record_is_not_an_empty_key(self):
        """The package takes this record, and all after it, for empty ones."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.bagz")
            with h.Writer(path, h.CREATE) as w:
                w.append_many([b"record %d" % i for i in range(100)])
                w.commit()
            data = bytearray(path.read_bytes())
            data[20 * 50] ^= 0xFF
            path.write_bytes(data)
            self.assertIn(b"", bagz.Index(bagz.Reader(str(path))))
            with h.Bag(path) as bag:
                with self.assertRaises(h.Error) as e:
                    h.Index(bag)
                self.assertGreaterEqual(e.exception.position, 0)
                with h.Index(bag, skip_damaged=1) as index:
                    self.assertEqual((index.damaged, len(index), index.first(b"")), (1, 99, None))
                    found = [index.first(b"record %d" % i) for i in range(100)]
                    self.assertEqual(
                        [i for i, row in enumerate(found) if row != i], [e.exception.position]
                    )


if __name__ == "__main__":
    unittest.main()
