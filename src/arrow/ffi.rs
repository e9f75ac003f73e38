//! The Arrow C data interface: exports batches of this library and reads batches of other
//! producers.
//!
//! Specification: <https://arrow.apache.org/docs/format/CDataInterface.html>. The receiver of a
//! structure owns it and calls its `release` once. It may move the structure bytewise before.
//! Exported structures store everything that they point to in `private_data`. Received structures
//! are checked against their type as far as possible: counts, lengths, missing pointers. The size
//! of the memory at a pointer cannot be checked; the producer must fulfil the contract.

use super::data::{Buffer, Data};
use super::format::{Field, Format, OffsetLayout};
use crate::error::{Error, Result, fail};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// `ArrowSchema` of the specification.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `ArrowArray` of the specification.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// `ArrowArrayStream` of the specification.
#[repr(C)]
pub struct ArrowArrayStream {
    /// Returns the schema of all batches.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Returns the next batch.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// Returns the message of the last error.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Releases the stream.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// Data of the producer.
    pub private_data: *mut c_void,
}

// SAFETY: the specification permits to use and release a structure on another thread than the one
// that created it, if the calls do not overlap: a consumer must serialize them.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArray {}
// SAFETY: as above.
unsafe impl Send for ArrowArrayStream {}

impl ArrowArrayStream {
    /// Returns a released stream.
    pub const fn none() -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: null_mut(),
        }
    }
}

const NULLABLE: i64 = 2;
/// Maximum nesting depth of types.
const MAX_DEPTH: usize = 64;

// ---- exported structures

/// The memory that an exported schema owns.
struct OwnedSchema {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
}

/// The memory that an exported array owns.
struct OwnedArray {
    _buffers: Vec<Option<Buffer>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

impl ArrowSchema {
    /// Returns a released schema.
    pub const fn none() -> ArrowSchema {
        ArrowSchema {
            format: null(),
            name: null(),
            metadata: null(),
            flags: 0,
            n_children: 0,
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }

    /// Returns whether the schema is released.
    pub fn is_none(&self) -> bool {
        self.release.is_none()
    }

    /// Exports a field.
    pub fn of(field: &Field) -> Result<ArrowSchema> {
        let text = |s: &str| {
            CString::new(s).map_err(|_| {
                fail!(
                    Unsupported,
                    "name {s:?}: contains a NUL byte, which a C string cannot hold"
                )
            })
        };
        let (format, name) = (text(&field.format.format_string())?, text(&field.name)?);
        let exported: Vec<ArrowSchema> = field
            .children
            .iter()
            .map(ArrowSchema::of)
            .collect::<Result<_>>()?;
        let children = exported
            .into_iter()
            .map(|s| Box::into_raw(Box::new(s)))
            .collect();
        let mut owned = Box::new(OwnedSchema {
            format,
            name,
            metadata: metadata(&field.metadata),
            children,
        });
        Ok(ArrowSchema {
            format: owned.format.as_ptr(),
            name: owned.name.as_ptr(),
            metadata: if field.metadata.is_empty() {
                null()
            } else {
                owned.metadata.as_ptr().cast()
            },
            flags: if field.nullable { NULLABLE } else { 0 },
            n_children: owned.children.len() as i64,
            children: owned.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(owned).cast(),
        })
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released yet, so the function of the producer must be called, once.
            unsafe { release(self) }
            self.release = None;
        }
    }
}

/// Encodes metadata: the number of pairs, then keys and values, each preceded by its length.
fn metadata(pairs: &[(String, String)]) -> Vec<u8> {
    let mut all = (pairs.len() as i32).to_ne_bytes().to_vec();
    for text in pairs.iter().flat_map(|(k, v)| [k, v]) {
        all.extend((text.len() as i32).to_ne_bytes());
        all.extend(text.as_bytes());
    }
    all
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: by contract a schema created by `of` and not released yet, possibly moved.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `of` stored the box there, and no code has taken it since.
    let owned = unsafe { Box::from_raw(schema.private_data.cast::<OwnedSchema>()) };
    for child in &owned.children {
        // SAFETY: `of` created the box; its drop releases the child unless it was moved or
        // released.
        drop(unsafe { Box::from_raw(*child) });
    }
}

impl ArrowArray {
    /// Returns a released array, which marks the end of a stream.
    pub const fn none() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }

    /// Exports values.
    pub fn of(data: Data) -> ArrowArray {
        let pointers = data
            .buffers
            .iter()
            .map(|b| b.as_ref().map_or(null(), |b| b.get().as_ptr().cast()))
            .collect();
        let children = data
            .children
            .into_iter()
            .map(|d| Box::into_raw(Box::new(ArrowArray::of(d))))
            .collect();
        let mut owned = Box::new(OwnedArray {
            _buffers: data.buffers,
            pointers,
            children,
        });
        ArrowArray {
            length: data.len as i64,
            null_count: data.nulls as i64,
            offset: 0,
            n_buffers: owned.pointers.len() as i64,
            n_children: owned.children.len() as i64,
            buffers: owned.pointers.as_mut_ptr(),
            children: owned.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(owned).cast(),
        }
    }

    /// Returns the number of values.
    pub fn length(&self) -> u64 {
        u64::try_from(self.length).unwrap_or(0)
    }

    /// Returns whether the array is released, which marks the end of a stream.
    pub fn is_none(&self) -> bool {
        self.release.is_none()
    }

    /// Returns a view of the array.
    pub fn view(&self) -> ArrayView<'_> {
        ArrayView(self)
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released yet, so the function of the producer must be called, once.
            unsafe { release(self) }
            self.release = None;
        }
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: by contract an array created by `of` and not released yet, possibly moved.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `of` stored the box there, and no code has taken it since.
    let owned = unsafe { Box::from_raw(array.private_data.cast::<OwnedArray>()) };
    for child in &owned.children {
        // SAFETY: `of` created the box; its drop releases the child unless it was moved or
        // released.
        drop(unsafe { Box::from_raw(*child) });
    }
}

// ---- received structures

/// A stream of another producer, released on drop.
#[repr(transparent)]
pub struct Stream(ArrowArrayStream);

impl Drop for Stream {
    fn drop(&mut self) {
        self.release();
    }
}

impl Stream {
    /// Takes ownership of a stream and marks `from` as released.
    pub fn take(from: &mut ArrowArrayStream) -> Stream {
        Stream(std::mem::replace(from, ArrowArrayStream::none()))
    }

    /// Returns a released stream.
    pub const fn none() -> Stream {
        Stream(ArrowArrayStream::none())
    }

    /// Returns whether the stream is released.
    pub fn is_none(&self) -> bool {
        self.0.release.is_none()
    }

    /// Returns the schema of the stream.
    pub fn schema(&mut self) -> Result<Field> {
        let get = self.0.get_schema.filter(|_| self.0.release.is_some());
        let get =
            get.ok_or_else(|| fail!(Argument, "Arrow stream: released, or get_schema is NULL"))?;
        let mut schema = ArrowSchema::none();
        // SAFETY: by contract the function of this stream, called with it and memory for a schema.
        let status = unsafe { get(&mut self.0, &mut schema) };
        self.check(status)?;
        if schema.is_none() {
            return Err(fail!(Argument, "Arrow stream: the schema is released"));
        }
        field_of(&schema, 0)
    }

    fn release(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: not released yet, so the function of the producer must be called, once.
            unsafe { release(&mut self.0) }
            self.0.release = None;
        }
    }

    /// Returns the next batch, or `None` at the end. After the end the stream is not called again.
    pub fn next_batch(&mut self) -> Result<Option<ArrowArray>> {
        if self.is_none() {
            return Ok(None);
        }
        let get = self
            .0
            .get_next
            .ok_or_else(|| fail!(Argument, "Arrow stream: get_next is NULL"))?;
        let mut array = ArrowArray::none();
        // SAFETY: by contract the function of this stream, called with it and memory for an array.
        let status = unsafe { get(&mut self.0, &mut array) };
        self.check(status)?;
        if array.is_none() {
            self.release();
            return Ok(None);
        }
        Ok(Some(array))
    }

    /// Returns an error with the message of the stream if `status` is not 0.
    fn check(&mut self, status: c_int) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: by contract the function of this stream, called after a failed call; it returns
        // NULL or a string that is valid until the next call.
        let message = self
            .0
            .get_last_error
            .and_then(|f| unsafe { text(f(&mut self.0)) })
            .unwrap_or_default();
        let mut e: Error = fail!(
            Callback,
            "Arrow stream: the stream failed: {message} ({})",
            std::io::Error::from_raw_os_error(status)
        );
        e.os_code = status;
        Err(e)
    }
}

/// Copies a C string. Returns `None` for NULL.
///
/// # Safety
/// `p` must be NULL, or point to a NUL-terminated string that is valid during the call.
unsafe fn text(p: *const c_char) -> Option<String> {
    // SAFETY: not NULL, so valid by the contract of this function.
    (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
}

/// Returns references to the elements of an array of pointers.
///
/// # Safety
/// `array` must be NULL, or point to `n` pointers; they and their targets must be valid for `'a`.
unsafe fn pointers<'a, T>(array: *const *mut T, n: i64, what: &str) -> Result<Vec<&'a T>> {
    let invalid = || {
        fail!(
            Argument,
            "{what}: count {n}, but the array of pointers is missing or incomplete"
        )
    };
    let n = usize::try_from(n).map_err(|_| invalid())?;
    if n > 0 && (array.is_null() || !array.is_aligned()) {
        return Err(invalid());
    }
    // SAFETY: not NULL and aligned, so valid by the contract of this function. A pointer that is
    // neither NULL nor misaligned points to a `T`.
    let pointer = |i| unsafe {
        Some(array.add(i).read())
            .filter(|p| p.is_aligned())
            .and_then(|p| p.as_ref())
    };
    (0..n).map(|i| pointer(i).ok_or_else(invalid)).collect()
}

fn field_of(schema: &ArrowSchema, depth: usize) -> Result<Field> {
    // SAFETY: by contract NULL or strings that are valid as long as the schema.
    let (format, name) = unsafe { (text(schema.format), text(schema.name)) };
    let name = name.unwrap_or_default();
    let format_string =
        format.ok_or_else(|| fail!(Argument, "Arrow stream: field {name:?}: no format"))?;
    if depth > MAX_DEPTH {
        return Err(fail!(
            Unsupported,
            "Arrow stream: types are nested more than {MAX_DEPTH} deep"
        ));
    }
    let format = Format::parse(&format_string).ok_or_else(|| {
        fail!(
            Type,
            "Arrow stream: column {name:?}: unsupported type {format_string:?}"
        )
    })?;
    // SAFETY: by contract NULL or `n_children` pointers to schemas that are valid as long as this
    // one.
    let children = unsafe {
        pointers(
            schema.children,
            schema.n_children,
            "children of an Arrow schema",
        )
    }?;
    // SAFETY: by contract NULL or a schema that is valid as long as this one.
    let dictionary = unsafe { schema.dictionary.as_ref() };
    let expected = match format {
        Format::List(_) | Format::VariableList(_) => Some(1),
        Format::Struct => None,
        _ => Some(0),
    };
    if let Some(expected) = expected.filter(|n| *n != children.len()) {
        return Err(fail!(
            Argument,
            "Arrow stream: column {name:?}: {} children (expected {expected} for the type {format_string:?})",
            children.len()
        ));
    }
    Ok(Field {
        name,
        format,
        nullable: schema.flags & NULLABLE != 0,
        metadata: Vec::new(),
        children: children
            .into_iter()
            .map(|s| field_of(s, depth + 1))
            .collect::<Result<_>>()?,
        dictionary: dictionary
            .map(|s| field_of(s, depth + 1).map(Box::new))
            .transpose()?,
    })
}

/// A view of the values of an array.
#[derive(Clone, Copy)]
pub struct ArrayView<'a>(&'a ArrowArray);

impl<'a> ArrayView<'a> {
    /// Checks the array against its type. Returns the offset of the first value, the number of
    /// values, and whether there may be nulls.
    pub fn check(&self, field: &Field) -> Result<(usize, usize, bool)> {
        let a = self.0;
        let count = |n: i64, what: &str| {
            usize::try_from(n).map_err(|_| fail!(Argument, "Arrow array: the {what} is {n}"))
        };
        let (offset, len) = (count(a.offset, "offset")?, count(a.length, "length")?);
        if offset
            .checked_add(len)
            .is_none_or(|end| end > isize::MAX as usize / 16)
        {
            return Err(fail!(
                Argument,
                "Arrow array: {len} values from {offset} on exceed the address space"
            ));
        }
        if a.null_count < -1 || a.null_count > a.length {
            return Err(fail!(
                Argument,
                "Arrow array: {} nulls among {len} values",
                a.null_count
            ));
        }
        let views = matches!(
            field.format,
            Format::Variable {
                layout: OffsetLayout::View,
                ..
            }
        );
        let (found, expected) = (a.n_buffers, field.format.buffers() as i64);
        if found != expected && !(views && found > expected) {
            return Err(fail!(
                Argument,
                "Arrow array: {found} buffers (expected {expected} for the type {})",
                field.describe()
            ));
        }
        if found > 0 && (a.buffers.is_null() || !a.buffers.is_aligned()) {
            return Err(fail!(
                Argument,
                "Arrow array: {found} buffers, but the array of pointers is missing"
            ));
        }
        if a.dictionary.is_null() != field.dictionary.is_none() {
            return Err(fail!(
                Argument,
                "Arrow array: its dictionary does not match the type {}",
                field.describe()
            ));
        }
        if a.n_children != field.children.len() as i64 {
            return Err(fail!(
                Argument,
                "Arrow array: {} children (expected {} for the type {})",
                a.n_children,
                field.children.len(),
                field.describe()
            ));
        }
        Ok((offset, len, a.null_count != 0))
    }

    /// Returns the number of buffers. Valid after [`ArrayView::check`] has succeeded.
    pub fn buffers(&self) -> usize {
        self.0.n_buffers as usize
    }

    /// Returns a buffer of `bytes` bytes, or `None` if it is missing. Call [`ArrayView::check`]
    /// before.
    pub fn optional_buffer(&self, i: usize, bytes: usize) -> Option<&'a [u8]> {
        if i >= self.buffers() {
            return None;
        }
        // SAFETY: `check` has verified that the array of pointers exists, and by contract it has
        // `n_buffers` elements.
        let p = unsafe { self.0.buffers.add(i).read() };
        if p.is_null() || bytes > isize::MAX as usize {
            return None;
        }
        // SAFETY: not NULL, so by contract it points to as many bytes as the type and the length
        // require, which do not change as long as the array lives.
        Some(unsafe { std::slice::from_raw_parts(p.cast(), bytes) })
    }

    /// Returns a buffer of `bytes` bytes, or an error if it is missing.
    pub fn buffer(&self, i: usize, bytes: usize) -> Result<&'a [u8]> {
        match self.optional_buffer(i, bytes) {
            _ if bytes == 0 => Ok(&[]),
            Some(bytes) => Ok(bytes),
            None => Err(fail!(
                Argument,
                "Arrow array: buffer {i} is missing (expected {bytes} bytes)"
            )),
        }
    }

    /// Returns a view of a child array.
    pub fn child(&self, i: usize) -> Result<ArrayView<'a>> {
        // SAFETY: by contract NULL or `n_children` pointers to arrays that are valid as long as
        // this one.
        let children = unsafe {
            pointers(
                self.0.children,
                self.0.n_children,
                "children of an Arrow array",
            )
        }?;
        let missing = || fail!(Argument, "Arrow array: no child {i}");
        children
            .into_iter()
            .nth(i)
            .filter(|a| !a.is_none())
            .map(ArrayView)
            .ok_or_else(missing)
    }

    /// Returns a view of the dictionary.
    pub fn dictionary(&self) -> Result<ArrayView<'a>> {
        // SAFETY: by contract NULL or an array that is valid as long as this one.
        let values = unsafe { self.0.dictionary.as_ref() };
        values
            .filter(|a| !a.is_none())
            .map(ArrayView)
            .ok_or_else(|| fail!(Argument, "Arrow array: its dictionary is missing"))
    }
}
