#!/usr/bin/env python3
"""Tests of the completion scripts in the shells themselves. See tool.py.

A test types into a shell on a pseudo-terminal and reads what the shell completes. Shells that are
not installed are skipped.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
import unittest

from tool import TOOL, Base, run_once

CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x07\r]|.\x08")
PROMPT = b"READY>"
# what is typed, and what must be in the line or in the list of candidates
CASES = [
    ("holdall verif\t", b"holdall verify "),
    ("holdall index bui\t", b"holdall index build "),
    ("holdall pack --chunk-s\t", b"--chunk-size"),
    ("holdall pack --codec blo\t", b"blosclz"),
    ("holdall convert --to cat\t", b"caterva"),
    ("holdall cat --codec zs\t", b"zstd"),
    ("holdall cat some-fi\t", b"some-file.bagz"),
    ("holdall pack --metadata some-fi\t", b"some-file.bagz"),
    ("holdall attr get some-fo\t", b"some-folder"),
]


class Shell:
    """A shell on a pseudo-terminal."""

    def __init__(self, command, folder, environment):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.printed = b""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        self.pid = pid

    def read(self, expected, seconds):
        """Returns what was printed since the last `clear`, when it has `expected`, or after a time."""
        end = time.monotonic() + seconds
        while expected not in CONTROL.sub(b"", self.printed) and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.printed += os.read(self.terminal, 65536)
                except OSError:
                    break
        return CONTROL.sub(b"", self.printed)

    def clear(self):
        self.printed = b""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


class Completions(Base):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(TOOL, self.path("bin/holdall"))
        os.mkdir(self.path("some-folder"))
        self.write("some-file.bagz", b"")
        self.environment = {
            "PATH": self.path("bin") + os.pathsep + os.environ["PATH"],
            "HOME": self.path(""),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }

    def script(self, shell):
        script = run_once("generate", "completions", shell)
        self.assertEqual((script.returncode, script.stderr), (0, b""))
        return script.stdout

    def complete(self, command, first):
        shell = Shell(command, self.path(""), self.environment)
        try:
            shell.type(first + f"PS1={PROMPT[:3].decode()}''{PROMPT[3:].decode()!r}\n")
            printed = shell.read(PROMPT, 60)
            self.assertIn(PROMPT, printed)
            self.assertNotIn(b"error", printed.lower())
            shell.clear()
            for text, expected in CASES:
                with self.subTest(text=text):
                    shell.type(text.strip())
                    # zsh takes a tab for text if it arrives with other input
                    shell.read(text.strip().encode(), 5)
                    time.sleep(0.1)
                    shell.type("\t")
                    self.assertIn(expected, shell.read(expected, 5))
                    shell.type("\x15")  # removes the line
                    shell.read(b"\0", 0.3)
                    shell.clear()
        finally:
            shell.close()

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash(self):
        self.write("script", self.script("bash"))
        command = ["bash", "--norc", "--noprofile", "-i"]
        self.complete(command, "bind 'set bell-style none'; . ./script\n")

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        os.mkdir(self.path("functions"))
        self.write("functions/_holdall", self.script("zsh"))
        setup = "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; unsetopt beep prompt_sp\n"
        self.complete(["zsh", "-f", "-i"], setup)

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        folder = ".config/fish/completions"
        os.makedirs(self.path(folder))
        self.write(folder + "/holdall.fish", self.script("fish"))
        for text, expected in CASES:
            with self.subTest(text=text):
                done = subprocess.run(
                    ["fish", "--private", "-c", f"complete -C '{text.strip()}'"],
                    env=self.environment,
                    cwd=self.path(""),
                    capture_output=True,
                    timeout=60,
                )
                candidates = [line.split(b"\t")[0] for line in done.stdout.splitlines()]
                self.assertEqual(done.stderr, b"")
                last = expected.split()[-1]
                self.assertTrue(any(c.rstrip(b"/") == last for c in candidates), done.stdout)


if __name__ == "__main__":
    unittest.main()
