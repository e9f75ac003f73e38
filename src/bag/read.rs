//! Many records of a bag at once: neighbours, any numbers in any order, and all of them piece by
//! piece.
#![forbid(unsafe_code)]

use super::Bag;
use super::batch::{self, Failure, Item, Own, Places, Records, Room, Rules, Run, Skip};
use super::codec::Codec;
use super::shard::Shard;
use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use crate::options::Opt;
use crate::parallel::Threads;

/// Records that are wanted, in this order.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The first one, and how many from there on.
    Range(u64, u64),
    /// Their numbers.
    Numbers(&'a [u64]),
}

impl Wanted<'_> {
    /// The number of the record at this place.
    pub fn number(&self, place: usize) -> u64 {
        match *self {
            Wanted::Range(first, _) => first.saturating_add(place as u64),
            Wanted::Numbers(all) => all.get(place).copied().unwrap_or(0),
        }
    }
}

impl Bag {
    pub(super) fn rules(&self) -> Rules<'_> {
        let o = &self.set.options;
        // a caller's function may wait for what the caller holds: other threads call it only on
        // demand
        let foreign =
            o.given(Opt::Threads).is_none() && self.set.shards.iter().any(Shard::is_foreign);
        Rules {
            spare: &self.set.spare,
            stop: None,
            threads: if foreign { Threads::ONE } else { o.threads() },
            memory_limit: o.memory_limit(),
            most: u64::MAX,
            skip: if o.get(Opt::SkipDamaged, 0) == 1 {
                Skip::Damaged
            } else {
                Skip::Nothing
            },
        }
    }

    /// Bytes of a record, about: nothing is read for it.
    pub(super) fn mean(&self) -> u64 {
        let of =
            |f: &dyn Fn(&Shard) -> u64| self.set.shards.iter().map(f).fold(0, u64::saturating_add);
        // text becomes half as long
        let bytes = of(&|s| {
            if s.decoder().codec() == Codec::Zstd {
                s.end().saturating_mul(2)
            } else {
                s.end()
            }
        });
        bytes.checked_div(of(&Shard::count)).unwrap_or(0)
    }

    /// Records `first` to `first + n`.
    pub fn read_range(&self, first: u64, n: u64) -> Result<Records> {
        self.read_with(Wanted::Range(first, n), self.rules())
    }

    /// Records of any numbers, in any order, with repetitions.
    pub fn read_indices(&self, indices: &[u64]) -> Result<Records> {
        self.read_with(Wanted::Numbers(indices), self.rules())
    }

    /// Reads records to where `room` makes memory for them.
    pub fn read_to(&self, wanted: Wanted<'_>, room: &mut dyn Room) -> Result<Places> {
        self.holds(wanted)?;
        self.gather(wanted, self.rules(), room)
            .map_err(|f| positioned(f.error, wanted.number(f.out)))
    }

    /// Records from `first` on: `n` of them, or fewer, one at least, where they would take more
    /// memory than this.
    pub fn read_some(&self, first: u64, n: u64, bytes: u64) -> Result<Records> {
        let (rules, mut many) = (self.rules(), n);
        loop {
            // only a record alone may take all that the caller allows
            let memory_limit = if many > 1 {
                rules.memory_limit.min(bytes)
            } else {
                rules.memory_limit
            };
            match self.read_with(
                Wanted::Range(first, many),
                Rules {
                    memory_limit,
                    ..rules
                },
            ) {
                Err(e) if many > 1 && matches!(e.status, Status::Limit | Status::Memory) => {
                    many = (many / 8).max(1)
                }
                read => return read,
            }
        }
    }

    pub(super) fn read_with(&self, wanted: Wanted<'_>, rules: Rules<'_>) -> Result<Records> {
        self.holds(wanted)?;
        self.gathered(wanted, rules)
            .map_err(|f| positioned(f.error, wanted.number(f.out)))
    }

    /// Refuses what is beyond the bag.
    fn holds(&self, wanted: Wanted<'_>) -> Result<()> {
        match wanted {
            Wanted::Range(first, n) if first.checked_add(n).is_none_or(|end| end > self.size) => {
                Err(fail!(
                    Range,
                    "records {first} and {n} from there on: there are {}",
                    self.size
                )
                .at(first))
            }
            Wanted::Numbers(all) => match all.iter().enumerate().find(|&(_, &i)| i >= self.size) {
                Some((k, &i)) => Err(fail!(
                    Range,
                    "indices[{k}] is {i}, there are {} records",
                    self.size
                )
                .at(i)),
                None => Ok(()),
            },
            Wanted::Range(..) => Ok(()),
        }
    }

    /// As [`Bag::gather`], to memory of the library's own.
    pub(super) fn gathered(
        &self,
        wanted: Wanted<'_>,
        rules: Rules<'_>,
    ) -> std::result::Result<Records, Failure> {
        let mut own = Own::new(rules.spare);
        let places = self.gather(wanted, rules, &mut own)?;
        Ok(own.with(places))
    }

    /// Reads records that must be there. Failures, and places of damaged ones, are of the batch;
    /// their words have no number of this bag's.
    fn gather(
        &self,
        wanted: Wanted<'_>,
        rules: Rules<'_>,
        room: &mut dyn Room,
    ) -> std::result::Result<Places, Failure> {
        let n = match wanted {
            Wanted::Range(_, n) => n,
            Wanted::Numbers(all) => all.len() as u64,
        };
        if n == 0 {
            room.make(0).map_err(|error| Failure { out: 0, error })?;
            return Ok(Places::none());
        }
        match wanted {
            Wanted::Range(first, n) if self.step == 1 && !self.set.interleaved => {
                batch::runs(&self.cut(self.physical(first), n), rules, room)
            }
            _ => {
                let items = self
                    .items(wanted, n, rules)
                    .map_err(|error| Failure { out: 0, error })?;
                batch::scattered(&self.set.shards, &items, rules, room)
            }
        }
    }

    fn items(&self, wanted: Wanted<'_>, n: u64, rules: Rules<'_>) -> Result<Vec<Item>> {
        alloc::allow(
            n.saturating_mul(size_of::<Item>() as u64),
            rules.memory_limit,
            "the numbers of the records of this batch",
        )?;
        let mut items = alloc::with_room(n as usize)?;
        items.extend((0..n as usize).map(|out| {
            let (shard, local) = self.find(self.physical(wanted.number(out)));
            Item { shard, local, out }
        }));
        items.sort_unstable_by_key(Item::place);
        Ok(items)
    }

    /// Cuts `n` records of the whole set into runs.
    fn cut(&self, mut first: u64, mut n: u64) -> Vec<Run<'_>> {
        let mut runs = Vec::new();
        while n > 0 {
            let (shard, local) = self.find(first);
            let Some(shard) = self.set.shards.get(shard) else {
                break;
            };
            let here = n.min(shard.count() - local);
            runs.push(Run {
                shard,
                first: local,
                n: here,
            });
            first += here;
            n -= here;
        }
        runs
    }

    /// Calls `f` with all records, in batches of a few MiB, in order.
    pub fn for_each_batch(&self, mut f: impl FnMut(u64, &Records) -> Result<()>) -> Result<()> {
        self.batches(self.rules(), &mut |first, records| f(first, records?))
    }

    /// As above; a record that alone cannot be had (too large for the memory limit, on a bad
    /// sector) comes as the failure.
    pub(super) fn batches(
        &self,
        rules: Rules<'_>,
        f: &mut dyn FnMut(u64, Result<&Records>) -> Result<()>,
    ) -> Result<()> {
        const WANTED: u64 = 8 << 20;
        const MOST: u64 = 4 * WANTED;
        let (mut first, mut n) = (0, 1024);
        while first < self.size {
            self.set.options.progress(first, self.size)?;
            let many = n.min(self.size - first);
            // only a record alone may take all that the caller allows
            let limit = if many > 1 {
                rules.memory_limit.min(MOST)
            } else {
                rules.memory_limit
            };
            let read = self.read_with(
                Wanted::Range(first, many),
                Rules {
                    memory_limit: limit,
                    ..rules
                },
            );
            if many > 1
                && matches!(&read, Err(e) if matches!(e.status, Status::Limit | Status::Io | Status::Memory))
            {
                n = (many / 8).max(1);
                continue;
            }
            let bytes = read.as_ref().map_or(1, |r| r.data.len().max(1)) as u64;
            f(first, read.as_ref().map_err(Clone::clone))?;
            first += many;
            n = (many.saturating_mul(WANTED) / bytes).clamp(1, (n * 4).min(1 << 16));
        }
        self.set.options.progress(self.size, self.size)
    }
}

/// Says of an error which record of the bag it is about.
pub(super) fn positioned(mut e: Error, i: u64) -> Error {
    e.position = -1;
    e.at(i)
}
