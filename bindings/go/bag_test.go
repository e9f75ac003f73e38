package holdall

// Tests of bags: writing, all ways of reading, streams and indexes.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"testing"
)

// must returns a result and fails the test on an error.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is checks that an error matches this one.
func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v is not %v", err, want)
	}
}

func same[T comparable](t *testing.T, have, want []T) {
	t.Helper()
	if len(have) != len(want) {
		t.Fatalf("%d of them, not %d: %v, not %v", len(have), len(want), have, want)
	}
	for i := range have {
		if have[i] != want[i] {
			t.Fatalf("number %d is %v, not %v", i, have[i], want[i])
		}
	}
}

func record(i uint64) []byte {
	return bytes.Repeat([]byte{'a' + byte(i%26)}, int(i*7%100))
}

// bagOf writes a bag of n records.
func bagOf(t *testing.T, n uint64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.bagz")
	w := must(WriteBag(path, Create, Level(1)))
	defer w.Close()
	for i := uint64(0); i < n; i++ {
		done(t, w.Append(record(i)))
	}
	if w.Len() != n {
		t.Fatalf("%d records", w.Len())
	}
	done(t, w.Commit())
	return path
}

func TestBag(t *testing.T) {
	const n = 1000
	path := bagOf(t, n)
	bag := must(OpenBag(path, Threads(2), Map(true)))
	defer bag.Close()
	info := must(bag.Info())
	if bag.Len() != n || info.RecordCount != n || info.Codec != CodecZstd ||
		info.Checksum != ChecksumZstd || info.StoredBytes == 0 ||
		info.Format != Bagz || info.Limits != LimitsTail || info.Sharding != ShardsConcatenated ||
		info.ShardCount != 1 || info.Generation != 0 {
		t.Fatal(bag.Len(), info)
	}
	if fmt.Sprint(info.Codec, info.Format, info.Checksum, KindBag,
		FilterShuffle) != "zstd bagz zstd bag shuffle" {
		t.Fatal(info.Codec, info.Format, info.Checksum, KindBag, FilterShuffle)
	}
	same(t, bag.Shards(), []Shard{{path, n}})

	var buf []byte
	for i := uint64(0); i < n; i++ {
		buf = must(bag.Read(i, buf))
		if !bytes.Equal(buf, record(i)) || must(bag.Size(i)) != len(buf) {
			t.Fatalf("record %d is %q", i, buf)
		}
	}
	batch := must(bag.ReadRange(10, 500))
	indices := must(bag.ReadIndices([]uint64{999, 0, 7, 7}))
	if batch.Len() != 500 || !bytes.Equal(batch.Bytes(499), record(509)) ||
		!bytes.Equal(indices.Bytes(3), record(7)) || !bytes.Equal(indices.Bytes(0), record(999)) {
		t.Fatal("batches differ")
	}
	data, offsets := batch.Data()
	if int(offsets[500]) != len(data) || indices.Number(0) != NoRecord ||
		len(indices.DamagedPositions()) != 0 {
		t.Fatal(offsets[500], len(data))
	}
	done(t, batch.Close())
	done(t, indices.Close())
	done(t, batch.Close())
	none := must(bag.ReadIndices(nil))
	if none.Len() != 0 {
		t.Fatal(none.Len())
	}
	done(t, none.Close())

	slice := must(bag.Slice(n-1, 500, -2))
	done(t, bag.Close())
	if slice.Len() != 500 || !bytes.Equal(must(slice.Read(1, nil)), record(n-3)) {
		t.Fatal("a slice outlives its bag")
	}
	done(t, slice.Close())
}

func TestDictionary(t *testing.T) {
	var data []byte
	offsets := []uint64{0}
	for i := 0; i < 5000; i++ {
		data = append(data, fmt.Sprintf("user %d of the city of Osaka", i)...)
		offsets = append(offsets, uint64(len(data)))
	}
	trained, err := TrainDictionary(data, offsets, 4096)
	done(t, err)
	_, err = TrainDictionary(data, offsets[:3], 4096)
	is(t, err, ErrArgument)
	_, err = TrainDictionary(data, []uint64{1, 0}, 4096)
	is(t, err, ErrArgument)
	for _, options := range [][]Option{
		{BagDictionary(DictionaryStored), Dictionary(trained)},
		{BagDictionary(DictionaryAuto)},
		nil,
	} {
		path := filepath.Join(t.TempDir(), "a.bagz")
		w, err := WriteBag(path, Create, options...)
		done(t, err)
		done(t, w.AppendMany(data, offsets))
		done(t, w.Commit())
		done(t, w.Close())
		b, err := OpenBag(path)
		done(t, err)
		found, err := b.Dictionary()
		done(t, err)
		if (len(found) > 0) != (options != nil) || len(options) == 2 && !bytes.Equal(found, trained) {
			t.Fatalf("a dictionary of %d bytes", len(found))
		}
		line, err := b.Read(4999, nil)
		done(t, err)
		same(t, line, data[offsets[4999]:])
		done(t, b.Close())
	}
}

func TestErrors(t *testing.T) {
	path := bagOf(t, 3)
	bag := must(OpenBag(path))
	defer bag.Close()
	_, err := bag.Read(3, nil)
	is(t, err, ErrRange)
	var e *Error
	if !errors.As(err, &e) || e.Status != ErrRange || e.Op != "read" || e.Message == "" ||
		e.Status.String() != "HOLDALL_E_RANGE" {
		t.Fatalf("%#v", err)
	}
	_, err = OpenBag(filepath.Join(t.TempDir(), "none.bagz"))
	is(t, err, fs.ErrNotExist)
	is(t, err, ErrMissing)
	_, err = WriteBag(path, Create)
	is(t, err, fs.ErrExist)
	_, err = OpenBag(path, ChunkBytes(3))
	is(t, err, ErrArgument)
	_, err = OpenArray(path, ReadOnly)
	is(t, err, ErrType)
	_, err = OpenBag("a\x00b")
	is(t, err, ErrArgument)
	_, err = OpenBag(path, Option{})
	is(t, err, ErrArgument)
	_, err = OpenSchunk(t.TempDir()+"/no/such/folder", ReadOnly)
	is(t, err, ErrMissing)

	// A corrupt record is an error with its number, or empty with SkipDamaged.
	content := must(os.ReadFile(path))
	first := must(bag.Size(0)) // record 0 is empty: its frame is the first 13 bytes
	for i := 13; i < 25; i++ {
		content[i] ^= 0x55
	}
	damaged := filepath.Join(t.TempDir(), "b.bagz")
	done(t, os.WriteFile(damaged, content, 0o666))
	corrupt := must(OpenBag(damaged))
	defer corrupt.Close()
	_, err = corrupt.Read(1, nil)
	if !errors.As(err, &e) || e.Position != 1 || first != 0 {
		t.Fatalf("%#v", err)
	}
	skips := must(OpenBag(damaged, SkipDamaged(true)))
	defer skips.Close()
	r, err := skips.Read(1, nil)
	is(t, err, ErrDamaged)
	if r == nil || len(r) != 0 {
		t.Fatalf("%q", r)
	}
	for _, read := range []func() (*Records, error){
		func() (*Records, error) { return skips.ReadRange(0, 3) },
		func() (*Records, error) { return skips.ReadIndices([]uint64{2, 1}) },
		func() (*Records, error) { return must(skips.Stream(nil)).Take(3) },
	} {
		batch, err := read()
		is(t, err, ErrDamaged)
		same(t, batch.DamagedPositions(), []uint64{1})
		done(t, batch.Close())
	}
	stream := must(skips.Stream(nil))
	for i := uint64(0); i < 3; i++ {
		r, number, err := stream.Next()
		if number != i || (err != nil) != (i == 1) || (len(r) == 0) != (i < 2) {
			t.Fatal(i, number, r, err)
		}
		if i == 1 {
			is(t, err, ErrDamaged)
		}
	}
	_, _, err = stream.Next()
	is(t, err, io.EOF)
	done(t, stream.Close())

	var parts []string
	result, err := Verify(damaged, func(part string, fault *Error) bool {
		parts = append(parts, fmt.Sprintf("%s %v", part, fault.Position))
		return true
	})
	if err == nil || result.Corrupt != 1 || result.Intact != 2 {
		t.Fatal(result, err)
	}
	same(t, parts, []string{"record 1 1"})
	if runningAsUser() {
		done(t, os.Chmod(path, 0))
		_, err = OpenBag(path)
		is(t, err, syscall.EACCES)
	}
}

func runningAsUser() bool { return os.Getuid() != 0 }

func TestStreams(t *testing.T) {
	const n = 2000
	bag := must(OpenBag(bagOf(t, n)))
	defer bag.Close()
	all := must(bag.Stream(nil, Threads(2)))
	defer all.Close()
	for i := uint64(0); ; i++ {
		r, number, err := all.Next()
		if err == io.EOF && i == n {
			break
		}
		if err != nil || number != i || !bytes.Equal(r, record(i)) {
			t.Fatal(i, number, err)
		}
	}

	// Numbers from a callback: one that the bag does not have, and an error at the end.
	order := []uint64{5, 1999, n, 5, 0}
	tired := errors.New("tired")
	at := 0
	some := must(bag.Stream(func() (uint64, bool, error) {
		if at == len(order) {
			return 0, false, tired
		}
		at++
		return order[at-1], true, nil
	}, BagReadAhead(2)))
	defer some.Close()
	var numbers []uint64
	var failed []error
	for len(failed) < 2 {
		r, number, err := some.Next()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if !bytes.Equal(r, record(number)) {
			t.Fatalf("record %d is %q", number, r)
		}
		numbers = append(numbers, number)
	}
	same(t, numbers, []uint64{5, 1999, 5, 0})
	is(t, failed[0], ErrRange)
	is(t, failed[1], ErrCallback)
	is(t, failed[1], tired)

	// Two ranks get each record once; a stream can start at the second half of a rank.
	var epoch []uint64
	for rank := uint32(0); rank < 2; rank++ {
		for _, position := range []uint64{0, n / 4} {
			s := must(bag.Epoch(7, 3, rank, 2, position))
			for k := 0; k < n/4; k++ {
				_, number, err := s.Next()
				done(t, err)
				epoch = append(epoch, number)
			}
			done(t, s.Close())
		}
	}
	sort.Slice(epoch, func(i, j int) bool { return epoch[i] < epoch[j] })
	for i, number := range epoch {
		if number != uint64(i) {
			t.Fatal(i, number)
		}
	}
	_, err := bag.Epoch(7, 3, 2, 2, 0)
	is(t, err, ErrArgument)
	_, err = bag.Epoch(7, 3, 1, 2, n)
	is(t, err, ErrRange)
}

func TestIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bag")
	w := must(WriteBag(path, Replace))
	data, offsets := []byte("xyzxx"), []uint64{0, 1, 2, 2, 3, 5}
	done(t, w.AppendMany(data, offsets))
	is(t, w.AppendMany(data, []uint64{0, 9}), ErrArgument)
	is(t, w.AppendMany(data, nil), ErrArgument)
	for i := 0; i < 20; i++ {
		done(t, w.Append([]byte("x")))
	}
	done(t, w.Commit())
	done(t, w.Close())
	bag := must(OpenBag(path))
	defer bag.Close()
	made := must(bag.CreateIndex(path+".index", Create))
	done(t, made.Close())
	for _, x := range []*Index{must(bag.BuildIndex()), must(bag.OpenIndex(path + ".index"))} {
		if x.KeyCount() != 5 || x.DamagedCount() != 0 || must(x.First([]byte("z"))) != 3 ||
			must(x.First(nil)) != 2 || must(x.First([]byte("no"))) != NoRecord {
			t.Fatal(x.KeyCount())
		}
		if all := must(x.Find([]byte("x"))); len(all) != 21 || all[0] != 0 || all[20] != 24 {
			t.Fatal(all)
		}
		same(t, must(x.Find([]byte("no"))), nil)
		same(t, must(x.FindMany([][]byte{[]byte("xx"), {}, []byte("q")})), []uint64{4, 2, NoRecord})
		done(t, x.Close())
	}
	other := must(OpenBag(bagOf(t, 4)))
	defer other.Close()
	_, err := other.OpenIndex(path + ".index")
	is(t, err, ErrState)
}

func TestSets(t *testing.T) {
	folder := t.TempDir()
	w := must(WriteBag(filepath.Join(folder, "s@3.bagz"), Create))
	for i := uint64(0); i < 10; i++ {
		done(t, w.Append(record(i)))
	}
	done(t, w.Commit())
	done(t, w.Close())
	set := must(OpenBag(filepath.Join(folder, "s@*.bagz"), BagShards(ShardsInterleaved)))
	defer set.Close()
	if set.Len() != 10 || len(set.Shards()) != 3 || !bytes.Equal(must(set.Read(4, nil)), record(4)) {
		t.Fatal(set.Len(), set.Shards())
	}
}
