#!/usr/bin/env python3
"""usage: counts.py PREFIX FOLDER    checks how many instructions the hot paths (paths.c) take, with the library installed in PREFIX, and
how many bytes the shared library has

counts.json has how many they took, and each may be off by 3 %: an instruction count does not depend on how busy the machine is, or
how fast. More than that is a path that became slower; less, one that became faster, which the file is to keep. After a change that is
meant, `HOLDALL_BLESS=1 make check PART=counts` writes the file anew: look at what it changed before you commit it.

Only instructions of the library are counted, with the codecs in it, and not those of the C library, which the machine chooses by its
processor. What the compilers make of the same source differs, so the counts are kept by the versions of rustc and cc that made the
library, and with others nothing is checked, as the last line then says: bless there to add yours. Valgrind shows programs the same
processor, with AVX2, on all that have it; elsewhere nothing is checked either. One thread, no caches of the machine: what this cannot see, `make bench` does.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "counts.json"
WITHIN = 0.03
SIZE = "size of the shared library"  # with the counts, as it too differs by compiler


def made_with():
    """The key: the compilers, without what a distribution adds to their names."""
    rust = subprocess.run([os.environ.get("RUSTC", "rustc"), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    cc = subprocess.run([os.environ.get("CC", "cc"), "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=True).stdout.split()[0]
    return f"{platform.machine()}, rustc {rust}, cc {cc}"


def why_not():
    """Why nothing can be checked here, if so."""
    if not shutil.which("valgrind"):
        return "there is no valgrind"
    if platform.system() != "Linux" or "avx2" not in pathlib.Path("/proc/cpuinfo").read_text().split():
        return "the processor has no AVX2"
    return None


def build(prefix, folder, source="paths.c"):
    program = folder / pathlib.Path(source).stem
    command = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", HERE / source, "-o", program]
    subprocess.run([*command, f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,--enable-new-dtags,-rpath,{prefix}/lib", "-lholdall", "-lm"], check=True)
    return program


def size(prefix):
    """Bytes of the file that is installed, without symbols."""
    return next(prefix.glob("lib*/libholdall.so")).stat().st_size


def count(program, folder):
    """Instructions in the library, by path."""
    dumps = folder / "dumps"
    dumps.mkdir()
    flags = ["--tool=callgrind", "--quiet", "--collect-atstart=no", "--compress-strings=no", f"--callgrind-out-file={dumps}/out"]
    # opening a file resolves each component of its path: the same number of them, and of bytes, wherever the source is
    with tempfile.TemporaryDirectory(prefix="holdall-counts-", dir="/tmp") as files:
        subprocess.run([program, files, "1", "make"], check=True)
        subprocess.run(["valgrind", *flags, program, files, "1", "count"], check=True)
    found = dict(map(read, dumps.iterdir()))
    return {name: n for name, n in found.items() if name}


def read(dump):
    """Of a dump its name, and what the functions of the library took by themselves."""
    name, total, ours, inside = None, 0, False, False
    for line in dump.read_text().splitlines():
        if line.startswith("desc: Trigger: Client Request: "):
            name = line.removeprefix("desc: Trigger: Client Request: ")
        elif line.startswith("ob="):
            ours = "libholdall" in line
        elif line.startswith("calls="):
            inside = True  # the next line has what the called function took
        elif re.match(r"[+\-*\d]", line):
            total += int(line.split()[1]) if ours and not inside else 0
            inside = False
    return name, total


def compare(kept, found):
    """Lines on all that is not as it was."""
    for name in sorted(kept.keys() | found.keys()):
        if name not in found or name not in kept:
            yield f"{name}: {'is not counted any more' if name in kept else 'was not counted before'}"
        elif abs(found[name] / kept[name] - 1) > WITHIN:
            yield f"{name}: {found[name]:,} {'bytes' if name == SIZE else 'instructions'}, {kept[name]:,} before ({found[name] / kept[name] - 1:+.1%})"


def main(prefix, folder):
    if reason := why_not():
        return print(f"SKIPPED  instructions are not counted: {reason}")
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    key, all = made_with(), json.loads(KEPT.read_text()) if KEPT.exists() else {}
    bless = bool(os.environ.get("HOLDALL_BLESS"))
    if key not in all and not bless:
        others = "; ".join(all)
        return print(f"SKIPPED  instructions are not counted: {KEPT.name} has none for {key}, only for {others}")
    prefix = pathlib.Path(prefix).resolve()
    found = count(build(prefix, folder), folder) | {SIZE: size(prefix)}
    if bless:
        KEPT.write_text(json.dumps(all | {key: found}, indent=1, sort_keys=True) + "\n")
        return print(f"{len(found)} counts for {key} are in {KEPT.name}")
    off = list(compare(all[key], found))
    shutil.rmtree(folder)
    if off:
        sys.exit("\n".join([*off, "not as counts.json has it; where that is meant: HOLDALL_BLESS=1 make check PART=counts"]))
    print(f"{len(found) - 1} paths take as many instructions as before, and the library as many bytes, within {WITHIN:.0%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
