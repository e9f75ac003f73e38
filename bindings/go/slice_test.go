package holdall

// Tests of slices, copies of them, and checksums of arrays.

import (
	"bytes"
	"path/filepath"
	"testing"
)

func TestSlicesOfArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	spec := ArraySpec{Format: B2ND, Dtype: "|u1", Shape: []uint64{3, 4}}
	a := must(CreateArray(path, Create, spec))
	defer a.Close()
	done(t, a.WriteBytes(Box{}, []byte("abcdefghijkl")))
	done(t, a.Commit())
	s := must(a.Slice([]uint64{2, 1}, []uint64{2, 2}, []int64{-2, 1}))
	is(t, a.Commit(), ErrState)
	items := make([]byte, 4)
	done(t, s.ReadBytes(Box{}, items))
	if string(items) != "jkbc" {
		t.Fatal(string(items))
	}
	row := must(s.Slice([]uint64{1, 0}, []uint64{1, 2}, nil))
	flat := must(row.Squeeze(0))
	same(t, flat.Shape(), []uint64{2})
	same(t, must(flat.ExpandDims(1)).Shape(), []uint64{2, 1})
	copied := path + ".blp"
	done(t, s.Copy(copied, Create, ArraySpec{Format: Bloscpack}))
	b := must(OpenArray(copied, ReadOnly))
	if !bytes.Equal(must(b.Checksum(ChecksumSHA256)), must(s.Checksum(ChecksumSHA256))) {
		t.Fatal("the checksums differ")
	}
	_, err := a.Slice([]uint64{0}, []uint64{1}, nil)
	is(t, err, ErrArgument)
	_, err = a.Slice([]uint64{0, 0}, []uint64{1, 5}, nil)
	is(t, err, ErrRange)
	_, err = a.Squeeze(0)
	is(t, err, ErrArgument)
	_, err = a.Checksum(99)
	is(t, err, ErrArgument)
	for _, open := range []*Array{s, row, flat, b} {
		open.Close()
	}
	_, err = s.Checksum(ChecksumSHA256)
	is(t, err, ErrState)
}

func TestSlicesOfTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bcolz")
	spec := TableSpec{Format: Bcolz, Columns: []Column{{"a", "|u1"}, {"b", "|S2"}}}
	table := must(CreateTable(path, Create, spec))
	defer table.Close()
	done(t, table.Append(3, []byte{1, 2, 3}, []byte("xxyyzz")))
	done(t, table.Commit())
	s := must(table.Slice([]string{"b"}, 2, 2, -2))
	defer s.Close()
	same(t, s.Columns(), []Column{{"b", "|S2"}})
	done(t, s.Copy(path+".blz", Create, BLZ))
	all := must(table.Slice(nil, 1, 2, 1))
	defer all.Close()
	same(t, all.Columns(), spec.Columns)
	c := must(OpenTable(path+".blz", ReadOnly))
	defer c.Close()
	items := make([]byte, 4)
	done(t, c.ReadRows(0, 2, 1, []string{"b"}, items))
	if string(items) != "zzxx" {
		t.Fatal(string(items))
	}
	_, err := table.Slice([]string{"c"}, 0, 1, 1)
	is(t, err, ErrArgument)
}

func TestCopiesOfRecords(t *testing.T) {
	b := must(OpenBag(bagOf(t, 10)))
	defer b.Close()
	path := filepath.Join(t.TempDir(), "b.bag")
	done(t, b.Copy(nil, path, Create))
	done(t, b.Copy([]uint64{9, 0}, path, Append))
	done(t, b.Copy([]uint64{}, path, Append))
	is(t, b.Copy([]uint64{10}, path, Append), ErrRange)
	c := must(OpenBag(path))
	defer c.Close()
	if c.Len() != 12 || !bytes.Equal(must(c.Read(10, nil)), record(9)) {
		t.Fatal(c.Len())
	}
}
