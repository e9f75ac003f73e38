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
use crate::superchunk::any::{Form, Superchunk};
use crate::superchunk::bloscpack::Mode;
use std::ffi::{CString, OsStr, c_char, c_void};
use std::sync::atomic::AtomicBool;

/// An open superchunk: a run of bytes, its content, in compressed chunks, numbered from 0 on. May
/// be read from many threads at once. A handle that was opened for writing sees its own changes at
/// once; others see them when they open after the commit. What changes it is HOLDALL_E_STATE where
/// it was opened with HOLDALL_READ.
pub struct holdall_schunk {
    broken: AtomicBool,
    inner: Superchunk,
    /// Of the named values, those that C can spell.
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
                "mode {n}: HOLDALL_READ (0) to HOLDALL_REPLACE (3) exist"
            ));
        }
    })
}

fn form_of(format: holdall_format) -> Result<Form> {
    match format {
        HOLDALL_FORMAT_BLOSCPACK => Ok(Form::Bloscpack),
        HOLDALL_FORMAT_B2FRAME => Ok(Form::Frame),
        n => Err(fail!(
            Argument,
            "format {n}: HOLDALL_FORMAT_BLOSCPACK ({HOLDALL_FORMAT_BLOSCPACK}) and _B2FRAME ({HOLDALL_FORMAT_B2FRAME}) are those of superchunks"
        )),
    }
}

/// Opens a superchunk: its last commit, with HOLDALL_READ to be read, with HOLDALL_APPEND to be
/// read and changed (one at a time: HOLDALL_E_BUSY); the other modes are those of
/// holdall_schunk_create(). Reads every dialect of Bloscpack: headers of version 1 to 3, those
/// before there was a version (they cannot be changed: HOLDALL_E_UNSUPPORTED), and the layout of
/// the papers on BLZ and bcolz; and Blosc2 frames, files and folders, those that are arrays among
/// them: what changes their content as a superchunk leaves them without a shape that fits, and they
/// then open as no array.
/// Options: HOLDALL_OPT_THREADS, _MEMORY_LIMIT, _IO, _VERIFY, _SKIP_DAMAGED; with HOLDALL_APPEND
/// also _DURABILITY, _LOCK, _CODEC, _FILTERS (where they are not given, new chunks are made like
/// the last one), _LEVEL (which no file keeps), _BLOCK_BYTES, _CHUNK_BYTES (it counts where there
/// is no content yet, or one chunk of less than 16 KiB, which appends then fill up), _SPARE_CHUNKS,
/// _SPARE_BYTES. Frames: the first five and _AT; with HOLDALL_APPEND _DURABILITY, _LOCK, _CODEC,
/// _LEVEL, _FILTERS, _CHECKSUM. Progress is told by _VERIFY 2 and holdall_schunk_checksum().
/// HOLDALL_E_FORMAT: it is none, or chunks of it are missing or not where header and offsets say;
/// the position is that of the first such chunk. HOLDALL_OPT_SKIP_DAMAGED opens what is there,
/// holdall_repair() makes it whole. HOLDALL_E_CHECKSUM: header, index or trailer of a frame do not
/// fit what its writer has put down of them. HOLDALL_E_MISSING: there is nothing, or a
/// folder in which a frame was begun and never committed.
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

/// As holdall_schunk_open(), in storage of the caller's, under the name ""; a frame in a folder as
/// "chunks.b2frame" and its chunks. It may be closed at once.
/// HOLDALL_E_UNSUPPORTED: it is to be changed, and the storage is read-only. There is no lock: the
/// caller sees to it that there is one writer.
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

/// Creates a superchunk of items of `typesize` bytes each (1 or more; it is what filters work with,
/// content need not be whole items), opened for changes. With HOLDALL_NEW nothing may be there
/// (HOLDALL_E_EXISTS), with HOLDALL_REPLACE what is there is replaced by the first commit (but not
/// a file by a frame that is a folder, nor the other way: HOLDALL_E_EXISTS). Format:
/// HOLDALL_FORMAT_BLOSCPACK; c-blosc 1.x reads its chunks, Bloscpack 0.16 its files. Or
/// HOLDALL_FORMAT_B2FRAME, which c-blosc2 and python-blosc2 read and change: appends and changed
/// chunks go behind what is there, which costs the room of the old ones until a copy or
/// holdall_repair(). HOLDALL_E_BUSY: another writer has it open. Options: those of
/// holdall_schunk_open() with HOLDALL_APPEND, and HOLDALL_OPT_CHECKSUM, _OFFSETS, _FORMAT_VERSION.
/// Frames: those of opening one, and _CHUNK_BYTES, _BLOCK_BYTES, _SPARSE.
/// HOLDALL_E_UNSUPPORTED: they do not go together.
///
/// Metadata that is set before content is appended, and HOLDALL_OPT_SPARE_CHUNKS where more than
/// 1,022 chunks will come, save the first commit a copy.
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

/// As holdall_schunk_create(), in storage of the caller's, under the name "", as
/// holdall_schunk_open_io() has it.
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

/// Closes a superchunk; NULL is fine. What was not committed is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_close(schunk: *mut holdall_schunk) {
    take_back(schunk);
}

/// How many chunks. A commit of a Bloscpack file without any content makes one, which is empty: the
/// format knows none without.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_chunks(schunk: *const holdall_schunk) -> u64 {
    value(schunk, 0, Superchunk::chunks)
}

/// Bytes of content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_nbytes(schunk: *const holdall_schunk) -> u64 {
    value(schunk, 0, Superchunk::nbytes)
}

/// Bytes on disk at the last commit; before the first one, of the chunks so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_cbytes(schunk: *const holdall_schunk) -> u64 {
    guard_value(0, || {
        borrow(schunk).map_or(0, |s| s.inner.cbytes().unwrap_or(0))
    })
}

/// Bytes of an item, as the header says (version 1: as the first chunk says); 1 for those of more
/// than 255.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_typesize(schunk: *const holdall_schunk) -> usize {
    value(schunk, 0, Superchunk::typesize)
}

/// Bytes of content of each chunk but the last, unless others were put in between; 0: a frame whose
/// chunks may have any length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_chunk_size(schunk: *const holdall_schunk) -> usize {
    value(schunk, 0, Superchunk::chunk_size)
}

/// The checksum of its chunks, one of HOLDALL_SUM_*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_sum(schunk: *const holdall_schunk) -> i32 {
    value(schunk, 0, |s| s.sum() as i32)
}

/// How its header is laid out. Frames: 1, 2, 3, as c-blosc2 counts. Bloscpack: 0 (before there were
/// versions), 1, 2, 3, or 103, the layout of the papers, which only metadata tell from 3. -1: NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_version(schunk: *const holdall_schunk) -> i32 {
    value(schunk, -1, Superchunk::version)
}

/// One chunk: its bytes of content, its bytes as stored (0 as long as it, or what was written into
/// it, waits to be encoded, at the latest until the commit), and its codec, one of HOLDALL_CODEC_*
/// (LZ4HC is LZ4 here; _NONE where the content is stored as it is; of one that waits in Bloscpack,
/// what it is going to be encoded with). In frames chunks of one value take no room: 0 bytes,
/// _NONE. Each place may be NULL. The codec is _BY_NAME where it is none that is known. The content
/// is not looked at. HOLDALL_E_RANGE: there is no such chunk.
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

/// The codec in the flags of a chunk of Blosc 1.
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

pub(super) fn or_skipped(bad: bool) -> holdall_status {
    if bad { HOLDALL_NOT_FOUND } else { HOLDALL_OK }
}

/// Reads n bytes of content from byte `at` on. Only the chunks that hold them are read, and of
/// those only the blocks that hold them are decoded, several in parallel where it pays.
/// With HOLDALL_OPT_SKIP_DAMAGED what is damaged reads as zeros and the call returns
/// HOLDALL_NOT_FOUND (> 0); else it fails, with the first damaged chunk as the position, and dst
/// holds anything. HOLDALL_E_CHECKSUM, _FORMAT, _CODEC, _VERSION, _UNSUPPORTED: that chunk is
/// damaged or of a kind that is not known. HOLDALL_E_RANGE: beyond the end. HOLDALL_E_STATE: the
/// file was changed since it was opened for reading; open it again.
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

/// Reads the content of a chunk; its size is in *n. dst NULL asks for it. Fails, and tells damage,
/// as holdall_schunk_read() does. HOLDALL_E_RANGE: there is no such chunk.
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
        let n = place(n, "n")?;
        let size = s.inner.chunk_nbytes(chunk)?;
        let bad = match buffer(dst.cast(), dst_size)? {
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
        Ok(or_skipped(bad))
    })
}

/// Reads a chunk as it is stored (or is going to be), without its digest, which is checked; its
/// size is in *n. dst NULL asks for it. A damaged chunk is an error, also with
/// HOLDALL_OPT_SKIP_DAMAGED. HOLDALL_E_RANGE: there is no such chunk.
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

/// The checksum (HOLDALL_SUM_*, 0 to 8) of all content, as holdall_checksum() of it in one piece;
/// of an array's file, of its items as they are stored: in Fortran order, where
/// holdall_array_order() says so. Tells progress, in bytes. dst NULL asks for the size, which costs
/// nothing. Fails, and tells damage, as holdall_schunk_read() does.
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
        let digest_size = place(digest_size, "digest_size")?;
        let mut h = Hasher::new(sum);
        let bad = s.inner.each_piece(&mut |piece| {
            h.update(piece);
            Ok(())
        })?;
        copy_out(&h.finish(), dst.cast(), dst_size, digest_size)?;
        Ok(or_skipped(bad))
    })
}

/// Appends n bytes of content. They wait in memory until a chunk is full (several, where they are
/// encoded in parallel), then in a temporary file beside the superchunk, and count from the next
/// commit on; what was the last chunk is filled up first. On failure holdall_schunk_nbytes() tells
/// how much went in.
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

/// Appends one chunk that is encoded already, n bytes of it, as it is, without a digest; it is
/// decoded once, to be sure of it. HOLDALL_E_FORMAT: it is no whole chunk. HOLDALL_E_UNSUPPORTED: a
/// chunk of Blosc2, which readers of Bloscpack do not know.
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

/// Writes n bytes over the content from byte `at` on, all of which must be there (HOLDALL_E_RANGE).
/// On failure some of them may be written, of which nothing counts before a commit. A changed chunk
/// goes where it was, if it is not longer than before (HOLDALL_OPT_SPARE_BYTES makes room for
/// that); else the commit writes the file anew. In a frame it goes behind the others.
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

/// Puts n bytes of content, as one chunk of its own, before a chunk, or behind the last where
/// `chunk` is their number; what waits to be encoded becomes chunks first. The commit writes a
/// Bloscpack file anew. A chunk of another length makes a frame one whose chunks have any length,
/// which c-blosc2 reads from its version 3 on. HOLDALL_E_RANGE: `chunk` is beyond their number.
/// HOLDALL_E_ARGUMENT: 0 bytes, which no chunk of a frame has, or 2 GiB.
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

/// Takes a chunk away, with its content. The commit writes a Bloscpack file anew, unless it was the
/// last. HOLDALL_E_RANGE: there is no such chunk.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_remove(
    schunk: *mut holdall_schunk,
    chunk: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.remove(chunk))
}

/// Keeps the first nbytes bytes of content. HOLDALL_E_RANGE: there are fewer.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_truncate(
    schunk: *mut holdall_schunk,
    nbytes: u64,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.truncate(nbytes))
}

/// How many named values it has, damaged ones too. Bloscpack: its metadata, JSON, is the one named
/// "", where there are any. Frames: their metalayers, those of the header, then those whose length
/// may change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_metas(schunk: *const holdall_schunk) -> u32 {
    guard_value(0, || borrow(schunk).map_or(0, |s| s.names.len() as u32))
}

/// The name of one of them; NULL beyond the last.
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

/// A named value: *n bytes, without a NUL behind them, borrowed until the handle is closed or
/// changed. HOLDALL_NOT_FOUND: there is none of this name, *value is NULL and *n 0.
/// HOLDALL_E_CHECKSUM, _FORMAT: it is damaged; with HOLDALL_OPT_SKIP_DAMAGED there is none then.
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

/// Sets a named value of n bytes, which are copied, from the next commit on; value NULL removes it.
/// Bloscpack: "" alone (HOLDALL_E_UNSUPPORTED), and JSON (HOLDALL_E_ARGUMENT); version 1 and 2 have
/// none (HOLDALL_E_UNSUPPORTED). The commit writes the file anew where it does not fit into the
/// room that the one before had. Frames: any name of 1 to 31 bytes, any bytes, by
/// custom MessagePack. A new one is one of those whose length may change; those of the header
/// cannot be removed (HOLDALL_E_UNSUPPORTED), and with another length the commit writes the file
/// anew. HOLDALL_E_ARGUMENT: `holdall.crc32`, which is kept by the library.
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
        let name = text(name)?.ok_or_else(|| fail!(Argument, "name is no UTF-8"))?;
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

/// Makes all changes so far durable and visible, together; where there are none, it does nothing.
/// On failure the file is as the last commit left it, and the commit may be tried again (after room
/// was made on a full disk, say), until that gives HOLDALL_E_STATE: after a sync that failed,
/// nobody knows what the disk holds; whoever opens the file next finds it whole. HOLDALL_E_EXISTS:
/// it was to be new, and somebody else has made one meanwhile.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_commit(
    schunk: *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    guard_change(borrow_mut(schunk), err, |s| s.inner.commit())
}

/// Writes content and named values, as this handle sees them, into a new superchunk with another
/// codec, chunk size, checksum or layout: this is also how files are converted, those of version 0
/// too. It takes little memory, and the copy is there, whole, when the call is done, or not at all.
/// mode, format: as for holdall_schunk_create(). Options: those of holdall_schunk_create(). What is
/// not given is as here: _CHUNK_BYTES, _CODEC and _FILTERS as the last chunk has them, _CHECKSUM
/// (CRC-32 where there is none; none in version 1, which has no place for it); the level is 5, the
/// layout that of version 3.
///
/// From a frame to a frame all named values go along, and codec, level and filters are as here;
/// from one format to the other content alone. Progress is told in bytes.
/// HOLDALL_E_ARGUMENT: path is this superchunk's own file. HOLDALL_E_EXISTS, HOLDALL_E_BUSY: as
/// holdall_schunk_create(). HOLDALL_E_UNSUPPORTED: there are metadata, and the layout that
/// HOLDALL_OPT_FORMAT_VERSION asks for has none. HOLDALL_NOT_FOUND (> 0): HOLDALL_OPT_SKIP_DAMAGED
/// was set for this handle, and what is damaged is zeros in the copy, or missing at its end or as
/// metadata. Else as holdall_schunk_read() and holdall_schunk_commit().
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
