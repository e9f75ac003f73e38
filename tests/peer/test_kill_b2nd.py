"""Kills a writer with SIGKILL while it changes an array in a Blosc2 frame, in one file and in a
folder, and commits: the complete content is that of the last returned commit, or of the one in
progress. python-blosc2 reads the same."""

import os
import pathlib
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h
from killing import M64, Kill, check_found, kill_one
from test_kill_schunk import Draws, mix, values

TRIALS = int(os.environ.get("HOLDALL_KILLS", 60))
LONG_TRIALS = int(os.environ.get("HOLDALL_KILLS", 24))
KILLS_A_FRAME = 6
COLUMNS, ROWS, NOTE = 61, 2000, 3000


class Model:
    """Content and the attribute "note" by the number of the last commit, as in kill_b2nd.c."""

    def __init__(self, what, seed, shape):
        self.what, self.seed = what, seed
        self.states = {0: (values(0, shape[0] * shape[1], 0).reshape(shape), None)}

    def at(self, k):
        if k not in self.states:
            last = max(n for n in self.states if n < k)
            content, note = self.states[last]
            content = content.copy()
            for number in range(last + 1, k + 1):
                content, note = self.changed(content, note, number)
            self.states[k] = content, note
        return self.states[k]

    def forget(self, k):
        """All content except that of commit k."""
        self.states = {k: self.at(k)}

    def changed(self, content, note, k):
        draws = Draws(mix(self.seed + k & M64))
        if self.what == "append":
            few, n = draws.next() % 8, draws.next()
            if len(content) > ROWS:
                content = content[: draws.next() % 50]
            n = 1 + n % (10 if few else 300)
            return np.concatenate([content, values(0, n * COLUMNS, k).reshape(n, COLUMNS)]), note
        if self.what == "attributes":
            n = draws.next() % NOTE
            return content, (
                (values(0, n, k) % np.uint64(23) + np.uint64(ord("a"))).astype("u1").tobytes()
                if k % 5
                else None
            )
        if self.what == "resize":
            shape = 1 + draws.next() % 300, 1 + draws.next() % 80
            retained = content[: shape[0], : shape[1]]
            content = np.zeros(shape, "<u8")
            content[: retained.shape[0], : retained.shape[1]] = retained
        at, n = zip(
            *(
                (at, min(1 + draws.next() % 60, all - at))
                for all in content.shape
                for at in [draws.next() % all]
            )
        )
        content[at[0] : at[0] + n[0], at[1] : at[1] + n[1]] = values(at[0], n[0] * n[1], k).reshape(
            n
        )
        return content, note


class Frame:
    """An array whose writers are killed again and again. `state` is the number of its last
    commit."""

    def __init__(self, test, what, sparse, rng):
        self.test, self.what, self.sparse, self.rng = test, what, sparse, rng
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.path = self.folder / "x.b2nd"
        self.sum = rng.choice((h.CHECKSUM_NONE, h.CHECKSUM_CRC32, h.CHECKSUM_CRC32))
        self.attribute = int(what == "attributes") or rng.randrange(2)
        self.seed = rng.getrandbits(62)
        self.make(rng.randrange(1, 300), chunk_shape=(40, 32), block_shape=(16, 8))

    def make(self, rows, **shapes):
        self.model = Model(self.what, self.seed, (rows, COLUMNS))
        self.state = 0
        content, _ = self.model.at(0)
        options = dict(checksum=self.sum, sparse=self.sparse, format=h.FORMAT_B2ND, **shapes)
        with h.Array.create(self.path, "<u8", content.shape, **options) as a:
            a.write((0, 0), content.shape, (1, 1), content.tobytes())
            self.number(a, 0)
            a.commit()

    def __repr__(self):
        return f"{self.what}, sparse {self.sparse}, sum {self.sum}, attribute {self.attribute}"

    def number(self, a, k):
        if self.attribute:
            a.attr_set("number", b"\xce" + k.to_bytes(4, "big"))

    def kill_one(self):
        arguments = [
            self.path,
            self.what,
            self.seed,
            self.state + 1,
            self.attribute,
            int(self.rng.random() < 0.6),
        ]
        return kill_one(self.test, self.rng, arguments, 0.2, self.state, self.state + 1)

    def look(self, may_be):
        """Checks that the complete content is one of these states. Writes nothing."""
        for f in self.folder.rglob("*.holdall-*"):
            if not f.name.endswith("-lock"):
                self.test.tally["left: *" + f.name[f.name.index(".holdall") :]] += 1
        theirs = self.theirs()
        with h.Array(self.path, io=self.rng.choice((h.IO_READ, h.IO_MAP))) as a:
            number, note = a.attr_get("number"), a.attr_get("note")
            got = (
                a.shape,
                a.read((0, 0), a.shape, (1, 1)),
                number and int.from_bytes(number[1:], "big"),
                note and note[3:],
            )
        found = [k for k in may_be if self.expected(k) == got]
        self.test.assertTrue(found, f"what is there is that of none of {may_be}")
        self.test.assertIn(theirs, map(self.expected, may_be), "blosc2 reads something else")
        self.test.tally[
            "blosc2: " + ("the same" if theirs == got else "the other one of the two")
        ] += 1
        self.state = found[-1]
        self.model.forget(self.state)
        check_found(self.test, self.path, may_be, self.state)

    def expected(self, k):
        content, note = self.model.at(k)
        return content.shape, content.tobytes(), k if self.attribute else None, note

    def theirs(self):
        a = blosc2.open(str(self.path), mode="r")
        named = {
            name: a.schunk.vlmeta[name] for name in ("number", "note") if name in a.schunk.vlmeta
        }
        note = named.get("note")
        return (
            a.shape,
            a[...].tobytes(),
            named.get("number"),
            None if note is None else note.encode(),
        )

    def go_on(self):
        """A later writer continues; exactly its commits are present."""
        number = self.state + 1
        with h.Array(self.path, h.APPEND) as a:
            old, (content, note) = self.model.at(self.state)[0], self.model.at(number)
            if content.shape != old.shape:
                a.resize(content.shape)
            if self.what == "attributes":
                text = None if note is None else b"\xda" + len(note).to_bytes(2, "big") + note
                a.attr_set("note", text)
            else:
                a.write((0, 0), content.shape, (1, 1), content.tobytes())
            self.number(a, number)
            a.commit()
        self.look([number])
        self.test.assertEqual(
            {f.name for f in self.folder.iterdir()} - {"x.b2nd.holdall-lock"}, {"x.b2nd"}
        )
        if self.sparse:
            left = [f.name for f in self.path.iterdir() if f.suffix == ".chunk"]
            needed = blosc2.open(str(self.path), mode="r").schunk.nchunks
            self.test.assertLessEqual(len(left), needed, f"files that are not needed, among {left}")
            names = {
                f.name
                for f in self.path.iterdir()
                if "holdall" in f.name and not f.name.endswith("-lock")
            }
            self.test.assertEqual(names, set())
        self.test.tally["later commits read back"] += 1


class Long(Frame):
    """An array of so many chunks that small commits write to a pair of tails."""

    def make(self, rows, **shapes):
        self.sum, self.attribute = h.CHECKSUM_CRC32, 0
        super().make(600 + rows, chunk_shape=(1, 4), block_shape=(1, 4))

    def look(self, may_be):
        super().look(may_be)
        if b"holdpair" in self.path.read_bytes():
            self.test.tally["with a pair of tails"] += 1


class KillB2nd(Kill):
    writer = "kill_b2nd.c"

    def kill(self, what):
        for sparse, where in enumerate(("in one file", "in a folder")):
            self.trials(
                f"{what} {where}",
                TRIALS,
                KILLS_A_FRAME,
                0.3,
                lambda number, rng: Frame(self, what, sparse, rng),
            )

    def test_append_survives_kills(self):
        self.kill("append")

    def test_append_to_many_chunks_survives_kills(self):
        def make(number, rng):
            return Long(self, "append", 0, rng)

        self.trials("append to many chunks", LONG_TRIALS, KILLS_A_FRAME, 0.3, make)
        self.assertGreater(self.tally["with a pair of tails"], 0)

    def test_write_survives_kills(self):
        self.kill("write")

    def test_resize_survives_kills(self):
        self.kill("resize")

    def test_attributes_survive_kills(self):
        self.kill("attributes")


if __name__ == "__main__":
    unittest.main()
