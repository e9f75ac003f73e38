package holdall

// What a failure is: a status of the library's, and the rest of what it says.

// #include <holdall.h>
import "C"

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Status is what a call returned. It is an error, to be asked for with errors.Is.
type Status int32

// The failures, and ErrSkipped, with which a result comes. The header tells of each.
const (
	ErrSkipped     Status = C.HOLDALL_NOT_FOUND // what is damaged was left out, as SkipDamaged wished
	ErrArgument    Status = C.HOLDALL_E_ARGUMENT
	ErrPanic       Status = C.HOLDALL_E_PANIC
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

// String is the name that the header has for it.
func (s Status) String() string { return C.GoString(C.holdall_status_name(C.holdall_status(s))) }

// Error is the same.
func (s Status) Error() string { return s.String() }

// Error is a call that failed.
type Error struct {
	Op       string        // the call, such as "read"
	Status   Status        // which failure
	Errno    syscall.Errno // of the operating system, or 0
	Position int64         // the record or chunk, as the caller counts them, or -1
	Message  string        // which file, which part, what was expected, what was there
	Cause    error         // what a function of the caller's failed with, or fs.ErrClosed
}

func (e *Error) Error() string {
	return fmt.Sprintf("holdall: %s: %s (%s)", e.Op, e.Message, e.Status)
}

// Unwrap gives the cause, or errno.
func (e *Error) Unwrap() error {
	if e.Cause == nil && e.Errno != 0 {
		return e.Errno
	}
	return e.Cause
}

// Is knows a Status, and what package fs says of files.
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

// failure makes an error of what a call returned; nil where it is done.
func failure(op string, status C.holdall_status, e *C.holdall_error) error {
	switch {
	case status == C.HOLDALL_OK:
		return nil
	case status > 0:
		return &Error{Op: op, Status: Status(status), Position: -1, Message: "what is damaged was left out"}
	}
	return told(op, e)
}

// told makes an error of its words.
func told(op string, e *C.holdall_error) *Error {
	return &Error{op, Status(e.status), syscall.Errno(e.os_code), int64(e.position), C.GoString(&e.message[0]), nil}
}

// refused is a call that never came to the library.
func refused(op string, status Status, format string, arguments ...any) error {
	return &Error{Op: op, Status: status, Position: -1, Message: fmt.Sprintf(format, arguments...)}
}

// because adds the error of a function of the caller's, if it had one.
func because(err error, cause error) error {
	if e, is := err.(*Error); is && cause != nil {
		e.Cause = cause
		e.Message += ": " + cause.Error()
	}
	return err
}
