"""Superchunks that are written from front to back, to a file object, and its exceptions."""
import io
import os
import shutil
import unittest

from case import Case, holdall

CONTENT = b"abcdefg" * 10000


class Short(io.RawIOBase):
    """A file that writes at most 1000 bytes per call."""

    def __init__(self):
        self.content = b""

    def writable(self):
        return True

    def write(self, data):
        self.content += data[:1000]
        return min(len(data), 1000)


class Broken:
    """A file whose call number `at` raises an exception."""

    def __init__(self, at):
        self.at = at

    def write(self, data):
        self.at -= 1
        if self.at < 0:
            raise ZeroDivisionError("a fault of the caller's")


class SchunkStream(Case):
    def test_what_is_written_is_read_back(self):
        for length in (None, len(CONTENT)):
            file = io.BytesIO()
            with holdall.SchunkStream(file, 7, length, b"[1]", chunk_bytes=3584) as stream:
                shutil.copyfileobj(io.BytesIO(CONTENT), stream, 1000)
                truncated = file.getvalue()
            with holdall.Schunk(holdall.Memory(file.getvalue())) as s:
                self.assertEqual((s.read(), s.raw_attrs, s.typesize), (CONTENT, {"": b"[1]"}, 7))
            with self.assertRaises(holdall.FormatError):
                holdall.Schunk(holdall.Memory(truncated))
            with self.assertRaises(holdall.StateError):
                stream.finish()

    def test_files(self):
        short, pieces = Short(), []
        lister = type("Lister", (), {"write": lambda self, data: pieces.append(data)})()
        for file in (short, lister):
            with holdall.SchunkStream(file) as stream:
                self.assertEqual(stream.write(memoryview(CONTENT)), len(CONTENT))
        for content in (short.content, b"".join(pieces)):
            self.assertEqual(holdall.Schunk(holdall.Memory(content)).read(), CONTENT)
        read, write = os.pipe()
        with os.fdopen(read, "rb") as back:
            with os.fdopen(write, "wb") as file, holdall.SchunkStream(file) as stream:
                stream.write(b"abc")
            self.assertEqual(holdall.Schunk(holdall.Memory(back.read())).read(), b"abc")

    def test_exceptions_of_the_file(self):
        for at in range(3):
            with self.assertRaises(ZeroDivisionError):
                with holdall.SchunkStream(Broken(at), chunk_bytes=4096) as stream:
                    stream.write(bytes(8192))
        stream = holdall.SchunkStream(Broken(0))
        with self.assertRaises(ZeroDivisionError):
            stream.write(b"abc")
        for call in (stream.finish, lambda: stream.write(b"")):
            with self.assertRaises(holdall.StateError):
                call()

    def test_numbers_of_bytes_that_cannot_be(self):
        for number in (0, -1, 1 << 40):
            file = type("File", (), {"write": lambda self, data, number=number: number})()
            with self.assertRaisesRegex(OSError, f"returned {number} "):
                holdall.SchunkStream(file).write(b"abc")

    def test_a_block_with_an_exception_does_not_finish(self):
        file = io.BytesIO()
        with self.assertRaises(ZeroDivisionError):
            with holdall.SchunkStream(file) as stream:
                stream.write(CONTENT)
                raise ZeroDivisionError
        with self.assertRaises(holdall.FormatError):
            holdall.Schunk(holdall.Memory(file.getvalue()))

    def test_refused(self):
        file = io.BytesIO()
        with self.assertRaises(holdall.StateError):
            with holdall.SchunkStream(file, length=3) as stream:
                with self.assertRaises(holdall.RangeError):
                    stream.write(b"abcd")
                stream.write(b"ab")
        for wrong in ({"typesize": 0}, {"metadata": b"{"}):
            with self.assertRaises(holdall.ArgumentError):
                holdall.SchunkStream(file, **wrong)
        with self.assertRaises(OverflowError):
            holdall.SchunkStream(file, length=-1)


if __name__ == "__main__":
    unittest.main()
