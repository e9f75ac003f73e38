//! Superchunks: a byte sequence in compressed chunks.
#![forbid(unsafe_code)]

use super::{Format, Integrity, Location, Options, Result};
use crate::error::{Result as EngineResult, fail};
use crate::repair::reading;
use crate::superchunk::any::{Superchunk, SuperchunkFormat};
use crate::superchunk::bloscpack::{Destination, Mode};
use std::ffi::OsStr;

/// An open superchunk: a byte sequence in compressed chunks, a Bloscpack file or a Blosc2 frame.
///
/// Many threads may read one superchunk at once. A superchunk sees its own changes at once; others
/// see them if they are opened after the commit. Dropping a superchunk discards its uncommitted
/// changes.
///
/// ```
/// use holdall::{Format, Options, Schunk};
/// # let path = std::env::temp_dir().join(format!("holdall-doc-schunk-{}.blp", std::process::id()));
///
/// let options = Options::new().chunk_bytes(4096);
/// let mut schunk = Schunk::replace(&path, Format::Bloscpack, 4, &options)?;
/// schunk.append(&[7; 10_000])?;
/// schunk.write(0, b"head")?;
/// schunk.commit()?;
///
/// let schunk = Schunk::open(&path)?;
/// assert_eq!((schunk.len(), schunk.chunks()), (10_000, 3));
/// let mut bytes = [0; 6];
/// schunk.read(0, &mut bytes)?;
/// assert_eq!(&bytes, b"head\x07\x07");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Schunk(Superchunk);

impl Schunk {
    /// Opens a superchunk for reading, with default options. The format is detected from the
    /// content.
    pub fn open(location: impl Into<Location>) -> Result<Schunk> {
        Schunk::open_with(location, &Options::new())
    }

    /// Opens a superchunk for reading. With [`Options::dry_run`] it reads what a repair would
    /// leave.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Schunk> {
        let options = options.get()?;
        let open = |path: &OsStr| {
            reading(path, options.clone(), |options| {
                Superchunk::open(path, Mode::Read, options)
            })
        };
        location
            .into()
            .with(open, |folder| {
                Superchunk::open_in(folder, OsStr::new(""), Mode::Read, options)
            })
            .map(Schunk)
    }

    /// Opens a superchunk for reading and changes. It fails with
    /// [`Status::Busy`](crate::Status::Busy) if another writer has it open.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Schunk> {
        let options = options.get()?;
        let open = |path: &OsStr| Superchunk::open(path, Mode::Append, options);
        location
            .into()
            .with(open, |folder| {
                Superchunk::open_in(folder, OsStr::new(""), Mode::Append, options)
            })
            .map(Schunk)
    }

    /// Creates an empty superchunk, which must not exist. It exists from the first commit on.
    ///
    /// The formats of superchunks are [`Format::Bloscpack`] and [`Format::B2Frame`]. Filters treat
    /// the content as items of `type_size` bytes, 1 to 255.
    pub fn create(
        location: impl Into<Location>,
        format: Format,
        type_size: usize,
        options: &Options,
    ) -> Result<Schunk> {
        Schunk::new(location.into(), Mode::New, format, type_size, options)
    }

    /// Creates a superchunk as [`Schunk::create`] does. The first commit replaces an existing
    /// container.
    pub fn replace(
        location: impl Into<Location>,
        format: Format,
        type_size: usize,
        options: &Options,
    ) -> Result<Schunk> {
        Schunk::new(location.into(), Mode::Replace, format, type_size, options)
    }

    fn new(
        location: Location,
        mode: Mode,
        format: Format,
        type_size: usize,
        options: &Options,
    ) -> Result<Schunk> {
        let (format, options) = (engine_format(format)?, options.get()?);
        let create = |path: &OsStr| Superchunk::create(path, mode, format, type_size, options);
        location
            .with(create, |folder| {
                Superchunk::create_in(folder, OsStr::new(""), mode, format, type_size, options)
            })
            .map(Schunk)
    }

    // ---- properties

    /// Returns the number of bytes of content.
    pub fn len(&self) -> u64 {
        self.0.nbytes()
    }

    /// Returns whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        self.0.chunks()
    }

    /// Returns the bytes of content per chunk. The last chunk may be shorter.
    pub fn chunk_size(&self) -> usize {
        self.0.chunk_size()
    }

    /// Returns the size in bytes of the items that filters see.
    pub fn type_size(&self) -> usize {
        self.0.typesize()
    }

    /// Returns the size on disk in bytes at the last commit.
    pub fn stored_bytes(&self) -> Result<u64> {
        Ok(self.0.cbytes()?)
    }

    // ---- content

    /// Reads `dst.len()` bytes of content from offset `at` on.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<Integrity> {
        Ok(Integrity::of(self.0.read(at, dst)?))
    }

    /// Returns the bytes of content of chunk `i`.
    pub fn chunk_len(&self, i: u64) -> Result<usize> {
        Ok(self.0.chunk_nbytes(i)?)
    }

    /// Reads chunk `i`. `dst` must have [`Schunk::chunk_len`] bytes.
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<Integrity> {
        Ok(Integrity::of(self.0.read_chunk(i, dst)?))
    }

    /// Appends content.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        Ok(self.0.append(src)?)
    }

    /// Overwrites content from offset `at` on.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        Ok(self.0.write(at, src)?)
    }

    /// Inserts a chunk with this content before chunk `i`.
    pub fn insert_chunk(&mut self, i: u64, src: &[u8]) -> Result<()> {
        Ok(self.0.insert(i, src)?)
    }

    /// Removes chunk `i` and shifts the following chunks down by one.
    pub fn remove_chunk(&mut self, i: u64) -> Result<()> {
        Ok(self.0.remove(i)?)
    }

    /// Removes the content from offset `len` on.
    pub fn truncate(&mut self, len: u64) -> Result<()> {
        Ok(self.0.truncate(len)?)
    }

    // ---- attributes

    /// Returns the names of the attributes: the metalayers of a frame; a Bloscpack file has one,
    /// `""`, if it has metadata.
    pub fn attribute_names(&self) -> Vec<&str> {
        self.0.meta_names()
    }

    /// Returns an attribute, or `None` if it does not exist.
    pub fn attribute(&self, name: &str) -> Result<Option<&[u8]>> {
        Ok(self.0.meta(name)?)
    }

    /// Sets an attribute.
    pub fn set_attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        Ok(self.0.meta_set(name, Some(value))?)
    }

    /// Removes an attribute, if it exists.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        Ok(self.0.meta_set(name, None)?)
    }

    // ---- the whole superchunk

    /// Makes all changes durable and visible, atomically. On failure, the file is as of the last
    /// commit.
    pub fn commit(&mut self) -> Result<()> {
        Ok(self.0.commit()?)
    }

    /// Copies the superchunk in its current state, with its attributes, to a new container at a
    /// path.
    pub fn copy_to(
        &self,
        path: impl AsRef<OsStr>,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        let (format, options) = (engine_format(format)?, options.get()?);
        let to = Destination::at(path.as_ref(), Mode::New, options.clone())?;
        let filled = self.0.copy(to, format)?;
        Ok(Integrity::of(filled))
    }
}

fn engine_format(format: Format) -> EngineResult<SuperchunkFormat> {
    match format {
        Format::Bloscpack => Ok(SuperchunkFormat::Bloscpack),
        Format::B2Frame => Ok(SuperchunkFormat::Frame),
        _ => Err(fail!(
            Argument,
            "format: not a format of superchunks (expected Bloscpack or B2Frame, found {format:?})"
        )),
    }
}
