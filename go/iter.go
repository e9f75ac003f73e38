//go:build go1.23

package holdall

// Records as Go 1.23 iterates. Stream.Next does the same before.

import (
	"io"
	"iter"
)

// All is `for record, err := range stream.All()`. Behind the error of one record it goes on with the next, unless the loop
// leaves; any other error is the last that comes.
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

// All is `for record, err := range bag.All()`: all records in their order, read ahead.
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

// All is `for i, record := range records.All()`.
func (r *Records) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := 0; i < r.Len(); i++ {
			if !yield(i, r.Bytes(i)) {
				return
			}
		}
	}
}
