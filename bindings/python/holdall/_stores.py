"""Stores of python-blosc2: trees of arrays and superchunks."""

from collections.abc import Mapping

from . import _errors, _native
from ._arrays import Array
from ._schunks import Schunk
from ._tables import Table

_CLASSES = {"array": Array, "schunk": Schunk, "table": Table}


class Store(_native.Store, Mapping):
    """An open store of python-blosc2: a tree of arrays and superchunks, its nodes.

    name: the path of a folder (.b2d), a zip archive (.b2z) or a frame (.b2e), or a storage.

    It is a mapping from paths, which begin with a slash, to nodes that are open for reading. A node
    `__vlmeta__` is a superchunk with the attributes of its group. Array("x.b2z/group/a") opens a node
    by its path; nodes of a folder open for changes, too. The store lists the nodes once: open it
    again to find later ones.

    Raises FormatError if there is no store, or if members of an archive overlap or lead out of it.

        >>> with holdall.Store("x.b2z") as store:
        ...     list(store), store["/group/a"].shape
        (['/group/a', '/group/b'], (10, 100))
    """

    def open(self, node, **options):
        """Opens a node for reading, with options. Raises what identify() raises."""
        _, kind = self.identify(node)
        return _CLASSES[kind](_native.StoreNode(self, node), **options)

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
