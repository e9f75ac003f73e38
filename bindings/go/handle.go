package holdall

// Handles: a Go object that owns a C handle, counts the calls in progress, and frees the C handle
// after the last one.

// #include <holdall.h>
// #include <stdlib.h>
import "C"

import (
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Flag in handle.state, above the bits that count the calls in progress.
const closedBit = 1 << 62

// handle owns a C handle. The C handle is freed once Close was called and the last call that uses
// it has ended. So Close does not wait, and a callback may close the handle that it is called
// for.
type handle struct {
	state atomic.Int64
	p     unsafe.Pointer
	free  func(unsafe.Pointer)
	// Held by calls that change the handle; calls that read share it.
	turn sync.RWMutex
	// The number of refreshes: see stable.
	refreshes atomic.Int64
	// Callbacks that the library may call while the handle is open.
	keep []*callback
}

func newHandle(p unsafe.Pointer, free func(unsafe.Pointer), keep []*callback) *handle {
	h := &handle{p: p, free: free, keep: keep}
	runtime.SetFinalizer(h, (*handle).Close)
	return h
}

// Close closes the handle. Uncommitted changes are discarded. A second call does nothing. Close
// always returns nil.
func (h *handle) Close() error {
	for {
		n := h.state.Load()
		if n&closedBit != 0 {
			return nil
		}
		if h.state.CompareAndSwap(n, n|closedBit) {
			if n == 0 {
				h.gone()
			}
			return nil
		}
	}
}

func (h *handle) gone() {
	runtime.SetFinalizer(h, nil)
	h.free(h.p)
}

func (h *handle) enter() bool {
	for {
		n := h.state.Load()
		if n&closedBit != 0 {
			return false
		}
		if h.state.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (h *handle) leave() {
	if h.state.Add(-1) == closedBit {
		h.gone()
	}
}

// call holds the outputs of a C call other than buffers. It is reused for later calls.
type call struct {
	err     C.holdall_error
	out     unsafe.Pointer
	n       C.size_t
	numbers [3]C.uint64_t
}

var calls = sync.Pool{New: func() any { return new(call) }}

// run makes a call. f must copy outputs other than the status from the call before it returns.
func run(op string, f func(c *call) C.holdall_status) error {
	c := calls.Get().(*call)
	status := f(c)
	var err error
	if status != C.HOLDALL_OK {
		err = failure(op, status, &c.err)
	}
	calls.Put(c)
	return err
}

func closed(op string) error {
	return &Error{Op: op, Status: ErrState, Position: -1, Message: "the handle is closed",
		Cause: fs.ErrClosed}
}

// view makes a call that does not change the handle.
func (h *handle) view(op string, f func(p unsafe.Pointer, c *call) C.holdall_status) error {
	if !h.enter() {
		return closed(op)
	}
	defer h.leave()
	h.turn.RLock()
	defer h.turn.RUnlock()
	return explained(run(op, func(c *call) C.holdall_status { return f(h.p, c) }), h.keep)
}

// change makes a call that changes the handle or its container.
func (h *handle) change(op string, f func(p unsafe.Pointer, c *call) C.holdall_status) error {
	if !h.enter() {
		return closed(op)
	}
	defer h.leave()
	h.turn.Lock()
	defer h.turn.Unlock()
	return explained(run(op, func(c *call) C.holdall_status { return f(h.p, c) }), h.keep)
}

// refresh makes a call that moves the handle to the newest commit.
func (h *handle) refresh(f func(p unsafe.Pointer, c *call) C.holdall_status) error {
	return h.change("refresh", func(p unsafe.Pointer, c *call) C.holdall_status {
		h.refreshes.Add(1)
		return f(p, c)
	})
}

// stable calls f, and again if the handle was refreshed meanwhile, so that all calls in f see the
// same commit.
func (h *handle) stable(f func() error) error {
	for {
		before := h.refreshes.Load()
		if err := f(); h.refreshes.Load() == before {
			return err
		}
	}
}

// look makes a call that cannot fail. It does not call f if the handle is closed.
func (h *handle) look(f func(p unsafe.Pointer)) {
	_ = h.view("", func(p unsafe.Pointer, _ *call) C.holdall_status {
		f(p)
		return C.HOLDALL_OK
	})
}

// ask makes a call twice: with dst NULL, which stores the size in c.n, and then with a buffer of
// that size.
func (h *handle) ask(op string,
	f func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status) (bytes []byte, err error) {
	err = h.view(op, func(p unsafe.Pointer, c *call) C.holdall_status {
		status := f(p, nil, 0, c)
		if status < 0 {
			return status
		}
		bytes = make([]byte, c.n)
		return f(p, start(bytes), C.size_t(len(bytes)), c)
	})
	return unless(bytes, err)
}

// unless returns bytes unless the call failed. It also returns them with ErrDamaged.
func unless(bytes []byte, err error) ([]byte, error) {
	if e, is := err.(*Error); is && e.Status != ErrDamaged {
		return nil, err
	}
	return bytes, err
}

// listed returns the names in a text in which a NUL follows each.
func listed(text []byte) (names []string) {
	for rest := string(text); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "\x00")
		names = append(names, name)
	}
	return names
}

// taken copies the c.n bytes at c.out, if the call succeeded.
func taken(status C.holdall_status, c *call) (bytes []byte, is bool) {
	if status != C.HOLDALL_OK {
		return nil, false
	}
	return append([]byte{}, unsafe.Slice((*byte)(c.out), int(c.n))...), true
}

// found maps HOLDALL_NOT_FOUND to HOLDALL_OK, for calls where it is not a failure.
func found(status C.holdall_status) C.holdall_status {
	if status == C.HOLDALL_NOT_FOUND {
		return C.HOLDALL_OK
	}
	return status
}

// named returns a copy of a named value.
func (h *handle) named(op, name string,
	f func(p unsafe.Pointer, name *C.char,
		c *call) C.holdall_status) (value []byte, is bool, err error) {
	err = withString(op, name, func(name *C.char) error {
		return h.view(op, func(p unsafe.Pointer, c *call) C.holdall_status {
			status := f(p, name, c)
			value, is = taken(status, c)
			return found(status)
		})
	})
	return value, is, err
}

var nothing [8]byte

// start returns the address of the first byte. It is never NULL, which has a special meaning in
// many calls.
func start(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return unsafe.Pointer(&nothing[0])
	}
	return unsafe.Pointer(&b[0])
}

// given returns the address of the first byte, or NULL if b is nil.
func given(b []byte) unsafe.Pointer {
	if b == nil {
		return nil
	}
	return start(b)
}

// numbers returns the address of the first number, or NULL if n is nil.
func numbers(n []uint64) *C.uint64_t {
	if n == nil {
		return nil
	}
	if len(n) == 0 {
		return (*C.uint64_t)(unsafe.Pointer(&nothing[0]))
	}
	return (*C.uint64_t)(unsafe.Pointer(&n[0]))
}

// checked returns an error if a string contains a NUL byte.
func checked(op string, all ...string) error {
	for _, s := range all {
		if strings.IndexByte(s, 0) >= 0 {
			return refused(op, ErrArgument, "%q contains a NUL byte", s)
		}
	}
	return nil
}

// withString calls f with a C string, which is freed afterwards.
func withString(op, s string, f func(s *C.char) error) error {
	if err := checked(op, s); err != nil {
		return err
	}
	p := C.CString(s)
	defer C.free(unsafe.Pointer(p))
	return f(p)
}
