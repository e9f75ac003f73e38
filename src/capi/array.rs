//! The C functions for arrays.

use super::common::*;
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::{chosen, holdall_options};
use super::schunk::{mode_of, or_skipped};
use crate::array::Array;
use crate::array::selection::MAX_NDIM;
use crate::dataset::create::ArraySpec;
use crate::dataset::{any, open};
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, fail};
use crate::format::Format;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// Maximum number of dimensions of an array.
pub const HOLDALL_MAX_NDIM: u32 = 16;
/// Items are stored with the last index varying fastest (row-major).
pub const HOLDALL_ORDER_C: i32 = 0;
/// Items are stored with the first index varying fastest (column-major).
pub const HOLDALL_ORDER_F: i32 = 1;

const _: () = assert!(HOLDALL_MAX_NDIM as usize == MAX_NDIM);

/// An open array: items of one dtype in 0 to HOLDALL_MAX_NDIM dimensions. Many threads may read one
/// const handle at once. A handle sees its own changes at once; other handles see them if opened
/// after the commit. Indices are those of the array and buffers are in C order, whatever the
/// storage order. Values keep the byte order of the dtype.
pub struct holdall_array {
    broken: AtomicBool,
    pub(super) inner: Array,
    dtype: CString,
    /// Names of the named values, except those that contain a NUL.
    names: Vec<CString>,
    /// Whether it is a column of a table, which only the table may change.
    is_column: bool,
}
handle!(holdall_array);

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

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_array>();

impl holdall_array {
    /// Updates the list of names after attributes have changed.
    pub(super) fn name_all(&mut self) {
        self.names = c_names(self.inner.store().attr_names());
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
fn numbers<'a, T>(p: *const T, a: &Array, what: &str) -> Result<Option<&'a [T]>> {
    if p.is_null() {
        Ok(None)
    } else {
        slice(p, a.shape().len(), what).map(Some)
    }
}

fn destination<'a>(dst: *mut c_void, n: usize) -> Result<&'a mut [u8]> {
    match buffer(dst.cast(), n)? {
        Some(d) => Ok(d),
        None if n == 0 => Ok(&mut []),
        None => Err(fail!(Argument, "dst is NULL")),
    }
}

/// Opens an array at its last commit: HOLDALL_READ to read, HOLDALL_APPEND to read and change.
///
/// - Bloscpack files with array metadata.
/// - Frames (files, folders): with both metalayers, by the one that fits the chunks, `b2nd` first;
///   a commit of a new shape updates both. Caterva has no dtype: items are "|V8" and the like. With
///   neither metalayer: one dimension of bytes or such items, changed only at its end.
/// - Folders of bcolz, BLZ or the BLZ RFC layout, columns of tables included. Python objects are
///   read-only. Chunk files open on use: a missing one is HOLDALL_E_MISSING then, named in the
///   message.
///
/// Returns:
/// - HOLDALL_E_BUSY: HOLDALL_APPEND, and another writer has it open.
/// - HOLDALL_E_TYPE: not an array, or an unknown dtype; with HOLDALL_OPT_SKIP_DAMAGED also corrupt
///   metadata.
/// - HOLDALL_E_FORMAT, _CHECKSUM: as holdall_schunk_open(); corrupt metadata; content or chunks
///   that do not match the shape (HOLDALL_OPT_SKIP_DAMAGED: a missing end reads as zeros, unless
///   implausibly long); names and links that lead out of a folder.
/// - HOLDALL_E_UNSUPPORTED: more than HOLDALL_MAX_NDIM dimensions; HOLDALL_APPEND on a read-only
///   folder.
///
/// Options: those of holdall_schunk_open(). HOLDALL_APPEND: those of holdall_array_create() for
/// writing; by default codec, level, filter, checksum and layout stay.
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
            open::open(string(path, "path")?, mode_of(mode)?, &chosen(options)).map(array_handle)
        })
    })
}

/// Like holdall_array_open(), in storage of the caller: the file "", or the files of a folder
/// ("meta/sizes", "data/__0.blp"; "chunks.b2frame", "00000000.chunk"). io may be closed right
/// after.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_open_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            open::open_in(storage(io)?, mode_of(mode)?, &chosen(options)).map(array_handle)
        })
    })
}

/// Returns the format of a new array.
fn format_of(format: holdall_format) -> Result<Format> {
    Ok(match format {
        HOLDALL_FORMAT_BLOSCPACK => Format::Bloscpack,
        HOLDALL_FORMAT_BCOLZ => Format::Bcolz,
        HOLDALL_FORMAT_BLZ => Format::Blz,
        HOLDALL_FORMAT_BLZ_PAPER => Format::BlzRfc,
        HOLDALL_FORMAT_CATERVA => Format::Caterva,
        HOLDALL_FORMAT_B2ND => Format::B2nd,
        _ => {
            let known = "HOLDALL_FORMAT_BLOSCPACK, _BCOLZ, _BLZ, HOLDALL_FORMAT_BLZ_PAPER, \
                         _CATERVA or _B2ND";
            return Err(fail!(
                Unsupported,
                "format: not a format of arrays (expected {known}, found {format})"
            ));
        }
    })
}

/// Checks and collects the arguments of holdall_array_create() except the blocks.
fn grid<'a>(
    dtype: *const c_char,
    ndim: u32,
    [shape, chunks]: [*const u64; 2],
    format: Format,
) -> Result<ArraySpec<'a>> {
    if ndim > HOLDALL_MAX_NDIM {
        return Err(fail!(
            Argument,
            "ndim: too many dimensions (expected at most {HOLDALL_MAX_NDIM}, found {ndim})"
        ));
    }
    let dtype = string(dtype, "dtype")?
        .to_str()
        .ok_or_else(|| fail!(Argument, "dtype is not UTF-8"))?;
    let chunks = lengths(chunks, ndim, "chunks")?;
    Ok(ArraySpec {
        dtype,
        shape: slice(shape, ndim as usize, "shape")?,
        chunks,
        format,
    })
}

/// Returns one length per dimension, or `None` for NULL.
fn lengths<'a>(p: *const u64, ndim: u32, what: &str) -> Result<Option<&'a [u64]>> {
    if p.is_null() {
        Ok(None)
    } else {
        slice(p, ndim as usize, what).map(Some)
    }
}

/// Creates an array of zeros (HOLDALL_OPT_FILL), in C order, and opens it for changes.
///
/// - mode: HOLDALL_NEW, HOLDALL_REPLACE.
/// - dtype: as in NumPy: "<f8", "|S16", "<M8[ns]", "[('a','<i4'),('b','<f8')]".
/// - shape: ndim lengths, 0 or more. Folders grow along the first dimension, others along any.
/// - chunks, blocks: ndim lengths, or NULL for about HOLDALL_OPT_CHUNK_BYTES and _BLOCK_BYTES (see
///   docs/choosing.md; folders: as bcolz for HOLDALL_OPT_EXPECTED_ROWS). Frames: any; longer blocks
///   are padded. Others: chunks span all dimensions but the first; blocks NULL.
///
/// format:
/// - HOLDALL_FORMAT_BLOSCPACK: a file for Bloscpack 0.16.
/// - HOLDALL_FORMAT_BCOLZ: a folder for bcolz and BLZ; zstd and bitshuffle only bcolz, complex and
///   structured dtypes neither.
/// - HOLDALL_FORMAT_BLZ: a folder for BLZ 0.6, without zstd and bitshuffle.
/// - HOLDALL_FORMAT_BLZ_PAPER: the BLZ RFC layout: superchunk files for Bloscpack
///   (HOLDALL_OPT_SUPERCHUNK_CHUNKS, _SPARE_CHUNKS, _SPARE_BYTES). Structures are stored whole.
/// - HOLDALL_FORMAT_B2ND: a frame for python-blosc2; HOLDALL_OPT_SPARSE: a folder.
/// - HOLDALL_FORMAT_CATERVA: the same for Caterva, without dtype. HOLDALL_OPT_BOTH_METALAYERS: for
///   both.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: too many dimensions (folders: none); chunk length 0; more than 2^64 bytes;
///   chunks of 2 GiB, blocks of 512 MiB or more; chunks or blocks given twice, also as an option.
/// - HOLDALL_E_TYPE: unknown dtype.
/// - HOLDALL_E_UNSUPPORTED: Python objects; other formats or chunks; items of 0 bytes in a frame.
/// - HOLDALL_E_LIMIT: too many chunks for a frame.
/// - HOLDALL_E_EXISTS, _BUSY: as holdall_schunk_create().
///
/// Options: those of holdall_schunk_create(). Frames: _FILL, _BOTH_METALAYERS. Folders, instead:
/// those of opening, HOLDALL_OPT_DURABILITY, _LOCK, _CODEC, _LEVEL, _FILTERS, _CHUNK_BYTES,
/// _BLOCK_BYTES, _CHECKSUM, _EXPECTED_ROWS, _FILL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_create(
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    dtype: *const c_char,
    ndim: u32,
    shape: *const u64,
    chunks: *const u64,
    blocks: *const u64,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let new = grid(dtype, ndim, [shape, chunks], format_of(format)?)?;
            let blocks = lengths(blocks, ndim, "blocks")?;
            any::create(
                string(path, "path")?,
                mode_of(mode)?,
                &new,
                blocks,
                &chosen(options),
            )
            .map(array_handle)
        })
    })
}

/// Like holdall_array_create(), in storage of the caller: see holdall_array_open_io(). There is no
/// lock: the caller must ensure a single writer.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: read-only storage.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_create_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    format: holdall_format,
    dtype: *const c_char,
    ndim: u32,
    shape: *const u64,
    chunks: *const u64,
    blocks: *const u64,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let new = grid(dtype, ndim, [shape, chunks], format_of(format)?)?;
            let blocks = lengths(blocks, ndim, "blocks")?;
            any::create_in(storage(io)?, mode_of(mode)?, &new, blocks, &chosen(options))
                .map(array_handle)
        })
    })
}

/// Closes an array. NULL is allowed. Uncommitted changes are discarded. No effect on a column of a
/// table.
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

/// Returns the length of each dimension: ndim values, borrowed until the array is closed or
/// changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_shape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.shape().as_ptr())
}

/// Returns the shape of a chunk, which reads best as a whole: ndim values, borrowed until the array
/// is closed. Bloscpack chunks end at any item: here, the whole rows (of the slowest dimension) in
/// a chunk, at least 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_chunkshape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.chunkshape().as_ptr())
}

/// Returns the shape of a block of the first chunk, the smallest unit that is decoded: ndim values,
/// borrowed until the array is closed. Without chunks: that of a chunk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_blockshape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.blockshape().as_ptr())
}

/// Returns the dtype as in NumPy, spelled as at creation. Borrowed until the array is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_dtype(array: *const holdall_array) -> *const c_char {
    field(array, std::ptr::null(), |a| a.dtype.as_ptr())
}

/// Returns the bytes per item, which may be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_itemsize(array: *const holdall_array) -> usize {
    field(array, 0, |a| a.inner.itemsize())
}

/// Returns the storage order, HOLDALL_ORDER_C or _F. The slowest dimension is the first in C order,
/// the last in Fortran order; at its end an array grows and shrinks without moving items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_order(array: *const holdall_array) -> i32 {
    field(array, HOLDALL_ORDER_C, |a| {
        if a.inner.order() == Order::Fortran {
            HOLDALL_ORDER_F
        } else {
            HOLDALL_ORDER_C
        }
    })
}

/// Returns the bytes of all items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_nbytes(array: *const holdall_array) -> u64 {
    field(array, 0, |a| a.inner.nbytes())
}

/// Returns the size on disk in bytes at the last commit; before the first commit, the size of the
/// chunks. Folders: as recorded by the writer (bcolz and BLZ: estimated).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_cbytes(array: *const holdall_array) -> u64 {
    guard_value(0, || {
        borrow(array).map_or(0, |a| a.inner.cbytes().unwrap_or(0))
    })
}

/// Reads a box.
///
/// - start, count, step: ndim values; along dimension d, count[d] items from start[d], step[d]
///   apart. step NULL: 1.
/// - strides: bytes between neighbors in dst along each dimension; NULL: packed, in C order. The
///   box starts at dst; along a negative stride the first item is at the far end. Bytes between
///   items are not written.
///
/// Each touched chunk is decoded once, only as far as needed, in parallel if faster.
///
/// Returns:
/// - HOLDALL_E_BUFFER: dst_size is too small.
/// - HOLDALL_E_RANGE: outside the array.
/// - HOLDALL_E_ARGUMENT: a step is 0.
/// - HOLDALL_E_TYPE: Python objects.
/// - HOLDALL_NOT_FOUND (> 0), others: as holdall_schunk_read(); after errors dst is unspecified.
///
/// A frame is read with at most one read call per touched block, and one for adjacent blocks. The
/// first read of a chunk adds one if the chunk exceeds 64 KiB and its first requested block seems
/// to end more than 128 KiB after its start. If a checksum is verified, that read is one call for
/// the whole chunk.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_read(
    array: *const holdall_array,
    start: *const u64,
    count: *const u64,
    step: *const u64,
    dst: *mut c_void,
    strides: *const i64,
    dst_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let a = &a.inner;
        let (start, count) = (
            slice(start, a.shape().len(), "start")?,
            slice(count, a.shape().len(), "count")?,
        );
        let (step, strides) = (numbers(step, a, "step")?, numbers(strides, a, "strides")?);
        a.read(start, count, step, destination(dst, dst_size)?, strides)
            .map(or_skipped)
    })
}

/// Writes a box, with the parameters of holdall_array_read(); a stride of 0 repeats an item. Chunks
/// are encoded in parallel; one changed in part is decoded first.
///
/// Returns:
/// - HOLDALL_E_BUFFER, _RANGE, _ARGUMENT: as for reading; nothing was written.
/// - others: as holdall_schunk_read() for a corrupt chunk changed in part, also with
///   HOLDALL_OPT_SKIP_DAMAGED. Part may be written: write again, or continue from the last commit.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_write(
    array: *mut holdall_array,
    start: *const u64,
    count: *const u64,
    step: *const u64,
    src: *const c_void,
    strides: *const i64,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        let a = &mut a.inner;
        let (start, count) = (
            slice(start, a.shape().len(), "start")?,
            slice(count, a.shape().len(), "count")?,
        );
        let (step, strides) = (numbers(step, a, "step")?, numbers(strides, a, "strides")?);
        a.write(
            start,
            count,
            step,
            slice(src.cast(), src_size, "src")?,
            strides,
        )
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
        if p.is_null() {
            Ok(None)
        } else {
            slice(*p, n, "positions").map(Some)
        }
    };
    lists.map(list).collect()
}

/// Reads all combinations of counts[d] positions of each dimension d, as numpy.ix_ does, packed, in
/// C order. positions[d]: any order, repeats allowed; NULL: the whole dimension, whatever
/// counts[d].
///
/// Returns as holdall_array_read(). HOLDALL_E_RANGE: a position is past the end.
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

/// Writes all combinations of positions: see holdall_array_read_orthogonal(). Of a repeated
/// position the last value is stored. After an error part of it may be written.
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

/// Reads n items, packed. coordinates: n * ndim values. Each chunk is decoded once, whatever the
/// order.
///
/// Returns as holdall_array_read(). HOLDALL_E_RANGE: an item (err->position: which) is outside.
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

/// Appends `count` positions to dimension axis: holdall_array_insert() at its end. src: the new
/// items, packed, in C order, src_size bytes. Along the slowest dimension (holdall_array_order())
/// no items move. After an error nothing is appended.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no such axis, or a wrong src_size.
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

/// Inserts `count` positions into dimension axis before position `at`. src: as for
/// holdall_array_append(). After an error nothing is inserted.
///
/// Later items move, so insert many at once. Chunks are rewritten: along the slowest dimension
/// (holdall_array_order()) from `at` on until boundaries coincide again (count a multiple of a
/// chunk's rows), along others all. Frames: only chunk numbers change if `at` and `count` are
/// multiples of the chunk length; an append rewrites the edge.
///
/// Returns:
/// - HOLDALL_E_RANGE: `at` is past the end.
/// - HOLDALL_E_ARGUMENT: no such axis, or a wrong src_size.
/// - as holdall_schunk_read() for a corrupt chunk to rewrite, also with HOLDALL_OPT_SKIP_DAMAGED.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_insert(
    array: *mut holdall_array,
    axis: u32,
    at: u64,
    count: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner.insert(
            axis as usize,
            at,
            count,
            slice(src.cast(), src_size, "src")?,
        )
    })
}

/// Removes `count` positions of dimension axis from `at` on. Costs as holdall_array_insert();
/// nothing moves at the end of the slowest dimension. After an error nothing is removed.
///
/// Returns:
/// - HOLDALL_E_RANGE: there are fewer.
/// - HOLDALL_E_ARGUMENT: no such axis.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_remove(
    array: *mut holdall_array,
    axis: u32,
    at: u64,
    count: u64,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| a.inner.remove(axis as usize, at, count))
}

/// Copies the array, as this handle sees it, to a new container, with other chunks, codec, checksum
/// or format. The copy appears complete or not at all. Progress is in bytes.
///
/// - mode, format, blocks: as for holdall_array_create().
/// - chunks: the same, but any length along the slowest dimension; NULL: HOLDALL_OPT_CHUNK_BYTES,
///   or as here.
///
/// Dtype, shape, order (frames: C) and named values are copied. In a Bloscpack file, attributes of
/// a folder are the member "attrs" of the metadata; it and other members become attributes again.
/// Between MessagePack (frames) and JSON, bytes become {"hex": "00ff"}; invalid MessagePack counts
/// as bytes, invalid JSON as text. Between frames with equal chunks, empty ones stay empty; with
/// equal blocks, and no codec, level or filter given, chunks are verified and copied as stored.
///
/// Returns:
/// - HOLDALL_NOT_FOUND (> 0): with HOLDALL_OPT_SKIP_DAMAGED on this handle, corrupt content became
///   zeros, or attributes are missing.
/// - HOLDALL_E_ARGUMENT: path is the array's own file (an own folder can be replaced); a name
///   exceeds a frame's 31 bytes.
/// - HOLDALL_E_UNSUPPORTED: HOLDALL_OPT_FORMAT_VERSION 1 or 2; Fortran order in a folder.
/// - others: as holdall_array_read(), holdall_array_commit().
///
/// Options: as holdall_array_create(). Defaults from this array: Bloscpack: codec, filter (of the
/// last chunk), checksum (or CRC-32); frame to frame: chunks, blocks, codec, level, filters;
/// folders: the fill value.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_copy(
    array: *const holdall_array,
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    chunks: *const u64,
    blocks: *const u64,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        let shapes = [
            numbers(chunks, &a.inner, "chunks")?,
            numbers(blocks, &a.inner, "blocks")?,
        ];
        any::copy(
            &a.inner,
            string(path, "path")?,
            mode_of(mode)?,
            format_of(format)?,
            shapes,
            &chosen(options),
        )
        .map(or_skipped)
    })
}

/// Changes the shape to ndim lengths: removes what is outside, adds holdall_array_fill() (default
/// zeros). Costs per dimension as holdall_array_insert(); growth along any but the slowest is held
/// in memory. Frames change at the end of dimensions and rewrite only chunks at the edges.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: more than 2^64 bytes.
/// - An impossible shape, or one over the memory limit, changes nothing. An I/O error may leave an
///   uncommitted shape in between.
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

/// Makes all changes durable and visible, content and shape together. Fails as
/// holdall_schunk_commit().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_commit(
    array: *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| a.inner.commit())
}

/// Returns the fill value: what never written or skipped items read as (bcolz, BLZ: `dflt`). *n:
/// one item, or one row if its items differ. *value is borrowed until the array is closed.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: zeros; *value is NULL, *n 0.
/// - HOLDALL_E_FORMAT: the stored value does not match the dtype.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_fill(
    array: *const holdall_array,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(array), err, |a| {
        give_bytes(a.inner.store().fill()?, value, n)
    })
}

/// Sets the fill value for later growth; stored items stay. src: size bytes, one item or row; size
/// 0: zeros. Padding of structures and NaN payloads are lost.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: Bloscpack files and frames have none; long doubles, and imaginary parts
///   that the files cannot express.
/// - HOLDALL_E_ARGUMENT: another size, or invalid characters.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_fill_set(
    array: *mut holdall_array,
    src: *const c_void,
    size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| {
        a.inner.fill_set(slice(src.cast(), size, "src")?)
    })
}

/// Reads item i of an array of Python objects (dtype "object" or "O", one dimension, itemsize 0):
/// its pickle, not interpreted. Unpickling runs code that the writer of the file chose. dst NULL
/// requests the size in *n.
///
/// Returns:
/// - HOLDALL_E_TYPE: other arrays; for this one, the other read functions return it.
/// - HOLDALL_E_RANGE: no item i.
/// - HOLDALL_E_BUFFER: dst_size is too small.
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
        copy_out(&a.inner.store().object(i)?, dst.cast(), dst_size, n)
    })
}

/// Returns the number of named values. Bloscpack: one, "", the JSON metadata. Folders: attributes,
/// JSON as Python writes it (NaN and Infinity are numbers). Frames: metalayers but `b2nd` and
/// `caterva`, any bytes, by custom MessagePack. If the attribute file of a folder is corrupt, its
/// name is the only one (none with HOLDALL_OPT_SKIP_DAMAGED), and every get is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_attrs(array: *const holdall_array) -> u32 {
    field(array, 0, |a| a.names.len() as u32)
}

/// Returns the name of named value i, or NULL past the last. Borrowed until the array is closed or
/// changed.
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

/// Returns a named value: *n bytes, no NUL after them, borrowed until the array is closed or
/// changed. The shape in metadata is that of the last commit.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: no such name; *value is NULL, *n 0.
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

/// Sets a named value to n bytes.
///
/// - Bloscpack: only "", a JSON object; dtype, shape, order and container must stay, other members
///   are free. Cannot be removed.
/// - Folders: any name, any JSON; value NULL removes it.
/// - Frames: as holdall_schunk_meta_set(); `b2nd`, `caterva`: HOLDALL_E_ARGUMENT.
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
        let is_removed = value.is_null();
        let (name, value) = (
            string(name, "name")?,
            if is_removed {
                &[][..]
            } else {
                slice(value.cast(), n, "value")?
            },
        );
        if a.inner.store().meta()?.is_some() {
            if !name.is_empty() {
                return Err(fail!(
                    Unsupported,
                    "name: a Bloscpack file has only the named value \"\""
                ));
            }
            a.inner.meta_set(value)?;
        } else {
            let name = name
                .to_str()
                .ok_or_else(|| fail!(Argument, "name is not UTF-8"))?;
            if is_removed {
                a.inner.attr_remove(name)?
            } else {
                a.inner.attr_set(name, value)?
            }
            a.name_all();
        }
        Ok(())
    })
}
