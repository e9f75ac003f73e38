"""The header as a table, from which the bindings of other languages are generated.

`read(header)` returns a Table of constants, structures, callback types and functions. A type is a
value of NUMBERS, or one of these:

- "str": a string
- "ptr X": a pointer to X
- "fn X": a callback of type X
- "X N": an array of N items of X in a structure
- "void"
"""

import dataclasses
import pathlib
import re
import sys

from header import constants, functions, items, parameters

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/holdall.h"

NUMBERS = {
    "int": "int", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8", "uint32_t": "u32",
    "uint64_t": "u64", "size_t": "size", "char": "char",
}  # fmt: skip


@dataclasses.dataclass
class Table:
    """The declarations of a header."""

    constants: dict  # name: value
    numbers: dict  # typedef name: type
    handles: list
    structs: dict  # name: [(field, type)]
    callbacks: dict  # name: (result, [(parameter, type)])
    functions: dict  # name: (result, [(parameter, type)])


class Reader:
    """Converts the declarations of a header to a Table."""

    def __init__(self, header):
        self.header = header
        self.table = Table({}, {}, [], {}, {}, {})

    def kind(self, c):
        """Returns the type of the table for a C type. Exits for an unknown one."""
        t = self.table
        bare = re.sub(r"\bconst\b|\bstruct\b", "", c)
        name, stars = bare.replace("*", "").strip(), bare.count("*")
        if stars == 0:
            found = (
                NUMBERS.get(name)
                or t.numbers.get(name)
                or ("fn " + name if name in t.callbacks else None)
                or (name if name == "void" else None)
            )
            if found is None:
                sys.exit(f"table.py: unknown type `{c}`")
            return found
        if name == "char" and stars == 1 and "const" in c:
            return "str"
        inner = (
            {"void": "void", "char": "char"}.get(name)
            or NUMBERS.get(name)
            or t.numbers.get(name)
            or name
        )
        if inner == name and name not in [
            *t.handles,
            *t.structs,
            "void",
            "char",
            "int",
            "ArrowArrayStream",
        ]:
            sys.exit(f"table.py: unknown type `{c}`")
        return "ptr " * stars + inner

    def given(self, some):
        """Returns the name and the type of each of some parameters."""
        return [(p.name, self.kind(p.type)) for p in some]

    def fields(self, members):
        """Yields the name and the type of each field of a structure."""
        for field in members:
            code = field.code.rstrip(";")
            function = re.fullmatch(r".*?\(\*(\w+)\)\s*\(.*\)", code)
            array = re.fullmatch(r"(.*?)(\w+)\[(\d+)\]", code)
            if function:
                yield function[1], "ptr void"
            elif array:
                yield array[2], f"{self.kind(array[1])} {array[3]}"
            else:
                yield from self.given(parameters(code))

    def read(self):
        """Returns the Table of the header."""
        t = self.table
        for name, value in constants(self.header):
            t.constants[name.removeprefix("HOLDALL_")] = (
                2**64 - 1 if value == "UINT64_MAX" else int(value)
            )
        types = {
            item.name: item
            for item in items(self.header, "type")
            if item.name.startswith("holdall_")
        }
        code = {name: " ".join(item.code.split()) for name, item in types.items()}
        t.handles = [name for name in types if code[name] == f"typedef struct {name} {name};"]
        t.numbers = {
            name: NUMBERS[m[1]]
            for name in types
            if (m := re.fullmatch(rf"typedef (\w+) {name};", code[name]))
        }
        structs = {name: item.members for name, item in types.items() if item.members}
        t.structs = {name: [] for name in structs}
        for name, members in structs.items():
            t.structs[name] = list(self.fields(members))
        for name in types:
            if function := re.fullmatch(rf"typedef (.*?)\(\*{name}\)\((.*)\);", code[name]):
                t.callbacks[name] = (self.kind(function[1]), self.given(parameters(function[2])))
        for result, name, given in functions(self.header):
            t.functions[name] = (self.kind(result), self.given(given))
        return t


def read(header=HEADER):
    """Returns the Table of a header."""
    return Reader(header).read()
