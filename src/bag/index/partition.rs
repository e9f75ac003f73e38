//! Partitions of fingerprints while an index is built.
//!
//! A partition holds the fingerprints of adjacent buckets. The builder sorts one partition after
//! the other. Fingerprints are stored packed in segments of memory. Beyond a limit, segments are
//! written to a temporary file.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use crate::io::{Access, File, Folder};
use crate::slice::SliceExt;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The fingerprint of a key and its row. Items sort in the order in which they are written. Upper
/// 16 bits: bucket in the partition; then 64 bits of fingerprint; lower 48 bits: row.
pub type Item = u128;
/// Rows must be less than this number.
pub const MAX_ROWS: u64 = 1 << 48;
/// Maximum number of items of a segment with a temporary file, and without one. The larger one is
/// so large that the allocator returns the memory of a taken partition to the system, for the index
/// itself.
const SEGMENT_ITEMS: u64 = 1024;
const LARGE_SEGMENT_ITEMS: u64 = 16 << 10;
/// Sizes of a packed item in bytes: a row of 4 or 6 bytes, depending on the number of rows, and the
/// remaining 10 bytes.
const SHORT: usize = 14;
const LONG: usize = 16;
const REST: usize = 10;
const ROW_BITS: u32 = 48;
/// Number of upper bits of the fingerprint by which the items of a bucket are distributed before
/// they are compared.
const RADIX_BITS: u32 = 4;

/// Returns the item with these three fields.
pub fn item(bucket: u64, tag: u64, row: u64) -> Item {
    u128::from(bucket) << 112 | u128::from(tag) << 48 | u128::from(row)
}

/// The partitions of an index. Multiple threads may add items at once.
pub struct Partitions {
    partitions: Vec<Mutex<Partition>>,
    /// Sizes of a packed item and of a segment in bytes.
    item_bytes: usize,
    segment_bytes: usize,
    /// Maximum and current number of bytes in memory, and the file for the others.
    memory_limit: u64,
    in_memory: AtomicU64,
    spill: Option<Spill>,
}

/// A temporary file that is created when it is first used.
pub struct Spill {
    folder: Arc<dyn Folder>,
    name: OsString,
    file: Mutex<Option<Arc<dyn File>>>,
    /// Offset of the next segment.
    end: AtomicU64,
}

impl Spill {
    /// Creates the state of a temporary file with this name.
    pub fn new(folder: &Arc<dyn Folder>, name: OsString) -> Spill {
        Spill {
            folder: folder.clone(),
            name,
            file: Mutex::default(),
            end: AtomicU64::new(0),
        }
    }

    fn file(&self) -> Result<Arc<dyn File>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match &*file {
            Some(f) => Ok(f.clone()),
            None => Ok(file
                .insert(self.folder.open(&self.name, Access::Create)?)
                .clone()),
        }
    }
}

#[derive(Default)]
struct Partition {
    items: u64,
    open: Vec<u8>,
    full: Vec<Segment>,
}

enum Segment {
    InMemory(Vec<u8>),
    Spilled(u64),
}

impl Partitions {
    /// Creates empty partitions for rows less than `rows`. With a temporary file, at most
    /// `memory_limit` bytes stay in memory.
    pub fn new(
        partitions: u64,
        rows: u64,
        memory_limit: u64,
        spill: Option<Spill>,
    ) -> Result<Partitions> {
        let item_bytes = if rows <= 1 << 32 { SHORT } else { LONG };
        let all = alloc::defaults(partitions as usize)?;
        let fit = memory_limit / (4 * partitions * item_bytes as u64);
        let largest = if spill.is_some() {
            SEGMENT_ITEMS
        } else {
            LARGE_SEGMENT_ITEMS
        };
        Ok(Partitions {
            partitions: all,
            item_bytes,
            segment_bytes: fit.clamp(16, largest) as usize * item_bytes,
            memory_limit,
            in_memory: AtomicU64::new(0),
            spill,
        })
    }

    /// Returns the number of items of a partition.
    pub fn items(&self, partition: usize) -> u64 {
        self.partitions.get(partition).map_or(0, |p| {
            p.lock().unwrap_or_else(PoisonError::into_inner).items
        })
    }

    /// Adds items. `numbers` are the partitions of the items.
    pub fn add(&self, numbers: &[u32], items: &[Item]) -> Result<()> {
        match self.item_bytes {
            SHORT => self.add_packed::<SHORT>(numbers, items),
            _ => self.add_packed::<LONG>(numbers, items),
        }
    }

    fn add_packed<const N: usize>(&self, numbers: &[u32], items: &[Item]) -> Result<()> {
        // groups the items by partition, so that each partition is locked once
        let mut offsets: Vec<usize> = alloc::defaults(self.partitions.len())?;
        for &n in numbers {
            *offsets.at_mut(n as usize)? += 1;
        }
        counts_to_offsets(&mut offsets);
        let mut packed = alloc::zeroed(items.len() * N)?;
        let (slots, _) = packed.as_chunks_mut();
        for (&n, &item) in numbers.iter().zip(items) {
            let offset = offsets.at_mut(n as usize)?;
            *slots.at_mut(*offset)? = pack::<N>(item);
            *offset += 1;
        }
        let mut start = 0;
        for (partition, end) in self.partitions.iter().zip(offsets) {
            let group = slots.at(std::mem::replace(&mut start, end)..end)?;
            if !group.is_empty() {
                self.add_to(partition, group.as_flattened())?;
            }
        }
        Ok(())
    }

    fn add_to(&self, partition: &Mutex<Partition>, mut packed: &[u8]) -> Result<()> {
        let mut p = partition.lock().unwrap_or_else(PoisonError::into_inner);
        p.items += (packed.len() / self.item_bytes) as u64;
        while !packed.is_empty() {
            if p.open.len() == self.segment_bytes {
                self.close(&mut p)?;
            }
            let (some, rest) = packed
                .split_at_checked(self.segment_bytes - p.open.len())
                .unwrap_or((packed, &[]));
            if p.open.capacity() - p.open.len() < some.len() {
                // never more than the size of a segment
                let more = p
                    .open
                    .len()
                    .max(some.len())
                    .max(16 * self.item_bytes)
                    .min(self.segment_bytes - p.open.len());
                p.open
                    .try_reserve_exact(more)
                    .map_err(|_| fail!(Memory, "{more} bytes of memory could not be allocated"))?;
            }
            p.open.extend_from_slice(some);
            packed = rest;
        }
        Ok(())
    }

    /// Moves the open segment of a partition to the full ones, or to the temporary file.
    fn close(&self, p: &mut Partition) -> Result<()> {
        alloc::reserve(&mut p.full, 1)?;
        let n = p.open.len() as u64;
        match &self.spill {
            Some(s) if self.in_memory.fetch_add(n, Ordering::Relaxed) + n > self.memory_limit => {
                self.in_memory.fetch_sub(n, Ordering::Relaxed);
                let at = s.end.fetch_add(n, Ordering::Relaxed);
                s.file()?.write_at(at, &p.open)?;
                p.open.clear();
                p.full.push(Segment::Spilled(at));
            }
            _ => {
                let full = std::mem::take(&mut p.open);
                p.full.push(Segment::InMemory(full));
            }
        }
        Ok(())
    }

    /// Removes all items of a partition and returns them sorted. `buckets`: number of buckets of
    /// the partition.
    pub fn take(&self, partition: usize, buckets: usize) -> Result<Vec<Item>> {
        let Some(partition) = self.partitions.get(partition) else {
            return Ok(Vec::new());
        };
        let partition =
            std::mem::take(&mut *partition.lock().unwrap_or_else(PoisonError::into_inner));
        let mut segments: Vec<Vec<u8>> = alloc::with_capacity(partition.full.len() + 1)?;
        for segment in partition.full {
            segments.push(match (segment, &self.spill) {
                (Segment::InMemory(bytes), _) => {
                    self.in_memory
                        .fetch_sub(bytes.len() as u64, Ordering::Relaxed);
                    bytes
                }
                (Segment::Spilled(at), Some(s)) => {
                    // only full segments are spilled
                    let mut bytes = alloc::zeroed(self.segment_bytes)?;
                    s.file()?.read_exact_at(at, &mut bytes)?;
                    bytes
                }
                (Segment::Spilled(_), None) => continue,
            });
        }
        segments.push(partition.open);
        match self.item_bytes {
            SHORT => sort_packed::<SHORT>(&segments, buckets),
            _ => sort_packed::<LONG>(&segments, buckets),
        }
    }
}

/// Replaces counts by the offsets at which the counted groups begin.
fn counts_to_offsets(counts: &mut [usize]) {
    let mut start = 0;
    for n in counts {
        start += std::mem::replace(n, start);
    }
}

/// Packs an item: the lower bytes of its row, then the rest.
fn pack<const N: usize>(item: Item) -> [u8; N] {
    let row = 8 * (N - REST);
    let bytes = (item & ((1 << row) - 1) | item >> ROW_BITS << row).to_le_bytes();
    const { assert!(N <= size_of::<Item>()) };
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn unpack<const N: usize>(packed: &[u8; N]) -> Item {
    let mut bytes = [0; LONG];
    bytes.iter_mut().zip(packed).for_each(|(b, p)| *b = *p);
    let (row, value) = (8 * (N - REST), Item::from_le_bytes(bytes));
    value & ((1 << row) - 1) | value >> row << ROW_BITS
}

/// Returns all items of these segments, sorted. A counting sort by bucket and [`RADIX_BITS`]
/// distributes the items; the few items of each group are then sorted by comparison.
fn sort_packed<const N: usize>(segments: &[Vec<u8>], buckets: usize) -> Result<Vec<Item>> {
    let packed = || segments.iter().flat_map(|p| p.as_chunks::<N>().0);
    let radix = |item: Item| (item >> (112 - RADIX_BITS)) as usize;
    let mut offsets: Vec<usize> = alloc::defaults(buckets << RADIX_BITS)?;
    let mut total = 0;
    for bytes in packed() {
        *offsets.at_mut(radix(unpack(bytes)))? += 1;
        total += 1;
    }
    counts_to_offsets(&mut offsets);
    let mut items: Vec<Item> = alloc::defaults(total)?;
    for bytes in packed() {
        let item = unpack(bytes);
        let offset = offsets.at_mut(radix(item))?;
        *items.at_mut(*offset)? = item;
        *offset += 1;
    }
    let mut start = 0;
    for end in offsets {
        match items.at_mut(std::mem::replace(&mut start, end)..end)? {
            [] | [_] => {}
            [a, b] => {
                let two = (*a, *b);
                (*a, *b) = (two.0.min(two.1), two.0.max(two.1));
            }
            more => more.sort_unstable(),
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn items_that_were_added_are_taken_in_order() {
        for (rows, memory_limit) in [
            (1 << 32, 0),
            (1 << 32, 4000),
            (1 << 32, 1 << 30),
            (MAX_ROWS, 0),
            (MAX_ROWS, 1 << 30),
        ] {
            let folder = SimDisk::default().folder();
            let partitions =
                Partitions::new(3, rows, memory_limit, Some(Spill::new(&folder, "x".into())))
                    .unwrap();
            let of = |partition: u64| {
                (0..300)
                    .map(move |k| item(k * 7 % 65536, u64::MAX - k * partition, rows - 1 - k))
                    .collect::<Vec<_>>()
            };
            for partition in 0..3 {
                of(partition).chunks(7).for_each(|few| {
                    partitions
                        .add(&[partition as u32; 7][..few.len()], few)
                        .unwrap()
                });
            }
            for partition in 0..3 {
                assert_eq!(partitions.items(partition), 300);
                let items = partitions.take(partition, 1 << 16).unwrap();
                let mut want = of(partition as u64);
                want.sort_unstable();
                assert!(items == want);
                assert_eq!(partitions.items(partition), 0);
            }
            assert_eq!(
                (
                    partitions.in_memory.load(Ordering::Relaxed),
                    folder.exists("x".as_ref()).unwrap()
                ),
                (0, memory_limit < 1 << 30),
                "{rows} {memory_limit}"
            );
        }
    }
}
