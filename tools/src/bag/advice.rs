//! How records that zstd makes larger could be stored in fewer bytes.

use holdall::{Bag, BagDictionary, BagWriter, Codec, MemoryStorage, Options, Result};

/// Bags with less content get no advice: their size rarely matters.
const LEAST: u64 = 1 << 20;
/// Bytes of records that are written again to measure what a dictionary saves.
const SAMPLE: u64 = 4 << 20;

/// Bytes per record beside its content: the limit, and the checksum of a record that is not
/// compressed.
const LIMIT: u64 = 8;
const CHECKSUM: u64 = 4;

/// Returns advice about a bag whose records have so many bytes, if it stores them in more.
pub fn on_size(bag: &Bag, content: u64) -> Result<Option<String>> {
    let (count, stored) = (bag.len(), bag.stored_bytes());
    let raw = content + count * (LIMIT + CHECKSUM);
    if bag.codec() != Some(Codec::Zstd) || content < LEAST || stored <= raw {
        return Ok(None);
    }
    let n = count.min(SAMPLE / (content / count).max(1)).max(1);
    let dictionary = match with_dictionary(bag, n)? {
        Some(with) if bag.dictionary()?.is_none() => {
            format!(", --train-dictionary about {} %", percent(with * count / n, stored))
        }
        _ => String::new(),
    };
    let none = percent(raw, stored);
    Ok(Some(format!(
        "zstd makes these records larger: --codec none would need {none} % of the bytes{dictionary}"
    )))
}

fn percent(part: u64, of: u64) -> u64 {
    (part * 100).div_ceil(of.max(1))
}

/// Returns the size of a bag of the first `n` records if a dictionary for them gains.
fn with_dictionary(bag: &Bag, n: u64) -> Result<Option<u64>> {
    let (memory, zstd) = (MemoryStorage::new(), Options::new().codec(Codec::Zstd));
    let options = zstd.clone().bag_dictionary(BagDictionary::Auto);
    let mut writer = BagWriter::create(&memory, &options)?;
    let records = bag.read_range(0..n)?;
    writer.append_concatenated(records.bytes(), records.offsets())?;
    writer.commit()?;
    let written = Bag::open_with(&memory, &zstd)?;
    Ok(written.dictionary()?.map(|_| written.stored_bytes()))
}
