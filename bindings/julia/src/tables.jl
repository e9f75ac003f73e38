# Tables: named columns of equal length. They implement the interface of the package Tables if it is
# loaded.

"""
    Table(path, mode = :r; options...)

An open table. `create_table` creates one.

`table[:name]` returns a column, a `ChunkedArray` whose last dimension is the rows.
`append!(table, (a = [1, 2], b = [3.0, 4.0]))` appends rows. `commit` makes them durable and
visible.

Mode: `:r` to read, `:a` to read and change. Throws a `HoldallError` if the table cannot be opened.
"""
struct Table
    handle::Handle{holdall_table}
end

function Table(path::AbstractString, mode::Symbol = :r; options...)
    return with_options(options) do o
        Table(opened(holdall_table_open, holdall_table, holdall_table_close, path, mode_of(mode), o))
    end
end

"""
    create_table(path, (name = T, ...); format = :bcolz, mode = :x, options...)

Creates a table without rows, and opens it for changes.

- columns: pairs of a name and a type, or a dtype in the spelling of NumPy; at least one.
- format: `:bcolz`, `:blz` or `:blz_paper` (the BLZ RFC layout).
- mode: `:x` creates; `:w` also replaces.

Throws a `HoldallError` if the path exists (mode `:x`) or a dtype cannot be stored.
"""
function create_table(path::AbstractString, columns; format = :bcolz, mode = :x, options...)
    names = [String(name) for name in keys(columns)]
    dtypes = [T isa Type ? dtype_of(T) : String(T) for T in values(columns)]
    return with_options(options) do o
        made = constant("FORMAT_", format)
        arguments = (path, mode_of(mode), made, length(names), names, dtypes, o)
        Table(opened(holdall_table_create, holdall_table, holdall_table_close, arguments...))
    end
end

Base.close(t::Table) = close(t.handle)
Base.length(t::Table) = Int(holdall_table_rows(t.handle))
Base.keys(t::Table) = [Symbol(unsafe_string(holdall_table_column_name(t.handle, i))) for i in 0:holdall_table_columns(t.handle)-1]

"A column. It is closed with its table, and each call gets its current handle from the table."
struct Column
    table::Table
    name::Symbol
end

Base.close(::Column) = nothing
Base.cconvert(::Type{Ptr{holdall_array}}, c::Column) = c
function Base.unsafe_convert(::Type{Ptr{holdall_array}}, c::Column)
    return holdall_table_column(c.table.handle, number_of(c.table, c.name))
end

function number_of(t::Table, name)
    at = findfirst(==(Symbol(name)), keys(t))
    at === nothing && throw(KeyError(name))
    return at - 1
end

function Base.getindex(t::Table, name::Union{Symbol,AbstractString})
    number_of(t, name)
    return chunked(Column(t, Symbol(name)))
end

"""
    append!(table, rows)

Appends rows. `rows` has the new items of every column by name. Throws a `DimensionMismatch` if the
columns have different lengths. After an error nothing is appended.
"""
function Base.append!(t::Table, rows)
    packed = [packed_like(t[name], rows[name]) for name in keys(t)]
    n = isempty(packed) ? 0 : last(size(first(packed)))
    all(a -> last(size(a)) == n, packed) || throw(DimensionMismatch("columns of different lengths"))
    sizes = Csize_t[sizeof(a) for a in packed]
    GC.@preserve packed begin
        check(holdall_table_append, t.handle, n, Ptr{Cvoid}[pointer(a) for a in packed], sizes)
    end
    return t
end

function packed_like(column::ChunkedArray{T,N}, items) where {T,N}
    packed = Array{T,N}(items)
    column.swap && map!(bswap, packed, packed)
    return packed
end

"Removes all but the first n rows. Throws a `HoldallError` if there are fewer."
Base.resize!(t::Table, n::Integer) = (check(holdall_table_truncate, t.handle, n); t)

commit(t::Table) = (check(holdall_table_commit, t.handle); nothing)

"Returns an attribute of the table, JSON as bytes, or `nothing` if there is none."
attr(t::Table, name) = value(holdall_table_attr_get, t.handle, name)

"Sets an attribute of the table to JSON, given as bytes."
set_attr!(t::Table, name, bytes) = (check(holdall_table_attr_set, t.handle, name, room(Vector{UInt8}(bytes)), length(bytes)); t)
