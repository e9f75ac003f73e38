//! Reading of encoded chunks: from the committed file, from the part file, or from memory.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::damage::Damage;
use super::located_chunk::{BLOSC_HEADER, LocatedChunk};
use crate::alloc::{self, Bytes};
use crate::blosc;
use crate::blosc::block_cache::BlockCache;
use crate::blosc::stored::{self, StoredBytes, StoredChunk};
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::superchunk::block_checksums;
use crate::superchunk::chunk_in_file::ChunkInFile;
use crate::superchunk::open_chunk::{self, Chunk, ChunkCache};
use std::sync::Arc;

/// A chunk is read completely if more than one byte in `PARTIAL_FRACTION` is requested.
const PARTIAL_FRACTION: usize = 4;
/// First bytes of a chunk that are read for its block table and the checksums of its blocks.
const HEAD: usize = 1 << 10;

/// The committed file.
pub struct MainFile {
    pub file: Arc<dyn File>,
    /// Size of the file when it was opened or committed.
    pub size: u64,
    /// Modification time when it was opened; `None` if it is open for writing.
    pub modified: Option<u64>,
    /// Offset of the end of the last chunk.
    pub end: u64,
    /// True if every chunk is at its stored offset.
    pub offsets_are_right: bool,
}

impl MainFile {
    /// Returns the chunk that directly follows the last chunk, if there is one.
    pub fn chunk_at_end(&self, sum: Checksum) -> Result<Option<LocatedChunk>> {
        let mut header = [0; BLOSC_HEADER];
        if self.file.read_at(self.end, &mut header)? < BLOSC_HEADER {
            return Ok(None);
        }
        let chunk = LocatedChunk::parse(self.end, &header);
        Ok(chunk.filter(|c| c.end(sum) <= self.size))
    }
}

/// Reads the encoded chunks of an open file. Threads share it.
pub struct ChunkReader {
    /// The path of the file, for error messages.
    pub name: String,
    /// The file of the last commit; `None` before the first commit.
    pub main: Option<MainFile>,
    /// The part file: a temporary file with encoded chunks that are not committed.
    pub part: Option<Arc<dyn File>>,
    /// The damage of the committed file.
    pub damage: Damage,
    /// True if corrupt content reads as zeros.
    pub skip_damaged: bool,
    pub memory_limit: u64,
    pub threads: Threads,
    /// Number of threads that may call functions of the caller.
    foreign_threads: Threads,
    /// The checksum after each chunk.
    checksum: Checksum,
    /// True if checksums are verified.
    verify: bool,
    /// Open chunks of a file that is open for reading, by offset.
    open_chunks: ChunkCache,
    /// Their decoded blocks.
    blocks: BlockCache,
}

impl ChunkReader {
    /// Returns a reader without files.
    pub fn new(name: String, checksum: Checksum, options: &Options) -> ChunkReader {
        let threads = options.threads();
        ChunkReader {
            name,
            main: None,
            part: None,
            damage: Damage::default(),
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            memory_limit: options.memory_limit(),
            threads,
            foreign_threads: match options.given(Opt::Threads) {
                Some(_) => threads,
                None => Threads::ONE,
            },
            checksum,
            verify: options.get(Opt::Verify, 1) > 0,
            open_chunks: open_chunk::open_chunks(false),
            blocks: BlockCache::new(options.cache_bytes()),
        }
    }

    /// Returns an error if the file is damaged and the options do not skip damage. `found` is the
    /// number of chunks that were found.
    pub fn refuse_damaged(&self, found: usize) -> Result<()> {
        if self.skip_damaged {
            return Ok(());
        }
        self.damage.refuse(found, self.verify)
    }

    /// Returns true if the checksums of chunks are verified.
    pub fn verifies_checksums(&self) -> bool {
        self.verify && self.checksum.size() > 0
    }

    /// Returns the number of threads that may access the files. It is 1 for files that caller
    /// functions implement, unless the thread count is set: such a function may wait for a lock
    /// that the caller holds.
    pub fn file_threads(&self) -> usize {
        let mut files = self.main.iter().map(|m| &m.file).chain(&self.part);
        if files.any(|f| f.is_foreign()) {
            self.foreign_threads.count()
        } else {
            self.threads.count()
        }
    }

    /// Reads a part of the content of a chunk.
    pub fn slot_part(
        &self,
        slot: &ChunkSlot,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        if self.blocks_part(slot, from, dst)? {
            return Ok(());
        }
        self.stored(slot, |chunk| {
            // memory that decoding needs in addition to the caller's buffer
            let block = blosc::Header::parse(chunk)?.blocksize;
            alloc::allow(block as u64, self.memory_limit, "a block of a chunk")?;
            blosc::decode_range(chunk, from, dst, threads)
        })
    }

    /// Like [`ChunkReader::slot_part`], but reads and verifies only the blocks of a small part.
    /// Returns false if the complete chunk has to be read.
    fn blocks_part(&self, slot: &ChunkSlot, from: usize, dst: &mut [u8]) -> Result<bool> {
        let Some(chunk) = self.open_for_blocks(slot, dst.len())? else {
            return Ok(false);
        };
        let cache = self.cached_at(slot).map(|at| (&self.blocks, at));
        (chunk.stored).read(&chunk.source(None), from, dst, cache)?;
        Ok(true)
    }

    /// Calls `f` with a chunk of which `needed` bytes of content are requested, and with its bytes,
    /// of which only the blocks that `f` reads are verified. Returns `None` if the complete chunk
    /// has to be read.
    pub fn with_blocks<R>(
        &self,
        slot: &ChunkSlot,
        needed: usize,
        f: impl FnOnce(&StoredChunk, &dyn StoredBytes) -> Result<R>,
    ) -> Result<Option<R>> {
        let chunk = self.open_for_blocks(slot, needed)?;
        chunk
            .map(|chunk| f(&chunk.stored, &chunk.source(None)))
            .transpose()
    }

    /// Opens a chunk of which `needed` bytes of content are requested, to read and verify single
    /// blocks. Returns `None` if the complete chunk has to be read.
    fn open_for_blocks(&self, slot: &ChunkSlot, needed: usize) -> Result<Option<Arc<Chunk>>> {
        let (cbytes, nbytes) = (slot.cbytes as usize, slot.nbytes as usize);
        let verify = self.verifies_checksums();
        if needed > nbytes / PARTIAL_FRACTION
            || cbytes < block_checksums::MIN_CHUNK
            || verify && !block_checksums::can_replace(self.checksum)
        {
            return Ok(None);
        }
        let cached_at = self.cached_at(slot);
        if let Some(chunk) = cached_at.and_then(|at| self.open_chunks.get(&at)) {
            return Ok(Some(chunk));
        }
        let Some((file, at)) = self.location(slot)? else {
            return Ok(None);
        };
        let opened = match verify {
            true => Chunk::open_for_blocks(file, at, (cbytes, None), HEAD, self.memory_limit),
            false => Chunk::open(file, at, cbytes as u64, HEAD, self.memory_limit)
                .map(|(chunk, _)| Some(chunk)),
        };
        let chunk = match opened {
            // reading the complete chunk says what is wrong
            Err(e) if e.status.is_corruption() => return Ok(None),
            opened => opened?,
        };
        let is_whole = |chunk: &Chunk| {
            let header = chunk.stored.header();
            (header.cbytes, header.nbytes) == (cbytes, nbytes)
        };
        let chunk = chunk.filter(is_whole).map(Arc::new);
        if let Some((at, chunk)) = cached_at.zip(chunk.as_ref()) {
            self.open_chunks.put(at, chunk.clone(), chunk.cost());
        }
        Ok(chunk)
    }

    /// Returns the offset of a chunk, if the file is open for reading, so that no chunk is replaced.
    fn cached_at(&self, slot: &ChunkSlot) -> Option<u64> {
        let main = self.main.as_ref()?;
        match slot.location {
            ChunkLocation::Main(at) => main.modified.and(Some(at)),
            _ => None,
        }
    }

    /// Returns the content of chunk `i`, which is in `slot`.
    pub fn content(&self, i: usize, slot: &ChunkSlot) -> Result<Vec<u8>> {
        let mut content = self.zeros(slot)?;
        self.slot_part(slot, 0, &mut content, self.threads.count())
            .map_err(|e| {
                e.within(format_args!("{}: chunk {i}", self.name))
                    .at(i as u64)
            })?;
        Ok(content)
    }

    /// Returns as many zeros as the chunk has bytes of content.
    pub fn zeros(&self, slot: &ChunkSlot) -> Result<Vec<u8>> {
        let n = alloc::allow(slot.nbytes.into(), self.memory_limit, "a chunk")?;
        alloc::zeroed(n)
    }

    /// Returns an error if the chunk cannot be decoded or its checksum does not match.
    pub fn check(&self, slot: &ChunkSlot, threads: usize) -> Result<()> {
        self.stored(slot, |chunk| {
            let mut content = self.zeros(slot)?;
            blosc::decode(chunk, &mut content, threads)
        })
    }

    /// Calls `f` with an encoded chunk after its checksum is verified.
    pub fn stored<R>(&self, slot: &ChunkSlot, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        if let ChunkLocation::Memory(bytes) = &slot.location {
            return f(&self.verified(&&bytes[..], slot)?);
        }
        let source = self.in_file(slot)?;
        let source = source.ok_or_else(|| {
            let lost = || fail!(Format, "it was not found");
            self.damage.lost.clone().unwrap_or_else(lost)
        })?;
        f(&self.verified(&source, slot)?)
    }

    /// Returns the file of a chunk and its offset there, if it is in a file.
    fn location(&self, slot: &ChunkSlot) -> Result<Option<(&Arc<dyn File>, u64)>> {
        let (file, at) = match slot.location {
            ChunkLocation::Main(at) => (self.main.as_ref().map(|m| &m.file), at),
            ChunkLocation::Part(at) => (self.part.as_ref(), at),
            ChunkLocation::Memory(_) | ChunkLocation::Lost => return Ok(None),
        };
        let file = file.ok_or_else(|| fail!(State, "its file is not open"))?;
        Ok(Some((file, at)))
    }

    /// Returns a chunk that is in a file.
    fn in_file(&self, slot: &ChunkSlot) -> Result<Option<ChunkInFile<'_>>> {
        let location = self.location(slot)?;
        Ok(location.map(|(file, at)| ChunkInFile {
            file: &**file,
            at,
            first: &[],
            limit: self.memory_limit,
            checksums: None,
        }))
    }

    fn verified<'s>(&self, source: &'s dyn StoredBytes, slot: &ChunkSlot) -> Result<Bytes<'s>> {
        let sum = Some(self.checksum).filter(|_| self.verify);
        let chunk = stored::verified(source, slot.cbytes as usize, sum)?;
        let header = blosc::Header::parse(&chunk)?;
        if header.cbytes != chunk.len() || header.nbytes != slot.nbytes as usize {
            let (n, c) = (header.nbytes, header.cbytes);
            return Err(fail!(
                Format,
                "its header changed since the file was opened ({n} bytes in {c}, before {} in {})",
                slot.nbytes,
                slot.cbytes
            ));
        }
        Ok(chunk)
    }

    /// Fills `dst` with zeros if the data is corrupt and the options skip damage. Returns true in
    /// that case.
    pub fn or_zeros(&self, read: Result<()>, dst: &mut [u8]) -> Result<bool> {
        match read {
            Ok(()) => Ok(false),
            Err(e) if self.skip_damaged && e.status.is_corruption() => {
                dst.fill(0);
                Ok(true)
            }
            // a concurrent change of the file may look like corruption
            Err(e) => self.check_unmodified().and(Err(e)),
        }
    }

    /// Returns the error of chunk `chunk` with the names of file and chunk.
    pub fn named(&self, chunk: usize, mut e: Error) -> Error {
        e.position = -1;
        let e = e.at(chunk as u64);
        if e.message.starts_with(&self.name) {
            e
        } else {
            e.within(format_args!("{}: chunk {chunk}", self.name))
        }
    }

    /// Returns an error if the file was modified after it was opened for reading.
    pub fn check_unmodified(&self) -> Result<()> {
        let Some(main) = &self.main else {
            return Ok(());
        };
        let Some(modified) = main.modified else {
            return Ok(());
        };
        if main.file.size_and_modified()? == (main.size, modified) {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it was changed since it was opened; open it again to read on",
            self.name
        ))
    }
}
