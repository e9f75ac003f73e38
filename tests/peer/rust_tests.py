"""Tests in Rust that take part in the exchange with other programs."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(program, test, **environment):
    """Runs an ignored test of tests/PROGRAM.rs with these environment variables."""
    # with other features than the Rust tests, cargo would compile the library again for both
    cargo = [os.environ.get("CARGO", "cargo"), "test", "--quiet", "--locked", "--workspace"]
    arguments = ["--features", "holdall/cloud", "--test", program, "--", "--ignored", test]
    done = subprocess.run(
        cargo + arguments,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
