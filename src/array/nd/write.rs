//! Writing: of a chunk only the blocks that change are made anew, and what is covered whole is
//! never read.
#![forbid(unsafe_code)]

use super::super::grid::{Positions, Wanted};
use super::cells::{Lattice, Spans};
use super::tiles::{Dim, Tiles};
use super::units::outside;
use crate::error::Result;
use crate::superchunk::chunks::{Chunks, Coming, Fill, Job, Source, Touch, Work};

impl Tiles {
    /// Writes a box from a buffer that is laid out as [`Tiles::read`] says. On failure some of it
    /// may be written.
    pub fn write(
        &self,
        chunks: &mut dyn Chunks,
        (start, count, step): (&[u64], &[u64], Option<&[u64]>),
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        self.check()?;
        let wanted = Wanted::boxed(
            self.shape(),
            self.item(),
            (start, count, step),
            strides,
            src.len(),
        )?;
        wanted.map_or(Ok(()), |wanted| self.scatter(chunks, &wanted, src))
    }

    /// Writes all combinations of the positions of each dimension; of a position that is there
    /// twice, the last counts.
    pub fn write_orthogonal(
        &self,
        chunks: &mut dyn Chunks,
        positions: &Positions,
        src: &[u8],
    ) -> Result<()> {
        self.check()?;
        let (wanted, _) = Wanted::product(self.shape(), self.item(), positions, src.len(), true)?;
        wanted.map_or(Ok(()), |wanted| self.scatter(chunks, &wanted, src))
    }

    fn scatter(&self, chunks: &mut dyn Chunks, wanted: &Wanted, src: &[u8]) -> Result<()> {
        let lattice = Lattice {
            tiles: self,
            wanted,
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
            Task {
                chunk: Some(chunk),
                fill: None,
                job: Box::new(job),
            }
        };
        make(
            chunks,
            threads,
            &mut lattice.cells(all, Dim::chunk_end).map(task),
        )
    }
}

/// Tells what a chunk is filled with, if it is all the same and takes no work.
pub type Filled<'a> = Box<dyn Fn(&dyn Chunks) -> Result<Option<Fill>> + 'a>;

/// A chunk that is to be made.
pub struct Task<'a> {
    /// In whose place it comes; none: behind the last.
    pub chunk: Option<u64>,
    /// What it is filled with, if that can be told.
    pub fill: Option<Filled<'a>>,
    /// What makes it, if it is not.
    pub job: Job<'a>,
}

/// Chunks that take no work, of which so many are gathered.
const GATHERED: usize = 4096;
/// Others, for each thread: where the threads wait for each other, one of them works on its last.
const JOBS: usize = 4;

/// Makes chunks, some at a time on several threads, and puts each in its place, or behind the last.
pub fn make<'a>(
    chunks: &mut dyn Chunks,
    threads: usize,
    tasks: &mut dyn Iterator<Item = Task<'a>>,
) -> Result<()> {
    loop {
        let (mut coming, mut jobs) = (Vec::new(), 0);
        while jobs < JOBS * threads.max(1) && coming.len() < GATHERED {
            let Some(Task { chunk, fill, job }) = tasks.next() else {
                break;
            };
            let fill = fill.map_or(Ok(None), |fill| fill(&*chunks))?;
            jobs += usize::from(fill.is_none());
            coming.push(Coming {
                chunk,
                work: fill.map_or(Work::Job(job), Work::Fill),
            });
        }
        if coming.is_empty() {
            return Ok(());
        }
        chunks.put_all(threads, coming)?;
    }
}

/// A part of a selection that is in one chunk, on its way there.
pub struct BoxSource<'a> {
    lattice: Lattice<'a>,
    spans: Spans,
    src: &'a [u8],
    /// Is that all that the array has of the chunk?
    whole: bool,
}

impl<'a> BoxSource<'a> {
    /// What of the buffer is in this chunk.
    pub fn new(lattice: Lattice<'a>, spans: Spans, src: &'a [u8]) -> BoxSource<'a> {
        BoxSource {
            lattice,
            spans,
            src,
            whole: lattice.is_chunk(&spans),
        }
    }
}

impl Source for BoxSource<'_> {
    fn touch(&self, block: usize) -> Touch {
        let (spans, all) = self.lattice.of_block(&self.spans, block);
        match self.lattice.is_empty(&spans) {
            // a block of nothing but padding must not be read for a chunk that is all new
            true if self.whole => Touch::Whole,
            true => Touch::Kept,
            false if all => Touch::Whole,
            false => Touch::Part,
        }
    }

    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()> {
        let (spans, all) = self.lattice.of_block(&self.spans, block);
        let items = self.lattice.items(&spans);
        // padding
        if (all || self.whole)
            && items.saturating_mul(self.lattice.tiles.item() as u64) < content.len() as u64
        {
            content.fill(0);
        }
        if items == 0 {
            return Ok(());
        }
        let plan = self.lattice.plan(&spans);
        if plan
            .pieces(plan.range())
            .all(|piece| piece.to_content(self.src, (content, 0)))
        {
            Ok(())
        } else {
            Err(outside())
        }
    }
}
