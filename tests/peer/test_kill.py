"""Kills a writer with SIGKILL while it appends and commits: a returned commit is present and
complete."""

import os
import pathlib
import random
import tempfile
import unittest

import bagz
import zstandard

import holdall_c as h
from killing import M64, Kill, kill_one, mix

# trials by limits and operation, if HOLDALL_KILLS does not set the number
TRIALS = {
    ("tail", "append"): 80,
    ("separate", "append"): 80,
    ("tail", "replace"): 24,
    ("separate", "replace"): 24,
}
SET_TRIALS = {("tail", "append"): 24, ("separate", "append"): 24, ("tail", "replace"): 12}
ROOM_TRIALS = {("tail", "append"): 24}
MIN_RECORDS_FOR_ROOM = 8192
SHARDS = 4
KILLS_A_FILE = 8
POOL, LONGEST = 65536, 40000


class Content:
    """The records of a generation, as in kill_writer.c."""

    def __init__(self, pool, generation):
        self.pool, self.generation, self.records = pool, generation, []

    def record(self, i):
        m = mix(i * 0x9E3779B97F4A7C15 + self.generation & M64)
        if m % 13 == 0:
            return b""
        n = LONGEST if m % 997 == 0 else 8 + (m >> 16) % 300
        at = (m >> 32) % (POOL - LONGEST)
        return (i ^ self.generation << 48).to_bytes(8, "little") + self.pool[at : at + n - 8]

    def first(self, n):
        self.records.extend(map(self.record, range(len(self.records), n)))
        return self.records[:n]


class File:
    """A bag whose writers are killed again and again. `state` is its last commit: generation and
    number of records, or None."""

    def __init__(self, test, limits, replace, number, rng):
        self.test, self.rng, self.limits, self.replace = test, rng, limits, replace
        self.zstd, self.has_dictionary = number % 3 > 0, number % 3 == 1
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.name = "x.bagz" if self.zstd else "x.bag"
        self.path = self.folder / self.name
        self.state = None
        self.contents = {}
        self.next_generation = 1

    def __repr__(self):
        return self.name

    def content(self, generation):
        if generation not in self.contents:
            self.contents[generation] = Content(self.test.pool, generation)
        return self.contents[generation]

    def kill_one(self):
        rng = self.rng
        if self.replace or not self.state:
            mode = h.CREATE if not self.state else h.REPLACE
            generation, self.next_generation = self.next_generation, self.next_generation + 1
        else:
            mode, generation = h.APPEND, self.state[0]
        durable = rng.random() < 0.6
        codec = h.CODEC_ZSTD if self.zstd else h.CODEC_NONE
        arguments = [
            self.path,
            mode,
            self.test.pool_file,
            rng.getrandbits(63),
            generation,
            codec,
            self.limits,
            int(durable),
            *([self.test.dictionary_file] if self.has_dictionary else []),
        ]
        began = self.state[1] if mode == h.APPEND else 0
        return kill_one(
            self.test, rng, arguments, 0.3, self.state, began, lambda count: (generation, count)
        )

    def look(self, may_be):
        """Checks that the complete content is one of these states. Writes nothing."""
        self.leftovers()
        try:
            with h.Bag(
                self.path,
                bag_limits=self.limits,
                io=self.rng.choice((h.IO_READ, h.IO_MAP)),
                bag_shards=h.BAG_SHARDS_INTERLEAVED,
            ) as bag:
                n = len(bag)
                got = bag.read_range()
                self.check_each(got)
                some = [self.rng.randrange(n) for _ in range(20)] if n else []
                for i in some:
                    self.test.assertEqual(bag.read(i), got[i])
                self.test.assertEqual(bag.read_indices(some), [got[i] for i in some])
                self.test.assertIn(
                    bag.info.checksum,
                    (
                        h.CHECKSUM_ZSTD if self.zstd else h.CHECKSUM_CRC32,
                        h.CHECKSUM_NONE if n == 0 else h.CHECKSUM_CRC32,
                    ),
                )
        except h.Error as e:
            if e.status != h.E_MISSING:
                raise
            self.test.assertIn(None, may_be, f"the bag is gone: {e}")
            self.state = None
            return
        fits = [s for s in may_be if s and s[1] == n and self.content(s[0]).first(n) == got]
        self.test.assertTrue(
            fits, f"{n} records are there; (generation, number) should be one of {may_be}"
        )
        self.state = fits[0]
        if len(may_be) > 1 and fits[0] == may_be[1]:
            self.test.tally["one commit more than reported"] += 1
        v = h.Verified(self.path, bag_limits=self.limits)
        self.test.assertEqual((v.intact, v.corrupt, v.unchecked, v.error), (n, 0, 0, None))

    def names(self):
        return [self.name]

    def dictionary_options(self):
        if not self.has_dictionary:
            return {}
        return {"bag_dictionary": h.BAG_DICTIONARY_STORED, "dictionary": self.test.dictionary}

    def check_each(self, got):
        """Checks the files of a set."""

    def recover(self, codec):
        """Operations of a later writer before it continues."""

    def leftovers(self):
        for f in self.folder.iterdir():
            if f.name.endswith((".holdall-journal", ".holdall-new", ".holdall-journal-new")):
                self.test.tally["left: *." + f.name.rpartition(".")[2]] += 1

    def go_on(self):
        """A later writer continues; its commits are present, for the Bagz package too."""
        generation, n = self.state or (self.next_generation, 0)
        mode = h.APPEND if self.state else h.CREATE
        self.next_generation = max(self.next_generation, generation + 1)
        content = self.content(generation)
        end = n + self.rng.randrange(1, 40)
        codec = h.CODEC_ZSTD if self.zstd else h.CODEC_NONE
        self.recover(codec)
        options = {"bag_limits": self.limits, "codec": codec, **self.dictionary_options()}
        with h.Writer(self.path, mode, **options) as w:
            self.test.assertEqual(len(w), n)
            w.append_many(content.first(end)[n:-1])
            w.append(content.record(end - 1))
            w.commit()
        self.look([(generation, end)])
        if self.has_dictionary:
            self.read_by_zstd(content.first(end))
        else:
            self.read_by_bagz(content.first(end))
        separate = self.limits == h.BAG_LIMITS_SEPARATE
        left = {f.name for f in self.folder.iterdir() if not f.name.endswith(".holdall-lock")}
        prefixes = ["", *(["limits."] if separate else []), *([] if self.zstd else ["checksums."])]
        names = self.names()
        turns = {"turns." + names[0]} if len(names) > 1 and not self.zstd else set()
        self.test.assertEqual(
            left, turns | {prefix + name for prefix in prefixes for name in names}
        )
        self.test.tally["later appends read back"] += 1

    def read_by_zstd(self, records):
        """zstd reads the same records with the stored dictionary, frame by frame."""
        with h.Bag(self.path, bag_limits=self.limits) as bag:
            self.test.assertEqual(bag.dictionary(), self.test.dictionary)
        options = {"bag_limits": self.limits, "bag_shards": h.BAG_SHARDS_INTERLEAVED}
        with h.Bag(self.path, codec=h.CODEC_NONE, **options) as bag:
            frames = bag.read_range()
        zstd = zstandard.ZstdDecompressor(zstandard.ZstdCompressionDict(self.test.dictionary))
        read = [zstd.decompress(frame) for frame in frames]
        self.test.assertTrue(read == records, "zstd reads something else")
        self.test.tally["read by zstd with the stored dictionary"] += 1

    def read_by_bagz(self, records):
        separate = self.limits == h.BAG_LIMITS_SEPARATE
        limits_of = bagz.LimitsPlacement.SEPARATE if separate else bagz.LimitsPlacement.TAIL
        r = bagz.Reader(
            str(self.path),
            bagz.Reader.Options(
                limits_placement=limits_of, sharding_layout=bagz.ShardingLayout.INTERLEAVED
            ),
        )
        self.test.assertTrue(r.read() == records, "the Bagz package reads something else")


class Files(File):
    """A set of shards whose writers are killed."""

    def __init__(self, *args):
        super().__init__(*args)
        self.path = self.folder / self.name.replace("x", f"x@{SHARDS}")

    def names(self):
        return [self.name.replace("x", f"x-{i:05}-of-{SHARDS:05}") for i in range(SHARDS)]

    def check_each(self, got):
        """A reader of a single shard sees the same commit."""
        for i, name in enumerate(self.names()):
            with h.Bag(self.folder / name, bag_limits=self.limits) as bag:
                self.test.assertTrue(
                    bag.read_range() == got[i::SHARDS], f"{name} shows another commit"
                )

    def recover(self, codec):
        if self.state and self.rng.random() < 0.5:
            with h.Writer(
                self.folder / self.rng.choice(self.names()),
                h.APPEND,
                bag_limits=self.limits,
                codec=codec,
            ):
                self.test.tally["recovered by the writer of one shard"] += 1


class WithRoom(File):
    """A bag with so many records that its limits have room before them."""

    def __init__(self, *args):
        super().__init__(*args)
        self.zstd, self.name = True, "x.bagz"
        self.path = self.folder / self.name
        with h.Writer(self.path, h.CREATE, **self.dictionary_options()) as w:
            w.append_many(self.content(1).first(MIN_RECORDS_FOR_ROOM))
            w.commit()
        self.state, self.next_generation = (1, MIN_RECORDS_FOR_ROOM), 2

    def look(self, may_be):
        super().look(may_be)
        if self.state[1] > MIN_RECORDS_FOR_ROOM:
            stored = self.path.read_bytes()
            end = int.from_bytes(stored[-8:], "little")
            begin = int.from_bytes(stored[-16:-8], "little")
            if b"holdroom" in stored[begin:end]:
                self.test.tally["room was left"] += 1


class KillBag(Kill):
    writer = "kill_writer.c"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # compressible
        rng = random.Random(1)
        cls.pool = b"".join(rng.randbytes(4) * 3 for _ in range(POOL // 12 + 1))[:POOL]
        cls.pool_file = cls.folder / "pool"
        cls.pool_file.write_bytes(cls.pool)
        cls.dictionary = h.train_dictionary(Content(cls.pool, 1).first(2000), 4096)
        cls.dictionary_file = cls.folder / "dictionary"
        cls.dictionary_file.write_bytes(cls.dictionary)

    def kill(self, limits, what, of=File):
        limits_of = h.BAG_LIMITS_SEPARATE if limits == "separate" else h.BAG_LIMITS_TAIL

        def make(number, rng):
            return of(self, limits_of, what == "replace", number, rng)

        prefix, numbers = {
            File: ("", TRIALS),
            Files: ("set ", SET_TRIALS),
            WithRoom: ("room ", ROOM_TRIALS),
        }[of]
        trials = int(os.environ.get("HOLDALL_KILLS", numbers[limits, what]))
        self.trials(f"{prefix}{limits} {what}", trials, KILLS_A_FILE, 0.3, make)

    def test_append_tail_survives_kills(self):
        self.kill("tail", "append")

    def test_append_separate_survives_kills(self):
        self.kill("separate", "append")

    def test_replace_tail_survives_kills(self):
        self.kill("tail", "replace")

    def test_replace_separate_survives_kills(self):
        self.kill("separate", "replace")

    def test_append_with_room_survives_kills(self):
        self.kill("tail", "append", WithRoom)
        self.assertGreater(self.tally["room was left"], 0)

    def test_set_append_tail_survives_kills(self):
        self.kill("tail", "append", Files)

    def test_set_append_separate_survives_kills(self):
        self.kill("separate", "append", Files)

    def test_set_replace_survives_kills(self):
        self.kill("tail", "replace", Files)


if __name__ == "__main__":
    unittest.main()
