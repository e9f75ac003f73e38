//! Records, keys or blocks that are stored end to end: number `i` has the bytes from `offsets[i]`
//! to `offsets[i + 1]`.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

/// Returns an error unless these are offsets in so many bytes.
pub fn check_offsets(size: u64, offsets: &[u64]) -> Result<()> {
    if let Some(i) = offsets
        .windows(2)
        .position(|w| matches!(w, [a, b] if a > b))
    {
        return Err(fail!(
            Argument,
            "offsets[{}] is smaller than offsets[{i}]",
            i + 1
        ));
    }
    match offsets.last() {
        Some(&end) if end > size => Err(fail!(
            Argument,
            "the last of the offsets, {end}, is beyond the {size} bytes of data"
        )),
        Some(_) => Ok(()),
        None => Err(fail!(
            Argument,
            "offsets must have one element more than there are records"
        )),
    }
}

/// Returns the bytes between the first and the last of these offsets.
pub fn span<'a>(data: &'a [u8], offsets: &[u64]) -> &'a [u8] {
    let ends = offsets.first().zip(offsets.last());
    ends.and_then(|(&a, &b)| data.get(a as usize..b as usize))
        .unwrap_or_default()
}
