//! A batch of a stream: which records, who reads them, and what came of it.
#![forbid(unsafe_code)]

use crate::bag::batch::Records;
use crate::bag::read::{Wanted, positioned};
use crate::error::Error;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Records of a bag, in the order of the stream.
pub enum Numbers {
    /// The first one, and how many from there on.
    Range(u64, u64),
    /// Each.
    Each(Vec<u64>),
}

impl Numbers {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Numbers::Range(_, n) => *n as usize,
            Numbers::Each(all) => all.len(),
        }
    }

    /// The number at a place.
    pub fn at(&self, place: usize) -> u64 {
        self.first(self.len()).number(place)
    }

    /// The first `n`, to be read.
    pub fn first(&self, n: usize) -> Wanted<'_> {
        match self {
            Numbers::Range(first, _) => Wanted::Range(*first, n as u64),
            Numbers::Each(all) => Wanted::Numbers(all.get(..n).unwrap_or(all)),
        }
    }

    fn part(&self, range: Range<usize>) -> Numbers {
        match self {
            Numbers::Range(first, _) => {
                Numbers::Range(first + range.start as u64, range.len() as u64)
            }
            Numbers::Each(all) => Numbers::Each(all.get(range).unwrap_or_default().to_vec()),
        }
    }
}

/// See the top of the file.
pub struct Slot {
    /// Which records.
    pub numbers: Numbers,
    /// A record that did not fit beside others: it may take more memory than a batch may.
    pub alone: bool,
    taken: AtomicBool,
    read: OnceLock<Read>,
}

/// The first records of a slot, and why no more of them.
pub struct Read {
    /// Those that were read; damaged ones are empty.
    pub records: Records,
    /// What is with the record behind them.
    pub then: Then,
}

/// See [`Read`].
pub enum Then {
    /// There is none: all are here.
    Nothing,
    /// It, and those behind it, did not fit into the memory that a batch may have.
    Unread,
    /// It cannot be read, for this reason; nobody tried those behind it.
    Failed(Error),
}

impl Slot {
    /// Nobody reads it yet.
    pub fn new(numbers: Numbers) -> Slot {
        Slot {
            numbers,
            alone: false,
            taken: AtomicBool::new(false),
            read: OnceLock::new(),
        }
    }

    /// Is it for the caller to read? Only one is told so.
    pub fn claim(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    /// Does, or did, somebody read it?
    pub fn is_claimed(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    /// What came of it, if it is there.
    pub fn get(&self) -> Option<&Read> {
        self.read.get()
    }

    /// The same, once whoever claimed it is done.
    pub fn wait(&self) -> &Read {
        self.read.wait()
    }

    /// By whoever claimed it.
    pub fn put(&self, read: Read) {
        // nobody else has claimed it
        let _ = self.read.set(read);
    }

    /// All records, where nobody else has a share in it.
    pub fn into_records(self) -> Records {
        self.read
            .into_inner()
            .map_or_else(Records::none, |r| r.records)
    }
}

/// Some records of a slot.
pub struct Part {
    /// The slot.
    pub slot: Arc<Slot>,
    /// Their places there.
    pub range: Range<usize>,
}

impl Part {
    /// All of them.
    pub fn whole(slot: Slot) -> Part {
        let range = 0..slot.numbers.len();
        Part {
            slot: Arc::new(slot),
            range,
        }
    }

    /// The same records, to be read anew.
    pub fn again(&self) -> Part {
        Part::whole(Slot::new(self.slot.numbers.part(self.range.clone())))
    }

    /// The same in parts, each by itself to be read anew: the first record, the next two, the next
    /// four: where one could not be read, those behind it may not either, and shall not be
    /// tried all together each time.
    pub fn in_pieces(&self) -> Vec<Part> {
        let (mut pieces, mut from, mut n) = (Vec::new(), self.range.start, 1);
        while from < self.range.end {
            let to = (from + n).min(self.range.end);
            pieces.push(Part::whole(Slot::new(self.slot.numbers.part(from..to))));
            (from, n) = (to, n * 2);
        }
        pieces
    }

    /// Its first record, which may take more memory than a batch may, and the others; all to be
    /// read anew.
    pub fn first_alone(&self) -> Vec<Part> {
        let middle = (self.range.start + 1).min(self.range.end);
        let of = |range: Range<usize>| Slot::new(self.slot.numbers.part(range));
        let first = Part::whole(Slot {
            alone: true,
            ..of(self.range.start..middle)
        });
        let others = (middle < self.range.end).then(|| Part::whole(of(middle..self.range.end)));
        [Some(first), others].into_iter().flatten().collect()
    }
}

impl Read {
    /// None, for this reason.
    pub fn failed(e: Error) -> Read {
        Read {
            records: Records::none(),
            then: Then::Failed(e),
        }
    }

    /// Why the record at this place of the slot is not to be given, if it was tried. Damaged ones
    /// are where they are skipped.
    pub fn error(&self, place: usize, slot: &Slot, skip: &dyn Fn(&Error) -> bool) -> Option<Error> {
        let e = match &self.then {
            Then::Failed(e) if place == self.records.len() => e,
            _ => self.damage(place).filter(|e| !skip(e))?,
        };
        Some(positioned(e.clone(), slot.numbers.at(place)))
    }

    /// Why the record at this place is empty, if it is for being damaged.
    pub fn damage(&self, place: usize) -> Option<&Error> {
        let damaged = &self.records.damaged;
        damaged
            .binary_search_by_key(&(place as u64), |(at, _)| *at)
            .ok()
            .and_then(|k| damaged.get(k))
            .map(|(_, e)| e)
    }

    /// The end of the records from this place on that are to be given.
    pub fn sound(&self, range: &Range<usize>, skip: &dyn Fn(&Error) -> bool) -> usize {
        let damaged = &self.records.damaged;
        let from = damaged.partition_point(|(at, _)| (*at as usize) < range.start);
        let first = damaged
            .iter()
            .skip(from)
            .find(|(_, e)| !skip(e))
            .map_or(usize::MAX, |(at, _)| *at as usize);
        first.min(range.end).min(self.records.len())
    }
}
