"""Shared by the benchmarks: the C program, clocks, peak memory, load of the machine.

HOLDALL_LIB is the library.
"""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peer"))

import holdall_c

# The constants that the C programs take as numbers, from the header.
READ, MAP = holdall_c.IO_READ, holdall_c.IO_MAP
IN_MEMORY = 100  # of common.h
NONE, CRC32, CHECKSUM_ZSTD = (
    holdall_c.CHECKSUM_NONE,
    holdall_c.CHECKSUM_CRC32,
    holdall_c.CHECKSUM_ZSTD,
)
CODECS = {
    name: holdall_c.TABLE["CODEC_" + name.upper()]
    for name in ("none", "blosclz", "lz4", "lz4hc", "zlib", "zstd")
}


def codecs(default, chosen=os.environ.get("HOLDALL_BENCH_CODECS")):
    """Codecs by name, which HOLDALL_BENCH_CODECS may select."""
    return {name: CODECS[name] for name in default.split() if name in (chosen or default).split()}


version = importlib.metadata.version


# ---- the C program


class Program:
    """A program that runs and takes commands."""

    def __init__(self, *command):
        self.command = command
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *command):
        """Returns the fields of its answer."""
        print(*command, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit(f"{self.command[0]} failed: {command}")
        return answer

    def time(self, *command):
        return float(self.ask(*command)[0])

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def peak(self, *command):
        return peak(*self.command, *command)

    def once(self, *command):
        """Returns its answer as a program of its own."""
        return float(
            subprocess.run(
                list(map(str, [*self.command, *command])),
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()[0]
        )


class Ours(Program):
    """A compiled C program: of holdall, or of a peer, with flags of the compiler."""

    def __init__(self, source, folder, *arguments, flags=()):
        self.version = holdall_c.version()
        super().__init__(holdall_c.compile_c(HERE / source, folder, *flags), *arguments)


class Zarrs(Program):
    """The program of a peer in Rust, which cargo builds."""

    def __init__(self):
        source, target = HERE / "zarrs", HERE.parents[1] / "target/zarrs"
        command = [os.environ.get("CARGO", "cargo"), "build", "--release", "--locked", "--quiet"]
        subprocess.run(
            command, cwd=source, env=os.environ | {"CARGO_TARGET_DIR": str(target)}, check=True
        )
        super().__init__(target / "release/holdall-bench-zarrs")
        lock = (source / "Cargo.lock").read_text()
        self.version = re.search(r'name = "zarrs"\nversion = "(.*)"', lock)[1]


def remove(path):
    """A bag, with the files beside it."""
    path = pathlib.Path(path)
    for prefix in ("", "limits.", "checksums."):
        path.with_name(prefix + path.name).unlink(missing_ok=True)


class Bound:
    """A command for a caller, which takes it by `time()`: a way of a row. `before` runs first and
    is not timed."""

    def __init__(self, caller, command, before=None):
        self.caller, self.command, self.before = caller, command, before

    def __call__(self):
        if self.before:
            self.before()
        return self.caller.time(*self.command)

    def by(self, other):
        """The same command for another caller."""
        return Bound(other, self.command, self.before)


def bind(caller, *command, before=None):
    return Bound(caller, command, before)


class Callers(NamedTuple):
    """holdall from C and from Python, a peer from C, and one from Rust."""

    ours: Ours
    python: object
    native: Ours | None = None
    rust: Program | None = None

    def end(self):
        for program in filter(None, (self.ours, self.native, self.rust)):
            program.end()


# ---- measuring


def timed(call, *arguments, **more):
    start = time.perf_counter()
    call(*arguments, **more)
    return time.perf_counter() - start


def peak(*command):
    """Returns the memory peak, in MiB, of a program that prints it last: see `print_peak`."""
    out = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    return int(out.split("VmHWM:")[1].split()[0]) / 1024


def print_peak():
    print(pathlib.Path("/proc/self/status").read_text())


# ---- the machine


def ticks(pid="self"):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))  # with terminated children


class Others:
    """The load of the machine by other processes from now on."""

    def __init__(self, ours):
        self.ours, self.load, self.before = ours, os.getloadavg()[0], self.busy(ours)

    @staticmethod
    def busy(ours):
        """Ticks of all processors, the busy ones of them, and those of the C program and this
        process."""
        all = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        return sum(all), sum(all) - all[3] - all[4], ticks() + ticks(ours.process.pid)

    def said(self):
        total, used, own = (b - a for a, b in zip(self.before, self.busy(self.ours)))
        return (
            f"load at the start {self.load:.2f}; meanwhile other processes used "
            f"{max(0, used - own) / total:.0%} of the processors"
        )
