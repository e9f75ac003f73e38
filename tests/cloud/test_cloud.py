"""Tests bags and other containers in object stores: emulators of Google's and Amazon's, and a web
server that may return wrong results.

The servers report which requests were made.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peer"))

servers = subprocess.Popen(
    [sys.executable, HERE / "servers.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
WHERE = {
    name: f"http://127.0.0.1:{port}" for name, port in json.loads(servers.stdout.readline()).items()
}
ENVIRONMENT = {
    "CLOUD_STORAGE_EMULATOR_ENDPOINT": WHERE["gcs"],
    "AWS_ENDPOINT_URL": WHERE["s3"],
    "AWS_ALLOW_HTTP": "true",
    "AWS_ACCESS_KEY_ID": "test-user",
    "AWS_SECRET_ACCESS_KEY": "hush-hush-hush",
    "AWS_REGION": "us-east-1",
}
os.environ.update(ENVIRONMENT)

import bagz  # noqa: E402  after the environment
import holdall_c as h  # noqa: E402

MIB = 1 << 20
STORES = ("gs://bucket/", "s3://bucket/")
rng = random.Random(5)
MANY = [rng.randbytes(rng.randrange(400)) for _ in range(100_000)]
FEW = [b"", b"a", b"", b"bc" * 1000, b""] + MANY[:40]


def http(method, url, body=None):
    # the S3 emulator requires a signature, and does not verify it
    signature = (
        "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, "
        "SignedHeaders=host, Signature=a"
    )
    headers = {"Content-Type": "application/octet-stream"}
    if url.startswith(WHERE["s3"]):
        headers["Authorization"] = signature
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read()


def where(name):
    """Returns the address of an object at its emulator."""
    scheme, _, rest = name.partition("://")
    return {"gs": WHERE["gcs"], "s3": WHERE["s3"]}[scheme] + "/" + urllib.parse.quote(rest)


def asked():
    """Returns the requests since the last call: method, path, range, status, bytes."""
    return [entry[1:] for entry in json.loads(http("GET", WHERE["control"]))]


def write(name, records, mode=h.CREATE, **options):
    with h.Writer(name, mode, **options) as writer:
        writer.append_many(records)
        writer.commit()


def records(name, **options):
    with h.Bag(name, **options) as bag:
        return list(bag.read_range())


class Case(unittest.TestCase):
    def setUp(self):
        self.prefix = self.id().rpartition(".")[2] + "/"
        asked()

    def fails(self, status, call, *texts):
        with self.assertRaises(h.Error) as raised:
            call()
        self.assertEqual(raised.exception.status, status, raised.exception)
        for word in texts:
            self.assertIn(word, raised.exception.message)
        for secret in ("hush", "secret of the server"):
            self.assertNotIn(secret, raised.exception.message)
        return raised.exception


class Bags(Case):
    def test_what_is_written_is_read(self):
        for store in STORES:
            separate = dict(bag_limits=h.BAG_LIMITS_SEPARATE)
            for name, options in (
                ("a.bagz", {}),
                ("b.bag", {}),
                ("c.bag", separate),
                ("d.bagz", separate),
            ):
                kinds = (("none", []), ("few", FEW), ("many", MANY))
                for kind, content in kinds if name in ("a.bagz", "c.bag") else kinds[:2]:
                    with self.subTest(store=store, name=name, kind=kind):
                        at = f"{store}{self.prefix}{kind}-{name}"
                        write(at, content, **options)
                        self.assertEqual(records(at, **options), content)
                        self.fails(h.E_EXISTS, lambda: write(at, FEW, **options), at)
                        self.fails(h.E_UNSUPPORTED, lambda: write(at, FEW, h.APPEND, **options), at)
                        if options:
                            self.fails(
                                h.E_UNSUPPORTED, lambda: write(at, FEW, h.REPLACE, **options), at
                            )
                        else:
                            write(at, FEW[1:], h.REPLACE)
                            self.assertEqual(records(at), FEW[1:])

    def test_dictionaries_are_stored_with_the_records(self):
        content = [b'{"id": %d, "city": "%s"}' % (i, b"Osaka" * (i % 3)) for i in range(20_000)]
        automatic = dict(bag_dictionary=h.BAG_DICTIONARY_AUTO)
        for store in STORES:
            at = store + self.prefix
            for name, files in (("a.bagz", 1), ("s@2.bagz", 2)):
                write(at + name, content, **automatic)
                asked()
                with h.Bag(at + name) as bag:
                    opened = len(asked())
                    dictionary = bag.dictionary()
                    self.assertEqual(bag.read(12_345), content[12_345])
                    self.assertLessEqual(len(asked()), 4 * files)
                    self.assertEqual(list(bag.read_range()), content)
                self.assertLessEqual(opened, 3 * files)
                self.assertGreater(len(dictionary), 1000)
                # a part of a set has the dictionary, and so is complete alone
                if files > 1:
                    self.assertEqual(records(at + "s-00001-of-00002.bagz"), content[1::2])
            write(at + "no.bagz", content)
            sizes = [len(http("GET", where(at + name))) for name in ("a.bagz", "no.bagz")]
            self.assertLess(sizes[0], sizes[1] * 0.8)
            # a bit of the dictionary is wrong: its checksum says so, and those of the records
            whole = bytearray(http("GET", where(at + "a.bagz")))
            begin = whole.find(dictionary[-1000:])
            self.assertGreater(begin, 0)
            whole[begin + 500] ^= 1
            http("PUT", where(at + "broken.bagz"), bytes(whole))
            self.fails(h.E_CHECKSUM, lambda: records(at + "broken.bagz"))
            with h.Bag(at + "broken.bagz") as bag:
                self.fails(h.E_CHECKSUM, bag.dictionary, "dictionary")

    def test_names_are_escaped(self):
        for scheme in ("gs", "s3"):
            for name in ("br[1]*?.bag", "per%20cent.bag", "sp ace/ü+&=#.bag", "a@0.bag"):
                at = f"{scheme}://bucket/{self.prefix}{name}"
                write(at, FEW)
                for text in (
                    at,
                    f"{scheme}:bucket/{self.prefix}{name}",
                    f"/{scheme}:bucket/{self.prefix}{name}",
                ):
                    self.assertEqual(records(text), FEW, text)
            missing = f"{scheme}://bucket/{self.prefix}no.bag"
            self.fails(h.E_MISSING, lambda: records(missing), missing)
            self.fails(h.E_MISSING, lambda: records(f"{scheme}://nobucket/x.bag"), "nobucket/x.bag")
            self.fails(h.E_ARGUMENT, lambda: records(f"{scheme}://bucket/"))
            self.fails(h.E_ARGUMENT, lambda: records(f"{scheme}://bucket/a//b"), "a//b")

    def test_sets_are_written_and_read(self):
        for store in STORES:
            at = store + self.prefix
            write(at + "s@3.bagz", FEW)
            for spec in ("s@3.bagz", "s@*.bagz"):
                for shards in ({}, {"bag_shards": h.BAG_SHARDS_INTERLEAVED}):
                    self.assertEqual(records(at + spec, **shards), FEW)
            concatenated = [r for i in range(3) for r in FEW[i::3]]
            self.assertEqual(
                records(at + "s@*.bagz", bag_shards=h.BAG_SHARDS_CONCATENATED), concatenated
            )
            write(at + "one.bag", MANY[:9], bag_limits=h.BAG_LIMITS_SEPARATE)
            write(at + "two.bag", MANY[:5], bag_limits=h.BAG_LIMITS_SEPARATE)
            self.assertEqual(
                records(f"{at}one.bag,{at}two.bag", bag_limits=h.BAG_LIMITS_SEPARATE),
                MANY[:9] + MANY[:5],
            )
            twice = f"{at}s@3.bagz,{at}s-00001-of-00003.bagz"
            self.fails(h.E_ARGUMENT, lambda: records(twice))
            self.assertEqual(
                records(twice, bag_shards=h.BAG_SHARDS_CONCATENATED), concatenated + FEW[1::3]
            )
            self.fails(
                h.E_UNSUPPORTED,
                lambda: write(at + "s@3.bagz", FEW, h.REPLACE),
                "s-00000-of-00003.bagz",
            )
            http("DELETE", where(at + "s-00001-of-00003.bagz"))
            for spec in ("s@3.bagz", "s@*.bagz"):
                self.fails(h.E_MISSING, lambda: records(at + spec), "s-00001-of-00003.bagz")
            self.fails(h.E_MISSING, lambda: records(at + "t@*.bagz"), "t-")

    def test_nothing_is_there_before_the_commit(self):
        for store in STORES:
            for content in (FEW, MANY):
                at = store + self.prefix + "x.bagz"
                with h.Writer(at, h.CREATE) as writer:
                    writer.append_many(content)
                self.fails(h.E_MISSING, lambda: records(at))
        uploads = http("GET", where("s3://bucket") + "?uploads")
        self.assertNotIn(b"<Upload>", uploads)
        write(STORES[1] + self.prefix + "y.bagz", MANY)
        listed = http("GET", where("s3://bucket") + "?list-type=2").decode()
        self.assertNotIn("holdall-new", listed)

    def test_existing_objects_are_not_replaced(self):
        """Uses existence checks that find nothing: put and copy report an existing object, too."""
        for content in (FEW, MANY):
            at = f"gs://bucket/{self.prefix}blind{len(content)}.bagz"
            with h.Writer(at, h.CREATE) as first, h.Writer(at, h.CREATE) as second:
                first.append_many(content)
                second.append_many(content[:-1])
                first.commit()
                self.fails(h.E_EXISTS, second.commit, at)
            self.assertEqual(records(at), content)

    def test_a_bag_is_one_commit(self):
        at = f"gs://bucket/{self.prefix}x.bagz"
        with h.Writer(at, h.CREATE) as writer:
            writer.append_many(FEW)
            writer.commit()
            writer.commit()
            self.fails(h.E_UNSUPPORTED, lambda: writer.append(b"more"), at)
        self.assertEqual(records(at), FEW)


class Requests(Case):
    def gets(self):
        """Returns the ranges and bytes of the requests."""
        return [(entry[2], entry[4]) for entry in asked()]

    def test_reads_make_few_requests(self):
        indices = sorted(rng.sample(range(len(MANY)), 1000))
        for store in STORES:
            for name in ("a.bagz", "b.bag"):
                at = store + self.prefix + name
                write(at, MANY, **({"checksum": h.CHECKSUM_NONE} if name == "b.bag" else {}))
                asked()
                with h.Bag(at) as bag:
                    self.assertLessEqual(len(self.gets()), 2)
                    self.assertEqual(bag.read(70_000), MANY[70_000])
                    self.gets()
                    self.assertEqual(bag.read(70_500), MANY[70_500])
                    self.assertLessEqual(len(self.gets()), 1)
                with h.Bag(at) as bag:
                    self.gets()
                    self.assertEqual(list(bag.read_indices(indices)), [MANY[i] for i in indices])
                    made = self.gets()
                    self.assertLessEqual(len(made), 20)
                with h.Bag(at, bag_limits_cache=1) as bag:
                    self.gets()
                    self.assertEqual(bag.read(5), MANY[5])
                    self.assertEqual(len(self.gets()), 1)

    def test_reads_in_order_are_read_ahead(self):
        content = [rng.randbytes(2000) for _ in range(16_000)]
        for store in STORES:
            at = store + self.prefix + "a.bag"
            write(at, content, checksum=h.CHECKSUM_NONE)
            with h.Bag(at, bag_limits_cache=1) as bag:
                self.gets()
                bag.checksum(h.CHECKSUM_CRC32)
                made = self.gets()
                self.assertGreaterEqual(sum(n for _, n in made), 32_000_000)
                self.assertLess(sum(n for _, n in made), 36_000_000)
                # the first read cannot know that more follow, and the last one ends with the
                # records
                self.assertGreaterEqual(sum(n >= 4 * MIB for _, n in made), len(made) - 2, made)

    def test_single_reads_in_order_are_read_ahead(self):
        at = f"gs://bucket/{self.prefix}a.bag"
        write(at, MANY, checksum=h.CHECKSUM_NONE)
        with h.Bag(at, bag_limits_cache=1) as bag:
            self.gets()
            for i in range(50_000):
                self.assertEqual(bag.read(i), MANY[i])
            self.assertLessEqual(len(self.gets()), 6)

    def test_boxes_of_a_frame_make_few_requests(self):
        rows, columns = 400, 1000
        content = rng.randbytes(4 * rows * columns)
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "a.b2nd")
            with h.Array.create(
                path,
                "<i4",
                [rows, columns],
                format=h.FORMAT_B2ND,
                chunk_shape=[40, 250],
                block_shape=[10, 50],
            ) as array:
                array.write([0, 0], [rows, columns], [1, 1], content)
                array.commit()
            whole = path.read_bytes()
        for base in ("gs://bucket/", "s3://bucket/", WHERE["http"] + "/true/"):
            at = base + self.prefix + "a.b2nd"
            http("PUT", at if base.startswith("http") else where(at), whole)
            for threads in (1, 2):
                asked()
                with h.Array(at, threads=threads) as array:
                    # the end with index and trailer, and the header
                    self.assertLessEqual(len(self.gets()), 2)
                    # all rows of chunks
                    for first, count in ((10, 5), (700, 20), (300, 400), (0, columns)):
                        found = array.read([0, first], [rows, count], [1, 1])
                        for row in range(rows):
                            begin = 4 * (row * columns + first)
                            self.assertEqual(
                                found[4 * row * count : 4 * (row + 1) * count],
                                content[begin : begin + 4 * count],
                            )
                        made = self.gets()
                        self.assertLessEqual(len(made), 2, made)
                        self.assertEqual(array.read([0, first], [rows, count], [1, 1]), found)
                        self.assertEqual(self.gets(), [])
                    points = [(i * 37 % rows, i * 91 % columns) for i in range(300)]
                with h.Array(at, threads=threads) as array:
                    self.gets()
                    found = array.read_points(points)
                    for (row, column), item in zip(points, range(0, 1200, 4)):
                        begin = 4 * (row * columns + column)
                        self.assertEqual(found[item : item + 4], content[begin : begin + 4])
                    self.assertLessEqual(len(self.gets()), 2)

    def test_a_large_box_is_fetched_in_stages(self):
        rows, columns = 12_000, 1000
        content = rng.randbytes(4000) * rows
        at = WHERE["http"] + "/true/" + self.prefix + "large.b2nd"
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "large.b2nd")
            shapes = dict(chunk_shape=[500, 250], block_shape=[50, 50])
            with h.Array.create(
                path, "<i4", [rows, columns], format=h.FORMAT_B2ND, codec=h.CODEC_NONE, **shapes
            ) as array:
                array.write([0, 0], [rows, columns], [1, 1], content)
                array.commit()
            http("PUT", at, path.read_bytes())
        for threads in (1, 2, 5):
            asked()
            with h.Array(at, threads=threads) as array:
                self.assertTrue(array.read([0, 0], [rows, columns], [1, 1]) == content)
                made = self.gets()
                self.assertLessEqual(len(made), 30, made)
                self.assertLess(sum(n for _, n in made), 52_000_000)


class Changes(Case):
    def change(self, name, how, content):
        address = where(name)
        if how == "deleted":
            http("DELETE", address)
        elif how == "cut":
            whole = http("GET", address)
            http("PUT", address, whole[: len(whole) // 2])
        else:
            write(name, content, h.REPLACE)

    def test_changes_of_an_open_object_are_errors(self):
        for store in STORES:
            for how in ("overwritten", "deleted", "cut"):
                for name in ("a.bagz", "b.bag"):
                    at = f"{store}{self.prefix}{how}-{name}"
                    write(at, MANY)
                    with h.Bag(at) as bag:
                        self.change(at, how, MANY[::-1])
                        for read in (
                            lambda: bag.read(3),
                            lambda: bag.read_range(0, 50_000),
                            lambda: bag.read_indices([7, 60_000]),
                        ):
                            # or its checksums
                            self.fails(h.E_STATE, read, f"{how}-{name}", "while it was open")

    def test_an_error_is_at_the_first_record_of_a_changed_shard(self):
        """One shard of a set changes: the error is at the first requested record of that shard."""
        for store in STORES:
            for name in ("x@3.bagz", "y@3.bag"):
                at = f"{store}{self.prefix}{name}"
                write(at, MANY)
                with h.Bag(at, bag_shards=h.BAG_SHARDS_CONCATENATED) as bag:
                    http("DELETE", where(at.replace("@3", "-00001-of-00003")))
                    for read, expected in (
                        (lambda: bag.read_indices([5, 50_000, 90_000]), 50_000),
                        (lambda: bag.read_indices([90_000, 50_000, 50_001, 5]), 50_000),
                        (lambda: bag.read_range(33_000, 1000), 33_334),
                        (lambda: bag.read_range(40_000, 100), 40_000),
                        (lambda: bag.read(45_000), 45_000),
                    ):
                        error = self.fails(h.E_STATE, read, "-00001-of-00003", "while it was open")
                        self.assertEqual(error.position, expected, name)

    def test_servers_may_ignore_the_version(self):
        for way, found in (("careless", h.E_STATE), ("untagged", h.E_STATE)):
            put("x.bag", local_bag(MANY, "x.bag"))
            with h.Bag(f"{WHERE['http']}/{way}/x.bag", verify=0) as bag:
                put("x.bag", local_bag(MANY[: len(MANY) - 5], "x.bag"))
                self.fails(found, lambda: bag.read(3), "while it was open")


def local_bag(content, name, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        write(path, content, **options)
        return path.read_bytes()


def put(name, content):
    http("PUT", f"{WHERE['http']}/true/{name}", content)


class Servers(Case):
    """Valid but unusual behaviour of servers."""

    def url(self, way, name="x.bagz"):
        return f"{WHERE['http']}/{way}/{name}"

    @classmethod
    def setUpClass(cls):
        put("x.bagz", local_bag(MANY, "x.bagz"))
        put("few.bagz", local_bag(FEW, "few.bagz"))
        put("empty.bagz", b"")

    def test_correct_responses_are_accepted(self):
        # a truncated response is requested again
        for way in ("true", "untagged", "careless", "cut"):
            self.assertEqual(records(self.url(way)), MANY)
            self.assertEqual(records(self.url(way, "few.bagz")), FEW)
        self.assertEqual(records(self.url("true", "empty.bagz")), [])
        self.assertEqual(records(self.url("true") + "?X-Signature=hush"), MANY)
        self.fails(
            h.E_MISSING, lambda: records(self.url("true", "no.bagz")), self.url("true", "no.bagz")
        )
        self.fails(h.E_UNSUPPORTED, lambda: records(self.url("true", "x@*.bagz")))
        self.fails(h.E_UNSUPPORTED, lambda: write(self.url("true", "new.bagz"), FEW))

    def test_wrong_responses_are_errors(self):
        for way in ("more", "less", "other", "huge", "odd"):
            with self.subTest(way):
                self.fails(h.E_IO, lambda: records(self.url(way), cloud_retries=1), self.url(way))
        self.fails(h.E_UNSUPPORTED, lambda: records(self.url("whole")), "range requests")

    def test_failed_requests_are_repeated(self):
        silent = self.url("silent") + "?X-Signature=hush"
        self.fails(h.E_IO, lambda: records(silent, cloud_timeout=500), self.url("silent"), "500 ms")
        self.fails(
            h.E_IO,
            lambda: records(self.url("failing"), cloud_retries=2),
            self.url("failing"),
            "503",
        )
        # three times for the end of the object, and for its length
        self.assertLessEqual(sum("failing" in path for _, path, *_ in asked()), 6)
        # a number in the name is not the status of the server
        put("416.bagz", b"")
        error = self.fails(
            h.E_IO, lambda: records(self.url("shy", "416.bagz")), "403", "AccessDenied"
        )
        self.assertEqual(error.os_code, 13)
        self.fails(
            h.E_IO,
            lambda: records("http://127.0.0.1:1/x.bag", cloud_retries=1),
            "127.0.0.1:1/x.bag",
        )

    def test_options_set_the_limits(self):
        self.fails(
            h.E_ARGUMENT,
            lambda: records(self.url("true"), cloud_requests=0),
            "HOLDALL_OPT_CLOUD_REQUESTS",
        )
        self.assertEqual(records(self.url("true"), cloud_requests=1), MANY)

    def test_shards_are_opened_together(self):
        """The number of shards of the option are opened together, and not more."""
        shard = local_bag(FEW, "x.bagz")
        for i in range(16):
            put(f"s-{i:05}-of-00016.bagz", shard)
        self.assertEqual(
            records(self.url("four", "s@16.bagz"), cloud_requests=4, cloud_retries=0), FEW * 16
        )

    def test_missing_credentials_are_reported(self):
        """The address does not answer: an error with a message, soon."""
        program = (
            f"import sys; sys.path.insert(0, {str(HERE.parent / 'peer')!r})\nimport holdall_c as "
            "h\n"
            "for name in ('gs://bucket/x.bag', 's3://bucket/x.bag', 'az://container/x.bag'):\n"
            "    try: h.Bag(name, cloud_timeout=1500, cloud_retries=1)\n"
            "    except h.Error as e: print(h.status_name(e.status), e.message)\n"
        )
        ours = ("CLOUD_STORAGE", "STORAGE_EMULATOR", "AWS_", "GOOGLE_", "AZURE_")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        clean.update(
            HTTPS_PROXY="http://127.0.0.1:1",
            HTTP_PROXY="http://127.0.0.1:1",
            AZURE_STORAGE_ACCOUNT_NAME="absent",
        )
        output = subprocess.run(
            [sys.executable, "-c", program],
            env=clean,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        self.assertEqual(output.count("HOLDALL_E_IO"), 3, output)
        self.assertEqual(output.count("names no credentials"), 3, output)


class Threads(Case):
    def test_many_threads_read(self):
        at = f"gs://bucket/{self.prefix}x.bagz"
        write(at, MANY)
        wrong = []

        def read(seed):
            own = random.Random(seed)
            for _ in range(20):
                i = own.randrange(len(MANY) - 100)
                if bag.read(i) != MANY[i] or list(bag.read_range(i, 100)) != MANY[i : i + 100]:
                    wrong.append(i)

        with h.Bag(at) as bag:
            threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
            [t.start() for t in threads]
            [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_a_forked_child_reports_an_error(self):
        at = f"gs://bucket/{self.prefix}x.bagz"
        write(at, MANY)
        with h.Bag(at) as bag:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    self.fails(h.E_STATE, lambda: bag.read(50_000), "forked")
                    self.fails(h.E_STATE, lambda: bag.read_range(0, 10), "forked")
                    with h.Bag(at) as own:
                        code = 0 if own.read(50_000) == MANY[50_000] else 2
                finally:
                    os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(bag.read(50_000), MANY[50_000])


class Peers(Case):
    def test_the_bagz_package_reads_the_same(self):
        """Files of holdall and of the Bagz package, in the same store."""
        layouts = {
            h.BAG_LIMITS_TAIL: bagz.LimitsPlacement.TAIL,
            h.BAG_LIMITS_SEPARATE: bagz.LimitsPlacement.SEPARATE,
        }
        for limits, placement in layouts.items():
            for name in ("x.bagz", "y.bag", "s@3.bagz"):
                ours, theirs = (f"{self.prefix}{who}{limits}{name}" for who in ("ours", "theirs"))
                write(f"gs://bucket/{ours}", FEW, bag_limits=limits)
                options = bagz.Reader.Options(
                    limits_placement=placement, sharding_layout=bagz.ShardingLayout.INTERLEAVED
                )
                self.assertEqual(list(bagz.Reader(f"gs:bucket/{ours}", options)), FEW, ours)
                parts = 3 if "@" in name else 1
                for i in range(parts):
                    shard = theirs.replace("@3", f"-{i:05}-of-00003")
                    with bagz.Writer(
                        f"gs:bucket/{shard}", bagz.Writer.Options(limits_placement=placement)
                    ) as writer:
                        [writer.write(r) for r in FEW[i::parts]]
                self.assertEqual(
                    records(
                        f"/gs:bucket/{theirs}",
                        bag_limits=limits,
                        bag_shards=h.BAG_SHARDS_INTERLEAVED,
                    ),
                    FEW,
                    theirs,
                )


class Formats(Case):
    """Other containers, created locally and uploaded, are read."""

    def test_nodes_of_stores_are_read(self):
        stores = h.ROOT / "tests/fixtures/stores"
        files = [f for f in stores.rglob("*.b2*") if f.is_file()]
        for base in (
            "gs://bucket/" + self.prefix,
            "s3://bucket/" + self.prefix,
            WHERE["http"] + "/true/",
        ):
            is_server = base.startswith("http")
            for f in files:
                address = base + str(f.relative_to(stores))
                http("PUT", address if is_server else where(address), f.read_bytes())
            # a server does not list what a folder holds
            for name in ("tree.b2z", "embed.b2e") + (() if is_server else ("tree.b2d",)):
                with self.subTest(base + name):
                    self.assertEqual(h.nodes(base + name), h.nodes(stores / name))
                    with h.Array(f"{base}{name}/a") as far, h.Array(stores / name / "a") as near:
                        whole = ([0, 0], [10, 100], [1, 1])
                        self.assertEqual(far.read(*whole), near.read(*whole))
                    with h.Schunk(f"{base}{name}/group/s") as schunk:
                        self.assertEqual(schunk.nbytes, 120)

    def test_arrays_and_tables_are_read(self):
        content = bytes(rng.randbytes(100) * 4000)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            for name, form, options in (
                ("a.blp", h.FORMAT_BLOSCPACK, {}),
                ("a.bcolz", h.FORMAT_BCOLZ, {}),
                ("a.blz", h.FORMAT_BLZ, {}),
                ("a.b2nd", h.FORMAT_B2ND, {}),
                ("sparse.b2nd", h.FORMAT_B2ND, dict(sparse=1)),
            ):
                with h.Array.create(
                    folder / name, "<i4", [100_000], format=form, **options
                ) as array:
                    array.write([0], [100_000], [1], content)
                    array.commit()
            with h.Table.create(folder / "t.bcolz", [("n", "<i4"), ("m", "<i4")]) as table:
                table.append(100_000, [content, content])
                table.commit()
            files = [f.relative_to(folder) for f in folder.rglob("*") if f.is_file()]
            for base in (
                "gs://bucket/" + self.prefix,
                "s3://bucket/" + self.prefix,
                WHERE["http"] + "/true/",
            ):
                for f in files:
                    address = base + str(f)
                    http(
                        "PUT",
                        address if base.startswith("http") else where(address),
                        (folder / f).read_bytes(),
                    )
                for name in ("a.blp", "a.bcolz", "a.blz", "a.b2nd", "sparse.b2nd"):
                    with self.subTest(base + name), h.Array(base + name) as array:
                        self.assertEqual(array.read([5], [90_000], [1]), content[20:360_020])
                with h.Schunk(base + "a.blp") as schunk:
                    self.assertEqual(schunk.read(), content)
                with h.Table(base + "t.bcolz") as table:
                    self.assertEqual(table["m"].read([0], [100_000], [1]), content)
            at = "gs://bucket/" + self.prefix
            self.fails(
                h.E_UNSUPPORTED,
                lambda: h.Array.create(at + "new.b2nd", "<i4", [5], format=h.FORMAT_B2ND).commit(),
            )
            self.fails(
                h.E_UNSUPPORTED,
                lambda: h.Array.create(
                    at + "new.bcolz", "<i4", [5], format=h.FORMAT_BCOLZ
                ).commit(),
            )
            self.fails(h.E_UNSUPPORTED, lambda: h.Array(at + "a.b2nd", h.APPEND))


class Tool(Case):
    def test_names_of_objects_are_resolved(self):
        with tempfile.TemporaryDirectory() as scratch:
            tool = pathlib.Path(os.environ["HOLDALL_LIB"]).with_name("holdall")
            lines = pathlib.Path(scratch, "lines.txt")
            lines.write_text("".join(f"line {i}\n" for i in range(1000)))
            at = f"gs://bucket/{self.prefix}lines.bagz"

            def run(*arguments):
                done = subprocess.run(
                    [tool, *arguments], capture_output=True, text=True, check=True
                )
                return done.stdout

            run("pack", lines, at)
            self.assertEqual(run("cat", at, "--slice", "-2:"), "line 998line 999")
            self.assertIn("1000", run("info", at, "--json"))
            self.assertIn("1000", run("verify", at))


if __name__ == "__main__":
    http("PUT", where("s3://bucket"))
    try:
        unittest.main()
    finally:
        servers.stdin.close()
        servers.wait(10)
