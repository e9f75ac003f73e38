//! Superchunks: a byte sequence in compressed chunks.
#![forbid(unsafe_code)]

use super::follower::Follower;
use super::{
    Checksum, Codec, Encoding, Error, Format, Integrity, Location, Options, Result, encoding,
};
use crate::alloc;
use crate::error::{Result as EngineResult, fail};
use crate::options::Options as EngineOptions;
use crate::repair::reading;
use crate::superchunk::any::{Superchunk, SuperchunkFormat};
use crate::superchunk::bloscpack::Mode;
use crate::watch::Watch;
use std::ffi::OsStr;

/// What [`Schunk::chunk_info`] returns: what is known about a chunk without decoding it.
///
/// ```
/// # use holdall::{Codec, Format, Options, Schunk};
/// # let name = format!("holdall-doc-chunk-{}.blp", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// let options = Options::new().chunk_bytes(4096);
/// let mut schunk = Schunk::replace(&path, Format::Bloscpack, 4, &options)?;
/// schunk.append(&[7; 10_000])?;
/// schunk.commit()?;
/// let info = schunk.chunk_info(0)?;
/// assert_eq!((info.content_bytes, info.codec), (4096, Some(Codec::Lz4)));
/// assert!(info.stored_bytes < 1000 && !info.is_pending);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkInfo {
    /// Bytes of content.
    pub content_bytes: usize,
    /// Bytes as stored, without the checksum; 0: pending, or one value that a frame stores in its
    /// index.
    pub stored_bytes: usize,
    /// The codec ([`Codec::Lz4`] includes [`Codec::Lz4Hc`]); `None`: unknown. Of a pending chunk: the
    /// codec to be used.
    pub codec: Option<Codec>,
    /// Whether the chunk is not encoded yet. The commit does it at the latest.
    pub is_pending: bool,
}

/// An open superchunk: a byte sequence in compressed chunks, a Bloscpack file or a Blosc2 frame.
///
/// Many threads may read one superchunk at once. A superchunk sees its own changes at once; others
/// see them if they are opened after the commit; [`Schunk::refresh`] moves a reader to it. Dropping a
/// superchunk discards its uncommitted changes.
///
/// A read fails with [`Status::Checksum`](crate::Status::Checksum) or
/// [`Status::Format`](crate::Status::Format) if a chunk is corrupt ([`Error::position`] is its
/// number), unless [`Options::skip_corrupt`] is set, and with
/// [`Status::Range`](crate::Status::Range) past the end. Changes fail with
/// [`Status::State`](crate::Status::State) if the superchunk was opened for reading.
///
/// ```
/// use holdall::{Format, Options, Schunk};
/// # let name = format!("holdall-doc-schunk-{}.blp", std::process::id());
/// # let path = std::env::temp_dir().join(name);
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
pub struct Schunk {
    inner: Superchunk,
    follower: Follower,
}

fn open_at(location: &Location, mode: Mode, options: &EngineOptions) -> Result<Superchunk> {
    location.with_existing(
        options,
        |path| {
            let open = |options: &EngineOptions| Superchunk::open(path, mode, options);
            match mode {
                Mode::Read => reading(path, options.clone(), open),
                _ => open(options),
            }
        },
        |folder| Superchunk::open_in(folder, OsStr::new(""), mode, options),
    )
}

impl Schunk {
    /// Wraps a superchunk that does not follow a writer.
    fn of(inner: Superchunk) -> Schunk {
        Schunk {
            inner,
            follower: Follower::default(),
        }
    }

    /// Opens a superchunk for reading, with default options. The format is detected from the
    /// content.
    pub fn open(location: impl Into<Location>) -> Result<Schunk> {
        Schunk::open_with(location, &Options::new())
    }

    /// Opens a superchunk for reading. With [`Options::dry_run`] it reads what a repair would
    /// leave.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Schunk> {
        let (location, options) = (location.into(), options.get()?);
        let follower = Follower::new(&location, options, Watch::path);
        let inner = open_at(&location, Mode::Read, options)?;
        Ok(Schunk { inner, follower })
    }

    /// Opens a superchunk for reading and changes. It fails with
    /// [`Status::Busy`](crate::Status::Busy) if another writer has it open.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Schunk> {
        open_at(&location.into(), Mode::Append, options.get()?).map(Schunk::of)
    }

    /// Moves a superchunk that was opened for reading to the newest commit. Returns `false` if there
    /// certainly is none, which takes about a system call per file.
    ///
    /// It fails as opening does, and then leaves the superchunk unchanged, and with
    /// [`Status::State`](crate::Status::State) if the superchunk was opened for changes.
    pub fn refresh(&mut self) -> Result<bool> {
        let open =
            |location: &Location, options: &EngineOptions| open_at(location, Mode::Read, options);
        let Some((inner, follower)) = self.follower.refreshed(open)? else {
            return Ok(false);
        };
        *self = Schunk { inner, follower };
        Ok(true)
    }

    /// Returns the number of commits through this superchunk and of refreshes that returned `true`.
    pub fn generation(&self) -> u64 {
        self.follower.generation
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
        let format = engine_format(format).map_err(Error)?;
        let options = options.get()?;
        let create = |path: &OsStr| Superchunk::create(path, mode, format, type_size, options);
        location
            .with(create, |folder| {
                Superchunk::create_in(folder, OsStr::new(""), mode, format, type_size, options)
            })
            .map(Schunk::of)
    }

    // ---- properties

    /// Returns the number of bytes of content.
    pub fn len(&self) -> u64 {
        self.inner.nbytes()
    }

    /// Returns whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        self.inner.chunks()
    }

    /// Returns the bytes of content per chunk. The last chunk and inserted ones may differ. It is 0
    /// for a frame with chunks of any length.
    pub fn chunk_size(&self) -> usize {
        self.inner.chunk_size()
    }

    /// Returns the size in bytes of the items that filters see.
    pub fn type_size(&self) -> usize {
        self.inner.typesize()
    }

    /// Returns the format, also of a frame that is an array: [`Format::Bloscpack`] or
    /// [`Format::B2Frame`].
    pub fn format(&self) -> Format {
        self.inner.format()
    }

    /// Returns the version of the header. Frames: 2 or 3. Bloscpack: 0 (unversioned), 1, 2, 3, or 103
    /// (BLZ RFC layout with metadata).
    pub fn version(&self) -> i32 {
        self.inner.version()
    }

    /// Returns whether it is a frame in a folder, with one file per chunk.
    pub fn is_sparse(&self) -> bool {
        self.inner.is_sparse()
    }

    /// Returns how the chunks are stored.
    pub fn encoding(&self) -> Encoding {
        Encoding::of(self.inner.encoding(), self.inner.checksum())
    }

    /// Returns what is known about chunk `i` without decoding it.
    pub fn chunk_info(&self, i: u64) -> Result<ChunkInfo> {
        let info = self.inner.chunk_info(i).map_err(Error)?;
        Ok(ChunkInfo {
            content_bytes: info.nbytes,
            stored_bytes: info.stored_bytes,
            codec: encoding::codec(info.codec),
            is_pending: info.is_pending,
        })
    }

    /// Returns the size on disk in bytes at the last commit.
    pub fn stored_bytes(&self) -> Result<u64> {
        self.inner.cbytes().map_err(Error)
    }

    // ---- content

    /// Reads `dst.len()` bytes of content from offset `at` on.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<Integrity> {
        self.inner.read(at, dst).map(Integrity::of).map_err(Error)
    }

    /// Returns the bytes of content of chunk `i`.
    pub fn chunk_len(&self, i: u64) -> Result<usize> {
        self.inner.chunk_nbytes(i).map_err(Error)
    }

    /// Reads chunk `i`. `dst` must have [`Schunk::chunk_len`] bytes.
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<Integrity> {
        let read = self.inner.read_chunk(i, dst);
        read.map(Integrity::of).map_err(Error)
    }

    /// Returns where the blocks of chunk `i` begin in its content, and where the last one ends. A
    /// chunk that is pending or not stored has the blocks in which it will be encoded. A corrupt
    /// chunk is an error, even if the options skip corrupt content.
    pub fn block_offsets(&self, i: u64) -> Result<Vec<usize>> {
        self.inner.block_offsets(i).map_err(Error)
    }

    /// Returns the content of a block of chunk `i`, without decoding the other blocks. A corrupt
    /// block is an error, even if the options skip corrupt content; [`Integrity::Filled`] means
    /// that other parts of the superchunk are corrupt.
    pub fn read_block(&self, i: u64, block: usize) -> Result<(Vec<u8>, Integrity)> {
        let n = self.inner.block_len(i, block).map_err(Error)?;
        let mut content = alloc::zeroed(n).map_err(Error)?;
        let read = self.inner.read_block(i, block, &mut content);
        let integrity = read.map(Integrity::of).map_err(Error)?;
        Ok((content, integrity))
    }

    /// Returns chunk `i` as stored, without its checksum, which is verified. A corrupt chunk is an
    /// error, even if the options skip corrupt content.
    pub fn read_raw(&self, i: u64) -> Result<Vec<u8>> {
        let mut chunk = Vec::new();
        let read = self.inner.with_raw(i, &mut |bytes| {
            alloc::reserve(&mut chunk, bytes.len())?;
            chunk.extend_from_slice(bytes);
            Ok(())
        });
        read.map(|()| chunk).map_err(Error)
    }

    /// Computes a checksum of all content. The items of an array are in stored order
    /// ([`Array::order`](crate::Array::order)).
    pub fn checksum(&self, checksum: Checksum) -> Result<(Vec<u8>, Integrity)> {
        let computed = self.inner.content_checksum(checksum.engine());
        let (value, filled) = computed.map_err(Error)?;
        Ok((value, Integrity::of(filled)))
    }

    /// Appends content. It fills up the last chunk first, or adds one chunk to a frame of chunks of
    /// any length.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        self.inner.append(src).map_err(Error)
    }

    /// Appends one encoded chunk without checksum, unchanged. Decodes it once to verify it.
    ///
    /// It fails with [`Status::Format`](crate::Status::Format) if `chunk` is not one complete chunk,
    /// and with [`Status::Unsupported`](crate::Status::Unsupported) for a Blosc2 chunk in a Bloscpack
    /// file, or a Blosc1 chunk in a frame.
    pub fn append_raw(&mut self, chunk: &[u8]) -> Result<()> {
        self.inner.append_raw(chunk).map_err(Error)
    }

    /// Overwrites content from offset `at` on.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.inner.write(at, src).map_err(Error)
    }

    /// Inserts a chunk with this content before chunk `i`.
    pub fn insert_chunk(&mut self, i: u64, src: &[u8]) -> Result<()> {
        self.inner.insert(i, src).map_err(Error)
    }

    /// Inserts a chunk of these blocks, of any length but 0, before chunk `i`. A frame without
    /// content becomes one of such blocks (readable from c-blosc2 3 on), as python-blosc2's
    /// `BatchArray` is. Filters are not applied to them.
    ///
    /// Afterwards [`Schunk::insert_chunk`] and [`Schunk::append`] add a chunk of one block, and
    /// [`Schunk::write`] and [`Schunk::truncate`] retain where blocks begin.
    ///
    /// It fails with [`Status::State`](crate::Status::State) if a frame has content in blocks of
    /// one length, and with [`Status::Unsupported`](crate::Status::Unsupported) for a Bloscpack
    /// file.
    ///
    /// ```
    /// # use holdall::{Format, Options, Schunk};
    /// # let name = format!("holdall-doc-blocks-{}.b2frame", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// let mut schunk = Schunk::replace(&path, Format::B2Frame, 1, &Options::new())?;
    /// schunk.insert_blocks(0, &[b"one", b"and another"])?;
    /// schunk.commit()?;
    /// assert_eq!(schunk.block_offsets(0)?, [0, 3, 14]);
    /// assert_eq!(schunk.read_block(0, 1)?.0, b"and another");
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_blocks(&mut self, i: u64, blocks: &[&[u8]]) -> Result<()> {
        self.inner.insert_blocks(i, blocks).map_err(Error)
    }

    /// Removes chunk `i` and shifts the following chunks down by one.
    pub fn remove_chunk(&mut self, i: u64) -> Result<()> {
        self.inner.remove(i).map_err(Error)
    }

    /// Removes the content from offset `len` on.
    pub fn truncate(&mut self, len: u64) -> Result<()> {
        self.inner.truncate(len).map_err(Error)
    }

    // ---- attributes

    /// Returns the names of the attributes: the metalayers of a frame; a Bloscpack file has one,
    /// `""`, if it has metadata.
    pub fn attribute_names(&self) -> Vec<&str> {
        self.inner.meta_names()
    }

    /// Returns an attribute, or `None` if it does not exist.
    pub fn attribute(&self, name: &str) -> Result<Option<&[u8]>> {
        self.inner.meta(name).map_err(Error)
    }

    /// Returns whether an attribute is corrupt. [`Schunk::attribute`] returns `None` for it with
    /// [`Options::skip_corrupt`], and an error otherwise.
    pub fn is_attribute_corrupt(&self, name: &str) -> bool {
        self.inner.is_meta_lost(name)
    }

    /// Sets an attribute.
    pub fn set_attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.inner.meta_set(name, Some(value)).map_err(Error)
    }

    /// Returns whether an attribute has a fixed length: it is a metalayer in the header of a frame.
    pub fn is_attribute_fixed(&self, name: &str) -> bool {
        self.inner.is_meta_fixed(name)
    }

    /// Sets an attribute in the header of a frame: see
    /// [`Array::set_fixed_attribute`](crate::Array::set_fixed_attribute).
    pub fn set_fixed_attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.inner.meta_set_fixed(name, value).map_err(Error)
    }

    /// Removes an attribute, if it exists.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        self.inner.meta_set(name, None).map_err(Error)
    }

    // ---- the whole superchunk

    /// Makes all changes durable and visible, atomically. On failure, the file is as of the last
    /// commit.
    pub fn commit(&mut self) -> Result<()> {
        self.inner.commit().map_err(Error)?;
        self.follower.generation += 1;
        Ok(())
    }

    /// Copies the superchunk in its current state, with its attributes (between formats: content
    /// only), to a new container, which must not exist. The copy is complete or absent.
    pub fn copy_to(
        &self,
        location: impl Into<Location>,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        self.copy(location.into(), Mode::New, format, options)
    }

    /// Copies the superchunk as [`Schunk::copy_to`] does. The copy replaces an existing container.
    pub fn copy_replacing(
        &self,
        location: impl Into<Location>,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        self.copy(location.into(), Mode::Replace, format, options)
    }

    fn copy(
        &self,
        location: Location,
        mode: Mode,
        format: Format,
        options: &Options,
    ) -> Result<Integrity> {
        let options = options.get()?;
        let copied = location.with_target(|to| {
            let to = to.destination(mode, options)?;
            self.inner.copy(to, engine_format(format)?)
        });
        copied.map(Integrity::of)
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
