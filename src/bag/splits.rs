//! Division of the records of a bag into ranges of similar stored size.
#![forbid(unsafe_code)]

use super::Bag;
use super::limits::LIMIT;
use crate::error::Result;
use crate::slice::SliceExt;
use crate::splits::{Divisible, Split, Stride, divide, scaled};

/// Maximum number of shards of an interleaved set whose limits determine the size of a range.
const SAMPLED: usize = 16;

impl Bag {
    /// Returns at most `n` ranges of records, none empty, that contain each record once, in order.
    /// They begin at shards where that changes a range by an eighth at most.
    ///
    /// `bytes` is the size of the stored records and their limits. In a slice with a step, and in an
    /// interleaved set of more than 16 shards, it is an estimate.
    pub fn splits(&self, n: u64) -> Result<Vec<Split>> {
        let splits = divide(&Records::new(self)?, n)?;
        self.check_unchanged()?;
        Ok(splits)
    }
}

struct Records<'a> {
    bag: &'a Bag,
    stride: Stride,
    /// Number of records of the whole set.
    count: u64,
    /// Size of the shards before each shard.
    sizes: Vec<u64>,
    /// Size of all shards.
    total: u64,
}

impl<'a> Records<'a> {
    fn new(bag: &'a Bag) -> Result<Records<'a>> {
        let (mut count, mut total, mut sizes) = (0u64, 0u64, Vec::new());
        for shard in &bag.set.shards {
            sizes.push(total);
            count = count.saturating_add(shard.count());
            total = total
                .saturating_add(shard.end())
                .saturating_add(shard.count().saturating_mul(LIMIT));
        }
        Ok(Records {
            bag,
            stride: Stride {
                start: bag.start,
                step: bag.step,
            },
            count,
            sizes,
            total,
        })
    }

    /// Returns the size of the first `n` records of a shard.
    fn in_shard(&self, shard: usize, n: u64) -> Result<u64> {
        let shard = self.bag.set.shards.at(shard)?;
        let n = n.min(shard.count());
        let end = if n == shard.count() {
            shard.end()
        } else {
            shard.limits().bound(n)?.min(shard.end())
        };
        Ok(end.saturating_add(n.saturating_mul(LIMIT)))
    }

    /// Returns the size of the first `n` records of the whole set.
    fn in_set(&self, n: u64) -> Result<u64> {
        if n >= self.count {
            return Ok(self.total);
        }
        if !self.bag.set.interleaved {
            let (shard, local) = self.bag.find_shard(n)?;
            return Ok(self
                .sizes
                .at(shard)?
                .saturating_add(self.in_shard(shard, local)?));
        }
        let shards = self.bag.set.shards.len();
        let (mut size, mut of) = (0u64, 0u64);
        for shard in (0..shards).step_by(shards.div_ceil(SAMPLED).max(1)) {
            let local = n / shards as u64 + u64::from((shard as u64) < n % shards as u64);
            size = size.saturating_add(self.in_shard(shard, local)?);
            of = of.saturating_add(self.in_shard(shard, u64::MAX)?);
        }
        Ok(scaled(self.total, size, of))
    }
}

impl Divisible for Records<'_> {
    fn len(&self) -> u64 {
        self.bag.size
    }

    fn parts(&self) -> u64 {
        self.bag.size
    }

    fn bytes_before(&self, i: u64) -> Result<u64> {
        let span = self.stride.span(i, self.count);
        let bytes = self
            .in_set(span.end)?
            .saturating_sub(self.in_set(span.start)?);
        Ok(bytes / self.stride.distance())
    }

    fn border(&self, i: u64, slack: u64) -> Result<u64> {
        if self.bag.set.interleaved || i >= self.bag.size {
            return Ok(i);
        }
        let (shard, _) = self.bag.find_shard(self.stride.position(i))?;
        let ends = [shard, shard + 1].map(|shard| self.bag.set.firsts.get(shard).copied());
        let at = self.bytes_before(i)?;
        let mut best = (slack, i);
        for end in ends.into_iter().flatten() {
            let border = self.stride.index_at(end).min(self.bag.size);
            let distance = self.bytes_before(border)?.abs_diff(at);
            if distance <= best.0 {
                best = (distance, border);
            }
        }
        Ok(best.1)
    }
}
