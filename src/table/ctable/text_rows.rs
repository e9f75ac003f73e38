//! A column of texts, bytes or packed values of a CTable as the store of an array: the rows that exist, in order.
#![forbid(unsafe_code)]

use super::valid_rows::ValidRows;
use crate::array::store::{Reader, Store, Texts};
use crate::blosc::{StoredCodec, StoredEncoding};
use crate::checksum::Checksum;
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, fail};
use crate::format::Format;
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
    limit: u64,
}

impl TextRows {
    /// Creates the store of the rows of a column; `packed`: the type of values in MessagePack. A read
    /// may need `limit` bytes.
    pub fn new(
        name: String,
        source: Box<dyn TextSource>,
        valid: Arc<ValidRows>,
        packed: Option<PackedType>,
        limit: u64,
    ) -> TextRows {
        TextRows {
            name,
            source,
            valid,
            packed,
            limit,
        }
    }

    fn not_bytes(&self) -> Error {
        fail!(
            Type,
            "{}: the items have no fixed length; read them one by one, or with Arrow",
            self.name
        )
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
        StoredEncoding {
            codec: StoredCodec::Mixed,
            level: None,
            filters: Vec::new(),
            precision: None,
        }
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
        Err(self.not_bytes())
    }

    fn copy_as(&self, _: Destination, _: Option<&[u8]>, _: u64, _: Reader) -> Result<bool> {
        Err(self.not_bytes())
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
        let (mut texts, mut row, end) = (Texts::new(self.limit), first, first.saturating_add(n));
        while row < end {
            let run = self.valid.run(row, end - row);
            if run.is_empty() {
                return Err(fail!(State, "{}: row {row} has no position", self.name));
            }
            row += run.end - run.start;
            self.source
                .read(run, &mut texts)
                .map_err(|e| e.within(&self.name))?;
        }
        Ok(texts)
    }

    fn object(&self, i: u64) -> Result<Vec<u8>> {
        if i >= self.valid.count() {
            return Err(fail!(
                Range,
                "{}: item {i} is out of range; the length is {}",
                self.name,
                self.valid.count()
            ));
        }
        Ok(self.texts(i, 1)?.bytes)
    }
}

/// Returns an error if the bytes are no text.
pub fn check_text(position: u64, bytes: &[u8]) -> Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(fail!(
            Format,
            "the text at position {position} is not UTF-8: \"{}\"",
            bytes.escape_ascii()
        )),
    }
}
