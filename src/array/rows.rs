//! Arrays whose items stand in one run: Bloscpack files, and what else is a [`Store`].
//!
//! The items stand in one run, in C or Fortran order, and the chunks cut it wherever they end: a
//! box of the array is a number of runs of bytes. An array can grow and shrink anywhere: at the end
//! of the slowest dimension (the first in C order, the last in Fortran order) nothing else needs to
//! move, elsewhere what is behind does. Shape and content become others' to see with one commit.
#![forbid(unsafe_code)]

use super::attrs::of_frame;
use super::content::Content;
use super::dtype::Dtype;
use super::grid::{Grid, Positions, Repeated};
use super::numpy_meta::{ArrayMeta, Order, attrs_in, nbytes, with_attrs, with_shape};
use super::selection::{MAX_NDIM, Plan};
use super::store::Store;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::io::Folder;
use crate::options::{Opt, Options};
use crate::parallel;
use crate::superchunk::bloscpack::{Bloscpack, Destination, Mode, Splice, keep_room};
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

/// Bytes of a chunk, about, where nothing else is said.
const DEFAULT_CHUNK: u64 = 1 << 20;

/// An open array. It sees its own changes at once; others see them after the commit.
pub struct Rows {
    content: Content,
    meta: ArrayMeta,
    chunkshape: Vec<u64>,
    blockshape: OnceLock<Vec<u64>>,
    /// The metadata of the superchunk have another shape.
    shape_changed: bool,
}

impl Rows {
    /// The array in a file whose metadata make it one.
    pub fn of_file(file: Bloscpack, options: &Options) -> Result<Rows> {
        let meta = file
            .meta()?
            .map(ArrayMeta::read)
            .transpose()
            .map_err(|e| e.within(file.name()))?
            .flatten();
        let none = || match file.meta_damage() {
            Some(e) => fail!(Type, "{e}: nothing else says that this is an array"),
            None => fail!(
                Type,
                "{}: its metadata do not make it an array (\"container\":\"numpy\"); it is a superchunk",
                file.name()
            ),
        };
        let meta = meta.ok_or_else(none)?;
        let (ndim, have) = (meta.shape.len(), file.nbytes());
        few_dimensions(ndim, file.name())?;
        let len = match meta.check(have) {
            Ok(()) => have,
            // the chunks that are missing are zeros
            Err(e) => meta
                .nbytes()
                .filter(|n| file.stands_for(*n))
                .ok_or_else(|| e.within(file.name()))?,
        };
        Ok(Rows::with(Box::new(file), meta, None, len, options))
    }

    /// The array over a store that holds just its items, with this shape of a chunk.
    pub fn over(
        store: Box<dyn Store>,
        meta: ArrayMeta,
        chunkshape: Vec<u64>,
        options: &Options,
    ) -> Result<Rows> {
        few_dimensions(meta.shape.len(), store.name())?;
        let len = store.nbytes();
        if !store.has_objects() && meta.nbytes() != Some(len) {
            return Err(fail!(
                State,
                "{}: {len} bytes are not those of its items",
                store.name()
            ));
        }
        Ok(Rows::with(store, meta, Some(chunkshape), len, options))
    }

    fn with(
        file: Box<dyn Store>,
        meta: ArrayMeta,
        chunkshape: Option<Vec<u64>>,
        len: u64,
        options: &Options,
    ) -> Rows {
        let chunkshape = chunkshape.unwrap_or_else(|| rows_of(&meta, file.chunk_bytes()));
        let content = Content::new(file, len, options.memory_limit());
        Rows {
            content,
            meta,
            chunkshape,
            blockshape: OnceLock::new(),
            shape_changed: false,
        }
    }

    /// Creates an array of zeros in a Bloscpack file, in C order. It is there with the first
    /// commit. `chunks`: the shape of a chunk, which is some rows: all dimensions but the first
    /// as in `shape`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        dtype: &str,
        shape: &[u64],
        chunks: Option<&[u64]>,
        options: &Options,
    ) -> Result<Rows> {
        let dtype = Dtype::wanted(dtype)?;
        if dtype.item.has_objects() {
            return Err(fail!(
                Unsupported,
                "dtype {}: objects of Python's mean nothing in a file",
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
        let options = with_chunks(&meta, len, chunks, options)?;
        let typesize = if meta.dtype.item.size <= 255 {
            meta.dtype.item.size.max(1)
        } else {
            1
        };
        let mut file = Bloscpack::create_in(folder, name, mode, typesize, &options)?;
        file.meta_set(Some(meta.to_json().as_bytes()))?;
        Ok(Rows::with(Box::new(file), meta, None, len, &options))
    }

    /// Copies it, as it is here and now, with its metadata. `chunks`: as creating has it, with rows
    /// along the slowest dimension; none: as here. All else as [`Bloscpack::copy`].
    pub fn copy(&self, mut to: Destination, chunks: Option<&[u64]>) -> Result<bool> {
        if chunks.is_some() || to.options.given(Opt::ChunkBytes).is_some() {
            to.options = with_chunks(&self.meta, self.nbytes(), chunks, &to.options)?;
        }
        let (json, lost) = match self.content.file.meta()? {
            Some(json) => (with_shape(json, &self.meta.shape)?, false),
            None => (
                with_attrs(self.meta.to_json(), &self.attrs()?),
                self.has_lost_attrs(),
            ),
        };
        let bad =
            self.content
                .file
                .copy_as(to, Some(json.as_bytes()), self.nbytes(), &|at, dst| {
                    self.content.read(at, dst)
                })?;
        Ok(bad | lost)
    }

    /// What others have put beside it, JSON by name: of a Bloscpack file all in its metadata that
    /// does not make it an array.
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

    /// Can they not be told, and was that to be skipped?
    pub fn has_lost_attrs(&self) -> bool {
        self.store().has_json()
            && self.store().attr_names().is_empty()
            && self.store().attr("").is_err()
    }

    // ---- what it is

    /// Its length along each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.meta.shape
    }

    /// The whole rows in a chunk, at least one; a row is all there is at one place of the slowest
    /// dimension. Where a chunk is not made of whole rows, or the chunks differ, it is no more
    /// than a hint.
    pub fn chunkshape(&self) -> &[u64] {
        &self.chunkshape
    }

    /// As [`Rows::chunkshape`], for the blocks that chunks are made of, each of which can be
    /// decoded alone: those of the first chunk, or whole chunks as long as it waits.
    pub fn blockshape(&self) -> &[u64] {
        let made = parallel::made(&self.blockshape, || {
            let block = self.content.file.block_bytes();
            block.map_or_else(|| self.chunkshape.clone(), |n| rows_of(&self.meta, n))
        });
        made.as_slice()
    }

    /// Its items.
    pub fn dtype(&self) -> &Dtype {
        &self.meta.dtype
    }

    /// How they are stored.
    pub fn order(&self) -> Order {
        self.meta.order
    }

    /// Bytes of an item.
    pub fn itemsize(&self) -> usize {
        self.meta.dtype.item.size
    }

    /// Bytes of all items.
    pub fn nbytes(&self) -> u64 {
        self.content.nbytes()
    }

    /// Bytes that its file may make a call allocate.
    pub fn memory_limit(&self) -> u64 {
        self.content.memory_limit()
    }

    /// What holds it.
    pub fn store(&self) -> &dyn Store {
        &*self.content.file
    }

    /// The same, to be changed; shape and content are the array's to change.
    pub fn store_mut(&mut self) -> &mut dyn Store {
        &mut *self.content.file
    }

    /// Sets the metadata. They must say the same of the array; anything may stand beside that.
    pub fn meta_set(&mut self, json: &[u8]) -> Result<()> {
        let same = |m: &ArrayMeta| {
            m.shape == self.meta.shape
                && m.order == self.meta.order
                && m.dtype.item == self.meta.dtype.item
        };
        if !ArrayMeta::read(json)?.as_ref().is_some_and(same) {
            return Err(fail!(
                Argument,
                "the metadata must say what the array is: {} and more",
                self.meta.to_json()
            ));
        }
        self.content.file.attr_set("", json)?;
        self.shape_changed = false;
        Ok(())
    }

    /// Sets what is where nothing was written, from now on: what has come by growing stays what it
    /// was.
    pub fn fill_set(&mut self, value: &[u8]) -> Result<()> {
        self.content.settle()?;
        self.content.file.fill_set(value)
    }

    // ---- reading and writing

    /// Reads the items `start[d]`, `start[d] + step[d]`, ... (`count[d]` of them) of each dimension
    /// `d`; no steps: 1.
    ///
    /// `strides[d]` is the distance of two of them in `dst` in bytes; none: they are packed, in C
    /// order. The box begins at the first byte of `dst`: where a stride is negative, the items
    /// of that dimension come from its far end. True: some of it was damaged, and is zeros now,
    /// as the options wished.
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

    /// Writes a box from a buffer that is laid out as [`Rows::read`] says. On failure some of it
    /// may be written.
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

    /// Reads single items: `coordinates` has one number for each dimension, item after item.
    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        self.gather(self.grid()?.points(coordinates, n, dst.len())?, dst)
    }

    /// Reads all combinations of the positions of each dimension, in C order, packed.
    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        self.gather(self.grid()?.product(positions, dst.len(), false)?, dst)
    }

    fn gather(
        &self,
        (plan, repeated): (Option<Plan>, Vec<Repeated>),
        dst: &mut [u8],
    ) -> Result<bool> {
        let bad = plan.map_or(Ok(false), |plan| self.content.gather(&plan, dst))?;
        Repeated::copy_all(&repeated, dst);
        Ok(bad)
    }

    fn grid(&self) -> Result<Grid<'_>> {
        if self.content.file.has_objects() {
            return Err(fail!(
                Type,
                "{}: its items are objects of Python's, of any length: read them one by one",
                self.content.file.name()
            ));
        }
        Ok(Grid::of(&self.meta))
    }

    /// Writes all combinations of the positions of each dimension; of a position that is there
    /// twice, the last counts.
    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        let (plan, _) = self.grid()?.product(positions, src.len(), true)?;
        plan.map_or(Ok(()), |plan| self.content.scatter(&plan, src))
    }

    // ---- the shape

    /// The dimension along which it can grow; `None` without any.
    pub fn slowest(&self) -> Option<usize> {
        slowest(&self.meta)
    }

    /// Gives it another shape: what is beyond goes, what is new is zeros, or its fill value. What
    /// it cannot be is refused first; where a file fails, its shape may be one on the way.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        let have = self.meta.shape.clone();
        if shape.len() != have.len() {
            return Err(fail!(
                Argument,
                "a shape of {} dimensions: the array has {}",
                shape.len(),
                have.len()
            ));
        }
        nbytes(shape, self.itemsize()).ok_or_else(|| too_large(shape))?;
        // the less there is, the less moves
        let slowest = self.slowest();
        let fast = || {
            shape
                .iter()
                .zip(&have)
                .enumerate()
                .filter(|(axis, _)| Some(*axis) != slowest)
        };
        self.can_become(shape, fast().map(|(axis, _)| axis))?;
        for (axis, (new, old)) in fast().filter(|(_, (new, old))| new < old) {
            self.remove(axis, *new, old - new)?;
        }
        if let Some((new, _)) = slowest
            .and_then(|axis| shape.get(axis).zip(self.meta.shape.get(axis)))
            .filter(|(new, n)| new < n)
        {
            self.set_slowest(*new)?;
        }
        for (axis, (new, old)) in fast().filter(|(_, (new, old))| new > old) {
            self.put(axis, *old, new - old, None)?;
        }
        slowest
            .and_then(|axis| shape.get(axis))
            .map_or(Ok(()), |new| self.set_slowest(*new))
    }

    /// Refuses a shape that it cannot get, as far as that is known before anything is cut. `fast`:
    /// all dimensions but the slowest.
    fn can_become(&self, shape: &[u64], fast: impl Iterator<Item = usize>) -> Result<()> {
        let mut now: Vec<u64> = self
            .meta
            .shape
            .iter()
            .zip(shape)
            .map(|(old, new)| *old.min(new))
            .collect();
        for axis in fast {
            let (Some(old), Some(new)) = (self.meta.shape.get(axis), shape.get(axis)) else {
                continue;
            };
            if old != new {
                self.content.file.can_have(shape)?;
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

    /// Cuts it along the slowest dimension, or lets it grow by its fill value.
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

    /// Puts `count` places into a dimension before `at`; what is behind moves. `src` has the new
    /// items, packed, in C order. On failure it is as it was.
    pub fn insert(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        self.put(axis, at, count, Some(src))
    }

    /// The same, zeros without `src`.
    fn put(&mut self, axis: usize, at: u64, count: u64, src: Option<&[u8]>) -> Result<()> {
        let (mut new, mut box_of) = (self.meta.shape.clone(), self.meta.shape.clone());
        let (Some(n), Some(of_box)) = (new.get_mut(axis), box_of.get_mut(axis)) else {
            return Err(self.no_axis(axis));
        };
        let have = *n;
        *n = n
            .checked_add(count)
            .ok_or_else(|| too_large(&self.meta.shape))?;
        *of_box = count;
        nbytes(&new, self.itemsize()).ok_or_else(|| too_large(&new))?;
        self.content.file.can_have(&new)?;
        let bytes = nbytes(&box_of, self.itemsize()).ok_or_else(|| too_large(&box_of))?;
        if let Some(src) = src.filter(|src| src.len() as u64 != bytes) {
            return Err(fail!(
                Argument,
                "{} bytes: items of {} bytes in the shape {box_of:?} were expected",
                src.len(),
                self.itemsize()
            ));
        }
        if at > have {
            return Err(fail!(Range, "axis {axis}: a place {at}: there are {have}"));
        }
        let turned = match src {
            Some(src) => self.in_order_of_file(box_of, src)?,
            None => Some(self.content.zeros(bytes)?),
        };
        let (place, times) = self.places(axis);
        let src = turned.as_deref().or(src).unwrap_or_default();
        self.content.splice(&Splice {
            at: at.saturating_mul(place),
            every: have.saturating_mul(place),
            times,
            gone: 0,
            src,
        })?;
        self.reshape(new);
        Ok(())
    }

    /// Bytes that lie together at one place of a dimension, and how often such a place is there.
    fn places(&self, axis: usize) -> (u64, u64) {
        let (before, rest) = self.meta.shape.split_at_checked(axis).unwrap_or_default();
        let behind = rest.get(1..).unwrap_or_default();
        let (slower, faster) = match self.meta.order {
            Order::C => (before, behind),
            Order::Fortran => (behind, before),
        };
        // more than there can be only where there is nothing
        (
            nbytes(faster, self.itemsize()).unwrap_or(0),
            slower.iter().fold(1, |n: u64, d| n.saturating_mul(*d)),
        )
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
        self.chunkshape = rows_of(&self.meta, self.content.file.chunk_bytes());
        self.blockshape = OnceLock::new();
    }

    /// Items in C order, in the order in which the file has them; nothing where that is the same.
    fn in_order_of_file(&self, shape: Vec<u64>, src: &[u8]) -> Result<Option<Vec<u8>>> {
        let start = vec![0; shape.len()];
        let meta = ArrayMeta {
            shape,
            ..self.meta.clone()
        };
        let plan = Grid::of(&meta).boxed(&start, &meta.shape, None, None, src.len())?;
        let Some(plan) = plan.filter(|plan| plan.one_run().is_none()) else {
            return Ok(None);
        };
        let mut turned = alloc::zeroed(src.len())?;
        let moved = plan
            .pieces(plan.range())
            .all(|piece| piece.to_content(src, (&mut turned, 0)));
        if moved {
            Ok(Some(turned))
        } else {
            Err(fail!(State, "items outside of their box"))
        }
    }

    /// Takes away `count` places of a dimension from `at` on; what is behind moves. On failure it
    /// is as it was.
    pub fn remove(&mut self, axis: usize, at: u64, count: u64) -> Result<()> {
        let have = *self
            .meta
            .shape
            .get(axis)
            .ok_or_else(|| self.no_axis(axis))?;
        let end = at.checked_add(count).filter(|end| *end <= have);
        let end =
            end.ok_or_else(|| fail!(Range, "axis {axis}: {count} from {at} on: there are {have}"))?;
        if Some(axis) == self.slowest() && (end == have || count == 0) {
            return self.set_slowest(have - count);
        }
        let mut shape = self.meta.shape.clone();
        if let Some(n) = shape.get_mut(axis) {
            *n -= count;
        }
        self.content.file.can_have(&shape)?;
        let (place, times) = self.places(axis);
        self.content.splice(&Splice {
            at: at.saturating_mul(place),
            every: have.saturating_mul(place),
            times,
            gone: count.saturating_mul(place),
            src: &[],
        })?;
        self.reshape(shape);
        Ok(())
    }

    /// Hands everything to what holds it, so that a commit of that is one of the array.
    pub fn settle(&mut self) -> Result<()> {
        self.content.refuse_short()?;
        self.content.settle()?;
        if self.shape_changed {
            self.content.file.set_shape(&self.meta.shape)?;
            self.shape_changed = false;
        }
        Ok(())
    }
}

fn few_dimensions(ndim: usize, name: &str) -> Result<()> {
    if ndim <= MAX_NDIM {
        return Ok(());
    }
    Err(fail!(
        Unsupported,
        "{name}: an array of {ndim} dimensions: at most {MAX_NDIM} are supported"
    ))
}

/// The rows of this many bytes of content.
fn rows_of(meta: &ArrayMeta, bytes: u64) -> Vec<u64> {
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

/// The options with the chunk size that suits an array: whole rows where a chunk has room for one,
/// else whole items; and room for as many offsets as there will be.
fn with_chunks(
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
                    "chunks of {chunks:?}: in a Bloscpack file they are rows of {:?}",
                    meta.shape
                ));
            }
            if rows == 0 {
                return Err(fail!(
                    Argument,
                    "chunks of {chunks:?}: a chunk has a row at least"
                ));
            }
            if options.given(Opt::ChunkBytes).is_some() {
                return Err(fail!(
                    Argument,
                    "HOLDALL_OPT_CHUNK_BYTES and a shape of chunks were given: only one of them can be"
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
    keep_room(&mut options, len)?;
    Ok(options)
}

fn too_large(shape: &[u64]) -> Error {
    fail!(Argument, "the shape {shape:?}: more than 2^64 bytes")
}
