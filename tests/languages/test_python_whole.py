"""The Python module: errors, damage, superchunks, and calls in any order, which must not crash.

Also programs that use only what is installed, and files of other programs and their manifests.
"""
import gc
import hashlib
import itertools
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tarfile
import threading
import unittest

from case import ROOT, SEED, Case, holdall

FIXTURES = pathlib.Path(os.environ.get("HOLDALL_FIXTURES", ROOT / "tests/fixtures"))


class Whole(Case):
    def test_errors(self):
        path = self.bag([b"one", b"two"])
        with self.assertRaises(FileNotFoundError) as failed:
            holdall.Bag(self.folder / "none")
        self.assertEqual((failed.exception.name, failed.exception.position), ("E_MISSING", None))
        with self.assertRaises(FileExistsError):
            holdall.BagWriter(path)
        with self.assertRaises(holdall.ArgumentError):
            holdall.Bag(path, chunk_bytes=7)
        with self.assertRaises(TypeError):
            holdall.Bag(path, color=7)
        with self.assertRaises(TypeError):
            holdall.Bag(path, threads="two")
        with self.assertRaises(holdall.ChecksumError):
            raise pickle.loads(pickle.dumps(holdall.ChecksumError("message", 3)))

    def test_damage_is_an_error_or_a_warning(self):
        path = self.bag([bytes(1000), b"two" * 100, b"three"])
        content = bytearray(path.read_bytes())
        at = content.index(b"\x28\xb5\x2f\xfd", 4) + 12
        content[at : at + 4] = b"####"
        path.write_bytes(content)
        faults = []
        counts, error = holdall.verify(path, faults.append)
        self.assertEqual((tuple(counts), [f.part for f in faults], error.position), ((2, 1, 0), ["record 1"], 1))
        bag = holdall.Bag(path)
        with self.assertRaises(holdall.Error) as failed:
            bag[1]
        self.assertEqual(failed.exception.position, 1)
        self.assertEqual(bag[2], b"three")
        bag = holdall.Bag(path, skip_damaged=True)
        with self.assertWarns(holdall.DamageWarning):
            self.assertEqual(bag[1], b"")
        with self.assertWarns(holdall.DamageWarning):
            self.assertEqual(bag.read().damaged, [1])
        counts, _ = holdall.verify(path, lambda fault: False)
        self.assertEqual(counts.corrupt, 1)
        with self.assertRaisesRegex(ZeroDivisionError, "oh"):
            holdall.verify(path, lambda fault: self.fail_with(ZeroDivisionError("oh")))

    def fail_with(self, error):
        raise error

    def test_progress(self):
        path, calls = self.bag([b"x"] * 1000), []
        bag = holdall.Bag(path, progress=lambda done, total: calls.append((done, total)))
        bag[::2].compute_checksum()
        self.assertTrue(calls)
        with self.assertRaises(holdall.CancelledError):
            holdall.Bag(path, verify=2, progress=lambda done, total: False)
        with self.assertRaisesRegex(ZeroDivisionError, "oh"):
            holdall.Bag(path, verify=2, progress=lambda done, total: self.fail_with(ZeroDivisionError("oh")))

    def test_schunks(self):
        for format in ("bloscpack", "b2frame"):
            path, content = self.path(), self.rng.randbytes(10000)
            with holdall.Schunk.create(path, 4, format=format, chunk_bytes=4096, checksum="crc32") as s:
                s.append(content)
                s.write(10, b"here")
                s.set_attr("" if format == "bloscpack" else "m", b'{"a": 1}')
                s.commit()
            content = content[:10] + b"here" + content[14:]
            with holdall.Schunk(path) as s:
                self.assertEqual((len(s), s.chunk_count, s.typesize, s.chunk_size, s.read(), s.read(5, 9)), (10000, 3, 4, 4096, content, content[5:14]))
                self.assertEqual((list(s.raw_attrs.values()), s.read_chunk(1), s.chunk_info(0)[0]), ([b'{"a": 1}'], content[4096:8192], 4096))
                into = bytearray(100)
                s.read_into(50, into)
                self.assertEqual((into, s.compute_checksum("md5")), (content[50:150], hashlib.md5(content).digest()))
                s.copy(self.folder / f"copy-{format}", codec="zlib")
                with self.assertRaises(holdall.StateError):
                    s.append(b"x")
            self.assertEqual(holdall.repair(self.folder / f"copy-{format}"), (3, 0, 0))

    def test_closed(self):
        path = self.bag([b"x"] * 3)
        bag, a = holdall.Bag(path), holdall.Array.create(self.path(), 3, "<i4")
        stream = bag.stream()
        for handle in (bag, a, stream, bag, a, stream):
            handle.close()
        for use in (lambda: bag[0], lambda: len(bag), lambda: list(bag), lambda: a[0], lambda: a.shape, a.commit, lambda: next(stream), lambda: bag.stream()):
            with self.assertRaises(holdall.StateError):
                use()

    def test_closed_meanwhile(self):
        path = self.bag([b"%d" % i for i in range(2000)])
        for _ in range(5):
            bag, wrong = holdall.Bag(path), []

            def read(bag=bag, wrong=wrong):
                try:
                    for i in itertools.cycle(range(2000)):
                        if bag[i] != b"%d" % i or list(bag[[i, 0]]) != [b"%d" % i, b"0"]:
                            wrong.append(i)
                except holdall.StateError:
                    pass
                except BaseException as e:
                    wrong.append(e)

            threads = [threading.Thread(target=read) for _ in range(4)]
            for t in threads:
                t.start()
            bag.close()
            for t in threads:
                t.join()
            self.assertEqual(wrong, [])

    def test_garbage(self):
        path = self.bag([b"x"])
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(200):
            holdall.Bag(path).stream(itertools.repeat(0))
        gc.collect()
        self.assertLess(len(os.listdir("/proc/self/fd")), before + 10)

    def test_the_program_of_the_guide(self):
        guide = (ROOT / "docs/languages.md").read_text()
        program = re.search(r"```python\n(# lines.py.*?)```", guide, flags=re.S)[1]
        at, lines = self.path(".py"), self.path(".txt")
        at.write_text(program)
        lines.write_text("".join(f"{i}\n" for i in range(1, 9001)))
        self.assertEqual(self.run_installed(at, lines, self.path(".bagz")), "9000 records\n9000\n6000\n3000\n9000 intact, 0 corrupt\n")

    def run_installed(self, *command):
        """With nothing but what is installed, which is found from where the module is: what it prints."""
        prefix = os.environ.get("HOLDALL_PREFIX")
        if not prefix:
            self.skipTest("HOLDALL_PREFIX is not set")
        clean = {name: value for name, value in os.environ.items() if name not in ("HOLDALL_LIB", "PYTHONPATH")}
        clean |= {"PYTHONPATH": f"{prefix}/share/holdall/python", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, *map(str, command)], env=clean, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.stdout


class Fixtures(Case):
    def test_bags(self):
        folder = FIXTURES / "bagz"
        for f in json.loads((folder / "manifest.json").read_text())["fixtures"]:
            o = f["options"]
            options = {"bag_limits": o["limits_placement"], "bag_shards": o["sharding_layout"], "dictionary": o["dictionary"].encode() or None}
            codec = o["compression"] if o["compression"] in ("none", "zstd") else None
            with holdall.Bag(",".join(str(folder / part) for part in f["spec"].split(",")), codec=codec, **options) as bag:
                self.assertEqual((len(bag), bag.compute_checksum().hex()), (f["n"], f["digest"]), f["name"])
                self.assertEqual(bag[:1].approximate_bytes_per_record(), f["approximate_bytes_per_record"], f["name"])
                for s in f["slices"]:
                    self.assertEqual(bag[slice(s["start"], s["stop"], s["step"])].compute_checksum().hex(), s["digest"], f["name"])

    def test_frames(self):
        names = [p for of in ("b2nd", "caterva") for p in sorted((FIXTURES / of).glob("*.json"))]
        names = [p for p in names if not p.name.startswith(("k_zfp", "k_ndcell", "s_uninit"))]
        read = 0
        for name in names:
            f = json.loads(name.read_text())
            if f["path"].endswith((".b2nd", ".cat")) and "expected" in f:
                with holdall.Array(name.parent / f["path"]) as a:
                    self.assertEqual((list(a.shape), a[...].tobytes()), (f["shape"], (name.parent / f["expected"]).read_bytes()), name)
                read += 1
        self.assertGreater(read, 20)

    def test_datasets(self):
        # A sample of the archive with all datasets, or the datasets that are stored with the source.
        folder = FIXTURES / "blpk"
        folder = folder if (folder / "files.tar.gz").exists() else FIXTURES / "datasets"
        of = json.loads((folder / "manifest.json").read_text())["fixtures"]
        of = [f for f in of if f["expect"] == "ok" and f["kind"] != "bloscpack" and all("sha256" in part for part in f["content"].get("columns", [f["content"]]))]
        of = self.rng.sample(of, min(40, len(of))) + [f for f in of if "columns" in f["content"]][:5]
        with tarfile.open(folder / "files.tar.gz") as archive:
            paths = {f["path"] for f in of}
            chosen = [m for m in archive if any("/".join(m.name.split("/")[:n]) in paths for n in range(1, 6))]
            archive.extractall(self.folder, chosen, filter="data")
        for f in of:
            path, content = self.folder / f["path"], f["content"]
            if "columns" in content:
                with holdall.Table(path) as t:
                    for column in content["columns"]:
                        self.check(t[column["name"]], column, f["path"])
            else:
                with holdall.Array(path) as a:
                    self.check(a, content, f["path"])

    def check(self, array, content, path):
        want = content.get("sha256_stored", content["sha256"])
        self.assertEqual((list(array.shape), hashlib.sha256(array[...].tobytes()).hexdigest()), (content["shape"], want), f"HOLDALL_SEED={SEED} {path}")


if __name__ == "__main__":
    unittest.main()
