//! Datasets whose chunks do not consist of complete rows, as arrays in chunks along every
//! dimension: the BLZ RFC layout with a `chunkshape` such as `(30, 20)`, or with `order: F`.
//!
//! All chunks have the size that `chunkshape` states. Chunks at the end of a dimension are padded,
//! since the RFC gives chunks one size. Chunks are numbered in C order over the grid of the array,
//! so that an array grows along its first dimension without moving chunks. `order` is the order of
//! the items within a chunk.
//!
//! The run of chunks of a linear array stores them, one after the other. Pending changes, commits,
//! verification and repair are therefore those of linear arrays. Chunks at the end that were never
//! written are stored by the commit.
#![forbid(unsafe_code)]

use super::{ArrayFile, Items};
use crate::alloc::{self, Scratch};
use crate::array::{ChunkedStore, nd::ChunkGrid, store::Store};
use crate::blosc::{Decoded, filter::truncate_in_place};
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::chunks::{
    BlockChange, Chunks, Encoded, Fill, PendingChunk, Sink, Source, put_in_batches,
};

/// Size in bytes of a block of new chunks, unless the caller chooses it.
const BLOCK_BYTES: u64 = 64 << 10;

/// The chunks of an array in chunks along every dimension.
pub(super) struct ChunkedLayout {
    /// The shape of a block, which is a run of the items of a chunk.
    pub block: Vec<u64>,
    /// Size in bytes of a chunk, and of a block.
    pub chunk_bytes: u64,
    pub block_bytes: u64,
    /// Number of chunks, stored or not.
    pub chunks: u64,
}

impl ChunkedLayout {
    /// Creates the layout of chunks of this shape, each of which is one block.
    pub fn new(chunk: &[u64], item: u64, chunks: u64) -> ChunkedLayout {
        let chunk_bytes = chunk.iter().fold(item, |n, d| n.saturating_mul(*d));
        ChunkedLayout {
            block: chunk.to_vec(),
            chunk_bytes,
            block_bytes: chunk_bytes,
            chunks,
        }
    }

    /// Divides chunks of this shape into blocks.
    pub fn set_block(&mut self, block: Vec<u64>, item: u64) {
        self.block_bytes = block.iter().fold(item, |n, d| n.saturating_mul(*d));
        self.block = block;
    }
}

/// Returns the dimensions of a chunk from the fastest to the slowest.
fn fastest_first(ndim: usize, order: Order) -> Vec<usize> {
    match order {
        Order::C => (0..ndim).rev().collect(),
        Order::Fortran => (0..ndim).collect(),
    }
}

/// Returns the shape of a block of `bytes` bytes that is a run of the items of a chunk and divides
/// the chunk; `None` if there is no such shape.
pub(super) fn block_of(chunk: &[u64], item: u64, order: Order, bytes: u64) -> Option<Vec<u64>> {
    let (mut block, mut rest) = (vec![1; chunk.len()], bytes.checked_div(item)?);
    if rest == 0 || !bytes.is_multiple_of(item) {
        return None;
    }
    for d in fastest_first(chunk.len(), order) {
        let n = *chunk.get(d)?;
        *block.get_mut(d)? = rest.min(n);
        if rest < n {
            return n.is_multiple_of(rest).then_some(block);
        }
        if !rest.is_multiple_of(n) {
            return None;
        }
        rest /= n;
    }
    (rest == 1).then_some(block)
}

/// Returns the shape of the largest run of the items of a chunk that divides it and has at most
/// `bytes` bytes. It has more, at most four times as many, if it would have far less otherwise.
pub(super) fn default_block(chunk: &[u64], item: u64, order: Order, bytes: u64) -> Vec<u64> {
    let (mut block, mut inner) = (vec![1; chunk.len()], item.max(1));
    for d in fastest_first(chunk.len(), order) {
        let n = chunk.get(d).copied().unwrap_or(1);
        let most = (bytes / inner).clamp(1, n.max(1));
        let divides = |k: &u64| n.is_multiple_of(*k);
        let below = (1..=most).rev().find(divides).unwrap_or(1);
        let above = (most..=n.min(most.saturating_mul(4))).find(divides);
        let length = match above {
            Some(above) if below < most / 4 || most == 1 && inner < bytes / 4 => above,
            _ => below,
        };
        block.get_mut(d).into_iter().for_each(|b| *b = length);
        inner = inner.saturating_mul(length);
        if length < n {
            break;
        }
    }
    block
}

impl ArrayFile {
    fn layout(&self) -> Result<&ChunkedLayout> {
        let layout = self.chunked.as_ref();
        layout.ok_or_else(|| fail!(State, "{}: its chunks consist of complete rows", self.name))
    }

    /// Returns the number of chunks in the files and in the pending changes.
    fn stored_chunks(&self) -> u64 {
        self.runs().first().map_or(0, |run| run.count())
    }

    /// Returns the grid of the array, if it is in chunks along every dimension.
    pub(super) fn chunk_grid(&self) -> Result<Option<ChunkGrid>> {
        let Some((chunked, layout)) = self.meta.chunked.as_ref().zip(self.chunked.as_ref()) else {
            return Ok(None);
        };
        let array = &self.meta.array;
        let grid = ChunkGrid::new(
            &array.shape,
            &chunked.shape,
            &layout.block,
            array.dtype.item.size,
            self.config.memory_limit,
        )
        .map_err(|e| e.within(&self.name))?;
        Ok(Some(grid.with_order(chunked.order)))
    }

    /// Divides chunks into blocks, as existing chunks are divided. `block_bytes` is the block size
    /// of new chunks, if it is given.
    pub(super) fn choose_block(&mut self, block_bytes: Option<u64>) {
        let Some((chunked, layout)) = self.meta.chunked.as_ref().zip(self.chunked.as_mut()) else {
            return;
        };
        let item = self.meta.array.dtype.item.size as u64;
        let bytes = block_bytes.unwrap_or(BLOCK_BYTES);
        let block = match &self.items {
            Items::Single(run) if run.nbytes() > 0 => {
                let bytes = run.block_bytes().unwrap_or(0);
                block_of(&chunked.shape, item, chunked.order, bytes)
            }
            _ => Some(default_block(&chunked.shape, item, chunked.order, bytes)),
        };
        layout.set_block(block.unwrap_or_else(|| chunked.shape.clone()), item);
    }

    /// Appends chunks of zeros until `chunks` chunks are stored.
    pub(super) fn store_until(&mut self, chunks: u64) -> Result<()> {
        let bytes = self.layout()?.chunk_bytes;
        if self.stored_chunks() >= chunks {
            return Ok(());
        }
        let zeros = alloc::zeroed(self.allowed(bytes)?)?;
        while self.stored_chunks() < chunks {
            self.append_items(&zeros)?;
        }
        Ok(())
    }

    fn allowed(&self, bytes: u64) -> Result<usize> {
        alloc::allow(bytes, self.config.memory_limit, "a chunk")
    }

    fn read_items(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        match &self.items {
            Items::Single(chunks) | Items::Objects(chunks) => chunks.read(at, dst),
            Items::Fields(fields) => fields.read(at, dst),
        }
    }

    pub(super) fn append_items(&mut self, src: &[u8]) -> Result<()> {
        match self.items_mut()? {
            Items::Fields(fields) => fields.append(src),
            Items::Single(chunks) | Items::Objects(chunks) => chunks.append(src),
        }
    }

    pub(super) fn write_items(&mut self, at: u64, src: &[u8]) -> Result<()> {
        match self.items_mut()? {
            Items::Fields(fields) => fields.write(at, src),
            Items::Single(chunks) | Items::Objects(chunks) => chunks.write(at, src),
        }
    }

    /// Fails if the items are not a run of bytes.
    pub(super) fn refuse_chunked(&self) -> Result<()> {
        match self.chunked {
            None => Ok(()),
            Some(_) => Err(fail!(
                Unsupported,
                "{}: an array in chunks along every dimension is not a run of bytes",
                self.name
            )),
        }
    }
}

impl ChunkedStore for ArrayFile {
    fn chunks(&self) -> &dyn Chunks {
        self
    }

    fn chunks_mut(&mut self) -> Result<&mut dyn Chunks> {
        self.writer()?;
        Ok(self)
    }

    fn as_store(&self) -> &dyn Store {
        self
    }

    fn as_store_mut(&mut self) -> &mut dyn Store {
        self
    }
}

impl Chunks for ArrayFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.chunked.as_ref().map_or(0, |layout| layout.chunks)
    }

    fn block_bytes(&self) -> usize {
        let layout = self.chunked.as_ref();
        layout.map_or(0, |layout| layout.block_bytes as usize)
    }

    fn threads(&self) -> usize {
        self.config.threads.count()
    }

    fn fill(&self, chunk: u64) -> Result<Option<Fill>> {
        Ok((chunk >= self.stored_chunks()).then_some(Fill::Zeros))
    }

    fn read_blocks(&self, chunk: u64, requested: &[usize], sink: &mut dyn Sink) -> Result<bool> {
        let layout = self.layout()?;
        let (size, all) = (layout.block_bytes as usize, layout.chunk_bytes as usize);
        if chunk >= self.stored_chunks() {
            let delivered = Fill::Zeros.deliver((size, all), requested, sink);
            return delivered.map(|()| false);
        }
        if let Items::Single(run) = &self.items
            && let Some(read) = run.read_blocks(chunk, size, requested, sink)?
        {
            return Ok(read);
        }
        let mut corrupt = false;
        for block in requested {
            let from = block.saturating_mul(size);
            let n = all.saturating_sub(from).min(size);
            let at = chunk.saturating_mul(layout.chunk_bytes) + from as u64;
            if let Some(dst) = sink.destination(*block).filter(|dst| dst.len() == n) {
                corrupt |= self.read_items(at, dst)?;
                continue;
            }
            let needed = sink.requested(*block, n);
            let mut content = Scratch::new(n as u64, self.config.memory_limit, "a chunk")?;
            corrupt |= self.read_items(at + needed.start as u64, content.at_mut(needed)?)?;
            sink.put(*block, &Decoded::Plain(&content))?;
        }
        Ok(corrupt)
    }

    fn read_part(&self, chunk: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool> {
        if chunk >= self.stored_chunks() {
            dst.fill(0);
            return Ok(false);
        }
        let layout = self.layout()?;
        let block_at = (block as u64).saturating_mul(layout.block_bytes);
        let at = chunk.saturating_mul(layout.chunk_bytes) + block_at;
        self.read_items(at.saturating_add(from as u64), dst)
    }

    /// Returns the content of the chunk. The commit encodes it, together with the other chunks of
    /// its file.
    fn encode(&self, chunk: u64, source: &dyn Source, _: usize) -> Result<Encoded> {
        let layout = self.layout()?;
        let (size, all) = (layout.block_bytes as usize, layout.chunk_bytes);
        let mut content = alloc::zeroed(self.allowed(all)?)?;
        let blocks = content.len().div_ceil(size.max(1));
        let is_new = (0..blocks).all(|block| source.change(block) == BlockChange::Full);
        if !is_new
            && chunk < self.stored_chunks()
            && self.read_items(chunk.saturating_mul(all), &mut content)?
        {
            return Err(fail!(
                Format,
                "{}: chunk {chunk} is corrupt; only all of its content can be overwritten",
                self.name
            )
            .at(chunk));
        }
        for (block, part) in content.chunks_mut(size.max(1)).enumerate() {
            match source.change(block) {
                BlockChange::Unchanged => {}
                BlockChange::Partial | BlockChange::Full => {
                    match source.borrowed(block, part.len()) {
                        Some(bytes) => part.copy_from_slice(bytes),
                        None => source.fill(block, part)?,
                    }
                    if let Some(bits) = self.truncation {
                        truncate_in_place(bits, self.meta.array.dtype.item.size, part)?;
                    }
                }
            }
        }
        Ok(Encoded::Stored(content))
    }

    fn put(&mut self, chunk: u64, new: Encoded) -> Result<()> {
        let (bytes, stored) = (self.layout()?.chunk_bytes, self.stored_chunks());
        if chunk < stored || !matches!(new, Encoded::Fill(Fill::Zeros)) {
            let content = match new {
                Encoded::Stored(content) => content,
                Encoded::Fill(fill) => {
                    let mut content = alloc::zeroed(self.allowed(bytes)?)?;
                    fill.put(0, &mut content);
                    content
                }
            };
            if chunk < stored {
                self.write_items(chunk.saturating_mul(bytes), &content)?;
            } else {
                self.store_until(chunk)?;
                self.append_items(&content)?;
            }
        }
        if let Some(layout) = &mut self.chunked {
            layout.chunks = layout.chunks.max(chunk.saturating_add(1));
        }
        Ok(())
    }

    fn put_all(&mut self, threads: usize, coming: Vec<PendingChunk>) -> Result<()> {
        put_in_batches(self, threads, coming)
    }

    fn rearrange(&mut self, len: u64, from: &dyn Fn(u64) -> Option<u64>) -> Result<()> {
        let stored = self.stored_chunks();
        let old = |chunk| from(chunk).filter(|old| *old < stored);
        let n = (0..len).rev().find(|chunk| old(*chunk).is_some());
        let n = n.map_or(0, |last| last + 1);
        let first = (0..n)
            .find(|chunk| old(*chunk) != Some(*chunk))
            .unwrap_or(n);
        let done = match self.items_mut()? {
            Items::Fields(fields) => fields.rearrange(first, n, &old),
            Items::Single(run) | Items::Objects(run) => {
                run.rearrange(first, n, &old).map_err(|e| (e, false))
            }
        };
        if matches!(done, Err((_, true))) {
            // some fields have the new order, others do not
            self.mark_broken();
        }
        done.map_err(|(e, _)| e)?;
        if let Some(layout) = &mut self.chunked {
            layout.chunks = len;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_runs_that_divide_a_chunk() {
        let of = |chunk: &[u64], order, bytes| block_of(chunk, 4, order, bytes);
        assert_eq!(of(&[30, 20], Order::C, 2400), Some(vec![30, 20]));
        assert_eq!(of(&[30, 20], Order::C, 240), Some(vec![3, 20]));
        assert_eq!(of(&[30, 20], Order::C, 40), Some(vec![1, 10]));
        assert_eq!(of(&[30, 20], Order::Fortran, 240), Some(vec![30, 2]));
        assert_eq!(of(&[30, 20], Order::C, 320), None);
        assert_eq!(of(&[30, 20], Order::C, 2800), None);
        assert_eq!(of(&[30, 20], Order::C, 42), None);
        for chunk in [
            &[30, 20][..],
            &[997, 1000],
            &[64, 64, 64],
            &[1_000_003],
            &[1, 1],
        ] {
            for order in [Order::C, Order::Fortran] {
                let block = default_block(chunk, 8, order, 64 << 10);
                let bytes = block.iter().product::<u64>() * 8;
                assert!(bytes <= 4 * (64 << 10), "{chunk:?} {block:?}");
                assert_eq!(block_of(chunk, 8, order, bytes), Some(block));
            }
        }
        assert_eq!(
            default_block(&[64, 64, 64], 8, Order::C, 64 << 10),
            [2, 64, 64]
        );
        assert_eq!(
            default_block(&[997, 1000], 8, Order::C, 64 << 10),
            [1, 1000]
        );
    }
}
