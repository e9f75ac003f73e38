//! Changes of the bytes of a run of chunks, in units of its files.
#![forbid(unsafe_code)]

use super::{Edit, FileLayout, StoredUnit, UnitBuffer, UnitEncoder};
use crate::alloc::{self, Scratch};
use crate::dataset::chunks::Chunks;
use crate::dataset::folder::DatasetDir;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Splice;

/// Approximate number of content bytes that are encoded at once.
const GROUP: u64 = 32 << 20;

/// Fills a buffer with the new content of a run from an offset on.
type Refill<'a> = &'a dyn Fn(&Chunks, u64, &mut [u8]) -> Result<()>;

impl Chunks {
    fn edit(&mut self) -> Result<&mut Edit> {
        self.editing()
            .ok_or_else(|| fail!(State, "it was opened for reading"))
    }

    /// Returns the number of content bytes in a unit.
    fn unit(&self) -> u64 {
        self.edit.as_ref().map_or(self.chunk, |e| e.unit)
    }

    /// Records that these units are stored in new files.
    fn accept(&mut self, stored: Vec<StoredUnit>) -> Result<()> {
        let len = self.len;
        let done = self.edit()?.accept(stored, len);
        self.drop_open_files();
        done
    }

    /// Replaces the content of consecutive units, none of which is in memory.
    fn replace(&mut self, first: u64, content: &[u8]) -> Result<()> {
        let stored = self.edit()?.write_units(first, content)?;
        self.accept(stored)
    }

    /// Writes the unit that is in memory to a file. The unit stays in memory.
    pub fn flush(&mut self) -> Result<()> {
        let edit = self.edit()?;
        let Some(open) = edit.open.take_if(|o| o.changed) else {
            return Ok(());
        };
        let stored = edit.write_units(open.unit, &open.content);
        let done = stored.and_then(|stored| self.accept(stored));
        self.edit()?.open = Some(UnitBuffer {
            changed: done.is_err(),
            ..open
        });
        done
    }

    /// Returns the number of bytes of a unit that are part of the content.
    fn unit_len(&self, unit: u64) -> u64 {
        self.len
            .saturating_sub(unit.saturating_mul(self.unit()))
            .min(self.unit())
    }

    /// Returns the buffer of a unit for changes. If `needs_content` is false, the buffer may be
    /// filled with zeros.
    fn opened(&mut self, unit: u64, needs_content: bool) -> Result<&mut Vec<u8>> {
        if self.edit()?.open.as_ref().is_none_or(|o| o.unit != unit) {
            self.flush()?;
            let n = alloc::allow(self.unit_len(unit), self.edit()?.limit, "a file's content")?;
            let mut content = alloc::zeroed(n)?;
            let at = unit.saturating_mul(self.unit());
            if needs_content && !content.is_empty() && self.read(at, &mut content)? {
                let chunk = at / self.chunk;
                return Err(fail!(
                    Format,
                    "the file is corrupt from chunk {chunk} on; only all of its content can be overwritten"
                )
                .at(chunk));
            }
            let edit = self.edit()?;
            edit.open = Some(UnitBuffer {
                unit,
                from: 0,
                content,
                changed: false,
            });
            edit.tail.take_if(|t| t.unit == unit);
        }
        let open = self
            .edit()?
            .open
            .as_mut()
            .ok_or_else(|| fail!(State, "no unit is buffered"))?;
        open.changed = true;
        Ok(&mut open.content)
    }

    /// Returns the buffer for appending to the last file of the last commit in place. Returns
    /// `None` if the file has other changes, or if each chunk has its own file.
    fn tail(&mut self) -> Result<Option<&mut Vec<u8>>> {
        let (len, chunk) = (self.len, self.chunk);
        let edit = self.edit()?;
        let unit = len / edit.unit;
        if edit.tail.as_ref().is_none_or(|t| t.unit != unit) {
            let is_there = edit.layout == FileLayout::Superchunks
                && edit.committed == len
                && edit.find(unit).is_err();
            if !is_there || edit.open.as_ref().is_some_and(|o| o.unit == unit) {
                return Ok(None);
            }
            let start = unit * edit.unit;
            let from = (len - start) / chunk * chunk;
            let mut content = alloc::zeroed(alloc::allow(
                len - start - from,
                edit.limit,
                "a chunk's content",
            )?)?;
            if !content.is_empty() && self.read(start + from, &mut content)? {
                return Err(fail!(
                    Format,
                    "the last chunk is corrupt, so nothing can be appended to it"
                )
                .at(len / chunk));
            }
            self.edit()?.tail = Some(UnitBuffer {
                unit,
                from,
                content,
                changed: true,
            });
        }
        Ok(self.edit()?.tail.as_mut().map(|t| &mut t.content))
    }

    /// Returns the number of units that are encoded at once.
    fn group(&self) -> u64 {
        let threads = self.edit.as_ref().map_or(1, |e| e.threads.count() as u64);
        (GROUP / self.unit()).clamp(1, threads * 4)
    }

    /// Returns the number of leading bytes that form complete units and are encoded at once.
    fn aligned_len(&self, n: usize) -> usize {
        let units = (n as u64 / self.unit()).min(self.group());
        (units * self.unit()) as usize
    }

    /// Appends content. On failure some of it may be appended.
    pub fn append(&mut self, mut src: &[u8]) -> Result<()> {
        self.edit()?;
        let unit = self.unit();
        while !src.is_empty() {
            let (i, used) = (self.len / unit, self.len % unit);
            let aligned = if used == 0 {
                self.aligned_len(src.len())
            } else {
                0
            };
            let room = (unit - used).min(src.len() as u64) as usize;
            let (now, rest) = src.cut(if aligned > 0 { aligned } else { room })?;
            if aligned > 0 {
                self.replace(i, now)?;
            } else {
                // data appended to the last unit of the last commit goes into the existing file
                let content = match if used > 0 { self.tail()? } else { None } {
                    Some(content) => content,
                    None => self.opened(i, true)?,
                };
                alloc::reserve(content, now.len())?;
                content.extend_from_slice(now);
            }
            self.len += now.len() as u64;
            src = rest;
        }
        Ok(())
    }

    /// Appends the complete chunks of another run as they are stored, if both have chunks of the same
    /// form. Returns the number of bytes of content. On failure some of it may be appended.
    ///
    /// Chunks that are appended to a superchunk in memory or of the last commit are encoded again.
    pub fn append_stored(&mut self, from: &Chunks) -> Result<u64> {
        let all = from.nbytes() - from.nbytes() % self.chunk;
        if all == 0 || !self.is_alike(from) || !self.len.is_multiple_of(self.chunk) {
            return Ok(0);
        }
        let (unit, mut at) = (self.unit(), 0);
        while at < all {
            let (i, room) = (self.len / unit, unit - self.len % unit);
            let n = room.min(all - at);
            if room == unit || n == room && self.is_only_in_new_file(i) {
                self.flush()?;
                self.edit()?.open.take_if(|open| open.unit >= i);
                let bytes = self.stored_unit(i, from, at, n)?;
                let stored = self.edit()?.write_file(i, &bytes)?;
                self.accept(vec![stored])?;
                self.len += n;
            } else {
                self.append_decoded(from, at, n)?;
            }
            at += n;
        }
        Ok(all)
    }

    /// Returns whether a unit is in a new file, and not in memory as well.
    fn is_only_in_new_file(&self, unit: u64) -> bool {
        let is_in_memory = |edit: &Edit| edit.open.as_ref().is_some_and(|o| o.unit == unit);
        let edit = self.edit.as_ref();
        edit.is_some_and(|edit| edit.find(unit).is_ok() && !is_in_memory(edit))
    }

    /// Appends `n` bytes of another run from offset `at` on, complete chunks.
    fn append_decoded(&mut self, from: &Chunks, at: u64, n: u64) -> Result<()> {
        let mut content = Scratch::new(self.chunk, self.edit()?.limit, "a chunk")?;
        for at in (at..at + n).step_by(content.len()) {
            from.read(at, &mut content)?;
            self.append(&content)?;
        }
        Ok(())
    }

    /// Returns the file of the last unit with its own chunks and those of another run from offset
    /// `at` on, `n` bytes of content.
    fn stored_unit(&self, unit: u64, from: &Chunks, at: u64, n: u64) -> Result<Vec<u8>> {
        let chunks = at / self.chunk..(at + n) / self.chunk;
        let Some(UnitEncoder::Superchunk(encoder)) = self.edit.as_ref().map(|e| &e.encoder) else {
            return from.stored_file(chunks.start);
        };
        let start = unit * self.unit();
        let own = (start / self.chunk..self.len / self.chunk).map(|i| self.stored_chunk(i));
        let stored = own.chain(chunks.map(|i| from.stored_chunk(i)));
        let nbytes = self.len - start + n;
        encoder.file_of_stored(stored.collect::<Result<_>>()?, nbytes as usize)
    }

    /// Overwrites content. On failure some of it may be overwritten.
    pub fn write(&mut self, mut at: u64, mut src: &[u8]) -> Result<()> {
        let end = at
            .checked_add(src.len() as u64)
            .filter(|end| *end <= self.len);
        end.ok_or_else(|| fail!(Range, "{} bytes at {at}: there are {}", src.len(), self.len))?;
        let edit = self.edit()?;
        edit.unchanged = if src.is_empty() {
            edit.unchanged
        } else {
            edit.unchanged.min(at)
        };
        let unit = self.unit();
        while !src.is_empty() {
            let (i, from) = (at / unit, at % unit);
            let aligned = if from == 0 {
                self.aligned_len(src.len())
            } else {
                0
            };
            let room = (unit - from).min(src.len() as u64) as usize;
            let (now, rest) = src.cut(if aligned > 0 { aligned } else { room })?;
            if aligned > 0 {
                let units = aligned as u64 / unit;
                self.replace(i, now)?;
                // the buffers of these units are outdated
                let edit = self.edit()?;
                [&mut edit.open, &mut edit.tail]
                    .into_iter()
                    .for_each(|o| _ = o.take_if(|o| (i..i + units).contains(&o.unit)));
            } else {
                let target = self
                    .opened(i, (now.len() as u64) < self.unit_len(i))?
                    .get_mut(from as usize..)
                    .and_then(|c| c.get_mut(..now.len()));
                target
                    .ok_or_else(|| fail!(State, "the content has an unexpected size"))?
                    .copy_from_slice(now);
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
            return Err(fail!(Range, "cannot keep {n} of {len} bytes"));
        }
        edit.unchanged = edit.unchanged.min(n);
        // the file contains everything except the appended bytes
        edit.tail.take_if(|_| n <= edit.committed);
        if let Some(tail) = edit.tail.as_mut().filter(|t| t.unit == n / unit) {
            tail.content.truncate((n % unit - tail.from) as usize);
        }
        edit.cbytes = (u128::from(edit.cbytes) * u128::from(n) / u128::from(len.max(1))) as u64;
        let gone = edit.pending.partition_point(|(i, _)| *i < n.div_ceil(unit));
        for (i, second) in edit.pending.split_off(gone) {
            edit.remove(&edit.layout.pending_name(i, second));
        }
        edit.open.take_if(|o| o.unit.saturating_mul(unit) >= n);
        if let Some(open) = edit.open.as_mut().filter(|o| o.unit == n / unit) {
            open.content.truncate((n % unit) as usize);
        }
        self.len = n;
        self.drop_open_files();
        Ok(())
    }

    /// Rewrites the units that contain these chunks, given in ascending order, with the content
    /// that can be read. Calls `before` with each file first.
    pub fn rewrite(
        &mut self,
        chunks: impl Iterator<Item = u64>,
        before: &dyn Fn(&DatasetDir, &str) -> Result<()>,
    ) -> Result<()> {
        let (unit, chunk, mut done) = (self.unit(), self.chunk, None);
        for i in chunks.map(|c| c.saturating_mul(chunk) / unit) {
            if done.replace(i) == Some(i) {
                continue;
            }
            let edit = self.edit()?;
            before(&edit.dir, &edit.layout.file_name(i))?;
            let n = alloc::allow(self.unit_len(i), self.edit()?.limit, "a file's content")?;
            let mut content = alloc::zeroed(n)?;
            self.read(i * unit, &mut content)?;
            self.write(i * unit, &content)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Inserts and removes rows; the following rows are shifted. On failure nothing is changed.
    pub fn splice(&mut self, s: &Splice) -> Result<()> {
        let end = s.at.checked_add(s.gone).filter(|end| *end <= self.len);
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{} bytes at {}: there are {}",
                s.gone,
                s.at,
                self.len
            )
        })?;
        let rows = [s.at, s.gone, s.src.len() as u64]
            .iter()
            .all(|n| n.is_multiple_of(self.row.max(1)));
        if s.times != 1 || !rows {
            return Err(fail!(
                Unsupported,
                "only complete rows of a dataset can be inserted or removed"
            ));
        }
        self.flush()?;
        let (unit, tail) = (self.unit(), self.edit()?.tail.as_ref().map(|t| t.unit));
        if let Some(tail) = tail.filter(|t| s.at / unit <= *t) {
            // it is shifted
            self.opened(tail, true)?;
            self.flush()?;
        }
        let len = (self.len - s.gone)
            .checked_add(s.src.len() as u64)
            .ok_or_else(|| fail!(Limit, "more than 2^64 bytes"))?;
        self.refill(s.at, len, &|this: &Chunks, at, now| {
            this.spliced(s, end, at, now)
        })
    }

    /// Changes the order of the chunks from `first` on: chunk `i` gets the content of chunk
    /// `from(i)`, or zeros. `n` is the new number of chunks. On failure nothing is changed.
    pub fn rearrange(
        &mut self,
        first: u64,
        n: u64,
        from: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<()> {
        let (at, len) = (
            first.saturating_mul(self.chunk),
            n.saturating_mul(self.chunk),
        );
        if first >= n {
            self.edit()?;
            return if len < self.len {
                self.truncate(len)
            } else {
                Ok(())
            };
        }
        self.flush()?;
        let (unit, tail) = (self.unit(), self.edit()?.tail.as_ref().map(|t| t.unit));
        if let Some(tail) = tail.filter(|t| at / unit <= *t) {
            self.opened(tail, true)?;
            self.flush()?;
        }
        self.refill(at, len, &|this: &Chunks, at, now| {
            let chunks = (at / this.chunk..).zip(now.chunks_mut(this.chunk as usize));
            for (i, part) in chunks {
                match from(i) {
                    None => part.fill(0),
                    Some(old) => {
                        if this.read(old.saturating_mul(this.chunk), part)? {
                            return Err(fail!(
                                Format,
                                "a chunk that would have to be moved is corrupt"
                            ));
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// Replaces the units from that of offset `at` on, so that the content has `len` bytes.
    /// `content` fills a buffer with the new content from an offset on.
    fn refill(&mut self, at: u64, len: u64, content: Refill) -> Result<()> {
        let mut all = Vec::new();
        if let Err(e) = self.write_refilled(at / self.unit(), len, content, &mut all) {
            self.edit()?.remove_all(&all);
            return Err(e);
        }
        self.accept(all)?;
        let edit = self.edit()?;
        (edit.open, edit.unchanged) = (None, edit.unchanged.min(at));
        if len < self.len {
            self.truncate(len)?;
        }
        self.len = len;
        Ok(())
    }

    fn write_refilled(
        &self,
        first: u64,
        len: u64,
        content: Refill,
        all: &mut Vec<StoredUnit>,
    ) -> Result<()> {
        let edit = self
            .edit
            .as_deref()
            .ok_or_else(|| fail!(State, "it was opened for reading"))?;
        let most = self.group().saturating_mul(edit.unit);
        let mut buffer = alloc::zeroed(alloc::allow(most.min(len), edit.limit, "some chunks")?)?;
        let mut at = first.saturating_mul(edit.unit);
        while at < len {
            let now = buffer.at_mut(..(len - at).min(most) as usize)?;
            let to = at + now.len() as u64;
            content(self, at, now)?;
            let stored = edit.write_units(at / edit.unit, now)?;
            alloc::reserve(all, stored.len()).inspect_err(|_| edit.remove_all(&stored))?;
            all.extend(stored);
            at = to;
        }
        Ok(())
    }

    /// Fills a buffer with the content from `at` on that results from the splice. `end` is the end
    /// of the removed content.
    fn spliced(&self, s: &Splice, end: u64, at: u64, now: &mut [u8]) -> Result<()> {
        let (to, new_end) = (at + now.len() as u64, s.at + s.src.len() as u64);
        let cut = |position: u64| (position.clamp(at, to) - at) as usize;
        let (before, rest) = now.cut_mut(cut(s.at))?;
        let (new, after) = rest.cut_mut(cut(new_end) - before.len())?;
        let skip = at.max(s.at) - s.at;
        let given = s
            .src
            .get(skip.min(s.src.len() as u64) as usize..)
            .and_then(|src| src.get(..new.len()));
        new.copy_from_slice(
            given.ok_or_else(|| fail!(State, "the content has an unexpected size"))?,
        );
        let from = at.max(new_end) - new_end + end;
        let read_damaged = |at: u64, dst: &mut [u8]| {
            if dst.is_empty() {
                Ok(false)
            } else {
                self.read(at, dst)
            }
        };
        if read_damaged(at, before)? | read_damaged(from, after)? {
            return Err(fail!(
                Format,
                "chunks that would have to be moved are corrupt"
            ));
        }
        Ok(())
    }
}
