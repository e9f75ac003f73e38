//! Reads and sets metalayers: named values of fixed length in the header, and of variable length in
//! the trailer.
#![forbid(unsafe_code)]

use super::checksums::CHECKSUMS;
use super::layout::FrameLayout;
use super::metalayers::{MetalayerKind, refuse_placeholder};
use super::read::FrameReader;
use super::vlmeta::Variable;
use super::write::FrameWriter;
use crate::alloc;
use crate::blosc::{self, Codec, Params, Target};
use crate::error::{Error, Result, fail};

pub(super) fn absent(name: &str) -> Error {
    Error::internal(format_args!("metalayer {name:?} is listed but absent"))
}

impl FrameReader {
    /// Returns the names of the metalayers: those of fixed length, then the others.
    pub(super) fn meta_names(&self) -> impl Iterator<Item = &str> {
        let FrameLayout { header, vlmeta, .. } = &self.layout;
        header
            .metalayers
            .iter()
            .map(|(n, _)| n.as_str())
            .chain(vlmeta.iter().map(|v| v.name.as_str()))
    }

    /// Returns the value of a metalayer of [`FrameReader::meta_names`].
    pub(super) fn existing_meta(&self, name: &str) -> Result<&[u8]> {
        self.meta(name)?.ok_or_else(|| absent(name))
    }

    /// Is there a metalayer of fixed length with this name?
    pub(super) fn is_fixed(&self, name: &str) -> bool {
        self.layout.header.meta(name).is_some()
    }

    /// Returns the value of a metalayer.
    pub(super) fn meta(&self, name: &str) -> Result<Option<&[u8]>> {
        if name == CHECKSUMS {
            return Ok(None);
        }
        if let Some(value) = self.layout.header.meta(name) {
            return Ok(Some(value));
        }
        self.vlmeta(name)
    }

    /// Returns the value of a variable-length metalayer.
    pub(super) fn vlmeta(&self, name: &str) -> Result<Option<&[u8]>> {
        let found = self.layout.vlmeta.iter().find(|v| v.name == name);
        let value = found.map(|v| v.value(self.memory_limit)).transpose();
        value.map_err(|e| e.within(format_args!("{}: metalayer {name:?}", self.layout.name)))
    }
}

impl FrameWriter {
    /// Sets a metalayer. A name that exists in the trailer is set there; any other name is set in
    /// the header. In the header a value of the same length is changed in place; another length
    /// moves all chunks at the commit.
    pub(super) fn meta_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        refuse_empty_name(name)?;
        self.refuse_checksums_name(name)?;
        refuse_placeholder([name])?;
        let layout = &mut self.reader.layout;
        if layout.vlmeta.iter().any(|v| v.name == name) {
            return self.vlmeta_set(name, value);
        }
        let mut header = layout.header.clone();
        let value = copied(value)?;
        match header.metalayers.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => header.metalayers.push((name.to_owned(), value)),
        }
        header.encode().map_err(|e| e.within(&layout.name))?;
        (layout.header, self.changed) = (header, true);
        Ok(())
    }

    /// Sets a metalayer of fixed length, as [`FrameWriter::meta_set`].
    pub(super) fn fixed_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        if self.reader.layout.vlmeta.iter().any(|v| v.name == name) {
            return Err(fail!(
                Argument,
                "{}: {name:?} is a metalayer of variable length; remove it first",
                self.reader.layout.name
            ));
        }
        self.meta_set(name, value)
    }

    /// Sets a variable-length metalayer.
    pub(super) fn vlmeta_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        refuse_empty_name(name)?;
        self.refuse_checksums_name(name)?;
        MetalayerKind::Variable.check_name(name)?;
        if self.reader.is_fixed(name) {
            return Err(fail!(
                Argument,
                "{}: {name:?} is a metalayer of fixed length",
                self.reader.layout.name
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
        let count = self.reader.layout.vlmeta.len();
        match self
            .reader
            .layout
            .vlmeta
            .iter_mut()
            .find(|v| v.name == name)
        {
            Some(old) => *old = new,
            // the checksums take one of the available metalayers
            None if count + 1 >= MetalayerKind::Variable.most() => {
                return Err(fail!(
                    Limit,
                    "{}: there are {count} metalayers already",
                    self.reader.layout.name
                ));
            }
            None => self.reader.layout.vlmeta.push(new),
        }
        self.changed = true;
        Ok(())
    }

    /// Removes a variable-length metalayer.
    pub(super) fn meta_remove(&mut self, name: &str) -> Result<()> {
        self.refuse_checksums_name(name)?;
        if self.reader.is_fixed(name) {
            return Err(fail!(
                Unsupported,
                "{}: {name:?} is a metalayer of fixed length and cannot be removed",
                self.reader.layout.name
            ));
        }
        let before = self.reader.layout.vlmeta.len();
        self.reader.layout.vlmeta.retain(|v| v.name != name);
        if self.reader.layout.vlmeta.len() == before {
            return Err(fail!(
                Missing,
                "{}: there is no metalayer {name:?}",
                self.reader.layout.name
            ));
        }
        self.changed = true;
        Ok(())
    }

    fn refuse_checksums_name(&self, name: &str) -> Result<()> {
        if name != CHECKSUMS {
            return Ok(());
        }
        Err(fail!(
            Argument,
            "{}: {CHECKSUMS:?} is reserved for the checksums of the chunks",
            self.reader.layout.name
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
