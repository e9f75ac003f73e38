package holdall

// What lies between an object of Go's and a handle of C's: who is using it, and when it can go.

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

// In handle.state, above the number of calls under way.
const closedBit = 1 << 62

// handle is one of C's. It is closed when Close was called and the last call that uses it has ended, so that nobody
// waits, and a function that a call calls may close it.
type handle struct {
	state atomic.Int64
	p     unsafe.Pointer
	free  func(unsafe.Pointer)
	// Calls that change something are alone; nil where there are none.
	turn *sync.RWMutex
	// Functions that the library may call as long as it is open.
	keep []*callback
}

func newHandle(p unsafe.Pointer, free func(unsafe.Pointer), changes bool, keep []*callback) *handle {
	h := &handle{p: p, free: free, keep: keep}
	if changes {
		h.turn = new(sync.RWMutex)
	}
	runtime.SetFinalizer(h, (*handle).Close)
	return h
}

// Close closes it; again does nothing.
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

// call is what a call of C's writes to besides buffers, kept for the next one.
type call struct {
	err     C.holdall_error
	out     unsafe.Pointer
	n       C.size_t
	numbers [3]C.uint64_t
}

var calls = sync.Pool{New: func() any { return new(call) }}

// run makes a call; what it gives besides its status, f takes from the call before it returns.
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
	return &Error{Op: op, Status: ErrState, Position: -1, Message: "it was closed", Cause: fs.ErrClosed}
}

// view makes a call that changes nothing.
func (h *handle) view(op string, f func(p unsafe.Pointer, c *call) C.holdall_status) error {
	if !h.enter() {
		return closed(op)
	}
	defer h.leave()
	if h.turn != nil {
		h.turn.RLock()
		defer h.turn.RUnlock()
	}
	return explained(run(op, func(c *call) C.holdall_status { return f(h.p, c) }), h.keep)
}

// change makes a call that does.
func (h *handle) change(op string, f func(p unsafe.Pointer, c *call) C.holdall_status) error {
	if !h.enter() {
		return closed(op)
	}
	defer h.leave()
	if h.turn != nil {
		h.turn.Lock()
		defer h.turn.Unlock()
	}
	return explained(run(op, func(c *call) C.holdall_status { return f(h.p, c) }), h.keep)
}

// look asks what cannot fail; f is not called where it is closed.
func (h *handle) look(f func(p unsafe.Pointer)) {
	_ = h.view("", func(p unsafe.Pointer, _ *call) C.holdall_status {
		f(p)
		return C.HOLDALL_OK
	})
}

// ask makes a call twice: for the size in c.n, with a place that is NULL, and for the bytes.
func (h *handle) ask(op string, f func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status) (bytes []byte, err error) {
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

// unless gives what was read where the call did not fail: with ErrSkipped, too.
func unless(bytes []byte, err error) ([]byte, error) {
	if e, is := err.(*Error); is && e.Status != ErrSkipped {
		return nil, err
	}
	return bytes, err
}

// taken is a copy of the bytes that a call gave, if it did.
func taken(status C.holdall_status, c *call) (bytes []byte, is bool) {
	if status != C.HOLDALL_OK {
		return nil, false
	}
	return append([]byte{}, unsafe.Slice((*byte)(c.out), int(c.n))...), true
}

// found is the status of a call for which nothing to be found is no failure.
func found(status C.holdall_status) C.holdall_status {
	if status == C.HOLDALL_NOT_FOUND {
		return C.HOLDALL_OK
	}
	return status
}

// named asks for a value of C's by its name; what it gives is a copy.
func (h *handle) named(op, name string, f func(p unsafe.Pointer, name *C.char, c *call) C.holdall_status) (value []byte, is bool, err error) {
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

// start is where the bytes begin: never NULL, which often has a meaning of its own.
func start(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return unsafe.Pointer(&nothing[0])
	}
	return unsafe.Pointer(&b[0])
}

// given is where the bytes begin; NULL for nil.
func given(b []byte) unsafe.Pointer {
	if b == nil {
		return nil
	}
	return start(b)
}

// numbers is where they begin; NULL for nil.
func numbers(n []uint64) *C.uint64_t {
	if n == nil {
		return nil
	}
	if len(n) == 0 {
		return (*C.uint64_t)(unsafe.Pointer(&nothing[0]))
	}
	return (*C.uint64_t)(unsafe.Pointer(&n[0]))
}

// withString lends C a string, which must not hold a NUL.
func withString(op, s string, f func(s *C.char) error) error {
	if strings.IndexByte(s, 0) >= 0 {
		return refused(op, ErrArgument, "%q has a NUL in it", s)
	}
	p := C.CString(s)
	defer C.free(unsafe.Pointer(p))
	return f(p)
}
