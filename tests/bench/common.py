"""What the comparisons here have in common: the C program, measuring in turns, peak memory, the machine.

HOLDALL_LIB is the library, HOLDALL_BENCH_ROUNDS how many rounds (default 5).
"""

import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peer"))

import holdall_c

ROUNDS = int(os.environ.get("HOLDALL_BENCH_ROUNDS", 5))
READ, MAP = 0, 1  # HOLDALL_IO_...

version = importlib.metadata.version


# ---- the C program


class Ours:
    """A C program, compiled; one of it runs and takes commands."""

    def __init__(self, source, folder, *arguments):
        self.version = holdall_c.version()
        self.command = [holdall_c.compile_c(HERE / source, folder), *arguments]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *command):
        """The words of its answer."""
        print(*command, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit("holdall failed")
        return answer

    def time(self, *command):
        return float(self.ask(*command)[0])

    def peak(self, *command):
        return peak(*self.command, *command)

    def once(self, *command):
        """The number that it answers as a program of its own."""
        return float(subprocess.run(list(map(str, [*self.command, *command])), capture_output=True, text=True, check=True).stdout.split()[0])


def remove(path):
    """A bag, with the files beside it."""
    path = pathlib.Path(path)
    for prefix in ("", "limits.", "checksums."):
        path.with_name(prefix + path.name).unlink(missing_ok=True)


def bind(ours, *command):
    return lambda: ours.time(*command)


# ---- measuring


def measure(what, theirs, ours, seconds=float("inf"), warm=True):
    """The seconds of each way in each round after a warm-up; the ways, by name, are functions that give them. When so many
    seconds have passed there are no more rounds than two."""
    ways = {("theirs", k): f for k, f in theirs.items()} | {("ours", k): f for k, f in ours.items()}
    # theirs and ours by turns
    order = sorted(ways, key=lambda w: ([k for k in ways if k[0] == w[0]].index(w), w[0] == "ours"))
    times = {w: [] for w in ways}
    print(f"\r{what:78}", end="", file=sys.stderr, flush=True)
    start = time.monotonic()
    for done in range(not warm, ROUNDS + 1):
        if done > 2 and time.monotonic() - start > seconds:
            break
        for w in order:
            took = ways[w]()
            if done:
                times[w].append(took)
    return times


def peak(*command):
    """The most memory, in MiB, of a program that prints it last: see `print_peak`."""
    out = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    return int(out.split("VmHWM:")[1].split()[0]) / 1024


def print_peak():
    print(pathlib.Path("/proc/self/status").read_text())


# ---- the machine


def machine(copy):
    """The line on it; `copy` is in bytes a second."""
    return f"- {processor()}, {len(os.sched_getaffinity(0))} processors; memcpy {copy / 1e9:.1f} GB/s; {platform.system()} {platform.release()}"


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def ticks(pid="self"):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15]))  # with children that have ended


class Others:
    """What else the machine does from here on."""

    def __init__(self, ours):
        self.ours, self.load, self.before = ours, os.getloadavg()[0], self.busy(ours)

    @staticmethod
    def busy(ours):
        """Ticks of all processors, those that were not idle, and those of ours and this process."""
        all = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        return sum(all), sum(all) - all[3] - all[4], ticks() + ticks(ours.process.pid)

    def said(self):
        total, used, own = (b - a for a, b in zip(self.before, self.busy(self.ours)))
        print("\r" + " " * 78 + "\r", end="", file=sys.stderr)
        return f"load when it began {self.load:.2f}; meanwhile other processes used {max(0, used - own) / total:.0%} of the processors"


# ---- the text


def verdict(rows, *more):
    """Lines that say of each goal whether it is met: of those of the rows, and of more, each whether it is and its words."""
    goals = [*more, *(goal for row in rows for goal in row.met())]
    return [*(f"{'PASS' if met else 'FAIL'} {words}" for met, words in goals), f"{sum(met for met, _ in goals)} of {len(goals)} goals are met"]


def publish(compare, name):
    """Prints the lines that `compare` makes, given a folder for its files, and puts them into target/ as `name`."""
    with tempfile.TemporaryDirectory(prefix="holdall-bench-") as folder:
        text = "\n".join(compare(pathlib.Path(folder)))
    print(text)
    out = HERE.parents[1] / "target" / name
    out.parent.mkdir(exist_ok=True)
    out.write_text(text + "\n")
