//! The items of an array, or of one field: a run of bytes, in chunks of whole rows, in the files of
//! one folder.
//!
//! Where each chunk is and how much of it counts follows from the number of rows alone. A last
//! chunk that holds more rows than are counted is one of a commit that never was, or of rows that
//! were cut off: its beginning counts.
#![forbid(unsafe_code)]

use super::chunk_file::{self, Blocks, ChunkFile};
use super::edit::{Edit, Names};
use super::folder::Place;
use super::meta::Meta;
use super::superchunks::{self, Superchunks};
use crate::array::store::repeat;
use crate::blosc;
use crate::cache::{Budget, Lately};
use crate::checksum::Sum;
use crate::error::{Error, Result, Status, fail};
use crate::io::Access;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::superchunk::bloscpack::Bloscpack;
use crate::{alloc, parallel};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Content that is worth another thread.
const WORTH: u64 = 256 << 10;
/// Files that are asked for by their names where storage cannot list them.
const PROBES: u64 = if cfg!(fuzzing) { 8 } else { 4096 };

/// What may be missing of any dataset: bytes of content, and chunks.
const FEW_BYTES: u64 = 1 << 30;
const FEW_CHUNKS: u64 = 1 << 16;
/// Content of which a byte of a file may be all that is left.
const BEST_RATIO: u64 = 32 << 10;
/// How often a file is opened anew that a writer goes on changing.
const AGAIN: u32 = 100;

/// Chunk files that a handle keeps open.
const OPEN: usize = 64;
/// The same for all handles, as a process may have no more than some hundreds of files open.
static OPEN_FILES: Budget = Budget::new(128);

/// What is told of a chunk that is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sound {
    /// Its checksum fits.
    Checked,
    /// It has none.
    Unchecked,
}

/// How a dataset is read.
#[derive(Clone)]
pub struct How {
    /// For each file of many chunks.
    pub options: Options,
    /// Threads that may read its files.
    pub threads: Threads,
    /// Are checksums looked at?
    pub verify: bool,
    /// Is damage to read as the fill value?
    pub skip_damaged: bool,
    /// How chunk files are opened.
    pub access: Access,
    /// The most that a file may make a call allocate.
    pub memory_limit: u64,
}

impl How {
    /// As these options wish, in this place. A caller's function may wait for what the caller
    /// holds, so that other threads call it only on demand.
    pub fn new(options: &Options, place: &Place) -> How {
        let foreign = place.folder().is_foreign() && options.given(Opt::Threads).is_none();
        let mut each = options.clone();
        // all that there is is looked at by who opens all of it
        let _ = each.set(Opt::Verify, options.get(Opt::Verify, 1).min(1));
        How {
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

/// Where the chunks are.
enum Files {
    /// Each in a file of its own.
    One(Place, Sum),
    /// Many in one.
    Many(Superchunks),
}

/// Of use for the next call, as long as nothing is changed.
struct Kept {
    files: Lately<u64, Arc<ChunkFile>>,
    blocks: Blocks,
}

impl Kept {
    fn nothing() -> Kept {
        Kept {
            files: Lately::new(OPEN, &OPEN_FILES),
            blocks: chunk_file::blocks(),
        }
    }
}

/// See the top of the file.
pub struct Chunks {
    files: Files,
    /// Bytes of content, of a chunk, and of a row.
    pub(super) len: u64,
    pub(super) chunk: u64,
    pub(super) row: u64,
    /// What waits for a commit, where it may be changed. Who changes it asks [`Chunks::editing`].
    pub(super) edit: Option<Box<Edit>>,
    kept: Kept,
    has_objects: bool,
    pub(super) fill: Option<Arc<[u8]>>,
    how: How,
}

/// The name of the file with this chunk alone.
pub fn file_name(chunk: u64) -> String {
    format!("__{chunk}.blp")
}

/// The chunk that a file of this name has.
pub fn number(name: &str) -> Option<u64> {
    let n = name
        .strip_prefix("__")?
        .strip_suffix(".blp")?
        .parse()
        .ok()?;
    (file_name(n) == name).then_some(n)
}

/// Are the chunks in this folder as the papers have it?
pub fn has_superchunks(place: &Place, otherwise: impl FnOnce() -> Result<bool>) -> Result<bool> {
    if place.has(&file_name(0))? {
        return Ok(false);
    }
    if place.has(&superchunks::name(1))? {
        Ok(true)
    } else {
        otherwise()
    }
}

impl Chunks {
    /// The rows of `row` bytes of a dataset in this folder. `fill`: what its damaged rows read as,
    /// repeated.
    pub fn new(
        place: Place,
        many: bool,
        meta: &Meta,
        row: u64,
        fill: Option<Arc<[u8]>>,
        how: &How,
    ) -> Result<Chunks> {
        let files = if many {
            Files::Many(Superchunks::new(
                place,
                meta.superchunk,
                how.options.clone(),
            ))
        } else {
            Files::One(place, meta.checksum)
        };
        let too_many = || {
            fail!(
                Format,
                "{} rows of {row} bytes are more than 2^64 bytes",
                meta.rows()
            )
        };
        let len = meta.rows().checked_mul(row).ok_or_else(too_many)?;
        Ok(Chunks {
            files,
            len,
            chunk: meta.chunklen.saturating_mul(row).max(1),
            row,
            edit: None,
            kept: Kept::nothing(),
            has_objects: false,
            fill,
            how: how.clone(),
        })
    }

    /// Objects, a chunk each.
    pub fn objects(place: Place, meta: &Meta, how: &How) -> Chunks {
        Chunks {
            files: Files::One(place, meta.checksum),
            len: meta.rows(),
            chunk: 1,
            row: 1,
            edit: None,
            kept: Kept::nothing(),
            has_objects: true,
            fill: None,
            how: how.clone(),
        }
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.len
    }

    /// Bytes of content in a chunk.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk
    }

    /// The bytes of the chunk that holds this one.
    pub fn span(&self, at: u64) -> Range<u64> {
        let start = at - at % self.chunk;
        start..start.saturating_add(self.chunk)
    }

    /// Where each chunk has a file of its own, what stands behind it there.
    pub fn sum_of_one(&self) -> Option<Sum> {
        match &self.files {
            Files::One(_, sum) => Some(*sum),
            Files::Many(_) => None,
        }
    }

    /// The folder of the files.
    pub fn place(&self) -> &Place {
        match &self.files {
            Files::One(place, _) => place,
            Files::Many(files) => files.place(),
        }
    }

    /// The files with many chunks.
    pub fn superchunks(&self) -> Option<&Superchunks> {
        match &self.files {
            Files::One(..) => None,
            Files::Many(files) => Some(files),
        }
    }

    /// Files have other names from now on.
    pub fn forget(&self) {
        self.superchunks().into_iter().for_each(Superchunks::forget);
    }

    /// How many chunks.
    pub fn count(&self) -> u64 {
        self.len.div_ceil(self.chunk)
    }

    /// Bytes of content in a block of the first chunk.
    pub fn block_bytes(&self) -> Option<u64> {
        self.first_header().map(|h| h.blocksize as u64)
    }

    /// The header of the first chunk, where there is one.
    pub fn first_header(&self) -> Option<blosc::Header> {
        match &self.files {
            _ if self.len == 0 => None,
            Files::One(place, sum) => self.open(place, *sum, 0).ok().map(|c| c.header()),
            Files::Many(files) => {
                let (file, _) = files.holding(0, self.edit.as_deref()).ok()?;
                file.with_raw(0, blosc::Header::parse).ok()
            }
        }
    }

    /// Reads content until `dst` is full. True: some of it was damaged, and is the fill value now,
    /// as was wished.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at
            .checked_add(dst.len() as u64)
            .filter(|end| *end <= self.len);
        let end =
            end.ok_or_else(|| fail!(Range, "{} bytes at {at}: there are {}", dst.len(), self.len))?;
        let worth = end - at >= WORTH;
        let threads = if worth { self.how.threads.count() } else { 1 };
        if self.span(at).end >= end {
            return if dst.is_empty() {
                Ok(false)
            } else {
                self.part(at, dst, threads)
            };
        }
        let (mut parts, mut rest, mut from) = (Vec::new(), dst, at);
        while !rest.is_empty() {
            let n = (self.span(from).end.min(end) - from) as usize;
            let (part, behind) = rest.split_at_mut_checked(n).unwrap_or_default();
            alloc::reserve(&mut parts, 1)?;
            parts.push((from, part));
            (rest, from) = (behind, from + n as u64);
        }
        // the first of those that fail, whatever the order in which they did
        let found = Mutex::new((None::<Error>, false));
        parallel::for_each(threads, parts, |(from, part)| {
            // behind one that failed nothing is wanted, and there may be very many
            let failed = found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .0
                .as_ref()
                .map(|e| e.position);
            if failed.is_some_and(|at| at >= 0 && at as u64 <= from / self.chunk) {
                return;
            }
            let read = self.part(from, part, 1);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            match read {
                Ok(bad) => found.1 |= bad,
                Err(e) if found.0.as_ref().is_none_or(|f| e.position < f.position) => {
                    found.0 = Some(e)
                }
                Err(_) => {}
            }
        });
        match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (Some(e), _) => Err(e),
            (None, bad) => Ok(bad),
        }
    }

    /// Reads a part of one chunk.
    fn part(&self, at: u64, dst: &mut [u8], threads: usize) -> Result<bool> {
        let chunk = at / self.chunk;
        let from = (at % self.chunk) as usize;
        if let Some(content) = self.edit.as_ref().and_then(|e| e.content(at)) {
            let part = content.get(..dst.len());
            dst.copy_from_slice(part.ok_or_else(|| fail!(State, "a chunk of another size"))?);
            return Ok(false);
        }
        let read = match &self.files {
            Files::One(place, sum) => self
                .part_of_one(place, *sum, chunk, from, dst, threads)
                .map(|()| false),
            Files::Many(files) => self.part_of_many(files, chunk, from, dst),
        };
        match read {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.fill(at, dst);
                Ok(true)
            }
            Err(e) if self.how.skip_damaged && is_damage(e.status) => {
                self.fill(at, dst);
                Ok(true)
            }
            Err(e) => Err(self.named(chunk, e)),
        }
    }

    fn open(&self, place: &Place, sum: Sum, chunk: u64) -> Result<ChunkFile> {
        let name = self
            .edit
            .as_ref()
            .map_or_else(|| file_name(chunk), |e| e.name(chunk));
        let file = place.open(&name, self.how.access)?;
        ChunkFile::open(file, sum, self.how.memory_limit)
    }

    fn part_of_one(
        &self,
        place: &Place,
        sum: Sum,
        chunk: u64,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        let file = match self
            .kept
            .files
            .get(&chunk)
            .filter(|file| file.is_as_opened())
        {
            Some(file) => file,
            None => {
                let file = Arc::new(self.open(place, sum, chunk)?);
                if file.can_be_kept() {
                    self.kept.files.put(chunk, file.clone(), 1);
                }
                file
            }
        };
        self.check_size(chunk, file.nbytes() as u64)?;
        file.read(from, dst, self.how.verify, threads, &self.kept.blocks)
    }

    /// What waits for a commit, to be changed: nothing that is kept holds any more.
    pub(super) fn editing(&mut self) -> Option<&mut Edit> {
        self.kept.files.clear();
        self.kept.blocks.clear();
        self.edit.as_deref_mut()
    }

    /// Refuses a chunk that holds another number of bytes than it should; what is last may hold
    /// more.
    fn check_size(&self, chunk: u64, have: u64) -> Result<()> {
        let want = self.wanted(chunk);
        let fits = want == have
            || (want < self.chunk
                && (want..=self.chunk).contains(&have)
                && have.is_multiple_of(self.row.max(1)));
        if fits {
            Ok(())
        } else {
            Err(fail!(Format, "it holds {have} bytes, {want} were expected"))
        }
    }

    /// Bytes of a chunk that count.
    pub(super) fn wanted(&self, chunk: u64) -> u64 {
        self.len
            .saturating_sub(chunk.saturating_mul(self.chunk))
            .min(self.chunk)
    }

    /// The file that has a chunk, and which one it is there.
    fn in_file(&self, files: &Superchunks, chunk: u64) -> Result<(Arc<Bloscpack>, u64)> {
        let (file, i) = files.holding(chunk, self.edit.as_deref())?;
        if i >= file.chunks() as u64 {
            return Err(fail!(
                Format,
                "it has {} chunks, and number {i} was expected to be one of them",
                file.chunks()
            ));
        }
        self.check_size(chunk, file.chunk_nbytes(i)? as u64)?;
        Ok((file, i))
    }

    fn part_of_many(
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
                    "chunks before it are not of {} bytes",
                    self.chunk
                ));
            }
            file.read(begin + from as u64, dst)
        })
    }

    /// Calls `f` with the file that has a chunk, again where a writer has put more into it
    /// meanwhile: what was there is still there then.
    fn with_file<R>(
        &self,
        files: &Superchunks,
        chunk: u64,
        f: &mut dyn FnMut(&Bloscpack, u64) -> Result<R>,
    ) -> Result<R> {
        let mut again = if self.edit.is_none() { AGAIN } else { 0 };
        loop {
            match self.in_file(files, chunk).and_then(|(file, i)| f(&file, i)) {
                Err(e) if e.status == Status::State && again > 0 => {
                    again -= 1;
                    files.renew(chunk);
                }
                done => return done,
            }
        }
    }

    fn named(&self, chunk: u64, mut e: Error) -> Error {
        let file = match &self.files {
            Files::One(place, _) => place.show(&file_name(chunk)),
            Files::Many(files) => files.show(chunk),
        };
        e.position = -1;
        let words = e
            .message
            .strip_prefix(&file)
            .map(|rest| rest.trim_start_matches(": ").to_owned());
        e.message = words.unwrap_or(e.message);
        e.within(format_args!("{file}: chunk {chunk}")).at(chunk)
    }

    fn fill(&self, at: u64, dst: &mut [u8]) {
        repeat(self.fill.as_deref(), at, dst);
    }

    /// The bytes of the object in a chunk.
    pub fn object(&self, chunk: u64) -> Result<Vec<u8>> {
        if chunk >= self.len {
            return Err(fail!(Range, "object {chunk}: there are {}", self.len).at(chunk));
        }
        let Files::One(place, sum) = &self.files else {
            return Err(fail!(Unsupported, "objects in superchunks"));
        };
        let read = || {
            let file = self.open(place, *sum, chunk)?;
            let mut bytes = alloc::zeroed(alloc::allow(
                file.nbytes() as u64,
                self.how.memory_limit,
                "an object",
            )?)?;
            file.read(
                0,
                &mut bytes,
                self.how.verify,
                self.how.threads.count(),
                &self.kept.blocks,
            )?;
            Ok(bytes)
        };
        read().map_err(|e| self.named(chunk, e))
    }

    /// What is wrong with files of many chunks that were opened all the same.
    pub fn faults(&self) -> Vec<Error> {
        match &self.files {
            Files::One(..) => Vec::new(),
            Files::Many(files) => files.faults(),
        }
    }

    /// The first chunks of the files that are there, in rising order. Where storage cannot tell,
    /// the first files are asked for.
    pub fn there(&self) -> Vec<u64> {
        let (place, names) = match &self.files {
            Files::One(place, _) => (place, Names::One),
            Files::Many(files) => (files.place(), Names::Many),
        };
        let first = |name: &str| match &self.files {
            Files::One(..) => number(name),
            Files::Many(files) => files.first_of(name),
        };
        let listed = place.list("");
        let mut all: Vec<u64> = if listed.is_empty() {
            let found = (0..PROBES.min(self.count()))
                .map(|i| names.own(i))
                .filter(|n| place.has(n).unwrap_or(false));
            found.filter_map(|n| first(&n)).collect()
        } else {
            listed.iter().filter_map(|n| first(n.to_str()?)).collect()
        };
        all.sort_unstable();
        all
    }

    /// The first chunk from this one on whose file is there, of what [`Chunks::there`] gives.
    pub fn next_there(&self, chunk: u64, there: &[u64]) -> u64 {
        if self
            .superchunks()
            .and_then(|files| files.holding(chunk, None).ok())
            .is_some_and(|(file, i)| i < file.chunks() as u64)
        {
            return chunk;
        }
        there
            .get(there.partition_point(|i| *i < chunk))
            .copied()
            .unwrap_or(u64::MAX)
    }

    /// Refuses to read as the fill value much more than the files that are there can have held.
    pub fn refuse_lost(&self) -> Result<()> {
        let place = match &self.files {
            _ if !self.how.skip_damaged
                || (self.len <= FEW_BYTES && self.count() <= FEW_CHUNKS) =>
            {
                return Ok(());
            }
            Files::One(place, _) => place,
            Files::Many(files) => files.place(),
        };
        let names = place.list("");
        if names.is_empty() && place.folder().is_foreign() {
            return Ok(()); // it may just not be able to tell
        }
        // a chunk takes a byte at least
        let each = self
            .superchunks()
            .map_or(1, |files| files.each().unwrap_or(u64::MAX));
        let (mut held, mut size) = (0u64, 0u64);
        for name in names
            .iter()
            .filter_map(|n| n.to_str())
            .filter(|n| Names::parse(n).is_some())
        {
            let n = place
                .open(name, Access::Read)
                .and_then(|f| f.size())
                .unwrap_or(0);
            (held, size) = (held.saturating_add(each.min(n)), size.saturating_add(n));
        }
        let lost = self.count().saturating_sub(held);
        let most = size.saturating_mul(BEST_RATIO).saturating_add(FEW_BYTES);
        if lost <= size.saturating_add(FEW_CHUNKS) && lost.saturating_mul(self.chunk) <= most {
            return Ok(());
        }
        let words =
            "of its chunks are lost, it says, more than the files that are there can have held";
        Err(fail!(Format, "{}: {lost} {words}", place.show("")))
    }

    /// Reads a whole chunk and checks all that can be.
    pub fn check(&self, chunk: u64) -> Result<Sound> {
        let room =
            |n: usize| alloc::zeroed(alloc::allow(n as u64, self.how.memory_limit, "a chunk")?);
        let checked = |yes: bool| {
            if yes {
                Sound::Checked
            } else {
                Sound::Unchecked
            }
        };
        let read = || match &self.files {
            Files::One(place, sum) => {
                let file = self.open(place, *sum, chunk)?;
                if !self.has_objects {
                    self.check_size(chunk, file.nbytes() as u64)?;
                }
                file.read(0, &mut room(file.nbytes())?, true, 1, &self.kept.blocks)?;
                Ok(checked(file.has_digest))
            }
            Files::Many(files) => {
                let is_checked = self.with_file(files, chunk, &mut |file, i| {
                    file.with_raw(i, |raw| {
                        blosc::decode(raw, &mut room(blosc::Header::parse(raw)?.nbytes)?, 1)
                    })?;
                    Ok(file.header().checksum.size() > 0)
                })?;
                Ok(checked(is_checked))
            }
        };
        read().map_err(|e| self.named(chunk, e))
    }
}

/// Is this what damage looks like, as against a failing disk or a limit of the caller's?
pub fn is_damage(s: Status) -> bool {
    matches!(
        s,
        Status::Format
            | Status::Checksum
            | Status::Codec
            | Status::Version
            | Status::Unsupported
            | Status::Missing
    )
}
