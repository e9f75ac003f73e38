"""Helpers of the tests of arrays and tables. See tool.py."""

import csv
import io
import json
import os
import struct

from tool import Base


def npy(data):
    """Returns the header and the items of a .npy file."""
    (size,) = struct.unpack_from("<H", data, 8)
    return eval(data[10 : 10 + size].decode("latin1")), data[10 + size :]


def npy_file(descr, shape, data, fortran=False):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


class Tables(Base):
    """Base class of the tests of tables."""

    SMALL = b'name,n,x,ok\nann,1,0.5,true\nbob,-2,NA,false\n"c, d",3,1e300,true\n'

    def convert(self, text, name="t", *flags, source="in.csv"):
        self.write(source, text)
        self.good("convert", "-q", source, name, *flags)
        return (
            {c["name"]: c["dtype"] for c in self.info(name)["columns"]}
            if os.path.isdir(self.path(name))
            else None
        )

    def rows(self, name, *flags):
        return list(
            csv.reader(io.StringIO(self.good("cat", "--to", "csv", *flags, name).decode()))
        )

    def objects(self, name, *flags):
        return [
            json.loads(line)
            for line in self.good("cat", "--to", "jsonl", *flags, name).decode().splitlines()
        ]
