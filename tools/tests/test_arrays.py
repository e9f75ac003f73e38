#!/usr/bin/env python3
"""Tests of the command-line tool with arrays of any number of dimensions: boxes of them, and one format after the other.

HOLDALL_TOOL is the tool's path; see test_cli.py, whose helpers are used. Nothing but the standard library of Python
knows here what an array is: what the tool gives is compared with bytes that were put together item by item.
"""

import itertools
import json
import os
import random
import struct
import unittest

from test_cli import Base


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def npy_file(descr, shape, data, fortran=False):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


def parse_npy(data):
    size, = struct.unpack_from("<H", data, 8)
    return eval(data[10:10 + size].decode("latin1")), data[10 + size:]


class Grid:
    """The items of an array, in C order."""

    def __init__(self, shape, size, data):
        self.shape, self.size, self.data = list(shape), size, data
        assert len(data) == count(shape) * size

    @classmethod
    def numbered(cls, shape, size=4):
        return cls(shape, size, b"".join(struct.pack("<Q", 7 * i + 1)[:size] for i in range(count(shape))))

    def item(self, index):
        at = 0
        for i, n in zip(index, self.shape):
            at = at * n + i
        return self.data[at * self.size:(at + 1) * self.size]

    def cut(self, text):
        """What --slice gives: the shape, and the items."""
        parts = text.split(",") if text else []
        if "..." in parts:
            at = parts.index("...")
            parts[at:at + 1] = [":"] * (len(self.shape) - len(parts) + 1)
        parts += [":"] * (len(self.shape) - len(parts))
        places, shape = [], []
        for part, n in zip(parts, self.shape):
            if ":" in part:
                places.append(range(n)[slice(*(int(p) if p else None for p in part.split(":")))])
                shape.append(len(places[-1]))
            else:
                places.append([range(n)[int(part)]])
        return tuple(shape), b"".join(map(self.item, itertools.product(*places)))

    def fortran(self):
        """The same items, the first index fastest."""
        return b"".join(self.item(i[::-1]) for i in itertools.product(*map(range, self.shape[::-1])))


def some_slice(r, shape):
    """Any slice that is right for an array of this shape."""
    parts = []
    for n in shape[:r.randint(1, len(shape))] if shape else []:
        if n > 0 and r.random() < 0.25:
            parts.append(str(r.randint(-n, n - 1)))
            continue
        ends = [r.choice(["", str(r.randint(-n - 2, n + 2))]) for _ in range(2)]
        parts.append(":".join(ends + ([str(r.choice([1, 2, 3, 7, -1, -2, -5]))] if r.random() < 0.5 else [])))
    if r.random() < 0.2 or not parts:
        parts.insert(r.randint(0, len(parts)) if len(parts) == len(shape) else len(parts), "...")
    return ",".join(parts)


class Arrays(Base):
    """Base with arrays of each format."""

    FORMATS = [("blpk", "a.blp"), ("bcolz", "a.bcolz"), ("blz", "a.blz"), ("blz-paper", "a.paper")]

    def make(self, grid, to, name, descr=None, *flags, fortran=False):
        self.write("in.npy", npy_file(descr or f"<u{grid.size}", grid.shape, grid.fortran() if fortran else grid.data, fortran))
        self.good("convert", "-q", "--force", "--no-sync", "in.npy", name, "--to", to, *flags)

    def check_slice(self, grid, name, text):
        shape, want = grid.cut(text)
        self.assertEqual(self.good("cat", name, f"--slice={text}"), want, (name, text))
        head, data = parse_npy(self.good("cat", name, "--format", "npy", f"--slice={text}"))
        self.assertEqual((head["shape"], head["fortran_order"], data), (shape, False, want), (name, text))


class Slices(Arrays):
    def test_boxes(self):
        r = random.Random(5)
        for shape in [[9], [6, 7], [5, 4, 6], [3, 2, 5, 4], [2, 3, 1, 2, 3], [0, 4, 3]]:
            grid = Grid.numbered(shape)
            for to, name in self.FORMATS:
                self.make(grid, to, name)
                for _ in range(8):
                    with self.subTest(to=to, shape=shape):
                        self.check_slice(grid, name, some_slice(r, shape))

    def test_fortran_order(self):
        r = random.Random(6)
        for shape in [[6, 7], [5, 4, 6], [3, 2, 5, 4]]:
            grid = Grid.numbered(shape)
            self.write("in.npy", npy_file("<u4", shape, grid.fortran(), True))
            self.good("pack", "-q", "--force", "--no-sync", "in.npy", "a.blp")
            for _ in range(12):
                self.check_slice(grid, "a.blp", some_slice(r, shape))

    def test_text_and_sums(self):
        grid = Grid.numbered([4, 5, 6])
        for to, name in self.FORMATS:
            self.make(grid, to, name)
            out = self.good("cat", name, "--slice", "1:3,::-2,-1", "--format", "text")
            self.assertEqual([int(line) for line in out.split()], list(struct.unpack("<6I", grid.cut("1:3,::-2,-1")[1])))
            self.write("raw", grid.cut("...,2:4")[1])
            self.good("pack", "-q", "--force", "raw", "raw.blp")
            self.assertEqual(self.good("sum", name, "--slice", "...,2:4").split()[0], self.good("sum", "raw.blp").split()[0])

    def test_large_parts(self):
        # more than is read at once, in each of the dimensions
        for shape in [[40, 1000, 300], [3, 7000, 500]]:
            data = struct.pack("<%dI" % count(shape), *range(count(shape)))
            self.write("in.npy", npy_file("<u4", shape, data))
            for to, name in self.FORMATS[:2]:
                self.good("convert", "-q", "--force", "--no-sync", "in.npy", name, "--to", to)
                self.assertEqual(self.good("cat", name, "--slice", ":"), data)
                for text in ["::-1", "1:,::-1", "::2,:,::-1"]:
                    out = memoryview(self.good("cat", name, "--slice", text)).cast("I")
                    parts = [slice(*(int(p) if p else None for p in part.split(":"))) for part in text.split(",")]
                    places = [range(n)[s] for n, s in zip(shape, parts + [slice(None)] * 3)]
                    self.assertEqual(len(out), count(map(len, places)))
                    for at in random.Random(1).sample(range(len(out)), 2000) + [0, len(out) - 1]:
                        i, jk = divmod(at, len(places[1]) * len(places[2]))
                        j, k = divmod(jk, len(places[2]))
                        self.assertEqual(out[at], (places[0][i] * shape[1] + places[1][j]) * shape[2] + places[2][k])

    def test_what_does_not_fit(self):
        self.make(Grid.numbered([4, 5]), "blpk", "a.blp")
        for text, words in [("4", "dimension 0 .* no place 4"), (":,-6", "dimension 1 .* -5 to -1"), ("0,0,0", "3 parts.*2 dimensions"),
                            ("0,...,0,0", "3 parts")]:
            self.assertRegex(self.bad("cat", f"--slice={text}", "a.blp")[0], words)
        for text in ["", ",", "1,", ":,,:", "...,...", "1:2:0", "::-1,::0", "x", ":, :", ".", "....", ",".join([":"] * 18), "1-2"]:
            self.bad("cat", f"--slice={text}", "a.blp", code=2)
        self.assertIn("A:B:C", self.bad("cat", "--slice", "0,:", "--format", "csv", "a.blp")[0])
        self.write("t.csv", b"x,y\n1,2\n3,4\n")
        self.good("convert", "-q", "t.csv", "t")
        self.bad("cat", "t", "--slice", "0", code=2)
        self.bad("cat", "t", "--slice", ":,0", code=2)
        self.assertEqual(self.good("cat", "t/x", "--slice", "1", "--format", "text"), b"3\n")
        self.good("pack", "-q", "t.csv", "t.bag")
        for path in ("t", "t.bag"):
            self.bad("sum", path, "--slice", "0")


if __name__ == "__main__":
    unittest.main()
