//! A few hundred records of one file that are read as one task: what they are, and what is known of
//! them.
#![forbid(unsafe_code)]

use super::Item;
use super::budget::Budget;
use crate::alloc;
use crate::bag::codec::Codec;
use crate::bag::limits::Around;
use crate::bag::offset_check::Odd;
use crate::bag::shard::Shard;
use crate::error::{Error, Result};

pub struct Task<'a> {
    pub shard: &'a Shard,
    pub which: Which<'a>,
    /// Stored bytes of compressed records, unless the file is mapped.
    pub fetched: Vec<u8>,
    /// A value a record; none at all for uncompressed neighbours of which nothing is odd.
    pub found: Vec<Found>,
    /// Of uncompressed records, where there are any.
    pub sums: Vec<u32>,
    /// Records that cannot be read.
    pub errors: Vec<(usize, Error)>,
    /// Is it known where the records are?
    pub located: bool,
    /// Have their stored bytes come, for all tasks together?
    pub arrived: bool,
    /// Were their stored bytes let go of, to be fetched again where they are decoded?
    pub let_go: bool,
}

pub enum Which<'a> {
    /// The bounds of all, and those before the first and after the last.
    Run {
        first: u64,
        bounds: &'a [u64],
        edges: (u64, u64),
        out: usize,
    },
    Scattered {
        items: &'a [Item],
        extents: Vec<Around>,
    },
}

/// Where decoded records go.
pub enum Slots<'a> {
    One(&'a mut [u8]),
    Each(Vec<&'a mut [u8]>),
}

/// What the first pass found out about a record.
#[derive(Default)]
pub struct Found {
    pub size: u64,
    /// Place of its stored bytes in `fetched`, where they are there.
    pub at: Option<usize>,
    pub odd: Option<Odd>,
    /// Does a checksum in its frames stand behind it?
    pub checked: bool,
    /// It is among the errors.
    pub bad: bool,
    /// Decoded already, because its headers do not tell its size.
    pub decoded: Option<Vec<u8>>,
}

/// Memory for one record, result not counted: what is found out about it, its place, its offset.
pub const PER_RECORD: u64 = (size_of::<Found>() + size_of::<Item>() + 16) as u64;
/// Memory for the words of one failure, about.
pub const PER_ERROR: u64 = 256;

impl<'a> Task<'a> {
    pub fn new(shard: &'a Shard, which: Which<'a>) -> Self {
        Task {
            shard,
            which,
            fetched: Vec::new(),
            found: Vec::new(),
            sums: Vec::new(),
            errors: Vec::new(),
            located: false,
            arrived: false,
            let_go: false,
        }
    }

    pub fn len(&self) -> usize {
        match &self.which {
            Which::Run { bounds, .. } => bounds.len().saturating_sub(1),
            Which::Scattered { items, .. } => items.len(),
        }
    }

    pub fn local(&self, k: usize) -> u64 {
        match &self.which {
            Which::Run { first, .. } => first + k as u64,
            Which::Scattered { items, .. } => items.get(k).map_or(0, |i| i.local),
        }
    }

    pub fn out(&self, k: usize) -> usize {
        match &self.which {
            Which::Run { out, .. } => out + k,
            Which::Scattered { items, .. } => items.get(k).map_or(0, |i| i.out),
        }
    }

    pub fn around(&self, k: usize) -> Around {
        let none = Around {
            before: 0,
            from: 1,
            to: 0,
            after: 0,
        };
        match &self.which {
            Which::Run { bounds, edges, .. } => {
                let Some(&[from, to]) = bounds.get(k..k + 2) else {
                    return none;
                };
                let before = k
                    .checked_sub(1)
                    .and_then(|j| bounds.get(j))
                    .unwrap_or(&edges.0);
                Around {
                    before: *before,
                    from,
                    to,
                    after: *bounds.get(k + 2).unwrap_or(&edges.1),
                }
            }
            Which::Scattered { extents, .. } => extents.get(k).copied().unwrap_or(none),
        }
    }

    pub fn extent(&self, k: usize) -> (u64, u64) {
        let a = self.around(k);
        (a.from, a.to)
    }

    /// May all be copied as one?
    pub fn rising(&self) -> bool {
        let Which::Run { bounds, edges, .. } = &self.which else {
            return false;
        };
        let Some((&from, &to)) = bounds.first().zip(bounds.last()) else {
            return false;
        };
        let around = Around {
            before: edges.0,
            from,
            to,
            after: edges.1,
        };
        bounds.is_sorted() && to <= self.shard.end() && !self.shard.doubtful(around)
    }

    pub fn prefetch(&self, k: usize) {
        if matches!(self.which, Which::Scattered { .. }) && k < self.len() {
            let (from, to) = self.extent(k);
            self.shard.file().prefetch(from, to);
        }
    }

    pub fn raw(&self) -> bool {
        self.shard.decoder().codec() == Codec::None
    }

    /// Uncompressed neighbours of which nothing is odd: one copy will do.
    pub fn plain(&self) -> bool {
        self.found.is_empty()
    }

    pub fn bad(&self, k: usize) -> bool {
        self.found.get(k).is_some_and(|f| f.bad)
    }

    pub fn size(&self, k: usize) -> u64 {
        if !self.plain() {
            return self.found.get(k).map_or(0, |f| f.size);
        }
        let (a, b) = self.extent(k);
        b.saturating_sub(a)
    }

    /// Is it the same record as the one before?
    pub fn repeats(&self, k: usize) -> bool {
        matches!(self.which, Which::Scattered { .. }) && k > 0 && self.local(k) == self.local(k - 1)
    }

    /// Why a record cannot be read, if it cannot.
    pub fn error(&self, k: usize) -> Option<&Error> {
        self.errors
            .iter()
            .rev()
            .find(|(j, _)| *j == k)
            .map(|(_, e)| e)
    }

    pub fn checked(&self, k: usize) -> bool {
        if self.raw() {
            self.shard.has_sums()
        } else {
            self.found.get(k).is_some_and(|f| f.checked)
        }
    }

    pub fn fail(&mut self, k: usize, e: Error, budget: &Budget<'_>) -> Result<()> {
        budget.take(PER_ERROR)?;
        alloc::reserve(&mut self.errors, 1)?;
        self.errors.push((k, e));
        if let Some(f) = self.found.get_mut(k) {
            f.bad = true;
        }
        Ok(())
    }
}
