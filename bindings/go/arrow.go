package holdall

// Export and import of tables and bags through Arrow's C stream interface, which any Arrow
// package can use.

// #include <holdall.h>
// #include <stdlib.h>
//
// static void stream_release(struct ArrowArrayStream *s) { if (s->release != NULL) s->release(s); }
import "C"

import (
	"math"
	"unsafe"
)

// ArrowStream is a struct ArrowArrayStream in C memory. It may outlive the handle that it was
// made from.
type ArrowStream struct{ *handle }

func newArrowStream(h *handle, op string,
	f func(p unsafe.Pointer, out *C.struct_ArrowArrayStream,
		c *call) C.holdall_status) (*ArrowStream, error) {
	out := (*C.struct_ArrowArrayStream)(C.calloc(1, C.sizeof_struct_ArrowArrayStream))
	err := h.view(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f(p, out, c) })
	if err != nil {
		C.free(unsafe.Pointer(out))
		return nil, err
	}
	free := func(p unsafe.Pointer) {
		C.stream_release((*C.struct_ArrowArrayStream)(p))
		C.free(p)
	}
	return &ArrowStream{newHandle(unsafe.Pointer(out), free, h.keep)}, nil
}

// Pointer returns the address of the struct ArrowArrayStream, or nil if the stream is closed.
// Functions such as cdata.ImportCArrayReader of arrow-go, and AppendArrow, accept it.
//
// The address is valid until Close, which releases the stream unless a consumer has taken it
// over. The caller must keep the ArrowStream alive until then, with runtime.KeepAlive.
func (s *ArrowStream) Pointer() (stream unsafe.Pointer) {
	s.look(func(p unsafe.Pointer) { stream = p })
	return stream
}

// Arrow exports count rows from row start on, in batches of batch rows; batch 0: as many as the
// library chooses. Errors: ErrRange if there are fewer rows; ErrUnsupported for a column without
// an Arrow type.
func (t *Table) Arrow(start, count, batch uint64) (*ArrowStream, error) {
	return newArrowStream(t.handle, "arrow",
		func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
			return C.holdall_table_to_arrow((*C.holdall_table)(p), C.uint64_t(start), C.uint64_t(count),
				C.uint64_t(batch), out, &c.err)
		})
}

// ColumnsArrow exports rows of the named columns, in this order, as Arrow does; other columns are
// not read. names nil stands for all columns. Errors: ErrArgument if there is no such column.
func (t *Table) ColumnsArrow(names []string, start, count, batch uint64) (*ArrowStream, error) {
	if names == nil {
		return t.Arrow(start, count, batch)
	}
	if err := checked("arrow", names...); err != nil {
		return nil, err
	}
	room := arena{}
	defer room.free()
	list := room.texts(names)
	return newArrowStream(t.handle, "arrow",
		func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
			return C.holdall_table_columns_to_arrow((*C.holdall_table)(p), C.uint64_t(start),
				C.uint64_t(count), C.uint32_t(len(names)), list, C.uint64_t(batch), out, &c.err)
		})
}

// Scan is what Table.Scan reads; the zero value: all columns of all rows.
type Scan struct {
	// Where is a condition of SQL, as for Table.Where; "": no condition.
	Where string
	// Columns are the names of columns, in the order of the stream; nil: all.
	Columns []string
	// Start is the first row, and End the row after the last one; 0: all rows from Start on.
	Start, End uint64
	// Limit is the maximum number of rows; 0: no limit.
	Limit uint64
	// Batch is the maximum number of rows of a batch; 0: as many as the library chooses.
	Batch uint64
}

// Scan exports the columns and rows that s describes, in ascending order of the rows. Columns that
// Where compares are read first, and others only where rows pass. Errors: as of Where and Arrow.
func (t *Table) Scan(s Scan) (*ArrowStream, error) {
	end, limit := s.End, s.Limit
	if end == 0 && s.Start < t.RowCount() {
		end = t.RowCount()
	} else if end == 0 {
		end = s.Start
	}
	if limit == 0 {
		limit = math.MaxUint64
	}
	if end < s.Start {
		return nil, refused("scan", ErrRange, "End %d is before Start %d", end, s.Start)
	}
	if err := checked("scan", append([]string{s.Where}, s.Columns...)...); err != nil {
		return nil, err
	}
	room := arena{}
	defer room.free()
	n, list := t.columnList(&room, s.Columns)
	var where *C.char
	if s.Where != "" {
		where = room.text(s.Where)
	}
	return newArrowStream(t.handle, "scan",
		func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
			return C.holdall_table_scan((*C.holdall_table)(p), where, C.uint64_t(s.Start),
				C.uint64_t(end-s.Start), C.uint64_t(limit), n, list,
				C.uint64_t(s.Batch), out, &c.err)
		})
}

// PointsArrow exports the rows with these numbers, in this order and with repetitions, as
// ColumnsArrow does. Errors: ErrRange if there is no such row; others as of ColumnsArrow.
func (t *Table) PointsArrow(names []string, rows []uint64, batch uint64) (*ArrowStream, error) {
	if err := checked("arrow", names...); err != nil {
		return nil, err
	}
	room := arena{}
	defer room.free()
	n, list := t.columnList(&room, names)
	return newArrowStream(t.handle, "arrow",
		func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
			return C.holdall_table_points_to_arrow((*C.holdall_table)(p), numbers(rows),
				C.size_t(len(rows)), n, list, C.uint64_t(batch), out, &c.err)
		})
}

// columnList returns a C array of names of columns and its length; nil stands for all columns.
func (t *Table) columnList(room *arena, names []string) (C.uint32_t, **C.char) {
	if names == nil {
		return C.uint32_t(len(t.Columns())), nil
	}
	return C.uint32_t(len(names)), room.texts(names)
}

// Arrow exports count records from record start on as a stream with one field, "record", in batches
// of batch records; batch 0: as many as the library chooses. Errors: ErrRange if there are fewer
// records.
func (b *Bag) Arrow(start, count, batch uint64) (*ArrowStream, error) {
	return newArrowStream(b.handle, "arrow",
		func(p unsafe.Pointer, out *C.struct_ArrowArrayStream, c *call) C.holdall_status {
			return C.holdall_bag_to_arrow((*C.holdall_bag)(p), C.uint64_t(start), C.uint64_t(count),
				C.uint64_t(batch), out, &c.err)
		})
}

// AppendArrow appends the rows of stream, the address of a struct ArrowArrayStream. The stream is
// always taken over, also on failure. After an error nothing is appended. Errors: ErrType if
// columns or a value do not fit; ErrCallback if the stream fails.
func (t *Table) AppendArrow(stream unsafe.Pointer) error {
	return t.changed("append", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_append_arrow(t, (*C.struct_ArrowArrayStream)(stream), &c.err)
	})
}

// TableFromArrow creates a table with the columns and rows of stream, the address of a struct
// ArrowArrayStream, commits it and opens it for changes. The stream is always taken over, also on
// failure. In a CTable the columns keep the types of the fields; other formats have no values of any
// length and no nulls. path, mode, format, options: as for CreateTable. Errors: ErrUnsupported for a
// field of a type for which the format has no column; others as for CreateTable and AppendArrow.
func TableFromArrow(path string, mode Mode, format Format, stream unsafe.Pointer,
	options ...Option) (*Table, error) {
	return table("create a table", path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_table, c *call) C.holdall_status {
			return C.holdall_table_from_arrow(path, C.holdall_mode(mode), C.holdall_format(format),
				(*C.struct_ArrowArrayStream)(stream), o, out, &c.err)
		})
}
