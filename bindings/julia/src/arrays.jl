# Arrays. Dimensions are in the opposite order of C, so that items have the same order in memory as
# in the container: `a[i, j]` is [j - 1][i - 1] in C.

"""
    ChunkedArray(path, mode = :r; options...)

An open array. `create_array` creates one.

- `a[1:10, :, 3]` reads a box into an `Array`, chunk by chunk.
- `a[[1, 5], :]` reads lists of positions in the same way.
- `a[1, 2, 3]` reads one item, with one call of the library per item.
- `a[box] = items` writes, and `commit` makes the changes durable and visible.

Mode: `:r` to read, `:a` to read and change. Dimensions are in the opposite order of C and NumPy.
Throws a `HoldallError` if the array cannot be opened.
"""
struct ChunkedArray{T,N} <: AbstractArray{T,N}
    handle::Any # a Handle; for a column a Column
    swap::Bool
end

function chunked(handle)
    T, swap = item_type(unsafe_string(holdall_array_dtype(handle)), holdall_array_itemsize(handle))
    return ChunkedArray{T,Int(holdall_array_ndim(handle))}(handle, swap)
end

function ChunkedArray(path::AbstractString, mode::Symbol = :r; options...)
    return with_options(options) do o
        chunked(opened(holdall_array_open, holdall_array, holdall_array_close, path, mode_of(mode), o))
    end
end

reversed(numbers) = numbers === nothing ? C_NULL : UInt64[n for n in reverse(numbers)]

"""
    create_array(path, T, dims; format = :b2nd, chunks = nothing, blocks = nothing, mode = :x, dtype, options...)

Creates an array of zeros, or of the option `fill`, and opens it for changes.

- T: the type of the items. dtype: the dtype in the spelling of NumPy, by default that of T.
- dims: the length of each dimension.
- format: `:b2nd`, `:caterva`, `:bloscpack`, `:bcolz`, `:blz` or `:blz_paper` (the BLZ RFC layout).
- chunks, blocks: the lengths of chunks and blocks, one per dimension; `nothing`: the defaults of
  the library.
- mode: `:x` creates; `:w` also replaces.

Throws a `DimensionMismatch` if chunks or blocks has another number of dimensions, and a
`HoldallError` if the path exists (mode `:x`) or the dtype cannot be stored.
"""
function create_array(path::AbstractString, ::Type{T}, dims; format = :b2nd, chunks = nothing, blocks = nothing, mode = :x, dtype = dtype_of(T), options...) where {T}
    for grid in (chunks, blocks)
        grid === nothing || length(grid) == length(dims) || throw(DimensionMismatch("$grid does not match dimensions $dims"))
    end
    return with_options(options) do o
        grids = (length(dims), room(reversed(dims)), reversed(chunks), reversed(blocks))
        made = constant("FORMAT_", format)
        chunked(opened(holdall_array_create, holdall_array, holdall_array_close, path, mode_of(mode), made, dtype, grids..., o))
    end
end

Base.close(a::ChunkedArray) = close(a.handle)

grid(f, a::ChunkedArray{T,N}) where {T,N} = ntuple(d -> Int(unsafe_load(f(a.handle), N - d + 1)), N)
Base.size(a::ChunkedArray) = grid(holdall_array_shape, a)
Base.IndexStyle(::Type{<:ChunkedArray}) = IndexCartesian()

"Returns an iterator of the boxes of the chunks, tuples of ranges."
function eachchunk(a::ChunkedArray)
    lengths = grid(holdall_array_chunkshape, a)
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
        sound(check(holdall_array_read, a.handle, room(starts(lists)), room(counts(lists)), room(steps(lists)), items, C_NULL, bytes))
    else
        sound(with_lists(p -> check(holdall_array_read_orthogonal, a.handle, p, counts(lists), items, bytes), lists))
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
        check(holdall_array_write, a.handle, room(starts(lists)), room(counts(lists)), room(steps(lists)), packed, C_NULL, bytes)
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
Base.resize!(a::ChunkedArray, dims...) = (check(holdall_array_resize, a.handle, room(reversed(dims))); a)

commit(a::ChunkedArray) = (check(holdall_array_commit, a.handle); nothing)

"Returns a named value as bytes (JSON; in frames any bytes), or `nothing` if there is none."
attr(a::ChunkedArray, name) = value(holdall_array_attr_get, a.handle, name)

"Sets a named value to bytes: JSON; in frames any bytes."
set_attr!(a::ChunkedArray, name, bytes) = (check(holdall_array_attr_set, a.handle, name, room(Vector{UInt8}(bytes)), length(bytes)); a)

"""
    copy_to(a, path; format = :b2nd, chunks = nothing, blocks = nothing, mode = :x, options...)

Copies the array, as this object sees it, to a new container, which is complete or absent. The
parameters are those of `create_array`.
"""
function copy_to(a::ChunkedArray, path; format = :b2nd, chunks = nothing, blocks = nothing, mode = :x, options...)
    with_options(options) do o
        made = constant("FORMAT_", format)
        sound(check(holdall_array_copy, a.handle, path, mode_of(mode), made, reversed(chunks), reversed(blocks), o))
    end
    return nothing
end
