"""A typed program, for the type checker: it uses every public class and is never run."""
from typing import List, Tuple

import numpy as np

import holdall


def bags(path: str) -> List[bytes]:
    with holdall.BagWriter(path, "w", level=3) as writer:
        writer.append(b"one")
        writer.extend([b"two", bytearray(b"three")])
        writer.commit()
    with holdall.Bag(path, threads=2) as bag:
        numbers: List[int] = [len(bag), bag.index(b"two"), bag.count(b"one")]
        index = holdall.Index(bag)
        found: List[int] = index.find(b"one")
        parts: List[holdall.Split] = bag.splits(4)
        shards: List[Tuple[str, int]] = bag.shards
        print(numbers, found, parts, shards)
        return bag.__getitems__([0, 2])


def arrays(path: str) -> np.ndarray:
    with holdall.Array.create(path, (4, 5), "f8", chunk_shape=(2, 5), codec="zstd") as array:
        array[1:3] = 1.5
        array.append(np.zeros((1, 5)))
        array.set_attr("unit", "m")
        array.commit()
    holdall.Array.save(path, [1, 2, 3], mode="w")
    opened = holdall.Array(path)
    shape: Tuple[int, ...] = opened.slice(np.s_[1:]).shape
    info: holdall.ArrayInfo = opened.info
    print(shape, info, opened.attrs["unit"], opened.dtype)
    return np.asarray(opened)


def tables(path: str) -> np.ndarray:
    with holdall.Table.create(path, {"a": "i4", "b": "S3"}) as table:
        table.append({"a": [1, 2], "b": [b"x", b"y"]})
        table.commit()
    opened = holdall.Table(path)
    column: holdall.Array = opened["a"]
    rows: np.ndarray = opened[0:2]
    print(column.shape, rows, opened.names, opened.read_rows(0, 1)["a"])
    return opened.read_points([1, 0])["b"]


def superchunks(path: str) -> bytes:
    with holdall.Schunk.create(path, typesize=4) as schunk:
        schunk.append(bytes(100))
        schunk.commit()
    return holdall.Schunk(path).read(0, 10)


def parts(path: str) -> List[str]:
    with holdall.BagPart(path) as part:
        part.append(b"record")
        token: bytes = part.finish()
    with holdall.ArrayPart(path, (0, 0), (2, 5)) as box:
        box[...] = 1
    with holdall.TablePart(path) as rows:
        rows.append({"a": [1]})
    holdall.commit_parts(path, [token])
    holdall.discard_parts(path, [token])
    return holdall.list_parts(path)


def any_kind(path: str) -> int:
    format, kind = holdall.identify(path)
    result, error = holdall.verify(path, lambda fault: print(fault.part, fault.error))
    if error is not None:
        print(format, kind, error.status, error.message)
    return int(result.intact + holdall.repair(path).parts_removed)
