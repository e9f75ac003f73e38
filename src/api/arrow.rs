//! Arrow: the structures of the C data interface and the C stream interface.
//!
//! Each type here has the layout of the C structure that it is named for, and owns it. It is passed
//! to and from other libraries by pointer, which is safe to get and unsafe to use.
#![forbid(unsafe_code)]

use super::{Error, Result};
use crate::arrow::batch_source::Source;
use crate::arrow::ffi;
use std::ffi::c_void;

/// Reads rows of a [`Table`](crate::Table), or records of a [`Bag`](crate::Bag), as Arrow record
/// batches: an iterator over [`ArrowArray`] structs with one child per column.
///
/// [`Table::to_arrow`](crate::Table::to_arrow) and [`Bag::to_arrow`](crate::Bag::to_arrow) return
/// it. It may outlive the table or bag, and sees the rows that existed when it was created. The
/// guide `docs/languages.md` lists the types.
///
/// A reader is `Send`; one thread at a time uses it. After an error the iterator ends. Values that
/// [`Options::skip_corrupt`](crate::Options::skip_corrupt) skips are zeros in columns, nulls in
/// bags.
///
/// ```
/// use holdall::{Format, Options, Table, Values};
/// # let name = format!("holdall-doc-arrow-{}.bcolz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let _ = std::fs::remove_dir_all(&path);
///
/// let columns = [("day", "<i4"), ("code", "|S3")];
/// let mut table = Table::create(&path, Format::Bcolz, &columns, &Options::new())?;
/// table.append(3, &[Values::from(&[1, 2, 3][..]), Values::bytes(b"EWRJFKLGA")])?;
/// table.commit()?;
///
/// let mut rows = 0;
/// for batch in table.to_arrow(.., 2)? {
///     rows += batch?.len();
/// }
/// assert_eq!(rows, 3);
///
/// // some columns, appended to another table
/// let only_day = table.columns_to_arrow(&["day"], 1.., 0)?;
/// # let copy = path.with_extension("copy");
/// # let _ = std::fs::remove_dir_all(&copy);
/// let mut days = Table::create(&copy, Format::Blz, &[("day", "<i8")], &Options::new())?;
/// days.append_arrow(only_day.into_stream())?;
/// days.commit()?;
/// assert_eq!(days.rows(), 2);
/// # std::fs::remove_dir_all(path)?;
/// # std::fs::remove_dir_all(copy)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArrowReader {
    source: Box<dyn Source>,
    has_failed: bool,
}

impl ArrowReader {
    pub(super) fn new(source: impl Source + 'static) -> ArrowReader {
        ArrowReader {
            source: Box::new(source),
            has_failed: false,
        }
    }

    /// Returns the schema of all batches: a struct with one field per column.
    ///
    /// It fails with [`Status::Unsupported`](crate::Status::Unsupported) if a name contains a NUL.
    pub fn schema(&self) -> Result<ArrowSchema> {
        let schema = ffi::ArrowSchema::of(self.source.schema());
        schema.map(ArrowSchema).map_err(Error)
    }

    /// Converts the reader to a stream of the batches that were not read yet, for another library.
    pub fn into_stream(self) -> ArrowArrayStream {
        ArrowArrayStream(ffi::Stream::take(&mut ffi::ArrowArrayStream::of(
            self.source,
        )))
    }
}

impl Iterator for ArrowReader {
    type Item = Result<ArrowArray>;

    fn next(&mut self) -> Option<Result<ArrowArray>> {
        if self.has_failed {
            return None;
        }
        let batch = self.source.next_batch().transpose()?;
        self.has_failed = batch.is_err();
        let array = batch.map(|data| ArrowArray(ffi::ArrowArray::of(data)));
        Some(array.map_err(Error))
    }
}

/// A stream of record batches: `struct ArrowArrayStream` of Arrow's
/// [C stream interface](https://arrow.apache.org/docs/format/CStreamInterface.html). Dropping it
/// releases it.
///
/// [`ArrowReader::into_stream`] creates one for another library, and
/// [`Table::append_arrow`](crate::Table::append_arrow) reads one that another library has filled. A
/// stream is `Send`; one thread at a time uses it.
///
/// The functions of a stream of this library return errno values and a message that names column
/// and row. Until its release, changing the table is an error.
///
/// ```
/// use holdall::{ArrowArrayStream, Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-ffi-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["a", "bc"])?;
/// # writer.commit()?;
///
/// let mut stream = Bag::open(&path)?.to_arrow(.., 0)?.into_stream();
/// let pointer = stream.as_mut_ptr(); // *mut FFI_ArrowArrayStream, *mut struct ArrowArrayStream
/// assert!(!pointer.is_null() && !stream.is_released());
/// assert!(ArrowArrayStream::empty().is_released());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With the crate `arrow-array` and its feature `ffi`:
///
/// ```ignore
/// // from holdall
/// let mut stream = table.to_arrow(.., 0)?.into_stream();
/// // SAFETY: a valid stream, which from_raw moves out
/// let batches = unsafe { RecordBatchStreamReader::from_raw(stream.as_mut_ptr().cast()) }?;
///
/// // to holdall
/// let mut stream = holdall::ArrowArrayStream::empty();
/// let ffi = FFI_ArrowArrayStream::new(Box::new(batches));
/// // SAFETY: memory for a stream, which is released
/// unsafe { stream.as_mut_ptr().cast::<FFI_ArrowArrayStream>().write(ffi) };
/// table.append_arrow(stream)?;
/// ```
#[repr(transparent)]
pub struct ArrowArrayStream(pub(super) ffi::Stream);

impl ArrowArrayStream {
    /// Creates a released stream, to be filled by another library.
    pub fn empty() -> ArrowArrayStream {
        ArrowArrayStream(ffi::Stream::none())
    }

    /// Returns a pointer to the `struct ArrowArrayStream` of C.
    ///
    /// Another library may fill the structure if it is released, read the stream, release it, or
    /// move it out, after which it must be marked as released: `release` must be NULL. The pointer is
    /// valid until this value is moved or dropped.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    /// Returns whether the stream is released, or was moved out.
    pub fn is_released(&self) -> bool {
        self.0.is_none()
    }
}

impl Default for ArrowArrayStream {
    fn default() -> ArrowArrayStream {
        ArrowArrayStream::empty()
    }
}

/// A schema or field: `struct ArrowSchema` of Arrow's
/// [C data interface](https://arrow.apache.org/docs/format/CDataInterface.html). Dropping it releases
/// it. It is `Send`.
///
/// ```
/// use holdall::{ArrowSchema, Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-schema-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append(b"a record")?;
/// # writer.commit()?;
///
/// let mut schema: ArrowSchema = Bag::open(&path)?.to_arrow(.., 0)?.schema()?;
/// let pointer = schema.as_mut_ptr(); // *mut FFI_ArrowSchema of the crate arrow
/// assert!(!pointer.is_null() && !schema.is_released());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(transparent)]
pub struct ArrowSchema(ffi::ArrowSchema);

impl ArrowSchema {
    /// Returns a pointer to the `struct ArrowSchema` of C. Another library may use it as that of
    /// [`ArrowArrayStream::as_mut_ptr`].
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    /// Returns whether the schema is released, or was moved out.
    pub fn is_released(&self) -> bool {
        self.0.is_none()
    }
}

/// The values of a field or a record batch: `struct ArrowArray` of Arrow's
/// [C data interface](https://arrow.apache.org/docs/format/CDataInterface.html). Dropping it releases
/// it. It is `Send`.
///
/// ```
/// use holdall::{ArrowArray, Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-batches-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["a", "b", "c"])?;
/// # writer.commit()?;
///
/// let mut batches = Bag::open(&path)?.to_arrow(1.., 0)?;
/// let mut batch: ArrowArray = batches.next().ok_or("no records")??;
/// assert_eq!(batch.len(), 2);
/// let pointer = batch.as_mut_ptr(); // *mut FFI_ArrowArray of the crate arrow
/// assert!(!pointer.is_null());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(transparent)]
pub struct ArrowArray(ffi::ArrowArray);

impl ArrowArray {
    /// Returns a pointer to the `struct ArrowArray` of C. Another library may use it as that of
    /// [`ArrowArrayStream::as_mut_ptr`].
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    /// Returns whether the array is released, or was moved out.
    pub fn is_released(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the number of values, or of the rows of a record batch.
    pub fn len(&self) -> u64 {
        self.0.length()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
