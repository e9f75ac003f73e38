//! The offsets table: a 64-bit offset per chunk, then spare entries for appended chunks. An unused
//! entry is -1.
#![forbid(unsafe_code)]

use super::header::{ENTRY, Header};
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;

/// Reads the entries of the chunks, or none if there is no table. No allocation exceeds `limit`
/// bytes.
pub fn read(file: &dyn File, header: &Header, limit: u64) -> Result<Vec<i64>> {
    let n = if header.has_offsets {
        header.nchunks.unwrap_or(0)
    } else {
        0
    };
    let mut bytes = alloc::zeroed(alloc::allow(n.saturating_mul(ENTRY), limit, "offsets")?)?;
    file.read_exact_at(header.offsets_at(), &mut bytes)?;
    let mut out = alloc::with_capacity(bytes.len() / 8)?;
    out.extend(bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)));
    Ok(out)
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
