//! A bounded LRU cache, one per handle, shared by all threads that read through the handle.
//!
//! The size is bounded per handle, and by a budget for all handles together. The caller creates
//! values without holding the lock. No operation waits for the lock: if another thread holds it, a
//! lookup is a miss and an insertion has no effect.
#![forbid(unsafe_code)]

use crate::parallel::try_lock;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Remaining cost that the caches of all handles may still use for one kind of value.
pub struct CacheBudget(AtomicUsize);

impl CacheBudget {
    /// Creates a budget with a total cost of `max_cost`.
    pub const fn new(max_cost: usize) -> CacheBudget {
        CacheBudget(AtomicUsize::new(max_cost))
    }

    fn take(&'static self, n: usize) -> Option<Share> {
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(n)
            });
        taken.ok().map(|_| Share(self, n))
    }
}

/// A reserved part of a budget, returned to the budget on drop.
struct Share(&'static CacheBudget, usize);

impl Drop for Share {
    fn drop(&mut self) {
        self.0.0.fetch_add(self.1, Ordering::Relaxed);
    }
}

/// A bounded LRU cache; see the module documentation.
pub struct LruCache<K, V> {
    entries: Mutex<Entries<K, V>>,
    max_entries: usize,
    max_cost: usize,
    budget: &'static CacheBudget,
}

struct Entries<K, V> {
    all: HashMap<K, Entry<V>, BuildHasherDefault<MultiplyHasher>>,
    /// The number of lookups and insertions so far.
    now: u64,
    total_cost: usize,
}

struct Entry<V> {
    value: V,
    share: Share,
    last_use: u64,
}

impl<K: Hash + Eq + Copy, V: Clone> LruCache<K, V> {
    /// Creates a cache of at most `max_entries` entries.
    pub fn new(max_entries: usize, budget: &'static CacheBudget) -> LruCache<K, V> {
        LruCache {
            entries: Mutex::default(),
            max_entries,
            max_cost: usize::MAX,
            budget,
        }
    }

    /// Limits the total cost of the entries to `max_cost`. A single entry may cost more.
    pub fn with_max_cost(self, max_cost: usize) -> LruCache<K, V> {
        LruCache { max_cost, ..self }
    }

    /// Returns the value of `key`, if it is cached, and marks it as most recently used.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut entries = try_lock(&self.entries)?;
        let entries = &mut *entries;
        let entry = entries.all.get_mut(key)?;
        entries.now += 1;
        entry.last_use = entries.now;
        Some(entry.value.clone())
    }

    /// Inserts an entry and replaces an entry of the same key. Evicts entries of this cache until
    /// the budget has room for `cost`; if it never has, the new entry is not inserted.
    pub fn put(&self, key: K, value: V, cost: usize) {
        let Some(mut entries) = try_lock(&self.entries) else {
            return;
        };
        entries.remove(&key);
        self.evict_for(&mut entries, cost);
        let share = loop {
            match self.budget.take(cost) {
                Some(share) => break share,
                None if entries.evict().is_none() => return,
                None => {}
            }
        };
        entries.now += 1;
        entries.total_cost += cost;
        let last_use = entries.now;
        let entry = Entry {
            value,
            share,
            last_use,
        };
        entries.all.insert(key, entry);
    }

    /// Evicts the entries that an insertion of this cost would evict, so that their memory is free
    /// before the caller creates the new value. Returns the last evicted value for reuse.
    pub fn make_room(&self, cost: usize) -> Option<V> {
        try_lock(&self.entries).and_then(|mut entries| self.evict_for(&mut entries, cost))
    }

    fn evict_for(&self, entries: &mut Entries<K, V>, cost: usize) -> Option<V> {
        let max_cost = self.max_cost.saturating_sub(cost);
        let mut evicted = None;
        while entries.all.len() >= self.max_entries || entries.total_cost > max_cost {
            let Some(value) = entries.evict() else {
                break;
            };
            evicted = Some(value);
        }
        evicted
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries = Mutex::default();
    }
}

impl<K: Hash + Eq + Copy, V> Entries<K, V> {
    fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.all.remove(key)?;
        self.total_cost -= entry.share.1;
        Some(entry.value)
    }

    /// Removes the least recently used entry. Takes time in proportion to the number of entries; an
    /// insertion follows, whose value took longer to create.
    fn evict(&mut self) -> Option<V> {
        let oldest = self.all.iter().min_by_key(|(_, entry)| entry.last_use);
        let key = *oldest?.0;
        self.remove(&key)
    }
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Entries<K, V> {
        Entries {
            all: HashMap::default(),
            now: 0,
            total_cost: 0,
        }
    }
}

/// A fast hash of numbers, for small tables whose keys are not distributed maliciously, or where
/// that costs no more than a linear search.
#[derive(Clone, Copy, Default)]
pub struct MultiplyHasher(u64);

impl Hasher for MultiplyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, n: u64) {
        // 2^64 divided by the golden ratio
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Detects repeated reads of small parts of one block, for which decoding the whole block and
/// caching it is faster.
#[derive(Default)]
pub struct PartialReads(Mutex<ReadHistory>);

/// The last block read, the number of its partial reads in a row, and the end of the last one.
#[derive(Default)]
struct ReadHistory {
    block: usize,
    reads: u32,
    end: usize,
}

impl PartialReads {
    /// Records a read of `n` bytes from offset `from` of `block`. Returns whether further reads of
    /// the block are likely: more than `max_reads` in a row, or this one continues the last one.
    pub fn should_decode_whole(&self, block: usize, from: usize, n: usize, max_reads: u32) -> bool {
        let Some(mut last) = try_lock(&self.0) else {
            return false;
        };
        let again = last.reads > 0 && last.block == block;
        let reads = if again { last.reads + 1 } else { 1 };
        let likely = reads > max_reads || (again && last.end == from);
        // Counting restarts, because the decoded block may soon be evicted.
        *last = ReadHistory {
            block,
            reads: if likely { 0 } else { reads },
            end: from + n,
        };
        likely
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted_first() {
        static BUDGET: CacheBudget = CacheBudget::new(100);
        let cache = LruCache::new(3, &BUDGET);
        (0..3).for_each(|i| cache.put(i, i * 10, 1));
        assert_eq!(cache.get(&0), Some(0));
        cache.put(3, 30, 1);
        assert_eq!(
            [0, 1, 2, 3].map(|i| cache.get(&i)),
            [Some(0), None, Some(20), Some(30)]
        );
        cache.put(3, 31, 1);
        assert_eq!(
            (cache.get(&3), BUDGET.0.load(Ordering::Relaxed)),
            (Some(31), 97)
        );
    }

    #[test]
    fn handles_share_a_budget_and_return_their_shares() {
        static BUDGET: CacheBudget = CacheBudget::new(10);
        let left = || BUDGET.0.load(Ordering::Relaxed);
        let (mut one, two) = (LruCache::new(9, &BUDGET), LruCache::new(9, &BUDGET));
        one.put(1, (), 8);
        two.put(1, (), 3);
        assert_eq!((one.get(&1), two.get(&1), left()), (Some(()), None, 2));
        // entries of the same cache are evicted for new ones
        one.put(2, (), 9);
        assert_eq!((one.get(&1), one.get(&2), left()), (None, Some(()), 1));
        one.put(3, (), 11);
        assert_eq!((one.get(&2), one.get(&3), left()), (None, None, 10));
        two.put(1, (), 10);
        one.clear();
        drop(two);
        assert_eq!(left(), 10);
    }

    #[test]
    fn the_total_cost_of_several_entries_is_limited() {
        static BUDGET: CacheBudget = CacheBudget::new(100);
        let cache = LruCache::new(3, &BUDGET).with_max_cost(10);
        cache.put(1, 1, 4);
        cache.put(2, 2, 4);
        assert_eq!((cache.make_room(2), cache.get(&1)), (None, Some(1)));
        assert_eq!(
            (cache.make_room(7), cache.get(&2), cache.get(&1)),
            (Some(1), None, None)
        );
        // a single entry is cached whatever its cost
        cache.put(3, 3, 50);
        assert_eq!(cache.get(&3), Some(3));
        cache.put(4, 4, 1);
        assert_eq!((cache.get(&3), cache.get(&4)), (None, Some(4)));
    }

    #[test]
    fn no_operation_waits_for_the_lock() {
        static BUDGET: CacheBudget = CacheBudget::new(10);
        let cache = LruCache::new(3, &BUDGET);
        cache.put(1, 1, 1);
        let guard = cache.entries.lock().unwrap();
        assert_eq!(cache.get(&1), None);
        cache.put(2, 2, 1);
        drop(guard);
        assert_eq!((cache.get(&1), cache.get(&2)), (Some(1), None));
    }

    #[test]
    fn repeated_and_sequential_partial_reads_are_detected() {
        let reads = PartialReads::default();
        assert_eq!(
            [1, 9, 5, 7, 3].map(|from| reads.should_decode_whole(4, from, 1, 4)),
            [false, false, false, false, true]
        );
        // sequential reads, in any block
        assert_eq!(
            [(4, 0), (5, 0), (5, 8), (4, 8)]
                .map(|(block, from)| reads.should_decode_whole(block, from, 8, 4)),
            [false, false, true, false]
        );
    }
}
