//! Variable-length metalayers: stored as Blosc chunks, and decoded on first use.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::parallel::get_or_init;
use std::sync::OnceLock;

/// A variable-length metalayer.
pub(super) struct Variable {
    pub(super) name: String,
    /// The value as it is stored.
    pub(super) chunk: Vec<u8>,
    value: OnceLock<Result<Vec<u8>>>,
}

impl Variable {
    pub(super) fn new(name: String, chunk: Vec<u8>) -> Variable {
        Variable {
            name,
            chunk,
            value: OnceLock::new(),
        }
    }

    /// Returns the value, which is decoded on first use.
    pub(super) fn value(&self, limit: u64) -> Result<&[u8]> {
        get_or_init(&self.value, || decode(&self.chunk, limit))
            .as_deref()
            .map_err(Error::clone)
    }
}

/// Decodes a metalayer that is a Blosc chunk.
pub(super) fn decode(chunk: &[u8], limit: u64) -> Result<Vec<u8>> {
    let header = blosc::Header::parse(chunk)?;
    if header.cbytes > chunk.len() {
        return Err(fail!(
            Format,
            "its chunk has {} bytes (found {})",
            header.cbytes,
            chunk.len()
        ));
    }
    let mut value = alloc::zeroed(alloc::allow(header.nbytes as u64, limit, "a metalayer")?)?;
    blosc::decode(chunk, &mut value, 1)?;
    Ok(value)
}
