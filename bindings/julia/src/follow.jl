# Readers that follow a writer.

"Returns the number of commits through an object, and of refreshes that may have found a newer one."
generation(b::Bag) = Int(holdall_bag_generation(b.handle))
generation(s::Schunk) = Int(holdall_schunk_generation(s.handle))
generation(t::Table) = Int(holdall_table_generation(t.handle))
generation(a::ChunkedArray) = a.handle isa Column ? generation(a.handle.table) : Int(holdall_array_generation(a.handle))

"""
    refresh!(x)

Moves a bag, superchunk, array or table that was opened for reading to the newest commit, and
returns it. Without a newer commit it takes about one system call per file.

Sizes, columns and attributes are those of the new commit. Results of earlier calls do not change;
slices, streams and indexes of a bag stay at the earlier commit. No other call with the same object,
or with a column of the table, may run at the same time.

Throws a `HoldallError` if the object was opened for changes, or for the reasons for which opening
fails; the object is then unchanged. Throws an `ArgumentError` for a column, which is refreshed with
its table, and if the newest commit of an array has another item type or number of dimensions. That
array is then closed: open it again.
"""
refresh!(b::Bag) = (check(holdall_bag_refresh, b.handle); b)
refresh!(s::Schunk) = (check(holdall_schunk_refresh, s.handle); s)
refresh!(t::Table) = (check(holdall_table_refresh, t.handle); t)

"Returns whether the items and dimensions in the container are still those of the Julia type."
function is_as_opened(a::ChunkedArray{T,N}) where {T,N}
    found = item_type(unsafe_string(holdall_array_dtype(a.handle)), holdall_array_itemsize(a.handle))
    return found == (T, a.swap) && holdall_array_ndim(a.handle) == N
end

function refresh!(a::ChunkedArray)
    a.handle isa Column && throw(ArgumentError("a column cannot be refreshed; refresh its table"))
    check(holdall_array_refresh, a.handle)
    is_as_opened(a) && return a
    close(a)
    throw(ArgumentError("the array has another item type or number of dimensions; open it again"))
end
