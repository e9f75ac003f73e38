# Identification, verification and repair of containers.

"""
    identify(path)

Returns the format and kind of a container, as constants `HOLDALL_FORMAT_*` and `HOLDALL_KIND_*`.
Throws a `HoldallError` for an unknown format, or if nothing exists there.
"""
function identify(path::AbstractString)
    format, kind = Ref{Int32}(0), Ref{Int32}(0)
    check(holdall_identify, path, format, kind)
    return (format = format[], kind = kind[])
end

"""
    verify(path; options...)

Reads everything at a path, and verifies all lengths and checksums.

Returns a named tuple:

- sound: the number of intact records or chunks.
- bad: the number of corrupt or missing ones.
- unchecked: the number of those without a checksum that applies, or of an unknown codec, filter or
  version.
- failure: the first failure, a `HoldallError`, or `nothing`. `bad` may be 0 with corrupt headers or
  metadata, so check the failure.
"""
function verify(path::AbstractString; options...)
    sound, bad, unchecked = Ref{UInt64}(0), Ref{UInt64}(0), Ref{UInt64}(0)
    failure = with_options(options) do o
        try
            check(holdall_verify, path, o, C_NULL, C_NULL, sound, bad, unchecked)
            nothing
        catch e
            e isa HoldallError || rethrow()
            e
        end
    end
    return (sound = Int(sound[]), bad = Int(bad[]), unchecked = Int(unchecked[]), failure = failure)
end

"""
    repair(path; options...)

Repairs a container: completes or rolls back an interrupted change and restores the last consistent
state. Intact records and chunks keep their positions.

Returns a named tuple: kept, the number of records or chunks retained, and dropped, the number lost.
Throws a `HoldallError` if the container cannot be repaired.
"""
function repair(path::AbstractString; options...)
    kept, dropped = Ref{UInt64}(0), Ref{UInt64}(0)
    with_options(o -> check(holdall_repair, path, o, kept, dropped), options)
    return (kept = Int(kept[]), dropped = Int(dropped[]))
end
