//! Writers: changes in place that can be undone, and files that are swapped.
#![forbid(unsafe_code)]

use super::entries::{Entry, Marks, Meanwhile, Piece, SWAP, Saved, UNDO, encode, nonce};
use super::recover::{INDEX_LIMIT, MANY_LIMIT, load};
use super::witness::{mark, witness};
use super::{Container, MOST_ENTRIES, NEW, PIECE};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::lock::Lock;
use crate::io::{File, beside, parent};
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How long somebody else may take to settle a set, and how long to let go of its lock then.
const PATIENCE: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(20);

/// Finishes or undoes what a writer that was cut off has left. To be called under the lock, before
/// anything else is done with the container.
pub fn settle(c: &Container, durable: bool) -> Result<()> {
    if c.folder.is_store() {
        return Ok(());
    }
    let name = c.journal();
    c.folder.remove_if_there(&beside("", &name, "-new"))?;
    if let Some(hot) = load(c)? {
        hot.settle(c)?;
        c.sync_below(durable, &hot.entries)?;
        c.sync(durable)?;
        c.folder.remove(&name)?;
        c.sync(durable)?;
    }
    Ok(())
}

/// [`settle`], and removes the temporary files that are left then.
pub fn tidy(c: &Container, durable: bool) -> Result<()> {
    settle(c, durable)?;
    let prefixes = if c.folder.is_store() { &[] } else { c.prefixes };
    prefixes
        .iter()
        .try_for_each(|p| c.folder.remove_if_there(&c.new_name(p)))
}

/// Takes a part in the locks of the sets that a container may be a part of, and settles what a
/// writer of one of them has left when it was cut off: the files of this container are in it. To be
/// called before anything else is done with it.
pub fn enter(c: &Container, locks: bool, durable: bool) -> Result<Vec<Lock>> {
    let within = c.within.iter().filter(|set| !set.folder.is_store());
    within.map(|set| enter_set(set, locks, durable)).collect()
}

fn enter_set(set: &Container, locks: bool, durable: bool) -> Result<Lock> {
    let began = Instant::now();
    let unsettled = || set.has_journal();
    loop {
        let tried = match if locks {
            set.folder.lock_in_part(&set.lock_name())
        } else {
            Ok(Lock::none())
        } {
            Ok(part) if !unsettled()? => return Ok(part),
            Ok(part) => {
                drop(part);
                set.lock(locks).and_then(|_all| settle(set, durable))
            }
            Err(e) => Err(e),
        };
        match tried {
            Ok(()) => {}
            Err(e)
                if e.status == Status::Busy
                    && began.elapsed() < if unsettled()? { PATIENCE } else { MOMENT } =>
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

/// One file that is going to be changed in place.
pub struct Change<'a> {
    /// Its name.
    pub name: OsString,
    /// It, if it is there already.
    pub file: Option<&'a dyn File>,
    /// The ranges of committed bytes that will be written over, in rising order, none sharing a
    /// byte with another; beyond them only the length changes. At most [`MOST_RANGES`].
    pub over: Vec<std::ops::Range<u64>>,
    /// The lengths that it may have meanwhile, beside the one that it has.
    pub lengths: std::ops::RangeInclusive<u64>,
    /// Some of what will be written, in these ranges or behind the end, in rising order, to tell
    /// the file from a newer copy that somebody puts in its place: at most
    /// [`SAID`](super::SAID) bytes each.
    pub new: Vec<Piece>,
}

/// A change under way. Dropping it without [`Undo::commit`] leaves the journal for the next writer.
pub struct Undo {
    container: Container,
    durable: bool,
    /// Are there files that the container did not have before? Their names must be durable before
    /// the journal goes.
    creates: bool,
}

impl Undo {
    /// Saves what is going to be changed. Nothing may be changed before this has returned.
    pub fn begin(c: &Container, durable: bool, changes: &[Change<'_>]) -> Result<Undo> {
        let mut entries = Vec::new();
        let mut files = Vec::new();
        for change in changes {
            let of_it = change.entries()?;
            files.extend(of_it.iter().map(|_| change.file));
            entries.extend(of_it);
        }
        if entries.len() > MOST_ENTRIES && c.members.is_none() {
            return Err(fail!(
                Limit,
                "a change of {} ranges at once: {MOST_ENTRIES} fit into a journal",
                entries.len()
            ));
        }
        // the index has its length before the places and sums in it are known
        let nonce = nonce();
        let index = encode(UNDO, nonce, 0, &entries).len();
        if index
            > if c.members.is_some() {
                MANY_LIMIT
            } else {
                INDEX_LIMIT
            }
        {
            return Err(fail!(
                Limit,
                "a change of {} files at once: fewer are to change in one commit",
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

    /// Makes the change count. The changed files must have been synced.
    pub fn commit(self) -> Result<()> {
        if self.creates {
            self.container.sync(self.durable)?;
        }
        self.container.folder.remove(&self.container.journal())?;
        self.container.sync(self.durable)
    }

    /// Puts everything back.
    pub fn rollback(self) -> Result<()> {
        settle(&self.container, self.durable)
    }
}

impl<'a> Change<'a> {
    fn entries(&self) -> Result<Vec<Entry>> {
        let size = self.file.map(|f| f.size()).transpose()?;
        let have = size.unwrap_or(0);
        let (mut out, mut end) = (Vec::new(), 0);
        let mut new = &self.new[..];
        for over in self.over.iter().filter(|r| r.start < r.end.min(have)) {
            let saved = Saved {
                at: over.start,
                len: over.end.min(have) - over.start,
                from: 0,
                crc: 0,
            };
            let (its, behind) = new.split_at(new.partition_point(|p| p.at < saved.at + saved.len));
            out.push(self.entry(size, end, saved.at, saved.clone(), its)?);
            (end, new) = (saved.at + saved.len, behind);
        }
        match out.last_mut() {
            // the last range tells of what is behind it, too
            Some(Entry::Undo {
                meanwhile: Some(m), ..
            }) => {
                m.new.extend_from_slice(new);
                m.behind = end;
                m.behind_crc = self.file.map_or(Ok(0), |f| witness(f, end, have))?;
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
                new,
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
        new: &[Piece],
    ) -> Result<Entry> {
        let witness = self.file.map_or(Ok(0), |f| witness(f, from, before))?;
        let origin = self.file.map_or(Ok(0), |f| f.origin())?;
        let had = size.unwrap_or(0);
        let meanwhile = Meanwhile {
            origin,
            least: *self.lengths.start(),
            most: *self.lengths.end(),
            behind: had,
            behind_crc: 0,
            new: new.to_vec(),
        };
        Ok(Entry::Undo {
            name: self.name.clone(),
            size,
            witness,
            saved,
            meanwhile: Some(meanwhile),
        })
    }
}

/// Copies a range into the journal; returns its CRC-32.
fn copy(file: Option<&dyn File>, s: &Saved, journal: &dyn File, to: u64) -> Result<u32> {
    let Some(file) = file else {
        return Ok(crc32(&[]));
    };
    let mut buf = alloc::zeroed(usize::try_from(s.len).unwrap_or(PIECE).min(PIECE))?;
    let mut crc = crc32fast::Hasher::new();
    let mut done = 0;
    while done < s.len {
        let n = (s.len - done).min(PIECE as u64) as usize;
        let piece = buf.get_mut(..n).unwrap_or_default();
        file.read_exact_at(s.at.saturating_add(done), piece)?;
        crc.update(piece);
        journal.write_at(to.saturating_add(done), piece)?;
        done += n as u64;
    }
    Ok(crc.finalize())
}

/// Puts new files, written and synced under their new names, in the place of the container's, and
/// removes others, all together: `renames` and `gone` are prefixes.
pub fn swap(c: &Container, durable: bool, renames: &[&str], gone: &[&str]) -> Swapped {
    let names = |prefixes: &[&str]| prefixes.iter().map(|p| c.name(p)).collect::<Vec<_>>();
    swap_files(c, durable, &names(renames), &names(gone))
}

/// As [`swap`], of these names.
pub fn swap_files(
    c: &Container,
    durable: bool,
    renames: &[OsString],
    gone: &[OsString],
) -> Swapped {
    match try_swap(c, durable, renames, gone) {
        Ok(true) => Swapped::Done,
        Ok(false) => Swapped::Counts,
        // what was renamed, or told of in a journal, is there unless the power fails now
        Err(e)
            if renames
                .first()
                .is_some_and(|n| c.folder.exists(&beside("", n, NEW)).unwrap_or(false))
                && !c.has_journal().unwrap_or(true) =>
        {
            Swapped::Nothing(e)
        }
        Err(e) => Swapped::Unsure(e),
    }
}

/// How a swap went.
pub enum Swapped {
    /// As it should.
    Done,
    /// It counts, but some of it is left for who writes next.
    Counts,
    /// Nothing was changed.
    Nothing(Error),
    /// It is there, but may not be durable.
    Unsure(Error),
}

fn try_swap(c: &Container, durable: bool, renames: &[OsString], gone: &[OsString]) -> Result<bool> {
    // a journal that names what cannot be replaced could never be finished
    renames
        .iter()
        .chain(gone)
        .try_for_each(|n| c.folder.refuse_obstacle(n))?;
    let mut entries = swaps(c, renames, gone)?;
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
    entries.iter_mut().try_for_each(|e| mark_both(c, e))?;
    let bytes = encode(SWAP, nonce(), 0, &entries);
    if bytes.len() > MANY_LIMIT {
        return Err(fail!(
            Limit,
            "a change of {} files at once: fewer are to change in one commit",
            entries.len()
        ));
    }
    // the files that the journal names must be there wherever it is: a folder may keep the later of
    // two names alone
    c.sync_below(durable, &entries)?;
    c.sync(durable)?;
    publish(c, durable, |journal| journal.write_at(0, &bytes))?;
    Ok(settle(c, durable).is_ok())
}

/// What is renamed, and what is removed.
pub(super) fn swaps(c: &Container, renames: &[OsString], gone: &[OsString]) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = renames
        .iter()
        .map(|n| Entry::Swap {
            name: beside("", n, NEW),
            to: Some(n.clone()),
            marks: None,
        })
        .collect();
    for n in gone {
        if c.folder.exists(n)? {
            entries.push(Entry::Swap {
                name: n.clone(),
                to: None,
                marks: None,
            });
        }
    }
    Ok(entries)
}

/// Adds what the files are known by.
pub(super) fn mark_both(c: &Container, e: &mut Entry) -> Result<()> {
    let Entry::Swap { name, to, marks } = e else {
        return Ok(());
    };
    let new = if to.is_some() {
        mark(&*c.folder, name)?
    } else {
        None
    };
    *marks = Some(Marks {
        new,
        old: mark(&*c.folder, to.as_ref().unwrap_or(name))?,
    });
    Ok(())
}
