package holdall

// Items of an array as numbers of Go's, and the box of them that is meant.

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"unsafe"
)

// Item is a type that items of an array can be read as. Bools are read as uint8, times and durations as int64, halves as
// uint16; what has no meaning (Caterva) as whatever has its size. For all else there are bytes.
type Item interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128
}

// Box is Count[d] items of each dimension d, from Start[d] on, Step[d] apart. What is nil is the beginning, all up to the
// end, and 1: Box{} is all there is.
type Box struct{ Start, Count, Step []uint64 }

// whole fills in what is nil, and sees to the lengths.
func (b Box) whole(op string, shape []uint64) (Box, error) {
	fill := func(n []uint64, value func(d int) uint64) []uint64 {
		if n == nil {
			n = make([]uint64, len(shape))
			for d := range n {
				n[d] = value(d)
			}
		}
		return n
	}
	b.Start = fill(b.Start, func(int) uint64 { return 0 })
	b.Step = fill(b.Step, func(int) uint64 { return 1 })
	if len(b.Start) == len(shape) && len(b.Step) == len(shape) {
		b.Count = fill(b.Count, func(d int) uint64 {
			if b.Start[d] >= shape[d] || b.Step[d] == 0 {
				return 0
			}
			return (shape[d]-b.Start[d]-1)/b.Step[d] + 1
		})
	}
	if len(b.Start) != len(shape) || len(b.Step) != len(shape) || len(b.Count) != len(shape) {
		return b, refused(op, ErrArgument, "a box of %d, %d and %d dimensions in an array of %d", len(b.Start), len(b.Count), len(b.Step), len(shape))
	}
	return b, nil
}

// Bytes is the memory of a slice, not a copy.
func Bytes[T Item](items []T) []byte {
	if len(items) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&items[0])), len(items)*int(unsafe.Sizeof(items[0])))
}

// Dtype is how NumPy spells a type of Go's on this machine: that of float64 is "<f8" on most.
func Dtype[T Item]() string {
	var item T
	order := "<"
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 0 {
		order = ">"
	}
	size := unsafe.Sizeof(item)
	if size == 1 {
		order = "|"
	}
	letter := "u"
	switch reflect.TypeOf(item).Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		letter = "i"
	case reflect.Float32, reflect.Float64:
		letter = "f"
	case reflect.Complex64, reflect.Complex128:
		letter = "c"
	}
	return fmt.Sprintf("%s%s%d", order, letter, size)
}

// fits tells whether a dtype is one that T is for.
func fits[T Item](op, dtype string) error {
	want := Dtype[T]()
	size := want[2:]
	switch {
	case dtype == want || dtype == "|V"+size || size == "1" && len(dtype) == 3 && dtype[1:] == want[1:]:
		return nil
	case want == "|u1" && (dtype == "|b1" || dtype == "<b1"):
		return nil
	case want[1:] == "u2" && dtype == want[:1]+"f2":
		return nil
	case want[1:] == "i8" && len(dtype) > 2 && dtype[0] == want[0] && (dtype[1:3] == "M8" || dtype[1:3] == "m8"):
		return nil
	}
	return refused(op, ErrType, "the items are %q, and %T is %q", dtype, *new(T), want)
}

// Read reads a box of an array.
func Read[T Item](a *Array, box Box) ([]T, error) {
	box, err := box.whole("read", a.Shape())
	if err != nil {
		return nil, err
	}
	n, err := product(a, box.Count)
	if err != nil {
		return nil, err
	}
	items := make([]T, n)
	return items, ReadInto(a, box, items)
}

// product is how many items there are in a box, which must be one of the array: it is about to be allocated.
func product(a *Array, count []uint64) (uint64, error) {
	n, shape := uint64(1), a.Shape()
	for d, c := range count {
		if d >= len(shape) || c > shape[d] {
			return 0, refused("read", ErrRange, "the box %v reaches beyond %v", count, shape)
		}
		high, low := bits.Mul64(n, c)
		if high != 0 || low > math.MaxInt64/uint64(a.ItemSize()+1) {
			return 0, refused("read", ErrLimit, "a box of %v items", count)
		}
		n = low
	}
	return n, nil
}

// ReadInto reads a box into a slice, which has room for it.
func ReadInto[T Item](a *Array, box Box, dst []T) error {
	if err := fits[T]("read", a.Dtype()); err != nil && a.open() {
		return err
	}
	return a.ReadBytes(box, Bytes(dst))
}

// Write writes a box.
func Write[T Item](a *Array, box Box, src []T) error {
	if err := fits[T]("write", a.Dtype()); err != nil && a.open() {
		return err
	}
	return a.WriteBytes(box, Bytes(src))
}

// AppendItems lets an array grow along an axis by as many places as these items are.
func AppendItems[T Item](a *Array, axis int, src []T) error {
	if err := fits[T]("append", a.Dtype()); err != nil && a.open() {
		return err
	}
	place, shape := uint64(1), a.Shape()
	for d, n := range shape {
		if d != axis {
			place *= n
		}
	}
	if axis < 0 || axis >= len(shape) || place == 0 || uint64(len(src))%place != 0 {
		return refused("append", ErrArgument, "%d items along axis %d of %v", len(src), axis, shape)
	}
	return a.AppendBytes(axis, uint64(len(src))/place, Bytes(src))
}

// ReadPoints reads single items: `coordinates` has as many numbers for each as there are dimensions.
func ReadPoints[T Item](a *Array, coordinates []uint64) ([]T, error) {
	if err := fits[T]("read", a.Dtype()); err != nil && a.open() {
		return nil, err
	}
	items := make([]T, len(coordinates)/maxInt(1, len(a.Shape())))
	err := a.ReadPointsBytes(coordinates, Bytes(items))
	return items, err
}

// ReadOrthogonal reads all combinations of positions of each dimension, nil for all of one.
func ReadOrthogonal[T Item](a *Array, positions [][]uint64) ([]T, error) {
	if err := fits[T]("read", a.Dtype()); err != nil && a.open() {
		return nil, err
	}
	n, shape := 1, a.Shape()
	for d, list := range positions {
		switch {
		case list != nil:
			n *= len(list)
		case d < len(shape):
			n *= int(shape[d])
		}
	}
	items := make([]T, n)
	err := a.ReadOrthogonalBytes(positions, Bytes(items))
	return items, err
}

func maxInt(a, b int) int {
	if a > b {
		return a
	}
	return b
}
