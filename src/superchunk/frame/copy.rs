//! Copies: all chunks as they are stored, or made anew as the options wish, and all metalayers, in
//! a new frame without room that has no use.
#![forbid(unsafe_code)]

use super::create::wished;
use super::entry::Entry;
use super::index::Slot;
use super::open::is_damage;
use super::{Frame, NewFrame};
use crate::alloc;
use crate::error::{Result, fail};
use crate::options::Opt;
use crate::superchunk::bloscpack::Destination;
use crate::superchunk::chunks::{Encoded, Fill};

impl Frame {
    /// Copies content and metalayers. Chunks are made as here where the options do not say
    /// otherwise. True: some of the content was damaged, and is zeros there, as the options of
    /// this frame wished.
    pub fn copy(&self, to: Destination, sparse: bool) -> Result<bool> {
        let Destination {
            folder,
            name,
            mode,
            mut options,
        } = to;
        let params = wished(&options, self.params()?)?;
        let anew = [Opt::Codec, Opt::Level]
            .iter()
            .any(|o| options.given(*o).is_some())
            || options.given_bytes(Opt::Filters).is_some();
        if !self.has_sums() && options.given(Opt::Checksum).is_none() {
            options.set(Opt::Checksum, 0)?;
        }
        let there = folder.identity(&name)?.filter(|id| *id != 0);
        if there.is_some() && there == self.file.as_ref().map(|f| f.identity()) {
            return Err(fail!(
                Argument,
                "{}: a copy cannot take the place of what it is made from",
                self.name
            ));
        }
        let metalayers: Vec<(&str, Vec<u8>)> = self
            .header
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
        let mut copy = Frame::create_in(&folder, &name, mode, &new, &options)?;
        for meta in &self.vlmeta {
            copy.vlmeta_set(&meta.name, self.vlmeta(&meta.name)?.unwrap_or_default())?;
        }
        if self.starts.is_some() {
            copy.take_any_length()?;
        }
        let mut bad = false;
        for i in 0..self.chunks() {
            bad |= self.copy_chunk(i, &mut copy, anew)?;
            options.progress(self.span(i)?.end, self.nbytes())?;
        }
        copy.commit()?;
        Ok(bad)
    }

    /// Copies a chunk to the place that it has here: as it is stored, or made anew. One that takes
    /// no room takes none there.
    pub fn copy_chunk(&self, i: u64, to: &mut Frame, anew: bool) -> Result<bool> {
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        let entry = self.entry_if_there(i)?;
        if let Some(entry) = entry
            .as_ref()
            .filter(|e| matches!(e.slot, Slot::At(_)) && !anew)
        {
            match self.checked(i, entry) {
                Ok(bytes) => return to.put_chunk(i, n, Encoded::Stored(bytes)).map(|()| false),
                // read below, as zeros
                Err(e) if self.skip_damaged && is_damage(&e) => {}
                Err(e) => return Err(e),
            }
        } else if let Some(fill) = self.fill_of(i).or_else(|e| {
            if self.skip_damaged && is_damage(&e) {
                Ok(None)
            } else {
                Err(e)
            }
        })? {
            return self.copy_fill(i, to, fill).map(|()| false);
        }
        let mut content = alloc::zeroed(alloc::allow(n as u64, self.memory_limit, "a chunk")?)?;
        let bad = self.read_chunk(i, &mut content)?;
        let new = to.encode_content(&content, self.threads.count())?;
        to.put_chunk(i, n, new).map(|()| bad)
    }

    /// Copies a chunk of nothing but `fill`, which may have another length there.
    pub fn copy_fill(&self, i: u64, to: &mut Frame, fill: Fill) -> Result<()> {
        let span = if i < to.stored_chunks() {
            to.span(i)?
        } else {
            self.span(i)?
        };
        to.put_chunk(i, (span.end - span.start) as usize, Encoded::Fill(fill))?;
        // nor was it ever set
        let never_set = self
            .entry_if_there(i)?
            .is_some_and(|e| e.slot == Slot::Uninit);
        let there = usize::try_from(i).ok().and_then(|i| to.entries.get_mut(i));
        if let Some(there) = there.filter(|e| e.slot == Slot::Zeros && never_set) {
            there.slot = Slot::Uninit;
        }
        Ok(())
    }

    /// The bytes of a chunk, held against its checksum if there is one, whether reads are or not: a
    /// copy gets another one.
    fn checked(&self, i: u64, entry: &Entry) -> Result<Vec<u8>> {
        let mut copy = Vec::new();
        let read = self.with_entry(i, entry, &mut |chunk, have| {
            chunk.with_bytes(have, 0..chunk.header().cbytes, |bytes| {
                alloc::reserve(&mut copy, bytes.len())?;
                copy.extend_from_slice(bytes);
                Ok(())
            })
        });
        read.map_err(|e| self.named(i, e))?;
        self.still()?;
        Ok(copy)
    }
}
