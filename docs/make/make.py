#!/usr/bin/env python3
"""usage: make.py man FOLDER | html FOLDER

Makes the manual of the headers in include/ and the guides in docs/: `man` writes pages of section 3, `html` a reference with
the guides, the manual of the tool, and a search, which needs no network and no server. Python's standard library is all that it takes.
"""
import calendar
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the source may be in a folder that is not ours
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bindings"))
import cxx  # noqa: E402
import header  # noqa: E402
import html_pages  # noqa: E402
import man  # noqa: E402
import prose  # noqa: E402

# Beside holdall.h, each a page.
OTHERS = ["holdall_crashkit.h", "holdall_mpi.h"]
# The page of each group of holdall.h, by the first words of its line there. One that is not here is called by those words.
PAGES = {
    "versions": "version",
    "failures": "error",
    "where the bytes live": "io",
    "what is it, is it sound, make it whole": "check",
    "superchunks": "schunk",
    "arrays": "array",
    "tables": "table",
    "bags": "bag",
    "streams of records, read ahead; shuffled epochs; batches into memory of the caller's": "bag_stream",
    "indexes of bags": "bag_index",
    "Arrow": "arrow",
}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("man", "html"):
        sys.exit(__doc__.split("\n\n")[0])
    folder = pathlib.Path(sys.argv[2])
    rules, groups = header.read(ROOT / "include/holdall.h")
    for group in groups:
        group.page = page_of(group.title)
    for other in OTHERS:
        first, (whole,) = header.read(ROOT / "include" / other)
        whole.page, whole.text = pathlib.Path(other).stem, first.partition("\n\n")[2]
        groups.append(whole)
    names = prose.Names({item.name: group for group in groups for item in group.items})
    hpp = ROOT / "include/holdall.hpp"
    of_cxx = cxx.rules(hpp), list(cxx.parts(hpp))
    if sys.argv[1] == "man":
        print(f"{len(man.write(folder, rules, groups, of_cxx, names, changed()))} pages in {folder}")
    else:
        print(f"{html_pages.write(ROOT, folder, version(), rules, groups, of_cxx, names)} pages in {folder}/index.html")


def page_of(title):
    short = re.split(r"[:(]", title)[0].strip()
    return "holdall_" + (PAGES.get(short) or re.sub(r"\W+", "_", short.lower()))


def version():
    return re.search(r'^version *= *"(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]


def changed():
    """The day of the version, from the CHANGELOG: pages are the same whenever they are made."""
    day = re.search(r"^## [\d.]+, (\d{4})-(\d\d)-(\d\d)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not day:
        sys.exit("CHANGELOG.md has no line such as `## 0.1.0, 2026-01-31`")
    return f"{calendar.month_name[int(day[2])]} {int(day[3])}, {day[1]}"


if __name__ == "__main__":
    main()
