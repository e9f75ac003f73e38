//! Blosc2 frames as stores of arrays. A frame without a shape is a run of items that changes only
//! at its end.
#![forbid(unsafe_code)]

use super::metalayer::void_dtype;
use super::store::{Reader, Store};
use super::tiled::is_array_metalayer;
use crate::blosc::StoredEncoding;
use crate::checksum::Checksum;
use crate::dtype::Dtype;
use crate::dtype::numpy_meta::{ArrayMeta, Order};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::progress::Progress;
use crate::superchunk::bloscpack::{Destination, Splice};
use crate::superchunk::frame::Frame;
use std::ops::Range;

/// Describes a frame without a shape as an array of one dimension, and returns the number of items
/// per chunk. The items are single bytes if the content is not a multiple of the item size.
pub fn plain(frame: &Frame) -> Result<(ArrayMeta, u64)> {
    let (size, nbytes) = (frame.typesize().max(1), frame.nbytes());
    let item = if nbytes.is_multiple_of(size as u64) {
        size
    } else {
        1
    };
    let dtype = if item == 1 {
        Dtype::parse("|u1")?
    } else {
        void_dtype(item)?
    };
    let chunk = (frame.chunk_bytes() / item).max(1) as u64;
    Ok((
        ArrayMeta {
            dtype,
            shape: vec![nbytes / item as u64],
            order: Order::C,
        },
        chunk,
    ))
}

impl Store for Frame {
    fn name(&self) -> &str {
        self.name()
    }
    fn format(&self) -> Format {
        Format::B2Frame
    }
    fn encoding(&self) -> StoredEncoding {
        self.header().encoding()
    }
    fn checksum(&self) -> Checksum {
        if self.has_checksums() {
            Checksum::Crc32
        } else {
            Checksum::None
        }
    }
    fn nbytes(&self) -> u64 {
        self.nbytes()
    }
    fn cbytes(&self) -> Result<u64> {
        self.cbytes()
    }
    fn stored_ends(&self) -> Option<Vec<(u64, u64)>> {
        self.stored_ends()
    }
    fn chunk_span(&self, at: u64) -> Range<u64> {
        let chunk = self.chunk_bytes() as u64;
        if let Some(number) = at.checked_div(chunk) {
            return number * chunk..(number * chunk).saturating_add(chunk);
        }
        // Binary search for the first chunk that ends after `at`.
        let (mut low, mut high) = (0, self.chunks());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.span(middle).is_ok_and(|span| span.end <= at) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        self.span(low).unwrap_or(at..u64::MAX)
    }
    fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes() as u64
    }
    fn block_bytes(&self) -> Option<u64> {
        Some(self.block_bytes() as u64).filter(|n| *n > 0)
    }
    fn pending_bytes(&self) -> u64 {
        Frame::pending_bytes(self)
    }

    fn progress(&self) -> Option<&Progress> {
        Frame::progress(self)
    }

    fn file_threads(&self) -> usize {
        self.file_threads()
    }
    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        self.read(at, dst)
    }
    fn copy_as(
        &self,
        to: Destination,
        meta: Option<&[u8]>,
        len: u64,
        read: Reader,
    ) -> Result<bool> {
        self.copy_as(to, meta, len, read)
    }
    fn attr_names(&self) -> Vec<&str> {
        self.meta_names()
            .filter(|name| !is_array_metalayer(name))
            .collect()
    }
    fn attr(&self, name: &str) -> Result<Option<&[u8]>> {
        self.meta(name)
    }
    fn has_json(&self) -> bool {
        false
    }
    fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.write(at, src)
    }
    fn splice(&mut self, _: &Splice) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: a frame without a shape can change only at its end",
            self.name()
        ))
    }
    fn append(&mut self, src: &[u8]) -> Result<()> {
        self.append(src)
    }
    fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.truncate(nbytes)
    }
    fn set_shape(&mut self, _: &[u64]) -> Result<()> {
        Ok(())
    }
    fn attr_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        refuse_array_metalayer(self, name)?;
        if self.is_fixed(name) {
            self.meta_set(name, value)
        } else {
            self.vlmeta_set(name, value)
        }
    }
    fn is_attr_fixed(&self, name: &str) -> bool {
        self.is_fixed(name)
    }
    fn attr_set_fixed(&mut self, name: &str, value: &[u8]) -> Result<()> {
        refuse_array_metalayer(self, name)?;
        self.fixed_set(name, value)
    }
    fn attr_remove(&mut self, name: &str) -> Result<()> {
        match self.meta(name)? {
            None => Ok(()),
            Some(_) => self.meta_remove(name),
        }
    }
    fn commit(&mut self) -> Result<()> {
        self.commit()
    }
}

fn refuse_array_metalayer(frame: &Frame, name: &str) -> Result<()> {
    if !is_array_metalayer(name) {
        return Ok(());
    }
    Err(fail!(
        Argument,
        "{}: the metalayer {name:?} describes the array and cannot be set",
        frame.name()
    ))
}
