package holdall

// Tests of superchunks that are written from front to back.

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"
)

// limited is a writer that fails after some calls.
type limited struct {
	bytes.Buffer
	calls int
	fails error
}

func (w *limited) Write(p []byte) (int, error) {
	if w.calls--; w.calls < 0 {
		return 0, w.fails
	}
	return w.Buffer.Write(p)
}

func TestSchunkStream(t *testing.T) {
	content := bytes.Repeat([]byte("abcdefg"), 10000)
	for _, length := range []uint64{UnknownLength, uint64(len(content))} {
		var file bytes.Buffer
		s := must(NewSchunkStream(&file, 1, length, ChunkBytes(4096)))
		done(t, s.SetMetadata([]byte("[1]")))
		if n := must(io.Copy(s, bytes.NewReader(content))); n != int64(len(content)) {
			t.Fatal(n)
		}
		truncated := append([]byte{}, file.Bytes()...)
		done(t, s.Finish())
		is(t, s.Finish(), ErrState)
		done(t, s.Close())
		is(t, s.Finish(), fs.ErrClosed)
		back := must(OpenSchunk("", ReadOnly, UseStorage(Memory(file.Bytes()))))
		if !bytes.Equal(must(io.ReadAll(io.NewSectionReader(back, 0, 1<<20))), content) {
			t.Fatal(length)
		}
		done(t, back.Close())
		_, err := OpenSchunk("", ReadOnly, UseStorage(Memory(truncated)))
		is(t, err, ErrFormat)
	}
}

func TestSchunkStreamThatFails(t *testing.T) {
	for calls := 0; calls < 4; calls++ {
		for _, fails := range []error{errors.New("the pipe is broken"), fs.ErrPermission, nil} {
			out := &limited{calls: calls, fails: fails}
			s := must(NewSchunkStream(out, 1, UnknownLength, ChunkBytes(4096)))
			_, err := s.Write(make([]byte, 8192))
			if err == nil {
				err = s.Finish()
			}
			is(t, err, ErrCallback)
			if fails == nil {
				fails = io.ErrShortWrite
			}
			is(t, err, fails)
			is(t, s.Finish(), ErrState)
			done(t, s.Close())
		}
	}
	s := must(NewSchunkStream(io.Discard, 1, 3))
	_, err := s.Write(make([]byte, 4))
	is(t, err, ErrRange)
	is(t, s.Finish(), ErrState)
	must(s.Write(make([]byte, 3)))
	done(t, s.Finish())
	done(t, s.Close())
	_, err = NewSchunkStream(nil, 1, 3)
	is(t, err, ErrArgument)
}
