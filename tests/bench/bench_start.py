"""Measures the fixed costs of the library and of the Python module: size, loading, first calls, a
call that does nothing compared with an empty C function, opening each kind of file. HOLDALL_LIB is
the library.

Loading and first calls are measured in processes of their own. Sizes of code are counted in the
library before it is stripped.
"""

import collections
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import calls
import common
import counts
import from_python
import holdall_c
from rows import ROOT, Part, goal, publish, table

SIZE, FIRST, CALL, OPEN, LOAD = 2_000_000, 50e-6, 5e-9, 100e-6, 2
TIMES, FEW = 31, 20
CODECS = dict(
    zstd=r"ZSTD|HUF_|FSE_|HIST_|XXH|POOL_|divsuf|COVER", lz4=r"LZ4", libdeflate=r"deflate"
)
# prints the seconds of loading the module, which loads NumPy, and of the first and second open
IMPORT = """
import numpy, sys, time
sys.path.insert(0, sys.argv[1])
times = [time.perf_counter()]
import holdall
times.append(time.perf_counter())
for _ in range(2):
    holdall.Bag(sys.argv[2]).close()
    times.append(time.perf_counter())
print(*(b - a for a, b in zip(times, times[1:])))
"""
RUST = r"(?:<[^:]*?)?\bholdall::(?:engine::)?(?!_)(\w+)"


def stripped(lib, folder):
    out = folder / "stripped.so"
    subprocess.run(["strip", "-s", "-o", out, lib], check=True)
    return out


def parts(lib):
    """Bytes of code by the module or crate that it belongs to; the largest."""
    text = subprocess.run(
        ["nm", "-S", "-C", lib], capture_output=True, text=True, check=True
    ).stdout
    found = collections.Counter()
    for line in text.splitlines():
        fields = line.split(None, 3)
        if len(fields) == 4 and fields[2] in "tTwW":
            found[owner(fields[3])] += int(fields[1], 16)
    return found


def owner(name):
    for codec, names in CODECS.items():
        if re.search(names, name):
            return codec
    if re.search(r"gimli|addr2line|rustc_demangle|backtrace|symbolize", name):
        return "Rust's backtraces"
    if m := re.match(RUST, name):
        return f"holdall::{m[1]}"
    if re.match(r"<?&?(?:mut )?\W*(?:std|core|alloc|hashbrown)\b", name):
        return "Rust's standard library, with its generic functions"
    return "others"


def started(*command):
    """Medians of the times that each of several processes prints."""
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(TIMES)
    ]
    return [statistics.median(map(float, times)) for times in zip(*runs)]


def constructors(lib):
    """Functions that run when the library is loaded."""
    size = re.search(
        r"\.init_array\s+(\d+)",
        subprocess.run(["size", "-A", lib], capture_output=True, text=True, check=True).stdout,
    )
    return int(size[1]) // 8 if size else 0


def opens(program, files):
    """Seconds of opening and closing each kind of file in the page cache."""
    python = from_python.Opens()
    names = subprocess.run(
        [program, files, "0", "list"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in names:
        if name.startswith("open "):
            yield name, seconds(program, files, name, "0")
            python.open(files, name, FEW)
            took = [python.open(files, name, FEW) / FEW for _ in range(TIMES)]
            yield f"{name} from Python", statistics.median(took)


def seconds(program, files, name, threads):
    took = subprocess.run(
        [program, files, threads, "time", name],
        input="\n" * TIMES,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return statistics.median(map(float, took))


def compare(folder):
    lib = holdall_c.library()
    core = stripped(lib, folder)
    program = folder / "start"
    command = [
        os.environ.get("CC", "cc"),
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ROOT}/include",
        common.HERE / "start.c",
        "-o",
        program,
        "-ldl",
    ]
    subprocess.run(command, check=True)
    paths, files = holdall_c.compile_c(common.HERE / "paths.c", folder, "-lm"), folder / "files"
    files.mkdir()
    subprocess.run([paths, files, "1", "make"], check=True)
    loaded, first, opened, again = started(program, core, files / "raw.bag", "load")
    module = started(sys.executable, "-c", IMPORT, from_python.MODULE, files / "raw.bag")
    out = subprocess.run(
        [program, core, files / "raw.bag", "calls", "20000000"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    call, empty = map(float, out.split())
    size, all, made = core.stat().st_size, parts(lib), constructors(core)
    opening, ns = list(opens(paths, files)), calls.costs(folder, files / "raw.bag")
    return Part(
        "Size, start and the cost of a call",
        holdall_c.version(),
        {},
        [f"medians of {TIMES} processes; files in the page cache; {calls.said(ns)}"],
        [
            goal(
                size < SIZE,
                f"library size without symbols: {size / 1e6:.2f} MB (goal {SIZE / 1e6:g} MB)",
            ),
            goal(
                made <= LOAD,
                f"functions that run when the library is loaded: {made} (goal {LOAD}: one of "
                "every C library, one of Rust's that stores the program's arguments); loading "
                f"takes {loaded * 1e6:.0f} µs",
            ),
            goal(first < FIRST, f"the first call: {first * 1e6:.1f} µs (goal {FIRST * 1e6:g})"),
            goal(
                opened < FIRST,
                f"a first call that opens a bag: {opened * 1e6:.0f} µs, the second time "
                f"{again * 1e6:.0f} (goal {FIRST * 1e6:g})",
            ),
            table(
                ["from Python", "µs"],
                [
                    [what, f"{took * 1e6:,.0f}"]
                    for what, took in zip(("import after NumPy", "first open", "second"), module)
                ],
            ),
            goal(
                call - empty < CALL,
                f"holdall_bag_record_count: {call * 1e9:.1f} ns, an empty C function "
                f"{empty * 1e9:.1f} (goal {CALL * 1e9:g} more)",
            ),
            *(
                goal(
                    took < OPEN, f"{name}, and close it: {took * 1e6:.0f} µs (goal {OPEN * 1e6:g})"
                )
                for name, took in opening
            ),
            *calls.of_paths(
                paths, files, ns, folder, lambda path: seconds(paths, files, path, "1")
            ),
            table(
                ["component", "kB of code"],
                [[name, f"{n / 1000:,.0f}"] for name, n in all.most_common(16)],
            ),
        ],
    )


if __name__ == "__main__":
    publish(compare, "start")
