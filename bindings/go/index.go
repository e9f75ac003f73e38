package holdall

// Indexes of bags: from content to record numbers.

// #include <holdall.h>
import "C"

import "unsafe"

// NoRecord stands for the number of a record that does not exist.
const NoRecord = ^uint64(0)

// Index finds the records of a bag that have a given content.
type Index struct{ *handle }

func (b *Bag) index(op, path string, options []Option,
	f func(bag *C.holdall_bag, path *C.char, o *C.holdall_options, out **C.holdall_bag_index,
		c *call) C.holdall_status) (*Index, error) {
	free := func(p unsafe.Pointer) { C.holdall_bag_index_close((*C.holdall_bag_index)(p)) }
	var h *handle
	err := withString(op, path, func(path *C.char) (err error) {
		h, err = b.made(op, options, free, nil,
			func(p unsafe.Pointer, o *C.holdall_options, c *call) C.holdall_status {
				return f((*C.holdall_bag)(p), path, o, (**C.holdall_bag_index)(unsafe.Pointer(&c.out)), c)
			})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Index{h}, nil
}

// BuildIndex builds an index in memory.
func (b *Bag) BuildIndex(options ...Option) (*Index, error) {
	return b.index("build an index", "", options,
		func(bag *C.holdall_bag, _ *C.char, o *C.holdall_options, out **C.holdall_bag_index,
			c *call) C.holdall_status {
			return C.holdall_bag_index_build(bag, o, out, &c.err)
		})
}

// CreateIndex builds an index in a file, Create or Replace, and opens it. Errors: ErrExists if
// mode is Create and the path exists.
func (b *Bag) CreateIndex(path string, mode Mode, options ...Option) (*Index, error) {
	return b.index("create an index", path, options,
		func(bag *C.holdall_bag, path *C.char, o *C.holdall_options, out **C.holdall_bag_index,
			c *call) C.holdall_status {
			return C.holdall_bag_index_create(path, C.holdall_mode(mode), bag, o, out, &c.err)
		})
}

// OpenIndex opens an index from a file. Errors: ErrState if it belongs to another bag or to
// another state of this one; ErrFormat or ErrChecksum if it is not an index, or corrupt.
func (b *Bag) OpenIndex(path string, options ...Option) (*Index, error) {
	return b.index("open an index", path, options,
		func(bag *C.holdall_bag, path *C.char, o *C.holdall_options, out **C.holdall_bag_index,
			c *call) C.holdall_status {
			return C.holdall_bag_index_open(path, bag, o, out, &c.err)
		})
}

// KeyCount returns the number of distinct records.
func (x *Index) KeyCount() (n uint64) {
	x.look(func(p unsafe.Pointer) {
		n = uint64(C.holdall_bag_index_key_count((*C.holdall_bag_index)(p)))
	})
	return n
}

// DamagedCount returns the number of records that were corrupt when the index was built. The index
// leaves them out.
func (x *Index) DamagedCount() (n uint64) {
	x.look(func(p unsafe.Pointer) {
		n = uint64(C.holdall_bag_index_damaged_count((*C.holdall_bag_index)(p)))
	})
	return n
}

// First returns the number of the first record equal to key, or NoRecord.
func (x *Index) First(key []byte) (record uint64, err error) {
	err = x.view("find", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_bag_index_find_first((*C.holdall_bag_index)(p), start(key),
			C.size_t(len(key)), &c.numbers[0], &c.err)
		record = uint64(c.numbers[0])
		return found(status)
	})
	return record, err
}

// Find returns the numbers of all records equal to key, ascending.
func (x *Index) Find(key []byte) (records []uint64, err error) {
	err = x.view("find", func(p unsafe.Pointer, c *call) C.holdall_status {
		index, room := (*C.holdall_bag_index)(p), [16]uint64{}
		records = room[:]
		status := C.holdall_bag_index_find(index, start(key), C.size_t(len(key)), numbers(records),
			C.size_t(len(records)), &c.n, &c.err)
		if status == C.HOLDALL_E_BUFFER {
			records = make([]uint64, c.n)
			status = C.holdall_bag_index_find(index, start(key), C.size_t(len(key)), numbers(records),
				C.size_t(len(records)), &c.n, &c.err)
		}
		if status >= 0 {
			records = records[:c.n]
		}
		return found(status)
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// FindMany returns the result of First for each key. It searches in parallel.
func (x *Index) FindMany(keys [][]byte) (records []uint64, err error) {
	var data []byte
	offsets := make([]uint64, 1, len(keys)+1)
	for _, key := range keys {
		data = append(data, key...)
		offsets = append(offsets, uint64(len(data)))
	}
	records = make([]uint64, len(keys))
	err = x.view("find", func(p unsafe.Pointer, c *call) C.holdall_status {
		return found(C.holdall_bag_index_find_many((*C.holdall_bag_index)(p), start(data),
			numbers(offsets), C.size_t(len(keys)), numbers(records), &c.err))
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}
