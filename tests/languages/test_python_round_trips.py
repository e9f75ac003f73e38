"""The Python module and the tool: what one writes the other reads, in each format, with drawn types, shapes and options. NumPy reads and
writes the files that the tool is given."""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import unittest

import numpy as np

from case import SEED, Case, holdall

TOOL = os.path.abspath(os.environ.get("HOLDALL_TOOL") or shutil.which("holdall") or "holdall")
CODECS = ["none", "blosclz", "lz4", "lz4hc", "zlib", "zstd"]
CHECKSUMS = ["none", "adler32", "crc32", "md5", "sha1", "sha256", "sha512"]
# the module's name of a format: the tool's, and what else is drawn for it
FORMATS = {"b2nd": "b2nd", "caterva": "caterva", "bloscpack": "bloscpack", "bcolz": "bcolz", "blz": "blz", "blz_rfc": "blz-rfc"}
FRAMES = ("b2nd", "caterva")
FOLDERS = ("bcolz", "blz", "blz_rfc")
DTYPES = ["|b1", "|i1", "<u2", ">i4", "<i8", ">u8", "<f2", "<f4", ">f8", "<c8", "|S5", "<U3", "<M8[s]", ">M8[ns]", "<m8[ms]", "|V3"]
RECORD = np.dtype([("x", "<i4"), ("y", ">f8"), ("name", "S4"), ("p", "<f4", (2,))])
SHAPES = [(), (0,), (1,), (7,), (1000,), (3, 0), (11, 5), (4, 3, 5), (2, 1, 3, 2)]


@unittest.skipUnless(os.path.exists(TOOL), "HOLDALL_TOOL is not set")
class RoundTrips(Case):
    def tool(self, *args):
        done = subprocess.run([TOOL, *map(str, args)], capture_output=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"HOLDALL_SEED={SEED} {args} {done.stderr.decode()}")
        return done.stdout

    def content(self, dtype, shape):
        dtype, count = np.dtype(dtype), int(np.prod(shape, dtype=int))
        if dtype.kind == "b":
            return np.array([self.rng.random() < 0.5 for _ in range(count)], bool).reshape(shape)
        if dtype.kind == "U":
            return np.array([self.rng.choice(["", "a", "\u00e9\U0001f600", "xyz"]) for _ in range(count)], dtype).reshape(shape)
        data = self.rng.randbytes(count * dtype.itemsize) if self.rng.random() < 0.7 else bytes(count * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(shape)

    def drawn(self, format, array=True):
        """Options, and the tool's flags that mean the same."""
        options, flags = {}, []

        def draw(name, value, *spelled):
            if self.rng.random() < 0.5:
                options[name] = value
                flags.extend(spelled)

        frame = format in (*FRAMES, "b2frame")
        codec = self.rng.choice([c for c in CODECS if (c, format) != ("zstd", "blz")])
        level, sum = self.rng.randrange(10), self.rng.choice(["none", "crc32"] if frame else CHECKSUMS)
        filters = self.rng.sample(["shuffle", "bitshuffle", "delta", "bytedelta"], self.rng.randrange(3)) if frame else [self.rng.choice(["shuffle", "none"])]
        filters.sort(key="delta".__ne__)  # it must be the first filter
        draw("codec", codec, "--codec", codec)
        draw("level", level, "--level", str(level))
        draw("checksum", sum, "--checksum", sum)
        draw("filters", [f for f in filters if f != "none"], "--filters", ",".join(filters) or "none")
        if frame:
            draw("sparse", 1, "--sparse")
        if format in FRAMES and array:
            draw("both_metalayers", 1, "--both")
        if format == "blz_rfc" and array:
            draw("order", 1, "--fortran")
            draw("yaml", 1, "--yaml")
        if format == "bloscpack" and array:
            draw("format_version", 103, "--format-version", "rfc")
        return options, flags

    def grid(self, format, shape):
        """Shapes of chunks and blocks; None: as the library has it."""
        if not shape or 0 in shape or self.rng.random() < 0.4:
            return None, None
        chunks = tuple(self.rng.randrange(max(1, n // 4), n + 1) for n in shape)
        if format not in FRAMES:
            return chunks if format == "blz_rfc" else (chunks[0], *shape[1:]), None
        return chunks, tuple(self.rng.randrange(max(1, n // 4), n + 1) for n in chunks) if self.rng.random() < 0.5 else None

    def cases(self, formats):
        """A format with contents of all types and shapes, each once."""
        for format in formats:
            dtypes = self.rng.sample(DTYPES, len(DTYPES))[: len(SHAPES) - 1] + [RECORD]
            for dtype, shape in zip(dtypes, self.rng.sample(SHAPES, len(SHAPES))):
                if format in FOLDERS and (shape == () or dtype == RECORD):
                    shape, dtype = (7,), "<f8"  # which are others' tests: no rows, and a table
                yield format, self.content(dtype, shape)

    def same(self, got, want, say):
        self.assertEqual((got.dtype, got.shape, got.tobytes()), (want.dtype, want.shape, want.tobytes()), say)

    def typed(self, format, both, data):
        """Content as a format gives it back: Caterva has the size of an item, and no type; with both metalayers it is a b2nd."""
        return np.frombuffer(data.tobytes(), f"V{data.dtype.itemsize}").reshape(data.shape) if format == "caterva" and not both else data

    def test_arrays_of_the_module(self):
        for format, data in self.cases(FORMATS):
            path, back = self.path(), self.path(".npy")
            options, _ = self.drawn(format)
            chunks, blocks = self.grid(format, data.shape)
            say = f"HOLDALL_SEED={SEED} {format} {data.dtype} {data.shape} {chunks} {blocks} {options}"
            given = np.asfortranarray(data) if data.ndim > 1 and self.rng.random() < 0.3 else data
            holdall.Array.save(path, given, format, chunks, blocks, **options)
            self.tool("convert", "-q", path, back)
            self.same(np.load(back), self.typed(format, "both_metalayers" in options, data), say)
            self.assertEqual(self.tool("cat", "--to", "raw", path), data.tobytes(), say)
            self.assertEqual(self.tool("sum", path).split()[0].decode(), hashlib.sha256(data.tobytes()).hexdigest(), say)
            about = json.loads(self.tool("info", "--json", path))
            self.assertEqual((about["format"], about["shape"]), ("b2nd" if "both_metalayers" in options else FORMATS[format], list(data.shape)), say)
            self.tool("verify", path)

    def test_arrays_of_the_tool(self):
        for format, data in self.cases(FORMATS):
            source, path = self.path(".npy"), self.path()
            _, flags = self.drawn(format)
            chunks, blocks = self.grid(format, data.shape)
            flags += ["--chunks", ",".join(map(str, chunks))] if chunks else []
            flags += ["--blocks", ",".join(map(str, blocks))] if blocks else []
            fortran = format not in FOLDERS and self.rng.random() < 0.3
            np.save(source, np.asfortranarray(data) if fortran and data.ndim > 1 else data)
            if fortran and data.ndim > 1:  # its chunks divide the last dimension
                flags = [f for i, f in enumerate(flags) if not {f, flags[i - 1]} & {"--chunks", "--blocks"}]
            self.tool("convert", "-q", "--to", FORMATS[format], *flags, source, path)
            say = f"HOLDALL_SEED={SEED} {format} {data.dtype} {data.shape} {flags}"
            with holdall.Array(path) as array:
                want = self.typed(format, "--both" in flags, data)
                self.same(array[...], want, say)
                self.same(np.asarray(array), want, say)
                if data.ndim and data.shape[0]:
                    self.same(array[-1:], want[-1:], say)
            counts, error = holdall.verify(path)
            self.assertEqual((counts.corrupt, error), (0, None), say)

    def rows(self):
        columns = {"a": "<i8", "b": ">f8", "c": "|S6", "d": "|b1", "e": "<M8[s]"}
        n = self.rng.choice([1, 3, 500])
        rows = np.zeros(n, list(columns.items()))
        for name, dtype in columns.items():
            rows[name] = self.content(dtype, n)
        return rows

    def test_tables(self):
        for format in FOLDERS:
            rows = self.rows()
            path, back, source, other = self.path(), self.path(".npy"), self.path(".npy"), self.path()
            options, flags = self.drawn(format, array=False)
            with holdall.Table.create(path, {name: rows.dtype[name] for name in rows.dtype.names}, format, **options) as table:
                half = len(rows) // 2
                for part in (rows[:half], rows[half:]):
                    table.append({name: part[name] for name in rows.dtype.names})
                table.set_attr("unit", b'"K"')
                table.commit()
            self.tool("convert", "-q", path, back)
            self.same(np.load(back), rows, f"HOLDALL_SEED={SEED} {format} {options}")
            self.assertEqual(self.tool("attr", "get", path, "unit"), b'"K"\n')
            np.save(source, rows)
            self.tool("convert", "-q", "--to", FORMATS[format], *flags, source, other)
            with holdall.Table(other) as table:
                self.assertEqual(table.names, list(rows.dtype.names))
                for name in table.names:
                    self.same(table[name][...], np.ascontiguousarray(rows[name]), f"HOLDALL_SEED={SEED} {format} {flags} {name}")

    def records(self):
        return [self.rng.randbytes(self.rng.choice([0, 1, 9, 300])) for _ in range(self.rng.choice([0, 1, 40]))]

    def test_bags(self):
        for name, options, flags, reader in [
            ("{}.bagz", {}, [], []), ("{}.bag", {}, [], []), ("{}.bagz", {"bag_limits": "separate"}, ["--separate"], ["--limits", "separate"]),
            ("{}@3.bagz", {}, None, []), ("{}@3.bag", {"checksum": "none"}, None, []), ("{}.bagz", {"level": 9, "checksum": "none"}, ["--level", "9", "--checksum", "none"], []),
            ("{}.bin", {"codec": "zstd"}, ["--codec", "zstd", "--to", "bagz"], ["--codec", "zstd"]),
        ]:  # fmt: skip
            records, path = self.records(), self.folder / name.format(self.path().name)
            say = f"HOLDALL_SEED={SEED} {name} {options}"
            framed = b"".join(struct.pack("<Q", len(r)) + r for r in records)
            with holdall.BagWriter(path, **options) as writer:
                writer.extend(records)
                writer.commit()
            self.assertEqual(self.tool("cat", "--lengths", *reader, path), framed, say)
            self.assertEqual(self.tool("sum", *reader, path).split()[0].decode(), hashlib.sha256(framed).hexdigest(), say)
            source, other = self.path(".in"), self.folder / name.format(self.path().name)
            source.write_bytes(framed)
            if flags is None:  # the tool takes the number of files for itself
                self.tool("convert", "-q", "--from", "lengths64", "--shards", "3", *(["--checksum", "none"] if options else []), source, str(other).replace("@3", ""))
            else:
                self.tool("convert", "-q", "--from", "lengths64", *flags, source, other)
            read = {key: value for key, value in options.items() if key in ("bag_limits", "codec")}
            self.assertEqual(list(holdall.Bag(other, **read)), records, say)

    def test_superchunks(self):
        for format, version in [("bloscpack", 1), ("bloscpack", 2), ("bloscpack", 3), ("bloscpack", 103), ("b2frame", None)]:
            size = self.rng.choice([1, 4, 8])
            data = self.rng.randbytes(40) * self.rng.choice([0, 1, 100])
            options, flags = self.drawn(format, array=False)
            options |= {"format_version": version, "chunk_bytes": size * self.rng.randrange(1 + len(data) // 80, 200)}
            if version == 1:
                options["checksum"] = "none"
            path, source, packed, other = self.path(), self.path(".raw"), self.path(".blp"), self.path()
            say = f"HOLDALL_SEED={SEED} {format} {version} {options} {flags}"
            with holdall.Schunk.create(path, size, format, **options) as schunk:
                schunk.append(data)
                schunk.commit()
            self.assertEqual(self.tool("cat", path), data, say)
            source.write_bytes(data)
            self.tool("pack", "-q", "--typesize", size, "--chunk-size", options["chunk_bytes"], "--checksum", "none" if version == 1 else "crc32", source, packed)
            if format == "b2frame":
                self.tool("convert", "-q", "--to", format, *flags, packed, other)
            else:
                flags += ["--checksum", "none"] if version == 1 else []
                self.tool("convert", "-q", "--to", format, *flags, "--format-version", "rfc" if version == 103 else version, packed, other)
            with holdall.Schunk(other) as schunk:
                self.assertEqual((schunk.read(), schunk.typesize), (data, size), say)

    def test_attributes(self):
        value = {"unit": "K", "scale": [1, 2.5], "none": None}
        for format in FORMATS:
            path = self.path()
            holdall.Array.save(path, np.arange(6.0), format)
            if format == "bloscpack":
                continue  # whose array has metadata
            with holdall.Array(path, "a") as array:
                array.set_attr("of the module", json.dumps(value).encode() if format in FOLDERS else b"\x83\xa4unit\xa1K\xa5scale\x92\x01\xcb@\x04\0\0\0\0\0\0\xa4none\xc0")
                array.commit()
            self.assertEqual(json.loads(self.tool("attr", "get", path, "of the module")), value, format)
            self.tool("attr", "set", "-q", path, "of the tool", '"K"')
            with holdall.Array(path) as array:
                self.assertEqual((array.raw_attrs["of the tool"], array.attrs), (b'"K"' if format in FOLDERS else b"\xa1K", {"of the module": value, "of the tool": "K"}), format)


if __name__ == "__main__":
    unittest.main()
