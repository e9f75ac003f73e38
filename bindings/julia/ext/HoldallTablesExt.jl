# Implements the interface of the package Tables by columns. Each column is read completely. Columns of
# values of any length are vectors of strings or of vectors of bytes, in which a null is missing.
module HoldallTablesExt

import Holdall
import Tables

Tables.istable(::Type{Holdall.Table}) = true
Tables.columnaccess(::Type{Holdall.Table}) = true
Tables.columns(t::Holdall.Table) = t
Tables.columnnames(t::Holdall.Table) = keys(t)
function Tables.getcolumn(t::Holdall.Table, name::Symbol)
    column = t[name]
    dtype = column.handle.dtype
    dtype == "T" && return Holdall.texts(t, name)
    return Holdall.has_any_length(dtype) ? Holdall.read_values(column.handle) : rows(column)
end
Tables.getcolumn(t::Holdall.Table, i::Int) = Tables.getcolumn(t, keys(t)[i])
Tables.rowcount(t::Holdall.Table) = length(t)

function Tables.schema(t::Holdall.Table)
    names = keys(t)
    return Tables.Schema(names, Type[row_type(t[name]) for name in names])
end

function row_type(column)
    dtype = column.handle.dtype
    dtype == "T" && return Union{Missing,String}
    Holdall.has_any_length(dtype) && return Union{Missing,Vector{UInt8}}
    return eltype(rows(column[ntuple(_ -> 1:0, ndims(column))...]))
end

# A column whose rows have several items is a vector of arrays.
rows(column::AbstractVector) = column[1:length(column)]
rows(column::AbstractArray) = [copy(row) for row in eachslice(Array(column); dims = ndims(column))]

end
