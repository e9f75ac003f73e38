"""What the parts of holdall.hpp declare for callers: each class and function with its comment, without bodies and private members."""
import re

# Pieces of a text that are whole in themselves: comments, lines of the preprocessor, texts and characters.
WHOLE = re.compile(r'//[^\n]*|#(?:[^\n\\]|\\.|\\\n)*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'', re.S)
OPTION = re.compile(r"HOLDALL_(?:NUMBER|OPTION)\((\w+), (.*?), (?:HOLDALL|set|tell).*")
TYPE = re.compile(r"(?:template <.*?>\s*)?(?:class|struct|enum class)\s+(\w+)[^(]*$", re.S)


def rules(header):
    """The words of its first comment."""
    lines = header.read_text(encoding="utf-8").split("\n#", 1)[0].split("\n")
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines)


def parts(header):
    """The title of each part of holdall.hpp, and what it declares: names, and all code of that name with its comments."""
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
    """The name of what is declared, behind its comments; none of what is declared elsewhere, or is only told to be there."""
    bare = re.sub(r"//[^\n]*\n", "", code).strip()
    if re.match(r"[^(]*\w::\w+\s*\(|(class|struct) \w+;$", bare):
        return ""
    found = TYPE.match(bare.partition("{")[0]) or re.search(r"(operator\W{1,3}|\w+)\s*\(", bare) or re.search(r"(\w+)\s*(?:=|\{|;)", bare)
    return found[1] if found else ""


def declared(text, indent):
    """Each declaration up to the end of the braces that the text begins in, with the comments before it."""
    at, said = 0, []
    while True:
        at = re.compile(r"\s*").match(text, at).end()
        if at == len(text) or text[at] == "}":
            return
        whole = WHOLE.match(text, at)
        option = OPTION.match(text, at)
        if whole:
            said = said + [whole[0]] if whole[0].startswith("//") else []
            at = whole.end()
            if text.startswith("\n\n", at):
                said = []  # said of what follows, not of one
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
            yield "\n".join(indent + line for line in [*said, *code.split("\n")])
        said = []


def next_public(text, at):
    """Where the members that callers have go on, or the class ends."""
    while at < len(text) and text[at] != "}" and not text.startswith("public:", at):
        at = past(text, at)
    return at


def past(text, at):
    """Behind what is at `at`: a character, something whole, or all within parentheses."""
    if whole := WHOLE.match(text, at):
        return whole.end()
    end = {"(": ")", "{": "}", "[": "]"}.get(text[at])
    at += 1
    while end and text[at] != end:
        at = past(text, at)
    return at + bool(end)


def one(text, at, indent):
    """A declaration without its body, and where what follows it begins."""
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
            inside = ("public:\n" if "class " in code else "") + "\n".join(declared(inside, "    ")) + "\n"
        return unindented(code) + " {" + ("\n" if "enum " not in code else "") + inside.rstrip(" ") + "};", end + text.startswith(";", end)
    if is_initializer(text, at):
        while text[at] != "{" or re.match(r"[\w>]", text[at - 1]):
            at = past(text, at)
    end = past(text, at)
    return unindented(code + ";"), end + text.startswith(";", end)


def is_initializer(text, at):
    """The colon behind the parameters of a constructor."""
    return text[at] == ":" and text[at - 1] != ":" and text[at + 1] != ":" and text[:at].rstrip().endswith((")", "noexcept"))


def unindented(code):
    lines = code.split("\n")
    return "\n".join([lines[0], *("    " + line.strip() for line in lines[1:])])
