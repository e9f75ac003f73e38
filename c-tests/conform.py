"""usage: conform.py all|numbers PROGRAM...: checks that a binding reads the content of each kind of
container in the fixtures as the manifests state it.

PROGRAM LIST (cxx/conform.cc, fortran/conform.f90) gets a file with a line for each container: kind,
output, how to read, and path, separated by tabs. It writes the content of each to its output. `all`
takes one container per type and tool; `numbers` only those with numbers, or with text in one
dimension, which every language supports.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

FIXTURES = pathlib.Path(os.environ["HOLDALL_FIXTURES"])
TMP = pathlib.Path(os.environ["HOLDALL_TMP"])
# Content that was never written, and plugins that holdall does not have.
ELSEWHERE = ("s_uninit", "k_ndcell", "k_ndlz", "k_zfp")


def sha(data):
    return hashlib.sha256(data).hexdigest()


def stored(content):
    return content["nbytes"], content.get("sha256_stored", content.get("sha256"))


def folder(name):
    """Returns the folder of the files of a manifest: its own, or one that its archive is extracted
    to."""
    archive = FIXTURES / name / "files.tar.gz"
    if not archive.exists():
        return FIXTURES / name
    with tarfile.open(archive) as files:
        files.extractall(TMP / name)
    return TMP / name


def plain(content):
    """Is it a type that every language has?"""
    dtype = str(content.get("dtype"))
    size = content.get("itemsize") or int((re.match(r"[<>|=][^U](\d+)", dtype) or "00")[1])
    return size in (1, 2, 4, 8, 16) or (dtype[1:2] == "S" and len(content["shape"]) == 1)


def datasets(every):
    """Yields the arrays and tables of Bloscpack, bcolz and BLZ, with the digests of their
    columns."""
    for name in ("blpk", "datasets"):
        if not (FIXTURES / name / "manifest.json").exists():
            continue
        where, seen = folder(name), set()
        for f in json.loads((FIXTURES / name / "manifest.json").read_text())["fixtures"]:
            columns = f.get("content", {}).get("columns", [f.get("content", {})])
            types = tuple(str(c.get("dtype")) for c in columns)
            kind = (f["kind"], f.get("container"), f["dialect"], types)
            if (
                f.get("expect") != "ok"
                or kind in seen
                or not all("sha256" in c and "nbytes" in c for c in columns)
            ):
                continue
            if not every and not all(map(plain, columns)):
                continue
            seen.add(kind)
            how = (
                "table"
                if len(columns) > 1 or "columns" in f["content"]
                else "array" if f.get("container") else "schunk"
            )
            yield how, "-", str(where / f["path"]), [stored(c) for c in columns]


def frames(every):
    for name in ("b2nd", "caterva"):
        for manifest in sorted((FIXTURES / name).glob("*.json")):
            f, expected = json.loads(manifest.read_text()), manifest.with_name(
                manifest.stem + ".expected.bin"
            )
            is_run = f["path"].endswith(".b2frame")
            if (
                expected.exists()
                and not f["name"].startswith(ELSEWHERE)
                and (every or is_run or plain(f))
            ):
                content = expected.read_bytes()
                yield "schunk" if is_run else "array", "-", str(manifest.parent / f["path"]), [
                    (len(content), sha(content))
                ]


def bags():
    for f in json.loads((FIXTURES / "bagz/manifest.json").read_text())["fixtures"]:
        options = f["options"]
        if options["dictionary"] or options["compression"] != "auto":
            continue
        flags = [
            w
            for w, k in (("turns", "interleaved"), ("separate", "separate"))
            if k in str(options).lower()
        ]
        spec = ",".join(str(FIXTURES / "bagz" / part) for part in f["spec"].split(","))
        yield "bag", "+".join(flags) or "-", spec, [(f["total_bytes"] + 8 * f["n"], f["digest"])]


def main(which, program):
    requested = [*datasets(which == "all"), *frames(which == "all"), *bags()]
    lines = [
        f"{kind}\t{TMP / str(i)}\t{how}\t{path}\n"
        for i, (kind, how, path, _) in enumerate(requested)
    ]
    (TMP / "list").write_text("".join(lines))
    subprocess.run([*program, str(TMP / "list")], check=True)
    wrong = 0
    for i, (kind, how, path, columns) in enumerate(requested):
        data, at = (TMP / str(i)).read_bytes(), 0
        for n, digest in columns:
            if sha(data[at : at + n]) != digest:
                wrong += 1
                print(
                    f"{kind} {path}: other content than the manifest has, at byte {at} of "
                    f"{len(data)}"
                )
            at += n
        if at != len(data):
            wrong += 1
            print(f"{kind} {path}: {len(data)} bytes in place of {at}")
    kinds = {k: sum(w[0] == k for w in requested) for k in ("array", "table", "schunk", "bag")}
    print(f"{len(requested)} containers, {wrong} wrong: {kinds}")
    if wrong or not all(kinds.values()):
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
