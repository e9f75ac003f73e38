# Conversion between dtypes and Julia types.

"""
Returns the Julia type for the items of a dtype, and whether their bytes must be swapped.

Booleans are `UInt8`. Times and durations are `Int64` in the unit of the dtype. Text, structures and
all other items are tuples of bytes.
"""
function item_type(dtype::AbstractString, itemsize)
    bytes = NTuple{Int(itemsize),UInt8}
    parsed = match(r"^([<>|=])([a-zA-Z])(\d+)?(\[.*\])?$", dtype)
    parsed === nothing && return bytes, false
    order, kind, size = parsed[1], parsed[2], itemsize
    T = get(TYPES, (kind, Int(size)), bytes)
    swap = order == (ENDIAN_BOM == 0x04030201 ? ">" : "<") && size > 1
    # Only integers and floats are swapped as one unit.
    swap && !(T <: Union{Integer,AbstractFloat}) && return bytes, false
    return T, swap
end

const TYPES = Dict(
    ("b", 1) => UInt8,
    ("i", 1) => Int8,
    ("i", 2) => Int16,
    ("i", 4) => Int32,
    ("i", 8) => Int64,
    ("u", 1) => UInt8,
    ("u", 2) => UInt16,
    ("u", 4) => UInt32,
    ("u", 8) => UInt64,
    ("f", 2) => Float16,
    ("f", 4) => Float32,
    ("f", 8) => Float64,
    ("c", 8) => ComplexF32,
    ("c", 16) => ComplexF64,
    ("M", 8) => Int64,
    ("m", 8) => Int64,
)

"Returns the dtype of a type in the spelling of NumPy."
function dtype_of(::Type{T}) where {T}
    kind = T <: Complex ? "c" : T <: AbstractFloat ? "f" : T <: Unsigned ? "u" : T <: Signed ? "i" : "V"
    order = sizeof(T) == 1 || kind == "V" ? "|" : ENDIAN_BOM == 0x04030201 ? "<" : ">"
    return string(order, kind, sizeof(T))
end
