//! Storage of new chunks until the commit: in memory, or in the part file if there are many.
#![forbid(unsafe_code)]

use super::chunk_encoder::{ChunkEncoder, SealedChunk};
use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::chunk_reader::ChunkReader;
use super::head::Head;
use super::header::ENTRY;
use crate::alloc;
use crate::blosc;
use crate::error::Result;
use crate::io::journal::{self, Container, PART, Session};
use crate::io::{File, Folder, beside};
use crate::options::{Opt, Options};
use crate::parallel::ordered::{self, ConsumerThread};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Maximum number of bytes of encoded chunks in memory; further chunks go to the part file.
const MAX_IN_MEMORY: usize = if cfg!(test) { 24 << 10 } else { 8 << 20 };

/// The part of a handle that is open for writing: its session, and the storage of new chunks.
pub struct Writer {
    pub encoder: ChunkEncoder,
    /// Bytes of encoded chunks in memory that are not committed.
    in_memory: usize,
    /// End of the chunks in the part file.
    part_end: u64,
    pub session: Session,
}

impl Writer {
    /// Returns a writer without new chunks.
    pub fn new(session: Session, encoder: ChunkEncoder) -> Writer {
        Writer {
            encoder,
            in_memory: 0,
            part_end: 0,
            session,
        }
    }

    /// Returns the end of the chunks in the part file.
    pub fn part_end(&self) -> u64 {
        self.part_end
    }

    /// Encodes content and stores it as one chunk.
    pub fn store(
        &mut self,
        reader: &mut ChunkReader,
        head: &Head,
        content: &[u8],
    ) -> Result<ChunkSlot> {
        let chunk = self.encoder.sealed(content, self.encoder.threads.count())?;
        self.store_encoded(reader, head, chunk)
    }

    /// Stores an encoded chunk.
    pub fn store_encoded(
        &mut self,
        reader: &mut ChunkReader,
        head: &Head,
        chunk: SealedChunk,
    ) -> Result<ChunkSlot> {
        let n = chunk.bytes.len();
        let file = self.part_for(reader, head, n)?;
        let slot = self.put(file.as_deref(), self.part_end, chunk)?;
        self.count_stored(file.is_some(), n as u64);
        Ok(slot)
    }

    /// Encodes each piece as a chunk and stores it. On failure returns the chunks before the failed
    /// one.
    pub fn store_all(
        &mut self,
        reader: &mut ChunkReader,
        head: &Head,
        pieces: Vec<&[u8]>,
    ) -> Result<(Vec<ChunkSlot>, Result<()>)> {
        let threads = self.encoder.threads.count();
        let each = if pieces.len() > 1 { 1 } else { threads };
        let file = self.part_for(reader, head, pieces.iter().map(|p| p.len()).sum())?;
        let keeper = if reader.file_threads() > 1 {
            ConsumerThread::Any
        } else {
            ConsumerThread::Caller
        };
        let (mut slots, mut bytes) = (alloc::with_capacity(pieces.len())?, 0);
        let (this, start) = (&*self, self.part_end);
        let done = ordered::in_order(
            threads,
            ordered::max_early_large(threads),
            keeper,
            pieces,
            |piece| this.encoder.sealed(piece, each),
            |chunk| {
                let n = chunk.bytes.len() as u64;
                slots.push(this.put(file.as_deref(), start.saturating_add(bytes), chunk)?);
                bytes += n;
                Ok(())
            },
        );
        self.count_stored(file.is_some(), bytes);
        Ok((slots, done))
    }

    /// Returns the part file if `n` more bytes of chunks do not fit into memory.
    fn part_for(
        &mut self,
        reader: &mut ChunkReader,
        head: &Head,
        n: usize,
    ) -> Result<Option<Arc<dyn File>>> {
        if reader.main.is_some() && self.in_memory.saturating_add(n) <= MAX_IN_MEMORY {
            return Ok(None);
        }
        if reader.part.is_none() {
            let container = self.session.container();
            let file = container.create(&part_name(container))?;
            // the header, whose size is known only at the commit, needs bytes before the chunks
            self.part_end = match reader.main {
                None => head.room()?,
                Some(_) => 0,
            };
            reader.part = Some(file);
        }
        Ok(reader.part.clone())
    }

    /// Writes an encoded chunk to `file`, or holds it in memory.
    fn put(&self, file: Option<&dyn File>, at: u64, chunk: SealedChunk) -> Result<ChunkSlot> {
        let SealedChunk { bytes, spare } = chunk;
        let h = blosc::Header::parse(&bytes)?;
        let location = match file {
            Some(file) => {
                file.write_at(at, &bytes)?;
                self.encoder.reuse(bytes);
                ChunkLocation::Part(at)
            }
            None => ChunkLocation::Memory(bytes.into()),
        };
        Ok(ChunkSlot {
            location,
            cbytes: h.cbytes as u32,
            nbytes: h.nbytes as u32,
            flags: h.flags,
            spare,
        })
    }

    fn count_stored(&mut self, in_file: bool, n: u64) {
        if in_file {
            self.part_end = self.part_end.saturating_add(n);
        } else {
            self.in_memory = self.in_memory.saturating_add(n as usize);
        }
    }

    /// Removes the part file, after its chunks were committed or dropped.
    pub fn remove_part(&mut self, reader: &mut ChunkReader) {
        if reader.part.take().is_some() {
            let container = self.session.container();
            let _ = container.folder.remove_if_there(&part_name(container));
        }
        (self.part_end, self.in_memory) = (0, 0);
    }
}

/// Opens a session for the file `name` in `folder`.
pub fn open_session(
    folder: &Arc<dyn Folder>,
    name: &OsStr,
    mode: journal::Mode,
    options: &Options,
) -> Result<Session> {
    // assembling the header of a new file holds the offsets table in memory twice
    let spare = (options.get(Opt::SpareChunks, 0) as u64).saturating_mul(2 * ENTRY);
    alloc::allow(spare, options.memory_limit(), Opt::SpareChunks.name())?;
    let container = container(folder, name);
    let shown = shown(&container);
    let session = Session::open(container, shown, mode, options)?;
    folder.remove_if_there(&part_name(session.container()))?;
    Ok(session)
}

/// Returns the container of a superchunk: the main file and its auxiliary files.
pub fn container(folder: &Arc<dyn Folder>, name: &OsStr) -> Container {
    Container::new(folder, name, &[""])
}

/// Returns the path of the main file for error messages.
pub fn shown(container: &Container) -> String {
    container.folder.show(&container.main)
}

/// Returns the name of the part file.
pub fn part_name(c: &Container) -> OsString {
    beside("", &c.main, PART)
}
