//! Arrays of any number of dimensions.
#![forbid(unsafe_code)]

use super::follower::Follower;
use super::{
    Checksum, Element, Encoding, Error, Format, ItemType, Location, Options, Result, Selection,
    Split, element,
};
use crate::array::Array as EngineArray;
use crate::dataset::create::ArraySpec;
use crate::dataset::{any, open};
use crate::dtype::numpy_meta;
use crate::options::Options as EngineOptions;
use crate::superchunk::bloscpack::Mode;
use crate::watch::Watch;
use std::ops::Range;

/// Whether a read or a copy found all content intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Integrity {
    /// All content was intact, as far as it has checksums.
    Intact,
    /// Some content was corrupt and reads as the fill value or zeros, because
    /// [`Options::skip_corrupt`] is set. Without that option, corrupt content is an error.
    Filled,
}

impl Integrity {
    pub(super) fn of(is_filled: bool) -> Integrity {
        if is_filled {
            Integrity::Filled
        } else {
            Integrity::Intact
        }
    }
}

/// The order in which a file stores the items of an array. It does not affect indices and buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// The last index varies fastest (row-major).
    C,
    /// The first index varies fastest (column-major).
    Fortran,
}

/// The format and the shapes of the chunks and blocks of a new array.
///
/// ```
/// use holdall::{ArrayLayout, Format};
///
/// let layout = ArrayLayout::new(Format::B2nd).chunks(&[100, 100]).blocks(&[10, 100]);
/// ```
///
/// The call that takes the layout reports shapes that the format does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayLayout {
    format: Format,
    chunks: Option<Vec<u64>>,
    blocks: Option<Vec<u64>>,
}

impl ArrayLayout {
    /// Creates a layout with chunks and blocks of the default shapes. The formats of arrays are
    /// [`Format::Bloscpack`], [`Format::Bcolz`], [`Format::Blz`], [`Format::BlzRfc`],
    /// [`Format::Caterva`] and [`Format::B2nd`].
    pub fn new(format: Format) -> ArrayLayout {
        ArrayLayout {
            format,
            chunks: None,
            blocks: None,
        }
    }

    /// Sets the shape of a chunk. Formats other than [`Format::B2nd`] and [`Format::Caterva`] have
    /// chunks that span all dimensions but the first.
    pub fn chunks(mut self, shape: &[u64]) -> ArrayLayout {
        self.chunks = Some(shape.to_vec());
        self
    }

    /// Sets the shape of a block, the smallest part of a chunk that is decoded alone. Only
    /// [`Format::B2nd`] and [`Format::Caterva`] have it.
    pub fn blocks(mut self, shape: &[u64]) -> ArrayLayout {
        self.blocks = Some(shape.to_vec());
        self
    }
}

/// An open array: items of one dtype, in 0 to 16 dimensions.
///
/// Many threads may read one array at once. An array sees its own changes at once; others see them
/// if they are opened after the commit. Dropping an array discards its uncommitted changes.
///
/// Indices are those of the array, and buffers are in C order, whatever the order in the file.
///
/// ```
/// use holdall::{Array, ArrayLayout, Format, Options};
/// # let name = format!("holdall-doc-array-{}.b2nd", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let layout = ArrayLayout::new(Format::B2nd).chunks(&[2, 2]);
/// let mut array = Array::replace(&path, "<f8", &[3, 4], &layout, &Options::new())?;
/// array.write([0..1, 0..4], &[1.0, 2.0, 3.0, 4.0])?;
/// array.append(0, 1, &[5.0; 4])?;
/// array.set_attribute("unit", b"\xa1m")?; // MessagePack, as in all frames
/// array.commit()?;
///
/// let array = Array::open(&path)?;
/// assert_eq!(array.shape(), [4, 4]);
/// let mut column = [0.0; 4];
/// array.read([0..4, 1..2], &mut column)?;
/// assert_eq!(column, [2.0, 0.0, 0.0, 5.0]);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Array {
    pub(super) inner: EngineArray,
    pub(super) follower: Follower,
}

fn open_at(location: &Location, mode: Mode, options: &EngineOptions) -> Result<EngineArray> {
    location.with_existing(
        options,
        |path| open::open(path, mode, options),
        |folder| open::open_in(folder, mode, options),
    )
}

impl Array {
    /// Wraps an array that does not follow a writer.
    pub(super) fn of(inner: EngineArray) -> Array {
        Array {
            inner,
            follower: Follower::default(),
        }
    }

    /// Opens an array for reading, with default options. The format is detected from the content.
    pub fn open(location: impl Into<Location>) -> Result<Array> {
        Array::open_with(location, &Options::new())
    }

    /// Opens an array for reading.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Array> {
        let (location, options) = (location.into(), options.get()?);
        let follower = Follower::new(&location, options, Watch::path);
        let inner = open_at(&location, Mode::Read, options)?;
        Ok(Array { inner, follower })
    }

    /// Opens an array for reading and changes. It fails with
    /// [`Status::Busy`](crate::Status::Busy) if another writer has the array open.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Array> {
        open_at(&location.into(), Mode::Append, options.get()?).map(Array::of)
    }

    /// Moves an array that was opened for reading to the newest commit. Returns `false` if there
    /// certainly is none, which takes about a system call per file.
    ///
    /// It fails as opening does, with [`Status::State`](crate::Status::State) if the array was
    /// opened for changes, and with [`Status::Type`](crate::Status::Type) if the array was replaced
    /// by one of another dtype or number of dimensions. A failure leaves the array unchanged.
    pub fn refresh(&mut self) -> Result<bool> {
        let open =
            |location: &Location, options: &EngineOptions| open_at(location, Mode::Read, options);
        let Some((inner, follower)) = self.follower.refreshed(open)? else {
            return Ok(false);
        };
        self.inner.refuse_another(&inner).map_err(Error)?;
        *self = Array { inner, follower };
        Ok(true)
    }

    /// Returns the number of commits through this array and of refreshes that returned `true`. Of a
    /// column, it is the number of commits of the table.
    pub fn generation(&self) -> u64 {
        self.follower.generation
    }

    /// Creates an array of zeros, or of the fill value of the options, which must not exist. It
    /// exists from the first commit on.
    ///
    /// `dtype` is spelled as in NumPy: `"<f8"`, `"|S16"`, `"<M8[ns]"`,
    /// `"[('a','<i4'),('b','<f8')]"`. Numbers of Rust have [`Element::DTYPE`].
    pub fn create(
        location: impl Into<Location>,
        dtype: &str,
        shape: &[u64],
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Array> {
        Array::new(location.into(), Mode::New, (dtype, shape), layout, options)
    }

    /// Creates an array as [`Array::create`] does. The first commit replaces an existing container.
    pub fn replace(
        location: impl Into<Location>,
        dtype: &str,
        shape: &[u64],
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Array> {
        let items = (dtype, shape);
        Array::new(location.into(), Mode::Replace, items, layout, options)
    }

    fn new(
        location: Location,
        mode: Mode,
        (dtype, shape): (&str, &[u64]),
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Array> {
        let (options, blocks) = (options.get()?, layout.blocks.as_deref());
        let spec = ArraySpec {
            dtype,
            shape,
            chunks: layout.chunks.as_deref(),
            format: layout.format,
        };
        location
            .with(
                |path| any::create(path, mode, &spec, blocks, options),
                |folder| any::create_in(folder, mode, &spec, blocks, options),
            )
            .map(Array::of)
    }

    // ---- properties

    /// Returns the length of each dimension.
    pub fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    /// Returns the shape of a chunk, which reads best as a whole.
    pub fn chunk_shape(&self) -> &[u64] {
        self.inner.chunkshape()
    }

    /// Returns the shape of a block, the smallest part of a chunk that is decoded alone.
    pub fn block_shape(&self) -> &[u64] {
        self.inner.blockshape()
    }

    /// Returns the dtype as NumPy spells it.
    pub fn dtype(&self) -> String {
        self.inner.dtype_text()
    }

    /// Returns the type of the items.
    pub fn item_type(&self) -> &ItemType {
        &self.inner.dtype().item
    }

    /// Returns the size of an item in bytes. It is 0 for Python objects.
    pub fn item_size(&self) -> usize {
        self.inner.itemsize()
    }

    /// Returns the number of bytes of all items.
    pub fn content_bytes(&self) -> u64 {
        self.inner.nbytes()
    }

    /// Returns the size on disk in bytes at the last commit.
    pub fn stored_bytes(&self) -> Result<u64> {
        self.inner.cbytes().map_err(Error)
    }

    /// Returns the format. It is [`Format::B2Frame`] for a frame without array metalayers.
    pub fn format(&self) -> Format {
        self.inner.format()
    }

    /// Returns the order of the items in the file. The slowest dimension is the first in C order,
    /// the last in Fortran order.
    pub fn order(&self) -> Order {
        match self.inner.order() {
            numpy_meta::Order::C => Order::C,
            numpy_meta::Order::Fortran => Order::Fortran,
        }
    }

    /// Returns how the chunks are stored.
    pub fn encoding(&self) -> Encoding {
        Encoding::of(self.inner.encoding(), self.inner.checksum())
    }

    /// Returns the fill value, which items have that were never written or were skipped: the bytes
    /// of an item or row. `None` stands for zeros.
    pub fn fill_value(&self) -> Result<Option<&[u8]>> {
        self.inner.fill().map_err(Error)
    }

    /// Sets the fill value, the bytes of an item or row, for later growth. Stored items stay. No
    /// bytes stand for zeros.
    ///
    /// It fails with [`Status::Unsupported`](crate::Status::Unsupported) for Bloscpack files and
    /// frames, which have none.
    pub fn set_fill_bytes(&mut self, value: &[u8]) -> Result<()> {
        self.inner.fill_set(value).map_err(Error)
    }

    /// Sets the fill value to a number, as [`Array::set_fill_bytes`]. Its type must be that of the
    /// items.
    pub fn set_fill<T: Element>(&mut self, value: T) -> Result<()> {
        element::check::<T>(self.inner.dtype())?;
        self.set_fill_bytes(element::bytes(&[value]))
    }

    /// Divides the rows, the indices of the first dimension, into at most `n` ranges for programs
    /// that distribute work. They contain each row once, in order; none is empty, they begin at
    /// chunks, and their stored sizes are similar. Nothing is decoded.
    ///
    /// [`Split::bytes`] is the share of the rows in the stored size: by chunk in Bloscpack files and
    /// in frames whose index is in memory, otherwise by rows. It fails with
    /// [`Status::Type`](crate::Status::Type) for an array without dimensions.
    pub fn splits(&self, n: usize) -> Result<Vec<Split>> {
        self.inner.splits(n as u64).map_err(Error)
    }

    // ---- metadata files

    /// Returns the names of further files in the folder `meta` of a dataset, as the BLZ RFC allows
    /// them, in order. Other formats have none. Hidden files are no such files.
    pub fn meta_file_names(&self) -> Result<Vec<String>> {
        self.inner.store().meta_file_names().map_err(Error)
    }

    /// Reads such a file as it is now, or returns `None` if it does not exist. It fails with
    /// [`Status::Limit`](crate::Status::Limit) if it is larger than [`Options::memory_limit`], and
    /// with [`Status::Argument`](crate::Status::Argument) for a name that such a file cannot have.
    pub fn meta_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.inner.store().meta_file(name).map_err(Error)
    }

    /// Sets the bytes of such a file; the commit writes it with all other changes. Copies to other
    /// datasets include it, and copies to other formats fail with
    /// [`Status::Unsupported`](crate::Status::Unsupported).
    ///
    /// A name has 1 to 200 bytes, no slash and no leading dot, and is none of `sizes`, `storage` and
    /// `attributes`. The call fails with [`Status::Unsupported`](crate::Status::Unsupported) for
    /// other formats than datasets, and for columns of tables in the BLZ RFC layout, which share the
    /// files of the table.
    pub fn set_meta_file(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.change_meta_file(name, Some(bytes))
    }

    /// Removes such a file, if it exists.
    pub fn remove_meta_file(&mut self, name: &str) -> Result<()> {
        self.change_meta_file(name, None)
    }

    fn change_meta_file(&mut self, name: &str, bytes: Option<&[u8]>) -> Result<()> {
        let store = self.inner.store_mut().map_err(Error)?;
        store.meta_file_set(name, bytes).map_err(Error)
    }

    // ---- attributes

    /// Returns the names of the attributes. A Bloscpack file has one, `""`.
    pub fn attribute_names(&self) -> Vec<&str> {
        self.inner.store().attr_names()
    }

    /// Returns an attribute as it is stored, or `None` if it does not exist: MessagePack in frames,
    /// JSON in other formats.
    pub fn attribute(&self, name: &str) -> Result<Option<&[u8]>> {
        self.inner.store().attr(name).map_err(Error)
    }

    /// Sets an attribute. That of a Bloscpack file is the JSON that describes the array; further
    /// members of it may be arbitrary.
    pub fn set_attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.inner.attr_set(name, value).map_err(Error)
    }

    /// Returns whether an attribute has a fixed length: it is a metalayer in the header of a frame.
    pub fn is_attribute_fixed(&self, name: &str) -> bool {
        self.inner.store().is_attr_fixed(name)
    }

    /// Sets an attribute in the header of a frame, as `meta` of python-blosc2: at most 16 with those
    /// of the array, names of 1 to 31 bytes. A value of the same length is changed in place. A new
    /// attribute or another length makes the commit rewrite a file that has chunks. It fails with
    /// [`Status::Unsupported`](crate::Status::Unsupported) in other formats, and with
    /// [`Status::Argument`](crate::Status::Argument) if the attribute has variable length.
    pub fn set_fixed_attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.inner.attr_set_fixed(name, value).map_err(Error)
    }

    /// Removes an attribute, if it exists.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        self.inner.attr_remove(name).map_err(Error)
    }

    // ---- views

    /// Returns a read-only array of the selected items, which shares the files. It has the
    /// attributes and the format of this array.
    ///
    /// While a slice exists, the array cannot be changed
    /// ([`Status::State`](crate::Status::State)); a refresh leaves the slice at the earlier commit.
    ///
    /// ```
    /// # use holdall::{Array, ArrayLayout, Checksum, Format, Options};
    /// # let name = format!("holdall-doc-slice-{}", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// # let layout = ArrayLayout::new(Format::B2nd);
    /// # let mut array = Array::replace(&path, "<i4", &[3, 4], &layout, &Options::new())?;
    /// # array.write([0..3, 0..4], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])?;
    /// # array.commit()?;
    /// let middle = array.slice([1..2, 1..3])?.squeeze(0)?;
    /// assert_eq!(middle.shape(), [2]);
    /// let mut items = [0; 2];
    /// middle.read([0..2], &mut items)?;
    /// assert_eq!(items, [5, 6]);
    /// # let path_of_copy = path.with_extension("copy");
    /// middle.copy_replacing(&path_of_copy, &layout, &Options::new())?;
    /// let copy = Array::open(&path_of_copy)?;
    /// assert_eq!(copy.checksum(Checksum::Sha256)?, middle.checksum(Checksum::Sha256)?);
    /// # std::fs::remove_file(path)?;
    /// # std::fs::remove_file(path_of_copy)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, selection: impl Into<Selection>) -> Result<Array> {
        let Selection { start, count, step } = selection.into();
        let step = step.map(|step| {
            let signed = |n: &u64| i64::try_from(*n).unwrap_or(i64::MAX);
            step.iter().map(signed).collect::<Vec<_>>()
        });
        let view = self.inner.slice(&start, &count, step.as_deref());
        view.map(Array::of).map_err(Error)
    }

    /// Returns the items `start`, `start + step`, ..., `n` along each dimension, as
    /// [`Array::slice`] does. Steps may be negative.
    pub fn strided(&self, start: &[u64], step: &[i64], n: &[u64]) -> Result<Array> {
        let view = self.inner.slice(start, n, Some(step));
        view.map(Array::of).map_err(Error)
    }

    /// Returns the array without dimension `axis`, whose length must be 1, as a view like a slice.
    pub fn squeeze(&self, axis: usize) -> Result<Array> {
        self.inner.squeeze(axis).map(Array::of).map_err(Error)
    }

    /// Returns the array with a new dimension `axis` of length 1, as a view like a slice.
    pub fn expand_dims(&self, axis: usize) -> Result<Array> {
        self.inner.expand_dims(axis).map(Array::of).map_err(Error)
    }

    // ---- the whole array

    /// Returns boxes of at most `bytes` bytes, or one item, whose items, one box after the other,
    /// are those of the array in an order. A box ends with a chunk or a block where it can, so that
    /// no chunk is decoded twice unless a row of chunks is larger.
    ///
    /// ```
    /// # use holdall::{Array, ArrayLayout, Format, Options, Order};
    /// # let name = format!("holdall-doc-boxes-{}", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// let layout = ArrayLayout::new(Format::B2nd).chunks(&[2, 4]);
    /// let array = Array::replace(&path, "<i4", &[5, 4], &layout, &Options::new())?;
    /// let boxes: Vec<_> = array.boxes(Order::C, 50).collect();
    /// assert_eq!(boxes, [[0..2, 0..4], [2..4, 0..4], [4..5, 0..4]]);
    /// # Ok::<(), holdall::Error>(())
    /// ```
    pub fn boxes(&self, order: Order, bytes: u64) -> impl Iterator<Item = Vec<Range<u64>>> {
        let order = match order {
            Order::C => numpy_meta::Order::C,
            Order::Fortran => numpy_meta::Order::Fortran,
        };
        let ranges = |(start, count): (Vec<u64>, Vec<u64>)| {
            let ends = start.iter().zip(count);
            ends.map(|(start, count)| *start..start + count).collect()
        };
        self.inner.boxes(order, [bytes / 2, bytes]).map(ranges)
    }

    /// Computes a checksum of dtype, shape and items, however they are stored: of the dtype as
    /// [`Array::item_type`] prints it, a NUL, the number of dimensions and the length of each as 8
    /// bytes little-endian, and the items in C order.
    pub fn checksum(&self, checksum: Checksum) -> Result<(Vec<u8>, Integrity)> {
        let computed = self.inner.content_checksum(checksum.engine());
        let (value, filled) = computed.map_err(Error)?;
        Ok((value, Integrity::of(filled)))
    }

    /// Makes all changes durable and visible, atomically. On failure, the file is as of the last
    /// commit.
    pub fn commit(&mut self) -> Result<()> {
        self.inner.commit().map_err(Error)?;
        self.follower.generation += 1;
        Ok(())
    }

    /// Copies the array in its current state, with its attributes, to a new container, which must
    /// not exist. The copy appears complete or not at all.
    pub fn copy_to(
        &self,
        location: impl Into<Location>,
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Integrity> {
        self.copy(location.into(), Mode::New, layout, options)
    }

    /// Copies the array as [`Array::copy_to`] does. The copy replaces an existing container.
    pub fn copy_replacing(
        &self,
        location: impl Into<Location>,
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Integrity> {
        self.copy(location.into(), Mode::Replace, layout, options)
    }

    fn copy(
        &self,
        location: Location,
        mode: Mode,
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Integrity> {
        let shapes = [layout.chunks.as_deref(), layout.blocks.as_deref()];
        let options = options.get()?;
        location
            .with_target(|to| any::copy(&self.inner, to, mode, layout.format, shapes, options))
            .map(Integrity::of)
    }
}
