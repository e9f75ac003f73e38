# Arrays. Dimensions come in the opposite order of C's, so that what is read lies as it is stored: `a[i, j]` is C's [j - 1][i - 1].

"""
    ChunkedArray(path, mode = :r; options...)

An open array. A box, `a[1:10, :, 3]`, is read chunk by chunk into an `Array`, and so are lists of positions, `a[[1, 5], :]`; a
single item costs a call. `create_array` makes one; with the mode `:a`, `a[box] = items` changes it, and `commit` keeps that.
Dimensions come in the opposite order of C's and NumPy's.
"""
struct ChunkedArray{T,N} <: AbstractArray{T,N}
    handle::Any # of a column that of its table
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

Makes an array of zeros. format: `:b2nd`, `:caterva`, `:bloscpack`, `:bcolz`, `:blz`, `:blz_paper`.
"""
function create_array(path::AbstractString, ::Type{T}, dims; format = :b2nd, chunks = nothing, blocks = nothing, mode = :x, dtype = dtype_of(T), options...) where {T}
    for grid in (chunks, blocks)
        grid === nothing || length(grid) == length(dims) || throw(DimensionMismatch("$grid for $dims"))
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

"The boxes of its chunks."
function eachchunk(a::ChunkedArray)
    lengths = grid(holdall_array_chunkshape, a)
    cut(n, m) = [i:min(i + m - 1, n) for i in 1:max(m, 1):n]
    return Iterators.product(map(cut, size(a), lengths)...)
end

const Index = Union{Integer,Colon,AbstractVector{<:Integer}}

"What is wanted of each dimension, as C has them: start, count and step of a box, or lists of positions."
function selection(a::ChunkedArray, indices)
    chosen = to_indices(a, indices)
    checkbounds(a, chosen...)
    lists = reverse(map(i -> i isa Integer ? (i:i) : i, chosen))
    kept = Tuple(length(i) for i in chosen if !(i isa Integer))
    return lists, kept, all(i -> i isa AbstractRange && (isempty(i) || step(i) > 0), lists)
end

starts(lists) = UInt64[isempty(i) ? 0 : first(i) - 1 for i in lists]
counts(lists) = UInt64[length(i) for i in lists]
steps(lists) = UInt64[step(i) for i in lists]

"Calls `f` with lists of positions as C has them."
function with_lists(f, lists)
    positions = [UInt64[i - 1 for i in list] for list in lists]
    GC.@preserve positions f([pointer(p) for p in positions])
end

function read_items(a::ChunkedArray{T}, indices) where {T}
    lists, kept, box = selection(a, indices)
    items = Array{T}(undef, kept)
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
    lists, kept, box = selection(a, indices)
    packed = Array{T}(undef, kept)
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

"Lets an array grow along a dimension by these items."
function Base.append!(a::ChunkedArray{T,N}, items::AbstractArray{<:Any,N}; dim = N) where {T,N}
    packed = Array{T,N}(items)
    a.swap && map!(bswap, packed, packed)
    check(holdall_array_append, a.handle, N - dim, size(items, dim), room(packed), sizeof(packed))
    return a
end

"Gives it another size: what is new is zeros, or its fill value."
Base.resize!(a::ChunkedArray, dims...) = (check(holdall_array_resize, a.handle, room(reversed(dims))); a)

commit(a::ChunkedArray) = (check(holdall_array_commit, a.handle); nothing)

"A named value as bytes, or `nothing`: JSON, of frames any bytes."
attr(a::ChunkedArray, name) = value(holdall_array_attr_get, a.handle, name)

"Sets a named value."
set_attr!(a::ChunkedArray, name, bytes) = (check(holdall_array_attr_set, a.handle, name, room(Vector{UInt8}(bytes)), length(bytes)); a)

"""
    copy_to(a, path; format = :b2nd, mode = :x, options...)

Writes the array into a new container.
"""
function copy_to(a::ChunkedArray, path; format = :b2nd, chunks = nothing, blocks = nothing, mode = :x, options...)
    with_options(options) do o
        made = constant("FORMAT_", format)
        sound(check(holdall_array_copy, a.handle, path, mode_of(mode), made, reversed(chunks), reversed(blocks), o))
    end
    return nothing
end
