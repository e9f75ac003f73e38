//! Any bytes as a superchunk, possibly with a journal of an unfinished change beside it: opened for
//! reading, verified, repaired, changed and committed. All ways of reading agree. Old content and
//! committed changes are readable afterwards, or an error. The first bytes choose the options, the
//! operations, and the length of the file; after the file are the ranges that the journal saves.
use holdall::checksum::crc32;
use holdall::error::Status;
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::io::memory::MemoryFolder;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::{Bloscpack, Mode, repair_in};
use std::ffi::OsStr;
use std::sync::Arc;

#[path = "files.rs"]
mod files;
use files::Files;

const NAME: &str = "x";
/// More content would only be slower.
const MOST: u64 = 1 << 18;

fn options(more: &[(Opt, i64)]) -> Options {
    let mut o = Options::new();
    for (opt, value) in [(Opt::Threads, 1), (Opt::MemoryLimit, 1 << 18)]
        .iter()
        .chain(more)
    {
        o.set(*opt, *value).unwrap();
    }
    o
}

/// All content, if it can be read and is intact.
fn content(b: &Bloscpack) -> Option<Vec<u8>> {
    let mut all = vec![
        1;
        usize::try_from(b.nbytes())
            .ok()
            .filter(|n| *n as u64 <= MOST)?
    ];
    (b.read(0, &mut all) == Ok(false)).then_some(all)
}

type State = (Vec<u8>, Option<Vec<u8>>);

fn state(b: &Bloscpack) -> Option<State> {
    Some((content(b)?, b.meta().ok()?.map(<[u8]>::to_vec)))
}

fn seen(folder: &Arc<dyn Folder>) -> Option<State> {
    state(&Bloscpack::open_in(folder, OsStr::new(NAME), Mode::Read, &options(&[])).ok()?)
}

/// Reads in all ways.
fn read(bytes: &[u8], how: u8) {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes.to_vec()));
    let o = options(&[
        (Opt::SkipDamaged, i64::from(how & 1)),
        (Opt::Verify, i64::from(how >> 1 & 1)),
    ]);
    let Ok(b) = Bloscpack::open_in(&folder, OsStr::new(""), Mode::Read, &o) else {
        return;
    };
    let mut faults = 0;
    let verified = b.verify(|_| {
        faults += 1;
        faults < 10
    });
    let whole = content(&b);
    let (mut at, mut intact) = (0, true);
    for i in 0..b.chunks().min(64) as u64 {
        let n = b.chunk_nbytes(i).unwrap();
        if n as u64 > MOST {
            return;
        }
        let mut chunk = vec![2; n];
        let read = b.read_chunk(i, &mut chunk);
        // a chunk without requested bytes is not verified
        intact &= n == 0 || read == Ok(false);
        if let (Ok(false), Some(whole)) = (&read, &whole) {
            assert!(whole[at..at + n] == chunk, "chunk {i} differs");
            let mut middle = vec![3; n / 3];
            assert_eq!(b.read((at + n / 3) as u64, &mut middle), Ok(false));
            assert!(
                chunk[n / 3..][..n / 3] == middle,
                "the middle of chunk {i} differs"
            );
        }
        // a block of it may need more memory than the complete chunk
        assert!(read != Ok(false) || b.with_raw(i, |_| Ok(())).is_ok());
        at += n;
    }
    let _ = (b.meta(), b.chunk_info(0), b.cbytes());
    assert!(
        whole.is_none() || intact,
        "it is intact, and its chunks are not"
    );
    if let (Ok(v), true) = (verified, how & 3 == 2) {
        assert!(
            v.corrupt > 0 || faults > 0 || b.nbytes() > MOST || whole.is_some(),
            "verified, and not readable"
        );
    }
}

/// Changes content and metadata, and the vectors in the same way.
fn change(
    w: &mut Bloscpack,
    (content, meta): &mut State,
    (what, n): (u8, u8),
) -> Result<(), Status> {
    let (at, n) = (usize::from(n) * content.len() / 256, usize::from(n) * 3);
    let new: Vec<u8> = (0..n).map(|i| (i * 7) as u8 & what).collect();
    let done = match what % 7 {
        0 => w.append(&new).map(|()| content.extend(&new)),
        1 => w.truncate(at as u64).map(|()| content.truncate(at)),
        2 => {
            let new = &new[..n.min(content.len() - at)];
            w.write(at as u64, new)
                .map(|()| content[at..][..new.len()].copy_from_slice(new))
        }
        3 => w
            .insert(0, &new)
            .map(|()| *content = [&new, &content[..]].concat()),
        4 => {
            let gone = if w.chunks() > 0 {
                w.chunk_nbytes(0).map_err(|e| e.status)?
            } else {
                0
            };
            w.remove(0).map(|()| _ = content.drain(..gone))
        }
        5 => {
            let json = format!("[{}\"\"]", "\"abc\", ".repeat(n / 9)).into_bytes();
            w.meta_set(Some(&json)).map(|()| *meta = Some(json))
        }
        _ => w.meta_set(None).map(|()| *meta = None),
    };
    done.map_err(|e| e.status)
}

fn same((content, meta): &State, (other, other_meta): &State) -> bool {
    // the BLZ RFC layout fills room with spaces
    let trim = |m: &Option<Vec<u8>>| m.as_ref().map(|m| m.trim_ascii_end().to_vec());
    content == other && trim(meta) == trim(other_meta)
}

/// The journal of a change of the file `x`: of these ranges, eight bytes each, to these values. Its
/// checksums are right unless it is to be corrupt, because no fuzzer would find them.
fn journal(main: &[u8], ranges: &[u8]) -> Vec<u8> {
    let (ranges, saved) = (ranges.as_chunks::<8>().0, |n: usize, fill: u8| {
        (0..n).map(move |i| fill.wrapping_mul(i as u8))
    });
    // a later version stores more about the file
    let more_said = ranges.first().is_some_and(|r| r[5] & 2 != 0);
    let index = 36 + ranges.len() * 43 + 4 + if more_said { 8 + ranges.len() * 52 } else { 0 };
    let (mut b, mut tail) = (
        b"holdall journal\n\x01\0\0\0\x01\0\0\0 a nonce".to_vec(),
        Vec::new(),
    );
    if more_said {
        b[16] = 2;
        b.extend([0; 8]);
    }
    b.extend((ranges.len() as u32).to_le_bytes());
    let mut end = 0;
    for &[a0, a1, len, more, shift, keep, fill, wrong] in ranges {
        let at = if wrong & 2 == 0 {
            usize::from(u16::from_le_bytes([a0, a1]))
        } else {
            end + usize::from(a0)
        };
        let size = (main.len() + usize::from(more)).saturating_sub(usize::from(shift)) as u64;
        // as it is now, or a state that never existed
        let old = main
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take(len.into())
            .copied();
        let bytes: Vec<u8> = if keep & 1 == 0 {
            old.collect()
        } else {
            saved(len.into(), fill).collect()
        };
        let before = if bytes.is_empty() { size as usize } else { at };
        let witness = main
            .get(end.min(before).max(before.saturating_sub(4096))..before)
            .unwrap_or_default();
        let name: &[u8] = if wrong & 4 == 0 { b"x" } else { b"y" };
        b.extend(1u16.to_le_bytes());
        b.extend(name);
        b.extend((if wrong == 0x7f { u64::MAX } else { size }).to_le_bytes());
        b.extend((crc32(witness) ^ u32::from(wrong & 1)).to_le_bytes());
        for v in [at, bytes.len(), index + tail.len()] {
            b.extend((v as u64).to_le_bytes());
        }
        b.extend((crc32(&bytes) ^ u32::from(wrong == 0x5a)).to_le_bytes());
        end = at + bytes.len();
        tail.extend(bytes);
        if more_said {
            // origin, lengths, no bytes after the last range; then the bytes to be written
            let least = if wrong & 16 == 0 { 0 } else { size };
            for v in [
                0,
                least,
                if wrong & 32 == 0 { u64::MAX } else { size },
                size,
            ] {
                b.extend(v.to_le_bytes());
            }
            b.extend([0, 0, 0, 0, 1, 0]);
            b.extend((at as u64).to_le_bytes());
            b.extend(4u16.to_le_bytes());
            b.extend((0..4).map(|i| {
                main.get(at + i).copied().unwrap_or(0) ^ if wrong & 8 == 0 { 0 } else { fill }
            }));
        }
    }
    b.extend(crc32(&b).to_le_bytes());
    b.extend(tail);
    b
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[how, what, n, low, high], rest)) = data.split_first_chunk::<5>() else {
        return;
    };
    let (main, ranges) =
        rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([low, high]))));
    read(main, how);
    let files = Arc::new(Files::default());
    files.0.lock().unwrap().insert(NAME.into(), main.to_vec());
    if ranges.len() >= 8 {
        files.0.lock().unwrap().insert(
            "x.holdall-journal".into(),
            journal(main, &ranges[..ranges.len().min(160)]),
        );
    }
    let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(files));
    let before = seen(&folder);
    if how & 4 != 0 {
        let done = repair_in(&folder, OsStr::new(NAME), &options(&[]));
        let after = seen(&folder);
        if let Some(before) = &before {
            assert!(
                after.is_some_and(|a| same(before, &a)),
                "a repair changed intact content: {done:?}"
            );
        }
    }
    let before = seen(&folder);
    let o = options(&[
        (Opt::Codec, [0, 2, 5, 6][usize::from(how >> 3 & 3)]),
        (Opt::Level, 1),
        (Opt::SpareBytes, i64::from(how >> 5) * 9),
    ]);
    let Ok(mut w) = Bloscpack::open_in(&folder, OsStr::new(NAME), Mode::Append, &o) else {
        return;
    };
    let opened = state(&w);
    if let Some(before) = &before {
        assert!(
            opened.as_ref().is_some_and(|o| same(before, o)),
            "the writer sees another state than the reader"
        );
    }
    let Some(mut model) = opened else { return };
    for step in 0..3 {
        let next = (
            what.wrapping_add(step),
            n.wrapping_mul(step.wrapping_mul(77).wrapping_add(1)),
        );
        if change(&mut w, &mut model, next).is_err() {
            break;
        }
        assert!(
            state(&w).is_none_or(|s| same(&s, &model)),
            "its own changes differ"
        );
        if step > 0 {
            let committed = w.commit();
            let after = seen(&folder);
            match committed {
                Ok(()) => assert!(
                    after.is_some_and(|a| same(&a, &model)),
                    "not what was committed"
                ),
                Err(_) if step == 1 => {
                    assert!(
                        before.is_none_or(|b| after.is_some_and(|a| same(&a, &b))),
                        "a commit that failed changed something"
                    );
                    return;
                }
                Err(_) => return,
            }
        }
    }
}
