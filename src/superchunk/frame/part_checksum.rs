//! What tells that the parts of a frame are damaged: the format has no checksum, and room where one
//! can be.
//!
//! The fingerprint in the trailer, zeros from every other writer, holds four bytes that say that it
//! is ours, and the CRC-32 of the header, of the index as it is stored, and of the trailer (with
//! this last number 0). Who writes the trailer anew puts zeros there, so that it is never held
//! against a change of others. They may also change a metalayer in the header and leave the trailer
//! alone: a byte of the header that they always write as 0 is ours, too.
#![forbid(unsafe_code)]

use super::byte_correction::corrections;
use super::checksums::SUMS;
use super::header::{Header, MARK_AT};
use super::msgpack::{EXT_16, UINT_32};
use super::trailer::{TAIL, Trailer};
use crate::checksum::{Hasher, Sum, crc32};
use crate::error::{Result, fail};

const MARK: u8 = b'H';
const MAGIC: [u8; 4] = *b"hld1";
/// The fingerprint, and in it the trailer's own sum, from the end.
const FINGERPRINT: usize = 16;
const OWN: usize = 4;
/// Of so many bytes one that is wrong can be told from more than one, but for once in four thousand
/// times.
const CERTAIN: usize = 4 << 10;

/// Who wrote a frame last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// We did: all is as it was written.
    We,
    /// We did, but for its header, of which nothing is known.
    OthersHeader,
    /// Others did: nothing is known.
    Others,
}

/// The bytes of header and trailer, sealed; `index` is empty where there is none.
pub fn seal(
    header: &mut Header,
    index: &[u8],
    trailer: &mut Trailer,
) -> Result<(Vec<u8>, Vec<u8>)> {
    header.mark = MARK;
    let head = header.encode()?;
    let sums = [crc32(&head), crc32(index), 0].map(u32::to_le_bytes);
    put(trailer, sums);
    let crc = crc32(&trailer.encode()?);
    let [a, b, _] = sums;
    put(trailer, [a, b, crc.to_le_bytes()]);
    Ok((head, trailer.encode()?))
}

fn put(trailer: &mut Trailer, sums: [[u8; 4]; 3]) {
    trailer.fingerprint_kind = 0;
    for (to, from) in trailer
        .fingerprint
        .iter_mut()
        .zip(MAGIC.iter().chain(sums.as_flattened()))
    {
        *to = *from;
    }
}

/// Takes the seal off, as other writers do.
pub fn unseal(header: &mut Header, trailer: &mut Trailer) {
    (header.mark, trailer.fingerprint_kind, trailer.fingerprint) = (0, 0, [0; FINGERPRINT]);
}

/// Whether these parts belong together, and who wrote them; `index` is empty where there is none.
pub fn check(header: &[u8], index: &[u8], trailer: &[u8]) -> Result<Writer> {
    let (Some(tail), Some(mark)) = (trailer.last_chunk::<TAIL>(), header.get(MARK_AT)) else {
        return Err(fail!(
            Format,
            "a header of {} bytes and a trailer of {}",
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
        return Ok(Writer::Others);
    }
    let (before, own) = trailer
        .split_at_checked(trailer.len() - OWN)
        .unwrap_or_default();
    let mut sum = Hasher::new(Sum::Crc32);
    sum.update(before);
    sum.update(&[0; OWN]);
    if !ours || kind != 0 || sum.finish() != own {
        return Err(damaged("trailer"));
    }
    if crc32(index) != u32::from_le_bytes([i0, i1, i2, i3]) {
        return Err(damaged("index"));
    }
    match *mark {
        0 => Ok(Writer::OthersHeader),
        MARK if crc32(header) == u32::from_le_bytes([h0, h1, h2, h3]) => Ok(Writer::We),
        _ => Err(damaged("header")),
    }
}

/// The CRC-32 of the index, if the last bytes of a trailer are a seal of ours that the header fits.
/// Whether trailer and index fit is not looked at.
pub fn index_sum(header: &[u8], tail: &[u8; TAIL]) -> Option<u32> {
    let [head, index, _] = sums(tail).filter(|_| is_tail(tail))?;
    (header.get(MARK_AT) == Some(&MARK) && crc32(header) == head).then_some(index)
}

/// Does it look like the end of a trailer of ours?
pub fn is_tail(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [UINT_32, _, _, _, _, EXT_16, 0, b'h', b'l', b'd', b'1', ..]
    )
}

/// The sums of header, index and trailer that a trailer of ours has.
pub fn sums(trailer: &[u8]) -> Option<[u32; 3]> {
    let [mark, sums @ ..] = trailer.last_chunk::<FINGERPRINT>()?.as_chunks::<4>().0 else {
        return None;
    };
    let sums: &[[u8; 4]; 3] = sums.first_chunk()?;
    (*mark == MAGIC).then(|| sums.map(u32::from_le_bytes))
}

/// A trailer of ours as it was, if it is whole but for one byte. `others`: do those sums of header
/// and index fit?
pub fn righted(trailer: &[u8], others: impl Fn([u32; 3]) -> bool) -> Option<Vec<u8>> {
    let (before, own) = trailer.split_last_chunk::<OWN>()?;
    let blank = [before, &[0; OWN]].concat();
    let with_own = |mut bytes: Vec<u8>| {
        bytes.truncate(before.len());
        bytes.extend_from_slice(own);
        bytes
    };
    let is_ours = |bytes: &Vec<u8>| {
        sums(bytes).is_some() && Trailer::parse(bytes).is_ok_and(|t| t.fingerprint_kind == 0)
    };
    let sum = u32::from_le_bytes(*own);
    let as_it_is = Some(with_own(blank.clone())).filter(is_ours);
    if crc32(&blank) == sum && as_it_is.is_some() {
        return as_it_is;
    }
    // the longer it is, the likelier another byte would do as well: that of a checksum shows, when
    // its chunk is read
    let there = Trailer::parse(trailer);
    let only_sums = |b: &Vec<u8>| {
        let rest = |t: &Trailer| {
            t.vlmeta
                .iter()
                .filter(|(name, _)| name != SUMS)
                .cloned()
                .collect::<Vec<_>>()
        };
        Trailer::parse(b).is_ok_and(|b| there.as_ref().is_ok_and(|there| rest(there) == rest(&b)))
    };
    let certain = |b: &Vec<u8>| trailer.len() <= CERTAIN || only_sums(b);
    let found = corrections(&blank, sum)
        .filter(|b| b.ends_with(&[0; OWN]))
        .map(with_own)
        .find(|b| is_ours(b) && certain(b));
    // or its own sum is what is wrong
    found.or_else(|| as_it_is.filter(|b| sums(b).is_some_and(others)))
}

/// What is said of a part that does not fit.
pub fn damaged(part: &str) -> crate::Error {
    fail!(
        Checksum,
        "the CRC-32 of the {part} does not match: the frame is damaged"
    )
}
