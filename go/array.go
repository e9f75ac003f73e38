package holdall

// Arrays: items of one type in a grid. What is read and written here are bytes; items.go has them typed.

// #include <holdall.h>
// #include <stdlib.h>
import "C"

import "unsafe"

// Array is an open array, or a column of a table.
type Array struct {
	*handle
	column *column // nil: it is none
}

func freeArray(p unsafe.Pointer) { C.holdall_array_close((*C.holdall_array)(p)) }

func array(op, path string, mode Mode, options []Option, f func(path *C.char, o *C.holdall_options, out **C.holdall_array, c *call) C.holdall_status) (*Array, error) {
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, freeArray, mode != ReadOnly, func(o *C.holdall_options, c *call) C.holdall_status {
			return f(path, o, (**C.holdall_array)(unsafe.Pointer(&c.out)), c)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Array{h, nil}, nil
}

// OpenArray opens an array, ReadOnly or to Append and change.
func OpenArray(path string, mode Mode, options ...Option) (*Array, error) {
	return array("open an array", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_open(path, C.holdall_mode(mode), o, out, &c.err)
	})
}

// Grid is a shape, and the shapes of chunks and blocks, nil for what the library chooses.
type Grid struct{ Shape, Chunks, Blocks []uint64 }

// CreateArray makes an array of zeros of a dtype as NumPy spells it, "<f8" say, New or Replace.
func CreateArray(path string, mode Mode, format Format, dtype string, grid Grid, options ...Option) (*Array, error) {
	const op = "create an array"
	for _, shape := range [][]uint64{grid.Chunks, grid.Blocks} {
		if shape != nil && len(shape) != len(grid.Shape) {
			return nil, refused(op, ErrArgument, "shapes of %d and %d dimensions", len(grid.Shape), len(shape))
		}
	}
	if grid.Shape == nil {
		grid.Shape = []uint64{}
	}
	var a *Array
	err := withString(op, dtype, func(dtype *C.char) (err error) {
		a, err = array(op, path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_create(path, C.holdall_mode(mode), C.holdall_format(format), dtype, C.uint32_t(len(grid.Shape)),
				numbers(grid.Shape), numbers(grid.Chunks), numbers(grid.Blocks), o, out, &c.err)
		})
		return err
	})
	return a, err
}

// view and change make a call with the array itself, of a column with that which its table has now.
func (a *Array) view(op string, f func(a *C.holdall_array, c *call) C.holdall_status) error {
	return a.handle.view(op, func(p unsafe.Pointer, c *call) C.holdall_status {
		if a.column == nil {
			return f((*C.holdall_array)(p), c)
		}
		return a.column.with((*C.holdall_table)(p), c, f)
	})
}

func (a *Array) change(op string, f func(a *C.holdall_array, e *C.holdall_error) C.holdall_status) error {
	if a.column != nil {
		return refused(op, ErrState, "a column is changed by way of its table")
	}
	return a.handle.change(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f((*C.holdall_array)(p), &c.err) })
}

// Close closes it; a column stays open as long as its table is.
func (a *Array) Close() error {
	if a.column != nil {
		return nil
	}
	return a.handle.Close()
}

func (a *Array) look(f func(a *C.holdall_array)) {
	_ = a.view("", func(a *C.holdall_array, _ *call) C.holdall_status {
		f(a)
		return C.HOLDALL_OK
	})
}

func (a *Array) shape(f func(a *C.holdall_array) *C.uint64_t) (shape []uint64) {
	a.look(func(a *C.holdall_array) {
		shape = append([]uint64{}, unsafe.Slice((*uint64)(f(a)), int(C.holdall_array_ndim(a)))...)
	})
	return shape
}

// Shape is how many items it has along each dimension; nil when it is closed.
func (a *Array) Shape() []uint64 {
	return a.shape(func(a *C.holdall_array) *C.uint64_t { return C.holdall_array_shape(a) })
}

// ChunkShape is that of a chunk.
func (a *Array) ChunkShape() []uint64 {
	return a.shape(func(a *C.holdall_array) *C.uint64_t { return C.holdall_array_chunkshape(a) })
}

// BlockShape is that of a block, the least that is decoded for an item.
func (a *Array) BlockShape() []uint64 {
	return a.shape(func(a *C.holdall_array) *C.uint64_t { return C.holdall_array_blockshape(a) })
}

// Dtype is the type of its items, as NumPy spells it.
func (a *Array) Dtype() (dtype string) {
	a.look(func(a *C.holdall_array) { dtype = C.GoString(C.holdall_array_dtype(a)) })
	return dtype
}

// ItemSize is how many bytes an item has.
func (a *Array) ItemSize() (n int) {
	a.look(func(a *C.holdall_array) { n = int(C.holdall_array_itemsize(a)) })
	return n
}

// Fortran tells whether the items are stored so that the first index runs fastest; buffers never are.
func (a *Array) Fortran() (is bool) {
	a.look(func(a *C.holdall_array) { is = C.holdall_array_order(a) == C.HOLDALL_ORDER_F })
	return is
}

// Bytes is that of all items.
func (a *Array) Bytes() (n uint64) {
	a.look(func(a *C.holdall_array) { n = uint64(C.holdall_array_nbytes(a)) })
	return n
}

// StoredBytes is what the last commit has on disk, about.
func (a *Array) StoredBytes() (n uint64) {
	a.look(func(a *C.holdall_array) { n = uint64(C.holdall_array_cbytes(a)) })
	return n
}

// ReadBytes reads a box to dst, packed, in C order.
func (a *Array) ReadBytes(box Box, dst []byte) error {
	box, err := box.whole("read", a.Shape())
	if err != nil {
		return err
	}
	return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_read(a, numbers(box.Start), numbers(box.Count), numbers(box.Step), start(dst), nil, C.size_t(len(dst)), &c.err)
	})
}

// WriteBytes writes a box from src, packed, in C order.
func (a *Array) WriteBytes(box Box, src []byte) error {
	box, err := box.whole("write", a.Shape())
	if err != nil {
		return err
	}
	return a.change("write", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_write(a, numbers(box.Start), numbers(box.Count), numbers(box.Step), start(src), nil, C.size_t(len(src)), e)
	})
}

// lists lends C a list of positions for each dimension, nil for all of them: in memory of C's, as it is of pointers.
func lists(op string, shape []uint64, positions [][]uint64, f func(lists **C.uint64_t, counts []uint64) error) error {
	if len(positions) != len(shape) {
		return refused(op, ErrArgument, "%d lists of positions for %d dimensions", len(positions), len(shape))
	}
	room := arena{}
	defer room.free()
	counts := make([]uint64, len(shape))
	pointers := room.pointers(len(shape))
	for d, list := range positions {
		counts[d] = uint64(len(list))
		if list != nil {
			pointers[d] = room.bytes(Bytes(list))
		} else {
			counts[d] = shape[d]
		}
	}
	return f((**C.uint64_t)(unsafe.Pointer(&pointers[0])), counts)
}

// ReadOrthogonalBytes reads all combinations of positions of each dimension, nil for all of one, as numpy.ix_ does.
func (a *Array) ReadOrthogonalBytes(positions [][]uint64, dst []byte) error {
	return lists("read", a.Shape(), positions, func(lists **C.uint64_t, counts []uint64) error {
		return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_read_orthogonal(a, lists, numbers(counts), start(dst), C.size_t(len(dst)), &c.err)
		})
	})
}

// WriteOrthogonalBytes writes them.
func (a *Array) WriteOrthogonalBytes(positions [][]uint64, src []byte) error {
	return lists("write", a.Shape(), positions, func(lists **C.uint64_t, counts []uint64) error {
		return a.change("write", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_write_orthogonal(a, lists, numbers(counts), start(src), C.size_t(len(src)), e)
		})
	})
}

// ReadPointsBytes reads single items: `coordinates` has as many numbers for each as there are dimensions.
func (a *Array) ReadPointsBytes(coordinates []uint64, dst []byte) error {
	ndim := len(a.Shape())
	if ndim == 0 || len(coordinates)%ndim != 0 {
		return refused("read", ErrArgument, "%d coordinates in %d dimensions", len(coordinates), ndim)
	}
	if coordinates == nil {
		coordinates = []uint64{}
	}
	return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_read_points(a, numbers(coordinates), C.size_t(len(coordinates)/ndim), start(dst), C.size_t(len(dst)), &c.err)
	})
}

// AppendBytes lets it grow by n places along an axis, InsertBytes before place `at`. They are given packed, in C order.
func (a *Array) AppendBytes(axis int, n uint64, src []byte) error {
	return a.change("append", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_append(a, C.uint32_t(axis), C.uint64_t(n), start(src), C.size_t(len(src)), e)
	})
}

// InsertBytes puts n places before place `at` of an axis.
func (a *Array) InsertBytes(axis int, at, n uint64, src []byte) error {
	return a.change("insert", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_insert(a, C.uint32_t(axis), C.uint64_t(at), C.uint64_t(n), start(src), C.size_t(len(src)), e)
	})
}

// Remove takes n places from `at` on of an axis away.
func (a *Array) Remove(axis int, at, n uint64) error {
	return a.change("remove", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_remove(a, C.uint32_t(axis), C.uint64_t(at), C.uint64_t(n), e)
	})
}

// Resize gives it another shape: what is new is what Fill has, or zeros.
func (a *Array) Resize(shape []uint64) error {
	if ndim := len(a.Shape()); len(shape) != ndim {
		return refused("resize", ErrArgument, "a shape of %d dimensions for %d", len(shape), ndim)
	}
	return a.change("resize", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_resize(a, numbers(shape), e)
	})
}

// Commit makes all changes durable and visible together.
func (a *Array) Commit() error {
	return a.change("commit", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status { return C.holdall_array_commit(a, e) })
}

// Copy writes the array into a new container; chunks and blocks nil: as the library chooses.
func (a *Array) Copy(path string, mode Mode, format Format, chunks, blocks []uint64, options ...Option) error {
	ndim := len(a.Shape())
	if chunks != nil && len(chunks) != ndim || blocks != nil && len(blocks) != ndim {
		return refused("copy", ErrArgument, "chunks of %d and blocks of %d dimensions for %d", len(chunks), len(blocks), ndim)
	}
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return a.view("copy", func(a *C.holdall_array, c *call) C.holdall_status {
				return C.holdall_array_copy(a, path, C.holdall_mode(mode), C.holdall_format(format), numbers(chunks), numbers(blocks), o, &c.err)
			})
		})
		return err
	})
}

// open tells whether it is: where it is not, that is what is wrong.
func (a *Array) open() bool {
	return a.view("", func(*C.holdall_array, *call) C.holdall_status { return C.HOLDALL_OK }) == nil
}
