# What is it, is it sound, make it whole.

"Format and kind of what is at a path, as the header's numbers `HOLDALL_FORMAT_*` and `HOLDALL_KIND_*`."
function identify(path::AbstractString)
    format, kind = Ref{Int32}(0), Ref{Int32}(0)
    check(holdall_identify, path, format, kind)
    return (format = format[], kind = kind[])
end

"""
    verify(path; options...)

Reads and checks everything at a path: how many records or chunks are sound, bad, and without a checksum, and the first
failure, or `nothing`.
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

"Brings what was torn back to its last whole state: how many records or chunks were kept, and dropped."
function repair(path::AbstractString; options...)
    kept, dropped = Ref{UInt64}(0), Ref{UInt64}(0)
    with_options(o -> check(holdall_repair, path, o, kept, dropped), options)
    return (kept = Int(kept[]), dropped = Int(dropped[]))
end
