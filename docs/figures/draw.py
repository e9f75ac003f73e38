#!/usr/bin/env python3
"""usage: draw.py    draws codecs.svg, filters.svg, chunks.svg and dictionaries.svg

The files are written beside this one, from the measurements of measure.sh.
`draw.py --check` draws nothing, and fails if one of them differs from the measurements.
"""

import csv
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = {"weather": "weather, float64", "field": "a smooth field, int32"}
# The filter with which most codecs reach the best ratio for each of these.
BEST = {"weather": "none", "field": "shuffle"}
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1c2026 } .dim { fill: #5a6472; font-size: 11px } .title { font-size: 13px; font-weight: 600 }
.grid { stroke: #dde1e7 } .end { text-anchor: end } .middle { text-anchor: middle } polyline { fill: none; stroke-width: 1.6 }
.c0 { fill: #b5651d; stroke: #b5651d } .c1 { fill: #1b6fc2; stroke: #1b6fc2 } .c2 { fill: #7a4fb5; stroke: #7a4fb5 }
.c3 { fill: #5d7a1f; stroke: #5d7a1f } .c4 { fill: #c2334d; stroke: #c2334d } text.c0, text.c1, text.c2, text.c3, text.c4 { stroke: none }
@media (prefers-color-scheme: dark) { text { fill: #dfe3ea } .dim { fill: #98a2b1 } .grid { stroke: #2f353e }
.c0 { fill: #e39a55; stroke: #e39a55 } .c1 { fill: #6db1f7; stroke: #6db1f7 } .c2 { fill: #b796ee; stroke: #b796ee }
.c3 { fill: #a5c455; stroke: #a5c455 } .c4 { fill: #f2788c; stroke: #f2788c } }
"""


class Picture:
    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'width="{width}" height="{height}" role="img">',
                      f"<title>{title}</title><style>{STYLE}</style>"]  # fmt: skip

    def text(self, x, y, text, kind=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{text}</text>')

    def line(self, x1, y1, x2, y2):
        self.parts.append(f'<path class="grid" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>')

    def bar(self, x, y, width, height, kind):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" '
            f'class="{kind}"/>'
        )

    def path(self, points, kind):
        self.parts.append(
            f'<polyline class="{kind}" style="fill:none" '
            f'points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
        )
        self.parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" class="{kind}"/>' for x, y in points
        ]

    def done(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


class Panel:
    """A part of a picture: ratios from left to right, another number upwards, by its logarithm.

    corner: of the upper left. ratios, numbers: the least and the greatest.
    """

    def __init__(self, picture, corner, size, ratios, numbers):
        self.picture, self.corner, self.size = picture, corner, size
        self.ratios, self.numbers = ratios, [math.log10(n) for n in numbers]

    def point(self, ratio, number):
        (x0, y0), (width, height) = self.corner, self.size
        (least, most), (low, top) = self.ratios, self.numbers
        return (
            x0 + (ratio - least) / (most - least) * width,
            y0 + height - (math.log10(number) - low) / (top - low) * height,
        )

    def frame(self, title, unit, numbers, ratios):
        """Draws what surrounds the lines. numbers, ratios: those with a mark."""
        (x0, y0), (width, height), text = self.corner, self.size, self.picture.text
        text(x0, y0 - 22, title, "title")
        for number in numbers:
            y = self.point(self.ratios[0], number)[1]
            self.picture.line(x0, y, x0 + width, y)
            text(x0 - 6, y + 4, f"{number:g}", "dim end")
        text(x0 - 6, y0 - 6, unit, "dim end")
        for ratio in ratios:
            text(self.point(ratio, 1)[0], y0 + height + 16, f"{ratio:g}", "dim middle")
        text(x0 + width, y0 + height + 32, "times smaller", "dim end")

    def lines(self, rows, key, kinds, what):
        """Draws a line per kind, through the points of its rows."""
        for i, kind in enumerate(kinds):
            some = [row for row in rows if row[key] == kind]
            points = [self.point(float(row["ratio"]), float(row[what])) for row in some]
            self.picture.path(points, f"c{i}")


def read(name):
    with open(HERE / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def codecs():
    """Draws ratio and speed: one line per codec, with points for levels 1, 5 and 9."""
    rows = read("codecs.csv")
    kinds = list(dict.fromkeys(row["codec"] for row in rows))
    picture = Picture(760, 620, "Ratio and speed of the codecs at levels 1, 5 and 9")
    for column, data in enumerate(DATA):
        some = [row for row in rows if row["data"] == data and row["filter"] == BEST[data]]
        ratios = [float(row["ratio"]) for row in some]
        least, most = math.floor(min(ratios) * 0.9), max(ratios) * 1.05
        for line, what in enumerate(("write", "read")):
            numbers = 1.5 if what == "write" else 200, 8000
            corner, size = (50 + column * 375, 45 + line * 300), (310, 205)
            panel = Panel(picture, corner, size, (least, most), numbers)
            panel.frame(
                f"{'Writing' if what == 'write' else 'Reading'} {DATA[data]}, filter {BEST[data]}",
                "MB/s",
                [speed for speed in (2, 10, 50, 200, 500, 1000, 2000, 5000) if speed > numbers[0]],
                [n / 2 for n in range(2 * least, int(2 * most) + 1, 2 if most > 6 else 1)],
            )
            panel.lines(some, "codec", kinds, what)
    for i, kind in enumerate(kinds):
        picture.text(50 + i * 80, 610, kind, f"c{i} title")
    picture.text(750, 610, "each line: level 1, 5, 9", "dim end")
    return picture.done()


def filters():
    """Draws the ratio by filter."""
    rows = read("codecs.csv")
    chosen = (("lz4", "5"), ("zstd", "1"), ("zstd", "5"))
    picture = Picture(760, 235, "How much smaller, by filter")
    for column, data in enumerate(DATA):
        x0, width = 120 + column * 375, 200
        picture.text(x0 - 70, 20, DATA[data], "title")
        some = {
            (row["codec"], row["level"], row["filter"]): float(row["ratio"])
            for row in rows
            if row["data"] == data
        }
        most = max(
            some[one + (kind,)] for one in chosen for kind in ("none", "shuffle", "bitshuffle")
        )
        y = 38
        for codec, level in chosen:
            picture.text(x0 - 110, y + 28, f"{codec} {level}")
            for i, kind in enumerate(("none", "shuffle", "bitshuffle")):
                ratio = some[codec, level, kind]
                picture.bar(x0, y, ratio / most * width, 14, f"c{i}")
                picture.text(x0 - 5, y + 11, kind, "dim end")
                picture.text(x0 + ratio / most * width + 5, y + 11, f"{ratio:.1f}", "dim")
                y += 18
            y += 10
    return picture.done()


def chunks():
    """Draws the time of each kind of read, by chunk shape."""
    rows = read("chunks.csv")
    kinds, shapes = (list(dict.fromkeys(row[name] for row in rows)) for name in ("read", "chunks"))
    picture = Picture(760, 520, "Time to read boxes, by shape of chunks and blocks")
    for n, kind in enumerate(kinds):
        x0, y0, width = 190 + n % 2 * 290, 40 + n // 2 * 170, 190
        took = {row["chunks"]: float(row["microseconds"]) for row in rows if row["read"] == kind}
        low, top = math.log10(min(took.values()) / 2), math.log10(max(took.values()))
        picture.text(
            x0,
            y0 - 8,
            {"item": "one item", "all": "everything", "cube of 32": "a cube of 32"}.get(
                kind, f"a plane across {kind[-1]}"
            ),
            "title",
        )
        for i, shape in enumerate(shapes):
            length = (math.log10(took[shape]) - low) / (top - low) * width
            if n % 2 == 0:
                picture.text(x0 - 8, y0 + 12 + i * 18, shape, "end")
            picture.bar(
                x0,
                y0 + 2 + i * 18,
                length,
                13,
                "c1" if took[shape] <= 2 * min(took.values()) else "c0",
            )
            picture.text(x0 + length + 5, y0 + 12 + i * 18, shown(took[shape]), "dim")
    return picture.done()


def dictionaries():
    """Draws size and speed of short records: one line per size of the dictionary, with points for
    the levels."""
    rows = read("dictionaries.csv")
    kinds = list(dict.fromkeys(row["dictionary"] for row in rows))
    names = {"text": "text, 200 bytes", "flights": "flights as JSON"}
    picture = Picture(760, 590, "Size and speed of short records, with dictionaries")
    for column, data in enumerate(names):
        some = [row for row in rows if row["data"] == data]
        most = max(float(row["ratio"]) for row in some) * 1.05
        for line, (what, title) in enumerate((("write", "Writing"), ("random", "Reading at random"))):
            took = [float(row[what]) for row in some]
            numbers = 0.9 * min(took), 1.1 * max(took)
            corner, size = (50 + column * 375, 45 + line * 285), (310, 195)
            panel = Panel(picture, corner, size, (1, most), numbers)
            step = 0.5 if most < 5 else 2
            panel.frame(
                f"{title}: {names[data]}",
                "µs",
                [n for n in (1, 2, 5, 10, 20, 50, 100) if numbers[0] <= n <= numbers[1]],
                [1 + n * step for n in range(int((most - 1) / step) + 1)],
            )
            panel.lines(some, "dictionary", kinds, what)
    for i, kind in enumerate(kinds):
        name = f"{int(kind) >> 10} KiB" if int(kind) else "no dictionary"
        picture.text(50 + i * 120, 580, name, f"c{i} title")
    picture.text(750, 580, "each line: level 1, 3, 9, 19", "dim end")
    return picture.done()


def shown(microseconds):
    return (
        f"{microseconds / 1000:.0f} ms"
        if microseconds >= 10000
        else f"{microseconds / 1000:.1f} ms" if microseconds >= 1000 else f"{microseconds:.0f} µs"
    )


def main():
    for name, drawn in (
        ("codecs.svg", codecs()),
        ("filters.svg", filters()),
        ("chunks.svg", chunks()),
        ("dictionaries.svg", dictionaries()),
    ):
        file = HERE / name
        if sys.argv[1:] == ["--check"]:
            if not file.exists() or file.read_text(encoding="utf-8") != drawn:
                sys.exit(f"{name} is out of date; run docs/figures/draw.py")
        else:
            file.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
