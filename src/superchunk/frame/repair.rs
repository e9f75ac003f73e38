//! Repair: a frame without room that has no use any more, and without damage. Chunks that are sound stay as they are; a
//! damaged one becomes zeros, so that all others keep their places.
//!
//! Where header, index or trailer are damaged, the frame goes back to the last commit of ours that is whole: those
//! before the last are still in the file until it is compacted, and each says what its header was.
#![forbid(unsafe_code)]

use super::header::Header;
use super::open::{is_damage, read_header};
use super::site::Site;
use super::trailer::{TAIL, Trailer};
use super::{Frame, index, seal};
use crate::blosc;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, Folder, file, lend};
use crate::memory;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Mode, Repaired};
use crate::superchunk::chunks::{Encoded, Fill};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// What is searched at once.
const PIECE: usize = 1 << 20;
/// What is taken for the end of a commit, or for its index, before the search is given up: each may cost as much as the file
/// is long.
const TRIES: usize = 16;

/// Repairs a frame.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    if Path::new(path).is_dir() {
        return repair_in(&file::folder(path)?, OsStr::new(""), options);
    }
    let place = file::locate_for_change(path)?;
    repair_in(&place.folder, &place.name, options)
}

/// Repairs a name in a folder.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    options.only("repairing a frame", &[Opt::Threads, Opt::MemoryLimit, Opt::Durability, Opt::Lock])?;
    folder.writable()?;
    let site = Site::find(folder, name);
    let mut lock = Some(Frame::lock(&site, options)?);
    let main = folder.open(&site.main(), Access::Write)?;
    let mut load = |main: Arc<dyn File>| Frame::load(&site, main, options, lock.take().unwrap_or(crate::io::lock::Lock::none()));
    let limit = options.memory_limit();
    let (mut frame, went_back) = match load_if_sound(&main, &site, options) {
        Ok(()) => (load(main)?, false),
        Err(e) if is_damage(&e) && !site.sparse => {
            let whole = last_whole(&main, limit)?.ok_or_else(|| e.within("nothing of it can be found again"))?;
            (load(Arc::new(whole))?, true)
        }
        Err(e) => return Err(e),
    };
    frame.write_from_here(Mode::Append);
    let mut repaired = frame.mend()?;
    // what was committed behind the state that is left is not known
    repaired.dropped += u64::from(went_back);
    frame.compact(repaired.dropped > 0 || went_back)?;
    Ok(repaired)
}

/// Can it be opened?
fn load_if_sound(main: &Arc<dyn File>, site: &Site, options: &Options) -> Result<()> {
    Frame::load(site, main.clone(), options, crate::io::lock::Lock::none()).map(|_| ())
}

impl Frame {
    /// Makes zeros of what is damaged.
    fn mend(&mut self) -> Result<Repaired> {
        let mut repaired = Repaired::default();
        for i in 0..self.entries.len() as u64 {
            self.options.progress(i, self.entries.len() as u64)?;
            match self.sound(i) {
                Ok(_) => repaired.kept += 1,
                // a codec that is not known, or a disk that fails, is no damage
                Err(e) if matches!(e.status, Status::Format | Status::Checksum) => {
                    let n = self.span(i).map(|s| (s.end - s.start) as usize)?;
                    self.put_chunk(i, n, Encoded::Fill(Fill::Zeros))?;
                    repaired.dropped += 1;
                }
                Err(e) => return Err(self.named(i, e)),
            }
        }
        if repaired.kept == 0 && repaired.dropped > 0 {
            return Err(fail!(Format, "{}: none of its {} chunks is sound: there is nothing to keep", self.name, repaired.dropped));
        }
        let before = self.vlmeta.len();
        let limit = self.memory_limit;
        self.vlmeta.retain(|m| !m.value(limit).is_err_and(|e| matches!(e.status, Status::Format | Status::Checksum)));
        repaired.dropped += (before - self.vlmeta.len()) as u64;
        self.writing.changed |= self.doubt.take().is_some() || before != self.vlmeta.len();
        Ok(repaired)
    }

    /// Writes it anew, if it has room without use, or must.
    fn compact(&mut self, must: bool) -> Result<()> {
        if self.site.sparse {
            self.writing.changed |= must;
            self.commit()?;
            for number in self.site.chunks()? {
                if self.writing.files.binary_search(&number).is_err() {
                    self.site.folder.remove_if_there(&self.site.chunk(number))?;
                }
            }
            return Ok(());
        }
        let mut used = 0u64;
        for (i, entry) in self.entries.iter().enumerate().filter(|(_, e)| e.place().is_some()) {
            used = used.saturating_add(self.cbytes_of(i as u64, entry)?.into());
        }
        let size = self.file.as_ref().map_or(Ok(0), |f| f.size())?;
        if !must && !self.writing.changed && used == self.header.cbytes && size == self.header.frame_len {
            return Ok(());
        }
        self.find_sums()?;
        self.rewrite()
    }
}

/// A file as it was at a commit: another header, and no more than it counts.
struct Whole {
    file: Arc<dyn File>,
    header: Vec<u8>,
    len: u64,
}

impl File for Whole {
    fn size(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let n = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX).min(dst.len());
        let dst = dst.get_mut(..n).unwrap_or_default();
        let got = self.file.read_at(at, dst)?;
        let own = usize::try_from(at).ok().and_then(|at| self.header.get(at..)).unwrap_or_default();
        dst.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
        Ok(got)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(self.read_only())
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(self.read_only())
    }

    fn sync(&self) -> Result<()> {
        Err(self.read_only())
    }

    fn name(&self) -> &str {
        self.file.name()
    }

    fn identity(&self) -> u64 {
        self.file.identity()
    }
}

impl Whole {
    fn read_only(&self) -> Error {
        fail!(State, "{}: an earlier state is not written to", self.name())
    }
}

/// The last commit of ours that the file still has.
fn last_whole(file: &Arc<dyn File>, limit: u64) -> Result<Option<Whole>> {
    let Ok(head) = read_header(&**file, 0, limit) else { return Ok(None) };
    let Ok(header) = Header::parse(&head) else { return Ok(None) };
    let (mut end, mut tries) = (file.size()?, 0);
    let least = head.len() as u64;
    while end > least && tries < TRIES {
        let begin = end.saturating_sub(PIECE as u64).max(least);
        // a tail may lie over the border
        let n = (end - begin) as usize + TAIL;
        let mut piece = memory::zeroed(n)?;
        let got = file.read_at(begin, &mut piece)?;
        piece.truncate(got);
        let tails: Vec<usize> = piece.windows(TAIL).enumerate().filter(|(_, w)| is_tail(w)).map(|(i, _)| i).collect();
        for at in tails.into_iter().rev().take(TRIES - tries) {
            tries += 1;
            let frame_len = begin + (at + TAIL) as u64;
            if let Ok(Some(found)) = at_commit(file, &head, &header, frame_len, limit) {
                return Ok(Some(found));
            }
        }
        end = begin;
    }
    Ok(None)
}

/// Does it look like the end of a trailer of ours?
fn is_tail(bytes: &[u8]) -> bool {
    matches!(bytes, [0xce, _, _, _, _, 0xd8, 0, b'h', b'l', b'd', b'1', ..])
}

/// The file as it was when its frame ended here, if the header can be made that its trailer knows.
fn at_commit(file: &Arc<dyn File>, head: &[u8], header: &Header, frame_len: u64, limit: u64) -> Result<Option<Whole>> {
    let trailer_len = lend::with_range(&**file, frame_len - TAIL as u64, TAIL, limit, Trailer::length)?;
    let from = frame_len.checked_sub(trailer_len.into()).filter(|f| *f >= head.len() as u64);
    let from = from.ok_or_else(|| fail!(Format, "no room for a trailer"))?;
    let tail = lend::with_range(&**file, from, trailer_len as usize, limit, |b| Ok(b.to_vec()))?;
    let trailer = Trailer::parse(&tail)?;
    // the index ends where the trailer begins; how many chunks there were, and how long it is, their checksums tell
    let sums = trailer.vlmeta.iter().find(|(name, _)| name == super::SUMS);
    let sums = sums.map(|(_, chunk)| super::meta::decode(chunk, limit)).transpose()?;
    let chunks = sums.as_ref().map_or(0, |s| s.len() as u64 / 8);
    let Some(index) = index_before(file, from, chunks, head.len() as u64, limit)? else { return Ok(None) };
    let cbytes = from - index.len() as u64 - head.len() as u64;
    let last = last_chunk(file, &index, chunks, head.len() as u64, limit);
    let size = u64::from(header.chunksize);
    let full = chunks.saturating_mul(size);
    let short = last.map(|n| full.saturating_sub(size).saturating_add(n));
    for nbytes in [Some(header.nbytes), Some(full), short].into_iter().flatten() {
        let has_vlmeta = !trailer.vlmeta.is_empty();
        let mut was = Header { frame_len, nbytes, cbytes, has_vlmeta, ..header.clone() };
        let mut as_sealed = trailer.clone();
        let (bytes, same) = seal::seal(&mut was, &index, &mut as_sealed)?;
        if same == tail {
            return Ok(Some(Whole { file: file.clone(), header: bytes, len: frame_len }));
        }
    }
    Ok(None)
}

/// The index that ends here: the chunk of so many numbers.
fn index_before(file: &Arc<dyn File>, end: u64, chunks: u64, least: u64, limit: u64) -> Result<Option<Vec<u8>>> {
    if chunks == 0 {
        return Ok(Some(Vec::new()));
    }
    let most = chunks.saturating_mul(8).saturating_add(blosc::LONG as u64).min(end.saturating_sub(least));
    let begin = end - most;
    let bytes = lend::with_range(&**file, begin, memory::allow(most, limit, "an index")?, limit, |b| Ok(b.to_vec()))?;
    let behind = (0..bytes.len().saturating_sub(blosc::LONG - 1)).rev().filter_map(|at| bytes.get(at..));
    let fits = |b: &&[u8]| blosc::Header::parse(b).is_ok_and(|h| h.cbytes == b.len() && h.nbytes as u64 == chunks * 8 && h.extended());
    Ok(behind.filter(fits).take(TRIES).find(|b| index::decode(b, chunks, limit).is_ok()).map(<[u8]>::to_vec))
}

/// Bytes of content of the last chunk.
fn last_chunk(file: &Arc<dyn File>, index: &[u8], chunks: u64, base: u64, limit: u64) -> Option<u64> {
    let place = match index::decode(index, chunks, limit).ok()?.last()? {
        index::Slot::At(place) => *place,
        _ => return None,
    };
    let at = base.checked_add(place)?;
    lend::with_range(&**file, at, blosc::LONG, limit, blosc::Header::parse).ok().map(|h| h.nbytes as u64)
}
