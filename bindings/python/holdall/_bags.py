"""Bags: sequences of records of any length.

A bag is read by index, in batches or as a stream. A writer appends records. An index finds records
by content.
"""

import collections.abc
import ctypes as c

import numpy as np

from . import _errors, _table
from ._arrow import capsule
from ._call import (
    CALLBACKS,
    Container,
    Function,
    Handle,
    Options,
    Owned,
    call,
    lib,
    mode_of,
    number,
    numbers,
    octets,
    sized,
    warn_damaged,
    whole,
)
from ._storage import target_of

U64 = c.c_uint64


def _view(ctype, address, n, owned):
    """Returns memory of the library as a NumPy array that keeps its owner alive."""
    room = (ctype * n).from_address(address)
    room.owned = owned
    return np.frombuffer(room, ctype) if n else np.empty(0, ctype)


class Records(collections.abc.Sequence):
    """A batch of records in one buffer, a sequence of bytes objects.

    data: the buffer, an array of uint8. offsets: an array of len + 1 offsets; record i is
    data[offsets[i]:offsets[i + 1]], without a copy. numbers: the numbers of the records in the bag,
    for a batch of a stream, else None. damaged: the list of the indices in the batch of corrupt
    records, which are empty (option skip_damaged).
    """

    def __init__(self, pointer):
        owned = Owned(pointer, lib.holdall_records_free)
        n = lib.holdall_records_count(owned)
        self.offsets = _view(U64, lib.holdall_records_offsets(owned), n + 1, owned)
        self.data = _view(c.c_uint8, lib.holdall_records_data(owned), int(self.offsets[-1]), owned)
        given = lib.holdall_records_numbers(owned)
        self.numbers = _view(U64, given, n, owned) if given else None
        count = lib.holdall_records_damaged_count(owned)
        self.damaged = (
            _view(U64, lib.holdall_records_damaged_positions(owned), count, owned).tolist()
            if count
            else []
        )
        warn_damaged(_table.DAMAGED if count else _table.OK)

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()


class Bag(Container, collections.abc.Sequence):
    """An open bag, a sequence of records as bytes.

    bag[i] returns a record, bag[a:b:c] a Bag of a slice, bag[[i, j, k]] a batch of Records.
    Iteration reads ahead.

    spec: a path, or several separated by commas, where "@8" or "@*" stands for the shards of a set;
    or a storage, or a list of them.

    Raises RangeError for an index past the end.
    """

    _kind, _closes = "bag", "holdall_bag_close"

    def __init__(self, spec, **options):
        self._open(options, "bag_open", target_of(spec))

    def __len__(self):
        return self._get("bag_record_count")

    def __getitem__(self, i):
        with self._lock:
            if isinstance(i, slice):
                chosen = range(len(self))[i]
                return self._slice(
                    chosen.start if chosen else 0,
                    len(chosen),
                    chosen.step if len(chosen) > 1 else 1,
                )
            if isinstance(i, (int, np.integer)):
                owned = self._p
                n = lib.holdall_bag_record_count(owned)
                if not -n <= i < n:
                    raise _errors.RangeError(f"record {i} of {n}")
                return sized(owned, "bag_read", int(i) % n)
            return self.read_indices(i)

    def _slice(self, start, count, step):
        out = c.c_void_p()
        owned = self._p
        self._call("bag_slice", start, count, step, c.byref(out))
        made = type(self).__new__(type(self))
        made._take(out.value, owned.keep)
        return made

    def copy(self, name, indices=None, mode="x", **options):
        """Copies records to another bag, with one commit.

        name, mode, options: as for BagWriter(). indices: indices of records, in any order; None:
        all records. Raises RangeError if an index is past the end.
        """
        chosen = (None, 0) if indices is None else (numbers(indices), len(indices))
        with Options(options) as o:
            path = o.path(target_of(name))
            status = o.call(self._call, "bag_copy", *chosen, path, mode_of(mode), o.handle)
            warn_damaged(status)

    def read(self, start=0, count=None):
        """Reads consecutive records from record `start` on, as Records.

        count: the number of records; None: all from `start` on. Raises RangeError past the end.
        """
        out = c.c_void_p()
        with self._lock:
            self._call(
                "bag_read_range", start, len(self) - start if count is None else count, c.byref(out)
            )
        return Records(out.value)

    def read_range(self, start, count):
        """Reads count consecutive records from record start on, as Records, as read() does."""
        return self.read(start, count)

    def read_indices(self, indices):
        """Reads records by number, in the given order, as Records.

        indices: integers, with repetitions; negative ones count from the end. Raises RangeError
        past the end, TypeError if they are not integers.
        """
        chosen = np.asarray(indices)
        if chosen.dtype == bool or chosen.size and chosen.dtype.kind not in "iu":
            message = f"wrong type of record numbers (expected integers, found {chosen.dtype})"
            raise TypeError(message)
        out = c.c_void_p()
        with self._lock:
            if chosen.dtype.kind == "i":
                chosen = np.where(chosen < 0, chosen + len(self), chosen)
                if chosen.size and chosen.min() < 0:
                    raise _errors.RangeError(f"record {chosen.min() - len(self)} of {len(self)}")
            chosen = np.ascontiguousarray(chosen, np.uint64)
            self._call(
                "bag_read_indices", chosen.ctypes.data_as(c.c_void_p), chosen.size, c.byref(out)
            )
        return Records(out.value)

    def __iter__(self):
        with self.stream() as stream:
            yield from stream

    def stream(self, indices=None, **options):
        """Returns a Stream of all records, or of selected ones.

        indices: an iterable of record numbers, which may be endless; None: all records in order.
        """
        return Stream(self, indices, options)

    def read_indices_iter(self, indices, **options):
        """Returns a Stream of selected records, as stream() does.

        indices: as of stream().
        """
        return self.stream(indices, **options)

    def read_range_iter(self, start, count, **options):
        """Returns a Stream of count consecutive records from record start on.

        Raises RangeError past the end, before the first record.
        """
        start, count = whole(start), whole(count)
        if start + count > len(self):
            raise _errors.RangeError(f"records {start} to {start + count} of {len(self)}")
        return self.stream(range(start, start + count), **options)

    def __contains__(self, record):
        return any(found == record for found in self)

    def index(self, record, start=0, stop=None):
        """Returns the number of the first record that equals record, from start on, before stop.

        Reads the records in order: an Index finds many of them faster. Raises ValueError if no
        record is equal.
        """
        chosen = range(len(self))[slice(start, stop)]
        with self.read_range_iter(chosen.start, len(chosen)) as stream:
            for found in stream:
                if found == record:
                    return stream.number
        raise ValueError("no record is equal")

    def count(self, record):
        """Returns how many records equal record. Reads all of them in order."""
        return sum(found == record for found in self)

    def approximate_bytes_per_record(self):
        """Returns the stored bytes per record, without the limits; 0.0 without records.

        Those of the whole bag for a slice.
        """
        with self._lock:
            records = sum(count for _, count in self.shards)
            return (self.stored_bytes - 8 * records) / records if records else 0.0

    def epoch(self, seed, epoch=0, rank=0, world=1, position=0, **options):
        """Returns a Stream of every record once, in shuffled order.

        seed, epoch: determine the order, in every version of the library. rank, world: the stream
        has the records at positions rank, rank + world, ... of the order. position: the number of
        records of this rank to skip.

        Raises ArgumentError if rank is not below world, RangeError if position is past the end.
        """
        return Stream(self, (seed, epoch, rank, world, position), options, shuffled=True)

    def compute_checksum(self, kind="sha256"):
        """Returns a checksum, as bytes, of the length and the bytes of each record in order.

        kind: the name of the checksum.
        """
        with self._lock:
            return sized(self._p, "bag_checksum", number("CHECKSUM_", kind))

    info = property(
        lambda self: self._info("bag_get_info", "bag_info"),
        doc="A BagInfo, a named tuple with the fields of holdall_bag_info.",
    )
    codec = property(
        lambda self: self.info.codec,
        doc='Codec of the records: "none", "zstd", or "mixed" if shards differ.',
    )
    checksum = property(
        lambda self: self.info.checksum,
        doc='Name of the checksum of the records: "none", "crc32" or "zstd".',
    )
    stored_bytes = property(lambda self: self.info.stored_bytes, doc="Size of all files in bytes.")

    @property
    def shards(self):
        """The files of the bag: a list of pairs of the name and the number of records."""
        with self._lock:
            count = self._get("bag_shard_count")
            return [
                (
                    self._get("bag_shard_name", i).decode(errors="surrogateescape"),
                    self._get("bag_shard_record_count", i),
                )
                for i in range(count)
            ]

    def __arrow_c_stream__(self, requested_schema=None):
        with self._lock:
            return capsule(self, "bag_to_arrow", 0, len(self))


class Stream(Handle):
    """An iterator of records in a given order, with read-ahead.

    number: the number in the bag of the last record that next() returned, or None. Several threads
    may call take(); each record goes to one of them.
    """

    _closes = "holdall_bag_stream_close"

    def __init__(self, bag, indices, options, shuffled=False):
        self._batch, self._at, self.number = None, 0, None
        with bag._lock:
            self._start(bag, indices, options, shuffled)

    def _start(self, bag, indices, options, shuffled):
        keep, function, ctx = [], CALLBACKS["holdall_next_index_fn"](), None
        if shuffled:
            seed, epoch, rank, world, position = indices
            out = c.c_void_p()
            call("epoch_new", len(bag), seed, epoch, rank, world, c.byref(out))
            ctx = Owned(out.value, lib.holdall_epoch_free)
            call("epoch_seek", ctx, epoch, position)
            function, keep = CALLBACKS["holdall_next_index_fn"](("holdall_epoch_next", lib)), [ctx]
        elif indices is not None:
            requested = iter(indices)

            def next_index(_, index):
                i = next(requested, None)
                if i is None:
                    return _table.END
                index[0] = whole(i)
                return _table.OK

            keep = [Function("holdall_next_index_fn", next_index)]
            function = keep[0].pointer
        owned = bag._p
        self._open(options, "bag_stream_open", owned, function, ctx, keep=[*keep, *owned.keep])

    def take(self, n=0):
        """Takes the next n records as Records.

        n: the number of records; 0: as many as were read together. Returns fewer records at the
        end, or before a failure, which the next call raises. Returns None after the end.
        """
        out = c.c_void_p()
        if self._call("bag_stream_take", whole(n, c.c_size_t), c.byref(out)) == _table.END:
            return None
        return Records(out.value)

    def __iter__(self):
        return self

    def __next__(self):
        self._p  # raises StateError if the stream is closed
        while self._batch is None or self._at == len(self._batch):
            self._batch, self._at = self.take(), 0
            if self._batch is None:
                raise StopIteration
        self._at += 1
        self.number = int(self._batch.numbers[self._at - 1])
        return self._batch[self._at - 1]


class BagWriter(Handle):
    """A writer of a bag, or of a set of bags.

    name: a path, or a storage; "name@8.bagz" is a set of eight files. mode: "x" creates, "w" also
    replaces, "a" appends to an existing bag.
    """

    _closes = "holdall_bag_writer_close"

    def __init__(self, name, mode="x", **options):
        self._open(options, "bag_writer_open", target_of(name), mode_of(mode), changes=True)
        self._uncommitted = mode != "a"

    def append(self, record):
        """Appends one record: bytes, or an object with a buffer."""
        record = octets(record)
        self._change("bag_writer_append", record, len(record))

    def extend(self, records):
        """Appends an iterable of records, compressed in parallel."""
        records = [octets(r) for r in records]
        offsets = np.zeros(len(records) + 1, np.uint64)
        np.cumsum([len(r) for r in records], out=offsets[1:])
        self._change(
            "bag_writer_append_many",
            b"".join(records),
            offsets.ctypes.data_as(c.c_void_p),
            len(records),
        )

    def __len__(self):
        return self._get("bag_writer_record_count")

    def commit(self):
        """Makes all appended records durable and visible, all or none."""
        self._commit("bag_writer_commit")


class Index(Handle):
    """An index of a bag: finds the records that equal a key.

    bag: the bag, or a slice, whose numbers the index uses. name: the path or storage of the index;
    None: builds the index in memory. mode: None opens an existing index; "x" creates it, "w" also
    replaces it.

    Raises StateError if the index belongs to another bag, FormatError or ChecksumError if it is
    corrupt, or a record is corrupt (see the option skip_damaged).
    """

    _closes = "holdall_bag_index_close"

    def __init__(self, bag, name=None, mode=None, **options):
        with bag._lock:
            owned = bag._p
            if name is None:
                self._open(options, "bag_index_build", owned)
            elif mode is None:
                self._open(options, "bag_index_open", target_of(name), owned)
            else:
                self._open(options, "bag_index_create", target_of(name), mode_of(mode), owned)

    def __len__(self):
        return self._get("bag_index_key_count")

    damaged = property(
        lambda self: self._get("bag_index_damaged_count"),
        doc="Number of corrupt records, which are not in the index.",
    )

    def get(self, key, default=None):
        """Returns the number of the first record that equals the key, or default."""
        found = self.first(key)
        return default if found is None else found

    def __getitem__(self, key):
        """Returns the number of the first record that equals the key. Raises KeyError if none."""
        found = self.first(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key):
        return self.first(key) is not None

    def first(self, key):
        """Returns the number of the first record that equals the key, or None."""
        key, record = octets(key), U64()
        status = self._call("bag_index_find_first", key, len(key), c.byref(record))
        return record.value if status == _table.OK else None

    def find(self, key):
        """Returns the numbers of all records that equal the key, as a list."""
        key, n, most = octets(key), c.c_size_t(), 16
        while True:
            room = (U64 * most)()
            try:
                self._call("bag_index_find", key, len(key), room, most, c.byref(n))
                return room[: n.value]
            except _errors.BufferError:
                most = n.value

    def find_many(self, keys):
        """Returns the result of first() for each key, as a list. Searches in parallel."""
        keys = [octets(key) for key in keys]
        offsets = numbers(np.cumsum([0, *map(len, keys)]))
        records = (U64 * max(len(keys), 1))()
        self._call("bag_index_find_many", b"".join(keys), offsets, len(keys), records)
        return [None if i == _table.NO_RECORD else i for i in records[: len(keys)]]
