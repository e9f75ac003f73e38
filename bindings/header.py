"""Reads the headers in include/ that are C: the words of their first page, and each group of functions with its types and constants.

The headers are the manual, and what all layers of other languages, tests and pages are made from. Every comment belongs to
the declaration behind it; a comment with four dashes begins a group. A declaration without a name is an error: then the
headers have something that this does not know.
"""
import re
from dataclasses import dataclass, field


@dataclass
class Parameter:
    """One of a function; of a structure one of its fields, with the words before it."""

    code: str
    text: str = ""

    def __post_init__(self):
        plain = re.fullmatch(r"(.*?)(\w+)", self.code)
        self.type, self.name = (plain[1].strip(), plain[2]) if plain else (self.code, "")
        self.pointer = self.type.endswith("*") or self.type.endswith("_fn")

    def handle(self):
        m = re.fullmatch(r"(?:const )?holdall_(\w+) \*", self.type)
        return m[1] if m and m[1] not in ("error", "io_functions", "format", "kind") else None

    def out(self):
        m = re.fullmatch(r"holdall_(\w+) \*\*", self.type)
        return m[1] if m else None


@dataclass
class Item:
    """One declaration: kind is function, type or constant."""

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
    title: str
    include: str
    text: str = ""
    page: str = ""  # that of a manual
    items: list = field(default_factory=list)

    def of(self, kind):
        return [item for item in self.items if item.kind == kind]


def read(path):
    """The words of a header's first comment, and its groups."""
    text = path.read_text(encoding="utf-8")
    first, end = comment(text, text.index("/*"))
    groups, said = [], ""
    for kind, body in pieces(text, end):
        if kind == "group":
            groups.append(Group(body, path.name))
        elif kind == "comment":
            said = body
        elif not kind:  # an empty line: what was said is said of nothing
            said = ""
        else:
            if not groups:  # a header without groups is one
                groups.append(Group(first.split("\n")[0].split(" - ")[-1], path.name))
            groups[-1].items.append(ITEMS[kind](body, said))
            said = ""
    return first, [group for group in groups if group.items]


def items(path, kind):
    """All functions, types or constants of a header."""
    return [item for group in read(path)[1] for item in group.of(kind)]


def functions(path):
    """The result's type, the name and the parameters of each."""
    return [(item.result, item.name, item.parameters) for item in items(path, "function")]


def constants(path):
    """The name and the value, as it is written there, of each constant that is a number."""
    return [(item.name, item.value) for item in items(path, "constant") if re.fullmatch(r"-?\d+|UINT64_MAX", item.value)]


def comment(text, at):
    """The words of the comment at `at`, and where it ends."""
    end = text.index("*/", at)
    lines = text[at + 2 : end].split("\n")
    return "\n".join(re.sub(r"^ +\* ?", "", line) for line in lines).strip(), end + 2


def pieces(text, at):
    """The comments and declarations behind `at`, in order."""
    while match := re.compile(r"\s*").match(text, at):
        if match.group().count("\n") > 1:
            yield "", ""
        at = match.end()
        if at == len(text):
            return
        if text.startswith("/*", at):
            words, at = comment(text, at)
            title = re.fullmatch(r"-{4} (.*?) *-*", words)
            yield ("group", title[1]) if title else ("comment", words)
        elif text[at] == "#":
            line, at = directive(text, at)
            if re.match(r"#define HOLDALL_[A-Z0-9_]+ \S", line) and not re.match(r"#define HOLDALL_(API|USE)\b", line):
                yield "constant", line
        elif text.startswith('extern "C" {', at):
            at = text.index("{", at) + 1
        elif text[at] == "}":
            at += 1
        else:
            code, at = declaration(text, at)
            yield ("function" if re.match(r"HOLDALL_API|static inline", code) else "type"), code


def directive(text, at):
    end = text.index("\n", at)
    while text[end - 1] == "\\":
        end = text.index("\n", end + 1)
    return text[at:end].split("/*")[0].strip(), end


def declaration(text, at):
    """Up to the semicolon that is in no braces and no comment."""
    depth, i = 0, at
    while not (text[i] == ";" and depth == 0):
        if text.startswith("/*", i):
            i = text.index("*/", i) + 1
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
    return text[at : i + 1], i + 1


def constant(code, said):
    _, name, value = code.split(None, 2)
    return Item("constant", name, said, code, value=value.strip("()"))


def function(code, said):
    code = " ".join(re.sub(r"\bHOLDALL_(API|USE)\b|\bstatic inline\b", "", code).split())
    result, name, inside = re.fullmatch(r"(.*?)(holdall_\w+)\((.*)\);", code).groups()
    return Item("function", name, said, code, result.strip(), parameters=parameters(inside))


def parameters(inside):
    """At the commas outside of parentheses."""
    found, depth = [""], 0
    for c in "" if inside == "void" else inside:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [Parameter(one.strip()) for one in found if one]


def type_(code, said):
    name = re.search(r"\(\*(holdall_\w+)\)\(|struct (\w+);$|\b(holdall_\w+);$", code)
    if not name:
        raise SystemExit(f"what does this declare? {code}")
    inside = code[code.index("{") + 1 : code.rindex("}")] if "{" in code else ""
    return Item("type", next(filter(None, name.groups())), said, re.sub(r" *//.*|\s*/\*.*?\*/", "", code, flags=re.S), members=members(inside))


def members(inside):
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
