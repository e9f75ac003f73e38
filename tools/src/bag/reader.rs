//! Reads the records of a bag that the options choose, in batches that the library reads ahead.

use super::Access;
use super::records::{Batch, Sink};
use crate::cli::groups::Order;
use crate::cli::usage::Usage;
use crate::failure::{Failure, Result, library, library_with};
use crate::file_name::FileName;
use crate::{failure, progress, report, usage};
use holdall::{Bag, Epoch, Error, Options, Status};

/// Bytes of records that are read ahead, and bytes of memory for one range.
const READ_AHEAD: u64 = 8 << 20;
/// Stored bytes that a sink copies from one report of progress to the next.
const COPIED: u64 = 32 << 20;
/// Records of the first range and of any, and bytes that a record takes besides its content.
const RECORDS_FIRST: u64 = 1024;
const RECORDS_MOST: u64 = 32768;
const RECORD_COST: u64 = 64;

pub struct Reader<'a> {
    path: &'a FileName,
    bag: Bag,
    /// How to open it again, see [`Reader::ranges`].
    access: Option<Access>,
    /// The numbers of the records; None: all, in order.
    numbers: Option<Box<dyn Iterator<Item = u64> + Send>>,
    skip_damaged: bool,
    /// Records that are read, and those of them that were skipped.
    pub count: u64,
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
    pub fn open(path: &'a FileName, access: &Access, skip_damaged: bool) -> Result<Reader<'a>> {
        let reader = Reader::of(path, access.open(path)?, skip_damaged);
        Ok(Reader { access: Some(access.clone()), ..reader })
    }

    pub fn of(path: &'a FileName, bag: Bag, skip_damaged: bool) -> Reader<'a> {
        let count = bag.len();
        Reader { path, bag, access: None, numbers: None, skip_damaged, count, damaged: 0 }
    }

    /// Chooses all records in a shuffled order.
    pub fn shuffle(&mut self, seed: u64, order: &Order) -> Result {
        let (epoch, rank) = (order.epoch.unwrap_or(0), order.rank.unwrap_or(0));
        let epoch = Epoch::of_rank(self.count, seed, epoch, rank, order.world.unwrap_or(1));
        let epoch = epoch.map_err(library(self.path))?;
        self.count = epoch.numbers_per_epoch();
        self.numbers = Some(Box::new(epoch));
        Ok(())
    }

    /// Chooses records by their numbers, all of which must exist; negative ones count from the end.
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
        self.numbers = Some(Box::new(list.into_iter()));
        Ok(())
    }

    /// Passes on the records, in order. Stops at a damaged one, or reports, omits and counts it.
    pub fn each(&mut self, sink: &mut dyn Sink) -> Result {
        let (mut done, numbers) = match self.numbers.take() {
            Some(numbers) => (0, numbers),
            None => {
                let mut done = self.copies(sink)?;
                if done == 0 {
                    done = self.ranges(sink)?;
                }
                (done, Box::new(done..self.count) as Box<dyn Iterator<Item = u64> + Send>)
            }
        };
        let options = Options::new().read_ahead_bytes(READ_AHEAD);
        let stream = self.bag.stream_of(numbers, &options).map_err(library(self.path))?;
        while progress::report(done, self.count) {
            match stream.next_batch(0) {
                Ok(None) => return Ok(()),
                Ok(Some(batch)) => {
                    let records = batch.records();
                    done += records.len() as u64;
                    sink.take(Batch { data: records.bytes(), offsets: records.offsets() })?;
                }
                Err(error) => {
                    self.skip(&error)?;
                    done += 1;
                    sink.skip()?;
                }
            }
        }
        Err(Failure::Stopped)
    }

    /// Lets the sink copy consecutive records up to the first that cannot be read. Returns their
    /// number.
    fn copies(&self, sink: &mut dyn Sink) -> Result<u64> {
        let (mut done, size) = (0, self.bag.stored_bytes() / self.count.max(1) + RECORD_COST);
        let most = (COPIED / size).clamp(1, RECORDS_MOST);
        while done < self.count && progress::report(done, self.count) {
            let n = most.min(self.count - done);
            let part = self.bag.slice(done..done + n).map_err(library(self.path))?;
            let copied = sink.copy(&part)?;
            done += copied;
            if copied < n {
                break;
            }
        }
        Ok(done)
    }

    /// Passes on consecutive records up to the first that cannot be read. Returns their number. It is
    /// faster than a stream, which finds out which record that is. The bag is opened with less memory
    /// for it.
    fn ranges(&self, sink: &mut dyn Sink) -> Result<u64> {
        let (mut done, mut most) = (0, RECORDS_FIRST);
        let state = |bag: &Bag| (bag.len(), bag.stored_bytes());
        let opened = self.access.as_ref().and_then(|a| a.within(READ_AHEAD).open(self.path).ok());
        let Some(bag) = opened.filter(|bag| state(bag) == state(&self.bag)) else {
            return Ok(0);
        };
        while done < self.count && progress::report(done, self.count) {
            let n = most.min(self.count - done);
            let Ok(records) = bag.read_range(done..done + n) else {
                break;
            };
            done += n;
            let size = records.bytes().len() as u64 / n + RECORD_COST;
            most = (READ_AHEAD / 2 / size).min(4 * n).clamp(1, RECORDS_MOST);
            sink.take(Batch { data: records.bytes(), offsets: records.offsets() })?;
        }
        Ok(done)
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
