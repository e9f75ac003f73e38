"""
    Holdall

Julia interface of the C library holdall: chunked, compressed containers.

The containers are bags of records (`Bag`, `BagWriter`), superchunks (`Schunk`), arrays
(`ChunkedArray`), tables (`Table`) and stores (`Store`). `verify`, `repair` and `identify` work on all of them.

An object is closed by `close` or by the garbage collector. Several tasks may read through one
object at once. Calls that change it (`close`, `commit`, `refresh!` and all that write) must not
run at the same time as another call with the same object. Results are Julia memory, and stay valid
after all of these.

Options are keyword arguments. Their names are those of the header in lower case, without prefix:
`threads = 2`, `codec = :zstd`, `skip_damaged = true`.

Changes are durable and visible only after `commit`. `refresh!` moves an object that was opened for
reading to the newest commit. A failed call throws a `HoldallError`, and a call with a closed object
an `ArgumentError`.
"""
module Holdall

export Bag, BagWriter, BagIndex, BagStream, ChunkedArray, HoldallError, MemoryFiles, Schunk, SchunkStream, Storage, Store, Table
export attr, build_index!, checksum, commit, commit_parts, copy_to, create_array, create_schunk, create_store, create_table, dictionary, discard_parts
export eachblock, eachchunk, finish, generation, identify, info, insert_blocks!, list_parts
export meta_file, meta_files, new_node, nulls, read_block, read_rows, rows_where, refresh!, repair
export set_attr!, set_meta_file!, slice, splits, texts, train_dictionary, verify, write_part

# The name for the system's loader. ENV["HOLDALL_LIB"], read when the package is compiled, is the
# path to use instead.
const libholdall = get(ENV, "HOLDALL_LIB", Sys.isapple() ? "libholdall.0.2.dylib" : "libholdall.so.0.2")

include("libholdall.jl")
include("calls.jl")
include("storage.jl")
include("bags.jl")
include("schunks.jl")
include("items.jl")
include("arrays.jl")
include("tables.jl")
include("stores.jl")
include("parts.jl")
include("follow.jl")
include("whole.jl")

end
