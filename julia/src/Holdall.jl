"""
    Holdall

Chunked, compressed containers by the C library holdall: bags of records (`Bag`, `BagWriter`), superchunks (`Schunk`), arrays
(`ChunkedArray`), tables (`Table`), and `verify`, `repair`, `identify`.

What is opened is closed by `close`, at the end of a `do` block, or by the garbage collector. Options are keywords, those of the
header in small letters: `threads = 2`, `codec = :zstd`, `skip_damaged = true`. Nothing counts before `commit`.
"""
module Holdall

export Bag, BagWriter, BagIndex, BagStream, ChunkedArray, HoldallError, Schunk, Storage, Table
export commit, create_array, create_schunk, create_table, eachchunk, identify, repair, verify

# By the name that the system's loader finds; ENV["HOLDALL_LIB"], when the package is compiled, is a path instead.
const libholdall = get(ENV, "HOLDALL_LIB", Sys.isapple() ? "libholdall.0.1.dylib" : "libholdall.so.0.1")

include("libholdall.jl")
include("calls.jl")
include("bags.jl")
include("schunks.jl")
include("items.jl")
include("arrays.jl")
include("tables.jl")
include("storage.jl")
include("whole.jl")

end
