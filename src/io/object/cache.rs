//! The cache of an open object: recent reads, for sequential and repeated access, and pages of
//! ranges that are read repeatedly, such as limits. All open objects share one limit. Above it,
//! each object evicts its own data first.
#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a page in bytes.
pub const PAGE: u64 = 64 << 10;
/// Maximum number of bytes per object of recent reads and of pages.
const MAX_RECENT: u64 = 40 << 20;
const MAX_PAGES: u64 = 64 << 20;
/// Maximum number of bytes of all objects.
const MAX_TOTAL: u64 = 512 << 20;

static TOTAL: AtomicU64 = AtomicU64::new(0);

/// The cache of one object.
pub struct ObjectCache {
    /// Offset and bytes of each read, the latest first.
    recent: Mutex<VecDeque<(u64, Vec<u8>)>>,
    pages: Mutex<HashMap<u64, Box<[u8]>>>,
    /// Offset of the end of the last read.
    next: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_full() -> bool {
    TOTAL.load(Ordering::Relaxed) > MAX_TOTAL
}

fn add_to_total(n: usize) {
    TOTAL.fetch_add(n as u64, Ordering::Relaxed);
}

fn subtract_from_total(n: usize) {
    TOTAL.fetch_sub(n as u64, Ordering::Relaxed);
}

impl ObjectCache {
    /// Creates an empty cache.
    pub fn new() -> ObjectCache {
        ObjectCache {
            recent: Mutex::default(),
            pages: Mutex::default(),
            next: AtomicU64::new(u64::MAX),
        }
    }

    /// Returns whether a read at `at` continues the last one.
    pub fn continues(&self, at: u64) -> bool {
        self.next.load(Ordering::Relaxed) == at
    }

    /// Records the end of the last read.
    pub fn set_end(&self, to: u64) {
        self.next.store(to, Ordering::Relaxed);
    }

    /// Adds a read. Evicts the oldest ones above the limit.
    pub fn insert_recent(&self, at: u64, bytes: Vec<u8>) {
        let mut recent = locked(&self.recent);
        add_to_total(bytes.len());
        recent.push_front((at, bytes));
        let size =
            |r: &VecDeque<(u64, Vec<u8>)>| r.iter().map(|(_, b)| b.len() as u64).sum::<u64>();
        while recent.len() > 1 && (is_full() || size(&recent) > MAX_RECENT) {
            recent
                .pop_back()
                .into_iter()
                .for_each(|(_, b)| subtract_from_total(b.len()));
        }
    }

    /// Copies the longest cached prefix of a range. Returns its length.
    pub fn copy_recent(&self, at: u64, dst: &mut [u8]) -> usize {
        let recent = locked(&self.recent);
        let mut done = 0;
        while let Some(rest) = dst.get_mut(done..).filter(|r| !r.is_empty()) {
            let from = at + done as u64;
            let Some(there) = recent.iter().find_map(|(at, b)| {
                b.get(usize::try_from(from.checked_sub(*at)?).ok()?..)
                    .filter(|b| !b.is_empty())
            }) else {
                break;
            };
            let n = there.len().min(rest.len());
            rest.iter_mut().zip(there).for_each(|(d, s)| *d = *s);
            done += n;
        }
        done
    }

    /// Returns whether one cached read contains the range.
    pub fn has_recent(&self, from: u64, to: u64) -> bool {
        locked(&self.recent)
            .iter()
            .any(|(at, b)| *at <= from && to <= *at + b.len() as u64)
    }

    /// Adds pages, from page `first` on. The last one may be short at the end of the object.
    pub fn insert_pages(&self, first: u64, bytes: &[u8]) {
        let mut pages = locked(&self.pages);
        if is_full() || pages.len() as u64 * PAGE > MAX_PAGES {
            pages
                .drain()
                .for_each(|(_, b)| subtract_from_total(b.len()));
        }
        for (i, page) in (first..).zip(bytes.chunks(PAGE as usize)) {
            add_to_total(page.len());
            pages
                .insert(i, page.into())
                .into_iter()
                .for_each(|b| subtract_from_total(b.len()));
        }
    }

    /// Like [`ObjectCache::copy_recent`], from pages.
    pub fn copy_pages(&self, at: u64, dst: &mut [u8]) -> usize {
        let pages = locked(&self.pages);
        let mut done = 0;
        while let Some(rest) = dst.get_mut(done..).filter(|r| !r.is_empty()) {
            let from = at + done as u64;
            let Some(there) = pages
                .get(&(from / PAGE))
                .and_then(|p| p.get((from % PAGE) as usize..))
                .filter(|b| !b.is_empty())
            else {
                break;
            };
            let n = there.len().min(rest.len());
            rest.iter_mut().zip(there).for_each(|(d, s)| *d = *s);
            done += n;
        }
        done
    }

    /// Returns whether a page is cached.
    pub fn has_page(&self, page: u64) -> bool {
        locked(&self.pages).contains_key(&page)
    }
}

impl Drop for ObjectCache {
    fn drop(&mut self) {
        locked(&self.recent)
            .drain(..)
            .for_each(|(_, b)| subtract_from_total(b.len()));
        locked(&self.pages)
            .drain()
            .for_each(|(_, b)| subtract_from_total(b.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_reads_are_cached() {
        let cache = ObjectCache::new();
        cache.insert_recent(10, (10..20).collect());
        cache.insert_recent(20, (20..25).collect());
        let mut dst = [0; 20];
        assert_eq!(cache.copy_recent(15, &mut dst), 10);
        assert_eq!(dst[..10], (15..25).collect::<Vec<u8>>());
        assert_eq!(
            (
                cache.copy_recent(9, &mut dst),
                cache.copy_recent(25, &mut dst)
            ),
            (0, 0)
        );
        cache.insert_recent(1 << 40, vec![7; MAX_RECENT as usize]);
        assert_eq!(
            (
                cache.copy_recent(15, &mut dst),
                cache.copy_recent(1 << 40, &mut dst)
            ),
            (0, 20)
        );
    }

    #[test]
    fn pages_are_cached() {
        let cache = ObjectCache::new();
        cache.insert_pages(1, &vec![1; PAGE as usize + 5]);
        let mut dst = [0; 20];
        assert_eq!(cache.copy_pages(PAGE * 2 - 4, &mut dst), 9);
        assert_eq!(dst[..10], [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
        assert!(cache.has_page(2) && !cache.has_page(0) && cache.copy_pages(0, &mut dst) == 0);
    }
}
