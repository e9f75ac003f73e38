"""usage: trips_julia.py PREFIX FOLDER: what examples/trips/trips.c does, by Julia's layer of calls as PREFIX has it."""
import ctypes as c
import pathlib
import struct
import sys

import julia
from script import OUT, u64

TRIPS, DAYS, HOURS = 1000, 200, 100
STOPS = [i * i % 97 for i in range(TRIPS)]


def bag(f, k, path):
    writer = f.ok("bag_writer_open", path, k["HOLDALL_NEW"], None, OUT)
    for i, n in enumerate(STOPS):
        record = b"trip %d: %d stops" % (i, n)
        f.ok("bag_writer_append", writer, record, len(record))
    f.ok("bag_writer_commit", writer)
    f("bag_writer_close", writer)

    records = f.ok("bag_open", path, None, OUT)
    print("bag:", f.get("bag_size", records), "records")
    some = f.ok("bag_slice", records, TRIPS - 1, -333, 4, OUT)
    for i in range(f.get("bag_size", some)):
        print(f.sized("bag_read", some, i).decode())
    f.ok("bag_read", records, TRIPS, None, 0, OUT, status=k["HOLDALL_E_RANGE"])
    print("one more:", f.get("status_name", k["HOLDALL_E_RANGE"]).decode())
    f("bag_close", some), f("bag_close", records)


def array(f, k, path):
    field = struct.pack(f"={DAYS * HOURS}d", *(day + hour / 4 for day in range(DAYS) for hour in range(HOURS)))
    shape = u64(DAYS, HOURS)
    a = f.ok("array_create", path, k["HOLDALL_NEW"], k["HOLDALL_FORMAT_B2ND"], b"<f8", 2, shape, None, None, None, OUT)
    f.ok("array_write", a, u64(0, 0), shape, None, field, None, len(field))
    f.ok("array_commit", a)
    f("array_close", a)

    a = f.ok("array_open", path, k["HOLDALL_READ"], None, OUT)
    days, hours = (c.c_uint64 * 2).from_address(f.get("array_shape", a))
    print("array:", days, "x", hours, "of", f.get("array_dtype", a).decode())
    box = (c.c_double * 6)()
    f.ok("array_read", a, u64(10, 4), u64(2, 3), u64(50, 2), box, None, c.sizeof(box))
    print("%.2f %.2f %.2f\n%.2f %.2f %.2f" % tuple(box))
    f("array_close", a)


def table(f, k, path):
    names, dtypes = (c.c_char_p * 2)(b"stops", b"km"), (c.c_char_p * 2)(b"<i4", b"<f8")
    columns = (c.c_int32 * TRIPS)(*STOPS), (c.c_double * TRIPS)(*(2.25 * n + 0.5 for n in STOPS))
    t = f.ok("table_create", path, k["HOLDALL_NEW"], k["HOLDALL_FORMAT_BCOLZ"], 2, names, dtypes, None, OUT)
    f.ok("table_append", t, TRIPS, (c.c_void_p * 2)(*map(c.addressof, columns)), (c.c_size_t * 2)(*map(c.sizeof, columns)))
    f.ok("table_attr_set", t, b"city", b'"Turin"', 7)
    f.ok("table_attr_set", t, b"year", b"2013", 4)
    f.ok("table_commit", t)
    f("table_close", t)

    t = f.ok("table_open", path, k["HOLDALL_READ"], None, OUT)
    print("table:", f.get("table_rows", t), "rows")
    for i in range(f.get("table_attrs", t)):
        name = f.get("table_attr_name", t, i)
        value, n = f.ok("table_attr_get", t, name, OUT, OUT)
        print(f"{name.decode()}: {c.string_at(value, n).decode()}")
    last = (c.c_int32 * 3)(), (c.c_double * 3)()
    for i, items in enumerate(last):
        f.ok("array_read", f.get("table_column", t, i), u64(TRIPS - 3), u64(3), None, items, None, c.sizeof(items))
    for n, km in zip(*last):
        print(f"{n} stops, {km:.2f} km")
    f("table_close", t)


def main(prefix, folder):
    (layer_path,) = prefix.glob("share/holdall/julia/src/libholdall.jl")
    (library,) = (found for found in prefix.glob("lib*/**/libholdall.*") if found.suffix in (".so", ".dylib"))
    layer = julia.read(layer_path)
    f, k = julia.caller(layer, library), layer.constants
    print("holdall", f.get("version_text").decode())
    for make, name in ((bag, "trips.bagz"), (array, "field.b2nd"), (table, "trips.bcolz")):
        make(f, k, str(folder / name).encode())
    for name in ("trips.bagz", "field.b2nd", "trips.bcolz"):
        sound, bad, _ = f.ok("verify", str(folder / name).encode(), None, None, None, OUT, OUT, OUT)
        print(f"{name}: {sound} sound, {bad} bad")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
