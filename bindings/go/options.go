package holdall

// Options of calls that open a container. A call returns ErrArgument, naming the option, for an
// option that it does not take.

// #include <holdall.h>
import "C"

import "unsafe"

// Option is an option of a call, made by one of the functions below. holdall.h documents which
// call takes which option, the permitted values and the defaults.
type Option struct {
	set  func(o *C.holdall_options, c *call) C.holdall_status
	keep *callback
}

func number(option C.holdall_option, value int64) Option {
	return Option{set: func(o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_options_set(o, option, C.int64_t(value), &c.err)
	}}
}

func flag(option C.holdall_option, value bool) Option {
	if value {
		return number(option, 1)
	}
	return number(option, 0)
}

func content(option C.holdall_option, value []byte) Option {
	return Option{set: func(o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_options_set_bytes(o, option, start(value), C.size_t(len(value)), &c.err)
	}}
}

// Codec is a compression codec for records or chunks.
type Codec int32

// The codecs. As an option, CodecByName selects the codec of a bag by its file name. As a result it
// means that the files have several codecs.
const (
	CodecNone    Codec = C.HOLDALL_CODEC_NONE
	CodecBloscLZ Codec = C.HOLDALL_CODEC_BLOSCLZ
	CodecLZ4     Codec = C.HOLDALL_CODEC_LZ4
	CodecLZ4HC   Codec = C.HOLDALL_CODEC_LZ4HC
	CodecSnappy  Codec = C.HOLDALL_CODEC_SNAPPY
	CodecZlib    Codec = C.HOLDALL_CODEC_ZLIB
	CodecZstd    Codec = C.HOLDALL_CODEC_ZSTD
	CodecByName  Codec = C.HOLDALL_CODEC_BY_NAME
)

// Filter is a transformation of the bytes of a chunk before compression.
type Filter byte

// The filters.
const (
	FilterNone       Filter = C.HOLDALL_FILTER_NONE
	FilterShuffle    Filter = C.HOLDALL_FILTER_SHUFFLE
	FilterBitshuffle Filter = C.HOLDALL_FILTER_BITSHUFFLE
	FilterDelta      Filter = C.HOLDALL_FILTER_DELTA
	FilterBytedelta  Filter = C.HOLDALL_FILTER_BYTEDELTA
)

// Sum is a checksum algorithm.
type Sum int32

// The checksum algorithms. SumZstd is the checksum inside a zstd frame.
const (
	SumNone    Sum = C.HOLDALL_SUM_NONE
	SumAdler32 Sum = C.HOLDALL_SUM_ADLER32
	SumCRC32   Sum = C.HOLDALL_SUM_CRC32
	SumMD5     Sum = C.HOLDALL_SUM_MD5
	SumSHA1    Sum = C.HOLDALL_SUM_SHA1
	SumSHA224  Sum = C.HOLDALL_SUM_SHA224
	SumSHA256  Sum = C.HOLDALL_SUM_SHA256
	SumSHA384  Sum = C.HOLDALL_SUM_SHA384
	SumSHA512  Sum = C.HOLDALL_SUM_SHA512
	SumZstd    Sum = C.HOLDALL_SUM_ZSTD
)

// Options for all calls.

// Threads sets the number of threads per call. 0 (default): the available processors, if the work
// is large enough. 1: only the calling thread.
func Threads(n int) Option { return number(C.HOLDALL_OPT_THREADS, int64(n)) }

// MemoryLimit sets the maximum number of bytes that one file may make a call allocate. Default: 4
// GiB.
func MemoryLimit(bytes int64) Option { return number(C.HOLDALL_OPT_MEMORY_LIMIT, bytes) }

// Map selects memory mapping instead of read system calls. Default: false. If a mapped file is
// truncated while open, the process gets SIGBUS.
func Map(yes bool) Option { return flag(C.HOLDALL_OPT_IO, yes) }

// VerifyLevel sets which checksums are verified. 0: only those inside zstd frames. 1 (default):
// those of what is read. 2: also everything at open.
func VerifyLevel(level int) Option { return number(C.HOLDALL_OPT_VERIFY, int64(level)) }

// SkipDamaged makes reads skip corrupt data: corrupt records are empty, corrupt chunks are zeros,
// and the call returns ErrSkipped. Default: false, corrupt data is an error.
func SkipDamaged(yes bool) Option { return flag(C.HOLDALL_OPT_SKIP_DAMAGED, yes) }

// Durability selects whether a commit syncs files and folder (default: true). Without it a commit
// may not survive a power failure.
func Durability(yes bool) Option { return flag(C.HOLDALL_OPT_DURABILITY, yes) }

// Lock selects whether a lock file permits only one writer across processes (default: true).
// Without it the caller must ensure a single writer.
func Lock(yes bool) Option { return flag(C.HOLDALL_OPT_LOCK, yes) }

// CloudTimeout sets the milliseconds that a request to an object store may wait for data, retries
// included, before ErrIO. Default: 30,000.
func CloudTimeout(millis int) Option { return number(C.HOLDALL_OPT_CLOUD_TIMEOUT, int64(millis)) }

// CloudRetries sets the number of retries of a failed request to an object store. Default: 5.
func CloudRetries(times int) Option { return number(C.HOLDALL_OPT_CLOUD_RETRIES, int64(times)) }

// CloudRequests sets the number of concurrent requests to an object store per call, 1 to 256.
// Default: 16.
func CloudRequests(atOnce int) Option { return number(C.HOLDALL_OPT_CLOUD_REQUESTS, int64(atOnce)) }

// DryRun makes Repair return its results without changing anything. Verify and OpenSchunk
// (ReadOnly) then see what Repair would leave. Default: false.
func DryRun(yes bool) Option { return flag(C.HOLDALL_OPT_DRY_RUN, yes) }

// Options for writing.

// Compress sets the codec. Default: CodecByName for bags, CodecLZ4 for chunks.
func Compress(codec Codec) Option { return number(C.HOLDALL_OPT_CODEC, int64(codec)) }

// Level sets the compression level. Bags: zstd level, -131072 to 22; 0 (default) is 3, the
// default of zstd. Chunks: 0 (stored) to 9, default 5.
func Level(level int) Option { return number(C.HOLDALL_OPT_LEVEL, int64(level)) }

// Checksum sets the checksum of what is written. Default: SumCRC32.
func Checksum(sum Sum) Option { return number(C.HOLDALL_OPT_CHECKSUM, int64(sum)) }

// ChunkBytes sets the bytes of content per chunk. Default: 1 MiB; arrays in frames: 2 to 4 MiB.
func ChunkBytes(n int) Option { return number(C.HOLDALL_OPT_CHUNK_BYTES, int64(n)) }

// BlockBytes sets the bytes of content per block of a chunk. The default depends on codec and
// level.
func BlockBytes(n int) Option { return number(C.HOLDALL_OPT_BLOCK_BYTES, int64(n)) }

// Fill sets the fill value of an array at creation: the bytes of one item, or of one row of a
// folder. Default: zeros.
func Fill(item []byte) Option { return content(C.HOLDALL_OPT_FILL, item) }

// ExpectedRows sets the approximate final number of rows of a folder, which determines the chunk
// length. Default: the rows at creation.
func ExpectedRows(n uint64) Option { return number(C.HOLDALL_OPT_EXPECTED_ROWS, int64(n)) }

// Sparse creates a frame as a folder with one file per chunk. Default: false, one file.
func Sparse(yes bool) Option { return flag(C.HOLDALL_OPT_SPARSE, yes) }

// SuperchunkChunks sets the chunks per superchunk file of BLZPaper, 1 to 1,048,576. Default: 16
// to 64 MiB of content.
func SuperchunkChunks(n int) Option { return number(C.HOLDALL_OPT_SUPERCHUNK_CHUNKS, int64(n)) }

// Offsets selects whether a Bloscpack file has a table of chunk offsets. Default: true.
func Offsets(yes bool) Option { return flag(C.HOLDALL_OPT_OFFSETS, yes) }

// SpareChunks sets the number of free entries in the offset table of a Bloscpack file, for
// appends in place.
func SpareChunks(n int) Option { return number(C.HOLDALL_OPT_SPARE_CHUNKS, int64(n)) }

// SpareBytes sets the free bytes in each new chunk of a Bloscpack file, so that a changed chunk
// can be stored in place. Default: 0.
func SpareBytes(n int) Option { return number(C.HOLDALL_OPT_SPARE_BYTES, int64(n)) }

// FormatVersion sets the version of the Bloscpack header: 0 (default), 1, 2, 3, or 103 for the
// BLZ RFC layout.
func FormatVersion(n int) Option { return number(C.HOLDALL_OPT_FORMAT_VERSION, int64(n)) }

// BothMetalayers writes the metalayers of both b2nd and Caterva. Default: false, only that of the
// format.
func BothMetalayers(yes bool) Option { return flag(C.HOLDALL_OPT_BOTH_METALAYERS, yes) }

// Filters sets the filters in order of application. Default: FilterShuffle.
func Filters(filters ...Filter) Option {
	b := make([]byte, len(filters))
	for i, f := range filters {
		b[i] = byte(f)
	}
	return content(C.HOLDALL_OPT_FILTERS, b)
}

// Options for bags.

// Dictionary sets a zstd dictionary, trained or any content. Reading needs the same one as
// writing.
func Dictionary(dictionary []byte) Option { return content(C.HOLDALL_OPT_DICTIONARY, dictionary) }

// LimitsSeparate stores the limits (end offsets) of records in a separate file. Default: false,
// at the end of the file of the records.
func LimitsSeparate(yes bool) Option { return flag(C.HOLDALL_OPT_BAG_LIMITS, yes) }

// LimitsInMemory loads all limits into memory, 8 bytes per record. Default: false, limits are
// read as needed.
func LimitsInMemory(yes bool) Option { return flag(C.HOLDALL_OPT_BAG_LIMITS_CACHE, yes) }

// Interleaved selects how shards form one sequence: interleaved (true) or concatenated (false).
// Default: as the files record, else concatenated.
func Interleaved(yes bool) Option { return flag(C.HOLDALL_OPT_BAG_SHARDS, yes) }

// ReadAhead sets the number of records that a stream reads in advance; 0: none. Default: as
// ReadAheadBytes permits.
func ReadAhead(records int) Option { return number(C.HOLDALL_OPT_BAG_READ_AHEAD, int64(records)) }

// ReadAheadBytes sets the bytes of records that a stream reads in advance; 0: none. Default: two
// batches per thread, of about 1 MiB or one larger record each.
func ReadAheadBytes(n int64) Option { return number(C.HOLDALL_OPT_BAG_READ_AHEAD_BYTES, n) }

// Options for export to Arrow, and for frames in larger files.

// ArrowBinary exports dtype S as binary instead of utf8. Default: false.
func ArrowBinary(yes bool) Option { return flag(C.HOLDALL_OPT_ARROW_BINARY, yes) }

// ArrowNulls exports NaN as null. Default: false, NaN stays NaN.
func ArrowNulls(yes bool) Option { return flag(C.HOLDALL_OPT_ARROW_NULLS, yes) }

// At sets the offset in bytes of a frame in a larger file, for reading. Default: 0.
func At(offset int64) Option { return number(C.HOLDALL_OPT_AT, offset) }

// OnProgress sets a progress callback: done of total, in units of the call. If it returns false,
// the call stops with ErrCancelled. It may run on any thread, one call at a time.
func OnProgress(progress func(done, total uint64) bool) Option {
	f := newCallback(progress)
	return Option{keep: f, set: func(o *C.holdall_options, _ *call) C.holdall_status {
		C.holdall_options_on_progress(o, progressFunction(), f.ctx)
		return C.HOLDALL_OK
	}}
}

// withOptions calls f with a C set of options. keep are the callbacks that a handle opened with
// these options must retain.
func withOptions(op string, options []Option, f func(o *C.holdall_options) error) (keep []*callback, err error) {
	o := C.holdall_options_new()
	if o == nil {
		return nil, refused(op, ErrMemory, "memory allocation failed")
	}
	defer C.holdall_options_free(o)
	for _, option := range options {
		if option.set == nil {
			return nil, refused(op, ErrArgument, "an Option is the zero value; use a function that returns one")
		}
		if err := run(op, func(c *call) C.holdall_status { return option.set(o, c) }); err != nil {
			return nil, err
		}
		if option.keep != nil {
			keep = append(keep, option.keep)
		}
	}
	return keep, explained(f(o), keep)
}

// open makes a call that opens a container and returns its handle, which f must store in c.out.
func open(op string, options []Option, free func(unsafe.Pointer), changes bool, f func(o *C.holdall_options, c *call) C.holdall_status) (*handle, error) {
	var out unsafe.Pointer
	keep, err := withOptions(op, options, func(o *C.holdall_options) error {
		return run(op, func(c *call) C.holdall_status {
			status := f(o, c)
			out = c.out
			return status
		})
	})
	if err != nil {
		return nil, err
	}
	return newHandle(out, free, changes, keep), nil
}
