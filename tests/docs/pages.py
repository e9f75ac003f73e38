#!/usr/bin/env python3
"""usage: pages.py SCRATCH

Checks the result of `make docs`: a manual page for each function of the headers, which groff
accepts without a warning; and a site with an entry for each name of each language, which the search
finds, where every link has a target and nothing comes from another host. A site with a broken link
must be refused.
"""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

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


def make(script, folder, root=ROOT, *options):
    return subprocess.run(
        [sys.executable, *options, root / "docs/generate" / script, folder],
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


def names_of_languages():
    """Returns the names that each language declares as public, by page. They are anchors there."""
    bindings = ROOT / "bindings"
    go = "".join(
        path.read_text() for path in bindings.glob("go/*.go") if not path.stem.endswith("_test")
    )
    julia = (bindings / "julia/src/Holdall.jl").read_text()
    fortran = (bindings / "fortran/holdall.f90").read_text()
    package = bindings / "python/holdall"
    python = "".join(path.read_text() for path in [*package.glob("_*.py"), package / "_native.pyi"])
    return {
        "go": set(re.findall(r"^(?:func|type) ([A-Z]\w*)", go, re.M)),
        "julia": set(re.findall(r"\w+", " ".join(re.findall(r"^export (.*)", julia, re.M)))),
        "fortran": set(
            re.findall(r"holdall_\w+", " ".join(re.findall(r"only: ((?:.*&\n)*.*)", fortran)))
        ),
        "python": {
            f"holdall.{name}"
            for name in re.findall(r"^(?:class|def) (\w+)", python, re.M)
            if f'"{name}"' in python.partition("__all__")[2].partition("]")[0]
        },
    }


def check_man(folder):
    done = make("man.py", folder, ROOT, "-S")  # -S: without installed packages
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


class Page(html.parser.HTMLParser):
    """The anchors and the links of a page. Anchors must be unique."""

    def __init__(self, path):
        super().__init__()
        self.path, self.anchors, self.links = path, set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        anchor = attributes.get("id")
        assert anchor is None or anchor not in self.anchors, f"{self.path}: {anchor} is there twice"
        self.anchors.add(anchor)
        for target in filter(None, (attributes.get("href"), attributes.get("src"))):
            address = urllib.parse.urlsplit(target)
            if address.netloc:
                assert tag == "a", f"{self.path}: loads {target}"
            elif not address.scheme and not address.path.startswith(
                "/"
            ):  # 404.html has absolute ones
                path = (self.path.parent / urllib.parse.unquote(address.path)).resolve()
                path = path if address.path else self.path
                self.links.append((path, urllib.parse.unquote(address.fragment)))


def check_site(folder):
    done = make("site.py", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path: Page(path) for path in folder.resolve().rglob("*.html")}
    for page in pages.values():
        for path, anchor in page.links:
            assert path.exists(), f"{page.path}: {path} does not exist"
            wrong = anchor and path in pages and anchor not in pages[path].anchors | {"__top"}
            assert not wrong, f"{page.path}: {path} has no {anchor}"
    for path in ROOT.glob("docs/*.md"):
        assert (folder / "docs" / f"{path.stem}.html").exists(), f"{path.name} is no page"
    for path in ROOT.glob("tools/src/cli/texts/*.txt"):
        name = path.stem if path.stem == "holdall" else f"holdall-{path.stem}"
        assert (folder / f"reference/tool/{name}.html").exists(), f"{path.name} is no page"

    def anchors(pattern):
        return set().union(*(pages[path.resolve()].anchors for path in folder.glob(pattern)))

    assert len(classes()) > 30, classes()
    assert classes() <= anchors("reference/cxx.html"), classes() - anchors("reference/cxx.html")
    assert functions() <= anchors("reference/c/*.html"), functions() - anchors("reference/c/*.html")
    for language, names in names_of_languages().items():
        missing = names - anchors(f"reference/{language}.html")
        assert len(names) > 10 and not missing, f"{language}: {missing} are missing of {names}"
    index = json.loads((folder / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    found = {entry["location"].rpartition("#")[2] for entry in index}
    assert functions() | classes() <= found, (functions() | classes()) - found
    texts = [f"{entry['title']} {entry['text']}".lower() for entry in index]
    for term in SEARCHED:
        assert any(term in text for text in texts), f"the search does not find {term!r}"
    return len(pages)


def check_link_nowhere(scratch):
    """A copy of the sources with broken links must be refused."""
    copy = scratch / "copy"
    documents = [path.name for path in ROOT.glob("*.md")]
    for name in ("docs", "bindings", "include", "examples", "tests/bench/results", *documents):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    wrong = "docs/no-such-page.md", "docs/storage.md#no-such-heading", "examples/no-such-file.c"
    links = "".join(f"[There]({target})\n" for target in wrong)
    (copy / "SECURITY.md").write_text(f"# Security\n\n{links}")
    done = make("site.py", scratch / "wrong", copy)
    assert done.returncode != 0, done.stderr
    for target in wrong:
        assert target.split("#")[-1] in done.stderr, f"{target} is not reported: {done.stderr}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[0])
    scratch = pathlib.Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    manual = check_man(scratch / "man3")
    site = check_site(scratch / "site")
    check_link_nowhere(scratch)
    print(f"{manual} pages of the manual, {site} of the site, no broken link")


if __name__ == "__main__":
    main()
