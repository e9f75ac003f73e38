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
import header
import html_pages
import man
import prose

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ["holdall.h", "holdall_crashkit.h"]


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("man", "html"):
        sys.exit(__doc__.split("\n\n")[0])
    folder = pathlib.Path(sys.argv[2])
    rules, groups = header.read(ROOT / "include" / HEADERS[0])
    for other in HEADERS[1:]:
        first, more = header.read(ROOT / "include" / other)
        more[0].text = first.partition("\n\n")[2]
        groups += more
    names = prose.Names({item.name: group for group in groups for item in group.items})
    if sys.argv[1] == "man":
        print(f"{len(man.write(folder, rules, groups, names, changed()))} pages in {folder}")
    else:
        print(f"{html_pages.write(ROOT, folder, version(), rules, groups, names)} pages in {folder}/index.html")


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
