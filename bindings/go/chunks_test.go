package holdall

// Tests of superchunks, arrays and tables: creation, changes and reading.

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"
	"unsafe"
)

func TestSchunk(t *testing.T) {
	for _, format := range []Format{Bloscpack, B2Frame} {
		path := filepath.Join(t.TempDir(), "a")
		s := must(CreateSchunk(path, New, format, 4, ChunkBytes(4096), Compress(CodecZstd), Level(2), Filters(FilterBitshuffle)))
		content := bytes.Repeat([]byte("0123456789abcdef"), 1000)
		if must(s.Write(content)) != len(content) || s.Len() != 16000 {
			t.Fatal(s.Len())
		}
		must(s.WriteAt([]byte("HERE"), 8000))
		copy(content[8000:], "HERE")
		name := ""
		if format == B2Frame {
			name = "about"
		}
		done(t, s.SetMeta(name, []byte(`{"a": 1}`)))
		done(t, s.Commit())
		if format == Bloscpack { // afterwards the chunks of a frame have any length
			done(t, s.InsertChunk(0, content[:4096]))
			done(t, s.RemoveChunk(0))
		}
		raw := must(s.ReadRaw(1))
		done(t, s.AppendRaw(raw))
		done(t, s.Truncate(16000))
		done(t, s.Commit())
		done(t, s.Close())

		s = must(OpenSchunk(path, ReadOnly))
		if all := must(io.ReadAll(io.NewSectionReader(s, 0, 1<<40))); !bytes.Equal(all, content) {
			t.Fatal("the content differs")
		}
		if s.Typesize() != 4 || format == Bloscpack && s.ChunkSize() != 4096 || s.Chunks() != 4 || s.Sum() != SumCRC32 || s.StoredBytes() == 0 {
			t.Fatal(s.Typesize(), s.ChunkSize(), s.Chunks(), s.Sum())
		}
		if info := must(s.Chunk(0)); info.Bytes != 4096 || info.Codec != CodecZstd {
			t.Fatal(info)
		}
		if !bytes.Equal(must(s.ReadChunk(1)), content[4096:8192]) || len(must(s.Checksum(SumSHA1))) != 20 {
			t.Fatal("a chunk differs")
		}
		same(t, s.Metas(), []string{name})
		if value, is, err := s.Meta(name); err != nil || !is || string(value) != `{"a": 1}` {
			t.Fatal(string(value), is, err)
		}
		if _, is, err := s.Meta("none"); is && err == nil {
			t.Fatal("there is no such value")
		}
		_, err := s.Write(content)
		is(t, err, ErrState)
		_, err = s.ReadAt(make([]byte, 1), 16000)
		is(t, err, io.EOF)
		if n, err := s.ReadAt(make([]byte, 10), 15995); n != 5 || err != io.EOF {
			t.Fatal(n, err)
		}
		done(t, s.Copy(path+".copy", New, Bloscpack, ChunkBytes(1000)))
		done(t, s.Close())
		if format, kind, err := Identify(path + ".copy"); format != Bloscpack || kind != KindSchunk || err != nil {
			t.Fatal(format, kind, err)
		}
		if counts, err := Verify(path+".copy", nil); err != nil || counts.Sound != 16 {
			t.Fatal(counts, err)
		}
		if kept, dropped, err := Repair(path + ".copy"); err != nil || kept != 16 || dropped != 0 {
			t.Fatal(kept, dropped, err)
		}
	}
}

func TestArray(t *testing.T) {
	for _, format := range []Format{Bloscpack, Bcolz, BLZ, BLZPaper, B2ND} {
		path := filepath.Join(t.TempDir(), "a")
		a := must(CreateArray(path, New, format, Dtype[float64](), Grid{Shape: []uint64{6, 5}}, Level(1)))
		items := make([]float64, 30)
		for i := range items {
			items[i] = float64(i) / 4
		}
		done(t, Write(a, Box{}, items))
		done(t, AppendItems(a, 0, []float64{-1, -2, -3, -4, -5}))
		done(t, a.Remove(0, 0, 1))
		done(t, a.InsertBytes(0, 0, 1, Bytes(items[:5])))
		done(t, a.Commit())
		done(t, a.Close())

		a = must(OpenArray(path, ReadOnly))
		same(t, a.Shape(), []uint64{7, 5})
		if a.Dtype() != "<f8" || a.ItemSize() != 8 || a.Bytes() != 280 || a.Fortran() || len(a.ChunkShape()) != 2 || len(a.BlockShape()) != 2 {
			t.Fatal(a.Dtype(), a.ItemSize(), a.Bytes())
		}
		all := must(Read[float64](a, Box{}))
		same(t, all, append(append([]float64{}, items...), -1, -2, -3, -4, -5))
		same(t, must(Read[float64](a, Box{Start: []uint64{1, 4}, Step: []uint64{3, 1}})), []float64{all[9], all[24]})
		same(t, must(Read[float64](a, Box{Start: []uint64{7, 0}})), nil)
		same(t, must(ReadPoints[float64](a, []uint64{6, 4, 0, 1})), []float64{-5, all[1]})
		same(t, must(ReadOrthogonal[float64](a, [][]uint64{{6, 0}, nil})), append(append([]float64{}, all[30:]...), all[:5]...))
		_, err := Read[float32](a, Box{})
		is(t, err, ErrType)
		_, err = Read[int64](a, Box{})
		is(t, err, ErrType)
		_, err = Read[float64](a, Box{Start: []uint64{1}})
		is(t, err, ErrArgument)
		_, err = Read[float64](a, Box{Count: []uint64{math.MaxUint64, 1}})
		is(t, err, ErrRange)
		is(t, Write(a, Box{}, all), ErrState)
		is(t, a.ReadBytes(Box{}, make([]byte, 10)), ErrBuffer)
		done(t, a.Close())
	}
}

func TestArrayValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	fill := Bytes([]int16{-7})
	a := must(CreateArray(path, New, Bcolz, "<i2", Grid{Shape: []uint64{2}}, Fill(fill)))
	defer a.Close()
	done(t, a.Resize([]uint64{3}))
	done(t, a.SetAttr("name", []byte(`"value"`)))
	done(t, a.WriteOrthogonalBytes([][]uint64{{1}}, Bytes([]int16{5})))
	done(t, a.Commit())
	same(t, must(Read[int16](a, Box{})), []int16{-7, 5, -7})
	if have := must(a.Fill()); !bytes.Equal(have, fill) {
		t.Fatal(have)
	}
	done(t, a.SetFill(nil))
	same(t, a.Attrs(), []string{"name"})
	if value, is, err := a.Attr("name"); !is || err != nil || string(value) != `"value"` {
		t.Fatal(string(value), is, err)
	}
	if _, is, err := a.Attr("none"); is || err != nil {
		t.Fatal(is, err)
	}
	done(t, a.Copy(path+".b2nd", New, B2ND, nil, nil))
	b := must(OpenArray(path+".b2nd", ReadOnly))
	same(t, must(Read[int16](b, Box{})), []int16{-7, 5, -7})
	done(t, b.Close())
	is(t, a.Copy(path+".x", New, B2ND, []uint64{1, 1}, nil), ErrArgument)
}

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	columns := []Column{{"key", "<i4"}, {"name", "|S3"}, {"pair", "('<f4', (2,))"}}
	tab := must(CreateTable(path, New, Bcolz, columns, ExpectedRows(100)))
	done(t, tab.Append(2, Bytes([]int32{1, 2}), []byte("ab\x00xyz"), Bytes([]float32{1, 2, 3, 4})))
	is(t, tab.Append(1, Bytes([]int32{1})), ErrArgument)
	is(t, tab.Append(1, nil, nil, nil), ErrArgument)
	done(t, tab.SetAttr("made by", []byte(`"Go"`)))
	done(t, tab.SetColumnAttr("key", "unit", []byte(`1`)))
	done(t, tab.Commit())

	key := must(tab.Column("key"))
	same(t, must(Read[int32](key, Box{})), []int32{1, 2})
	is(t, Write(key, Box{}, []int32{3, 4}), ErrState)
	done(t, tab.AddColumn(0, Column{"new", "<u2"}, Bytes([]uint16{7, 8})))
	_, err := Read[int32](key, Box{})
	is(t, err, ErrState) // the position belongs to another column now
	done(t, tab.Write("key", 1, 1, Bytes([]int32{20})))
	is(t, tab.Write("none", 1, 1, Bytes([]int32{20})), ErrRange)
	key = must(tab.Column("key"))
	same(t, must(Read[int32](key, Box{})), []int32{1, 20})
	if value, is, err := key.Attr("unit"); !is || err != nil || string(value) != "1" {
		t.Fatal(string(value), is, err)
	}
	done(t, key.Close()) // has no effect on a column
	same(t, must(Read[int32](key, Box{})), []int32{1, 20})
	done(t, tab.RemoveColumn("new"))
	_, err = tab.Column("new")
	is(t, err, ErrRange)
	done(t, tab.Commit())
	same(t, tab.Columns()[:2], columns[:2])
	same(t, tab.Attrs(), []string{"made by"})

	// Copies the rows into another table through Arrow, twice.
	to := must(CreateTable(path+".to", New, BLZ, columns))
	for _, first := range []uint64{0, 1} {
		stream := must(tab.Arrow(first, 2-first, 1))
		done(t, to.AppendArrow(stream.Pointer()))
		done(t, stream.Close())
		if stream.Pointer() != nil {
			t.Fatal("it is closed")
		}
	}
	if to.Rows() != 3 || must(tab.Arrow(0, 2, 0)).Close() != nil {
		t.Fatal(to.Rows())
	}
	name := make([]byte, 9)
	done(t, must(to.Column("name")).ReadBytes(Box{}, name))
	if string(name) != "ab\x00xyzxyz" {
		t.Fatalf("%q", name)
	}
	done(t, to.Truncate(1))
	done(t, to.Commit())
	done(t, to.Close())
	done(t, tab.Close())
	_, err = Read[int32](key, Box{})
	is(t, err, ErrState)
	_, err = OpenTable(path, ReadOnly)
	done(t, err) // left to the garbage collector
	_, err = OpenTable(path+".none", ReadOnly)
	var e *Error
	if !errors.As(err, &e) || e.Status != ErrMissing {
		t.Fatal(err)
	}
}

func TestBagToArrow(t *testing.T) {
	bag := must(OpenBag(bagOf(t, 100)))
	stream := must(bag.Arrow(0, 100, 7))
	done(t, bag.Close())
	if stream.Pointer() == unsafe.Pointer(nil) {
		t.Fatal("a stream outlives its bag")
	}
	done(t, stream.Close())
}
