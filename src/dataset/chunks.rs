//! The items of an array, or of one field: a run of bytes in chunks of complete rows, stored in the
//! files of one folder.
//!
//! The position and the length of each chunk follow from the number of rows alone. The last chunk
//! may hold more rows than that, from a commit that was interrupted or from rows that were cut off.
//! Only its beginning is used.
#![forbid(unsafe_code)]

use super::chunk_file::ChunkFile;
use super::edit::{Edit, FileLayout};
use super::folder::DatasetDir;
use super::meta::Meta;
use super::superchunks::{self, Superchunks};
use crate::array::store::repeat;
use crate::blosc;
use crate::blosc::block_cache::BlockCache;
use crate::blosc::stored::{Fill, Sink, StoredBytes, StoredChunk};
use crate::cache::{CacheBudget, LruCache};
use crate::checksum::Checksum;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, fd_pool};
use crate::options::{Opt, Options};
use crate::parallel::{Threads, get_or_init};
use crate::superchunk::bloscpack::Bloscpack;
use crate::{alloc, parallel};
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Minimum number of content bytes that are decoded by several threads.
const PARALLEL_BYTES: u64 = 256 << 10;
/// Number of file names that are tried where the storage cannot list its files.
const PROBES: u64 = if cfg!(fuzzing) { 8 } else { 4096 };

/// Loss that is tolerated in every dataset: bytes of content, and chunks.
const TOLERATED_BYTES: u64 = 1 << 30;
const TOLERATED_CHUNKS: u64 = 1 << 16;
/// Maximum compression ratio that is assumed for lost content.
const BEST_RATIO: u64 = 32 << 10;
/// How often a read opens a file again that a writer keeps changing.
const MAX_REOPENS: u32 = 100;

/// Maximum number of chunk files that a handle keeps open.
const MAX_OPEN: usize = 64;
/// Maximum for all handles together, because a process may have only some hundreds of open files.
static OPEN_FILES: OnceLock<CacheBudget> = OnceLock::new();

/// Result of the check of an intact chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkCheck {
    /// Its checksum matches.
    Checked,
    /// It has no checksum.
    Unchecked,
}

/// How a dataset is read.
#[derive(Clone)]
pub struct ReadConfig {
    /// Options for superchunk files.
    pub options: Options,
    /// Threads that may read its files.
    pub threads: Threads,
    /// True if checksums are verified.
    pub verify: bool,
    /// True if corrupt parts are read as the fill value.
    pub skip_damaged: bool,
    /// How chunk files are opened.
    pub access: Access,
    /// Maximum number of bytes that a file may make a call allocate.
    pub memory_limit: u64,
}

impl ReadConfig {
    /// Creates the configuration from options. A function of the caller may wait for a lock that
    /// the caller holds, so other threads call it only if `HOLDALL_OPT_THREADS` is set.
    pub fn new(options: &Options, dir: &DatasetDir) -> ReadConfig {
        let foreign = dir.folder().is_foreign() && options.given(Opt::Threads).is_none();
        let mut each = options.clone();
        // the code that opens the whole dataset verifies all of it
        let _ = each.set(Opt::Verify, options.get(Opt::Verify, 1).min(1));
        ReadConfig {
            options: each,
            threads: if foreign {
                Threads::ONE
            } else {
                options.threads()
            },
            verify: options.get(Opt::Verify, 1) > 0,
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            access: if options.get(Opt::Io, 0) == 1 {
                Access::Map
            } else {
                Access::Read
            },
            memory_limit: options.memory_limit(),
        }
    }
}

/// Where the chunks are stored.
enum ChunkStorage {
    /// One file per chunk.
    ChunkFiles(DatasetDir, Checksum),
    /// Files with many chunks.
    Superchunks(Superchunks),
}

/// Caches that are valid as long as nothing is changed.
struct Caches {
    files: LruCache<u64, Arc<ChunkFile>>,
    blocks: BlockCache,
}

impl Caches {
    fn new(cache_bytes: Option<usize>) -> Caches {
        let open_files = get_or_init(&OPEN_FILES, || CacheBudget::new(fd_pool::capacity()));
        Caches {
            files: LruCache::new(MAX_OPEN, open_files),
            blocks: BlockCache::new(cache_bytes),
        }
    }
}

/// A run of chunks; see the module documentation.
pub struct Chunks {
    files: ChunkStorage,
    /// Size in bytes of the content, of a chunk, and of a row.
    pub(super) len: u64,
    pub(super) chunk: u64,
    pub(super) row: u64,
    /// Pending changes, if the run is open for writing. To change it, use [`Chunks::editing`].
    pub(super) edit: Option<Box<Edit>>,
    caches: Caches,
    has_objects: bool,
    pub(super) fill: Option<Arc<[u8]>>,
    config: ReadConfig,
}

/// Returns the name of the file that holds only this chunk.
pub fn file_name(chunk: u64) -> String {
    format!("__{chunk}.blp")
}

/// Returns the chunk that a file with this name holds.
pub fn number(name: &str) -> Option<u64> {
    let n = name
        .strip_prefix("__")?
        .strip_suffix(".blp")?
        .parse()
        .ok()?;
    (file_name(n) == name).then_some(n)
}

/// Returns true if the chunks in this folder are stored as superchunks. Calls `otherwise` if there
/// are no chunks.
pub fn has_superchunks(dir: &DatasetDir, otherwise: impl FnOnce() -> Result<bool>) -> Result<bool> {
    if dir.has(&file_name(0))? {
        return Ok(false);
    }
    // the first file may be lost
    let is_superchunk = |name: &OsStr| {
        let parsed = name.to_str().and_then(FileLayout::parse);
        parsed.is_some_and(|(layout, _)| layout == FileLayout::Superchunks)
    };
    if dir.has(&superchunks::name(1))? || dir.list("").iter().any(|name| is_superchunk(name)) {
        Ok(true)
    } else {
        otherwise()
    }
}

impl Chunks {
    /// Creates the run for the rows, of `row` bytes each, of the dataset in this folder. Corrupt
    /// rows are read as `fill`, repeated.
    pub fn new(
        dir: DatasetDir,
        many: bool,
        meta: &Meta,
        row: u64,
        fill: Option<Arc<[u8]>>,
        config: &ReadConfig,
    ) -> Result<Chunks> {
        let too_many = || {
            fail!(
                Format,
                "{} rows of {row} bytes are more than 2^64 bytes",
                meta.rows()
            )
        };
        let len = meta.rows().checked_mul(row).ok_or_else(too_many)?;
        let chunk = meta.chunklen.saturating_mul(row).max(1);
        Ok(Chunks::of_size(
            dir,
            many,
            meta,
            [len, chunk, row],
            fill,
            config,
        ))
    }

    /// Creates the run for content of `len` bytes, in chunks of `chunk` bytes. A chunk that is
    /// shorter has a multiple of `row` bytes.
    pub fn of_size(
        dir: DatasetDir,
        many: bool,
        meta: &Meta,
        [len, chunk, row]: [u64; 3],
        fill: Option<Arc<[u8]>>,
        config: &ReadConfig,
    ) -> Chunks {
        let files = if many {
            let (each, options) = (meta.superchunk, config.options.clone());
            ChunkStorage::Superchunks(Superchunks::new(dir, [len, chunk], each, options))
        } else {
            ChunkStorage::ChunkFiles(dir, meta.checksum)
        };
        Chunks {
            files,
            len,
            chunk,
            row,
            edit: None,
            caches: Caches::new(config.options.cache_bytes()),
            has_objects: false,
            fill,
            config: config.clone(),
        }
    }

    /// Creates the run for Python objects, one per chunk.
    pub fn objects(dir: DatasetDir, meta: &Meta, config: &ReadConfig) -> Chunks {
        Chunks {
            files: ChunkStorage::ChunkFiles(dir, meta.checksum),
            len: meta.rows(),
            chunk: 1,
            row: 1,
            edit: None,
            caches: Caches::new(config.options.cache_bytes()),
            has_objects: true,
            fill: None,
            config: config.clone(),
        }
    }

    /// Returns the size of the content in bytes.
    pub fn nbytes(&self) -> u64 {
        self.len
    }

    /// Returns the size of a chunk in bytes of content.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk
    }

    /// Returns the byte range of the chunk that contains offset `at`.
    pub fn span(&self, at: u64) -> Range<u64> {
        let start = at - at % self.chunk;
        start..start.saturating_add(self.chunk)
    }

    /// Returns the folder of the files.
    pub fn dir(&self) -> &DatasetDir {
        match &self.files {
            ChunkStorage::ChunkFiles(dir, _) => dir,
            ChunkStorage::Superchunks(files) => files.dir(),
        }
    }

    /// Returns the superchunk files; `None` for chunk files.
    pub fn superchunks(&self) -> Option<&Superchunks> {
        match &self.files {
            ChunkStorage::ChunkFiles(..) => None,
            ChunkStorage::Superchunks(files) => Some(files),
        }
    }

    /// Closes the cached superchunk files, because files were renamed.
    pub fn drop_open_files(&self) {
        self.superchunks()
            .into_iter()
            .for_each(Superchunks::drop_open_files);
    }

    /// Returns the number of chunks.
    pub fn count(&self) -> u64 {
        self.len.div_ceil(self.chunk)
    }

    /// Returns the block size of the first chunk.
    pub fn block_bytes(&self) -> Option<u64> {
        self.first_header().map(|h| h.blocksize as u64)
    }

    /// Returns the header of the first chunk, if it can be read.
    pub fn first_header(&self) -> Option<blosc::Header> {
        match &self.files {
            _ if self.len == 0 => None,
            ChunkStorage::ChunkFiles(dir, sum) => self.open(dir, *sum, 0).ok().map(|c| c.header()),
            ChunkStorage::Superchunks(files) => {
                let (file, _) = files.file_of(0, self.edit.as_deref()).ok()?;
                file.with_raw(0, blosc::Header::parse).ok()
            }
        }
    }

    /// Fills `dst` with content from offset `at`. Returns true if corrupt parts were replaced by
    /// the fill value because `skip_damaged` is set.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at
            .checked_add(dst.len() as u64)
            .filter(|end| *end <= self.len);
        let end =
            end.ok_or_else(|| fail!(Range, "{} bytes at {at}: there are {}", dst.len(), self.len))?;
        let is_parallel = end - at >= PARALLEL_BYTES;
        let threads = if is_parallel {
            self.config.threads.count()
        } else {
            1
        };
        if self.span(at).end >= end {
            return if dst.is_empty() {
                Ok(false)
            } else {
                self.read_in_chunk(at, dst, threads)
            };
        }
        let (mut parts, mut rest, mut from) = (Vec::new(), dst, at);
        while !rest.is_empty() {
            let n = (self.span(from).end.min(end) - from) as usize;
            let (part, after) = rest.split_at_mut_checked(n).unwrap_or_default();
            alloc::reserve(&mut parts, 1)?;
            parts.push((from, part));
            (rest, from) = (after, from + n as u64);
        }
        // the error with the lowest position, whatever the order of the failures
        let found = Mutex::new((None::<Error>, false));
        parallel::for_each(threads, parts, |(from, part)| {
            // content after a failed chunk is not needed, and there may be very many chunks
            let failed = found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .0
                .as_ref()
                .map(|e| e.position);
            if failed.is_some_and(|at| at >= 0 && at as u64 <= from / self.chunk) {
                return;
            }
            let read = self.read_in_chunk(from, part, 1);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            match read {
                Ok(corrupt) => found.1 |= corrupt,
                Err(e) if found.0.as_ref().is_none_or(|f| e.position < f.position) => {
                    found.0 = Some(e)
                }
                Err(_) => {}
            }
        });
        match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (Some(e), _) => Err(e),
            (None, corrupt) => Ok(corrupt),
        }
    }

    /// Reads a part of one chunk.
    fn read_in_chunk(&self, at: u64, dst: &mut [u8], threads: usize) -> Result<bool> {
        let chunk = at / self.chunk;
        let from = (at % self.chunk) as usize;
        if let Some(content) = self.edit.as_ref().and_then(|e| e.content(at)) {
            let part = content.get(..dst.len());
            dst.copy_from_slice(
                part.ok_or_else(|| fail!(State, "the chunk has an unexpected size"))?,
            );
            return Ok(false);
        }
        let read = match &self.files {
            ChunkStorage::ChunkFiles(dir, sum) => self
                .read_chunk_file(dir, *sum, chunk, from, dst, threads)
                .map(|()| false),
            ChunkStorage::Superchunks(files) => self.read_superchunk(files, chunk, from, dst),
        };
        match read {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.fill(at, dst);
                Ok(true)
            }
            Err(e) if self.config.skip_damaged && is_corrupt_or_missing(e.status) => {
                self.fill(at, dst);
                Ok(true)
            }
            Err(e) => Err(self.with_location(chunk, e)),
        }
    }

    /// Returns whether the chunks of another run can be chunks of this one, as they are stored.
    pub(super) fn is_alike(&self, other: &Chunks) -> bool {
        let layout = |run: &Chunks| (run.superchunks().is_some(), run.has_objects);
        let sizes = |run: &Chunks| (run.chunk, run.row);
        let own = self.edit.as_ref().map(|edit| edit.checksum());
        let stored = match &other.files {
            ChunkStorage::ChunkFiles(_, sum) => Some(*sum),
            ChunkStorage::Superchunks(files) => files.checksum(),
        };
        layout(self) == layout(other)
            && !self.has_objects
            && sizes(self) == sizes(other)
            && own.is_some()
            && own == stored
    }

    /// Returns a verified complete chunk of a superchunk, without its checksum.
    pub(super) fn stored_chunk(&self, chunk: u64) -> Result<Vec<u8>> {
        let files = self.superchunks();
        let files = files.ok_or_else(|| fail!(State, "the chunk is in a file of its own"))?;
        let read = self.with_file(files, chunk, &mut |file, i| {
            file.with_raw(i, |raw| {
                let mut bytes = alloc::with_capacity(raw.len())?;
                bytes.extend_from_slice(raw);
                Ok(bytes)
            })
        });
        read.map_err(|e| self.with_location(chunk, e))
    }

    /// Returns the verified file of a complete chunk.
    pub(super) fn stored_file(&self, chunk: u64) -> Result<Vec<u8>> {
        let ChunkStorage::ChunkFiles(dir, sum) = &self.files else {
            return Err(fail!(State, "the chunk has no file of its own"));
        };
        let read = self.open(dir, *sum, chunk).and_then(|file| {
            self.check_size(chunk, file.nbytes() as u64)?;
            file.verified_file()
        });
        read.map_err(|e| self.with_location(chunk, e))
    }

    fn open(&self, dir: &DatasetDir, sum: Checksum, chunk: u64) -> Result<ChunkFile> {
        let name = self
            .edit
            .as_ref()
            .map_or_else(|| file_name(chunk), |e| e.name(chunk));
        let file = dir.open(&name, self.config.access)?;
        ChunkFile::open(file, sum, self.config.memory_limit)
    }

    fn read_chunk_file(
        &self,
        dir: &DatasetDir,
        sum: Checksum,
        chunk: u64,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        let file = match self
            .caches
            .files
            .get(&chunk)
            .filter(|file| file.is_as_opened())
        {
            Some(file) => file,
            None => {
                let file = Arc::new(self.open(dir, sum, chunk)?);
                if file.is_cacheable() {
                    self.caches.files.put(chunk, file.clone(), 1);
                }
                file
            }
        };
        self.check_size(chunk, file.nbytes() as u64)?;
        file.read(from, dst, self.config.verify, threads, &self.caches.blocks)
    }

    /// Returns the pending changes for modification, and clears the caches.
    pub(super) fn editing(&mut self) -> Option<&mut Edit> {
        self.caches.files.clear();
        self.caches.blocks.clear();
        self.edit.as_deref_mut()
    }

    /// Fails if a chunk does not have the expected size. The last chunk may be longer.
    fn check_size(&self, chunk: u64, found: u64) -> Result<()> {
        let expected = self.chunk_len(chunk);
        let fits = expected == found
            || (expected < self.chunk
                && (expected..=self.chunk).contains(&found)
                && found.is_multiple_of(self.row.max(1)));
        if fits {
            Ok(())
        } else {
            Err(fail!(
                Format,
                "wrong size of the content (expected {expected} bytes, found {found})"
            ))
        }
    }

    /// Returns the number of bytes of a chunk that are part of the content.
    pub(super) fn chunk_len(&self, chunk: u64) -> u64 {
        self.len
            .saturating_sub(chunk.saturating_mul(self.chunk))
            .min(self.chunk)
    }

    /// Returns the file that contains a chunk, and the index of the chunk in that file.
    fn in_file(&self, files: &Superchunks, chunk: u64) -> Result<(Arc<Bloscpack>, u64)> {
        let (file, i) = files.file_of(chunk, self.edit.as_deref())?;
        if i >= file.chunks() as u64 {
            return Err(fail!(
                Format,
                "it has {} chunks, and chunk {i} of the file was expected",
                file.chunks()
            ));
        }
        self.check_size(chunk, file.chunk_nbytes(i)? as u64)?;
        Ok((file, i))
    }

    fn read_superchunk(
        &self,
        files: &Superchunks,
        chunk: u64,
        from: usize,
        dst: &mut [u8],
    ) -> Result<bool> {
        self.with_file(files, chunk, &mut |file, i| {
            let begin = i.saturating_mul(self.chunk);
            if file.chunk_span(begin).start != begin {
                return Err(fail!(
                    Format,
                    "the chunks before it are not {} bytes long",
                    self.chunk
                ));
            }
            file.read(begin + from as u64, dst)
        })
    }

    /// Decodes blocks of `size` bytes of a chunk, given in ascending order. Returns `None` if the
    /// chunk is not stored in blocks of this size, and otherwise whether the blocks were replaced by
    /// the fill value because `skip_damaged` is set.
    pub fn read_blocks(
        &self,
        chunk: u64,
        size: usize,
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<Option<bool>> {
        let at = chunk.saturating_mul(self.chunk);
        if let Some(content) = self.edit.as_ref().and_then(|e| e.content(at)) {
            return deliver(content, size, requested, sink).map(|()| Some(false));
        }
        let ChunkStorage::Superchunks(files) = &self.files else {
            return Ok(None);
        };
        let needed = requested.len().saturating_mul(size);
        let read = self.with_file(files, chunk, &mut |file, i| {
            let blocks = file.with_blocks(i, needed, |stored, source| {
                deliver_blocks(stored, source, size, requested, sink)
            })?;
            blocks.map_or_else(
                || file.with_raw(i, |raw| self.deliver_raw(raw, size, requested, sink)),
                Ok,
            )
        });
        match read {
            Ok(done) => Ok(done.then_some(false)),
            Err(e) if self.config.skip_damaged && is_corrupt_or_missing(e.status) => {
                let fill = self.fill.clone().map_or(Fill::Zeros, Fill::Item);
                fill.deliver((size, self.chunk as usize), requested, sink)?;
                Ok(Some(true))
            }
            Err(e) => Err(self.with_location(chunk, e)),
        }
    }

    /// Decodes blocks of an encoded chunk, as [`deliver_blocks`].
    fn deliver_raw(
        &self,
        raw: &[u8],
        size: usize,
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        let stored = StoredChunk::parse(raw, self.config.memory_limit)?
            .ok_or_else(|| fail!(Format, "the chunk ends in its header"))?;
        deliver_blocks(&stored, &raw, size, requested, sink)
    }

    /// Calls `f` with the file that contains a chunk. Repeats the call if a writer has appended to
    /// the file meanwhile, because the existing chunks are still there.
    fn with_file<R>(
        &self,
        files: &Superchunks,
        chunk: u64,
        f: &mut dyn FnMut(&Bloscpack, u64) -> Result<R>,
    ) -> Result<R> {
        let mut reopens = if self.edit.is_none() { MAX_REOPENS } else { 0 };
        loop {
            match self.in_file(files, chunk).and_then(|(file, i)| f(&file, i)) {
                Err(e) if e.status == Status::State && reopens > 0 => {
                    reopens -= 1;
                    files.reopen(chunk);
                }
                done => return done,
            }
        }
    }

    fn with_location(&self, chunk: u64, mut e: Error) -> Error {
        let file = match &self.files {
            ChunkStorage::ChunkFiles(dir, _) => dir.show(&file_name(chunk)),
            ChunkStorage::Superchunks(files) => files.show(chunk),
        };
        e.position = -1;
        let message = e
            .message
            .strip_prefix(&file)
            .map(|rest| rest.trim_start_matches(": ").to_owned());
        e.message = message.unwrap_or(e.message);
        if e.status == Status::Missing {
            let Range { start, end } = self.rows_in_file_of(chunk);
            e.message = format!("{}; rows {start} to {} are lost", e.message, end - 1);
        }
        e.within(format_args!("{file}: chunk {chunk}")).at(chunk)
    }

    /// Returns the rows in the file that contains a chunk.
    fn rows_in_file_of(&self, chunk: u64) -> Range<u64> {
        let files = self.superchunks();
        let each = files.map_or(1, |files| files.chunks_per_file().unwrap_or(1));
        let rows = (self.chunk / self.row.max(1)).saturating_mul(each).max(1);
        let start = (chunk / each).saturating_mul(rows);
        let all = self.len / self.row.max(1);
        start
            ..start
                .saturating_add(rows)
                .min(all)
                .max(start.saturating_add(1))
    }

    fn fill(&self, at: u64, dst: &mut [u8]) {
        repeat(self.fill.as_deref(), at, dst);
    }

    /// Returns the bytes of the object in a chunk.
    pub fn object(&self, chunk: u64) -> Result<Vec<u8>> {
        if chunk >= self.len {
            return Err(fail!(
                Range,
                "object {chunk} does not exist (there are {})",
                self.len
            )
            .at(chunk));
        }
        let ChunkStorage::ChunkFiles(dir, sum) = &self.files else {
            return Err(fail!(Unsupported, "objects in superchunks"));
        };
        let read = || {
            let file = self.open(dir, *sum, chunk)?;
            let mut bytes = alloc::zeroed(alloc::allow(
                file.nbytes() as u64,
                self.config.memory_limit,
                "an object",
            )?)?;
            file.read(
                0,
                &mut bytes,
                self.config.verify,
                self.config.threads.count(),
                &self.caches.blocks,
            )?;
            Ok(bytes)
        };
        read().map_err(|e| self.with_location(chunk, e))
    }

    /// Returns the errors of corrupt superchunk files that were opened anyway.
    pub fn faults(&self) -> Vec<Error> {
        match &self.files {
            ChunkStorage::ChunkFiles(..) => Vec::new(),
            ChunkStorage::Superchunks(files) => files.faults(),
        }
    }

    /// Returns the first chunk of every existing file, in ascending order. Tries the first file
    /// names if the storage cannot list its files.
    pub fn existing(&self) -> Vec<u64> {
        let (dir, layout) = match &self.files {
            ChunkStorage::ChunkFiles(dir, _) => (dir, FileLayout::ChunkFiles),
            ChunkStorage::Superchunks(files) => (files.dir(), FileLayout::Superchunks),
        };
        let first = |name: &str| match &self.files {
            ChunkStorage::ChunkFiles(..) => number(name),
            ChunkStorage::Superchunks(files) => files.first_chunk_of(name),
        };
        let listed = dir.list("");
        let mut all: Vec<u64> = if listed.is_empty() {
            let found = (0..PROBES.min(self.count()))
                .map(|i| layout.file_name(i))
                .filter(|n| dir.has(n).unwrap_or(false));
            found.filter_map(|n| first(&n)).collect()
        } else {
            listed.iter().filter_map(|n| first(n.to_str()?)).collect()
        };
        all.sort_unstable();
        all
    }

    /// Returns the first chunk from `chunk` on whose file exists. `existing` is the result of
    /// [`Chunks::existing`].
    pub fn next_existing(&self, chunk: u64, existing: &[u64]) -> u64 {
        if self
            .superchunks()
            .and_then(|files| files.file_of(chunk, None).ok())
            .is_some_and(|(file, i)| i < file.chunks() as u64)
        {
            return chunk;
        }
        existing
            .get(existing.partition_point(|i| *i < chunk))
            .copied()
            .unwrap_or(u64::MAX)
    }

    /// Fails if `skip_damaged` would replace much more content than the existing files can have
    /// held.
    pub fn refuse_excessive_loss(&self) -> Result<()> {
        let dir = match &self.files {
            _ if !self.config.skip_damaged
                || (self.len <= TOLERATED_BYTES && self.count() <= TOLERATED_CHUNKS) =>
            {
                return Ok(());
            }
            ChunkStorage::ChunkFiles(dir, _) => dir,
            ChunkStorage::Superchunks(files) => files.dir(),
        };
        let names = dir.list("");
        if names.is_empty() && dir.folder().is_foreign() {
            return Ok(()); // the storage may not be able to list its files
        }
        // a chunk takes at least one byte
        let each = self
            .superchunks()
            .map_or(1, |files| files.chunks_per_file().unwrap_or(u64::MAX));
        let (mut held, mut size) = (0u64, 0u64);
        for name in names
            .iter()
            .filter_map(|n| n.to_str())
            .filter(|n| FileLayout::parse(n).is_some())
        {
            let n = dir
                .open(name, Access::Read)
                .and_then(|f| f.size())
                .unwrap_or(0);
            (held, size) = (held.saturating_add(each.min(n)), size.saturating_add(n));
        }
        let lost = self.count().saturating_sub(held);
        let most = size
            .saturating_mul(BEST_RATIO)
            .saturating_add(TOLERATED_BYTES);
        if lost <= size.saturating_add(TOLERATED_CHUNKS) && lost.saturating_mul(self.chunk) <= most
        {
            return Ok(());
        }
        let message = "of its chunks are lost, more than the existing files can have held; meta/sizes may be corrupt";
        Err(fail!(Format, "{}: {lost} {message}", dir.show("")))
    }

    /// Reads a complete chunk and verifies all of it.
    pub fn check(&self, chunk: u64) -> Result<ChunkCheck> {
        let room =
            |n: usize| alloc::zeroed(alloc::allow(n as u64, self.config.memory_limit, "a chunk")?);
        let checked = |yes: bool| {
            if yes {
                ChunkCheck::Checked
            } else {
                ChunkCheck::Unchecked
            }
        };
        let read = || match &self.files {
            ChunkStorage::ChunkFiles(dir, sum) => {
                let file = self.open(dir, *sum, chunk)?;
                if !self.has_objects {
                    self.check_size(chunk, file.nbytes() as u64)?;
                }
                file.read(0, &mut room(file.nbytes())?, true, 1, &self.caches.blocks)?;
                Ok(checked(file.has_digest))
            }
            ChunkStorage::Superchunks(files) => {
                let is_checked = self.with_file(files, chunk, &mut |file, i| {
                    file.with_raw(i, |raw| {
                        blosc::decode(raw, &mut room(blosc::Header::parse(raw)?.nbytes)?, 1)
                    })?;
                    Ok(file.header().checksum.size() > 0)
                })?;
                Ok(checked(is_checked))
            }
        };
        read().map_err(|e| self.with_location(chunk, e))
    }
}

/// Decodes blocks of a chunk. Returns false if it is not stored in blocks of `size` bytes.
fn deliver_blocks(
    stored: &StoredChunk,
    source: &dyn StoredBytes,
    size: usize,
    requested: &[usize],
    sink: &mut dyn Sink,
) -> Result<bool> {
    let header = stored.header();
    if let Some(fill) = stored.fill() {
        fill.deliver((size, header.nbytes), requested, sink)?;
        return Ok(true);
    }
    if header.blocksize != size {
        return Ok(false);
    }
    stored
        .read_blocks(source, requested, sink, None)
        .map(|()| true)
}

/// Passes blocks of the content of a chunk to the sink.
fn deliver(content: &[u8], size: usize, requested: &[usize], sink: &mut dyn Sink) -> Result<()> {
    for block in requested {
        let part = content.chunks(size.max(1)).nth(*block);
        let part = part.ok_or_else(|| fail!(State, "the chunk has an unexpected size"))?;
        sink.deliver(*block, part)?;
    }
    Ok(())
}

/// Returns whether a status means corruption. In a dataset this includes a missing file, since chunks
/// and metadata are files of their own.
pub fn is_corrupt_or_missing(s: Status) -> bool {
    s.is_corruption() || s == Status::Missing
}
