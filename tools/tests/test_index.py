#!/usr/bin/env python3
"""Tests of the command-line tool: indexes of bags. See tool.py."""

import random
import signal
import subprocess
import unittest

from tool import LONG, TOOL, Base, run


class Index(Base):
    def setUp(self):
        super().setUp()
        r = random.Random(3)
        self.keys = [b"key %d" % r.randrange(800) for _ in range(1000)] + [
            b"",
            b"only",
            b"x" * 5000,
        ]

    def expected(self, key):
        return [i for i, k in enumerate(self.keys) if k == key]

    def test_find_prints_the_records_of_a_key(self):
        for name in ["a.bag", "a.bagz"]:
            self.pack(name, self.keys)
            self.assertEqual(self.good("index", "build", name), b"")
            self.assertIn(name + ".index", self.files())
            for key in [self.keys[0], self.keys[999], b"", b"only", b"x" * 5000]:
                if key:
                    out = self.good("index", "find", name, key)
                    self.assertEqual([int(n) for n in out.split()], self.expected(key))
            several = [self.keys[5], b"only", self.keys[7]]
            lines = self.good("index", "find", name, *several).splitlines()
            self.assertEqual(
                lines, [b"%d\t%s" % (n, key) for key in several for n in self.expected(key)]
            )
            # cat prints the record that find returns.
            self.assertEqual(
                self.good("cat", name, "--records", "%d" % self.expected(b"only")[0]), b"only"
            )
            message, out = self.fails("index", "find", name, "only", "nothing", lines=1)
            self.assertEqual(out, b"%d\tonly\n" % self.expected(b"only")[0])
            self.assertIn("'nothing'", message)

    def test_keys_are_read_from_a_file_or_a_pipe(self):
        self.pack("a.bagz", self.keys)
        self.good("index", "build", "a.bagz", "-q")
        keys = self.keys[::-1] + [b"absent"]
        r = run(
            "index", "find", "a.bagz", "--keys", "-", stdin=b"\n".join(keys), cwd=self.folder.name
        )
        first = {k: i for i, k in reversed(list(enumerate(self.keys)))}
        self.assertEqual(
            r.stdout.splitlines(), [b"%d" % first[k] if k in first else b"none" for k in keys]
        )
        self.assertEqual((r.returncode, len(r.stderr.splitlines())), (1, 1))
        self.write("keys", b"only\n\n")
        self.assertEqual(
            self.good("index", "find", "a.bagz", "--keys", "keys").split(), [b"1001", b"1000"]
        )

    def test_sets_and_other_index_paths_are_supported(self):
        for i in range(3):
            self.pack("s-0000%d-of-00003.bag" % i, self.keys[i::3])
        self.good("index", "build", "s@3.bag", "--shard-order", "interleaved", "--index", "i")
        self.assertEqual(
            [
                int(n)
                for n in self.good(
                    "index", "find", "s@3.bag", "--shard-order", "interleaved", "--index", "i", self.keys[10]
                ).split()
            ],
            self.expected(self.keys[10]),
        )
        # The same files in another order are a different bag.
        self.fails("index", "find", "s@3.bag", "--index", "i", "only")

    def test_a_stale_index_must_be_built_again(self):
        self.pack("a.bag", self.keys)
        message, _ = self.fails("index", "find", "a.bag", "only")
        self.assertIn("index build", message)
        self.good("index", "build", "a.bag")
        message, _ = self.fails("index", "build", "a.bag")
        self.assertIn("--force", message)
        self.good("index", "build", "a.bag", "--force")
        self.pack("a.bag", [b"one more"], "--append")
        message, _ = self.fails("index", "find", "a.bag", "only")
        self.assertIn("index build", message)
        self.write("other", b"a file that is no index")
        self.fails("index", "build", "a.bag", "--index", "other", "--force")
        self.assertEqual(self.read("other"), b"a file that is no index")
        self.fails("index", "find", "a.bag", "--index", "other", "only")

    def test_corrupt_records_are_skipped_on_request(self):
        self.pack("a.bag", self.keys)
        self.flip("a.bag", 3)
        message, _ = self.fails("index", "build", "a.bag")
        self.assertIn("record 0", message)
        self.assertNotIn("a.bag.index", self.files())
        message, _ = self.fails("index", "build", "a.bag", "--skip-damaged", "-q")
        self.assertIn("1 damaged record ", message)
        self.assertEqual(self.good("index", "find", "a.bag", "only"), b"1001\n")

    def test_wrong_usage_leaves_no_files(self):
        self.pack("a.bag", self.keys)
        files = self.files()
        for args in [
            ["make", "a.bag"],
            ["build"],
            ["build", "a.bag", "key"],
            ["find", "a.bag"],
            ["find", "a.bag", "key", "--keys", "f"],
            ["build", "a.bag", "--keys", "f"],
            ["find", "a.bag", "key", "--force"],
            ["find", "a.bag", "key", "--no-sync"],
        ]:
            self.fails("index", *args, code=2)
        for args in [
            ["build", "none.bag"],
            ["build", "a.bag", "--index", "no/i"],
            ["find", "none.bag", "key"],
        ]:
            self.fails("index", *args)
        self.assertEqual(self.files(), files)

    def test_a_signal_leaves_no_file(self):
        self.pack("a.bagz", [b"%d" % i * 20 for i in range(300_000)], "--no-sync")
        spec, before = ",".join(["a.bagz"] * 20), self.files()
        for number in [signal.SIGINT, signal.SIGTERM]:
            p = subprocess.Popen(
                [TOOL, "index", "build", spec, "--index", "i"],
                cwd=self.folder.name,
                stderr=subprocess.PIPE,
            )
            while self.files() == before and p.poll() is None:
                pass
            p.send_signal(number)
            p.communicate(timeout=LONG)
            self.assertEqual(p.returncode, -number)
            self.assertNotIn("i", self.files())


if __name__ == "__main__":
    unittest.main()
