//! Frames that other programs wrote: their parts are read, agree with the facts beside them, and
//! are written again byte for byte.

mod common;

use common::fixtures;
use holdall::array::Array;
use holdall::blosc::Decoded;
use holdall::error::{Result, Status};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::superchunk::chunks::{Chunks, Sink};
use holdall::superchunk::frame::{
    self, Frame, header::Header, index, part_checksum, trailer::Trailer,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const LIMIT: u64 = 1 << 20;

/// The files that are frames, and whether they are in folders of chunks.
fn frames() -> Vec<(PathBuf, bool)> {
    let entries = ["b2nd", "caterva"]
        .into_iter()
        .flat_map(|f| fs::read_dir(fixtures().join(f)).unwrap());
    let paths = entries.map(|e| e.unwrap().path()).filter(|p| {
        ["b2nd", "b2frame", "cat"]
            .iter()
            .any(|e| p.extension() == Some(e.as_ref()))
    });
    paths
        .map(|p| {
            if p.is_dir() {
                (p.join("chunks.b2frame"), true)
            } else {
                (p, false)
            }
        })
        .collect()
}

/// The parts, all written again.
fn parts(bytes: &[u8], path: &Path) -> (Header, Trailer) {
    let (head, _) = bytes.split_at(Header::prefix_len(bytes).unwrap() as usize);
    let header = Header::parse(head).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(
        (header.len(), header.frame_len),
        (head.len() as u64, bytes.len() as u64)
    );
    assert!(
        header.encode().unwrap() == head,
        "{}: {header:?}",
        path.display()
    );
    let (_, last) = bytes.split_at(bytes.len() - Trailer::length(bytes).unwrap() as usize);
    let trailer = Trailer::parse(last).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(trailer.len(), last.len() as u64);
    assert!(
        trailer.encode().unwrap() == last,
        "{}: {trailer:?}",
        path.display()
    );
    assert_eq!(header.has_vlmeta, !trailer.vlmeta.is_empty());
    assert_eq!(
        part_checksum::check(head, &[], last),
        Ok(part_checksum::Writer::Other)
    );
    (header, trailer)
}

/// The index, if there are chunks, and whether another encoding of the same content is read, too.
fn slots(header: &Header, bytes: &[u8]) -> Vec<index::IndexSlot> {
    let range = header.index_range(Trailer::length(bytes).unwrap()).unwrap();
    let Some(range) = range else {
        return Vec::new();
    };
    let slots = index::decode(
        &bytes[range.start as usize..range.end as usize],
        header.chunks().unwrap(),
        LIMIT,
    )
    .unwrap();
    let again = index::encode(&slots).unwrap();
    assert_eq!(
        index::decode(&again, slots.len() as u64, LIMIT).unwrap(),
        slots
    );
    slots
}

#[test]
fn parts_are_read_and_written_again() {
    let mut seen = [0; 4];
    for (path, sparse) in frames() {
        let bytes = fs::read(&path).unwrap();
        let (header, trailer) = parts(&bytes, &path);
        assert_eq!(header.sparse, sparse);
        let facts = if sparse {
            path.parent().unwrap()
        } else {
            &path
        }
        .with_extension("json");
        let about: Value =
            fs::read(&facts).map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
        if header.variable_chunks && header.nbytes > 0 {
            assert_eq!(header.chunks().unwrap_err().status, Status::Unsupported);
            seen[3] += 1;
            continue;
        }
        let slots = slots(&header, &bytes);
        if let Some(n) = about["nchunks"].as_u64() {
            assert_eq!(slots.len() as u64, n, "{}", path.display());
        }
        for slot in &slots {
            match slot {
                index::IndexSlot::At(at) if sparse => {
                    assert!(path.with_file_name(format!("{at:08X}.chunk")).exists())
                }
                index::IndexSlot::At(at) => assert!(*at < header.cbytes),
                index::IndexSlot::Unknown(_) => panic!("{slot:?}"),
                _ => seen[1] += 1,
            }
        }
        seen[0] += 1;
        seen[2] += usize::from(!trailer.vlmeta.is_empty());
        assert!(
            header.params().is_ok()
                || ["k_nd", "k_zfp", "k_int"]
                    .iter()
                    .any(|k| path.to_string_lossy().contains(k)),
            "{}",
            path.display()
        );
    }
    println!("{seen:?}");
    assert!(
        seen[0] >= 33 && seen[1] > 10 && seen[2] > 0 && seen[3] > 1,
        "{seen:?}"
    );
}

/// Blocks of a chunk.
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

/// Every chunk as arrays read it: the same as its content.
fn blocks_are_content(frame: &Frame) {
    let (chunks, name): (&dyn Chunks, _) = (frame, frame.name());
    for i in 0..chunks.len() {
        let span = frame.span(i).unwrap();
        let mut want = vec![1; (span.end - span.start) as usize];
        assert_eq!(frame.read(span.start, &mut want), Ok(false), "{name}");
        let size = chunks.block_bytes();
        let requested: Vec<usize> = (0..want.len().div_ceil(size)).collect();
        let mut blocks = Blocks(Vec::new());
        assert_eq!(
            chunks.read_blocks(i, &requested, &mut blocks),
            Ok(false),
            "{name}: chunk {i}"
        );
        blocks.0.sort_unstable();
        let blocks: Vec<Vec<u8>> = blocks
            .0
            .into_iter()
            .zip(requested)
            .map(|((block, content), n)| (assert_eq!(block, n), content).1)
            .collect();
        assert!(
            blocks.iter().map(Vec::as_slice).eq(want.chunks(size)),
            "{name}: blocks of chunk {i}"
        );
        for at in [0, want.len() / 2, want.len() - 1] {
            let (block, from) = (at / size, at % size);
            let mut part = vec![2; 3.min(want.len().min((block + 1) * size) - at)];
            assert_eq!(
                chunks.read_part(i, block, from, &mut part),
                Ok(false),
                "{name}: chunk {i}"
            );
            assert_eq!(
                part,
                want[at..][..part.len()],
                "{name}: chunk {i} from {at}"
            );
        }
    }
}

#[test]
fn blocks_are_the_content_of_their_chunks() {
    let mut seen = 0;
    for (path, sparse) in frames() {
        let path = if sparse {
            path.parent().unwrap()
        } else {
            &path
        };
        let options = Options::new().with(Opt::Threads, 1).unwrap();
        let frame = match Frame::open(path.as_os_str(), Mode::Read, &options) {
            Err(e) if e.status == Status::Unsupported => continue,
            frame => frame.unwrap_or_else(|e| panic!("{e}")),
        };
        // codecs that holdall does not have
        if frame.header().variable_chunks || frame.params().is_err() {
            continue;
        }
        blocks_are_content(&frame);
        seen += 1;
    }
    println!("{seen} frames");
    assert!(seen >= 30, "{seen} frames");
}

#[test]
fn nothing_is_between_header_and_trailer_of_an_emptied_frame() {
    // the reference library then looks for metalayers directly after the header
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emptied-{}.b2nd", std::process::id()));
    fs::copy(common::own().join("b2nd/m_meta_vlmeta.b2nd"), &path).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let open = |mode| {
        Frame::open(path.as_os_str(), mode, &Options::new()).unwrap_or_else(|e| panic!("{e}"))
    };
    let metas = |f: &Frame| {
        f.meta_names()
            .map(|n| f.meta(n).unwrap().unwrap().to_vec())
            .collect::<Vec<_>>()
    };
    let (mut frame, content) = (open(Mode::Append), [7; 1000]);
    let before = metas(&frame);
    frame.truncate(0).unwrap();
    frame.commit().unwrap();
    let bytes = fs::read(&path).unwrap();
    let (header, trailer) = (frame.header().len(), Trailer::length(&bytes).unwrap());
    assert_eq!(bytes.len() as u64, header + u64::from(trailer));
    assert_eq!(
        (
            frame.header().cbytes,
            frame.nbytes(),
            metas(&open(Mode::Read))
        ),
        (0, 0, before.clone())
    );
    frame.append(&content).unwrap();
    frame.commit().unwrap();
    let (again, mut found) = (open(Mode::Read), [0; 1000]);
    assert_eq!(
        (again.read(0, &mut found), again.nbytes(), metas(&again)),
        (Ok(false), 1000, before)
    );
    assert_eq!(found, content);
    fs::remove_file(&path).unwrap();
}

#[test]
fn unsupported_features_are_not_reported_as_corrupt() {
    let known = [
        ("p_lazyexpr.b2nd", "b2o"),
        ("p_lazyudf.b2nd", "LazyArray"),
        ("p_proxy.b2nd", "proxy-source"),
        ("p_proxy.b2frame", "proxy-source"),
    ];
    for (name, message) in known {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("unsupported-{}-{name}", std::process::id()));
        let bytes = fs::read(common::own().join("b2nd").join(name)).unwrap();
        fs::write(&path, &bytes).unwrap();
        let (none, skipping) = (
            Options::new(),
            Options::new().with(Opt::SkipDamaged, 1).unwrap(),
        );
        let results = [
            Frame::open(path.as_os_str(), Mode::Read, &none).err(),
            Frame::open(path.as_os_str(), Mode::Read, &skipping).err(),
            Frame::open(path.as_os_str(), Mode::Append, &none).err(),
            Array::open(path.as_os_str(), Mode::Read, &none).err(),
            frame::repair(path.as_os_str(), &none).err(),
            holdall::verify::verify(path.as_os_str(), &none, &mut |_, e| {
                panic_unless_unsupported(name, e)
            })
            .err(),
        ];
        for e in results {
            let e = e.unwrap_or_else(|| panic!("{name}: no error"));
            assert!(
                e.status == Status::Unsupported && e.message.contains(message),
                "{name}: {:?} {e}",
                e.status
            );
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name} was changed");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn blocks_of_variable_length_are_read() {
    for name in ["vlblocks-lz4-fixed-3.0.0", "v_batcharray"] {
        let file = |end| common::own().join("b2nd").join(format!("{name}.{end}"));
        let expected = fs::read(file("expected.bin")).unwrap();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("variable-{}-{name}.b2frame", std::process::id()));
        let bytes = fs::read(file("b2frame")).unwrap();
        fs::write(&path, &bytes).unwrap();
        let none = Options::new();
        let open = |mode| Frame::open(path.as_os_str(), mode, &none);
        let frame = open(Mode::Read).unwrap();
        let mut found = vec![0; expected.len()];
        assert_eq!(frame.read(0, &mut found), Ok(false));
        assert_eq!(found, expected);
        for from in (0..expected.len()).step_by(7) {
            let n = (expected.len() - from).min(50);
            assert_eq!(frame.read(from as u64, &mut found[..n]), Ok(false));
            assert_eq!(found[..n], expected[from..from + n]);
        }
        let mut corrupt = 0;
        let counts = holdall::verify::verify(path.as_os_str(), &none, &mut |_, _| {
            corrupt += 1;
            true
        });
        assert_eq!((counts.unwrap()[1], corrupt), (0, 0));
        // without a change, a writer and a repair change nothing
        drop(open(Mode::Append).unwrap());
        frame::repair(path.as_os_str(), &none).unwrap();
        assert!(fs::read(&path).unwrap() == bytes, "{name} was changed");
        fs::remove_file(&path).unwrap();
    }
}

fn panic_unless_unsupported(name: &str, e: &holdall::error::Error) -> bool {
    assert_eq!(e.status, Status::Unsupported, "{name}: {e}");
    true
}

#[test]
fn a_frame_that_never_had_a_chunk_takes_content() {
    for (name, sparse) in [("e_empty.b2frame", false), ("e_empty_sparse.b2frame", true)] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("never-{}-{name}", std::process::id()));
        let from = common::own().join("b2nd").join(name);
        if sparse {
            fs::create_dir_all(&path).unwrap();
            fs::copy(from.join("chunks.b2frame"), path.join("chunks.b2frame")).unwrap();
        } else {
            fs::copy(from, &path).unwrap();
        }
        let open = |mode| {
            Frame::open(path.as_os_str(), mode, &Options::new()).unwrap_or_else(|e| panic!("{e}"))
        };
        let read = open(Mode::Read);
        assert_eq!(
            (read.nbytes(), read.chunks(), read.header().chunksize),
            (0, 0, 0)
        );
        let mut frame = open(Mode::Append);
        // a commit without chunks leaves the chunk length to the first chunk
        frame.vlmeta_set("note", b"\x05").unwrap();
        frame.commit().unwrap();
        assert_eq!(open(Mode::Read).header().chunksize, 0);
        frame.append(&[7; 1000]).unwrap();
        frame.commit().unwrap();
        let (again, mut found) = (open(Mode::Read), [0; 1000]);
        assert_eq!(
            (
                again.read(0, &mut found),
                again.nbytes(),
                again.header().chunksize
            ),
            (Ok(false), 1000, 1 << 20)
        );
        assert_eq!(found, [7; 1000]);
        drop((frame, again, read));
        if sparse {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
    }
}
