"""The words of a comment in the header, as blocks: paragraphs, lists, and terms with what they mean.

Comments are written to be read in the header. What makes pages of them more than that: statuses and options that begin a
sentence ("HOLDALL_E_RANGE: beyond the end.") become a list of terms, and names are found, also those that are cut short
("HOLDALL_OPT_THREADS, _IO").
"""
import re
import textwrap

# A status or the like at the beginning of a sentence, up to its colon.
STATUS = r"HOLDALL_(?:E_[A-Z]+|NOT_FOUND|OK)"
TERM = re.compile(rf"(?:(?<=[.:;)] )|^)((?:Further o|O)ptions|{STATUS}(?:(?:, | or | and )(?:HOLDALL_E|HOLDALL)?_[A-Z_]+)*(?: \(> 0\))?(?: and [^:.]{{1,40}})?): ")
NAME = re.compile(r"(?<![\w.])(holdall_\w+|HOLDALL_\w+|_[A-Z][A-Z0-9_]+)\b(\(\))?")


def blocks(text):
    """("p", text), ("code", text), ("list", [text, ...]) and ("terms", [(term, text), ...])."""
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
                found.append(("terms", [(terms[i], terms[i + 1].strip()) for i in range(0, len(terms), 2)]))
    return found


def split_lists(lines):
    """Runs of lines that belong together as one string, lists as a list of strings."""
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
    """The names that the headers declare, and which of them a piece of text means."""

    def __init__(self, known):
        self.known = known

    def marked(self, text, mark, other):
        """The text with mark(as written, full name) for each name, and other(text) for all between."""
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
        """`_IO` behind HOLDALL_OPT_THREADS is HOLDALL_OPT_IO."""
        if not name.startswith("_"):
            return name
        parts = last.split("_")
        candidates = ("_".join(parts[:n]) + name for n in range(len(parts) - 1, 0, -1))
        return next((one for one in candidates if one in self.known), "")
