# Identification, verification and repair of containers.

"""
    identify(path)

Returns the format and kind of a container, such as `(format = :b2nd, kind = :array)`. Throws a `HoldallError` for an unknown format, or if nothing exists there.
"""
function identify(path::AbstractString)
    format, kind = Ref{Int32}(0), Ref{Int32}(0)
    check(holdall_identify, path, format, kind)
    return (format = name_of(format[]), kind = name_of(kind[]))
end

"""
    verify(path; options...)

Reads everything at a path, and verifies all lengths and checksums.

Returns a named tuple:

- intact: the number of intact records or chunks.
- corrupt: the number of corrupt or missing ones.
- unchecked: the number of those without a checksum that applies, or of an unknown codec, filter or
  version.
- failure: the first failure, a `HoldallError`, or `nothing`. `corrupt` may be 0 with corrupt headers
  or metadata, so check the failure.
"""
function verify(path::AbstractString; options...)
    result = Ref(holdall_verify_result(sizeof(holdall_verify_result), 0, 0, 0))
    failure = with_options(options) do o
        try
            check(holdall_verify, path, o, C_NULL, C_NULL, result)
            nothing
        catch e
            e isa HoldallError || rethrow()
            e
        end
    end
    found = result[]
    return (intact = Int(found.intact), corrupt = Int(found.corrupt), unchecked = Int(found.unchecked), failure = failure)
end

"""
    repair(path; options...)

Repairs a container: completes or rolls back an interrupted change and restores the last consistent
state. Intact records and chunks keep their positions.

Returns a named tuple: retained, the number of records or chunks; lost, which includes metadata,
commits, names and columns; and parts_removed, the number of parts that were never committed. Throws a `HoldallError` if the container cannot be repaired.
"""
function repair(path::AbstractString; options...)
    return with_options(o -> filled(holdall_repair, holdall_repair_result, path, o), options)
end
