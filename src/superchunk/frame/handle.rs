//! An open frame: its reader, or its writer. Forwards calls to them.
#![forbid(unsafe_code)]

use super::create::NewFrame;
use super::header::Header;
use super::layout::FrameLayout;
use super::read::FrameReader;
use super::storage::FrameStorage;
use super::write::FrameWriter;
use crate::blosc::Params;
use crate::error::{Error, Result, fail};
use crate::io::journal::Session;
use crate::io::{Folder, locate, object};
use crate::options::Options;
use crate::progress::Progress;
use crate::superchunk::bloscpack::{Mode, Verified};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// An open frame. It sees its own changes at once; other handles see them after the commit.
pub enum Frame {
    /// Open for reading.
    Reader(FrameReader),
    /// Open for writing.
    Writer(FrameWriter),
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
            Mode::Read => FrameReader::open(storage, options).map(Frame::Reader),
            Mode::Append => FrameWriter::open(storage, options).map(Frame::Writer),
            Mode::New | Mode::Replace => Err(fail!(
                Argument,
                "HOLDALL_CREATE and HOLDALL_REPLACE are for holdall_schunk_create() and holdall_array_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
            )),
        }
    }

    /// Creates a frame. It becomes visible with the first commit.
    pub fn create(path: &OsStr, mode: Mode, new: &NewFrame, options: &Options) -> Result<Frame> {
        FrameWriter::create(path, mode, new, options).map(Frame::Writer)
    }

    /// Creates a frame by name in a folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        new: &NewFrame,
        options: &Options,
    ) -> Result<Frame> {
        FrameWriter::create_in(folder, name, mode, new, options).map(Frame::Writer)
    }

    /// Opens a frame for writing that is committed together with others, by
    /// [`commit_all`](super::commit_all).
    pub fn open_member(session: &Arc<Session>, name: &OsStr, options: &Options) -> Result<Frame> {
        FrameWriter::open_member(session, name, options).map(Frame::Writer)
    }

    /// Creates such a frame.
    pub fn create_member(
        session: &Arc<Session>,
        name: &OsStr,
        new: &NewFrame,
        options: &Options,
    ) -> Result<Frame> {
        FrameWriter::create_member(session, name, new, options).map(Frame::Writer)
    }

    // ---- parts

    /// Returns the reader of the stored chunks.
    #[inline]
    pub(super) fn reader(&self) -> &FrameReader {
        match self {
            Frame::Reader(reader) => reader,
            Frame::Writer(writer) => &writer.reader,
        }
    }

    #[inline]
    pub(super) fn layout(&self) -> &FrameLayout {
        &self.reader().layout
    }

    /// Returns the writer of a frame that is open for writing.
    pub(super) fn as_writer(&self) -> Result<&FrameWriter> {
        match self {
            Frame::Reader(reader) => Err(opened_for_reading(reader)),
            Frame::Writer(writer) => Ok(writer),
        }
    }

    /// Returns the writer for a change, or an error if the frame must not be changed.
    pub(super) fn writer(&mut self) -> Result<&mut FrameWriter> {
        match self {
            Frame::Reader(reader) => Err(opened_for_reading(reader)),
            Frame::Writer(writer) => {
                writer.reader.files.session()?.check()?;
                Ok(writer)
            }
        }
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<&Progress> {
        self.reader().options.progress()
    }

    /// Returns the content after the last chunk that is not encoded yet.
    pub(super) fn pending(&self) -> &[u8] {
        match self {
            Frame::Reader(_) => &[],
            Frame::Writer(writer) => &writer.pending,
        }
    }

    /// Returns the pending content of a chunk that is not encoded yet.
    #[inline]
    pub(super) fn pending_chunk(&self, i: u64) -> Option<&[u8]> {
        match self {
            Frame::Reader(_) => None,
            Frame::Writer(writer) => writer.pending_chunk(i),
        }
    }

    // ---- properties

    /// Returns the file or folder name, for messages.
    pub fn name(&self) -> &str {
        &self.layout().name
    }

    /// Is this the open frame?
    pub fn is_named(&self, folder: &Arc<dyn Folder>, name: &OsStr) -> Result<bool> {
        let id = match &self.reader().files.main {
            Some(file) => file.identity(),
            None => return Ok(false),
        };
        Ok(id != 0 && folder.identity(&FrameStorage::find(folder, name)?.main())? == Some(id))
    }

    /// Returns whether it is a folder with one file per chunk.
    pub fn is_sparse(&self) -> bool {
        self.reader().files.storage.sparse
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.layout().header
    }

    /// Returns the error of a header that is lost together with all its metalayers.
    pub fn lost_header(&self) -> Option<&Error> {
        self.layout().lost_header()
    }

    /// Returns the parameters with which new chunks are encoded.
    pub fn params(&self) -> Result<&Params> {
        self.layout().params()
    }

    /// Does the frame store checksums of its chunks?
    pub fn has_checksums(&self) -> bool {
        self.layout().checksums
    }

    /// Is there anything to commit?
    pub fn is_changed(&self) -> bool {
        match self {
            Frame::Reader(_) => false,
            Frame::Writer(writer) => writer.changed || !writer.pending.is_empty(),
        }
    }

    /// Is the frame open for writing?
    pub fn is_writable(&self) -> bool {
        matches!(self, Frame::Writer(_))
    }

    /// Returns the number of bytes of an item.
    pub fn typesize(&self) -> usize {
        self.header().typesize as usize
    }

    /// Returns the content bytes of each chunk except the last; 0 if chunks have variable length.
    pub fn chunk_bytes(&self) -> usize {
        self.layout().chunk_bytes()
    }

    /// Returns the content bytes of each block according to the header; 0 if the header does not
    /// state them.
    pub fn block_bytes(&self) -> usize {
        self.header().blocksize as usize
    }

    /// Returns the size of the file; in a sparse frame, the size of the index file and the chunk
    /// files.
    pub fn cbytes(&self) -> Result<u64> {
        self.reader().cbytes()
    }

    /// Returns, for each chunk, the end of its content and the stored size up to there, if the sizes
    /// are known without reading.
    pub fn stored_ends(&self) -> Option<Vec<(u64, u64)>> {
        self.layout().stored_ends()
    }

    /// Returns the number of threads that may read and write the files.
    pub fn file_threads(&self) -> usize {
        self.reader().file_threads()
    }

    /// Is there corruption outside of the chunks that the options allow to skip?
    pub fn has_corruption(&self) -> bool {
        self.reader().has_corruption()
    }

    // ---- verification

    /// Decodes every chunk and verifies every checksum. Calls `fault` with each error until it
    /// returns false.
    pub fn verify(&self, fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.reader().verify(fault)
    }

    /// Like [`Frame::verify`], for a frame that is an array: its chunks must have the block size
    /// that the header states.
    pub fn verify_array(&self, fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.reader().verify_array(fault)
    }

    // ---- metalayers

    /// Returns the names of the metalayers: those of fixed length, then the others.
    pub fn meta_names(&self) -> impl Iterator<Item = &str> {
        self.reader().meta_names()
    }

    /// Returns the value of a metalayer of [`Frame::meta_names`].
    pub fn existing_meta(&self, name: &str) -> Result<&[u8]> {
        self.reader().existing_meta(name)
    }

    /// Is there a metalayer of fixed length with this name?
    pub fn is_fixed(&self, name: &str) -> bool {
        self.reader().is_fixed(name)
    }

    /// Returns the value of a metalayer.
    pub fn meta(&self, name: &str) -> Result<Option<&[u8]>> {
        self.reader().meta(name)
    }

    /// Sets a metalayer. A name that exists in the trailer is set there; any other name is set in
    /// the header. In the header a value of the same length is changed in place; another length
    /// moves all chunks at the commit.
    pub fn meta_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.writer()?.meta_set(name, value)
    }

    /// Sets a metalayer of fixed length, in the header. A name of the trailer is an error.
    pub fn fixed_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.writer()?.fixed_set(name, value)
    }

    /// Sets a variable-length metalayer.
    pub fn vlmeta_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.writer()?.vlmeta_set(name, value)
    }

    /// Removes a variable-length metalayer.
    pub fn meta_remove(&mut self, name: &str) -> Result<()> {
        self.writer()?.meta_remove(name)
    }

    // ---- changes

    /// Sets one chunk length in a frame without chunks: python-blosc2 writes empty arrays as frames
    /// of variable-length chunks.
    pub fn set_chunk_length(&mut self, chunk_bytes: usize, block_bytes: usize) {
        if self.pending().is_empty() {
            let layout = match self {
                Frame::Reader(reader) => &mut reader.layout,
                Frame::Writer(writer) => &mut writer.reader.layout,
            };
            layout.set_chunk_length(chunk_bytes, block_bytes);
        }
    }

    /// Appends content. On failure [`Frame::nbytes`] shows how much was appended.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        self.writer()?.append(src)
    }

    /// Appends an encoded chunk after all content.
    pub fn append_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer()?.append_raw(bytes)
    }

    /// Allows chunks of any length.
    pub fn set_variable_chunks(&mut self) -> Result<()> {
        self.writer()?.allow_variable_length()
    }

    /// Makes a frame without content one of chunks and blocks of variable length.
    pub fn set_variable_blocks(&mut self) -> Result<()> {
        self.writer()?.set_variable_blocks()
    }

    /// Inserts a chunk of blocks of variable length with this content before chunk `at`, or after
    /// the last chunk.
    pub fn insert_blocks(&mut self, at: u64, blocks: &[&[u8]]) -> Result<()> {
        self.writer()?.insert_blocks(at, blocks)
    }

    /// Overwrites existing content. On failure, part of it may be overwritten.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.writer()?.write(at, src)
    }

    /// Inserts content as one chunk before chunk `at`, or after the last chunk.
    pub fn insert(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.writer()?.insert(at, src)
    }

    /// Removes a chunk and its content.
    pub fn remove(&mut self, at: u64) -> Result<()> {
        self.writer()?.remove(at)
    }

    /// Keeps the first `nbytes` bytes of content and removes the rest.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.writer()?.truncate(nbytes)
    }

    /// Makes all changes durable and visible together. On failure the file is as the last commit
    /// left it. If that is not certain, this handle refuses to continue; the next open finds a
    /// consistent file.
    pub fn commit(&mut self) -> Result<()> {
        self.writer()?.commit()
    }
}

fn opened_for_reading(reader: &FrameReader) -> Error {
    fail!(State, "{}: it was opened for reading", reader.layout.name)
}
