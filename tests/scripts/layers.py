#!/usr/bin/env python3
"""usage: layers.py    checks that modules of src/ use only modules of their own or lower layers

The order of the modules is the table "The layers" of docs/architecture.md. A row may name several
modules, and a module may use those that are listed before it. Every top-level module is listed
once. Paths in `use` lines and in code are checked; tests are not.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
TESTS = re.compile(r"(^|::)(\w+_)?tests(::|$)|^io::sim")


def order(text):
    """Returns the modules of the table, lowest first."""
    section = text.split("## The layers", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def module(path):
    """Returns the name of the module in a file."""
    parts = path.with_suffix("").parts
    return "::".join(parts[:-1] if parts[-1] == "mod" else parts)


def branches(tree):
    """Returns the paths of a `use` with braces."""
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree.strip()]
    depth, part, parts = 0, "", []
    for c in rest[: rest.rindex("}")]:
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [
        head.strip() + path for p in [*parts, part] if p.strip() for path in branches(p.strip())
    ]


def used(source, own, modules):
    """Yields the modules that the code of the module `own` uses, without its tests."""
    code = re.sub(r"//.*", "", re.split(r"\n#\[cfg\((?:all\()?test", source)[0])
    trees = re.findall(r"\buse ((?:crate|super|self)\b[^;]*);", code)
    paths = [path for tree in trees for path in branches(re.sub(r"\s+", " ", tree))]
    for path in paths + re.findall(r"\b((?:crate|super)(?:::\w+)+)", code):
        steps = [step.split(" as ")[0].strip() for step in path.split("::")]
        where = own.split("::")
        if steps[0] == "crate":
            where = []
        while steps and steps[0] in ("crate", "super", "self"):
            where = where[:-1] if steps.pop(0) == "super" else where
        where += steps
        while where and "::".join(where) not in modules:
            where.pop()
        if where:
            yield "::".join(where)


def faults(layers, sources):
    """Yields each violation: `sources` has the text of each module."""
    tops = {name.split("::")[0] for name in sources} - {"lib"}
    for name in sorted(tops.symmetric_difference(layers)):
        yield f"{name}: this module and the table in {DOCUMENT.name} do not agree"
    ranks = {name: rank for rank, name in enumerate(layers)}
    for name, source in sorted(sources.items()):
        own = name.split("::")[0]
        if own == "lib" or TESTS.search(name):
            continue
        for other in sorted(set(used(source, name, sources))):
            top = other.split("::")[0]
            if top != own and ranks.get(top, -1) > ranks.get(own, -1):
                yield f"{name} uses {other}: `{top}` is above `{own}` in {DOCUMENT.name}"


def main():
    sources = {
        module(p.relative_to(ROOT / "src")): p.read_text()
        for p in sorted((ROOT / "src").rglob("*.rs"))
    }
    layers = order(DOCUMENT.read_text())
    # The check must be able to fail.
    trial = {
        "a": "use crate::{b::{self, C}, c};",
        "b": "",
        "b::x": "fn f() { super::super::a::g() }",
        "c": "use crate::d::tests;",
    }
    assert len(list(faults(["a", "b", "c"], trial))) == 2, list(faults(["a", "b", "c"], trial))
    wrong = list(faults(layers, sources))
    if wrong:
        sys.exit("\n".join(wrong) + f"\nlayers.py: {len(wrong)} faults")
    print(f"ok    layers: {len(sources)} modules in {len(layers)} layers")


if __name__ == "__main__":
    main()
