package holdall

// Superchunks: a sequence of bytes in compressed chunks.

// #include <holdall.h>
import "C"

import (
	"bytes"
	"io"
	"unsafe"
)

// Format is the format of a container: Bloscpack, Bcolz, BLZ, BLZRFC (the BLZ RFC layout),
// B2Frame, Caterva, B2ND, Bagz, the stores B2D, B2Z and B2E, or CTable.
type Format int32

// The formats.
const (
	Bloscpack Format = C.HOLDALL_FORMAT_BLOSCPACK
	Bcolz     Format = C.HOLDALL_FORMAT_BCOLZ
	BLZ       Format = C.HOLDALL_FORMAT_BLZ
	BLZRFC    Format = C.HOLDALL_FORMAT_BLZ_RFC
	B2Frame   Format = C.HOLDALL_FORMAT_B2FRAME
	Caterva   Format = C.HOLDALL_FORMAT_CATERVA
	B2ND      Format = C.HOLDALL_FORMAT_B2ND
	Bagz      Format = C.HOLDALL_FORMAT_BAGZ
	B2D       Format = C.HOLDALL_FORMAT_B2D
	B2Z       Format = C.HOLDALL_FORMAT_B2Z
	B2E       Format = C.HOLDALL_FORMAT_B2E
	CTable    Format = C.HOLDALL_FORMAT_CTABLE
)

// String returns the name of the format, such as "b2nd".
func (f Format) String() string { return constantName(int32(f)) }

// Schunk is an open superchunk: a sequence of bytes, the content, in compressed chunks numbered
// from 0. It implements io.ReaderAt, io.WriterAt for existing content, and io.Writer, which
// appends.
type Schunk struct{ *handle }

func freeSchunk(p unsafe.Pointer) { C.holdall_schunk_close((*C.holdall_schunk)(p)) }

func schunk(op, path string, mode Mode, options []Option,
	f func(path *C.char, o *C.holdall_options, out **C.holdall_schunk,
		c *call) C.holdall_status) (*Schunk, error) {
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, freeSchunk, func(o *C.holdall_options, c *call) C.holdall_status {
			return f(path, o, (**C.holdall_schunk)(unsafe.Pointer(&c.out)), c)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Schunk{h}, nil
}

// OpenSchunk opens a superchunk at its last commit: ReadOnly to read, Append to read and change.
// Errors: ErrType if the container is not a superchunk; ErrBusy if another writer is active.
func OpenSchunk(path string, mode Mode, options ...Option) (*Schunk, error) {
	return schunk("open a superchunk", path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status {
			return C.holdall_schunk_open(path, C.holdall_mode(mode), o, out, &c.err)
		})
}

// CreateSchunk creates a superchunk and opens it for changes. mode is Create or Replace; format
// is Bloscpack or B2Frame; typesize is the bytes per item, for filters. Errors: ErrExists if mode
// is Create and the path exists.
func CreateSchunk(path string, mode Mode, format Format, typesize int,
	options ...Option) (*Schunk, error) {
	return schunk("create a superchunk", path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status {
			return C.holdall_schunk_create(path, C.holdall_mode(mode), C.holdall_format(format),
				C.size_t(typesize), o, out, &c.err)
		})
}

func (s *Schunk) number(f func(s *C.holdall_schunk) C.uint64_t) (n uint64) {
	s.look(func(p unsafe.Pointer) { n = uint64(f((*C.holdall_schunk)(p))) })
	return n
}

// Len returns the size of the content in bytes.
func (s *Schunk) Len() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_nbytes(s) })
}

// ChunkCount returns the number of chunks.
func (s *Schunk) ChunkCount() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_chunk_count(s) })
}

// SchunkInfo describes a superchunk; holdall_schunk_info in holdall.h documents the fields.
type SchunkInfo struct {
	Format         Format
	Version        int
	Typesize       int
	ChunkSize      uint64 // bytes of content per chunk; 0: chunks may have any length
	ChunkCount     uint64
	NBytes         uint64
	StoredBytes    uint64
	Codec          Codec
	Level          int // -1 if it is not stored
	Checksum       ChecksumKind
	IsSparse       bool
	Filters        []Filter
	AttrCount      int
	Generation     uint64
	Precision      int // as the option; 0: exact
	FixedAttrCount int // in the header of a frame, the first ones
}

// Info describes the superchunk.
func (s *Schunk) Info() (info SchunkInfo, err error) {
	err = s.view("info", func(p unsafe.Pointer, c *call) C.holdall_status {
		i := C.holdall_schunk_info{}
		i.struct_size = C.sizeof_holdall_schunk_info
		status := C.holdall_schunk_get_info((*C.holdall_schunk)(p), &i, &c.err)
		info = SchunkInfo{Format(i.format), int(i.version), int(i.typesize), uint64(i.chunk_size),
			uint64(i.chunk_count),
			uint64(i.nbytes), uint64(i.stored_bytes), Codec(i.codec), int(i.level), ChecksumKind(i.checksum),
			i.is_sparse != 0,
			filters(i.filters[:i.filter_count]), int(i.attr_count), uint64(i.generation),
			int(i.precision), int(i.fixed_attr_count)}
		return status
	})
	return info, err
}

// Generation returns the number of commits through this handle, and of refreshes that may have
// found a newer commit.
func (s *Schunk) Generation() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_generation(s) })
}

// Refresh moves a superchunk that was opened ReadOnly to its newest commit. It waits for calls in
// progress, and later calls wait for it. Without a newer commit it takes about one system call.
// After an error the superchunk is unchanged. Errors: ErrState in another mode, and those of
// OpenSchunk.
func (s *Schunk) Refresh() error {
	return s.refresh(func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_schunk_refresh((*C.holdall_schunk)(p), &c.err)
	})
}

func filters(from []C.uint8_t) (filters []Filter) {
	for _, f := range from {
		filters = append(filters, Filter(f))
	}
	return filters
}

// ChunkInfo describes a chunk: its bytes of content, its bytes as stored, its codec, and whether it
// waits to be encoded.
type ChunkInfo struct {
	NBytes, StoredBytes int
	Codec               Codec
	IsPending           bool
}

// ChunkInfo describes a chunk without decoding it. Errors: ErrRange if there is no such chunk.
func (s *Schunk) ChunkInfo(chunk uint64) (info ChunkInfo, err error) {
	err = s.view("chunk info", func(p unsafe.Pointer, c *call) C.holdall_status {
		i := C.holdall_chunk_info{}
		i.struct_size = C.sizeof_holdall_chunk_info
		status := C.holdall_schunk_get_chunk_info((*C.holdall_schunk)(p), C.uint64_t(chunk), &i, &c.err)
		info = ChunkInfo{int(i.nbytes), int(i.stored_bytes), Codec(i.codec), i.is_pending != 0}
		return status
	})
	return info, err
}

// ReadAt reads content at offset at into dst, as io.ReaderAt specifies. Errors: io.EOF at the
// end; ErrChecksum or ErrFormat, with Position, if a chunk is corrupt.
func (s *Schunk) ReadAt(dst []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, refused("read", ErrArgument, "the offset %d is negative", at)
	}
	short := false
	if n, all := uint64(len(dst)), s.Len(); uint64(at) > all || n > all-uint64(at) {
		dst, short = dst[:min(n, all-min(all, uint64(at)))], true
	}
	if len(dst) > 0 || !short {
		err = s.view("read", func(p unsafe.Pointer, c *call) C.holdall_status {
			return C.holdall_schunk_read((*C.holdall_schunk)(p), C.uint64_t(at), start(dst),
				C.size_t(len(dst)), &c.err)
		})
	} else if err = s.view("read", func(unsafe.Pointer, *call) C.holdall_status {
		return C.HOLDALL_OK
	}); err == nil {
		return 0, io.EOF // only if the handle is open
	}
	if e, is := err.(*Error); is && e.Status != ErrDamaged {
		return 0, err
	}
	if err == nil && short {
		err = io.EOF
	}
	return len(dst), err
}

func min(a, b uint64) uint64 {
	if a < b {
		return a
	}
	return b
}

// ReadChunk returns the content of chunk i. Errors: ErrRange if there is no such chunk.
func (s *Schunk) ReadChunk(i uint64) ([]byte, error) {
	return s.ask("read a chunk", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_read_chunk((*C.holdall_schunk)(p), C.uint64_t(i), dst, size, &c.n, &c.err)
	})
}

// ReadBlock returns the content of a block of chunk i, without decoding the others. Errors:
// ErrRange if there is no such chunk or block.
func (s *Schunk) ReadBlock(i uint64, block int) ([]byte, error) {
	return s.ask("read a block", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_read_block((*C.holdall_schunk)(p), C.uint64_t(i), C.size_t(block),
			dst, size, &c.n, &c.err)
	})
}

// BlockOffsets returns where the blocks of chunk i begin in its content, and where the last one
// ends.
func (s *Schunk) BlockOffsets(i uint64) (offsets []uint64, err error) {
	err = s.view("get block offsets", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_schunk_block_offsets((*C.holdall_schunk)(p), C.uint64_t(i), nil, 0,
			&c.n, &c.err)
		if status < 0 {
			return status
		}
		offsets = make([]uint64, c.n+1)
		return C.holdall_schunk_block_offsets((*C.holdall_schunk)(p), C.uint64_t(i),
			numbers(offsets), C.size_t(len(offsets)), &c.n, &c.err)
	})
	return offsets, err
}

// ReadRaw returns chunk i as stored. It verifies the checksum of the chunk and omits it.
func (s *Schunk) ReadRaw(i uint64) ([]byte, error) {
	return s.ask("read a chunk", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_read_raw((*C.holdall_schunk)(p), C.uint64_t(i), dst, size, &c.n, &c.err)
	})
}

// Checksum returns a checksum of all content.
func (s *Schunk) Checksum(kind ChecksumKind) ([]byte, error) {
	return s.ask("checksum", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_checksum((*C.holdall_schunk)(p), C.int32_t(kind), dst, size, &c.n, &c.err)
	})
}

func (s *Schunk) changed(op string,
	f func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status) error {
	return s.change(op, func(p unsafe.Pointer, c *call) C.holdall_status {
		return f((*C.holdall_schunk)(p), &c.err)
	})
}

// Write appends content, as io.Writer specifies.
func (s *Schunk) Write(src []byte) (int, error) {
	before := s.Len()
	err := s.changed("append", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_append(s, start(src), C.size_t(len(src)), e)
	})
	if err != nil {
		return int(s.Len() - min(s.Len(), before)), err
	}
	return len(src), nil
}

// WriteAt overwrites existing content at offset at. Errors: ErrRange past the end.
func (s *Schunk) WriteAt(src []byte, at int64) (int, error) {
	if at < 0 {
		return 0, refused("write", ErrArgument, "the offset %d is negative", at)
	}
	err := s.changed("write", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_write(s, C.uint64_t(at), start(src), C.size_t(len(src)), e)
	})
	if err != nil {
		return 0, err
	}
	return len(src), nil
}

// AppendRaw appends one encoded chunk, unchanged. It decodes the chunk once to verify it. Errors:
// ErrFormat if it is not one complete chunk.
func (s *Schunk) AppendRaw(chunk []byte) error {
	return s.changed("append a chunk", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_append_raw(s, start(chunk), C.size_t(len(chunk)), e)
	})
}

// InsertChunk inserts content as one chunk before chunk i, or at the end if i is the number of
// chunks.
func (s *Schunk) InsertChunk(i uint64, src []byte) error {
	return s.changed("insert a chunk", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_insert(s, C.uint64_t(i), start(src), C.size_t(len(src)), e)
	})
}

// InsertBlocks inserts one chunk of blocks of any length but 0 before chunk i, or at the end if i
// is the number of chunks. A frame without content becomes one of such blocks (readable from
// c-blosc2 3 on), as BatchArray of python-blosc2 is; then Write and InsertChunk add a chunk of one
// block, and WriteAt and Truncate retain where blocks begin. Errors: ErrState for a frame with
// content in blocks of one length, ErrUnsupported for a Bloscpack file.
func (s *Schunk) InsertBlocks(i uint64, blocks [][]byte) error {
	data, offsets := bytes.Join(blocks, nil), make([]uint64, len(blocks)+1)
	for k, block := range blocks {
		offsets[k+1] = offsets[k] + uint64(len(block))
	}
	return s.changed("insert blocks", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_insert_blocks(s, C.uint64_t(i), start(data), numbers(offsets),
			C.size_t(len(blocks)), e)
	})
}

// RemoveChunk removes chunk i with its content and shifts the following chunks down by one.
func (s *Schunk) RemoveChunk(i uint64) error {
	return s.changed("remove a chunk", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_remove(s, C.uint64_t(i), e)
	})
}

// Truncate removes all but the first n bytes of content.
func (s *Schunk) Truncate(n uint64) error {
	return s.changed("truncate", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_truncate(s, C.uint64_t(n), e)
	})
}

// Attrs returns the names of the named values. A Bloscpack file has one, "", its metadata.
func (s *Schunk) Attrs() (names []string) {
	s.look(func(p unsafe.Pointer) {
		for i := C.uint32_t(0); i < C.holdall_schunk_attr_count((*C.holdall_schunk)(p)); i++ {
			names = append(names, C.GoString(C.holdall_schunk_attr_name((*C.holdall_schunk)(p), i)))
		}
	})
	return names
}

// Attr returns a named value and whether it exists.
func (s *Schunk) Attr(name string) (value []byte, is bool, err error) {
	return s.named("attr", name, func(p unsafe.Pointer, name *C.char, c *call) C.holdall_status {
		return C.holdall_schunk_attr_get((*C.holdall_schunk)(p), name, &c.out, &c.n, &c.err)
	})
}

// SetFixedAttr sets a named value of fixed length, in the header of a frame: see Array.
func (s *Schunk) SetFixedAttr(name string, value []byte) error {
	return withString("set attr", name, func(name *C.char) error {
		return s.changed("set attr", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
			return C.holdall_schunk_attr_set_fixed(s, name, given(value), C.size_t(len(value)), e)
		})
	})
}

// SetAttr sets a named value; nil removes it.
func (s *Schunk) SetAttr(name string, value []byte) error {
	return withString("set attr", name, func(name *C.char) error {
		return s.changed("set attr", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
			return C.holdall_schunk_attr_set(s, name, given(value), C.size_t(len(value)), e)
		})
	})
}

// Commit makes all changes durable and visible together.
func (s *Schunk) Commit() error {
	return s.changed("commit", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_commit(s, e)
	})
}

// Copy copies content and named values to a new superchunk. mode is Create or Replace.
func (s *Schunk) Copy(path string, mode Mode, format Format, options ...Option) error {
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return s.view("copy", func(p unsafe.Pointer, c *call) C.holdall_status {
				return C.holdall_schunk_copy((*C.holdall_schunk)(p), path, C.holdall_mode(mode),
					C.holdall_format(format), o, &c.err)
			})
		})
		return err
	})
}
