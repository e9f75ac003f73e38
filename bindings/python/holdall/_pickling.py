"""What opens a handle again: for pickle and Dask.

A handle that was opened for reading has a recipe: the path or storage, and the options. A view also
has the steps from the handle: the names of methods, and their arguments.
"""

import os
import uuid
from typing import TYPE_CHECKING, Any

from . import _errors, _native


class Recipe:
    """What opens a handle again, the version of the file that it reads, and its size."""

    def __init__(self, kind, opened, version, size, steps=()):
        self.kind, self.opened, self.version, self.size = kind, opened, version, size
        self.steps = steps

    def then(self, name, *arguments):
        """Returns the recipe of a view of the handle."""
        steps = self.steps
        if name == "_strided" and steps and steps[-1][0] == name:
            arguments = _combined(steps[-1][1], arguments)  # so that the recipe does not grow
            steps = steps[:-1]
        steps = (*steps, (name, arguments))
        return Recipe(self.kind, self.opened, self.version, self.size, steps)


def _combined(outer, inner):
    """Returns the first items, steps and counts of a slice of a slice."""
    first = [a + b * step for a, b, step in zip(outer[0], inner[0], outer[1])]
    return first, [a * b for a, b in zip(outer[1], inner[1])], inner[2]


def opened(kind, target, options, steps, size=None):
    """Returns a handle as it was pickled. Raises StateError if the container has another size."""
    handle = kind(target, **options)
    found = size_of(handle) if size else None
    if found != size:
        message = f"{target}: changed since it was pickled (expected {size}, found {found} items and bytes)"
        raise _errors.StateError(message)
    for name, arguments in steps:
        handle = getattr(handle, name)(*arguments)
    return handle


def size_of(handle):
    """Returns the number of items, and that of bytes on disk, as far as it is known."""
    if isinstance(handle, _native.Bag):
        return sum(count for _, count in handle.shards), handle.stored_bytes
    version = handle._version
    return getattr(handle, "shape", None) or len(handle), version and version[1]


class Pickled:
    """Base class of handles that are pickled as the recipe to open them again."""

    _viewed = None  # the recipe of a view
    if TYPE_CHECKING:  # of the handle
        _is_open: bool
        _recipe: Any
        _version: Any
        generation: int
        _described: Any

    def _made(self):
        size = size_of(self) if self._is_open else None
        return self._viewed or Recipe(type(self), self._recipe, self._version, size)

    def __reduce__(self):
        recipe = self._made()
        if recipe.opened is None:
            kind = type(self).__name__
            message = f"a {kind} that was opened for changes cannot be pickled; open it for reading"
            raise _errors.TypeError(message)
        target, options = recipe.opened
        options = {name: value for name, value in options.items() if name != "progress"}
        return opened, (recipe.kind, target, options, recipe.steps, recipe.size)

    def __dask_tokenize__(self):
        """Returns a token that differs between handles of different content.

        It is that of the file as the handle sees it. For folders, storages and handles for writing
        it is that of the object: other handles of the same content have other tokens.
        """
        recipe = self._made()
        if recipe.version is None:
            unique = self.__dict__.setdefault("_token", uuid.uuid4().hex)
            return type(self).__name__, unique, self.generation
        target, options = recipe.opened
        path = os.path.abspath(os.fsdecode(target))
        return recipe.kind.__name__, path, repr(sorted(options.items())), recipe.version, recipe.steps

    def __repr__(self):
        target = self._made().opened[0] if self._made().opened else None
        at = f" {os.fsdecode(target)!r}" if isinstance(target, (str, bytes, os.PathLike)) else ""
        what = self._described() if self._is_open else "closed"
        return f"<holdall.{type(self).__name__}{at}: {what}>"


def token(kind, target, options, steps, files, state):
    """Returns the token of a native handle for Dask: equal for equal content.

    files: paths, whose modification times count. state: further numbers of the container.
    """
    if not isinstance(target, (str, bytes, os.PathLike)):
        return kind, uuid.uuid4().hex  # nothing shows whether storages have equal content
    times = [os.stat(name).st_mtime_ns if os.path.exists(name) else None for name in files]
    return kind, os.fsdecode(target), repr(sorted(options.items())), steps, state, times
