package holdall

// Tests of stores.

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestStores(t *testing.T) {
	for _, name := range []string{"tree.b2z", "tree.b2d", "threshold.b2d", "embed.b2e"} {
		path := filepath.Join(stores, name)
		s := must(OpenStore(path, ReadOnly, Threads(1)))
		nodes := s.Nodes()
		if len(nodes) < 8 || nodes[len(nodes)-1][0] != '/' {
			t.Fatal(nodes)
		}
		format, kind, err := s.Identify("/a")
		if format != B2ND || kind != KindArray || err != nil {
			t.Fatal(format, kind, err)
		}
		if _, kind, _ := Identify(path); kind != KindStore || kind.String() != "store" {
			t.Fatal(kind)
		}
		a, b := must(s.Array("/a", ReadOnly)), must(OpenArray(filepath.Join(path, "a"), ReadOnly))
		_, err = s.Array("/none", ReadOnly)
		is(t, err, ErrMissing)
		_, err = s.Array("/group", ReadOnly)
		is(t, err, ErrType)
		content := must(s.Schunk("/group/s", ReadOnly))
		if content.Len() != 120 {
			t.Fatal(content.Len())
		}
		if name == "tree.b2z" {
			table := must(s.Table("/tables/t", ReadOnly))
			if nulls := must(table.ReadNulls("x", 0, 5)); table.RowCount() != 5 || nulls != nil {
				t.Fatal(table.RowCount(), nulls)
			}
			done(t, table.Close())
		}
		done(t, s.Close())
		_, err = s.Array("/a", ReadOnly)
		is(t, err, fs.ErrClosed)
		for _, array := range []*Array{a, b} {
			items := make([]byte, 4000)
			done(t, array.ReadBytes(Box{}, items))
			if binary.LittleEndian.Uint32(items[3996:]) != 999 {
				t.Fatal(items[3996:])
			}
			done(t, array.Close())
		}
	}
	table := must(OpenTable(filepath.Join(stores, "deleted.b2d"), ReadOnly))
	nulls := must(table.ReadNulls("i", 0, 4))
	if len(nulls) != 4 || nulls[2] || !nulls[3] {
		t.Fatal(nulls)
	}
	_, err := table.ReadNulls("none", 0, 1)
	is(t, err, ErrArgument)
	_, err = OpenStore(filepath.Join(t.TempDir(), "none.b2z"), ReadOnly)
	is(t, err, ErrMissing)
	bytes := must(os.ReadFile(filepath.Join(stores, "dict.b2z")))
	_, err = OpenStore("", ReadOnly, UseStorage(Memory(bytes[:len(bytes)-1])))
	is(t, err, ErrFormat)
	if n := len(must(OpenStore("", ReadOnly, UseStorage(Memory(bytes)))).Nodes()); n != 8 {
		t.Fatal(n)
	}
}

// numbersOf creates an array of two numbers as a node and commits it.
func numbersOf(t *testing.T, s *Store, node string) *Array {
	t.Helper()
	spec := ArraySpec{Format: B2ND, Dtype: Dtype[int64](), Shape: []uint64{2}}
	a := must(CreateArray("", Create, spec, s.NewNode(node, KindArray)))
	done(t, Write(a, Box{}, []int64{1, 2}))
	done(t, a.Commit())
	return a
}

// lengthAt returns the number of rows of an array at a path.
func lengthAt(t *testing.T, path string) uint64 {
	t.Helper()
	a := must(OpenArray(path, ReadOnly))
	defer a.Close()
	return a.Shape()[0]
}

func TestStoresAreChanged(t *testing.T) {
	for format, end := range map[Format]string{B2D: "b2d", B2Z: "b2z", B2E: "b2e"} {
		path := filepath.Join(t.TempDir(), "x."+end)
		s := must(CreateStore(path, Create, 0))
		a := numbersOf(t, s, "/a")
		done(t, a.Copy("", Create, ArraySpec{Format: B2ND}, s.NewNode("/group/b", KindArray)))
		content := must(CreateSchunk("", Create, B2Frame, 1, s.NewNode("/s", KindSchunk)))
		must(content.Write([]byte("content")))
		done(t, content.Commit())
		done(t, content.Close())
		if _, err := OpenStore(path, ReadOnly); err == nil {
			t.Fatal("visible before the commit")
		}
		done(t, s.Commit())
		same(t, s.Nodes(), []string{"/a", "/group/b", "/s"})
		if found, _, _ := Identify(path); found != format {
			t.Fatal(found)
		}
		b := must(s.Array("/group/b", Append))
		for _, array := range []*Array{a, b} {
			done(t, AppendItems(array, 0, []int64{3}))
			done(t, array.Commit())
		}
		done(t, s.Remove("/s"))
		if n := lengthAt(t, filepath.Join(path, "a")); n != 2 {
			t.Fatal(n)
		}
		done(t, s.Commit())
		for _, node := range []string{"a", "group/b"} {
			if n := lengthAt(t, filepath.Join(path, node)); n != 3 {
				t.Fatal(node, n)
			}
		}
		same(t, s.Nodes(), []string{"/a", "/group/b"})
		done(t, b.Close())

		_, err := OpenStore(path, Append)
		is(t, err, ErrBusy)
		is(t, s.Remove("/s"), ErrMissing)
		wrong := func(node string, kind Kind, status Status) {
			_, err := CreateSchunk("", Create, B2Frame, 1, s.NewNode(node, kind))
			is(t, err, status)
		}
		wrong("/../x", KindSchunk, ErrArgument)
		wrong("x\x00", KindSchunk, ErrArgument)
		wrong("/a", KindSchunk, ErrExists)
		if format == B2E {
			wrong("/t", KindTable, ErrUnsupported)
		}
		if format != B2E {
			spec := TableSpec{CTable, []Column{{"n", "<i8"}}}
			table := must(CreateTable("", Create, spec, s.NewNode("/t", KindTable)))
			done(t, table.Append(2, Bytes([]int64{5, 6})))
			done(t, table.Commit())
			done(t, table.Close())
			done(t, s.Commit())
			table = must(s.Table("/t", Append))
			done(t, table.Remove(0, 1))
			done(t, table.Commit())
			done(t, table.Close())
			done(t, s.Commit())
			table = must(OpenTable(filepath.Join(path, "t"), ReadOnly))
			if table.RowCount() != 1 {
				t.Fatal(table.RowCount())
			}
			done(t, table.Close())
		}
		done(t, s.Close())
		is(t, s.Commit(), fs.ErrClosed)
		_, err = CreateSchunk("", Create, B2Frame, 1, s.NewNode("/x", KindSchunk))
		is(t, err, ErrState)
		same(t, must(Read[int64](a, Box{})), []int64{1, 2, 3}) // it does not need the store
		done(t, a.Close())

		s = must(OpenStore(path, ReadOnly))
		is(t, s.Commit(), ErrState)
		_, err = s.Array("/a", Append)
		is(t, err, ErrState)
		_, err = CreateStore(path, Create, format)
		is(t, err, ErrExists)
		done(t, s.Close())
	}
}

func TestStoresInMemoryFiles(t *testing.T) {
	files := must(NewMemoryFiles())
	_, err := CreateStore("", Create, 0, UseStorage(files))
	is(t, err, ErrArgument)
	s := must(CreateStore("", Create, B2Z, UseStorage(files)))
	done(t, numbersOf(t, s, "/a").Close())
	done(t, s.Commit())
	done(t, s.Close())
	same(t, must(OpenStore("", ReadOnly, UseStorage(files))).Nodes(), []string{"/a"})
}

func TestCTablesAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.b2d")
	spec := TableSpec{CTable, []Column{{"n", "<i4"}, {"x", "|u1"}}}
	table := must(CreateTable(path, Create, spec))
	for i := byte(0); i < 2; i++ {
		done(t, table.Append(2, []byte{i, 0, 0, 0, 1, 0, 0, 0}, []byte{i, 9}))
		done(t, table.Commit())
	}
	done(t, table.Close())
	table = must(OpenTable(path, ReadOnly))
	defer table.Close()
	n, x := make([]byte, 16), make([]byte, 4)
	done(t, table.ReadRows(0, 4, 1, []string{"n", "x"}, n, x))
	if table.RowCount() != 4 || n[8] != 1 || x[2] != 1 || x[3] != 9 {
		t.Fatal(table.RowCount(), n, x)
	}
}

// valuesOf reads all values of a column; nil is a null.
func valuesOf(t *testing.T, table *Table, name string) (values [][]byte) {
	t.Helper()
	column, n := must(table.Column(name)), int(table.RowCount())
	nulls := must(table.ReadNulls(name, 0, n))
	together := must(column.ReadValues(0, n))
	_, err := column.ReadValues(1, n)
	is(t, err, ErrRange)
	for i := 0; i < n; i++ {
		value := must(column.ReadObject(uint64(i)))
		if nulls != nil && nulls[i] {
			value = nil
		}
		values = append(values, value)
	}
	sameValues(t, together, values)
	return values
}

func sameValues(t *testing.T, have, want [][]byte) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Fatalf("%q (expected %q)", have, want)
	}
}

func TestTextsAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.b2d")
	spec := TableSpec{CTable, []Column{{"t", "T"}, {"n", "<i8"}}}
	table := must(CreateTable(path, Create, spec))
	defer table.Close()
	a, b, empty := []byte("a"), []byte("b\x00\u00e9\U0001f600"), []byte{}
	n := func(numbers ...int64) []byte { return Bytes(numbers) }
	done(t, table.Append(0, Texts(), nil))
	done(t, table.Append(3, Values(a, nil, empty), n(1, 2, 3)))
	done(t, table.Insert(1, 2, Texts(string(b), "c"), n(4, 5)))
	done(t, table.Write("t", 2, 2, Values(nil, []byte("d"))))
	done(t, table.Write("n", 0, 1, n(6)))
	done(t, table.AddColumn(1, Column{"u", "T"}, Values(nil, a, b, empty, nil)))

	// No error changes the table.
	for _, err := range []error{
		table.Append(2, Texts("x"), Texts("y", "z"), n(1, 2)),
		table.Append(1, Texts("x", "y"), Texts("z"), n(1)),
		table.Insert(0, 1, Texts(), Texts("z"), n(1)),
		table.Append(1, nil, Texts("z"), n(1)),
		table.Append(1, []byte("no encoding"), Texts("z"), n(1)),
		table.Append(1, Texts("x")[:8], Texts("z"), n(1)),
		table.Append(1, append(Texts("x"), 0), Texts("z"), n(1)),
		table.Append(1, Texts("x"), n(1)),
		table.Write("t", 0, 2, Texts("x")),
		table.Write("t", 0, 1, []byte("x")),
		table.AddColumn(0, Column{"v", "T"}, Texts("x")),
		table.AddColumn(0, Column{"v", "T"}, n(1, 2, 3, 4, 5)),
	} {
		is(t, err, ErrArgument)
	}
	is(t, table.Append(1, Texts("\xff"), Texts("z"), n(1)), ErrType)
	is(t, table.Write("u", 0, 1, Texts("\xff")), ErrType)
	is(t, table.Write("u", 5, 1, Texts("x")), ErrRange)
	is(t, table.AddColumn(0, Column{"v", "object"}, Texts("1", "2", "3", "4", "5")), ErrUnsupported)

	for i := 0; i < 2; i++ {
		sameValues(t, valuesOf(t, table, "t"), [][]byte{a, b, nil, []byte("d"), empty})
		sameValues(t, valuesOf(t, table, "u"), [][]byte{nil, a, b, empty, nil})
		numbers := make([]int64, 5)
		done(t, table.ReadRows(0, 5, 1, []string{"n"}, Bytes(numbers)))
		if !reflect.DeepEqual(numbers, []int64{6, 4, 5, 2, 3}) {
			t.Fatal(numbers)
		}
		if i == 0 {
			done(t, table.Commit())
			done(t, table.Close())
			table = must(OpenTable(path, ReadOnly))
		}
	}
	is(t, table.Append(1, Texts("x"), Texts("y"), n(1)), ErrState)
	done(t, table.Close())
	is(t, table.Append(1, Texts("x"), Texts("y"), n(1)), fs.ErrClosed)
}

func TestStoresAreCopied(t *testing.T) {
	original := must(OpenStore(filepath.Join(stores, "tree.b2z"), ReadOnly))
	defer original.Close()
	folder := t.TempDir()
	path := filepath.Join(folder, "t.b2d")
	done(t, original.Copy(path, Create, 0))
	is(t, original.Copy(path, Create, B2D), ErrExists)
	done(t, original.Copy(path, Replace, B2D))
	is(t, original.Copy(filepath.Join(folder, "t.b2e"), Create, 0), ErrUnsupported)
	again := must(OpenStore(path, ReadOnly))
	defer again.Close()
	if !reflect.DeepEqual(again.Nodes(), original.Nodes()) {
		t.Fatal(again.Nodes())
	}
}

// The columns of the fixture are x, an integer; t, m, v and d, texts; w, bytes; l, a list in
// MessagePack.
func TestOtherValuesAreWritten(t *testing.T) {
	original := must(OpenTable(filepath.Join(stores, "text.b2d"), ReadOnly))
	defer original.Close()
	path := filepath.Join(t.TempDir(), "t.b2d")
	done(t, original.Copy(path, Create, CTable))
	table := must(OpenTable(path, Append))
	defer table.Close()
	x, text := Bytes([]int64{7}), Texts("a")
	w, l := []byte{0, 255}, []byte{0x92, 1, 2}
	done(t, table.Append(1, x, text, text, text, text, Values(w), Values(l)))
	is(t, table.Append(1, x, text, text, text, text, Values(w), l), ErrArgument)
	is(t, table.Append(1, x, text, text, text, text, Values(w), Values([]byte{0xc1})), ErrType)
	done(t, table.Write("w", 0, 1, Values(l)))
	is(t, table.Write("w", 0, 2, Values(l)), ErrArgument)
	done(t, table.Commit())
	n := int(table.RowCount())
	bytes, lists := valuesOf(t, table, "w"), valuesOf(t, table, "l")
	sameValues(t, [][]byte{bytes[0], bytes[n-1], lists[n-1]}, [][]byte{l, w, l})
	is(t, original.Append(1, x, text, text, text, text, Values(w), Values(l)), ErrState)
}
