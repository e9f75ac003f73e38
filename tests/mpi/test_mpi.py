"""Tests bags, datasets, frames and parts that four ranks write, with the programs of examples/mpi.

The files are those that one process writes with the library alone. Any number of ranks reads them,
and ranks that are killed leave the last commit. HOLDALL_MPI_PROGRAMS is the folder with the
programs.
"""

import filecmp
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peer"))
import holdall_c as h  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["HOLDALL_MPI_PROGRAMS"])
SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
KILLS = int(os.environ.get("HOLDALL_KILLS", 6))
COLUMNS, CHUNK, CHUNKS = 64, 512, 8  # as in examples/mpi/arrays.c
UNIT = CHUNK * CHUNKS
ENVIRONMENT = {
    **os.environ,
    "HOLDALL_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}


def field(first, rows):
    """Rows of the field of arrays.c."""
    return b"".join(row_bytes(row // 16 * 7 % 100003) for row in range(first, first + rows))


def row_bytes(base, known={}):
    if base not in known:
        known[base] = struct.pack(f"<{COLUMNS}f", *(base + j * j % 51 / 8 for j in range(COLUMNS)))
    return known[base]


def record(i):
    """A record of bags.c."""
    more = range((i * 2654435761 & (1 << 64) - 1) % 255, 0, -1)
    return b"record %08d:" % i + bytes(ord("a") + (i + m * m) % 26 for m in more)


def shares(n, ranks):
    """The shares of holdall_mpi_share(), in units of 1."""
    each, more = divmod(n, ranks)
    ends = [r * each + min(r, more) for r in range(ranks + 1)]
    return list(zip(ends, ends[1:]))


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-mpi-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, ranks, program, *arguments):
        command = ["mpirun", "-np", ranks, PROGRAMS / program, *arguments]
        return subprocess.Popen(
            list(map(str, command)),
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_ranks(self, *command):
        child = self.start(*command)
        said, complaint = child.communicate()
        self.assertEqual(child.returncode, 0, complaint)
        return said.strip()

    def refused(self, message, *command):
        child = self.start(*command)
        _, complaint = child.communicate()
        self.assertNotEqual(child.returncode, 0)
        self.assertIn(message, complaint)

    def one_process(self, name, *commits):
        """Writes the array with the library alone: a commit for each number of rows."""
        path = self.folder / name
        if path.suffix == ".blz":
            kind = {"format": h.FORMAT_BLZ_RFC, "superchunk_chunks": CHUNKS}
        else:
            kind = {"format": h.FORMAT_B2ND, "sparse": 1}
        with h.Array.create(
            path, "<f4", [0, COLUMNS], chunk_shape=[CHUNK, COLUMNS], **kind
        ) as array:
            array.commit()
            first = 0
            for rows in commits:
                array.append(0, rows, field(first, rows))
                array.commit()
                first += rows
        return path

    def test_a_set_is_that_of_one_process(self):
        self.run_ranks(4, "bags", "write", self.folder / "set@4.bagz", 10001)
        for i, (first, end) in enumerate(shares(10001, 4)):
            name = f"-{i:05}-of-00004.bagz"
            with h.Writer(self.folder / f"one{name}", h.CREATE) as writer:
                writer.append_many([record(i) for i in range(first, end)])
                writer.commit()
            self.assertTrue(
                filecmp.cmp(self.folder / f"set{name}", self.folder / f"one{name}", shallow=False),
                name,
            )
        self.assertEqual(len(os.listdir(self.folder)), 8, "and nothing else is left")
        for ranks in (3, 4):
            said = self.run_ranks(ranks, "bags", "read", self.folder / "set@*.bagz")
            self.assertEqual(said, "10001 records, 0 that are wrong")

    def test_a_set_is_there_with_its_first_file(self):
        spec = self.folder / "set@4.bagz"
        self.run_ranks(4, "bags", "write", spec, 5000)
        self.refused(
            "rank 0: " + str(self.folder / "set-00000-of-00004.bagz"), 4, "bags", "write", spec, 10
        )
        self.refused(
            "wrong number of files (expected one per rank, 3, found 4)",
            3,
            "bags",
            "write",
            spec,
            10,
        )
        # files of a run whose rank 0 was killed before its commit
        (self.folder / "set-00000-of-00004.bagz").unlink()
        with self.assertRaises(h.Error) as caught:
            h.Bag(spec)
        self.assertEqual(caught.exception.status, h.E_MISSING)
        self.run_ranks(4, "bags", "write", spec, 3)
        self.assertEqual(self.run_ranks(4, "bags", "read", spec), "3 records, 0 that are wrong")

    def test_arrays_are_those_of_one_process(self):
        for kind in ("blz", "b2nd"):
            with self.subTest(kind):
                commits = 5 * UNIT, 3 * UNIT + 700
                ours = self.folder / f"ours.{kind}"
                for rows in commits:
                    self.run_ranks(4, "arrays", "write", ours, rows)
                one = self.one_process(f"one.{kind}", *commits)
                a, b = tree(ours), tree(one)
                self.assertEqual(sorted(a), sorted(b))
                self.assertEqual([name for name in a if a[name] != b[name]], [])
                self.assertFalse(pathlib.Path(f"{ours}.holdall-mpi").exists())
                for ranks in (3, 4):
                    self.assertEqual(
                        self.run_ranks(ranks, "arrays", "read", ours),
                        f"{sum(commits)} rows, 0 items that are wrong",
                    )
                self.refused("is not full", 4, "arrays", "write", ours, 10)

    def names_asked_for(self, ranks, path, program, *arguments):
        """The files below `path` that each rank accesses by name."""
        log = self.folder / "asked"
        traced = 'exec strace -f -qq -e trace=%file -o "$0.$OMPI_COMM_WORLD_RANK" "$@"'
        self.run_ranks(ranks, "/bin/sh", "-c", traced, log, PROGRAMS / program, *arguments)
        below = re.compile(rf'"{re.escape(str(path))}/([^"]*)"')
        return [
            set(below.findall(pathlib.Path(f"{log}.{rank}").read_text())) for rank in range(ranks)
        ]

    def test_one_rank_reads_for_all_what_opening_needs(self):
        for name, chunk in ("a.blz", r"data/__\d+__\.bin(\.holdall-journal)?"), (
            "a.b2nd",
            r"[0-9A-F]{8}\.chunk",
        ):
            with self.subTest(name):
                path = self.one_process(name, 4 * UNIT)
                first, *others = self.names_asked_for(4, path, "arrays", "read", path)
                self.assertIn("meta/sizes" if name == "a.blz" else "chunks.b2frame", first)
                for asked in others:
                    self.assertTrue(asked)
                    self.assertEqual([one for one in asked if not re.fullmatch(chunk, one)], [])

    @unittest.skipUnless((PROGRAMS / "slices").exists(), "no Fortran compiler")
    def test_fortran_reads_the_same(self):
        path = self.one_process("a.b2nd", 3001)
        expected = sum(struct.unpack(f"<{3001 * COLUMNS}f", field(0, 3001)))
        self.assertEqual(self.run_ranks(4, "slices", path), f"3001 rows, sum {expected:.3f}")

    def test_superchunks_of_a_run_that_was_cut_off_mean_nothing(self):
        path = self.folder / "a.blz"
        self.run_ranks(4, "arrays", "write", path, 2 * UNIT)
        sizes = (path / "meta/sizes").read_bytes()
        self.run_ranks(4, "arrays", "write", path, 4 * UNIT)
        (path / "meta/sizes").write_bytes(sizes)
        stray = [name for name in tree(path) if name.startswith("data/")]
        self.assertEqual(len(stray), 6)
        self.assertEqual(
            self.run_ranks(4, "arrays", "read", path), f"{2 * UNIT} rows, 0 items that are wrong"
        )
        # the library itself continues, and so do other ranks
        with h.Array(path, h.APPEND) as array:
            array.append(0, UNIT, field(2 * UNIT, UNIT))
            array.commit()
        self.run_ranks(4, "arrays", "write", path, 2 * UNIT + 9)
        self.assertEqual(
            tree(path),
            {
                **tree(self.one_process("one.blz", 2 * UNIT, UNIT, 2 * UNIT + 9)),
                **{n: tree(path)[n] for n in stray},
            },
        )

    def test_parts_of_a_table_are_committed_in_the_order_of_the_ranks(self):
        path = self.folder / "table"
        rows = 0
        for more in (10001, 2, 5000):  # two ranks have no part of two rows
            self.run_ranks(4, "parts", "write", path, more)
            rows += more
            for ranks in (3, 4):
                self.assertEqual(
                    self.run_ranks(ranks, "parts", "read", path), f"{rows} rows, 0 that are wrong"
                )
        self.assertEqual(self.parts(), [], "and nothing else is left")

    def parts(self):
        return [name for name in os.listdir(self.folder) if ".holdall-parts" in name]

    def test_a_part_that_cannot_be_committed_is_reported_to_all(self):
        path = self.folder / "table"
        self.run_ranks(4, "parts", "write", path, 10)
        with h.Table(path, h.APPEND):
            self.refused("rank 0: ", 4, "parts", "write", path, 10)
        self.assertEqual(self.run_ranks(4, "parts", "read", path), "10 rows, 0 that are wrong")
        h.repair(path)
        self.assertEqual(self.parts(), [])

    def test_the_page_shows_the_examples(self):
        page = (h.ROOT / "docs/mpi.md").read_text()
        shown = [code.split("```")[0] for code in page.split("```c\n")[1:]]
        self.assertEqual(len(shown), 2)
        for code, example in zip(shown, ("arrays.c", "parts.c")):
            self.assertIn(code, (h.ROOT / "examples/mpi" / example).read_text())

    def test_one_job_holds_the_lock_at_a_time(self):
        for kind in ("blz", "b2nd"):
            path = self.one_process(f"a.{kind}", UNIT)
            with h.Array(path, h.APPEND):
                self.refused("HOLDALL_E_BUSY", 4, "arrays", "write", path, UNIT)

    def test_other_containers_are_refused(self):
        for name, format in (("a.blz", h.FORMAT_BCOLZ), ("a.blp", h.FORMAT_BLOSCPACK)):
            with h.Array.create(self.folder / name, "<f4", [0, COLUMNS], format=format) as array:
                array.commit()
            self.refused(
                "expected a dataset in the BLZ RFC layout or an array in a frame",
                2,
                "arrays",
                "write",
                self.folder / name,
                UNIT,
            )

    def test_corruption_is_reported_to_all(self):
        path = self.one_process("a.blz", UNIT)
        (path / "meta/sizes").write_bytes(b"{")
        self.refused("rank 0: ", 4, "arrays", "read", path)

    def ranks_of(self, child, program):
        """The processes of the ranks of a job."""
        pids = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = int(
                    pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
                )
                if parent == child.pid and os.readlink(f"/proc/{pid}/exe").endswith(program):
                    pids.append(int(pid))
            except (OSError, IndexError):
                pass  # it has just ended
        return pids

    def begin(self, program, *arguments):
        """Starts four ranks; returns them and the time at which they were running."""
        child = self.start(4, program, *arguments)
        pids, began = [], time.monotonic()
        while len(pids) < 4 and child.poll() is None and time.monotonic() < began + 30:
            pids = self.ranks_of(child, program)
        return child, pids, time.monotonic()

    def duration(self, *command):
        """Returns the seconds of four ranks that are not killed."""
        child, _, began = self.begin(*command)
        child.communicate()
        self.assertEqual(child.returncode, 0)
        return time.monotonic() - began

    def kill_one(self, rng, within, trial, folder, *command):
        """Kills one rank of four: at a random time within this time, or in every other trial rank
        0, as soon as another rank has created files in the folder. Returns whether there was one to
        kill."""
        before = len(os.listdir(folder))
        child, pids, _ = self.begin(*command)
        if trial % 2 == 0:
            time.sleep(rng.random() * within)
        else:
            while child.poll() is None and len(os.listdir(folder)) <= before + 1:
                pass
        killed = bool(pids) and child.poll() is None
        try:
            if killed:
                os.kill(rng.choice(pids) if trial % 2 == 0 else min(pids), signal.SIGKILL)
        except ProcessLookupError:
            killed = False  # it has just ended
        self.end(child, command[0])
        return killed

    def end(self, child, program):
        """Waits for the end of ranks of which one was killed. Sometimes mpirun does not notice that
        all have ended."""
        try:
            child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.assertEqual(self.ranks_of(child, program), [], "ranks that outlive a killed one")
            child.kill()
            child.communicate()

    def test_ranks_that_are_killed_leave_the_last_commit_of_arrays(self):
        for kind in ("blz", "b2nd"):
            rng = random.Random(f"{SEED} {kind}")
            path = self.folder / f"a.{kind}"
            within = self.duration("arrays", "write", path, 8 * UNIT)
            rows, kills, lost = 8 * UNIT, 0, 0
            for trial in range(KILLS):
                with self.subTest(kind, trial=trial, seed=SEED):
                    kills += self.kill_one(
                        rng,
                        within,
                        trial,
                        path / "data" if kind == "blz" else path,
                        "arrays",
                        "write",
                        path,
                        8 * UNIT,
                    )
                    with h.Array(path) as array:
                        self.assertIn(array.shape[0], (rows, rows + 8 * UNIT))
                        lost += array.shape[0] == rows
                        rows = array.shape[0]
                        self.assertEqual(
                            array.read([0, 0], [rows, COLUMNS], [1, 1]), field(0, rows)
                        )
            self.run_ranks(4, "arrays", "write", path, UNIT)
            self.assertEqual(
                self.run_ranks(4, "arrays", "read", path),
                f"{rows + UNIT} rows, 0 items that are wrong",
            )
            print(f"{kind}: {kills} ranks killed, {lost} times before the commit", file=sys.stderr)

    def test_ranks_that_are_killed_leave_a_set_or_none(self):
        rng = random.Random(SEED)
        records = [record(i) for i in range(20000)]
        within = self.duration("bags", "write", self.folder / "whole@4.bagz", len(records))
        kills = lost = 0
        for trial in range(KILLS):
            spec = self.folder / f"{trial}/set@4.bagz"
            spec.parent.mkdir()
            with self.subTest(trial=trial, seed=SEED):
                kills += self.kill_one(
                    rng, within, trial, spec.parent, "bags", "write", spec, len(records)
                )
                if not (spec.parent / "set-00000-of-00004.bagz").exists():
                    with self.assertRaises(h.Error) as caught:
                        h.Bag(spec)
                    self.assertEqual(caught.exception.status, h.E_MISSING)
                    lost += 1
                    self.run_ranks(4, "bags", "write", spec, len(records))
                with h.Bag(spec) as bag:
                    self.assertEqual(bag.read_range(), records)
        print(f"sets: {kills} ranks killed, {lost} times before the commit", file=sys.stderr)

    def test_ranks_that_are_killed_leave_a_table_without_or_with_all_parts(self):
        rng = random.Random(f"{SEED} parts")
        path, more = self.folder / "table", 200000
        within = self.duration("parts", "write", path, more)
        rows, kills, lost = more, 0, 0
        for trial in range(KILLS):
            with self.subTest(trial=trial, seed=SEED):
                command = "parts", "write", path, more
                kills += self.kill_one(rng, within, trial, self.folder, *command)
                with h.Table(path) as table:
                    self.assertIn(len(table), (rows, rows + more))
                    lost += len(table) == rows
                    rows = len(table)
                h.repair(path)
                self.assertEqual(self.parts(), [])
        self.run_ranks(4, "parts", "write", path, 10)
        self.assertEqual(
            self.run_ranks(4, "parts", "read", path), f"{rows + 10} rows, 0 that are wrong"
        )
        print(f"parts: {kills} ranks killed, {lost} times before the commit", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
