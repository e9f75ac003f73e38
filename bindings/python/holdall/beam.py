"""Beam: bags as a source and a sink, with the names and parameters of bagz.beam.bagzio.

    >>> with beam.Pipeline() as pipeline:
    ...     lines = pipeline | holdall.beam.ReadFromBagz("lines@*.bagz")
    ...     lines | beam.Filter(len) | holdall.beam.WriteToBagz("filled@*.bagz")

Workers open the container by its path. A worker that finds another version of it, because it was
changed while the pipeline runs, raises StateError.
"""

try:
    import apache_beam
    from apache_beam import coders
    from apache_beam.io import iobase, range_trackers
    from apache_beam.transforms.display import DisplayDataItem
except ImportError as error:
    raise ImportError("holdall.beam needs Beam: pip install 'holdall[beam]'") from error

import os
import re

from . import Bag, BagPart, commit_parts
from ._items import of_a_task


class _Source(iobase.BoundedSource):
    """Reads an open bag. Workers get it pickled, as its path and options."""

    def __init__(self, bag, coder):
        self._bag, self._coder = bag, coder

    def estimate_size(self):
        return self._bag.stored_bytes

    def split(self, desired_bundle_size, start_position=None, stop_position=None):
        tracker = self.get_range_tracker(start_position, stop_position)
        start, stop = tracker.start_position(), tracker.stop_position()
        part = self._bag[start:stop]
        size = self._bag.approximate_bytes_per_record() * len(part)
        for split in part.splits(max(int(size // max(desired_bundle_size, 1)), 1)):
            first = start + split.first
            yield iobase.SourceBundle(split.bytes, self, first, first + split.count)

    def get_range_tracker(self, start_position, stop_position):
        start = 0 if start_position is None else start_position
        stop = len(self._bag) if stop_position is None else stop_position
        return range_trackers.OffsetRangeTracker(start, stop)

    def read(self, range_tracker):
        start, stop = range_tracker.start_position(), range_tracker.stop_position()
        decode = self._coder.decode
        for i, record in enumerate(self._bag[start:stop], start):
            if not range_tracker.try_claim(i):
                return
            yield decode(record)

    def display_data(self):
        return {"bag": DisplayDataItem(repr(self._bag), label="Bag")}


class ReadFromBagz(apache_beam.PTransform):
    """Reads the records of a bag or a set.

    file_pattern: a spec, or a Bag that is open for reading, such as a slice. coder: decodes each
    record. options: as for holdall.Bag(); threads is 1 by default.
    """

    def __init__(self, file_pattern, coder=coders.BytesCoder(), **options):
        super().__init__()
        if not isinstance(file_pattern, Bag):
            file_pattern = Bag(os.fspath(file_pattern), **of_a_task(options))
        self._source = _Source(file_pattern, coder)

    def expand(self, begin):
        return begin | iobase.Read(self._source)


class _Writer(iobase.Writer):
    """Writes a part of a bag. Its result is the token of the part."""

    def __init__(self, part, coder):
        self._part, self._coder = part, coder

    def write(self, value):
        self._part.append(self._coder.encode(value))

    def close(self):
        return self._part.finish()


class _Sink(iobase.Sink):
    """Writes the parts of a bag, and commits them."""

    def __init__(self, spec, coder, options):
        self._spec, self._coder, self._options = spec, coder, options
        shards = re.search(r"@(\d+)", os.path.basename(spec))
        self.num_shards = int(shards[1]) if shards else 0  # 0: one per bundle

    def initialize_write(self):
        return None

    def open_writer(self, init_result, uid):
        return _Writer(BagPart(self._spec, **self._options), self._coder)

    def pre_finalize(self, init_result, writer_results):
        return None

    def finalize_write(self, init_result, writer_results, pre_finalize_result):
        commit_parts(self._spec, list(writer_results))
        yield self._spec

    def display_data(self):
        return {"bag": DisplayDataItem(self._spec, label="Bag")}


class WriteToBagz(apache_beam.PTransform):
    """Appends elements to a bag, or writes a new set, with one commit.

    file_path: a path that the workers have, too: a bag, which is created if it does not exist.
    "name@8.bagz" is a new set of eight shards, "name@*.bagz" of one per bundle. coder: encodes each
    element. options: as for holdall.BagWriter().

    After an error, or a crash, the path has what it had; parts that were left are beside it, and
    holdall.repair() removes them. Beam does not keep an order.
    """

    def __init__(self, file_path, coder=coders.BytesCoder(), **options):
        super().__init__()
        self._sink = _Sink(os.fspath(file_path), coder, options)

    def expand(self, elements):
        return elements | iobase.Write(self._sink)
