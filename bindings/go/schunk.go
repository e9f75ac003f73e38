package holdall

// Superchunks: a sequence of bytes in compressed chunks.

// #include <holdall.h>
import "C"

import (
	"io"
	"unsafe"
)

// Format is the format of a container: Bloscpack, Bcolz, BLZ, BLZPaper (the BLZ RFC layout),
// B2Frame, Caterva, B2ND or Bagz.
type Format int32

// The formats.
const (
	Bloscpack Format = C.HOLDALL_FORMAT_BLOSCPACK
	Bcolz     Format = C.HOLDALL_FORMAT_BCOLZ
	BLZ       Format = C.HOLDALL_FORMAT_BLZ
	BLZPaper  Format = C.HOLDALL_FORMAT_BLZ_PAPER
	B2Frame   Format = C.HOLDALL_FORMAT_B2FRAME
	Caterva   Format = C.HOLDALL_FORMAT_CATERVA
	B2ND      Format = C.HOLDALL_FORMAT_B2ND
	Bagz      Format = C.HOLDALL_FORMAT_BAGZ
)

// Schunk is an open superchunk: a sequence of bytes, the content, in compressed chunks numbered
// from 0. It implements io.ReaderAt, io.WriterAt for existing content, and io.Writer, which
// appends.
type Schunk struct{ *handle }

func freeSchunk(p unsafe.Pointer) { C.holdall_schunk_close((*C.holdall_schunk)(p)) }

func schunk(op, path string, mode Mode, options []Option, f func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status) (*Schunk, error) {
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, freeSchunk, mode != ReadOnly, func(o *C.holdall_options, c *call) C.holdall_status {
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
// Errors: ErrFormat if the container is not a superchunk; ErrBusy if another writer is active.
func OpenSchunk(path string, mode Mode, options ...Option) (*Schunk, error) {
	return schunk("open a superchunk", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status {
		return C.holdall_schunk_open(path, C.holdall_mode(mode), o, out, &c.err)
	})
}

// CreateSchunk creates a superchunk and opens it for changes. mode is New or Replace; format is
// Bloscpack or B2Frame; typesize is the bytes per item, for filters. Errors: ErrExists if mode is
// New and the path exists.
func CreateSchunk(path string, mode Mode, format Format, typesize int, options ...Option) (*Schunk, error) {
	return schunk("create a superchunk", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status {
		return C.holdall_schunk_create(path, C.holdall_mode(mode), C.holdall_format(format), C.size_t(typesize), o, out, &c.err)
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

// StoredBytes returns the size on disk in bytes at the last commit.
func (s *Schunk) StoredBytes() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_cbytes(s) })
}

// Chunks returns the number of chunks.
func (s *Schunk) Chunks() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_chunks(s) })
}

// Typesize returns the bytes per item.
func (s *Schunk) Typesize() int {
	return int(s.number(func(s *C.holdall_schunk) C.uint64_t { return C.uint64_t(C.holdall_schunk_typesize(s)) }))
}

// ChunkSize returns the bytes of content per chunk; the last chunk and inserted ones may differ.
// 0: chunks may have any length.
func (s *Schunk) ChunkSize() int {
	return int(s.number(func(s *C.holdall_schunk) C.uint64_t { return C.uint64_t(C.holdall_schunk_chunk_size(s)) }))
}

// Sum returns the checksum of the chunks.
func (s *Schunk) Sum() Sum {
	return Sum(s.number(func(s *C.holdall_schunk) C.uint64_t { return C.uint64_t(C.holdall_schunk_sum(s)) }))
}

// ChunkInfo describes a chunk: its bytes of content, its bytes as stored, and its codec.
type ChunkInfo struct {
	Bytes, Stored int
	Codec         Codec
}

// Chunk describes chunk i without decoding it. Errors: ErrRange if there is no such chunk.
func (s *Schunk) Chunk(i uint64) (info ChunkInfo, err error) {
	err = s.view("chunk", func(p unsafe.Pointer, c *call) C.holdall_status {
		var codec C.int32_t
		stored := (*C.size_t)(unsafe.Pointer(&c.numbers[0]))
		status := C.holdall_schunk_chunk_info((*C.holdall_schunk)(p), C.uint64_t(i), &c.n, stored, &codec, &c.err)
		info = ChunkInfo{int(c.n), int(*stored), Codec(codec)}
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
			return C.holdall_schunk_read((*C.holdall_schunk)(p), C.uint64_t(at), start(dst), C.size_t(len(dst)), &c.err)
		})
	} else if err = s.view("read", func(unsafe.Pointer, *call) C.holdall_status { return C.HOLDALL_OK }); err == nil {
		return 0, io.EOF // only if the handle is open
	}
	if e, is := err.(*Error); is && e.Status != ErrSkipped {
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

// ReadRaw returns chunk i as stored. It verifies the checksum of the chunk and omits it.
func (s *Schunk) ReadRaw(i uint64) ([]byte, error) {
	return s.ask("read a chunk", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_read_raw((*C.holdall_schunk)(p), C.uint64_t(i), dst, size, &c.n, &c.err)
	})
}

// Checksum returns a checksum of all content.
func (s *Schunk) Checksum(sum Sum) ([]byte, error) {
	return s.ask("checksum", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_checksum((*C.holdall_schunk)(p), C.int32_t(sum), dst, size, &c.n, &c.err)
	})
}

func (s *Schunk) changed(op string, f func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status) error {
	return s.change(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f((*C.holdall_schunk)(p), &c.err) })
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

// Metas returns the names of the named values. A Bloscpack file has one, "", its metadata.
func (s *Schunk) Metas() (names []string) {
	s.look(func(p unsafe.Pointer) {
		for i := C.uint32_t(0); i < C.holdall_schunk_metas((*C.holdall_schunk)(p)); i++ {
			names = append(names, C.GoString(C.holdall_schunk_meta_name((*C.holdall_schunk)(p), i)))
		}
	})
	return names
}

// Meta returns a named value and whether it exists.
func (s *Schunk) Meta(name string) (value []byte, is bool, err error) {
	return s.named("meta", name, func(p unsafe.Pointer, name *C.char, c *call) C.holdall_status {
		return C.holdall_schunk_meta_get((*C.holdall_schunk)(p), name, &c.out, &c.n, &c.err)
	})
}

// SetMeta sets a named value; nil removes it.
func (s *Schunk) SetMeta(name string, value []byte) error {
	return withString("set meta", name, func(name *C.char) error {
		return s.changed("set meta", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
			return C.holdall_schunk_meta_set(s, name, given(value), C.size_t(len(value)), e)
		})
	})
}

// Commit makes all changes durable and visible together.
func (s *Schunk) Commit() error {
	return s.changed("commit", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status { return C.holdall_schunk_commit(s, e) })
}

// Copy copies content and named values to a new superchunk. mode is New or Replace.
func (s *Schunk) Copy(path string, mode Mode, format Format, options ...Option) error {
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return s.view("copy", func(p unsafe.Pointer, c *call) C.holdall_status {
				return C.holdall_schunk_copy((*C.holdall_schunk)(p), path, C.holdall_mode(mode), C.holdall_format(format), o, &c.err)
			})
		})
		return err
	})
}
