//! Files with bytes that are other ones, or missing.

use super::*;
use crate::io::memory::MemoryFolder;
use crate::io::sim;
use crate::superchunk::bloscpack::chunk_table::ChunkTable;
use crate::superchunk::bloscpack::metadata::Form as MetaForm;
use std::collections::BTreeMap;
use std::ops::Range;

/// A small file, and where everything in it is.
pub(super) struct Sample {
    pub(super) what: String,
    pub(super) bytes: Vec<u8>,
    state: State,
    /// Bytes of content of each chunk.
    spans: Vec<Range<usize>>,
    /// Bytes of each chunk in the file, its digest among them.
    pub(super) places: Vec<Range<usize>>,
    pub(super) offsets: Range<usize>,
    /// Metadata that nothing protects.
    bare_meta: Range<usize>,
    /// Metadata that a digest protects, without their head.
    pub(super) safe_meta: Range<usize>,
    /// Nothing can be said about content that no checksum protects.
    summed: bool,
    /// All chunks but the last hold as much.
    regular: bool,
}

fn open(bytes: &[u8], o: &Options) -> Result<Bloscpack> {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes.to_vec()));
    Bloscpack::open_in(&folder, OsStr::new(""), Mode::Read, o)
}

pub(super) fn strict() -> Options {
    // a damaged size may ask for much
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
    /// With chunks of all the same size, but the last, or not.
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
        // written anew, so that there are only a few offsets
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
        let bare = meta.is_some_and(|m| m.form == MetaForm::Rfc { packed: false });
        Sample {
            what: format!("{form:?} regular {regular}"),
            spans: spans.collect(),
            places: table
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
            summed: h.checksum.size() > 0,
            regular,
            bytes,
            state,
        }
    }

    /// Panics where these bytes give other content or metadata than the sample's, or less, without
    /// an error. Gives how many chunks could be read.
    fn nothing_wrong(&self, hurt: &[u8], o: &Options, how: &dyn std::fmt::Display) -> usize {
        let what = || format!("{}: {how}", self.what);
        let Ok(b) = open(hurt, o) else { return 0 };
        let skips = o.get(Opt::SkipDamaged, 0) == 1;
        let content = self.state.content();
        let _ = b.verify(|_| true);
        let mut all = vec![0xee; b.nbytes().min(10_000) as usize];
        let whole = b.read(0, &mut all);
        let meta = b.meta();
        if self.summed {
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
            let bare = hurt.get(self.bare_meta.clone()) != self.bytes.get(self.bare_meta.clone())
                || hurt[..32] != self.bytes[..32];
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
                    !self.summed || got == *chunk,
                    "{}: other bytes at {}",
                    what(),
                    span.start
                );
            }
            let mut got = vec![0xee; b.chunk_nbytes(i as u64).map_or(0, |n| n.min(10_000))];
            let read = b.read_chunk(i as u64, &mut got);
            assert!(
                !self.summed || read != Ok(false) || got == *chunk,
                "{}: another chunk {i}",
                what()
            );
            good += usize::from(read.is_ok() && got == *chunk);
        }
        good
    }

    /// Chunks that must stay readable where only this byte is another one.
    fn unhurt_by(&self, at: usize) -> usize {
        let n = self.places.len();
        match self.places.iter().position(|p| p.contains(&at)) {
            // without offsets a chunk's header leads to the next one
            Some(i) if self.offsets.is_empty() && at < self.places[i].start + 16 => i,
            Some(_) => n - 1,
            None if self.offsets.contains(&at)
                || self.safe_meta.contains(&at)
                || self.bare_meta.contains(&at) && at > 32 =>
            {
                n
            }
            // offsets say where they are, whatever the header says
            None if !self.offsets.is_empty() && (at == 5 || at >= 16) => n,
            None => 0,
        }
    }

    fn repair(&self, hurt: &[u8], unhurt: usize, how: &dyn std::fmt::Display) -> Option<usize> {
        let what = || format!("{}: {how}", self.what);
        let files = BTreeMap::from([(NAME.into(), hurt.to_vec())]);
        let disk = SimDisk::with_files(&files);
        let done = match repair_in(&disk.folder(), OsStr::new(NAME), &strict()) {
            Ok(done) => done,
            Err(e) => {
                assert!(
                    disk.contents() == files,
                    "{}: changed by a repair that failed",
                    what()
                );
                assert!(unhurt == 0, "{}: {e}", what());
                return None;
            }
        };
        assert!(
            done.kept >= unhurt as u64,
            "{}: {done:?}, and {unhurt} chunks were not hurt",
            what()
        );
        let mended = disk.contents();
        assert_eq!(mended.len(), 1);
        let b = reader(&disk.folder()).unwrap_or_else(|e| panic!("{}: repaired, {e}", what()));
        let mut faults = 0;
        let v = b
            .verify(|_| {
                faults += 1;
                true
            })
            .unwrap();
        assert_eq!(
            (v.bad, faults, v.sound + v.unchecked),
            (0, 0, b.chunks() as u64),
            "{}: {done:?}",
            what()
        );
        b.meta()
            .unwrap_or_else(|e| panic!("{}: repaired, {e}", what()));
        // each chunk that is there is as it was, or zeros
        let found = State::of(&b).unwrap();
        let same = found
            .chunks
            .iter()
            .zip(&self.state.chunks)
            .filter(|(a, b)| a == b)
            .count();
        assert!(
            !self.summed || same >= unhurt,
            "{}: {same} chunks are as they were, {unhurt} were not hurt",
            what()
        );
        let zeros = |c: &Vec<u8>| c.iter().all(|b| *b == 0);
        let right = |(i, c): (usize, &Vec<u8>)| zeros(c) || self.state.chunks.get(i) == Some(c);
        let wrong = found.chunks.iter().enumerate().find(|c| !right(*c));
        assert!(
            !self.summed || wrong.is_none(),
            "{}: {done:?}, and other chunks than before: {wrong:?}",
            what()
        );
        drop(b);
        // a second one has nothing to do
        let again = repair_in(&disk.folder(), OsStr::new(NAME), &strict()).unwrap();
        assert_eq!(
            (again.dropped, disk.contents() == mended),
            (0, true),
            "{}",
            what()
        );
        Some(same)
    }
}

pub(super) fn samples(sums: &[i64]) -> Vec<Sample> {
    let mut all = Vec::new();
    for (version, offsets) in [(3, 1), (3, 0), (2, 1), (2, 0), (103, 1), (103, 0), (1, 0)] {
        for &sum in sums {
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

/// Near values too: they make one offset equal to its neighbour.
const FLIPS: &[u8] = &[
    1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff, 3, 0x1d, 0x2a, 0x4b,
];

/// Flips of each byte, `each` of them.
fn flips(s: &Sample, each: usize) -> impl Iterator<Item = (usize, Vec<u8>, String)> {
    (0..s.bytes.len()).flat_map(move |at| {
        (0..each).map(move |k| {
            let x = FLIPS[(at * each + k) % FLIPS.len()];
            let mut hurt = s.bytes.clone();
            hurt[at] ^= x;
            (at, hurt, format!("byte {at} ^ {x:#x}"))
        })
    })
}

#[test]
fn no_flip_of_a_byte_is_silent() {
    let (mut n, mut noticed) = (0, 0);
    for (sums, each) in [(&[2][..], FLIPS.len()), (&[0, 1, 3, 8], 2)] {
        for s in samples(sums) {
            for (at, hurt, how) in flips(&s, each) {
                n += 1;
                noticed += usize::from(s.nothing_wrong(&hurt, &strict(), &how) < s.places.len());
                let good = s.nothing_wrong(&hurt, &skipping(), &how);
                assert!(
                    good >= s.unhurt_by(at) || !s.summed,
                    "{} {how}: {good} chunks are readable, {} were not hurt",
                    s.what,
                    s.unhurt_by(at)
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
            let good = s.nothing_wrong(&s.bytes[..len], &strict(), &how);
            assert_eq!(good, 0, "{} {how}", s.what);
            let good = s.nothing_wrong(&s.bytes[..len], &skipping(), &how);
            let whole = s.places.iter().filter(|p| p.end <= len).count();
            assert_eq!(good, whole, "{} {how}", s.what);
            if let Ok(b) = open(&s.bytes[..len], &skipping()) {
                let v = b.verify(|_| true).unwrap();
                assert_eq!(
                    (v.sound + v.unchecked, v.bad),
                    (whole as u64, (s.places.len() - whole) as u64),
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
fn repair_keeps_what_is_sound() {
    let (mut repaired, mut refused) = (0, 0);
    for s in samples(&[0, 2, 6]) {
        for (at, hurt, how) in flips(&s, 2) {
            let unhurt = if s.summed { s.unhurt_by(at) } else { 0 };
            match s.repair(&hurt, unhurt, &how) {
                // where something else than a chunk was hurt, all chunks are there, or nothing was
                // changed
                Some(same) => {
                    let n = s.places.len();
                    let all = same == n || s.places.iter().any(|p| p.contains(&at));
                    assert!(
                        !s.summed || all,
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
fn damage_in_several_places_is_not_silent() {
    for seed in sim::seeds() {
        damage_several_places(seed, if seed == 0 { 1000 } else { 100 });
    }
}

/// Without the header's word for the kind of checksum, other damage would be silent.
#[test]
fn a_checksum_is_found_that_the_header_does_not_name() {
    for s in samples(&[1, 2, 3, 6, 8]).iter().filter(|s| s.summed) {
        for place in &s.places {
            let mut hurt = s.bytes.clone();
            hurt[6] = 0;
            let how = format!("byte 6 is 0, and {} differs", place.start + 17);
            hurt[place.start + 17] ^= 0x40;
            s.nothing_wrong(&hurt, &strict(), &how);
            s.nothing_wrong(&hurt, &skipping(), &how);
            s.repair(&hurt, 0, &how);
        }
    }
}

/// A lost chunk, offsets that are shifted by one, and too few chunks: what is found may be another
/// chunk.
#[test]
fn shifted_offsets_are_not_believed() {
    let papers: &[(usize, u8)] = &[
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
    let two: &[(usize, u8)] = &[
        (0x28, 7),
        (0x29, 1),
        (0x30, 0x6a),
        (0x38, 2),
        (0x3a, 0x71),
        (0x3b, 4),
        (0x3c, 0x8c),
        (0x4f, 0x25),
    ];
    for (version, damage) in [(103, papers), (2, two)] {
        let s = Sample::new(
            Form {
                codec: 5,
                ..Form::new(version, 1, 2)
            },
            true,
        );
        let mut hurt = s.bytes.clone();
        damage.iter().for_each(|(at, byte)| hurt[*at] = *byte);
        s.nothing_wrong(&hurt, &strict(), &"shifted offsets");
        s.nothing_wrong(&hurt, &skipping(), &"shifted offsets");
        s.repair(&hurt, 0, &"shifted offsets");
    }
}

/// The metadata seem to be longer by the first chunk, and one is missing: what is found may be
/// another chunk.
#[test]
fn metadata_that_swallow_a_chunk_move_the_others() {
    for (form, size, more) in [(Form::new(103, 0, 2), 24, 0), (Form::new(3, 1, 2), 48, 4)] {
        let s = Sample::new(Form { codec: 5, ..form }, true);
        let mut hurt = s.bytes.clone();
        hurt[size] += s.places[0].len() as u8;
        // other offsets than before, and other metadata
        hurt[s.offsets.clone()].fill(0xfb);
        hurt[64..64 + more].fill(0xee);
        s.nothing_wrong(&hurt, &strict(), &"longer metadata");
        s.nothing_wrong(&hurt, &skipping(), &"longer metadata");
        s.repair(&hurt, 0, &"longer metadata");
    }
}

/// What its bytes mean, only a newer holdall knows: it is no damage, and nothing to repair.
#[test]
fn a_newer_version_is_said_and_not_repaired() {
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

/// Its length is nowhere then: content must not be shorter without a word.
#[test]
fn a_lost_chunk_of_unknown_size_is_told() {
    for s in samples(&[2, 3]).iter().filter(|s| !s.offsets.is_empty()) {
        for place in &s.places {
            let mut hurt = s.bytes.clone();
            hurt[8..12].fill(0xff);
            hurt[place.start..place.start + 16].fill(0);
            let how = format!(
                "no size of chunks in the header, and chunk at {} is lost",
                place.start
            );
            s.nothing_wrong(&hurt, &strict(), &how);
            s.repair(&hurt, 0, &how);
        }
    }
}

fn damage_several_places(seed: u64, times: usize) {
    let mut rng = Rng(77 + seed);
    for s in samples(&[2]).iter().filter(|s| s.regular) {
        for _ in 0..times {
            let mut hurt = s.bytes.clone();
            for _ in 0..2 + rng.below(3) {
                let at = rng.below(hurt.len());
                match rng.below(4) {
                    0 => hurt[at..].iter_mut().take(30).for_each(|b| *b = 0),
                    1 => {
                        let from = rng.below(hurt.len());
                        let copy: Vec<u8> = hurt[from..].iter().take(24).copied().collect();
                        hurt[at..].iter_mut().zip(copy).for_each(|(b, c)| *b = c);
                    }
                    2 => hurt[at] = rng.draw() as u8,
                    _ => hurt[at] ^= 1 << rng.below(8),
                }
            }
            let changed = (0..hurt.len())
                .filter(|&i| hurt[i] != s.bytes[i])
                .map(|i| (i, hurt[i]))
                .collect::<Vec<_>>();
            let how = format!("seed {seed}: {changed:x?}");
            s.nothing_wrong(&hurt, &skipping(), &how);
            if hurt[..32] == s.bytes[..32] {
                s.nothing_wrong(&hurt, &strict(), &how);
            }
            s.repair(&hurt, 0, &how);
        }
    }
}

/// What repair makes of a file of v3 whose head is damaged at these places: how many of its chunks
/// are as they were, and whether the metadata are.
fn mended(damage: &[(Range<usize>, u8)]) -> (usize, bool, String) {
    let s = Sample::new(Form::new(3, 1, 2), true);
    let mut hurt = s.bytes.clone();
    for (range, value) in damage {
        hurt[range.clone()].fill(*value);
    }
    assert!(open(&hurt, &strict().with(Opt::Verify, 0).unwrap()).is_err());
    let b = open(&hurt, &skipping()).unwrap();
    let mut words = String::new();
    let v = b
        .verify(|e| {
            words.push_str(&e.message);
            true
        })
        .unwrap();
    assert_eq!((v.sound, v.bad), (s.places.len() as u64, 0), "{words}");
    // all content is right, and it is not said that it is not
    let mut all = vec![0xee; b.nbytes() as usize];
    assert!(
        b.read(0, &mut all) == Ok(false) && all == s.state.content(),
        "{words}"
    );
    let disk = SimDisk::with_files(&BTreeMap::from([(NAME.into(), hurt)]));
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
        words,
    )
}

#[test]
fn a_header_is_mended_by_what_the_offsets_say() {
    let all = Sample::new(Form::new(3, 1, 2), true).places.len();
    // the number of chunks, that of the spare offsets, both; options
    for damage in [
        (16..24, 0),
        (16..17, 200),
        (23..24, 0x80),
        (16..24, 0xff),
        (24..32, 0xff),
        (24..25, 99),
        (16..32, 0x55),
        (5..6, 0),
        (5..6, 0x82),
        (6..7, 0),
    ] {
        let (same, meta, words) = mended(std::slice::from_ref(&damage));
        assert_eq!((same, meta), (all, true), "{damage:?}: {words}");
        assert!(
            words.contains(if damage.0.len() == 1 {
                " is damaged"
            } else {
                "header: byte"
            }),
            "{damage:?}: {words}"
        );
        assert!(
            words.contains("header: byte") && !words.contains("metadata"),
            "{damage:?}: {words}"
        );
    }
    // magic, kind of the digest, codec, size, room, stored bytes
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
        let (same, meta, words) = mended(std::slice::from_ref(&damage));
        assert_eq!((same, meta), (all, true), "{damage:?}: {words}");
        assert!(words.contains("metadata head: byte"), "{damage:?}: {words}");
    }
    // all of it, or the metadata as well: they are lost
    for damage in [vec![(32..64, 0)], vec![(33..36, 1), (64..68, 1)]] {
        let (same, meta, words) = mended(&damage);
        assert_eq!((same, meta), (all, false), "{damage:?}: {words}");
        assert!(words.contains("metadata head: byte"), "{damage:?}: {words}");
    }
}

#[test]
fn offsets_that_are_read_from_their_middle_on_are_not_taken_for_all_of_them() {
    let form = Form {
        chunk: 140,
        spare_chunks: Some(4),
        ..Form::new(3, 1, 2)
    };
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.meta_set(Some(br#"{"some": "metadata"}"#)).unwrap();
    // chunks that are stored as they are, in multiples of 8 bytes
    let content: Vec<u8> = (0..12 * 140)
        .map(|i: u32| (i.wrapping_mul(2_654_435_769) >> 24) as u8)
        .collect();
    w.append(&content).unwrap();
    w.commit().unwrap();
    let sound = disk.contents().remove(OsStr::new(NAME)).unwrap();
    // the room for the metadata, behind which the offsets are
    for value in (0..=255).filter(|v| *v != sound[48]) {
        let mut hurt = sound.clone();
        hurt[48] = value;
        let b = open(&hurt, &skipping()).unwrap();
        let mut all = vec![0; b.nbytes() as usize];
        assert!(
            b.read(0, &mut all) == Ok(false)
                && all == content
                && b.meta() == Ok(Some(br#"{"some": "metadata"}"#)),
            "{} is now {value}",
            sound[48]
        );
    }
}
