package holdall

// What is it, is it sound, make it whole.

// #include <holdall.h>
import "C"

import "unsafe"

// Kind is what a container holds.
type Kind int32

// The kinds.
const (
	KindSchunk Kind = C.HOLDALL_KIND_SCHUNK
	KindArray  Kind = C.HOLDALL_KIND_ARRAY
	KindTable  Kind = C.HOLDALL_KIND_TABLE
	KindBag    Kind = C.HOLDALL_KIND_BAG
)

// Identify tells what is at a path.
func Identify(path string) (format Format, kind Kind, err error) {
	err = withString("identify", path, func(path *C.char) error {
		return run("identify", func(c *call) C.holdall_status {
			f, k := (*C.holdall_format)(unsafe.Pointer(&c.numbers[0])), (*C.holdall_kind)(unsafe.Pointer(&c.numbers[1]))
			status := C.holdall_identify(path, f, k, &c.err)
			format, kind = Format(*f), Kind(*k)
			return status
		})
	})
	return format, kind, err
}

// Counts is what Verify found: records or chunks that are sound, that cannot be read, and that have no checksum.
type Counts struct{ Sound, Bad, Unchecked uint64 }

// Verify reads everything at a path, or spec, and checks all lengths and checksums, to the end. Each fault goes to `fault`,
// which may be nil, and stops it with false. The error is the first fault, nil where all is sound; counts come with either.
func Verify(path string, fault func(part string, fault *Error) bool, options ...Option) (counts Counts, err error) {
	var f C.holdall_fault_fn
	var ctx unsafe.Pointer
	var told *callback
	if fault != nil {
		told = newCallback(fault)
		defer told.release()
		f, ctx = faultFunction(), told.ctx
	}
	err = withString("verify", path, func(path *C.char) error {
		_, err := withOptions("verify", options, func(o *C.holdall_options) error {
			return run("verify", func(c *call) C.holdall_status {
				c.numbers = [3]C.uint64_t{}
				n := &c.numbers
				status := C.holdall_verify(path, o, f, ctx, &n[0], &n[1], &n[2], &c.err)
				counts = Counts{uint64(n[0]), uint64(n[1]), uint64(n[2])}
				return status
			})
		})
		return err
	})
	if told != nil {
		err = because(err, told.cause())
	}
	return counts, err
}

// Repair brings what a crash, a full disk or another program left torn back to its last whole state, and tells how many
// records or chunks are there now, and how many are lost.
func Repair(path string, options ...Option) (kept, dropped uint64, err error) {
	err = withString("repair", path, func(path *C.char) error {
		_, err := withOptions("repair", options, func(o *C.holdall_options) error {
			return run("repair", func(c *call) C.holdall_status {
				c.numbers = [3]C.uint64_t{}
				status := C.holdall_repair(path, o, &c.numbers[0], &c.numbers[1], &c.err)
				kept, dropped = uint64(c.numbers[0]), uint64(c.numbers[1])
				return status
			})
		})
		return err
	})
	return kept, dropped, err
}
