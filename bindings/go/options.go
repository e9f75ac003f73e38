package holdall

// Options of calls that open a container. A call returns ErrArgument, naming the option, for an
// option that it does not take.

// #include <holdall.h>
import "C"

import "unsafe"

// Option is an option of a call, made by one of the functions below. holdall.h documents which
// call takes which option, the permitted values and the defaults.
type Option struct {
	// Sets the option. keep are the callbacks that the option needs while a handle is open.
	set func(o *C.holdall_options, c *call) (keep []*callback, status C.holdall_status)
}

func number(option C.holdall_option, value int64) Option {
	return Option{func(o *C.holdall_options, c *call) ([]*callback, C.holdall_status) {
		return nil, C.holdall_options_set(o, option, C.int64_t(value), &c.err)
	}}
}

func flag(option C.holdall_option, value bool) Option {
	if value {
		return number(option, 1)
	}
	return number(option, 0)
}

func content(option C.holdall_option, value []byte) Option {
	return Option{func(o *C.holdall_options, c *call) ([]*callback, C.holdall_status) {
		return nil, C.holdall_options_set_bytes(o, option, start(value), C.size_t(len(value)), &c.err)
	}}
}

// Codec is a compression codec for records or chunks.
type Codec int32

// The codecs. CodecByName, only an option, selects the codec of a bag by its file name. CodecMixed,
// only a result, stands for several codecs, or for an unknown one.
const (
	CodecNone    Codec = C.HOLDALL_CODEC_NONE
	CodecBloscLZ Codec = C.HOLDALL_CODEC_BLOSCLZ
	CodecLZ4     Codec = C.HOLDALL_CODEC_LZ4
	CodecLZ4HC   Codec = C.HOLDALL_CODEC_LZ4HC
	CodecSnappy  Codec = C.HOLDALL_CODEC_SNAPPY
	CodecZlib    Codec = C.HOLDALL_CODEC_ZLIB
	CodecZstd    Codec = C.HOLDALL_CODEC_ZSTD
	CodecByName  Codec = C.HOLDALL_CODEC_BY_NAME
	CodecMixed   Codec = C.HOLDALL_CODEC_MIXED
)

// constantName returns the name of a constant, or "" if there is no such constant.
func constantName(constant int32) string {
	return C.GoString(C.holdall_constant_name(C.int32_t(constant)))
}

// String returns the name of the codec, such as "zstd".
func (c Codec) String() string { return constantName(int32(c)) }

// Filter is a transformation of the bytes of a chunk before compression.
type Filter byte

// The filters.
const (
	FilterNone       Filter = C.HOLDALL_FILTER_NONE
	FilterShuffle    Filter = C.HOLDALL_FILTER_SHUFFLE
	FilterBitshuffle Filter = C.HOLDALL_FILTER_BITSHUFFLE
	FilterDelta      Filter = C.HOLDALL_FILTER_DELTA
	FilterBytedelta  Filter = C.HOLDALL_FILTER_BYTEDELTA
	FilterTruncPrec  Filter = C.HOLDALL_FILTER_TRUNC_PREC // only in information, see Precision
)

// String returns the name of the filter, such as "shuffle".
func (f Filter) String() string { return constantName(int32(f)) }

// ChecksumKind is a checksum algorithm.
type ChecksumKind int32

// The checksum algorithms. ChecksumZstd is the checksum inside a zstd frame.
const (
	ChecksumNone    ChecksumKind = C.HOLDALL_CHECKSUM_NONE
	ChecksumAdler32 ChecksumKind = C.HOLDALL_CHECKSUM_ADLER32
	ChecksumCRC32   ChecksumKind = C.HOLDALL_CHECKSUM_CRC32
	ChecksumMD5     ChecksumKind = C.HOLDALL_CHECKSUM_MD5
	ChecksumSHA1    ChecksumKind = C.HOLDALL_CHECKSUM_SHA1
	ChecksumSHA224  ChecksumKind = C.HOLDALL_CHECKSUM_SHA224
	ChecksumSHA256  ChecksumKind = C.HOLDALL_CHECKSUM_SHA256
	ChecksumSHA384  ChecksumKind = C.HOLDALL_CHECKSUM_SHA384
	ChecksumSHA512  ChecksumKind = C.HOLDALL_CHECKSUM_SHA512
	ChecksumZstd    ChecksumKind = C.HOLDALL_CHECKSUM_ZSTD
)

// String returns the name of the algorithm, such as "crc32".
func (k ChecksumKind) String() string { return constantName(int32(k)) }

// Limits is where the limits (end offsets) of the records of a bag are stored.
type Limits int32

// The locations of limits: at the end of the file of the records, or in a file "limits.NAME".
const (
	LimitsTail     Limits = C.HOLDALL_BAG_LIMITS_TAIL
	LimitsSeparate Limits = C.HOLDALL_BAG_LIMITS_SEPARATE
)

// StoredDictionary is whether a bag stores a zstd dictionary.
type StoredDictionary int32

// The ways: readers need the dictionary; each file stores the one that is given; one is trained from
// the first records, up to 4 MiB, and stored if it makes them at least 5 % smaller.
const (
	DictionarySeparate StoredDictionary = C.HOLDALL_BAG_DICTIONARY_SEPARATE
	DictionaryStored   StoredDictionary = C.HOLDALL_BAG_DICTIONARY_STORED
	DictionaryAuto     StoredDictionary = C.HOLDALL_BAG_DICTIONARY_AUTO
)

// Sharding is how the shards of a bag form one sequence.
type Sharding int32

// The ways: all records of one shard after those of the previous one, or a record of each in turn.
const (
	ShardsConcatenated Sharding = C.HOLDALL_BAG_SHARDS_CONCATENATED
	ShardsInterleaved  Sharding = C.HOLDALL_BAG_SHARDS_INTERLEAVED
)

// Options for all calls.

// Threads sets the number of threads per call. 0 (default): the available processors, if the work
// is large enough. 1: only the calling thread.
func Threads(n int) Option { return number(C.HOLDALL_OPT_THREADS, int64(n)) }

// MemoryLimit sets the maximum number of bytes that one file may make a call allocate. Default: 4
// GiB.
func MemoryLimit(bytes int64) Option { return number(C.HOLDALL_OPT_MEMORY_LIMIT, bytes) }

// CacheBytes sets the maximum number of bytes of decoded blocks that a handle keeps for further
// reads: blocks of an array in a frame that are requested again, and blocks of which small parts are
// read. 0: none. Default: 4 MiB, and 64 MiB for all handles that do not set it. A table has the limit
// for each column.
func CacheBytes(bytes int64) Option { return number(C.HOLDALL_OPT_CACHE_BYTES, bytes) }

// ChunkDictionary sets whether a new chunk of a frame whose codec is LZ4, LZ4HC or zstd stores a
// dictionary, which is trained from its blocks, if that makes it about 5 % smaller: blocks of a few
// hundred bytes. For readers that use holdall: c-blosc2 3.3.2 reads such chunks whole, but of a part of
// one it returns an error, or with LZ4 and LZ4HC wrong content. Default: as the frame states; new
// frames have none.
func ChunkDictionary(on bool) Option { return flag(C.HOLDALL_OPT_CHUNK_DICTIONARY, on) }

// Map selects memory mapping instead of read system calls. Default: false. If a mapped file is
// truncated while open, the process gets SIGBUS.
func Map(yes bool) Option {
	if yes {
		return number(C.HOLDALL_OPT_IO, C.HOLDALL_IO_MAP)
	}
	return number(C.HOLDALL_OPT_IO, C.HOLDALL_IO_READ)
}

// VerifyLevel sets which checksums are verified. 0: only those inside zstd frames. 1 (default):
// those of what is read. 2: also everything at open.
func VerifyLevel(level int) Option { return number(C.HOLDALL_OPT_VERIFY, int64(level)) }

// SkipDamaged makes reads skip corrupt data: corrupt records are empty, corrupt chunks are zeros,
// and the call returns ErrDamaged. Default: false, corrupt data is an error.
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

// FollowLinks selects whether symbolic links that lead out of the folder of an array or table are
// followed, for example of data to another disk. Writers then write there; they remove links, never
// what they lead to. Default: false, which is ErrFormat.
//
// It also selects whether the source of a proxy of python-blosc2 is read instead, if it is a local
// file. Default: false, which is ErrUnsupported.
func FollowLinks(yes bool) Option { return flag(C.HOLDALL_OPT_FOLLOW_LINKS, yes) }

// Options for writing.

// Compress sets the codec. Default: CodecByName for bags, CodecLZ4 for chunks.
func Compress(codec Codec) Option { return number(C.HOLDALL_OPT_CODEC, int64(codec)) }

// Level sets the compression level. Bags: zstd level, -131072 to 22; 0 (default) is 3, the
// default of zstd. Chunks: 0 (stored) to 9, default 5.
func Level(level int) Option { return number(C.HOLDALL_OPT_LEVEL, int64(level)) }

// Checksum sets the checksum of what is written. Default: ChecksumCRC32.
func Checksum(kind ChecksumKind) Option { return number(C.HOLDALL_OPT_CHECKSUM, int64(kind)) }

// ChunkBytes sets the bytes of content per chunk. Default: 1 MiB; arrays in frames: 2 to 4 MiB.
func ChunkBytes(n int) Option { return number(C.HOLDALL_OPT_CHUNK_BYTES, int64(n)) }

// BlockBytes sets the bytes of content per block of a chunk. The default depends on codec and
// level.
func BlockBytes(n int) Option { return number(C.HOLDALL_OPT_BLOCK_BYTES, int64(n)) }

// FillValue sets the fill value of an array at creation: the bytes of one item, or of one row of a
// folder. Default: zeros.
func FillValue(item []byte) Option { return content(C.HOLDALL_OPT_FILL_VALUE, item) }

// ExpectedRows sets the approximate final number of rows of a folder, which determines the chunk
// length. Default: the rows at creation.
func ExpectedRows(n uint64) Option { return number(C.HOLDALL_OPT_EXPECTED_ROWS, int64(n)) }

// Sparse creates a frame as a folder with one file per chunk. Default: false, one file.
func Sparse(yes bool) Option { return flag(C.HOLDALL_OPT_SPARSE, yes) }

// SuperchunkChunks sets the chunks per superchunk file of BLZRFC, 1 to 1,048,576. Default: 16
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

// FortranOrder selects the order of the items in a chunk of BLZRFC. Default: false, C order.
func FortranOrder(yes bool) Option { return flag(C.HOLDALL_OPT_ORDER, yes) }

// YAML writes the metadata files of BLZRFC as YAML, with the names of the RFC. Default: false,
// JSON. Commits keep the form.
func YAML(yes bool) Option { return flag(C.HOLDALL_OPT_YAML, yes) }

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

// Precision truncates new float32 and float64 items, in frames and BLZRFC, to so many bits of the
// mantissa, 1 to 23 or 52, or clears as many if negative. This is lossy. Default: 0, all bits;
// existing containers: as they record, which only 0 changes. Copies do not inherit it.
func Precision(bits int) Option { return number(C.HOLDALL_OPT_PRECISION, int64(bits)) }

// Options for bags.

// Dictionary sets a zstd dictionary, trained or any content. Reading needs the same one as
// writing, unless the bag stores it (BagDictionary).
func Dictionary(dictionary []byte) Option { return content(C.HOLDALL_OPT_DICTIONARY, dictionary) }

// BagLimits selects where the limits of records are stored. Default: LimitsTail.
func BagLimits(limits Limits) Option { return number(C.HOLDALL_OPT_BAG_LIMITS, int64(limits)) }

// BagLimitsCache loads all limits into memory, 8 bytes per record. Default: false, limits are read
// as needed.
func BagLimitsCache(yes bool) Option { return flag(C.HOLDALL_OPT_BAG_LIMITS_CACHE, yes) }

// BagDictionary selects whether a writer stores the dictionary, or trains one. Default:
// DictionarySeparate. Appends use the stored one, whatever this option; so do copies to a new bag,
// unless this option or Dictionary is set, or the records are few.
func BagDictionary(how StoredDictionary) Option {
	return number(C.HOLDALL_OPT_BAG_DICTIONARY, int64(how))
}

// BagShards selects how shards form one sequence. Default: as the files record, else
// ShardsConcatenated.
func BagShards(sharding Sharding) Option { return number(C.HOLDALL_OPT_BAG_SHARDS, int64(sharding)) }

// BagReadAhead sets the number of records that a stream reads in advance; 0: none. Default: as
// BagReadAheadBytes permits.
func BagReadAhead(records int) Option { return number(C.HOLDALL_OPT_BAG_READ_AHEAD, int64(records)) }

// BagReadAheadBytes sets the bytes of records that a stream reads in advance; 0: none. Default: two
// batches per thread, of about 1 MiB or one larger record each.
func BagReadAheadBytes(n int64) Option { return number(C.HOLDALL_OPT_BAG_READ_AHEAD_BYTES, n) }

// Options for export to Arrow, and for frames in larger files.

// ArrowBinary exports dtype S as binary instead of utf8. Default: false.
func ArrowBinary(yes bool) Option { return flag(C.HOLDALL_OPT_ARROW_BINARY, yes) }

// ArrowNulls exports NaN as null. Default: false, NaN stays NaN.
func ArrowNulls(yes bool) Option { return flag(C.HOLDALL_OPT_ARROW_NULLS, yes) }

// FrameOffset sets the offset in bytes of a frame in a larger file, for reading. Default: 0.
func FrameOffset(offset int64) Option { return number(C.HOLDALL_OPT_FRAME_OFFSET, offset) }

// Progress sets a progress callback: done of total bytes of content, or of stored bytes where a bag
// is verified, checksummed or indexed. It runs during the call, after each chunk or batch; single
// records do not report, nor do calls that it makes. If it returns false, the call stops with
// ErrCancelled, unless all is done.
func Progress(progress func(done, total uint64) bool) Option {
	f := newCallback(progress)
	return Option{func(o *C.holdall_options, _ *call) ([]*callback, C.holdall_status) {
		C.holdall_options_set_progress(o, progressFunction(), f.ctx)
		return []*callback{f}, C.HOLDALL_OK
	}}
}

// withOptions calls f with a C set of options. keep are the callbacks that a handle opened with
// these options must retain.
func withOptions(op string, options []Option,
	f func(o *C.holdall_options) error) (keep []*callback, err error) {
	o := C.holdall_options_new()
	if o == nil {
		return nil, refused(op, ErrMemory, "memory allocation failed")
	}
	defer C.holdall_options_free(o)
	for _, option := range options {
		if option.set == nil {
			return nil, refused(op, ErrArgument,
				"an Option is the zero value; use a function that returns one")
		}
		err := run(op, func(c *call) C.holdall_status {
			more, status := option.set(o, c)
			keep = append(keep, more...)
			return status
		})
		if err != nil {
			return nil, err
		}
	}
	return keep, explained(f(o), keep)
}

// open makes a call that opens a container and returns its handle, which f must store in c.out.
func open(op string, options []Option, free func(unsafe.Pointer),
	f func(o *C.holdall_options, c *call) C.holdall_status) (*handle, error) {
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
	return newHandle(out, free, keep), nil
}
