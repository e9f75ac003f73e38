package holdall

// Tables: named columns of equal length.

// #include <holdall.h>
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// Table is an open table.
type Table struct {
	*handle
	// Number of times that columns were added or removed.
	turns atomic.Uint64
}

// Column is the name and the dtype of a column.
type Column struct{ Name, Dtype string }

// column identifies the column of a table that an Array stands for.
type column struct {
	table *Table
	i     C.uint32_t
	turn  uint64
}

// with makes a call with the array of the column, or fails if columns were added or removed
// since.
func (c *column) with(table *C.holdall_table, call *call, f func(a *C.holdall_array, c *call) C.holdall_status) C.holdall_status {
	if a := C.holdall_table_column(table, c.i); a != nil && c.table.turns.Load() == c.turn {
		return f(a, call)
	}
	return call.say(C.HOLDALL_E_STATE, "a column was added or removed since; call Table.Column again")
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

func table(op, path string, mode Mode, options []Option, f func(path *C.char, o *C.holdall_options, out **C.holdall_table, c *call) C.holdall_status) (*Table, error) {
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, freeTable, mode != ReadOnly, func(o *C.holdall_options, c *call) C.holdall_status {
			return f(path, o, (**C.holdall_table)(unsafe.Pointer(&c.out)), c)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Table{handle: h}, nil
}

// OpenTable opens a table at its last commit: ReadOnly to read, Append to read and change.
// Errors: ErrType if the container is not a table; ErrBusy if another writer is active.
func OpenTable(path string, mode Mode, options ...Option) (*Table, error) {
	return table("open a table", path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_open(path, C.holdall_mode(mode), o, out, &c.err)
	})
}

// CreateTable creates a table without rows and opens it for changes. mode is New or Replace;
// format is Bcolz, BLZ or BLZPaper. Errors: ErrExists if mode is New and the path exists, or if a
// name is repeated; ErrType for an unknown dtype.
func CreateTable(path string, mode Mode, format Format, columns []Column, options ...Option) (*Table, error) {
	const op = "create a table"
	room := arena{}
	defer room.free()
	names, dtypes := room.pointers(len(columns)), room.pointers(len(columns))
	for i, c := range columns {
		for _, s := range []string{c.Name, c.Dtype} {
			if err := withString(op, s, func(*C.char) error { return nil }); err != nil {
				return nil, err
			}
		}
		names[i], dtypes[i] = room.bytes(append([]byte(c.Name), 0)), room.bytes(append([]byte(c.Dtype), 0))
	}
	return table(op, path, mode, options, func(path *C.char, o *C.holdall_options, out **C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_create(path, C.holdall_mode(mode), C.holdall_format(format), C.uint32_t(len(columns)),
			(**C.char)(unsafe.Pointer(&names[0])), (**C.char)(unsafe.Pointer(&dtypes[0])), o, out, &c.err)
	})
}

// Rows returns the number of rows.
func (t *Table) Rows() (n uint64) {
	t.look(func(p unsafe.Pointer) { n = uint64(C.holdall_table_rows((*C.holdall_table)(p))) })
	return n
}

// Columns returns the names and dtypes of the columns, in order.
func (t *Table) Columns() (columns []Column) {
	t.look(func(p unsafe.Pointer) {
		table := (*C.holdall_table)(p)
		for i := C.uint32_t(0); i < C.holdall_table_columns(table); i++ {
			dtype := C.GoString(C.holdall_array_dtype(C.holdall_table_column(table, i)))
			columns = append(columns, Column{C.GoString(C.holdall_table_column_name(table, i)), dtype})
		}
	})
	return columns
}

// find returns the index of the column with this name.
func find(table *C.holdall_table, name string) (i C.uint32_t, is bool) {
	for ; i < C.holdall_table_columns(table); i++ {
		if C.GoString(C.holdall_table_column_name(table, i)) == name {
			return i, true
		}
	}
	return i, false
}

// Column returns a column as a read-only array, with the rows of the table along its first
// dimension. After a column is added or removed, the array returns ErrState: call Column again.
// Errors: ErrRange if there is no such column.
func (t *Table) Column(name string) (*Array, error) {
	var of *column
	err := t.view("column", func(p unsafe.Pointer, c *call) C.holdall_status {
		i, is := find((*C.holdall_table)(p), name)
		if !is {
			return c.say(C.HOLDALL_E_RANGE, "the table has no column of this name")
		}
		of = &column{t, i, t.turns.Load()}
		return C.HOLDALL_OK
	})
	if err != nil {
		return nil, err
	}
	return &Array{t.handle, of}, nil
}

func (t *Table) changed(op string, f func(t *C.holdall_table, c *call) C.holdall_status) error {
	return t.change(op, func(p unsafe.Pointer, c *call) C.holdall_status { return f((*C.holdall_table)(p), c) })
}

// Append appends rows. columns[i] holds the new items of column i, packed, in C order, for every
// column; see Bytes. After an error nothing is appended to any column.
func (t *Table) Append(rows uint64, columns ...[]byte) error {
	room := arena{}
	defer room.free()
	pointers, sizes := room.pointers(len(columns)), make([]C.size_t, len(columns)+1)
	for i, b := range columns {
		pointers[i], sizes[i] = room.bytes(b), C.size_t(len(b))
	}
	return t.changed("append", func(t *C.holdall_table, c *call) C.holdall_status {
		if int(C.holdall_table_columns(t)) != len(columns) {
			return c.say(C.HOLDALL_E_ARGUMENT, "the number of columns differs from that of the table")
		}
		return C.holdall_table_append(t, C.uint64_t(rows), (*unsafe.Pointer)(unsafe.Pointer(&pointers[0])), &sizes[0], &c.err)
	})
}

// Write overwrites rows rows of a column from row first on. src holds the items, packed, in C
// order. Errors: ErrRange if there is no such column or row.
func (t *Table) Write(name string, first, rows uint64, src []byte) error {
	return t.changed("write", func(t *C.holdall_table, c *call) C.holdall_status {
		i, _ := find(t, name) // past the last column if the name does not exist
		return C.holdall_table_write(t, i, C.uint64_t(first), C.uint64_t(rows), start(src), C.size_t(len(src)), &c.err)
	})
}

// AddColumn inserts a column before column at. src holds one item per row of the table, packed,
// in C order. Errors: ErrExists if the name exists; ErrRange if at is past the end.
func (t *Table) AddColumn(at int, column Column, src []byte) error {
	return withString("add a column", column.Name, func(name *C.char) error {
		return withString("add a column", column.Dtype, func(dtype *C.char) error {
			return t.changed("add a column", func(p *C.holdall_table, c *call) C.holdall_status {
				t.turns.Add(1)
				return C.holdall_table_column_add(p, C.uint32_t(at), name, dtype, start(src), C.size_t(len(src)), &c.err)
			})
		})
	})
}

// RemoveColumn removes a column. Errors: ErrArgument if there is no such column, or if it is the
// only one.
func (t *Table) RemoveColumn(name string) error {
	return withString("remove a column", name, func(name *C.char) error {
		return t.changed("remove a column", func(p *C.holdall_table, c *call) C.holdall_status {
			t.turns.Add(1)
			return C.holdall_table_column_remove(p, name, &c.err)
		})
	})
}

// Truncate removes all but the first rows rows. Errors: ErrRange if there are fewer.
func (t *Table) Truncate(rows uint64) error {
	return t.changed("truncate", func(t *C.holdall_table, c *call) C.holdall_status {
		return C.holdall_table_truncate(t, C.uint64_t(rows), &c.err)
	})
}

// Commit makes all changes durable and visible together: rows, columns and attributes.
func (t *Table) Commit() error {
	return t.changed("commit", func(t *C.holdall_table, c *call) C.holdall_status { return C.holdall_table_commit(t, &c.err) })
}

// Attrs returns the names of the attributes of the table.
func (t *Table) Attrs() (names []string) {
	t.look(func(p unsafe.Pointer) {
		for i := C.uint32_t(0); i < C.holdall_table_attrs((*C.holdall_table)(p)); i++ {
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
	return withString("set attr", name, func(name *C.char) error {
		return t.changed("set attr", func(t *C.holdall_table, c *call) C.holdall_status {
			i, _ := find(t, column)
			return C.holdall_table_column_attr_set(t, i, name, given(value), C.size_t(len(value)), &c.err)
		})
	})
}
