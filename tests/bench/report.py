#!/usr/bin/env python3
"""usage: report.py    writes BENCHMARKS.md, and its pictures in docs/figures/bench, of the files in target/bench; parts of which
there is none stay as they are

What the records in those files are is said in rows.py, which makes them.
"""

import json
import math
import pathlib
import re
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "target" / "bench"
PICTURES = ROOT / "docs" / "figures" / "bench"
REPORT = ROOT / "BENCHMARKS.md"
sys.path.insert(0, str(ROOT / "docs" / "figures"))

from draw import Picture

# in this order; others after them
ORDER = ["b2nd", "blpk", "bcolz", "records", "bag", "index", "start", "scaling", "real", "cold", "memory"]

HEAD = """# Benchmarks

What `make bench` measured; `tests/bench` has the programs, and `tests/bench/report.py` wrote this of what they found. Run it on yours:
it makes the data and installs the others from PyPI. Parts are measured by themselves (`make bench PARTS=b2nd`),
and each says when that was, and of which version.

Others are called from Python, as their users do, holdall from C; all run in turns, in one process each, with their files in the system's
cache. Before each turn memory is touched and given back, since a virtual machine has to fetch from its host what was free for a while, and
would do so in the turn of whoever is first. A figure is the median of the rounds, and behind it are the quartiles; a ratio is the median of the rounds' ratios, above 1 holdall
is the faster. A *limit* is what nobody can do without: the codec alone on the same bytes from memory, memcpy of the records, writing the
same bytes; *share* is the limit's time as a share of ours. A star is on what is shown and held to no goal, since it does more or less
than the other side: checksums, syncing, safe reading in place of mapping, fewer threads.
"""


# ---- figures


def digits(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def shown(seconds, nbytes):
    if nbytes:
        return f"{nbytes / seconds / 1e6:,.0f} MB/s"
    unit, per = next(((u, p) for u, p in (("s", 1), ("ms", 1e3), ("µs", 1e6)) if seconds * p >= 1), ("ns", 1e9))
    return f"{digits(seconds * per)} {unit}"


def spread(seconds, nbytes):
    """The quartiles."""
    if len(seconds) < 2:
        return ""
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    if nbytes:
        low, high = high, low
    return f"{shown(low, nbytes)} to {shown(high, nbytes)}"


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a["seconds"], b["seconds"]))


def fastest(ways, side, choose=min):
    return choose((w for w in ways if w["side"] == side), key=lambda w: statistics.median(w["seconds"]), default=None)


# ---- text


def words(goal):
    share = f", {goal['share']:.2f} of {goal['limit']} (or {goal['share_least']:g})" if "limit" in goal else ""
    return f"{digits(goal['ratio'])} of {goal['against']} (at least {goal['least']:g}{share}): {'met' if goal['met'] else '**missed**'}"


def row_lines(row):
    """A line for each way."""
    # of several limits none can be done without
    peer, limit = fastest(row["ways"], "theirs"), fastest(row["ways"], "limit", max)
    for k, way in enumerate(row["ways"]):
        star = " *" if way["way"] in row["shown"] else ""
        name = {"ours": f"**{way['way']}**{star}", "limit": f"*{way['way']}*"}.get(way["side"], way["way"])
        against = [digits(ratio(other, way)) if other and way["side"] == "ours" else "" for other in (peer, limit)]
        goals = "; ".join(words(g) for g in row["goals"] if way["side"] == "ours" and g["way"] == way["way"])
        what = row["what"] + (f" ({row['note']})" if row["note"] else "") if k == 0 else ""
        cells = [what, name, shown(statistics.median(way["seconds"]), row["nbytes"]), spread(way["seconds"], row["nbytes"]), *against, goals]
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
    """Of logarithms, by least squares: 0 where it costs the same however large, 1 where it grows as fast."""
    x, y = ([math.log(p[i]) for p in points] for i in (0, 1))
    return statistics.linear_regression(x, y).slope


def curve_lines(curve):
    numbers = sorted({n for points in curve["lines"].values() for n, _ in points})
    yield f"| {curve['what']}, {curve['unit']}, by {curve['across']} | " + " | ".join(f"{n:,}" for n in numbers) + " | slope |"
    yield "| --- |" + " --: |" * (len(numbers) + 1)
    for name, points in curve["lines"].items():
        at = dict(map(tuple, points))
        yield f"| {name} | " + " | ".join(digits(at[n]) if n in at else "" for n in numbers) + f" | {slope(points):.2f} |"


def verdicts(records):
    """Of each goal whether it is met, and its words."""
    for r in records:
        if r["kind"] == "goal":
            yield r["met"], r["words"]
        for g in r.get("goals", ()):
            yield g["met"], f"{r['what']}, {g['way']}: {words(g)}"


def part(lines):
    """A part as text, given its records; the first is its head."""
    head, *records = lines
    of = {kind: [r for r in records if r["kind"] == kind] for kind in ("row", "memory", "table", "curve")}
    machine = head["machine"]
    yield f"## {head['title']}"
    yield ""
    yield f"- {head['date'][:16].replace('T', ' ')} UTC; holdall {head['version']}{' at ' + head['commit'] if head['commit'] else ''}; " + ", ".join(
        f"{k} {v}" for k, v in head["versions"].items()
    )
    copy = f"; memcpy {machine['memcpy'] / 1e9:.1f} GB/s" if machine["memcpy"] else ""
    yield f"- {machine['processor']}, {machine['processors']} processors, {machine['system']}{copy}; {head['rounds']} rounds"
    yield from (f"- {note}" for note in head["notes"])
    if of["row"]:
        yield from ["", "| | | median | quartiles | to the fastest peer | share of the limit | goals |", "| --- | --- | --: | --: | --: | --: | --- |"]
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
        yield from (f"- {'met' if r['met'] else '**missed**'}: {r['words']}" for r in records if r["kind"] == "goal")
        yield f"- {sum(met for met, _ in all)} of {len(all)} goals are met"


# ---- pictures


def bars(title, rows):
    """How many times as fast as the fastest peer, on a scale of logarithms; nothing where there are no peers."""
    some = []
    for row in rows:
        peer, ours = fastest(row["ways"], "theirs"), [w for w in row["ways"] if w["side"] == "ours"]
        ours = next((w for w in ours if w["way"] not in row["shown"]), None)
        if peer and ours:
            some.append((row["what"], peer["way"], ratio(peer, ours)))
    if not some:
        return None
    low, high = min(0.5, *(r for *_, r in some)), max(2, *(r for *_, r in some))
    picture, x0, width = Picture(900, 50 + 18 * len(some), title), 470, 300
    place = lambda r: x0 + math.log(r / low) / math.log(high / low) * width  # noqa: E731
    for mark in (0.1, 0.5, 1, 2, 5, 10, 100, 1000):
        if low <= mark <= high:
            picture.line(place(mark), 24, place(mark), 30 + 18 * len(some))
            picture.text(place(mark), 44 + 18 * len(some), f"{mark:g}", "dim middle")
    picture.text(10, 15, f"{title}: times as fast as the fastest peer", "title")
    for i, (what, peer, r) in enumerate(some):
        y = 28 + i * 18
        picture.text(x0 - 8, y + 10, what, "end")
        picture.bar(min(place(1), place(r)), y, abs(place(r) - place(1)), 12, "c1" if r >= 1 else "c0")
        picture.text(max(place(1), place(r)) + 5, y + 10, f"{digits(r)} ({peer})", "dim")
    return picture.done()


def amounts(title, drawn):
    """As bars from 0 on, those beyond what they should not exceed in another colour."""
    some, x0, width = drawn["amounts"], 470, 300
    picture, y0 = Picture(900, 50 + 18 * len(some), title), 30 + 18 * len(some)
    place = lambda amount: x0 + amount / max(n for _, n in some) * width  # noqa: E731
    picture.line(place(drawn["goal"]), 24, place(drawn["goal"]), y0)
    picture.text(place(drawn["goal"]), y0 + 14, f"{drawn['goal']:g}", "dim middle")
    picture.text(10, 15, f"{title}: {drawn['caption']}", "title")
    for i, (what, amount) in enumerate(some):
        picture.text(x0 - 8, 38 + i * 18, what, "end")
        picture.bar(x0, 28 + i * 18, place(amount) - x0, 12, "c1" if amount <= drawn["goal"] else "c0")
        picture.text(place(amount) + 5, 38 + i * 18, digits(amount), "dim")
    return picture.done()


def curves(title, some):
    """Each curve in a picture of its own, both scales of logarithms."""
    picture, width, height = Picture(900, 60 + 250 * math.ceil(len(some) / 2), title), 330, 170
    for i, curve in enumerate(some):
        x0, y0 = 60 + i % 2 * 440, 50 + i // 2 * 250
        x, y = (sorted(p[k] for points in curve["lines"].values() for p in points) for k in (0, 1))
        scale = lambda v, low, high: math.log(v / low) / math.log(high / low) if high > low else 0  # noqa: E731
        low, high = 10 ** math.floor(math.log10(y[0])), 10 ** math.ceil(math.log10(y[-1]) + 1e-9)
        place = lambda p: (x0 + scale(p[0], x[0], x[-1]) * width, y0 + height - scale(p[1], low, high) * height)  # noqa: E731
        picture.text(x0, y0 - 14, f"{curve['what']}, {curve['unit']}", "title")
        for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
            picture.line(x0, place((x[0], 10**power))[1], x0 + width, place((x[0], 10**power))[1])
            picture.text(x0 - 6, place((x[0], 10**power))[1] + 4, f"{10**power:g}", "dim end")
        for n in sorted(set(x)):
            picture.text(place((n, low))[0], y0 + height + 15, f"{n:g}".replace("e+0", "e"), "dim middle")
        picture.text(x0 + width, y0 + height + 29, curve["across"], "dim end")
        ends, last = sorted((-place(points[-1])[1], k) for k, points in enumerate(curve["lines"].values())), math.inf
        for k, points in enumerate(curve["lines"].values()):
            picture.path([place(p) for p in points], f"c{k % 5}")
        for end, k in ends:
            # one above the other
            last = min(-end + 4, last - 12)
            picture.text(x0 + width + 6, last, list(curve["lines"])[k], f"dim c{k % 5}")
    return picture.done()


def picture(lines):
    head, *records = lines
    some = [r for r in records if r["kind"] == "curve"]
    drawn = [r["drawn"] for r in records if r.get("drawn")]
    if drawn:
        return amounts(head["title"], drawn[0])
    return curves(head["title"], some) if some else bars(head["title"], [r for r in records if r["kind"] == "row"])


# ---- everything


def read_all():
    """The parts that were measured, each a list of records."""
    parts = [[json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in RESULTS.glob("*.jsonl")]
    place = {name: i for i, name in enumerate(ORDER)}
    return sorted(parts, key=lambda p: (place.get(p[0]["part"], len(ORDER)), p[0]["part"]))


def kept():
    """What BENCHMARKS.md has now: of each part, by its title, its line of the table and its text."""
    if not REPORT.exists():
        return {}
    head, *sections = re.split("^(?=## )", REPORT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = {line.split("|")[1].strip(): line for line in head.splitlines() if line.startswith("| ")}
    titled = ((section[3:].partition("\n")[0], section.rstrip()) for section in sections)
    return {title: (lines[title], section) for title, section in titled if title in lines}


def main():
    parts = read_all()
    if not parts:
        sys.exit(f"nothing was measured: there is no file in {RESULTS}")
    PICTURES.mkdir(parents=True, exist_ok=True)
    all = kept()
    for lines in parts:
        head, *records = lines
        title, met, body = head["title"], [m for m, _ in verdicts(records)], list(part(lines))
        if drawn := picture(lines):
            (PICTURES / f"{head['part']}.svg").write_text(drawn, encoding="utf-8")
            body[1:1] = ["", f"![{title}](docs/figures/bench/{head['part']}.svg)"]
        line = f"| {title} | {head['date'][:10]} | {head['version']} {head['commit']} | {sum(met)} of {len(met)} |"
        all[title] = line, "\n".join(body).rstrip()
    text = [HEAD, "| part | measured | version | goals met |", "| --- | --- | --- | --: |", *(line for line, _ in all.values())]
    for _, section in all.values():
        text += ["", section]
    text += ["", (HERE / "bounds.md").read_text(encoding="utf-8").rstrip()]
    REPORT.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
