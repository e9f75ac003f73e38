//! Opening and creating Bloscpack files.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkLocation, ChunkSlot, ChunkSlots};
use super::chunk_table::{BLOSC_HEADER, LocatedChunk};
use super::header::{Dialect, ENTRY, Header};
use super::layout::Layout;
use super::metadata::MetaLayout;
use super::{Bloscpack, DEFAULT_CHUNK};
use crate::alloc;
use crate::blosc::{self, Codec, Filter, Params, Pipeline, Target};
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::io::journal::{self, Container, Session, Snapshot};
use crate::io::{Access, File, Folder, beside, locate, object};
use crate::json::Value;
use crate::options::{CHUNK_WRITE_OPTIONS, Opt, Options};
use crate::superchunk::buffer_pool::BufferPool;
use std::ffi::OsStr;
use std::sync::Arc;

/// Options for opening for reading.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
];
/// Additional options for opening for writing.
const WRITE_OPTIONS: &[Opt] = &[
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
const CREATE_OPTIONS: &[Opt] = &[Opt::Checksum, Opt::Offsets, Opt::FormatVersion];

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

/// A single chunk below this size may be short only because there was no more content.
const SHORT_CHUNK: usize = 16 << 10;

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
            Mode::Read => {
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
                    let unchanged = (main.size()?, main.modified()?);
                    let mut b = Bloscpack::blank(&container, options);
                    b.load(main)?;
                    b.unchanged = Some(unchanged);
                    b.refuse_damaged()?;
                    b.verify_if_requested()?;
                    Ok(b)
                })
            }
            Mode::Append => {
                let options = &options.applying(
                    "opening a superchunk for writing",
                    &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
                    CHUNK_WRITE_OPTIONS,
                )?;
                let mut b = Bloscpack::for_writing(folder, name, journal::Mode::Append, options)?;
                b.load(folder.open(name, Access::Write)?)?;
                b.refuse_damaged()?;
                b.verify_if_requested()?;
                if b.header.dialect == Dialect::V0 {
                    return Err(fail!(
                        Unsupported,
                        "{}: the layout of the Bloscpack 0.1.0 release candidates is read-only; copy the file to change it",
                        b.name()
                    ));
                }
                b.inherit_params()?;
                b.lengthen_short_chunks();
                if options.given(Opt::ChunkBytes) == Some(b.chunk_size as i64) {
                    b.check_chunk_size()?;
                }
                Ok(b)
            }
            Mode::New | Mode::Replace => Err(fail!(
                Argument,
                "HOLDALL_CREATE and HOLDALL_REPLACE are for holdall_schunk_create() and holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            )),
        }
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
        let mut b = Bloscpack::for_writing(folder, name, mode, options)?;
        b.session()?.refuse_existing(name)?;
        b.header = new_header(typesize, options)?;
        b.params = params(options, typesize, None)?;
        b.chunk_size = match options.given(Opt::ChunkBytes) {
            Some(n) => n as usize,
            None => (DEFAULT_CHUNK / typesize * typesize).max(typesize),
        };
        b.check_chunk_size()?;
        b.meta_changed = true;
        Ok(b)
    }

    /// Returns an error if the chunk size is not a multiple of the item size.
    fn check_chunk_size(&self) -> Result<()> {
        let (n, typesize) = (self.chunk_size, self.params.typesize.max(1));
        if n % typesize == 0 {
            return Ok(());
        }
        Err(fail!(
            Argument,
            "HOLDALL_OPT_CHUNK_BYTES: {n} is not a multiple of the typesize, {typesize}"
        ))
    }

    fn blank(container: &Container, options: &Options) -> Bloscpack {
        Bloscpack {
            name: container.folder.show(&container.main),
            header: Header::new(Dialect::V3),
            slots: ChunkSlots::default(),
            pending: Vec::new(),
            open_chunk: None,
            meta: None,
            meta_changed: false,
            meta_damage: None,
            main: None,
            part: None,
            part_end: 0,
            in_memory: 0,
            buffers: BufferPool::default(),
            end: 0,
            size: 0,
            offsets_are_right: true,
            unchanged: None,
            damage: None,
            suspected: None,
            header_repaired: false,
            positions_known: false,
            missing: 0,
            unsure_size: None,
            chunk_size: 0,
            params: Params::new(Target::Blosc1, Codec::Lz4, 5, 1),
            spare_bytes: options.get(Opt::SpareBytes, 0) as u32,
            threads: options.threads(),
            verify: options.get(Opt::Verify, 1) > 0,
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            memory_limit: options.memory_limit(),
            changed: false,
            options: options.clone(),
            session: None,
        }
    }

    pub(super) fn for_writing(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: journal::Mode,
        options: &Options,
    ) -> Result<Bloscpack> {
        // assembling the header of a new file holds the offsets table in memory twice
        let spare = (options.get(Opt::SpareChunks, 0) as u64).saturating_mul(2 * ENTRY);
        alloc::allow(spare, options.memory_limit(), Opt::SpareChunks.name())?;
        let container = container(folder, name);
        let mut b = Bloscpack::blank(&container, options);
        let session = Session::open(container, b.name.clone(), mode, options)?;
        folder.remove_if_there(&part_name(session.container()))?;
        b.session = Some(session);
        Ok(b)
    }

    /// Loads header, metadata and chunk positions from `main`.
    pub(super) fn load(&mut self, main: Arc<dyn File>) -> Result<()> {
        let Layout {
            header,
            table,
            meta,
            meta_damage,
            header_repaired,
            positions_known,
        } = Layout::find(&*main, self.memory_limit)?;
        (self.header, self.meta_changed, self.header_repaired) =
            (header, header_repaired && meta.is_some(), header_repaired);
        (self.meta, self.meta_damage, self.positions_known) = (meta, meta_damage, positions_known);
        (self.end, self.offsets_are_right, self.size) = (table.end, table.by_offsets, main.size()?);
        (self.damage, self.suspected) = (table.damage, table.suspected);
        self.main = Some(main);
        let n = self.header.nchunks.unwrap_or(table.chunks.len() as u64);
        let mut slots = ChunkSlots::default();
        for (i, c) in table.chunks.iter().enumerate() {
            let location = if c.is_lost() {
                ChunkLocation::Lost
            } else {
                ChunkLocation::Main(c.at)
            };
            let mut slot = ChunkSlot {
                location,
                cbytes: c.cbytes,
                nbytes: c.nbytes,
                flags: c.flags,
                spare: 0,
            };
            let size = if i as u64 + 1 == n {
                self.header.last_chunk
            } else {
                self.header.chunk_size
            };
            let sure = match size {
                Some(size) => self.is_size_reliable(c, &slot, size)?,
                None => !c.is_lost(),
            };
            if !sure {
                slot.nbytes = size.unwrap_or(slot.nbytes);
                self.unsure_size.get_or_insert_with(|| {
                    let message = "is damaged and its size is uncertain; the content after it may belong to other positions";
                    fail!(Format, "{}: chunk {i} {message}", self.name).at(i as u64)
                });
            }
            slots.push(slot)?;
        }
        let after = self
            .damage
            .as_ref()
            .is_some_and(|e| e.position >= slots.len() as i64 || e.position < 0);
        self.missing = n.saturating_sub(slots.len() as u64).max(after.into());
        self.slots = slots;
        self.check_lengths()?;
        self.params.typesize = table
            .chunks
            .iter()
            .find(|c| !c.is_lost())
            .map_or(1, |c| c.typesize.max(1).into());
        self.chunk_size = self.default_chunk_size();
        Ok(())
    }

    /// Returns true if the content size of a chunk is certain; the position of all following
    /// content depends on it.
    ///
    /// A size that differs from the file header is accepted only if the checksum matches. A lost
    /// chunk must have the size that the file header gives it.
    fn is_size_reliable(&self, c: &LocatedChunk, slot: &ChunkSlot, size: u32) -> Result<bool> {
        if c.is_lost() {
            let mut header = [0; BLOSC_HEADER];
            let file = self
                .main
                .as_ref()
                .ok_or_else(|| fail!(State, "the file is not open"))?;
            let n = file.read_at(c.at, &mut header)?;
            let [_, _, _, _, a, b, c, d, ..] = header;
            return Ok(n == BLOSC_HEADER && u32::from_le_bytes([a, b, c, d]) == size);
        }
        if c.nbytes == size || !self.verify || self.header.checksum.size() == 0 {
            return Ok(true);
        }
        match self.stored(slot, |_| Ok(())) {
            Err(e) if e.status.is_corruption() => Ok(false),
            r => r.map(|()| true),
        }
    }

    /// Checks the chunk lengths of a file without offsets if chunks are missing. A corrupt length
    /// may lead past the next chunk, and then chunks are missing at the end.
    fn check_lengths(&mut self) -> Result<()> {
        if self.missing == 0 || self.header.has_offsets || self.suspected.is_some() {
            return Ok(());
        }
        let others = self.slots.len().saturating_sub(1);
        for (i, slot) in self.slots.iter().take(others).enumerate() {
            match self.stored(slot, |_| Ok(())) {
                Err(e) if e.status.is_corruption() => {
                    let message = "is damaged, and chunks are missing; the chunks after it may be different ones";
                    self.suspected =
                        Some(fail!(Format, "{}: chunk {i} {message}", self.name).at(i as u64));
                    break;
                }
                r => r?,
            }
        }
        Ok(())
    }

    /// Returns an error if the file would appear to have less or different content than it has.
    fn refuse_damaged(&self) -> Result<()> {
        let partial = |e: &Error, what: &str| {
            let mut e = e.clone();
            e.message.push_str(what);
            Err(e)
        };
        if self.skip_damaged {
            return Ok(());
        }
        match (
            &self.damage,
            self.suspected.as_ref().or(self.unsure_size.as_ref()),
        ) {
            (Some(e), _) if self.missing > 0 => partial(
                e,
                &format!(
                    "; {} chunks before it were found: HOLDALL_OPT_SKIP_DAMAGED reads them, repair retains them",
                    self.slots.len()
                ),
            ),
            (_, Some(e)) if self.verify || self.header_repaired => partial(
                e,
                "; HOLDALL_OPT_SKIP_DAMAGED reads the file as it is, repair fixes it",
            ),
            _ => Ok(()),
        }
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

    /// Takes the parameters of new chunks from the existing chunks where the options do not set
    /// them.
    pub(super) fn inherit_params(&mut self) -> Result<()> {
        let like = self.last_chunk();
        let typesize = like.map_or(self.header.typesize.max(1).into(), |h| h.typesize);
        self.params = params(&self.options, typesize, like.as_ref())?;
        Ok(())
    }

    /// Returns the header of the last chunk that is not empty, or of the last chunk if all are
    /// empty.
    pub(super) fn last_chunk(&self) -> Option<blosc::Header> {
        let last = self
            .slots
            .iter()
            .rev()
            .find(|s| s.nbytes > 0)
            .or(self.slots.iter().next_back());
        last.and_then(|slot| self.stored(slot, blosc::Header::parse).ok())
    }

    /// Returns the content size of every chunk except the last.
    fn default_chunk_size(&self) -> usize {
        let first = self
            .slots
            .iter()
            .map(|s| s.nbytes as usize)
            .find(|&n| n > 0);
        let stored = self
            .header
            .chunk_size
            .map(|n| n as usize)
            .filter(|&n| n > 0);
        let requested = self
            .options
            .given(Opt::ChunkBytes)
            .map(|n| n as usize)
            .filter(|_| first.is_none());
        let typesize = self.params.typesize.max(1);
        requested
            .or(stored)
            .or(first)
            .unwrap_or((DEFAULT_CHUNK / typesize * typesize).max(typesize))
    }

    /// Raises the chunk size if the file has one short chunk. Bloscpack never makes chunks longer
    /// than the content at hand, so a single short chunk says nothing about the chunks to come. An
    /// append fills it up.
    fn lengthen_short_chunks(&mut self) {
        let n = self.chunk_size;
        if self.slots.len() != 1 || n >= SHORT_CHUNK || self.slots.nbytes() != n as u64 {
            return;
        }
        // a multiple of the chunk, which may hold whole rows, or else of an item
        let typesize = self.params.typesize.max(1);
        let unit = if n.is_multiple_of(typesize) {
            n
        } else {
            typesize
        };
        let usual = DEFAULT_CHUNK / unit * unit;
        self.chunk_size = self
            .options
            .given(Opt::ChunkBytes)
            .map_or(usual, |given| given as usize)
            .max(n);
    }

    /// Sets the metadata, which must be JSON; `None` removes it.
    pub fn meta_set(&mut self, json: Option<&[u8]>) -> Result<()> {
        self.check_writer()?;
        if let Some(json) = json {
            if !matches!(self.header.dialect, Dialect::V3 | Dialect::Rfc) {
                return Err(fail!(
                    Unsupported,
                    "{}: this layout cannot store metadata or an array (expected version 3 or the BLZ RFC layout)",
                    self.name()
                ));
            }
            Value::parse(json).map_err(|e| fail!(Argument, "metadata must be JSON: {e}"))?;
        }
        self.meta = match json {
            Some(json) => {
                let mut copy = alloc::with_capacity(json.len())?;
                copy.extend_from_slice(json);
                Some(copy)
            }
            None => None,
        };
        self.meta_damage = None;
        (self.meta_changed, self.changed) = (true, true);
        Ok(())
    }

    /// Returns the metadata.
    pub fn meta(&self) -> Result<Option<&[u8]>> {
        match &self.meta_damage {
            Some(e) if !self.skip_damaged => Err(e.clone()),
            _ => Ok(self.meta.as_deref()),
        }
    }

    /// Returns the error in the metadata, also if the options skip damage.
    pub fn meta_damage(&self) -> Option<&Error> {
        self.meta_damage.as_ref()
    }

    /// Returns true if the metadata is stored in the BLZ RFC layout.
    pub(super) fn has_rfc_metadata(&self) -> bool {
        self.header.dialect == Dialect::Rfc
            || matches!(
                self.header.meta.as_ref().map(|m| &m.layout),
                Some(MetaLayout::Rfc { .. })
            )
    }
}

/// Returns the container of a superchunk: the main file and its auxiliary files.
pub fn container(folder: &Arc<dyn Folder>, name: &OsStr) -> Container {
    Container::new(folder, name, &[""])
}

/// Returns the name of the part file.
pub(super) fn part_name(c: &Container) -> std::ffi::OsString {
    beside("", &c.main, ".holdall-part")
}

fn new_header(typesize: usize, options: &Options) -> Result<Header> {
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

/// Returns the parameters for new chunks: from `options`, else from `like`, else LZ4 and shuffle.
pub fn params(options: &Options, typesize: usize, like: Option<&blosc::Header>) -> Result<Params> {
    let codec = match options.given(Opt::Codec) {
        None => like.and_then(|h| h.codec().ok()).unwrap_or(Codec::Lz4),
        // level 0 below stores chunks uncompressed
        Some(0) => Codec::BloscLz,
        Some(n) => {
            let codec = u8::try_from(n - 1).ok().and_then(Codec::from_number);
            codec.ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_CODEC: HOLDALL_CODEC_BY_NAME is not a codec of chunks"
                )
            })?
        }
    };
    let level = if options.given(Opt::Codec) == Some(0) {
        0
    } else {
        options.get(Opt::Level, 5)
    };
    let level = u8::try_from(level)
        .ok()
        .filter(|l| *l <= 9)
        .ok_or_else(|| {
            fail!(
                Argument,
                "HOLDALL_OPT_LEVEL: invalid level {level} (expected 0 to 9)"
            )
        })?;
    let mut params = Params::new(Target::Blosc1, codec, level, typesize);
    params.blocksize = options.given(Opt::BlockBytes).map(|n| n as usize);
    if let Some(bytes) = options.given_bytes(Opt::Filters) {
        params.filters = Pipeline::new(&filters(bytes)?)?;
    } else if let Some(h) = like {
        params.filters = h.pipeline().unwrap_or(params.filters);
    }
    Ok(params)
}

/// Returns the number of the filter: 0 none, 1 shuffle, 2 bitshuffle.
pub fn filter_number(params: &Params) -> u64 {
    params
        .filters
        .iter()
        .next()
        .map_or(0, |f| if f == Filter::Bitshuffle { 2 } else { 1 })
}

/// Converts `HOLDALL_FILTER_*` numbers to the filters that c-blosc 1.x supports.
fn filters(bytes: &[u8]) -> Result<Vec<Filter>> {
    let filter = |n: &u8| match n {
        1 => Ok(Filter::Shuffle { group: 0 }),
        2 => Ok(Filter::Bitshuffle),
        _ => Err(fail!(
            Unsupported,
            "HOLDALL_OPT_FILTERS: this filter is not supported by Blosc1 chunks (expected HOLDALL_FILTER_SHUFFLE or _BITSHUFFLE)"
        )),
    };
    let found: Vec<Filter> = bytes
        .iter()
        .filter(|n| **n != 0)
        .map(filter)
        .collect::<Result<_>>()?;
    if found.len() > 1 {
        return Err(fail!(
            Unsupported,
            "HOLDALL_OPT_FILTERS: Blosc1 chunks have at most one filter"
        ));
    }
    Ok(found)
}
