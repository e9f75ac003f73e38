//! A column of a CTable that the library does not read: it is listed, and each read is an error.
#![forbid(unsafe_code)]

use crate::array::store::{Reader, Store};
use crate::blosc::StoredEncoding;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::format::Format;
use crate::progress::Progress;
use crate::superchunk::bloscpack::Destination;
use std::ops::Range;

/// The store of such a column.
pub struct Unread {
    /// The name for messages.
    pub name: String,
    /// The kind of the values in the schema.
    pub kind: String,
}

impl Unread {
    fn refuse(&self) -> Error {
        fail!(
            Unsupported,
            "{}: values of kind {:?} are not read; select the other columns",
            self.name,
            self.kind
        )
    }
}

impl Store for Unread {
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
        Ok(0)
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
        1
    }

    fn read(&self, _: u64, _: &mut [u8]) -> Result<bool> {
        Err(self.refuse())
    }

    fn copy_as(&self, _: Destination, _: Option<&[u8]>, _: u64, _: Reader) -> Result<bool> {
        Err(self.refuse())
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

    fn object(&self, _: u64) -> Result<Vec<u8>> {
        Err(self.refuse())
    }
}
