// A user's program: writes a bag, opens it again and compares every record, as c-tests/consumers/consumer.c does.
//
//	consumer BAG
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"holdall"
)

const records = 1000

// record is i % 100 letters, so that some are empty.
func record(i int) []byte {
	return bytes.Repeat([]byte{'a' + byte(i%26)}, i%100)
}

func write(path string) error {
	w, err := holdall.WriteBag(path, holdall.New)
	if err != nil {
		return err
	}
	defer w.Close()
	for i := 0; i < records; i++ {
		if err := w.Append(record(i)); err != nil {
			return err
		}
	}
	return w.Commit()
}

func compare(path string) error {
	bag, err := holdall.OpenBag(path)
	if err != nil {
		return err
	}
	defer bag.Close()
	if bag.Len() != records {
		return errors.New("the bag has lost records")
	}
	var have []byte
	for i := 0; i < records; i++ {
		if have, err = bag.Read(uint64(i), have); err != nil {
			return err
		}
		if !bytes.Equal(have, record(i)) {
			return fmt.Errorf("record %d differs", i)
		}
	}
	if _, err := bag.Read(records, nil); !errors.Is(err, holdall.ErrRange) {
		return fmt.Errorf("a record behind the last was not refused: %v", err)
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		os.Exit(2)
	}
	err := write(os.Args[1])
	if err == nil {
		err = compare(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		os.Exit(1)
	}
	fmt.Printf("%d records, holdall %s\n", records, holdall.Version())
}
