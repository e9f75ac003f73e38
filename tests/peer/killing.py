"""Kills a writer with SIGKILL at random times, again and again; the states that may exist then."""

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
    """Mixes numbers like the writers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
    return z ^ (z >> 31)


def kill_one(test, rng, arguments, early, state, began, of=lambda number: number):
    """Starts a writer and kills it, in one of `early` cases possibly before it has begun. Returns
    the possible states: the last commit that it reported, or else `state`, and the one that it was
    about to commit. It prints pairs of numbers: 0 and where it `began`, 1 before and 2 after a
    commit, with a number from which `of` makes a state."""
    child = subprocess.Popen(
        [test.program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
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


def check_found(test, path, may_be, state):
    """Checks that the container at `path` is intact; `state` is that of its possible states that
    was found."""
    if len(may_be) > 1 and state == may_be[1]:
        test.tally["one commit more than reported"] += 1
    verified = h.Verified(path)
    test.assertEqual((verified.error, verified.corrupt, verified.faults), (None, 0, []))


class Kill(unittest.TestCase):
    """Base class of tests whose writers are the C program `writer`."""

    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED} (HOLDALL_SEED)", file=sys.stderr)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-kill-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.program = h.compile_c(pathlib.Path(__file__).with_name(cls.writer), cls.folder)

    def trials(self, name, trials, kills_a_file, again, make):
        """`make`, given a count and random numbers, creates the container of a trial: `kill_one`
        returns the possible states, `look` checks it, `go_on` continues with a later writer (at the
        end, and in one of `again` cases before), `folder`."""
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
                        shutil.copytree(
                            file.folder,
                            pathlib.Path(keep) / f"{self.writer}-{name}-{trial}".replace(" ", "-"),
                        )
                    # the container cannot be continued
                    file = make(number, rng)
                    raise
        summary = ", ".join(f"{k} {v}" for k, v in sorted(self.tally.items()))
        took = time.monotonic() - started
        print(
            f"{name}: {trials} trials, {violations} violations in {took:.0f} s ({summary})",
            file=sys.stderr,
        )
