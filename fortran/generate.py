"""usage: generate.py HEADER FOLDER: makes holdall_c.inc and holdall_*_kinds.inc in FOLDER.

holdall_c.inc has an interface for each function of the header, and its constants. The others have what Fortran wants
once for every type of items: procedures that differ in nothing but that. All are kept with the source, for those who
compile it have no Python; the test fortran.generated looks that they are what this makes.
"""
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "bindings"))
from header import constants, functions  # noqa: E402

SCALARS = {
    "holdall_status": "integer(c_int32_t)", "holdall_mode": "integer(c_int32_t)", "holdall_format": "integer(c_int32_t)",
    "holdall_kind": "integer(c_int32_t)", "holdall_option": "integer(c_int32_t)", "int32_t": "integer(c_int32_t)", "uint32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)", "uint64_t": "integer(c_int64_t)", "size_t": "integer(c_size_t)", "int": "integer(c_int)",
}
# Pointers that a function fills with more than one number.
FILLED = {"records", "offsets"}

# Suffix, type and what NumPy calls it; bytes an item.
KINDS = [
    ("i1", "integer(int8)", "i", 1), ("i2", "integer(int16)", "i", 2), ("i4", "integer(int32)", "i", 4), ("i8", "integer(int64)", "i", 8),
    ("r4", "real(real32)", "f", 4), ("r8", "real(real64)", "f", 8), ("c8", "complex(real32)", "c", 8), ("c16", "complex(real64)", "c", 16),
    ("l1", "logical(c_bool)", "b", 1),
]
# Ranks with strides of their own: those that most compilers know.
RANKS = 15


def argument(p):
    """ How Fortran declares a parameter; with what stands behind its name, where it is an array. """
    base = p.type.replace("const ", "").rstrip(" *")
    if p.type.endswith("_fn"):
        return "type(c_funptr), value"
    if not p.pointer:
        return SCALARS[p.type] + ", value"
    if p.type == "holdall_error *":
        return "type(holdall_error_c), intent(inout), optional"
    if p.out() or p.type == "const void **":
        return "type(c_ptr), intent(out)"
    if base == "char" and "const" in p.type and p.type.count("*") == 1:
        return "character(kind=c_char), intent(in)", "(*)"
    if base in SCALARS and p.type.count("*") == 1:
        if "const" in p.type:
            return SCALARS[base] + ", intent(in), optional", "(*)"
        return SCALARS[base] + ", intent(inout), optional", "(*)" if p.name in FILLED else ""
    return "type(c_ptr), value"


def wrapped(line):
    """ A statement on lines of at most 132 characters. """
    out, indent = [], " " * (len(line) - len(line.lstrip()) + 4)
    while len(line) > 130:
        at = line.rindex(", ", 0, 128) + 2
        out.append(line[:at].rstrip() + " &")
        line = indent + line[at:]
    return "\n".join(out + [line])


def interface(result, name, parameters):
    names = ", ".join(p.name for p in parameters)
    here = "c" + name[len("holdall"):]
    begin = "subroutine" if result == "void" else "function"
    lines = [wrapped(f'    {begin} {here}({names}) bind(C, name="{name}")'), "      import"]
    for p in parameters:
        how = argument(p)
        how, array = how if isinstance(how, tuple) else (how, "")
        lines.append(f"      {how} :: {p.name}{array}")
    if result != "void":
        lines.append(f"      {SCALARS.get(result, 'type(c_ptr)')} :: {here}")
    return "\n".join(lines + [f"    end {begin}"])


def constant(name, value):
    if value == "UINT64_MAX":
        return f"  integer(c_int64_t), parameter, public :: {name} = -1_c_int64_t"
    return f"  integer(c_int32_t), parameter, public :: {name} = {value}_c_int32_t"


def layer(header):
    out = ["! holdall.h for Fortran: its constants, and its functions, which are c_X here for holdall_X. The manual is the header.",
           "! Made by generate.py; do not edit.",
           "module holdall_constants", "  use, intrinsic :: iso_c_binding, only: c_int32_t, c_int64_t", "  implicit none", "  private", ""]
    out += [constant(*c) for c in constants(header)]
    out += ["end module", "", "module holdall_c", "  use, intrinsic :: iso_c_binding", "  implicit none", "  public", "",
            "  ! holdall_error",
            "  type, bind(C) :: holdall_error_c",
            "    integer(c_int32_t) :: status = 0, os_code = 0",
            "    integer(c_int64_t) :: position = -1",
            "    character(kind=c_char) :: message(496) = c_null_char",
            "  end type", "", "  interface"]
    return "\n".join(out + [interface(*f) for f in functions(header)] + ["  end interface", "end module", ""])


def lay(suffix, of, letter):
    """ Where an array of the caller's lies, whatever its rank and strides.

    gfortran 12 begins the places of an expression, x + 1, at 0 here, not at 1.
    """
    lines = [f"  subroutine lay_{suffix}(x, b)", f"    {of}, intent(in), target :: x(..)", "    type(buffer), intent(out) :: b", f"    integer :: l({RANKS})",
             f"    call begin(b, '{letter}', storage_size(x) / 8, shape(x, kind=int64))", "    if (b%items == 0) return",
             "    select rank (x)", "    rank (0)", "      b%at = address(c_loc(x))"]
    for n in range(1, RANKS + 1):
        first = [f"l({i})" for i in range(1, n + 1)]
        lines += [f"    rank ({n})", f"      l(:{n}) = lbound(x)", f"      b%at = address(c_loc(x({', '.join(first)})))"]
        for d in range(n):
            second = ", ".join([*first[:d], first[d] + " + 1", *first[d + 1 :]])
            lines.append(wrapped(f"      if (b%lengths({d + 1}) > 1) b%strides({d + 1}) = address(c_loc(x({second}))) - b%at"))
    return lines + ["    end select", "  end subroutine", ""]


WHERE = "type(holdall_box), intent(in), optional :: where"
BITS = "logical, intent(in), optional :: bits"
NAME = "character(*), intent(in) :: name"
FIRST = "integer(int64), intent(in), optional :: first"
AXIS = "integer, intent(in), optional :: axis"
AT = "integer(int64), intent(in) :: at"
# Nothing is CONTIGUOUS: gfortran 12 hands such arrays of any rank on with other bounds, and so with other items.
# By type: a procedure's name, its arguments, its handle, x and the others, and what does its work.
PROCEDURES = {
    "array": [
        ("read", "x, where, bits", "in", "intent(inout)", [WHERE, BITS], "box_read(self, b, where, bits, err)"),
        ("write", "x, where, bits", "inout", "intent(in)", [WHERE, BITS], "box_write(self, b, where, bits, err)"),
        ("append", "x, axis", "inout", "intent(in)", [AXIS], "grow(self, b, axis, -1_int64, err)"),
        ("insert", "x, at, axis", "inout", "intent(in)", [AT, AXIS], "grow(self, b, axis, at, err)"),
    ],
    "schunk": [
        ("read", "x, at", "in", "intent(inout)", [AT], "run_read(self, b, at, err)"),
        ("write", "x, at", "inout", "intent(in)", [AT], "run_write(self, b, at, err)"),
        ("append", "x", "inout", "intent(in)", [], "run_append(self, b, err)"),
    ],
    "table": [
        ("read", "name, x, first, bits", "in", "intent(inout)", [NAME, FIRST, BITS], "column_read(self, name, b, first, bits, err)"),
        ("write", "name, x, first", "inout", "intent(in)", [NAME, FIRST], "column_write(self, name, b, first, err)"),
        ("put", "name, x", "inout", "intent(in)", [NAME], "column_put(self, name, b, err)"),
    ],
}


def procedures(of_type):
    out = []
    for verb, names, handle, given, others, work in PROCEDURES[of_type]:
        for suffix, of, letter, _ in KINDS:
            out += [f"  subroutine {verb}_{suffix}(self, {names}, err)", f"    class(holdall_{of_type}), intent({handle}) :: self",
                    f"    {of}, {given}, target :: x(..)"] + [f"    {other}" for other in others]
            out += ["    type(holdall_error), intent(out), optional :: err", "    type(buffer) :: b", f"    call lay_{suffix}(x, b)",
                    f"    call {work}", "  end subroutine", ""]
    return out


def dtypes():
    out = []
    for suffix, of, letter, size in KINDS:
        out += [f"  pure function dtype_{suffix}(x) result(name)", f"    {of}, intent(in) :: x(..)", "    character(:), allocatable :: name",
                f"    name = spelled('{letter}', storage_size(x) / 8)", "  end function", ""]
    return out


def main(header, folder):
    folder = pathlib.Path(folder)
    folder.joinpath("holdall_c.inc").write_text(layer(pathlib.Path(header)))
    made = ["! Made by generate.py; do not edit. Procedures that there is one of for each type of items."]
    parts = {"lay": [line for k in KINDS for line in lay(*k[:3])] + dtypes(), **{of: procedures(of) for of in PROCEDURES}}
    for name, lines in parts.items():
        folder.joinpath(f"holdall_{name}_kinds.inc").write_text("\n".join(made + lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
