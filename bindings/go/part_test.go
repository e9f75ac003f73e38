package holdall

// Tests of parts of bags, arrays and tables.

import (
	"io/fs"
	"path/filepath"
	"testing"
)

func recordPart(t *testing.T, spec, record string) []byte {
	p := must(PartOfBag(spec))
	w := must(WriteBag(p.Path(), Append))
	done(t, w.Append([]byte(record)))
	done(t, w.Commit())
	done(t, w.Close())
	token := must(p.Finish())
	done(t, p.Close())
	return token
}

func TestPartsOfBags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bagz")
	tokens := [][]byte{recordPart(t, path, "one"), recordPart(t, path, "two")}
	if names := must(ListParts(path)); len(names) != 2 {
		t.Fatal(names)
	}
	done(t, CommitParts(path, tokens))
	bag := must(OpenBag(path))
	if bag.Len() != 2 || string(must(bag.Read(1, nil))) != "two" || len(must(ListParts(path))) != 0 {
		t.Fatal(bag.Len())
	}
	done(t, bag.Close())
	done(t, DiscardParts(path, [][]byte{recordPart(t, path, "three")}))
	done(t, CommitParts(path, nil))
	gone := recordPart(t, path, "four")
	same(t, []RepairResult{must(Repair(path))}, []RepairResult{{2, 0, 1}})
	is(t, CommitParts(path, [][]byte{gone}), ErrMissing)
	is(t, CommitParts(path, [][]byte{gone, gone}), ErrArgument)
	is(t, CommitParts(path, [][]byte{gone[1:]}), ErrFormat)
	gone[20]++
	is(t, DiscardParts(path, [][]byte{gone}), ErrChecksum)

	set := filepath.Join(t.TempDir(), "lines@*.bagz")
	done(t, CommitParts(set, [][]byte{recordPart(t, set, "a"), recordPart(t, set, "b")}))
	bag = must(OpenBag(set))
	if len(bag.Shards()) != 2 || string(must(bag.Read(1, nil))) != "b" {
		t.Fatal(bag.Len())
	}
	done(t, bag.Close())
	is(t, CommitParts(set, [][]byte{recordPart(t, set, "c"), recordPart(t, set, "d")}), ErrExists)
}

func TestPartsOfArraysAndTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	a := must(CreateArray(path, Create, ArraySpec{Format: B2ND, Dtype: "<i4", Shape: []uint64{2, 2}}))
	done(t, a.Commit())
	done(t, a.Close())
	for _, p := range []*Part{must(PartOfBox(path, []uint64{1, 0}, []uint64{1, 2})), must(PartOfArray(path))} {
		a := must(OpenArray(p.Path(), Append))
		done(t, a.Resize([]uint64{1, 2}))
		done(t, Write(a, Box{}, []int32{7, 8}))
		done(t, a.Commit())
		done(t, a.Close())
		done(t, CommitParts(path, [][]byte{must(p.Finish())}))
		_, err := p.Finish()
		is(t, err, ErrState)
		done(t, p.Close())
		_, err = p.Finish()
		is(t, err, fs.ErrClosed)
		if p.Path() != "" {
			t.Fatal(p.Path())
		}
	}
	a = must(OpenArray(path, ReadOnly))
	same(t, must(Read[int32](a, Box{})), []int32{0, 0, 7, 8, 7, 8})
	done(t, a.Close())
	_, err := PartOfBox(path, []uint64{3, 0}, []uint64{1, 2})
	is(t, err, ErrRange)
	_, err = PartOfBox(path, []uint64{3}, []uint64{1, 2})
	is(t, err, ErrArgument)

	path = filepath.Join(t.TempDir(), "t")
	table := must(CreateTable(path, Create, TableSpec{Format: Bcolz, Columns: []Column{{"id", "<i8"}}}))
	done(t, table.Commit())
	done(t, table.Close())
	p := must(PartOfTable(path))
	table = must(OpenTable(p.Path(), Append))
	done(t, table.Append(2, Bytes([]int64{1, 2})))
	done(t, table.Commit())
	done(t, table.Close())
	done(t, CommitParts(path, [][]byte{must(p.Finish())}))
	table = must(OpenTable(path, ReadOnly))
	if table.RowCount() != 2 {
		t.Fatal(table.RowCount())
	}
	done(t, table.Close())
	p = must(PartOfTable(path))
	done(t, p.Close()) // not finished: removed
	if len(must(ListParts(path))) != 0 {
		t.Fatal(must(ListParts(path)))
	}
}
