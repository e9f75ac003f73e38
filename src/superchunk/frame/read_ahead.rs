//! Chunks and blocks that are not in the page cache: the system begins to read all that a call
//! requests, so that they wait for the disk together.
#![forbid(unsafe_code)]

use super::index::entry::Entry;
use super::read::{FrameReader, RequestedBlocks};
use crate::error::Result;
use crate::io::MAX_FETCH;
use crate::superchunk::block_checksums;
use crate::superchunk::chunks::ChunkRequest;

/// Maximum number of bytes, and of chunks, that are announced at once.
const MAX_BYTES: u64 = 16 << 20;
const MAX_CHUNKS: usize = 256;
/// A complete chunk is fetched if no more bytes of it are not requested: otherwise its blocks take
/// another round trip after its block table.
const MAX_WASTE: u64 = 1 << 20;

impl FrameReader {
    /// Announces the reads of the requests for stored chunks, unless the first of them is in the page
    /// cache. First the block tables of all chunks, then the blocks, whose positions are in the
    /// tables. Errors are those of the reads that follow.
    pub(super) fn read_ahead(&self, requests: &mut dyn Iterator<Item = ChunkRequest>) {
        if self.is_remote() {
            return self.fetch(requests);
        }
        // chunks in files of their own are opened one by one
        let main = self.files.main.as_ref();
        if self.files.storage.sparse || main.is_none_or(|file| file.is_in_memory()) {
            return;
        }
        let is_stored = |r: &ChunkRequest| self.position(r.chunk).is_ok_and(|at| at.is_some());
        let mut requests = requests.filter(is_stored).peekable();
        let Some(first) = requests.next() else {
            return;
        };
        let is_one_block = first.blocks.len() < 2 && requests.peek().is_none();
        if is_one_block || self.is_cached(&first).unwrap_or(true) {
            return;
        }
        let requests = [first].into_iter().chain(requests);
        let requests: Vec<ChunkRequest> = requests.take(MAX_CHUNKS).collect();
        let mut left = MAX_BYTES;
        for request in &requests {
            for (at, n) in self.table_reads(request).unwrap_or_default() {
                self.announce(at, n, &mut left);
            }
        }
        for request in &requests {
            if left == 0 {
                break;
            }
            for (at, n) in self.block_reads(request).unwrap_or_default() {
                self.announce(at, n, &mut left);
            }
        }
    }

    /// Returns whether each read is a request.
    pub(super) fn is_remote(&self) -> bool {
        let main = self.files.main.as_ref();
        main.is_some_and(|file| !self.files.storage.sparse && file.is_remote())
    }

    /// Fetches what the requests read: first the block tables of all chunks together, or all of a
    /// chunk if most of it is requested, then the blocks.
    fn fetch(&self, requests: &mut dyn Iterator<Item = ChunkRequest>) {
        let Some(file) = &self.files.main else {
            return;
        };
        let requests = requests.filter_map(|r| self.without_cached(r));
        let requests: Vec<ChunkRequest> = requests.collect();
        for reads in [FrameReader::first_fetches, FrameReader::block_reads] {
            let mut left = MAX_FETCH;
            let all = requests
                .iter()
                .flat_map(|r| reads(self, r).unwrap_or_default());
            let ranges = all.map_while(|(at, n)| {
                left = left.checked_sub(n)?;
                Some(at..at + n)
            });
            file.fetch(&ranges.collect::<Vec<_>>());
        }
    }

    /// Returns what is fetched before block tables are known.
    fn first_fetches(&self, request: &ChunkRequest) -> Result<Vec<(u64, u64)>> {
        let entry = self.entry(request.chunk)?;
        let (_, at, room) = self.locate_chunk(&entry)?;
        let n = (self.longest(request.chunk, &entry, room) as u64).min(room);
        let all = self.blocks_of_a_chunk().max(1) as u64;
        let others = all.saturating_sub(request.blocks.len() as u64);
        if n.saturating_mul(others) / all <= MAX_WASTE {
            return Ok(vec![(at, n)]);
        }
        self.table_reads(request)
    }

    /// Returns the request without blocks that are cached; `None` if nothing is left to read.
    fn without_cached(&self, mut request: ChunkRequest) -> Option<ChunkRequest> {
        let chunk = request.chunk;
        self.position(chunk).ok()??;
        request
            .blocks
            .retain(|block| !self.is_decoded(chunk, *block));
        (!request.blocks.is_empty()).then_some(request)
    }

    fn announce(&self, at: u64, n: u64, left: &mut u64) {
        let n = n.min(*left);
        *left -= n;
        if let Some(file) = &self.files.main {
            file.begin_reading(at, at + n);
        }
    }

    /// Returns whether the first bytes that a request reads are in the page cache.
    fn is_cached(&self, request: &ChunkRequest) -> Result<bool> {
        let mut reads = self.table_reads(request)?;
        if reads.is_empty() {
            reads = self.block_reads(request)?;
        }
        let file = self.files.main.as_ref();
        let read = file.zip(reads.first());
        Ok(read.is_none_or(|(file, (at, _))| file.is_cached(*at)))
    }

    /// Returns offset and length of each read that opens a chunk: of its block table, and of the
    /// checksums after an uncompressed chunk; or of all of it, if it is verified as a whole. There is
    /// none if it is open.
    fn table_reads(&self, request: &ChunkRequest) -> Result<Vec<(u64, u64)>> {
        let chunk = request.chunk;
        let entry = self.entry(chunk)?;
        let is_whole = self.verifies_whole(&entry, request);
        if !is_whole && self.cached_chunk(&entry).is_some() {
            return Ok(Vec::new());
        }
        let (_, at, room) = self.locate_chunk(&entry)?;
        let cbytes = u64::from(entry.cbytes);
        if is_whole {
            return Ok(vec![(at, cbytes.min(room))]);
        }
        let n = self.initial_read_len(chunk, &entry, room, reach(request)) as u64;
        let mut reads = vec![(at, n.min(room))];
        let content = self.layout.span(chunk)?;
        if self.verify && entry.is_unverified() && cbytes > content.end - content.start {
            let checksums = block_checksums::len(self.blocks_of_a_chunk()) as u64;
            reads.push((at + cbytes, checksums.min(room.saturating_sub(cbytes))));
        }
        Ok(reads)
    }

    /// Returns offset and length of each read of blocks, unless the chunk is read as a whole.
    fn block_reads(&self, request: &ChunkRequest) -> Result<Vec<(u64, u64)>> {
        let (chunk, blocks) = (request.chunk, &request.blocks);
        let entry = self.entry(chunk)?;
        if self.verifies_whole(&entry, request) {
            return Ok(Vec::new());
        }
        let opened = self.open_for(chunk, reach(request))?;
        let are_complete = request.at_once || opened.chunk.checksums.is_some();
        if opened.chunk.stored.is_copied() && !are_complete {
            return Ok(Vec::new());
        }
        let source = opened.source();
        let ranges = opened.chunk.stored.ranges(&source, blocks)?;
        let unknown = ranges
            .iter()
            .filter(|r| source.known(r.start, r.len()).is_none());
        Ok(unknown
            .map(|range| (source.position(range.start), range.len() as u64))
            .collect())
    }

    /// Returns whether a chunk is read and verified as a whole.
    fn verifies_whole(&self, entry: &Entry, request: &ChunkRequest) -> bool {
        self.verify
            && entry.is_unverified()
            && !reach(request).is_some_and(|requested| self.are_few(entry, requested))
    }
}

/// Returns what one call requests.
fn reach(request: &ChunkRequest) -> Option<RequestedBlocks> {
    let n = match request.at_once {
        true => request.blocks.len(),
        false => 1,
    };
    let last = request.blocks.last();
    last.map(|last| RequestedBlocks { last: *last, n })
}
