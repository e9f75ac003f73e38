"""Texts for records.

HOLDALL_DATA is the folder with the flights, see bench_real.py.
"""

import os
import pathlib
import zipfile

import numpy as np
from rows import ROOT

DATA = pathlib.Path(os.environ.get("HOLDALL_DATA") or ROOT.parent / "shared" / "data")
FLIGHTS = DATA / "nyc-flights-2013.csv.zip"
LETTERS = "b d f g k l m n p r s t v st tr ch th".split(), "a e i o u ai ea ou an er in on".split()


def text(rng):
    """Returns some 31 MB of text in an invented vocabulary, part of which is frequent, as bytes."""
    syllables = [a + b for a in LETTERS[0] for b in LETTERS[1]]
    vocabulary = np.array(
        ["".join(rng.choice(syllables, size=n)) + " " for n in rng.integers(1, 5, size=20_000)]
    )
    weights = 1 / (np.arange(1, len(vocabulary) + 1) + 2.7)
    return "".join(rng.choice(vocabulary, size=4_000_000, p=weights / weights.sum()).tolist()).encode()


def flights():
    """The text of the table: a line of names, and one for each flight."""
    with zipfile.ZipFile(FLIGHTS) as archive:
        return archive.read("flights.csv")
