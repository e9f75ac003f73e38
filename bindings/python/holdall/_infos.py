"""Named tuples: the information and results of the structures of holdall.h."""

from collections import namedtuple


def _tuple(name, fields):
    return namedtuple(name, fields, module="holdall")


BagInfo = _tuple(
    "BagInfo",
    "format shard_count record_count stored_bytes codec checksum limits shards generation",
)
ArrayInfo = _tuple(
    "ArrayInfo",
    "dtype shape chunk_shape block_shape itemsize nbytes stored_bytes generation format ndim order"
    " codec level checksum attr_count filters precision fixed_attr_count",
)
TableInfo = _tuple(
    "TableInfo", "row_count nbytes stored_bytes generation format column_count attr_count"
)
SchunkInfo = _tuple(
    "SchunkInfo",
    "format version typesize chunk_size chunk_count nbytes stored_bytes codec level checksum"
    " is_sparse filters attr_count generation precision fixed_attr_count",
)
ChunkInfo = _tuple("ChunkInfo", "nbytes stored_bytes codec is_pending")
VerifyResult = _tuple("VerifyResult", "intact corrupt unchecked")
Split = _tuple("Split", "first count bytes")
RepairResult = _tuple("RepairResult", "retained lost parts_removed")

ALL = (ArrayInfo, BagInfo, ChunkInfo, RepairResult, SchunkInfo, Split, TableInfo, VerifyResult)
