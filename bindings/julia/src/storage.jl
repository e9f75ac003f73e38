# Storages that replace a path: bytes in memory, or Julia functions that the library calls to read.

"""
    Storage(size, read_at)

A read-only storage: the library calls its functions instead of accessing files by path. `Bag`,
`Schunk`, `ChunkedArray` and `Table` accept a storage in place of a path.

- `size(name)` returns the size of a file in bytes, or `nothing` if it does not exist.
- `read_at(name, at, n)` returns n bytes at offset `at` (from 0); fewer only at the end of the file.

A container of one file has the name "". The functions run on the calling thread, unless the option
`threads` is set. If a function throws, the call of the library fails with a `HoldallError`.

`Storage(bytes)` is a storage of one file in memory. A storage has no file name that shows whether
the records of a bag are compressed. If they are, set `codec = :zstd`.
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

# The storages that the library may call. The key is a number that the library gets as ctx pointer.
# storage_destroy removes an entry when no handle uses the storage any more.
const used = Dict{UInt,Storage}()
const used_lock = ReentrantLock()
const last_number = Ref{UInt}(0)

storage_of(ctx) = lock(() -> used[UInt(ctx)], used_lock)
storage_destroy(ctx::Ptr{Cvoid})::Cvoid = (lock(() -> delete!(used, UInt(ctx)), used_lock); nothing)

"Calls `f` with a handle of the storage. Containers that `f` opens keep the storage alive."
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

# A bag of shards, each in its own storage.
function Bag(shards::AbstractVector{Storage}; options...)
    nested(handles, rest) =
        isempty(rest) ? in_storages(handles, options) : with_storage(io -> nested([handles; io], rest[2:end]), first(rest))
    return Bag(nested(Handle{holdall_io}[], shards))
end

function in_storages(handles, options)
    GC.@preserve handles begin
        pointers = [h.pointer for h in handles]
        return with_options(o -> opened(holdall_bag_open_io, holdall_bag, holdall_bag_close, pointers, length(pointers), o), options)
    end
end

Schunk(storage::Storage; options...) = Schunk(in_storage(holdall_schunk_open_io, holdall_schunk, holdall_schunk_close, storage, options))
ChunkedArray(storage::Storage; options...) =
    chunked(in_storage(holdall_array_open_io, holdall_array, holdall_array_close, storage, options))
Table(storage::Storage; options...) = Table(in_storage(holdall_table_open_io, holdall_table, holdall_table_close, storage, options))
