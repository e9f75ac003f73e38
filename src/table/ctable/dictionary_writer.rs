//! Changes texts of a CTable that are stored as numbers of the texts of a dictionary.
#![forbid(unsafe_code)]

use super::batch_writer::BatchWriter;
use super::column_writer::ColumnWriter;
use super::commit_part::CommitPart;
use super::dictionary::check_numbers;
use super::text_rows::TextSource;
use super::text_writer::TextSink;
use super::utf8::pieces;
use super::utf8_writer::growing;
use crate::alloc;
use crate::array::Array;
use crate::array::store::{Store, Texts};
use crate::error::{Result, fail};
use crate::superchunk::frame::Frame;
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a number.
const NUMBER: u64 = 4;

/// Numbers in an array that grows, and the texts that they stand for.
pub struct DictionaryWriter {
    numbers: ColumnWriter,
    stored: BatchWriter,
    values: Texts,
    number_of: HashMap<Vec<u8>, i32>,
    null: i32,
}

impl DictionaryWriter {
    /// Wraps the numbers of `n` texts, and the texts of the dictionary, at most `limit` bytes.
    pub fn new(
        numbers: Array,
        stored: BatchWriter,
        n: u64,
        null: i32,
        limit: u64,
    ) -> Result<DictionaryWriter> {
        check_numbers(&numbers)?;
        let mut values = Texts::new(limit);
        stored.read(0..stored.len(), &mut values)?;
        let mut number_of = HashMap::new();
        for i in 0..values.len() {
            let value = values.get(i).unwrap_or_default();
            number_of.entry(value.to_vec()).or_insert(i as i32);
        }
        Ok(DictionaryWriter {
            numbers: growing(numbers, n, limit)?,
            stored,
            values,
            number_of,
            null,
        })
    }

    /// Returns the number of each text. New texts get the next ones.
    fn numbers(&mut self, texts: &Texts) -> Result<Vec<u8>> {
        let mut numbers = alloc::with_capacity(texts.len() * NUMBER as usize)?;
        for i in 0..texts.len() {
            let number = match texts.is_null(i) {
                true => self.null,
                false => self.number(texts.get(i).unwrap_or_default())?,
            };
            numbers.extend(number.to_le_bytes());
        }
        Ok(numbers)
    }

    fn number(&mut self, text: &[u8]) -> Result<i32> {
        if let Some(number) = self.number_of.get(text) {
            return Ok(*number);
        }
        let next = self.values.len() as i32;
        // the number of nulls is usually none that a text can have
        if next == i32::MAX || next == self.null {
            return Err(fail!(Limit, "a dictionary of more than {next} texts"));
        }
        let mut one = Texts::new(u64::MAX);
        one.push(text, false)?;
        self.stored.append(&one)?;
        self.values.push(text, false)?;
        self.number_of.insert(text.to_vec(), next);
        Ok(next)
    }
}

impl TextSource for DictionaryWriter {
    fn len(&self) -> u64 {
        self.numbers.nbytes() / NUMBER
    }

    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        for piece in pieces(positions) {
            let mut numbers = alloc::zeroed(((piece.end - piece.start) * NUMBER) as usize)?;
            self.numbers.read(piece.start * NUMBER, &mut numbers)?;
            super::dictionary::push_texts(piece.start, &numbers, &self.values, self.null, to)?;
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        self.numbers.file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        self.numbers.cbytes()
    }
}

impl TextSink for DictionaryWriter {
    fn append(&mut self, texts: &Texts) -> Result<()> {
        let numbers = self.numbers(texts)?;
        self.numbers.append(&numbers)
    }

    fn overwrite(&mut self, position: u64, texts: &Texts) -> Result<()> {
        let numbers = self.numbers(texts)?;
        self.numbers.write(position * NUMBER, &numbers)
    }

    fn truncate(&mut self, positions: u64) -> Result<()> {
        self.numbers.truncate(positions * NUMBER)
    }

    fn prepare_commit(&mut self, positions: u64) -> Result<Vec<&mut Frame>> {
        let mut frames = self.numbers.prepare_commit(positions)?;
        frames.extend(self.stored.prepare_commit(positions)?);
        Ok(frames)
    }
}
