package holdall

// Named values, fill values and Python objects of arrays.

// #include <holdall.h>
import "C"

import "unsafe"

// FillValue returns the fill value: the item that reads return where nothing was written. nil
// stands for zeros.
func (a *Array) FillValue() (item []byte, err error) {
	err = a.view("fill value", func(a *C.holdall_array, c *call) C.holdall_status {
		status := C.holdall_array_fill_value_get(a, &c.out, &c.n, &c.err)
		if c.out != nil {
			item, _ = taken(status, c)
		}
		return status
	})
	return item, err
}

// SetFillValue sets the fill value for later growth: one item or row; nil stands for zeros. Errors:
// ErrUnsupported for Bloscpack files and frames.
func (a *Array) SetFillValue(item []byte) error {
	return a.change("set fill value", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_fill_value_set(a, start(item), C.size_t(len(item)), e)
	})
}

// ReadObject returns the pickle of item i of an array of Python objects. Unpickling runs code
// that the writer of the file chose. In CTables it returns texts as UTF-8, bytes as they are, lists,
// structures and any objects in MessagePack. Errors: ErrType for other arrays; ErrRange if there is no
// item i.
func (a *Array) ReadObject(i uint64) (object []byte, err error) {
	err = a.view("read an object", func(a *C.holdall_array, c *call) C.holdall_status {
		status := C.holdall_array_read_object(a, C.uint64_t(i), nil, 0, &c.n, &c.err)
		if status < 0 {
			return status
		}
		object = make([]byte, c.n)
		return C.holdall_array_read_object(a, C.uint64_t(i), start(object), C.size_t(len(object)), &c.n,
			&c.err)
	})
	return unless(object, err)
}

// ReadValues returns count items from first on, each as ReadObject does; nil for a null. Errors:
// those of ReadObject.
func (a *Array) ReadValues(first uint64, count int) (values [][]byte, err error) {
	if count < 0 {
		return nil, refused("read values", ErrArgument, "the count is %d", count)
	}
	err = a.view("read values", func(a *C.holdall_array, c *call) C.holdall_status {
		var read *C.holdall_values
		status := C.holdall_array_read_values(a, C.uint64_t(first), C.uint64_t(count), &read, &c.err)
		if status < 0 {
			return status
		}
		defer C.holdall_values_free(read)
		values = make([][]byte, count)
		for i, value := range unsafe.Slice(C.holdall_values_items(read), count) {
			if value.data != nil {
				values[i] = append([]byte{}, unsafe.Slice((*byte)(value.data), int(value.size))...)
			}
		}
		return status
	})
	return values, err
}

// MetaFiles returns the names of the further files in the folder meta of a dataset, in order. Other
// formats have none.
func (a *Array) MetaFiles() (names []string, err error) {
	var text []byte
	err = a.view("list metadata files", func(a *C.holdall_array, c *call) C.holdall_status {
		status := C.holdall_array_meta_file_names(a, nil, 0, &c.n, &c.err)
		if status < 0 {
			return status
		}
		text = make([]byte, c.n)
		return C.holdall_array_meta_file_names(a, (*C.char)(start(text)), C.size_t(len(text)), &c.n,
			&c.err)
	})
	if err != nil {
		return nil, err
	}
	return listed(text), nil
}

// MetaFile returns the bytes of such a file and whether it exists. Errors: ErrArgument if no such
// file can have this name.
func (a *Array) MetaFile(name string) (value []byte, is bool, err error) {
	err = withString("metadata file", name, func(name *C.char) error {
		return a.view("metadata file", func(a *C.holdall_array, c *call) C.holdall_status {
			status := C.holdall_array_meta_file_read(a, name, nil, 0, &c.n, &c.err)
			if status != C.HOLDALL_OK {
				return found(status)
			}
			value, is = make([]byte, c.n), true
			return C.holdall_array_meta_file_read(a, name, start(value), C.size_t(len(value)), &c.n,
				&c.err)
		})
	})
	return value, is, err
}

// SetMetaFile sets the bytes of such a file; nil removes it. The commit writes it. Errors:
// ErrArgument for a name that such a file cannot have; ErrUnsupported for other formats.
func (a *Array) SetMetaFile(name string, value []byte) error {
	return withString("set metadata file", name, func(name *C.char) error {
		return a.change("set metadata file", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_meta_file_write(a, name, given(value), C.size_t(len(value)), e)
		})
	})
}

// Attrs returns the names of the named values. A Bloscpack file has one, "", its metadata.
func (a *Array) Attrs() (names []string) {
	a.look(func(a *C.holdall_array) {
		for i := C.uint32_t(0); i < C.holdall_array_attr_count(a); i++ {
			names = append(names, C.GoString(C.holdall_array_attr_name(a, i)))
		}
	})
	return names
}

// Attr returns a named value and whether it exists. The value is JSON; in frames it is any bytes.
func (a *Array) Attr(name string) (value []byte, is bool, err error) {
	err = withString("attr", name, func(name *C.char) error {
		return a.view("attr", func(a *C.holdall_array, c *call) C.holdall_status {
			status := C.holdall_array_attr_get(a, name, &c.out, &c.n, &c.err)
			value, is = taken(status, c)
			return found(status)
		})
	})
	return value, is, err
}

// SetFixedAttr sets a named value of fixed length, in the header of a frame. A new one, or another
// length, makes the commit rewrite a file that has chunks.
func (a *Array) SetFixedAttr(name string, value []byte) error {
	return withString("set attr", name, func(name *C.char) error {
		return a.change("set attr", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_attr_set_fixed(a, name, given(value), C.size_t(len(value)), e)
		})
	})
}

// SetAttr sets a named value; nil removes it.
func (a *Array) SetAttr(name string, value []byte) error {
	return withString("set attr", name, func(name *C.char) error {
		return a.change("set attr", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_attr_set(a, name, given(value), C.size_t(len(value)), e)
		})
	})
}
