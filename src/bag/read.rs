//! Batch reads: ranges, lists of indices, and iteration over a whole bag.
#![forbid(unsafe_code)]

use super::Bag;
use super::batch::{
    self, BatchConfig, BatchLayout, Destination, Failure, Item, OwnedBuffer, Records, Run, Skip,
    whole_batch,
};
use super::codec::Codec;
use super::shard::Shard;
use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use crate::options::Opt;
use crate::parallel::Threads;
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;

/// The records that a batch read requests, in order.
#[derive(Clone, Copy, Debug)]
pub enum Requested<'a> {
    /// The first record and the number of records.
    Range(u64, u64),
    /// The indices of the records.
    Indices(&'a [u64]),
}

impl Requested<'_> {
    /// Returns the number of records.
    pub fn count(&self) -> u64 {
        match *self {
            Requested::Range(_, count) => count,
            Requested::Indices(all) => all.len() as u64,
        }
    }

    /// Returns `count` of the records, from the one at `position` on.
    fn part(&self, position: u64, count: u64) -> Self {
        match *self {
            Requested::Range(first, _) => Requested::Range(first + position, count),
            Requested::Indices(all) => {
                let from = all.get(position as usize..).unwrap_or_default();
                Requested::Indices(from.get(..count as usize).unwrap_or_default())
            }
        }
    }

    /// Returns the index of the record at `position` of the batch.
    pub fn index(&self, position: usize) -> u64 {
        match *self {
            Requested::Range(first, _) => first.saturating_add(position as u64),
            Requested::Indices(all) => all.get(position).copied().unwrap_or(0),
        }
    }
}

impl Bag {
    pub(super) fn batch_config(&self) -> BatchConfig<'_> {
        let o = &self.set.options;
        // Another thread must not call functions of the caller unasked: they may wait for a lock
        // that the caller holds.
        let foreign =
            o.given(Opt::Threads).is_none() && self.set.shards.iter().any(Shard::is_foreign);
        BatchConfig {
            pool: &self.set.pool,
            progress: o.progress(),
            stop: None,
            threads: if foreign { Threads::ONE } else { o.threads() },
            memory_limit: o.memory_limit(),
            most: u64::MAX,
            skip: if o.get(Opt::SkipDamaged, 0) == 1 {
                Skip::Damaged
            } else {
                Skip::Nothing
            },
            frames: None,
        }
    }

    /// Returns the estimated mean size of a record. Reads nothing.
    pub(super) fn mean_record_size(&self) -> u64 {
        let of =
            |f: &dyn Fn(&Shard) -> u64| self.set.shards.iter().map(f).fold(0, u64::saturating_add);
        // Text compresses to about half its size.
        let bytes = of(&|s| {
            if s.decoder().codec() == Codec::Zstd {
                s.end().saturating_mul(2)
            } else {
                s.end()
            }
        });
        bytes.checked_div(of(&Shard::count)).unwrap_or(0)
    }

    /// Reads the records `first` to `first + n`.
    pub fn read_range(&self, first: u64, n: u64) -> Result<Records> {
        self.read_with(Requested::Range(first, n), self.batch_config())
    }

    /// Reads the records at `indices`, which may be in any order and may repeat.
    pub fn read_indices(&self, indices: &[u64]) -> Result<Records> {
        self.read_with(Requested::Indices(indices), self.batch_config())
    }

    /// Reads records into the memory that `destination` allocates.
    pub fn read_to(
        &self,
        requested: Requested<'_>,
        destination: &mut dyn Destination,
    ) -> Result<BatchLayout> {
        self.check_requested(requested)?;
        self.gather(requested, self.batch_config(), destination)
            .map_err(|f| positioned(f.error, requested.index(f.out)))
    }

    /// Reads up to `n` records from `first` on: fewer, but at least one, if they need more than
    /// `bytes` of memory.
    pub fn read_some(&self, first: u64, n: u64, bytes: u64) -> Result<Records> {
        let (batch_config, mut count) = (self.batch_config(), n);
        loop {
            // Only a single record may use the whole memory limit.
            let memory_limit = if count > 1 {
                batch_config.memory_limit.min(bytes)
            } else {
                batch_config.memory_limit
            };
            match self.read_with(
                Requested::Range(first, count),
                BatchConfig {
                    memory_limit,
                    ..batch_config
                },
            ) {
                Err(e) if count > 1 && matches!(e.status, Status::Limit | Status::Memory) => {
                    count = (count / 8).max(1)
                }
                read => return read,
            }
        }
    }

    pub(super) fn read_with(
        &self,
        requested: Requested<'_>,
        batch_config: BatchConfig<'_>,
    ) -> Result<Records> {
        self.check_requested(requested)?;
        self.gather_owned(requested, batch_config)
            .map_err(|f| positioned(f.error, requested.index(f.out)))
    }

    /// Returns an error if a requested record does not exist.
    fn check_requested(&self, requested: Requested<'_>) -> Result<()> {
        match requested {
            Requested::Range(first, n)
                if first.checked_add(n).is_none_or(|end| end > self.size) =>
            {
                Err(fail!(
                    Range,
                    "{n} records from record {first} on do not exist: the bag has {} records",
                    self.size
                )
                .at(first))
            }
            Requested::Indices(all) => match all.iter().enumerate().find(|&(_, &i)| i >= self.size)
            {
                Some((k, &i)) => Err(fail!(
                    Range,
                    "indices[{k}] is {i}, the bag has {} records",
                    self.size
                )
                .at(i)),
                None => Ok(()),
            },
            Requested::Range(..) => Ok(()),
        }
    }

    /// Like [`Bag::gather`], into a buffer of the library.
    pub(super) fn gather_owned(
        &self,
        requested: Requested<'_>,
        batch_config: BatchConfig<'_>,
    ) -> std::result::Result<Records, Failure> {
        let mut own = OwnedBuffer::new(batch_config.pool);
        let layout = self.gather(requested, batch_config, &mut own)?;
        Ok(own.into_records(layout))
    }

    /// Reads records that must exist. Positions of failures and of damaged records are relative to
    /// the batch. The messages do not contain the index of the record in this bag.
    fn gather(
        &self,
        requested: Requested<'_>,
        batch_config: BatchConfig<'_>,
        destination: &mut dyn Destination,
    ) -> std::result::Result<BatchLayout, Failure> {
        let n = match requested {
            Requested::Range(_, n) => n,
            Requested::Indices(all) => all.len() as u64,
        };
        if n == 0 {
            destination.allocate(0).map_err(whole_batch)?;
            return Ok(BatchLayout::empty());
        }
        match requested {
            Requested::Range(first, n) if self.step == 1 && !self.set.interleaved => {
                let runs = self.split_runs(self.set_index(first), n);
                let runs = runs.map_err(whole_batch)?;
                batch::runs(&runs, batch_config, destination)
            }
            _ => {
                let items = self
                    .items(requested, n, batch_config)
                    .map_err(whole_batch)?;
                batch::scattered(&self.set.shards, &items, batch_config, destination)
            }
        }
    }

    fn items(
        &self,
        requested: Requested<'_>,
        n: u64,
        batch_config: BatchConfig<'_>,
    ) -> Result<Vec<Item>> {
        alloc::allow(
            n.saturating_mul(size_of::<Item>() as u64),
            batch_config.memory_limit,
            "the indices of the records of this batch",
        )?;
        let mut items = alloc::with_capacity(n as usize)?;
        for out in 0..n as usize {
            let (shard, local) = self.find_shard(self.set_index(requested.index(out)))?;
            items.push(Item { shard, local, out });
        }
        items.sort_unstable_by_key(Item::sort_key);
        Ok(items)
    }

    /// Splits `n` records of the whole set, from `first` on, into one run per shard.
    fn split_runs(&self, mut first: u64, mut n: u64) -> Result<Vec<Run<'_>>> {
        let mut runs = Vec::new();
        while n > 0 {
            let (shard, local) = self.find_shard(first)?;
            let shard = self.set.shards.at(shard)?;
            let here = n.min(shard.count() - local);
            runs.push(Run {
                shard,
                first: local,
                n: here,
            });
            first += here;
            n -= here;
        }
        Ok(runs)
    }

    /// Calls `f` with all records in order, in batches of a few MiB.
    pub fn for_each_batch(&self, mut f: impl FnMut(u64, &Records) -> Result<()>) -> Result<()> {
        let all = Requested::Range(0, self.size);
        self.batches(all, self.batch_config(), &mut |first, records| {
            f(first, records?)
        })
    }

    /// Like [`Bag::for_each_batch`], of these records; `f` receives the position of the first record
    /// of the batch. If a single record cannot be read (it exceeds the memory limit or lies on an
    /// unreadable sector), `f` receives the error.
    pub(super) fn batches(
        &self,
        of: Requested,
        batch_config: BatchConfig<'_>,
        f: &mut dyn FnMut(u64, Result<&Records>) -> Result<()>,
    ) -> Result<()> {
        const TARGET: u64 = 8 << 20;
        const MOST: u64 = 4 * TARGET;
        let (mut first, mut n, size) = (0, 1024, of.count());
        let scope = Scope::open(self.set.options.progress(), self.bytes(), Step::Call);
        while first < size {
            scope.at_part(first, size)?;
            let count = n.min(size - first);
            // Only a single record may use the whole memory limit.
            let limit = if count > 1 {
                batch_config.memory_limit.min(MOST)
            } else {
                batch_config.memory_limit
            };
            let read = self.read_with(
                of.part(first, count),
                BatchConfig {
                    memory_limit: limit,
                    ..batch_config
                },
            );
            if count > 1
                && matches!(&read, Err(e) if matches!(e.status, Status::Limit | Status::Io | Status::Memory))
            {
                n = (count / 8).max(1);
                continue;
            }
            let bytes = read.as_ref().map_or(1, |r| r.data.len().max(1)) as u64;
            f(first, read.as_ref().map_err(Clone::clone))?;
            first += count;
            n = (count.saturating_mul(TARGET) / bytes).clamp(1, (n * 4).min(1 << 16));
        }
        scope.finish();
        Ok(())
    }
}

/// Sets the record index of an error.
pub(super) fn positioned(mut e: Error, i: u64) -> Error {
    e.position = -1;
    e.at(i)
}
