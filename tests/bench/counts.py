#!/usr/bin/env python3
"""usage: counts.py PREFIX FOLDER    checks the instruction counts of the hot paths (paths.c)

PREFIX is where the library is installed. The size of the shared library in bytes is checked, too.

counts.json stores the expected counts. Each may differ by 3 %, because an instruction count does
not depend on the load or the speed of the machine. A higher count is a path that became slower. A
lower one became faster, and the file must store the new count. After an intended change,
`HOLDALL_BLESS=1 make check PART=counts` rewrites the file: review the difference before you commit
it.

Only instructions of the library and of the codecs in it are counted. The C library selects its
functions by processor, so its instructions are not counted. Compilers generate different code from
the same source, so counts are stored per version of rustc and cc. With other versions nothing is
checked, and the last line says so: set HOLDALL_BLESS to add counts for them. Valgrind presents the
same processor on all machines with AVX2; on others nothing is checked. Valgrind runs one thread and
does not model caches: `make bench` measures those effects.
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
STORED = HERE / "counts.json"
WITHIN = 0.03
SIZE = "size of the shared library"  # with the counts, as it too differs by compiler


def made_with():
    """The key: the compilers, without what a distribution adds to their names."""

    def output(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    rust = output(os.environ.get("RUSTC", "rustc"), "--version").split()[1]
    cc = output(os.environ.get("CC", "cc"), "-dumpfullversion", "-dumpversion").split()[0]
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
    """Returns the name of a dump and the instructions that the functions of the library took."""
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


def compare(stored, found):
    """Yields a line for each count that differs from the stored one."""
    for name in sorted(stored.keys() | found.keys()):
        if name not in found:
            yield f"{name}: is not counted any more"
        elif name not in stored:
            yield f"{name}: was not counted before"
        elif abs(found[name] / stored[name] - 1) > WITHIN:
            unit = "bytes" if name == SIZE else "instructions"
            change = found[name] / stored[name] - 1
            yield f"{name}: {found[name]:,} {unit}, {stored[name]:,} before ({change:+.1%})"


def main(prefix, folder):
    if reason := why_not():
        return print(f"SKIPPED  instructions are not counted: {reason}")
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    key, all = made_with(), json.loads(STORED.read_text()) if STORED.exists() else {}
    bless = bool(os.environ.get("HOLDALL_BLESS"))
    if key not in all and not bless:
        others = "; ".join(all)
        return print(f"SKIPPED  instructions are not counted: {STORED.name} has none for {key}, only for {others}")
    prefix = pathlib.Path(prefix).resolve()
    found = count(build(prefix, folder), folder) | {SIZE: size(prefix)}
    if bless:
        STORED.write_text(json.dumps(all | {key: found}, indent=1, sort_keys=True) + "\n")
        return print(f"{len(found)} counts for {key} are in {STORED.name}")
    off = list(compare(all[key], found))
    shutil.rmtree(folder)
    if off:
        sys.exit("\n".join([*off, "not as counts.json has it; where that is meant: HOLDALL_BLESS=1 make check PART=counts"]))
    print(f"{len(found) - 1} paths take as many instructions as before, and the library as many bytes, within {WITHIN:.0%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
