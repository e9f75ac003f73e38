//! Arrays in Blosc2 frames: chunks along every dimension, and metalayers that say how they lie.
//!
//! Python-blosc2 sees an array by the metalayer `b2nd`, Caterva by `caterva`; a frame may have
//! both. Who changes it with a tool that knows only one of them leaves the other as it was: then
//! the one that fits the chunks counts, `b2nd` first. The next commit of a changed shape makes both
//! say the same.
#![forbid(unsafe_code)]

use super::default_shapes::{self, Wish};
use super::dtype::Dtype;
use super::grid::Positions;
use super::metalayer::{B2ND, CATERVA, Layer, spelling};
use super::nd::Tiles;
use super::nd::tiles::Dim;
use super::selection::MAX_NDIM;
use super::store::Store;
use crate::alloc;
use crate::blosc::{Codec, Params, Target};
use crate::error::{Error, Result, Status, fail};
use crate::io::Folder;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Mode, Verified};
use crate::superchunk::chunks::{Chunks, Encoded, Fill};
use crate::superchunk::frame::{self, Frame, NewFrame};
use std::ffi::OsStr;
use std::sync::Arc;

/// An open array in a frame.
pub struct Tiled {
    frame: Frame,
    tiles: Tiles,
    dtype: Dtype,
    chunkshape: Vec<u64>,
    blockshape: Vec<u64>,
    /// The metalayers that it has, by which name, and the type as each spells it.
    marks: Vec<(&'static str, Option<String>)>,
    /// The shape that they say.
    said: Vec<u64>,
}

/// What a new one is.
pub struct NewTiled<'a> {
    /// Its items, as NumPy spells them.
    pub dtype: &'a str,
    /// Its length along each dimension.
    pub shape: &'a [u64],
    /// The shape of a chunk, if it is given.
    pub chunks: Option<&'a [u64]>,
    /// That of a block.
    pub blocks: Option<&'a [u64]>,
    /// Has it the metalayer `caterva`, and not `b2nd`?
    pub caterva: bool,
}

impl Tiled {
    /// Does a metalayer make this frame an array?
    pub fn is_in(frame: &Frame) -> bool {
        frame.is_fixed(B2ND) || frame.is_fixed(CATERVA)
    }

    /// The array in a frame that is one.
    pub fn of_frame(mut frame: Frame, options: &Options) -> Result<Tiled> {
        let (mut found, mut marks, mut wrong) = (None, Vec::new(), None);
        for name in [B2ND, CATERVA]
            .into_iter()
            .filter(|name| frame.is_fixed(name))
        {
            let within = |e: Error| e.within(format_args!("{}: metalayer {name:?}", frame.name()));
            let layer = frame
                .meta(name)?
                .map(Layer::parse)
                .transpose()
                .map_err(within)?;
            let Some(layer) = layer else { continue };
            marks.push((name, layer.dtype.clone()));
            match tiles_of(&layer, &frame, options.memory_limit()).map_err(within) {
                Ok(tiles) => found = found.or(Some((layer, tiles))),
                Err(e) => wrong = wrong.or(Some(e)),
            }
        }
        let (layer, tiles) = match (found, wrong) {
            (Some(found), _) => found,
            (None, Some(e)) => return Err(e),
            (None, None) => {
                return Err(fail!(
                    Type,
                    "{}: no metalayer makes it an array",
                    frame.name()
                ));
            }
        };
        frame.take_one_length(tiles.chunk_bytes(), tiles.block_bytes());
        // an old layer that fits better has no type
        let typed = marks.iter().find_map(|(_, dtype)| dtype.clone());
        let dtype = Layer {
            dtype: typed,
            ..layer.clone()
        }
        .items(frame.typesize())
        .map_err(|e| e.within(frame.name()))?;
        let Layer {
            shape: said,
            chunkshape,
            blockshape,
            ..
        } = layer;
        Ok(Tiled {
            frame,
            tiles,
            dtype,
            chunkshape,
            blockshape,
            marks,
            said,
        })
    }

    /// Creates an array of zeros, or of a fill value, which cost nothing. It is there with the
    /// first commit. `like`: how chunks are made where the options do not say it.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        new: &NewTiled,
        like: Option<&Params>,
        options: &Options,
    ) -> Result<Tiled> {
        Tiled::create_with(new, like, options, |frame, options| {
            Frame::create(path, mode, frame, options)
        })
    }

    /// The same under a name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<Tiled> {
        Tiled::create_with(new, None, options, |frame, options| {
            Frame::create_in(folder, name, mode, frame, options)
        })
    }

    fn create_with(
        new: &NewTiled,
        like: Option<&Params>,
        options: &Options,
        create: impl FnOnce(&NewFrame, &Options) -> Result<Frame>,
    ) -> Result<Tiled> {
        let dtype = dtype_of(new)?;
        let item = dtype.item.size;
        if let (Some(_), Some(n)) = (new.chunks, options.given(Opt::ChunkBytes)) {
            return Err(fail!(
                Argument,
                "a shape of chunks, and {}: {n}: only one of them can be given",
                Opt::ChunkBytes.name()
            ));
        }
        if let (Some(_), Some(n)) = (new.blocks, options.given(Opt::BlockBytes)) {
            return Err(fail!(
                Argument,
                "a shape of blocks, and {}: {n}: only one of them can be given",
                Opt::BlockBytes.name()
            ));
        }
        let mut options = options.clone();
        let mut taken = |opt| options.take(opt).map(|n| n as u64);
        let wish = Wish {
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
        let (chunkshape, blockshape) = default_shapes::choose(new.shape, item, &wish)?;
        let tiles = Tiles::new(
            new.shape,
            &chunkshape,
            &blockshape,
            item,
            options.memory_limit(),
        );
        let tiles = tiles.map_err(|e| with_status(e, Status::Argument))?;
        let marks: Vec<_> = [(B2ND, !new.caterva || both), (CATERVA, new.caterva || both)]
            .into_iter()
            .filter(|(_, wanted)| *wanted)
            .map(|(name, _)| (name, (name == B2ND).then(|| spelling(&dtype))))
            .collect();
        let said = new.shape.to_vec();
        let layers = layers(&marks, &said, &chunkshape, &blockshape)?;
        let mut params = like
            .cloned()
            .unwrap_or_else(|| Params::new(Target::Blosc2, Codec::Lz4, 5, item));
        (params.typesize, params.blocksize) = (item, Some(tiles.block_bytes()));
        let params = frame::take_wished(&mut options, &params)?;
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
        Ok(Tiled {
            frame,
            tiles,
            dtype,
            chunkshape,
            blockshape,
            marks,
            said,
        })
    }

    /// Refuses a copy that would take the place of what it is made from.
    pub fn refuse_itself(&self, folder: &Arc<dyn Folder>, name: &OsStr) -> Result<()> {
        if self.frame.is_named(folder, name)? {
            return Err(fail!(
                Argument,
                "{}: a copy cannot take the place of what it is made from",
                self.frame.name()
            ));
        }
        Ok(())
    }

    /// Takes over the named values of another frame, as they are. False: it is none.
    pub fn take_attrs(&mut self, from: &dyn Store) -> Result<bool> {
        let any: &dyn std::any::Any = from;
        let Some(from) = any.downcast_ref::<Frame>() else {
            return Ok(false);
        };
        for name in from.meta_names().filter(|name| !is_mark(name)) {
            let value = from.meta(name)?.unwrap_or_default();
            if from.is_fixed(name) {
                self.frame.meta_set(name, value)?
            } else {
                self.frame.vlmeta_set(name, value)?
            }
        }
        Ok(true)
    }

    /// Takes over the chunks of an array of this shape and dtype whose chunks have the shape of
    /// these, and whose blocks have: as they are stored where the options do not say how they
    /// are made; those that take no room take none here. False: they have another shape. True
    /// behind that: some of it was damaged.
    pub fn take_chunks(&mut self, from: &Tiled, options: &Options) -> Result<Option<bool>> {
        if self.chunkshape != from.chunkshape || self.chunkshape.contains(&0) {
            return Ok(None);
        }
        let made = [Opt::Codec, Opt::Level]
            .iter()
            .any(|o| options.given(*o).is_some())
            || options.given_bytes(Opt::Filters).is_some();
        let (same, n, mut bad) = (
            self.blockshape == from.blockshape,
            self.tiles.chunks(),
            from.frame.is_doubtful(),
        );
        let (all, mut items) = (self.nbytes(), Vec::new());
        for i in 0..n {
            bad |= match Chunks::fill(&from.frame, i)? {
                _ if same => from.frame.copy_chunk(i, &mut self.frame, made)?,
                // the same item in each position, however they are cut into blocks
                Some(fill) if fill.is_of_items(from.tiles.item()) => from
                    .frame
                    .copy_fill(i, &mut self.frame, fill)
                    .map(|()| false)?,
                _ => self.take_items_of(i, from, &mut items)?,
            };
            options.progress(
                (u128::from(all) * u128::from(i + 1) / u128::from(n)) as u64,
                all,
            )?;
        }
        Ok(Some(bad))
    }

    /// The items of one chunk, by way of a buffer.
    fn take_items_of(&mut self, chunk: u64, from: &Tiled, buffer: &mut Vec<u8>) -> Result<bool> {
        let places = self.tiles.places(chunk, Dim::chunks);
        let start: Vec<u64> = self
            .tiles
            .dims()
            .iter()
            .zip(places)
            .map(|(dim, place)| place * dim.chunk)
            .collect();
        let count: Vec<u64> = self
            .tiles
            .dims()
            .iter()
            .zip(&start)
            .map(|(dim, at)| dim.chunk.min(dim.len - at))
            .collect();
        let bytes = count
            .iter()
            .fold(self.tiles.item() as u64, |n, d| n.saturating_mul(*d));
        if (buffer.len() as u64) < bytes {
            *buffer = alloc::zeroed(alloc::allow(
                bytes,
                self.memory_limit(),
                "a chunk of a copy",
            )?)?;
        }
        let items = buffer.get_mut(..bytes as usize).unwrap_or_default();
        let bad = from.read(&start, &count, None, items, None)?;
        self.write(&start, &count, None, items, None).map(|()| bad)
    }

    // ---- what it is

    /// See [`Array::shape`](super::Array::shape), and so on.
    pub fn shape(&self) -> &[u64] {
        self.tiles.shape()
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

    // ---- its items

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
            || self.frame.is_doubtful())
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
        Ok(self.tiles.read_points(&self.frame, coordinates, n, dst)? || self.frame.is_doubtful())
    }

    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        Ok(self.tiles.read_orthogonal(&self.frame, positions, dst)? || self.frame.is_doubtful())
    }

    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        self.tiles.write_orthogonal(&mut self.frame, positions, src)
    }

    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        // refuses a handle that reads, as below
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

    /// Makes the metalayers say the shape that it has: they and the chunks count with one commit of
    /// the frame.
    pub fn settle(&mut self) -> Result<()> {
        self.tiles.check()?;
        if self.said == self.tiles.shape() {
            return Ok(());
        }
        for (name, layer) in layers(
            &self.marks,
            self.tiles.shape(),
            &self.chunkshape,
            &self.blockshape,
        )? {
            self.frame.meta_set(name, &layer)?;
        }
        self.said = self.tiles.shape().to_vec();
        Ok(())
    }
}

/// Verifies a frame, as [`frame::verify`], and what makes it an array, where something does.
pub fn verify(
    path: &OsStr,
    options: &Options,
    mut fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a frame",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io, Opt::At],
    )?;
    let skipping = options.clone().with(Opt::SkipDamaged, 1)?;
    let frame = Frame::open(path, Mode::Read, &skipping)?;
    let mut go_on = true;
    let (is_array, tell) = (Tiled::is_in(&frame), |e: &Error| {
        go_on = fault(e);
        go_on
    });
    let found = if is_array {
        frame.verify_array(tell)
    } else {
        frame.verify(tell)
    }?;
    if go_on && is_array {
        Tiled::of_frame(frame, options)
            .err()
            .iter()
            .for_each(|e| _ = fault(e));
    }
    Ok(found)
}

/// Is this the name of a metalayer that makes an array?
pub fn is_mark(name: &str) -> bool {
    name == B2ND || name == CATERVA
}

/// The metalayers of an array of this shape.
fn layers(
    marks: &[(&'static str, Option<String>)],
    shape: &[u64],
    chunkshape: &[u64],
    blockshape: &[u64],
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let layer = |(name, dtype): &(&'static str, Option<String>)| {
        let layer = Layer {
            shape: shape.to_vec(),
            chunkshape: chunkshape.to_vec(),
            blockshape: blockshape.to_vec(),
            dtype: dtype.clone(),
        };
        Ok((*name, layer.encode()?))
    };
    marks.iter().map(layer).collect()
}

/// The grid that a metalayer tells of, if it is that of the chunks of this frame.
fn tiles_of(layer: &Layer, frame: &Frame, memory_limit: u64) -> Result<Tiles> {
    let tiles = Tiles::new(
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
            "the shape {:?} in chunks of {:?} has {chunks} chunks, the frame has {have}",
            layer.shape,
            layer.chunkshape
        ));
    }
    if have == 0 {
        return Ok(tiles);
    }
    let (chunk, block) = (tiles.chunk_bytes(), tiles.block_bytes());
    if frame.chunk_bytes() != chunk || frame.block_bytes() != block {
        let (chunk_there, block_there) = (frame.chunk_bytes(), frame.block_bytes());
        return Err(fail!(
            Format,
            "chunks of {chunk} bytes with blocks of {block} were expected, those of the frame have {chunk_there} with blocks of {block_there}"
        ));
    }
    Ok(tiles)
}

/// The type that was asked for, if a frame can have it.
fn dtype_of(new: &NewTiled) -> Result<Dtype> {
    let dtype = Dtype::wanted(new.dtype)?;
    if dtype.item.has_objects() {
        return Err(fail!(
            Unsupported,
            "dtype {}: objects of Python's mean nothing in a file",
            dtype.spelling
        ));
    }
    if dtype.item.size == 0 {
        return Err(fail!(
            Unsupported,
            "dtype {}: items of a frame have one byte at least",
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

/// What is everywhere in a new array.
fn fill_of(bytes: &Arc<[u8]>, item: usize) -> Result<Fill> {
    match bytes.len() {
        n if n == item && bytes.iter().any(|b| *b != 0) => Ok(Fill::Item(bytes.clone())),
        0 => Ok(Fill::Zeros),
        n if n == item => Ok(Fill::Zeros),
        n => Err(fail!(
            Argument,
            "{}: {n} bytes, an item has {item}",
            Opt::Fill.name()
        )),
    }
}

/// Returns the same error about a shape with the status of who gave the shape: the file, or the
/// caller.
fn with_status(e: Error, given_by: Status) -> Error {
    match e.status {
        Status::Format | Status::Argument => Error {
            status: given_by,
            ..e
        },
        _ => e,
    }
}
