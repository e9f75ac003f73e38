package holdall

// Superchunks that are written from front to back, to an io.Writer.

// #include <holdall.h>
// extern int64_t holdallGoWrite(void *, void *, size_t);
import "C"

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/cgo"
	"syscall"
	"unsafe"
)

// UnknownLength is the length of a stream whose length is not known in advance.
const UnknownLength = math.MaxUint64

// SchunkStream writes a Bloscpack file from front to back, for a pipe or a connection. It
// implements io.Writer. Memory use does not depend on the length. Without Finish the file is
// truncated.
type SchunkStream struct{ *handle }

// NewSchunkStream creates a stream that writes to out, which must not use the stream. typesize is
// the bytes per item, for filters. length is the bytes of content, or UnknownLength.
func NewSchunkStream(out io.Writer, typesize int, length uint64, options ...Option) (*SchunkStream, error) {
	const op = "create a stream of chunks"
	if out == nil {
		return nil, refused(op, ErrArgument, "the writer is nil")
	}
	f := newCallback(out)
	free := func(p unsafe.Pointer) {
		C.holdall_schunk_stream_free((*C.holdall_schunk_stream)(p))
		f.release()
	}
	h, err := open(op, options, free, func(o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_schunk_stream_new((C.holdall_write_fn)(C.holdallGoWrite), f.ctx, C.size_t(typesize),
			C.uint64_t(length), o, (**C.holdall_schunk_stream)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		return nil, err
	}
	h.keep = append(h.keep, f)
	return &SchunkStream{h}, nil
}

// SetMetadata sets the metadata, which must be JSON, before the first Write.
func (s *SchunkStream) SetMetadata(json []byte) error {
	return s.change("set metadata", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_schunk_stream_set_metadata((*C.holdall_schunk_stream)(p), start(json),
			C.size_t(len(json)), &c.err)
	})
}

// Write appends content and writes the chunks that are complete. Errors: ErrRange if there is more
// content than length; that of the io.Writer, after which all calls are ErrState.
func (s *SchunkStream) Write(content []byte) (int, error) {
	err := s.change("write", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_schunk_stream_write((*C.holdall_schunk_stream)(p), start(content),
			C.size_t(len(content)), &c.err)
	})
	if err != nil {
		return 0, err
	}
	return len(content), nil
}

// Finish writes the rest. Close does not. Errors: ErrState if there is less content than length,
// which may still be written.
func (s *SchunkStream) Finish() error {
	return s.change("finish", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_schunk_stream_finish((*C.holdall_schunk_stream)(p), &c.err)
	})
}

//export holdallGoWrite
func holdallGoWrite(ctx unsafe.Pointer, src unsafe.Pointer, n C.size_t) (result C.int64_t) {
	to := (*(*cgo.Handle)(ctx)).Value().(*failed)
	defer func() {
		if p := recover(); p != nil {
			to.fail(fmt.Errorf("the writer panicked: %v", p))
			result = -C.int64_t(syscall.EIO)
		}
	}()
	have, err := to.call.(io.Writer).Write(unsafe.Slice((*byte)(src), int(n)))
	if err == nil && have != int(n) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return 0
	}
	to.fail(err)
	var errno syscall.Errno
	if errors.As(err, &errno) && errno > 0 {
		return -C.int64_t(errno)
	}
	return -C.int64_t(syscall.EIO)
}
