package holdall

// Bags opened for reading: records of any length, in one file or several.

// #include <holdall.h>
import "C"

import (
	"math"
	"unsafe"
)

// Bag is an open bag, or a slice of one.
type Bag struct{ *handle }

func freeBag(p unsafe.Pointer) { C.holdall_bag_close((*C.holdall_bag)(p)) }

// OpenBag opens a bag for reading at its last commit. spec is a path, or several separated by
// commas; "@3" and "@*" stand for the shards of a set. Errors: ErrType if the container is not a
// bag; ErrFormat if a file is not a bag, or torn; ErrMissing if a file does not exist.
func OpenBag(spec string, options ...Option) (*Bag, error) {
	var h *handle
	err := withString("open a bag", spec, func(spec *C.char) (err error) {
		h, err = open("open a bag", options, freeBag,
			func(o *C.holdall_options, c *call) C.holdall_status {
				return C.holdall_bag_open(spec, o, (**C.holdall_bag)(unsafe.Pointer(&c.out)), &c.err)
			})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Bag{h}, nil
}

// made opens a handle from this one; f must store it in c.out.
func (h *handle) made(op string, options []Option, free func(unsafe.Pointer), keep []*callback,
	f func(p unsafe.Pointer, o *C.holdall_options, c *call) C.holdall_status) (*handle, error) {
	var out unsafe.Pointer
	more, err := withOptions(op, options, func(o *C.holdall_options) error {
		return h.view(op, func(p unsafe.Pointer, c *call) C.holdall_status {
			status := f(p, o, c)
			out = c.out
			return status
		})
	})
	if err != nil {
		return nil, err
	}
	keep = append(append(keep, more...), h.keep...)
	return newHandle(out, free, keep), nil
}

// Slice returns the count records start, start+step, ... as a bag with its own Close. step may be
// negative. Errors: ErrRange if a record is outside the bag.
func (b *Bag) Slice(start, count uint64, step int64) (*Bag, error) {
	h, err := b.made("slice", nil, freeBag, nil,
		func(p unsafe.Pointer, _ *C.holdall_options, c *call) C.holdall_status {
			return C.holdall_bag_slice((*C.holdall_bag)(p), C.uint64_t(start), C.uint64_t(count),
				C.int64_t(step), (**C.holdall_bag)(unsafe.Pointer(&c.out)), &c.err)
		})
	if err != nil {
		return nil, err
	}
	return &Bag{h}, nil
}

// Copy copies records, in any order, to another bag, with one commit; indices nil: all records.
// mode is Create, Replace or Append. Errors: ErrRange if an index is past the end.
func (b *Bag) Copy(indices []uint64, path string, mode Mode, options ...Option) error {
	at := numbers(indices)
	if indices == nil {
		at = nil
	} else if len(indices) == 0 {
		at = numbers([]uint64{0}) // nil stands for all records
	}
	return withString("copy", path, func(path *C.char) error {
		_, err := withOptions("copy", options, func(o *C.holdall_options) error {
			return b.view("copy", func(p unsafe.Pointer, c *call) C.holdall_status {
				return C.holdall_bag_copy((*C.holdall_bag)(p), at, C.size_t(len(indices)), path,
					C.holdall_mode(mode), o, &c.err)
			})
		})
		return err
	})
}

// Len returns the number of records.
func (b *Bag) Len() (n uint64) {
	b.look(func(p unsafe.Pointer) { n = uint64(C.holdall_bag_record_count((*C.holdall_bag)(p))) })
	return n
}

// BagInfo describes a bag; holdall_bag_info in holdall.h documents the fields.
type BagInfo struct {
	Format      Format
	RecordCount uint64
	StoredBytes uint64 // bytes of all files
	Codec       Codec
	Checksum    ChecksumKind // that of the records
	Limits      Limits
	Sharding    Sharding
	ShardCount  int
	Generation  uint64
}

// Info describes the bag.
func (b *Bag) Info() (info BagInfo, err error) {
	err = b.view("info", func(p unsafe.Pointer, c *call) C.holdall_status {
		i := C.holdall_bag_info{}
		i.struct_size = C.sizeof_holdall_bag_info
		status := C.holdall_bag_get_info((*C.holdall_bag)(p), &i, &c.err)
		info = BagInfo{Format(i.format), uint64(i.record_count), uint64(i.stored_bytes), Codec(i.codec),
			ChecksumKind(i.checksum),
			Limits(i.limits), Sharding(i.shards), int(i.shard_count), uint64(i.generation)}
		return status
	})
	return info, err
}

// Generation returns the number of commits through this handle, and of refreshes that may have
// found a newer commit.
func (b *Bag) Generation() (n uint64) {
	b.look(func(p unsafe.Pointer) { n = uint64(C.holdall_bag_generation((*C.holdall_bag)(p))) })
	return n
}

// Refresh moves the bag to its newest commit. Batches, slices, streams and indexes stay at the
// earlier commit. Refresh waits for calls in progress, and later calls wait for it. Without a newer
// commit it takes about one system call per file. After an error the bag is unchanged. Errors:
// ErrState for a slice, and those of OpenBag.
func (b *Bag) Refresh() error {
	return b.refresh(func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_refresh((*C.holdall_bag)(p), &c.err)
	})
}

// Split is a range of records or rows with its stored size in bytes.
type Split struct {
	First, Count, Bytes uint64
}

// Splits divides the records into at most n ranges of similar stored size, for programs that
// distribute work. They contain each record once, in order; none is empty. They begin at shards where
// that changes a size by at most an eighth of the mean. Bytes is an estimate for a slice with a step,
// and for an interleaved bag of more than 16 shards. Errors: ErrArgument if n is less than 1.
func (b *Bag) Splits(n int) (splits []Split, err error) {
	err = b.view("splits", func(p unsafe.Pointer, c *call) C.holdall_status {
		return collect(&splits, n, c, func(most C.size_t, to [3]*C.uint64_t) C.holdall_status {
			return C.holdall_bag_splits((*C.holdall_bag)(p), most, to[0], to[1], to[2], &c.n, &c.err)
		})
	})
	return splits, err
}

// collect makes a call that stores at most n ranges in three arrays, and c.n.
func collect(splits *[]Split, n int, c *call,
	f func(most C.size_t, to [3]*C.uint64_t) C.holdall_status) C.holdall_status {
	most := n
	if most < 0 {
		most = 0
	}
	firsts, counts, sizes := make([]uint64, most), make([]uint64, most), make([]uint64, most)
	status := f(C.size_t(most), [3]*C.uint64_t{numbers(firsts), numbers(counts), numbers(sizes)})
	if status == C.HOLDALL_OK {
		for i := 0; i < int(c.n); i++ {
			*splits = append(*splits, Split{firsts[i], counts[i], sizes[i]})
		}
	}
	return status
}

// Shard is one file of a bag.
type Shard struct {
	Name        string
	RecordCount uint64
}

// Shards returns the files of the bag, without those of limits and checksums.
func (b *Bag) Shards() (shards []Shard) {
	b.look(func(p unsafe.Pointer) {
		bag := (*C.holdall_bag)(p)
		for i := C.uint32_t(0); i < C.holdall_bag_shard_count(bag); i++ {
			shards = append(shards,
				Shard{C.GoString(C.holdall_bag_shard_name(bag, i)),
					uint64(C.holdall_bag_shard_record_count(bag, i))})
		}
	})
	return shards
}

// Read returns record i. It reuses buf, whatever its length, if the capacity suffices, and else
// allocates a slice. `r, err = bag.Read(i, r)` reads records one after the other into one buffer;
// Read(i, nil) returns a slice that the caller owns. Errors: ErrRange if there is no record i;
// ErrFormat or ErrChecksum, with Position, if the record is corrupt.
func (b *Bag) Read(i uint64, buf []byte) ([]byte, error) {
	buf = buf[:cap(buf)]
	var n int
	err := b.view("read", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_bag_read((*C.holdall_bag)(p), C.uint64_t(i), given(buf), C.size_t(len(buf)),
			&c.n, &c.err)
		if buf == nil && status >= 0 || status == C.HOLDALL_E_BUFFER {
			buf = make([]byte, c.n)
			status = C.holdall_bag_read((*C.holdall_bag)(p), C.uint64_t(i), start(buf), C.size_t(len(buf)),
				&c.n, &c.err)
		}
		n = int(c.n)
		return status
	})
	if buf, err = unless(buf, err); buf == nil {
		return nil, err
	}
	return buf[:n:n], err
}

// Size returns the size of record i in bytes.
func (b *Bag) Size(i uint64) (n int, err error) {
	err = b.view("size", func(p unsafe.Pointer, c *call) C.holdall_status {
		status := C.holdall_bag_read((*C.holdall_bag)(p), C.uint64_t(i), nil, 0, &c.n, &c.err)
		n = int(c.n)
		return status
	})
	return n, err
}

// ReadRange reads count records from record start on into one batch, in parallel if faster.
func (b *Bag) ReadRange(start, count uint64) (*Records, error) {
	return b.records("read", func(p unsafe.Pointer, c *call) C.holdall_status {
		return C.holdall_bag_read_range((*C.holdall_bag)(p), C.uint64_t(start), C.uint64_t(count),
			(**C.holdall_records)(unsafe.Pointer(&c.out)), &c.err)
	})
}

// ReadIndices reads the records with the given numbers, in any order and with repetitions, into
// one batch.
func (b *Bag) ReadIndices(indices []uint64) (*Records, error) {
	return b.records("read", func(p unsafe.Pointer, c *call) C.holdall_status {
		if indices == nil {
			indices = []uint64{}
		}
		return C.holdall_bag_read_indices((*C.holdall_bag)(p), numbers(indices), C.size_t(len(indices)),
			(**C.holdall_records)(unsafe.Pointer(&c.out)), &c.err)
	})
}

// Checksum returns a checksum of the content: for each record its length, as 8 bytes
// little-endian, then its bytes.
func (b *Bag) Checksum(kind ChecksumKind) ([]byte, error) {
	return b.ask("checksum", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_bag_checksum((*C.holdall_bag)(p), C.int32_t(kind), dst, size, &c.n, &c.err)
	})
}

// Dictionary returns the zstd dictionary that the files store, or that was given; empty if there is
// none, or if files store different ones.
func (b *Bag) Dictionary() ([]byte, error) {
	return b.ask("dictionary", func(p, dst unsafe.Pointer, size C.size_t, c *call) C.holdall_status {
		return C.holdall_bag_read_dictionary((*C.holdall_bag)(p), dst, size, &c.n, &c.err)
	})
}

// Records is a batch of records in C memory. The caller must close it. The garbage collector does
// not close it, because slices of its bytes may still be in use when the batch is not.
type Records struct {
	p       *C.holdall_records
	data    []byte
	offsets []uint64
	numbers []uint64
	damaged []uint64
}

func (h *handle) records(op string,
	f func(p unsafe.Pointer, c *call) C.holdall_status) (*Records, error) {
	var p *C.holdall_records
	err := h.view(op, func(handle unsafe.Pointer, c *call) C.holdall_status {
		c.out = nil
		status := f(handle, c)
		p = (*C.holdall_records)(c.out)
		return status
	})
	if p == nil {
		return nil, err
	}
	n := int(C.holdall_records_count(p))
	r := &Records{p: p, offsets: unsafe.Slice((*uint64)(C.holdall_records_offsets(p)), n+1)}
	r.data = unsafe.Slice((*byte)(C.holdall_records_data(p)), int(r.offsets[n]))
	if numbers := C.holdall_records_numbers(p); numbers != nil {
		r.numbers = unsafe.Slice((*uint64)(numbers), n)
	}
	if damaged := int(C.holdall_records_damaged_count(p)); damaged > 0 {
		r.damaged = unsafe.Slice((*uint64)(C.holdall_records_damaged_positions(p)), damaged)
	}
	return r, err
}

// Close frees the bytes. Slices returned by Bytes and Data must not be used afterwards. Close
// must not be called while another goroutine uses the batch.
func (r *Records) Close() error {
	C.holdall_records_free(r.p)
	*r = Records{}
	return nil
}

// Len returns the number of records, or 0 if the batch is closed.
func (r *Records) Len() int {
	if r.p == nil {
		return 0
	}
	return len(r.offsets) - 1
}

// Bytes returns record i of the batch, valid until Close. It panics like a slice index if there
// is no such record.
func (r *Records) Bytes(i int) []byte {
	a, z := r.offsets[i], r.offsets[i+1]
	return r.data[a:z:z]
}

// Data returns the bytes of all records, end to end, and Len()+1 offsets, both valid until Close.
// Record i is data[offsets[i]:offsets[i+1]].
func (r *Records) Data() (data []byte, offsets []uint64) { return r.data, r.offsets }

// Number returns the number in the bag of record i of a batch from a Stream, or math.MaxUint64
// for other batches.
func (r *Records) Number(i int) uint64 {
	if r.numbers == nil {
		return math.MaxUint64
	}
	return r.numbers[i]
}

// DamagedPositions returns the positions in the batch of records that were corrupt and are empty
// (SkipDamaged), ascending.
func (r *Records) DamagedPositions() []uint64 { return r.damaged }
