"""A plugin of pytest: copies each container that a test leaves or removes to the folder
SUITE_FILES, once for each content. The file `tests.txt` beside it has the test of each copy."""

import hashlib
import os
import pathlib
import shutil

import blosc2
import pytest

FILES = pathlib.Path(os.environ["SUITE_FILES"])
SUFFIXES = {".b2nd", ".b2frame", ".b2f", ".b2d", ".b2z", ".b2e", ".b2b"}
MAGIC = b"b2frame\0"
# Larger containers only repeat what smaller ones have.
MOST = 20 << 20

_seen = set()
_test = ["?"]
_rmtree = shutil.rmtree


def is_container(path):
    if path.suffix in SUFFIXES:
        return True
    if path.is_dir():
        return (path / "chunks.b2frame").exists() or (path / "embed.b2e").exists()
    with open(path, "rb") as file:
        return file.read(2 + len(MAGIC)).endswith(MAGIC)


def digest(path):
    """Returns a name for the content, or None if it is empty or too large."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    if not 0 < sum(file.stat().st_size for file in files) <= MOST:
        return None
    content = hashlib.sha256()
    for file in files:
        content.update(os.fsencode(file.relative_to(path)) + b"\0" + file.read_bytes())
    return content.hexdigest()[:16]


def save(path):
    """Copies a container, or those in a folder."""
    path = pathlib.Path(path)
    if path.is_symlink() or not path.exists():
        return
    if not is_container(path):
        for inside in sorted(path.iterdir()) if path.is_dir() else ():
            save(inside)
        return
    content = digest(path)
    if content is None or content in _seen:
        return
    _seen.add(content)
    # the paths of nodes need the name of a store
    is_store = path.is_dir() and path.suffix not in SUFFIXES and (path / "embed.b2e").exists()
    copy = FILES / f"{content}_{path.name[-60:]}{'.b2d' if is_store else ''}"
    (shutil.copytree if path.is_dir() else shutil.copyfile)(path, copy)
    with open(FILES.parent / "tests.txt", "a", encoding="utf-8") as tests:
        tests.write(f"{copy.name}\t{_test[0]}\n")


def saving(remove):
    """Returns a function that copies what another one removes."""

    def removing(path, *args, **more):
        # a path below an open folder has no meaning here
        if path and not more.get("dir_fd"):
            save(os.fsdecode(path))
        return remove(path, *args, **more)

    return removing


shutil.rmtree = saving(shutil.rmtree)
os.remove = os.unlink = saving(os.remove)
pathlib.Path.unlink = saving(pathlib.Path.unlink)
blosc2.remove_urlpath = saving(blosc2.remove_urlpath)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, request, monkeypatch):
    _test[0] = request.node.nodeid
    monkeypatch.chdir(tmp_path)
    yield
    save(tmp_path)
    for inside in tmp_path.iterdir():
        if inside.is_dir():
            _rmtree(inside, ignore_errors=True)
