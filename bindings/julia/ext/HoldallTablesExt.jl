# Implements the interface of the package Tables by columns. Each column is read completely.
module HoldallTablesExt

import Holdall
import Tables

Tables.istable(::Type{Holdall.Table}) = true
Tables.columnaccess(::Type{Holdall.Table}) = true
Tables.columns(t::Holdall.Table) = t
Tables.columnnames(t::Holdall.Table) = keys(t)
Tables.getcolumn(t::Holdall.Table, name::Symbol) = rows(t[name])
Tables.getcolumn(t::Holdall.Table, i::Int) = Tables.getcolumn(t, keys(t)[i])
Tables.rowcount(t::Holdall.Table) = length(t)

function Tables.schema(t::Holdall.Table)
    names = keys(t)
    return Tables.Schema(names, [eltype(rows(t[name][ntuple(_ -> 1:0, ndims(t[name]))...])) for name in names])
end

# A column whose rows have several items is a vector of arrays.
rows(column::AbstractVector) = column[1:length(column)]
rows(column::AbstractArray) = [copy(row) for row in eachslice(Array(column); dims = ndims(column))]

end
