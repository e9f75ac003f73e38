package holdall

// Tables and bags by Arrow's C stream interface, to and from whatever package of Arrow a program has.

// #include <holdall.h>
// #include <stdlib.h>
//
// #ifndef ARROW_C_STREAM_INTERFACE
// #define ARROW_C_STREAM_INTERFACE
// struct ArrowArrayStream {
//     int (*get_schema)(struct ArrowArrayStream *, void *);
//     int (*get_next)(struct ArrowArrayStream *, void *);
//     const char *(*get_last_error)(struct ArrowArrayStream *);
//     void (*release)(struct ArrowArrayStream *);
//     void *private_data;
// };
// #endif
// static void stream_release(struct ArrowArrayStream *s) { if (s->release != NULL) s->release(s); }
import "C"

import "unsafe"

// ArrowStream is a struct ArrowArrayStream in memory of C's. It outlives what it was made from.
type ArrowStream struct{ *handle }

func newArrowStream(h *handle, op string, f func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status) (*ArrowStream, error) {
	out := (*C.struct_ArrowArrayStream)(C.calloc(1, C.sizeof_struct_ArrowArrayStream))
	err := h.view(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f(p, out, c) })
	if err != nil {
		C.free(unsafe.Pointer(out))
		return nil, err
	}
	free := func(p unsafe.Pointer) {
		C.stream_release((*C.struct_ArrowArrayStream)(p))
		C.free(p)
	}
	return &ArrowStream{newHandle(unsafe.Pointer(out), free, false, h.keep)}, nil
}

// Pointer is the struct ArrowArrayStream, until Close, which releases it if nobody has taken it: what arrow-go's
// cdata.ImportCArrayReader, and AppendArrow, take. Keep the ArrowStream as long: runtime.KeepAlive. nil when it is closed.
func (s *ArrowStream) Pointer() (stream unsafe.Pointer) {
	s.look(func(p unsafe.Pointer) { stream = p })
	return stream
}

// Arrow is the rows from `first` on, `rows` of them, in batches of `batch` rows; 0: as many as suit.
func (t *Table) Arrow(first, rows, batch uint64) (*ArrowStream, error) {
	return newArrowStream(t.handle, "arrow", func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
		return C.holdall_table_to_arrow((*C.holdall_table)(p), C.uint64_t(first), C.uint64_t(rows), C.uint64_t(batch), out, &c.err)
	})
}

// Arrow is n records from `first` on as a stream of one field, "record".
func (b *Bag) Arrow(first, n, batch uint64) (*ArrowStream, error) {
	return newArrowStream(b.handle, "arrow", func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
		return C.holdall_bag_to_arrow((*C.holdall_bag)(p), C.uint64_t(first), C.uint64_t(n), C.uint64_t(batch), out, &c.err)
	})
}

// AppendArrow appends the rows of a stream, a struct ArrowArrayStream, which is taken over in every case.
func (t *Table) AppendArrow(stream unsafe.Pointer) error {
	return t.changed("append", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_append_arrow(t, (*C.struct_ArrowArrayStream)(stream), &c.err)
	})
}
