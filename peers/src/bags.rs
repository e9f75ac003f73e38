//! Bags, both ways: holdall writes and the plain reader reads, and the reverse.

use crate::{Tally, content, plain_bag};
use fastrand::Rng;
use holdall::{Bag, BagWriter, Codec, Location, MemoryStorage, Options};

/// Runs the case of a seed.
pub fn case(seed: u64) -> Result<Tally, String> {
    let rng = &mut Rng::with_seed(seed);
    let compressed = rng.bool();
    let records = records(rng);
    let ours = written(&records, compressed).map_err(|e| e.to_string())?;
    let read = plain_bag::read(&ours, compressed).ok_or("the plain reader refuses our bag")?;
    if read != records {
        return Err("the plain reader sees other records".into());
    }
    let theirs = plain_bag::write(&records, compressed);
    let read = read_by_us(rng, theirs, compressed).map_err(|e| e.to_string())?;
    if read != records {
        return Err("we see other records".into());
    }
    Ok(Tally {
        compared: 2,
        refused: 0,
    })
}

fn records(rng: &mut Rng) -> Vec<Vec<u8>> {
    let most = if rng.u8(..20) == 0 { 300 } else { 12 };
    let n = rng.usize(..most);
    (0..n)
        .map(|_| {
            let n = if rng.u8(..4) == 0 {
                0
            } else {
                content::size(rng) / 10
            };
            content::bytes(rng, n, 1)
        })
        .collect()
}

fn options(compressed: bool) -> Options {
    let codec = if compressed { Codec::Zstd } else { Codec::None };
    Options::new().codec(codec).threads(1)
}

fn written(records: &[Vec<u8>], compressed: bool) -> holdall::Result<Vec<u8>> {
    let memory = MemoryStorage::new();
    let mut writer = BagWriter::create(&memory, &options(compressed))?;
    for record in records {
        writer.append(record)?;
    }
    writer.commit()?;
    Ok(memory.bytes("")?.to_vec())
}

/// All records, one by one or as a range.
fn read_by_us(rng: &mut Rng, bag: Vec<u8>, compressed: bool) -> holdall::Result<Vec<Vec<u8>>> {
    let bag = Bag::open_with(Location::memory(bag), &options(compressed))?;
    if rng.bool() {
        return (0..bag.len()).map(|i| bag.get(i)).collect();
    }
    Ok(bag.read_range(..)?.iter().map(<[u8]>::to_vec).collect())
}
