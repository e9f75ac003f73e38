//! Option sets for all functions that open or create a container.
//!
//! A value is validated when it is set. A call returns an error that names the option if the option
//! does not apply to it, unless the call ignores the option or the value is the default.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::parallel::Threads;
use crate::progress::Progress;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An option. The numbers are those of the C API and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Opt {
    /// Maximum number of threads of a call; 0: the number of processors.
    Threads = 1,
    /// Maximum number of bytes that a call may allocate for one file.
    MemoryLimit = 2,
    /// How files are read: 0 read calls, 1 memory mapping.
    Io = 3,
    /// When checksums are verified: 0 never, 1 on read, 2 all at open.
    Verify = 4,
    /// 1: corrupt parts are skipped instead of being an error.
    SkipDamaged = 5,
    /// Sync at commit: 0 no, 1 yes.
    Durability = 6,
    /// 1: only one writer at a time.
    Lock = 7,
    /// The codec.
    Codec = 8,
    /// The compression level.
    Level = 9,
    /// The filters in order, one byte each.
    Filters = 10,
    /// Uncompressed size of a chunk in bytes.
    ChunkBytes = 11,
    /// Uncompressed size of a block in bytes.
    BlockBytes = 12,
    /// The checksum algorithm.
    Checksum = 13,
    /// The zstd dictionary.
    Dictionary = 14,
    /// The fill value: the item or row returned where nothing was written.
    Fill = 15,
    /// Expected number of rows of a dataset.
    ExpectedRows = 16,
    /// Frames: 0 one file, 1 a folder with one file per chunk.
    Sparse = 17,
    /// BLZ RFC layout: number of chunks per superchunk.
    SuperchunkChunks = 18,
    /// Bloscpack: 1 with an offsets section, 0 without.
    Offsets = 19,
    /// Bloscpack: number of unused offsets reserved for appends.
    SpareChunks = 20,
    /// Bloscpack: bytes reserved in each chunk for changes in place.
    SpareBytes = 21,
    /// Bloscpack format version: 1, 2 or 3; 0 means 3; 103 means the BLZ RFC layout.
    FormatVersion = 22,
    /// Location of the limits of a bag: 0 at the end of the file, 1 in a separate file.
    BagLimits = 23,
    /// The limits of a bag: 0 read on demand, 1 held in memory.
    BagLimitsCache = 24,
    /// The records of shards: 0 concatenated, 1 interleaved.
    BagShards = 25,
    /// Number of records that a stream reads ahead.
    BagReadAhead = 26,
    /// Arrow type of exported byte strings: 0 text, 1 binary.
    ArrowBinary = 27,
    /// Exported NaN values: 0 unchanged, 1 as null.
    ArrowNulls = 28,
    /// Offset of a frame in a larger file.
    At = 29,
    /// Arrays in frames: 1 writes both the b2nd and the caterva metalayer.
    BothMetalayers = 30,
    /// Number of record bytes that a stream reads ahead.
    BagReadAheadBytes = 31,
    /// Milliseconds to wait for an object store to send data.
    CloudTimeout = 32,
    /// Number of retries of a request to an object store.
    CloudRetries = 33,
    /// Maximum number of concurrent requests to an object store.
    CloudRequests = 34,
    /// 1: a repair changes no file.
    DryRun = 35,
    /// BLZ RFC layout: order of the items in a chunk: 0 C, 1 Fortran.
    Order = 36,
    /// BLZ RFC layout: 1 writes the metadata files as YAML, 0 as JSON.
    Yaml = 37,
    /// Datasets and tables: 1 follows links out of the folder.
    FollowLinks = 38,
    /// Bits of the mantissa of floats to retain, or, if negative, to clear; 0: all are retained.
    Precision = 39,
    /// The dictionary of a bag: 0 not stored, 1 stored, 2 trained and stored if it gains.
    BagDictionary = 40,
    /// Maximum number of bytes of decoded blocks that a handle caches.
    CacheBytes = 41,
    /// 1: chunks have dictionaries.
    ChunkDictionary = 42,
}

/// Options for writing chunks, which opening an existing superchunk, array or table ignores unless it
/// uses them: one set of options can serve the writer that creates a container and its readers.
pub const CHUNK_WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::Precision,
    Opt::ChunkBytes,
    Opt::BlockBytes,
    Opt::Checksum,
    Opt::Fill,
    Opt::ExpectedRows,
    Opt::Sparse,
    Opt::SuperchunkChunks,
    Opt::Offsets,
    Opt::SpareChunks,
    Opt::SpareBytes,
    Opt::FormatVersion,
    Opt::BothMetalayers,
    Opt::Order,
    Opt::Yaml,
    Opt::ChunkDictionary,
];

/// Options of bags, their writers, streams and indexes. Each of these calls ignores those that it
/// does not use.
pub const BAG_OPTIONS: &[Opt] = &[
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Checksum,
    Opt::Dictionary,
    Opt::BagDictionary,
    Opt::BagLimits,
    Opt::BagLimitsCache,
    Opt::BagShards,
    Opt::BagReadAhead,
    Opt::BagReadAheadBytes,
];

/// Options that apply to every call that opens a name, because a name may refer to an object store or
/// to a folder with links.
pub const NAME_OPTIONS: &[Opt] = &[
    Opt::CloudTimeout,
    Opt::CloudRetries,
    Opt::CloudRequests,
    Opt::FollowLinks,
];

const ALL: &[(Opt, &str, i64, i64)] = &[
    (Opt::Threads, "HOLDALL_OPT_THREADS", 0, 1 << 16),
    (Opt::MemoryLimit, "HOLDALL_OPT_MEMORY_LIMIT", 0, i64::MAX),
    (Opt::Io, "HOLDALL_OPT_IO", 0, 1),
    (Opt::Verify, "HOLDALL_OPT_VERIFY", 0, 2),
    (Opt::SkipDamaged, "HOLDALL_OPT_SKIP_DAMAGED", 0, 1),
    (Opt::Durability, "HOLDALL_OPT_DURABILITY", 0, 1),
    (Opt::Lock, "HOLDALL_OPT_LOCK", 0, 1),
    (Opt::Codec, "HOLDALL_OPT_CODEC", 0, 255),
    (Opt::Level, "HOLDALL_OPT_LEVEL", -131_072, 22),
    (Opt::Filters, "HOLDALL_OPT_FILTERS", 0, 0),
    (Opt::ChunkBytes, "HOLDALL_OPT_CHUNK_BYTES", 1, MAX_CHUNK),
    (Opt::BlockBytes, "HOLDALL_OPT_BLOCK_BYTES", 1, MAX_CHUNK),
    (Opt::Checksum, "HOLDALL_OPT_CHECKSUM", 0, 9),
    (Opt::Dictionary, "HOLDALL_OPT_DICTIONARY", 0, 0),
    (Opt::Fill, "HOLDALL_OPT_FILL_VALUE", 0, 0),
    (Opt::ExpectedRows, "HOLDALL_OPT_EXPECTED_ROWS", 0, i64::MAX),
    (Opt::Sparse, "HOLDALL_OPT_SPARSE", 0, 1),
    (
        Opt::SuperchunkChunks,
        "HOLDALL_OPT_SUPERCHUNK_CHUNKS",
        1,
        1 << 20,
    ),
    (Opt::Offsets, "HOLDALL_OPT_OFFSETS", 0, 1),
    (Opt::SpareChunks, "HOLDALL_OPT_SPARE_CHUNKS", 0, 1 << 40),
    (Opt::SpareBytes, "HOLDALL_OPT_SPARE_BYTES", 0, 1 << 30),
    (Opt::FormatVersion, "HOLDALL_OPT_FORMAT_VERSION", 0, 103),
    (Opt::BagLimits, "HOLDALL_OPT_BAG_LIMITS", 0, 1),
    (Opt::BagLimitsCache, "HOLDALL_OPT_BAG_LIMITS_CACHE", 0, 1),
    (Opt::BagShards, "HOLDALL_OPT_BAG_SHARDS", 0, 1),
    (Opt::BagReadAhead, "HOLDALL_OPT_BAG_READ_AHEAD", 0, 1 << 40),
    (Opt::ArrowBinary, "HOLDALL_OPT_ARROW_BINARY", 0, 1),
    (Opt::ArrowNulls, "HOLDALL_OPT_ARROW_NULLS", 0, 1),
    (Opt::At, "HOLDALL_OPT_FRAME_OFFSET", 0, i64::MAX),
    (Opt::BothMetalayers, "HOLDALL_OPT_BOTH_METALAYERS", 0, 1),
    (
        Opt::BagReadAheadBytes,
        "HOLDALL_OPT_BAG_READ_AHEAD_BYTES",
        0,
        i64::MAX,
    ),
    (
        Opt::CloudTimeout,
        "HOLDALL_OPT_CLOUD_TIMEOUT",
        1,
        86_400_000,
    ),
    (Opt::CloudRetries, "HOLDALL_OPT_CLOUD_RETRIES", 0, 100),
    (Opt::CloudRequests, "HOLDALL_OPT_CLOUD_REQUESTS", 1, 256),
    (Opt::DryRun, "HOLDALL_OPT_DRY_RUN", 0, 1),
    (Opt::Order, "HOLDALL_OPT_ORDER", 0, 1),
    (Opt::Yaml, "HOLDALL_OPT_YAML", 0, 1),
    (Opt::FollowLinks, "HOLDALL_OPT_FOLLOW_LINKS", 0, 1),
    (Opt::Precision, "HOLDALL_OPT_PRECISION", -51, 52),
    (Opt::BagDictionary, "HOLDALL_OPT_BAG_DICTIONARY", 0, 2),
    (Opt::CacheBytes, "HOLDALL_OPT_CACHE_BYTES", 0, i64::MAX),
    (Opt::ChunkDictionary, "HOLDALL_OPT_CHUNK_DICTIONARY", 0, 1),
];

/// Maximum chunk size, slightly below the 2 GiB that the header fields can express.
const MAX_CHUNK: i64 = i32::MAX as i64 - 32;
/// `HOLDALL_CODEC_NONE` to `_ZSTD`, and `_BY_NAME`.
const CODECS: &[i64] = &[0, 1, 2, 3, 4, 5, 6, 255];
const FORMAT_VERSIONS: &[i64] = &[0, 1, 2, 3, 103];

impl Opt {
    /// Returns the option with this number.
    pub fn from_number(n: i32) -> Result<Opt> {
        let found = ALL.iter().find(|(o, ..)| *o as i32 == n);
        found
            .map(|(o, ..)| *o)
            .ok_or_else(|| fail!(Argument, "unknown option {n}"))
    }

    fn takes_bytes(self) -> bool {
        matches!(self, Opt::Dictionary | Opt::Fill | Opt::Filters)
    }

    /// Returns the default if it is the same number in all calls. Options that every call takes are
    /// not listed.
    fn default(self) -> Option<i64> {
        match self {
            Opt::Io
            | Opt::SkipDamaged
            | Opt::Sparse
            | Opt::SpareBytes
            | Opt::FormatVersion
            | Opt::BagLimits
            | Opt::BagLimitsCache
            | Opt::BagDictionary
            | Opt::ArrowBinary
            | Opt::ArrowNulls
            | Opt::At
            | Opt::BothMetalayers
            | Opt::Order
            | Opt::Yaml
            | Opt::Precision
            | Opt::ChunkDictionary
            | Opt::DryRun => Some(0),
            Opt::Verify | Opt::Durability | Opt::Lock | Opt::Offsets => Some(1),
            Opt::Checksum => Some(Checksum::Crc32 as i64),
            _ => None,
        }
    }

    /// Returns the name of the option in C.
    pub fn name(self) -> &'static str {
        ALL.iter()
            .find(|(o, ..)| *o == self)
            .map_or("", |(_, name, ..)| name)
    }
}

/// A set of options. An option that is not set has its default.
#[derive(Clone, Default)]
pub struct Options {
    values: BTreeMap<Opt, i64>,
    bytes: BTreeMap<Opt, Arc<[u8]>>,
    progress: Option<Progress>,
}

impl Options {
    /// Creates an empty set.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets a numeric option. Returns an error if the value is not valid.
    pub fn set(&mut self, opt: Opt, value: i64) -> Result<()> {
        if opt.takes_bytes() {
            return Err(fail!(Argument, "{} takes bytes, not a number", opt.name()));
        }
        let (_, name, low, high) = ALL
            .iter()
            .find(|(o, ..)| *o == opt)
            .ok_or_else(|| fail!(Argument, "unknown option"))?;
        if value < *low || value > *high {
            return Err(fail!(
                Argument,
                "{name}: {value} is out of range (expected {low} to {high})"
            ));
        }
        if opt == Opt::Codec && !CODECS.contains(&value) {
            return Err(fail!(Argument, "{name}: unknown codec {value}"));
        }
        if opt == Opt::FormatVersion && !FORMAT_VERSIONS.contains(&value) {
            return Err(fail!(
                Argument,
                "{name}: unknown version {value} (expected 0, 1, 2, 3 or 103)"
            ));
        }
        self.values.insert(opt, value);
        Ok(())
    }

    /// Sets an option to a copy of `value`.
    pub fn set_bytes(&mut self, opt: Opt, value: &[u8]) -> Result<()> {
        if !opt.takes_bytes() {
            return Err(fail!(Argument, "{} takes a number, not bytes", opt.name()));
        }
        self.bytes.insert(opt, value.into());
        Ok(())
    }

    /// Sets or removes the progress callback.
    pub fn on_progress(&mut self, f: Option<Progress>) {
        self.progress = f;
    }

    /// Sets a numeric option, as [`Options::set`], and returns the set.
    pub fn with(mut self, opt: Opt, value: i64) -> Result<Options> {
        self.set(opt, value)?;
        Ok(self)
    }

    /// Returns the value of an option, or `default` if it is not set.
    pub fn get(&self, opt: Opt, default: i64) -> i64 {
        self.values.get(&opt).copied().unwrap_or(default)
    }

    /// Removes an option that does not apply to the layers below, and returns its value.
    pub fn take(&mut self, opt: Opt) -> Option<i64> {
        self.values.remove(&opt)
    }

    /// Copies an option, if it is set, to another set.
    pub fn copy_to(&self, opt: Opt, to: &mut Options) -> Result<()> {
        if let Some(bytes) = self.given_bytes(opt) {
            to.set_bytes(opt, bytes)?;
        }
        self.given(opt).map_or(Ok(()), |value| to.set(opt, value))
    }

    /// Removes an option with bytes, as [`Options::take`], and returns its value.
    pub fn take_bytes(&mut self, opt: Opt) -> Option<Arc<[u8]>> {
        self.bytes.remove(&opt)
    }

    /// Returns the value of an option, if it is set.
    pub fn given(&self, opt: Opt) -> Option<i64> {
        self.values.get(&opt).copied()
    }

    /// Returns the bytes of an option, if it is set.
    pub fn given_bytes(&self, opt: Opt) -> Option<&Arc<[u8]>> {
        self.bytes.get(&opt)
    }

    /// Returns whether an option that is set has its default.
    pub fn is_default(&self, opt: Opt) -> bool {
        match self.given_bytes(opt) {
            // no filters are not the default
            Some(bytes) => bytes.is_empty() && opt != Opt::Filters,
            None => opt.default().is_some_and(|n| self.given(opt) == Some(n)),
        }
    }

    /// Returns the number of threads that a call may use.
    pub fn threads(&self) -> Threads {
        Threads::requested(self.get(Opt::Threads, 0) as usize)
    }

    /// Returns the maximum number of concurrent requests of one call to object stores.
    pub fn requests(&self) -> usize {
        self.get(Opt::CloudRequests, 16) as usize
    }

    /// Returns the maximum number of bytes that a call may allocate for one file.
    pub fn memory_limit(&self) -> u64 {
        self.get(Opt::MemoryLimit, alloc::DEFAULT_LIMIT as i64) as u64
    }

    /// Returns the maximum number of bytes of decoded blocks that a handle caches; `None` means the
    /// default.
    pub fn cache_bytes(&self) -> Option<usize> {
        let given = self.given(Opt::CacheBytes);
        given.map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// Returns whether links out of the folder of a dataset are followed.
    pub fn follows_links(&self) -> bool {
        self.get(Opt::FollowLinks, 0) == 1
    }

    /// Returns the progress callback.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// Returns an error if an option that does not apply to `call` has another value than the
    /// default.
    pub fn only(&self, call: &str, used: &[Opt]) -> Result<()> {
        self.applying(call, used, &[]).map(|_| ())
    }

    /// Returns the options that `call` uses. Returns an error if an option that it neither uses nor
    /// ignores has another value than the default.
    pub fn applying(&self, call: &str, used: &[Opt], ignored: &[Opt]) -> Result<Options> {
        let mut options = self.clone();
        for opt in self.values.keys().chain(self.bytes.keys()) {
            if used.contains(opt) || NAME_OPTIONS.contains(opt) {
                continue;
            }
            if !ignored.contains(opt) && !self.is_default(*opt) {
                return Err(fail!(
                    Argument,
                    "{}: the option does not apply to {call}",
                    opt.name()
                ));
            }
            options.values.remove(opt);
            options.bytes.remove(opt);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn values_are_validated_when_set_and_when_used() {
        for (opt, name, low, high) in ALL {
            assert_eq!(Opt::from_number(*opt as i32).unwrap(), *opt);
            assert_eq!(opt.name(), *name);
            let mut o = Options::new();
            if opt.takes_bytes() {
                assert_eq!(o.set(*opt, 0).unwrap_err().status, Status::Argument);
                o.set_bytes(*opt, b"abc").unwrap();
            } else {
                assert_eq!(
                    o.set_bytes(*opt, b"abc").unwrap_err().status,
                    Status::Argument
                );
                for invalid in [low.checked_sub(1), high.checked_add(1)]
                    .into_iter()
                    .flatten()
                {
                    assert!(o.set(*opt, invalid).unwrap_err().message.contains(name));
                }
                o.set(*opt, *low).unwrap();
                o.set(*opt, *high).unwrap();
                assert_eq!(o.given(*opt), Some(*high));
                if let Some(default) = opt.default() {
                    o.set(*opt, default).unwrap();
                    o.only("f", &[]).unwrap();
                    let used = o.applying("f", &[], &[]).unwrap();
                    assert_eq!(used.given(*opt), None);
                    let other = if default == *low { *high } else { *low };
                    o.set(*opt, other).unwrap();
                }
            }
            assert!(
                NAME_OPTIONS.contains(opt) || o.only("f", &[]).unwrap_err().message.contains(name)
            );
            o.only("f", &[*opt]).unwrap();
            let used = o.applying("f", &[], &[*opt]).unwrap();
            assert!(used.given(*opt).is_none() || NAME_OPTIONS.contains(opt));
        }
        assert_eq!(Opt::from_number(0).unwrap_err().status, Status::Argument);
    }
}
