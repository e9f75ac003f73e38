package holdall

// Superchunks: a run of bytes in compressed chunks.

// #include <holdall.h>
import "C"

import (
	"io"
	"unsafe"
)

// Format is how a container is laid out: Bloscpack, Bcolz, BLZ, BLZPaper, B2Frame, Caterva, B2ND or Bagz.
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

// Schunk is an open superchunk. It is an io.ReaderAt, an io.WriterAt of what is there, and an io.Writer behind that.
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

// OpenSchunk opens a superchunk, ReadOnly or to Append and change.
func OpenSchunk(path string, mode Mode, options ...Option) (*Schunk, error) {
	return schunk("open a superchunk", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status {
		return C.holdall_schunk_open(path, C.holdall_mode(mode), o, out, &c.err)
	})
}

// CreateSchunk makes one, Bloscpack or B2Frame, of items of so many bytes, New or Replace.
func CreateSchunk(path string, mode Mode, format Format, typesize int, options ...Option) (*Schunk, error) {
	return schunk("create a superchunk", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_schunk, c *call) C.holdall_status {
		return C.holdall_schunk_create(path, C.holdall_mode(mode), C.holdall_format(format), C.size_t(typesize), o, out, &c.err)
	})
}

func (s *Schunk) number(f func(s *C.holdall_schunk) C.uint64_t) (n uint64) {
	s.look(func(p unsafe.Pointer) { n = uint64(f((*C.holdall_schunk)(p))) })
	return n
}

// Len is how many bytes of content it has.
func (s *Schunk) Len() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_nbytes(s) })
}

// StoredBytes is what the last commit has on disk.
func (s *Schunk) StoredBytes() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_cbytes(s) })
}

// Chunks is how many chunks it has.
func (s *Schunk) Chunks() uint64 {
	return s.number(func(s *C.holdall_schunk) C.uint64_t { return C.holdall_schunk_chunks(s) })
}

// Typesize is how many bytes an item has.
func (s *Schunk) Typesize() int {
	return int(s.number(func(s *C.holdall_schunk) C.uint64_t { return C.uint64_t(C.holdall_schunk_typesize(s)) }))
}

// ChunkSize is the bytes of content of each chunk but the last; 0: they may have any length.
func (s *Schunk) ChunkSize() int {
	return int(s.number(func(s *C.holdall_schunk) C.uint64_t { return C.uint64_t(C.holdall_schunk_chunk_size(s)) }))
}

// Sum is the checksum of its chunks.
func (s *Schunk) Sum() Sum {
	return Sum(s.number(func(s *C.holdall_schunk) C.uint64_t { return C.uint64_t(C.holdall_schunk_sum(s)) }))
}

// ChunkInfo is what one chunk is.
type ChunkInfo struct {
	Bytes, Stored int
	Codec         Codec
}

// Chunk tells of chunk i.
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

// ReadAt reads content from byte `at` on, as io.ReaderAt has it.
func (s *Schunk) ReadAt(dst []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, refused("read", ErrArgument, "byte %d", at)
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
		return 0, io.EOF // not where it is closed
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

// ReadChunk reads the content of chunk i.
func (s *Schunk) ReadChunk(i uint64) ([]byte, error) {
	return s.ask("read a chunk", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_read_chunk((*C.holdall_schunk)(p), C.uint64_t(i), dst, size, &c.n, &c.err)
	})
}

// ReadRaw reads chunk i as it is stored.
func (s *Schunk) ReadRaw(i uint64) ([]byte, error) {
	return s.ask("read a chunk", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_read_raw((*C.holdall_schunk)(p), C.uint64_t(i), dst, size, &c.n, &c.err)
	})
}

// Checksum is that of all content.
func (s *Schunk) Checksum(sum Sum) ([]byte, error) {
	return s.ask("checksum", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_schunk_checksum((*C.holdall_schunk)(p), C.int32_t(sum), dst, size, &c.n, &c.err)
	})
}

func (s *Schunk) changed(op string, f func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status) error {
	return s.change(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f((*C.holdall_schunk)(p), &c.err) })
}

// Write appends content, as io.Writer has it.
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

// WriteAt writes over content that is there.
func (s *Schunk) WriteAt(src []byte, at int64) (int, error) {
	if at < 0 {
		return 0, refused("write", ErrArgument, "byte %d", at)
	}
	err := s.changed("write", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_write(s, C.uint64_t(at), start(src), C.size_t(len(src)), e)
	})
	if err != nil {
		return 0, err
	}
	return len(src), nil
}

// AppendRaw appends a chunk that is encoded already.
func (s *Schunk) AppendRaw(chunk []byte) error {
	return s.changed("append a chunk", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_append_raw(s, start(chunk), C.size_t(len(chunk)), e)
	})
}

// InsertChunk puts content, as a chunk of its own, before chunk i.
func (s *Schunk) InsertChunk(i uint64, src []byte) error {
	return s.changed("insert a chunk", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_insert(s, C.uint64_t(i), start(src), C.size_t(len(src)), e)
	})
}

// RemoveChunk takes chunk i away.
func (s *Schunk) RemoveChunk(i uint64) error {
	return s.changed("remove a chunk", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_remove(s, C.uint64_t(i), e)
	})
}

// Truncate keeps the first n bytes of content.
func (s *Schunk) Truncate(n uint64) error {
	return s.changed("truncate", func(s *C.holdall_schunk, e *C.holdall_error) C.holdall_status {
		return C.holdall_schunk_truncate(s, C.uint64_t(n), e)
	})
}

// Metas are the names of its values; that of Bloscpack is "".
func (s *Schunk) Metas() (names []string) {
	s.look(func(p unsafe.Pointer) {
		for i := C.uint32_t(0); i < C.holdall_schunk_metas((*C.holdall_schunk)(p)); i++ {
			names = append(names, C.GoString(C.holdall_schunk_meta_name((*C.holdall_schunk)(p), i)))
		}
	})
	return names
}

// Meta is a named value, if there is one.
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

// Copy writes content and values into a new superchunk.
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
