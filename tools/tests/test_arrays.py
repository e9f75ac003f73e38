#!/usr/bin/env python3
"""Tests of the command-line tool with arrays of any number of dimensions: slices and conversions.

HOLDALL_TOOL is the path of the tool; see tool.py. The expected bytes are assembled item by item
with the standard library of Python only.
"""

import glob
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import unittest

from tool import FIXTURES, TOOL, Base, run

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
OWN = os.path.join(HERE, "..", "..", "tests/fixtures")
DATA = os.environ.get("HOLDALL_DATA") or os.path.join(HERE, "..", "..", "..", "shared", "data")
VOLUME = os.path.join(DATA, "mri-4d.nii.gz")


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def npy_file(descr, shape, data, fortran=False):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


def parse_npy(data):
    (size,) = struct.unpack_from("<H", data, 8)
    return eval(data[10 : 10 + size].decode("latin1")), data[10 + size :]


class Grid:
    """Model of an array: its items in C order."""

    def __init__(self, shape, size, data):
        self.shape, self.size, self.data = list(shape), size, data
        assert len(data) == count(shape) * size

    @classmethod
    def numbered(cls, shape, size=4):
        return cls(
            shape, size, b"".join(struct.pack("<Q", 7 * i + 1)[:size] for i in range(count(shape)))
        )

    def item(self, index):
        at = 0
        for i, n in zip(index, self.shape):
            at = at * n + i
        return self.data[at * self.size : (at + 1) * self.size]

    def cut(self, text):
        """Returns the shape and the items that --slice selects."""
        parts = text.split(",") if text else []
        if "..." in parts:
            at = parts.index("...")
            parts[at : at + 1] = [":"] * (len(self.shape) - len(parts) + 1)
        parts += [":"] * (len(self.shape) - len(parts))
        positions, shape = [], []
        for part, n in zip(parts, self.shape):
            if ":" in part:
                positions.append(range(n)[slice(*(int(p) if p else None for p in part.split(":")))])
                shape.append(len(positions[-1]))
            else:
                positions.append([range(n)[int(part)]])
        return tuple(shape), b"".join(map(self.item, itertools.product(*positions)))

    def fortran(self):
        """Returns the same items in Fortran order: the first index varies fastest."""
        return b"".join(
            self.item(i[::-1]) for i in itertools.product(*map(range, self.shape[::-1]))
        )


def some_slice(r, shape):
    """Returns a random valid slice of an array of this shape."""
    parts = []
    for n in shape[: r.randint(1, len(shape))] if shape else []:
        if n > 0 and r.random() < 0.25:
            parts.append(str(r.randint(-n, n - 1)))
            continue
        ends = [r.choice(["", str(r.randint(-n - 2, n + 2))]) for _ in range(2)]
        parts.append(
            ":".join(ends + ([str(r.choice([1, 2, 3, 7, -1, -2, -5]))] if r.random() < 0.5 else []))
        )
    if r.random() < 0.2 or not parts:
        parts.insert(r.randint(0, len(parts)) if len(parts) == len(shape) else len(parts), "...")
    return ",".join(parts)


class Arrays(Base):
    """Base class with arrays of each format."""

    FORMATS = [
        ("blpk", "a.blp"),
        ("bcolz", "a.bcolz"),
        ("blz", "a.blz"),
        ("blz-rfc", "a.rfc"),
        ("b2nd", "a.b2nd"),
        ("caterva", "a.caterva"),
    ]
    # Formats with chunks and blocks along every dimension.
    FRAMES = ["b2nd", "caterva"]

    def remove(self, name):
        """Removes a file or a folder if it exists: neither can replace the other."""
        if os.path.isdir(self.path(name)):
            shutil.rmtree(self.path(name))
        elif os.path.exists(self.path(name)):
            os.remove(self.path(name))

    def make(self, grid, to, name, descr=None, *flags, fortran=False):
        self.write(
            "in.npy",
            npy_file(
                descr or f"<u{grid.size}",
                grid.shape,
                grid.fortran() if fortran else grid.data,
                fortran,
            ),
        )
        self.good("convert", "-q", "--force", "--no-sync", "in.npy", name, "--to", to, *flags)

    def check_slice(self, grid, name, text):
        shape, want = grid.cut(text)
        self.assertEqual(self.good("cat", name, f"--slice={text}"), want, (name, text))
        head, data = parse_npy(self.good("cat", name, "--to", "npy", f"--slice={text}"))
        self.assertEqual(
            (head["shape"], head["fortran_order"], data), (shape, False, want), (name, text)
        )


class Slices(Arrays):
    def test_slices_equal_those_of_the_model(self):
        r = random.Random(5)
        for shape in [[9], [6, 7], [5, 4, 6], [3, 2, 5, 4], [2, 3, 1, 2, 3], [0, 4, 3], [4, 0, 3]]:
            grid = Grid.numbered(shape)
            for to, name in self.FORMATS:
                flags = []
                if to in self.FRAMES:
                    chunks = [r.randint(1, max(1, n)) for n in shape]
                    flags = [
                        "--chunks",
                        ",".join(map(str, chunks)),
                        "--blocks",
                        ",".join(str(r.randint(1, c)) for c in chunks),
                    ]
                    flags += r.choice([[], ["--sparse"]])
                self.remove(name)
                self.make(grid, to, name, None, *flags)
                for _ in range(8):
                    with self.subTest(to=to, shape=shape, flags=flags):
                        self.check_slice(grid, name, some_slice(r, shape))

    def test_arrays_in_fortran_order_are_read_in_c_order(self):
        r = random.Random(6)
        for shape in [[6, 7], [5, 4, 6], [3, 2, 5, 4]]:
            grid = Grid.numbered(shape)
            self.write("in.npy", npy_file("<u4", shape, grid.fortran(), True))
            self.good("pack", "-q", "--force", "--no-sync", "in.npy", "a.blp")
            for _ in range(12):
                self.check_slice(grid, "a.blp", some_slice(r, shape))

    def test_text_and_checksums_cover_the_slice(self):
        grid = Grid.numbered([4, 5, 6])
        for to, name in self.FORMATS:
            self.make(grid, to, name)
            if to == "caterva":  # Caterva stores only the item size.
                self.assertIn("--to text", self.fails("cat", name, "--to", "text")[0])
            else:
                out = self.good("cat", name, "--slice", "1:3,::-2,-1", "--to", "text")
                self.assertEqual(
                    [int(line) for line in out.split()],
                    list(struct.unpack("<6I", grid.cut("1:3,::-2,-1")[1])),
                )
            self.write("raw", grid.cut("...,2:4")[1])
            self.good("pack", "-q", "--force", "raw", "raw.blp")
            self.assertEqual(
                self.good("sum", name, "--slice", "...,2:4").split()[0],
                self.good("sum", "raw.blp").split()[0],
            )

    def test_slices_are_converted(self):
        grid = Grid.numbered([4, 5, 6])
        for to, name in self.FORMATS:
            self.make(grid, to, name)
            for part in ["1:3,::-2,-1", "...,2:4", "2", "3:3", "::-1"]:
                shape, data = grid.cut(part)
                for ending in ["npy", "b2nd", "blp", "bcolz"]:
                    out = f"part.{ending}"
                    self.good("convert", "-q", "--force", "--slice", part, name, out)
                    if ending == "npy":
                        self.assertTrue(self.read(out).endswith(data), (name, part))
                        continue
                    self.assertEqual(self.good("cat", "--to", "raw", out), data, (name, part, out))
                    self.assertEqual(self.info(out)["shape"], list(shape))
        self.assertIn("8", self.fails("convert", "--slice", "8", "a.b2nd", "no.b2nd")[0])
        self.assertFalse(os.path.exists(self.path("no.b2nd")))

    def test_arrays_are_printed_as_rows(self):
        grid = Grid.numbered([9, 4])
        for to, name in self.FORMATS:
            self.make(grid, to, name)
            self.assertEqual(
                self.good("cat", name, "--rows", "8,0,-3,0"),
                b"".join(grid.cut(str(i))[1] for i in (8, 0, 6, 0)),
            )
            self.assertEqual(self.good("cat", name, "--rows", "::-4"), grid.cut("::-4")[1])
            if to != "caterva":
                out = self.good("cat", name, "--slice", "7:", "--to", "jsonl")
                self.assertEqual(
                    [json.loads(line) for line in out.splitlines()],
                    [list(struct.unpack("<4I", grid.cut(str(i))[1])) for i in (7, 8)],
                )

    def test_slices_larger_than_one_read_are_complete(self):
        # Larger than one read, along each dimension.
        for shape in [[40, 1000, 300], [3, 7000, 500]]:
            data = struct.pack("<%dI" % count(shape), *range(count(shape)))
            self.write("in.npy", npy_file("<u4", shape, data))
            for to, name in self.FORMATS[:2] + [("b2nd", "a.b2nd")]:
                self.good("convert", "-q", "--force", "--no-sync", "in.npy", name, "--to", to)
                self.assertEqual(self.good("cat", name, "--slice", ":"), data)
                for text in ["::-1", "1:,::-1", "::2,:,::-1"]:
                    out = memoryview(self.good("cat", name, "--slice", text)).cast("I")
                    parts = [
                        slice(*(int(p) if p else None for p in part.split(":")))
                        for part in text.split(",")
                    ]
                    positions = [range(n)[s] for n, s in zip(shape, parts + [slice(None)] * 3)]
                    self.assertEqual(len(out), count(map(len, positions)))
                    for at in random.Random(1).sample(range(len(out)), 2000) + [0, len(out) - 1]:
                        i, jk = divmod(at, len(positions[1]) * len(positions[2]))
                        j, k = divmod(jk, len(positions[2]))
                        self.assertEqual(
                            out[at],
                            (positions[0][i] * shape[1] + positions[1][j]) * shape[2]
                            + positions[2][k],
                        )

    def test_slices_that_do_not_fit_are_refused(self):
        self.make(Grid.numbered([4, 5]), "blpk", "a.blp")
        for text, expected in [
            ("4", "dimension 0 .* index 4 is out of range"),
            (":,-6", "dimension 1 .* -5 to -1"),
            ("0,0,0", "3 parts.*2 dimensions"),
            ("0,...,0,0", "3 parts"),
        ]:
            self.assertRegex(self.fails("cat", f"--slice={text}", "a.blp")[0], expected)
        for text in [
            "",
            ",",
            "1,",
            ":,,:",
            "...,...",
            "1:2:0",
            "::-1,::0",
            "x",
            ":, :",
            ".",
            "....",
            ",".join([":"] * 18),
            "1-2",
        ]:
            self.fails("cat", f"--slice={text}", "a.blp", code=2)
        self.assertIn("A:B:C", self.fails("cat", "--slice", "0,:", "--to", "csv", "a.blp")[0])
        self.write("t.csv", b"x,y\n1,2\n3,4\n")
        self.good("convert", "-q", "t.csv", "t")
        self.fails("cat", "t", "--slice", "0", code=2)
        self.fails("cat", "t", "--slice", ":,0", code=2)
        self.assertEqual(self.good("cat", "t/x", "--slice", "1", "--to", "text"), b"3\n")
        self.good("pack", "-q", "t.csv", "t.bag")
        for path in ("t", "t.bag"):
            self.fails("sum", path, "--slice", "0", code=2)


class Formats(Arrays):
    """Conversions from each format to each other."""

    DESCRS = [
        ("<u2", 2),
        (">f8", 8),
        ([("a", "<i4"), ("b", ">f8"), ("c", "|S5")], 17),
        ("|S300", 300),
        ("<M8[ns]", 8),
        ("|b1", 1),
    ]

    def test_each_format_converts_to_each_other(self):
        grid = Grid.numbered([7, 6, 5], 4)
        for fortran in [False, True]:
            self.make(
                grid,
                "b2nd",
                "a.b2nd",
                None,
                "--chunks",
                "3,4,2",
                "--blocks",
                "2,2,2",
                fortran=fortran,
            )
            for first in self.FORMATS:
                self.good("convert", "-q", "--force", "a.b2nd", first[1] + "1", "--to", first[0])
                for to, name in self.FORMATS:
                    with self.subTest(first=first[0], to=to):
                        self.good(
                            "convert", "-q", "--force", first[1] + "1", name + "2", "--to", to
                        )
                        self.assertEqual(self.good("cat", name + "2"), grid.data)
                        facts = self.info(name + "2")
                        self.assertEqual(facts["shape"], [7, 6, 5])
                        self.assertEqual(
                            facts["dtype"], "|V4" if "caterva" in (first[0], to) else "<u4"
                        )
                        self.assertRegex(
                            self.good("verify", name + "2").decode(),
                            r": \d+ intact, 0 corrupt, \d+ unchecked\n$",
                        )

    def test_types_and_orders_survive_conversion(self):
        for descr, size in self.DESCRS:
            for shape in [[4, 3, 5], [6], [], [0, 4], [3, 0, 2], [1, 1, 1]]:
                grid = Grid(
                    shape,
                    size,
                    (
                        random.Random(size).randbytes(size * count(shape))
                        if descr != "|b1"
                        else bytes(i % 2 for i in range(count(shape)))
                    ),
                )
                for fortran in [False, True]:
                    with self.subTest(descr=descr, shape=shape, fortran=fortran):
                        self.make(grid, "b2nd", "a.b2nd", descr, fortran=fortran)
                        self.assertEqual(self.good("cat", "a.b2nd"), grid.data)
                        self.good("convert", "-q", "--force", "a.b2nd", "o.npy")
                        head, data = parse_npy(self.read("o.npy"))
                        self.assertEqual(
                            (head, data),
                            (
                                {"descr": descr, "fortran_order": False, "shape": tuple(shape)},
                                grid.data,
                            ),
                        )
                        self.good("convert", "-q", "--force", "a.b2nd", "o.raw", "--to", "raw")
                        self.assertEqual(self.read("o.raw"), grid.data)
                        self.good("convert", "-q", "--force", "o.npy", "o.blp", "--to", "bloscpack")
                        self.good("convert", "-q", "--force", "o.blp", "o.b2nd")
                        self.assertEqual(
                            (self.good("cat", "o.b2nd"), self.info("o.b2nd")["shape"]),
                            (grid.data, shape),
                        )

    def test_frames_without_a_shape_convert_as_one_dimension(self):
        grid = Grid.numbered([40, 25], 8)
        for flags in [[], ["--sparse"]]:
            for source in ["in.npy", "a.b2nd", "a.blp", "a.bcolz"]:
                if source != "in.npy":
                    self.make(
                        grid, dict(b2nd="b2nd", blp="blpk", bcolz="bcolz")[source[2:]], source
                    )
                else:
                    self.write("in.npy", npy_file("<u8", grid.shape, grid.data))
                self.remove("o.b2frame")
                self.good(
                    "convert", "-q", "--force", source, "o.b2frame", "--chunk-size", "1K", *flags
                )
                self.assertEqual(self.good("cat", "o.b2frame"), grid.data)
                self.assertEqual(self.good("unpack", "-q", "o.b2frame", "-"), grid.data)
                self.assertEqual(self.good("identify", "o.b2frame"), b"o.b2frame: b2frame schunk\n")
                facts = self.info("o.b2frame")
                self.assertEqual(
                    (
                        facts["kind"],
                        facts["ndim"],
                        facts["shape"],
                        facts["nbytes"],
                        facts["sparse"],
                    ),
                    ("schunk", 1, [1000], 8000, bool(flags)),
                )
        self.good("convert", "-q", "--force", "o.b2frame", "p.b2nd", "--chunks", "100")
        self.assertEqual(
            (self.good("cat", "p.b2nd"), self.info("p.b2nd")["chunkshape"]), (grid.data, [100])
        )
        self.good("convert", "-q", "o.b2frame", "p.blp")
        self.good("convert", "-q", "p.blp", "q.b2frame")
        self.good("convert", "-q", "q.b2frame", "q.raw", "--to", "raw")
        self.assertEqual((self.good("cat", "p.blp"), self.read("q.raw")), (grid.data, grid.data))
        self.assertIn("not that of the items", self.fails("unpack", "a.b2nd", "-")[0])
        self.write("f.npy", npy_file("<u8", grid.shape, grid.fortran(), True))
        self.assertIn("Fortran", self.fails("convert", "f.npy", "f.b2frame")[0])
        self.fails("convert", "a.b2nd", "f.b2frame", "--chunks", "5,5", code=2)

    def test_plain_files_convert_with_declared_types(self):
        grid = Grid.numbered([6, 5, 4], 2)
        for order, data in [("C", grid.data), ("F", grid.fortran())]:
            self.write("raw", b"h" * 417 + data)
            flags = ["--dtype", "<u2", "--shape", "6,5,4", "--order", order, "--skip", "417"]
            for to, name in self.FORMATS:
                for source, more in [("raw", {}), ("-", {"stdin": self.read("raw")})]:
                    with self.subTest(order=order, to=to, source=source):
                        if order == "F" and name in ("a.bcolz", "a.blz", "a.rfc"):
                            self.assertIn(
                                "Fortran",
                                self.fails(
                                    "convert", source, name, "--to", to, *flags, "--force", **more
                                )[0],
                            )
                            continue
                        self.good(
                            "convert", "-q", "--force", source, name, "--to", to, *flags, **more
                        )
                        self.assertEqual(
                            (self.good("cat", name), self.info(name)["shape"]),
                            (grid.data, [6, 5, 4]),
                        )
            self.good("convert", "-q", "--force", "raw", "o.npy", *flags)
            head, out = parse_npy(self.read("o.npy"))
            self.assertEqual(
                (head, out),
                ({"descr": "<u2", "fortran_order": order == "F", "shape": (6, 5, 4)}, data),
            )
            self.good(
                "convert", "-q", "--force", "-", "p.b2nd", "--from", "npy", stdin=self.read("o.npy")
            )
            self.assertEqual(self.good("cat", "p.b2nd"), grid.data)
        # Without a shape, an array has one dimension. A structured type becomes columns of a table.
        self.write("raw", bytes(range(24)))
        self.good("convert", "-q", "raw", "one.b2nd", "--dtype", ">i4")
        self.assertEqual(
            (self.info("one.b2nd")["shape"], self.info("one.b2nd")["dtype"]), ([6], ">i4")
        )
        self.good(
            "convert", "-q", "raw", "t", "--to", "bcolz", "--dtype", "[('x', '<i4'), ('y', '<f8')]"
        )
        self.assertEqual([c["name"] for c in self.info("t")["columns"]], ["x", "y"])

    def test_chunks_of_any_shape_in_both_orders(self):
        data = bytes(i % 251 for i in range(50 * 45 * 4))
        self.write("raw", data)
        flags = ["--dtype", "<i4", "--shape", "50,45", "--chunks", "30,20", "--to", "blz-rfc"]
        for name, more, order in (("c", [], None), ("f", ["--fortran", "--yaml"], "F")):
            self.good("convert", "-q", "raw", name, *flags, *more)
            info = self.info(name)
            self.assertEqual((info["chunkshape"], info.get("order")), ([30, 20], order))
            self.assertEqual(self.good("cat", name), data)
            head, out = parse_npy(self.good("cat", name, "--to", "npy"))
            self.assertEqual((head["fortran_order"], out), (False, data))
            self.good("append", "-q", name, "raw")
            self.assertEqual(self.good("cat", name), 2 * data)
            self.good("convert", "-q", name, name + ".b2nd")
            self.assertEqual(self.info(name + ".b2nd")["chunkshape"], [30, 20])
            self.good("diff", name, name + ".b2nd")
            self.good("convert", "-q", name, name + "2", "--to", "blz-rfc")
            info = self.info(name + "2")
            self.assertEqual((info["chunkshape"], info.get("order")), ([30, 20], order))
        self.assertIn(b"chunkshape: [30, 20]\n", self.read("f/meta/storage"))
        self.assertIn(b"shape: [100, 45]\n", self.read("f/meta/sizes"))
        error, _ = self.fails("convert", "raw", "o", *flags[:-1], "bcolz")
        self.assertIn("complete rows", error)

    def test_an_array_of_zeros_is_not_read_as_a_bag(self):
        # Its last 8 bytes are a valid offset of Bagz, so the file opens as a bag.
        self.write("zeros.f8", bytes(8000))
        self.good("convert", "-q", "zeros.f8", "zeros.npy", "--dtype", "<f8")
        self.good("convert", "-q", "zeros.npy", "zeros.b2nd", "--chunks", "100")
        self.assertEqual(self.info("zeros.b2nd")["shape"], [1000])

    def test_short_blocks_have_a_dictionary_on_request(self):
        lines = b"".join(b"user %d of the city of Osaka\n" % i for i in range(9000))
        self.write("lines", lines)
        flags = ["--dtype", "|u1", "--codec", "zstd", "--chunks", "100000", "--blocks", "400"]
        self.good("convert", "-q", "lines", "plain.b2nd", *flags)
        self.good("convert", "-q", "lines", "with.b2nd", *flags, "--chunk-dictionary")
        sizes = [len(self.read(name)) for name in ("plain.b2nd", "with.b2nd")]
        self.assertLess(sizes[1], 0.9 * sizes[0])
        self.good("diff", "plain.b2nd", "with.b2nd")
        error, _ = self.fails("convert", "lines", "o.b2nd", *flags[:3], "zlib", "--chunk-dictionary")
        self.assertIn("--chunk-dictionary: zlib has no dictionaries", error)

    def test_proxies_are_followed_on_request(self):
        with open(os.path.join(OWN, "b2nd/p_proxy.b2nd"), "rb") as proxy:
            self.write("p.b2nd", proxy.read())
        error, _ = self.fails("cat", "p.b2nd")
        self.assertIn("--follow-links", error)
        error, _ = self.fails("cat", "p.b2nd", "--follow-links")
        self.assertIn('the source "a.b2nd": not found', error)
        self.write("raw", bytes(range(200)) * 4)
        shape = ["--dtype", "<i4", "--shape", "20,10", "--chunks", "7,5", "--blocks", "4,5"]
        self.good("convert", "-q", "raw", "a.b2nd", *shape)
        self.assertEqual(self.good("cat", "p.b2nd", "--follow-links"), bytes(range(200)) * 4)

    def test_missing_or_wrong_facts_of_plain_files_are_refused(self):
        self.write("raw", bytes(24))
        for args in [
            ["raw", "o.b2nd", "--from", "raw"],
            ["raw", "o.b2nd", "--shape", "6"],
            ["raw", "o.b2nd", "--order", "F"],
            ["raw", "o.b2nd", "--skip", "1"],
            ["in.npy", "o.b2nd", "--from", "npy", "--dtype", "<i4"],
            ["raw", "o.npy", "--dtype", "<i4", "--chunks", "2"],
            ["raw", "o.npy", "--dtype", "<i4", "--sparse"],
            ["raw", "o.blp", "--dtype", "<i4", "--both"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--order", "A"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--chunks", "2,"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--filters", "shuffle,none"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--filters", "shuffle,zip"],
            ["raw", "o.b2nd", "--dtype", "<f4", "--filters", "trunc_prec"],
            ["raw", "o.b2nd", "--dtype", "<f4", "--filters", "trunc_prec:0"],
            ["raw", "o.b2nd", "--dtype", "<f4", "--filters", "trunc_prec:200"],
            ["raw", "o.b2nd", "--dtype", "<f4", "--filters", "trunc_prec:-129"],
            ["raw", "o.b2nd", "--dtype", "<f4", "--filters", "shuffle,trunc_prec:10"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--shape", "-6"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--chunks", "0"],
            ["raw", "o.b2nd", "--dtype", "<i4", "--blocks", "1,0"],
        ]:
            with self.subTest(args=args):
                self.fails("convert", *args, code=2)
        for flags, expected in [
            (["<i4", "--shape", "5"], "20 bytes"),
            (["<i4", "--shape", "7"], "28 bytes"),
            (["<i5"], "<i5"),
            (["<i4", "--skip", "1"], "whole number"),
            (["<i4", "--skip", "25", "--shape", "0"], "24 bytes"),
            (["<i4", "--chunks", "2,3"], "2 numbers.*1 dimension"),
            (["|O"], r"\|O"),
        ]:
            with self.subTest(flags=flags):
                self.assertRegex(
                    self.fails("convert", "raw", "o.b2nd", "--dtype", *flags)[0], expected
                )
        self.assertIn(
            "--shape", self.fails("convert", "-", "o.b2nd", "--dtype", "<i4", stdin=bytes(24))[0]
        )
        self.assertIn("truncated", self.fails("convert", "-", "o.b2nd")[0])
        self.assertEqual([n for n in self.files() if n.startswith("o.")], [])

    def test_flags_set_the_storage_of_frames(self):
        grid = Grid.numbered([30, 20], 4)
        self.write("in.npy", npy_file("<u4", grid.shape, grid.data))
        for flags, expected in [
            ([], {"codec": "lz4", "filters": ["shuffle"], "sparse": False, "checksum": "crc32"}),
            (
                ["--codec", "zstd", "--level", "9", "--filters", "bitshuffle"],
                {"codec": "zstd", "filters": ["bitshuffle"], "level": 9},
            ),
            (
                [
                    "--codec",
                    "zlib",
                    "--filters",
                    "shuffle,bytedelta",
                    "--chunks",
                    "16,7",
                    "--blocks",
                    "4,7",
                ],
                {
                    "codec": "zlib",
                    "filters": ["shuffle", "bytedelta"],
                    "chunkshape": [16, 7],
                    "blockshape": [4, 7],
                    "chunks": 6,
                },
            ),
            (["--codec", "blosclz", "--filters", "none"], {"codec": "blosclz", "filters": []}),
            (
                ["--codec", "lz4hc", "--filters", "bitshuffle", "--sparse"],
                {"codec": "lz4hc", "filters": ["bitshuffle"], "sparse": True},
            ),
            (["--checksum", "none"], {"checksum": "none"}),
        ]:
            for to in self.FRAMES:
                with self.subTest(flags=flags, to=to):
                    self.good("convert", "-q", "in.npy", "o", "--to", to, *flags)
                    facts = self.info("o")
                    self.assertEqual({k: facts[k] for k in expected}, expected)
                    self.assertEqual(os.path.isdir(self.path("o")), "--sparse" in flags)
                    self.assertEqual(self.good("cat", "o"), grid.data)
                    self.good("convert", "-q", "o", "p", "--to", "b2nd", "--both", "--force")
                    self.assertEqual(set(self.info("p")["metalayers"]), {"b2nd", "caterva"})
                    self.remove("o")
                    self.remove("p")

    def test_precision_is_truncated_on_request(self):
        floats = [1.5, 1.999999, -0.0, float("inf"), -2.7182817]
        self.write("in", struct.pack("<5f", *floats))
        for bits, last in [("1", -2.0), ("-22", -2.0), ("3", -2.5), ("23", -2.7182817)]:
            flags = ["--dtype", "<f4", "--filters", f"trunc_prec:{bits},shuffle"]
            self.good("convert", "-q", "in", "o.b2nd", "--force", *flags)
            self.assertEqual(self.info("o.b2nd")["filters"], [f"trunc_prec:{bits}", "shuffle"])
            items = self.good("cat", "o.b2nd")
            self.assertEqual(items[16:], struct.pack("<f", last))
            self.assertEqual(items[:4] + items[8:16], struct.pack("<3f", 1.5, *floats[2:4]))
            self.good("convert", "-q", "o.b2nd", "p.b2nd", "--force", "--codec", "zstd")
            self.assertEqual(self.info("p.b2nd")["filters"], ["shuffle"])
            self.assertEqual(self.good("cat", "p.b2nd"), items)
            self.good("convert", "-q", "in", "o.rfc", "--to", "blz-rfc", "--force", *flags)
            self.assertEqual(self.info("o.rfc")["filters"], [f"trunc_prec:{bits}", "shuffle"])
            self.assertEqual(self.good("cat", "o.rfc"), items)
        for dtype, bits in [("<i4", "10"), (">f4", "10"), ("<f4", "24"), ("<f4", "-23")]:
            flags = ["--dtype", dtype, "--filters", f"trunc_prec:{bits}"]
            self.fails("convert", "in", "q.b2nd", *flags)

    def test_convert_copies_attributes(self):
        self.make(Grid.numbered([5, 4]), "bcolz", "a.bcolz")
        values = {"unit": "K", "n": [1, -70000, 2**40, 2.5, None, True], "deep": {"x": {"y": []}}}
        for name, value in values.items():
            self.good("attr", "set", "a.bcolz", name, json.dumps(value))
        for path in [
            ["a.bcolz", "b.b2nd", "c.bcolz"],
            ["a.bcolz", "b.b2nd", "c.blp", "d.b2nd"],
            ["a.bcolz", "b.caterva", "c.b2nd"],
        ]:
            for a, b in zip(path, path[1:]):
                self.good("convert", "-q", "--force", a, b)
            self.assertEqual(json.loads(self.good("attr", "get", path[-1])), values, path)
        self.write("a.bcolz/__attrs__", b'{"n": NaN, "l": [1, Infinity], "x": 1}')
        self.good("convert", "-q", "--force", "a.bcolz", "b.b2nd")
        self.assertEqual(
            json.loads(self.good("attr", "get", "b.b2nd")),
            {"n": "NaN", "l": [1, "Infinity"], "x": 1},
        )
        self.assertIn(
            b"cannot store 3 attributes",
            run("convert", "d.b2nd", "o.npy", cwd=self.folder.name).stderr,
        )

    def test_memory_is_bounded_and_a_signal_leaves_no_file(self):
        # 300 MB of content, 220 MB of address space, in both orders, from a pipe and from a file.
        shape = "75,1000,1000"
        line = (
            "ulimit -v 220000; head -c 300000000 /dev/zero | "
            '"$0" convert -q --threads 1 --no-sync - a.b2nd --dtype "<i4" --shape $1 --order $2 '
            '--chunks 5,100,100 && "$0" cat --threads 1 a.b2nd | wc -c && '
            '"$0" convert -q --threads 1 --no-sync a.b2nd b.b2nd --chunks 25,50,200 && '
            '"$0" cat --threads 1 --slice "::-1,5:900" b.b2nd | wc -c'
        )
        for order in "CF":
            p = subprocess.run(
                ["bash", "-c", line, TOOL, shape, order], cwd=self.folder.name, capture_output=True
            )
            self.assertEqual(
                (p.stderr, p.stdout.split(), p.returncode), (b"", [b"300000000", b"268500000"], 0)
            )
            os.remove(self.path("a.b2nd"))
            os.remove(self.path("b.b2nd"))
        for to in ["b2nd", "b2frame", "blpk", "npy"]:
            self.interrupt_fed(
                signal.SIGTERM,
                bytes(20_000_000),
                "convert",
                "-",
                "s." + to,
                "--to",
                to,
                "--dtype",
                "<i4",
                "--shape",
                "100,100,1000",
            )
            self.assertFalse(os.path.exists(self.path("s." + to)), to)


class Frames(Arrays):
    """Tests of the other commands with frames."""

    def test_info_shows_the_layout_of_frames(self):
        self.make(
            Grid.numbered([6, 5]), "b2nd", "a.b2nd", None, "--chunks", "4,5", "--blocks", "2,5"
        )
        facts = self.info("a.b2nd")
        for key in [
            "ndim",
            "shape",
            "chunkshape",
            "blockshape",
            "dtype",
            "codec",
            "filters",
            "nbytes",
            "cbytes",
            "metalayers",
        ]:
            self.assertIn(key, facts)
        self.assertEqual(
            [
                facts[k]
                for k in (
                    "format",
                    "kind",
                    "ndim",
                    "nbytes",
                    "chunks",
                    "chunks_stored",
                    "chunks_special",
                )
            ],
            ["b2nd", "array", 2, 120, 2, 2, 0],
        )
        self.assertEqual(facts["cbytes"], os.path.getsize(self.path("a.b2nd")))
        self.assertEqual(
            facts["metalayers"]["b2nd"]["value"], [0, 2, [6, 5], [4, 5], [2, 5], 0, "<u4"]
        )
        lines = self.good("info", "a.b2nd").decode()
        for expected in [
            "format: +b2nd\n",
            "shape: +6, 5\n",
            "chunk: +4, 5\n",
            "block: +2, 5\n",
            "codec: +lz4, level 5\n",
            "filters: +shuffle\n",
            "  b2nd: ",
        ]:
            self.assertRegex(lines, expected)
        self.assertEqual(self.good("info", "--files", "a.b2nd"), b"a.b2nd\n")
        self.good("convert", "-q", "a.b2nd", "s.b2nd", "--sparse")
        self.assertEqual(
            sorted(self.good("info", "--files", "s.b2nd").decode().split()),
            sorted(os.listdir(self.path("s.b2nd"))),
        )
        self.assertEqual(
            [
                (x["path"], x["format"], x["kind"], x["shape"])
                for x in json.loads(self.good("ls", "--json", "."))
            ],
            [("./a.b2nd", "b2nd", "array", [6, 5]), ("./s.b2nd", "b2nd", "array", [6, 5])],
        )
        for name in ["a.b2nd", "s.b2nd"]:
            self.assertEqual(self.good("ls", name).decode(), f"{name}  b2nd array  <u4 [6, 5]\n")
        for to, name in self.FORMATS:
            self.make(Grid.numbered([60, 50]), to, name)
            facts = self.info(name)
            self.assertEqual(
                (facts["ndim"], facts["shape"], len(facts["chunkshape"]), len(facts["blockshape"])),
                (2, [60, 50], 2, 2),
            )
            self.assertEqual(
                (facts["codec"], facts["filters"]),
                ("blosclz" if to == "blz" else "lz4", ["shuffle"]),
            )
            self.assertIsInstance(facts["metalayers"], dict)

    def test_append_and_trim_change_the_rows_of_frames(self):
        grid = Grid.numbered([7, 4, 3])
        for flags in [[], ["--sparse"]]:
            self.remove("a.b2nd")
            self.make(grid, "b2nd", "a.b2nd", None, "--chunks", "3,2,3", *flags)
            self.good("append", "-q", "a.b2nd", "in.npy")
            self.good("append", "-q", "a.b2nd", "-", stdin=grid.data[: 2 * 48])
            self.assertEqual(
                (self.info("a.b2nd")["shape"], self.good("cat", "a.b2nd")),
                ([16, 4, 3], grid.data * 2 + grid.data[:96]),
            )
            self.assertIn("bytes", self.fails("append", "a.b2nd", "-", stdin=grid.data[:50])[0])
            self.good("trim", "-q", "a.b2nd", "9")
            self.good("trim", "-q", "--", "a.b2nd", "-1")
            self.assertEqual(
                (self.info("a.b2nd")["shape"], self.good("cat", "a.b2nd")),
                ([8, 4, 3], grid.data + grid.data[:48]),
            )
            self.assertEqual(
                self.good("sum", "a.b2nd").split()[0].decode(),
                hashlib.sha256(grid.data + grid.data[:48]).hexdigest(),
            )
            self.assertRegex(self.good("verify", "a.b2nd"), rb" intact, 0 corrupt, 0 unchecked\n$")

    def test_attributes_of_frames_are_metalayers(self):
        self.make(Grid.numbered([3]), "b2nd", "a.b2nd")
        self.good("convert", "-q", "in.npy", "a.b2frame")
        for name in ["a.b2nd", "a.b2frame"]:
            values = {
                "zero": 0,
                "least": -32,
                "less": -33,
                "byte": 255,
                "word": 256,
                "long": 2**32,
                "most": 2**64 - 1,
                "low": -(2**63),
                "half": 0.5,
                "e": 1e300,
                "text": "h\u00e9\n",
                "long text": "x" * 300,
                "none": None,
                "yes": True,
                "list": list(range(20)),
                "map": {str(i): [i] for i in range(20)},
                "bytes": {"hex": "00ff"},
                "no bytes": {"hex": ""},
                "hex": {"hex": "0"},
                "empty": [[], {}],
            }
            for key, value in values.items():
                self.good("attr", "set", name, key, "--", json.dumps(value))
            self.assertEqual(json.loads(self.good("attr", "get", name)), values)
            self.assertEqual(self.good("attr", "get", name, "half"), b"0.5\n")
            self.assertEqual(self.good("attr", "get", "--raw", name, "word"), b"\xcd\x01\x00")
            self.assertEqual(self.good("attr", "get", "--raw", name, "bytes"), b"\xc4\x02\x00\xff")
            self.good("attr", "set", "--raw", name, "own", "-", stdin=b"\xc1 none of theirs")
            self.assertEqual(self.good("attr", "get", "--raw", name, "own"), b"\xc1 none of theirs")
            self.assertEqual(
                json.loads(self.good("attr", "get", name, "own")),
                {"hex": b"\xc1 none of theirs".hex()},
            )
            self.good("attr", "remove", name, "own")
            self.good("attr", "set", name, "header", '"abc"', "--fixed")
            self.good("attr", "set", name, "header", '"xyz"', "--fixed")
            self.assertEqual(self.good("attr", "get", name, "header"), b'"xyz"\n')
            self.assertIn("header", self.fails("attr", "remove", name, "header")[0])
            self.fails("attr", "set", name, "word", "1", "--fixed")
            self.assertIn("no attribute 'own'", self.fails("attr", "get", name, "own")[0])
            for args in [
                ["get", "--raw", name],
                ["remove", "--raw", name, "zero"],
                ["set", name, "x", "{"],
            ]:
                self.fails("attr", *args, code=2)
            self.assertEqual(self.info(name)["metalayers"]["half"], {"bytes": 9, "value": 0.5})

    def test_corruption_of_frames_is_reported(self):
        grid = Grid.numbered([40, 50], 8)
        self.make(grid, "b2nd", "a.b2nd", None, "--chunks", "10,50")
        whole = self.read("a.b2nd")
        for at in range(400, len(whole) - 400, len(whole) // 7):
            self.write("a.b2nd", whole)
            self.flip("a.b2nd", at)
            self.fails("cat", "a.b2nd")
            r = run("verify", "a.b2nd", cwd=self.folder.name)
            self.assertEqual(r.returncode, 1)
            message, out = self.fails("cat", "--skip-damaged", "a.b2nd")
            self.assertEqual(len(out), len(grid.data))
            self.assertEqual(
                sum(
                    a != b for a, b in zip(zip(*[iter(out)] * 4000), zip(*[iter(grid.data)] * 4000))
                ),
                1,
            )
        self.write("a.b2nd", b"\x9e\xa8b2frame\0" + whole[10:13] + b"\xff" + whole[14:])
        for args in [["info"], ["cat"]]:
            self.assertIn("header", self.fails(*args, "a.b2nd")[0])
        self.write("a.b2nd", whole + b"leftover")
        self.good("repair", "a.b2nd")
        self.assertEqual(self.good("cat", "a.b2nd"), grid.data)
        self.assertRegex(self.good("verify", "a.b2nd"), rb" 4 intact, 0 corrupt, 0 unchecked\n$")

    def test_the_volume_example_succeeds(self):
        prefix = os.path.dirname(os.path.dirname(TOOL))
        for volume in [[], [VOLUME]] if os.path.exists(VOLUME) else [[]]:
            p = subprocess.run(
                ["sh", os.path.join(EXAMPLES, "volume.sh"), prefix, self.path("volume"), *volume],
                capture_output=True,
            )
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertRegex(p.stdout.decode(), r"\n1[12] hyperplanes, all the same\n$")


@unittest.skipUnless(
    FIXTURES and os.path.isdir(os.path.join(FIXTURES or "", "b2nd")), "no fixtures of Blosc2"
)
class Fixtures(Arrays):
    """Files that Blosc2 and Caterva wrote."""

    # Arrays whose codec or filter is a plugin, and one whose items were never written.
    UNKNOWN = {"k_ndcell_f8": "32", "k_zfp_rate_f4": "35"}
    ANYTHING = {"s_uninit_sparse"}

    def test_content_and_facts_equal_those_of_the_original_tools(self):
        r = random.Random(9)
        seen = 0
        for folder in ["b2nd", "caterva"]:
            for about in sorted(glob.glob(os.path.join(FIXTURES, folder, "*.json"))):
                with open(about) as f:
                    fixture = json.load(f)
                name, path = fixture["name"], os.path.join(FIXTURES, folder, fixture["path"])
                if "expected" not in fixture or name in self.ANYTHING:
                    continue
                with self.subTest(name=name):
                    seen += 1
                    if name in self.UNKNOWN:
                        self.assertIn(self.UNKNOWN[name], self.fails("cat", path)[0])
                        continue
                    with open(os.path.join(FIXTURES, folder, fixture["expected"]), "rb") as f:
                        want = f.read()
                    self.assertEqual(self.good("cat", path), want)
                    facts = self.info(path)
                    self.assertEqual(facts["nbytes"], len(want))
                    self.assertEqual(facts["sparse"], fixture["storage"] == "sparse")
                    if "shape" not in fixture:
                        continue
                    for key in ["shape", "chunkshape", "blockshape"]:
                        self.assertEqual(facts[key], fixture[key], key)
                    if "dtype" in fixture:
                        self.assertEqual(
                            facts["dtype"].translate({32: None, 124: None}),
                            str(fixture["dtype"]).translate({32: None, 124: None}),
                        )
                    size = fixture.get("itemsize") or (
                        len(want) // count(fixture["shape"]) if want else 1
                    )
                    if len(want) < 100_000:
                        grid = Grid(fixture["shape"], size, want)
                        for _ in range(4):
                            self.check_slice(grid, path, some_slice(r, grid.shape))
        self.assertGreater(seen, 30)


if __name__ == "__main__":
    unittest.main()
