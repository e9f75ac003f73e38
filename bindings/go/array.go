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

func array(op, path string, mode Mode, options []Option,
	f func(path *C.char, o *C.holdall_options, out **C.holdall_array,
		c *call) C.holdall_status) (*Array, error) {
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, freeArray, func(o *C.holdall_options, c *call) C.holdall_status {
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
	return array("open an array", path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_open(path, C.holdall_mode(mode), o, out, &c.err)
		})
}

// ArraySpec describes a new array. The lengths are in items per dimension. If ChunkShape or
// BlockShape is nil, the library chooses it.
type ArraySpec struct {
	Format     Format
	Dtype      string // as in NumPy, such as "<f8"
	Shape      []uint64
	ChunkShape []uint64
	BlockShape []uint64
}

// of returns the spec in the form of C, of an array of ndim dimensions.
func (s ArraySpec) of(op string, ndim int, room *arena) (*C.holdall_array_spec, error) {
	for _, shape := range [][]uint64{s.ChunkShape, s.BlockShape} {
		if shape != nil && len(shape) != ndim {
			return nil, refused(op, ErrArgument,
				"the shape of chunks or blocks has %d dimensions (expected %d)", len(shape), ndim)
		}
	}
	if err := checked(op, s.Dtype); err != nil {
		return nil, err
	}
	spec := (*C.holdall_array_spec)(room.room(C.sizeof_holdall_array_spec))
	spec.struct_size = C.sizeof_holdall_array_spec
	spec.format = C.holdall_format(s.Format)
	spec.ndim = C.uint32_t(ndim)
	if s.Dtype != "" {
		spec.dtype = room.text(s.Dtype)
	}
	spec.shape, spec.chunk_shape, spec.block_shape =
		room.lengths(s.Shape), room.lengths(s.ChunkShape), room.lengths(s.BlockShape)
	return spec, nil
}

// CreateArray creates an array of zeros (see the option FillValue) and opens it for changes. mode
// is Create or Replace. Errors: ErrExists if mode is Create and the path exists; ErrType for an
// unknown dtype.
func CreateArray(path string, mode Mode, spec ArraySpec, options ...Option) (*Array, error) {
	const op = "create an array"
	room := arena{}
	defer room.free()
	if spec.Shape == nil {
		spec.Shape = []uint64{}
	}
	s, err := spec.of(op, len(spec.Shape), &room)
	if err != nil {
		return nil, err
	}
	return array(op, path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_create(path, C.holdall_mode(mode), s, o, out, &c.err)
		})
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

// Splits divides the rows, the indices of the first dimension, into at most n ranges, as Bag.Splits
// does. They begin at chunks. Bytes is the share of the rows in the stored size: by chunk in Bloscpack
// files and in frames whose index is in memory, otherwise by rows. Errors: ErrArgument if n is less
// than 1; ErrType for an array without dimensions.
func (a *Array) Splits(n int) (splits []Split, err error) {
	err = a.view("splits", func(a *C.holdall_array, c *call) C.holdall_status {
		return collect(&splits, n, c, func(most C.size_t, to [3]*C.uint64_t) C.holdall_status {
			return C.holdall_array_splits(a, most, to[0], to[1], to[2], &c.n, &c.err)
		})
	})
	return splits, err
}

// change makes a call that changes the array. It returns ErrState for a column.
func (a *Array) change(op string,
	f func(a *C.holdall_array, e *C.holdall_error) C.holdall_status) error {
	if a.column != nil {
		return refused(op, ErrState, "a column cannot be changed directly; change it through its table")
	}
	return a.handle.change(op, func(p unsafe.Pointer, c *call) C.holdall_status {
		return f((*C.holdall_array)(p), &c.err)
	})
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

// Shape returns the number of items along each dimension, or nil if the array is closed.
func (a *Array) Shape() (shape []uint64) {
	a.look(func(a *C.holdall_array) {
		shape = lengths(C.holdall_array_shape(a), C.holdall_array_ndim(a))
	})
	return shape
}

// lengths returns a copy of ndim lengths.
func lengths(p *C.uint64_t, ndim C.uint32_t) []uint64 {
	return append([]uint64{}, unsafe.Slice((*uint64)(p), int(ndim))...)
}

// Dtype returns the type of the items as in NumPy.
func (a *Array) Dtype() (dtype string) {
	a.look(func(a *C.holdall_array) { dtype = C.GoString(C.holdall_array_dtype(a)) })
	return dtype
}

// Itemsize returns the bytes per item, which may be 0.
func (a *Array) Itemsize() (n int) {
	a.look(func(a *C.holdall_array) { n = int(C.holdall_array_itemsize(a)) })
	return n
}

// NBytes returns the bytes of all items.
func (a *Array) NBytes() (n uint64) {
	a.look(func(a *C.holdall_array) { n = uint64(C.holdall_array_nbytes(a)) })
	return n
}

// Order is the order in which items are stored. Buffers are always in C order.
type Order int32

// The orders: the last index varies fastest, or the first.
const (
	OrderC Order = C.HOLDALL_ORDER_C
	OrderF Order = C.HOLDALL_ORDER_F
)

// ArrayInfo describes an array; holdall_array_info in holdall.h documents the fields. A block is
// the smallest unit that is decoded.
type ArrayInfo struct {
	Format                        Format
	Dtype                         string
	Itemsize                      int
	Shape, ChunkShape, BlockShape []uint64
	Order                         Order
	Codec                         Codec
	Level                         int // -1 if it is not stored
	Checksum                      ChecksumKind
	Filters                       []Filter
	NBytes, StoredBytes           uint64
	AttrCount                     int
	Generation                    uint64
	Precision                     int // as the option; 0: exact
	FixedAttrCount                int // in the header of a frame, the first ones
}

// Info describes the array.
func (a *Array) Info() (info ArrayInfo, err error) {
	err = a.view("info", func(a *C.holdall_array, c *call) C.holdall_status {
		i := C.holdall_array_info{}
		i.struct_size = C.sizeof_holdall_array_info
		if status := C.holdall_array_get_info(a, &i, &c.err); status != C.HOLDALL_OK {
			return status
		}
		info = ArrayInfo{Format(i.format), C.GoString(i.dtype), int(i.itemsize),
			lengths(i.shape, i.ndim), lengths(i.chunk_shape, i.ndim), lengths(i.block_shape, i.ndim),
			Order(i.order), Codec(i.codec), int(i.level), ChecksumKind(i.checksum),
			filters(i.filters[:i.filter_count]),
			uint64(i.nbytes), uint64(i.stored_bytes), int(i.attr_count), uint64(i.generation),
			int(i.precision), int(i.fixed_attr_count)}
		return C.HOLDALL_OK
	})
	return info, err
}

// Generation returns the number of commits through this handle, and of refreshes that may have
// found a newer commit; for a column, that of its table.
func (a *Array) Generation() (n uint64) {
	a.handle.look(func(p unsafe.Pointer) {
		if a.column == nil {
			n = uint64(C.holdall_array_generation((*C.holdall_array)(p)))
		} else {
			n = uint64(C.holdall_table_generation((*C.holdall_table)(p)))
		}
	})
	return n
}

// Refresh moves an array that was opened ReadOnly to its newest commit, which may have another
// dtype and shape. It waits for calls in progress, and later calls wait for it. Without a newer
// commit it takes about one system call per file. After an error the array is unchanged. Errors:
// ErrState in another mode, and for a column, which is refreshed with its table; and those of
// OpenArray.
func (a *Array) Refresh() error {
	if a.column != nil {
		return refused("refresh", ErrState, "a column cannot be refreshed; refresh its table")
	}
	return a.refresh(func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_array_refresh((*C.holdall_array)(p), &c.err)
	})
}

// ReadBytes reads a box into dst, packed, in C order. Errors: ErrBuffer if dst is too small;
// ErrRange if the box is outside the array.
func (a *Array) ReadBytes(box Box, dst []byte) error {
	return a.stable(func() error {
		box, err := box.whole("read", a.Shape())
		if err != nil {
			return err
		}
		return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_read(a, numbers(box.Start), numbers(box.Count), numbers(box.Step),
				start(dst), C.size_t(len(dst)), nil, &c.err)
		})
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
		return C.holdall_array_write(a, numbers(box.Start), numbers(box.Count), numbers(box.Step),
			start(src), C.size_t(len(src)), nil, e)
	})
}

// lists calls f with a C copy of the positions of each dimension; nil stands for the whole
// dimension.
func lists(op string, shape []uint64, positions [][]uint64,
	f func(lists **C.uint64_t, counts []uint64) error) error {
	if len(positions) != len(shape) {
		return refused(op, ErrArgument, "%d lists of positions (expected %d, one per dimension)",
			len(positions), len(shape))
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
	return a.stable(func() error {
		return lists("read", a.Shape(), positions, func(lists **C.uint64_t, counts []uint64) error {
			return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
				return C.holdall_array_read_orthogonal(a, lists, numbers(counts), start(dst),
					C.size_t(len(dst)), &c.err)
			})
		})
	})
}

// WriteOrthogonalBytes writes all combinations of positions from src: see ReadOrthogonalBytes. Of
// a repeated position the last value is stored.
func (a *Array) WriteOrthogonalBytes(positions [][]uint64, src []byte) error {
	return lists("write", a.Shape(), positions, func(lists **C.uint64_t, counts []uint64) error {
		return a.change("write", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_write_orthogonal(a, lists, numbers(counts), start(src),
				C.size_t(len(src)), e)
		})
	})
}

// ReadPointsBytes reads single items into dst, packed. coordinates has one number per dimension
// for each item. Errors: ErrRange, with Position, if an item is outside the array.
func (a *Array) ReadPointsBytes(coordinates []uint64, dst []byte) error {
	if coordinates == nil {
		coordinates = []uint64{}
	}
	return a.stable(func() error {
		ndim := len(a.Shape())
		if ndim == 0 || len(coordinates)%ndim != 0 {
			return refused("read", ErrArgument, "%d coordinates for an array of %d dimensions",
				len(coordinates), ndim)
		}
		return a.view("read", func(a *C.holdall_array, c *call) C.holdall_status {
			return C.holdall_array_read_points(a, numbers(coordinates), C.size_t(len(coordinates)/ndim),
				start(dst), C.size_t(len(dst)), &c.err)
		})
	})
}

// AppendBytes appends count positions to dimension axis. src holds the new items, packed, in C
// order. After an error nothing is appended.
func (a *Array) AppendBytes(axis int, count uint64, src []byte) error {
	return a.change("append", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_append(a, C.uint32_t(axis), C.uint64_t(count), start(src),
			C.size_t(len(src)), e)
	})
}

// InsertBytes inserts count positions into dimension axis before position from. src holds the new
// items, packed, in C order. After an error nothing is inserted.
func (a *Array) InsertBytes(axis int, from, count uint64, src []byte) error {
	return a.change("insert", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_insert(a, C.uint32_t(axis), C.uint64_t(from), C.uint64_t(count),
			start(src), C.size_t(len(src)), e)
	})
}

// Remove removes count positions of dimension axis from position from on. Errors: ErrRange if there
// are fewer.
func (a *Array) Remove(axis int, from, count uint64) error {
	return a.change("remove", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_remove(a, C.uint32_t(axis), C.uint64_t(from), C.uint64_t(count), e)
	})
}

// Resize changes the shape. It removes items outside the new shape and adds items with the fill
// value.
func (a *Array) Resize(shape []uint64) error {
	if ndim := len(a.Shape()); len(shape) != ndim {
		return refused("resize", ErrArgument, "the shape has %d dimensions (expected %d)", len(shape),
			ndim)
	}
	return a.change("resize", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_resize(a, numbers(shape), e)
	})
}

// Commit makes all changes durable and visible together.
func (a *Array) Commit() error {
	return a.change("commit", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_commit(a, e)
	})
}

// made opens a view of the array; f must store it in out.
func (a *Array) made(op string,
	f func(a *C.holdall_array, out **C.holdall_array, c *call) C.holdall_status) (*Array, error) {
	var out *C.holdall_array
	err := a.view(op, func(a *C.holdall_array, c *call) C.holdall_status {
		status := f(a, (**C.holdall_array)(unsafe.Pointer(&c.out)), c)
		out = (*C.holdall_array)(c.out)
		return status
	})
	if err != nil {
		return nil, err
	}
	return &Array{newHandle(unsafe.Pointer(out), freeArray, a.keep), nil}, nil
}

// Slice returns count[d] positions of each dimension d from start[d] on, step[d] apart, as a
// read-only array with its own Close. step may be negative, or nil. While it is open, the array
// cannot be changed. Errors: ErrRange if a position is outside the array.
func (a *Array) Slice(start, count []uint64, step []int64) (*Array, error) {
	ndim := len(a.Shape())
	if len(start) != ndim || len(count) != ndim || step != nil && len(step) != ndim {
		return nil, refused("slice", ErrArgument, "start, count and step must have %d values each", ndim)
	}
	var steps *C.int64_t
	if len(step) > 0 {
		steps = (*C.int64_t)(unsafe.Pointer(&step[0]))
	}
	return a.made("slice", func(a *C.holdall_array, out **C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_slice(a, numbers(start), numbers(count), steps, out, &c.err)
	})
}

// Squeeze returns the array without a dimension of length 1, as Slice does.
func (a *Array) Squeeze(axis int) (*Array, error) {
	return a.made("squeeze", func(a *C.holdall_array, out **C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_squeeze(a, C.uint32_t(axis), out, &c.err)
	})
}

// ExpandDims returns the array with a new dimension of length 1, as Slice does.
func (a *Array) ExpandDims(axis int) (*Array, error) {
	return a.made("expand", func(a *C.holdall_array, out **C.holdall_array, c *call) C.holdall_status {
		return C.holdall_array_expand_dims(a, C.uint32_t(axis), out, &c.err)
	})
}

// Checksum returns a checksum of dtype, shape and items, however they are stored.
func (a *Array) Checksum(kind ChecksumKind) (bytes []byte, err error) {
	err = a.view("checksum", func(a *C.holdall_array, c *call) C.holdall_status {
		status := C.holdall_array_checksum(a, C.int32_t(kind), nil, 0, &c.n, &c.err)
		if status < 0 {
			return status
		}
		bytes = make([]byte, c.n)
		return C.holdall_array_checksum(a, C.int32_t(kind), start(bytes), C.size_t(len(bytes)), &c.n,
			&c.err)
	})
	return unless(bytes, err)
}

// Copy copies the array to a new container, which appears complete or not at all. mode is Create or
// Replace. Dtype and Shape of the spec may be empty, else they must be those of the array.
func (a *Array) Copy(path string, mode Mode, spec ArraySpec, options ...Option) error {
	room := arena{}
	defer room.free()
	ndim := len(a.Shape())
	if spec.Shape != nil && len(spec.Shape) != ndim {
		return refused("copy", ErrArgument, "the shape has %d dimensions (expected %d)", len(spec.Shape),
			ndim)
	}
	s, err := spec.of("copy", ndim, &room)
	if err != nil {
		return err
	}
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return a.view("copy", func(a *C.holdall_array, c *call) C.holdall_status {
				return C.holdall_array_copy(a, path, C.holdall_mode(mode), s, o, &c.err)
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
