//! Fingerprints on their way to the buckets: parts, each of neighbouring buckets, of which one after the other is sorted.
//! They are kept packed in pieces of memory; beyond a bound the pieces go to a file.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::io::{Access, File, Folder};
use crate::memory;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A row and its key's fingerprint, in the order in which they are wanted: 16 bits, which bucket of the part; 64 bits of
/// fingerprint; 48 bits, the row.
pub type Item = u128;
/// Rows are below.
pub const MOST_ROWS: u64 = 1 << 48;
/// Items of a piece at most.
const PIECE: u64 = 1024;
/// A row takes as many bytes as all need, 4 or 6, and the rest of an item 10.
const SHORT_ROW: usize = 4;
const LONG_ROW: usize = 6;
const REST: usize = 10;

/// An item of its three numbers.
pub fn item(bucket: u64, tag: u64, row: u64) -> Item {
    u128::from(bucket) << 112 | u128::from(tag) << 48 | u128::from(row)
}

/// The parts. Many threads may add to them.
pub struct Parts {
    all: Vec<Mutex<Part>>,
    row: usize,
    piece: usize,
    /// Bytes that may stay in memory, what does, and where the other ones go.
    most: u64,
    kept: AtomicU64,
    spill: Option<Spill>,
}

/// A temporary file, made when it is wanted.
pub struct Spill {
    folder: Arc<dyn Folder>,
    name: OsString,
    file: Mutex<Option<Arc<dyn File>>>,
    /// Where the next piece goes.
    end: AtomicU64,
}

impl Spill {
    /// Of this name.
    pub fn new(folder: &Arc<dyn Folder>, name: OsString) -> Spill {
        Spill { folder: folder.clone(), name, file: Mutex::default(), end: AtomicU64::new(0) }
    }

    fn file(&self) -> Result<Arc<dyn File>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match &*file {
            Some(f) => Ok(f.clone()),
            None => Ok(file.insert(self.folder.open(&self.name, Access::Create)?).clone()),
        }
    }
}

#[derive(Default)]
struct Part {
    items: u64,
    open: Vec<u8>,
    full: Vec<Piece>,
}

enum Piece {
    Kept(Vec<u8>),
    Spilled(u64),
}

impl Parts {
    /// For items of rows below `rows`; at most so many bytes of them stay in memory where there is a file.
    pub fn new(parts: u64, rows: u64, most: u64, spill: Option<Spill>) -> Result<Parts> {
        let row = if rows <= 1 << 32 { SHORT_ROW } else { LONG_ROW };
        let mut all = memory::with_room(parts as usize)?;
        all.resize_with(parts as usize, Mutex::default);
        let fit = most / (4 * parts * (row + REST) as u64);
        Ok(Parts { all, row, piece: fit.clamp(16, PIECE) as usize * (row + REST), most, kept: AtomicU64::new(0), spill })
    }

    /// How many parts.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// How many items a part has.
    pub fn items(&self, part: usize) -> u64 {
        self.all.get(part).map_or(0, |p| p.lock().unwrap_or_else(PoisonError::into_inner).items)
    }

    /// Adds items to a part.
    pub fn add(&self, part: usize, items: &[Item]) -> Result<()> {
        let Some(part) = self.all.get(part).filter(|_| !items.is_empty()) else { return Ok(()) };
        let mut p = part.lock().unwrap_or_else(PoisonError::into_inner);
        p.items += items.len() as u64;
        for item in items {
            if p.open.len() + self.row + REST > self.piece {
                self.close(&mut p)?;
            }
            if p.open.capacity() == p.open.len() {
                // no more than the piece will have
                let more = p.open.len().max(16 * (self.row + REST)).min(self.piece - p.open.len());
                p.open.try_reserve_exact(more).map_err(|_| fail!(Memory, "{more} bytes of memory could not be had"))?;
            }
            match self.row {
                SHORT_ROW => p.open.extend_from_slice(&pack::<SHORT_ROW, { SHORT_ROW + REST }>(*item)),
                _ => p.open.extend_from_slice(&pack::<LONG_ROW, { LONG_ROW + REST }>(*item)),
            }
        }
        Ok(())
    }

    /// Puts the open piece of a part to the full ones.
    fn close(&self, p: &mut Part) -> Result<()> {
        memory::reserve(&mut p.full, 1)?;
        let n = p.open.len() as u64;
        match &self.spill {
            Some(s) if self.kept.fetch_add(n, Ordering::Relaxed) + n > self.most => {
                self.kept.fetch_sub(n, Ordering::Relaxed);
                let at = s.end.fetch_add(n, Ordering::Relaxed);
                s.file()?.write_at(at, &p.open)?;
                p.open.clear();
                p.full.push(Piece::Spilled(at));
            }
            _ => {
                let full = std::mem::take(&mut p.open);
                p.full.push(Piece::Kept(full));
            }
        }
        Ok(())
    }

    /// Takes all items of a part, which has so many buckets, out: in the order of their buckets, and in no order in these.
    pub fn take(&self, part: usize, buckets: usize) -> Result<Vec<Item>> {
        let Some(part) = self.all.get(part) else { return Ok(Vec::new()) };
        let part = std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
        let mut pieces: Vec<Vec<u8>> = memory::with_room(part.full.len() + 1)?;
        for piece in part.full {
            pieces.push(match (piece, &self.spill) {
                (Piece::Kept(bytes), _) => {
                    self.kept.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
                    bytes
                }
                (Piece::Spilled(at), Some(s)) => {
                    // only full pieces were spilled
                    let mut bytes = memory::zeroed(self.piece)?;
                    s.file()?.read_exact_at(at, &mut bytes)?;
                    bytes
                }
                (Piece::Spilled(_), None) => continue,
            });
        }
        pieces.push(part.open);
        match self.row {
            SHORT_ROW => in_order::<SHORT_ROW, { SHORT_ROW + REST }>(&pieces, buckets),
            _ => in_order::<LONG_ROW, { LONG_ROW + REST }>(&pieces, buckets),
        }
    }
}

/// An item in as many bytes as it takes.
fn pack<const ROW: usize, const ALL: usize>(item: Item) -> [u8; ALL] {
    let bytes = item.to_le_bytes();
    std::array::from_fn(|i| bytes.get(if i < ROW { i } else { i + LONG_ROW - ROW }).copied().unwrap_or(0))
}

fn unpack<const ROW: usize, const ALL: usize>(packed: &[u8; ALL]) -> Item {
    let bytes = std::array::from_fn(|i| match i {
        i if i < ROW => packed.get(i).copied().unwrap_or(0),
        i if i < LONG_ROW => 0,
        i => packed.get(i + ROW - LONG_ROW).copied().unwrap_or(0),
    });
    Item::from_le_bytes(bytes)
}

/// All items of these pieces, those of a bucket together: they are counted, and then each goes to its place.
fn in_order<const ROW: usize, const ALL: usize>(pieces: &[Vec<u8>], buckets: usize) -> Result<Vec<Item>> {
    let packed = || pieces.iter().flat_map(|p| p.as_chunks::<ALL>().0);
    let mut places: Vec<usize> = memory::with_room(buckets + 1)?;
    places.resize(buckets + 1, 0);
    for bytes in packed() {
        let n = bytes.last_chunk().map_or(0, |b| usize::from(u16::from_le_bytes(*b)));
        places.get_mut(n + 1).into_iter().for_each(|count| *count += 1);
    }
    let mut end = 0;
    for place in &mut places {
        end += *place;
        *place = end;
    }
    let mut items = memory::with_room(end)?;
    items.resize(end, 0);
    for bytes in packed() {
        let item = unpack::<ROW, ALL>(bytes);
        let Some(place) = places.get_mut((item >> 112) as usize) else { continue };
        items.get_mut(*place).into_iter().for_each(|slot| *slot = item);
        *place += 1;
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn what_goes_in_comes_out() {
        for (rows, most) in [(1 << 32, 0), (1 << 32, 4000), (1 << 32, 1 << 30), (MOST_ROWS, 0), (MOST_ROWS, 1 << 30)] {
            let folder = SimDisk::default().folder();
            let parts = Parts::new(3, rows, most, Some(Spill::new(&folder, "x".into()))).unwrap();
            let of = |part: u64| (0..300).map(move |k| item(k * 7 % 65536, u64::MAX - k * part, rows - 1 - k)).collect::<Vec<_>>();
            for part in 0..3 {
                of(part).chunks(7).for_each(|few| parts.add(part as usize, few).unwrap());
            }
            for part in 0..3 {
                assert_eq!(parts.items(part), 300);
                let mut items = parts.take(part, 1 << 16).unwrap();
                items.sort_unstable();
                let mut want = of(part as u64);
                want.sort_unstable();
                assert!(items == want);
                assert_eq!(parts.items(part), 0);
            }
            assert_eq!((parts.kept.load(Ordering::Relaxed), folder.exists("x".as_ref()).unwrap()), (0, most < 1 << 30), "{rows} {most}");
        }
    }
}
