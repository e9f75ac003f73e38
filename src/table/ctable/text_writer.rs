//! A column of texts, or other values of any length, of a CTable that is open for writing, as the
//! store of an array.
#![forbid(unsafe_code)]

use super::commit_part::CommitPart;
use super::null_mask::{NullMask, SharedMask};
use super::row_map::RowMap;
use super::schema::TextForm;
use super::text_rows::{TextSource, check_text, not_bytes, object_of, rows_of};
use super::valid_rows::ValidRows;
use crate::array::store::{Reader, Store, Texts};
use crate::blosc::StoredEncoding;
use crate::checksum::Checksum;
use crate::dtype::packed::PackedType;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::journal::Session;
use crate::json::Value;
use crate::progress::Progress;
use crate::superchunk::bloscpack::{Destination, Splice};
use crate::superchunk::frame::Frame;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Values by position that can be changed.
pub trait TextSink: TextSource {
    /// Adds values after the last position. On failure some of them may be added.
    fn append(&mut self, texts: &Texts) -> Result<()>;
    /// Overwrites values from this position on, which exist.
    fn overwrite(&mut self, position: u64, texts: &Texts) -> Result<()>;
    /// Keeps the values of the first `positions` positions.
    fn truncate(&mut self, positions: u64) -> Result<()>;
    /// Writes all values, in frames for `positions` positions. Returns the frames.
    fn prepare_commit(&mut self, positions: u64) -> Result<Vec<&mut Frame>>;
}

/// How nulls are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum TextNulls {
    /// There are none.
    None,
    /// As this text.
    Value(Vec<u8>),
    /// As an empty text, in a mask.
    Mask,
    /// By the sink.
    Sink,
}

/// The rows of a sink.
pub struct TextWriter {
    name: String,
    sink: Box<dyn TextSink>,
    form: TextForm,
    nulls: TextNulls,
    /// The member of the schema.
    entry: Value,
    map: RowMap,
    mask: Option<SharedMask>,
    session: Arc<Session>,
    limit: u64,
    changed: bool,
}

impl TextWriter {
    /// Creates the store of rows with these positions. Those that the sink does not have are empty. A
    /// read may need `limit` bytes.
    pub fn new(
        (name, sink): (String, Box<dyn TextSink>),
        (form, nulls, entry): (TextForm, TextNulls, Value),
        map: RowMap,
        session: &Arc<Session>,
        limit: u64,
    ) -> Result<TextWriter> {
        let mut writer = TextWriter {
            name,
            sink,
            form,
            nulls,
            entry,
            map,
            mask: None,
            session: session.clone(),
            limit,
            changed: false,
        };
        if writer.sink.len() < writer.map.end() {
            writer.pad(writer.map.end())?;
        }
        Ok(writer)
    }

    /// Returns the member of the schema that describes the column.
    pub fn entry(&self) -> &Value {
        &self.entry
    }

    /// Returns values as they are stored, or an error if the column cannot have one of them.
    fn stored<'t>(&self, texts: &'t Texts) -> Result<Cow<'t, Texts>> {
        let wrong = |i: usize, what: &str| {
            let e = fail!(Type, "{}: value {i}: {what}", self.name);
            e.at(i as u64)
        };
        if !self.form.is_text() || !texts.is_text() {
            for i in (0..texts.len()).filter(|i| !texts.is_null(*i)) {
                let checked = self.check(texts.get(i).unwrap_or_default());
                checked.map_err(|e| wrong(i, &e.message))?;
            }
        }
        let null = match &self.nulls {
            TextNulls::Value(null) => null,
            TextNulls::Mask | TextNulls::Sink => return Ok(Cow::Borrowed(texts)),
            TextNulls::None => {
                return match texts.nulls.iter().position(|null| *null) {
                    Some(i) => Err(wrong(i, "a null, which the column cannot have")),
                    None => Ok(Cow::Borrowed(texts)),
                };
            }
        };
        let mut stored = Texts::new(u64::MAX);
        for i in 0..texts.len() {
            match (texts.is_null(i), texts.get(i).unwrap_or_default()) {
                (true, _) => stored.push(null, true)?,
                (false, text) if null == text => {
                    return Err(wrong(i, "this text marks nulls in the column"));
                }
                (false, text) => stored.push(text, false)?,
            }
        }
        Ok(Cow::Owned(stored))
    }

    fn check(&self, value: &[u8]) -> Result<()> {
        match self.form.packed() {
            Some(of) => of.check(value),
            None if self.form.is_text() => check_text(value),
            None => Ok(()),
        }
    }

    fn change_mask(&self, change: impl FnOnce(&mut NullMask) -> Result<()>) -> Result<()> {
        match &self.mask {
            Some(mask) => change(&mut mask.write()),
            None => Ok(()),
        }
    }

    /// Sets the nulls of rows from `first` on, if a mask marks them.
    fn set_nulls(&self, first: u64, texts: &Texts) -> Result<()> {
        self.change_mask(|mask| mask.set_nulls(&self.map, first, &texts.nulls))
    }

    /// Gives the sink as many positions as the map has.
    fn align(&mut self) -> Result<()> {
        let end = self.map.end();
        match self.sink.len() > end {
            true => self.sink.truncate(end),
            false => self.pad(end),
        }
    }

    /// Adds empty values to the sink, up to a number of positions.
    fn pad(&mut self, positions: u64) -> Result<()> {
        for at in (self.sink.len()..positions).step_by(Texts::PIECE as usize) {
            let due = Texts::PIECE.min(positions - at);
            self.sink.append(&Texts::empty(due as usize, true))?;
        }
        Ok(())
    }

    /// Appends values in their stored form.
    fn append(&mut self, stored: &Texts) -> Result<()> {
        self.align()?;
        self.sink.append(stored)?;
        self.map.grow(stored.len() as u64);
        Ok(())
    }

    fn append_rows(&mut self, stored: &Texts) -> Result<()> {
        let (rows, n) = (self.map.rows(), stored.len() as u64);
        let appended = self
            .append(stored)
            .and_then(|()| self.change_mask(|mask| mask.append(n)))
            .and_then(|()| self.set_nulls(rows, stored));
        if appended.is_err() {
            self.map.truncate(rows);
            self.change_mask(|mask| mask.truncate(rows))?;
        }
        appended
    }

    /// Overwrites all rows. The values move once only, however many gaps there are between the rows.
    fn overwrite_all(&mut self, stored: &Texts) -> Result<()> {
        self.sink.truncate(0)?;
        let (mut row, end) = (0, self.map.end());
        while row < self.map.rows() {
            let run = self.map.run(row, self.map.rows() - row);
            self.pad(run.start)?;
            let next = row + (run.end - run.start);
            let mut part = Texts::new(u64::MAX);
            part.extend(stored, row as usize..next as usize)?;
            self.sink.append(&part)?;
            row = next;
        }
        self.pad(end)
    }

    fn overwrite(&mut self, at: u64, stored: &Texts) -> Result<()> {
        if stored.len() as u64 == self.map.rows() {
            let written = self.overwrite_all(stored);
            written.inspect_err(|_| self.session.mark_broken())?;
            return self.set_nulls(0, stored);
        }
        let (mut row, mut done) = (at, 0);
        while done < stored.len() {
            let run = self.map.run(row, (stored.len() - done) as u64);
            let n = (run.end - run.start) as usize;
            if n == 0 {
                return Err(fail!(State, "{}: row {row} has no position", self.name));
            }
            let mut part = Texts::new(u64::MAX);
            part.extend(stored, done..done + n)?;
            let written = self.sink.overwrite(run.start, &part);
            // values that follow may have moved in part
            written.inspect_err(|_| self.session.mark_broken())?;
            (row, done) = (row + n as u64, done + n);
        }
        self.set_nulls(at, stored)
    }

    /// Replaces rows by others of another number. Those after them get new positions.
    fn replace(&mut self, at: u64, gone: u64, stored: &Texts) -> Result<()> {
        let before = self.map.clone();
        let replaced = self.replace_before(&before, at, gone, stored);
        if replaced.is_err() {
            self.map = before;
        }
        replaced?;
        let n = stored.len() as u64;
        self.change_mask(|mask| mask.splice(at, gone, n))?;
        self.set_nulls(at, stored)
    }

    fn replace_before(
        &mut self,
        before: &RowMap,
        at: u64,
        gone: u64,
        stored: &Texts,
    ) -> Result<()> {
        if stored.is_empty() {
            return self.map.remove(at..at + gone, self.limit);
        }
        self.align()?;
        self.map.truncate_before_tail(at)?;
        self.append(stored)?;
        let mut row = at + gone;
        while row < before.rows() {
            let n = Texts::PIECE.min(before.rows() - row);
            let mut moved = Texts::new(self.limit);
            rows_of(&*self.sink, row, n, |row, n| before.run(row, n), &mut moved)?;
            self.append(&moved)?;
            row += n;
        }
        Ok(())
    }
}

impl CommitPart for TextWriter {
    fn map(&self) -> &RowMap {
        &self.map
    }

    fn set_mask(&mut self, mask: SharedMask) {
        self.mask = Some(mask);
    }

    fn mask(&self) -> Option<&SharedMask> {
        self.mask.as_ref()
    }

    fn prepare_commit(&mut self, positions: u64) -> Result<Vec<&mut Frame>> {
        if self.changed {
            // python-blosc2 appends after the last value, but to other columns after the last row
            let end = self.map.last_end();
            if self.sink.len() > end {
                self.sink.truncate(end)?;
            }
        }
        self.sink.prepare_commit(positions)
    }

    fn finish_commit(&mut self, valid: &Arc<ValidRows>) {
        self.map = RowMap::new(valid.clone());
        self.changed = false;
    }
}

impl Store for TextWriter {
    fn name(&self) -> &str {
        &self.name
    }

    fn format(&self) -> Format {
        Format::CTable
    }

    fn encoding(&self) -> StoredEncoding {
        StoredEncoding::mixed()
    }

    fn checksum(&self) -> Checksum {
        Checksum::None
    }

    fn nbytes(&self) -> u64 {
        0
    }

    fn cbytes(&self) -> Result<u64> {
        self.sink.stored_bytes()
    }

    fn chunk_span(&self, at: u64) -> Range<u64> {
        at..at
    }

    fn chunk_bytes(&self) -> u64 {
        0
    }

    fn block_bytes(&self) -> Option<u64> {
        None
    }

    fn pending_bytes(&self) -> u64 {
        0
    }

    fn progress(&self) -> Option<&Progress> {
        None
    }

    fn file_threads(&self) -> usize {
        self.sink.threads()
    }

    fn read(&self, _: u64, _: &mut [u8]) -> Result<bool> {
        Err(not_bytes(&self.name))
    }

    fn copy_as(&self, _: Destination, _: Option<&[u8]>, _: u64, _: Reader) -> Result<bool> {
        Err(not_bytes(&self.name))
    }

    fn attr_names(&self) -> Vec<&str> {
        Vec::new()
    }

    fn attr(&self, _name: &str) -> Result<Option<&[u8]>> {
        Ok(None)
    }

    fn has_objects(&self) -> bool {
        true
    }

    fn packed(&self) -> Option<&PackedType> {
        self.form.packed()
    }

    fn texts(&self, first: u64, n: u64) -> Result<Texts> {
        let mut texts = Texts::new(self.limit);
        let run = |row, n| self.map.run(row, n);
        rows_of(&*self.sink, first, n, run, &mut texts).map_err(|e| e.within(&self.name))?;
        if let Some(mask) = &self.mask {
            let mut valid = vec![1; texts.len()];
            mask.read().read_rows(first, &mut valid)?;
            for (null, valid) in texts.nulls.iter_mut().zip(valid) {
                *null |= valid == 0;
            }
        }
        Ok(texts)
    }

    fn object(&self, i: u64) -> Result<Vec<u8>> {
        object_of(self, self.map.rows(), i)
    }

    fn splice_texts(&mut self, at: u64, gone: u64, texts: &Texts) -> Result<()> {
        let (rows, n) = (self.map.rows(), texts.len() as u64);
        if at.checked_add(gone).is_none_or(|end| end > rows) {
            return Err(fail!(
                Range,
                "{}: {gone} rows from row {at} on: there are {rows}",
                self.name
            ));
        }
        let stored = self.stored(texts)?;
        self.changed = true;
        if at == rows {
            return self.append_rows(&stored);
        }
        if n == 0 && at + gone == rows {
            self.map.truncate(at);
            return self.change_mask(|mask| mask.truncate(at));
        }
        match gone == n {
            true => self.overwrite(at, &stored),
            false => self.replace(at, gone, &stored),
        }
    }

    fn splice(&mut self, _: &Splice) -> Result<()> {
        Err(not_bytes(&self.name))
    }

    fn set_shape(&mut self, _shape: &[u64]) -> Result<()> {
        Ok(())
    }

    fn attr_set(&mut self, _name: &str, _value: &[u8]) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: a column of values of any length has no attributes",
            self.name
        ))
    }

    fn commit(&mut self) -> Result<()> {
        Err(fail!(
            State,
            "{}: a column of a table is committed with the table",
            self.name
        ))
    }
}
