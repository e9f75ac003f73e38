#!/usr/bin/env python3
"""usage: site.py FOLDER

Generates the site in FOLDER: the documents, the references of all languages, and the pages of the
commands, which the tool HOLDALL_TOOL generates. It writes Markdown pages in FOLDER-pages, from which MkDocs generates the site as docs/mkdocs.yml configures it. The
pages have the paths of the documents in the source tree, so that relative links are valid in both.
A broken link is an error.
"""

import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the source folder may be read-only
import c_pages  # noqa: E402
import headers  # noqa: E402
import language_pages  # noqa: E402
from markup import Writer, later, searched  # noqa: E402

ROOT = headers.ROOT
TOOL = os.environ.get("HOLDALL_TOOL", ROOT / "target/prefix/bin/holdall")
DOCUMENTS = ["*.md", "docs/*.md", "docs/formats/*.md", "tests/bench/results/*.md", "bindings/julia/README.md"]
# Links to headers lead to their reference.
REFERENCE = {
    "include/holdall.h": "reference/c/index.md",
    "include/holdall.hpp": "reference/cxx.md",
    "include/holdall_mpi.h": "reference/c/mpi.md",
}
# Comments and blocks of code; then code and links in the text between them.
BLOCK = re.compile(r"^<!--.*?-->\n?|^```(\w*)\n(.*?)^```$", re.M | re.S)
SPAN = re.compile(r"(`[^`]+`)|\[([^\]]*)\]\(([^)\s:]+)\)")

CHART = re.compile(r"^(!\[([^\]]*)\]\([^)]+\.svg\))$", re.M)
# Blocks of code, and references to pages of the manual of the tool outside of them.
MANUAL = re.compile(r"^```.*?^```|\b(holdall(?:-[a-z]+)*)\(1\)", re.M | re.S)


def keywords(names):
    """Returns what people search for, by the name or guide that answers it."""
    found = {}
    for line in (ROOT / "docs/keywords.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            terms, targets = line.split("\t")
            for target in targets.split():
                if target not in names.known and not (ROOT / "docs" / target).exists():
                    sys.exit(f"docs/keywords.txt: {target} is no name of the C API and no guide")
                found[target] = terms
    return found


class Site:
    """The Markdown pages, in `folder`."""

    def __init__(self, folder, read):
        self.folder, self.read = folder, read
        self.keywords = keywords(read.names)

    def put(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")

    def document(self, path):
        """Writes the page of a document."""
        writer = Writer(path, self.read.names)
        text, at, out = (ROOT / path).read_text(encoding="utf-8"), 0, []
        # a scroll container, which the keyboard must reach
        text = CHART.sub(r'\1\n{: .chart tabindex="0" role="region" aria-label="\2"}', text)
        for block in BLOCK.finditer(text):
            out.append(self.text(text[at : block.start()], writer))
            if block[1] in ("c", "cpp"):
                out.append(writer.code(block[2], block[1]))
            elif block[1] is not None:
                out.append(block[0])
            at = block.end()
        out += [self.text(text[at:], writer)]
        title, _, rest = "".join(out).partition("\n")
        extra = searched(self.keywords.get(posixpath.basename(path)))
        text = f"{title}\n\n{extra}\n{rest}"
        self.put(path, text if path.startswith("docs/") or path == "README.md" else later(text))

    def commands(self):
        """Writes the pages of the commands, which the tool generates."""
        folder = self.folder / "reference/tool"
        folder.mkdir(parents=True)
        try:
            subprocess.run([TOOL, "generate", "markdown", folder], check=True)
        except OSError as error:
            sys.exit(f"{error}; HOLDALL_TOOL must be the tool of this version")

        def link(match):
            return f"[{match[1]}(1)]({match[1]}.md)" if match[1] else match[0]

        for page in folder.glob("*.md"):
            text = MANUAL.sub(link, page.read_text(encoding="utf-8"))
            page.write_text(text, encoding="utf-8")

    def text(self, text, writer):
        """Returns text with the links of the site."""

        def span(match):
            code, shown, target = match.groups()
            if code:
                name = re.sub(r"\(\)$", "", code[1:-1])
                address = writer.address(name) or writer.address(f"HOLDALL_OPT_{name}")
                return f"[{code}]({address})" if address else code
            address = self.target(target, writer)
            return f"[{shown}]({address})" if address else shown

        return SPAN.sub(span, text)

    def target(self, target, writer):
        """Returns the target of a link in the site, or None for a folder, which has no page. Files
        that are no documents are copied."""
        path = posixpath.normpath(posixpath.join(writer.folder, target))
        if (ROOT / path).is_dir():
            return None
        if match := re.fullmatch(r"include/holdall/(\w+)\.h", path):
            return writer.relative(f"reference/c/{match[1]}.md")
        if path in REFERENCE:
            return writer.relative(REFERENCE[path])
        if (ROOT / path).is_file() and not path.endswith(".md"):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.folder / path)
        return target


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[0])
    out = pathlib.Path(sys.argv[1]).resolve()
    pages = out.with_name(out.name + "-pages")
    shutil.rmtree(pages, ignore_errors=True)
    site = Site(pages, headers.read())
    for pattern in DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            site.document(str(path.relative_to(ROOT)))
    c_pages.write(site.read, site.keywords, site.put)
    language_pages.write(ROOT, site.read.names, site.put)
    site.commands()
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"]
        + ["--config-file", ROOT / "docs/mkdocs.yml", "--site-dir", out],
        env=dict(os.environ, HOLDALL_PAGES=str(pages), NO_MKDOCS_2_WARNING="1"),
        encoding="utf-8",
        stderr=subprocess.PIPE,  # not --quiet, with which --strict ignores warnings
    )
    if done.returncode:
        sys.exit(done.stderr)
    print(f"{len(list(out.rglob('*.html')))} pages in {out}/index.html")


if __name__ == "__main__":
    main()
