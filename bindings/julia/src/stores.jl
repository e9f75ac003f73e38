# Stores of python-blosc2: trees of arrays and superchunks.

"""
    Store(path; options...)

An open store of python-blosc2: a tree of arrays and superchunks, its nodes, in a folder (.b2d), a
zip archive (.b2z) or a frame (.b2e).

- `keys(s)` returns the paths of all nodes, in order. They begin with a slash. A table is one node; a
  node `__vlmeta__` is a superchunk with the attributes of its group.
- `s["/group/a"]` opens a node for reading: a `ChunkedArray`, a `Schunk` or a `Table`.
- `identify(s, "/group/a")` returns the format and kind of a node.

`ChunkedArray("x.b2z/group/a")` opens a node by its path; nodes of a folder open for changes, too.
The store lists the nodes once: open it again to find later ones. Throws a `HoldallError` if there is
no store, or if members of an archive overlap or lead out of it.
"""
struct Store
    handle::Handle{holdall_store}
end

function Store(target::Target; options...)
    return with_target(target, options) do path, o
        Store(opened(holdall_store_open, holdall_store, holdall_store_close, path, o))
    end
end

Base.close(s::Store) = close(s.handle)
Base.length(s::Store) = Int(holdall_store_node_count(s.handle))
Base.keys(s::Store) = [unsafe_string(holdall_store_node_path(s.handle, i - 1)) for i in 1:length(s)]
Base.haskey(s::Store, node::AbstractString) = node in keys(s)

"""
    identify(s::Store, node)

Returns the format and kind of a node, such as `(format = :b2nd, kind = :array)`. Throws a
`HoldallError` if there is no such node, for a group, and for a reference to remote content.
"""
function identify(s::Store, node::AbstractString)
    format, kind = Ref{Int32}(0), Ref{Int32}(0)
    check(holdall_store_identify, s.handle, node, format, kind)
    return (format = name_of(format[]), kind = name_of(kind[]))
end

function Base.getindex(s::Store, node::AbstractString; options...)
    kind = identify(s, node).kind
    return with_options(options) do o
        kind === :table && return Table(opened(holdall_store_open_table, holdall_table, holdall_table_close, s.handle, node, o))
        kind === :array || return Schunk(opened(holdall_store_open_schunk, holdall_schunk, holdall_schunk_close, s.handle, node, o))
        chunked(opened(holdall_store_open_array, holdall_array, holdall_array_close, s.handle, node, o))
    end
end
