#!/usr/bin/env python3
"""usage: lines.py    checks that source lines have at most 100 columns

In each top-level folder fewer than 1 % of the lines of hand-written source may be longer, such as
those with a string that cannot be split. Documents and data are not checked.
"""

import collections
import pathlib
import sys

import terms

COLUMNS = 100
SHARE = 0.01
SOURCE = "*.c *.cc *.cmake *.f90 *.go *.h *.hpp *.in *.inc *.jl *.py *.rs *.sh".split()
SOURCE += ["CMakeLists.txt", "Makefile"]
GENERATED = (
    "bindings/fortran/holdall_c.inc",
    "bindings/fortran/holdall_*_kinds.inc",
    "bindings/julia/src/libholdall.jl",
    "tests/peer/holdall_table.py",
)
# These folders still have longer lines: remove a folder here when it has fewer than the share.
EXEMPT = ("include",)


def matches(name, patterns):
    return any(pathlib.PurePath(name).match(pattern) for pattern in patterns)


def long_lines(texts):
    """Returns the total and the long lines of each top-level folder; `texts` are by file name."""
    total, found = collections.Counter(), collections.defaultdict(list)
    for name, text in texts.items():
        folder = name.split("/")[0] if "/" in name else "."
        lines = text.splitlines()
        total[folder] += len(lines)
        found[folder] += [
            f"{name}:{number}: {len(line)} columns"
            for number, line in enumerate(lines, 1)
            if len(line) > COLUMNS
        ]
    return total, found


def faults(texts):
    """Yields the long lines of each folder with too many of them, and their share."""
    total, found = long_lines(texts)
    for folder in sorted(total):
        if len(found[folder]) >= SHARE * total[folder] and found[folder]:
            yield from found[folder]
            yield f"{folder}: {len(found[folder])} of {total[folder]} lines are too long"


def main():
    # The check must be able to fail.
    line = "x" * COLUMNS + "\n"
    trial = {"a/b.py": 100 * line, "c/d.py": 99 * line + "x" + line, "e/f.py": 101 * line}
    trial["e/f.py"] += "x" + line
    assert [fault.split(":")[0] for fault in faults(trial)] == ["c/d.py", "c"], list(faults(trial))
    names = (
        name
        for name in terms.files(terms.COVERED)
        if matches(name, SOURCE) and not matches(name, GENERATED) and not name.startswith(EXEMPT)
    )
    texts = {name: (terms.ROOT / name).read_text() for name in names}
    wrong = list(faults(texts))
    if wrong:
        sys.exit("\n".join(wrong) + "\nlines.py: wrap these lines at 100 columns")
    print(f"ok    lines: {len(texts)} files")


if __name__ == "__main__":
    main()
