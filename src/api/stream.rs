//! Streams of records.
#![forbid(unsafe_code)]

use super::{Batch, Error, Options, Result};
use crate::bag::{Bag, Next, Stream as EngineStream};

/// Records of a [`Bag`](crate::Bag) in any order, read ahead in parallel.
///
/// Many threads may call [`Stream::next_batch`] at once; each record goes to one of them. Dropping a
/// stream waits until reading ahead stops.
///
/// A call fails with [`Status::Range`](crate::Status::Range) if the iterator of the caller returned a
/// number that the bag does not have, and otherwise as [`Bag::get`](crate::Bag::get). Failures come
/// in the order of records; the next call continues after them.
///
/// ```
/// # use holdall::{Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-stream-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["zero", "one", "two"])?;
/// # writer.commit()?;
/// let bag = Bag::open(&path)?;
/// let mut stream = bag.stream_of([2, 0].into_iter(), &Options::new())?;
/// assert_eq!(stream.next_record()?, Some(&b"two"[..]));
/// assert_eq!(stream.next_record()?, Some(&b"zero"[..]));
/// assert_eq!(stream.next_record()?, None);
///
/// let all = bag.stream(&Options::new())?;
/// while let Some(batch) = all.next_batch(100)? {
///     println!("{:?}", batch.numbers());
/// }
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stream(EngineStream);

impl Stream {
    pub(super) fn open(bag: &Bag, next: Option<Next>, options: &Options) -> Result<Stream> {
        let stream = EngineStream::open(bag, next, options.get()?);
        stream.map(Stream).map_err(Error)
    }

    /// Returns the next record, or `None` at the end. After an error, the next call returns the
    /// record after it. A record that [`Options::skip_corrupt`] skips is empty, and
    /// [`Stream::corrupt`] counts it.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>> {
        self.0.next_record().map_err(Error)
    }

    /// Returns the next `n` records, or `None` at the end. It returns fewer at the end and before a
    /// record that cannot be read; the next call returns the error of that record. With `n` 0 it
    /// returns as many as were read together.
    pub fn next_batch(&self, n: usize) -> Result<Option<Batch>> {
        let batch = self.0.take(n).map_err(Error)?;
        Ok(batch.map(Batch::new))
    }

    /// Returns the number in the bag of the record that [`Stream::next_record`] returned last.
    pub fn number(&self) -> Option<u64> {
        Some(self.0.number()).filter(|number| *number != u64::MAX)
    }

    /// Returns whether the record that [`Stream::next_record`] returned last is corrupt and therefore
    /// empty.
    pub fn is_corrupt(&self) -> bool {
        self.0.is_damaged()
    }

    /// Returns how many corrupt records were skipped.
    pub fn corrupt(&self) -> u64 {
        self.0.damaged()
    }
}
