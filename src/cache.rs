//! What was of use lately, kept for the next call: of one handle, that many threads read from.
//!
//! What is kept is bounded for each handle and for all of them together. No lock is held while
//! something is made, and none is waited for: where another thread looks just now, nothing is
//! found.
#![forbid(unsafe_code)]

use crate::parallel::unless_taken;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all handles together may still keep of one kind.
pub struct Budget(AtomicUsize);

impl Budget {
    /// So much.
    pub const fn new(most: usize) -> Budget {
        Budget(AtomicUsize::new(most))
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

/// A part of a budget, until it is dropped.
struct Share(&'static Budget, usize);

impl Drop for Share {
    fn drop(&mut self) {
        self.0.0.fetch_add(self.1, Ordering::Relaxed);
    }
}

/// See the top of the file. The last of them was of use last.
pub struct Lately<K, V> {
    all: Mutex<VecDeque<(K, V, Share)>>,
    most: usize,
    cost: usize,
    budget: &'static Budget,
}

impl<K: PartialEq, V: Clone> Lately<K, V> {
    /// At most so many.
    pub fn new(most: usize, budget: &'static Budget) -> Lately<K, V> {
        Lately {
            all: Mutex::default(),
            most,
            cost: usize::MAX,
            budget,
        }
    }

    /// The same, and but for one at most what costs so much together.
    pub fn within(self, cost: usize) -> Lately<K, V> {
        Lately { cost, ..self }
    }

    /// What has this key, if it is kept.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut all = unless_taken(&self.all)?;
        let at = all.iter().rposition(|(k, ..)| k == key)?;
        let found = all.remove(at)?;
        let value = found.1.clone();
        all.push_back(found);
        Some(value)
    }

    /// Keeps it, in place of what has the same key, where the budget has room for its cost.
    pub fn put(&self, key: K, value: V, cost: usize) {
        let Some(mut all) = unless_taken(&self.all) else {
            return;
        };
        all.retain(|(k, ..)| *k != key);
        self.drop_for(&mut all, cost);
        let share = loop {
            match self.budget.take(cost) {
                Some(share) => break share,
                None if all.pop_front().is_none() => return,
                None => {}
            }
        };
        all.push_back((key, value, share));
    }

    /// Lets go, before something is made that costs so much, of what could not be kept beside it:
    /// the last of that, to be used again.
    pub fn make_room(&self, cost: usize) -> Option<V> {
        unless_taken(&self.all).and_then(|mut all| self.drop_for(&mut all, cost))
    }

    fn drop_for(&self, all: &mut VecDeque<(K, V, Share)>, cost: usize) -> Option<V> {
        let most = self.cost.saturating_sub(cost);
        let mut there: usize = all.iter().map(|(_, _, share)| share.1).sum();
        let mut gone = None;
        while all.len() >= self.most || there > most {
            let Some((_, value, share)) = all.pop_front() else {
                break;
            };
            there -= share.1;
            gone = Some(value);
        }
        gone
    }

    /// Keeps nothing.
    pub fn clear(&mut self) {
        self.all = Mutex::default();
    }
}

/// Parts of blocks that were wanted lately: a block of which one small part after the other is
/// wanted may as well be decoded as a whole.
#[derive(Default)]
pub struct Parts(Mutex<Wanted>);

/// The block that parts were wanted of, how many, and where the last one ended.
#[derive(Default)]
struct Wanted {
    block: usize,
    parts: u32,
    end: usize,
}

impl Parts {
    /// Is more of this block likely to be wanted: were there so many parts before, or does this one
    /// go on from the last?
    pub fn are_likely(&self, block: usize, from: usize, n: usize, most: u32) -> bool {
        let Some(mut lately) = unless_taken(&self.0) else {
            return false;
        };
        let again = lately.parts > 0 && lately.block == block;
        let parts = if again { lately.parts + 1 } else { 1 };
        let likely = parts > most || (again && lately.end == from);
        // from the beginning, as it may not be kept for long
        *lately = Wanted {
            block,
            parts: if likely { 0 } else { parts },
            end: from + n,
        };
        likely
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recent_goes_first() {
        static ROOM: Budget = Budget::new(100);
        let kept = Lately::new(3, &ROOM);
        (0..3).for_each(|i| kept.put(i, i * 10, 1));
        assert_eq!(kept.get(&0), Some(0));
        kept.put(3, 30, 1);
        assert_eq!(
            [0, 1, 2, 3].map(|i| kept.get(&i)),
            [Some(0), None, Some(20), Some(30)]
        );
        kept.put(3, 31, 1);
        assert_eq!(
            (kept.get(&3), ROOM.0.load(Ordering::Relaxed)),
            (Some(31), 97)
        );
    }

    #[test]
    fn handles_share_a_budget_and_give_it_back() {
        static ROOM: Budget = Budget::new(10);
        let left = || ROOM.0.load(Ordering::Relaxed);
        let (mut one, two) = (Lately::new(9, &ROOM), Lately::new(9, &ROOM));
        one.put(1, (), 8);
        two.put(1, (), 3);
        assert_eq!((one.get(&1), two.get(&1), left()), (Some(()), None, 2));
        // what it has goes for what is new
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
    fn what_is_kept_does_not_cost_more_than_it_may() {
        static ROOM: Budget = Budget::new(100);
        let kept = Lately::new(3, &ROOM).within(10);
        kept.put(1, 1, 4);
        kept.put(2, 2, 4);
        assert_eq!((kept.make_room(2), kept.get(&1)), (None, Some(1)));
        assert_eq!(
            (kept.make_room(7), kept.get(&2), kept.get(&1)),
            (Some(1), None, None)
        );
        // one is kept, whatever it costs
        kept.put(3, 3, 50);
        assert_eq!(kept.get(&3), Some(3));
        kept.put(4, 4, 1);
        assert_eq!((kept.get(&3), kept.get(&4)), (None, Some(4)));
    }

    #[test]
    fn a_thread_that_looks_is_not_waited_for() {
        static ROOM: Budget = Budget::new(10);
        let kept = Lately::new(3, &ROOM);
        kept.put(1, 1, 1);
        let looking = kept.all.lock().unwrap();
        assert_eq!(kept.get(&1), None);
        kept.put(2, 2, 1);
        drop(looking);
        assert_eq!((kept.get(&1), kept.get(&2)), (Some(1), None));
    }

    #[test]
    fn parts_of_one_block() {
        let parts = Parts::default();
        assert_eq!(
            [1, 9, 5, 7, 3].map(|from| parts.are_likely(4, from, 1, 4)),
            [false, false, false, false, true]
        );
        // one behind the other, in any block
        assert_eq!(
            [(4, 0), (5, 0), (5, 8), (4, 8)]
                .map(|(block, from)| parts.are_likely(block, from, 8, 4)),
            [false, false, true, false]
        );
    }
}
