"""Generates the reference and the guides as HTML pages, with a search index: no server, no network,
no framework.

There is one page for each group of the header, one for its rules, one for each guide, and a start
page that lists them. A broken link is an error.
"""

import html
import json
import pathlib
import re
import shutil

import mdoc
import prose
from markdown import Renderer

HERE = pathlib.Path(__file__).parent
# In reading order; other files of docs/ follow.
GUIDES = [
    "first-program",
    "languages",
    "formats",
    "tool",
    "old-data",
    "choosing",
    "options",
    "commits",
    "damage",
    "threads",
    "clouds",
    "mpi",
    "storage",
    "compared",
    "promises",
    "architecture",
]
# Their pages have a prefix, because index.html is the start page. They are linked and searched, but
# not in the navigation.
RESULTS = "tests/bench/results"
ABOUT = ["BENCHMARKS", "CHANGELOG", "CONTRIBUTING", "SECURITY"]
REFERENCE = {
    "include/holdall.h": "holdall.html",
    "include/holdall.hpp": "holdall.hpp.html",
    "include/holdall_mpi.h": "holdall_mpi.html",
}
SECTIONS = (("Guides", "guide"), ("Reference", "reference"), ("About", "about"))
TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>\"(?:\\.|[^\"\n])*\")|(?P<word>\b(?:holdall_\w+|HOLDALL_\w+)\b)",
    re.S,
)


class Page:
    def __init__(self, name, section, title):
        self.name, self.section, self.title = name, section, title
        self.body, self.headings, self.summary, self.missing = "", [], "", []


class Site:
    def __init__(self, root, folder, names):
        self.root, self.folder, self.names = root, folder, names
        self.pages, self.search, self.files, self.broken = [], [], set(), []

    # ---- addresses ----

    def of_name(self, name):
        """Returns the address of the documentation of a name of the header."""
        group = self.names.known.get(name)
        return f"{group.page}.html#{name}" if group else None

    def of_code(self, code):
        """Returns the address of `holdall_bag_open()`, or of `THREADS` as an option."""
        return self.of_name(re.sub(r"\(\)$", "", code)) or self.of_name(f"HOLDALL_OPT_{code}")

    def of_document(self, path):
        """Returns the name of the page of a document."""
        return (
            f"benchmarks-{path.stem}" if path.parent == self.root / RESULTS else path.stem.lower()
        )

    def of_link(self, source):
        """Returns a function that maps links of a document to addresses: other documents are pages,
        source files are copied."""

        def address(target):
            if re.match(r"\w+:|#", target):
                return target
            path, _, anchor = target.partition("#")
            file = (source.parent / path).resolve()
            if not file.exists():
                self.broken.append(f"{source.relative_to(self.root)}: {target} does not exist")
            if file.is_dir() or not file.exists():
                return None
            name = file.relative_to(self.root)
            if str(name) in REFERENCE:
                return REFERENCE[str(name)]
            if file.suffix == ".md" and file.name != "README.md":
                return self.of_document(file) + ".html" + (f"#{anchor}" if anchor else "")
            self.files.add(name)
            return f"files/{name}"

        return address

    # ---- pieces of HTML ----

    def linked(self, text):
        """Converts the text of a comment: names become links, text in backquotes becomes code."""
        parts = text.split("`")
        return "".join(
            f"<code>{html.escape(part)}</code>" if i % 2 else self.named(part)
            for i, part in enumerate(parts)
        )

    def named(self, text):
        return self.names.marked(
            text,
            lambda shown, full: f'<a href="{self.of_name(full)}"><code>{shown}</code></a>',
            lambda one: html.escape(one, quote=False),
        )

    def prose(self, text):
        return "\n".join(self.block(kind, body) for kind, body in prose.blocks(text))

    def block(self, kind, body):
        if kind == "p":
            return f"<p>{self.linked(body)}</p>"
        if kind == "code":
            return self.code(body, "cpp")
        if kind == "list":
            return "<ul>" + "".join(f"<li>{self.linked(one)}</li>" for one in body) + "</ul>"
        terms = "".join(
            f"<dt>{self.named(term)}</dt><dd>{self.linked(meaning)}</dd>" for term, meaning in body
        )
        return f'<dl class="terms">{terms}</dl>'

    def code(self, text, language):
        if language not in ("c", "cpp"):
            return f'<pre class="{language or "text"}"><code>{html.escape(text, quote=False)}</code></pre>'
        out, at = [], 0
        for match in TOKEN.finditer(text):
            out.append(html.escape(text[at : match.start()], quote=False))
            shown, address = html.escape(match[0], quote=False), self.of_name(match[0])
            out.append(
                f'<a href="{address}">{shown}</a>'
                if address
                else f'<span class="{match.lastgroup}">{shown}</span>'
            )
            at = match.end()
        return (
            f'<pre class="c"><code>{"".join(out)}{html.escape(text[at:], quote=False)}</code></pre>'
        )

    # ---- pages ----

    def document(self, path, section):
        page = Page(self.of_document(path), section, "")
        renderer = Renderer(self.of_link(path), self.of_code, self.code)
        page.body = renderer.render(path.read_text(encoding="utf-8"))
        page.headings = [heading for heading in renderer.headings if heading[0] == 2]
        page.title = renderer.headings[0][2]
        first = re.search(r"</h1>\s*<p>(.*?)</p>", page.body, re.S)
        page.summary = prose.first_sentence(re.sub(r"<[^>]+>", "", first[1])) if first else ""
        self.pages.append(page)
        self.index_document(page)

    def index_document(self, page):
        """Adds the title and each heading of a page to the search index, with the text below
        them."""
        for part in re.split(r"(?=<h[12] )", page.body):
            heading = re.match(r'<h([12]) id="([^"]*)">(.*?)<a class="here"', part, re.S)
            if heading:
                content = " ".join(re.sub(r"<[^>]+>", " ", part[heading.end() :]).split())
                title = re.sub(r"<[^>]+>", "", heading[3])
                where = "" if heading[1] == "1" else page.title
                self.search.append(
                    [
                        html.unescape(title),
                        f"{page.name}.html#{heading[2]}",
                        "guide",
                        where,
                        html.unescape(content)[:4000],
                    ]
                )

    def add_terms(self, path):
        """Adds what people search for to the entries that answer it, from lines of terms, a tab,
        and names or documents."""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            terms, targets = line.split("\t")
            for target in targets.split():
                page = target.removesuffix(".md") + ".html#"
                entries = [
                    entry
                    for entry in self.search
                    if target == entry[0] or target.endswith(".md") and entry[1].startswith(page)
                ]
                if not entries:
                    self.broken.append(
                        f"{path.name}: {target} is no name of the API and no document"
                    )
                for entry in entries[:1]:
                    entry[4] += f" {terms}"

    def group(self, group):
        page = Page(group.page, "reference", group.page)
        page.summary = " ".join(group.title.split())
        functions, types, constants = (group.of(kind) for kind in ("function", "type", "constant"))
        page.headings = [(2, item.name, item.name.removeprefix("holdall_")) for item in functions]
        short = re.sub(r"^(.)", lambda m: m[1].upper(), page.summary)
        include = f'<pre class="c"><code>#include &lt;{group.include}&gt;</code></pre>'
        out = [
            f"<h1>{group.page}</h1>",
            f'<p class="lead">{self.linked(short)}</p>',
            include,
            self.prose(group.text),
        ]
        if functions:
            rows = (
                "<li><a "
                f'href="#{one.name}"><code>{one.name}</code></a><span>{self.linked(prose.first_sentence(one.text))}</span></li>'
                for one in functions
            )
            out.append('<ul class="contents">' + "".join(rows) + "</ul>")
        for title, items, show in (
            ("Types", types, self.type_),
            ("Constants", constants, self.constant),
            ("Functions", functions, self.function),
        ):
            if items:
                out.append(f"<h2>{title}</h2>" + "\n".join(show(item) for item in items))
        page.body = "\n".join(out)
        self.pages.append(page)
        for item in group.items:
            text = " ".join(item.text.replace("`", "").split())
            self.search.append(
                [item.name, self.of_name(item.name), item.kind, prose.first_sentence(text), text]
            )

    def entry(self, item, code, suffix=""):
        here = f'<a class="here" href="#{item.name}" aria-label="link to {item.name}">#</a>'
        return (
            f'<section id="{item.name}" '
            f'class="{item.kind}"><h3>{item.name}{suffix}{here}</h3>{code}{self.prose(item.text)}</section>'
        )

    def function(self, item):
        parameters = [parameter.code for parameter in item.parameters] or ["void"]
        lines = ",\n    ".join(parameters)
        short = f"{item.result} {item.name}({', '.join(parameters)});".replace("* ", "*")
        whole = (
            short
            if len(short) <= 90
            else f"{item.result} {item.name}(\n    {lines});".replace("* ", "*")
        )
        return self.entry(item, self.code(whole, "c"))

    def constant(self, item):
        return self.entry(item, "", f' <span class="value">{html.escape(item.value)}</span>')

    def type_(self, item):
        fields = "".join(
            f"<dt><code>{html.escape(member.code)}</code></dt><dd>{self.linked(member.text)}</dd>"
            for member in item.members
            if member.text
        )
        return (
            self.entry(item, self.code(item.code, "c")).removesuffix("</section>")
            + (f'<dl class="fields">{fields}</dl>' if fields else "")
            + "</section>"
        )

    def rules(self, introduction, rules):
        page = Page("holdall", "reference", "Rules")
        page.summary = "The rules that apply to all functions"
        first, _, rest = introduction.partition("\n\n")
        about = " ".join(first.split(" - ")[1].split())
        out = [
            f'<h1>Rules</h1><p class="lead">{self.linked(page.summary)}. '
            f"{html.escape(about[:1].upper() + about[1:])}</p>",
            self.prose(rest),
        ]
        number, blocks = 0, prose.blocks(rules)
        for i, (kind, body) in enumerate(blocks):
            if kind == "list":
                out.append(f'<ol class="rules" start="{number + 1}">')
                for rule in body:
                    number += 1
                    out.append(f'<li id="rule-{number}">{self.linked(rule)}</li>')
                    self.search.append(
                        [
                            f"Rule {number}",
                            f"holdall.html#rule-{number}",
                            "rule",
                            prose.first_sentence(rule),
                            rule,
                        ]
                    )
                out.append("</ol>")
            elif (
                kind == "p"
                and not body.endswith((".", ":"))
                and blocks[i + 1 : i + 2]
                and blocks[i + 1][0] == "list"
            ):
                out.append(f"<h2>{html.escape(body)}</h2>")
            else:
                out.append(self.block(kind, body))
        page.body = "\n".join(out)
        self.pages.append(page)

    def cxx(self, rules, parts):
        page = Page("holdall.hpp", "reference", "holdall.hpp")
        first, _, rest = rules.partition("\n\n")
        page.summary = prose.first_sentence(first.split(" - ")[1])
        out = [
            f'<h1>holdall.hpp</h1><p class="lead">{self.linked(page.summary)}</p>',
            self.code("#include <holdall.hpp>", "cpp"),
            self.prose(rest),
        ]
        for title, declared in parts:
            out.append(f"<h2>{self.linked(title[:1].upper() + title[1:].rstrip('.'))}</h2>")
            for name, code in declared:
                out.append(f'<section id="{name}" class="cxx">{self.code(code, "cpp")}</section>')
                self.search.append(
                    [name, f"{page.name}.html#{name}", "C++", title, " ".join(code.split())]
                )
        page.body = "\n".join(out)
        self.pages.append(page)

    def tool(self, path):
        manual = mdoc.Page(path.read_text(encoding="utf-8"))
        page = Page("tool-manual", "reference", "holdall(1)")
        page.summary = "The manual of the tool"
        page.body = f"<h1>holdall(1)</h1>{manual.body}"
        self.pages.append(page)
        for title, anchor, text in manual.sections:
            self.search.append(
                [title, f"{page.name}.html#{anchor}", "tool", "holdall(1)", " ".join(text.split())]
            )

    def first(self, version):
        page = Page("index", "", "holdall")
        about = (
            "One C library for chunked, compressed containers: Bagz, Bloscpack, bcolz, BLZ, "
            f"Blosc2 frames, b2nd and Caterva. Version {version}."
        )
        out = [f'<h1>holdall</h1><p class="lead">{about}</p>']
        for title, section in SECTIONS:
            some = [one for one in self.pages if one.section == section]
            rows = (
                "<li><a "
                f'href="{one.name}.html">{self.shown(one)}</a><span>{html.escape(html.unescape(one.summary), quote=False)}</span></li>'
                for one in some
            )
            out.append(f"<h2>{title}</h2>" + '<ul class="contents">' + "".join(rows) + "</ul>")
        page.body = "\n".join(out)
        self.pages.insert(0, page)

    def shown(self, page):
        title = html.escape(page.title, quote=False).replace("`", "")
        return (
            f"<code>{title}</code>"
            if page.section == "reference" and page.name != "holdall"
            else title
        )

    def navigation(self, current):
        out = ['<a class="home" href="index.html">holdall</a>']
        for title, section in SECTIONS:
            out.append(f"<h2>{title}</h2><ul>")
            for page in self.pages:
                if page.section == section:
                    mark = ' aria-current="page"' if page is current else ""
                    out.append(f'<li><a href="{page.name}.html"{mark}>{self.shown(page)}</a>')
                    if page is current and section != "reference" and len(page.headings) > 1:
                        headings = (
                            f'<li><a href="#{anchor}">{html.escape(text.replace("`", ""))}</a></li>'
                            for _, anchor, text in page.headings
                        )
                        out.append("<ul>" + "".join(headings) + "</ul>")
                    out.append("</li>")
            out.append("</ul>")
        return "".join(out)

    def put(self):
        template = (HERE / "page.html").read_text(encoding="utf-8")
        for page in self.pages:
            title = (
                page.title if page.name == "index" else f"{page.title.replace('`', '')} · holdall"
            )
            filled = (
                template.replace("@TITLE@", html.escape(title))
                .replace("@NAVIGATION@", self.navigation(page))
                .replace("@BODY@", page.body)
            )
            (self.folder / f"{page.name}.html").write_text(filled, encoding="utf-8")
        for name in ("page.css", "search.js"):
            shutil.copy(HERE / name, self.folder / name)
        index = json.dumps(self.search, ensure_ascii=False, separators=(",", ":"))
        (self.folder / "index.js").write_text(f"const INDEX = {index};\n", encoding="utf-8")
        for name in self.files:
            (self.folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / name, self.folder / "files" / name)

    def check(self):
        """Raises an error if a link between the pages has no target."""
        anchors = {page.name: set(re.findall(r' id="([^"]+)"', page.body)) for page in self.pages}
        for page in self.pages:
            for target in re.findall(r'href="([^":]+)"', page.body):
                file, _, anchor = target.partition("#")
                name = file.removesuffix(".html") or page.name
                if not file.startswith("files/") and (
                    name not in anchors or anchor and anchor not in anchors[name]
                ):
                    self.broken.append(f"{page.name}.html: {target} has no target")
        if self.broken:
            raise SystemExit("\n".join(self.broken))


def write(root, folder, version, introduction, rules, groups, of_cxx, names):
    site = Site(root, folder, names)
    there = sorted(path.stem for path in (root / "docs").glob("*.md"))
    for name in [one for one in GUIDES if one in there] + [
        one for one in there if one not in GUIDES
    ]:
        site.document(root / "docs" / f"{name}.md", "guide")
    site.tool(root / "tools/holdall.1")
    site.rules(introduction, rules)
    for group in groups:
        site.group(group)
    site.cxx(*of_cxx)
    for name in ABOUT:
        site.document(root / f"{name}.md", "about")
    for path in sorted((root / RESULTS).glob("*.md")):
        site.document(path, "result")
    site.first(version)
    site.add_terms(HERE / "search_terms.txt")
    folder.mkdir(parents=True, exist_ok=True)
    site.put()
    site.check()
    return len(site.pages)
