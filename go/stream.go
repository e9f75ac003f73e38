package holdall

// Records in any order, read ahead in parallel, and shuffled epochs.

// #include <holdall.h>
import "C"

import (
	"io"
	"unsafe"
)

// Stream gives records of a bag in an order. Next is for one goroutine at a time; Take is for many at once, and both
// together give each record once.
type Stream struct {
	*handle
	data    []byte // of the batch that Next is in
	offsets []uint64
	numbers []uint64
}

func freeEpoch(p unsafe.Pointer) { C.holdall_epoch_close((*C.holdall_epoch)(p)) }

// Stream opens a stream of the records whose numbers `next` gives, in that order, any number of times each, until it
// gives false, or an error, which comes back with the record that would have been next. nil: all of them in their order.
// It is called by one goroutine at a time, only in Next and Take, for as many records as are read ahead. The bag may be closed.
func (b *Bag) Stream(next func() (i uint64, more bool, err error), options ...Option) (*Stream, error) {
	if next == nil {
		return b.stream(nil, nil, func() {}, nil, options)
	}
	f := newCallback(next)
	return b.stream(nextFunction(), f.ctx, f.release, []*callback{f}, options)
}

// Epoch opens a stream of every record once, in an order that seed and epoch decide and that is the same on every
// machine; of it those that fall to rank, of world ranks, from `position` of them on.
func (b *Bag) Epoch(seed, epoch uint64, rank, world uint32, position uint64, options ...Option) (*Stream, error) {
	n := C.uint64_t(b.Len())
	h, err := open("open an epoch", nil, freeEpoch, false, func(_ *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_epoch_open(n, C.uint64_t(seed), C.uint64_t(epoch), C.uint32_t(rank), C.uint32_t(world), (**C.holdall_epoch)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		return nil, err
	}
	err = h.change("seek in an epoch", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_epoch_seek((*C.holdall_epoch)(p), C.uint64_t(epoch), C.uint64_t(position), &c.err)
	})
	if err != nil {
		h.Close()
		return nil, err
	}
	return b.stream((C.holdall_next_index_fn)(C.holdall_epoch_next), h.p, func() { h.Close() }, nil, options)
}

// stream opens a stream; `done` gives back what gives its numbers.
func (b *Bag) stream(next C.holdall_next_index_fn, ctx unsafe.Pointer, done func(), keep []*callback, options []Option) (*Stream, error) {
	free := func(p unsafe.Pointer) {
		C.holdall_bag_stream_close((*C.holdall_bag_stream)(p))
		done()
	}
	h, err := b.made("open a stream", options, free, keep, func(p unsafe.Pointer, o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_bag_stream_open((*C.holdall_bag)(p), next, ctx, o, (**C.holdall_bag_stream)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		done()
		return nil, err
	}
	return &Stream{handle: h}, nil
}

// Take takes the next n records, or with 0 as many as were read together; fewer at the end, or before one that fails,
// of which the next call tells. io.EOF: there are no more.
func (s *Stream) Take(n int) (*Records, error) {
	if n < 0 {
		return nil, refused("take", ErrArgument, "%d records", n)
	}
	end := false
	r, err := s.records("take", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_bag_stream_take((*C.holdall_bag_stream)(p), C.size_t(n), (**C.holdall_records)(unsafe.Pointer(&c.out)), &c.err)
		end = status == C.HOLDALL_NOT_FOUND
		return status
	})
	if end {
		return nil, io.EOF
	}
	return r, err
}

// Next is the next record, which may be kept, and its number in the bag. io.EOF: there are no more. Behind an error with a
// Position it goes on with the record after the one that failed.
func (s *Stream) Next() (record []byte, number uint64, err error) {
	for len(s.numbers) == 0 {
		batch, err := s.Take(0)
		if err != nil {
			return nil, 0, err
		}
		// One copy a batch, so that no record can outlive its memory.
		s.data = append([]byte{}, batch.data...)
		s.offsets = append(s.offsets[:0:0], batch.offsets...)
		s.numbers = append(s.numbers[:0:0], batch.numbers...)
		batch.Close()
	}
	record, number = s.data[s.offsets[0]:s.offsets[1]:s.offsets[1]], s.numbers[0]
	s.offsets, s.numbers = s.offsets[1:], s.numbers[1:]
	return record, number, nil
}
