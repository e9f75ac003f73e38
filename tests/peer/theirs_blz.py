"""Operations of BLZ 0.6.2 on datasets, in a Python of its own (see cmake/blz.sh and beside.py)."""

import blz
import numpy as np
from beside import serve


def create(path, rows, **options):
    blz.barray(np.load(rows), rootdir=path, mode="w", **options).flush()


def read(path, to):
    np.save(to, blz.barray(rootdir=path, mode="r")[:])


def append(path, rows):
    array = blz.barray(rootdir=path, mode="a")
    array.append(np.load(rows))
    array.flush()


def trim(path, n):
    array = blz.barray(rootdir=path, mode="a")
    array.trim(n)
    array.flush()


def write(path, at, rows):
    array, rows = blz.barray(rootdir=path, mode="a"), np.load(rows)
    array[at : at + len(rows)] = rows
    array.flush()


def dflt(path):
    return np.asarray(blz.barray(rootdir=path, mode="r").dflt).tolist()


def attrs(path):
    return blz.barray(rootdir=path, mode="r").attrs.getall()


serve(globals())
