//! Writers of bags.
#![forbid(unsafe_code)]

use super::{Bag, Error, Integrity, Location, Options, Result};
use crate::bag::{Mode, Writer};
use std::ffi::OsStr;

/// A writer of one bag, or of one set of bags whose files commit together.
///
/// Records are visible and durable from the next commit on. Dropping a writer discards the records
/// that were not committed. A writer is `Send`; one thread at a time uses it.
///
/// Opening fails with [`Status::Busy`](crate::Status::Busy) if another writer has the bag open.
///
/// A path may name a set: `name@8.bagz` stands for eight files to which the records go in turn.
///
/// ```
/// use holdall::{Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-writer-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let _ = std::fs::remove_file(&path);
///
/// let mut writer = BagWriter::create(&path, &Options::new().level(5))?;
/// writer.append(b"one")?;
/// writer.append_many(&["two", "three"])?;
/// writer.commit()?;
/// drop(writer);
///
/// let mut writer = BagWriter::open(&path, &Options::new())?;
/// writer.append(b"four")?;
/// writer.commit()?;
/// assert_eq!(Bag::open(&path)?.len(), 4);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BagWriter(Writer);

impl BagWriter {
    /// Creates a bag, which must not exist.
    pub fn create(location: impl Into<Location>, options: &Options) -> Result<BagWriter> {
        BagWriter::with(location.into(), Mode::New, options)
    }

    /// Creates a bag. The first commit replaces an existing one.
    pub fn replace(location: impl Into<Location>, options: &Options) -> Result<BagWriter> {
        BagWriter::with(location.into(), Mode::Replace, options)
    }

    /// Opens an existing bag to append to it. The codec, dictionary and limits in the options must
    /// be those of the bag.
    pub fn open(location: impl Into<Location>, options: &Options) -> Result<BagWriter> {
        BagWriter::with(location.into(), Mode::Append, options)
    }

    fn with(location: Location, mode: Mode, options: &Options) -> Result<BagWriter> {
        let options = options.get()?;
        let writer = location.with(
            |path| Writer::open(path, mode, options),
            |folder| Writer::open_in(folder, OsStr::new(""), mode, options),
        )?;
        Ok(BagWriter(writer))
    }

    /// Appends a record. On failure it is not appended.
    pub fn append(&mut self, record: &[u8]) -> Result<()> {
        self.0.append(record).map_err(Error)
    }

    /// Appends records, compressed in parallel. On failure [`BagWriter::len`] includes those that
    /// were appended.
    pub fn append_many<R: AsRef<[u8]>>(&mut self, records: &[R]) -> Result<()> {
        records
            .iter()
            .try_for_each(|record| self.append(record.as_ref()))
    }

    /// Appends records that are end to end in one buffer: record `i` is
    /// `bytes[offsets[i]..offsets[i + 1]]`. Otherwise as [`BagWriter::append_many`].
    pub fn append_concatenated(&mut self, bytes: &[u8], offsets: &[u64]) -> Result<()> {
        self.0.append_many(bytes, offsets).map_err(Error)
    }

    /// Appends all records of a bag, or those at `indices`, in any order, and commits. With
    /// [`Options::skip_corrupt`] of the bag, corrupt records become empty.
    pub fn copy_from(&mut self, bag: &Bag, indices: Option<&[u64]>) -> Result<Integrity> {
        let filled = bag.inner.copy(indices, &mut self.0).map_err(Error)?;
        Ok(Integrity::of(filled))
    }

    /// Appends all records of a bag, which may be a slice, without a commit. Returns the size of the
    /// records in bytes. On failure [`BagWriter::len`] includes those that were appended.
    ///
    /// Every record is decoded, which verifies it. If the writer would store frames of the same form,
    /// and no level was requested, the stored frames are appended as they are. With
    /// [`Options::skip_corrupt`] of the bag, corrupt records become empty.
    pub fn append_from(&mut self, bag: &Bag) -> Result<(u64, Integrity)> {
        let (filled, bytes) = bag.inner.append_to(&mut self.0).map_err(Error)?;
        Ok((bytes, Integrity::of(filled)))
    }

    /// Returns the number of records at the last commit plus those appended since.
    pub fn len(&self) -> u64 {
        self.0.size()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes all appended records durable and visible, atomically. After a failure the call may be
    /// repeated, unless the status is [`Status::State`](crate::Status::State): then drop the writer
    /// and open it again.
    pub fn commit(&mut self) -> Result<()> {
        self.0.commit().map_err(Error)
    }
}
