//! Any bytes as the files of a bag: records, limits, checksums, and a journal of an unfinished change,
//! opened for reading, repaired, and appended to. What opened before must still be there after.
use holdall::bag::{Bag, Mode, Place, Writer, repair_in};
use holdall::io::Folder;
use holdall::io::functions::{Answer, Functions, FunctionsFolder, Refusal};
use holdall::options::{Opt, Options};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

const ENOENT: Refusal = Refusal::Errno(2);

#[derive(Default)]
struct Files(Mutex<HashMap<OsString, Vec<u8>>>);

impl Files {
    fn with<T>(&self, name: &OsStr, f: impl FnOnce(&mut Vec<u8>) -> T) -> Answer<T> {
        self.0.lock().unwrap().get_mut(name).map(f).ok_or(ENOENT)
    }
}

impl Functions for Files {
    fn size(&self, name: &OsStr) -> Answer<u64> {
        self.with(name, |f| f.len() as u64)
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> Answer<u64> {
        self.with(name, |f| {
            let rest = usize::try_from(at).ok().and_then(|at| f.get(at..)).unwrap_or(&[]);
            let n = rest.len().min(dst.len());
            dst[..n].copy_from_slice(&rest[..n]);
            n as u64
        })
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> Answer<()> {
        // a file system has an end, too
        if at > 1 << 24 {
            return Err(Refusal::Errno(27));
        }
        self.with(name, |f| {
            f.resize(f.len().max(at as usize + src.len()), 0);
            f[at as usize..][..src.len()].copy_from_slice(src);
        })
    }
    fn truncate(&self, name: &OsStr, size: u64) -> Answer<()> {
        if size > 1 << 24 {
            return Err(Refusal::Errno(27));
        }
        self.0.lock().unwrap().entry(name.into()).or_default().resize(size as usize, 0);
        Ok(())
    }
    fn sync(&self, _: &OsStr) -> Answer<()> {
        Ok(())
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Answer<()> {
        let mut files = self.0.lock().unwrap();
        let f = files.remove(from).ok_or(ENOENT)?;
        files.insert(to.into(), f);
        Ok(())
    }
    fn remove(&self, name: &OsStr) -> Answer<()> {
        self.0.lock().unwrap().remove(name).map(|_| ()).ok_or(ENOENT)
    }
}

fn all(folder: &Arc<dyn Folder>, o: &Options) -> Option<Vec<Vec<u8>>> {
    let mut o = o.clone();
    let _ = o.set(Opt::MemoryLimit, 1 << 20);
    let place = Place::new(folder.clone(), "x");
    let bag = Bag::open_in(&[place], &o).ok()?;
    Some(bag.read_range(0, bag.size()).ok()?.iter().map(<[u8]>::to_vec).collect())
}

/// Panics where something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[how, a, b, c], mut rest)) = data.split_first_chunk::<4>() else { return };
    let files = Files::default();
    for (name, len) in [("x", a), ("limits.x", b), ("checksums.x", c), ("x.holdall-journal", 255)] {
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
