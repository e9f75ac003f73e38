//! Bags: records of any length, as Bagz keeps them. A bag is one file or several (shards), read as one
//! sequence; a slice of a bag is a bag.
//!
//! [`Bag`] reads, [`Writer`] writes, [`verify`] and [`repair`] look after what is there. No call ever
//! gives an empty record for one that it could not read, unless it was asked to, and then it says so.
#![forbid(unsafe_code)]

mod ahead;
mod batch;
pub mod codec;
pub mod frame;
mod limits;
mod repair;
mod shape;
mod shard;
pub mod spec;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use batch::Records;
pub use repair::{Repaired, repair, repair_in};
pub use verify::{Verified, verify};
pub use writer::{Mode, Writer};

use crate::checksum::{Hasher, Sum};
use crate::error::{Result, Status, fail};
use crate::io::{self, Access, Folder};
use crate::options::{Opt, Options};
use batch::{Failure, Item, Rules, Run, Spare};
use codec::{CODEC_BY_NAME, Codec, Decoder};
use shard::{How, Shard};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

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
        Place { folder, given: name.clone(), name }
    }
}

impl Bag {
    /// Opens a spec: a path, or several (see [`spec`]).
    pub fn open(spec: &OsStr, options: &Options) -> Result<Bag> {
        if spec.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        let place = |p: &OsString| io::file::locate(p).map(|l| Place { folder: l.folder, name: l.name, given: l.given });
        let places = spec::expand(spec)?.iter().map(place).collect::<Result<Vec<_>>>()?;
        Bag::open_in(&places, options)
    }

    /// Opens files wherever they are.
    pub fn open_in(places: &[Place], options: &Options) -> Result<Bag> {
        options.only("opening a bag", READ_OPTIONS)?;
        let how = How {
            access: if options.get(Opt::Io, 0) == 1 { Access::Map } else { Access::Read },
            separate: options.get(Opt::BagLimits, 0) == 1,
            cache: options.get(Opt::BagLimitsCache, 0) == 1,
            verify: options.get(Opt::Verify, 1) > 0,
            memory_limit: options.memory_limit(),
        };
        let dictionary = options.given_bytes(Opt::Dictionary);
        let decoders = [Codec::None, Codec::Zstd].map(|c| Decoder::new(c, dictionary.filter(|_| c == Codec::Zstd)).map(Arc::new));
        let [none, zstd] = decoders;
        let (none, zstd) = (none?, zstd?);
        let mut shards = Vec::new();
        for Place { folder, name, given } in places {
            let decoder = match Codec::choose(options.get(Opt::Codec, CODEC_BY_NAME), given.as_bytes())? {
                Codec::None => &none,
                Codec::Zstd => &zstd,
            };
            shards.push(Shard::open(&shard::container(folder, name), decoder, how)?);
        }
        let bag = Bag::over(shards, options.clone())?;
        if options.get(Opt::Verify, 1) == 2 {
            bag.verify_all()?;
        }
        Ok(bag)
    }

    fn over(shards: Vec<Shard>, options: Options) -> Result<Bag> {
        let interleaved = options.get(Opt::BagShards, 0) == 1;
        if interleaved {
            let sizes: Vec<u64> = shards.iter().map(Shard::count).collect();
            let fits = sizes.is_sorted_by(|a, b| a >= b) && sizes.first().zip(sizes.last()).is_none_or(|(a, b)| a - b <= 1);
            if !fits {
                return Err(fail!(Format, "shards of {sizes:?} records cannot be interleaved: each must have as many as the next, or one more"));
            }
        }
        let mut firsts = Vec::new();
        let mut size = 0u64;
        for s in &shards {
            firsts.push(size);
            size = size.checked_add(s.count()).ok_or_else(|| fail!(Format, "the shards hold more than 2^64 records"))?;
        }
        Ok(Bag { set: Arc::new(Set { shards, firsts, interleaved, options, spare: Arc::default() }), start: 0, step: 1, size })
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
            return Err(fail!(Range, "the slice {start}, step {step}, {n} records, reaches beyond the {} records there are", self.size));
        }
        if n == 0 {
            return Ok(Bag { set: self.set.clone(), start: 0, step: 1, size: 0 });
        }
        let step = if n == 1 { Some(1) } else { self.step.checked_mul(step) };
        let step = step.ok_or_else(|| fail!(Range, "the steps of these slices, multiplied, are too large"))?;
        Ok(Bag { set: self.set.clone(), start: self.physical(start), step, size: n })
    }

    /// Number in the whole set of a record of this slice, which must exist.
    fn physical(&self, i: u64) -> u64 {
        // in range by construction, so the wrapping sum is the sum
        self.start.wrapping_add(i.wrapping_mul(self.step as u64))
    }

    fn check(&self, i: u64) -> Result<()> {
        if i < self.size { Ok(()) } else { Err(fail!(Range, "record {i} of {}", self.size).at(i)) }
    }

    /// Shard and number there of a record of the whole set, which must exist.
    fn find(&self, i: u64) -> (usize, u64) {
        let set = &*self.set;
        if set.interleaved {
            let n = set.shards.len().max(1) as u64;
            return ((i % n) as usize, i / n);
        }
        let shard = set.firsts.partition_point(|&f| f <= i).saturating_sub(1);
        (shard, i - set.firsts.get(shard).copied().unwrap_or(0))
    }

    /// Reads record `i`: its size, and its bytes into `dst` where that is given. `Buffer` where `dst` is
    /// too small: the error's position is then the size. The flag says that the record is damaged and
    /// was skipped as the options wished.
    pub fn read_into(&self, i: u64, dst: Option<&mut [u8]>) -> Result<(usize, bool)> {
        self.check(i)?;
        let (shard, local) = self.find(self.physical(i));
        let shard = self.set.shards.get(shard).ok_or_else(|| fail!(Range, "no shard {shard}"))?;
        match shard.read(local, dst) {
            Ok(n) => Ok((n, false)),
            Err(e) if e.status == Status::Buffer => Err(e),
            Err(e) if self.rules().skip_damaged && damage(e.status) => Ok((0, true)),
            Err(mut e) => {
                e.position = -1;
                Err(e.at(i))
            }
        }
    }

    /// Record `i`.
    pub fn read(&self, i: u64) -> Result<Vec<u8>> {
        let (n, _) = self.read_into(i, None)?;
        let mut record = crate::memory::zeroed(crate::memory::allow(n as u64, self.set.options.memory_limit(), "a record")?)?;
        let (n, _) = self.read_into(i, Some(&mut record))?;
        record.truncate(n);
        Ok(record)
    }

    fn rules(&self) -> Rules<'_> {
        let o = &self.set.options;
        // a caller's function may wait for what the caller holds: other threads call it only on demand
        let foreign = o.given(Opt::Threads).is_none() && self.set.shards.iter().any(Shard::is_foreign);
        Rules {
            spare: &self.set.spare,
            threads: if foreign { 1 } else { o.threads() },
            memory_limit: o.memory_limit(),
            skip_damaged: o.get(Opt::SkipDamaged, 0) == 1,
        }
    }

    /// Records `first` to `first + n`.
    pub fn read_range(&self, first: u64, n: u64) -> Result<Records> {
        self.range_with(first, n, self.rules())
    }

    /// Records from `first` on: `n` of them, or fewer, one at least, where they would take more memory than this.
    pub fn read_some(&self, first: u64, n: u64, bytes: u64) -> Result<Records> {
        let (rules, mut many) = (self.rules(), n);
        loop {
            // only a record alone may take all that the caller allows
            let memory_limit = if many > 1 { rules.memory_limit.min(bytes) } else { rules.memory_limit };
            match self.range_with(first, many, Rules { memory_limit, ..rules }) {
                Err(e) if many > 1 && matches!(e.status, Status::Limit | Status::Memory) => many = (many / 8).max(1),
                read => return read,
            }
        }
    }

    fn range_with(&self, first: u64, n: u64, rules: Rules<'_>) -> Result<Records> {
        if first.checked_add(n).is_none_or(|end| end > self.size) {
            return Err(fail!(Range, "records {first} and {n} from there on: there are {}", self.size).at(first));
        }
        if n == 0 {
            return Ok(Records::none());
        }
        let position = |f: Failure| positioned(f.error, first + f.out as u64);
        if self.step == 1 && !self.set.interleaved {
            return batch::runs(&self.cut(self.physical(first), n), rules).map_err(position);
        }
        crate::memory::allow(n.saturating_mul(size_of::<Item>() as u64), rules.memory_limit, "the numbers of the records of this batch")?;
        let mut items = crate::memory::with_room(n as usize)?;
        items.extend((0..n).map(|k| self.item(first + k, k as usize)));
        items.sort_unstable();
        batch::scattered(&self.set.shards, &items, rules).map_err(position)
    }

    fn item(&self, i: u64, out: usize) -> Item {
        let (shard, local) = self.find(self.physical(i));
        Item { shard, local, out }
    }

    /// Cuts `n` records of the whole set into runs.
    fn cut(&self, mut first: u64, mut n: u64) -> Vec<Run<'_>> {
        let mut runs = Vec::new();
        while n > 0 {
            let (shard, local) = self.find(first);
            let Some(shard) = self.set.shards.get(shard) else {
                break;
            };
            let here = n.min(shard.count() - local);
            runs.push(Run { shard, first: local, n: here });
            first += here;
            n -= here;
        }
        runs
    }

    /// Records of any numbers, in any order, with repetitions.
    pub fn read_indices(&self, indices: &[u64]) -> Result<Records> {
        if let Some((k, &i)) = indices.iter().enumerate().find(|&(_, &i)| i >= self.size) {
            return Err(fail!(Range, "indices[{k}] is {i}, there are {} records", self.size).at(i));
        }
        let rules = self.rules();
        let mut items = crate::memory::with_room(indices.len())?;
        items.extend(indices.iter().enumerate().map(|(out, &i)| self.item(i, out)));
        items.sort_unstable();
        batch::scattered(&self.set.shards, &items, rules).map_err(|f| {
            let i = indices.get(f.out).copied().unwrap_or(0);
            positioned(f.error, i)
        })
    }

    /// Calls `f` with all records, in batches of a few MiB, in order.
    pub fn for_each_batch(&self, mut f: impl FnMut(u64, &Records) -> Result<()>) -> Result<()> {
        self.batches(self.rules(), &mut |first, records| f(first, records?))
    }

    /// As above; a record that alone cannot be had (too large for the memory limit, on a bad sector)
    /// comes as the failure.
    fn batches(&self, rules: Rules<'_>, f: &mut dyn FnMut(u64, Result<&Records>) -> Result<()>) -> Result<()> {
        const WANTED: u64 = 8 << 20;
        const MOST: u64 = 4 * WANTED;
        let (mut first, mut n) = (0, 1024);
        while first < self.size {
            self.set.options.progress(first, self.size)?;
            let many = n.min(self.size - first);
            // only a record alone may take all that the caller allows
            let limit = if many > 1 { rules.memory_limit.min(MOST) } else { rules.memory_limit };
            let read = self.range_with(first, many, Rules { memory_limit: limit, ..rules });
            if many > 1 && matches!(&read, Err(e) if matches!(e.status, Status::Limit | Status::Io | Status::Memory)) {
                n = (many / 8).max(1);
                continue;
            }
            let bytes = read.as_ref().map_or(1, |r| r.data.len().max(1)) as u64;
            f(first, read.as_ref().map_err(Clone::clone))?;
            first += many;
            n = (many.saturating_mul(WANTED) / bytes).clamp(1, (n * 4).min(1 << 16));
        }
        self.set.options.progress(self.size, self.size)
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

    /// Files it is made of.
    pub fn shards(&self) -> usize {
        self.set.shards.len()
    }

    /// Bytes on disk of all files, limits and checksums included.
    pub fn bytes(&self) -> u64 {
        self.set.shards.iter().map(Shard::bytes).fold(0, u64::saturating_add)
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

fn positioned(mut e: crate::error::Error, i: u64) -> crate::error::Error {
    e.position = -1;
    e.at(i)
}

/// Is this what damage looks like, as against a failing disk or a limit of the caller's?
fn damage(s: Status) -> bool {
    matches!(s, Status::Format | Status::Checksum | Status::Codec)
}
