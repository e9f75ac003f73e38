//! The first pass: where the records of a task are, their stored bytes, and what the headers of
//! their frames say.
#![forbid(unsafe_code)]

use super::Item;
use super::budget::Budget;
use super::task::{Found, Task, Which};
use crate::alloc;
use crate::bag::frame::Survey;
use crate::bag::limits::Around;
use crate::bag::offset_check::{self, Odd};
use crate::bag::shard;
use crate::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Stored records that lie this near are fetched together.
pub const GAP: u64 = 4 << 10;
const GROUP: u64 = 256 << 10;
/// Limits, and checksums, that lie this near are fetched together.
const LIMITS_GAP: u64 = 256;
const SUMS_GAP: u64 = 512;

/// Scattered records that are asked for this far ahead.
pub const AHEAD: usize = 4;

/// Are two wanted records at most this far apart?
fn near(gap: u64) -> impl Fn(&Item, &Item) -> bool {
    move |a, b| b.local - a.local <= gap
}

impl Task<'_> {
    pub fn prepare(&mut self, budget: &Budget<'_>) -> Result<()> {
        if !self.located {
            self.find(budget)?;
        }
        if !self.arrived && (!self.raw() || matches!(self.which, Which::Scattered { .. })) {
            self.fetch(budget)?;
        }
        if self.raw() {
            return self.fetch_sums();
        }
        for k in 0..self.len() {
            budget.go_on()?;
            self.prefetch(k + AHEAD);
            if let Err(e) = self.look(k, budget) {
                self.fail(k, e, budget)?;
            }
        }
        for k in 0..self.len() {
            if let Err(e) = self.compare_with_neighbours(k) {
                if let Some(f) = self.found.get_mut(k) {
                    f.size = 0;
                }
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Lets go of the stored bytes, where so many may not be held until there is room for what is
    /// in them: neighbours are read in large pieces, so that it takes little to read them
    /// again.
    pub fn let_go_beyond(&mut self, may_be_held: &AtomicUsize) {
        let is_cheap =
            matches!(self.which, Which::Run { .. }) && !self.arrived && !self.shard.is_foreign();
        let held = || {
            may_be_held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(self.fetched.len())
            })
        };
        if is_cheap && !self.fetched.is_empty() && held().is_err() {
            self.fetched = Vec::new();
            self.found.iter_mut().for_each(|f| f.at = None);
            self.let_go = true;
        }
    }

    /// Finds where the records are.
    pub fn find(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.locate()?;
        self.located = true;
        if self.raw() && self.rising() {
            Ok(())
        } else {
            self.measure(budget)
        }
    }

    /// Makes `found`, with the sizes of what is stored.
    pub fn measure(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.found = alloc::with_room(self.len())?;
        for k in 0..self.len() {
            let a = self.around(k);
            let checked = self.shard.check_extent(a);
            self.found.push(Found {
                size: if checked.is_ok() { a.to - a.from } else { 0 },
                ..Found::default()
            });
            if let Err(e) = checked {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Finds the extents of scattered records, reading near limits together.
    fn locate(&mut self) -> Result<()> {
        let Which::Scattered { items, extents } = &mut self.which else {
            return Ok(());
        };
        let limits = self.shard.limits();
        *extents = alloc::with_room(items.len())?;
        let mut all_sure = true;
        for group in items.chunk_by(near(LIMITS_GAP)) {
            let [first, ..] = group else { continue };
            let last = group.last().unwrap_or(first).local;
            let (around, sure) = limits.around(first.local)?;
            all_sure &= sure;
            if first.local == last {
                extents.extend(group.iter().map(|_| around));
                continue;
            }
            if sure {
                for i in group {
                    let (around, sure) = limits.around(i.local)?;
                    all_sure &= sure;
                    extents.push(around);
                }
                continue;
            }
            let from = first.local.saturating_sub(1);
            let bounds = limits.bounds(from, (last + 2).min(limits.count()) - from)?;
            let bound = |i: u64| bounds.get((i - from) as usize).copied();
            extents.extend(group.iter().map(|i| {
                let (a, b) = (bound(i.local).unwrap_or(1), bound(i.local + 1).unwrap_or(0));
                Around {
                    before: bound(i.local.max(1) - 1).unwrap_or(0),
                    from: a,
                    to: b,
                    after: bound(i.local + 2).unwrap_or(b),
                }
            }));
        }
        if all_sure { Ok(()) } else { limits.still() }
    }

    /// Fetches the checksums that lie beside the records.
    fn fetch_sums(&mut self) -> Result<()> {
        if !self.shard.has_sums() {
            return Ok(());
        }
        match &self.which {
            Which::Run { first, bounds, .. } => {
                self.sums = self.shard.sums(*first, bounds.len().saturating_sub(1))?
            }
            Which::Scattered { items, .. } => {
                for group in items.chunk_by(near(SUMS_GAP)) {
                    let [first, .., last] = group else {
                        self.sums
                            .extend(self.shard.sums(group.first().map_or(0, |i| i.local), 1)?);
                        continue;
                    };
                    let sums = self
                        .shard
                        .sums(first.local, (last.local - first.local + 1) as usize)?;
                    self.sums.extend(group.iter().map(|i| {
                        sums.get((i.local - first.local) as usize)
                            .copied()
                            .unwrap_or(0)
                    }));
                }
            }
        }
        Ok(())
    }

    /// Refuses record `k` if its checksum does not fit.
    pub fn check_sum(&self, k: usize, record: &[u8]) -> Result<()> {
        self.sums
            .get(k)
            .map_or(Ok(()), |&want| shard::check_sum(want, record))
    }

    /// Fetches the stored bytes of all records, near ones together.
    pub fn fetch(&mut self, budget: &Budget<'_>) -> Result<()> {
        let file = self.shard.file();
        if file.bytes().is_some()
            || (self.raw() && (file.is_in_memory() || file.object().is_some()))
        {
            return Ok(());
        }
        let mut k = 0;
        while let Some(group) = self.next_group(&mut k) {
            budget.go_on()?;
            // one uncompressed record is read to its place
            if !(self.raw() && self.extent(group.first) == (group.from, group.to)) {
                self.make_room(&group, budget)?;
                self.fetch_group(&group, budget)?;
            }
        }
        Ok(())
    }

    /// Fetches what lies around several records; if that fails, each by itself, to find out which
    /// cannot be read.
    fn fetch_group(&mut self, group: &Group, budget: &Budget<'_>) -> Result<()> {
        let at = self.fetched.len() - (group.to - group.from) as usize;
        if self
            .shard
            .file()
            .read_exact_at(group.from, self.fetched.get_mut(at..).unwrap_or_default())
            .is_ok()
        {
            return Ok(());
        }
        for k in group.first..group.next {
            let (a, b) = self.extent(k);
            let at = at + (a - group.from) as usize;
            if let Err(e) = self.shard.file().read_exact_at(
                a,
                self.fetched
                    .get_mut(at..at + (b - a) as usize)
                    .unwrap_or_default(),
            ) {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// The next group of records from `k` on; goes on behind it.
    pub fn next_group(&self, k: &mut usize) -> Option<Group> {
        let group = (*k..self.len()).find_map(|k| self.group(k))?;
        *k = group.next;
        Some(group)
    }

    /// Makes room for a group.
    pub fn make_room(&mut self, group: &Group, budget: &Budget<'_>) -> Result<()> {
        let at = self.fetched.len();
        let n = budget.take(group.to - group.from)?;
        alloc::reserve(&mut self.fetched, n)?;
        self.fetched.resize(at + n, 0);
        for k in group.first..group.next {
            let (a, _) = self.extent(k);
            if let Some(f) = self.found.get_mut(k) {
                f.at = Some(at + (a - group.from) as usize);
            }
        }
        Ok(())
    }

    /// The record `k` and those after it that are worth fetching together.
    fn group(&self, k: usize) -> Option<Group> {
        let sound = |k: usize| {
            self.found
                .get(k)
                .is_some_and(|f| !f.bad)
                .then(|| self.extent(k))
        };
        let (from, mut to) = sound(k)?;
        let mut next = k + 1;
        let run = matches!(self.which, Which::Run { .. });
        while let Some((a, b)) = sound(next) {
            let near = a >= from
                && a <= to.saturating_add(GAP)
                && (run || b.saturating_sub(from) <= GROUP);
            if !near {
                break;
            }
            to = to.max(b);
            next += 1;
        }
        Some(Group {
            first: k,
            next,
            from,
            to,
        })
    }

    /// Calls `f` with the stored bytes of a record.
    pub fn with_stored<R>(&self, k: usize, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        match self.fetched(k) {
            Some(bytes) => f(bytes),
            None => self.shard.stored(self.extent(k), f),
        }
    }

    /// The same, where they were fetched.
    pub fn fetched(&self, k: usize) -> Option<&[u8]> {
        let ((a, b), at) = (self.extent(k), self.found.get(k)?.at?);
        self.fetched.get(at..at + (b - a) as usize)
    }

    /// Looks at the frames of one record.
    fn look(&mut self, k: usize, budget: &Budget<'_>) -> Result<()> {
        if self.bad(k) {
            return Ok(());
        }
        if self.repeats(k) {
            return self.look_again(k);
        }
        let (a, b) = self.extent(k);
        let looked = if a == b {
            Ok(None)
        } else {
            self.look_inside(k, budget).map(Some)
        };
        let Some(f) = self.found.get_mut(k) else {
            return Ok(());
        };
        f.size = 0;
        match looked? {
            None => f.odd = Some(Odd::Empty),
            Some((survey, decoded)) => {
                f.size = decoded
                    .as_ref()
                    .map_or(survey.content.unwrap_or(0), |d| d.len() as u64);
                f.odd = (survey.data_frames > 1).then_some(Odd::Several);
                f.checked = survey.checksum;
                f.decoded = decoded;
            }
        }
        Ok(())
    }

    /// What is known of the record before holds for this one.
    fn look_again(&mut self, k: usize) -> Result<()> {
        if let Some(e) = self.error(k - 1) {
            return Err(e.clone());
        }
        let known = self.found.get(k - 1).map(|f| (f.size, f.odd, f.checked));
        if let (Some(f), Some(known)) = (self.found.get_mut(k), known) {
            (f.size, f.odd, f.checked) = known;
        }
        Ok(())
    }

    fn look_inside(&self, k: usize, budget: &Budget<'_>) -> Result<(Survey, Option<Vec<u8>>)> {
        self.with_stored(k, |stored| {
            let survey = self.shard.decoder().survey(stored)?;
            if survey.content.is_some() {
                return Ok((survey, None));
            }
            budget.take(survey.most)?;
            let decoded = self
                .shard
                .decoder()
                .decode_unknown(stored, &survey, budget.limit);
            let kept = decoded.as_ref().map_or(0, |d| d.len() as u64);
            budget.give_back(survey.most.saturating_sub(kept));
            Ok((survey, Some(decoded?)))
        })
    }

    fn compare_with_neighbours(&self, k: usize) -> Result<()> {
        let Some(odd) = self.found.get(k).filter(|f| !f.bad).and_then(|f| f.odd) else {
            return Ok(());
        };
        if self.repeats(k) {
            return self.error(k - 1).map_or(Ok(()), |e| Err(e.clone()));
        }
        if odd == Odd::Empty && self.between_sound_ones(k) {
            return Ok(());
        }
        offset_check::neighbours(self.shard, self.local(k), odd)
    }

    /// Is an empty record of a run between records of the run that speak for it? Then no limit
    /// needs to be read again.
    fn between_sound_ones(&self, k: usize) -> bool {
        let Which::Run { .. } = self.which else {
            return false;
        };
        let one = |k: usize| self.found.get(k).is_some_and(|f| !f.bad && f.odd.is_none());
        let empty = |k: usize| {
            self.found
                .get(k)
                .is_some_and(|f| !f.bad && f.odd == Some(Odd::Empty))
        };
        // runs of empty records are looked along a little; longer ones are left to the limits
        let left = (1..16).map_while(|n| k.checked_sub(n)).find(|&j| !empty(j));
        let right = (1..16).map(|n| k + n).find(|&j| !empty(j));
        left.is_some_and(one) && right.is_some_and(one)
    }
}

/// Records `first` to `next`, and the bytes that they lie in.
pub struct Group {
    pub first: usize,
    pub next: usize,
    pub from: u64,
    pub to: u64,
}
