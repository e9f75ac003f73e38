// Package holdall reads and writes chunked, compressed containers: bags of records (Bagz), superchunks and arrays
// (Bloscpack, Blosc2 with b2nd and Caterva), and the arrays and tables of bcolz and BLZ. It is the C library of that
// name, found by pkg-config; the rules are those of its header, holdall.h, as far as Go has not its own:
//
//   - Whatever is opened has Close, which is safe at any moment and any number of times. Calls that are under way end
//     as if nothing had happened, later ones fail with an error that is fs.ErrClosed; those that cannot fail give 0.
//     What nobody closed is closed when it is collected as garbage, which is a safety net and no habit.
//   - Everything may be used by any number of goroutines, on any thread. Calls that change something wait for each other;
//     a handle that was opened to be read never makes anybody wait. A Stream gives each record to one of those who take.
//   - Nothing counts before Commit, and closing without it leaves what the last commit left.
//   - An error is an *Error, with the Status, the number of the record or chunk, and errno. errors.Is takes a Status
//     (holdall.ErrChecksum), fs.ErrNotExist, fs.ErrExist, fs.ErrClosed and syscall.Errno.
//   - Where SkipDamaged is set and something was damaged, the result is there and the error is ErrSkipped.
//   - No memory of Go's is kept by C beyond a call. Records alone are memory of C's, without a copy: their bytes are gone
//     when they are closed. Everything else that comes back is Go's own.
//   - Functions that are handed in must not use what they are called for, but may close it. What panics there comes
//     back as an error.
package holdall

// #cgo pkg-config: holdall
// #include <holdall.h>
// #include <stdlib.h>
import "C"

// Version tells the versions of the library that is running and of its codecs.
func Version() string { return C.GoString(C.holdall_version_text()) }
