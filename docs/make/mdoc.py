"""The manual page of the tool, tools/holdall.1, as HTML: the part of mdoc that it uses. A macro that is not here is an error."""
import html
import re
import shlex

STYLES = {
    "Cm": "<b>{}</b>", "Fl": "<b>-{}</b>", "Nm": "<b>{}</b>", "Ar": "<var>{}</var>", "Pa": "<code>{}</code>", "Ev": "<code>{}</code>",
    "No": "{}", "Sx": "{}", "Xr": "{}",
}  # fmt: skip
AROUND = {"Op": "[{}]", "Pq": "({})", "Sq": "‘{}’", "Ql": "<code>{}</code>"}
IGNORED = (".Dd", ".Dt", ".Os", '.\\"')


class Page:
    """`body` is its HTML; `places` are (title, anchor, words) of its sections and of each command."""

    def __init__(self, text):
        self.lines = [line for line in text.split("\n") if line and not line.startswith(IGNORED)]
        self.at, self.places, self.section, self.depth = 0, [], "", 0
        self.body = self.flow(())

    def flow(self, ends):
        """What stands up to one of these macros, which stays."""
        out, words = [], []

        def paragraph():
            if words:
                out.append(f"<p>{spaced(words)}</p>")
                words.clear()

        while self.at < len(self.lines):
            line = self.lines[self.at]
            macro, arguments = split(line) if line.startswith(".") else ("", [])
            if macro in ends:
                break
            self.at += 1
            if not macro:
                words.append(plain(line))
            elif macro in ("Pp", "Sh", "Bl", "Bd") or (macro == "Nm" and self.section == "synopsis"):
                paragraph()
                out.append({"Sh": self.heading, "Bl": self.list, "Bd": self.literal}.get(macro, lambda _: "")(arguments))
                words += ["<b>holdall</b>"] if macro == "Nm" else []
            elif macro == "Nd":
                words += ["–", plain(" ".join(arguments))]
            elif macro in STYLES or macro in AROUND:
                words += inline([macro] + arguments)
            else:
                raise SystemExit(f"holdall.1: .{macro} is a macro that docs/make/mdoc.py does not know")
        paragraph()
        return "\n".join(out)

    def heading(self, arguments):
        title = " ".join(arguments).capitalize()
        self.section = anchor = title.lower().replace(" ", "-")
        self.places.append([title, anchor, ""])
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
                out.append(f"<dt{self.anchor(term, meaning)}>{spaced(inline(term))}</dt><dd>{meaning}</dd>")
        self.at += 1
        self.depth -= 1
        return "<ul>{}</ul>".format("".join(out)) if bullets else '<dl class="fields">{}</dl>'.format("".join(out))

    def anchor(self, term, meaning):
        """A command is a place of its own, with its operands, for `pack` is there twice."""
        if self.section != "commands" or self.depth > 1:
            return ""
        name = "-".join(re.sub(r"\W", "", word) for word in term if word not in STYLES and len(word) > 1)
        title = re.sub(r"<[^>]+>", "", spaced(inline(term)))
        self.places.append([f"holdall {html.unescape(title)}", name, html.unescape(re.sub(r"<[^>]+>", " ", meaning))])
        return f' id="{name}"'


def split(line):
    words = shlex.split(line[1:].replace("\\", "\\\\").replace("'", "\\'"))
    return words[0], words[1:]


def plain(text):
    text = text.replace("\\(dq", '"').replace("\\(mu", "×").replace("\\e", "\\").replace("\\-", "-").replace("\\&", "").replace("\\ ", " ")
    return html.escape(text, quote=False)


def inline(words):
    """Words and macros as pieces of HTML."""
    out, style = [], "No"
    for i, word in enumerate(words):
        if word in AROUND:
            inner = words[i + 1 :]
            behind = len(inner)
            while behind and inner[behind - 1] in (".", ",", ";", ":"):
                behind -= 1
            around = AROUND[word].format(plain(" ".join(inner[:behind])) if word == "Ql" else spaced(inline(inner[:behind])))
            return out + [around] + inner[behind:]
        if word in STYLES:
            style = word
            if word == "Nm" and words[i + 1 : i + 2] != ["holdall"]:
                out.append("<b>holdall</b>")
        elif re.fullmatch(r"[.,;:()|]|\.\.\.", word):
            out.append(word)
        else:
            out.append(STYLES[style].format(plain(word)))
    return out


def spaced(pieces):
    return re.sub(r"\( | (?=[.,;:)](?:\s|$))", lambda m: m[0].strip(), " ".join(pieces))
