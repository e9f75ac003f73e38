"""The functions that holdall.h declares, for the scripts that make something of them."""
import re


class Parameter:
    def __init__(self, text):
        m = re.fullmatch(r"(.*?)(\w+)", text)
        self.type, self.name = m[1].strip(), m[2]
        self.pointer = self.type.endswith("*") or self.type.endswith("_fn")

    def handle(self):
        m = re.fullmatch(r"(?:const )?holdall_(\w+) \*", self.type)
        return m[1] if m and m[1] not in ("error", "io_functions", "format", "kind") else None

    def out(self):
        m = re.fullmatch(r"holdall_(\w+) \*\*", self.type)
        return m[1] if m else None


def functions(header):
    """ The result's type, the name and the parameters of each. """
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for m in re.finditer(r"HOLDALL_API\s+(?:HOLDALL_USE\s+)?([^;{]*?)\s*\(([^;]*)\);", text):
        result, name = re.fullmatch(r"(.*?)(\w+)", " ".join(m[1].split())).groups()
        given = " ".join(m[2].split())
        yield result.strip(), name, [] if given == "void" else [Parameter(p) for p in given.split(", ")]


def constants(header):
    """ The name and the value, as it is written there, of each constant that is a number. """
    for m in re.finditer(r"^#define (HOLDALL_\w+) \(?(-?\d+|UINT64_MAX)\)?$", header, flags=re.M):
        yield m[1], m[2]
