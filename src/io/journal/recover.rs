//! Hot journals: a journal found beside its container is validated before use, and recovered by a
//! writer.
#![forbid(unsafe_code)]

use super::entries::{Entry, HEAD, Index, SWAP, Saved, decode, head};
use super::fingerprint::{RangeEnds, check_same_file, check_swapped_files};
use super::{Container, PIECE};
use crate::alloc;
use crate::error::{Result, Status, fail};
use crate::io::{Access, File, Folder};
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use std::ffi::OsStr;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// Limits of the size of an index, without saved bytes. Most journals name a few files. Journals
/// that swap files in a folder, or belong to a set, may name many.
pub const INDEX_LIMIT: usize = 1 << 20;
pub const LARGE_INDEX_LIMIT: usize = 16 << 20;
/// Longer than a reader takes between reading a limit and querying the length, and longer than the
/// granularity of a file system's timestamps.
const UNDO_PAUSE: Duration = Duration::from_millis(if cfg!(any(test, fuzzing)) { 0 } else { 20 });
/// Pause between attempts to read a journal, which may be replaced meanwhile.
const LOAD_PAUSE: Duration = Duration::from_millis(if cfg!(fuzzing) { 0 } else { 1 });

/// A journal found beside its container.
pub struct HotJournal {
    pub file: Arc<dyn File>,
    pub nonce: u64,
    /// Whether it is the file that its writer created, not a copy. The files that it names are then
    /// the originals, too.
    pub is_original: bool,
    pub entries: Vec<Entry>,
}

/// Loads the journal of a container.
pub fn load(c: &Container) -> Result<Option<HotJournal>> {
    if c.folder.is_store() {
        return Ok(None); // objects are replaced atomically
    }
    // storage that identifies files by name only may switch to another journal during the read
    for _ in 0..3 {
        match load_once(c) {
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) if e.status == Status::Format => std::thread::sleep(LOAD_PAUSE),
            loaded => return loaded,
        }
    }
    load_once(c)
}

/// Loads the journal that applies to a container: its own or that of a set that contains it.
/// Retains the entries for this container only.
pub fn load_any(c: &Container) -> Result<Option<HotJournal>> {
    for of in journals(c) {
        if let Some(mut hot) = load(of)? {
            let is_below = |e: &mut Entry| ptr::eq(of, c) || e.enter(&c.below);
            hot.entries.retain_mut(|e| is_below(e) && c.has(e.target()));
            return Ok(Some(hot));
        }
    }
    Ok(None)
}

/// Returns the nonce of that journal.
pub fn journal_nonce(c: &Container) -> Result<Option<u64>> {
    for of in journals(c).filter(|of| !of.folder.is_store()) {
        let Some(file) = of.open_journal()? else {
            continue;
        };
        let mut bytes = [0; HEAD];
        match file.read_at(0, &mut bytes) {
            // storage that identifies files by name only
            Err(e) if e.status == Status::Missing => continue,
            r => _ = r?,
        }
        match head(&bytes) {
            Some((_, nonce)) => return Ok(Some(nonce)),
            // reports the error, or finds that the journal was replaced
            None => match load(of)? {
                Some(hot) => return Ok(Some(hot.nonce)),
                None => continue,
            },
        }
    }
    Ok(None)
}

fn journals(c: &Container) -> impl Iterator<Item = &Container> {
    std::iter::once(c).chain(&c.sets)
}

fn load_once(c: &Container) -> Result<Option<HotJournal>> {
    let Some(file) = c.open_journal()? else {
        return Ok(None);
    };
    let size = file.size()?;
    let mut first = [0; HEAD];
    file.read_at(0, &mut first)?;
    let swaps = head(&first).is_some_and(|(kind, _)| kind == SWAP);
    let limit = if swaps || c.members.is_some() {
        LARGE_INDEX_LIMIT
    } else {
        INDEX_LIMIT
    };
    let mut index = alloc::zeroed(usize::try_from(size).unwrap_or(limit).min(limit))?;
    let n = file.read_at(0, &mut index)?;
    index.truncate(n);
    let Some(Index {
        nonce,
        origin,
        entries,
    }) = decode(&index).filter(|index| is_valid(c, &index.entries, size))
    else {
        return Err(fail!(
            Format,
            "{}: this journal of an unfinished change is corrupt, so the container beside it may be partly changed",
            file.name()
        ));
    };
    check_owners(c, &entries)?;
    let is_original = origin != 0 && file.origin()? == origin;
    Ok(Some(HotJournal {
        file,
        nonce,
        is_original,
        entries,
    }))
}

/// Returns an error unless the owner of the journal may write each file that it names, and each new
/// file belongs to a user who may write the file that it replaces. The shards of a set may have
/// several owners. After the rename another user may create a file with the new name again.
fn check_owners(c: &Container, entries: &[Entry]) -> Result<()> {
    let journal = c.journal();
    let mut before = None;
    for e in entries {
        if before.replace(e.target()) == Some(e.target()) {
            continue;
        }
        c.folder.check_owner(&journal, e.target())?;
        if let Entry::Swap {
            name, to: Some(to), ..
        } = e
        {
            c.folder.check_owner(name, to)?;
        }
    }
    Ok(())
}

/// Returns whether the entries are valid: each names another file of the container or another range
/// of the same one, within its bounds.
fn is_valid(c: &Container, entries: &[Entry], journal: u64) -> bool {
    let mut names: Vec<&OsStr> = Vec::new();
    let mut before: Option<(&OsStr, Option<u64>, u64)> = None;
    let fits = entries.iter().all(|e| match e {
        Entry::Undo {
            name, size, saved, ..
        } => {
            let Some(end) = saved.at.checked_add(saved.len) else {
                return false;
            };
            let goes_on = before.is_some_and(|(n, ..)| n == name);
            let rises =
                before.is_none_or(|(_, s, last)| !goes_on || (s == *size && saved.at >= last));
            if !goes_on {
                names.push(name);
            }
            before = Some((name, *size, end));
            rises
                && c.has(name)
                && end <= size.unwrap_or(0)
                && saved
                    .from
                    .checked_add(saved.len)
                    .is_some_and(|end| end <= journal)
        }
        Entry::Swap {
            name, to: Some(to), ..
        } => {
            names.push(to);
            c.has_new(name) && c.has(to)
        }
        Entry::Swap { name, to: None, .. } => {
            names.push(name);
            c.has(name)
        }
    });
    names.sort_unstable();
    fits && names.windows(2).all(|w| matches!(w, [a, b] if a != b))
}

impl HotJournal {
    /// Calls `f` with the saved bytes of a range, in pieces, after their checksum was verified.
    pub fn replay(&self, s: &Saved, mut f: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let mut buf = alloc::zeroed(usize::try_from(s.len).unwrap_or(PIECE).min(PIECE))?;
        for check in [true, false] {
            let mut crc = crc32fast::Hasher::new();
            let mut done = 0;
            while done < s.len {
                let n = (s.len - done).min(PIECE as u64) as usize;
                let piece = buf.at_mut(..n)?;
                self.file
                    .read_exact_at(s.from.saturating_add(done), piece)?;
                if check {
                    crc.update(piece)
                } else {
                    f(s.at.saturating_add(done), piece)?
                }
                done += n as u64;
            }
            if check && crc.finalize() != s.crc {
                return Err(fail!(
                    Checksum,
                    "{}: the bytes saved for rolling back a change are corrupt",
                    self.file.name()
                ));
            }
        }
        Ok(())
    }

    /// Returns an error if the journal belongs to other files of these names. Runs before any of
    /// the files is changed.
    fn is_about(&self, c: &Container) -> Result<()> {
        let mut end = RangeEnds::default();
        for e in &self.entries {
            match e {
                Entry::Undo { name, saved, .. } => {
                    let from = end.before(name, saved);
                    if let Some(file) = open_if_there(c, name)? {
                        check_same_file(&*file, self, e, from)?;
                    }
                }
                Entry::Swap { .. } => check_swapped_files(&*c.folder, self, e)?,
            }
        }
        Ok(())
    }

    /// Rolls back an undo journal, or finishes the renames and removals of a swap journal.
    pub fn recover(&self, c: &Container) -> Result<()> {
        self.is_about(c)?;
        self.undo(c)?;
        self.finish_swap(&*c.folder)
    }

    fn undo(&self, c: &Container) -> Result<()> {
        let mut lengths = Vec::new();
        let mut shorter = false;
        for e in &self.entries {
            let Entry::Undo {
                name, size, saved, ..
            } = e
            else {
                continue;
            };
            let Some(size) = *size else {
                c.folder.remove_if_there(name)?;
                continue;
            };
            let Some(file) = open_if_there(c, name)? else {
                continue;
            };
            self.replay(saved, |at, piece| file.write_at(at, piece))?;
            shorter |= saved.len > 0 && file.size()? != size;
            if lengths.last().is_none_or(|(last, _)| *last != name) {
                lengths.push((name, size));
            }
        }
        if shorter {
            // A reader that has just read removed bytes must still find another length. A reader
            // that opens the file must find another modification time.
            std::thread::sleep(UNDO_PAUSE);
        }
        for (name, size) in lengths {
            if let Some(file) = open_if_there(c, name)? {
                file.set_size(size)?;
                file.sync()?;
            }
        }
        Ok(())
    }

    fn finish_swap(&self, folder: &dyn Folder) -> Result<()> {
        for e in &self.entries {
            match e {
                Entry::Swap {
                    name, to: Some(to), ..
                } if folder.exists(name)? => folder.rename(name, to)?,
                Entry::Swap { name, to: None, .. } => folder.remove_if_there(name)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Opens a file for writing. Returns `None` if it was removed since: there is nothing to restore.
fn open_if_there(c: &Container, name: &OsStr) -> Result<Option<Arc<dyn File>>> {
    let is_beside = if c.members.is_none() {
        name != c.main
    } else {
        let name = name.as_bytes();
        c.beside.iter().any(|p| name.starts_with(p.as_bytes()))
    };
    match c.folder.open(
        name,
        if is_beside {
            Access::WriteBeside
        } else {
            Access::Write
        },
    ) {
        Err(e) if e.status == Status::Missing => Ok(None),
        file => file.map(Some),
    }
}
