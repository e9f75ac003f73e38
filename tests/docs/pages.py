#!/usr/bin/env python3
"""usage: pages.py SCRATCH

Checks the result of `make docs`: a manual page for each function of the headers, which groff
accepts without a warning; an entry in the reference for each name, which the search finds; and no
broken link, tested with a copy that has one.
"""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys

# Frequent search terms for the manual of such a library.
SEARCHED = (
    "thread safety",
    "lookup",
    "transaction",
    "rollback",
    "delete rows",
    "iterate",
    "mmap",
    "pandas",
    "hyperslab",
    "column by name",
    "versus zarr",
)
ROOT = pathlib.Path(__file__).resolve().parents[2]


def make(kind, folder, root=ROOT):
    return subprocess.run(
        [sys.executable, root / "docs/make/make.py", kind, folder],
        encoding="utf-8",
        capture_output=True,
    )


def functions():
    """Finds functions independently of the generator: the word before a parenthesis in a
    declaration that begins with HOLDALL_API."""
    include = ROOT / "include"
    headers = "".join(
        path.read_text() for path in (*include.glob("*.h"), *include.glob("holdall/*.h"))
    )
    bare = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    return set(re.findall(r"^(?:HOLDALL_API|static inline)\b[^;(]*?\b(holdall_\w+)\(", bare, re.M))


def classes():
    """Names at the beginning of lines of holdall.hpp, outside of its details."""
    parts = "".join(path.read_text() for path in (ROOT / "include/holdall").glob("*.hpp"))
    public = re.sub(r"^namespace detail \{.*?^\} // namespace detail", "", parts, flags=re.M | re.S)
    return {
        f"holdall::{name}"
        for name in re.findall(
            r"^(?:template <.*> )?(?:class|struct|enum class) (\w+)\b[^;]*$", public, re.M
        )
    }


def check_man(folder):
    done = make("man", folder)
    assert done.returncode == 0, done.stderr
    expected = functions()
    assert len(expected) > 100, expected
    missing = [name for name in expected if not (folder / f"{name}.3").exists()]
    assert not missing, f"no page for {missing}"
    pages = [page for page in folder.glob("*.3") if not page.read_text().startswith(".so")]
    documented = {
        name for page in pages for name in re.findall(r"^\.Fo (\w+)$", page.read_text(), re.M)
    }
    assert documented == expected, documented ^ expected
    if shutil.which("groff"):
        for page in pages:
            done = subprocess.run(
                ["groff", "-ww", "-mdoc", "-Tutf8", "-rLL=100n", "-z", page],
                encoding="utf-8",
                capture_output=True,
            )
            assert not done.stderr, f"{page.name}: {done.stderr}"
    else:
        print("groff is not there: the pages were not set")
    return len(pages)


class Tags(html.parser.HTMLParser):
    """Checks that all tags are closed in order, and that anchors are unique."""

    SINGLE = ("meta", "link", "input", "img")

    def __init__(self, name):
        super().__init__()
        self.name, self.open, self.anchors = name, [], set()

    def handle_starttag(self, tag, attrs):
        if tag not in self.SINGLE:
            self.open.append(tag)
        anchor = dict(attrs).get("id")
        assert anchor is None or anchor not in self.anchors, f"{self.name}: {anchor} is there twice"
        self.anchors.add(anchor)

    def handle_endtag(self, tag):
        assert (
            self.open and self.open.pop() == tag
        ), f"{self.name}:{self.getpos()[0]}: </{tag}> ends something else"


def check_html(folder):
    done = make("html", folder)
    assert done.returncode == 0, done.stderr
    for page in folder.glob("*.html"):
        tags = Tags(page.name)
        tags.feed(page.read_text(encoding="utf-8"))
        assert not tags.open, f"{page.name}: {tags.open} are open at the end"
    index = json.loads(
        (folder / "index.js")
        .read_text(encoding="utf-8")
        .removeprefix("const INDEX = ")
        .rstrip(";\n")
    )
    found = {entry[0]: entry[1] for entry in index}
    assert len(classes()) > 30, classes()
    for name in functions() | classes():
        page, _, anchor = found[name].partition("#")
        assert f'id="{anchor}"' in (folder / page).read_text(
            encoding="utf-8"
        ), f"{name} is not at {found[name]}"
    texts = [" ".join([entry[0], *entry[3:]]).lower() for entry in index]
    for term in SEARCHED:
        assert any(term in text for text in texts), f"the search does not find {term!r}"
    return len(index)


def check_link_nowhere(scratch):
    """A copy of the sources with one broken link must be refused."""
    copy = scratch / "copy"
    documents = [path.name for path in ROOT.glob("*.md")]
    for name in (
        "docs",
        "bindings",
        "include",
        "examples",
        "tools/holdall.1",
        "tests/fixtures/README.md",
        "tests/bench/results",
        "Cargo.toml",
        *documents,
    ):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    for wrong in "no-such-page.md", "storage.md#no-such-heading":
        (copy / "SECURITY.md").write_text(f"# Security\n\n[There](docs/{wrong})\n")
        done = make("html", scratch / "wrong", copy)
        assert (
            done.returncode != 0 and wrong.split("#")[-1].removesuffix(".md") in done.stderr
        ), done.stderr


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[0])
    scratch = pathlib.Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    pages = check_man(scratch / "man3")
    entries = check_html(scratch / "html")
    check_link_nowhere(scratch)
    print(f"{pages} pages of the manual, {entries} entries that the search finds, no link nowhere")


if __name__ == "__main__":
    main()
