//! The cache of an open object: recent reads, for sequential and repeated access, and pages of
//! ranges that are read repeatedly, such as limits.
#![forbid(unsafe_code)]

use crate::io::recent_reads::{RecentReads, add_to_total, is_full, subtract_from_total};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a page in bytes.
pub const PAGE: u64 = 64 << 10;
/// Maximum number of bytes of the pages of an object.
const MAX_PAGES: u64 = 64 << 20;

/// The cache of one object.
pub struct ObjectCache {
    /// The last reads, with read-ahead.
    pub recent: RecentReads,
    pages: Mutex<HashMap<u64, Box<[u8]>>>,
    /// Offset of the end of the last read.
    next: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ObjectCache {
    /// Creates an empty cache.
    pub fn new() -> ObjectCache {
        ObjectCache {
            recent: RecentReads::default(),
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

    /// Like [`RecentReads::copy`], from pages.
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
        locked(&self.pages)
            .drain()
            .for_each(|(_, b)| subtract_from_total(b.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
