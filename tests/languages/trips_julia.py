"""usage: trips_julia.py PREFIX FOLDER: what examples/trips/trips.c does, by Julia's layer of calls as PREFIX has it."""
import ctypes as c
import pathlib
import struct
import sys

import julia
from script import OUT, table_spec, u64

TRIPS, DAYS, HOURS = 1000, 200, 100
STOPS = [i * i % 97 for i in range(TRIPS)]


def bag(f, k, path):
    writer = f.ok("bag_writer_open", path, k["HOLDALL_CREATE"], None, OUT)
    for i, n in enumerate(STOPS):
        record = b"trip %d: %d stops" % (i, n)
        f.ok("bag_writer_append", writer, record, len(record))
    f.ok("bag_writer_commit", writer)
    f("bag_writer_close", writer)

    records = f.ok("bag_open", path, None, OUT)
    print("bag:", f.get("bag_record_count", records), "records")
    some = f.ok("bag_slice", records, TRIPS - 1, 4, -333, OUT)
    for i in range(f.get("bag_record_count", some)):
        print(f.sized("bag_read", some, i).decode())
    f.ok("bag_read", records, TRIPS, None, 0, OUT, status=k["HOLDALL_E_RANGE"])
    print("one more:", f.get("status_name", k["HOLDALL_E_RANGE"]).decode())
    f("bag_close", some), f("bag_close", records)


def array(f, k, path):
    field = struct.pack(f"={DAYS * HOURS}d", *(day + hour / 4 for day in range(DAYS) for hour in range(HOURS)))
    spec = f.spec("array_spec", format=k["HOLDALL_FORMAT_B2ND"], dtype=b"<f8", ndim=2, shape=u64(DAYS, HOURS))
    a = f.ok("array_create", path, k["HOLDALL_CREATE"], spec, None, OUT)
    f.ok("array_write", a, None, None, None, field, len(field), None)
    f.ok("array_commit", a)
    f("array_close", a)

    a = f.ok("array_open", path, k["HOLDALL_READ"], None, OUT)
    days, hours = (c.c_uint64 * 2).from_address(f.get("array_shape", a))
    print("array:", days, "x", hours, "of", f.get("array_dtype", a).decode())
    box = (c.c_double * 6)()
    f.ok("array_read", a, u64(10, 4), u64(2, 3), u64(50, 2), box, c.sizeof(box), None)
    print("%.2f %.2f %.2f\n%.2f %.2f %.2f" % tuple(box))
    f("array_close", a)


def table(f, k, path):
    columns = (c.c_int32 * TRIPS)(*STOPS), (c.c_double * TRIPS)(*(2.25 * n + 0.5 for n in STOPS))
    t = f.ok("table_create", path, k["HOLDALL_CREATE"], table_spec(f, k["HOLDALL_FORMAT_BCOLZ"], stops=b"<i4", km=b"<f8"), None, OUT)
    f.ok("table_append", t, TRIPS, (c.c_void_p * 2)(*map(c.addressof, columns)), (c.c_size_t * 2)(*map(c.sizeof, columns)))
    f.ok("table_attr_set", t, b"city", b'"Turin"', 7)
    f.ok("table_attr_set", t, b"year", b"2013", 4)
    f.ok("table_commit", t)
    f("table_close", t)

    t = f.ok("table_open", path, k["HOLDALL_READ"], None, OUT)
    print("table:", f.get("table_row_count", t), "rows")
    for i in range(f.get("table_attr_count", t)):
        name = f.get("table_attr_name", t, i)
        value, n = f.ok("table_attr_get", t, name, OUT, OUT)
        print(f"{name.decode()}: {c.string_at(value, n).decode()}")
    last = (c.c_int32 * 3)(), (c.c_double * 3)()
    for name, items in zip((b"stops", b"km"), last):
        f.ok("array_read", f.get("table_find_column", t, name), u64(TRIPS - 3), None, None, items, c.sizeof(items), None)
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
        found = f.info("verify", "verify_result", str(folder / name).encode(), None, None, None)
        print(f"{name}: {found.intact} intact, {found.corrupt} corrupt")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
