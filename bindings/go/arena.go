package holdall

// C memory for the duration of one call. It holds pointers, which C must not read from Go memory.

// #include <stdlib.h>
// #include <string.h>
import "C"

import "unsafe"

// arena is the memory of one call, freed at once.
type arena struct{ all []unsafe.Pointer }

func (a *arena) free() {
	for _, p := range a.all {
		C.free(p)
	}
}

// room returns n bytes of zeros, at least 1.
func (a *arena) room(n int) unsafe.Pointer {
	if n == 0 {
		n = 1
	}
	p := C.malloc(C.size_t(n)) // cgo's malloc never returns NULL
	C.memset(p, 0, C.size_t(n))
	a.all = append(a.all, p)
	return p
}

// bytes returns a copy of b.
func (a *arena) bytes(b []byte) unsafe.Pointer {
	p := a.room(len(b))
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	return p
}

// pointers returns space for n pointers, at least 1; the slice has them all.
func (a *arena) pointers(n int) []unsafe.Pointer {
	if n == 0 {
		n = 1
	}
	return unsafe.Slice((*unsafe.Pointer)(a.room(n*int(unsafe.Sizeof(unsafe.Pointer(nil))))), n)
}
