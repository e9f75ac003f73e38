//! A superchunk in either format, and copies from one to the other.
#![forbid(unsafe_code)]

use super::bloscpack::header::Dialect;
use super::bloscpack::{Bloscpack, Destination, Mode, keep_room};
use super::frame::{self, Frame, NewFrame};
use super::staging;
use crate::blosc::{Codec, Params, Target};
use crate::checksum::Sum;
use crate::error::{Result, fail};
use crate::io::{Folder, locate, object};
use crate::options::{Opt, Options};
use std::ffi::OsStr;
use std::sync::Arc;

/// Content that a copy has in memory at once.
const PIECE: u64 = 16 << 20;

/// An open superchunk.
pub enum Superchunk {
    /// A Bloscpack file.
    Bloscpack(Box<Bloscpack>),
    /// A Blosc2 frame.
    Frame(Box<Frame>),
}

/// What a new one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A Bloscpack file.
    Bloscpack,
    /// A Blosc2 frame.
    Frame,
}

macro_rules! either {
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
    /// Opens what is there.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Superchunk> {
        let _asking = object::ask_as(options);
        if locate::is_folder(path) && frame::is_at(path, options)? {
            return Frame::open(path, mode, options).map(Superchunk::from);
        }
        let place = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        Superchunk::open_in(&place.folder, &place.name, mode, options)
    }

    /// Opens a name in a folder.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Superchunk> {
        match frame::is_frame(folder, name, options)? {
            true => Frame::open_in(folder, name, mode, options).map(Superchunk::from),
            false => Bloscpack::open_in(folder, name, mode, options).map(Superchunk::from),
        }
    }

    /// Creates one; it is there with the first commit.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        form: Form,
        typesize: usize,
        options: &Options,
    ) -> Result<Superchunk> {
        match form {
            Form::Bloscpack => {
                Bloscpack::create(path, mode, typesize, options).map(Superchunk::from)
            }
            Form::Frame => with_new(typesize, None, options, |new, options| {
                Frame::create(path, mode, new, options)
            })
            .map(Superchunk::from),
        }
    }

    /// The same under a name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        form: Form,
        typesize: usize,
        options: &Options,
    ) -> Result<Superchunk> {
        match form {
            Form::Bloscpack => {
                Bloscpack::create_in(folder, name, mode, typesize, options).map(Superchunk::from)
            }
            Form::Frame => {
                let create = |new: &NewFrame, options: &Options| {
                    Frame::create_in(folder, name, mode, new, options)
                };
                with_new(typesize, None, options, create).map(Superchunk::from)
            }
        }
    }

    /// Copies content and named values. What the options do not say is as here.
    /// True: some of it was damaged, and is zeros there.
    pub fn copy(&self, path: &OsStr, mode: Mode, form: Form, options: &Options) -> Result<bool> {
        let mut to = Destination::at(path, mode, options.clone())?;
        if let Superchunk::Frame(frame) = self
            && frame.is_named(&to.folder, &to.name)?
        {
            return Err(fail!(
                Argument,
                "{}: a copy cannot take the place of what it is made from",
                frame.name()
            ));
        }
        match (self, form) {
            (Superchunk::Bloscpack(file), Form::Bloscpack) => file.copy(to),
            (Superchunk::Frame(frame), Form::Bloscpack) => {
                frame.copy_as(to, None, frame.nbytes(), &|at, dst| frame.read(at, dst))
            }
            (Superchunk::Frame(frame), Form::Frame)
                if [Opt::ChunkBytes, Opt::BlockBytes]
                    .iter()
                    .all(|o| options.given(*o).is_none()) =>
            {
                let sparse = to.options.take(Opt::Sparse) == Some(1);
                frame.copy(to, sparse)
            }
            (_, Form::Frame) => self.copy_to_frame(path, mode, options),
        }
    }

    fn copy_to_frame(&self, path: &OsStr, mode: Mode, options: &Options) -> Result<bool> {
        let mut wished = options.clone();
        if wished.given(Opt::ChunkBytes).is_none() && self.chunk_size() > 0 {
            wished.set(Opt::ChunkBytes, self.chunk_size() as i64)?;
        }
        let like = match self {
            Superchunk::Frame(frame) => frame.params().ok().cloned(),
            Superchunk::Bloscpack(_) => None,
        };
        let mut new = with_new(self.typesize(), like.as_ref(), &wished, |new, options| {
            Frame::create(path, mode, new, options)
        })?;
        if let Superchunk::Frame(frame) = self {
            for name in frame.meta_names() {
                let value = frame.meta(name)?.unwrap_or_default();
                if frame.is_fixed(name) {
                    new.meta_set(name, value)?
                } else {
                    new.vlmeta_set(name, value)?
                }
            }
        }
        let (mut done, all) = (0, self.nbytes());
        let bad = self.each_piece(&mut |piece| {
            new.append(piece)?;
            done += piece.len() as u64;
            options.progress(done, all)
        })?;
        new.commit()?;
        Ok(bad)
    }

    // ---- what it is

    /// How many chunks.
    pub fn chunks(&self) -> u64 {
        match self {
            Superchunk::Bloscpack(s) => s.chunks() as u64,
            Superchunk::Frame(s) => s.chunks(),
        }
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> u64 {
        either!(self, s => s.nbytes())
    }

    /// Bytes on disk.
    pub fn cbytes(&self) -> Result<u64> {
        either!(self, s => s.cbytes())
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        either!(self, s => s.typesize())
    }

    /// Bytes of content of each chunk but the last; 0 where they may have any length.
    pub fn chunk_size(&self) -> usize {
        match self {
            Superchunk::Bloscpack(s) => s.chunk_size(),
            Superchunk::Frame(s) => s.chunk_bytes(),
        }
    }

    /// How its header is laid out: as the formats count, the papers' layout of Bloscpack being 103.
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

    /// The checksum of its chunks.
    pub fn sum(&self) -> Sum {
        match self {
            Superchunk::Bloscpack(s) => s.header().checksum,
            Superchunk::Frame(s) if s.has_sums() => Sum::Crc32,
            Superchunk::Frame(_) => Sum::None,
        }
    }

    /// Bytes of content, bytes as stored (0: it takes no room, or waits), and flags of a chunk that
    /// is stored.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        either!(self, s => s.chunk_info(i))
    }

    /// Bytes of content of a chunk.
    pub fn chunk_nbytes(&self, i: u64) -> Result<usize> {
        match self {
            Superchunk::Bloscpack(s) => s.chunk_nbytes(i),
            Superchunk::Frame(s) => s.span(i).map(|span| (span.end - span.start) as usize),
        }
    }

    // ---- its content

    /// Reads content until `dst` is full. True: some of it was damaged, and is zeros now.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        either!(self, s => s.read(at, dst))
    }

    /// Reads a chunk into a buffer of its length.
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        either!(self, s => s.read_chunk(i, dst))
    }

    /// Calls `f` with a chunk as it is stored.
    pub fn with_raw(&self, i: u64, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        either!(self, s => s.with_raw(i, f))
    }

    /// Calls `f` with all content, piece by piece. True: as [`Superchunk::read`].
    pub fn each_piece(&self, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        either!(self, s => s.each_piece(f))
    }

    /// Puts content behind the last.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        either!(self, s => s.append(src))
    }

    /// Puts a chunk behind the last, as it is.
    pub fn append_raw(&mut self, chunk: &[u8]) -> Result<()> {
        either!(self, s => s.append_raw(chunk))
    }

    /// Writes over content.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        either!(self, s => s.write(at, src))
    }

    /// Puts a chunk before another one.
    pub fn insert(&mut self, chunk: u64, src: &[u8]) -> Result<()> {
        either!(self, s => s.insert(chunk, src))
    }

    /// Takes a chunk away.
    pub fn remove(&mut self, chunk: u64) -> Result<()> {
        either!(self, s => s.remove(chunk))
    }

    /// Cuts the content.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        either!(self, s => s.truncate(nbytes))
    }

    /// Makes all changes durable and visible.
    pub fn commit(&mut self) -> Result<()> {
        either!(self, s => s.commit())
    }

    // ---- named values

    /// Their names, those of damaged ones too.
    pub fn meta_names(&self) -> Vec<&str> {
        match self {
            Superchunk::Bloscpack(s) if s.meta().map_or(true, |m| m.is_some()) => vec![""],
            Superchunk::Bloscpack(_) => Vec::new(),
            Superchunk::Frame(s) => s.meta_names().collect(),
        }
    }

    /// One of them.
    pub fn meta(&self, name: &str) -> Result<Option<&[u8]>> {
        match self {
            Superchunk::Bloscpack(s) if name.is_empty() => s.meta(),
            Superchunk::Bloscpack(_) => Ok(None),
            Superchunk::Frame(s) => s.meta(name),
        }
    }

    /// Sets it; nothing removes it.
    pub fn meta_set(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        match (self, value) {
            (Superchunk::Bloscpack(s), value) if name.is_empty() => s.meta_set(value),
            (Superchunk::Bloscpack(_), _) => Err(fail!(
                Unsupported,
                "Bloscpack files have one value, named \"\""
            )),
            (Superchunk::Frame(s), Some(value)) if s.is_fixed(name) => s.meta_set(name, value),
            (Superchunk::Frame(s), Some(value)) => s.vlmeta_set(name, value),
            (Superchunk::Frame(s), None) if s.meta_names().all(|n| n != name) => Ok(()),
            (Superchunk::Frame(s), None) => s.meta_remove(name),
        }
    }

    /// What content is going to be encoded with that waits for it.
    pub fn codec(&self) -> Option<Codec> {
        match self {
            Superchunk::Bloscpack(s) => Some(s.codec()),
            // a chunk that is not stored takes no room, in most cases
            Superchunk::Frame(_) => None,
        }
    }
}

impl Frame {
    /// Makes a Bloscpack file of `len` bytes of content that `read` gives, with these metadata.
    /// True: some of it was damaged.
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
        let mut wished = options.clone();
        let typesize = Some(self.typesize())
            .filter(|n| (1..=255).contains(n))
            .unwrap_or(1);
        if wished.given(Opt::ChunkBytes).is_none() && self.chunk_bytes() > 0 {
            wished.set(
                Opt::ChunkBytes,
                (self.chunk_bytes() / typesize * typesize).max(typesize) as i64,
            )?;
        }
        keep_room(&mut wished, len)?;
        let mut new = Bloscpack::create_in(&folder, &name, mode, typesize, &wished)?;
        if meta.is_some() {
            new.meta_set(meta)?;
        }
        new.fill_from(len, PIECE, read, &options)
    }
}

/// Creates a frame as the options say, and else as `like`.
fn with_new(
    typesize: usize,
    like: Option<&Params>,
    options: &Options,
    create: impl FnOnce(&NewFrame, &Options) -> Result<Frame>,
) -> Result<Frame> {
    if typesize == 0 {
        return Err(fail!(Argument, "items of 0 bytes: they have one at least"));
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
    let params = frame::take_wished(&mut options, &params)?;
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
