//! Tests of the contract: who may write, what is refused, which files are left, and how many bytes
//! are read.

use super::*;
use crate::blosc::Decoded;
use crate::io::Access;
use crate::io::sim::{self, Counting};
use crate::superchunk::chunks::{Chunks, Sink};
use crate::superchunk::frame::checksums::CHECKSUMS;
use std::ffi::OsString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A temporary folder that is removed after the test.
struct TempFolder(std::path::PathBuf);

impl TempFolder {
    fn new() -> TempFolder {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "holdall-frame-{}-{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        TempFolder(path)
    }

    fn frame(&self) -> OsString {
        self.0.join(NAME).into()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn create(temp: &TempFolder, form: Form, mode: Mode) -> Result<Frame> {
    let params = Params {
        blocksize: Some(form.block),
        ..Params::new(Target::Blosc2, form.codec, form.level, form.typesize)
    };
    let new = NewFrame {
        typesize: form.typesize,
        chunk_bytes: form.chunk,
        params,
        metalayers: &[],
        sparse: form.sparse,
    };
    Frame::create(&temp.frame(), mode, &new, &form.options())
}

fn open(temp: &TempFolder, mode: Mode) -> Result<Frame> {
    Frame::open(&temp.frame(), mode, &Options::new())
}

#[test]
fn a_folder_with_something_else_in_it_does_not_become_a_frame() {
    let (temp, form) = (
        TempFolder::new(),
        Form {
            sparse: true,
            ..PLAIN
        },
    );
    let folder = temp.0.join(NAME);
    std::fs::create_dir_all(folder.join("meta")).unwrap();
    for mode in [Mode::New, Mode::Replace] {
        let e = create(&temp, form, mode).err().unwrap();
        assert!(
            e.status == Status::Exists && e.message.contains("contains meta"),
            "{e}"
        );
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }
    // files of a writer that was killed before its first commit are accepted
    std::fs::remove_dir(folder.join("meta")).unwrap();
    std::fs::write(folder.join("00000000.chunk"), b"x").unwrap();
    create(&temp, form, Mode::New).unwrap().commit().unwrap();
}

#[test]
fn one_writer_at_a_time_and_no_leftover_files() {
    let forms = [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
    ];
    for (seed, form) in sim::seeds().flat_map(|seed| forms.map(|form| (seed, form))) {
        // a chunk of one repeated item may have no file of its own
        let mut kinds = 10 * seed..;
        let mut content = |len| {
            kinds
                .by_ref()
                .map(|k| bytes(k, len))
                .find(|b| b.iter().any(|x| *x != b[0]))
                .unwrap()
        };
        let temp = TempFolder::new();
        let mut w = create(&temp, form, Mode::New).unwrap();
        w.append(&content(5000)).unwrap();
        w.writer().unwrap().flush().unwrap();
        assert_eq!(
            open(&temp, Mode::Read).err().unwrap().status,
            Status::Missing
        );
        assert_eq!(
            create(&temp, form, Mode::New).err().unwrap().status,
            Status::Busy
        );
        drop(w);
        assert_eq!(temp.names(), Vec::<String>::new(), "{form:?}");
        let mut w = create(&temp, form, Mode::New).unwrap();
        w.append(&content(5000)).unwrap();
        w.commit().unwrap();
        assert_eq!(
            open(&temp, Mode::Append).err().unwrap().status,
            Status::Busy
        );
        drop(w);
        assert_eq!(
            create(&temp, form, Mode::New).err().unwrap().status,
            Status::Exists
        );
        // a folder does not replace a file, and a file does not replace a folder
        let before = temp.names();
        let e = create(
            &temp,
            Form {
                sparse: !form.sparse,
                ..form
            },
            Mode::Replace,
        )
        .err()
        .unwrap();
        assert!(
            e.status == Status::Exists
                && e.message.contains("remove it first")
                && temp.names() == before,
            "{form:?}: {e}"
        );
        let mut w = open(&temp, Mode::Append).unwrap();
        w.append(&content(5000)).unwrap();
        w.writer().unwrap().flush().unwrap();
        drop(w);
        let r = open(&temp, Mode::Read).unwrap();
        assert_eq!((r.nbytes(), temp.names()), (5000, vec![NAME.to_owned()]));
        let count = || {
            if form.sparse {
                std::fs::read_dir(temp.0.join(NAME)).unwrap().count()
            } else {
                0
            }
        };
        let files = count();
        let mut w = create(&temp, form, Mode::Replace).unwrap();
        w.append(&content(700)).unwrap();
        w.commit().unwrap();
        drop(w);
        assert!(count() < files || !form.sparse);
        assert_eq!(open(&temp, Mode::Read).unwrap().nbytes(), 700);
        match r.read(0, &mut [0; 100]) {
            Ok(_) => assert!(!form.sparse),
            Err(e) => assert_eq!(e.status, Status::State),
        }
    }
}

#[test]
fn another_writer_is_detected() {
    for form in [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
    ] {
        let disk = SimDisk::default();
        let mut one = form.create(&disk.folder(), Mode::New).unwrap();
        one.append(&bytes(4, 2000)).unwrap();
        one.commit().unwrap();
        // the simulated disk has no locks
        let mut two = form.append(&disk.folder()).unwrap();
        two.append(&bytes(4, 300)).unwrap();
        two.commit().unwrap();
        let late = one.append(&bytes(4, 900)).and_then(|()| one.commit());
        assert_eq!(late.unwrap_err().status, Status::State);
        drop(one);
        assert_eq!(reader(&disk.folder()).unwrap().nbytes(), 2300);
        assert!(
            reader(&disk.folder())
                .unwrap()
                .verify(|e| panic!("{e}"))
                .is_ok()
        );
    }
}

/// The reference library changes chunks in place, and writes a trailer without a seal. A commit of
/// this library after it seals the frame again.
#[test]
fn a_reader_detects_another_writer_before_the_last_commit() {
    // short indices are uncompressed
    for chunks in [2, 3, 5, 10] {
        let disk = SimDisk::default();
        let mut w = PLAIN.create(&disk.folder(), Mode::New).unwrap();
        w.append(&bytes(4, 600 * chunks)).unwrap();
        w.commit().unwrap();
        drop(w);
        let r = reader(&disk.folder()).unwrap();
        let mut got = vec![0; 600 * chunks];
        r.read(0, &mut got).unwrap();
        let file = disk.folder().open(OsStr::new(NAME), Access::Write).unwrap();
        let end = r.layout().header.frame_len;
        file.write_at(end - 16, &[0; 16]).unwrap();
        file.write_at(header::MARK_AT as u64, &[0]).unwrap();
        let mut w = PLAIN.append(&disk.folder()).unwrap();
        w.append(&bytes(4, 600)).unwrap();
        w.commit().unwrap();
        let e = r.read(0, &mut got).unwrap_err();
        assert_eq!(e.status, Status::State, "{chunks}: {e}");
    }
}

#[test]
fn invalid_calls_are_refused() {
    let disk = SimDisk::default();
    let mut w = PLAIN.create(&disk.folder(), Mode::New).unwrap();
    w.append(&bytes(4, 1500)).unwrap();
    w.commit().unwrap();
    let status = |r: Result<()>| r.unwrap_err().status;
    assert_eq!(status(w.write(1400, &[0; 101])), Status::Range);
    assert_eq!(
        status(w.read(u64::MAX, &mut [0; 2]).map(|_| ())),
        Status::Range
    );
    assert_eq!(status(w.insert(4, &[1])), Status::Range);
    assert_eq!(status(w.insert(0, &[])), Status::Argument);
    assert_eq!(status(w.remove(3)), Status::Range);
    assert_eq!(status(w.truncate(1501)), Status::Range);
    assert_eq!(status(w.append_raw(&[0; 40])), Status::Version);
    assert_eq!(status(w.meta_set(CHECKSUMS, &[])), Status::Argument);
    assert_eq!(status(w.meta_remove("fixed")), Status::Unsupported);
    assert_eq!(status(w.meta_remove("none")), Status::Missing);
    assert_eq!(status(w.vlmeta_set("fixed", &[])), Status::Argument);
    assert_eq!(status(w.fixed_set(CHECKSUMS, &[])), Status::Argument);
    assert_eq!(status(w.fixed_set("b2o", &[1])), Status::Unsupported);
    w.vlmeta_set("late", &[1]).unwrap();
    assert_eq!(status(w.fixed_set("late", &[1])), Status::Argument);
    w.meta_remove("late").unwrap();
    assert_eq!(status(w.rearrange(1, &|_| Some(0))), Status::State);
    assert_eq!(w.meta_names().collect::<Vec<_>>(), ["fixed"]);
    let mut r = reader(&disk.folder()).unwrap();
    assert_eq!(status(r.append(&[1])), Status::State);
    assert_eq!(status(r.commit()), Status::State);
    let few = Options::new().with(Opt::MemoryLimit, 100).unwrap();
    let limited = Frame::open_in(&disk.folder(), OsStr::new(NAME), Mode::Read, &few)
        .and_then(|f| f.read(0, &mut [0; 600]).map(|_| ()));
    assert_eq!(status(limited), Status::Limit);
}

struct Nowhere;

impl Sink for Nowhere {
    fn destination(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }
    fn put(&mut self, _: usize, _: &Decoded) -> Result<()> {
        Ok(())
    }
}

#[test]
fn no_more_is_read_than_requested() {
    let form = Form {
        chunk: 400_000,
        block: 40_000,
        ..PLAIN
    };
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    let content: Vec<u8> = (0..1_000_000u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 12).to_le_bytes())
        .collect();
    w.append(&content).unwrap();
    w.commit().unwrap();
    let (calls, sizes) = (
        Arc::new(Mutex::new(Vec::new())),
        |c: &Arc<Mutex<Vec<usize>>>| std::mem::take(&mut *c.lock().unwrap()),
    );
    let folder: Arc<dyn Folder> = Arc::new(Counting(disk.folder(), calls.clone()));
    for verify in [0, 1] {
        let options = Options::new()
            .with(Opt::Threads, 1)
            .unwrap()
            .with(Opt::Verify, verify)
            .unwrap();
        let r = Frame::open_in(&folder, OsStr::new(NAME), Mode::Read, &options).unwrap();
        // header, trailer length, index and trailer, and the header again
        assert!(sizes(&calls).iter().sum::<usize>() < 3000);
        // the first read of a chunk: up to the block, or the table with the checksums, and the block
        r.read_blocks(2, &[3], &mut Nowhere).unwrap();
        let first = sizes(&calls);
        assert_eq!(first.len(), if verify == 1 { 2 } else { 1 });
        assert!(
            verify == 0 || first.iter().sum::<usize>() < 50_000,
            "{first:?}"
        );
        r.read_blocks(2, &[4], &mut Nowhere).unwrap();
        let one = sizes(&calls);
        assert!(one.len() == 1 && one[0] < 50_000, "{one:?}");
        // adjacent blocks are read together, but not the complete chunk
        r.read_blocks(2, &[5, 6, 7], &mut Nowhere).unwrap();
        assert_eq!(sizes(&calls).len(), 1);
        r.read_blocks(2, &[0, 9], &mut Nowhere).unwrap();
        assert_eq!(sizes(&calls).len(), 2);
        // adjacent items: the block is decoded once
        let mut item = [0; 4];
        for i in 0..100 {
            r.read_part(2, 8, i * 4, &mut item).unwrap();
            assert_eq!(item, content[2 * 400_000 + 8 * 40_000 + i * 4..][..4]);
        }
        assert!(sizes(&calls).len() <= 2);
        let mut all = vec![0; content.len()];
        r.read(0, &mut all).unwrap();
        assert!(all == content);
        let total: usize = sizes(&calls).iter().sum();
        assert!(total < content.len() + content.len() / 50, "{total}");
    }
}

#[test]
fn a_read_call_for_each_block_is_enough() {
    // bytes of a chunk and of a block; the blocks of the last ones are too far apart to be read
    // together
    for (chunk, block, near) in [
        (6_000, 500, true),
        (48_000, 4_000, true),
        (400_000, 20_000, false),
        (4_000_000, 100_000, false),
    ] {
        for (sum, verify) in [(0, 1), (2, 0), (2, 1)] {
            let form = Form {
                chunk,
                block,
                sum,
                ..PLAIN
            };
            let disk = SimDisk::default();
            let mut w = form.create(&disk.folder(), Mode::New).unwrap();
            let content: Vec<u8> = (0..chunk as u32)
                .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 12).to_le_bytes())
                .collect();
            w.append(&content).unwrap();
            w.commit().unwrap();
            let calls = Arc::new(Mutex::new(Vec::new()));
            let folder: Arc<dyn Folder> = Arc::new(Counting(disk.folder(), calls.clone()));
            let options = Options::new()
                .with(Opt::Threads, 1)
                .unwrap()
                .with(Opt::Verify, verify)
                .unwrap();
            let (mut rng, mut most, mut more) = (Rng(5 + chunk as u64), 0, 0);
            for round in 0..(if chunk > 1_000_000 { 15 } else { 60 }) {
                let r = Frame::open_in(&folder, OsStr::new(NAME), Mode::Read, &options).unwrap();
                for again in 0..3 {
                    calls.lock().unwrap().clear();
                    let mut requested: Vec<usize> = (0..1 + rng.below(4))
                        .map(|_| rng.below(chunk / block))
                        .collect();
                    requested.sort_unstable();
                    requested.dedup();
                    match round % 3 {
                        0 => assert!(!r.read_blocks(2, &requested, &mut Nowhere).unwrap()),
                        1 => {
                            requested.truncate(1);
                            let (at, mut item) = (rng.below(block / 4) * 4, [0; 4]);
                            r.read_part(2, requested[0], at, &mut item).unwrap();
                            assert_eq!(item, content[2 * chunk + requested[0] * block + at..][..4]);
                        }
                        _ => {
                            let (at, n) = (
                                requested[0] * block,
                                (chunk - requested[0] * block).min(3 * block),
                            );
                            requested = (requested[0]..requested[0] + n / block).collect();
                            let mut got = vec![0xee; n];
                            r.read((2 * chunk + at) as u64, &mut got).unwrap();
                            assert!(got == content[2 * chunk + at..][..n]);
                        }
                    }
                    let sizes = calls.lock().unwrap().clone();
                    // the block table of a long chunk that was not read before, with the checksums
                    // of its blocks
                    let has_table = !near || (sum == 2 && verify == 1);
                    let first = usize::from(again == 0 && has_table);
                    assert!(
                        sizes.len() <= requested.len() + first,
                        "{chunk} {sum} {verify}, {round}.{again}: {sizes:?} for {requested:?}"
                    );
                    most = most.max(sizes.iter().copied().max().unwrap_or(0));
                    more += usize::from(sizes.len() > requested.len());
                }
            }
            println!(
                "chunks of {chunk}, {sum} {verify}: {more} with a call more, {most} bytes at most"
            );
            // the number of bytes is limited too
            assert!(most <= (256 << 10), "{most}");
        }
    }
}

/// A flip is an error for a read of its block, and other blocks stay readable. Whether the chunk
/// was written at once, or some of its blocks were copied from its predecessor.
#[test]
fn the_blocks_of_a_chunk_are_verified_one_by_one() {
    let form = Form {
        chunk: 400_000,
        block: 40_000,
        ..PLAIN
    };
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    let mut content: Vec<u8> = (0..100_000u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 12).to_le_bytes())
        .collect();
    w.append(&content).unwrap();
    w.commit().unwrap();
    for changes in 0..3 {
        if changes > 0 {
            content[70_000] ^= 255;
            let mut w = Frame::open_in(
                &disk.folder(),
                OsStr::new(NAME),
                Mode::Append,
                &form.options(),
            );
            w.as_mut()
                .unwrap()
                .write(70_000, &content[70_000..70_001])
                .unwrap();
            w.unwrap().commit().unwrap();
        }
        let read = |block: usize| {
            let folder = disk.folder();
            let r = Frame::open_in(&folder, OsStr::new(NAME), Mode::Read, &form.options()).unwrap();
            let mut got = vec![0; 40_000];
            r.read(block as u64 * 40_000, &mut got)
                .map(|_| assert!(got == content[block * 40_000..][..40_000]))
        };
        let file = disk.folder().open(OsStr::new(NAME), Access::Write).unwrap();
        let mut all = vec![0; file.size().unwrap() as usize];
        file.read_exact_at(0, &mut all).unwrap();
        // the last commit is at the end of the file
        let mark = all
            .windows(8)
            .rposition(|bytes| bytes == b"hldblock")
            .unwrap();
        let chunk = mark - 10 * 4 - 8 - 10 * 4 - 32;
        let cbytes: [u8; 4] = all[chunk + 12..chunk + 16].try_into().unwrap();
        let end = chunk + u32::from_le_bytes(cbytes) as usize;
        for (at, blocks) in [(end - 3, 9..10), (mark + 9, 0..1)] {
            file.write_at(at as u64, &[all[at] ^ 16]).unwrap();
            let failed: Vec<usize> = (0..10)
                .filter(|block| read(*block).is_err_and(|e| e.status == Status::Checksum))
                .collect();
            assert!(
                failed.len() == 1 && blocks.contains(&failed[0]),
                "{failed:?}, {blocks:?}"
            );
            file.write_at(at as u64, &all[at..=at]).unwrap();
        }
        // a flip in the checksums: only the complete chunk can be verified
        for at in [mark - 1, mark - 5, mark - 9, chunk + 20] {
            file.write_at(at as u64, &[all[at] ^ 1]).unwrap();
            assert!((0..10).all(|block| read(block).is_err_and(|e| e.status == Status::Checksum)));
            file.write_at(at as u64, &all[at..=at]).unwrap();
        }
        assert!((0..10).all(|block| read(block).is_ok()));
    }
}

#[test]
fn the_blocks_of_an_uncompressed_chunk_are_verified_one_by_one() {
    const BLOCK: usize = 40_000;
    for sparse in [false, true] {
        let form = Form {
            chunk: 10 * BLOCK,
            block: BLOCK,
            sum: 2,
            sparse,
            ..PLAIN
        };
        let disk = SimDisk::default();
        let mut rng = Rng(3);
        let content: Vec<u8> = std::iter::repeat_with(|| (rng.draw() >> 24) as u8)
            .take(20 * BLOCK)
            .collect();
        let mut w = form.create(&disk.folder(), Mode::New).unwrap();
        w.append(&content).unwrap();
        w.commit().unwrap();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let folder: Arc<dyn Folder> = Arc::new(Counting(disk.folder(), calls.clone()));
        let read = |folder: &Arc<dyn Folder>, block: usize| {
            let r = Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &form.options()).unwrap();
            calls.lock().unwrap().clear();
            let mut got = vec![0; BLOCK];
            r.read((block * BLOCK) as u64, &mut got)
                .map(|_| assert!(got == content[block * BLOCK..][..BLOCK]))
        };
        for block in 0..20 {
            read(&folder, block).unwrap();
            let n: usize = calls.lock().unwrap().iter().sum();
            // files of one chunk have no room for checksums
            assert_eq!(n < BLOCK + 1000, !sparse, "{n} bytes");
        }
        if sparse {
            continue;
        }
        let (name, all) = disk.contents().pop_first().unwrap();
        let failed = |at: usize| -> Vec<usize> {
            let mut bytes = all.clone();
            bytes[at] ^= 4;
            let folder = SimDisk::with_files(&[(name.clone(), bytes)].into()).folder();
            (0..20)
                .filter(|block| read(&folder, *block).is_err())
                .collect()
        };
        let mark = all
            .windows(8)
            .position(|bytes| bytes == b"hldblock")
            .unwrap();
        assert_eq!(failed(mark - 10 * 4 - 8 - 1), [9]);
        assert_eq!(failed(mark - 10 * 4 - 8 - 10 * BLOCK), [0]);
        // without checksums of blocks, which nothing else needs, the complete chunk is verified
        for at in [mark, mark - 1, mark - 5, mark - 9] {
            assert!(failed(at).is_empty());
        }
    }
}

#[test]
fn many_threads_read_while_one_writes() {
    for form in [
        PLAIN,
        Form {
            sparse: true,
            ..PLAIN
        },
    ] {
        let temp = TempFolder::new();
        let content = bytes(4, 20_000);
        let mut w = create(&temp, form, Mode::New).unwrap();
        w.append(&content).unwrap();
        w.commit().unwrap();
        let r = open(&temp, Mode::Read).unwrap();
        let (r, content) = (&r, &content);
        std::thread::scope(|scope| {
            for t in 0..4 {
                let temp = &temp;
                scope.spawn(move || {
                    let mut rng = Rng(77 + t);
                    for i in 0..300 {
                        let from = rng.below(content.len());
                        let mut got = vec![0xee; rng.below(content.len() - from)];
                        match r.read(from as u64, &mut got) {
                            Ok(_) => assert!(got == content[from..][..got.len()]),
                            Err(e) => assert!(form.sparse && e.status == Status::State, "{e}"),
                        }
                        if i % 10 == 0 {
                            // a new reader sees one complete commit: all bytes after the common
                            // prefix have the same value
                            let now = open(temp, Mode::Read).unwrap();
                            let mut got = vec![0xee; now.nbytes() as usize];
                            match now.read(0, &mut got) {
                                Ok(_) => assert!(
                                    got.starts_with(&content[..600])
                                        && got[20_000..]
                                            .iter()
                                            .all(|b| *b == (got.len() - 20_000) as u8)
                                ),
                                Err(e) => assert!(form.sparse && e.status == Status::State, "{e}"),
                            }
                        }
                    }
                });
            }
            for n in 1..60 {
                w.truncate(20_000).unwrap();
                w.append(&vec![n as u8; n]).unwrap();
                w.commit().unwrap();
            }
        });
    }
}
