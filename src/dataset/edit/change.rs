//! Changes of the bytes of a run of chunks, in the units that its files have.
#![forbid(unsafe_code)]

use super::{Edit, Names, Open, Stored};
use crate::alloc;
use crate::dataset::chunks::Chunks;
use crate::dataset::folder::Place;
use crate::error::{Result, fail};
use crate::superchunk::bloscpack::Splice;

/// Content that is encoded at once, about.
const GROUP: u64 = 32 << 20;

impl Chunks {
    fn edit(&mut self) -> Result<&mut Edit> {
        self.editing()
            .ok_or_else(|| fail!(State, "it was opened to be read"))
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
        let Some(open) = edit.open.take_if(|o| o.changed) else {
            return Ok(());
        };
        let stored = edit.put_all(open.unit, &open.content);
        let done = stored.and_then(|stored| self.accept(stored));
        self.edit()?.open = Some(Open {
            changed: done.is_err(),
            ..open
        });
        done
    }

    /// Bytes of a unit that count.
    fn counted(&self, unit: u64) -> u64 {
        self.len
            .saturating_sub(unit.saturating_mul(self.unit()))
            .min(self.unit())
    }

    /// The content of a unit, as much as counts, to be changed; zeros, maybe, if it is not wanted.
    fn opened(&mut self, unit: u64, is_wanted: bool) -> Result<&mut Vec<u8>> {
        if self.edit()?.open.as_ref().is_none_or(|o| o.unit != unit) {
            self.flush()?;
            let n = alloc::allow(self.counted(unit), self.edit()?.limit, "a file's content")?;
            let mut content = alloc::zeroed(n)?;
            let at = unit.saturating_mul(self.unit());
            if is_wanted && !content.is_empty() && self.read(at, &mut content)? {
                let chunk = at / self.chunk;
                return Err(fail!(
                    Format,
                    "what is damaged from chunk {chunk} on can be written as a whole only"
                )
                .at(chunk));
            }
            let edit = self.edit()?;
            edit.open = Some(Open {
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
            .ok_or_else(|| fail!(State, "no open content"))?;
        open.changed = true;
        Ok(&mut open.content)
    }

    /// The end of the last commit, to be appended to where it is; none where other things are
    /// changed there, or each chunk has a file of its own.
    fn tail(&mut self) -> Result<Option<&mut Vec<u8>>> {
        let (len, chunk) = (self.len, self.chunk);
        let edit = self.edit()?;
        let unit = len / edit.unit;
        if edit.tail.as_ref().is_none_or(|t| t.unit != unit) {
            let is_there =
                edit.names == Names::Many && edit.committed == len && edit.find(unit).is_err();
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
                    "the last chunk is damaged: nothing can be appended to it"
                )
                .at(len / chunk));
            }
            self.edit()?.tail = Some(Open {
                unit,
                from,
                content,
                changed: true,
            });
        }
        Ok(self.edit()?.tail.as_mut().map(|t| &mut t.content))
    }

    /// Units that are encoded at once.
    fn group(&self) -> u64 {
        let threads = self.edit.as_ref().map_or(1, |e| e.threads.count() as u64);
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
            let (now, rest) = src
                .split_at_checked(if whole > 0 { whole } else { room })
                .unwrap_or((src, &[]));
            if whole > 0 {
                self.replace(i, now)?;
            } else {
                // what is appended to the last commit goes where that is
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

    /// Writes over content. On failure some of it may be written.
    pub fn write(&mut self, mut at: u64, mut src: &[u8]) -> Result<()> {
        let end = at
            .checked_add(src.len() as u64)
            .filter(|end| *end <= self.len);
        end.ok_or_else(|| fail!(Range, "{} bytes at {at}: there are {}", src.len(), self.len))?;
        let edit = self.edit()?;
        edit.kept = if src.is_empty() {
            edit.kept
        } else {
            edit.kept.min(at)
        };
        let unit = self.unit();
        while !src.is_empty() {
            let (i, from) = (at / unit, at % unit);
            let whole = if from == 0 { self.whole(src.len()) } else { 0 };
            let room = (unit - from).min(src.len() as u64) as usize;
            let (now, rest) = src
                .split_at_checked(if whole > 0 { whole } else { room })
                .unwrap_or((src, &[]));
            if whole > 0 {
                let units = whole as u64 / unit;
                self.replace(i, now)?;
                // what was in memory of these is of no use
                let edit = self.edit()?;
                [&mut edit.open, &mut edit.tail]
                    .into_iter()
                    .for_each(|o| _ = o.take_if(|o| (i..i + units).contains(&o.unit)));
            } else {
                let place = self
                    .opened(i, (now.len() as u64) < self.counted(i))?
                    .get_mut(from as usize..)
                    .and_then(|c| c.get_mut(..now.len()));
                place
                    .ok_or_else(|| fail!(State, "content of another size"))?
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
    pub fn write_anew(
        &mut self,
        chunks: impl Iterator<Item = u64>,
        before: &dyn Fn(&Place, &str) -> Result<()>,
    ) -> Result<()> {
        let (unit, chunk, mut done) = (self.unit(), self.chunk, None);
        for i in chunks.map(|c| c.saturating_mul(chunk) / unit) {
            if done.replace(i) == Some(i) {
                continue;
            }
            let edit = self.edit()?;
            before(&edit.place, &edit.names.own(i))?;
            let n = alloc::allow(self.counted(i), self.edit()?.limit, "a file's content")?;
            let mut content = alloc::zeroed(n)?;
            self.read(i * unit, &mut content)?;
            self.write(i * unit, &content)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Puts rows in and takes rows away; what is behind moves. On failure all is as it was.
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
                "the chunks of a dataset are made of rows: these come and go as a whole"
            ));
        }
        self.flush()?;
        let (unit, tail) = (self.unit(), self.edit()?.tail.as_ref().map(|t| t.unit));
        if let Some(tail) = tail.filter(|t| s.at / unit <= *t) {
            // it moves
            self.opened(tail, true)?;
            self.flush()?;
        }
        let len = (self.len - s.gone)
            .checked_add(s.src.len() as u64)
            .ok_or_else(|| fail!(Limit, "more than 2^64 bytes"))?;
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
    fn refill(
        &self,
        s: &Splice,
        first: u64,
        end: u64,
        len: u64,
        all: &mut Vec<Stored>,
    ) -> Result<()> {
        let edit = self
            .edit
            .as_deref()
            .ok_or_else(|| fail!(State, "it was opened to be read"))?;
        let most = self.group().saturating_mul(edit.unit);
        let mut content = alloc::zeroed(alloc::allow(most.min(len), edit.limit, "some chunks")?)?;
        let mut at = first.saturating_mul(edit.unit);
        let new_end = s.at + s.src.len() as u64;
        while at < len {
            let now = content
                .get_mut(..(len - at).min(most) as usize)
                .unwrap_or_default();
            let to = at + now.len() as u64;
            let cut = |place: u64| (place.clamp(at, to) - at) as usize;
            let (before, rest) = now.split_at_mut_checked(cut(s.at)).unwrap_or_default();
            let (new, behind) = rest
                .split_at_mut_checked(cut(new_end) - before.len())
                .unwrap_or_default();
            let skip = at.max(s.at) - s.at;
            let given = s
                .src
                .get(skip.min(s.src.len() as u64) as usize..)
                .and_then(|src| src.get(..new.len()));
            new.copy_from_slice(given.ok_or_else(|| fail!(State, "content of another size"))?);
            let from = at.max(new_end) - new_end + end;
            let bad = |at: u64, dst: &mut [u8]| {
                if dst.is_empty() {
                    Ok(false)
                } else {
                    self.read(at, dst)
                }
            };
            if bad(at, before)? | bad(from, behind)? {
                return Err(fail!(Format, "chunks that would have to move are damaged"));
            }
            let stored = edit.put_all(at / edit.unit, now)?;
            alloc::reserve(all, stored.len()).inspect_err(|_| edit.drop_all(&stored))?;
            all.extend(stored);
            at = to;
        }
        Ok(())
    }
}
