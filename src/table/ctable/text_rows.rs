//! A column of texts, bytes or packed values of a CTable as the store of an array: the rows that exist, in order.
#![forbid(unsafe_code)]

use super::valid_rows::ValidRows;
use crate::array::store::{Reader, Store, Texts};
use crate::blosc::StoredEncoding;
use crate::checksum::Checksum;
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, fail};
use crate::format::Format;
use crate::json::Value;
use crate::progress::Progress;
use crate::superchunk::bloscpack::Destination;
use std::ops::Range;
use std::sync::Arc;

/// Texts by position.
pub trait TextSource: Send + Sync {
    /// Returns the number of positions.
    fn len(&self) -> u64;
    /// Adds the texts at these positions, which exist.
    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()>;
    /// Returns the number of threads that may read at once.
    fn threads(&self) -> usize;
    /// Returns the number of bytes on disk.
    fn stored_bytes(&self) -> Result<u64>;
}

/// The rows of a column of texts.
pub struct TextRows {
    name: String,
    source: Box<dyn TextSource>,
    valid: Arc<ValidRows>,
    packed: Option<PackedType>,
    /// The member of the schema.
    entry: Value,
    limit: u64,
}

impl TextRows {
    /// Creates the store of the rows of a column; `packed`: the type of values in MessagePack. A read
    /// may need `limit` bytes.
    pub fn new(
        name: String,
        source: Box<dyn TextSource>,
        valid: Arc<ValidRows>,
        (packed, entry): (Option<PackedType>, Value),
        limit: u64,
    ) -> TextRows {
        TextRows {
            name,
            source,
            valid,
            packed,
            entry,
            limit,
        }
    }

    /// Returns the member of the schema that describes the column.
    pub fn entry(&self) -> &Value {
        &self.entry
    }
}

impl Store for TextRows {
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
        self.source.stored_bytes()
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
        self.source.threads()
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
        self.packed.as_ref()
    }

    fn texts(&self, first: u64, n: u64) -> Result<Texts> {
        let mut texts = Texts::new(self.limit);
        let run = |row, n| self.valid.run(row, n);
        rows_of(&*self.source, first, n, run, &mut texts).map_err(|e| e.within(&self.name))?;
        Ok(texts)
    }

    fn object(&self, i: u64) -> Result<Vec<u8>> {
        object_of(self, self.valid.count(), i)
    }
}

/// Adds `n` rows from `first` on to a list. `run` returns the positions of the first rows from one on
/// that are adjacent, at most so many.
pub fn rows_of(
    source: &dyn TextSource,
    first: u64,
    n: u64,
    run: impl Fn(u64, u64) -> Range<u64>,
    to: &mut Texts,
) -> Result<()> {
    let (mut row, end) = (first, first.saturating_add(n));
    while row < end {
        let positions = run(row, end - row);
        if positions.is_empty() {
            return Err(fail!(State, "row {row} has no position"));
        }
        row += positions.end - positions.start;
        source.read(positions, to)?;
    }
    Ok(())
}

/// Returns the bytes of the value of row `i` of `rows` rows.
pub fn object_of(store: &dyn Store, rows: u64, i: u64) -> Result<Vec<u8>> {
    if i >= rows {
        return Err(fail!(
            Range,
            "{}: item {i} is out of range; the length is {rows}",
            store.name()
        ));
    }
    Ok(store.texts(i, 1)?.bytes)
}

/// Returns the error of a call that needs items of fixed length.
pub fn not_bytes(name: &str) -> Error {
    fail!(
        Type,
        "{name}: the items have no fixed length; read them with holdall_array_read_values(), or with Arrow"
    )
}

/// Returns an error if the bytes are no text.
pub fn check_text(bytes: &[u8]) -> Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(fail!(
            Format,
            "the text is not UTF-8: \"{}\"",
            bytes.escape_ascii()
        )),
    }
}
