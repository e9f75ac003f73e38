//! Bags: sequences of records of any length, in the Bagz format.
//!
//! A bag is one file or several files (shards) that are read as one sequence. A slice of a bag is a
//! bag.
//!
//! [`Bag`] reads, [`Writer`] writes, [`verify`] reports corruption and [`repair`] repairs. A record
//! that cannot be read is an error. It is returned as an empty record only if the caller requested
//! that (`HOLDALL_OPT_SKIP_DAMAGED`), and the result then says so.
#![forbid(unsafe_code)]

mod batch;
pub mod codec;
mod copy;
mod dictionary;
mod encode_queue;
pub mod epoch;
pub mod frame;
pub mod index;
mod interleave;
mod limits;
mod offset_cache;
mod offset_check;
mod read;
mod repair;
mod room;
pub mod shard;
pub mod spec;
mod splits;
mod stream;
mod train;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use crate::io::journal::Mode;
pub use batch::{BatchLayout, Destination, Records};
pub use read::Requested;
pub use repair::repair;
#[cfg(any(test, feature = "internals"))]
pub use repair::{Repaired, repair_in};
pub use stream::{Batch, Next, Stream, callback_reentry_error};
pub use train::train;
#[cfg(test)]
pub use verify::Verified;
pub use verify::verify;
pub use writer::{WRITE_OPTIONS, Writer};

use crate::alloc;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::Snapshot;
use crate::io::{self, Access, Folder, fd_pool};
use crate::options::{BAG_OPTIONS, Opt, Options};
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use batch::{BufferPool, Skip};
use codec::{CODEC_BY_NAME, Codec, Decoder};
use shard::{Shard, ShardOptions};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::Arc;

/// Number of buffers of closed batches that the pool of one bag retains.
const POOLED_BUFFERS: usize = 2;

/// How the records of a bag are protected against corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No checksums.
    None,
    /// CRC-32 checksums in a file beside the bag.
    Crc32,
    /// A checksum inside each zstd frame.
    Zstd,
}

/// Options accepted when a bag is opened.
pub const READ_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
    Opt::Codec,
    Opt::Dictionary,
    Opt::BagLimits,
    Opt::BagLimitsCache,
    Opt::BagShards,
];

/// An open bag, or a slice of one. It can be shared by threads.
#[derive(Clone)]
pub struct Bag {
    set: Arc<Set>,
    start: u64,
    step: i64,
    size: u64,
}

struct Set {
    shards: Vec<Shard>,
    /// Index of the first record of each shard.
    firsts: Vec<u64>,
    interleaved: bool,
    options: Options,
    pool: Arc<BufferPool>,
}

/// The location of one file of a bag.
pub struct ShardPath {
    /// The folder of the file.
    pub folder: Arc<dyn Folder>,
    /// The name of the file in `folder`.
    pub name: OsString,
    /// The name that determines the codec. For a symbolic link this is the name of the link.
    pub given: OsString,
}

impl ShardPath {
    /// Creates the location of file `name` in `folder`.
    pub fn new(folder: Arc<dyn Folder>, name: impl Into<OsString>) -> ShardPath {
        let name = name.into();
        ShardPath {
            folder,
            given: name.clone(),
            name,
        }
    }

    /// Returns the same location for a call that opens the bag.
    fn for_opening(&self) -> ShardPath {
        ShardPath {
            folder: io::for_opening(&self.folder, shard::LOOKED_FOR),
            name: self.name.clone(),
            given: self.given.clone(),
        }
    }
}

impl Bag {
    /// Opens a spec: one path or several paths (see [`spec`]).
    pub fn open(spec: &OsStr, options: &Options) -> Result<Bag> {
        let _scope = io::object::request_scope(options);
        if spec.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        let (files, sets) = spec::expand_sets(spec)?;
        Bag::open_files(&files, &sets, options)
    }

    /// Opens files by name.
    fn open_files(files: &[OsString], sets: &[Range<usize>], options: &Options) -> Result<Bag> {
        // many files would be open at the same time
        let locate = match files {
            [_] => io::locate::locate_to_open,
            _ => io::locate::locate,
        };
        let path = |p: &OsString| {
            locate(p).map(|l| ShardPath {
                folder: l.folder,
                name: l.name,
                given: l.given,
            })
        };
        Bag::open_paths(
            &files.iter().map(path).collect::<Result<Vec<_>>>()?,
            sets,
            options,
        )
    }

    /// Opens files in any folders as one set.
    pub fn open_in(paths: &[ShardPath], options: &Options) -> Result<Bag> {
        let paths: Vec<ShardPath> = paths.iter().map(ShardPath::for_opening).collect();
        Bag::open_paths(&paths, std::slice::from_ref(&(0..paths.len())), options)
    }

    /// Opens files. `sets` are the ranges of `paths` that one item of the spec names; the shards of
    /// such a set may be interleaved.
    fn open_paths(paths: &[ShardPath], sets: &[Range<usize>], options: &Options) -> Result<Bag> {
        let options = &options.applying("opening a bag", READ_OPTIONS, BAG_OPTIONS)?;
        let pooled = fd_pool::is_needed(paths.len());
        match Bag::open_all(paths, sets, pooled, options) {
            Err(e) if fd_pool::is_limit_reached(&e) && !pooled && paths.len() > 1 => {
                Bag::open_all(paths, sets, true, options)
            }
            opened => opened,
        }
    }

    /// Opens files. If `pooled` is true, the file-descriptor pool opens them on demand.
    fn open_all(
        paths: &[ShardPath],
        sets: &[Range<usize>],
        pooled: bool,
        options: &Options,
    ) -> Result<Bag> {
        let shard_options = ShardOptions {
            access: if options.get(Opt::Io, 0) == 1 {
                Access::Map
            } else {
                Access::Read
            },
            separate: options.get(Opt::BagLimits, 0) == 1,
            cache: options.get(Opt::BagLimitsCache, 0) == 1,
            verify: options.get(Opt::Verify, 1) > 0,
            find_mark: false,
            codec_unspecified: false,
            memory_limit: options.memory_limit(),
        };
        let dictionary = options.given_bytes(Opt::Dictionary);
        let decoders = [Codec::None, Codec::Zstd]
            .map(|c| Decoder::new(c, dictionary.filter(|_| c == Codec::Zstd)).map(Arc::new));
        let [none, zstd] = decoders;
        let (none, zstd) = (none?, zstd?);
        let (mut containers, mut codecs) = (Vec::new(), Vec::new());
        let codec = options.get(Opt::Codec, CODEC_BY_NAME);
        for ShardPath {
            folder,
            name,
            given,
        } in paths
        {
            codecs.push(match Codec::choose(codec, given.as_bytes())? {
                Codec::None => &none,
                Codec::Zstd => &zstd,
            });
            containers.push(shard::container(
                &if pooled {
                    fd_pool::pooled(folder)
                } else {
                    folder.clone()
                },
                name,
            ));
        }
        // Another thread must not call functions of the caller unasked: they may wait for a lock
        // that the caller holds.
        let foreign =
            options.given(Opt::Threads).is_none() && paths.iter().any(|p| p.folder.is_foreign());
        let threads = match paths.iter().any(|p| p.folder.is_store()) {
            true => options.requests(),
            false if foreign => 1,
            false => options.threads().for_tasks(containers.len()),
        };
        // Folders of the caller contain only the files that the caller passed.
        let in_order =
            options.given(Opt::BagShards).is_none() && !paths.iter().any(|p| p.folder.is_foreign());
        let begins_set = |i: usize| sets.iter().any(|set| set.start == i && set.len() > 1);
        let codec_unspecified = |i: usize| {
            paths
                .get(i)
                .is_some_and(|p| codec::is_codec_unspecified(codec, p.given.as_bytes()))
        };
        let open = |i: usize, snap: &Snapshot<'_>| match (containers.get(i), codecs.get(i)) {
            (Some(c), Some(decoder)) => Shard::open_snapshot(
                snap,
                c,
                decoder,
                ShardOptions {
                    find_mark: in_order && begins_set(i),
                    codec_unspecified: codec_unspecified(i),
                    ..shard_options
                },
            ),
            _ => Err(fail!(Range, "no shard {i}")),
        };
        let shards = Snapshot::read_all(&containers, threads, open)?;
        let bag = Bag::over(shards, sets, options.clone(), threads)?;
        if options.get(Opt::Verify, 1) == 2 {
            bag.verify_all()?;
        }
        Ok(bag)
    }

    fn over(
        shards: Vec<Shard>,
        sets: &[Range<usize>],
        options: Options,
        threads: usize,
    ) -> Result<Bag> {
        let interleaved = match options.given(Opt::BagShards) {
            Some(interleaved) => interleaved == 1,
            None => is_interleaved(&shards, sets, threads)?,
        };
        if interleaved {
            refuse_uneven_shards(&shards, options.given(Opt::BagShards).is_some())?;
        }
        let mut firsts = Vec::new();
        let mut size = 0u64;
        for s in &shards {
            firsts.push(size);
            size = size
                .checked_add(s.count())
                .ok_or_else(|| fail!(Format, "the shards hold more than 2^64 records"))?;
        }
        let pool = Arc::new(BufferPool::new(POOLED_BUFFERS, options.memory_limit() / 4));
        Ok(Bag {
            set: Arc::new(Set {
                shards,
                firsts,
                interleaved,
                options,
                pool,
            }),
            start: 0,
            step: 1,
            size,
        })
    }

    fn verify_all(&self) -> Result<()> {
        let mut first = None;
        verify::verify_bag(self, |e| {
            first = Some(e.clone());
            false
        })?;
        first.map_or(Ok(()), Err)
    }

    /// Returns the number of records.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the records `start`, `start + step`, ... (`n` of them) as a bag.
    pub fn slice(&self, start: u64, step: i64, n: u64) -> Result<Bag> {
        if step == 0 {
            return Err(fail!(Argument, "a slice with step 0"));
        }
        let last = i128::from(start) + i128::from(n.saturating_sub(1)) * i128::from(step);
        let inside = |i: i128| i >= 0 && i < i128::from(self.size);
        if n > 0 && !(inside(i128::from(start)) && inside(last)) {
            return Err(fail!(
                Range,
                "the slice {start}, step {step}, {n} records, exceeds the {} records of the bag",
                self.size
            ));
        }
        if n == 0 {
            return Ok(Bag {
                set: self.set.clone(),
                start: 0,
                step: 1,
                size: 0,
            });
        }
        let step = if n == 1 {
            Some(1)
        } else {
            self.step.checked_mul(step)
        };
        let step = step.ok_or_else(|| {
            fail!(
                Range,
                "the steps of these slices, multiplied, are too large"
            )
        })?;
        Ok(Bag {
            set: self.set.clone(),
            start: self.set_index(start),
            step,
            size: n,
        })
    }

    /// Returns the index in the whole set of record `i` of this slice. The record must exist.
    #[inline]
    fn set_index(&self, i: u64) -> u64 {
        // The result is in range by construction, so the wrapping sum is exact.
        self.start.wrapping_add(i.wrapping_mul(self.step as u64))
    }

    #[inline]
    fn check(&self, i: u64) -> Result<()> {
        if i < self.size {
            Ok(())
        } else {
            Err(self.beyond(i))
        }
    }

    #[cold]
    fn beyond(&self, i: u64) -> Error {
        fail!(Range, "record {i} of {}", self.size).at(i)
    }

    /// Returns the shard of record `i` of the whole set and its index in that shard. The record
    /// must exist.
    #[inline]
    fn find_shard(&self, i: u64) -> Result<(usize, u64)> {
        let set = &*self.set;
        if set.interleaved {
            let n = set.shards.len().max(1) as u64;
            return Ok(((i % n) as usize, i / n));
        }
        let shard = set.firsts.partition_point(|&f| f <= i).saturating_sub(1);
        Ok((shard, i - set.firsts.at(shard)?))
    }

    /// Returns the shard of record `i` and its index in that shard.
    #[inline]
    fn locate(&self, i: u64) -> Result<(&Shard, u64)> {
        self.check(i)?;
        let (shard, local) = self.find_shard(self.set_index(i))?;
        Ok((
            self.set
                .shards
                .get(shard)
                .ok_or_else(|| fail!(Range, "no shard {shard}"))?,
            local,
        ))
    }

    /// Returns record `i` without reading, if it is uncompressed and in immutable memory. The
    /// checksum has been verified.
    fn in_memory(&self, i: u64) -> Result<Option<&[u8]>> {
        let (shard, local) = self.locate(i)?;
        shard.in_memory(local).map_err(|e| read::positioned(e, i))
    }

    /// Reads record `i` into `dst`, if given, and returns its size. If `dst` is too small, the
    /// error has status `Buffer` and the size as its position. The flag is true if the record is
    /// damaged and was skipped as the options request.
    pub fn read_into(&self, i: u64, dst: Option<&mut [u8]>) -> Result<(usize, bool)> {
        let (shard, local) = self.locate(i)?;
        match shard.read(local, dst) {
            Ok(n) => Ok((n, false)),
            Err(e) if e.status == Status::Buffer => Err(e),
            Err(e) if self.batch_config().skip == Skip::Damaged && e.status.is_corruption() => {
                Ok((0, true))
            }
            Err(mut e) => {
                e.position = -1;
                Err(e.at(i))
            }
        }
    }

    /// Returns record `i`. A corrupt record is an error even if the options skip corrupt records.
    pub fn read(&self, i: u64) -> Result<Vec<u8>> {
        let (shard, local) = self.locate(i)?;
        let limit = self.set.options.memory_limit();
        let mut record = Vec::new();
        let buffer = &mut record;
        let read = shard.read_to(local, |n| {
            *buffer = alloc::zeroed(alloc::allow(n as u64, limit, "a record")?)?;
            Ok(Some(buffer))
        });
        read.map_err(|e| read::positioned(e, i))?;
        Ok(record)
    }

    /// Returns a checksum over all records in order: the length of each (8 bytes, little-endian),
    /// then its bytes. The flag is true if a record is damaged and was skipped.
    pub fn checksum(&self, algorithm: Checksum) -> Result<(Vec<u8>, bool)> {
        let (mut h, mut damaged) = (Hasher::new(algorithm), false);
        self.for_each_batch(|_, records| {
            damaged |= !records.damaged.is_empty();
            for r in records.iter() {
                h.update(&(r.len() as u64).to_le_bytes());
                h.update(r);
            }
            Ok(())
        })?;
        Ok((h.finish(), damaged))
    }

    /// Returns an error if a file has changed, so that what was read may belong to another commit.
    fn check_unchanged(&self) -> Result<()> {
        self.set
            .shards
            .iter()
            .try_for_each(|s| s.limits().check_unchanged())
    }

    /// Returns the number of files.
    pub fn shards(&self) -> usize {
        self.set.shards.len()
    }

    /// Returns the name and the number of records of each file.
    pub fn each_shard(&self) -> impl Iterator<Item = (&str, u64)> {
        self.set.shards.iter().map(|s| (s.file().name(), s.count()))
    }

    /// Returns the size in bytes of all files, including limits and checksums.
    pub fn bytes(&self) -> u64 {
        self.set
            .shards
            .iter()
            .map(Shard::bytes)
            .fold(0, u64::saturating_add)
    }

    /// Returns an error if the content of the first file does not show that it is a bag.
    pub fn check_recognizable(&self) -> Result<()> {
        let first = self.set.shards.first();
        first.map_or(Ok(()), Shard::check_recognizable)
    }

    /// Returns the dictionary that the files store, or that was given; none if they differ, or have
    /// none.
    pub fn dictionary(&self) -> Result<Option<Arc<[u8]>>> {
        let dictionary = self.decoding_dictionary()?;
        self.set
            .shards
            .iter()
            .try_for_each(Shard::verify_dictionary)?;
        Ok(dictionary)
    }

    /// Like [`Bag::dictionary`], also if the stored one is corrupt: the records that decode with it
    /// need it as it is.
    fn decoding_dictionary(&self) -> Result<Option<Arc<[u8]>>> {
        let given = self.set.options.given_bytes(Opt::Dictionary);
        match given.filter(|d| !d.is_empty()) {
            Some(given) => Ok(Some(given.clone())),
            None => self.stored_dictionary(),
        }
    }

    /// Returns the dictionary that all files with records store.
    fn stored_dictionary(&self) -> Result<Option<Arc<[u8]>>> {
        let mut same = None;
        for shard in self.set.shards.iter().filter(|s| s.count() > 0) {
            let found = shard.dictionary()?.map(|d| &d.bytes);
            match same {
                None => same = Some(found),
                Some(other) if other == found => {}
                Some(_) => return Ok(None),
            }
        }
        Ok(same.flatten().cloned())
    }

    /// Returns whether the limits are in separate files.
    pub fn separate(&self) -> bool {
        self.set.options.get(Opt::BagLimits, 0) == 1
    }

    /// Returns whether the records of the files are interleaved.
    pub fn interleaved(&self) -> bool {
        self.set.interleaved
    }

    /// Returns the codec, if all files have the same.
    pub fn codec(&self) -> Option<Codec> {
        let mut all = self.set.shards.iter().map(|s| s.decoder().codec());
        let first = all.next()?;
        all.all(|c| c == first).then_some(first)
    }

    /// Returns the protection that the records of all files have at least; none if the frame that
    /// shows it is corrupt.
    pub fn protection(&self) -> Result<Protection> {
        let mut least = None;
        for s in self.set.shards.iter().filter(|s| s.count() > 0) {
            let p = match s.decoder().codec() {
                Codec::None if s.has_checksums() => Protection::Crc32,
                Codec::Zstd => match s.has_frame_checksum() {
                    Ok(true) => Protection::Zstd,
                    Ok(false) => return Ok(Protection::None),
                    Err(e) if e.status.is_corruption() => return Ok(Protection::None),
                    Err(e) => return Err(e),
                },
                Codec::None => return Ok(Protection::None),
            };
            least = Some(p);
        }
        Ok(least.unwrap_or(Protection::None))
    }
}

/// Returns whether the whole bag is interleaved. An interleaved set beside other files is an error,
/// because a bag has one order.
fn is_interleaved(shards: &[Shard], sets: &[Range<usize>], threads: usize) -> Result<bool> {
    for set in sets {
        let some = shards.at(set.clone())?;
        if !interleave::is_interleaved(some, threads)? {
            continue;
        }
        if some.len() == shards.len() {
            return Ok(true);
        }
        return Err(fail!(
            Argument,
            "{}: it belongs to an interleaved set, and the spec names other files; open the sets one by one, or set HOLDALL_OPT_BAG_SHARDS to read file by file",
            some.first().map_or("", |s| s.file().name())
        ));
    }
    Ok(false)
}

/// Returns an error if the numbers of records cannot result from interleaving: no shard may have
/// more records than the one before it, or differ from the first by more than one.
fn refuse_uneven_shards(shards: &[Shard], by_option: bool) -> Result<()> {
    let Some(first) = shards.first() else {
        return Ok(());
    };
    for (i, pair) in (1..).zip(shards.windows(2)) {
        let [a, b] = pair else { continue };
        if b.count() > a.count() || first.count() - b.count() > 1 {
            let why = if by_option {
                ""
            } else {
                "; they were written interleaved and then changed one by one: HOLDALL_OPT_BAG_SHARDS selects how to read them"
            };
            return Err(fail!(
                Format,
                "these shards cannot be interleaved: number 0, {}, has {} records, number {}, {}, has {}, number {i}, {}, has {} (each must have as many as the next, the last one at most one less than the first){why}",
                first.file().name(),
                first.count(),
                i - 1,
                a.file().name(),
                a.count(),
                b.file().name(),
                b.count()
            ));
        }
    }
    Ok(())
}
