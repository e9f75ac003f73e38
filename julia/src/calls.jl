# How the functions are called: errors, handles, options.

"A call that failed: its status, the record or chunk (as C counts them, from 0) or -1, errno or 0, and the words."
struct HoldallError <: Exception
    status::Int32
    os_code::Int32
    position::Int64
    message::String
end

words(message) = String(collect(Iterators.takewhile(!iszero, message)))
HoldallError(e::holdall_error) = HoldallError(e.status, e.os_code, e.position, words(e.message))

Base.showerror(io::IO, e::HoldallError) =
    print(io, "HoldallError: ", e.message, " (", unsafe_string(holdall_status_name(e.status)), ")")

"Calls a function that can fail, and gives its status, 0 or more."
function check(f, arguments...)
    err = Ref{holdall_error}()
    status = f(arguments..., err)
    status < 0 && throw(HoldallError(err[]))
    return status
end

"Warns where something damaged was left out, as `skip_damaged` wished."
sound(status) = status == HOLDALL_NOT_FOUND && @warn "what is damaged was left out: it is empty, or zeros"

"One of C's handles, closed with `free`."
mutable struct Handle{T}
    pointer::Ptr{T}
    free::Any
    keep::Any # what must live as long
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

# Handed to a call, a handle lives as long as that, and one that is closed never comes to it.
Base.cconvert(::Type{Ptr{T}}, h::Handle{T}) where {T} = h
function Base.unsafe_convert(::Type{Ptr{T}}, h::Handle{T}) where {T}
    h.pointer == C_NULL && throw(ArgumentError("it was closed"))
    return h.pointer
end

"Makes a call that opens something: its handle comes through the argument behind those given."
function opened(f, ::Type{T}, free, arguments...; keep = nothing) where {T}
    out = Ref{Ptr{T}}(C_NULL)
    check(f, arguments..., out)
    return Handle(out[], free, keep)
end

"A call that is asked for the size, and then for the bytes."
function sized(f, arguments...)
    n = Ref{Csize_t}(0)
    check(f, arguments..., C_NULL, 0, n)
    bytes = Vector{UInt8}(undef, n[])
    sound(check(f, arguments..., room(bytes), length(bytes), n))
    return bytes
end

# Never NULL, which often has a meaning of its own.
const nothing_there = UInt8[0]
room(bytes) = isempty(bytes) ? nothing_there : bytes

"A named value, or `nothing`."
function value(f, handle, name)
    bytes, n = Ref{Ptr{Cvoid}}(C_NULL), Ref{Csize_t}(0)
    check(f, handle, name, bytes, n) == HOLDALL_NOT_FOUND && return nothing
    return copy(unsafe_wrap(Vector{UInt8}, Ptr{UInt8}(bytes[]), Int(n[])))
end

constant(prefix, name) = getfield(@__MODULE__, Symbol("HOLDALL_", prefix, uppercase(String(name))))

# What the symbols stand for that an option takes.
const PREFIXES = Dict(
    :codec => "CODEC_",
    :checksum => "SUM_",
    :filters => "FILTER_",
    :io => "IO_",
    :bag_limits => "BAG_LIMITS_",
    :bag_shards => "BAG_SHARDS_",
)

number(name, value) = value isa Symbol ? constant(PREFIXES[name], value) : Int64(value)

function set(options, name, value)
    symbol = Symbol("HOLDALL_OPT_", uppercase(String(name)))
    isdefined(@__MODULE__, symbol) || throw(ArgumentError("there is no option $name"))
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

"Calls `f` with a set of options."
function with_options(f, given)
    options = Handle(holdall_options_new(), holdall_options_free)
    try
        foreach(((name, value),) -> set(options, name, value), pairs(given))
        return f(options)
    finally
        close(options)
    end
end

"A mode: :r, :a (changes what is there), :x (nothing may be there), :w (takes its place)."
mode_of(mode) = (r = HOLDALL_READ, a = HOLDALL_APPEND, x = HOLDALL_NEW, w = HOLDALL_REPLACE)[mode]

"The versions of the library and of its codecs."
version() = unsafe_string(holdall_version_text())
