//! A superchunk in either format, and copies between the formats.
#![forbid(unsafe_code)]

use super::bloscpack::header::Dialect;
use super::bloscpack::{Bloscpack, Destination, Mode, reserve_offsets};
use super::frame::{self, Frame, NewFrame, Proxy};
use super::staging;
use crate::blosc::{Codec, Params, StoredCodec, StoredEncoding, Target};
use crate::checksum::{Checksum, Hasher};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::{Folder, locate, object};
use crate::options::{Opt, Options};
use crate::progress::{Progress, Scope, Step, measured};
use std::ffi::OsStr;
use std::sync::Arc;

/// Bytes of content that a copy holds in memory at once.
const PIECE: u64 = 16 << 20;

/// An open superchunk.
pub enum Superchunk {
    /// A Bloscpack file.
    Bloscpack(Box<Bloscpack>),
    /// A Blosc2 frame.
    Frame(Box<Frame>),
}

/// The format of a new superchunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperchunkFormat {
    /// A Bloscpack file.
    Bloscpack,
    /// A Blosc2 frame.
    Frame,
}

/// What is known about a chunk without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Bytes of content.
    pub nbytes: usize,
    /// Bytes as stored. 0 if the chunk is pending, or if a frame stores a chunk of equal items in
    /// its index.
    pub stored_bytes: usize,
    /// The codec; of a pending chunk, the one with which it will be encoded.
    pub codec: StoredCodec,
    /// The chunk is not encoded yet.
    pub is_pending: bool,
}

macro_rules! dispatch {
    ($s:expr, $a:ident => $result:expr) => {
        match $s {
            Superchunk::Bloscpack($a) => $result,
            Superchunk::Frame($a) => $result,
        }
    };
}

impl From<Bloscpack> for Superchunk {
    fn from(file: Bloscpack) -> Superchunk {
        Superchunk::Bloscpack(Box::new(file))
    }
}

impl From<Frame> for Superchunk {
    fn from(frame: Frame) -> Superchunk {
        Superchunk::Frame(Box::new(frame))
    }
}

impl Superchunk {
    /// Opens an existing superchunk and detects its format.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Superchunk> {
        let _scope = object::request_scope(options);
        if locate::is_folder(path) && frame::is_at(path, options)? {
            return Frame::open(path, mode, options).map(Superchunk::from);
        }
        let location = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        if mode == Mode::Read
            && let Some(proxy) = Proxy::find(&location.folder, &location.name, options)?
        {
            return proxy.open(options, |path, options| {
                Superchunk::open(path, mode, options)
            });
        }
        Superchunk::open_in(&location.folder, &location.name, mode, options)
    }

    /// Opens the superchunk `name` in `folder`.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Superchunk> {
        let folder = &frame::for_opening(folder, mode);
        match frame::is_frame(folder, name, options)? {
            true => Frame::open_in(folder, name, mode, options).map(Superchunk::from),
            false => Bloscpack::open_in(folder, name, mode, options).map(Superchunk::from),
        }
    }

    /// Creates a superchunk. The file appears with the first commit.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        format: SuperchunkFormat,
        typesize: usize,
        options: &Options,
    ) -> Result<Superchunk> {
        match format {
            SuperchunkFormat::Bloscpack => {
                Bloscpack::create(path, mode, typesize, options).map(Superchunk::from)
            }
            SuperchunkFormat::Frame => with_new(typesize, None, options, |new, options| {
                Frame::create(path, mode, new, options)
            })
            .map(Superchunk::from),
        }
    }

    /// Creates a superchunk with the name `name` in `folder`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        format: SuperchunkFormat,
        typesize: usize,
        options: &Options,
    ) -> Result<Superchunk> {
        match format {
            SuperchunkFormat::Bloscpack => {
                Bloscpack::create_in(folder, name, mode, typesize, options).map(Superchunk::from)
            }
            SuperchunkFormat::Frame => {
                let create = |new: &NewFrame, options: &Options| {
                    Frame::create_in(folder, name, mode, new, options)
                };
                with_new(typesize, None, options, create).map(Superchunk::from)
            }
        }
    }

    /// Copies content and named values. Parameters that the options of `to` do not set are taken
    /// from this superchunk. Returns true if corrupt content was replaced by zeros.
    pub fn copy(&self, mut to: Destination, format: SuperchunkFormat) -> Result<bool> {
        if let Superchunk::Frame(frame) = self
            && frame.is_named(&to.folder, &to.name)?
        {
            return Err(fail!(
                Argument,
                "{}: a copy cannot replace its source; choose another path",
                frame.name()
            ));
        }
        match (self, format) {
            (Superchunk::Bloscpack(file), SuperchunkFormat::Bloscpack) => file.copy(to),
            (Superchunk::Frame(frame), SuperchunkFormat::Bloscpack) => {
                frame.copy_as(to, None, frame.nbytes(), &|at, dst| frame.read(at, dst))
            }
            (Superchunk::Frame(frame), SuperchunkFormat::Frame)
                if [Opt::ChunkBytes, Opt::BlockBytes]
                    .iter()
                    .all(|o| to.options.given(*o).is_none()) =>
            {
                let sparse = to.options.take(Opt::Sparse) == Some(1);
                frame.copy(to, sparse)
            }
            (_, SuperchunkFormat::Frame) => self.copy_to_frame(to),
        }
    }

    fn copy_to_frame(&self, to: Destination) -> Result<bool> {
        if let Superchunk::Frame(frame) = self
            && frame.header().variable_blocks
            && frame.nbytes() > 0
        {
            return Err(fail!(
                Unsupported,
                "{}: its chunks have blocks of variable length, which cannot be divided again",
                frame.name()
            ));
        }
        let Destination {
            folder,
            name,
            mode,
            options,
        } = to;
        let mut copy_options = options.clone();
        if copy_options.given(Opt::ChunkBytes).is_none() && self.chunk_size() > 0 {
            copy_options.set(Opt::ChunkBytes, self.chunk_size() as i64)?;
        }
        let like = match self {
            Superchunk::Frame(frame) => frame.params().ok().cloned(),
            Superchunk::Bloscpack(_) => None,
        };
        let scope = Scope::open(options.progress(), self.nbytes(), Step::Call);
        let mut new = with_new(
            self.typesize(),
            like.as_ref(),
            &copy_options,
            |new, options| Frame::create_in(&folder, &name, mode, new, options),
        )?;
        if let Superchunk::Frame(frame) = self {
            for name in frame.meta_names() {
                let value = frame.existing_meta(name)?;
                if frame.is_fixed(name) {
                    new.meta_set(name, value)?
                } else {
                    new.vlmeta_set(name, value)?
                }
            }
        }
        let mut done = 0;
        let damaged = self.each_piece(&mut |piece| {
            new.append(piece)?;
            done += piece.len() as u64;
            scope.at(done)
        })?;
        new.commit()?;
        scope.finish();
        Ok(damaged)
    }

    // ---- properties

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        match self {
            Superchunk::Bloscpack(s) => s.chunks() as u64,
            Superchunk::Frame(s) => s.chunks(),
        }
    }

    /// Returns the number of bytes of content.
    pub fn nbytes(&self) -> u64 {
        dispatch!(self, s => s.nbytes())
    }

    /// Returns the size on disk in bytes.
    pub fn cbytes(&self) -> Result<u64> {
        dispatch!(self, s => s.cbytes())
    }

    /// Returns the item size in bytes.
    pub fn typesize(&self) -> usize {
        dispatch!(self, s => s.typesize())
    }

    /// Returns the content size of every chunk except the last, or 0 if chunk sizes vary.
    pub fn chunk_size(&self) -> usize {
        match self {
            Superchunk::Bloscpack(s) => s.chunk_size(),
            Superchunk::Frame(s) => s.chunk_bytes(),
        }
    }

    /// Returns the format version as the format numbers it. The BLZ RFC layout of Bloscpack is 103.
    pub fn version(&self) -> i32 {
        match self {
            Superchunk::Bloscpack(s) => match s.header().dialect {
                Dialect::V0 => 0,
                Dialect::V1 => 1,
                Dialect::V2 => 2,
                Dialect::V3 => 3,
                Dialect::Rfc => 103,
            },
            Superchunk::Frame(s) => s.header().version.into(),
        }
    }

    /// Returns the checksum type of the chunks.
    pub fn checksum(&self) -> Checksum {
        match self {
            Superchunk::Bloscpack(s) => s.header().checksum,
            Superchunk::Frame(s) if s.has_checksums() => Checksum::Crc32,
            Superchunk::Frame(_) => Checksum::None,
        }
    }

    /// Describes chunk `i`.
    pub fn chunk_info(&self, i: u64) -> Result<ChunkInfo> {
        let (nbytes, stored_bytes, flags) = dispatch!(self, s => s.chunk_info(i))?;
        let is_pending = match self {
            Superchunk::Bloscpack(_) => stored_bytes == 0,
            Superchunk::Frame(s) => s.is_pending(i),
        };
        let codec = match self {
            Superchunk::Bloscpack(s) if is_pending => s.new_codec(),
            Superchunk::Frame(s) if is_pending => StoredCodec::from_params(s.params()?),
            _ if stored_bytes == 0 => StoredCodec::None,
            _ => StoredCodec::from_flags(flags),
        };
        Ok(ChunkInfo {
            nbytes,
            stored_bytes,
            codec,
            is_pending,
        })
    }

    /// Returns how the chunks are encoded.
    pub fn encoding(&self) -> StoredEncoding {
        match self {
            Superchunk::Bloscpack(s) => s.encoding(),
            Superchunk::Frame(s) => s.header().encoding(),
        }
    }

    /// Returns whether it is a folder with one file per chunk.
    pub fn is_sparse(&self) -> bool {
        matches!(self, Superchunk::Frame(s) if s.is_sparse())
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        match self {
            Superchunk::Bloscpack(_) => Format::Bloscpack,
            Superchunk::Frame(_) => Format::B2Frame,
        }
    }

    /// Returns the content size of chunk `i` in bytes.
    pub fn chunk_nbytes(&self, i: u64) -> Result<usize> {
        match self {
            Superchunk::Bloscpack(s) => s.chunk_nbytes(i),
            Superchunk::Frame(s) => s.span(i).map(|span| (span.end - span.start) as usize),
        }
    }

    // ---- content

    /// Reads content from byte `at` on until `dst` is full. Returns true if corrupt content was
    /// replaced by zeros.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let total = dst.len() as u64;
        let read = || dispatch!(self, s => s.read(at, dst));
        measured(self.progress(), total, Step::Decode, read)
    }

    /// Reads chunk `i` into `dst`, which must have the content size of the chunk.
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        let total = dst.len() as u64;
        let read = || dispatch!(self, s => s.read_chunk(i, dst));
        measured(self.progress(), total, Step::Decode, read)
    }

    /// Calls `f` with the encoded bytes of chunk `i`.
    pub fn with_raw(&self, i: u64, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        dispatch!(self, s => s.with_raw(i, f))
    }

    /// Returns where each block of chunk `i` begins in the content of the chunk, and where the last
    /// one ends.
    pub fn block_offsets(&self, i: u64) -> Result<Vec<usize>> {
        dispatch!(self, s => s.block_offsets(i))
    }

    /// Returns the length of a block of chunk `i`.
    pub fn block_len(&self, i: u64, block: usize) -> Result<usize> {
        dispatch!(self, s => s.block_len(i, block))
    }

    /// Reads a block of chunk `i` into `dst`, which must have its length. Returns true if parts of
    /// the superchunk are corrupt, so that the block may not be the one that was written.
    pub fn read_block(&self, i: u64, block: usize, dst: &mut [u8]) -> Result<bool> {
        let total = dst.len() as u64;
        let read = || dispatch!(self, s => s.read_block(i, block, dst));
        measured(self.progress(), total, Step::Decode, read)
    }

    /// Calls `f` with all content in consecutive pieces. Returns true under the same condition as
    /// [`Superchunk::read`].
    pub fn each_piece(&self, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        dispatch!(self, s => s.each_piece(f))
    }

    /// Returns a checksum of all content. The flag is true if corrupt content was replaced by zeros.
    pub fn content_checksum(&self, algorithm: Checksum) -> Result<(Vec<u8>, bool)> {
        let mut h = Hasher::new(algorithm);
        let damaged = self.each_piece(&mut |piece| {
            h.update(piece);
            Ok(())
        })?;
        Ok((h.finish(), damaged))
    }

    /// Appends content.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        measured(
            self.progress(),
            src.len() as u64,
            Step::Encode,
            || dispatch!(self, s => s.append(src)),
        )
    }

    /// Appends an encoded chunk unchanged.
    pub fn append_raw(&mut self, chunk: &[u8]) -> Result<()> {
        dispatch!(self, s => s.append_raw(chunk))
    }

    /// Overwrites content from byte `at` on.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        measured(
            self.progress(),
            src.len() as u64,
            Step::Encode,
            || dispatch!(self, s => s.write(at, src)),
        )
    }

    /// Inserts `src` as one chunk before chunk `chunk`.
    pub fn insert(&mut self, chunk: u64, src: &[u8]) -> Result<()> {
        measured(
            self.progress(),
            src.len() as u64,
            Step::Encode,
            || dispatch!(self, s => s.insert(chunk, src)),
        )
    }

    /// Inserts a chunk of blocks of any length with this content before chunk `chunk`.
    pub fn insert_blocks(&mut self, chunk: u64, blocks: &[&[u8]]) -> Result<()> {
        let progress = self.progress();
        let Superchunk::Frame(frame) = self else {
            return Err(fail!(
                Unsupported,
                "blocks of variable length are in frames only, and this is a Bloscpack file"
            ));
        };
        let total = blocks.iter().map(|block| block.len() as u64).sum();
        measured(progress, total, Step::Encode, || {
            frame.insert_blocks(chunk, blocks)
        })
    }

    /// Removes chunk `chunk` and shifts the following chunks down by one.
    pub fn remove(&mut self, chunk: u64) -> Result<()> {
        dispatch!(self, s => s.remove(chunk))
    }

    /// Truncates the content to `nbytes` bytes.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        dispatch!(self, s => s.truncate(nbytes))
    }

    /// Makes all changes durable and visible.
    pub fn commit(&mut self) -> Result<()> {
        let pending = dispatch!(self, s => s.pending_bytes());
        measured(
            self.progress(),
            pending,
            Step::Encode,
            || dispatch!(self, s => s.commit()),
        )
    }

    /// Returns the progress callback of the options.
    fn progress(&self) -> Option<Progress> {
        dispatch!(self, s => s.progress()).cloned()
    }

    // ---- named values

    /// Returns the names of all values, including corrupt ones.
    pub fn meta_names(&self) -> Vec<&str> {
        match self {
            Superchunk::Bloscpack(s)
                if self.is_meta_lost("") || matches!(s.meta(), Ok(Some(_))) =>
            {
                vec![""]
            }
            Superchunk::Bloscpack(_) => Vec::new(),
            Superchunk::Frame(s) => s.meta_names().collect(),
        }
    }

    /// Returns the value `name`, or `None` if it does not exist.
    pub fn meta(&self, name: &str) -> Result<Option<&[u8]>> {
        match self {
            Superchunk::Bloscpack(s) if name.is_empty() => s.meta(),
            Superchunk::Bloscpack(_) => Ok(None),
            Superchunk::Frame(s) => s.meta(name),
        }
    }

    /// Returns whether the value `name` is corrupt. [`Superchunk::meta`] returns `None` for it if
    /// the options skip damage, and the error otherwise.
    pub fn is_meta_lost(&self, name: &str) -> bool {
        matches!(self, Superchunk::Bloscpack(s) if name.is_empty() && s.meta_damage().is_some())
    }

    /// Returns whether the value `name` has a fixed length: it is in the header of a frame.
    pub fn is_meta_fixed(&self, name: &str) -> bool {
        matches!(self, Superchunk::Frame(s) if s.is_fixed(name))
    }

    /// Sets the value `name` in the header of a frame.
    pub fn meta_set_fixed(&mut self, name: &str, value: &[u8]) -> Result<()> {
        match self {
            Superchunk::Bloscpack(_) => Err(fail!(
                Unsupported,
                "values of fixed length are in the header of a frame, and this is a Bloscpack file"
            )),
            Superchunk::Frame(s) => s.fixed_set(name, value),
        }
    }

    /// Sets the value `name`; `None` removes it.
    pub fn meta_set(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        match (self, value) {
            (Superchunk::Bloscpack(s), value) if name.is_empty() => s.meta_set(value),
            (Superchunk::Bloscpack(_), _) => Err(fail!(
                Unsupported,
                "a Bloscpack file has one value only (expected the name \"\", found {name:?})"
            )),
            (Superchunk::Frame(s), Some(value)) if s.is_fixed(name) => s.meta_set(name, value),
            (Superchunk::Frame(s), Some(value)) => s.vlmeta_set(name, value),
            (Superchunk::Frame(s), None) if s.meta_names().all(|n| n != name) => Ok(()),
            (Superchunk::Frame(s), None) => s.meta_remove(name),
        }
    }
}

impl Frame {
    /// Creates a Bloscpack file with `len` bytes of content from `read` and the metadata `meta`.
    /// Returns true if corrupt content was replaced by zeros.
    pub fn copy_as(
        &self,
        to: Destination,
        meta: Option<&[u8]>,
        len: u64,
        read: &dyn Fn(u64, &mut [u8]) -> Result<bool>,
    ) -> Result<bool> {
        let Destination {
            folder,
            name,
            mode,
            options,
        } = to;
        let mut copy_options = options.clone();
        let typesize = Some(self.typesize())
            .filter(|n| (1..=255).contains(n))
            .unwrap_or(1);
        if copy_options.given(Opt::ChunkBytes).is_none() && self.chunk_bytes() > 0 {
            copy_options.set(
                Opt::ChunkBytes,
                (self.chunk_bytes() / typesize * typesize).max(typesize) as i64,
            )?;
        }
        reserve_offsets(&mut copy_options, len)?;
        let mut new = Bloscpack::create_in(&folder, &name, mode, typesize, &copy_options)?;
        if meta.is_some() {
            new.meta_set(meta)?;
        }
        new.fill_from(len, PIECE, read, &options)
    }
}

/// Creates a frame with `options`; parameters that are not set are taken from `like`.
fn with_new(
    typesize: usize,
    like: Option<&Params>,
    options: &Options,
    create: impl FnOnce(&NewFrame, &Options) -> Result<Frame>,
) -> Result<Frame> {
    if typesize == 0 {
        return Err(fail!(
            Argument,
            "typesize 0 is invalid (expected 1 or more)"
        ));
    }
    let mut options = options.clone();
    let sparse = options.take(Opt::Sparse) == Some(1);
    let chunk_bytes = options
        .take(Opt::ChunkBytes)
        .map_or_else(|| staging::default_chunk(typesize), |n| n as usize);
    let mut params = like
        .cloned()
        .unwrap_or_else(|| Params::new(Target::Blosc2, Codec::Lz4, 5, typesize));
    params.blocksize = options
        .take(Opt::BlockBytes)
        .map(|n| n as usize)
        .or(params.blocksize.filter(|_| like.is_some()));
    let params = frame::take_requested_params(&mut options, &params)?;
    create(
        &NewFrame {
            typesize,
            chunk_bytes,
            params,
            metalayers: &[],
            sparse,
        },
        &options,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    const NAME: &str = "s";

    fn filled(disk: &SimDisk, format: SuperchunkFormat, options: &Options) -> Superchunk {
        let name = OsStr::new(NAME);
        let folder = disk.folder();
        let mut s = Superchunk::create_in(&folder, name, Mode::New, format, 4, options).unwrap();
        let content: Vec<u8> = (0..10_000u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
        s.append(&content).unwrap();
        s.commit().unwrap();
        s
    }

    #[test]
    fn the_encoding_is_that_of_the_stored_chunks() {
        let options = |codec: i64| {
            let options = Options::new().with(Opt::ChunkBytes, 4000).unwrap();
            let mut options = options.with(Opt::Codec, codec).unwrap();
            options.set_bytes(Opt::Filters, &[2]).unwrap();
            options
        };
        for (format, level) in [
            (SuperchunkFormat::Bloscpack, None),
            (SuperchunkFormat::Frame, Some(5)),
        ] {
            let disk = SimDisk::default();
            drop(filled(&disk, format, &options(6)));
            let (folder, name) = (disk.folder(), OsStr::new(NAME));
            let s = Superchunk::open_in(&folder, name, Mode::Read, &Options::new()).unwrap();
            let encoding = s.encoding();
            assert_eq!(encoding.codec, StoredCodec::One(Codec::Zstd));
            assert_eq!((encoding.level, encoding.filters), (level, vec![2]));
            drop(s);

            // codec 2 is LZ4
            let lz4 = Options::new().with(Opt::Codec, 2).unwrap();
            let mut s = Superchunk::open_in(&folder, name, Mode::Append, &lz4).unwrap();
            let n = s.chunks();
            s.append(&[7; 4000]).unwrap();
            s.append(&[8; 40]).unwrap();
            let last = s.chunk_info(n + 1).unwrap();
            assert_eq!((last.nbytes, last.stored_bytes), (40, 0));
            assert!(last.is_pending);
            assert_eq!(last.codec, StoredCodec::One(Codec::Lz4));
            s.commit().unwrap();
            assert!(!s.chunk_info(n + 1).unwrap().is_pending);
            assert_eq!(
                s.chunk_info(0).unwrap().codec,
                StoredCodec::One(Codec::Zstd)
            );
            let expected = match format {
                SuperchunkFormat::Bloscpack => StoredCodec::Mixed,
                SuperchunkFormat::Frame => StoredCodec::One(Codec::Lz4),
            };
            assert_eq!(s.encoding().codec, expected);
        }
    }

    #[test]
    fn a_superchunk_is_copied_to_any_folder() {
        let formats = [SuperchunkFormat::Bloscpack, SuperchunkFormat::Frame];
        let small = Options::new().with(Opt::ChunkBytes, 4000).unwrap();
        let folder = Options::new().with(Opt::Sparse, 1).unwrap();
        for from in formats {
            let disk = SimDisk::default();
            let s = filled(&disk, from, &Options::new());
            for (to, options) in [
                (SuperchunkFormat::Bloscpack, &small),
                (SuperchunkFormat::Frame, &small),
                (SuperchunkFormat::Frame, &folder),
            ] {
                let there = SimDisk::default();
                let destination = Destination {
                    folder: there.folder(),
                    name: "".into(),
                    mode: Mode::New,
                    options: options.clone(),
                };
                assert!(!s.copy(destination, to).unwrap());
                let name = OsStr::new("");
                let copy = Superchunk::open_in(&there.folder(), name, Mode::Read, &Options::new())
                    .unwrap();
                assert_eq!(copy.is_sparse(), options.given(Opt::Sparse).is_some());
                let mut content = [vec![1; 40_000], vec![2; 40_000]];
                s.read(0, &mut content[0]).unwrap();
                copy.read(0, &mut content[1]).unwrap();
                assert!(content[0] == content[1]);
            }
        }
    }
}
