//! Where items are. Chunks stand in C order in the grid that they make of the array, blocks in that
//! of their chunk, items in their block. Those at the edges are as long as the others: what is
//! beyond the array, or beyond the chunk, is padding. A block may be longer than its chunk, which
//! then has one block along that dimension.
//!
//! A dimension of chunks of length 0 is what some writers give an array of nothing: it can be read,
//! and never grow.
#![forbid(unsafe_code)]

use super::super::selection::MAX_NDIM;
use crate::error::{Result, fail};
use crate::superchunk::chunks::Chunks;
use std::ops::Range;

/// The longest chunk, in bytes.
const LONGEST_CHUNK: usize = i32::MAX as usize;

/// One dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Its length.
    pub len: u64,
    /// That of a chunk.
    pub chunk: u64,
    /// That of a block.
    pub block: u64,
}

impl Dim {
    /// How many chunks there are along it.
    pub fn chunks(&self) -> u64 {
        self.len.div_ceil(self.chunk.max(1))
    }

    /// How many blocks a chunk has along it.
    pub fn blocks(&self) -> u64 {
        self.chunk.div_ceil(self.block.max(1))
    }

    /// Where the chunk ends that has this position.
    pub fn chunk_end(&self, position: u64) -> u64 {
        (position / self.chunk.max(1) + 1).saturating_mul(self.chunk.max(1))
    }

    /// Where the block begins that has this position.
    pub fn block_start(&self, position: u64) -> u64 {
        position - position % self.chunk.max(1) % self.block.max(1)
    }

    /// Where it ends.
    pub fn block_end(&self, position: u64) -> u64 {
        self.block_start(position)
            .saturating_add(self.block)
            .min(self.chunk_end(position))
    }

    /// The positions of a block of a chunk: those that the array has.
    pub fn of_block(&self, chunk: u64, block: u64) -> (u64, u64) {
        let from = chunk * self.chunk + block * self.block;
        (
            from.min(self.len),
            from.saturating_add(self.block)
                .min((chunk + 1).saturating_mul(self.chunk))
                .min(self.len),
        )
    }
}

/// The shape of an array, of its chunks and of their blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiles {
    dims: Vec<Dim>,
    shape: Vec<u64>,
    item: usize,
    block_bytes: usize,
    chunk_bytes: usize,
    memory_limit: u64,
    /// A change has failed, and could not be taken back.
    pub(super) broken: bool,
}

/// Where an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of its chunk.
    pub chunk: u64,
    /// Number of its block there.
    pub block: usize,
    /// The first of its bytes there.
    pub at: usize,
    /// Is it the last item of its block, with padding after it? See [`Tiles::needed`].
    pub before_padding: bool,
}

impl Tiles {
    /// Items of `item` bytes. What a call may allocate is held under the limit.
    pub fn new(
        shape: &[u64],
        chunk: &[u64],
        block: &[u64],
        item: usize,
        memory_limit: u64,
    ) -> Result<Tiles> {
        let ndim = shape.len();
        if ndim > MAX_NDIM {
            return Err(fail!(
                Unsupported,
                "an array of {ndim} dimensions: at most {MAX_NDIM} are supported"
            ));
        }
        if [chunk.len(), block.len()] != [ndim; 2] {
            return Err(fail!(
                Format,
                "{ndim} dimensions, {} of a chunk, {} of a block",
                chunk.len(),
                block.len()
            ));
        }
        let dims: Vec<Dim> = shape
            .iter()
            .zip(chunk)
            .zip(block)
            .map(|((len, chunk), block)| Dim {
                len: *len,
                chunk: *chunk,
                block: *block,
            })
            .collect();
        for (d, dim) in dims.iter().enumerate() {
            let none = dim.len == 0 && dim.chunk == 0;
            if (dim.block == 0 || dim.chunk == 0) && !none {
                return Err(fail!(
                    Format,
                    "dimension {d}: blocks of {} in chunks of {}, of {} in all",
                    dim.block,
                    dim.chunk,
                    dim.len
                ));
            }
        }
        let product = |of: fn(&Dim) -> u64| {
            dims.iter()
                .try_fold(item as u64, |n, d| n.checked_mul(of(d)))
        };
        let bytes = |of: fn(&Dim) -> u64| {
            product(of)
                .and_then(|n| usize::try_from(n).ok())
                .filter(|n| *n <= LONGEST_CHUNK)
        };
        let long = || {
            fail!(
                Format,
                "chunks of {chunk:?} items of {item} bytes, in blocks of {block:?}: at most {LONGEST_CHUNK} bytes are possible"
            )
        };
        let block_bytes = bytes(|d| d.block).ok_or_else(long)?;
        let chunk_bytes = bytes(|d| d.blocks().saturating_mul(d.block)).ok_or_else(long)?;
        fits(&dims, item)?;
        Ok(Tiles {
            dims,
            shape: shape.to_vec(),
            item,
            block_bytes,
            chunk_bytes,
            memory_limit,
            broken: false,
        })
    }

    /// The same with another shape.
    pub fn with_shape(&self, shape: &[u64]) -> Result<Tiles> {
        if shape.len() != self.dims.len() {
            return Err(fail!(
                Argument,
                "a shape of {} dimensions: the array has {}",
                shape.len(),
                self.dims.len()
            ));
        }
        let mut tiles = self.clone();
        tiles.shape = shape.to_vec();
        for (d, (dim, len)) in tiles.dims.iter_mut().zip(shape).enumerate() {
            if dim.chunk == 0 && *len > 0 {
                return Err(fail!(
                    Unsupported,
                    "dimension {d}: its chunks have no length, it cannot grow"
                ));
            }
            dim.len = *len;
        }
        fits(&tiles.dims, self.item)?;
        Ok(tiles)
    }

    /// Its dimensions.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// The length of each.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Bytes of an item.
    pub fn item(&self) -> usize {
        self.item
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Bytes of a chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Bytes of all items.
    pub fn nbytes(&self) -> u64 {
        if self.shape.contains(&0) {
            0
        } else {
            self.shape.iter().product::<u64>() * self.item as u64
        }
    }

    /// How many chunks.
    pub fn chunks(&self) -> u64 {
        if self.shape.contains(&0) {
            0
        } else {
            self.dims.iter().map(Dim::chunks).product()
        }
    }

    /// What a call may allocate.
    pub fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Refuses what comes after a change that has failed and could not be taken back.
    pub fn check(&self) -> Result<()> {
        match self.broken {
            true => Err(fail!(
                State,
                "a change of the shape has failed; what is here is not the array: open it again"
            )),
            false => Ok(()),
        }
    }

    /// Refuses chunks that are not those of the array.
    pub fn check_chunks(&self, chunks: &dyn Chunks) -> Result<()> {
        if chunks.len() != self.chunks() {
            return Err(fail!(
                Format,
                "{}: {} chunks: {} are those of its shape {:?}",
                chunks.name(),
                chunks.len(),
                self.chunks(),
                self.shape
            ));
        }
        let (want, have) = (
            (self.chunk_bytes, self.block_bytes),
            (chunks.chunk_bytes(), chunks.block_bytes()),
        );
        if want != have && !chunks.is_empty() {
            return Err(fail!(
                Format,
                "{}: bytes of a chunk and of a block: {have:?}, {want:?} are those of its shape",
                chunks.name()
            ));
        }
        Ok(())
    }

    /// Where the item with these indices is, if there is one.
    pub fn place(&self, index: impl Iterator<Item = u64>) -> Option<Place> {
        let (mut chunk, mut block, mut at) = (0, 0, 0);
        let (mut last, mut padded) = (true, false);
        for (dim, i) in self.dims.iter().zip(index) {
            if i >= dim.len {
                return None;
            }
            let (c, within) = (i / dim.chunk, i % dim.chunk);
            let in_block = within % dim.block;
            chunk = chunk * dim.chunks() + c;
            block = block * dim.blocks() + within / dim.block;
            at = at * dim.block + in_block;
            if last {
                let ends = in_block + 1 == dim.block;
                last = ends || i + 1 == dim.len || within + 1 == dim.chunk;
                padded |= !ends;
            }
        }
        Some(Place {
            chunk,
            block: block as usize,
            at: at as usize * self.item,
            before_padding: last && padded,
        })
    }

    /// The bytes of a block that have to be decoded for `range` of them. A codec may notice only at
    /// the end of a stream that the stream is corrupt: who reads the last item decodes the
    /// padding after it as well, so that reads of all items notice what verification does.
    pub fn needed(&self, chunk: u64, block: usize, range: Range<usize>) -> Range<usize> {
        let places = self
            .places(chunk, Dim::chunks)
            .into_iter()
            .zip(self.places(block as u64, Dim::blocks));
        let last = self
            .dims
            .iter()
            .zip(places)
            .fold(0, |at, (dim, (chunk, block))| {
                let (low, high) = dim.of_block(chunk, block);
                at * dim.block + (high - low).saturating_sub(1)
            });
        if range.end > last as usize * self.item {
            range.start..self.block_bytes
        } else {
            range
        }
    }

    /// The number of the chunk with these places along the dimensions.
    pub fn chunk_number(&self, places: impl Iterator<Item = u64>) -> u64 {
        self.dims
            .iter()
            .zip(places)
            .fold(0, |n, (dim, place)| n * dim.chunks() + place)
    }

    /// The places along the dimensions of what has this number.
    pub fn places(&self, number: u64, of: fn(&Dim) -> u64) -> [u64; MAX_NDIM] {
        let (mut places, mut rest) = ([0; MAX_NDIM], number);
        for (place, dim) in places.iter_mut().zip(&self.dims).rev() {
            let n = of(dim).max(1);
            (*place, rest) = (rest % n, rest / n);
        }
        places
    }
}

/// Refuses what has a place, padding and all, beyond 2^64 bytes.
fn fits(dims: &[Dim], item: usize) -> Result<()> {
    let all = dims.iter().try_fold(item.max(1) as u64, |n, d| {
        n.checked_mul(d.chunks().checked_mul(d.chunk)?)
    });
    if all.is_some() || dims.iter().any(|d| d.len == 0) {
        return Ok(());
    }
    let shape: Vec<u64> = dims.iter().map(|d| d.len).collect();
    Err(fail!(Argument, "the shape {shape:?}: more than 2^64 bytes"))
}
