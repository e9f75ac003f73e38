#!/usr/bin/env python3
"""Tests that content comes back: each pair of formats, with drawn codecs, layouts, types and shapes. What goes in comes out equal, or
the tool says that it cannot. An error is a result only where a rule below allows it."""

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
CODECS = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
# name of a form: ending, flags; those with a second dimension of choices get flags drawn
FORMS = {
    "npy": (".npy", []), "blp": (".blp", []), "bcolz": (".bcolz", []), "blz": (".blz", []), "blz-paper": (".paper", ["--to", "blz-paper"]),
    "b2nd": (".b2nd", []), "caterva": (".caterva", []), "b2nd sparse": (".b2nd", ["--sparse"]),
    "caterva sparse": (".caterva", ["--sparse"]), "both": (".b2nd", ["--both"]), "csv": (".csv", []), "jsonl": (".jsonl", []),
}
TEXT = ("csv", "jsonl")
ROWS_OF = ("bcolz", "blz", "blz-paper")
ROWS = (*ROWS_OF, *TEXT)
# which forms cannot hold what, and the words that the tool has for it: any other error is a fault
REFUSED = [
    (ROWS, lambda dtype, shape, data: shape == (), "an array without dimensions has no rows"),
    (("csv",), lambda dtype, shape, data: len(shape) > 1 and shape[1] == 0, "its rows have no items, and CSV has no rows without a field"),
    (TEXT, lambda dtype, shape, data: dtype[1] == "S" and not all_utf8(data, size_of(dtype)), "it has a string that is no UTF-8"),
]
DTYPES = ["|b1", "|i1", "<u2", ">i4", "<i8", ">u8", "<f2", "<f4", ">f8", "<f8", "<c8", ">c16", "|S5", "<U3", "<M8[s]", "<M8[D]", ">M8[ns]", "<m8[ms]", "|V3"]
SHAPES = [(), (0,), (1,), (7,), (1000,), (3, 0), (0, 4), (11, 5), (4, 3, 5), (2, 1, 3, 2)]


def size_of(dtype):
    n = int(re.match(r"[<>|]\w(\d+)", dtype)[1])
    return n * 4 if dtype[1] == "U" else n


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
    about = eval(content[10:end].decode(), {}, {})  # what this test or the tool wrote
    return about["descr"], about["shape"], about["fortran_order"], content[end:]


def once(pairs):
    """An object of JSON whose keys are there once."""
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
        n = np_count(shape) * size_of(dtype)
        if dtype[1] == "b":
            return bytes(self.rng.randrange(2) for _ in range(n))
        if dtype[1] == "S" and self.rng.random() < 0.5:
            return b"".join(self.rng.choice([b"", b"ab", b'"', b"x,\r\n", b"f0", b" y "]).ljust(size_of(dtype), b"\0") for _ in range(np_count(shape)))
        if dtype[1] == "U":
            order = "<" if dtype[0] == "<" else ">"
            return b"".join(struct.pack(order + "I", self.rng.choice([0, 65, 0xE9, 0x1F600])) for _ in range(n // 4))
        if self.rng.random() < 0.3:
            return bytes(n)
        if dtype[1] == "f" and self.rng.random() < 0.5:  # NaNs, each with a payload
            kind = {2: "H", 4: "I", 8: "Q"}[size_of(dtype)]
            base = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8 << 48}[size_of(dtype)]
            return b"".join(struct.pack(dtype[0] + kind, base + self.rng.randrange(200)) for _ in range(n // size_of(dtype)))
        return bytes(self.rng.choice([0, 0, 1, 2, 255, self.rng.randrange(256)]) for _ in range(n))

    def as_text(self, dtype, data, bare):
        """What comes back of items that were text: a NaN has no payload there."""
        size = size_of(dtype)
        if bare or dtype[1] not in "fc" or not size:
            return data
        half = size // 2 if dtype[1] == "c" else size
        kind, nan = {2: ("e", 0x7E00), 4: ("f", 0x7FC00000), 8: ("d", 0x7FF8 << 48)}[half]
        order = dtype[0]
        parts = [data[i : i + half] for i in range(0, len(data), half)]
        quiet = nan.to_bytes(half, "little" if order == "<" else "big")
        return b"".join(quiet if math.isnan(struct.unpack(order + kind, part)[0]) else part for part in parts)

    def flags(self, form):
        some = [] if form == "npy" else ["--codec", self.rng.choice(CODECS[:-1] if form == "blz" else CODECS)] if self.rng.random() < 0.6 else []
        return [*FORMS[form][1], *([] if form in TEXT else some)]

    def told_once(self, name):
        """No key is there twice in the metadata of a folder."""
        for folder, _, files in os.walk(self.path(name)):
            for file in files:
                with open(os.path.join(folder, file), "rb") as f:
                    text = f.read()
                if text[:1] == b"{":
                    json.loads(text, object_pairs_hook=once)
                if "meta" in file and re.match(rb"\w+: ", text):
                    keys = re.findall(rb"(?m)^(\w+):", text)
                    self.assertEqual(len(set(keys)), len(keys), f"{name}: {text}")

    def convert(self, source, target, form, want=None, told=()):
        """Converts; where that fails it is for a reason why this form cannot hold an array of this type and shape."""
        flags = [*self.flags(form), *told]
        done = run("convert", "-q", *flags, self.path(source), self.path(target))
        say = f"HOLDALL_SEED={SEED}: convert {' '.join(flags)} {source} {target}: {done.stderr.decode()}"
        why = [words for forms, cannot, words in REFUSED if want and form in forms and cannot(*want)]
        self.assertEqual(done.returncode, 1 if why else 0, say)
        if not why:
            self.told_once(target)
            return True, say
        self.assertTrue(any(words in say for words in why), say)
        self.assertFalse(os.path.lexists(self.path(target)), say)
        return False, say

    def told(self, first, dtype, shape):
        """Text has no types: they are told where it is read."""
        item = f"'{dtype}'"
        return ["--dtypes", f"({item}, {shape[1:]})" if len(shape) > 1 else dtype] if first in TEXT else []

    def test_arrays(self):
        forms, number = list(FORMS), 0
        contents = [(d, self.rng.choice(SHAPES)) for d in DTYPES] + [(self.rng.choice(DTYPES), s) for s in SHAPES]
        fails = []
        for dtype, shape in contents:
            number += 1
            want = (dtype, shape, False, self.content(dtype, shape))
            self.write(f"{number}.npy", npy(dtype, shape, want[3]))
            made = []
            for form in forms:
                ok, say = self.convert(f"{number}.npy", f"{number}-{form}{FORMS[form][0]}", form, (dtype, shape, want[3]))
                made += [form] if ok else []
                if not ok:
                    fails.append(say)
            for form, end, flags in [("raw", ".raw", []), ("b2frame", ".b2frame", ["--codec", self.rng.choice(CODECS)])]:
                # bytes without a type
                name, out = self.path(f"{number}-bytes{end}"), self.path(f"{number}-{form}.out")
                for step in [["convert", "-q", "--to", form, *flags, self.path(f"{number}.npy"), name], ["convert", "-q", "--to", "raw", name, out]]:
                    if step[-2].endswith(".raw"):
                        os.link(step[-2], step[-1])
                        continue
                    done = run(*step)
                    self.assertEqual(done.returncode, 0, f"HOLDALL_SEED={SEED}: {step}: {done.stderr.decode()}")
                self.assertEqual(self.read(f"{number}-{form}.out"), want[3], f"HOLDALL_SEED={SEED} {form} {dtype} {shape}")
            for form in {"csv"} & set(made):  # without a word about types it is a table, and no row is lost
                table = f"{number}-{form}-table.bcolz"
                self.convert(f"{number}-{form}{FORMS[form][0]}", table, "bcolz")
                self.assertEqual(json.loads(run("info", "--json", self.path(table)).stdout)["rows"], shape[0], f"HOLDALL_SEED={SEED} {dtype} {shape}")
            for first in made:
                for second in self.rng.sample(made, min(2, len(made))):
                    if {first, second} <= set(TEXT):
                        continue  # by way of an array, which the other pairs are
                    name = f"{number}-{first}-{second}"
                    # Caterva's files have no type, but the size of an item
                    have = f"|V{size_of(dtype)}" if "caterva" in first + second else dtype
                    kept = f"|V{size_of(dtype)}" if "caterva" in first else dtype
                    ok, say = self.convert(f"{number}-{first}{FORMS[first][0]}", name + FORMS[second][0], second, told=self.told(first, dtype, shape))
                    ok, more = self.convert(name + FORMS[second][0], name + "-back.npy", "npy", told=self.told(second, kept, shape))
                    back = parsed(self.read(name + "-back.npy"))
                    text = {first, second} & set(TEXT)
                    self.assertEqual(back[:3], (have, *want[1:3]), say + more)
                    self.assertEqual(back[3], self.as_text(dtype, want[3], "caterva" in first) if text else want[3], say + more)
                    self.pairs += 1
        print(f"{self.pairs} arrays came back, {len(fails)} were refused")
        self.assertGreater(self.pairs, 100)

    def test_records(self):
        forms = {
            "tail": (".bagz", []), "plain": (".bag", []), "separate": (".bagz", ["--separate"]), "lengths32": (".l32", ["--to", "lengths32"]),
            "lengths64": (".l64", ["--to", "lengths64"]), "tfrecord": (".tfrecord", []), "lines": (".txt", []), "arrow": (".arrow", []), "stream": (".arrows", []),
        }  # fmt: skip
        read = {"lengths32": ["--from", "lengths32"], "lengths64": ["--from", "lengths64"], "separate": ["--limits", "separate"]}
        bags = ("tail", "plain", "separate")
        sets = [[b"%d" % i for i in range(40)], [b""], [b"", b"", b"x"], [], [self.rng.randbytes(self.rng.choice([0, 1, 9, 3000])) for _ in range(60)]]
        sets.append([b"a\r", b"\r", b"b"])
        drawn = {pair: self.rng.sample(range(len(sets)), 2) for pair in itertools.product(forms, forms)}
        for number, records in enumerate(sets):
            self.write(f"{number}.in", b"".join(struct.pack("<Q", len(r)) + r for r in records))
            text = all(b"\n" not in r for r in records)
            for first in forms:
                for second in [form for form in forms if number in drawn[first, form]]:
                    folder = self.path(f"{number}-{first}-{second}")
                    os.mkdir(folder)
                    one, two = (os.path.join(folder, n + forms[f][0]) for n, f in (("1", first), ("2", second)))
                    steps = [["--from", "lengths64", *forms[first][1], self.path(f"{number}.in"), one]]
                    if first not in bags:  # from a file of records to a bag, and back
                        steps.insert(0, [*steps[0][:2], steps[0][-2], os.path.join(folder, "0.bagz")])
                        steps[1] = [*forms[first][1], os.path.join(folder, "0.bagz"), one]
                    if first not in bags and second not in bags:
                        steps.append([*read.get(first, []), one, os.path.join(folder, "1b.bagz")])
                        steps.append([*forms[second][1], os.path.join(folder, "1b.bagz"), two])
                    else:
                        steps.append([*read.get(first, []), *forms[second][1], one, two])
                    last = two
                    if second not in bags:
                        last = os.path.join(folder, "3.bagz")
                        steps.append([*read.get(second, []), two, last])
                    steps.append([*(read.get(second, []) if last == two else []), "--to", "lengths64", last, os.path.join(folder, "out")])
                    for step in steps:
                        done = run("convert", "-q", *step)
                        say = f"HOLDALL_SEED={SEED}: convert {' '.join(step)}: {done.stderr.decode()}"
                        if done.returncode:
                            self.assertTrue("lines" in (first, second) and not text, say)
                            break
                    else:
                        with open(os.path.join(folder, "out"), "rb") as f, open(self.path(f"{number}.in"), "rb") as g:
                            self.assertEqual(f.read(), g.read(), say)
                        self.pairs += 1
        print(f"{self.pairs} sets of records came back")

    def test_tables(self):
        columns = [("a", "<i8", "int"), ("b", "<f8", "float"), ("c", "|S6", "text"), ("d", "|b1", "bool")]
        forms = {"bcolz": (".bcolz", []), "blz": (".blz", []), "blz-paper": (".paper", ["--to", "blz-paper"]), "csv": (".csv", []), "jsonl": (".jsonl", [])}  # fmt: skip
        draw = {
            "int": lambda: self.rng.choice([0, -1, 2**63 - 1, -(2**63), self.rng.randrange(1000)]), "float": lambda: self.rng.choice([0.5, -1e300, 5e-324, 1 / 3]),
            "text": lambda: self.rng.choice(["ab", "", "x,y", 'q"', "a b"]), "bool": lambda: self.rng.random() < 0.5,
        }  # fmt: skip
        for number, n in enumerate([1, 3, 500]):
            rows = [{name: draw[kind]() for name, _, kind in columns} for _ in range(n)]
            self.write(f"{number}.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
            types = ["--dtypes", ",".join(f"{name}={dtype}" for name, dtype, _ in columns)]
            done = run("convert", "-q", *types, self.path(f"{number}.jsonl"), self.path(f"{number}.bcolz"))
            self.assertEqual(done.returncode, 0, done.stderr)
            for first in forms:
                for second in forms:
                    one, two, out = (self.path(f"{number}-{first}-{second}-{k}") for k in "12o")
                    one, two, mid, out = one + forms[first][0], two + forms[second][0], out + ".bcolz", out + ".jsonl"
                    steps = [[*forms[first][1], self.path(f"{number}.bcolz"), one]]
                    for source, form, target, flags in [(one, first, two, forms[second][1]), (two, second, mid, [])]:
                        if form in ("csv", "jsonl") and target.endswith((".csv", ".jsonl", ".arrow", ".arrows")):
                            steps.append([*types, source, target + ".t.bcolz"])
                            source, form = target + ".t.bcolz", "bcolz"
                        steps.append([*(types if form in ("csv", "jsonl") else []), *flags, source, target])
                    steps.append([mid, out])
                    for step in steps:
                        done = run("convert", "-q", *step)
                        say = f"HOLDALL_SEED={SEED}: convert {' '.join(step)}: {done.stderr.decode()}"
                        self.assertEqual(done.returncode, 0, say)
                    with open(out) as f:
                        self.assertEqual([json.loads(line) for line in f], rows, say)
                    self.pairs += 1
        print(f"{self.pairs} tables came back")


if __name__ == "__main__":
    unittest.main()
