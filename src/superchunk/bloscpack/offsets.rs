//! The offsets table: a 64-bit offset per chunk, then spare entries for appended chunks. An unused
//! entry is -1; the last one may be the uniform mark.
#![forbid(unsafe_code)]

use super::header::{ENTRY, Header};
use super::header_buffer::HeaderBuffer;
use super::located_chunk::LocatedChunk;
use super::uniform_mark;
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;

/// Reads the entries of the chunks, or none if there is no table. Reads the spare entries, too, if
/// the number of chunks is unknown. No allocation exceeds `limit` bytes.
pub fn read(file: &dyn File, header: &Header, limit: u64) -> Result<Vec<i64>> {
    let n = match header.nchunks {
        Some(n) if header.has_offsets => n,
        Some(_) => 0,
        None => header.offset_entries(),
    };
    let mut bytes = alloc::zeroed(alloc::allow(n.saturating_mul(ENTRY), limit, "offsets")?)?;
    file.read_exact_at(header.offsets_at(), &mut bytes)?;
    let mut out = alloc::with_capacity(bytes.len() / 8)?;
    out.extend(bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)));
    Ok(out)
}

/// Returns the number of entries of a table whose length the header does not state.
///
/// The table ends at the first chunk in the file. The lowest offset leads to that chunk, or the chunk
/// header follows the last entry; no chunk starts with -1. Any other content is an error: the length
/// must not be guessed.
pub fn count(file: &dyn File, header: &Header) -> Result<u64> {
    let size = file.size()?;
    let mut headers = HeaderBuffer::new(file);
    let mut chunk_at = |at: u64| -> Result<bool> {
        let bytes = headers.header(at)?;
        let chunk = bytes.and_then(|bytes| LocatedChunk::parse(at, &bytes));
        Ok(chunk.is_some_and(|c| c.end(header.checksum) <= size))
    };
    let mut entries = HeaderBuffer::new(file);
    let (mut at, mut first) = (header.offsets_at(), None);
    while first.is_none_or(|first| at < first) && at < size {
        let Some([word @ .., _, _, _, _, _, _, _, _]) = entries.header(at)? else {
            break;
        };
        let word = i64::from_le_bytes(word);
        let offset = u64::try_from(word).ok().filter(|o| at < *o && *o < size);
        match offset {
            Some(o) if first.is_some() || chunk_at(o)? => {
                first = Some(first.map_or(o, |first: u64| first.min(o)));
            }
            None if uniform_mark::is_unused(word) => {}
            _ if chunk_at(at)? => {
                first = Some(at);
                continue;
            }
            _ => break,
        }
        at = at.saturating_add(ENTRY);
    }
    match first {
        Some(first) if at == first => Ok((first - header.offsets_at()) / ENTRY),
        _ => Err(fail!(
            Format,
            "offsets: the number of chunks is unknown (-1), and the table has no end: neither an offset nor a chunk is at {at}"
        )),
    }
}

/// Encodes a table of `entries` entries. The entries after `positions` are -1.
pub fn encode(positions: impl IntoIterator<Item = u64>, entries: u64) -> Result<Vec<u8>> {
    let n = usize::try_from(entries.saturating_mul(ENTRY)).unwrap_or(usize::MAX);
    let mut out = alloc::with_capacity(n)?;
    for at in positions {
        let too_large = |_| fail!(Limit, "a chunk at offset {at}");
        out.extend(i64::try_from(at).map_err(too_large)?.to_le_bytes());
    }
    if out.len() > n {
        return Err(fail!(
            Argument,
            "{} chunks do not fit into an offsets table of {entries} entries",
            out.len() / 8
        ));
    }
    out.resize(n, 0xff);
    Ok(out)
}
