"""Stores of python-blosc2: trees of arrays, superchunks and tables."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from . import _errors, _native
from ._arrays import Array
from ._schunks import Schunk
from ._tables import Table

_CLASSES: dict[str, Any] = {"array": Array, "schunk": Schunk, "table": Table}
_FORMATS = {"array": "b2nd", "schunk": "b2frame", "table": "ctable"}


class Store(_native.Store, MutableMapping):
    """An open store of python-blosc2: a tree of arrays, superchunks and tables, its nodes.

    name: the path of a folder (.b2d), a zip archive (.b2z) or a frame (.b2e), or a storage. mode: "r"
    reads; "a" changes; "x" creates, which "w" does also if a store exists. format: of a new store in a
    storage, "b2d", "b2z" or "b2e"; the end of a path determines it.

    It is a mapping from paths, which begin with a slash, to nodes that are open for reading. A node
    `__vlmeta__` is a superchunk with the attributes of its group. Array("x.b2z/group/a") opens a node
    by its path; in a folder also for changes. A store that is open for reading lists the nodes once.

    commit() makes all changes visible in one step: what was assigned or deleted, and what nodes that
    are open for changes have committed. It closes without a commit. While a node is open for changes,
    no other thread may use the store.

    Raises FormatError if there is no store, or if members of an archive overlap or lead out of it, and
    BusyError if a writer has the store or a node open.

        >>> with holdall.Store("x.b2z", "w") as store:
        ...     store["/group/a"] = numpy.arange(1000).reshape(10, 100)
        ...     store["/notes"] = b"some bytes"
        ...     store.commit()
        >>> with holdall.Store("x.b2z") as store:
        ...     list(store), store["/group/a"].shape
        (['/group/a', '/notes'], (10, 100))
    """

    def open(self, node: str, mode: str = "r", **options: Any) -> Any:
        """Opens a node, with options. Raises what identify() raises.

        mode: "r"; "a" if the store is open for changes: what the node commits is in the next commit of
        the store.

            >>> with store.open("/group/a", "a") as array:
            ...     array.append(rows)
            ...     array.commit()
            >>> store.commit()
        """
        _, kind = self.identify(node)
        return _CLASSES[kind](_native.StoreNode(self, node, mode), mode, **options)

    def new(self, node: str, kind: str = "array") -> _native.StoreNode:
        """Returns where a node is created, for create(), copy() and the like, which take it as a name.

        kind: "array" (format "b2nd"), "schunk" (format "b2frame") or "table" (format "ctable"). Groups
        of the path need not exist. Raises ExistsError, with that call, if another kind of node has this
        path, or if a table is above or below it.

            >>> with holdall.Array.create(store.new("/b"), (100, 100), "f4") as array:
            ...     array[0] = 1
            ...     array.commit()
        """
        if kind not in _CLASSES:
            raise ValueError(f"unknown kind {kind!r} (expected array, schunk or table)")
        return _native.StoreNode(self, node, kind)

    def __setitem__(self, node: str, value: Any) -> None:
        """Creates or replaces a node: a copy of an array, a superchunk or a table, a superchunk of
        bytes, or an array of what NumPy converts."""
        for kind, its_class in _CLASSES.items():
            if isinstance(value, its_class):
                value.copy(self.new(node, kind), _FORMATS[kind], mode="w")
                return
        if isinstance(value, (bytes, bytearray, memoryview)):
            with Schunk.create(self.new(node, "schunk"), 1, "b2frame", "w") as schunk:
                schunk.append(value)
                schunk.commit()
            return
        Array.save(self.new(node), value, mode="w")

    def __delitem__(self, node: str) -> None:
        """Removes a node or a group. Raises KeyError if there is no such node."""
        try:
            self.remove(node)
        except _errors.MissingError as e:
            raise KeyError(node) from e

    def __getitem__(self, node):
        """Opens a node for reading. Raises KeyError if there is no such node."""
        try:
            return self.open(node)
        except _errors.MissingError as e:
            raise KeyError(node) from e

    def __contains__(self, node):
        return node in self.nodes()

    def __iter__(self):
        return iter(self.nodes())

    def __len__(self):
        return len(self.nodes())

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__
