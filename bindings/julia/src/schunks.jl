# Superchunks: a sequence of bytes in compressed chunks. Bytes are numbered from 1.

"""
    Schunk(path, mode = :r; options...)

An open superchunk, a vector of bytes. `create_schunk` creates one.

- `s[1:100]` reads bytes. Only the chunks that contain them are read.
- `append!(s, bytes)` appends, `s[1:3] = bytes` overwrites, and `resize!(s, n)` truncates.
- `commit` makes the changes durable and visible.

path: a path or a `Storage`. Mode: `:r` to read, `:a` to read and change. Throws a `HoldallError` if
the superchunk cannot be opened.
"""
struct Schunk <: AbstractVector{UInt8}
    handle::Handle{holdall_schunk}
end

function Schunk(target::Target, mode::Symbol = :r; options...)
    return with_target(target, options) do path, o
        Schunk(opened(holdall_schunk_open, holdall_schunk, holdall_schunk_close, path, mode_of(mode), o))
    end
end

"""
    create_schunk(path, typesize = 1; format = :bloscpack, mode = :x, options...)

Creates a superchunk and opens it for changes.

- path: a path, `MemoryFiles` or a `new_node`.
- typesize: bytes per item, for filters.
- format: `:bloscpack` or `:b2frame`.
- mode: `:x` creates; `:w` also replaces.

Throws a `HoldallError` if the path exists (mode `:x`).
"""
function create_schunk(target::Target, typesize = 1; format = :bloscpack, mode = :x, options...)
    return with_target(target, options) do path, o
        made = constant("FORMAT_", format)
        Schunk(opened(holdall_schunk_create, holdall_schunk, holdall_schunk_close, path, mode_of(mode), made, typesize, o))
    end
end

Base.close(s::Schunk) = close(s.handle)
Base.size(s::Schunk) = (Int(holdall_schunk_nbytes(s.handle)),)
Base.getindex(s::Schunk, i::Int) = s[i:i][1]

function Base.getindex(s::Schunk, chosen::AbstractUnitRange{<:Integer})
    @boundscheck checkbounds(s, chosen)
    bytes = Vector{UInt8}(undef, length(chosen))
    isempty(bytes) || warn_damaged(check(holdall_schunk_read, s.handle, first(chosen) - 1, bytes, length(bytes)))
    return bytes
end

function Base.setindex!(s::Schunk, bytes::AbstractVector{UInt8}, chosen::AbstractUnitRange{<:Integer})
    @boundscheck checkbounds(s, chosen)
    length(bytes) == length(chosen) || throw(DimensionMismatch("$(length(bytes)) bytes for a range of $(length(chosen))"))
    isempty(bytes) || check(holdall_schunk_write, s.handle, first(chosen) - 1, Vector{UInt8}(bytes), length(bytes))
    return s
end

Base.setindex!(s::Schunk, byte, i::Int) = setindex!(s, UInt8[byte], i:i)

"Appends bytes to the content. Fills up the last chunk first."
function Base.append!(s::Schunk, bytes::AbstractVector{UInt8})
    check(holdall_schunk_append, s.handle, room(Vector{UInt8}(bytes)), length(bytes))
    return s
end

"Truncates the content to n bytes. Throws a `HoldallError` if it is shorter."
Base.resize!(s::Schunk, n::Integer) = (check(holdall_schunk_truncate, s.handle, n); s)

"Returns a named tuple with the fields of holdall_schunk_info."
info(s::Schunk) = filled(holdall_schunk_get_info, holdall_schunk_info, s.handle)

"Makes all changes durable and visible, all or none."
commit(s::Schunk) = (check(holdall_schunk_commit, s.handle); nothing)

"Returns the range of bytes of each chunk."
function eachchunk(s::Schunk)
    chunks = 1:Int(holdall_schunk_chunk_count(s.handle))
    ends = cumsum(chunk_info(s, i).nbytes for i in chunks)
    return [a+1:b for (a, b) in zip([0; ends], ends)]
end

"Returns a named tuple with the fields of holdall_chunk_info for chunk i, from 1."
chunk_info(s::Schunk, i) = filled(holdall_schunk_get_chunk_info, holdall_chunk_info, s.handle, i - 1)

"""
    insert_blocks!(schunk, i, blocks)

Inserts one chunk of blocks, which are vectors of bytes or strings of any length but 0, before chunk
i, from 1, or at the end if i is one more than the number of chunks. A frame without content becomes
one of such blocks (readable from c-blosc2 3 on), as a `BatchArray` of python-blosc2 is.
"""
function insert_blocks!(s::Schunk, i, blocks)
    data = UInt8[]
    offsets = UInt64[0]
    for block in blocks
        append!(data, Vector{UInt8}(block))
        push!(offsets, length(data))
    end
    check(holdall_schunk_insert_blocks, s.handle, i - 1, room(data), offsets, length(offsets) - 1)
    return s
end

"Returns the range of bytes of each block of chunk i, from 1, in the content of the chunk."
function eachblock(s::Schunk, i)
    n = Ref{Csize_t}(0)
    check(holdall_schunk_block_offsets, s.handle, i - 1, C_NULL, 0, n)
    offsets = Vector{UInt64}(undef, n[] + 1)
    check(holdall_schunk_block_offsets, s.handle, i - 1, offsets, length(offsets), n)
    return [Int(a)+1:Int(b) for (a, b) in zip(offsets, offsets[2:end])]
end

"Returns the content of block k of chunk i, both from 1, without decoding the other blocks."
function read_block(s::Schunk, i, k)
    n = Ref{Csize_t}(0)
    check(holdall_schunk_read_block, s.handle, i - 1, k - 1, C_NULL, 0, n)
    bytes = Vector{UInt8}(undef, n[])
    warn_damaged(check(holdall_schunk_read_block, s.handle, i - 1, k - 1, room(bytes), length(bytes), n))
    return bytes
end

"Returns a named value as bytes, or `nothing` if there is none. Bloscpack has one, named \"\"."
attr(s::Schunk, name = "") = value(holdall_schunk_attr_get, s.handle, name)

"""
Sets a named value to bytes. Bloscpack has one, named "", of JSON. `fixed`: in the header of a frame.
"""
function set_attr!(s::Schunk, name, bytes; fixed = false)
    set = fixed ? holdall_schunk_attr_set_fixed : holdall_schunk_attr_set
    check(set, s.handle, name, room(Vector{UInt8}(bytes)), length(bytes))
    return s
end

# An output of a stream, and the last exception of it.
mutable struct Output
    io::IO
    raised::Any
end

function stream_write(ctx::Ptr{Cvoid}, src::Ptr{Cvoid}, n::Csize_t)::Int64
    output = unsafe_pointer_to_objref(ctx)::Output
    try
        return unsafe_write(output.io, Ptr{UInt8}(src), UInt(n)) == n ? Int64(0) : FAILED
    catch e
        output.raised = e
        return FAILED
    end
end

"""
    SchunkStream(io, typesize = 1; length = nothing, metadata = nothing, options...)

Writes a Bloscpack file from front to back, for a pipe or a socket, in bounded memory.

- `write(s, bytes)` appends content and writes the chunks that are complete.
- `finish(s)` writes the rest. Without it the file is truncated.

length: the number of bytes of content, if it is known. metadata: JSON. An exception of `io` is
thrown again. Other failures throw a `HoldallError`.
"""
struct SchunkStream
    handle::Handle{holdall_schunk_stream}
    output::Output
end

function SchunkStream(io::IO, typesize::Integer = 1; length = nothing, metadata = nothing, options...)
    output = Output(io, nothing)
    run = @cfunction(stream_write, Int64, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t))
    ctx, size = pointer_from_objref(output), length === nothing ? typemax(UInt64) : UInt64(length)
    s = with_options(options) do o
        made = opened(holdall_schunk_stream_new, holdall_schunk_stream, holdall_schunk_stream_free, run, ctx, typesize, size, o; keep = output)
        SchunkStream(made, output)
    end
    if metadata !== nothing
        json = Vector{UInt8}(metadata)
        check(holdall_schunk_stream_set_metadata, s.handle, room(json), Base.length(json))
    end
    return s
end

"Calls a function of a stream, and throws the exception of its output, if there is one."
function run_stream(f, s::SchunkStream, arguments...)
    try
        GC.@preserve s check(f, s.handle, arguments...)
    catch
        raised, s.output.raised = s.output.raised, nothing
        raised === nothing ? rethrow() : throw(raised)
    end
    return nothing
end

function Base.write(s::SchunkStream, bytes::Vector{UInt8})
    run_stream(holdall_schunk_stream_write, s, room(bytes), length(bytes))
    return length(bytes)
end

Base.write(s::SchunkStream, bytes::AbstractVector{UInt8}) = write(s, Vector{UInt8}(bytes))

"Writes the rest. Throws a `HoldallError` if there is less content than its length."
finish(s::SchunkStream) = run_stream(holdall_schunk_stream_finish, s)

Base.close(s::SchunkStream) = close(s.handle)
