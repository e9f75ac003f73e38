//! What an open object keeps of what was fetched: the last reads, for those who read on or read
//! again, and pages of what is read again and again, as limits are. All open objects together keep
//! so much; beyond, each forgets its own first.
#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a page.
pub const PAGE: u64 = 64 << 10;
/// Bytes that one object keeps of its last reads, and in pages.
const MOST_RECENT: u64 = 12 << 20;
const MOST_PAGES: u64 = 64 << 20;
/// Bytes that all keep.
const MOST_OF_ALL: u64 = 512 << 20;

static HELD: AtomicU64 = AtomicU64::new(0);

/// What one object keeps.
pub struct Kept {
    /// Each with its place, the latest first.
    recent: Mutex<VecDeque<(u64, Vec<u8>)>>,
    pages: Mutex<HashMap<u64, Box<[u8]>>>,
    /// Where the last read ended.
    next: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_full() -> bool {
    HELD.load(Ordering::Relaxed) > MOST_OF_ALL
}

fn hold(n: usize) {
    HELD.fetch_add(n as u64, Ordering::Relaxed);
}

fn let_go(n: usize) {
    HELD.fetch_sub(n as u64, Ordering::Relaxed);
}

impl Kept {
    /// Nothing yet.
    pub fn new() -> Kept {
        Kept {
            recent: Mutex::default(),
            pages: Mutex::default(),
            next: AtomicU64::new(u64::MAX),
        }
    }

    /// Does a read from here go on from where the last one ended?
    pub fn goes_on(&self, at: u64) -> bool {
        self.next.load(Ordering::Relaxed) == at
    }

    /// The last read ended here.
    pub fn ends_at(&self, to: u64) {
        self.next.store(to, Ordering::Relaxed);
    }

    /// Keeps a read.
    pub fn keep_recent(&self, at: u64, bytes: Vec<u8>) {
        let mut recent = locked(&self.recent);
        hold(bytes.len());
        recent.push_front((at, bytes));
        let held =
            |r: &VecDeque<(u64, Vec<u8>)>| r.iter().map(|(_, b)| b.len() as u64).sum::<u64>();
        while recent.len() > 1 && (is_full() || held(&recent) > MOST_RECENT) {
            recent
                .pop_back()
                .into_iter()
                .for_each(|(_, b)| let_go(b.len()));
        }
    }

    /// Copies as much of a range as is kept from its beginning on; returns how much that is.
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

    /// Is all of a range in one read that is kept?
    pub fn has_recent(&self, from: u64, to: u64) -> bool {
        locked(&self.recent)
            .iter()
            .any(|(at, b)| *at <= from && to <= *at + b.len() as u64)
    }

    /// Keeps bytes that begin with this page and end with another, or with the object.
    pub fn keep_pages(&self, first: u64, bytes: &[u8]) {
        let mut pages = locked(&self.pages);
        if is_full() || pages.len() as u64 * PAGE > MOST_PAGES {
            pages.drain().for_each(|(_, b)| let_go(b.len()));
        }
        for (i, page) in (first..).zip(bytes.chunks(PAGE as usize)) {
            hold(page.len());
            pages
                .insert(i, page.into())
                .into_iter()
                .for_each(|b| let_go(b.len()));
        }
    }

    /// As [`Kept::copy_recent`], from pages.
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

    /// Is this page kept?
    pub fn has_page(&self, page: u64) -> bool {
        locked(&self.pages).contains_key(&page)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        locked(&self.recent)
            .drain(..)
            .for_each(|(_, b)| let_go(b.len()));
        locked(&self.pages)
            .drain()
            .for_each(|(_, b)| let_go(b.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_read_again() {
        let kept = Kept::new();
        kept.keep_recent(10, (10..20).collect());
        kept.keep_recent(20, (20..25).collect());
        let mut dst = [0; 20];
        assert_eq!(kept.copy_recent(15, &mut dst), 10);
        assert_eq!(dst[..10], (15..25).collect::<Vec<u8>>());
        assert_eq!(
            (
                kept.copy_recent(9, &mut dst),
                kept.copy_recent(25, &mut dst)
            ),
            (0, 0)
        );
        kept.keep_recent(1 << 40, vec![7; MOST_RECENT as usize]);
        assert_eq!(
            (
                kept.copy_recent(15, &mut dst),
                kept.copy_recent(1 << 40, &mut dst)
            ),
            (0, 20)
        );
    }

    #[test]
    fn pages() {
        let kept = Kept::new();
        kept.keep_pages(1, &vec![1; PAGE as usize + 5]);
        let mut dst = [0; 20];
        assert_eq!(kept.copy_pages(PAGE * 2 - 4, &mut dst), 9);
        assert_eq!(dst[..10], [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
        assert!(kept.has_page(2) && !kept.has_page(0) && kept.copy_pages(0, &mut dst) == 0);
    }
}
