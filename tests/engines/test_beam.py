"""Beam's source and sink: against the plain reader, with two worker processes.

Needs Beam: make check-engines ENGINE=beam.
"""

import unittest

import apache_beam as beam
from apache_beam.io import source_test_utils
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from common import Case, holdall

from holdall.beam import ReadFromBagz, _Source

WORKERS = PipelineOptions(
    ["--runner=DirectRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2"]
)


class Reading(Case):
    def test_records_are_those_of_the_plain_reader(self):
        spec, records = self.bag("lines@3.bagz")
        with beam.Pipeline(options=WORKERS) as pipeline:
            assert_that(pipeline | ReadFromBagz(spec, threads=1), equal_to(records))
        with beam.Pipeline() as pipeline:
            part = holdall.Bag(spec)[::-2]
            assert_that(pipeline | ReadFromBagz(part), equal_to(records[::-2]))
        with beam.Pipeline() as pipeline:
            numbers = pipeline | ReadFromBagz(spec, coder=Length())
            assert_that(numbers, equal_to([len(r) for r in records]))

    def test_every_split_reads_every_record_once(self):
        spec, records = self.bag(n=50)
        source = _Source(holdall.Bag(spec), beam.coders.BytesCoder())
        for size in (1, 100, 10**6):
            bundles = [(b.source, b.start_position, b.stop_position) for b in source.split(size)]
            self.assertEqual(bundles[0][1:2] + bundles[-1][2:], (0, len(records)))
            source_test_utils.assert_sources_equal_reference_source((source, None, None), bundles)
        source_test_utils.assert_split_at_fraction_exhaustive(
            _Source(holdall.Bag(spec)[:7], beam.coders.BytesCoder())
        )


class Length(beam.coders.Coder):
    def decode(self, encoded):
        return len(encoded)


if __name__ == "__main__":
    unittest.main()
