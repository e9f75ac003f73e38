//! Bags: records of any length in the Bagz format.
#![forbid(unsafe_code)]

use super::follower::Follower;
use super::{
    ArrowReader, BagLimits, BagShards, BagWriter, Checksum, Codec, Error, Integrity, Location,
    Options, Records, Result, Split, Stream,
};
use crate::arrow::bag_source::BagSource;
use crate::bag::codec::Codec as EngineCodec;
use crate::bag::{Bag as EngineBag, Protection, ShardPath, spec};
use crate::error::Status;
use crate::options::Options as EngineOptions;
use crate::watch::Watch;
use std::ffi::OsStr;
use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;
use std::sync::Arc;

/// How the records of a bag are protected against corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BagChecksum {
    /// No checksums.
    None,
    /// CRC-32 checksums in a file beside the bag.
    Crc32,
    /// A checksum inside each zstd frame.
    Zstd,
}

/// An open bag: records of any length in the Bagz format, in one file or several.
///
/// Many threads may read one bag at once. A clone and a slice share its files. A bag has the state
/// of the last commit before it was opened; [`Bag::refresh`] moves it to the newest commit.
///
/// A call fails with [`Status::Range`] for a record that does not exist, and with
/// [`Status::Format`] or [`Status::Checksum`] for one that is corrupt. Other records remain
/// readable. It fails with [`Status::State`] if the bag grew after it was opened, without
/// [`Options::load_limits`].
///
/// ```
/// use holdall::{Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-bag-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
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
pub struct Bag {
    pub(super) inner: EngineBag,
    follower: Follower,
}

fn open_at(location: &Location, options: &EngineOptions) -> Result<EngineBag> {
    location.with_shards(
        |path| EngineBag::open(path, options),
        |folders| {
            let shard = |folder| ShardPath::new(Arc::clone(folder), "");
            EngineBag::open_in(&folders.iter().map(shard).collect::<Vec<_>>(), options)
        },
    )
}

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
        let (location, options) = (location.into(), options.get()?);
        let follower = Follower::new(&location, options, Watch::bag);
        let inner = open_at(&location, options)?;
        Ok(Bag { inner, follower })
    }

    /// Moves the bag to the newest commit. Returns `false` if there certainly is none, which takes
    /// about a system call per file. Clones, slices, streams and indexes stay at the earlier commit.
    ///
    /// It fails as opening does, and then leaves the bag unchanged, and with [`Status::State`] for
    /// a slice.
    pub fn refresh(&mut self) -> Result<bool> {
        let Some((inner, follower)) = self.follower.refreshed(open_at)? else {
            return Ok(false);
        };
        *self = Bag { inner, follower };
        Ok(true)
    }

    /// Returns the number of refreshes that returned `true`.
    pub fn generation(&self) -> u64 {
        self.follower.generation
    }

    /// Lists the files of a path as [`Bag::open`] takes it, in order. Only `@*` and plain names
    /// search the disk; files of `@N` need not exist.
    ///
    /// It fails with [`Status::Argument`] if `@*` matches shards of different counts, and with
    /// [`Status::Missing`] if it matches none.
    pub fn files(path: impl AsRef<OsStr>) -> Result<Vec<PathBuf>> {
        let files = spec::expand(path.as_ref()).map_err(Error)?;
        Ok(files.into_iter().map(PathBuf::from).collect())
    }

    // ---- properties

    /// Returns the number of records.
    pub fn len(&self) -> u64 {
        self.inner.size()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size on disk in bytes of all files; for a slice, of the whole bag.
    pub fn stored_bytes(&self) -> u64 {
        self.inner.bytes()
    }

    /// Returns the name, as in messages, and the number of records of each shard.
    pub fn shards(&self) -> impl Iterator<Item = (&str, u64)> {
        self.inner.each_shard()
    }

    /// Returns how the shards form one sequence.
    pub fn shard_order(&self) -> BagShards {
        if self.inner.interleaved() {
            BagShards::Interleaved
        } else {
            BagShards::Concatenated
        }
    }

    /// Returns where the limits of the records are stored.
    pub fn limits(&self) -> BagLimits {
        if self.inner.separate() {
            BagLimits::Separate
        } else {
            BagLimits::Tail
        }
    }

    /// Returns the codec; `None` if shards differ.
    pub fn codec(&self) -> Option<Codec> {
        match self.inner.codec() {
            Some(EngineCodec::Zstd) => Some(Codec::Zstd),
            None if self.inner.shards() > 0 => None,
            Some(EngineCodec::None) | None => Some(Codec::None),
        }
    }

    /// Returns the checksum of the records, the weakest of all shards. It is
    /// [`BagChecksum::None`] if the one in the first frame is corrupt.
    pub fn protection(&self) -> Result<BagChecksum> {
        Ok(match self.inner.protection().map_err(Error)? {
            Protection::None => BagChecksum::None,
            Protection::Crc32 => BagChecksum::Crc32,
            Protection::Zstd => BagChecksum::Zstd,
        })
    }

    /// Returns the zstd dictionary that the files store, or that was given; none if they have none,
    /// or store different ones.
    pub fn dictionary(&self) -> Result<Option<Vec<u8>>> {
        let dictionary = self.inner.dictionary().map_err(Error)?;
        Ok(dictionary.map(|d| d.to_vec()))
    }

    /// Computes a checksum of the content, however it is stored: for each record in order, of its
    /// length as 8 bytes little-endian, then of its bytes.
    pub fn checksum(&self, checksum: Checksum) -> Result<(Vec<u8>, Integrity)> {
        let (value, filled) = self.inner.checksum(checksum.engine()).map_err(Error)?;
        Ok((value, Integrity::of(filled)))
    }

    /// Divides the records into at most `n` ranges, [`Split`]s, for programs that distribute work.
    /// They contain each record once, in order; none is empty, and their stored sizes are similar.
    /// They begin at shards where that changes a size by at most an eighth of the mean. Nothing is
    /// decoded.
    ///
    /// [`Split::bytes`] is the size of the stored records and their limits. It is an estimate for a
    /// slice with a step, and for an interleaved bag of more than 16 shards.
    ///
    /// ```
    /// # use holdall::{Bag, BagWriter, Options};
    /// # let name = format!("holdall-doc-splits-{}.bagz", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// # let mut writer = BagWriter::replace(&path, &Options::new())?;
    /// # writer.append_many(&["zero", "one", "two", "three"])?;
    /// # writer.commit()?;
    /// let bag = Bag::open(&path)?;
    /// for split in bag.splits(2)? {
    ///     let part = bag.slice(split.first..split.first + split.count)?;
    ///     println!("{} records in {} bytes", part.len(), split.bytes);
    /// }
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn splits(&self, n: usize) -> Result<Vec<Split>> {
        self.inner.splits(n as u64).map_err(Error)
    }

    // ---- records

    /// Returns record `i`. A corrupt record is an error, even if the options skip corrupt content.
    pub fn get(&self, i: u64) -> Result<Vec<u8>> {
        self.inner.read(i).map_err(Error)
    }

    /// Returns the size of record `i` in bytes. A compressed record is not decoded.
    pub fn record_len(&self, i: u64) -> Result<usize> {
        self.read_into_or_measure(i, None).map(|(n, _)| n)
    }

    /// Reads record `i` to the start of `dst` and returns its size in bytes. It fails with
    /// [`Status::Buffer`] if `dst` is too short. With [`Options::skip_corrupt`], a corrupt record
    /// has no bytes.
    pub fn read_into(&self, i: u64, dst: &mut [u8]) -> Result<(usize, Integrity)> {
        self.read_into_or_measure(i, Some(dst))
    }

    fn read_into_or_measure(&self, i: u64, dst: Option<&mut [u8]>) -> Result<(usize, Integrity)> {
        let (n, filled) = self.inner.read_into(i, dst).map_err(|mut e| {
            if e.status == Status::Buffer {
                // the engine returns the size here
                e.position = i64::try_from(i).unwrap_or(i64::MAX);
            }
            Error(e)
        })?;
        Ok((n, Integrity::of(filled)))
    }

    /// Returns the records of a range as a bag that shares the files.
    pub fn slice(&self, range: impl RangeBounds<u64>) -> Result<Bag> {
        let (first, n) = first_and_count(&range, self.len());
        self.strided(first, 1, n)
    }

    /// Returns the `n` records `start`, `start + step`, ... as a bag that shares the files. `step`
    /// may be negative.
    pub fn strided(&self, start: u64, step: i64, n: u64) -> Result<Bag> {
        let inner = self.inner.slice(start, step, n).map_err(Error)?;
        let follower = Follower::default();
        Ok(Bag { inner, follower })
    }

    /// Copies all records, or those at `indices`, in any order, to a new bag, which must not exist.
    /// The copy appears complete or not at all. It is stored as the options and its name say, as
    /// by [`BagWriter`](crate::BagWriter).
    pub fn copy_to(
        &self,
        indices: Option<&[u64]>,
        location: impl Into<Location>,
        options: &Options,
    ) -> Result<Integrity> {
        let mut to = BagWriter::create(location, options)?;
        to.copy_from(self, indices)
    }

    /// Copies records as [`Bag::copy_to`] does. The copy replaces an existing bag.
    pub fn copy_replacing(
        &self,
        indices: Option<&[u64]>,
        location: impl Into<Location>,
        options: &Options,
    ) -> Result<Integrity> {
        let mut to = BagWriter::replace(location, options)?;
        to.copy_from(self, indices)
    }

    /// Returns an iterator over the records, which reads ahead in parallel.
    pub fn iter(&self) -> BagIter {
        BagIter::new(self)
    }

    /// Reads the records of a range, in parallel if faster. A corrupt record is an error, or empty
    /// with [`Options::skip_corrupt`] and listed by [`Records::corrupt`].
    pub fn read_range(&self, range: impl RangeBounds<u64>) -> Result<Records> {
        let (first, n) = first_and_count(&range, self.len());
        let records = self.inner.read_range(first, n);
        records.map(Records::new).map_err(Error)
    }

    /// Reads records by number, in any order and with repetitions, as [`Bag::read_range`].
    pub fn read_indices(&self, indices: &[u64]) -> Result<Records> {
        let records = self.inner.read_indices(indices);
        records.map(Records::new).map_err(Error)
    }

    /// Reads the records of a range as Arrow arrays with one binary field, `record`, in batches of
    /// `batch` records (fewer over 2 GiB); 0: of about 16 MB.
    ///
    /// A corrupt record ends the reader with an error that names it, or is null with
    /// [`Options::skip_corrupt`].
    pub fn to_arrow(&self, range: impl RangeBounds<u64>, batch: u64) -> Result<ArrowReader> {
        let (first, n) = first_and_count(&range, self.len());
        let source = BagSource::new(self.inner.clone(), first, n, batch);
        source.map(ArrowReader::new).map_err(Error)
    }

    /// Opens a stream of all records in order.
    pub fn stream(&self, options: &Options) -> Result<Stream> {
        Stream::open(&self.inner, None, options)
    }

    /// Opens a stream of the records whose numbers an iterator returns, for example an
    /// [`Epoch`](crate::Epoch). It may be infinite. Only threads that take records from the stream
    /// call it, one at a time and in advance: to resume, count the records that were taken.
    pub fn stream_of(
        &self,
        numbers: impl Iterator<Item = u64> + Send + 'static,
        options: &Options,
    ) -> Result<Stream> {
        let mut numbers = numbers;
        Stream::open(
            &self.inner,
            Some(Box::new(move || Ok(numbers.next()))),
            options,
        )
    }
}

/// Returns the start and the length of a range of a container with `len` records or rows. A range
/// past the end is reported by the engine.
pub(super) fn first_and_count(range: &impl RangeBounds<u64>, len: u64) -> (u64, u64) {
    let first = match range.start_bound() {
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    (first, end.saturating_sub(first))
}

impl IntoIterator for &Bag {
    type Item = Result<Vec<u8>>;
    type IntoIter = BagIter;

    fn into_iter(self) -> BagIter {
        self.iter()
    }
}

/// An iterator over the records of a [`Bag`]. A corrupt record is an error; the iterator continues
/// with the record after it. It is `Send` and `Sync`.
///
/// ```
/// # use holdall::{Bag, BagWriter, Options};
/// # let name = format!("holdall-doc-iter-{}.bagz", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// # let mut writer = BagWriter::replace(&path, &Options::new())?;
/// # writer.append_many(&["a", "b", "c"])?;
/// # writer.commit()?;
/// let records: Vec<Vec<u8>> = Bag::open(&path)?.iter().collect::<holdall::Result<_>>()?;
/// assert_eq!(records.concat(), b"abc");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BagIter(Result<Stream, Option<Error>>);

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
