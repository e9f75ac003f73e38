"""trips.py FOLDER: the program trips.c, in Python."""

import pathlib
import sys

import numpy as np

import holdall

TRIPS, DAYS, HOURS = 1000, 200, 100
stops = np.arange(TRIPS) ** 2 % 97


def bag(path):
    with holdall.BagWriter(path) as writer:
        writer.extend(f"trip {i}: {n} stops".encode() for i, n in enumerate(stops))
        writer.commit()

    with holdall.Bag(path) as records:
        print("bag:", len(records), "records")
        for record in records[::-333]:
            print(record.decode())
        try:
            records[TRIPS]
        except holdall.Error as e:
            print("one more: HOLDALL_" + e.name)


def array(path):
    field = np.arange(DAYS)[:, None] + np.arange(HOURS) / 4
    holdall.Array.save(path, field)

    with holdall.Array(path) as a:
        print("array:", a.shape[0], "x", a.shape[1], "of", a.dtype.str)
        for row in a[10:61:50, 4:9:2]:
            print(*(f"{value:.2f}" for value in row))


def table(path):
    with holdall.Table.create(path, {"stops": "<i4", "km": "<f8"}) as t:
        t.append({"stops": stops, "km": 2.25 * stops + 0.5})
        t.set_attr("city", "Turin")
        t.set_attr("year", 2013)
        t.commit()

    with holdall.Table(path) as t:
        print("table:", len(t), "rows")
        for name, value in t.raw_attrs.items():
            print(f"{name}: {value.decode()}")
        for n, km in zip(t["stops"][-3:], t["km"][-3:]):
            print(f"{n} stops, {km:.2f} km")


folder = pathlib.Path(sys.argv[1])
print("holdall", holdall.version())
bag(folder / "trips.bagz")
array(folder / "field.b2nd")
table(folder / "trips.bcolz")
for name in ("trips.bagz", "field.b2nd", "trips.bcolz"):
    result, error = holdall.verify(folder / name)
    print(f"{name}: {result.intact} intact, {result.corrupt} corrupt")
