package holdall

// Go functions that C calls. C gets a pointer to C memory that holds a cgo.Handle of the
// function.

// #include <holdall.h>
// #include <stdlib.h>
// extern int holdallGoProgress(void *, uint64_t, uint64_t);
// extern int holdallGoFault(void *, char *, holdall_error *);
// extern int holdallGoNext(void *, uint64_t *);
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// callback is a function that C may call until release is called or the callback is collected.
type callback struct {
	ctx unsafe.Pointer // C memory that holds the cgo.Handle
	*failed
}

// failed is a function and the last error that it returned, if any.
type failed struct {
	call any
	mu   sync.Mutex
	err  error
}

func newCallback(f any) *callback {
	c := &callback{ctx: C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0)))), failed: &failed{call: f}}
	// The handle refers only to `failed`, so that the callback can be collected.
	*(*cgo.Handle)(c.ctx) = cgo.NewHandle(c.failed)
	runtime.SetFinalizer(c, (*callback).release)
	return c
}

func (c *callback) release() {
	runtime.SetFinalizer(c, nil)
	(*(*cgo.Handle)(c.ctx)).Delete()
	C.free(c.ctx)
}

// cause returns and clears the last error.
func (f *failed) cause() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err
	f.err = nil
	return err
}

// explained adds the errors of callbacks to an error of status ErrCallback or ErrCancelled.
func explained(err error, functions []*callback) error {
	if e, is := err.(*Error); is && (e.Status == ErrCallback || e.Status == ErrCancelled) {
		for _, f := range functions {
			err = because(err, f.cause())
		}
	}
	return err
}

func (f *failed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// called calls a function. A panic must not unwind through C: it becomes the error.
func called(ctx unsafe.Pointer, f func(function any, failed *failed) C.int) (result C.int) {
	to := (*(*cgo.Handle)(ctx)).Value().(*failed)
	defer func() {
		if p := recover(); p != nil {
			to.fail(fmt.Errorf("the function panicked: %v", p))
			result = -1
		}
	}()
	return f(to.call, to)
}

func stopUnless(goOn bool) C.int {
	if goOn {
		return 0
	}
	return 1
}

//export holdallGoProgress
func holdallGoProgress(ctx unsafe.Pointer, done, total C.uint64_t) C.int {
	return called(ctx, func(f any, _ *failed) C.int {
		return stopUnless(f.(func(done, total uint64) bool)(uint64(done), uint64(total)))
	})
}

//export holdallGoFault
func holdallGoFault(ctx unsafe.Pointer, part *C.char, fault *C.holdall_error) C.int {
	return called(ctx, func(f any, _ *failed) C.int {
		return stopUnless(f.(func(part string, fault *Error) bool)(C.GoString(part),
			newError("verify", fault)))
	})
}

//export holdallGoNext
func holdallGoNext(ctx unsafe.Pointer, index *C.uint64_t) C.int {
	return called(ctx, func(f any, failed *failed) C.int {
		i, more, err := f.(func() (uint64, bool, error))()
		switch {
		case err != nil:
			failed.fail(err)
			return -1
		case !more:
			return C.HOLDALL_END
		}
		*index = C.uint64_t(i)
		return C.HOLDALL_OK
	})
}

func progressFunction() C.holdall_progress_fn { return (C.holdall_progress_fn)(C.holdallGoProgress) }
func faultFunction() C.holdall_fault_fn       { return (C.holdall_fault_fn)(C.holdallGoFault) }
func nextFunction() C.holdall_next_index_fn   { return (C.holdall_next_index_fn)(C.holdallGoNext) }
