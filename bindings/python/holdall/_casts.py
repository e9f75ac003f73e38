"""Conversion to the dtype of a container. Raises an error where NumPy would change values."""

import numpy as np

from . import _errors

NUMBERS, STRINGS = "biufc", "SU"


def exact(values, dtype, what="the values"):
    """Returns the values as an array of a dtype.

    Python floats have no width, so they are rounded to the nearest value of a narrower type.

    values: an array, a list or a scalar. dtype: the dtype; None: the dtype that NumPy chooses.
    what: the name of the values in messages.

    Raises TypeError if a value would change, or is masked.
    """
    _refuse_masked(values, what)
    if dtype is None:
        return np.asarray(values)
    if dtype.names:
        return _fields(values, dtype, what)
    given = _natural(values, what)
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
        message = (
            f"{what}: {first!r} would change in the cast (expected {dtype}, found {given.dtype}); "
            "cast with astype() first"
        )
        raise _errors.TypeError(message)
    return out


def natural(values, what="the values"):
    """Returns the values as an array of the dtype that NumPy chooses.

    Raises TypeError if a value would change or is masked, or if a list mixes kinds. NumPy converts
    large integers of both signs to floats, and numbers in a list with strings to strings.
    """
    _refuse_masked(values, what)
    return _natural(values, what)


def _refuse_masked(values, what):
    """Raises TypeError if an element is masked, because no container stores masks."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.flatten_mask(np.ma.getmaskarray(values))
        if mask.any():
            n = np.count_nonzero(mask)
            message = f"{what}: masked elements ({n} of {mask.size}), which cannot be stored"
            raise _errors.TypeError(message + "; replace them with filled() first")
    elif isinstance(values, (list, tuple)):
        for value in values:
            if isinstance(value, (list, tuple, np.ma.MaskedArray)):
                _refuse_masked(value, what)


def _natural(values, what):
    given = np.asarray(values)
    if not isinstance(values, (list, tuple)) or given.dtype.kind in "OV":
        return given
    leaves = np.asarray(values, object)
    kinds = {_kind(type) for type in set(map(type, leaves.flat))}
    if len(kinds) > 1:
        message = f"{what}: the list has values of different kinds ({', '.join(sorted(kinds))})"
        raise _errors.TypeError(message)
    if "number" in kinds:
        leaves = np.frompyfunc(lambda v: v.item() if isinstance(v, np.generic) else v, 1, 1)(leaves)
        same = _equal(given.astype(object), leaves)
        if not np.all(same):
            first = np.asarray(leaves)[~same].flat[0]
            message = f"{what}: {first!r} would change, as NumPy converts the list to {given.dtype}"
            raise _errors.TypeError(message + "; pass an array of the dtype")
    return given


def _kind(type):
    for kind, types in (
        ("number", (bool, int, float, complex, np.bool_, np.number)),
        ("str", str),
        ("bytes", bytes),
    ):
        if issubclass(type, types) and not issubclass(type, np.timedelta64):
            return kind
    return type.__name__


def _comparable(given, dtype, what):
    """Raises TypeError if the values are of another kind, for example numbers for strings."""
    groups = (
        (NUMBERS, NUMBERS),
        (STRINGS, STRINGS),
        ("m", "miu"),
        ("M", "Miu"),
        ("V", "V"),
        (NUMBERS + STRINGS + "mM", "O"),
    )
    if not any(dtype.kind in to and given.kind in of for to, of in groups):
        raise _errors.TypeError(f"{what}: wrong kind of values (expected {dtype}, found {given})")


def _cast(given, dtype, rounds, what):
    """Returns the array in another dtype, and a mask of the items that are unchanged."""
    if given.dtype.kind == "O":
        types = {"S": bytes, "U": str}.get(dtype.kind, (bool, int, float, complex, np.generic))
        if dtype.kind not in "mM" and not all(isinstance(v, types) for v in given.flat):
            message = f"{what}: wrong kind of values (expected {dtype}, found Python objects)"
            raise _errors.TypeError(message)
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
    """Returns the first integer above those of a dtype.

    The conversion of a float at or above it depends on the processor.
    """
    return float(int(np.iinfo(dtype).max) + 1)


def _rounded(out, given, rounds):
    """Returns a mask of the Python numbers that may be rounded: they have no width.

    Results that are no longer finite are excluded.
    """
    if not rounds or out.dtype.kind not in "fc" or given.dtype.kind in "biu":
        return np.zeros(given.shape, bool)
    return np.isfinite(out)


def _equal(a, b):
    same = np.asarray(a == b, bool)
    return same | np.asarray((a != a) & (b != b), bool)


def _fields(values, dtype, what):
    given = (
        values
        if isinstance(getattr(values, "dtype", None), np.dtype) or _has_records(values)
        else None
    )
    if given is None:
        # Keeps each leaf as the caller passed it, so that each is checked separately.
        given = np.asarray(values, [(name, "O", dtype[name].shape) for name in dtype.names])
    given = np.asarray(given)
    if given.dtype == dtype:
        return given
    if not given.dtype.names:
        message = f"{what}: wrong kind of values (expected {dtype}, found {given.dtype})"
        raise _errors.TypeError(message)
    if set(given.dtype.names) != set(dtype.names):
        expected, found = ", ".join(dtype.names), ", ".join(given.dtype.names)
        raise _errors.TypeError(f"{what}: wrong fields (expected {expected}, found {found})")
    out = np.zeros(given.shape, dtype)
    for name in dtype.names:
        part = given[name]
        part = part.tolist() if part.dtype.kind == "O" else part
        out[name] = exact(part, dtype[name].base, f"{what}, field {name!r}")
    return out


def _has_records(values):
    """Returns whether the values contain a NumPy record.

    The fields of a record have names. Those of a tuple are in the order of the dtype.
    """
    if isinstance(values, (np.void, np.ndarray)):
        return bool(values.dtype.names)
    return isinstance(values, list) and any(map(_has_records, values))


def values(items, dtype, what):
    """Returns values of any length as a list of bytes; None is a null.

    dtype: "T" for texts, another one for bytes.
    """
    made: list[bytes | None] = []
    for item in items:
        if item is None:
            made.append(None)
        elif dtype == "T" and isinstance(item, str):
            made.append(item.encode())
        elif dtype != "T" and isinstance(item, (bytes, bytearray, memoryview)):
            made.append(bytes(item))
        else:
            expected = "str" if dtype == "T" else "bytes"
            kind = type(item).__name__
            raise TypeError(f"{what}: expected {expected} or None, found {kind}")
    return made
