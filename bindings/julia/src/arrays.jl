# Arrays. Dimensions are in the opposite order of C, so that items have the same order in memory as
# in the container: `a[i, j]` is [j - 1][i - 1] in C.

"""
    ChunkedArray(path, mode = :r; options...)

An open array. `create_array` creates one.

- `a[1:10, :, 3]` reads a box into an `Array`, chunk by chunk.
- `a[[1, 5], :]` reads lists of positions in the same way.
- `a[1, 2, 3]` reads one item, with one call of the library per item.
- `a[box] = items` writes, and `commit` makes the changes durable and visible.

path: a path or a `Storage`. Mode: `:r` to read, `:a` to read and change. Dimensions are in the
opposite order of C and NumPy. Throws a `HoldallError` if the array cannot be opened.
"""
struct ChunkedArray{T,N} <: AbstractArray{T,N}
    handle::Any # a Handle; for a column a Column
    swap::Bool
end

function chunked(handle)
    T, swap = item_type(unsafe_string(holdall_array_dtype(handle)), holdall_array_itemsize(handle))
    return ChunkedArray{T,Int(holdall_array_ndim(handle))}(handle, swap)
end

function ChunkedArray(target::Target, mode::Symbol = :r; options...)
    return with_target(target, options) do path, o
        chunked(opened(holdall_array_open, holdall_array, holdall_array_close, path, mode_of(mode), o))
    end
end

# One element more, because a pointer to an empty vector may be NULL, which stands for a default.
reversed(numbers) = push!(UInt64[n for n in reverse(numbers)], 0)
reversed(::Nothing) = nothing
address(numbers) = pointer(numbers)
address(::Nothing) = Ptr{UInt64}(C_NULL)
text(string) = Base.unsafe_convert(Cstring, string)
text(::Nothing) = Cstring(C_NULL)

"Calls `f` with a description of a new array. `nothing` stands for the default of the library."
function with_spec(f, format, n; dtype = nothing, shape = nothing, chunk_shape = nothing, block_shape = nothing)
    for lengths in (chunk_shape, block_shape)
        lengths === nothing || length(lengths) == n || throw(DimensionMismatch("$lengths: expected $n lengths"))
    end
    dtype = dtype === nothing ? nothing : String(dtype)
    lengths = map(reversed, (shape, chunk_shape, block_shape))
    GC.@preserve dtype lengths begin
        made = constant("FORMAT_", format)
        f(Ref(holdall_array_spec(sizeof(holdall_array_spec), text(dtype), map(address, lengths)..., made, n)))
    end
end

"""
    create_array(path, T, dims; format = :b2nd, chunk_shape = nothing, block_shape = nothing, mode = :x, dtype, options...)

Creates an array of zeros, or of the option `fill_value` (bytes), and opens it for changes.

- path: a path, `MemoryFiles` or a `new_node`.
- T: the type of the items. dtype: the dtype in the spelling of NumPy, by default that of T.
- dims: the length of each dimension.
- format: `:b2nd`, `:caterva`, `:bloscpack`, `:bcolz`, `:blz` or `:blz_rfc`.
- chunk_shape, block_shape: the lengths of chunks and blocks, one per dimension; `nothing`: the
  defaults of the library.
- mode: `:x` creates; `:w` also replaces.

Throws a `DimensionMismatch` if chunk_shape or block_shape has another number of dimensions, and a
`HoldallError` if the path exists (mode `:x`) or the dtype cannot be stored.
"""
function create_array(target::Target, ::Type{T}, dims; format = :b2nd, chunk_shape = nothing, block_shape = nothing, mode = :x, dtype = dtype_of(T), options...) where {T}
    return with_target(target, options) do path, o
        with_spec(format, length(dims); dtype, shape = dims, chunk_shape, block_shape) do spec
            chunked(opened(holdall_array_create, holdall_array, holdall_array_close, path, mode_of(mode), spec, o))
        end
    end
end

Base.close(a::ChunkedArray) = close(a.handle)

Base.size(a::ChunkedArray{T,N}) where {T,N} = ntuple(d -> Int(unsafe_load(holdall_array_shape(a.handle), N - d + 1)), N)
Base.IndexStyle(::Type{<:ChunkedArray}) = IndexCartesian()

"""
Returns a named tuple with the fields of holdall_array_info: `info(a).codec`, `info(a).chunk_shape`.

Shapes are in the order of Julia.
"""
info(a::ChunkedArray) = filled(holdall_array_get_info, holdall_array_info, a.handle)

"Returns an iterator of the boxes of the chunks, tuples of ranges."
function eachchunk(a::ChunkedArray)
    lengths = info(a).chunk_shape
    cut(n, m) = [i:min(i + m - 1, n) for i in 1:max(m, 1):n]
    return Iterators.product(map(cut, size(a), lengths)...)
end

const Index = Union{Integer,Colon,AbstractVector{<:Integer}}

"""
Converts indices to one range or list per dimension, in the order of C.

Returns these lists, the size of the result, and whether they form a box of ascending ranges.
"""
function selection(a::ChunkedArray, indices)
    chosen = to_indices(a, indices)
    checkbounds(a, chosen...)
    lists = reverse(map(i -> i isa Integer ? (i:i) : i, chosen))
    dims = Tuple(length(i) for i in chosen if !(i isa Integer))
    return lists, dims, all(i -> i isa AbstractRange && (isempty(i) || step(i) > 0), lists)
end

starts(lists) = UInt64[isempty(i) ? 0 : first(i) - 1 for i in lists]
counts(lists) = UInt64[length(i) for i in lists]
steps(lists) = UInt64[step(i) for i in lists]

"Calls `f` with pointers to lists of positions from 0."
function with_lists(f, lists)
    positions = [UInt64[i - 1 for i in list] for list in lists]
    GC.@preserve positions f([pointer(p) for p in positions])
end

function read_items(a::ChunkedArray{T}, indices) where {T}
    lists, dims, box = selection(a, indices)
    items = Array{T}(undef, dims)
    isempty(items) && return items
    bytes = sizeof(items)
    if box
        warn_damaged(check(holdall_array_read, a.handle, room(starts(lists)), room(counts(lists)), room(steps(lists)), items, bytes, C_NULL))
    else
        warn_damaged(with_lists(p -> check(holdall_array_read_orthogonal, a.handle, p, counts(lists), items, bytes), lists))
    end
    a.swap && map!(bswap, items, items)
    return items
end

Base.getindex(a::ChunkedArray{T,N}, indices::Vararg{Int,N}) where {T,N} = only(read_items(a, indices))

function Base.getindex(a::ChunkedArray{T,N}, indices::Vararg{Index,N}) where {T,N}
    items = read_items(a, indices)
    return all(i -> i isa Integer, indices) ? only(items) : items
end

Base.Array(a::ChunkedArray) = read_items(a, axes(a))
Base.collect(a::ChunkedArray) = Array(a)

function write_items(a::ChunkedArray{T}, items, indices) where {T}
    lists, dims, box = selection(a, indices)
    packed = Array{T}(undef, dims)
    packed .= items
    isempty(packed) && return a
    a.swap && map!(bswap, packed, packed)
    bytes = sizeof(packed)
    if box
        check(holdall_array_write, a.handle, room(starts(lists)), room(counts(lists)), room(steps(lists)), packed, bytes, C_NULL)
    else
        with_lists(p -> check(holdall_array_write_orthogonal, a.handle, p, counts(lists), packed, bytes), lists)
    end
    return a
end

Base.setindex!(a::ChunkedArray{T,N}, item, indices::Vararg{Int,N}) where {T,N} = write_items(a, Ref(convert(T, item)), indices)
Base.setindex!(a::ChunkedArray{T,N}, items, indices::Vararg{Index,N}) where {T,N} = write_items(a, items, indices)

"""
    append!(a, items; dim)

Appends items at the end of dimension `dim`, by default the last. After an error nothing is
appended.
"""
function Base.append!(a::ChunkedArray{T,N}, items::AbstractArray{<:Any,N}; dim = N) where {T,N}
    packed = Array{T,N}(items)
    a.swap && map!(bswap, packed, packed)
    check(holdall_array_append, a.handle, N - dim, size(items, dim), room(packed), sizeof(packed))
    return a
end

"""
    resize!(a, dims...)

Changes the size: removes items outside, and adds the fill value (default: zeros).
"""
Base.resize!(a::ChunkedArray, dims...) = (check(holdall_array_resize, a.handle, reversed(dims)); a)

"Makes all changes durable and visible, content and shape together."
commit(a::ChunkedArray) = (check(holdall_array_commit, a.handle); nothing)

"""
    splits(array, n)

Divides the indices of the last dimension into at most n ranges, as `splits(bag, n)` does. They begin at
chunks. `bytes` is the share of the range in the stored size: by chunk in Bloscpack files and in frames
whose index is in memory, otherwise by indices.
"""
splits(a::ChunkedArray, n) = ranges(holdall_array_splits, a.handle, n)

"Returns the names of the further files in the folder `meta` of a dataset."
meta_files(a::ChunkedArray) = listed(sized(holdall_array_meta_file_names, a.handle))

listed(names) = String.(split(String(names), '\0'; keepempty = false))

"Returns the bytes of such a file, or `nothing` if it does not exist."
meta_file(a::ChunkedArray, name) = found(holdall_array_meta_file_read, a.handle, name)

function found(read, handle, name)
    status = check(read, handle, name, C_NULL, 0, Ref{Csize_t}(0))
    return status == HOLDALL_OK ? sized(read, handle, name) : nothing
end

"Sets the bytes of such a file; `nothing` removes it. The commit writes it."
set_meta_file!(a::ChunkedArray, name, bytes) = (set_file(holdall_array_meta_file_write, a.handle, name, bytes); a)

function set_file(write, handle, name, bytes)
    n = isnothing(bytes) ? 0 : sizeof(bytes)
    value = isnothing(bytes) ? C_NULL : room(Vector{UInt8}(bytes))
    return check(write, handle, name, value, n)
end

"Returns a named value as bytes (JSON; in frames any bytes), or `nothing` if there is none."
attr(a::ChunkedArray, name) = value(holdall_array_attr_get, a.handle, name)

"Sets a named value to bytes: JSON; in frames any bytes. `fixed`: in the header of a frame."
function set_attr!(a::ChunkedArray, name, bytes; fixed = false)
    set = fixed ? holdall_array_attr_set_fixed : holdall_array_attr_set
    check(set, a.handle, name, room(Vector{UInt8}(bytes)), length(bytes))
    return a
end

"""
    slice(a, indices...)

Returns a box of an open array, as an array that shares its files and is read only. The indices are
ranges, colons, and integers, which remove a dimension. It reads nothing. While it is open, the array
cannot be changed. `copy_to(slice(a, 1:10, :), path)` copies a box.
"""
function slice(a::ChunkedArray{T,N}, indices::Vararg{Union{Integer,Colon,AbstractRange{<:Integer}},N}) where {T,N}
    chosen = to_indices(a, indices)
    checkbounds(a, chosen...)
    lists = reverse(map(i -> i isa Integer ? (i:i) : i, chosen))
    by = Int64[length(i) > 1 ? step(i) : 1 for i in lists]
    handle = viewed(holdall_array_slice, a.handle, room(starts(lists)), room(counts(lists)), room(by))
    for axis in reverse(findall(i -> i isa Integer, reverse(chosen)))
        handle = viewed(holdall_array_squeeze, handle, axis - 1)
    end
    return chunked(handle)
end

viewed(f, arguments...) = opened(f, holdall_array, holdall_array_close, arguments...)

"""
    checksum(x; kind = :sha256)

Returns a checksum, as bytes, of dtype, shape and items of an array, or of the records of a bag,
however they are stored.
"""
checksum(a::ChunkedArray; kind = :sha256) = sized(holdall_array_checksum, a.handle, constant("CHECKSUM_", kind))
checksum(b::Bag; kind = :sha256) = sized(holdall_bag_checksum, b.handle, constant("CHECKSUM_", kind))

"""
    copy_to(a, path; format = :b2nd, chunk_shape = nothing, block_shape = nothing, mode = :x, options...)

Copies the array, as this object sees it, to a new container, which is complete or absent. The
parameters are those of `create_array`.
"""
function copy_to(a::ChunkedArray, target::Target; format = :b2nd, chunk_shape = nothing, block_shape = nothing, mode = :x, options...)
    with_target(target, options) do path, o
        with_spec(format, ndims(a); chunk_shape, block_shape) do spec
            warn_damaged(check(holdall_array_copy, a.handle, path, mode_of(mode), spec, o))
        end
    end
    return nothing
end
