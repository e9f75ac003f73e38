//! Commits: how a change of several bytes or several files happens as a whole or not at all, and how
//! a reader sees the last commit at any moment of it.
//!
//! A container is a set of files in one folder, known by the name of its main file. Beside it lies,
//! while a change is under way, `NAME.holdall-journal`, of one of two kinds:
//!
//! - *undo*: the files of the container are about to be changed in place. The journal holds their
//!   lengths and the bytes that will be written over. As long as it is there, the container is what it
//!   says; removing it is the commit. A writer that finds one puts everything back; a reader, who may
//!   not write, reads through it.
//! - *swap*: new files lie ready under other names. As long as the journal is there, they are the
//!   container; a writer that finds one finishes the renames, a reader opens the new files.
//!
//! A journal is written under a temporary name, synced, and renamed: one that is there is whole, and
//! one whose checksum does not match is damage, not an accident of timing.
//!
//! A writer first lets a file grow to its new length, and only then changes its old bytes. A reader
//! that finds the length unchanged *after* it has read therefore knows that it has read old bytes.
//!
//! Layout (little-endian): `holdall journal\n`, u32 version 1, u32 kind, u64 that tells one journal from
//! another, u32 entries, then the entries, then u32 CRC-32 of all before, then saved bytes. Entry: u16 length and bytes of a name;
//! undo, one for each range, those of a file in rising order: u64 old length (all ones: no such file), u32
//! CRC-32 of up to 4 KiB before the place, none of an earlier range (they tell that this is still the same
//! file), u64 place, u64 length, u64 place of the saved bytes in the journal, u32 their CRC-32; swap: u16 1 and u16 length and bytes of the final
//! name, or u16 0: the file is to be removed. The name "" is a name: that of storage with one file.
#![forbid(unsafe_code)]

use super::{Access, File, Folder, beside, lock::Lock, parent};
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::memory;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MAGIC: &[u8; 16] = b"holdall journal\n";
const VERSION: u32 = 1;
const UNDO: u32 = 1;
const SWAP: u32 = 2;
const ABSENT: u64 = u64::MAX;
/// The index of a journal (not the saved bytes) is small: a few files, or, where files are swapped in a folder, many.
const INDEX_LIMIT: usize = 1 << 20;
const SWAP_LIMIT: usize = 16 << 20;
const PIECE: usize = 1 << 20;
/// A container has a few files, and a change a few ranges.
const MOST_ENTRIES: u32 = 4096;
/// Ranges that one change may have.
pub const MOST_RANGES: usize = MOST_ENTRIES as usize / 2;
const WITNESS: u64 = 4 << 10;
/// Longer than a reader takes from reading a limit to asking for the length, and than the clock of a file
/// system stands still.
const UNDO_PAUSE: Duration = Duration::from_millis(if cfg!(any(test, fuzzing)) { 0 } else { 20 });
/// Longer than a file is without its name while it is swapped in.
const MISSED: Duration = Duration::from_millis(10);
/// Between looks at a journal that may be another one by then.
const LOAD_PAUSE: Duration = Duration::from_millis(if cfg!(fuzzing) { 0 } else { 1 });

/// A container: the files that belong together, and the folder they are in. A journal may name these
/// files and no others, whatever its bytes say.
#[derive(Clone)]
pub struct Container {
    /// The folder.
    pub folder: Arc<dyn Folder>,
    /// Name of the main file.
    pub main: OsString,
    /// What the names of the other files have before that of the main one; "" for itself.
    pub prefixes: &'static [&'static str],
    /// Where the container is a folder: tells by the name whether a file in it belongs to it. Prefixes are names then, and
    /// the main file is one that is not there, beside which the journal lies.
    pub in_folder: Option<fn(&OsStr) -> bool>,
}

/// What a new file has behind its name until it takes its place.
pub const NEW: &str = ".holdall-new";

impl Container {
    /// The file with this prefix.
    pub fn name(&self, prefix: &str) -> OsString {
        beside(prefix, self.own(), "")
    }
    /// The same while it is new.
    pub fn new_name(&self, prefix: &str) -> OsString {
        beside(prefix, self.own(), NEW)
    }
    fn own(&self) -> &OsStr {
        if self.in_folder.is_some() { OsStr::new("") } else { &self.main }
    }
    /// The writers' lock, if it is wanted.
    pub fn lock(&self, wanted: bool) -> Result<Lock> {
        if wanted { self.folder.lock(&beside("", &self.main, ".holdall-lock")) } else { Ok(Lock::none()) }
    }
    fn journal(&self) -> OsString {
        beside("", &self.main, ".holdall-journal")
    }
    fn has(&self, name: &OsStr) -> bool {
        self.prefixes.iter().any(|p| self.name(p) == name) || self.in_folder.is_some_and(|f| f(name))
    }
    fn has_new(&self, name: &OsStr) -> bool {
        name.as_bytes().strip_suffix(NEW.as_bytes()).is_some_and(|n| self.has(OsStr::from_bytes(n)))
    }
    fn sync(&self, durable: bool) -> Result<()> {
        if durable { self.folder.sync_in(parent(&self.main)) } else { Ok(()) }
    }
    /// As [`Container::sync`], for the folders in it that these files are in.
    fn sync_below(&self, durable: bool, entries: &[Entry]) -> Result<()> {
        let mut folders: Vec<&OsStr> = entries.iter().map(|e| parent(e.name())).filter(|f| durable && !f.is_empty()).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.into_iter().try_for_each(|f| self.folder.sync_in(f))
    }
}

/// Bytes of a file that are going to be written over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Saved {
    at: u64,
    len: u64,
    /// Where they are in the journal.
    from: u64,
    crc: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Undo { name: OsString, size: Option<u64>, witness: u32, saved: Saved },
    Swap { name: OsString, to: Option<OsString> },
}

impl Entry {
    fn name(&self) -> &OsStr {
        match self {
            Entry::Undo { name, .. } | Entry::Swap { name, .. } => name,
        }
    }
}

// ---- the journal's bytes

fn encode(kind: u32, nonce: u64, entries: &[Entry]) -> Vec<u8> {
    let mut b = MAGIC.to_vec();
    let name = |b: &mut Vec<u8>, n: &OsStr| {
        b.extend((n.len() as u16).to_le_bytes());
        b.extend(n.as_bytes());
    };
    b.extend(VERSION.to_le_bytes());
    b.extend(kind.to_le_bytes());
    b.extend(nonce.to_le_bytes());
    b.extend((entries.len() as u32).to_le_bytes());
    for e in entries {
        match e {
            Entry::Undo { name: n, size, witness, saved: s } => {
                name(&mut b, n);
                b.extend(size.unwrap_or(ABSENT).to_le_bytes());
                b.extend(witness.to_le_bytes());
                for v in [s.at, s.len, s.from] {
                    b.extend(v.to_le_bytes());
                }
                b.extend(s.crc.to_le_bytes());
            }
            Entry::Swap { name: n, to } => {
                name(&mut b, n);
                b.extend(u16::from(to.is_some()).to_le_bytes());
                if let Some(to) = to {
                    name(&mut b, to);
                }
            }
        }
    }
    let crc = crc32(&b);
    b.extend(crc.to_le_bytes());
    b
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
    fn name(&mut self) -> Option<OsString> {
        let n = self.u16()?;
        let b = self.take(n.into())?;
        Some(OsString::from_vec(b.to_vec()))
    }
}

/// A number that no other journal of this container has had lately.
fn nonce() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_left(40) ^ MADE.fetch_add(1, Ordering::Relaxed).rotate_left(20)
}

/// Reads the index; `None` where the bytes are no journal of ours.
fn decode(bytes: &[u8]) -> Option<(u64, Vec<Entry>)> {
    let mut c = Cursor(bytes);
    if c.take(16)? != MAGIC || c.u32()? != VERSION {
        return None;
    }
    let kind = c.u32()?;
    let nonce = c.u64()?;
    let mut entries = Vec::new();
    for _ in 0..c.u32()? {
        if kind == UNDO && entries.len() == MOST_ENTRIES as usize {
            return None;
        }
        let name = c.name()?;
        entries.push(match kind {
            UNDO => {
                let size = Some(c.u64()?).filter(|&s| s != ABSENT);
                let witness = c.u32()?;
                let saved = Saved { at: c.u64()?, len: c.u64()?, from: c.u64()?, crc: c.u32()? };
                Entry::Undo { name, size, witness, saved }
            }
            SWAP => Entry::Swap { name, to: if c.u16()? == 1 { Some(c.name()?) } else { None } },
            _ => return None,
        });
    }
    let n = bytes.len() - c.0.len();
    (c.u32()? == crc32(bytes.get(..n)?)).then_some((nonce, entries))
}

/// A journal that lies beside its container.
struct Hot {
    file: Arc<dyn File>,
    nonce: u64,
    entries: Vec<Entry>,
}

fn load(c: &Container) -> Result<Option<Hot>> {
    // storage that knows files by name alone may have another journal under it by the time it is read
    for _ in 0..3 {
        match load_once(c) {
            Err(e) if e.status == Status::Missing => return Ok(None),
            Err(e) if e.status == Status::Format => std::thread::sleep(LOAD_PAUSE),
            r => return r.map(Some),
        }
    }
    load_once(c).map(Some)
}

fn load_once(c: &Container) -> Result<Hot> {
    let file = c.folder.open(&c.journal(), Access::Read)?;
    let size = file.size()?;
    let mut kind = [0; 24];
    file.read_at(0, &mut kind)?;
    let most = if kind.ends_with(&SWAP.to_le_bytes()) { SWAP_LIMIT } else { INDEX_LIMIT };
    let mut head = memory::zeroed(usize::try_from(size).unwrap_or(most).min(most))?;
    let n = file.read_at(0, &mut head)?;
    head.truncate(n);
    let Some((nonce, entries)) = decode(&head).filter(|(_, entries)| sound(c, entries, size)) else {
        return Err(fail!(
            Format,
            "{}: this journal of an unfinished change is damaged, so the container beside it may be half changed",
            file.name()
        ));
    };
    Ok(Hot { file, nonce, entries })
}

/// Can these entries be ours: each about another file of the container or another range of it, and within
/// its bounds?
fn sound(c: &Container, entries: &[Entry], journal: u64) -> bool {
    let mut names: Vec<&OsStr> = Vec::new();
    let mut before: Option<(&OsStr, Option<u64>, u64)> = None;
    let fits = entries.iter().all(|e| match e {
        Entry::Undo { name, size, saved, .. } => {
            let Some(end) = saved.at.checked_add(saved.len) else { return false };
            let goes_on = before.is_some_and(|(n, ..)| n == name);
            let rises = before.is_none_or(|(_, s, last)| !goes_on || (s == *size && saved.at >= last));
            if !goes_on {
                names.push(name);
            }
            before = Some((name, *size, end));
            rises && c.has(name) && end <= size.unwrap_or(0) && saved.from.checked_add(saved.len).is_some_and(|end| end <= journal)
        }
        Entry::Swap { name, to: Some(to) } => {
            names.push(to);
            c.has_new(name) && c.has(to)
        }
        Entry::Swap { name, to: None } => {
            names.push(name);
            c.has(name)
        }
    });
    names.sort_unstable();
    fits && names.windows(2).all(|w| matches!(w, [a, b] if a != b))
}

/// CRC-32 of the last bytes before `at` and not before `from`, which a change does not touch.
fn witness(file: &dyn File, from: u64, at: u64) -> Result<u32> {
    let n = at.saturating_sub(from).min(WITNESS);
    let mut bytes = memory::zeroed(n as usize)?;
    let got = file.read_at(at - n, &mut bytes)?;
    Ok(crc32(bytes.get(..got).unwrap_or_default()))
}

/// Refuses a journal that is not about this file: one that was left behind by another of the same name.
fn same_file(file: &dyn File, size: u64, want: u32, from: u64, saved: &Saved) -> Result<()> {
    let now = file.size()?;
    let whole = now >= size || (saved.at <= now && saved.at + saved.len == size);
    let before = if saved.len == 0 { size } else { saved.at };
    if whole && witness(file, from, before)? == want {
        return Ok(());
    }
    Err(fail!(
        Format,
        "{}: a journal beside it tells of an unfinished change, but of another file of this name; if this one was made anew, remove the journal",
        file.name()
    ))
}

/// Where the range before another one of the same file ends.
#[derive(Default)]
struct Ends<'a>(Option<(&'a OsStr, u64)>);

impl<'a> Ends<'a> {
    fn before(&mut self, name: &'a OsStr, saved: &Saved) -> u64 {
        let end = self.0.filter(|(n, _)| *n == name).map_or(0, |(_, end)| end);
        self.0 = Some((name, saved.at.saturating_add(saved.len)));
        end
    }
}

impl Hot {
    /// Calls `f` with the saved bytes of a range, piece by piece, after they were checked.
    fn replay(&self, s: &Saved, mut f: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let mut buf = memory::zeroed(usize::try_from(s.len).unwrap_or(PIECE).min(PIECE))?;
        for check in [true, false] {
            let mut crc = crc32fast::Hasher::new();
            let mut done = 0;
            while done < s.len {
                let n = (s.len - done).min(PIECE as u64) as usize;
                let piece = buf.get_mut(..n).unwrap_or_default();
                self.file.read_exact_at(s.from.saturating_add(done), piece)?;
                if check {
                    crc.update(piece)
                } else {
                    f(s.at.saturating_add(done), piece)?
                }
                done += n as u64;
            }
            if check && crc.finalize() != s.crc {
                return Err(fail!(Checksum, "{}: the bytes saved for undoing a change are damaged", self.file.name()));
            }
        }
        Ok(())
    }

    fn undo(&self, c: &Container) -> Result<()> {
        let mut end = Ends::default();
        for e in &self.entries {
            let Entry::Undo { name, size, witness, saved } = e else { continue };
            let from = end.before(name, saved);
            let Some(size) = *size else {
                c.folder.remove_if_there(name)?;
                continue;
            };
            let file = match c.folder.open(name, Access::Write) {
                Ok(f) => f,
                // somebody has removed it meanwhile: there is nothing to put back
                Err(e) if e.status == Status::Missing => continue,
                Err(e) => return Err(e),
            };
            same_file(&*file, size, *witness, from, saved)?;
            self.replay(saved, |at, piece| file.write_at(at, piece))?;
            if saved.len > 0 && file.size()? != size {
                // a reader that has just read what is gone now must still find another length, and one that
                // opens it another time of change
                std::thread::sleep(UNDO_PAUSE);
            }
            file.set_size(size)?;
            file.sync()?;
        }
        Ok(())
    }

    fn finish_swap(&self, folder: &dyn Folder) -> Result<()> {
        for e in &self.entries {
            match e {
                Entry::Swap { name, to: Some(to) } if folder.exists(name)? => folder.rename(name, to)?,
                Entry::Swap { name, to: None } => folder.remove_if_there(name)?,
                _ => {}
            }
        }
        Ok(())
    }
}

// ---- writers

/// Finishes or undoes what a writer that was cut off has left. To be called under the lock, before
/// anything else is done with the container.
pub fn settle(c: &Container, durable: bool) -> Result<()> {
    let name = c.journal();
    c.folder.remove_if_there(&beside("", &name, "-new"))?;
    if let Some(hot) = load(c)? {
        hot.undo(c)?;
        hot.finish_swap(&*c.folder)?;
        c.sync_below(durable, &hot.entries)?;
        c.sync(durable)?;
        c.folder.remove(&name)?;
        c.sync(durable)?;
    }
    Ok(())
}

/// [`settle`], and removes the temporary files that are left then.
pub fn tidy(c: &Container, durable: bool) -> Result<()> {
    settle(c, durable)?;
    c.prefixes.iter().try_for_each(|p| c.folder.remove_if_there(&c.new_name(p)))
}

fn publish(c: &Container, durable: bool, write: impl FnOnce(&dyn File) -> Result<()>) -> Result<()> {
    let name = c.journal();
    let new = beside("", &name, "-new");
    let file = c.folder.open(&new, Access::Create)?;
    let done = write(&*file).and_then(|()| if durable { file.sync() } else { Ok(()) }).and_then(|()| c.folder.rename(&new, &name));
    if let Err(e) = done {
        let _ = c.folder.remove_if_there(&new);
        return Err(e);
    }
    c.sync(durable)
}

/// One file that is going to be changed in place.
pub struct Change<'a> {
    /// Its name.
    pub name: OsString,
    /// It, if it is there already.
    pub file: Option<&'a dyn File>,
    /// The ranges of committed bytes that will be written over, in rising order, none sharing a byte with
    /// another; beyond them only the length changes. At most [`MOST_RANGES`].
    pub over: Vec<std::ops::Range<u64>>,
}

/// A change under way. Dropping it without [`Undo::commit`] leaves the journal for the next writer.
pub struct Undo {
    container: Container,
    durable: bool,
}

impl Undo {
    /// Saves what is going to be changed. Nothing may be changed before this has returned.
    pub fn begin(c: &Container, durable: bool, changes: &[Change<'_>]) -> Result<Undo> {
        let mut entries = Vec::new();
        let mut files = Vec::new();
        for change in changes {
            let of_it = change.entries()?;
            files.extend(of_it.iter().map(|_| change.file));
            entries.extend(of_it);
        }
        if entries.len() > MOST_ENTRIES as usize {
            return Err(fail!(Limit, "a change of {} ranges at once: {MOST_ENTRIES} fit into a journal", entries.len()));
        }
        // the index has its length before the places and sums in it are known
        let nonce = nonce();
        let index = encode(UNDO, nonce, &entries).len() as u64;
        publish(c, durable, |journal| {
            let mut end = index;
            for (file, e) in files.iter().zip(&mut entries) {
                let Entry::Undo { saved, .. } = e else { continue };
                saved.from = end;
                saved.crc = copy(*file, saved, journal, end)?;
                end = end.saturating_add(saved.len);
            }
            journal.write_at(0, &encode(UNDO, nonce, &entries))
        })?;
        Ok(Undo { container: c.clone(), durable })
    }

    /// Makes the change count. The changed files must have been synced.
    pub fn commit(self) -> Result<()> {
        self.container.folder.remove(&self.container.journal())?;
        self.container.sync(self.durable)
    }

    /// Puts everything back.
    pub fn rollback(self) -> Result<()> {
        settle(&self.container, self.durable)
    }
}

impl<'a> Change<'a> {
    /// Of this file, over these ranges.
    pub fn new(name: OsString, file: Option<&'a dyn File>, over: impl IntoIterator<Item = std::ops::Range<u64>>) -> Change<'a> {
        Change { name, file, over: over.into_iter().collect() }
    }

    fn entries(&self) -> Result<Vec<Entry>> {
        let size = self.file.map(|f| f.size()).transpose()?;
        let have = size.unwrap_or(0);
        let (mut out, mut end) = (Vec::new(), 0);
        for over in self.over.iter().filter(|r| r.start < r.end.min(have)) {
            let saved = Saved { at: over.start, len: over.end.min(have) - over.start, from: 0, crc: 0 };
            out.push(self.entry(size, end, saved.at, saved.clone())?);
            end = saved.at + saved.len;
        }
        if out.is_empty() {
            out.push(self.entry(size, 0, have, Saved { at: have, len: 0, from: 0, crc: 0 })?);
        }
        Ok(out)
    }

    fn entry(&self, size: Option<u64>, from: u64, before: u64, saved: Saved) -> Result<Entry> {
        let witness = self.file.map_or(Ok(0), |f| witness(f, from, before))?;
        Ok(Entry::Undo { name: self.name.clone(), size, witness, saved })
    }
}

/// Copies a range into the journal; returns its CRC-32.
fn copy(file: Option<&dyn File>, s: &Saved, journal: &dyn File, to: u64) -> Result<u32> {
    let Some(file) = file else { return Ok(crc32(&[])) };
    let mut buf = memory::zeroed(usize::try_from(s.len).unwrap_or(PIECE).min(PIECE))?;
    let mut crc = crc32fast::Hasher::new();
    let mut done = 0;
    while done < s.len {
        let n = (s.len - done).min(PIECE as u64) as usize;
        let piece = buf.get_mut(..n).unwrap_or_default();
        file.read_exact_at(s.at.saturating_add(done), piece)?;
        crc.update(piece);
        journal.write_at(to.saturating_add(done), piece)?;
        done += n as u64;
    }
    Ok(crc.finalize())
}

/// Puts new files, written and synced under their new names, in the place of the container's, and removes
/// others, all together: `renames` and `gone` are prefixes.
pub fn swap(c: &Container, durable: bool, renames: &[&str], gone: &[&str]) -> Swapped {
    match try_swap(c, durable, renames, gone) {
        Ok(true) => Swapped::Done,
        Ok(false) => Swapped::Counts,
        // what was renamed, or told of in a journal, is there unless the power fails now
        Err(e)
            if renames.first().is_some_and(|p| c.folder.exists(&c.new_name(p)).unwrap_or(false))
                && !c.folder.exists(&c.journal()).unwrap_or(true) =>
        {
            Swapped::Nothing(e)
        }
        Err(e) => Swapped::Unsure(e),
    }
}

/// How a swap went.
pub enum Swapped {
    /// As it should.
    Done,
    /// It counts, but some of it is left for who writes next.
    Counts,
    /// Nothing was changed.
    Nothing(Error),
    /// It is there, but may not be durable.
    Unsure(Error),
}

fn try_swap(c: &Container, durable: bool, renames: &[&str], gone: &[&str]) -> Result<bool> {
    let mut entries: Vec<Entry> = renames.iter().map(|p| Entry::Swap { name: c.new_name(p), to: Some(c.name(p)) }).collect();
    for p in gone {
        if c.folder.exists(&c.name(p))? {
            entries.push(Entry::Swap { name: c.name(p), to: None });
        }
    }
    if let [Entry::Swap { name, to: Some(to) }] = &entries[..] {
        c.folder.rename(name, to)?;
        return if durable { c.folder.sync_in(parent(to)).map(|()| true) } else { Ok(true) };
    }
    let bytes = encode(SWAP, nonce(), &entries);
    if bytes.len() > SWAP_LIMIT {
        return Err(fail!(Limit, "a change of {} files at once: fewer are to change in one commit", entries.len()));
    }
    c.sync_below(durable, &entries)?;
    publish(c, durable, |journal| journal.write_at(0, &bytes))?;
    Ok(settle(c, durable).is_ok())
}

// ---- readers

/// The last commit of a container, as a reader may see it.
pub struct Snapshot<'a> {
    container: &'a Container,
    hot: Option<Hot>,
    opened: Mutex<Vec<Opened>>,
}

/// A file that a snapshot has opened.
struct Opened {
    name: OsString,
    file: Arc<dyn File>,
    /// Length and stamp; none of a file that may grow while it is open.
    seen: Option<(u64, u64)>,
}

impl Snapshot<'_> {
    /// Opens a container's files by `read`, which may be called again where a writer came in between.
    pub fn read<T>(c: &Container, read: impl Fn(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        let mut waited = Duration::ZERO;
        loop {
            let snap = Snapshot { container: c, hot: load(c)?, opened: Mutex::new(Vec::new()) };
            let result = read(&snap);
            // a file that was there and is gone, or a journal: somebody writes, or there was none at the last commit
            let gone = |e: &Error| e.status == Status::Missing && snap.hot.is_some() && waited < MISSED;
            let again = |e: &Error| e.status == Status::Busy || gone(e);
            match snap.still() {
                Ok(true) if !result.as_ref().is_err_and(again) => return result,
                Err(e) if e.status != Status::Missing => return Err(e),
                _ => {}
            }
            if waited.as_secs() >= 5 {
                return Err(fail!(Busy, "{}: it changed each time it was being opened, for 5 seconds", c.folder.show(&c.main)));
            }
            let pause = Duration::from_millis(1);
            waited += pause;
            std::thread::sleep(pause);
        }
    }

    /// The files of a container that is a folder, as the last commit left them, to be read.
    pub fn folder(&self) -> Result<Arc<dyn Folder>> {
        let folder = &self.container.folder;
        let Some(hot) = &self.hot else { return Ok(folder.clone()) };
        let mut swapped = Vec::new();
        for e in &hot.entries {
            match e {
                Entry::Swap { name, to: Some(to) } => swapped.push((to.clone(), Some(name.clone()))),
                Entry::Swap { name, to: None } => swapped.push((name.clone(), None)),
                Entry::Undo { .. } => return Err(fail!(Format, "{}: the files of a folder are not changed in place", hot.file.name())),
            }
        }
        swapped.sort_unstable();
        Ok(Arc::new(Swapping { folder: folder.clone(), swapped }))
    }

    /// Opens one file of the container as the last commit left it; `Missing` where it had none.
    pub fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        self.open_as(name, access, false)
    }

    /// As [`Snapshot::open`], a file that a writer may let grow outside of commits.
    pub fn open_growing(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        self.open_as(name, access, true)
    }

    fn open_as(&self, name: &OsStr, access: Access, growing: bool) -> Result<Arc<dyn File>> {
        let folder = &self.container.folder;
        let missing = || fail!(Missing, "{}: there is no such file in the last commit", folder.show(name));
        for e in self.hot.iter().flat_map(|h| &h.entries) {
            match e {
                Entry::Undo { name: n, size: None, .. } if n == name => return Err(missing()),
                Entry::Undo { name: n, size: Some(size), .. } if n == name => return self.before(name, *size),
                Entry::Swap { name: n, to: None } if n == name => return Err(missing()),
                Entry::Swap { name: new, to: Some(to) } if to == name => match folder.open(new, access) {
                    Err(e) if e.status == Status::Missing => {}
                    r => return r,
                },
                _ => {}
            }
        }
        let file = folder.open(name, access)?;
        let seen = if growing { None } else { Some((file.size()?, file.stamp()?)) };
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(Opened { name: name.into(), file: file.clone(), seen });
        // what is read from here on is whole if no change was under way now and the length stays: a change
        // that came in between has left its journal, or is over
        if self.same_journal()? { Ok(file) } else { Err(fail!(Busy, "{}: it is being changed", folder.show(name))) }
    }

    /// A file that is being changed, as it was.
    fn before(&self, name: &OsStr, size: u64) -> Result<Arc<dyn File>> {
        let hot = self.hot.as_ref().ok_or_else(|| fail!(State, "no journal"))?;
        let file = self.container.folder.open(name, Access::Read)?;
        let (mut all, mut end) = (Vec::new(), Ends::default());
        for e in &hot.entries {
            let Entry::Undo { name: n, witness, saved, .. } = e else { continue };
            let from = end.before(n, saved);
            if n == name {
                hot.replay(saved, |_, _| Ok(()))?;
                same_file(&*file, size, *witness, from, saved)?;
                all.push(saved.clone());
            }
        }
        Ok(Arc::new(Before { file, journal: hot.file.clone(), size, saved: all }))
    }

    /// Is there still the same journal, or still none?
    pub fn same_journal(&self) -> Result<bool> {
        Ok(load(self.container)?.map(|h| h.nonce) == self.hot.as_ref().map(|h| h.nonce))
    }

    /// Has nobody written since: the same journal (or none), the same files, of the same lengths?
    fn still(&self) -> Result<bool> {
        if !self.same_journal()? {
            return Ok(false);
        }
        for o in self.opened.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let same = self.container.folder.identity(&o.name)? == Some(o.file.identity());
            if !same || o.seen.map_or(Ok(false), |seen| Ok((o.file.size()?, o.file.stamp()?) != seen))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A folder whose files are being swapped.
struct Swapping {
    folder: Arc<dyn Folder>,
    /// Names in rising order, each with what the file has been called; none: it is removed.
    swapped: Vec<(OsString, Option<OsString>)>,
}

impl Swapping {
    /// Asks for the new file, and where it has its name already for that; `gone` where it is removed.
    fn ask<T>(&self, name: &OsStr, gone: Result<T>, f: impl Fn(&OsStr) -> Result<Option<T>>, none: impl FnOnce() -> Result<T>) -> Result<T> {
        let found = self.swapped.binary_search_by(|(n, _)| n.as_os_str().cmp(name));
        let new = found.ok().and_then(|i| self.swapped.get(i)).map(|(_, new)| new.as_deref());
        let there = match new {
            Some(None) => return gone,
            Some(Some(new)) => f(new)?,
            None => None,
        };
        there.map_or_else(none, Ok)
    }
}

impl Folder for Swapping {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let gone = Err(fail!(Missing, "{}: there is no such file in the last commit", self.show(name)));
        let open = |name: &OsStr| match self.folder.open(name, access) {
            Err(e) if e.status == Status::Missing => Ok(None),
            file => file.map(Some),
        };
        self.ask(name, gone, open, || self.folder.open(name, access))
    }

    fn rename(&self, from: &OsStr, _: &OsStr) -> Result<()> {
        Err(super::read_only(&self.show(from)))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        Err(super::read_only(&self.show(name)))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.ask(name, Ok(None), |name| Ok(self.folder.identity(name)?.map(Some)), || self.folder.identity(name))
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.folder.lock(name)
    }

    fn show(&self, name: &OsStr) -> String {
        self.folder.show(name)
    }

    fn is_foreign(&self) -> bool {
        self.folder.is_foreign()
    }

    fn writable(&self) -> Result<()> {
        Err(super::read_only(&self.show(OsStr::new(""))))
    }
}

/// A file as it was before the change that a journal tells of.
struct Before {
    file: Arc<dyn File>,
    journal: Arc<dyn File>,
    size: u64,
    /// In rising order.
    saved: Vec<Saved>,
}

impl File for Before {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let end = self.size.min(at.saturating_add(dst.len() as u64));
        let n = usize::try_from(end.saturating_sub(at)).unwrap_or(0);
        let Some(dst) = dst.get_mut(..n) else { return Ok(0) };
        let mut got = self.file.read_at(at, dst)? as u64;
        for s in &self.saved {
            let (from, to) = (s.at.max(at), (s.at + s.len).min(end));
            if from >= to {
                continue;
            }
            let part = dst.get_mut((from - at) as usize..(to - at) as usize).unwrap_or_default();
            self.journal.read_exact_at(s.from + (from - s.at), part)?;
            // a change that cuts the file has saved all that it cuts off
            if at + got >= from {
                got = got.max(to - at);
            }
        }
        Ok(got as usize)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(super::read_only(self.name()))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(super::read_only(self.name()))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &str {
        self.file.name()
    }

    /// That of the journal: it changes when the change is over and the journal goes.
    fn stamp(&self) -> Result<u64> {
        self.journal.stamp()
    }

    fn modified(&self) -> Result<u64> {
        self.stamp()
    }
}
