"""Runs a peer in a Python of its own: a script that executes each line of its input, as JSON, and
reports the result. Items are exchanged as .npy files."""

import json
import pathlib
import subprocess
import sys

import numpy as np


class Beside:
    def __init__(self, python, script, folder):
        side = pathlib.Path(__file__).with_name(script)
        self.folder = folder
        self.process = subprocess.Popen(
            [python, "-W", "ignore", side], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def __call__(self, name, **arguments):
        for key, value in arguments.items():
            if isinstance(value, np.ndarray):
                arguments[key] = str(self.folder / "rows.npy")
                np.save(arguments[key], value)
            elif isinstance(value, pathlib.Path):
                arguments[key] = str(value)
        self.process.stdin.write(json.dumps([name, arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        done, answer = json.loads(line) if line else (False, "it is gone")
        if not done:
            raise AssertionError(f"{name} {arguments}: {answer}")
        return answer


def serve(functions):
    """The main loop of the peer: `functions` by name."""
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer = [True, functions[name](**arguments)]
        except Exception as e:
            answer = [False, f"{type(e).__name__}: {e}"]
        print(json.dumps(answer), flush=True)
