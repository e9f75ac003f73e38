//! One file of a bag (or its pair, where limits have a file of their own): where each record is,
//! its stored bytes, its checksum.
//!
//! Format, as Bagz writes it: records end to end from byte 0 on, then one limit a record. At the
//! tail, the last limit is also where the limits begin. A file of 0 bytes holds no record. An empty
//! record takes no byte, whatever the codec.
#![forbid(unsafe_code)]

use super::codec::{Codec, Decoder};
use super::interleave::{MARK, TURNS_PREFIX, Turn};
use super::limits::{Around, LIMIT, Limits};
use super::offset_check;
use super::spec::Set;
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{Container, Snapshot};
use crate::io::{Access, File, Folder};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::sync::Arc;

/// Name of the file with the limits of `name`.
pub const LIMITS_PREFIX: &str = "limits.";
/// Name of the file with the checksums of `name`.
pub const SUMS_PREFIX: &str = "checksums.";
/// The files of a bag: records, limits, checksums, the mark of a set.
pub const PREFIXES: &[&str] = &["", LIMITS_PREFIX, SUMS_PREFIX, TURNS_PREFIX];
/// Bytes of one checksum.
pub const SUM: u64 = 4;
/// Scratch memory that a thread keeps.
const KEEP: usize = 1 << 20;

/// How a shard is to be opened.
#[derive(Clone, Copy)]
pub struct How {
    /// Read or mapped.
    pub access: Access,
    /// Limits in a file of their own.
    pub separate: bool,
    /// Limits (and checksums) into memory.
    pub cache: bool,
    /// Check the checksums of uncompressed records.
    pub verify: bool,
    /// Look for the mark of a set beside it, if it is one of several that are not compressed.
    pub turns: bool,
    /// Neither name nor option says whether records are compressed.
    pub unsaid: bool,
    /// What the file may make us allocate.
    pub memory_limit: u64,
}

/// The files of the bag of this name.
pub fn container(folder: &Arc<dyn Folder>, name: &OsStr) -> Container {
    Container {
        within: Set::of(name).iter().map(|s| s.container(folder)).collect(),
        ..Container::new(folder, name, PREFIXES)
    }
}

/// One file of a bag.
pub struct Shard {
    records: Arc<dyn File>,
    /// No record may end beyond.
    end: u64,
    limits: Limits,
    sums: Option<Sums>,
    /// What `turns.NAME` says.
    turn: Option<Turn>,
    decoder: Arc<Decoder>,
    bytes: u64,
    memory_limit: u64,
}

enum Sums {
    Disk(Arc<dyn File>),
    Memory(Vec<u8>),
}

impl Shard {
    /// Opens the last commit.
    pub fn open(c: &Container, decoder: &Arc<Decoder>, how: How) -> Result<Shard> {
        Snapshot::read(c, |snap| Shard::open_seen(snap, c, decoder, how))
    }

    /// Opens a container as it is seen.
    pub fn open_seen(
        snap: &Snapshot<'_>,
        c: &Container,
        decoder: &Arc<Decoder>,
        how: How,
    ) -> Result<Shard> {
        let (records, limits, end, mut bytes);
        if how.separate {
            // a writer lets the records grow at any time, and before their limits: what counts is
            // in those, and the length is asked for after them
            records = snap.open_growing(&c.main, how.access)?;
            let size;
            (limits, size) = Shard::separate(snap, c, how.access)?;
            end = records.size()?;
            bytes = end.saturating_add(size);
        } else {
            records = snap.open(&c.main, how.access)?;
            bytes = records.size()?;
            (limits, end) = Shard::tail(&records, bytes).map_err(|e| hint(e, c))?;
            if decoder.codec() == Codec::Zstd {
                offset_check::last_limit(
                    &*records,
                    &limits,
                    end,
                    bytes,
                    decoder,
                    how.memory_limit,
                )?;
            }
        }
        let mut sums = None;
        if decoder.codec() == Codec::None {
            let (found, size) = Sums::open(snap, c, limits.count(), how)?;
            sums = found;
            bytes = bytes.saturating_add(size);
            // checksums beside it are those of records as they are
            if how.unsaid && size == 0 {
                offset_check::refuse_unsaid_frames(&*records, end)?;
            }
        }
        let turn = if how.turns && decoder.codec() == Codec::None {
            Shard::mark_beside(snap, c)?
        } else {
            None
        };
        let limits = if how.cache {
            limits.into_memory(how.memory_limit)?
        } else {
            limits
        };
        Ok(Shard {
            records,
            end,
            limits,
            sums,
            turn,
            decoder: decoder.clone(),
            bytes,
            memory_limit: how.memory_limit,
        })
    }

    /// Limits at the tail of a file, and where its records end.
    pub fn tail(file: &Arc<dyn File>, size: u64) -> Result<(Limits, u64)> {
        let name = file.name();
        if size == 0 {
            return Ok((Limits::on_disk(file.clone(), 0, 0, true), 0));
        }
        let Some(last_at) = size.checked_sub(LIMIT) else {
            return Err(fail!(
                Format,
                "{name}: {size} bytes are no bag: one limit alone takes 8"
            ));
        };
        let mut word = [0; 8];
        file.read_kept(last_at, &mut word)?;
        let end = u64::from_le_bytes(word);
        if end > last_at {
            return Err(fail!(
                Format,
                "{name}: its last 8 bytes should say where its records end; they say {end}, the file has {size} bytes"
            ));
        }
        if !(size - end).is_multiple_of(LIMIT) {
            return Err(fail!(
                Format,
                "{name}: its last limit leaves {} bytes for limits of 8 bytes each: it was cut short, or is no bag",
                size - end
            ));
        }
        Ok((
            Limits::on_disk(file.clone(), end, (size - end) / LIMIT, true),
            end,
        ))
    }

    fn separate(snap: &Snapshot<'_>, c: &Container, access: Access) -> Result<(Limits, u64)> {
        let file = snap.open(&c.name(LIMITS_PREFIX), access)?;
        let size = file.size()?;
        if !size.is_multiple_of(LIMIT) {
            return Err(fail!(
                Format,
                "{}: {size} bytes are not a whole number of limits of 8 bytes (repair keeps the whole ones)",
                file.name()
            ));
        }
        Ok((Limits::on_disk(file, 0, size / LIMIT, false), size))
    }

    fn mark_beside(snap: &Snapshot<'_>, c: &Container) -> Result<Option<Turn>> {
        let name = c.name(TURNS_PREFIX);
        let file = match snap.open(&name, Access::Read) {
            Ok(file) if file.size()? == MARK as u64 => file,
            Err(e) if e.status != Status::Missing => return Err(e),
            _ => return Ok(None),
        };
        // The mark decides in which order records are read, as only those may who may write them.
        if c.folder.exists(&name)? && c.folder.open_trusted(&name, &c.judged_by).is_err() {
            return Err(fail!(
                Format,
                "{}: it belongs to a user who may not write {}, and would change the order of the records; remove it, or say with HOLDALL_OPT_BAG_SHARDS in which order they are read",
                file.name(),
                c.folder.show(&c.judged_by)
            ));
        }
        Shard::mark_at(&*file, 0)
    }

    fn mark_at(file: &dyn File, at: u64) -> Result<Option<Turn>> {
        let mut mark = [0; MARK];
        file.read_exact_at(at, &mut mark)?;
        Ok(Turn::read(&mark))
    }

    /// The mark of a set in its first record.
    pub fn turn(&self) -> Result<Option<Turn>> {
        if self.decoder.codec() == Codec::None || self.count() == 0 {
            return Ok(None);
        }
        let (from, to) = self.extent(0)?;
        match to.checked_sub(MARK as u64).filter(|&at| at >= from) {
            Some(at) => Shard::mark_at(self.file(), at),
            None => Ok(None),
        }
    }
    /// The mark of a set beside it.
    pub fn turn_beside(&self) -> Option<Turn> {
        self.turn
    }

    /// Records in it.
    pub fn count(&self) -> u64 {
        self.limits.count()
    }
    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
    /// The file with the records.
    pub fn file(&self) -> &dyn File {
        &*self.records
    }
    /// Where the records end.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// What decodes them.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }
    /// Bytes on disk, of all its files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Does it live behind functions of the caller's?
    pub fn is_foreign(&self) -> bool {
        self.records.is_foreign()
    }
    /// Does it have a checksum file?
    pub fn has_sums(&self) -> bool {
        self.sums.is_some()
    }

    /// Does the first record that has a frame carry a checksum in it? Looks at a few records.
    pub fn has_frame_checksum(&self) -> Result<bool> {
        if self.decoder.codec() == Codec::None {
            return Ok(false);
        }
        let bounds = self.limits.bounds(0, self.count().min(4096))?;
        self.limits.still()?;
        let Some(at) = bounds.windows(2).find_map(|w| match w {
            &[a, b] if a < b => Some(a),
            _ => None,
        }) else {
            return Ok(false);
        };
        let source = super::frame::FileSource::new(self.file(), self.end);
        Ok(super::frame::frame(&source, at).is_ok_and(|f| f.checksum))
    }

    /// Words for a failure at one record.
    pub fn at_record(&self, i: u64, mut e: Error) -> Error {
        let name = self.records.name();
        // who reads the file may have named it
        if let Some(words) = e
            .message
            .strip_prefix(name)
            .and_then(|m| m.strip_prefix(": "))
        {
            e.message = words.into();
        }
        e.within(format_args!("{name}: record {i}"))
    }

    /// Do the limits around a record not rise, so that one of its own may be another record's?
    /// Where frames or checksums show which, they are asked instead.
    #[inline]
    pub fn doubtful(&self, a: Around) -> bool {
        let protected = self.sums.is_some() || self.decoder.codec() == Codec::Zstd;
        // a limit beyond the end accuses nobody but itself
        let before = a.before > a.from && a.before <= self.end;
        !protected && (before || a.to > a.after)
    }

    /// Refuses limits that no record can have.
    #[inline]
    pub fn check_extent(&self, a: Around) -> Result<()> {
        if a.from <= a.to && a.to <= self.end && !self.doubtful(a) {
            Ok(())
        } else {
            Err(self.impossible(a))
        }
    }

    #[cold]
    fn impossible(&self, a: Around) -> Error {
        if a.from > a.to || a.to > self.end {
            return fail!(
                Format,
                "its limits say bytes {} to {}, the records end at {}",
                a.from,
                a.to,
                self.end
            );
        }
        fail!(
            Format,
            "the limits around it do not rise: {}, {}, {}, {}",
            a.before,
            a.from,
            a.to,
            a.after
        )
    }

    /// Where a record is.
    #[inline]
    pub fn extent(&self, i: u64) -> Result<(u64, u64)> {
        let (around, sure) = self.limits.around(i)?;
        // the record comes nearer while the system is asked whether its limits are still true
        self.records.prefetch(around.from, around.to);
        if !sure {
            self.limits.still()?;
        }
        self.check_extent(around)?;
        Ok((around.from, around.to))
    }

    /// Calls `f` with the stored bytes of an extent.
    pub fn stored<R>(
        &self,
        (from, to): (u64, u64),
        f: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        thread_local!(static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        if let Some(b) = self.mapped((from, to)) {
            return f(b);
        }
        let n = alloc::allow(to - from, self.memory_limit, "the stored bytes of a record")?;
        let mut scratch = SCRATCH.with(|s| {
            s.try_borrow_mut()
                .map(|mut s| std::mem::take(&mut *s))
                .unwrap_or_default()
        });
        if scratch.len() < n {
            scratch = alloc::zeroed(n.next_power_of_two())?;
        }
        let bytes = scratch.get_mut(..n).unwrap_or_default();
        let result = self
            .records
            .read_exact_at(from, bytes)
            .and_then(|()| f(bytes));
        if scratch.len() <= KEEP {
            SCRATCH.with(|s| _ = s.try_borrow_mut().map(|mut s| *s = scratch));
        }
        result
    }

    /// The stored bytes of an extent, where the file is in memory that nobody changes.
    #[inline]
    pub fn mapped(&self, (from, to): (u64, u64)) -> Option<&[u8]> {
        self.records
            .bytes()?
            .get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    /// Record `i` where it lies, if it lies as it is in memory that nobody changes; its checksum
    /// was looked at.
    pub fn in_memory(&self, i: u64) -> Result<Option<&[u8]>> {
        if self.decoder.codec() != Codec::None || self.records.bytes().is_none() {
            return Ok(None);
        }
        let record = self.extent(i).map(|extent| self.mapped(extent));
        let checked = record.and_then(|record| match (record, &self.sums) {
            (Some(record), Some(sums)) => check_sum(sums.get(i)?, record).map(|()| Some(record)),
            (record, _) => Ok(record),
        });
        checked.map_err(|e| self.at_record(i, e))
    }

    /// The checksums of `n` records, where there are any.
    pub fn sums(&self, first: u64, n: usize) -> Result<Vec<u32>> {
        self.sums
            .as_ref()
            .map_or(Ok(Vec::new()), |s| s.range(first, n))
    }

    /// Where in which files limits and checksums of records are that are read at need.
    pub fn papers(&self, first: u64, last: u64) -> impl Iterator<Item = (&dyn File, u64, u64)> {
        let sums = match &self.sums {
            Some(Sums::Disk(file)) => Some((
                &**file,
                first.saturating_mul(SUM),
                last.saturating_add(1).saturating_mul(SUM),
            )),
            _ => None,
        };
        self.limits.span(first, last).into_iter().chain(sums)
    }

    /// Reads one record; returns its size. `dst` is filled where it is given and large enough.
    pub fn read(&self, i: u64, dst: Option<&mut [u8]>) -> Result<usize> {
        self.read_inner(i, dst).map_err(|e| {
            if e.status == Status::Buffer {
                e
            } else {
                self.at_record(i, e)
            }
        })
    }

    fn read_inner(&self, i: u64, dst: Option<&mut [u8]>) -> Result<usize> {
        let extent = self.extent(i)?;
        let stored_size = alloc::allow(extent.1 - extent.0, u64::MAX, "a record")?;
        match self.decoder.codec() {
            Codec::None => {
                let Some(dst) = fitting(dst, stored_size)? else {
                    return Ok(stored_size);
                };
                self.records.read_exact_at(extent.0, dst)?;
                if let Some(sums) = &self.sums {
                    check_sum(sums.get(i)?, dst)?;
                }
                Ok(stored_size)
            }
            Codec::Zstd if stored_size == 0 => {
                offset_check::neighbours(self, i, offset_check::Odd::Empty)?;
                Ok(0)
            }
            Codec::Zstd => self.stored(extent, |b| self.read_frames(i, b, dst)),
        }
    }

    fn read_frames(&self, i: u64, stored: &[u8], dst: Option<&mut [u8]>) -> Result<usize> {
        let s = self.decoder.survey(stored)?;
        if s.data_frames > 1 {
            offset_check::neighbours(self, i, offset_check::Odd::Several)?;
        }
        let Some(size) = s.content else {
            let all = self.decoder.decode_unknown(stored, &s, self.memory_limit)?;
            if let Some(dst) = fitting(dst, all.len())? {
                dst.copy_from_slice(&all);
            }
            return Ok(all.len());
        };
        let size = alloc::allow(size, u64::MAX, "a record")?;
        if let Some(dst) = fitting(dst, size)? {
            self.decoder.decode(stored, dst)?;
        }
        Ok(size)
    }
}

/// The part of the caller's buffer that a record of `n` bytes takes. A short buffer is an error
/// whose position is the size that is wanted.
#[inline]
fn fitting(dst: Option<&mut [u8]>, n: usize) -> Result<Option<&mut [u8]>> {
    let Some(dst) = dst else { return Ok(None) };
    let have = dst.len();
    match dst.get_mut(..n) {
        Some(d) => Ok(Some(d)),
        None => Err(too_short(n, have)),
    }
}

#[cold]
fn too_short(n: usize, have: usize) -> Error {
    fail!(Buffer, "the record has {n} bytes, the buffer has {have}").at(n as u64)
}

impl Sums {
    /// The checksums, if they are there and wanted, and how many bytes they have.
    fn open(
        snap: &Snapshot<'_>,
        c: &Container,
        count: u64,
        how: How,
    ) -> Result<(Option<Sums>, u64)> {
        let file = match snap.open(&c.name(SUMS_PREFIX), how.access) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok((None, 0)),
            Err(e) => return Err(e),
        };
        let size = file.size()?;
        if !how.verify {
            return Ok((None, size));
        }
        if size != count.saturating_mul(SUM) {
            return Err(fail!(
                Checksum,
                "{}: it has {size} bytes, checksums of {count} records take {}: the bag is damaged, or another program has changed it (HOLDALL_OPT_VERIFY 0 reads it unchecked)",
                file.name(),
                count.saturating_mul(SUM)
            ));
        }
        if !how.cache {
            return Ok((Some(Sums::Disk(file)), size));
        }
        let mut all = alloc::zeroed(alloc::allow(
            size,
            how.memory_limit,
            "the checksums of all records",
        )?)?;
        file.read_exact_at(0, &mut all)?;
        Ok((Some(Sums::Memory(all)), size))
    }

    fn get(&self, i: u64) -> Result<u32> {
        let mut word = [0; SUM as usize];
        self.fetch(i, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn range(&self, first: u64, n: usize) -> Result<Vec<u32>> {
        let mut bytes = alloc::zeroed(n.saturating_mul(SUM as usize))?;
        self.fetch(first, &mut bytes)?;
        Ok(bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|w| u32::from_le_bytes(*w))
            .collect())
    }

    fn fetch(&self, first: u64, dst: &mut [u8]) -> Result<()> {
        let at = first.saturating_mul(SUM);
        let (all, file) = match self {
            Sums::Memory(all) => (Some(&all[..]), None),
            Sums::Disk(file) => (file.bytes(), Some(file)),
        };
        match (
            all.and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..dst.len())),
            file,
        ) {
            (Some(b), _) => dst.copy_from_slice(b),
            (None, Some(file)) => file.read_kept(at, dst)?,
            (None, None) => return Err(fail!(Range, "no checksum {first}")),
        }
        Ok(())
    }
}

/// Refuses a record that its checksum does not fit.
pub fn check_sum(want: u32, record: &[u8]) -> Result<()> {
    let got = crc32(record);
    if want == got {
        return Ok(());
    }
    Err(fail!(
        Checksum,
        "its CRC-32 is {got:#010x}, {SUMS_PREFIX}* has {want:#010x}"
    ))
}

/// Tells of the limits file that lies beside a file that has none at its tail.
fn hint(mut e: Error, c: &Container) -> Error {
    let limits = c.name(LIMITS_PREFIX);
    if e.status == Status::Format && c.folder.exists(&limits).unwrap_or(false) {
        e.message.push_str(&format!(
            "; {} lies beside it: open with HOLDALL_OPT_BAG_LIMITS 1, or repair if a writer of a single file was cut off",
            c.folder.show(&limits)
        ));
    }
    e
}
