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
	KindStore  Kind = C.HOLDALL_KIND_STORE
)

// String returns the name of the kind, such as "array".
func (k Kind) String() string { return constantName(int32(k)) }

// Identify returns the format and kind of the container at a path or spec, by its content.
// Errors: ErrFormat for an unknown format, ErrMissing if nothing exists there.
func Identify(path string) (format Format, kind Kind, err error) {
	err = withString("identify", path, func(path *C.char) error {
		return run("identify", func(c *call) C.holdall_status {
			f := (*C.holdall_format)(unsafe.Pointer(&c.numbers[0]))
			k := (*C.holdall_kind)(unsafe.Pointer(&c.numbers[1]))
			status := C.holdall_identify(path, f, k, &c.err)
			format, kind = Format(*f), Kind(*k)
			return status
		})
	})
	return format, kind, err
}

// VerifyResult is the result of Verify, in records or chunks: Intact, Corrupt (or missing), and
// Unchecked, which have no checksum that applies, or an unknown codec, filter or version.
type VerifyResult struct{ Intact, Corrupt, Unchecked uint64 }

// Verify reads everything at a path or spec and verifies all lengths and checksums. It calls
// fault, which may be nil, for each fault; part is "record N", "chunk N", a column or the path.
// If fault returns false, Verify stops.
//
// The error is nil if the container is intact, else the first fault. The result is valid in both
// cases, but not with ErrCancelled, ErrBusy, or ErrArgument for an option. Corrupt may be 0 if
// headers or metadata are corrupt: check the error.
func Verify(path string, fault func(part string, fault *Error) bool,
	options ...Option) (result VerifyResult, err error) {
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
				r := C.holdall_verify_result{}
				r.struct_size = C.sizeof_holdall_verify_result
				status := C.holdall_verify(path, o, f, ctx, &r, &c.err)
				result = VerifyResult{uint64(r.intact), uint64(r.corrupt), uint64(r.unchecked)}
				return status
			})
		})
		return err
	})
	if reporter != nil {
		err = because(err, reporter.cause())
	}
	return result, err
}

// RepairResult is the result of Repair, in records or chunks: those that were retained, and those
// that were lost, also metadata, names and columns. PartsRemoved is the number of parts that were
// never committed: see Part.
type RepairResult struct{ Retained, Lost, PartsRemoved uint64 }

// Repair completes or rolls back an interrupted change and restores the last consistent state of
// a container. Intact records and chunks keep their positions. DryRun changes nothing.
func Repair(path string, options ...Option) (result RepairResult, err error) {
	err = withString("repair", path, func(path *C.char) error {
		_, err := withOptions("repair", options, func(o *C.holdall_options) error {
			return run("repair", func(c *call) C.holdall_status {
				r := C.holdall_repair_result{}
				r.struct_size = C.sizeof_holdall_repair_result
				status := C.holdall_repair(path, o, &r, &c.err)
				result = RepairResult{uint64(r.retained), uint64(r.lost), uint64(r.parts_removed)}
				return status
			})
		})
		return err
	})
	return result, err
}
