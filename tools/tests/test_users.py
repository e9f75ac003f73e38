#!/usr/bin/env python3
"""Tests of the command-line tool in folders that several users can write to.

The tool neither obeys, follows nor changes files that another user placed next to a container, and
files retain their mode and owner.
"""

import fcntl
import os
import shutil
import stat
import struct
import subprocess
import tempfile
import unittest
import zlib

from test_arrays import npy_file
from tool import LONG, TOOL, Base, run

VICTIM, OTHER = 1000, 2000
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def journal(*entries):
    """Returns a journal of undo entries.

    Each entry has a file name, the length to restore (None: the file is removed), the offset of the
    saved bytes, and these bytes.
    """
    index, saved = b"", b""
    head = b"holdall journal\n" + struct.pack("<IIQI", 1, 1, 77, len(entries))
    length = len(head) + sum(2 + len(name) + 8 + 4 + 24 + 4 for name, *_ in entries) + 4
    for name, size, at, data in entries:
        index += (
            struct.pack("<H", len(name))
            + name
            + struct.pack("<QI", 2**64 - 1 if size is None else size, zlib.crc32(b""))
        )
        index += struct.pack("<QQQI", at, len(data), length + len(saved), zlib.crc32(data))
        saved += data
    return head + index + struct.pack("<I", zlib.crc32(head + index)) + saved


def swap(*entries):
    """Returns a journal of renames: pairs of names. The second is None if the file is removed."""
    text = b"holdall journal\n" + struct.pack("<IIQI", 1, 2, 77, len(entries))
    for name, to in entries:
        text += struct.pack("<H", len(name)) + name + struct.pack("<H", to is not None)
        text += struct.pack("<H", len(to)) + to if to is not None else b""
    return text + struct.pack("<I", zlib.crc32(text))


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class Modes(Base):
    """Tests with one user."""

    def anyhow(self, *args):
        """Runs the tool, which may succeed or fail, but must not crash."""
        self.assertIn(run(*args, cwd=self.folder.name).returncode, (0, 1))

    def stored(self, name):
        if os.path.isfile(self.path(name)):
            return [self.path(name)]
        return [
            os.path.join(folder, f) for folder, _, files in os.walk(self.path(name)) for f in files
        ]

    def test_permissions_are_preserved(self):
        self.write("lines", b"a\nb\nc\n")
        self.write("a.npy", npy_file("<i4", (1000,), bytes(4000)))
        changes = [
            ("x.bagz", ["pack", "-q", "lines", "x.bagz"], ["--append", "--force"]),
            ("x.bag", ["pack", "-q", "lines", "x.bag"], ["--append", "--force"]),
        ]
        for name, make, ways in changes:
            for way in ways:
                with self.subTest(name=name, way=way):
                    self.good(*make, *(["--force"] if os.path.exists(self.path(name)) else []))
                    beside = [f for f in os.listdir(self.folder.name) if f.endswith(name)]
                    for file in beside:
                        os.chmod(self.path(file), 0o600)
                    self.good(*make, way)
                    self.assertEqual(
                        {f: mode(self.path(f)) for f in beside}, {f: 0o600 for f in beside}
                    )
        for name, to in (("a.blp", "blpk"), ("a.b2nd", "b2nd"), ("a", "bcolz"), ("z", "blz")):
            with self.subTest(name=name):
                self.good("convert", "-q", "a.npy", name, "--to", to)
                for file in self.stored(name):
                    os.chmod(file, 0o600)
                self.good("append", "-q", name, "a.npy")
                self.assertEqual(
                    {f: mode(f) for f in self.stored(name)}, {f: 0o600 for f in self.stored(name)}
                )
                if os.path.isfile(self.path(name)):
                    self.good("convert", "-q", "--force", "a.npy", name, "--to", to)
                    self.assertEqual(mode(self.path(name)), 0o600)

    def test_new_files_follow_the_umask(self):
        self.write("lines", b"a\nb\nc\n")
        for umask, want in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
            name = f"{umask}.bagz"
            self.good("pack", "-q", "lines", name, umask=umask)
            self.assertEqual(mode(self.path(name)), want)

    def test_a_file_with_two_names_has_one_writer(self):
        self.write("lines", b"a\nb\nc\n")
        self.write("a.npy", npy_file("<i4", (1000,), bytes(4000)))
        for name, make, change in (
            ("x.bagz", ["pack", "-q", "lines"], ["pack", "-q", "--append", "lines", "x.bagz"]),
            ("a.blp", ["convert", "-q", "a.npy"], ["append", "-q", "a.blp", "a.npy"]),
            ("a.b2nd", ["convert", "-q", "a.npy"], ["append", "-q", "a.b2nd", "a.npy"]),
        ):
            with self.subTest(name=name):
                self.good(*make, name)
                os.link(self.path(name), self.path("other"))
                with open(self.path("other"), "rb") as writer:
                    fcntl.flock(writer, fcntl.LOCK_EX)
                    before = self.read("other")
                    r = run(*change, cwd=self.folder.name)
                    self.assertEqual((r.returncode, self.read("other")), (1, before))
                    self.assertIn(b"another writer", r.stderr)
                os.remove(self.path("other"))
                self.good(*change)

    def test_links_beside_are_not_followed(self):
        """The targets of symbolic and hard links do not change."""
        self.write("lines", b"a\nb\nc\n")
        for link in (os.symlink, os.link):
            for name, beside in (
                ("x.bag", "checksums.x.bag"),
                ("x.bag", "x.bag.holdall-new"),
                ("x.bag", "x.bag.holdall-journal-new"),
                ("x.bag", "checksums.x.bag.holdall-new"),
                ("a.blp", "a.blp.holdall-new"),
                ("a.blp", "a.blp.holdall-part"),
                ("a.blp", "a.blp.holdall-journal-new"),
            ):
                for way in ("--append", "--force"):
                    with self.subTest(link=link.__name__, beside=beside, way=way):
                        for left in os.listdir(self.folder.name):
                            if left != "lines":
                                os.remove(self.path(left))
                        source = "lines"
                        if name == "a.blp":
                            self.write("a.npy", npy_file("<i4", (1000,), bytes(4000)))
                            source = "a.npy"
                        self.good("pack", "-q", source, name)
                        self.write("precious", b"hello world\n")
                        if os.path.exists(self.path(beside)):
                            os.remove(self.path(beside))
                        link(self.path("precious"), self.path(beside))
                        if way == "--append" and name == "a.blp":
                            self.anyhow("append", "-q", name, source)
                        else:
                            self.anyhow("pack", "-q", source, name, way)
                        with open(self.path("precious"), "rb") as f:
                            self.assertEqual(f.read(), b"hello world\n")
                        self.assertFalse(os.path.islink(self.path(name)))


@unittest.skipUnless(IS_ROOT, "only root can be two users")
class Users(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o1777)
        self.tool = os.path.join(self.folder, "holdall")
        shutil.copy(TOOL, self.tool)
        os.chmod(self.tool, 0o755)
        with open(self.path("lines"), "wb") as f:
            f.write(b"".join(b"%d\n" % i for i in range(3000)))
        with open(self.path("a.npy"), "wb") as f:
            f.write(npy_file("<i4", (1000,), bytes(range(250)) * 16))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_as(self, user, *args):
        return subprocess.run(
            [self.tool, *args],
            cwd=self.folder,
            user=user,
            group=user,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONG,
        )

    def good_as(self, user, *args):
        r = self.run_as(user, *args)
        self.assertEqual((r.returncode, r.stderr), (0, b""), args)
        return r.stdout

    def plant(self, name, data=b"", user=OTHER, mode=0o644):
        with open(self.path(name), "wb") as f:
            f.write(data)
        os.chmod(self.path(name), mode)
        os.chown(self.path(name), user, user)

    def forged(self, name):
        """Returns journals that would truncate, overwrite or replace the file."""
        size = os.path.getsize(self.path(name))
        self.plant(name + ".holdall-new", b"forged\n")
        own = name.encode()
        return [
            journal((own, 0, 0, b"")),
            journal((own, size, 0, b"forged!!")),
            journal((own, None, 0, b"")),
            swap((own + b".holdall-new", own)),
            swap((own, None)),
        ]

    def test_a_journal_of_another_user_is_not_obeyed(self):
        for name, make in (
            ("x.bagz", ["pack", "-q", "lines", "x.bagz"]),
            ("x.bag", ["pack", "-q", "lines", "x.bag"]),
            ("a.blp", ["convert", "-q", "a.npy", "a.blp", "--to", "blpk"]),
            ("a.b2nd", ["convert", "-q", "a.npy", "a.b2nd", "--to", "b2nd"]),
        ):
            self.good_as(VICTIM, *make)
            content = self.good_as(VICTIM, "cat", name)
            with open(self.path(name), "rb") as f:
                stored = f.read()
            for i, text in enumerate(self.forged(name)):
                for args in (["cat", name], ["verify", "-q", name], ["repair", "-q", name]):
                    with self.subTest(name=name, journal=i, args=args):
                        self.plant(name + ".holdall-journal", text)
                        self.run_as(VICTIM, *args)
                        self.assertEqual(self.good_as(VICTIM, "cat", name), content)
                        with open(self.path(name), "rb") as f:
                            self.assertEqual(f.read(), stored)
            for left in (name + ".holdall-journal", name + ".holdall-new"):
                os.remove(self.path(left))

    def test_a_journal_in_a_table_of_another_user_is_not_obeyed(self):
        os.mkdir(self.path("d"))
        os.chmod(self.path("d"), 0o1777)
        self.good_as(VICTIM, "convert", "-q", "a.npy", "d/a", "--to", "bcolz")
        content = self.good_as(VICTIM, "cat", "d/a")
        chunk = next(f for f in sorted(os.listdir(self.path("d/a/data"))) if f.startswith("__0"))
        for text in (
            journal((b"a/data/" + chunk.encode(), None, 0, b"")),
            swap((b"a/meta/sizes", None)),
        ):
            for args in (["cat", "d/a"], ["append", "-q", "d/a", "a.npy"]):
                self.plant("d/dataset.holdall-journal", text)
                # A file of this name does not belong to a table, so its owner must not matter.
                self.plant("d/dataset")
                self.run_as(VICTIM, *args)
                self.assertTrue(os.path.exists(self.path("d/a/data/" + chunk)))
                self.assertEqual(self.good_as(VICTIM, "cat", "d/a")[: len(content)], content)

    def test_a_journal_beside_a_set_of_another_user_is_not_obeyed(self):
        for ending in ("bagz", "bag"):
            self.good_as(VICTIM, "pack", "-q", "--shards", "2", "lines", "x." + ending)
            spec, shard = f"x@2.{ending}", f"x-00000-of-00002.{ending}"
            content = self.good_as(VICTIM, "cat", spec)
            with open(self.path(shard), "rb") as f:
                stored = f.read()
            for i, text in enumerate(self.forged(shard)):
                for args in (
                    ["cat", spec],
                    ["verify", "-q", spec],
                    ["repair", "-q", shard],
                    ["pack", "-q", "--append", "nothing", spec],
                ):
                    with self.subTest(ending=ending, journal=i, args=args):
                        self.plant("nothing", user=VICTIM)
                        self.plant(spec + ".holdall-set")
                        self.plant(spec + ".holdall-set.holdall-journal", text)
                        self.run_as(VICTIM, *args)
                        self.assertEqual(self.good_as(VICTIM, "cat", spec), content)
                        with open(self.path(shard), "rb") as f:
                            self.assertEqual(f.read(), stored)

    def test_a_journal_changes_no_shard_of_another_owner(self):
        self.good_as(VICTIM, "pack", "-q", "--shards", "2", "lines", "x.bagz")
        first, second = "x-00000-of-00002.bagz", "x-00001-of-00002.bagz"
        with open(self.path(second), "rb") as f:
            stored = f.read()
        os.remove(self.path(first))
        for text in (
            journal((second.encode(), None, 0, b"")),
            journal((second.encode(), len(stored), 0, b"forged!!")),
            swap((second.encode(), None)),
        ):
            self.plant(first, stored)
            self.plant("x@2.bagz.holdall-set.holdall-journal", text)
            for args in (
                ["cat", "x@2.bagz"],
                ["repair", "-q", second],
                ["repair", "-q", first],
                ["pack", "-q", "--append", "lines", "x@2.bagz"],
            ):
                self.run_as(VICTIM, *args)
                self.run_as(0, *args)
                with open(self.path(second), "rb") as f:
                    self.assertEqual(f.read(), stored, args)

    def test_the_recovery_of_a_set_follows_no_links(self):
        self.plant("precious", b"hello world, this is precious", user=VICTIM, mode=0o600)
        self.good_as(OTHER, "pack", "-q", "--shards", "2", "lines", "x.bag")
        name = "checksums.x-00000-of-00002.bag"
        for link in (os.symlink, os.link):
            os.remove(self.path(name))
            link(self.path("precious"), self.path(name))
            self.plant(
                "x@2.bag.holdall-set.holdall-journal", journal((name.encode(), 29, 0, b"OWNED"))
            )
            for user in (VICTIM, 0):
                self.run_as(user, "repair", "-q", "x-00000-of-00002.bag")
                self.run_as(user, "pack", "-q", "--append", "lines", "x@2.bag")
                with open(self.path("precious"), "rb") as f:
                    self.assertEqual(f.read(), b"hello world, this is precious")

    def test_files_beside_a_bag_of_another_user_are_refused(self):
        self.good_as(VICTIM, "pack", "-q", "lines", "x.bag")
        os.remove(self.path("checksums.x.bag"))
        content = self.good_as(VICTIM, "cat", "x.bag")
        with open(self.path("x.bag"), "rb") as f:
            stored = f.read()
        for beside, text in (
            ("limits.x.bag", struct.pack("<Q", len(stored))),
            ("checksums.x.bag", bytes(8)),
        ):
            self.plant(beside, text, mode=0o666)
            for args in (["repair", "-q", "x.bag"], ["pack", "-q", "--append", "lines", "x.bag"]):
                self.assertEqual(self.run_as(VICTIM, *args).returncode, 1, args)
                with open(self.path("x.bag"), "rb") as f:
                    self.assertEqual(f.read(), stored, args)
            os.remove(self.path(beside))
            self.assertEqual(self.good_as(VICTIM, "cat", "x.bag"), content)

    def test_a_new_file_of_another_user_is_not_swapped_in(self):
        """After the renames of a journal of the victim, another user can take the new name."""
        self.good_as(VICTIM, "pack", "-q", "lines", "x.bag")
        self.plant("other", b"forged\n" * 3000)
        self.good_as(OTHER, "pack", "-q", "other", "forged.bag")
        content = self.good_as(VICTIM, "cat", "x.bag")
        os.rename(self.path("forged.bag"), self.path("x.bag.holdall-new"))
        text = swap((b"x.bag.holdall-new", b"x.bag"), (b"limits.x.bag", None))
        self.plant("x.bag.holdall-journal", text, user=VICTIM)
        for user in (VICTIM, 0):
            for args in (["cat", "x.bag"], ["repair", "-q", "x.bag"]):
                r = self.run_as(user, *args)
                self.assertIn(b"its owner may not write", r.stderr)
                self.assertEqual((r.returncode, r.stdout), (1, b""))
        os.remove(self.path("x.bag.holdall-new"))
        self.assertEqual(self.good_as(VICTIM, "cat", "x.bag"), content)

    def test_another_user_does_not_change_the_order_of_a_set(self):
        self.good_as(VICTIM, "pack", "-q", "--shards", "2", "lines", "x.bag")
        mark = "turns.x-00000-of-00002.bag"
        with open(self.path(mark), "rb") as f:
            text = f.read()
        content = self.good_as(VICTIM, "cat", "x@2.bag")
        os.remove(self.path(mark))
        self.assertNotEqual(self.good_as(VICTIM, "cat", "x@2.bag"), content)
        self.plant(mark, text)
        r = self.run_as(VICTIM, "cat", "x@2.bag")
        self.assertEqual((r.returncode, r.stdout), (1, b""))
        self.assertIn(mark.encode(), r.stderr)
        self.plant(mark, text, user=VICTIM)
        self.assertEqual(self.good_as(VICTIM, "cat", "x@2.bag"), content)
        # Next to links of the victim, a file has priority over the one next to the target.
        os.mkdir(self.path("real"))
        for name in os.listdir(self.folder):
            if name.startswith("x-") or name.endswith("x-00000-of-00002.bag"):
                os.rename(self.path(name), self.path("real/" + name))
        for i in range(2):
            os.symlink(
                self.path(f"real/x-0000{i}-of-00002.bag"), self.path(f"l-0000{i}-of-00002.bag")
            )
        self.assertEqual(self.good_as(VICTIM, "cat", "l@2.bag"), content)
        self.plant("turns.l-00000-of-00002.bag")
        self.assertEqual(self.run_as(VICTIM, "cat", "l@2.bag").returncode, 1)

    def test_files_of_another_user_block_no_access(self):
        self.plant("__rootdirs__")
        self.good_as(VICTIM, "convert", "-q", "a.npy", "a", "--to", "bcolz")
        once = self.good_as(VICTIM, "cat", "a")
        self.good_as(VICTIM, "append", "-q", "a", "a.npy")
        self.assertEqual(self.good_as(VICTIM, "cat", "a"), 2 * once)
        self.good_as(VICTIM, "pack", "-q", "lines", "x.bagz")
        self.plant("x.bagz.holdall-lock")
        with open(self.path("x.bagz.holdall-lock")) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            self.good_as(VICTIM, "pack", "-q", "--append", "lines", "x.bagz")
        with open(self.path("lines"), "rb") as f:
            self.assertEqual(
                self.good_as(VICTIM, "cat", "x.bagz"), 2 * f.read().replace(b"\n", b"")
            )

    def test_a_replaced_file_retains_its_owner(self):
        self.good_as(VICTIM, "pack", "-q", "lines", "x.bagz")
        os.chmod(self.path("x.bagz"), 0o640)
        self.good_as(0, "pack", "-q", "--force", "lines", "x.bagz")
        look = os.stat(self.path("x.bagz"))
        self.assertEqual(
            (look.st_uid, look.st_gid, stat.S_IMODE(look.st_mode)), (VICTIM, VICTIM, 0o640)
        )


if __name__ == "__main__":
    unittest.main()
