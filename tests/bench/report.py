#!/usr/bin/env python3
"""usage: report.py    generates the benchmark results

Writes tests/bench/results/PART.md, the charts in docs/figures/bench, and BENCHMARKS.md.

A result file, and its chart, is the complete result of a part, from the file in target/bench that
rows.py describes. A part without a file there keeps its result file. BENCHMARKS.md has the rows of
the result files that AREAS names, and is generated from those files alone: target/bench may be
empty.

`report.py --check` writes nothing, and fails if BENCHMARKS.md or its chart differs from the result
files.
"""

import json
import math
import pathlib
import re
import statistics
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MEASURED = ROOT / "target" / "bench"
RESULTS = HERE / "results"
UP = "../../.."  # from RESULTS to ROOT
PICTURES = ROOT / "docs" / "figures" / "bench"
CHART = PICTURES / "summary.svg"
REPORT = ROOT / "BENCHMARKS.md"
MOST_LINES = 150
sys.path.insert(0, str(ROOT / "docs" / "figures"))

from draw import Picture
from rows import peers

# ---- the rows of BENCHMARKS.md


class Timed(NamedTuple):
    """A timed row, compared with its fastest peer, or with its limit if it has no peer."""

    row: str
    way: str = "holdall"
    beside: str = ""  # the way, if two rows have the same name


class Amount(NamedTuple):
    """A row of a table of amounts, compared with the least of the others."""

    row: str
    ours: int  # column
    others: int  # column: names and amounts, separated by commas
    unit: str


class Share(NamedTuple):
    """A row of a table that has a time, a limit and the ratio of both; these are names of
    columns."""

    row: str
    ours: str
    limit: str
    share: str


class Goal(NamedTuple):
    """A value that has a goal, which is its upper limit."""

    row: str


class Growth(NamedTuple):
    """A line of a curve: the largest container compared with the smallest."""

    curve: str
    line: str


CALLS = "the path", "system calls alone", "share"
# By part, in the order of BENCHMARKS.md. A row that a result file does not have is an error.
AREAS = {
    "b2nd": [
        Timed("planes across axis 0, int32, lz4, 2 threads", beside="blosc2"),
        Timed("planes across axis 0, int32, lz4, 2 threads", beside="zarr"),
        Timed("cubes of 32, int32, zstd, 2 threads", beside="blosc2"),
        Timed("random items, float64, zstd, 2 threads", beside="zarr"),
        Timed("read all, float64, lz4, 2 threads"),
        Timed("write all, int32, lz4, 2 threads"),
    ],
    "blpk": [
        Timed("pack a file, lz4-5, CRC-32"),
        Timed("unpack a file of holdall, zstd-1, CRC-32"),
        Timed("open, read 1,000 items, close, lz4-5", "read"),
        Timed("encode lz4-5, shuffle"),
        Timed("decode lz4-5, shuffle"),
        Timed("decode zstd-1, shuffle"),
    ],
    "bcolz": [
        Timed("append 1,000,000 rows at a time, lz4"),
        Timed("read all rows, lz4"),
        Timed("10 random rows, lz4"),
        Timed("100,000 random rows, blosclz"),
        Timed("append 1,000 rows to a table of 8 columns and commit, lz4"),
    ],
    "ctable": [
        Timed("append 2,000,000 rows of 5 columns, 100,000 at a time", "holdall, Python"),
        Timed("open, append 10 rows and commit", "holdall, Python"),
        Timed("read all columns of a table by holdall", "holdall, Python"),
        Timed("append 1,000,000 texts and numbers, 50,000 at a time", "holdall, Python"),
        Timed("read texts of a table by holdall, as an array of NumPy or of Arrow", "holdall, Python"),
    ],
    "records": [
        Timed("text200, zstd: write, 2 threads", "many at once"),
        Timed("text200, zstd: open and close", "mapped"),
        Timed("text200, zstd: one at random", "read"),
        Timed("text200, zstd: 1,000 at random", "read"),
        Timed("text200, raw: all in one call", "read"),
        Timed("mid4k, zstd: in order", "read, stream"),
    ],
    "bag": [
        Timed(".bagz: write", "10,000 at once"),
        Timed(".bagz of bagz: open and close", "read"),
        Timed(".bagz of bagz: one at random", "read"),
    ],
    "index": [
        Timed("keys.bag: build", "in memory"),
        Timed("keys.bag: find", "first, mapped"),
        Timed("keys.bagz: build", "in memory"),
        Timed("keys.bagz: find", "first, mapped"),
        Amount("keys.bagz: build in memory", 2, 1, "MiB"),
    ],
    "start": [
        Goal("library size without symbols"),
        Goal("the first call"),
        Goal("a first call that opens a bag"),
        Share("open a bag", *CALLS),
        Share("open a table", *CALLS),
    ],
    "scaling": [
        Growth("open and close", "bag"),
        Growth("open and close", "Bloscpack"),
        Growth("open and close", "frame"),
        Growth("read a random piece", "bag"),
        Growth("add a piece and commit, not synced", "frame"),
    ],
    "real": [
        Timed("flights, 19 columns, lz4: all columns"),
        Timed("flights, 19 columns, zstd: 10 random rows"),
        Timed("flights, zstd: write, 2 threads", "many at once"),
        Timed("flights, zstd: 1,000 at random", "read"),
        Timed("planes across axis 0, MRI, lz4, 2 threads", beside="zarr"),
        Timed("read all, MRI, lz4, 2 threads"),
    ],
    "cold": [
        Timed("b2nd, a plane across axis 0"),
        Timed("b2nd, all"),
        Timed("bag, zstd, one record"),
        Timed("bag, zstd, 1,000 records"),
        Timed("bcolz, all rows"),
    ],
    "memory": [
        Amount("b2nd, lz4: read all", 6, 7, "MiB"),
        Amount("b2nd, zstd: write", 6, 7, "MiB"),
        Amount("bcolz, lz4: read all", 6, 7, "MiB"),
        Amount("Bloscpack, zstd: write", 6, 7, "MiB"),
        Amount("bag, zstd, records of 200: stream", 6, 7, "MiB"),
    ],
}

HEAD = """# Benchmarks

`make bench` compares holdall with other libraries, and with limits such as the codec alone. `tests/bench/report.py` generates this page
from the complete results, which the tables link. [Goals that are not reached](tests/bench/results/goals.md) gives the reasons for those.
"""

METHOD = """
## Method

- `make bench` generates the data and installs the other libraries from PyPI. `PARTS` selects the parts to measure; the others keep their
  results.
- A peer is compared with holdall from the same language. Peers are called from Python, those with an interface for C, C++ or Rust from it
  as well. A name that ends with a language is called from that; otherwise peers are called from Python, holdall from C. Rows without
  calls of holdall from Python compare holdall from C with peers from Python.
- All run in alternating turns, with their files in the page cache unless stated.
- Before each turn the benchmark writes to memory and frees it: a virtual machine must first get free memory from its host.
- A time or rate is the median of the rounds, a ratio the median of the ratios of the rounds. Above 1, holdall is faster or needs less.
- Each row is compared with its fastest peer. A row without a peer is compared with a *limit*: the codec alone on the same bytes in memory,
  memcpy of the records, writing of the same bytes, the same system calls, a goal, or the smallest container.
- A name in parentheses, such as `read` or `mapped`, is the way in which holdall is used, where there are several.
- In the complete results, *share of the limit* is the time of the limit divided by that of holdall. An asterisk marks a way without a goal,
  because it does more or less than the peer: checksums, syncs, reads instead of a map, fewer threads.
"""


# ---- numbers


def digits(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def shown(seconds, nbytes):
    if nbytes:
        return f"{nbytes / seconds / 1e6:,.0f} MB/s"
    unit, per = next(
        ((u, p) for u, p in (("s", 1), ("ms", 1e3), ("µs", 1e6)) if seconds * p >= 1), ("ns", 1e9)
    )
    return f"{digits(seconds * per)} {unit}"


def spread(seconds, nbytes):
    """Returns the quartiles."""
    if len(seconds) < 2:
        return ""
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    if nbytes:
        low, high = high, low
    return f"{shown(low, nbytes)} to {shown(high, nbytes)}"


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a["seconds"], b["seconds"]))


def fastest(ways, side, our_way, choose=min):
    """The fastest of the ways of a side with which a way of ours is compared."""
    names = {s: [w["way"] for w in ways if w["side"] == s] for s in ("ours", side)}
    if side == "theirs":
        names[side] = peers(names[side], our_way["way"], names["ours"])
    return choose(
        (w for w in ways if w["side"] == side and w["way"] in names[side]),
        key=lambda w: statistics.median(w["seconds"]),
        default=None,
    )


# ---- results, as text


def verdict(reached):
    return "reached" if reached else "**not reached**"


def goal_text(goal):
    share = (
        f", {goal['share']:.2f} of {goal['limit']} (or {goal['share_least']:g})"
        if "limit" in goal
        else ""
    )
    return (
        f"{digits(goal['ratio'])} of {goal['against']} (at least {goal['least']:g}{share}): "
        f"{verdict(goal['reached'])}"
    )


def row_lines(row):
    """A line per way."""
    for k, way in enumerate(row["ways"]):
        # a row has all of several limits
        peer, limit = fastest(row["ways"], "theirs", way), fastest(row["ways"], "limit", way, max)
        star = " *" if way["way"] in row["shown"] else ""
        name = {"ours": f"**{way['way']}**{star}", "limit": f"*{way['way']}*"}.get(
            way["side"], way["way"]
        )
        against = [
            digits(ratio(other, way)) if other and way["side"] == "ours" else ""
            for other in (peer, limit)
        ]
        goals = "; ".join(
            goal_text(g) for g in row["goals"] if way["side"] == "ours" and g["way"] == way["way"]
        )
        what = row["what"] + (f" ({row['note']})" if row["note"] else "") if k == 0 else ""
        cells = [
            what,
            name,
            shown(statistics.median(way["seconds"]), row["nbytes"]),
            spread(way["seconds"], row["nbytes"]),
            *against,
            goals,
        ]
        yield "| " + " | ".join(cells) + " |"


def memory_lines(records):
    yield "| most memory of a process, MiB | | |"
    yield "| --- | --- | --- |"
    for r in records:
        theirs, *ours = [f"{who} {digits(mib)}" for who, mib in r["mib"].items()]
        yield f"| {r['what']} | {theirs} | {', '.join(ours)} |"


def table_lines(table):
    yield "| " + " | ".join(table["head"]) + " |"
    yield "| --- |" + " --: |" * (len(table["head"]) - 1)
    yield from ("| " + " | ".join(line) + " |" for line in table["lines"])


def slope(points):
    """Slope of the logarithms, by least squares: 0 if the cost is independent of the size, 1 if it
    grows in proportion."""
    x, y = ([math.log(p[i]) for p in points] for i in (0, 1))
    return statistics.linear_regression(x, y).slope


def curve_lines(curve):
    numbers = sorted({n for points in curve["lines"].values() for n, _ in points})
    yield f"| {curve['what']}, {curve['unit']}, by {curve['across']} | " + " | ".join(
        f"{n:,}" for n in numbers
    ) + " | slope |"
    yield "| --- |" + " --: |" * (len(numbers) + 1)
    for name, points in curve["lines"].items():
        at = dict(map(tuple, points))
        yield f"| {name} | " + " | ".join(
            digits(at[n]) if n in at else "" for n in numbers
        ) + f" | {slope(points):.2f} |"


def verdicts(records):
    """For each goal, whether it is reached."""
    for r in records:
        if r["kind"] == "goal":
            yield r["reached"]
        yield from (g["reached"] for g in r.get("goals", ()))


def part(lines):
    """The lines of a result file, from the records of a part; the first record is its head."""
    head, *records = lines
    of = {
        kind: [r for r in records if r["kind"] == kind]
        for kind in ("row", "memory", "table", "curve")
    }
    machine = head["machine"]
    yield f"# {head['title']}"
    if picture(lines):
        yield from ["", f"![{head['title']}]({UP}/docs/figures/bench/{head['part']}.svg)"]
    yield ""
    yield (
        f"- {head['date'][:16].replace('T', ' ')} UTC; holdall "
        f"{head['version']}{' at ' + head['commit'] if head['commit'] else ''}; "
    ) + ", ".join(f"{k} {v}" for k, v in head["versions"].items())
    copy = f"; memcpy {machine['memcpy'] / 1e9:.1f} GB/s" if machine["memcpy"] else ""
    yield (
        f"- {machine['processor']}, {machine['processors']} processors, "
        f"{machine['system']}{copy}; {head['rounds']} rounds"
    )
    yield from (f"- {note}" for note in head["notes"])
    if of["row"]:
        yield from [
            "",
            "| | | median | quartiles | to the fastest peer | share of the limit | goals |",
            "| --- | --- | --: | --: | --: | --: | --- |",
        ]
        yield from (line for row in of["row"] for line in row_lines(row))
    if of["memory"]:
        yield ""
        yield from memory_lines(of["memory"])
    for kind, text in (("curve", curve_lines), ("table", table_lines)):
        for r in of[kind]:
            yield ""
            yield from text(r)
    all = list(verdicts(records))
    if all:
        yield ""
        yield from (
            f"- {verdict(r['reached'])}: {r['text']}" for r in records if r["kind"] == "goal"
        )
        yield f"- {sum(all)} of {len(all)} goals are reached"


# ---- charts


def peer_bars(rows):
    """Name, fastest peer and ratio to it, of each row that has a peer: of the first way of holdall
    that has one."""
    for row in rows:
        for ours in row["ways"]:
            peer = fastest(row["ways"], "theirs", ours)
            if ours["side"] == "ours" and ours["way"] not in row["shown"] and peer:
                yield row["what"], peer["way"], ratio(peer, ours)
                break


def bars(title, groups):
    """Draws ratios to the fastest peer on a logarithmic scale; `groups` are lists of (what, peer,
    ratio) by heading, which may be empty."""
    ratios = [r for some in groups.values() for *_, r in some]
    if not ratios:
        return None
    low, high = min(0.5, *ratios), max(2, *ratios)
    lines = len(ratios) + sum(bool(heading) for heading in groups)
    drawn, x0, width, y = Picture(900, 50 + 18 * lines, title), 470, 300, 28
    x = lambda r: x0 + math.log(r / low) / math.log(high / low) * width  # noqa: E731
    for mark in (0.1, 0.5, 1, 2, 5, 10, 100, 1000):
        if low <= mark <= high:
            drawn.line(x(mark), 24, x(mark), 30 + 18 * lines)
            drawn.text(x(mark), 44 + 18 * lines, f"{mark:g}", "dim middle")
    drawn.text(10, 15, f"{title}: times as fast as the fastest peer", "title")
    for heading, some in groups.items():
        if heading:
            drawn.text(10, y + 10, heading, "title")
            y += 18
        for what, peer, r in some:
            drawn.text(x0 - 8, y + 10, what, "end")
            drawn.bar(min(x(1), x(r)), y, abs(x(r) - x(1)), 12, "c1" if r >= 1 else "c0")
            drawn.text(max(x(1), x(r)) + 5, y + 10, f"{digits(r)} ({peer})", "dim")
            y += 18
    return drawn.done()


def amounts(title, drawn):
    """Draws bars from 0 on; bars beyond their limit have another colour."""
    some, x0, width = drawn["amounts"], 470, 300
    picture, y0 = Picture(900, 50 + 18 * len(some), title), 30 + 18 * len(some)
    position = lambda amount: x0 + amount / max(n for _, n in some) * width  # noqa: E731
    picture.line(position(drawn["goal"]), 24, position(drawn["goal"]), y0)
    picture.text(position(drawn["goal"]), y0 + 14, f"{drawn['goal']:g}", "dim middle")
    picture.text(10, 15, f"{title}: {drawn['caption']}", "title")
    for i, (what, amount) in enumerate(some):
        picture.text(x0 - 8, 38 + i * 18, what, "end")
        picture.bar(
            x0, 28 + i * 18, position(amount) - x0, 12, "c1" if amount <= drawn["goal"] else "c0"
        )
        picture.text(position(amount) + 5, 38 + i * 18, digits(amount), "dim")
    return picture.done()


def curves(title, some):
    """Draws each curve in a chart of its own, with logarithmic scales."""
    picture, width, height = Picture(900, 60 + 250 * math.ceil(len(some) / 2), title), 330, 170
    for i, curve in enumerate(some):
        x0, y0 = 60 + i % 2 * 440, 50 + i // 2 * 250
        x, y = (sorted(p[k] for points in curve["lines"].values() for p in points) for k in (0, 1))
        scale = lambda v, low, high: (
            math.log(v / low) / math.log(high / low) if high > low else 0
        )  # noqa: E731
        low, high = 10 ** math.floor(math.log10(y[0])), 10 ** math.ceil(math.log10(y[-1]) + 1e-9)
        position = lambda p: (
            x0 + scale(p[0], x[0], x[-1]) * width,
            y0 + height - scale(p[1], low, high) * height,
        )  # noqa: E731
        picture.text(x0, y0 - 14, f"{curve['what']}, {curve['unit']}", "title")
        for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
            picture.line(
                x0, position((x[0], 10**power))[1], x0 + width, position((x[0], 10**power))[1]
            )
            picture.text(x0 - 6, position((x[0], 10**power))[1] + 4, f"{10**power:g}", "dim end")
        for n in sorted(set(x)):
            picture.text(
                position((n, low))[0], y0 + height + 15, f"{n:g}".replace("e+0", "e"), "dim middle"
            )
        picture.text(x0 + width, y0 + height + 29, curve["across"], "dim end")
        ends, last = (
            sorted(
                (-position(points[-1])[1], k) for k, points in enumerate(curve["lines"].values())
            ),
            math.inf,
        )
        for k, points in enumerate(curve["lines"].values()):
            picture.path([position(p) for p in points], f"c{k % 5}")
        for end, k in ends:
            # one below another
            last = min(-end + 4, last - 12)
            picture.text(x0 + width + 6, last, list(curve["lines"])[k], f"dim c{k % 5}")
    return picture.done()


def picture(lines):
    head, *records = lines
    some = [r for r in records if r["kind"] == "curve"]
    drawn = [r["drawn"] for r in records if r.get("drawn")]
    if drawn:
        return amounts(head["title"], drawn[0])
    return (
        curves(head["title"], some)
        if some
        else bars(head["title"], {"": list(peer_bars(r for r in records if r["kind"] == "row"))})
    )


# ---- BENCHMARKS.md


class Line(NamedTuple):
    """A row of BENCHMARKS.md; `peer` is empty if the other side is a limit."""

    what: str
    ours: str
    other: str
    ratio: str
    peer: str = ""


class Way(NamedTuple):
    """One way to do the same, in a timed row of a result file."""

    name: str
    side: str
    median: str
    to_peer: str
    share: str

    def amount(self):
        """Seconds, or seconds for a megabyte."""
        number, unit = self.median.split()
        number = float(number.replace(",", ""))
        return (
            1 / number
            if unit == "MB/s"
            else number * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
        )


def compared(ways, name):
    """The way of holdall with this name, and its peers: from C, or if no peer is called from C, from
    Python."""
    ours = {way.name: way for way in ways if way.side == "ours"}
    theirs = {way.name: way for way in ways if way.side == "theirs"}
    for way in (name, name + ", Python"):
        if way in ours and (same := peers(theirs, way, ours)):
            return ours[way], [theirs[t] for t in same]
    return ours[name], []


def number(text):
    """The first number of a text."""
    return float(re.search(r"\d[\d,.]*", text)[0].replace(",", ""))


def small(x):
    return digits(x) if x >= 0.001 else "< 0.001"


class Result:
    """A result file."""

    def __init__(self, part):
        self.part, self.file = part, RESULTS / f"{part}.md"
        lines = self.file.read_text(encoding="utf-8").splitlines()
        self.title = lines[0].removeprefix("# ")
        versions, machine, *self.notes = (line[2:] for line in lines if line.startswith("- "))
        self.date, self.ours, others = versions.split("; ", 2)
        # without commits and dates in parentheses
        self.versions = re.sub(r" \((?:[^()]|\([^()]*\))*\)", "", others).split(", ")
        self.machine, *rest = machine.split("; ")
        self.copy = [number(text) for text in rest if text.startswith("memcpy")]
        self.rounds = round(number(rest[-1]))
        self.tables, table = [], None
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if cells and table is None:
                self.tables.append(table := [cells])
            elif cells and not line.startswith("| ---"):
                table.append(cells)
            elif not cells:
                table = None

    def missing(self, what):
        sys.exit(
            f"{self.file.relative_to(ROOT)}: no row '{what}' (report.py has it in AREAS); correct "
            "AREAS or measure the part again"
        )

    def timed(self):
        """The timed rows: name and ways."""
        rows = []
        for cells in (
            cells for table in self.tables if "median" in table[0] for cells in table[1:]
        ):
            if cells[0]:
                # without the note
                rows.append((re.sub(r" \(.*", "", cells[0]), []))
            side = (
                "ours"
                if cells[1].startswith("**")
                else "limit" if cells[1].startswith("*") else "theirs"
            )
            rows[-1][1].append(
                Way(cells[1].removesuffix(" *").strip("*"), side, cells[2], cells[4], cells[5])
            )
        return rows

    def row(self, name, *columns):
        """A row of another table that has these columns, as names or numbers, and these cells of
        it."""
        for head, *lines in self.tables:
            if "median" not in head and all(
                c in head or isinstance(c, int) and c < len(head) for c in columns
            ):
                for cells in lines:
                    if cells[0] == name:
                        return [cells[c if isinstance(c, int) else head.index(c)] for c in columns]
        return self.missing(name)

    def line(self, chosen):
        return getattr(self, f"of_{type(chosen).__name__.lower()}")(chosen)

    def of_timed(self, chosen):
        for name, ways in self.timed():
            names = [way.name for way in ways]
            if (
                name == chosen.row
                and chosen.way in names
                and (chosen.beside or chosen.way) in names
            ):
                break
        else:
            self.missing(f"{chosen.row}: {chosen.way}")
        ours, peers = compared(ways, chosen.way)
        limits = [way for way in ways if way.side == "limit"]
        # as in row_lines
        other = min(peers, key=Way.amount) if peers else max(limits, key=Way.amount)
        shown = ours.median + (f" ({ours.name})" if ours.name != "holdall" else "")
        return Line(
            name,
            shown,
            f"{other.name} {other.median}",
            ours.to_peer if peers else ours.share,
            other.name if peers else "",
        )

    def of_amount(self, chosen):
        ours, others = self.row(chosen.row, chosen.ours, chosen.others)
        least = min(others.split(", "), key=lambda text: number(text.rpartition(" ")[2]))
        name, amount = least.rsplit(" ", 1)
        ours = ours.rpartition(" ")[2]
        return Line(
            chosen.row,
            f"{ours} {chosen.unit}",
            f"{name} {amount} {chosen.unit}",
            small(number(amount) / number(ours)),
        )

    def of_share(self, chosen):
        ours, limit, share = self.row(chosen.row, chosen.ours, chosen.limit, chosen.share)
        return Line(chosen.row, ours, f"{chosen.limit} {limit}", share)

    def of_goal(self, chosen):
        for note in self.notes:
            found = re.match(
                rf"(?:\*\*not reached\*\*|reached): {re.escape(chosen.row)}: (\S+) (\w+).*\(goal (\S+?)(?: \w+)?\)$",
                note,
            )
            if found:
                value, unit, goal = found.groups()
                return Line(
                    chosen.row,
                    f"{value} {unit}",
                    f"goal {goal} {unit}",
                    small(number(goal) / number(value)),
                )
        return self.missing(chosen.row)

    def of_growth(self, chosen):
        for head, *lines in self.tables:
            curve = re.match(rf"{re.escape(chosen.curve)}, (\S+), by (.*)", head[0])
            for cells in lines if curve else ():
                if cells[0] == chosen.line:
                    *points, _slope = [(n, cell) for n, cell in zip(head[1:], cells[1:]) if cell]
                    (least, first), (most, last) = points[0], points[-1]
                    unit, across = curve.groups()
                    what = f"{chosen.curve}, {chosen.line}, {most} {across}"
                    return Line(
                        what,
                        f"{last} {unit}",
                        f"{least} {across} {first} {unit}",
                        small(number(first) / number(last)),
                    )
        return self.missing(f"{chosen.curve}: {chosen.line}")

    def table(self, lines):
        goals = next(
            (
                ": " + note.replace(" are ", " ")
                for note in self.notes
                if note.endswith(" goals are reached")
            ),
            "",
        )
        link = f"[complete results]({self.file.relative_to(ROOT)}), {self.date[:10]}{goals}"
        yield f"| {link} | holdall | fastest peer or limit | ratio | command |"
        yield "| --- | --: | --: | --: | --- |"
        yield from (
            f"| {line.what} | {line.ours} | {line.other} | {line.ratio} | `make bench "
            f"PARTS={self.part}` |"
            for line in lines
        )


def merged(lists):
    """All items, each once, in order."""
    return list(dict.fromkeys(item for some in lists for item in some))


def span(numbers):
    low, high = min(numbers), max(numbers)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def summary():
    """BENCHMARKS.md and its chart, from the result files."""
    results = [Result(part) for part in AREAS if (RESULTS / f"{part}.md").exists()]
    if not results:
        sys.exit(f"nothing was measured: no file of a part in {RESULTS} or {MEASURED}")
    lines = {result: [result.line(chosen) for chosen in AREAS[result.part]] for result in results}
    versions = merged(result.versions for result in results)
    versions.sort(key=lambda version: version.startswith("python "))
    machines, ours = (
        "; ".join(merged([getattr(result, name)] for result in results))
        for name in ("machine", "ours")
    )
    ours = ours.replace("; holdall ", ", ")
    copy = [speed for result in results for speed in result.copy]
    text = HEAD.splitlines()
    text += [
        "",
        f"- Machine: {machines}"
        + (f"; memcpy {span(copy)} GB/s" if copy else "")
        + f"; {span([r.rounds for r in results])} rounds",
    ]
    text += [f"- Versions: {ours}; {', '.join(versions)}"]
    groups = {
        result.title: [(line.what, line.peer, number(line.ratio)) for line in some if line.peer]
        for result, some in lines.items()
    }
    chart = bars("holdall", {title: some for title, some in groups.items() if some})
    text += ["", f"![Ratios to the fastest peers]({CHART.relative_to(ROOT)})"]
    for result, some in lines.items():
        text += ["", f"## {result.title}", "", *result.table(some)]
    text += METHOD.rstrip().splitlines()
    if len(text) > MOST_LINES:
        sys.exit(
            f"BENCHMARKS.md would have {len(text)} lines (at most {MOST_LINES}); name fewer rows "
            "in AREAS"
        )
    return "\n".join(text) + "\n", chart


# ---- main


def write_results():
    """Writes the result files and charts of the measured parts."""
    for file in sorted(MEASURED.glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        name = lines[0]["part"]
        if drawn := picture(lines):
            (PICTURES / f"{name}.svg").write_text(drawn, encoding="utf-8")
        (RESULTS / f"{name}.md").write_text(
            "\n".join(part(lines)).rstrip() + "\n", encoding="utf-8"
        )


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    if not check:
        for folder in (RESULTS, PICTURES):
            folder.mkdir(parents=True, exist_ok=True)
        write_results()
    for file, text in zip((REPORT, CHART), summary()):
        if not check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file.relative_to(ROOT)} is out of date; run tests/bench/report.py")


if __name__ == "__main__":
    main()
