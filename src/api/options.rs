//! The options of all calls.
#![forbid(unsafe_code)]

use super::{Element, Error, Order, Result, element};
use crate::error::Error as EngineError;
use crate::options::{Opt, Options as EngineOptions};
use std::sync::Arc;
use std::time::Duration;

/// A compression codec. Bags have [`Codec::None`] and [`Codec::Zstd`]; frames do not have
/// [`Codec::Snappy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Not compressed.
    None = 0,
    /// BloscLZ.
    BloscLz = 1,
    /// LZ4.
    Lz4 = 2,
    /// LZ4 with the slower, high-compression encoder.
    Lz4Hc = 3,
    /// Snappy. python-blosc cannot read it.
    Snappy = 4,
    /// Deflate in the zlib format.
    Zlib = 5,
    /// Zstandard.
    Zstd = 6,
}

/// A filter, applied to the items of a chunk before the codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Filter {
    /// The first bytes of all items, then the second bytes, and so on.
    Shuffle = 1,
    /// The same with bits.
    Bitshuffle = 2,
    /// XOR with the items of the first block of the chunk, which every read then needs. Goes before
    /// a shuffle; frames only.
    Delta = 3,
    /// Difference from the previous byte. Goes after a shuffle; frames only. Caterva cannot read
    /// it.
    Bytedelta = 35,
    /// Truncated precision. Only in [`Encoding`](crate::Encoding); set by [`Options::precision`].
    TruncPrec = 4,
}

/// A checksum algorithm for what is written. Bags and frames have [`Checksum::None`] and
/// [`Checksum::Crc32`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Checksum {
    /// No checksum.
    None = 0,
    /// Adler-32.
    Adler32 = 1,
    /// CRC-32 as in zlib.
    Crc32 = 2,
    /// MD5.
    Md5 = 3,
    /// SHA-1.
    Sha1 = 4,
    /// SHA-224.
    Sha224 = 5,
    /// SHA-256.
    Sha256 = 6,
    /// SHA-384.
    Sha384 = 7,
    /// SHA-512.
    Sha512 = 8,
}

/// When checksums are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verify {
    /// Never, except for checksums inside zstd frames.
    Never = 0,
    /// Those of the parts that are read.
    OnRead = 1,
    /// All when the container is opened, and those of the parts that are read.
    AtOpen = 2,
}

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileAccess {
    /// With system calls. A file that is truncated while open is an error.
    Read = 0,
    /// Mapped into memory: faster for small records. If a file is truncated while open, the process
    /// gets SIGBUS.
    Map = 1,
}

/// Whether a compressed bag has a zstd dictionary, and where it is. A dictionary makes short records
/// that resemble each other smaller, and faster to read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BagDictionary {
    /// The bag does not store the one that is given, if there is one: readers need it.
    Separate = 0,
    /// Each file of the bag stores the one that is given.
    Stored = 1,
    /// One is trained from the first records, and stored if it makes them at least 5 % smaller. Up
    /// to 4 MiB of records are held back in memory until then.
    Auto = 2,
}

/// Where the limits (end offsets) of the records of a bag are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BagLimits {
    /// At the end of the file of the records.
    Tail = 0,
    /// In a file `limits.NAME` beside it.
    Separate = 1,
}

/// How the shards of a bag form one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BagShards {
    /// All records of the first shard, then those of the second, and so on.
    Concatenated = 0,
    /// Record `i` is record `i / n` of shard `i % n`, of `n` shards.
    Interleaved = 1,
}

/// A set of options, built by chained calls. `Options::new()` has all defaults.
///
/// Each method states the default and the containers that the option applies to. A call fails with
/// [`Status::Argument`](crate::Status::Argument) if an option has an invalid value, or does not apply
/// to it and has another value than its default. The guide `docs/options.md` of the repository
/// describes each option in detail.
///
/// ```
/// use holdall::{Array, ArrayLayout, Codec, Filter, Format, Options};
/// # let name = format!("holdall-doc-options-{}.b2nd", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let options = Options::new().codec(Codec::Zstd).level(3).filters(&[Filter::Bitshuffle]);
/// let mut array =
///     Array::replace(&path, "<i4", &[1000], &ArrayLayout::new(Format::B2nd), &options)?;
/// array.write([0..1000], &[7i32; 1000])?;
/// array.commit()?;
///
/// // the level of a frame is at most 9
/// let options = Options::new().level(20);
/// assert!(Array::replace(&path, "<i4", &[1000], &ArrayLayout::new(Format::B2nd), &options).is_err());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Options {
    options: EngineOptions,
    /// The first invalid value, reported by the call that takes the options.
    error: Option<EngineError>,
}

impl Options {
    /// Creates a set of options that are all defaults.
    pub fn new() -> Options {
        Options::default()
    }

    // ---- reading and writing

    /// Sets the number of threads per call. Default, and 0: the processors available to the
    /// process, if the work is large enough.
    pub fn threads(self, n: usize) -> Options {
        self.size(Opt::Threads, n as u64)
    }

    /// Sets the maximum number of bytes that one file may make a call allocate. Default: 4 GiB.
    pub fn memory_limit(self, bytes: u64) -> Options {
        self.size(Opt::MemoryLimit, bytes)
    }

    /// Calls a function with `(done, total)` in bytes of content; in bytes of stored records where a
    /// bag is verified, checksummed or indexed. The calling thread calls it after each chunk or
    /// batch, in calls that read (but not single records), change, commit, copy, verify, repair,
    /// checksum or index. Calls that the function makes do not report. If it returns `false`, the
    /// call fails with [`Status::Cancelled`](crate::Status::Cancelled), unless all is done. A commit
    /// stops only before it changes the container, and can be repeated.
    pub fn progress(mut self, f: impl Fn(u64, u64) -> bool + Send + Sync + 'static) -> Options {
        self.options.on_progress(Some(Arc::new(f)));
        self
    }

    // ---- reading

    /// Sets how files are read. Default: [`FileAccess::Read`].
    pub fn file_access(self, access: FileAccess) -> Options {
        self.set(Opt::Io, access as i64)
    }

    /// Sets when checksums are verified. Default: [`Verify::OnRead`].
    pub fn verify(self, verify: Verify) -> Options {
        self.set(Opt::Verify, verify as i64)
    }

    /// Sets whether reads skip corrupt content: corrupt records read as empty, corrupt chunks as
    /// zeros, and the result says so. Default: `false`; corrupt content is an error.
    pub fn skip_corrupt(self, skip: bool) -> Options {
        self.set(Opt::SkipDamaged, skip.into())
    }

    /// Sets the maximum number of bytes of decoded blocks that a handle keeps for further reads:
    /// blocks of an array in a frame that are requested again, and blocks of which small parts are
    /// read. 0: none. Default: 4 MiB, and 64 MiB for all handles that do not set it. A table has the
    /// limit for each column.
    ///
    /// # Examples
    ///
    /// Planes of a scan share blocks, which a slab of this many bytes holds:
    ///
    /// ```
    /// use holdall::Options;
    ///
    /// let options = Options::new().cache_bytes(512 * 512 * 8 * 4);
    /// ```
    pub fn cache_bytes(self, bytes: u64) -> Options {
        self.size(Opt::CacheBytes, bytes)
    }

    /// Frames: sets the offset of the frame in a larger file, in bytes. Default: 0.
    pub fn frame_offset(self, bytes: u64) -> Options {
        self.size(Opt::At, bytes)
    }

    // ---- writing

    /// Sets whether a commit syncs files and folder. Default: `true`. Without, a commit survives a
    /// crash of the program, but may not survive a power failure.
    pub fn durable(self, durable: bool) -> Options {
        self.set(Opt::Durability, durable.into())
    }

    /// Sets whether a lock ensures a single writer across processes. Default: `true`.
    pub fn lock(self, lock: bool) -> Options {
        self.set(Opt::Lock, lock.into())
    }

    /// Sets the codec. Default: bags: Zstandard if the file name ends in `.bagz`, else none;
    /// others: LZ4. A reader of a bag needs it if the name does not show it.
    pub fn codec(self, codec: Codec) -> Options {
        self.set(Opt::Codec, codec as i64)
    }

    /// Sets the compression level. Bags: that of zstd, -131072 to 22, default 3. Others: 0 to 9,
    /// default 5.
    pub fn level(self, level: i32) -> Options {
        self.set(Opt::Level, level.into())
    }

    /// Sets the filters, in order of application. Default: [`Filter::Shuffle`]. Frames have up to
    /// six, others up to one.
    pub fn filters(self, filters: &[Filter]) -> Options {
        let numbers: Vec<u8> = filters.iter().map(|filter| *filter as u8).collect();
        self.set_bytes(Opt::Filters, &numbers)
    }

    /// Frames and arrays in the BLZ RFC layout, with `<f4` or `<f8` items: truncates new items to
    /// `bits` bits of the mantissa (1 to 23, or 52), or clears `-bits` bits if negative. This is
    /// lossy. Default: 0, all bits; an existing container: as it records, which only 0 changes.
    /// Copies do not inherit it.
    pub fn precision(self, bits: i8) -> Options {
        self.set(Opt::Precision, bits.into())
    }

    /// Sets the checksum algorithm. Default: [`Checksum::Crc32`].
    pub fn checksum(self, checksum: Checksum) -> Options {
        self.set(Opt::Checksum, checksum as i64)
    }

    /// Sets the bytes of content per chunk. Default: 1 MiB; arrays in frames: 2 to 4 MiB; folders:
    /// from the expected rows.
    pub fn chunk_bytes(self, bytes: u64) -> Options {
        self.size(Opt::ChunkBytes, bytes)
    }

    /// Sets the bytes of content per block of a chunk. Default: by codec and level.
    pub fn block_bytes(self, bytes: u64) -> Options {
        self.size(Opt::BlockBytes, bytes)
    }

    /// Sets the fill value, which items have that were never written, to the bytes of an item or
    /// row. Default: zeros. Arrays and tables.
    pub fn fill_bytes(self, value: &[u8]) -> Options {
        self.set_bytes(Opt::Fill, value)
    }

    /// Sets the fill value to a number, as [`Options::fill_bytes`] does. Its type must be that of
    /// the items.
    pub fn fill<T: Element>(self, value: T) -> Options {
        self.fill_bytes(element::bytes(&[value]))
    }

    /// Folders: sets the approximate final number of rows, which determines the chunk length.
    /// Default: the rows at creation; a table has none.
    pub fn expected_rows(self, rows: u64) -> Options {
        self.size(Opt::ExpectedRows, rows)
    }

    /// Frames: sets whether a new frame is a folder with one file per chunk. Default: `false`.
    pub fn sparse(self, sparse: bool) -> Options {
        self.set(Opt::Sparse, sparse.into())
    }

    /// Arrays in frames: sets whether python-blosc2 and Caterva can read the array. Default:
    /// `false`, only one of them, by the format.
    pub fn both_metalayers(self, both: bool) -> Options {
        self.set(Opt::BothMetalayers, both.into())
    }

    /// BLZ RFC layout: sets the number of chunks per superchunk file. Default: by the expected
    /// rows.
    pub fn superchunk_chunks(self, n: u64) -> Options {
        self.size(Opt::SuperchunkChunks, n)
    }

    /// BLZ RFC layout: sets the order of the items in a chunk of a new array. Default:
    /// [`Order::C`].
    pub fn order(self, order: Order) -> Options {
        self.set(Opt::Order, (order == Order::Fortran).into())
    }

    /// BLZ RFC layout: sets whether the metadata files of a new dataset are YAML, with the names of
    /// the RFC. Default: `false`, JSON. Commits keep the form.
    pub fn yaml(self, yaml: bool) -> Options {
        self.set(Opt::Yaml, yaml.into())
    }

    /// Bloscpack: sets the version of the header, 1, 2 or 3, or 103 for the BLZ RFC layout.
    /// Default: 3.
    pub fn bloscpack_version(self, version: u8) -> Options {
        self.set(Opt::FormatVersion, version.into())
    }

    /// Bloscpack: sets whether the file has a table of chunk offsets. Default: `true`.
    pub fn offsets(self, offsets: bool) -> Options {
        self.set(Opt::Offsets, offsets.into())
    }

    /// Bloscpack: sets the number of free entries in the table of chunk offsets. Default: 10 per
    /// chunk, at least 50.
    pub fn spare_chunks(self, n: u64) -> Options {
        self.size(Opt::SpareChunks, n)
    }

    /// Bloscpack: sets the free bytes in each new chunk. Default: 0.
    pub fn spare_bytes(self, n: u64) -> Options {
        self.size(Opt::SpareBytes, n)
    }

    // ---- bags

    /// Frames whose codec is LZ4, LZ4HC or zstd: sets whether a new chunk stores a dictionary, which is
    /// trained from its blocks, if that makes it about 5 % smaller: blocks of a few hundred bytes.
    /// Default: as the frame states; new frames have none.
    ///
    /// For readers that use holdall: c-blosc2 3.3.2 reads such chunks whole, but of a part of one it
    /// returns an error, or with LZ4 and LZ4HC wrong content.
    ///
    /// # Examples
    ///
    /// ```
    /// use holdall::{Codec, Options};
    ///
    /// let options = Options::new().codec(Codec::Zstd).block_bytes(512).chunk_dictionary(true);
    /// ```
    pub fn chunk_dictionary(self, with: bool) -> Options {
        self.set(Opt::ChunkDictionary, with.into())
    }

    /// Bags: sets a zstd dictionary. Reading needs the same one as writing, unless the bag stores it.
    /// Default: none.
    pub fn dictionary(self, dictionary: &[u8]) -> Options {
        self.set_bytes(Opt::Dictionary, dictionary)
    }

    /// Bags: sets whether the writer stores the dictionary, or trains one. Default:
    /// [`BagDictionary::Separate`]. Appends use the stored one, whatever this option; so do copies to
    /// a new bag, unless this option or [`Options::dictionary`] is set, or the records are few.
    ///
    /// ```
    /// use holdall::{Bag, BagDictionary, BagWriter, Options};
    /// # let name = format!("holdall-doc-dictionary-{}.bagz", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    ///
    /// let options = Options::new().bag_dictionary(BagDictionary::Auto);
    /// let mut writer = BagWriter::create(&path, &options)?;
    /// for i in 0..10_000 {
    ///     writer.append(format!("{{\"user\": {i}, \"country\": \"DE\"}}").as_bytes())?;
    /// }
    /// writer.commit()?;
    /// assert!(Bag::open(&path)?.dictionary()?.is_some());
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bag_dictionary(self, dictionary: BagDictionary) -> Options {
        self.set(Opt::BagDictionary, dictionary as i64)
    }

    /// Bags: sets where the limits of records are stored. Default: [`BagLimits::Tail`]. Readers and
    /// writers need it.
    pub fn bag_limits(self, limits: BagLimits) -> Options {
        self.set(Opt::BagLimits, limits as i64)
    }

    /// Bags: sets whether a reader loads all limits into memory, 8 bytes per record. Default:
    /// `false`, they are read as needed.
    pub fn load_limits(self, load: bool) -> Options {
        self.set(Opt::BagLimitsCache, load.into())
    }

    /// Bags: sets how the shards form one sequence. Default: as the files record it, else
    /// concatenated.
    pub fn bag_shards(self, shards: BagShards) -> Options {
        self.set(Opt::BagShards, shards as i64)
    }

    /// Streams: sets the number of records that are read in advance. Default: as
    /// [`Options::read_ahead_bytes`] permits.
    pub fn read_ahead(self, records: u64) -> Options {
        self.size(Opt::BagReadAhead, records)
    }

    /// Streams: sets the bytes of records that are read in advance. Default: two batches of 1 MiB
    /// per thread.
    pub fn read_ahead_bytes(self, bytes: u64) -> Options {
        self.size(Opt::BagReadAheadBytes, bytes)
    }

    // ---- Arrow

    /// Tables: sets whether byte strings (`S`) are binary in Arrow. Default: `false`, they are UTF-8.
    pub fn arrow_binary(self, binary: bool) -> Options {
        self.set(Opt::ArrowBinary, binary.into())
    }

    /// Tables: sets whether NaN is null in Arrow. Default: `false`.
    pub fn arrow_nulls(self, nulls: bool) -> Options {
        self.set(Opt::ArrowNulls, nulls.into())
    }

    // ---- repair, links, object stores

    /// Sets whether [`repair`](crate::repair()) only determines its result and changes nothing.
    /// [`verify`](crate::verify()) then sees what the repair would leave. Default: `false`.
    pub fn dry_run(self, dry_run: bool) -> Options {
        self.set(Opt::DryRun, dry_run.into())
    }

    /// Datasets and tables: sets whether symbolic links that lead out of the folder are followed, for
    /// example of `data` to another disk. Writers then write there. They remove links, never what
    /// they lead to. Default: `false`, which is [`Status::Format`](crate::Status::Format).
    ///
    /// Proxies of python-blosc2: sets whether the source is read instead, if it is a local file.
    /// Default: `false`, which is [`Status::Unsupported`](crate::Status::Unsupported).
    pub fn follow_links(self, follow: bool) -> Options {
        self.set(Opt::FollowLinks, follow.into())
    }

    /// Object stores: sets how long a request may wait for data, retries included. Default: 30
    /// seconds.
    pub fn cloud_timeout(self, timeout: Duration) -> Options {
        self.size(
            Opt::CloudTimeout,
            u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        )
    }

    /// Object stores: sets the number of retries of a failed request within that time. Default: 5.
    pub fn cloud_retries(self, n: u32) -> Options {
        self.set(Opt::CloudRetries, n.into())
    }

    /// Object stores: sets the number of concurrent requests per call. Default: 16.
    pub fn cloud_requests(self, n: u32) -> Options {
        self.set(Opt::CloudRequests, n.into())
    }

    // ---- for the other types

    /// Returns the options of the engine, or an error if a value is invalid.
    pub(super) fn get(&self) -> Result<&EngineOptions> {
        match &self.error {
            None => Ok(&self.options),
            Some(error) => Err(Error(error.clone())),
        }
    }

    fn size(self, opt: Opt, value: u64) -> Options {
        self.set(opt, i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn set(mut self, opt: Opt, value: i64) -> Options {
        let done = self.options.set(opt, value);
        self.note(done)
    }

    fn set_bytes(mut self, opt: Opt, value: &[u8]) -> Options {
        let done = self.options.set_bytes(opt, value);
        self.note(done)
    }

    fn note(mut self, done: crate::error::Result<()>) -> Options {
        self.error = self.error.or(done.err());
        self
    }
}
