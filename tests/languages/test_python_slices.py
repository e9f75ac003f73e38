"""Slices of arrays, tables and bags in Python against NumPy, copies of them, and checksums of arrays."""
import hashlib
import struct
import unittest

import numpy as np
from case import Case, holdall


def checksum(items):
    """The checksum of an array, as the header defines it."""
    lengths = struct.pack(f"<{items.ndim + 1}Q", items.ndim, *items.shape)
    return hashlib.sha256(items.dtype.str.encode() + b"\0" + lengths + items.tobytes()).digest()


class Slices(Case):
    def test_slices_of_arrays_are_those_of_numpy(self):
        items = np.arange(4 * 5 * 6, dtype="<i2").reshape(4, 5, 6)
        for format in ("b2nd", "bloscpack", "bcolz"):
            path = self.path()
            holdall.Array.save(path, items, format)
            with holdall.Array(path) as a:
                self.assertEqual(a.compute_checksum(), checksum(items))
                for key in [
                    ...,
                    1,
                    np.s_[1:3, ::2],
                    np.s_[::-1, 2, 4:1:-2],
                    np.s_[..., None, 3],
                    np.s_[2, 1, 0],
                    np.s_[3:3],
                    np.s_[:, None, 4, :, None],
                ]:
                    s, want = a.slice(key), items[key]
                    self.assertEqual((s.shape, s.dtype), (want.shape, want.dtype))
                    self.assertTrue((s[...] == want).all())
                    self.assertEqual(s.compute_checksum(), checksum(np.ascontiguousarray(want).reshape(want.shape)))
                    copy = self.path()
                    s.copy(copy, "bloscpack")
                    with holdall.Array(copy) as c:
                        self.assertEqual(c.compute_checksum(), s.compute_checksum())
                self.assertEqual(a.slice(np.s_[0:1]).squeeze(0).expand_dims(2).shape, (5, 6, 1))
                for key in ([0, 1], items[:, 0, 0] > 3):
                    self.assertRaises(TypeError, a.slice, key)
                self.assertRaises(IndexError, a.slice, 4)

    def test_an_array_with_open_slices_does_not_change(self):
        with holdall.Array.create(self.path(), (4,), "<i4") as a:
            a.commit()
            s = a.slice(np.s_[1:])
            self.assertRaises(holdall.StateError, a.commit)
            self.assertRaises(holdall.StateError, s.commit)
            s.close()
            a[:] = 1
            a.commit()

    def test_slices_of_tables(self):
        path, copy = self.path(), self.path()
        with holdall.Table.create(path, {"a": "<i4", "b": "S2"}) as t:
            t.append({"a": [1, 2, 3], "b": [b"x", b"yy", b"z"]})
            t.commit()
        with holdall.Table(path) as t, t.slice(slice(None, None, -2), ["b"]) as s:
            self.assertEqual((s.names, len(s)), (["b"], 2))
            s.copy(copy, "blz")
            self.assertEqual(t.slice(slice(1, None))["a"][:].tolist(), [2, 3])
            self.assertRaises(KeyError, t.slice, slice(None), ["c"])
            column = t["a"].slice(np.s_[1:])
        self.assertEqual(column[:].tolist(), [2, 3])
        with holdall.Table(copy) as t:
            self.assertEqual(t["b"][:].tolist(), [b"z", b"x"])

    def test_copies_of_records(self):
        path = self.path(".bag")
        with holdall.Bag(self.bag([b"a", b"b", b"c"])) as b:
            b[::-1].copy(path)
            b.copy(path, [1, 1], mode="a")
            b.copy(path, [], mode="a")
            self.assertRaises(holdall.RangeError, b.copy, path, [3], mode="a")
        with holdall.Bag(path) as c:
            self.assertEqual(list(c), [b"c", b"b", b"a", b"b", b"b"])


if __name__ == "__main__":
    unittest.main()
