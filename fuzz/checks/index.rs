//! Any bytes as the index of a bag: no panic, no hang, no memory beyond the limit, and no row that
//! does not have the key. The first byte chooses how it is opened, and whether the header is
//! corrected to match the bag and the preceding bytes.
#[path = "files.rs"]
mod files;

use files::Files;
use holdall::bag::index::{Index, NO_RECORD};
use holdall::bag::{Bag, Mode, ShardPath, Writer};
use holdall::checksum::crc32;
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::io::memory::MemoryFolder;
use holdall::options::{Opt, Options};
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

const HEADER: usize = 160;
const BAG: &str = "x.bag";

/// The keys, a bag of them, and the first bytes of a valid index.
type Known = (Vec<Vec<u8>>, Bag, Vec<u8>);

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let keys: Vec<Vec<u8>> = (0..90u8)
            .map(|i| {
                if i % 3 == 0 {
                    b"often".to_vec()
                } else {
                    vec![i / 2; i as usize % 7]
                }
            })
            .collect();
        let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(Arc::new(Files::default())));
        let mut w = Writer::open_in(&folder, OsStr::new(BAG), Mode::New, &Options::new()).unwrap();
        keys.iter().for_each(|k| w.append(k).unwrap());
        w.commit().unwrap();
        let bag = Bag::open_in(&[ShardPath::new(folder.clone(), BAG)], &Options::new()).unwrap();
        drop(Index::create_in(&folder, OsStr::new("i"), Mode::New, &bag, &Options::new()).unwrap());
        let file = folder
            .open(OsStr::new("i"), holdall::io::Access::Read)
            .unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize];
        file.read_exact_at(0, &mut bytes).unwrap();
        (keys, bag, bytes)
    })
}

/// Corrects number of records, slice and state of the bag, length and checksum.
fn fitted(mut bytes: Vec<u8>, valid: &[u8]) -> Vec<u8> {
    if bytes.len() < HEADER {
        return bytes;
    }
    for range in [0..16, 24..32, 80..152] {
        bytes[range.clone()].copy_from_slice(&valid[range]);
    }
    let buckets = u64::from_le_bytes(bytes[48..56].try_into().unwrap());
    let body = (bytes.len() as u64 - HEADER as u64).wrapping_sub(buckets.wrapping_mul(8));
    bytes[56..64].copy_from_slice(&body.to_le_bytes());
    let sum = crc32(&bytes[..HEADER - 4]);
    bytes[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let (keys, bag, valid) = known();
    let bytes = if how & 1 == 0 {
        fitted(bytes.to_vec(), valid)
    } else {
        bytes.to_vec()
    };
    let mut o = Options::new();
    let _ = o.set(Opt::Verify, i64::from(how >> 1 & 3).min(2));
    let _ = o.set(Opt::Threads, 1);
    let folder: Arc<dyn Folder> = match how & 8 {
        0 => Arc::new(MemoryFolder::new(bytes)),
        _ => {
            let files = Files::default();
            files.0.lock().unwrap().insert("".into(), bytes);
            Arc::new(FunctionsFolder::new(Arc::new(files)))
        }
    };
    let Ok(index) = Index::open_in(&folder, OsStr::new(""), bag, &o) else {
        return;
    };
    let mut offsets = vec![0];
    for key in keys.iter().map(Vec::as_slice).chain([&b"a stranger"[..]]) {
        offsets.push(offsets[offsets.len() - 1] + key.len() as u64);
        let (first, all) = (index.first(key), index.find(key));
        if let Ok(rows) = &all {
            assert!(rows.is_sorted_by(|a, b| a < b));
            assert!(
                rows.iter()
                    .all(|&r| keys.get(r as usize).is_some_and(|k| k == key))
            );
            assert!(first.is_err() || first == Ok(rows.first().copied()));
        }
        assert!(first.is_ok() || all.is_err());
    }
    let mut rows = vec![0; offsets.len() - 1];
    let asked = [&keys.concat()[..], b"a stranger"].concat();
    if index.first_of_each(&asked, &offsets, &mut rows).is_ok() {
        for (row, key) in rows.iter().zip(keys) {
            assert!(*row == NO_RECORD || keys[*row as usize] == *key);
        }
    }
}
