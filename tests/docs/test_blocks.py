#!/usr/bin/env python3
"""usage: test_blocks.py SCRATCH: checks that blocks.py refuses documents with an error, and accepts
correct ones."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CORRECT = {
    "output": "```sh\necho one two\necho 3\n```\n\n```text\none ...\n3\n```\n",
    "lines between": "```sh\nseq 9\n```\n\n```text\n1\n...\n9\n```\n",
    "file": "```c\n/* some/a.c: nothing */\n```\n\n```sh\ntest -s some/a.c\n```\n",
    "unseen": "<!-- run: echo x > made -->\n```sh\ncat made\n```\n",
    "needs": "<!-- needs no-such-program -->\n```sh\nfalse\n```\n\n<!-- needs sh -->\n```sh\necho "
    "x\n```\n\n```text\nx\n```\n",
    "marked": "<!-- not run: a reason -->\n```sh\nfalse\n```\n",
}
WRONG = {
    "other output": ("```sh\necho one\n```\n\n```text\ntwo\n```\n", "this is printed:\none"),
    "less output": ("```sh\nseq 3\n```\n\n```text\n1\n2\n```\n", "this is printed"),
    "a failure": ("```sh\nfalse\ntrue\n```\n", "exit code 1"),
    "neither file nor command": (
        "```c\nint main(void) { return 0; }\n```\n",
        "no file, no command",
    ),
    "output of nothing": ("text\n\n```text\nthree\n```\n", "nothing's output"),
    "indented": ("text\n\n    make\n", "fence it"),
    "no end": ("```sh\ntrue\n", "has no end"),
    "unseen failure": ("<!-- run: false -->\n", "exit code 1"),
    "needs what is there": ("<!-- needs sh -->\n```sh\nfalse\n```\n", "exit code 1"),
    "a reason for one block alone": (
        "<!-- not run: x -->\n```sh\nfalse\n```\n\n```sh\nfalse\n```\n",
        "exit code 1",
    ),
    "no such file elsewhere": ("<!-- with none.h of correct-0.md -->\n", "shows no none.h"),
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    scratch = pathlib.Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "prefix/lib").mkdir(parents=True)
    (scratch / "prefix/lib/libholdall.a").touch()

    def run(name, text):
        path = scratch / f"{name}.md"
        path.write_text(f"# {name}\n\n{text}", encoding="utf-8")
        return subprocess.run(
            [sys.executable, HERE / "blocks.py", scratch / "prefix", scratch / "ran", path],
            encoding="utf-8",
            capture_output=True,
        )

    for i, (name, text) in enumerate(CORRECT.items()):
        done = run(f"correct-{i}", text)
        assert done.returncode == 0, f"{name}: {done.stderr}"
    for i, (name, (text, message)) in enumerate(WRONG.items()):
        done = run(f"wrong-{i}", text)
        assert (
            done.returncode == 1 and message in done.stderr
        ), f"{name}: {done.returncode} {done.stderr}"
    print(f"{len(CORRECT)} correct documents pass, {len(WRONG)} wrong ones do not")


if __name__ == "__main__":
    main()
