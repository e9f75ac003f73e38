"""conform_python.py LIST: what the Python module reads of the containers in a list, for c-tests/conform.py, as c-tests/cxx/conform.cc has it."""
import pathlib
import sys

import numpy as np

import holdall


def content(kind, how, path):
    """Yields the items of an array in C order, the columns of a table, or each record after its length."""
    if kind == "array":
        with holdall.Array(path) as a:
            yield a[...].tobytes()
    elif kind == "table":
        with holdall.Table(path) as t:
            for name in t:
                yield t[name][...].tobytes()
    elif kind == "schunk":
        with holdall.Schunk(path) as s:
            yield s.read()
    else:
        layout = {"bag_shards": "interleaved" if "turns" in how else "concatenated", "bag_limits": "separate" if "separate" in how else "tail"}
        with holdall.Bag(path, **layout) as bag:
            for record in bag:
                yield np.uint64(len(record)).tobytes() + record


for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    kind, to, how, path = line.split("\t")
    with open(to, "wb") as out:
        for part in content(kind, how, path):
            out.write(part)
