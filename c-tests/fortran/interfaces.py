"""usage: interfaces.py HEADER holdall_c.inc: checks that the Fortran interfaces match the header.

Parses both without the code that generated one of them. Compares names, number and order of
arguments, the size of each argument passed by value, the target of each pointer, the fields of
structures, and the constants. HEADER stands for the headers in the folder of its name as well.
"""

import pathlib
import re
import sys

C_VALUES = {
    "int": "int",
    "size_t": "size",
    **{f"{u}int{n}_t": f"int{n}" for n in (8, 32, 64) for u in ("", "u")},
    **{f"holdall_{name}": "int32" for name in ("status", "mode", "format", "kind", "option")},
}
FORTRAN_VALUES = {
    "integer(c_int)": "int",
    "integer(c_int8_t)": "int8",
    "character(kind=c_char)": "char",
    "integer(c_int32_t)": "int32",
    "integer(c_int64_t)": "int64",
    "integer(c_size_t)": "size",
    "type(c_ptr)": "pointer",
    "type(c_funptr)": "function",
}


# Suffixes of structure names; other pointers are to handles.
STRUCTURES = ("_error", "_spec", "_info", "_result", "_functions")


def c_kind(text):
    """Returns the kind of a parameter or result in C: by value, or -> its target."""
    text = re.sub(r"\b(const|struct)\b|\s", "", text)
    stars = text.count("*")
    base = text.replace("*", "")
    if base.endswith("_fn"):
        return "function"
    if stars == 0:
        return "nothing" if base == "void" else C_VALUES[base]
    if stars == 1 and base in C_VALUES:
        return "-> " + C_VALUES[base]
    if stars == 1 and (base == "char" or base.endswith(STRUCTURES)):
        return "-> " + base
    return "pointer" if stars == 1 else "-> pointer"


def of_header(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    found = {}
    for result, name, given in re.findall(
        r"HOLDALL_API\s+(?:HOLDALL_USE\s+)?([\w\s*]*?)(holdall_\w+)\s*\(([^()]*)\);", text
    ):
        parameters = [] if given.strip() == "void" else given.split(",")
        found[name] = (
            "pointer" if "*" in result else c_kind(result),
            [
                (re.search(r"\w+\s*$", p)[0].strip(), c_kind(re.sub(r"\w+\s*$", "", p)))
                for p in parameters
            ],
        )
    return found


def fortran_kind(declared, array):
    kind, *attributes = [part.strip() for part in re.split(r",(?![^(]*\))", declared)]
    if "value" in attributes:
        return FORTRAN_VALUES[kind]
    if kind == "character(kind=c_char)" and array:
        return "-> char"
    structure = re.fullmatch(r"type\((holdall_\w+)_c\)", kind)
    return "-> " + (structure[1] if structure else FORTRAN_VALUES[kind])


def of_fortran(text):
    text = re.sub(r" *&\n *", " ", text)
    found = {}
    pattern = r"^ *(function|subroutine) (\w+)\(([^)]*)\) bind\(C, name=\"(\w+)\"\)\n *import\n(.*?)^ *end \1$"
    for what, here, names, name, body in re.findall(pattern, text, flags=re.S | re.M):
        declared = {
            n: (d, a) for d, n, a in re.findall(r"^ *(.*?) :: (\w+)(\(\*\))?$", body, flags=re.M)
        }
        result = "nothing" if what == "subroutine" else FORTRAN_VALUES[declared[here][0]]
        found[name] = (result, [(n, fortran_kind(*declared[n])) for n in names.split(", ") if n])
    return found


def structures_of_header(text):
    """Returns name, size and count of the fields of each structure."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    found = {}
    for inside, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S):
        fields = []
        for field in re.findall(r"\s*([^;]+);", inside):
            function = re.search(r"\(\*(\w+)\)\(", field)
            plain = re.fullmatch(r"(.*?)(\w+)(?:\[(\d+)\])?", " ".join(field.split()))
            kind = (
                "pointer"
                if function or "*" in field
                else "char" if plain[1].strip() == "char" else c_kind(plain[1])
            )
            fields.append(
                (
                    (function or plain)[1 if function else 2],
                    kind,
                    "" if function else plain[3] or "",
                )
            )
        found[name] = fields
    return found


def structures_of_fortran(text):
    found = {}
    for name, inside in re.findall(
        r"^ *type, bind\(C\) :: (\w+)_c\n(.*?)^ *end type$", text, flags=re.S | re.M
    ):
        fields = re.findall(r"^ *(.*?) :: (\w+)(?:\((\d+)\))? = \w+$", inside, flags=re.M)
        found[name] = [(field, FORTRAN_VALUES[kind], count) for kind, field, count in fields]
    return found


def agree(header, fortran):
    """In C a pointer that Fortran takes as an address may have any target."""

    def same(c, f):
        return c[0] == f[0] and (c[1] == f[1] or (f[1] == "pointer" and c[1].startswith("->")))

    return (
        header[0] == fortran[0]
        and len(header[1]) == len(fortran[1])
        and all(map(same, header[1], fortran[1]))
    )


def main(header, fortran):
    header, fortran = pathlib.Path(header), pathlib.Path(fortran).read_text()
    header = "\n".join(
        path.read_text() for path in [header, *sorted(header.with_suffix("").glob("*.h"))]
    )
    theirs, ours = of_header(header), of_fortran(fortran)
    wrong = [
        f"{name}:\n  header  {theirs.get(name)}\n  Fortran {ours.get(name)}"
        for name in sorted(theirs.keys() | ours.keys())
        if name not in theirs or name not in ours or not agree(theirs[name], ours[name])
    ]
    defined = dict(
        re.findall(r"^#define (HOLDALL_\w+) \(?(-?\d+|UINT64_MAX)\)?$", header, flags=re.M)
    )
    numbers = {
        n: v.replace("-1", "UINT64_MAX") if k == "int64" else v
        for k, n, v in re.findall(
            r"^ *integer\(c_(\w+)_t\), parameter, public :: (HOLDALL_\w+) = (-?\d+)_c_\w+$",
            fortran,
            flags=re.M,
        )
    }
    wrong += [
        f"{name}: {defined.get(name)}, in Fortran {numbers.get(name)}"
        for name in sorted(defined.keys() | numbers.keys())
        if defined.get(name) != numbers.get(name)
    ]
    structures, derived = structures_of_header(header), structures_of_fortran(fortran)
    wrong += [
        f"{name}:\n  header  {structures.get(name)}\n  Fortran {derived.get(name)}"
        for name in sorted(structures.keys() | derived.keys())
        if structures.get(name) != derived.get(name)
    ]
    print(
        "\n".join(wrong)
        or f"{len(ours)} functions, {len(derived)} structures and {len(numbers)} constants agree"
    )
    if wrong or len(ours) < 100 or len(derived) < 5 or len(numbers) < 100:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
