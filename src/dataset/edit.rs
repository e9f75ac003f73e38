//! Changes of the items of an array: they wait in new files beside those of the last commit, and the content of the file
//! that is being changed, or filled, waits in memory.
//!
//! What goes to a file is a unit: a chunk, or in the papers' form a superchunk. Nothing of the last commit is touched here.
//! A unit that is changed again goes to a second new file, and only then the first one goes, so that what fails leaves all
//! as it was.
#![forbid(unsafe_code)]

use super::chunk::HEADER;
use super::chunks::{Chunks, file_name};
use super::commit::{as_text, tidy};
use super::place::Place;
use super::superchunks;
use crate::blosc::{self, Params};
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::io::Access;
use crate::io::journal::NEW;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{self, Splice, Whole};
use crate::{memory, parallel};
use std::sync::{Mutex, PoisonError};

/// Content that is encoded at once, about.
const GROUP: u64 = 32 << 20;

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
    pub(super) fn encode(&self, content: &[u8], threads: usize) -> Result<Vec<u8>> {
        let (params, sum) = match self {
            Make::Many(whole) => return whole.encode(content, threads),
            Make::One(params, sum) => (params, sum),
        };
        let mut bytes = memory::with_room(HEADER.len())?;
        bytes.extend_from_slice(&HEADER);
        blosc::encode(params, content, &mut bytes, threads)?;
        let digest = sum.of(bytes.get(HEADER.len()..).unwrap_or_default());
        memory::reserve(&mut bytes, digest.len())?;
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
    threads: usize,
    open: Option<Open>,
    /// What the last commit has in the last unit, from its last chunk on, and what was appended to that unit since, where
    /// nothing but that is changed in it: it goes into the file that is there.
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
}

/// A unit in a new file, and the bytes of it.
type Stored = (u64, bool, u64);

impl Edit {
    /// Nothing is changed yet in this folder, which has so many bytes of content in units of so many.
    pub fn new(place: &Place, make: Make, [unit, committed, cbytes, limit]: [u64; 4], threads: usize) -> Edit {
        let names = if matches!(make, Make::One(..)) { Names::One } else { Names::Many };
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
                bloscpack::tidy(self.place.folder(), &self.place.name(&self.names.own(last)), durable)
            }
            _ => Ok(()),
        }
    }

    /// Which new file a unit is in, if it is in one.
    fn second(&self, unit: u64) -> Option<bool> {
        self.find(unit).ok().and_then(|at| self.waiting.get(at)).map(|(_, second)| *second)
    }

    /// The name of the file that has a unit now.
    pub fn name(&self, unit: u64) -> String {
        self.second(unit).map_or_else(|| self.names.own(unit), |second| self.names.waiting(unit, second))
    }

    /// The content from this byte on to the end of its unit, if it is in memory.
    pub fn content(&self, at: u64) -> Option<&[u8]> {
        let (unit, at) = (at / self.unit, at % self.unit);
        let held = [&self.open, &self.tail].into_iter().flatten().find(|o| o.unit == unit && o.from <= at)?;
        Some(held.content.get((at - held.from) as usize..).unwrap_or_default())
    }

    /// Is nothing waiting?
    pub fn is_clean(&self) -> bool {
        !self.has_waiting() && !self.open.as_ref().is_some_and(|o| o.changed)
    }

    /// Is something waiting, besides what is being changed in memory?
    pub(super) fn has_waiting(&self) -> bool {
        self.tail.is_some() || !self.waiting.is_empty()
    }

    /// Puts what was appended to the last unit of the last commit into its file, of which it does not count yet.
    pub(super) fn append_tail(&mut self, durable: bool) -> Result<()> {
        let (Some(tail), Make::Many(whole)) = (&self.tail, &self.make) else { return Ok(()) };
        let name = self.place.name(&self.names.own(tail.unit));
        let mut options = Options::new().with(Opt::Threads, self.threads as i64)?.with(Opt::Durability, durable.into())?;
        options.set(Opt::MemoryLimit, i64::try_from(self.limit).unwrap_or(i64::MAX))?;
        let keep = self.committed - tail.unit * self.unit;
        let new = tail.content.get((keep - tail.from) as usize..).unwrap_or_default();
        let grown = whole.append(self.place.folder(), &name, keep, new, &options)?;
        (self.tail, self.written) = (None, None);
        self.cbytes = self.cbytes.saturating_add_signed(grown);
        Ok(())
    }

    /// New files get their own names, where nothing but what goes on behind the last commit is in them; they are to be
    /// swapped else, and these are returned.
    pub(super) fn name_all(&mut self, durable: bool, replaces: bool) -> Result<Vec<String>> {
        let (place, names) = (&self.place, self.names);
        let grows = self.kept >= self.committed && !replaces;
        let mut named = 0;
        let renamed = self.waiting.iter_mut().try_for_each(|(unit, second)| {
            let to = if grows { names.own(*unit) } else { names.waiting(*unit, false) };
            let from = place.name(&names.waiting(*unit, *second));
            let done = if grows || *second { place.folder().rename(&from, &place.name(&to)) } else { Ok(()) };
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
        let swapped = self.waiting.iter().map(|(unit, _)| as_text(place, &names.own(*unit))).collect();
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
        let bytes = self.make.encode(content, threads)?;
        let written = self.place.open(&name, Access::Create).and_then(|file| file.write_at(0, &bytes));
        match written {
            Ok(()) => Ok((unit, second, bytes.len() as u64)),
            Err(e) => {
                self.remove(&name);
                Err(e)
            }
        }
    }

    /// Writes units that stand behind each other, all or none.
    fn put_all(&self, first: u64, content: &[u8]) -> Result<Vec<Stored>> {
        let pieces: Vec<(u64, &[u8])> = (first..).zip(content.chunks(usize::try_from(self.unit).unwrap_or(usize::MAX))).collect();
        let each = if pieces.len() > 1 { 1 } else { self.threads };
        let done = Mutex::new((Vec::new(), None::<Error>));
        parallel::for_each(self.threads, pieces, |(i, piece)| {
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
        stored.iter().for_each(|(unit, second, _)| self.remove(&self.names.waiting(*unit, *second)));
    }

    /// Units are in these files from now on. `len`: bytes of content that are there now.
    fn accept(&mut self, stored: Vec<Stored>, len: u64) -> Result<()> {
        if let Err(e) = memory::reserve(&mut self.waiting, stored.len()) {
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
                    self.waiting.get_mut(at).into_iter().for_each(|w| w.1 = second);
                }
                Err(at) => self.waiting.insert(at, (unit, second)),
            }
        }
        Ok(())
    }
}

impl Chunks {
    fn edit(&mut self) -> Result<&mut Edit> {
        self.editing().ok_or_else(|| fail!(State, "it was opened to be read"))
    }

    /// Bytes of content in a unit.
    fn unit(&self) -> u64 {
        self.edit.as_ref().map_or(self.chunk, |e| e.unit)
    }

    /// Units are in other files from now on.
    fn accept(&mut self, stored: Vec<Stored>) -> Result<()> {
        let len = self.len;
        let done = self.edit()?.accept(stored, len);
        self.forget();
        done
    }

    /// Units behind each other, of which nothing is in memory, get other content.
    fn replace(&mut self, first: u64, content: &[u8]) -> Result<()> {
        let stored = self.edit()?.put_all(first, content)?;
        self.accept(stored)
    }

    /// What is in memory goes to a file, and stays in memory.
    pub fn flush(&mut self) -> Result<()> {
        let edit = self.edit()?;
        let Some(open) = edit.open.take_if(|o| o.changed) else { return Ok(()) };
        let stored = edit.put_all(open.unit, &open.content);
        let done = stored.and_then(|stored| self.accept(stored));
        self.edit()?.open = Some(Open { changed: done.is_err(), ..open });
        done
    }

    /// Bytes of a unit that count.
    fn counted(&self, unit: u64) -> u64 {
        self.len.saturating_sub(unit.saturating_mul(self.unit())).min(self.unit())
    }

    /// The content of a unit, as much as counts, to be changed; zeros, maybe, if it is not wanted.
    fn opened(&mut self, unit: u64, is_wanted: bool) -> Result<&mut Vec<u8>> {
        if self.edit()?.open.as_ref().is_none_or(|o| o.unit != unit) {
            self.flush()?;
            let n = memory::allow(self.counted(unit), self.edit()?.limit, "a file's content")?;
            let mut content = memory::zeroed(n)?;
            let at = unit.saturating_mul(self.unit());
            if is_wanted && !content.is_empty() && self.read(at, &mut content)? {
                let chunk = at / self.chunk;
                return Err(fail!(Format, "what is damaged from chunk {chunk} on can be written as a whole only").at(chunk));
            }
            let edit = self.edit()?;
            edit.open = Some(Open { unit, from: 0, content, changed: false });
            edit.tail.take_if(|t| t.unit == unit);
        }
        let open = self.edit()?.open.as_mut().ok_or_else(|| fail!(State, "no open content"))?;
        open.changed = true;
        Ok(&mut open.content)
    }

    /// The end of the last commit, to be appended to where it is; none where other things are changed there, or each chunk has
    /// a file of its own.
    fn tail(&mut self) -> Result<Option<&mut Vec<u8>>> {
        let (len, chunk) = (self.len, self.chunk);
        let edit = self.edit()?;
        let unit = len / edit.unit;
        if edit.tail.as_ref().is_none_or(|t| t.unit != unit) {
            let is_there = edit.names == Names::Many && edit.committed == len && edit.find(unit).is_err();
            if !is_there || edit.open.as_ref().is_some_and(|o| o.unit == unit) {
                return Ok(None);
            }
            let start = unit * edit.unit;
            let from = (len - start) / chunk * chunk;
            let mut content = memory::zeroed(memory::allow(len - start - from, edit.limit, "a chunk's content")?)?;
            if !content.is_empty() && self.read(start + from, &mut content)? {
                return Err(fail!(Format, "the last chunk is damaged: nothing can be appended to it").at(len / chunk));
            }
            self.edit()?.tail = Some(Open { unit, from, content, changed: true });
        }
        Ok(self.edit()?.tail.as_mut().map(|t| &mut t.content))
    }

    /// Units that are encoded at once.
    fn group(&self) -> u64 {
        let threads = self.edit.as_ref().map_or(1, |e| e.threads.max(1) as u64);
        (GROUP / self.unit()).clamp(1, threads * 4)
    }

    /// How much of this content is whole units, those that go at once.
    fn whole(&self, n: usize) -> usize {
        let units = (n as u64 / self.unit()).min(self.group());
        (units * self.unit()) as usize
    }

    /// Puts content behind the last. On failure some of it may be there.
    pub fn append(&mut self, mut src: &[u8]) -> Result<()> {
        self.edit()?;
        let unit = self.unit();
        while !src.is_empty() {
            let (i, used) = (self.len / unit, self.len % unit);
            let whole = if used == 0 { self.whole(src.len()) } else { 0 };
            let room = (unit - used).min(src.len() as u64) as usize;
            let (now, rest) = src.split_at_checked(if whole > 0 { whole } else { room }).unwrap_or((src, &[]));
            if whole > 0 {
                self.replace(i, now)?;
            } else {
                // what is appended to the last commit goes where that is
                let content = match if used > 0 { self.tail()? } else { None } {
                    Some(content) => content,
                    None => self.opened(i, true)?,
                };
                memory::reserve(content, now.len())?;
                content.extend_from_slice(now);
            }
            self.len += now.len() as u64;
            src = rest;
        }
        Ok(())
    }

    /// Writes over content. On failure some of it may be written.
    pub fn write(&mut self, mut at: u64, mut src: &[u8]) -> Result<()> {
        let end = at.checked_add(src.len() as u64).filter(|end| *end <= self.len);
        end.ok_or_else(|| fail!(Range, "{} bytes at {at}: there are {}", src.len(), self.len))?;
        let edit = self.edit()?;
        edit.kept = if src.is_empty() { edit.kept } else { edit.kept.min(at) };
        let unit = self.unit();
        while !src.is_empty() {
            let (i, from) = (at / unit, at % unit);
            let whole = if from == 0 { self.whole(src.len()) } else { 0 };
            let room = (unit - from).min(src.len() as u64) as usize;
            let (now, rest) = src.split_at_checked(if whole > 0 { whole } else { room }).unwrap_or((src, &[]));
            if whole > 0 {
                let units = whole as u64 / unit;
                self.replace(i, now)?;
                // what was in memory of these is of no use
                let edit = self.edit()?;
                [&mut edit.open, &mut edit.tail].into_iter().for_each(|o| _ = o.take_if(|o| (i..i + units).contains(&o.unit)));
            } else {
                let place = self.opened(i, (now.len() as u64) < self.counted(i))?.get_mut(from as usize..).and_then(|c| c.get_mut(..now.len()));
                place.ok_or_else(|| fail!(State, "content of another size"))?.copy_from_slice(now);
            }
            (at, src) = (at + now.len() as u64, rest);
        }
        Ok(())
    }

    /// Keeps the first `n` bytes of content.
    pub fn truncate(&mut self, n: u64) -> Result<()> {
        let (len, unit) = (self.len, self.unit());
        let edit = self.edit()?;
        if n > len {
            return Err(fail!(Range, "{n} bytes are to stay: there are {len}"));
        }
        edit.kept = edit.kept.min(n);
        // the file has all of it but what was appended
        edit.tail.take_if(|_| n <= edit.committed);
        if let Some(tail) = edit.tail.as_mut().filter(|t| t.unit == n / unit) {
            tail.content.truncate((n % unit - tail.from) as usize);
        }
        edit.cbytes = (u128::from(edit.cbytes) * u128::from(n) / u128::from(len.max(1))) as u64;
        let gone = edit.waiting.partition_point(|(i, _)| *i < n.div_ceil(unit));
        for (i, second) in edit.waiting.split_off(gone) {
            edit.remove(&edit.names.waiting(i, second));
        }
        edit.open.take_if(|o| o.unit.saturating_mul(unit) >= n);
        if let Some(open) = edit.open.as_mut().filter(|o| o.unit == n / unit) {
            open.content.truncate((n % unit) as usize);
        }
        self.len = n;
        self.forget();
        Ok(())
    }

    /// Writes the units with these chunks, in rising order, anew, with what can be read of them.
    pub fn write_anew(&mut self, chunks: impl Iterator<Item = u64>, before: &dyn Fn(&Place, &str) -> Result<()>) -> Result<()> {
        let (unit, chunk, mut done) = (self.unit(), self.chunk, None);
        for i in chunks.map(|c| c.saturating_mul(chunk) / unit) {
            if done.replace(i) == Some(i) {
                continue;
            }
            let edit = self.edit()?;
            before(&edit.place, &edit.names.own(i))?;
            let n = memory::allow(self.counted(i), self.edit()?.limit, "a file's content")?;
            let mut content = memory::zeroed(n)?;
            self.read(i * unit, &mut content)?;
            self.write(i * unit, &content)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Puts rows in and takes rows away; what is behind moves. On failure all is as it was.
    pub fn splice(&mut self, s: &Splice) -> Result<()> {
        let end = s.at.checked_add(s.gone).filter(|end| *end <= self.len);
        let end = end.ok_or_else(|| fail!(Range, "{} bytes at {}: there are {}", s.gone, s.at, self.len))?;
        let rows = [s.at, s.gone, s.src.len() as u64].iter().all(|n| n.is_multiple_of(self.row.max(1)));
        if s.times != 1 || !rows {
            return Err(fail!(Unsupported, "the chunks of a dataset are made of rows: these come and go as a whole"));
        }
        self.flush()?;
        let (unit, tail) = (self.unit(), self.edit()?.tail.as_ref().map(|t| t.unit));
        if let Some(tail) = tail.filter(|t| s.at / unit <= *t) {
            // it moves
            self.opened(tail, true)?;
            self.flush()?;
        }
        let len = (self.len - s.gone).checked_add(s.src.len() as u64).ok_or_else(|| fail!(Limit, "more than 2^64 bytes"))?;
        let first = s.at / self.unit();
        let mut all = Vec::new();
        if let Err(e) = self.refill(s, first, end, len, &mut all) {
            self.edit()?.drop_all(&all);
            return Err(e);
        }
        self.accept(all)?;
        let edit = self.edit()?;
        (edit.open, edit.kept) = (None, edit.kept.min(s.at));
        if len < self.len {
            self.truncate(len)?;
        }
        self.len = len;
        Ok(())
    }

    /// Writes the units from `first` on as a splice makes them.
    fn refill(&self, s: &Splice, first: u64, end: u64, len: u64, all: &mut Vec<Stored>) -> Result<()> {
        let edit = self.edit.as_deref().ok_or_else(|| fail!(State, "it was opened to be read"))?;
        let most = self.group().saturating_mul(edit.unit);
        let mut content = memory::zeroed(memory::allow(most.min(len), edit.limit, "some chunks")?)?;
        let mut at = first.saturating_mul(edit.unit);
        let new_end = s.at + s.src.len() as u64;
        while at < len {
            let now = content.get_mut(..(len - at).min(most) as usize).unwrap_or_default();
            let to = at + now.len() as u64;
            let cut = |place: u64| (place.clamp(at, to) - at) as usize;
            let (before, rest) = now.split_at_mut_checked(cut(s.at)).unwrap_or_default();
            let (new, behind) = rest.split_at_mut_checked(cut(new_end) - before.len()).unwrap_or_default();
            let skip = at.max(s.at) - s.at;
            let given = s.src.get(skip.min(s.src.len() as u64) as usize..).and_then(|src| src.get(..new.len()));
            new.copy_from_slice(given.ok_or_else(|| fail!(State, "content of another size"))?);
            let from = at.max(new_end) - new_end + end;
            let bad = |at: u64, dst: &mut [u8]| if dst.is_empty() { Ok(false) } else { self.read(at, dst) };
            if bad(at, before)? | bad(from, behind)? {
                return Err(fail!(Format, "chunks that would have to move are damaged"));
            }
            let stored = edit.put_all(at / edit.unit, now)?;
            memory::reserve(all, stored.len()).inspect_err(|_| edit.drop_all(&stored))?;
            all.extend(stored);
            at = to;
        }
        Ok(())
    }
}
