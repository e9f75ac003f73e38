"""Polars: tables of holdall as lazy frames, of which only what a query needs is read.

    >>> with holdall.Table("flights.b2d") as flights:
    ...     late = holdall.polars.scan(flights).filter(pl.col("delay") > 60)
    ...     late.group_by("carrier").len().collect()

Polars passes on which columns and rows a query needs. Only these columns are read, and the conditions
that holdall understands exclude rows before that; see Table.scan(). Polars applies all of them to the
rows that remain, so the result does not depend on what was understood.
"""

import json
import warnings

try:
    import polars
    from polars.io.plugins import register_io_source
except ImportError as error:
    raise ImportError("holdall.polars needs Polars: pip install 'holdall[polars]'") from error

import numpy as np

from . import _errors

# Rows that are read at once.
ROWS = 1 << 20
COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
# Integers that a float of the type has exactly, and all below them.
EXACT = {polars.Float32: 1 << 24, polars.Float64: 1 << 53}
UNITS = {"Nanoseconds": "ns", "Microseconds": "us", "Milliseconds": "ms"}
BETWEEN = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}


def scan(table):
    """Returns a LazyFrame of a table.

    table: a Table that is open for reading, and stays open until the query has ended. Each query reads
    it again.
    """
    schema = polars.DataFrame(table.scan(limit=0)).schema

    def source(columns, predicate, n_rows, batch_size):
        # n_rows are those before the predicate
        end = len(table) if n_rows is None else min(n_rows, len(table))
        filter = None if predicate is None else _understood(table, schema, predicate)
        for start in range(0, end, ROWS):
            rows = table.scan(columns, filter, start, min(start + ROWS, end))
            frame = polars.DataFrame(rows)
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(source, schema=schema)


def _understood(table, schema, predicate):
    """Returns a condition that is true for all rows that pass, or None."""
    with warnings.catch_warnings():
        # Polars may change this form: what is not as expected is not understood
        warnings.simplefilter("ignore")
        try:
            filter = _weaker(schema, json.loads(predicate.meta.serialize(format="json")))
        except (KeyError, TypeError, ValueError, AttributeError, polars.exceptions.PolarsError):
            return None
    if filter is None:
        return None
    try:
        table.scan([], filter, limit=0).__arrow_c_stream__()
    except (_errors.ArgumentError, _errors.RangeError, _errors.TypeError):
        return None
    return filter


def _weaker(schema, node):
    """Returns a condition that is true where a predicate is; None: any row may pass."""
    if (parts := node.get("BinaryExpr")) and parts["op"] == "And":
        sides = [_weaker(schema, parts[side]) for side in ("left", "right")]
        sides = [side for side in sides if side is not None]
        return " and ".join(sides) or None
    return _exact(schema, node)


def _exact(schema, node):
    """Returns the same condition; None if it is not understood."""
    if "Column" in node:
        return _name(node["Column"]) if schema[node["Column"]] == polars.Boolean else None
    if "Function" in node:
        return _function(schema, node["Function"])
    parts = node["BinaryExpr"]
    sides = parts["left"], parts["right"]
    if parts["op"] in ("And", "Or"):
        left, right = (_exact(schema, side) for side in sides)
        return f"({left} {parts['op'].lower()} {right})" if left and right else None
    if "Column" in sides[0]:
        return _compared(schema, sides[0]["Column"], COMPARISONS[parts["op"]], sides[1])
    swapped = COMPARISONS[parts["op"]].translate(str.maketrans("<>", "><")).replace("><", "<>")
    return _compared(schema, sides[1]["Column"], swapped, sides[0])


def _function(schema, node):
    first, *rest = node["input"]
    function = node["function"]
    if kind := function.get("StringExpr"):
        literal = kind == {"Contains": {"literal": True, "strict": False}}
        name = "starts_with" if kind == "StartsWith" else "contains" if literal else None
        text = _constant(schema[first["Column"]], rest[0]) if name else None
        return f"{name}({_name(first['Column'])}, {text})" if text else None
    kind = function["Boolean"]
    if kind == "Not":
        inner = _exact(schema, first)
        return f"not ({inner})" if inner else None
    name = first["Column"]
    if kind in ("IsNull", "IsNotNull"):
        # a null of Polars may be another of the table: the values of floats
        known = not schema[name].is_float()
        return f"{_name(name)} is {'not ' if kind == 'IsNotNull' else ''}null" if known else None
    if kind == {"IsIn": {"nulls_equal": False}}:
        return _one_of(schema, name, rest[0])
    low, high = BETWEEN[kind["IsBetween"]["closed"]]
    parts = [_compared(schema, name, op, side) for op, side in zip((low, high), rest)]
    return f"({parts[0]} and {parts[1]})" if all(parts) else None


def _one_of(schema, name, node):
    stored = bytes(node["Literal"]["Scalar"]["List"])
    values = polars.read_ipc_stream(stored).to_series(0).to_list()
    kinds = {str: "String", int: "Int64"}
    nodes = [{"Literal": {"Scalar": {kinds[type(value)]: value}}} for value in values]
    constants = [_constant(schema[name], node) for node in nodes]
    return f"{_name(name)} in ({', '.join(constants)})" if constants and all(constants) else None


def _name(name):
    return '"' + name.replace('"', '""') + '"'


def _compared(schema, name, comparison, node):
    constant = _constant(schema[name], node)
    return f"{_name(name)} {comparison} {constant}" if constant else None


def _constant(of, node):
    """Returns a constant that both compare in the same way with a column of this type, or None."""
    ((kind, value),) = node["Literal"]["Scalar"].items()
    if kind == "String" and of == polars.String:
        return "'" + value.replace("'", "''") + "'"
    if kind == "Boolean" and of == polars.Boolean:
        return str(value).lower()
    if kind == "Datetime" and isinstance(of, polars.Datetime):
        ticks, unit, zone = value
        same = UNITS[unit] == of.time_unit and zone is None and of.time_zone is None
        return f"'{np.datetime64(ticks, of.time_unit)}'" if same else None
    if kind.startswith(("Int", "UInt")) and (of.is_integer() or of.is_float()):
        # beyond, Polars may compare both as floats
        return str(value) if abs(value) <= EXACT.get(type(of), EXACT[polars.Float64]) else None
    if kind == str(of) and of.is_float() and np.isfinite(value):
        return repr(float(value))
    return None
