package holdall

// Reads a sample of the files that the original tools wrote and compares with their manifests.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func fixtures(t *testing.T) string {
	folder := os.Getenv("HOLDALL_FIXTURES")
	if folder == "" {
		t.Skip("HOLDALL_FIXTURES is not set")
	}
	return folder
}

// The stores, which are among the fixtures of this repository.
var stores = filepath.Join("..", "..", "tests", "fixtures", "stores")

// Numbers that Python writes to JSON and that other readers reject.
var notNumbers = regexp.MustCompile(`-?\bInfinity\b|\bNaN\b`)

func parsed(t *testing.T, path string, into any) {
	t.Helper()
	done(t, json.Unmarshal(notNumbers.ReplaceAll(must(os.ReadFile(path)), []byte("null")), into))
}

func digest(all []byte) string {
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}

func TestBagFixtures(t *testing.T) {
	folder := filepath.Join(fixtures(t), "bagz")
	var manifest struct {
		Fixtures []struct {
			Name, Spec, Digest string
			N                  uint64
			Options            struct {
				Compression, Dictionary string
				Limits                  string `json:"limits_placement"`
				Sharding                string `json:"sharding_layout"`
			}
			Index struct {
				Unique  uint64
				Lookups []struct {
					Key   string `json:"key_hex"`
					First uint64
					All   []uint64
				}
			}
			Indices []struct {
				Indices []uint64
				Digest  string
			} `json:"read_indices"`
		}
	}
	parsed(t, filepath.Join(folder, "manifest.json"), &manifest)
	for _, f := range manifest.Fixtures {
		codec := map[string]Codec{"none": CodecNone, "zstd": CodecZstd}
		options := []Option{BagLimits(LimitsTail), BagShards(ShardsConcatenated), Compress(CodecByName)}
		if f.Options.Limits == "separate" {
			options[0] = BagLimits(LimitsSeparate)
		}
		if f.Options.Sharding == "interleaved" {
			options[1] = BagShards(ShardsInterleaved)
		}
		if c, is := codec[f.Options.Compression]; is {
			options[2] = Compress(c)
		}
		if f.Options.Dictionary != "" {
			options = append(options, Dictionary([]byte(f.Options.Dictionary)))
		}
		bag, err := OpenBag(filepath.Join(folder, strings.ReplaceAll(f.Spec, ",", ","+folder+"/")),
			options...)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		have := digestOf(t, must(bag.ReadRange(0, bag.Len())))
		if bag.Len() != f.N || have != f.Digest ||
			hex.EncodeToString(must(bag.Checksum(ChecksumSHA256))) != f.Digest {
			t.Errorf("%s: %d records with the digest %s, not %d with %s", f.Name, bag.Len(), have, f.N,
				f.Digest)
		}
		for _, want := range f.Indices {
			if have := digestOf(t, must(bag.ReadIndices(want.Indices))); have != want.Digest {
				t.Errorf("%s: %v have the digest %s", f.Name, want.Indices, have)
			}
		}
		if f.Index.Unique > 0 {
			x := must(bag.BuildIndex())
			for _, l := range f.Index.Lookups {
				key := must(hex.DecodeString(l.Key))
				if len(l.All) > 0 && must(x.First(key)) != l.First {
					t.Errorf("%s: %s", f.Name, l.Key)
				}
				same(t, must(x.Find(key)), l.All)
			}
			done(t, x.Close())
		}
		done(t, bag.Close())
	}
	t.Logf("%d containers: bags", len(manifest.Fixtures))
}

// digestOf computes the digest of a batch as in the manifest.
func digestOf(t *testing.T, r *Records) string {
	var all []byte
	for i := 0; i < r.Len(); i++ {
		all = binary.LittleEndian.AppendUint64(all, uint64(len(r.Bytes(i))))
		all = append(all, r.Bytes(i)...)
	}
	done(t, r.Close())
	return digest(all)
}

func TestFrameFixtures(t *testing.T) {
	read := 0
	for _, folder := range []string{"b2nd", "caterva"} {
		names := must(filepath.Glob(filepath.Join(fixtures(t), folder, "*.json")))
		for _, name := range names {
			var f struct {
				Path, Expected, Dtype string
				Shape                 []uint64
			}
			parsed(t, name, &f)
			if !strings.HasSuffix(f.Path, ".b2nd") && !strings.HasSuffix(f.Path, ".cat") ||
				f.Expected == "" || strings.Contains(f.Path, "uninit") {
				continue // another kind of file, or arbitrary content
			}
			path := filepath.Join(fixtures(t), folder, f.Path)
			a, err := OpenArray(path, ReadOnly)
			var all []byte
			if err == nil {
				same(t, a.Shape(), f.Shape)
				all = make([]byte, a.NBytes())
				err = a.ReadBytes(Box{}, all)
				done(t, a.Close())
			}
			if strings.HasPrefix(filepath.Base(path), "k_zfp") ||
				strings.HasPrefix(filepath.Base(path), "k_ndcell") {
				is(t, err, ErrCodec) // of plugins
				continue
			}
			if want := must(os.ReadFile(filepath.Join(fixtures(t), folder, f.Expected))); err != nil ||
				!bytes.Equal(all, want) {
				t.Errorf("%s: %d bytes differ from %d expected ones, %v", f.Path, len(all), len(want), err)
			}
			read++
		}
	}
	if read < 20 {
		t.Fatal(read)
	}
	t.Logf("%d containers: frames", read)
}

type said struct {
	Name, Sha256 string
	Stored       string `json:"sha256_stored"`
	Dtype        any
	Shape        []uint64
	Columns      []said
}

func (c said) check(t *testing.T, name string, a *Array) {
	all := make([]byte, a.NBytes())
	err := a.ReadBytes(Box{}, all)
	want := c.Sha256
	if c.Stored != "" {
		want = c.Stored
	}
	if err != nil || digest(all) != want {
		t.Errorf("%s: %d bytes of %s, %v", name, len(all), a.Dtype(), err)
	}
	same(t, a.Shape(), c.Shape)
}

// stored is a file or folder of a manifest.
type stored struct {
	Path, Kind, Expect string
	Content            said
}

func TestDatasetFixtures(t *testing.T) {
	// A sample of the archive of all files, or the files that are stored with the source.
	read := map[string]int{}
	if all := filepath.Join(fixtures(t), "blpk"); exists(filepath.Join(all, "files.tar.gz")) {
		readStored(t, all, []string{"bcolz121_dtypes/", "bcolz0121_table/", "bcolzzip113_table/", "blz",
			"bloscpack/numpy/", "bloscpack/typesize/"}, read)
	} else {
		readStored(t, all, []string{""}, read)
		readStored(t, filepath.Join(fixtures(t), "datasets"), []string{""}, read)
	}
	t.Logf("%d containers: %v", read["tables"]+read["superchunks"]+read["arrays"], read)
	if read["tables"] < 3 || read["superchunks"] < 3 || read["arrays"] < 20 {
		t.Fatal(read)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readStored(t *testing.T, folder string, groups []string, read map[string]int) {
	var manifest struct{ Fixtures []stored }
	parsed(t, filepath.Join(folder, "manifest.json"), &manifest)
	requested := func(name string) bool {
		for _, group := range groups {
			if strings.Contains(name, group) {
				return true
			}
		}
		return false
	}
	if archive := filepath.Join(folder, "files.tar.gz"); exists(archive) {
		folder = t.TempDir()
		unpack(t, archive, folder, requested)
	}
	for _, f := range manifest.Fixtures {
		dtype := fmt.Sprint(f.Content.Dtype)
		if f.Expect == "ok" && requested(f.Path) && !strings.Contains(dtype, "O") && dtype != "object" {
			read[f.check(t, filepath.Join(folder, f.Path))]++
		}
	}
}

// check reads one container and returns its kind.
func (f stored) check(t *testing.T, path string) string {
	switch {
	case f.Content.Columns != nil:
		tab, err := OpenTable(path, ReadOnly)
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
			return ""
		}
		for _, c := range f.Content.Columns {
			c.check(t, f.Path, must(tab.Column(c.Name)))
		}
		done(t, tab.Close())
		return "tables"
	case f.Kind == "bloscpack" && f.Content.Dtype == "|u1":
		s := must(OpenSchunk(path, ReadOnly))
		if all := must(io.ReadAll(io.NewSectionReader(s, 0,
			int64(s.Len())))); digest(all) != f.Content.Sha256 {
			t.Errorf("%s: %d bytes", f.Path, len(all))
		}
		done(t, s.Close())
		return "superchunks"
	}
	a, err := OpenArray(path, ReadOnly)
	if err != nil {
		t.Errorf("%s: %v", f.Path, err)
		return ""
	}
	f.Content.check(t, f.Path, a)
	done(t, a.Close())
	return "arrays"
}

// unpack extracts the requested files from an archive.
func unpack(t *testing.T, archive, folder string, requested func(name string) bool) {
	f := must(os.Open(archive))
	defer f.Close()
	for files := tar.NewReader(must(gzip.NewReader(f))); ; {
		header, err := files.Next()
		if err == io.EOF {
			return
		}
		done(t, err)
		if !requested(header.Name) {
			continue
		}
		to := filepath.Join(folder, header.Name)
		if header.FileInfo().IsDir() {
			done(t, os.MkdirAll(to, 0o777))
			continue
		}
		done(t, os.MkdirAll(filepath.Dir(to), 0o777))
		done(t, os.WriteFile(to, must(io.ReadAll(files)), 0o666))
	}
}
