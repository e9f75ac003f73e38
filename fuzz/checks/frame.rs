//! Any bytes as a c-blosc2 frame, in one file or in a folder. Header, index and trailer are encoded
//! again to the same bytes, and the seal detects every change. Then the complete frame is opened
//! for reading, verified, changed, repaired and committed. All ways of reading agree. Old content
//! and committed changes are readable afterwards, or an error. At last a frame that was committed
//! with checksums is corrupted: nothing is silently wrong.
//!
//! The first bytes choose the corrupted byte of the seal, the options, the operations, and the
//! length of the file; after it are the files with the chunks of a folder.
use holdall::blosc::Decoded;
use holdall::error::{Result, Status};
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::superchunk::chunks::{Chunks, Fill, Sink};
use holdall::superchunk::frame::header::Header;
use holdall::superchunk::frame::part_checksum::{self, Writer};
use holdall::superchunk::frame::{Frame, index, repair_in, trailer::Trailer};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

#[path = "files.rs"]
mod files;
#[path = "refused.rs"]
mod refused;
use files::Files;
use refused::refused;

const NAME: &str = "x";
const LIMIT: u64 = 1 << 18;
/// More content would only be slower.
const MOST: u64 = 1 << 14;

// ---- its parts

/// The header, and the bytes after it.
fn header(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let len = Header::prefix_len(bytes).inspect_err(refused).ok()? as usize;
    let (own, rest) = bytes.split_at_checked(len)?;
    let header = Header::parse(own).inspect_err(refused).ok()?;
    assert!(header.encode().unwrap() == own, "another header");
    let _ = header.params().inspect_err(refused);
    Some((header, own, rest))
}

/// The trailer, and the bytes before it.
fn trailer(bytes: &[u8]) -> Option<(Trailer, &[u8], &[u8])> {
    let len = Trailer::length(bytes).inspect_err(refused).ok()? as usize;
    let (before, own) = bytes.split_at_checked(bytes.len().checked_sub(len)?)?;
    let trailer = Trailer::parse(own).inspect_err(refused).ok()?;
    assert!(trailer.encode().unwrap() == own, "another trailer");
    Some((trailer, own, before))
}

/// The index of `chunks` chunks.
fn read_index(bytes: &[u8], chunks: u64) {
    let Ok(slots) = index::decode(bytes, chunks, LIMIT).inspect_err(refused) else {
        return;
    };
    assert_eq!(slots.len() as u64, chunks);
    let again = index::encode(&slots).unwrap();
    assert!(
        index::decode(&again, chunks, LIMIT) == Ok(slots),
        "another index"
    );
}

/// A byte of the parts is changed: the seal detects it.
fn sealed(mut header: Header, index: &[u8], mut trailer: Trailer, at: u8, bits: u8) {
    let Ok((mut head, mut tail)) = part_checksum::seal(&mut header, index, &mut trailer) else {
        return;
    };
    assert_eq!(
        part_checksum::check(&head, index, &tail),
        Ok(Writer::Holdall)
    );
    let from_end = tail.len() - 1 - usize::from(at).min(tail.len() - 1);
    tail[from_end] ^= bits;
    assert!(
        bits == 0 || part_checksum::check(&head, index, &tail) != Ok(Writer::Holdall),
        "a trailer that is damaged"
    );
    tail[from_end] ^= bits;
    let at = usize::from(at).min(head.len() - 1);
    head[at] ^= bits;
    assert!(
        bits == 0 || part_checksum::check(&head, index, &tail) != Ok(Writer::Holdall),
        "a header that is damaged"
    );
}

/// Header, index and trailer.
fn parts(bytes: &[u8], at: u8, bits: u8) {
    let (head, tail) = (header(bytes), trailer(bytes));
    if let Some((_, own, _)) = &tail {
        let _ = part_checksum::check(bytes, own, own);
    }
    let Some((header, head, after_header)) = head else {
        return;
    };
    if let Ok(chunks) = header.chunks() {
        // as if all bytes were the index, too
        for from in [0, usize::try_from(header.cbytes).unwrap_or(usize::MAX)] {
            read_index(after_header.get(from..).unwrap_or_default(), chunks);
        }
    }
    let Some((trailer, tail, _)) = tail else {
        return;
    };
    let Ok(index_range) = header.index_range(tail.len() as u32).inspect_err(refused) else {
        return;
    };
    let range = index_range.map_or(0..0, |p| {
        usize::try_from(p.start).unwrap_or(usize::MAX)..usize::try_from(p.end).unwrap_or(usize::MAX)
    });
    let index = bytes.get(range).unwrap_or_default();
    let _ = part_checksum::check(head, index, tail)
        .inspect_err(|e| assert_eq!(e.status, Status::Checksum));
    sealed(header, index, trailer, at, bits);
}

// ---- the complete frame

fn options(more: &[(Opt, i64)]) -> Options {
    [(Opt::Threads, 1), (Opt::MemoryLimit, LIMIT as i64)]
        .iter()
        .chain(more)
        .fold(Options::new(), |o, (opt, n)| o.with(*opt, *n).unwrap())
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    content: Vec<u8>,
    metas: BTreeMap<String, Vec<u8>>,
}

/// All of it, if it can be read and is intact.
fn state(frame: &Frame) -> Option<State> {
    let mut content = vec![
        1;
        usize::try_from(frame.nbytes())
            .ok()
            .filter(|n| *n as u64 <= MOST)?
    ];
    let intact = frame.read(0, &mut content) == Ok(false);
    let metas: Option<_> = frame
        .meta_names()
        .map(|name| Some((name.to_owned(), frame.meta(name).ok()??.to_vec())))
        .collect();
    Some(State {
        content,
        metas: metas?,
    })
    .filter(|_| intact)
}

fn seen(folder: &Arc<dyn Folder>) -> Option<State> {
    state(&Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &options(&[])).ok()?)
}

/// Blocks, each as often as it is delivered.
struct Blocks(Vec<(usize, Vec<u8>)>);

impl Sink for Blocks {
    fn destination(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }
    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        self.0
            .push((block, content.bytes(&mut Vec::new())?.to_vec()));
        Ok(())
    }
}

/// A chunk as arrays read it; `want` is its content, if known.
fn read_as_arrays_do(frame: &Frame, i: u64, want: Option<&[u8]>) {
    let (chunks, span): (&dyn Chunks, _) = (frame, frame.span(i).unwrap());
    let (n, size) = ((span.end - span.start) as usize, chunks.block_bytes());
    if n as u64 > MOST || size == 0 || n / size > 2000 {
        return;
    }
    let fill = chunks.fill(i);
    if let (Ok(Some(fill)), Some(want)) = (&fill, want) {
        let item: &[u8] = if let Fill::Item(item) = fill {
            item
        } else {
            &[0]
        };
        assert!(
            want.chunks(item.len()).all(|w| w == &item[..w.len()]),
            "chunk {i} is not filled with {item:?}"
        );
    }
    let requested: Vec<usize> = (0..n.div_ceil(size)).filter(|b| b % 3 != 1).collect();
    let mut blocks = Blocks(Vec::new());
    if let (Ok(false), Some(want)) = (chunks.read_blocks(i, &requested, &mut blocks), want) {
        blocks.0.sort_unstable();
        assert_eq!(blocks.0.iter().map(|b| b.0).collect::<Vec<_>>(), requested);
        for (b, content) in &blocks.0 {
            assert_eq!(
                content.len(),
                size.min(n - b * size),
                "the length of block {b} of chunk {i}"
            );
            assert!(
                want[b * size..][..content.len()] == content[..],
                "block {b} of chunk {i}"
            );
        }
    }
    for block in [0, (n - 1) / size] {
        let whole = size.min(n - block * size);
        let mut part = vec![7; whole.div_ceil(2)];
        if let (Ok(false), Some(want)) = (chunks.read_part(i, block, whole / 2, &mut part), want) {
            assert!(
                want[block * size + whole / 2..][..part.len()] == part,
                "a part of chunk {i}"
            );
        }
    }
}

/// Some blocks of a chunk, one by one; `want` is its content, if known.
fn read_blocks(frame: &Frame, i: u64, want: Option<&[u8]>) {
    let Ok(offsets) = frame.block_offsets(i).inspect_err(refused) else {
        return;
    };
    let blocks = offsets.len() - 1;
    for k in (0..blocks).step_by(blocks.div_ceil(8).max(1)) {
        let Ok(n) = frame.block_len(i, k).inspect_err(refused) else {
            continue;
        };
        assert_eq!(n, offsets[k + 1] - offsets[k], "block {k} of chunk {i}");
        let mut block = vec![1; n];
        let read = frame.read_block(i, k, &mut block).inspect_err(refused);
        if let (Ok(false), Some(want)) = (read, want) {
            assert!(want[offsets[k]..][..n] == block, "block {k} of chunk {i}");
        }
    }
}

/// What opening returns: chunks and metalayers, all within the limit.
fn open(folder: &Arc<dyn Folder>, how: u8) {
    let o = options(&[
        (Opt::SkipDamaged, i64::from(how & 1)),
        (Opt::Verify, i64::from(how >> 1 & 1)),
    ]);
    let Ok(frame) = Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &o).inspect_err(refused)
    else {
        return;
    };
    for name in frame.meta_names() {
        let _ = frame
            .meta(name)
            .inspect_err(refused)
            .map(|content| assert!(content.is_some(), "{name} is listed, and not there"));
    }
    assert_eq!(frame.meta("no such name"), Ok(None));
    let mut end = 0;
    for i in 0..frame.chunks().min(64) {
        let span = frame.span(i).unwrap();
        assert!(
            span.start == end && span.end <= frame.nbytes(),
            "chunk {i} is at {span:?}"
        );
        end = span.end;
    }
    let _ = (
        frame.cbytes(),
        frame.params().inspect_err(refused).is_ok(),
        frame.has_checksums(),
        frame.block_bytes(),
    );
}

/// Reads in all ways.
fn read(folder: &Arc<dyn Folder>, how: u8) {
    let o = options(&[
        (Opt::SkipDamaged, i64::from(how & 1)),
        (Opt::Verify, i64::from(how >> 1 & 1)),
    ]);
    let Ok(frame) = Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &o).inspect_err(refused)
    else {
        return;
    };
    let mut faults = 0;
    let verified = frame.verify(|_| {
        faults += 1;
        faults < 10
    });
    let whole = state(&frame).map(|s| s.content);
    let mut intact = true;
    for i in 0..frame.chunks().min(64) {
        let span = frame.span(i).unwrap();
        if span.end - span.start > MOST {
            return;
        }
        let mut chunk = vec![2; (span.end - span.start) as usize];
        let read = frame.read(span.start, &mut chunk);
        intact &= chunk.is_empty() || read == Ok(false);
        let want = whole
            .as_ref()
            .and_then(|w| w.get(span.start as usize..span.end as usize));
        if let (Ok(false), Some(want)) = (&read, want) {
            assert!(want == chunk, "chunk {i} differs");
            let mut middle = vec![3; want.len() / 3];
            assert_eq!(
                frame.read(span.start + middle.len() as u64, &mut middle),
                Ok(false)
            );
            assert!(
                want[middle.len()..][..middle.len()] == middle,
                "the middle of chunk {i} differs"
            );
        }
        if !chunk.is_empty() {
            read_as_arrays_do(&frame, i, want);
            read_blocks(&frame, i, want);
        }
    }
    let _ = (
        frame.cbytes(),
        frame.params().is_ok(),
        frame.has_checksums(),
        frame.block_bytes(),
    );
    assert!(
        whole.is_none() || intact,
        "it is intact, and its chunks are not"
    );
    if let (Ok(v), true) = (verified, how & 3 == 2) {
        let meta = frame.meta_names().all(|name| frame.meta(name).is_ok());
        let why = || frame.read(0, &mut vec![0; frame.nbytes() as usize]);
        assert!(
            v.corrupt > 0 || faults > 0 || frame.nbytes() > MOST || !meta || whole.is_some(),
            "verified, and not readable: {:?}",
            why()
        );
    }
}

/// Changes content and metadata, and the model in the same way.
fn change(w: &mut Frame, s: &mut State, what: u8, n: u8) -> Result<()> {
    let (at, n) = (usize::from(n) * s.content.len() / 256, usize::from(n) * 3);
    let new: Vec<u8> = (0..n).map(|i| (i * 7) as u8 & what).collect();
    match what % 8 {
        0 => w.append(&new).map(|()| s.content.extend(&new)),
        1 => w.truncate(at as u64).map(|()| s.content.truncate(at)),
        2 => {
            let new = &new[..n.min(s.content.len() - at)];
            w.write(at as u64, new)
                .map(|()| s.content[at..][..new.len()].copy_from_slice(new))
        }
        3 => w
            .insert(0, &new)
            .map(|()| s.content = [&new, &s.content[..]].concat()),
        4 => {
            let gone = w.span(0)?.end as usize;
            w.remove(0).map(|()| _ = s.content.drain(..gone))
        }
        5 => w
            .vlmeta_set("a name", &new)
            .map(|()| _ = s.metas.insert("a name".to_owned(), new)),
        6 => {
            let (a, b) = new.split_at(n / 3);
            w.insert_blocks(0, &[a, b])
                .map(|()| s.content = [&new, &s.content[..]].concat())
        }
        _ => {
            let name = w.meta_names().nth(n % 5).unwrap_or("b2nd").to_owned();
            w.meta_set(&name, &new)
                .map(|()| _ = s.metas.insert(name, new))
        }
    }
}

/// The file after the last commit, if it has checksums.
fn write(folder: &Arc<dyn Folder>, how: u8, what: u8, n: u8) -> Option<State> {
    let before = seen(folder);
    let mut o = vec![(Opt::Durability, 0), (Opt::Level, 1)];
    if how & 4 != 0 {
        o.push((Opt::Codec, [1, 2, 5, 6][usize::from(how >> 3 & 3)]));
    }
    if how & 32 != 0 {
        o.push((Opt::Checksum, i64::from(how >> 6 & 1) * 2));
    }
    let Ok(mut w) =
        Frame::open_in(folder, OsStr::new(NAME), Mode::Append, &options(&o)).inspect_err(refused)
    else {
        return None;
    };
    let mut model = state(&w)?;
    let mut stands = None;
    assert!(
        before.as_ref() == Some(&model),
        "the writer sees another state than the reader"
    );
    for step in 0..3u8 {
        if change(
            &mut w,
            &mut model,
            what.wrapping_add(step),
            n.wrapping_mul(step.wrapping_mul(77).wrapping_add(1)),
        )
        .is_err()
        {
            break;
        }
        assert!(
            state(&w).is_none_or(|s| s == model),
            "its own changes differ"
        );
        if step > 0 {
            let committed = w.commit();
            let after = seen(folder);
            match committed {
                Ok(()) => {
                    assert!(
                        after.as_ref() == Some(&model) || model.content.len() as u64 > MOST,
                        "not what was committed"
                    );
                    stands = after.filter(|_| w.has_checksums());
                }
                Err(_) if step == 1 => {
                    assert!(after == before, "a commit that failed changed something");
                    return None;
                }
                Err(_) => return None,
            }
        }
    }
    stands
}

/// Content that could be read can be read after a repair, and a second repair finds nothing.
fn repaired(folder: &Arc<dyn Folder>) {
    let before = seen(folder);
    let repair = || repair_in(folder, OsStr::new(NAME), &options(&[(Opt::Durability, 0)]));
    let done = repair().inspect_err(refused);
    let after = seen(folder);
    if before.is_some() {
        assert!(after == before, "repaired to something else: {done:?}");
    } else if done.is_ok() {
        assert!(
            repair().is_ok_and(|r| r.dropped == 0) && seen(folder) == after,
            "repaired twice"
        );
    }
}

/// A byte of any file is changed, or its end is truncated: nothing is silently wrong.
fn damage(files: &Files, folder: &Arc<dyn Folder>, is: &State, at: u8, bits: u8) {
    let mut names: Vec<_> = files.0.lock().unwrap().keys().cloned().collect();
    names.sort_unstable();
    for name in names {
        let intact = files
            .0
            .lock()
            .unwrap()
            .get(&name)
            .cloned()
            .unwrap_or_default();
        let positions = (0..8)
            .map(|k| (usize::from(at) * 8 + k) * intact.len() / (8 * 256))
            .chain([usize::from(at).min(intact.len().saturating_sub(1))]);
        for at_byte in positions.filter(|p| *p < intact.len()) {
            let mut hurt = intact.clone();
            if bits == 0 {
                hurt.truncate(at_byte)
            } else {
                hurt[at_byte] ^= bits
            }
            files.0.lock().unwrap().insert(name.clone(), hurt);
            let found = seen(folder);
            assert!(
                found.is_none() || found.as_ref() == Some(is),
                "silently wrong: {name:?}, byte {at_byte}"
            );
            let Ok(frame) = Frame::open_in(
                folder,
                OsStr::new(NAME),
                Mode::Read,
                &options(&[(Opt::SkipDamaged, 1)]),
            ) else {
                continue;
            };
            assert!(
                state(&frame).is_none_or(|s| s == *is),
                "not reported as corrupt: {name:?}, byte {at_byte}"
            );
            drop(frame);
            if at_byte % 4 == 0 {
                let all = files.0.lock().unwrap().clone();
                repaired(folder);
                *files.0.lock().unwrap() = all;
            }
        }
        files.0.lock().unwrap().insert(name, intact);
    }
}

/// The file, or the file and its chunks.
fn files_of(main: Vec<u8>, mut chunks: &[u8], sparse: bool) -> Files {
    let files = Files::default();
    let mut all = files.0.lock().unwrap();
    all.insert(if sparse { "x/chunks.b2frame" } else { NAME }.into(), main);
    for i in 0..16 {
        let Some((&[low, high], rest)) = chunks.split_first_chunk::<2>().filter(|_| sparse) else {
            break;
        };
        let (chunk, rest) =
            rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([low, high]))));
        all.insert(format!("x/{i:08X}.chunk").into(), chunk.to_vec());
        chunks = rest;
    }
    drop(all);
    files
}

/// Corrects the checksums, because no fuzzer would find them.
fn as_ours(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let (mut head, len) = header(&bytes).map(|(h, own, _)| (h, own.len()))?;
    let (mut tail, from) = trailer(&bytes).map(|(t, _, before)| (t, before.len()))?;
    let range = head
        .index_range((bytes.len() - from) as u32)
        .ok()?
        .map_or(0..0, |p| p.start as usize..p.end as usize);
    let stored = bytes.get(range)?;
    let stored = stored
        .get(..holdall::blosc::Header::parse(stored).map_or(0, |h| h.cbytes))?
        .to_vec();
    let (head, tail) = part_checksum::seal(&mut head, &stored, &mut tail).ok()?;
    bytes[..len].copy_from_slice(&head);
    bytes[from..].copy_from_slice(&tail);
    Some(bytes)
}

/// The checks of a frame, the fastest first.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Parts,
    Open,
    Read,
    Repair,
    Write,
}

/// All of them, or the one that HOLDALL_FUZZ_ONE names: their cost differs by a factor of up to a
/// thousand.
fn requested(part: Part) -> bool {
    static ONE: OnceLock<Option<Part>> = OnceLock::new();
    let one = ONE.get_or_init(|| {
        std::env::var("HOLDALL_FUZZ_ONE")
            .ok()
            .map(|name| match &name[..] {
                "parts" => Part::Parts,
                "open" => Part::Open,
                "read" => Part::Read,
                "repair" => Part::Repair,
                "write" => Part::Write,
                _ => {
                    panic!("HOLDALL_FUZZ_ONE={name}: it is one of parts, open, read, repair, write")
                }
            })
    });
    one.is_none_or(|one| one == part)
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[at, bits, how, what, n, low, high], rest)) = data.split_first_chunk::<7>() else {
        return;
    };
    let (main, chunks) =
        rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([low, high]))));
    if requested(Part::Parts) {
        parts(main, at, bits);
    }
    let main = Some(main.to_vec())
        .filter(|_| at & 1 == 0)
        .and_then(as_ours)
        .unwrap_or(main.to_vec());
    let files = Arc::new(files_of(main, chunks, how & 128 != 0));
    let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(files.clone()));
    if requested(Part::Open) {
        open(&folder, how);
    }
    if requested(Part::Read) {
        read(&folder, how);
    }
    if n & 1 == 0 && requested(Part::Repair) {
        let all = files.0.lock().unwrap().clone();
        repaired(&folder);
        *files.0.lock().unwrap() = all;
    }
    if requested(Part::Write)
        && let Some(stands) = write(&folder, how, what, n)
    {
        damage(&files, &folder, &stands, at, bits);
    }
}
