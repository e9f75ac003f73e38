//! Metalayers: named values of the header, whose length is fixed, and of the trailer, which are stored as Blosc chunks.
#![forbid(unsafe_code)]

use super::{Frame, SUMS};
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::memory;
use crate::parallel::made;
use std::sync::OnceLock;

/// One of the trailer.
pub(super) struct Variable {
    pub(super) name: String,
    /// As it is stored.
    pub(super) chunk: Vec<u8>,
    value: OnceLock<Result<Vec<u8>>>,
}

impl Variable {
    pub(super) fn new(name: String, chunk: Vec<u8>) -> Variable {
        Variable { name, chunk, value: OnceLock::new() }
    }

    /// Its value; decoded when it is asked for.
    pub(super) fn value(&self, limit: u64) -> Result<&[u8]> {
        made(&self.value, || decode(&self.chunk, limit)).as_deref().map_err(Error::clone)
    }
}

/// The value of a metalayer that is a Blosc chunk.
pub(super) fn decode(chunk: &[u8], limit: u64) -> Result<Vec<u8>> {
    let header = blosc::Header::parse(chunk)?;
    if header.cbytes > chunk.len() {
        return Err(fail!(Format, "its chunk has {} bytes, {} are there", header.cbytes, chunk.len()));
    }
    let mut value = memory::zeroed(memory::allow(header.nbytes as u64, limit, "a metalayer")?)?;
    blosc::decode(chunk, &mut value, 1)?;
    Ok(value)
}

impl Frame {
    /// The names of the metalayers: those of fixed length, then the others.
    pub fn meta_names(&self) -> impl Iterator<Item = &str> {
        self.header.metalayers.iter().map(|(n, _)| n.as_str()).chain(self.vlmeta.iter().map(|v| v.name.as_str()))
    }

    /// Is there a metalayer of fixed length with this name?
    pub fn is_fixed(&self, name: &str) -> bool {
        self.header.meta(name).is_some()
    }

    /// The value of a metalayer.
    pub fn meta(&self, name: &str) -> Result<Option<&[u8]>> {
        if name == SUMS {
            return Ok(None);
        }
        if let Some(value) = self.header.meta(name) {
            return Ok(Some(value));
        }
        self.vlmeta(name)
    }

    /// The value of a metalayer of the trailer.
    pub fn vlmeta(&self, name: &str) -> Result<Option<&[u8]>> {
        let found = self.vlmeta.iter().find(|v| v.name == name);
        let value = found.map(|v| v.value(self.memory_limit)).transpose();
        value.map_err(|e| e.within(format_args!("{}: metalayer {name:?}", self.name)))
    }
}
