//! One file of a bag that is being written: its last commit, what waits to be in the next one, and
//! its part in a commit.
#![forbid(unsafe_code)]

use super::sink::Sink;
use super::{Mode, Rules};
use crate::alloc;
use crate::bag::codec::{Codec, Decoder};
use crate::bag::interleave::{MARK, TURNS_PREFIX, Turn};
use crate::bag::limits::LIMIT;
use crate::bag::shard::{How, LIMITS_PREFIX, SUM, SUMS_PREFIX, Shard};
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{Change, Container, Piece, SAID};
use crate::io::{Access, File};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Bytes that are moved at once.
const PIECE: u64 = 1 << 20;

/// See the top of the file.
pub struct Store {
    pub container: Container,
    pub separate: bool,
    with_sums: bool,
    /// Which shard it is of a set that is written in turns.
    turn: Option<Turn>,
    /// Does what is there say so?
    pub marked: bool,
    /// Bytes of records that may wait in memory.
    most: usize,
    /// The most that a file may make a call allocate.
    memory_limit: u64,
    pub records: Sink,
    pub limits: Sink,
    pub sums: Sink,
    base: Option<Base>,
    /// Records of the last commit, and those waiting.
    pub committed: u64,
    pub waiting: u64,
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

/// What a new bag takes in place of another: the names that its files are to have, and those of
/// files that are to go.
#[derive(Default)]
pub struct NewNames {
    pub renames: Vec<OsString>,
    pub gone: Vec<OsString>,
}

/// How records that are there already are protected: `None` where there are none.
pub type Protected = Option<bool>;

impl Store {
    /// Of a container in which nothing waits to be settled.
    pub fn new(
        container: Container,
        separate: bool,
        with_sums: bool,
        most: usize,
        memory_limit: u64,
    ) -> Store {
        let [records, limits, sums] = sinks(&container, most);
        Store {
            container,
            separate,
            with_sums,
            turn: None,
            marked: false,
            most,
            memory_limit,
            records,
            limits,
            sums,
            base: None,
            committed: 0,
            waiting: 0,
        }
    }

    /// The file with this prefix.
    pub fn name(&self, prefix: &str) -> OsString {
        self.container.name(prefix)
    }

    /// Bytes that may wait in memory.
    pub fn most(&self) -> usize {
        self.most
    }

    /// For messages.
    pub fn show(&self) -> String {
        self.container.folder.show(&self.container.main)
    }

    /// Is there a commit that it goes on from?
    pub fn has_base(&self) -> bool {
        self.base.is_some()
    }

    /// It is a shard of a set that is written in turns.
    pub fn take_turns(&mut self, shard: u32, of: u32) {
        self.turn = (of > 1).then_some(Turn { shard, of });
    }

    /// A record as it is to be stored, where that is another form: the first one of a shard has a
    /// mark behind it.
    pub fn with_mark(&self, record: &[u8], codec: Codec) -> Option<Vec<u8>> {
        let first = self.committed + self.waiting == 0 && codec == Codec::Zstd;
        self.turn
            .filter(|_| first)
            .map(|turn| [record, &turn.mark()].concat())
    }

    /// Does the mark of the set stand in a file beside it?
    pub fn mark_beside(&self, codec: Codec) -> Option<Turn> {
        self.turn
            .filter(|turn| turn.shard == 0 && codec == Codec::None)
    }

    /// Does it keep checksums beside its records?
    pub fn with_sums(&self) -> bool {
        self.with_sums
    }

    /// From now on it does, or does not; those that are there go on.
    pub fn keep_sums(&mut self, wanted: bool) {
        self.with_sums = wanted || self.base.as_ref().is_some_and(|b| b.sums.is_some());
    }

    /// A new bag needs its names free; that of its limits, too, where it has them at its tail: they
    /// would be taken for those of this bag.
    pub fn refuse_existing(&self, codec: Codec, mode: Mode) -> Result<()> {
        let mark = if self.mark_beside(codec).is_some() {
            TURNS_PREFIX
        } else {
            ""
        };
        for prefix in [
            "",
            LIMITS_PREFIX,
            if codec == Codec::None {
                SUMS_PREFIX
            } else {
                ""
            },
            mark,
        ] {
            let n = self.name(prefix);
            self.container.folder.refuse_obstacle(&n)?;
            if mode == Mode::New && self.container.folder.exists(&n)? {
                return Err(fail!(
                    Exists,
                    "{}: it is there already (HOLDALL_REPLACE and HOLDALL_APPEND take it)",
                    self.container.folder.show(&n)
                ));
            }
        }
        Ok(())
    }

    /// Opens the last commit to go on from it; tells how its records are protected.
    pub fn open_committed(&mut self, decoder: &Arc<Decoder>, unsaid: bool) -> Result<Protected> {
        let how = How {
            access: Access::Read,
            separate: self.separate,
            cache: false,
            verify: true,
            turns: self.turn.is_some(),
            unsaid,
            memory_limit: self.memory_limit,
        };
        let shard = Shard::open(&self.container, decoder, how)?;
        self.refuse_the_other_kind(&shard)?;
        self.committed = shard.count();
        self.marked = match decoder.codec() {
            Codec::None => shard.turn_beside(),
            Codec::Zstd => shard.turn()?,
        }
        .is_some_and(|turn| Some(turn) == self.turn);
        let (mut end, mut protected) = (0, None);
        if let Some(last) = shard.count().checked_sub(1) {
            // what lies behind the last limit will be written over: it must not be the last record
            shard.read(last, None)?;
            end = shard.extent(last)?.1;
            protected = Some(if decoder.codec() == Codec::None {
                shard.has_sums()
            } else {
                shard.has_frame_checksum()?
            });
        }
        if decoder.codec() == Codec::None {
            self.with_sums = protected.unwrap_or(self.with_sums || shard.has_sums());
        }
        drop(shard);
        self.base = Some(self.open_base(end)?);
        self.aim();
        Ok(protected)
    }

    /// Refuses a bag that is there with its limits at the other place: what is taken for free room
    /// would be its records.
    fn refuse_the_other_kind(&self, shard: &Shard) -> Result<()> {
        let folder = &self.container.folder;
        let (name, limits) = (&self.container.main, self.name(LIMITS_PREFIX));
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
        // bytes behind the last limit are what a writer that was cut off has left, unless they have
        // limits
        let sure = shard.decoder().codec() == Codec::Zstd || end == 0;
        match Shard::tail(&records, size) {
            Ok((l, tail_end)) if sure && size > end && l.count() > 0 && tail_end >= end => {
                Err(fail!(
                    State,
                    "{}: it has limits at its tail, and {} says otherwise; repair first, or remove the one that is wrong",
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
        let sums = match open(SUMS_PREFIX) {
            Ok(f) if self.with_sums => Some(f),
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
            sums,
            end,
            size,
        })
    }

    /// Points the sink of the records at where the next ones wait.
    fn aim(&mut self) {
        if let Some(base) = self.base.as_ref().filter(|_| self.separate) {
            self.records = Sink::onto(
                &self.container.folder,
                self.container.main.clone(),
                base.records.clone(),
                base.end,
                self.most,
            );
        }
    }

    /// Where the next record begins.
    fn end(&self) -> u64 {
        self.base.as_ref().map_or(0, |b| b.end) + self.records.len()
    }

    /// Takes in stored records: all or, on failure, none.
    pub fn push(&mut self, stored: &[u8], lengths: &[u64], sums: &[u32]) -> Result<()> {
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

    /// Finishes the files of a new bag; adds the names that are to change for it.
    pub fn finish_new(
        &mut self,
        rules: &Rules,
        NewNames { renames, gone }: &mut NewNames,
    ) -> Result<()> {
        self.records.finish()?;
        let records = self.records.file()?;
        renames.push(self.name(""));
        if self.separate {
            self.limits.flush()?;
            let limits = self.limits.file()?;
            rules.sync(&*limits)?;
            renames.push(self.name(LIMITS_PREFIX));
        } else {
            // a commit that failed may have left its limits there
            records.set_size(self.records.len())?;
            self.limits.copy_to(&*records, self.records.len())?;
            gone.push(self.name(LIMITS_PREFIX));
        }
        if self.with_sums {
            self.sums.flush()?;
            let sums = self.sums.file()?;
            rules.sync(&*sums)?;
            renames.push(self.name(SUMS_PREFIX));
        } else if rules.codec == Codec::None || self.replaces_sums() {
            gone.push(self.name(SUMS_PREFIX));
        }
        self.finish_mark(rules, renames, gone)?;
        rules.sync(&*records)
    }

    /// The same of the mark of a set.
    fn finish_mark(
        &self,
        rules: &Rules,
        renames: &mut Vec<OsString>,
        gone: &mut Vec<OsString>,
    ) -> Result<()> {
        let name = self.name(TURNS_PREFIX);
        if let Some(turn) = self.mark_beside(rules.codec) {
            let file = self
                .container
                .create(&self.container.new_name(TURNS_PREFIX))?;
            file.write_at(0, &turn.mark())?;
            rules.sync(&*file)?;
            renames.push(name);
        } else if self.has_mark(&name) {
            gone.push(name);
        }
        Ok(())
    }

    /// Is there a mark of what is replaced? Any other file of that name is somebody else's.
    pub fn has_mark(&self, name: &OsStr) -> bool {
        let read = || {
            let file = self.container.folder.open(name, Access::Read)?;
            let mut mark = [0; MARK];
            file.read_exact_at(0, &mut mark)?;
            Ok::<_, Error>(file.size()? == MARK as u64 && Turn::read(&mark).is_some())
        };
        read().unwrap_or(false)
    }

    /// After that counts.
    pub fn tidy_new(&self) {
        if !self.separate {
            let _ = self.container.folder.remove_if_there(&self.limits.name);
        }
    }

    /// Are there checksums of the bag that a compressed one replaces? A file of that name that does
    /// not fit it is somebody else's.
    pub fn replaces_sums(&self) -> bool {
        let fits = |separate| {
            let how = How {
                access: Access::Read,
                separate,
                cache: false,
                verify: true,
                turns: false,
                unsaid: false,
                memory_limit: self.memory_limit,
            };
            let decoder = Arc::new(Decoder::new(Codec::None, None)?);
            Shard::open(&self.container, &decoder, how).map(|old| old.has_sums())
        };
        [false, true]
            .into_iter()
            .any(|separate| fits(separate).unwrap_or(false))
    }

    /// Before a commit in place: what must be durable before it; adds what it is going to change.
    pub fn begin_append<'a>(
        &'a mut self,
        rules: &Rules,
        changes: &mut Vec<Change<'a>>,
    ) -> Result<()> {
        self.still_ours()?;
        if self.separate {
            self.records.flush()?;
        }
        let Some(base) = &self.base else {
            return Ok(());
        };
        if self.separate {
            rules.sync(&*base.records)?;
        }
        let count = self.committed + self.waiting;
        changes.push(match &base.limits {
            Some(l) => Change {
                name: self.container.name(LIMITS_PREFIX),
                file: Some(&**l),
                over: Vec::new(),
                lengths: self.committed * LIMIT..=count * LIMIT,
                new: vec![Piece {
                    at: self.committed * LIMIT,
                    bytes: self.limits.first(SAID)?,
                }],
            },
            None => Change {
                name: self.container.main.clone(),
                file: Some(&*base.records),
                over: vec![base.end..u64::MAX],
                lengths: base.size..=base.end + self.records.len() + count * LIMIT,
                new: vec![Piece {
                    at: base.end,
                    bytes: self.records.first(SAID)?,
                }],
            },
        });
        if self.with_sums {
            changes.push(Change {
                name: self.container.name(SUMS_PREFIX),
                file: base.sums.as_deref(),
                over: Vec::new(),
                lengths: self.committed * SUM..=count * SUM,
                new: vec![Piece {
                    at: self.committed * SUM,
                    bytes: self.sums.first(SAID)?,
                }],
            });
        }
        Ok(())
    }

    /// Refuses to write where somebody else has written, who cannot have had the lock.
    fn still_ours(&self) -> Result<()> {
        let Some(base) = &self.base else {
            return Ok(());
        };
        let just = |n: u64| n..=n;
        // what a writer that was cut off has left may be behind records whose limits are apart
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
        files.push((SUMS_PREFIX, base.sums.as_ref(), just(self.committed * SUM)));
        for (prefix, file, sizes) in files {
            let Some(file) = file else { continue };
            let name = self.name(prefix);
            let there = self.container.folder.identity(&name)? == Some(file.identity());
            if !there || file.size().is_ok_and(|now| !sizes.contains(&now)) {
                return Err(fail!(
                    State,
                    "{}: another writer has changed it since it was opened here",
                    self.container.folder.show(&name)
                ));
            }
        }
        Ok(())
    }

    /// Writes what waits behind what is there. Tells whether a name was made.
    pub fn write_append(&self, rules: &Rules) -> Result<bool> {
        let Some(base) = &self.base else {
            return Ok(false);
        };
        let (old, new_end) = (self.committed, base.end + self.records.len());
        if let Some(limits) = &base.limits {
            self.limits.copy_to(&**limits, old * LIMIT)?;
            rules.sync(&**limits)?;
        } else {
            // first the length: readers tell by it that limits are about to be written over
            let records = &*base.records;
            records.set_size(new_end + (old + self.waiting) * LIMIT)?;
            move_limits(records, base.end, new_end, old * LIMIT)?;
            self.records.copy_to(records, base.end)?;
            self.limits.copy_to(records, new_end + old * LIMIT)?;
            rules.sync(records)?;
        }
        if self.with_sums {
            let sums = match &base.sums {
                Some(s) => s.clone(),
                None => self.container.create(&self.name(SUMS_PREFIX))?,
            };
            self.sums.copy_to(&*sums, old * SUM)?;
            rules.sync(&*sums)?;
        }
        Ok(self.with_sums && base.sums.is_none())
    }

    /// After a commit that counts: what waited is there.
    pub fn go_on(&mut self) -> Result<()> {
        self.committed += std::mem::take(&mut self.waiting);
        let end = self.end();
        match self.base.take() {
            None => {
                // the temporary files are the bag now
                [self.records, self.limits, self.sums] = sinks(&self.container, self.most);
                self.base = Some(self.open_base(end)?);
            }
            Some(mut b) => {
                b.end = end;
                b.size = b.records.size()?;
                if b.sums.is_none() && self.with_sums {
                    b.sums = Some(
                        self.container
                            .folder
                            .open(&self.name(SUMS_PREFIX), Access::WriteBeside)?,
                    );
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

    /// What was not committed goes, as far as it can.
    pub fn abandon(&mut self) {
        if let Some(b) = self
            .base
            .as_ref()
            .filter(|_| self.separate && self.waiting > 0)
        {
            // also what a write that failed has left
            let keep = b.size.max(b.end);
            if b.records.size().is_ok_and(|n| n > keep) && self.still_ours().is_ok() {
                let _ = b.records.set_size(keep);
            }
        }
        self.records.clear();
        self.limits.clear();
        self.sums.clear();
        if self.turn.is_some() && !self.container.folder.is_store() {
            let _ = self
                .container
                .folder
                .remove_if_there(&self.container.new_name(TURNS_PREFIX));
        }
    }
}

/// Of a new bag: of its records, its limits and its checksums, of which fewer bytes may wait.
fn sinks(container: &Container, most: usize) -> [Sink; 3] {
    let sink = |prefix, most| {
        Sink::new(
            &container.folder,
            container.new_name(prefix),
            &container.main,
            most,
        )
    };
    [
        sink("", most),
        sink(LIMITS_PREFIX, most / 4),
        sink(SUMS_PREFIX, most / 4),
    ]
}

/// Moves committed limits behind where new records will end, last ones first: the places may
/// overlap.
fn move_limits(file: &dyn File, from: u64, to: u64, bytes: u64) -> Result<()> {
    let mut piece = alloc::zeroed(bytes.min(PIECE) as usize)?;
    let mut left = bytes;
    while left > 0 {
        let n = left.min(PIECE);
        left -= n;
        let part = piece.get_mut(..n as usize).unwrap_or_default();
        file.read_exact_at(from + left, part)?;
        file.write_at(to + left, part)?;
    }
    Ok(())
}
