"""Kills a writer with SIGKILL while it appends to an array in a folder, overwrites it, or appends
to a table, and commits: the complete content is that of the last returned commit, or of the one in
progress. The result of bcolz-zipline is printed, too. The same in the BLZ RFC layout, whose files
Bloscpack reads."""

import os
import pathlib
import tempfile
import unittest

import bcolz
import numpy as np

import holdall_c as h
from killing import Kill, check_found, kill_one
from test_kill_schunk import Appended, Edited, values
from theirs import bloscpack

TRIALS = int(os.environ.get("HOLDALL_KILLS", 60))
KILLS_A_DATASET = 6
CHUNK = 32768


class Dataset:
    """An array whose writers are killed again and again. `state` is the number of its last commit;
    None: it does not exist."""

    def __init__(self, test, what, rng):
        self.test, self.what, self.rng = test, what, rng
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.path = self.folder / "x.bcolz"
        self.sum = rng.choice((h.CHECKSUM_NONE, h.CHECKSUM_CRC32, h.CHECKSUM_SHA256))
        self.attribute = rng.randrange(2)
        self.seed = rng.getrandbits(62)
        self.model = (
            Edited(self.seed, rng.randrange(5000, 100_000)) if what == "edit" else Appended()
        )
        self.state, self.older = self.model.first, {}
        if what == "edit":
            with h.Array.create(
                self.path, "<u8", (0,), format=h.FORMAT_BCOLZ, checksum=self.sum, chunk_bytes=CHUNK
            ) as a:
                a.append(0, len(self.model.start), self.model.start.tobytes())
                a.attr_set("number", b"0")
                a.commit()

    def __repr__(self):
        return f"{self.what}, sum {self.sum}, attribute {self.attribute}"

    def kill_one(self):
        rng, edits = self.rng, self.what == "edit"
        seed = self.seed if edits else rng.getrandbits(62)
        number = 0 if self.state is None else self.state + 1
        arguments = [
            self.path,
            self.what,
            seed,
            number,
            self.sum,
            self.attribute,
            int(rng.random() < 0.6),
        ]
        return kill_one(self.test, rng, arguments, 0.2, self.state, (self.state or 0) + edits)

    def contents(self, may_be):
        return {k: self.model.at(k).tobytes() for k in may_be if k is not None}

    def look(self, may_be):
        """Checks that the complete content is one of these states. Writes nothing."""
        for f in self.path.rglob("*.holdall-*"):
            if not f.name.endswith("-lock"):
                self.test.tally["left: *" + f.name[f.name.index(".holdall") :]] += 1
        expected = self.contents(may_be)
        # while a journal waits for the next writer, bcolz sees the state before it
        waits = (self.path / "dataset.holdall-journal").exists()
        self.theirs({**self.older, **expected})
        self.older = {**self.older, **expected} if waits else {}
        try:
            got = self.read()
        except h.Error as e:
            self.test.assertIn(None, may_be, f"the dataset is gone: {e}")
            if e.status != h.E_MISSING and "not a dataset" not in e.message:
                raise
            self.state = None
            return
        found = [k for k, content in expected.items() if content == got]
        self.test.assertTrue(found, f"the content is that of none of {may_be}")
        self.state = found[-1]
        check_found(self.test, self.path, may_be, self.state)

    def read(self):
        with h.Array(self.path, io=self.rng.choice((h.IO_READ, h.IO_MAP))) as a:
            got, number = a.read([0], a.shape, [1]), a.attr_get("number")
        if self.attribute:
            self.test.assertEqual(
                got, self.model.at(int(number)).tobytes(), "the attribute is of another commit"
            )
        return got

    def theirs(self, expected):
        """bcolz has no journal. Of appends it sees the last commit or the next; overwritten chunks
        may be from either."""
        if len(expected) == 0 or not (self.path / "meta/sizes").exists():
            return
        try:
            got = bcolz.open(str(self.path), mode="r")[:]
        except FileNotFoundError:
            # only some files of the first commit have their names
            self.test.assertLess(len(expected), 2)
            self.test.tally["bcolz: not there yet"] += 1
            return
        states = [np.frombuffer(w, "<u8") for w in expected.values()]
        if any(np.array_equal(got, s) for s in states):
            self.test.tally["bcolz: right"] += 1
            return
        self.test.assertEqual(self.what, "edit", "bcolz reads something else")
        mixed = np.logical_or.reduce([got == s for s in states])
        self.test.assertTrue(mixed.all(), "bcolz reads content that was never written")
        self.test.tally["bcolz: some chunks old, some new"] += 1

    def go_on(self):
        """A later writer continues; its commits are present, for bcolz too."""
        if self.state is None:
            a = h.Array.create(self.path, "<u8", (0,), format=h.FORMAT_BCOLZ, chunk_bytes=CHUNK)
        else:
            a = h.Array(self.path, h.APPEND)
        with a:
            if self.what == "edit":
                number = self.state + 1
                for at, items in self.model.writes(number):
                    a.write([at], [len(items)], [1], items.tobytes())
            else:
                more = self.rng.randrange(1, 5000)
                number = (self.state or 0) + more
                a.append(0, more, values(number - more, more, 1).tobytes())
            a.attr_set("number", b"%d" % number)
            a.commit()
        self.look([number])
        self.test.assertEqual(
            bcolz.open(str(self.path), mode="r")[:].tobytes(),
            self.model.at(number).tobytes(),
            "bcolz reads something else",
        )
        left = [
            f.name
            for f in self.path.rglob("*")
            if "holdall" in f.name and not f.name.endswith("-lock")
        ]
        self.test.assertEqual(left, [])
        self.test.tally["later commits read back"] += 1


class Table(Dataset):
    """A table with columns as in kill_dataset.c; content is the bytes of all columns."""

    DTYPES = dict(a="<u8", b="<u4", c="<u2", d="|u1", e="<i8", f="|S5", g="<u8", h="<i4")

    def columns(self, start, n):
        for i, dtype in enumerate(self.DTYPES.values()):
            size = np.dtype(dtype).itemsize
            yield values(start, n, i + 1).view("u1").reshape(n, 8)[:, :size].tobytes()

    def contents(self, may_be):
        return {k: tuple(self.columns(0, k)) for k in may_be if k is not None}

    def read(self):
        with h.Table(self.path, io=self.rng.choice((h.IO_READ, h.IO_MAP))) as t:
            self.test.assertEqual(t.names[: len(self.DTYPES)], list(self.DTYPES))
            self.test.assertEqual(set(t.stored_rows()), {len(t)}, "columns of another length")
            number = t.attr_get("number")
            got = []
            for name in self.DTYPES:
                column = t[name]
                got.append(column.read([0], column.shape, [1]))
        if self.attribute:
            self.test.assertEqual(
                int(number),
                len(got[list(self.DTYPES).index("d")]),
                "the attribute is of another commit",
            )
        return tuple(got)

    def theirs(self, expected):
        """bcolz has no journal: while one waits, some columns may be longer for it than others; the
        first one, which determines the length, never is."""
        if not expected or not (self.path / "__rootdirs__").exists():
            return
        try:
            table = bcolz.open(str(self.path), mode="r")
            got = [table[name][: len(table)] for name in self.DTYPES]
        except FileNotFoundError:
            self.test.assertLess(len(expected), 2)
            self.test.tally["bcolz: not there yet"] += 1
            return
        bytes = tuple(column.tobytes() for column in got)
        self.test.assertIn(
            bytes, [tuple(w) for w in expected.values()], "bcolz reads something else"
        )
        self.test.tally["bcolz: right"] += 1

    def go_on(self):
        if self.state is None:
            t = h.Table.create(self.path, self.DTYPES, chunk_bytes=CHUNK)
        else:
            t = h.Table(self.path, h.APPEND)
        with t:
            more = self.rng.randrange(1, 5000)
            t.append(more, list(self.columns(len(t), more)))
            number = (self.state or 0) + more
            t.attr_set("number", b"%d" % number)
            t.commit()
        self.look([number])
        left = [
            f.name
            for f in self.path.rglob("*")
            if "holdall" in f.name and not f.name.endswith("-lock")
        ]
        self.test.assertEqual(left, [])
        self.test.tally["later commits read back"] += 1


class InBlzRfc:
    """In the BLZ RFC layout: Bloscpack reads each file, unless it is being changed."""

    form = dict(format=h.FORMAT_BLZ_RFC, chunk_bytes=CHUNK, superchunk_chunks=5)

    def theirs(self, expected):
        pass

    def left(self):
        names = [
            f.name
            for f in self.path.rglob("*")
            if "holdall" in f.name and not f.name.endswith("-lock")
        ]
        self.test.assertEqual(names, [])
        for file in self.path.rglob("__*__.bin"):
            self.test.assertTrue(bloscpack.unpack_bytes_from_file(str(file))[0], file)
            self.test.tally["Bloscpack: read"] += 1
        self.test.tally["later commits read back"] += 1


class BlzRfcArray(InBlzRfc, Dataset):
    def go_on(self):
        with (
            h.Array.create(self.path, "<u8", (0,), **self.form)
            if self.state is None
            else h.Array(self.path, h.APPEND)
        ) as a:
            more = self.rng.choice((1, self.rng.randrange(1, 5000)))
            number = (self.state or 0) + more
            a.append(0, more, values(number - more, more, 1).tobytes())
            a.attr_set("number", b"%d" % number)
            a.commit()
        self.look([number])
        self.left()


class BlzRfcTable(InBlzRfc, Table):
    def go_on(self):
        with (
            h.Table.create(self.path, self.DTYPES, **self.form)
            if self.state is None
            else h.Table(self.path, h.APPEND)
        ) as t:
            more = self.rng.choice((1, self.rng.randrange(1, 5000)))
            t.append(more, list(self.columns(len(t), more)))
            number = (self.state or 0) + more
            t.attr_set("number", b"%d" % number)
            t.commit()
        self.look([number])
        self.left()


class KillDataset(Kill):
    writer = "kill_dataset.c"

    def kill(self, what, make=Dataset):
        self.trials(what, TRIALS, KILLS_A_DATASET, 0.4, lambda number, rng: make(self, what, rng))

    def test_append_survives_kills(self):
        self.kill("append")

    def test_edit_survives_kills(self):
        self.kill("edit")

    def test_table_survives_kills(self):
        self.kill("table", Table)

    def test_blz_rfc_append_survives_kills(self):
        self.kill("blz_rfc-append", BlzRfcArray)

    def test_blz_rfc_table_survives_kills(self):
        self.kill("blz_rfc-table", BlzRfcTable)


if __name__ == "__main__":
    unittest.main()
