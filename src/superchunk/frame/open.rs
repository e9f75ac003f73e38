//! Opening: header, index and trailer, and no chunk.
#![forbid(unsafe_code)]

use super::checksums::{self, SUMS};
use super::entry::Entry;
use super::header::Header;
use super::index::{self, Slot};
use super::meta::{Variable, decode, refuse_placeholder};
use super::paged::Paged;
use super::part_checksum::{self, Writer};
use super::recover::rescue;
use super::storage::Site;
use super::trailer::{TAIL, Trailer};
use super::{Committed, Frame, Writing, chunk};
use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result, Status, fail};
use crate::io::journal::{self, Snapshot};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, locate, object, read_buffer};
use crate::options::{Opt, Options};
use crate::os;
use crate::superchunk::bloscpack::Mode;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Options that opening knows; those of changing are these and more.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
    Opt::At,
];
/// Options that opening for writing knows besides.
pub(super) const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::Checksum,
];

/// What is read at first: most headers are shorter.
const FIRST: usize = 512;

/// Header, index and trailer of a frame.
pub(super) struct Parts {
    header: Header,
    slots: Vec<Slot>,
    /// In place of these.
    paged: Option<Box<Paged>>,
    trailer: Trailer,
    writer: Writer,
    last: Committed,
}

impl Frame {
    /// Opens a file or folder that is there.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Frame> {
        let _asking = object::ask_as(options);
        if locate::is_folder(path) {
            let site = Site {
                folder: locate::folder(path)?,
                name: OsString::new(),
                sparse: true,
            };
            return Frame::open_at(&site, mode, options);
        }
        let place = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        Frame::open_in(&place.folder, &place.name, mode, options)
    }

    /// Opens a name in a folder.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Frame> {
        let site = Site::find(folder, name)?;
        let never = |e| {
            if !site.sparse && site.is_begun().unwrap_or(false) {
                fail!(Missing, "{}: nothing was ever committed there", site.show())
            } else {
                e
            }
        };
        Frame::open_at(&site, mode, options).map_err(never)
    }

    fn open_at(site: &Site, mode: Mode, options: &Options) -> Result<Frame> {
        match mode {
            Mode::Read => {
                options.only("opening a frame for reading", OPEN_OPTIONS)?;
                let access = if options.get(Opt::Io, 0) == 1 {
                    Access::Map
                } else {
                    Access::Read
                };
                let frame = Snapshot::read(&site.container(), |s| {
                    // a file grows before a commit, and what is behind its end says nothing
                    let main = if site.sparse {
                        s.open(&site.main(), access)?
                    } else {
                        s.open_growing(&site.main(), access)?
                    };
                    match Frame::load_to_read(site, main.clone(), options) {
                        Err(e)
                            if is_damage(&e)
                                && options.get(Opt::SkipDamaged, 0) == 1
                                && options.get(Opt::At, 0) == 0 =>
                        {
                            Frame::load_rescued(site, &main, options, Lock::none(), e)
                        }
                        loaded => loaded,
                    }
                })?;
                frame.verify_if_wished()?;
                Ok(frame)
            }
            Mode::Append => {
                options.only(
                    "opening a frame for writing",
                    &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
                )?;
                if options.given(Opt::At).is_some_and(|at| at > 0) {
                    return Err(fail!(
                        Unsupported,
                        "{}: a frame within a larger file can be read only",
                        site.show()
                    ));
                }
                site.folder.writable()?;
                let lock = Frame::lock(site, options)?;
                let main = site.folder.open(&site.main(), Access::Write)?;
                let mut frame = Frame::load(site, main, options, lock)?;
                frame.verify_if_wished()?;
                frame.write_from_here(Mode::Append);
                if site.sparse {
                    // what a writer that was cut off has left goes with the next commit
                    frame.writing.files = site.chunks()?;
                }
                frame.go_on_as_wished()?;
                Ok(frame)
            }
            Mode::New | Mode::Replace => Err(fail!(
                Argument,
                "HOLDALL_NEW and HOLDALL_REPLACE are for holdall_schunk_create() and holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            )),
        }
    }

    /// The writers' lock; what a writer that was cut off has left is gone then.
    pub(super) fn lock(site: &Site, options: &Options) -> Result<Lock> {
        let container = site.container();
        let lock = container.lock(options.get(Opt::Lock, 1) == 1)?;
        journal::tidy(&container, options.get(Opt::Durability, 1) == 1)?;
        if !site.sparse {
            site.folder.remove_if_there(&site.part())?;
        }
        Ok(lock)
    }

    /// Takes in the frame as it is.
    pub(super) fn load(
        site: &Site,
        main: Arc<dyn File>,
        options: &Options,
        lock: Lock,
    ) -> Result<Frame> {
        Frame::load_as(site, main, options, lock, false)
    }

    /// The same to read it: the entries of a long one are found as they are asked for, where its
    /// checksums are going to be looked at, and what they say of it is not to be passed over.
    fn load_to_read(site: &Site, main: Arc<dyn File>, options: &Options) -> Result<Frame> {
        let paged = options.get(Opt::Verify, 1) == 1 && options.get(Opt::SkipDamaged, 0) == 0;
        Frame::load_as(site, main, options, Lock::none(), paged)
    }

    fn load_as(
        site: &Site,
        main: Arc<dyn File>,
        options: &Options,
        lock: Lock,
        paged: bool,
    ) -> Result<Frame> {
        let (at, limit) = (options.get(Opt::At, 0) as u64, options.memory_limit());
        let stamp = (main.size()?, main.modified()?);
        let mut parts = Parts::read(&main, at, limit, paged).map_err(|e| e.within(site.show()))?;
        refuse_placeholder(parts.header.metalayers.iter().map(|(name, _)| name))
            .map_err(|e| e.within(site.show()))?;
        if parts.header.sparse != site.sparse {
            let (is, says) = if site.sparse {
                ("a folder", "one file")
            } else {
                ("one file", "a folder")
            };
            return Err(fail!(
                Format,
                "{}: this is {is}, and the header says that it is {says}",
                site.show()
            ));
        }
        (parts.last.stamp, parts.last.grows) = (stamp, parts.writer == Writer::We && !site.sparse);
        let mut frame = Frame::of(site, parts.header, options, lock);
        (frame.base, frame.next) = (
            at + parts.last.header.len() as u64,
            frame.header.frame_len - parts.last.header.len() as u64,
        );
        (frame.file, frame.at, frame.last) = (Some(main), at, parts.last);
        frame.binding = parts.writer != Writer::Others;
        if let Some(paged) = parts.paged {
            (frame.sums, frame.paged) = (true, Some(paged));
            return Ok(frame);
        }
        frame.take_in(parts.slots, parts.trailer.vlmeta)?;
        Ok(frame)
    }

    /// Takes in what is left of a frame that is damaged as `e` says.
    pub(super) fn load_rescued(
        site: &Site,
        main: &Arc<dyn File>,
        options: &Options,
        lock: Lock,
        e: Error,
    ) -> Result<Frame> {
        let found = match rescue(site, main, options.memory_limit()) {
            // nothing proves that it is corrupt, and not what another version has written
            Ok(found) if e.is_unsupported() && !found.ours => return Err(e),
            Err(why) if e.is_unsupported() && is_damage(&why) => return Err(e),
            found => found.map_err(|why| Error {
                message: format!("{}; {}", e.message, why.message),
                ..why
            })?,
        };
        let mut frame = Frame::load(site, Arc::new(found.file), options, lock)?;
        // they come again with a repair
        frame.sums |= found.ours;
        frame.last.grows = false;
        frame.headless = found.headless;
        frame.doubts.splice(
            0..0,
            std::iter::once(e).chain(found.lost.into_iter().map(|e| e.within(site.show()))),
        );
        Ok(frame)
    }

    /// Without chunks.
    pub(super) fn of(site: &Site, header: Header, options: &Options, lock: Lock) -> Frame {
        let blocks = chunk::blocks(header.chunksize as usize);
        Frame {
            site: site.clone(),
            name: site.show(),
            params: header.params(),
            header,
            entries: Vec::new(),
            paged: None,
            starts: None,
            vlmeta: Vec::new(),
            sums: false,
            binding: true,
            doubts: Vec::new(),
            headless: false,
            pending: Vec::new(),
            file: None,
            at: 0,
            base: 0,
            next: 0,
            last: Committed::default(),
            open_chunks: chunk::open_chunks(site.sparse),
            blocks,
            threads: options.threads(),
            verify: options.get(Opt::Verify, 1) > 0,
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            memory_limit: options.memory_limit(),
            owner: 0,
            writing: Writing::default(),
            options: options.clone(),
            lock,
        }
    }

    /// Chunks and metalayers.
    fn take_in(&mut self, mut slots: Vec<Slot>, vlmeta: Vec<(String, Vec<u8>)>) -> Result<()> {
        doubt_shared(&mut slots)?;
        let mut value = Vec::new();
        for (name, chunk) in vlmeta {
            if name != SUMS {
                self.vlmeta.push(Variable::new(name, chunk));
                continue;
            }
            self.sums = true;
            match decode(&chunk, self.memory_limit) {
                Ok(bytes) => value = bytes,
                // one that others have changed is theirs
                Err(e) if self.binding => self
                    .doubts
                    .push(e.within(format_args!("{}: metalayer {SUMS:?}", self.name))),
                Err(_) => {}
            }
        }
        let sums = checksums::numbers(&value);
        // there is nothing to say of no chunk
        self.sums |= slots.is_empty() && self.binding;
        if self.binding && self.sums && self.doubts.is_empty() && sums.len() != slots.len() * 8 {
            self.doubts.push(fail!(
                Format,
                "{}: {} chunks have checksums in {} bytes",
                self.name,
                slots.len(),
                sums.len()
            ));
        }
        let sums = checksums::pairs(sums).into_iter();
        let known = if self.binding {
            Entry::sealed
        } else {
            Entry::stored
        };
        alloc::allow(
            (slots.len() * size_of::<Entry>()) as u64,
            self.memory_limit,
            "the index of the chunks",
        )?;
        alloc::reserve(&mut self.entries, slots.len())?;
        self.entries.extend(
            slots
                .into_iter()
                .zip(sums.chain(std::iter::repeat([0, 0])))
                .map(|(slot, sum)| known(slot, sum)),
        );
        if self.header.variable_chunks {
            self.find_starts()?;
        }
        Ok(())
    }

    /// Of chunks of any length each says how long it is.
    fn find_starts(&mut self) -> Result<()> {
        let mut starts = alloc::with_room(self.entries.len() + 1)?;
        let mut end = 0u64;
        starts.push(end);
        for (i, entry) in self.entries.iter().enumerate() {
            if !matches!(entry.slot, Slot::At(_)) {
                return Err(fail!(
                    Format,
                    "{}: chunk {i} is not stored, and nothing says how long it is",
                    self.name
                )
                .at(i as u64));
            }
            let (file, at, _) = self.place_of(entry)?;
            let header = read_buffer::with_range(
                &*file,
                at,
                blosc::LONG,
                self.memory_limit,
                blosc::Header::parse,
            )
            .map_err(|e| self.named(i as u64, e))?;
            end = end.saturating_add(header.nbytes as u64);
            starts.push(end);
        }
        if end != self.header.nbytes {
            return Err(fail!(
                Format,
                "{}: the header says {} bytes of content, the chunks have {end}",
                self.name,
                self.header.nbytes
            ));
        }
        self.starts = Some(starts);
        Ok(())
    }

    /// What it needs to write.
    pub(super) fn write_from_here(&mut self, mode: Mode) {
        self.owner = os::process();
        self.writing.mode = Some(mode);
        self.writing.durable = self.options.get(Opt::Durability, 1) == 1;
        self.settle_places();
    }

    /// The commit stands: what it has is not written over.
    pub(super) fn settle_places(&mut self) {
        self.writing.committed = self.next;
        self.writing.fresh = Vec::new();
        if self.site.sparse {
            let mut files: Vec<u64> = self.entries.iter().filter_map(Entry::place).collect();
            files.sort_unstable();
            files.dedup();
            self.writing.number = self
                .writing
                .number
                .max(files.last().map_or(0, |n| n.saturating_add(1)));
            self.writing.files = files;
        }
    }

    fn verify_if_wished(&self) -> Result<()> {
        if let Some(e) = self
            .doubts
            .first()
            .filter(|_| self.verify && !self.skip_damaged)
        {
            return Err(e.clone());
        }
        if self.options.get(Opt::Verify, 1) < 2 {
            return Ok(());
        }
        let mut first = None;
        self.verify(|e| {
            first = Some(e.clone());
            false
        })?;
        first.map_or(Ok(()), Err)
    }
}

impl Parts {
    /// Reads them, all of one commit.
    fn read(file: &Arc<dyn File>, at: u64, limit: u64, paged: bool) -> Result<Parts> {
        let head = read_header(&**file, at, limit)?;
        let read = Parts::behind(file, at, limit, &head, paged);
        // who writes now has written the header last
        match read_header(&**file, at, limit) {
            Ok(again) if again == head => read,
            Ok(_) => Err(fail!(Busy, "it is being changed")),
            Err(e) => Err(e),
        }
    }

    fn behind(
        file: &Arc<dyn File>,
        at: u64,
        limit: u64,
        head: &[u8],
        paged: bool,
    ) -> Result<Parts> {
        let header = Header::parse(head)?;
        let room = file.size()?.saturating_sub(at);
        if header.frame_len > room {
            return Err(fail!(
                Format,
                "the frame has {} bytes, it says; the file has {room} for it",
                header.frame_len
            ));
        }
        // whatever is wrong with a long one is found again when it is read at once
        if paged && let Ok(Some((paged, last))) = Paged::open(file, at, limit, &header, head) {
            return Ok(Parts {
                header,
                slots: Vec::new(),
                paged: Some(paged),
                trailer: Trailer::default(),
                writer: Writer::We,
                last,
            });
        }
        let file = &**file;
        let end = at.saturating_add(header.frame_len);
        let trailer_len = read_buffer::with_range(
            file,
            end.saturating_sub(TAIL as u64),
            TAIL,
            limit,
            Trailer::length,
        )?;
        let from = end
            .checked_sub(trailer_len.into())
            .filter(|from| *from >= at + head.len() as u64);
        let from = from.ok_or_else(|| {
            fail!(
                Format,
                "a trailer of {trailer_len} bytes has no room in the frame"
            )
        })?;
        let index = index_place(&header, trailer_len)?;
        let begin = index.as_ref().map_or(from, |place| at + place.start);
        let n = usize::try_from(end - begin)
            .map_err(|_| fail!(Limit, "an index and a trailer of {} bytes", end - begin))?;
        read_buffer::with_range(file, begin, n, limit, |bytes| {
            let (index, tail) = bytes
                .split_at_checked((from - begin) as usize)
                .unwrap_or_default();
            let trailer = Trailer::parse(tail)?;
            let (index, slots) = if index.is_empty() {
                (index, Vec::new())
            } else {
                read_index(&header, index, limit)?
            };
            let writer = part_checksum::check(head, index, tail)?;
            let last = tail.len().saturating_sub(TAIL);
            let last = Committed {
                header: head.to_vec(),
                tail: tail.get(last..).unwrap_or_default().to_vec(),
                tail_at: from + last as u64,
                ..Committed::default()
            };
            Ok(Parts {
                header: header.clone(),
                slots,
                paged: None,
                trailer,
                writer,
                last,
            })
        })
    }
}

/// The bytes of a header.
pub(super) fn read_header(file: &dyn File, at: u64, limit: u64) -> Result<Vec<u8>> {
    let mut head = alloc::zeroed(FIRST)?;
    let n = file.read_at(at, &mut head)?;
    head.truncate(n);
    if n < 15 {
        return Err(fail!(Format, "{n} bytes are there: a frame has more"));
    }
    let len = Header::prefix_len(&head)?;
    if u64::from(len) > file.size()?.saturating_sub(at) {
        return Err(fail!(
            Format,
            "a header of {len} bytes has no room in the file"
        ));
    }
    let len = alloc::allow(len.into(), limit, "a header")?;
    if len > head.len() {
        head = alloc::zeroed(len)?;
        file.read_exact_at(at, &mut head)?;
    }
    head.truncate(len);
    Ok(head)
}

/// Where the index is.
fn index_place(header: &Header, trailer_len: u32) -> Result<Option<std::ops::Range<u64>>> {
    if !header.variable_chunks || header.variable_blocks || header.nbytes == 0 {
        return header.index_place(trailer_len);
    }
    // how many chunks there are, only the index knows
    Header {
        variable_chunks: false,
        chunksize: u32::MAX,
        ..header.clone()
    }
    .index_place(trailer_len)
}

/// The index, as it is stored, and what it says.
fn read_index<'b>(header: &Header, bytes: &'b [u8], limit: u64) -> Result<(&'b [u8], Vec<Slot>)> {
    let own = blosc::Header::parse(bytes).map_err(|e| e.within("the index of the chunks"))?;
    let bytes = bytes.get(..own.cbytes).ok_or_else(|| {
        fail!(
            Format,
            "an index of {} bytes has no room in the frame",
            own.cbytes
        )
    })?;
    let chunks = if header.variable_chunks {
        own.nbytes as u64 / 8
    } else {
        header.chunks()?
    };
    let slots = index::decode(bytes, chunks, limit)?;
    // a flipped bit leads one chunk astray; more of them tell that the index was not unpacked as it
    // was packed
    let most = if header.sparse {
        u32::MAX.into()
    } else {
        header.cbytes
    };
    let mut astray = slots
        .iter()
        .enumerate()
        .filter_map(|(i, slot)| {
            if let Slot::At(place) = slot {
                Some((i, *place))
            } else {
                None
            }
        })
        .filter(|(_, at)| *at > most);
    match (astray.next(), astray.next()) {
        (Some((i, at)), Some(_)) => {
            Err(fail!(Format, "the index of the chunks: chunk {i} is at {at}, it says; {most} is the last place that can be").at(i as u64))
        }
        _ => Ok((bytes, slots)),
    }
}

/// Is this what damage looks like, as against a failing disk or a limit of the caller's?
pub(super) fn is_damage(e: &Error) -> bool {
    matches!(
        e.status,
        Status::Format | Status::Checksum | Status::Codec | Status::Version | Status::Unsupported
    )
}

/// No writer puts two chunks in one place: of those that say so, none can be believed.
fn doubt_shared(slots: &mut [Slot]) -> Result<()> {
    let at = |slot: &Slot| {
        if let Slot::At(place) = slot {
            Some(*place)
        } else {
            None
        }
    };
    if slots.iter().filter_map(at).is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut places = alloc::with_room(slots.len())?;
    places.extend(slots.iter().filter_map(at));
    places.sort_unstable();
    let shared: HashSet<u64> = places
        .windows(2)
        .filter(|w| matches!(w, [a, b] if a == b))
        .filter_map(|w| w.first().copied())
        .collect();
    for slot in slots.iter_mut().filter(|_| !shared.is_empty()) {
        if let Some(place) = at(slot).filter(|place| shared.contains(place)) {
            *slot = Slot::Unknown(place);
        }
    }
    Ok(())
}
