"""Parser of the C headers in include/: the first comment, and the groups of declarations.

The headers are the reference manual. The bindings of other languages, tests and pages are generated
from them. holdall.h stands for all headers that it includes, each of which is a group. In other
headers a comment with four dashes begins a group. A comment belongs to the declaration that follows
it. A declaration without a name is an error: the parser does not know its syntax.
"""

import re
from dataclasses import dataclass, field


@dataclass
class Parameter:
    """A parameter of a function, or a field of a structure with the comment before it."""

    code: str
    text: str = ""

    def __post_init__(self):
        plain = re.fullmatch(r"(.*?)(\w+)", self.code)
        self.type, self.name = (plain[1].strip(), plain[2]) if plain else (self.code, "")
        self.pointer = self.type.endswith("*") or self.type.endswith("_fn")

    def handle(self):
        """Returns the name of the handle that the parameter points to, without prefix, or None."""
        m = re.fullmatch(r"(?:const )?holdall_(\w+) \*", self.type)
        return (
            m[1]
            if m and not re.fullmatch(r"(.*_)?(error|spec|info|result|functions)|format|kind", m[1])
            else None
        )

    def structure(self):
        """Returns the name of the structure that the parameter points to, or None."""
        m = re.fullmatch(r"(?:const )?(holdall_\w+_(?:spec|info|result|functions)) \*", self.type)
        return m[1] if m else None

    def out(self):
        """Returns the name of the handle that the parameter outputs, without prefix, or None."""
        m = re.fullmatch(r"holdall_(\w+) \*\*", self.type)
        return m[1] if m else None


@dataclass
class Item:
    """A declaration. kind is function, type or constant."""

    kind: str
    name: str
    text: str
    code: str
    result: str = ""
    value: str = ""
    parameters: list = field(default_factory=list)
    members: list = field(default_factory=list)


@dataclass
class Group:
    """A group of declarations with a title."""

    title: str
    include: str
    text: str = ""
    page: str = ""  # the manual page of the group
    items: list = field(default_factory=list)

    def of(self, kind):
        return [item for item in self.items if item.kind == kind]


def read(path):
    """Returns the text of the first comment of a header, and its groups."""
    text = path.read_text(encoding="utf-8")
    first, end = comment(text, text.index("/*"))
    groups, said = [], ""
    for kind, body in pieces(text, end):
        if kind == "group":
            groups.append(Group(body, path.name))
        elif kind == "include":
            if path.name == "holdall.h":
                groups += chapter(path.parent / body)
        elif kind == "comment":
            said = body
        elif not kind:  # an empty line separates a comment from the declaration after it
            said = ""
        else:
            if not groups:  # a header without groups is one group
                title, _, rest = first.partition("\n\n")
                groups.append(Group(title.split(" - ")[-1].rstrip("."), path.name, rest))
            groups[-1].items.append(ITEMS[kind](body, said))
            said = ""
    return first, [group for group in groups if group.items]


def chapter(path):
    """Returns the groups of a header that holdall.h includes."""
    groups = read(path)[1]
    for group in groups:
        group.include, group.page = "holdall.h", "holdall_" + path.stem
    return groups


def items(path, kind):
    """Returns all functions, types or constants of a header."""
    return [item for group in read(path)[1] for item in group.of(kind)]


def functions(path):
    """Returns the result type, the name and the parameters of each function of a header."""
    return [(item.result, item.name, item.parameters) for item in items(path, "function")]


def constants(path):
    """Returns the name and the value, as text, of each numeric constant of a header."""
    return [
        (item.name, item.value)
        for item in items(path, "constant")
        if re.fullmatch(r"-?\d+|UINT64_MAX", item.value)
    ]


def comment(text, at):
    """Returns the text of the comment at offset `at`, and the offset of its end."""
    end = text.index("*/", at)
    lines = text[at + 2 : end].split("\n")
    return "\n".join(re.sub(r"^ +\* ?", "", line) for line in lines).strip(), end + 2


def pieces(text, at):
    """Yields the kind and the text of each comment and declaration from offset `at` on.

    An empty line yields two empty strings.
    """
    while match := re.compile(r"\s*").match(text, at):
        if match.group().count("\n") > 1:
            yield "", ""
        at = match.end()
        if at == len(text):
            return
        if text.startswith("/*", at):
            body, at = comment(text, at)
            title = re.fullmatch(r"-{4} (.*?) *-*", body)
            yield ("group", title[1]) if title else ("comment", body)
        elif text[at] == "#":
            line, at = directive(text, at)
            if re.match(r"#define HOLDALL_[A-Z0-9_]+ \S", line) and not re.match(
                r"#define HOLDALL_(API|USE)\b", line
            ):
                yield "constant", line
            elif included := re.match(r'#include "(.*)"', line):
                yield "include", included[1]
        elif text.startswith('extern "C" {', at):
            at = text.index("{", at) + 1
        elif text[at] == "}":
            at += 1
        else:
            code, at = declaration(text, at)
            yield ("function" if re.match(r"HOLDALL_API|static inline", code) else "type"), code


def directive(text, at):
    """Returns the directive at offset `at` without its comment, and the offset of its end."""
    end = text.index("\n", at)
    while text[end - 1] == "\\":
        end = text.index("\n", end + 1)
    return text[at:end].split("/*")[0].strip(), end


def declaration(text, at):
    """Returns the declaration at offset `at`, and the offset of its end.

    It ends at the first semicolon outside braces and comments.
    """
    depth, i = 0, at
    while not (text[i] == ";" and depth == 0):
        if text.startswith("/*", i):
            i = text.index("*/", i) + 1
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
    return text[at : i + 1], i + 1


def constant(code, said):
    """Returns the Item of a #define. said: its comment."""
    _, name, value = code.split(None, 2)
    return Item("constant", name, said, code, value=value.strip("()"))


def function(code, said):
    """Returns the Item of a function. said: its comment."""
    code = " ".join(re.sub(r"\bHOLDALL_(API|USE)\b|\bstatic inline\b", "", code).split())
    result, name, inside = re.fullmatch(r"(.*?)(holdall_\w+)\((.*)\);", code).groups()
    return Item("function", name, said, code, result.strip(), parameters=parameters(inside))


def parameters(inside):
    """Returns the parameters of a list, split at the commas outside parentheses."""
    found, depth = [""], 0
    for c in "" if inside == "void" else inside:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [Parameter(one.strip()) for one in found if one]


def type_(code, said):
    """Returns the Item of a type. said: its comment."""
    name = re.search(r"\(\*(holdall_\w+)\)\(|struct (\w+);$|\b(holdall_\w+);$|^struct (\w+) {", code)
    if not name:
        raise SystemExit(f"header.py: unknown declaration: {code}")
    inside = code[code.index("{") + 1 : code.rindex("}")] if "{" in code else ""
    return Item(
        "type",
        next(filter(None, name.groups())),
        said,
        re.sub(r" *//.*|\s*/\*.*?\*/", "", code, flags=re.S),
        members=members(inside),
    )


def members(inside):
    """Returns the fields of a structure with their comments, as Parameters."""
    found, at, said = [], 0, ""
    while match := re.compile(r"\s*").match(inside, at):
        at = match.end()
        if at == len(inside):
            return found
        if inside.startswith("/*", at):
            said, at = comment(inside, at)
        else:
            code, at = declaration(inside, at)
            found.append(Parameter(" ".join(code.split()), said))
            said = ""


ITEMS = {"constant": constant, "function": function, "type": type_}
