"""What the tests of the Python module have in common: the module of this tree, a folder of their own, drawn numbers."""
import itertools
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python"))

import holdall  # noqa: E402

SEED = int(os.environ.get("HOLDALL_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 30)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-python-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng = random.Random(f"{SEED} {self._testMethodName}")
        self.files = itertools.count()
        warnings.simplefilter("error")

    def path(self, name=""):
        return self.folder / f"{next(self.files)}{name}"

    def bag(self, records, name=".bagz", **options):
        path = self.path(name)
        with holdall.BagWriter(path, **options) as w:
            w.extend(records)
            w.commit()
        return path
