#!/usr/bin/env python3
"""usage: terms.py [PATH...]    searches for retired terms

terms.txt has the terms and what to write instead, terms_allowed.txt the lines that may have one:
quotations, and names that others have given. Without PATH, all files that the rule covers are read:
source, headers, tests, build files and documents. Names of files count, too.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COVERED = (
    "src include bindings docs c-tests tests tools examples fuzz cmake pkgconfig .ci"
    " build.rs CMakeLists.txt Makefile README.md CONTRIBUTING.md SECURITY.md"
).split()
# Generated from files that are read, or by other programs; and data.
UNREAD = (
    "include/holdall.h",
    "include/holdall/*.h",
    "Cargo.lock",
    "c-tests/package/abi.xml",
    "cmake/python/*.txt",
    "examples/data/*.csv",
    "tests/bench/results/*",
)
FIXTURES = "tests/fixtures/"


def rows(name):
    """Returns the lines of a file beside this one, split at tabs."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def as_words(text):
    """Returns a text with its identifiers as lower-case words."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return text.replace("_", " ").lower()


class Rules:
    def __init__(self):
        self.terms = [(re.compile(term), instead) for term, instead in rows("terms.txt")]
        self.allowed = [(path, re.compile(text)) for path, text in rows("terms_allowed.txt")]

    def faults(self, path, text):
        """Yields the faults of a text: line number (0: the file name), term, what to write."""
        allowed = [quoted for where, quoted in self.allowed if pathlib.PurePath(path).match(where)]
        for number, line in enumerate([path, *text.splitlines()]):
            for quoted in allowed:
                line = quoted.sub("", line)
            words = as_words(line)
            for term, instead in self.terms:
                found = term.search(words)
                if found:
                    yield number, found[0], instead


def files(paths):
    roots = [ROOT / p for p in paths]
    found = {
        f for root in roots for f in ([root] if root.is_file() else root.rglob("*")) if f.is_file()
    }
    built = {"__pycache__", "target"}
    names = (f.relative_to(ROOT).as_posix() for f in found if built.isdisjoint(f.parts))
    return sorted(
        name
        for name in names
        if not name.startswith(FIXTURES)
        and not any(pathlib.PurePath(name).match(pattern) for pattern in UNREAD)
    )


def main():
    rules = Rules()
    # The check must be able to fail.
    trial = list(rules.faults("src/lately.rs", "// what KeptPlace is\n"))
    assert [fault[:2] for fault in trial] == [(0, "lately"), (1, "place"), (1, "kept")], trial
    count, wrong = 0, 0
    for name in files(sys.argv[1:] or COVERED):
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        count += 1
        for number, term, instead in rules.faults(name, text):
            wrong += 1
            print(f"{name}:{number}: '{term}' is a retired term; write: {instead}")
    if wrong:
        sys.exit(f"terms.py: {wrong} retired terms in {count} files")
    print(f"ok    terms: {count} files")


if __name__ == "__main__":
    main()
