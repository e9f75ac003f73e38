//! Arrays in Blosc2 frames: chunks along every dimension, described by metalayers.
//!
//! Python-blosc2 recognizes an array by the metalayer `b2nd`, Caterva by `caterva`; a frame may
//! have both. A tool that knows only one of them does not update the other one. The first metalayer
//! that matches the chunks is then used, `b2nd` before `caterva`. The next commit of a changed
//! shape updates both.
#![forbid(unsafe_code)]

use super::default_shapes::{self, ShapeOptions};
use super::grid::Positions;
use super::metalayer::{ArrayMetalayer, B2ND, CATERVA, spelling};
use super::nd::ChunkGrid;
use super::nd::chunk_grid::Dim;
use super::selection::MAX_NDIM;
use super::store::Store;
use crate::alloc::Scratch;
use crate::blosc::{Codec, Params, Target};
use crate::dtype::{Dtype, Kind};
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::Folder;
use crate::io::journal::Session;
use crate::options::{Opt, Options};
use crate::progress::Scope;
use crate::superchunk::bloscpack::{Mode, Verified};
use crate::superchunk::chunks::{Chunks, Encoded, Fill};
use crate::superchunk::frame::{self, Frame, NewFrame};
use std::ffi::OsStr;
use std::sync::Arc;

/// An open array in a frame.
pub struct TiledArray {
    frame: Frame,
    tiles: ChunkGrid,
    dtype: Dtype,
    chunkshape: Vec<u64>,
    blockshape: Vec<u64>,
    /// The array metalayers of the frame: their names, and the dtype as each one spells it.
    metalayers: Vec<(&'static str, Option<String>)>,
    /// The shape in the stored metalayers.
    stored_shape: Vec<u64>,
}

/// Parameters of a new array in a frame.
pub struct NewTiled<'a> {
    /// The dtype, in NumPy spelling.
    pub dtype: &'a str,
    /// The length along each dimension.
    pub shape: &'a [u64],
    /// The shape of a chunk; `None` selects a default.
    pub chunks: Option<&'a [u64]>,
    /// The shape of a block; `None` selects a default.
    pub blocks: Option<&'a [u64]>,
    /// Whether to write the metalayer `caterva` instead of `b2nd`.
    pub caterva: bool,
}

impl TiledArray {
    /// Returns whether a metalayer marks this frame as an array.
    pub fn is_in(frame: &Frame) -> bool {
        frame.is_fixed(B2ND) || frame.is_fixed(CATERVA)
    }

    /// Opens the array in a frame that has an array metalayer.
    pub fn of_frame(mut frame: Frame, options: &Options) -> Result<TiledArray> {
        let (mut found, mut metalayers, mut mismatch) = (None, Vec::new(), None);
        for name in [B2ND, CATERVA]
            .into_iter()
            .filter(|name| frame.is_fixed(name))
        {
            let within = |e: Error| e.within(format_args!("{}: metalayer {name:?}", frame.name()));
            let layer = frame
                .meta(name)?
                .map(ArrayMetalayer::parse)
                .transpose()
                .map_err(within)?;
            let Some(layer) = layer else { continue };
            metalayers.push((name, layer.dtype.clone()));
            match tiles_of_layer(&layer, &frame, options.memory_limit()).map_err(within) {
                Ok(tiles) => found = found.or(Some((layer, tiles))),
                Err(e) => mismatch = mismatch.or(Some(e)),
            }
        }
        let (layer, tiles) = match (found, mismatch) {
            (Some(found), _) => found,
            (None, Some(e)) => return Err(e),
            (None, None) => {
                return Err(fail!(
                    Type,
                    "{}: no metalayer describes an array",
                    frame.name()
                ));
            }
        };
        frame.set_chunk_length(tiles.chunk_bytes(), tiles.block_bytes());
        // A `caterva` metalayer has no dtype; take it from the other one.
        let typed = metalayers.iter().find_map(|(_, dtype)| dtype.clone());
        let dtype = ArrayMetalayer {
            dtype: typed,
            ..layer.clone()
        }
        .items(frame.typesize())
        .map_err(|e| e.within(frame.name()))?;
        refuse_other_items(&frame, &dtype)?;
        let ArrayMetalayer {
            shape: stored_shape,
            chunkshape,
            blockshape,
            ..
        } = layer;
        Ok(TiledArray {
            frame,
            tiles,
            dtype,
            chunkshape,
            blockshape,
            metalayers,
            stored_shape,
        })
    }

    /// Creates an array of zeros or of a fill value, which takes no space in the file. The frame
    /// exists after the first commit. `like` has the compression parameters that the options do not
    /// specify.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        new: &NewTiled,
        like: Option<&Params>,
        options: &Options,
    ) -> Result<TiledArray> {
        TiledArray::create_with(new, like, options, |frame, options| {
            Frame::create(path, mode, frame, options)
        })
    }

    /// Like [`TiledArray::create`], under `name` in `folder`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewTiled,
        like: Option<&Params>,
        options: &Options,
    ) -> Result<TiledArray> {
        TiledArray::create_with(new, like, options, |frame, options| {
            Frame::create_in(folder, name, mode, frame, options)
        })
    }

    /// Like [`TiledArray::create`], in a frame that is committed together with others.
    pub fn create_member(
        session: &Arc<Session>,
        name: &OsStr,
        new: &NewTiled,
        options: &Options,
    ) -> Result<TiledArray> {
        TiledArray::create_with(new, None, options, |frame, options| {
            Frame::create_member(session, name, frame, options)
        })
    }

    fn create_with(
        new: &NewTiled,
        like: Option<&Params>,
        options: &Options,
        create: impl FnOnce(&NewFrame, &Options) -> Result<Frame>,
    ) -> Result<TiledArray> {
        let dtype = dtype_of(new)?;
        let item = dtype.item.size;
        if let (Some(_), Some(n)) = (new.chunks, options.given(Opt::ChunkBytes)) {
            return Err(fail!(
                Argument,
                "{}: {n}: cannot be combined with a chunk shape",
                Opt::ChunkBytes.name()
            ));
        }
        if let (Some(_), Some(n)) = (new.blocks, options.given(Opt::BlockBytes)) {
            return Err(fail!(
                Argument,
                "{}: {n}: cannot be combined with a block shape",
                Opt::BlockBytes.name()
            ));
        }
        let mut options = options.clone();
        let mut taken = |opt| options.take(opt).map(|n| n as u64);
        let shape_options = ShapeOptions {
            chunks: new.chunks,
            blocks: new.blocks,
            chunk_bytes: taken(Opt::ChunkBytes),
            block_bytes: taken(Opt::BlockBytes),
        };
        let (sparse, both) = (
            taken(Opt::Sparse) == Some(1),
            taken(Opt::BothMetalayers) == Some(1),
        );
        let fill = options
            .take_bytes(Opt::Fill)
            .map_or_else(|| Ok(Fill::Zeros), |bytes| fill_of(&bytes, item))?;
        let (chunkshape, blockshape) = default_shapes::choose(new.shape, item, &shape_options)?;
        let tiles = ChunkGrid::new(
            new.shape,
            &chunkshape,
            &blockshape,
            item,
            options.memory_limit(),
        );
        let tiles = tiles.map_err(|e| with_status(e, Status::Argument))?;
        let metalayers: Vec<_> = [(B2ND, !new.caterva || both), (CATERVA, new.caterva || both)]
            .into_iter()
            .filter(|(_, present)| *present)
            .map(|(name, _)| (name, (name == B2ND).then(|| spelling(&dtype))))
            .collect();
        let stored_shape = new.shape.to_vec();
        let layers = layers(&metalayers, &stored_shape, &chunkshape, &blockshape)?;
        let mut params = like
            .cloned()
            .unwrap_or_else(|| Params::new(Target::Blosc2, Codec::Lz4, 5, item));
        (params.typesize, params.blocksize) = (item, Some(tiles.block_bytes()));
        let params = frame::take_requested_params(&mut options, &params)?;
        if params.filters.truncation().is_some() {
            dtype.check_precision(Opt::Precision.name())?;
        }
        let fill = fill.truncated(&params)?;
        let new = NewFrame {
            typesize: item,
            chunk_bytes: tiles.chunk_bytes(),
            params,
            metalayers: &layers,
            sparse,
        };
        let mut frame = create(&new, &options)?;
        frame.rearrange(tiles.chunks(), &|_| None)?;
        if fill != Fill::Zeros {
            for chunk in 0..tiles.chunks() {
                Chunks::put(&mut frame, chunk, Encoded::Fill(fill.clone()))?;
            }
        }
        Ok(TiledArray {
            frame,
            tiles,
            dtype,
            chunkshape,
            blockshape,
            metalayers,
            stored_shape,
        })
    }

    /// Returns an error if `name` in `folder` is the file of this array.
    pub fn refuse_same_file(&self, folder: &Arc<dyn Folder>, name: &OsStr) -> Result<()> {
        if self.frame.is_named(folder, name)? {
            return Err(fail!(
                Argument,
                "{}: a copy cannot replace its source",
                self.frame.name()
            ));
        }
        Ok(())
    }

    /// Copies the attributes of another store unchanged. Returns `false` if it is not a frame.
    pub fn copy_attrs_from(&mut self, from: &dyn Store) -> Result<bool> {
        let any: &dyn std::any::Any = from;
        let Some(from) = any.downcast_ref::<Frame>() else {
            return Ok(false);
        };
        for name in from.meta_names().filter(|name| !is_array_metalayer(name)) {
            let value = from.existing_meta(name)?;
            if from.is_fixed(name) {
                self.frame.meta_set(name, value)?
            } else {
                self.frame.vlmeta_set(name, value)?
            }
        }
        Ok(true)
    }

    /// Copies the items from `origin` on of an array with the same dtype. Chunks that begin at the
    /// same items and have equal block shapes are copied in compressed form unless the options
    /// specify a codec, level or filters. Chunks without stored data need none in the copy, either.
    /// Returns `None` if the chunks begin at other items; otherwise whether some of the data was
    /// corrupt. Reports to `scope`.
    pub fn copy_chunks_from(
        &mut self,
        from: &TiledArray,
        origin: &[u64],
        options: &Options,
        scope: &Scope,
    ) -> Result<Option<bool>> {
        let is_whole = self.shape() == from.shape();
        let is_aligned = |(at, chunk): (&u64, &u64)| at.is_multiple_of(*chunk);
        if self.chunkshape != from.chunkshape
            || self.chunkshape.contains(&0)
            || !origin.iter().zip(&self.chunkshape).all(is_aligned)
            // reading finds out which items are corrupt
            || !is_whole && from.frame.has_corruption()
        {
            return Ok(None);
        }
        let reencode = frame::requests_encoding(options);
        let (same, n, mut damaged) = (
            self.blockshape == from.blockshape,
            self.tiles.chunks(),
            from.frame.has_corruption(),
        );
        for i in 0..n {
            damaged |= match self.same_chunk(i, from, origin) {
                Some(there) if same => {
                    let frame = &mut self.frame;
                    from.frame.copy_chunk(there, frame, i, reencode)?
                }
                there => match there.map_or(Ok(None), |there| Chunks::fill(&from.frame, there))? {
                    // Each item has the same value, independent of the block shape.
                    Some(fill) if fill.is_uniform_for(from.tiles.item()) => {
                        let there = there.unwrap_or(i);
                        from.frame.copy_fill(there, &mut self.frame, i, fill)?;
                        false
                    }
                    _ => self.copy_chunk_items(i, from, origin)?,
                },
            };
            scope.at_part(i + 1, n)?;
        }
        Ok(Some(damaged))
    }

    /// Returns the chunk of `from` that has exactly the items of chunk `i`, which begins `origin`
    /// before it. A chunk at the end of only one of the arrays has other items, or padding.
    fn same_chunk(&self, i: u64, from: &TiledArray, origin: &[u64]) -> Option<u64> {
        let coordinates = self.tiles.coordinates(i, Dim::chunks);
        let (mut there, dims) = (0, self.tiles.dims().iter().zip(from.tiles.dims()));
        for (((here, other), at), coordinate) in dims.zip(origin).zip(coordinates) {
            let end = (coordinate + 1).saturating_mul(here.chunk);
            if end > here.len && here.len != other.len - at {
                return None;
            }
            there = there * other.chunks() + coordinate + at / other.chunk;
        }
        Some(there)
    }

    /// Copies the items of one chunk, which begins `origin` before those of `from`, through a
    /// buffer.
    fn copy_chunk_items(&mut self, chunk: u64, from: &TiledArray, origin: &[u64]) -> Result<bool> {
        let (start, count) = self.chunk_box(chunk);
        let bytes = self.box_bytes(&count);
        let mut items = Scratch::new(bytes, self.memory_limit(), "chunk of a copy")?;
        let there: Vec<u64> = start
            .iter()
            .zip(origin)
            .map(|(at, from)| at + from)
            .collect();
        let damaged = from.read(&there, &count, None, &mut items, None)?;
        self.write(&start, &count, None, &items, None)
            .map(|()| damaged)
    }

    /// Writes all items of `from`, which has the same dtype, to the box that begins at `start`.
    /// Chunks that have exactly the items of a chunk here, in blocks of the same shape, are copied
    /// as they are stored.
    pub fn paste(&mut self, from: &TiledArray, start: &[u64]) -> Result<()> {
        let is_aligned = |(at, chunk): (&u64, &u64)| at.is_multiple_of(*chunk);
        let is_alike = (&self.chunkshape, &self.blockshape) == (&from.chunkshape, &from.blockshape)
            && !self.chunkshape.contains(&0)
            && start.iter().zip(&self.chunkshape).all(is_aligned);
        for i in 0..from.tiles.chunks() {
            let here = is_alike.then(|| from.same_chunk(i, self, start)).flatten();
            if let Some(here) = here {
                from.frame.copy_chunk(i, &mut self.frame, here, false)?;
                continue;
            }
            let (at, count) = from.chunk_box(i);
            let mut items = Scratch::new(from.box_bytes(&count), self.memory_limit(), "a chunk")?;
            from.read(&at, &count, None, &mut items, None)?;
            let here: Vec<u64> = at.iter().zip(start).map(|(at, from)| at + from).collect();
            self.write(&here, &count, None, &items, None)?;
        }
        Ok(())
    }

    /// Returns start and shape of a chunk, without padding.
    fn chunk_box(&self, chunk: u64) -> (Vec<u64>, Vec<u64>) {
        let coordinates = self.tiles.coordinates(chunk, Dim::chunks);
        let along = |(dim, coordinate): (&Dim, u64)| {
            let at = coordinate * dim.chunk;
            (at, dim.chunk.min(dim.len - at))
        };
        self.tiles.dims().iter().zip(coordinates).map(along).unzip()
    }

    fn box_bytes(&self, count: &[u64]) -> u64 {
        let item = self.tiles.item() as u64;
        count.iter().fold(item, |n, d| n.saturating_mul(*d))
    }

    // ---- properties

    /// Returns whether the chunks have checksums.
    pub fn has_checksums(&self) -> bool {
        self.frame.has_checksums()
    }

    /// Returns the shape. The methods below are those of [`Array`](super::Array).
    pub fn shape(&self) -> &[u64] {
        self.tiles.shape()
    }

    pub fn format(&self) -> Format {
        if self.metalayers.iter().any(|(name, _)| *name == B2ND) {
            Format::B2nd
        } else {
            Format::Caterva
        }
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
        self.tiles.nbytes()
    }

    pub fn memory_limit(&self) -> u64 {
        self.tiles.memory_limit()
    }

    pub fn store(&self) -> &dyn Store {
        &self.frame
    }

    pub fn store_mut(&mut self) -> &mut dyn Store {
        &mut self.frame
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
        Ok(self
            .tiles
            .read(&self.frame, (start, count, step), dst, strides)?
            || self.frame.has_corruption())
    }

    pub fn write(
        &mut self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        self.tiles
            .write(&mut self.frame, (start, count, step), src, strides)
    }

    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        Ok(
            self.tiles.read_points(&self.frame, coordinates, n, dst)?
                || self.frame.has_corruption(),
        )
    }

    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        Ok(self.tiles.read_orthogonal(&self.frame, positions, dst)? || self.frame.has_corruption())
    }

    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        self.tiles.write_orthogonal(&mut self.frame, positions, src)
    }

    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        // Fails if the handle is read-only, as in `insert` and `remove`.
        self.frame.append(&[])?;
        self.tiles.resize(&mut self.frame, shape)
    }

    pub fn insert(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        self.frame.append(&[])?;
        self.tiles.insert(&mut self.frame, axis, at, count, src)
    }

    pub fn remove(&mut self, axis: usize, at: u64, count: u64) -> Result<()> {
        self.frame.append(&[])?;
        self.tiles.remove(&mut self.frame, axis, at, count)
    }

    /// Updates the metalayers to the current shape. One commit of the frame makes them and the
    /// chunks visible.
    pub fn flush(&mut self) -> Result<()> {
        self.tiles.check()?;
        if self.stored_shape == self.tiles.shape() {
            return Ok(());
        }
        for (name, layer) in layers(
            &self.metalayers,
            self.tiles.shape(),
            &self.chunkshape,
            &self.blockshape,
        )? {
            self.frame.meta_set(name, &layer)?;
        }
        self.stored_shape = self.tiles.shape().to_vec();
        Ok(())
    }
}

/// Verifies a frame as [`frame_store::verify`] does, and its array metalayers if it has any.
pub fn verify(
    path: &OsStr,
    options: &Options,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a frame",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io, Opt::At],
    )?;
    let skipping = options.clone().with(Opt::SkipDamaged, 1)?;
    verify_frame(Frame::open(path, Mode::Read, &skipping)?, options, fault)
}

/// Like [`verify`], for the frame `name` in `folder`.
pub fn verify_in(
    folder: &Arc<dyn Folder>,
    name: &OsStr,
    options: &Options,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    let skipping = options.clone().with(Opt::SkipDamaged, 1)?;
    let frame = Frame::open_in(folder, name, Mode::Read, &skipping)?;
    verify_frame(frame, options, fault)
}

fn verify_frame(
    frame: Frame,
    options: &Options,
    mut fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    let mut go_on = true;
    let (is_array, report) = (TiledArray::is_in(&frame), |e: &Error| {
        go_on = fault(e);
        go_on
    });
    let found = if is_array {
        frame.verify_array(report)
    } else {
        frame.verify(report)
    }?;
    if go_on && is_array {
        TiledArray::of_frame(frame, options)
            .err()
            .iter()
            .for_each(|e| _ = fault(e));
    }
    Ok(found)
}

/// Returns whether `name` is the name of an array metalayer.
pub fn is_array_metalayer(name: &str) -> bool {
    name == B2ND || name == CATERVA
}

/// Encodes the array metalayers for this shape.
fn layers(
    metalayers: &[(&'static str, Option<String>)],
    shape: &[u64],
    chunkshape: &[u64],
    blockshape: &[u64],
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let layer = |(name, dtype): &(&'static str, Option<String>)| {
        let layer = ArrayMetalayer {
            shape: shape.to_vec(),
            chunkshape: chunkshape.to_vec(),
            blockshape: blockshape.to_vec(),
            dtype: dtype.clone(),
        };
        Ok((*name, layer.encode()?))
    };
    metalayers.iter().map(layer).collect()
}

/// Returns the grid that a metalayer describes, if it matches the chunks of the frame.
fn tiles_of_layer(layer: &ArrayMetalayer, frame: &Frame, memory_limit: u64) -> Result<ChunkGrid> {
    let tiles = ChunkGrid::new(
        &layer.shape,
        &layer.chunkshape,
        &layer.blockshape,
        frame.typesize(),
        memory_limit,
    )
    .map_err(|e| with_status(e, Status::Format))?;
    let (chunks, have) = (tiles.chunks(), frame.chunks());
    if chunks != have {
        return Err(fail!(
            Format,
            "the shape {:?} in chunks of {:?} requires {chunks} chunks, but the frame has {have}",
            layer.shape,
            layer.chunkshape
        ));
    }
    if have == 0 {
        return Ok(tiles);
    }
    let (chunk, block) = (tiles.chunk_bytes(), tiles.block_bytes());
    if frame.chunk_bytes() != chunk || frame.block_bytes() != block {
        let (found_chunk, found_block) = (frame.chunk_bytes(), frame.block_bytes());
        return Err(fail!(
            Format,
            "wrong chunk and block sizes (expected {chunk} and {block} bytes, found {found_chunk} and {found_block})"
        ));
    }
    Ok(tiles)
}

/// Fails if a frame that is open for writing truncates the precision of items that are not floats:
/// the filter would change their values. Caterva records no dtype.
fn refuse_other_items(frame: &Frame, dtype: &Dtype) -> Result<()> {
    let bits = frame.params().ok().and_then(|p| p.filters.truncation());
    if !frame.is_writable() || bits.is_none() || dtype.item.kind == Kind::Void {
        return Ok(());
    }
    dtype.check_precision("its truncation filter").map_err(|e| {
        let name = Opt::Precision.name();
        let hint = format_args!("{}; open it with {name} 0 to write exact items", e.message);
        fail!(Unsupported, "{}: {hint}", frame.name())
    })
}

/// Returns the dtype of a new array, if a frame can store it.
fn dtype_of(new: &NewTiled) -> Result<Dtype> {
    let dtype = Dtype::parse_argument(new.dtype)?;
    if dtype.item.has_objects() {
        return Err(fail!(
            Unsupported,
            "dtype {}: Python objects cannot be stored",
            dtype.spelling
        ));
    }
    if dtype.item.size == 0 {
        return Err(fail!(
            Unsupported,
            "dtype {}: items of a frame must have at least one byte",
            dtype.spelling
        ));
    }
    if new.shape.len() > MAX_NDIM {
        return Err(fail!(
            Argument,
            "an array of {} dimensions: at most {MAX_NDIM} are supported",
            new.shape.len()
        ));
    }
    Ok(dtype)
}

/// Returns the fill of a new array.
fn fill_of(bytes: &Arc<[u8]>, item: usize) -> Result<Fill> {
    match bytes.len() {
        n if n == item && bytes.iter().any(|b| *b != 0) => Ok(Fill::Item(bytes.clone())),
        0 => Ok(Fill::Zeros),
        n if n == item => Ok(Fill::Zeros),
        n => Err(fail!(
            Argument,
            "{}: wrong size of the fill value (expected {item} bytes, found {n})",
            Opt::Fill.name()
        )),
    }
}

/// Returns the same error about a shape with the status for its source: the file, or the caller.
fn with_status(e: Error, given_by: Status) -> Error {
    match e.status {
        Status::Format | Status::Argument => Error {
            status: given_by,
            ..e
        },
        _ => e,
    }
}
