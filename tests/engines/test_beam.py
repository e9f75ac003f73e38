"""Beam's source and sink: against the plain reader, with two worker processes.

Needs Beam: make check-engines ENGINE=beam.
"""

import unittest

import apache_beam as beam
from apache_beam.io import source_test_utils
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from common import Case, holdall

from holdall.beam import ReadFromBagz, WriteToBagz, _Source

WORKERS = PipelineOptions(
    ["--runner=DirectRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2"]
)

# Appends records in two worker processes.
PROGRAM = """
import sys
import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
import holdall.beam

def record(i):
    return b"new %d" % i

if __name__ == "__main__":
    print("start", flush=True)
    flags = ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        records = pipeline | beam.Create(range(2000)) | beam.Map(record)
        records | holdall.beam.WriteToBagz(sys.argv[1])
"""


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


class Writing(Case):
    def test_elements_are_appended_or_become_a_set(self):
        spec, records = self.bag()
        with beam.Pipeline(options=WORKERS) as pipeline:
            pipeline | beam.Create([b"new"] * 100) | WriteToBagz(spec, level=3)
        self.assertEqual(list(holdall.Bag(spec)), records + [b"new"] * 100)
        for name, count in (("new@2.bagz", 2), ("all@*.bagz", None)):
            shards = str(self.folder / name)
            with beam.Pipeline() as pipeline:
                pipeline | ReadFromBagz(spec) | WriteToBagz(shards)
            self.assertEqual(sorted(holdall.Bag(shards)), sorted(records + [b"new"] * 100))
            if count:
                self.assertEqual(len(holdall.Bag(shards).shards), count)

    def test_a_failed_pipeline_changes_nothing(self):
        spec, records = self.bag()
        with self.assertRaises(Exception), beam.Pipeline() as pipeline:
            numbers = pipeline | beam.Create(range(1000))
            numbers | beam.Map(lambda i: b"%d" % (1 // (i - 700))) | WriteToBagz(spec)
        self.assertEqual(list(holdall.Bag(spec)), records)
        holdall.repair(spec)
        self.assertEqual(holdall.list_parts(spec), [])

    def test_a_killed_pipeline_leaves_the_last_commit(self):
        new = [b"new %d" % i for i in range(2000)]
        self.survives_kills(PROGRAM, str(self.folder / "lines.bagz"), [b"old"] * 10, new)


class Length(beam.coders.Coder):
    def decode(self, encoded):
        return len(encoded)


class Guide(Case):
    def test_the_program_prints_what_the_guide_says(self):
        self.check_guide("filter.py")


if __name__ == "__main__":
    unittest.main()
