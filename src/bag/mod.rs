//! Bags: records of any length, as Bagz keeps them. A bag is one file or several (shards), read as
//! one sequence; a slice of a bag is a bag.
//!
//! [`Bag`] reads, [`Writer`] writes, [`verify`] and [`repair`] look after what is there. No call
//! ever gives an empty record for one that it could not read, unless it was asked to, and then it
//! says so.
#![forbid(unsafe_code)]

mod batch;
pub mod codec;
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
pub mod shard;
pub mod spec;
mod stream;
mod verify;
mod writer;

#[cfg(test)]
mod repair_tests;
#[cfg(test)]
mod set_tests;
#[cfg(test)]
mod tests;

pub use batch::{Places, Records, Room};
pub use read::Wanted;
pub use repair::{Repaired, repair, repair_in};
pub use stream::{Batch, Next, STREAM_OPTIONS, Stream, inside_of_a_stream};
pub use verify::{Verified, verify};
pub use writer::{Mode, Writer};

use crate::checksum::{Hasher, Sum};
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::Snapshot;
use crate::io::{self, Access, Folder, fd_pool};
use crate::options::{Opt, Options};
use crate::os::OsStrExt;
use batch::{Skip, Spare};
use codec::{CODEC_BY_NAME, Codec, Decoder};
use shard::{How, Shard};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::Arc;

/// Buffers of closed batches that a bag keeps.
const SPARE: usize = 2;

/// What tells whether records are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// By nothing.
    None,
    /// By CRC-32s in a file beside the bag.
    Crc32,
    /// By the checksum inside each zstd frame.
    Zstd,
}

/// Options that opening a bag knows.
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

/// An open bag, or a slice of one. May be read from many threads.
#[derive(Clone)]
pub struct Bag {
    set: Arc<Set>,
    start: u64,
    step: i64,
    size: u64,
}

struct Set {
    shards: Vec<Shard>,
    /// First record of each shard, one after the other.
    firsts: Vec<u64>,
    interleaved: bool,
    options: Options,
    spare: Arc<Spare>,
}

/// One file of a bag.
pub struct Place {
    /// Where it is.
    pub folder: Arc<dyn Folder>,
    /// Its name there.
    pub name: OsString,
    /// The name that tells its codec: that of a symbolic link, where it is reached by one.
    pub given: OsString,
}

impl Place {
    /// A name in a folder.
    pub fn new(folder: Arc<dyn Folder>, name: impl Into<OsString>) -> Place {
        let name = name.into();
        Place {
            folder,
            given: name.clone(),
            name,
        }
    }
}

impl Bag {
    /// Opens a spec: a path, or several (see [`spec`]).
    pub fn open(spec: &OsStr, options: &Options) -> Result<Bag> {
        let _asking = io::object::ask_as(options);
        if spec.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        let (files, sets) = spec::expand_sets(spec)?;
        Bag::open_files(&files, &sets, options)
    }

    /// Opens files by the texts of their names.
    fn open_files(files: &[OsString], sets: &[Range<usize>], options: &Options) -> Result<Bag> {
        let place = |p: &OsString| {
            io::locate::locate(p).map(|l| Place {
                folder: l.folder,
                name: l.name,
                given: l.given,
            })
        };
        Bag::open_places(
            &files.iter().map(place).collect::<Result<Vec<_>>>()?,
            sets,
            options,
        )
    }

    /// Opens files wherever they are, which may be a set.
    pub fn open_in(places: &[Place], options: &Options) -> Result<Bag> {
        Bag::open_places(places, std::slice::from_ref(&(0..places.len())), options)
    }

    /// The same; `sets`: those that are named as one, and may have been written in turns.
    fn open_places(places: &[Place], sets: &[Range<usize>], options: &Options) -> Result<Bag> {
        options.only("opening a bag", READ_OPTIONS)?;
        let few = fd_pool::needed(places.len());
        match Bag::open_all(places, sets, few, options) {
            Err(e) if fd_pool::too_many(&e) && !few && places.len() > 1 => {
                Bag::open_all(places, sets, true, options)
            }
            opened => opened,
        }
    }

    /// The same; `few`: not all files are to be open at once.
    fn open_all(
        places: &[Place],
        sets: &[Range<usize>],
        few: bool,
        options: &Options,
    ) -> Result<Bag> {
        let how = How {
            access: if options.get(Opt::Io, 0) == 1 {
                Access::Map
            } else {
                Access::Read
            },
            separate: options.get(Opt::BagLimits, 0) == 1,
            cache: options.get(Opt::BagLimitsCache, 0) == 1,
            verify: options.get(Opt::Verify, 1) > 0,
            turns: false,
            unsaid: false,
            memory_limit: options.memory_limit(),
        };
        let dictionary = options.given_bytes(Opt::Dictionary);
        let decoders = [Codec::None, Codec::Zstd]
            .map(|c| Decoder::new(c, dictionary.filter(|_| c == Codec::Zstd)).map(Arc::new));
        let [none, zstd] = decoders;
        let (none, zstd) = (none?, zstd?);
        let (mut containers, mut codecs) = (Vec::new(), Vec::new());
        let codec = options.get(Opt::Codec, CODEC_BY_NAME);
        for Place {
            folder,
            name,
            given,
        } in places
        {
            codecs.push(match Codec::choose(codec, given.as_bytes())? {
                Codec::None => &none,
                Codec::Zstd => &zstd,
            });
            containers.push(shard::container(
                &if few {
                    fd_pool::within(folder)
                } else {
                    folder.clone()
                },
                name,
            ));
        }
        // a caller's function may wait for what the caller holds
        let foreign =
            options.given(Opt::Threads).is_none() && places.iter().any(|p| p.folder.is_foreign());
        let threads = match places.iter().any(|p| p.folder.is_store()) {
            true => options.requests(),
            false if foreign => 1,
            false => options.threads().for_pieces(containers.len()),
        };
        // a caller's storage has the files that it was told of
        let in_order = options.given(Opt::BagShards).is_none()
            && !places.iter().any(|p| p.folder.is_foreign());
        let begins_set = |i: usize| sets.iter().any(|set| set.start == i && set.len() > 1);
        let unsaid = |i: usize| {
            places
                .get(i)
                .is_some_and(|p| codec::is_unsaid(codec, p.given.as_bytes()))
        };
        let open = |i: usize, snap: &Snapshot<'_>| match (containers.get(i), codecs.get(i)) {
            (Some(c), Some(decoder)) => Shard::open_seen(
                snap,
                c,
                decoder,
                How {
                    turns: in_order && begins_set(i),
                    unsaid: unsaid(i),
                    ..how
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
            Some(turns) => turns == 1,
            None => in_turns(&shards, sets, threads)?,
        };
        if interleaved {
            refuse_out_of_turn(&shards, options.given(Opt::BagShards).is_some())?;
        }
        let mut firsts = Vec::new();
        let mut size = 0u64;
        for s in &shards {
            firsts.push(size);
            size = size
                .checked_add(s.count())
                .ok_or_else(|| fail!(Format, "the shards hold more than 2^64 records"))?;
        }
        let spare = Arc::new(Spare::new(SPARE, options.memory_limit() / 4));
        Ok(Bag {
            set: Arc::new(Set {
                shards,
                firsts,
                interleaved,
                options,
                spare,
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

    /// How many records.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Records `start`, `start + step`, … `n` of them, as a bag.
    pub fn slice(&self, start: u64, step: i64, n: u64) -> Result<Bag> {
        if step == 0 {
            return Err(fail!(Argument, "a slice with step 0"));
        }
        let last = i128::from(start) + i128::from(n.saturating_sub(1)) * i128::from(step);
        let inside = |i: i128| i >= 0 && i < i128::from(self.size);
        if n > 0 && !(inside(i128::from(start)) && inside(last)) {
            return Err(fail!(
                Range,
                "the slice {start}, step {step}, {n} records, reaches beyond the {} records there are",
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
            start: self.physical(start),
            step,
            size: n,
        })
    }

    /// Number in the whole set of a record of this slice, which must exist.
    #[inline]
    fn physical(&self, i: u64) -> u64 {
        // in range by construction, so the wrapping sum is the sum
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

    /// Shard and number there of a record of the whole set, which must exist.
    #[inline]
    fn find(&self, i: u64) -> (usize, u64) {
        let set = &*self.set;
        if set.interleaved {
            let n = set.shards.len().max(1) as u64;
            return ((i % n) as usize, i / n);
        }
        let shard = set.firsts.partition_point(|&f| f <= i).saturating_sub(1);
        (shard, i - set.firsts.get(shard).copied().unwrap_or(0))
    }

    /// Shard, and number there, of record `i`.
    #[inline]
    fn place(&self, i: u64) -> Result<(&Shard, u64)> {
        self.check(i)?;
        let (shard, local) = self.find(self.physical(i));
        Ok((
            self.set
                .shards
                .get(shard)
                .ok_or_else(|| fail!(Range, "no shard {shard}"))?,
            local,
        ))
    }

    /// Record `i`, where nothing need be read for it: uncompressed, and in memory that nobody
    /// changes. It is no damaged one.
    fn in_memory(&self, i: u64) -> Result<Option<&[u8]>> {
        let (shard, local) = self.place(i)?;
        shard.in_memory(local).map_err(|e| read::positioned(e, i))
    }

    /// Reads record `i`: its size, and its bytes into `dst` where that is given. `Buffer` where
    /// `dst` is too small: the error's position is then the size. The flag says that the record
    /// is damaged and was skipped as the options wished.
    pub fn read_into(&self, i: u64, dst: Option<&mut [u8]>) -> Result<(usize, bool)> {
        let (shard, local) = self.place(i)?;
        match shard.read(local, dst) {
            Ok(n) => Ok((n, false)),
            Err(e) if e.status == Status::Buffer => Err(e),
            Err(e) if self.rules().skip == Skip::Damaged && damage(e.status) => Ok((0, true)),
            Err(mut e) => {
                e.position = -1;
                Err(e.at(i))
            }
        }
    }

    /// Record `i`.
    pub fn read(&self, i: u64) -> Result<Vec<u8>> {
        let (n, _) = self.read_into(i, None)?;
        let mut record = crate::alloc::zeroed(crate::alloc::allow(
            n as u64,
            self.set.options.memory_limit(),
            "a record",
        )?)?;
        let (n, _) = self.read_into(i, Some(&mut record))?;
        record.truncate(n);
        Ok(record)
    }

    /// Digest over every record in order: its length (8 bytes, little-endian), then its bytes.
    pub fn checksum(&self, sum: Sum) -> Result<Vec<u8>> {
        let mut h = Hasher::new(sum);
        self.for_each_batch(|_, records| {
            for r in records.iter() {
                h.update(&(r.len() as u64).to_le_bytes());
                h.update(r);
            }
            Ok(())
        })?;
        Ok(h.finish())
    }

    /// Refuses to go on where what was read may be that of another commit.
    fn still(&self) -> Result<()> {
        self.set.shards.iter().try_for_each(|s| s.limits().still())
    }

    /// Files it is made of.
    pub fn shards(&self) -> usize {
        self.set.shards.len()
    }

    /// Name and number of records of each of them.
    pub fn each_shard(&self) -> impl Iterator<Item = (&str, u64)> {
        self.set.shards.iter().map(|s| (s.file().name(), s.count()))
    }

    /// Bytes on disk of all files, limits and checksums included.
    pub fn bytes(&self) -> u64 {
        self.set
            .shards
            .iter()
            .map(Shard::bytes)
            .fold(0, u64::saturating_add)
    }

    /// Are the limits in files of their own?
    pub fn separate(&self) -> bool {
        self.set.options.get(Opt::BagLimits, 0) == 1
    }

    /// The codec, where all files have the same.
    pub fn codec(&self) -> Option<Codec> {
        let mut all = self.set.shards.iter().map(|s| s.decoder().codec());
        let first = all.next()?;
        all.all(|c| c == first).then_some(first)
    }

    /// What protects the records of all files: the least of them.
    pub fn protection(&self) -> Result<Protection> {
        let mut least = None;
        for s in self.set.shards.iter().filter(|s| s.count() > 0) {
            let p = match s.decoder().codec() {
                Codec::None if s.has_sums() => Protection::Crc32,
                Codec::Zstd if s.has_frame_checksum()? => Protection::Zstd,
                _ => return Ok(Protection::None),
            };
            least = Some(p);
        }
        Ok(least.unwrap_or(Protection::None))
    }
}

/// Was the whole written in turns? A part of it that was, beside others, is refused: a bag has one
/// order.
fn in_turns(shards: &[Shard], sets: &[Range<usize>], threads: usize) -> Result<bool> {
    for set in sets {
        let some = shards.get(set.clone()).unwrap_or_default();
        if !interleave::in_turns(some, threads)? {
            continue;
        }
        if some.len() == shards.len() {
            return Ok(true);
        }
        return Err(fail!(
            Argument,
            "{}: it is of a set that was written in turns, and there are other files in this spec: open the sets one by one, or give HOLDALL_OPT_BAG_SHARDS to read file by file",
            some.first().map_or("", |s| s.file().name())
        ));
    }
    Ok(false)
}

/// Interleaved, each must have as many records as the next, and none more than one less than the
/// first.
fn refuse_out_of_turn(shards: &[Shard], asked: bool) -> Result<()> {
    let Some(first) = shards.first() else {
        return Ok(());
    };
    for (i, pair) in (1..).zip(shards.windows(2)) {
        let [a, b] = pair else { continue };
        if b.count() > a.count() || first.count() - b.count() > 1 {
            let why = if asked {
                ""
            } else {
                "; they were written in turns, and changed one by one since: HOLDALL_OPT_BAG_SHARDS says how to read them"
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

/// Is this what damage looks like, as against a failing disk or a limit of the caller's?
fn damage(s: Status) -> bool {
    matches!(s, Status::Format | Status::Checksum | Status::Codec)
}
