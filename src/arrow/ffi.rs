//! Arrow's C data interface: our batches for others, and batches of others.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface.html>. Who gets a structure owns it and calls its `release` once;
//! it may be moved before, byte by byte. The structures that are made here keep all they point to
//! in `private_data`. What others give is held against what their type says wherever that can be
//! told: counts, lengths, pointers that are missing. How much memory a pointer points to nobody can
//! tell: that is the giver's part of the contract.

use super::data::{Buffer, Data};
use super::format::{Ends, Field, Format};
use crate::error::{Error, Result, fail};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// As the specification has it.
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

/// As the specification has it.
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

/// As the specification has it.
#[repr(C)]
pub struct ArrowArrayStream {
    /// The type of all batches.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// The next batch.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// What the last failure was.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Ends it.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The maker's.
    pub private_data: *mut c_void,
}

const NULLABLE: i64 = 2;
/// Types within types that are followed.
const DEEPEST: usize = 64;

// ---- ours

/// What a schema of ours keeps.
struct OwnedSchema {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
}

/// What an array of ours keeps.
struct OwnedArray {
    _buffers: Vec<Option<Buffer>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

impl ArrowSchema {
    /// One that is released already.
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

    /// That of a field.
    pub fn of(field: &Field) -> Result<ArrowSchema> {
        let text = |s: &str| {
            CString::new(s).map_err(|_| {
                fail!(
                    Unsupported,
                    "the name {s:?}: C has no text with a NUL in it"
                )
            })
        };
        let (format, name) = (text(&field.format.spelling())?, text(&field.name)?);
        let made: Vec<ArrowSchema> = field
            .children
            .iter()
            .map(ArrowSchema::of)
            .collect::<Result<_>>()?;
        let children = made
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
            // SAFETY: it is not released yet, so its maker's function must be called, once.
            unsafe { release(self) }
            self.release = None;
        }
    }
}

/// Keys and values, each with its length before it.
fn metadata(pairs: &[(String, String)]) -> Vec<u8> {
    let mut all = (pairs.len() as i32).to_ne_bytes().to_vec();
    for text in pairs.iter().flat_map(|(k, v)| [k, v]) {
        all.extend((text.len() as i32).to_ne_bytes());
        all.extend(text.as_bytes());
    }
    all
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: by contract a schema that `of` made and that is not released yet, moved or not.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `of` put it there, and nobody has taken it since.
    let owned = unsafe { Box::from_raw(schema.private_data.cast::<OwnedSchema>()) };
    for child in &owned.children {
        // SAFETY: `of` made the box; dropping it releases what was not moved away or released.
        drop(unsafe { Box::from_raw(*child) });
    }
}

impl ArrowArray {
    /// One that is released already: the end of a stream.
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

    /// That of values.
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

    /// Is it the end of a stream?
    pub fn is_none(&self) -> bool {
        self.release.is_none()
    }

    /// Its values.
    pub fn view(&self) -> View<'_> {
        View(self)
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is not released yet, so its maker's function must be called, once.
            unsafe { release(self) }
            self.release = None;
        }
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: by contract an array that `of` made and that is not released yet, moved or not.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `of` put it there, and nobody has taken it since.
    let owned = unsafe { Box::from_raw(array.private_data.cast::<OwnedArray>()) };
    for child in &owned.children {
        // SAFETY: `of` made the box; dropping it releases what was not moved away or released.
        drop(unsafe { Box::from_raw(*child) });
    }
}

// ---- those of others

/// A stream of somebody else's, which ends when this is dropped.
pub struct Stream(ArrowArrayStream);

impl Drop for Stream {
    fn drop(&mut self) {
        self.end();
    }
}

impl Stream {
    /// Takes a stream over: for the giver it is released.
    pub fn take(from: &mut ArrowArrayStream) -> Stream {
        let ArrowArrayStream {
            get_schema,
            get_next,
            get_last_error,
            private_data,
            ..
        } = *from;
        Stream(ArrowArrayStream {
            get_schema,
            get_next,
            get_last_error,
            release: from.release.take(),
            private_data,
        })
    }

    /// What it gives.
    pub fn schema(&mut self) -> Result<Field> {
        let get = self.0.get_schema.filter(|_| self.0.release.is_some());
        let get =
            get.ok_or_else(|| fail!(Argument, "the stream was released, or has no get_schema"))?;
        let mut schema = ArrowSchema::none();
        // SAFETY: by contract the stream's own function, for it and a place for a schema.
        let status = unsafe { get(&mut self.0, &mut schema) };
        self.check(status)?;
        if schema.release.is_none() {
            return Err(fail!(Argument, "the stream's schema was released"));
        }
        field_of(&schema, 0)
    }

    fn end(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it is not released yet, so its maker's function must be called, once.
            unsafe { release(&mut self.0) }
            self.0.release = None;
        }
    }

    /// The next batch; nothing at the end, behind which the stream is asked no more.
    pub fn next_batch(&mut self) -> Result<Option<ArrowArray>> {
        if self.0.release.is_none() {
            return Ok(None);
        }
        let get = self
            .0
            .get_next
            .ok_or_else(|| fail!(Argument, "the stream has no get_next"))?;
        let mut array = ArrowArray::none();
        // SAFETY: by contract the stream's own function, for it and a place for an array.
        let status = unsafe { get(&mut self.0, &mut array) };
        self.check(status)?;
        if array.is_none() {
            self.end();
            return Ok(None);
        }
        Ok(Some(array))
    }

    /// A failure of the stream's, in its words.
    fn check(&mut self, status: c_int) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: by contract the stream's own function, after one that failed; it gives NULL or
        // text that lives until the next call.
        let words = self
            .0
            .get_last_error
            .and_then(|f| unsafe { text(f(&mut self.0)) })
            .unwrap_or_default();
        let mut e: Error = fail!(
            Callback,
            "the stream failed: {words} ({})",
            std::io::Error::from_raw_os_error(status)
        );
        e.os_code = status;
        Err(e)
    }
}

/// # Safety
/// NULL, or text with a NUL that lives as long as what is made of it is being made.
unsafe fn text(p: *const c_char) -> Option<String> {
    // SAFETY: not NULL, so as the caller promises.
    (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
}

/// The pointers of a list that C gives.
///
/// # Safety
/// `list` must be NULL, or point to `n` pointers that live as long as what borrows them.
unsafe fn pointers<'a, T>(list: *const *mut T, n: i64, what: &str) -> Result<Vec<&'a T>> {
    let none = || {
        fail!(
            Argument,
            "{what}: {n} of them, and the pointers to them are not there"
        )
    };
    let n = usize::try_from(n).map_err(|_| none())?;
    if n > 0 && (list.is_null() || !list.is_aligned()) {
        return Err(none());
    }
    // SAFETY: not NULL and aligned, so as the caller promises; each that is neither NULL nor
    // misaligned points to one.
    let pointer = |i| unsafe {
        Some(list.add(i).read())
            .filter(|p| p.is_aligned())
            .and_then(|p| p.as_ref())
    };
    (0..n).map(|i| pointer(i).ok_or_else(none)).collect()
}

fn field_of(schema: &ArrowSchema, depth: usize) -> Result<Field> {
    // SAFETY: by contract NULL or texts that live as long as the schema does.
    let (format, name) = unsafe { (text(schema.format), text(schema.name)) };
    let name = name.unwrap_or_default();
    let spelled =
        format.ok_or_else(|| fail!(Argument, "the field {name:?} of the stream has no format"))?;
    if depth > DEEPEST {
        return Err(fail!(
            Unsupported,
            "the stream: types within types, more than {DEEPEST} deep"
        ));
    }
    let format = Format::parse(&spelled).ok_or_else(|| {
        fail!(
            Type,
            "column {name:?} of the stream has the type {spelled:?}, which no column can take"
        )
    })?;
    // SAFETY: by contract NULL or so many pointers to schemas that live as long as this one.
    let children = unsafe { pointers(schema.children, schema.n_children, "children of a schema") }?;
    // SAFETY: by contract NULL or a schema that lives as long as this one.
    let dictionary = unsafe { schema.dictionary.as_ref() };
    let wanted = match format {
        Format::List(_) => Some(1),
        Format::Struct => None,
        _ => Some(0),
    };
    if wanted.is_some_and(|n| n != children.len()) {
        return Err(fail!(
            Argument,
            "column {name:?} of the stream: {} children, the type {spelled:?} has {wanted:?}",
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

/// The values of an array.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a ArrowArray);

impl<'a> View<'a> {
    /// Where its first value is, how many there are, and whether there may be nulls; all is held
    /// against its type.
    pub fn check(&self, field: &Field) -> Result<(usize, usize, bool)> {
        let a = self.0;
        let count = |n: i64, what: &str| {
            usize::try_from(n)
                .map_err(|_| fail!(Argument, "an array of the stream: its {what} is {n}"))
        };
        let (offset, len) = (count(a.offset, "offset")?, count(a.length, "length")?);
        if offset
            .checked_add(len)
            .is_none_or(|end| end > isize::MAX as usize / 16)
        {
            return Err(fail!(
                Argument,
                "an array of the stream: {len} values from {offset} on"
            ));
        }
        if a.null_count < -1 || a.null_count > a.length {
            return Err(fail!(
                Argument,
                "an array of the stream: {} nulls among {len} values",
                a.null_count
            ));
        }
        let views = matches!(
            field.format,
            Format::Variable {
                ends: Ends::View,
                ..
            }
        );
        let (have, want) = (a.n_buffers, field.format.buffers() as i64);
        if have != want && !(views && have > want) {
            return Err(fail!(
                Argument,
                "an array of the stream: {have} buffers, its type {} has {want}",
                field.words()
            ));
        }
        if have > 0 && (a.buffers.is_null() || !a.buffers.is_aligned()) {
            return Err(fail!(
                Argument,
                "an array of the stream: {have} buffers, and the pointers to them are not there"
            ));
        }
        if a.dictionary.is_null() != field.dictionary.is_none() {
            return Err(fail!(
                Argument,
                "an array of the stream: its type is {}, its dictionary is not what that says",
                field.words()
            ));
        }
        if a.n_children != field.children.len() as i64 {
            return Err(fail!(
                Argument,
                "an array of the stream: {} children, its type {} has {}",
                a.n_children,
                field.words(),
                field.children.len()
            ));
        }
        Ok((offset, len, a.null_count != 0))
    }

    /// How many buffers, where [`View::check`] found nothing.
    pub fn buffers(&self) -> usize {
        self.0.n_buffers as usize
    }

    /// A buffer of so many bytes; nothing where it is not there, though bytes should be.
    pub fn optional(&self, i: usize, bytes: usize) -> Option<&'a [u8]> {
        if i >= self.buffers() {
            return None;
        }
        // SAFETY: `check` has found the list to be there, and by contract it has that many
        // pointers.
        let p = unsafe { self.0.buffers.add(i).read() };
        if p.is_null() || bytes > isize::MAX as usize {
            return None;
        }
        // SAFETY: not NULL, so by contract it points to as many bytes as the type and the length
        // make it have, which nobody changes as long as the array lives.
        Some(unsafe { std::slice::from_raw_parts(p.cast(), bytes) })
    }

    /// A buffer of so many bytes, which must be there.
    pub fn buffer(&self, i: usize, bytes: usize) -> Result<&'a [u8]> {
        match self.optional(i, bytes) {
            _ if bytes == 0 => Ok(&[]),
            Some(bytes) => Ok(bytes),
            None => Err(fail!(
                Argument,
                "an array of the stream: its buffer {i} is not there, {bytes} bytes were expected"
            )),
        }
    }

    /// The values of a part.
    pub fn child(&self, i: usize) -> Result<View<'a>> {
        // SAFETY: by contract NULL or so many pointers to arrays that live as long as this one.
        let children =
            unsafe { pointers(self.0.children, self.0.n_children, "children of an array") }?;
        let none = || fail!(Argument, "an array of the stream has no child {i}");
        children
            .into_iter()
            .nth(i)
            .filter(|a| !a.is_none())
            .map(View)
            .ok_or_else(none)
    }

    /// The values of a dictionary.
    pub fn dictionary(&self) -> Result<View<'a>> {
        // SAFETY: by contract NULL or an array that lives as long as this one.
        let values = unsafe { self.0.dictionary.as_ref() };
        values.filter(|a| !a.is_none()).map(View).ok_or_else(|| {
            fail!(
                Argument,
                "an array of the stream: its dictionary is not there"
            )
        })
    }
}
