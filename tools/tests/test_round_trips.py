#!/usr/bin/env python3
"""Tests of round trips: each pair of formats, with random codecs, layouts, types and shapes.

The content that is read equals the content that was written, or the tool reports why it cannot be
stored. An error is expected only if a rule below allows it.
"""

import itertools
import json
import math
import os
import random
import re
import struct
import unittest

from tool import Base, np_count, run

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
CODECS = ["none", "blosclz", "lz4", "lz4hc", "zlib", "zstd"]
CHECKSUMS = ["none", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]
# Name of a form: its ending and its flags. Further flags are random.
FORMS = {
    "npy": (".npy", []),
    "blp": (".blp", []),
    "bcolz": (".bcolz", []),
    "blz": (".blz", []),
    "blz-rfc": (".rfc", ["--to", "blz-rfc"]),
    "b2nd": (".b2nd", []),
    "caterva": (".caterva", []),
    "b2nd sparse": (".b2nd", ["--sparse"]),
    "caterva sparse": (".caterva", ["--sparse"]),
    "both": (".b2nd", ["--both"]),
    "csv": (".csv", []),
    "jsonl": (".jsonl", []),
    "b2frame": (".b2frame", []),
    "raw": (".raw", ["--to", "raw"]),
}
TEXT = ("csv", "jsonl")
ROWS_OF = ("bcolz", "blz", "blz-rfc")
ROWS = (*ROWS_OF, *TEXT)
FRAMES = ("b2nd", "caterva", "b2nd sparse", "caterva sparse", "both", "b2frame")
# Forms, what they cannot hold, and the message of the tool: any other error is a failure.
REFUSED = [
    (ROWS, lambda dtype, shape, data: shape == (), "an array without dimensions has no rows"),
    (
        ("csv",),
        lambda dtype, shape, data: len(shape) > 1 and shape[1] == 0,
        "its rows have no items, and CSV has no rows without a field",
    ),
    (
        TEXT,
        lambda dtype, shape, data: dtype[1] == "S" and not all_utf8(data, size_of(dtype)),
        "it has a string that is no UTF-8",
    ),
]
DTYPES = [
    "|b1",
    "|i1",
    "<u2",
    ">i4",
    "<i8",
    ">u8",
    "<f2",
    "<f4",
    ">f8",
    "<f8",
    "<c8",
    ">c16",
    "|S5",
    "<U3",
    "<M8[s]",
    "<M8[D]",
    ">M8[ns]",
    "<m8[ms]",
    "|V3",
]
SHAPES = [(), (0,), (1,), (7,), (1000,), (3, 0), (0, 4), (11, 5), (4, 3, 5), (2, 1, 3, 2)]
# Structured types, which are tables in a folder.
FIELDS = [
    [("x", "<i4"), ("y", ">f8"), ("name", "|S4")],
    [("t", "<M8[s]"), ("ok", "|b1"), ("n", "<u2"), ("u", "<U2")],
    [("p", "<f4", (2,)), ("k", "|i1")],
]


def size_of(dtype):
    if isinstance(dtype, list):
        return sum(
            size_of(field[1]) * np_count(field[2] if len(field) > 2 else ()) for field in dtype
        )
    n = int(re.match(r"[<>|]\w(\d+)", dtype)[1])
    return n * 4 if dtype[1] == "U" else n


def after(form, dtype, shape):
    """Returns the dtype and the shape that are read back from a form.

    Caterva stores only the item size, a frame without a shape only its typesize. A plain file
    stores nothing.
    """
    size = size_of(dtype)
    if "caterva" in form:
        return f"|V{size}", shape
    if form == "b2frame":
        return "|u1" if size == 1 else f"|V{size}", (np_count(shape),)
    return dtype, (1,) if form == "raw" and shape == () else shape


def all_utf8(data, size):
    for i in range(0, len(data), size):
        try:
            data[i : i + size].rstrip(b"\0").decode()
        except UnicodeDecodeError:
            return False
    return True


def npy(dtype, shape, data):
    text = "{'descr': %r, 'fortran_order': False, 'shape': %r, }" % (dtype, shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data


def parsed(content):
    end = 10 + struct.unpack_from("<H", content, 8)[0]
    about = eval(content[10:end].decode(), {}, {})  # This test or the tool wrote it.
    if isinstance(about["descr"], list):  # A field with a shape has two spellings.
        about["descr"] = [(f[0], *f[1]) if isinstance(f[1], tuple) else f for f in about["descr"]]
    return about["descr"], about["shape"], about["fortran_order"], content[end:]


def once(pairs):
    """Returns a JSON object. Raises AssertionError if it has a key twice."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise AssertionError(f"a key is there twice: {keys}")
    return dict(pairs)


class RoundTrips(Base):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(f"{SEED} {self._testMethodName}")
        self.pairs = 0

    def content(self, dtype, shape):
        if isinstance(dtype, list):
            return b"".join(self.field(field) for _ in range(np_count(shape)) for field in dtype)
        n = np_count(shape) * size_of(dtype)
        if dtype[1] == "b":
            return bytes(self.rng.randrange(2) for _ in range(n))
        if dtype[1] == "S" and self.rng.random() < 0.5:
            return b"".join(
                self.rng.choice([b"", b"ab", b'"', b"x,\r\n", b"f0", b" y "]).ljust(
                    size_of(dtype), b"\0"
                )
                for _ in range(np_count(shape))
            )
        if dtype[1] == "U":
            order = "<" if dtype[0] == "<" else ">"
            return b"".join(
                struct.pack(order + "I", self.rng.choice([0, 65, 0xE9, 0x1F600]))
                for _ in range(n // 4)
            )
        if self.rng.random() < 0.3:
            return bytes(n)
        if dtype[1] == "f" and self.rng.random() < 0.5:  # NaNs with payloads.
            kind = {2: "H", 4: "I", 8: "Q"}[size_of(dtype)]
            base = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8 << 48}[size_of(dtype)]
            return b"".join(
                struct.pack(dtype[0] + kind, base + self.rng.randrange(200))
                for _ in range(n // size_of(dtype))
            )
        return bytes(self.rng.choice([0, 0, 1, 2, 255, self.rng.randrange(256)]) for _ in range(n))

    def field(self, field):
        """Returns a random item of a field that survives text: UTF-8, and no NaN."""
        dtype, n = field[1], np_count(field[2] if len(field) > 2 else ())
        if dtype[1] == "S":
            return (
                self.rng.choice([b"", b"ab", b'"x', b"a,b", b" y "])[: size_of(dtype)].ljust(
                    size_of(dtype), b"\0"
                )
                * n
            )
        if dtype[1] == "f":
            return b"".join(
                struct.pack(
                    dtype[0] + {4: "f", 8: "d"}[size_of(dtype)],
                    self.rng.choice([0.5, -1e30, 0.0, 3.25]),
                )
                for _ in range(n)
            )
        return self.content(dtype, (n,))

    def as_text(self, dtype, data):
        """Returns the items as they are read back from text, where a NaN has no payload."""
        size = size_of(dtype)
        if isinstance(dtype, list) or dtype[1] not in "fc" or not size:
            return data
        half = size // 2 if dtype[1] == "c" else size
        kind, nan = {2: ("e", 0x7E00), 4: ("f", 0x7FC00000), 8: ("d", 0x7FF8 << 48)}[half]
        order = dtype[0]
        parts = [data[i : i + half] for i in range(0, len(data), half)]
        quiet = nan.to_bytes(half, "little" if order == "<" else "big")
        return b"".join(
            quiet if math.isnan(struct.unpack(order + kind, part)[0]) else part for part in parts
        )

    def shapes(self, form, dtype, shape):
        """Returns flags for the shapes of chunks and blocks.

        In a folder, each chunk is a file, so the number of chunks is limited.
        """
        if not shape or (form in ROWS_OF and isinstance(dtype, list)):
            return []
        if form == "b2frame" or self.rng.random() < 0.3:
            return [
                "--chunk-size",
                str(
                    size_of(dtype)
                    * self.rng.randrange(max(1, np_count(shape) // 8), np_count(shape) + 2)
                ),
            ]
        if form not in FRAMES:
            return (
                [
                    "--chunks",
                    ",".join(
                        map(
                            str,
                            (self.rng.randrange(max(1, shape[0] // 8), shape[0] + 2), *shape[1:]),
                        )
                    ),
                ]
                if 0 not in shape[1:]
                else []
            )
        chunks = [self.rng.randrange(max(1, n // 3), n + 2) for n in shape]
        blocks = [self.rng.randrange(max(1, n // 8), n + 1) for n in chunks]
        return [
            "--chunks",
            ",".join(map(str, chunks)),
            *(["--blocks", ",".join(map(str, blocks))] if self.rng.random() < 0.6 else []),
        ]

    def flags(self, form, dtype, shape):
        """Returns random flags for writing a form. Settings without a flag have their defaults."""

        def sometimes(*flags):
            return flags if self.rng.random() < 0.5 else ()

        if form in ("npy", "raw", *TEXT):
            return FORMS[form][1]
        frame = form in FRAMES
        codecs = [
            c
            for c in CODECS + ["snappy"]
            if not (c == "zstd" and form == "blz") and not (c == "snappy" and frame)
        ]
        some = [
            *FORMS[form][1],
            "--no-sync",
            *sometimes("--codec", self.rng.choice(codecs)),
            *sometimes("--level", str(self.rng.randrange(10))),
        ]
        if frame:
            filters = self.rng.sample(
                ["shuffle", "bitshuffle", "delta", "bytedelta"], self.rng.randrange(4)
            )
            filters.sort(key="delta".__ne__)  # it must be the first filter
            some += sometimes("--filters", ",".join(filters) or "none")
        else:
            some += sometimes(
                "--filters", self.rng.choice(["none", "shuffle"] + ["bitshuffle"] * (form != "blz"))
            )
        some += sometimes("--checksum", self.rng.choice(["none", "crc32"] if frame else CHECKSUMS))
        if form == "blp":
            some += [*sometimes("--format-version", self.rng.choice(["3", "rfc"]))]
            some += sometimes("--no-offsets")
        return some + list(self.shapes(form, dtype, shape) if self.rng.random() < 0.6 else [])

    def check_keys_once(self, name):
        """Asserts that the metadata of a folder have no key twice."""
        for folder, _, files in os.walk(self.path(name)):
            for file in files:
                with open(os.path.join(folder, file), "rb") as f:
                    text = f.read()
                if text[:1] == b"{":
                    json.loads(text, object_pairs_hook=once)
                if "meta" in file and re.match(rb"\w+: ", text):
                    keys = re.findall(rb"(?m)^(\w+):", text)
                    self.assertEqual(len(set(keys)), len(keys), f"{name}: {text}")

    def convert(self, source, target, form, have, declared=(), why=()):
        """Converts content of this dtype and shape. It may fail only if the form cannot hold it."""
        flags = [*self.flags(form, *have[:2]), *declared]
        # The output is a superchunk, whose chunks have no shape.
        if source.endswith(".b2frame") and "--chunks" in flags and form == "blp":
            at = flags.index("--chunks")
            del flags[at : at + 2]
        done = run("convert", "-q", *flags, self.path(source), self.path(target))
        say = (
            f"HOLDALL_SEED={SEED}: convert {' '.join(flags)} {source} {target}, "
            f"{have[:2]}: {done.stderr.decode()}"
        )
        why = [*why, *self.why_not(form, have)]
        self.assertEqual(done.returncode, 1 if why else 0, say)
        if not why:
            self.check_keys_once(target)
            return say
        self.assertTrue(any(message in say for message in why), say)
        self.assertFalse(os.path.lexists(self.path(target)), say)
        return say

    def why_not(self, form, have):
        return [message for forms, cannot, message in REFUSED if form in forms and cannot(*have)]

    def declared(self, form, dtype, shape, table=True):
        """Returns the flags that declare the types of text and of plain files, which have none.

        Items with fields are columns if they were a table.
        """
        if form == "raw":
            return [
                "--dtype",
                str(dtype),
                *(["--shape", ",".join(map(str, shape))] if shape else []),
            ]
        if form not in TEXT:
            return []
        if isinstance(dtype, list) and table:
            return [
                "--dtypes",
                ",".join(
                    f"{f[0]}=({f[1]!r}, {f[2]})" if len(f) > 2 else f"{f[0]}={f[1]}" for f in dtype
                ),
            ]
        return ["--dtypes", f"('{dtype}', {shape[1:]})" if len(shape) > 1 else str(dtype)]

    def there_and_back(self, number, first, second, dtype, shape, data):
        """Converts a .npy file to the first form, that to the second, and that back to .npy."""
        name = f"{number}-{first}-{second}"
        one, two, back = (
            name + "-1" + FORMS[first][0],
            name + "-2" + FORMS[second][0],
            name + "-back.npy",
        )
        declared, have = self.declared(first, dtype, shape), (*after(first, dtype, shape), data)
        say = self.convert(f"{number}.npy", one, first, (dtype, shape, data))
        if first in TEXT:
            have = (*have[:2], self.as_text(dtype, data))
        if second == "b2frame" and (
            first in TEXT or (first in ROWS_OF and isinstance(dtype, list))
        ):
            self.convert(
                one,
                two,
                second,
                have,
                declared,
                ["rows become an array or a table, not a frame without a shape (--to b2nd)"],
            )
            return
        say += self.convert(one, two, second, have, declared)
        declared = self.declared(second, *have[:2], table=first not in ("blp", *FRAMES))
        last = (
            *after(second, *have[:2]),
            self.as_text(have[0], have[2]) if second in TEXT else have[2],
        )
        if (first, second) == ("b2frame", "blp"):  # The output is a superchunk without a type.
            self.assertEqual(self.good("cat", two), last[2], say)
            return
        say += self.convert(two, back, "npy", last, declared)
        descr, got, fortran, items = parsed(self.read(back))
        self.assertEqual((descr, got, fortran), (*last[:2], False), say)
        self.assertEqual(items, last[2], say)

    def test_arrays_survive_each_pair_of_formats(self):
        """Converts each form to each other form once, with random content and flags."""
        contents = [(d, self.rng.choice(SHAPES)) for d in DTYPES] + [
            (self.rng.choice(DTYPES), s) for s in SHAPES
        ]
        contents += [(fields, (self.rng.choice([1, 7, 300]),)) for fields in FIELDS]
        self.rng.shuffle(contents)
        pairs = [pair for pair in itertools.product(FORMS, FORMS) if not set(pair) <= set(TEXT)]
        self.rng.shuffle(pairs)
        all_pairs, refused = len(pairs), 0
        contents.append(("<i4", (11, 5)))  # For the remaining pairs: every form can hold it.
        for number, (dtype, shape) in enumerate(contents):
            want = (dtype, shape, self.content(dtype, shape))
            self.write(f"{number}.npy", npy(*want))
            for form in FORMS:
                if self.why_not(form, want):
                    self.convert(f"{number}.npy", f"{number}-no{FORMS[form][0]}", form, want)
                    refused += 1
            left, n = [], (
                len(pairs) if number == len(contents) - 1 else all_pairs // len(contents) + 1
            )
            while pairs and n > 0:
                first, second = pairs.pop()
                if self.why_not(first, want) or self.why_not(
                    second, (*after(first, dtype, shape), want[2])
                ):
                    left.append((first, second))
                    continue
                self.there_and_back(number, first, second, *want)
                self.pairs += 1
                n -= 1
            pairs += left
            self.rng.shuffle(pairs)
        print(f"{self.pairs} arrays came back, {refused} were refused")
        self.assertEqual(self.pairs, all_pairs)

    def test_all_pairs_of_special_numbers_come_back_from_text(self):
        """Signs, exponents, infinities and NaN of each type, also as parts of complex numbers."""
        numbers = [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan]
        for dtype in [order + kind for order in "<>" for kind in ("f2", "f4", "f8", "c8", "c16")]:
            size = size_of(dtype) // 2 if dtype[1] == "c" else size_of(dtype)
            kind = {2: "e", 4: "f", 8: "d"}[size]
            exponents = {2: [6e-8, -6e4], 4: [1e-44, -3e38], 8: [5e-324, -1.7e308]}[size]
            parts = [n for pair in itertools.product(numbers + exponents, repeat=2) for n in pair]
            data = struct.pack(f"{dtype[0]}{len(parts)}{kind}", *parts)
            count = len(data) // size_of(dtype)
            self.write("n.npy", npy(dtype, (count,), data))
            for text in TEXT:
                self.good("convert", "--force", "n.npy", f"n.{text}")
                self.good("convert", "--force", "--dtypes", dtype, f"n.{text}", "n.b2nd")
                self.good("convert", "--force", "n.b2nd", "back.npy")
                got = parsed(self.read("back.npy"))
                self.assertEqual((got[0], got[1]), (dtype, (count,)), text)
                self.assertEqual(got[3], self.as_text(dtype, data), (dtype, text))

    def test_rows_of_text_without_types_become_tables(self):
        """CSV without declared types becomes a table with all rows."""
        for number, (dtype, shape) in enumerate(
            (self.rng.choice(DTYPES), shape) for shape in SHAPES
        ):
            want = (dtype, shape, self.content(dtype, shape))
            if self.why_not("csv", want):
                continue
            self.write(f"{number}.npy", npy(*want))
            say = self.convert(f"{number}.npy", f"{number}.csv", "csv", want)
            say += self.convert(
                f"{number}.csv", f"{number}.bcolz", "bcolz", ([("x", "|V1")], shape, b"")
            )
            self.assertEqual(self.info(f"{number}.bcolz")["rows"], shape[0], say)

    def test_superchunks_survive_all_settings(self):
        """Untyped bytes in each layout of Bloscpack and in frames."""
        forms = {f"version {v}": (".blp", ["--format-version", v]) for v in ("1", "2", "3", "rfc")}
        forms |= {
            "no offsets": (".blp", ["--no-offsets"]),
            "frame": (".b2frame", []),
            "sparse": (".b2frame", ["--sparse"]),
            "raw": (".raw", ["--to", "raw"]),
        }
        for number, (first, second) in enumerate(itertools.product(forms, forms)):
            size = self.rng.choice([1, 2, 3, 4, 8, 16, 255])
            data = self.rng.randbytes(50)[: self.rng.choice([0, 1, 50])] * self.rng.choice(
                [1, 7, 400]
            )
            if {first, second} & {"frame", "sparse"}:  # Frames hold complete items.
                data = data[: len(data) // size * size]
            chunk = size * self.rng.randrange(len(data) // size // 20 + 1, len(data) // size + 2)
            self.write("in", data)
            names = [
                f"{number}-{i}{end}"
                for i, end in enumerate((".blp", forms[first][0], forms[second][0]))
            ]
            self.good(
                "pack",
                "-q",
                "--no-sync",
                "--typesize",
                str(size),
                "--chunk-size",
                str(chunk),
                "--checksum",
                self.rng.choice(CHECKSUMS),
                "in",
                names[0],
            )
            commands = []
            for form, source, target in ((first, names[0], names[1]), (second, names[1], names[2])):
                if source.endswith(".raw"):
                    commands.append(
                        ["pack", "-q", "--no-sync", "--to", "blpk", source, target + ".blp"]
                    )
                    self.good(*commands[-1])
                    source = target + ".blp"
                frame = form in ("frame", "sparse")
                flags = [
                    "--no-sync",
                    "--codec",
                    self.rng.choice(CODECS),
                    "--level",
                    str(self.rng.randrange(10)),
                    "--checksum",
                    self.rng.choice(
                        ["none", "crc32"]
                        if frame
                        else ["none"] if form == "version 1" else CHECKSUMS
                    ),
                ]
                flags += [
                    "--filters",
                    self.rng.choice(
                        ["none", "shuffle", "bitshuffle"] + ["delta", "shuffle,bytedelta"] * frame
                    ),
                ]
                commands.append(
                    [
                        "convert",
                        "-q",
                        *forms[form][1],
                        *([] if form == "raw" else flags),
                        source,
                        target,
                    ]
                )
                self.good(*commands[-1])
            if second == "raw":
                self.assertEqual(self.read(names[2]), data, f"HOLDALL_SEED={SEED} {commands}")
            else:
                self.assertEqual(
                    self.good("cat", names[2]), data, f"HOLDALL_SEED={SEED} {commands}"
                )
                self.assertTrue(self.good("verify", names[2]), commands)
            self.pairs += 1
        print(f"{self.pairs} superchunks came back")

    def test_records_survive_each_pair_of_formats(self):
        forms = {
            "tail": (".bagz", []),
            "plain": (".bag", []),
            "separate": (".bagz", ["--separate"]),
            "lengths32": (".l32", ["--to", "lengths32"]),
            "lengths64": (".l64", ["--to", "lengths64"]),
            "tfrecord": (".tfrecord", []),
            "lines": (".txt", []),
            "arrow": (".arrow", []),
            "stream": (".arrows", []),
        }
        read = {
            "lengths32": ["--from", "lengths32"],
            "lengths64": ["--from", "lengths64"],
            "separate": ["--limits", "separate"],
        }
        bags = ("tail", "plain", "separate")

        def written(form):
            some = [["--checksum", "none"]] * (form in bags) + [
                ["--level", str(self.rng.randrange(-5, 10))]
            ] * (form in ("tail", "separate"))
            return [
                *forms[form][1],
                *["--no-sync"] * (form in bags),
                *(flag for flags in some if self.rng.random() < 0.3 for flag in flags),
            ]

        sets = [
            [b"%d" % i for i in range(40)],
            [b""],
            [b"", b"", b"x"],
            [],
            [self.rng.randbytes(self.rng.choice([0, 1, 9, 3000])) for _ in range(60)],
        ]
        sets.append([b"a\r", b"\r", b"b"])
        drawn = {
            pair: self.rng.sample(range(len(sets)), 2) for pair in itertools.product(forms, forms)
        }
        for number, records in enumerate(sets):
            self.write(f"{number}.in", b"".join(struct.pack("<Q", len(r)) + r for r in records))
            text = all(b"\n" not in r for r in records)
            for first in forms:
                for second in [form for form in forms if number in drawn[first, form]]:
                    folder = self.path(f"{number}-{first}-{second}")
                    os.mkdir(folder)
                    one, two = (
                        os.path.join(folder, n + forms[f][0])
                        for n, f in (("1", first), ("2", second))
                    )
                    steps = [
                        ["--from", "lengths64", *written(first), self.path(f"{number}.in"), one]
                    ]
                    if first not in bags:  # From a file of records to a bag and back.
                        steps.insert(
                            0, [*steps[0][:2], steps[0][-2], os.path.join(folder, "0.bagz")]
                        )
                        steps[1] = [*written(first), os.path.join(folder, "0.bagz"), one]
                    if first not in bags and second not in bags:
                        steps.append([*read.get(first, []), one, os.path.join(folder, "1b.bagz")])
                        steps.append([*written(second), os.path.join(folder, "1b.bagz"), two])
                    else:
                        steps.append([*read.get(first, []), *written(second), one, two])
                    last = two
                    if second not in bags:
                        last = os.path.join(folder, "3.bagz")
                        steps.append([*read.get(second, []), two, last])
                    steps.append(
                        [
                            *(read.get(second, []) if last == two else []),
                            "--to",
                            "lengths64",
                            last,
                            os.path.join(folder, "out"),
                        ]
                    )
                    for step in steps:
                        done = run("convert", "-q", *step)
                        say = (
                            f"HOLDALL_SEED={SEED}: convert {' '.join(step)}: {done.stderr.decode()}"
                        )
                        if done.returncode:
                            self.assertTrue("lines" in (first, second) and not text, say)
                            break
                    else:
                        with open(os.path.join(folder, "out"), "rb") as f, open(
                            self.path(f"{number}.in"), "rb"
                        ) as g:
                            self.assertEqual(f.read(), g.read(), say)
                        self.pairs += 1
        print(f"{self.pairs} sets of records came back")

    def test_tables_survive_each_pair_of_formats(self):
        columns = [
            ("a", "<i8", "int"),
            ("b", "<f8", "float"),
            ("c", "|S6", "text"),
            ("d", "|b1", "bool"),
        ]
        forms = {
            "bcolz": (".bcolz", []),
            "blz": (".blz", []),
            "blz-rfc": (".rfc", ["--to", "blz-rfc"]),
            "csv": (".csv", []),
            "jsonl": (".jsonl", []),
        }
        draw = {
            "int": lambda: self.rng.choice([0, -1, 2**63 - 1, -(2**63), self.rng.randrange(1000)]),
            "float": lambda: self.rng.choice([0.5, -1e300, 5e-324, 1 / 3]),
            "text": lambda: self.rng.choice(["ab", "", "x,y", 'q"', "a b"]),
            "bool": lambda: self.rng.random() < 0.5,
        }
        for number, n in enumerate([1, 3, 500]):
            rows = [{name: draw[kind]() for name, _, kind in columns} for _ in range(n)]
            self.write(f"{number}.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
            types = ["--dtypes", ",".join(f"{name}={dtype}" for name, dtype, _ in columns)]
            done = run(
                "convert", "-q", *types, self.path(f"{number}.jsonl"), self.path(f"{number}.bcolz")
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            for first in forms:
                for second in forms:
                    one, two, out = (self.path(f"{number}-{first}-{second}-{k}") for k in "12o")
                    one, two, mid, out = (
                        one + forms[first][0],
                        two + forms[second][0],
                        out + ".bcolz",
                        out + ".jsonl",
                    )
                    steps = [[*forms[first][1], self.path(f"{number}.bcolz"), one]]
                    for source, form, target, flags in [
                        (one, first, two, forms[second][1]),
                        (two, second, mid, []),
                    ]:
                        if form in ("csv", "jsonl") and target.endswith(
                            (".csv", ".jsonl", ".arrow", ".arrows")
                        ):
                            steps.append([*types, source, target + ".t.bcolz"])
                            source, form = target + ".t.bcolz", "bcolz"
                        drawn = (
                            []
                            if target.endswith((".csv", ".jsonl"))
                            else self.flags(
                                {".rfc": "blz-rfc"}.get(
                                    os.path.splitext(target)[1], os.path.splitext(target)[1][1:]
                                ),
                                columns,
                                (n,),
                            )
                        )
                        steps.append(
                            [
                                *(types if form in ("csv", "jsonl") else []),
                                *(drawn or flags),
                                source,
                                target,
                            ]
                        )
                    steps.append([mid, out])
                    for step in steps:
                        done = run("convert", "-q", *step)
                        say = (
                            f"HOLDALL_SEED={SEED}: convert {' '.join(step)}: {done.stderr.decode()}"
                        )
                        self.assertEqual(done.returncode, 0, say)
                    with open(out) as f:
                        self.assertEqual([json.loads(line) for line in f], rows, say)
                    self.pairs += 1
        print(f"{self.pairs} tables came back")


if __name__ == "__main__":
    unittest.main()
