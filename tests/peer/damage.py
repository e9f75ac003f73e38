"""Shared by the tests of corruption: the results of each way of reading, and their table."""

import os
import resource
import signal
import sys

import holdall_c as h


class Found:
    """Was any result silently wrong, was any read refused?"""

    def __init__(self):
        self.wrong, self.refused = 0, 0

    def verdict(self):
        return "silently wrong" if self.wrong else "error" if self.refused else "right"

    def take(self, read, want):
        try:
            self.wrong += read() != want
        except h.Error:
            self.refused += 1


def alone(is_right):
    """Returns "right", "error", "silently wrong" or "crash": the result of a peer's read, in a
    process of its own."""
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the parent may ignore the signal
            signal.alarm(100)
            code = 0 if is_right() else 2
        except BaseException:
            code = 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "right", 1: "error", 2: "silently wrong"}.get(code, "crash")


def table(what, columns, rows):
    """Prints the number of verdicts of each way; a way with the results of the mapped one is merged
    with it."""
    print(f"\n{what}", file=sys.stderr)
    print(f"| way | {' | '.join(columns)} |\n| --- |" + " --: |" * len(columns), file=sys.stderr)
    for way, row in rows.items():
        if way.endswith(", mapped") and row == rows[way.removesuffix(", mapped")]:
            continue
        print(f"| {way} | {' | '.join(str(row[c]) for c in columns)} |", file=sys.stderr)
