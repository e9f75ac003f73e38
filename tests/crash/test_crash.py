#!/usr/bin/env python3
"""Checks the states that a crash may leave of a commit, from recorded system calls.

strace records the calls of a program that writes or changes a container. Then a crash is simulated
after each of them: changes that were not yet durable are present or absent, according to the rules
of a file system, in random combinations. Each state is written to a folder, read, and changed. It
must be the last commit or the next one, and the next one after the commit has returned.

Two sets of rules:
- linux: names, and truncations, become durable in the order of the calls; a sync of any file or
  folder includes the earlier ones. Bytes written to a file are durable after a sync of that file;
  before, any part of them may be.
- posix: a sync of a file makes its content durable, and a sync of a folder the names in it. Nothing
  else does, and there is no order.

HOLDALL_CRASHES: number of states for each change and set of rules; HOLDALL_CRASH_RULES: the sets;
HOLDALL_SEED: the seed of the random numbers. Needs HOLDALL_LIB (the shared library), HOLDALL_TOOL,
strace and a C compiler; passes with a message if strace is missing.
"""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.append(str(SOURCE / "tools/tests"))
from tool import run as run_tool

STATES = int(os.environ.get("HOLDALL_CRASHES", 30))
RULES = os.environ.get("HOLDALL_CRASH_RULES", "linux posix").split()
SEED = int(os.environ.get("HOLDALL_SEED", 1))
OLD, NEW = 40, 65
SECTOR = 512
CALLS = (
    "openat,open,creat,close,dup,dup2,dup3,fcntl,write,writev,pwrite64,pwritev,pwritev2,"
    "ftruncate,truncate,fallocate,copy_file_range,sendfile,"
    "fsync,fdatasync,sync,syncfs,sync_file_range,rename,renameat,renameat2,unlink,unlinkat,"
    "rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,mmap"
)
COMMANDS = ("identify", "info", "cat", "verify")
REFUSED = {
    "writev",
    "pwritev",
    "pwritev2",
    "copy_file_range",
    "sendfile",
    "truncate",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "sync",
    "syncfs",
}


class Node:
    """A file or a folder: its content, and when it was created."""

    def __init__(self, is_folder, content=b""):
        self.is_folder, self.content, self.names = is_folder, content, {}


def load(path):
    node = Node(path.is_dir(), b"" if path.is_dir() else path.read_bytes())
    if node.is_folder:
        node.names = {p.name: load(p) for p in path.iterdir()}
    return node


def text(quoted):
    return bytes.fromhex(quoted.replace("\\x", ""))


class Recorded:
    """The changes of a trace. Each is (kind, node, what, the syncs that make it durable under each
    rule)."""

    def __init__(self, root, before, trace):
        self.path, self.root, self.changes, self.committed = (
            os.path.realpath(root),
            before,
            [],
            None,
        )
        self.now = {
            id(before): dict(before.names)
        }  # the names of each folder, as the program sees them
        self.folders, self.fds = {id(before): before}, {}
        self.take_in(before)
        for line in trace.splitlines():
            self.call(line)

    def take_in(self, node):
        self.folders[id(node)] = node
        self.now[id(node)] = dict(node.names)
        for below in node.names.values():
            if below.is_folder:
                self.take_in(below)

    def find(self, path, at=None):
        """Returns the folder of a path, and its last component; None if it is outside."""
        if not path.startswith("/"):
            path = os.path.join(at or os.getcwd(), path)
        path = os.path.normpath(path)
        if path == self.path:
            return self.root, None
        if not path.startswith(self.path + "/"):
            return None, None
        *way, name = path[len(self.path) + 1 :].split("/")
        folder = self.root
        for step in way:
            folder = self.now[id(folder)].get(step)
            if folder is None:
                return None, None
        return folder, name

    def node(self, folder, name):
        return folder if name is None else self.now[id(folder)].get(name)

    def name(self, *changes):
        """Names that are added and removed in one call: (folder, name, node or None)."""
        for folder, name, node in changes:
            self.now[id(folder)].pop(name, None)
            if node is not None:
                self.now[id(folder)][name] = node
        self.changes.append(("names", None, changes))

    def path_of(self, call, args, k):
        """Returns the k-th path of a call, with the folder that it is relative to."""
        strings = re.findall(r'"((?:\\x[0-9a-f]{2})*)"', args)
        at = None
        if call.endswith(("at", "at2")):
            number = re.findall(r"(AT_FDCWD|\b\d+), \"", args)[k]
            at = None if number == "AT_FDCWD" else self.fds.get(int(number), (None, None))[1]
        return os.path.join(at or os.getcwd(), os.fsdecode(text(strings[k])))

    def call(self, line):
        line = re.sub(r"^(\[pid +\d+\]|\d+) +", "", line)
        found = re.match(r"(\w+)\((.*)\) += (-?\d+)", line)
        if not found:
            if "unfinished" in line or "resumed" in line:
                raise AssertionError(f"calls of several threads: {line[:200]}")
            return
        call, args, result = found[1], found[2], int(found[3])
        if result < 0:
            return
        fd = int(re.match(r"\d+", args)[0]) if re.match(r"\d+", args) else None
        if call in ("openat", "open", "creat"):
            path = self.path_of(call, args, 0)
            folder, name = self.find(path)
            self.fds[result] = (None, path)
            if folder is None:
                return
            node = self.node(folder, name)
            if node is None:
                assert "O_CREAT" in args or call == "creat", line
                node = Node(False)
                self.name((folder, name, node))
            elif "O_TRUNC" in args:
                self.changes.append(("cut", node, 0))
            self.fds[result] = (node, path)
        elif call == "close":
            self.fds.pop(fd, None)
        elif call == "fcntl" and "F_DUPFD" in args or call.startswith("dup"):
            self.fds[result] = self.fds.get(fd, (None, None))
        elif call in ("write", "pwrite64"):
            bytes_ = text(re.search(r'"((?:\\x[0-9a-f]{2})*)"', args)[1])
            if fd == 1 and bytes_ == b"committed\n":
                self.committed = len(self.changes)
            node = self.fds.get(fd, (None,))[0]
            if node is not None:
                assert (
                    call == "pwrite64" and len(bytes_) >= result
                ), f"{line[:200]}: a write at an unknown offset"
                self.changes.append(
                    ("write", node, (int(args.rsplit(", ", 1)[1]), bytes_[:result]))
                )
        elif call in ("ftruncate", "fallocate"):
            node = self.fds.get(fd, (None,))[0]
            if node is not None and call == "ftruncate":
                self.changes.append(("cut", node, int(args.rsplit(", ", 1)[1])))
        elif call in ("fsync", "fdatasync"):
            node = self.fds.get(fd, (None,))[0]
            if node is not None:
                self.changes.append(("sync", node, None))
        elif call.startswith("rename"):
            (a, x), (b, y) = self.find(self.path_of(call, args, 0)), self.find(
                self.path_of(call, args, 1)
            )
            if a is not None or b is not None:
                assert a is not None and b is not None and "RENAME_EXCHANGE" not in args, line[:200]
                self.name((a, x, None), (b, y, self.node(a, x)))
        elif call in ("unlink", "unlinkat", "rmdir"):
            folder, name = self.find(self.path_of(call, args, 0))
            if folder is not None:
                self.name((folder, name, None))
        elif call in ("mkdir", "mkdirat"):
            folder, name = self.find(self.path_of(call, args, 0))
            if folder is not None:
                node = Node(True)
                self.folders[id(node)], self.now[id(node)] = node, {}
                self.name((folder, name, node))
        elif call == "mmap":
            assert not (
                "PROT_WRITE" in args and "MAP_SHARED" in args and self.inside(args)
            ), f"{line[:200]}: written through a mapping"
        elif call in REFUSED and (call.startswith("sync") or self.inside(args)):
            raise AssertionError(f"{line[:200]}: the rig does not know what this makes durable")

    def inside(self, args):
        return any(
            self.fds.get(int(n), (None,))[0] is not None for n in re.findall(r"\b\d+\b", args)[:5]
        )

    def left(self, until, rules, rng):
        """Returns the changes before `until` that a crash leaves, in order."""
        durable = set()
        for i, (kind, synced, _) in enumerate(self.changes[:until]):
            if kind != "sync":
                continue
            for k, (other, node, what) in enumerate(self.changes[:i]):
                content = node is synced and other in ("write", "cut")
                if rules == "linux":
                    durable |= {k} if content or other in ("names", "cut") else set()
                else:
                    durable |= {k} if content else set()
                    if other == "names" and all(
                        f is synced or (k, id(f)) in durable for f, _, _ in what
                    ):
                        durable.add(k)
                    durable |= (
                        {(k, id(f)) for f, _, _ in what if f is synced}
                        if other == "names"
                        else set()
                    )
        open_ = [k for k in range(until) if self.changes[k][0] != "sync" and k not in durable]
        # all of them, none, some, one, or all but one
        chance = rng.choice([0, 1, rng.random(), 0.5, "one", "others"])
        one = rng.choice(open_) if open_ else None
        ordered = [k for k in open_ if rules == "linux" and self.changes[k][0] in ("names", "cut")]
        stop = rng.randint(0, len(ordered))
        retained = set(ordered[:stop])
        for k in range(until):
            kind, node, what = self.changes[k]
            if kind == "sync":
                continue
            if k in durable or k in retained:
                yield kind, node, what
            elif k not in ordered and (
                k == one
                if chance == "one"
                else k != one if chance == "others" else rng.random() < chance
            ):
                if kind == "write" and rng.random() < 0.1:
                    at, content = what
                    cut = (
                        rng.randrange(at // SECTOR, (at + len(content)) // SECTOR + 1) * SECTOR - at
                    )
                    what = (at, content[: max(cut, 0)])
                yield kind, node, what

    def lay_down(self, until, rules, rng, folder):
        names = {key: dict(node.names) for key, node in self.folders.items()}
        content = {}
        for kind, node, what in self.left(until, rules, rng):
            if kind == "names":
                for parent, name, child in what:
                    names[id(parent)].pop(name, None)
                    if child is not None:
                        names[id(parent)][name] = child
                continue
            file = content.setdefault(id(node), bytearray(node.content))
            size, new = (
                (what, b"") if kind == "cut" else (max(len(file), what[0] + len(what[1])), what[1])
            )
            del file[size:]
            file.extend(bytes(size - len(file)))
            if new:
                file[what[0] : what[0] + len(new)] = new

        def write(node, path):
            if node.is_folder:
                path.mkdir()
                for name, child in names[id(node)].items():
                    write(child, path / name)
            else:
                path.write_bytes(content.get(id(node), node.content))

        write(self.root, folder)


class Killed(Recorded):
    """Returns the state after the end of a process: all that it had written."""

    def left(self, until, rules, rng):
        return [change for change in self.changes[:until] if change[0] != "sync"]


@unittest.skipUnless(shutil.which("strace"), "there is no strace")
class Crash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdall-crash-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        lib = pathlib.Path(os.environ["HOLDALL_LIB"]).resolve()
        cls.program = cls.folder / "states"
        command = [
            os.environ.get("CC", "cc"),
            "-std=c11",
            "-g",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-UNDEBUG",
            HERE / "states.c",
            "-o",
            cls.program,
        ]
        subprocess.run(
            [
                *command,
                f"-I{SOURCE}/include",
                f"-I{SOURCE}/c-tests",
                f"-L{lib.parent}",
                f"-Wl,-rpath,{lib.parent}",
                "-lholdall",
                "-lpthread",
                "-lm",
            ],
            check=True,
        )
        cls.env = {**os.environ, "HOLDALL_TMP": str(cls.folder), "HOLDALL_THREADS": "1"}
        cls.forms = subprocess.run(
            [cls.program, "forms"], env=cls.env, stdout=subprocess.PIPE, check=True, text=True
        ).stdout.split()
        cls.start_looker()
        cls.addClassCleanup(lambda: cls.looker.communicate())

    @classmethod
    def start_looker(cls):
        cls.looker = subprocess.Popen(
            [cls.program, "look"],
            env=cls.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def record(self, command, base):
        before = load(base)
        trace = self.folder / "trace"
        run = subprocess.run(
            [
                "strace",
                "-f",
                "-xx",
                "-s",
                "16777216",
                "-e",
                f"trace={CALLS}",
                "-o",
                trace,
                *map(str, command),
            ],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        return Recorded(base, before, trace.read_text())

    def moments(self, recorded, rng):
        """Crashes: for each, the number of changes before it, and the rules. States vary most
        before a sync, and when a commit has returned."""
        n = len(recorded.changes)
        syncs = [k for k, change in enumerate(recorded.changes) if change[0] == "sync"] or [n]
        for rules in RULES:
            for k in range(STATES):
                yield rules, (
                    n if k % 8 == 0 else rng.randint(0, n) if k % 8 == 1 else syncs[k % len(syncs)]
                )

    def look(self, form, path):
        self.looker.stdin.write(f"{form} {path}\n")
        self.looker.stdin.flush()
        said = self.looker.stdout.readline().strip()
        if not said:
            # the content is inconsistent, such as columns of different rows: a check ended the
            # program
            self.looker.communicate()
            type(self).start_looker()
        return said or "a check that failed"

    def violations(self, recorded, name, check):
        """`check` yields what is wrong with a folder; its argument states whether the commit had
        returned."""
        rng = random.Random(f"{SEED} {name}")
        wrong = {rules: [] for rules in RULES}
        for rules, until in self.moments(recorded, rng):
            left = self.folder / "left"
            shutil.rmtree(left, ignore_errors=True)
            recorded.lay_down(until, rules, rng, left)
            what = check(left, recorded.committed is not None and until >= recorded.committed)
            if what:
                wrong[rules].append(
                    f"after {until} of {len(recorded.changes)} changes: "
                    f"{what.replace(str(left), '')}"
                )
        n = sum(map(len, wrong.values()))
        print(
            f"{name}: {len(recorded.changes)} changes, {len(RULES) * STATES} states, {n} "
            "violations",
            file=sys.stderr,
        )
        return wrong

    def crashes(self, recorded, name, check):
        for rules, all_ in self.violations(recorded, name, check).items():
            with self.subTest(name=name, rules=rules, seed=SEED):
                self.assertEqual(
                    len(all_), 0, f"violations of {STATES} states, such as: {all_[:1]}"
                )

    def by_c(self, form, what):
        """Makes a change with the C program, and yields what is wrong with the states after a
        crash."""
        base, name = self.folder / "base", self.forms[form]
        old, new = (None, OLD) if what == "make" else (OLD, NEW)
        recorded = self.record([self.program, what, form, base / name], base)

        def check(left, done):
            said = self.look(form, left / name)
            fine = [f"rows {n}" for n in ([] if done else [old]) + [new]]
            # the container does not exist, or an error shows that it does not exist yet
            nothing = old is None and not done and re.match(r"error (-6|-8|-13) ", said)
            return None if said in fine or nothing else f"{said}, not {' or '.join(fine)}"

        return recorded, check

    def empty(self):
        base = self.folder / "base"
        shutil.rmtree(base, ignore_errors=True)
        base.mkdir()
        return base

    def test_changes_by_c_survive_each_crash(self):
        for form, name in enumerate(self.forms):
            self.empty()
            for what in ("make", "change"):
                recorded, check = self.by_c(form, what)
                self.crashes(recorded, f"{what} {name}", check)

    def test_changes_without_a_sync_are_noticed(self):
        for form, name in enumerate(self.forms):
            self.empty()
            self.by_c(form, "make")
            recorded, check = self.by_c(form, "change")
            recorded.committed -= sum(
                kind == "sync" for kind, _, _ in recorded.changes[: recorded.committed]
            )
            recorded.changes = [change for change in recorded.changes if change[0] != "sync"]
            with self.subTest(name=name, seed=SEED):
                self.assertTrue(
                    any(self.violations(recorded, f"change {name} without a sync", check).values())
                )

    def test_changes_by_the_tool_survive_each_crash(self):
        tool = os.environ["HOLDALL_TOOL"]
        for name in ("x.bag", "x.bagz"):
            base = self.empty()
            one, two = self.folder / "one", self.folder / "two"
            one.write_text("a\nb\nc\n")
            two.write_text("d\ne\n")
            for arguments, old, new in (
                (["pack", "-q", one], None, b"abc"),
                (["pack", "-q", "--append", two], b"abc", b"abcde"),
                (["pack", "-q", "--force", two], b"abcde", b"de"),
            ):
                recorded = self.record([tool, *arguments, base / name], base)
                recorded.committed = len(recorded.changes)

                def check(left, done):
                    run = subprocess.run(
                        [tool, "cat", left / name],
                        env=self.env,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                    )
                    if run.returncode == 0 and run.stdout in ([] if done else [old]) + [new]:
                        return None
                    return (
                        None
                        if old is None and not done and run.returncode == 1
                        else f"{run.stdout} {run.stderr.decode()}"
                    )

                self.crashes(recorded, f"{' '.join(map(str, arguments[:-1]))} {name}", check)

    def by_tool(self, command, path):
        """Returns the output and the exit code of a command of the tool, without file sizes: a
        writer extends files before its commit."""
        separate = (
            ["--limits", "separate"] if path.suffix == ".bag" and command != "identify" else []
        )
        run = subprocess.run(
            [os.environ["HOLDALL_TOOL"], command, *separate, path],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out = (
            run.stdout
            if command != "info"
            else re.sub(rb"(?m)^(c?bytes:| +\d).*\n", b"", run.stdout)
        )
        return run.returncode, out, run.stderr.decode()

    def disagreements(self, form, left, whole, name):
        """Yields differences between the tool and the library; `whole` has the output of the tool
        for each commit."""
        # the tool first: the check of the library ends with a commit
        seen = {command: self.by_tool(command, left / name) for command in COMMANDS}
        said = self.look(form, left / name)
        expected = next((printed for rows, printed in whole.items() if said == rows), None)
        for command, (code, out, message) in seen.items():
            is_right = (
                code == 0 and out.replace(b"/left/", b"/base/") == expected[command]
                if expected
                else code == 1 and (command == "verify" or not out)
            )
            if not is_right:
                yield f"the library: {said}; {command}: {code} {out} {message}".replace(
                    str(left), ""
                )

    def check_repair(self, path):
        """A repair, before which `run` makes a dry run."""
        separate = ["--limits", "separate"] if path.suffix == ".bag" else []
        run_tool("repair", *separate, path.name, cwd=path.parent)

    def test_the_tool_and_the_library_agree_after_each_kill(self):
        paths = [
            *enumerate(self.forms),
            *((i, "x@3" + name[1:]) for i, name in enumerate(self.forms) if "bag" in name),
        ]
        for form, name in paths:
            base, whole, recorded = self.empty(), {}, []
            for what, rows in (("make", OLD), ("change", NEW)):
                recorded.append(self.record([self.program, what, form, base / name], base))
                whole[f"rows {rows}"] = {
                    command: self.by_tool(command, base / name)[1] for command in COMMANDS
                }
            for what, changes in zip(("make", "change"), recorded):
                changes.__class__ = Killed
                left = self.folder / "left"
                for until in range(len(changes.changes) + 1):
                    shutil.rmtree(left, ignore_errors=True)
                    changes.lay_down(until, None, None, left)
                    wrong = list(self.disagreements(form, left, whole, name))
                    shutil.rmtree(left)
                    changes.lay_down(until, None, None, left)
                    self.check_repair(left / name)
                    with self.subTest(
                        what=what, name=name, until=f"{until} of {len(changes.changes)}"
                    ):
                        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
