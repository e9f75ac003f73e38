"""Stores that python-blosc2 writes now, of random trees: holdall lists the same nodes and reads the
same content, by path and in memory. After changes by holdall python-blosc2 reads the folder again."""

import os
import pathlib
import random
import tempfile
import unittest
import zipfile

import blosc2
import numpy as np

import holdall_c as h

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)
DTYPES = ("u1", "<i4", "<f8", "S3", "<U2", "<M8[s]", "c8")


def value(rng):
    """An array or a superchunk."""
    draw = np.random.default_rng(rng.randrange(1 << 30))
    if rng.random() < 0.3:
        schunk = blosc2.SChunk(chunksize=rng.choice((100, 4000)))
        for _ in range(rng.randrange(3)):
            schunk.append_data(draw.integers(0, 9, schunk.chunksize, dtype="u1"))
        return schunk
    shape = tuple(rng.choice((1, 3, 40)) for _ in range(rng.randrange(1, 4)))
    items = draw.integers(0, 99, shape)
    return blosc2.asarray(items.astype(rng.choice(DTYPES)))


def fill(store, rng, nodes):
    for _ in range(nodes):
        steps = [rng.choice("abcdé") + rng.choice(("", ".x", " y")) for _ in range(rng.randrange(1, 4))]
        path = "/" + "/".join(steps)
        try:
            store[path] = value(rng)
        except ValueError:  # the path is a group, or leads through a node
            pass


def content_of(value):
    if isinstance(value, blosc2.NDArray):
        return np.ascontiguousarray(value[...]).tobytes()
    return b"".join(value.decompress_chunk(i) for i in range(value.nchunks))


def node(store, key):
    """A node. c-blosc2 3.3 returns other bytes if a part of two blocks is as long as the second one,
    which are no frame then: those of whole chunks are right."""
    try:
        return store[key]
    except RuntimeError:
        embed = getattr(store, "estore", store)
        content = content_of(embed._store)
        at, n = (embed._embed_map[key][field] for field in ("offset", "length"))
        return blosc2.from_cframe(content[at : at + n], copy=True)


def read(path, value):
    if not isinstance(value, blosc2.NDArray):
        with h.Schunk(path) as schunk:
            return schunk.read()
    with h.Array(path) as array:
        shape = list(value.shape)
        assert list(array.shape) == shape, (array.shape, shape)
        return array.read([0] * len(shape), shape, [1] * len(shape))


class Stores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rng = random.Random(f"{SEED} {self._testMethodName}")

    def check(self, path):
        """Compares all nodes; a TreeStore hides one whose path is also a group."""
        kind = blosc2.EmbedStore if path.suffix == ".b2e" else blosc2.DictStore
        store = kind(str(path), mode="r")
        self.assertEqual(h.nodes(path), sorted(store.keys(), key=str.encode), SEED)
        for key in store.keys():
            value = node(store, key)
            self.assertEqual(read(f"{path}{key}", value), content_of(value), f"{key} {SEED}")
        self.assertFalse(h.Verified(path).faults, SEED)
        return len(store)

    def test_every_kind_of_store(self):
        found = 0
        for round in range(12):
            threshold = self.rng.choice((0, 500, None))
            for name, kind in (("t.b2z", blosc2.TreeStore), ("t.b2d", blosc2.TreeStore),
                               ("d.b2z", blosc2.DictStore), ("e.b2e", blosc2.EmbedStore)):  # fmt: skip
                path = self.folder / f"{round}{name}"
                how = {} if kind is blosc2.EmbedStore else {"threshold": threshold}
                store = kind(str(path), mode="w", **how)
                fill(store, self.rng, self.rng.randrange(1, 12))
                if kind is not blosc2.EmbedStore:
                    store.close()
                found += self.check(path)
        self.assertGreater(found, 150, SEED)

    def test_archives_of_other_tools(self):
        """With zip64 fields, comments and other files, or what stands before the archive."""
        source = self.folder / "s.b2d"
        with blosc2.TreeStore(str(source), mode="w") as store:
            fill(store, self.rng, 8)
        names = [str(f.relative_to(source)) for f in source.rglob("*") if f.is_file()]
        for wide in (False, True):
            path = self.folder / f"{wide}.b2z"
            with zipfile.ZipFile(path, "w") as archive:
                archive.comment = b"a comment"
                archive.writestr("folder/", b"")
                archive.writestr("notes.txt", b"no frame")
                for name in names:
                    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=wide) as member:
                        member.write((source / name).read_bytes())
            self.check(path)
        compressed = self.folder / "compressed.b2z"
        with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.write(source / name, name)
        with self.assertRaises(h.Error) as raised:
            h.nodes(compressed)
        self.assertEqual(raised.exception.status, h.E_UNSUPPORTED)

    def test_nodes_of_folders_are_changed_in_turn(self):
        path = self.folder / "t.b2d"
        with blosc2.TreeStore(str(path), mode="w") as store:
            store["/group/a"] = blosc2.zeros((10, 4), dtype="<i4", chunks=(4, 4), blocks=(2, 4))
        expected = np.zeros((10, 4), "<i4")
        for turn in range(1, 5):
            row = self.rng.randrange(10)
            expected[row] = turn
            with h.Array(f"{path}/group/a", h.APPEND) as array:
                array.write([row, 0], [1, 4], [1, 1], expected[row].tobytes())
                array.commit()
            with blosc2.TreeStore(str(path), mode="a") as store:
                node = store["/group/a"]
                self.assertTrue((node[:] == expected).all(), SEED)
                expected[9 - row] = -turn
                node[9 - row] = expected[9 - row]
            self.assertEqual(read(f"{path}/group/a", store["/group/a"]), expected.tobytes())

    def test_stores_are_changed_in_turn(self):
        """Both create, replace and remove nodes; holdall also appends to several with one commit."""
        changes = 0
        for end, kind in (("b2d", blosc2.DictStore), ("b2z", blosc2.DictStore), ("b2e", blosc2.EmbedStore)):
            path = self.folder / f"turns.{end}"
            with h.Store.create(path) as store:
                store.commit()
            model = {}
            for turn in range(6):
                if turn % 2:
                    self.by_blosc2(path, kind, model)
                else:
                    changes += self.by_holdall(path, model)
                self.assertEqual(self.check(path), len(model), SEED)
                with h.Store(path) as store:
                    found = {node: read(f"{path}{node}", blosc2.asarray(items)) for node, items in model.items()}
                    self.assertEqual(store.nodes(), sorted(model, key=str.encode), SEED)
                self.assertEqual(found, {node: items.tobytes() for node, items in model.items()}, SEED)
        self.assertGreater(changes, 20, SEED)

    def items(self):
        return np.random.default_rng(self.rng.randrange(1 << 30)).integers(0, 99, self.rng.choice((1, 7, 5000)))

    def by_holdall(self, path, model):
        """Changes nodes, commits them together, and changes some again."""
        done = 0
        with h.Store(path, h.APPEND) as store:
            for _ in range(2):
                for node in self.rng.sample(sorted(model), min(2, len(model))):
                    more = self.items()
                    with store.open_array(node, h.APPEND) as array:
                        array.append(0, len(more), more.tobytes())
                        array.commit()
                    model[node] = np.concatenate([model[node], more])
                    done += 1
                for _ in range(self.rng.randrange(1, 4)):
                    node = "/" + "/".join(self.rng.choice(("abé", "xyz")) for _ in range(3)) + str(self.rng.randrange(9))
                    model[node] = self.items()
                    with store.create_array(node, "<i8", model[node].shape, h.REPLACE) as array:
                        array.write([0], model[node].shape, [1], model[node].tobytes())
                        array.commit()
                    done += 1
                if len(model) > 3 and self.rng.randrange(2):
                    node = self.rng.choice(sorted(model))
                    store.remove(node)
                    del model[node]
                store.commit()
        return done

    def by_blosc2(self, path, kind, model):
        store = kind(str(path), mode="a")
        for node in ("/theirs", "/g/theirs"):
            model[node] = self.items()
            if node in store:
                del store[node]
            store[node] = model[node]
        old = self.rng.choice(sorted(set(model) - {"/theirs", "/g/theirs"}))
        del store[old], model[old]
        if kind is blosc2.DictStore:
            store.close()


if __name__ == "__main__":
    unittest.main()
