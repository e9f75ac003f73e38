package holdall

// Parts: many processes write one container, and one process commits all of them.

// #include <holdall.h>
import "C"

import "unsafe"

// PartTokenSize is the size of the token of a part in bytes.
const PartTokenSize = C.HOLDALL_PART_TOKEN_SIZE

// Part is a part of a container. Any number of processes write parts of one container at the same
// time, without knowing of each other, and one process commits them, all or none.
//
// Open Path with Append, write, commit and close it. Then Finish returns the token of the part for
// CommitParts, which another process may call. Readers never see parts. Close removes the files of
// a part that is not finished. Parts whose tokens are neither committed nor discarded stay, and
// Repair removes them.
type Part struct{ *handle }

func newPart(path string, options []Option,
	f func(path *C.char, o *C.holdall_options, c *call, out **C.holdall_part) C.holdall_status) (*Part, error) {
	const op = "create a part"
	var p *Part
	err := withString(op, path, func(path *C.char) error {
		free := func(p unsafe.Pointer) { C.holdall_part_close((*C.holdall_part)(p)) }
		h, err := open(op, options, free, func(o *C.holdall_options, c *call) C.holdall_status {
			return f(path, o, c, (**C.holdall_part)(unsafe.Pointer(&c.out)))
		})
		if err == nil {
			p = &Part{h}
		}
		return err
	})
	return p, err
}

// PartOfBag creates a part of a bag, which may not exist yet, or of a new set, such as
// "lines@*.bagz". It is a bag without records; open it with the same options, those of a writer.
func PartOfBag(spec string, options ...Option) (*Part, error) {
	return newPart(spec, options,
		func(path *C.char, o *C.holdall_options, c *call, out **C.holdall_part) C.holdall_status {
			return C.holdall_part_of_bag(path, o, out, &c.err)
		})
}

// PartOfArray creates a part of an existing array, with rows to append to it. It is an array of the
// same dtype without rows. Options: for bcolz, BLZ and the BLZ RFC layout, those of a new array of that
// format; otherwise those of a new array in a frame.
func PartOfArray(path string, options ...Option) (*Part, error) {
	return newPart(path, options,
		func(path *C.char, o *C.holdall_options, c *call, out **C.holdall_part) C.holdall_status {
			return C.holdall_part_of_array(path, 0, nil, nil, o, out, &c.err)
		})
}

// PartOfBox creates a part of an existing array: the box from start on of this shape, whose items
// replace those of the array. It is an array of this shape with zeros or the fill value. Errors:
// ErrRange if the box is not within the array.
func PartOfBox(path string, start, shape []uint64, options ...Option) (*Part, error) {
	if len(start) != len(shape) {
		return nil, refused("create a part", ErrArgument, "start has %d dimensions, shape has %d",
			len(start), len(shape))
	}
	var a arena
	defer a.free()
	ndim := C.uint32_t(len(start))
	from, lengths := a.lengths(append([]uint64{}, start...)), a.lengths(append([]uint64{}, shape...))
	return newPart(path, options,
		func(path *C.char, o *C.holdall_options, c *call, out **C.holdall_part) C.holdall_status {
			return C.holdall_part_of_array(path, ndim, from, lengths, o, out, &c.err)
		})
}

// PartOfTable creates a part of an existing table, with rows to append to it. It is a table with the
// same columns without rows. Options: those of a new table.
func PartOfTable(path string, options ...Option) (*Part, error) {
	return newPart(path, options,
		func(path *C.char, o *C.holdall_options, c *call, out **C.holdall_part) C.holdall_status {
			return C.holdall_part_of_table(path, o, out, &c.err)
		})
}

// Path returns the path of the container that is the part, or "" if the part is closed.
func (p *Part) Path() (path string) {
	p.look(func(p unsafe.Pointer) { path = C.GoString(C.holdall_part_path((*C.holdall_part)(p))) })
	return path
}

// Finish returns the token of the part, PartTokenSize bytes. The container must be committed and
// closed, and must not be changed any more. Errors: ErrState if the part is finished already.
func (p *Part) Finish() ([]byte, error) {
	token := make([]byte, PartTokenSize)
	err := p.change("finish a part", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_part_finish((*C.holdall_part)(p), start(token), &c.err)
	})
	if err != nil {
		return nil, err
	}
	return token, nil
}

// endToEnd returns the tokens end to end.
func endToEnd(op string, tokens [][]byte) ([]byte, error) {
	all := make([]byte, 0, len(tokens)*PartTokenSize)
	for i, token := range tokens {
		if len(token) != PartTokenSize {
			return nil, refused(op, ErrFormat, "token %d has %d bytes (expected %d)", i, len(token),
				PartTokenSize)
		}
		all = append(all, token...)
	}
	return all, nil
}

// CommitParts commits parts of a container, all or none, and removes them. Records and rows are
// appended in the order of the tokens; of boxes that overlap, the last one counts. Options: those
// of opening for writing. The call may be repeated after any failure, also by another process:
// parts are not committed twice. Errors: ErrMissing if an earlier call committed or discarded a
// part; ErrExists if the set exists; ErrType if a part has another dtype or other columns.
func CommitParts(path string, tokens [][]byte, options ...Option) error {
	const op = "commit parts"
	all, err := endToEnd(op, tokens)
	if err != nil {
		return err
	}
	return withString(op, path, func(path *C.char) error {
		_, err := withOptions(op, options, func(o *C.holdall_options) error {
			return run(op, func(c *call) C.holdall_status {
				return C.holdall_parts_commit(path, start(all), C.size_t(len(tokens)), o, &c.err)
			})
		})
		return err
	})
}

// DiscardParts removes parts without committing them. Those that are gone are ignored.
func DiscardParts(path string, tokens [][]byte) error {
	const op = "discard parts"
	all, err := endToEnd(op, tokens)
	if err != nil {
		return err
	}
	return withString(op, path, func(path *C.char) error {
		return run(op, func(c *call) C.holdall_status {
			return C.holdall_parts_discard(path, start(all), C.size_t(len(tokens)), &c.err)
		})
	})
}

// ListParts returns the names of the parts of a container that are being written, and of those that
// are not committed.
func ListParts(path string) ([]string, error) {
	var names []byte
	err := withString("list parts", path, func(path *C.char) error {
		return run("list parts", func(c *call) C.holdall_status {
			// another process may create a part between the two calls
			for {
				status := C.holdall_parts_list(path, (*C.char)(start(names)), C.size_t(len(names)), &c.n,
					&c.err)
				if status == C.HOLDALL_OK && int(c.n) <= len(names) {
					names = names[:c.n]
					return status
				}
				if status != C.HOLDALL_OK && status != C.HOLDALL_E_BUFFER {
					return status
				}
				names = make([]byte, c.n)
			}
		})
	})
	return listed(names), err
}
