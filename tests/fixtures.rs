//! Bags that the reference library wrote, read through the C functions: every single-file and
//! sharded entry of the manifest, read and mapped, on 1 and 2 threads, with limits on disk and in
//! memory.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "each calls a function of the C API with what lives through the call"
)]

mod common;

use common::fixtures;
use holdall::capi::{bag::*, container::*, guard::*, index::*, options::*};
use serde_json::Value;
use std::ffi::{CString, c_void};
use std::ptr;

fn manifest(folder: &str) -> Vec<Value> {
    common::manifest(&fixtures().join(folder))["fixtures"]
        .as_array()
        .unwrap()
        .clone()
}

struct Bag(*mut holdall_bag);

impl Drop for Bag {
    fn drop(&mut self) {
        unsafe { holdall_bag_close(self.0) }
    }
}

fn error_message(e: &holdall_error) -> String {
    let b: Vec<u8> = e
        .message
        .iter()
        .map(|&c| c as u8)
        .take_while(|&c| c != 0)
        .collect();
    String::from_utf8(b).unwrap()
}

fn blank() -> holdall_error {
    unsafe { std::mem::zeroed() }
}

fn ok(status: i32, e: &holdall_error) {
    assert_eq!(status, HOLDALL_OK, "{}", error_message(e));
}

#[derive(Clone, Copy, Debug)]
struct Way {
    io: i32,
    threads: i64,
    cache: i64,
}

fn limits(fixture: &Value) -> i32 {
    match fixture["options"]["limits_placement"].as_str().unwrap() {
        "tail" => HOLDALL_BAG_LIMITS_TAIL,
        _ => HOLDALL_BAG_LIMITS_SEPARATE,
    }
}

fn shards(fixture: &Value) -> i32 {
    match fixture["options"]["sharding_layout"].as_str().unwrap() {
        "concatenated" => HOLDALL_BAG_SHARDS_CONCATENATED,
        _ => HOLDALL_BAG_SHARDS_INTERLEAVED,
    }
}

/// Without options the codec follows from the names of the files, which are all of one kind.
fn codec(fixture: &Value) -> i32 {
    let by_name = || fixture["spec"].as_str().unwrap().ends_with(".bagz");
    match fixture["options"]["compression"].as_str().unwrap() {
        "zstd" => HOLDALL_CODEC_ZSTD,
        "auto" if by_name() => HOLDALL_CODEC_ZSTD,
        _ => HOLDALL_CODEC_NONE,
    }
}

fn open(folder: &str, fixture: &Value, way: Way) -> Result<Bag, String> {
    let mut e = blank();
    let o = holdall_options_new();
    let mut set = |opt, v| ok(unsafe { holdall_options_set(o, opt, v, &mut e) }, &e);
    let options = &fixture["options"];
    set(HOLDALL_OPT_IO, way.io.into());
    set(HOLDALL_OPT_THREADS, way.threads);
    set(HOLDALL_OPT_BAG_LIMITS_CACHE, way.cache);
    set(HOLDALL_OPT_BAG_LIMITS, limits(fixture).into());
    set(HOLDALL_OPT_BAG_SHARDS, shards(fixture).into());
    set(
        HOLDALL_OPT_CODEC,
        match options["compression"].as_str().unwrap() {
            "none" => i64::from(HOLDALL_CODEC_NONE),
            "zstd" => i64::from(HOLDALL_CODEC_ZSTD),
            _ => i64::from(HOLDALL_CODEC_BY_NAME),
        },
    );
    if let Some(d) = options["dictionary"].as_str().filter(|d| !d.is_empty()) {
        ok(
            unsafe {
                holdall_options_set_bytes(
                    o,
                    HOLDALL_OPT_DICTIONARY,
                    d.as_ptr().cast(),
                    d.len(),
                    &mut e,
                )
            },
            &e,
        );
    }
    let base = fixtures().join(folder);
    let spec: Vec<String> = fixture["spec"]
        .as_str()
        .unwrap()
        .split(',')
        .map(|s| base.join(s).display().to_string())
        .collect();
    let spec = CString::new(spec.join(",")).unwrap();
    let mut bag = ptr::null_mut();
    let status = unsafe { holdall_bag_open(spec.as_ptr(), o, &mut bag, &mut e) };
    unsafe { holdall_options_free(o) };
    if status == HOLDALL_OK {
        Ok(Bag(bag))
    } else {
        Err(error_message(&e))
    }
}

impl Bag {
    fn info(&self) -> holdall_bag_info {
        let (mut e, mut info): (_, holdall_bag_info) = (blank(), unsafe { std::mem::zeroed() });
        info.struct_size = size_of_val(&info);
        ok(
            unsafe { holdall_bag_get_info(self.0, &mut info, &mut e) },
            &e,
        );
        info
    }

    fn size(&self) -> u64 {
        unsafe { holdall_bag_record_count(self.0) }
    }

    fn read(&self, i: u64) -> Result<Vec<u8>, String> {
        let (mut e, mut n) = (blank(), 0);
        if unsafe { holdall_bag_read(self.0, i, ptr::null_mut(), 0, &mut n, &mut e) } != HOLDALL_OK
        {
            return Err(error_message(&e));
        }
        let mut v = vec![0u8; n.max(1)];
        match unsafe {
            holdall_bag_read(
                self.0,
                i,
                v.as_mut_ptr().cast::<c_void>(),
                n,
                &mut n,
                &mut e,
            )
        } {
            HOLDALL_OK => Ok(v[..n].to_vec()),
            _ => Err(error_message(&e)),
        }
    }

    fn batch(
        &self,
        f: impl FnOnce(*mut *mut holdall_records, *mut holdall_error) -> i32,
    ) -> Vec<Vec<u8>> {
        let (mut e, mut r) = (blank(), ptr::null_mut());
        ok(f(&mut r, &mut e), &e);
        let n = unsafe { holdall_records_count(r) };
        let offsets = unsafe { std::slice::from_raw_parts(holdall_records_offsets(r), n + 1) };
        let data =
            unsafe { std::slice::from_raw_parts(holdall_records_data(r), offsets[n] as usize) };
        let out = offsets
            .windows(2)
            .map(|w| data[w[0] as usize..w[1] as usize].to_vec())
            .collect();
        unsafe { holdall_records_free(r) };
        out
    }

    fn range(&self, first: u64, n: u64) -> Vec<Vec<u8>> {
        self.batch(|out, e| unsafe { holdall_bag_read_range(self.0, first, n, out, e) })
    }

    fn indices(&self, i: &[u64]) -> Vec<Vec<u8>> {
        self.batch(|out, e| unsafe {
            holdall_bag_read_indices(self.0, i.as_ptr(), i.len(), out, e)
        })
    }

    fn slice(&self, start: u64, step: i64, n: u64) -> Bag {
        let (mut e, mut out) = (blank(), ptr::null_mut());
        ok(
            unsafe { holdall_bag_slice(self.0, start, n, step, &mut out, &mut e) },
            &e,
        );
        Bag(out)
    }
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|x| format!("{x:02x}")).collect()
}

fn digest(records: &[Vec<u8>]) -> String {
    let all: Vec<u8> = records
        .iter()
        .flat_map(|r| [&(r.len() as u64).to_le_bytes()[..], r].concat())
        .collect();
    hex(&holdall::checksum::Checksum::Sha256.of(&all))
}

/// Python's `slice(start, stop, step).indices(n)`.
fn python_slice(s: &Value, n: i64) -> (i64, i64, u64) {
    let step = s["step"].as_i64().unwrap_or(1);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let bound = |v: &Value, default| {
        v.as_i64().map_or(default, |v| {
            (if v < 0 { v + n } else { v }).clamp(low, high)
        })
    };
    let (start, stop) = if step > 0 {
        (bound(&s["start"], 0), bound(&s["stop"], n))
    } else {
        (bound(&s["start"], n - 1), bound(&s["stop"], -1))
    };
    let count = if step > 0 {
        (stop - start + step - 1).max(0) / step
    } else {
        (start - stop - step - 1).max(0) / -step
    };
    (start, step, count as u64)
}

/// The facts of the manifest about a bag.
fn compare_info(b: &Bag, f: &Value) {
    let (name, info) = (f["name"].as_str().unwrap(), b.info());
    let files = f["files"].as_object().unwrap();
    let is_shard = |file: &&String| !file.rsplit('/').next().unwrap().starts_with("limits.");
    assert_eq!(
        info.shard_count as usize,
        files.keys().filter(is_shard).count()
    );
    assert_eq!(info.record_count, f["n"].as_u64().unwrap(), "{name}");
    let bytes = files.values().map(|file| file["size"].as_u64().unwrap());
    assert_eq!(info.stored_bytes, bytes.sum::<u64>(), "{name}");
    assert_eq!(info.codec, codec(f), "{name}");
    assert_eq!(info.limits, limits(f), "{name}");
    assert_eq!(info.shards, shards(f), "{name}");
    assert_eq!((info.format, info.generation), (HOLDALL_FORMAT_BAGZ, 0));
    if info.codec == HOLDALL_CODEC_NONE {
        assert_eq!(info.checksum, HOLDALL_CHECKSUM_NONE, "{name}");
    }
}

fn compare(f: &Value, way: Way) {
    let name = f["name"].as_str().unwrap();
    let b = open("bagz", f, way).unwrap_or_else(|e| panic!("{name} {way:?}: {e}"));
    let n = f["n"].as_u64().unwrap();
    assert_eq!(b.size(), n, "{name}");
    compare_info(&b, f);
    let whole = b.range(0, n);
    assert_eq!(digest(&whole), f["digest"], "{name} {way:?}");
    let step = (n / 2000).max(1) as usize;
    for i in (0..n).step_by(step) {
        assert_eq!(b.read(i).unwrap(), whole[i as usize], "{name} {i}");
    }
    let mut sum = vec![0u8; 32];
    let (mut size, mut e) = (0, blank());
    ok(
        unsafe {
            holdall_bag_checksum(
                b.0,
                HOLDALL_CHECKSUM_SHA256,
                sum.as_mut_ptr().cast(),
                32,
                &mut size,
                &mut e,
            )
        },
        &e,
    );
    assert_eq!(hex(&sum), f["digest"], "{name}");
    for s in f["slices"].as_array().into_iter().flatten() {
        let (start, step, count) = python_slice(s, n as i64);
        assert_eq!(count, s["n"].as_u64().unwrap(), "{name} {s}");
        let sliced = b.slice(start.max(0) as u64, step, count);
        assert_eq!(digest(&sliced.range(0, count)), s["digest"], "{name} {s}");
        assert_eq!(
            (0..count.min(50))
                .map(|i| sliced.read(i).unwrap())
                .collect::<Vec<_>>(),
            sliced.range(0, count.min(50))
        );
    }
    for r in f["read_indices"].as_array().into_iter().flatten() {
        let indices: Vec<u64> = r["indices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i.as_u64().unwrap())
            .collect();
        assert_eq!(digest(&b.indices(&indices)), r["digest"], "{name} {r}");
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[i * 2..][..2], 16).unwrap())
        .collect()
}

/// The results of the reference's Index and MultiIndex.
#[test]
fn the_same_keys_are_found() {
    let mut found = 0;
    for f in manifest("bagz") {
        let Some(want) = f["index"].as_object() else {
            continue;
        };
        let (name, mut e, mut index) = (f["name"].as_str().unwrap(), blank(), ptr::null_mut());
        let b = open(
            "bagz",
            &f,
            Way {
                io: HOLDALL_IO_READ,
                threads: 2,
                cache: 0,
            },
        )
        .unwrap();
        ok(
            unsafe { holdall_bag_index_build(b.0, ptr::null(), &mut index, &mut e) },
            &e,
        );
        assert_eq!(
            unsafe { holdall_bag_index_key_count(index) },
            want["unique"].as_u64().unwrap(),
            "{name}"
        );
        for l in want["lookups"].as_array().unwrap() {
            let key = bytes(l["key_hex"].as_str().unwrap());
            let all: Vec<u64> = l["all"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|r| r.as_u64().unwrap())
                .collect();
            let (mut first, mut rows, mut n) = (0, vec![0u64; 1000], 0);
            let status = unsafe {
                holdall_bag_index_find_first(
                    index,
                    key.as_ptr().cast(),
                    key.len(),
                    &mut first,
                    &mut e,
                )
            };
            assert_eq!(
                (status, first),
                l["first"]
                    .as_u64()
                    .map_or((HOLDALL_NOT_FOUND, HOLDALL_NO_RECORD), |r| (HOLDALL_OK, r)),
                "{name} {l}"
            );
            let status = unsafe {
                holdall_bag_index_find(
                    index,
                    key.as_ptr().cast(),
                    key.len(),
                    rows.as_mut_ptr(),
                    rows.len(),
                    &mut n,
                    &mut e,
                )
            };
            assert_eq!(
                (status, &rows[..n]),
                (
                    if all.is_empty() {
                        HOLDALL_NOT_FOUND
                    } else {
                        HOLDALL_OK
                    },
                    &all[..]
                ),
                "{name} {l}"
            );
            found += 1;
        }
        unsafe { holdall_bag_index_close(index) };
    }
    assert!(found > 15, "{found}");
}

#[test]
fn all_that_the_reference_wrote_reads_equal() {
    let all = manifest("bagz");
    let mut compared = 0;
    for f in &all {
        for io in [HOLDALL_IO_READ, HOLDALL_IO_MAP] {
            for threads in [1, 2] {
                for cache in [0, 1] {
                    compare(f, Way { io, threads, cache });
                    compared += 1;
                }
            }
        }
    }
    println!(
        "{} bags of the reference library, {compared} readings, all equal",
        all.len()
    );
}
