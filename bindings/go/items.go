package holdall

// Typed items of arrays, and boxes.

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"unsafe"
)

// Item is a type that the items of an array can have in Go. bool items are read as uint8,
// datetime64 and timedelta64 as int64, float16 as uint16. Items without a dtype (Caterva) are
// read as any type of their size. Use the methods for bytes for all other dtypes.
type Item interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// Box selects, along each dimension d, Count[d] items from Start[d] on, Step[d] apart. If Start
// is nil, the box begins at 0; if Count is nil, it extends to the end; if Step is nil, the step
// is 1. Box{} is the whole array.
type Box struct{ Start, Count, Step []uint64 }

// whole replaces nil fields by their defaults and checks the number of dimensions.
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
		return b, refused(op, ErrArgument,
			"start, count and step of the box have %d, %d and %d dimensions (expected %d)",
			len(b.Start), len(b.Count), len(b.Step), len(shape))
	}
	return b, nil
}

// Bytes returns the memory of a slice as bytes, without a copy.
func Bytes[T Item](items []T) []byte {
	if len(items) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&items[0])), len(items)*int(unsafe.Sizeof(items[0])))
}

// Dtype returns the NumPy dtype of a Go type on this machine, such as "<f8" for float64 on
// little-endian machines.
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

// fits returns an error unless items of this dtype can be read as T.
func fits[T Item](op, dtype string) error {
	want := Dtype[T]()
	size := want[2:]
	switch {
	case dtype == want || dtype == "|V"+size || size == "1" && len(dtype) == 3 &&
		dtype[1:] == want[1:]:
		return nil
	case want == "|u1" && (dtype == "|b1" || dtype == "<b1"):
		return nil
	case want[1:] == "u2" && dtype == want[:1]+"f2":
		return nil
	case want[1:] == "i8" && len(dtype) > 2 && dtype[0] == want[0] &&
		(dtype[1:3] == "M8" || dtype[1:3] == "m8"):
		return nil
	}
	return refused(op, ErrType, "the array has dtype %q, but %T is %q", dtype, *new(T), want)
}

// Read returns the items of a box, in C order. Errors: ErrType if T does not match the dtype of
// the array; ErrRange if the box is outside the array.
func Read[T Item](a *Array, box Box) (items []T, err error) {
	err = a.stable(func() error {
		items = nil
		box, err := box.whole("read", a.Shape())
		if err != nil {
			return err
		}
		n, err := product(a, box.Count)
		if err != nil {
			return err
		}
		items = make([]T, n)
		return ReadInto(a, box, items)
	})
	return items, err
}

// product returns the number of items in a box. It checks the box against the shape, because the
// caller allocates the items.
func product(a *Array, count []uint64) (uint64, error) {
	n, shape := uint64(1), a.Shape()
	for d, c := range count {
		if d >= len(shape) || c > shape[d] {
			return 0, refused("read", ErrRange, "the counts %v exceed the shape %v", count, shape)
		}
		high, low := bits.Mul64(n, c)
		if high != 0 || low > math.MaxInt64/uint64(a.Itemsize()+1) {
			return 0, refused("read", ErrLimit, "a box of %v items is too large", count)
		}
		n = low
	}
	return n, nil
}

// ReadInto reads a box into dst, which must be large enough. Errors: as for Read; ErrBuffer if
// dst is too small.
func ReadInto[T Item](a *Array, box Box, dst []T) error {
	return a.stable(func() error {
		if err := fits[T]("read", a.Dtype()); err != nil && a.open() {
			return err
		}
		return a.ReadBytes(box, Bytes(dst))
	})
}

// Write writes the items of a box, in C order. Errors: ErrType if T does not match the dtype of
// the array; ErrRange if the box is outside the array.
func Write[T Item](a *Array, box Box, src []T) error {
	if err := fits[T]("write", a.Dtype()); err != nil && a.open() {
		return err
	}
	return a.WriteBytes(box, Bytes(src))
}

// AppendItems appends items, in C order, to dimension axis. They must fill whole positions along
// that axis.
func AppendItems[T Item](a *Array, axis int, src []T) error {
	if err := fits[T]("append", a.Dtype()); err != nil && a.open() {
		return err
	}
	perPosition, shape := uint64(1), a.Shape()
	for d, n := range shape {
		if d != axis {
			perPosition *= n
		}
	}
	if axis < 0 || axis >= len(shape) || perPosition == 0 || uint64(len(src))%perPosition != 0 {
		return refused("append", ErrArgument,
			"%d items do not fill whole positions along axis %d of shape %v", len(src), axis, shape)
	}
	return a.AppendBytes(axis, uint64(len(src))/perPosition, Bytes(src))
}

// ReadPoints returns single items. coordinates has one number per dimension for each item.
func ReadPoints[T Item](a *Array, coordinates []uint64) (items []T, err error) {
	err = a.stable(func() error {
		items = nil
		if err := fits[T]("read", a.Dtype()); err != nil && a.open() {
			return err
		}
		items = make([]T, len(coordinates)/maxInt(1, len(a.Shape())))
		return a.ReadPointsBytes(coordinates, Bytes(items))
	})
	return items, err
}

// ReadOrthogonal returns all combinations of positions of each dimension, in C order. A nil list
// stands for the whole dimension.
func ReadOrthogonal[T Item](a *Array, positions [][]uint64) (items []T, err error) {
	err = a.stable(func() error {
		items = nil
		if err := fits[T]("read", a.Dtype()); err != nil && a.open() {
			return err
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
		items = make([]T, n)
		return a.ReadOrthogonalBytes(positions, Bytes(items))
	})
	return items, err
}

func maxInt(a, b int) int {
	if a > b {
		return a
	}
	return b
}
