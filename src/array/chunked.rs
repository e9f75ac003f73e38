//! Arrays in chunks along every dimension, in a store that is not a frame: datasets whose
//! `chunkshape` does not consist of complete rows.
//!
//! The engine is that of frames (`nd`). The store knows where the chunks are. Items that are added
//! get the fill value of the store, unlike those of a frame.
#![forbid(unsafe_code)]

use super::grid::Positions;
use super::msgpack_json::Attr;
use super::nd::ChunkGrid;
use super::store::Store;
use crate::dtype::Dtype;
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, fail};
use crate::superchunk::chunks::Chunks;

/// A store of chunks of equal size.
pub trait ChunkedStore: Store {
    /// Returns the chunks.
    fn chunks(&self) -> &dyn Chunks;
    /// Returns the chunks for changes. Fails if the store is read-only.
    fn chunks_mut(&mut self) -> Result<&mut dyn Chunks>;
    /// Returns the store for use as a store only.
    fn as_store(&self) -> &dyn Store;
    /// Returns the store for changes, for use as a store only.
    fn as_store_mut(&mut self) -> &mut dyn Store;
}

/// An open array. The handle sees its own changes immediately; other handles see them after a
/// commit.
pub struct ChunkedArray {
    store: Box<dyn ChunkedStore>,
    grid: ChunkGrid,
    dtype: Dtype,
    chunkshape: Vec<u64>,
    blockshape: Vec<u64>,
    /// The shape as of the last call of [`Store::set_shape`].
    stored_shape: Vec<u64>,
}

impl ChunkedArray {
    /// Creates the array over a store that has the chunks of this grid.
    pub fn over(store: Box<dyn ChunkedStore>, grid: ChunkGrid, dtype: Dtype) -> ChunkedArray {
        ChunkedArray {
            store,
            dtype,
            chunkshape: grid.dims().iter().map(|dim| dim.chunk).collect(),
            blockshape: grid.dims().iter().map(|dim| dim.block).collect(),
            stored_shape: grid.shape().to_vec(),
            grid,
        }
    }

    /// Returns the attributes as JSON by name.
    pub fn attrs(&self) -> Result<Vec<Attr>> {
        let store = self.store();
        let names = store.attr_names().into_iter();
        names
            .map(|n| Ok((n.to_owned(), store.attr(n)?.unwrap_or_default().to_vec())))
            .collect()
    }

    /// Returns whether the attributes are corrupt and the options request to skip corrupt data.
    pub fn has_lost_attrs(&self) -> bool {
        self.store().attr_names().is_empty() && self.store().attr("").is_err()
    }

    /// Returns the order of the items in a chunk.
    pub fn order(&self) -> Order {
        self.grid.order()
    }

    /// Returns the shape. The methods below are those of [`Array`](super::Array).
    pub fn shape(&self) -> &[u64] {
        self.grid.shape()
    }

    pub fn chunkshape(&self) -> &[u64] {
        &self.chunkshape
    }

    pub fn blockshape(&self) -> &[u64] {
        &self.blockshape
    }

    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    pub fn nbytes(&self) -> u64 {
        self.grid.nbytes()
    }

    pub fn memory_limit(&self) -> u64 {
        self.grid.memory_limit()
    }

    pub fn store(&self) -> &dyn Store {
        self.store.as_store()
    }

    pub fn store_mut(&mut self) -> &mut dyn Store {
        self.store.as_store_mut()
    }

    // ---- items

    pub fn read(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        let selection = (start, count, step);
        self.grid.read(self.store.chunks(), selection, dst, strides)
    }

    pub fn write(
        &mut self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        let chunks = self.store.chunks_mut()?;
        self.grid.write(chunks, (start, count, step), src, strides)
    }

    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        self.grid
            .read_points(self.store.chunks(), coordinates, n, dst)
    }

    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        self.grid
            .read_orthogonal(self.store.chunks(), positions, dst)
    }

    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        let chunks = self.store.chunks_mut()?;
        self.grid.write_orthogonal(chunks, positions, src)
    }

    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        let old = self.shape().to_vec();
        let fill = self.fill_item()?;
        self.grid.resize(self.store.chunks_mut()?, shape)?;
        match fill {
            Some(item) => self.fill_added(&old, &item),
            None => Ok(()),
        }
    }

    /// Returns the fill value, if it is not zero.
    fn fill_item(&self) -> Result<Option<Vec<u8>>> {
        let Some(fill) = self.store().fill()? else {
            return Ok(None);
        };
        if fill.len() != self.grid.item() {
            return Err(fail!(
                Unsupported,
                "{}: the fill value of an array in chunks along every dimension must be one item (expected {} bytes, found {})",
                self.store().name(),
                self.grid.item(),
                fill.len()
            ));
        }
        Ok(Some(fill.to_vec()).filter(|fill| fill.iter().any(|b| *b != 0)))
    }

    /// Writes the fill value to the items that are not in the shape `old`.
    fn fill_added(&mut self, old: &[u64], item: &[u8]) -> Result<()> {
        let (mut start, mut count) = (vec![0; old.len()], self.shape().to_vec());
        let strides = vec![0; old.len()];
        for (axis, had) in old.iter().enumerate() {
            let (Some(from), Some(n)) = (start.get_mut(axis), count.get_mut(axis)) else {
                continue;
            };
            let all = *n;
            if all > *had {
                (*from, *n) = (*had, all - *had);
                let chunks = self.store.chunks_mut()?;
                let added = (&start[..], &count[..], None);
                self.grid.write(chunks, added, item, Some(&strides))?;
            }
            // what is added along the next dimensions is not written again
            if let (Some(from), Some(n)) = (start.get_mut(axis), count.get_mut(axis)) {
                (*from, *n) = (0, all.min(*had));
            }
        }
        Ok(())
    }

    pub fn insert(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        self.grid
            .insert(self.store.chunks_mut()?, axis, at, count, src)
    }

    pub fn remove(&mut self, axis: usize, at: u64, count: u64) -> Result<()> {
        self.grid.remove(self.store.chunks_mut()?, axis, at, count)
    }

    /// Passes the shape to the store, so that one commit of the store makes it and the chunks
    /// visible.
    pub fn flush(&mut self) -> Result<()> {
        self.grid.check()?;
        if self.stored_shape != self.grid.shape() {
            self.store.as_store_mut().set_shape(self.grid.shape())?;
            self.stored_shape = self.grid.shape().to_vec();
        }
        Ok(())
    }
}
