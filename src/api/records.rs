//! Records that one call has read.
#![forbid(unsafe_code)]

use super::Error;
use crate::bag::{Batch as EngineBatch, Records as EngineRecords};
use std::mem::take;

/// The records that one call has read, in one buffer. They are `Send` and `Sync`, and no call can
/// fail.
///
/// ```
/// # use holdall::{Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-records-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["a", "bc", ""])?;
/// # writer.commit()?;
/// let records = Bag::open(&path)?.read_range(0..3)?;
/// assert_eq!(records.get(1), Some(&b"bc"[..]));
/// assert_eq!(records.iter().map(<[u8]>::len).sum::<usize>(), 3);
/// assert_eq!(records.corrupt().count(), 0);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Records(EngineRecords);

impl Records {
    pub(super) fn new(records: EngineRecords) -> Records {
        Records(records)
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns record `i` of the batch, or `None` past the last.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        (i < self.len()).then(|| self.0.get(i))
    }

    /// Returns the records in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter()
    }

    /// Returns the bytes of all records, end to end.
    pub fn bytes(&self) -> &[u8] {
        &self.0.data
    }

    /// Returns the offsets of the records in [`Records::bytes`], one more than there are records:
    /// record `i` is `offsets[i]..offsets[i + 1]`.
    pub fn offsets(&self) -> &[u64] {
        &self.0.offsets
    }

    /// Returns the indices in the batch of the records that are corrupt and read as empty, with
    /// their errors. There are none without [`Options::skip_corrupt`](crate::Options::skip_corrupt).
    pub fn corrupt(&self) -> impl Iterator<Item = (u64, Error)> {
        let corrupt = self.0.damaged.iter();
        corrupt.map(|(i, error)| (*i, Error(error.clone())))
    }

    /// Returns the bytes and offsets as vectors that the caller owns, without a copy: see
    /// [`Records::bytes`] and [`Records::offsets`].
    pub fn into_parts(mut self) -> (Vec<u8>, Vec<u64>) {
        (take(&mut self.0.data), take(&mut self.0.offsets))
    }
}

/// Records of a [`Stream`](crate::Stream), and their numbers in the bag. A batch is `Send` and
/// `Sync`, and no call can fail.
///
/// ```
/// # use holdall::{Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-batch-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["a", "b", "c"])?;
/// # writer.commit()?;
/// let stream = Bag::open(&path)?.stream_of([2, 0].into_iter(), &Options::new())?;
/// let batch = stream.next_batch(10)?.ok_or("no records")?;
/// assert_eq!(batch.numbers(), [2, 0]);
/// assert_eq!(batch.records().get(0), Some(&b"c"[..]));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batch {
    records: Records,
    numbers: Vec<u64>,
}

impl Batch {
    pub(super) fn new(batch: EngineBatch) -> Batch {
        Batch {
            records: Records(batch.records),
            numbers: batch.numbers,
        }
    }

    /// Returns the records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Returns the records, which the caller owns.
    pub fn into_records(self) -> Records {
        self.records
    }

    /// Returns the number in the bag of each record.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }
}
