"""The Julia package as text, parsed by tree-sitter's grammar: the layer of calls becomes functions that ctypes calls, and
C++ that a compiler holds against the header.

Nothing here knows the header, or what the layer was made from: names, numbers of arguments, types, structures and constants are
those that are written in bindings/julia/src/libholdall.jl.
"""
import ctypes as c
import dataclasses
import pathlib

import script
import tree_sitter
import tree_sitter_julia

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYER = ROOT / "bindings/julia/src/libholdall.jl"
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_julia.language()))

NUMBERS = {
    "Cint": (c.c_int, "int"), "Int32": (c.c_int32, "int32_t"), "Int64": (c.c_int64, "int64_t"), "UInt8": (c.c_uint8, "uint8_t"),
    "UInt32": (c.c_uint32, "uint32_t"), "UInt64": (c.c_uint64, "uint64_t"), "Csize_t": (c.c_size_t, "size_t"), "Cvoid": (None, "void"),
}  # fmt: skip


def parse(text):
    return PARSER.parse(text.encode()).root_node


def faults(node):
    """Where the grammar finds no Julia: line numbers."""
    if node.type == "ERROR" or node.is_missing:
        yield node.start_point[0] + 1
    for child in node.children:
        yield from faults(child)


def text(node):
    return node.text.decode()


@dataclasses.dataclass
class Layer:
    constants: dict
    handles: list
    structs: dict  # name: [(field, type)]
    functions: dict  # name: (result, [(parameter, type)])


def typed(node):
    """`name::Type`: both."""
    assert node.type == "typed_expression", text(node)
    name, _, kind = node.children
    return text(name), text(kind)


def function(node):
    """`name(a, b) = @ccall libholdall.name(a::A, b::B)::R`: names as they are called, and types."""
    call, _, macro = node.children
    assert macro.type == "macrocall_expression" and text(macro.children[0]) == "@ccall", text(macro)
    (arguments,) = (n for n in macro.children if n.type == "macro_argument_list")
    (inner,) = arguments.named_children
    target, _, result = inner.children
    library, name = text(target.named_children[0]).split(".")
    given = [typed(n) for n in target.named_children[1].named_children]
    named = [text(n) for n in call.named_children[1].named_children]
    assert library == "libholdall" and text(call.named_children[0]) == name, text(call)
    assert named == [n for n, _ in given], f"{name}: {named} are not {given}"
    return name, (text(result), given)


def read(path=LAYER):
    layer = Layer({}, [], {}, {})
    for node in parse(path.read_text()).named_children:
        if node.type == "const_statement":
            name, _, value = node.named_children[0].children
            layer.constants[text(name)] = 2**64 - 1 if text(value) == "typemax(UInt64)" else int(text(value))
        elif node.type == "struct_definition":
            name = text(next(n for n in node.named_children if n.type == "type_head"))
            fields = [typed(n) for n in node.named_children if n.type == "typed_expression"]
            if fields:
                layer.structs[name] = fields
            else:
                layer.handles.append(name)
        elif node.type == "assignment":
            name, signature = function(node)
            assert name not in layer.functions, name
            layer.functions[name] = signature
        else:
            assert node.type == "line_comment", f"line {node.start_point[0] + 1}: {node.type}"
    return layer


def inside(kind, of):
    """What is within the braces of Ptr{...} or NTuple{...}, or None."""
    return kind[len(of) + 1 : -1] if kind.startswith(of + "{") and kind.endswith("}") else None


def as_ctypes(kind):
    if kind == "Cstring":
        return c.c_char_p
    if inside(kind, "Ptr"):
        return c.c_void_p
    if inside(kind, "NTuple"):
        n, of = inside(kind, "NTuple").split(", ")
        return as_ctypes(of) * int(n)
    return NUMBERS[kind][0]


def as_cxx(kind):
    """A pointer to a number or to a pointer is one of that, const or not; to anything else, a pointer to what bears the name."""
    if kind == "Cstring":
        return "char *"
    pointed = inside(kind, "Ptr")
    if pointed:
        return as_cxx(pointed).replace("uint8_t", "byte") + " *"
    if inside(kind, "NTuple"):
        n, of = inside(kind, "NTuple").split(", ")
        return f"std::array<{as_cxx(of)}, {n}>"
    return NUMBERS[kind][1] if kind in NUMBERS else kind


def structures(layer):
    return {name: type(name, (c.Structure,), {"_fields_": [(f, as_ctypes(k)) for f, k in fields]}) for name, fields in layer.structs.items()}


CHECKS = """
#include <holdall.h>
#include <array>
#include <cstddef>
#include <type_traits>
/* Without const, and of functions, pointers to bytes and Arrow's streams just that they are pointers. */
struct byte_like;
template <class T> struct bare { using type = std::remove_cv_t<T>; };
template <> struct bare<char> { using type = byte_like; };
template <> struct bare<const char> { using type = byte_like; };
template <> struct bare<unsigned char> { using type = byte_like; };
template <> struct bare<const unsigned char> { using type = byte_like; };
template <> struct bare<ArrowArrayStream> { using type = void; };
template <class T> struct bare<T *> { using type = std::conditional_t<std::is_function_v<T>, void, typename bare<T>::type> *; };
template <class T> struct bare<T *const> { using type = typename bare<T *>::type; };
using byte = char;
template <class F> struct signature;
template <class R, class... A> struct signature<R (*)(A...)> {
    template <class R2, class... A2> static constexpr bool is() {
        if constexpr (sizeof...(A) != sizeof...(A2)) return false;
        else return std::is_same_v<typename bare<R>::type, typename bare<R2>::type>
            && (std::is_same_v<typename bare<A>::type, typename bare<A2>::type> && ...);
    }
};
"""


def checks(layer):
    """C++ that compiles if the layer is what the header declares."""
    lines = [CHECKS]
    lines += [f'static_assert({name} == {value}{"u" if value >= 2**63 else ""}, "{name}");' for name, value in layer.constants.items()]
    for name, fields in layer.structs.items():
        made = structures(layer)[name]
        lines.append(f'static_assert(sizeof({name}) == {c.sizeof(made)}, "{name}");')
        for field, _ in fields:
            at = getattr(made, field)
            lines.append(f'static_assert(offsetof({name}, {field}) == {at.offset} && sizeof({name}::{field}) == {at.size}, "{name}.{field}");')
    for name, (result, given) in layer.functions.items():
        kinds = ", ".join([as_cxx(result), *(as_cxx(k) for _, k in given)])
        lines.append(f'static_assert(signature<decltype(&{name})>::is<{kinds}>(), "{name}");')
    return "\n".join(lines) + "\n"


def load(layer, path):
    """The library, its functions called as the layer says."""
    lib = c.CDLL(str(path))
    for name, (result, given) in layer.functions.items():
        f = getattr(lib, name)
        f.restype, f.argtypes = as_ctypes(result), [as_ctypes(k) for _, k in given]
    return lib


def caller(layer, path):
    """One that calls the library as the layer says."""
    return script.Caller(load(layer, path), layer, structures(layer), as_ctypes, inside)
