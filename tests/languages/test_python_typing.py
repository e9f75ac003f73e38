"""The types of the Python module: those of the package itself, and of a program that uses it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "bindings/python"


class Typing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def check(self, *arguments):
        config = ["--config-file", PACKAGE / "pyproject.toml", "--cache-dir", self.folder / "cache"]
        command = [sys.executable, "-m", "mypy", *config, *arguments]
        done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_package(self):
        status, out = self.check()
        self.assertEqual(status, 0, out)

    def test_typed_program(self):
        status, out = self.check("--strict", "--follow-imports=silent", HERE / "typed.py")
        self.assertEqual(status, 0, out)

    def test_wrong_programs_are_found(self):
        wrong = self.folder / "wrong.py"
        lines = ("holdall.BagWriter('x').append('text')", "holdall.Table('x').write(0, 'a', [1])", "holdall.Bag('x').splits('4')", "holdall.Array('x').size()")
        wrong.write_text("\n".join(("import holdall", *lines)) + "\n")
        status, out = self.check("--follow-imports=silent", wrong)
        self.assertEqual(status, 1, out)
        for number in range(2, 2 + len(lines)):
            self.assertIn(f"wrong.py:{number}: error", out)


if __name__ == "__main__":
    unittest.main()
