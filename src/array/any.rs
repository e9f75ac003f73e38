//! One array, whatever holds it: a run of bytes, or chunks along every dimension.
#![forbid(unsafe_code)]

use super::attrs::{self, Attr};
use super::dtype::Dtype;
use super::grid::Positions;
use super::numpy_meta::{ArrayMeta, Order, with_attrs};
use super::python_literal::Literal;
use super::rows::Rows;
use super::store::Store;
use super::tiled::{NewTiled, Tiled};
use crate::alloc;
use crate::blosc::Params;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Folder, locate, object};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Bloscpack, Destination, Mode};
use crate::superchunk::frame::{self, Frame};
use std::ffi::OsStr;
use std::sync::Arc;

/// Items that a copy has in memory at once, in bytes, unless those of a chunk are more.
const PIECE: u64 = 64 << 20;

/// An open array. It sees its own changes at once; others see them after the commit.
pub struct Array(Body);

enum Body {
    Rows(Rows),
    Tiled(Box<Tiled>),
}

macro_rules! either {
    ($array:expr, $a:ident => $result:expr) => {
        match $array {
            Body::Rows($a) => $result,
            Body::Tiled($a) => $result,
        }
    };
}

impl AsMut<Array> for Array {
    fn as_mut(&mut self) -> &mut Array {
        self
    }
}

impl AsRef<Array> for Array {
    fn as_ref(&self) -> &Array {
        self
    }
}

impl From<Tiled> for Array {
    fn from(tiled: Tiled) -> Array {
        Array(Body::Tiled(Box::new(tiled)))
    }
}

impl Array {
    /// Opens what is there, for reading or for changes: a Bloscpack file, or a Blosc2 frame in a
    /// file or a folder.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Array> {
        let _asking = object::ask_as(options);
        if locate::is_folder(path) {
            return Array::open_in(&locate::folder(path)?, OsStr::new(""), mode, options);
        }
        let place = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        Array::open_in(&place.folder, &place.name, mode, options)
    }

    /// Opens a name in a folder.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Array> {
        if frame::is_frame(folder, name, options)? {
            return Array::of_frame(Frame::open_in(folder, name, mode, options)?, options);
        }
        Rows::of_file(Bloscpack::open_in(folder, name, mode, options)?, options).map(Array::rows)
    }

    /// The array in a frame: as its metalayers say, else one dimension of items.
    fn of_frame(frame: Frame, options: &Options) -> Result<Array> {
        if let Some(e) = frame.headless() {
            return Err(Error {
                status: Status::Type,
                ..e.clone()
            });
        }
        if Tiled::is_in(&frame) {
            return Ok(Tiled::of_frame(frame, options)?.into());
        }
        let (meta, chunk) = super::frame::plain(&frame)?;
        Rows::over(Box::new(frame), meta, vec![chunk], options).map(Array::rows)
    }

    /// The array over a store that holds just its items, with this shape of a chunk.
    pub fn over(
        store: Box<dyn Store>,
        meta: ArrayMeta,
        chunkshape: Vec<u64>,
        options: &Options,
    ) -> Result<Array> {
        Rows::over(store, meta, chunkshape, options).map(Array::rows)
    }

    fn rows(rows: Rows) -> Array {
        Array(Body::Rows(rows))
    }

    /// Creates an array of zeros in a Bloscpack file, in C order. It is there with the first
    /// commit. `chunks`: the shape of a chunk, which is some rows: all dimensions but the first
    /// as in `shape`.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        dtype: &str,
        shape: &[u64],
        chunks: Option<&[u64]>,
        options: &Options,
    ) -> Result<Array> {
        let place = locate::locate_for_change(path)?;
        Array::create_in(
            &place.folder,
            &place.name,
            mode,
            dtype,
            shape,
            chunks,
            options,
        )
    }

    /// The same under a name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        dtype: &str,
        shape: &[u64],
        chunks: Option<&[u64]>,
        options: &Options,
    ) -> Result<Array> {
        Rows::create_in(folder, name, mode, dtype, shape, chunks, options).map(Array::rows)
    }

    /// Creates an array in a Blosc2 frame; it is there with the first commit.
    pub fn create_frame(
        path: &OsStr,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<Array> {
        Tiled::create(path, mode, new, None, options).map(Array::from)
    }

    /// The same under a name in a folder.
    pub fn create_frame_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<Array> {
        Tiled::create_in(folder, name, mode, new, options).map(Array::from)
    }

    /// What others have put beside it, JSON by name: of a Bloscpack file all in its metadata that
    /// does not make it an array; of a frame its metalayers.
    pub fn attrs(&self) -> Result<Vec<Attr>> {
        match &self.0 {
            Body::Rows(rows) => rows.attrs(),
            Body::Tiled(tiled) => attrs::of_frame(tiled.store()),
        }
    }

    /// Can they not be told, and was that to be skipped?
    pub fn has_lost_attrs(&self) -> bool {
        matches!(&self.0, Body::Rows(rows) if rows.has_lost_attrs())
    }

    /// Copies it, as it is here and now, into a Bloscpack file, with the metadata of one. `chunks`:
    /// as creating has it, with rows along the slowest dimension; none: as here. All else as
    /// [`Bloscpack::copy`].
    pub fn copy(&self, to: Destination, chunks: Option<&[u64]>) -> Result<bool> {
        match &self.0 {
            Body::Rows(rows) => rows.copy(to, chunks),
            Body::Tiled(tiled) => {
                let Destination {
                    folder,
                    name,
                    mode,
                    options,
                } = to;
                tiled.refuse_itself(&folder, &name)?;
                let mut new = Array::create_in(
                    &folder,
                    &name,
                    mode,
                    &tiled.dtype().spelling,
                    tiled.shape(),
                    chunks,
                    &options,
                )?;
                let json = String::from_utf8_lossy(new.meta()?).trim_end().to_owned();
                new.meta_set(with_attrs(json, &self.attrs()?).as_bytes())?;
                new.take_items(self, &options)
            }
        }
    }

    /// Copies it into a new frame: with the chunks, blocks, codec and filters that it has here
    /// where the options do not say otherwise. True: some of it was damaged, and is zeros
    /// there.
    pub fn copy_to_frame(
        &self,
        path: &OsStr,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<bool> {
        let mut new = NewTiled { ..*new };
        if let Body::Tiled(tiled) = &self.0 {
            let place = locate::locate_for_change(path)?;
            tiled.refuse_itself(&place.folder, &place.name)?;
            let as_here = |opt: Opt| options.given(opt).is_none() && new.chunks.is_none();
            if as_here(Opt::ChunkBytes) && !tiled.chunkshape().contains(&0) {
                new.chunks = Some(tiled.chunkshape());
                if new.blocks.is_none() && options.given(Opt::BlockBytes).is_none() {
                    new.blocks = Some(tiled.blockshape());
                }
            }
        }
        let (mut copy, lost) = (
            Tiled::create(path, mode, &new, self.params(), options)?,
            self.has_lost_attrs(),
        );
        if !copy.take_attrs(self.store())? {
            self.attrs()?.iter().try_for_each(|(name, json)| {
                copy.store_mut().attr_set(name, &attrs::from_json(json))
            })?;
        }
        if let Body::Tiled(tiled) = &self.0
            && let Some(bad) = copy.take_chunks(tiled, options)?
        {
            return Array::from(copy).commit().map(|()| bad);
        }
        Array::from(copy)
            .take_items(self, options)
            .map(|bad| bad | lost)
    }

    /// How the chunks of a frame are made, where it is one.
    fn params(&self) -> Option<&Params> {
        let store: &dyn std::any::Any = self.store();
        store
            .downcast_ref::<Frame>()
            .and_then(|frame| frame.params().ok())
    }

    /// Takes in all items of another array of this shape, and commits. True: some of them were
    /// damaged.
    fn take_items(&mut self, from: &Array, options: &Options) -> Result<bool> {
        let (shape, item) = (from.shape(), from.itemsize() as u64);
        let bytes = |lengths: &[u64]| lengths.iter().fold(item, |n, d| n.saturating_mul(*d));
        let lengths = piece(shape, self, PIECE.min(options.memory_limit()) / item.max(1));
        let mut buffer = alloc::zeroed(alloc::allow(
            bytes(&lengths),
            options.memory_limit(),
            "a piece of a copy",
        )?)?;
        let (mut start, mut bad, mut done) = (vec![0; shape.len()], false, 0);
        while !shape.contains(&0) {
            let count: Vec<u64> = start
                .iter()
                .zip(&lengths)
                .zip(shape)
                .map(|((at, n), all)| *n.min(&(all - at)))
                .collect();
            let part = buffer.get_mut(..bytes(&count) as usize).unwrap_or_default();
            bad |= from.read(&start, &count, None, part, None)?;
            self.write(&start, &count, None, part, None)?;
            done += part.len() as u64;
            options.progress(done, from.nbytes())?;
            if !next(&mut start, &lengths, shape) {
                break;
            }
        }
        self.commit()?;
        Ok(bad)
    }

    // ---- what it is

    /// Its length along each dimension.
    pub fn shape(&self) -> &[u64] {
        either!(&self.0, a => a.shape())
    }

    /// That of a chunk. Of a run of bytes the whole rows in a chunk, at least one; a row is all
    /// there is at one place of the slowest dimension. Where a chunk is not made of whole rows,
    /// or the chunks differ, it is no more than a hint.
    pub fn chunkshape(&self) -> &[u64] {
        either!(&self.0, a => a.chunkshape())
    }

    /// As [`Array::chunkshape`], for the blocks that chunks are made of, each of which can be
    /// decoded alone: those of the first chunk, or whole chunks as long as it waits.
    pub fn blockshape(&self) -> &[u64] {
        either!(&self.0, a => a.blockshape())
    }

    /// Its items.
    pub fn dtype(&self) -> &Dtype {
        either!(&self.0, a => a.dtype())
    }

    /// The type of its items as text: as it was spelled, without the quotes of a Python constant
    /// that is text.
    pub fn dtype_text(&self) -> String {
        let spelling = &self.dtype().spelling;
        let plain = Literal::parse(spelling)
            .ok()
            .and_then(|l| l.text().map(str::to_owned));
        plain.unwrap_or_else(|| spelling.clone())
    }

    /// How they are stored.
    pub fn order(&self) -> Order {
        match &self.0 {
            Body::Rows(a) => a.order(),
            Body::Tiled(_) => Order::C,
        }
    }

    /// Bytes of an item.
    pub fn itemsize(&self) -> usize {
        self.dtype().item.size
    }

    /// Bytes of all items.
    pub fn nbytes(&self) -> u64 {
        either!(&self.0, a => a.nbytes())
    }

    /// Bytes of the file of the last commit.
    pub fn cbytes(&self) -> Result<u64> {
        self.store().cbytes()
    }

    /// Bytes that its file may make a call allocate.
    pub fn memory_limit(&self) -> u64 {
        either!(&self.0, a => a.memory_limit())
    }

    /// What holds it.
    pub fn store(&self) -> &dyn Store {
        either!(&self.0, a => a.store())
    }

    /// The same, to be changed; shape and content are the array's to change.
    pub fn store_mut(&mut self) -> &mut dyn Store {
        either!(&mut self.0, a => a.store_mut())
    }

    /// The metadata of a Bloscpack file, JSON, as the last commit left them or [`Array::meta_set`]
    /// set them.
    pub fn meta(&self) -> Result<&[u8]> {
        Ok(self.store().meta()?.unwrap_or_default())
    }

    /// Sets the metadata. They must say the same of the array; anything may stand beside that.
    pub fn meta_set(&mut self, json: &[u8]) -> Result<()> {
        match &mut self.0 {
            Body::Rows(a) => a.meta_set(json),
            Body::Tiled(a) => Err(fail!(
                Unsupported,
                "{}: a frame has metalayers, and no metadata in JSON",
                a.store().name()
            )),
        }
    }

    /// Sets a named value of what is no Bloscpack file.
    pub fn attr_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.store_mut().attr_set(name, value)
    }

    /// Removes a named value, if it is there.
    pub fn attr_remove(&mut self, name: &str) -> Result<()> {
        self.store_mut().attr_remove(name)
    }

    /// Sets what is where nothing was written, from now on: what has come by growing stays what it
    /// was.
    pub fn fill_set(&mut self, value: &[u8]) -> Result<()> {
        match &mut self.0 {
            Body::Rows(a) => a.fill_set(value),
            Body::Tiled(a) => a.store_mut().fill_set(value),
        }
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
        either!(&self.0, a => a.read(start, count, step, dst, strides))
    }

    /// Writes a box from a buffer that is laid out as [`Array::read`] says. On failure some of it
    /// may be written.
    pub fn write(
        &mut self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        either!(&mut self.0, a => a.write(start, count, step, src, strides))
    }

    /// Reads single items: `coordinates` has one number for each dimension, item after item.
    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        either!(&self.0, a => a.read_points(coordinates, n, dst))
    }

    /// Reads all combinations of the positions of each dimension, in C order, packed.
    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        either!(&self.0, a => a.read_orthogonal(positions, dst))
    }

    /// Writes all combinations of the positions of each dimension; of a position that is there
    /// twice, the last counts.
    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        either!(&mut self.0, a => a.write_orthogonal(positions, src))
    }

    // ---- the shape

    /// The dimension along which it can grow without anything having to move; `None` without any.
    pub fn slowest(&self) -> Option<usize> {
        match &self.0 {
            Body::Rows(a) => a.slowest(),
            Body::Tiled(a) => (!a.shape().is_empty()).then_some(0),
        }
    }

    /// Gives it another shape: what is beyond goes, what is new is zeros, or its fill value. On
    /// failure its shape may be one on the way.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        either!(&mut self.0, a => a.resize(shape))
    }

    /// Lets it grow by `count` along a dimension. `src` has the new items, packed, in C order. On
    /// failure it is as it was.
    pub fn append(&mut self, axis: usize, count: u64, src: &[u8]) -> Result<()> {
        self.insert(
            axis,
            self.shape().get(axis).copied().unwrap_or(0),
            count,
            src,
        )
    }

    /// Puts `count` places into a dimension before `at`; what is behind moves. `src` has the new
    /// items, packed, in C order. On failure it is as it was.
    pub fn insert(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        either!(&mut self.0, a => a.insert(axis, at, count, src))
    }

    /// Takes away `count` places of a dimension from `at` on; what is behind moves. On failure it
    /// is as it was.
    pub fn remove(&mut self, axis: usize, at: u64, count: u64) -> Result<()> {
        either!(&mut self.0, a => a.remove(axis, at, count))
    }

    /// Makes all changes durable and visible, content and shape together. On failure the file is as
    /// the last commit left it.
    pub fn commit(&mut self) -> Result<()> {
        self.settle()?;
        self.store_mut().commit()
    }

    /// Hands everything to what holds it, so that a commit of that is one of the array.
    pub fn settle(&mut self) -> Result<()> {
        either!(&mut self.0, a => a.settle())
    }
}

/// The lengths of the boxes in which so many items, about, are copied: whole chunks, as far as `to`
/// has them along every dimension, else whole rows.
fn piece(shape: &[u64], to: &Array, items: u64) -> Vec<u64> {
    let mut lengths: Vec<u64> = match &to.0 {
        Body::Tiled(t) => t
            .chunkshape()
            .iter()
            .zip(shape)
            .map(|(c, n)| *c.min(n))
            .collect(),
        Body::Rows(_) => shape
            .iter()
            .enumerate()
            .map(|(d, n)| if d == 0 { 1 } else { *n })
            .collect(),
    };
    let mut room = items
        / lengths
            .iter()
            .fold(1, |n: u64, d| n.saturating_mul(*d))
            .max(1);
    for (n, all) in lengths.iter_mut().zip(shape).rev() {
        let more = room.clamp(1, all.div_ceil((*n).max(1)).max(1));
        (*n, room) = (n.saturating_mul(more).min(*all), room / more);
        if *n < *all {
            break;
        }
    }
    lengths
}

/// Goes on to the next box; false behind the last.
fn next(start: &mut [u64], lengths: &[u64], shape: &[u64]) -> bool {
    for ((at, n), all) in start.iter_mut().zip(lengths).zip(shape).rev() {
        *at += n;
        if *at < *all {
            return true;
        }
        *at = 0;
    }
    false
}
