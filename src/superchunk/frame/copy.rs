//! Copies frames: all chunks as they are stored, or encoded again with the parameters of the
//! options, and all metalayers, into a new frame without unused space.
#![forbid(unsafe_code)]

use super::create::NewFrame;
use super::handle::Frame;
use super::index::IndexSlot;
use super::index::entry::Entry;
use super::meta::absent;
use super::options::{new_params, requests_encoding};
use super::read::FrameReader;
use super::write::FrameWriter;
use crate::alloc;
use crate::blosc::stored::StoredBytes;
use crate::error::{Result, fail};
use crate::options::Opt;
use crate::progress::{Scope, Step};
use crate::superchunk::bloscpack::Destination;
use crate::superchunk::chunks::{Encoded, Fill};

impl Frame {
    /// Copies content and metalayers. Chunks are encoded like the originals unless the options
    /// state otherwise. Returns true if some content was corrupt and was replaced by zeros, as the
    /// options of this frame allow.
    pub fn copy(&self, to: Destination, sparse: bool) -> Result<bool> {
        let Destination {
            folder,
            name,
            mode,
            mut options,
        } = to;
        let reader = self.reader();
        let params = new_params(&options, self.params()?)?;
        let reencode = requests_encoding(&options);
        if !self.has_checksums() && options.given(Opt::Checksum).is_none() {
            options.set(Opt::Checksum, 0)?;
        }
        let there = folder.identity(&name)?.filter(|id| *id != 0);
        if there.is_some() && there == reader.files.main.as_ref().map(|f| f.identity()) {
            return Err(fail!(
                Argument,
                "{}: a copy cannot replace its source",
                self.name()
            ));
        }
        let metalayers: Vec<(&str, Vec<u8>)> = self
            .header()
            .metalayers
            .iter()
            .map(|(n, v)| (n.as_str(), v.clone()))
            .collect();
        let new = NewFrame {
            typesize: self.typesize(),
            chunk_bytes: self.chunk_bytes(),
            params,
            metalayers: &metalayers,
            sparse,
        };
        let scope = Scope::open(options.progress(), self.nbytes(), Step::Call);
        let mut copy = FrameWriter::create_in(&folder, &name, mode, &new, &options)?;
        for meta in &reader.layout.vlmeta {
            let value = reader.vlmeta(&meta.name)?;
            copy.vlmeta_set(&meta.name, value.ok_or_else(|| absent(&meta.name))?)?;
        }
        if reader.layout.starts.is_some() {
            copy.allow_variable_length()?;
        }
        if self.header().variable_blocks {
            copy.set_variable_blocks()?;
        }
        let mut corrupt = false;
        for i in 0..self.chunks() {
            corrupt |= self.copy_chunk_to(i, &mut copy, i, reencode)?;
            scope.at(self.span(i)?.end)?;
        }
        copy.commit()?;
        scope.finish();
        Ok(corrupt)
    }

    /// Copies chunk `i` to chunk `new`: as it is stored, or encoded again. A chunk that is not
    /// stored here is not stored there either.
    pub fn copy_chunk(&self, i: u64, to: &mut Frame, new: u64, reencode: bool) -> Result<bool> {
        self.copy_chunk_to(i, to.writer()?, new, reencode)
    }

    fn copy_chunk_to(
        &self,
        i: u64,
        to: &mut FrameWriter,
        new: u64,
        reencode: bool,
    ) -> Result<bool> {
        let reader = self.reader();
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        let entry = reader.entry_if_stored(i)?;
        if let Some(entry) = entry
            .as_ref()
            .filter(|e| matches!(e.slot, IndexSlot::At(_)) && !reencode)
        {
            match reader.checked(i, entry) {
                Ok(bytes) => return to.put_chunk(new, n, Encoded::Stored(bytes)).map(|()| false),
                // read below, as zeros
                Err(e)
                    if reader.skip_damaged
                        && e.status.is_corruption()
                        && !self.header().variable_blocks => {}
                Err(e) => return Err(e),
            }
        } else if entry.is_some()
            && let Some(fill) = reader.fill_of(i).or_else(|e| {
                if reader.skip_damaged && e.status.is_corruption() {
                    Ok(None)
                } else {
                    Err(e)
                }
            })?
        {
            return self.copy_fill_to(i, to, new, fill).map(|()| false);
        }
        let limit = reader.memory_limit;
        let mut content = alloc::zeroed(alloc::allow(n as u64, limit, "a chunk")?)?;
        let corrupt = self.read_chunk(i, &mut content)?;
        let encoded = match self.header().variable_blocks {
            true => to.encode_blocks(&reader.divided(i, &content)?)?,
            false => to.encode_content(&content, reader.threads.count())?,
        };
        to.put_chunk(new, n, encoded).map(|()| corrupt)
    }

    /// Copies a chunk of one repeated item, which may have another length in the destination.
    pub fn copy_fill(&self, i: u64, to: &mut Frame, new: u64, fill: Fill) -> Result<()> {
        self.copy_fill_to(i, to.writer()?, new, fill)
    }

    fn copy_fill_to(&self, i: u64, to: &mut FrameWriter, new: u64, fill: Fill) -> Result<()> {
        let span = if new < to.reader.layout.stored_chunks() {
            to.reader.layout.span(new)?
        } else {
            self.span(i)?
        };
        let fill = fill.truncated(to.reader.layout.encoding_params()?)?;
        to.put_chunk(new, (span.end - span.start) as usize, Encoded::Fill(fill))?;
        // uninitialized content stays uninitialized
        let never_set = self
            .reader()
            .entry_if_stored(i)?
            .is_some_and(|e| e.slot == IndexSlot::Uninit);
        let entries = &mut to.reader.layout.entries;
        if never_set {
            let there = entries.at_mut(new as usize)?;
            if there.slot == IndexSlot::Zeros {
                there.slot = IndexSlot::Uninit;
            }
        }
        Ok(())
    }
}

impl FrameReader {
    /// Returns the stored bytes of a chunk after verifying its checksum, independent of the verify
    /// option: the copy gets a new checksum.
    fn checked(&self, i: u64, entry: &Entry) -> Result<Vec<u8>> {
        let read = self.open_verified(i, entry).and_then(|opened| {
            let n = opened.chunk.stored.header().cbytes;
            let mut copy = alloc::with_capacity(n)?;
            copy.extend_from_slice(&opened.source().bytes(0..n)?);
            Ok(copy)
        });
        let copy = read.map_err(|e| self.layout.chunk_error(i, e))?;
        self.files.check_unchanged()?;
        Ok(copy)
    }
}
