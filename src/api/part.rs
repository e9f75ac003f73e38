//! Commits in parts.
#![forbid(unsafe_code)]

use super::{Error, Options, Result};
use crate::parts;
use std::ffi::OsStr;
use std::path::Path;

/// A part of a container: any number of processes write parts of one container at the same time,
/// without knowing of each other, and one process commits them, all or none.
///
/// A part is a container of its own beside the other one. The process that creates the part opens
/// [`Part::path`] for writing, writes, commits and closes it; then [`Part::finish`] returns the token
/// of the part, which goes to the process that calls [`commit_parts`]. Readers never see parts.
/// Dropping a part that is not finished removes it. A part is `Send` and `Sync`.
///
/// Parts whose tokens are neither committed nor discarded ([`discard_parts`]) stay, and
/// [`repair`](crate::repair) removes them. Parts are files: workers on other machines need the same
/// file system. Object stores are not supported.
///
/// ```
/// use holdall::{Bag, BagWriter, Options, Part, commit_parts};
/// # let name = format!("holdall-doc-part-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// // in each of many processes
/// let worker = |records: &[&str]| {
///     let part = Part::of_bag(&path, &Options::new())?;
///     let mut writer = BagWriter::open(part.path(), &Options::new())?;
///     writer.append_many(records)?;
///     writer.commit()?;
///     drop(writer);
///     part.finish()
/// };
/// let tokens = [worker(&["one", "two"])?, worker(&["three"])?];
///
/// // in one process
/// commit_parts(&path, &tokens, &Options::new())?;
/// assert_eq!(Bag::open(&path)?.get(2)?, b"three");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Part(parts::Part);

impl Part {
    /// Creates a part of a bag that may not exist yet, or of a new set. It is a bag without records,
    /// to be opened with [`BagWriter::open`](crate::BagWriter::open) and the same options.
    ///
    /// The records are appended to the bag. Of a set (`name@8.bagz`, or `name@*.bagz` for as many
    /// shards as there are parts), each part becomes a shard, without a copy.
    pub fn of_bag(spec: impl AsRef<OsStr>, options: &Options) -> Result<Part> {
        let part = parts::Part::of_bag(spec.as_ref(), options.get()?);
        part.map(Part).map_err(Error)
    }

    /// Creates a part of an array, with rows to append to it. It is an array of the same dtype
    /// without rows.
    ///
    /// Where rows before those of the part fill the chunks of the array, complete chunks of frames,
    /// bcolz, BLZ and the BLZ RFC layout are not encoded again. The options are those of a new array
    /// of that format for the last three, and otherwise those of a new array in a frame.
    pub fn of_array(path: impl AsRef<OsStr>, options: &Options) -> Result<Part> {
        let part = parts::Part::of_array(path.as_ref(), None, options.get()?);
        part.map(Part).map_err(Error)
    }

    /// Creates a part of an array: the box from `start` on of this shape, which replaces the items
    /// of the array. It is an array of this shape with zeros or the fill value.
    ///
    /// Where the array is in a frame and the box begins and ends with chunks, or ends with the
    /// array, the chunks are not encoded again. Of boxes that overlap, the last one counts. The
    /// options are those of a new array in a frame.
    pub fn of_box(
        path: impl AsRef<OsStr>,
        start: &[u64],
        shape: &[u64],
        options: &Options,
    ) -> Result<Part> {
        let part = parts::Part::of_array(path.as_ref(), Some([start, shape]), options.get()?);
        part.map(Part).map_err(Error)
    }

    /// Creates a part of a table, with rows to append to it. It is a table with the same columns
    /// without rows. The options are those of a new table.
    pub fn of_table(path: impl AsRef<OsStr>, options: &Options) -> Result<Part> {
        let part = parts::Part::of_table(path.as_ref(), options.get()?);
        part.map(Part).map_err(Error)
    }

    /// Returns the path of the container that is the part.
    pub fn path(&self) -> &Path {
        Path::new(self.0.path())
    }

    /// Returns the token of the part, [`PART_TOKEN_SIZE`] bytes, and retains the part after this
    /// value. The container must be committed, and must not be changed any more.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.0.finish().map_err(Error)
    }
}

/// Size of the token of a part in bytes.
pub const PART_TOKEN_SIZE: usize = parts::TOKEN_SIZE;

/// Commits parts of the container at a path, and removes them: records and rows are appended in the
/// order of the tokens. All parts are committed, or none.
///
/// The call may be repeated after any failure, also by another process: parts are not committed
/// twice. It fails with [`Status::Missing`](crate::Status::Missing) if parts are not there any more,
/// because an earlier call committed them completely, or they were discarded. The options are those
/// of opening for writing. Without tokens nothing happens.
pub fn commit_parts<T: AsRef<[u8]>>(
    path: impl AsRef<OsStr>,
    tokens: &[T],
    options: &Options,
) -> Result<()> {
    let tokens: Vec<&[u8]> = tokens.iter().map(AsRef::as_ref).collect();
    parts::commit(path.as_ref(), &tokens, options.get()?).map_err(Error)
}

/// Removes parts without committing them.
pub fn discard_parts<T: AsRef<[u8]>>(path: impl AsRef<OsStr>, tokens: &[T]) -> Result<()> {
    let tokens: Vec<&[u8]> = tokens.iter().map(AsRef::as_ref).collect();
    parts::discard(path.as_ref(), &tokens).map_err(Error)
}

/// Returns the names of all parts of the container at a path: those that are being written, and
/// those that are not committed.
pub fn list_parts(path: impl AsRef<OsStr>) -> Result<Vec<String>> {
    parts::list(path.as_ref()).map_err(Error)
}
