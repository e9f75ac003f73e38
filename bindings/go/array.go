package holdall

// Arrays: items of one dtype in N dimensions. The methods read and write bytes; items.go has
// typed functions.

// #include <holdall.h>
// #include <stdlib.h>
import "C"

import "unsafe"

// Array is an open array, or a column of a table.
type Array struct {
	*handle
	column *column // nil if the array is not a column
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

// OpenArray opens an array at its last commit: ReadOnly to read, Append to read and change.
// Errors: ErrType if the container is not an array; ErrBusy if another writer is active.
func OpenArray(path string, mode Mode, options ...Option) (*Array, error) {
	return array("open an array", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_open(path, C.holdall_mode(mode), o, out, &c.err)
	})
}

// Grid is the shape of an array and of its chunks and blocks, in items per dimension. If Chunks
// or Blocks is nil, the library chooses it.
type Grid struct{ Shape, Chunks, Blocks []uint64 }

// CreateArray creates an array of zeros (see the option Fill) and opens it for changes. mode is
// New or Replace; dtype is as in NumPy, such as "<f8". Errors: ErrExists if mode is New and the
// path exists; ErrType for an unknown dtype.
func CreateArray(path string, mode Mode, format Format, dtype string, grid Grid, options ...Option) (*Array, error) {
	const op = "create an array"
	for _, shape := range [][]uint64{grid.Chunks, grid.Blocks} {
		if shape != nil && len(shape) != len(grid.Shape) {
			return nil, refused(op, ErrArgument, "the shape has %d dimensions, but chunks or blocks have %d", len(grid.Shape), len(shape))
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

// view makes a call that does not change the array. For a column it gets the array from the table.
func (a *Array) view(op string, f func(a *C.holdall_array, c *call) C.holdall_status) error {
	return a.handle.view(op, func(p unsafe.Pointer, c *call) C.holdall_status {
		if a.column == nil {
			return f((*C.holdall_array)(p), c)
		}
		return a.column.with((*C.holdall_table)(p), c, f)
	})
}

// change makes a call that changes the array. It returns ErrState for a column.
func (a *Array) change(op string, f func(a *C.holdall_array, e *C.holdall_error) C.holdall_status) error {
	if a.column != nil {
		return refused(op, ErrState, "a column cannot be changed directly; change it through its table")
	}
	return a.handle.change(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f((*C.holdall_array)(p), &c.err) })
}

// Close closes the array; uncommitted changes are discarded. It has no effect on a column, which
// stays open until its table is closed.
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

// Shape returns the number of items along each dimension, or nil if the array is closed.
func (a *Array) Shape() []uint64 {
	return a.shape(func(a *C.holdall_array) *C.uint64_t { return C.holdall_array_shape(a) })
}

// ChunkShape returns the shape of a chunk, in items.
func (a *Array) ChunkShape() []uint64 {
	return a.shape(func(a *C.holdall_array) *C.uint64_t { return C.holdall_array_chunkshape(a) })
}

// BlockShape returns the shape of a block, in items. A block is the smallest unit that is
// decoded.
func (a *Array) BlockShape() []uint64 {
	return a.shape(func(a *C.holdall_array) *C.uint64_t { return C.holdall_array_blockshape(a) })
}

// Dtype returns the type of the items as in NumPy.
func (a *Array) Dtype() (dtype string) {
	a.look(func(a *C.holdall_array) { dtype = C.GoString(C.holdall_array_dtype(a)) })
	return dtype
}

// ItemSize returns the bytes per item, which may be 0.
func (a *Array) ItemSize() (n int) {
	a.look(func(a *C.holdall_array) { n = int(C.holdall_array_itemsize(a)) })
	return n
}

// Fortran reports whether items are stored with the first index varying fastest. Buffers are
// always in C order.
func (a *Array) Fortran() (is bool) {
	a.look(func(a *C.holdall_array) { is = C.holdall_array_order(a) == C.HOLDALL_ORDER_F })
	return is
}

// Bytes returns the bytes of all items.
func (a *Array) Bytes() (n uint64) {
	a.look(func(a *C.holdall_array) { n = uint64(C.holdall_array_nbytes(a)) })
	return n
}

// StoredBytes returns the size on disk in bytes at the last commit. In folders of bcolz and BLZ
// it is an estimate.
func (a *Array) StoredBytes() (n uint64) {
	a.look(func(a *C.holdall_array) { n = uint64(C.holdall_array_cbytes(a)) })
	return n
}

// ReadBytes reads a box into dst, packed, in C order. Errors: ErrBuffer if dst is too small;
// ErrRange if the box is outside the array.
func (a *Array) ReadBytes(box Box, dst []byte) error {
	box, err := box.whole("read", a.Shape())
	if err != nil {
		return err
	}
	return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_read(a, numbers(box.Start), numbers(box.Count), numbers(box.Step), start(dst), nil, C.size_t(len(dst)), &c.err)
	})
}

// WriteBytes writes a box from src, packed, in C order. Errors: as for ReadBytes. After another
// error a part may be written.
func (a *Array) WriteBytes(box Box, src []byte) error {
	box, err := box.whole("write", a.Shape())
	if err != nil {
		return err
	}
	return a.change("write", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_write(a, numbers(box.Start), numbers(box.Count), numbers(box.Step), start(src), nil, C.size_t(len(src)), e)
	})
}

// lists calls f with a C copy of the positions of each dimension; nil stands for the whole
// dimension.
func lists(op string, shape []uint64, positions [][]uint64, f func(lists **C.uint64_t, counts []uint64) error) error {
	if len(positions) != len(shape) {
		return refused(op, ErrArgument, "%d lists of positions (expected %d, one per dimension)", len(positions), len(shape))
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

// ReadOrthogonalBytes reads all combinations of positions of each dimension, as numpy.ix_ does,
// into dst, packed, in C order. A nil list stands for the whole dimension. Errors: ErrRange if a
// position is past the end.
func (a *Array) ReadOrthogonalBytes(positions [][]uint64, dst []byte) error {
	return lists("read", a.Shape(), positions, func(lists **C.uint64_t, counts []uint64) error {
		return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_read_orthogonal(a, lists, numbers(counts), start(dst), C.size_t(len(dst)), &c.err)
		})
	})
}

// WriteOrthogonalBytes writes all combinations of positions from src: see ReadOrthogonalBytes. Of
// a repeated position the last value is stored.
func (a *Array) WriteOrthogonalBytes(positions [][]uint64, src []byte) error {
	return lists("write", a.Shape(), positions, func(lists **C.uint64_t, counts []uint64) error {
		return a.change("write", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_write_orthogonal(a, lists, numbers(counts), start(src), C.size_t(len(src)), e)
		})
	})
}

// ReadPointsBytes reads single items into dst, packed. coordinates has one number per dimension
// for each item. Errors: ErrRange, with Position, if an item is outside the array.
func (a *Array) ReadPointsBytes(coordinates []uint64, dst []byte) error {
	ndim := len(a.Shape())
	if ndim == 0 || len(coordinates)%ndim != 0 {
		return refused("read", ErrArgument, "%d coordinates for an array of %d dimensions", len(coordinates), ndim)
	}
	if coordinates == nil {
		coordinates = []uint64{}
	}
	return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_read_points(a, numbers(coordinates), C.size_t(len(coordinates)/ndim), start(dst), C.size_t(len(dst)), &c.err)
	})
}

// AppendBytes appends n positions to dimension axis. src holds the new items, packed, in C order.
// After an error nothing is appended.
func (a *Array) AppendBytes(axis int, n uint64, src []byte) error {
	return a.change("append", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_append(a, C.uint32_t(axis), C.uint64_t(n), start(src), C.size_t(len(src)), e)
	})
}

// InsertBytes inserts n positions into dimension axis before position at. src holds the new
// items, packed, in C order. After an error nothing is inserted.
func (a *Array) InsertBytes(axis int, at, n uint64, src []byte) error {
	return a.change("insert", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_insert(a, C.uint32_t(axis), C.uint64_t(at), C.uint64_t(n), start(src), C.size_t(len(src)), e)
	})
}

// Remove removes n positions of dimension axis from position at on. Errors: ErrRange if there are
// fewer.
func (a *Array) Remove(axis int, at, n uint64) error {
	return a.change("remove", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_remove(a, C.uint32_t(axis), C.uint64_t(at), C.uint64_t(n), e)
	})
}

// Resize changes the shape. It removes items outside the new shape and adds items with the fill
// value.
func (a *Array) Resize(shape []uint64) error {
	if ndim := len(a.Shape()); len(shape) != ndim {
		return refused("resize", ErrArgument, "the shape has %d dimensions (expected %d)", len(shape), ndim)
	}
	return a.change("resize", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_resize(a, numbers(shape), e)
	})
}

// Commit makes all changes durable and visible together.
func (a *Array) Commit() error {
	return a.change("commit", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status { return C.holdall_array_commit(a, e) })
}

// Copy copies the array to a new container, which appears complete or not at all. mode is New or
// Replace. If chunks or blocks is nil, the library chooses it.
func (a *Array) Copy(path string, mode Mode, format Format, chunks, blocks []uint64, options ...Option) error {
	ndim := len(a.Shape())
	if chunks != nil && len(chunks) != ndim || blocks != nil && len(blocks) != ndim {
		return refused("copy", ErrArgument, "chunks have %d and blocks have %d dimensions (expected %d)", len(chunks), len(blocks), ndim)
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

// open reports whether the array is open. If it is closed, that is the error to return, not a
// wrong dtype.
func (a *Array) open() bool {
	return a.view("", func(*C.holdall_array, *call) C.holdall_status { return C.HOLDALL_OK }) == nil
}
