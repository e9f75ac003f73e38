package holdall

// Writers of bags.

// #include <holdall.h>
import "C"

import "unsafe"

// Mode selects how a container is opened or created: ReadOnly, Append, Create or Replace.
type Mode int32

// The modes.
const (
	ReadOnly Mode = C.HOLDALL_READ    // opens an existing container for reading
	Append   Mode = C.HOLDALL_APPEND  // opens an existing container for reading and writing
	Create   Mode = C.HOLDALL_CREATE  // creates a container; ErrExists if the path exists
	Replace  Mode = C.HOLDALL_REPLACE // creates a container; the first commit replaces an existing one
)

// BagWriter is a writer of one bag, or of one set of shards.
type BagWriter struct{ *handle }

// WriteBag opens a writer of a bag: Create, Replace or Append. The path "name@8.bagz" is a set of
// eight files. Errors: ErrExists or ErrMissing as mode requires; ErrBusy if another writer is
// active.
func WriteBag(path string, mode Mode, options ...Option) (*BagWriter, error) {
	var h *handle
	free := func(p unsafe.Pointer) { C.holdall_bag_writer_close((*C.holdall_bag_writer)(p)) }
	err := withString("write a bag", path, func(path *C.char) (err error) {
		h, err = open("write a bag", options, free, func(o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_bag_writer_open(path, C.holdall_mode(mode), o,
				(**C.holdall_bag_writer)(unsafe.Pointer(&c.out)), &c.err)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &BagWriter{h}, nil
}

// Append appends one record, visible from the next commit on. After an error it is not appended.
func (w *BagWriter) Append(record []byte) error {
	return w.change("append", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_writer_append((*C.holdall_bag_writer)(p), start(record),
			C.size_t(len(record)), &c.err)
	})
}

// AppendMany appends records that are stored end to end: record i is
// data[offsets[i]:offsets[i+1]]. Offsets must ascend. The records are compressed in parallel.
// After an error, Len includes the records that were appended.
func (w *BagWriter) AppendMany(data []byte, offsets []uint64) error {
	if err := checkOffsets("append", data, offsets); err != nil {
		return err
	}
	return w.change("append", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_writer_append_many((*C.holdall_bag_writer)(p), start(data), numbers(offsets),
			C.size_t(len(offsets)-1), &c.err)
	})
}

func checkOffsets(op string, data []byte, offsets []uint64) error {
	for i := range offsets {
		if offsets[i] > uint64(len(data)) || i > 0 && offsets[i] < offsets[i-1] {
			return refused(op, ErrArgument,
				"offset %d is %d (offsets must ascend and not exceed the %d bytes of data)",
				i, offsets[i], len(data))
		}
	}
	if len(offsets) == 0 {
		return refused(op, ErrArgument, "offsets is empty (expected at least one)")
	}
	return nil
}

// TrainDictionary trains a zstd dictionary of at most size bytes for records that resemble these,
// where record i is data[offsets[i]:offsets[i+1]]. 112640 bytes are a good size; the records should
// have 100 times as many. The option BagDictionary with DictionaryAuto does this by itself.
//
// Errors: ErrArgument if the records are too few or have nothing in common, or if size is not 256
// bytes to 16 MiB.
func TrainDictionary(data []byte, offsets []uint64, size int) ([]byte, error) {
	if err := checkOffsets("train", data, offsets); err != nil {
		return nil, err
	}
	if size < 0 {
		return nil, refused("train", ErrArgument, "size is %d (expected 256 or more)", size)
	}
	dictionary, n := make([]byte, size), 0
	err := run("train", func(c *call) C.holdall_status {
		status := C.holdall_dictionary_train(start(data), numbers(offsets), C.size_t(len(offsets)-1),
			start(dictionary), C.size_t(size), &c.n, &c.err)
		n = int(c.n)
		return status
	})
	if err != nil {
		return nil, err
	}
	return dictionary[:n], nil
}

// Len returns the number of records at the last commit plus those appended since.
func (w *BagWriter) Len() (n uint64) {
	w.look(func(p unsafe.Pointer) {
		n = uint64(C.holdall_bag_writer_record_count((*C.holdall_bag_writer)(p)))
	})
	return n
}

// Commit makes all appended records durable and visible, atomically.
func (w *BagWriter) Commit() error {
	return w.change("commit", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_writer_commit((*C.holdall_bag_writer)(p), &c.err)
	})
}
