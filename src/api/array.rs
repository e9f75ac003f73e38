//! Arrays of any number of dimensions.
#![forbid(unsafe_code)]

use super::{Element, Format, Location, Options, Result, Selection, element};
use crate::array::Array as EngineArray;
use crate::dataset::create::ArraySpec;
use crate::dataset::{any, open};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;

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

/// The format and the shapes of the chunks and blocks of a new array.
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
/// # let path = std::env::temp_dir().join(format!("holdall-doc-array-{}.b2nd", std::process::id()));
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
pub struct Array(pub(super) EngineArray);

impl Array {
    /// Opens an array for reading, with default options. The format is detected from the content.
    pub fn open(location: impl Into<Location>) -> Result<Array> {
        Array::open_with(location, &Options::new())
    }

    /// Opens an array for reading.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Array> {
        Array::with(location.into(), Mode::Read, options)
    }

    /// Opens an array for reading and changes. It fails with
    /// [`Status::Busy`](crate::Status::Busy) if another writer has the array open.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Array> {
        Array::with(location.into(), Mode::Append, options)
    }

    fn with(location: Location, mode: Mode, options: &Options) -> Result<Array> {
        let options = options.get()?;
        location
            .with(
                |path| open::open(path, mode, options),
                |folder| open::open_in(folder, mode, options),
            )
            .map(Array)
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
        let options = options.get()?;
        let (spec, blocks) = (
            ArraySpec {
                dtype,
                shape,
                chunks: layout.chunks.as_deref(),
                format: layout.format,
            },
            layout.blocks.as_deref(),
        );
        location
            .with(
                |path| any::create(path, mode, &spec, blocks, options),
                |folder| any::create_in(folder, mode, &spec, blocks, options),
            )
            .map(Array)
    }

    // ---- properties

    /// Returns the length of each dimension.
    pub fn shape(&self) -> &[u64] {
        self.0.shape()
    }

    /// Returns the shape of a chunk, which reads best as a whole.
    pub fn chunk_shape(&self) -> &[u64] {
        self.0.chunkshape()
    }

    /// Returns the shape of a block, the smallest part of a chunk that is decoded alone.
    pub fn block_shape(&self) -> &[u64] {
        self.0.blockshape()
    }

    /// Returns the dtype as NumPy spells it.
    pub fn dtype(&self) -> String {
        self.0.dtype_text()
    }

    /// Returns the size of an item in bytes.
    pub fn item_size(&self) -> usize {
        self.0.itemsize()
    }

    /// Returns the number of bytes of all items.
    pub fn content_bytes(&self) -> u64 {
        self.0.nbytes()
    }

    /// Returns the size on disk in bytes at the last commit.
    pub fn stored_bytes(&self) -> Result<u64> {
        Ok(self.0.cbytes()?)
    }

    // ---- items

    /// Reads a selection into `dst`, in C order. `dst` must have as many items as the selection.
    ///
    /// It fails with [`Status::Type`](crate::Status::Type) if the items are not numbers of this
    /// type in native byte order, and with [`Status::Range`](crate::Status::Range) if the selection
    /// is not inside the array.
    pub fn read<T: Element>(
        &self,
        selection: impl Into<Selection>,
        dst: &mut [T],
    ) -> Result<Integrity> {
        element::check::<T>(self.0.dtype())?;
        self.read_bytes(selection, element::bytes_mut(dst))
    }

    /// Reads the bytes of a selection, as [`Array::read`], of any dtype.
    pub fn read_bytes(&self, selection: impl Into<Selection>, dst: &mut [u8]) -> Result<Integrity> {
        let selection = selection.into();
        selection.check_buffer(self.item_size(), dst.len())?;
        let Selection { start, count, step } = selection;
        let filled = self.0.read(&start, &count, step.as_deref(), dst, None)?;
        Ok(Integrity::of(filled))
    }

    /// Writes a selection from `src`, in C order. On failure, part of it may be written. It fails
    /// as [`Array::read`] does.
    pub fn write<T: Element>(&mut self, selection: impl Into<Selection>, src: &[T]) -> Result<()> {
        element::check::<T>(self.0.dtype())?;
        self.write_bytes(selection, element::bytes(src))
    }

    /// Writes the bytes of a selection, as [`Array::write`], of any dtype.
    pub fn write_bytes(&mut self, selection: impl Into<Selection>, src: &[u8]) -> Result<()> {
        let selection = selection.into();
        selection.check_buffer(self.item_size(), src.len())?;
        let Selection { start, count, step } = selection;
        Ok(self.0.write(&start, &count, step.as_deref(), src, None)?)
    }

    /// Appends `count` positions along a dimension. `src` has the new items, in C order. On failure
    /// the array is unchanged.
    pub fn append<T: Element>(&mut self, axis: usize, count: u64, src: &[T]) -> Result<()> {
        element::check::<T>(self.0.dtype())?;
        self.append_bytes(axis, count, element::bytes(src))
    }

    /// Appends the bytes of items, as [`Array::append`], of any dtype.
    pub fn append_bytes(&mut self, axis: usize, count: u64, src: &[u8]) -> Result<()> {
        Ok(self.0.append(axis, count, src)?)
    }

    /// Changes the shape. Items outside the new shape are removed; new items are zeros or the fill
    /// value. On failure, the array may have an intermediate shape.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        Ok(self.0.resize(shape)?)
    }

    // ---- attributes

    /// Returns the names of the attributes. A Bloscpack file has one, `""`.
    pub fn attribute_names(&self) -> Vec<&str> {
        self.0.store().attr_names()
    }

    /// Returns an attribute as it is stored, or `None` if it does not exist: MessagePack in frames,
    /// JSON in other formats.
    pub fn attribute(&self, name: &str) -> Result<Option<&[u8]>> {
        Ok(self.0.store().attr(name)?)
    }

    /// Sets an attribute. That of a Bloscpack file is the JSON that describes the array; further
    /// members of it may be arbitrary.
    pub fn set_attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        // the array, not its store, checks that such JSON describes the same array
        let is_description = name.is_empty() && self.0.store().meta()?.is_some();
        if is_description {
            self.0.meta_set(value)?;
        } else {
            self.0.attr_set(name, value)?;
        }
        Ok(())
    }

    /// Removes an attribute, if it exists.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        Ok(self.0.attr_remove(name)?)
    }

    // ---- the whole array

    /// Makes all changes durable and visible, atomically. On failure, the file is as of the last
    /// commit.
    pub fn commit(&mut self) -> Result<()> {
        Ok(self.0.commit()?)
    }

    /// Copies the array in its current state, with its attributes, to a new container at a path.
    pub fn copy_to(
        &self,
        path: impl AsRef<OsStr>,
        layout: &ArrayLayout,
        options: &Options,
    ) -> Result<Integrity> {
        let filled = any::copy(
            &self.0,
            path.as_ref(),
            Mode::New,
            layout.format,
            [layout.chunks.as_deref(), layout.blocks.as_deref()],
            options.get()?,
        )?;
        Ok(Integrity::of(filled))
    }
}
