//! Writes bags: records are encoded and kept aside; a commit makes all of them count, or none.
//!
//! Records that are to be compressed are first gathered (see [`super::ahead`]). Where those that are encoded
//! wait, and what a commit does:
//! - *New and replaced bags* grow under temporary names (`NAME.holdall-new`); the first commit puts them
//!   in place.
//! - *Limits at the tail, appended to*: new records wait in memory, beyond a MiB in a temporary file; a
//!   commit saves the old limits in the journal, writes records and limits over them, and removes it.
//! - *Separate limits, appended to*: new records go behind the committed ones at once (bytes behind the
//!   last limit do not count); a commit notes the old lengths in the journal and appends the limits.
//!
//! Beside an uncompressed bag, `checksums.NAME` has one little-endian CRC-32 a record.
#![forbid(unsafe_code)]

use super::ahead::{Encoders, Gathered, span};
use super::codec::{CODEC_BY_NAME, Codec, Decoder, Encoding};
use super::limits::LIMIT;
use super::shard::{How, LIMITS_PREFIX, SUM, SUMS_PREFIX, Shard, container};
use super::spec;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Change, Container, Swapped, Undo};
use crate::io::lock::Lock;
use crate::io::{self, Access, File, Folder, file};
use crate::memory;
use crate::options::{Opt, Options};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options that opening a writer knows.
pub const WRITE_OPTIONS: &[Opt] = &[Opt::Threads, Opt::Durability, Opt::Lock, Opt::Codec, Opt::Level, Opt::Checksum, Opt::Dictionary, Opt::BagLimits];

/// Bytes that wait in memory before they go to a file.
const BUFFER: usize = 1 << 20;
/// `HOLDALL_SUM_CRC32`, `HOLDALL_SUM_ZSTD`.
const SUM_CRC32: i64 = 2;
const SUM_ZSTD: i64 = 9;

/// What a writer does with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing may be there.
    New,
    /// What is there stays until the first commit replaces it.
    Replace,
    /// Goes on with what is there.
    Append,
}

/// A writer of one bag.
pub struct Writer {
    container: Container,
    separate: bool,
    with_sums: bool,
    durable: bool,
    threads: usize,
    encoding: Encoding,
    /// None: records are stored as they are.
    encoders: Option<Encoders>,
    /// Records that came one by one and are not encoded yet.
    gathered: Gathered,
    records: Sink,
    limits: Sink,
    sums: Sink,
    base: Option<Base>,
    mode: Mode,
    /// Records of the last commit, and those waiting.
    committed: u64,
    waiting: u64,
    /// A commit failed in a way that leaves this writer unsure of the files.
    broken: bool,
    sync_failed: AtomicBool,
    /// The process that opened it: a forked child may neither write nor tidy up.
    owner: u32,
    // last, so that the lock outlives what tidies up
    _lock: Lock,
}

/// The last commit, in place.
struct Base {
    records: Arc<dyn File>,
    limits: Option<Arc<dyn File>>,
    sums: Option<Arc<dyn File>>,
    /// Where the committed records end.
    end: u64,
    /// Length of the file with the records when it was opened, or at the last commit.
    size: u64,
}

/// Bytes on their way: the last ones in memory, those before in a file.
struct Sink {
    folder: Arc<dyn Folder>,
    name: OsString,
    file: Option<Arc<dyn File>>,
    /// Is the file one of ours, to be removed?
    temporary: bool,
    /// Where in the file its first byte is.
    base: u64,
    /// Bytes that are in the file.
    written: u64,
    buffer: Vec<u8>,
}

impl Sink {
    fn new(folder: &Arc<dyn Folder>, name: OsString) -> Sink {
        Sink { folder: folder.clone(), name, file: None, temporary: true, base: 0, written: 0, buffer: Vec::new() }
    }

    /// Straight into a file that is there, from `base` on.
    fn onto(folder: &Arc<dyn Folder>, name: OsString, file: Arc<dyn File>, base: u64) -> Sink {
        Sink { file: Some(file), temporary: false, base, ..Sink::new(folder, name) }
    }

    fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Room for `n` more bytes in memory, so that a push of as many cannot fail.
    fn prepare(&mut self, n: usize) -> Result<()> {
        if self.buffer.len() + n > BUFFER {
            self.flush()?;
        }
        memory::reserve(&mut self.buffer, n)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.prepare(if bytes.len() < BUFFER { bytes.len() } else { 0 })?;
        if bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.file()?.write_at(self.base + self.written, bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn file(&mut self) -> Result<Arc<dyn File>> {
        if let Some(f) = &self.file {
            return Ok(f.clone());
        }
        let f = self.folder.open(&self.name, Access::Create)?;
        Ok(self.file.insert(f).clone())
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let file = self.file()?;
        file.write_at(self.base + self.written, &self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Copies all of it to `at` of another file.
    fn copy_to(&self, to: &dyn File, at: u64) -> Result<()> {
        if let Some(from) = self.file.as_ref().filter(|_| self.written > 0) {
            io::copy(&**from, self.base, to, at, self.written)?;
        }
        if self.buffer.is_empty() { Ok(()) } else { to.write_at(at + self.written, &self.buffer) }
    }

    /// Forgets what it holds, and its temporary file.
    fn clear(&mut self) {
        if self.file.take().is_some() && self.temporary {
            let _ = self.folder.remove_if_there(&self.name);
        }
        self.written = 0;
        self.buffer.clear();
    }
}

impl Writer {
    /// Opens a path for writing.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Writer> {
        if path.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        if spec::is_sharded(path) {
            return Err(fail!(Unsupported, "{}: this version writes one file, not shards (a name with @N)", path.display()));
        }
        let place = file::locate_for_change(path)?;
        Writer::open_in(&place.folder, &place.name, mode, options)
    }

    /// Opens a name in a folder for writing.
    pub fn open_in(folder: &Arc<dyn Folder>, name: &OsStr, mode: Mode, options: &Options) -> Result<Writer> {
        options.only("opening a bag for writing", WRITE_OPTIONS)?;
        folder.writable()?;
        let container = container(folder, name);
        let lock = container.lock(options.get(Opt::Lock, 1) == 1)?;
        let codec = Codec::choose(options.get(Opt::Codec, CODEC_BY_NAME), name.as_bytes())?;
        let encoding = encoding(codec, options)?;
        let durable = options.get(Opt::Durability, 1) == 1;
        let separate = options.get(Opt::BagLimits, 0) == 1;
        let with_sums = codec == Codec::None && encoding.checksum;
        journal::tidy(&container, durable)?;
        let sink = |prefix| Sink::new(folder, container.new_name(prefix));
        let (records, limits, sums) = (sink(""), sink(LIMITS_PREFIX), sink(SUMS_PREFIX));
        let mut w = Writer {
            container,
            separate,
            with_sums,
            durable,
            threads: options.threads(),
            encoders: encoders(&encoding)?,
            gathered: Gathered::new(),
            encoding,
            records,
            limits,
            sums,
            base: None,
            mode,
            committed: 0,
            waiting: 0,
            broken: false,
            sync_failed: AtomicBool::new(false),
            owner: std::process::id(),
            _lock: lock,
        };
        match mode {
            Mode::New => w.refuse_existing()?,
            Mode::Replace => {}
            Mode::Append => w.open_committed(options)?,
        }
        Ok(w)
    }

    /// A new bag needs its names free; that of its limits, too, where it has them at its tail: they would
    /// be taken for those of this bag.
    fn refuse_existing(&self) -> Result<()> {
        for prefix in ["", LIMITS_PREFIX, if self.encoding.codec == Codec::None { SUMS_PREFIX } else { "" }] {
            let n = self.container.name(prefix);
            if self.container.folder.exists(&n)? {
                return Err(fail!(Exists, "{}: it is there already (HOLDALL_REPLACE and HOLDALL_APPEND take it)", self.container.folder.show(&n)));
            }
        }
        Ok(())
    }

    /// Opens the last commit to go on from it.
    fn open_committed(&mut self, options: &Options) -> Result<()> {
        let how = How { access: Access::Read, separate: self.separate, cache: false, verify: true, memory_limit: memory::DEFAULT_LIMIT };
        let decoder = Arc::new(Decoder::new(self.encoding.codec, options.given_bytes(Opt::Dictionary))?);
        let shard = Shard::open(&self.container, &decoder, how)?;
        self.refuse_the_other_kind(&shard)?;
        self.committed = shard.count();
        let mut end = 0;
        if let Some(last) = shard.count().checked_sub(1) {
            // what lies behind the last limit will be written over: it must not be the last record
            shard.read(last, None)?;
            end = shard.extent(last)?.1;
            self.go_on_with_checksums(&shard, options.given(Opt::Checksum))?;
        }
        drop(shard);
        self.base = Some(self.open_base(end)?);
        self.aim();
        Ok(())
    }

    /// Refuses a bag that is there with its limits at the other place: what is taken for free room would be
    /// its records.
    fn refuse_the_other_kind(&self, shard: &Shard) -> Result<()> {
        let folder = &self.container.folder;
        let (name, limits) = (&self.container.main, self.container.name(LIMITS_PREFIX));
        if !self.separate {
            return match folder.exists(&limits)? {
                true => Err(fail!(
                    State,
                    "{}: {} lies beside it; give HOLDALL_OPT_BAG_LIMITS 1 to go on with separate limits, or repair first",
                    folder.show(name),
                    folder.show(&limits)
                )),
                false => Ok(()),
            };
        }
        let records = folder.open(name, Access::Read)?;
        let size = records.size()?;
        let end = match shard.count() {
            0 => 0,
            n => shard.extent(n - 1)?.1,
        };
        // bytes behind the last limit are what a writer that was cut off has left, unless they have limits
        let sure = self.encoding.codec == Codec::Zstd || end == 0;
        match Shard::tail(&records, size) {
            Ok((l, tail_end)) if sure && size > end && l.count() > 0 && tail_end >= end => Err(fail!(
                State,
                "{}: it has limits at its tail, and {} says otherwise; repair first, or remove the one that is wrong",
                folder.show(name),
                folder.show(&limits)
            )),
            _ => Ok(()),
        }
    }

    /// Checksums go on as they are.
    fn go_on_with_checksums(&mut self, shard: &Shard, asked: Option<i64>) -> Result<()> {
        let there = match self.encoding.codec {
            Codec::None => shard.has_sums(),
            Codec::Zstd => shard.has_frame_checksum()?,
        };
        if !there && asked.is_some_and(|s| s != 0) {
            return Err(fail!(
                State,
                "{}: its {} records have no checksums, so those appended cannot have any (write it anew for that)",
                self.container.folder.show(&self.container.main),
                shard.count()
            ));
        }
        match self.encoding.codec {
            Codec::None => self.with_sums = there,
            Codec::Zstd => {
                self.encoding.checksum = there;
                self.encoders = encoders(&self.encoding)?;
            }
        }
        Ok(())
    }

    fn open_base(&self, end: u64) -> Result<Base> {
        let open = |prefix| self.container.folder.open(&self.container.name(prefix), Access::Write);
        let sums = match open(SUMS_PREFIX) {
            Ok(f) if self.with_sums => Some(f),
            Err(e) if e.status != Status::Missing => return Err(e),
            _ => None,
        };
        let records = self.container.folder.open(&self.container.main, Access::Write)?;
        let size = records.size()?;
        Ok(Base { records, limits: if self.separate { Some(open(LIMITS_PREFIX)?) } else { None }, sums, end, size })
    }

    /// Points the sink of the records at where the next ones wait.
    fn aim(&mut self) {
        if let Some(base) = self.base.as_ref().filter(|_| self.separate) {
            self.records = Sink::onto(&self.container.folder, self.container.main.clone(), base.records.clone(), base.end);
        }
    }

    /// Records of the last commit and those appended since.
    pub fn size(&self) -> u64 {
        self.committed + self.waiting + self.gathered.count()
    }

    fn check(&self) -> Result<()> {
        if self.owner != std::process::id() {
            return Err(fail!(State, "{}: this writer belongs to the process that opened it", self.container.folder.show(&self.container.main)));
        }
        if self.broken {
            return Err(fail!(
                State,
                "{}: a commit of this writer failed half-way; open it again, what was committed before is whole",
                self.container.folder.show(&self.container.main)
            ));
        }
        Ok(())
    }

    /// Where the next record begins.
    fn end(&self) -> u64 {
        self.base.as_ref().map_or(0, |b| b.end) + self.records.len()
    }

    /// Appends one record. On failure nothing was appended.
    pub fn append(&mut self, record: &[u8]) -> Result<()> {
        self.check()?;
        if self.encoders.is_none() {
            let crc = if self.with_sums { crc32(record) } else { 0 };
            return self.push(record, &[record.len() as u64], &[crc]);
        }
        if self.gathered.fills(1, record.len(), self.threads) {
            self.encode_gathered()?;
        }
        self.gathered.push(record)
    }

    /// Appends record `i` = `data[offsets[i]..offsets[i + 1]]`, for all but the last of `offsets`, in
    /// order; compressed in parallel. On failure, [`Writer::size`] tells how many went in.
    pub fn append_many(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        self.check()?;
        check_offsets(data.len() as u64, offsets)?;
        if self.encoders.is_some() && !self.gathered.fills(offsets.len(), span(data, offsets).len(), self.threads) {
            return offsets.windows(2).try_for_each(|w| self.gathered.push(span(data, w)));
        }
        self.encode_gathered()?;
        self.encode(data, offsets)
    }

    /// Encodes what came one by one.
    fn encode_gathered(&mut self) -> Result<()> {
        let mut gathered = std::mem::replace(&mut self.gathered, Gathered::new());
        let before = self.waiting;
        let done = self.encode(&gathered.data, &gathered.offsets);
        // what could not go on stays for another try
        gathered.drop_first(self.waiting - before);
        self.gathered = gathered;
        done
    }

    fn encode(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        let Some(encoders) = self.encoders.take() else {
            let lengths: Vec<u64> = offsets.windows(2).map(|w| span(data, w).len() as u64).collect();
            let sums: Vec<u32> = if self.with_sums { offsets.windows(2).map(|w| crc32(span(data, w))).collect() } else { Vec::new() };
            return self.push(span(data, offsets), &lengths, &sums);
        };
        let done = encoders.each(data, offsets, self.threads, |e| self.push(&e.bytes, &e.lengths, &[]));
        self.encoders = Some(encoders);
        done
    }

    /// Takes in stored records: all or, on failure, none.
    fn push(&mut self, stored: &[u8], lengths: &[u64], sums: &[u32]) -> Result<()> {
        self.limits.prepare(lengths.len() * LIMIT as usize)?;
        self.sums.prepare(sums.len() * SUM as usize)?;
        let mut end = self.end();
        self.records.push(stored)?;
        for n in lengths {
            end += n;
            self.limits.buffer.extend_from_slice(&end.to_le_bytes());
        }
        if self.with_sums {
            for s in sums {
                self.sums.buffer.extend_from_slice(&s.to_le_bytes());
            }
        }
        self.waiting += lengths.len() as u64;
        Ok(())
    }

    // ---- commits

    /// Makes all records appended so far durable and visible, together. On failure the bag is as the last
    /// commit left it; where that cannot be known, this writer refuses to go on, and whoever opens the
    /// bag next finds it whole.
    pub fn commit(&mut self) -> Result<()> {
        self.check()?;
        self.encode_gathered()?;
        let fresh = self.base.is_none();
        if !fresh && self.waiting == 0 {
            return Ok(());
        }
        let done = if fresh { self.commit_new() } else { self.commit_append() };
        // after a sync that failed, the system may have thrown away what it could not write, and says so once
        self.broken |= self.sync_failed.load(Ordering::Relaxed);
        done?;
        self.committed += self.waiting;
        self.waiting = 0;
        // from here on the commit stands; what fails now only ends this writer
        self.broken |= self.go_on().is_err();
        Ok(())
    }

    /// Makes what was written to a file durable, if that is wished.
    fn sync(&self, file: &dyn File) -> Result<()> {
        let done = if self.durable { file.sync() } else { Ok(()) };
        self.sync_failed.fetch_or(done.is_err(), Ordering::Relaxed);
        done
    }

    fn go_on(&mut self) -> Result<()> {
        let end = self.end();
        match self.base.take() {
            None => {
                // the temporary files are the bag now
                let sink = |prefix| Sink::new(&self.container.folder, self.container.new_name(prefix));
                let (r, l, s) = (sink(""), sink(LIMITS_PREFIX), sink(SUMS_PREFIX));
                (self.records, self.limits, self.sums) = (r, l, s);
                self.base = Some(self.open_base(end)?);
            }
            Some(mut b) => {
                b.end = end;
                b.size = b.records.size()?;
                if b.sums.is_none() && self.with_sums {
                    b.sums = Some(self.container.folder.open(&self.container.name(SUMS_PREFIX), Access::Write)?);
                }
                self.base = Some(b);
                self.records.clear();
                self.limits.clear();
                self.sums.clear();
            }
        }
        self.aim();
        Ok(())
    }

    /// The first commit of a new bag, or of one that replaces another.
    fn commit_new(&mut self) -> Result<()> {
        if self.mode == Mode::New {
            self.refuse_existing()?;
        }
        self.records.flush()?;
        let records = self.records.file()?;
        let (mut renames, mut gone) = (vec![""], vec![]);
        if self.separate {
            self.limits.flush()?;
            let limits = self.limits.file()?;
            self.sync(&*limits)?;
            renames.push(LIMITS_PREFIX);
        } else {
            // a commit that failed may have left its limits there
            records.set_size(self.records.len())?;
            self.limits.copy_to(&*records, self.records.len())?;
            gone.push(LIMITS_PREFIX);
        }
        if self.with_sums {
            self.sums.flush()?;
            let sums = self.sums.file()?;
            self.sync(&*sums)?;
            renames.push(SUMS_PREFIX);
        } else if self.encoding.codec == Codec::None || self.replaces_sums() {
            gone.push(SUMS_PREFIX);
        }
        self.sync(&*records)?;
        let swapped = journal::swap(&self.container, self.durable, &renames, &gone);
        self.broken = matches!(swapped, Swapped::Counts | Swapped::Unsure(_));
        match swapped {
            Swapped::Nothing(e) | Swapped::Unsure(e) => return Err(e),
            Swapped::Done | Swapped::Counts => {}
        }
        if !self.separate {
            let _ = self.container.folder.remove_if_there(&self.limits.name);
        }
        Ok(())
    }

    /// Are there checksums of the bag that a compressed one replaces? A file of that name that does not fit
    /// it is somebody else's.
    fn replaces_sums(&self) -> bool {
        let fits = |separate| {
            let how = How { access: Access::Read, separate, cache: false, verify: true, memory_limit: memory::DEFAULT_LIMIT };
            let decoder = Arc::new(Decoder::new(Codec::None, None)?);
            Shard::open(&self.container, &decoder, how).map(|old| old.has_sums())
        };
        [false, true].into_iter().any(|separate| fits(separate).unwrap_or(false))
    }

    /// A commit in place.
    fn commit_append(&mut self) -> Result<()> {
        let Some(base) = &self.base else { return Ok(()) };
        self.still_ours(base)?;
        let new_end = base.end + self.records.len();
        if self.separate {
            self.records.flush()?;
            self.sync(&*base.records)?;
        }
        let sums_name = self.container.name(SUMS_PREFIX);
        let mut changes = vec![match &base.limits {
            Some(l) => Change::new(self.container.name(LIMITS_PREFIX), Some(&**l), None),
            None => Change::new(self.container.main.clone(), Some(&*base.records), Some(base.end..u64::MAX)),
        }];
        if self.with_sums {
            changes.push(Change::new(sums_name.clone(), base.sums.as_deref(), None));
        }
        let undo = Undo::begin(&self.container, self.durable, &changes)?;
        match self.write_append(base, new_end) {
            Ok(()) => {
                let done = undo.commit();
                self.broken = done.is_err();
                done
            }
            Err(e) => {
                self.broken = undo.rollback().is_err();
                Err(e)
            }
        }
    }

    /// Refuses to write where somebody else has written, who cannot have had the lock.
    fn still_ours(&self, base: &Base) -> Result<()> {
        let mut files = vec![("", Some(&base.records), if self.separate { None } else { Some(base.size) })];
        files.push((LIMITS_PREFIX, base.limits.as_ref(), Some(self.committed * LIMIT)));
        files.push((SUMS_PREFIX, base.sums.as_ref(), Some(self.committed * SUM)));
        for (prefix, file, size) in files {
            let Some(file) = file else { continue };
            let name = self.container.name(prefix);
            let there = self.container.folder.identity(&name)? == Some(file.identity());
            if !there || size.is_some_and(|s| file.size().is_ok_and(|now| now != s)) {
                return Err(fail!(State, "{}: another writer has changed it since it was opened here", self.container.folder.show(&name)));
            }
        }
        Ok(())
    }

    fn write_append(&self, base: &Base, new_end: u64) -> Result<()> {
        let old = self.committed;
        if let Some(limits) = &base.limits {
            self.limits.copy_to(&**limits, old * LIMIT)?;
            self.sync(&**limits)?;
        } else {
            // first the length: readers tell by it that limits are about to be written over
            let records = &*base.records;
            records.set_size(new_end + (old + self.waiting) * LIMIT)?;
            move_limits(records, base.end, new_end, old * LIMIT)?;
            self.records.copy_to(records, base.end)?;
            self.limits.copy_to(records, new_end + old * LIMIT)?;
            self.sync(records)?;
        }
        if self.with_sums {
            let sums = match &base.sums {
                Some(s) => s.clone(),
                None => self.container.folder.open(&self.container.name(SUMS_PREFIX), Access::Create)?,
            };
            self.sums.copy_to(&*sums, old * SUM)?;
            self.sync(&*sums)?;
            if base.sums.is_none() && self.durable {
                self.container.folder.sync()?;
            }
        }
        Ok(())
    }
}

/// Moves committed limits behind where new records will end, last ones first: the places may overlap.
fn move_limits(file: &dyn File, from: u64, to: u64, bytes: u64) -> Result<()> {
    let mut piece = memory::zeroed(bytes.min(BUFFER as u64) as usize)?;
    let mut left = bytes;
    while left > 0 {
        let n = left.min(BUFFER as u64);
        left -= n;
        let part = piece.get_mut(..n as usize).unwrap_or_default();
        file.read_exact_at(from + left, part)?;
        file.write_at(to + left, part)?;
    }
    Ok(())
}

impl Drop for Writer {
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        if self.broken || self.owner != std::process::id() {
            return;
        }
        if let Some(b) = self.base.as_ref().filter(|_| self.separate && self.records.written > 0) {
            let _ = b.records.set_size(b.size.max(b.end));
        }
        self.records.clear();
        self.limits.clear();
        self.sums.clear();
    }
}

fn check_offsets(size: u64, offsets: &[u64]) -> Result<()> {
    if let Some(i) = offsets.windows(2).position(|w| matches!(w, [a, b] if a > b)) {
        return Err(fail!(Argument, "offsets[{}] is smaller than offsets[{i}]", i + 1));
    }
    match offsets.last() {
        Some(&end) if end > size => Err(fail!(Argument, "the last of the offsets, {end}, is beyond the {size} bytes of data")),
        Some(_) => Ok(()),
        None => Err(fail!(Argument, "there must be one offset more than there are records")),
    }
}

fn encoders(encoding: &Encoding) -> Result<Option<Encoders>> {
    if encoding.codec == Codec::None { Ok(None) } else { Encoders::new(encoding).map(Some) }
}

fn encoding(codec: Codec, options: &Options) -> Result<Encoding> {
    let level = options.get(Opt::Level, 0) as i32;
    let dictionary = options.given_bytes(Opt::Dictionary).cloned();
    if codec == Codec::None && (options.given(Opt::Level).is_some() || dictionary.is_some()) {
        return Err(fail!(Argument, "HOLDALL_OPT_LEVEL and HOLDALL_OPT_DICTIONARY mean nothing to a bag that is not compressed"));
    }
    let checksum = match (options.given(Opt::Checksum), codec) {
        (None | Some(SUM_CRC32), _) | (Some(SUM_ZSTD), Codec::Zstd) => true,
        (Some(0), _) => false,
        (Some(n), _) => {
            let fit = if codec == Codec::Zstd { "HOLDALL_SUM_ZSTD (or _CRC32, which means the same here)" } else { "HOLDALL_SUM_CRC32" };
            return Err(Error::new(
                Status::Unsupported,
                format!("HOLDALL_OPT_CHECKSUM: {n} has no place in this bag; {fit} and HOLDALL_SUM_NONE do"),
            ));
        }
    };
    Ok(Encoding { codec, level, checksum, dictionary })
}
