//! The C functions for superchunks.

use super::array::{attr_value, c_names, give_bytes, text};
use super::checksum::content_checksum;
use super::constants::{checksum_number, codec_number, filter_number, format, format_number, mode};
use super::container::{holdall_format, holdall_mode, wrong_kind};
use super::guard::*;
use super::options::{HOLDALL_CODEC_MIXED, HOLDALL_CODEC_NONE, chosen, holdall_options};
use super::storage::{Target, opened_from, target, target_of};
use super::store::target_and_source;
use super::structs::{structure, write_struct};
use crate::alloc;
use crate::blosc::StoredCodec;
use crate::error::{Result, fail};
use crate::format::{Format, Kind};
use crate::offsets::{check_offsets, span};
use crate::options::Options;
use crate::repair::reading;
use crate::store::{self, NodeLocation};
use crate::superchunk::any::{Superchunk, SuperchunkFormat};
use crate::superchunk::bloscpack::{Destination, Mode};
use crate::watch::{Reopen, Watch, reopened};
use std::ffi::{CString, OsStr, OsString, c_char, c_void};
use std::fmt;
use std::sync::atomic::AtomicBool;

/// An open superchunk: a sequence of bytes, the content, in compressed chunks numbered from 0.
pub struct holdall_schunk {
    broken: AtomicBool,
    inner: Superchunk,
    /// The names of the named values that can be C strings.
    names: Vec<CString>,
    /// The number of commits and refreshes of this handle.
    generation: u64,
    /// For reading: what it was opened from, with the options.
    source: Option<Reopen>,
}
handle!(holdall_schunk);

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_schunk>();

fn schunk_handle(inner: Superchunk) -> holdall_schunk {
    let names = c_names(inner.meta_names());
    holdall_schunk {
        broken: AtomicBool::new(false),
        inner,
        names,
        generation: 0,
        source: None,
    }
}

/// What is known about a superchunk.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_schunk_info {
    /// sizeof(holdall_schunk_info).
    pub struct_size: usize,
    /// HOLDALL_FORMAT_BLOSCPACK or HOLDALL_FORMAT_B2FRAME, also for a frame that is an array.
    pub format: i32,
    /// Version of the header. Frames: 2 or 3. Bloscpack: 0 (unversioned), 1, 2, 3, or 103 (BLZ RFC
    /// layout with metadata).
    pub version: i32,
    /// Bytes per item; in Bloscpack 1 for items of more than 255 bytes.
    pub typesize: usize,
    /// Bytes of content per chunk; the last chunk and inserted ones may differ. 0: a frame with
    /// chunks of any length.
    pub chunk_size: u64,
    /// Number of chunks.
    pub chunk_count: u64,
    /// Bytes of content.
    pub nbytes: u64,
    /// As in holdall_array_info.
    pub stored_bytes: u64,
    /// As in holdall_array_info.
    pub codec: i32,
    /// As in holdall_array_info.
    pub level: i32,
    /// As in holdall_array_info.
    pub checksum: i32,
    /// 1: a frame in a folder, with one file per chunk. Otherwise 0.
    pub is_sparse: i32,
    /// Number of filters.
    pub filter_count: u32,
    /// As in holdall_array_info.
    pub filters: [u8; 8],
    /// Number of attributes.
    pub attr_count: u32,
    /// See base.h.
    pub generation: u64,
    /// As in holdall_array_info.
    pub precision: i32,
    /// As in holdall_array_info.
    pub fixed_attr_count: u32,
}
structure!(holdall_schunk_info);

/// What is known about a chunk.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct holdall_chunk_info {
    /// sizeof(holdall_chunk_info).
    pub struct_size: usize,
    /// Bytes of content.
    pub nbytes: usize,
    /// Bytes as stored, without the checksum; 0: pending, or one value that a frame stores in its
    /// index.
    pub stored_bytes: usize,
    /// One of HOLDALL_CODEC_*: _NONE (not compressed, or one value), _LZ4 (also LZ4HC), _MIXED
    /// (unknown). Of a pending chunk: the codec to be used.
    pub codec: i32,
    /// 1: not encoded yet; the commit does it at the latest. Otherwise 0.
    pub is_pending: i32,
}
structure!(holdall_chunk_info);

fn superchunk_format(constant: holdall_format) -> Result<SuperchunkFormat> {
    match format(constant)? {
        Format::Bloscpack => Ok(SuperchunkFormat::Bloscpack),
        Format::B2Frame => Ok(SuperchunkFormat::Frame),
        _ => Err(fail!(
            Argument,
            "format: not a format of superchunks (expected HOLDALL_FORMAT_BLOSCPACK or _B2FRAME, found {constant})"
        )),
    }
}

/// Returns the constant for the codec of stored chunks.
pub(super) fn stored_codec_number(codec: StoredCodec) -> i32 {
    match codec {
        StoredCodec::None => HOLDALL_CODEC_NONE,
        StoredCodec::One(codec) => codec_number(codec),
        StoredCodec::Mixed => HOLDALL_CODEC_MIXED,
    }
}

/// Returns the number of filters and their constants.
pub(super) fn filter_numbers(filters: &[u8]) -> (u32, [u8; 8]) {
    let mut numbers = [0; 8];
    for (number, filter) in numbers.iter_mut().zip(filters) {
        *number = filter_number(*filter);
    }
    (filters.len().min(numbers.len()) as u32, numbers)
}

/// Opens a superchunk at its last commit. mode: HOLDALL_READ, HOLDALL_APPEND. path: a Bloscpack
/// file of any version, a Blosc2 frame, or the folder of one.
///
/// New Bloscpack chunks have codec and filters of the last one, unless the options set them. A
/// frame that is an array no longer opens as one after a change to its content here.
///
/// Returns:
/// - HOLDALL_E_MISSING: also if a folder has only an uncommitted frame.
/// - HOLDALL_E_FORMAT: also missing or misplaced chunks (err->position: the first): see
///   HOLDALL_OPT_SKIP_DAMAGED and holdall_repair().
/// - HOLDALL_E_UNSUPPORTED: HOLDALL_APPEND to an unversioned Bloscpack file.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (to, mode, chosen) = (target(path, options)?, self::mode(mode)?, chosen(options));
            let from_here = || opened_from(path, options, Watch::path);
            let source = (mode == Mode::Read).then(from_here).transpose()?;
            let inner = open(to, mode, chosen)?;
            Ok(holdall_schunk {
                source,
                ..schunk_handle(inner)
            })
        })
    })
}

/// Opens a node of a store.
pub(super) fn open_node(
    location: &NodeLocation,
    mode: Mode,
    options: Options,
) -> Result<holdall_schunk> {
    let (target, source) = target_and_source(location);
    let inner = open(target, mode, options.clone())?;
    Ok(holdall_schunk {
        source: (mode == Mode::Read).then_some((source, options)),
        ..schunk_handle(inner)
    })
}

fn open(to: Target, mode: Mode, options: Options) -> Result<Superchunk> {
    let path = match to {
        Target::Path(path) => path,
        Target::Storage(folder) => {
            return Superchunk::open_in(&folder, OsStr::new(""), mode, &options);
        }
    };
    let open = |options: &Options| {
        let at_path = |path: &OsStr| Superchunk::open(path, mode, options);
        let in_folder = |folder: &_| Superchunk::open_in(folder, OsStr::new(""), mode, options);
        store::path::open(path, options, at_path, in_folder)
    };
    let opened = if mode == Mode::Read {
        reading(path, options, open)
    } else {
        open(&options)
    };
    opened.map_err(|e| wrong_kind(path, Kind::Schunk, e))
}

/// Creates a superchunk and opens it for changes.
/// - mode: HOLDALL_CREATE, or HOLDALL_REPLACE (no file by a folder, nor the reverse).
/// - format: HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME.
/// - typesize: bytes per item, at least 1, for filters. Content need not be whole items.
///
/// Returns:
/// - HOLDALL_E_EXISTS: see mode.
/// - HOLDALL_E_UNSUPPORTED: the options cannot be combined.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_create(
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    typesize: usize,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (to, mode) = (target(path, options)?, self::mode(mode)?);
            let (format, options) = (superchunk_format(format)?, chosen(options));
            match to {
                Target::Path(path) => Superchunk::create(path, mode, format, typesize, &options),
                Target::Storage(folder) => {
                    let name = OsStr::new("");
                    Superchunk::create_in(&folder, name, mode, format, typesize, &options)
                }
            }
            .map(schunk_handle)
        })
    })
}

/// Closes a superchunk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_close(schunk: *mut holdall_schunk) {
    take_back(schunk);
}

/// Returns the number of chunks. Committed Bloscpack files without content have one, which is
/// empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_chunk_count(schunk: *const holdall_schunk) -> u64 {
    field(schunk, 0, |s| s.inner.chunks())
}

/// Returns the bytes of content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_nbytes(schunk: *const holdall_schunk) -> u64 {
    field(schunk, 0, |s| s.inner.nbytes())
}

/// Gets information about a superchunk.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_get_info(
    schunk: *const holdall_schunk,
    info: *mut holdall_schunk_info,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        write_struct(info, "info", schunk_info(s)?)
    })
}

fn schunk_info(s: &holdall_schunk) -> Result<holdall_schunk_info> {
    let schunk = &s.inner;
    let encoding = schunk.encoding();
    let (filter_count, filters) = filter_numbers(&encoding.filters);
    Ok(holdall_schunk_info {
        struct_size: size_of::<holdall_schunk_info>(),
        format: format_number(schunk.format()),
        version: schunk.version(),
        typesize: schunk.typesize(),
        chunk_size: schunk.chunk_size() as u64,
        chunk_count: schunk.chunks(),
        nbytes: schunk.nbytes(),
        stored_bytes: schunk.cbytes()?,
        codec: stored_codec_number(encoding.codec),
        level: encoding.level.map_or(-1, i32::from),
        checksum: checksum_number(schunk.checksum()),
        is_sparse: schunk.is_sparse().into(),
        filter_count,
        filters,
        attr_count: s.names.len() as u32,
        generation: s.generation,
        precision: encoding.precision.map_or(0, i32::from),
        fixed_attr_count: {
            let names = schunk.meta_names().into_iter();
            names.filter(|name| schunk.is_meta_fixed(name)).count() as u32
        },
    })
}

/// Gets information about a chunk without decoding it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_get_chunk_info(
    schunk: *const holdall_schunk,
    chunk: u64,
    info: *mut holdall_chunk_info,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let chunk = s.inner.chunk_info(chunk)?;
        let value = holdall_chunk_info {
            struct_size: size_of::<holdall_chunk_info>(),
            nbytes: chunk.nbytes,
            stored_bytes: chunk.stored_bytes,
            codec: stored_codec_number(chunk.codec),
            is_pending: chunk.is_pending.into(),
        };
        write_struct(info, "info", value)
    })
}

/// Reads dst_size bytes of content at offset start into dst. Returns as holdall_array_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_read(
    schunk: *const holdall_schunk,
    start: u64,
    dst: *mut c_void,
    dst_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let dst = match buffer(dst.cast(), dst_size)? {
            Some(d) => d,
            None if dst_size == 0 => &mut [],
            None => return Err(fail!(Argument, "dst is NULL")),
        };
        s.inner.read(start, dst).map(or_skipped)
    })
}

/// Reads a part of a chunk, all `size` bytes of it, into the caller's buffer, and stores the size
/// in `n`; if the buffer is NULL, only the size. Returns as holdall_schunk_read(). `what`: the name
/// of the part for messages.
fn read_sized(
    chunk: u64,
    what: fmt::Arguments<'_>,
    size: usize,
    (dst, dst_size): (*mut c_void, usize),
    n: &mut usize,
    read: impl FnOnce(&mut [u8]) -> Result<bool>,
) -> Result<holdall_status> {
    let skipped = match buffer(dst.cast(), dst_size)? {
        Some(dst) => {
            let have = dst.len();
            let Some(dst) = dst.get_mut(..size) else {
                *n = size;
                let e = fail!(Buffer, "{what} has {size} bytes, the buffer has {have}");
                return Err(e.at(chunk));
            };
            read(dst)?
        }
        None => false,
    };
    *n = size;
    Ok(or_skipped(skipped))
}

/// Reads the content of a chunk into dst; *n is its size in bytes. Returns as
/// holdall_schunk_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_read_chunk(
    schunk: *const holdall_schunk,
    chunk: u64,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let n = required(n, "n")?;
        let size = s.inner.chunk_nbytes(chunk)?;
        let read = |dst: &mut [u8]| s.inner.read_chunk(chunk, dst);
        read_sized(
            chunk,
            format_args!("chunk {chunk}"),
            size,
            (dst, dst_size),
            n,
            read,
        )
    })
}

/// Gets where the blocks of a chunk begin in its content: block i has the bytes offsets[i] to
/// offsets[i+1]. offsets: room for `capacity` numbers, or NULL to get only *count, the number of
/// blocks.
///
/// Returns:
/// - HOLDALL_E_BUFFER: `capacity` is less than *count + 1.
/// - HOLDALL_E_CHECKSUM, _FORMAT: as holdall_schunk_read_raw().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_block_offsets(
    schunk: *const holdall_schunk,
    chunk: u64,
    offsets: *mut u64,
    capacity: usize,
    count: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let count = required(count, "count")?;
        let found = s.inner.block_offsets(chunk)?;
        *count = found.len() - 1;
        if offsets.is_null() {
            return Ok(HOLDALL_OK);
        }
        if capacity < found.len() {
            return Err(fail!(
                Buffer,
                "{} offsets are needed, the buffer has room for {capacity}",
                found.len()
            )
            .at(chunk));
        }
        let to = filled(offsets, found.len(), 0, "offsets")?;
        for (to, from) in to.iter_mut().zip(found) {
            *to = from as u64;
        }
        Ok(HOLDALL_OK)
    })
}

/// Reads one block of a chunk, *n bytes. Returns as holdall_schunk_read_raw(), or HOLDALL_DAMAGED
/// for corruption elsewhere.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_read_block(
    schunk: *const holdall_schunk,
    chunk: u64,
    block: usize,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let n = required(n, "n")?;
        let size = s.inner.block_len(chunk, block)?;
        let read = |dst: &mut [u8]| s.inner.read_block(chunk, block, dst);
        read_sized(
            chunk,
            format_args!("block {block}"),
            size,
            (dst, dst_size),
            n,
            read,
        )
    })
}

/// Reads a chunk as stored, *n bytes, after verifying its checksum, which is not included.
///
/// Returns:
/// - HOLDALL_E_CHECKSUM, _FORMAT: it is corrupt, also with HOLDALL_OPT_SKIP_DAMAGED.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_read_raw(
    schunk: *const holdall_schunk,
    chunk: u64,
    dst: *mut c_void,
    dst_size: usize,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        s.inner.with_raw(chunk, &mut |bytes| {
            copy_out(bytes, dst.cast(), dst_size, n).map(|_| ())
        })?;
        Ok(HOLDALL_OK)
    })
}

/// Computes a checksum of all content, as holdall_checksum_compute() does of a buffer. Array items
/// are in stored order (holdall_array_info::order). Returns as
/// holdall_schunk_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_checksum(
    schunk: *const holdall_schunk,
    kind: i32,
    dst: *mut c_void,
    dst_size: usize,
    checksum_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        content_checksum(kind, dst, dst_size, checksum_size, |kind| {
            s.inner.content_checksum(kind)
        })
    })
}

/// Appends src_size bytes of content; fills up the last chunk first, unless chunks have any length.
/// After a failure holdall_schunk_nbytes() includes what was appended.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_append(
    schunk: *mut holdall_schunk,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.append(slice(src.cast(), src_size, "src")?)
    })
}

/// Appends one encoded chunk of src_size bytes without checksum, unchanged. Decodes it once to
/// verify it.
///
/// Returns:
/// - HOLDALL_E_FORMAT: not one complete chunk.
/// - HOLDALL_E_CODEC: a codec or filter that this library does not have.
/// - HOLDALL_E_UNSUPPORTED: a Blosc2 chunk for Bloscpack, or a Blosc1 chunk for a frame.
/// - HOLDALL_E_STATE, _UNSUPPORTED: blocks of any length beside those of one length, or the
///   reverse.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_append_raw(
    schunk: *mut holdall_schunk,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.append_raw(slice(src.cast(), src_size, "src")?)
    })
}

/// Overwrites src_size bytes of content at offset start. After a failure some may be written.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_write(
    schunk: *mut holdall_schunk,
    start: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.write(start, slice(src.cast(), src_size, "src")?)
    })
}

/// Inserts src_size bytes of content as one chunk before chunk, or at the end if chunk is the
/// number of chunks. Another length than that of the others gives a frame variable chunk lengths
/// (readable from c-blosc2 3 on).
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: src_size is 0 (frames), or 2 GiB or more.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_insert(
    schunk: *mut holdall_schunk,
    chunk: u64,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.insert(chunk, slice(src.cast(), src_size, "src")?)
    })
}

/// Inserts one chunk of `count` blocks before chunk, or at the end. Block i is data[offsets[i]] to
/// data[offsets[i+1]], not empty and without filters. An empty frame gets blocks of any length, as
/// BatchArray of python-blosc2 (whose attribute with lengths stays as it is): then
/// holdall_schunk_insert() and _append() add a chunk of one block, _write() and _truncate() retain
/// blocks.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: no block; an empty one; offsets do not ascend; 2 GiB or more.
/// - HOLDALL_E_STATE: there are blocks of one length.
/// - HOLDALL_E_UNSUPPORTED: a Bloscpack file.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_insert_blocks(
    schunk: *mut holdall_schunk,
    chunk: u64,
    data: *const c_void,
    offsets: *const u64,
    count: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        let (data, offsets) = concatenated(data, offsets, count, "blocks")?;
        if count > 0 {
            check_offsets(data.len() as u64, offsets)?;
        }
        let mut blocks = alloc::with_capacity(count)?;
        blocks.extend(offsets.windows(2).map(|ends| span(data, ends)));
        s.inner.insert_blocks(chunk, &blocks)
    })
}

/// Removes a chunk with its content and shifts the following chunks down by one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_remove(
    schunk: *mut holdall_schunk,
    chunk: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.remove(chunk))
}

/// Truncates the content to nbytes bytes.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_truncate(
    schunk: *mut holdall_schunk,
    nbytes: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.truncate(nbytes))
}

/// Returns the number of attributes, including corrupt ones. Bloscpack: the JSON metadata, named
/// "", if any. Frames: the metalayers of the header, then those of variable length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_attr_count(schunk: *const holdall_schunk) -> u32 {
    field(schunk, 0, |s| s.names.len() as u32)
}

/// Returns the name of attribute i.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_attr_name(
    schunk: *const holdall_schunk,
    i: u32,
) -> *const c_char {
    guard_value(std::ptr::null(), || {
        borrow(schunk)
            .and_then(|s| s.names.get(i as usize))
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// Gets an attribute: see base.h.
///
/// Returns:
/// - HOLDALL_DAMAGED: it is corrupt; *value is NULL, *n is 0.
/// - HOLDALL_E_CHECKSUM, _FORMAT: it is corrupt.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_attr_get(
    schunk: *const holdall_schunk,
    name: *const c_char,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let name = text(name)?;
        let found = name.map_or(Ok(None), |name| s.inner.meta(name))?;
        let status = give_bytes(found, value, n)?;
        let is_lost = found.is_none() && name.is_some_and(|name| s.inner.is_meta_lost(name));
        Ok(if is_lost { HOLDALL_DAMAGED } else { status })
    })
}

/// Sets an attribute to n bytes.
/// - Bloscpack: name "" and JSON only; none in versions 1 and 2.
/// - Frames: as holdall_array_attr_set().
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: the format does not allow it, as above.
/// - HOLDALL_E_ARGUMENT: not JSON (Bloscpack); an invalid name.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_attr_set(
    schunk: *mut holdall_schunk,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        let name = text(name)?.ok_or_else(|| fail!(Argument, "name is not UTF-8"))?;
        s.inner.meta_set(name, attr_value(value, n)?)?;
        s.names = c_names(s.inner.meta_names());
        Ok(())
    })
}

/// Sets an attribute of fixed length to n bytes: as holdall_array_attr_set_fixed().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_attr_set_fixed(
    schunk: *mut holdall_schunk,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        let name = text(name)?.ok_or_else(|| fail!(Argument, "name is not UTF-8"))?;
        s.inner
            .meta_set_fixed(name, slice(value.cast(), n, "value")?)?;
        s.names = c_names(s.inner.meta_names());
        Ok(())
    })
}

/// Makes all changes durable and visible, atomically: see base.h.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_commit(
    schunk: *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.commit()?;
        s.generation += 1;
        Ok(())
    })
}

/// Copies content and attributes, as this handle sees them, to a new superchunk of another codec,
/// chunk size, version or format (between formats: content only). The copy is complete or absent.
/// path, mode, format and options: as for holdall_schunk_create(); docs/choosing.md has the
/// defaults.
///
/// Returns:
/// - HOLDALL_DAMAGED: corrupt data became zeros, or are missing at the end or as attributes.
/// - HOLDALL_E_ARGUMENT: path is the file of this superchunk.
/// - HOLDALL_E_UNSUPPORTED: the requested version has no metadata, and there are some.
/// - others: as holdall_schunk_create(), _read() and _commit().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_copy(
    schunk: *const holdall_schunk,
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let (to, mode) = (target(path, options)?, self::mode(mode)?);
        let (format, options) = (superchunk_format(format)?, chosen(options));
        let to = match to {
            Target::Path(path) => Destination::at(path, mode, options)?,
            Target::Storage(folder) => Destination {
                folder,
                name: OsString::new(),
                mode,
                options,
            },
        };
        s.inner.copy(to, format).map(or_skipped)
    })
}

/// Returns the generation: see base.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_generation(schunk: *const holdall_schunk) -> u64 {
    field(schunk, 0, |handle| handle.generation)
}

/// Moves to the newest commit: see base.h.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_refresh(
    schunk: *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |handle| {
        let Some((source, options)) = reopened(handle.source.as_ref())? else {
            return Ok(());
        };
        let inner = open(target_of(&source)?, Mode::Read, options.clone())?;
        *handle = holdall_schunk {
            generation: handle.generation + 1,
            source: Some((source, options)),
            ..schunk_handle(inner)
        };
        Ok(())
    })
}
