"""What an index of NumPy's means: a box, lists of positions for each dimension, or single items."""
import dataclasses

import numpy as np

from . import _errors


@dataclasses.dataclass
class Box:
    start: list
    count: list
    step: list
    backwards: list
    shape: tuple  # of the result: without the dimensions of single numbers
    item: bool  # a number for each dimension, and no ellipsis: NumPy gives the item then, without the order of its bytes
    kind: str = "box"


@dataclasses.dataclass
class Lists:
    positions: list  # None: all
    count: list
    kind: str = "lists"


@dataclasses.dataclass
class Points:
    coordinates: np.ndarray  # of each item, a number for each dimension
    shape: tuple
    kind: str = "points"


def _number(i):
    return isinstance(i, (int, np.integer)) and not isinstance(i, (bool, np.bool_))


def _array(list):
    array = np.asarray(list)
    return array if array.size or isinstance(list, np.ndarray) else array.astype(np.intp)


def _expanded(key, ndim):
    """The index with a member for each dimension, and those of None."""
    key = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, (bool, np.bool_)) for k in key):
        raise _errors.TypeError("a bool is no index of an array on disk")
    for k in key:
        if isinstance(k, (float, np.floating)):
            raise _errors.TypeError(f"an index is a whole number, not {k!r}")
    key = tuple(k if k is None or k is Ellipsis or _number(k) or isinstance(k, slice) else _array(k) for k in key)
    used = sum(k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else k is not None and k is not Ellipsis for k in key)
    if used > ndim or sum(k is Ellipsis for k in key) > 1:
        raise _errors.RangeError(f"too many indices for {ndim} dimensions")
    if not any(k is Ellipsis for k in key):
        key += (Ellipsis,)
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    return key[:at] + (slice(None),) * (ndim - used) + key[at + 1 :]


def _box(key, shape, item):
    start, count, step, backwards, out, d = [], [], [], [], [], 0
    for k in key:
        if k is None:
            out.append(1)
            continue
        if _number(k):
            if not -shape[d] <= k < shape[d]:
                raise _errors.RangeError(f"index {k} is beyond the {shape[d]} of dimension {d}")
            chosen = range(int(k) % shape[d], int(k) % shape[d] + 1)
        else:
            chosen = range(shape[d])[k]
            out.append(len(chosen))
        start.append(min(chosen[0], chosen[-1]) if chosen else 0)
        count.append(len(chosen))
        step.append(abs(chosen.step) if len(chosen) > 1 else 1)
        backwards.append(chosen.step < 0)
        d += 1
    return Box(start, count, step, backwards, tuple(out), item and not out)


def _listed(list, n, d):
    """A list of positions from 0 on."""
    if list.dtype == bool:
        if len(list) != n:
            raise _errors.RangeError(f"a mask of {len(list)} for the {n} of dimension {d}")
        return np.flatnonzero(list)
    if list.size and list.dtype.kind not in "iu":
        raise _errors.RangeError(f"positions are whole numbers, not {list.dtype}")
    list = list.astype(np.int64)
    if list.size and not (-n <= list.min() and list.max() < n):
        raise _errors.RangeError(f"a position is beyond the {n} of dimension {d}")
    return np.where(list < 0, list + n, list)


def of(key, shape):
    """What is meant of an array of this shape."""
    item = not any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))
    key = _expanded(key, len(shape))
    arrays = [k for k in key if isinstance(k, np.ndarray)]
    if not arrays:
        return _box(key, shape, item)
    if len(arrays) == 1 and arrays[0].ndim == 1 and all(isinstance(k, (slice, np.ndarray)) for k in key):
        positions = []
        for d, (k, n) in enumerate(zip(key, shape)):
            if isinstance(k, slice):
                positions.append(None if k == slice(None) else np.arange(n)[k])
            else:
                positions.append(_listed(k, n, d))
        return Lists(positions, [n if p is None else len(p) for p, n in zip(positions, shape)])
    # NumPy says which items these are: the places along each dimension, indexed like the array itself. No memory but the result's.
    try:
        places = [p[key] for p in _places(shape)]
    except IndexError as e:
        raise _errors.RangeError(str(e)) from None
    coordinates = np.ascontiguousarray(np.stack([p.ravel() for p in places], axis=1), np.uint64)
    return Points(coordinates, places[0].shape)


def _places(shape):
    for d, n in enumerate(shape):
        line = np.arange(n).reshape([n if e == d else 1 for e in range(len(shape))])
        yield np.broadcast_to(line, shape)


def hull(key, shape):
    """All combinations of the places that single items have, and where in these the items are."""
    points = of(key, shape)
    positions, inside = [], []
    for column in points.coordinates.T:
        places, at = np.unique(column, return_inverse=True)
        positions.append(places)
        inside.append(at.reshape(points.shape))
    return Lists(positions, [len(p) for p in positions]), tuple(inside)
