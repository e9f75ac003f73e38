//! Arrays over a linear run of items: Bloscpack files and every other [`Store`].
//!
//! The items are stored in C or Fortran order. Chunks cut the run at arbitrary bytes, so a box of
//! the array is a set of byte runs. An array can grow and shrink at any position. At the end of the
//! slowest dimension (the first in C order, the last in Fortran order) no item moves; elsewhere all
//! following items move. One commit makes shape and content visible together.
#![forbid(unsafe_code)]

use super::filled_content::FilledContent;
use super::grid::{Duplicates, Grid, Positions};
use super::msgpack_json::of_frame;
use super::selection::{MAX_NDIM, Plan};
use super::store::{Reader, Store, Texts};
use crate::alloc;
use crate::dtype::Dtype;
use crate::dtype::numpy_meta::{ArrayMeta, Order, attrs_in, nbytes, with_attrs, with_shape};
use crate::error::{Error, Result, fail};
use crate::io::Folder;
use crate::options::{Opt, Options};
use crate::parallel;
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::{Bloscpack, Destination, Mode, Splice, reserve_offsets};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

/// Default size of a chunk in bytes, rounded down to whole rows or items.
const DEFAULT_CHUNK: u64 = 1 << 20;

/// An open array. The handle sees its own changes immediately; other handles see them after a
/// commit.
pub struct LinearArray {
    content: FilledContent,
    meta: ArrayMeta,
    chunkshape: Vec<u64>,
    blockshape: OnceLock<Vec<u64>>,
    /// The metadata of the superchunk still have the previous shape.
    shape_changed: bool,
}

impl LinearArray {
    /// Opens the array in a Bloscpack file whose metadata describe an array.
    pub fn of_file(store: Bloscpack, options: &Options) -> Result<LinearArray> {
        let meta = store
            .meta()?
            .map(|json| ArrayMeta::of_content(json, store.nbytes()))
            .transpose()
            .map_err(|e| e.within(store.name()))?
            .flatten();
        let none = || match store.meta_damage() {
            Some(e) => fail!(Type, "{e}: the metadata are required to open an array"),
            None => fail!(
                Type,
                "{}: the metadata do not describe an array (\"container\":\"numpy\", or \"dtype\", \"shape\" and \"others\"); open it as a superchunk",
                store.name()
            ),
        };
        let meta = meta.ok_or_else(none)?;
        let (ndim, content_len) = (meta.shape.len(), store.nbytes());
        check_ndim(ndim, store.name())?;
        let len = match meta.check(content_len) {
            Ok(()) => content_len,
            // Missing chunks read as the fill value.
            Err(e) => meta
                .nbytes()
                .filter(|n| store.is_truncation_of(*n))
                .ok_or_else(|| e.within(store.name()))?,
        };
        Ok(LinearArray::with(Box::new(store), meta, None, len, options))
    }

    /// Creates the array over a store that holds exactly its items.
    pub fn over(
        store: Box<dyn Store>,
        meta: ArrayMeta,
        chunkshape: Vec<u64>,
        options: &Options,
    ) -> Result<LinearArray> {
        check_ndim(meta.shape.len(), store.name())?;
        let len = store.nbytes();
        if !store.has_objects() && meta.nbytes() != Some(len) {
            return Err(fail!(
                State,
                "{}: the content of {len} bytes does not match the size of the items",
                store.name()
            ));
        }
        Ok(LinearArray::with(
            store,
            meta,
            Some(chunkshape),
            len,
            options,
        ))
    }

    fn with(
        store: Box<dyn Store>,
        meta: ArrayMeta,
        chunkshape: Option<Vec<u64>>,
        len: u64,
        options: &Options,
    ) -> LinearArray {
        let chunkshape = chunkshape.unwrap_or_else(|| chunk_rows(&meta, store.chunk_bytes()));
        let content = FilledContent::new(store, len, options.memory_limit());
        LinearArray {
            content,
            meta,
            chunkshape,
            blockshape: OnceLock::new(),
            shape_changed: false,
        }
    }

    /// Creates an array of zeros in a Bloscpack file, in C order. The file exists after the first
    /// commit. `chunks` is the shape of a chunk. It consists of whole rows: all dimensions but the
    /// first must be equal to those of `shape`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        dtype: &str,
        shape: &[u64],
        chunks: Option<&[u64]>,
        options: &Options,
    ) -> Result<LinearArray> {
        let dtype = Dtype::parse_argument(dtype)?;
        if dtype.item.has_objects() {
            return Err(fail!(
                Unsupported,
                "dtype {}: Python objects cannot be stored",
                dtype.spelling
            ));
        }
        if shape.len() > MAX_NDIM {
            return Err(fail!(
                Argument,
                "an array of {} dimensions: at most {MAX_NDIM} are supported",
                shape.len()
            ));
        }
        let meta = ArrayMeta {
            dtype,
            shape: shape.to_vec(),
            order: Order::C,
        };
        let len = meta.nbytes().ok_or_else(|| too_large(shape))?;
        let options = with_chunk_size(&meta, len, chunks, options)?;
        let typesize = if meta.dtype.item.size <= 255 {
            meta.dtype.item.size.max(1)
        } else {
            1
        };
        let mut store = Bloscpack::create_in(folder, name, mode, typesize, &options)?;
        store.meta_set(Some(meta.to_json().as_bytes()))?;
        Ok(LinearArray::with(
            Box::new(store),
            meta,
            None,
            len,
            &options,
        ))
    }

    /// Copies the array, with all uncommitted changes and its metadata. `chunks` is the shape of a
    /// chunk, as for creation, with rows along the slowest dimension; `None` keeps the current one.
    /// Everything else is as for [`Bloscpack::copy`].
    pub fn copy(&self, to: Destination, chunks: Option<&[u64]>) -> Result<bool> {
        let json = match self.content.store.meta()? {
            Some(json) => with_shape(json, &self.meta.shape)?,
            None => with_attrs(self.meta.to_json(), &self.attrs()?),
        };
        let read = |at, dst: &mut [u8]| self.content.read(at, dst);
        self.copy_with(to, chunks, &self.meta, &json, &read)
    }

    /// Copies a view of the array, whose items `read` returns in C order.
    pub fn copy_view(
        &self,
        to: Destination,
        chunks: Option<&[u64]>,
        shape: &[u64],
        read: Reader,
    ) -> Result<bool> {
        let meta = ArrayMeta {
            shape: shape.to_vec(),
            order: Order::C,
            ..self.meta.clone()
        };
        let json = with_attrs(meta.to_json(), &self.attrs()?);
        self.copy_with(to, chunks, &meta, &json, read)
    }

    fn copy_with(
        &self,
        mut to: Destination,
        chunks: Option<&[u64]>,
        meta: &ArrayMeta,
        json: &str,
        read: Reader,
    ) -> Result<bool> {
        let too_large = || too_large(&meta.shape);
        let len = nbytes(&meta.shape, self.itemsize()).ok_or_else(too_large)?;
        if chunks.is_some() || to.options.given(Opt::ChunkBytes).is_some() {
            to.options = with_chunk_size(meta, len, chunks, &to.options)?;
        }
        let store = &self.content.store;
        let damaged = store.copy_as(to, Some(json.as_bytes()), len, read)?;
        Ok(damaged | self.has_lost_attrs())
    }

    /// Returns the attributes as JSON by name. For a Bloscpack file these are all members of its
    /// metadata that do not describe the array.
    pub fn attrs(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let store = self.store();
        if let Some(json) = store.meta()? {
            return attrs_in(json);
        }
        if !store.has_json() {
            return of_frame(store);
        }
        store
            .attr_names()
            .into_iter()
            .map(|n| Ok((n.to_owned(), store.attr(n)?.unwrap_or_default().to_vec())))
            .collect()
    }

    /// Returns whether the attributes are corrupt and the options request to skip corrupt data.
    pub fn has_lost_attrs(&self) -> bool {
        self.store().has_json()
            && self.store().attr_names().is_empty()
            && self.store().attr("").is_err()
    }

    // ---- properties

    /// Returns the length along each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.meta.shape
    }

    /// Returns the number of whole rows in a chunk, at least one, as a shape. A row is everything
    /// at one index of the slowest dimension. The value is only a hint if chunks do not consist of
    /// whole rows or differ in length.
    pub fn chunkshape(&self) -> &[u64] {
        &self.chunkshape
    }

    /// Returns the shape of a block, the smallest part of a chunk that can be decoded alone: the
    /// blocks of the first chunk, or whole chunks before the first chunk is written.
    pub fn blockshape(&self) -> &[u64] {
        let made = parallel::get_or_init(&self.blockshape, || {
            let block = self.content.store.block_bytes();
            block.map_or_else(|| self.chunkshape.clone(), |n| chunk_rows(&self.meta, n))
        });
        made.as_slice()
    }

    /// Returns the dtype of the items.
    pub fn dtype(&self) -> &Dtype {
        &self.meta.dtype
    }

    /// Returns the order of the items.
    pub fn order(&self) -> Order {
        self.meta.order
    }

    /// Returns the size of an item in bytes.
    pub fn itemsize(&self) -> usize {
        self.meta.dtype.item.size
    }

    /// Returns the size of all items in bytes.
    pub fn nbytes(&self) -> u64 {
        self.content.nbytes()
    }

    /// Returns the memory limit in bytes for allocations whose size comes from the file.
    pub fn memory_limit(&self) -> u64 {
        self.content.memory_limit()
    }

    /// Returns the store of the array.
    pub fn store(&self) -> &dyn Store {
        &*self.content.store
    }

    /// Returns the store for changes. Only the array itself may change the shape and the content.
    pub fn store_mut(&mut self) -> &mut dyn Store {
        &mut *self.content.store
    }

    /// Sets the metadata. They must describe the same array; other members may be arbitrary.
    pub fn meta_set(&mut self, json: &[u8]) -> Result<()> {
        let same = |m: &ArrayMeta| {
            m.shape == self.meta.shape
                && m.order == self.meta.order
                && m.dtype.item == self.meta.dtype.item
        };
        let nbytes = self.meta.nbytes().unwrap_or(u64::MAX);
        let meta = ArrayMeta::of_content(json, nbytes)?;
        if !meta.as_ref().is_some_and(same) {
            return Err(fail!(
                Argument,
                "the metadata must describe the same array: {}, and may have more members",
                self.meta.to_json()
            ));
        }
        self.content.store.attr_set("", json)?;
        self.shape_changed = false;
        Ok(())
    }

    /// Sets the fill value for items that are added from now on. Items that were added before keep
    /// the previous value.
    pub fn fill_set(&mut self, value: &[u8]) -> Result<()> {
        self.content.flush()?;
        self.content.store.fill_set(value)
    }

    // ---- reading and writing

    /// Reads the items `start[d]`, `start[d] + step[d]`, ... (`count[d]` of them) along each
    /// dimension `d`. See [`Array::read`](super::Array::read).
    pub fn read(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        let plan = self.grid()?.boxed(start, count, step, strides, dst.len())?;
        plan.map_or(Ok(false), |plan| self.content.gather(&plan, dst))
    }

    /// Writes a box from a buffer with the layout that [`LinearArray::read`] describes. On failure,
    /// part of it may be written.
    pub fn write(
        &mut self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        let plan = self.grid()?.boxed(start, count, step, strides, src.len())?;
        plan.map_or(Ok(()), |plan| self.content.scatter(&plan, src))
    }

    /// Reads single items. `coordinates` has one index per dimension, item after item.
    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        self.gather(self.grid()?.points(coordinates, n, dst.len())?, dst)
    }

    /// Reads all combinations of the positions of each dimension, packed in C order.
    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        self.gather(self.grid()?.product(positions, dst.len(), false)?, dst)
    }

    fn gather(
        &self,
        (plan, duplicates): (Option<Plan>, Vec<Duplicates>),
        dst: &mut [u8],
    ) -> Result<bool> {
        let damaged = plan.map_or(Ok(false), |plan| self.content.gather(&plan, dst))?;
        Duplicates::copy_all(&duplicates, dst);
        Ok(damaged)
    }

    fn grid(&self) -> Result<Grid<'_>> {
        if self.content.store.has_objects() {
            return Err(fail!(
                Type,
                "{}: the items have no fixed length; read them with holdall_array_read_values()",
                self.content.store.name()
            ));
        }
        Ok(Grid::of(&self.meta))
    }

    /// Writes all combinations of the positions of each dimension. If a position occurs twice, the
    /// last occurrence wins.
    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        let (plan, _) = self.grid()?.product(positions, src.len(), true)?;
        plan.map_or(Ok(()), |plan| self.content.scatter(&plan, src))
    }

    // ---- the shape

    /// Returns the dimension along which the array can grow; `None` if it has no dimensions.
    pub fn slowest(&self) -> Option<usize> {
        slowest(&self.meta)
    }

    /// Changes the shape. Items outside the new shape are removed; new items are zeros or the fill
    /// value. An impossible shape is refused before any change. If the store fails, the array may
    /// have an intermediate shape.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        let old = self.meta.shape.clone();
        if shape.len() != old.len() {
            return Err(fail!(
                Argument,
                "shape: wrong number of dimensions {}; the array has {}",
                shape.len(),
                old.len()
            ));
        }
        if let ([n], true) = (shape, self.content.store.has_objects()) {
            return self.resize_texts(*n);
        }
        nbytes(shape, self.itemsize()).ok_or_else(|| too_large(shape))?;
        // Shrink first and grow last, so that as few items as possible move.
        let slowest = self.slowest();
        let other_axes = || {
            shape
                .iter()
                .zip(&old)
                .enumerate()
                .filter(|(axis, _)| Some(*axis) != slowest)
        };
        self.check_resize(shape, other_axes().map(|(axis, _)| axis))?;
        for (axis, (new, old)) in other_axes().filter(|(_, (new, old))| new < old) {
            self.remove(axis, *new, old - new)?;
        }
        if let Some((new, _)) = slowest
            .and_then(|axis| shape.get(axis).zip(self.meta.shape.get(axis)))
            .filter(|(new, n)| new < n)
        {
            self.set_slowest(*new)?;
        }
        for (axis, (new, old)) in other_axes().filter(|(_, (new, old))| new > old) {
            self.insert_or_fill(axis, *old, new - old, None)?;
        }
        slowest
            .and_then(|axis| shape.get(axis))
            .map_or(Ok(()), |new| self.set_slowest(*new))
    }

    /// Returns an error if the array cannot get this shape, as far as this is known before any
    /// change. `other_axes` are all dimensions but the slowest.
    fn check_resize(&self, shape: &[u64], other_axes: impl Iterator<Item = usize>) -> Result<()> {
        let mut now: Vec<u64> = self
            .meta
            .shape
            .iter()
            .zip(shape)
            .map(|(old, new)| *old.min(new))
            .collect();
        for axis in other_axes {
            let (Some(old), Some(new)) = (self.meta.shape.get(axis), shape.get(axis)) else {
                continue;
            };
            if old != new {
                self.content.store.can_have(shape)?;
            }
            if let Some(count) = new.checked_sub(*old).filter(|n| *n > 0) {
                now.get_mut(axis).into_iter().for_each(|n| *n = count);
                self.content
                    .allow(nbytes(&now, self.itemsize()).ok_or_else(|| too_large(&now))?)?;
            }
            now.get_mut(axis).into_iter().for_each(|n| *n = *new);
        }
        Ok(())
    }

    /// Truncates along the slowest dimension, or grows with the fill value.
    fn set_slowest(&mut self, new: u64) -> Result<()> {
        let mut shape = self.meta.shape.clone();
        if let Some(n) = self.slowest().and_then(|axis| shape.get_mut(axis)) {
            *n = new;
        }
        self.content
            .set_len(nbytes(&shape, self.itemsize()).ok_or_else(|| too_large(&shape))?)?;
        self.reshape(shape);
        Ok(())
    }

    /// Replaces `gone` items from item `at` on, if the items are text or other values of any length.
    pub fn splice_texts(&mut self, at: u64, gone: u64, texts: &Texts) -> Result<()> {
        self.content.store.splice_texts(at, gone, texts)?;
        let mut shape = self.meta.shape.clone();
        for n in shape.iter_mut().take(1) {
            *n = n.saturating_sub(gone).saturating_add(texts.len() as u64);
        }
        self.reshape(shape);
        Ok(())
    }

    /// Changes the number of items of any length. New ones are empty.
    fn resize_texts(&mut self, n: u64) -> Result<()> {
        let old = self.meta.shape.first().copied().unwrap_or(0);
        if n <= old {
            return self.splice_texts(n, old - n, &Texts::new(0));
        }
        for at in (old..n).step_by(Texts::PIECE as usize) {
            let due = Texts::PIECE.min(n - at);
            self.splice_texts(at, 0, &Texts::empty(due as usize, false))?;
        }
        Ok(())
    }

    /// Inserts `count` positions before position `at` of a dimension, and shifts the following
    /// items. `src` has the new items, packed in C order. On failure, the array is unchanged.
    pub fn insert(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        self.insert_or_fill(axis, at, count, Some(src))
    }

    /// Like [`LinearArray::insert`]. Inserts zeros if `src` is `None`.
    fn insert_or_fill(
        &mut self,
        axis: usize,
        at: u64,
        count: u64,
        src: Option<&[u8]>,
    ) -> Result<()> {
        let (mut new, mut inserted_shape) = (self.meta.shape.clone(), self.meta.shape.clone());
        let (Some(n), Some(inserted_len)) = (new.get_mut(axis), inserted_shape.get_mut(axis))
        else {
            return Err(self.no_axis(axis));
        };
        let old = *n;
        *n = n
            .checked_add(count)
            .ok_or_else(|| too_large(&self.meta.shape))?;
        *inserted_len = count;
        nbytes(&new, self.itemsize()).ok_or_else(|| too_large(&new))?;
        self.content.store.can_have(&new)?;
        let bytes =
            nbytes(&inserted_shape, self.itemsize()).ok_or_else(|| too_large(&inserted_shape))?;
        if let Some(src) = src.filter(|src| src.len() as u64 != bytes) {
            return Err(fail!(
                Argument,
                "new items: wrong size {} bytes; expected items of {} bytes in the shape {inserted_shape:?}",
                src.len(),
                self.itemsize()
            ));
        }
        if at > old {
            return Err(fail!(
                Range,
                "axis {axis}: position {at} is out of range; the length is {old}"
            ));
        }
        let src: Cow<[u8]> = match src {
            Some(src) => match self.to_store_order(inserted_shape, src)? {
                Some(reordered) => reordered.into(),
                None => src.into(),
            },
            None => self.content.zeros(bytes)?.into(),
        };
        let (slab_bytes, times) = self.slab_layout(axis)?;
        self.content.splice(&Splice {
            at: at.saturating_mul(slab_bytes),
            every: old.saturating_mul(slab_bytes),
            times,
            gone: 0,
            src: &src,
        })?;
        self.reshape(new);
        Ok(())
    }

    /// Appends rows of `from`, which has the same dtype, as they are stored: those in complete
    /// chunks, if both arrays have chunks of the same form. Returns their number. On failure some of
    /// them may be appended.
    pub fn append_stored(&mut self, from: &LinearArray) -> Result<u64> {
        let row = |array: &LinearArray| {
            (
                array.meta.order,
                array.meta.shape.get(1..).map(<[u64]>::to_vec),
            )
        };
        if row(self) != row(from) || self.meta.order != Order::C || self.meta.shape.is_empty() {
            return Ok(0);
        }
        let (row_bytes, _) = self.slab_layout(0)?;
        let before = self.content.nbytes();
        let appended = self.content.append_stored(&from.content);
        let rows = (self.content.nbytes() - before)
            .checked_div(row_bytes)
            .unwrap_or(0);
        let mut shape = self.meta.shape.clone();
        shape.iter_mut().take(1).for_each(|n| *n += rows);
        self.reshape(shape);
        appended.map(|_| rows)
    }

    /// Returns the contiguous bytes of one position of a dimension, and the number of such slabs
    /// per position.
    fn slab_layout(&self, axis: usize) -> Result<(u64, u64)> {
        let shape = &self.meta.shape;
        let (before, after) = (shape.at(..axis)?, shape.at(axis + 1..)?);
        let (slower, faster) = match self.meta.order {
            Order::C => (before, after),
            Order::Fortran => (after, before),
        };
        // The product exceeds 64 bits only if the array is empty.
        Ok((
            nbytes(faster, self.itemsize()).unwrap_or(0),
            slower.iter().fold(1, |n: u64, d| n.saturating_mul(*d)),
        ))
    }

    fn no_axis(&self, axis: usize) -> Error {
        fail!(
            Argument,
            "axis {axis}: the array has {} dimensions",
            self.meta.shape.len()
        )
    }

    fn reshape(&mut self, shape: Vec<u64>) {
        self.shape_changed |= shape != self.meta.shape;
        self.meta.shape = shape;
        self.chunkshape = chunk_rows(&self.meta, self.content.store.chunk_bytes());
        self.blockshape = OnceLock::new();
    }

    /// Reorders packed items from C order to the order of the store. Returns `None` if both are the
    /// same.
    fn to_store_order(&self, shape: Vec<u64>, src: &[u8]) -> Result<Option<Vec<u8>>> {
        let start = vec![0; shape.len()];
        let meta = ArrayMeta {
            shape,
            ..self.meta.clone()
        };
        let plan = Grid::of(&meta).boxed(&start, &meta.shape, None, None, src.len())?;
        let Some(plan) = plan.filter(|plan| plan.contiguous().is_none()) else {
            return Ok(None);
        };
        let mut reordered = alloc::zeroed(src.len())?;
        let copied = plan
            .segments(plan.range())
            .all(|segment| segment.to_content(src, (&mut reordered, 0)));
        if copied {
            Ok(Some(reordered))
        } else {
            Err(fail!(State, "items lie outside their box"))
        }
    }

    /// Removes `count` positions of a dimension from position `at` on, and shifts the following
    /// items. On failure, the array is unchanged.
    pub fn remove(&mut self, axis: usize, at: u64, count: u64) -> Result<()> {
        let old = *self
            .meta
            .shape
            .get(axis)
            .ok_or_else(|| self.no_axis(axis))?;
        let end = at.checked_add(count).filter(|end| *end <= old);
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "axis {axis}: {count} positions from {at} on exceed the length {old}"
            )
        })?;
        if self.content.store.has_objects() {
            return self.splice_texts(at, count, &Texts::new(0));
        }
        if Some(axis) == self.slowest() && (end == old || count == 0) {
            return self.set_slowest(old - count);
        }
        let mut shape = self.meta.shape.clone();
        *shape.at_mut(axis)? -= count;
        self.content.store.can_have(&shape)?;
        let (slab_bytes, times) = self.slab_layout(axis)?;
        self.content.splice(&Splice {
            at: at.saturating_mul(slab_bytes),
            every: old.saturating_mul(slab_bytes),
            times,
            gone: count.saturating_mul(slab_bytes),
            src: &[],
        })?;
        self.reshape(shape);
        Ok(())
    }

    /// Passes all changes to the store, so that a commit of the store commits the array.
    pub fn flush(&mut self) -> Result<()> {
        self.content.refuse_truncated()?;
        self.content.flush()?;
        if self.shape_changed {
            self.content.store.set_shape(&self.meta.shape)?;
            self.shape_changed = false;
        }
        Ok(())
    }
}

fn check_ndim(ndim: usize, name: &str) -> Result<()> {
    if ndim <= MAX_NDIM {
        return Ok(());
    }
    Err(fail!(
        Unsupported,
        "{name}: an array of {ndim} dimensions: at most {MAX_NDIM} are supported"
    ))
}

/// Returns the shape of the whole rows in `bytes` bytes of content, at least one row.
fn chunk_rows(meta: &ArrayMeta, bytes: u64) -> Vec<u64> {
    let mut shape = meta.shape.clone();
    let Some(all) = slowest(meta)
        .and_then(|s| shape.get_mut(s))
        .map(|n| std::mem::replace(n, 1))
    else {
        return shape;
    };
    let row = nbytes(&shape, meta.dtype.item.size).filter(|row| *row > 0);
    if let Some(n) = slowest(meta).and_then(|s| shape.get_mut(s)) {
        *n = row.map_or(all, |row| bytes / row).max(1);
    }
    shape
}

fn slowest(meta: &ArrayMeta) -> Option<usize> {
    match meta.order {
        Order::C if !meta.shape.is_empty() => Some(0),
        _ => meta.shape.len().checked_sub(1),
    }
}

/// Returns the options with a chunk size that suits the array: whole rows if a chunk has room for
/// one, otherwise whole items. Also reserves as many chunk offsets as the array will need.
fn with_chunk_size(
    meta: &ArrayMeta,
    len: u64,
    chunks: Option<&[u64]>,
    options: &Options,
) -> Result<Options> {
    let mut options = options.clone();
    let item = meta.dtype.item.size.max(1) as u64;
    let mut unit = meta.shape.clone();
    if let Some(n) = slowest(meta).and_then(|d| unit.get_mut(d)) {
        *n = 1;
    }
    let row = nbytes(&unit, meta.dtype.item.size)
        .filter(|row| *row > 0)
        .unwrap_or(item);
    let size = match chunks {
        Some(chunks) => {
            let rows = slowest(meta)
                .and_then(|d| chunks.get(d).zip(unit.get_mut(d)))
                .map_or(0, |(rows, n)| {
                    *n = *rows;
                    *rows
                });
            if unit.is_empty() || unit != chunks {
                return Err(fail!(
                    Unsupported,
                    "chunks of {chunks:?}: chunks of a Bloscpack file must be whole rows of {:?}",
                    meta.shape
                ));
            }
            if rows == 0 {
                return Err(fail!(
                    Argument,
                    "chunks of {chunks:?}: a chunk must have at least one row"
                ));
            }
            if options.given(Opt::ChunkBytes).is_some() {
                return Err(fail!(
                    Argument,
                    "HOLDALL_OPT_CHUNK_BYTES and a chunk shape cannot be combined"
                ));
            }
            rows.saturating_mul(row)
        }
        None => {
            let most = options
                .given(Opt::ChunkBytes)
                .map_or(DEFAULT_CHUNK, |n| n as u64);
            [row, item]
                .into_iter()
                .find(|unit| *unit <= most)
                .map_or(item, |unit| most / unit * unit)
        }
    };
    options.set(Opt::ChunkBytes, i64::try_from(size).unwrap_or(i64::MAX))?;
    reserve_offsets(&mut options, len)?;
    Ok(options)
}

fn too_large(shape: &[u64]) -> Error {
    fail!(Argument, "the shape {shape:?} exceeds 2^64 bytes")
}
