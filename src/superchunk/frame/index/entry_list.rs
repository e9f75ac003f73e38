//! The entries of all chunks, and how many of the first ones are as the last commit stored them.
#![forbid(unsafe_code)]

use super::entry::Entry;
use crate::alloc;
use crate::error::Result;
use crate::slice::SliceExt;
use std::ops::Deref;

/// The entries of all chunks.
#[derive(Debug, Default)]
pub struct EntryList {
    entries: Vec<Entry>,
    /// The number of entries of the last commit.
    committed: usize,
    unchanged: usize,
}

impl Deref for EntryList {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

impl EntryList {
    /// Returns how many entries, from the first one on, are as the last commit stored them.
    pub fn unchanged(&self) -> usize {
        self.unchanged
    }

    /// Records that all entries were committed.
    pub fn set_committed(&mut self) {
        (self.committed, self.unchanged) = (self.entries.len(), self.entries.len());
    }

    /// Returns whether entries were only appended since the last commit, and at most its last one
    /// was replaced.
    pub fn is_appended(&self) -> bool {
        self.unchanged + 1 >= self.committed && self.entries.len() >= self.committed
    }

    fn change_from(&mut self, i: usize) {
        self.unchanged = self.unchanged.min(i);
    }

    /// Reserves memory for so many more entries.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        alloc::reserve(&mut self.entries, n)
    }

    /// Returns an entry for a change.
    pub fn at_mut(&mut self, i: usize) -> Result<&mut Entry> {
        self.change_from(i);
        self.entries.at_mut(i)
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Appends entries, for which memory was reserved.
    pub fn extend(&mut self, entries: impl Iterator<Item = Entry>) {
        self.entries.extend(entries);
    }

    /// Inserts an entry before entry `i`, or after the last one.
    pub fn insert(&mut self, i: usize, entry: Entry) {
        self.change_from(i);
        self.entries.insert(i, entry);
    }

    /// Removes an entry.
    pub fn remove(&mut self, i: usize) {
        self.change_from(i);
        self.entries.remove(i);
    }

    /// Keeps the first `n` entries.
    pub fn truncate(&mut self, n: usize) {
        self.change_from(n);
        self.entries.truncate(n);
    }

    /// Replaces all entries.
    pub fn replace(&mut self, entries: Vec<Entry>) {
        self.change_from(0);
        self.entries = entries;
    }

    /// Iterates over all entries for changes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.change_from(0);
        self.entries.iter_mut()
    }
}
