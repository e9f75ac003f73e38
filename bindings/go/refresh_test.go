package holdall

// Tests of readers that follow a writer.

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

func TestFollowers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.bagz")
	w := must(WriteBag(path, Create))
	defer w.Close()
	done(t, w.Append([]byte("one")))
	done(t, w.Commit())
	bag := must(OpenBag(path))
	defer bag.Close()
	batch := must(bag.ReadRange(0, 1))
	defer batch.Close()
	for i := uint64(1); i < 4; i++ {
		done(t, w.Append([]byte("more")))
		done(t, w.Commit())
		done(t, bag.Refresh())
		if bag.Len() != i+1 || bag.Generation() != i || string(must(bag.Read(i, nil))) != "more" ||
			string(batch.Bytes(0)) != "one" {
			t.Fatal(i, bag.Len(), bag.Generation())
		}
	}
	slice := must(bag.Slice(0, 1, 1))
	defer slice.Close()
	is(t, slice.Refresh(), ErrState)

	path = filepath.Join(t.TempDir(), "f.bcolz")
	to := must(CreateTable(path, Create, TableSpec{Bcolz, []Column{{"a", Dtype[int32]()}}}))
	defer to.Close()
	done(t, to.Commit())
	tab := must(OpenTable(path, ReadOnly))
	defer tab.Close()
	column := must(tab.Column("a"))
	done(t, to.Append(2, Bytes([]int32{7, 8})))
	done(t, to.SetAttr("who", []byte(`"me"`)))
	done(t, to.Commit())
	done(t, tab.Refresh())
	if tab.RowCount() != 2 || tab.Generation() != 1 || column.Generation() != 1 ||
		must(Read[int32](column, Box{}))[1] != 8 || tab.Attrs()[0] != "who" {
		t.Fatal(tab.RowCount(), tab.Generation(), tab.Attrs())
	}
	is(t, column.Refresh(), ErrState)
	is(t, to.Refresh(), ErrState)

	path = filepath.Join(t.TempDir(), "f.blp")
	target := must(CreateSchunk(path, Create, Bloscpack, 1))
	defer target.Close()
	done(t, target.Commit())
	s := must(OpenSchunk(path, ReadOnly))
	defer s.Close()
	must(target.Write([]byte("abc")))
	done(t, target.Commit())
	done(t, s.Refresh())
	if s.Len() != 3 || s.Generation() != 1 || target.Generation() != 2 {
		t.Fatal(s.Len(), s.Generation(), target.Generation())
	}
	done(t, s.Close())
	is(t, s.Refresh(), ErrState)
}

// Each read is of one commit, although the shape changes with each.
func TestRefreshedWhileOthersRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	save := func(n int) {
		spec := ArraySpec{Format: B2ND, Dtype: Dtype[int32](), Shape: []uint64{uint64(n + 1)}}
		a := must(CreateArray(path, Replace, spec, Durability(false)))
		defer a.Close()
		items := make([]int32, n+1)
		for i := range items {
			items[i] = int32(n)
		}
		done(t, Write(a, Box{}, items))
		done(t, a.Commit())
	}
	save(0)
	a := must(OpenArray(path, ReadOnly))
	defer a.Close()
	var all sync.WaitGroup
	stop := make(chan struct{})
	for g := 0; g < 4; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				items, err := Read[int32](a, Box{})
				// an error is a read of the earlier commit after its files changed
				if err != nil && !errors.Is(err, ErrState) {
					t.Error(err)
				}
				for _, item := range items {
					if err == nil && int(item) != len(items)-1 {
						t.Error(item, len(items))
					}
				}
			}
		}()
	}
	for n := 1; n < 100; n++ {
		save(n)
		done(t, a.Refresh())
		if a.Shape()[0] != uint64(n+1) || a.Generation() != uint64(n) {
			t.Error(n, a.Shape(), a.Generation())
		}
	}
	close(stop)
	all.Wait()
	// an array of another dtype is not a later state
	spec := ArraySpec{Format: B2ND, Dtype: Dtype[float32](), Shape: []uint64{2}}
	other := must(CreateArray(path, Replace, spec, Durability(false)))
	done(t, other.Commit())
	other.Close()
	if err := a.Refresh(); !errors.Is(err, ErrType) || a.Shape()[0] != 100 {
		t.Error(err, a.Shape())
	}
}
