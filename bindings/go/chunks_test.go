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

func TestBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2frame")
	s := must(CreateSchunk(path, Create, B2Frame, 1))
	is(t, s.InsertBlocks(0, nil), ErrArgument)
	is(t, s.InsertBlocks(0, [][]byte{{1}, {}}), ErrArgument)
	done(t, s.InsertBlocks(0, [][]byte{[]byte("one"), []byte("another")}))
	done(t, s.Commit())
	done(t, s.Close())
	s = must(OpenSchunk(path, ReadOnly))
	same(t, must(s.BlockOffsets(0)), []uint64{0, 3, 10})
	if block := must(s.ReadBlock(0, 1)); string(block) != "another" {
		t.Fatal(string(block))
	}
	_, err := s.ReadBlock(0, 2)
	is(t, err, ErrRange)
	_, err = s.BlockOffsets(1)
	is(t, err, ErrRange)
	done(t, s.Close())
}

func TestSchunk(t *testing.T) {
	for _, format := range []Format{Bloscpack, B2Frame} {
		path := filepath.Join(t.TempDir(), "a")
		s := must(CreateSchunk(path, Create, format, 4, ChunkBytes(4096), Compress(CodecZstd), Level(2),
			Filters(FilterBitshuffle)))
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
		done(t, s.SetAttr(name, []byte(`{"a": 1}`)))
		done(t, s.Commit())
		if format == Bloscpack { // afterwards the chunks of a frame have any length
			done(t, s.InsertChunk(0, content[:4096]))
			done(t, s.RemoveChunk(0))
		}
		if format == Bloscpack {
			is(t, s.InsertBlocks(0, [][]byte{[]byte("x")}), ErrUnsupported)
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
		info := must(s.Info())
		if info.Format != format || info.Typesize != 4 || format == Bloscpack && info.ChunkSize != 4096 ||
			info.ChunkCount != 4 ||
			s.ChunkCount() != 4 || info.Checksum != ChecksumCRC32 || info.StoredBytes == 0 ||
			info.NBytes != 16000 || info.Codec != CodecZstd {
			t.Fatal(info)
		}
		same(t, info.Filters, []Filter{FilterBitshuffle})
		if info := must(s.ChunkInfo(0)); info.NBytes != 4096 || info.StoredBytes == 0 ||
			info.Codec != CodecZstd || info.IsPending {
			t.Fatal(info)
		}
		if !bytes.Equal(must(s.ReadChunk(1)), content[4096:8192]) ||
			len(must(s.Checksum(ChecksumSHA1))) != 20 {
			t.Fatal("a chunk differs")
		}
		same(t, s.Attrs(), []string{name})
		if value, is, err := s.Attr(name); err != nil || !is || string(value) != `{"a": 1}` {
			t.Fatal(string(value), is, err)
		}
		if _, is, err := s.Attr("none"); is && err == nil {
			t.Fatal("there is no such value")
		}
		_, err := s.Write(content)
		is(t, err, ErrState)
		_, err = s.ReadAt(make([]byte, 1), 16000)
		is(t, err, io.EOF)
		if n, err := s.ReadAt(make([]byte, 10), 15995); n != 5 || err != io.EOF {
			t.Fatal(n, err)
		}
		done(t, s.Copy(path+".copy", Create, Bloscpack, ChunkBytes(1000)))
		done(t, s.Close())
		if format, kind, err := Identify(path + ".copy"); format != Bloscpack || kind != KindSchunk ||
			err != nil {
			t.Fatal(format, kind, err)
		}
		if result, err := Verify(path+".copy", nil); err != nil || result.Intact != 16 {
			t.Fatal(result, err)
		}
		if result, err := Repair(path + ".copy"); err != nil || result.Retained != 16 ||
			result.Lost != 0 {
			t.Fatal(result, err)
		}
	}
}

func TestArray(t *testing.T) {
	for _, format := range []Format{Bloscpack, Bcolz, BLZ, BLZRFC, B2ND} {
		path := filepath.Join(t.TempDir(), "a")
		a := must(CreateArray(path, Create,
			ArraySpec{Format: format, Dtype: Dtype[float64](), Shape: []uint64{6, 5}}, Level(1)))
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
		if a.Dtype() != "<f8" || a.Itemsize() != 8 || a.NBytes() != 280 {
			t.Fatal(a.Dtype(), a.Itemsize(), a.NBytes())
		}
		info := must(a.Info())
		if info.Format != format || info.Dtype != "<f8" || info.Itemsize != 8 || info.NBytes != 280 ||
			info.StoredBytes == 0 || info.Order != OrderC ||
			len(info.ChunkShape) != 2 || len(info.BlockShape) != 2 || info.Generation != 0 {
			t.Fatal(info)
		}
		same(t, info.Shape, a.Shape())
		all := must(Read[float64](a, Box{}))
		same(t, all, append(append([]float64{}, items...), -1, -2, -3, -4, -5))
		same(t, must(Read[float64](a, Box{Start: []uint64{1, 4}, Step: []uint64{3, 1}})),
			[]float64{all[9], all[24]})
		same(t, must(Read[float64](a, Box{Start: []uint64{7, 0}})), nil)
		same(t, must(ReadPoints[float64](a, []uint64{6, 4, 0, 1})), []float64{-5, all[1]})
		same(t, must(ReadOrthogonal[float64](a, [][]uint64{{6, 0}, nil})),
			append(append([]float64{}, all[30:]...), all[:5]...))
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

func TestHeaderOfFrames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	a := must(CreateArray(path, Create, ArraySpec{Format: B2ND, Dtype: "<f4", Shape: []uint64{2}},
		Precision(3)))
	done(t, Write(a, Box{}, []float32{1.999, -2.7}))
	done(t, a.SetFixedAttr("fixed", []byte{1}))
	done(t, a.Commit())
	same(t, must(Read[float32](a, Box{})), []float32{1.875, -2.5})
	info := must(a.Info())
	if info.Precision != 3 || info.Filters[0] != FilterTruncPrec || info.FixedAttrCount != 1 {
		t.Fatal(info)
	}
	done(t, a.Close())
	_, err := CreateArray(path, Replace, ArraySpec{Format: B2ND, Dtype: "<i4", Shape: []uint64{2}},
		Precision(3))
	is(t, err, ErrArgument)

	s := must(CreateSchunk(path, Replace, B2Frame, 8, Precision(-40)))
	done(t, s.SetFixedAttr("fixed", []byte{1}))
	if info := must(s.Info()); info.Precision != -40 || info.FixedAttrCount != 1 {
		t.Fatal(info)
	}
	done(t, s.Close())
}

func TestArrayValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	fill := Bytes([]int16{-7})
	a := must(CreateArray(path, Create, ArraySpec{Format: Bcolz, Dtype: "<i2", Shape: []uint64{2}},
		FillValue(fill)))
	defer a.Close()
	done(t, a.Resize([]uint64{3}))
	done(t, a.SetAttr("name", []byte(`"value"`)))
	done(t, a.WriteOrthogonalBytes([][]uint64{{1}}, Bytes([]int16{5})))
	done(t, a.Commit())
	same(t, must(Read[int16](a, Box{})), []int16{-7, 5, -7})
	if have := must(a.FillValue()); !bytes.Equal(have, fill) {
		t.Fatal(have)
	}
	done(t, a.SetFillValue(nil))
	if have := must(a.FillValue()); have != nil {
		t.Fatal(have)
	}
	same(t, a.Attrs(), []string{"name"})
	if value, is, err := a.Attr("name"); !is || err != nil || string(value) != `"value"` {
		t.Fatal(string(value), is, err)
	}
	if _, is, err := a.Attr("none"); is || err != nil {
		t.Fatal(is, err)
	}
	done(t, a.SetMetaFile("note", []byte("K")))
	done(t, a.SetMetaFile("empty", []byte{}))
	same(t, must(a.MetaFiles()), []string{"empty", "note"})
	done(t, a.SetMetaFile("empty", nil))
	done(t, a.Commit())
	same(t, must(a.MetaFiles()), []string{"note"})
	if value, is, err := a.MetaFile("note"); !is || err != nil || string(value) != "K" {
		t.Fatal(string(value), is, err)
	}
	if _, is, err := a.MetaFile("none"); is || err != nil {
		t.Fatal(is, err)
	}
	is(t, a.SetMetaFile("../note", nil), ErrArgument)
	is(t, a.Copy(path+".b2nd", Create, ArraySpec{Format: B2ND}), ErrUnsupported)
	done(t, a.SetMetaFile("note", nil))
	done(t, a.Copy(path+".b2nd", Create, ArraySpec{Format: B2ND, ChunkShape: []uint64{2}}))
	b := must(OpenArray(path+".b2nd", ReadOnly))
	same(t, must(Read[int16](b, Box{})), []int16{-7, 5, -7})
	same(t, must(b.Info()).ChunkShape, []uint64{2})
	done(t, b.Close())
	is(t, a.Copy(path+".x", Create, ArraySpec{Format: B2ND, ChunkShape: []uint64{1, 1}}), ErrArgument)
	is(t, a.Copy(path+".x", Create, ArraySpec{Format: B2ND, Shape: []uint64{4}}), ErrArgument)
}

func TestSplits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	spec := TableSpec{Bcolz, []Column{{"key", "<i4"}}}
	tab := must(CreateTable(path, Create, spec, ChunkBytes(4000)))
	defer tab.Close()
	done(t, tab.Append(3000, Bytes(make([]int32, 3000))))
	done(t, tab.Commit())
	firsts := func(splits []Split) (firsts []uint64) {
		for _, s := range splits {
			firsts = append(firsts, s.First)
		}
		return firsts
	}
	same(t, firsts(must(tab.Splits(9))), []uint64{0, 1000, 2000})
	same(t, firsts(must(must(tab.Column("key")).Splits(3))), []uint64{0, 1000, 2000})
	_, err := tab.Splits(-1)
	is(t, err, ErrArgument)

	w := must(WriteBag(path+".bagz", Create))
	for i := 0; i < 10; i++ {
		done(t, w.Append([]byte("record")))
	}
	done(t, w.Commit())
	done(t, w.Close())
	bag := must(OpenBag(path + ".bagz"))
	defer bag.Close()
	splits := must(bag.Splits(2))
	same(t, firsts(splits), []uint64{0, 5})
	if splits[1].Count != 5 || splits[1].Bytes != splits[0].Bytes {
		t.Fatal(splits)
	}
}

func TestTableMetaFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	tab := must(CreateTable(path, Create, TableSpec{BLZRFC, []Column{{"key", "<i4"}}}))
	defer tab.Close()
	done(t, tab.SetMetaFile("note", []byte("K")))
	done(t, tab.SetMetaFile("empty", []byte{}))
	same(t, must(tab.MetaFiles()), []string{"empty", "note"})
	done(t, tab.SetMetaFile("empty", nil))
	done(t, tab.Commit())
	same(t, must(tab.MetaFiles()), []string{"note"})
	if value, is, err := tab.MetaFile("note"); !is || err != nil || string(value) != "K" {
		t.Fatal(string(value), is, err)
	}
	if _, is, err := tab.MetaFile("none"); is || err != nil {
		t.Fatal(is, err)
	}
	is(t, tab.SetMetaFile("../note", nil), ErrArgument)
	is(t, tab.Copy(path+".bcolz", Create, Bcolz), ErrUnsupported)
}

func TestWhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bcolz")
	spec := TableSpec{Bcolz, []Column{{"n", "<i4"}, {"s", "|S3"}}}
	table := must(CreateTable(path, Create, spec))
	n, s := make([]int32, 10000), make([]byte, 30000)
	for i := range n {
		n[i], s[3*i] = int32(i), "ab"[i%2]
	}
	done(t, table.Append(10000, Bytes(n), s))
	done(t, table.Commit())
	rows := must(table.Where("n between 5000 and 5003 and s = 'b'"))
	same(t, rows, []uint64{5001, 5003})
	if rows := must(table.Where("n < 9000")); len(rows) != 9000 || rows[8999] != 8999 {
		t.Fatal(len(rows))
	}
	_, err := table.Where("n >")
	is(t, err, ErrArgument)
	_, err = table.Where("n = 'x'")
	is(t, err, ErrType)
	done(t, table.Close())
}

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	columns := []Column{{"key", "<i4"}, {"name", "|S3"}, {"pair", "('<f4', (2,))"}}
	tab := must(CreateTable(path, Create, TableSpec{Bcolz, columns}, ExpectedRows(100)))
	done(t, tab.Append(2, Bytes([]int32{1, 2}), []byte("ab\x00xyz"), Bytes([]float32{1, 2, 3, 4})))
	done(t, tab.Insert(1, 1, Bytes([]int32{9}), []byte("---"), Bytes([]float32{0, 0})))
	done(t, tab.Remove(1, 1))
	is(t, tab.Insert(3, 1, Bytes([]int32{9}), []byte("---"), Bytes([]float32{0, 0})), ErrRange)
	is(t, tab.Insert(1, 1, Bytes([]int32{9})), ErrArgument)
	is(t, tab.Remove(2, 1), ErrRange)
	is(t, tab.Append(1, Bytes([]int32{1})), ErrArgument)
	is(t, tab.Append(1, nil, nil, nil), ErrArgument)
	done(t, tab.SetAttr("made by", []byte(`"Go"`)))
	done(t, tab.SetColumnAttr("key", "unit", []byte(`1`)))
	done(t, tab.Commit())

	key := must(tab.Column("key"))
	same(t, must(Read[int32](key, Box{})), []int32{1, 2})
	is(t, Write(key, Box{}, []int32{3, 4}), ErrState)
	done(t, tab.AddColumn(0, Column{"new", "<u2"}, Bytes([]uint16{7, 8})))
	same(t, must(Read[int32](key, Box{})), []int32{1, 2}) // it is found by its name
	done(t, tab.Write("key", 1, 1, Bytes([]int32{20})))
	is(t, tab.Write("none", 1, 1, Bytes([]int32{20})), ErrArgument)
	is(t, tab.Write("key", 1, 2, Bytes([]int32{20, 30})), ErrRange)
	is(t, tab.SetColumnAttr("none", "unit", []byte(`1`)), ErrArgument)
	same(t, must(Read[int32](key, Box{})), []int32{1, 20})
	if value, is, err := key.Attr("unit"); !is || err != nil || string(value) != "1" {
		t.Fatal(string(value), is, err)
	}
	done(t, key.Close()) // has no effect on a column
	same(t, must(Read[int32](key, Box{})), []int32{1, 20})
	added := must(tab.Column("new"))
	done(t, tab.RemoveColumn("new"))
	_, err := tab.Column("new")
	is(t, err, ErrArgument)
	_, err = Read[uint16](added, Box{Start: []uint64{0}, Count: []uint64{1}})
	is(t, err, ErrArgument)
	done(t, tab.Commit())
	same(t, tab.Columns()[:2], columns[:2])
	same(t, tab.Attrs(), []string{"made by"})

	info := must(tab.Info())
	if info.Format != Bcolz || info.ColumnCount != 3 || info.RowCount != 2 || info.NBytes != 30 ||
		info.AttrCount != 1 || info.Generation != 2 {
		t.Fatal(info)
	}
	keys, pairs := make([]int32, 2), make([]float32, 4)
	done(t, tab.ReadRows(0, 2, 1, []string{"pair", "key"}, Bytes(pairs), Bytes(keys)))
	same(t, keys, []int32{1, 20})
	same(t, pairs, []float32{1, 2, 3, 4})
	done(t, tab.ReadPoints([]uint64{1, 0}, nil, Bytes(keys), make([]byte, 6), Bytes(pairs)))
	same(t, keys, []int32{20, 1})
	is(t, tab.ReadRows(0, 2, 1, []string{"key"}), ErrArgument)
	is(t, tab.ReadRows(0, 2, 1, []string{"none"}, Bytes(keys)), ErrArgument)
	is(t, tab.ReadRows(0, 3, 1, []string{"key"}, Bytes(keys)), ErrRange)
	is(t, tab.ReadRows(0, 2, 1, []string{"key"}, Bytes(keys[:1])), ErrBuffer)
	done(t, tab.Copy(path+".copy", Create, BLZ))
	copied := must(OpenTable(path+".copy", ReadOnly))
	same(t, must(Read[int32](must(copied.Column("key")), Box{})), []int32{1, 20})
	same(t, copied.Attrs(), []string{"made by"})
	done(t, copied.Close())

	// Copies the rows into another table through Arrow, twice.
	to := must(CreateTable(path+".to", Create, TableSpec{BLZ, columns}))
	for _, first := range []uint64{0, 1} {
		stream := must(tab.Arrow(first, 2-first, 1))
		done(t, to.AppendArrow(stream.Pointer()))
		done(t, stream.Close())
		if stream.Pointer() != nil {
			t.Fatal("it is closed")
		}
	}
	if to.RowCount() != 3 || must(tab.Arrow(0, 2, 0)).Close() != nil {
		t.Fatal(to.RowCount())
	}
	stream := must(tab.Arrow(0, 2, 0))
	made := must(TableFromArrow(path+".b2d", Create, CTable, stream.Pointer()))
	if made.RowCount() != 2 || made.Columns()[0].Dtype != "<i4" {
		t.Fatal(made.RowCount(), made.Columns())
	}
	done(t, made.Close())
	done(t, stream.Close())
	stream = must(tab.Arrow(0, 2, 0))
	_, err = TableFromArrow(path+".b2d", Create, CTable, stream.Pointer())
	is(t, err, ErrExists)
	done(t, stream.Close())
	done(t, must(tab.ColumnsArrow([]string{"key"}, 0, 2, 0)).Close())
	done(t, must(tab.ColumnsArrow(nil, 0, 2, 0)).Close())
	testScans(t, tab)
	_, err = tab.ColumnsArrow([]string{"none"}, 0, 2, 0)
	is(t, err, ErrArgument)
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

// testScans checks which rows of a table with the keys 1 and 20 the scans export.
func testScans(t *testing.T, tab *Table) {
	is(t, tab.BuildIndex(nil), ErrUnsupported)
	keys := func(stream *ArrowStream, err error) []int32 {
		done(t, err)
		path := t.TempDir() + "/scanned.b2d"
		made := must(TableFromArrow(path, Create, CTable, stream.Pointer()))
		done(t, stream.Close())
		rows := must(Read[int32](must(made.Column("key")), Box{}))
		done(t, made.BuildIndex([]string{"key"}))
		done(t, made.BuildIndex(nil))
		done(t, made.Commit())
		is(t, made.BuildIndex([]string{"none"}), ErrArgument)
		done(t, made.Close())
		return rows
	}
	key := []string{"key"}
	same(t, keys(tab.Scan(Scan{})), []int32{1, 20})
	same(t, keys(tab.Scan(Scan{Where: "key > 1", Columns: key})), []int32{20})
	same(t, keys(tab.Scan(Scan{Where: "key >= 1", Limit: 1, Batch: 9})), []int32{1})
	same(t, keys(tab.Scan(Scan{Start: 1, Columns: key})), []int32{20})
	same(t, keys(tab.Scan(Scan{Where: "key > 1", End: 1, Columns: key})), []int32{})
	same(t, keys(tab.PointsArrow(key, []uint64{1, 0, 1}, 2)), []int32{20, 1, 20})
	same(t, keys(tab.PointsArrow(nil, []uint64{0}, 0)), []int32{1})
	_, err := tab.Scan(Scan{Where: "key >"})
	is(t, err, ErrArgument)
	_, err = tab.Scan(Scan{Start: 2, End: 1})
	is(t, err, ErrRange)
	_, err = tab.PointsArrow(key, []uint64{2}, 0)
	is(t, err, ErrRange)
}
