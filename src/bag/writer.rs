//! Writes bags: records are encoded and kept aside; a commit makes all of them count, or none.
//!
//! Where new records wait, and what a commit does:
//! - *New and replaced bags* grow under temporary names (`NAME.holdall-new`); the first commit puts them
//!   in place.
//! - *Limits at the tail, appended to*: new records wait in memory, beyond a MiB in a temporary file; a
//!   commit saves the old limits in the journal, writes records and limits over them, and removes it.
//! - *Separate limits, appended to*: new records go behind the committed ones at once (bytes behind the
//!   last limit do not count); a commit notes the old lengths in the journal and appends the limits.
//!
//! Beside an uncompressed bag, `checksums.NAME` has one little-endian CRC-32 a record.
#![forbid(unsafe_code)]

use super::codec::{CODEC_BY_NAME, Codec, Decoder, Encoder, Encoding};
use super::limits::LIMIT;
use super::shard::{How, LIMITS_PREFIX, SUM, SUMS_PREFIX, Shard};
use super::spec;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Change, Undo};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, beside, file};
use crate::memory;
use crate::options::{Opt, Options};
use crate::parallel;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

/// Options that opening a writer knows.
pub const WRITE_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Checksum,
    Opt::Dictionary,
    Opt::BagLimits,
];

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
    folder: Arc<dyn Folder>,
    name: OsString,
    separate: bool,
    with_sums: bool,
    durable: bool,
    threads: usize,
    encoding: Encoding,
    encoder: Encoder,
    /// More encoders, for `append_many`.
    spare: Mutex<Vec<Encoder>>,
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
            let mut piece = memory::zeroed((self.written).min(BUFFER as u64) as usize)?;
            let mut done = 0;
            while done < self.written {
                let n = (self.written - done).min(BUFFER as u64) as usize;
                let part = piece.get_mut(..n).unwrap_or_default();
                from.read_exact_at(self.base + done, part)?;
                to.write_at(at + done, part)?;
                done += n as u64;
            }
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

fn temporary(prefix: &str, name: &OsStr) -> OsString {
    beside(prefix, name, ".holdall-new")
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
        let lock = match options.get(Opt::Lock, 1) {
            0 => Lock::none(),
            _ => folder.lock(&beside("", name, ".holdall-lock"))?,
        };
        let codec = Codec::choose(options.get(Opt::Codec, CODEC_BY_NAME), name.as_bytes())?;
        let encoding = encoding(codec, options)?;
        let durable = options.get(Opt::Durability, 1) == 1;
        let separate = options.get(Opt::BagLimits, 0) == 1;
        let with_sums = codec == Codec::None && encoding.checksum;
        journal::settle(&**folder, name, durable)?;
        for prefix in ["", LIMITS_PREFIX, SUMS_PREFIX] {
            folder.remove_if_there(&temporary(prefix, name))?;
        }
        let sink = |prefix| Sink::new(folder, temporary(prefix, name));
        let mut w = Writer {
            folder: folder.clone(),
            name: name.into(),
            separate,
            with_sums,
            durable,
            threads: options.threads(),
            encoder: encoding.encoder()?,
            encoding,
            spare: Mutex::new(Vec::new()),
            records: sink(""),
            limits: sink(LIMITS_PREFIX),
            sums: sink(SUMS_PREFIX),
            base: None,
            mode,
            committed: 0,
            waiting: 0,
            broken: false,
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

    fn refuse_existing(&self) -> Result<()> {
        for n in self.names() {
            if self.folder.exists(&n)? {
                return Err(fail!(Exists, "{}: it is there already (HOLDALL_REPLACE and HOLDALL_APPEND take it)", self.folder.show(&n)));
            }
        }
        Ok(())
    }

    /// Names of the files of the bag.
    fn names(&self) -> Vec<OsString> {
        let mut names = vec![self.name.clone()];
        if self.separate {
            names.push(beside(LIMITS_PREFIX, &self.name, ""));
        }
        if self.with_sums {
            names.push(beside(SUMS_PREFIX, &self.name, ""));
        }
        names
    }

    /// Opens the last commit to go on from it.
    fn open_committed(&mut self, options: &Options) -> Result<()> {
        let how = How { access: Access::Read, separate: self.separate, cache: false, verify: true, memory_limit: u64::MAX };
        let decoder = Arc::new(Decoder::new(self.encoding.codec, None)?);
        let shard = Shard::open(&self.folder, &self.name, &decoder, how)?;
        self.committed = shard.count();
        let end = match shard.count() {
            0 => 0,
            n => {
                // what lies behind the last limit will be written over: it must not be the last record
                shard.read(n - 1, None)?;
                shard.extent(n - 1)?.1
            }
        };
        if shard.count() > 0 && self.encoding.codec == Codec::None {
            if !shard.has_sums() && options.given(Opt::Checksum).is_some_and(|s| s != 0) {
                return Err(fail!(
                    State,
                    "{}: its {} records have no checksums, so those appended cannot have any (write it anew for that)",
                    self.folder.show(&self.name),
                    shard.count()
                ));
            }
            self.with_sums = shard.has_sums();
        }
        drop(shard);
        self.base = Some(self.open_base(end)?);
        self.aim()
    }

    fn open_base(&self, end: u64) -> Result<Base> {
        let open = |prefix| self.folder.open(&beside(prefix, &self.name, ""), Access::Write);
        let sums = match open(SUMS_PREFIX) {
            Ok(f) if self.with_sums => Some(f),
            Err(e) if e.status != Status::Missing => return Err(e),
            _ => None,
        };
        Ok(Base {
            records: self.folder.open(&self.name, Access::Write)?,
            limits: if self.separate { Some(open(LIMITS_PREFIX)?) } else { None },
            sums,
            end,
        })
    }

    /// Points the sinks at where the next records wait.
    fn aim(&mut self) -> Result<()> {
        let Some(base) = &self.base else { return Ok(()) };
        if self.separate {
            // what a writer that was cut off left behind the last limit goes
            if base.records.size()? > base.end {
                base.records.set_size(base.end)?;
            }
            self.records = Sink::onto(&self.folder, self.name.clone(), base.records.clone(), base.end);
        }
        Ok(())
    }

    /// Records of the last commit and those appended since.
    pub fn size(&self) -> u64 {
        self.committed + self.waiting
    }

    fn check(&self) -> Result<()> {
        if self.owner != std::process::id() {
            return Err(fail!(State, "{}: this writer belongs to the process that opened it", self.folder.show(&self.name)));
        }
        if self.broken {
            return Err(fail!(State, "{}: a commit of this writer failed half-way; open it again, what was committed before is whole", self.folder.show(&self.name)));
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
        let crc = if self.with_sums { crc32(record) } else { 0 };
        let mut encoder = std::mem::replace(&mut self.encoder, Encoder::none());
        let pushed = encoder.encode(record).and_then(|stored| self.push(stored, &[stored.len() as u64], &[crc]));
        self.encoder = encoder;
        pushed
    }

    /// Appends record `i` = `data[offsets[i]..offsets[i + 1]]`, for all but the last of `offsets`, in
    /// order; compressed in parallel. On failure, [`Writer::size`] tells how many went in.
    pub fn append_many(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        self.check()?;
        check_offsets(data.len() as u64, offsets)?;
        let pieces = pieces(offsets);
        for group in pieces.chunks(self.threads.max(1) * 4) {
            let mut done: Vec<Piece<'_>> = group.iter().map(|o| Piece { offsets: o, encoded: Ok(Encoded::default()) }).collect();
            let this = &*self;
            let threads = if offsets.len() > 1 && self.worth_threads(offsets) { self.threads } else { 1 };
            parallel::for_each(threads, done.iter_mut().collect(), |p: &mut Piece<'_>| p.encoded = this.encode_piece(data, p.offsets));
            for p in done {
                let e = p.encoded?;
                let stored = if self.encoding.codec == Codec::None { span(data, p.offsets) } else { &e.bytes };
                self.push(stored, &e.lengths, &e.sums)?;
            }
        }
        Ok(())
    }

    fn worth_threads(&self, offsets: &[u64]) -> bool {
        let bytes = offsets.last().zip(offsets.first()).map_or(0, |(b, a)| b - a);
        match self.encoding.codec {
            Codec::Zstd => bytes >= 64 << 10,
            Codec::None => self.with_sums && bytes >= 8 << 20,
        }
    }

    fn encode_piece(&self, data: &[u8], offsets: &[u64]) -> Result<Encoded> {
        let mut e = Encoded::default();
        memory::reserve(&mut e.lengths, offsets.len())?;
        let records = offsets.windows(2).map(|w| span(data, w));
        if self.encoding.codec == Codec::None {
            e.lengths.extend(offsets.windows(2).map(|w| w.last().zip(w.first()).map_or(0, |(b, a)| b - a)));
            if self.with_sums {
                e.sums.extend(records.map(crc32));
            }
            return Ok(e);
        }
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut encoder = match spare {
            Some(s) => s,
            None => self.encoding.encoder()?,
        };
        for r in records {
            let stored = encoder.encode(r)?;
            memory::reserve(&mut e.bytes, stored.len())?;
            e.bytes.extend_from_slice(stored);
            e.lengths.push(stored.len() as u64);
        }
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(encoder);
        Ok(e)
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
        let fresh = self.base.is_none();
        if !fresh && self.waiting == 0 {
            return Ok(());
        }
        if fresh { self.commit_new()? } else { self.commit_append()? }
        self.committed += self.waiting;
        self.waiting = 0;
        // from here on the commit stands; what fails now only ends this writer
        let done = self.go_on();
        self.broken = done.is_err();
        done
    }

    fn go_on(&mut self) -> Result<()> {
        let end = self.end();
        match self.base.take() {
            None => {
                // the temporary files are the bag now
                let sink = |prefix| Sink::new(&self.folder, temporary(prefix, &self.name));
                let (r, l, s) = (sink(""), sink(LIMITS_PREFIX), sink(SUMS_PREFIX));
                (self.records, self.limits, self.sums) = (r, l, s);
                self.base = Some(self.open_base(end)?);
            }
            Some(mut b) => {
                b.end = end;
                if b.sums.is_none() && self.with_sums {
                    b.sums = Some(self.folder.open(&beside(SUMS_PREFIX, &self.name, ""), Access::Write)?);
                }
                self.base = Some(b);
                self.records.clear();
                self.limits.clear();
                self.sums.clear();
            }
        }
        self.aim()
    }

    /// The first commit of a new bag, or of one that replaces another.
    fn commit_new(&mut self) -> Result<()> {
        if self.mode == Mode::New {
            self.refuse_existing()?;
        }
        self.records.flush()?;
        let records = self.records.file()?;
        let mut renames = vec![(self.records.name.clone(), self.name.clone())];
        let mut gone = Vec::new();
        let limits_name = beside(LIMITS_PREFIX, &self.name, "");
        if self.separate {
            sync_sink(&mut self.limits, self.durable)?;
            renames.push((self.limits.name.clone(), limits_name.clone()));
        } else {
            // a commit that failed may have left its limits there
            records.set_size(self.records.len())?;
            self.limits.copy_to(&*records, self.records.len())?;
        }
        let sums_name = beside(SUMS_PREFIX, &self.name, "");
        if self.with_sums {
            sync_sink(&mut self.sums, self.durable)?;
            renames.push((self.sums.name.clone(), sums_name));
        } else {
            gone.push(sums_name);
        }
        if self.mode == Mode::Replace && !self.separate {
            gone.push(limits_name.clone());
        }
        if self.durable {
            records.sync()?;
        }
        let swapped = journal::swap(&*self.folder, &self.name, self.durable, &renames, &gone);
        if swapped.is_err() {
            self.broken = true;
        } else if !self.separate {
            let _ = self.folder.remove_if_there(&self.limits.name);
        }
        swapped
    }

    /// A commit in place.
    fn commit_append(&mut self) -> Result<()> {
        let Some(base) = &self.base else { return Ok(()) };
        let new_end = base.end + self.records.len();
        if self.separate {
            self.records.flush()?;
            if self.durable {
                base.records.sync()?;
            }
        }
        let sums_name = beside(SUMS_PREFIX, &self.name, "");
        let mut changes = vec![match &base.limits {
            Some(l) => Change { name: beside(LIMITS_PREFIX, &self.name, ""), file: Some(&**l), over: 0..0 },
            None => Change { name: self.name.clone(), file: Some(&*base.records), over: base.end..u64::MAX },
        }];
        if self.with_sums {
            changes.push(Change { name: sums_name.clone(), file: base.sums.as_deref(), over: 0..0 });
        }
        let undo = Undo::begin(&self.folder, &self.name, self.durable, &changes)?;
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

    fn write_append(&self, base: &Base, new_end: u64) -> Result<()> {
        let old = self.committed;
        let sync = |f: &dyn File| if self.durable { f.sync() } else { Ok(()) };
        if let Some(limits) = &base.limits {
            self.limits.copy_to(&**limits, old * LIMIT)?;
            sync(&**limits)?;
        } else {
            // first the length: readers tell by it that limits are about to be written over
            let records = &*base.records;
            records.set_size(new_end + (old + self.waiting) * LIMIT)?;
            move_limits(records, base.end, new_end, old * LIMIT)?;
            self.records.copy_to(records, base.end)?;
            self.limits.copy_to(records, new_end + old * LIMIT)?;
            sync(records)?;
        }
        if self.with_sums {
            let sums = match &base.sums {
                Some(s) => s.clone(),
                None => self.folder.open(&beside(SUMS_PREFIX, &self.name, ""), Access::Create)?,
            };
            self.sums.copy_to(&*sums, old * SUM)?;
            sync(&*sums)?;
            if base.sums.is_none() && self.durable {
                self.folder.sync()?;
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

fn sync_sink(sink: &mut Sink, durable: bool) -> Result<()> {
    sink.flush()?;
    let file = sink.file()?;
    if durable { file.sync() } else { Ok(()) }
}

impl Drop for Writer {
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        if self.broken || self.owner != std::process::id() {
            return;
        }
        if let Some(b) = self.base.as_ref().filter(|_| self.separate && self.records.written > 0) {
            let _ = b.records.set_size(b.end);
        }
        self.records.clear();
        self.limits.clear();
        self.sums.clear();
    }
}

struct Piece<'a> {
    offsets: &'a [u64],
    encoded: Result<Encoded>,
}

#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    lengths: Vec<u64>,
    sums: Vec<u32>,
}

fn span<'a>(data: &'a [u8], offsets: &[u64]) -> &'a [u8] {
    let ends = offsets.first().zip(offsets.last());
    ends.and_then(|(&a, &b)| data.get(a as usize..b as usize)).unwrap_or_default()
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

/// Cuts offsets into pieces that are worth a task each, and overlap by one.
fn pieces(offsets: &[u64]) -> Vec<&[u64]> {
    const RECORDS: usize = 1024;
    const BYTES: u64 = 256 << 10;
    let mut out = Vec::new();
    let mut rest = offsets;
    while let [first, after @ ..] = rest {
        if after.is_empty() {
            break;
        }
        let fits = after.iter().take(RECORDS).take_while(|&&b| b - first <= BYTES).count().max(1);
        let (piece, _) = rest.split_at_checked(fits + 1).unwrap_or((rest, &[]));
        out.push(piece);
        rest = rest.get(fits..).unwrap_or_default();
    }
    out
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
            return Err(Error::new(Status::Unsupported, format!("HOLDALL_OPT_CHECKSUM: {n} has no place in this bag; {fit} and HOLDALL_SUM_NONE do")));
        }
    };
    Ok(Encoding { codec, level, checksum, dictionary })
}
