//! Long frames, whose entries are loaded on demand, have the same content as frames that are read
//! at once. Corruption of index and checksums is reported by the reads of chunks that depend on it.

use super::damage::{Files, folder};
use super::header::Header;
use super::*;
use crate::blosc;
use crate::superchunk::bloscpack::Destination;
use crate::superchunk::frame::checksums::{self, CHECKSUMS};

const CHUNKS: usize = 5000;
/// Short chunks, so that a frame with many chunks is created fast.
const LONG: Form = Form {
    chunk: 16,
    block: 16,
    meta: 0,
    filter: None,
    ..PLAIN
};

/// Returns noise, with every 500th chunk zeros, which are not stored.
fn content(seed: u64, chunks: usize) -> Vec<u8> {
    let mut rng = Rng(seed);
    (0..chunks * LONG.chunk)
        .map(|i| {
            if i / LONG.chunk % 500 == 17 {
                0
            } else {
                rng.draw() as u8 | 1
            }
        })
        .collect()
}

/// Creates a frame in two commits. `zeros`: some chunks of its first page are zeros.
fn made(zeros: bool) -> (Files, Vec<u8>) {
    let disk = SimDisk::default();
    let mut all = content(5, CHUNKS + 100);
    if !zeros {
        all.iter_mut().for_each(|b| *b |= 1);
    }
    let mut w = LONG.create(&disk.folder(), Mode::New).unwrap();
    let (first, second) = all.split_at(CHUNKS * LONG.chunk);
    for part in [first, second] {
        w.append(part).unwrap();
        w.commit().unwrap();
    }
    drop(w);
    (disk.contents(), all)
}

fn opened(files: &Files, options: &Options) -> Result<Frame> {
    Frame::open_in(&folder(files), OsStr::new(NAME), Mode::Read, options)
}

fn plain(files: &Files) -> Result<Frame> {
    opened(files, &Options::new())
}

/// Returns the offsets of the index and the trailer, and the end of the file.
fn part_offsets(files: &Files) -> [usize; 3] {
    let bytes = &files[OsStr::new(NAME)];
    let header = Header::parse(&bytes[..header::stated_len(bytes).unwrap()]).unwrap();
    let trailer = bytes.len() - trailer::Trailer::length(bytes).unwrap() as usize;
    [
        (header.len() + header.cbytes) as usize,
        trailer,
        bytes.len(),
    ]
}

type Change = fn(&mut Vec<index::IndexSlot>);

/// Changes parts of a frame and seals it again.
fn with_parts(
    files: &Files,
    change: impl Fn(&mut Vec<index::IndexSlot>, &mut trailer::Trailer),
) -> Files {
    let (mut files, [begin, trailer, end]) = (files.clone(), part_offsets(files));
    let bytes = files.get_mut(OsStr::new(NAME)).unwrap();
    let len = header::stated_len(bytes).unwrap();
    let mut head = Header::parse(&bytes[..len]).unwrap();
    let mut tail = trailer::Trailer::parse(&bytes[trailer..end]).unwrap();
    let mut slots = index::decode(&bytes[begin..], head.chunks().unwrap(), 1 << 30).unwrap();
    change(&mut slots, &mut tail);
    let index = index::encode(&slots).unwrap();
    head.frame_len = begin as u64 + index.len() as u64 + tail.len();
    let (head, tail) = part_checksum::seal(&mut head, &index, &mut tail).unwrap();
    bytes[..len].copy_from_slice(&head);
    bytes.truncate(begin);
    bytes.extend([index, tail].concat());
    files
}

/// Changes the index of a frame and seals it again.
fn with_index(files: &Files, change: Change) -> Files {
    with_parts(files, |slots, _| change(slots))
}

/// Returns the checksum metalayer of the chunks.
fn checksums_of(files: &Files) -> Vec<u8> {
    let ([_, trailer, end], bytes) = (part_offsets(files), &files[OsStr::new(NAME)]);
    let tail = trailer::Trailer::parse(&bytes[trailer..end]).unwrap();
    super::super::vlmeta::decode(
        &tail
            .vlmeta
            .iter()
            .find(|(name, _)| name == CHECKSUMS)
            .unwrap()
            .1,
        1 << 30,
    )
    .unwrap()
}

/// Rewrites the checksums as the first versions of this library wrote them.
fn without_marker(files: &Files) -> Files {
    with_parts(files, |_, trailer| {
        let (_, chunk) = trailer
            .vlmeta
            .iter_mut()
            .find(|(name, _)| name == CHECKSUMS)
            .unwrap();
        let value = super::super::vlmeta::decode(chunk, 1 << 30).unwrap();
        let params = Params {
            blocksize: Some(16384),
            ..Params::new(Target::Blosc2, Codec::Lz4, 5, checksums::INTEGER_BYTES)
        };
        chunk.clear();
        blosc::encode(&params, &value[checksums::BIN_HEADER_BYTES..], chunk, 1).unwrap();
    })
}

#[test]
fn checksums_are_messagepack_and_are_read_without_its_header_too() {
    for chunks in [1, 40, CHUNKS] {
        let disk = SimDisk::default();
        let all = content(6, chunks);
        let mut w = LONG.create(&disk.folder(), Mode::New).unwrap();
        w.append(&all).unwrap();
        w.commit().unwrap();
        drop(w);
        let value = checksums_of(&disk.contents());
        assert_eq!(
            value[..checksums::BIN_HEADER_BYTES],
            [&[0xc6][..], &(chunks as u32 * 8).to_be_bytes()].concat()
        );
        assert_eq!(value.len(), checksums::BIN_HEADER_BYTES + chunks * 8);
        let old = without_marker(&disk.contents());
        assert_eq!(checksums_of(&old), value[checksums::BIN_HEADER_BYTES..]);
        let f = plain(&old).unwrap();
        assert!(
            f.has_checksums()
                && f.layout().paged.is_some() == (chunks > 4096)
                && State::of(&f).unwrap().content() == all
        );
        // the checksums are those of the chunks
        let mut corrupt = old.clone();
        *corrupt
            .get_mut(OsStr::new(NAME))
            .unwrap()
            .get_mut(part_offsets(&old)[0] - 3)
            .unwrap() ^= 1;
        let e = plain(&corrupt)
            .and_then(|f| f.read_chunk(chunks as u64 - 1, &mut [0; 16]))
            .unwrap_err();
        assert_eq!(e.status, Status::Checksum, "{e}");
        // the index can be recovered by the checksums
        let mut corrupt = old.clone();
        corrupt.get_mut(OsStr::new(NAME)).unwrap()[part_offsets(&old)[0]..][..32].fill(0x55);
        let r = opened(&corrupt, &Options::new().with(Opt::SkipDamaged, 1).unwrap()).unwrap();
        assert!(State::of(&r).unwrap().content()[..16] == all[..16]);
        // they are the same after the next commit
        let disk = folder(&old);
        let mut w = LONG.append(&disk).unwrap();
        w.append(&all[..16]).unwrap();
        w.commit().unwrap();
        drop(w);
        assert!(
            State::of(&reader(&disk).unwrap()).unwrap().content()
                == [&all[..], &all[..16]].concat()
        );
    }
}

#[test]
fn a_paged_frame_has_the_same_content_as_one_read_at_once() {
    let (files, all) = made(true);
    let at_once = opened(&files, &Options::new().with(Opt::SkipDamaged, 1).unwrap()).unwrap();
    let paged = plain(&files).unwrap();
    assert!(paged.layout().paged.is_some() && at_once.layout().paged.is_none());
    assert_eq!(
        (paged.chunks(), paged.nbytes(), paged.has_checksums()),
        (at_once.chunks(), all.len() as u64, true)
    );
    assert!(
        State::of(&paged).unwrap() == State::of(&at_once).unwrap()
            && State::of(&paged).unwrap().content() == all
    );
    let mut whole = vec![1; all.len()];
    assert!(!paged.read(0, &mut whole).unwrap() && whole == all);
    for i in [0, 17, 2047, 2048, 4999, 5099] {
        assert_eq!(paged.chunk_info(i).unwrap(), at_once.chunk_info(i).unwrap());
        assert_eq!(
            paged.with_raw(i, |b| Ok(b.to_vec())).unwrap(),
            at_once.with_raw(i, |b| Ok(b.to_vec())).unwrap()
        );
    }
    let e = paged.read_chunk(5100, &mut [0; 16]).unwrap_err();
    assert_eq!((e.status, e.position), (Status::Range, 5100));
    let copy = SimDisk::default();
    let to = Destination {
        folder: copy.folder(),
        name: NAME.into(),
        mode: Mode::New,
        options: Options::new(),
    };
    assert!(!paged.copy(to, false).unwrap());
    assert!(
        State::of(&reader(&copy.folder()).unwrap())
            .unwrap()
            .content()
            == all
    );
}

#[test]
fn few_chunks_and_frames_with_other_metalayers_are_read_at_once() {
    let disk = SimDisk::default();
    let mut w = LONG.create(&disk.folder(), Mode::New).unwrap();
    w.append(&content(9, 4096)).unwrap();
    w.commit().unwrap();
    assert!(reader(&disk.folder()).unwrap().layout().paged.is_none());
    w.append(&content(8, 1)).unwrap();
    w.commit().unwrap();
    assert!(reader(&disk.folder()).unwrap().layout().paged.is_some());
    w.vlmeta_set("vl", b"value").unwrap();
    w.commit().unwrap();
    let r = reader(&disk.folder()).unwrap();
    assert!(r.layout().paged.is_none() && r.meta("vl").unwrap() == Some(b"value"));
}

#[test]
fn little_memory_is_enough_for_many_chunks() {
    let (files, all) = made(true);
    let little = Options::new().with(Opt::MemoryLimit, 110 << 10).unwrap();
    let paged = opened(&files, &little).unwrap();
    let mut chunk = [0; 16];
    paged.read_chunk(4000, &mut chunk).unwrap();
    assert_eq!(chunk, all[64000..64016]);
    let at_once = opened(&files, &little.with(Opt::Verify, 2).unwrap())
        .err()
        .unwrap();
    assert_eq!(at_once.status, Status::Limit, "{at_once}");
}

#[test]
fn wrong_positions_are_detected_by_their_chunks() {
    let (files, all) = made(false);
    let changes: [(&str, Change); 5] = [
        ("another's", |s| s[3000] = s[7]),
        ("beyond the end", |s| {
            s[3000] = index::IndexSlot::At(1 << 40)
        }),
        ("amid a chunk", |s| s[3000] = index::IndexSlot::At(1)),
        ("nowhere", |s| s[3000] = index::IndexSlot::Zeros),
        ("without a meaning", |s| {
            s[3000] = index::IndexSlot::Unknown(0x9f << 56)
        }),
    ];
    for (what, change) in changes {
        let files = with_index(&files, change);
        let f = plain(&files).unwrap();
        assert!(f.layout().paged.is_some(), "{what}");
        let mut chunk = [0; 16];
        let e = f.read_chunk(3000, &mut chunk).unwrap_err();
        assert!(
            matches!(e.status, Status::Checksum | Status::Format) && e.position == 3000,
            "{what}: {e}"
        );
        assert!(e.message.contains("x.b2frame: chunk 3000"), "{what}: {e}");
        for i in [0, 2999, 3001, 5099] {
            f.read_chunk(i, &mut chunk).unwrap();
            assert_eq!(chunk, all[i as usize * 16..][..16], "{what}");
        }
        let mut reported = Vec::new();
        verify_all(&files, &mut reported);
        assert!(reported.contains(&3000), "{what}: {reported:?}");
    }
}

/// Collects the chunks that a verification reports.
fn verify_all(files: &Files, reported: &mut Vec<i64>) {
    let f = opened(files, &Options::new().with(Opt::SkipDamaged, 1).unwrap()).unwrap();
    f.verify(|e| {
        reported.push(e.position);
        true
    })
    .unwrap();
}

#[test]
fn bit_flips_in_index_and_checksums_are_never_silent() {
    for zeros in [false, true] {
        let (files, all) = made(zeros);
        let [index, trailer, end] = part_offsets(&files);
        let mut rng = Rng(3);
        let (mut at_open, mut at_chunk, mut same) = (0, 0, 0);
        for round in 0..150 {
            let at = match round % 3 {
                0 => index + rng.below(trailer - index),
                1 => trailer + rng.below(end - trailer),
                // chunk headers of both, and the seal
                _ => [
                    index + rng.below(48),
                    trailer + rng.below(90),
                    end - 1 - rng.below(23),
                ][rng.below(3)],
            };
            let mut files = files.clone();
            files.get_mut(OsStr::new(NAME)).unwrap()[at] ^= 1 << rng.below(8);
            let Ok(f) = plain(&files) else {
                at_open += 1;
                continue;
            };
            let (mut chunk, mut failed) = ([0; 16], false);
            for (i, content) in all.chunks(16).enumerate() {
                match f.read_chunk(i as u64, &mut chunk) {
                    Ok(zeroed) => assert!(!zeroed && chunk == content, "byte {at}, chunk {i}"),
                    Err(e) => {
                        assert_eq!(e.position, i as i64, "{e}");
                        failed = true;
                    }
                }
            }
            if failed { at_chunk += 1 } else { same += 1 }
        }
        assert!(
            at_open > 10 && at_chunk > 10 && same < 100,
            "{at_open} {at_chunk} {same}"
        );
    }
}

#[test]
fn a_concurrent_writer_does_not_affect_a_paged_reader() {
    let disk = SimDisk::with_files(&made(true).0);
    let (reader, all) = (reader(&disk.folder()).unwrap(), made(true).1);
    let mut w = LONG.append(&disk.folder()).unwrap();
    for i in 0..3 {
        w.append(&content(60 + i, 3)).unwrap();
        w.write(16 * 3000, &[9; 16]).unwrap();
        w.commit().unwrap();
    }
    assert!(reader.layout().paged.is_some() && State::of(&reader).unwrap().content() == all);
}

/// Appends to a long frame with many small commits, and returns the content after each.
fn commit_often(w: &mut Frame, all: &mut Vec<u8>, mut after: impl FnMut(&[u8])) {
    for i in 0..12 {
        // the last chunk is often partial, and replaced by the next commit
        let new = content(60 + i, 3);
        let n = 8 + 8 * (i as usize % 5);
        w.append(&new[..n]).unwrap();
        all.extend(&new[..n]);
        w.commit().unwrap();
        after(all);
    }
}

#[test]
fn a_paged_reader_continues_while_commits_write_to_a_pair_of_tails() {
    for zeros in [true, false] {
        let (files, mut all) = made(zeros);
        let disk = SimDisk::with_files(&files);
        let mut w = LONG.append(&disk.folder()).unwrap();
        let mut readers: Vec<(Frame, Vec<u8>)> = Vec::new();
        commit_often(&mut w, &mut all, |all| {
            let new = reader(&disk.folder()).unwrap();
            assert!(new.layout().paged.is_some());
            readers.push((new, all.to_vec()));
            for (i, (reader, all)) in readers.iter().enumerate() {
                // the last chunk first, without its page in memory
                let last = reader.chunks() - 1;
                let mut got = vec![0xee; reader.span(last).unwrap().count()];
                reader.read_chunk(last, &mut got).unwrap();
                assert!(got == all[all.len() - got.len()..], "{i}");
            }
        });
        drop(w);
        assert!(
            disk.contents()[OsStr::new(NAME)]
                .windows(8)
                .any(|b| b == b"holdpair")
        );
        for (reader, all) in &readers {
            assert!(State::of(reader).unwrap().content() == *all);
        }
    }
}

#[test]
fn a_pair_of_tails_has_the_parts_that_a_complete_commit_writes() {
    let (files, mut all) = made(true);
    let disk = SimDisk::with_files(&files);
    for _ in 0..3 {
        // each writer continues the pair of the one before
        let mut w = LONG.append(&disk.folder()).unwrap();
        let mut verify = 0;
        commit_often(&mut w, &mut all, |all| {
            verify = (verify + 1) % 3;
            let options = Options::new().with(Opt::Verify, verify).unwrap();
            let f = opened(&disk.contents(), &options).unwrap();
            assert!(State::of(&f).unwrap().content() == all);
        });
    }
    let bytes = &disk.contents()[OsStr::new(NAME)];
    let marks = bytes.windows(8).filter(|b| b == b"holdpair").count();
    assert!(marks % 4 == 0 && marks < 3 * 4 * 12, "{marks}");
}
