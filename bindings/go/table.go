package holdall

// Tables: named columns of equal length.

// #include <holdall.h>
// #include <stdlib.h>
import "C"

import "unsafe"

// Table is an open table.
type Table struct{ *handle }

// Column is the name and the dtype of a column. The dtype "T" is text of any length, of which any may
// be null; only CTables have it. ReadObject of the column reads a text, ReadNulls finds the nulls.
type Column struct{ Name, Dtype string }

// column is the name of the column of a table that an Array stands for.
type column string

// with makes a call with the array of the column, or fails if the table has no such column.
func (name column) with(table *C.holdall_table, call *call,
	f func(a *C.holdall_array, c *call) C.holdall_status) C.holdall_status {
	s := C.CString(string(name))
	defer C.free(unsafe.Pointer(s))
	if a := C.holdall_table_find_column(table, s); a != nil {
		return f(a, call)
	}
	return call.say(C.HOLDALL_E_ARGUMENT, "the table has no column of this name")
}

// say stores a failure as the library does.
func (c *call) say(status C.holdall_status, message string) C.holdall_status {
	c.err.status, c.err.os_code, c.err.position = status, 0, -1
	for i := 0; i < len(message); i++ {
		c.err.message[i] = C.char(message[i])
	}
	c.err.message[len(message)] = 0
	return status
}

func freeTable(p unsafe.Pointer) { C.holdall_table_close((*C.holdall_table)(p)) }

func table(op, path string, mode Mode, options []Option,
	f func(path *C.char, o *C.holdall_options, out **C.holdall_table,
		c *call) C.holdall_status) (*Table, error) {
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, freeTable, func(o *C.holdall_options, c *call) C.holdall_status {
			return f(path, o, (**C.holdall_table)(unsafe.Pointer(&c.out)), c)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}

// OpenTable opens a table at its last commit: ReadOnly to read, Append to read and change.
// Errors: ErrType if the container is not a table; ErrBusy if another writer is active.
func OpenTable(path string, mode Mode, options ...Option) (*Table, error) {
	return table("open a table", path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_table, c *call) C.holdall_status {
			return C.holdall_table_open(path, C.holdall_mode(mode), o, out, &c.err)
		})
}

// TableSpec describes a new table. Format is Bcolz, BLZ, BLZRFC, or CTable with a path that ends in
// ".b2d".
type TableSpec struct {
	Format  Format
	Columns []Column
}

// CreateTable creates a table without rows and opens it for changes. mode is Create or Replace.
// Errors: ErrExists if mode is Create and the path exists, or if a name is repeated; ErrType for an
// unknown dtype.
func CreateTable(path string, mode Mode, spec TableSpec, options ...Option) (*Table, error) {
	const op = "create a table"
	room := arena{}
	defer room.free()
	var names, dtypes []string
	for _, c := range spec.Columns {
		if err := checked(op, c.Name, c.Dtype); err != nil {
			return nil, err
		}
		names, dtypes = append(names, c.Name), append(dtypes, c.Dtype)
	}
	s := (*C.holdall_table_spec)(room.room(C.sizeof_holdall_table_spec))
	s.struct_size = C.sizeof_holdall_table_spec
	s.format, s.column_count = C.holdall_format(spec.Format), C.uint32_t(len(names))
	s.names, s.dtypes = room.texts(names), room.texts(dtypes)
	return table(op, path, mode, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_table, c *call) C.holdall_status {
			return C.holdall_table_create(path, C.holdall_mode(mode), s, o, out, &c.err)
		})
}

// RowCount returns the number of rows.
func (t *Table) RowCount() (n uint64) {
	t.look(func(p unsafe.Pointer) { n = uint64(C.holdall_table_row_count((*C.holdall_table)(p))) })
	return n
}

// Columns returns the names and dtypes of the columns, in order.
func (t *Table) Columns() (columns []Column) {
	t.look(func(p unsafe.Pointer) {
		table := (*C.holdall_table)(p)
		for i := C.uint32_t(0); i < C.holdall_table_column_count(table); i++ {
			dtype := C.GoString(C.holdall_array_dtype(C.holdall_table_column(table, i)))
			columns = append(columns, Column{C.GoString(C.holdall_table_column_name(table, i)), dtype})
		}
	})
	return columns
}

// TableInfo describes a table; holdall_table_info in holdall.h documents the fields.
type TableInfo struct {
	Format      Format
	ColumnCount int
	RowCount    uint64
	NBytes      uint64
	StoredBytes uint64
	AttrCount   int
	Generation  uint64
}

// Info describes the table.
func (t *Table) Info() (info TableInfo, err error) {
	err = t.view("info", func(p unsafe.Pointer, c *call) C.holdall_status {
		i := C.holdall_table_info{}
		i.struct_size = C.sizeof_holdall_table_info
		status := C.holdall_table_get_info((*C.holdall_table)(p), &i, &c.err)
		info = TableInfo{Format(i.format), int(i.column_count), uint64(i.row_count), uint64(i.nbytes),
			uint64(i.stored_bytes),
			int(i.attr_count), uint64(i.generation)}
		return status
	})
	return info, err
}

// Generation returns the number of commits through this handle, and of refreshes that may have
// found a newer commit.
func (t *Table) Generation() (n uint64) {
	t.look(func(p unsafe.Pointer) { n = uint64(C.holdall_table_generation((*C.holdall_table)(p))) })
	return n
}

// Refresh moves a table that was opened ReadOnly to its newest commit, and its columns with it. It
// waits for calls in progress, and later calls wait for it. Without a newer commit it takes about
// one system call per file. After an error the table is unchanged. Errors: ErrState in another
// mode, and those of OpenTable.
func (t *Table) Refresh() error {
	return t.refresh(func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_table_refresh((*C.holdall_table)(p), &c.err)
	})
}

// Column returns a column as a read-only array, with the rows of the table along its first
// dimension. Errors: ErrArgument if there is no such column, also from the array after the column
// is removed.
func (t *Table) Column(name string) (*Array, error) {
	if err := checked("column", name); err != nil {
		return nil, err
	}
	of := column(name)
	err := t.view("column", func(p unsafe.Pointer, c *call) C.holdall_status {
		return of.with((*C.holdall_table)(p), c, func(*C.holdall_array, *call) C.holdall_status {
			return C.HOLDALL_OK
		})
	})
	if err != nil {
		return nil, err
	}
	return &Array{t.handle, &of}, nil
}

// rows calls f with C buffers for the named columns and copies them to dsts afterwards.
func (t *Table) rows(names []string, dsts [][]byte,
	f func(t *C.holdall_table, names **C.char, dsts *unsafe.Pointer, sizes *C.size_t,
		c *call) C.holdall_status) error {
	if err := checked("read", names...); err != nil {
		return err
	}
	if names != nil && len(names) != len(dsts) {
		return refused("read", ErrArgument, "%d buffers for %d columns", len(dsts), len(names))
	}
	room := arena{}
	defer room.free()
	pointers, sizes := room.pointers(len(dsts)), make([]C.size_t, len(dsts)+1)
	for i, dst := range dsts {
		pointers[i], sizes[i] = room.bytes(dst), C.size_t(len(dst))
	}
	var list **C.char
	if names != nil {
		list = room.texts(names)
	}
	err := t.view("read", func(p unsafe.Pointer, c *call) C.holdall_status {
		return f((*C.holdall_table)(p), list, (*unsafe.Pointer)(unsafe.Pointer(&pointers[0])), &sizes[0],
			c)
	})
	for i, dst := range dsts {
		copy(dst, unsafe.Slice((*byte)(pointers[i]), len(dst)))
	}
	return err
}

// ReadRows reads the rows start, start+step, ..., count of them, of the named columns, packed, in C
// order, into one buffer per column; see Bytes. names nil stands for all columns, in order. Errors:
// ErrArgument if there is no such column; ErrRange past the last row; ErrBuffer if a buffer is too
// small.
func (t *Table) ReadRows(start, count, step uint64, names []string, dsts ...[]byte) error {
	return t.rows(names, dsts,
		func(t *C.holdall_table, names **C.char, to *unsafe.Pointer, sizes *C.size_t,
			c *call) C.holdall_status {
			return C.holdall_table_read_rows(t, C.uint64_t(start), C.uint64_t(count), C.uint64_t(step),
				C.uint32_t(len(dsts)), names, to, sizes, &c.err)
		})
}

// ReadPoints reads single rows, in any order and with repetitions, as ReadRows does.
func (t *Table) ReadPoints(rows []uint64, names []string, dsts ...[]byte) error {
	if rows == nil {
		rows = []uint64{}
	}
	return t.rows(names, dsts,
		func(t *C.holdall_table, names **C.char, to *unsafe.Pointer, sizes *C.size_t,
			c *call) C.holdall_status {
			return C.holdall_table_read_points(t, numbers(rows), C.size_t(len(rows)), C.uint32_t(len(dsts)),
				names, to, sizes, &c.err)
		})
}

// Where returns the numbers of the rows for which a predicate is true, in ascending order. It is a
// condition of SQL, such as "delay > 60 and carrier in ('UA', 'AA')": see holdall_table_where in
// the C header. Errors: ErrArgument for a malformed predicate or a column that does not exist,
// ErrType for values that cannot be compared, ErrRange for an integer or time that the column
// cannot have; ErrDamaged with the rows if corrupt values were tested as zeros.
func (t *Table) Where(predicate string) (rows []uint64, err error) {
	end, damaged := t.RowCount(), false
	part := make([]uint64, 4096)
	err = withString("where", predicate, func(predicate *C.char) error {
		return t.view("where", func(p unsafe.Pointer, c *call) C.holdall_status {
			for c.numbers[0] = 0; ; {
				status := C.holdall_table_where((*C.holdall_table)(p), predicate, &c.numbers[0],
					C.uint64_t(end), numbers(part), C.size_t(len(part)), &c.n, &c.err)
				if status < 0 {
					return status
				}
				damaged = damaged || status == C.HOLDALL_DAMAGED
				rows = append(rows, part[:c.n]...)
				if uint64(c.numbers[0]) == end {
					break
				}
			}
			if damaged {
				return C.HOLDALL_DAMAGED
			}
			return C.HOLDALL_OK
		})
	})
	return rows, err
}

// ReadNulls returns for each of count rows of a column from start on whether it is null, or nil if the
// column has no nulls. Only CTables have nulls; reads return what is stored in such rows. Errors:
// ErrArgument if there is no such column; ErrRange past the last row.
func (t *Table) ReadNulls(column string, start uint64, count int) (nulls []bool, err error) {
	found := make([]byte, count+1) // never empty
	has := false
	err = withString("read nulls", column, func(column *C.char) error {
		return t.view("read nulls", func(p unsafe.Pointer, c *call) C.holdall_status {
			status := C.holdall_table_read_nulls((*C.holdall_table)(p), column, C.uint64_t(start),
				C.size_t(count), (*C.uint8_t)(unsafe.Pointer(&found[0])), &c.err)
			has = status == C.HOLDALL_OK
			if status == C.HOLDALL_NOT_FOUND {
				return C.HOLDALL_OK
			}
			return status
		})
	})
	if err != nil || !has {
		return nil, err
	}
	nulls = make([]bool, count)
	for i := range nulls {
		nulls[i] = found[i] == 1
	}
	return nulls, nil
}

// Slice returns the count rows start, start+step, ... of some columns, nil: of all, as a read-only
// table with its own Close. step may be negative. While it is open, the table cannot be changed.
// Errors: ErrRange if a row is outside the table; ErrArgument if there is no such column.
func (t *Table) Slice(columns []string, start, count uint64, step int64) (*Table, error) {
	if err := checked("slice", columns...); err != nil {
		return nil, err
	}
	room := arena{}
	defer room.free()
	var names **C.char
	if columns != nil {
		names = room.texts(columns)
	}
	h, err := t.made("slice", nil, freeTable, nil,
		func(p unsafe.Pointer, _ *C.holdall_options, c *call) C.holdall_status {
			table, n := (*C.holdall_table)(p), C.uint32_t(len(columns))
			if columns == nil {
				n = C.holdall_table_column_count(table)
			}
			return C.holdall_table_slice(table, C.uint64_t(start), C.uint64_t(count), C.int64_t(step), n,
				names, (**C.holdall_table)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}

// Copy copies all rows, columns and attributes to a new table, which appears complete or not at
// all. mode is Create or Replace.
func (t *Table) Copy(path string, mode Mode, format Format, options ...Option) error {
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return t.view("copy", func(p unsafe.Pointer, c *call) C.holdall_status {
				return C.holdall_table_copy((*C.holdall_table)(p), path, C.holdall_mode(mode),
					C.holdall_format(format), o, &c.err)
			})
		})
		return err
	})
}

func (t *Table) changed(op string, f func(t *C.holdall_table, c *call) C.holdall_status) error {
	return t.change(op, func(p unsafe.Pointer, c *call) C.holdall_status {
		return f((*C.holdall_table)(p), c)
	})
}

// Append appends count rows. columns[i] holds the new items of column i, packed, in C order, for
// every column; see Bytes. For a column of values of any length it is the result of Texts or Values.
// After an error nothing is appended to any column. Errors: ErrType for a text that is not UTF-8, for
// a null in a column without nulls, and for MessagePack of another type, with Position.
func (t *Table) Append(count uint64, columns ...[]byte) error {
	return t.addRows("append", count, columns, func(t *C.holdall_table, columns *unsafe.Pointer,
		sizes *C.size_t, c *call) C.holdall_status {
		return C.holdall_table_append(t, C.uint64_t(count), columns, sizes, &c.err)
	})
}

// Insert inserts count rows before row first; the rows after it move. columns: as for Append. After
// an error nothing is inserted. If only some columns could be changed, all further changes return
// ErrState. Errors: ErrRange if first is past the end.
func (t *Table) Insert(first, count uint64, columns ...[]byte) error {
	return t.addRows("insert", count, columns, func(t *C.holdall_table, columns *unsafe.Pointer,
		sizes *C.size_t, c *call) C.holdall_status {
		return C.holdall_table_insert(t, C.uint64_t(first), C.uint64_t(count), columns, sizes,
			&c.err)
	})
}

// Remove removes count rows from row first on; the rows after them move. Errors: ErrRange if there
// are fewer; others as for Insert.
func (t *Table) Remove(first, count uint64) error {
	return t.changed("remove", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_remove(t, C.uint64_t(first), C.uint64_t(count), &c.err)
	})
}

// addRows calls add with the pointers and sizes of the columns.
func (t *Table) addRows(op string, count uint64, columns [][]byte, add func(*C.holdall_table,
	*unsafe.Pointer, *C.size_t, *call) C.holdall_status) error {
	return t.withRows(op, func(room *arena, t *C.holdall_table, c *call) (C.holdall_status, error) {
		if int(C.holdall_table_column_count(t)) != len(columns) {
			return c.say(C.HOLDALL_E_ARGUMENT, "the number of columns differs from that of the table"), nil
		}
		pointers, sizes := room.pointers(len(columns)), make([]C.size_t, len(columns)+1)
		for i, b := range columns {
			column := C.holdall_table_column(t, C.uint32_t(i))
			if !hasAnyLength(C.GoString(C.holdall_array_dtype(column))) {
				pointers[i], sizes[i] = room.bytes(b), C.size_t(len(b))
				continue
			}
			var err error
			name := C.GoString(C.holdall_table_column_name(t, C.uint32_t(i)))
			if pointers[i], sizes[i], err = room.values(op, name, count, b); err != nil {
				return C.HOLDALL_OK, err
			}
		}
		return add(t, (*unsafe.Pointer)(unsafe.Pointer(&pointers[0])), &sizes[0], c), nil
	})
}

// withRows makes a call that changes the table, with C memory for rows. f returns an error if it
// rejects the rows.
func (t *Table) withRows(op string,
	f func(room *arena, t *C.holdall_table, c *call) (C.holdall_status, error)) (err error) {
	room := arena{}
	defer room.free()
	var rejected error
	err = t.changed(op, func(t *C.holdall_table, c *call) (status C.holdall_status) {
		status, rejected = f(&room, t, c)
		return status
	})
	if err == nil {
		err = rejected
	}
	return err
}

// Write overwrites count rows of a column from row first on. src holds the items, packed, in C
// order, or is the result of Texts or Values, as for Append. Errors: ErrArgument if there is no such
// column; ErrRange past the last row; ErrType as for Append.
func (t *Table) Write(column string, first, count uint64, src []byte) error {
	return withString("write", column, func(name *C.char) error {
		return t.withRows("write", func(room *arena, t *C.holdall_table,
			c *call) (C.holdall_status, error) {
			dtype := C.GoString(C.holdall_array_dtype(C.holdall_table_find_column(t, name)))
			p, size, err := room.rows("write", Column{column, dtype}, count, src)
			if err != nil {
				return C.HOLDALL_OK, err
			}
			return C.holdall_table_write(t, name, C.uint64_t(first), C.uint64_t(count), p, size, &c.err), nil
		})
	})
}

// AddColumn inserts a column before column at. src holds one item per row of the table, packed,
// in C order. Of the dtype "T" it is the result of Texts or Values, with one value per row. Errors:
// ErrExists if the name exists; ErrRange if at is past the end; ErrType as for Append.
func (t *Table) AddColumn(at int, column Column, src []byte) error {
	const op = "add a column"
	return withString(op, column.Name, func(name *C.char) error {
		return withString(op, column.Dtype, func(dtype *C.char) error {
			return t.withRows(op, func(room *arena, t *C.holdall_table,
				c *call) (C.holdall_status, error) {
				count := uint64(C.holdall_table_row_count(t))
				p, size, err := room.rows(op, column, count, src)
				if err != nil {
					return C.HOLDALL_OK, err
				}
				return C.holdall_table_column_add(t, C.uint32_t(at), name, dtype, p, size, &c.err), nil
			})
		})
	})
}

// BuildIndex adds indexes to columns of a CTable, nil: to all whose values have an order. The commit
// stores them, and further ones maintain them: see holdall_table_index_build in the C header. Errors:
// ErrUnsupported for other tables and columns; ErrArgument if there is no such column.
func (t *Table) BuildIndex(columns []string) error {
	if err := checked("build an index", columns...); err != nil {
		return err
	}
	room := arena{}
	defer room.free()
	var list **C.char
	if columns != nil {
		list = room.texts(columns)
	}
	return t.changed("build an index", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_index_build(t, C.uint32_t(len(columns)), list, &c.err)
	})
}

// RemoveColumn removes a column. Errors: ErrArgument if there is no such column, or if it is the
// only one.
func (t *Table) RemoveColumn(name string) error {
	return withString("remove a column", name, func(name *C.char) error {
		return t.changed("remove a column", func(p *C.holdall_table, c *call) C.holdall_status {
			return C.holdall_table_column_remove(p, name, &c.err)
		})
	})
}

// Truncate removes all but the first rowCount rows. Errors: ErrRange if there are fewer.
func (t *Table) Truncate(rowCount uint64) error {
	return t.changed("truncate", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_truncate(t, C.uint64_t(rowCount), &c.err)
	})
}

// Commit makes all changes durable and visible together: rows, columns and attributes.
func (t *Table) Commit() error {
	return t.changed("commit", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_commit(t, &c.err)
	})
}

// Splits divides the rows into at most n ranges, as Array.Splits does. They begin at chunks of the
// column with the largest stored size, and of the other columns as far as enough rows are the start of
// a chunk in each.
func (t *Table) Splits(n int) (splits []Split, err error) {
	err = t.view("splits", func(p unsafe.Pointer, c *call) C.holdall_status {
		return collect(&splits, n, c, func(most C.size_t, to [3]*C.uint64_t) C.holdall_status {
			return C.holdall_table_splits((*C.holdall_table)(p), most, to[0], to[1], to[2], &c.n, &c.err)
		})
	})
	return splits, err
}

// MetaFiles returns the names of the further files in the folder meta of a table in the BLZ RFC
// layout, in order. Other tables have none: their columns do.
func (t *Table) MetaFiles() ([]string, error) {
	text, err := t.ask("list metadata files", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_table_meta_file_names((*C.holdall_table)(p), (*C.char)(dst), size, &c.n, &c.err)
	})
	return listed(text), err
}

// MetaFile returns the bytes of such a file and whether it exists. Errors: as Array.MetaFile.
func (t *Table) MetaFile(name string) (value []byte, is bool, err error) {
	err = withString("metadata file", name, func(name *C.char) error {
		return t.view("metadata file", func(p unsafe.Pointer, c *call) C.holdall_status {
			t := (*C.holdall_table)(p)
			status := C.holdall_table_meta_file_read(t, name, nil, 0, &c.n, &c.err)
			if status != C.HOLDALL_OK {
				return found(status)
			}
			value, is = make([]byte, c.n), true
			return C.holdall_table_meta_file_read(t, name, start(value), C.size_t(len(value)), &c.n,
				&c.err)
		})
	})
	return value, is, err
}

// SetMetaFile sets the bytes of such a file; nil removes it. Errors: as Array.SetMetaFile.
func (t *Table) SetMetaFile(name string, value []byte) error {
	return withString("set metadata file", name, func(name *C.char) error {
		return t.changed("set metadata file", func(t *C.holdall_table, c *call) C.holdall_status {
			return C.holdall_table_meta_file_write(t, name, given(value), C.size_t(len(value)), &c.err)
		})
	})
}

// Attrs returns the names of the attributes of the table.
func (t *Table) Attrs() (names []string) {
	t.look(func(p unsafe.Pointer) {
		for i := C.uint32_t(0); i < C.holdall_table_attr_count((*C.holdall_table)(p)); i++ {
			names = append(names, C.GoString(C.holdall_table_attr_name((*C.holdall_table)(p), i)))
		}
	})
	return names
}

// Attr returns an attribute of the table, JSON, and whether it exists.
func (t *Table) Attr(name string) (value []byte, is bool, err error) {
	return t.named("attr", name, func(p unsafe.Pointer, name *C.char, c *call) C.holdall_status {
		return C.holdall_table_attr_get((*C.holdall_table)(p), name, &c.out, &c.n, &c.err)
	})
}

// SetAttr sets an attribute of the table to JSON; nil removes it.
func (t *Table) SetAttr(name string, value []byte) error {
	return withString("set attr", name, func(name *C.char) error {
		return t.changed("set attr", func(t *C.holdall_table, c *call) C.holdall_status {
			return C.holdall_table_attr_set(t, name, given(value), C.size_t(len(value)), &c.err)
		})
	})
}

// SetColumnAttr sets an attribute of a column to JSON; nil removes it. The method Attr of the
// column reads it.
func (t *Table) SetColumnAttr(column, name string, value []byte) error {
	return withString("set attr", column, func(column *C.char) error {
		return withString("set attr", name, func(name *C.char) error {
			return t.changed("set attr", func(t *C.holdall_table, c *call) C.holdall_status {
				return C.holdall_table_column_attr_set(t, column, name, given(value), C.size_t(len(value)),
					&c.err)
			})
		})
	})
}
