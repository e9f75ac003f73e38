#!/usr/bin/env python3
"""usage: man.py FOLDER

Generates manual pages of the headers, in mdoc: holdall(3) with the rules, one page per group, and
`.so` pages for functions. CMake runs it, so it needs only Python's standard library.
"""

import calendar
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the source folder may be read-only
import headers  # noqa: E402
import prose  # noqa: E402


def write(folder, read, date):
    folder.mkdir(parents=True, exist_ok=True)
    groups, names = read.groups, read.names
    pages = {
        "holdall": overview(read.introduction, read.rules, groups, names),
        "holdall.hpp": of_hpp(read.cxx_introduction, read.cxx_parts, names),
    }
    for group in groups:
        pages[group.page] = page(group, groups, names)
        for function in group.of("function"):
            pages[function.name] = f".so man3/{group.page}.3\n"
    for name, text in pages.items():
        (folder / f"{name}.3").write_text(text.replace("@DATE@", date), encoding="utf-8")
    return len(pages)


def head(name, described):
    return [
        '.\\" Generated from the header by docs/generate.',
        ".Dd @DATE@",
        f".Dt {name.upper()} 3",
        ".Os",
        ".Sh NAME",
        f".Nm {name}",
        f".Nd {described}",
    ]


def overview(introduction, rules, groups, names):
    first, _, rest = introduction.partition("\n\n")
    lines = head("holdall", plain(first).removeprefix("holdall.h - ").rstrip("."))
    lines += [
        ".Sh SYNOPSIS",
        ".In holdall.h",
        ".Pp",
        "cc program.c $(pkg-config --cflags --libs holdall)",
        ".Sh DESCRIPTION",
    ]
    lines += written(rest, names) + [".Sh RULES"] + written(rules, names)
    lines += [".Sh PAGES", ".Bl -tag -width Ds"]
    for group in groups:
        lines += [f".It Xr {group.page} 3", plain(group.title)]
    return finished(lines + [".El", ".Sh SEE ALSO", ".Xr holdall 1 ,", ".Xr holdall.hpp 3"])


def of_hpp(rules, parts, names):
    first, _, rest = rules.partition("\n\n")
    lines = head("holdall.hpp", plain(first).removeprefix("holdall.hpp - ").rstrip("."))
    lines += [".Sh SYNOPSIS", ".In holdall.hpp", ".Sh DESCRIPTION"] + written(rest, names)
    for title, declared in parts:
        lines += [f".Ss {plain(title)}"] + literal("\n\n".join(code for _, code in declared))
    return finished(lines + [".Sh SEE ALSO", ".Xr holdall 3"])


def literal(code):
    return [".Bd -literal"] + [escaped(line) for line in code.split("\n")] + [".Ed"]


def page(group, groups, names):
    lines = head(group.page, plain(group.title)) + [".Sh SYNOPSIS", f".In {group.include}"]
    for function in group.of("function"):
        lines += [f'.Ft "{function.result}"', f".Fo {function.name}"]
        lines += [
            f'.Fa "{parameter}"' for parameter in [p.code for p in function.parameters] or ["void"]
        ] + [".Fc"]
    lines += [".Sh DESCRIPTION"] + written(
        group.text or "The rules that apply to all functions are in holdall(3).", names
    )
    for title, kind in ("Types", "type"), ("Constants", "constant"):
        if group.of(kind):
            lines += [f".Ss {title}"] + tagged(group.of(kind), names)
    for function in group.of("function"):
        lines += [f".Ss {function.name}"] + written(function.text, names)
    others = [
        f".Xr {name} 3"
        for name in sorted(["holdall"] + [other.page for other in groups if other is not group])
    ]
    return finished(
        lines + [".Sh SEE ALSO"] + [other + " ," for other in others[:-1]] + others[-1:]
    )


def tagged(items, names):
    lines = [".Bl -tag -width Ds"]
    for item in items:
        lines += [
            f".It Dv {item.name}" + (f" No = {escaped(item.value)}" if item.value else "")
        ] + written(item.text, names)
        if item.kind == "type" and ("{" in item.code or "(*" in item.code):
            lines += literal(item.code)
        if any(member.text for member in item.members):
            lines += [".Bl -tag -width Ds"]
            for member in item.members:
                lines += [f".It Vt {quoted(member.code)}"] + written(member.text, names)
            lines += [".El"]
    return lines + [".El"]


def written(text, names):
    lines = []
    for kind, body in prose.blocks(text):
        if kind == "p":
            lines += [".Pp", inline(body, names)]
        elif kind == "code":
            lines += literal(body)
        elif kind == "list":
            lines += (
                [".Bl -bullet"]
                + [line for one in body for line in (".It", inline(one, names))]
                + [".El"]
            )
        else:
            lines += [".Bl -tag -width Ds"]
            for term, meaning in body:
                lines += [f".It Er {escaped(term)}", inline(meaning, names)]
            lines += [".El"]
    return lines[1:] if lines[:1] == [".Pp"] else lines


def inline(text, names):
    """Converts text to mdoc with one sentence per line; names and text in backquotes are bold."""
    bold = "".join(
        (
            f"\\fB\\%{escaped(part)}\\fR"
            if i % 2
            else names.marked(part, lambda shown, _: f"\\fB\\%{escaped(shown)}\\fR", escaped)
        )
        for i, part in enumerate(text.split("`"))
    )
    return "\n".join(
        protected(line) for line in re.split(r"(?<=[a-z)\dR][.;:]) (?=[A-Z\\*])", bold)
    )


def escaped(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def quoted(text):
    return '"' + escaped(text).replace('"', '""') + '"'


def plain(text):
    return " ".join(text.split())


def protected(line):
    return "\\&" + line if line[:1] in (".", "'") else line


def finished(lines):
    """Removes paragraph macros before macros that begin a paragraph themselves."""
    result = []
    for line, following in zip(lines, lines[1:] + [""]):
        if line == ".Pp" and re.match(r"\.(Bl|Bd|El|Sh|Ss|It|Pp)", following):
            continue
        result.append(
            protected(line) if not line.startswith(".") or line.startswith("..") else line
        )
    return "\n".join(result) + "\n"


def released():
    """Returns the date of the last release, from the CHANGELOG, so that the pages are
    reproducible."""
    day = re.search(
        r"^## \[[\d.]+\] - (\d{4})-(\d\d)-(\d\d)$",
        (headers.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.M,
    )
    if not day:
        sys.exit(
            "CHANGELOG.md: no date of a version (expected a line such as `## [0.1.0] - 2026-01-31`)"
        )
    return f"{calendar.month_name[int(day[2])]} {int(day[3])}, {day[1]}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[0])
    folder = pathlib.Path(sys.argv[1])
    print(f"{write(folder, headers.read(), released())} pages in {folder}")


if __name__ == "__main__":
    main()
