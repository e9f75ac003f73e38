//! Information about containers of every kind and format: as created, and as the facts of the
//! fixtures say, which real tools wrote.

use crate::storage::Storage;
use crate::{TempFolder, array_spec, c_path, common, done, info, made, options};
use holdall::capi::{array::*, bag::*, container::*, options::*, schunk::*, table::*};
use serde_json::Value;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::ptr::null;

const FOLDERS: [i32; 3] = [
    HOLDALL_FORMAT_BCOLZ,
    HOLDALL_FORMAT_BLZ,
    HOLDALL_FORMAT_BLZ_RFC,
];
const FRAMES: [i32; 2] = [HOLDALL_FORMAT_B2ND, HOLDALL_FORMAT_CATERVA];

/// How content is encoded.
#[derive(Clone, Copy, Debug)]
struct Encoding<'a> {
    codec: i32,
    level: i64,
    filters: &'a [i32],
    checksum: i32,
}

impl Encoding<'_> {
    fn options(&self, more: &[(i32, i64)]) -> *mut holdall_options {
        let o = options(&[
            (HOLDALL_OPT_CODEC, self.codec.into()),
            (HOLDALL_OPT_LEVEL, self.level),
            (HOLDALL_OPT_CHECKSUM, self.checksum.into()),
        ]);
        let filters: Vec<u8> = self.filters.iter().map(|f| *f as u8).collect();
        // SAFETY: the options exist.
        unsafe {
            done(|err| {
                let (bytes, n) = (filters.as_ptr().cast(), filters.len());
                holdall_options_set_bytes(o, HOLDALL_OPT_FILTERS, bytes, n, err)
            });
            for (option, value) in more {
                done(|err| holdall_options_set(o, *option, *value, err));
            }
        }
        o
    }

    /// Compares it with the fields of a structure. Headers of chunks (`of_chunks`) record no level,
    /// and LZ4 for LZ4HC, which is a way of encoding it.
    fn check(&self, of_chunks: bool, (codec, level): (i32, i32), checksum: i32, filters: &[u8]) {
        let expected = match self.codec {
            HOLDALL_CODEC_LZ4HC if of_chunks => HOLDALL_CODEC_LZ4,
            codec => codec,
        };
        assert_eq!(codec, expected, "{self:?}");
        let expected = if of_chunks { -1 } else { self.level as i32 };
        assert_eq!(level, expected, "{self:?}");
        assert_eq!(checksum, self.checksum, "{self:?}");
        let filters: Vec<i32> = filters.iter().map(|f| (*f).into()).collect();
        assert_eq!(filters, self.filters, "{self:?}");
    }
}

/// Encodings with every codec, filter and checksum that the formats have.
fn encodings(is_frame: bool, of_blz: bool) -> Vec<Encoding<'static>> {
    let codecs = HOLDALL_CODEC_BLOSCLZ..=HOLDALL_CODEC_ZSTD;
    let codecs = codecs.filter(|codec| match *codec {
        HOLDALL_CODEC_SNAPPY => !is_frame,
        HOLDALL_CODEC_ZSTD => !of_blz,
        _ => true,
    });
    let mut all: Vec<Encoding> = codecs
        .map(|codec| Encoding {
            codec,
            level: 1 + i64::from(codec) % 9,
            filters: &[HOLDALL_FILTER_SHUFFLE],
            checksum: HOLDALL_CHECKSUM_CRC32,
        })
        .collect();
    let base = all[0];
    let mut filters: Vec<&[i32]> = vec![&[]];
    if !of_blz {
        filters.push(&[HOLDALL_FILTER_BITSHUFFLE]);
    }
    if is_frame {
        filters.push(&[HOLDALL_FILTER_DELTA, HOLDALL_FILTER_BITSHUFFLE]);
        filters.push(&[HOLDALL_FILTER_SHUFFLE, HOLDALL_FILTER_BYTEDELTA]);
    }
    all.extend(
        filters
            .into_iter()
            .map(|filters| Encoding { filters, ..base }),
    );
    let last = if is_frame {
        HOLDALL_CHECKSUM_NONE
    } else {
        HOLDALL_CHECKSUM_SHA512
    };
    let checksums = HOLDALL_CHECKSUM_NONE..=last;
    all.extend(checksums.map(|checksum| Encoding { checksum, ..base }));
    all
}

/// Items that compress.
fn content() -> Vec<i32> {
    (0..3000).map(|i| i / 7).collect()
}

fn schunk_info(schunk: *const holdall_schunk) -> holdall_schunk_info {
    // SAFETY: the superchunk is open.
    info(|info, err| unsafe { holdall_schunk_get_info(schunk, info, err) })
}

fn array_info(array: *const holdall_array) -> holdall_array_info {
    // SAFETY: the array is open.
    info(|info, err| unsafe { holdall_array_get_info(array, info, err) })
}

fn table_info(table: *const holdall_table) -> holdall_table_info {
    // SAFETY: the table is open.
    info(|info, err| unsafe { holdall_table_get_info(table, info, err) })
}

fn bag_info(bag: *const holdall_bag) -> holdall_bag_info {
    // SAFETY: the bag is open.
    info(|info, err| unsafe { holdall_bag_get_info(bag, info, err) })
}

fn check_schunk(info: &holdall_schunk_info, format: i32, encoding: &Encoding) {
    assert_eq!(
        (info.format, info.typesize, info.chunk_size),
        (format, 4, 4000),
        "{encoding:?}"
    );
    assert_eq!(
        (info.chunk_count, info.nbytes, info.attr_count),
        (3, 12_000, 0),
        "{encoding:?}"
    );
    assert!(
        info.stored_bytes > 0 && info.stored_bytes < info.nbytes,
        "{encoding:?}"
    );
    let filters = &info.filters[..info.filter_count as usize];
    let of_chunks = format == HOLDALL_FORMAT_BLOSCPACK;
    encoding.check(of_chunks, (info.codec, info.level), info.checksum, filters);
    assert_eq!(info.version, if of_chunks { 3 } else { 2 }, "{encoding:?}");
    assert!(
        info.filters[info.filter_count as usize..]
            .iter()
            .all(|f| *f == 0)
    );
}

#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn superchunks_are_as_created() {
    for (format, sparse) in [
        (HOLDALL_FORMAT_BLOSCPACK, 0),
        (HOLDALL_FORMAT_B2FRAME, 0),
        (HOLDALL_FORMAT_B2FRAME, 1),
    ] {
        for encoding in encodings(format == HOLDALL_FORMAT_B2FRAME, false) {
            let (s, items) = (Storage::new(), content());
            let mut more = vec![(HOLDALL_OPT_CHUNK_BYTES, 4000)];
            more.extend((sparse == 1).then_some((HOLDALL_OPT_SPARSE, 1)));
            let o = encoding.options(&more);
            // SAFETY: handles that are open until they are closed.
            unsafe {
                let c = made(|out, err| {
                    s.with(o, |o| {
                        holdall_schunk_create(null(), HOLDALL_CREATE, format, 4, o, out, err)
                    })
                });
                let new = schunk_info(c);
                assert_eq!((new.chunk_count, new.nbytes, new.generation), (0, 0, 0));
                done(|err| holdall_schunk_append(c, items.as_ptr().cast(), 12_000, err));
                done(|err| holdall_schunk_commit(c, err));
                let info = schunk_info(c);
                check_schunk(&info, format, &encoding);
                assert_eq!((info.generation, info.is_sparse), (1, sparse));
                holdall_schunk_close(c);
                holdall_options_free(o);
                let c = crate::schunks::opened(&s, HOLDALL_READ);
                let info = schunk_info(c);
                check_schunk(&info, format, &encoding);
                assert_eq!((info.generation, info.is_sparse), (0, sparse));
                holdall_schunk_close(c);
            }
        }
    }
}

/// What the chunks of a superchunk are is known without decoding them.
#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn chunks_are_as_written() {
    for format in [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME] {
        let s = Storage::new();
        let o = options(&[
            (HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD.into()),
            (HOLDALL_OPT_CHUNK_BYTES, 4000),
        ]);
        // SAFETY: handles that are open until they are closed.
        unsafe {
            let c = made(|out, err| {
                s.with(o, |o| {
                    holdall_schunk_create(null(), HOLDALL_CREATE, format, 4, o, out, err)
                })
            });
            let chunk = |i| -> holdall_chunk_info {
                info(|info, err| holdall_schunk_get_chunk_info(c, i, info, err))
            };
            let noise: Vec<u32> = (1..1001u32)
                .map(|i| i.wrapping_mul(2_654_435_769))
                .collect();
            for src in [
                content().as_ptr().cast(),
                [0u32; 1000].as_ptr().cast(),
                noise.as_ptr().cast(),
            ] {
                done(|err| holdall_schunk_append(c, src, 4000, err));
            }
            done(|err| holdall_schunk_append(c, noise.as_ptr().cast(), 400, err));
            assert_eq!((chunk(3).is_pending, chunk(3).stored_bytes), (1, 0));
            assert_eq!((chunk(3).codec, chunk(3).nbytes), (HOLDALL_CODEC_ZSTD, 400));
            done(|err| holdall_schunk_commit(c, err));
            let zeros_in_index = format == HOLDALL_FORMAT_B2FRAME;
            let codecs = [0, 1, 2, 3].map(|i| chunk(i).codec);
            assert_eq!(codecs[0], HOLDALL_CODEC_ZSTD);
            assert_eq!(
                codecs[1],
                if zeros_in_index {
                    HOLDALL_CODEC_NONE
                } else {
                    HOLDALL_CODEC_ZSTD
                }
            );
            assert_eq!(codecs[3], HOLDALL_CODEC_NONE);
            assert_eq!(chunk(1).stored_bytes == 0, zeros_in_index);
            assert!(chunk(0).stored_bytes < 4000 && chunk(3).stored_bytes > 400);
            assert_eq!([0, 1, 2, 3].map(|i| chunk(i).is_pending), [0; 4]);
            assert_eq!(
                [0, 1, 2, 3].map(|i| chunk(i).nbytes),
                [4000, 4000, 4000, 400]
            );
            holdall_schunk_close(c);
            holdall_options_free(o);
        }
    }
}

fn check_array(info: &holdall_array_info, format: i32, encoding: &Encoding, dtype_of: &str) {
    let what = format!("{format}: {encoding:?}");
    // SAFETY: shapes of two dimensions, and a dtype, of an open array.
    let (dtype, shapes) = unsafe {
        (
            CStr::from_ptr(info.dtype).to_str().unwrap(),
            [info.shape, info.chunk_shape, info.block_shape]
                .map(|shape| std::slice::from_raw_parts(shape, 2)),
        )
    };
    let is_frame = FRAMES.contains(&format);
    assert_eq!((dtype, shapes[0]), (dtype_of, &[60, 50][..]), "{what}");
    assert_eq!(
        shapes[1],
        if is_frame { [20, 25] } else { [20, 50] },
        "{what}"
    );
    if is_frame {
        assert_eq!(shapes[2], [10, 25], "{what}");
    }
    assert_eq!(
        (info.format, info.ndim, info.order),
        (format, 2, HOLDALL_ORDER_C),
        "{what}"
    );
    assert_eq!(
        (info.itemsize, info.nbytes, info.attr_count),
        (4, 12_000, u32::from(format == HOLDALL_FORMAT_BLOSCPACK)),
        "{what}"
    );
    assert!(info.stored_bytes > 0, "{what}");
    let filters = &info.filters[..info.filter_count as usize];
    let of_chunks = format == HOLDALL_FORMAT_BLOSCPACK;
    let codec = match (format, encoding.codec) {
        // the codec of the first chunk
        (HOLDALL_FORMAT_BLZ, HOLDALL_CODEC_LZ4HC) => HOLDALL_CODEC_LZ4,
        (_, codec) => codec,
    };
    let encoding = Encoding { codec, ..*encoding };
    encoding.check(of_chunks, (info.codec, info.level), info.checksum, filters);
}

#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn arrays_are_as_created() {
    for format in [&[HOLDALL_FORMAT_BLOSCPACK][..], &FOLDERS, &FRAMES].concat() {
        let is_frame = FRAMES.contains(&format);
        for encoding in encodings(is_frame, format == HOLDALL_FORMAT_BLZ) {
            if format == HOLDALL_FORMAT_CATERVA
                && encoding.filters.contains(&HOLDALL_FILTER_BYTEDELTA)
            {
                continue;
            }
            let (s, o, items) = (Storage::new(), encoding.options(&[]), content());
            let (chunks, blocks) = ([20, if is_frame { 25 } else { 50 }], [10, 25]);
            let spec = holdall_array_spec {
                chunk_shape: chunks.as_ptr(),
                block_shape: if is_frame { blocks.as_ptr() } else { null() },
                ..array_spec(format, c"<i4", &[60, 50])
            };
            // SAFETY: handles that are open until they are closed.
            unsafe {
                let a = made(|out, err| {
                    s.with(o, |o| {
                        holdall_array_create(null(), HOLDALL_CREATE, &spec, o, out, err)
                    })
                });
                done(|err| {
                    let src = items.as_ptr().cast();
                    holdall_array_write(a, null(), null(), null(), src, 12_000, null(), err)
                });
                done(|err| holdall_array_commit(a, err));
                let info = array_info(a);
                check_array(&info, format, &encoding, "<i4");
                assert_eq!(info.generation, 1);
                done(|err| holdall_array_append(a, 0, 1, items.as_ptr().cast(), 200, err));
                done(|err| holdall_array_remove(a, 0, 60, 1, err));
                done(|err| holdall_array_commit(a, err));
                assert_eq!(array_info(a).generation, 2);
                holdall_array_close(a);
                holdall_options_free(o);
                let a = crate::arrays::opened(&s, HOLDALL_READ);
                let info = array_info(a);
                // Caterva does not store it
                let is_lost = format == HOLDALL_FORMAT_CATERVA;
                check_array(
                    &info,
                    format,
                    &encoding,
                    if is_lost { "|V4" } else { "<i4" },
                );
                assert_eq!(info.generation, 0);
                holdall_array_close(a);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "calls C codecs")]
fn tables_are_as_created() {
    for format in FOLDERS {
        let encoding = Encoding {
            codec: HOLDALL_CODEC_ZLIB,
            level: 3,
            filters: &[HOLDALL_FILTER_SHUFFLE],
            checksum: HOLDALL_CHECKSUM_ADLER32,
        };
        let (s, o) = (Storage::new(), encoding.options(&[]));
        let columns = crate::tables::columns();
        // SAFETY: handles that are open until they are closed.
        unsafe {
            let t = made(|out, err| {
                let spec = crate::tables::spec(format, &columns);
                s.with(o, |o| {
                    holdall_table_create(null(), HOLDALL_CREATE, &spec, o, out, err)
                })
            });
            let (items, text) = (content(), vec![b'x'; 9000]);
            for generation in 0..2 {
                let items = [items.as_ptr().cast(), text.as_ptr().cast()];
                let sizes = [12_000, 9000];
                done(|err| holdall_table_append(t, 3000, items.as_ptr(), sizes.as_ptr(), err));
                let (name, value) = ([c"a", c"b"][generation], b"1");
                done(|err| holdall_table_attr_set(t, name.as_ptr(), value.as_ptr().cast(), 1, err));
                assert_eq!(table_info(t).generation, generation as u64);
                done(|err| holdall_table_commit(t, err));
            }
            let written = table_info(t);
            assert_eq!(written.generation, 2);
            // the columns have the generation of the table
            assert_eq!(array_info(holdall_table_column(t, 0)).generation, 2);
            holdall_table_close(t);
            holdall_options_free(o);
            let t = crate::tables::opened(&s, HOLDALL_READ);
            let read = table_info(t);
            assert_eq!(read.generation, 0);
            for info in [written, read] {
                assert_eq!(
                    (info.format, info.column_count, info.row_count),
                    (format, 2, 6000)
                );
                assert_eq!(
                    (info.nbytes, info.attr_count, info.reserved),
                    (42_000, 2, 0)
                );
                assert!(
                    info.stored_bytes > 0 && info.stored_bytes < 42_000,
                    "{format}"
                );
            }
            let columns =
                [c"n", c"w"].map(|name| array_info(holdall_table_find_column(t, name.as_ptr())));
            for (info, itemsize) in columns.iter().zip([4, 3]) {
                let filters = &info.filters[..info.filter_count as usize];
                encoding.check(false, (info.codec, info.level), info.checksum, filters);
                assert_eq!(
                    (info.format, info.itemsize, info.ndim),
                    (format, itemsize, 1)
                );
            }
            assert_eq!(
                columns[0].stored_bytes + columns[1].stored_bytes,
                read.stored_bytes
            );
            holdall_table_close(t);
        }
    }
}

/// Writes a bag of `records` records.
fn write_bag(path: &CStr, o: *const holdall_options, records: usize) {
    // SAFETY: handles that are open until they are closed.
    unsafe {
        let w =
            made(|out, err| holdall_bag_writer_open(path.as_ptr(), HOLDALL_CREATE, o, out, err));
        for _ in 0..records {
            done(|err| holdall_bag_writer_append(w, b"a record".as_ptr().cast(), 8, err));
        }
        done(|err| holdall_bag_writer_commit(w, err));
        holdall_bag_writer_close(w);
    }
}

fn opened_bag(spec: &CStr, o: *const holdall_options) -> *mut holdall_bag {
    // SAFETY: the text and the options exist.
    made(|out, err| unsafe { holdall_bag_open(spec.as_ptr(), o, out, err) })
}

#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn bags_are_as_created() {
    let folder = TempFolder::new("bags");
    let codecs = [HOLDALL_CODEC_NONE, HOLDALL_CODEC_ZSTD];
    let limits = [HOLDALL_BAG_LIMITS_TAIL, HOLDALL_BAG_LIMITS_SEPARATE];
    for (n, codec) in codecs.into_iter().enumerate() {
        for (k, limits) in limits.into_iter().enumerate() {
            for checksum in [HOLDALL_CHECKSUM_NONE, HOLDALL_CHECKSUM_CRC32] {
                for shards in [1, 3] {
                    let o = options(&[
                        (HOLDALL_OPT_CODEC, codec.into()),
                        (HOLDALL_OPT_BAG_LIMITS, limits.into()),
                        (HOLDALL_OPT_CHECKSUM, checksum.into()),
                    ]);
                    let set = if shards == 1 {
                        String::new()
                    } else {
                        format!("@{shards}")
                    };
                    let name = format!("{n}-{k}-{checksum}-{shards}{set}.{}", ["bag", "bagz"][n]);
                    let path = folder.file(&name);
                    write_bag(&path, o, 7);
                    let bag = opened_bag(&path, o);
                    let info = bag_info(bag);
                    assert_eq!(
                        (info.format, info.record_count),
                        (HOLDALL_FORMAT_BAGZ, 7),
                        "{name}"
                    );
                    assert_eq!((info.codec, info.limits), (codec, limits), "{name}");
                    let in_frame = codec == HOLDALL_CODEC_ZSTD && checksum != HOLDALL_CHECKSUM_NONE;
                    let expected = if in_frame {
                        HOLDALL_CHECKSUM_ZSTD
                    } else {
                        checksum
                    };
                    assert_eq!(info.checksum, expected, "{name}");
                    let expected = if shards == 1 {
                        HOLDALL_BAG_SHARDS_CONCATENATED
                    } else {
                        HOLDALL_BAG_SHARDS_INTERLEAVED
                    };
                    assert_eq!(
                        (info.shards, info.shard_count),
                        (expected, shards),
                        "{name}"
                    );
                    assert!(info.stored_bytes > 7 * 8, "{name}");
                    assert_eq!(info.generation, 0, "{name}");
                    // SAFETY: handles that are open until they are closed.
                    unsafe {
                        let slice = made(|out, err| holdall_bag_slice(bag, 6, 3, -2, out, err));
                        let of_slice = bag_info(slice);
                        assert_eq!((of_slice.record_count, of_slice.shard_count), (3, shards));
                        assert_eq!(of_slice.stored_bytes, info.stored_bytes);
                        holdall_bag_close(slice);
                        holdall_bag_close(bag);
                        holdall_options_free(o);
                    }
                }
            }
        }
    }
    let checksum = options(&[(HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE.into())]);
    let names = ["a.bag", "b.bagz"].map(|name| folder.file(name));
    write_bag(&names[0], null(), 2);
    write_bag(&names[1], checksum, 3);
    let both = [names[0].as_bytes(), b",", names[1].as_bytes(), b"\0"].concat();
    let bag = opened_bag(CStr::from_bytes_with_nul(&both).unwrap(), null());
    let info = bag_info(bag);
    assert_eq!(
        (info.codec, info.record_count, info.shard_count),
        (HOLDALL_CODEC_MIXED, 5, 2)
    );
    assert_eq!(info.shards, HOLDALL_BAG_SHARDS_CONCATENATED);
    assert_eq!(info.checksum, HOLDALL_CHECKSUM_NONE);
    // SAFETY: handles that are open until they are closed.
    unsafe {
        holdall_bag_close(bag);
        holdall_options_free(checksum);
    }
    let empty = opened_bag(c"", null());
    let info = bag_info(empty);
    assert_eq!(
        (info.codec, info.record_count, info.shard_count),
        (HOLDALL_CODEC_NONE, 0, 0)
    );
    // SAFETY: it is open.
    unsafe { holdall_bag_close(empty) };
}

// ---- files of real tools

/// The facts beside the arrays of a folder of fixtures.
fn facts_of(folder: &str) -> Vec<(PathBuf, Value)> {
    let folder = common::fixtures().join(folder);
    let paths = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path());
    let mut facts: Vec<PathBuf> = paths
        .filter(|p| p.extension() == Some("json".as_ref()))
        .collect();
    facts.sort();
    let fixture = |facts: PathBuf| {
        let facts: Value = serde_json::from_slice(&std::fs::read(facts).unwrap()).unwrap();
        (folder.join(facts["path"].as_str().unwrap()), facts)
    };
    facts.into_iter().map(fixture).collect()
}

fn numbers(value: &Value) -> Vec<u64> {
    let all = value.as_array().unwrap().iter();
    all.map(|n| n.as_u64().unwrap()).collect()
}

/// The constant between two others that has this name, as text of the tools: "Codec.ZSTD".
fn constant(range: std::ops::RangeInclusive<i32>, name: &str) -> Option<i32> {
    let name = name.rsplit('.').next().unwrap().to_lowercase();
    // SAFETY: the constants have static names.
    let is_named =
        |n: &i32| unsafe { CStr::from_ptr(holdall_constant_name(*n)) }.to_str() == Ok(&name);
    range.into_iter().find(is_named)
}

fn codec_of(name: &str) -> i32 {
    constant(HOLDALL_CODEC_NONE..=HOLDALL_CODEC_ZSTD, name).unwrap_or(HOLDALL_CODEC_MIXED)
}

fn checksum_of(name: &str) -> i32 {
    constant(HOLDALL_CHECKSUM_NONE..=HOLDALL_CHECKSUM_SHA512, name).unwrap()
}

/// The filters that are used, 0 for those that the library does not have.
fn filters_of(names: &Value) -> Vec<u8> {
    let names = names
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap());
    let used = names.filter(|name| !name.ends_with("NOFILTER"));
    let filter = |name| constant(HOLDALL_FILTER_SHUFFLE..=HOLDALL_FILTER_TRUNC_PREC, name);
    used.map(|name| filter(name).unwrap_or(0) as u8).collect()
}

/// Bytes of a file, or of all files in a folder.
fn size_of_files(path: &Path) -> u64 {
    if path.is_file() {
        return path.metadata().unwrap().len();
    }
    let entries = std::fs::read_dir(path).unwrap();
    entries
        .map(|entry| size_of_files(&entry.unwrap().path()))
        .sum()
}

fn opened_array(path: &Path) -> *mut holdall_array {
    let path = c_path(path);
    // SAFETY: the text exists.
    made(|out, err| unsafe { holdall_array_open(path.as_ptr(), HOLDALL_READ, null(), out, err) })
}

fn opened_schunk(path: &Path) -> *mut holdall_schunk {
    let path = c_path(path);
    // SAFETY: the text exists.
    made(|out, err| unsafe { holdall_schunk_open(path.as_ptr(), HOLDALL_READ, null(), out, err) })
}

/// Frames of python-blosc2 and Caterva, with and without an array.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn frames_of_other_tools_are_as_their_facts_say() {
    let (mut arrays, mut others) = (0, 0);
    for (path, facts) in [facts_of("b2nd"), facts_of("caterva")].concat() {
        let (name, is_b2nd) = (facts["name"].as_str().unwrap(), facts["itemsize"].is_null());
        let parameters = if is_b2nd { &facts["cparams"] } else { &facts };
        let Some(level) = parameters["clevel"].as_i64() else {
            continue;
        };
        let (level, filters) = (level as i32, filters_of(&parameters["filters"]));
        let codec = match parameters["codec"].as_str().unwrap() {
            _ if level == 0 => HOLDALL_CODEC_NONE,
            codec => codec_of(codec),
        };
        let stored_bytes = size_of_files(&path);
        let is_sparse = i32::from(path.is_dir());
        let c = opened_schunk(&path);
        let info = schunk_info(c);
        assert_eq!((info.codec, info.level), (codec, level), "{name}");
        assert_eq!(
            info.filters[..info.filter_count as usize],
            filters,
            "{name}"
        );
        assert_eq!(
            (info.is_sparse, info.stored_bytes),
            (is_sparse, stored_bytes),
            "{name}"
        );
        assert_eq!(
            (info.format, info.checksum),
            (HOLDALL_FORMAT_B2FRAME, HOLDALL_CHECKSUM_NONE)
        );
        if is_b2nd {
            let typesize = parameters["typesize"].as_u64().unwrap();
            assert_eq!(info.typesize as u64, typesize, "{name}");
            assert_eq!(
                info.chunk_count,
                facts["nchunks"].as_u64().unwrap(),
                "{name}"
            );
            assert_eq!(info.nbytes, facts["nbytes"].as_u64().unwrap(), "{name}");
            let count = |key: &str| facts[key].as_object().map_or(0, serde_json::Map::len);
            assert_eq!(
                info.attr_count as usize,
                count("metalayers") + count("vlmeta"),
                "{name}"
            );
        }
        // SAFETY: it is open.
        unsafe { holdall_schunk_close(c) };
        if facts["shape"].is_null() {
            others += 1;
            continue;
        }
        arrays += 1;
        let a = opened_array(&path);
        let info = array_info(a);
        // SAFETY: shapes of ndim values, and a dtype, of an open array.
        let (dtype, shapes) = unsafe {
            (
                CStr::from_ptr(info.dtype).to_str().unwrap(),
                [info.shape, info.chunk_shape, info.block_shape]
                    .map(|shape| std::slice::from_raw_parts(shape, info.ndim as usize)),
            )
        };
        let expected = ["shape", "chunkshape", "blockshape"].map(|key| numbers(&facts[key]));
        assert_eq!(
            shapes,
            [&expected[0][..], &expected[1], &expected[2]],
            "{name}"
        );
        if is_b2nd {
            // as spelled in the file
            let spelled = facts["metalayers"]["b2nd"][6].as_str();
            assert_eq!(
                dtype,
                spelled.unwrap_or(facts["dtype"].as_str().unwrap()),
                "{name}"
            );
            assert_eq!(
                info.nbytes,
                facts["expected_nbytes"].as_u64().unwrap(),
                "{name}"
            );
        } else {
            assert_eq!(dtype, format!("|V{}", facts["itemsize"]), "{name}");
            assert_eq!(
                info.itemsize as u64,
                facts["itemsize"].as_u64().unwrap(),
                "{name}"
            );
            assert_eq!(info.nbytes, facts["nbytes"].as_u64().unwrap(), "{name}");
        }
        let format = if is_b2nd {
            HOLDALL_FORMAT_B2ND
        } else {
            HOLDALL_FORMAT_CATERVA
        };
        assert_eq!(
            (info.format, info.order),
            (format, HOLDALL_ORDER_C),
            "{name}"
        );
        assert_eq!((info.codec, info.level), (codec, level), "{name}");
        assert_eq!(
            info.filters[..info.filter_count as usize],
            filters,
            "{name}"
        );
        assert_eq!(
            (info.checksum, info.stored_bytes),
            (HOLDALL_CHECKSUM_NONE, stored_bytes),
            "{name}"
        );
        // SAFETY: it is open.
        unsafe {
            assert_eq!(info.attr_count, holdall_array_attr_count(a), "{name}");
            holdall_array_close(a);
        }
    }
    assert!(arrays > 25 && others > 1, "{arrays} {others}");
}

/// Files of all versions of Bloscpack.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn bloscpack_files_are_as_their_facts_say() {
    let files = common::Files::of(common::own().join("blpk"));
    let manifest = common::manifest(&files);
    let readable = manifest["fixtures"].as_array().unwrap().iter();
    let mut count = 0;
    for facts in readable.filter(|facts| facts["expect"] == "ok") {
        let (id, layout) = (&facts["id"], &facts["layout"]);
        let path = files.join(facts["path"].as_str().unwrap());
        let c = opened_schunk(&path);
        let info = schunk_info(c);
        // SAFETY: it is open.
        unsafe { holdall_schunk_close(c) };
        count += 1;
        // position, bytes stored, bytes, typesize, codec, shuffle, copy, digest
        let chunks = layout["chunks"].as_array().unwrap();
        let mut codecs: Vec<i32> = chunks
            .iter()
            .filter(|chunk| chunk[6] == false)
            .map(|chunk| codec_of(chunk[4].as_str().unwrap()))
            .collect();
        codecs.dedup();
        let codec = match codecs[..] {
            [] => HOLDALL_CODEC_NONE,
            [codec] => codec,
            _ => HOLDALL_CODEC_MIXED,
        };
        assert_eq!((info.codec, info.level), (codec, -1), "{id}");
        let filter = chunks.last().map_or(0, |chunk| chunk[5].as_u64().unwrap());
        let filters: &[i32] = match filter {
            0 => &[],
            1 => &[HOLDALL_FILTER_SHUFFLE],
            _ => &[HOLDALL_FILTER_BITSHUFFLE],
        };
        let found = info.filters[..info.filter_count as usize].iter();
        assert_eq!(
            found.map(|f| i32::from(*f)).collect::<Vec<_>>(),
            filters,
            "{id}"
        );
        let checksum = layout["header"]["checksum_name"]
            .as_str()
            .map_or(HOLDALL_CHECKSUM_NONE, checksum_of);
        assert_eq!(info.checksum, checksum, "{id}");
        assert_eq!((info.format, info.is_sparse), (HOLDALL_FORMAT_BLOSCPACK, 0));
        assert_eq!(info.chunk_count as usize, chunks.len(), "{id}");
        assert_eq!(
            info.nbytes,
            facts["content"]["nbytes"].as_u64().unwrap(),
            "{id}"
        );
        assert_eq!(info.stored_bytes, size_of_files(&path), "{id}");
        assert_eq!(
            info.attr_count,
            u32::from(!facts["metadata"].is_null()),
            "{id}"
        );
        if let Some(version) = facts["dialect"].as_str().unwrap().strip_prefix('v') {
            assert_eq!(info.version.to_string(), version, "{id}");
        }
        if let Some(typesize) = layout["header"]["typesize"].as_u64() {
            assert_eq!(info.typesize as u64, typesize, "{id}");
        }
    }
    assert!(count > 80, "{count}");
}

/// Arrays and tables of bcolz and BLZ, and those of the BLZ RFC layout.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn datasets_are_as_their_facts_say() {
    let files = common::Files::of(common::own().join("datasets"));
    let manifest = common::manifest(&files);
    for facts in manifest["fixtures"].as_array().unwrap() {
        let (id, path) = (&facts["id"], files.join(facts["path"].as_str().unwrap()));
        let format = match facts["kind"].as_str().unwrap() {
            "bcolz" => HOLDALL_FORMAT_BCOLZ,
            "blz" => HOLDALL_FORMAT_BLZ,
            _ => HOLDALL_FORMAT_BLZ_RFC,
        };
        let columns = facts["content"]["columns"].as_array();
        if let Some(columns) = columns {
            let name = c_path(&path);
            // SAFETY: handles that are open until they are closed.
            unsafe {
                let t = made(|out, err| {
                    holdall_table_open(name.as_ptr(), HOLDALL_READ, null(), out, err)
                });
                let info = table_info(t);
                assert_eq!(
                    (info.format, info.column_count as usize),
                    (format, columns.len()),
                    "{id}"
                );
                assert_eq!(
                    info.row_count,
                    facts["content"]["nrows"].as_u64().unwrap(),
                    "{id}"
                );
                let nbytes = columns.iter().map(|c| c["nbytes"].as_u64().unwrap());
                assert_eq!(info.nbytes, nbytes.sum::<u64>(), "{id}");
                assert_eq!(
                    info.attr_count as usize,
                    facts["attrs"].as_object().unwrap().len(),
                    "{id}"
                );
                for column in columns {
                    let name = column["name"].as_str().unwrap();
                    let text = std::ffi::CString::new(name).unwrap();
                    let array = holdall_table_find_column(t, text.as_ptr());
                    check_dataset(
                        array,
                        format,
                        column,
                        &facts["storage"][name],
                        &path.join(name),
                    );
                }
                holdall_table_close(t);
            }
            continue;
        }
        let a = opened_array(&path);
        check_dataset(a, format, &facts["content"], &facts["storage"][""], &path);
        // SAFETY: it is open.
        unsafe { holdall_array_close(a) };
    }
}

/// Compares an array, or a column, with the facts about its content and its folder `meta`.
fn check_dataset(
    array: *const holdall_array,
    format: i32,
    content: &Value,
    folder: &Value,
    path: &Path,
) {
    let info = array_info(array);
    // SAFETY: the shape of an open array.
    let shape = unsafe { std::slice::from_raw_parts(info.shape, info.ndim as usize) };
    assert_eq!(
        (info.format, shape),
        (format, &numbers(&content["shape"])[..]),
        "{content}"
    );
    assert_eq!(info.order, HOLDALL_ORDER_C, "{content}");
    if format != HOLDALL_FORMAT_BLZ_RFC {
        assert_eq!(info.checksum, HOLDALL_CHECKSUM_NONE, "{content}");
    }
    let storage = &folder["storage"];
    let parameters = [&storage["cparams"], &storage["bparams"]]
        .into_iter()
        .find(|p| p.is_object());
    let Some(parameters) = parameters else { return };
    if let Some(codec) = parameters["cname"].as_str() {
        assert_eq!(info.codec, codec_of(codec), "{content}");
    } else {
        // not recorded, and the tools had no other; a flag of the first chunk says that it is
        // stored uncompressed
        let is_compressed = |chunk: Vec<u8>| chunk[16 + 2] & 2 == 0;
        let expected = match std::fs::read(path.join("data/__0.blp")).map(is_compressed) {
            Ok(true) => HOLDALL_CODEC_BLOSCLZ,
            _ => HOLDALL_CODEC_NONE,
        };
        assert_eq!(info.codec, expected, "{content}");
    }
    assert_eq!(
        i64::from(info.level),
        parameters["clevel"].as_i64().unwrap(),
        "{content}"
    );
    let filters: &[i32] = match &parameters["shuffle"] {
        Value::Bool(false) => &[],
        Value::Bool(true) => &[HOLDALL_FILTER_SHUFFLE],
        n if *n == 0 => &[],
        n if *n == 1 => &[HOLDALL_FILTER_SHUFFLE],
        _ => &[HOLDALL_FILTER_BITSHUFFLE],
    };
    let found = info.filters[..info.filter_count as usize].iter();
    assert_eq!(
        found.map(|f| i32::from(*f)).collect::<Vec<_>>(),
        filters,
        "{content}"
    );
    let chunk_rows = storage["chunklen"].as_u64().unwrap();
    // SAFETY: the shape of a chunk of an open array of one or more dimensions.
    assert_eq!(unsafe { *info.chunk_shape }, chunk_rows, "{content}");
    assert_eq!(
        info.stored_bytes,
        folder["sizes"]["cbytes"].as_u64().unwrap(),
        "{content}"
    );
}
