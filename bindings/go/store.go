package holdall

// Stores of python-blosc2: trees of arrays and superchunks.

// #include <holdall.h>
import "C"

import "unsafe"

// Store is an open store of python-blosc2: a tree of arrays and superchunks, its nodes, in a folder
// (.b2d), a zip archive (.b2z) or a frame (.b2e). OpenArray and OpenSchunk also accept the path of a
// node, such as "x.b2z/group/a"; nodes of a folder open for changes, too.
type Store struct{ *handle }

// OpenStore opens a store for reading. It lists the nodes once: open it again to find later ones.
// Errors: ErrFormat if there is no store, or if members of an archive overlap or lead out of it.
func OpenStore(path string, options ...Option) (*Store, error) {
	free := func(p unsafe.Pointer) { C.holdall_store_close((*C.holdall_store)(p)) }
	var h *handle
	err := withString("open a store", path, func(path *C.char) (err error) {
		h, err = open("open a store", options, free,
			func(o *C.holdall_options, c *call) C.holdall_status {
				return C.holdall_store_open(path, o, (**C.holdall_store)(unsafe.Pointer(&c.out)), &c.err)
			})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Store{h}, nil
}

// Nodes returns the paths of all nodes, in order. They begin with a slash. A table is one node; a
// node __vlmeta__ is a superchunk with the attributes of its group.
func (s *Store) Nodes() (nodes []string) {
	s.look(func(p unsafe.Pointer) {
		store := (*C.holdall_store)(p)
		for i := C.size_t(0); i < C.holdall_store_node_count(store); i++ {
			nodes = append(nodes, C.GoString(C.holdall_store_node_path(store, i)))
		}
	})
	return nodes
}

// Identify returns the format and kind of a node. Errors: ErrMissing if there is no such node,
// ErrType for a group, ErrUnsupported for a reference to remote content, ErrFormat if two files have
// this path.
func (s *Store) Identify(node string) (format Format, kind Kind, err error) {
	err = withString("identify a node", node, func(node *C.char) error {
		return s.view("identify a node", func(p unsafe.Pointer, c *call) C.holdall_status {
			f := (*C.holdall_format)(unsafe.Pointer(&c.numbers[0]))
			k := (*C.holdall_kind)(unsafe.Pointer(&c.numbers[1]))
			status := C.holdall_store_identify((*C.holdall_store)(p), node, f, k, &c.err)
			format, kind = Format(*f), Kind(*k)
			return status
		})
	})
	return format, kind, err
}

func (s *Store) node(op, node string, options []Option, free func(unsafe.Pointer),
	f func(store *C.holdall_store, node *C.char, o *C.holdall_options,
		c *call) C.holdall_status) (h *handle, err error) {
	err = withString(op, node, func(node *C.char) (err error) {
		h, err = s.made(op, options, free, nil,
			func(p unsafe.Pointer, o *C.holdall_options, c *call) C.holdall_status {
				return f((*C.holdall_store)(p), node, o, c)
			})
		return err
	})
	return h, err
}

// Array opens a node that is an array, for reading. Errors: those of Identify and OpenArray.
func (s *Store) Array(node string, options ...Option) (*Array, error) {
	h, err := s.node("open an array", node, options, freeArray,
		func(store *C.holdall_store, node *C.char, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_store_open_array(store, node, o,
				(**C.holdall_array)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Array{h, nil}, nil
}

// Schunk opens a node as a superchunk, for reading. Errors: those of Identify and OpenSchunk.
func (s *Store) Schunk(node string, options ...Option) (*Schunk, error) {
	h, err := s.node("open a superchunk", node, options, freeSchunk,
		func(store *C.holdall_store, node *C.char, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_store_open_schunk(store, node, o,
				(**C.holdall_schunk)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Schunk{h}, nil
}

// Table opens a node that is a table, for reading. Errors: those of Identify and OpenTable.
func (s *Store) Table(node string, options ...Option) (*Table, error) {
	h, err := s.node("open a table", node, options, freeTable,
		func(store *C.holdall_store, node *C.char, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_store_open_table(store, node, o,
				(**C.holdall_table)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}
