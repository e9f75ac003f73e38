"""Helpers of the tests of the command-line tool, which run it as a process.

HOLDALL_TOOL is the path of the tool. HOLDALL_FIXTURES is a folder with files that the original
tools wrote. Without it, the tests of these files are skipped.
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
# Time limit of one run, in seconds.
LONG = 600


def default_signals():
    """Sets the signals that tests rely on to the state they have in a shell.

    A parent may ignore them (nohup, a background job) or block them, and the tool would inherit
    that.
    Child processes do not inherit handlers of Python, but get the default. SIGHUP stays as it is:
    nohup must protect the tests.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(
            number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        )


default_signals()


def run_once(*args, stdin=b"", cwd=None, **more):
    return subprocess.run(
        [TOOL, *args], input=stdin, capture_output=True, cwd=cwd, timeout=LONG, **more
    )


def run(*args, **more):
    """Runs the tool. Before a repair, runs it with --dry-run, which must print the same."""
    dry = rehearse(*args, **more) if args[:1] == ("repair",) and "--dry-run" not in args else None
    done = run_once(*args, **more)
    if dry:
        assert (dry.returncode, dry.stdout, dry.stderr) == (
            done.returncode,
            done.stdout,
            done.stderr,
        ), (args, dry, done)
    return done


def rehearse(*args, cwd=None, **more):
    """Runs the tool with --dry-run and asserts that no file in the folder changes."""
    folders = {
        os.path.dirname(os.path.join(cwd or os.getcwd(), arg))
        for arg in args[1:]
        if os.path.lexists(os.path.join(cwd or os.getcwd(), arg))
    }
    folders |= {cwd} - {None}
    before = {folder: tree(folder) for folder in folders}
    done = run_once(*args, "--dry-run", cwd=cwd, **more)
    for folder in folders:
        after = tree(folder)
        assert after == before[folder], (
            args,
            {
                name: (before[folder].get(name), after.get(name))
                for name in before[folder].keys() ^ after.keys()
            },
        )
    return done


def tree(folder):
    """Returns the bytes and the attributes, except the access time, of all files in a folder."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in [".", *folders, *files]:
            path = os.path.join(at, name)
            about = os.lstat(path)
            content = None
            if stat.S_ISREG(about.st_mode) and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, folder)] = (
                about.st_mode,
                about.st_ino,
                about.st_nlink,
                about.st_uid,
                about.st_gid,
                about.st_size,
                about.st_mtime_ns,
                about.st_ctime_ns,
                content,
            )
    return found


def np_count(shape):
    """Returns the number of items of a shape."""
    count = 1
    for n in shape:
        count *= n
    return count


def framed(records):
    """Returns the output of cat --lengths."""
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
        """Runs the tool in the folder. It must succeed and print no error. Returns its output."""
        r = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(r.returncode, 0, (args, r.stderr))
        self.assertNotIn(b"holdall: ", r.stderr)
        return r.stdout

    def interrupt(self, number, *args):
        """Runs the tool and sends a signal once a new file exists. The signal must end the tool.

        If the tool finishes first, restores the last of `args` and tries again.
        """
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
        """Sends a signal after the tool has read all of `data` from a pipe that is still open."""
        p = subprocess.Popen(
            [TOOL, *args], cwd=self.folder.name, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        p.stdin.write(data)
        p.stdin.flush()
        time.sleep(0.05)
        p.send_signal(number)
        self.assertEqual(p.wait(LONG), -number)
        p.stdin.close()

    def fails(self, *args, code=1, lines=1, **more):
        """Runs the tool in the folder. It must fail with a well-formed message on stderr.

        Returns the message and the output.
        """
        r = run(*args, cwd=self.folder.name, **more)
        self.assertEqual(r.returncode, code, (args, r.stdout[:200], r.stderr))
        message = r.stderr.decode()
        self.assertTrue(message.endswith("\n"), (args, message))
        self.assertEqual(len(message.splitlines()), lines, (args, message))
        for line in message.splitlines():
            self.assertRegex(line, r"^holdall: \S")
        # Messages name options of the tool, not those of the C API.
        self.assertNotIn("HOLDALL_OPT", message)
        return message, r.stdout

    def pack(self, name, records, *flags):
        """Writes a bag of these records, which must have no newline."""
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
    return [
        bytes(r.choices(b"abcdefgh \t\r\0\xff", k=r.choice([0, 1, 7, 60, 300]))) for _ in range(n)
    ]


def items(n, seed=0):
    """Returns compressible bytes: n increasing integers of 8 bytes."""
    r = random.Random(seed)
    value, out = 0, []
    for _ in range(n):
        value += r.choice([0, 1, 1, 2, 300])
        out.append(value)
    return struct.pack("<%dQ" % n, *out)


class Blp(Base):
    """Base class of the tests of superchunks."""

    def blp(self, name, data, *flags):
        self.good("pack", "-q", "--force", "--no-sync", "-", name, *flags, stdin=data)
        return data

    def chunks(self, name):
        """Returns the offsets of the chunks of a file with offsets and without metadata."""
        data = self.read(name)
        return list(struct.unpack_from("<%dq" % struct.unpack_from("<q", data, 16)[0], data, 32))


def datasets():
    """Returns the path of the archive with datasets of other tools, or None."""
    for name in ("blpk", "datasets"):
        path = os.path.join(FIXTURES or "", name, "files.tar.gz")
        if FIXTURES and os.path.exists(path):
            return path
    return None
