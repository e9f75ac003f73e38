//! Superchunks, of both kinds of file, and checksums.

use crate::storage::Storage;
use crate::{done, info, made, not_made, options, refused};
use holdall::capi::{checksum::*, container::*, guard::*, options::*, schunk::*};
use std::ptr::{null, null_mut};

/// The checksums of a frame are compressed by C code.
const CHECKSUM: i32 = if cfg!(miri) {
    HOLDALL_CHECKSUM_NONE
} else {
    HOLDALL_CHECKSUM_CRC32
};

/// A superchunk of four chunks of 40 bytes, and one of 10.
pub fn stored(format: i32) -> (Storage, Vec<u8>) {
    let (s, o) = (
        Storage::new(),
        options(&[
            (HOLDALL_OPT_LEVEL, 0),
            (HOLDALL_OPT_CHUNK_BYTES, 40),
            (HOLDALL_OPT_CHECKSUM, CHECKSUM.into()),
        ]),
    );
    let content: Vec<u8> = (0..170).collect();
    // SAFETY: handles that are open until they are closed, and buffers of the stated sizes.
    unsafe {
        let c = made(|out, err| {
            s.with(o, |o| {
                holdall_schunk_create(null(), HOLDALL_CREATE, format, 2, o, out, err)
            })
        });
        done(|err| holdall_schunk_append(c, content.as_ptr().cast(), 100, err));
        done(|err| holdall_schunk_commit(c, err));
        done(|err| holdall_schunk_append(c, content[100..].as_ptr().cast(), 70, err));
        if has_meta(format) {
            let name = if format == HOLDALL_FORMAT_B2FRAME {
                c"layer".as_ptr()
            } else {
                c"".as_ptr()
            };
            done(|err| holdall_schunk_attr_set(c, name, b"{\"a\": 1}".as_ptr().cast(), 8, err));
        }
        done(|err| holdall_schunk_commit(c, err));
        holdall_schunk_close(c);
        holdall_options_free(o);
    }
    (s, content)
}

/// The metadata of Bloscpack are compressed by C code.
fn has_meta(format: i32) -> bool {
    format == HOLDALL_FORMAT_B2FRAME || !cfg!(miri)
}

pub fn opened(s: &Storage, mode: i32) -> *mut holdall_schunk {
    let o = options(if mode == HOLDALL_APPEND {
        &[(HOLDALL_OPT_LEVEL, 0)]
    } else {
        &[]
    });
    // SAFETY: storage and options exist; the handle copies the options.
    unsafe {
        let c = made(|out, err| s.with(o, |o| holdall_schunk_open(null(), mode, o, out, err)));
        holdall_options_free(o);
        c
    }
}

pub unsafe fn content(c: *const holdall_schunk) -> Vec<u8> {
    // SAFETY: a superchunk that is open, and a buffer for all of it.
    unsafe {
        let mut all = Vec::<u8>::with_capacity(holdall_schunk_nbytes(c) as usize);
        done(|err| holdall_schunk_read(c, 0, all.as_mut_ptr().cast(), all.capacity(), err));
        all.set_len(all.capacity());
        all
    }
}

#[test]
fn superchunks_are_written_and_read() {
    for format in [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME] {
        let (s, expected) = stored(format);
        let c = opened(&s, HOLDALL_READ);
        // SAFETY: a superchunk that is open until it is closed, and buffers of the stated sizes.
        unsafe {
            assert_eq!(
                (holdall_schunk_chunk_count(c), holdall_schunk_nbytes(c)),
                (5, 170)
            );
            assert_eq!(content(c), expected);
            let chunk: holdall_chunk_info =
                info(|i, err| holdall_schunk_get_chunk_info(c, 4, i, err));
            assert!(chunk.nbytes == 10 && chunk.stored_bytes > 10);
            assert_eq!((chunk.codec, chunk.is_pending), (HOLDALL_CODEC_NONE, 0));
            let (mut buffer, mut n) = ([0xeeu8; 200], 0);
            done(|err| {
                holdall_schunk_read_chunk(c, 4, buffer.as_mut_ptr().cast(), 10, &mut n, err)
            });
            assert!(n == 10 && buffer[..10] == expected[160..]);
            refused(HOLDALL_E_BUFFER, |err| {
                holdall_schunk_read_chunk(c, 0, buffer.as_mut_ptr().cast(), 39, &mut n, err)
            });
            refused(HOLDALL_E_RANGE, |err| {
                holdall_schunk_read(c, 169, buffer.as_mut_ptr().cast(), 2, err)
            });
            done(|err| holdall_schunk_read_raw(c, 4, buffer.as_mut_ptr().cast(), 200, &mut n, err));
            assert_eq!(n, chunk.stored_bytes);
            done(|err| {
                holdall_schunk_checksum(
                    c,
                    HOLDALL_CHECKSUM_CRC32,
                    buffer.as_mut_ptr().cast(),
                    4,
                    &mut n,
                    err,
                )
            });
            if has_meta(format) {
                assert_eq!(holdall_schunk_attr_count(c), 1);
                let (name, mut value) = (holdall_schunk_attr_name(c, 0), null());
                done(|err| holdall_schunk_attr_get(c, name, &mut value, &mut n, err));
                assert_eq!(
                    std::slice::from_raw_parts(value.cast::<u8>(), n),
                    b"{\"a\": 1}"
                );
            }
            refused(HOLDALL_E_STATE, |err| {
                holdall_schunk_append(c, buffer.as_ptr().cast(), 2, err)
            });
            holdall_schunk_close(c);
        }
        // SAFETY: the storage exists.
        not_made(HOLDALL_E_EXISTS, |out, err| unsafe {
            s.with(null_mut(), |o| {
                holdall_schunk_create(null(), HOLDALL_CREATE, format, 2, o, out, err)
            })
        });
    }
}

#[test]
fn superchunks_are_edited() {
    for format in [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME] {
        let (s, mut expected) = stored(format);
        let (c, new) = (opened(&s, HOLDALL_APPEND), [7u8; 50]);
        // SAFETY: a superchunk that is open until it is closed, and buffers of the stated sizes.
        unsafe {
            done(|err| holdall_schunk_write(c, 30, new.as_ptr().cast(), 50, err));
            expected[30..80].fill(7);
            done(|err| holdall_schunk_insert(c, 1, new.as_ptr().cast(), 40, err));
            expected.splice(40..40, [7; 40]);
            done(|err| holdall_schunk_remove(c, 0, err));
            expected.drain(..40);
            done(|err| holdall_schunk_truncate(c, 120, err));
            expected.truncate(120);
            let (mut raw, mut n) = ([0u8; 200], 0);
            done(|err| holdall_schunk_read_raw(c, 0, raw.as_mut_ptr().cast(), 200, &mut n, err));
            done(|err| holdall_schunk_append_raw(c, raw.as_ptr().cast(), n, err));
            expected.extend([7; 40]);
            assert_eq!(content(c), expected);
            refused(HOLDALL_E_RANGE, |err| {
                holdall_schunk_write(c, 159, new.as_ptr().cast(), 2, err)
            });
            done(|err| holdall_schunk_commit(c, err));
            holdall_schunk_close(c);
            let c = opened(&s, HOLDALL_READ);
            assert_eq!(content(c), expected);
            holdall_schunk_close(c);
        }
    }
}

#[test]
fn checksums_are_computed_in_parts() {
    // Adler-32 is C code, which Miri does not run
    let kinds = HOLDALL_CHECKSUM_NONE..=HOLDALL_CHECKSUM_SHA512;
    for kind in kinds.filter(|kind| !(cfg!(miri) && *kind == HOLDALL_CHECKSUM_ADLER32)) {
        let (mut one, mut two, mut n, mut m) = ([0u8; 64], [0u8; 64], 0, 0);
        // SAFETY: buffers of the stated sizes; a checksum is freed once.
        unsafe {
            done(|err| {
                holdall_checksum_compute(
                    kind,
                    b"content".as_ptr().cast(),
                    7,
                    one.as_mut_ptr().cast(),
                    64,
                    &mut n,
                    err,
                )
            });
            let d = made(|out, err| holdall_checksum_new(kind, out, err));
            done(|err| holdall_checksum_update(d, b"con".as_ptr().cast(), 3, err));
            done(|err| holdall_checksum_update(d, b"tent".as_ptr().cast(), 4, err));
            done(|err| holdall_checksum_finish(d, two.as_mut_ptr().cast(), 64, &mut m, err));
            assert_eq!((one, n), (two, m), "{kind}");
            holdall_checksum_free(d);
        }
    }
    for kind in [0, 99, HOLDALL_CHECKSUM_ZSTD, HOLDALL_CODEC_ZSTD] {
        // SAFETY: out points to a handle.
        not_made(HOLDALL_E_ARGUMENT, |out, err| unsafe {
            holdall_checksum_new(kind, out, err)
        });
    }
}
