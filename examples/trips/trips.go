// trips FOLDER: what trips.c does, in Go.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"holdall"
)

const trips, days, hours = 1000, 200, 100

func stops(trip int) int32 { return int32(trip * trip % 97) }
func km(trip int) float64  { return 2.25*float64(stops(trip)) + 0.5 }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func bag(path string) {
	writer, err := holdall.WriteBag(path, holdall.Create)
	check(err)
	for i := 0; i < trips; i++ {
		check(writer.Append([]byte(fmt.Sprintf("trip %d: %d stops", i, stops(i)))))
	}
	check(writer.Commit())
	check(writer.Close())

	all, err := holdall.OpenBag(path)
	check(err)
	defer all.Close()
	fmt.Println("bag:", all.Len(), "records")
	some, err := all.Slice(trips-1, 4, -333)
	check(err)
	defer some.Close()
	for i := uint64(0); i < some.Len(); i++ {
		record, err := some.Read(i, nil)
		check(err)
		fmt.Println(string(record))
	}
	_, err = all.Read(trips, nil)
	var failed *holdall.Error
	if errors.As(err, &failed) {
		fmt.Println("one more:", failed.Status)
	}
}

func array(path string) {
	field := make([]float64, 0, days*hours)
	for day := 0; day < days; day++ {
		for hour := 0; hour < hours; hour++ {
			field = append(field, float64(day)+float64(hour)/4)
		}
	}
	spec := holdall.ArraySpec{Format: holdall.B2ND, Dtype: holdall.Dtype[float64](), Shape: []uint64{days, hours}}
	a, err := holdall.CreateArray(path, holdall.Create, spec)
	check(err)
	check(holdall.Write(a, holdall.Box{}, field))
	check(a.Commit())
	check(a.Close())

	a, err = holdall.OpenArray(path, holdall.ReadOnly)
	check(err)
	defer a.Close()
	fmt.Println("array:", a.Shape()[0], "x", a.Shape()[1], "of", a.Dtype())
	box, err := holdall.Read[float64](a, holdall.Box{Start: []uint64{10, 4}, Count: []uint64{2, 3}, Step: []uint64{50, 2}})
	check(err)
	for ; len(box) > 0; box = box[3:] {
		fmt.Printf("%.2f %.2f %.2f\n", box[0], box[1], box[2])
	}
}

func table(path string) {
	allStops, allKm := make([]int32, trips), make([]float64, trips)
	for i := range allStops {
		allStops[i], allKm[i] = stops(i), km(i)
	}
	columns := []holdall.Column{{Name: "stops", Dtype: holdall.Dtype[int32]()}, {Name: "km", Dtype: holdall.Dtype[float64]()}}
	t, err := holdall.CreateTable(path, holdall.Create, holdall.TableSpec{Format: holdall.Bcolz, Columns: columns})
	check(err)
	check(t.Append(trips, holdall.Bytes(allStops), holdall.Bytes(allKm)))
	check(t.SetAttr("city", []byte(`"Turin"`)))
	check(t.SetAttr("year", []byte("2013")))
	check(t.Commit())
	check(t.Close())

	t, err = holdall.OpenTable(path, holdall.ReadOnly)
	check(err)
	defer t.Close()
	fmt.Println("table:", t.RowCount(), "rows")
	for _, name := range t.Attrs() {
		value, _, err := t.Attr(name)
		check(err)
		fmt.Printf("%s: %s\n", name, value)
	}
	lastStops, lastKm := make([]int32, 3), make([]float64, 3)
	check(t.ReadRows(trips-3, 3, 1, []string{"stops", "km"}, holdall.Bytes(lastStops), holdall.Bytes(lastKm)))
	for i := range lastStops {
		fmt.Printf("%d stops, %.2f km\n", lastStops[i], lastKm[i])
	}
}

func main() {
	if len(os.Args) != 2 {
		os.Exit(2)
	}
	in := func(name string) string { return filepath.Join(os.Args[1], name) }
	fmt.Println("holdall", holdall.Version())
	bag(in("trips.bagz"))
	array(in("field.b2nd"))
	table(in("trips.bcolz"))
	for _, name := range []string{"trips.bagz", "field.b2nd", "trips.bcolz"} {
		found, err := holdall.Verify(in(name), nil)
		check(err)
		fmt.Printf("%s: %d intact, %d corrupt\n", name, found.Intact, found.Corrupt)
	}
}
