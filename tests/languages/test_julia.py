"""The Julia package, without a Julia: its files are Julia, its layer of calls is what the header says, and works as it is written."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import julia
import script

LIB = os.environ["HOLDALL_LIB"]


def compiles(source):
    """With C++, as users have it; what it says."""
    flags = ["-std=c++17", "-fsyntax-only", "-DHOLDALL_USE=", f"-I{julia.ROOT / 'include'}", "-xc++", "-"]
    done = subprocess.run([*os.environ.get("CXX", "c++").split(), *flags], input=source, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


class Julia(unittest.TestCase):
    def test_every_file_is_julia(self):
        files = sorted((julia.ROOT / "bindings/julia").rglob("*.jl"))
        self.assertGreater(len(files), 8)
        for file in files:
            self.assertEqual([], list(julia.faults(julia.parse(file.read_text()))), file)
        for document in ("docs/languages.md", "bindings/julia/README.md"):
            (block,) = re.findall(r"```julia\n(.*?)```", (julia.ROOT / document).read_text(), flags=re.S)
            self.assertEqual([], list(julia.faults(julia.parse(block))), document)
        self.assertTrue(list(julia.faults(julia.parse("f(a = \n"))), "the grammar takes anything")

    def test_the_layer_is_up_to_date(self):
        write = [sys.executable, str(julia.ROOT / "bindings/generate/write.py"), "--check"]
        subprocess.run(write, check=True, stdout=subprocess.DEVNULL)

    def test_a_compiler_says_the_layer_is_the_header(self):
        layer = julia.read()
        declared = "".join(path.read_text() for path in (julia.ROOT / "include/holdall").glob("*.h"))
        self.assertEqual(set(re.findall(r"\b(holdall_\w+)\(", re.sub(r"/\*.*?\*/", "", declared, flags=re.S))), set(layer.functions))
        good, said = compiles(julia.checks(layer))
        self.assertTrue(good, said)
        # A wrong width, a missing argument, another handle and another constant are all found.
        result, given = layer.functions["holdall_bag_slice"]
        for wrong in ([*given[:1], ("start", "UInt32"), *given[2:]], given[:-1], [("bag", "Ptr{holdall_array}"), *given[1:]]):
            layer.functions["holdall_bag_slice"] = (result, wrong)
            self.assertFalse(compiles(julia.checks(layer))[0], wrong)
        layer.functions["holdall_bag_slice"] = (result, given)
        layer.constants["HOLDALL_E_IO"] += 1
        self.assertFalse(compiles(julia.checks(layer))[0])

    def test_every_function_is_called_as_the_layer_says(self):
        layer = julia.read()
        folder = tempfile.mkdtemp(prefix="holdall-julia-")
        self.addCleanup(shutil.rmtree, folder)
        caller = julia.caller(layer, LIB)
        self.assertEqual([], script.run(caller, folder))
        print(f"{len(caller.called)} functions called as libholdall.jl says")

    def test_the_package_names_functions_of_the_layer(self):
        """What the rest of the package calls and names is there."""
        layer = julia.read()
        known = {*layer.functions, *layer.handles, *layer.structs}
        for file in sorted((julia.ROOT / "bindings/julia/src").glob("*.jl")):
            if file != julia.LAYER:
                named = re.sub(r"#.*", "", file.read_text())
                self.assertEqual(set(), set(re.findall(r"\bholdall_\w+", named)) - known, file)
                self.assertEqual(set(), set(re.findall(r"\bHOLDALL_[A-Z]\w+", named)) - set(layer.constants) - {"HOLDALL_LIB", "HOLDALL_OPT_", "HOLDALL_FORMAT_", "HOLDALL_KIND_"}, file)

    def test_the_packages_have_the_version_of_the_library(self):
        found = {re.search(r'^version = "(.*)"', (julia.ROOT / name).read_text(), flags=re.M)[1] for name in ("Cargo.toml", "bindings/julia/Project.toml", "bindings/python/pyproject.toml")}
        self.assertEqual(len(found), 1, found)
        soname = ".".join(found.pop().split(".")[:2])
        self.assertIn(f"libholdall.so.{soname}", (julia.ROOT / "bindings/julia/src/Holdall.jl").read_text())


if __name__ == "__main__":
    unittest.main()
