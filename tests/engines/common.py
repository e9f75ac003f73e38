"""What the tests of engines share: containers, and processes that are killed."""

import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python"))
os.environ["PYTHONPATH"] = sys.path[0]  # of the workers

import holdall  # noqa: E402

# How many times each test kills a process.
KILLS = int(os.environ.get("HOLDALL_KILLS", "3"))


def signal_to(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def children(parents):
    """Yields the processes that these have started."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # after the name, which may have spaces: the state and the parent
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) in parents:
                yield int(process.name)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rng = np.random.default_rng(3)

    def bag(self, name="lines.bagz", n=1000):
        """Returns the spec of a new bag, and its records."""
        records = [b"record %d " % i + self.rng.bytes(i % 50) for i in range(n)]
        spec = str(self.folder / name)
        self.write_bag(spec, records)
        return spec, records

    def array(self, name="field.b2nd", shape=(100, 8, 6), chunks=(10, 4, 6)):
        """Returns the path of a new array, and its items."""
        items = self.rng.integers(0, 1000, shape, dtype=np.int32)
        path = str(self.folder / name)
        holdall.Array.save(path, items, chunk_shape=chunks)
        return path, items

    def table(self, name="trips.bcolz", n=1000):
        """Returns the path of a new table, and its columns."""
        columns = {
            "km": self.rng.random(n),
            "code": np.array([b"EWR", b"JFK"] * (n // 2)),
            "at": np.arange(n).astype("M8[s]"),
        }
        path = str(self.folder / name)
        dtypes = {name: items.dtype for name, items in columns.items()}
        with holdall.Table.create(path, dtypes) as table:
            table.append(columns)
            table.commit()
        return path, columns

    def program(self, text, *arguments):
        """Starts a program of Python in the folder of the test."""
        (self.folder / "program.py").write_text(text, encoding="utf-8")
        with open(self.folder / "errors", "wb") as errors:
            return subprocess.Popen(
                [sys.executable, "program.py", *map(str, arguments)],
                cwd=self.folder,
                start_new_session=True,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def killed(self, text, *arguments, lines):
        """Runs a program, and kills it with its workers when it has printed some lines.

        Returns the complete lines that it printed.
        """
        with self.program(text, *arguments) as started:
            printed = list(itertools.islice(started.stdout, lines))
            self.kill(started)
            printed += started.stdout
        return [line.decode() for line in printed if line.endswith(b"\n")]

    def kill(self, started):
        """Kills a program and all that it has started, also what has a session of its own.

        Each process is stopped first, so that it starts no further one meanwhile.
        """
        family = set()
        while found := {started.pid, *children(family)} - family:
            for pid in found:
                signal_to(pid, signal.SIGSTOP)
            family |= found
        for pid in family:
            signal_to(pid, signal.SIGKILL)
        # those whose parent had ended before
        while running := list(self.processes()):
            for pid in running:
                signal_to(pid, signal.SIGKILL)

    def processes(self):
        """Yields the processes of a program, which run in the folder of the test."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").samefile(self.folder):
                    yield int(process.name)

    def ran(self, text, *arguments):
        """Runs a program to its end, and returns the lines that it printed."""
        with self.program(text, *arguments) as started:
            printed = [line.decode() for line in started.stdout]
        self.assertEqual(started.returncode, 0, (self.folder / "errors").read_text())
        return printed

    def resumes(self, text, *arguments):
        """Checks that a program that was killed again and again prints what it prints without.

        The program prints a line per batch, and saves its state after it in the file "state". A
        batch that it printed last, before it was killed, may come again.
        """
        (self.folder / "state").unlink(missing_ok=True)
        expected = self.ran(text, *arguments)
        kills = 0
        while kills < KILLS:
            (self.folder / "state").unlink(missing_ok=True)
            printed = []
            while len(printed) < len(expected) and kills < KILLS:
                some = int(self.rng.integers(1, len(expected) // 2))
                part = self.killed(text, *arguments, lines=some)
                kills += 1
                printed += part[1:] if part[:1] == printed[-1:] else part
                self.assertEqual(expected[: len(printed)], printed)
            part = self.ran(text, *arguments)
            printed += part[1:] if part[:1] == printed[-1:] else part
            self.assertEqual(expected, printed)

    def survives_kills(self, text, spec, old, new):
        """Kills a program that appends records to a bag, with its workers, at random times.

        The program prints a line when it begins to write. The bag must have its old records, or the
        old and the new ones; a repair must remove all parts, after which the program succeeds.
        """
        def run(kill_after):
            self.write_bag(spec, old)
            with self.program(text, spec) as started:
                started.stdout.readline()
                began = time.monotonic()
                if kill_after is not None:
                    time.sleep(kill_after)
                    self.kill(started)
                started.stdout.read()
            if kill_after is None:
                self.assertEqual(started.returncode, 0, (self.folder / "errors").read_text())
            found = list(holdall.Bag(spec))
            found[len(old) :] = sorted(found[len(old) :])  # not every engine has an order
            allowed = [old + sorted(new)] if kill_after is None else [old, old + sorted(new)]
            self.assertIn(found, allowed)
            return time.monotonic() - began

        seconds = run(None)
        for _ in range(KILLS):
            run(self.rng.random() * seconds)
            holdall.repair(spec)
            self.assertEqual(holdall.list_parts(spec), [])
        run(None)

    def write_bag(self, spec, records):
        with holdall.BagWriter(spec, "w") as writer:
            writer.extend(records)
            writer.commit()

    def check_guide(self, name):
        """Runs a program of docs/scale.md, and compares its output with that of the page."""
        page = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
        program = re.search(rf"```python\n(# {name}: .*?)```", page, re.S)[1]
        output = re.search(rf"python3 {name}\n```.*?```text\n(.*?)```", page, re.S)[1]
        self.assertEqual("".join(self.ran(program)), output)
