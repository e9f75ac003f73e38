//! Small commits to a long frame, one after the other, which write to a pair of tails.
#![forbid(unsafe_code)]

use super::checksums::CHECKSUMS;
use super::parts::Committed;
use super::read::FrameReader;
use super::tail_pair::{MARK, PairMark, TailPair, is_long, is_small_commit};
use super::trailer::Trailer;
use super::write::FrameWriter;
use crate::blosc::{self, EXTENDED_HEADER_LEN};
use crate::error::Result;
use crate::superchunk::block_checksums;

impl FrameWriter {
    /// Continues the pair of tails of the last commit, if there is one.
    pub(super) fn reopen_pair(&mut self) -> Result<()> {
        if !self.can_have_pair() || !self.reader.layout.checksums_trusted {
            return Ok(());
        }
        self.trailer_start = self.reader.layout.trailer().start_before(CHECKSUMS)?;
        let FrameReader { layout, files, .. } = &self.reader;
        let (file, index) = (
            files.main()?,
            files.base.saturating_add(layout.header.cbytes),
        );
        let mut mark = [0; MARK];
        file.read_at(index.saturating_sub(MARK as u64), &mut mark)?;
        let Some(mark) = PairMark::parse(&mark) else {
            return Ok(());
        };
        let trailer_len = Trailer::length(&files.last.tail)?;
        let offsets = [index, files.last.end().saturating_sub(trailer_len.into())];
        let (head, start) = (&files.last.header, &self.trailer_start);
        let pair = TailPair::reopen(&mark, offsets, head, &layout.entries, start)?;
        if let Some(pair) = pair
            && let Some(end) = self.chunks_end()?
            && end <= pair.chunks_end()
        {
            self.next = end.saturating_sub(files.base);
            self.pair = Some(Box::new(pair));
            self.protect_committed();
        }
        Ok(())
    }

    fn can_have_pair(&self) -> bool {
        let FrameReader { layout, files, .. } = &self.reader;
        layout.checksums
            && layout.starts.is_none()
            && !files.storage.sparse
            && is_long(layout.entries.len())
    }

    /// Returns the end of the last chunk in the file, if it is known.
    fn chunks_end(&self) -> Result<Option<u64>> {
        let FrameReader { layout, files, .. } = &self.reader;
        let (mut begin, mut end) = (0, 0);
        for entry in layout.entries.iter() {
            let Some(position) = entry.position() else {
                continue;
            };
            let Some(n) = entry.length(true) else {
                return Ok(None);
            };
            if position.saturating_add(n.into()) > end {
                (begin, end) = (position, position.saturating_add(n.into()));
            }
        }
        let (file, mut header) = (files.main()?, [0; EXTENDED_HEADER_LEN]);
        file.read_at(files.base.saturating_add(begin), &mut header)?;
        let after = blosc::Header::parse(&header).map_or(0, |h| block_checksums::len_after(&h));
        block_checksums::end_after(&**file, files.base.saturating_add(end), after).map(Some)
    }

    /// Commits to the pair of tails, or begins one. Returns false if the commit must write a complete
    /// index: it does not only append a few chunks, or the metalayers changed.
    pub(super) fn commit_small(&mut self) -> Result<bool> {
        let layout = &self.reader.layout;
        if !self.can_have_pair() || !is_small_commit(&layout.entries) {
            return Ok(false);
        }
        let trailer_start = layout.trailer().start_before(CHECKSUMS)?;
        if self.fits_pair(&trailer_start) {
            return self.commit_to_pair();
        }
        self.leave_pair();
        if self.trailer_start == trailer_start && self.begin_pair()? {
            return self.commit_to_pair();
        }
        self.trailer_start = trailer_start;
        Ok(false)
    }

    /// Returns whether chunks and entries of the next commit fit, and `trailer_start` are the first
    /// bytes of its trailer.
    fn fits_pair(&self, trailer_start: &[u8]) -> bool {
        let FrameReader { layout, files, .. } = &self.reader;
        let end = files.base.saturating_add(self.next);
        self.pair.as_ref().is_some_and(|pair| {
            end <= pair.chunks_end() && pair.fits(layout.entries.len(), trailer_start)
        })
    }

    /// Leaves the pair of tails: what is written from now on is written after it.
    pub(super) fn leave_pair(&mut self) {
        if let Some(pair) = self.pair.take() {
            let end = pair.end().saturating_sub(self.reader.files.base);
            self.next = self.next.max(end);
        }
    }

    /// Plans a pair of tails after the chunks. Returns false if the frame cannot have one.
    fn begin_pair(&mut self) -> Result<bool> {
        let FrameReader { layout, files, .. } = &self.reader;
        let end = files.base.saturating_add(self.next);
        let count = layout.entries.len();
        let pair = TailPair::plan(&layout.header, end, count, &self.trailer_start)?;
        self.pair = pair.map(Box::new);
        Ok(self.pair.is_some())
    }

    /// Writes a tail with the new entries, then the header. Returns false if the pair of tails cannot
    /// have the commit.
    fn commit_to_pair(&mut self) -> Result<bool> {
        let Some(mut pair) = self.pair.take() else {
            return Ok(false);
        };
        let written = self.write_to_pair(&mut pair);
        self.pair = Some(pair);
        if !matches!(written, Ok(true)) {
            // the content of the tail that is not committed is unknown
            self.leave_pair();
        }
        written
    }

    fn write_to_pair(&mut self, pair: &mut TailPair) -> Result<bool> {
        let FrameReader { layout, files, .. } = &self.reader;
        let (file, session) = (files.main()?, files.session()?);
        let Some(new) = pair.write(&**file, &layout.header, &layout.entries)? else {
            return Ok(false);
        };
        session.sync(&**file)?;
        files.write_header(&**file, new.head())?;

        let FrameReader { layout, files, .. } = &mut self.reader;
        let frame_len = new.header.frame_len;
        files.last = Committed::new(new.head().to_vec(), new.tail.to_vec(), frame_len);
        layout.header = new.header.clone();
        pair.set_current(new)?;
        layout.entries.set_committed();
        (self.changed, self.has_committed) = (false, true);
        self.protect_committed();
        Ok(true)
    }
}
