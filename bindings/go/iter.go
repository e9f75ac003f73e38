//go:build go1.23

package holdall

// Iterators over records for Go 1.23 and later. In earlier versions use Stream.Next.

import (
	"io"
	"iter"
)

// All returns an iterator for `for record, err := range stream.All()`. After the error of one
// record it continues with the next record, unless the loop ends. Any other error ends the
// iteration.
func (s *Stream) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			record, _, err := s.Next()
			if err == io.EOF || !yield(record, err) || err != nil && position(err) < 0 {
				return
			}
		}
	}
}

func position(err error) int64 {
	if e, is := err.(*Error); is {
		return e.Position
	}
	return -1
}

// All returns an iterator for `for record, err := range bag.All()`: all records in order, read
// ahead.
func (b *Bag) All(options ...Option) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s, err := b.Stream(nil, options...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.All()(yield)
	}
}

// All returns an iterator for `for i, record := range records.All()`.
func (r *Records) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := 0; i < r.Len(); i++ {
			if !yield(i, r.Bytes(i)) {
				return
			}
		}
	}
}
