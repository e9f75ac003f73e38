//! Tests of files with corrupt or missing bytes.

use super::*;
use crate::io::memory::MemoryFolder;
use crate::io::sim;
use crate::superchunk::bloscpack::chunk_table::ChunkTable;
use crate::superchunk::bloscpack::metadata::MetaLayout;
use std::collections::BTreeMap;
use std::ops::Range;

/// A small file, and the positions of its parts.
pub(super) struct Sample {
    pub(super) what: String,
    pub(super) bytes: Vec<u8>,
    state: State,
    /// Content range of each chunk.
    spans: Vec<Range<usize>>,
    /// File range of each chunk with its checksum.
    pub(super) chunk_ranges: Vec<Range<usize>>,
    pub(super) offsets: Range<usize>,
    /// File range of metadata without a checksum.
    bare_meta: Range<usize>,
    /// File range of metadata with a checksum, without the section header.
    pub(super) safe_meta: Range<usize>,
    /// True if chunks have checksums. Corruption of content without checksums cannot be detected.
    has_checksums: bool,
    /// True if all chunks but the last have the same size.
    regular: bool,
}

fn open(bytes: &[u8], o: &Options) -> Result<Bloscpack> {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes.to_vec()));
    Bloscpack::open_in(&folder, OsStr::new(""), Mode::Read, o)
}

pub(super) fn strict() -> Options {
    // a corrupt size may request much memory
    Options::new()
        .with(Opt::Threads, 1)
        .unwrap()
        .with(Opt::MemoryLimit, 1 << 20)
        .unwrap()
}

pub(super) fn skipping() -> Options {
    strict().with(Opt::SkipDamaged, 1).unwrap()
}

impl Sample {
    /// Creates a sample. `regular` chunks have the same size, except the last.
    pub(super) fn new(form: Form, regular: bool) -> Sample {
        let form = Form {
            chunk: 140,
            spare_chunks: Some(2).filter(|_| form.version == 3),
            ..form
        };
        let disk = SimDisk::default();
        let mut w = form.create(&disk.folder(), Mode::New).unwrap();
        w.append(
            &[
                bytes(5, 140),
                bytes(6, 140),
                bytes(7, 140),
                bytes(3, 140),
                bytes(8, 30),
            ]
            .concat(),
        )
        .unwrap();
        if form.has_meta() {
            w.meta_set(Some(br#"{"some": "metadata"}"#)).unwrap();
        }
        w.commit().unwrap();
        // causes a rewrite, so that there are few offsets
        w.remove(1).unwrap();
        if !regular {
            w.insert(1, &bytes(9, 200)).unwrap();
            w.insert(2, &bytes(10, 20)).unwrap();
        }
        w.commit().unwrap();
        let bytes = disk.contents().remove(OsStr::new(NAME)).unwrap();
        let state = State::of(&w).unwrap();
        let (file, h) = (
            disk.folder()
                .open(OsStr::new(NAME), crate::io::Access::Read)
                .unwrap(),
            w.header().clone(),
        );
        let table = ChunkTable::read(&*file, &h, u64::MAX).unwrap();
        let mut end = 0;
        let spans = state.chunks.iter().map(|c| {
            end += c.len();
            end - c.len()..end
        });
        let (meta, offsets) = (h.meta.as_ref(), h.offsets_at() as usize);
        let bare = meta.is_some_and(|m| m.layout == MetaLayout::Rfc { packed: false });
        Sample {
            what: format!("{form:?} regular {regular}"),
            spans: spans.collect(),
            chunk_ranges: table
                .chunks
                .iter()
                .map(|c| c.at as usize..c.end(h.checksum) as usize)
                .collect(),
            offsets: offsets
                ..offsets
                    + if h.has_offsets {
                        state.chunks.len() * 8
                    } else {
                        0
                    },
            bare_meta: 32..if bare { offsets } else { 32 },
            safe_meta: if meta.is_some() && !bare {
                64..offsets
            } else {
                0..0
            },
            has_checksums: h.checksum.size() > 0,
            regular,
            bytes,
            state,
        }
    }

    /// Panics if the file returns less or different content or metadata than the sample without an
    /// error. Returns the number of readable chunks.
    fn check_read(&self, corrupted: &[u8], o: &Options, how: &dyn std::fmt::Display) -> usize {
        let what = || format!("{}: {how}", self.what);
        let Ok(b) = open(corrupted, o) else { return 0 };
        let skips = o.get(Opt::SkipDamaged, 0) == 1;
        let content = self.state.content();
        let _ = b.verify(|_| true);
        let mut all = vec![0xee; b.nbytes().min(10_000) as usize];
        let whole = b.read(0, &mut all);
        let meta = b.meta();
        if self.has_checksums {
            assert!(
                skips || b.nbytes() == content.len() as u64,
                "{}: {} bytes",
                what(),
                b.nbytes()
            );
            assert!(
                !matches!(whole, Ok(false)) || skips || all == content,
                "{}: other content",
                what()
            );
            let bare = corrupted.get(self.bare_meta.clone())
                != self.bytes.get(self.bare_meta.clone())
                || corrupted[..32] != self.bytes[..32];
            let bare = bare && !self.bare_meta.is_empty();
            assert!(
                bare || skips
                    || meta
                        .as_ref()
                        .map_or(true, |m| *m == self.state.meta.as_deref()),
                "{}: other metadata",
                what()
            );
        }
        let mut good = 0;
        for (i, (span, chunk)) in self.spans.iter().zip(&self.state.chunks).enumerate() {
            let mut got = vec![0xee; chunk.len()];
            if b.read(span.start as u64, &mut got) == Ok(false) {
                assert!(
                    !self.has_checksums || got == *chunk,
                    "{}: other bytes at {}",
                    what(),
                    span.start
                );
            }
            let mut got = vec![0xee; b.chunk_nbytes(i as u64).map_or(0, |n| n.min(10_000))];
            let read = b.read_chunk(i as u64, &mut got);
            assert!(
                !self.has_checksums || read != Ok(false) || got == *chunk,
                "{}: another chunk {i}",
                what()
            );
            good += usize::from(read.is_ok() && got == *chunk);
        }
        good
    }

    /// Returns the number of chunks that must stay readable if only this byte is corrupt.
    fn unaffected_by(&self, at: usize) -> usize {
        let n = self.chunk_ranges.len();
        match self.chunk_ranges.iter().position(|p| p.contains(&at)) {
            // without offsets, the header of a chunk determines the position of the next one
            Some(i) if self.offsets.is_empty() && at < self.chunk_ranges[i].start + 16 => i,
            Some(_) => n - 1,
            None if self.offsets.contains(&at)
                || self.safe_meta.contains(&at)
                || self.bare_meta.contains(&at) && at > 32 =>
            {
                n
            }
            // offsets determine the positions, whatever the header says
            None if !self.offsets.is_empty() && (at == 5 || at >= 16) => n,
            None => 0,
        }
    }

    fn repair(
        &self,
        corrupted: &[u8],
        unaffected: usize,
        how: &dyn std::fmt::Display,
    ) -> Option<usize> {
        let what = || format!("{}: {how}", self.what);
        let files = BTreeMap::from([(NAME.into(), corrupted.to_vec())]);
        let disk = SimDisk::with_files(&files);
        let done = match repair_in(&disk.folder(), OsStr::new(NAME), &strict()) {
            Ok(done) => done,
            Err(e) => {
                assert!(
                    disk.contents() == files,
                    "{}: changed by a repair that failed",
                    what()
                );
                assert!(unaffected == 0, "{}: {e}", what());
                return None;
            }
        };
        assert!(
            done.retained >= unaffected as u64,
            "{}: {done:?}, and {unaffected} chunks are not affected",
            what()
        );
        let repaired = disk.contents();
        assert_eq!(repaired.len(), 1);
        let b = Bloscpack::open_in(&disk.folder(), OsStr::new(NAME), Mode::Read, &strict())
            .unwrap_or_else(|e| panic!("{}: repaired, {e}", what()));
        let mut faults = 0;
        let v = b
            .verify(|_| {
                faults += 1;
                true
            })
            .unwrap();
        assert_eq!(
            (v.corrupt, faults, v.intact + v.unchecked),
            (0, 0, b.chunks() as u64),
            "{}: {done:?}",
            what()
        );
        b.meta()
            .unwrap_or_else(|e| panic!("{}: repaired, {e}", what()));
        // each chunk is unchanged or zeros
        let found = State::of(&b).unwrap();
        let same = found
            .chunks
            .iter()
            .zip(&self.state.chunks)
            .filter(|(a, b)| a == b)
            .count();
        assert!(
            !self.has_checksums || same >= unaffected,
            "{}: {same} chunks are as they were, {unaffected} are not affected",
            what()
        );
        let zeros = |c: &Vec<u8>| c.iter().all(|b| *b == 0);
        let right = |(i, c): (usize, &Vec<u8>)| zeros(c) || self.state.chunks.get(i) == Some(c);
        let wrong = found.chunks.iter().enumerate().find(|c| !right(*c));
        assert!(
            !self.has_checksums || wrong.is_none(),
            "{}: {done:?}, and other chunks than before: {wrong:?}",
            what()
        );
        drop(b);
        // a second repair has nothing to do
        let again = repair_in(&disk.folder(), OsStr::new(NAME), &strict()).unwrap();
        assert_eq!(
            (again.dropped, disk.contents() == repaired),
            (0, true),
            "{}",
            what()
        );
        Some(same)
    }
}

pub(super) fn samples(checksums: &[i64]) -> Vec<Sample> {
    let mut all = Vec::new();
    for (version, offsets) in [(3, 1), (3, 0), (2, 1), (2, 0), (103, 1), (103, 0), (1, 0)] {
        for &sum in checksums {
            for regular in [true, false] {
                let codec = [2, 6, 5][sum as usize % 3];
                all.push(Sample::new(
                    Form {
                        codec,
                        ..Form::new(version, offsets, sum)
                    },
                    regular,
                ));
            }
            if version == 1 {
                break;
            }
        }
    }
    all
}

/// XOR masks. Small ones are included because they make one offset equal to the next.
const FLIPS: &[u8] = &[
    1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff, 3, 0x1d, 0x2a, 0x4b,
];

/// Returns copies of the file with each byte changed, `each` times.
fn flips(s: &Sample, each: usize) -> impl Iterator<Item = (usize, Vec<u8>, String)> {
    (0..s.bytes.len()).flat_map(move |at| {
        (0..each).map(move |k| {
            let x = FLIPS[(at * each + k) % FLIPS.len()];
            let mut corrupted = s.bytes.clone();
            corrupted[at] ^= x;
            (at, corrupted, format!("byte {at} ^ {x:#x}"))
        })
    })
}

#[test]
fn no_flip_of_a_byte_is_silent() {
    let (mut n, mut noticed) = (0, 0);
    for (checksums, each) in [(&[2][..], FLIPS.len()), (&[0, 1, 3, 8], 2)] {
        for s in samples(checksums) {
            for (at, corrupted, how) in flips(&s, each) {
                n += 1;
                noticed +=
                    usize::from(s.check_read(&corrupted, &strict(), &how) < s.chunk_ranges.len());
                let good = s.check_read(&corrupted, &skipping(), &how);
                assert!(
                    good >= s.unaffected_by(at) || !s.has_checksums,
                    "{} {how}: {good} chunks are readable, {} are not affected",
                    s.what,
                    s.unaffected_by(at)
                );
            }
        }
    }
    println!("{n} flips, none silent; {noticed} hid a chunk");
}

#[test]
fn no_truncation_is_silent() {
    let mut cuts = 0;
    for s in samples(&[0, 2, 7]) {
        for len in 0..s.bytes.len() {
            let how = format!("the first {len} bytes");
            let good = s.check_read(&s.bytes[..len], &strict(), &how);
            assert_eq!(good, 0, "{} {how}", s.what);
            let good = s.check_read(&s.bytes[..len], &skipping(), &how);
            let whole = s.chunk_ranges.iter().filter(|p| p.end <= len).count();
            assert_eq!(good, whole, "{} {how}", s.what);
            if let Ok(b) = open(&s.bytes[..len], &skipping()) {
                let v = b.verify(|_| true).unwrap();
                assert_eq!(
                    (v.intact + v.unchecked, v.corrupt),
                    (whole as u64, (s.chunk_ranges.len() - whole) as u64),
                    "{} {how}",
                    s.what
                );
            }
            s.repair(&s.bytes[..len], whole, &how);
            cuts += 1;
        }
    }
    println!("{cuts} truncations, none silent");
}

#[test]
fn repair_retains_intact_chunks() {
    let (mut repaired, mut refused) = (0, 0);
    for s in samples(&[0, 2, 6]) {
        for (at, corrupted, how) in flips(&s, 1) {
            let unaffected = if s.has_checksums {
                s.unaffected_by(at)
            } else {
                0
            };
            match s.repair(&corrupted, unaffected, &how) {
                // if the corruption is outside of the chunks, all chunks are retained, or nothing
                // is changed
                Some(same) => {
                    let n = s.chunk_ranges.len();
                    let all = same == n || s.chunk_ranges.iter().any(|p| p.contains(&at));
                    assert!(
                        !s.has_checksums || all,
                        "{} {how}: {same} of {n} chunks stay",
                        s.what
                    );
                    repaired += 1;
                }
                None => refused += 1,
            }
        }
    }
    println!("{repaired} files repaired, {refused} not");
}

#[test]
fn damage_at_several_positions_is_not_silent() {
    for seed in sim::seeds() {
        damage_several_positions(seed, if seed == 0 { 1000 } else { 100 });
    }
}

/// Without the checksum type in the header, other corruption would not be detected.
#[test]
fn a_checksum_type_missing_in_the_header_is_found() {
    for s in samples(&[1, 2, 3, 6, 8]).iter().filter(|s| s.has_checksums) {
        for range in &s.chunk_ranges {
            let mut corrupted = s.bytes.clone();
            corrupted[6] = 0;
            let how = format!("byte 6 is 0, and {} differs", range.start + 17);
            corrupted[range.start + 17] ^= 0x40;
            s.check_read(&corrupted, &strict(), &how);
            s.check_read(&corrupted, &skipping(), &how);
            s.repair(&corrupted, 0, &how);
        }
    }
}

/// A lost chunk, offsets shifted by one, and a number of chunks that is too small: a chunk that is
/// found may be a different one.
#[test]
fn shifted_offsets_are_not_trusted() {
    let rfc: &[(usize, u8)] = &[
        (0x3d, 1),
        (0x44, 0x7e),
        (0x4c, 2),
        (0x4e, 0x71),
        (0x4f, 4),
        (0x50, 0x8c),
        (0x54, 0x8c),
        (0x76, 0x81),
        (0x14c, 0xbe),
    ];
    let v2: &[(usize, u8)] = &[
        (0x28, 7),
        (0x29, 1),
        (0x30, 0x6a),
        (0x38, 2),
        (0x3a, 0x71),
        (0x3b, 4),
        (0x3c, 0x8c),
        (0x4f, 0x25),
    ];
    for (version, damage) in [(103, rfc), (2, v2)] {
        let s = Sample::new(
            Form {
                codec: 5,
                ..Form::new(version, 1, 2)
            },
            true,
        );
        let mut corrupted = s.bytes.clone();
        damage.iter().for_each(|(at, byte)| corrupted[*at] = *byte);
        s.check_read(&corrupted, &strict(), &"shifted offsets");
        s.check_read(&corrupted, &skipping(), &"shifted offsets");
        s.repair(&corrupted, 0, &"shifted offsets");
    }
}

/// The size of the metadata seems to include the first chunk, and one chunk is missing: a chunk
/// that is found may be a different one.
#[test]
fn metadata_that_seem_to_include_a_chunk_are_reported() {
    for (form, size, more) in [(Form::new(103, 0, 2), 24, 0), (Form::new(3, 1, 2), 48, 4)] {
        let s = Sample::new(Form { codec: 5, ..form }, true);
        let mut corrupted = s.bytes.clone();
        corrupted[size] += s.chunk_ranges[0].len() as u8;
        // offsets and metadata are changed, too
        corrupted[s.offsets.clone()].fill(0xfb);
        corrupted[64..64 + more].fill(0xee);
        s.check_read(&corrupted, &strict(), &"longer metadata");
        s.check_read(&corrupted, &skipping(), &"longer metadata");
        s.repair(&corrupted, 0, &"longer metadata");
    }
}

/// Only a newer version of holdall can interpret the file. That is not corruption, and there is
/// nothing to repair.
#[test]
fn a_newer_version_is_reported_and_not_repaired() {
    for s in samples(&[0, 2]) {
        for version in [4, 5, 255] {
            let mut newer = s.bytes.clone();
            newer[4] = version;
            for options in [strict(), skipping()] {
                assert_eq!(
                    open(&newer, &options).map(|_| ()).unwrap_err().status,
                    Status::Version,
                    "{} {version}",
                    s.what
                );
            }
            let disk = SimDisk::with_files(&BTreeMap::from([(NAME.into(), newer.clone())]));
            let e = repair_in(&disk.folder(), OsStr::new(NAME), &strict())
                .map(|_| ())
                .unwrap_err();
            assert_eq!(e.status, Status::Version, "{}: {e}", s.what);
            assert!(
                disk.contents()[OsStr::new(NAME)] == newer,
                "{}: repair changed it",
                s.what
            );
        }
    }
}

/// The size of the chunk is not stored anywhere: content must not be shorter without an error.
#[test]
fn a_lost_chunk_of_unknown_size_is_reported() {
    for s in samples(&[2, 3]).iter().filter(|s| !s.offsets.is_empty()) {
        for range in &s.chunk_ranges {
            let mut corrupted = s.bytes.clone();
            corrupted[8..12].fill(0xff);
            corrupted[range.start..range.start + 16].fill(0);
            let how = format!(
                "no size of chunks in the header, and chunk at {} is lost",
                range.start
            );
            s.check_read(&corrupted, &strict(), &how);
            s.repair(&corrupted, 0, &how);
        }
    }
}

fn damage_several_positions(seed: u64, times: usize) {
    let mut rng = Rng(77 + seed);
    for s in samples(&[2]).iter().filter(|s| s.regular) {
        for _ in 0..times {
            let mut corrupted = s.bytes.clone();
            for _ in 0..2 + rng.below(3) {
                let at = rng.below(corrupted.len());
                match rng.below(4) {
                    0 => corrupted[at..].iter_mut().take(30).for_each(|b| *b = 0),
                    1 => {
                        let from = rng.below(corrupted.len());
                        let copy: Vec<u8> = corrupted[from..].iter().take(24).copied().collect();
                        corrupted[at..]
                            .iter_mut()
                            .zip(copy)
                            .for_each(|(b, c)| *b = c);
                    }
                    2 => corrupted[at] = rng.draw() as u8,
                    _ => corrupted[at] ^= 1 << rng.below(8),
                }
            }
            let changed = (0..corrupted.len())
                .filter(|&i| corrupted[i] != s.bytes[i])
                .map(|i| (i, corrupted[i]))
                .collect::<Vec<_>>();
            let how = format!("seed {seed}: {changed:x?}");
            s.check_read(&corrupted, &skipping(), &how);
            if corrupted[..32] == s.bytes[..32] {
                s.check_read(&corrupted, &strict(), &how);
            }
            s.repair(&corrupted, 0, &how);
        }
    }
}

/// Repairs a v3 file with damage at these positions of the header. Returns the number of unchanged
/// chunks, whether there is metadata, and the error message.
fn repaired(damage: &[(Range<usize>, u8)]) -> (usize, bool, String) {
    let s = Sample::new(Form::new(3, 1, 2), true);
    let mut corrupted = s.bytes.clone();
    for (range, value) in damage {
        corrupted[range.clone()].fill(*value);
    }
    assert!(open(&corrupted, &strict().with(Opt::Verify, 0).unwrap()).is_err());
    let b = open(&corrupted, &skipping()).unwrap();
    let mut message = String::new();
    let v = b
        .verify(|e| {
            message.push_str(&e.message);
            true
        })
        .unwrap();
    assert_eq!(
        (v.intact, v.corrupt),
        (s.chunk_ranges.len() as u64, 0),
        "{message}"
    );
    // all content is correct and not reported as corrupt
    let mut all = vec![0xee; b.nbytes() as usize];
    assert!(
        b.read(0, &mut all) == Ok(false) && all == s.state.content(),
        "{message}"
    );
    let disk = SimDisk::with_files(&BTreeMap::from([(NAME.into(), corrupted)]));
    repair_in(&disk.folder(), OsStr::new(NAME), &strict()).unwrap();
    let now = State::of(&reader(&disk.folder()).unwrap()).unwrap();
    assert!(now.meta.is_none() || now.meta == s.state.meta);
    let mut w = Form::new(3, 1, 2).append(&disk.folder()).unwrap();
    w.append(&[1; 1000]).unwrap();
    w.commit().unwrap();
    (
        now.chunks
            .iter()
            .zip(&s.state.chunks)
            .filter(|(a, b)| a == b)
            .count(),
        now.meta.is_some(),
        message,
    )
}

#[test]
fn a_header_is_repaired_from_the_offsets() {
    let all = Sample::new(Form::new(3, 1, 2), true).chunk_ranges.len();
    // the number of chunks, the number of spare offsets, both; options
    for damage in [
        (16..24, 0),
        (16..17, 200),
        (23..24, 0x80),
        (24..32, 0xff),
        (24..25, 99),
        (16..32, 0x55),
        (5..6, 0),
        (5..6, 0x82),
        (6..7, 0),
    ] {
        let (same, meta, message) = repaired(std::slice::from_ref(&damage));
        assert_eq!((same, meta), (all, true), "{damage:?}: {message}");
        assert!(
            message.contains(if damage.0.len() == 1 {
                " is damaged"
            } else {
                "header: byte"
            }),
            "{damage:?}: {message}"
        );
        assert!(
            message.contains("header: byte") && !message.contains("metadata"),
            "{damage:?}: {message}"
        );
    }
    // magic, checksum type, codec, JSON size, reserved size, stored size
    for damage in [
        (32..40, 0),
        (36..37, 7),
        (41..42, 9),
        (41..42, 3),
        (41..42, 0),
        (42..43, 1),
        (44..48, 0xee),
        (48..52, 0),
        (48..52, 0xff),
        (52..56, 0xff),
    ] {
        let (same, meta, message) = repaired(std::slice::from_ref(&damage));
        assert_eq!((same, meta), (all, true), "{damage:?}: {message}");
        assert!(
            message.contains("metadata section header: byte"),
            "{damage:?}: {message}"
        );
    }
    // the complete section header, or the metadata as well: the metadata is lost
    for damage in [vec![(32..64, 0)], vec![(33..36, 1), (64..68, 1)]] {
        let (same, meta, message) = repaired(&damage);
        assert_eq!((same, meta), (all, false), "{damage:?}: {message}");
        assert!(
            message.contains("metadata section header: byte"),
            "{damage:?}: {message}"
        );
    }
}

#[test]
fn a_wrong_metadata_size_does_not_truncate_the_offsets() {
    let form = Form {
        chunk: 140,
        spare_chunks: Some(4),
        ..Form::new(3, 1, 2)
    };
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.meta_set(Some(br#"{"some": "metadata"}"#)).unwrap();
    // uncompressed chunks with multiples of 8 bytes
    let content: Vec<u8> = (0..12 * 140)
        .map(|i: u32| (i.wrapping_mul(2_654_435_769) >> 24) as u8)
        .collect();
    w.append(&content).unwrap();
    w.commit().unwrap();
    let intact = disk.contents().remove(OsStr::new(NAME)).unwrap();
    // the reserved size of the metadata, which determines the position of the offsets
    for value in (0..=255).filter(|v| *v != intact[48]) {
        let mut corrupted = intact.clone();
        corrupted[48] = value;
        let b = open(&corrupted, &skipping()).unwrap();
        let mut all = vec![0; b.nbytes() as usize];
        assert!(
            b.read(0, &mut all) == Ok(false)
                && all == content
                && b.meta() == Ok(Some(br#"{"some": "metadata"}"#)),
            "{} is now {value}",
            intact[48]
        );
    }
}
