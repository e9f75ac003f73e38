# The functions of holdall.h, which is their manual. Made by bindings/write.py: do not edit.

const HOLDALL_VERSION_MAJOR = 0
const HOLDALL_VERSION_MINOR = 1
const HOLDALL_VERSION_PATCH = 0
const HOLDALL_VERSION_NUMBER = 1000
const HOLDALL_OK = 0
const HOLDALL_NOT_FOUND = 1
const HOLDALL_E_ARGUMENT = -1
const HOLDALL_E_PANIC = -2
const HOLDALL_E_MEMORY = -3
const HOLDALL_E_BUFFER = -4
const HOLDALL_E_IO = -5
const HOLDALL_E_MISSING = -6
const HOLDALL_E_EXISTS = -7
const HOLDALL_E_FORMAT = -8
const HOLDALL_E_CHECKSUM = -9
const HOLDALL_E_VERSION = -10
const HOLDALL_E_CODEC = -11
const HOLDALL_E_TYPE = -12
const HOLDALL_E_RANGE = -13
const HOLDALL_E_STATE = -14
const HOLDALL_E_LIMIT = -15
const HOLDALL_E_CANCELLED = -16
const HOLDALL_E_CALLBACK = -17
const HOLDALL_E_BUSY = -18
const HOLDALL_E_UNSUPPORTED = -19
const HOLDALL_OPT_THREADS = 1
const HOLDALL_OPT_MEMORY_LIMIT = 2
const HOLDALL_OPT_IO = 3
const HOLDALL_OPT_VERIFY = 4
const HOLDALL_OPT_SKIP_DAMAGED = 5
const HOLDALL_OPT_DURABILITY = 6
const HOLDALL_OPT_LOCK = 7
const HOLDALL_OPT_CODEC = 8
const HOLDALL_OPT_LEVEL = 9
const HOLDALL_OPT_FILTERS = 10
const HOLDALL_OPT_CHUNK_BYTES = 11
const HOLDALL_OPT_BLOCK_BYTES = 12
const HOLDALL_OPT_CHECKSUM = 13
const HOLDALL_OPT_DICTIONARY = 14
const HOLDALL_OPT_FILL = 15
const HOLDALL_OPT_EXPECTED_ROWS = 16
const HOLDALL_OPT_SPARSE = 17
const HOLDALL_OPT_SUPERCHUNK_CHUNKS = 18
const HOLDALL_OPT_OFFSETS = 19
const HOLDALL_OPT_SPARE_CHUNKS = 20
const HOLDALL_OPT_SPARE_BYTES = 21
const HOLDALL_OPT_FORMAT_VERSION = 22
const HOLDALL_OPT_BAG_LIMITS = 23
const HOLDALL_OPT_BAG_LIMITS_CACHE = 24
const HOLDALL_OPT_BAG_SHARDS = 25
const HOLDALL_OPT_BAG_READ_AHEAD = 26
const HOLDALL_OPT_ARROW_BINARY = 27
const HOLDALL_OPT_ARROW_NULLS = 28
const HOLDALL_OPT_AT = 29
const HOLDALL_OPT_BOTH_METALAYERS = 30
const HOLDALL_OPT_BAG_READ_AHEAD_BYTES = 33
const HOLDALL_OPT_CLOUD_TIMEOUT = 39
const HOLDALL_OPT_CLOUD_RETRIES = 40
const HOLDALL_OPT_CLOUD_REQUESTS = 41
const HOLDALL_OPT_DRY_RUN = 42
const HOLDALL_IO_READ = 0
const HOLDALL_IO_MAP = 1
const HOLDALL_CODEC_NONE = 0
const HOLDALL_CODEC_BLOSCLZ = 1
const HOLDALL_CODEC_LZ4 = 2
const HOLDALL_CODEC_LZ4HC = 3
const HOLDALL_CODEC_SNAPPY = 4
const HOLDALL_CODEC_ZLIB = 5
const HOLDALL_CODEC_ZSTD = 6
const HOLDALL_CODEC_BY_NAME = 255
const HOLDALL_FILTER_NONE = 0
const HOLDALL_FILTER_SHUFFLE = 1
const HOLDALL_FILTER_BITSHUFFLE = 2
const HOLDALL_FILTER_DELTA = 3
const HOLDALL_FILTER_BYTEDELTA = 35
const HOLDALL_SUM_NONE = 0
const HOLDALL_SUM_ADLER32 = 1
const HOLDALL_SUM_CRC32 = 2
const HOLDALL_SUM_MD5 = 3
const HOLDALL_SUM_SHA1 = 4
const HOLDALL_SUM_SHA224 = 5
const HOLDALL_SUM_SHA256 = 6
const HOLDALL_SUM_SHA384 = 7
const HOLDALL_SUM_SHA512 = 8
const HOLDALL_SUM_ZSTD = 9
const HOLDALL_BAG_LIMITS_TAIL = 0
const HOLDALL_BAG_LIMITS_SEPARATE = 1
const HOLDALL_BAG_SHARDS_CONCATENATED = 0
const HOLDALL_BAG_SHARDS_INTERLEAVED = 1
const HOLDALL_FORMAT_BLOSCPACK = 1
const HOLDALL_FORMAT_BCOLZ = 2
const HOLDALL_FORMAT_BLZ = 3
const HOLDALL_FORMAT_BLZ_PAPER = 4
const HOLDALL_FORMAT_B2FRAME = 5
const HOLDALL_FORMAT_CATERVA = 6
const HOLDALL_FORMAT_B2ND = 7
const HOLDALL_FORMAT_BAGZ = 8
const HOLDALL_KIND_SCHUNK = 1
const HOLDALL_KIND_ARRAY = 2
const HOLDALL_KIND_TABLE = 3
const HOLDALL_KIND_BAG = 4
const HOLDALL_READ = 0
const HOLDALL_APPEND = 1
const HOLDALL_NEW = 2
const HOLDALL_REPLACE = 3
const HOLDALL_MAX_NDIM = 16
const HOLDALL_ORDER_C = 0
const HOLDALL_ORDER_F = 1
const HOLDALL_NO_RECORD = typemax(UInt64)

mutable struct holdall_options end
mutable struct holdall_io end
mutable struct holdall_digest end
mutable struct holdall_schunk end
mutable struct holdall_array end
mutable struct holdall_table end
mutable struct holdall_bag end
mutable struct holdall_bag_writer end
mutable struct holdall_records end
mutable struct holdall_bag_stream end
mutable struct holdall_epoch end
mutable struct holdall_bag_index end

struct holdall_error
    status::Int32
    os_code::Int32
    position::Int64
    message::NTuple{496, UInt8}
end

struct holdall_io_functions
    struct_size::Csize_t
    ctx::Ptr{Cvoid}
    size::Ptr{Cvoid}
    read_at::Ptr{Cvoid}
    write_at::Ptr{Cvoid}
    truncate::Ptr{Cvoid}
    sync::Ptr{Cvoid}
    rename::Ptr{Cvoid}
    remove::Ptr{Cvoid}
    list::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
end

holdall_options_new() =
    @ccall libholdall.holdall_options_new()::Ptr{holdall_options}

holdall_options_free(options) =
    @ccall libholdall.holdall_options_free(options::Ptr{holdall_options})::Cvoid

holdall_options_set(options, option, value, err) =
    @ccall libholdall.holdall_options_set(options::Ptr{holdall_options}, option::Int32, value::Int64, err::Ptr{holdall_error})::Int32

holdall_options_set_bytes(options, option, value, n, err) =
    @ccall libholdall.holdall_options_set_bytes(options::Ptr{holdall_options}, option::Int32, value::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_options_on_progress(options, progress, ctx) =
    @ccall libholdall.holdall_options_on_progress(options::Ptr{holdall_options}, progress::Ptr{Cvoid}, ctx::Ptr{Cvoid})::Cvoid

holdall_io_from_functions(functions, out, err) =
    @ccall libholdall.holdall_io_from_functions(functions::Ptr{holdall_io_functions}, out::Ptr{Ptr{holdall_io}}, err::Ptr{holdall_error})::Int32

holdall_io_from_memory(bytes, n, out, err) =
    @ccall libholdall.holdall_io_from_memory(bytes::Ptr{Cvoid}, n::Csize_t, out::Ptr{Ptr{holdall_io}}, err::Ptr{holdall_error})::Int32

holdall_io_close(io) =
    @ccall libholdall.holdall_io_close(io::Ptr{holdall_io})::Cvoid

holdall_version_number() =
    @ccall libholdall.holdall_version_number()::UInt32

holdall_version_text() =
    @ccall libholdall.holdall_version_text()::Cstring

holdall_status_name(status) =
    @ccall libholdall.holdall_status_name(status::Int32)::Cstring

holdall_identify(path, format, kind, err) =
    @ccall libholdall.holdall_identify(path::Cstring, format::Ptr{Int32}, kind::Ptr{Int32}, err::Ptr{holdall_error})::Int32

holdall_bag_files(spec, dst, dst_size, n, err) =
    @ccall libholdall.holdall_bag_files(spec::Cstring, dst::Ptr{UInt8}, dst_size::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_verify(path, options, fault, ctx, sound, bad, unchecked, err) =
    @ccall libholdall.holdall_verify(path::Cstring, options::Ptr{holdall_options}, fault::Ptr{Cvoid}, ctx::Ptr{Cvoid}, sound::Ptr{UInt64}, bad::Ptr{UInt64}, unchecked::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_repair(path, options, kept, dropped, err) =
    @ccall libholdall.holdall_repair(path::Cstring, options::Ptr{holdall_options}, kept::Ptr{UInt64}, dropped::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_checksum(sum, bytes, n, dst, dst_size, digest_size, err) =
    @ccall libholdall.holdall_checksum(sum::Int32, bytes::Ptr{Cvoid}, n::Csize_t, dst::Ptr{Cvoid}, dst_size::Csize_t, digest_size::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_digest_new(sum, out, err) =
    @ccall libholdall.holdall_digest_new(sum::Int32, out::Ptr{Ptr{holdall_digest}}, err::Ptr{holdall_error})::Int32

holdall_digest_update(digest, bytes, n, err) =
    @ccall libholdall.holdall_digest_update(digest::Ptr{holdall_digest}, bytes::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_digest_finish(digest, dst, dst_size, digest_size, err) =
    @ccall libholdall.holdall_digest_finish(digest::Ptr{holdall_digest}, dst::Ptr{Cvoid}, dst_size::Csize_t, digest_size::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_digest_free(digest) =
    @ccall libholdall.holdall_digest_free(digest::Ptr{holdall_digest})::Cvoid

holdall_schunk_open(path, mode, options, out, err) =
    @ccall libholdall.holdall_schunk_open(path::Cstring, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_schunk}}, err::Ptr{holdall_error})::Int32

holdall_schunk_open_io(io, mode, options, out, err) =
    @ccall libholdall.holdall_schunk_open_io(io::Ptr{holdall_io}, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_schunk}}, err::Ptr{holdall_error})::Int32

holdall_schunk_create(path, mode, format, typesize, options, out, err) =
    @ccall libholdall.holdall_schunk_create(path::Cstring, mode::Int32, format::Int32, typesize::Csize_t, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_schunk}}, err::Ptr{holdall_error})::Int32

holdall_schunk_create_io(io, mode, format, typesize, options, out, err) =
    @ccall libholdall.holdall_schunk_create_io(io::Ptr{holdall_io}, mode::Int32, format::Int32, typesize::Csize_t, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_schunk}}, err::Ptr{holdall_error})::Int32

holdall_schunk_close(schunk) =
    @ccall libholdall.holdall_schunk_close(schunk::Ptr{holdall_schunk})::Cvoid

holdall_schunk_chunks(schunk) =
    @ccall libholdall.holdall_schunk_chunks(schunk::Ptr{holdall_schunk})::UInt64

holdall_schunk_nbytes(schunk) =
    @ccall libholdall.holdall_schunk_nbytes(schunk::Ptr{holdall_schunk})::UInt64

holdall_schunk_cbytes(schunk) =
    @ccall libholdall.holdall_schunk_cbytes(schunk::Ptr{holdall_schunk})::UInt64

holdall_schunk_typesize(schunk) =
    @ccall libholdall.holdall_schunk_typesize(schunk::Ptr{holdall_schunk})::Csize_t

holdall_schunk_chunk_size(schunk) =
    @ccall libholdall.holdall_schunk_chunk_size(schunk::Ptr{holdall_schunk})::Csize_t

holdall_schunk_sum(schunk) =
    @ccall libholdall.holdall_schunk_sum(schunk::Ptr{holdall_schunk})::Int32

holdall_schunk_version(schunk) =
    @ccall libholdall.holdall_schunk_version(schunk::Ptr{holdall_schunk})::Int32

holdall_schunk_chunk_info(schunk, chunk, nbytes, cbytes, codec, err) =
    @ccall libholdall.holdall_schunk_chunk_info(schunk::Ptr{holdall_schunk}, chunk::UInt64, nbytes::Ptr{Csize_t}, cbytes::Ptr{Csize_t}, codec::Ptr{Int32}, err::Ptr{holdall_error})::Int32

holdall_schunk_read(schunk, at, dst, n, err) =
    @ccall libholdall.holdall_schunk_read(schunk::Ptr{holdall_schunk}, at::UInt64, dst::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_schunk_read_chunk(schunk, chunk, dst, dst_size, n, err) =
    @ccall libholdall.holdall_schunk_read_chunk(schunk::Ptr{holdall_schunk}, chunk::UInt64, dst::Ptr{Cvoid}, dst_size::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_schunk_read_raw(schunk, chunk, dst, dst_size, n, err) =
    @ccall libholdall.holdall_schunk_read_raw(schunk::Ptr{holdall_schunk}, chunk::UInt64, dst::Ptr{Cvoid}, dst_size::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_schunk_checksum(schunk, sum, dst, dst_size, digest_size, err) =
    @ccall libholdall.holdall_schunk_checksum(schunk::Ptr{holdall_schunk}, sum::Int32, dst::Ptr{Cvoid}, dst_size::Csize_t, digest_size::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_schunk_append(schunk, src, n, err) =
    @ccall libholdall.holdall_schunk_append(schunk::Ptr{holdall_schunk}, src::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_schunk_append_raw(schunk, chunk, n, err) =
    @ccall libholdall.holdall_schunk_append_raw(schunk::Ptr{holdall_schunk}, chunk::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_schunk_write(schunk, at, src, n, err) =
    @ccall libholdall.holdall_schunk_write(schunk::Ptr{holdall_schunk}, at::UInt64, src::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_schunk_insert(schunk, chunk, src, n, err) =
    @ccall libholdall.holdall_schunk_insert(schunk::Ptr{holdall_schunk}, chunk::UInt64, src::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_schunk_remove(schunk, chunk, err) =
    @ccall libholdall.holdall_schunk_remove(schunk::Ptr{holdall_schunk}, chunk::UInt64, err::Ptr{holdall_error})::Int32

holdall_schunk_truncate(schunk, nbytes, err) =
    @ccall libholdall.holdall_schunk_truncate(schunk::Ptr{holdall_schunk}, nbytes::UInt64, err::Ptr{holdall_error})::Int32

holdall_schunk_metas(schunk) =
    @ccall libholdall.holdall_schunk_metas(schunk::Ptr{holdall_schunk})::UInt32

holdall_schunk_meta_name(schunk, i) =
    @ccall libholdall.holdall_schunk_meta_name(schunk::Ptr{holdall_schunk}, i::UInt32)::Cstring

holdall_schunk_meta_get(schunk, name, value, n, err) =
    @ccall libholdall.holdall_schunk_meta_get(schunk::Ptr{holdall_schunk}, name::Cstring, value::Ptr{Ptr{Cvoid}}, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_schunk_meta_set(schunk, name, value, n, err) =
    @ccall libholdall.holdall_schunk_meta_set(schunk::Ptr{holdall_schunk}, name::Cstring, value::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_schunk_commit(schunk, err) =
    @ccall libholdall.holdall_schunk_commit(schunk::Ptr{holdall_schunk}, err::Ptr{holdall_error})::Int32

holdall_schunk_copy(schunk, path, mode, format, options, err) =
    @ccall libholdall.holdall_schunk_copy(schunk::Ptr{holdall_schunk}, path::Cstring, mode::Int32, format::Int32, options::Ptr{holdall_options}, err::Ptr{holdall_error})::Int32

holdall_array_open(path, mode, options, out, err) =
    @ccall libholdall.holdall_array_open(path::Cstring, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_array}}, err::Ptr{holdall_error})::Int32

holdall_array_open_io(io, mode, options, out, err) =
    @ccall libholdall.holdall_array_open_io(io::Ptr{holdall_io}, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_array}}, err::Ptr{holdall_error})::Int32

holdall_array_create(path, mode, format, dtype, ndim, shape, chunks, blocks, options, out, err) =
    @ccall libholdall.holdall_array_create(path::Cstring, mode::Int32, format::Int32, dtype::Cstring, ndim::UInt32, shape::Ptr{UInt64}, chunks::Ptr{UInt64}, blocks::Ptr{UInt64}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_array}}, err::Ptr{holdall_error})::Int32

holdall_array_create_io(io, mode, format, dtype, ndim, shape, chunks, blocks, options, out, err) =
    @ccall libholdall.holdall_array_create_io(io::Ptr{holdall_io}, mode::Int32, format::Int32, dtype::Cstring, ndim::UInt32, shape::Ptr{UInt64}, chunks::Ptr{UInt64}, blocks::Ptr{UInt64}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_array}}, err::Ptr{holdall_error})::Int32

holdall_array_close(array) =
    @ccall libholdall.holdall_array_close(array::Ptr{holdall_array})::Cvoid

holdall_array_ndim(array) =
    @ccall libholdall.holdall_array_ndim(array::Ptr{holdall_array})::UInt32

holdall_array_shape(array) =
    @ccall libholdall.holdall_array_shape(array::Ptr{holdall_array})::Ptr{UInt64}

holdall_array_chunkshape(array) =
    @ccall libholdall.holdall_array_chunkshape(array::Ptr{holdall_array})::Ptr{UInt64}

holdall_array_blockshape(array) =
    @ccall libholdall.holdall_array_blockshape(array::Ptr{holdall_array})::Ptr{UInt64}

holdall_array_dtype(array) =
    @ccall libholdall.holdall_array_dtype(array::Ptr{holdall_array})::Cstring

holdall_array_itemsize(array) =
    @ccall libholdall.holdall_array_itemsize(array::Ptr{holdall_array})::Csize_t

holdall_array_order(array) =
    @ccall libholdall.holdall_array_order(array::Ptr{holdall_array})::Int32

holdall_array_nbytes(array) =
    @ccall libholdall.holdall_array_nbytes(array::Ptr{holdall_array})::UInt64

holdall_array_cbytes(array) =
    @ccall libholdall.holdall_array_cbytes(array::Ptr{holdall_array})::UInt64

holdall_array_read(array, start, count, step, dst, strides, dst_size, err) =
    @ccall libholdall.holdall_array_read(array::Ptr{holdall_array}, start::Ptr{UInt64}, count::Ptr{UInt64}, step::Ptr{UInt64}, dst::Ptr{Cvoid}, strides::Ptr{Int64}, dst_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_write(array, start, count, step, src, strides, src_size, err) =
    @ccall libholdall.holdall_array_write(array::Ptr{holdall_array}, start::Ptr{UInt64}, count::Ptr{UInt64}, step::Ptr{UInt64}, src::Ptr{Cvoid}, strides::Ptr{Int64}, src_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_read_orthogonal(array, positions, counts, dst, dst_size, err) =
    @ccall libholdall.holdall_array_read_orthogonal(array::Ptr{holdall_array}, positions::Ptr{Ptr{UInt64}}, counts::Ptr{UInt64}, dst::Ptr{Cvoid}, dst_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_write_orthogonal(array, positions, counts, src, src_size, err) =
    @ccall libholdall.holdall_array_write_orthogonal(array::Ptr{holdall_array}, positions::Ptr{Ptr{UInt64}}, counts::Ptr{UInt64}, src::Ptr{Cvoid}, src_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_read_points(array, coordinates, n, dst, dst_size, err) =
    @ccall libholdall.holdall_array_read_points(array::Ptr{holdall_array}, coordinates::Ptr{UInt64}, n::Csize_t, dst::Ptr{Cvoid}, dst_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_append(array, axis, count, src, src_size, err) =
    @ccall libholdall.holdall_array_append(array::Ptr{holdall_array}, axis::UInt32, count::UInt64, src::Ptr{Cvoid}, src_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_insert(array, axis, at, count, src, src_size, err) =
    @ccall libholdall.holdall_array_insert(array::Ptr{holdall_array}, axis::UInt32, at::UInt64, count::UInt64, src::Ptr{Cvoid}, src_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_remove(array, axis, at, count, err) =
    @ccall libholdall.holdall_array_remove(array::Ptr{holdall_array}, axis::UInt32, at::UInt64, count::UInt64, err::Ptr{holdall_error})::Int32

holdall_array_copy(array, path, mode, format, chunks, blocks, options, err) =
    @ccall libholdall.holdall_array_copy(array::Ptr{holdall_array}, path::Cstring, mode::Int32, format::Int32, chunks::Ptr{UInt64}, blocks::Ptr{UInt64}, options::Ptr{holdall_options}, err::Ptr{holdall_error})::Int32

holdall_array_resize(array, shape, err) =
    @ccall libholdall.holdall_array_resize(array::Ptr{holdall_array}, shape::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_array_commit(array, err) =
    @ccall libholdall.holdall_array_commit(array::Ptr{holdall_array}, err::Ptr{holdall_error})::Int32

holdall_array_fill(array, value, n, err) =
    @ccall libholdall.holdall_array_fill(array::Ptr{holdall_array}, value::Ptr{Ptr{Cvoid}}, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_array_fill_set(array, src, size, err) =
    @ccall libholdall.holdall_array_fill_set(array::Ptr{holdall_array}, src::Ptr{Cvoid}, size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_array_read_object(array, i, dst, dst_size, n, err) =
    @ccall libholdall.holdall_array_read_object(array::Ptr{holdall_array}, i::UInt64, dst::Ptr{Cvoid}, dst_size::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_array_attrs(array) =
    @ccall libholdall.holdall_array_attrs(array::Ptr{holdall_array})::UInt32

holdall_array_attr_name(array, i) =
    @ccall libholdall.holdall_array_attr_name(array::Ptr{holdall_array}, i::UInt32)::Cstring

holdall_array_attr_get(array, name, value, n, err) =
    @ccall libholdall.holdall_array_attr_get(array::Ptr{holdall_array}, name::Cstring, value::Ptr{Ptr{Cvoid}}, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_array_attr_set(array, name, value, n, err) =
    @ccall libholdall.holdall_array_attr_set(array::Ptr{holdall_array}, name::Cstring, value::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_table_open(path, mode, options, out, err) =
    @ccall libholdall.holdall_table_open(path::Cstring, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_table}}, err::Ptr{holdall_error})::Int32

holdall_table_open_io(io, mode, options, out, err) =
    @ccall libholdall.holdall_table_open_io(io::Ptr{holdall_io}, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_table}}, err::Ptr{holdall_error})::Int32

holdall_table_create(path, mode, format, columns, names, dtypes, options, out, err) =
    @ccall libholdall.holdall_table_create(path::Cstring, mode::Int32, format::Int32, columns::UInt32, names::Ptr{Ptr{UInt8}}, dtypes::Ptr{Ptr{UInt8}}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_table}}, err::Ptr{holdall_error})::Int32

holdall_table_create_io(io, mode, format, columns, names, dtypes, options, out, err) =
    @ccall libholdall.holdall_table_create_io(io::Ptr{holdall_io}, mode::Int32, format::Int32, columns::UInt32, names::Ptr{Ptr{UInt8}}, dtypes::Ptr{Ptr{UInt8}}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_table}}, err::Ptr{holdall_error})::Int32

holdall_table_close(table) =
    @ccall libholdall.holdall_table_close(table::Ptr{holdall_table})::Cvoid

holdall_table_rows(table) =
    @ccall libholdall.holdall_table_rows(table::Ptr{holdall_table})::UInt64

holdall_table_columns(table) =
    @ccall libholdall.holdall_table_columns(table::Ptr{holdall_table})::UInt32

holdall_table_column_name(table, i) =
    @ccall libholdall.holdall_table_column_name(table::Ptr{holdall_table}, i::UInt32)::Cstring

holdall_table_column(table, i) =
    @ccall libholdall.holdall_table_column(table::Ptr{holdall_table}, i::UInt32)::Ptr{holdall_array}

holdall_table_column_rows(table, i) =
    @ccall libholdall.holdall_table_column_rows(table::Ptr{holdall_table}, i::UInt32)::UInt64

holdall_table_attrs(table) =
    @ccall libholdall.holdall_table_attrs(table::Ptr{holdall_table})::UInt32

holdall_table_attr_name(table, i) =
    @ccall libholdall.holdall_table_attr_name(table::Ptr{holdall_table}, i::UInt32)::Cstring

holdall_table_attr_get(table, name, value, n, err) =
    @ccall libholdall.holdall_table_attr_get(table::Ptr{holdall_table}, name::Cstring, value::Ptr{Ptr{Cvoid}}, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_table_attr_set(table, name, value, n, err) =
    @ccall libholdall.holdall_table_attr_set(table::Ptr{holdall_table}, name::Cstring, value::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_table_column_attr_set(table, i, name, value, n, err) =
    @ccall libholdall.holdall_table_column_attr_set(table::Ptr{holdall_table}, i::UInt32, name::Cstring, value::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_table_append(table, rows, columns, sizes, err) =
    @ccall libholdall.holdall_table_append(table::Ptr{holdall_table}, rows::UInt64, columns::Ptr{Ptr{Cvoid}}, sizes::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_table_write(table, i, first, rows, src, src_size, err) =
    @ccall libholdall.holdall_table_write(table::Ptr{holdall_table}, i::UInt32, first::UInt64, rows::UInt64, src::Ptr{Cvoid}, src_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_table_column_add(table, at, name, dtype, src, src_size, err) =
    @ccall libholdall.holdall_table_column_add(table::Ptr{holdall_table}, at::UInt32, name::Cstring, dtype::Cstring, src::Ptr{Cvoid}, src_size::Csize_t, err::Ptr{holdall_error})::Int32

holdall_table_column_remove(table, name, err) =
    @ccall libholdall.holdall_table_column_remove(table::Ptr{holdall_table}, name::Cstring, err::Ptr{holdall_error})::Int32

holdall_table_truncate(table, rows, err) =
    @ccall libholdall.holdall_table_truncate(table::Ptr{holdall_table}, rows::UInt64, err::Ptr{holdall_error})::Int32

holdall_table_commit(table, err) =
    @ccall libholdall.holdall_table_commit(table::Ptr{holdall_table}, err::Ptr{holdall_error})::Int32

holdall_bag_open(spec, options, out, err) =
    @ccall libholdall.holdall_bag_open(spec::Cstring, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag}}, err::Ptr{holdall_error})::Int32

holdall_bag_open_io(shards, n, options, out, err) =
    @ccall libholdall.holdall_bag_open_io(shards::Ptr{Ptr{holdall_io}}, n::UInt32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag}}, err::Ptr{holdall_error})::Int32

holdall_bag_slice(bag, start, step, n, out, err) =
    @ccall libholdall.holdall_bag_slice(bag::Ptr{holdall_bag}, start::UInt64, step::Int64, n::UInt64, out::Ptr{Ptr{holdall_bag}}, err::Ptr{holdall_error})::Int32

holdall_bag_close(bag) =
    @ccall libholdall.holdall_bag_close(bag::Ptr{holdall_bag})::Cvoid

holdall_bag_size(bag) =
    @ccall libholdall.holdall_bag_size(bag::Ptr{holdall_bag})::UInt64

holdall_bag_codec(bag) =
    @ccall libholdall.holdall_bag_codec(bag::Ptr{holdall_bag})::Int32

holdall_bag_sum(bag) =
    @ccall libholdall.holdall_bag_sum(bag::Ptr{holdall_bag})::Int32

holdall_bag_limits(bag) =
    @ccall libholdall.holdall_bag_limits(bag::Ptr{holdall_bag})::Int32

holdall_bag_cbytes(bag) =
    @ccall libholdall.holdall_bag_cbytes(bag::Ptr{holdall_bag})::UInt64

holdall_bag_shards(bag) =
    @ccall libholdall.holdall_bag_shards(bag::Ptr{holdall_bag})::UInt32

holdall_bag_shard_name(bag, i) =
    @ccall libholdall.holdall_bag_shard_name(bag::Ptr{holdall_bag}, i::UInt32)::Cstring

holdall_bag_shard_size(bag, i) =
    @ccall libholdall.holdall_bag_shard_size(bag::Ptr{holdall_bag}, i::UInt32)::UInt64

holdall_bag_read(bag, i, dst, dst_size, n, err) =
    @ccall libholdall.holdall_bag_read(bag::Ptr{holdall_bag}, i::UInt64, dst::Ptr{Cvoid}, dst_size::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_bag_read_range(bag, first, n, out, err) =
    @ccall libholdall.holdall_bag_read_range(bag::Ptr{holdall_bag}, first::UInt64, n::UInt64, out::Ptr{Ptr{holdall_records}}, err::Ptr{holdall_error})::Int32

holdall_bag_read_indices(bag, indices, n, out, err) =
    @ccall libholdall.holdall_bag_read_indices(bag::Ptr{holdall_bag}, indices::Ptr{UInt64}, n::Csize_t, out::Ptr{Ptr{holdall_records}}, err::Ptr{holdall_error})::Int32

holdall_bag_checksum(bag, sum, dst, dst_size, n, err) =
    @ccall libholdall.holdall_bag_checksum(bag::Ptr{holdall_bag}, sum::Int32, dst::Ptr{Cvoid}, dst_size::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_records_count(records) =
    @ccall libholdall.holdall_records_count(records::Ptr{holdall_records})::Csize_t

holdall_records_data(records) =
    @ccall libholdall.holdall_records_data(records::Ptr{holdall_records})::Ptr{UInt8}

holdall_records_offsets(records) =
    @ccall libholdall.holdall_records_offsets(records::Ptr{holdall_records})::Ptr{UInt64}

holdall_records_damaged(records) =
    @ccall libholdall.holdall_records_damaged(records::Ptr{holdall_records})::Csize_t

holdall_records_damaged_at(records) =
    @ccall libholdall.holdall_records_damaged_at(records::Ptr{holdall_records})::Ptr{UInt64}

holdall_records_numbers(records) =
    @ccall libholdall.holdall_records_numbers(records::Ptr{holdall_records})::Ptr{UInt64}

holdall_records_close(records) =
    @ccall libholdall.holdall_records_close(records::Ptr{holdall_records})::Cvoid

holdall_bag_writer_open(path, mode, options, out, err) =
    @ccall libholdall.holdall_bag_writer_open(path::Cstring, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_writer}}, err::Ptr{holdall_error})::Int32

holdall_bag_writer_open_io(io, mode, options, out, err) =
    @ccall libholdall.holdall_bag_writer_open_io(io::Ptr{holdall_io}, mode::Int32, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_writer}}, err::Ptr{holdall_error})::Int32

holdall_bag_writer_append(writer, record, n, err) =
    @ccall libholdall.holdall_bag_writer_append(writer::Ptr{holdall_bag_writer}, record::Ptr{Cvoid}, n::Csize_t, err::Ptr{holdall_error})::Int32

holdall_bag_writer_append_many(writer, data, offsets, count, err) =
    @ccall libholdall.holdall_bag_writer_append_many(writer::Ptr{holdall_bag_writer}, data::Ptr{Cvoid}, offsets::Ptr{UInt64}, count::Csize_t, err::Ptr{holdall_error})::Int32

holdall_bag_writer_size(writer) =
    @ccall libholdall.holdall_bag_writer_size(writer::Ptr{holdall_bag_writer})::UInt64

holdall_bag_writer_commit(writer, err) =
    @ccall libholdall.holdall_bag_writer_commit(writer::Ptr{holdall_bag_writer}, err::Ptr{holdall_error})::Int32

holdall_bag_writer_close(writer) =
    @ccall libholdall.holdall_bag_writer_close(writer::Ptr{holdall_bag_writer})::Cvoid

holdall_bag_stream_open(bag, next, ctx, options, out, err) =
    @ccall libholdall.holdall_bag_stream_open(bag::Ptr{holdall_bag}, next::Ptr{Cvoid}, ctx::Ptr{Cvoid}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_stream}}, err::Ptr{holdall_error})::Int32

holdall_bag_stream_next(stream, record, n, err) =
    @ccall libholdall.holdall_bag_stream_next(stream::Ptr{holdall_bag_stream}, record::Ptr{Ptr{Cvoid}}, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_bag_stream_take(stream, n, out, err) =
    @ccall libholdall.holdall_bag_stream_take(stream::Ptr{holdall_bag_stream}, n::Csize_t, out::Ptr{Ptr{holdall_records}}, err::Ptr{holdall_error})::Int32

holdall_bag_stream_number(stream) =
    @ccall libholdall.holdall_bag_stream_number(stream::Ptr{holdall_bag_stream})::UInt64

holdall_bag_stream_damaged(stream) =
    @ccall libholdall.holdall_bag_stream_damaged(stream::Ptr{holdall_bag_stream})::UInt64

holdall_bag_stream_close(stream) =
    @ccall libholdall.holdall_bag_stream_close(stream::Ptr{holdall_bag_stream})::Cvoid

holdall_epoch_open(n, seed, epoch, rank, world, out, err) =
    @ccall libholdall.holdall_epoch_open(n::UInt64, seed::UInt64, epoch::UInt64, rank::UInt32, world::UInt32, out::Ptr{Ptr{holdall_epoch}}, err::Ptr{holdall_error})::Int32

holdall_epoch_size(epoch) =
    @ccall libholdall.holdall_epoch_size(epoch::Ptr{holdall_epoch})::UInt64

holdall_epoch_next(epoch, index) =
    @ccall libholdall.holdall_epoch_next(epoch::Ptr{Cvoid}, index::Ptr{UInt64})::Cint

holdall_epoch_seek(epoch, number, position, err) =
    @ccall libholdall.holdall_epoch_seek(epoch::Ptr{holdall_epoch}, number::UInt64, position::UInt64, err::Ptr{holdall_error})::Int32

holdall_epoch_close(epoch) =
    @ccall libholdall.holdall_epoch_close(epoch::Ptr{holdall_epoch})::Cvoid

holdall_bag_read_range_to(bag, first, n, allocate, ctx, offsets, err) =
    @ccall libholdall.holdall_bag_read_range_to(bag::Ptr{holdall_bag}, first::UInt64, n::Csize_t, allocate::Ptr{Cvoid}, ctx::Ptr{Cvoid}, offsets::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_bag_read_indices_to(bag, indices, n, allocate, ctx, offsets, err) =
    @ccall libholdall.holdall_bag_read_indices_to(bag::Ptr{holdall_bag}, indices::Ptr{UInt64}, n::Csize_t, allocate::Ptr{Cvoid}, ctx::Ptr{Cvoid}, offsets::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_bag_index_build(keys, options, out, err) =
    @ccall libholdall.holdall_bag_index_build(keys::Ptr{holdall_bag}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_index}}, err::Ptr{holdall_error})::Int32

holdall_bag_index_create(path, mode, keys, options, out, err) =
    @ccall libholdall.holdall_bag_index_create(path::Cstring, mode::Int32, keys::Ptr{holdall_bag}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_index}}, err::Ptr{holdall_error})::Int32

holdall_bag_index_create_io(io, mode, keys, options, out, err) =
    @ccall libholdall.holdall_bag_index_create_io(io::Ptr{holdall_io}, mode::Int32, keys::Ptr{holdall_bag}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_index}}, err::Ptr{holdall_error})::Int32

holdall_bag_index_open(path, keys, options, out, err) =
    @ccall libholdall.holdall_bag_index_open(path::Cstring, keys::Ptr{holdall_bag}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_index}}, err::Ptr{holdall_error})::Int32

holdall_bag_index_open_io(io, keys, options, out, err) =
    @ccall libholdall.holdall_bag_index_open_io(io::Ptr{holdall_io}, keys::Ptr{holdall_bag}, options::Ptr{holdall_options}, out::Ptr{Ptr{holdall_bag_index}}, err::Ptr{holdall_error})::Int32

holdall_bag_index_close(index) =
    @ccall libholdall.holdall_bag_index_close(index::Ptr{holdall_bag_index})::Cvoid

holdall_bag_index_keys(index) =
    @ccall libholdall.holdall_bag_index_keys(index::Ptr{holdall_bag_index})::UInt64

holdall_bag_index_damaged(index) =
    @ccall libholdall.holdall_bag_index_damaged(index::Ptr{holdall_bag_index})::UInt64

holdall_bag_index_find_first(index, key, key_size, record, err) =
    @ccall libholdall.holdall_bag_index_find_first(index::Ptr{holdall_bag_index}, key::Ptr{Cvoid}, key_size::Csize_t, record::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_bag_index_find(index, key, key_size, records, most, n, err) =
    @ccall libholdall.holdall_bag_index_find(index::Ptr{holdall_bag_index}, key::Ptr{Cvoid}, key_size::Csize_t, records::Ptr{UInt64}, most::Csize_t, n::Ptr{Csize_t}, err::Ptr{holdall_error})::Int32

holdall_bag_index_find_many(index, data, offsets, count, records, err) =
    @ccall libholdall.holdall_bag_index_find_many(index::Ptr{holdall_bag_index}, data::Ptr{Cvoid}, offsets::Ptr{UInt64}, count::Csize_t, records::Ptr{UInt64}, err::Ptr{holdall_error})::Int32

holdall_table_to_arrow(table, first, rows, batch_rows, out, err) =
    @ccall libholdall.holdall_table_to_arrow(table::Ptr{holdall_table}, first::UInt64, rows::UInt64, batch_rows::UInt64, out::Ptr{Cvoid}, err::Ptr{holdall_error})::Int32

holdall_table_append_arrow(table, stream, err) =
    @ccall libholdall.holdall_table_append_arrow(table::Ptr{holdall_table}, stream::Ptr{Cvoid}, err::Ptr{holdall_error})::Int32

holdall_bag_to_arrow(bag, first, n, batch, out, err) =
    @ccall libholdall.holdall_bag_to_arrow(bag::Ptr{holdall_bag}, first::UInt64, n::UInt64, batch::UInt64, out::Ptr{Cvoid}, err::Ptr{holdall_error})::Int32
