"""The header as a table: what the layers of other languages are generated from.

`read(header)` gives a Table of constants, structures, types of functions and functions. A type is one of NUMBERS, "str" for a
string, "ptr X" for a pointer to X, "fn X" for a function of type X, "X N" for an array of N in a structure, or "void".
"""
import dataclasses
import pathlib
import re
import sys

from header import constants, functions, items, parameters

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/holdall.h"

NUMBERS = {
    "int": "int", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8", "uint32_t": "u32", "uint64_t": "u64", "size_t": "size", "char": "char",
}  # fmt: skip


@dataclasses.dataclass
class Table:
    constants: dict  # name: value
    numbers: dict  # typedef: its number
    handles: list
    structs: dict  # name: [(field, type)]
    callbacks: dict  # name: (result, [(parameter, type)])
    functions: dict  # the same


class Reader:
    def __init__(self, header):
        self.header = header
        self.table = Table({}, {}, [], {}, {}, {})

    def kind(self, c):
        """Of a type of C."""
        t = self.table
        bare = re.sub(r"\bconst\b|\bstruct\b", "", c)
        name, stars = bare.replace("*", "").strip(), bare.count("*")
        if stars == 0:
            found = NUMBERS.get(name) or t.numbers.get(name) or ("fn " + name if name in t.callbacks else None) or (name if name == "void" else None)
            if found is None:
                sys.exit(f"table.py: what is the type `{c}`?")
            return found
        if name == "char" and stars == 1 and "const" in c:
            return "str"
        inner = {"void": "void", "char": "char"}.get(name) or NUMBERS.get(name) or t.numbers.get(name) or name
        if inner == name and name not in [*t.handles, *t.structs, "void", "char", "int", "ArrowArrayStream"]:
            sys.exit(f"table.py: what is the type `{c}`?")
        return "ptr " * stars + inner

    def given(self, some):
        return [(p.name, self.kind(p.type)) for p in some]

    def fields(self, members):
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
        t = self.table
        for name, value in constants(self.header):
            t.constants[name.removeprefix("HOLDALL_")] = 2**64 - 1 if value == "UINT64_MAX" else int(value)
        types = {item.name: item for item in items(self.header, "type") if item.name.startswith("holdall_")}
        code = {name: " ".join(item.code.split()) for name, item in types.items()}
        t.handles = [name for name in types if code[name] == f"typedef struct {name} {name};"]
        t.numbers = {name: NUMBERS[m[1]] for name in types if (m := re.fullmatch(rf"typedef (\w+) {name};", code[name]))}
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
    return Reader(header).read()
