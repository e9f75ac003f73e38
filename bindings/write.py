"""usage: write.py [--check]

Writes julia/src/libholdall.jl and python/holdall/_table.py from include/holdall.h; with --check it only tells, by its
exit status, whether they are what it would write.
"""
import sys

import table

JULIA = {
    "int": "Cint", "i32": "Int32", "i64": "Int64", "u8": "UInt8", "u32": "UInt32", "u64": "UInt64", "size": "Csize_t", "char": "UInt8",
    "void": "Cvoid", "str": "Cstring", "ArrowArrayStream": "Cvoid",
}  # fmt: skip


def julia_type(kind):
    if kind.startswith("fn "):
        return "Ptr{Cvoid}"
    if kind.startswith("ptr "):
        return "Ptr{" + julia_type(kind[4:]) + "}"
    name, _, n = kind.partition(" ")
    return f"NTuple{{{n}, {julia_type(name)}}}" if n else JULIA.get(name, name)


def julia_value(value):
    return "typemax(UInt64)" if value == 2**64 - 1 else str(value)


def julia_function(name, result, parameters):
    given = ", ".join(f"{p}::{julia_type(kind)}" for p, kind in parameters)
    return f"{name}({', '.join(p for p, _ in parameters)}) =\n    @ccall libholdall.{name}({given})::{julia_type(result)}"


def julia(t):
    lines = ["# The functions of holdall.h, which is their manual. Made by bindings/write.py: do not edit.", ""]
    lines += [f"const HOLDALL_{name} = {julia_value(value)}" for name, value in t.constants.items()]
    lines += ["", *(f"mutable struct {name} end" for name in t.handles)]
    for name, fields in t.structs.items():
        lines += ["", f"struct {name}", *(f"    {field}::{julia_type(kind)}" for field, kind in fields), "end"]
    for name, (result, parameters) in t.functions.items():
        lines += ["", julia_function(name, result, parameters)]
    return "\n".join(lines) + "\n"


def python(t):
    lines = ['"""The functions of holdall.h, which is their manual. Made by bindings/write.py: do not edit."""', ""]
    lines += [f"{name} = {value}" for name, value in t.constants.items()]
    for heading, of in (("STRUCTS", t.structs), ("CALLBACKS", t.callbacks), ("FUNCTIONS", t.functions)):
        lines += ["", f"{heading} = {{"]
        for name, value in of.items():
            result, fields = value if isinstance(value, tuple) else (None, value)
            kinds = [(field, kind) if heading == "STRUCTS" else kind for field, kind in fields]
            given = kinds if result is None else [result, *kinds]
            lines.append(f'    "{name}": {given!r},'.replace("'", '"'))
        lines.append("}")
    return "\n".join(lines) + "\n"


FILES = {"julia/src/libholdall.jl": julia, "python/holdall/_table.py": python}


def main(check):
    t = table.read()
    stale = []
    for name, make in FILES.items():
        path, text = table.ROOT / name, make(t)
        if not path.is_file() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    if check and stale:
        sys.exit(f"write.py: {', '.join(stale)} is not what the header says: run python3 bindings/write.py")
    print(f"{len(t.functions)} functions, {len(t.constants)} constants, {len(t.structs)} structures, {len(t.callbacks)} types of functions")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
