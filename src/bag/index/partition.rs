//! Fingerprints on their way to the buckets: parts, each of neighbouring buckets, of which one
//! after the other is sorted. They are kept packed in pieces of memory; beyond a bound the pieces
//! go to a file.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use crate::io::{Access, File, Folder};
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A row and its key's fingerprint, in the order in which they are wanted: 16 bits, which bucket of
/// the part; 64 bits of fingerprint; 48 bits, the row.
pub type Item = u128;
/// Rows are below.
pub const MOST_ROWS: u64 = 1 << 48;
/// Items of a piece at most: where there is a file for them; and where there is none, so many that
/// their memory goes back to the system, for the index itself, when a part has been taken out.
const PIECE: u64 = 1024;
const LARGE_PIECE: u64 = 16 << 10;
/// Bytes of an item: a row takes as many as all need, 4 or 6, and the rest 10.
const SHORT: usize = 14;
const LONG: usize = 16;
const REST: usize = 10;
const ROW_BITS: u32 = 48;
/// Upper bits of a fingerprint by which items of a bucket are brought in order before they are
/// compared.
const NEAR: u32 = 4;

/// An item of its three numbers.
pub fn item(bucket: u64, tag: u64, row: u64) -> Item {
    u128::from(bucket) << 112 | u128::from(tag) << 48 | u128::from(row)
}

/// The parts. Many threads may add to them.
pub struct Parts {
    all: Vec<Mutex<Part>>,
    /// Bytes of an item, and of a piece.
    each: usize,
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
    /// For items of rows below `rows`; at most so many bytes of them stay in memory where there is
    /// a file.
    pub fn new(parts: u64, rows: u64, most: u64, spill: Option<Spill>) -> Result<Parts> {
        let each = if rows <= 1 << 32 { SHORT } else { LONG };
        let all = alloc::defaults(parts as usize)?;
        let fit = most / (4 * parts * each as u64);
        let largest = if spill.is_some() { PIECE } else { LARGE_PIECE };
        Ok(Parts {
            all,
            each,
            piece: fit.clamp(16, largest) as usize * each,
            most,
            kept: AtomicU64::new(0),
            spill,
        })
    }

    /// How many items a part has.
    pub fn items(&self, part: usize) -> u64 {
        self.all.get(part).map_or(0, |p| {
            p.lock().unwrap_or_else(PoisonError::into_inner).items
        })
    }

    /// Adds items, each to the part of this number.
    pub fn add(&self, numbers: &[u32], items: &[Item]) -> Result<()> {
        match self.each {
            SHORT => self.add_packed::<SHORT>(numbers, items),
            _ => self.add_packed::<LONG>(numbers, items),
        }
    }

    fn add_packed<const N: usize>(&self, numbers: &[u32], items: &[Item]) -> Result<()> {
        // those of a part together, so that each part is locked once
        let mut places: Vec<usize> = alloc::defaults(self.all.len())?;
        for &n in numbers {
            places
                .get_mut(n as usize)
                .into_iter()
                .for_each(|count| *count += 1);
        }
        starts(&mut places);
        let mut packed = alloc::zeroed(items.len() * N)?;
        let (slots, _) = packed.as_chunks_mut();
        for (&n, &item) in numbers.iter().zip(items) {
            let Some(place) = places.get_mut(n as usize) else {
                continue;
            };
            slots
                .get_mut(*place)
                .into_iter()
                .for_each(|slot| *slot = pack::<N>(item));
            *place += 1;
        }
        let mut start = 0;
        for (part, end) in self.all.iter().zip(places) {
            let of_part = slots
                .get(std::mem::replace(&mut start, end)..end)
                .unwrap_or_default();
            if !of_part.is_empty() {
                self.add_to(part, of_part.as_flattened())?;
            }
        }
        Ok(())
    }

    fn add_to(&self, part: &Mutex<Part>, mut packed: &[u8]) -> Result<()> {
        let mut p = part.lock().unwrap_or_else(PoisonError::into_inner);
        p.items += (packed.len() / self.each) as u64;
        while !packed.is_empty() {
            if p.open.len() == self.piece {
                self.close(&mut p)?;
            }
            let (some, rest) = packed
                .split_at_checked(self.piece - p.open.len())
                .unwrap_or((packed, &[]));
            if p.open.capacity() - p.open.len() < some.len() {
                // no more than the piece will have
                let more = p
                    .open
                    .len()
                    .max(some.len())
                    .max(16 * self.each)
                    .min(self.piece - p.open.len());
                p.open
                    .try_reserve_exact(more)
                    .map_err(|_| fail!(Memory, "{more} bytes of memory could not be had"))?;
            }
            p.open.extend_from_slice(some);
            packed = rest;
        }
        Ok(())
    }

    /// Puts the open piece of a part to the full ones.
    fn close(&self, p: &mut Part) -> Result<()> {
        alloc::reserve(&mut p.full, 1)?;
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

    /// Takes all items of a part, which has so many buckets, out, in their order.
    pub fn take(&self, part: usize, buckets: usize) -> Result<Vec<Item>> {
        let Some(part) = self.all.get(part) else {
            return Ok(Vec::new());
        };
        let part = std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
        let mut pieces: Vec<Vec<u8>> = alloc::with_room(part.full.len() + 1)?;
        for piece in part.full {
            pieces.push(match (piece, &self.spill) {
                (Piece::Kept(bytes), _) => {
                    self.kept.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
                    bytes
                }
                (Piece::Spilled(at), Some(s)) => {
                    // only full pieces were spilled
                    let mut bytes = alloc::zeroed(self.piece)?;
                    s.file()?.read_exact_at(at, &mut bytes)?;
                    bytes
                }
                (Piece::Spilled(_), None) => continue,
            });
        }
        pieces.push(part.open);
        match self.each {
            SHORT => in_order::<SHORT>(&pieces, buckets),
            _ => in_order::<LONG>(&pieces, buckets),
        }
    }
}

/// Makes counts the places where what is counted begins.
fn starts(counts: &mut [usize]) {
    let mut start = 0;
    for n in counts {
        start += std::mem::replace(n, start);
    }
}

/// An item in as many bytes as it takes: the lower ones of its row, and the rest.
fn pack<const N: usize>(item: Item) -> [u8; N] {
    let row = 8 * (N - REST);
    let bytes = (item & ((1 << row) - 1) | item >> ROW_BITS << row).to_le_bytes();
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn unpack<const N: usize>(packed: &[u8; N]) -> Item {
    let mut bytes = [0; LONG];
    bytes.iter_mut().zip(packed).for_each(|(b, p)| *b = *p);
    let (row, all) = (8 * (N - REST), Item::from_le_bytes(bytes));
    all & ((1 << row) - 1) | all >> row << ROW_BITS
}

/// All items of these pieces in their order: they are counted by the bits of [`NEAR`], each goes to
/// its place, and the few of one place are sorted.
fn in_order<const N: usize>(pieces: &[Vec<u8>], buckets: usize) -> Result<Vec<Item>> {
    let packed = || pieces.iter().flat_map(|p| p.as_chunks::<N>().0);
    let near = |item: Item| (item >> (112 - NEAR)) as usize;
    let mut places: Vec<usize> = alloc::defaults(buckets << NEAR)?;
    let mut all = 0;
    for bytes in packed() {
        places
            .get_mut(near(unpack(bytes)))
            .into_iter()
            .for_each(|count| *count += 1);
        all += 1;
    }
    starts(&mut places);
    let mut items: Vec<Item> = alloc::defaults(all)?;
    for bytes in packed() {
        let item = unpack(bytes);
        let Some(place) = places.get_mut(near(item)) else {
            continue;
        };
        items
            .get_mut(*place)
            .into_iter()
            .for_each(|slot| *slot = item);
        *place += 1;
    }
    let mut start = 0;
    for end in places {
        match items.get_mut(std::mem::replace(&mut start, end)..end) {
            None | Some([] | [_]) => {}
            Some(&mut [ref mut a, ref mut b]) => {
                let two = (*a, *b);
                (*a, *b) = (two.0.min(two.1), two.0.max(two.1));
            }
            Some(more) => more.sort_unstable(),
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn what_goes_in_comes_out() {
        for (rows, most) in [
            (1 << 32, 0),
            (1 << 32, 4000),
            (1 << 32, 1 << 30),
            (MOST_ROWS, 0),
            (MOST_ROWS, 1 << 30),
        ] {
            let folder = SimDisk::default().folder();
            let parts = Parts::new(3, rows, most, Some(Spill::new(&folder, "x".into()))).unwrap();
            let of = |part: u64| {
                (0..300)
                    .map(move |k| item(k * 7 % 65536, u64::MAX - k * part, rows - 1 - k))
                    .collect::<Vec<_>>()
            };
            for part in 0..3 {
                of(part)
                    .chunks(7)
                    .for_each(|few| parts.add(&[part as u32; 7][..few.len()], few).unwrap());
            }
            for part in 0..3 {
                assert_eq!(parts.items(part), 300);
                let items = parts.take(part, 1 << 16).unwrap();
                let mut want = of(part as u64);
                want.sort_unstable();
                assert!(items == want);
                assert_eq!(parts.items(part), 0);
            }
            assert_eq!(
                (
                    parts.kept.load(Ordering::Relaxed),
                    folder.exists("x".as_ref()).unwrap()
                ),
                (0, most < 1 << 30),
                "{rows} {most}"
            );
        }
    }
}
