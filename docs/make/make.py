#!/usr/bin/env python3
"""usage: make.py man FOLDER | html FOLDER

Generates the manual from the headers in include/ and the guides in docs/. `man` writes pages of section 3. `html` writes a
reference with the guides, the manual of the tool, and a search that needs no network and no server. Only Python's standard
library is needed.
"""
import calendar
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the source folder may be read-only
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bindings/generate"))
import cxx  # noqa: E402
import header  # noqa: E402
import html_pages  # noqa: E402
import man  # noqa: E402
import prose  # noqa: E402

# Headers besides holdall.h; each is one page.
OTHERS = ["holdall_crashkit.h", "holdall_mpi.h"]
# The page name of each group of holdall.h, by the beginning of its title. The title is the default name.
PAGES = {
    "The version of this header; holdall_version_number": "version",
    "failures": "error",
    "storage": "io",
    "identify, verify, repair": "check",
    "superchunks": "schunk",
    "arrays": "array",
    "tables": "table",
    "bags": "bag",
    "streams with read-ahead; shuffled epochs; batches in memory of the caller": "bag_stream",
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
    """Returns the date of the version, from the CHANGELOG, so that the pages are reproducible."""
    day = re.search(r"^## [\d.]+, (\d{4})-(\d\d)-(\d\d)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not day:
        sys.exit("CHANGELOG.md: no date of a version (expected a line such as `## 0.1.0, 2026-01-31`)")
    return f"{calendar.month_name[int(day[2])]} {int(day[3])}, {day[1]}"


if __name__ == "__main__":
    main()
