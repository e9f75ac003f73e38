//! Writers: changes in place that can be rolled back, and atomic replacement of files.
#![forbid(unsafe_code)]

use super::entries::{
    DuringChange, Entry, SWAP, Sample, Saved, SwapFingerprints, UNDO, encode, nonce,
};
use super::fingerprint::{crc_before, fingerprint};
use super::recover::{INDEX_LIMIT, LARGE_INDEX_LIMIT, load};
use super::{Container, MAX_ENTRIES, NEW, PART, PIECE};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::lock::Lock;
use crate::io::{File, beside, parent};
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

/// Time to wait until another writer has recovered a set, and, without a journal, until it has
/// released its lock.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_TIMEOUT: Duration = Duration::from_millis(20);

/// Recovers the container: rolls back or finishes the change of an interrupted writer. Must be
/// called under the lock, before any other access to the container.
pub fn recover(c: &Container, durable: bool) -> Result<()> {
    if c.folder.is_store() {
        return Ok(());
    }
    let name = c.journal();
    c.folder.remove_if_there(&beside("", &name, "-new"))?;
    if let Some(hot) = load(c)? {
        hot.recover(c)?;
        c.sync_below(durable, &hot.entries)?;
        c.sync(durable)?;
        c.folder.remove(&name)?;
        c.sync(durable)?;
    }
    Ok(())
}

/// Calls [`recover`], then removes leftover temporary files.
pub fn recover_and_clean(c: &Container, durable: bool) -> Result<()> {
    recover(c, durable)?;
    let prefixes = if c.folder.is_store() { &[] } else { c.prefixes };
    prefixes
        .iter()
        .try_for_each(|p| c.folder.remove_if_there(&c.new_name(p)))
}

/// Removes the new files of an interrupted writer that were not committed.
pub fn remove_uncommitted(c: &Container) -> Result<()> {
    for name in c.folder.files()? {
        let bytes = name.as_bytes();
        let mut ends = [NEW, PART].into_iter();
        let stem = ends.find_map(|end| bytes.strip_suffix(end.as_bytes()));
        if stem.is_some_and(|stem| c.has(OsStr::from_bytes(stem))) {
            c.folder.remove_if_there(&name)?;
        }
    }
    Ok(())
}

/// Takes shared locks of the sets that the container may be a member of. Recovers a set whose
/// writer was interrupted, because it contains the files of this container. Must be called before
/// any other access to the container.
pub fn lock_sets(c: &Container, locks: bool, durable: bool) -> Result<Vec<Lock>> {
    let sets = c.sets.iter().filter(|set| !set.folder.is_store());
    sets.map(|set| lock_set(set, locks, durable)).collect()
}

fn lock_set(set: &Container, locks: bool, durable: bool) -> Result<Lock> {
    let began = Instant::now();
    let has_journal = || set.has_journal();
    loop {
        let tried = match if locks {
            set.folder.lock_shared(&set.lock_name())
        } else {
            Ok(Lock::none())
        } {
            Ok(part) if !has_journal()? => return Ok(part),
            Ok(part) => {
                drop(part);
                set.lock(locks).and_then(|_all| recover(set, durable))
            }
            Err(e) => Err(e),
        };
        match tried {
            Ok(()) => {}
            Err(e)
                if e.status == Status::Busy
                    && began.elapsed()
                        < if has_journal()? {
                            RECOVERY_TIMEOUT
                        } else {
                            LOCK_TIMEOUT
                        } =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(e) => return Err(e),
        }
    }
}

fn publish(
    c: &Container,
    durable: bool,
    write: impl FnOnce(&dyn File) -> Result<()>,
) -> Result<()> {
    let name = c.journal();
    let new = beside("", &name, "-new");
    let file = c.create(&new)?;
    let done = write(&*file)
        .and_then(|()| if durable { file.sync() } else { Ok(()) })
        .and_then(|()| c.folder.rename(&new, &name));
    if let Err(e) = done {
        let _ = c.folder.remove_if_there(&new);
        return Err(e);
    }
    c.sync(durable)
}

/// A file to be changed in place.
pub struct Change<'a> {
    /// Name of the file.
    pub name: OsString,
    /// The file, if it exists.
    pub file: Option<&'a dyn File>,
    /// Ranges of committed bytes that will be overwritten, ascending and without overlap, at most
    /// [`MAX_RANGES`]. Outside of them only the length changes.
    pub overwritten: Vec<std::ops::Range<u64>>,
    /// Lengths that the file may have during the change, besides the current one.
    pub lengths: std::ops::RangeInclusive<u64>,
    /// Samples of the bytes that will be written, in these ranges or after the end, ascending, at
    /// most [`SAMPLE_BYTES`](super::SAMPLE_BYTES) bytes each. They distinguish the file from a
    /// newer copy under its name.
    pub samples: Vec<Sample>,
}

/// A change in progress. Dropping it without [`Undo::commit`] leaves the journal for the next
/// writer.
pub struct Undo {
    container: Container,
    durable: bool,
    /// Whether the change creates files. Their names must be durable before the journal is removed.
    creates: bool,
}

impl Undo {
    /// Saves the bytes that will be changed. The caller must not change anything before this
    /// returns.
    pub fn begin(c: &Container, durable: bool, changes: &[Change<'_>]) -> Result<Undo> {
        let mut entries = Vec::new();
        let mut files = Vec::new();
        for change in changes {
            let of_it = change.entries()?;
            files.extend(of_it.iter().map(|_| change.file));
            entries.extend(of_it);
        }
        if entries.len() > MAX_ENTRIES && c.members.is_none() {
            return Err(fail!(
                Limit,
                "too many ranges in one commit (expected at most {MAX_ENTRIES}, found {}); change fewer",
                entries.len()
            ));
        }
        // the index has its final length before the offsets and checksums in it are known
        let nonce = nonce();
        let index = encode(UNDO, nonce, 0, &entries).len();
        if index
            > if c.members.is_some() {
                LARGE_INDEX_LIMIT
            } else {
                INDEX_LIMIT
            }
        {
            return Err(fail!(
                Limit,
                "the journal of a commit of {} files is too large; change fewer files per commit",
                changes.len()
            ));
        }
        publish(c, durable, |journal| {
            let mut end = index as u64;
            for (file, e) in files.iter().zip(&mut entries) {
                let Entry::Undo { saved, .. } = e else {
                    continue;
                };
                saved.from = end;
                saved.crc = copy(*file, saved, journal, end)?;
                end = end.saturating_add(saved.len);
            }
            journal.write_at(0, &encode(UNDO, nonce, journal.origin()?, &entries))
        })?;
        Ok(Undo {
            container: c.clone(),
            durable,
            creates: changes.iter().any(|change| change.file.is_none()),
        })
    }

    /// Commits the change. The changed files must have been synced.
    pub fn commit(self) -> Result<()> {
        if self.creates {
            self.container.sync(self.durable)?;
        }
        self.container.folder.remove(&self.container.journal())?;
        self.container.sync(self.durable)
    }

    /// Rolls the change back.
    pub fn rollback(self) -> Result<()> {
        recover(&self.container, self.durable)
    }
}

impl<'a> Change<'a> {
    fn entries(&self) -> Result<Vec<Entry>> {
        let size = self.file.map(|f| f.size()).transpose()?;
        let have = size.unwrap_or(0);
        let (mut out, mut end) = (Vec::new(), 0);
        let mut samples = &self.samples[..];
        for range in self
            .overwritten
            .iter()
            .filter(|r| r.start < r.end.min(have))
        {
            let saved = Saved {
                at: range.start,
                len: range.end.min(have) - range.start,
                from: 0,
                crc: 0,
            };
            let (its, after) =
                samples.split_at(samples.partition_point(|p| p.at < saved.at + saved.len));
            out.push(self.entry(size, end, saved.at, saved.clone(), its)?);
            (end, samples) = (saved.at + saved.len, after);
        }
        match out.last_mut() {
            // the entry of the last range also describes the bytes after it
            Some(Entry::Undo {
                during: Some(m), ..
            }) => {
                m.samples.extend_from_slice(samples);
                m.after = end;
                m.after_crc = self.file.map_or(Ok(0), |f| crc_before(f, end, have))?;
            }
            _ => out.push(self.entry(
                size,
                0,
                have,
                Saved {
                    at: have,
                    len: 0,
                    from: 0,
                    crc: 0,
                },
                samples,
            )?),
        }
        Ok(out)
    }

    fn entry(
        &self,
        size: Option<u64>,
        from: u64,
        before: u64,
        saved: Saved,
        samples: &[Sample],
    ) -> Result<Entry> {
        let preceding_crc = self.file.map_or(Ok(0), |f| crc_before(f, from, before))?;
        let origin = self.file.map_or(Ok(0), |f| f.origin())?;
        let had = size.unwrap_or(0);
        let during = DuringChange {
            origin,
            min_size: *self.lengths.start(),
            max_size: *self.lengths.end(),
            after: had,
            after_crc: 0,
            samples: samples.to_vec(),
        };
        Ok(Entry::Undo {
            name: self.name.clone(),
            size,
            preceding_crc,
            saved,
            during: Some(during),
        })
    }
}

/// Copies a range into the journal. Returns its CRC-32.
fn copy(file: Option<&dyn File>, s: &Saved, journal: &dyn File, to: u64) -> Result<u32> {
    let Some(file) = file else {
        return Ok(crc32(&[]));
    };
    let mut buf = alloc::zeroed(usize::try_from(s.len).unwrap_or(PIECE).min(PIECE))?;
    let mut crc = crc32fast::Hasher::new();
    let mut done = 0;
    while done < s.len {
        let n = (s.len - done).min(PIECE as u64) as usize;
        let piece = buf.at_mut(..n)?;
        file.read_exact_at(s.at.saturating_add(done), piece)?;
        crc.update(piece);
        journal.write_at(to.saturating_add(done), piece)?;
        done += n as u64;
    }
    Ok(crc.finalize())
}

/// Atomically replaces files of the container by new ones, which were written and synced under
/// their new names, and removes others.
pub fn swap(
    c: &Container,
    durable: bool,
    renames: &[OsString],
    removals: &[OsString],
) -> SwapOutcome {
    match try_swap(c, durable, renames, removals) {
        Ok(true) => SwapOutcome::Done,
        Ok(false) => SwapOutcome::RenamesPending,
        // a renamed file, or one named by a journal, is visible unless the power fails now
        Err(e)
            if renames
                .first()
                .is_some_and(|n| c.folder.exists(&beside("", n, NEW)).unwrap_or(false))
                && !c.has_journal().unwrap_or(true) =>
        {
            SwapOutcome::Unchanged(e)
        }
        Err(e) => SwapOutcome::Uncertain(e),
    }
}

/// The outcome of a swap.
pub enum SwapOutcome {
    /// All files are replaced.
    Done,
    /// The swap is committed, but the next writer has to finish the renames.
    RenamesPending,
    /// Nothing was changed.
    Unchanged(Error),
    /// The swap is visible, but may not be durable.
    Uncertain(Error),
}

impl SwapOutcome {
    /// Returns the error of a swap that is not committed.
    pub fn into_result(self) -> Result<()> {
        match self {
            SwapOutcome::Done | SwapOutcome::RenamesPending => Ok(()),
            SwapOutcome::Unchanged(e) | SwapOutcome::Uncertain(e) => Err(e),
        }
    }
}

fn try_swap(
    c: &Container,
    durable: bool,
    renames: &[OsString],
    removals: &[OsString],
) -> Result<bool> {
    // a journal that names an entry that no rename can replace could never be finished
    renames
        .iter()
        .chain(removals)
        .try_for_each(|n| c.folder.refuse_obstacle(n))?;
    let mut entries = swaps(c, renames, removals)?;
    if let [
        Entry::Swap {
            name, to: Some(to), ..
        },
    ] = &entries[..]
    {
        c.folder.rename(name, to)?;
        return if durable {
            c.folder.sync_in(parent(to)).map(|()| true)
        } else {
            Ok(true)
        };
    }
    entries
        .iter_mut()
        .try_for_each(|e| add_fingerprints(c, e))?;
    let bytes = encode(SWAP, nonce(), 0, &entries);
    if bytes.len() > LARGE_INDEX_LIMIT {
        return Err(fail!(
            Limit,
            "the journal of a commit of {} files is too large; change fewer files per commit",
            entries.len()
        ));
    }
    // The files that the journal names must exist whenever it does, but a folder may retain only
    // the later of two names.
    c.sync_below(durable, &entries)?;
    c.sync(durable)?;
    publish(c, durable, |journal| journal.write_at(0, &bytes))?;
    Ok(recover(c, durable).is_ok())
}

/// Returns the entries for the renames and removals.
pub(super) fn swaps(
    c: &Container,
    renames: &[OsString],
    removals: &[OsString],
) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = renames
        .iter()
        .map(|n| Entry::Swap {
            name: beside("", n, NEW),
            to: Some(n.clone()),
            fingerprints: None,
        })
        .collect();
    for n in removals {
        if c.folder.exists(n)? {
            entries.push(Entry::Swap {
                name: n.clone(),
                to: None,
                fingerprints: None,
            });
        }
    }
    Ok(entries)
}

/// Adds the fingerprints of the old and the new file.
pub(super) fn add_fingerprints(c: &Container, e: &mut Entry) -> Result<()> {
    let Entry::Swap {
        name,
        to,
        fingerprints,
    } = e
    else {
        return Ok(());
    };
    let new = if to.is_some() {
        fingerprint(&*c.folder, name)?
    } else {
        None
    };
    *fingerprints = Some(SwapFingerprints {
        new,
        old: fingerprint(&*c.folder, to.as_ref().unwrap_or(name))?,
    });
    Ok(())
}
