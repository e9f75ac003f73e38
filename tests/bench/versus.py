#!/usr/bin/env python3
"""usage: versus.py OLD NEW FOLDER    compares two versions of the library on the hot paths

The versions run the paths of paths.c in turns. The exit status is 1 if a path became slower or
takes more memory. OLD and NEW are each a shared library, or a git revision, which is built in
FOLDER. Both read the files that the old one wrote. A path became slower if the quartiles of its
rounds do not overlap, and the median of the ratios of the rounds exceeds 3 %. Then the memory of
each is shown, without the result, on one thread (held.py); it grew if it is more by 3 % and 64 KiB.

Environment variables: HOLDALL_BENCH_ROUNDS is the number of rounds (default 11), HOLDALL_BENCH_ONLY
selects paths whose names contain one of its terms ("open,cube"; default: all), HOLDALL_THREADS the
number of threads (1).
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import counts
import held
from report import shown

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("HOLDALL_BENCH_ROUNDS", 11))
THREADS = os.environ.get("HOLDALL_THREADS", "1")
ONLY = os.environ.get("HOLDALL_BENCH_ONLY", "").split(",")
BEYOND = 1.03
# minimum seconds per path and round
LONG = 0.02


def library(which, folder):
    """Returns the library file for an argument."""
    if pathlib.Path(which).is_file():
        return pathlib.Path(which).resolve()
    git = ["git", "-C", ROOT]
    revision = subprocess.run(
        [*git, "rev-parse", "--verify", "--short", f"{which}^{{commit}}"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    if not revision:
        sys.exit(f"{which} is neither a file nor a revision")
    tree = folder / f"tree.{revision}"
    if not tree.exists():
        subprocess.run([*git, "worktree", "prune"], check=True)
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", tree, revision], check=True)
    # dependencies of both are compiled once
    env = os.environ | {"CARGO_TARGET_DIR": str(folder / "cargo")}
    with open(folder / f"build.{revision}.log", "w") as log:
        for command in (
            ["-S", tree, "-B", tree / "target/cmake", "-DHOLDALL_TESTS=OFF", "-DHOLDALL_TOOL=OFF"],
            ["--build", tree / "target/cmake"],
        ):
            if subprocess.run(["cmake", *command], stdout=log, stderr=log, env=env).returncode:
                sys.exit(f"{which} could not be built: see {log.name}")
    return next((tree / "target/cmake/lib").glob("libholdall.so.*.*.*"))


class Version:
    """A library in a folder of its own. All versions work in one folder of files, in turns: the
    system may treat two copies differently."""

    def __init__(self, name, lib, program, folder):
        self.program, self.files = program, folder / "files"
        own = folder / name
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir()
        soname = (
            subprocess.run(["objdump", "-p", lib], capture_output=True, text=True, check=True)
            .stdout.split("SONAME")[1]
            .split()[0]
        )
        (own / soname).symlink_to(lib)
        self.env = os.environ | {"LD_LIBRARY_PATH": str(own)}

    def run(self, command):
        return subprocess.run(
            [self.program, self.files, THREADS, command],
            env=self.env,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def time(self, path):
        """Returns the median of a path's seconds, repeated for a while in a process of its own: the
        addresses of its memory matter, too."""
        command = [self.program, self.files, THREADS, "time", path]
        took = []
        with subprocess.Popen(
            command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            end = time.perf_counter() + LONG
            while not took or time.perf_counter() < end:
                print(file=process.stdin, flush=True)
                took.append(float(process.stdout.readline()))
        return statistics.median(took)


def measure(path, versions, rounds=ROUNDS):
    """The seconds of each version, round by round: A B A B."""
    seconds = [[v.time(path) for v in versions] for _ in range(rounds)]
    return list(zip(*seconds))


def verdict(old, new):
    """Returns the ratio, and a mark if it exceeds the spread."""
    ratio = statistics.median(n / o for o, n in zip(old, new))
    low, high = (
        [statistics.quantiles(t, n=4, method="inclusive")[q] for t in (old, new)] for q in (0, 2)
    )
    if ratio > BEYOND and low[1] > high[0]:
        return ratio, "slower"
    return ratio, "faster" if ratio < 1 / BEYOND and high[1] < low[0] else ""


def grown(versions, folder):
    """Prints the memory of both; returns how many paths take more than before, and the total."""
    data = folder / "held"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    held.walk(data / "data")
    program, found = counts.build(ROOT / "target" / "prefix", folder, "memory.c"), []
    for what, _, command, _ in (path for paths in held.PATHS.values() for path in paths(data)):
        # files that are read are written first, whether they are shown or not
        if command[0] in held.WRITES or any(word in what for word in ONLY):
            old, new = (
                next(held.held(program, held.with_threads(command, 1), v.env)) for v in versions
            )
            found.append(new > old * BEYOND + (64 << 10))
            print(
                f"{what:50} {old / 1024:10,.0f} KiB {new / 1024:10,.0f} KiB "
                f"{new / max(old, 1):7.3f} {'more' if found[-1] else ''}",
                flush=True,
            )
    shutil.rmtree(data)
    return sum(found), len(found)


def main(old, new, folder):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    libraries = [library(which, folder) for which in (old, new)]
    program = counts.build(ROOT / "target" / "prefix", folder)
    versions = [Version(name, lib, program, folder) for name, lib in zip(("old", "new"), libraries)]
    shutil.rmtree(folder / "files", ignore_errors=True)
    (folder / "files").mkdir()
    versions[0].run("make")
    paths = [p for p in versions[0].run("list").splitlines() if any(word in p for word in ONLY)]
    print(f"{'':50} {old[-14:]:>14} {new[-14:]:>14}   ratio")
    slower = 0
    for path in paths:
        a, b = measure(path, versions)
        ratio, word = verdict(a, b)
        if word:
            # on a busy machine some of many paths seem to change: not twice
            a, b = measure(path, versions, 2 * ROUNDS)
            ratio, word = verdict(a, b)
        slower += word == "slower"
        print(
            f"{path:50} {shown(statistics.median(a), 0):>14} {shown(statistics.median(b), 0):>14} "
            f"{ratio:7.3f} {word}",
            flush=True,
        )
    print(
        f"{slower} of {len(paths)} paths became slower, by more than {BEYOND - 1:.0%} and beyond "
        f"the spread of {ROUNDS} rounds"
    )
    more, all = grown(versions, folder)
    print(f"{more} of {all} paths hold more memory")
    sys.exit(slower + more > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
