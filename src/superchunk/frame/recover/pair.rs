//! The parts of a pair of tails, which its marks locate.
#![forbid(unsafe_code)]

use super::search::Search;
use crate::blosc::EXTENDED_HEADER_LEN;
use crate::superchunk::frame::checksums::PAIR_BYTES;
use crate::superchunk::frame::header::Header;
use crate::superchunk::frame::index::ENTRY;
use crate::superchunk::frame::tail_pair::{MARK, PairMark};
use crate::superchunk::frame::trailer::{TAIL, Trailer};

impl Search<'_> {
    /// Returns the mark before an index or a trailer at this offset.
    fn mark_before(&self, at: u64) -> Option<PairMark> {
        if self.storage.sparse {
            return None;
        }
        PairMark::parse(&self.bytes(at.checked_sub(MARK as u64)?..at)?)
    }

    /// Returns the marks to which the possible headers lead, and the trailers that end at `ends`.
    pub(super) fn marks(&self, ends: &[u64]) -> Vec<PairMark> {
        let headers = self.header_candidates();
        let headers = headers.iter().filter_map(|h| Header::parse(h).ok());
        let indices = headers.filter_map(|h| h.len().checked_add(h.cbytes));
        let trailers = ends.iter().filter_map(|end| {
            let last = self.bytes(end.checked_sub(TAIL as u64)?..*end)?;
            end.checked_sub(Trailer::length(&last).ok()?.into())
        });
        let starts = indices.chain(trailers);
        let mut marks: Vec<_> = starts.filter_map(|at| self.mark_before(at)).collect();
        marks.dedup();
        marks
    }

    /// Returns the ends of the trailers of a pair, that with more chunks first.
    pub(super) fn ends_of_pair(&self, mark: &PairMark) -> [u64; 2] {
        let end = |[index, trailer]: [u64; 2]| {
            let header = self.chunk_at(0, index);
            let count = header.map_or(0, |h| h.nbytes / ENTRY);
            let len = u64::from(mark.trailer_len).saturating_add((count * PAIR_BYTES) as u64);
            (count, trailer.saturating_add(len))
        };
        let mut ends = mark.tails.map(end);
        ends.sort_unstable_by(|a, b| b.cmp(a));
        ends.map(|(_, end)| end)
    }

    /// Returns the offset of the index of the tail whose trailer begins at this offset.
    pub(super) fn index_of_pair(&self, trailer: u64) -> Option<u64> {
        let [a, b] = self.mark_before(trailer)?.tails;
        let index = |[index, own]: [u64; 2]| (own == trailer).then_some(index);
        index(a).or_else(|| index(b))
    }

    /// Returns the stored index of `chunks` chunks that begins at `begin`, before the trailer at
    /// this offset.
    pub(super) fn index_bytes(&self, begin: u64, trailer: u64, chunks: u64) -> Option<Vec<u8>> {
        match self.index_of_pair(trailer) {
            Some(index) => {
                let len = chunks.checked_mul(ENTRY as u64)?;
                let end = index
                    .checked_add(len)?
                    .checked_add(EXTENDED_HEADER_LEN as u64)?;
                self.bytes(index..end)
            }
            None => self.bytes(begin..trailer),
        }
    }
}
