//! Writes bags. Records are encoded and buffered; a commit makes all of them durable and visible,
//! or none.
//!
//! Records to be compressed are collected first (see [`super::encode_queue`]). Encoded records are
//! buffered and committed in one of three ways:
//!
//! - *New and replaced bags* are written to files with temporary names (`NAME.holdall-new`). The
//!   first commit renames them.
//! - *Appends to limits at the tail*: new records are buffered in memory, and beyond 1 MiB in a
//!   temporary file. A commit saves the old limits in the journal, overwrites them with records and
//!   limits, and removes the journal.
//! - *Appends to separate limits*: new records are written after the committed ones at once (bytes
//!   after the last limit are not visible). A commit records the old lengths in the journal and
//!   appends the limits.
//!
//! Beside an uncompressed bag, `checksums.NAME` contains one little-endian CRC-32 per record.
//!
//! A set of shards is interleaved: record i is written to shard i modulo the number of shards, and
//! the files contain a mark (see [`super::interleave`]). The set commits as a unit with a journal
//! of its own (see [`crate::io::journal`]). The shards write and sync in parallel before and after
//! the journal, because a commit mostly waits for the disk.
#![forbid(unsafe_code)]

mod dictionary_choice;
mod placement;
mod shard_writer;
mod spill_buffer;
mod upload;

use super::Bag;
use super::batch::{FrameForm, Records};
use super::codec::{CODEC_BY_NAME, Codec, Decoder, Encoding, is_codec_unspecified};
use super::dictionary;
use super::encode_queue::{Encoders, UnencodedRecords};
use super::shard::container;
use super::spec::{self, Set, Target};
use crate::checksum::{Checksum, crc32};
use crate::error::{Result, fail};
use crate::io::fd_pool;
use crate::io::journal::{self, Change, Container, Mode, Session};
use crate::io::{Folder, locate, object};
use crate::offsets::{check_offsets, span};
use crate::options::{BAG_OPTIONS, Opt, Options};
use crate::os::OsStrExt;
use crate::parallel;
use crate::parallel::ordered::ConsumerThread;
use crate::progress::{self, Progress, Step, measured};
use crate::slice::SliceExt;
use shard_writer::{NewNames, ShardWriter};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options accepted when a writer is opened.
pub const WRITE_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Checksum,
    Opt::Dictionary,
    Opt::BagDictionary,
    Opt::BagLimits,
];

/// Maximum number of bytes buffered in memory per file, for all files, and minimum per file of a
/// large set. Tests on the simulated disk exceed it with records that are copied many times.
const MAX_BUFFERED: usize = if cfg!(test) { 64 << 10 } else { 1 << 20 };
const MAX_BUFFERED_TOTAL: usize = 16 << 20;
const MIN_BUFFERED: usize = 4 << 10;
/// Values of [`Opt::BagDictionary`].
const DICTIONARY_STORED: i64 = 1;
const DICTIONARY_AUTO: i64 = 2;
/// The value of [`Opt::Checksum`] for CRC-32. In a compressed bag it selects the checksum of zstd.
const CHECKSUM_CRC32: i64 = Checksum::Crc32 as i64;
/// The value of [`Opt::Checksum`] for the checksum inside zstd frames. No [`Checksum`] has it.
const CHECKSUM_ZSTD: i64 = 9;

/// A writer of one bag, which is one file or a set of files.
pub struct Writer {
    shards: Vec<ShardWriter>,
    threads: usize,
    progress: Option<Progress>,
    encoding: Encoding,
    /// Whether the options state the level.
    is_level_given: bool,
    /// `None` if records are stored uncompressed.
    encoders: Option<Encoders>,
    /// Records that were appended one by one and are not encoded yet.
    unencoded: UnencodedRecords,
    /// Whether records are held back until there are enough to choose a dictionary.
    is_choosing: bool,
    /// Whether the options say nothing about a dictionary, so that copies retain that of their source.
    adopts_dictionary: bool,
    /// Whether the option states that the shards are interleaved.
    interleaving_given: bool,
    /// Number of committed records, and of encoded records that are not committed.
    committed: u64,
    uncommitted: u64,
    /// Whether the only commit of a bag in an object store is done.
    finished: bool,
    /// The session of the unit of commits: the container of the single file, or the set.
    // Dropped last, so that the locks are held during the cleanup.
    session: Session,
}

impl Writer {
    /// Opens a path for writing: one file or a set (`name@N`).
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Writer> {
        let _scope = object::request_scope(options);
        if path.as_bytes().contains(&0) {
            return Err(fail!(Argument, "the path holds a NUL"));
        }
        match spec::write_target(path, mode == Mode::New)? {
            Target::File(text) => {
                let located = locate::locate_for_change(&text)?;
                Writer::open_in(&located.folder, &located.name, mode, options)
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
        let options = &options.applying("opening a bag for writing", WRITE_OPTIONS, BAG_OPTIONS)?;
        let container = container(folder, name);
        let session = Session::open(container.clone(), folder.show(name), mode, options)?;
        Writer::over(session, vec![container], options)
    }

    /// Opens the shards of a set in a folder for writing.
    pub fn open_set_in(
        folder: &Arc<dyn Folder>,
        set: &Set,
        mode: Mode,
        options: &Options,
    ) -> Result<Writer> {
        let known = [WRITE_OPTIONS, &[Opt::BagShards]].concat();
        let options =
            &options.applying("opening a set of bags for writing", &known, BAG_OPTIONS)?;
        if options.given(Opt::BagShards) == Some(0) {
            return Err(fail!(
                Argument,
                "HOLDALL_OPT_BAG_SHARDS: a set is always written interleaved; otherwise write its shards one by one"
            ));
        }
        let folder = if fd_pool::is_needed(set.count as usize) {
            fd_pool::pooled(folder)
        } else {
            folder.clone()
        };
        let shown = folder.show(&set.name(0));
        let session = Session::open(set.container(&folder), shown, mode, options)?;
        let shards: Vec<Container> = (0..set.count)
            .map(|i| Container {
                sets: Vec::new(),
                ..container(&folder, &set.name(i))
            })
            .collect();
        shards
            .iter()
            .try_for_each(|c| journal::recover_and_clean(c, session.is_durable()))?;
        Writer::over(session, shards, options)
    }

    fn over(session: Session, shards: Vec<Container>, options: &Options) -> Result<Writer> {
        let first = shards.first().map_or(OsStr::new(""), |c| &c.main);
        let codec = Codec::choose(options.get(Opt::Codec, CODEC_BY_NAME), first.as_bytes())?;
        let encoding = encoding(codec, options)?;
        let encoders = encoders(&encoding)?;
        let separate = options.get(Opt::BagLimits, 0) == 1;
        let with_checksums = codec == Codec::None && encoding.checksum;
        let max_buffered =
            (MAX_BUFFERED_TOTAL / shards.len().max(1)).clamp(MIN_BUFFERED, MAX_BUFFERED);
        let mut w = Writer {
            shards: shards
                .into_iter()
                .map(|c| {
                    ShardWriter::new(
                        c,
                        codec,
                        separate,
                        with_checksums,
                        max_buffered,
                        options.memory_limit(),
                    )
                })
                .collect(),
            interleaving_given: options.given(Opt::BagShards).is_some(),
            threads: options.threads().count(),
            progress: options.progress().cloned(),
            encoders,
            unencoded: UnencodedRecords::new(),
            is_choosing: options.get(Opt::BagDictionary, 0) == DICTIONARY_AUTO,
            adopts_dictionary: options.given(Opt::BagDictionary).is_none()
                && encoding.dictionary.is_none(),
            encoding,
            is_level_given: options.given(Opt::Level).is_some(),
            committed: 0,
            uncommitted: 0,
            finished: false,
            session,
        };
        w.store_dictionary()?;
        let of = w.shards.len() as u32;
        (0..)
            .zip(&mut w.shards)
            .for_each(|(i, s)| s.set_mark(i, of));
        if w.is_in_store() {
            w.target_object_store()?;
        }
        match w.session.mode() {
            Mode::New | Mode::Replace => w.refuse_existing()?,
            Mode::Append => w.open_committed(options)?,
        }
        Ok(w)
    }

    fn refuse_existing(&self) -> Result<()> {
        self.shards
            .iter()
            .try_for_each(|s| s.refuse_existing(&self.session))
    }

    fn is_in_store(&self) -> bool {
        self.session.container().folder.is_store()
    }

    /// Opens the last commit for appending.
    fn open_committed(&mut self, options: &Options) -> Result<()> {
        let decoder = Arc::new(Decoder::new(
            self.encoding.codec,
            options.given_bytes(Opt::Dictionary),
        )?);
        let asked = options.given(Opt::Checksum).is_some_and(|s| s != 0);
        let (mut all, mut dictionaries) = (None, Vec::new());
        for shard in &mut self.shards {
            let codec_unspecified = is_codec_unspecified(
                options.get(Opt::Codec, CODEC_BY_NAME),
                shard.name("").as_bytes(),
            );
            let (protected, dictionary) = shard.open_committed(&decoder, codec_unspecified)?;
            if shard.committed > 0 {
                dictionaries.push((shard.show(), dictionary));
            }
            if protected == Some(false) && asked {
                return Err(fail!(
                    State,
                    "{}: its {} records have no checksums, so appended ones cannot have any; rewrite it to add checksums",
                    shard.show(),
                    shard.committed
                ));
            }
            all = protected.map_or(all, |p| Some(p && all != Some(false)));
        }
        self.committed = self.shards.iter().map(|s| s.committed).sum();
        self.refuse_uneven_shards()?;
        self.refuse_unmarked()?;
        self.continue_dictionary(&dictionaries)?;
        if let Some(protected) = all {
            self.continue_checksums(protected)?;
        }
        Ok(())
    }

    /// Continues with or without checksums, as the existing records have them.
    fn continue_checksums(&mut self, protected: bool) -> Result<()> {
        if self.encoders.is_some() {
            self.encoding.checksum = protected;
            self.encoders = encoders(&self.encoding)?;
            return Ok(());
        }
        // Shards without records follow the others.
        self.shards
            .iter_mut()
            .filter(|s| s.committed == 0)
            .for_each(|s| s.set_checksums(protected));
        Ok(())
    }

    /// Returns an error if the numbers of records cannot result from interleaving.
    fn refuse_uneven_shards(&self) -> Result<()> {
        let n = self.shards.len().max(1) as u64;
        for (shard, i) in self.shards.iter().zip(0..) {
            let expected = self.committed / n + u64::from(i < self.committed % n);
            if shard.committed != expected {
                return Err(fail!(
                    State,
                    "{}: it has {} records; of {} interleaved records in {n} shards it would have {expected}; append to the shards one by one",
                    shard.show(),
                    shard.committed,
                    self.committed
                ));
            }
        }
        Ok(())
    }

    /// Returns an error if no shard has an interleave mark. Sets written by Bagz usually are not
    /// interleaved.
    fn refuse_unmarked(&self) -> Result<()> {
        if self.shards.len() < 2
            || self.interleaving_given
            || self.committed == 0
            || self.shards.iter().any(|s| s.marked)
        {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: this set has no mark that it is interleaved; append to its shards one by one (HOLDALL_OPT_BAG_SHARDS = HOLDALL_BAG_SHARDS_INTERLEAVED asserts that it is interleaved)",
            self.shown()
        ))
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// Returns the number of records, committed and appended since.
    pub fn size(&self) -> u64 {
        self.committed + self.uncommitted + self.unencoded.count()
    }

    fn shown(&self) -> String {
        self.shards.first().map_or(String::new(), ShardWriter::show)
    }

    fn check(&self) -> Result<()> {
        self.session.check()?;
        if self.finished {
            return Err(upload::single_commit_error(&self.shown()));
        }
        Ok(())
    }

    /// Appends one record. On failure nothing is appended.
    pub fn append(&mut self, record: &[u8]) -> Result<()> {
        self.check()?;
        if self.encoders.is_none() {
            let crc = if self.with_checksums() {
                crc32(record)
            } else {
                0
            };
            return self.push(record, &[record.len() as u64], &[crc]);
        }
        if !self.holds_back(1, record.len()) && self.unencoded.fills(1, record.len(), self.threads)
        {
            self.encode_pending()?;
        }
        self.unencoded.push(record)
    }

    fn with_checksums(&self) -> bool {
        self.shards.iter().any(ShardWriter::with_checksums)
    }

    /// Appends the records `data[offsets[i]..offsets[i + 1]]` in order. They are compressed in
    /// parallel. On failure, [`Writer::size`] returns how many were appended.
    pub fn append_many(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        self.check()?;
        check_offsets(data.len() as u64, offsets)?;
        let total = span(data, offsets).len() as u64;
        measured(self.progress.clone(), total, Step::Encode, || {
            self.append_checked(data, offsets)
        })
    }

    fn append_checked(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        let (records, bytes) = (offsets.len(), span(data, offsets).len());
        if self.encoders.is_some()
            && (self.holds_back(records, bytes)
                || !self.unencoded.fills(records, bytes, self.threads))
        {
            return offsets
                .windows(2)
                .try_for_each(|w| self.unencoded.push(span(data, w)));
        }
        if self.is_choosing {
            self.choose_dictionary(data, offsets)?;
        }
        self.encode_pending()?;
        self.encode(data, offsets)
    }

    /// Returns the form of the frames of a bag that may be appended as they are; `None`: all records
    /// must be encoded.
    pub(super) fn form_of_frames(&self, bag: &Bag) -> Result<Option<FrameForm>> {
        if self.encoders.is_none() || self.is_level_given || self.is_choosing {
            return Ok(None);
        }
        let dictionary = self.encoding.dictionary.as_deref();
        let form = FrameForm {
            checksum: self.encoding.checksum,
            dictionary: dictionary.and_then(dictionary::id).unwrap_or(0),
        };
        Ok((bag.decoding_dictionary()?.as_deref() == dictionary).then_some(form))
    }

    /// Appends records as [`Writer::append_many`] does: their frames as they are, where the batch
    /// has them.
    pub(super) fn append_frames(&mut self, records: &Records) -> Result<()> {
        self.check()?;
        self.encode_pending()?;
        let mut i = 0;
        while i < records.len() {
            let (stored, lengths) = records.frames.run(i);
            if lengths.is_empty() {
                let others = (i..records.len()).take_while(|i| !records.frames.has(*i));
                let next = i + others.count();
                self.encode(&records.data, records.offsets.at(i..=next)?)?;
                i = next;
            } else {
                self.push(stored, &lengths, &[])?;
                i += lengths.len();
            }
        }
        Ok(())
    }

    /// Encodes the records that were appended one by one.
    fn encode_pending(&mut self) -> Result<()> {
        if self.is_choosing && self.unencoded.count() > 0 {
            self.choose_dictionary(&[], &[])?;
        }
        let mut unencoded = std::mem::replace(&mut self.unencoded, UnencodedRecords::new());
        let before = self.uncommitted;
        let done = self.encode(&unencoded.data, &unencoded.offsets);
        // Records that were not stored are retained for another attempt.
        unencoded.remove_first(self.uncommitted - before);
        self.unencoded = unencoded;
        done
    }

    fn encode(&mut self, data: &[u8], offsets: &[u64]) -> Result<()> {
        let Some(encoders) = self.encoders.take() else {
            let lengths: Vec<u64> = offsets
                .windows(2)
                .map(|w| span(data, w).len() as u64)
                .collect();
            let checksums: Vec<u32> = if self.with_checksums() {
                offsets.windows(2).map(|w| crc32(span(data, w))).collect()
            } else {
                Vec::new()
            };
            return self.push(span(data, offsets), &lengths, &checksums);
        };
        // Functions of the caller and requests run on the thread of the caller.
        let is_foreign = self.session.container().folder.is_foreign();
        let keeper = if is_foreign || self.is_in_store() {
            ConsumerThread::Caller
        } else {
            ConsumerThread::Any
        };
        let done = encoders.each(data, offsets, (self.threads, keeper), |e| {
            self.push(&e.bytes, &e.lengths, &[])
        });
        self.encoders = Some(encoders);
        done
    }

    /// Adds stored records in order. After a failure, `uncommitted` says how many.
    fn push(&mut self, stored: &[u8], lengths: &[u64], checksums: &[u32]) -> Result<()> {
        if let [shard] = &mut self.shards[..]
            && !shard.needs_trailer()
        {
            shard.push(stored, lengths, checksums)?;
            self.uncommitted += lengths.len() as u64;
            return Ok(());
        }
        let (n, mut rest) = (self.shards.len().max(1) as u64, stored);
        for (i, len) in lengths.iter().enumerate() {
            let mark = (self.committed + self.uncommitted) % n;
            let (record, rest_after) = rest.split_at_checked(*len as usize).unwrap_or((rest, &[]));
            let sum = checksums
                .get(i..)
                .and_then(|s| s.get(..1))
                .unwrap_or_default();
            if let Some(shard) = self.shards.get_mut(mark as usize) {
                if shard.needs_trailer() {
                    let first = shard.with_trailer(record)?;
                    shard.push(&first, &[first.len() as u64], sum)?;
                } else {
                    shard.push(record, &[*len], sum)?;
                }
            }
            self.uncommitted += 1;
            rest = rest_after;
        }
        Ok(())
    }

    // ---- commits

    /// Makes all appended records durable and visible, together.
    ///
    /// On failure the bag is in the state of the last commit. If that is not certain, this writer
    /// refuses further calls, and the next open recovers the bag.
    pub fn commit(&mut self) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        self.check()?;
        let pending = self.unencoded.data.len() as u64;
        measured(self.progress.clone(), pending, Step::Encode, || {
            self.commit_appended()
        })
    }

    fn commit_appended(&mut self) -> Result<()> {
        self.encode_pending()?;
        if self.is_in_store() {
            progress::poll()?;
            return self.publish();
        }
        let fresh = !self.shards.iter().all(ShardWriter::has_base);
        if !fresh && self.uncommitted == 0 {
            return Ok(());
        }
        self.session.check_commit()?;
        if fresh {
            self.commit_new()?;
        } else {
            self.commit_append()?;
        }
        self.committed += std::mem::take(&mut self.uncommitted);
        // The commit is durable and visible from here on. A later failure only makes this writer
        // unusable.
        for shard in &mut self.shards {
            if (fresh || shard.uncommitted > 0) && shard.after_commit().is_err() {
                self.session.mark_broken();
            }
        }
        Ok(())
    }

    /// Commits a new bag, or one that replaces another, for the first time.
    fn commit_new(&mut self) -> Result<()> {
        self.refuse_existing()?;
        let session = &self.session;
        let mut names: Vec<NewNames> = self.shards.iter().map(|_| NewNames::default()).collect();
        let finished = self.shards.iter_mut().zip(&mut names).collect();
        parallel::try_for_each(self.threads, finished, |(shard, names)| {
            shard.finish_new(session, names)
        })?;
        let (renames, removals): (Vec<_>, Vec<_>) =
            names.into_iter().map(|n| (n.renames, n.removals)).unzip();
        session.swap(&renames.concat(), &removals.concat())?;
        self.shards.iter().for_each(ShardWriter::tidy_new);
        Ok(())
    }

    /// Commits an append in place.
    fn commit_append(&mut self) -> Result<()> {
        let session = &self.session;
        let mut changes: Vec<Vec<Change<'_>>> = self.shards.iter().map(|_| Vec::new()).collect();
        let begun = self
            .shards
            .iter_mut()
            .zip(&mut changes)
            .filter(|(s, _)| s.uncommitted > 0)
            .collect();
        parallel::try_for_each(self.threads, begun, |(shard, changes)| {
            shard.begin_append(session, changes)
        })?;
        let changes: Vec<_> = changes.into_iter().flatten().collect();
        let undo = session.begin(&changes)?;
        drop(changes);
        self.session.finish(undo, self.write_append())
    }

    fn write_append(&self) -> Result<()> {
        let named = AtomicBool::new(false);
        parallel::try_for_each(
            self.threads,
            self.shards.iter().filter(|s| s.uncommitted > 0).collect(),
            |shard: &ShardWriter| {
                named.fetch_or(shard.write_append(&self.session)?, Ordering::Relaxed);
                Ok(())
            },
        )?;
        if named.into_inner() && self.session.is_durable() {
            self.session.container().folder.sync()
        } else {
            Ok(())
        }
    }
}

impl Drop for Writer {
    /// Removes uncommitted data as far as possible.
    fn drop(&mut self) {
        let session = &self.session;
        if !session.is_broken() && session.is_own() {
            self.shards.iter_mut().for_each(|s| s.abandon(session));
        }
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
    let dictionary = options
        .given_bytes(Opt::Dictionary)
        .filter(|d| !d.is_empty())
        .cloned();
    let how = options.get(Opt::BagDictionary, 0);
    if codec == Codec::None && (level != 0 || dictionary.is_some() || how != 0) {
        return Err(fail!(
            Argument,
            "HOLDALL_OPT_LEVEL, HOLDALL_OPT_DICTIONARY and HOLDALL_OPT_BAG_DICTIONARY do not apply to an uncompressed bag"
        ));
    }
    match (how, &dictionary) {
        (DICTIONARY_STORED, None) => {
            return Err(fail!(
                Argument,
                "HOLDALL_OPT_BAG_DICTIONARY: the dictionary to store is not given (HOLDALL_OPT_DICTIONARY)"
            ));
        }
        (DICTIONARY_AUTO, Some(_)) => {
            return Err(fail!(
                Argument,
                "HOLDALL_OPT_BAG_DICTIONARY: HOLDALL_BAG_DICTIONARY_AUTO trains a dictionary (expected none in HOLDALL_OPT_DICTIONARY)"
            ));
        }
        _ => {}
    }
    let checksum = match (options.given(Opt::Checksum), codec) {
        (None | Some(CHECKSUM_CRC32), _) | (Some(CHECKSUM_ZSTD), Codec::Zstd) => true,
        (Some(0), _) => false,
        (Some(n), _) => {
            let fit = if codec == Codec::Zstd {
                "HOLDALL_CHECKSUM_ZSTD (or _CRC32, which is equivalent here)"
            } else {
                "HOLDALL_CHECKSUM_CRC32"
            };
            let found = match Checksum::from_number(n as i32) {
                Ok(algorithm) => algorithm.to_string(),
                Err(_) => "HOLDALL_CHECKSUM_ZSTD".into(),
            };
            return Err(fail!(
                Unsupported,
                "HOLDALL_OPT_CHECKSUM: {found} is not supported in this bag; {fit} and HOLDALL_CHECKSUM_NONE are"
            ));
        }
    };
    Ok(Encoding {
        codec,
        level,
        checksum,
        dictionary,
        is_stored: how == DICTIONARY_STORED,
    })
}
