//! The items of arrays: reads, writes, and changes of the shape.
#![forbid(unsafe_code)]

use super::bag::first_and_count;
use super::selection::check_buffer;
use super::{Array, Element, Error, Integrity, Result, Selection, element};
use crate::dtype::Kind;
use crate::error::fail;
use std::ops::{Range, RangeBounds};

/// Reads and writes of items.
///
/// The calls with a type fail with [`Status::Type`](crate::Status::Type) if the items are not
/// numbers of this type in native byte order. Those with `bytes` in their names take items of any
/// dtype, packed in C order. All fail with [`Status::Range`](crate::Status::Range) if a position is
/// not inside the array, with [`Status::Argument`](crate::Status::Argument) if the buffer is too
/// long or the number of dimensions is wrong, and with [`Status::Buffer`](crate::Status::Buffer) if
/// the buffer is too short.
///
/// ```
/// use holdall::{Array, ArrayLayout, Format, Options};
/// # let name = format!("holdall-doc-items-{}.b2nd", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let layout = ArrayLayout::new(Format::B2nd);
/// let mut array = Array::replace(&path, "<i4", &[3, 4], &layout, &Options::new())?;
/// array.write([0..3, 0..4], &[0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23])?;
///
/// // single items: (2, 3), then (0, 1)
/// let mut items = [0; 2];
/// array.read_points([[2, 3], [0, 1]].as_flattened(), &mut items)?;
/// assert_eq!(items, [23, 1]);
///
/// // the rows 2 and 0, of all columns
/// let mut rows = [0; 8];
/// array.read_orthogonal(&[Some(&[2, 0]), None], &mut rows)?;
/// assert_eq!(rows, [20, 21, 22, 23, 0, 1, 2, 3]);
///
/// // a column to every second element of a buffer
/// let mut spaced = [7; 5];
/// array.read_strided([0..3, 1..2], &mut spaced, &[2, 1])?;
/// assert_eq!(spaced, [1, 7, 11, 7, 21]);
/// # Ok::<(), holdall::Error>(())
/// ```
impl Array {
    // ---- boxes

    /// Reads a selection into `dst`, in C order. `dst` must have as many items as the selection.
    pub fn read<T: Element>(
        &self,
        selection: impl Into<Selection>,
        dst: &mut [T],
    ) -> Result<Integrity> {
        self.check::<T>()?;
        self.read_bytes(selection, element::bytes_mut(dst))
    }

    /// Reads the bytes of a selection, as [`Array::read`], of any dtype.
    pub fn read_bytes(&self, selection: impl Into<Selection>, dst: &mut [u8]) -> Result<Integrity> {
        let selection = selection.into();
        check_buffer(selection.count.iter().copied(), self.item_size(), dst.len())?;
        self.read_box(&selection, dst, None)
    }

    /// Reads a selection to items that are `strides[d]` apart in `dst` along dimension `d`. Other
    /// items of `dst` do not change.
    ///
    /// The box begins at the start of `dst`: if a stride is negative, the first item of that
    /// dimension is at the far end.
    pub fn read_strided<T: Element>(
        &self,
        selection: impl Into<Selection>,
        dst: &mut [T],
        strides: &[i64],
    ) -> Result<Integrity> {
        self.check::<T>()?;
        self.read_bytes_strided(selection, element::bytes_mut(dst), &in_bytes::<T>(strides))
    }

    /// Reads the bytes of a selection, as [`Array::read_strided`]. The strides are in bytes.
    pub fn read_bytes_strided(
        &self,
        selection: impl Into<Selection>,
        dst: &mut [u8],
        strides: &[i64],
    ) -> Result<Integrity> {
        self.read_box(&selection.into(), dst, Some(strides))
    }

    fn read_box(
        &self,
        selection: &Selection,
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<Integrity> {
        let Selection { start, count, step } = selection;
        let read = self.inner.read(start, count, step.as_deref(), dst, strides);
        read.map(Integrity::of).map_err(Error)
    }

    /// Writes a selection from `src`, in C order. On failure, part of it may be written.
    pub fn write<T: Element>(&mut self, selection: impl Into<Selection>, src: &[T]) -> Result<()> {
        self.check::<T>()?;
        self.write_bytes(selection, element::bytes(src))
    }

    /// Writes the bytes of a selection, as [`Array::write`], of any dtype.
    pub fn write_bytes(&mut self, selection: impl Into<Selection>, src: &[u8]) -> Result<()> {
        let selection = selection.into();
        check_buffer(selection.count.iter().copied(), self.item_size(), src.len())?;
        self.write_box(&selection, src, None)
    }

    /// Writes a selection from items that are `strides[d]` apart in `src`, as
    /// [`Array::read_strided`]. A stride of 0 repeats an item.
    pub fn write_strided<T: Element>(
        &mut self,
        selection: impl Into<Selection>,
        src: &[T],
        strides: &[i64],
    ) -> Result<()> {
        self.check::<T>()?;
        self.write_bytes_strided(selection, element::bytes(src), &in_bytes::<T>(strides))
    }

    /// Writes the bytes of a selection, as [`Array::write_strided`]. The strides are in bytes.
    pub fn write_bytes_strided(
        &mut self,
        selection: impl Into<Selection>,
        src: &[u8],
        strides: &[i64],
    ) -> Result<()> {
        self.write_box(&selection.into(), src, Some(strides))
    }

    fn write_box(
        &mut self,
        selection: &Selection,
        src: &[u8],
        strides: Option<&[i64]>,
    ) -> Result<()> {
        let Selection { start, count, step } = selection;
        let step = step.as_deref();
        let written = self.inner.write(start, count, step, src, strides);
        written.map_err(Error)
    }

    // ---- points and products of positions

    /// Reads single items. `coordinates` has one index per dimension, item after item. Each chunk is
    /// decoded once, whatever the order. [`Error::position`] is the item that is outside.
    pub fn read_points<T: Element>(&self, coordinates: &[u64], dst: &mut [T]) -> Result<Integrity> {
        self.check::<T>()?;
        self.read_points_bytes(coordinates, element::bytes_mut(dst))
    }

    /// Reads the bytes of single items, as [`Array::read_points`], of any dtype.
    pub fn read_points_bytes(&self, coordinates: &[u64], dst: &mut [u8]) -> Result<Integrity> {
        let (ndim, size) = (self.shape().len(), self.item_size());
        // without dimensions, the buffer alone says how often the only item is requested
        let n = coordinates.len().checked_div(ndim);
        let n = n.or(dst.len().checked_div(size)).unwrap_or(0);
        check_buffer([n as u64], size, dst.len())?;
        let read = self.inner.read_points(coordinates, n, dst);
        read.map(Integrity::of).map_err(Error)
    }

    /// Reads all combinations of positions of each dimension, as `numpy.ix_` does: in any order and
    /// with repetitions. `None` stands for the whole dimension.
    pub fn read_orthogonal<T: Element>(
        &self,
        positions: &[Option<&[u64]>],
        dst: &mut [T],
    ) -> Result<Integrity> {
        self.check::<T>()?;
        self.read_orthogonal_bytes(positions, element::bytes_mut(dst))
    }

    /// Reads the bytes of all combinations of positions, as [`Array::read_orthogonal`], of any
    /// dtype.
    pub fn read_orthogonal_bytes(
        &self,
        positions: &[Option<&[u64]>],
        dst: &mut [u8],
    ) -> Result<Integrity> {
        self.check_product(positions, dst.len())?;
        let read = self.inner.read_orthogonal(positions, dst);
        read.map(Integrity::of).map_err(Error)
    }

    /// Writes all combinations of positions, as [`Array::read_orthogonal`] reads them. Of a repeated
    /// position, the last value is stored. On failure, part of it may be written.
    pub fn write_orthogonal<T: Element>(
        &mut self,
        positions: &[Option<&[u64]>],
        src: &[T],
    ) -> Result<()> {
        self.check::<T>()?;
        self.write_orthogonal_bytes(positions, element::bytes(src))
    }

    /// Writes the bytes of all combinations of positions, as [`Array::write_orthogonal`], of any
    /// dtype.
    pub fn write_orthogonal_bytes(
        &mut self,
        positions: &[Option<&[u64]>],
        src: &[u8],
    ) -> Result<()> {
        self.check_product(positions, src.len())?;
        self.inner.write_orthogonal(positions, src).map_err(Error)
    }

    /// Returns item `i` of a one-dimensional array of Python objects, its pickle, not interpreted.
    /// Unpickling runs code that the writer of the file chose. In CTables: texts as UTF-8, bytes as they
    /// are, lists, structures and any objects in MessagePack.
    pub fn read_object(&self, i: u64) -> Result<Vec<u8>> {
        self.inner.object(i).map_err(Error)
    }

    /// Returns a range of items, each as [`Array::read_object`] does; `None` for a null, which only columns
    /// of CTables have.
    pub fn read_values(&self, items: impl RangeBounds<u64>) -> Result<Vec<Option<Vec<u8>>>> {
        let length = self.shape().first().copied().unwrap_or(0);
        let (first, n) = first_and_count(&items, length);
        let values = self.inner.values(first, n).map_err(Error)?;
        let value = |i: usize| match values.is_null(i) {
            true => None,
            false => values.get(i).map(<[u8]>::to_vec),
        };
        Ok((0..values.len()).map(value).collect())
    }

    /// Returns a range of items of a one-dimensional array of texts; `None` for a null. Only columns of
    /// CTables have texts and nulls.
    pub fn read_texts(&self, items: impl RangeBounds<u64>) -> Result<Vec<Option<String>>> {
        if self.inner.dtype().item.kind != Kind::Text {
            let (name, dtype) = (self.inner.store().name(), self.dtype());
            return Err(Error(fail!(
                Type,
                "{name}: the items are of dtype {dtype} (expected texts, T)"
            )));
        }
        let length = self.shape().first().copied().unwrap_or(0);
        let (first, n) = first_and_count(&items, length);
        let texts = self.inner.texts(first, n).map_err(Error)?;
        let text = |(i, is_null): (usize, &bool)| {
            let bytes = texts.get(i).filter(|_| !is_null)?;
            // the engine has checked that it is UTF-8
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        Ok(texts.nulls.iter().enumerate().map(text).collect())
    }

    // ---- the shape

    /// Appends `count` positions along a dimension. `src` has the new items, in C order. On failure
    /// the array is unchanged.
    pub fn append<T: Element>(&mut self, axis: usize, count: u64, src: &[T]) -> Result<()> {
        self.check::<T>()?;
        self.append_bytes(axis, count, element::bytes(src))
    }

    /// Appends the bytes of items, as [`Array::append`], of any dtype.
    pub fn append_bytes(&mut self, axis: usize, count: u64, src: &[u8]) -> Result<()> {
        self.inner.append(axis, count, src).map_err(Error)
    }

    /// Inserts `count` positions into a dimension before position `at`, and shifts the following
    /// items. `src` has the new items, in C order. On failure the array is unchanged.
    pub fn insert<T: Element>(
        &mut self,
        axis: usize,
        at: u64,
        count: u64,
        src: &[T],
    ) -> Result<()> {
        self.check::<T>()?;
        self.insert_bytes(axis, at, count, element::bytes(src))
    }

    /// Inserts the bytes of items, as [`Array::insert`], of any dtype.
    pub fn insert_bytes(&mut self, axis: usize, at: u64, count: u64, src: &[u8]) -> Result<()> {
        self.inner.insert(axis, at, count, src).map_err(Error)
    }

    /// Removes positions of a dimension and shifts the following items. On failure the array is
    /// unchanged.
    pub fn remove(&mut self, axis: usize, positions: Range<u64>) -> Result<()> {
        let count = positions.end.saturating_sub(positions.start);
        let removed = self.inner.remove(axis, positions.start, count);
        removed.map_err(Error)
    }

    /// Changes the shape. Items outside the new shape are removed; new items are zeros or the fill
    /// value. On failure, the array may have an intermediate shape.
    pub fn resize(&mut self, shape: &[u64]) -> Result<()> {
        self.inner.resize(shape).map_err(Error)
    }

    fn check<T: Element>(&self) -> Result<()> {
        element::check::<T>(self.inner.dtype())
    }

    fn check_product(&self, positions: &[Option<&[u64]>], len: usize) -> Result<()> {
        let counts = positions.iter().zip(self.shape());
        let counts = counts.map(|(list, n)| list.map_or(*n, |list| list.len() as u64));
        check_buffer(counts, self.item_size(), len)
    }
}

/// Converts strides from items to bytes. Any that exceed the address space are refused by the
/// engine.
fn in_bytes<T>(strides: &[i64]) -> Vec<i64> {
    let size = size_of::<T>() as i64;
    strides.iter().map(|n| n.saturating_mul(size)).collect()
}
