#!/usr/bin/env python3
"""usage: blocks.py PREFIX SCRATCH [DOCUMENT.md...]

Runs every code block of the documents as a reader would, with the installation in PREFIX: each
document from top to bottom in an empty folder of its own.

- A block whose first line is a comment that begins with the name of a file (`/* demo.c: ...`, `#
  plot.py: ...`) is that file.
- A block `sh` is run, and must succeed. A block `text` directly after one is its output, standard
  output and errors in order; a line `...` stands for any lines, `...` in a line for any text.
- `<!-- not run: reason -->` before a block: it is not run, nor is one after `<!-- needs PROGRAM
  -->` if that program is missing. Their number and reasons are printed.
- `<!-- run: ... -->`: commands that the reader does not see, such as those that create data. `<!--
  with FILE of OTHER.md -->`: a file that another document shows. $SOURCE is the source tree in
  both.
- Any other block fails the test, and so does code that is indented instead of fenced.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md"]
NAMED = re.compile(r"(?:/\*|//|#|!|--)\s*([\w./-]+\.\w+|[\w./-]*Makefile)\b")


class Wrong(Exception):
    pass


class Document:
    def __init__(self, path, folder, environment):
        self.path, self.folder, self.environment = path, folder, environment
        self.ran, self.files, self.skipped = 0, 0, []
        self.printed = self.reason = None

    def parts(self):
        """Yields (line, kind, content): "sh" and the other languages, "mark", "plain"."""
        lines = self.path.read_text(encoding="utf-8").split("\n")
        i = 0
        while i < len(lines):
            line, start = lines[i], i
            if line.startswith("```"):
                i = self.end(lines, i, lambda one: one == "```")
                yield start + 1, line[3:], "\n".join(lines[start + 1 : i]) + "\n"
            elif line.startswith("<!--"):
                i = self.end(lines, i - 1, lambda one: one.endswith("-->"))
                yield start + 1, "mark", "\n".join(lines[start : i + 1])[4:-3].strip()
            elif line.startswith("    ") and not lines[i - 1].strip():
                raise Wrong(f"{self.path.name}:{i + 1}: code that is indented: fence it")
            elif line.strip():
                yield start + 1, "plain", line
            i += 1

    def end(self, lines, start, ends):
        for i in range(start + 1, len(lines)):
            if ends(lines[i]):
                return i
        raise Wrong(f"{self.path.name}:{start + 1}: this has no end")

    def run(self):
        self.folder.mkdir(parents=True)
        for line, kind, content in self.parts():
            try:
                self.part(kind, content)
            except Wrong as wrong:
                raise Wrong(f"{self.path.name}:{line}: {wrong}") from None

    def part(self, kind, content):
        if kind == "plain":
            self.printed = None
        elif kind == "mark":
            self.mark(content)
        elif self.reason:
            self.skipped.append(self.reason)
            self.reason = None
        elif kind == "sh":
            self.printed = self.shell(content)
            self.ran += 1
        elif kind == "text" and self.printed is not None:
            compare(content, self.printed)
            self.printed = None
        elif NAMED.match(content):
            self.put(NAMED.match(content)[1], content)
        else:
            raise Wrong(
                f"a block of {kind or 'no language'} that is no file, no command and nothing's "
                "output"
            )

    def mark(self, content):
        word, _, rest = content.partition(":")
        if word == "not run":
            self.reason = rest.strip()
        elif match := re.fullmatch(r"needs (\S+)", content):
            self.reason = None if shutil.which(match[1]) else f"{match[1]} is not there"
        elif word == "run":
            self.shell(rest.strip() + "\n")
        elif match := re.fullmatch(r"with (\S+) of (\S+)", content):
            self.put(match[1], shown(self.path.parent / match[2], match[1]))

    def put(self, name, content):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        self.files += 1

    def shell(self, commands):
        done = subprocess.run(
            ["sh", "-eu"],
            input=commands,
            cwd=self.folder,
            env=self.environment,
            encoding="utf-8",
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        if done.returncode:
            raise Wrong(f"exit code {done.returncode} of\n{commands}{done.stdout}")
        return done.stdout


def shown(path, name):
    """Returns a file that a document shows."""
    for _, _, content in Document(path, None, None).parts():
        if (match := NAMED.match(content)) and match[1] == name:
            return content
    raise Wrong(f"{path.name} shows no {name}")


def compare(expected, printed):
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in expected.rstrip("\n").split("\n")
    )
    if not re.fullmatch(pattern, printed.rstrip("\n") + "\n"):
        raise Wrong(f"this is shown:\n{expected}and this is printed:\n{printed}")


def tried(document):
    """Returns the error in a document, or nothing."""
    try:
        document.run()
    except Wrong as wrong:
        return str(wrong)


def surroundings(prefix):
    env = dict(os.environ)
    env["PATH"] = f"{prefix}/bin:{env['PATH']}"
    env["PKG_CONFIG_PATH"] = os.pathsep.join(str(path) for path in prefix.glob("**/pkgconfig"))
    env["LD_LIBRARY_PATH"] = env["DYLD_LIBRARY_PATH"] = str(
        next(prefix.glob("**/libholdall.a")).parent
    )
    env["CMAKE_PREFIX_PATH"], env["MANPATH"] = str(prefix), f"{prefix}/share/man:"
    env["SOURCE"] = str(ROOT)
    for name in ("HOLDALL_LIB", "HOLDALL_TOOL", "HOLDALL_THREADS"):
        env.pop(name, None)
    return env


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[0])
    prefix, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    subprocess.run(["rm", "-rf", scratch], check=True)
    paths = [pathlib.Path(name).resolve() for name in sys.argv[3:]] or [
        path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))
    ]
    documents = [
        Document(path, (scratch / path.stem).resolve(), surroundings(prefix)) for path in paths
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [message for message in pool.map(tried, documents) if message]
    for message in wrong:
        print(message, file=sys.stderr)
    for document in documents:
        for reason in document.skipped:
            print(f"not run: {document.path.name}: {reason}")
    ran, files, skipped = (
        sum(map(count, documents))
        for count in (lambda d: d.ran, lambda d: d.files, lambda d: len(d.skipped))
    )
    print(
        f"{len(documents)} documents: {ran} blocks of commands ran, {files} files, {skipped} "
        f"blocks not run, {len(wrong)} documents wrong"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
