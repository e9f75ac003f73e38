"""Attributes: named values of a container, which the formats store as JSON or MessagePack."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from ._native import attribute_from_json, attribute_to_json

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator


class Attributes(MutableMapping[str, Any]):
    """The attributes of an open container, a mapping of names to values.

    It reads them from the container each time; dict(attrs) is a copy. In a container that is open
    for changes, attrs[name] = value is set_attr(name, value), and `del` removes an attribute.

        >>> array.attrs["unit"] = "K"
        >>> array.attrs
        {'unit': 'K'}
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __getitem__(self, name: str) -> Any:
        return decoded(self._handle._format, self._handle.raw_attrs[name])

    def __setitem__(self, name: str, value: Any) -> None:
        if value is None:
            raise TypeError(f"an attribute: None is not stored; del attrs[{name!r}] removes it")
        self._handle.set_attr(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self._handle.raw_attrs:
            raise KeyError(name)
        self._handle.set_attr(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle.raw_attrs)

    def __len__(self) -> int:
        return len(self._handle.raw_attrs)

    def items(self) -> ItemsView[str, Any]:
        """Returns names and values, read with one call."""
        format = self._handle._format
        raw = self._handle.raw_attrs
        return {name: decoded(format, value) for name, value in raw.items()}.items()

    def __repr__(self) -> str:
        return repr(dict(self.items()))


def decoded(format, stored):
    """Returns the value of a stored attribute; its bytes if they are not valid in the format.

    The bytes of MessagePack are {"hex": "00ff"}, extension types also have a member "ext".
    """
    if stored is None:
        return None
    try:
        value = json.loads(attribute_to_json(format, stored))
    except ValueError:
        return stored
    # what the library makes of bytes that are not MessagePack
    return stored if value == {"hex": stored.hex()} else value


def encoded(format, value):
    """Returns the bytes that a format stores for a value; None for None.

    value: bytes, which are stored as they are, or what JSON can hold: str, int, float, bool, and
    lists and dicts of these and None.

    Raises TypeError for other types, and for values that the format would change.
    """
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    _check(value)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    stored = attribute_from_json(format, text)
    if json.loads(attribute_to_json(format, stored)) != json.loads(text):
        raise TypeError(f"the value of an attribute would change in the format {format}: {value!r}")
    return stored


def _check(value):
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(name, str):
                raise TypeError(f"an attribute: wrong type of name (expected str, found {name!r})")
            _check(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            _check(member)
    elif not (value is None or isinstance(value, (str, int, float))):
        expected = "bytes or what JSON holds"
        raise TypeError(f"an attribute: wrong type (expected {expected}, found {value!r})")
