//! Superchunks, of both kinds of file, and checksums.

use crate::storage::Storage;
use crate::{done, made, not_made, options, refused};
use holdall::capi::{common::*, guard::*, options::*, schunk::*};
use std::ptr::null;

/// Those of a frame are compressed by C code.
const SUM: i64 = if cfg!(miri) { 0 } else { 2 };

/// A superchunk of four chunks of 40 bytes, and one of 10.
fn stored(format: i32) -> (Storage, Vec<u8>) {
    let (s, o) = (
        Storage::new(),
        options(&[
            (HOLDALL_OPT_LEVEL, 0),
            (HOLDALL_OPT_CHUNK_BYTES, 40),
            (HOLDALL_OPT_CHECKSUM, SUM),
        ]),
    );
    let content: Vec<u8> = (0..170).collect();
    // SAFETY: handles that are there until they are closed, and lengths as they are.
    unsafe {
        let c =
            made(|out, err| holdall_schunk_create_io(s.io, HOLDALL_NEW, format, 2, o, out, err));
        done(|err| holdall_schunk_append(c, content.as_ptr().cast(), 100, err));
        done(|err| holdall_schunk_commit(c, err));
        done(|err| holdall_schunk_append(c, content[100..].as_ptr().cast(), 70, err));
        if has_meta(format) {
            let name = if format == HOLDALL_FORMAT_B2FRAME {
                c"layer".as_ptr()
            } else {
                c"".as_ptr()
            };
            done(|err| holdall_schunk_meta_set(c, name, b"{\"a\": 1}".as_ptr().cast(), 8, err));
        }
        done(|err| holdall_schunk_commit(c, err));
        holdall_schunk_close(c);
        holdall_options_free(o);
    }
    (s, content)
}

/// Those of Bloscpack are compressed by C code.
fn has_meta(format: i32) -> bool {
    format == HOLDALL_FORMAT_B2FRAME || !cfg!(miri)
}

fn opened(s: &Storage, mode: i32) -> *mut holdall_schunk {
    let o = options(if mode == HOLDALL_APPEND {
        &[(HOLDALL_OPT_LEVEL, 0)]
    } else {
        &[]
    });
    // SAFETY: handles that are there; what was opened keeps what it needs of the options.
    unsafe {
        let c = made(|out, err| holdall_schunk_open_io(s.io, mode, o, out, err));
        holdall_options_free(o);
        c
    }
}

unsafe fn content(c: *const holdall_schunk) -> Vec<u8> {
    // SAFETY: a superchunk that is open, and room for all of it.
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
        let (s, want) = stored(format);
        let c = opened(&s, HOLDALL_READ);
        // SAFETY: a superchunk that is open until it is closed, and rooms as long as is said.
        unsafe {
            assert_eq!(
                (
                    holdall_schunk_chunks(c),
                    holdall_schunk_nbytes(c),
                    holdall_schunk_typesize(c)
                ),
                (5, 170, 2)
            );
            assert_eq!(
                (holdall_schunk_chunk_size(c), content(c)),
                (40, want.clone())
            );
            let _ = (
                holdall_schunk_cbytes(c),
                holdall_schunk_sum(c),
                holdall_schunk_version(c),
            );
            let (mut nbytes, mut cbytes, mut codec, mut n) = (0, 0, 0, 0);
            done(|err| holdall_schunk_chunk_info(c, 4, &mut nbytes, &mut cbytes, &mut codec, err));
            assert!(nbytes == 10 && cbytes > 10);
            let mut room = [0xeeu8; 200];
            done(|err| holdall_schunk_read_chunk(c, 4, room.as_mut_ptr().cast(), 10, &mut n, err));
            assert!(n == 10 && room[..10] == want[160..]);
            refused(HOLDALL_E_BUFFER, |err| {
                holdall_schunk_read_chunk(c, 0, room.as_mut_ptr().cast(), 39, &mut n, err)
            });
            refused(HOLDALL_E_RANGE, |err| {
                holdall_schunk_read(c, 169, room.as_mut_ptr().cast(), 2, err)
            });
            done(|err| holdall_schunk_read_raw(c, 4, room.as_mut_ptr().cast(), 200, &mut n, err));
            assert_eq!(n, cbytes);
            done(|err| {
                holdall_schunk_checksum(
                    c,
                    HOLDALL_SUM_CRC32,
                    room.as_mut_ptr().cast(),
                    4,
                    &mut n,
                    err,
                )
            });
            if has_meta(format) {
                assert_eq!(holdall_schunk_metas(c), 1);
                let (name, mut value) = (holdall_schunk_meta_name(c, 0), null());
                done(|err| holdall_schunk_meta_get(c, name, &mut value, &mut n, err));
                assert_eq!(
                    std::slice::from_raw_parts(value.cast::<u8>(), n),
                    b"{\"a\": 1}"
                );
            }
            refused(HOLDALL_E_STATE, |err| {
                holdall_schunk_append(c, room.as_ptr().cast(), 2, err)
            });
            holdall_schunk_close(c);
        }
        // SAFETY: a storage that is there.
        not_made(HOLDALL_E_EXISTS, |out, err| unsafe {
            holdall_schunk_create_io(s.io, HOLDALL_NEW, format, 2, null(), out, err)
        });
    }
}

#[test]
fn superchunks_are_edited() {
    for format in [HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME] {
        let (s, mut want) = stored(format);
        let (c, new) = (opened(&s, HOLDALL_APPEND), [7u8; 50]);
        // SAFETY: a superchunk that is open until it is closed, and lengths as they are.
        unsafe {
            done(|err| holdall_schunk_write(c, 30, new.as_ptr().cast(), 50, err));
            want[30..80].fill(7);
            done(|err| holdall_schunk_insert(c, 1, new.as_ptr().cast(), 40, err));
            want.splice(40..40, [7; 40]);
            done(|err| holdall_schunk_remove(c, 0, err));
            want.drain(..40);
            done(|err| holdall_schunk_truncate(c, 120, err));
            want.truncate(120);
            let (mut raw, mut n) = ([0u8; 200], 0);
            done(|err| holdall_schunk_read_raw(c, 0, raw.as_mut_ptr().cast(), 200, &mut n, err));
            done(|err| holdall_schunk_append_raw(c, raw.as_ptr().cast(), n, err));
            want.extend([7; 40]);
            assert_eq!(content(c), want);
            refused(HOLDALL_E_RANGE, |err| {
                holdall_schunk_write(c, 159, new.as_ptr().cast(), 2, err)
            });
            done(|err| holdall_schunk_commit(c, err));
            holdall_schunk_close(c);
            let c = opened(&s, HOLDALL_READ);
            assert_eq!(content(c), want);
            holdall_schunk_close(c);
        }
    }
}

#[test]
fn digests_come_in_pieces() {
    // Adler-32 is C code, which Miri does not run
    for sum in (0..=8).filter(|sum| !(cfg!(miri) && *sum == HOLDALL_SUM_ADLER32)) {
        let (mut one, mut two, mut n, mut m) = ([0u8; 64], [0u8; 64], 0, 0);
        // SAFETY: lengths as they are; a digest is freed once.
        unsafe {
            done(|err| {
                holdall_checksum(
                    sum,
                    b"content".as_ptr().cast(),
                    7,
                    one.as_mut_ptr().cast(),
                    64,
                    &mut n,
                    err,
                )
            });
            let d = made(|out, err| holdall_digest_new(sum, out, err));
            done(|err| holdall_digest_update(d, b"con".as_ptr().cast(), 3, err));
            done(|err| holdall_digest_update(d, b"tent".as_ptr().cast(), 4, err));
            done(|err| holdall_digest_finish(d, two.as_mut_ptr().cast(), 64, &mut m, err));
            assert_eq!((one, n), (two, m), "{sum}");
            holdall_digest_free(d);
        }
    }
    // SAFETY: a place for the handle.
    not_made(
        HOLDALL_E_ARGUMENT,
        |out: *mut *mut holdall_digest, err| unsafe { holdall_digest_new(99, out, err) },
    );
}
