"""Proxies that python-blosc2 writes are read as their source, if that is a local file and the caller
permits it."""

import os
import pathlib
import tempfile
import unittest

import blosc2
import numpy as np

import holdall_c as h


class Proxies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # python-blosc2 records the path that the source was opened with
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.items = np.arange(60 * 40, dtype="<i4").reshape(60, 40)

    def proxy(self, path="p.b2nd", source="a.b2nd", fetched=slice(0, 15)):
        """Makes a proxy that caches a part of its source."""
        array = blosc2.asarray(
            self.items, chunks=(20, 20), blocks=(5, 5), urlpath=str(source), mode="w"
        )
        blosc2.Proxy(array, urlpath=path, mode="w").fetch((fetched,))

    def refused(self, status, message, path="p.b2nd", **options):
        with self.assertRaises(h.Error) as raised:
            h.Array(path, **options)
        self.assertEqual(raised.exception.status, status, raised.exception)
        self.assertIn(message, str(raised.exception))

    def items_of(self, path, **options):
        with h.Array(path, **options) as array:
            read = array.read((0, 0), self.items.shape, (1, 1))
        return np.frombuffer(read, "<i4").reshape(self.items.shape)

    def test_sources_of_arrays_are_read(self):
        for source in ("a.b2nd", self.folder / "b.b2nd"):
            self.proxy(source=source)
            self.refused(h.E_UNSUPPORTED, "HOLDALL_OPT_FOLLOW_LINKS")
            np.testing.assert_array_equal(self.items_of("p.b2nd", follow_links=1), self.items)
            self.refused(h.E_UNSUPPORTED, "proxy-source", mode=h.APPEND, follow_links=1)

    def test_sources_of_superchunks_are_read(self):
        data = self.items.tobytes()
        source = blosc2.SChunk(
            chunksize=1600, data=data, cparams={"typesize": 4}, urlpath="s.b2frame", mode="w"
        )
        blosc2.Proxy(source, urlpath="p.b2frame", mode="w").fetch(slice(0, 100))
        with self.assertRaises(h.Error):
            h.Schunk("p.b2frame")
        with h.Schunk("p.b2frame", follow_links=1) as frame:
            self.assertEqual(frame.read(), data)

    def test_sources_that_changed_are_refused(self):
        self.proxy()
        blosc2.open("a.b2nd", mode="a").resize((80, 40))
        self.refused(h.E_STATE, "other items", follow_links=1)
        pathlib.Path("a.b2nd").unlink()
        self.refused(h.E_STATE, "a.b2nd", follow_links=1)

    def test_a_proxy_of_a_proxy_is_refused(self):
        self.proxy()
        self.proxy("q.b2nd", "b.b2nd")
        # the source is replaced by a proxy
        pathlib.Path("p.b2nd").replace("b.b2nd")
        self.refused(h.E_UNSUPPORTED, "proxy-source", "q.b2nd", follow_links=1)


if __name__ == "__main__":
    unittest.main()
