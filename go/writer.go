package holdall

// Bags that are written.

// #include <holdall.h>
import "C"

import "unsafe"

// Mode is what there may be where something is opened: ReadOnly, Append, New or Replace.
type Mode int32

// The modes.
const (
	ReadOnly Mode = C.HOLDALL_READ    // what is there, to be read
	Append   Mode = C.HOLDALL_APPEND  // what is there, to be changed
	New      Mode = C.HOLDALL_NEW     // nothing may be there
	Replace  Mode = C.HOLDALL_REPLACE // the first commit takes the place of what is there
)

// BagWriter writes one bag, or one set of shards.
type BagWriter struct{ *handle }

// WriteBag opens a bag to be written; "name@8.bagz" is a set of eight files.
func WriteBag(path string, mode Mode, options ...Option) (*BagWriter, error) {
	var h *handle
	free := func(p unsafe.Pointer) { C.holdall_bag_writer_close((*C.holdall_bag_writer)(p)) }
	err := withString("write a bag", path, func(path *C.char) (err error) {
		h, err = open("write a bag", options, free, true, func(o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_bag_writer_open(path, C.holdall_mode(mode), o, (**C.holdall_bag_writer)(unsafe.Pointer(&c.out)), &c.err)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &BagWriter{h}, nil
}

// Append appends one record.
func (w *BagWriter) Append(record []byte) error {
	return w.change("append", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_writer_append((*C.holdall_bag_writer)(p), start(record), C.size_t(len(record)), &c.err)
	})
}

// AppendMany appends records that lie end to end: record i is data[offsets[i]:offsets[i+1]]. They are compressed in
// parallel. Where it fails, Len tells how many went in.
func (w *BagWriter) AppendMany(data []byte, offsets []uint64) error {
	for i := range offsets {
		if offsets[i] > uint64(len(data)) || i > 0 && offsets[i] < offsets[i-1] {
			return refused("append", ErrArgument, "offset %d is %d, in %d bytes", i, offsets[i], len(data))
		}
	}
	if len(offsets) == 0 {
		return refused("append", ErrArgument, "there are no offsets")
	}
	return w.change("append", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_writer_append_many((*C.holdall_bag_writer)(p), start(data), numbers(offsets), C.size_t(len(offsets)-1), &c.err)
	})
}

// Len is how many records the last commit had, and those since.
func (w *BagWriter) Len() (n uint64) {
	w.look(func(p unsafe.Pointer) { n = uint64(C.holdall_bag_writer_size((*C.holdall_bag_writer)(p))) })
	return n
}

// Commit makes all that was appended durable, and visible to those who open the bag; all of it or nothing.
func (w *BagWriter) Commit() error {
	return w.change("commit", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_writer_commit((*C.holdall_bag_writer)(p), &c.err)
	})
}
