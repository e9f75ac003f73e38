"""What the tests of the command-line tool share: they run it from outside.

HOLDALL_TOOL is the tool's path. HOLDALL_FIXTURES is a folder with files of the tools whose formats these are; without it
the tests of those are skipped.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

TOOL = os.path.abspath(os.environ.get("HOLDALL_TOOL") or shutil.which("holdall") or "holdall")
FIXTURES = os.environ.get("HOLDALL_FIXTURES")
# seconds: no run takes nearly as many
LONG = 600


def default_signals():
    """Sets the signals that tests rely on to what they are in a shell. A parent may have them ignored (nohup, a job in the background) or
    blocked, which the tool would inherit and respect. Handlers of Python do not pass to programs: those get the default. SIGHUP
    stays: nohup is to protect the tests."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


default_signals()


def run_once(*args, stdin=b"", cwd=None, **more):
    return subprocess.run([TOOL, *args], input=stdin, capture_output=True, cwd=cwd, timeout=LONG, **more)


def run(*args, **more):
    """Runs the tool; before each repair a dry run, which must print the same and change nothing."""
    dry = rehearse(*args, **more) if args[:1] == ("repair",) and "--dry-run" not in args else None
    done = run_once(*args, **more)
    if dry:
        assert (dry.returncode, dry.stdout, dry.stderr) == (done.returncode, done.stdout, done.stderr), (args, dry, done)
    return done


def rehearse(*args, cwd=None, **more):
    """Runs with --dry-run. Nothing may be other than before, beside the container either."""
    folders = {os.path.dirname(os.path.join(cwd or os.getcwd(), arg)) for arg in args[1:] if os.path.lexists(os.path.join(cwd or os.getcwd(), arg))}
    folders |= {cwd} - {None}
    before = {folder: tree(folder) for folder in folders}
    done = run_once(*args, "--dry-run", cwd=cwd, **more)
    for folder in folders:
        after = tree(folder)
        assert after == before[folder], (args, {name: (before[folder].get(name), after.get(name)) for name in before[folder].keys() ^ after.keys()})
    return done


def tree(folder):
    """What is in a folder and below it: bytes, and all that the system says but when it was read."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in [".", *folders, *files]:
            path = os.path.join(at, name)
            about = os.lstat(path)
            content = None
            if stat.S_ISREG(about.st_mode) and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, folder)] = (about.st_mode, about.st_ino, about.st_nlink, about.st_uid, about.st_gid, about.st_size,
                                                    about.st_mtime_ns, about.st_ctime_ns, content)
    return found


def np_count(shape):
    """Items of a shape."""
    count = 1
    for n in shape:
        count *= n
    return count


def framed(records):
    """What cat --lengths prints."""
    return b"".join(struct.pack("<Q", len(r)) + r for r in records)


def digest(records, kind="sha256"):
    data = framed(records)
    if kind in ("crc32", "adler32"):
        return "%08x" % getattr(zlib, kind)(data)
    return hashlib.new(kind, data).hexdigest()


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def good(self, *args, **more):
        """Runs in the folder; it must succeed without a word of error. Gives what it printed."""
        r = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(r.returncode, 0, (args, r.stderr))
        self.assertNotIn(b"holdall: ", r.stderr)
        return r.stdout

    def interrupt(self, number, *args):
        """Runs, and sends a signal when there is a new file: that must end it. Where all was done before the signal came,
        the last of `args` is put back as it was, for another try."""
        before, old = self.files(), self.read(args[-1])
        for _ in range(20):
            p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stderr=subprocess.DEVNULL)
            while self.files() == before and p.poll() is None:
                time.sleep(0.001)
            p.send_signal(number)
            if p.wait(LONG) != 0:
                break
            self.write(args[-1], old)
        self.assertEqual(p.returncode, -number)

    def interrupt_fed(self, number, data, *args):
        """Sends a signal when all of `data` is taken from a pipe, and more might come."""
        p = subprocess.Popen([TOOL, *args], cwd=self.folder.name, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdin.write(data)
        p.stdin.flush()
        time.sleep(0.05)
        p.send_signal(number)
        self.assertEqual(p.wait(LONG), -number)
        p.stdin.close()

    def bad(self, *args, code=1, lines=1, **more):
        """It must fail with lines on stderr of the right form. Gives these and what it printed."""
        r = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(r.returncode, code, (args, r.stdout[:200], r.stderr))
        words = r.stderr.decode()
        self.assertTrue(words.endswith("\n"), (args, words))
        self.assertEqual(len(words.splitlines()), lines, (args, words))
        for line in words.splitlines():
            self.assertRegex(line, r"^holdall: \S")
        # words of the C library do not belong here
        self.assertNotIn("HOLDALL_OPT", words)
        return words, r.stdout

    def pack(self, name, records, *flags):
        """A bag of these records, which have no newline."""
        self.good("pack", "-q", "-", name, *flags, stdin=b"".join(r + b"\n" for r in records))
        return records

    def flip(self, name, at):
        data = bytearray(self.read(name))
        data[at] ^= 0x40
        self.write(name, data)

    def info(self, name, *flags):
        return json.loads(self.good("info", "--json", name, *flags))


def sample(n=100):
    r = random.Random(n)
    return [bytes(r.choices(b"abcdefgh \t\r\0\xff", k=r.choice([0, 1, 7, 60, 300]))) for _ in range(n)]


def items(n, seed=0):
    """Bytes that chunks make smaller: n numbers of 8 bytes that rise slowly."""
    r = random.Random(seed)
    value, out = 0, []
    for _ in range(n):
        value += r.choice([0, 1, 1, 2, 300])
        out.append(value)
    return struct.pack("<%dQ" % n, *out)


class Blp(Base):
    """What tests of superchunks need."""

    def blp(self, name, data, *flags):
        self.good("pack", "-q", "--force", "--no-sync", "-", name, *flags, stdin=data)
        return data

    def chunks(self, name):
        """Where the chunks of a file with offsets and without metadata are."""
        data = self.read(name)
        return list(struct.unpack_from("<%dq" % struct.unpack_from("<q", data, 16)[0], data, 32))


def datasets():
    """The archive with the datasets of other tools, or None."""
    for name in ("blpk", "datasets"):
        path = os.path.join(FIXTURES or "", name, "files.tar.gz")
        if FIXTURES and os.path.exists(path):
            return path
    return None
