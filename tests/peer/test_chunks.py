"""python-blosc (c-blosc 1.21) and python-blosc2 (c-blosc2 3.3) decode chunks of holdall, and
holdall decodes theirs, for combinations of codec, filter, level, typesize, length and kind of data;
and the lengths of the chunks are compared.

The test `exchange` in tests/chunks.rs, which gets its input from this script, encodes and decodes
for holdall.
"""

import collections
import itertools
import pathlib
import random
import sys
import tempfile
import unittest

import blosc
import blosc2
import numpy as np

import rust_tests

CODECS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
VOCABULARY = (
    "the of and sea wind stone river light hold carry open close north water seven page".split()
)
FILTERS = {
    1: blosc2.Filter.SHUFFLE,
    2: blosc2.Filter.BITSHUFFLE,
    3: blosc2.Filter.DELTA,
    4: blosc2.Filter.TRUNC_PREC,
    35: blosc2.Filter.BYTEDELTA,
}
SPLITS = dict(
    auto=blosc2.SplitMode.AUTO_SPLIT,
    always=blosc2.SplitMode.ALWAYS_SPLIT,
    never=blosc2.SplitMode.NEVER_SPLIT,
)
RETAINED_BITS = 12


def prices(n):
    """Floats with two decimals, as a random walk."""
    rng = np.random.default_rng(n)
    return np.round(100 + rng.standard_normal(n // 8 + 1).cumsum(), 2).tobytes()[:n]


DATA = {
    "zeros": bytes,
    "constant": lambda n: b"\x17" * n,
    "ramp": lambda n: (np.arange(n // 4 + 1, dtype="<u4") * 3).tobytes()[:n],
    "sparse": lambda n: bytes(
        np.where(np.random.default_rng(n).random(n) < 0.02, 200, 0).astype("u1")
    ),
    "random": lambda n: random.Random(n).randbytes(n),
    "text": lambda n: " ".join(random.Random(n).choices(VOCABULARY, k=n // 4 + 2)).encode()[:n],
    "prices": prices,
}


def truncated(data, typesize):
    """The same with floats of few bits, so that truncation loses nothing."""
    bits, whole = (52, "<u8") if typesize == 8 else (23, "<u4")
    n = len(data) // typesize * typesize
    items = (
        np.frombuffer(data[:n], whole)
        >> np.array(bits - RETAINED_BITS, whole)
        << np.array(bits - RETAINED_BITS, whole)
    )
    return items.tobytes() + data[n:]


class Case:
    """`filters` are pairs of id and setting; target 1 is c-blosc 1.x, 2 c-blosc2."""

    def __init__(
        self, target, codec, level, filters, typesize, kind, length, split="auto", blocksize=0
    ):
        self.target, self.codec, self.level, self.filters, self.typesize = (
            target,
            codec,
            level,
            filters,
            typesize,
        )
        self.kind, self.length, self.split, self.blocksize = kind, length, split, blocksize
        self.ids = [f for f, _ in filters]

    def __repr__(self):
        return f"{vars(self)}"

    def content(self):
        data = DATA[self.kind](self.length)
        return truncated(data, self.typesize) if 4 in self.ids else data

    def parameters(self):
        filters = ",".join(f"{f}:{m}" for f, m in self.filters) or "-"
        return (
            f"{self.target} {self.codec} {self.level} {self.typesize} {self.blocksize} "
            f"{self.split} {filters}"
        )

    def theirs(self, data):
        if self.target == 1:
            # python-blosc takes no larger items; it would store them as bytes
            shuffle = self.ids[0] if self.ids else 0
            return (
                blosc.compress(data, min(self.typesize, 255), self.level, shuffle, self.codec)
                if self.typesize < 256
                else b""
            )
        unit = next((u for u in (8, self.typesize) if self.typesize % u == 0), 1)
        if (3 in self.ids or 4 in self.ids) and len(data) % unit:
            # c-blosc2 leaves the bytes after the last item undefined
            return b""
        if len(self.ids) > 2:
            # it overwrites the input of the third filter
            return b""
        return blosc2.compress2(data, **self.settings())

    def settings(self):
        ids, metas = [FILTERS[f] for f in self.ids] or [blosc2.Filter.NOFILTER], [
            m - 256 * (m > 127) for _, m in self.filters
        ] or [0]
        return dict(
            codec=blosc2.Codec[self.codec.upper()],
            clevel=self.level,
            typesize=self.typesize,
            filters=ids,
            filters_meta=metas,
            splitmode=SPLITS[self.split],
            blocksize=self.blocksize,
            nthreads=1,
        )

    def read_by_them(self, chunk):
        if self.target == 1:
            return blosc.decompress(chunk)
        if not self.length:
            return b"" if blosc2.get_cbuffer_sizes(chunk)[0] == 0 else None
        return blosc2.decompress2(chunk, nthreads=1)


def pipelines(target, typesize):
    some = [[], [(1, 0)], [(2, 0)]]
    if target == 2:
        some += [[(3, 0)], [(3, 0), (1, 0)], [(1, min(typesize, 4))]]
        if typesize < 256:
            some += [[(1, 0), (35, typesize)], [(2, 0), (35, typesize)]]
        if typesize in (4, 8):
            some += [[(4, RETAINED_BITS), (1, 0)], [(4, RETAINED_BITS), (3, 0), (2, 0)]]
    return some


def cases():
    kinds, levels = itertools.cycle(DATA), itertools.cycle((5, 1, 9, 3, 7, 0, 2, 8, 4, 6))
    splits, blocks = itertools.cycle(("auto", "always", "auto", "never", "auto")), itertools.cycle(
        (0, 0, 0, 512, 1000, 0, 77)
    )
    small = (
        0,
        1,
        7,
        15,
        16,
        31,
        32,
        33,
        64,
        100,
        127,
        128,
        129,
        130,
        255,
        256,
        1000,
        1023,
        1024,
        4097,
        10_001,
        32_767,
        33_000,
    )
    lengths = itertools.cycle(small)

    def case(target, codec, filters, typesize, length):
        # c-blosc 1 enlarges the requested blocks, and splits blocks that 2 does not
        split, block = (next(splits), next(blocks)) if target == 2 else ("auto", 0)
        # c-blosc2 writes the requested block length, even if it uses another
        if not typesize <= block <= length:
            block = 0
        # a block shorter than an item cannot be split; c-blosc2 tries to
        if split == "always" and (length < typesize or typesize > 255):
            split = "auto"
        return Case(
            target,
            codec,
            next(levels),
            filters,
            typesize,
            next(kinds),
            length,
            split,
            block // typesize * typesize,
        )

    for target, codec, typesize in itertools.product(
        (1, 2), CODECS, (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 100, 255, 256, 300)
    ):
        for filters in pipelines(target, typesize):
            for _ in range(8 if target == 1 else 6):
                yield case(target, codec, filters, typesize, next(lengths))
    for target, typesize in itertools.product((1, 2), range(1, 301)):
        for codec, filters in zip(
            itertools.islice(itertools.cycle(CODECS), typesize % 5, None),
            pipelines(target, typesize)[:3],
        ):
            yield case(target, codec, filters, typesize, typesize * 41 + typesize % 7)
    for target, codec, typesize in itertools.product((1, 2), CODECS, (1, 4, 8, 16)):
        for kind, filters in itertools.product(
            ("prices", "ramp", "text", "random"), pipelines(target, typesize)[:3]
        ):
            yield Case(target, codec, 5, filters, typesize, kind, 150_007)
        yield Case(target, codec, 1, [(1, 0)], typesize, "prices", 1_000_003)
    for target, codec in itertools.product((1, 2), CODECS):
        yield Case(target, codec, 5, [(1, 0)], 8, "prices", 3_000_000)
        yield Case(
            target,
            codec,
            9 if "z" in codec[:3] or codec == "lz4" else 5,
            [(2, 0)],
            8,
            "prices",
            600_001,
        )


def special():
    """Chunks that only frames have, and their content: one value, NaN, zeros, with dictionaries."""
    for codec, kind in itertools.product(("LZ4", "LZ4HC", "ZSTD"), ("text", "prices")):
        data = DATA[kind](400_000)
        made = blosc2.compress2(
            data, codec=blosc2.Codec[codec], typesize=8, use_dict=True, blocksize=8000, nthreads=1
        )
        assert made[31] & 1, "there is a dictionary in it"
        yield data, made
    for typesize, value, count in (
        (4, 77, 1000),
        (8, -5, 3000),
        (1, b"\x09", 5000),
        (300, b"ab" * 150, 100),
    ):
        frame = blosc2.SChunk(
            chunksize=typesize * count, cparams=dict(typesize=typesize, nthreads=1)
        )
        frame.fill_special(count, blosc2.SpecialValue.VALUE, value)
        content = (
            value * count
            if isinstance(value, bytes)
            else value.to_bytes(typesize, "little", signed=True) * count
        )
        yield content, frame.get_chunk(0)
    for typesize, dtype in ((4, "<f4"), (8, "<f8")):
        frame = blosc2.SChunk(
            chunksize=typesize * 1000, cparams=dict(typesize=typesize, nthreads=1)
        )
        frame.fill_special(1000, blosc2.SpecialValue.NAN)
        yield np.full(1000, np.nan, dtype).tobytes(), frame.get_chunk(0)
    frame = blosc2.SChunk(chunksize=7000, cparams=dict(typesize=7, nthreads=1))
    frame.fill_special(1000, blosc2.SpecialValue.ZERO)
    yield bytes(7000), frame.get_chunk(0)


def exchange(folder, lines, inputs, theirs):
    """Returns chunks of holdall, and the errors that it found in those of the package."""
    (folder / "cases").write_text("".join(line + "\n" for line in lines))
    (folder / "inputs").write_bytes(inputs)
    (folder / "theirs").write_bytes(theirs)
    rust_tests.run("chunks", "exchange", HOLDALL_CHUNKS=str(folder))
    ours, at = (folder / "ours").read_bytes(), 0
    for line in (folder / "results").read_text().splitlines():
        length, _, parameters = line.partition(" ")
        yield ours[at : at + int(length)], parameters
        at += int(length)
    assert at == len(ours)


class Chunks(unittest.TestCase):
    def test_chunks_are_decoded_in_both_directions(self):
        blosc.set_nthreads(1)
        known, inputs, theirs, lines, asked = {}, bytearray(), bytearray(), [], []

        def ask(parameters, data, made):
            if data not in known:
                known[data] = len(inputs)
                inputs.extend(data)
            lines.append(f"{parameters} {known[data]} {len(data)} {len(theirs)} {len(made)}")
            theirs.extend(made)

        for case in cases():
            data = case.content()
            made = case.theirs(data)
            ask(case.parameters(), data, made)
            asked.append((case, data, len(made)))
        for data, made in special():
            ask("0 lz4 0 1 0 auto -", data, made)
        with tempfile.TemporaryDirectory() as folder:
            results = list(exchange(pathlib.Path(folder), lines, inputs, theirs))
        self.assertEqual(len(results), len(lines))
        lengths = collections.defaultdict(lambda: [0, 0])
        wrong = [
            f"theirs, by ours: {line}: {parameters}"
            for line, (_, parameters) in zip(lines, results)
            if parameters
        ]
        for (case, data, made), (chunk, _) in zip(asked, results):
            try:
                if case.read_by_them(chunk) != data:
                    wrong.append(f"ours, by theirs: {case}: decodes to something else")
            except Exception as e:
                wrong.append(f"ours, by theirs: {case}: {e}")
            if made:
                both = lengths[case.target, case.codec]
                both[0] += len(chunk)
                both[1] += made
        print(
            f"{len(asked)} chunks both ways, {len(lines) - len(asked)} more of theirs; "
            f"{len(wrong)} differences"
        )
        for (target, codec), (mine, their) in lengths.items():
            print(
                f"  c-blosc{target:2} {codec:8} ours {mine:9} bytes, theirs {their:9}: "
                f"{mine / their:.4f}"
            )
        self.assertEqual(wrong[:20], [])
        self.assertGreater(len(asked), 5000)
        for (target, codec), (mine, their) in lengths.items():
            self.assertLess(mine / their, 1.02, (target, codec))


if __name__ == "__main__":
    unittest.main(verbosity=0, argv=sys.argv)
