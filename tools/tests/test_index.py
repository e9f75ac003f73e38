#!/usr/bin/env python3
"""Tests of the command-line tool: indexes of bags. See tool.py."""

import os
import random
import signal
import subprocess
import unittest

from tool import LONG, TOOL, Base, run


class Index(Base):
    def setUp(self):
        super().setUp()
        r = random.Random(3)
        self.keys = [b"key %d" % r.randrange(800) for _ in range(1000)] + [b"", b"only", b"x" * 5000]

    def wanted(self, key):
        return [i for i, k in enumerate(self.keys) if k == key]

    def test_build_and_find(self):
        for name in ["a.bag", "a.bagz"]:
            self.pack(name, self.keys)
            self.assertEqual(self.good("index", "build", name), b"")
            self.assertIn(name + ".index", self.files())
            for key in [self.keys[0], self.keys[999], b"", b"only", b"x" * 5000]:
                if key:
                    out = self.good("index", "find", name, key)
                    self.assertEqual([int(n) for n in out.split()], self.wanted(key))
            several = [self.keys[5], b"only", self.keys[7]]
            lines = self.good("index", "find", name, *several).splitlines()
            self.assertEqual(lines, [b"%d\t%s" % (n, key) for key in several for n in self.wanted(key)])
            # what is found is what cat prints
            self.assertEqual(self.good("cat", name, "--records", "%d" % self.wanted(b"only")[0]), b"only")
            words, out = self.bad("index", "find", name, "only", "nothing", lines=1)
            self.assertEqual(out, b"%d\tonly\n" % self.wanted(b"only")[0])
            self.assertIn("'nothing'", words)

    def test_many_keys(self):
        self.pack("a.bagz", self.keys)
        self.good("index", "build", "a.bagz", "-q")
        wanted = self.keys[::-1] + [b"absent"]
        r = run("index", "find", "a.bagz", "--keys", "-", stdin=b"\n".join(wanted), cwd=self.folder.name)
        first = {k: i for i, k in reversed(list(enumerate(self.keys)))}
        self.assertEqual(r.stdout.splitlines(), [b"%d" % first[k] if k in first else b"none" for k in wanted])
        self.assertEqual((r.returncode, len(r.stderr.splitlines())), (1, 1))
        self.write("keys", b"only\n\n")
        self.assertEqual(self.good("index", "find", "a.bagz", "--keys", "keys").split(), [b"1001", b"1000"])

    def test_sets_and_other_places(self):
        for i in range(3):
            self.pack("s-0000%d-of-00003.bag" % i, self.keys[i::3])
        self.good("index", "build", "s@3.bag", "--interleaved", "--index", "i")
        self.assertEqual([int(n) for n in self.good("index", "find", "s@3.bag", "--interleaved", "--index", "i", self.keys[10]).split()], self.wanted(self.keys[10]))
        # the same files in another order are another bag
        self.bad("index", "find", "s@3.bag", "--index", "i", "only")

    def test_modes_and_stale_ones(self):
        self.pack("a.bag", self.keys)
        words, _ = self.bad("index", "find", "a.bag", "only")
        self.assertIn("index build", words)
        self.good("index", "build", "a.bag")
        words, _ = self.bad("index", "build", "a.bag")
        self.assertIn("--force", words)
        self.good("index", "build", "a.bag", "--force")
        self.pack("a.bag", [b"one more"], "--append")
        words, _ = self.bad("index", "find", "a.bag", "only")
        self.assertIn("index build", words)
        self.write("other", b"a file that is no index")
        self.bad("index", "build", "a.bag", "--index", "other", "--force")
        self.assertEqual(self.read("other"), b"a file that is no index")
        self.bad("index", "find", "a.bag", "--index", "other", "only")

    def test_damage(self):
        self.pack("a.bag", self.keys)
        self.flip("a.bag", 3)
        words, _ = self.bad("index", "build", "a.bag")
        self.assertIn("record 0", words)
        self.assertNotIn("a.bag.index", self.files())
        words, _ = self.bad("index", "build", "a.bag", "--skip-damaged", "-q")
        self.assertIn("1 damaged record ", words)
        self.assertEqual(self.good("index", "find", "a.bag", "only"), b"1001\n")

    def test_usage(self):
        self.pack("a.bag", self.keys)
        files = self.files()
        for args in [["make", "a.bag"], ["build"], ["build", "a.bag", "key"], ["find", "a.bag"], ["find", "a.bag", "key", "--keys", "f"],
                     ["build", "a.bag", "--keys", "f"], ["find", "a.bag", "key", "--force"], ["find", "a.bag", "key", "--no-sync"]]:  # fmt: skip
            self.bad("index", *args, code=2)
        for args in [["build", "none.bag"], ["build", "a.bag", "--index", "no/i"], ["find", "none.bag", "key"]]:
            self.bad("index", *args)
        self.assertEqual(self.files(), files)

    def test_a_signal_leaves_nothing(self):
        self.pack("a.bagz", [b"%d" % i * 20 for i in range(300_000)], "--no-sync")
        spec, before = ",".join(["a.bagz"] * 20), self.files()
        for number in [signal.SIGINT, signal.SIGTERM]:
            p = subprocess.Popen([TOOL, "index", "build", spec, "--index", "i"], cwd=self.folder.name, stderr=subprocess.PIPE)
            while self.files() == before and p.poll() is None:
                pass
            p.send_signal(number)
            p.communicate(timeout=LONG)
            self.assertEqual(p.returncode, -number)
            self.assertNotIn("i", self.files())


if __name__ == "__main__":
    unittest.main()
