//! The array type of the library: a linear run of items, or chunks along every dimension.
#![forbid(unsafe_code)]

use super::boxes::Along;
use super::chunked::{ChunkedArray, ChunkedStore};
use super::grid::Positions;
use super::linear::LinearArray;
use super::msgpack_json::{self, Attr};
use super::nd::ChunkGrid;
use super::new_location::NewLocation;
use super::store::{Store, Texts};
use super::tiled::{NewTiled, TiledArray};
use super::view::View;
use crate::alloc;
use crate::blosc::{Params, StoredEncoding};
use crate::checksum::Checksum;
use crate::dtype::Dtype;
use crate::dtype::numpy_meta::{ArrayMeta, Order, with_attrs};
use crate::dtype::python_literal::Literal;
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::journal::Session;
use crate::io::{Folder, locate, object};
use crate::options::{Opt, Options};
use crate::progress::{Progress, Scope, Step, measured};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::{Bloscpack, Destination, Mode};
use crate::superchunk::frame::{self, Frame, Proxy};
use std::ffi::OsStr;
use std::sync::Arc;

/// Number of bytes that a copy holds in memory at once, unless one chunk is larger.
pub(super) const COPY_BYTES: u64 = 64 << 20;

/// An open array. The handle sees its own changes immediately; other handles see them after a
/// commit.
pub struct Array {
    /// Shared by the array and its slices.
    pub(super) body: Arc<Body>,
    /// The callback of the options: read by each call, so it is not asked of the store.
    progress: Option<Progress>,
}

pub enum Body {
    Linear(LinearArray),
    Tiled(Box<TiledArray>),
    Chunked(Box<ChunkedArray>),
    View(View),
}

macro_rules! dispatch {
    ($array:expr, $a:ident => $result:expr) => {
        match $array {
            Body::Linear($a) => $result,
            Body::Tiled($a) => $result,
            Body::Chunked($a) => $result,
            Body::View($a) => $result,
        }
    };
}

/// As `dispatch`, of an array that is changed. Slices are read-only.
macro_rules! dispatch_mut {
    ($array:expr, $a:ident => $result:expr) => {
        match $array.body_mut()? {
            Body::Linear($a) => $result,
            Body::Tiled($a) => $result,
            Body::Chunked($a) => $result,
            Body::View(view) => Err(view.read_only()),
        }
    };
}

impl Body {
    /// Returns the array of which a view is one, otherwise the array itself.
    pub fn base(&self) -> &Body {
        match self {
            Body::View(view) => view.base(),
            body => body,
        }
    }

    /// Returns the memory limit, as [`Array::memory_limit`].
    pub fn memory_limit(&self) -> u64 {
        match self.base() {
            Body::Linear(a) => a.memory_limit(),
            Body::Tiled(a) => a.memory_limit(),
            Body::Chunked(a) => a.memory_limit(),
            // a view is one of an array
            Body::View(_) => 0,
        }
    }

    pub fn nbytes(&self) -> u64 {
        dispatch!(self, a => a.nbytes())
    }

    pub fn shape(&self) -> &[u64] {
        dispatch!(self, a => a.shape())
    }

    pub fn chunkshape(&self) -> &[u64] {
        dispatch!(self, a => a.chunkshape())
    }

    pub fn blockshape(&self) -> &[u64] {
        dispatch!(self, a => a.blockshape())
    }

    pub fn store(&self) -> &dyn Store {
        match self {
            Body::Linear(a) => a.store(),
            Body::Tiled(a) => a.store(),
            Body::Chunked(a) => a.store(),
            Body::View(view) => view.base().store(),
        }
    }

    pub fn dtype(&self) -> &Dtype {
        match self {
            Body::Linear(a) => a.dtype(),
            Body::Tiled(a) => a.dtype(),
            Body::Chunked(a) => a.dtype(),
            Body::View(view) => view.base().dtype(),
        }
    }

    pub fn fill(&self) -> Result<Option<&[u8]>> {
        match self {
            Body::View(view) => view.fill(),
            body => body.store().fill(),
        }
    }

    /// Reads a box. See [`Array::read`].
    #[inline]
    pub fn read(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        dispatch!(self, a => a.read(start, count, step, dst, strides))
    }

    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        dispatch!(self, a => a.read_points(coordinates, n, dst))
    }

    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        dispatch!(self, a => a.read_orthogonal(positions, dst))
    }
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

impl From<TiledArray> for Array {
    fn from(tiled: TiledArray) -> Array {
        Array::with_body(Body::Tiled(Box::new(tiled)))
    }
}

impl Array {
    /// Opens an existing array: a Bloscpack file, or a Blosc2 frame in a file or a folder.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Array> {
        let _scope = object::request_scope(options);
        if locate::is_folder(path) {
            return Array::open_in(&locate::folder(path)?, OsStr::new(""), mode, options);
        }
        let location = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        if mode == Mode::Read
            && let Some(proxy) = Proxy::find(&location.folder, &location.name, options)?
        {
            return proxy.open(options, |path, options| Array::open(path, mode, options));
        }
        Array::open_in(&location.folder, &location.name, mode, options)
    }

    /// Opens the array `name` in `folder`.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Array> {
        let folder = &frame::for_opening(folder, mode);
        if frame::is_frame(folder, name, options)? {
            return Array::of_frame(Frame::open_in(folder, name, mode, options)?, options);
        }
        LinearArray::of_file(Bloscpack::open_in(folder, name, mode, options)?, options)
            .map(Array::linear)
    }

    /// Creates an array in a frame that is committed together with others.
    pub fn create_member(
        session: &Arc<Session>,
        name: &OsStr,
        new: &NewTiled,
        options: &Options,
    ) -> Result<Array> {
        TiledArray::create_member(session, name, new, options).map(Array::from)
    }

    /// Opens an array in a frame for writing that is committed together with others.
    pub fn open_member(session: &Arc<Session>, name: &OsStr, options: &Options) -> Result<Array> {
        Array::of_frame(Frame::open_member(session, name, options)?, options)
    }

    /// Opens the array in a frame. A frame without an array metalayer is one dimension of items.
    fn of_frame(frame: Frame, options: &Options) -> Result<Array> {
        if let Some(e) = frame.lost_header() {
            return Err(Error {
                status: Status::Type,
                ..e.clone()
            });
        }
        if TiledArray::is_in(&frame) {
            return Ok(TiledArray::of_frame(frame, options)?.into());
        }
        let (meta, chunk) = super::frame_store::plain(&frame)?;
        LinearArray::over(Box::new(frame), meta, vec![chunk], options).map(Array::linear)
    }

    /// Creates the array over a store that holds exactly its items.
    pub fn over(
        store: Box<dyn Store>,
        meta: ArrayMeta,
        chunkshape: Vec<u64>,
        options: &Options,
    ) -> Result<Array> {
        LinearArray::over(store, meta, chunkshape, options).map(Array::linear)
    }

    /// Creates the array over a store that has the chunks of this grid.
    pub fn over_chunks(store: Box<dyn ChunkedStore>, grid: ChunkGrid, dtype: Dtype) -> Array {
        let chunked = ChunkedArray::over(store, grid, dtype);
        Array::with_body(Body::Chunked(Box::new(chunked)))
    }

    fn linear(linear: LinearArray) -> Array {
        Array::with_body(Body::Linear(linear))
    }

    fn with_body(body: Body) -> Array {
        let progress = body.store().progress().cloned();
        let body = Arc::new(body);
        Array { body, progress }
    }

    /// Returns the array for a change, or an error if slices of it are open: their content must not
    /// change.
    pub(super) fn body_mut(&mut self) -> Result<&mut Body> {
        // the borrow of an early return would last as long as the result
        if Arc::get_mut(&mut self.body).is_none() {
            return Err(fail!(
                State,
                "{}: slices of the array are open; close them before it is changed",
                self.store().name()
            ));
        }
        Arc::get_mut(&mut self.body).ok_or_else(|| fail!(State, "the array is shared"))
    }

    // ---- views

    /// Returns a view of `count` indices of each dimension, from `start` on, `step` apart. The view
    /// is read-only and shares the files of the array. Steps can be negative.
    pub fn slice(&self, start: &[u64], count: &[u64], step: Option<&[i64]>) -> Result<Array> {
        self.viewed(|view| view.slice(start, count, step))
    }

    /// Returns a view without dimension `axis`, whose length must be 1.
    pub fn squeeze(&self, axis: usize) -> Result<Array> {
        self.viewed(|view| view.squeeze(axis))
    }

    /// Returns a view with a new dimension `axis` of length 1.
    pub fn expand_dims(&self, axis: usize) -> Result<Array> {
        self.viewed(|view| view.expand_dims(axis))
    }

    /// Returns whether views share the array, which cannot be changed then.
    pub fn has_views(&self) -> bool {
        Arc::strong_count(&self.body) > 1
    }

    fn viewed(&self, f: impl FnOnce(&View) -> Result<View>) -> Result<Array> {
        let view = match &*self.body {
            Body::View(view) => f(view),
            _ => f(&View::of(Arc::clone(&self.body))),
        }?;
        let progress = self.progress.clone();
        let body = Arc::new(Body::View(view));
        Ok(Array { body, progress })
    }

    /// Creates an array of zeros in a Bloscpack file, in C order. The file exists after the first
    /// commit. `chunks` is the shape of a chunk. It consists of whole rows: all dimensions but the
    /// first must be equal to those of `shape`.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        dtype: &str,
        shape: &[u64],
        chunks: Option<&[u64]>,
        options: &Options,
    ) -> Result<Array> {
        let location = locate::locate_for_change(path)?;
        Array::create_in(
            &location.folder,
            &location.name,
            mode,
            dtype,
            shape,
            chunks,
            options,
        )
    }

    /// Like [`Array::create`], under `name` in `folder`.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        dtype: &str,
        shape: &[u64],
        chunks: Option<&[u64]>,
        options: &Options,
    ) -> Result<Array> {
        LinearArray::create_in(folder, name, mode, dtype, shape, chunks, options).map(Array::linear)
    }

    /// Creates an array in a Blosc2 frame. The frame exists after the first commit.
    pub fn create_frame(
        path: &OsStr,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<Array> {
        TiledArray::create(path, mode, new, None, options).map(Array::from)
    }

    /// Like [`Array::create_frame`], under `name` in `folder`.
    pub fn create_frame_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<Array> {
        TiledArray::create_in(folder, name, mode, new, None, options).map(Array::from)
    }

    /// Returns the attributes as JSON by name. For a Bloscpack file these are all members of its
    /// metadata that do not describe the array; for a frame they are its metalayers.
    pub fn attrs(&self) -> Result<Vec<Attr>> {
        match self.body.base() {
            Body::Linear(linear) => linear.attrs(),
            Body::Chunked(chunked) => chunked.attrs(),
            body => msgpack_json::of_frame(body.store()),
        }
    }

    /// Returns whether the attributes are corrupt and the options request to skip corrupt data.
    pub fn has_lost_attrs(&self) -> bool {
        match self.body.base() {
            Body::Linear(linear) => linear.has_lost_attrs(),
            Body::Chunked(chunked) => chunked.has_lost_attrs(),
            _ => false,
        }
    }

    /// Copies the array, with all uncommitted changes, into a Bloscpack file with array metadata.
    /// `chunks` is the shape of a chunk, as for [`Array::create`], with rows along the slowest
    /// dimension; `None` keeps the current one. Everything else is as for [`Bloscpack::copy`].
    pub fn copy(&self, to: Destination, chunks: Option<&[u64]>) -> Result<bool> {
        match (&*self.body, self.body.base()) {
            (Body::Linear(linear), _) => linear.copy(to, chunks),
            (Body::View(view), Body::Linear(linear)) => {
                let read = |at, dst: &mut [u8]| view.read_packed(at, dst);
                linear.copy_view(to, chunks, view.shape(), &read)
            }
            _ => {
                let Destination {
                    folder,
                    name,
                    mode,
                    options,
                } = to;
                self.refuse_same_file(&folder, &name)?;
                let scope = Scope::open(options.progress(), self.nbytes(), Step::Call);
                let mut new = Array::create_in(
                    &folder,
                    &name,
                    mode,
                    &self.dtype().spelling,
                    self.shape(),
                    chunks,
                    &options,
                )?;
                let json = String::from_utf8_lossy(new.meta()?).trim_end().to_owned();
                new.meta_set(with_attrs(json, &self.attrs()?).as_bytes())?;
                new.copy_items_from(self, options.memory_limit(), scope)
            }
        }
    }

    /// Returns an error if `name` in `folder` is the frame of this array.
    fn refuse_same_file(&self, folder: &Arc<dyn Folder>, name: &OsStr) -> Result<()> {
        match self.body.base() {
            Body::Tiled(tiled) => tiled.refuse_same_file(folder, name),
            _ => Ok(()),
        }
    }

    /// Copies the array into a new frame. Keeps the chunk shape, block shape, codec and filters
    /// unless the options specify others. Returns `true` if some of the array was corrupt and is
    /// zeros in the copy.
    pub fn copy_to_frame(
        &self,
        to: NewLocation,
        mode: Mode,
        new: &NewTiled,
        options: &Options,
    ) -> Result<bool> {
        let mut new = NewTiled { ..*new };
        let shapes;
        if let Body::Tiled(tiled) = self.body.base() {
            let file = to.destination(mode, options)?;
            tiled.refuse_same_file(&file.folder, &file.name)?;
            shapes = [tiled.chunkshape(), tiled.blockshape()].map(|lengths| match &*self.body {
                Body::View(view) => view.lengths_in_copy(lengths),
                _ => lengths.to_vec(),
            });
            let [chunks, blocks] = &shapes;
            let as_here = |opt: Opt| options.given(opt).is_none() && new.chunks.is_none();
            if as_here(Opt::ChunkBytes) && !chunks.contains(&0) {
                new.chunks = Some(chunks);
                if new.blocks.is_none() && options.given(Opt::BlockBytes).is_none() {
                    new.blocks = Some(blocks);
                }
            }
        }
        if let Body::Chunked(chunked) = &*self.body
            && options.given(Opt::ChunkBytes).is_none()
            && !chunked.chunkshape().contains(&0)
        {
            new.chunks = new.chunks.or(Some(chunked.chunkshape()));
        }
        let (params, lost) = (self.params(), self.has_lost_attrs());
        let scope = Scope::open(options.progress(), self.nbytes(), Step::Call);
        let mut copy = match to {
            NewLocation::Path(path) => TiledArray::create(path, mode, &new, params, options)?,
            NewLocation::Storage(folder) => {
                TiledArray::create_in(folder, OsStr::new(""), mode, &new, params, options)?
            }
        };
        if !copy.copy_attrs_from(self.store())? {
            self.attrs()?.iter().try_for_each(|(name, json)| {
                copy.store_mut()
                    .attr_set(name, &msgpack_json::from_json(json))
            })?;
        }
        let origin = match &*self.body {
            Body::View(view) => view.box_origin(),
            body => Some(vec![0; body.shape().len()]),
        };
        if let (Body::Tiled(tiled), Some(origin)) = (self.body.base(), origin)
            && let Some(damaged) = copy.copy_chunks_from(tiled, &origin, options, &scope)?
        {
            Array::from(copy).commit()?;
            scope.finish();
            return Ok(damaged);
        }
        Array::from(copy)
            .copy_items_from(self, options.memory_limit(), scope)
            .map(|damaged| damaged | lost)
    }

    /// Returns the compression parameters if the array is stored in a frame.
    pub(super) fn params(&self) -> Option<&Params> {
        let store: &dyn std::any::Any = self.store();
        store
            .downcast_ref::<Frame>()
            .and_then(|frame| frame.params().ok())
    }

    /// Writes all items of another array of the same shape, commits, and ends the scope of the
    /// copy. Returns `true` if some of the items were corrupt.
    fn copy_items_from(&mut self, from: &Array, memory_limit: u64, scope: Scope) -> Result<bool> {
        let (shape, item) = (from.shape(), from.itemsize() as u64);
        let bytes = |lengths: &[u64]| lengths.iter().fold(item, |n, d| n.saturating_mul(*d));
        let lengths = copy_box(shape, self, COPY_BYTES.min(memory_limit) / item.max(1));
        let mut buffer =
            alloc::zeroed(alloc::allow(bytes(&lengths), memory_limit, "copy buffer")?)?;
        let (mut start, mut damaged, mut done) = (vec![0; shape.len()], false, 0);
        while !shape.contains(&0) {
            let count: Vec<u64> = start
                .iter()
                .zip(&lengths)
                .zip(shape)
                .map(|((at, n), all)| *n.min(&(all - at)))
                .collect();
            let part = buffer.at_mut(..bytes(&count) as usize)?;
            damaged |= from.read(&start, &count, None, part, None)?;
            self.write(&start, &count, None, part, None)?;
            done += part.len() as u64;
            scope.at(done)?;
            if !next_box(&mut start, &lengths, shape) {
                break;
            }
        }
        self.commit()?;
        scope.finish();
        Ok(damaged)
    }

    // ---- properties

    /// Returns the format. A frame without array metalayers is [`Format::B2Frame`].
    pub fn format(&self) -> Format {
        match self.body.base() {
            Body::Tiled(tiled) => tiled.format(),
            body => body.store().format(),
        }
    }

    /// Returns how the chunks are encoded.
    pub fn encoding(&self) -> StoredEncoding {
        self.store().encoding()
    }

    /// Returns the checksum of a chunk.
    pub fn checksum(&self) -> Checksum {
        self.store().checksum()
    }

    /// Returns the length along each dimension.
    pub fn shape(&self) -> &[u64] {
        self.body.shape()
    }

    /// Returns the shape of a chunk. For a linear array this is the number of whole rows in a
    /// chunk, at least one; a row is everything at one index of the slowest dimension. The value is
    /// only a hint if chunks do not consist of whole rows or differ in length.
    pub fn chunkshape(&self) -> &[u64] {
        self.body.chunkshape()
    }

    /// Returns the shape of a block, the smallest part of a chunk that can be decoded alone. For a
    /// linear array these are the blocks of the first chunk, or whole chunks before the first chunk
    /// is written.
    pub fn blockshape(&self) -> &[u64] {
        self.body.blockshape()
    }

    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    /// Returns the dimension of the array that stores the items that dimension `d` is, if it has it.
    pub(super) fn stored_axis(&self, d: usize) -> Option<usize> {
        match &*self.body {
            Body::View(view) => view.axis(d),
            body => (d < body.shape().len()).then_some(d),
        }
    }

    /// Returns where the indices of dimension `d` are in the array that stores them.
    pub fn along(&self, d: usize) -> Along {
        let body = match &*self.body {
            Body::View(view) => return view.along(d),
            body => body,
        };
        let length = |shape: &[u64]| shape.get(d).copied().unwrap_or(1);
        Along {
            origin: 0,
            step: 1,
            units: [body.chunkshape(), body.blockshape()].map(length),
        }
    }

    /// Returns the dtype of the items.
    pub fn dtype(&self) -> &Dtype {
        self.body.dtype()
    }

    /// Returns the dtype as text, as it is spelled in the file, without the quotes of a Python
    /// string literal.
    pub fn dtype_text(&self) -> String {
        let spelling = &self.dtype().spelling;
        let plain = Literal::parse(spelling)
            .ok()
            .and_then(|l| l.text().map(str::to_owned));
        plain.unwrap_or_else(|| spelling.clone())
    }

    /// Returns the order of the items; that of the items in a chunk, if the array is in chunks along
    /// every dimension.
    pub fn order(&self) -> Order {
        match self.body.base() {
            Body::Linear(a) => a.order(),
            Body::Chunked(a) => a.order(),
            _ => Order::C,
        }
    }

    /// Returns whether a store that is not a frame has the array in chunks along every dimension.
    pub fn is_chunked(&self) -> bool {
        matches!(&*self.body, Body::Chunked(_))
    }

    /// Returns whether the items are one run in Fortran order.
    pub fn is_run_in_fortran_order(&self) -> bool {
        matches!(self.body.base(), Body::Linear(a) if a.order() == Order::Fortran)
    }

    /// Returns the size of an item in bytes.
    pub fn itemsize(&self) -> usize {
        self.dtype().item.size
    }

    /// Returns the size of all items in bytes.
    pub fn nbytes(&self) -> u64 {
        self.body.nbytes()
    }

    /// Returns the size in bytes of the file as of the last commit.
    pub fn cbytes(&self) -> Result<u64> {
        self.store().cbytes()
    }

    /// Returns the memory limit in bytes for allocations whose size comes from the file.
    pub fn memory_limit(&self) -> u64 {
        self.body.memory_limit()
    }

    /// Returns the store of the array.
    pub fn store(&self) -> &dyn Store {
        self.body.store()
    }

    /// Returns the store for changes. Only the array itself may change the shape and the content.
    pub fn store_mut(&mut self) -> Result<&mut dyn Store> {
        dispatch_mut!(self, a => Ok(a.store_mut()))
    }

    /// Returns the fill value, one item or one row; `None` means zeros.
    pub fn fill(&self) -> Result<Option<&[u8]>> {
        self.body.fill()
    }

    /// Returns item `i` of an array of Python objects in pickled form.
    pub fn object(&self, i: u64) -> Result<Vec<u8>> {
        match &*self.body {
            Body::View(view) => view.object(i),
            body => body.store().object(i),
        }
    }

    /// Returns `n` items of any length from `first` on, each as [`Array::object`] does.
    pub fn values(&self, first: u64, n: u64) -> Result<Texts> {
        if !self.store().has_objects() || self.shape().len() != 1 {
            return Err(fail!(
                Type,
                "{}: the items have {} bytes each (expected values of any length, in one dimension)",
                self.store().name(),
                self.itemsize()
            ));
        }
        self.texts(first, n)
    }

    /// Returns `n` items from `first` on of an array of texts.
    pub fn texts(&self, first: u64, n: u64) -> Result<Texts> {
        let end = first.checked_add(n);
        let length = self.shape().first().copied().unwrap_or(0);
        if end.is_none_or(|end| end > length) {
            return Err(fail!(
                Range,
                "{}: {n} items from {first} on are out of range; the length is {length}",
                self.store().name()
            ));
        }
        match &*self.body {
            Body::View(view) => view.texts(first, n),
            body => body.store().texts(first, n),
        }
    }

    /// Returns the JSON metadata of a Bloscpack file, as of the last commit or the last call of
    /// [`Array::meta_set`].
    pub fn meta(&self) -> Result<&[u8]> {
        Ok(self.store().meta()?.unwrap_or_default())
    }

    /// Sets the metadata. They must describe the same array; other members may be arbitrary.
    pub fn meta_set(&mut self, json: &[u8]) -> Result<()> {
        match self.body_mut()? {
            Body::Linear(a) => a.meta_set(json),
            Body::Chunked(a) => a.store_mut().attr_set("", json),
            Body::Tiled(a) => Err(fail!(
                Unsupported,
                "{}: a Blosc2 frame has metalayers instead of JSON metadata; set an attribute",
                a.store().name()
            )),
            Body::View(view) => Err(view.read_only()),
        }
    }

    /// Sets an attribute. That of a Bloscpack file is its metadata.
    pub fn attr_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        // the array, not its store, checks that metadata describe the same array
        if name.is_empty() && self.store().meta()?.is_some() {
            return self.meta_set(value);
        }
        self.store_mut()?.attr_set(name, value)
    }

    /// Sets an attribute in the header of a frame.
    pub fn attr_set_fixed(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.store_mut()?.attr_set_fixed(name, value)
    }

    /// Removes an attribute, if it exists.
    pub fn attr_remove(&mut self, name: &str) -> Result<()> {
        self.store_mut()?.attr_remove(name)
    }

    /// Sets the fill value for items that are added from now on. Items that were added before keep
    /// the previous value.
    pub fn fill_set(&mut self, value: &[u8]) -> Result<()> {
        match self.body_mut()? {
            Body::Linear(a) => a.fill_set(value),
            Body::Tiled(a) => a.store_mut().fill_set(value),
            Body::Chunked(a) => a.store_mut().fill_set(value),
            Body::View(view) => Err(view.read_only()),
        }
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    // ---- reading and writing

    /// Returns the number of positions from `start` to the end of each dimension, `step` apart.
    pub fn count_from(&self, start: &[u64], step: Option<&[u64]>) -> Result<Vec<u64>> {
        let count = |(d, (from, len)): (usize, (&u64, &u64))| {
            let rest = len.checked_sub(*from).ok_or_else(|| {
                fail!(
                    Range,
                    "dimension {d}: start {from} is out of range; the length is {len}"
                )
            })?;
            // reading refuses steps of 0
            let step = step.and_then(|step| step.get(d)).copied().unwrap_or(1);
            Ok(rest.div_ceil(step.max(1)))
        };
        start
            .iter()
            .zip(self.shape())
            .enumerate()
            .map(count)
            .collect()
    }

    /// Returns the first position of each dimension, or the last one where the step is negative.
    pub fn first_of(&self, step: Option<&[i64]>) -> Vec<u64> {
        let first = |(d, n): (usize, &u64)| match step.and_then(|step| step.get(d)) {
            Some(step) if *step < 0 => n.saturating_sub(1),
            _ => 0,
        };
        self.shape().iter().enumerate().map(first).collect()
    }

    /// As [`Array::count_from`], where steps can be negative.
    pub fn count_along(&self, start: &[u64], step: Option<&[i64]>) -> Result<Vec<u64>> {
        let absolute: Option<Vec<u64>> =
            step.map(|step| step.iter().map(|by| by.unsigned_abs()).collect());
        let mut counts = self.count_from(start, absolute.as_deref())?;
        let dims = counts.iter_mut().zip(self.shape()).zip(start);
        for (((n, len), from), by) in dims.zip(step.unwrap_or_default()) {
            if *by < 0 && from < len {
                *n = from / by.unsigned_abs() + 1;
            }
        }
        Ok(counts)
    }

    /// Reads the items `start[d]`, `start[d] + step[d]`, ... (`count[d]` of them) along each
    /// dimension `d`. Without `step`, all steps are 1.
    ///
    /// `strides[d]` is the distance in bytes between two consecutive items in `dst`. Without
    /// `strides`, the items are packed in C order. The box begins at the first byte of `dst`: if a
    /// stride is negative, the first item of that dimension is at the far end. Returns `true` if
    /// some of the items were corrupt and are zeros, as the options requested.
    pub fn read(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        // not `measured`: the read is compiled once, for the shortest path of reads of single items
        let scope = (self.progress.as_ref())
            .map(|callback| Scope::open(Some(callback), self.box_bytes(count), Step::Decode));
        let damaged = self.body.read(start, count, step, dst, strides)?;
        if let Some(scope) = scope {
            scope.finish();
        }
        Ok(damaged)
    }

    /// Writes a box from a buffer with the layout that [`Array::read`] describes. On failure, part
    /// of it may be written.
    pub fn write(
        &mut self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        let (progress, total) = (self.progress.clone(), self.box_bytes(count));
        measured(
            progress,
            total,
            Step::Encode,
            || dispatch_mut!(self, a => a.write(start, count, step, src, strides)),
        )
    }

    /// Reads single items. `coordinates` has one index per dimension, item after item.
    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        let read = || self.body.read_points(coordinates, n, dst);
        let total = self.box_bytes(&[n as u64]);
        measured(self.progress.clone(), total, Step::Decode, read)
    }

    /// Reads all combinations of the positions of each dimension, packed in C order.
    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        let total = dst.len() as u64;
        let read = || self.body.read_orthogonal(positions, dst);
        measured(self.progress.clone(), total, Step::Decode, read)
    }

    /// Writes all combinations of the positions of each dimension. If a position occurs twice, the
    /// last occurrence wins.
    pub fn write_orthogonal(&mut self, positions: &Positions, src: &[u8]) -> Result<()> {
        measured(
            self.progress.clone(),
            src.len() as u64,
            Step::Encode,
            || dispatch_mut!(self, a => a.write_orthogonal(positions, src)),
        )
    }

    /// Returns an error if `newer`, at the same path, is not a later state of this array: number of
    /// dimensions or dtype differ. Calls of a C program, which has buffers and positions for the
    /// array that it opened, would access memory after them.
    pub fn refuse_another(&self, newer: &Array) -> Result<()> {
        let (expected, ndim) = (self.shape().len(), newer.shape().len());
        if ndim == expected && newer.dtype().item == self.dtype().item {
            return Ok(());
        }
        Err(fail!(
            Type,
            "{}: replaced by another array (expected {expected} dimensions of {}, found {ndim} of {}); open it again",
            newer.store().name(),
            self.dtype_text(),
            newer.dtype_text()
        ))
    }

    /// Returns the number of bytes of the items of a box.
    fn box_bytes(&self, count: &[u64]) -> u64 {
        let item = self.itemsize() as u64;
        count.iter().fold(item, |n, d| n.saturating_mul(*d))
    }

    // ---- the shape

    /// Returns the dimension along which the array can grow without moving items; `None` if it has
    /// no dimensions.
    pub fn slowest(&self) -> Option<usize> {
        match &*self.body {
            Body::Linear(a) => a.slowest(),
            body => (!body.shape().is_empty()).then_some(0),
        }
    }

    /// Changes the shape. Items outside the new shape are removed; new items are zeros or the fill
    /// value. On failure, the array may have an intermediate shape.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        measured(
            self.progress.clone(),
            self.nbytes(),
            Step::Encode,
            || dispatch_mut!(self, a => a.resize(shape)),
        )
    }

    /// Replaces `gone` items from item `at` on, if the items are text or other values of any length.
    pub fn splice_texts(&mut self, at: u64, gone: u64, texts: &Texts) -> Result<()> {
        let name = self.store().name().to_owned();
        match self.body_mut()? {
            Body::Linear(linear) => linear.splice_texts(at, gone, texts),
            _ => Err(fail!(Type, "{name}: the items have a fixed length")),
        }
    }

    /// Appends `count` positions along a dimension. `src` has the new items, packed in C order. On
    /// failure, the array is unchanged.
    pub fn append(&mut self, axis: usize, count: u64, src: &[u8]) -> Result<()> {
        self.insert(
            axis,
            self.shape().get(axis).copied().unwrap_or(0),
            count,
            src,
        )
    }

    /// Inserts `count` positions before position `at` of a dimension, and shifts the following
    /// items. `src` has the new items, packed in C order. On failure, the array is unchanged.
    pub fn insert(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        measured(
            self.progress.clone(),
            src.len() as u64,
            Step::Encode,
            || dispatch_mut!(self, a => a.insert(axis, at, count, src)),
        )
    }

    /// Removes `count` positions of a dimension from position `at` on, and shifts the following
    /// items. On failure, the array is unchanged.
    pub fn remove(&mut self, axis: usize, at: u64, count: u64) -> Result<()> {
        measured(
            self.progress.clone(),
            self.nbytes(),
            Step::Encode,
            || dispatch_mut!(self, a => a.remove(axis, at, count)),
        )
    }

    /// Makes all changes durable and visible, content and shape together. On failure, the file is
    /// as of the last commit.
    pub fn commit(&mut self) -> Result<()> {
        let pending = self.store().pending_bytes();
        measured(self.progress.clone(), pending, Step::Encode, || {
            self.flush()?;
            self.store_mut()?.commit()
        })
    }

    /// Passes all changes to the store, so that a commit of the store commits the array.
    pub fn flush(&mut self) -> Result<()> {
        dispatch_mut!(self, a => a.flush())
    }
}

/// Returns the shape of the boxes in which a copy transfers about `items` items: whole chunks of
/// `to` along every dimension if it is chunked, otherwise whole rows.
pub(super) fn copy_box(shape: &[u64], to: &Array, items: u64) -> Vec<u64> {
    let mut lengths: Vec<u64> = match &*to.body {
        Body::Tiled(_) | Body::Chunked(_) => to
            .chunkshape()
            .iter()
            .zip(shape)
            .map(|(c, n)| *c.min(n))
            .collect(),
        _ => shape
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
        let factor = room.clamp(1, all.div_ceil((*n).max(1)).max(1));
        (*n, room) = (n.saturating_mul(factor).min(*all), room / factor);
        if *n < *all {
            break;
        }
    }
    lengths
}

/// Advances `start` to the next box. Returns `false` after the last box.
pub(super) fn next_box(start: &mut [u64], lengths: &[u64], shape: &[u64]) -> bool {
    for ((at, n), all) in start.iter_mut().zip(lengths).zip(shape).rev() {
        *at += n;
        if *at < *all {
            return true;
        }
        *at = 0;
    }
    false
}
