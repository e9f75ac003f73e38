"""Parses the text of a comment in the header into blocks: paragraphs, lists, and terms with their
meaning.

Comments are written to be read in the header. Two conversions are for the generated pages. Statuses
and options that begin a sentence ("HOLDALL_E_RANGE: beyond the end.") become a list of terms. Names
are recognized, including abbreviated ones ("HOLDALL_OPT_THREADS, _IO").
"""

import re
import textwrap

# A status, or "Options", at the beginning of a sentence, up to its colon.
STATUS = r"HOLDALL_(?:E_[A-Z]+|NOT_FOUND|END|DAMAGED|OK)"
TERM = re.compile(
    rf"(?:(?<=[.:;)] )|^)((?:Further o|O)ptions|{STATUS}(?:(?:, | or | and )(?:HOLDALL_E|HOLDALL)?_[A-Z_]+)*(?: \(> 0\))?(?: and [^:.]{{1,40}})?): "
)
NAME = re.compile(r"(?<![\w.])(holdall_\w+|HOLDALL_\w+|_[A-Z][A-Z0-9_]+)\b(\(\))?")


def blocks(text):
    """Returns ("p", text), ("code", text), ("list", [text, ...]) and ("terms", [(term, text),
    ...])."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        if all(line.startswith("    ") for line in paragraph.split("\n")):
            found.append(("code", textwrap.dedent(paragraph)))
            continue
        for part in split_lists(paragraph.split("\n")):
            if isinstance(part, list):
                found.append(("list", part))
                continue
            first, *terms = TERM.split(part)
            if first.strip():
                found.append(("p", first.strip()))
            if terms:
                found.append(
                    ("terms", [(terms[i], terms[i + 1].strip()) for i in range(0, len(terms), 2)])
                )
    return found


def split_lists(lines):
    """Joins the lines of each paragraph to one string, and those of a list to a list of strings."""
    parts = []
    for line in lines:
        item = re.match(r"\s*- (.*)", line)
        if item and parts and isinstance(parts[-1], list):
            parts[-1].append(item[1])
        elif item:
            parts.append([item[1]])
        elif parts and isinstance(parts[-1], list):
            parts[-1][-1] += " " + line.strip()
        elif parts:
            parts[-1] += " " + line.strip()
        else:
            parts.append(line.strip())
    return parts


def first_sentence(text):
    return re.split(r"(?<=[.;]) ", " ".join(text.split()) + " ", maxsplit=1)[0].rstrip(" .;:")


class Names:
    """The declared names of the headers. Finds them in a text."""

    def __init__(self, known):
        self.known = known

    def marked(self, text, mark, other):
        """Returns the text with mark(as written, full name) for each name, and other(text) for the
        rest."""
        out, at, last = [], 0, ""
        for match in NAME.finditer(text):
            full = self.full(match[1], last)
            if full not in self.known:
                continue
            last = full if full.startswith("HOLDALL") else last
            out += [other(text[at : match.start()]), mark(match[0], full)]
            at = match.end()
        return "".join(out + [other(text[at:])])

    def full(self, name, last):
        """Returns the full name: `_IO` after HOLDALL_OPT_THREADS is HOLDALL_OPT_IO."""
        if not name.startswith("_"):
            return name
        parts = last.split("_")
        candidates = ("_".join(parts[:n]) + name for n in range(len(parts) - 1, 0, -1))
        return next((one for one in candidates if one in self.known), "")
