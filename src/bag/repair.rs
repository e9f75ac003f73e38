//! Restores a bag to its last consistent state:
//!
//! - A change that was interrupted is rolled back or completed, as its journal says.
//! - A writer of the Bagz library with limits at the tail leaves `X` and `limits.X` if it is
//!   interrupted. The limits that match `X` are appended to it, as closing that writer would have
//!   done.
//! - With separate limits, limits that are torn or exceed the records are removed.
//! - A damaged last limit is corrected if frames or checksums prove its value.
//! - A damaged stored dictionary is restored from an intact copy, see `dictionary.rs`: that of
//!   another file of the spec, or the one of the options.
//! - If a compressed file was truncated or has lost its limits, the intact frames from its
//!   beginning on become the records, if that is requested (`HOLDALL_OPT_SKIP_DAMAGED`): their
//!   original number is unknown. The rest of the file is saved in a file beside it.
//!
//! A consistent bag is not changed. Neither is a bag of which nothing can be proved: a repair must
//! not make wrong records readable.
#![forbid(unsafe_code)]

use super::codec::{CODEC_BY_NAME, Codec, Decoder, is_codec_unspecified};
use super::dictionary;
use super::limits::{LIMIT, Limits, Tail};
use super::offset_check;
use super::shard::{BESIDE, CHECKSUM_SIZE, CHECKSUMS_PREFIX, LIMITS_PREFIX, container};
use super::spec;
use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Change, Container, SAMPLE_BYTES, Sample, Undo};
use crate::io::{self, Access, File, Folder, locate};
use crate::options::{Opt, Options};
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Options accepted by a repair. It uses one thread, whatever [`Opt::Threads`].
pub const REPAIR_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::BagLimits,
    Opt::Codec,
    Opt::Dictionary,
    Opt::MemoryLimit,
    Opt::Durability,
    Opt::Lock,
    Opt::SkipDamaged,
];
/// Suffix of the name of a file that contains removed bytes.
const DAMAGED_SUFFIX: &str = ".holdall-damaged";
/// Number of different dictionaries that one repair knows. A set has one.
const MAX_DICTIONARIES: usize = 8;
/// Maximum number of such files per bag.
const MAX_DAMAGED_FILES: u32 = 100;
const PIECE: u64 = 1 << 20;

/// The result of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records in the bag after the repair.
    pub retained: u64,
    /// Records that had a limit, or a frame after the last limit, and were removed.
    pub dropped: u64,
}

struct Repair<'a> {
    folder: &'a Arc<dyn Folder>,
    container: Container,
    limits_name: OsString,
    checksums_name: OsString,
    decoder: Decoder,
    memory_limit: u64,
    durable: bool,
    /// Whether intact frames may become the records if their number is unknown.
    take_frames: bool,
    /// Intact stored forms of dictionaries.
    dictionaries: &'a [Arc<[u8]>],
}

/// Repairs the files of a spec one by one. A file of which nothing can be proved does not prevent
/// the repair of the others; its error is returned.
pub fn repair(spec: &OsStr, options: &Options) -> Result<Repaired> {
    let names = spec::expand_nonempty(spec)?;
    let dictionaries = intact_dictionaries(&names, options);
    let one = |text: &OsString| {
        let l = locate::locate_for_change(text)?;
        repair_with(&l.folder, &l.name, options, &dictionaries)
    };
    let done: Vec<Result<Repaired>> = names.iter().map(one).collect();
    done.into_iter().try_fold(Repaired::default(), |all, r| {
        r.map(|r| Repaired {
            retained: all.retained + r.retained,
            dropped: all.dropped + r.dropped,
        })
    })
}

/// Like [`repair`], for a name in a folder.
#[cfg(any(test, feature = "internals"))]
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    let given: Vec<Arc<[u8]>> = given_dictionary(options).into_iter().collect();
    repair_with(folder, name, options, &given)
}

/// Returns the stored form of the dictionary in the options, if it can have one.
fn given_dictionary(options: &Options) -> Option<Arc<[u8]>> {
    dictionary::to_frame(options.given_bytes(Opt::Dictionary)?).ok()
}

/// Returns the different stored forms of the dictionary in the options and of those in the files
/// that are intact. A file that cannot be read has none.
fn intact_dictionaries(names: &[OsString], options: &Options) -> Vec<Arc<[u8]>> {
    let of_file = |name: &OsString| {
        let l = locate::locate(name).ok()?;
        let file = l.folder.open(&l.name, Access::Read).ok()?;
        let (size, memory_limit) = (file.size().ok()?, options.memory_limit());
        let found = dictionary::find(&*file, size, None, memory_limit).ok()??;
        dictionary::to_frame(&found.bytes)
            .ok()
            .filter(|_| found.is_intact)
    };
    let mut all: Vec<Arc<[u8]>> = given_dictionary(options).into_iter().collect();
    for form in names.iter().filter_map(of_file) {
        if all.len() < MAX_DICTIONARIES && !all.contains(&form) {
            all.push(form);
        }
    }
    all
}

fn repair_with(
    folder: &Arc<dyn Folder>,
    name: &OsStr,
    options: &Options,
    dictionaries: &[Arc<[u8]>],
) -> Result<Repaired> {
    options.only("holdall_repair", REPAIR_OPTIONS)?;
    folder.writable()?;
    let container = container(folder, name);
    let (locks, durable) = (
        options.get(Opt::Lock, 1) == 1,
        options.get(Opt::Durability, 1) == 1,
    );
    let _sets = journal::lock_sets(&container, locks, durable)?;
    let _lock = container.lock(locks)?;
    for prefix in BESIDE {
        folder.check_owner(&container.name(prefix), name)?;
    }
    let by = options.get(Opt::Codec, CODEC_BY_NAME);
    let codec = Codec::choose(by, name.as_bytes())?;
    let r = Repair {
        folder,
        limits_name: container.name(LIMITS_PREFIX),
        checksums_name: container.name(CHECKSUMS_PREFIX),
        container,
        decoder: Decoder::new(codec, options.given_bytes(Opt::Dictionary))?,
        memory_limit: options.memory_limit(),
        durable,
        take_frames: options.get(Opt::SkipDamaged, 0) == 1,
        dictionaries,
    };
    journal::recover_and_clean(&r.container, r.durable)?;
    if is_codec_unspecified(by, name.as_bytes()) && r.checksums()?.is_none() {
        let records = folder.open(name, Access::Read)?;
        offset_check::refuse_unexpected_frames(&*records, records.size()?)?;
    }
    let is_separate = options.get(Opt::BagLimits, 0) == 1;
    let done = if is_separate {
        r.repair_separate()
    } else {
        r.tail()
    }?;
    r.restore_dictionary(is_separate)?;
    Ok(done)
}

impl Repair<'_> {
    fn sync(&self, f: &dyn File) -> Result<()> {
        if self.durable { f.sync() } else { Ok(()) }
    }

    /// Repairs a file with its limits at the tail, or what an interrupted writer of such a file has
    /// left. `limits.NAME` and the tail may both contain limits; the match arms decide between
    /// them.
    fn tail(&self) -> Result<Repaired> {
        let records = self.folder.open(&self.container.main, Access::Write)?;
        let size = records.size()?;
        let tail = self.intact_tail(&records, size)?;
        let separate_limits = self.separate_limits(&*records, size)?;
        match (tail, separate_limits) {
            (Some(tail), None) => Ok(Repaired {
                retained: tail.count,
                dropped: 0,
            }),
            // The writer was interrupted after it had copied its limits.
            (Some(tail), Some((separate_limits, _)))
                if tail.end == separate_limits.end && tail.count == separate_limits.count =>
            {
                self.remove_limits()?;
                Ok(Repaired {
                    retained: tail.count,
                    dropped: 0,
                })
            }
            // According to limits.NAME all bytes are records; the last ones look like limits by
            // chance.
            (Some(_), Some((separate_limits, limits)))
                if self.raw() && separate_limits.end == size =>
            {
                self.finish_close(&*records, &*limits, separate_limits)
            }
            (Some(tail), Some(_)) => Ok(Repaired {
                retained: tail.count,
                dropped: 0,
            }),
            (None, separate_limits) => match (self.provable_end(&*records, size)?, separate_limits)
            {
                // All limits but the last match, so limits.NAME belongs to another state.
                (Some(end), _) => self.repair_last_limit(&*records, end, size),
                (None, Some((separate_limits, limits))) => {
                    self.finish_close(&*records, &*limits, separate_limits)
                }
                (None, None) => self.rebuild_from_frames(&*records, size),
            },
        }
    }

    fn raw(&self) -> bool {
        self.decoder.codec() == Codec::None
    }

    /// Makes the intact frames at the beginning of the file the records.
    fn rebuild_from_frames(&self, records: &dyn File, size: u64) -> Result<Repaired> {
        let limits = if self.raw() {
            Vec::new()
        } else {
            offset_check::frames_from_the_beginning(records, size, self.memory_limit)?
        };
        let (count, Some(&end)) = (limits.len(), limits.last()) else {
            return Err(self.unrepairable(records));
        };
        if !self.take_frames {
            let mut e = self.unrepairable(records);
            e.message.push_str(&format!("; {count} intact zstd frames from its beginning on can become its records: HOLDALL_OPT_SKIP_DAMAGED 1"));
            return Err(e);
        }
        self.save_rest(records, end, size)?;
        let bytes: Vec<u8> = limits.iter().flat_map(|l| l.to_le_bytes()).collect();
        let change = Change {
            name: self.container.main.clone(),
            file: Some(records),
            overwritten: vec![end..u64::MAX],
            lengths: end..=end + bytes.len() as u64,
            samples: vec![Sample {
                at: end,
                bytes: bytes.iter().copied().take(SAMPLE_BYTES).collect(),
            }],
        };
        self.change(&[change], || {
            records.set_size(end)?;
            records.write_at(end, &bytes)?;
            self.sync(records)
        })?;
        // The bytes after the frames were at least the limits or a part of a record.
        Ok(Repaired {
            retained: count as u64,
            dropped: u64::from(end < size),
        })
    }

    /// Copies the bytes after the last intact frame to a separate file.
    fn save_rest(&self, records: &dyn File, end: u64, size: u64) -> Result<()> {
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

    /// Returns a name that no earlier repair, even an interrupted one, has used.
    fn free_name(&self) -> Result<OsString> {
        for number in 1..=MAX_DAMAGED_FILES {
            let mut name = self.container.main.clone();
            name.push(if number == 1 {
                DAMAGED_SUFFIX.to_owned()
            } else {
                format!("{DAMAGED_SUFFIX}-{number}")
            });
            if !self.folder.exists(&name)? {
                return Ok(name);
            }
        }
        Err(fail!(
            Exists,
            "{}: {MAX_DAMAGED_FILES} files {DAMAGED_SUFFIX} of earlier repairs exist beside it; remove them",
            self.folder.show(&self.container.main)
        ))
    }

    fn unrepairable(&self, file: &dyn File) -> Error {
        let mut e = fail!(
            Format,
            "{}: its limits are damaged, and nothing proves their original values (no {} matches it): nothing was changed",
            file.name(),
            self.folder.show(&self.limits_name)
        );
        if self.raw() && matches!(self.checksums(), Ok(Some(_))) {
            e.message.push_str(&format!(
                "; or {} is damaged or belongs to another state: without that file the records are read unchecked",
                self.folder.show(&self.checksums_name)
            ));
        }
        e
    }

    /// Returns the limits at the tail, unless frames or checksums contradict them.
    fn intact_tail(&self, records: &Arc<dyn File>, size: u64) -> Result<Option<IntactLimits>> {
        let tail = match Tail::read(records, size) {
            Ok(tail) => tail,
            Err(e) if e.status == Status::Format => return Ok(None),
            Err(e) => return Err(e),
        };
        let intact = IntactLimits {
            count: tail.limits.count(),
            end: tail.end,
        };
        let fits = if self.raw() {
            self.checksums()?
                .is_none_or(|s| s.count == Some(intact.count))
        } else {
            let (decoder, memory_limit) = (&self.decoder, self.memory_limit);
            offset_check::last_limit(&**records, &tail, size, decoder, memory_limit).is_ok()
        };
        Ok(fits.then_some(intact))
    }

    /// Returns the end of the records, if frames or checksums prove it.
    fn provable_end(&self, records: &dyn File, size: u64) -> Result<Option<u64>> {
        if !self.raw() {
            return offset_check::find_end(records, size, &self.decoder, self.memory_limit);
        }
        let Some(StoredChecksums {
            file,
            count: Some(count),
        }) = self.checksums()?
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
        let proved = offset_check::checksums_fit(records, &*file, end, count, self.memory_limit)?;
        Ok(proved.then_some(end))
    }

    /// Opens the checksums beside an uncompressed bag.
    fn checksums(&self) -> Result<Option<StoredChecksums>> {
        let file = match self.folder.open(&self.checksums_name, Access::WriteBeside) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let size = file.size()?;
        Ok(Some(StoredChecksums {
            file,
            count: size
                .is_multiple_of(CHECKSUM_SIZE)
                .then_some(size / CHECKSUM_SIZE),
        }))
    }

    /// Returns the limits in `limits.NAME`, if they can belong to this file.
    fn separate_limits(
        &self,
        records: &dyn File,
        size: u64,
    ) -> Result<Option<(IntactLimits, Arc<dyn File>)>> {
        let limits = match self.folder.open(&self.limits_name, Access::WriteBeside) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let Some(intact) = intact_limits(&*limits, size)? else {
            return Ok(None);
        };
        // An empty list of limits proves nothing about existing records: their limits may have been
        // lost in a buffer.
        if intact.count == 0 && size > 0 {
            return Ok(None);
        }
        let bounds = Limits::on_disk(limits.clone(), 0, intact.count, false)
            .bounds(intact.count.saturating_sub(1), intact.count.min(1))?;
        let last = *bounds.at(0)?;
        let fits = self.raw() || offset_check::is_all_frames(records, last, intact.end);
        Ok(fits.then_some((intact, limits)))
    }

    /// Returns the number of records after the last limit: frames, intact or not. The number of
    /// uncompressed records is unknown and is counted as one.
    fn records_after(&self, records: &dyn File, end: u64) -> Result<u64> {
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

    /// Overwrites the last limit, which the frames or checksums contradict.
    fn repair_last_limit(&self, records: &dyn File, end: u64, size: u64) -> Result<Repaired> {
        self.overwrite(records, size, size - LIMIT, &end.to_le_bytes())?;
        Ok(Repaired {
            retained: (size - end) / LIMIT,
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

    /// Restores a damaged stored dictionary from an intact copy. The limits are intact.
    fn restore_dictionary(&self, is_separate: bool) -> Result<()> {
        if self.raw() || self.dictionaries.is_empty() {
            return Ok(());
        }
        let records = self.folder.open(&self.container.main, Access::Write)?;
        let size = records.size()?;
        let limits = if is_separate {
            let limits = self.folder.open(&self.limits_name, Access::Read)?;
            let count = limits.size()? / LIMIT;
            Limits::on_disk(limits, 0, count, false)
        } else {
            Tail::read(&records, size)?.limits
        };
        if limits.count() == 0 {
            return Ok(());
        }
        let first_end = limits.bound(1)?.min(size);
        for form in self.dictionaries {
            let damaged = dictionary::find_damaged(&*records, first_end, form)?;
            if let Some((at, bytes)) = damaged {
                return self.overwrite(&*records, size, at, bytes);
            }
        }
        Ok(())
    }

    /// Overwrites bytes of a file, whose size does not change.
    fn overwrite(&self, file: &dyn File, size: u64, at: u64, bytes: &[u8]) -> Result<()> {
        let change = Change {
            name: self.container.main.clone(),
            file: Some(file),
            overwritten: vec![at..at + bytes.len() as u64],
            lengths: size..=size,
            samples: vec![Sample {
                at,
                bytes: bytes.iter().copied().take(SAMPLE_BYTES).collect(),
            }],
        };
        self.change(&[change], || {
            file.write_at(at, bytes)?;
            self.sync(file)
        })
    }

    /// Completes the close of a writer that collects limits in a second file.
    fn finish_close(
        &self,
        records: &dyn File,
        limits: &dyn File,
        intact: IntactLimits,
    ) -> Result<Repaired> {
        let all = limits.size()?.div_ceil(LIMIT);
        let after = self.records_after(records, intact.end)?;
        // The same change truncates limits.NAME to the intact limits, so that the two files agree
        // if the repair is interrupted before limits.NAME is removed.
        let bytes = intact.count * LIMIT;
        let mut new = vec![0; SAMPLE_BYTES.min(bytes as usize)];
        limits.read_exact_at(0, &mut new)?;
        let changes = [
            Change {
                name: self.container.main.clone(),
                file: Some(records),
                overwritten: vec![intact.end..u64::MAX],
                lengths: intact.end + bytes..=intact.end + bytes,
                samples: vec![Sample {
                    at: intact.end,
                    bytes: new,
                }],
            },
            cut(&self.limits_name, limits, bytes),
        ];
        self.change(&changes, || {
            limits.set_size(intact.count * LIMIT)?;
            self.sync(limits)?;
            records.set_size(intact.end + intact.count * LIMIT)?;
            let mut done = 0;
            let mut piece = alloc::zeroed(PIECE.min(intact.count * LIMIT) as usize)?;
            while done < intact.count * LIMIT {
                let n = (intact.count * LIMIT - done).min(PIECE) as usize;
                let part = piece.at_mut(..n)?;
                limits.read_exact_at(done, part)?;
                records.write_at(intact.end + done, part)?;
                done += n as u64;
            }
            self.sync(records)
        })?;
        // The Bagz writer does not write checksums. If their number does not match, they belong to
        // another state.
        if self.raw()
            && self
                .checksums()?
                .is_some_and(|s| s.count != Some(intact.count))
        {
            self.folder.remove(&self.checksums_name)?;
        }
        self.remove_limits()?;
        Ok(Repaired {
            retained: intact.count,
            dropped: (all - intact.count).max(after),
        })
    }

    /// Repairs separate limits: retains the intact ones and as many checksums.
    fn repair_separate(&self) -> Result<Repaired> {
        let size = self
            .folder
            .open(&self.container.main, Access::Read)?
            .size()?;
        let limits = self.folder.open(&self.limits_name, Access::WriteBeside)?;
        let bytes = limits.size()?;
        let Some(intact) = intact_limits(&*limits, size)? else {
            return Err(fail!(
                Format,
                "{}: a limit between intact ones is damaged, and nothing proves its original value: nothing was changed; the records after it can be read",
                limits.name()
            ));
        };
        let (retained, dropped) = (intact.count, bytes.div_ceil(LIMIT) - intact.count);
        let checksums = if self.raw() { self.checksums()? } else { None };
        let fitting = |s: &StoredChecksums| s.file.size().map(|n| n >= retained * CHECKSUM_SIZE);
        if !checksums.as_ref().map_or(Ok(true), fitting)? {
            return Err(fail!(
                Format,
                "{}: it has fewer checksums than there are limits: one of the two files is damaged; nothing was changed",
                self.folder.show(&self.checksums_name)
            ));
        }
        let mut changes = vec![cut(&self.limits_name, &*limits, retained * LIMIT)];
        if let Some(s) = &checksums {
            changes.push(cut(
                &self.checksums_name,
                &*s.file,
                retained * CHECKSUM_SIZE,
            ));
        }
        let torn_checksums = checksums
            .as_ref()
            .is_some_and(|s| s.count != Some(retained));
        if dropped > 0 || torn_checksums {
            self.change(&changes, || {
                limits.set_size(retained * LIMIT)?;
                self.sync(&*limits)?;
                let Some(s) = &checksums else { return Ok(()) };
                s.file.set_size(retained * CHECKSUM_SIZE)?;
                self.sync(&*s.file)
            })?;
        }
        Ok(Repaired { retained, dropped })
    }
}

/// Returns the change of truncating a file to `to` bytes.
fn cut<'a>(name: &OsStr, file: &'a dyn File, to: u64) -> Change<'a> {
    Change {
        name: name.into(),
        file: Some(file),
        overwritten: vec![to..u64::MAX],
        lengths: to..=to,
        samples: Vec::new(),
    }
}

/// The checksums beside a bag. `count` is `None` if the file does not contain a whole number of
/// them.
struct StoredChecksums {
    file: Arc<dyn File>,
    count: Option<u64>,
}

/// Limits that are consistent with their records.
#[derive(Clone, Copy)]
struct IntactLimits {
    count: u64,
    end: u64,
}

/// Returns the leading limits that ascend and do not exceed the records, if all following ones
/// exceed the records: those describe records that were lost. Returns `None` if a limit among
/// intact ones is damaged.
fn intact_limits(limits: &dyn File, records: u64) -> Result<Option<IntactLimits>> {
    let total = limits.size()? / LIMIT * LIMIT;
    let mut intact = IntactLimits { count: 0, end: 0 };
    let mut torn = false;
    let mut buf = alloc::zeroed(PIECE.min(total) as usize)?;
    let mut at = 0;
    while at < total {
        let part = buf.at_mut(..(total - at).min(PIECE) as usize)?;
        limits.read_exact_at(at, part)?;
        for w in part.as_chunks::<8>().0 {
            let v = u64::from_le_bytes(*w);
            if v < intact.end || (torn && v <= records) {
                return Ok(None);
            }
            torn |= v > records;
            if !torn {
                intact = IntactLimits {
                    count: intact.count + 1,
                    end: v,
                };
            }
        }
        at += part.len() as u64;
    }
    Ok(Some(intact))
}
