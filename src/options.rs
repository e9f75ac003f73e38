//! Options: one set of named values for every open and create. A value is checked when it is set;
//! an option that means nothing to the call it is given to is refused by that call, by name.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use crate::parallel::Threads;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The caller's function that is told how far a long call is: `(done, total)`; `false` stops the
/// call.
pub type Progress = Arc<dyn Fn(u64, u64) -> bool + Send + Sync>;

/// An option. The numbers are those of the C API and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Opt {
    /// Threads a call may use; 0 all processors.
    Threads = 1,
    /// Bytes that one file may make a call allocate.
    MemoryLimit = 2,
    /// 0 read, 1 map.
    Io = 3,
    /// 0 never, 1 what is read, 2 everything at open.
    Verify = 4,
    /// Damaged parts read as nothing instead of failing.
    SkipDamaged = 5,
    /// 0 no sync at commit, 1 sync.
    Durability = 6,
    /// One writer at a time.
    Lock = 7,
    /// A codec.
    Codec = 8,
    /// Its level.
    Level = 9,
    /// Filters, as bytes, in their order.
    Filters = 10,
    /// Bytes of content in a chunk.
    ChunkBytes = 11,
    /// Bytes of content in a block of a chunk.
    BlockBytes = 12,
    /// A checksum.
    Checksum = 13,
    /// A zstd dictionary.
    Dictionary = 14,
    /// The item, or the row, that is where nothing was written.
    Fill = 15,
    /// Rows that a dataset is going to have, about.
    ExpectedRows = 16,
    /// Frames: 0 one file, 1 a folder with a file a chunk.
    Sparse = 17,
    /// The papers' datasets: chunks of a superchunk.
    SuperchunkChunks = 18,
    /// Bloscpack: 1 with an offsets section, 0 without.
    Offsets = 19,
    /// Bloscpack: offsets kept free for appends.
    SpareChunks = 20,
    /// Bloscpack: room kept in a chunk for changing it in place.
    SpareBytes = 21,
    /// Bloscpack: 1, 2, 3; 103 the papers' layout; 0 is 3.
    FormatVersion = 22,
    /// Where a bag's limits are: 0 tail, 1 a file of their own.
    BagLimits = 23,
    /// 0 read limits from disk, 1 keep them in memory.
    BagLimitsCache = 24,
    /// 0 shards one after the other, 1 interleaved.
    BagShards = 25,
    /// Records that a stream reads ahead.
    BagReadAhead = 26,
    /// 0 bytes go to Arrow as text, 1 as binary.
    ArrowBinary = 27,
    /// 0 NaN goes to Arrow as it is, 1 as null.
    ArrowNulls = 28,
    /// Where a frame begins in a larger file.
    At = 29,
    /// Arrays in frames: 1 with both metalayers that make one.
    BothMetalayers = 30,
    /// Bytes of records that a stream reads ahead.
    BagReadAheadBytes = 33,
    /// Milliseconds that an object store may be silent.
    CloudTimeout = 39,
    /// Times that a request to one is tried again.
    CloudRetries = 40,
    /// Requests to one under way at once.
    CloudRequests = 41,
    /// 1: a repair changes nothing.
    DryRun = 42,
}

/// What every call that opens a name knows, which may be one of an object store.
pub const CLOUD_OPTIONS: &[Opt] = &[Opt::CloudTimeout, Opt::CloudRetries, Opt::CloudRequests];

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
    (Opt::ChunkBytes, "HOLDALL_OPT_CHUNK_BYTES", 1, MOST_CHUNK),
    (Opt::BlockBytes, "HOLDALL_OPT_BLOCK_BYTES", 1, MOST_CHUNK),
    (Opt::Checksum, "HOLDALL_OPT_CHECKSUM", 0, 9),
    (Opt::Dictionary, "HOLDALL_OPT_DICTIONARY", 0, 0),
    (Opt::Fill, "HOLDALL_OPT_FILL", 0, 0),
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
    (Opt::At, "HOLDALL_OPT_AT", 0, i64::MAX),
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
];

/// The most that a chunk can hold, a little less than the 2 GiB of its header's fields.
const MOST_CHUNK: i64 = i32::MAX as i64 - 32;
/// `HOLDALL_CODEC_NONE` to `_ZSTD`, and `_BY_NAME`.
const CODECS: &[i64] = &[0, 1, 2, 3, 4, 5, 6, 255];
const FORMAT_VERSIONS: &[i64] = &[0, 1, 2, 3, 103];

impl Opt {
    /// The option with this number.
    pub fn from_number(n: i32) -> Result<Opt> {
        let found = ALL.iter().find(|(o, ..)| *o as i32 == n);
        found
            .map(|(o, ..)| *o)
            .ok_or_else(|| fail!(Argument, "{n} is no option of this version"))
    }

    fn takes_bytes(self) -> bool {
        matches!(self, Opt::Dictionary | Opt::Fill | Opt::Filters)
    }

    /// Its name in C.
    pub fn name(self) -> &'static str {
        ALL.iter()
            .find(|(o, ..)| *o == self)
            .map_or("", |(_, name, ..)| name)
    }
}

/// A set of options; what is not set has its default.
#[derive(Clone, Default)]
pub struct Options {
    values: BTreeMap<Opt, i64>,
    bytes: BTreeMap<Opt, Arc<[u8]>>,
    progress: Option<Progress>,
}

impl Options {
    /// Nothing set.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets a number.
    pub fn set(&mut self, opt: Opt, value: i64) -> Result<()> {
        if opt.takes_bytes() {
            return Err(fail!(Argument, "{} takes bytes, not a number", opt.name()));
        }
        let (_, name, low, high) = ALL
            .iter()
            .find(|(o, ..)| *o == opt)
            .ok_or_else(|| fail!(Argument, "no such option"))?;
        if value < *low || value > *high {
            return Err(fail!(
                Argument,
                "{name}: {value} is not between {low} and {high}"
            ));
        }
        if opt == Opt::Codec && !CODECS.contains(&value) {
            return Err(fail!(
                Argument,
                "{name}: {value} is no codec of this version"
            ));
        }
        if opt == Opt::FormatVersion && !FORMAT_VERSIONS.contains(&value) {
            return Err(fail!(
                Argument,
                "{name}: {value} is none of 0, 1, 2, 3 and 103"
            ));
        }
        self.values.insert(opt, value);
        Ok(())
    }

    /// Sets bytes; they are copied.
    pub fn set_bytes(&mut self, opt: Opt, value: &[u8]) -> Result<()> {
        if !opt.takes_bytes() {
            return Err(fail!(Argument, "{} takes a number, not bytes", opt.name()));
        }
        self.bytes.insert(opt, value.into());
        Ok(())
    }

    /// The function to tell progress to.
    pub fn on_progress(&mut self, f: Option<Progress>) {
        self.progress = f;
    }

    /// As [`Options::set`], for building in one expression.
    pub fn with(mut self, opt: Opt, value: i64) -> Result<Options> {
        self.set(opt, value)?;
        Ok(self)
    }

    /// The value, or its default.
    pub fn get(&self, opt: Opt, default: i64) -> i64 {
        self.values.get(&opt).copied().unwrap_or(default)
    }

    /// Takes a value out: for what is below it means nothing.
    pub fn take(&mut self, opt: Opt) -> Option<i64> {
        self.values.remove(&opt)
    }

    /// Sets an option as it is set here, if it is, in another set.
    pub fn hand_on(&self, opt: Opt, to: &mut Options) -> Result<()> {
        if let Some(bytes) = self.given_bytes(opt) {
            to.set_bytes(opt, bytes)?;
        }
        self.given(opt).map_or(Ok(()), |value| to.set(opt, value))
    }

    /// The same with bytes.
    pub fn take_bytes(&mut self, opt: Opt) -> Option<Arc<[u8]>> {
        self.bytes.remove(&opt)
    }

    /// The value, if it was set.
    pub fn given(&self, opt: Opt) -> Option<i64> {
        self.values.get(&opt).copied()
    }

    /// The bytes, if they were set.
    pub fn given_bytes(&self, opt: Opt) -> Option<&Arc<[u8]>> {
        self.bytes.get(&opt)
    }

    /// Threads a call may use.
    pub fn threads(&self) -> Threads {
        Threads::wanted(self.get(Opt::Threads, 0) as usize)
    }

    /// Requests of one call to object stores that may be under way at once.
    pub fn requests(&self) -> usize {
        self.get(Opt::CloudRequests, 16) as usize
    }

    /// Bytes that one file may make a call allocate.
    pub fn memory_limit(&self) -> u64 {
        self.get(Opt::MemoryLimit, alloc::DEFAULT_LIMIT as i64) as u64
    }

    /// Tells progress; `Cancelled` where the caller wants to stop.
    pub fn progress(&self, done: u64, total: u64) -> Result<()> {
        match &self.progress {
            Some(f) if !f(done, total) => Err(fail!(
                Cancelled,
                "stopped by the caller's progress function"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what means nothing to this call.
    pub fn only(&self, call: &str, known: &[Opt]) -> Result<()> {
        match self
            .values
            .keys()
            .chain(self.bytes.keys())
            .find(|o| !known.contains(o) && !CLOUD_OPTIONS.contains(o))
        {
            Some(o) => Err(fail!(Argument, "{} means nothing to {call}", o.name())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn values_are_checked_when_set_and_when_used() {
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
                for bad in [low.checked_sub(1), high.checked_add(1)]
                    .into_iter()
                    .flatten()
                {
                    assert!(o.set(*opt, bad).unwrap_err().message.contains(name));
                }
                o.set(*opt, *low).unwrap();
                o.set(*opt, *high).unwrap();
                assert_eq!(o.given(*opt), Some(*high));
            }
            assert!(
                CLOUD_OPTIONS.contains(opt) || o.only("f", &[]).unwrap_err().message.contains(name)
            );
            o.only("f", &[*opt]).unwrap();
        }
        assert_eq!(Opt::from_number(0).unwrap_err().status, Status::Argument);
    }
}
