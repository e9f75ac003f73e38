// Package holdall reads and writes chunked, compressed containers: bags of records (Bagz),
// superchunks and arrays (Bloscpack, Blosc2 with b2nd and Caterva), and the arrays and tables of
// bcolz and BLZ. It calls the C library holdall, which pkg-config must find. The header holdall.h
// documents the contracts of all functions. These rules are specific to Go:
//
//   - Every handle has Close, which may be called at any time and repeatedly. Calls in progress
//     complete normally. Later calls return an error that matches fs.ErrClosed; functions without
//     an error result return 0 or an empty value. The garbage collector closes a handle that the
//     program has not closed. Programs should not rely on this.
//   - Any number of goroutines may use one handle, on any thread. Calls that change a container,
//     and Refresh, wait for each other and for reads through the same handle. Reads never wait for
//     each other. A Stream gives each record to exactly one of the goroutines that take from it.
//   - Changes are durable and visible only after Commit. Closing a handle without Commit leaves
//     the container at the last commit.
//   - An error of the library is an *Error with the Status, the index of the record or chunk, and
//     errno. errors.Is accepts a Status (such as holdall.ErrChecksum), fs.ErrNotExist,
//     fs.ErrExist, fs.ErrClosed and syscall.Errno.
//   - If SkipDamaged is set and corrupt data was skipped, a function returns its result together
//     with an error of status ErrDamaged.
//   - The option UseStorage replaces the path, which must then be "".
//   - C does not retain pointers to Go memory after a call. Only Records refers to C memory,
//     without a copy: its bytes are invalid after Records.Close. All other results are Go memory.
//   - A callback must not use the handle that it is called for, but may close it. A panic in a
//     callback is returned as an error.
package holdall

// #cgo pkg-config: holdall
// #include <holdall.h>
// #include <stdlib.h>
import "C"

// Version returns the versions of the running library and its codecs, such as "0.2.0 zstd/1.5.7".
func Version() string { return C.GoString(C.holdall_version_text()) }
