"""Writes Markdown for the site: comments of the headers as prose, and code with linked names."""

import html
import posixpath
import re

import prose
import pygments
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

NAME = re.compile(r"\b(?:holdall_\w+|HOLDALL_\w+)\b")
NO_WRAP = HtmlFormatter(nowrap=True)


class Writer:
    """Writes the text of one page.

    `page` is its path in the site. `names` are those of the C API, which become links. `language`
    is that of code in comments.
    """

    def __init__(self, page, names, language="c"):
        self.names, self.language = names, language
        self.folder = posixpath.dirname(page)

    def address(self, name, extension="md"):
        """Returns the link to the description of a name of the C API, or None."""
        group = self.names.known.get(name)
        return group and f"{self.relative(c_page(group))}.{extension}#{name}"

    def relative(self, path):
        return posixpath.relpath(path, self.folder or ".")

    def inline(self, text):
        """Returns text of a comment: names become links, and text in backquotes code."""
        return "".join(
            f"`{part}`" if i % 2 else self.names.marked(part, self.link, escaped)
            for i, part in enumerate(text.split("`"))
        )

    def link(self, shown, name):
        return f"[`{shown}`]({self.address(name)})"

    def prose(self, text):
        return "\n\n".join(self.block(kind, body) for kind, body in prose.blocks(text) if body)

    def block(self, kind, body):
        if kind == "p":
            return self.inline(body)
        if kind == "code" and self.language in ("c", "cpp"):
            return self.code(body, self.language)
        if kind == "code":
            return f"```{self.language}\n{body}\n```"
        if kind == "list":
            return "\n".join(f"- {self.inline(one)}" for one in body)
        return "\n".join(f"- {self.inline(term)}: {self.inline(meaning)}" for term, meaning in body)

    def code(self, text, language):
        """Returns a block of C or C++ in which names are links. Markdown has no links in code, so
        it is HTML."""
        lines = pygments.highlight(text, get_lexer_by_name(language), NO_WRAP).rstrip("\n")
        linked = NAME.sub(lambda match: self.code_link(match[0]), lines)
        # An empty line would end the block.
        linked = linked.replace("\n\n", "\n<span></span>\n")
        return f'<div class="highlight"><pre><code>{linked}\n</code></pre></div>'

    def code_link(self, name):
        address = self.address(name, "html")
        return f'<a href="{address}">{name}</a>' if address else name


def c_page(group):
    """Returns the path of the page of a group, without extension."""
    stem = group.page.removeprefix("holdall_")
    return "reference/c/" + ("index" if stem == "version" else stem)


def escaped(text):
    return re.sub(r"([\\*_\[\]#|])", r"\\\1", html.escape(text, quote=False))


def heading(level, text, anchor, kind):
    return f"{'#' * level} {escaped(text)} {{ #{anchor} .{kind} }}"


def searched(keywords):
    """Returns text that the search finds and the page does not show."""
    return f"<p hidden>{keywords}</p>" if keywords else ""


def later(text):
    """Returns a page whose results follow those of guides and of holdall.h in the search."""
    return f"---\nsearch:\n  boost: 0.25\n---\n\n{text}"


def capital(text):
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]
