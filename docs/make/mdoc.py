"""Converts the manual page of the tool, tools/holdall.1, to HTML: the subset of mdoc that it uses.
An unknown macro is an error."""

import html
import re
import shlex

STYLES = {
    "Cm": "<b>{}</b>", "Fl": "<b>-{}</b>", "Nm": "<b>{}</b>", "Ar": "<var>{}</var>",
    "Pa": "<code>{}</code>", "Ev": "<code>{}</code>",
    "No": "{}", "Sx": "{}", "Xr": "{}",
}  # fmt: skip
AROUND = {"Op": "[{}]", "Pq": "({})", "Sq": "‘{}’", "Ql": "<code>{}</code>"}
IGNORED = (".Dd", ".Dt", ".Os", '.\\"')


class Page:
    """A manual page. `body` is its HTML; `sections` are (title, anchor, text) of its sections and
    of each command."""

    def __init__(self, text):
        self.lines = [line for line in text.split("\n") if line and not line.startswith(IGNORED)]
        self.at, self.sections, self.section, self.depth = 0, [], "", 0
        self.body = self.flow(())

    def flow(self, ends):
        """Converts the text up to one of these macros, which is not consumed."""
        out, pieces = [], []

        def paragraph():
            if pieces:
                out.append(f"<p>{spaced(pieces)}</p>")
                pieces.clear()

        while self.at < len(self.lines):
            line = self.lines[self.at]
            macro, arguments = split(line) if line.startswith(".") else ("", [])
            if macro in ends:
                break
            self.at += 1
            if not macro:
                pieces.append(plain(line))
            elif macro in ("Pp", "Sh", "Bl", "Bd") or (
                macro == "Nm" and self.section == "synopsis"
            ):
                paragraph()
                out.append(
                    {"Sh": self.heading, "Bl": self.list, "Bd": self.literal}.get(
                        macro, lambda _: ""
                    )(arguments)
                )
                pieces += ["<b>holdall</b>"] if macro == "Nm" else []
            elif macro == "Nd":
                pieces += ["–", plain(" ".join(arguments))]
            elif macro in STYLES or macro in AROUND:
                pieces += inline([macro] + arguments)
            else:
                raise SystemExit(f"holdall.1: unknown macro .{macro}; add it to docs/make/mdoc.py")
        paragraph()
        return "\n".join(out)

    def heading(self, arguments):
        title = " ".join(arguments).capitalize()
        self.section = anchor = title.lower().replace(" ", "-")
        self.sections.append([title, anchor, ""])
        return f'<h2 id="{anchor}">{title}</h2>'

    def literal(self, _):
        end = self.lines.index(".Ed", self.at)
        body = "\n".join(plain(line) for line in self.lines[self.at : end])
        self.at = end + 1
        return f'<pre class="text"><code>{body}</code></pre>'

    def list(self, arguments):
        bullets, out = "-bullet" in arguments, []
        self.depth += 1
        while split(self.lines[self.at])[0] != "El":
            term = split(self.lines[self.at])[1]
            self.at += 1
            meaning = self.flow(("It", "El"))
            if bullets:
                out.append(f"<li>{meaning}</li>")
            else:
                out.append(
                    f"<dt{self.anchor(term, meaning)}>{spaced(inline(term))}</dt><dd>{meaning}</dd>"
                )
        self.at += 1
        self.depth -= 1
        return (
            "<ul>{}</ul>".format("".join(out))
            if bullets
            else '<dl class="fields">{}</dl>'.format("".join(out))
        )

    def anchor(self, term, meaning):
        """Returns the id of a command, which includes its operands, because `pack` occurs twice."""
        if self.section != "commands" or self.depth > 1:
            return ""
        name = "-".join(
            re.sub(r"\W", "", word) for word in term if word not in STYLES and len(word) > 1
        )
        title = re.sub(r"<[^>]+>", "", spaced(inline(term)))
        self.sections.append(
            [
                f"holdall {html.unescape(title)}",
                name,
                html.unescape(re.sub(r"<[^>]+>", " ", meaning)),
            ]
        )
        return f' id="{name}"'


def split(line):
    macro, *arguments = shlex.split(line[1:].replace("\\", "\\\\").replace("'", "\\'"))
    return macro, arguments


def plain(text):
    text = (
        text.replace("\\(dq", '"')
        .replace("\\(mu", "×")
        .replace("\\e", "\\")
        .replace("\\-", "-")
        .replace("\\&", "")
        .replace("\\ ", " ")
    )
    return html.escape(text, quote=False)


def inline(arguments):
    """Converts text and macros to pieces of HTML."""
    out, style = [], "No"
    for i, word in enumerate(arguments):
        if word in AROUND:
            inner = arguments[i + 1 :]
            end = len(inner)  # without trailing punctuation
            while end and inner[end - 1] in (".", ",", ";", ":"):
                end -= 1
            around = AROUND[word].format(
                plain(" ".join(inner[:end])) if word == "Ql" else spaced(inline(inner[:end]))
            )
            return out + [around] + inner[end:]
        if word in STYLES:
            style = word
            if word == "Nm" and arguments[i + 1 : i + 2] != ["holdall"]:
                out.append("<b>holdall</b>")
        elif re.fullmatch(r"[.,;:()|]|\.\.\.", word):
            out.append(word)
        else:
            out.append(STYLES[style].format(plain(word)))
    return out


def spaced(pieces):
    return re.sub(r"\( | (?=[.,;:)](?:\s|$))", lambda m: m[0].strip(), " ".join(pieces))
