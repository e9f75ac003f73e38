//! Corruption is reported, leaves the rest readable, and can be repaired; copies.

use super::*;
use crate::superchunk::bloscpack::{Destination, Repaired};
use std::collections::BTreeMap;
use std::ffi::OsString;

pub(super) type Files = BTreeMap<OsString, Vec<u8>>;

/// Returns the files of a frame of several chunks, written in three commits, and its state after
/// each.
pub(super) fn made(form: Form) -> (Files, Vec<State>) {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    let mut states = Vec::new();
    for i in 0..3 {
        w.append(&bytes(7 + i, 1700)).unwrap();
        w.vlmeta_set("vl", &bytes(i, 90)).unwrap();
        w.write(100, &bytes(50 + i, 300)).unwrap();
        w.commit().unwrap();
        states.push(State::of(&reader(&disk.folder()).unwrap()).unwrap());
    }
    drop(w);
    (disk.contents(), states)
}

/// Returns the files and the state of a frame after so many small commits, of which the third and
/// later ones write to a pair of tails.
pub(super) fn paired(form: Form, commits: u64) -> (Files, State) {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.vlmeta_set("vl", b"a value").unwrap();
    for i in 0..=commits {
        let first = if i == 0 { 5000 } else { 0 };
        w.append(&bytes(60 + i, first + 200 * (1 + i as usize % 3)))
            .unwrap();
        w.commit().unwrap();
    }
    drop(w);
    let files = disk.contents();
    let marks = files[OsStr::new(NAME)]
        .windows(8)
        .filter(|b| b == b"holdpair");
    assert!(marks.count() >= 4);
    let state = see(&files).unwrap();
    (files, state)
}

pub(super) fn folder(files: &Files) -> Arc<dyn Folder> {
    SimDisk::with_files(files).folder()
}

pub(super) fn see(files: &Files) -> Result<State> {
    State::of(&reader(&folder(files))?)
}

/// Returns the file with header and index, and a file with chunks.
pub(super) fn names(form: Form) -> [OsString; 2] {
    if form.sparse {
        [
            "x.b2frame/chunks.b2frame".into(),
            "x.b2frame/00000001.chunk".into(),
        ]
    } else {
        [NAME.into(), NAME.into()]
    }
}

pub(super) fn repaired(folder: &Arc<dyn Folder>) -> Result<Repaired> {
    repair_in(folder, OsStr::new(NAME), &Options::new())
}

#[test]
fn bit_flips_and_truncation_are_never_silent() {
    for form in [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
        Form {
            codec: Codec::Zstd,
            meta: 700,
            filter: Some(Filter::Delta),
            ..PLAIN
        },
    ] {
        let mut frames = vec![(made(form).0, made(form).1.pop().unwrap())];
        if !form.sparse {
            frames.push(paired(form, 5));
        }
        let mut rng = Rng(99);
        let (mut refused, mut same) = (0, 0);
        for round in 0..600 * frames.len() {
            let (files, good) = &frames[round / 600];
            let mut files = files.clone();
            let sizes: Vec<(OsString, usize)> = files
                .iter()
                .filter(|(_, b)| !b.is_empty())
                .map(|(n, b)| (n.clone(), b.len()))
                .collect();
            let (name, n) = &sizes[rng.below(sizes.len())];
            let bytes = files.get_mut(name).unwrap();
            match round % 6 {
                0 => bytes.truncate(rng.below(*n)),
                _ => bytes[rng.below(*n)] ^= 1 << rng.below(8),
            }
            match see(&files) {
                Ok(s) => {
                    assert!(s == *good, "{form:?} {round}");
                    same += 1;
                }
                Err(_) => refused += 1,
            }
        }
        println!("{form:?}: {refused} refused, {same} without effect");
        assert!(refused > 200);
    }
}

#[test]
fn leftover_chunk_files_are_removed_by_the_next_commit() {
    let form = Form {
        sparse: true,
        ..PLAIN
    };
    let (mut files, states) = made(form);
    let there: Vec<OsString> = files.keys().cloned().collect();
    for left in ["00000000", "000000FF"] {
        assert!(
            files
                .insert(format!("x.b2frame/{left}.chunk").into(), vec![1; 9])
                .is_none(),
            "{left}"
        );
    }
    let disk = SimDisk::with_files(&files);
    let mut w = Frame::open_in(
        &disk.folder(),
        OsStr::new(NAME),
        Mode::Append,
        &Options::new(),
    )
    .unwrap();
    w.vlmeta_set("vl", b"other").unwrap();
    w.commit().unwrap();
    drop(w);
    assert!(
        disk.contents()
            .keys()
            .filter(|n| !n.to_str().unwrap().contains("lock"))
            .eq(&there)
    );
    assert!(
        State::of(&reader(&disk.folder()).unwrap()).unwrap().chunks
            == states.last().unwrap().chunks
    );
}

#[test]
fn intact_chunks_are_read_and_preserved_by_repair() {
    for form in [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
    ] {
        let (mut files, states) = made(form);
        let good = states.last().unwrap();
        let f = reader(&folder(&files)).unwrap();
        let (position, _) = (f.layout().entries[3].position().unwrap(), drop(f));
        let name = if form.sparse {
            format!("x.b2frame/{position:08X}.chunk").into()
        } else {
            names(form)[0].clone()
        };
        let head = u32::from_be_bytes(files[&names(form)[0]][11..15].try_into().unwrap()) as usize;
        let at = if form.sparse {
            40
        } else {
            head + position as usize + 40
        };
        files.get_mut(&name).unwrap()[at] ^= 4;
        let folder = folder(&files);
        let f = reader(&folder).unwrap();
        for (i, want) in good.chunks.iter().enumerate() {
            let mut got = vec![0xee; want.len()];
            let read = f.read_chunk(i as u64, &mut got);
            if i == 3 {
                let e = read.unwrap_err();
                assert!(
                    e.status == Status::Checksum
                        && e.position == 3
                        && e.message.contains("chunk 3"),
                    "{e}"
                );
            } else {
                assert!(!read.unwrap() && got == *want, "{i}");
            }
        }
        let mut faults = Vec::new();
        let v = f.verify(|e| {
            faults.push(e.position);
            true
        });
        assert_eq!((v.unwrap().corrupt, faults), (1, vec![3]));
        let skips = Frame::open_in(
            &folder,
            OsStr::new(NAME),
            Mode::Read,
            &Options::new().with(Opt::SkipDamaged, 1).unwrap(),
        )
        .unwrap();
        let mut all = vec![0xee; skips.nbytes() as usize];
        let mut want = good.clone();
        want.chunks[3].fill(0);
        assert!(skips.read(0, &mut all).unwrap() && all == want.content());
        assert_eq!(
            repaired(&folder).unwrap(),
            Repaired {
                retained: good.chunks.len() as u64 - 1,
                dropped: 1,
                metadata_lost: false,
            }
        );
        assert!(State::of(&reader(&folder).unwrap()).unwrap() == want);
        assert_eq!(
            repaired(&folder).unwrap(),
            Repaired {
                retained: good.chunks.len() as u64,
                dropped: 0,
                metadata_lost: false,
            }
        );
    }
}

#[test]
fn repair_frees_unused_space_and_removes_leftover_files() {
    for form in [
        PLAIN,
        Form { sum: 0, ..PLAIN },
        Form {
            sparse: true,
            ..PLAIN
        },
    ] {
        let (mut files, states) = made(form);
        if form.sparse {
            files.insert("x.b2frame/0000FFFF.chunk".into(), vec![1; 100]);
        }
        let disk = SimDisk::with_files(&files);
        repaired(&disk.folder()).unwrap();
        assert!(State::of(&reader(&disk.folder()).unwrap()).unwrap() == *states.last().unwrap());
        let sizes = |files: &Files| files.values().map(Vec::len).sum::<usize>();
        assert!(sizes(&disk.contents()) < sizes(&files), "{form:?}");
        let after = disk.contents();
        repaired(&disk.folder()).unwrap();
        assert!(disk.contents() == after || form.sparse);
    }
}

#[test]
fn copies_have_the_same_content() {
    for form in [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
        Form {
            sum: 0,
            codec: Codec::Zstd,
            filter: Some(Filter::Delta),
            ..PLAIN
        },
    ] {
        let (files, states) = made(form);
        let from = reader(&folder(&files)).unwrap();
        for sparse in [false, true] {
            for codec in [None, Some(6)] {
                let to = SimDisk::default().folder();
                let options = codec.map_or(Options::new(), |c| {
                    Options::new().with(Opt::Codec, c).unwrap()
                });
                let to_there = Destination {
                    folder: to.clone(),
                    name: NAME.into(),
                    mode: Mode::New,
                    options,
                };
                assert!(!from.copy(to_there, sparse).unwrap());
                let copy = reader(&to).unwrap();
                assert!(
                    State::of(&copy).unwrap() == *states.last().unwrap()
                        && copy.has_checksums() == (form.sum == 2)
                );
                assert_eq!(
                    (copy.is_sparse(), copy.params().unwrap().codec),
                    (
                        sparse,
                        if codec.is_some() {
                            Codec::Zstd
                        } else {
                            form.codec
                        }
                    )
                );
            }
        }
    }
}

#[test]
fn a_frame_within_a_larger_file() {
    let (mut files, states) = made(PLAIN);
    let bytes = files.get_mut(OsStr::new(NAME)).unwrap();
    *bytes = [&[1; 1000], &bytes[..], &[2; 300]].concat();
    let folder = folder(&files);
    assert!(reader(&folder).is_err());
    let options = Options::new().with(Opt::At, 1000).unwrap();
    let f = Frame::open_in(&folder, OsStr::new(NAME), Mode::Read, &options).unwrap();
    assert!(State::of(&f).unwrap() == *states.last().unwrap());
    assert_eq!(
        Frame::open_in(&folder, OsStr::new(NAME), Mode::Append, &options)
            .err()
            .unwrap()
            .status,
        Status::Unsupported
    );
    // in memory
    let whole = files[OsStr::new(NAME)].clone();
    let memory: Arc<dyn Folder> = Arc::new(crate::io::memory::MemoryFolder::new(whole));
    let f = Frame::open_in(&memory, OsStr::new(""), Mode::Read, &options).unwrap();
    assert!(State::of(&f).unwrap() == *states.last().unwrap());
}

#[test]
fn unchanged_blocks_stay_as_they_are_stored() {
    let disk = SimDisk::default();
    let form = Form {
        chunk: 40_000,
        block: 4000,
        codec: Codec::Zstd,
        level: 9,
        ..PLAIN
    };
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    let content: Vec<u8> = (0..40_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8)
        .collect();
    w.append(&content).unwrap();
    w.commit().unwrap();
    let blocks = |w: &Frame| {
        w.with_raw(0, |chunk| {
            let h = crate::blosc::Header::parse(chunk)?;
            let (starts, _) = crate::blosc::sections(&h, chunk)?;
            let mut starts: Vec<usize> = starts
                .as_chunks::<4>()
                .0
                .iter()
                .map(|s| u32::from_le_bytes(*s) as usize)
                .collect();
            starts.push(chunk.len());
            Ok(starts
                .windows(2)
                .map(|s| chunk[s[0]..s[1]].to_vec())
                .collect::<Vec<_>>())
        })
        .unwrap()
    };
    let before = blocks(&w);
    drop(w);
    // encoded with another level, the blocks would differ
    let options = form.options().with(Opt::Level, 1).unwrap();
    let mut w = Frame::open_in(&disk.folder(), OsStr::new(NAME), Mode::Append, &options).unwrap();
    w.write(9000, &[9; 100]).unwrap();
    let after = blocks(&w);
    let same: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a == b).collect();
    assert_eq!(same, (0..10).map(|b| b != 2).collect::<Vec<_>>());
    // repeated writes to one chunk reuse its space
    let size = || disk.contents()[OsStr::new(NAME)].len();
    let n = size();
    for i in 0..50 {
        w.write(9000 + i, &[i as u8; 100]).unwrap();
    }
    assert!(size() < n + 500, "{n} {}", size());
    w.commit().unwrap();
}

/// Calls all operations of a frame; any of them may fail.
fn call_everything(folder: &Arc<dyn Folder>) {
    let options = Options::new()
        .with(Opt::MemoryLimit, 8 << 20)
        .unwrap()
        .with(Opt::Threads, 1)
        .unwrap();
    for skip in [0, 1] {
        let options = options.clone().with(Opt::SkipDamaged, skip).unwrap();
        let Ok(f) = Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &options) else {
            continue;
        };
        let n = f.nbytes().min(1 << 20) as usize;
        let _ = f.read(0, &mut vec![0; n]);
        for i in 0..f.chunks().min(20) {
            let _ = (f.chunk_info(i), f.with_raw(i, |c| Ok(c.len())));
            if f.chunk_bytes() > 0 && f.chunk_bytes() < 1 << 20 {
                let _ = crate::superchunk::chunks::Chunks::read_part(&f, i, 1, 3, &mut [0; 5]);
                let _ = crate::superchunk::chunks::Chunks::fill(&f, i);
            }
        }
        let names: Vec<String> = f.meta_names().map(str::to_owned).collect();
        names.iter().for_each(|n| _ = f.meta(n));
        if f.chunks() < 1000 {
            let _ = f.verify(|_| true);
        }
    }
    if let Ok(mut w) = Frame::open_in(folder, OsStr::new(NAME), Mode::Append, &options)
        && w.chunks() < 1000
        && w.chunk_bytes() < 1 << 20
    {
        let n = w.nbytes();
        let _ = (
            w.write(n / 2, &vec![3; (n / 4).min(5000) as usize]),
            w.append(&[1; 700]),
            w.insert(1, &[5; 30]),
            w.remove(0),
        );
        let _ = (
            w.vlmeta_set("x", &[1]),
            w.truncate(w.nbytes() / 2),
            w.commit(),
        );
    }
    let _ = repair_in(
        folder,
        OsStr::new(NAME),
        &Options::new().with(Opt::MemoryLimit, 8 << 20).unwrap(),
    );
}

#[test]
fn malicious_bytes_do_not_panic() {
    let variable = {
        let (files, _) = made(Form { sum: 0, ..PLAIN });
        let disk = SimDisk::with_files(&files);
        let mut w = PLAIN.append(&disk.folder()).unwrap();
        w.insert(1, &bytes(3, 77)).unwrap();
        w.commit().unwrap();
        drop(w);
        disk.contents()
    };
    let unsealed = [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
        Form {
            codec: Codec::Zstd,
            filter: Some(Filter::Delta),
            ..PLAIN
        },
    ];
    let all = unsealed
        .into_iter()
        .map(|form| made(Form { sum: 0, ..form }).0)
        .chain([variable]);
    for (k, files) in all.enumerate() {
        let mut rng = Rng(1000 + k as u64);
        let names: Vec<OsString> = files
            .iter()
            .filter(|(_, b)| !b.is_empty())
            .map(|(n, _)| n.clone())
            .collect();
        for _ in 0..2500 {
            let mut files = files.clone();
            for _ in 0..1 + rng.below(3) {
                let index = names
                    .iter()
                    .find(|n| {
                        n.to_str().unwrap().contains("b2frame")
                            && !n.to_str().unwrap().ends_with(".chunk")
                    })
                    .unwrap();
                let name = if rng.below(2) == 0 {
                    index
                } else {
                    &names[rng.below(names.len())]
                };
                let bytes = files.get_mut(name).unwrap();
                // mostly where numbers are
                let at = match rng.below(4) {
                    0 => rng.below(100),
                    1 => bytes.len() - 1 - rng.below(200.min(bytes.len())),
                    _ => rng.below(bytes.len()),
                };
                let at = at.min(bytes.len() - 1);
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1 << rng.below(8)][rng.below(6)];
            }
            call_everything(&folder(&files));
        }
    }
}
