//! Bags: records of any length in the Bagz format.
#![forbid(unsafe_code)]

use super::{Location, Options, Records, Result, Stream};
use crate::bag::{Bag as EngineBag, ShardPath};
use std::ops::{Bound, RangeBounds};

/// An open bag: records of any length in the Bagz format, in one file or several.
///
/// Many threads may read one bag at once. A clone and a slice share its files. A bag has the state
/// of the last commit before it was opened.
///
/// ```
/// use holdall::{Bag, BagWriter, Options};
/// # let path = std::env::temp_dir().join(format!("holdall-doc-bag-{}.bagz", std::process::id()));
///
/// let mut writer = BagWriter::replace(&path, &Options::new())?;
/// writer.append_many(&["zero", "one", "two", "three"])?;
/// writer.commit()?;
///
/// let bag = Bag::open(&path)?;
/// assert_eq!(bag.len(), 4);
/// assert_eq!(bag.get(1)?, b"one");
/// assert_eq!(bag.read_indices(&[3, 0])?.get(0), Some(&b"three"[..]));
/// for record in bag.slice(1..3)?.iter() {
///     println!("{}", record?.len());
/// }
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Bag(EngineBag);

impl Bag {
    /// Opens a bag with default options.
    ///
    /// A path may name several files, separated by commas. `name@3.bagz` stands for the files
    /// `name-00000-of-00003.bagz` and so on, `name@*.bagz` for as many as exist. The name of an
    /// existing file is taken literally.
    pub fn open(location: impl Into<Location>) -> Result<Bag> {
        Bag::open_with(location, &Options::new())
    }

    /// Opens a bag. Without a file name, in memory or in storage of the caller, the records are taken
    /// as uncompressed unless the options set [`Codec::Zstd`](crate::Codec::Zstd).
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Bag> {
        let options = options.get()?;
        let bag = location.into().with(
            |path| EngineBag::open(path, options),
            |folder| EngineBag::open_in(&[ShardPath::new(folder.clone(), "")], options),
        )?;
        Ok(Bag(bag))
    }

    /// Returns the number of records.
    pub fn len(&self) -> u64 {
        self.0.size()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size on disk in bytes of all files; for a slice, of the whole bag.
    pub fn stored_bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Returns record `i`. A corrupt record is an error, even if the options skip corrupt content.
    pub fn get(&self, i: u64) -> Result<Vec<u8>> {
        Ok(self.0.read(i)?)
    }

    /// Returns the records of a range as a bag that shares the files.
    pub fn slice(&self, range: impl RangeBounds<u64>) -> Result<Bag> {
        let (first, n) = self.first_and_count(&range);
        self.strided(first, 1, n)
    }

    /// Returns the `n` records `start`, `start + step`, ... as a bag that shares the files. `step`
    /// may be negative.
    pub fn strided(&self, start: u64, step: i64, n: u64) -> Result<Bag> {
        Ok(Bag(self.0.slice(start, step, n)?))
    }

    /// Returns an iterator over the records, which reads ahead in parallel.
    pub fn iter(&self) -> BagIter {
        BagIter::new(self)
    }

    /// Reads the records of a range, in parallel if faster. A corrupt record is an error, or empty
    /// with [`Options::skip_corrupt`] and listed by [`Records::corrupt`].
    pub fn read_range(&self, range: impl RangeBounds<u64>) -> Result<Records> {
        let (first, n) = self.first_and_count(&range);
        Ok(Records::new(self.0.read_range(first, n)?))
    }

    /// Reads records by number, in any order and with repetitions, as [`Bag::read_range`].
    pub fn read_indices(&self, indices: &[u64]) -> Result<Records> {
        Ok(Records::new(self.0.read_indices(indices)?))
    }

    /// Opens a stream of all records in order.
    pub fn stream(&self, options: &Options) -> Result<Stream> {
        Stream::open(&self.0, None, options)
    }

    /// Opens a stream of the records whose numbers an iterator returns. It may be infinite. Only
    /// threads that take records from the stream call it.
    pub fn stream_of(
        &self,
        numbers: impl Iterator<Item = u64> + Send + 'static,
        options: &Options,
    ) -> Result<Stream> {
        let mut numbers = numbers;
        Stream::open(&self.0, Some(Box::new(move || Ok(numbers.next()))), options)
    }

    /// Returns the first record of a range, and the number of records. A range past the end is
    /// reported by the engine.
    fn first_and_count(&self, range: &impl RangeBounds<u64>) -> (u64, u64) {
        let first = match range.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.len(),
        };
        (first, end.saturating_sub(first))
    }
}

impl IntoIterator for &Bag {
    type Item = Result<Vec<u8>>;
    type IntoIter = BagIter;

    fn into_iter(self) -> BagIter {
        self.iter()
    }
}

/// An iterator over the records of a [`Bag`]. A corrupt record is an error; the iterator continues
/// with the record after it.
pub struct BagIter(Result<Stream, Option<super::Error>>);

impl BagIter {
    fn new(bag: &Bag) -> BagIter {
        BagIter(
            bag.stream(&Options::new().skip_corrupt(false))
                .map_err(Some),
        )
    }
}

impl Iterator for BagIter {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        match &mut self.0 {
            Ok(stream) => {
                let record = stream.next_record().transpose()?;
                Some(record.map(<[u8]>::to_vec))
            }
            Err(error) => error.take().map(Err),
        }
    }
}
