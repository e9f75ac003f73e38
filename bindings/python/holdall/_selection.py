"""Conversion of NumPy indices to a box, lists of positions per dimension, or single items."""

import dataclasses

import numpy as np

from . import _errors


@dataclasses.dataclass
class Box:
    start: list
    count: list
    step: list
    backwards: list
    shape: tuple  # of the result, without the dimensions of single numbers
    # Every dimension has a number, and there is no ellipsis: NumPy then returns a scalar, in native
    # byte order.
    item: bool
    kind: str = "box"


@dataclasses.dataclass
class Lists:
    positions: list  # per dimension an array of uint64; None: all
    count: list
    kind: str = "lists"


@dataclasses.dataclass
class Points:
    coordinates: np.ndarray  # for each item, one number per dimension
    shape: tuple
    kind: str = "points"


def _number(i):
    return isinstance(i, (int, np.integer)) and not isinstance(i, (bool, np.bool_))


def _array(list):
    array = np.asarray(list)
    return array if array.size or isinstance(list, np.ndarray) else array.astype(np.intp)


def _expanded(key, ndim):
    """Returns the index with one member per dimension; members that are None stay."""
    key = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, (bool, np.bool_)) for k in key):
        raise _errors.TypeError("an index must not be a bool")
    for k in key:
        if isinstance(k, (float, np.floating)):
            raise _errors.TypeError(f"wrong type of index (expected an integer, found {k!r})")
    key = tuple(
        k if k is None or k is Ellipsis or _number(k) or isinstance(k, slice) else _array(k)
        for k in key
    )
    used = sum(
        k.ndim
        if isinstance(k, np.ndarray) and k.dtype == bool
        else k is not None and k is not Ellipsis
        for k in key
    )
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
                message = f"index {k} is out of range (dimension {d} has length {shape[d]})"
                raise _errors.RangeError(message)
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
    """Returns a list of positions, or a mask, as nonnegative positions of dimension d."""
    if list.dtype == bool:
        if len(list) != n:
            message = f"mask of dimension {d}: wrong length (expected {n}, found {len(list)})"
            raise _errors.RangeError(message)
        return np.flatnonzero(list)
    if list.size and list.dtype.kind not in "iu":
        raise _errors.RangeError(f"wrong type of positions (expected integers, found {list.dtype})")
    list = list.astype(np.int64)
    if list.size and not (-n <= list.min() and list.max() < n):
        raise _errors.RangeError(f"a position is out of range (dimension {d} has length {n})")
    return np.where(list < 0, list + n, list)


def of(key, shape):
    """Returns the Box, Lists or Points that an index selects from an array of a shape.

    Raises RangeError or TypeError for an invalid index.
    """
    item = not any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))
    key = _expanded(key, len(shape))
    arrays = [k for k in key if isinstance(k, np.ndarray)]
    if not arrays:
        return _box(key, shape, item)
    if (
        len(arrays) == 1
        and arrays[0].ndim == 1
        and all(isinstance(k, (slice, np.ndarray)) for k in key)
    ):
        positions: list = []
        for d, (k, n) in enumerate(zip(key, shape)):
            if isinstance(k, slice):
                positions.append(None if k == slice(None) else _numbers(np.arange(n)[k]))
            else:
                positions.append(_numbers(_listed(k, n, d)))
        return Lists(positions, [n if p is None else len(p) for p, n in zip(positions, shape)])
    if len(arrays) == len(key) and all(_is_along(k, d, len(shape)) for d, k in enumerate(key)):
        positions = [
            _numbers(_listed(k.ravel(), n, d)) for d, (k, n) in enumerate(zip(key, shape))
        ]
        return Lists(positions, [len(p) for p in positions])
    # NumPy determines the items: the positions along each dimension are indexed like the array.
    # Only the result takes memory.
    try:
        selected = [p[key] for p in _positions(shape)]
    except IndexError as e:
        raise _errors.RangeError(str(e)) from None
    coordinates = np.ascontiguousarray(np.stack([p.ravel() for p in selected], axis=1), np.uint64)
    return Points(coordinates, selected[0].shape)


def _is_along(array, axis, ndim):
    """Returns whether an index is one that numpy.ix_() makes for an axis."""
    others = array.shape[:axis] + array.shape[axis + 1 :]
    return array.ndim == ndim and all(n == 1 for n in others) and array.dtype != bool


def _numbers(list):
    return np.ascontiguousarray(list, np.uint64)


def _positions(shape):
    for d, n in enumerate(shape):
        line = np.arange(n).reshape([n if e == d else 1 for e in range(len(shape))])
        yield np.broadcast_to(line, shape)


def hull(key, shape):
    """Returns Lists of all combinations of the positions of an index, and the items in them.

    The second result indexes the array that the Lists select.
    """
    points = of(key, shape)
    positions, inside = [], []
    for column in points.coordinates.T:
        distinct, at = np.unique(column, return_inverse=True)
        positions.append(distinct)
        inside.append(at.reshape(points.shape))
    return Lists(positions, [len(p) for p in positions]), tuple(inside)
