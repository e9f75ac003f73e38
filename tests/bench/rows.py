"""Measurements as data: an operation of several libraries, timed in turns (`Row`), and a part of
such rows, which is written to a file of JSON lines in target/bench. report.py generates
tests/bench/results, the charts and BENCHMARKS.md from these files. Parts may be measured at
different times: each records its date and version.

HOLDALL_BENCH_ROUNDS is the number of rounds (default 5).
"""

import dataclasses
import datetime
import json
import mmap
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "target" / "bench"
ROUNDS = int(os.environ.get("HOLDALL_BENCH_ROUNDS", 5))
# of the limit of a row: the rest is for reading and copying
OF_BOUND = 0.9
# languages of ways that are called natively
NATIVE = ("C", "C++", "Rust")
# bytes of memory that are touched before each way, minimum and maximum
READY = 1 << 28, 1 << 31


def measure(what, theirs, ours, seconds=float("inf"), warm=True, nbytes=0):
    """Returns the seconds of each way in each round after a warm-up; the ways, by name, are
    functions that return them. After so many seconds there are only two rounds."""
    ways = {("theirs", k): f for k, f in theirs.items()} | {("ours", k): f for k, f in ours.items()}
    # both sides in turns
    order = sorted(ways, key=lambda w: ([k for k in ways if k[0] == w[0]].index(w), w[0] == "ours"))
    times = {w: [] for w in ways}
    print(f"\r{what[:78]:78}", end="", file=sys.stderr, flush=True)
    start = time.monotonic()
    for done in range(not warm, ROUNDS + 1):
        if done > 2 and time.monotonic() - start > seconds:
            break
        for w in order:
            prepare(nbytes)
            took = ways[w]()
            if done:
                times[w].append(took)
    return times


def prepare(nbytes):
    """Removes causes that would slow down the next way independently of its own work. The C library
    defers work until a larger allocation, tens of milliseconds after a million small frees. Threads
    of the previous way may still be running. A virtual machine returns free memory to its host
    after some seconds, and the first touch then takes fifty times as long; therefore twice the size
    of the content, within bounds, is touched here."""
    bytearray(1 << 16)
    least, most = READY
    with mmap.mmap(
        -1, min(max(2 * nbytes, least), most), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    ) as ready:
        ready.madvise(mmap.MADV_HUGEPAGE)
        ready[:: mmap.PAGESIZE] = bytes(-(-len(ready) // mmap.PAGESIZE))
    time.sleep(0.03)


def is_limit(way):
    """A lower bound, not a peer: the codec alone, the file's bytes alone, memcpy alone."""
    return " alone" in way


def named(ways, language):
    """The ways with names that end with their language."""
    return {f"{way}, {language}": f for way, f in ways.items()}


def is_native(side, way):
    """Whether a way is called from C, C++ or Rust. Peers are called from Python, holdall from C,
    unless the name of the way ends with another language."""
    language = way.rpartition(", ")[2]
    return language != "Python" if side == "ours" else language in NATIVE


def peers(theirs, our_way, ours):
    """The ways of theirs, by name, that are called from the same kind of language as one of ours;
    all of them if none of ours is called from Python."""
    if all(is_native("ours", way) for way in ours):
        return list(theirs)
    return [t for t in theirs if is_native("theirs", t) == is_native("ours", our_way)]


@dataclasses.dataclass
class Row:
    """One operation of both sides. `theirs` and `ours` are ways to do it, by name, as functions
    that return seconds; some of `theirs` may be limits. Peers are called from Python, holdall from
    C; `native` are further ways of theirs, by language and name, and `python` takes the commands of
    ours from Python, as far as it has methods of their names. Only ways in the same kind of
    language are compared.

    The goal is that ours are `goal` times as fast as the first of theirs, or as all of them
    (`to_all`), except those that are `shown`, which are not comparable. If `bound` names a limit,
    it is enough to take hardly longer than the limit. `goals` are further goals: a way of ours, the
    ways of theirs of which the fastest is compared, and the factor. A goal applies to the way in
    each language; a limit, only to that from C."""

    what: str
    theirs: dict
    ours: dict
    goal: float = 0
    nbytes: int = 0  # bytes of content; 0: times are shown
    each: int = 1  # divisor of the time
    shown: tuple = ()
    note: str = ""
    to_all: bool = False
    bound: str = ""
    goals: list = dataclasses.field(default_factory=list)
    times: dict = dataclasses.field(default_factory=dict)
    native: dict = dataclasses.field(default_factory=dict)
    python: object = None

    def __post_init__(self):
        for language, ways in self.native.items():
            self.theirs = self.theirs | named(ways, language)
        if self.python:
            self.ours = self.ours | named(
                {
                    way: run.by(self.python)
                    for way, run in self.ours.items()
                    if not way.endswith(", Python")
                    and hasattr(run, "by")
                    and hasattr(self.python, run.command[0])
                },
                "Python",
            )
            self.shown = (*self.shown, *named(dict.fromkeys(self.shown), "Python"))
        self.native = self.python = None  # functions hold their data

    def measure(self, **limits):
        """Measures and then drops the functions, because they hold their data. `limits` are as in
        `measure`."""
        self.times = measure(self.what, self.theirs, self.ours, **{"nbytes": self.nbytes, **limits})
        self.theirs, self.ours = dict.fromkeys(self.theirs), dict.fromkeys(self.ours)

    def median(self, whose, way):
        return statistics.median(self.times[whose, way]) / self.each

    def ratio(self, their_way, our_way):
        """Returns the median over the rounds."""
        return statistics.median(
            a / b for a, b in zip(self.times["theirs", their_way], self.times["ours", our_way])
        )

    def peers(self, our_way, of):
        return peers([t for t in of if not is_limit(t)], our_way, self.ours)

    def all_goals(self):
        """Each is a way of ours, one of theirs, and the minimum ratio."""
        for way in self.ours if self.goal else ():
            if way not in self.shown:
                yield from ((way, t, self.goal) for t in self.held_to(way))
        for name, some, least in self.goals:
            for way in [w for w in self.ours if w in (name, *named({name: 0}, "Python"))]:
                against = self.peers(way, self.theirs_of(some))
                if is_native("ours", way):
                    against += filter(is_limit, some)
                if against:
                    yield way, min(against, key=lambda t: self.median("theirs", t)), least

    def held_to(self, way):
        """Those of theirs to which the goal compares a way of ours."""
        first = next(iter(self.theirs))
        if is_limit(first) and not self.to_all:
            return [first] if is_native("ours", way) else []
        return self.peers(way, self.theirs)[: None if self.to_all else 1]

    def theirs_of(self, names):
        """The ways of these names in all languages."""
        all = {*names, *(f"{name}, {language}" for name in names for language in NATIVE)}
        return [t for t in self.theirs if t in all]

    def reached(self):
        for way, theirs, least in self.all_goals():
            goal = dict(way=way, against=theirs, ratio=self.ratio(theirs, way), least=least)
            goal["reached"] = goal["ratio"] >= least
            if self.bound and theirs != self.bound and is_native("ours", way):
                goal |= dict(
                    limit=self.bound, share=self.ratio(self.bound, way), share_least=OF_BOUND
                )
                goal["reached"] |= goal["share"] >= OF_BOUND
            yield goal

    def record(self):
        ways = [
            dict(
                side="ours" if whose == "ours" else "limit" if is_limit(way) else "theirs",
                way=way,
                seconds=[t / self.each for t in times],
            )
            for (whose, way), times in self.times.items()
        ]
        return dict(
            kind="row",
            what=self.what,
            nbytes=self.nbytes,
            note=self.note,
            shown=self.shown,
            ways=ways,
            goals=list(self.reached()),
        )


def goal(reached, text):
    """A goal that is not a ratio of times."""
    return dict(kind="goal", reached=bool(reached), text=text)


def memory(what, mib):
    """The memory peak of each, in MiB."""
    return dict(kind="memory", what=what, mib=mib)


def table(head, lines, drawn=None):
    """Figures that are shown without a comparison; `drawn`: amounts by name for a chart, with its
    caption and their limit."""
    return dict(kind="table", head=head, lines=lines, drawn=drawn)


def curve(what, unit, across, lines):
    """Figures over an increasing number; `lines` are pairs of such a number and seconds, by
    name."""
    return dict(kind="curve", what=what, unit=unit, across=across, lines=lines)


# ---- a part


@dataclasses.dataclass
class Part:
    """The results of one script: a title, remarks, versions of the others, and records in order."""

    title: str
    version: str  # of holdall
    versions: dict
    notes: list
    records: list
    copy: float = 0  # memcpy, bytes per second

    def lines(self, name):
        head = dict(
            kind="part",
            part=name,
            title=self.title,
            date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            version=self.version,
            commit=commit(),
            versions=self.versions | dict(python=platform.python_version()),
            machine=dict(
                processor=processor(),
                processors=len(os.sched_getaffinity(0)),
                system=f"{platform.system()} {platform.release()}",
                memcpy=self.copy,
            ),
            rounds=ROUNDS,
            notes=self.notes,
        )
        return [head, *(r.record() if isinstance(r, Row) else r for r in self.records)]


def publish(compare, name):
    """Writes the part that `compare` creates, given a folder for its files, to target/bench as
    `name`, and prints it."""
    import report

    with tempfile.TemporaryDirectory(prefix="holdall-bench-") as folder:
        lines = compare(pathlib.Path(folder)).lines(name)
    print("\r" + " " * 78 + "\r", end="", file=sys.stderr)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    print("\n".join(report.part(lines)))


# ---- the machine


def commit():
    """Returns the version of the tree, with a plus if files were changed; nothing without git."""
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True
    )
    return git.stdout.strip()


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
