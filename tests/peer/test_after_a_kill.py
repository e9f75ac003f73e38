"""Checks what the readers of the peers see of a container whose writer was killed, at each point of
a commit, as docs/commits.md states it.

The system calls of a commit are recorded, and each prefix of them is replayed: all writes of a
killed process are present. holdall reads the last commit or the next one (tests/crash,
test_kill*.py). The peers have no journals: if a commit needs one, they may see an error, but no
other content.
"""

import collections
import importlib
import multiprocessing
import os
import pathlib
import shutil
import sys
import unittest

import holdall_c as h

sys.path.append(str(h.ROOT / "tests/crash"))
import test_crash

OLD, NEW, FROM, TO = test_crash.OLD, test_crash.NEW, 5, 20
SECONDS = 60


def rows(n, rewritten):
    return [7 * i + (1000000 if rewritten and FROM <= i < TO else 0) for i in range(n)]


def items(content):
    import numpy

    return numpy.frombuffer(content, "<i4").tolist()


def by_bloscpack(path):
    import theirs

    return items(theirs.Found(path).content)


def by_blosc2(path):
    import blosc2

    blosc2.set_nthreads(1)
    found = blosc2.open(str(path), mode="r")
    return items(found[:]) if isinstance(found, blosc2.SChunk) else found[:].tolist()


def by_bcolz(path):
    import bcolz

    return bcolz.carray(rootdir=str(path), mode="r")[:].tolist()


def by_bcolz_table(path):
    import bcolz

    table = bcolz.ctable(rootdir=str(path), mode="r")
    x, y = (table[name][:].tolist() for name in "xy")
    return x if x == y else [x, y]


def by_bagz(path):
    import bagz

    limits = bagz.LimitsPlacement.SEPARATE if path.suffix == ".bag" else bagz.LimitsPlacement.TAIL
    return [
        int.from_bytes(record, "little")
        for record in bagz.Reader(str(path), bagz.Reader.Options(limits_placement=limits)).read()
    ]


# Imported before the processes that read are forked: importing takes longer than reading.
PEERS = "bagz", "bcolz", "blosc2", "theirs"
READERS = {
    "x.blp": by_bloscpack,
    "x.b2frame": by_blosc2,
    "sparse.b2frame": by_blosc2,
    "x.b2nd": by_blosc2,
    "array.bcolz": by_bcolz,
    "table.bcolz": by_bcolz_table,
    "x.bagz": by_bagz,
    "x.bag": by_bagz,
}
# Results in the middle of a commit other than the last commit and the next one, for appended and
# for changed rows.
MAY_BE = {
    "append": {
        **dict.fromkeys(READERS, set()),
        "x.bagz": {"error"},
        "x.blp": {"mixed"},
        "table.bcolz": {"mixed"},
    },
    "change": {"x.blp": {"mixed"}, "array.bcolz": {"mixed"}, "table.bcolz": {"mixed"}},
}


def named(got, new):
    """Returns which state this is."""
    columns = got if got and isinstance(got[0], list) else [got]
    known = {str([rows(OLD, False)]): "old", str([new]): "new"}
    changed = rows(NEW, True)
    each = [len(c) in (OLD, NEW) or not len(c) % 16 for c in columns]
    mixed = all(each) and all(
        row in (7 * i, changed[i]) for c in columns for i, row in enumerate(c)
    )
    return known.get(str(columns), "mixed" if mixed else f"other: {got}")


def see(reader, path, new, pipe):
    try:
        pipe.send(named(reader(path), new))
    except BaseException as e:
        print(f"{path.name}: {type(e).__name__}: {e}", file=sys.stderr)
        pipe.send("error")


@unittest.skipUnless(shutil.which("strace"), "there is no strace")
class AfterAKill(test_crash.Crash):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for module in PEERS:
            importlib.import_module(module)

    def read_state(self, reader, path, new):
        here, there = multiprocessing.Pipe(False)
        child = multiprocessing.get_context("fork").Process(
            target=see, args=(reader, path, new, there)
        )
        child.start()
        there.close()
        try:
            return here.recv() if here.poll(SECONDS) else "hangs"
        except EOFError:
            return "crashes"
        finally:
            child.kill()
            child.join()

    def states(self, form, name, what):
        """Returns how often the reader sees each state, over all points of a commit."""
        base = self.empty()
        self.record([self.program, "make", form, base / name], base)
        recorded = self.record([self.program, what, form, base / name], base)
        recorded.__class__ = test_crash.Killed
        new, seen = rows(NEW, what == "change" and "bag" not in name), collections.Counter()
        for until in range(len(recorded.changes) + 1):
            left = self.folder / "left"
            shutil.rmtree(left, ignore_errors=True)
            recorded.lay_down(until, None, None, left)
            seen[self.read_state(READERS[name], left / name, new)] += 1
        return seen

    def test_peers_see_one_commit_or_an_error(self):
        for form, name in enumerate(self.forms):
            for what in [what for what in MAY_BE if name in MAY_BE[what]]:
                with self.subTest(name=name, what=what):
                    seen = self.states(form, name, what)
                    print(
                        f"{what} {name}: "
                        f"{', '.join(f'{state} {n}' for state, n in sorted(seen.items()))}",
                        file=sys.stderr,
                    )
                    self.assertEqual(set(seen), {"old", "new"} | MAY_BE[what][name])


for inherited in [name for name in dir(test_crash.Crash) if name.startswith("test_")]:
    setattr(AfterAKill, inherited, None)


if __name__ == "__main__":
    unittest.main()
