//! Opening and creating: from a file, or from options, to chunks that can be read and changed.
#![forbid(unsafe_code)]

use super::chunk_list::{Place, Slot, Slots};
use super::chunk_table::{BLOSC_HEADER, ChunkPlace};
use super::header::{Dialect, ENTRY, Header};
use super::layout::Layout;
use super::metadata::Form;
use super::read::is_damage;
use super::{Bloscpack, DEFAULT_CHUNK};
use crate::alloc;
use crate::blosc::{self, Codec, Filter, Params, Pipeline, Target};
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::io::journal::{self, Container, Snapshot};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, beside, locate, object};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::os;
use crate::superchunk::buffer_pool::Buffers;
use std::ffi::OsStr;
use std::sync::Arc;

/// Options that opening knows; those of creating are these and more.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
];
/// Options that opening for writing knows besides.
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
/// Options that only creating knows.
const CREATE_OPTIONS: &[Opt] = &[Opt::Checksum, Opt::Offsets, Opt::FormatVersion];

/// What is done with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Read.
    Read,
    /// Read and changed.
    Append,
    /// Nothing may be there.
    New,
    /// What is there stays until the first commit replaces it.
    Replace,
}

/// A chunk of fewer bytes than this may be short because there was no more content.
const SHORT: usize = 16 << 10;

impl Bloscpack {
    /// Opens a file that is there.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Bloscpack> {
        let _asking = object::ask_as(options);
        let place = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        Bloscpack::open_in(&place.folder, &place.name, mode, options)
    }

    /// Opens a name in a folder.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Bloscpack> {
        match mode {
            Mode::Read => {
                options.only("opening a superchunk for reading", OPEN_OPTIONS)?;
                let container = container(folder, name);
                let access = if options.get(Opt::Io, 0) == 1 {
                    Access::Map
                } else {
                    Access::Read
                };
                Snapshot::read(&container, |s| {
                    let main = s.open(name, access)?;
                    let unchanged = (main.size()?, main.modified()?);
                    let mut b = Bloscpack::blank(container.clone(), options, Lock::none());
                    b.load(main)?;
                    b.unchanged = Some(unchanged);
                    b.trust()?;
                    b.verify_if_wished()?;
                    Ok(b)
                })
            }
            Mode::Append => {
                options.only(
                    "opening a superchunk for writing",
                    &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
                )?;
                folder.writable()?;
                let mut b = Bloscpack::for_writing(folder, name, options)?;
                b.load(folder.open(name, Access::Write)?)?;
                b.trust()?;
                b.verify_if_wished()?;
                if b.header.dialect == Dialect::V0 {
                    return Err(fail!(
                        Unsupported,
                        "{}: the layout of Bloscpack's first trials can be read only; copy it to change it",
                        b.name()
                    ));
                }
                b.go_on_as_it_is()?;
                b.longer_chunks();
                if options.given(Opt::ChunkBytes) == Some(b.chunk_size as i64) {
                    b.whole_items()?;
                }
                Ok(b)
            }
            Mode::New | Mode::Replace => Err(fail!(
                Argument,
                "HOLDALL_NEW and HOLDALL_REPLACE are for holdall_schunk_create() and holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            )),
        }
    }

    /// Creates a file; it is there with the first commit.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        typesize: usize,
        options: &Options,
    ) -> Result<Bloscpack> {
        let place = locate::locate_for_change(path)?;
        Bloscpack::create_in(&place.folder, &place.name, mode, typesize, options)
    }

    /// Creates a name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        typesize: usize,
        options: &Options,
    ) -> Result<Bloscpack> {
        if !matches!(mode, Mode::New | Mode::Replace) {
            return Err(fail!(
                Argument,
                "creating takes HOLDALL_NEW or HOLDALL_REPLACE"
            ));
        }
        options.only(
            "creating a superchunk",
            &[OPEN_OPTIONS, WRITE_OPTIONS, CREATE_OPTIONS].concat(),
        )?;
        folder.writable()?;
        let mut b = Bloscpack::for_writing(folder, name, options)?;
        b.mode = mode;
        b.refuse_existing()?;
        b.header = new_header(typesize, options)?;
        b.params = params(options, typesize, None)?;
        b.chunk_size = match options.given(Opt::ChunkBytes) {
            Some(n) => n as usize,
            None => (DEFAULT_CHUNK / typesize * typesize).max(typesize),
        };
        b.whole_items()?;
        b.meta_changed = true;
        Ok(b)
    }

    /// Refuses chunks that end within an item.
    fn whole_items(&self) -> Result<()> {
        let (n, typesize) = (self.chunk_size, self.params.typesize.max(1));
        if n % typesize == 0 {
            return Ok(());
        }
        Err(fail!(
            Argument,
            "HOLDALL_OPT_CHUNK_BYTES: {n} is no multiple of the typesize, {typesize}"
        ))
    }

    fn blank(container: Container, options: &Options, lock: Lock) -> Bloscpack {
        Bloscpack {
            name: container.folder.show(&container.main),
            container,
            header: Header::new(Dialect::V3),
            slots: Slots::default(),
            pending: Vec::new(),
            open_chunk: None,
            meta: None,
            meta_changed: false,
            meta_damage: None,
            main: None,
            part: None,
            part_end: 0,
            in_memory: 0,
            buffers: Buffers::default(),
            end: 0,
            size: 0,
            offsets_are_right: true,
            unchanged: None,
            damage: None,
            doubt: None,
            mended: false,
            placed: false,
            missing: 0,
            unsure: None,
            mode: Mode::Append,
            chunk_size: 0,
            params: Params::new(Target::Blosc1, Codec::Lz4, 5, 1),
            spare_bytes: options.get(Opt::SpareBytes, 0) as u32,
            threads: options.threads(),
            verify: options.get(Opt::Verify, 1) > 0,
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            memory_limit: options.memory_limit(),
            durable: options.get(Opt::Durability, 1) == 1,
            changed: false,
            broken: false,
            owner: 0,
            options: options.clone(),
            lock,
        }
    }

    pub(super) fn for_writing(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        options: &Options,
    ) -> Result<Bloscpack> {
        // the table of offsets is in memory twice while a new file's header is put together
        let spare = (options.get(Opt::SpareChunks, 0) as u64).saturating_mul(2 * ENTRY);
        alloc::allow(spare, options.memory_limit(), Opt::SpareChunks.name())?;
        let container = container(folder, name);
        let lock = container.lock(options.get(Opt::Lock, 1) == 1)?;
        let durable = options.get(Opt::Durability, 1) == 1;
        journal::tidy(&container, durable)?;
        folder.remove_if_there(&part_name(&container))?;
        let mut b = Bloscpack::blank(container, options, lock);
        b.owner = os::process();
        Ok(b)
    }

    pub(super) fn refuse_existing(&self) -> Result<()> {
        if self.mode == Mode::New && self.container.folder.exists(&self.container.main)? {
            return Err(fail!(Exists, "{}: it is there already", self.name()));
        }
        self.container.folder.refuse_obstacle(&self.container.main)
    }

    /// Takes in the file as it is.
    pub(super) fn load(&mut self, main: Arc<dyn File>) -> Result<()> {
        let Layout {
            header,
            table,
            meta,
            meta_damage,
            mended,
            placed,
        } = Layout::find(&*main, self.memory_limit)?;
        (self.header, self.meta_changed, self.mended) = (header, mended && meta.is_some(), mended);
        (self.meta, self.meta_damage, self.placed) = (meta, meta_damage, placed);
        (self.end, self.offsets_are_right, self.size) = (table.end, table.by_offsets, main.size()?);
        (self.damage, self.doubt) = (table.damage, table.doubt);
        self.main = Some(main);
        let n = self.header.nchunks.unwrap_or(table.chunks.len() as u64);
        let mut slots = Slots::default();
        for (i, c) in table.chunks.iter().enumerate() {
            let place = if c.is_lost() {
                Place::Lost
            } else {
                Place::Main(c.at)
            };
            let mut slot = Slot {
                place,
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
                Some(size) => self.size_is_true(c, &slot, size)?,
                None => !c.is_lost(),
            };
            if !sure {
                slot.nbytes = size.unwrap_or(slot.nbytes);
                self.unsure.get_or_insert_with(|| {
                    let words = "is damaged, and not sure to have the size of the others: what is behind it may belong elsewhere";
                    fail!(Format, "{}: chunk {i} {words}", self.name).at(i as u64)
                });
            }
            slots.push(slot)?;
        }
        let behind = self
            .damage
            .as_ref()
            .is_some_and(|e| e.position >= slots.len() as i64 || e.position < 0);
        self.missing = n.saturating_sub(slots.len() as u64).max(behind.into());
        self.slots = slots;
        self.lengths_are_true()?;
        self.params.typesize = table
            .chunks
            .iter()
            .find(|c| !c.is_lost())
            .map_or(1, |c| c.typesize.max(1).into());
        self.chunk_size = self.usual_chunk();
        Ok(())
    }

    /// The sizes of the chunks tell where each byte of content is. One that is another one than the
    /// file's header says counts only if the digest says so; and a chunk that is lost should
    /// have had the one that it says.
    fn size_is_true(&self, c: &ChunkPlace, slot: &Slot, size: u32) -> Result<bool> {
        if c.is_lost() {
            let mut header = [0; BLOSC_HEADER];
            let file = self.main.as_ref().ok_or_else(|| fail!(State, "no file"))?;
            let n = file.read_at(c.at, &mut header)?;
            let [_, _, _, _, a, b, c, d, ..] = header;
            return Ok(n == BLOSC_HEADER && u32::from_le_bytes([a, b, c, d]) == size);
        }
        if c.nbytes == size || !self.verify || self.header.checksum.size() == 0 {
            return Ok(true);
        }
        match self.stored(slot, |_| Ok(())) {
            Err(e) if is_damage(e.status) => Ok(false),
            r => r.map(|()| true),
        }
    }

    /// Without offsets the length of each chunk leads to the next one. A damaged one may lead to
    /// the one behind that, and then some are missing at the end.
    fn lengths_are_true(&mut self) -> Result<()> {
        if self.missing == 0 || self.header.has_offsets || self.doubt.is_some() {
            return Ok(());
        }
        let others = self.slots.len().saturating_sub(1);
        for (i, slot) in self.slots.iter().take(others).enumerate() {
            match self.stored(slot, |_| Ok(())) {
                Err(e) if is_damage(e.status) => {
                    let words =
                        "is damaged, and chunks are missing: those behind it may be other ones";
                    self.doubt =
                        Some(fail!(Format, "{}: chunk {i} {words}", self.name).at(i as u64));
                    break;
                }
                r => r?,
            }
        }
        Ok(())
    }

    /// Refuses a file that would seem to hold less, or other things, than it does.
    fn trust(&self) -> Result<()> {
        let partial = |e: &Error, what: &str| {
            let mut e = e.clone();
            e.message.push_str(what);
            Err(e)
        };
        if self.skip_damaged {
            return Ok(());
        }
        match (&self.damage, self.doubt.as_ref().or(self.unsure.as_ref())) {
            (Some(e), _) if self.missing > 0 => partial(
                e,
                &format!(
                    "; {} chunks before it are there: HOLDALL_OPT_SKIP_DAMAGED reads them, repair keeps them",
                    self.slots.len()
                ),
            ),
            (_, Some(e)) if self.verify || self.mended => partial(
                e,
                "; HOLDALL_OPT_SKIP_DAMAGED reads it as it is, repair mends it",
            ),
            _ => Ok(()),
        }
    }

    fn verify_if_wished(&self) -> Result<()> {
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

    /// What is appended is made as what is there, where the options do not say otherwise.
    pub(super) fn go_on_as_it_is(&mut self) -> Result<()> {
        let like = self.last_chunk();
        let typesize = like.map_or(self.header.typesize.max(1).into(), |h| h.typesize);
        self.params = params(&self.options, typesize, like.as_ref())?;
        Ok(())
    }

    /// The header of the last chunk, of the last that is not empty where there is one.
    pub(super) fn last_chunk(&self) -> Option<blosc::Header> {
        let last = self
            .slots
            .iter()
            .rev()
            .find(|s| s.nbytes > 0)
            .or(self.slots.iter().next_back());
        last.and_then(|slot| self.stored(slot, blosc::Header::parse).ok())
    }

    /// Bytes of content that a chunk has here, unless it is the last.
    fn usual_chunk(&self) -> usize {
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
        let wanted = self
            .options
            .given(Opt::ChunkBytes)
            .map(|n| n as usize)
            .filter(|_| first.is_none());
        let typesize = self.params.typesize.max(1);
        wanted
            .or(stored)
            .or(first)
            .unwrap_or((DEFAULT_CHUNK / typesize * typesize).max(typesize))
    }

    /// Bloscpack makes chunks no longer than the content at hand: one that is short and alone says
    /// nothing of those to come, and is filled up.
    fn longer_chunks(&mut self) {
        let n = self.chunk_size;
        if self.slots.len() != 1 || n >= SHORT || self.slots.nbytes() != n as u64 {
            return;
        }
        // whole items, and whole rows where it held such
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

    /// Sets the metadata; `None` removes it. It must be JSON.
    pub fn meta_set(&mut self, json: Option<&[u8]>) -> Result<()> {
        self.check_writer()?;
        if let Some(json) = json {
            if !matches!(self.header.dialect, Dialect::V3 | Dialect::Rfc) {
                return Err(fail!(
                    Unsupported,
                    "{}: there is no place for metadata, or an array, in this layout: version 3 and that of the papers have one",
                    self.name()
                ));
            }
            Value::parse(json).map_err(|e| fail!(Argument, "metadata must be JSON: {e}"))?;
        }
        self.meta = match json {
            Some(json) => {
                let mut copy = alloc::with_room(json.len())?;
                copy.extend_from_slice(json);
                Some(copy)
            }
            None => None,
        };
        self.meta_damage = None;
        (self.meta_changed, self.changed) = (true, true);
        Ok(())
    }

    /// The metadata.
    pub fn meta(&self) -> Result<Option<&[u8]>> {
        match &self.meta_damage {
            Some(e) if !self.skip_damaged => Err(e.clone()),
            _ => Ok(self.meta.as_deref()),
        }
    }

    /// What is wrong with the metadata, whatever the options wish.
    pub fn meta_damage(&self) -> Option<&Error> {
        self.meta_damage.as_ref()
    }

    /// Is it stored as the papers have it?
    pub(super) fn paper(&self) -> bool {
        self.header.dialect == Dialect::Rfc
            || matches!(
                self.header.meta.as_ref().map(|m| &m.form),
                Some(Form::Rfc { .. })
            )
    }
}

/// The files of a superchunk.
pub fn container(folder: &Arc<dyn Folder>, name: &OsStr) -> Container {
    Container::new(folder, name, &[""])
}

/// Where what waits for a commit is.
pub(super) fn part_name(c: &Container) -> std::ffi::OsString {
    beside("", &c.main, ".holdall-part")
}

fn new_header(typesize: usize, options: &Options) -> Result<Header> {
    if typesize == 0 || typesize > i32::MAX as usize {
        return Err(fail!(Argument, "a typesize of {typesize}: 1 or more"));
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
            "{}: version 1 has no place for it",
            opt.name()
        ));
    }
    let checksum = options.get(Opt::Checksum, if plain { 0 } else { Sum::Crc32 as i64 });
    let checksum = Sum::from_number(checksum as i32).map_err(|e| e.within(Opt::Checksum.name()))?;
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

/// How chunks are made: as the options say, else like this one, else with LZ4 and shuffle.
pub fn params(options: &Options, typesize: usize, like: Option<&blosc::Header>) -> Result<Params> {
    let codec = match options.given(Opt::Codec) {
        None => like.and_then(|h| h.codec().ok()).unwrap_or(Codec::Lz4),
        // level 0 below: stored as it is
        Some(0) => Codec::BloscLz,
        Some(n) => {
            let codec = u8::try_from(n - 1).ok().and_then(Codec::from_number);
            codec.ok_or_else(|| fail!(Argument, "HOLDALL_OPT_CODEC: {n} is no codec of chunks"))?
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
                "HOLDALL_OPT_LEVEL: {level}: chunks have levels 0 to 9"
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

/// The number of the filter that these have: 0 none, 1 shuffle, 2 bitshuffle.
pub fn filter_number(params: &Params) -> u64 {
    params
        .filters
        .iter()
        .next()
        .map_or(0, |f| if f == Filter::Bitshuffle { 2 } else { 1 })
}

/// `HOLDALL_FILTER_*`: those that c-blosc 1.x knows.
fn filters(bytes: &[u8]) -> Result<Vec<Filter>> {
    let filter = |n: &u8| match n {
        1 => Ok(Filter::Shuffle { group: 0 }),
        2 => Ok(Filter::Bitshuffle),
        n => Err(fail!(
            Unsupported,
            "HOLDALL_OPT_FILTERS: filter {n} has no place in these chunks: shuffle (1) or bitshuffle (2) do"
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
            "HOLDALL_OPT_FILTERS: these chunks have one filter at most"
        ));
    }
    Ok(found)
}
