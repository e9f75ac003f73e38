package holdall

// Storage of the caller, which replaces a path: C reads through Go methods.

// #include <holdall.h>
// #include <stdlib.h>
//
// typedef int (*holdall_go_each)(void *, const char *);
// extern int64_t holdallGoSize(void *, char *);
// extern int64_t holdallGoReadAt(void *, char *, uint64_t, void *, size_t);
// extern int64_t holdallGoReadRanges(void *, holdall_storage_range *, size_t);
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
// static inline holdall_status go_storage(void *ctx, int lists, int ranges, holdall_storage **out, holdall_error *err) {
//     holdall_storage_functions f = {0};
//     f.struct_size = sizeof f;
//     f.ctx = ctx;
//     f.size = go_size;
//     f.read_at = go_read_at;
//     f.list = lists ? go_list : NULL;
//     f.destroy = holdallGoDestroy;
//     f.read_ranges = ranges ? holdallGoReadRanges : NULL;
//     return holdall_storage_from_functions(&f, out, err);
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

// Storage is a set of named files that replaces a path, for reading. A container in one file is
// the file "". If a file does not exist, a method must return an error that matches
// fs.ErrNotExist. Several goroutines may call the methods at once, until everything that was
// opened from the storage is closed.
type Storage interface {
	// Size returns the size of a file in bytes.
	Size(name string) (int64, error)
	// ReadAt reads len(p) bytes of a file at offset at, as io.ReaderAt does. It returns fewer bytes
	// only with an error, which is io.EOF at the end of the file.
	ReadAt(name string, p []byte, at int64) (int, error)
}

// Lister is an optional interface of a Storage. Containers in folders require it. List returns
// the names of the files and folders in a folder, without the path of the folder; "" is the root
// of the storage.
type Lister interface {
	List(folder string) ([]string, error)
}

// RangeReader is an optional interface of a Storage in which each call takes long, such as a server.
// Frames and bags are then opened and read with few calls of ReadRanges. Folders call the other
// methods.
type RangeReader interface {
	// ReadRanges reads ranges, at once or one by one, and sets Size or Err of each. An error fails all.
	ReadRanges(ranges []StorageRange) error
}

// StorageRange is a range of a file, for ReadRanges.
type StorageRange struct {
	// Name is that of the file.
	Name string
	// At is the offset. If it is negative, it is counted from the end of the file, and the range begins
	// at 0 if the file is shorter.
	At int64
	// Data is the destination of the bytes that the file has of the range; it may be empty.
	Data []byte
	// Size is to be set to the size of the file in bytes, unless Err is set.
	Size int64
	// Err is to be set if the range cannot be read: to one that matches fs.ErrNotExist if the file does
	// not exist.
	Err error
}

// Memory is a Storage with one file, "". The bytes must not change while a container is open.
type Memory []byte

// Size returns the number of bytes.
func (m Memory) Size(name string) (int64, error) {
	if name != "" {
		return 0, fs.ErrNotExist
	}
	return int64(len(m)), nil
}

// ReadAt copies bytes at offset at to p.
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

// MemoryFiles is a Storage of files in memory that can be written. Containers that are created with
// UseStorage of it, and the path "", are in its file "", or are folders of its files. Writers exclude
// each other, as on a disk.
type MemoryFiles struct{ *handle }

// NewMemoryFiles returns a storage without files.
func NewMemoryFiles() (*MemoryFiles, error) {
	free := func(p unsafe.Pointer) { C.holdall_storage_free((*C.holdall_storage)(p)) }
	h, err := open("create files in memory", nil, free,
		func(_ *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_storage_new_memory((**C.holdall_storage)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &MemoryFiles{h}, nil
}

// view calls f with the content of a file in C memory, which is valid during the call.
func (m *MemoryFiles) view(name string, f func(content []byte)) error {
	var bytes unsafe.Pointer
	var n C.size_t
	room := arena{}
	defer room.free()
	return m.change("read a file", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_storage_get_file((*C.holdall_storage)(p), room.text(name), &bytes, &n, &c.err)
		if status == C.HOLDALL_OK {
			f(unsafe.Slice((*byte)(bytes), int(n)))
		}
		return status
	})
}

// File returns a copy of a file. The name "" is that of a container in one file.
func (m *MemoryFiles) File(name string) (content []byte, err error) {
	err = m.view(name, func(there []byte) { content = append([]byte{}, there...) })
	return content, err
}

// Put stores a file, which is copied. Open containers keep a previous file of this name.
func (m *MemoryFiles) Put(name string, content []byte) error {
	room := arena{}
	defer room.free()
	return m.change("store a file", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_storage_put_file((*C.holdall_storage)(p), room.text(name), room.bytes(content),
			C.size_t(len(content)), &c.err)
	})
}

// Names returns the names of all files.
func (m *MemoryFiles) Names() (names []string, err error) {
	err = m.change("list files", func(p unsafe.Pointer, c *call) C.holdall_status {
		count := C.holdall_storage_file_count((*C.holdall_storage)(p))
		for i := C.size_t(0); i < count; i++ {
			names = append(names, C.GoString(C.holdall_storage_file_name((*C.holdall_storage)(p), i)))
		}
		return C.HOLDALL_OK
	})
	return names, err
}

// Size returns the size of a file in bytes.
func (m *MemoryFiles) Size(name string) (n int64, err error) {
	err = m.view(name, func(content []byte) { n = int64(len(content)) })
	return n, err
}

// ReadAt copies bytes of a file at offset at to p.
func (m *MemoryFiles) ReadAt(name string, p []byte, at int64) (n int, err error) {
	var end error
	err = m.view(name, func(content []byte) { n, end = Memory(content).ReadAt("", p, at) })
	if err == nil {
		err = end
	}
	return n, err
}

// UseStorage replaces the path of a call, which must then be "", by a storage, which is for reading
// unless it is a MemoryFiles. Several
// are the shards of OpenBag. A bag in a storage has no file name that shows whether its records are
// compressed: pass Compress(CodecZstd) if they are.
func UseStorage(storages ...Storage) Option {
	return Option{func(o *C.holdall_options, c *call) (keep []*callback, status C.holdall_status) {
		room := arena{}
		defer room.free()
		pointers := room.pointers(len(storages))
		handles := unsafe.Slice((**C.holdall_storage)(unsafe.Pointer(&pointers[0])), len(pointers))
		defer func() { // the options hold the storages
			for _, handle := range handles {
				C.holdall_storage_free(handle)
			}
		}()
		for i, storage := range storages {
			if storage == nil {
				return keep, c.say(C.HOLDALL_E_ARGUMENT, "the storage is nil")
			}
			if files, is := storage.(*MemoryFiles); is {
				if status := files.share(&handles[i], c); status != C.HOLDALL_OK {
					return keep, status
				}
				continue
			}
			f, status := newStorage(storage, &handles[i], c)
			if status != C.HOLDALL_OK {
				return keep, status
			}
			keep = append(keep, f)
		}
		return keep, C.holdall_options_set_storage(o, &handles[0], C.uint32_t(len(storages)), &c.err)
	}}
}

// share returns another C handle of the files.
func (m *MemoryFiles) share(out **C.holdall_storage, c *call) C.holdall_status {
	if !m.enter() {
		return c.say(C.HOLDALL_E_STATE, "the files in memory are closed")
	}
	defer m.leave()
	return C.holdall_storage_clone((*C.holdall_storage)(m.p), out, &c.err)
}

// newStorage passes a storage to C. C calls destroy when no handle uses the storage any more, so
// the finalizer is removed.
func newStorage(storage Storage, out **C.holdall_storage, c *call) (*callback, C.holdall_status) {
	f := newCallback(storage)
	runtime.SetFinalizer(f, nil)
	lists, ranges := C.int(0), C.int(0)
	if _, is := storage.(Lister); is {
		lists = 1
	}
	if _, is := storage.(RangeReader); is {
		ranges = 1
	}
	status := C.go_storage(f.ctx, lists, ranges, out, &c.err)
	if status != C.HOLDALL_OK {
		holdallGoDestroy(f.ctx)
	}
	return f, status
}

// asked calls a method of the storage and returns its result or -errno. The error itself is
// stored for the error of the call.
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
	return negated(to, err)
}

// negated returns -errno of an error, which is stored for the error of the call unless it says that
// a file does not exist.
func negated(to *failed, err error) C.int64_t {
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
func holdallGoReadAt(ctx unsafe.Pointer, name *C.char, at C.uint64_t, dst unsafe.Pointer,
	n C.size_t) C.int64_t {
	return asked(ctx, func(s Storage) (int64, error) {
		have, err := s.ReadAt(C.GoString(name), unsafe.Slice((*byte)(dst), int(n)), int64(at))
		if err == io.EOF {
			err = nil
		}
		return int64(have), err
	})
}

//export holdallGoReadRanges
func holdallGoReadRanges(ctx unsafe.Pointer, ranges *C.holdall_storage_range, n C.size_t) C.int64_t {
	to := (*(*cgo.Handle)(ctx)).Value().(*failed)
	return asked(ctx, func(s Storage) (int64, error) {
		requested := unsafe.Slice(ranges, int(n))
		all := make([]StorageRange, len(requested))
		for i, r := range requested {
			all[i] = StorageRange{
				Name: C.GoString(r.name),
				At:   int64(r.at),
				Data: unsafe.Slice((*byte)(r.dst), int(r.n)),
			}
		}
		if err := s.(RangeReader).ReadRanges(all); err != nil {
			return 0, err
		}
		for i, read := range all {
			if read.Err != nil {
				requested[i].size = negated(to, read.Err)
			} else {
				requested[i].size = C.int64_t(read.Size)
			}
		}
		return 0, nil
	})
}

//export holdallGoList
func holdallGoList(ctx unsafe.Pointer, folder *C.char, each C.holdall_go_each,
	arg unsafe.Pointer) C.int64_t {
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
