#!/usr/bin/env python3
"""usage: make.py man FOLDER | html FOLDER

Generates the manual from the headers in include/ and the guides in docs/. `man` writes pages of
section 3. `html` writes a reference with the guides, the manual of the tool, and a search that
needs no network and no server. Only Python's standard library is needed.
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


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("man", "html"):
        sys.exit(__doc__.split("\n\n")[0])
    folder = pathlib.Path(sys.argv[2])
    introduction, groups = header.read(ROOT / "include/holdall.h")
    groups[0].page = "holdall_version"  # the only one of holdall.h itself
    base = next(group for group in groups if group.page == "holdall_base")
    rules, base.text = base.text, ""
    for other in OTHERS:
        (whole,) = header.read(ROOT / "include" / other)[1]
        whole.page = pathlib.Path(other).stem
        groups.append(whole)
    names = prose.Names({item.name: group for group in groups for item in group.items})
    hpp = ROOT / "include/holdall.hpp"
    of_cxx = cxx.rules(hpp), list(cxx.parts(hpp))
    if sys.argv[1] == "man":
        print(
            f"{len(man.write(folder, introduction, rules, groups, of_cxx, names, changed()))} "
            f"pages in {folder}"
        )
    else:
        print(
            f"{html_pages.write(ROOT, folder, version(), introduction, rules, groups, of_cxx, names)} "
            "pages "
            "in "
            f"{folder}/index.html"
        )


def version():
    return re.search(
        r'^version *= *"(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M
    )[1]


def changed():
    """Returns the date of the last release, from the CHANGELOG, so that the pages are
    reproducible."""
    day = re.search(
        r"^## \[[\d.]+\] - (\d{4})-(\d\d)-(\d\d)$",
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.M,
    )
    if not day:
        sys.exit(
            "CHANGELOG.md: no date of a version (expected a line such as `## [0.1.0] - 2026-01-31`)"
        )
    return f"{calendar.month_name[int(day[2])]} {int(day[3])}, {day[1]}"


if __name__ == "__main__":
    main()
