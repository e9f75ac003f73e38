//! Changes of the items of an array whose chunks have a file each: they wait in new files beside those of the last commit,
//! and the chunk that is being changed, or filled, waits in memory.
//!
//! Nothing of the last commit is touched here. A chunk that is changed again goes to a second new file, and only then the
//! first one goes, so that what fails leaves all as it was.
#![forbid(unsafe_code)]

use super::chunk::HEADER;
use super::chunks::{Chunks, file_name};
use super::place::Place;
use crate::blosc::{self, Params};
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::io::Access;
use crate::io::journal::NEW;
use crate::superchunk::bloscpack::Splice;
use crate::{memory, parallel};
use std::sync::{Mutex, PoisonError};

/// Content that is encoded at once, about.
const GROUP: u64 = 32 << 20;

/// The content of a chunk.
struct Open {
    chunk: u64,
    content: Vec<u8>,
    /// It is not in a file.
    changed: bool,
}

/// What waits for a commit.
pub struct Edit {
    pub(super) place: Place,
    params: Params,
    sum: Sum,
    limit: u64,
    threads: usize,
    open: Option<Open>,
    /// Chunks that are in new files, in rising order; true: in the second one.
    pub(super) waiting: Vec<(u64, bool)>,
    /// Bytes of content of the last commit, and how many of its first ones are as they were.
    pub(super) committed: u64,
    pub(super) kept: u64,
    /// Bytes on disk, about.
    pub(super) cbytes: u64,
}

/// A chunk in a new file, and the bytes of it.
type Stored = (u64, bool, u64);

/// The name of the new file of a chunk.
pub fn new_name(chunk: u64, second: bool) -> String {
    format!("{}{NEW}{}", file_name(chunk), if second { "2" } else { "" })
}

impl Edit {
    /// Nothing is changed yet in this folder, which has so many bytes of content.
    pub fn new(place: &Place, params: Params, sum: Sum, [committed, cbytes, limit]: [u64; 3], threads: usize) -> Edit {
        let (place, waiting) = (place.clone(), Vec::new());
        Edit { place, params, sum, limit, threads, open: None, waiting, committed, kept: committed, cbytes }
    }

    fn find(&self, chunk: u64) -> std::result::Result<usize, usize> {
        self.waiting.binary_search_by_key(&chunk, |(i, _)| *i)
    }

    /// Which new file a chunk is in, if it is in one.
    fn second(&self, chunk: u64) -> Option<bool> {
        self.find(chunk).ok().and_then(|at| self.waiting.get(at)).map(|(_, second)| *second)
    }

    /// The name of the file that has a chunk now.
    pub fn name(&self, chunk: u64) -> String {
        self.second(chunk).map_or_else(|| file_name(chunk), |second| new_name(chunk, second))
    }

    /// The content of a chunk, if it is in memory.
    pub fn content(&self, chunk: u64) -> Option<&[u8]> {
        self.open.as_ref().filter(|o| o.chunk == chunk).map(|o| o.content.as_slice())
    }

    /// Is nothing waiting?
    pub fn is_clean(&self) -> bool {
        self.waiting.is_empty() && !self.open.as_ref().is_some_and(|o| o.changed)
    }

    /// Removes a file; one that stays does no harm.
    fn remove(&self, name: &str) {
        let _ = self.place.folder().remove_if_there(&self.place.name(name));
    }

    /// Removes all that waits.
    pub fn clear(&mut self) {
        for (chunk, second) in std::mem::take(&mut self.waiting) {
            self.remove(&new_name(chunk, second));
        }
    }

    /// Writes a chunk to a new file that is none yet.
    pub(super) fn put(&self, chunk: u64, content: &[u8], threads: usize) -> Result<Stored> {
        let second = self.second(chunk) == Some(false);
        let name = new_name(chunk, second);
        let mut bytes = memory::with_room(HEADER.len())?;
        bytes.extend_from_slice(&HEADER);
        blosc::encode(&self.params, content, &mut bytes, threads)?;
        let digest = self.sum.of(bytes.get(HEADER.len()..).unwrap_or_default());
        memory::reserve(&mut bytes, digest.len())?;
        bytes.extend_from_slice(&digest);
        let written = self.place.open(&name, Access::Create).and_then(|file| file.write_at(0, &bytes));
        match written {
            Ok(()) => Ok((chunk, second, bytes.len() as u64)),
            Err(e) => {
                self.remove(&name);
                Err(e)
            }
        }
    }

    /// Writes chunks that stand behind each other, all or none.
    fn put_all(&self, first: u64, content: &[u8], chunk: u64) -> Result<Vec<Stored>> {
        let pieces: Vec<(u64, &[u8])> = (first..).zip(content.chunks(usize::try_from(chunk).unwrap_or(usize::MAX))).collect();
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
        stored.iter().for_each(|(chunk, second, _)| self.remove(&new_name(*chunk, *second)));
    }

    /// Chunks are in these files from now on. `there`: how many there are now.
    fn accept(&mut self, stored: Vec<Stored>, there: u64) -> Result<()> {
        if let Err(e) = memory::reserve(&mut self.waiting, stored.len()) {
            self.drop_all(&stored);
            return Err(e);
        }
        for (chunk, second, bytes) in stored {
            let old = self.name(chunk);
            let size = |name: &str| self.place.open(name, Access::Read).and_then(|f| f.size());
            let before = if chunk < there { size(&old).unwrap_or(0) } else { 0 };
            self.cbytes = self.cbytes.saturating_sub(before).saturating_add(bytes);
            match self.find(chunk) {
                Ok(at) => {
                    self.remove(&old);
                    self.waiting.get_mut(at).into_iter().for_each(|w| w.1 = second);
                }
                Err(at) => self.waiting.insert(at, (chunk, second)),
            }
        }
        Ok(())
    }
}

impl Chunks {
    fn edit(&mut self) -> Result<&mut Edit> {
        self.edit.as_deref_mut().ok_or_else(|| fail!(State, "it was opened to be read"))
    }

    /// Chunks behind each other, of which nothing is in memory, get other content.
    fn replace(&mut self, first: u64, content: &[u8]) -> Result<()> {
        let (chunk, there) = (self.chunk, self.count());
        let edit = self.edit()?;
        let stored = edit.put_all(first, content, chunk)?;
        edit.accept(stored, there)
    }

    /// What is in memory goes to a file, and stays in memory.
    pub fn flush(&mut self) -> Result<()> {
        let (chunk, there) = (self.chunk, self.count());
        let edit = self.edit()?;
        let Some(open) = edit.open.take_if(|o| o.changed) else { return Ok(()) };
        let stored = edit.put_all(open.chunk, &open.content, chunk);
        let done = stored.and_then(|stored| edit.accept(stored, there));
        edit.open = Some(Open { changed: done.is_err(), ..open });
        done
    }

    /// The content of a chunk, as much as counts, to be changed; zeros, maybe, if it is not wanted.
    fn opened(&mut self, chunk: u64, is_wanted: bool) -> Result<&mut Vec<u8>> {
        if self.edit()?.open.as_ref().is_none_or(|o| o.chunk != chunk) {
            self.flush()?;
            let n = memory::allow(self.wanted(chunk), self.edit()?.limit, "a chunk")?;
            let mut content = memory::zeroed(n)?;
            if is_wanted && !content.is_empty() && self.read(chunk.saturating_mul(self.chunk), &mut content)? {
                return Err(fail!(Format, "chunk {chunk} is damaged, and can be written as a whole only").at(chunk));
            }
            self.edit()?.open = Some(Open { chunk, content, changed: false });
        }
        let open = self.edit()?.open.as_mut().ok_or_else(|| fail!(State, "no open chunk"))?;
        open.changed = true;
        Ok(&mut open.content)
    }

    /// Chunks that are encoded at once.
    fn group(&self) -> u64 {
        let threads = self.edit.as_ref().map_or(1, |e| e.threads.max(1) as u64);
        (GROUP / self.chunk).clamp(1, threads * 4)
    }

    /// How much of this content is whole chunks, those that go at once.
    fn whole(&self, n: usize) -> usize {
        let chunks = (n as u64 / self.chunk).min(self.group());
        (chunks * self.chunk) as usize
    }

    /// Puts content behind the last. On failure some of it may be there.
    pub fn append(&mut self, mut src: &[u8]) -> Result<()> {
        self.edit()?;
        while !src.is_empty() {
            let (i, used) = (self.len / self.chunk, self.len % self.chunk);
            let whole = if used == 0 { self.whole(src.len()) } else { 0 };
            let room = (self.chunk - used).min(src.len() as u64) as usize;
            let (now, rest) = src.split_at_checked(if whole > 0 { whole } else { room }).unwrap_or((src, &[]));
            if whole > 0 {
                self.replace(i, now)?;
            } else {
                let content = self.opened(i, true)?;
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
        while !src.is_empty() {
            let (i, from) = (at / self.chunk, at % self.chunk);
            let whole = if from == 0 { self.whole(src.len()) } else { 0 };
            let room = (self.chunk - from).min(src.len() as u64) as usize;
            let (now, rest) = src.split_at_checked(if whole > 0 { whole } else { room }).unwrap_or((src, &[]));
            if whole > 0 {
                let chunks = whole as u64 / self.chunk;
                self.replace(i, now)?;
                // what was in memory of these is of no use
                self.edit()?.open.take_if(|o| (i..i + chunks).contains(&o.chunk));
            } else {
                let place = self.opened(i, (now.len() as u64) < self.wanted(i))?.get_mut(from as usize..).and_then(|c| c.get_mut(..now.len()));
                place.ok_or_else(|| fail!(State, "a chunk of another size"))?.copy_from_slice(now);
            }
            (at, src) = (at + now.len() as u64, rest);
        }
        Ok(())
    }

    /// Keeps the first `n` bytes of content.
    pub fn truncate(&mut self, n: u64) -> Result<()> {
        let (len, chunk) = (self.len, self.chunk);
        let edit = self.edit()?;
        if n > len {
            return Err(fail!(Range, "{n} bytes are to stay: there are {len}"));
        }
        edit.kept = edit.kept.min(n);
        edit.cbytes = (u128::from(edit.cbytes) * u128::from(n) / u128::from(len.max(1))) as u64;
        let gone = edit.waiting.partition_point(|(i, _)| *i < n.div_ceil(chunk));
        for (i, second) in edit.waiting.split_off(gone) {
            edit.remove(&new_name(i, second));
        }
        edit.open.take_if(|o| o.chunk.saturating_mul(chunk) >= n);
        if let Some(open) = edit.open.as_mut().filter(|o| o.chunk == n / chunk) {
            open.content.truncate((n % chunk) as usize);
        }
        self.len = n;
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
        let len = (self.len - s.gone).checked_add(s.src.len() as u64).ok_or_else(|| fail!(Limit, "more than 2^64 bytes"))?;
        let first = s.at / self.chunk;
        let mut all = Vec::new();
        let done = self.refill(s, first, end, len, &mut all);
        let there = self.count();
        let edit = self.edit()?;
        if let Err(e) = done {
            edit.drop_all(&all);
            return Err(e);
        }
        edit.accept(all, there)?;
        (edit.open, edit.kept) = (None, edit.kept.min(s.at));
        if len < self.len {
            self.truncate(len)?;
        }
        self.len = len;
        Ok(())
    }

    /// Writes the chunks from `first` on as a splice makes them.
    fn refill(&self, s: &Splice, first: u64, end: u64, len: u64, all: &mut Vec<Stored>) -> Result<()> {
        let edit = self.edit.as_deref().ok_or_else(|| fail!(State, "it was opened to be read"))?;
        let most = self.group().saturating_mul(self.chunk);
        let mut content = memory::zeroed(memory::allow(most.min(len), edit.limit, "some chunks")?)?;
        let mut at = first.saturating_mul(self.chunk);
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
            let stored = edit.put_all(at / self.chunk, now, self.chunk)?;
            memory::reserve(all, stored.len()).inspect_err(|_| edit.drop_all(&stored))?;
            all.extend(stored);
            at = to;
        }
        Ok(())
    }
}
