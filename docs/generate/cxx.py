"""Extracts the public declarations of holdall.hpp: each class and function with its comment,
without bodies and private members."""

import re

# Lexical elements that may contain brackets: comments, preprocessor lines, string and character
# literals.
TOKEN = re.compile(r'//[^\n]*|#(?:[^\n\\]|\\.|\\\n)*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'', re.S)
OPTION = re.compile(r"HOLDALL_(?:NUMBER|OPTION)\((\w+), (.*?), (?:HOLDALL|set).*")
TYPE = re.compile(r"(?:template <.*?>\s*)?(?:class|struct|enum class)\s+(\w+)[^(]*$", re.S)


def rules(header):
    """Returns the text of the first comment."""
    lines = header.read_text(encoding="utf-8").split("\n#", 1)[0].split("\n")
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines)


def parts(header):
    """Yields the title of each part of holdall.hpp and its declarations: each name with all code of
    that name and its comments."""
    for name in re.findall(r'#include "(holdall/\w+\.hpp)"', header.read_text(encoding="utf-8")):
        text = (header.parent / name).read_text(encoding="utf-8")
        title = re.match(r"// \S+ - (.*?)\n#", text, re.S)[1].replace("\n// ", " ")
        body = text.split("namespace holdall {", 1)[1]
        found = {}
        for code in declared(body, ""):
            if name := named(code):
                found.setdefault(name, []).append(code)
        yield title, [(f"holdall::{name}", "\n\n".join(codes)) for name, codes in found.items()]


def named(code):
    """Returns the declared name, after the comments; empty for definitions of members and forward
    declarations."""
    bare = re.sub(r"//[^\n]*\n", "", code).strip()
    if re.match(r"[^(]*\w::\w+\s*\(|(class|struct) \w+;$", bare):
        return ""
    found = (
        TYPE.match(bare.partition("{")[0])
        or re.search(r"(operator\W{1,3}|\w+)\s*\(", bare)
        or re.search(r"(\w+)\s*(?:=|\{|;)", bare)
    )
    return found[1] if found else ""


def declared(text, indent):
    """Yields each declaration up to the end of the enclosing braces, with the comments before
    it."""
    at, comments = 0, []
    while True:
        at = re.compile(r"\s*").match(text, at).end()
        if at == len(text) or text[at] == "}":
            return
        token = TOKEN.match(text, at)
        option = OPTION.match(text, at)
        if token:
            comments = comments + [token[0]] if token[0].startswith("//") else []
            at = token.end()
            if text.startswith("\n\n", at):
                comments = []  # a comment on a section, not on one declaration
            continue
        if option:
            code, at = f"options &{option[1]}({option[2]} value);", option.end()
        elif section := re.compile(r"(public|protected|private):").match(text, at):
            if section[1] != "public":
                at = next_public(text, section.end())
            else:
                at = section.end()
            continue
        else:
            code, at = one(text, at, indent)
        if code:
            yield "\n".join(indent + line for line in [*comments, *code.split("\n")])
        comments = []


def next_public(text, at):
    """Returns the position of the next public section, or of the end of the class."""
    while at < len(text) and text[at] != "}" and not text.startswith("public:", at):
        at = past(text, at)
    return at


def past(text, at):
    """Returns the position after the character, lexical element or bracketed text at `at`."""
    if token := TOKEN.match(text, at):
        return token.end()
    end = {"(": ")", "{": "}", "[": "]"}.get(text[at])
    at += 1
    while end and text[at] != end:
        at = past(text, at)
    return at + bool(end)


def one(text, at, indent):
    """Returns a declaration without its body, and the position after it."""
    start = at
    while text[at] not in ";{" and not is_initializer(text, at):
        at = past(text, at)
    code = text[start:at].strip()
    if text[at] == ";":
        return unindented(code + ";"), at + 1
    if code.startswith("namespace detail"):
        return "", past(text, at)
    if TYPE.match(code):
        end = past(text, at)
        inside = text[at + 1 : end - 1]
        if "enum " not in code:
            inside = (
                ("public:\n" if "class " in code else "")
                + "\n".join(declared(inside, "    "))
                + "\n"
            )
        return unindented(code) + " {" + ("\n" if "enum " not in code else "") + inside.rstrip(
            " "
        ) + "};", end + text.startswith(";", end)
    if is_initializer(text, at):
        while text[at] != "{" or re.match(r"[\w>]", text[at - 1]):
            at = past(text, at)
    end = past(text, at)
    return unindented(code + ";"), end + text.startswith(";", end)


def is_initializer(text, at):
    """Returns whether the text at `at` is the colon after the parameters of a constructor."""
    return (
        text[at] == ":"
        and text[at - 1] != ":"
        and text[at + 1] != ":"
        and text[:at].rstrip().endswith((")", "noexcept"))
    )


def unindented(code):
    lines = code.split("\n")
    return "\n".join([lines[0], *("    " + line.strip() for line in lines[1:])])
