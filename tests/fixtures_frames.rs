//! Frames that other programs wrote: their parts are read, say what the facts beside them say, and are written again
//! byte for byte.

mod common;

use common::fixtures;
use holdall::Status;
use holdall::superchunk::frame::{header::Header, index, seal, trailer::Trailer};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const LIMIT: u64 = 1 << 20;

/// The files that are frames, and whether they are in folders of chunks.
fn frames() -> Vec<(PathBuf, bool)> {
    let entries = ["b2nd", "caterva"].into_iter().flat_map(|f| fs::read_dir(fixtures().join(f)).unwrap());
    let paths = entries.map(|e| e.unwrap().path()).filter(|p| ["b2nd", "b2frame", "cat"].iter().any(|e| p.extension() == Some(e.as_ref())));
    paths.map(|p| if p.is_dir() { (p.join("chunks.b2frame"), true) } else { (p, false) }).collect()
}

/// The parts, all written again.
fn parts(bytes: &[u8], path: &Path) -> (Header, Trailer) {
    let (head, _) = bytes.split_at(Header::prefix_len(bytes).unwrap() as usize);
    let header = Header::parse(head).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!((header.len(), header.frame_len), (head.len() as u64, bytes.len() as u64));
    assert!(header.encode().unwrap() == head, "{}: {header:?}", path.display());
    let (_, last) = bytes.split_at(bytes.len() - Trailer::length(bytes).unwrap() as usize);
    let trailer = Trailer::parse(last).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(trailer.len(), last.len() as u64);
    assert!(trailer.encode().unwrap() == last, "{}: {trailer:?}", path.display());
    assert_eq!(header.has_vlmeta, !trailer.vlmeta.is_empty());
    assert_eq!(seal::check(head, &[], last), Ok(seal::Writer::Others));
    (header, trailer)
}

/// The index, if there are chunks, and whether another one of the same content is read again.
fn slots(header: &Header, bytes: &[u8]) -> Vec<index::Slot> {
    let place = header.index_place(Trailer::length(bytes).unwrap()).unwrap();
    let Some(place) = place else { return Vec::new() };
    let slots = index::decode(&bytes[place.start as usize..place.end as usize], header.chunks().unwrap(), LIMIT).unwrap();
    let again = index::encode(&slots).unwrap();
    assert_eq!(index::decode(&again, slots.len() as u64, LIMIT).unwrap(), slots);
    slots
}

#[test]
fn parts_are_read_and_written_again() {
    let mut seen = [0; 4];
    for (path, sparse) in frames() {
        let bytes = fs::read(&path).unwrap();
        let (header, trailer) = parts(&bytes, &path);
        assert_eq!(header.sparse, sparse);
        let facts = if sparse { path.parent().unwrap() } else { &path }.with_extension("json");
        let about: Value = fs::read(&facts).map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
        if header.version == 3 && header.nbytes > 0 {
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
                index::Slot::At(at) if sparse => assert!(path.with_file_name(format!("{at:08X}.chunk")).exists()),
                index::Slot::At(at) => assert!(*at < header.cbytes),
                index::Slot::Unknown(_) => panic!("{slot:?}"),
                _ => seen[1] += 1,
            }
        }
        seen[0] += 1;
        seen[2] += usize::from(!trailer.vlmeta.is_empty());
        assert!(header.params().is_ok() || ["k_nd", "k_zfp", "k_int"].iter().any(|k| path.to_string_lossy().contains(k)), "{}", path.display());
    }
    println!("{seen:?}");
    assert!(seen[0] >= 33 && seen[1] > 10 && seen[2] > 0 && seen[3] > 1, "{seen:?}");
}
