//! Opens frames: reads header, index and trailer, but no chunk.
#![forbid(unsafe_code)]

use super::files::{self, FrameFiles};
use super::header::Header;
use super::in_store;
use super::index::IndexSlot;
use super::layout::FrameLayout;
use super::metalayers::refuse_placeholder;
use super::options::{
    OPEN_OPTIONS, WRITE_OPTIONS, changed_params, requested_checksums, requests_encoding,
};
use super::part_checksum::Writer;
use super::parts::FrameParts;
use super::read::FrameReader;
use super::recover::recover;
use super::storage::FrameStorage;
use super::write::FrameWriter;
use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::io::journal::{self, Mode, Session, Snapshot};
use crate::io::{Access, File, read_buffer};
use crate::options::{CHUNK_WRITE_OPTIONS, Opt, Options};
use std::ffi::OsStr;
use std::sync::Arc;

impl FrameReader {
    /// Opens an existing frame for reading.
    pub(super) fn open(storage: &FrameStorage, options: &Options) -> Result<FrameReader> {
        let options = &options.applying(
            "opening a frame for reading",
            OPEN_OPTIONS,
            CHUNK_WRITE_OPTIONS,
        )?;
        let access = files::access(options);
        let reader = Snapshot::read(&in_store::part_of_store(storage.container()), |s| {
            // a writer extends the file before it commits: bytes after the frame have no
            // meaning
            let main = if storage.sparse {
                s.open(&storage.main(), access)?
            } else {
                s.open_growing(&storage.main(), access)?
            };
            match FrameReader::load_to_read(storage, main.clone(), options) {
                Err(e)
                    if e.status.is_corruption()
                        && options.get(Opt::SkipDamaged, 0) == 1
                        && options.get(Opt::At, 0) == 0 =>
                {
                    FrameReader::load_recovered(storage, &main, options, e)
                }
                loaded => loaded,
            }
        })?;
        reader.verify_if_requested()?;
        Ok(reader)
    }

    /// Loads the frame in its current state.
    pub(super) fn load(
        storage: &FrameStorage,
        main: Arc<dyn File>,
        options: &Options,
    ) -> Result<FrameReader> {
        FrameReader::load_as(storage, main, options, false)
    }

    /// Loads a frame for reading. The entries of a long frame are loaded on demand if its checksums
    /// are verified and corruption is not skipped.
    fn load_to_read(
        storage: &FrameStorage,
        main: Arc<dyn File>,
        options: &Options,
    ) -> Result<FrameReader> {
        let paged = options.get(Opt::Verify, 1) == 1 && options.get(Opt::SkipDamaged, 0) == 0;
        FrameReader::load_as(storage, main, options, paged)
    }

    fn load_as(
        storage: &FrameStorage,
        main: Arc<dyn File>,
        options: &Options,
        paged: bool,
    ) -> Result<FrameReader> {
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
        let mut files = FrameFiles::new(storage, options);
        files.at = at;
        files.base = at + parts.commit.header.len() as u64;
        files.main = Some(main);
        files.last = std::mem::take(&mut parts.commit);
        files.stamp = stamp;
        files.may_grow = parts.writer == Writer::Holdall && !storage.sparse;
        let layout = FrameLayout::of_parts(storage.show(), parts, limit)?;
        let mut reader = FrameReader::of(layout, files, options);
        if reader.layout.header.variable_chunks {
            reader.layout.starts = Some(reader.chunk_starts()?);
        }
        Ok(reader)
    }

    /// Loads what can be recovered of a frame that is corrupt according to `e`.
    pub(super) fn load_recovered(
        storage: &FrameStorage,
        main: &Arc<dyn File>,
        options: &Options,
        e: Error,
    ) -> Result<FrameReader> {
        let found = match recover(storage, main, options.memory_limit()) {
            // without a seal of this library, a later format version is as likely as corruption
            Ok(found) if e.is_unsupported() && !found.ours => return Err(e),
            Err(why) if e.is_unsupported() && why.status.is_corruption() => return Err(e),
            found => found.map_err(|why| Error {
                message: format!("{}; {}", e.message, why.message),
                ..why
            })?,
        };
        let mut reader = FrameReader::load(storage, Arc::new(found.file), options)?;
        reader.files.may_grow = false;
        let layout = &mut reader.layout;
        // a repair writes the checksums again
        layout.checksums |= found.ours;
        layout.header_lost = found.header_lost;
        layout.corruption.splice(
            0..0,
            std::iter::once(e).chain(found.lost.into_iter().map(|e| e.within(storage.show()))),
        );
        Ok(reader)
    }

    /// Returns the content offsets of chunks of variable length, whose headers state their lengths.
    fn chunk_starts(&self) -> Result<Vec<u64>> {
        let layout = &self.layout;
        let mut starts = alloc::with_capacity(layout.entries.len() + 1)?;
        let mut end = 0u64;
        starts.push(end);
        for (i, entry) in layout.entries.iter().enumerate() {
            if !matches!(entry.slot, IndexSlot::At(_)) {
                return Err(fail!(
                    Format,
                    "{}: chunk {i} is not stored, and its length is unknown",
                    layout.name
                )
                .at(i as u64));
            }
            let (file, at, _) = self.locate_chunk(entry)?;
            let n = blosc::EXTENDED_HEADER_LEN;
            let header = read_buffer::read(&*file, at, n, self.memory_limit)
                .and_then(|bytes| blosc::Header::parse(&bytes))
                .map_err(|e| layout.chunk_error(i as u64, e))?;
            end = end.saturating_add(header.nbytes as u64);
            starts.push(end);
        }
        if end != layout.header.nbytes {
            return Err(fail!(
                Format,
                "{}: the header states {} bytes of content (the chunks have {end})",
                layout.name,
                layout.header.nbytes
            ));
        }
        Ok(starts)
    }

    fn verify_if_requested(&self) -> Result<()> {
        if let Some(e) = self
            .layout
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

impl FrameWriter {
    /// Opens an existing frame for writing.
    pub(super) fn open(storage: &FrameStorage, options: &Options) -> Result<FrameWriter> {
        let options = &options_for_writing(options)?;
        if options.given(Opt::At).is_some_and(|at| at > 0) {
            return Err(fail!(
                Unsupported,
                "{}: a frame inside a larger file is read-only",
                storage.show()
            ));
        }
        let session = storage.open_session(Mode::Append, options)?;
        FrameWriter::open_with(storage, session, options)
    }

    /// Opens a frame in one file of a container that commits several frames together.
    pub(super) fn open_member(
        session: &Arc<Session>,
        name: &OsStr,
        options: &Options,
    ) -> Result<FrameWriter> {
        let storage = FrameStorage::of_member(session, name);
        // a program that changed the frame alone may have been interrupted
        journal::recover_and_clean(&storage.container(), session.is_durable())?;
        let options = options_for_writing(options)?;
        FrameWriter::open_with(&storage, session.clone(), &options)
    }

    fn open_with(
        storage: &FrameStorage,
        session: Arc<Session>,
        options: &Options,
    ) -> Result<FrameWriter> {
        let main = storage.folder.open(&storage.main(), Access::Write)?;
        let reader = FrameReader::load(storage, main, options)?;
        reader.verify_if_requested()?;
        let mut writer = FrameWriter::new(reader, session);
        if storage.sparse {
            // the next commit removes the files that an interrupted writer left
            writer.chunk_files = storage.chunk_numbers()?;
        }
        writer.reopen_pair()?;
        writer.apply_write_options()?;
        Ok(writer)
    }

    /// Applies the codec, filter and checksum options to all chunks that are written from now on.
    fn apply_write_options(&mut self) -> Result<()> {
        let FrameReader {
            layout, options, ..
        } = &mut self.reader;
        if let Some(checksums) = requested_checksums(options)? {
            self.changed |= checksums != layout.checksums;
            layout.checksums = checksums;
        }
        if !requests_encoding(options) {
            return Ok(());
        }
        let params =
            changed_params(options, layout.params()?).map_err(|e| e.within(&layout.name))?;
        // filters of the header are checked before a chunk is encoded
        if options.given_bytes(Opt::Filters).is_some() {
            params.check(0).map_err(|e| e.within(&layout.name))?;
        }
        let h = &mut layout.header;
        let new = Header::new(&params, h.chunksize as usize, h.sparse)?;
        (h.codec, h.level, h.user_codec, h.codec_meta) =
            (new.codec, new.level, new.user_codec, new.codec_meta);
        (h.slots, h.filters, h.filters_meta) = (new.slots, new.filters, new.filters_meta);
        h.set_dictionaries(params.dictionary);
        (layout.params, self.changed) = (Ok(params), true);
        Ok(())
    }
}

fn options_for_writing(options: &Options) -> Result<Options> {
    options.applying(
        "opening a frame for writing",
        &[OPEN_OPTIONS, WRITE_OPTIONS].concat(),
        CHUNK_WRITE_OPTIONS,
    )
}
