//! Metalayers: named values of fixed length in the header, and of variable length in the trailer,
//! stored as Blosc chunks.
#![forbid(unsafe_code)]

use super::Frame;
use super::checksums::CHECKSUMS;
use super::metalayers::MetalayerKind;
use crate::alloc;
use crate::blosc::{self, Codec, Params, Target};
use crate::error::{Error, Result, fail};
use crate::parallel::get_or_init;
use std::sync::OnceLock;

/// Metalayers of the header by which python-blosc2 marks a frame whose content is computed or
/// fetched when it is read: lazy expressions and functions, references, and proxies. Its chunks are
/// empty, or they cache part of the content.
const PLACEHOLDERS: [&str; 3] = ["b2o", "LazyArray", "proxy-source"];

/// Refuses a frame whose chunks do not hold its content.
pub(super) fn refuse_placeholder(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
    match names
        .into_iter()
        .find(|name| PLACEHOLDERS.contains(&name.as_ref()))
    {
        Some(name) => Err(fail!(
            Unsupported,
            "the metalayer {:?} marks an object of python-blosc2 whose content is not in its chunks; save what it computes instead",
            name.as_ref()
        )),
        None => Ok(()),
    }
}

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

pub(super) fn absent(name: &str) -> Error {
    Error::internal(format_args!("metalayer {name:?} is listed but absent"))
}

impl Frame {
    /// Returns the names of the metalayers: those of fixed length, then the others.
    pub fn meta_names(&self) -> impl Iterator<Item = &str> {
        self.header
            .metalayers
            .iter()
            .map(|(n, _)| n.as_str())
            .chain(self.vlmeta.iter().map(|v| v.name.as_str()))
    }

    /// Returns the value of a metalayer of [`Frame::meta_names`].
    pub fn existing_meta(&self, name: &str) -> Result<&[u8]> {
        self.meta(name)?.ok_or_else(|| absent(name))
    }

    /// Is there a metalayer of fixed length with this name?
    pub fn is_fixed(&self, name: &str) -> bool {
        self.header.meta(name).is_some()
    }

    /// Returns the value of a metalayer.
    pub fn meta(&self, name: &str) -> Result<Option<&[u8]>> {
        if name == CHECKSUMS {
            return Ok(None);
        }
        if let Some(value) = self.header.meta(name) {
            return Ok(Some(value));
        }
        self.vlmeta(name)
    }

    /// Returns the value of a variable-length metalayer.
    pub fn vlmeta(&self, name: &str) -> Result<Option<&[u8]>> {
        let found = self.vlmeta.iter().find(|v| v.name == name);
        let value = found.map(|v| v.value(self.memory_limit)).transpose();
        value.map_err(|e| e.within(format_args!("{}: metalayer {name:?}", self.name)))
    }

    /// Sets a metalayer. A name that exists in the trailer is set there; any other name is set in
    /// the header. In the header a value of the same length is changed in place; another length
    /// moves all chunks at the commit.
    pub fn meta_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.check_writer()?;
        refuse_empty_name(name)?;
        self.refuse_checksums_name(name)?;
        refuse_placeholder([name])?;
        if self.vlmeta.iter().any(|v| v.name == name) {
            return self.vlmeta_set(name, value);
        }
        let mut header = self.header.clone();
        let value = copied(value)?;
        match header.metalayers.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => header.metalayers.push((name.to_owned(), value)),
        }
        header.encode().map_err(|e| e.within(&self.name))?;
        (self.header, self.writing.changed) = (header, true);
        Ok(())
    }

    /// Sets a variable-length metalayer.
    pub fn vlmeta_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.check_writer()?;
        refuse_empty_name(name)?;
        self.refuse_checksums_name(name)?;
        MetalayerKind::Variable.check_name(name)?;
        if self.is_fixed(name) {
            return Err(fail!(
                Argument,
                "{}: {name:?} is a metalayer of fixed length",
                self.name
            ));
        }
        let mut chunk = Vec::new();
        blosc::encode(
            &Params::new(Target::Blosc2, Codec::Zstd, 5, 1),
            value,
            &mut chunk,
            1,
        )?;
        let new = Variable::new(name.to_owned(), chunk);
        let count = self.vlmeta.len();
        match self.vlmeta.iter_mut().find(|v| v.name == name) {
            Some(old) => *old = new,
            // the checksums take one of the available metalayers
            None if count + 1 >= MetalayerKind::Variable.most() => {
                return Err(fail!(
                    Limit,
                    "{}: there are {count} metalayers already",
                    self.name
                ));
            }
            None => self.vlmeta.push(new),
        }
        self.writing.changed = true;
        Ok(())
    }

    /// Removes a variable-length metalayer.
    pub fn meta_remove(&mut self, name: &str) -> Result<()> {
        self.check_writer()?;
        self.refuse_checksums_name(name)?;
        if self.is_fixed(name) {
            return Err(fail!(
                Unsupported,
                "{}: {name:?} is a metalayer of fixed length and cannot be removed",
                self.name
            ));
        }
        let before = self.vlmeta.len();
        self.vlmeta.retain(|v| v.name != name);
        if self.vlmeta.len() == before {
            return Err(fail!(
                Missing,
                "{}: there is no metalayer {name:?}",
                self.name
            ));
        }
        self.writing.changed = true;
        Ok(())
    }

    fn refuse_checksums_name(&self, name: &str) -> Result<()> {
        if name != CHECKSUMS {
            return Ok(());
        }
        Err(fail!(
            Argument,
            "{}: {CHECKSUMS:?} is reserved for the checksums of the chunks",
            self.name
        ))
    }
}

fn copied(value: &[u8]) -> Result<Vec<u8>> {
    let mut copy = alloc::with_capacity(value.len())?;
    copy.extend_from_slice(value);
    Ok(copy)
}

fn refuse_empty_name(name: &str) -> Result<()> {
    if name.is_empty() {
        Err(fail!(Argument, "the name of a metalayer must not be empty"))
    } else {
        Ok(())
    }
}
