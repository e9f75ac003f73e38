"""Writes the reference of the C and C++ headers: one page per chapter."""

import re

import prose
from markup import Writer, later, c_page, capital, escaped, heading, searched


def write(read, keywords, put):
    """Writes all pages with put(path, text). `keywords` are what people search for, by name."""
    version, *chapters = read.groups
    put("reference/c/index.md", overview(version, chapters, read))
    for group in chapters:
        text = chapter(group, keywords, read)
        put(c_page(group) + ".md", text if group.include == "holdall.h" else later(text))
    put("reference/cxx.md", later(cxx(read)))


def header_name(group):
    """Returns the header of a group, as a program may include it."""
    if group.include != "holdall.h":
        return group.include
    return f"holdall/{group.page.removeprefix('holdall_')}.h"


def overview(version, chapters, read):
    writer = Writer("reference/c/index.md", read.names)
    rest = read.introduction.partition("\n\n")[2]
    # The list of chapters at the end of the comment becomes the table below.
    rest = rest.partition("Each chapter is")[0]
    rows = [
        f"| [{header_name(group)}]({group.page.removeprefix('holdall_')}.md) | "
        f"{writer.inline(capital(group.title).rstrip('.'))} | {len(group.of('function')) or ''} |"
        for group in chapters
    ]
    return "\n\n".join(
        ["# C reference", writer.prose(rest), "## Headers"]
        + ["Each chapter of `holdall.h` is a header that can also be included alone."]
        + ["\n".join(["| header | contents | functions |", "| --- | --- | ---: |", *rows])]
        + ["## Version", writer.inline(version.title)]
        + [constant(item, writer) for item in version.items]
    )


def chapter(group, keywords, read):
    writer = Writer(c_page(group) + ".md", read.names)
    functions, types, constants = (group.of(kind) for kind in ("function", "type", "constant"))
    out = [
        f"# {header_name(group)}",
        writer.inline(capital(group.title).rstrip(".") + "."),
        writer.code(f"#include <{group.include}>", "c"),
        writer.prose(group.text),
    ]
    if functions:
        rows = [
            f"| [`{one.name}`](#{one.name}) | {writer.inline(prose.first_sentence(one.text))} |"
            for one in functions
        ]
        table = "\n".join(["| function | what it does |", "| --- | --- |", *rows])
        out.append(f'<div class="functions" markdown>\n\n{table}\n\n</div>')
    if group.page == "holdall_base":
        out.append(rules(read.rules, writer))
    for title, items, show in (
        ("Types", types, type_),
        ("Constants", constants, constant),
        ("Functions", functions, function),
    ):
        if items:
            out.append(f"## {title}")
            for item in items:
                out += [show(item, writer), searched(keywords.get(item.name))]
    return "\n\n".join(part for part in out if part)


def rules(text, writer):
    """Returns the rules for every function: each list follows a line that is its title."""
    out = ["## Rules"]
    blocks = prose.blocks(text)
    for (kind, body), (following, _) in zip(blocks, blocks[1:] + [("", "")]):
        title = kind == "p" and following == "list" and not body.endswith((".", ":"))
        out.append(f"### {escaped(body)}" if title else writer.block(kind, body))
    return "\n\n".join(out)


def entry(item, *parts):
    return "\n\n".join([heading(3, item.name, item.name, "api"), *(one for one in parts if one)])


def function(item, writer):
    parameters = [parameter.code for parameter in item.parameters] or ["void"]
    short = f"{item.result} {item.name}({', '.join(parameters)});"
    if len(short) > 80:
        short = f"{item.result} {item.name}(\n    " + ",\n    ".join(parameters) + ");"
    return entry(item, writer.code(short.replace("* ", "*"), "c"), writer.prose(item.text))


def constant(item, writer):
    return entry(item, f"Value: `{item.value}`", writer.prose(item.text))


def type_(item, writer):
    fields = [
        f"- `{member.code}`: {writer.inline(' '.join(member.text.split()))}"
        for member in item.members
        if member.text
    ]
    return entry(item, writer.code(item.code, "c"), writer.prose(item.text), "\n".join(fields))


def cxx(read):
    writer = Writer("reference/cxx.md", read.names, "cpp")
    first, _, rest = read.cxx_introduction.partition("\n\n")
    out = [
        "# C++ reference",
        writer.inline(" ".join(first.split(" - ")[1].split())),
        writer.code("#include <holdall.hpp>", "cpp"),
        writer.prose(rest),
    ]
    for title, declared in read.cxx_parts:
        out.append(f"## {writer.inline(re.sub(r'[.]$', '', capital(title)))}")
        for name, code in declared:
            out += [heading(3, name, name, "api"), writer.code(code, "cpp")]
    return "\n\n".join(out)
