//! Brings a bag that was left torn back to its last whole state:
//!
//! - a change that was under way is undone or finished, as its journal says;
//! - a tail writer of the Bagz library that was cut off leaves `X` and `limits.X`: the limits that fit
//!   `X` become its tail, as that writer's close would have done;
//! - with separate limits, limits that are torn or reach beyond the records go;
//! - a damaged last limit of a compressed file is put right where its frames tell how;
//! - checksums whose number does not fit are removed: the records can then be read, unchecked.
//!
//! A bag that is whole is left as it is.
#![forbid(unsafe_code)]

use super::codec::{CODEC_BY_NAME, Codec};
use super::limits::{LIMIT, Limits};
use super::shape;
use super::shard::{LIMITS_PREFIX, SUM, SUMS_PREFIX};
use crate::error::{Result, Status, fail};
use crate::io::journal::{self, Change, Undo};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, beside, file};
use crate::memory;
use crate::options::{Opt, Options};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// Options that repairing knows.
pub const REPAIR_OPTIONS: &[Opt] = &[Opt::BagLimits, Opt::Codec, Opt::Dictionary, Opt::MemoryLimit, Opt::Durability, Opt::Lock];
const PIECE: u64 = 1 << 20;

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records that are there now.
    pub kept: u64,
    /// Records of which there was a limit but that are not whole, and are gone.
    pub dropped: u64,
}

struct Repair<'a> {
    folder: &'a Arc<dyn Folder>,
    name: &'a OsStr,
    limits_name: OsString,
    durable: bool,
}

/// Repairs the bag of one file at a path.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    let (folder, name) = file::locate(path)?;
    repair_in(&folder, &name, options)
}

/// As [`repair`], in a folder.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    options.only("holdall_repair", REPAIR_OPTIONS)?;
    let _lock = match options.get(Opt::Lock, 1) {
        0 => Lock::none(),
        _ => folder.lock(&beside("", name, ".holdall-lock"))?,
    };
    let r = Repair { folder, name, limits_name: beside(LIMITS_PREFIX, name, ""), durable: options.get(Opt::Durability, 1) == 1 };
    journal::settle(&**folder, name, r.durable)?;
    for prefix in ["", LIMITS_PREFIX, SUMS_PREFIX] {
        folder.remove_if_there(&beside(prefix, name, ".holdall-new"))?;
    }
    let done = match options.get(Opt::BagLimits, 0) {
        1 => r.separate()?,
        _ => r.tail(Codec::choose(options.get(Opt::Codec, CODEC_BY_NAME), name.as_bytes())?)?,
    };
    r.drop_stale_sums(done.kept)?;
    Ok(done)
}

impl Repair<'_> {
    fn sync(&self, f: &dyn File) -> Result<()> {
        if self.durable { f.sync() } else { Ok(()) }
    }

    /// A file with its limits at the tail, or what a writer of one has left. What `limits.NAME` says and
    /// what the tail says may both be there; see the arms for which is believed.
    fn tail(&self, codec: Codec) -> Result<Repaired> {
        let records = self.folder.open(self.name, Access::Write)?;
        let size = records.size()?;
        let tail = self.whole_tail(&records, size, codec)?;
        let pair = self.pair(&*records, size, codec)?;
        match (tail, pair) {
            (Some(tail), None) => Ok(Repaired { kept: tail.count, dropped: 0 }),
            // a writer that was cut off after it had copied its limits
            (Some(tail), Some((pair, limits))) if tail.end == pair.end && tail.count == pair.count => {
                drop(limits);
                self.remove_limits()?;
                Ok(Repaired { kept: tail.count, dropped: 0 })
            }
            // bytes that are all records according to limits.NAME, and look like limits by chance
            (Some(_), Some((pair, limits))) if codec == Codec::None && pair.end == size => self.close_for_the_writer(&*records, &*limits, pair),
            (Some(tail), Some(_)) => Ok(Repaired { kept: tail.count, dropped: 0 }),
            (None, pair) => match (self.mendable(&*records, size, codec)?, pair) {
                // limits behind the frames that all fit but the last: limits.NAME is that of another state
                (Some(end), _) => self.mend_last_limit(&*records, end, size),
                (None, Some((pair, limits))) => self.close_for_the_writer(&*records, &*limits, pair),
                (None, None) => Err(fail!(
                    Format,
                    "{}: its limits are damaged, and there is no {} that fits it: nothing was changed",
                    records.name(),
                    self.folder.show(&self.limits_name)
                )),
            },
        }
    }

    fn mendable(&self, records: &dyn File, size: u64, codec: Codec) -> Result<Option<u64>> {
        if codec == Codec::Zstd { shape::find_end(records, size) } else { Ok(None) }
    }

    /// The tail of a file, if nothing speaks against it.
    fn whole_tail(&self, records: &Arc<dyn File>, size: u64, codec: Codec) -> Result<Option<Whole>> {
        let Some(end) = tail_end(&**records, size)? else { return Ok(None) };
        let limits = Limits::on_disk(records.clone(), end, (size - end) / LIMIT, true);
        if codec == Codec::Zstd && shape::last_limit(&**records, &limits, end, size).is_err() {
            return Ok(None);
        }
        Ok(Some(Whole { count: limits.count(), end }))
    }

    /// What `limits.NAME` says, if it can be about this file.
    fn pair(&self, records: &dyn File, size: u64, codec: Codec) -> Result<Option<(Whole, Arc<dyn File>)>> {
        let limits = match self.folder.open(&self.limits_name, Access::Read) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let whole = sound_limits(&*limits, size)?;
        if whole.count == 0 && limits.size()? >= LIMIT {
            return Ok(None);
        }
        let bounds = Limits::on_disk(limits.clone(), 0, whole.count, false).bounds(whole.count.saturating_sub(1), whole.count.min(1))?;
        let last = bounds.first().copied().unwrap_or(0);
        let fits = codec == Codec::None || shape::tiled(records, last, whole.end);
        Ok(fits.then_some((whole, limits)))
    }

    fn remove_limits(&self) -> Result<()> {
        self.folder.remove_if_there(&self.limits_name)?;
        if self.durable { self.folder.sync() } else { Ok(()) }
    }

    /// Writes the one limit that the frames contradict.
    fn mend_last_limit(&self, records: &dyn File, end: u64, size: u64) -> Result<Repaired> {
        let change = Change { name: self.name.into(), file: Some(records), over: size - LIMIT..size };
        self.change(&[change], || {
            records.write_at(size - LIMIT, &end.to_le_bytes())?;
            self.sync(records)
        })?;
        Ok(Repaired { kept: (size - end) / LIMIT, dropped: 0 })
    }

    fn change(&self, changes: &[Change<'_>], act: impl FnOnce() -> Result<()>) -> Result<()> {
        let undo = Undo::begin(self.folder, self.name, self.durable, changes)?;
        match act() {
            Ok(()) => undo.commit(),
            Err(e) => {
                let _ = undo.rollback();
                Err(e)
            }
        }
    }

    /// Does what closing would have done for a writer that keeps limits in a second file till then.
    fn close_for_the_writer(&self, records: &dyn File, limits: &dyn File, whole: Whole) -> Result<Repaired> {
        let all = limits.size()?.div_ceil(LIMIT);
        let change = Change { name: self.name.into(), file: Some(records), over: whole.end..u64::MAX };
        self.change(&[change], || {
            records.set_size(whole.end + whole.count * LIMIT)?;
            let mut done = 0;
            let mut piece = memory::zeroed(PIECE.min(whole.count * LIMIT) as usize)?;
            while done < whole.count * LIMIT {
                let n = (whole.count * LIMIT - done).min(PIECE) as usize;
                let part = piece.get_mut(..n).unwrap_or_default();
                limits.read_exact_at(done, part)?;
                records.write_at(whole.end + done, part)?;
                done += n as u64;
            }
            self.sync(records)
        })?;
        self.remove_limits()?;
        Ok(Repaired { kept: whole.count, dropped: all - whole.count })
    }

    fn separate(&self) -> Result<Repaired> {
        let size = self.folder.open(self.name, Access::Read)?.size()?;
        let limits = self.folder.open(&self.limits_name, Access::Write)?;
        let whole = sound_limits(&*limits, size)?;
        let bytes = limits.size()?;
        if whole.count * LIMIT < bytes {
            let over = whole.count * LIMIT..bytes;
            self.change(&[Change { name: self.limits_name.clone(), file: Some(&*limits), over }], || {
                limits.set_size(whole.count * LIMIT)?;
                self.sync(&*limits)
            })?;
        }
        Ok(Repaired { kept: whole.count, dropped: bytes.div_ceil(LIMIT) - whole.count })
    }

    fn drop_stale_sums(&self, count: u64) -> Result<()> {
        let name = beside(SUMS_PREFIX, self.name, "");
        match self.folder.open(&name, Access::Read) {
            Ok(f) if f.size()? != count.saturating_mul(SUM) => self.folder.remove(&name),
            Err(e) if e.status != Status::Missing => Err(e),
            _ => Ok(()),
        }
    }
}

/// Where the records of a file with its limits at the tail end, if the last limit can be true.
fn tail_end(file: &dyn File, size: u64) -> Result<Option<u64>> {
    if size == 0 {
        return Ok(Some(0));
    }
    let Some(last) = size.checked_sub(LIMIT) else { return Ok(None) };
    let mut word = [0; 8];
    file.read_exact_at(last, &mut word)?;
    let end = u64::from_le_bytes(word);
    Ok((end <= last && (size - end).is_multiple_of(LIMIT)).then_some(end))
}

/// Limits that fit their records.
#[derive(Clone, Copy)]
struct Whole {
    count: u64,
    end: u64,
}

/// The limits from the first on that rise and stay within the records.
fn sound_limits(limits: &dyn File, records: u64) -> Result<Whole> {
    let total = limits.size()? / LIMIT * LIMIT;
    let mut whole = Whole { count: 0, end: 0 };
    let mut buf = memory::zeroed(PIECE.min(total) as usize)?;
    let mut at = 0;
    while at < total {
        let part = buf.get_mut(..(total - at).min(PIECE) as usize).unwrap_or_default();
        limits.read_exact_at(at, part)?;
        for w in part.as_chunks::<8>().0 {
            let v = u64::from_le_bytes(*w);
            if v < whole.end || v > records {
                return Ok(whole);
            }
            whole = Whole { count: whole.count + 1, end: v };
        }
        at += part.len() as u64;
    }
    Ok(whole)
}
