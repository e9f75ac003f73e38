# Parts: many processes write one container, and one process commits all of them.

"""
    write_part(f, path, kind; options...)
    write_part(f, path, start, dims; options...)

Creates a part of a container, calls `f` with the path of the part, and returns the token of the part
as bytes, for `commit_parts`, which another process may call.

Any number of processes write parts of one container at the same time, without knowing of each other.
`f` opens the path with mode `:a`, writes, commits and closes it.

- kind: `:bag` for a bag, which may not exist yet, or a new set such as `"lines@*.bagz"`; `:array` or
  `:table` for rows to append to an existing one.
- start, dims: the first indices and the size of a box of an existing array, which the part replaces.

If `f` throws, the part is removed. Throws a `HoldallError` if the container cannot have such a part.
"""
function write_part(f, path::AbstractString, kind::Symbol; options...)
    part = with_options(options) do o
        if kind == :bag
            opened(holdall_part_of_bag, holdall_part, holdall_part_close, path, o)
        elseif kind == :array
            none = Ptr{UInt64}(C_NULL)
            opened(holdall_part_of_array, holdall_part, holdall_part_close, path, 0, none, none, o)
        elseif kind == :table
            opened(holdall_part_of_table, holdall_part, holdall_part_close, path, o)
        else
            throw(ArgumentError("unknown kind $kind (expected :bag, :array or :table)"))
        end
    end
    return token_of(f, part)
end

function write_part(f, path::AbstractString, start, dims; options...)
    length(start) == length(dims) || throw(DimensionMismatch("$start and $dims have different lengths"))
    from, lengths = reversed([i - 1 for i in start]), reversed(dims)
    part = with_options(options) do o
        opened(holdall_part_of_array, holdall_part, holdall_part_close, path, length(start), from, lengths, o)
    end
    return token_of(f, part)
end

"Calls `f` with the path of a part, and returns its token."
function token_of(f, part)
    try
        f(unsafe_string(holdall_part_path(part)))
        token = Vector{UInt8}(undef, HOLDALL_PART_TOKEN_SIZE)
        check(holdall_part_finish, part, token)
        return token
    finally
        close(part)
    end
end

"Returns the tokens end to end."
function end_to_end(tokens)
    for token in tokens
        n = length(token)
        n == HOLDALL_PART_TOKEN_SIZE || throw(ArgumentError("a token of $n bytes (expected $HOLDALL_PART_TOKEN_SIZE)"))
    end
    return reduce(vcat, tokens; init = UInt8[])
end

"""
    commit_parts(path, tokens; options...)

Commits parts of a container, all or none, and removes them. Records and rows are appended in the
order of the tokens; of boxes that overlap, the last one counts.

The call may be repeated after any failure, also by another process: parts are not committed twice.
Throws a `HoldallError` if a part is gone, if the set exists, or if a part has another dtype or other
columns.
"""
function commit_parts(path::AbstractString, tokens; options...)
    bytes = end_to_end(tokens)
    with_options(o -> check(holdall_parts_commit, path, room(bytes), length(tokens), o), options)
    return nothing
end

"Removes parts without committing them. Those that are gone are ignored."
function discard_parts(path::AbstractString, tokens)
    check(holdall_parts_discard, path, room(end_to_end(tokens)), length(tokens))
    return nothing
end

"Returns the names of the parts of a container that are being written or not committed."
list_parts(path::AbstractString) = listed(sized(holdall_parts_list, path))
