# Where the bytes live when that is no path: bytes in memory, or functions of Julia's that C reads by.

"""
    Storage(size, read_at)

A container that is read from elsewhere than a path; `Bag(storage)`, `Schunk(storage)`, `ChunkedArray(storage)` and
`Table(storage)` open it. `size(name)` is the length of a file, or `nothing` where there is none; `read_at(name, at, n)` the n bytes
from byte `at` on (from 0), fewer only at its end. A container of one file has the name "". They run on the thread that reads,
unless the option `threads` is given.

`Storage(bytes)` is one file in memory. No name tells whether the records of a bag are compressed: `codec = :zstd` where they are.
"""
struct Storage
    size::Any
    read_at::Any
end

Storage(bytes::AbstractVector{UInt8}) =
    Storage(name -> name == "" ? length(bytes) : nothing, (name, at, n) -> view(bytes, at+1:min(at + n, length(bytes))))

const NO_FILE, FAILED = -Int64(Libc.ENOENT), -Int64(Libc.EIO)

function storage_size(ctx::Ptr{Cvoid}, name::Cstring)::Int64
    try
        n = storage_of(ctx).size(unsafe_string(name))
        return n === nothing ? NO_FILE : Int64(n)
    catch
        return FAILED
    end
end

function storage_read_at(ctx::Ptr{Cvoid}, name::Cstring, at::UInt64, dst::Ptr{Cvoid}, n::Csize_t)::Int64
    try
        bytes = storage_of(ctx).read_at(unsafe_string(name), Int(at), Int(n))
        length(bytes) <= n || return FAILED
        copyto!(unsafe_wrap(Vector{UInt8}, Ptr{UInt8}(dst), length(bytes)), bytes)
        return length(bytes)
    catch
        return FAILED
    end
end

# What C may call, by the number that it has in place of a pointer, until it says that nothing uses it any more.
const used = Dict{UInt,Storage}()
const used_lock = ReentrantLock()
const last_number = Ref{UInt}(0)

storage_of(ctx) = lock(() -> used[UInt(ctx)], used_lock)
storage_destroy(ctx::Ptr{Cvoid})::Cvoid = (lock(() -> delete!(used, UInt(ctx)), used_lock); nothing)

"Calls `f` with a handle of the storage; what it opens keeps that."
function with_storage(f, storage::Storage)
    number = lock(used_lock) do
        last_number[] += 1
        used[last_number[]] = storage
        last_number[]
    end
    size = @cfunction(storage_size, Int64, (Ptr{Cvoid}, Cstring))
    read_at = @cfunction(storage_read_at, Int64, (Ptr{Cvoid}, Cstring, UInt64, Ptr{Cvoid}, Csize_t))
    destroy = @cfunction(storage_destroy, Cvoid, (Ptr{Cvoid},))
    functions = holdall_io_functions(
        sizeof(holdall_io_functions), Ptr{Cvoid}(number), size, read_at, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, destroy)
    io = opened(holdall_io_from_functions, holdall_io, holdall_io_close, Ref(functions))
    try
        return f(io)
    finally
        close(io)
    end
end

in_storage(f, type, free, storage, options) =
    with_storage(io -> with_options(o -> opened(f, type, free, io, HOLDALL_READ, o), options), storage)

Bag(storage::Storage; options...) = Bag([storage]; options...)

# A bag of shards in one place each.
function Bag(shards::AbstractVector{Storage}; options...)
    nested(handles, rest) =
        isempty(rest) ? in_places(handles, options) : with_storage(io -> nested([handles; io], rest[2:end]), first(rest))
    return Bag(nested(Handle{holdall_io}[], shards))
end

function in_places(handles, options)
    GC.@preserve handles begin
        places = [h.pointer for h in handles]
        return with_options(o -> opened(holdall_bag_open_io, holdall_bag, holdall_bag_close, places, length(places), o), options)
    end
end

Schunk(storage::Storage; options...) = Schunk(in_storage(holdall_schunk_open_io, holdall_schunk, holdall_schunk_close, storage, options))
ChunkedArray(storage::Storage; options...) =
    chunked(in_storage(holdall_array_open_io, holdall_array, holdall_array_close, storage, options))
Table(storage::Storage; options...) = Table(in_storage(holdall_table_open_io, holdall_table, holdall_table_close, storage, options))
