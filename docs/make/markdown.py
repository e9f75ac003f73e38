"""Converts the Markdown subset of the documents to HTML: headings, paragraphs, lists, tables, code,
images and links.

Quotations, rules, HTML (comments are removed) and reference links are not supported, because no
document needs them. The beginning of a line determines its kind; indented lines continue a list
item.
"""

import html
import re

ITEM = re.compile(r"(-|\d+\.) +(.*)")


class Renderer:
    """A converter. link(target) returns the address of a link, name(code) that of a name in
    backquotes, or None, and code(text, language) the HTML of a code block. `headings` are (level,
    anchor, text) of the converted text."""

    def __init__(self, link, name, code):
        self.link, self.name, self.code = link, name, code
        self.headings = []

    def render(self, text):
        return self.blocks(re.sub(r"<!--.*?-->\n?", "", text, flags=re.S).split("\n"))

    def blocks(self, lines):
        out, i = [], 0
        while i < len(lines):
            line = lines[i]
            if not line.strip():
                i += 1
            elif line.startswith("```"):
                end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
                out.append(self.code("\n".join(lines[i + 1 : end]), line[3:].strip()))
                i = end + 1
            elif line.startswith("    "):
                end = self.run(lines, i, lambda one: one.startswith("    ") or not one.strip())
                out.append(self.code("\n".join(one[4:] for one in lines[i:end]).rstrip(), ""))
                i = end
            elif line.startswith("#"):
                out.append(self.heading(line))
                i += 1
            elif line.startswith("|"):
                end = self.run(lines, i, lambda one: one.startswith("|"))
                out.append(self.table(lines[i:end]))
                i = end
            elif ITEM.match(line):
                end = self.run(
                    lines, i, lambda one: ITEM.match(one) or one.startswith("  ") or not one.strip()
                )
                out.append(self.list(lines[i:end]))
                i = end
            else:
                end = self.run(
                    lines, i, lambda one: one.strip() and not re.match(r"```|#|\||(-|1\.) ", one)
                )
                kind = ' class="picture"' if line.startswith("![") else ""
                out.append(f"<p{kind}>{self.inline(' '.join(lines[i:end]))}</p>")
                i = end
        return "\n".join(out)

    @staticmethod
    def run(lines, start, belongs):
        return next((j for j in range(start + 1, len(lines)) if not belongs(lines[j])), len(lines))

    def heading(self, line):
        level, text = len(line) - len(line.lstrip("#")), line.lstrip("# ")
        name = re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")
        used = {anchor for _, anchor, _ in self.headings}
        anchor = next(
            one for one in (name, *(f"{name}-{i}" for i in range(1, 1000))) if one not in used
        )  # as GitHub does
        self.headings.append((level, anchor, text))
        return (
            f'<h{level} id="{anchor}">{self.inline(text)}<a class="here" href="#{anchor}" '
            f'aria-label="link to this heading">#</a></h{level}>'
        )

    def list(self, lines):
        items = []
        for line in lines:
            match = ITEM.match(line)
            if match:
                items.append([match[2]])
            else:
                items[-1].append(re.sub(r"^ {1,3}", "", line))
        tag = "ul" if lines[0].startswith("-") else "ol"
        rendered = (
            re.sub(r"^<p>(.*?)</p>", r"\1", self.blocks(item), count=1, flags=re.S)
            for item in items
        )
        return f"<{tag}>" + "".join(f"<li>{item}</li>" for item in rendered) + f"</{tag}>"

    def table(self, lines):
        rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            for line in lines
        ]
        right = [' class="number"' if cell.endswith(":") else "" for cell in rows[1]]
        head, body = (
            [
                "<tr>"
                + "".join(
                    f"<{tag}{how}>{self.inline(cell)}</{tag}>" for cell, how in zip(row, right)
                )
                + "</tr>"
                for row in part
            ]
            for tag, part in (("th", rows[:1]), ("td", rows[2:]))
        )
        return f'<div class="wide"><table><thead>{"".join(head)}</thead><tbody>{"".join(body)}</tbody></table></div>'

    def inline(self, text):
        parts = re.split(r"(`[^`]+`)", text)
        # The text of links may contain code: replace code by placeholders, then find links.
        codes = [part[1:-1] for part in parts[1::2]]
        text = "".join(part if i % 2 == 0 else f"\0{i // 2}\0" for i, part in enumerate(parts))
        text = html.escape(text, quote=False)
        text = re.sub(
            r"!\[([^]]*)\]\(([^)\s]+)\)",
            lambda m: f'<img src="{self.link(m[2])}" alt="{html.escape(m[1])}">',
            text,
        )
        text = re.sub(r"\[([^]]*)\]\(([^)\s]+)\)", self.anchor, text)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])\*([^*]+)\*(?!\w)", r"<em>\1</em>", text)
        return re.sub("\0(\\d+)\0", lambda m: self.short(codes[int(m[1])]), text)

    def anchor(self, match):
        address = self.link(match[2])
        return f'<a href="{address}">{match[1]}</a>' if address else match[1]

    def short(self, code):
        address = self.name(code)
        shown = f"<code>{html.escape(code, quote=False)}</code>"
        return f'<a href="{address}">{shown}</a>' if address else shown
