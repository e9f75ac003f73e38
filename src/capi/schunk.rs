//! The C functions for superchunks.

use super::array::{c_names, give_bytes, text};
use super::common::*;
use super::guard::*;
use super::io::{holdall_io, storage};
use super::options::{chosen, holdall_options};
use crate::blosc::Codec;
use crate::checksum::Hasher;
use crate::error::{Result, fail};
use crate::options::Options;
use crate::repair::reading;
use crate::superchunk::any::{Superchunk, SuperchunkFormat};
use crate::superchunk::bloscpack::Mode;
use std::ffi::{CString, OsStr, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// An open superchunk: a sequence of bytes, the content, in compressed chunks numbered from 0. Many
/// threads may read one handle at once. A handle sees its own changes at once; other handles see
/// them if opened after the commit. Changes through a handle opened with HOLDALL_READ return
/// HOLDALL_E_STATE.
pub struct holdall_schunk {
    broken: AtomicBool,
    inner: Superchunk,
    /// The names of the named values that can be C strings.
    names: Vec<CString>,
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
    }
}

fn value<T: Copy>(s: *const holdall_schunk, otherwise: T, f: impl FnOnce(&Superchunk) -> T) -> T {
    field(s, otherwise, |s| f(&s.inner))
}

pub(super) fn mode_of(mode: holdall_mode) -> Result<Mode> {
    Ok(match mode {
        HOLDALL_READ => Mode::Read,
        HOLDALL_APPEND => Mode::Append,
        HOLDALL_NEW => Mode::New,
        HOLDALL_REPLACE => Mode::Replace,
        n => {
            return Err(fail!(
                Argument,
                "mode: invalid value (expected HOLDALL_READ (0) to HOLDALL_REPLACE (3), found {n})"
            ));
        }
    })
}

fn form_of(format: holdall_format) -> Result<SuperchunkFormat> {
    match format {
        HOLDALL_FORMAT_BLOSCPACK => Ok(SuperchunkFormat::Bloscpack),
        HOLDALL_FORMAT_B2FRAME => Ok(SuperchunkFormat::Frame),
        n => Err(fail!(
            Argument,
            "format: not a format of superchunks (expected HOLDALL_FORMAT_BLOSCPACK ({HOLDALL_FORMAT_BLOSCPACK}) or _B2FRAME ({HOLDALL_FORMAT_B2FRAME}), found {n})"
        )),
    }
}

/// Opens a superchunk at its last commit: HOLDALL_READ to read, HOLDALL_APPEND to read and change.
/// Reads Blosc2 frames (files and folders) and all versions of Bloscpack: unversioned (cannot be
/// changed: HOLDALL_E_UNSUPPORTED), 1 to 3, and the BLZ RFC layout. A frame that is an array no
/// longer opens as one after a change to its content here.
///
/// Returns:
/// - HOLDALL_E_MISSING: nothing is at path, or only an uncommitted frame in a folder.
/// - HOLDALL_E_FORMAT: not a superchunk, or chunks (err->position: the first) are missing or
///   misplaced; see HOLDALL_OPT_SKIP_DAMAGED and holdall_repair().
/// - HOLDALL_E_CHECKSUM: header, index or trailer of a frame is corrupt.
///
/// Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY (2 reports progress), _SKIP_DAMAGED;
/// frames: _AT. With HOLDALL_APPEND also _DURABILITY, _LOCK, _CODEC, _LEVEL, _FILTERS; frames:
/// _CHECKSUM; Bloscpack: _BLOCK_BYTES, _SPARE_CHUNKS, _SPARE_BYTES, _CHUNK_BYTES (effective with no
/// content, or one chunk below 16 KiB). Bloscpack defaults: _CODEC and _FILTERS of the last chunk;
/// files do not store _LEVEL.
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
            let (path, mode, options) = (string(path, "path")?, mode_of(mode)?, chosen(options));
            let open = |options: &Options| Superchunk::open(path, mode, options).map(schunk_handle);
            if mode == Mode::Read {
                reading(path, options, open)
            } else {
                open(&options)
            }
        })
    })
}

/// Like holdall_schunk_open(), from a storage: the file "", or "chunks.b2frame" and its chunks for
/// a frame in a folder.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_open_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            Superchunk::open_in(
                storage(io)?,
                OsStr::new(""),
                mode_of(mode)?,
                &chosen(options),
            )
            .map(schunk_handle)
        })
    })
}

/// Creates a superchunk and opens it for changes.
/// - mode: HOLDALL_NEW, or HOLDALL_REPLACE (the first commit replaces what exists, but no file by a
///   folder, nor the reverse).
/// - format: HOLDALL_FORMAT_BLOSCPACK (chunks readable by c-blosc 1.x, files by Bloscpack 0.16) or
///   HOLDALL_FORMAT_B2FRAME (c-blosc2, python-blosc2). Frames append changed chunks; a copy or
///   holdall_repair() reclaims the old space.
/// - typesize: bytes per item, at least 1, for filters. Content need not be whole items.
///
/// Returns:
/// - HOLDALL_E_EXISTS: see mode.
/// - HOLDALL_E_BUSY: another writer has it open.
/// - HOLDALL_E_UNSUPPORTED: the options cannot be combined.
///
/// Options: those of holdall_schunk_open() with HOLDALL_APPEND; Bloscpack: also
/// HOLDALL_OPT_CHECKSUM, _OFFSETS, _FORMAT_VERSION; frames: also _CHUNK_BYTES, _BLOCK_BYTES,
/// _SPARSE.
///
/// Metadata set before content, and HOLDALL_OPT_SPARE_CHUNKS for more than 1,022 chunks, save the
/// first commit a copy.
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
            Superchunk::create(
                string(path, "path")?,
                mode_of(mode)?,
                form_of(format)?,
                typesize,
                &chosen(options),
            )
            .map(schunk_handle)
        })
    })
}

/// Like holdall_schunk_create(), in a storage: see holdall_schunk_open_io().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_create_io(
    io: *mut holdall_io,
    mode: holdall_mode,
    format: holdall_format,
    typesize: usize,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (mode, form) = (mode_of(mode)?, form_of(format)?);
            Superchunk::create_in(
                storage(io)?,
                OsStr::new(""),
                mode,
                form,
                typesize,
                &chosen(options),
            )
            .map(schunk_handle)
        })
    })
}

/// Closes a superchunk. Uncommitted changes are discarded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_close(schunk: *mut holdall_schunk) {
    take_back(schunk);
}

/// Returns the number of chunks. Committed Bloscpack files without content have one, which is
/// empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_chunks(schunk: *const holdall_schunk) -> u64 {
    value(schunk, 0, Superchunk::chunks)
}

/// Returns the size of the content in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_nbytes(schunk: *const holdall_schunk) -> u64 {
    value(schunk, 0, Superchunk::nbytes)
}

/// Returns the size on disk in bytes at the last commit; before the first commit, the size of the
/// chunks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_cbytes(schunk: *const holdall_schunk) -> u64 {
    guard_value(0, || {
        borrow(schunk).map_or(0, |s| s.inner.cbytes().unwrap_or(0))
    })
}

/// Returns the bytes per item in the header (version 1: in the first chunk); 1 for more than 255
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_typesize(schunk: *const holdall_schunk) -> usize {
    value(schunk, 0, Superchunk::typesize)
}

/// Returns the bytes of content per chunk; the last chunk and inserted ones may differ. 0: a frame
/// with chunks of any length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_chunk_size(schunk: *const holdall_schunk) -> usize {
    value(schunk, 0, Superchunk::chunk_size)
}

/// Returns the checksum of the chunks, one of HOLDALL_SUM_*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_sum(schunk: *const holdall_schunk) -> i32 {
    value(schunk, 0, |s| s.checksum() as i32)
}

/// Returns the version of the header, or -1 for NULL. Frames: 1 to 3, as in c-blosc2. Bloscpack: 0
/// (unversioned), 1, 2, 3, or 103 (BLZ RFC layout, which only metadata distinguish from 3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_version(schunk: *const holdall_schunk) -> i32 {
    value(schunk, -1, Superchunk::version)
}

/// Describes a chunk without decoding it. Outputs may be NULL.
/// - nbytes: bytes of content.
/// - cbytes: bytes as stored; 0 until the chunk is encoded (at the latest by the commit), and for
///   frame chunks of one value.
/// - codec: one of HOLDALL_CODEC_*; for a Bloscpack chunk not yet encoded, the codec to be used.
///   HOLDALL_CODEC_LZ4 includes LZ4HC, _NONE is uncompressed or one value, _BY_NAME is unknown.
///
/// Returns:
/// - HOLDALL_E_RANGE: no such chunk.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_chunk_info(
    schunk: *const holdall_schunk,
    chunk: u64,
    nbytes: *mut usize,
    cbytes: *mut usize,
    codec: *mut i32,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let (n, c, flags) = s.inner.chunk_info(chunk)?;
        put(nbytes, n);
        put(cbytes, c);
        put(
            codec,
            if c == 0 {
                s.inner.codec().map_or(0, codec_number)
            } else {
                codec_of(flags)
            },
        );
        Ok(HOLDALL_OK)
    })
}

fn codec_number(codec: Codec) -> i32 {
    i32::from(codec.number()) + 1
}

/// Returns the codec recorded in the flags of a Blosc 1 chunk.
fn codec_of(flags: u8) -> i32 {
    const COPIED: u8 = 0x02;
    match flags >> 5 {
        _ if flags & COPIED != 0 => 0,
        0 => codec_number(Codec::BloscLz),
        1 => codec_number(Codec::Lz4),
        2 => codec_number(Codec::Snappy),
        3 => codec_number(Codec::Zlib),
        4 => codec_number(Codec::Zstd),
        _ => super::options::HOLDALL_CODEC_BY_NAME,
    }
}

pub(super) fn or_skipped(skipped: bool) -> holdall_status {
    if skipped {
        HOLDALL_NOT_FOUND
    } else {
        HOLDALL_OK
    }
}

/// Reads n bytes of content at offset at into dst. Decodes only the blocks needed, in parallel if
/// faster.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: corrupt content was read as zeros (HOLDALL_OPT_SKIP_DAMAGED).
/// - HOLDALL_E_CHECKSUM, _FORMAT, _CODEC, _VERSION, _UNSUPPORTED: a chunk (err->position: the
///   first) is corrupt or of an unknown kind; dst is unspecified.
/// - HOLDALL_E_RANGE: past the end.
/// - HOLDALL_E_STATE: the file was changed after it was opened for reading; open it again.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_read(
    schunk: *const holdall_schunk,
    at: u64,
    dst: *mut c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let dst = match buffer(dst.cast(), n)? {
            Some(d) => d,
            None if n == 0 => &mut [],
            None => return Err(fail!(Argument, "dst is NULL")),
        };
        s.inner.read(at, dst).map(or_skipped)
    })
}

/// Reads the content of a chunk into dst; *n is its size in bytes. Returns as
/// holdall_schunk_read(). HOLDALL_E_RANGE: no such chunk.
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
        let skipped = match buffer(dst.cast(), dst_size)? {
            Some(dst) => {
                let have = dst.len();
                let Some(dst) = dst.get_mut(..size) else {
                    *n = size;
                    return Err(fail!(
                        Buffer,
                        "chunk {chunk} has {size} bytes, the buffer has {have}"
                    )
                    .at(chunk));
                };
                s.inner.read_chunk(chunk, dst)?
            }
            None => false,
        };
        *n = size;
        Ok(or_skipped(skipped))
    })
}

/// Reads a chunk as stored, *n bytes; verifies and omits its checksum. A corrupt chunk is an error,
/// also with HOLDALL_OPT_SKIP_DAMAGED. HOLDALL_E_RANGE: no such chunk.
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

/// Computes a checksum (HOLDALL_SUM_*, 0 to 8) of all content, equal to holdall_checksum() of one
/// buffer. Array items are in stored order: Fortran order if holdall_array_order() reports it.
/// Reports progress in bytes. dst NULL reads nothing. Returns as holdall_schunk_read().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_checksum(
    schunk: *const holdall_schunk,
    sum: i32,
    dst: *mut c_void,
    dst_size: usize,
    digest_size: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let sum = sum_number(sum)?;
        if !digest_fits(sum, dst, dst_size) {
            return copy_out(&vec![0; sum.size()], dst.cast(), dst_size, digest_size);
        }
        let digest_size = required(digest_size, "digest_size")?;
        let mut h = Hasher::new(sum);
        let skipped = s.inner.each_piece(&mut |piece| {
            h.update(piece);
            Ok(())
        })?;
        copy_out(&h.finish(), dst.cast(), dst_size, digest_size)?;
        Ok(or_skipped(skipped))
    })
}

/// Appends n bytes of content; fills up the last chunk first. Bytes wait in memory until a chunk is
/// full (several, if encoded in parallel), then in a temporary file until the commit. After a
/// failure holdall_schunk_nbytes() includes what was appended.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_append(
    schunk: *mut holdall_schunk,
    src: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.append(slice(src.cast(), n, "src")?)
    })
}

/// Appends one encoded chunk of n bytes without checksum, unchanged. Decodes it once to verify it.
///
/// Returns:
/// - HOLDALL_E_FORMAT: not one complete chunk.
/// - HOLDALL_E_UNSUPPORTED: a Blosc2 chunk for Bloscpack, or a Blosc1 chunk for a frame.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_append_raw(
    schunk: *mut holdall_schunk,
    chunk: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.append_raw(slice(chunk.cast(), n, "chunk")?)
    })
}

/// Overwrites n bytes of content at offset at. After a failure some may be written; none is visible
/// before a commit. A Bloscpack chunk that grows makes the commit rewrite the file (see
/// HOLDALL_OPT_SPARE_BYTES); others change in place. Frames store changed chunks after the others.
///
/// Returns:
/// - HOLDALL_E_RANGE: past the end.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_write(
    schunk: *mut holdall_schunk,
    at: u64,
    src: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.write(at, slice(src.cast(), n, "src")?)
    })
}

/// Inserts n bytes of content as one chunk before chunk, or at the end if chunk is the number of
/// chunks. Encodes pending content first. The commit rewrites a Bloscpack file. Another length
/// gives a frame variable chunk lengths (readable from c-blosc2 3 on).
///
/// Returns:
/// - HOLDALL_E_RANGE: chunk exceeds the number of chunks.
/// - HOLDALL_E_ARGUMENT: n is 0 (frames), or 2 GiB or more.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_insert(
    schunk: *mut holdall_schunk,
    chunk: u64,
    src: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        s.inner.insert(chunk, slice(src.cast(), n, "src")?)
    })
}

/// Removes a chunk with its content and shifts the following chunks down by one. The commit
/// rewrites a Bloscpack file unless it was the last chunk. HOLDALL_E_RANGE: no such chunk.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_remove(
    schunk: *mut holdall_schunk,
    chunk: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.remove(chunk))
}

/// Truncates the content to nbytes bytes. HOLDALL_E_RANGE: it is shorter.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_truncate(
    schunk: *mut holdall_schunk,
    nbytes: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.truncate(nbytes))
}

/// Returns the number of named values, including corrupt ones. Bloscpack: the JSON metadata, named
/// "", if any. Frames: the metalayers of the header, then those of variable length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_metas(schunk: *const holdall_schunk) -> u32 {
    guard_value(0, || borrow(schunk).map_or(0, |s| s.names.len() as u32))
}

/// Returns the name of value i, or NULL if i is out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_meta_name(
    schunk: *const holdall_schunk,
    i: u32,
) -> *const c_char {
    guard_value(std::ptr::null(), || {
        borrow(schunk)
            .and_then(|s| s.names.get(i as usize))
            .map_or(std::ptr::null(), |n| n.as_ptr())
    })
}

/// Gets a named value: *n bytes, not NUL-terminated, borrowed until the handle is closed or
/// changed.
///
/// Returns:
/// - HOLDALL_NOT_FOUND: no such value, or corrupt with HOLDALL_OPT_SKIP_DAMAGED; *value is NULL, *n
///   is 0.
/// - HOLDALL_E_CHECKSUM, _FORMAT: it is corrupt.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_meta_get(
    schunk: *const holdall_schunk,
    name: *const c_char,
    value: *mut *const c_void,
    n: *mut usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(schunk), err, |s| {
        let found = text(name)?.map_or(Ok(None), |name| s.inner.meta(name))?;
        give_bytes(found, value, n)
    })
}

/// Sets a named value to n bytes, which are copied, from the next commit on. value NULL removes it.
/// - Bloscpack: name "" and JSON only; none in versions 1 and 2. The commit rewrites the file if
///   the old space is too small.
/// - Frames: names of 1 to 31 bytes, any bytes, by convention MessagePack. New values have variable
///   length. Those of the header cannot be removed, and a new length makes the commit rewrite the
///   file.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: the format does not allow it, as above.
/// - HOLDALL_E_ARGUMENT: not JSON (Bloscpack); or holdall.crc32, which the library maintains.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_meta_set(
    schunk: *mut holdall_schunk,
    name: *const c_char,
    value: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| {
        let name = text(name)?.ok_or_else(|| fail!(Argument, "name is not UTF-8"))?;
        let value = if value.is_null() {
            None
        } else {
            Some(slice(value.cast(), n, "value")?)
        };
        s.inner.meta_set(name, value)?;
        s.names = c_names(s.inner.meta_names());
        Ok(())
    })
}

/// Makes all changes durable and visible, atomically. After a failure the file is as at its last
/// commit, and the call may be repeated: see docs/commits.md.
///
/// Returns:
/// - HOLDALL_E_STATE: a sync failed. Close the handle; the file is consistent when opened again,
///   with or without the commit.
/// - HOLDALL_E_EXISTS: HOLDALL_NEW, and another program has created the file.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_commit(
    schunk: *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.commit())
}

/// Copies content and named values, as this handle sees them, to a new superchunk of another codec,
/// chunk size, version or format (content only). The copy is complete or absent. Reports progress
/// in bytes. mode, format and options are those of holdall_schunk_create().
///
/// Returns:
/// - HOLDALL_NOT_FOUND: corrupt data is zeros, or missing at the end or as metadata
///   (HOLDALL_OPT_SKIP_DAMAGED of this handle).
/// - HOLDALL_E_ARGUMENT: path is the file of this superchunk.
/// - HOLDALL_E_UNSUPPORTED: the requested version has no metadata, and there are some.
/// - Else as holdall_schunk_create(), _read() and _commit().
///
/// Bloscpack defaults: HOLDALL_OPT_CHUNK_BYTES, and _CODEC and _FILTERS of the last chunk, as here;
/// _CHECKSUM as here (CRC-32 if none; none in version 1); _LEVEL 5; version 3. Frame to frame:
/// codec, level and filters as here.
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
        s.inner
            .copy(
                string(path, "path")?,
                mode_of(mode)?,
                form_of(format)?,
                &chosen(options),
            )
            .map(or_skipped)
    })
}
