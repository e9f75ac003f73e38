package holdall

// What an array has besides its items: named values, the item where nothing was written, objects of Python's.

// #include <holdall.h>
import "C"

// Fill is the item that is where nothing was written; nil: zeros.
func (a *Array) Fill() (item []byte, err error) {
	err = a.view("fill", func(a *C.holdall_array, c *call) C.holdall_status {
		status := C.holdall_array_fill(a, &c.out, &c.n, &c.err)
		item, _ = taken(status, c)
		return found(status)
	})
	return item, err
}

// SetFill sets it; nil: zeros.
func (a *Array) SetFill(item []byte) error {
	return a.change("set fill", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
		return C.holdall_array_fill_set(a, start(item), C.size_t(len(item)), e)
	})
}

// ReadObject is item i of an array of Python's objects, pickled: whoever unpickles it runs what its writer wanted.
func (a *Array) ReadObject(i uint64) (object []byte, err error) {
	err = a.view("read an object", func(a *C.holdall_array, c *call) C.holdall_status {
		status := C.holdall_array_read_object(a, C.uint64_t(i), nil, 0, &c.n, &c.err)
		if status < 0 {
			return status
		}
		object = make([]byte, c.n)
		return C.holdall_array_read_object(a, C.uint64_t(i), start(object), C.size_t(len(object)), &c.n, &c.err)
	})
	return unless(object, err)
}

// Attrs are the names of its values; that of Bloscpack's metadata is "".
func (a *Array) Attrs() (names []string) {
	a.look(func(a *C.holdall_array) {
		for i := C.uint32_t(0); i < C.holdall_array_attrs(a); i++ {
			names = append(names, C.GoString(C.holdall_array_attr_name(a, i)))
		}
	})
	return names
}

// Attr is a named value, if there is one: JSON, of frames any bytes.
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

// SetAttr sets a named value; nil removes it.
func (a *Array) SetAttr(name string, value []byte) error {
	return withString("set attr", name, func(name *C.char) error {
		return a.change("set attr", func(a *C.holdall_array, e *C.holdall_error) C.holdall_status {
			return C.holdall_array_attr_set(a, name, given(value), C.size_t(len(value)), e)
		})
	})
}
