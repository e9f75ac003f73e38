package holdall

// Options of calls that open something. What a call does not know it refuses by name.

// #include <holdall.h>
import "C"

import "unsafe"

// Option is one of those below. The header tells which call takes which, and what they are by default.
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

// Codec compresses records or chunks.
type Codec int32

// The codecs; CodecByName is that of a bag by its name, or what a bag of several has.
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

// Filter makes chunks easier to compress.
type Filter byte

// The filters.
const (
	FilterNone       Filter = C.HOLDALL_FILTER_NONE
	FilterShuffle    Filter = C.HOLDALL_FILTER_SHUFFLE
	FilterBitshuffle Filter = C.HOLDALL_FILTER_BITSHUFFLE
	FilterDelta      Filter = C.HOLDALL_FILTER_DELTA
	FilterBytedelta  Filter = C.HOLDALL_FILTER_BYTEDELTA
)

// Sum is a checksum.
type Sum int32

// The checksums; SumZstd is the one inside of a zstd frame.
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

// Of all calls.

func Threads(n int) Option            { return number(C.HOLDALL_OPT_THREADS, int64(n)) }
func MemoryLimit(bytes int64) Option  { return number(C.HOLDALL_OPT_MEMORY_LIMIT, bytes) }
func Map(yes bool) Option             { return flag(C.HOLDALL_OPT_IO, yes) }
func VerifyLevel(level int) Option    { return number(C.HOLDALL_OPT_VERIFY, int64(level)) }
func SkipDamaged(yes bool) Option     { return flag(C.HOLDALL_OPT_SKIP_DAMAGED, yes) }
func Durability(yes bool) Option      { return flag(C.HOLDALL_OPT_DURABILITY, yes) }
func Lock(yes bool) Option            { return flag(C.HOLDALL_OPT_LOCK, yes) }
func CloudTimeout(millis int) Option  { return number(C.HOLDALL_OPT_CLOUD_TIMEOUT, int64(millis)) }
func CloudRetries(times int) Option   { return number(C.HOLDALL_OPT_CLOUD_RETRIES, int64(times)) }
func CloudRequests(atOnce int) Option { return number(C.HOLDALL_OPT_CLOUD_REQUESTS, int64(atOnce)) }
func DryRun(yes bool) Option          { return flag(C.HOLDALL_OPT_DRY_RUN, yes) }

// Of what is written.

func Compress(codec Codec) Option    { return number(C.HOLDALL_OPT_CODEC, int64(codec)) }
func Level(level int) Option         { return number(C.HOLDALL_OPT_LEVEL, int64(level)) }
func Checksum(sum Sum) Option        { return number(C.HOLDALL_OPT_CHECKSUM, int64(sum)) }
func ChunkBytes(n int) Option        { return number(C.HOLDALL_OPT_CHUNK_BYTES, int64(n)) }
func BlockBytes(n int) Option        { return number(C.HOLDALL_OPT_BLOCK_BYTES, int64(n)) }
func Fill(item []byte) Option        { return content(C.HOLDALL_OPT_FILL, item) }
func ExpectedRows(n uint64) Option   { return number(C.HOLDALL_OPT_EXPECTED_ROWS, int64(n)) }
func Sparse(yes bool) Option         { return flag(C.HOLDALL_OPT_SPARSE, yes) }
func SuperchunkChunks(n int) Option  { return number(C.HOLDALL_OPT_SUPERCHUNK_CHUNKS, int64(n)) }
func Offsets(yes bool) Option        { return flag(C.HOLDALL_OPT_OFFSETS, yes) }
func SpareChunks(n int) Option       { return number(C.HOLDALL_OPT_SPARE_CHUNKS, int64(n)) }
func SpareBytes(n int) Option        { return number(C.HOLDALL_OPT_SPARE_BYTES, int64(n)) }
func FormatVersion(n int) Option     { return number(C.HOLDALL_OPT_FORMAT_VERSION, int64(n)) }
func BothMetalayers(yes bool) Option { return flag(C.HOLDALL_OPT_BOTH_METALAYERS, yes) }
func Filters(filters ...Filter) Option {
	b := make([]byte, len(filters))
	for i, f := range filters {
		b[i] = byte(f)
	}
	return content(C.HOLDALL_OPT_FILTERS, b)
}

// Of bags.

func Dictionary(dictionary []byte) Option { return content(C.HOLDALL_OPT_DICTIONARY, dictionary) }
func LimitsSeparate(yes bool) Option      { return flag(C.HOLDALL_OPT_BAG_LIMITS, yes) }
func LimitsInMemory(yes bool) Option      { return flag(C.HOLDALL_OPT_BAG_LIMITS_CACHE, yes) }
func Interleaved(yes bool) Option         { return flag(C.HOLDALL_OPT_BAG_SHARDS, yes) }
func ReadAhead(records int) Option        { return number(C.HOLDALL_OPT_BAG_READ_AHEAD, int64(records)) }
func ReadAheadBytes(n int64) Option       { return number(C.HOLDALL_OPT_BAG_READ_AHEAD_BYTES, n) }

// Of tables that go to Arrow, and of frames inside of other files.

func ArrowBinary(yes bool) Option { return flag(C.HOLDALL_OPT_ARROW_BINARY, yes) }
func ArrowNulls(yes bool) Option  { return flag(C.HOLDALL_OPT_ARROW_NULLS, yes) }
func At(offset int64) Option      { return number(C.HOLDALL_OPT_AT, offset) }

// OnProgress is told how far a long call is, in units of its own; false stops it with ErrCancelled. It may run on any
// thread, one call at a time.
func OnProgress(progress func(done, total uint64) bool) Option {
	f := newCallback(progress)
	return Option{keep: f, set: func(o *C.holdall_options, _ *call) C.holdall_status {
		C.holdall_options_on_progress(o, progressFunction(), f.ctx)
		return C.HOLDALL_OK
	}}
}

// withOptions makes a call with options; `keep` is what whoever is opened with them must keep.
func withOptions(op string, options []Option, f func(o *C.holdall_options) error) (keep []*callback, err error) {
	o := C.holdall_options_new()
	if o == nil {
		return nil, refused(op, ErrMemory, "no memory for options")
	}
	defer C.holdall_options_free(o)
	for _, option := range options {
		if option.set == nil {
			return nil, refused(op, ErrArgument, "an Option that no function made")
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

// open makes a call that opens something, and its handle; f leaves it in c.out.
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
