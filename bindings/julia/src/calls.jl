# Calls of the library: errors, handles, options.

"""
A failed call of the library.

- status: the negative status of the header.
- os_code: errno, or 0.
- position: the index of the record or chunk that failed, from 0, or -1.
- message: the message.
"""
struct HoldallError <: Exception
    status::Int32
    os_code::Int32
    position::Int64
    message::String
end

text_of(message) = String(collect(Iterators.takewhile(!iszero, message)))
HoldallError(e::holdall_error) = HoldallError(e.status, e.os_code, e.position, text_of(e.message))

Base.showerror(io::IO, e::HoldallError) =
    print(io, "HoldallError: ", e.message, " (", unsafe_string(holdall_status_name(e.status)), ")")

"Calls a function that can fail, and returns its status, 0 or more. Throws a `HoldallError`."
function check(f, arguments...)
    err = Ref{holdall_error}()
    status = f(arguments..., err)
    status < 0 && throw(HoldallError(err[]))
    return status
end

"Warns if the status reports that corrupt data was skipped, because of `skip_damaged`."
warn_damaged(status) = status == HOLDALL_DAMAGED && @warn "corrupt data was skipped"

"A handle of the library, closed with `free`."
mutable struct Handle{T}
    pointer::Ptr{T}
    free::Any
    keep::Any # an object that must outlive the handle
    function Handle(pointer::Ptr{T}, free, keep = nothing) where {T}
        return finalizer(close, new{T}(pointer, free, keep))
    end
end

function Base.close(h::Handle)
    pointer, h.pointer = h.pointer, C_NULL
    pointer == C_NULL || h.free(pointer)
    return nothing
end

Base.isopen(h::Handle) = h.pointer != C_NULL

# A handle stays alive during a call. A closed handle is never passed to one.
Base.cconvert(::Type{Ptr{T}}, h::Handle{T}) where {T} = h
function Base.unsafe_convert(::Type{Ptr{T}}, h::Handle{T}) where {T}
    h.pointer == C_NULL && throw(ArgumentError("the handle is closed"))
    return h.pointer
end

"Calls a function that opens a handle, and returns the handle, which is its last output."
function opened(f, ::Type{T}, free, arguments...; keep = nothing) where {T}
    out = Ref{Ptr{T}}(C_NULL)
    check(f, arguments..., out)
    return Handle(out[], free, keep)
end

"Calls a function first for the size, then for the bytes, and returns the bytes."
function sized(f, arguments...)
    n = Ref{Csize_t}(0)
    check(f, arguments..., C_NULL, 0, n)
    bytes = Vector{UInt8}(undef, n[])
    warn_damaged(check(f, arguments..., room(bytes), length(bytes), n))
    return bytes
end

# A pointer that is never NULL, because NULL often has a meaning of its own.
const nothing_there = UInt8[0]
room(bytes) = isempty(bytes) ? nothing_there : bytes

"Returns a named value as bytes, or `nothing` if there is none."
function value(f, handle, name)
    bytes, n = Ref{Ptr{Cvoid}}(C_NULL), Ref{Csize_t}(0)
    status = check(f, handle, name, bytes, n)
    warn_damaged(status)
    status == HOLDALL_OK || return nothing
    return copy(unsafe_wrap(Vector{UInt8}, Ptr{UInt8}(bytes[]), Int(n[])))
end

"""
Calls a function that fills a structure, and returns its fields as a named tuple.

Constants become symbols. Shapes are in the order of Julia.
"""
function filled(f, ::Type{T}, arguments...) where {T}
    info = Ref{T}()
    GC.@preserve info unsafe_store!(Ptr{Csize_t}(Base.unsafe_convert(Ptr{T}, info)), sizeof(T))
    check(f, arguments..., info)
    return GC.@preserve arguments (; (name => field(info[], name) for name in fieldnames(T) if !(name in HELPERS))...)
end

const HELPERS = (:struct_size, :filter_count, :reserved)
const CONSTANTS = (:format, :codec, :checksum, :order, :limits, :shards)

function field(info, name)
    found = getfield(info, name)
    name in CONSTANTS && return name_of(found)
    name == :filters && return Tuple(name_of(found[i]) for i in 1:info.filter_count)
    startswith(String(name), "is_") && return found != 0
    found isa Cstring && return unsafe_string(found)
    found isa Ptr{UInt64} && return Tuple(Int(unsafe_load(found, i)) for i in info.ndim:-1:1)
    return Int(found)
end

"Returns the name of a constant as a symbol, such as `:zstd`, or `nothing` if there is none."
function name_of(constant)
    name = holdall_constant_name(constant)
    return name == C_NULL ? nothing : Symbol(unsafe_string(name))
end

constant(prefix, name) = getfield(@__MODULE__, Symbol("HOLDALL_", prefix, uppercase(String(name))))

# Prefixes of the constants that an option accepts as symbols.
const PREFIXES = Dict(
    :codec => "CODEC_",
    :checksum => "CHECKSUM_",
    :filters => "FILTER_",
    :io => "IO_",
    :bag_dictionary => "BAG_DICTIONARY_",
    :bag_limits => "BAG_LIMITS_",
    :bag_shards => "BAG_SHARDS_",
)

number(name, value) = value isa Symbol ? constant(PREFIXES[name], value) : Int64(value)

function set(options, name, value)
    symbol = Symbol("HOLDALL_OPT_", uppercase(String(name)))
    isdefined(@__MODULE__, symbol) || throw(ArgumentError("unknown option $name"))
    option = getfield(@__MODULE__, symbol)
    if name == :filters && !(value isa Vector{UInt8})
        value = UInt8[number(name, filter) for filter in (value isa Symbol ? (value,) : value)]
    end
    if value isa Vector{UInt8}
        check(holdall_options_set_bytes, options, option, room(value), length(value))
    else
        check(holdall_options_set, options, option, number(name, value))
    end
end

"Calls `f` with a set of options, and returns its result."
function with_options(f, given)
    options = Handle(holdall_options_new(), holdall_options_free)
    try
        foreach(((name, value),) -> set(options, name, value), pairs(given))
        return f(options)
    finally
        close(options)
    end
end

"""
Returns the constant of a mode.

- `:r` reads.
- `:a` changes an existing container.
- `:x` creates a container; none may exist.
- `:w` creates a container and replaces an existing one.
"""
mode_of(mode) = (r = HOLDALL_READ, a = HOLDALL_APPEND, x = HOLDALL_CREATE, w = HOLDALL_REPLACE)[mode]

"Returns the versions of the library and its codecs as text."
version() = unsafe_string(holdall_version_text())

# Returns the ranges that a call stores in three arrays.
function ranges(f, handle, most)
    firsts, counts, sizes = (zeros(UInt64, most) for _ in 1:3)
    n = Ref{Csize_t}(0)
    check(f, handle, most, room(firsts), room(counts), room(sizes), n)
    range(i) = (first = Int(firsts[i]) + 1, count = Int(counts[i]), bytes = Int(sizes[i]))
    return [range(i) for i in 1:n[]]
end
