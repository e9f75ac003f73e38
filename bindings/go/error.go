package holdall

// Errors: the status codes of the library and the details of a failure.

// #include <holdall.h>
import "C"

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Status is the result of a call that failed, or ErrDamaged. It is an error for use with
// errors.Is.
type Status int32

// The failures, and ErrDamaged, which is returned together with a result. They correspond to
// HOLDALL_E_* and HOLDALL_DAMAGED in holdall.h.
const (
	ErrDamaged     Status = C.HOLDALL_DAMAGED // corrupt data was skipped (SkipDamaged)
	ErrArgument    Status = C.HOLDALL_E_ARGUMENT
	ErrInternal    Status = C.HOLDALL_E_INTERNAL
	ErrMemory      Status = C.HOLDALL_E_MEMORY
	ErrBuffer      Status = C.HOLDALL_E_BUFFER
	ErrIO          Status = C.HOLDALL_E_IO
	ErrMissing     Status = C.HOLDALL_E_MISSING
	ErrExists      Status = C.HOLDALL_E_EXISTS
	ErrFormat      Status = C.HOLDALL_E_FORMAT
	ErrChecksum    Status = C.HOLDALL_E_CHECKSUM
	ErrVersion     Status = C.HOLDALL_E_VERSION
	ErrCodec       Status = C.HOLDALL_E_CODEC
	ErrType        Status = C.HOLDALL_E_TYPE
	ErrRange       Status = C.HOLDALL_E_RANGE
	ErrState       Status = C.HOLDALL_E_STATE
	ErrLimit       Status = C.HOLDALL_E_LIMIT
	ErrCancelled   Status = C.HOLDALL_E_CANCELLED
	ErrCallback    Status = C.HOLDALL_E_CALLBACK
	ErrBusy        Status = C.HOLDALL_E_BUSY
	ErrUnsupported Status = C.HOLDALL_E_UNSUPPORTED
)

// String returns the name of the status in holdall.h, such as "HOLDALL_E_IO".
func (s Status) String() string { return C.GoString(C.holdall_status_name(C.holdall_status(s))) }

// Error returns the same name as String.
func (s Status) Error() string { return s.String() }

// Error describes a call that failed.
type Error struct {
	Op       string        // the operation, such as "read"
	Status   Status        // the status of the failure
	Errno    syscall.Errno // errno of the operating system, or 0
	Position int64         // index of the record or chunk that failed, or -1
	Message  string        // names the file and part, the expected and the found value
	Cause    error         // the error of a callback, or fs.ErrClosed
}

// Error returns the operation, the message and the name of the status.
func (e *Error) Error() string {
	return fmt.Sprintf("holdall: %s: %s (%s)", e.Op, e.Message, e.Status)
}

// Unwrap returns Cause, or Errno if Cause is nil and Errno is not 0.
func (e *Error) Unwrap() error {
	if e.Cause == nil && e.Errno != 0 {
		return e.Errno
	}
	return e.Cause
}

// Is reports whether target is the status of e. It also matches fs.ErrNotExist to ErrMissing and
// fs.ErrExist to ErrExists.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Status == ErrMissing
	case fs.ErrExist:
		return e.Status == ErrExists
	}
	s, is := target.(Status)
	return is && s == e.Status
}

// failure converts the result of a call to an error, or nil for HOLDALL_OK.
func failure(op string, status C.holdall_status, e *C.holdall_error) error {
	switch {
	case status == C.HOLDALL_OK:
		return nil
	case status > 0:
		return &Error{Op: op, Status: Status(status), Position: -1, Message: "corrupt data was skipped"}
	}
	return newError(op, e)
}

// newError copies a C error.
func newError(op string, e *C.holdall_error) *Error {
	return &Error{op, Status(e.status), syscall.Errno(e.os_code), int64(e.position),
		C.GoString(&e.message[0]), nil}
}

// refused returns an error for a call that was rejected before it reached the library.
func refused(op string, status Status, format string, arguments ...any) error {
	return &Error{Op: op, Status: status, Position: -1, Message: fmt.Sprintf(format, arguments...)}
}

// because adds the error of a callback, if there is one.
func because(err error, cause error) error {
	if e, is := err.(*Error); is && cause != nil {
		e.Cause = cause
		e.Message += ": " + cause.Error()
	}
	return err
}
