package holdall

// Tests of stores.

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestStores(t *testing.T) {
	folder := filepath.Join(fixtures(t), "stores")
	if !exists(folder) {
		t.Skip("no stores")
	}
	for _, name := range []string{"tree.b2z", "tree.b2d", "threshold.b2d", "embed.b2e"} {
		path := filepath.Join(folder, name)
		s := must(OpenStore(path, Threads(1)))
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
		a, b := must(s.Array("/a")), must(OpenArray(filepath.Join(path, "a"), ReadOnly))
		_, err = s.Array("/none")
		is(t, err, ErrMissing)
		_, err = s.Array("/group")
		is(t, err, ErrType)
		content := must(s.Schunk("/group/s"))
		if content.Len() != 120 {
			t.Fatal(content.Len())
		}
		if name == "tree.b2z" {
			table := must(s.Table("/tables/t"))
			if nulls := must(table.ReadNulls("x", 0, 5)); table.RowCount() != 5 || nulls != nil {
				t.Fatal(table.RowCount(), nulls)
			}
			done(t, table.Close())
		}
		done(t, s.Close())
		_, err = s.Array("/a")
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
	table := must(OpenTable(filepath.Join(folder, "deleted.b2d"), ReadOnly))
	nulls := must(table.ReadNulls("i", 0, 4))
	if len(nulls) != 4 || nulls[2] || !nulls[3] {
		t.Fatal(nulls)
	}
	_, err := table.ReadNulls("none", 0, 1)
	is(t, err, ErrArgument)
	_, err = OpenStore(filepath.Join(t.TempDir(), "none.b2z"))
	is(t, err, ErrMissing)
	bytes := must(os.ReadFile(filepath.Join(folder, "dict.b2z")))
	_, err = OpenStore("", UseStorage(Memory(bytes[:len(bytes)-1])))
	is(t, err, ErrFormat)
	if n := len(must(OpenStore("", UseStorage(Memory(bytes)))).Nodes()); n != 8 {
		t.Fatal(n)
	}
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
