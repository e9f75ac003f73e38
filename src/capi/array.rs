//! The C functions for arrays.

use super::common::*;
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::{chosen, holdall_options};
use super::schunk::{mode_of, or_skipped};
use crate::array::Array;
use crate::array::numpy_meta::Order;
use crate::array::selection::MAX_NDIM;
use crate::dataset::create::Kindred;
use crate::dataset::{any, open};
use crate::error::{Result, fail};
use crate::identify::Format;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// The most dimensions of an array.
pub const HOLDALL_MAX_NDIM: u32 = 16;
/// Items are stored so that the last index runs fastest.
pub const HOLDALL_ORDER_C: i32 = 0;
/// Items are stored so that the first index runs fastest.
pub const HOLDALL_ORDER_F: i32 = 1;

const _: () = assert!(HOLDALL_MAX_NDIM as usize == MAX_NDIM);

/// An open array: items of one type in a grid of 0 to HOLDALL_MAX_NDIM dimensions. It is a const
/// handle for reading from many threads. A handle that was opened for writing sees its own changes
/// at once; others see them when they open after the commit. Indices are those of the array and
/// buffers are in C order, however the items are stored. Numbers are given as they are stored: see
/// the byte order of the dtype.
pub struct holdall_array {
    broken: AtomicBool,
    pub(super) inner: Array,
    dtype: CString,
    /// Of the named values, those that C can spell.
    names: Vec<CString>,
    /// It is a table's, which alone may change it.
    is_column: bool,
}
handle!(holdall_array);

impl AsRef<Array> for holdall_array {
    fn as_ref(&self) -> &Array {
        &self.inner
    }
}

/// A column.
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
    /// Attributes have changed.
    pub(super) fn name_all(&mut self) {
        self.names = c_names(self.inner.store().attr_names());
    }
}

pub(super) fn array_handle(inner: Array) -> holdall_array {
    // what stands between quotes may hold anything, the constant that means the same holds no NUL
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

/// Names as C has them; one with a NUL in it cannot be told there.
pub(super) fn c_names(names: Vec<&str>) -> Vec<CString> {
    names
        .into_iter()
        .filter_map(|n| CString::new(n).ok())
        .collect()
}

/// A name of the caller's; what is no UTF-8 is the name of nothing.
pub(super) fn text<'a>(name: *const c_char) -> Result<Option<&'a str>> {
    Ok(string(name, "name")?.to_str())
}

/// Changes an array that is no table's: of a column nobody is sure to have it alone, and the others
/// must change with it.
fn change(
    array: *mut holdall_array,
    err: *mut holdall_error,
    f: impl FnOnce(&mut holdall_array) -> Result<()>,
) -> holdall_status {
    if let Some(column) = borrow(array).filter(|a| a.is_column) {
        let words = "it is a column of an open table: that is what changes it, see holdall_table_write() and what is beside it";
        return guard_handle(Some(column), err, |a| {
            Err(fail!(State, "{}: {words}", a.inner.store().name()))
        });
    }
    guard_change(borrow_mut(array), err, f)
}

/// One number for each dimension, if any are given.
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

/// Opens an array: its last commit, with HOLDALL_READ to be read, with HOLDALL_APPEND to be read
/// and changed (one at a time: HOLDALL_E_BUSY). Options: those of holdall_schunk_open().
///
/// Bloscpack files are arrays where their metadata say so, as those of NumPy arrays do. Blosc2
/// frames, files and folders, are arrays by the metalayers `b2nd` and `caterva`; where they have
/// both, that which fits the chunks, `b2nd` first, and each commit of a new shape makes both say
/// it. Caterva has no dtype: its items are "|V8" and the like, bytes without a meaning. Frames with
/// neither are arrays of one dimension, of bytes, or of such items where they have more than one
/// byte; these come and go at the end. Other folders are arrays that bcolz or BLZ wrote, or as
/// their papers have them. They are made of rows, which come and go as a whole; those of Python's
/// objects can be read only. What is written goes on as it is there (codec, level, filter,
/// checksum) where the options do not say otherwise: those of holdall_array_create(). A handle that
/// reads sees as many rows as were committed when it was opened; where another writer changes some
/// of them, it may see these as they are then. Of a folder just the files in `meta` and the
/// attributes are opened now, those of chunks when a call needs them: one that is missing then is
/// HOLDALL_E_MISSING, and the words name it. A column of a table is such a folder, too.
/// HOLDALL_E_TYPE: it is a superchunk or a table and no array, or has a dtype that is not known.
/// HOLDALL_E_FORMAT: as holdall_schunk_open(), and where its content is not as long as shape and
/// dtype say (with HOLDALL_OPT_SKIP_DAMAGED what is missing at its end reads as zeros,
/// HOLDALL_NOT_FOUND, as damaged chunks do, unless it is more than the file can have held,
/// which holds for folders, too, that say to have lost much more than is there); of a frame also
/// where it has not as many chunks as the shape says, and what its metalayers say is not possible;
/// in folders also names and links that lead out of them. HOLDALL_E_CHECKSUM, _FORMAT: the metadata
/// are damaged (HOLDALL_E_TYPE with that option). HOLDALL_E_UNSUPPORTED: more than HOLDALL_MAX_NDIM
/// dimensions; a folder that can be read only, to be changed.
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

/// As holdall_array_open(), in storage of the caller's: the file "", or else the files of a folder
/// ("meta/sizes", "data/__0.blp"; "chunks.b2frame", "00000000.chunk"). It may be closed at once.
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

/// What is to be created.
fn format_of(format: holdall_format) -> Result<Format> {
    Ok(match format {
        HOLDALL_FORMAT_BLOSCPACK => Format::Bloscpack,
        HOLDALL_FORMAT_BCOLZ => Format::Bcolz,
        HOLDALL_FORMAT_BLZ => Format::Blz,
        HOLDALL_FORMAT_BLZ_PAPER => Format::BlzPaper,
        HOLDALL_FORMAT_CATERVA => Format::Caterva,
        HOLDALL_FORMAT_B2ND => Format::B2nd,
        _ => {
            let known = "HOLDALL_FORMAT_BLOSCPACK, _BCOLZ, _BLZ, _BLZ_PAPER, _CATERVA and _B2ND";
            return Err(fail!(
                Unsupported,
                "format {format}: this version creates arrays as {known}"
            ));
        }
    })
}

/// What holdall_array_create() is told of the grid, but for the blocks.
fn grid<'a>(
    dtype: *const c_char,
    ndim: u32,
    [shape, chunks]: [*const u64; 2],
    format: Format,
) -> Result<Kindred<'a>> {
    if ndim > HOLDALL_MAX_NDIM {
        return Err(fail!(
            Argument,
            "{ndim} dimensions: at most HOLDALL_MAX_NDIM, {HOLDALL_MAX_NDIM}"
        ));
    }
    let dtype = string(dtype, "dtype")?
        .to_str()
        .ok_or_else(|| fail!(Argument, "dtype is no UTF-8"))?;
    let chunks = lengths(chunks, ndim, "chunks")?;
    Ok(Kindred {
        dtype,
        shape: slice(shape, ndim as usize, "shape")?,
        chunks,
        format,
    })
}

/// One number for each dimension, if any are given.
fn lengths<'a>(p: *const u64, ndim: u32, what: &str) -> Result<Option<&'a [u64]>> {
    if p.is_null() {
        Ok(None)
    } else {
        slice(p, ndim as usize, what).map(Some)
    }
}

/// Creates an array, in C order, opened for changes. It is of zeros, which cost nothing before the
/// commit, and in a frame nothing at all. With HOLDALL_NEW nothing may be there, with
/// HOLDALL_REPLACE what is there is replaced by the first commit. Format: HOLDALL_FORMAT_BLOSCPACK;
/// Bloscpack 0.16 reads it. Or a folder:
/// - HOLDALL_FORMAT_BCOLZ: bcolz and BLZ read it and append to it, but for what they cannot: with
///   zstd or bitshuffle it is for bcolz alone, and complex or structured dtypes they do not open.
/// - HOLDALL_FORMAT_BLZ: as BLZ 0.6 writes it, for BLZ alone; zstd and bitshuffle are
///   HOLDALL_E_UNSUPPORTED.
/// - HOLDALL_FORMAT_BLZ_PAPER: as the papers on both have it: chunks stand together in superchunks
///   (HOLDALL_OPT_SUPERCHUNK_CHUNKS), each a file that Bloscpack reads, with offsets and checksums;
///   HOLDALL_OPT_SPARE_CHUNKS and _SPARE_BYTES keep room in them. Structures are stored as they
///   are, not field by field.
///
/// - HOLDALL_FORMAT_B2ND: a Blosc2 frame as python-blosc2 has arrays, a file, or with
///   HOLDALL_OPT_SPARSE a folder. Chunks are cut along every dimension, and blocks in them, so that
///   a box touches little besides, along whichever axis.
/// - HOLDALL_FORMAT_CATERVA: the same as Caterva has it, which keeps no dtype.
///   HOLDALL_OPT_BOTH_METALAYERS: for both.
///
/// Appending leaves a folder in the form that it has.
///
/// dtype: as NumPy spells it: "<f8", "|S16", "<M8[ns]", "[('a','<i4'),('b','<f8')]".
///
/// shape: its length along each of the ndim dimensions, 0 or more; it can grow along any, cheaply
/// along the slowest, the first, a dataset along that alone, a frame cheaply along any at its end.
///
/// chunks, blocks: in a frame (HOLDALL_FORMAT_B2ND, _CATERVA) chunks and blocks have any shape. A
/// block longer than a chunk is padded. NULL: about HOLDALL_OPT_CHUNK_BYTES and _BLOCK_BYTES, about
/// as long along every dimension, blocks shorter along the first, which is read plane by plane
/// most, ending where chunks do along each dimension that has a part of about that length; never
/// longer than the array, where a length of 0 counts as one that will grow; the same on every
/// machine.
///
/// In the other formats a chunk is whole along all dimensions but the first, and blocks is NULL.
/// chunks NULL: about HOLDALL_OPT_CHUNK_BYTES (1 MiB) of whole rows, or of whole items where a row
/// is longer; in a folder, of whole rows, as bcolz chooses them for HOLDALL_OPT_EXPECTED_ROWS.
/// Options: those of holdall_schunk_create(); for a folder HOLDALL_OPT_EXPECTED_ROWS, _FILL, and of
/// those the ones of opening, _DURABILITY, _LOCK, _CODEC, _LEVEL, _FILTERS, _CHUNK_BYTES,
/// _BLOCK_BYTES and _CHECKSUM (CRC-32 by default, which other readers do not look at). For a frame:
/// those of holdall_schunk_create() for one, _FILL and _BOTH_METALAYERS. HOLDALL_E_ARGUMENT: chunks
/// and HOLDALL_OPT_CHUNK_BYTES are both given, or blocks and _BLOCK_BYTES; chunks of 2 GiB or more,
/// blocks of 512 MiB or more.
/// HOLDALL_E_TYPE: a dtype that is not known. HOLDALL_E_UNSUPPORTED: objects of Python's, another
/// format, other chunks; in a frame items of no bytes. HOLDALL_E_LIMIT: more chunks than a frame
/// can have. HOLDALL_E_ARGUMENT: more than HOLDALL_MAX_NDIM dimensions, a folder of none, a chunk
/// of length 0, more than 2^64 bytes. HOLDALL_E_EXISTS, HOLDALL_E_BUSY: as holdall_schunk_create().
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

/// As holdall_array_create(), in storage of the caller's, under the names that
/// holdall_array_open_io() tells of. HOLDALL_E_UNSUPPORTED: the storage is read-only. There is no
/// lock: the caller sees to it that there is one writer.
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

/// Closes an array; NULL is fine, and a column of a table stays open. What was not committed is
/// gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_close(array: *mut holdall_array) {
    if field(array, true, |a| !a.is_column) {
        take_back(array);
    }
}

/// How many dimensions, 0 to HOLDALL_MAX_NDIM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_ndim(array: *const holdall_array) -> u32 {
    field(array, 0, |a| a.inner.shape().len() as u32)
}

/// Items along each dimension: ndim values, borrowed until the array is closed or changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_shape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.shape().as_ptr())
}

/// The shape of a chunk: ndim values, borrowed until the array is closed. Reads along it are the
/// cheapest. Chunks of a Bloscpack file cut the run of its items anywhere: these are the whole rows
/// (those of the slowest dimension: the first in C order, the last in Fortran order) in one, at
/// least 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_chunkshape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.chunkshape().as_ptr())
}

/// The same of a block, the least that is decoded for an item: those of the first chunk; as a
/// chunk, while there is none. ndim values, borrowed until the array is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_blockshape(array: *const holdall_array) -> *const u64 {
    field(array, std::ptr::null(), |a| a.inner.blockshape().as_ptr())
}

/// The type of its items, as NumPy spells it and as it was spelled when the array was made;
/// borrowed until the array is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_dtype(array: *const holdall_array) -> *const c_char {
    field(array, std::ptr::null(), |a| a.dtype.as_ptr())
}

/// Bytes of an item; may be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_itemsize(array: *const holdall_array) -> usize {
    field(array, 0, |a| a.inner.itemsize())
}

/// HOLDALL_ORDER_C or _F: how the items are stored. The slowest dimension is the first in C order,
/// the last in Fortran order: at its end an array grows and is cut without anything else having to
/// move.
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

/// Bytes of all items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_nbytes(array: *const holdall_array) -> u64 {
    field(array, 0, |a| a.inner.nbytes())
}

/// Bytes on disk at the last commit; before the first one, of the chunks so far. Of a folder, what
/// its writer has put down, which is an estimate with bcolz and BLZ.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_cbytes(array: *const holdall_array) -> u64 {
    guard_value(0, || {
        borrow(array).map_or(0, |a| a.inner.cbytes().unwrap_or(0))
    })
}

/// Reads a box: of each dimension d the items start[d], start[d] + step[d], ..., count[d] of them.
/// Each has ndim values; step NULL: 1 everywhere.
/// strides[d] is how many bytes the items of dimension d are apart in dst; NULL: they are packed,
/// in C order. The box begins at dst, whatever the signs: where strides[d] is negative, the items
/// of dimension d begin at its far end. Nothing outside of the box is written, between its items
/// neither. Each chunk that the box touches is decoded once, or as much of it as is needed, several
/// in parallel where it pays. Of a frame no more read calls go to the file than blocks are touched,
/// and blocks beside each other are read with one. One more comes the first time that a chunk is
/// read, if it has more than 64 KiB and no checksum that is looked at, and its first block that is
/// wanted ends, as it seems, more than 128 KiB behind its beginning: only the chunk itself tells
/// where its blocks are. With a checksum that is looked at, all of a chunk is read the first time,
/// with one call. HOLDALL_E_BUFFER: dst_size is too small. HOLDALL_E_RANGE: the box reaches beyond
/// the array. HOLDALL_E_ARGUMENT: a step is 0. HOLDALL_E_TYPE: objects. HOLDALL_NOT_FOUND (> 0)
/// and all else: as holdall_schunk_read(); dst then holds anything.
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

/// Writes a box, from a buffer as holdall_array_read() has it; a stride of 0 repeats an item. It
/// counts from the next commit on. Whole chunks are made anew in parallel, one that is changed in
/// part is first decoded: where that one is damaged it fails as holdall_schunk_read() does, also
/// with HOLDALL_OPT_SKIP_DAMAGED. On failure some of it may be written: go on from the last commit,
/// or write it again. HOLDALL_E_BUFFER, _RANGE, _ARGUMENT: as reading, with nothing written.
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

/// One list of positions for each dimension, where one is given.
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
        let n = usize::try_from(*n).map_err(|_| fail!(Argument, "{n} positions"))?;
        if p.is_null() {
            Ok(None)
        } else {
            slice(*p, n, "positions").map(Some)
        }
    };
    lists.map(list).collect()
}

/// Reads all combinations of counts[d] positions of each dimension d, in any order, repeated or
/// not, as numpy.ix_ does: packed, in C order. positions[d] NULL: all of that dimension, whatever
/// counts[d] is. Fails as holdall_array_read() does: HOLDALL_E_RANGE of any position that the
/// dimension has not.
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

/// Writes all combinations of positions, from a buffer as holdall_array_read_orthogonal() has it;
/// of a position that is there twice the last counts. On failure some of it may be written.
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

/// Reads n single items, one behind the other: `coordinates` has n times ndim values. Chunks are
/// decoded once, whatever the order of the items. HOLDALL_E_RANGE: one is outside (err->position:
/// which one).
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
            .ok_or_else(|| fail!(Argument, "{n} items"))?;
        a.inner
            .read_points(
                slice(coordinates, many, "coordinates")?,
                n,
                destination(dst, dst_size)?,
            )
            .map(or_skipped)
    })
}

/// Lets the array grow by `count` along a dimension: holdall_array_insert() at its end. Along the
/// slowest (see holdall_array_order()) that is cheap. src: the new items, packed, in C order,
/// src_size bytes of them. They count from the next commit on; on failure nothing was appended.
/// HOLDALL_E_ARGUMENT: there is no such axis, or src_size is not that of the new items.
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

/// Puts `count` new places into a dimension before place `at`. src: as for holdall_array_append().
/// Items behind them in the file move: chunks are made anew from there on, in the slowest dimension
/// (see holdall_array_order()) up to where their limits fall together again (`count` a multiple of
/// the rows in a chunk), in another one all of them. So put in many at once. In a frame nothing but
/// the numbers of chunks changes where `at` and `count` are multiples of the length of a chunk; an
/// append makes the chunks at the edge anew. They count from the next commit on; on failure nothing
/// was put in. HOLDALL_E_RANGE: `at` is beyond the end. HOLDALL_E_ARGUMENT: there is no such axis,
/// or src_size is not that of the new items.
///
/// A damaged chunk that has to be made anew: as holdall_schunk_read(), also with
/// HOLDALL_OPT_SKIP_DAMAGED; no change takes what is damaged for zeros.
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

/// Takes away `count` places of a dimension from `at` on, from the next commit on. Those at the end
/// of the slowest (see holdall_array_order()) just go; else items behind them move, and that costs
/// what it does for holdall_array_insert(). On failure nothing was taken.
/// HOLDALL_E_RANGE: there are fewer. HOLDALL_E_ARGUMENT: there is no such axis.
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

/// Writes the array, as this handle sees it, into a new container, with other chunks, codec or
/// checksum, or another layout: this is also how files are converted. Dtype with its spelling,
/// shape and order stay (a frame is in C order and spells it as NumPy does), and named values: in
/// the metadata of a file those of a folder are the members of a member "attrs", from which
/// they become those of a folder again, as does all else there that does not make it an array. In a
/// frame they are MessagePack, elsewhere JSON: bytes become {"hex": "00ff"}, what is no MessagePack
/// is taken for bytes, and what is no JSON becomes text; from frame to frame they stay as they are.
/// It takes little memory, and is there, whole, when the call is done, or not at all. mode, format,
/// blocks: as for holdall_array_create(). chunks: as there, but with any number of places of the
/// slowest dimension (see holdall_array_order()); NULL: HOLDALL_OPT_CHUNK_BYTES, or as here.
/// A frame: options, and what is not given, as for holdall_array_create(), but chunks, blocks,
/// codec, level and filters of a frame are as here.
/// From frame to frame, with chunks of the same shape: those that take no room take none there, and
/// where blocks have the same shape, too, and no codec, level or filter is given, chunks go over as
/// they are stored, held against their checksums before. A folder: options, and what is not given,
/// as for holdall_array_create(), but the fill value is that of here; the array must be in C order.
/// Else options: those of holdall_schunk_create(). Codec, filter and checksum that are not given
/// are as here (_FILTERS and _CODEC as the last chunk has them; CRC-32 for a file without
/// checksums); the level is 5, the layout that of version 3. Progress is told in bytes.
/// HOLDALL_E_ARGUMENT: path is this array's own file; its own folder, with HOLDALL_REPLACE, is
/// replaced by the copy. HOLDALL_E_UNSUPPORTED: HOLDALL_OPT_FORMAT_VERSION 1 or 2, which have no
/// place for what makes an array. HOLDALL_E_ARGUMENT: the name of a value has more than the 31
/// bytes that it can have in a frame. HOLDALL_NOT_FOUND (> 0): HOLDALL_OPT_SKIP_DAMAGED was set for
/// this handle, and what is damaged is zeros in the copy, or attributes are missing there.
/// Else as holdall_array_read() and holdall_array_commit().
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

/// Gives the array another shape, of ndim values, from the next commit on: what is beyond goes,
/// what is new is zeros, or what holdall_array_fill() gives. What holdall_array_insert() says of
/// its costs holds for each dimension that differs; zeros for any but the slowest take as much
/// memory as they are. In a frame, where each dimension grows and shrinks at its end, chunks at the
/// old and the new edges are made anew, and no more. A shape that the array cannot have, or not
/// within the limit of memory, is refused before anything is changed; where a file fails on the
/// way, it may have a shape on the way, with no commit of it.
/// HOLDALL_E_ARGUMENT: more than 2^64 bytes.
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

/// Makes all changes so far durable and visible, content and shape together. Fails as
/// holdall_schunk_commit() does.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_array_commit(
    array: *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    change(array, err, |a| a.inner.commit())
}

/// The item that is where nothing was written, and where damage was skipped (bcolz and BLZ:
/// `dflt`): holdall_array_itemsize() bytes, or those of a row where each item of a row has its own.
/// *value is borrowed until the array is closed. HOLDALL_NOT_FOUND: zeros; *value is NULL and *n 0.
/// HOLDALL_E_FORMAT: what is stored does not fit the dtype.
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

/// Sets that value, from the next commit on: what is there stays, and what the array grows by is
/// this. src: `size` bytes, those of an item, or of a row; 0: zeros. What a structure has between
/// its fields, and the bits of what is no number, do not come back. HOLDALL_E_UNSUPPORTED: arrays
/// in Bloscpack files and frames have none; long doubles and imaginary parts, which those
/// files cannot tell of. HOLDALL_E_ARGUMENT: another size, or characters that are none.
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

/// An item of an array of Python's objects (dtype "object" or "O", one dimension, itemsize 0): its
/// bytes as Python has pickled them, which nothing here looks into. Whoever unpickles them runs
/// what their writer wanted to be run. dst NULL asks for the size in *n; a short dst is
/// HOLDALL_E_BUFFER. HOLDALL_E_TYPE: other arrays; those of objects are HOLDALL_E_TYPE for the
/// calls that read items by number. HOLDALL_E_RANGE: there is no item i.
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

/// How many named values it has. Bloscpack: its metadata, JSON, is the one named "". Folders: their
/// attributes, each of which is JSON (as Python writes it: NaN and Infinity are numbers there).
/// Frames: their metalayers but `b2nd` and `caterva`, any bytes, by custom MessagePack. Where the
/// file of those of a folder is damaged, its name is the only one, and asking for any of them tells
/// what is wrong; with HOLDALL_OPT_SKIP_DAMAGED there are none, and asking fails in the same way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_array_attrs(array: *const holdall_array) -> u32 {
    field(array, 0, |a| a.names.len() as u32)
}

/// The name of one of them; NULL beyond the last.
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

/// A named value: *n bytes, without a NUL behind them, borrowed until the array is closed or
/// changed. HOLDALL_NOT_FOUND: there is none of this name, *value is NULL and *n 0.
/// HOLDALL_E_FORMAT, _CHECKSUM, _LIMIT: the file of them is damaged, or too large; so fails
/// changing one, too. The shape in the metadata is that of the last commit.
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

/// Lends bytes to the caller, if there are any.
pub(super) fn give_bytes(
    found: Option<&[u8]>,
    value: *mut *const c_void,
    n: *mut usize,
) -> Result<holdall_status> {
    let (value, n) = (place(value, "value")?, place(n, "n")?);
    (*value, *n) = found.map_or((std::ptr::null(), 0), |m| (m.as_ptr().cast(), m.len()));
    Ok(if found.is_some() {
        HOLDALL_OK
    } else {
        HOLDALL_NOT_FOUND
    })
}

/// Sets a named value, from the next commit on. Bloscpack: "" alone, which cannot be removed: JSON
/// of an object in which dtype, shape, order and container stay what they are; anything may stand
/// beside them. Folders: any name, any JSON; value NULL removes it, if it is there. Frames: as
/// holdall_schunk_meta_set(); `b2nd` and `caterva` are HOLDALL_E_ARGUMENT.
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
                    "Bloscpack files have one value, named \"\""
                ));
            }
            a.inner.meta_set(value)?;
        } else {
            let name = name
                .to_str()
                .ok_or_else(|| fail!(Argument, "name is no UTF-8"))?;
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
