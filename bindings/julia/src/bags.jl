# Bags: records of any length, numbered from 1.

"""
    Bag(spec; options...)

An open bag, a vector of records, each a `Vector{UInt8}`.

`bag[i]` reads a record. `bag[2:5]` returns a bag of a slice. `bag[[1, 7]]` reads records together.
Iteration reads ahead.

spec: a path, or several separated by commas, where `@8` or `@*` stands for the shards of a set; or
a `Storage`, or a vector of them.
Throws a `HoldallError` if the bag cannot be opened.
"""
struct Bag <: AbstractVector{Vector{UInt8}}
    handle::Handle{holdall_bag}
end

Bag(spec::Target; options...) =
    Bag(with_target((path, o) -> opened(holdall_bag_open, holdall_bag, holdall_bag_close, path, o), spec, options))

Base.close(b::Bag) = close(b.handle)
Base.size(b::Bag) = (Int(holdall_bag_record_count(b.handle)),)

"Returns a named tuple with the fields of holdall_bag_info."
info(b::Bag) = filled(holdall_bag_get_info, holdall_bag_info, b.handle)

function Base.getindex(b::Bag, i::Int)
    @boundscheck checkbounds(b, i)
    return sized(holdall_bag_read, b.handle, i - 1)
end

function Base.getindex(b::Bag, chosen::AbstractRange{<:Integer})
    @boundscheck checkbounds(b, chosen)
    start = isempty(chosen) ? 0 : first(chosen) - 1
    return Bag(opened(holdall_bag_slice, holdall_bag, holdall_bag_close, b.handle, start, length(chosen), step(chosen)))
end

function Base.getindex(b::Bag, chosen::AbstractVector{<:Integer})
    @boundscheck checkbounds(b, chosen)
    return records(holdall_bag_read_indices, b.handle, UInt64[i - 1 for i in chosen], length(chosen))
end

Base.getindex(b::Bag, mask::AbstractVector{Bool}) = (@boundscheck checkbounds(b, mask); b[findall(mask)])

"Returns the zstd dictionary that the files store, or that was given; empty if there is none."
dictionary(b::Bag) = sized(holdall_bag_read_dictionary, b.handle)

"""
    copy_to(bag, path, indices = nothing; mode = :x, options...)

Copies all records, or those at `indices` in any order, to another bag, with one commit. `mode` is
that of `BagWriter`.
"""
function copy_to(b::Bag, path, indices = nothing; mode = :x, options...)
    at = indices === nothing ? C_NULL : room(UInt64[i - 1 for i in indices])
    n = indices === nothing ? 0 : length(indices)
    with_options(options) do o
        warn_damaged(check(holdall_bag_copy, b.handle, at, n, path, mode_of(mode), o))
    end
    return nothing
end

"Returns a batch of records, copied from the memory of the library."
function records(f, arguments...)
    batch = opened(f, holdall_records, holdall_records_free, arguments...)
    try
        return taken(batch)
    finally
        close(batch)
    end
end

function taken(batch)
    n = Int(holdall_records_count(batch))
    offsets = unsafe_wrap(Vector{UInt64}, holdall_records_offsets(batch), n + 1)
    data = unsafe_wrap(Vector{UInt8}, holdall_records_data(batch), Int(offsets[end]))
    warn_damaged(holdall_records_damaged_count(batch) > 0 ? HOLDALL_DAMAGED : HOLDALL_OK)
    return GC.@preserve batch [data[offsets[i]+1:offsets[i+1]] for i in 1:n]
end

"""
    BagStream(bag; options...)

An iterator of all records in order, with read-ahead: `for record in BagStream(bag)`.
"""
struct BagStream
    handle::Handle{holdall_bag_stream}
end

function BagStream(b::Bag; options...)
    return with_options(options) do o
        BagStream(opened(holdall_bag_stream_open, holdall_bag_stream, holdall_bag_stream_close, b.handle, C_NULL, C_NULL, o))
    end
end

Base.close(s::BagStream) = close(s.handle)
Base.IteratorSize(::Type{BagStream}) = Base.SizeUnknown()
Base.eltype(::Type{BagStream}) = Vector{UInt8}

function Base.iterate(s::BagStream, (batch, i) = (Vector{UInt8}[], 1))
    if i > length(batch)
        out = Ref{Ptr{holdall_records}}(C_NULL)
        check(holdall_bag_stream_take, s.handle, 0, out) == HOLDALL_END && return nothing
        handle = Handle(out[], holdall_records_free)
        batch, i = taken(handle), 1
        close(handle)
    end
    return batch[i], (batch, i + 1)
end

function Base.iterate(b::Bag, (stream, state) = (BagStream(b), ()))
    next = iterate(stream, state...)
    if next === nothing
        close(stream)
        return nothing
    end
    return next[1], (stream, (next[2],))
end

"""
    BagWriter(path, mode = :x; options...)

A writer of a bag, or of a set of bags. `push!` appends a record, `append!` appends several, and
`commit` makes them durable and visible.

Mode: `:x` creates, `:w` also replaces, `:a` appends to an existing bag.
"""
struct BagWriter
    handle::Handle{holdall_bag_writer}
end

function BagWriter(path::AbstractString, mode::Symbol = :x; options...)
    return with_options(options) do o
        BagWriter(opened(holdall_bag_writer_open, holdall_bag_writer, holdall_bag_writer_close, path, mode_of(mode), o))
    end
end

Base.close(w::BagWriter) = close(w.handle)
Base.length(w::BagWriter) = Int(holdall_bag_writer_record_count(w.handle))

"Appends a record: a string or bytes, which are copied. After an error it is not appended."
function Base.push!(w::BagWriter, record)
    bytes = Vector{UInt8}(record)
    check(holdall_bag_writer_append, w.handle, room(bytes), length(bytes))
    return w
end

"Appends records, each a string or bytes, compressed in parallel."
function Base.append!(w::BagWriter, records)
    data, offsets, count = concatenated(records)
    check(holdall_bag_writer_append_many, w.handle, room(data), offsets, count)
    return w
end

function concatenated(records)
    parts = [Vector{UInt8}(record) for record in records]
    offsets = UInt64[0; cumsum(length.(parts))]
    return isempty(parts) ? UInt8[] : reduce(vcat, parts), offsets, length(parts)
end

"""
    train_dictionary(records, size = 112_640)

Trains a zstd dictionary of at most `size` bytes for records that resemble these, and returns it.
The records should have 100 times as many bytes. The writer option `bag_dictionary = :auto` does this
by itself.
"""
function train_dictionary(records, size = 112_640)
    data, offsets, count = concatenated(records)
    bytes, n = Vector{UInt8}(undef, size), Ref{Csize_t}(0)
    check(holdall_dictionary_train, room(data), offsets, count, room(bytes), size, n)
    return resize!(bytes, n[])
end

"Makes all changes durable and visible, all or none."
commit(w::BagWriter) = (check(holdall_bag_writer_commit, w.handle); nothing)

"""
    BagIndex(bag; options...)
    BagIndex(bag, path, mode = nothing; options...)

An index of a bag, or of a slice, whose numbers it uses.

`findall(key, index)` returns the numbers of all records that equal the key. `findfirst(key, index)`
returns the first one, or `nothing`.

Without a path, the index is built in memory. Mode: `nothing` opens an existing index, `:x` creates
it, `:w` also replaces it. Throws a `HoldallError` if the index belongs to another bag or is
corrupt.
"""
struct BagIndex
    handle::Handle{holdall_bag_index}
end

BagIndex(b::Bag; options...) =
    BagIndex(with_options(o -> opened(holdall_bag_index_build, holdall_bag_index, holdall_bag_index_close, b.handle, o), options))

function BagIndex(b::Bag, path::AbstractString, mode = nothing; options...)
    f, how = mode === nothing ? (holdall_bag_index_open, ()) : (holdall_bag_index_create, (mode_of(mode),))
    return with_options(options) do o
        BagIndex(opened(f, holdall_bag_index, holdall_bag_index_close, path, how..., b.handle, o))
    end
end

Base.close(x::BagIndex) = close(x.handle)
Base.length(x::BagIndex) = Int(holdall_bag_index_key_count(x.handle))

function Base.findfirst(key::Union{AbstractString,Vector{UInt8}}, x::BagIndex)
    bytes, record = Vector{UInt8}(key), Ref{UInt64}(0)
    status = check(holdall_bag_index_find_first, x.handle, room(bytes), length(bytes), record)
    return status == HOLDALL_NOT_FOUND ? nothing : Int(record[]) + 1
end

function Base.findall(key::Union{AbstractString,Vector{UInt8}}, x::BagIndex)
    bytes, n = Vector{UInt8}(key), Ref{Csize_t}(0)
    check(holdall_bag_index_find, x.handle, room(bytes), length(bytes), C_NULL, 0, n)
    numbers = Vector{UInt64}(undef, max(n[], 1))
    check(holdall_bag_index_find, x.handle, room(bytes), length(bytes), numbers, length(numbers), n)
    return Int.(numbers[1:n[]]) .+ 1
end
