"""Beam: bags as a source, with the name and parameters of that in bagz.beam.bagzio.

    >>> with beam.Pipeline() as pipeline:
    ...     lines = pipeline | holdall.beam.ReadFromBagz("lines@*.bagz")

Workers open the container by its path. While a pipeline reads it, other processes may append to it,
but must not change what it has.
"""

try:
    import apache_beam
    from apache_beam import coders
    from apache_beam.io import iobase, range_trackers
    from apache_beam.transforms.display import DisplayDataItem
except ImportError as error:
    raise ImportError("holdall.beam needs Beam: pip install 'holdall[beam]'") from error

import os

from . import Bag


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
    record. options: as for holdall.Bag().
    """

    def __init__(self, file_pattern, coder=coders.BytesCoder(), **options):
        super().__init__()
        if not isinstance(file_pattern, Bag):
            file_pattern = Bag(os.fspath(file_pattern), **options)
        self._source = _Source(file_pattern, coder)

    def expand(self, begin):
        return begin | iobase.Read(self._source)
