"""Conversion to the dtype of a container: an error where NumPy would change values."""
import numpy as np

from . import _errors

NUMBERS, STRINGS = "biufc", "SU"


def exact(values, dtype, what="the values"):
    """The values as an array of a dtype. Raises TypeError where one of them would change.

    Python's own floats have no width: they are rounded to the nearest of a narrower type.
    """
    if dtype is None:
        return np.asarray(values)
    if dtype.names:
        return _fields(values, dtype, what)
    given = np.asarray(values)
    if given.dtype == dtype:
        return given
    if dtype.kind in "mM" and given.dtype.kind in STRINGS:
        given = given.astype(dtype.kind + "8")
    rounds = not hasattr(values, "dtype")
    if not given.size:
        return given.astype(dtype)
    _comparable(given.dtype, dtype, what)
    if dtype.kind == "V":
        out = given.astype(dtype)
        same = np.asarray(given.dtype.itemsize == dtype.itemsize)
    else:
        out, same = _cast(given, dtype, rounds, what)
    if not same.all():
        first = given[~same].flat[0] if same.shape == given.shape else given.flat[0]
        message = f"{what}: {first!r} would change in the cast (expected {dtype}, found {given.dtype}); cast with astype() first"
        raise _errors.TypeError(message)
    return out


def _comparable(given, dtype, what):
    """Refuses what is of another kind: a number for a string, for instance."""
    groups = (NUMBERS, NUMBERS), (STRINGS, STRINGS), ("m", "miu"), ("M", "Miu"), ("V", "V"), (NUMBERS + STRINGS + "mM", "O")
    if not any(dtype.kind in to and given.kind in of for to, of in groups):
        raise _errors.TypeError(f"{what}: another kind of values (expected {dtype}, found {given})")


def _cast(given, dtype, rounds, what):
    """The array in another dtype, and which of its items are the same there."""
    if given.dtype.kind == "O":
        types = {"S": bytes, "U": str}.get(dtype.kind, (bool, int, float, complex, np.generic))
        if dtype.kind not in "mM" and not all(isinstance(v, types) for v in given.flat):
            raise _errors.TypeError(f"{what}: another kind of values (expected {dtype}, found Python's objects)")
        out = given.astype(dtype)
        return out, _equal(out.astype(object), given) | _rounded(out, given, rounds)
    if given.dtype.kind == "c" and dtype.kind != "c":
        out, same = _cast(given.real, dtype, rounds, what)
        return out, same & (given.imag == 0)
    with np.errstate(all="ignore"):
        out = given.astype(dtype)
        back = out.real if dtype.kind == "c" and given.dtype.kind != "c" else out
        same = _equal(back.astype(given.dtype), given)
        if given.dtype.kind in "iu" and dtype.kind in "iu":
            same &= (out < 0) == (given < 0)
        if given.dtype.kind in "iu" and dtype.kind in "fc":
            same &= out.real.astype("f8") < _end(given.dtype)
        if given.dtype.kind == "f" and dtype.kind in "iu":
            same &= given < _end(dtype)
    return out, same | _rounded(out, given, rounds)


def _end(dtype):
    """The first integer above those of a dtype: the processor decides what becomes of floats from there on."""
    return float(int(np.iinfo(dtype).max) + 1)


def _rounded(out, given, rounds):
    """Where a number of Python's, without a width, was rounded and is finite still."""
    if not rounds or out.dtype.kind not in "fc" or given.dtype.kind in "biu":
        return np.zeros(given.shape, bool)
    return np.isfinite(out)


def _equal(a, b):
    same = np.asarray(a == b, bool)
    return same | np.asarray((a != a) & (b != b), bool)


def _fields(values, dtype, what):
    given = values if isinstance(getattr(values, "dtype", None), np.dtype) else None
    if given is None:
        # each leaf as the caller has it, to be looked at by itself
        given = np.asarray(values, [(name, "O", dtype[name].shape) for name in dtype.names])
    given = np.asarray(given)
    if given.dtype == dtype:
        return given
    if not given.dtype.names or len(given.dtype.names) != len(dtype.names):
        raise _errors.TypeError(f"{what}: another kind of values (expected {dtype}, found {given.dtype})")
    out = np.zeros(given.shape, dtype)
    for name, of in zip(dtype.names, given.dtype.names):
        part = given[of]
        part = part.tolist() if part.dtype.kind == "O" else part
        out[name] = exact(part, dtype[name].base, f"{what}, field {name!r}")
    return out
