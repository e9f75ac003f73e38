//! Grid of chunks and blocks: maps item indices to chunks, blocks and offsets.
//!
//! Chunks are in C order in the grid of the array. Blocks in their chunk and items in their block
//! are in C order, or in Fortran order if [`ChunkGrid::with_order`] says so. Chunks and blocks at the edges have the full length; what lies outside the
//! array or the chunk is padding. A block may be longer than its chunk, which then has one block
//! along that dimension.
//!
//! Some writers give empty arrays a dimension with chunks of length 0. Such an array can be read
//! but cannot grow.
#![forbid(unsafe_code)]

use super::super::selection::MAX_NDIM;
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, fail};
use std::ops::Range;

/// Maximum size of a chunk in bytes.
const MAX_CHUNK_BYTES: usize = i32::MAX as usize;

/// One dimension of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Length of the array.
    pub len: u64,
    /// Length of a chunk.
    pub chunk: u64,
    /// Length of a block.
    pub block: u64,
}

impl Dim {
    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        self.len.div_ceil(self.chunk.max(1))
    }

    /// Returns the number of blocks per chunk.
    pub fn blocks(&self) -> u64 {
        self.chunk.div_ceil(self.block.max(1))
    }

    /// Returns the end of the chunk that contains a position.
    pub fn chunk_end(&self, position: u64) -> u64 {
        (position / self.chunk.max(1) + 1).saturating_mul(self.chunk.max(1))
    }

    /// Returns the start of the block that contains a position.
    pub fn block_start(&self, position: u64) -> u64 {
        position - position % self.chunk.max(1) % self.block.max(1)
    }

    /// Returns the end of the block that contains a position.
    pub fn block_end(&self, position: u64) -> u64 {
        self.block_start(position)
            .saturating_add(self.block)
            .min(self.chunk_end(position))
    }

    /// Returns the positions of a block of a chunk, limited to the array.
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

/// The shapes of an array, its chunks and their blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    dims: Vec<Dim>,
    shape: Vec<u64>,
    item: usize,
    block_bytes: usize,
    chunk_bytes: usize,
    memory_limit: u64,
    /// Order of the blocks in a chunk, and of the items in a block.
    order: Order,
    /// A change failed and could not be rolled back.
    pub(super) broken: bool,
}

/// The location of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemLocation {
    /// Chunk number.
    pub chunk: u64,
    /// Block number in the chunk.
    pub block: usize,
    /// Byte offset in the block.
    pub at: usize,
    /// Whether it is the last item of its block and padding follows. See [`ChunkGrid::needed`].
    pub before_padding: bool,
}

impl ChunkGrid {
    /// Creates the grid for items of `item` bytes. `memory_limit` limits the allocations of a call.
    pub fn new(
        shape: &[u64],
        chunk: &[u64],
        block: &[u64],
        item: usize,
        memory_limit: u64,
    ) -> Result<ChunkGrid> {
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
                "the array has {ndim} dimensions, its chunks {}, its blocks {}",
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
                    "dimension {d}: invalid lengths: blocks of {}, chunks of {}, array of {}",
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
                .filter(|n| *n <= MAX_CHUNK_BYTES)
        };
        let too_long = || {
            fail!(
                Format,
                "chunks of {chunk:?} items of {item} bytes, in blocks of {block:?}, exceed the limit of {MAX_CHUNK_BYTES} bytes"
            )
        };
        let block_bytes = bytes(|d| d.block).ok_or_else(too_long)?;
        let chunk_bytes = bytes(|d| d.blocks().saturating_mul(d.block)).ok_or_else(too_long)?;
        check_size(&dims, item)?;
        Ok(ChunkGrid {
            dims,
            shape: shape.to_vec(),
            item,
            block_bytes,
            chunk_bytes,
            memory_limit,
            order: Order::C,
            broken: false,
        })
    }

    /// Returns the grid with blocks and items in this order within a chunk.
    pub fn with_order(self, order: Order) -> ChunkGrid {
        ChunkGrid { order, ..self }
    }

    /// Returns the order of the blocks in a chunk, and of the items in a block.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the number of a position within a chunk or block. The parts are a length and a
    /// position per dimension.
    pub fn number_in_order(&self, parts: impl Iterator<Item = (u64, u64)>) -> u64 {
        match self.order {
            Order::C => parts.fold(0, |number, (len, at)| number * len + at),
            Order::Fortran => {
                let mut stride = 1;
                parts.fold(0, |number, (len, at)| {
                    let number = number + at * stride;
                    stride *= len;
                    number
                })
            }
        }
    }

    /// Returns the grid with another shape of the array.
    pub fn with_shape(&self, shape: &[u64]) -> Result<ChunkGrid> {
        if shape.len() != self.dims.len() {
            return Err(fail!(
                Argument,
                "shape: wrong number of dimensions {}; the array has {}",
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
                    "dimension {d}: its chunks have length 0, so it cannot grow"
                ));
            }
            dim.len = *len;
        }
        check_size(&tiles.dims, self.item)?;
        Ok(tiles)
    }

    /// Returns the dimensions.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// Returns the shape of the array.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the size of an item in bytes.
    pub fn item(&self) -> usize {
        self.item
    }

    /// Returns the size of a block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Returns the size of a chunk in bytes.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Returns the size of all items in bytes.
    pub fn nbytes(&self) -> u64 {
        if self.shape.contains(&0) {
            0
        } else {
            self.shape.iter().product::<u64>() * self.item as u64
        }
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        if self.shape.contains(&0) {
            0
        } else {
            self.dims.iter().map(Dim::chunks).product()
        }
    }

    /// Returns the memory limit in bytes.
    pub fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Returns an error if a previous change failed and could not be rolled back.
    pub fn check(&self) -> Result<()> {
        match self.broken {
            true => Err(fail!(
                State,
                "a change of the shape failed and could not be rolled back; open the array again"
            )),
            false => Ok(()),
        }
    }

    /// Returns the location of the item with these indices; `None` if an index is out of range.
    pub fn locate(&self, index: impl Iterator<Item = u64>) -> Option<ItemLocation> {
        let (mut chunk, mut block, mut at) = (0, 0, 0);
        let (mut blocks, mut items) = (1, 1);
        let (mut last, mut padded) = (true, false);
        for (dim, i) in self.dims.iter().zip(index) {
            if i >= dim.len {
                return None;
            }
            let (c, within) = (i / dim.chunk, i % dim.chunk);
            let in_block = within % dim.block;
            chunk = chunk * dim.chunks() + c;
            if self.order == Order::C {
                block = block * dim.blocks() + within / dim.block;
                at = at * dim.block + in_block;
            } else {
                block += within / dim.block * blocks;
                at += in_block * items;
                (blocks, items) = (blocks * dim.blocks(), items * dim.block);
            }
            if last {
                let ends = in_block + 1 == dim.block;
                last = ends || i + 1 == dim.len || within + 1 == dim.chunk;
                padded |= !ends;
            }
        }
        Some(ItemLocation {
            chunk,
            block: block as usize,
            at: at as usize * self.item,
            before_padding: last && padded,
        })
    }

    /// Returns the range of a block that must be decoded to read `range` of it. A codec may detect
    /// corruption only at the end of a stream. A read of the last item therefore also decodes the
    /// padding after it, so that reads of all items detect what verification detects.
    pub fn needed(&self, chunk: u64, block: usize, range: Range<usize>) -> Range<usize> {
        let coordinates = self
            .coordinates(chunk, Dim::chunks)
            .into_iter()
            .zip(self.block_coordinates(block));
        let ends = self.dims.iter().zip(coordinates);
        let last = self.number_in_order(ends.map(|(dim, (chunk, block))| {
            let (low, high) = dim.of_block(chunk, block);
            (dim.block, (high - low).saturating_sub(1))
        }));
        if range.end > last as usize * self.item {
            range.start..self.block_bytes
        } else {
            range
        }
    }

    /// Returns the number of the chunk with these coordinates.
    pub fn chunk_number(&self, coordinates: impl Iterator<Item = u64>) -> u64 {
        self.dims
            .iter()
            .zip(coordinates)
            .fold(0, |n, (dim, coordinate)| n * dim.chunks() + coordinate)
    }

    /// Returns the coordinates of the block with this number in its chunk.
    pub fn block_coordinates(&self, block: usize) -> [u64; MAX_NDIM] {
        if self.order == Order::C {
            return self.coordinates(block as u64, Dim::blocks);
        }
        let (mut coordinates, mut rest) = ([0; MAX_NDIM], block as u64);
        for (coordinate, dim) in coordinates.iter_mut().zip(&self.dims) {
            let n = dim.blocks().max(1);
            (*coordinate, rest) = (rest % n, rest / n);
        }
        coordinates
    }

    /// Returns the coordinates of the chunk with this number, or of a block in C order.
    pub fn coordinates(&self, number: u64, of: fn(&Dim) -> u64) -> [u64; MAX_NDIM] {
        let (mut coordinates, mut rest) = ([0; MAX_NDIM], number);
        for (coordinate, dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            let n = of(dim).max(1);
            (*coordinate, rest) = (rest % n, rest / n);
        }
        coordinates
    }
}

/// Returns an error if an item, including padding, would have an offset of 2^64 bytes or more.
fn check_size(dims: &[Dim], item: usize) -> Result<()> {
    let all = dims.iter().try_fold(item.max(1) as u64, |n, d| {
        n.checked_mul(d.chunks().checked_mul(d.chunk)?)
    });
    if all.is_some() || dims.iter().any(|d| d.len == 0) {
        return Ok(());
    }
    let shape: Vec<u64> = dims.iter().map(|d| d.len).collect();
    Err(fail!(Argument, "the shape {shape:?} exceeds 2^64 bytes"))
}
