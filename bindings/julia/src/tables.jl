# Tables: named columns of equal length. They implement the interface of the package Tables if it is
# loaded.

"""
    Table(path, mode = :r; options...)

An open table. `create_table` creates one.

`table[:name]` returns a column, a `ChunkedArray` whose last dimension is the rows. `texts` reads a
column of text of any length. `append!(table, (a = [1, 2], b = [3.0, 4.0]))` appends rows. `commit`
makes them durable and visible.

path: a path or a `Storage`. Mode: `:r` to read, `:a` to read and change. Throws a `HoldallError` if
the table cannot be opened.
"""
struct Table
    handle::Handle{holdall_table}
end

function Table(target::Target, mode::Symbol = :r; options...)
    return with_target(target, options) do path, o
        Table(opened(holdall_table_open, holdall_table, holdall_table_close, path, mode_of(mode), o))
    end
end

"""
    create_table(path, (name = T, ...); format = :bcolz, mode = :x, options...)

Creates a table without rows, and opens it for changes.

- path: a path, `MemoryFiles` or a `new_node`.
- columns: pairs of a name and a type, or a dtype in the spelling of NumPy; at least one. The dtype
  "T" is text of any length, of which any may be missing, only in the format `:ctable`.
- format: `:bcolz`, `:blz`, `:blz_rfc`, or `:ctable` with a path that ends in ".b2d" or a `new_node`.
- mode: `:x` creates; `:w` also replaces.

Throws a `HoldallError` if the path exists (mode `:x`) or a dtype cannot be stored.
"""
function create_table(target::Target, columns; format = :bcolz, mode = :x, options...)
    names = [String(name) for name in keys(columns)]
    dtypes = [T isa Type ? dtype_of(T) : String(T) for T in values(columns)]
    pointers(strings) = [convert(Ptr{UInt8}, Base.unsafe_convert(Cstring, s)) for s in strings]
    given = (pointers(names), pointers(dtypes))
    GC.@preserve names dtypes given begin
        made = constant("FORMAT_", format)
        spec = holdall_table_spec(sizeof(holdall_table_spec), map(pointer, given)..., made, length(names))
        return with_target(target, options) do path, o
            Table(opened(holdall_table_create, holdall_table, holdall_table_close, path, mode_of(mode), Ref(spec), o))
        end
    end
end

Base.close(t::Table) = close(t.handle)
Base.length(t::Table) = Int(holdall_table_row_count(t.handle))
Base.keys(t::Table) = [Symbol(unsafe_string(holdall_table_column_name(t.handle, i))) for i in 0:holdall_table_column_count(t.handle)-1]

"Returns a named tuple with the fields of holdall_table_info."
info(t::Table) = filled(holdall_table_get_info, holdall_table_info, t.handle)

"""
A column. It is closed with its table, and each call gets its current handle from the table.

A call throws a `KeyError` if the column no longer exists, and an `ArgumentError` if it has another
dtype or number of dimensions, which do not match its Julia type.
"""
struct Column
    table::Table
    name::Symbol
    dtype::String
    ndim::Int
end

function Column(t::Table, name::Symbol)
    column = find_column(t, name)
    return Column(t, name, unsafe_string(holdall_array_dtype(column)), Int(holdall_array_ndim(column)))
end

function find_column(t::Table, name::Symbol)
    found = holdall_table_find_column(t.handle, String(name))
    found == C_NULL && throw(KeyError(name))
    return Ptr{holdall_array}(found)
end

Base.close(::Column) = nothing
Base.cconvert(::Type{Ptr{holdall_array}}, c::Column) = c
function Base.unsafe_convert(::Type{Ptr{holdall_array}}, c::Column)
    column = find_column(c.table, c.name)
    same = unsafe_string(holdall_array_dtype(column)) == c.dtype && holdall_array_ndim(column) == c.ndim
    same || throw(ArgumentError("column $(c.name) has another dtype or shape now; get it from the table again"))
    return column
end

Base.getindex(t::Table, name::Union{Symbol,AbstractString}) = chunked(Column(t, Symbol(name)))

"""
    nulls(table, column)

Returns for each row of a column whether it is null, or `nothing` if the column has no nulls. Only
CTables have nulls; other functions return what is stored in such rows.
"""
function nulls(t::Table, column::Union{Symbol,AbstractString})
    n = Int(holdall_table_row_count(t.handle))
    found = Vector{UInt8}(undef, n)
    status = check(holdall_table_read_nulls, t.handle, String(column), 0, n, room(found))
    return status == HOLDALL_NOT_FOUND ? nothing : found .== 1
end

"""
    texts(table, column)

Returns the texts of a column of dtype "T", a `Vector{Union{Missing,String}}`. A null is `missing`.
Throws a `KeyError` if there is no such column, and an `ArgumentError` if it has another dtype.
"""
function texts(t::Table, name::Union{Symbol,AbstractString})
    column = Column(t, Symbol(name))
    column.dtype == "T" || throw(ArgumentError("column $name has the dtype $(column.dtype) (expected T)"))
    return Union{Missing,String}[value === missing ? missing : String(value) for value in read_values(column)]
end

# Returns the values of any length of a column, as bytes. A null is `missing`.
function read_values(column::Column)
    n = length(column.table)
    values = opened(holdall_array_read_values, holdall_values, holdall_values_free, column, 0, n)
    try
        items = unsafe_wrap(Vector{holdall_value}, holdall_values_items(values), n)
        bytes(item) = copy(unsafe_wrap(Vector{UInt8}, Ptr{UInt8}(item.data), Int(item.size)))
        return Union{Missing,Vector{UInt8}}[item.data == C_NULL ? missing : bytes(item) for item in items]
    finally
        close(values)
    end
end

# Returns whether the values of a column have any length: of dtype "T", or of objects in any spelling
# of NumPy.
has_any_length(dtype) = strip(c -> c in "<>=|0123456789 ", dtype) in ("T", "O", "object", "object_")

"""
    read_rows(table, rows; columns = keys(table))

Returns rows, by number from 1 and in any order, as a named tuple of arrays by column. The last
dimension of each array is the rows. Throws a `HoldallError` for a column of values of any length,
which `texts` reads.
"""
function read_rows(t::Table, rows::AbstractVector{<:Integer}; columns = keys(t))
    chosen = [t[name] for name in columns]
    out = [Array{eltype(a)}(undef, size(a)[1:end-1]..., length(rows)) for a in chosen]
    GC.@preserve out begin
        buffers = (length(out), [String(name) for name in columns], Ptr{Cvoid}[pointer(a) for a in out], Csize_t[sizeof(a) for a in out])
        if rows isa AbstractRange && !isempty(rows) && step(rows) > 0
            warn_damaged(check(holdall_table_read_rows, t.handle, first(rows) - 1, length(rows), step(rows), buffers...))
        else
            warn_damaged(check(holdall_table_read_points, t.handle, room(UInt64[i - 1 for i in rows]), length(rows), buffers...))
        end
    end
    foreach((column, items) -> column.swap && map!(bswap, items, items), chosen, out)
    return NamedTuple{Tuple(map(Symbol, columns))}(Tuple(out))
end

"""
    rows_where(table, predicate)

Returns the numbers of the rows, from 1, for which a predicate is true. It is a condition of SQL, such
as `"delay > 60 and carrier in ('UA', 'AA')"`: see `holdall_table_where` in the C header.
"""
function rows_where(t::Table, predicate)
    rows = Int[]
    part = Vector{UInt64}(undef, 4096)
    start, n, stop = Ref{UInt64}(0), Ref{Csize_t}(0), length(t)
    while true
        found = check(holdall_table_where, t.handle, predicate, start, stop, part, 4096, n)
        warn_damaged(found)
        append!(rows, Int.(part[1:n[]]) .+ 1)
        start[] == stop && return rows
    end
end

"""
    build_index!(table, columns = nothing)

Adds indexes to columns of a CTable, `nothing`: to all whose values have an order. The commit stores
them, and further ones maintain them: see `holdall_table_index_build` in the C header.
"""
function build_index!(t::Table, columns = nothing)
    if columns === nothing
        check(holdall_table_index_build, t.handle, 0, C_NULL)
    else
        names = String[string(name) for name in columns]
        list = Ptr{Cchar}[pointer(name) for name in names]
        # never empty: NULL stands for all columns
        push!(list, C_NULL)
        GC.@preserve names check(holdall_table_index_build, t.handle, length(names), list)
    end
    return t
end

"""
    append!(table, rows)

Appends rows. `rows` has the new items of every column by name. Those of a column of dtype "T" are
strings; those of other columns of values of any length are vectors of bytes, which are lists,
structures and objects in MessagePack. `missing` and `nothing` are nulls.

Throws a `DimensionMismatch` if the columns have different lengths, an `ArgumentError` for a value of
another type, and a `HoldallError` for a null in a column without nulls, and for text that is not UTF-8.
After an error nothing is appended.
"""
Base.append!(t::Table, rows) = add_rows(holdall_table_append, t, rows)

"""
    insert!(table, i, rows)

Inserts rows before row i; the rows from i on move. `rows` is that of `append!`. After an error nothing
is inserted. If only some columns could be changed, all further changes throw a `HoldallError`.
"""
Base.insert!(t::Table, i::Integer, rows) = add_rows(holdall_table_insert, t, rows, i - 1)

"""
    deleteat!(table, rows)

Removes the rows `rows`, a range without steps; the rows after them move. Throws as `insert!`.
"""
function Base.deleteat!(t::Table, rows::AbstractUnitRange{<:Integer})
    isempty(rows) || check(holdall_table_remove, t.handle, first(rows) - 1, length(rows))
    return t
end

function add_rows(add, t::Table, rows, start...)
    packed = [packed_like(t[name], rows[name]) for name in keys(t)]
    items = map(first, packed)
    n = isempty(items) ? 0 : last(size(first(items)))
    all(a -> last(size(a)) == n, items) || throw(DimensionMismatch("columns of different lengths"))
    sizes = Csize_t[sizeof(a) for a in items]
    GC.@preserve packed items begin
        check(add, t.handle, start..., n, Ptr{Cvoid}[pointer(a) for a in items], sizes)
    end
    return t
end

# Returns the new items of a column as the library expects them, and the objects that they refer to,
# which must be preserved.
function packed_like(column::ChunkedArray{T,N}, items) where {T,N}
    dtype = column.handle.dtype
    has_any_length(dtype) && return packed_values(dtype, items)
    packed = Array{T,N}(items)
    column.swap && map!(bswap, packed, packed)
    return packed, nothing
end

function packed_values(dtype, values)
    stored = Any[stored_value(dtype, value) for value in values]
    # An empty value is not NULL, which is a null.
    cell(value) = holdall_value(pointer(room(value)), sizeof(value))
    cell(::Nothing) = holdall_value(C_NULL, 0)
    return holdall_value[cell(value) for value in stored], stored
end

function stored_value(dtype, value)
    (value === missing || value === nothing) && return nothing
    dtype == "T" && value isa AbstractString && return String(value)
    dtype != "T" && value isa AbstractVector{UInt8} && return Vector{UInt8}(value)
    expected = dtype == "T" ? "a string" : "a vector of UInt8"
    throw(ArgumentError("a value of type $(typeof(value)) for a column of dtype $dtype (expected $expected, missing or nothing)"))
end

"Removes all but the first n rows. Throws a `HoldallError` if there are fewer."
Base.resize!(t::Table, n::Integer) = (check(holdall_table_truncate, t.handle, n); t)

"Makes all changes durable and visible, all or none: rows and attributes."
commit(t::Table) = (check(holdall_table_commit, t.handle); nothing)

"""
    splits(table, n)

Divides the rows into at most n ranges, as `splits(array, n)` does. They begin at chunks of the column
with the largest stored size, and of the other columns as far as enough rows are the start of a chunk in
each.
"""
splits(t::Table, n) = ranges(holdall_table_splits, t.handle, n)

"Returns the names of the further files in the folder `meta` of a table in the BLZ RFC layout."
meta_files(t::Table) = listed(sized(holdall_table_meta_file_names, t.handle))

"Returns the bytes of such a file, or `nothing` if it does not exist."
meta_file(t::Table, name) = found(holdall_table_meta_file_read, t.handle, name)

"Sets the bytes of such a file; `nothing` removes it. The commit writes it."
set_meta_file!(t::Table, name, bytes) = (set_file(holdall_table_meta_file_write, t.handle, name, bytes); t)

"Returns an attribute of the table, JSON as bytes, or `nothing` if there is none."
attr(t::Table, name) = value(holdall_table_attr_get, t.handle, name)

"Sets an attribute of the table to JSON, given as bytes."
set_attr!(t::Table, name, bytes) = (check(holdall_table_attr_set, t.handle, name, room(Vector{UInt8}(bytes)), length(bytes)); t)

"Sets an attribute of a column to JSON, given as bytes."
function set_attr!(t::Table, column::Union{Symbol,AbstractString}, name, bytes)
    check(holdall_table_column_attr_set, t.handle, String(column), name, room(Vector{UInt8}(bytes)), length(bytes))
    return t
end

"""
    slice(table, rows, names = keys(table))

Returns rows, a range or a colon, of some columns, as a table that shares the files and is read only.
While it is open, the table cannot be changed.
"""
function slice(t::Table, rows::Union{Colon,AbstractRange{<:Integer}}, names = keys(t))
    rows = rows isa Colon ? (1:length(t)) : rows
    start, by = isempty(rows) ? 0 : first(rows) - 1, length(rows) > 1 ? step(rows) : 1
    names = [String(name) for name in names]
    return Table(opened(holdall_table_slice, holdall_table, holdall_table_close, t.handle, start, length(rows), by, length(names), names))
end

"""
    copy_to(table, path; format = :bcolz, mode = :x, options...)

Copies all rows, columns and attributes to a new table, which is complete or absent. The parameters
are those of `create_table`.
"""
function copy_to(t::Table, target::Target; format = :bcolz, mode = :x, options...)
    with_target(target, options) do path, o
        warn_damaged(check(holdall_table_copy, t.handle, path, mode_of(mode), constant("FORMAT_", format), o))
    end
    return nothing
end
