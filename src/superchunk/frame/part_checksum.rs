//! Checksums of header, index and trailer. The format has no such checksums, but it has a
//! fingerprint field in the trailer.
//!
//! The fingerprint, which other writers fill with zeros, holds four bytes that identify this
//! library, and the CRC-32s of the header, of the stored index, and of the trailer (with this last
//! CRC-32 set to 0). This is the seal of a frame. A writer that rewrites the trailer fills the
//! fingerprint with zeros, so that changes by other writers are never taken for corruption. Other
//! writers may also change a metalayer in the header and leave the trailer as it is. They write one
//! byte of the header as 0; this library sets it, so that it marks its own headers.
#![forbid(unsafe_code)]

use super::header::{Header, MARK_AT};
use super::msgpack::{EXT_16, UINT_32};
use super::trailer::{TAIL, Trailer};
use crate::checksum::{Checksum, Hasher, crc32, crc32_concat};
use crate::error::{Result, fail};
use crate::slice::SliceExt;

const MARK: u8 = b'H';
const MAGIC: [u8; 4] = *b"hld1";
/// Bytes of the fingerprint, and bytes of the trailer's own CRC-32 at its end.
const FINGERPRINT: usize = 16;
pub(super) const OWN: usize = 4;

/// The last writer of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// This library: header, index and trailer match their checksums.
    Holdall,
    /// This library, except for the header, whose state is unknown.
    OtherHeader,
    /// Another writer: nothing can be verified.
    Other,
}

/// Sets the seal and returns the encoded header and trailer. `index` is empty if there is none.
pub fn seal(
    header: &mut Header,
    index: &[u8],
    trailer: &mut Trailer,
) -> Result<(Vec<u8>, Vec<u8>)> {
    header.mark = MARK;
    let head = header.encode()?;
    let checksums = [crc32(&head), crc32(index), 0].map(u32::to_le_bytes);
    put(trailer, checksums);
    let crc = crc32(&trailer.encode()?);
    let [a, b, _] = checksums;
    put(trailer, [a, b, crc.to_le_bytes()]);
    Ok((head, trailer.encode()?))
}

/// Sets the seal of parts with these CRC-32s: of the index, and of the `trailer_len` bytes of the
/// trailer except its last ones. Returns the encoded header and the last bytes of the trailer.
pub fn seal_parts(
    header: &mut Header,
    index: u32,
    trailer: u32,
    trailer_len: u32,
) -> Result<(Vec<u8>, [u8; TAIL])> {
    header.mark = MARK;
    let head = header.encode()?;
    let [a, b, c, d] = trailer_len.to_be_bytes();
    let mut tail = [0; TAIL];
    let start = [UINT_32, a, b, c, d, EXT_16, 0];
    let crcs = [crc32(&head), index].map(u32::to_le_bytes);
    let bytes = start.iter().chain(&MAGIC).chain(crcs.as_flattened());
    tail.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    let own = crc32_concat(trailer, crc32(&tail), TAIL);
    if let Some(last) = tail.last_chunk_mut::<OWN>() {
        *last = own.to_le_bytes();
    }
    Ok((head, tail))
}

fn put(trailer: &mut Trailer, checksums: [[u8; 4]; 3]) {
    trailer.fingerprint_kind = 0;
    for (to, from) in trailer
        .fingerprint
        .iter_mut()
        .zip(MAGIC.iter().chain(checksums.as_flattened()))
    {
        *to = *from;
    }
}

/// Removes the seal, as other writers do.
pub fn unseal(header: &mut Header, trailer: &mut Trailer) {
    (header.mark, trailer.fingerprint_kind, trailer.fingerprint) = (0, 0, [0; FINGERPRINT]);
}

/// Verifies that the parts belong together and returns who wrote them. `index` is empty if there is
/// none.
pub fn check(header: &[u8], index: &[u8], trailer: &[u8]) -> Result<Writer> {
    let (Some(tail), Some(mark)) = (trailer.last_chunk::<TAIL>(), header.get(MARK_AT)) else {
        return Err(fail!(
            Format,
            "a header of {} bytes and a trailer of {} bytes are too short",
            header.len(),
            trailer.len()
        ));
    };
    let [
        ..,
        kind,
        m0,
        m1,
        m2,
        m3,
        h0,
        h1,
        h2,
        h3,
        i0,
        i1,
        i2,
        i3,
        _,
        _,
        _,
        _,
    ] = *tail;
    let ours = [m0, m1, m2, m3] == MAGIC;
    if !ours && (kind != 0 || tail.iter().rev().take(FINGERPRINT).all(|b| *b == 0)) {
        return Ok(Writer::Other);
    }
    let (before, own) = trailer.cut(trailer.len() - OWN)?;
    let mut crc = Hasher::new(Checksum::Crc32);
    crc.update(before);
    crc.update(&[0; OWN]);
    if !ours || kind != 0 || crc.finish() != own {
        return Err(damaged("trailer"));
    }
    if crc32(index) != u32::from_le_bytes([i0, i1, i2, i3]) {
        return Err(damaged("index"));
    }
    match *mark {
        0 => Ok(Writer::OtherHeader),
        MARK if crc32(header) == u32::from_le_bytes([h0, h1, h2, h3]) => Ok(Writer::Holdall),
        _ => Err(damaged("header")),
    }
}

/// Returns the CRC-32 of the index, if the last bytes of a trailer are a seal of this library that
/// matches the header. Index and trailer are not verified.
pub fn index_crc(header: &[u8], tail: &[u8; TAIL]) -> Option<u32> {
    let [head, index, _] = checksums(tail).filter(|_| is_tail(tail))?;
    (header.get(MARK_AT) == Some(&MARK) && crc32(header) == head).then_some(index)
}

/// Do these bytes look like the end of a trailer of this library?
pub fn is_tail(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [UINT_32, _, _, _, _, EXT_16, 0, b'h', b'l', b'd', b'1', ..]
    )
}

/// Returns the CRC-32s of header, index and trailer that a sealed trailer contains.
pub fn checksums(trailer: &[u8]) -> Option<[u32; 3]> {
    let [mark, checksums @ ..] = trailer.last_chunk::<FINGERPRINT>()?.as_chunks::<4>().0 else {
        return None;
    };
    let checksums: &[[u8; 4]; 3] = checksums.first_chunk()?;
    (*mark == MAGIC).then(|| checksums.map(u32::from_le_bytes))
}

/// Returns the error for a part that does not match its CRC-32.
pub fn damaged(part: &str) -> crate::error::Error {
    fail!(
        Checksum,
        "the CRC-32 of the {part} does not match; the frame is corrupt"
    )
}
