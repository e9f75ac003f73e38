"""Kills a writer with SIGKILL while it changes several nodes of a store and commits them together: all
nodes are those of the last returned commit, or of the one in progress; for python-blosc2, too, after the
next writer has recovered a folder."""

import os
import pathlib
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h
from killing import Kill, check_found, kill_one
from test_kill_schunk import values

TRIALS = int(os.environ.get("HOLDALL_KILLS", 40))
KILLS_A_STORE = 8


def length(k):
    """As in kill_store.c."""
    return 1 + k % 7 if k % 5 else 3000


class Store:
    """A store whose writers are killed again and again. `state` is the number of its last commit."""

    def __init__(self, test, end, rng):
        self.test, self.end, self.rng = test, end, rng
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.path = self.folder / f"x.{end}"
        self.state = 0
        with h.Store.create(self.path) as store:
            for node in ("/a", "/g/b"):
                with store.create_array(node, "<u8", [0]) as array:
                    array.commit()
            store.commit()

    def __repr__(self):
        return str(self.path)

    def kill_one(self):
        durable = int(self.rng.random() < 0.6)
        arguments = [self.path, self.state + 1, durable]
        return kill_one(self.test, self.rng, arguments, 0.2, self.state, self.state + 1)

    def expected(self, k):
        """The content of each node after commit k."""
        nodes = {"/a": [values(0, length(j), j) for j in range(1, k + 1)],
                 "/g/b": [values(0, 1, j) for j in range(1, k + 1)]}  # fmt: skip
        last = k - k % 5
        if last:
            nodes[f"/n/{last}"] = [values(0, length(last), last)]
        return {node: np.concatenate([*parts, np.zeros(0, "<u8")]) .astype("<u8").tobytes()
                for node, parts in nodes.items()}  # fmt: skip

    def read(self):
        with h.Store(self.path) as store:
            found = {}
            for node in store.nodes():
                with store.open_array(node) as array:
                    found[node] = array.read([0], array.shape, [1])
            return found

    def theirs(self):
        kind = blosc2.EmbedStore if self.end == "b2e" else blosc2.DictStore
        store = kind(str(self.path), mode="r")
        # it takes a frame under a temporary name for a node: x.b2nd.holdall-new for /x.b2nd
        keys = [key for key in store.keys() if not key.endswith(".b2nd")]
        self.test.tally["python-blosc2: temporary nodes"] += len(store) - len(keys)
        return {key: store[key][:].tobytes() for key in keys}

    def look(self, may_be):
        """Checks that all nodes are those of one of these states. Writes nothing."""
        for f in self.folder.rglob("*.holdall-*"):
            if not f.name.endswith("-lock"):
                self.test.tally["left: *" + f.name[f.name.index(".holdall") :]] += 1
        found = self.read()
        states = [k for k in may_be if self.expected(k) == found]
        self.test.assertTrue(states, f"what is there is that of none of {may_be}")
        self.state = states[-1]
        check_found(self.test, self.path, may_be, self.state)
        # python-blosc2 knows no journal
        if self.end != "b2e" and not (self.path / "store.holdall-journal").exists():
            self.test.assertEqual(self.theirs(), found, "python-blosc2 reads something else")
            self.test.tally["python-blosc2: right"] += 1

    def go_on(self):
        """A later writer continues; exactly its commit is present."""
        k = self.state + 1
        with h.Store(self.path, h.APPEND) as store:
            for node, n in (("/a", length(k)), ("/g/b", 1)):
                with store.open_array(node, h.APPEND) as array:
                    array.append(0, n, values(0, n, k).tobytes())
                    array.commit()
            if k % 5 == 0:
                with store.create_array(f"/n/{k}", "<u8", [0]) as array:
                    array.append(0, length(k), values(0, length(k), k).tobytes())
                    array.commit()
                if k > 5:
                    store.remove(f"/n/{k - 5}")
            store.commit()
        self.look([k])
        left = [f.name for f in self.folder.rglob("*holdall-*") if not f.name.endswith("-lock")]
        self.test.assertEqual(left, [])
        self.test.tally["later commits read back"] += 1


class KillStore(Kill):
    writer = "kill_store.c"

    def kill(self, end):
        make = lambda number, rng: Store(self, end, rng)
        self.trials(end, TRIALS, KILLS_A_STORE, 0.3, make)

    def test_a_folder_survives_kills(self):
        self.kill("b2d")

    def test_an_archive_survives_kills(self):
        self.kill("b2z")

    def test_a_frame_survives_kills(self):
        self.kill("b2e")


if __name__ == "__main__":
    unittest.main()
