//! Recovery of a frame whose header, index or trailer is corrupt.

use super::damage::{Files, made, names, paired, repaired, see};
use super::header::Header;
use super::*;
use crate::io::sim;

/// Creates a frame in one commit; some of its chunks are not stored.
fn committed_once(form: Form) -> (Files, State) {
    committed_with(form, 0)
}

/// Like [`committed_once`], with content that depends on a seed.
fn committed_with(form: Form, seed: u64) -> (Files, State) {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    for (i, n) in [600, 600, 600, 600, 250].into_iter().enumerate() {
        w.append(&if i == 2 {
            vec![0; n]
        } else {
            bytes(40 + i as u64 + 100 * seed, n)
        })
        .unwrap();
    }
    w.vlmeta_set("vl", b"a value").unwrap();
    w.commit().unwrap();
    drop(w);
    (disk.contents(), see(&disk.contents()).unwrap())
}

/// Returns frames of one commit, of several, and with a pair of tails.
fn frames(form: Form) -> Vec<(Files, State)> {
    let (files, mut states) = made(form);
    let mut all = vec![committed_once(form), (files, states.pop().unwrap())];
    if !form.sparse && form.sum != 0 {
        // the header refers to the second tail, then to the first one
        all.extend([paired(form, 4), paired(form, 5)]);
    }
    all
}

/// Returns the ranges of header, index and trailer in the file that holds them.
pub(super) fn parts(files: &Files, form: Form) -> Vec<(&'static str, std::ops::Range<usize>)> {
    let bytes = &files[&names(form)[0]];
    let header = Header::parse(&bytes[..header::stated_len(bytes).unwrap()]).unwrap();
    let len = header.len() as usize;
    let end = header.frame_len as usize;
    let trailer = end - trailer::Trailer::length(&bytes[..end]).unwrap() as usize;
    let index = if form.sparse {
        len
    } else {
        len + header.cbytes as usize
    };
    // before the room of a pair of tails
    let stored = crate::blosc::Header::parse(&bytes[index..]).unwrap().cbytes;
    vec![
        ("header", 0..len),
        ("index", index..index + stored),
        ("trailer", trailer..end),
    ]
}

fn faults(folder: &Arc<dyn Folder>) -> Vec<String> {
    let mut messages = Vec::new();
    let options = Options::new().with(Opt::SkipDamaged, 1).unwrap();
    match Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &options) {
        Err(e) => messages.push(e.message),
        Ok(f) => {
            _ = f.verify(|e| {
                messages.push(e.message.clone());
                true
            })
        }
    }
    messages
}

#[test]
fn any_corrupt_byte_of_the_parts_is_repaired() {
    let forms = [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
        Form {
            meta: 700,
            codec: Codec::Zstd,
            filter: Some(Filter::Delta),
            ..PLAIN
        },
    ];
    for form in forms {
        for (files, good) in frames(form) {
            for (part, range) in parts(&files, form) {
                for at in range.clone() {
                    let by = [1, 0x80, 0xff][at % 3];
                    let mut files = files.clone();
                    files.get_mut(&names(form)[0]).unwrap()[at] ^= by;
                    let disk = SimDisk::with_files(&files);
                    let what = format!("{form:?} {part} {} ^ {by}", at - range.start);
                    assert!(
                        see(&files).is_err() && !faults(&disk.folder()).is_empty(),
                        "{what}"
                    );
                    let options = Options::new().with(Opt::SkipDamaged, 1).unwrap();
                    let skips =
                        Frame::open_in(&disk.folder(), OsStr::new(NAME), Mode::Read, &options)
                            .unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(
                        State::of(&skips).unwrap() == good && skips.read(0, &mut [0; 10]).unwrap(),
                        "{what}"
                    );
                    drop(skips);
                    let r = repaired(&disk.folder()).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(
                        (r.dropped, r.retained),
                        (0, good.chunks.len() as u64),
                        "{what}"
                    );
                    assert!(
                        see(&disk.contents()).unwrap() == good && faults(&disk.folder()).is_empty(),
                        "{what}"
                    );
                }
            }
        }
    }
}

/// Frames of other writers have no seal: corruption is detected where parts do not match each
/// other.
#[test]
fn corrupt_bytes_of_frames_by_other_writers_are_detected() {
    let forms = [
        Form { sum: 0, ..PLAIN },
        Form {
            sum: 0,
            sparse: true,
            ..PLAIN
        },
    ];
    for (seed, form) in sim::seeds()
        .chain([3, 8])
        .flat_map(|seed| forms.map(|form| (seed, form)))
    {
        let (files, good) = committed_with(form, seed);
        // one kind of chunk that is not stored is read as another
        let empty = |chunk: &[u8]| chunk.iter().all(|b| *b == 0);
        let (mut unopened, mut complete, mut partial, mut refused, mut wrong) = (0, 0, 0, 0, 0);
        for (part, range) in parts(&files, form) {
            for at in range.clone() {
                for by in [1, 0x80, 0xff] {
                    let mut files = files.clone();
                    files.get_mut(&names(form)[0]).unwrap()[at] ^= by;
                    let (disk, what) = (
                        SimDisk::with_files(&files),
                        format!("{form:?} {part} {} ^ {by}", at - range.start),
                    );
                    // a read returns what was written, or an error
                    let Ok(f) = reader(&disk.folder()) else {
                        assert!(!faults(&disk.folder()).is_empty(), "{what}");
                        unopened += 1;
                        match repaired(&disk.folder()) {
                            Err(_) => refused += 1,
                            Ok(r) => {
                                let now =
                                    see(&disk.contents()).unwrap_or_else(|e| panic!("{what}: {e}"));
                                assert!(
                                    now.chunks == good.chunks || r.dropped > 0,
                                    "seed {seed}: {what}: {r:?}, {:?}",
                                    now.chunks.iter().map(Vec::len).collect::<Vec<_>>()
                                );
                                if now.chunks == good.chunks {
                                    complete += 1
                                } else {
                                    partial += 1
                                }
                            }
                        }
                        continue;
                    };
                    for (i, want) in good.chunks.iter().enumerate() {
                        let mut got = vec![0xee; want.len()];
                        if f.read_chunk(i as u64, &mut got).is_ok() && got != *want {
                            assert!(
                                part == "index" && empty(want),
                                "seed {seed}: {what}: chunk {i}"
                            );
                            wrong += 1;
                        }
                    }
                }
            }
        }
        println!(
            "{form:?}: of {unopened} frames that do not open, {complete} are recovered completely, {partial} partly, {refused} not at all; {wrong} wrong chunks are not detected"
        );
        // most of the frame follows from the remaining parts
        let most = 10 * good.chunks.iter().filter(|c| empty(c)).count();
        assert!(
            complete > unopened / 3 && wrong < most,
            "seed {seed}: {unopened} {complete} {partial} {refused} {wrong}"
        );
    }
}

/// Only the header has the length of a last chunk that is not stored. Without it, the chunk is not
/// preserved.
#[test]
fn a_last_chunk_that_is_not_stored_needs_the_header() {
    let form = Form { sum: 0, ..PLAIN };
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.append(&bytes(1, 600)).unwrap();
    w.append(&[0; 250]).unwrap();
    w.commit().unwrap();
    drop(w);
    let good = see(&disk.contents()).unwrap();
    for (part, range) in parts(&disk.contents(), form)
        .into_iter()
        .filter(|(part, _)| *part == "header")
    {
        for at in range {
            let mut files = disk.contents();
            files.get_mut(&names(form)[0]).unwrap()[at] ^= 1;
            // another length of zeros matches all other parts
            if see(&files).is_ok() {
                continue;
            }
            let hurt = SimDisk::with_files(&files);
            let Ok(r) = repaired(&hurt.folder()) else {
                continue;
            };
            let same = see(&hurt.contents()).unwrap().chunks == good.chunks;
            assert!(same || r.dropped > 0, "{part} {at}: {r:?}");
        }
    }
}

#[test]
fn a_lost_part_is_recovered_or_reported() {
    for form in [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
        Form { sum: 0, ..PLAIN },
    ] {
        for (files, good) in frames(form) {
            let all = parts(&files, form);
            for (part, range) in &all {
                let mut files = files.clone();
                // all of it, except the fields that identify the header
                let from = if *part == "header" {
                    range.start + 90
                } else {
                    range.start
                };
                files.get_mut(&names(form)[0]).unwrap()[from..range.end].fill(0x5a);
                let disk = SimDisk::with_files(&files);
                let what = format!(
                    "{form:?} {part}, {} chunks: {:?}",
                    good.chunks.len(),
                    faults(&disk.folder())
                );
                let repaired = repaired(&disk.folder());
                println!("{what}: {repaired:?}");
                let Ok(r) = repaired else {
                    assert!(disk.contents() == files, "{what}");
                    assert!(*part == "header" || form.sum == 0, "{what}");
                    continue;
                };
                let now = see(&disk.contents()).unwrap();
                assert!(faults(&disk.folder()).is_empty(), "{what}");
                assert_eq!(now.chunks.len(), good.chunks.len(), "{what}");
                let same = now
                    .chunks
                    .iter()
                    .zip(&good.chunks)
                    .filter(|(a, b)| a == b)
                    .count();
                assert!(same == good.chunks.len() || r.dropped > 0, "{what}");
                assert!(now == good || r.dropped > 0, "{what}");
                assert!(
                    *part == "header" || form.sum == 0 || same == good.chunks.len(),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_frame_torn_by_another_writer_is_recovered_as_far_as_possible() {
    let (mut files, states) = made(PLAIN);
    let index = parts(&files, PLAIN)[1].1.start;
    let torn = |files: &Files, from: usize| {
        let mut files = files.clone();
        files.get_mut(OsStr::new(NAME)).unwrap()[from..].fill(0x5a);
        SimDisk::with_files(&files)
    };
    // another writer overwrites index and trailer with a chunk first: an earlier commit is found
    let disk = torn(&files, index);
    assert!(reader(&disk.folder()).is_err());
    let r = repaired(&disk.folder()).unwrap();
    assert!(
        r.dropped == 1 && State::of(&reader(&disk.folder()).unwrap()).unwrap() == states[1],
        "{r:?}"
    );
    // or part of the trailer: the index leads to the chunks, and their checksums are computed again
    let disk = torn(&files, files[OsStr::new(NAME)].len() - 60);
    let r = repaired(&disk.folder()).unwrap();
    let now = reader(&disk.folder()).unwrap();
    assert!(
        r.dropped == 1
            && now.has_checksums()
            && State::of(&now).unwrap().chunks == states[2].chunks,
        "{r:?}"
    );
    // a frame that cannot be recovered is not changed
    for b in files[OsStr::new(NAME)]
        .windows(4)
        .enumerate()
        .filter(|(_, w)| w == b"hld1")
        .map(|(i, _)| i)
        .collect::<Vec<_>>()
    {
        files.get_mut(OsStr::new(NAME)).unwrap()[b..b + 4].fill(0);
    }
    let disk = torn(&files, index);
    let before = disk.contents();
    assert!(repaired(&disk.folder()).is_err());
    assert!(disk.contents() == before);
}
