//! The C functions for arrays.

use super::bag::give_splits;
use super::checksum::content_checksum;
use super::constants::{checksum_number, format, format_number, mode, order_number};
use super::container::{holdall_format, holdall_mode, wrong_kind};
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::schunk::{filter_numbers, stored_codec_number};
use super::storage::{Target, opened_from, target, target_of};
use super::store::target_and_source;
use super::structs::{read_struct, structure, write_struct};
use crate::array::selection::MAX_NDIM;
use crate::array::store::Texts;
use crate::array::{Array, NewLocation};
use crate::dataset::create::ArraySpec;
use crate::dataset::{any, open};
use crate::dtype::Dtype;
use crate::error::{Result, fail};
use crate::format::{Format, Kind};
use crate::options::Options;
use crate::store::{self, NodeLocation};
use crate::superchunk::bloscpack::Mode;
use crate::watch::{Reopen, Watch, reopened};
use std::ffi::OsStr;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// Maximum number of dimensions of an array.
pub const HOLDALL_MAX_NDIM: u32 = 16;
/// The last index varies fastest (row-major).
pub const HOLDALL_ORDER_C: i32 = 601;
/// The first index varies fastest (column-major).
pub const HOLDALL_ORDER_F: i32 = 602;

const _: () = assert!(HOLDALL_MAX_NDIM as usize == MAX_NDIM);

/// An open array: items of one dtype in 0 to HOLDALL_MAX_NDIM dimensions. Indices are those of the
/// array and buffers are in C order, whatever the storage order. Values keep the byte order of the
/// dtype. Items that were never written read as the fill value, or as zeros.
pub struct holdall_array {
    broken: AtomicBool,
    pub(super) inner: Array,
    dtype: CString,
    /// Names of the named values, except those that contain a NUL.
    names: Vec<CString>,
    /// Whether it is a column of a table, which only the table may change.
    is_column: bool,
    /// The number of commits through this handle, or that of the table.
    pub(super) generation: u64,
    /// For reading: what it was opened from, with the options.
    source: Option<Reopen>,
}
handle!(holdall_array);

/// Describes a new array.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_array_spec {
    /// sizeof(holdall_array_spec).
    pub struct_size: usize,
    /// As in NumPy, stored as spelled: "<f8", "|S16" (padded with NUL), "<U4" (4 UCS-4 characters),
    /// "<M8[ns]" (int64 since 1970, NaT is INT64_MIN), "[('a','<i4'),('b','<f8')]". Without < or >
    /// little-endian.
    pub dtype: *const c_char,
    /// ndim lengths, 0 or more. Frames, and folders whose chunks have any shape, grow along any
    /// dimension, others along the first one.
    pub shape: *const u64,
    /// ndim lengths, or NULL for about HOLDALL_OPT_CHUNK_BYTES: long chunks along a dimension of
    /// length 0. Frames, HOLDALL_FORMAT_BLZ_RFC: any shape. Others: chunks span all dimensions but
    /// the first.
    pub chunk_shape: *const u64,
    /// ndim lengths, or NULL for about HOLDALL_OPT_BLOCK_BYTES. Frames: longer blocks are padded.
    /// Others: must be NULL.
    pub block_shape: *const u64,
    /// HOLDALL_FORMAT_BLOSCPACK, _BCOLZ, _BLZ, _BLZ_RFC, _B2ND or _CATERVA.
    pub format: holdall_format,
    /// Number of dimensions.
    pub ndim: u32,
}
structure!(holdall_array_spec);

/// What is known about an array.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_array_info {
    /// sizeof(holdall_array_info).
    pub struct_size: usize,
    /// As in NumPy, spelled as at creation.
    pub dtype: *const c_char,
    /// ndim lengths.
    pub shape: *const u64,
    /// ndim lengths of a chunk, which reads best as a whole. Bloscpack: the whole rows (of the
    /// slowest dimension) in it, at least 1.
    pub chunk_shape: *const u64,
    /// ndim lengths of a block of the first chunk (without chunks: of a chunk), the smallest unit
    /// that is decoded.
    pub block_shape: *const u64,
    /// Bytes per item; 0: Python objects, or items without bytes.
    pub itemsize: usize,
    /// Bytes of all items.
    pub nbytes: u64,
    /// Bytes on disk at the last commit; before the first, of the chunks. Folders: as the writer
    /// recorded (bcolz and BLZ: estimated).
    pub stored_bytes: u64,
    /// See base.h. Of a column: commits of its table.
    pub generation: u64,
    /// One of HOLDALL_FORMAT_*. HOLDALL_FORMAT_B2FRAME: a frame without array metalayers.
    pub format: holdall_format,
    /// Number of dimensions.
    pub ndim: u32,
    /// HOLDALL_ORDER_C or _F. The slowest dimension is the first in C order, the last in Fortran
    /// order.
    pub order: i32,
    /// One of HOLDALL_CODEC_*. Bloscpack: of all chunks (_LZ4 includes LZ4HC). BLZ: of the first
    /// chunk. Others: as recorded, for new chunks.
    pub codec: i32,
    /// Recorded compression level; -1: none is (Bloscpack).
    pub level: i32,
    /// One of HOLDALL_CHECKSUM_*, of the chunks.
    pub checksum: i32,
    /// Number of filters.
    pub filter_count: u32,
    /// Number of attributes.
    pub attr_count: u32,
    /// HOLDALL_FILTER_*, in order of application; 0: one that this library does not have.
    /// Bloscpack: of the last chunk.
    pub filters: [u8; 8],
    /// As HOLDALL_OPT_PRECISION, of new items; 0: exact.
    pub precision: i32,
    /// Frames: number of attributes in the header, of fixed length. They are the first ones.
    pub fixed_attr_count: u32,
}
structure!(holdall_array_info);

impl AsRef<Array> for holdall_array {
    fn as_ref(&self) -> &Array {
        &self.inner
    }
}

/// Converts to the handle of a column.
impl From<Array> for holdall_array {
    fn from(array: Array) -> holdall_array {
        holdall_array {
            is_column: true,
            ..array_handle(array)
        }
    }
}

impl AsMut<Array> for holdall_array {
    fn as_mut(&mut self) -> &mut Array {
        &mut self.inner
    }
}

/// One value of any length: text (dtype "T"), which is UTF-8 without a terminating zero; bytes; a list,
/// structure or any object in MessagePack.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_value {
    /// Its bytes; NULL: a null, whatever size is.
    pub data: *const c_void,
    /// Their number.
    pub size: usize,
}

/// Values of any length that one call has read.
pub struct holdall_values {
    /// What the items point to.
    _texts: Texts,
    items: Vec<holdall_value>,
}

impl holdall_values {
    fn new(texts: Texts) -> holdall_values {
        let item = |i: usize| match texts.is_null(i) {
            true => holdall_value {
                data: std::ptr::null(),
                size: 0,
            },
            false => {
                let text = texts.get(i).unwrap_or_default();
                holdall_value {
                    data: text.as_ptr().cast(),
                    size: text.len(),
                }
            }
        };
        let items = (0..texts.len()).map(item).collect();
        holdall_values {
            _texts: texts,
            items,
        }
    }
}

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_array>();

impl holdall_array {
    /// Updates the list of names after attributes have changed.
    pub(super) fn name_all(&mut self) {
        self.names = c_names(self.inner.store().attr_names());
    }

    fn info(&self) -> Result<holdall_array_info> {
        let array = &self.inner;
        let encoding = array.encoding();
        let (filter_count, filters) = filter_numbers(&encoding.filters);
        Ok(holdall_array_info {
            struct_size: size_of::<holdall_array_info>(),
            dtype: self.dtype.as_ptr(),
            shape: array.shape().as_ptr(),
            chunk_shape: array.chunkshape().as_ptr(),
            block_shape: array.blockshape().as_ptr(),
            itemsize: array.itemsize(),
            nbytes: array.nbytes(),
            stored_bytes: array.cbytes()?,
            generation: self.generation,
            format: format_number(array.format()),
            ndim: array.shape().len() as u32,
            order: order_number(array.order()),
            codec: stored_codec_number(encoding.codec),
            level: encoding.level.map_or(-1, i32::from),
            checksum: checksum_number(array.checksum()),
            filter_count,
            attr_count: self.names.len() as u32,
            filters,
            precision: encoding.precision.map_or(0, i32::from),
            fixed_attr_count: {
                let store = array.store();
                let names = store.attr_names().into_iter();
                names.filter(|name| store.is_attr_fixed(name)).count() as u32
            },
        })
    }
}

pub(super) fn array_handle(inner: Array) -> holdall_array {
    // A field name may contain a NUL. The Python literal of the dtype escapes it.
    let dtype = CString::new(inner.dtype_text())
        .or_else(|_| CString::new(inner.dtype().to_python_literal()));
    let names = c_names(inner.store().attr_names());
    holdall_array {
        broken: AtomicBool::new(false),
        inner,
        dtype: dtype.unwrap_or_default(),
        names,
        is_column: false,
        generation: 0,
        source: None,
    }
}

/// Returns the names as C strings, without those that contain a NUL.
pub(super) fn c_names(names: Vec<&str>) -> Vec<CString> {
    names
        .into_iter()
        .filter_map(|n| CString::new(n).ok())
        .collect()
}

/// Returns a name passed by the caller, or `None` if it is not UTF-8 and therefore names nothing.
pub(super) fn text<'a>(name: *const c_char) -> Result<Option<&'a str>> {
    Ok(string(name, "name")?.to_str())
}

/// Returns text passed by the caller, which must be UTF-8.
pub(super) fn utf8<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    string(text, what)?
        .to_str()
        .ok_or_else(|| fail!(Argument, "{what} is not UTF-8"))
}

/// Changes an array that is not a column. A column may be shared with other readers, and all
/// columns of a table must change together.
fn change(
    array: *mut holdall_array,
    err: *mut holdall_error,
    f: impl FnOnce(&mut holdall_array) -> Result<()>,
) -> holdall_status {
    if let Some(column) = borrow(array).filter(|a| a.is_column) {
        let message =
            "a column of an open table cannot be changed by itself; use holdall_table_write() etc.";
        return guard_handle(Some(column), err, |a| {
            Err(fail!(State, "{}: {message}", a.inner.store().name()))
        });
    }
    guard_change(borrow_mut(array), err, f)
}

/// Returns one number per dimension, or `None` for NULL.
fn numbers<'a, T>(p: *const T, ndim: usize, what: &str) -> Result<Option<&'a [T]>> {
    if p.is_null() {
        Ok(None)
    } else {
        slice(p, ndim, what).map(Some)
    }
}

pub(super) fn destination<'a>(dst: *mut c_void, n: usize) -> Result<&'a mut [u8]> {
    match buffer(dst.cast(), n)? {
        Some(d) => Ok(d),
        None if n == 0 => Ok(&mut []),
        None => Err(fail!(Argument, "dst is NULL")),
    }
}

/// Calls `f` with start, count and steps of the box that a caller selects. NULL selects the first
/// position, everything, or steps of 1.
#[inline]
fn with_box<T>(
    a: &Array,
    [start, count, step]: [*const u64; 3],
    f: impl FnOnce(&[u64], &[u64], Option<&[u64]>) -> Result<T>,
) -> Result<T> {
    let ndim = a.shape().len();
    let step = numbers(step, ndim, "step")?;
    if start.is_null() || count.is_null() {
        let start = numbers(start, ndim, "start")?.map_or_else(|| vec![0; ndim], <[u64]>::to_vec);
        let count = match numbers(count, ndim, "count")? {
            Some(count) => count.to_vec(),
            None => a.count_from(&start, step)?,
        };
        return f(&start, &count, step);
    }
    f(
        slice(start, ndim, "start")?,
        slice(count, ndim, "count")?,
        step,
    )
}

/// Opens an array at its last commit. mode: HOLDALL_READ, HOLDALL_APPEND. path:
///
/// - A Bloscpack file with array metadata.
/// - A frame (file or folder): the array of the metalayer that fits the chunks, `b2nd` first.
///   Caterva has no dtype: items are "|V8" and the like. Without metalayers: one dimension of bytes
///   or such items, changed only at its end. holdall_schunk_open() of the path gives header version
///   and chunk count.
/// - A folder of bcolz, BLZ or the BLZ RFC layout, or a column of one. Python objects are
///   read-only.
///
/// Returns:
/// - HOLDALL_E_TYPE: also an unknown dtype; with HOLDALL_OPT_SKIP_DAMAGED corrupt metadata.
/// - HOLDALL_E_FORMAT: metadata do not match the chunks (HOLDALL_OPT_SKIP_DAMAGED: a plausible
///   missing end reads as zeros); names or links lead out of a folder.
/// - HOLDALL_E_UNSUPPORTED: too many dimensions; HOLDALL_APPEND on a read-only folder.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (from, mode) = (target(path, options)?, self::mode(mode)?);
            let from_here = || opened_from(path, options, Watch::path);
            let source = (mode == Mode::Read).then(from_here).transpose()?;
            let inner = open_target(from, mode, &chosen(options))?;
            Ok(holdall_array {
                source,
                ..array_handle(inner)
            })
        })
    })
}

/// Opens a node of a store.
pub(super) fn open_node(
    location: &NodeLocation,
    mode: Mode,
    options: Options,
) -> Result<holdall_array> {
    let (target, source) = target_and_source(location);
    let inner = open_target(target, mode, &options)?;
    Ok(holdall_array {
        source: (mode == Mode::Read).then_some((source, options)),
        ..array_handle(inner)
    })
}

fn open_target(from: Target, mode: Mode, options: &Options) -> Result<Array> {
    match from {
        Target::Path(path) => {
            let at_path = |path: &OsStr| open::open(path, mode, options);
            let in_folder = |folder: &_| open::open_in(folder, mode, options);
            store::path::open(path, options, at_path, in_folder)
                .map_err(|e| wrong_kind(path, Kind::Array, e))
        }
        Target::Storage(folder) => open::open_in(&folder, mode, options),
    }
}

/// Returns the format of a new array.
fn array_format(constant: holdall_format) -> Result<Format> {
    match format(constant)? {
        Format::B2Frame
        | Format::Bagz
        | Format::B2d
        | Format::B2z
        | Format::B2e
        | Format::CTable => Err(fail!(
            Unsupported,
            "format: not a format of arrays (expected HOLDALL_FORMAT_BLOSCPACK, _BCOLZ, _BLZ, \
             _BLZ_RFC, _CATERVA or _B2ND, found {constant})"
        )),
        format => Ok(format),
    }
}

/// Returns where a new array or table is created.
pub(super) fn new_location<'a>(to: &'a Target) -> NewLocation<'a> {
    match to {
        Target::Path(path) => NewLocation::Path(path),
        Target::Storage(folder) => NewLocation::Storage(folder),
    }
}

/// Creates an array of zeros (HOLDALL_OPT_FILL_VALUE), in C order, and opens it for changes. mode:
/// HOLDALL_CREATE, HOLDALL_REPLACE. docs/choosing.md compares the formats.
///
/// Returns:
/// - HOLDALL_E_EXISTS: see mode; or a file would replace a folder, or the reverse.
/// - HOLDALL_E_ARGUMENT: too many dimensions (folders: none); a chunk length of 0; more than 2^64
///   bytes; chunks of 2 GiB, blocks of 512 MiB or more; a shape of chunks or blocks is also an
///   option.
/// - HOLDALL_E_TYPE: unknown dtype.
/// - HOLDALL_E_UNSUPPORTED: Python objects; chunks, blocks, a codec or filter that the format does
///   not have; items of 0 bytes in a frame.
/// - HOLDALL_E_LIMIT: too many chunks for a frame.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_create(
    path: *const c_char,
    mode: holdall_mode,
    spec: *const holdall_array_spec,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let spec = read_struct(spec, "spec")?;
            let (to, mode, options) = (target(path, options)?, self::mode(mode)?, chosen(options));
            if spec.ndim > HOLDALL_MAX_NDIM {
                return Err(fail!(
                    Argument,
                    "spec->ndim: too many dimensions (expected at most {HOLDALL_MAX_NDIM}, found {})",
                    spec.ndim
                ));
            }
            let ndim = spec.ndim as usize;
            let new = ArraySpec {
                dtype: utf8(spec.dtype, "spec->dtype")?,
                shape: slice(spec.shape, ndim, "spec->shape")?,
                chunks: numbers(spec.chunk_shape, ndim, "spec->chunk_shape")?,
                format: array_format(spec.format)?,
            };
            let blocks = numbers(spec.block_shape, ndim, "spec->block_shape")?;
            match &to {
                Target::Path(path) => any::create(path, mode, &new, blocks, &options),
                Target::Storage(folder) => any::create_in(folder, mode, &new, blocks, &options),
            }
            .map(array_handle)
        })
    })
}

/// Closes an array. No effect on a column of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_close(array: *mut holdall_array) {
    if field(array, true, |a| !a.is_column) {
        take_back(array);
    }
}

/// Returns the number of dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_ndim(array: *const holdall_array) -> u32 {
    field(array, 0, |a| a.inner.shape().len() as u32)
}

/// Returns the ndim lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_shape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.shape().as_ptr())
}

/// Returns the dtype, spelled as at creation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_dtype(array: *const holdall_array) -> *const c_char {
    field(array, std::ptr::null(), |a| a.dtype.as_ptr())
}

/// Returns the bytes per item, which may be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_itemsize(array: *const holdall_array) -> usize {
    field(array, 0, |a| a.inner.itemsize())
}

/// Returns the bytes of all items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_nbytes(array: *const holdall_array) -> u64 {
    field(array, 0, |a| a.inner.nbytes())
}

/// Gets information about an array.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_get_info(
    array: *const holdall_array,
    info: *mut holdall_array_info,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        write_struct(info, "info", a.info()?)
    })
}

/// Reads a box; start, count and step NULL: the whole array.
///
/// - start, count, step: ndim values; along dimension d, count[d] items from start[d], step[d]
///   apart. NULL: 0; all from start on; 1.
/// - strides: bytes between neighbors in dst along each dimension; NULL: packed. The box starts at
///   dst; along a negative stride the first item is at the far end. Bytes between items are not
///   written.
///
/// Each touched chunk is decoded once, only as far as needed.
///
/// Returns:
/// - HOLDALL_DAMAGED: corrupt chunks were read as zeros.
/// - HOLDALL_E_CHECKSUM, _FORMAT, _CODEC, _VERSION, _UNSUPPORTED: a chunk (err->position: the
///   first) is corrupt or of an unknown kind.
/// - HOLDALL_E_MISSING: a chunk file is missing.
/// - HOLDALL_E_ARGUMENT: a step is 0.
/// - HOLDALL_E_TYPE: Python objects.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_read(
    array: *const holdall_array,
    start: *const u64,
    count: *const u64,
    step: *const u64,
    dst: *mut c_void,
    dst_size: usize,
    strides: *const i64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let a = &a.inner;
        let strides = numbers(strides, a.shape().len(), "strides")?;
        let dst = destination(dst, dst_size)?;
        with_box(a, [start, count, step], |start, count, step| {
            a.read(start, count, step, dst, strides).map(or_skipped)
        })
    })
}

/// Writes a box, with the parameters of holdall_array_read(); a stride of 0 repeats an item.
///
/// Returns:
/// - HOLDALL_E_BUFFER, _RANGE, _ARGUMENT: as for reading; nothing was written.
/// - others: part may be written: write again, or continue from the last commit.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_write(
    array: *mut holdall_array,
    start: *const u64,
    count: *const u64,
    step: *const u64,
    src: *const c_void,
    src_size: usize,
    strides: *const i64,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        let a = &mut a.inner;
        let strides = numbers(strides, a.shape().len(), "strides")?;
        let src = slice(src.cast(), src_size, "src")?;
        let owned = |start: &[u64], count: &[u64], step: Option<&[u64]>| {
            Ok((start.to_vec(), count.to_vec(), step.map(<[u64]>::to_vec)))
        };
        let (start, count, step) = with_box(a, [start, count, step], owned)?;
        a.write(&start, &count, step.as_deref(), src, strides)
    })
}

/// Returns the list of positions of each dimension, or `None` for NULL.
fn lists<'a>(
    a: &Array,
    positions: *const *const u64,
    counts: *const u64,
) -> Result<Vec<Option<&'a [u64]>>> {
    let ndim = a.shape().len();
    let lists = slice(positions, ndim, "positions")?
        .iter()
        .zip(slice(counts, ndim, "counts")?);
    let list = |(p, n): (&*const u64, &u64)| {
        let n = usize::try_from(*n).map_err(|_| {
            fail!(
                Argument,
                "counts: {n} positions are larger than memory can hold"
            )
        })?;
        numbers(*p, n, "positions")
    };
    lists.map(list).collect()
}

/// Reads all combinations of counts[d] positions of each dimension d, as numpy.ix_ does.
/// positions[d]: any order, repeats allowed; NULL: the whole dimension, whatever counts[d]. Returns
/// as holdall_array_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_read_orthogonal(
    array: *const holdall_array,
    positions: *const *const u64,
    counts: *const u64,
    dst: *mut c_void,
    dst_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let lists = lists(&a.inner, positions, counts)?;
        a.inner
            .read_orthogonal(&lists, destination(dst, dst_size)?)
            .map(or_skipped)
    })
}

/// Writes all combinations of positions, with the parameters of holdall_array_read_orthogonal(). Of
/// a repeated position the last value is stored. Returns as holdall_array_write().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_write_orthogonal(
    array: *mut holdall_array,
    positions: *const *const u64,
    counts: *const u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        let lists = lists(&a.inner, positions, counts)?;
        a.inner
            .write_orthogonal(&lists, slice(src.cast(), src_size, "src")?)
    })
}

/// Reads n items in any order. coordinates: n * ndim values.
///
/// Returns:
/// - HOLDALL_E_RANGE: an item (err->position: which) is outside.
/// - others: as holdall_array_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_read_points(
    array: *const holdall_array,
    coordinates: *const u64,
    n: usize,
    dst: *mut c_void,
    dst_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let many = n
            .checked_mul(a.inner.shape().len())
            .ok_or_else(|| fail!(Argument, "n: {n} items are larger than memory can hold"))?;
        a.inner
            .read_points(
                slice(coordinates, many, "coordinates")?,
                n,
                destination(dst, dst_size)?,
            )
            .map(or_skipped)
    })
}

/// Appends `count` positions to dimension axis: holdall_array_insert() at its end. Along the
/// slowest dimension no items move. Returns as holdall_array_insert().
///
/// In a frame each commit rewrites a last chunk that is not full, and leaves the old one as unused
/// space until a copy or repair. To commit step by step, give chunks the length of one step along
/// this axis (holdall_array_spec::chunk_shape).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_append(
    array: *mut holdall_array,
    axis: u32,
    count: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner
            .append(axis as usize, count, slice(src.cast(), src_size, "src")?)
    })
}

/// Inserts `count` positions into dimension axis before position start. src: the new items. After
/// an error nothing is inserted. Later items move: see docs/commits.md.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: another dimension than the first of a folder; a frame without
///   metalayers, but at its end.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_insert(
    array: *mut holdall_array,
    axis: u32,
    start: u64,
    count: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner.insert(
            axis as usize,
            start,
            count,
            slice(src.cast(), src_size, "src")?,
        )
    })
}

/// Removes `count` positions of dimension axis from start on. After an error nothing is removed.
/// Later items move. Returns as holdall_array_insert().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_remove(
    array: *mut holdall_array,
    axis: u32,
    start: u64,
    count: u64,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| a.inner.remove(axis as usize, start, count))
}

/// Refuses a spec for a copy that describes another array.
fn check_copy_spec(spec: &holdall_array_spec, a: &Array) -> Result<()> {
    let ndim = a.shape().len();
    let has_shapes = [spec.shape, spec.chunk_shape, spec.block_shape]
        .iter()
        .any(|shape| !shape.is_null());
    // ndim is the number of values that may be read from each shape
    if spec.ndim as usize != ndim && (spec.ndim > 0 || has_shapes) {
        return Err(fail!(
            Argument,
            "spec->ndim: {} (expected {ndim}, that of the array, or 0 if all shapes are NULL)",
            spec.ndim
        ));
    }
    if let Some(shape) = numbers(spec.shape, ndim, "spec->shape")?.filter(|s| *s != a.shape()) {
        return Err(fail!(
            Argument,
            "spec->shape: {shape:?} (expected NULL or {:?}, that of the array)",
            a.shape()
        ));
    }
    if spec.dtype.is_null() {
        return Ok(());
    }
    let dtype = utf8(spec.dtype, "spec->dtype")?;
    if Dtype::parse_argument(dtype)?.item == a.dtype().item {
        return Ok(());
    }
    Err(fail!(
        Argument,
        "spec->dtype: {dtype} (expected NULL or {}, that of the array)",
        a.dtype_text()
    ))
}

/// Copies the array or slice, as this handle sees it, to a new container, with other chunks, codec,
/// checksum or format. The copy appears complete or not at all. What spec and options
/// leave out is as here: see docs/choosing.md. Attributes are copied; docs/old-data.md says how
/// between formats.
///
/// Returns:
/// - HOLDALL_DAMAGED: as holdall_schunk_copy().
/// - HOLDALL_E_ARGUMENT: another dtype or shape; path is the array's own file (an own folder can be
///   replaced); a name exceeds a frame's 31 bytes.
/// - HOLDALL_E_UNSUPPORTED: HOLDALL_OPT_FORMAT_VERSION 1 or 2; Fortran order in a folder.
/// - others: as holdall_array_create(), holdall_array_read(), holdall_array_commit().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_copy(
    array: *const holdall_array,
    path: *const c_char,
    mode: holdall_mode,
    spec: *const holdall_array_spec,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let (a, spec) = (&a.inner, read_struct(spec, "spec")?);
        let (to, mode, options) = (target(path, options)?, self::mode(mode)?, chosen(options));
        check_copy_spec(&spec, a)?;
        let ndim = a.shape().len();
        let shapes = [
            numbers(spec.chunk_shape, ndim, "spec->chunk_shape")?,
            numbers(spec.block_shape, ndim, "spec->block_shape")?,
        ];
        let format = array_format(spec.format)?;
        any::copy(a, new_location(&to), mode, format, shapes, &options).map(or_skipped)
    })
}

/// Divides the rows, the indices of the first dimension, into ranges that begin at chunks, as
/// holdall_bag_splits() does. bytes[i]: the share of the rows in the stored size: by chunk in
/// Bloscpack files and in frames whose index is in memory, otherwise by rows.
///
/// Returns:
/// - HOLDALL_E_TYPE: no dimensions.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_splits(
    array: *const holdall_array,
    most: usize,
    firsts: *mut u64,
    counts: *mut u64,
    bytes: *mut u64,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        give_splits(most, [firsts, counts, bytes], n, |most| {
            a.inner.splits(most)
        })
    })
}

/// Computes a checksum (see holdall_checksum_compute()) of dtype, shape and items, however they are
/// stored: of the dtype ("<f8", as NumPy prints it), a NUL, ndim and the lengths as 8 bytes each,
/// little-endian, and the items in C order. Returns as holdall_array_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_checksum(
    array: *const holdall_array,
    kind: i32,
    dst: *mut c_void,
    dst_size: usize,
    checksum_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        content_checksum(kind, dst, dst_size, checksum_size, |kind| {
            a.inner.content_checksum(kind)
        })
    })
}

/// Opens a box as a read-only array that shares the files: count[d] positions of each dimension d
/// from start[d] on, step[d] apart, which may be negative. NULL: from the first position on (step
/// negative: the last); all from start on; 1. A slice of a slice uses its positions. Attributes
/// are those of the array.
///
/// The array can be closed first. While slices are open, it cannot be changed (HOLDALL_E_STATE),
/// and stays locked if it was opened for changes; holdall_array_refresh() leaves them at the
/// earlier commit.
///
/// Returns:
/// - HOLDALL_E_RANGE: positions outside of the array.
/// - HOLDALL_E_ARGUMENT: a step of 0.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_slice(
    array: *const holdall_array,
    start: *const u64,
    count: *const u64,
    step: *const i64,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    give_view(array, out, err, |a| {
        let ndim = a.shape().len();
        let step = numbers(step, ndim, "step")?;
        let (start, count) = (
            numbers(start, ndim, "start")?,
            numbers(count, ndim, "count")?,
        );
        let first = start.map_or_else(|| a.first_of(step), <[u64]>::to_vec);
        let count = match count {
            Some(count) => count.to_vec(),
            None => a.count_along(&first, step)?,
        };
        a.slice(&first, &count, step)
    })
}

/// Opens the array without dimension axis, whose length must be 1, as holdall_array_slice() does.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no such dimension, or another length.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_squeeze(
    array: *const holdall_array,
    axis: u32,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    give_view(array, out, err, |a| a.squeeze(axis as usize))
}

/// Opens the array with a new dimension axis of length 1, as holdall_array_slice() does.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: axis exceeds the number of dimensions, or there would be too many.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_expand_dims(
    array: *const holdall_array,
    axis: u32,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    give_view(array, out, err, |a| a.expand_dims(axis as usize))
}

fn give_view(
    array: *const holdall_array,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
    view: impl FnOnce(&Array) -> Result<Array>,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(array), err, |a| {
        give(out, || view(&a.inner).map(array_handle))
    })
}

/// Changes the shape to ndim lengths: removes what is outside, adds the fill value. For its cost
/// see docs/commits.md. Only an I/O error may leave an uncommitted shape in between.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: more than 2^64 bytes.
/// - others: as holdall_array_insert().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_resize(
    array: *mut holdall_array,
    shape: *const u64,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner
            .resize(slice(shape, a.inner.shape().len(), "shape")?)
    })
}

/// Makes all changes durable and visible, content and shape together: see base.h.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_commit(
    array: *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner.commit()?;
        a.generation += 1;
        Ok(())
    })
}

/// Returns the generation: see base.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_generation(array: *const holdall_array) -> u64 {
    field(array, 0, |handle| handle.generation)
}

/// Moves to the newest commit: see base.h.
///
/// Returns:
/// - HOLDALL_E_TYPE: another dtype or number of dimensions: open again.
/// - HOLDALL_E_STATE: also a column: refresh the table.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_refresh(
    array: *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |handle| {
        let Some((source, options)) = reopened(handle.source.as_ref())? else {
            return Ok(());
        };
        let inner = open_target(target_of(&source)?, Mode::Read, &options)?;
        handle.inner.refuse_another(&inner)?;
        *handle = holdall_array {
            generation: handle.generation + 1,
            source: Some((source, options)),
            ..array_handle(inner)
        };
        Ok(())
    })
}

/// Gets the fill value: what never written or skipped items read as (bcolz, BLZ: `dflt`). *n bytes:
/// one item, or one row if its items differ; zeros: *value is NULL, *n 0.
///
/// Returns:
/// - HOLDALL_E_FORMAT: the stored value does not match the dtype.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_fill_value_get(
    array: *const holdall_array,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        give_bytes(a.inner.fill()?, value, n).map(|_| HOLDALL_OK)
    })
}

/// Sets the fill value for later growth; stored items stay. src: src_size bytes, one item or row; 0
/// bytes: zeros. Padding of structures and NaN payloads are lost.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: Bloscpack files and frames have none; long doubles, and imaginary parts
///   that the files cannot express.
/// - HOLDALL_E_ARGUMENT: another size, or invalid characters.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_fill_value_set(
    array: *mut holdall_array,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner.fill_set(slice(src.cast(), src_size, "src")?)
    })
}

/// Reads item i of an array with itemsize 0 and one dimension. Of Python objects (dtype "object" or
/// "O"): its pickle, not interpreted. Unpickling runs code that the writer of the file chose. In
/// CTables: texts (dtype "T") as UTF-8, bytes as they are, lists, structures and any objects in
/// MessagePack.
///
/// Returns:
/// - HOLDALL_E_TYPE: other arrays.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_read_object(
    array: *const holdall_array,
    i: u64,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        copy_out(&a.inner.object(i)?, dst.cast(), dst_size, n)
    })
}

/// Reads count items from start on, as holdall_array_read_object() reads one: a column of values of any
/// length. To be freed with holdall_values_free().
///
/// Returns:
/// - HOLDALL_E_TYPE: other arrays.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_read_values(
    array: *const holdall_array,
    start: u64,
    count: u64,
    out: *mut *mut holdall_values,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(array), err, |a| {
        give(out, || {
            Ok(holdall_values::new(a.inner.values(start, count)?))
        })
    })
}

/// Returns the values, as many as were read. Valid until they are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_values_items(
    values: *const holdall_values,
) -> *const holdall_value {
    // SAFETY: NULL or, by contract, values that are not freed.
    field(values, std::ptr::null(), |values| values.items.as_ptr())
}

/// Frees values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_values_free(values: *mut holdall_values) {
    take_back(values);
}

/// Gets the names of the further files in the folder meta of a dataset, as the BLZ RFC allows them,
/// in order, each followed by a NUL. Other formats have none. Columns of a table in the BLZ RFC layout
/// have those of the table.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_meta_file_names(
    array: *const holdall_array,
    dst: *mut c_char,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        give_names(&a.inner.store().meta_file_names()?, dst, dst_size, n)
    })
}

/// Copies names to the caller's buffer, each followed by a NUL.
pub(super) fn give_names(
    names: &[String],
    dst: *mut c_char,
    dst_size: usize,
    n: *mut usize,
) -> Result<holdall_status> {
    let bytes: Vec<u8> = names
        .iter()
        .flat_map(|name| name.bytes().chain([0]))
        .collect();
    copy_out(&bytes, dst.cast(), dst_size, n)
}

/// Reads such a file as it is now. HOLDALL_NOT_FOUND: it does not exist.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no such file can have this name.
/// - HOLDALL_E_LIMIT: it is larger than HOLDALL_OPT_MEMORY_LIMIT.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_meta_file_read(
    array: *const holdall_array,
    name: *const c_char,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let found = a.inner.store().meta_file(utf8(name, "name")?)?;
        give_file(found.as_deref(), dst, dst_size, n)
    })
}

/// Copies a file to the caller's buffer, or returns HOLDALL_NOT_FOUND if there is none.
pub(super) fn give_file(
    found: Option<&[u8]>,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
) -> Result<holdall_status> {
    let copied = copy_out(found.unwrap_or_default(), dst.cast(), dst_size, n)?;
    Ok(if found.is_some() {
        copied
    } else {
        HOLDALL_NOT_FOUND
    })
}

/// Sets the n bytes of such a file, or removes it (NULL). The commit writes it with all other changes.
/// Copies to datasets include it.
///
/// A name has 1 to 200 bytes, no slash and no leading dot, and is none of sizes, storage and
/// attributes.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: another name.
/// - HOLDALL_E_UNSUPPORTED: other formats.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_meta_file_write(
    array: *mut holdall_array,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        let (name, value) = (utf8(name, "name")?, attr_value(value, n)?);
        a.inner.store_mut()?.meta_file_set(name, value)
    })
}

/// Returns the number of attributes. Bloscpack: one, "", the JSON metadata. Folders: JSON as Python
/// writes it (NaN and Infinity are numbers). Frames: metalayers but `b2nd` and `caterva`, any bytes
/// (python-blosc2: MessagePack).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_attr_count(array: *const holdall_array) -> u32 {
    field(array, 0, |a| a.names.len() as u32)
}

/// Returns the name of attribute i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_attr_name(
    array: *const holdall_array,
    i: u32,
) -> *const c_char {
    field(array, std::ptr::null(), |a| {
        a.names
            .get(i as usize)
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// Gets an attribute: see base.h.
///
/// Returns:
/// - HOLDALL_E_FORMAT, _CHECKSUM, _LIMIT: the attribute file is corrupt or too large; changes fail
///   too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_attr_get(
    array: *const holdall_array,
    name: *const c_char,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let found = text(name)?.map_or(Ok(None), |name| a.inner.store().attr(name))?;
        give_bytes(found, value, n)
    })
}

/// Passes borrowed bytes to the caller, or NULL and HOLDALL_NOT_FOUND.
pub(super) fn give_bytes(
    found: Option<&[u8]>,
    value: *mut *const c_void,
    n: *mut usize,
) -> Result<holdall_status> {
    let (value, n) = (required(value, "value")?, required(n, "n")?);
    (*value, *n) = found.map_or((std::ptr::null(), 0), |m| (m.as_ptr().cast(), m.len()));
    Ok(if found.is_some() {
        HOLDALL_OK
    } else {
        HOLDALL_NOT_FOUND
    })
}

/// Sets an attribute to n bytes.
///
/// - Bloscpack: only "", a JSON object; dtype, shape, order and container must stay, other members
///   are free. Cannot be removed.
/// - Folders: any name, any JSON.
/// - Frames: names of 1 to 31 bytes, any bytes. New ones have variable length; those of the header
///   are changed as by holdall_array_attr_set_fixed(), and cannot be removed.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: invalid JSON or name; metadata of another array, or removal; `b2nd`,
///   `caterva`, or holdall.crc32, which the library maintains.
/// - HOLDALL_E_UNSUPPORTED: Bloscpack: another name; frames: removal from the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_attr_set(
    array: *mut holdall_array,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        let name = utf8(name, "name")?;
        // those of a Bloscpack file cannot be removed: no bytes are no valid metadata
        let is_metadata = name.is_empty() && a.inner.store().meta()?.is_some();
        match attr_value(value, n)? {
            None if !is_metadata => a.inner.attr_remove(name)?,
            value => a.inner.attr_set(name, value.unwrap_or_default())?,
        }
        a.name_all();
        Ok(())
    })
}

/// Sets an attribute of fixed length to n bytes: a metalayer in the header of a frame, as `meta` of
/// python-blosc2. At most 16 with those of the array. A value of the same length is changed in place;
/// a new attribute or another length makes the commit rewrite a file that has chunks: set it first.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: an invalid name, or one of an attribute of variable length; too many.
/// - HOLDALL_E_UNSUPPORTED: not a frame.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_attr_set_fixed(
    array: *mut holdall_array,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        let value = slice(value.cast(), n, "value")?;
        a.inner.attr_set_fixed(utf8(name, "name")?, value)?;
        a.name_all();
        Ok(())
    })
}

/// Returns the value of an attribute to set, or `None` for NULL, which removes it.
pub(super) fn attr_value<'a>(value: *const c_void, n: usize) -> Result<Option<&'a [u8]>> {
    if value.is_null() {
        Ok(None)
    } else {
        slice(value.cast(), n, "value").map(Some)
    }
}
