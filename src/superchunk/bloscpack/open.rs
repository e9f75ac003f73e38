//! Opening and creating Bloscpack files.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_encoder::ChunkEncoder;
use super::chunk_list::ChunkSlots;
use super::chunk_reader::ChunkReader;
use super::content::{Content, check_chunk_size};
use super::head::Head;
use super::header::{Dialect, Header};
use super::params::params;
use super::writer::{Writer, container, open_session, shown};
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::io::journal::{self, Session, Snapshot};
use crate::io::{Access, Folder, locate, object};
use crate::options::{CHUNK_WRITE_OPTIONS, Opt, Options};
use crate::superchunk::staging::default_chunk;
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

/// Options for opening for reading.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
    Opt::CacheBytes,
];
/// Additional options for opening for writing.
pub(super) const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::ChunkBytes,
    Opt::BlockBytes,
    Opt::SpareChunks,
    Opt::SpareBytes,
];
/// Additional options for creating.
pub(super) const CREATE_OPTIONS: &[Opt] = &[Opt::Checksum, Opt::Offsets, Opt::FormatVersion];

/// The access mode of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reads an existing file.
    Read,
    /// Reads and changes an existing file.
    Append,
    /// Creates a file that must not exist.
    New,
    /// Creates a file. An existing file remains until the first commit replaces it.
    Replace,
}

impl Mode {
    /// Returns the mode of a session that creates a file.
    pub fn creating(self) -> Result<journal::Mode> {
        match self {
            Mode::New => Ok(journal::Mode::New),
            Mode::Replace => Ok(journal::Mode::Replace),
            Mode::Read | Mode::Append => Err(fail!(
                Argument,
                "creating takes HOLDALL_CREATE or HOLDALL_REPLACE"
            )),
        }
    }
}

impl Bloscpack {
    /// Opens an existing file.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Bloscpack> {
        let _scope = object::request_scope(options);
        let location = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        Bloscpack::open_in(&location.folder, &location.name, mode, options)
    }

    /// Opens the file `name` in `folder`.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Bloscpack> {
        match mode {
            Mode::Read => Bloscpack::open_for_reading(folder, name, options),
            Mode::Append => Bloscpack::open_for_writing(folder, name, options),
            Mode::New | Mode::Replace => Err(fail!(
                Argument,
                "HOLDALL_CREATE and HOLDALL_REPLACE are for holdall_schunk_create() and holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            )),
        }
    }

    fn open_for_reading(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        options: &Options,
    ) -> Result<Bloscpack> {
        let options = &options.applying(
            "opening a superchunk for reading",
            OPEN_OPTIONS,
            CHUNK_WRITE_OPTIONS,
        )?;
        let container = container(folder, name);
        let access = if options.get(Opt::Io, 0) == 1 {
            Access::Map
        } else {
            Access::Read
        };
        Snapshot::read(&container, |s| {
            let main = s.open(name, access)?;
            let b = Bloscpack::load_for_reading(shown(&container), main, options)?;
            b.verify_if_requested()?;
            Ok(b)
        })
    }

    fn open_for_writing(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        options: &Options,
    ) -> Result<Bloscpack> {
        let options = &options.applying(
            "opening a superchunk for writing",
            &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
            CHUNK_WRITE_OPTIONS,
        )?;
        let session = open_session(folder, name, journal::Mode::Append, options)?;
        let main = folder.open(name, Access::Write)?;
        let mut b = Bloscpack::load(shown(session.container()), main, None, options)?;
        b.reader.refuse_damaged(b.content.slots.len())?;
        b.verify_if_requested()?;
        if b.header().dialect == Dialect::V0 {
            return Err(fail!(
                Unsupported,
                "{}: the layout of the Bloscpack 0.1.0 release candidates is read-only; copy the file to change it",
                b.name()
            ));
        }
        b.start_writing(session)?;
        b.content
            .lengthen_short_chunk(options.given(Opt::ChunkBytes));
        if options.given(Opt::ChunkBytes) == Some(b.chunk_size() as i64) {
            b.content.check_chunk_size()?;
        }
        Ok(b)
    }

    /// Creates a file. The file appears with the first commit.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        typesize: usize,
        options: &Options,
    ) -> Result<Bloscpack> {
        let location = locate::locate_for_change(path)?;
        Bloscpack::create_in(&location.folder, &location.name, mode, typesize, options)
    }

    /// Creates the file `name` in `folder`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        typesize: usize,
        options: &Options,
    ) -> Result<Bloscpack> {
        let mode = mode.creating()?;
        options.only(
            "creating a superchunk",
            &[OPEN_OPTIONS, WRITE_OPTIONS, CREATE_OPTIONS].concat(),
        )?;
        let session = open_session(folder, name, mode, options)?;
        session.refuse_existing(name)?;
        let header = new_header(typesize, options)?;
        let params = params(options, typesize, None)?;
        let chunk_size = new_chunk_size(typesize, options)?;
        let content = Content::new(ChunkSlots::default(), typesize, chunk_size);
        let encoder = ChunkEncoder::new(params, header.checksum, options);
        Ok(Bloscpack {
            reader: ChunkReader::new(shown(session.container()), header.checksum, options),
            head: Head::new(header, options),
            content,
            changed: false,
            options: options.clone(),
            listed: OnceLock::new(),
            writer: Some(Writer::new(session, encoder)),
        })
    }

    /// Makes the handle a writer. Takes the parameters of new chunks from the existing chunks where
    /// the options do not set them.
    pub(super) fn start_writing(&mut self, session: Session) -> Result<()> {
        let (header, like) = (self.header(), self.last_chunk());
        let typesize = like.map_or(header.typesize.max(1).into(), |h| h.typesize);
        let params = params(&self.options, typesize, like.as_ref())?;
        let encoder = ChunkEncoder::new(params, header.checksum, &self.options);
        self.content.typesize = typesize;
        self.writer = Some(Writer::new(session, encoder));
        Ok(())
    }

    fn verify_if_requested(&self) -> Result<()> {
        if self.options.get(Opt::Verify, 1) < 2 {
            return Ok(());
        }
        let mut first = None;
        self.verify(|e| {
            first = Some(e.clone());
            false
        })?;
        first.map_or(Ok(()), Err)
    }
}

/// Returns the chunk size of a new file, whose typesize is valid.
pub(super) fn new_chunk_size(typesize: usize, options: &Options) -> Result<usize> {
    let size = match options.given(Opt::ChunkBytes) {
        Some(n) => n as usize,
        None => default_chunk(typesize),
    };
    check_chunk_size(size, typesize)?;
    Ok(size)
}

pub(super) fn new_header(typesize: usize, options: &Options) -> Result<Header> {
    if typesize == 0 || typesize > i32::MAX as usize {
        return Err(fail!(
            Argument,
            "typesize {typesize} is invalid (expected 1 or more)"
        ));
    }
    let dialect = match options.get(Opt::FormatVersion, 0) {
        1 => Dialect::V1,
        2 => Dialect::V2,
        103 => Dialect::Rfc,
        _ => Dialect::V3,
    };
    let plain = dialect == Dialect::V1;
    let asked = |opt: Opt| options.given(opt).is_some_and(|v| v != 0);
    if let Some(opt) = [Opt::Checksum, Opt::Offsets, Opt::SpareChunks]
        .into_iter()
        .find(|o| plain && asked(*o))
    {
        return Err(fail!(
            Unsupported,
            "{}: version 1 does not support this option",
            opt.name()
        ));
    }
    let checksum = options.get(
        Opt::Checksum,
        if plain { 0 } else { Checksum::Crc32 as i64 },
    );
    let checksum =
        Checksum::from_number(checksum as i32).map_err(|e| e.within(Opt::Checksum.name()))?;
    Ok(Header {
        has_offsets: !plain && options.get(Opt::Offsets, 1) == 1,
        checksum,
        typesize: if plain {
            0
        } else {
            u8::try_from(typesize).unwrap_or(1)
        },
        ..Header::new(dialect)
    })
}
