"""Writes the references of Go, Julia, Fortran and Python from the comments in their sources.

mkdocstrings reads the Python sources. The tools of the other languages need their compilers or
fetch packages. The sources are formatted uniformly, so regular expressions find the declarations
and the comments before them.
"""

import ast
import re
from collections import Counter
from dataclasses import dataclass

import prose
from markup import Writer, capital, heading, later


@dataclass
class Entry:
    """A declaration: its name, its code, and its comment."""

    name: str
    code: str
    text: str

    def anchor(self):
        return re.sub(r"\W+", ".", self.name).strip(".")


def write(root, names, put):
    """Writes all pages with put(path, text)."""
    for language, read in (("Go", go), ("Julia", julia), ("Fortran", fortran)):
        path = f"reference/{language.lower()}.md"
        writer = Writer(path, names, language.lower())
        # Comments of Julia are Markdown.
        written = (lambda text: text) if language == "Julia" else writer.prose
        introduction, parts = read(root / "bindings" / language.lower())
        out, anchors = [f"# {language} reference", written(introduction)], Counter()
        for title, entries in parts:
            out += [f"## {writer.inline(capital(title).rstrip('.'))}"] if entries else []
            for entry in entries:
                anchors[entry.anchor()] += 1
                number = anchors[entry.anchor()]  # methods of one function
                anchor = entry.anchor() + (f"-{number}" if number > 1 else "")
                out.append(heading(3, entry.name, anchor, "api"))
                out.append(f"```{language.lower()}\n{entry.code}\n```")
                out.append(written(entry.text))
        put(path, later("\n\n".join(part for part in out if part)))
    put("reference/python.md", later(python(root / "bindings/python/holdall")))


def uncommented(lines, mark):
    """Returns the text of comment lines."""
    return "\n".join(
        line.strip().removeprefix(mark).removeprefix(" ") for line in lines.strip().split("\n")
    )


# ---- Python ----


def python(folder):
    """Returns the page of the package: mkdocstrings replaces each line that begins with colons."""
    module = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    out = ["# Python reference", ast.get_docstring(module)]
    assigned = [one for one in module.body if isinstance(one, ast.Assign)]
    public = next(one.value for one in assigned if ast.unparse(one.targets[0]) == "__all__")
    public = {one.value for one in ast.walk(public) if isinstance(one, ast.Constant)}
    imports = [one for one in module.body if isinstance(one, ast.ImportFrom)]
    out += [
        f"::: holdall.{one.name}"
        for statement in imports
        if statement.module not in ("_errors", "_infos")
        for one in statement.names
        if one.name in public
    ]
    errors = ast.parse((folder / "_errors.py").read_text(encoding="utf-8"))
    out += ["## Exceptions", ast.get_docstring(errors)]
    classes = ("Error", "DamageWarning", "UncommittedWarning")
    out += [f"::: holdall.{name}\n    options:\n      heading_level: 3" for name in classes]
    # A function creates the other classes, so mkdocstrings does not see them.
    rows = ["| exception | status | also inherits from |", "| --- | --- | --- |"]
    for one in errors.body:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call):
            label, _, *bases = one.value.args
            status = label.value.removesuffix("Error").upper()
            bases = [f"`{ast.unparse(base).removeprefix('builtins.')}`" for base in bases]
            cells = f"`{label.value}`", f"`HOLDALL_E_{status}`", *bases
            rows.append(f"| {' | '.join(cells)} |")
    out.append("\n".join(rows))
    for name in ("bagz", "beam", "dask", "grain", "ray", "spark", "torch", "xarray"):
        module = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        out += [f"## holdall.{name}", ast.get_docstring(module)]
        # Options are nested in their classes.
        defined = (ast.ClassDef, ast.FunctionDef)
        names = [one.name for one in module.body if isinstance(one, defined)]
        out += [
            f"::: holdall.{name}.{public}\n    options:\n      heading_level: 3"
            for public in names
            if not public.startswith("_")
        ]
    return "\n\n".join(out)


# ---- Go ----

GO = re.compile(
    r"^((?://.*\n)+)"
    r"((?:const|var) \((?:.*\n)*?^\)"
    r"|(?:func|type|const|var) (?:(?:.*[,(]\n)*.*\{$(?:\n.*)*?\n\}|.*))",
    re.M,
)
GO_NAME = re.compile(r"(?:func(?: \(\w+ \*?(\w+)(?:\[\w+\])?\))?|type|const|var) (\w+)?")


def go(folder):
    introduction, parts = "", []
    for path in sorted(folder.glob("*.go")):
        text = path.read_text(encoding="utf-8")
        if path.stem.endswith("_test"):
            continue
        if path.stem == "doc":
            introduction = uncommented(text[: text.index("package holdall")], "//")
        title = re.search(r"^package holdall\n\n((?://.*\n)+)\n", text, re.M)
        title = uncommented(title[1], "//") if title and "#" not in title[1] else path.stem
        entries = [entry for match in GO.finditer(text) for entry in go_entry(*match.groups())]
        parts.append((prose.first_sentence(title), entries))
    return introduction, parts


def go_entry(comment, code):
    """Yields the entry of an exported declaration."""
    receiver, name = GO_NAME.match(code).groups()
    if code.startswith("func"):
        code = re.sub(r" \{.*", "", code, flags=re.S)
    # A group of constants has the name of its type.
    name = name or "Constants of " + re.search(r"^\s*\w+ +(\w+)", code, re.M)[1]
    full = f"{receiver}.{name}" if receiver else name
    if full[0].isupper() and name[0].isupper():
        code = re.sub(r"^\t(?:// .*\n\t)*[a-z*].*\n", "", code, flags=re.M)  # not exported
        yield Entry(full, code.replace("\t", "    "), uncommented(comment, "//"))


# ---- Julia ----

JULIA_DOC = re.compile(
    r'^(?:"""\n(?P<long>(?:.*\n)*?)"""|"(?P<short>[^"\n].*)")\n(?P<code>.*)', re.M
)


def julia(folder):
    source = folder / "src"
    main = (source / "Holdall.jl").read_text(encoding="utf-8")
    exported = set(re.findall(r"[\w!]+", " ".join(re.findall(r"^export (.*)", main, re.M))))
    introduction = JULIA_DOC.search(main)["long"].split("\n", 2)[2]
    parts = []
    for name in re.findall(r'^include\("(.*)"\)', main, re.M):
        text = (source / name).read_text(encoding="utf-8")
        entries = [
            entry for doc in JULIA_DOC.finditer(text) for entry in julia_entry(doc, exported)
        ]
        title = re.match(r"# (.*)", text)
        parts.append((prose.first_sentence(title[1]) if title else name, entries))
    return introduction, parts


def julia_entry(doc, exported):
    """Yields the entry of an exported function or type, or of a method for a function of Base."""
    text, code = doc["long"] or doc["short"], doc["code"]
    name = re.match(r"(?:mutable |abstract )?(?:struct |function |type )?([\w.!]+)", code)[1]
    if not name.startswith("Base.") and name not in exported:
        return
    if shown := re.match(r"((?:    .*\n)+)\n?", text):  # the call, as the comment begins
        code, text = shown[1].replace("    ", ""), text[shown.end() :]
    else:
        code = re.sub(r"^function |(?<=\)) = .*", "", code)
    yield Entry(name.removeprefix("Base."), code.strip(), text)


# ---- Fortran ----

FORTRAN_TYPE = re.compile(
    r"^((?:  ![^\n]*\n)*)  type(?:, \w+)* :: (\w+)\n(.*?)^  end type", re.M | re.S
)
FORTRAN_BOUND = re.compile(
    r"^((?:    !.*\n)*)    (?:procedure :: (\w+) => (\w+)|generic :: (\w+) =>)", re.M
)
FORTRAN_PROCEDURE = re.compile(
    r" +(?:(?!end )(?:\w.* )?(?:subroutine|function) (\w+)\(|interface (\w+)$)"
)


def fortran(folder):
    main = (folder / "holdall.f90").read_text(encoding="utf-8")
    introduction = uncommented(re.match(r"(?:!.*\n)+", main)[0], "!").partition("\n\n")[2]
    only = " ".join(re.findall(r"only: ((?:.*&\n)*.*)", main))
    public = set(re.findall(r"\w+", only))
    parts = []
    for name in re.findall(r"^include '(.*)'", main, re.M):
        text = (folder / name).read_text(encoding="utf-8")
        title = uncommented(re.match(r"(?:!.*\n)+", text)[0], "!")
        parts.append((prose.first_sentence(title), list(fortran_entries(text, public))))
    return introduction, parts


def fortran_entries(text, public):
    """Yields the public types, the procedures bound to them, and the public procedures."""
    procedures = dict(fortran_procedures(text))
    types = FORTRAN_TYPE.findall(text)
    for comment, name, body in types:
        if name not in public:
            continue
        fields = body.partition("  contains\n")[0]
        fields = re.sub(r"^.*handle = c_null_ptr\n", "", fields, flags=re.M)
        yield Entry(name, f"type :: {name}\n{fields}end type", uncommented(comment, "!"))
        for said, bound, target, generic in FORTRAN_BOUND.findall(body):
            full = f"{name}%{bound or generic}"
            if generic:
                call, _, said = uncommented(said, "!").replace("\n", " ").partition(") ")
                yield Entry(full, call + ")", capital(said))
            elif target in procedures:
                code, said = procedures[target]
                code = re.sub(rf"\b{target}\(self(?:, )?", f"{bound}(", code, count=1)
                yield Entry(full, code, said)
    constructors = {name for _, name, _ in types}
    for name in procedures:
        if name in public - constructors:
            yield Entry(name, *procedures[name])


def fortran_procedures(text):
    """Yields (name, (code, comment)) of each procedure and generic interface. The code has the
    declarations of the arguments."""
    comment = []
    lines = iter(text.split("\n"))
    for line in lines:
        if match := FORTRAN_PROCEDURE.match(line):
            code = [line.strip()]
            while code[-1].endswith("&"):
                code.append(next(lines))
            for declared in lines:
                if declared.strip().startswith("end "):
                    break
                if "intent(" in declared and ":: self" not in declared:
                    code.append(declared)
            yield match[1] or match[2], ("\n".join(code), uncommented("\n".join(comment), "!"))
        is_comment = line.strip().startswith("! ") and "----" not in line
        comment = [*comment, line] if is_comment else []
