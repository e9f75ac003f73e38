//! Brings a bag that was left torn back to its last whole state:
//!
//! - a change that was under way is undone or finished, as its journal says;
//! - a tail writer of the Bagz library that was cut off leaves `X` and `limits.X`: the limits that
//!   fit `X` become its tail, as that writer's close would have done;
//! - with separate limits, limits that are torn or reach beyond the records go;
//! - a damaged last limit is put right where frames or checksums prove what it was;
//! - of a compressed file that was cut, or has lost its limits, the frames from its beginning on
//!   become the records, if that is asked for (HOLDALL_OPT_SKIP_DAMAGED): nobody knows how many
//!   there were. What lies behind them is kept in a file beside it.
//!
//! A bag that is whole is left as it is, and so is one of which nothing can be proved: a repair
//! must not make wrong records readable.
#![forbid(unsafe_code)]

use super::codec::{CODEC_BY_NAME, Codec, Decoder, is_unsaid};
use super::limits::{LIMIT, Limits};
use super::offset_check;
use super::shard::{LIMITS_PREFIX, SUM, SUMS_PREFIX, Shard, container};
use super::spec;
use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Change, Container, Piece, SAID, Undo};
use crate::io::{self, Access, File, Folder, locate};
use crate::options::{Opt, Options};
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Options that repairing knows.
pub const REPAIR_OPTIONS: &[Opt] = &[
    Opt::BagLimits,
    Opt::Codec,
    Opt::Dictionary,
    Opt::MemoryLimit,
    Opt::Durability,
    Opt::Lock,
    Opt::SkipDamaged,
];
/// What the name of a file with what was cut off has behind it.
const DAMAGED: &str = ".holdall-damaged";
/// How many of them are kept.
const MOST_DAMAGED: u32 = 100;
const PIECE: u64 = 1 << 20;

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records that are there now.
    pub kept: u64,
    /// Records of which there was a limit, or a frame behind the last limit, and that are gone.
    pub dropped: u64,
}

struct Repair<'a> {
    folder: &'a Arc<dyn Folder>,
    container: Container,
    limits_name: OsString,
    sums_name: OsString,
    decoder: Decoder,
    memory_limit: u64,
    durable: bool,
    /// May whole frames become the records, where nothing tells how many there were?
    take_frames: bool,
}

/// Repairs the files of a spec, each by itself: one of which nothing can be proved does not keep
/// the others from it, and is what the error is about.
pub fn repair(spec: &OsStr, options: &Options) -> Result<Repaired> {
    let one = |text: &OsString| {
        locate::locate_for_change(text).and_then(|l| repair_in(&l.folder, &l.name, options))
    };
    let done: Vec<Result<Repaired>> = spec::expand_some(spec)?.iter().map(one).collect();
    done.into_iter().try_fold(Repaired::default(), |all, r| {
        r.map(|r| Repaired {
            kept: all.kept + r.kept,
            dropped: all.dropped + r.dropped,
        })
    })
}

/// As [`repair`], in a folder.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    options.only("holdall_repair", REPAIR_OPTIONS)?;
    folder.writable()?;
    let container = container(folder, name);
    let (locks, durable) = (
        options.get(Opt::Lock, 1) == 1,
        options.get(Opt::Durability, 1) == 1,
    );
    let _sets = journal::enter(&container, locks, durable)?;
    let _lock = container.lock(locks)?;
    let by = options.get(Opt::Codec, CODEC_BY_NAME);
    let codec = Codec::choose(by, name.as_bytes())?;
    let r = Repair {
        folder,
        limits_name: container.name(LIMITS_PREFIX),
        sums_name: container.name(SUMS_PREFIX),
        container,
        decoder: Decoder::new(codec, options.given_bytes(Opt::Dictionary))?,
        memory_limit: options.memory_limit(),
        durable,
        take_frames: options.get(Opt::SkipDamaged, 0) == 1,
    };
    journal::tidy(&r.container, r.durable)?;
    if is_unsaid(by, name.as_bytes()) && r.sums()?.is_none() {
        let records = folder.open(name, Access::Read)?;
        offset_check::refuse_unsaid_frames(&*records, records.size()?)?;
    }
    match options.get(Opt::BagLimits, 0) {
        1 => r.separate(),
        _ => r.tail(),
    }
}

impl Repair<'_> {
    fn sync(&self, f: &dyn File) -> Result<()> {
        if self.durable { f.sync() } else { Ok(()) }
    }

    /// A file with its limits at the tail, or what a writer of one has left. What `limits.NAME`
    /// says and what the tail says may both be there; see the arms for which is believed.
    fn tail(&self) -> Result<Repaired> {
        let records = self.folder.open(&self.container.main, Access::Write)?;
        let size = records.size()?;
        let tail = self.whole_tail(&records, size)?;
        let pair = self.pair(&*records, size)?;
        match (tail, pair) {
            (Some(tail), None) => Ok(Repaired {
                kept: tail.count,
                dropped: 0,
            }),
            // a writer that was cut off after it had copied its limits
            (Some(tail), Some((pair, _))) if tail.end == pair.end && tail.count == pair.count => {
                self.remove_limits()?;
                Ok(Repaired {
                    kept: tail.count,
                    dropped: 0,
                })
            }
            // bytes that are all records according to limits.NAME, and look like limits by chance
            (Some(_), Some((pair, limits))) if self.raw() && pair.end == size => {
                self.close_for_the_writer(&*records, &*limits, pair)
            }
            (Some(tail), Some(_)) => Ok(Repaired {
                kept: tail.count,
                dropped: 0,
            }),
            (None, pair) => match (self.mendable(&*records, size)?, pair) {
                // limits that all fit but the last: limits.NAME is that of another state
                (Some(end), _) => self.mend_last_limit(&*records, end, size),
                (None, Some((pair, limits))) => {
                    self.close_for_the_writer(&*records, &*limits, pair)
                }
                (None, None) => self.frames_only(&*records, size),
            },
        }
    }

    fn raw(&self) -> bool {
        self.decoder.codec() == Codec::None
    }

    /// Makes the frames from the beginning on the records.
    fn frames_only(&self, records: &dyn File, size: u64) -> Result<Repaired> {
        let limits = if self.raw() {
            Vec::new()
        } else {
            offset_check::frames_from_the_beginning(records, size, self.memory_limit)?
        };
        let (count, Some(&end)) = (limits.len(), limits.last()) else {
            return Err(self.hopeless(records));
        };
        if !self.take_frames {
            let mut e = self.hopeless(records);
            e.message.push_str(&format!("; {count} whole zstd frames from its beginning on can become its records: HOLDALL_OPT_SKIP_DAMAGED 1"));
            return Err(e);
        }
        self.keep_rest(records, end, size)?;
        let bytes: Vec<u8> = limits.iter().flat_map(|l| l.to_le_bytes()).collect();
        let change = Change {
            name: self.container.main.clone(),
            file: Some(records),
            over: vec![end..u64::MAX],
            lengths: end..=end + bytes.len() as u64,
            new: vec![Piece {
                at: end,
                bytes: bytes.iter().copied().take(SAID).collect(),
            }],
        };
        self.change(&[change], || {
            records.set_size(end)?;
            records.write_at(end, &bytes)?;
            self.sync(records)
        })?;
        // what was there behind them were at least the limits, or a part of a record
        Ok(Repaired {
            kept: count as u64,
            dropped: u64::from(end < size),
        })
    }

    /// Copies what is behind the last whole frame to a file of its own.
    fn keep_rest(&self, records: &dyn File, end: u64, size: u64) -> Result<()> {
        if end == size {
            return Ok(());
        }
        let name = self.free_name()?;
        let rest = self.container.create(&name)?;
        io::copy(records, end, &*rest, 0, size - end)?;
        self.sync(&*rest)?;
        if self.durable {
            self.folder.sync()
        } else {
            Ok(())
        }
    }

    /// One that no earlier repair has used, or one that was cut off.
    fn free_name(&self) -> Result<OsString> {
        for number in 1..=MOST_DAMAGED {
            let mut name = self.container.main.clone();
            name.push(if number == 1 {
                DAMAGED.to_owned()
            } else {
                format!("{DAMAGED}-{number}")
            });
            if !self.folder.exists(&name)? {
                return Ok(name);
            }
        }
        Err(fail!(
            Exists,
            "{}: {MOST_DAMAGED} repairs have left a file {DAMAGED} beside it: remove them",
            self.folder.show(&self.container.main)
        ))
    }

    fn hopeless(&self, file: &dyn File) -> Error {
        let mut e = fail!(
            Format,
            "{}: its limits are damaged, and nothing proves what they were (no {} that fits it): nothing was changed",
            file.name(),
            self.folder.show(&self.limits_name)
        );
        if self.raw() && matches!(self.sums(), Ok(Some(_))) {
            e.message.push_str(&format!(
                "; or it is {} that is damaged, or of another state: without it the records are read unchecked",
                self.folder.show(&self.sums_name)
            ));
        }
        e
    }

    /// The tail of a file, if nothing speaks against it.
    fn whole_tail(&self, records: &Arc<dyn File>, size: u64) -> Result<Option<Whole>> {
        let (limits, end) = match Shard::tail(records, size) {
            Ok(found) => found,
            Err(e) if e.status == Status::Format => return Ok(None),
            Err(e) => return Err(e),
        };
        let whole = Whole {
            count: limits.count(),
            end,
        };
        let fits = if self.raw() {
            self.sums()?.is_none_or(|s| s.count == Some(whole.count))
        } else {
            offset_check::last_limit(
                &**records,
                &limits,
                end,
                size,
                &self.decoder,
                self.memory_limit,
            )
            .is_ok()
        };
        Ok(fits.then_some(whole))
    }

    /// Where the records really end, if the frames, or the checksums beside them, prove it.
    fn mendable(&self, records: &dyn File, size: u64) -> Result<Option<u64>> {
        if !self.raw() {
            return offset_check::find_end(records, size, &self.decoder, self.memory_limit);
        }
        let Some(Sums {
            file,
            count: Some(count),
        }) = self.sums()?
        else {
            return Ok(None);
        };
        let Some(end) = count
            .checked_mul(LIMIT)
            .and_then(|n| size.checked_sub(n))
            .filter(|_| count > 0)
        else {
            return Ok(None);
        };
        let proved = offset_check::sums_fit(records, &*file, end, count, self.memory_limit)?;
        Ok(proved.then_some(end))
    }

    /// The checksums beside an uncompressed bag.
    fn sums(&self) -> Result<Option<Sums>> {
        let file = match self.folder.open(&self.sums_name, Access::WriteBeside) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let size = file.size()?;
        Ok(Some(Sums {
            file,
            count: size.is_multiple_of(SUM).then_some(size / SUM),
        }))
    }

    /// What `limits.NAME` says, if it can be about this file.
    fn pair(&self, records: &dyn File, size: u64) -> Result<Option<(Whole, Arc<dyn File>)>> {
        let limits = match self.folder.open(&self.limits_name, Access::WriteBeside) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let Some(whole) = sound_limits(&*limits, size)? else {
            return Ok(None);
        };
        // no limits say nothing about records that are there: they may wait in a buffer that was
        // lost
        if whole.count == 0 && size > 0 {
            return Ok(None);
        }
        let bounds = Limits::on_disk(limits.clone(), 0, whole.count, false)
            .bounds(whole.count.saturating_sub(1), whole.count.min(1))?;
        let last = bounds.first().copied().unwrap_or(0);
        let fits = self.raw() || offset_check::tiled(records, last, whole.end);
        Ok(fits.then_some((whole, limits)))
    }

    /// Records behind the last limit: frames, whole or not; of uncompressed ones nobody knows the
    /// number.
    fn records_behind(&self, records: &dyn File, end: u64) -> Result<u64> {
        let size = records.size()?;
        if self.raw() || end >= size {
            return Ok(u64::from(end < size));
        }
        let (frames, stop) = offset_check::count_frames(records, end, size);
        Ok(frames + u64::from(stop < size))
    }

    fn remove_limits(&self) -> Result<()> {
        self.folder.remove_if_there(&self.limits_name)?;
        if self.durable {
            self.folder.sync()
        } else {
            Ok(())
        }
    }

    /// Writes the one limit that the frames contradict.
    fn mend_last_limit(&self, records: &dyn File, end: u64, size: u64) -> Result<Repaired> {
        let change = Change {
            name: self.container.main.clone(),
            file: Some(records),
            over: vec![size - LIMIT..size],
            lengths: size..=size,
            new: vec![Piece {
                at: size - LIMIT,
                bytes: end.to_le_bytes().to_vec(),
            }],
        };
        self.change(&[change], || {
            records.write_at(size - LIMIT, &end.to_le_bytes())?;
            self.sync(records)
        })?;
        Ok(Repaired {
            kept: (size - end) / LIMIT,
            dropped: 0,
        })
    }

    fn change(&self, changes: &[Change<'_>], act: impl FnOnce() -> Result<()>) -> Result<()> {
        let undo = Undo::begin(&self.container, self.durable, changes)?;
        match act() {
            Ok(()) => undo.commit(),
            Err(e) => {
                let _ = undo.rollback();
                Err(e)
            }
        }
    }

    /// Does what closing would have done for a writer that keeps limits in a second file till then.
    fn close_for_the_writer(
        &self,
        records: &dyn File,
        limits: &dyn File,
        whole: Whole,
    ) -> Result<Repaired> {
        let all = limits.size()?.div_ceil(LIMIT);
        let behind = self.records_behind(records, whole.end)?;
        // limits.NAME is cut to what counts in the same change: cut off between it and the removal,
        // the two can be told to say the same
        let bytes = whole.count * LIMIT;
        let mut new = vec![0; SAID.min(bytes as usize)];
        limits.read_exact_at(0, &mut new)?;
        let changes = [
            Change {
                name: self.container.main.clone(),
                file: Some(records),
                over: vec![whole.end..u64::MAX],
                lengths: whole.end + bytes..=whole.end + bytes,
                new: vec![Piece {
                    at: whole.end,
                    bytes: new,
                }],
            },
            cut(&self.limits_name, limits, bytes),
        ];
        self.change(&changes, || {
            limits.set_size(whole.count * LIMIT)?;
            self.sync(limits)?;
            records.set_size(whole.end + whole.count * LIMIT)?;
            let mut done = 0;
            let mut piece = alloc::zeroed(PIECE.min(whole.count * LIMIT) as usize)?;
            while done < whole.count * LIMIT {
                let n = (whole.count * LIMIT - done).min(PIECE) as usize;
                let part = piece.get_mut(..n).unwrap_or_default();
                limits.read_exact_at(done, part)?;
                records.write_at(whole.end + done, part)?;
                done += n as u64;
            }
            self.sync(records)
        })?;
        // that writer knows no checksums: where their number does not fit, they are of another
        // state
        if self.raw() && self.sums()?.is_some_and(|s| s.count != Some(whole.count)) {
            self.folder.remove(&self.sums_name)?;
        }
        self.remove_limits()?;
        Ok(Repaired {
            kept: whole.count,
            dropped: (all - whole.count).max(behind),
        })
    }

    /// Limits of their own: those that are whole stay, and as many checksums.
    fn separate(&self) -> Result<Repaired> {
        let size = self
            .folder
            .open(&self.container.main, Access::Read)?
            .size()?;
        let limits = self.folder.open(&self.limits_name, Access::WriteBeside)?;
        let bytes = limits.size()?;
        let Some(whole) = sound_limits(&*limits, size)? else {
            return Err(fail!(
                Format,
                "{}: a limit amid sound ones is damaged, and nothing proves what it was: nothing was changed; the records behind it can be read",
                limits.name()
            ));
        };
        let (kept, dropped) = (whole.count, bytes.div_ceil(LIMIT) - whole.count);
        let sums = if self.raw() { self.sums()? } else { None };
        let fitting = |s: &Sums| s.file.size().map(|n| n >= kept * SUM);
        if !sums.as_ref().map_or(Ok(true), fitting)? {
            return Err(fail!(
                Format,
                "{}: it has fewer checksums than there are limits: one of the two is damaged, nothing was changed",
                self.folder.show(&self.sums_name)
            ));
        }
        let mut changes = vec![cut(&self.limits_name, &*limits, kept * LIMIT)];
        if let Some(s) = &sums {
            changes.push(cut(&self.sums_name, &*s.file, kept * SUM));
        }
        let torn_sums = sums.as_ref().is_some_and(|s| s.count != Some(kept));
        if dropped > 0 || torn_sums {
            self.change(&changes, || {
                limits.set_size(kept * LIMIT)?;
                self.sync(&*limits)?;
                let Some(s) = &sums else { return Ok(()) };
                s.file.set_size(kept * SUM)?;
                self.sync(&*s.file)
            })?;
        }
        Ok(Repaired { kept, dropped })
    }
}

/// The change of a file that is going to be cut to this length.
fn cut<'a>(name: &OsStr, file: &'a dyn File, to: u64) -> Change<'a> {
    Change {
        name: name.into(),
        file: Some(file),
        over: vec![to..u64::MAX],
        lengths: to..=to,
        new: Vec::new(),
    }
}

/// Checksums beside a bag; their number, where it is a whole one.
struct Sums {
    file: Arc<dyn File>,
    count: Option<u64>,
}

/// Limits that fit their records.
#[derive(Clone, Copy)]
struct Whole {
    count: u64,
    end: u64,
}

/// The limits from the first on that rise and stay within the records, where all others are beyond
/// them: such are of records that were lost. Nothing, where one amid sound ones is damaged.
fn sound_limits(limits: &dyn File, records: u64) -> Result<Option<Whole>> {
    let total = limits.size()? / LIMIT * LIMIT;
    let mut whole = Whole { count: 0, end: 0 };
    let mut torn = false;
    let mut buf = alloc::zeroed(PIECE.min(total) as usize)?;
    let mut at = 0;
    while at < total {
        let part = buf
            .get_mut(..(total - at).min(PIECE) as usize)
            .unwrap_or_default();
        limits.read_exact_at(at, part)?;
        for w in part.as_chunks::<8>().0 {
            let v = u64::from_le_bytes(*w);
            if v < whole.end || (torn && v <= records) {
                return Ok(None);
            }
            torn |= v > records;
            if !torn {
                whole = Whole {
                    count: whole.count + 1,
                    end: v,
                };
            }
        }
        at += part.len() as u64;
    }
    Ok(Some(whole))
}
