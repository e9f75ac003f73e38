package holdall

// Tests that nothing crashes: calls after and during Close, failing callbacks, garbage collection.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestClosed(t *testing.T) {
	bag := must(OpenBag(bagOf(t, 10)))
	stream := must(bag.Stream(nil))
	index := must(bag.BuildIndex())
	w := must(WriteBag(filepath.Join(t.TempDir(), "w.bag"), Create))
	a := must(CreateArray(filepath.Join(t.TempDir(), "a.b2nd"), Create,
		ArraySpec{Format: B2ND, Dtype: "<i4", Shape: []uint64{4}}))
	s := must(CreateSchunk(filepath.Join(t.TempDir(), "s.blp"), Create, Bloscpack, 1))
	for i := 0; i < 2; i++ {
		for _, c := range []interface{ Close() error }{bag, stream, index, w, a, s} {
			done(t, c.Close())
		}
	}
	_, e1 := bag.Read(0, nil)
	_, e2 := bag.ReadRange(0, 1)
	_, e3 := bag.Slice(0, 1, 1)
	_, e4 := bag.Stream(nil)
	_, _, e5 := stream.Next()
	_, e6 := index.First(nil)
	e7, e8 := w.Append(nil), w.Commit()
	_, e9 := Read[int32](a, Box{Start: []uint64{}, Count: []uint64{}, Step: []uint64{}})
	e10 := Write(a, Box{Start: []uint64{}, Count: []uint64{}, Step: []uint64{}}, []int32{})
	_, e11 := s.ReadAt(make([]byte, 1), 0)
	_, e12 := s.Write([]byte("x"))
	_, _, e13 := a.Attr("x")
	_, e14 := a.Info()
	_, e15 := bag.Info()
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15} {
		if err == nil {
			t.Fatal(i)
		}
		is(t, err, fs.ErrClosed)
	}
	if bag.Len() != 0 || a.Shape() != nil || a.Dtype() != "" || s.Len() != 0 || w.Len() != 0 ||
		index.KeyCount() != 0 || bag.Shards() != nil {
		t.Fatal("what cannot fail gives nothing")
	}
}

// All goroutines read; one of them closes the bag.
func TestClosedMeanwhile(t *testing.T) {
	path := bagOf(t, 3000)
	for _, wait := range []time.Duration{0, 200 * time.Microsecond, 3 * time.Millisecond} {
		bag := must(OpenBag(path))
		stream := must(bag.Stream(nil))
		var all sync.WaitGroup
		for g := uint64(0); g < 8; g++ {
			all.Add(1)
			go func(g uint64) {
				defer all.Done()
				for i := g; ; i++ {
					r, err := bag.Read(i%3000, nil)
					if err != nil {
						if !errors.Is(err, fs.ErrClosed) {
							t.Error(err)
						}
						return
					}
					if len(r) != len(record(i%3000)) {
						t.Errorf("record %d has %d bytes", i%3000, len(r))
					}
					if b, err := stream.Take(10); err == nil {
						b.Close()
					}
				}
			}(g)
		}
		time.Sleep(wait)
		done(t, bag.Close())
		done(t, stream.Close())
		all.Wait()
	}
}

// Calls that change an array wait for each other, and reads wait for them.
func TestManyWriters(t *testing.T) {
	a := must(CreateArray(filepath.Join(t.TempDir(), "a.b2nd"), Create,
		ArraySpec{Format: B2ND, Dtype: "<u8", Shape: []uint64{64}, ChunkShape: []uint64{10},
			BlockShape: []uint64{5}}))
	defer a.Close()
	var all sync.WaitGroup
	for g := uint64(0); g < 64; g++ {
		all.Add(1)
		go func(g uint64) {
			defer all.Done()
			if err := Write(a, Box{Start: []uint64{g}, Count: []uint64{1}}, []uint64{g}); err != nil {
				t.Error(err)
			}
			if item, err := Read[uint64](a, Box{Start: []uint64{g}, Count: []uint64{1}}); err != nil ||
				item[0] != g {
				t.Error(g, item, err)
			}
		}(g)
	}
	all.Wait()
	done(t, a.Commit())
	for i, item := range must(Read[uint64](a, Box{})) {
		if item != uint64(i) {
			t.Fatal(i, item)
		}
	}
}

func TestFunctions(t *testing.T) {
	path := bagOf(t, 1000)
	bag := must(OpenBag(path, Progress(func(done, total uint64) bool { return false })))
	slice := must(bag.Slice(0, 1000, 1))
	done(t, bag.Close())
	runtime.GC()
	_, err := slice.Checksum(ChecksumCRC32) // a slice reports the progress of its bag
	is(t, err, ErrCancelled)
	done(t, slice.Close())

	reports := 0
	bag = must(OpenBag(path, Progress(func(done, total uint64) bool {
		reports++
		return done <= total
	})))
	defer bag.Close()
	if sum := must(bag.Checksum(ChecksumMD5)); len(sum) != 16 || reports == 0 {
		t.Fatal(sum, reports)
	}
	_, err = OpenBag(path, VerifyLevel(2), Progress(func(done, total uint64) bool { panic("oh") }))
	is(t, err, ErrCancelled)

	// A callback that panics, and one that closes the handle that it is called for.
	s := must(bag.Stream(func() (uint64, bool, error) { panic("no more") }))
	_, _, err = s.Next()
	is(t, err, ErrCallback)
	if !strings.Contains(err.Error(), "no more") {
		t.Fatal(err)
	}
	done(t, s.Close())
	s = must(bag.Stream(func() (uint64, bool, error) {
		s.Close()
		return 1, true, nil
	}, BagReadAhead(1)))
	_, _, err = s.Next()
	if err == nil {
		_, _, err = s.Next()
	}
	is(t, err, fs.ErrClosed)
}

// The garbage collector closes handles that the program has not closed.
func TestGarbage(t *testing.T) {
	descriptors := func() int { return len(must(os.ReadDir("/proc/self/fd"))) }
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	path := bagOf(t, 3)
	before := descriptors()
	for i := 0; i < 100; i++ {
		bag := must(OpenBag(path, Progress(func(uint64, uint64) bool { return true })))
		must(bag.Stream(func() (uint64, bool, error) { return 0, false, nil }))
	}
	for i := 0; i < 1000 && descriptors() > before+10; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if n := descriptors(); n > before+10 {
		t.Fatalf("%d files are open, of %d before", n, before)
	}
}
