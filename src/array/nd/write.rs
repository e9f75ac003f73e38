//! Writing. Only the affected blocks of a chunk are encoded again, and blocks that are overwritten
//! completely are not read.
#![forbid(unsafe_code)]

use super::super::grid::{Positions, Selection};
use super::buffer_split::outside;
use super::chunk_grid::{ChunkGrid, Dim};
use super::selection_parts::{Lattice, Spans};
use crate::error::Result;
use crate::superchunk::chunks::{
    BlockChange, ChunkWork, Chunks, EncodeJob, Fill, PendingChunk, Source,
};

impl ChunkGrid {
    /// Writes a box from a buffer with the layout that [`ChunkGrid::read`] describes. On failure, part
    /// of it may be written.
    pub fn write(
        &self,
        chunks: &mut dyn Chunks,
        (start, count, step): (&[u64], &[u64], Option<&[u64]>),
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        self.check()?;
        let selection = Selection::boxed(
            self.shape(),
            self.item(),
            (start, count, step),
            strides,
            src.len(),
        )?;
        selection.map_or(Ok(()), |selection| self.scatter(chunks, &selection, src))
    }

    /// Writes all combinations of the positions of each dimension. If a position occurs twice, the
    /// last occurrence wins.
    pub fn write_orthogonal(
        &self,
        chunks: &mut dyn Chunks,
        positions: &Positions,
        src: &[u8],
    ) -> Result<()> {
        self.check()?;
        let (selection, _) =
            Selection::product(self.shape(), self.item(), positions, src.len(), true)?;
        selection.map_or(Ok(()), |selection| self.scatter(chunks, &selection, src))
    }

    fn scatter(&self, chunks: &mut dyn Chunks, selection: &Selection, src: &[u8]) -> Result<()> {
        let lattice = Lattice {
            tiles: self,
            selection,
        };
        let all = lattice.all();
        let threads = self.threads_for(chunks, lattice.weight(&all));
        let task = |spans: Spans| {
            let chunk = lattice.chunk(&spans);
            let job = move |chunks: &dyn Chunks, threads| {
                chunks
                    .encode(chunk, &BoxSource::new(lattice, spans, src), threads)
                    .map(Some)
            };
            ChunkTask {
                chunk: Some(chunk),
                fill: None,
                job: Box::new(job),
            }
        };
        put_tasks(
            chunks,
            threads,
            &mut lattice.cells(all, Dim::chunk_end).map(task),
        )
    }
}

/// Returns the fill of a chunk if all its items are equal and no encoding is necessary.
pub type ConstantFill<'a> = Box<dyn Fn(&dyn Chunks) -> Result<Option<Fill>> + 'a>;

/// A chunk to be written.
pub struct ChunkTask<'a> {
    /// Number of the chunk that it replaces; `None` appends it.
    pub chunk: Option<u64>,
    /// Determines the fill, if the chunk may have one.
    pub fill: Option<ConstantFill<'a>>,
    /// Encodes the chunk if it has no fill.
    pub job: EncodeJob<'a>,
}

/// Maximum number of filled chunks per batch.
const MAX_FILLS: usize = 4096;
/// Number of chunks to encode per thread and batch. At the end of a batch, threads wait for the one
/// that encodes the last chunk.
const JOBS_PER_THREAD: usize = 4;

/// Encodes chunks in batches on several threads, and replaces or appends each one.
pub fn put_tasks<'a>(
    chunks: &mut dyn Chunks,
    threads: usize,
    tasks: &mut dyn Iterator<Item = ChunkTask<'a>>,
) -> Result<()> {
    loop {
        let (mut pending, mut jobs) = (Vec::new(), 0);
        while jobs < JOBS_PER_THREAD * threads.max(1) && pending.len() < MAX_FILLS {
            let Some(ChunkTask { chunk, fill, job }) = tasks.next() else {
                break;
            };
            let fill = fill.map_or(Ok(None), |fill| fill(&*chunks))?;
            jobs += usize::from(fill.is_none());
            pending.push(PendingChunk {
                chunk,
                work: fill.map_or(ChunkWork::Job(job), ChunkWork::Fill),
            });
        }
        if pending.is_empty() {
            return Ok(());
        }
        chunks.put_all(threads, pending)?;
    }
}

/// The part of a selection that is written to one chunk.
pub struct BoxSource<'a> {
    lattice: Lattice<'a>,
    spans: Spans,
    src: &'a [u8],
    /// Whether the part covers all of the chunk that lies in the array.
    full_chunk: bool,
}

impl<'a> BoxSource<'a> {
    /// Returns the source for one chunk.
    pub fn new(lattice: Lattice<'a>, spans: Spans, src: &'a [u8]) -> BoxSource<'a> {
        BoxSource {
            lattice,
            spans,
            src,
            full_chunk: lattice.is_chunk(&spans),
        }
    }
}

impl Source for BoxSource<'_> {
    fn change(&self, block: usize) -> BlockChange {
        let (spans, all) = self.lattice.of_block(&self.spans, block);
        match self.lattice.is_empty(&spans) {
            // A block that is only padding must not be read if the whole chunk is new.
            true if self.full_chunk => BlockChange::Full,
            true => BlockChange::Unchanged,
            false if all => BlockChange::Full,
            false => BlockChange::Partial,
        }
    }

    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()> {
        let (spans, all) = self.lattice.of_block(&self.spans, block);
        let items = self.lattice.items(&spans);
        // Zero the padding.
        if (all || self.full_chunk)
            && items.saturating_mul(self.lattice.tiles.item() as u64) < content.len() as u64
        {
            content.fill(0);
        }
        if items == 0 {
            return Ok(());
        }
        let plan = self.lattice.plan(&spans);
        if plan
            .segments(plan.range())
            .all(|segment| segment.to_content(self.src, (content, 0)))
        {
            Ok(())
        } else {
            Err(outside())
        }
    }
}
