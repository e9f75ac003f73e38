//! A file with one chunk, `__N.blp`: a header of 16 bytes (magic, version 1, one chunk), a Blosc
//! chunk, and optionally the digest of the chunk.
//!
//! The tools write the header but never read it. Here it must be correct, because nothing else in
//! the file detects corruption of these bytes. The tools also ignore everything after the chunk,
//! which is where the digest is. A file without the digest was written by another tool and is
//! accepted.
//!
//! An open file may be cached between calls. Its headers are read once and its digest is verified
//! once. A block that is read in several small parts is decoded once. The cache entry becomes
//! invalid when the size or the modification time of the file changes.
#![forbid(unsafe_code)]

use crate::alloc::{self, Bytes};
use crate::blosc;
use crate::blosc::block_cache::BlockCache;
use crate::blosc::stored::{self, StoredBytes, StoredChunk};
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::io::read_buffer::SequentialReader;
use crate::io::{AsOpened, File};
use crate::superchunk::block_checksums::{self, BlockChecksums};
use crate::superchunk::chunk_in_file::ChunkInFile;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The header before the chunk.
pub const HEADER: [u8; 16] = *b"blpk\x01\0\0\0\x01\0\0\0\0\0\0\0";
/// Number of bytes that are read when a file is opened, and stay buffered. They contain both
/// headers and, for most chunks, the block offsets and the length of the first stream.
const HEAD_BYTES: usize = 128;
/// A chunk is read completely if at least one byte in `PARTIAL_FRACTION` is requested.
const PARTIAL_FRACTION: usize = 4;

/// An open chunk file.
pub struct ChunkFile {
    file: Arc<dyn File>,
    head: [u8; HEAD_BYTES],
    header: blosc::Header,
    /// True if the file has a digest.
    pub has_digest: bool,
    sum: Checksum,
    limit: u64,
    /// Size and modification time when the file was opened.
    as_opened: AsOpened,
    /// Unique number of this open file.
    id: u64,
    /// True once the digest was found to match.
    is_verified: AtomicBool,
    /// The chunk, once blocks of it were read.
    blocks: OnceLock<StoredChunk>,
    /// The chunk with the checksums of its blocks, once blocks were read before its digest was
    /// verified; none if it has none.
    verified_blocks: OnceLock<Option<(StoredChunk, BlockChecksums)>>,
}

/// The bytes of the chunk, from which short ranges are read.
struct ShortRanges<'a> {
    chunk: ChunkInFile<'a>,
    reader: SequentialReader<'a>,
}

impl StoredBytes for ShortRanges<'_> {
    fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        match self.chunk.known(at, dst.len()) {
            Some(bytes) => {
                dst.copy_from_slice(bytes);
                Ok(())
            }
            None => self.reader.read_at(self.chunk.position(at), dst),
        }
    }

    fn bytes(&self, range: Range<usize>) -> Result<Bytes<'_>> {
        let (chunk, n) = (&self.chunk, range.len());
        match chunk.known(range.start, n) {
            Some(bytes) => Ok(Bytes::InPlace(bytes)),
            None => (self.reader).read(chunk.position(range.start), n, chunk.limit),
        }
    }

    fn reads_short_ranges(&self) -> bool {
        true
    }
}

impl ChunkFile {
    /// Reads the headers of an open file. `sum` is the algorithm of the digest, if there is one.
    pub fn open(file: Arc<dyn File>, sum: Checksum, limit: u64) -> Result<ChunkFile> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let mut head = [0; HEAD_BYTES];
        let as_opened = file.as_opened()?;
        let n = file.read_at(0, &mut head)?;
        let short = || {
            fail!(
                Format,
                "it is too short for a header of {} bytes and the header of a chunk ({n} bytes)",
                HEADER.len()
            )
        };
        let (own, chunk) = head
            .get(..n)
            .and_then(|h| h.split_first_chunk::<16>())
            .ok_or_else(short)?;
        if *own != HEADER {
            return Err(fail!(
                Format,
                "wrong header (expected {HEADER:02x?}, found {own:02x?})"
            ));
        }
        let header = blosc::Header::parse(chunk)?;
        let (end, size) = (
            (HEADER.len() + header.cbytes) as u64,
            if n < HEAD_BYTES {
                n as u64
            } else {
                as_opened.size
            },
        );
        if size < end {
            return Err(fail!(
                Format,
                "the file is too short (expected {end} bytes, found {size})"
            ));
        }
        let rest = size - end;
        let digest = sum.size() as u64;
        if rest > 0 && rest < digest {
            return Err(fail!(
                Format,
                "the digest is incomplete (expected {digest} bytes, found {rest})"
            ));
        }
        let (has_digest, id) = (
            digest > 0 && rest >= digest,
            OPENED.fetch_add(1, Ordering::Relaxed),
        );
        Ok(ChunkFile {
            file,
            head,
            header,
            has_digest,
            sum,
            limit,
            as_opened,
            id,
            is_verified: AtomicBool::new(false),
            blocks: OnceLock::new(),
            verified_blocks: OnceLock::new(),
        })
    }

    /// Returns true if the file has an identity, so that a change of it can be detected.
    pub fn is_cacheable(&self) -> bool {
        self.file.identity() != 0
    }

    /// Returns true if the file has not been modified since it was opened.
    pub fn is_as_opened(&self) -> bool {
        let then = (self.as_opened.size, self.as_opened.modified);
        self.file.size_and_modified().is_ok_and(|now| now == then)
    }

    /// Returns the size of the content in bytes.
    pub fn nbytes(&self) -> usize {
        self.header.nbytes
    }

    /// Returns the header of the chunk.
    pub fn header(&self) -> blosc::Header {
        self.header
    }

    /// Decodes a range. Verifies the digest first if `verify` is true and the file has one. `cache`
    /// has the decoded blocks of the handle.
    pub fn read(
        &self,
        from: usize,
        dst: &mut [u8],
        verify: bool,
        threads: usize,
        cache: &BlockCache,
    ) -> Result<()> {
        alloc::allow(
            self.header.blocksize as u64,
            self.limit,
            "a block of a chunk",
        )?;
        let unverified = verify && self.has_digest && !self.is_verified.load(Ordering::Relaxed);
        let digest = Some(self.sum).filter(|_| unverified);
        let source = self.source();
        let h = &self.header;
        let is_part = dst.len() < self.nbytes() / PARTIAL_FRACTION
            && h.content()? == blosc::Content::Blocks
            && !h.extended();
        if is_part
            && digest.is_some()
            && let Some((blocks, checksums)) = self.verified_blocks()?
        {
            let source = ChunkInFile {
                checksums: Some(checksums),
                ..source
            };
            return blocks.read(&source, from, dst, Some((cache, self.id)));
        }
        if is_part && digest.is_none() {
            let reader = SequentialReader::new(source.file, (HEADER.len() + h.cbytes) as u64);
            let source = ShortRanges {
                chunk: source,
                reader,
            };
            return self
                .blocks()?
                .read(&source, from, dst, Some((cache, self.id)));
        }
        let chunk = stored::verified(&source, h.cbytes, digest)?;
        if digest.is_some() {
            self.is_verified.store(true, Ordering::Relaxed);
        }
        // the bytes that were read now may belong to another header
        if blosc::Header::parse(&chunk)? != *h {
            return Err(fail!(Format, "it was modified while it was being read"));
        }
        blosc::decode_range(&chunk, from, dst, threads)
    }

    /// Returns the complete file, after verifying its digest, if it has one.
    pub fn verified_file(&self) -> Result<Vec<u8>> {
        let chunk = HEADER.len()..HEADER.len().saturating_add(self.header.cbytes);
        let digest = if self.has_digest { self.sum.size() } else { 0 };
        let n = chunk.end.saturating_add(digest);
        let mut bytes = alloc::zeroed(alloc::allow(n as u64, self.limit, "a chunk")?)?;
        self.file.read_exact_at(0, &mut bytes)?;
        let (head, stored) = (bytes.get(..chunk.start), bytes.get(chunk.clone()));
        let stored = stored.unwrap_or_default();
        if head != Some(&HEADER) || blosc::Header::parse(stored)? != self.header {
            return Err(fail!(Format, "it was modified while it was being read"));
        }
        if digest > 0 && bytes.get(chunk.end..) != Some(&*self.sum.of(stored)) {
            let sum = self.sum;
            return Err(fail!(Checksum, "its {sum} does not match what is stored"));
        }
        Ok(bytes)
    }

    /// Returns the bytes after the first header.
    fn source(&self) -> ChunkInFile<'_> {
        let first = self.head.get(HEADER.len()..).unwrap_or_default();
        ChunkInFile {
            file: &*self.file,
            at: HEADER.len() as u64,
            first: first.get(..self.header.cbytes).unwrap_or(first),
            limit: self.limit,
            checksums: None,
        }
    }

    /// Returns the chunk with the checksums of its blocks, if they can replace the digest.
    fn verified_blocks(&self) -> Result<Option<&(StoredChunk, BlockChecksums)>> {
        let cbytes = self.header.cbytes;
        if cbytes < block_checksums::MIN_CHUNK || !block_checksums::can_replace(self.sum) {
            return Ok(None);
        }
        if let Some(known) = self.verified_blocks.get() {
            return Ok(known.as_ref());
        }
        let source = self.source();
        let n = self.header.len() + 4 * self.header.blocks();
        let n = n + block_checksums::len(self.header.blocks());
        let read =
            StoredChunk::open(&source, cbytes as u64, n, self.limit).and_then(|(stored, first)| {
                let checksums = BlockChecksums::read(&stored, &first, &source, None)?;
                Ok(checksums.map(|checksums| (stored, checksums)))
            });
        let read = match read {
            // reading the complete chunk says what is wrong
            Err(e) if e.status.is_corruption() => None,
            read => read?,
        };
        Ok(self.verified_blocks.get_or_init(|| read).as_ref())
    }

    fn blocks(&self) -> Result<&StoredChunk> {
        if let Some(blocks) = self.blocks.get() {
            return Ok(blocks);
        }
        let blocks = StoredChunk::without_table(self.header)?;
        Ok(self.blocks.get_or_init(|| blocks))
    }
}
