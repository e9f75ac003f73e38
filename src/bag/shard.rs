//! One file of a bag, or the pair of files if the limits are separate: finds, reads and verifies
//! records.
//!
//! Format, as written by Bagz: records without gaps from byte 0 on, then one limit per record. The
//! last limit is therefore also the offset of the limits, if they are at the tail. A file of 0
//! bytes contains no records. An empty record takes 0 bytes with either codec.
#![forbid(unsafe_code)]

use super::codec::{Codec, Decoder};
use super::dictionary::{self, Dictionary};
use super::frame::{self, Survey};
use super::interleave::{MARK_SIZE, Mark, TURNS_PREFIX};
use super::limits::{LIMIT, Limits, RecordBounds, Tail};
use super::offset_check;
use super::spec::Set;
use crate::alloc::{self, Bytes, Scratch};
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Container, Snapshot};
use crate::io::{Access, File, Folder};
use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

/// Prefix of the name of the limits file.
pub const LIMITS_PREFIX: &str = "limits.";
/// Prefix of the name of the checksums file.
pub const CHECKSUMS_PREFIX: &str = "checksums.";
/// Prefixes of the files of a bag: records, limits, checksums, interleave mark.
pub const PREFIXES: &[&str] = &["", LIMITS_PREFIX, CHECKSUMS_PREFIX, TURNS_PREFIX];
/// The files that opening a bag without a name looks for.
pub const LOOKED_FOR: &[&str] = &[
    "",
    journal::SUFFIX,
    LIMITS_PREFIX,
    CHECKSUMS_PREFIX,
    TURNS_PREFIX,
];
/// Prefixes of the files beside the records.
pub const BESIDE: &[&str] = &[LIMITS_PREFIX, CHECKSUMS_PREFIX, TURNS_PREFIX];
/// Size of a checksum in bytes.
pub const CHECKSUM_SIZE: u64 = 4;

/// Options for opening a shard.
#[derive(Clone, Copy)]
pub struct ShardOptions {
    /// Whether the file is read or mapped.
    pub access: Access,
    /// Whether the limits are in a separate file.
    pub separate: bool,
    /// Whether limits (and checksums) are read into memory.
    pub cache: bool,
    /// Whether the checksums of uncompressed records are verified.
    pub verify: bool,
    /// Whether to read the mark of an uncompressed set from its file.
    pub find_mark: bool,
    /// Whether neither name nor option determines the codec.
    pub codec_unspecified: bool,
    /// Maximum size of an allocation that the file can cause.
    pub memory_limit: u64,
}

/// Returns the container of the bag of this name.
pub fn container(folder: &Arc<dyn Folder>, name: &OsStr) -> Container {
    Container {
        sets: Set::of(name).iter().map(|s| s.container(folder)).collect(),
        ..Container::new(folder, name, PREFIXES)
    }
}

/// One file of a bag.
pub struct Shard {
    records: Arc<dyn File>,
    /// Maximum end offset of a record.
    end: u64,
    limits: Limits,
    checksums: Option<Checksums>,
    /// Size of the checksums file, even if checksums are not verified; 0 without one.
    checksums_size: u64,
    /// The mark in `turns.NAME`.
    mark: Option<Mark>,
    decoder: Arc<Decoder>,
    /// The dictionary that the file stores, when a record has needed it.
    dictionary: OnceLock<Option<Arc<Dictionary>>>,
    bytes: u64,
    memory_limit: u64,
}

enum Checksums {
    Disk(Arc<dyn File>),
    Memory(Vec<u8>),
}

impl Shard {
    /// Opens the last commit.
    pub fn open(c: &Container, decoder: &Arc<Decoder>, options: ShardOptions) -> Result<Shard> {
        Snapshot::read(c, |snap| Shard::open_snapshot(snap, c, decoder, options))
    }

    /// Opens a container through a snapshot.
    pub fn open_snapshot(
        snap: &Snapshot<'_>,
        c: &Container,
        decoder: &Arc<Decoder>,
        options: ShardOptions,
    ) -> Result<Shard> {
        let (records, limits, end, mut bytes);
        if options.separate {
            // A writer may extend the records at any time, before it writes their limits. The
            // limits determine the committed records, so the length of the records is read after
            // them.
            records = snap.open_growing(&c.main, options.access)?;
            let size;
            (limits, size) = Shard::separate(snap, c, options.access)?;
            end = records.size()?;
            bytes = end.saturating_add(size);
        } else {
            records = snap.open(&c.main, options.access)?;
            bytes = records.as_opened()?.size;
            let tail = Tail::read(&records, bytes).map_err(|e| hint(e, c))?;
            (limits, end) = Shard::at_tail(&*records, tail, bytes, decoder, options.memory_limit)?;
        }
        let (mut checksums, mut checksums_size) = (None, 0);
        if decoder.codec() == Codec::None {
            (checksums, checksums_size) = Checksums::open(snap, c, limits.count(), options)?;
            bytes = bytes.saturating_add(checksums_size);
            // A checksums file exists only beside uncompressed records.
            if options.codec_unspecified && checksums_size == 0 {
                offset_check::refuse_unexpected_frames(&*records, end)?;
            }
        }
        let mark = if options.find_mark && decoder.codec() == Codec::None {
            Shard::read_mark_file(snap, c)?
        } else {
            None
        };
        let limits = if options.cache {
            limits.into_memory(options.memory_limit)?
        } else {
            limits
        };
        Ok(Shard {
            records,
            end,
            limits,
            checksums,
            checksums_size,
            mark,
            decoder: decoder.clone(),
            dictionary: OnceLock::new(),
            bytes,
            memory_limit: options.memory_limit,
        })
    }

    /// Returns the limits at the tail of a file of `size` bytes and the end of the records, which for
    /// compressed ones are verified.
    fn at_tail(
        file: &dyn File,
        tail: Tail,
        size: u64,
        decoder: &Decoder,
        memory_limit: u64,
    ) -> Result<(Limits, u64)> {
        if decoder.codec() == Codec::None {
            return Ok((tail.limits, tail.end));
        }
        let end = offset_check::last_limit(file, &tail, size, decoder, memory_limit)?;
        let mut limits = tail.limits;
        if end < tail.end {
            limits.leave_out_room(end);
        }
        Ok((limits, end))
    }

    fn separate(snap: &Snapshot<'_>, c: &Container, access: Access) -> Result<(Limits, u64)> {
        let file = snap.open(&c.name(LIMITS_PREFIX), access)?;
        c.folder.check_owner(&c.name(LIMITS_PREFIX), &c.judged_by)?;
        let size = file.size()?;
        if !size.is_multiple_of(LIMIT) {
            return Err(fail!(
                Format,
                "{}: {size} bytes are not a whole number of limits of 8 bytes; repair retains the complete ones",
                file.name()
            ));
        }
        Ok((Limits::on_disk(file, 0, size / LIMIT, false), size))
    }

    fn read_mark_file(snap: &Snapshot<'_>, c: &Container) -> Result<Option<Mark>> {
        let name = c.name(TURNS_PREFIX);
        let file = match snap.open(&name, Access::Read) {
            Ok(file) => file,
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) => return Err(e),
        };
        c.folder.check_owner(&name, &c.judged_by)?;
        if file.size()? != MARK_SIZE as u64 {
            return Ok(None);
        }
        Shard::mark_at(&*file, 0)
    }

    fn mark_at(file: &dyn File, at: u64) -> Result<Option<Mark>> {
        let mut mark = [0; MARK_SIZE];
        file.read_exact_at(at, &mut mark)?;
        Ok(Mark::parse(&mark))
    }

    /// Returns the interleave mark after the first record of a compressed shard.
    pub fn mark(&self) -> Result<Option<Mark>> {
        if self.decoder.codec() == Codec::None || self.count() == 0 {
            return Ok(None);
        }
        let (from, to) = self.extent(0)?;
        match to.checked_sub(MARK_SIZE as u64).filter(|&at| at >= from) {
            Some(at) => Shard::mark_at(self.file(), at),
            None => Ok(None),
        }
    }
    /// Returns the interleave mark of an uncompressed set.
    pub fn mark_in_file(&self) -> Option<Mark> {
        self.mark
    }

    /// Returns the number of records.
    pub fn count(&self) -> u64 {
        self.limits.count()
    }
    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
    /// Returns the file of the records.
    pub fn file(&self) -> &dyn File {
        &*self.records
    }
    /// Returns the end offset of the records.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Returns the decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }
    /// Returns the size in bytes of all files of the shard.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns whether the file is accessed through functions of the caller.
    pub fn is_foreign(&self) -> bool {
        self.records.is_foreign()
    }
    /// Returns whether checksums are verified from a checksums file.
    pub fn has_checksums(&self) -> bool {
        self.checksums.is_some()
    }

    /// Returns an error if the content of this file, with its limits at the tail, does not show that
    /// it is a bag. A bag has a checksums file, or records that are not all empty and limits that
    /// ascend. Reads at most the first and the last `CHECKED` limits.
    pub fn check_recognizable(&self) -> Result<()> {
        const CHECKED: u64 = 8192;
        let (name, count) = (self.records.name(), self.count());
        if self.checksums_size > 0 {
            return Ok(());
        }
        if self.end == 0 {
            return Err(fail!(
                Format,
                "{name}: its last 8 bytes are zeros, as in a bag of empty records; without a checksums file it is one only if its name ends in .bag or .bagz, or if HOLDALL_OPT_CODEC is set"
            ));
        }
        let n = count.min(CHECKED);
        for first in [0, count - n] {
            let bounds = self.limits.bounds(first, n)?;
            self.limits.check_unchanged()?;
            if !bounds.is_sorted() || bounds.last().is_some_and(|&last| last > self.end) {
                return Err(fail!(
                    Format,
                    "{name}: its last 8 bytes say that limits begin at {}, but the numbers there are not the ends of records; set HOLDALL_OPT_CODEC if it is a damaged bag",
                    self.end
                ));
            }
        }
        Ok(())
    }

    /// Returns whether the first record with a frame has a checksum in it. Reads at most 4096
    /// limits.
    pub fn has_frame_checksum(&self) -> Result<bool> {
        if self.decoder.codec() == Codec::None {
            return Ok(false);
        }
        let bounds = self.limits.bounds(0, self.count().min(4096))?;
        self.limits.check_unchanged()?;
        let Some(at) = bounds.windows(2).find_map(|w| match w {
            &[a, b] if a < b => Some(a),
            _ => None,
        }) else {
            return Ok(false);
        };
        let source = frame::FileSource::new(self.file(), self.end);
        Ok(frame::frame(&source, at).is_ok_and(|f| f.checksum))
    }

    /// Adds the name of the file and the index of the record to the message of an error.
    pub fn at_record(&self, i: u64, mut e: Error) -> Error {
        let name = self.records.name();
        // The function that read the file may have added its name already.
        if let Some(message) = e
            .message
            .strip_prefix(name)
            .and_then(|m| m.strip_prefix(": "))
        {
            e.message = message.into();
        }
        e.within(format_args!("{name}: record {i}"))
    }

    /// Returns whether the limits around a record do not ascend, so that its own limits may be
    /// wrong. With checksums or frames this is not needed: they detect the wrong record.
    #[inline]
    pub fn is_suspect(&self, a: RecordBounds) -> bool {
        let protected = self.checksums.is_some() || self.decoder.codec() == Codec::Zstd;
        // A limit beyond the end does not make its neighbours suspect.
        let before = a.before > a.from && a.before <= self.end;
        !protected && (before || a.to > a.after)
    }

    /// Returns an error if no record can have these limits.
    #[inline]
    pub fn check_extent(&self, a: RecordBounds) -> Result<()> {
        if a.from <= a.to && a.to <= self.end && !self.is_suspect(a) {
            Ok(())
        } else {
            Err(self.invalid_extent(a))
        }
    }

    #[cold]
    fn invalid_extent(&self, a: RecordBounds) -> Error {
        if a.from > a.to || a.to > self.end {
            return fail!(
                Format,
                "its limits are {} and {}, but the records end at {}",
                a.from,
                a.to,
                self.end
            );
        }
        fail!(
            Format,
            "the limits around it do not ascend: {}, {}, {}, {}",
            a.before,
            a.from,
            a.to,
            a.after
        )
    }

    /// Returns the start and the end of a record.
    #[inline]
    pub fn extent(&self, i: u64) -> Result<(u64, u64)> {
        let (around, verified) = self.limits.around(i)?;
        // Prefetches the record while the system call checks the file.
        self.records.prefetch(around.from, around.to);
        if !verified {
            self.limits.check_unchanged()?;
        }
        self.check_extent(around)?;
        Ok((around.from, around.to))
    }

    /// Returns the stored bytes of an extent.
    pub fn stored(&self, (from, to): (u64, u64)) -> Result<Bytes<'_>> {
        if let Some(bytes) = self.mapped((from, to)) {
            return Ok(Bytes::InPlace(bytes));
        }
        let what = "the stored bytes of a record";
        let mut scratch = Scratch::new(to - from, self.memory_limit, what)?;
        self.records.read_exact_at(from, &mut scratch)?;
        Ok(Bytes::Copied(scratch))
    }

    /// Returns the stored bytes of an extent, if the file is in immutable memory.
    #[inline]
    pub fn mapped(&self, (from, to): (u64, u64)) -> Option<&[u8]> {
        self.records
            .bytes()?
            .get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    /// Returns record `i` in place, if it is uncompressed and in immutable memory. Its checksum has
    /// been verified.
    pub fn in_memory(&self, i: u64) -> Result<Option<&[u8]>> {
        if self.decoder.codec() != Codec::None || self.records.bytes().is_none() {
            return Ok(None);
        }
        let record = self.extent(i).map(|extent| self.mapped(extent));
        let checked = record.and_then(|record| match (record, &self.checksums) {
            (Some(record), Some(checksums)) => {
                verify_checksum(checksums.get(i)?, record).map(|()| Some(record))
            }
            (record, _) => Ok(record),
        });
        checked.map_err(|e| self.at_record(i, e))
    }

    /// Returns the checksums of `n` records, or none if the shard has no checksums.
    pub fn checksums(&self, first: u64, n: usize) -> Result<Vec<u32>> {
        self.checksums
            .as_ref()
            .map_or(Ok(Vec::new()), |s| s.range(first, n))
    }

    /// Returns the files and byte ranges of the limits and checksums of records `first` to `last`
    /// that are read on demand.
    pub fn metadata_ranges(
        &self,
        first: u64,
        last: u64,
    ) -> impl Iterator<Item = (&dyn File, u64, u64)> {
        let checksums = match &self.checksums {
            Some(Checksums::Disk(file)) => Some((
                &**file,
                first.saturating_mul(CHECKSUM_SIZE),
                last.saturating_add(1).saturating_mul(CHECKSUM_SIZE),
            )),
            _ => None,
        };
        self.limits.span(first, last).into_iter().chain(checksums)
    }

    /// Reads one record and returns its size. Fills `dst`, if given.
    pub fn read(&self, i: u64, dst: Option<&mut [u8]>) -> Result<usize> {
        self.read_to(i, |n| fitting(dst, n))
    }

    /// Like [`Shard::read`], into the buffer that `dst` returns for the size of the record.
    pub fn read_to<'a>(
        &self,
        i: u64,
        dst: impl FnOnce(usize) -> Result<Option<&'a mut [u8]>>,
    ) -> Result<usize> {
        self.read_inner(i, dst).map_err(|e| {
            if e.status == Status::Buffer {
                e
            } else {
                self.at_record(i, e)
            }
        })
    }

    fn read_inner<'a>(
        &self,
        i: u64,
        dst: impl FnOnce(usize) -> Result<Option<&'a mut [u8]>>,
    ) -> Result<usize> {
        let extent = self.extent(i)?;
        let stored_size = alloc::allow(extent.1 - extent.0, u64::MAX, "a record")?;
        match self.decoder.codec() {
            Codec::None => {
                let Some(dst) = dst(stored_size)? else {
                    return Ok(stored_size);
                };
                self.records.read_exact_at(extent.0, dst)?;
                if let Some(checksums) = &self.checksums {
                    verify_checksum(checksums.get(i)?, dst)?;
                }
                Ok(stored_size)
            }
            Codec::Zstd if stored_size == 0 => {
                offset_check::check_neighbours(self, i, offset_check::Suspect::Empty)?;
                Ok(0)
            }
            Codec::Zstd => self.read_frames(i, &self.stored(extent)?, dst),
        }
    }

    fn read_frames<'a>(
        &self,
        i: u64,
        stored: &[u8],
        dst: impl FnOnce(usize) -> Result<Option<&'a mut [u8]>>,
    ) -> Result<usize> {
        let s = frame::survey(stored)?;
        if s.data_frames > 1 {
            offset_check::check_neighbours(self, i, offset_check::Suspect::SeveralFrames)?;
        }
        let Some(size) = s.content else {
            let all = self.decode_unknown(stored, &s, self.memory_limit)?;
            if let Some(dst) = dst(all.len())? {
                dst.copy_from_slice(&all);
            }
            return Ok(all.len());
        };
        let size = alloc::allow(size, u64::MAX, "a record")?;
        if let Some(dst) = dst(size)? {
            self.decode(stored, dst)?;
        }
        Ok(size)
    }

    /// Decodes a record into a buffer of exactly its size.
    pub fn decode(&self, stored: &[u8], dst: &mut [u8]) -> Result<()> {
        let dictionary = self.dictionary_for(stored)?;
        self.decoder.decode(stored, dst, dictionary)
    }

    /// Decodes a record whose headers do not contain the content size.
    pub fn decode_unknown(&self, stored: &[u8], survey: &Survey, limit: u64) -> Result<Vec<u8>> {
        let dictionary = self.dictionary_for(stored)?;
        self.decoder
            .decode_unknown(stored, survey, dictionary, limit)
    }

    /// Returns the stored dictionary, if the frame names it.
    fn dictionary_for(&self, stored: &[u8]) -> Result<Option<&Dictionary>> {
        if self.decoder.codec() == Codec::None || self.decoder.has_given_dictionary() {
            return Ok(None);
        }
        let Some(id) = zstd_safe::get_dict_id_from_frame(stored) else {
            return Ok(None);
        };
        let dictionary = self.dictionary()?.filter(|d| d.id == id.get());
        if dictionary.is_some_and(|d| !d.is_intact) && !frame::survey(stored)?.checksum {
            return Err(fail!(
                Checksum,
                "the dictionary that the file stores is corrupt, and no checksum of the record can show that it decodes correctly"
            ));
        }
        Ok(dictionary.map(|d| &**d))
    }

    /// Returns the dictionary that the file stores after its first record.
    pub fn dictionary(&self) -> Result<Option<&Arc<Dictionary>>> {
        if self.dictionary.get().is_none() {
            let _ = self.dictionary.set(self.find_dictionary()?);
        }
        Ok(self.dictionary.get().and_then(Option::as_ref))
    }

    /// Returns an error if the dictionary that the file stores is corrupt.
    pub fn verify_dictionary(&self) -> Result<()> {
        match self.dictionary()? {
            Some(d) if !d.is_intact => Err(fail!(
                Checksum,
                "{}: the dictionary that it stores is corrupt (its CRC-32 does not match); records that decode with it and match their own checksums are intact: copy those to a new bag",
                self.records.name()
            )),
            _ => Ok(()),
        }
    }

    fn find_dictionary(&self) -> Result<Option<Arc<Dictionary>>> {
        if self.decoder.codec() == Codec::None || self.count() == 0 {
            return Ok(None);
        }
        let first_end = self.extent(0).ok().map(|(_, to)| to);
        let found = dictionary::find(&*self.records, self.end, first_end, self.memory_limit)?;
        Ok(found.and_then(|found| self.decoder.prepare(found)))
    }
}

/// Returns the first `n` bytes of the buffer of the caller. If it is too short, the error has the
/// required size as its position.
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

impl Checksums {
    /// Opens the checksums, if they exist and are verified. Also returns the size of their file.
    fn open(
        snap: &Snapshot<'_>,
        c: &Container,
        count: u64,
        options: ShardOptions,
    ) -> Result<(Option<Checksums>, u64)> {
        let file = match snap.open(&c.name(CHECKSUMS_PREFIX), options.access) {
            Ok(f) => f,
            Err(e) if e.status == Status::Missing => return Ok((None, 0)),
            Err(e) => return Err(e),
        };
        c.folder
            .check_owner(&c.name(CHECKSUMS_PREFIX), &c.judged_by)?;
        let size = file.size()?;
        if !options.verify {
            return Ok((None, size));
        }
        if size != count.saturating_mul(CHECKSUM_SIZE) {
            return Err(fail!(
                Checksum,
                "{}: its size does not match {count} records (expected {}, found {size} bytes): the bag is damaged, or another program has changed it; HOLDALL_OPT_VERIFY 0 reads it unchecked",
                file.name(),
                count.saturating_mul(CHECKSUM_SIZE)
            ));
        }
        if !options.cache {
            return Ok((Some(Checksums::Disk(file)), size));
        }
        let mut all = alloc::zeroed(alloc::allow(
            size,
            options.memory_limit,
            "the checksums of all records",
        )?)?;
        file.read_exact_at(0, &mut all)?;
        Ok((Some(Checksums::Memory(all)), size))
    }

    fn get(&self, i: u64) -> Result<u32> {
        let mut bytes = [0; CHECKSUM_SIZE as usize];
        self.fetch(i, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn range(&self, first: u64, n: usize) -> Result<Vec<u32>> {
        let mut bytes = alloc::zeroed(n.saturating_mul(CHECKSUM_SIZE as usize))?;
        self.fetch(first, &mut bytes)?;
        Ok(bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|w| u32::from_le_bytes(*w))
            .collect())
    }

    fn fetch(&self, first: u64, dst: &mut [u8]) -> Result<()> {
        let at = first.saturating_mul(CHECKSUM_SIZE);
        let (all, file) = match self {
            Checksums::Memory(all) => (Some(&all[..]), None),
            Checksums::Disk(file) => (file.bytes(), Some(file)),
        };
        match (
            all.and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..dst.len())),
            file,
        ) {
            (Some(b), _) => dst.copy_from_slice(b),
            (None, Some(file)) => file.read_cached(at, dst)?,
            (None, None) => return Err(fail!(Range, "no checksum {first}")),
        }
        Ok(())
    }
}

/// Returns an error if a record does not match its checksum.
pub fn verify_checksum(expected: u32, record: &[u8]) -> Result<()> {
    let found = crc32(record);
    if expected == found {
        return Ok(());
    }
    Err(fail!(
        Checksum,
        "its CRC-32 does not match {CHECKSUMS_PREFIX}* (expected {expected:#010x}, found {found:#010x})"
    ))
}

/// Adds to the error of a file without limits at its tail that a limits file exists beside it.
fn hint(mut e: Error, c: &Container) -> Error {
    let limits = c.name(LIMITS_PREFIX);
    if e.status == Status::Format && c.folder.exists(&limits).unwrap_or(false) {
        e.message.push_str(&format!(
            "; {} exists beside it: open with HOLDALL_OPT_BAG_LIMITS 1, or repair if a writer of a single file was interrupted",
            c.folder.show(&limits)
        ));
    }
    e
}
