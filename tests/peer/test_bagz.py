"""The Bagz package reads files of holdall; holdall reads its files and appends to them."""

import hashlib
import itertools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import bagz
import numpy as np

import holdall_c as h

VOCABULARY = (
    "the of and sea wind stone river light hold carry open close north water seven page".split()
)
LEVELS = (-5, 1, 3, 19, None)
LIMITS = {
    h.BAG_LIMITS_TAIL: bagz.LimitsPlacement.TAIL,
    h.BAG_LIMITS_SEPARATE: bagz.LimitsPlacement.SEPARATE,
}
checked = 0


def text(rng, n):
    """Returns about n bytes of text."""
    return " ".join(rng.choices(VOCABULARY, k=n // 5 + 1)).encode()[:n]


def shapes():
    rng = random.Random(1)
    some = [text(rng, rng.randrange(1, 400)) for _ in range(40)]
    return {
        "no records": [],
        "only empty records": [b""] * 100,
        "empty first": [b"", b""] + some,
        "empty amid": some[:20] + [b"", b"", b""] + some[20:] + [b"", b"a"],
        "empty last": some + [b"", b""],
        "5 MB": [b"".join(rng.randbytes(1000) + text(rng, 40) * 100 for _ in range(1000))],
        "70,000 small": [b"%d %s" % (i, text(rng, i % 23)) for i in range(70_000)],
        "random binary": [rng.randbytes(rng.randrange(301)) for _ in range(600)],
    }


SHAPES = shapes()


def digest(records):
    sha = hashlib.sha256()
    for r in records:
        sha.update(len(r).to_bytes(8, "little") + r)
    return sha.digest()


class Case:
    """How a bag is stored. `level` None is the default; a `name` may not show the codec."""

    def __init__(self, limits, level, zstd, dictionary=None, name=None):
        self.limits, self.level, self.zstd, self.dictionary = limits, level, zstd, dictionary
        self.separate = limits == h.BAG_LIMITS_SEPARATE
        self.name = name or ("x.bagz" if zstd else "x.bag")
        self.by_name = self.name.endswith(".bagz") == zstd

    def __repr__(self):
        codec = (
            f"zstd {self.level or 'default'}{' dictionary' if self.dictionary else ''}"
            if self.zstd
            else "none"
        )
        return f"{'separate' if self.separate else 'tail'}, {codec}, {self.name}"

    def ours(self):
        """Options to read with, or to append."""
        o = dict(bag_limits=self.limits)
        if not self.by_name:
            o["codec"] = h.CODEC_ZSTD if self.zstd else h.CODEC_NONE
        if self.dictionary:
            o["dictionary"] = self.dictionary.encode()
        return o

    def ours_to_write(self, checksums):
        o = dict(self.ours(), durability=0, level=self.level)
        if checksums is not None:
            o["checksum"] = (
                (h.CHECKSUM_ZSTD if self.zstd else h.CHECKSUM_CRC32)
                if checksums
                else h.CHECKSUM_NONE
            )
        return o

    def compression(self):
        if not self.zstd:
            return bagz.CompressionAutoDetect() if self.by_name else bagz.CompressionNone()
        if self.level is None and not self.dictionary and self.by_name:
            return bagz.CompressionAutoDetect()
        # 0 is zstd's default
        return bagz.CompressionZstd(level=self.level or 0, dictionary=self.dictionary or "")

    def theirs(self, **more):
        return bagz.Reader.Options(
            limits_placement=LIMITS[self.limits], compression=self.compression(), **more
        )

    def write_theirs(self, path, records):
        options = bagz.Writer.Options(
            limits_placement=LIMITS[self.limits], compression=self.compression()
        )
        with bagz.Writer(str(path), options) as w:
            for r in records:
                w.write(r)


def cases():
    for limits in LIMITS:
        yield Case(limits, None, False)
        for level in LEVELS:
            yield Case(limits, level, True)


def extra_cases():
    """Names that do not show the codec."""
    for limits in LIMITS:
        yield Case(limits, None, True, name="x.bag")
        yield Case(limits, None, False, name="x.bagz")


def combinations(more=()):
    """Pairs of a shape and a case. Large bags have the default level: most of their time is that of
    the readers, and the levels are those of the small ones."""
    for shape, case in itertools.product(SHAPES, [*cases(), *more]):
        is_large = len(SHAPES[shape]) > 1000 or sum(map(len, SHAPES[shape])) > 1_000_000
        if case.level is None or not is_large:
            yield shape, case


class Peer(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-bagz-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def fresh(self):
        for f in self.folder.iterdir():
            f.unlink()

    def same(self, got, want, what):
        """Like assertEqual, without printing megabytes."""
        got = list(got)
        if got != want:
            at = next(
                (i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want))
            )
            self.fail(
                f"{what}: {len(got)} records, expected {len(want)}; they differ from record {at} on"
            )

    def picks(self, n):
        rng = random.Random(n)
        return [rng.randrange(n) for _ in range(min(n, 300))] + [0, n - 1, n - 1] if n else []

    def read_by_theirs(self, path, want, case):
        n = len(want)
        some = self.picks(n)
        some_of = [want[i] for i in some]
        r = bagz.Reader(str(path), case.theirs())
        self.assertEqual(len(r), n, "theirs, number of records")
        self.same((r[i] for i in range(n)), want, "theirs, one by one")
        self.same(r.read(), want, "theirs, read()")
        self.same(r, want, "theirs, iteration")
        self.same(r.read_indices(np.array(some, dtype=np.int64)), some_of, "theirs, read_indices")
        self.same(r.read_indices(some), some_of, "theirs, read_indices of a list")
        self.same(r.read_indices_iter(some), some_of, "theirs, read_indices_iter")
        self.same(r.read_range(n // 3, n - n // 3), want[n // 3 :], "theirs, read_range")
        self.same(r[::-3].read(), want[::-3], "theirs, slice")
        r = bagz.Reader(
            str(path), case.theirs(limits_storage=bagz.LimitsStorage.IN_MEMORY, max_parallelism=1)
        )
        self.assertEqual(len(r), n, "theirs, number of records")
        self.same(r.read_indices(some), some_of, "theirs, limits in memory, read_indices")
        self.same(r.read_range_iter(0, n), want, "theirs, limits in memory, read_range_iter")

    def read_by_ours(self, path, want, case, checksums=None):
        n = len(want)
        some = self.picks(n)
        some_of = [want[i] for i in some]
        each = range(n) if n <= 1000 else some
        for io, cache, threads in (
            (h.IO_READ, 0, 0),
            (h.IO_MAP, 0, 1),
            (h.IO_READ, 1, 1),
            (h.IO_MAP, 1, 0),
        ):
            with h.Bag(path, **case.ours(), io=io, bag_limits_cache=cache, threads=threads) as bag:
                self.assertEqual(len(bag), n, "ours, number of records")
                self.same((bag.read(i) for i in each), [want[i] for i in each], "ours, one by one")
                self.assertEqual(
                    [bag.size_of(i) for i in some], list(map(len, some_of)), "ours, sizes"
                )
                self.same(bag.read_range(), want, "ours, read_range")
                self.same(
                    bag.read_range(n // 3, n // 2),
                    want[n // 3 : n // 3 + n // 2],
                    "ours, a part by read_range",
                )
                self.same(bag.read_indices(some), some_of, "ours, read_indices")
                with self.assertRaises(h.Error) as beyond:
                    bag.read(n)
                self.assertEqual(beyond.exception.status, h.E_RANGE)
                if n:
                    with bag.slice(n - 1, (n + 2) // 3, -3) as back:
                        self.same(back.read_range(), want[::-3], "ours, slice")
        with h.Bag(path, **case.ours()) as bag:
            self.assertEqual(
                bag.checksum(h.CHECKSUM_SHA256), digest(want), "ours, checksum of the content"
            )
            self.assertEqual(bag.info.codec, h.CODEC_ZSTD if case.zstd else h.CODEC_NONE)
            self.assertEqual(bag.info.limits, case.limits)
            if checksums and n:
                self.assertEqual(
                    bag.info.checksum, h.CHECKSUM_ZSTD if case.zstd else h.CHECKSUM_CRC32
                )
            elif checksums is False and n:
                self.assertEqual(bag.info.checksum, h.CHECKSUM_NONE)
        v = h.Verified(path, **case.ours())
        self.assertEqual((v.error, v.corrupt, v.intact + v.unchecked, v.faults), (None, 0, n, []))
        if checksums is not None:
            self.assertEqual(
                (v.intact, v.unchecked),
                (n, 0) if checksums else (0, n),
                "verify: intact and unchecked records",
            )

    def write_ours(self, path, records, mode, options):
        """In three commits, the last by a second writer; records one by one and in batches."""
        n = len(records)
        first, second = records[: n // 3], records[n // 3 : n - n // 3]
        third = records[n - n // 3 :]
        with h.Writer(path, mode, **options) as w:
            for r in first:
                w.append(r)
            w.commit()
            for i in range(0, len(second), 5000):
                part = second[i : i + 5000]
                cut = len(part) // 2
                w.append_many(part[:cut])
                for r in part[cut : cut + 10]:
                    w.append(r)
                w.append_many(part[cut + 10 :])
            self.assertEqual(len(w), len(first) + len(second))
            w.commit()
            w.append(b"never committed")
            w.append_many([b"nor", b"", b"this"])
        with h.Writer(path, h.APPEND, **options) as w:
            self.assertEqual(len(w), len(first) + len(second))
            w.append_many(third)
            w.commit()
            w.commit()

    def files(self, *names):
        """Checks that no other files remain, except the lock."""
        left = {f.name for f in self.folder.iterdir() if not f.name.endswith(".holdall-lock")}
        self.assertEqual(left, set(names))

    def done(self):
        global checked
        checked += 1


class OursReadByTheirs(Peer):
    def all_ways(self, case, checksums, shape, records):
        path = self.folder / case.name
        names = [case.name]
        if case.separate:
            names.append("limits." + case.name)
        if checksums and not case.zstd:
            names.append("checksums." + case.name)
        options = case.ours_to_write(checksums)
        # large bags once: most of the time is that of the readers
        for way in ("once", "three commits", "replace") if len(records) < 1000 else ("three commits",):
            with self.subTest(shape=shape, case=case, checksums=checksums, way=way):
                if way == "once":
                    self.fresh()
                    with h.Writer(path, h.CREATE, **options) as w:
                        w.append_many(records)
                        w.commit()
                elif way == "three commits":
                    self.fresh()
                    self.write_ours(path, records, h.CREATE, options)
                else:
                    # the existing bag stays readable until the first commit
                    before = [b"before"] * 50 + [b""]
                    with h.Writer(path, h.REPLACE, **options) as w:
                        w.append_many(before)
                        w.commit()
                    with h.Writer(path, h.REPLACE, **options) as w:
                        w.append_many([b"never"] * 70_000)
                        with h.Bag(path, **case.ours()) as bag:
                            self.same(bag.read_range(), before, "ours, while it is being replaced")
                    with h.Bag(path, **case.ours()) as bag:
                        self.same(
                            bag.read_range(), before, "ours, after a replacement without a commit"
                        )
                    self.write_ours(path, records, h.REPLACE, options)
                self.files(*names)
                self.read_by_theirs(path, records, case)
                self.read_by_ours(path, records, case, checksums)
                self.done()

    def test_combinations_are_read(self):
        for (shape, case), checksums in itertools.product(combinations(), (True, False)):
            self.all_ways(case, checksums, shape, SHAPES[shape])

    def test_names_that_do_not_show_the_codec(self):
        for (shape, records), case, checksums in itertools.product(
            SHAPES.items(), extra_cases(), (True, False)
        ):
            if shape in ("no records", "empty amid", "random binary"):
                self.all_ways(case, checksums, shape, records)

    def test_dictionaries_are_used(self):
        dictionary = text(random.Random(2), 4000).decode()
        for limits, checksums in itertools.product(LIMITS, (True, False)):
            case = Case(limits, 3, True, dictionary)
            self.all_ways(case, checksums, "empty amid", SHAPES["empty amid"])

    def test_shards_are_read(self):
        records = SHAPES["random binary"]
        for limits, ending, layout in itertools.product(
            LIMITS, ("bagz", "bag"), ("CONCATENATED", "INTERLEAVED")
        ):
            with self.subTest(limits=limits, ending=ending, layout=layout):
                self.fresh()
                interleaved = layout == "INTERLEAVED"
                for s in range(3):
                    part = (
                        records[s::3]
                        if interleaved
                        else records[s * 150 : (s + 1) * 150 if s < 2 else None]
                    )
                    with h.Writer(
                        self.folder / f"x-{s:05}-of-00003.{ending}",
                        h.CREATE,
                        bag_limits=limits,
                        durability=0,
                    ) as w:
                        w.append_many(part)
                        w.commit()
                case = Case(limits, None, ending == "bagz", name=f"x@3.{ending}")
                options = case.theirs(sharding_layout=getattr(bagz.ShardingLayout, layout))
                spec = self.folder / case.name
                theirs = bagz.Reader(str(spec), options)
                self.same(theirs.read(), records, "theirs, read()")
                self.same(theirs, records, "theirs, iteration")
                some = self.picks(len(records))
                with h.Bag(
                    spec, bag_limits=limits, bag_shards=h.TABLE["BAG_SHARDS_" + layout]
                ) as bag:
                    self.same(bag.read_range(), records, "ours, read_range")
                    self.same(
                        bag.read_indices(some),
                        theirs.read_indices(some),
                        "ours and theirs, read_indices",
                    )
                self.done()


class TheirsReadByOurs(Peer):
    def there_and_back(self, case, shape, records):
        path = self.folder / case.name
        with self.subTest(shape=shape, case=case):
            self.fresh()
            case.write_theirs(path, records)
            self.read_by_ours(path, records, case, False)
            if records and not case.zstd:
                with self.assertRaises(h.Error) as refused:
                    h.Writer(path, h.APPEND, **case.ours(), checksum=h.CHECKSUM_CRC32)
                self.assertEqual(refused.exception.status, h.E_STATE)
            # checksums are not requested: zstd records have them nevertheless from here on
            options = case.ours_to_write(None)
            more = [b"", b"appended", *SHAPES["empty amid"], b""]
            with h.Writer(path, h.APPEND, **options) as w:
                self.assertEqual(len(w), len(records))
                w.commit()
                w.append_many(more)
                w.commit()
                for r in more:
                    w.append(r)
                w.commit()
                w.append(b"never committed")
            self.read_by_theirs(path, records + more + more, case)
            self.read_by_ours(path, records + more + more, case)
            self.done()

    def test_combinations_are_read(self):
        for shape, case in combinations(extra_cases()):
            self.there_and_back(case, shape, SHAPES[shape])

    def test_read_while_ours_appends(self):
        """Uncommitted records are not visible, although separate limits put them after the
        committed ones."""
        more = [random.Random(6).randbytes(1000)] * 3000
        for case, checksums, shape in itertools.product(
            cases(), (None, True, False), ("no records", "only empty records", "empty last")
        ):
            with self.subTest(case=case, checksums=checksums, shape=shape):
                self.fresh()
                path, records = self.folder / case.name, SHAPES[shape]
                if checksums is None:
                    case.write_theirs(path, records)
                else:
                    with h.Writer(path, h.CREATE, **case.ours_to_write(checksums)) as w:
                        w.append_many(records)
                        w.commit()
                with h.Writer(path, h.APPEND, **case.ours_to_write(None)) as w:
                    w.append_many(more)
                    for r in more:
                        w.append(r)
                    self.read_by_ours(path, records, case)
                    self.read_by_theirs(path, records, case)
                self.read_by_ours(path, records, case)
                self.done()

    def test_dictionaries_are_used(self):
        rng = random.Random(3)
        for limits, level in itertools.product(LIMITS, (1, 3, 19)):
            dictionary = text(rng, 3000).decode() + "é ü 水"
            for shape in ("no records", "empty amid", "random binary"):
                self.there_and_back(Case(limits, level, True, dictionary), shape, SHAPES[shape])

    def test_a_wrong_dictionary_is_never_silent(self):
        rng = random.Random(4)
        right, wrong = text(rng, 3000).decode(), text(rng, 3000)
        records = [r for r in SHAPES["empty amid"] if r]
        case = Case(h.BAG_LIMITS_TAIL, 3, True, right)
        path = self.folder / "x.bagz"
        with h.Writer(path, h.CREATE, **case.ours_to_write(True)) as w:
            w.append_many(records)
            w.commit()
        with h.Bag(path, dictionary=wrong) as bag:
            for i, r in enumerate(records):
                try:
                    self.assertEqual(bag.read(i), r)
                except h.Error as e:
                    self.assertIn(e.status, (h.E_FORMAT, h.E_CHECKSUM))
                    self.assertEqual(e.position, i)
        self.done()


class Sets(Peer):
    """Shards: holdall writes them in turns and the package reads them; holdall reads and continues
    those of the package."""

    LAYOUTS = {
        h.BAG_SHARDS_CONCATENATED: bagz.ShardingLayout.CONCATENATED,
        h.BAG_SHARDS_INTERLEAVED: bagz.ShardingLayout.INTERLEAVED,
    }

    def both_read(self, case, n, want, in_turns):
        """`in_turns`: the files state that they were written in turns, which the package does not
        see."""
        path = self.folder / case.name.replace("x", f"x@{n}")
        rows = [r for i in range(n) for r in want[i::n]]
        with h.Bag(path, **case.ours()) as bag:
            self.same(bag.read_range(), want if in_turns else rows, "ours, unasked")
        for layout, records in (
            (h.BAG_SHARDS_CONCATENATED, rows),
            (h.BAG_SHARDS_INTERLEAVED, want),
        ):
            with h.Bag(path, bag_shards=layout, **case.ours()) as bag:
                self.same(bag.read_range(), records, "ours")
            r = bagz.Reader(str(path), case.theirs(sharding_layout=self.LAYOUTS[layout]))
            self.same(r.read(), records, "theirs, read()")
            self.same(r, records, "theirs, iteration")
            some = list(range(len(want)))[:: max(1, len(want) // 50)]
            self.same(r.read_indices(some), [records[i] for i in some], "theirs, read_indices")

    def test_sets_are_read_and_continued(self):
        for case, n, name in itertools.product(
            cases(), (1, 3, 8), ("no records", "empty amid", "random binary")
        ):
            if case.level not in (None, 1):
                continue
            records = SHAPES[name]
            with self.subTest(case=case, shards=n, records=name):
                self.fresh()
                path = self.folder / case.name.replace("x", f"x@{n}")
                for mode, part in ((h.CREATE, records[:17]), (h.APPEND, records[17:])):
                    with h.Writer(path, mode, durability=0, **case.ours()) as w:
                        w.append_many(part)
                        w.commit()
                self.both_read(case, n, records, True)
                # those of the package, with the same records, and those of holdall after them
                self.fresh()
                for i in range(n):
                    case.write_theirs(
                        self.folder / case.name.replace("x", f"x-{i:05}-of-{n:05}"), records[i::n]
                    )
                self.both_read(case, n, records, False)
                with h.Writer(
                    path,
                    h.APPEND,
                    durability=0,
                    **(dict(bag_shards=h.BAG_SHARDS_INTERLEAVED) if n > 1 else {}),
                    **case.ours(),
                ) as w:
                    self.assertEqual(len(w), len(records))
                    w.append_many([b"", b"after theirs"])
                    w.commit()
                self.both_read(case, n, records + [b"", b"after theirs"], not records)
                self.done()


WRITER = """
import sys, bagz
path, limit, flush = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
w = bagz.Writer(path)
for i in range(limit):
    w.write(b"%d " % i * (i % 40))
    if i % flush == flush - 1:
        w.flush()
        print(i + 1, flush=True)
print("all", flush=True)
sys.stdin.read()
"""


class KilledWriterOfTheirs(Peer):
    """The package's writer stores the limits in a second file until it is closed."""

    LIMIT = 200_000

    def repaired(self, path, want, at_least, limits):
        """Repairs the pair; both then read the same complete records. Returns their number."""
        retained, dropped = h.repair(path)
        self.assertGreaterEqual(
            retained + dropped, limits
        )  # frames after the last limit are reported, too
        self.assertGreaterEqual(retained, at_least)
        want = want[:retained]
        self.files(path.name)
        case = Case(h.BAG_LIMITS_TAIL, None, path.suffix == ".bagz", name=path.name)
        self.read_by_ours(path, want, case)
        r = bagz.Reader(str(path))
        self.same(r.read(), want, "theirs, read()")
        self.same(r, want, "theirs, iteration")
        before = path.read_bytes()
        self.assertEqual(h.repair(path), (retained, 0))
        self.assertEqual(path.read_bytes(), before, "a bag that is whole stays as it is")
        with h.Writer(path, h.APPEND, durability=0) as w:
            w.append_many([b"", b"more"])
            w.commit()
        self.same(bagz.Reader(str(path)).read(), want + [b"", b"more"], "theirs, after an append")
        self.done()
        return retained

    def test_files_of_a_killed_writer_are_repaired(self):
        rng = random.Random(5)
        want = [b"%d " % i * (i % 40) for i in range(self.LIMIT)]
        for trial in range(16):
            name, flush = ("x.bag", "x.bagz")[trial % 2], (500, 10**9)[trial % 4 // 2]
            with self.subTest(trial=trial, name=name, flush=flush):
                self.fresh()
                path = self.folder / name
                limits = self.folder / ("limits." + name)
                child = subprocess.Popen(
                    [sys.executable, "-c", WRITER, path, str(self.LIMIT), str(flush)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                if flush == 500:
                    child.stdout.readline()
                else:
                    while child.poll() is None and not (path.exists() and path.stat().st_size):
                        time.sleep(0.001)
                time.sleep(rng.random() * 0.05)
                child.send_signal(signal.SIGKILL)
                said, _ = child.communicate()
                flushed = max(
                    [int(n) for n in said.split() if n.isdigit()],
                    default=500 if flush == 500 else 0,
                )
                count = limits.stat().st_size // 8
                with h.Bag(path, bag_limits=h.BAG_LIMITS_SEPARATE) as bag:
                    self.assertEqual(len(bag), count)
                    self.same(bag.read_range(0, flushed), want[:flushed], "ours, what was flushed")
                    whole = 0
                    for i in range(flushed, count):
                        try:
                            self.assertEqual(bag.read(i), want[i], "a record that was not flushed")
                            self.assertEqual(
                                whole, i - flushed, "records after one that is not whole"
                            )
                            whole += 1
                        except h.Error as e:
                            self.assertEqual((e.status, e.position), (h.E_FORMAT, i))
                try:
                    h.Bag(path).close()
                    self.fail("half a bag opened as a whole one")
                except h.Error as e:
                    self.assertEqual(e.status, h.E_FORMAT)
                    self.assertIn("limits." + name, e.message)
                if not count and name == "x.bag":
                    # no limit was written: nothing says where a record ends
                    before = path.read_bytes()
                    with self.assertRaises(h.Error) as refused:
                        h.repair(path)
                    self.assertEqual(refused.exception.status, h.E_FORMAT)
                    self.assertEqual(path.read_bytes(), before)
                    continue
                retained = self.repaired(path, want, flushed, count)
                # whole frames after the last limit are retained, too
                self.assertGreaterEqual(retained, flushed + whole)
                self.assertTrue(retained == flushed + whole or flushed + whole == count)

    def left_open(self, name, records):
        """The pair of files of a writer that was never closed."""
        self.fresh()
        path = self.folder / name
        w = bagz.Writer(str(path))
        for r in records:
            w.write(r)
        w.flush()
        pair = [path.read_bytes(), (self.folder / ("limits." + name)).read_bytes()]
        w.close()
        return path, *pair

    def test_files_truncated_anywhere_are_repaired(self):
        """Records that end at every byte of the last few."""
        records = [b"a record of some text, number %d" % i for i in range(40)]
        for name in ("x.bag", "x.bagz"):
            path, data, limits = self.left_open(name, records)
            ends = [int.from_bytes(limits[i : i + 8], "little") for i in range(0, len(limits), 8)]
            for size in range(ends[-4], len(data) + 1):
                with self.subTest(name=name, size=size):
                    self.fresh()
                    path.write_bytes(data[:size])
                    (self.folder / ("limits." + name)).write_bytes(limits)
                    whole = sum(e <= size for e in ends)
                    retained = self.repaired(path, records, whole, len(records))
                    self.assertEqual(retained, whole)

    def test_torn_limits_are_repaired(self):
        records = [b"a record of some text, number %d" % i for i in range(40)]
        for name in ("x.bag", "x.bagz"):
            path, data, limits = self.left_open(name, records)
            for size in range(len(limits) - 17, len(limits)):
                with self.subTest(name=name, size=size):
                    self.fresh()
                    path.write_bytes(data)
                    (self.folder / ("limits." + name)).write_bytes(limits[:size])
                    retained = self.repaired(path, records, size // 8, -(-size // 8))
                    self.assertEqual(retained, size // 8)

    def test_records_that_look_like_limits_are_not_truncated(self):
        """Uncompressed records whose last bytes are a valid last limit."""
        zeros = [bytes(64)] * 40
        numbers = [(i * 8).to_bytes(8, "little") for i in range(40)]
        for what, records in dict(
            zeros=zeros, numbers=numbers, text=[b"text", b"more", *numbers[:9]]
        ).items():
            with self.subTest(records=what):
                path, data, limits = self.left_open("x.bag", records)
                self.fresh()
                path.write_bytes(data)
                (self.folder / "limits.x.bag").write_bytes(limits)
                self.assertEqual(
                    self.repaired(path, records, len(records), len(records)), len(records)
                )

    def test_torn_separate_limits_are_repaired(self):
        records = SHAPES["empty amid"]
        for name in ("x.bag", "x.bagz"):
            for cut in range(1, 20):
                with self.subTest(name=name, cut=cut):
                    self.fresh()
                    case = Case(h.BAG_LIMITS_SEPARATE, None, name == "x.bagz")
                    path = self.folder / name
                    case.write_theirs(path, records)
                    limits = self.folder / ("limits." + name)
                    os.truncate(limits, limits.stat().st_size - cut)
                    count = -(-limits.stat().st_size // 8)
                    retained, dropped = h.repair(path, bag_limits=h.BAG_LIMITS_SEPARATE)
                    self.assertEqual(
                        (retained, retained + dropped), (limits.stat().st_size // 8, count)
                    )
                    self.read_by_ours(path, records[:retained], case)
                    self.read_by_theirs(path, records[:retained], case)
                    self.done()


def tearDownModule():
    print(f"combinations checked: {checked}", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
