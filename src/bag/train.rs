//! Trains zstd dictionaries from records, and chooses one for a bag.
//!
//! The same records give the same dictionary.
#![forbid(unsafe_code)]

use super::codec::{Codec, Encoding};
use super::dictionary::MAX_DICTIONARY;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::offsets::{check_offsets, span};
use crate::parallel;
use crate::zdict::{MIN_DICTIONARY, Samples};
use std::sync::Arc;

/// The size that is tried first for a bag.
const DEFAULT_SIZE: usize = 110 << 10;
/// The second size that is tried for a bag: it costs less where there are few records.
const SMALL_SIZE: usize = 16 << 10;
/// A dictionary is trained for a bag from at least this many bytes per byte of it.
const BYTES_PER_BYTE: usize = 8;
/// One of this many records measures what a dictionary gains.
const MEASURED: usize = 8;
/// The size with a dictionary, in percent of that without, from which on none is used.
const MAX_PERCENT: usize = 95;

/// Trains a dictionary of at most `size` bytes for the records `data[offsets[i]..offsets[i + 1]]`.
pub fn train(data: &[u8], offsets: &[u64], size: usize) -> Result<Vec<u8>> {
    if !(MIN_DICTIONARY..=MAX_DICTIONARY).contains(&size) {
        return Err(fail!(
            Argument,
            "the size of a dictionary: expected {MIN_DICTIONARY} to {MAX_DICTIONARY} bytes, found {size}"
        ));
    }
    check_offsets(data.len() as u64, offsets)?;
    let mut samples = Samples::default();
    for w in offsets.windows(2) {
        samples.push(span(data, w))?;
    }
    samples.train(size, 0)?.ok_or_else(|| {
        fail!(
            Argument,
            "no dictionary of {size} bytes can be trained from {} records with {} bytes: they are too few, or have nothing in common",
            samples.count(),
            samples.len()
        )
    })
}

/// Returns the dictionary with which these records become smallest, its own size included, or none
/// if none gains enough.
pub fn choose(
    data: &[u8],
    offsets: &[u64],
    encoding: &Encoding,
    threads: usize,
) -> Result<Option<Arc<[u8]>>> {
    let (mut samples, mut measured) = (Samples::default(), Vec::new());
    let records = offsets.windows(2).map(|w| span(data, w));
    for (i, record) in records.filter(|r| !r.is_empty()).enumerate() {
        if i % MEASURED == MEASURED - 1 {
            alloc::reserve(&mut measured, 1)?;
            measured.push(record);
        } else {
            samples.push(record)?;
        }
    }
    let plain = encoded_size(&measured, None, encoding)?;
    let largest = samples.len() / BYTES_PER_BYTE;
    let mut tried: Vec<_> = [DEFAULT_SIZE, SMALL_SIZE]
        .map(|size| (size.min(largest), None))
        .into();
    tried.dedup_by_key(|(size, _)| *size);
    parallel::try_for_each(threads, tried.iter_mut().collect(), |(size, result)| {
        if *size >= MIN_DICTIONARY
            && let Some(dictionary) = samples.train(*size, encoding.level)?
        {
            let dictionary: Arc<[u8]> = dictionary.into();
            let encoded = encoded_size(&measured, Some(dictionary.clone()), encoding)?;
            // these records bear their share of the dictionary
            *result = Some((encoded + dictionary.len() / MEASURED, dictionary));
        }
        Ok::<(), Error>(())
    })?;
    let smallest = tried.into_iter().filter_map(|(_, result)| result);
    let smallest = smallest.min_by_key(|(size, _)| *size);
    Ok(smallest
        .filter(|(size, _)| *size < plain * MAX_PERCENT / 100)
        .map(|(_, dictionary)| dictionary))
}

fn encoded_size(
    records: &[&[u8]],
    dictionary: Option<Arc<[u8]>>,
    encoding: &Encoding,
) -> Result<usize> {
    let with = Encoding {
        codec: Codec::Zstd,
        dictionary,
        ..encoding.clone()
    };
    let mut encoder = with.encoder()?;
    let sizes = records.iter().map(|r| encoder.encode(r).map(<[u8]>::len));
    sizes.sum()
}
