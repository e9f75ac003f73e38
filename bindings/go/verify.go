package holdall

// Identification, verification and repair of containers.

// #include <holdall.h>
import "C"

import "unsafe"

// Kind is the kind of a container.
type Kind int32

// The kinds.
const (
	KindSchunk Kind = C.HOLDALL_KIND_SCHUNK
	KindArray  Kind = C.HOLDALL_KIND_ARRAY
	KindTable  Kind = C.HOLDALL_KIND_TABLE
	KindBag    Kind = C.HOLDALL_KIND_BAG
)

// Identify returns the format and kind of the container at a path or spec, by its content.
// Errors: ErrFormat for an unknown format, ErrMissing if nothing exists there.
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

// Counts is the result of Verify, in records or chunks: Sound are intact, Bad are corrupt or
// missing, and Unchecked have no checksum that applies or an unknown codec, filter or version.
type Counts struct{ Sound, Bad, Unchecked uint64 }

// Verify reads everything at a path or spec and verifies all lengths and checksums. It calls
// fault, which may be nil, for each fault; part is "record N", "chunk N", a column or the path.
// If fault returns false, Verify stops.
//
// The error is nil if the container is intact, else the first fault. The counts are valid in both
// cases, but not with ErrCancelled, ErrBusy, or ErrArgument for an option. Bad may be 0 if
// headers or metadata are corrupt: check the error.
func Verify(path string, fault func(part string, fault *Error) bool, options ...Option) (counts Counts, err error) {
	var f C.holdall_fault_fn
	var ctx unsafe.Pointer
	var reporter *callback
	if fault != nil {
		reporter = newCallback(fault)
		defer reporter.release()
		f, ctx = faultFunction(), reporter.ctx
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
	if reporter != nil {
		err = because(err, reporter.cause())
	}
	return counts, err
}

// Repair completes or rolls back an interrupted change and restores the last consistent state of
// a container. Intact records and chunks keep their positions. It returns how many records or
// chunks the container now has, and how many were lost. DryRun changes nothing.
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
