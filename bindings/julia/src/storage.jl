# Storages that replace a path: bytes in memory, or Julia functions that the library calls to read.

"""
    Storage(size, read_at; read_ranges = nothing)

A read-only storage: the library calls its functions instead of accessing files by path. `Bag`,
`Schunk`, `ChunkedArray` and `Table` accept a storage in place of a path.

- `size(name)` returns the size of a file in bytes, or `nothing` if it does not exist.
- `read_at(name, at, n)` returns n bytes at offset `at` (from 0); fewer only at the end of the file.

- `read_ranges(ranges)` reads ranges, at once or one by one, for a storage in which each call takes
  long, such as a server: frames and bags are then opened and read with few calls. A range is a tuple
  of a name, an offset, and a number of bytes, which may be 0. A negative offset is counted from the
  end of the file; the range begins at 0 if the file is shorter. It returns for each range a tuple of
  the size of the file in bytes and the bytes that the file has of the range, or `nothing` if the file
  does not exist.

A container of one file has the name "". The functions run on the calling thread, unless the option
`threads` is set. If a function throws, the call of the library fails with a `HoldallError`.

`Storage(bytes)` is a storage of one file in memory. A storage has no file name that shows whether
the records of a bag are compressed. If they are, set `codec = :zstd`.
"""
struct Storage
    size::Any
    read_at::Any
    read_ranges::Any
end

Storage(size, read_at; read_ranges = nothing) = Storage(size, read_at, read_ranges)

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

function storage_read_ranges(ctx::Ptr{Cvoid}, ranges::Ptr{holdall_storage_range}, n::Csize_t)::Int64
    try
        requested = unsafe_wrap(Vector{holdall_storage_range}, ranges, n)
        results = storage_of(ctx).read_ranges([(unsafe_string(r.name), r.at, Int(r.n)) for r in requested])
        length(results) == n || return FAILED
        for (i, (r, result)) in enumerate(zip(requested, results))
            size = result === nothing ? NO_FILE : take_range(r, result...)
            requested[i] = holdall_storage_range(r.name, r.at, r.dst, r.n, size)
        end
        return 0
    catch
        return FAILED
    end
end

"Copies the bytes that were read of a range, and returns the size of the file."
function take_range(requested::holdall_storage_range, size, bytes)
    from = requested.at < 0 ? max(size + requested.at, 0) : requested.at
    length(bytes) == clamp(size - from, 0, Int(requested.n)) || return FAILED
    copyto!(unsafe_wrap(Vector{UInt8}, Ptr{UInt8}(requested.dst), length(bytes)), bytes)
    return Int64(size)
end

# The storages that the library may call. The key is a number that the library gets as ctx pointer.
# storage_destroy removes an entry when no handle uses the storage any more.
const used = Dict{UInt,Storage}()
const used_lock = ReentrantLock()
const last_number = Ref{UInt}(0)

storage_of(ctx) = lock(() -> used[UInt(ctx)], used_lock)
storage_destroy(ctx::Ptr{Cvoid})::Cvoid = (lock(() -> delete!(used, UInt(ctx)), used_lock); nothing)

"Returns a handle of the storage. Containers that are opened in it keep the storage alive."
function storage_handle(storage::Storage)
    number = lock(used_lock) do
        last_number[] += 1
        used[last_number[]] = storage
        last_number[]
    end
    size = @cfunction(storage_size, Int64, (Ptr{Cvoid}, Cstring))
    read_at = @cfunction(storage_read_at, Int64, (Ptr{Cvoid}, Cstring, UInt64, Ptr{Cvoid}, Csize_t))
    destroy = @cfunction(storage_destroy, Cvoid, (Ptr{Cvoid},))
    read_ranges = @cfunction(storage_read_ranges, Int64, (Ptr{Cvoid}, Ptr{holdall_storage_range}, Csize_t))
    functions = holdall_storage_functions(
        sizeof(holdall_storage_functions), Ptr{Cvoid}(number), size, read_at, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, destroy,
        storage.read_ranges === nothing ? C_NULL : read_ranges)
    return opened(holdall_storage_from_functions, holdall_storage, holdall_storage_free, Ref(functions))
end

"""
    MemoryFiles()
    MemoryFiles(bytes)

A storage of files in memory that can be written: `create_array(MemoryFiles(), ...)` creates a
container there. `bytes` become the file "", a container of one file; they are copied.

`files[name]` returns a copy of a file, and `files[name] = bytes` stores one. `keys(files)` returns
the names of all files.
"""
struct MemoryFiles
    handle::Handle{holdall_storage}
end

MemoryFiles() = MemoryFiles(opened(holdall_storage_new_memory, holdall_storage, holdall_storage_free))

function MemoryFiles(bytes::AbstractVector{UInt8})
    files = MemoryFiles()
    files[""] = bytes
    return files
end

function Base.keys(files::MemoryFiles)
    GC.@preserve files begin
        count = holdall_storage_file_count(files.handle.pointer)
        return [unsafe_string(holdall_storage_file_name(files.handle.pointer, i - 1)) for i in 1:count]
    end
end

function Base.getindex(files::MemoryFiles, name::AbstractString)
    data, n = Ref{Ptr{Cvoid}}(C_NULL), Ref{Csize_t}(0)
    GC.@preserve files begin
        check(holdall_storage_get_file, files.handle, name, data, n)
        return copy(unsafe_wrap(Vector{UInt8}, Ptr{UInt8}(data[]), n[]))
    end
end

function Base.setindex!(files::MemoryFiles, bytes::AbstractVector{UInt8}, name::AbstractString)
    content = Vector{UInt8}(bytes)
    check(holdall_storage_put_file, files.handle, name, room(content), length(content))
    return files
end

"Returns another handle of the files."
storage_handle(files::MemoryFiles) = opened(holdall_storage_clone, holdall_storage, holdall_storage_free, files.handle)

"A new node of a store, in which a container is created: see `new_node`."
struct NewNode
    store::Handle{holdall_store}
    path::String
    kind::Symbol
end

"Returns a handle of the storage of the node."
storage_handle(node::NewNode) =
    opened(holdall_store_node_storage, holdall_storage, holdall_storage_free, node.store, node.path, constant("KIND_", node.kind))

const AnyStorage = Union{Storage,MemoryFiles,NewNode}

"What a container is opened from or created in: a path, or storages. Only a bag may have several."
const Target = Union{AbstractString,AnyStorage,AbstractVector{<:AnyStorage}}

"Calls `f` with the path of a target and a set of options, which has the storages of the target."
with_target(f, path::AbstractString, given) = with_options(o -> f(path, o), given)
with_target(f, storage::AnyStorage, given) = with_target(f, [storage], given)

function with_target(f, storages::AbstractVector{<:AnyStorage}, given)
    handles = map(storage_handle, storages)
    try
        return with_options(given) do o
            pointers = [h.pointer for h in handles]
            GC.@preserve handles check(holdall_options_set_storage, o, pointers, length(pointers))
            f("", o)
        end
    finally
        foreach(close, handles)
    end
end
