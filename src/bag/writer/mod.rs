//! Writes bags: records are encoded and kept aside; a commit makes all of them count, or none.
//!
//! Records that are to be compressed are first gathered (see [`super::ahead`]). Where those that
//! are encoded wait, and what a commit does:
//! - *New and replaced bags* grow under temporary names (`NAME.holdall-new`); the first commit puts
//!   them in place.
//! - *Limits at the tail, appended to*: new records wait in memory, beyond a MiB in a temporary
//!   file; a commit saves the old limits in the journal, writes records and limits over them, and
//!   removes it.
//! - *Separate limits, appended to*: new records go behind the committed ones at once (bytes behind
//!   the last limit do not count); a commit notes the old lengths in the journal and appends the
//!   limits.
//!
//! Beside an uncompressed bag, `checksums.NAME` has one little-endian CRC-32 a record.
//!
//! A set of shards is written in turns: record i goes to shard i modulo their number, and what is
//! written says so (see [`super::turn`]). It commits as one: the journal is that
//! of the set (see [`crate::io::journal`]). What the shards have to write and to sync before the
//! journal, or behind it, they do in parallel: to wait for the disk is most of a commit.
#![forbid(unsafe_code)]

mod sink;
mod store;
mod upload;

use super::codec::{CODEC_BY_NAME, Codec, Decoder, Encoding, is_unsaid};
use super::encode_queue::{Encoders, Gathered, span};
use super::shard::container;
use super::spec::{self, Set, Target};
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::fd_pool;
use crate::io::journal::{self, Change, Container, Swapped, Undo};
use crate::io::lock::Lock;
use crate::io::{File, Folder, locate, object};
use crate::options::{Opt, Options};
use crate::os::{self, OsStrExt};
use crate::parallel;
use crate::parallel::ordered::Keeper;
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{NewNames, Store};

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

/// Bytes that wait in memory before they go to a file: of one, of all, of one of many.
const MOST: usize = 1 << 20;
const MOST_OF_ALL: usize = 16 << 20;
const LEAST: usize = 4 << 10;
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

/// What holds for all files of a bag that is written.
pub struct Rules {
    codec: Codec,
    durable: bool,
    sync_failed: AtomicBool,
}

impl Rules {
    /// Makes what was written to a file durable, if that is wished.
    fn sync(&self, file: &dyn File) -> Result<()> {
        let done = if self.durable { file.sync() } else { Ok(()) };
        self.sync_failed.fetch_or(done.is_err(), Ordering::Relaxed);
        done
    }
}

/// A writer of one bag, of one file or a set of them.
pub struct Writer {
    stores: Vec<Store>,
    /// What commits as a whole: the container of the one file, or the set.
    whole: Container,
    rules: Rules,
    threads: usize,
    encoding: Encoding,
    /// None: records are stored as they are.
    encoders: Option<Encoders>,
    /// Records that came one by one and are not encoded yet.
    gathered: Gathered,
    mode: Mode,
    /// The caller has said that the shards are in turns.
    turns_said: bool,
    /// Records of the last commit, and those waiting in the stores.
    committed: u64,
    waiting: u64,
    /// A commit failed in a way that leaves this writer unsure of the files.
    broken: bool,
    /// The one commit that a bag in an object store has is done.
    finished: bool,
    /// The process that opened it: a forked child may neither write nor tidy up.
    owner: u32,
    // last, so that the locks outlive what tidies up
    locks: Vec<Lock>,
}

impl Writer {
    /// Opens a path for writing: of one file, or of a set (`name@N`).
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Writer> {
        let _asking = object::ask_as(options);
        if path.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        match spec::to_write(path, mode == Mode::New)? {
            Target::File(text) => {
                let place = locate::locate_for_change(&text)?;
                Writer::open_in(&place.folder, &place.name, mode, options)
            }
            Target::Set(folder, set) => Writer::open_set_in(&folder, &set, mode, options),
        }
    }

    /// Opens a name in a folder for writing.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Writer> {
        options.only("opening a bag for writing", WRITE_OPTIONS)?;
        folder.writable()?;
        let container = container(folder, name);
        let (wanted, durable) = (
            options.get(Opt::Lock, 1) == 1,
            options.get(Opt::Durability, 1) == 1,
        );
        let mut locks = journal::enter(&container, wanted, durable)?;
        locks.push(container.lock(wanted)?);
        Writer::over(container.clone(), vec![container], locks, mode, options)
    }

    /// Opens the shards of a set in a folder for writing.
    pub fn open_set_in(
        folder: &Arc<dyn Folder>,
        set: &Set,
        mode: Mode,
        options: &Options,
    ) -> Result<Writer> {
        let known = [WRITE_OPTIONS, &[Opt::BagShards]].concat();
        options.only("opening a set of bags for writing", &known)?;
        if options.given(Opt::BagShards) == Some(0) {
            return Err(fail!(
                Argument,
                "HOLDALL_OPT_BAG_SHARDS: a set is written in turns; without them, its shards are written one by one"
            ));
        }
        folder.writable()?;
        let folder = if fd_pool::needed(set.count as usize) {
            fd_pool::within(folder)
        } else {
            folder.clone()
        };
        let whole = set.container(&folder);
        let lock = whole.lock(options.get(Opt::Lock, 1) == 1)?;
        journal::settle(&whole, options.get(Opt::Durability, 1) == 1)?;
        let shards = (0..set.count)
            .map(|i| Container {
                within: Vec::new(),
                ..container(&folder, &set.name(i))
            })
            .collect();
        Writer::over(whole, shards, vec![lock], mode, options)
    }

    fn over(
        whole: Container,
        shards: Vec<Container>,
        locks: Vec<Lock>,
        mode: Mode,
        options: &Options,
    ) -> Result<Writer> {
        let first = shards.first().map_or(OsStr::new(""), |c| &c.main);
        let codec = Codec::choose(options.get(Opt::Codec, CODEC_BY_NAME), first.as_bytes())?;
        let encoding = encoding(codec, options)?;
        let rules = Rules {
            codec,
            durable: options.get(Opt::Durability, 1) == 1,
            sync_failed: AtomicBool::new(false),
        };
        let encoders = encoders(&encoding)?;
        shards
            .iter()
            .try_for_each(|c| journal::tidy(c, rules.durable))?;
        let separate = options.get(Opt::BagLimits, 0) == 1;
        let with_sums = codec == Codec::None && encoding.checksum;
        let most = (MOST_OF_ALL / shards.len().max(1)).clamp(LEAST, MOST);
        let mut w = Writer {
            stores: shards
                .into_iter()
                .map(|c| Store::new(c, separate, with_sums, most, options.memory_limit()))
                .collect(),
            turns_said: options.given(Opt::BagShards).is_some(),
            whole,
            rules,
            threads: options.threads().count(),
            encoders,
            gathered: Gathered::new(),
            encoding,
            mode,
            committed: 0,
            waiting: 0,
            broken: false,
            finished: false,
            owner: os::process(),
            locks,
        };
        let of = w.stores.len() as u32;
        (0..)
            .zip(&mut w.stores)
            .for_each(|(i, s)| s.take_turns(i, of));
        if w.whole.folder.is_store() {
            w.aim_at_store()?;
        }
        match mode {
            Mode::New | Mode::Replace => w.refuse_existing()?,
            Mode::Append => w.open_committed(options)?,
        }
        Ok(w)
    }

    fn refuse_existing(&self) -> Result<()> {
        self.stores
            .iter()
            .try_for_each(|s| s.refuse_existing(self.rules.codec, self.mode))
    }

    /// Opens the last commit to go on from it.
    fn open_committed(&mut self, options: &Options) -> Result<()> {
        let decoder = Arc::new(Decoder::new(
            self.encoding.codec,
            options.given_bytes(Opt::Dictionary),
        )?);
        let asked = options.given(Opt::Checksum).is_some_and(|s| s != 0);
        let mut all = None;
        for store in &mut self.stores {
            let unsaid = is_unsaid(
                options.get(Opt::Codec, CODEC_BY_NAME),
                store.name("").as_bytes(),
            );
            let protected = store.open_committed(&decoder, unsaid)?;
            if protected == Some(false) && asked {
                return Err(fail!(
                    State,
                    "{}: its {} records have no checksums, so those appended cannot have any (write it anew for that)",
                    store.show(),
                    store.committed
                ));
            }
            all = protected.map_or(all, |p| Some(p && all != Some(false)));
        }
        self.committed = self.stores.iter().map(|s| s.committed).sum();
        self.refuse_out_of_turn()?;
        self.refuse_unmarked()?;
        if let Some(protected) = all {
            self.go_on_with_checksums(protected)?;
        }
        Ok(())
    }

    /// Checksums go on as they are.
    fn go_on_with_checksums(&mut self, protected: bool) -> Result<()> {
        if self.encoders.is_some() {
            self.encoding.checksum = protected;
            self.encoders = encoders(&self.encoding)?;
            return Ok(());
        }
        // those that have no record yet do as the others
        self.stores
            .iter_mut()
            .filter(|s| s.committed == 0)
            .for_each(|s| s.keep_sums(protected));
        Ok(())
    }

    /// Refuses to go on in turns with shards that were not written in turns.
    fn refuse_out_of_turn(&self) -> Result<()> {
        let n = self.stores.len().max(1) as u64;
        for (store, i) in self.stores.iter().zip(0..) {
            let want = self.committed / n + u64::from(i < self.committed % n);
            if store.committed != want {
                return Err(fail!(
                    State,
                    "{}: it has {} records; of {} records in {n} shards, written in turns, it would have {want}: append to the shards one by one",
                    store.show(),
                    store.committed,
                    self.committed
                ));
            }
        }
        Ok(())
    }

    /// Refuses to go on in turns with shards that do not say that they are: those of Bagz are not,
    /// as a rule.
    fn refuse_unmarked(&self) -> Result<()> {
        if self.stores.len() < 2
            || self.turns_said
            || self.committed == 0
            || self.stores.iter().any(|s| s.marked)
        {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: nothing in this set says that it was written in turns; append to its shards one by one (HOLDALL_OPT_BAG_SHARDS 1 says that it was)",
            self.shown()
        ))
    }

    /// Records of the last commit and those appended since.
    pub fn size(&self) -> u64 {
        self.committed + self.waiting + self.gathered.count()
    }

    fn shown(&self) -> String {
        self.stores.first().map_or(String::new(), Store::show)
    }

    fn check(&self) -> Result<()> {
        if self.owner != os::process() {
            return Err(fail!(
                State,
                "{}: this writer belongs to the process that opened it",
                self.shown()
            ));
        }
        if self.finished {
            return Err(upload::whole(&self.shown()));
        }
        if self.broken {
            return Err(fail!(
                State,
                "{}: a commit of this writer failed half-way; open it again, what was committed before is whole",
                self.shown()
            ));
        }
        Ok(())
    }

    /// Appends one record. On failure nothing was appended.
    pub fn append(&mut self, record: &[u8]) -> Result<()> {
        self.check()?;
        if self.encoders.is_none() {
            let crc = if self.with_sums() { crc32(record) } else { 0 };
            return self.push(record, &[record.len() as u64], &[crc]);
        }
        if self.gathered.fills(1, record.len(), self.threads) {
            self.encode_gathered()?;
        }
        self.gathered.push(record)
    }

    fn with_sums(&self) -> bool {
        self.stores.iter().any(Store::with_sums)
    }

    /// Appends record `i` = `data[offsets[i]..offsets[i + 1]]`, for all but the last of `offsets`,
    /// in order; compressed in parallel. On failure, [`Writer::size`] tells how many went in.
    pub fn append_many(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        self.check()?;
        check_offsets(data.len() as u64, offsets)?;
        if self.encoders.is_some()
            && !self
                .gathered
                .fills(offsets.len(), span(data, offsets).len(), self.threads)
        {
            return offsets
                .windows(2)
                .try_for_each(|w| self.gathered.push(span(data, w)));
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
            let lengths: Vec<u64> = offsets
                .windows(2)
                .map(|w| span(data, w).len() as u64)
                .collect();
            let sums: Vec<u32> = if self.with_sums() {
                offsets.windows(2).map(|w| crc32(span(data, w))).collect()
            } else {
                Vec::new()
            };
            return self.push(span(data, offsets), &lengths, &sums);
        };
        // a caller's functions, and requests, stay on the caller's thread
        let keeper = if self.whole.folder.is_foreign() || self.whole.folder.is_store() {
            Keeper::Caller
        } else {
            Keeper::Any
        };
        let done = encoders.each(data, offsets, (self.threads, keeper), |e| {
            self.push(&e.bytes, &e.lengths, &[])
        });
        self.encoders = Some(encoders);
        done
    }

    /// Takes in stored records, in order. Of one file: all or, on failure, none.
    fn push(&mut self, stored: &[u8], lengths: &[u64], sums: &[u32]) -> Result<()> {
        if let [store] = &mut self.stores[..] {
            store.push(stored, lengths, sums)?;
            self.waiting += lengths.len() as u64;
            return Ok(());
        }
        let (n, mut rest) = (self.stores.len().max(1) as u64, stored);
        for (i, len) in lengths.iter().enumerate() {
            let turn = (self.committed + self.waiting) % n;
            let (record, behind) = rest.split_at_checked(*len as usize).unwrap_or((rest, &[]));
            let sum = sums.get(i..).and_then(|s| s.get(..1)).unwrap_or_default();
            if let Some(store) = self.stores.get_mut(turn as usize) {
                match store.with_mark(record, self.rules.codec) {
                    Some(marked) => store.push(&marked, &[marked.len() as u64], sum)?,
                    None => store.push(record, &[*len], sum)?,
                }
            }
            self.waiting += 1;
            rest = behind;
        }
        Ok(())
    }

    // ---- commits

    /// Makes all records appended so far durable and visible, together. On failure the bag is as
    /// the last commit left it; where that cannot be known, this writer refuses to go on, and
    /// whoever opens the bag next finds it whole.
    pub fn commit(&mut self) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        self.check()?;
        self.encode_gathered()?;
        if self.whole.folder.is_store() {
            return self.publish();
        }
        let fresh = !self.stores.iter().all(Store::has_base);
        if !fresh && self.waiting == 0 {
            return Ok(());
        }
        self.locks.iter().try_for_each(Lock::still_held)?;
        let done = if fresh {
            self.commit_new()
        } else {
            self.commit_append()
        };
        // after a sync that failed, the system may have thrown away what it could not write, and
        // says so once
        self.broken |= self.rules.sync_failed.load(Ordering::Relaxed);
        done?;
        self.committed += std::mem::take(&mut self.waiting);
        // from here on the commit stands; what fails now only ends this writer
        for store in &mut self.stores {
            self.broken |= (fresh || store.waiting > 0) && store.go_on().is_err();
        }
        Ok(())
    }

    /// The first commit of a new bag, or of one that replaces another.
    fn commit_new(&mut self) -> Result<()> {
        self.refuse_existing()?;
        let rules = &self.rules;
        let mut names: Vec<NewNames> = self.stores.iter().map(|_| NewNames::default()).collect();
        let finished = self.stores.iter_mut().zip(&mut names).collect();
        parallel::try_each(self.threads, finished, |(store, names)| {
            store.finish_new(rules, names)
        })?;
        let (renames, gone): (Vec<_>, Vec<_>) =
            names.into_iter().map(|n| (n.renames, n.gone)).unzip();
        let (renames, gone) = (renames.concat(), gone.concat());
        let swapped = journal::swap_files(&self.whole, self.rules.durable, &renames, &gone);
        self.broken = matches!(swapped, Swapped::Counts | Swapped::Unsure(_));
        match swapped {
            Swapped::Nothing(e) | Swapped::Unsure(e) => return Err(e),
            Swapped::Done | Swapped::Counts => {}
        }
        self.stores.iter().for_each(Store::tidy_new);
        Ok(())
    }

    /// A commit in place.
    fn commit_append(&mut self) -> Result<()> {
        let rules = &self.rules;
        let mut changes: Vec<Vec<Change<'_>>> = self.stores.iter().map(|_| Vec::new()).collect();
        let begun = self
            .stores
            .iter_mut()
            .zip(&mut changes)
            .filter(|(s, _)| s.waiting > 0)
            .collect();
        parallel::try_each(self.threads, begun, |(store, changes)| {
            store.begin_append(rules, changes)
        })?;
        let changes: Vec<_> = changes.into_iter().flatten().collect();
        let undo = Undo::begin(&self.whole, rules.durable, &changes)?;
        drop(changes);
        match self.write_append() {
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

    fn write_append(&self) -> Result<()> {
        let named = AtomicBool::new(false);
        parallel::try_each(
            self.threads,
            self.stores.iter().filter(|s| s.waiting > 0).collect(),
            |store: &Store| {
                named.fetch_or(store.write_append(&self.rules)?, Ordering::Relaxed);
                Ok(())
            },
        )?;
        if named.into_inner() && self.rules.durable {
            self.whole.folder.sync()
        } else {
            Ok(())
        }
    }
}

impl Drop for Writer {
    /// What was not committed goes, as far as it can.
    fn drop(&mut self) {
        if !self.broken && self.owner == os::process() {
            self.stores.iter_mut().for_each(Store::abandon);
        }
    }
}

fn check_offsets(size: u64, offsets: &[u64]) -> Result<()> {
    if let Some(i) = offsets
        .windows(2)
        .position(|w| matches!(w, [a, b] if a > b))
    {
        return Err(fail!(
            Argument,
            "offsets[{}] is smaller than offsets[{i}]",
            i + 1
        ));
    }
    match offsets.last() {
        Some(&end) if end > size => Err(fail!(
            Argument,
            "the last of the offsets, {end}, is beyond the {size} bytes of data"
        )),
        Some(_) => Ok(()),
        None => Err(fail!(
            Argument,
            "there must be one offset more than there are records"
        )),
    }
}

fn encoders(encoding: &Encoding) -> Result<Option<Encoders>> {
    if encoding.codec == Codec::None {
        Ok(None)
    } else {
        Encoders::new(encoding).map(Some)
    }
}

fn encoding(codec: Codec, options: &Options) -> Result<Encoding> {
    let level = options.get(Opt::Level, 0) as i32;
    let dictionary = options.given_bytes(Opt::Dictionary).cloned();
    if codec == Codec::None && (options.given(Opt::Level).is_some() || dictionary.is_some()) {
        return Err(fail!(
            Argument,
            "HOLDALL_OPT_LEVEL and HOLDALL_OPT_DICTIONARY mean nothing to a bag that is not compressed"
        ));
    }
    let checksum = match (options.given(Opt::Checksum), codec) {
        (None | Some(SUM_CRC32), _) | (Some(SUM_ZSTD), Codec::Zstd) => true,
        (Some(0), _) => false,
        (Some(n), _) => {
            let fit = if codec == Codec::Zstd {
                "HOLDALL_SUM_ZSTD (or _CRC32, which means the same here)"
            } else {
                "HOLDALL_SUM_CRC32"
            };
            return Err(Error::new(
                Status::Unsupported,
                format!(
                    "HOLDALL_OPT_CHECKSUM: {n} has no place in this bag; {fit} and HOLDALL_SUM_NONE do"
                ),
            ));
        }
    };
    Ok(Encoding {
        codec,
        level,
        checksum,
        dictionary,
    })
}
