//! Opens frames: reads header, index and trailer, but no chunk.
#![forbid(unsafe_code)]

use super::checksums::{self, CHECKSUMS};
use super::entry::Entry;
use super::header::Header;
use super::index::{self, IndexSlot};
use super::meta::{Variable, decode, refuse_placeholder};
use super::paged::PagedEntries;
use super::part_checksum::{self, Writer};
use super::recover::recover;
use super::storage::FrameStorage;
use super::trailer::{TAIL, Trailer};
use super::{Committed, Frame, WriterState, chunk};
use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::io::journal::{self, Session, Snapshot};
use crate::io::{Access, File, Folder, locate, object, read_buffer};
use crate::options::{CHUNK_WRITE_OPTIONS, Opt, Options};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Mode;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Options for opening a frame for reading.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
    Opt::At,
];
/// Additional options for opening a frame for writing.
pub(super) const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::Checksum,
];

/// Bytes of the first read. Most headers are shorter.
const FIRST_READ: usize = 512;

/// Header, index and trailer of a frame.
pub(super) struct FrameParts {
    header: Header,
    slots: Vec<IndexSlot>,
    /// Replaces `slots`.
    paged: Option<Box<PagedEntries>>,
    trailer: Trailer,
    writer: Writer,
    last: Committed,
}

impl Frame {
    /// Opens an existing file or folder.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Frame> {
        let _scope = object::request_scope(options);
        if locate::is_folder(path) {
            let storage = FrameStorage {
                folder: locate::folder(path)?,
                name: OsString::new(),
                sparse: true,
            };
            return Frame::open_at(&storage, mode, options);
        }
        let location = if mode == Mode::Read {
            locate::locate(path)?
        } else {
            locate::locate_for_change(path)?
        };
        Frame::open_in(&location.folder, &location.name, mode, options)
    }

    /// Opens an existing frame by name in a folder.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        options: &Options,
    ) -> Result<Frame> {
        let storage = FrameStorage::find(folder, name)?;
        let never = |e| {
            if !storage.sparse && storage.is_uncommitted().unwrap_or(false) {
                fail!(Missing, "{}: nothing was ever committed", storage.show())
            } else {
                e
            }
        };
        Frame::open_at(&storage, mode, options).map_err(never)
    }

    fn open_at(storage: &FrameStorage, mode: Mode, options: &Options) -> Result<Frame> {
        match mode {
            Mode::Read => {
                let options = &options.applying(
                    "opening a frame for reading",
                    OPEN_OPTIONS,
                    CHUNK_WRITE_OPTIONS,
                )?;
                let access = if options.get(Opt::Io, 0) == 1 {
                    Access::Map
                } else {
                    Access::Read
                };
                let frame = Snapshot::read(&storage.container(), |s| {
                    // a writer extends the file before it commits: bytes after the frame have no
                    // meaning
                    let main = if storage.sparse {
                        s.open(&storage.main(), access)?
                    } else {
                        s.open_growing(&storage.main(), access)?
                    };
                    match Frame::load_to_read(storage, main.clone(), options) {
                        Err(e)
                            if e.status.is_corruption()
                                && options.get(Opt::SkipDamaged, 0) == 1
                                && options.get(Opt::At, 0) == 0 =>
                        {
                            Frame::load_recovered(storage, &main, options, e)
                        }
                        loaded => loaded,
                    }
                })?;
                frame.verify_if_requested()?;
                Ok(frame)
            }
            Mode::Append => {
                let options = &options.applying(
                    "opening a frame for writing",
                    &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
                    CHUNK_WRITE_OPTIONS,
                )?;
                if options.given(Opt::At).is_some_and(|at| at > 0) {
                    return Err(fail!(
                        Unsupported,
                        "{}: a frame inside a larger file is read-only",
                        storage.show()
                    ));
                }
                let session = Frame::open_session(storage, journal::Mode::Append, options)?;
                let main = storage.folder.open(&storage.main(), Access::Write)?;
                let mut frame = Frame::load(storage, main, options)?;
                frame.verify_if_requested()?;
                frame.start_writing(session);
                if storage.sparse {
                    // the next commit removes the files that an interrupted writer left
                    frame.writing.files = storage.chunk_numbers()?;
                }
                frame.apply_write_options()?;
                Ok(frame)
            }
            Mode::New | Mode::Replace => Err(fail!(
                Argument,
                "HOLDALL_CREATE and HOLDALL_REPLACE are for holdall_schunk_create() and holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            )),
        }
    }

    /// Opens the session of a writer and removes the leftovers of an interrupted one.
    pub(super) fn open_session(
        storage: &FrameStorage,
        mode: journal::Mode,
        options: &Options,
    ) -> Result<Session> {
        let session = Session::open(storage.container(), storage.show(), mode, options)?;
        if !storage.sparse {
            storage.folder.remove_if_there(&storage.temporary_file())?;
        }
        Ok(session)
    }

    /// Loads the frame in its current state.
    pub(super) fn load(
        storage: &FrameStorage,
        main: Arc<dyn File>,
        options: &Options,
    ) -> Result<Frame> {
        Frame::load_as(storage, main, options, false)
    }

    /// Loads a frame for reading. The entries of a long frame are loaded on demand if its checksums
    /// are verified and corruption is not skipped.
    fn load_to_read(
        storage: &FrameStorage,
        main: Arc<dyn File>,
        options: &Options,
    ) -> Result<Frame> {
        let paged = options.get(Opt::Verify, 1) == 1 && options.get(Opt::SkipDamaged, 0) == 0;
        Frame::load_as(storage, main, options, paged)
    }

    fn load_as(
        storage: &FrameStorage,
        main: Arc<dyn File>,
        options: &Options,
        paged: bool,
    ) -> Result<Frame> {
        let (at, limit) = (options.get(Opt::At, 0) as u64, options.memory_limit());
        let stamp = (main.size()?, main.modified()?);
        let mut parts =
            FrameParts::read(&main, at, limit, paged).map_err(|e| e.within(storage.show()))?;
        refuse_placeholder(parts.header.metalayers.iter().map(|(name, _)| name))
            .map_err(|e| e.within(storage.show()))?;
        if parts.header.sparse != storage.sparse {
            let (is, says) = if storage.sparse {
                ("a folder", "one file")
            } else {
                ("one file", "a folder")
            };
            return Err(fail!(
                Format,
                "{}: this is {is}, but the header states {says}",
                storage.show()
            ));
        }
        (parts.last.stamp, parts.last.may_grow) =
            (stamp, parts.writer == Writer::Holdall && !storage.sparse);
        let mut frame = Frame::without_chunks(storage, parts.header, options);
        (frame.base, frame.next) = (
            at + parts.last.header.len() as u64,
            frame.header.frame_len - parts.last.header.len() as u64,
        );
        (frame.file, frame.at, frame.last) = (Some(main), at, parts.last);
        frame.checksums_trusted = parts.writer != Writer::Other;
        if let Some(paged) = parts.paged {
            (frame.checksums, frame.paged) = (true, Some(paged));
            return Ok(frame);
        }
        frame.load_chunks_and_metalayers(parts.slots, parts.trailer.vlmeta)?;
        Ok(frame)
    }

    /// Loads what can be recovered of a frame that is corrupt according to `e`.
    pub(super) fn load_recovered(
        storage: &FrameStorage,
        main: &Arc<dyn File>,
        options: &Options,
        e: Error,
    ) -> Result<Frame> {
        let found = match recover(storage, main, options.memory_limit()) {
            // without a seal of this library, a later format version is as likely as corruption
            Ok(found) if e.is_unsupported() && !found.ours => return Err(e),
            Err(why) if e.is_unsupported() && why.status.is_corruption() => return Err(e),
            found => found.map_err(|why| Error {
                message: format!("{}; {}", e.message, why.message),
                ..why
            })?,
        };
        let mut frame = Frame::load(storage, Arc::new(found.file), options)?;
        // a repair writes the checksums again
        frame.checksums |= found.ours;
        frame.last.may_grow = false;
        frame.header_lost = found.header_lost;
        frame.corruption.splice(
            0..0,
            std::iter::once(e).chain(found.lost.into_iter().map(|e| e.within(storage.show()))),
        );
        Ok(frame)
    }

    /// Returns a frame without chunks.
    pub(super) fn without_chunks(
        storage: &FrameStorage,
        header: Header,
        options: &Options,
    ) -> Frame {
        let blocks = chunk::blocks(header.chunksize as usize);
        Frame {
            storage: storage.clone(),
            name: storage.show(),
            params: header.params(),
            header,
            entries: Vec::new(),
            paged: None,
            starts: None,
            vlmeta: Vec::new(),
            checksums: false,
            checksums_trusted: true,
            corruption: Vec::new(),
            header_lost: false,
            pending: Vec::new(),
            file: None,
            at: 0,
            base: 0,
            next: 0,
            last: Committed::default(),
            open_chunks: chunk::open_chunks(storage.sparse),
            blocks,
            threads: options.threads(),
            verify: options.get(Opt::Verify, 1) > 0,
            skip_damaged: options.get(Opt::SkipDamaged, 0) == 1,
            memory_limit: options.memory_limit(),
            writing: WriterState::default(),
            options: options.clone(),
            session: None,
        }
    }

    /// Loads chunks and metalayers.
    fn load_chunks_and_metalayers(
        &mut self,
        mut slots: Vec<IndexSlot>,
        vlmeta: Vec<(String, Vec<u8>)>,
    ) -> Result<()> {
        invalidate_shared(&mut slots)?;
        let mut value = Vec::new();
        for (name, chunk) in vlmeta {
            if name != CHECKSUMS {
                self.vlmeta.push(Variable::new(name, chunk));
                continue;
            }
            self.checksums = true;
            match decode(&chunk, self.memory_limit) {
                Ok(bytes) => value = bytes,
                // another writer has changed this metalayer: it is not ours
                Err(e) if self.checksums_trusted => self
                    .corruption
                    .push(e.within(format_args!("{}: metalayer {CHECKSUMS:?}", self.name))),
                Err(_) => {}
            }
        }
        let checksums = checksums::numbers(&value);
        // a frame without chunks has no checksum metalayer
        self.checksums |= slots.is_empty() && self.checksums_trusted;
        if self.checksums_trusted
            && self.checksums
            && self.corruption.is_empty()
            && checksums.len() != slots.len() * 8
        {
            self.corruption.push(fail!(
                Format,
                "{}: the checksums of {} chunks have {} bytes",
                self.name,
                slots.len(),
                checksums.len()
            ));
        }
        let checksums = checksums::pairs(checksums).into_iter();
        let known = if self.checksums_trusted {
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
                .zip(checksums.chain(std::iter::repeat([0, 0])))
                .map(|(slot, sum)| known(slot, sum)),
        );
        if self.header.variable_chunks {
            self.read_chunk_starts()?;
        }
        Ok(())
    }

    /// Chunks of variable length: the header of each chunk states its length.
    fn read_chunk_starts(&mut self) -> Result<()> {
        let mut starts = alloc::with_capacity(self.entries.len() + 1)?;
        let mut end = 0u64;
        starts.push(end);
        for (i, entry) in self.entries.iter().enumerate() {
            if !matches!(entry.slot, IndexSlot::At(_)) {
                return Err(fail!(
                    Format,
                    "{}: chunk {i} is not stored, and its length is unknown",
                    self.name
                )
                .at(i as u64));
            }
            let (file, at, _) = self.locate_chunk(entry)?;
            let n = blosc::EXTENDED_HEADER_LEN;
            let header = read_buffer::read(&*file, at, n, self.memory_limit)
                .and_then(|bytes| blosc::Header::parse(&bytes))
                .map_err(|e| self.chunk_error(i as u64, e))?;
            end = end.saturating_add(header.nbytes as u64);
            starts.push(end);
        }
        if end != self.header.nbytes {
            return Err(fail!(
                Format,
                "{}: the header states {} bytes of content (the chunks have {end})",
                self.name,
                self.header.nbytes
            ));
        }
        self.starts = Some(starts);
        Ok(())
    }

    /// Initializes the writer state.
    pub(super) fn start_writing(&mut self, session: Session) {
        self.session = Some(session);
        self.protect_committed();
    }

    /// Protects the chunks of the last commit from being overwritten.
    pub(super) fn protect_committed(&mut self) {
        self.writing.committed = self.next;
        self.writing.uncommitted = Vec::new();
        if self.storage.sparse {
            let mut files: Vec<u64> = self.entries.iter().filter_map(Entry::position).collect();
            files.sort_unstable();
            files.dedup();
            self.writing.number = self
                .writing
                .number
                .max(files.last().map_or(0, |n| n.saturating_add(1)));
            self.writing.files = files;
        }
    }

    fn verify_if_requested(&self) -> Result<()> {
        if let Some(e) = self
            .corruption
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

impl FrameParts {
    /// Reads the parts of a single commit.
    fn read(file: &Arc<dyn File>, at: u64, limit: u64, paged: bool) -> Result<FrameParts> {
        let head = read_header(&**file, at, limit)?;
        let read = FrameParts::read_rest(file, at, limit, &head, paged);
        // a writer writes the header last: an unchanged header proves that the parts belong
        // together
        match read_header(&**file, at, limit) {
            Ok(again) if again == head => read,
            Ok(_) => Err(fail!(Busy, "another writer is changing it; try again")),
            Err(e) => Err(e),
        }
    }

    fn read_rest(
        file: &Arc<dyn File>,
        at: u64,
        limit: u64,
        head: &[u8],
        paged: bool,
    ) -> Result<FrameParts> {
        let header = Header::parse(head)?;
        let room = file.size()?.saturating_sub(at);
        if header.frame_len > room {
            return Err(fail!(
                Format,
                "the header states a frame of {} bytes (the file has {room} for it)",
                header.frame_len
            ));
        }
        // reading all entries at once reports any error of the paged ones
        if paged && let Ok(Some((paged, last))) = PagedEntries::open(file, at, limit, &header, head)
        {
            return Ok(FrameParts {
                header,
                slots: Vec::new(),
                paged: Some(paged),
                trailer: Trailer::default(),
                writer: Writer::Holdall,
                last,
            });
        }
        let file = &**file;
        let end = at.saturating_add(header.frame_len);
        let tail_at = end.saturating_sub(TAIL as u64);
        let trailer_len = Trailer::length(&read_buffer::read(file, tail_at, TAIL, limit)?)?;
        let from = end
            .checked_sub(trailer_len.into())
            .filter(|from| *from >= at + head.len() as u64);
        let from = from.ok_or_else(|| {
            fail!(
                Format,
                "a trailer of {trailer_len} bytes does not fit in the frame"
            )
        })?;
        let index = index_range(&header, trailer_len)?;
        let begin = index.as_ref().map_or(from, |range| at + range.start);
        let n = usize::try_from(end - begin).map_err(|_| {
            fail!(
                Limit,
                "an index and a trailer of {} bytes are too large",
                end - begin
            )
        })?;
        let bytes = read_buffer::read(file, begin, n, limit)?;
        let (index, tail) = bytes.cut((from - begin) as usize)?;
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
            tail: tail.at(last..)?.to_vec(),
            tail_at: from + last as u64,
            ..Committed::default()
        };
        Ok(FrameParts {
            header,
            slots,
            paged: None,
            trailer,
            writer,
            last,
        })
    }
}

/// Reads the header bytes.
pub(super) fn read_header(file: &dyn File, at: u64, limit: u64) -> Result<Vec<u8>> {
    let mut head = alloc::zeroed(FIRST_READ)?;
    let n = file.read_at(at, &mut head)?;
    head.truncate(n);
    if n < 15 {
        return Err(fail!(Format, "the file has {n} bytes, fewer than a frame"));
    }
    let len = Header::prefix_len(&head)?;
    if u64::from(len) > file.size()?.saturating_sub(at) {
        return Err(fail!(
            Format,
            "a header of {len} bytes does not fit in the file"
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

/// Returns the range of the index.
fn index_range(header: &Header, trailer_len: u32) -> Result<Option<std::ops::Range<u64>>> {
    if !header.variable_chunks || header.variable_blocks || header.nbytes == 0 {
        return header.index_range(trailer_len);
    }
    // only the index states the number of variable-length chunks
    Header {
        variable_chunks: false,
        chunksize: u32::MAX,
        ..header.clone()
    }
    .index_range(trailer_len)
}

/// Returns the stored index and its slots.
fn read_index<'b>(
    header: &Header,
    bytes: &'b [u8],
    limit: u64,
) -> Result<(&'b [u8], Vec<IndexSlot>)> {
    let own = blosc::Header::parse(bytes).map_err(|e| e.within("the index of the chunks"))?;
    let bytes = bytes.get(..own.cbytes).ok_or_else(|| {
        fail!(
            Format,
            "an index of {} bytes does not fit in the frame",
            own.cbytes
        )
    })?;
    let chunks = if header.variable_chunks {
        own.nbytes as u64 / 8
    } else {
        header.chunks()?
    };
    let slots = index::decode(bytes, chunks, limit)?;
    // one flipped bit can move one chunk out of range; more such chunks mean that the index was
    // decoded incorrectly
    let most = if header.sparse {
        u32::MAX.into()
    } else {
        header.cbytes
    };
    let mut out_of_range = slots
        .iter()
        .enumerate()
        .filter_map(|(i, slot)| {
            if let IndexSlot::At(position) = slot {
                Some((i, *position))
            } else {
                None
            }
        })
        .filter(|(_, at)| *at > most);
    match (out_of_range.next(), out_of_range.next()) {
        (Some((i, at)), Some(_)) => Err(fail!(
            Format,
            "the index of the chunks: chunk {i} has the position {at} (at most {most})"
        )
        .at(i as u64)),
        _ => Ok((bytes, slots)),
    }
}

/// No writer stores two chunks at one offset: all slots that share an offset are marked as invalid.
fn invalidate_shared(slots: &mut [IndexSlot]) -> Result<()> {
    let at = |slot: &IndexSlot| {
        if let IndexSlot::At(position) = slot {
            Some(*position)
        } else {
            None
        }
    };
    if slots.iter().filter_map(at).is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut positions = alloc::with_capacity(slots.len())?;
    positions.extend(slots.iter().filter_map(at));
    positions.sort_unstable();
    let shared: HashSet<u64> = positions
        .windows(2)
        .filter(|w| matches!(w, [a, b] if a == b))
        .filter_map(|w| w.first().copied())
        .collect();
    for slot in slots.iter_mut().filter(|_| !shared.is_empty()) {
        if let Some(position) = at(slot).filter(|position| shared.contains(position)) {
            *slot = IndexSlot::Unknown(position);
        }
    }
    Ok(())
}
