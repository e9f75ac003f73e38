package holdall

// Stores of python-blosc2: trees of arrays, superchunks and tables.

// #include <holdall.h>
import "C"

import "unsafe"

// Store is an open store of python-blosc2: a tree of arrays, superchunks and tables, its nodes, in
// a folder (.b2d), a zip archive (.b2z) or a frame (.b2e). OpenArray, OpenSchunk and OpenTable
// also accept the path of a node, such as "x.b2z/group/a"; nodes of a folder open for changes,
// too.
//
// A store that is open for changes has one commit for all nodes: what the nodes commit becomes
// visible with Store.Commit. While a node is open for changes, no other goroutine may use the
// store.
type Store struct{ *handle }

func store(op, path string, options []Option,
	f func(path *C.char, o *C.holdall_options, out **C.holdall_store,
		c *call) C.holdall_status) (*Store, error) {
	free := func(p unsafe.Pointer) { C.holdall_store_close((*C.holdall_store)(p)) }
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = open(op, options, free, func(o *C.holdall_options, c *call) C.holdall_status {
			return f(path, o, (**C.holdall_store)(unsafe.Pointer(&c.out)), c)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Store{h}, nil
}

// OpenStore opens a store: ReadOnly to read, Append to change several nodes in one commit. Errors:
// ErrFormat if there is no store, or if members of an archive overlap or lead out of it; ErrBusy if
// another writer has the store or a node open.
func OpenStore(path string, mode Mode, options ...Option) (*Store, error) {
	return store("open a store", path, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_store, c *call) C.holdall_status {
			return C.holdall_store_open(path, C.holdall_mode(mode), o, out, &c.err)
		})
}

// CreateStore creates a store, which exists from its first commit on. mode is Create or Replace.
// format is B2D, B2Z or B2E; 0: the end of the path determines it. Errors: ErrExists if mode is
// Create and the path exists; ErrArgument if the end of the path is that of another format.
func CreateStore(path string, mode Mode, format Format, options ...Option) (*Store, error) {
	return store("create a store", path, options,
		func(path *C.char, o *C.holdall_options, out **C.holdall_store, c *call) C.holdall_status {
			return C.holdall_store_create(path, C.holdall_mode(mode), C.holdall_format(format), o, out,
				&c.err)
		})
}

// Nodes returns the paths of all nodes at the last commit, in order. They begin with a slash. A
// table is one node; a node __vlmeta__ is a superchunk with the attributes of its group.
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
// ErrType for a group, ErrUnsupported for a reference to remote content, ErrFormat if two files
// have this path.
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

// Copy copies all nodes, as they are stored, to a new store, which appears complete or not at all.
// mode and format are as for CreateStore. Errors: those of CreateStore; ErrUnsupported for a table
// that would be in a .b2e store.
func (s *Store) Copy(path string, mode Mode, format Format, options ...Option) error {
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return s.view("copy", func(p unsafe.Pointer, c *call) C.holdall_status {
				return C.holdall_store_copy((*C.holdall_store)(p), path, C.holdall_mode(mode),
					C.holdall_format(format), o, &c.err)
			})
		})
		return err
	})
}

// Array opens a node that is an array: ReadOnly to read, Append to change it if the store is open
// for changes. Errors: those of Identify and OpenArray; ErrState if the store is open for reading.
func (s *Store) Array(node string, mode Mode, options ...Option) (*Array, error) {
	h, err := s.node("open an array", node, options, freeArray,
		func(store *C.holdall_store, node *C.char, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_store_open_array(store, node, C.holdall_mode(mode), o,
				(**C.holdall_array)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Array{h, nil}, nil
}

// Schunk opens a node as a superchunk, in a mode as for Array. Errors: those of Identify and
// OpenSchunk; ErrState if the store is open for reading.
func (s *Store) Schunk(node string, mode Mode, options ...Option) (*Schunk, error) {
	h, err := s.node("open a superchunk", node, options, freeSchunk,
		func(store *C.holdall_store, node *C.char, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_store_open_schunk(store, node, C.holdall_mode(mode), o,
				(**C.holdall_schunk)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Schunk{h}, nil
}

// Table opens a node that is a table, in a mode as for Array. Errors: those of Identify and
// OpenTable; ErrState if the store is open for reading.
func (s *Store) Table(node string, mode Mode, options ...Option) (*Table, error) {
	h, err := s.node("open a table", node, options, freeTable,
		func(store *C.holdall_store, node *C.char, o *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_store_open_table(store, node, C.holdall_mode(mode), o,
				(**C.holdall_table)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}

// NewNode replaces the path of a call, which must then be "", by a new node of the store. The call
// creates, or copies to it, an array (B2ND), a superchunk (B2Frame) or a table (CTable): kind. It
// creates the groups of the path. Errors of that call: ErrExists if another kind of node has this
// path, or a table is above or below it; ErrArgument for a step such as ".."; ErrUnsupported for a
// table in a .b2e store; ErrState if the store is open for reading.
func (s *Store) NewNode(node string, kind Kind) Option {
	return Option{func(o *C.holdall_options, c *call) ([]*callback, C.holdall_status) {
		if checked("", node) != nil {
			return nil, c.say(C.HOLDALL_E_ARGUMENT, "the path of the node contains a NUL byte")
		}
		if !s.enter() {
			return nil, c.say(C.HOLDALL_E_STATE, "the store is closed")
		}
		defer s.leave()
		s.turn.RLock()
		defer s.turn.RUnlock()
		room := arena{}
		defer room.free()
		var storage *C.holdall_storage
		status := C.holdall_store_node_storage((*C.holdall_store)(s.p), room.text(node),
			C.holdall_kind(kind), &storage, &c.err)
		if status != C.HOLDALL_OK {
			return nil, status
		}
		defer C.holdall_storage_free(storage)
		return s.keep, C.holdall_options_set_storage(o, &storage, 1, &c.err)
	}}
}

// Remove removes a node, or a group with its nodes, with the next commit. No handle of it may be
// open. Errors: ErrMissing if there is no such node.
func (s *Store) Remove(node string) error {
	return withString("remove a node", node, func(node *C.char) error {
		return s.change("remove a node", func(p unsafe.Pointer, c *call) C.holdall_status {
			return C.holdall_store_remove((*C.holdall_store)(p), node, &c.err)
		})
	})
}

// Commit makes what nodes have committed, and removals, durable and visible together. Open nodes
// stay valid. An archive or a frame is written again. Errors: ErrState if the store is open for
// reading, or another program has changed a node; ErrUnsupported if a node was created in another
// format.
func (s *Store) Commit() error {
	return s.change("commit", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_store_commit((*C.holdall_store)(p), &c.err)
	})
}
