//! Loading of a committed file: the list of its chunks, and its damage.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::{ChunkSlot, ChunkSlots};
use super::chunk_reader::{ChunkReader, MainFile};
use super::content::Content;
use super::damage::Damage;
use super::head::Head;
use super::header::Header;
use super::layout::Layout;
use super::located_chunk::{BLOSC_HEADER, LocatedChunk};
use super::uniform_chunks::UniformChunks;
use super::uniform_mark;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::options::{Opt, Options};
use crate::parallel::get_or_init;
use crate::superchunk::staging::default_chunk;
use std::sync::{Arc, OnceLock};

impl Bloscpack {
    /// Loads header and metadata of a file that is open for reading, and the chunk positions
    /// unless they can be located on demand. `name` is the path of the file.
    pub(super) fn load_for_reading(
        name: String,
        file: Arc<dyn File>,
        options: &Options,
    ) -> Result<Bloscpack> {
        let (modified, header) = (Some(file.modified()?), Header::read(&*file));
        // damage that is skipped, or verified on opening, may be anywhere
        let all = options.get(Opt::SkipDamaged, 0) == 1 || options.get(Opt::Verify, 1) > 1;
        if let (false, Ok(header)) = (all, &header) {
            match Bloscpack::load_uniform(&name, &file, modified, header, options) {
                Ok(Some(b)) => return Ok(b),
                Err(e) if !e.status.is_corruption() => return Err(e),
                // listing all chunks shows what is corrupt
                Ok(None) | Err(_) => {}
            }
        }
        let b = Bloscpack::load_with(header, name, file, modified, options)?;
        b.reader.refuse_damaged(b.content.slots.len())?;
        Ok(b)
    }

    /// Loads a file whose chunks can be located on demand; returns `None` if they have to be listed.
    fn load_uniform(
        name: &str,
        file: &Arc<dyn File>,
        modified: Option<u64>,
        header: &Header,
        options: &Options,
    ) -> Result<Option<Bloscpack>> {
        let size = file.size()?;
        let Some(chunks) = UniformChunks::open(file, header, size)? else {
            return Ok(None);
        };
        let location = header.meta.as_ref();
        let meta = location.map(|location| location.read(&**file, options.memory_limit()));
        let meta = meta.transpose()?;
        let mut reader = ChunkReader::new(name.to_owned(), header.checksum, options);
        reader.main = Some(MainFile {
            file: file.clone(),
            size,
            modified,
            end: chunks.end(),
            offsets_are_right: true,
        });
        let chunk_size = header.chunk_size.unwrap_or(0) as usize;
        let mut head = Head::new(header.clone(), options);
        head.meta = meta;
        Ok(Some(Bloscpack {
            head,
            content: Content::of_uniform(chunks, chunk_size),
            reader,
            changed: false,
            options: options.clone(),
            listed: OnceLock::new(),
            writer: None,
        }))
    }

    /// Returns a handle of the same file that has the list of all chunks, also of a damaged file.
    pub(super) fn listed(&self) -> Result<&Bloscpack> {
        let (Some(_), Some(main)) = (&self.content.uniform, &self.reader.main) else {
            return Ok(self);
        };
        let listed = get_or_init(&self.listed, || {
            let (name, file) = (self.name().to_owned(), main.file.clone());
            let all = Bloscpack::load(name, file, main.modified, &self.options)?;
            self.reader.check_unmodified()?;
            Ok(Box::new(all))
        });
        listed.as_deref().map_err(Error::clone)
    }

    /// Like [`Bloscpack::listed`], but returns an error if the file is damaged in a way that could
    /// show other content than this handle does.
    pub(super) fn intact(&self) -> Result<&Bloscpack> {
        let all = self.listed()?;
        all.reader.refuse_damaged(all.content.slots.len())?;
        match all.reader.contradiction(all.header(), &all.content.slots) {
            Some(e) if self.content.uniform.is_some() => Err(e),
            _ => Ok(all),
        }
    }

    /// Loads header, metadata and chunk positions. `modified` is the modification time of a file
    /// that is open for reading. `name` is its path.
    pub(super) fn load(
        name: String,
        file: Arc<dyn File>,
        modified: Option<u64>,
        options: &Options,
    ) -> Result<Bloscpack> {
        let header = Header::read(&*file);
        Bloscpack::load_with(header, name, file, modified, options)
    }

    fn load_with(
        header: Result<Header>,
        name: String,
        file: Arc<dyn File>,
        modified: Option<u64>,
        options: &Options,
    ) -> Result<Bloscpack> {
        let size = file.size()?;
        let layout = Layout::find(header, &*file, options.memory_limit())?;
        let mark = uniform_mark::is_set(&*file, &layout.header)?;
        let mut reader = ChunkReader::new(name, layout.header.checksum, options);
        reader.damage = Damage::of(&layout);
        reader.main = Some(MainFile {
            file,
            size,
            modified,
            end: layout.table.end,
            offsets_are_right: layout.table.by_offsets,
        });
        let slots = reader.slots(&layout)?;
        reader.check_lengths(&layout.header, &slots)?;
        if mark && reader.damage.suspected.is_none() {
            reader.damage.suspected = reader.contradiction(&layout.header, &slots);
        }
        let first = layout.table.chunks.iter().find(|c| !c.is_lost());
        let typesize = first.map_or(1, |c| c.typesize.max(1).into());
        let chunk_size = chunk_size(&slots, typesize, &layout.header, options);
        Ok(Bloscpack {
            head: Head::of(layout, options),
            content: Content::new(slots, typesize, chunk_size),
            reader,
            changed: false,
            options: options.clone(),
            listed: OnceLock::new(),
            writer: None,
        })
    }
}

impl ChunkReader {
    /// Returns an error if a chunk does not have the content size that the uniform mark states.
    fn contradiction(&self, header: &Header, slots: &ChunkSlots) -> Option<Error> {
        let i = uniform_mark::exception(header, slots)?;
        let message = "does not have the content size that header and uniform mark state";
        Some(fail!(Format, "{}: chunk {i} {message}", self.name).at(i as u64))
    }

    /// Returns the list of the chunks that were found. Reports the first chunk whose size is
    /// uncertain as damage.
    fn slots(&mut self, layout: &Layout) -> Result<ChunkSlots> {
        let (header, chunks) = (&layout.header, &layout.table.chunks);
        let n = header.nchunks.unwrap_or(chunks.len() as u64);
        let mut slots = ChunkSlots::default();
        for (i, c) in chunks.iter().enumerate() {
            let mut slot = ChunkSlot::of(c);
            let size = if i as u64 + 1 == n {
                header.last_chunk
            } else {
                header.chunk_size
            };
            let sure = match size {
                Some(size) => self.is_size_reliable(c, &slot, size)?,
                None => !c.is_lost(),
            };
            if !sure {
                slot.nbytes = size.unwrap_or(slot.nbytes);
                self.damage.unsure_size.get_or_insert_with(|| {
                    let message = "is damaged and its size is uncertain; the content after it may belong to other positions";
                    fail!(Format, "{}: chunk {i} {message}", self.name).at(i as u64)
                });
            }
            slots.push(slot)?;
        }
        Ok(slots)
    }

    /// Returns true if the content size of a chunk is certain; the position of all following
    /// content depends on it.
    ///
    /// A size that differs from the file header is accepted only if the checksum matches. A lost
    /// chunk must have the size that the file header gives it.
    fn is_size_reliable(&self, c: &LocatedChunk, slot: &ChunkSlot, size: u32) -> Result<bool> {
        if c.is_lost() {
            let mut header = [0; BLOSC_HEADER];
            let main = self.main.as_ref();
            let main = main.ok_or_else(|| fail!(State, "the file is not open"))?;
            let n = main.file.read_at(c.at, &mut header)?;
            let [_, _, _, _, a, b, c, d, ..] = header;
            return Ok(n == BLOSC_HEADER && u32::from_le_bytes([a, b, c, d]) == size);
        }
        if c.nbytes == size || !self.verifies_checksums() {
            return Ok(true);
        }
        match self.stored(slot, |_| Ok(())) {
            Err(e) if e.status.is_corruption() => Ok(false),
            r => r.map(|()| true),
        }
    }

    /// Checks the chunk lengths of a file without offsets if chunks are missing. A corrupt length
    /// may lead past the next chunk, and then chunks are missing at the end.
    fn check_lengths(&mut self, header: &Header, slots: &ChunkSlots) -> Result<()> {
        if self.damage.missing == 0 || header.has_offsets || self.damage.suspected.is_some() {
            return Ok(());
        }
        let others = slots.len().saturating_sub(1);
        for (i, slot) in slots.iter().take(others).enumerate() {
            match self.stored(slot, |_| Ok(())) {
                Err(e) if e.status.is_corruption() => {
                    let message = "is damaged, and chunks are missing; the chunks after it may be different ones";
                    self.damage.suspected =
                        Some(fail!(Format, "{}: chunk {i} {message}", self.name).at(i as u64));
                    break;
                }
                r => r?,
            }
        }
        Ok(())
    }
}

/// Returns the content size of every chunk except the last.
fn chunk_size(slots: &ChunkSlots, typesize: usize, header: &Header, options: &Options) -> usize {
    let positive = |n: &usize| *n > 0;
    let first = slots.iter().map(|s| s.nbytes as usize).find(positive);
    let stored = header.chunk_size.map(|n| n as usize).filter(positive);
    let given = options.given(Opt::ChunkBytes).map(|n| n as usize);
    let requested = given.filter(|_| first.is_none());
    requested
        .or(stored)
        .or(first)
        .unwrap_or_else(|| default_chunk(typesize))
}
