"""Reads the public headers for the generators of manual pages and of the site."""

import pathlib
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bindings/generate"))
import cxx  # noqa: E402
import header  # noqa: E402
import prose  # noqa: E402

# Headers besides holdall.h; each is one page.
OTHERS = ["holdall_crashkit.h", "holdall_mpi.h"]


@dataclass
class Headers:
    """The contents of the headers. `groups` are the chapters of holdall.h and the other headers;
    `cxx_parts` are those of holdall.hpp, as `cxx.parts` returns them."""

    introduction: str
    rules: str
    groups: list
    names: prose.Names
    cxx_introduction: str
    cxx_parts: list


def read():
    """Returns the Headers of the source tree."""
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
    return Headers(introduction, rules, groups, names, cxx.rules(hpp), list(cxx.parts(hpp)))
