# Stores of python-blosc2: trees of arrays, superchunks and tables.

"""
    Store(path, mode = :r; options...)

An open store of python-blosc2: a tree of arrays, superchunks and tables, its nodes, in a folder
(.b2d), a zip archive (.b2z) or a frame (.b2e). `create_store` creates one.

- `keys(s)` returns the paths of all nodes at the last commit, in order. They begin with a slash. A
  table is one node; a node `__vlmeta__` is a superchunk with the attributes of its group.
- `s["/group/a"]` opens a node for reading: a `ChunkedArray`, a `Schunk` or a `Table`.
- `s["/group/a", :a]` opens a node for changes. `new_node` creates one.
- `delete!(s, "/group")` removes a node or a group.
- `commit(s)` makes what nodes have committed, and removals, visible and durable in one step.
- `identify(s, "/group/a")` returns the format and kind of a node.

path: a path or a storage. Mode: `:r` to read, `:a` to change nodes in one commit. While a node is open
for changes, no other task may use the store.

`ChunkedArray("x.b2z/group/a")` opens a node by its path; nodes of a folder open for changes, too.
Throws a `HoldallError` if there is no store, if members of an archive overlap or lead out of it, or
if another writer is active.
"""
struct Store
    handle::Handle{holdall_store}
end

function Store(target::Target, mode::Symbol = :r; options...)
    return with_target(target, options) do path, o
        Store(opened(holdall_store_open, holdall_store, holdall_store_close, path, mode_of(mode), o))
    end
end

"""
    create_store(path; format = nothing, mode = :x, options...)

Creates a store, which exists from its first commit on, and opens it for changes.

- path: a path or `MemoryFiles`.
- format: `:b2d`, `:b2z` or `:b2e`; `nothing`: by the end of the path.
- mode: `:x` creates; `:w` also replaces.

Throws a `HoldallError` if the path exists (mode `:x`) or ends as that of another format.
"""
function create_store(target::Target; format = nothing, mode = :x, options...)
    made = format === nothing ? 0 : constant("FORMAT_", format)
    return with_target(target, options) do path, o
        Store(opened(holdall_store_create, holdall_store, holdall_store_close, path, mode_of(mode), made, o))
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

function Base.getindex(s::Store, node::AbstractString, mode::Symbol = :r; options...)
    kind, how = identify(s, node).kind, mode_of(mode)
    return with_options(options) do o
        kind === :table && return Table(opened(holdall_store_open_table, holdall_table, holdall_table_close, s.handle, node, how, o))
        kind === :array || return Schunk(opened(holdall_store_open_schunk, holdall_schunk, holdall_schunk_close, s.handle, node, how, o))
        chunked(opened(holdall_store_open_array, holdall_array, holdall_array_close, s.handle, node, how, o))
    end
end

"""
    new_node(s, node, kind)

Returns a new node of a store that is open for changes. It replaces the path of a call that creates or
copies a container of this kind: `create_array(new_node(s, "/group/a", :array), Float64, (100,))`. The
call creates the groups of the node.

kind: `:array` (format `:b2nd`), `:schunk` (`:b2frame`) or `:table` (`:ctable`). The call that creates
the node throws a `HoldallError` if another kind of node has this path, if a table is above or below
it, or if the store is open for reading.
"""
new_node(s::Store, node, kind) = NewNode(s.handle, node, kind)

"""
    copy_to(store, path; format = nothing, mode = :x, options...)

Copies all nodes, as they are stored, to a new store, which is complete or absent. The parameters are
those of `create_store`. Throws a `HoldallError` for a table that would be in a .b2e store.
"""
function copy_to(s::Store, target::Target; format = nothing, mode = :x, options...)
    made = format === nothing ? 0 : constant("FORMAT_", format)
    with_target(target, options) do path, o
        check(holdall_store_copy, s.handle, path, mode_of(mode), made, o)
    end
    return nothing
end

"""
    delete!(s, node)

Removes a node or a group with the next commit. No object of it may be open. Throws a `HoldallError` if
there is no such node.
"""
Base.delete!(s::Store, node::AbstractString) = (check(holdall_store_remove, s.handle, node); s)

"Makes what nodes have committed, and removals, visible and durable, all or none. Open nodes stay valid."
commit(s::Store) = (check(holdall_store_commit, s.handle); nothing)
