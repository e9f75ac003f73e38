//! The store of an array's content: one superchunk, or the files of a dataset.
//!
//! [`Store`] is everything that [`super::filled_content`] and the arrays require from the layer below: a
//! run of bytes in chunks, and named values. Read-only stores do not override the methods that
//! change content.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc::{self, StoredEncoding};
use crate::checksum::Checksum;
use crate::dtype::numpy_meta::with_shape;
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, fail};
use crate::format::Format;
use crate::progress::Progress;
use crate::superchunk::bloscpack::{Bloscpack, Destination, Splice};
use std::any::Any;
use std::ops::Range;

/// Reads content from a byte offset until the buffer is full.
pub type Reader<'a> = &'a dyn Fn(u64, &mut [u8]) -> Result<bool>;

/// Texts, one after the other.
#[derive(Clone)]
pub struct Texts {
    /// Their UTF-8 bytes.
    pub bytes: Vec<u8>,
    /// The end of each in `bytes`.
    pub ends: Vec<usize>,
    /// Whether each is null.
    pub nulls: Vec<bool>,
    limit: u64,
}

impl Texts {
    /// The number of texts that a change or a copy of many has in memory.
    pub const PIECE: u64 = 1 << 14;

    /// Creates an empty list of texts, which may have `limit` bytes.
    pub fn new(limit: u64) -> Texts {
        Texts {
            bytes: Vec::new(),
            ends: Vec::new(),
            nulls: Vec::new(),
            limit,
        }
    }

    /// Creates a list of `n` empty texts, or of nulls.
    pub fn empty(n: usize, are_null: bool) -> Texts {
        Texts {
            ends: vec![0; n],
            nulls: vec![are_null; n],
            ..Texts::new(u64::MAX)
        }
    }

    /// Adds a text. A null has the bytes that are stored for it, if any.
    pub fn push(&mut self, text: &[u8], is_null: bool) -> Result<()> {
        let nbytes = self.bytes.len() as u64 + text.len() as u64;
        alloc::allow(nbytes, self.limit, "texts")?;
        alloc::reserve(&mut self.bytes, text.len())?;
        self.bytes.extend_from_slice(text);
        alloc::reserve(&mut self.ends, 1)?;
        alloc::reserve(&mut self.nulls, 1)?;
        self.ends.push(self.bytes.len());
        self.nulls.push(is_null);
        Ok(())
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns whether all are UTF-8.
    pub fn is_text(&self) -> bool {
        let all = std::str::from_utf8(&self.bytes);
        all.is_ok_and(|all| self.ends.iter().all(|end| all.is_char_boundary(*end)))
    }

    /// Returns whether text `i` is null.
    pub fn is_null(&self, i: usize) -> bool {
        self.nulls.get(i) == Some(&true)
    }

    /// Adds some of the texts of another list.
    pub fn extend(&mut self, from: &Texts, texts: Range<usize>) -> Result<()> {
        for i in texts {
            self.push(from.get(i).unwrap_or_default(), from.is_null(i))?;
        }
        Ok(())
    }

    /// Keeps the first `n` texts.
    pub fn truncate(&mut self, n: usize) {
        self.ends.truncate(n);
        self.nulls.truncate(n);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Returns the bytes of text `i`.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let begin = match i.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(begin..*self.ends.get(i)?)
    }
}

/// A run of bytes in chunks, and the metadata of the array.
pub trait Store: Any + Send + Sync {
    /// Returns the name of the file or folder, for messages.
    fn name(&self) -> &str;
    /// Returns the format, without regard to array metalayers.
    fn format(&self) -> Format;
    /// Returns how the chunks are encoded.
    fn encoding(&self) -> StoredEncoding;
    /// Returns the checksum of a chunk.
    fn checksum(&self) -> Checksum;
    /// Returns the number of content bytes.
    fn nbytes(&self) -> u64;
    /// Returns the number of bytes on disk.
    fn cbytes(&self) -> Result<u64>;
    /// Returns, for each chunk, the end of its content and the stored size up to there, if the sizes
    /// are known without reading.
    fn stored_ends(&self) -> Option<Vec<(u64, u64)>> {
        None
    }
    /// Returns the content range of the chunk that holds, or will hold, byte `at`.
    fn chunk_span(&self, at: u64) -> Range<u64>;
    /// Returns the number of content bytes per chunk. The last chunk may be shorter. After
    /// insertions and removals, other chunks may differ, too.
    fn chunk_bytes(&self) -> u64;
    /// Returns the number of content bytes in a block of the first chunk, if it has one.
    fn block_bytes(&self) -> Option<u64>;
    /// Returns the number of content bytes that the next commit has to encode.
    fn pending_bytes(&self) -> u64;
    /// Returns the progress callback of the options of the store.
    fn progress(&self) -> Option<&Progress>;
    /// Returns the number of threads that may use the store at once.
    fn file_threads(&self) -> usize;
    /// Returns whether the store would have `len` content bytes if it had not lost chunks at its
    /// end.
    fn is_truncation_of(&self, _len: u64) -> bool {
        false
    }
    /// Reads content until `dst` is full. Returns `true` if some of it was corrupt and was replaced
    /// by the fill value, as the options requested.
    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool>;

    /// Returns the JSON metadata that describe the array, if this kind of store has such metadata.
    fn meta(&self) -> Result<Option<&[u8]>> {
        Ok(None)
    }
    /// Creates a Bloscpack file with `len` bytes of content from `read` and these metadata. Keeps
    /// the storage parameters of this store unless the options specify others. Returns `true` under
    /// the same condition as [`Store::read`].
    fn copy_as(&self, to: Destination, meta: Option<&[u8]>, len: u64, read: Reader)
    -> Result<bool>;
    /// Returns the names of the attributes.
    fn attr_names(&self) -> Vec<&str>;
    /// Returns whether the attributes are JSON.
    fn has_json(&self) -> bool {
        true
    }
    /// Returns an attribute as it is stored.
    fn attr(&self, name: &str) -> Result<Option<&[u8]>>;
    /// Returns the names of further metadata files, in order.
    fn meta_file_names(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Returns the bytes of a further metadata file, if it exists.
    fn meta_file(&self, _name: &str) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Sets the bytes of a further metadata file, or removes it.
    fn meta_file_set(&mut self, _name: &str, _bytes: Option<&[u8]>) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: only datasets have further metadata files",
            self.name()
        ))
    }
    /// Returns the fill value, which is one item or one row; `None` means zeros.
    fn fill(&self) -> Result<Option<&[u8]>> {
        Ok(None)
    }
    /// Sets the fill value for content that is added from now on; no bytes mean zeros.
    fn fill_set(&mut self, _value: &[u8]) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: a fill value is not supported; new items are zeros",
            self.name()
        ))
    }
    /// Returns whether the items are Python objects of variable size, so that the store has no run
    /// of bytes.
    fn has_objects(&self) -> bool {
        false
    }
    /// Returns `n` items of any length from `first` on, each as [`Store::object`] does.
    fn texts(&self, first: u64, n: u64) -> Result<Texts> {
        let mut texts = Texts::new(alloc::DEFAULT_LIMIT);
        for i in first..first.saturating_add(n) {
            texts.push(&self.object(i)?, false)?;
        }
        Ok(texts)
    }
    /// Returns the type of items that are values in MessagePack, which `texts` returns.
    fn packed(&self) -> Option<&PackedType> {
        None
    }
    /// Returns one of the objects in pickled form, one of the texts, or one value in MessagePack.
    fn object(&self, _: u64) -> Result<Vec<u8>> {
        Err(fail!(
            Type,
            "{}: the items are not Python objects",
            self.name()
        ))
    }

    /// Replaces `gone` items from item `at` on, if the items are text or other values of any length.
    /// The following items move.
    fn splice_texts(&mut self, _at: u64, _gone: u64, _texts: &Texts) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: items of any length cannot be changed here",
            self.name()
        ))
    }

    /// Overwrites content.
    fn write(&mut self, _at: u64, _src: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Inserts and removes content, and shifts the following content.
    fn splice(&mut self, _splice: &Splice) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Appends content.
    fn append(&mut self, _src: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Appends content of another store as it is stored, as far as this is possible. Returns the
    /// number of bytes of content that were appended, from the first one on.
    fn append_stored(&mut self, _from: &dyn Store) -> Result<u64> {
        Ok(0)
    }
    /// Truncates the content.
    fn truncate(&mut self, _nbytes: u64) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Returns an error if the store can never have this shape.
    fn can_have(&self, _shape: &[u64]) -> Result<()> {
        Ok(())
    }
    /// Sets the shape that the content has from the next commit on.
    fn set_shape(&mut self, _shape: &[u64]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Sets an attribute.
    fn attr_set(&mut self, _name: &str, _value: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Returns whether an attribute has a fixed length: it is in the header of a frame.
    fn is_attr_fixed(&self, _name: &str) -> bool {
        false
    }
    /// Sets an attribute in the header of a frame.
    fn attr_set_fixed(&mut self, _name: &str, _value: &[u8]) -> Result<()> {
        Err(fail!(
            Unsupported,
            "{}: attributes of fixed length are in the header of a frame, and this is none",
            self.name()
        ))
    }
    /// Removes an attribute, if it exists.
    fn attr_remove(&mut self, _name: &str) -> Result<()> {
        Err(read_only(self.name()))
    }
    /// Makes all changes durable and visible.
    fn commit(&mut self) -> Result<()> {
        Err(read_only(self.name()))
    }
}

/// Fills `dst` with repetitions of a fill value. `at` is the content offset of `dst`; the pattern
/// starts at offset 0.
pub fn repeat(value: Option<&[u8]>, at: u64, dst: &mut [u8]) {
    let Some(value) = value.filter(|v| !v.is_empty()) else {
        return dst.fill(0);
    };
    blosc::repeat(value, (at % value.len() as u64) as usize, dst);
}

fn read_only(name: &str) -> Error {
    fail!(State, "{name}: the handle is read-only")
}

#[cfg(test)]
#[test]
fn a_value_is_repeated_from_any_offset() {
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

/// The JSON metadata are the only attribute; its name is the empty string.
impl Store for Bloscpack {
    fn name(&self) -> &str {
        self.name()
    }
    fn format(&self) -> Format {
        Format::Bloscpack
    }
    fn encoding(&self) -> StoredEncoding {
        self.encoding()
    }
    fn checksum(&self) -> Checksum {
        self.header().checksum
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
    fn pending_bytes(&self) -> u64 {
        Bloscpack::pending_bytes(self)
    }

    fn progress(&self) -> Option<&Progress> {
        Bloscpack::progress(self)
    }

    fn file_threads(&self) -> usize {
        self.file_threads()
    }
    fn is_truncation_of(&self, len: u64) -> bool {
        self.is_truncation_of(len)
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
                "a Bloscpack file has only one attribute, named \"\""
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
