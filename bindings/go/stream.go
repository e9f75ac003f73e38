package holdall

// Streams of records in any order, read ahead in parallel, and shuffled epochs.

// #include <holdall.h>
import "C"

import (
	"io"
	"unsafe"
)

// Stream is a stream of records of a bag. One goroutine at a time may call Next; any number may
// call Take at once. Each record is returned once, by either.
type Stream struct {
	*handle
	data     []byte // rest of the batch that Next reads from
	offsets  []uint64
	numbers  []uint64
	damaged  []uint64 // positions in that batch
	position uint64   // of the next record in that batch
}

func freeEpoch(p unsafe.Pointer) { C.holdall_epoch_free((*C.holdall_epoch)(p)) }

// Stream opens a stream of the records whose numbers next returns, in that order, with
// repetitions. next returns false at the end, or an error, which is returned in place of the next
// record. If next is nil, the stream has all records in order.
//
// next runs only during Next and Take, one call at a time, for as many records as are read ahead.
// The bag may be closed while the stream is open.
func (b *Bag) Stream(next func() (i uint64, more bool, err error),
	options ...Option) (*Stream, error) {
	if next == nil {
		return b.stream(nil, nil, func() {}, nil, options)
	}
	f := newCallback(next)
	return b.stream(nextFunction(), f.ctx, f.release, []*callback{f}, options)
}

// Epoch opens a stream of a shuffled epoch: every record once, in an order that depends only on
// the number of records, seed and epoch, on every machine. The stream has the records of rank, 0
// to world-1, from the given position of this rank on. Errors: ErrArgument if rank is not below
// world; ErrRange if position is past the end.
func (b *Bag) Epoch(seed, epoch uint64, rank, world uint32, position uint64,
	options ...Option) (*Stream, error) {
	n := C.uint64_t(b.Len())
	h, err := open("open an epoch", nil, freeEpoch,
		func(_ *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_epoch_new(n, C.uint64_t(seed), C.uint64_t(epoch), C.uint32_t(rank),
				C.uint32_t(world), (**C.holdall_epoch)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	err = h.change("seek in an epoch", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_epoch_seek((*C.holdall_epoch)(p), C.uint64_t(epoch), C.uint64_t(position),
			&c.err)
	})
	if err != nil {
		h.Close()
		return nil, err
	}
	return b.stream((C.holdall_next_index_fn)(C.holdall_epoch_next), h.p, func() {
		h.Close()
	}, nil, options)
}

// stream opens a stream; done releases the source of the record numbers.
func (b *Bag) stream(next C.holdall_next_index_fn, ctx unsafe.Pointer, done func(),
	keep []*callback, options []Option) (*Stream, error) {
	free := func(p unsafe.Pointer) {
		C.holdall_bag_stream_close((*C.holdall_bag_stream)(p))
		done()
	}
	h, err := b.made("open a stream", options, free, keep,
		func(p unsafe.Pointer, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_bag_stream_open((*C.holdall_bag)(p), next, ctx, o,
				(**C.holdall_bag_stream)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		done()
		return nil, err
	}
	return &Stream{handle: h}, nil
}

// Take returns the next n records; n 0: as many as were read together. It returns fewer at the
// end, or before a record that fails, whose error the next call returns. At the end it returns
// io.EOF.
func (s *Stream) Take(n int) (*Records, error) {
	if n < 0 {
		return nil, refused("take", ErrArgument, "the number of records is negative: %d", n)
	}
	end := false
	r, err := s.records("take", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_bag_stream_take((*C.holdall_bag_stream)(p), C.size_t(n),
			(**C.holdall_records)(unsafe.Pointer(&c.out)), &c.err)
		end = status == C.HOLDALL_END
		return status
	})
	if end {
		return nil, io.EOF
	}
	return r, err
}

// Next returns the next record, which the caller owns, and its number in the bag. At the end it
// returns io.EOF. After an error with a Position, the next call continues with the record after
// the one that failed. A record that is corrupt and was skipped is empty, with ErrDamaged.
func (s *Stream) Next() (record []byte, number uint64, err error) {
	for len(s.numbers) == 0 {
		batch, err := s.Take(0)
		if batch == nil {
			return nil, 0, err
		}
		// One copy per batch, so that records stay valid after the batch is closed.
		s.data = append([]byte{}, batch.data...)
		s.offsets = append(s.offsets[:0:0], batch.offsets...)
		s.numbers = append(s.numbers[:0:0], batch.numbers...)
		s.damaged = append(s.damaged[:0:0], batch.damaged...)
		s.position = 0
		batch.Close()
	}
	record, number = s.data[s.offsets[0]:s.offsets[1]:s.offsets[1]], s.numbers[0]
	s.offsets, s.numbers = s.offsets[1:], s.numbers[1:]
	if len(s.damaged) > 0 && s.damaged[0] == s.position {
		s.damaged = s.damaged[1:]
		err = &Error{Op: "next", Status: ErrDamaged, Position: int64(number),
			Message: "the record is corrupt and was skipped"}
	}
	s.position++
	return record, number, err
}
