//! Writes one file of a bag: its last commit, the uncommitted records, and its part of a commit.
#![forbid(unsafe_code)]

use super::placement::Placement;
use super::spill_buffer::SpillBuffer;
use crate::alloc;
use crate::bag::codec::{Codec, Decoder};
use crate::bag::dictionary::Dictionary;
use crate::bag::interleave::{MARK_SIZE, Mark, TURNS_PREFIX};
use crate::bag::limits::{LIMIT, Tail};
use crate::bag::shard::{CHECKSUM_SIZE, CHECKSUMS_PREFIX, LIMITS_PREFIX, Shard, ShardOptions};
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{Change, Container, SAMPLE_BYTES, Sample, Session};
use crate::io::{Access, File};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// The writer of one file of a bag.
pub struct ShardWriter {
    pub container: Container,
    codec: Codec,
    pub separate: bool,
    with_checksums: bool,
    /// The interleave mark, if the file is a shard of a set.
    mark: Option<Mark>,
    /// Whether the existing files contain the mark.
    pub marked: bool,
    /// The stored form of the dictionary, which follows the first record.
    dictionary: Option<Arc<[u8]>>,
    /// Maximum number of bytes of records in memory.
    max_buffered: usize,
    /// Maximum size of an allocation that a file can cause.
    memory_limit: u64,
    pub records: SpillBuffer,
    pub limits: SpillBuffer,
    pub checksums: SpillBuffer,
    base: Option<Base>,
    /// Number of committed and of uncommitted records.
    pub committed: u64,
    pub uncommitted: u64,
}

/// The files of the last commit.
struct Base {
    records: Arc<dyn File>,
    limits: Option<Arc<dyn File>>,
    checksums: Option<Arc<dyn File>>,
    /// End of the committed records, before the room after them.
    end: u64,
    /// Length of the records file when it was opened or last committed.
    size: u64,
}

/// The files that the first commit of a new bag renames and removes.
#[derive(Default)]
pub struct NewNames {
    pub renames: Vec<OsString>,
    pub removals: Vec<OsString>,
}

/// Whether existing records have checksums; `None` if there are no records.
pub type Protected = Option<bool>;

impl ShardWriter {
    /// Creates the writer of a container without a pending journal.
    pub fn new(
        container: Container,
        codec: Codec,
        separate: bool,
        with_checksums: bool,
        max_buffered: usize,
        memory_limit: u64,
    ) -> ShardWriter {
        let [records, limits, checksums] = sinks(&container, max_buffered);
        ShardWriter {
            container,
            codec,
            separate,
            with_checksums,
            mark: None,
            marked: false,
            dictionary: None,
            max_buffered,
            memory_limit,
            records,
            limits,
            checksums,
            base: None,
            committed: 0,
            uncommitted: 0,
        }
    }

    /// Returns the name of the file with this prefix.
    pub fn name(&self, prefix: &str) -> OsString {
        self.container.name(prefix)
    }

    /// Returns the maximum number of bytes of records in memory.
    pub fn max_buffered(&self) -> usize {
        self.max_buffered
    }

    /// Returns the name for messages.
    pub fn show(&self) -> String {
        self.container.folder.show(&self.container.main)
    }

    /// Returns whether there is a commit that the writer appends to.
    pub fn has_base(&self) -> bool {
        self.base.is_some()
    }

    /// Makes the file a shard of an interleaved set.
    pub fn set_mark(&mut self, shard: u32, of: u32) {
        self.mark = (of > 1).then_some(Mark { shard, of });
    }

    /// Sets the stored form of the dictionary that the frames name.
    pub fn set_dictionary(&mut self, frame: Arc<[u8]>) {
        self.dictionary = Some(frame);
    }

    /// Returns whether skippable frames follow the next record, which is then the first one of a
    /// compressed file.
    pub fn needs_trailer(&self) -> bool {
        let first = self.committed + self.uncommitted == 0 && self.codec == Codec::Zstd;
        first && (self.dictionary.is_some() || self.mark.is_some())
    }

    /// Returns the record with the frames of the dictionary and the interleave mark.
    pub fn with_trailer(&self, record: &[u8]) -> Result<Vec<u8>> {
        let dictionary = self.dictionary.as_deref().unwrap_or_default();
        let mark = self.mark.map(Mark::to_bytes);
        let mark = mark.as_ref().map_or(&[][..], |m| &m[..]);
        let mut all = alloc::with_capacity(record.len() + dictionary.len() + mark.len())?;
        [record, dictionary, mark]
            .iter()
            .for_each(|part| all.extend_from_slice(part));
        Ok(all)
    }

    /// Returns the mark to write to a separate file, which belongs to the first uncompressed shard.
    pub fn mark_in_file(&self) -> Option<Mark> {
        self.mark
            .filter(|mark| mark.shard == 0 && self.codec == Codec::None)
    }

    /// Returns whether checksums are written beside the records.
    pub fn with_checksums(&self) -> bool {
        self.with_checksums
    }

    /// Sets whether checksums are written. An existing checksums file is always continued.
    pub fn set_checksums(&mut self, requested: bool) {
        self.with_checksums =
            requested || self.base.as_ref().is_some_and(|b| b.checksums.is_some());
    }

    /// Returns an error if a file of a new bag exists. The name of the limits file must be free
    /// even if the limits are at the tail: it would be taken for the limits of this bag.
    pub fn refuse_existing(&self, session: &Session) -> Result<()> {
        let mark = if self.mark_in_file().is_some() {
            TURNS_PREFIX
        } else {
            ""
        };
        for prefix in [
            "",
            LIMITS_PREFIX,
            if self.codec == Codec::None {
                CHECKSUMS_PREFIX
            } else {
                ""
            },
            mark,
        ] {
            session
                .refuse_existing(&self.name(prefix))
                .map_err(with_modes)?;
        }
        Ok(())
    }

    /// Opens the last commit for appending. Returns the protection of its records and the dictionary
    /// that it stores.
    pub fn open_committed(
        &mut self,
        decoder: &Arc<Decoder>,
        codec_unspecified: bool,
    ) -> Result<(Protected, Option<Arc<Dictionary>>)> {
        let options = ShardOptions {
            access: Access::Read,
            separate: self.separate,
            cache: false,
            verify: true,
            find_mark: self.mark.is_some(),
            codec_unspecified,
            memory_limit: self.memory_limit,
        };
        let shard = Shard::open(&self.container, decoder, options)?;
        self.refuse_other_limits_layout(&shard)?;
        self.committed = shard.count();
        self.marked = match decoder.codec() {
            Codec::None => shard.mark_in_file(),
            Codec::Zstd => shard.mark()?,
        }
        .is_some_and(|mark| Some(mark) == self.mark);
        let (mut end, mut protected) = (0, None);
        if let Some(last) = shard.count().checked_sub(1) {
            // The bytes after the last limit will be overwritten, so they must not contain the last
            // record.
            shard.read(last, None)?;
            end = shard.extent(last)?.1;
            protected = Some(if decoder.codec() == Codec::None {
                shard.has_checksums()
            } else {
                shard.has_frame_checksum()?
            });
        }
        if decoder.codec() == Codec::None {
            self.with_checksums = protected.unwrap_or(self.with_checksums || shard.has_checksums());
        }
        let dictionary = shard.dictionary()?.cloned();
        drop(shard);
        self.base = Some(self.open_base(end)?);
        self.retarget();
        Ok((protected, dictionary))
    }

    /// Returns an error if the limits of an existing bag are in the other location. Its records
    /// would be mistaken for free space.
    fn refuse_other_limits_layout(&self, shard: &Shard) -> Result<()> {
        let folder = &self.container.folder;
        let (name, limits) = (&self.container.main, self.name(LIMITS_PREFIX));
        if !self.separate {
            folder.check_owner(&limits, name)?;
            return match folder.exists(&limits)? {
                true => Err(fail!(
                    State,
                    "{}: {} exists beside it; set HOLDALL_OPT_BAG_LIMITS 1 to append with separate limits, or repair first",
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
        // Bytes after the last limit are remains of an interrupted writer, unless limits follow
        // them.
        let sure = shard.decoder().codec() == Codec::Zstd || end == 0;
        match Tail::read(&records, size) {
            Ok(tail) if sure && size > end && tail.limits.count() > 0 && tail.end >= end => {
                Err(fail!(
                    State,
                    "{}: it has limits at its tail, and {} contradicts them; repair first, or remove the wrong file",
                    folder.show(name),
                    folder.show(&limits)
                ))
            }
            _ => Ok(()),
        }
    }

    fn open_base(&self, end: u64) -> Result<Base> {
        let open = |prefix| {
            self.container
                .folder
                .open(&self.name(prefix), Access::WriteBeside)
        };
        let checksums = match open(CHECKSUMS_PREFIX) {
            Ok(f) if self.with_checksums => Some(f),
            Err(e) if e.status != Status::Missing => return Err(e),
            _ => None,
        };
        let records = self
            .container
            .folder
            .open(&self.container.main, Access::Write)?;
        let size = records.size()?;
        Ok(Base {
            records,
            limits: if self.separate {
                Some(open(LIMITS_PREFIX)?)
            } else {
                None
            },
            checksums,
            end,
            size,
        })
    }

    /// Sets the destination of the next records.
    fn retarget(&mut self) {
        if let Some(base) = self.base.as_ref().filter(|_| self.separate) {
            self.records = SpillBuffer::onto(
                &self.container.folder,
                self.container.main.clone(),
                base.records.clone(),
                base.end,
                self.max_buffered,
            );
        }
    }

    /// Returns the offset of the next record.
    fn end(&self) -> u64 {
        self.base.as_ref().map_or(0, |b| b.end) + self.records.len()
    }

    /// Appends stored records: all, or on failure none.
    pub fn push(&mut self, stored: &[u8], lengths: &[u64], checksums: &[u32]) -> Result<()> {
        self.limits.prepare(lengths.len() * LIMIT as usize)?;
        self.checksums
            .prepare(checksums.len() * CHECKSUM_SIZE as usize)?;
        let mut end = self.end();
        self.records.push(stored)?;
        for n in lengths {
            end += n;
            self.limits.buffer.extend_from_slice(&end.to_le_bytes());
        }
        if self.with_checksums {
            for s in checksums {
                self.checksums.buffer.extend_from_slice(&s.to_le_bytes());
            }
        }
        self.uncommitted += lengths.len() as u64;
        Ok(())
    }

    // ---- commits

    /// Finishes the files of a new bag and adds their names to the renames and removals.
    pub fn finish_new(
        &mut self,
        session: &Session,
        NewNames { renames, removals }: &mut NewNames,
    ) -> Result<()> {
        self.records.finish()?;
        let records = self.records.file()?;
        renames.push(self.name(""));
        if self.separate {
            self.limits.flush()?;
            let limits = self.limits.file()?;
            session.sync(&*limits)?;
            renames.push(self.name(LIMITS_PREFIX));
        } else {
            // A failed commit may have left its limits there.
            records.set_size(self.records.len())?;
            self.limits.copy_to(&*records, self.records.len())?;
            removals.push(self.name(LIMITS_PREFIX));
        }
        if self.with_checksums {
            self.checksums.flush()?;
            let checksums = self.checksums.file()?;
            session.sync(&*checksums)?;
            renames.push(self.name(CHECKSUMS_PREFIX));
        } else if self.codec == Codec::None || self.replaces_checksums() {
            removals.push(self.name(CHECKSUMS_PREFIX));
        }
        self.finish_mark(session, renames, removals)?;
        session.sync(&*records)
    }

    /// Writes the interleave mark of a new set, or removes that of a replaced one.
    fn finish_mark(
        &self,
        session: &Session,
        renames: &mut Vec<OsString>,
        removals: &mut Vec<OsString>,
    ) -> Result<()> {
        let name = self.name(TURNS_PREFIX);
        if let Some(mark) = self.mark_in_file() {
            let file = self
                .container
                .create(&self.container.new_name(TURNS_PREFIX))?;
            file.write_at(0, &mark.to_bytes())?;
            session.sync(&*file)?;
            renames.push(name);
        } else if self.has_mark(&name) {
            removals.push(name);
        }
        Ok(())
    }

    /// Returns whether the file contains a mark. Any other file of that name belongs to another
    /// program.
    pub fn has_mark(&self, name: &OsStr) -> bool {
        let read = || {
            let file = self.container.folder.open(name, Access::Read)?;
            let mut mark = [0; MARK_SIZE];
            file.read_exact_at(0, &mut mark)?;
            Ok::<_, Error>(file.size()? == MARK_SIZE as u64 && Mark::parse(&mark).is_some())
        };
        read().unwrap_or(false)
    }

    /// Removes a remaining limits file after the commit is durable.
    pub fn tidy_new(&self) {
        if !self.separate {
            let _ = self.container.folder.remove_if_there(&self.limits.name);
        }
    }

    /// Returns whether the compressed bag replaces an uncompressed one with checksums. A checksums
    /// file that does not match belongs to another program.
    pub fn replaces_checksums(&self) -> bool {
        let fits = |separate| {
            let options = ShardOptions {
                access: Access::Read,
                separate,
                cache: false,
                verify: true,
                find_mark: false,
                codec_unspecified: false,
                memory_limit: self.memory_limit,
            };
            let decoder = Arc::new(Decoder::new(Codec::None, None)?);
            Shard::open(&self.container, &decoder, options).map(|old| old.has_checksums())
        };
        [false, true]
            .into_iter()
            .any(|separate| fits(separate).unwrap_or(false))
    }

    /// Makes durable what must be so before a commit in place, and adds the changes of that commit.
    pub fn begin_append<'a>(
        &'a mut self,
        session: &Session,
        changes: &mut Vec<Change<'a>>,
    ) -> Result<()> {
        self.check_unchanged(session)?;
        if self.separate {
            self.records.flush()?;
        }
        let Some(base) = &self.base else {
            return Ok(());
        };
        if self.separate {
            session.sync(&*base.records)?;
        }
        let count = self.committed + self.uncommitted;
        changes.push(match &base.limits {
            Some(l) => Change {
                name: self.container.name(LIMITS_PREFIX),
                file: Some(&**l),
                overwritten: Vec::new(),
                lengths: self.committed * LIMIT..=count * LIMIT,
                samples: vec![Sample {
                    at: self.committed * LIMIT,
                    bytes: self.limits.first(SAMPLE_BYTES)?,
                }],
            },
            None => Change {
                name: self.container.main.clone(),
                file: Some(&*base.records),
                overwritten: self.placement(base).overwritten(),
                lengths: base.size..=self.placement(base).size(),
                samples: vec![Sample {
                    at: base.end,
                    bytes: self.records.first(SAMPLE_BYTES)?,
                }],
            },
        });
        if self.with_checksums {
            changes.push(Change {
                name: self.container.name(CHECKSUMS_PREFIX),
                file: base.checksums.as_deref(),
                overwritten: Vec::new(),
                lengths: self.committed * CHECKSUM_SIZE..=count * CHECKSUM_SIZE,
                samples: vec![Sample {
                    at: self.committed * CHECKSUM_SIZE,
                    bytes: self.checksums.first(SAMPLE_BYTES)?,
                }],
            });
        }
        Ok(())
    }

    /// Returns where the uncommitted records come, with limits at the tail.
    fn placement(&self, base: &Base) -> Placement {
        Placement::new(
            base.end..base.end + self.records.len(),
            base.size,
            (self.committed, self.committed + self.uncommitted),
            self.codec == Codec::Zstd,
        )
    }

    /// Returns an error if another writer, which cannot have held the lock, has changed the files.
    fn check_unchanged(&self, session: &Session) -> Result<()> {
        let Some(base) = &self.base else {
            return Ok(());
        };
        let just = |n: u64| n..=n;
        // With separate limits, an interrupted writer may have left bytes after the records.
        let mut files = vec![(
            "",
            Some(&base.records),
            if self.separate {
                base.end..=u64::MAX
            } else {
                just(base.size)
            },
        )];
        files.push((
            LIMITS_PREFIX,
            base.limits.as_ref(),
            just(self.committed * LIMIT),
        ));
        files.push((
            CHECKSUMS_PREFIX,
            base.checksums.as_ref(),
            just(self.committed * CHECKSUM_SIZE),
        ));
        for (prefix, file, sizes) in files {
            let Some(file) = file else { continue };
            let is_same = || Ok(file.size().map_or(true, |now| sizes.contains(&now)));
            session.check_unchanged(&self.name(prefix), &**file, is_same)?;
        }
        Ok(())
    }

    /// Writes the uncommitted data after the committed data. Returns whether a file was created.
    pub fn write_append(&self, session: &Session) -> Result<bool> {
        let Some(base) = &self.base else {
            return Ok(false);
        };
        let old = self.committed;
        if let Some(limits) = &base.limits {
            self.limits.copy_to(&**limits, old * LIMIT)?;
            session.sync(&**limits)?;
        } else {
            let records = &*base.records;
            self.placement(base)
                .write(records, &self.records, &self.limits)?;
            session.sync(records)?;
        }
        if self.with_checksums {
            let checksums = match &base.checksums {
                Some(s) => s.clone(),
                None => self.container.create(&self.name(CHECKSUMS_PREFIX))?,
            };
            self.checksums.copy_to(&*checksums, old * CHECKSUM_SIZE)?;
            session.sync(&*checksums)?;
        }
        Ok(self.with_checksums && base.checksums.is_none())
    }

    /// Updates the state after a durable commit.
    pub fn after_commit(&mut self) -> Result<()> {
        self.committed += std::mem::take(&mut self.uncommitted);
        let end = self.end();
        match self.base.take() {
            None => {
                // The temporary files have become the bag.
                [self.records, self.limits, self.checksums] =
                    sinks(&self.container, self.max_buffered);
                self.base = Some(self.open_base(end)?);
            }
            Some(mut b) => {
                b.end = end;
                b.size = b.records.size()?;
                if b.checksums.is_none() && self.with_checksums {
                    b.checksums = Some(
                        self.container
                            .folder
                            .open(&self.name(CHECKSUMS_PREFIX), Access::WriteBeside)?,
                    );
                }
                self.base = Some(b);
                self.records.clear();
                self.limits.clear();
                self.checksums.clear();
            }
        }
        self.retarget();
        Ok(())
    }

    /// Removes uncommitted data as far as possible.
    pub fn abandon(&mut self, session: &Session) {
        if let Some(b) = self
            .base
            .as_ref()
            .filter(|_| self.separate && self.uncommitted > 0)
        {
            // Includes the remains of a failed write.
            let keep = b.size.max(b.end);
            if b.records.size().is_ok_and(|n| n > keep) && self.check_unchanged(session).is_ok() {
                let _ = b.records.set_size(keep);
            }
        }
        self.records.clear();
        self.limits.clear();
        self.checksums.clear();
        if self.mark.is_some() && !self.container.folder.is_store() {
            let _ = self
                .container
                .folder
                .remove_if_there(&self.container.new_name(TURNS_PREFIX));
        }
    }
}

/// Returns the sinks for records, limits and checksums of a new bag. The last two buffer a quarter
/// as much.
fn sinks(container: &Container, max_buffered: usize) -> [SpillBuffer; 3] {
    let sink = |prefix, max_buffered| {
        SpillBuffer::new(
            &container.folder,
            container.new_name(prefix),
            &container.main,
            max_buffered,
        )
    };
    [
        sink("", max_buffered),
        sink(LIMITS_PREFIX, max_buffered / 4),
        sink(CHECKSUMS_PREFIX, max_buffered / 4),
    ]
}

/// Adds to the error of an existing bag which modes accept it.
fn with_modes(mut e: Error) -> Error {
    if e.status == Status::Exists {
        e.message += " (HOLDALL_REPLACE and HOLDALL_APPEND accept it)";
    }
    e
}
