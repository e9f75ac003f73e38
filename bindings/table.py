"""The header as a table: what the layers of other languages are generated from.

`read(header)` gives a Table of constants, structures, types of functions and functions. A type is one of NUMBERS, "str" for a
string, "ptr X" for a pointer to X, "fn X" for a function of type X, "X N" for an array of N in a structure, or "void".
"""
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/holdall.h"
sys.path.insert(0, str(ROOT / "c-tests/calls"))
from header import constants, functions  # noqa: E402

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
        self.text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
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

    def parameters(self, text):
        text = " ".join(text.split())
        if text == "void":
            return []
        split = (re.fullmatch(r"(.*?)(\w+)", p.strip()) for p in re.split(r",(?![^(]*\))", text))
        return [(m[2], self.kind(m[1])) for m in split]

    def fields(self, body):
        for line in filter(None, (" ".join(s.split()) for s in body.split(";"))):
            function = re.fullmatch(r".*?\(\*(\w+)\)\s*\(.*\)", line)
            array = re.fullmatch(r"(.*?)(\w+)\[(\d+)\]", line)
            plain = re.fullmatch(r"(.*?)(\w+)", line)
            if function:
                yield function[1], "ptr void"
            elif array:
                yield array[2], f"{self.kind(array[1])} {array[3]}"
            else:
                yield plain[2], self.kind(plain[1])

    def read(self):
        t = self.table
        for name, value in constants(self.text):
            t.constants[name.removeprefix("HOLDALL_")] = 2**64 - 1 if value == "UINT64_MAX" else int(value)
        t.handles = re.findall(r"^typedef struct (holdall_\w+) \1;", self.text, flags=re.M)
        t.numbers = {name: NUMBERS[c] for c, name in re.findall(r"^typedef (\w+) (holdall_\w+);", self.text, flags=re.M)}
        structs = re.findall(r"^typedef struct (holdall_\w+) \{(.*?)^\} \1;", self.text, flags=re.M | re.S)
        t.structs = {name: [] for name, _ in structs}
        for name, body in structs:
            t.structs[name] = list(self.fields(body))
        for result, name, given in re.findall(r"^typedef ([\w ]+?\s*\**)\(\*(holdall_\w+)\)\(([^;]*)\);", self.text, flags=re.M):
            t.callbacks[name] = (self.kind(result), self.parameters(given))
        for result, name, given in functions(self.text):
            t.functions[name] = (self.kind(result), [(p.name, self.kind(p.type)) for p in given])
        return t


def read(header=HEADER):
    return Reader(header.read_text()).read()
