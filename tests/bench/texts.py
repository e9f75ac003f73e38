"""Texts for records."""

import numpy as np

LETTERS = "b d f g k l m n p r s t v st tr ch th".split(), "a e i o u ai ea ou an er in on".split()


def text(rng):
    """Returns some 27 MB of text in an invented vocabulary, part of which is frequent, as bytes."""
    syllables = [a + b for a in LETTERS[0] for b in LETTERS[1]]
    vocabulary = np.array(
        ["".join(rng.choice(syllables, size=n)) + " " for n in rng.integers(1, 5, size=20_000)]
    )
    weights = 1 / (np.arange(1, len(vocabulary) + 1) + 2.7)
    return "".join(rng.choice(vocabulary, size=4_000_000, p=weights / weights.sum()).tolist()).encode()
