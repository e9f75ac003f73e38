"""Counts the system calls of the hot paths, and measures the time of these calls alone, which is
the lower bound for a path that makes them. strace counts the calls, if it is installed; calls.c
measures them."""

import collections
import shutil
import subprocess

import common
import holdall_c
from rows import table

PATHS = (
    "open a bag",
    "open an array",
    "open a file of Bloscpack",
    "open a frame",
    "open a table",
    "bag: one raw record, read",
    "bag: 1,000 raw records at random, read",
    "array: an item here and there, LZ4",
    "array: a cube of 32, LZ4",
    "table: 10 rows of a column",
    "table: 100,000 rows of a column",
)
TIMES = 20


def costs(folder, file):
    """Nanoseconds of each call alone."""
    program = holdall_c.compile_c(common.HERE / "calls.c", folder)
    out = subprocess.run([program, file], capture_output=True, text=True, check=True).stdout
    return {name: float(ns) for name, ns in map(str.split, out.splitlines())}


def counted(program, files, path, times, folder):
    """Returns the number of calls of each kind that the program makes when it runs a path so many
    times."""
    out = folder / "strace"
    command = ["strace", "-f", "-c", "-o", out, program, files, "1", "time", path, str(times)]
    subprocess.run(command, input="\n", capture_output=True, text=True, check=True)
    found = collections.Counter()
    for line in out.read_text().splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[0][0].isdigit() and fields[-1] != "total":
            found[fields[-1]] += int(fields[3])
    return found


def of_path(program, files, path, folder):
    """The calls of one run, without those of the program itself."""
    some, twice = (counted(program, files, path, times, folder) for times in (TIMES, 2 * TIMES))
    return {name: (n - some[name]) / TIMES for name, n in twice.items() if n > some[name]}


def alone(found, ns):
    """Seconds of these calls alone: opening with closing, each reading one page."""
    known = {
        "pread64": ns["pread4096"],
        "openat": ns["open"],
        "close": 0,
        "fstat": ns["fstat"],
        "statx": ns["fstat"],
    }
    return sum(n * known.get(name, ns["none"]) for name, n in found.items()) / 1e9


def said(ns):
    return (
        f"a system call that does nothing takes {ns['none']:.0f} ns; pread of 200 bytes "
        f"{ns['pread200']:.0f}, of 4 KiB {ns['pread4096']:.0f}, of 64 KiB {ns['pread65536']:,.0f};"
        f" fstat {ns['fstat']:.0f}; opening a file and closing it {ns['open']:,.0f}"
    )


def of_paths(program, files, ns, folder, took):
    """A line for each path; `took` has its seconds. Empty without strace."""
    if not shutil.which("strace"):
        return
    lines = []
    for path in PATHS:
        found, seconds = of_path(program, files, path, folder), took(path)
        limit = alone(found, ns)
        opened, read, all = found.get("openat", 0), found.get("pread64", 0), sum(found.values())
        lines.append(
            [
                path,
                f"{all:,.3g}",
                f"{opened:,.3g}",
                f"{read:,.3g}",
                f"{limit * 1e6:,.1f} µs",
                f"{seconds * 1e6:,.1f} µs",
                f"{limit / seconds:.2f}",
            ]
        )
    yield table(
        [
            "path, 1 thread",
            "system calls",
            "open",
            "pread",
            "system calls alone",
            "the path",
            "share",
        ],
        lines,
    )
