package holdall

// Values of any length: texts, bytes, and lists, structures and objects in MessagePack, for columns of
// CTables.

// #include <holdall.h>
import "C"

import (
	"strings"
	"unsafe"
)

// nullLength is the length that Values writes for a null.
const nullLength = ^uint64(0)

// lengthSize is the number of bytes of a length.
const lengthSize = 8

// Texts encodes texts for a column of dtype "T", to be passed to Append, Insert, Write or AddColumn
// of a Table. Values encodes texts some of which are null.
func Texts(values ...string) []byte { return encoded(values, func(string) bool { return false }) }

// Values encodes values of any length for a column, to be passed to Append, Insert, Write or
// AddColumn of a Table. nil is a null; an empty slice that is not nil is an empty value. A value of a
// column of dtype "T" is UTF-8. Those of other columns are bytes, or lists and structures in
// MessagePack. Each value is encoded as its length, 8 bytes in native byte order, all bits of which
// are set for a null, followed by its bytes.
func Values(values ...[]byte) []byte {
	return encoded(values, func(value []byte) bool { return value == nil })
}

func encoded[T string | []byte](values []T, isNull func(T) bool) []byte {
	size := 0
	for _, value := range values {
		size += lengthSize + len(value)
	}
	all := make([]byte, 0, size)
	for _, value := range values {
		length := uint64(len(value))
		if isNull(value) {
			length = nullLength
		}
		all = append(append(all, Bytes([]uint64{length})...), value...)
	}
	return all
}

// hasAnyLength reports whether the values of a column of this dtype have any length: of text, or of
// objects, in any spelling of NumPy.
func hasAnyLength(dtype string) bool {
	switch strings.Trim(dtype, "<>=|0123456789 ") {
	case "T", "O", "object", "object_":
		return true
	}
	return false
}

// rows returns the address and the size of count rows of a column in the form of C: src itself, or a C
// array if the values have any length.
func (a *arena) rows(op string, column Column, count uint64, src []byte) (unsafe.Pointer, C.size_t,
	error) {
	if hasAnyLength(column.Dtype) {
		return a.values(op, column.Name, count, src)
	}
	return start(src), C.size_t(len(src)), nil
}

// values returns a C array of count values of a column, and its size in bytes. src is the result of
// Texts or Values; it is copied.
func (a *arena) values(op, column string, count uint64, src []byte) (unsafe.Pointer, C.size_t, error) {
	var values []C.holdall_value
	data, length := a.bytes(src), []uint64{0}
	for at := 0; at < len(src); {
		start := at + copy(Bytes(length), src[at:])
		size := length[0]
		if size == nullLength {
			size = 0
		}
		if start-at < lengthSize || size > uint64(len(src)-start) {
			return nil, 0, refused(op, ErrArgument,
				"column %q: no encoded value at offset %d (expected the result of Texts or Values)", column,
				at)
		}
		value := C.holdall_value{size: C.size_t(size)}
		switch {
		case size > 0:
			value.data = unsafe.Add(data, start)
		case length[0] != nullLength:
			value.data = unsafe.Add(data, at) // not NULL, and in the memory even of the last value
		}
		values = append(values, value)
		at = start + int(size)
	}
	if uint64(len(values)) != count {
		return nil, 0, refused(op, ErrArgument, "column %q: %d values (expected %d, one for each row)",
			column, len(values), count)
	}
	n := len(values) * C.sizeof_holdall_value
	p := a.room(n)
	copy(unsafe.Slice((*C.holdall_value)(p), len(values)), values)
	return p, C.size_t(n), nil
}
