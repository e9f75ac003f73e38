"""What the tests that damage files share: what came of each way of reading, and the table of it."""

import sys

import holdall_c as h


class Found:
    """Was anything wrong without a word, was anything refused?"""

    def __init__(self):
        self.wrong, self.refused = 0, 0

    def verdict(self):
        return "silently wrong" if self.wrong else "error" if self.refused else "right"

    def take(self, read, want):
        try:
            self.wrong += read() != want
        except h.Error:
            self.refused += 1


def table(what, columns, rows):
    """Prints how often each way had which verdict; a way that is like the mapped one stands for both."""
    print(f"\n{what}", file=sys.stderr)
    print(f"| way | {' | '.join(columns)} |\n| --- |" + " --: |" * len(columns), file=sys.stderr)
    for way, row in rows.items():
        if way.endswith(", mapped") and row == rows[way.removesuffix(", mapped")]:
            continue
        print(f"| {way} | {' | '.join(str(row[c]) for c in columns)} |", file=sys.stderr)
