//go:build go1.23

package holdall

import (
	"bytes"
	"io/fs"
	"testing"
)

func TestIterators(t *testing.T) {
	bag := must(OpenBag(bagOf(t, 100)))
	i := uint64(0)
	for r, err := range bag.All(Threads(1)) {
		if err != nil || !bytes.Equal(r, record(i)) {
			t.Fatal(i, err)
		}
		if i++; i == 50 {
			break
		}
	}
	batch := must(bag.ReadRange(3, 4))
	defer batch.Close()
	for i, r := range batch.All() {
		if !bytes.Equal(r, record(uint64(i)+3)) {
			t.Fatal(i)
		}
	}
	// A number that the bag does not have is one error; the iteration continues with the next record.
	numbers := []uint64{1, 100, 2}
	s := must(bag.Stream(func() (uint64, bool, error) {
		if len(numbers) == 0 {
			return 0, false, nil
		}
		n := numbers[0]
		numbers = numbers[1:]
		return n, true, nil
	}))
	records, failed := 0, 0
	for _, err := range s.All() {
		if err != nil {
			failed++
		} else {
			records++
		}
	}
	if records != 2 || failed != 1 {
		t.Fatal(records, failed)
	}
	done(t, bag.Close())
	for _, err := range bag.All() {
		is(t, err, fs.ErrClosed)
	}
}
