//! Reads the records of a bag that the options choose, some at a time.
//!
//! Records are read in batches, which the library reads in parallel. The number of records in a
//! batch follows from their sizes, so that a batch takes some MB whether records have ten bytes or
//! ten million. A batch fails as a whole, so one that fails is read again with the records before
//! the one to blame, until that one is alone: all records before it are passed on, and the message
//! names it.

use super::Access;
use super::records::{Batch, Sink};
use crate::cli::groups::{Order, Select};
use crate::cli::usage::Usage;
use crate::failure;
use crate::failure::{Failure, Result, library, library_with};
use crate::{report, usage};
use holdall::{Bag, Epoch, Error, Records, Status};

/// Bytes of records that a batch should have, and may have unless it is one record. A batch takes
/// up to twice that: stored and decoded bytes.
const BATCH_TARGET: u64 = 4 << 20;
const BATCH_MOST: u64 = 8 << 20;
/// Records of the first batch, of any batch, and what a record costs beside its bytes.
const RECORDS_FIRST: u64 = 1024;
const RECORDS_MOST: u64 = 32768;
const RECORD_COST: u64 = 64;
/// What the limit and the checksum of a record take in memory if they are loaded.
const LOADED_BYTES: u64 = 12;

/// The numbers of the records that are read.
struct Numbers {
    all: Box<dyn Iterator<Item = u64>>,
    /// Those from `begin` on come next.
    next: Vec<u64>,
    begin: usize,
}

impl Numbers {
    fn new(all: impl Iterator<Item = u64> + 'static) -> Option<Numbers> {
        Some(Numbers { all: Box::new(all), next: Vec::new(), begin: 0 })
    }

    /// Returns the next numbers, at least one if any are left.
    fn next(&mut self) -> &[u64] {
        if self.begin == self.next.len() {
            self.next.clear();
            self.next.extend(self.all.by_ref().take(RECORDS_MOST as usize));
            self.begin = 0;
        }
        &self.next[self.begin..]
    }
}

pub struct Reader<'a> {
    path: &'a str,
    access: &'a Access,
    /// With the memory of a batch as its limit.
    bag: Bag,
    /// With the memory limit of the user, opened for the first record that needs it.
    roomy: Option<Bag>,
    /// None: all, in order.
    numbers: Option<Numbers>,
    skip_damaged: bool,
    /// Records that are read, and those that were passed on or skipped.
    pub count: u64,
    pub done: u64,
    /// Records skipped so far.
    pub damaged: u64,
}

/// Checks options about the order.
pub fn check_order(order: &Order, usage: &Usage) -> Result {
    if order.seed.is_none() && ["epoch", "rank", "world"].iter().any(|name| usage.has(name)) {
        return Err(usage!("--epoch, --rank and --world are for --seed"));
    }
    if order.seed.is_some() && usage.has("records") {
        return Err(usage!("--seed and --records exclude each other"));
    }
    let world = order.world.unwrap_or(1);
    match order.rank {
        Some(rank) if rank >= world => {
            Err(usage!("--rank takes 0 to {} with --world {world}, not {rank}", world - 1))
        }
        _ => Ok(()),
    }
}

impl<'a> Reader<'a> {
    pub fn open(path: &'a str, access: &'a Access, skip_damaged: bool) -> Result<Reader<'a>> {
        let mut most = BATCH_MOST;
        if access.loads_limits {
            let on_disk = access.options.clone().load_limits(false);
            let whole = Access { slice: None, ..access.clone() };
            most += LOADED_BYTES * whole.open_with(path, &on_disk)?.len();
        }
        let most = access.memory_limit.map_or(most, |limit| limit.min(most));
        let bag = access.open_with(path, &access.options.clone().memory_limit(most))?;
        Ok(Reader {
            path,
            access,
            roomy: None,
            numbers: None,
            skip_damaged,
            count: bag.len(),
            done: 0,
            damaged: 0,
            bag,
        })
    }

    /// Chooses the records of `--records` or `--seed`. All numbers are checked before anything is
    /// read.
    pub fn choose(&mut self, select: &Select, order: &Order) -> Result {
        if let Some(seed) = order.seed {
            let (number, rank, world) = (order.epoch, order.rank, order.world);
            let epoch = Epoch::of_rank(
                self.count,
                seed,
                number.unwrap_or(0),
                rank.unwrap_or(0),
                world.unwrap_or(1),
            );
            let epoch = epoch.map_err(library(self.path))?;
            self.count = epoch.numbers_per_epoch();
            self.numbers = Numbers::new(epoch);
        } else if let Some(records) = &select.records {
            self.list(&records.0)?;
        }
        Ok(())
    }

    /// Chooses records by their numbers; negative ones count from the end.
    pub fn list(&mut self, records: &[i64]) -> Result {
        let size = self.bag.len();
        let number = |n: &i64| {
            let from_end = || size.checked_sub(n.unsigned_abs());
            let number = if *n < 0 { from_end() } else { Some(*n as u64) };
            number
                .filter(|n| *n < size)
                .ok_or_else(|| failure!("{}: there is no record {n}, there are {size}", self.path))
        };
        let list: Vec<u64> = records.iter().map(number).collect::<Result<_>>()?;
        self.count = list.len() as u64;
        self.numbers = Numbers::new(list.into_iter());
        Ok(())
    }

    /// Passes on the records, in order. Stops at a damaged one, or reports, omits and counts it.
    pub fn each(&mut self, sink: &mut dyn Sink) -> Result {
        let mut most = RECORDS_FIRST;
        while self.done < self.count {
            let left = match &mut self.numbers {
                Some(numbers) => numbers.next().len() as u64,
                None => self.count - self.done,
            };
            let n = most.min(left);
            match self.read(n)? {
                Ok(records) => {
                    let (data, offsets) = (records.bytes(), records.offsets());
                    most = next_size(n, data.len() as u64);
                    self.advance(n);
                    sink.take(Batch { data, offsets })?;
                }
                Err(error) if n > 1 => most = self.narrowed(n, &error),
                Err(error) => {
                    self.skip(&error)?;
                    self.advance(1);
                    sink.skip()?;
                }
            }
        }
        Ok(())
    }

    /// Reads the next `n` records. A record alone may take the memory that the user allows.
    fn read(&mut self, n: u64) -> Result<Result<Records, Error>> {
        let read = self.read_from(&self.bag, n);
        match read {
            Err(error) if n == 1 && is_limit(&error) => {
                let roomy = match self.roomy.take() {
                    Some(roomy) => roomy,
                    None => self.open_roomy()?,
                };
                let read = self.read_from(&roomy, n);
                self.roomy = Some(roomy);
                Ok(read)
            }
            read => Ok(read),
        }
    }

    fn read_from(&self, bag: &Bag, n: u64) -> Result<Records, Error> {
        match &self.numbers {
            Some(numbers) => {
                let next = &numbers.next[numbers.begin..];
                bag.read_indices(&next[..next.len().min(n as usize)])
            }
            None => bag.read_range(self.done..self.done + n),
        }
    }

    fn advance(&mut self, n: u64) {
        self.done += n;
        if let Some(numbers) = &mut self.numbers {
            numbers.begin += n as usize;
        }
    }

    fn open_roomy(&self) -> Result<Bag> {
        let roomy = self.access.open(self.path)?;
        let state = |bag: &Bag| (bag.len(), bag.stored_bytes());
        if state(&roomy) == state(&self.bag) {
            return Ok(roomy);
        }
        Err(failure!("{}: it was changed while it was read", self.path))
    }

    /// Returns how many records to read after a batch of `n` failed: those before the one to blame,
    /// or it alone.
    fn narrowed(&self, n: u64, error: &Error) -> u64 {
        let Some(position) = error.position().filter(|_| !is_limit(error)) else {
            return n / 2;
        };
        let before = match &self.numbers {
            Some(numbers) => {
                let next = &numbers.next[numbers.begin..];
                next.iter().position(|number| *number == position).map(|k| k as u64)
            }
            None => position.checked_sub(self.done),
        };
        before.filter(|before| *before < n).map_or(n / 2, |before| before.max(1))
    }

    /// Reports a record that cannot be read. Fails unless it is to be skipped.
    fn skip(&mut self, error: &Error) -> Result {
        let is_damaged =
            matches!(error.status(), Status::Format | Status::Checksum | Status::Codec);
        if !is_damaged || !self.skip_damaged {
            return Err(library(self.path)(error.clone()));
        }
        if let Failure::Message(text) = library_with(self.path, error, " (skipped)") {
            report::error(&text);
        }
        self.damaged += 1;
        Ok(())
    }
}

fn is_limit(error: &Error) -> bool {
    matches!(error.status(), Status::Limit | Status::Memory)
}

/// Returns how many records the next batch should have, after one of `n` records of so many bytes.
fn next_size(n: u64, bytes: u64) -> u64 {
    let fitting = BATCH_TARGET / (bytes / n + RECORD_COST);
    fitting.min(4 * n).clamp(1, RECORDS_MOST)
}
