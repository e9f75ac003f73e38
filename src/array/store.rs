//! What holds the content of an array: one superchunk, or the files of a dataset.
//!
//! The engine of [`super::content`] sees a run of bytes in chunks, and this is all that it, and the
//! array around it, ask of what is below. What cannot be changed leaves those methods as they are.
#![forbid(unsafe_code)]

use super::numpy_meta::with_shape;
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::superchunk::bloscpack::{Bloscpack, Destination, Splice};
use std::any::Any;
use std::ops::Range;

/// Fills a buffer with content from this byte on.
pub type Reader<'a> = &'a dyn Fn(u64, &mut [u8]) -> Result<bool>;

/// A run of bytes in chunks, and what is known of the array beside its items.
pub trait Store: Any + Send + Sync {
    /// Its file or folder, for messages.
    fn name(&self) -> &str;
    /// Bytes of content.
    fn nbytes(&self) -> u64;
    /// Bytes on disk.
    fn cbytes(&self) -> Result<u64>;
    /// The bytes of content of the chunk that holds, or is going to hold, this one of them.
    fn chunk_span(&self, at: u64) -> Range<u64>;
    /// Bytes of content of each chunk but the last, unless other ones were put in.
    fn chunk_bytes(&self) -> u64;
    /// Bytes of content in a block of the first chunk, where there is one.
    fn block_bytes(&self) -> Option<u64>;
    /// Threads that may read and write it at once.
    fn file_threads(&self) -> usize;
    /// Are chunks missing at its end, with which it would have so many bytes?
    fn stands_for(&self, _len: u64) -> bool {
        false
    }
    /// Reads content until `dst` is full. True: some of it was damaged, and is the fill value now,
    /// as was wished.
    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool>;

    /// The metadata by which it is marked as an array, where it needs that.
    fn meta(&self) -> Result<Option<&[u8]>> {
        Ok(None)
    }
    /// Makes a Bloscpack file of `len` bytes of content that `read` gives, with these metadata,
    /// stored as it is here as far as nothing else is said. True: as [`Store::read`].
    fn copy_as(&self, to: Destination, meta: Option<&[u8]>, len: u64, read: Reader)
    -> Result<bool>;
    /// The names of what others have put beside the array.
    fn attr_names(&self) -> Vec<&str>;
    /// Are their values JSON?
    fn has_json(&self) -> bool {
        true
    }
    /// One of them, as it is stored.
    fn attr(&self, name: &str) -> Result<Option<&[u8]>>;
    /// The item, or the row, that is where nothing was written; none: zeros.
    fn fill(&self) -> Result<Option<&[u8]>> {
        Ok(None)
    }
    /// Sets it, for what comes from now on; no bytes: zeros.
    fn fill_set(&mut self, _value: &[u8]) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: it has no fill value, new items are zeros",
            self.name()
        ))
    }
    /// Are its items objects of Python's, of any length, so that there is no run of bytes?
    fn has_objects(&self) -> bool {
        false
    }
    /// One of these objects, as Python has pickled it.
    fn object(&self, _: u64) -> Result<Vec<u8>> {
        Err(fail!(Type, "{}: its items are no objects", self.name()))
    }

    /// Writes over content.
    fn write(&mut self, _at: u64, _src: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Puts content in and takes content away; what is behind moves.
    fn splice(&mut self, _splice: &Splice) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Puts content behind the last.
    fn append(&mut self, _src: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Cuts the content.
    fn truncate(&mut self, _nbytes: u64) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Refuses a shape that it can never have.
    fn can_have(&self, _shape: &[u64]) -> Result<()> {
        Ok(())
    }
    /// The shape that the content has with the next commit.
    fn set_shape(&mut self, _shape: &[u64]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Sets a named value.
    fn attr_set(&mut self, _name: &str, _value: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Removes one, if it is there.
    fn attr_remove(&mut self, _name: &str) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Makes all changes durable and visible.
    fn commit(&mut self) -> Result<()> {
        Err(read_only(self.name()))
    }
}

/// Puts a fill value, again and again, where content is missing that begins at `at`.
pub fn repeat(value: Option<&[u8]>, at: u64, dst: &mut [u8]) {
    let Some(value) = value.filter(|v| !v.is_empty()) else {
        return dst.fill(0);
    };
    let (behind, before) = value
        .split_at_checked((at % value.len() as u64) as usize)
        .unwrap_or_default();
    let (mut done, all) = (0, dst.len());
    for part in [before, behind] {
        let n = part.len().min(all - done);
        dst.iter_mut()
            .skip(done)
            .zip(part)
            .for_each(|(to, from)| *to = *from);
        done += n;
    }
    // what is there is a whole value, or all
    while done > 0 && done < all {
        let n = done.min(all - done);
        let (from, to) = dst.split_at_mut_checked(done).unwrap_or_default();
        to.iter_mut()
            .zip(from.iter())
            .take(n)
            .for_each(|(to, from)| *to = *from);
        done += n;
    }
}

fn read_only(name: &str) -> Error {
    fail!(State, "{name}: it was opened to be read")
}

#[cfg(test)]
#[test]
fn a_value_is_repeated_from_anywhere() {
    for (value, at, n) in [
        (&[1, 2, 3][..], 0, 10),
        (&[1, 2, 3], 7, 2),
        (&[1, 2, 3], 8, 100),
        (&[7], 5, 3),
        (&[1, 2, 3, 4], 2, 0),
    ] {
        let mut dst = vec![0xee; n];
        repeat(Some(value), at, &mut dst);
        let want = value.iter().cycle().skip(at as usize).take(n);
        assert!(dst.iter().eq(want), "{value:?} {at} {n}: {dst:?}");
    }
}

/// Its metadata are the one named value, named "".
impl Store for Bloscpack {
    fn name(&self) -> &str {
        self.name()
    }
    fn nbytes(&self) -> u64 {
        self.nbytes()
    }
    fn cbytes(&self) -> Result<u64> {
        self.cbytes()
    }
    fn chunk_span(&self, at: u64) -> Range<u64> {
        self.chunk_span(at)
    }
    fn chunk_bytes(&self) -> u64 {
        self.chunk_size() as u64
    }
    fn block_bytes(&self) -> Option<u64> {
        let stored = self.chunk_info(0).is_ok_and(|(_, cbytes, _)| cbytes > 0);
        let block = |chunk: &[u8]| Ok(blosc::Header::parse(chunk)?.blocksize as u64);
        if stored {
            self.with_raw(0, block).ok()
        } else {
            None
        }
    }
    fn file_threads(&self) -> usize {
        self.file_threads()
    }
    fn stands_for(&self, len: u64) -> bool {
        self.stands_for(len)
    }
    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        self.read(at, dst)
    }
    fn meta(&self) -> Result<Option<&[u8]>> {
        self.meta()
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
        vec![""]
    }
    fn attr(&self, name: &str) -> Result<Option<&[u8]>> {
        if name.is_empty() {
            self.meta()
        } else {
            Ok(None)
        }
    }
    fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.write(at, src)
    }
    fn splice(&mut self, splice: &Splice) -> Result<()> {
        self.splice(splice)
    }
    fn append(&mut self, src: &[u8]) -> Result<()> {
        self.append(src)
    }
    fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.truncate(nbytes)
    }
    fn set_shape(&mut self, shape: &[u64]) -> Result<()> {
        let json = with_shape(self.meta()?.unwrap_or_default(), shape)?;
        self.meta_set(Some(json.as_bytes()))
    }
    fn attr_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        match name {
            "" => self.meta_set(Some(value)),
            _ => Err(fail!(
                Unsupported,
                "Bloscpack files have one value, named \"\""
            )),
        }
    }
    fn attr_remove(&mut self, name: &str) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: the metadata {name:?} of an array cannot be removed",
            self.name()
        ))
    }
    fn commit(&mut self) -> Result<()> {
        self.commit()
    }
}
