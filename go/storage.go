package holdall

// Where the bytes live when that is no path: functions of Go's that C reads by.

// #include <holdall.h>
// #include <stdlib.h>
//
// typedef int (*holdall_go_each)(void *, const char *);
// extern int64_t holdallGoSize(void *, char *);
// extern int64_t holdallGoReadAt(void *, char *, uint64_t, void *, size_t);
// extern int64_t holdallGoList(void *, char *, holdall_go_each, void *);
// extern void holdallGoDestroy(void *);
//
// static inline int64_t go_size(void *ctx, const char *name) { return holdallGoSize(ctx, (char *)name); }
// static inline int64_t go_read_at(void *ctx, const char *name, uint64_t at, void *dst, size_t n) {
//     return holdallGoReadAt(ctx, (char *)name, at, dst, n);
// }
// static inline int64_t go_list(void *ctx, const char *folder, holdall_go_each each, void *arg) {
//     return holdallGoList(ctx, (char *)folder, each, arg);
// }
// static inline holdall_status go_storage(void *ctx, int lists, holdall_io **out, holdall_error *err) {
//     holdall_io_functions f = {0};
//     f.struct_size = sizeof f;
//     f.ctx = ctx;
//     f.size = go_size;
//     f.read_at = go_read_at;
//     f.list = lists ? go_list : NULL;
//     f.destroy = holdallGoDestroy;
//     return holdall_io_from_functions(&f, out, err);
// }
// static inline int go_each(holdall_go_each each, void *arg, const char *name) { return each(arg, name); }
import "C"

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/cgo"
	"syscall"
	"unsafe"
)

// Storage is where a container is that is read from elsewhere than a path: named files, of which a container of one file has
// the one with the name "". Where there is no such file its functions return fs.ErrNotExist. They may be called by several
// goroutines at once, until all that was opened from it is closed.
type Storage interface {
	Size(name string) (int64, error)
	// ReadAt is that of an io.ReaderAt: it reads all of p, or fewer bytes with an error, io.EOF at the end of the file.
	ReadAt(name string, p []byte, at int64) (int, error)
}

// Lister is what Storage has to be for containers that are folders: List gives the names in a folder, without its own; "" is
// the storage itself.
type Lister interface {
	List(folder string) ([]string, error)
}

// Memory is Storage of one file, which is not changed as long as it is open.
type Memory []byte

// Size is its length.
func (m Memory) Size(name string) (int64, error) {
	if name != "" {
		return 0, fs.ErrNotExist
	}
	return int64(len(m)), nil
}

// ReadAt copies from it.
func (m Memory) ReadAt(name string, p []byte, at int64) (int, error) {
	if name != "" {
		return 0, fs.ErrNotExist
	}
	if at > int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// OpenBagIn opens a bag for reading, of several places one whose shards they are. No name tells whether its records are compressed: say
// Compress(CodecZstd) where they are.
func OpenBagIn(shards []Storage, options ...Option) (*Bag, error) {
	h, err := openIn("open a bag", shards, options, freeBag, func(io **C.holdall_io, o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_bag_open_io(io, C.uint32_t(len(shards)), o, (**C.holdall_bag)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		return nil, err
	}
	return &Bag{h}, nil
}

// OpenSchunkIn opens a superchunk for reading.
func OpenSchunkIn(storage Storage, options ...Option) (*Schunk, error) {
	h, err := openIn("open a superchunk", []Storage{storage}, options, freeSchunk, func(io **C.holdall_io, o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_schunk_open_io(*io, C.HOLDALL_READ, o, (**C.holdall_schunk)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		return nil, err
	}
	return &Schunk{h}, nil
}

// OpenArrayIn opens an array for reading.
func OpenArrayIn(storage Storage, options ...Option) (*Array, error) {
	h, err := openIn("open an array", []Storage{storage}, options, freeArray, func(io **C.holdall_io, o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_array_open_io(*io, C.HOLDALL_READ, o, (**C.holdall_array)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		return nil, err
	}
	return &Array{h, nil}, nil
}

// OpenTableIn opens a table for reading.
func OpenTableIn(storage Storage, options ...Option) (*Table, error) {
	h, err := openIn("open a table", []Storage{storage}, options, freeTable, func(io **C.holdall_io, o *C.holdall_options, c *call) C.holdall_status {
		return C.holdall_table_open_io(*io, C.HOLDALL_READ, o, (**C.holdall_table)(unsafe.Pointer(&c.out)), &c.err)
	})
	if err != nil {
		return nil, err
	}
	return &Table{handle: h}, nil
}

// openIn is open with storage, handles of which are in memory of C's while f runs. What is opened keeps it.
func openIn(op string, places []Storage, options []Option, free func(unsafe.Pointer), f func(io **C.holdall_io, o *C.holdall_options, c *call) C.holdall_status) (*handle, error) {
	const size = unsafe.Sizeof((*C.holdall_io)(nil))
	list := (**C.holdall_io)(C.calloc(C.size_t(len(places)+1), C.size_t(size)))
	handles := unsafe.Slice(list, len(places))
	defer func() {
		for _, io := range handles {
			C.holdall_io_close(io)
		}
		C.free(unsafe.Pointer(list))
	}()
	var keep []*callback
	for i, place := range places {
		storage, err := newStorage(op, place, &handles[i])
		if err != nil {
			return nil, err
		}
		keep = append(keep, storage)
	}
	h, err := open(op, options, free, false, func(o *C.holdall_options, c *call) C.holdall_status { return f(list, o, c) })
	if err != nil {
		return nil, explained(err, keep)
	}
	h.keep = append(h.keep, keep...)
	return h, nil
}

// newStorage hands storage to C, which tells when it is done with it: it goes by destroy, not when it is garbage.
func newStorage(op string, place Storage, out **C.holdall_io) (*callback, error) {
	if place == nil {
		return nil, refused(op, ErrArgument, "no storage")
	}
	c := newCallback(place)
	runtime.SetFinalizer(c, nil)
	lists := C.int(0)
	if _, is := place.(Lister); is {
		lists = 1
	}
	err := run(op, func(call *call) C.holdall_status { return C.go_storage(c.ctx, lists, out, &call.err) })
	if err != nil {
		holdallGoDestroy(c.ctx)
		return nil, err
	}
	return c, nil
}

// asked asks storage, and gives C what it says, or -errno; the error itself is kept.
func asked(ctx unsafe.Pointer, f func(storage Storage) (int64, error)) (result C.int64_t) {
	to := (*(*cgo.Handle)(ctx)).Value().(*failed)
	defer func() {
		if p := recover(); p != nil {
			to.fail(fmt.Errorf("the storage panicked: %v", p))
			result = -C.int64_t(syscall.EIO)
		}
	}()
	n, err := f(to.call.(Storage))
	if err == nil {
		return C.int64_t(n)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return -C.int64_t(syscall.ENOENT)
	}
	to.fail(err)
	var errno syscall.Errno
	if errors.As(err, &errno) && errno > 0 {
		return -C.int64_t(errno)
	}
	return -C.int64_t(syscall.EIO)
}

//export holdallGoSize
func holdallGoSize(ctx unsafe.Pointer, name *C.char) C.int64_t {
	return asked(ctx, func(s Storage) (int64, error) { return s.Size(C.GoString(name)) })
}

//export holdallGoReadAt
func holdallGoReadAt(ctx unsafe.Pointer, name *C.char, at C.uint64_t, dst unsafe.Pointer, n C.size_t) C.int64_t {
	return asked(ctx, func(s Storage) (int64, error) {
		have, err := s.ReadAt(C.GoString(name), unsafe.Slice((*byte)(dst), int(n)), int64(at))
		if err == io.EOF {
			err = nil
		}
		return int64(have), err
	})
}

//export holdallGoList
func holdallGoList(ctx unsafe.Pointer, folder *C.char, each C.holdall_go_each, arg unsafe.Pointer) C.int64_t {
	return asked(ctx, func(s Storage) (int64, error) {
		names, err := s.(Lister).List(C.GoString(folder))
		for _, name := range names {
			p := C.CString(name)
			stop := C.go_each(each, arg, p)
			C.free(unsafe.Pointer(p))
			if stop != 0 {
				break
			}
		}
		return 0, err
	})
}

//export holdallGoDestroy
func holdallGoDestroy(ctx unsafe.Pointer) {
	(*(*cgo.Handle)(ctx)).Delete()
	C.free(ctx)
}
