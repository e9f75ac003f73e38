//! Indexes of bags.
#![forbid(unsafe_code)]

use super::{Bag, Error, Location, Options, Result};
use crate::bag::Mode;
use crate::bag::index::{Index, NO_RECORD};
use std::ffi::OsStr;

/// An index of a bag: finds the records with a given content. [`BagIndex::find_first`] is the
/// `Index` of the Bagz package, [`BagIndex::find`] its `MultiIndex`.
///
/// An index stores fingerprints, 7 to 9 bytes per record; a lookup compares the records with the
/// key, so no result is wrong. The file is not part of Bagz. An index keeps its bag open. Many
/// threads may use one index at once.
///
/// An index belongs to one state of a bag, or of a slice. Opening it detects another number of
/// files, records or bytes, and compares some records. A record replaced by another of the same
/// length may go undetected, except with [`Verify::AtOpen`](crate::Verify::AtOpen): it is not found
/// until the index is rebuilt.
///
/// # Errors
///
/// A lookup fails with [`Status::Format`](crate::Status::Format) or
/// [`Status::Checksum`](crate::Status::Checksum) if a part of the index, or a record that may match,
/// is corrupt. With [`Options::skip_corrupt`] it does not find such a record.
///
/// # Examples
///
/// ```
/// use holdall::{Bag, BagIndex, BagWriter, Options};
/// # let dir = std::env::temp_dir().join(format!("holdall-doc-index-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
///
/// let path = dir.join("keys.bagz");
/// let mut writer = BagWriter::create(&path, &Options::new())?;
/// writer.append_many(&["red", "green", "red"])?;
/// writer.commit()?;
///
/// let bag = Bag::open(&path)?;
/// let index = BagIndex::create(dir.join("keys.index"), &bag, &Options::new())?;
/// assert_eq!(index.find_first(b"red")?, Some(0));
/// assert_eq!(index.find(b"red")?, [0, 2]);
///
/// let index = BagIndex::open(dir.join("keys.index"), &bag)?;
/// assert_eq!(index.find_many(&["green", "blue"])?, [Some(1), None]);
/// # drop(writer);
/// # std::fs::remove_dir_all(dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BagIndex(Index);

impl BagIndex {
    /// Builds the index of a bag, or of a slice, in memory: about 22 bytes per record, then 9.
    ///
    /// It fails with [`Status::Format`](crate::Status::Format) or
    /// [`Status::Checksum`](crate::Status::Checksum) if a record is corrupt.
    /// [`Options::skip_corrupt`], here or of the bag, omits it.
    pub fn build(bag: &Bag, options: &Options) -> Result<BagIndex> {
        let index = Index::build(&bag.inner, options.get()?);
        index.map(BagIndex).map_err(Error)
    }

    /// Builds an index as [`BagIndex::build`], in a file, which must not exist, and opens it. The
    /// file appears atomically. It cannot be in an object store: create a local file and copy it.
    pub fn create(location: impl Into<Location>, bag: &Bag, options: &Options) -> Result<BagIndex> {
        BagIndex::new(location.into(), Mode::New, bag, options)
    }

    /// Builds an index as [`BagIndex::create`] does, and replaces an existing index. It fails with
    /// [`Status::Exists`](crate::Status::Exists) if the file is not an index.
    pub fn replace(
        location: impl Into<Location>,
        bag: &Bag,
        options: &Options,
    ) -> Result<BagIndex> {
        BagIndex::new(location.into(), Mode::Replace, bag, options)
    }

    fn new(location: Location, mode: Mode, bag: &Bag, options: &Options) -> Result<BagIndex> {
        let (bag, options) = (&bag.inner, options.get()?);
        location
            .with(
                |path| Index::create(path, mode, bag, options),
                |folder| Index::create_in(folder, OsStr::new(""), mode, bag, options),
            )
            .map(BagIndex)
    }

    /// Opens the index of a bag, or of the same slice, with default options.
    pub fn open(location: impl Into<Location>, bag: &Bag) -> Result<BagIndex> {
        BagIndex::open_with(location, bag, &Options::new())
    }

    /// Opens the index of a bag, or of the same slice. Memory and time do not depend on the number
    /// of keys: parts are read and verified when needed.
    ///
    /// It fails with [`Status::State`](crate::Status::State) if the index belongs to another bag,
    /// state or slice, and with [`Status::Version`](crate::Status::Version) if a later version of
    /// this library has written it.
    pub fn open_with(
        location: impl Into<Location>,
        bag: &Bag,
        options: &Options,
    ) -> Result<BagIndex> {
        let (bag, options) = (&bag.inner, options.get()?);
        location
            .into()
            .with(
                |path| Index::open(path, bag, options),
                |folder| Index::open_in(folder, OsStr::new(""), bag, options),
            )
            .map(BagIndex)
    }

    /// Returns the number of distinct keys.
    pub fn key_count(&self) -> u64 {
        self.0.keys()
    }

    /// Returns the number of records that were corrupt when the index was built, which it leaves
    /// out.
    pub fn corrupt(&self) -> u64 {
        self.0.damaged()
    }

    /// Returns the number of the first record whose content is `key`.
    pub fn find_first(&self, key: &[u8]) -> Result<Option<u64>> {
        self.0.first(key).map_err(Error)
    }

    /// Returns the numbers of all records whose content is `key`, in ascending order.
    pub fn find(&self, key: &[u8]) -> Result<Vec<u64>> {
        self.0.find(key).map_err(Error)
    }

    /// Returns what [`BagIndex::find_first`] returns for each key. Finds them in parallel.
    pub fn find_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<u64>>> {
        let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
        for key in keys {
            bytes.extend_from_slice(key.as_ref());
            offsets.push(bytes.len() as u64);
        }
        let mut records = vec![NO_RECORD; keys.len()];
        let found = self.0.first_of_each(&bytes, &offsets, &mut records);
        found.map_err(Error)?;
        let number = |n: u64| Some(n).filter(|n| *n != NO_RECORD);
        Ok(records.into_iter().map(number).collect())
    }
}
