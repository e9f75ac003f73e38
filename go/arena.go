package holdall

// Memory of C's for one call: for pointers, which C must not find in memory of Go's.

// #include <stdlib.h>
// #include <string.h>
import "C"

import "unsafe"

// arena is what one call needs, all of it freed at once.
type arena struct{ all []unsafe.Pointer }

func (a *arena) free() {
	for _, p := range a.all {
		C.free(p)
	}
}

// room is n bytes of zeros, 1 at least.
func (a *arena) room(n int) unsafe.Pointer {
	if n == 0 {
		n = 1
	}
	p := C.malloc(C.size_t(n)) // cgo's never gives NULL
	C.memset(p, 0, C.size_t(n))
	a.all = append(a.all, p)
	return p
}

// bytes is a copy.
func (a *arena) bytes(b []byte) unsafe.Pointer {
	p := a.room(len(b))
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	return p
}

// pointers is room for n pointers, and for one at least, of which the slice has them all.
func (a *arena) pointers(n int) []unsafe.Pointer {
	if n == 0 {
		n = 1
	}
	return unsafe.Slice((*unsafe.Pointer)(a.room(n*int(unsafe.Sizeof(unsafe.Pointer(nil))))), n)
}
