"""The constants that C++ and Go list by hand: options, statuses, formats and the like, all of those in the C headers."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/generate"))
import header  # noqa: E402

FAMILIES = ("OPT", "E", "CODEC", "FILTER", "CHECKSUM", "FORMAT", "KIND", "ORDER", "IO", "BAG_LIMITS", "BAG_SHARDS")
VALUES = dict(header.constants(ROOT / "include/holdall.h"))


def named(pattern, files):
    return set(re.findall(pattern, "".join(path.read_text() for path in sorted(files))))


def listed(*families):
    return {name for name in VALUES if re.match(rf"HOLDALL_({'|'.join(families)})_(?!LIMITS_CACHE)", name)}


class Constants(unittest.TestCase):
    def test_go_has_all(self):
        files = [path for path in (ROOT / "bindings/go").glob("*.go") if not path.name.endswith("_test.go")]
        have = named(r"\bC\.(HOLDALL_\w+)", files)
        self.assertEqual(set(), listed(*FAMILIES) - have)

    def test_cxx_has_all(self):
        # statuses are those of holdall_error
        have = named(r"\b(HOLDALL_\w+)", (ROOT / "include/holdall").glob("*.hpp"))
        self.assertEqual(set(), listed(*FAMILIES) - have - listed("E"))

    def test_options_are_called_by_their_names(self):
        of_cxx = dict(re.findall(r"HOLDALL_(?:NUMBER|OPTION)\((\w+), .*?\b(HOLDALL_OPT_\w+)", (ROOT / "include/holdall/options.hpp").read_text()))
        self.assertEqual({name: "HOLDALL_OPT_" + name.upper() for name in of_cxx}, of_cxx)
        of_go = dict(re.findall(r"^func (\w+)\(.*C\.HOLDALL_OPT_(\w+)", (ROOT / "bindings/go/options.go").read_text(), flags=re.M))
        others = {"VerifyLevel": "VERIFY", "Compress": "CODEC", "FortranOrder": "ORDER"}
        self.assertGreater(len(of_go), 30)
        for name, option in of_go.items():
            self.assertEqual(option, others.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper())

    def test_names_of_enumerations(self):
        """`codec { lz4hc = HOLDALL_CODEC_LZ4HC` and the like have one name."""
        pairs = re.findall(r"\b(\w+) = HOLDALL_(?:FORMAT|KIND|CODEC|FILTER|CHECKSUM|ORDER|IO|BAG_LIMITS|BAG_SHARDS)_(\w+)", (ROOT / "include/holdall/options.hpp").read_text())
        self.assertGreater(len(pairs), 35)
        self.assertEqual([], [(name, constant) for name, constant in pairs if name.upper() != constant])


if __name__ == "__main__":
    unittest.main()
