//! Any bytes as the files of a bag: records, limits, checksums, and a journal of an unfinished
//! change, opened for reading, repaired, and appended to. Content that could be read before must be
//! readable afterwards.
use holdall::bag::{Bag, Mode, ShardPath, Writer, repair_in};
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::options::{Opt, Options};
use std::ffi::OsStr;
use std::sync::Arc;

#[path = "files.rs"]
mod files;
use files::Files;

fn all(folder: &Arc<dyn Folder>, o: &Options) -> Option<Vec<Vec<u8>>> {
    let mut o = o.clone();
    let _ = o.set(Opt::MemoryLimit, 1 << 20);
    let shard = ShardPath::new(folder.clone(), "x");
    let bag = Bag::open_in(&[shard], &o).ok()?;
    Some(
        bag.read_range(0, bag.size())
            .ok()?
            .iter()
            .map(<[u8]>::to_vec)
            .collect(),
    )
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[how, a, b, c], mut rest)) = data.split_first_chunk::<4>() else {
        return;
    };
    let files = Files::default();
    for (name, len) in [
        ("x", a),
        ("limits.x", b),
        ("checksums.x", c),
        ("x.holdall-journal", 255),
    ] {
        let (part, after) = rest.split_at(rest.len().min(len.into()));
        if !part.is_empty() || how & 8 != 0 {
            files.0.lock().unwrap().insert(name.into(), part.to_vec());
        }
        rest = after;
    }
    let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(Arc::new(files)));
    let mut o = Options::new();
    let _ = o.set(Opt::Codec, if how & 1 == 0 { 6 } else { 0 });
    let _ = o.set(Opt::BagLimits, i64::from(how >> 1 & 1));
    let before = all(&folder, &o);
    if how & 4 != 0 {
        let _ = repair_in(&folder, OsStr::new("x"), &o);
        if let Some(before) = &before {
            assert_eq!(all(&folder, &o).as_ref(), Some(before));
        }
    }
    if let Ok(mut w) = Writer::open_in(&folder, OsStr::new("x"), Mode::Append, &o) {
        let done = w.append(b"one more").and_then(|()| w.commit());
        drop(w);
        if let (Some(before), Ok(())) = (before, done) {
            let after = all(&folder, &o).unwrap();
            assert!(after.starts_with(&before) && after.last().unwrap() == b"one more");
        }
    }
}
