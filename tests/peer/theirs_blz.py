"""What BLZ 0.6.2 does with datasets, in a Python of its own (see cmake/blz.sh): each line of the input is one thing to do, as
JSON, each line of the output says how it went. Items come and go as .npy files.
"""

import json
import sys

import blz
import numpy as np


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


for line in sys.stdin:
    name, arguments = json.loads(line)
    try:
        answer = [True, globals()[name](**arguments)]
    except Exception as e:
        answer = [False, f"{type(e).__name__}: {e}"]
    print(json.dumps(answer), flush=True)
