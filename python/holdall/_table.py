"""The functions of holdall.h, which is their manual. Made by bindings/write.py: do not edit."""

VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
VERSION_NUMBER = 1000
OK = 0
NOT_FOUND = 1
E_ARGUMENT = -1
E_PANIC = -2
E_MEMORY = -3
E_BUFFER = -4
E_IO = -5
E_MISSING = -6
E_EXISTS = -7
E_FORMAT = -8
E_CHECKSUM = -9
E_VERSION = -10
E_CODEC = -11
E_TYPE = -12
E_RANGE = -13
E_STATE = -14
E_LIMIT = -15
E_CANCELLED = -16
E_CALLBACK = -17
E_BUSY = -18
E_UNSUPPORTED = -19
OPT_THREADS = 1
OPT_MEMORY_LIMIT = 2
OPT_IO = 3
OPT_VERIFY = 4
OPT_SKIP_DAMAGED = 5
OPT_DURABILITY = 6
OPT_LOCK = 7
OPT_CODEC = 8
OPT_LEVEL = 9
OPT_FILTERS = 10
OPT_CHUNK_BYTES = 11
OPT_BLOCK_BYTES = 12
OPT_CHECKSUM = 13
OPT_DICTIONARY = 14
OPT_FILL = 15
OPT_EXPECTED_ROWS = 16
OPT_SPARSE = 17
OPT_SUPERCHUNK_CHUNKS = 18
OPT_OFFSETS = 19
OPT_SPARE_CHUNKS = 20
OPT_SPARE_BYTES = 21
OPT_FORMAT_VERSION = 22
OPT_BAG_LIMITS = 23
OPT_BAG_LIMITS_CACHE = 24
OPT_BAG_SHARDS = 25
OPT_BAG_READ_AHEAD = 26
OPT_ARROW_BINARY = 27
OPT_ARROW_NULLS = 28
OPT_AT = 29
OPT_BOTH_METALAYERS = 30
OPT_BAG_READ_AHEAD_BYTES = 33
OPT_CLOUD_TIMEOUT = 39
OPT_CLOUD_RETRIES = 40
OPT_CLOUD_REQUESTS = 41
OPT_DRY_RUN = 42
IO_READ = 0
IO_MAP = 1
CODEC_NONE = 0
CODEC_BLOSCLZ = 1
CODEC_LZ4 = 2
CODEC_LZ4HC = 3
CODEC_SNAPPY = 4
CODEC_ZLIB = 5
CODEC_ZSTD = 6
CODEC_BY_NAME = 255
FILTER_NONE = 0
FILTER_SHUFFLE = 1
FILTER_BITSHUFFLE = 2
FILTER_DELTA = 3
FILTER_BYTEDELTA = 35
SUM_NONE = 0
SUM_ADLER32 = 1
SUM_CRC32 = 2
SUM_MD5 = 3
SUM_SHA1 = 4
SUM_SHA224 = 5
SUM_SHA256 = 6
SUM_SHA384 = 7
SUM_SHA512 = 8
SUM_ZSTD = 9
BAG_LIMITS_TAIL = 0
BAG_LIMITS_SEPARATE = 1
BAG_SHARDS_CONCATENATED = 0
BAG_SHARDS_INTERLEAVED = 1
FORMAT_BLOSCPACK = 1
FORMAT_BCOLZ = 2
FORMAT_BLZ = 3
FORMAT_BLZ_PAPER = 4
FORMAT_B2FRAME = 5
FORMAT_CATERVA = 6
FORMAT_B2ND = 7
FORMAT_BAGZ = 8
KIND_SCHUNK = 1
KIND_ARRAY = 2
KIND_TABLE = 3
KIND_BAG = 4
READ = 0
APPEND = 1
NEW = 2
REPLACE = 3
MAX_NDIM = 16
ORDER_C = 0
ORDER_F = 1
NO_RECORD = 18446744073709551615

STRUCTS = {
    "holdall_error": [("status", "i32"), ("os_code", "i32"), ("position", "i64"), ("message", "char 496")],
    "holdall_io_functions": [("struct_size", "size"), ("ctx", "ptr void"), ("size", "ptr void"), ("read_at", "ptr void"), ("write_at", "ptr void"), ("truncate", "ptr void"), ("sync", "ptr void"), ("rename", "ptr void"), ("remove", "ptr void"), ("list", "ptr void"), ("destroy", "ptr void")],
}

CALLBACKS = {
    "holdall_progress_fn": ["int", "ptr void", "u64", "u64"],
    "holdall_fault_fn": ["int", "ptr void", "str", "ptr holdall_error"],
    "holdall_next_index_fn": ["int", "ptr void", "ptr u64"],
    "holdall_allocate_fn": ["ptr void", "ptr void", "size"],
}

FUNCTIONS = {
    "holdall_options_new": ["ptr holdall_options"],
    "holdall_options_free": ["void", "ptr holdall_options"],
    "holdall_options_set": ["i32", "ptr holdall_options", "i32", "i64", "ptr holdall_error"],
    "holdall_options_set_bytes": ["i32", "ptr holdall_options", "i32", "ptr void", "size", "ptr holdall_error"],
    "holdall_options_on_progress": ["void", "ptr holdall_options", "fn holdall_progress_fn", "ptr void"],
    "holdall_io_from_functions": ["i32", "ptr holdall_io_functions", "ptr ptr holdall_io", "ptr holdall_error"],
    "holdall_io_from_memory": ["i32", "ptr void", "size", "ptr ptr holdall_io", "ptr holdall_error"],
    "holdall_io_close": ["void", "ptr holdall_io"],
    "holdall_version_number": ["u32"],
    "holdall_version_text": ["str"],
    "holdall_status_name": ["str", "i32"],
    "holdall_identify": ["i32", "str", "ptr i32", "ptr i32", "ptr holdall_error"],
    "holdall_bag_files": ["i32", "str", "ptr char", "size", "ptr size", "ptr holdall_error"],
    "holdall_verify": ["i32", "str", "ptr holdall_options", "fn holdall_fault_fn", "ptr void", "ptr u64", "ptr u64", "ptr u64", "ptr holdall_error"],
    "holdall_repair": ["i32", "str", "ptr holdall_options", "ptr u64", "ptr u64", "ptr holdall_error"],
    "holdall_checksum": ["i32", "i32", "ptr void", "size", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_digest_new": ["i32", "i32", "ptr ptr holdall_digest", "ptr holdall_error"],
    "holdall_digest_update": ["i32", "ptr holdall_digest", "ptr void", "size", "ptr holdall_error"],
    "holdall_digest_finish": ["i32", "ptr holdall_digest", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_digest_free": ["void", "ptr holdall_digest"],
    "holdall_schunk_open": ["i32", "str", "i32", "ptr holdall_options", "ptr ptr holdall_schunk", "ptr holdall_error"],
    "holdall_schunk_open_io": ["i32", "ptr holdall_io", "i32", "ptr holdall_options", "ptr ptr holdall_schunk", "ptr holdall_error"],
    "holdall_schunk_create": ["i32", "str", "i32", "i32", "size", "ptr holdall_options", "ptr ptr holdall_schunk", "ptr holdall_error"],
    "holdall_schunk_create_io": ["i32", "ptr holdall_io", "i32", "i32", "size", "ptr holdall_options", "ptr ptr holdall_schunk", "ptr holdall_error"],
    "holdall_schunk_close": ["void", "ptr holdall_schunk"],
    "holdall_schunk_chunks": ["u64", "ptr holdall_schunk"],
    "holdall_schunk_nbytes": ["u64", "ptr holdall_schunk"],
    "holdall_schunk_cbytes": ["u64", "ptr holdall_schunk"],
    "holdall_schunk_typesize": ["size", "ptr holdall_schunk"],
    "holdall_schunk_chunk_size": ["size", "ptr holdall_schunk"],
    "holdall_schunk_sum": ["i32", "ptr holdall_schunk"],
    "holdall_schunk_version": ["i32", "ptr holdall_schunk"],
    "holdall_schunk_chunk_info": ["i32", "ptr holdall_schunk", "u64", "ptr size", "ptr size", "ptr i32", "ptr holdall_error"],
    "holdall_schunk_read": ["i32", "ptr holdall_schunk", "u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_schunk_read_chunk": ["i32", "ptr holdall_schunk", "u64", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_schunk_read_raw": ["i32", "ptr holdall_schunk", "u64", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_schunk_checksum": ["i32", "ptr holdall_schunk", "i32", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_schunk_append": ["i32", "ptr holdall_schunk", "ptr void", "size", "ptr holdall_error"],
    "holdall_schunk_append_raw": ["i32", "ptr holdall_schunk", "ptr void", "size", "ptr holdall_error"],
    "holdall_schunk_write": ["i32", "ptr holdall_schunk", "u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_schunk_insert": ["i32", "ptr holdall_schunk", "u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_schunk_remove": ["i32", "ptr holdall_schunk", "u64", "ptr holdall_error"],
    "holdall_schunk_truncate": ["i32", "ptr holdall_schunk", "u64", "ptr holdall_error"],
    "holdall_schunk_metas": ["u32", "ptr holdall_schunk"],
    "holdall_schunk_meta_name": ["str", "ptr holdall_schunk", "u32"],
    "holdall_schunk_meta_get": ["i32", "ptr holdall_schunk", "str", "ptr ptr void", "ptr size", "ptr holdall_error"],
    "holdall_schunk_meta_set": ["i32", "ptr holdall_schunk", "str", "ptr void", "size", "ptr holdall_error"],
    "holdall_schunk_commit": ["i32", "ptr holdall_schunk", "ptr holdall_error"],
    "holdall_schunk_copy": ["i32", "ptr holdall_schunk", "str", "i32", "i32", "ptr holdall_options", "ptr holdall_error"],
    "holdall_array_open": ["i32", "str", "i32", "ptr holdall_options", "ptr ptr holdall_array", "ptr holdall_error"],
    "holdall_array_open_io": ["i32", "ptr holdall_io", "i32", "ptr holdall_options", "ptr ptr holdall_array", "ptr holdall_error"],
    "holdall_array_create": ["i32", "str", "i32", "i32", "str", "u32", "ptr u64", "ptr u64", "ptr u64", "ptr holdall_options", "ptr ptr holdall_array", "ptr holdall_error"],
    "holdall_array_create_io": ["i32", "ptr holdall_io", "i32", "i32", "str", "u32", "ptr u64", "ptr u64", "ptr u64", "ptr holdall_options", "ptr ptr holdall_array", "ptr holdall_error"],
    "holdall_array_close": ["void", "ptr holdall_array"],
    "holdall_array_ndim": ["u32", "ptr holdall_array"],
    "holdall_array_shape": ["ptr u64", "ptr holdall_array"],
    "holdall_array_chunkshape": ["ptr u64", "ptr holdall_array"],
    "holdall_array_blockshape": ["ptr u64", "ptr holdall_array"],
    "holdall_array_dtype": ["str", "ptr holdall_array"],
    "holdall_array_itemsize": ["size", "ptr holdall_array"],
    "holdall_array_order": ["i32", "ptr holdall_array"],
    "holdall_array_nbytes": ["u64", "ptr holdall_array"],
    "holdall_array_cbytes": ["u64", "ptr holdall_array"],
    "holdall_array_read": ["i32", "ptr holdall_array", "ptr u64", "ptr u64", "ptr u64", "ptr void", "ptr i64", "size", "ptr holdall_error"],
    "holdall_array_write": ["i32", "ptr holdall_array", "ptr u64", "ptr u64", "ptr u64", "ptr void", "ptr i64", "size", "ptr holdall_error"],
    "holdall_array_read_orthogonal": ["i32", "ptr holdall_array", "ptr ptr u64", "ptr u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_array_write_orthogonal": ["i32", "ptr holdall_array", "ptr ptr u64", "ptr u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_array_read_points": ["i32", "ptr holdall_array", "ptr u64", "size", "ptr void", "size", "ptr holdall_error"],
    "holdall_array_append": ["i32", "ptr holdall_array", "u32", "u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_array_insert": ["i32", "ptr holdall_array", "u32", "u64", "u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_array_remove": ["i32", "ptr holdall_array", "u32", "u64", "u64", "ptr holdall_error"],
    "holdall_array_copy": ["i32", "ptr holdall_array", "str", "i32", "i32", "ptr u64", "ptr u64", "ptr holdall_options", "ptr holdall_error"],
    "holdall_array_resize": ["i32", "ptr holdall_array", "ptr u64", "ptr holdall_error"],
    "holdall_array_commit": ["i32", "ptr holdall_array", "ptr holdall_error"],
    "holdall_array_fill": ["i32", "ptr holdall_array", "ptr ptr void", "ptr size", "ptr holdall_error"],
    "holdall_array_fill_set": ["i32", "ptr holdall_array", "ptr void", "size", "ptr holdall_error"],
    "holdall_array_read_object": ["i32", "ptr holdall_array", "u64", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_array_attrs": ["u32", "ptr holdall_array"],
    "holdall_array_attr_name": ["str", "ptr holdall_array", "u32"],
    "holdall_array_attr_get": ["i32", "ptr holdall_array", "str", "ptr ptr void", "ptr size", "ptr holdall_error"],
    "holdall_array_attr_set": ["i32", "ptr holdall_array", "str", "ptr void", "size", "ptr holdall_error"],
    "holdall_table_open": ["i32", "str", "i32", "ptr holdall_options", "ptr ptr holdall_table", "ptr holdall_error"],
    "holdall_table_open_io": ["i32", "ptr holdall_io", "i32", "ptr holdall_options", "ptr ptr holdall_table", "ptr holdall_error"],
    "holdall_table_create": ["i32", "str", "i32", "i32", "u32", "ptr ptr char", "ptr ptr char", "ptr holdall_options", "ptr ptr holdall_table", "ptr holdall_error"],
    "holdall_table_create_io": ["i32", "ptr holdall_io", "i32", "i32", "u32", "ptr ptr char", "ptr ptr char", "ptr holdall_options", "ptr ptr holdall_table", "ptr holdall_error"],
    "holdall_table_close": ["void", "ptr holdall_table"],
    "holdall_table_rows": ["u64", "ptr holdall_table"],
    "holdall_table_columns": ["u32", "ptr holdall_table"],
    "holdall_table_column_name": ["str", "ptr holdall_table", "u32"],
    "holdall_table_column": ["ptr holdall_array", "ptr holdall_table", "u32"],
    "holdall_table_column_rows": ["u64", "ptr holdall_table", "u32"],
    "holdall_table_attrs": ["u32", "ptr holdall_table"],
    "holdall_table_attr_name": ["str", "ptr holdall_table", "u32"],
    "holdall_table_attr_get": ["i32", "ptr holdall_table", "str", "ptr ptr void", "ptr size", "ptr holdall_error"],
    "holdall_table_attr_set": ["i32", "ptr holdall_table", "str", "ptr void", "size", "ptr holdall_error"],
    "holdall_table_column_attr_set": ["i32", "ptr holdall_table", "u32", "str", "ptr void", "size", "ptr holdall_error"],
    "holdall_table_append": ["i32", "ptr holdall_table", "u64", "ptr ptr void", "ptr size", "ptr holdall_error"],
    "holdall_table_write": ["i32", "ptr holdall_table", "u32", "u64", "u64", "ptr void", "size", "ptr holdall_error"],
    "holdall_table_column_add": ["i32", "ptr holdall_table", "u32", "str", "str", "ptr void", "size", "ptr holdall_error"],
    "holdall_table_column_remove": ["i32", "ptr holdall_table", "str", "ptr holdall_error"],
    "holdall_table_truncate": ["i32", "ptr holdall_table", "u64", "ptr holdall_error"],
    "holdall_table_commit": ["i32", "ptr holdall_table", "ptr holdall_error"],
    "holdall_bag_open": ["i32", "str", "ptr holdall_options", "ptr ptr holdall_bag", "ptr holdall_error"],
    "holdall_bag_open_io": ["i32", "ptr ptr holdall_io", "u32", "ptr holdall_options", "ptr ptr holdall_bag", "ptr holdall_error"],
    "holdall_bag_slice": ["i32", "ptr holdall_bag", "u64", "i64", "u64", "ptr ptr holdall_bag", "ptr holdall_error"],
    "holdall_bag_close": ["void", "ptr holdall_bag"],
    "holdall_bag_size": ["u64", "ptr holdall_bag"],
    "holdall_bag_codec": ["i32", "ptr holdall_bag"],
    "holdall_bag_sum": ["i32", "ptr holdall_bag"],
    "holdall_bag_limits": ["i32", "ptr holdall_bag"],
    "holdall_bag_cbytes": ["u64", "ptr holdall_bag"],
    "holdall_bag_shards": ["u32", "ptr holdall_bag"],
    "holdall_bag_shard_name": ["str", "ptr holdall_bag", "u32"],
    "holdall_bag_shard_size": ["u64", "ptr holdall_bag", "u32"],
    "holdall_bag_read": ["i32", "ptr holdall_bag", "u64", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_bag_read_range": ["i32", "ptr holdall_bag", "u64", "u64", "ptr ptr holdall_records", "ptr holdall_error"],
    "holdall_bag_read_indices": ["i32", "ptr holdall_bag", "ptr u64", "size", "ptr ptr holdall_records", "ptr holdall_error"],
    "holdall_bag_checksum": ["i32", "ptr holdall_bag", "i32", "ptr void", "size", "ptr size", "ptr holdall_error"],
    "holdall_records_count": ["size", "ptr holdall_records"],
    "holdall_records_data": ["ptr u8", "ptr holdall_records"],
    "holdall_records_offsets": ["ptr u64", "ptr holdall_records"],
    "holdall_records_damaged": ["size", "ptr holdall_records"],
    "holdall_records_damaged_at": ["ptr u64", "ptr holdall_records"],
    "holdall_records_numbers": ["ptr u64", "ptr holdall_records"],
    "holdall_records_close": ["void", "ptr holdall_records"],
    "holdall_bag_writer_open": ["i32", "str", "i32", "ptr holdall_options", "ptr ptr holdall_bag_writer", "ptr holdall_error"],
    "holdall_bag_writer_open_io": ["i32", "ptr holdall_io", "i32", "ptr holdall_options", "ptr ptr holdall_bag_writer", "ptr holdall_error"],
    "holdall_bag_writer_append": ["i32", "ptr holdall_bag_writer", "ptr void", "size", "ptr holdall_error"],
    "holdall_bag_writer_append_many": ["i32", "ptr holdall_bag_writer", "ptr void", "ptr u64", "size", "ptr holdall_error"],
    "holdall_bag_writer_size": ["u64", "ptr holdall_bag_writer"],
    "holdall_bag_writer_commit": ["i32", "ptr holdall_bag_writer", "ptr holdall_error"],
    "holdall_bag_writer_close": ["void", "ptr holdall_bag_writer"],
    "holdall_bag_stream_open": ["i32", "ptr holdall_bag", "fn holdall_next_index_fn", "ptr void", "ptr holdall_options", "ptr ptr holdall_bag_stream", "ptr holdall_error"],
    "holdall_bag_stream_next": ["i32", "ptr holdall_bag_stream", "ptr ptr void", "ptr size", "ptr holdall_error"],
    "holdall_bag_stream_take": ["i32", "ptr holdall_bag_stream", "size", "ptr ptr holdall_records", "ptr holdall_error"],
    "holdall_bag_stream_number": ["u64", "ptr holdall_bag_stream"],
    "holdall_bag_stream_damaged": ["u64", "ptr holdall_bag_stream"],
    "holdall_bag_stream_close": ["void", "ptr holdall_bag_stream"],
    "holdall_epoch_open": ["i32", "u64", "u64", "u64", "u32", "u32", "ptr ptr holdall_epoch", "ptr holdall_error"],
    "holdall_epoch_size": ["u64", "ptr holdall_epoch"],
    "holdall_epoch_next": ["int", "ptr void", "ptr u64"],
    "holdall_epoch_seek": ["i32", "ptr holdall_epoch", "u64", "u64", "ptr holdall_error"],
    "holdall_epoch_close": ["void", "ptr holdall_epoch"],
    "holdall_bag_read_range_to": ["i32", "ptr holdall_bag", "u64", "size", "fn holdall_allocate_fn", "ptr void", "ptr u64", "ptr holdall_error"],
    "holdall_bag_read_indices_to": ["i32", "ptr holdall_bag", "ptr u64", "size", "fn holdall_allocate_fn", "ptr void", "ptr u64", "ptr holdall_error"],
    "holdall_bag_index_build": ["i32", "ptr holdall_bag", "ptr holdall_options", "ptr ptr holdall_bag_index", "ptr holdall_error"],
    "holdall_bag_index_create": ["i32", "str", "i32", "ptr holdall_bag", "ptr holdall_options", "ptr ptr holdall_bag_index", "ptr holdall_error"],
    "holdall_bag_index_create_io": ["i32", "ptr holdall_io", "i32", "ptr holdall_bag", "ptr holdall_options", "ptr ptr holdall_bag_index", "ptr holdall_error"],
    "holdall_bag_index_open": ["i32", "str", "ptr holdall_bag", "ptr holdall_options", "ptr ptr holdall_bag_index", "ptr holdall_error"],
    "holdall_bag_index_open_io": ["i32", "ptr holdall_io", "ptr holdall_bag", "ptr holdall_options", "ptr ptr holdall_bag_index", "ptr holdall_error"],
    "holdall_bag_index_close": ["void", "ptr holdall_bag_index"],
    "holdall_bag_index_keys": ["u64", "ptr holdall_bag_index"],
    "holdall_bag_index_damaged": ["u64", "ptr holdall_bag_index"],
    "holdall_bag_index_find_first": ["i32", "ptr holdall_bag_index", "ptr void", "size", "ptr u64", "ptr holdall_error"],
    "holdall_bag_index_find": ["i32", "ptr holdall_bag_index", "ptr void", "size", "ptr u64", "size", "ptr size", "ptr holdall_error"],
    "holdall_bag_index_find_many": ["i32", "ptr holdall_bag_index", "ptr void", "ptr u64", "size", "ptr u64", "ptr holdall_error"],
    "holdall_table_to_arrow": ["i32", "ptr holdall_table", "u64", "u64", "u64", "ptr ArrowArrayStream", "ptr holdall_error"],
    "holdall_table_append_arrow": ["i32", "ptr holdall_table", "ptr ArrowArrayStream", "ptr holdall_error"],
    "holdall_bag_to_arrow": ["i32", "ptr holdall_bag", "u64", "u64", "u64", "ptr ArrowArrayStream", "ptr holdall_error"],
}
