//! Changes of the items of an array: they wait in new files beside those of the last commit, and
//! the content of the file that is being changed, or filled, waits in memory.
//!
//! What goes to a file is a unit: a chunk, or in the papers' form a superchunk. Nothing of the last
//! commit is touched here. A unit that is changed again goes to a second new file, and only then
//! the first one goes, so that what fails leaves all as it was.
#![forbid(unsafe_code)]

mod change;

use super::chunk_file::HEADER;
use super::chunks::file_name;
use super::commit::{as_text, tidy};
use super::folder::Place;
use super::superchunks;
use crate::blosc::{self, Params};
use crate::checksum::Sum;
use crate::error::{Error, Result};
use crate::io::Access;
use crate::io::journal::NEW;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::superchunk::bloscpack::{self, Whole};
use crate::superchunk::buffer_pool::Buffers;
use crate::{alloc, parallel};
use std::sync::{Mutex, PoisonError};

/// What the files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Each has a chunk.
    One,
    /// Each has many, as the papers have it.
    Many,
}

impl Names {
    /// The name of the file with this unit.
    pub fn own(self, unit: u64) -> String {
        match self {
            Names::One => file_name(unit),
            Names::Many => superchunks::name(unit.saturating_add(1)),
        }
    }

    /// The name of the new file that waits for its place.
    pub fn waiting(self, unit: u64, second: bool) -> String {
        format!("{}{NEW}{}", self.own(unit), if second { "2" } else { "" })
    }

    /// What stands in which unit, and how these files are called.
    pub fn parse(name: &str) -> Option<(Names, u64)> {
        let rest = name.strip_prefix("__")?;
        let (names, number, first) = match rest.strip_suffix("__.bin") {
            Some(number) => (Names::Many, number, 1),
            None => (Names::One, rest.strip_suffix(".blp")?, 0),
        };
        let unit = number.parse::<u64>().ok()?.checked_sub(first)?;
        (names.own(unit) == name).then_some((names, unit))
    }
}

/// How files are made.
pub enum Make {
    /// With a chunk, and its digest.
    One(Params, Sum),
    /// With many.
    Many(Whole),
}

impl Make {
    /// The bytes of a file with this content; `bytes` is a buffer for them.
    pub(super) fn encode(
        &self,
        content: &[u8],
        mut bytes: Vec<u8>,
        threads: usize,
    ) -> Result<Vec<u8>> {
        let (params, sum) = match self {
            Make::Many(whole) => return whole.encode(content, threads),
            Make::One(params, sum) => (params, sum),
        };
        alloc::reserve(&mut bytes, HEADER.len())?;
        bytes.extend_from_slice(&HEADER);
        blosc::encode(params, content, &mut bytes, threads)?;
        let digest = sum.of(bytes.get(HEADER.len()..).unwrap_or_default());
        alloc::reserve_exact(&mut bytes, digest.len())?;
        bytes.extend_from_slice(&digest);
        Ok(bytes)
    }
}

/// The content of a unit.
struct Open {
    unit: u64,
    /// From this byte of the unit on, where a chunk begins.
    from: u64,
    content: Vec<u8>,
    /// It is not in a file.
    changed: bool,
}

/// What waits for a commit.
pub struct Edit {
    pub(super) place: Place,
    pub(super) names: Names,
    make: Make,
    /// Bytes of content in a unit.
    pub(super) unit: u64,
    limit: u64,
    threads: Threads,
    open: Option<Open>,
    /// What the last commit has in the last unit, from its last chunk on, and what was appended to
    /// that unit since, where nothing but that is changed in it: it goes into the file that is
    /// there.
    tail: Option<Open>,
    /// Units that are in new files, in rising order; true: in the second one.
    pub(super) waiting: Vec<(u64, bool)>,
    /// Bytes of content of the last commit, and how many of its first ones are as they were.
    pub(super) committed: u64,
    pub(super) kept: u64,
    /// Bytes on disk, about.
    pub(super) cbytes: u64,
    /// The unit that was written last, and the bytes of its file.
    written: Option<(u64, u64)>,
    /// Files got their names, which may not be durable.
    is_named: bool,
    buffers: Buffers,
}

/// A unit in a new file, and the bytes of it.
type Stored = (u64, bool, u64);

impl Edit {
    /// Nothing is changed yet in this folder, which has so many bytes of content in units of so
    /// many.
    pub fn new(
        place: &Place,
        make: Make,
        [unit, committed, cbytes, limit]: [u64; 4],
        threads: Threads,
    ) -> Edit {
        let names = if matches!(make, Make::One(..)) {
            Names::One
        } else {
            Names::Many
        };
        let (place, waiting) = (place.clone(), Vec::new());
        Edit {
            place,
            names,
            make,
            unit: unit.max(1),
            limit,
            threads,
            open: None,
            tail: None,
            waiting,
            committed,
            kept: committed,
            cbytes,
            written: None,
            is_named: false,
            buffers: Buffers::default(),
        }
    }

    fn find(&self, unit: u64) -> std::result::Result<usize, usize> {
        self.waiting.binary_search_by_key(&unit, |(i, _)| *i)
    }

    /// Nothing is left there of a writer that was cut off.
    pub(super) fn tidy(&self, durable: bool) -> Result<()> {
        tidy(&self.place, "")?;
        match self.committed / self.unit {
            // storage that cannot list its files may have something beside this one all the same
            last if self.names == Names::Many && last * self.unit < self.committed => {
                bloscpack::tidy(
                    self.place.folder(),
                    &self.place.name(&self.names.own(last)),
                    durable,
                )
            }
            _ => Ok(()),
        }
    }

    /// Which new file a unit is in, if it is in one.
    fn second(&self, unit: u64) -> Option<bool> {
        self.find(unit)
            .ok()
            .and_then(|at| self.waiting.get(at))
            .map(|(_, second)| *second)
    }

    /// The name of the file that has a unit now.
    pub fn name(&self, unit: u64) -> String {
        self.second(unit).map_or_else(
            || self.names.own(unit),
            |second| self.names.waiting(unit, second),
        )
    }

    /// The content from this byte on to the end of its unit, if it is in memory.
    pub fn content(&self, at: u64) -> Option<&[u8]> {
        let (unit, at) = (at / self.unit, at % self.unit);
        let held = [&self.open, &self.tail]
            .into_iter()
            .flatten()
            .find(|o| o.unit == unit && o.from <= at)?;
        Some(
            held.content
                .get((at - held.from) as usize..)
                .unwrap_or_default(),
        )
    }

    /// Is nothing waiting?
    pub fn is_clean(&self) -> bool {
        !self.has_waiting() && !self.open.as_ref().is_some_and(|o| o.changed)
    }

    /// Is something waiting, besides what is being changed in memory?
    pub(super) fn has_waiting(&self) -> bool {
        self.tail.is_some() || !self.waiting.is_empty()
    }

    /// Puts what was appended to the last unit of the last commit into its file, of which it does
    /// not count yet.
    pub(super) fn append_tail(&mut self, durable: bool) -> Result<()> {
        let (Some(tail), Make::Many(whole)) = (&self.tail, &self.make) else {
            return Ok(());
        };
        let name = self.place.name(&self.names.own(tail.unit));
        let mut options = Options::new()
            .with(Opt::Threads, self.threads.count() as i64)?
            .with(Opt::Durability, durable.into())?;
        options.set(
            Opt::MemoryLimit,
            i64::try_from(self.limit).unwrap_or(i64::MAX),
        )?;
        let keep = self.committed - tail.unit * self.unit;
        let new = tail
            .content
            .get((keep - tail.from) as usize..)
            .unwrap_or_default();
        let grown = whole.append(self.place.folder(), &name, keep, new, &options)?;
        (self.tail, self.written) = (None, None);
        self.cbytes = self.cbytes.saturating_add_signed(grown);
        Ok(())
    }

    /// New files get their own names, where nothing but what goes on behind the last commit is in
    /// them; they are to be swapped else, and these are returned.
    pub(super) fn name_all(&mut self, durable: bool, replaces: bool) -> Result<Vec<String>> {
        let (place, names) = (&self.place, self.names);
        let grows = self.kept >= self.committed && !replaces;
        let mut named = 0;
        let renamed = self.waiting.iter_mut().try_for_each(|(unit, second)| {
            let to = if grows {
                names.own(*unit)
            } else {
                names.waiting(*unit, false)
            };
            let from = place.name(&names.waiting(*unit, *second));
            let done = if grows || *second {
                place.folder().rename(&from, &place.name(&to))
            } else {
                Ok(())
            };
            // what has failed may have been done all the same
            if done.is_ok() || !place.folder().exists(&from).unwrap_or(true) {
                (*second, named) = (false, named + 1);
            }
            done
        });
        if grows {
            self.waiting.drain(..named);
            self.is_named |= named > 0;
        }
        let swapped = self
            .waiting
            .iter()
            .map(|(unit, _)| as_text(place, &names.own(*unit)))
            .collect();
        renamed?;
        if self.is_named && durable {
            place.sync()?;
        }
        self.is_named = false;
        Ok(swapped)
    }

    /// So many bytes are committed; what has no use any more goes.
    pub(super) fn settle(&mut self, len: u64) {
        self.waiting.clear();
        self.buffers = Buffers::default();
        let old = std::mem::replace(&mut self.committed, len);
        self.kept = len;
        for i in len.div_ceil(self.unit)..old.div_ceil(self.unit) {
            self.remove(&self.names.own(i));
        }
    }

    /// Removes a file; one that stays does no harm.
    fn remove(&self, name: &str) {
        let _ = self.place.folder().remove_if_there(&self.place.name(name));
    }

    /// Removes all that waits.
    pub fn clear(&mut self) {
        for (unit, second) in std::mem::take(&mut self.waiting) {
            self.remove(&self.names.waiting(unit, second));
        }
    }

    /// Writes a unit to a new file that is none yet.
    pub(super) fn put(&self, unit: u64, content: &[u8], threads: usize) -> Result<Stored> {
        let second = self.second(unit) == Some(false);
        let name = self.names.waiting(unit, second);
        let bytes = self.make.encode(content, self.buffers.take(), threads)?;
        let written = self
            .place
            .create(&name)
            .and_then(|file| file.write_at(0, &bytes));
        let n = bytes.len() as u64;
        self.buffers.keep(bytes, self.threads.count());
        match written {
            Ok(()) => Ok((unit, second, n)),
            Err(e) => {
                self.remove(&name);
                Err(e)
            }
        }
    }

    /// Writes units that stand behind each other, all or none.
    fn put_all(&self, first: u64, content: &[u8]) -> Result<Vec<Stored>> {
        let pieces: Vec<(u64, &[u8])> = (first..)
            .zip(content.chunks(usize::try_from(self.unit).unwrap_or(usize::MAX)))
            .collect();
        let each = if pieces.len() > 1 {
            1
        } else {
            self.threads.count()
        };
        let done = Mutex::new((Vec::new(), None::<Error>));
        parallel::for_each(self.threads.count(), pieces, |(i, piece)| {
            let stored = self.put(i, piece, each);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            match stored {
                Ok(stored) => done.0.push(stored),
                Err(e) => done.1 = Some(e),
            }
        });
        let (stored, failed) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed {
            None => Ok(stored),
            Some(e) => {
                self.drop_all(&stored);
                Err(e)
            }
        }
    }

    fn drop_all(&self, stored: &[Stored]) {
        stored
            .iter()
            .for_each(|(unit, second, _)| self.remove(&self.names.waiting(*unit, *second)));
    }

    /// Units are in these files from now on. `len`: bytes of content that are there now.
    fn accept(&mut self, stored: Vec<Stored>, len: u64) -> Result<()> {
        if let Err(e) = alloc::reserve(&mut self.waiting, stored.len()) {
            self.drop_all(&stored);
            return Err(e);
        }
        for (unit, second, bytes) in stored {
            let old = self.name(unit);
            let size = |name: &str| self.place.open(name, Access::Read).and_then(|f| f.size());
            let before = match self.written.filter(|(last, _)| *last == unit) {
                _ if unit >= len.div_ceil(self.unit) => 0,
                Some((_, bytes)) => bytes,
                None => size(&old).unwrap_or(0),
            };
            self.written = Some((unit, bytes));
            self.cbytes = self.cbytes.saturating_sub(before).saturating_add(bytes);
            match self.find(unit) {
                Ok(at) => {
                    self.remove(&old);
                    self.waiting
                        .get_mut(at)
                        .into_iter()
                        .for_each(|w| w.1 = second);
                }
                Err(at) => self.waiting.insert(at, (unit, second)),
            }
        }
        Ok(())
    }
}
