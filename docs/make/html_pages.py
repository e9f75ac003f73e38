"""The reference and the guides as HTML pages, with an index for the search: no server, no network, no framework.

A page for each group of the header, one for its rules, one for each guide, and a first one that lists them. A link that
leads nowhere is an error.
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
# In the order in which one reads them; other files of docs/ come behind.
GUIDES = ["first-program", "languages", "tool", "old-data", "choosing", "options", "commits", "damage", "threads", "clouds", "mpi", "storage", "compared", "promises", "architecture"]
ABOUT = ["BENCHMARKS", "CHANGELOG", "CONTRIBUTING", "SECURITY"]
REFERENCE = {"include/holdall.h": "holdall.html", "include/holdall.hpp": "holdall.hpp.html", "include/holdall_mpi.h": "holdall_mpi.html"}
SECTIONS = (("Guides", "guide"), ("Reference", "reference"), ("About", "about"))
TOKEN = re.compile(r"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>\"(?:\\.|[^\"\n])*\")|(?P<word>\b(?:holdall_\w+|HOLDALL_\w+)\b)", re.S)


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
        """Where a name of the header is explained."""
        group = self.names.known.get(name)
        return f"{group.page}.html#{name}" if group else None

    def of_code(self, code):
        """`holdall_bag_open()`, and `THREADS` where an option is meant."""
        return self.of_name(re.sub(r"\(\)$", "", code)) or self.of_name(f"HOLDALL_OPT_{code}")

    def of_link(self, source):
        """Addresses of the links in a document: other documents are pages here, files of the source are copied beside them."""

        def address(target):
            if re.match(r"\w+:|#", target):
                return target
            path, _, anchor = target.partition("#")
            file = (source.parent / path).resolve()
            if not file.exists():
                self.broken.append(f"{source.relative_to(self.root)}: {target} is not there")
            if file.is_dir() or not file.exists():
                return None
            name = file.relative_to(self.root)
            if str(name) in REFERENCE:
                return REFERENCE[str(name)]
            if file.suffix == ".md" and file.name != "README.md":
                return file.stem.lower() + ".html" + (f"#{anchor}" if anchor else "")
            self.files.add(name)
            return f"files/{name}"

        return address

    # ---- pieces of HTML ----

    def linked(self, text):
        """Words of a comment: names are links, what stands in backquotes is code."""
        parts = text.split("`")
        return "".join(f"<code>{html.escape(part)}</code>" if i % 2 else self.named(part) for i, part in enumerate(parts))

    def named(self, text):
        return self.names.marked(text, lambda shown, full: f'<a href="{self.of_name(full)}"><code>{shown}</code></a>', lambda one: html.escape(one, quote=False))

    def words(self, text):
        out = []
        for kind, body in prose.blocks(text):
            if kind == "p":
                out.append(f"<p>{self.linked(body)}</p>")
            elif kind == "code":
                out.append(self.code(body, "cpp"))
            elif kind == "list":
                out.append("<ul>" + "".join(f"<li>{self.linked(one)}</li>" for one in body) + "</ul>")
            else:
                terms = "".join(f"<dt>{self.named(term)}</dt><dd>{self.linked(meaning)}</dd>" for term, meaning in body)
                out.append(f'<dl class="terms">{terms}</dl>')
        return "\n".join(out)

    def code(self, text, language):
        if language not in ("c", "cpp"):
            return f'<pre class="{language or "text"}"><code>{html.escape(text, quote=False)}</code></pre>'
        out, at = [], 0
        for match in TOKEN.finditer(text):
            out.append(html.escape(text[at : match.start()], quote=False))
            shown, address = html.escape(match[0], quote=False), self.of_name(match[0])
            out.append(f'<a href="{address}">{shown}</a>' if address else f'<span class="{match.lastgroup}">{shown}</span>')
            at = match.end()
        return f'<pre class="c"><code>{"".join(out)}{html.escape(text[at:], quote=False)}</code></pre>'

    # ---- pages ----

    def document(self, path, section):
        page = Page(path.stem.lower(), section, "")
        renderer = Renderer(self.of_link(path), self.of_code, self.code)
        page.body = renderer.render(path.read_text(encoding="utf-8"))
        page.headings = [heading for heading in renderer.headings if heading[0] == 2]
        page.title = renderer.headings[0][2]
        first = re.search(r"</h1>\s*<p>(.*?)</p>", page.body, re.S)
        page.summary = prose.first_sentence(re.sub(r"<[^>]+>", "", first[1])) if first else ""
        self.pages.append(page)
        self.index_document(page)

    def index_document(self, page):
        """A page is found by its title and by each of its headings, with the words below them."""
        for part in re.split(r"(?=<h[12] )", page.body):
            heading = re.match(r'<h([12]) id="([^"]*)">(.*?)<a class="here"', part, re.S)
            if heading:
                words = " ".join(re.sub(r"<[^>]+>", " ", part[heading.end() :]).split())
                title = re.sub(r"<[^>]+>", "", heading[3])
                where = "" if heading[1] == "1" else page.title
                self.search.append([html.unescape(title), f"{page.name}.html#{heading[2]}", "guide", where, html.unescape(words)[:4000]])

    def group(self, group):
        page = Page(group.page, "reference", group.page)
        page.summary = " ".join(group.title.split())
        functions, types, constants = (group.of(kind) for kind in ("function", "type", "constant"))
        page.headings = [(2, item.name, item.name.removeprefix("holdall_")) for item in functions]
        short = re.sub(r"^(.)", lambda m: m[1].upper(), page.summary)
        include = f'<pre class="c"><code>#include &lt;{group.include}&gt;</code></pre>'
        out = [f"<h1>{group.page}</h1>", f'<p class="lead">{self.linked(short)}</p>', include, self.words(group.text)]
        if functions:
            rows = (f'<li><a href="#{one.name}"><code>{one.name}</code></a><span>{self.linked(prose.first_sentence(one.text))}</span></li>' for one in functions)
            out.append('<ul class="contents">' + "".join(rows) + "</ul>")
        for title, items, show in (("Types", types, self.type_), ("Constants", constants, self.constant), ("Functions", functions, self.function)):
            if items:
                out.append(f"<h2>{title}</h2>" + "\n".join(show(item) for item in items))
        page.body = "\n".join(out)
        self.pages.append(page)
        for item in group.items:
            words = " ".join(item.text.replace("`", "").split())
            self.search.append([item.name, self.of_name(item.name), item.kind, prose.first_sentence(words), words])

    def entry(self, item, code, behind=""):
        here = f'<a class="here" href="#{item.name}" aria-label="link to {item.name}">#</a>'
        return f'<section id="{item.name}" class="{item.kind}"><h3>{item.name}{behind}{here}</h3>{code}{self.words(item.text)}</section>'

    def function(self, item):
        parameters = [parameter.code for parameter in item.parameters] or ["void"]
        lines = ",\n    ".join(parameters)
        short = f"{item.result} {item.name}({', '.join(parameters)});".replace("* ", "*")
        whole = short if len(short) <= 90 else f"{item.result} {item.name}(\n    {lines});".replace("* ", "*")
        return self.entry(item, self.code(whole, "c"))

    def constant(self, item):
        return self.entry(item, "", f' <span class="value">{html.escape(item.value)}</span>')

    def type_(self, item):
        fields = "".join(f"<dt><code>{html.escape(member.code)}</code></dt><dd>{self.linked(member.text)}</dd>" for member in item.members if member.text)
        return self.entry(item, self.code(item.code, "c")).removesuffix("</section>") + (f'<dl class="fields">{fields}</dl>' if fields else "") + "</section>"

    def rules(self, text):
        page = Page("holdall", "reference", "Rules")
        page.summary = "The rules that all functions keep"
        first, _, rest = text.partition("\n\n")
        about = " ".join(first.split(" - ")[1].split())
        out = [f'<h1>Rules</h1><p class="lead">{self.linked(page.summary)}. {html.escape(about[:1].upper() + about[1:])}</p>']
        rules, _, behind = rest.partition("\n\n")
        for i, rule in enumerate(prose.blocks(rules)[1][1]):
            out.append(f'<li id="rule-{i + 1}">{self.linked(rule)}</li>')
            self.search.append([f"Rule {i + 1}", f"holdall.html#rule-{i + 1}", "rule", prose.first_sentence(rule), rule])
        page.body = "\n".join([out[0], '<ol class="rules">', *out[1:], "</ol>", self.words(behind)])
        self.pages.append(page)

    def cxx(self, rules, parts):
        page = Page("holdall.hpp", "reference", "holdall.hpp")
        first, _, rest = rules.partition("\n\n")
        page.summary = prose.first_sentence(first.split(" - ")[1])
        out = [f'<h1>holdall.hpp</h1><p class="lead">{self.linked(page.summary)}</p>', self.code("#include <holdall.hpp>", "cpp"), self.words(rest)]
        for title, declared in parts:
            out.append(f"<h2>{self.linked(title[:1].upper() + title[1:].rstrip('.'))}</h2>")
            for name, code in declared:
                out.append(f'<section id="{name}" class="cxx">{self.code(code, "cpp")}</section>')
                self.search.append([name, f"{page.name}.html#{name}", "C++", title, " ".join(code.split())])
        page.body = "\n".join(out)
        self.pages.append(page)

    def tool(self, path):
        manual = mdoc.Page(path.read_text(encoding="utf-8"))
        page = Page("tool-manual", "reference", "holdall(1)")
        page.summary = "The manual of the tool"
        page.body = f'<h1>holdall(1)</h1>{manual.body}'
        self.pages.append(page)
        for title, anchor, words in manual.places:
            self.search.append([title, f"{page.name}.html#{anchor}", "tool", "holdall(1)", " ".join(words.split())])

    def first(self, version):
        page = Page("index", "", "holdall")
        about = f"One C library for chunked, compressed containers: Bagz, Bloscpack, bcolz, BLZ, Blosc2 frames, b2nd and Caterva. Version {version}."
        out = [f'<h1>holdall</h1><p class="lead">{about}</p>']
        for title, section in SECTIONS:
            some = [one for one in self.pages if one.section == section]
            rows = (f'<li><a href="{one.name}.html">{self.shown(one)}</a><span>{html.escape(html.unescape(one.summary), quote=False)}</span></li>' for one in some)
            out.append(f"<h2>{title}</h2>" + '<ul class="contents">' + "".join(rows) + "</ul>")
        page.body = "\n".join(out)
        self.pages.insert(0, page)

    def shown(self, page):
        title = html.escape(page.title, quote=False).replace("`", "")
        return f"<code>{title}</code>" if page.section == "reference" and page.name != "holdall" else title

    def navigation(self, current):
        out = ['<a class="home" href="index.html">holdall</a>']
        for title, section in SECTIONS:
            out.append(f"<h2>{title}</h2><ul>")
            for page in self.pages:
                if page.section == section:
                    mark = ' aria-current="page"' if page is current else ""
                    out.append(f'<li><a href="{page.name}.html"{mark}>{self.shown(page)}</a>')
                    if page is current and section != "reference" and len(page.headings) > 1:
                        headings = (f'<li><a href="#{anchor}">{html.escape(words.replace("`", ""))}</a></li>' for _, anchor, words in page.headings)
                        out.append("<ul>" + "".join(headings) + "</ul>")
                    out.append("</li>")
            out.append("</ul>")
        return "".join(out)

    def put(self):
        template = (HERE / "page.html").read_text(encoding="utf-8")
        for page in self.pages:
            title = page.title if page.name == "index" else f"{page.title.replace('`', '')} · holdall"
            filled = template.replace("@TITLE@", html.escape(title)).replace("@NAVIGATION@", self.navigation(page)).replace("@BODY@", page.body)
            (self.folder / f"{page.name}.html").write_text(filled, encoding="utf-8")
        for name in ("page.css", "search.js"):
            shutil.copy(HERE / name, self.folder / name)
        index = json.dumps(self.search, ensure_ascii=False, separators=(",", ":"))
        (self.folder / "index.js").write_text(f"const INDEX = {index};\n", encoding="utf-8")
        for name in self.files:
            (self.folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / name, self.folder / "files" / name)

    def check(self):
        """Every link inside of the pages leads to something."""
        anchors = {page.name: set(re.findall(r' id="([^"]+)"', page.body)) for page in self.pages}
        for page in self.pages:
            for target in re.findall(r'href="([^":]+)"', page.body):
                file, _, anchor = target.partition("#")
                name = file.removesuffix(".html") or page.name
                if not file.startswith("files/") and (name not in anchors or anchor and anchor not in anchors[name]):
                    self.broken.append(f"{page.name}.html: {target} leads nowhere")
        if self.broken:
            raise SystemExit("\n".join(self.broken))


def write(root, folder, version, rules, groups, of_cxx, names):
    site = Site(root, folder, names)
    there = sorted(path.stem for path in (root / "docs").glob("*.md"))
    for name in [one for one in GUIDES if one in there] + [one for one in there if one not in GUIDES]:
        site.document(root / "docs" / f"{name}.md", "guide")
    site.tool(root / "tools/holdall.1")
    site.rules(rules)
    for group in groups:
        site.group(group)
    site.cxx(*of_cxx)
    for name in ABOUT:
        site.document(root / f"{name}.md", "about")
    site.first(version)
    folder.mkdir(parents=True, exist_ok=True)
    site.put()
    site.check()
    return len(site.pages)
