package holdall

// Tests of containers in a Storage, and of its errors.

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

// folder is a Storage over files, with the number of reads.
type folder struct {
	path  string
	reads *atomic.Int64
	fails error
}

func (f folder) at(name string) string { return filepath.Join(f.path, name) }

// missing maps the error for files beside a container in one file to fs.ErrNotExist.
func missing(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	return err
}

func (f folder) Size(name string) (int64, error) {
	info, err := os.Stat(f.at(name))
	if err != nil {
		return 0, missing(err)
	}
	return info.Size(), nil
}

func (f folder) ReadAt(name string, p []byte, at int64) (int, error) {
	f.reads.Add(1)
	if f.fails != nil {
		return 0, f.fails
	}
	file, err := os.Open(f.at(name))
	if err != nil {
		return 0, missing(err)
	}
	defer file.Close()
	return file.ReadAt(p, at)
}

func (f folder) List(name string) (names []string, err error) {
	entries, err := os.ReadDir(f.at(name))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// server is a folder that is read by few calls.
type server struct {
	folder
	calls *atomic.Int64
}

func (s server) ReadRanges(ranges []StorageRange) error {
	s.calls.Add(1)
	if s.fails != nil {
		return s.fails
	}
	for i := range ranges {
		r := &ranges[i]
		r.Size, r.Err = s.Size(r.Name)
		if r.Err != nil {
			continue
		}
		at := r.At
		if at < 0 {
			at += r.Size
		}
		if at < 0 {
			at = 0
		}
		if _, err := s.folder.ReadAt(r.Name, r.Data, at); err != io.EOF {
			r.Err = err
		}
	}
	return nil
}

func TestStorageThatReadsRanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.bagz")
	w := must(WriteBag(path, Create))
	for i := 0; i < 5000; i++ {
		done(t, w.Append([]byte(strconv.Itoa(i))))
	}
	done(t, w.Commit())
	done(t, w.Close())
	storage := server{folder{path, new(atomic.Int64), nil}, new(atomic.Int64)}
	bag := must(OpenBag("", UseStorage(storage), Compress(CodecZstd)))
	records := must(bag.ReadIndices([]uint64{4999, 7, 2500, 0}))
	if string(records.Bytes(1)) != "7" {
		t.Fatal(records.Bytes(1))
	}
	done(t, bag.Close())
	if calls := storage.calls.Load(); calls < 2 || calls > 5 {
		t.Fatal(calls)
	}
	storage.fails = errors.New("no network")
	_, err := OpenBag("", UseStorage(storage), Compress(CodecZstd))
	is(t, err, storage.fails)
	storage.fails = nil
	storage.path += "-no"
	_, err = OpenBag("", UseStorage(storage), Compress(CodecZstd))
	is(t, err, ErrMissing)
}

func TestStorageOfAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	tab := must(CreateTable(path, Create, TableSpec{Bcolz, []Column{{"a", Dtype[int32]()}}}))
	done(t, tab.Append(3, Bytes([]int32{1, 2, 3})))
	done(t, tab.Commit())
	done(t, tab.Close())
	storage := folder{path, new(atomic.Int64), nil}
	tab = must(OpenTable("", ReadOnly, UseStorage(storage)))
	same(t, must(Read[int32](must(tab.Column("a")), Box{})), []int32{1, 2, 3})
	done(t, tab.Close())
	if storage.reads.Load() == 0 {
		t.Fatal("the storage was not asked")
	}
	_, err := OpenTable("", ReadOnly, UseStorage(folder{path + "-no", storage.reads, nil}))
	is(t, err, ErrMissing)
}

func TestStorageInMemory(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	made := must(CreateArray(a, Create,
		ArraySpec{Format: B2ND, Dtype: Dtype[float64](), Shape: []uint64{4}}))
	done(t, Write(made, Box{}, []float64{1, 2, 3, 4}))
	done(t, made.Commit())
	done(t, made.Close())
	array := must(OpenArray("", ReadOnly, UseStorage(Memory(must(os.ReadFile(a))))))
	runtime.GC()
	same(t, must(Read[float64](array, Box{Start: []uint64{2}})), []float64{3, 4})
	done(t, array.Close())

	s := must(CreateSchunk(b, Create, Bloscpack, 1))
	must(s.Write([]byte("abcdef")))
	done(t, s.Commit())
	done(t, s.Close())
	s = must(OpenSchunk("", ReadOnly, UseStorage(Memory(must(os.ReadFile(b))))))
	if s.Len() != 6 {
		t.Fatal(s.Len())
	}
	done(t, s.Close())
	option := UseStorage(Memory("no container"))
	_, err := OpenSchunk("", ReadOnly, option)
	is(t, err, ErrFormat)
	_, err = OpenSchunk(b, ReadOnly, option)
	is(t, err, ErrArgument)
	_, err = CreateSchunk("", Create, Bloscpack, 1, option)
	is(t, err, ErrUnsupported)
}

func TestMemoryFiles(t *testing.T) {
	files := must(NewMemoryFiles())
	s := must(CreateSchunk("", Create, B2Frame, 1, UseStorage(files)))
	must(s.Write([]byte("abc")))
	done(t, s.Commit())
	first := must(files.File(""))
	_, err := OpenSchunk("", Append, UseStorage(files))
	is(t, err, ErrBusy)
	must(s.Write([]byte("def")))
	done(t, s.Commit())
	done(t, s.Close())
	same(t, must(files.Names()), []string{""})
	others := must(NewMemoryFiles())
	done(t, others.Put("", first))
	for i, from := range []Storage{files, others, Memory(first)} {
		s = must(OpenSchunk("", ReadOnly, UseStorage(from)))
		if s.Len() != []uint64{6, 3, 3}[i] {
			t.Fatal(i, s.Len())
		}
		done(t, s.Close())
	}
	if n := must(others.Size("")); n != int64(len(first)) {
		t.Fatal(n)
	}
	part := make([]byte, 4)
	if must(others.ReadAt("", part, 2)) != 4 || string(part) != string(first[2:6]) {
		t.Fatal(part)
	}
	_, err = files.File("none")
	is(t, err, ErrMissing)
	done(t, files.Close())
	_, err = files.Names()
	is(t, err, ErrState)
	_, err = OpenSchunk("", ReadOnly, UseStorage(files))
	is(t, err, ErrState)
}

func TestStorageOfShards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bagz")
	w := must(WriteBag(path, Create))
	for i := 0; i < 5000; i++ {
		done(t, w.Append([]byte{byte(i), byte(i >> 8)}))
	}
	done(t, w.Commit())
	done(t, w.Close())
	content := Memory(must(os.ReadFile(path)))
	bag := must(OpenBag("", UseStorage(content, folder{path, new(atomic.Int64), nil}), Threads(4),
		Compress(CodecZstd)))
	if bag.Len() != 10000 {
		t.Fatal(bag.Len())
	}
	some := must(bag.Slice(9999, 4, -2500))
	done(t, bag.Close()) // the slice has the storage
	for i, want := range []int{4999, 2499, 4999, 2499} {
		record := must(some.Read(uint64(i), nil))
		if int(record[0])|int(record[1])<<8 != want {
			t.Fatal(i, record)
		}
	}
	done(t, some.Close())
}

func TestStorageThatFails(t *testing.T) {
	broken := folder{t.TempDir(), new(atomic.Int64), errors.New("the cable is out")}
	done(t, os.WriteFile(broken.at("f"), make([]byte, 100), 0o666))
	broken.path = broken.at("f")
	_, err := OpenArray("", ReadOnly, UseStorage(broken))
	is(t, err, ErrCallback)
	is(t, err, broken.fails)
	broken.fails = fs.ErrPermission
	_, err = OpenBag("", UseStorage(broken))
	is(t, err, fs.ErrPermission)
	_, err = OpenBag("", UseStorage(nil))
	is(t, err, ErrArgument)
}
