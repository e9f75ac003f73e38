"""kill -9 at any moment of a writer's work, again and again, and what may be there then."""

import collections
import fcntl
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
M64 = (1 << 64) - 1


def mix(z):
    """As the writers mix numbers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
    return z ^ (z >> 31)


def kill_one(test, rng, arguments, early, state, began, of=lambda number: number):
    """Starts a writer and kills it, `early` times out of one before it may have begun. Gives the states that may be there
    then: the last that it committed, or else `state`, and the one that it was about to commit. It tells pairs of numbers:
    0 and where it `began`, 1 before and 2 after a commit, with a number that makes a state `of` it."""
    child = subprocess.Popen([test.program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
    said = b""
    if rng.random() < early:
        time.sleep(rng.random() * 0.006)
    else:
        said = child.stdout.read(16)
        time.sleep(rng.random() ** 2 * 0.08)
    child.kill()
    rest, complaint = child.communicate()
    test.assertEqual((child.returncode, complaint), (-9, b""), "the writer itself failed")
    before = may_be = [state]
    for what, number in struct.iter_unpack("<QQ", said + rest):
        if what == 0:
            test.assertEqual(number, began, "where the writer began")
        elif what == 1:
            may_be = [*before, of(number)]
        else:
            before = may_be = [of(number)]
            test.tally["commits that returned"] += 1
    return may_be


class Kill(unittest.TestCase):
    """A class of tests whose writers are the C program `writer`."""

    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-kill-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.program = h.compile_c(pathlib.Path(__file__).with_name(cls.writer), cls.folder)

    def trials(self, name, trials, kills_a_file, again, make):
        """`make`, given how many there were and random numbers, makes what is killed at: `kill_one` gives what may be
        there, `look` at it, `go_on` with a later writer (at the end, and `again` times out of one before), `folder`."""
        rng = random.Random(f"{SEED} {name}")
        self.tally = collections.Counter()
        violations, file = 0, None
        started = time.monotonic()
        for trial in range(trials):
            number = trial // kills_a_file
            if trial % kills_a_file == 0:
                file = make(number, rng)
            with self.subTest(trial=trial, file=file, seed=SEED):
                try:
                    file.look(file.kill_one())
                    if trial % kills_a_file == kills_a_file - 1 or rng.random() < again:
                        file.go_on()
                except Exception:
                    violations += 1
                    keep = os.environ.get("HOLDALL_KEEP")
                    if keep:
                        shutil.copytree(file.folder, pathlib.Path(keep) / f"{self.writer}-{name}-{trial}".replace(" ", "-"))
                    # what is there is not to be built upon
                    file = make(number, rng)
                    raise
        told = ", ".join(f"{k} {v}" for k, v in sorted(self.tally.items()))
        took = time.monotonic() - started
        print(f"{name}: {trials} trials, {violations} violations in {took:.0f} s ({told})", file=sys.stderr)
