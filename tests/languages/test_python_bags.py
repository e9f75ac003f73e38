"""The Python module: bags, streams, writers and indexes as Python users expect them; pickles and callbacks."""
import gc
import pickle
import threading
import unittest
import weakref

import numpy as np

from case import Case, holdall

RECORDS = [b"zero", b"one", b"two", b"three", b"", b"five" * 1000]


class Bags(Case):
    def test_a_bag_is_a_sequence(self):
        bag = holdall.Bag(self.bag(RECORDS))
        self.assertEqual((list(bag), list(reversed(bag)), bag.index(b"two"), bag.count(b"one")), (RECORDS, RECORDS[::-1], 2, 1))
        self.assertTrue(b"three" in bag and b"six" not in bag and "three" not in bag and 3 not in bag)
        for i in (0, -1, np.int64(2), np.uint8(3), True):
            self.assertEqual(bag[i], RECORDS[int(i)])
        for i in (6, -7, 2**63, -(2**63) - 1, 2**100, np.int64(6)):
            with self.assertRaises(holdall.RangeError, msg=i):
                bag[i]
        for i in ("1", 1.0, None, b"1", [1.5], [True, False], ["1"]):
            with self.assertRaises(TypeError, msg=i):
                bag[i]
        for i in (slice(None), slice(None, None, -1), slice(4, 1, -2), slice(9, 2), slice(-2, None)):
            self.assertEqual((list(bag[i]), bag[i].__len__()), (RECORDS[i], len(RECORDS[i])))
        with self.assertRaises(ValueError):
            bag[::0]
        with self.assertRaises(ValueError):
            bag.index(b"six")
        with self.assertRaises(ValueError):
            bag.index(b"zero", 1)
        self.assertEqual((bag.index(b"two", -4, -1), bool(bag), bool(bag[:0])), (2, True, False))

    def test_a_dictionary_is_trained_and_stored(self):
        lines = [b"user %d of the city of Osaka" % i for i in range(20_000)]
        sizes = {}
        trained = holdall.train_dictionary(lines, 4096)
        self.assertTrue(isinstance(trained, bytes) and 256 < len(trained) <= 4096)
        for how, dictionary in (("separate", None), ("auto", None), ("stored", trained)):
            path = self.folder / f"{how}.bagz"
            with holdall.BagWriter(path, bag_dictionary=how, dictionary=dictionary) as writer:
                writer.extend(iter(lines))
                writer.commit()
            bag = holdall.Bag(path)
            self.assertEqual((list(bag), bag[7], bag[[9, 3]][:]), (lines, lines[7], [lines[9], lines[3]]))
            self.assertEqual(pickle.loads(pickle.dumps(bag))[5], lines[5])
            sizes[how] = path.stat().st_size
            self.assertEqual(bag.dictionary is None, how == "separate")
        self.assertEqual(bag.dictionary, trained)
        self.assertTrue(max(sizes["auto"], sizes["stored"]) < 0.7 * sizes["separate"], sizes)
        for wrong in ({"bag_dictionary": "stored"}, {"bag_dictionary": "auto", "dictionary": trained}):
            with self.assertRaises(holdall.ArgumentError):
                holdall.BagWriter(self.folder / "no.bagz", **wrong)
        with self.assertRaises(ValueError):
            holdall.BagWriter(self.folder / "no.bagz", bag_dictionary="yes")
        for records, size in ((lines[:2], 4096), (lines, 100), (lines, 2**30)):
            with self.assertRaises(holdall.ArgumentError):
                holdall.train_dictionary(records, size)
        with self.assertRaises(TypeError):
            holdall.train_dictionary(["text"], 4096)

    def test_batches(self):
        bag = holdall.Bag(self.bag(RECORDS))
        for indices in ([3, 0, -1], (3, 0, -1), np.array([3, 0, -1]), np.array([3, 0, -1], "i1"), [np.int32(3), 0, -1]):
            want = [RECORDS[i] for i in indices]
            self.assertEqual((bag[indices][:], bag.__getitems__(indices), bag.read_indices(indices)[:]), (want, want, want))
        self.assertEqual((bag[[]][:], bag[range(2)][:], bag[np.array([2**64 - 1 - 2**64 + 3], "u8")][:]), ([], RECORDS[:2], [RECORDS[2]]))
        for indices in ([6], [-7], [2**70], np.array([6]), np.array([2**63], "u8"), np.array([-7])):
            with self.assertRaises((holdall.RangeError, TypeError), msg=indices):
                bag.read_indices(indices)
        records = bag.read(1, 3)
        self.assertEqual((len(records), records[-1], records[0:9:2], list(records), b"two" in records), (3, b"three", [b"one", b"three"], RECORDS[1:4], True))
        self.assertEqual((records.index(b"two"), records.count(b"x"), records.damaged, records.numbers), (1, 0, [], None))
        with self.assertRaises(IndexError):
            records[3]
        data, offsets = records.data, records.offsets
        del records, bag
        gc.collect()
        self.assertEqual((data.tobytes(), offsets.tolist(), data.flags.writeable), (b"onetwothree", [0, 3, 6, 11], False))

    def test_streams(self):
        bag = holdall.Bag(self.bag(RECORDS))
        with bag.stream([5, 0]) as stream:
            self.assertEqual((stream.number, next(stream), stream.number, next(stream), next(stream, None)), (None, RECORDS[5], 5, RECORDS[0], None))
        with self.assertRaises(holdall.StateError):
            next(stream)
        batch = bag.stream([2, 2]).take()
        self.assertEqual((batch[:], batch.numbers.tolist()), ([b"two", b"two"], [2, 2]))

        def failing():
            yield 1
            raise ZeroDivisionError

        stream, found = bag.stream(failing()), []
        with self.assertRaises(ZeroDivisionError):
            found.extend(iter(lambda: next(stream), None))
        self.assertEqual(found or [next(bag.stream([1]))], [b"one"])
        for number, error in ((6, holdall.RangeError), (-1, OverflowError), ("1", TypeError)):
            with self.assertRaises(error):
                list(bag.stream([number]))

    def test_a_callback_cannot_take_from_its_stream(self):
        bag, raised = holdall.Bag(self.bag(RECORDS)), []

        def numbers():
            try:
                stream.take()
            except holdall.StateError as e:
                raised.append(str(e))
            yield 1

        stream = bag.stream(numbers())
        self.assertEqual((list(stream), len(raised)), ([b"one"], 1))
        self.assertIn("callback", raised[0])

    def test_a_callback_cannot_use_its_writer(self):
        raised = []

        def progress(done, total):
            try:
                writer.append(b"x")
            except holdall.StateError as e:
                raised.append(e)

        with holdall.BagWriter(self.path(".bagz"), progress=progress) as writer:
            writer.extend([b"x" * 1000] * 5000)
            writer.commit()
        self.assertTrue(raised)

    def test_a_generator_is_appended_in_batches(self):
        held, most = weakref.WeakSet(), 0

        class Record(bytearray):
            __hash__ = object.__hash__

        def records():
            nonlocal most
            for i in range(3000):
                record = Record(b"%d" % i * 2000)
                held.add(record)
                most = max(most, len(held))
                yield record

        path = self.path(".bagz")
        with holdall.BagWriter(path) as writer:
            writer.extend(records())
            self.assertLess(most, 10)
            with self.assertRaises(TypeError):
                writer.extend([b"x", 3])
            with self.assertRaises(TypeError):
                writer.append("text")
            self.assertEqual((len(writer), bool(writer)), (3000, True))
            writer.commit()
        self.assertEqual(holdall.Bag(path)[2999], b"2999" * 2000)

    def test_modes(self):
        path = self.bag(RECORDS)
        bag, index = holdall.Bag(path), self.path(".index")
        calls = [lambda mode: holdall.BagWriter(path, mode), lambda mode: bag.copy(self.path(), mode=mode)]
        for call in calls:
            for mode, error in (("r", holdall.ArgumentError), ("q", ValueError), (None, TypeError)):
                with self.assertRaises(error):
                    call(mode)
        for mode, error in (("r", holdall.ArgumentError), ("a", holdall.ArgumentError), ("q", ValueError)):
            with self.assertRaises(error):
                holdall.Index(bag, index, mode)
        self.assertFalse(index.exists())
        to = self.bag([b"first"])
        bag.copy(to, [2, 1], mode="a")
        self.assertEqual(list(holdall.Bag(to)), [b"first", b"two", b"one"])

    def test_pickles_are_recipes(self):
        path = self.bag(RECORDS)
        bag = holdall.Bag(path, threads=1, progress=lambda done, total: None)
        index = self.path(".index")
        made = holdall.Index(bag, index, "x")
        for of in (bag, bag[1:5:2], bag[::-1][1:3], bag[2:2]):
            text = pickle.dumps(of)
            self.assertLessEqual(len(text), 1024)
            self.assertEqual(list(pickle.loads(text)), list(of))
        again = bag
        for _ in range(50):
            again = again[::-1]
        self.assertLessEqual(len(pickle.dumps(again)), 1024)
        self.assertEqual(list(pickle.loads(pickle.dumps(again))), RECORDS)
        for of in (made, holdall.Index(bag)):
            self.assertEqual(pickle.loads(pickle.dumps(of))[b"two"], 2)
        memory = holdall.Bag(holdall.Memory(path.read_bytes()), codec="zstd")
        self.assertEqual(pickle.loads(pickle.dumps(memory))[1], b"one")
        writer = holdall.BagWriter(self.path(".bagz"))
        for of in (writer, bag.stream(), holdall.Bag(path, io="map").stream()):
            with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                pickle.dumps(of)
        writer.close()
        texts = [pickle.dumps(of) for of in (bag, bag[1:3])]
        bag.close()
        with self.assertRaises(holdall.StateError):
            pickle.dumps(bag)
        with holdall.BagWriter(path, "a") as writer:
            writer.append(b"x")
            writer.commit()
        for text in texts:
            with self.assertRaisesRegex(holdall.StateError, "changed since it was pickled"):
                pickle.loads(text)

    def test_tokens_differ_between_bags(self):
        path = self.bag(RECORDS)
        token = lambda **options: holdall.Bag(path, **options).__dask_tokenize__()
        before = token()
        self.assertEqual(before, token())
        self.assertNotEqual(before, token(codec="zstd"))
        self.assertNotEqual(before, holdall.Bag(path)[1:].__dask_tokenize__())
        with holdall.BagWriter(path, "a") as writer:
            writer.append(b"x")
            writer.commit()
        self.assertNotEqual(before, token())

    def test_indexes_are_mappings(self):
        bag = holdall.Bag(self.bag([b"red", b"green", b"red"]))
        index = holdall.Index(bag)
        self.assertEqual((index[b"red"], b"green" in index, b"blue" in index, index.get(b"blue"), index.get(b"blue", 7)), (0, True, False, None, 7))
        self.assertEqual((len(index), index.find(b"red"), index.find_many([b"green", b"x"])), (2, [0, 2], [1, None]))
        with self.assertRaises(KeyError):
            index[b"blue"]
        for key in ("red", 3, None):
            with self.assertRaises(TypeError):
                index[key]

    def test_texts_say_what_a_thing_is(self):
        path = self.bag(RECORDS)
        bag = holdall.Bag(path)
        self.assertEqual(repr(bag), f"<holdall.Bag {path!r}: 6 records>")
        self.assertIn("2 records", repr(bag[1:3]))
        bag.close()
        self.assertIn("closed", repr(bag))
        for name in holdall.__all__:
            self.assertTrue(getattr(holdall, name).__doc__, name)

    def test_threads_read_write_and_close(self):
        path = self.bag([b"%d" % i for i in range(1000)])
        bag, failed = holdall.Bag(path), []

        def read():
            try:
                for i in range(1000):
                    if bag[i] != b"%d" % i:
                        failed.append(i)
            except holdall.StateError:
                pass

        with holdall.BagWriter(self.path(".bagz")) as writer:
            def append():
                for _ in range(200):
                    writer.append(b"x")

            threads = [threading.Thread(target=f) for f in (read, read, append, append)]
            for thread in threads:
                thread.start()
            bag.close()
            for thread in threads:
                thread.join()
            self.assertEqual((failed, len(writer)), ([], 400))
            writer.commit()


if __name__ == "__main__":
    unittest.main()
