package holdall

// C memory for the duration of one call. It holds pointers, which C must not read from Go memory.

// #include <stdint.h>
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

// text returns a copy of s as a C string. s must not contain a NUL byte: see checked.
func (a *arena) text(s string) *C.char { return (*C.char)(a.bytes(append([]byte(s), 0))) }

// texts returns C strings and a C array of them.
func (a *arena) texts(all []string) **C.char {
	p := a.pointers(len(all))
	for i, s := range all {
		p[i] = unsafe.Pointer(a.text(s))
	}
	return (**C.char)(unsafe.Pointer(&p[0]))
}

// lengths returns a copy of n, or NULL if n is nil.
func (a *arena) lengths(n []uint64) *C.uint64_t {
	if n == nil {
		return nil
	}
	return (*C.uint64_t)(a.bytes(Bytes(n)))
}

// pointers returns space for n pointers, at least 1; the slice has them all.
func (a *arena) pointers(n int) []unsafe.Pointer {
	if n == 0 {
		n = 1
	}
	return unsafe.Slice((*unsafe.Pointer)(a.room(n*int(unsafe.Sizeof(unsafe.Pointer(nil))))), n)
}
