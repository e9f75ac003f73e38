//! Training of zstd dictionaries for records.
#![forbid(unsafe_code)]

use super::{Error, Result};
use crate::bag;

/// Trains a zstd dictionary of at most `size` bytes for records that resemble these. 112,640 bytes
/// are a good size; the records should have 100 times as many. The same records give the same
/// dictionary.
///
/// [`BagDictionary::Auto`](crate::BagDictionary::Auto) does this by itself. The function fails with
/// [`Status::Argument`](crate::Status::Argument) if the records are too few, or have nothing in
/// common, or if the size is not 256 bytes to 16 MiB.
///
/// ```
/// let record = |i| format!("{{\"user\": {i}, \"country\": \"DE\"}}");
/// let records: Vec<String> = (0..10_000).map(record).collect();
/// let dictionary = holdall::train_dictionary(&records, 4096)?;
/// assert!(dictionary.len() <= 4096);
/// # Ok::<(), holdall::Error>(())
/// ```
pub fn train_dictionary<R: AsRef<[u8]>>(records: &[R], size: usize) -> Result<Vec<u8>> {
    let (mut data, mut offsets) = (Vec::new(), vec![0]);
    for record in records {
        data.extend_from_slice(record.as_ref());
        offsets.push(data.len() as u64);
    }
    bag::train(&data, &offsets, size).map_err(Error)
}
