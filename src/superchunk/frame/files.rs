//! The open files of a frame, and detection of changes by other writers.
#![forbid(unsafe_code)]

use super::index::entry::Entry;
use super::index::{ENTRY, IndexSlot, LOST};
use super::parts::{self, Committed};
use super::storage::FrameStorage;
use super::tail_pair::{MARK, PairMark};
use super::trailer::TAIL;
use crate::alloc;
use crate::blosc::{self, EXTENDED_HEADER_LEN};
use crate::error::{Result, Status, fail};
use crate::io::journal::{Session, changed_by_others};
use crate::io::{Access, File};
use crate::options::{Opt, Options};
use std::sync::Arc;

/// The files of an open frame, with the session if it is open for writing.
pub struct FrameFiles {
    pub(super) storage: FrameStorage,
    /// The access to chunk files.
    access: Access,
    /// The file with header, index and trailer. In a contiguous frame it holds the chunks too.
    pub(super) main: Option<Arc<dyn File>>,
    /// The offset of the frame in `main`, and the offset where its header ends.
    pub(super) at: u64,
    pub(super) base: u64,
    /// The last commit, or the one that was found on opening.
    pub(super) last: Committed,
    /// Size and modification time of `main` when it was opened for reading.
    pub(super) stamp: (u64, u64),
    /// Size and modification time may change: writers of this library only append to committed
    /// data.
    pub(super) may_grow: bool,
    /// None if the frame is open for reading.
    // Must be the last field: the lock must outlive the cleanup of the other fields.
    pub(super) session: Option<Arc<Session>>,
}

impl FrameFiles {
    /// Returns the files of a frame that was never committed, without any file.
    pub(super) fn new(storage: &FrameStorage, options: &Options) -> FrameFiles {
        FrameFiles {
            storage: storage.clone(),
            access: access(options),
            main: None,
            at: 0,
            base: 0,
            last: Committed::default(),
            stamp: (0, 0),
            may_grow: false,
            session: None,
        }
    }

    /// Returns the session of a frame that is open for writing.
    pub(super) fn session(&self) -> Result<&Session> {
        self.session
            .as_deref()
            .ok_or_else(|| fail!(State, "{}: it was opened for reading", self.storage.show()))
    }

    /// Returns the file with header, index and trailer.
    pub(super) fn main(&self) -> Result<&Arc<dyn File>> {
        self.main
            .as_ref()
            .ok_or_else(|| fail!(State, "{}: there is no file yet", self.storage.show()))
    }

    /// Was the frame never committed?
    pub(super) fn is_new(&self) -> bool {
        self.last.header.is_empty()
    }

    /// Returns the file of a stored chunk, the offset of the chunk in it, and the maximum length of
    /// the chunk. `cbytes` are the bytes of all chunks.
    pub(super) fn locate_chunk(
        &self,
        entry: &Entry,
        cbytes: u64,
    ) -> Result<(Arc<dyn File>, u64, u64)> {
        let position = match entry.slot {
            IndexSlot::At(position) => position,
            IndexSlot::Unknown(LOST) => {
                return Err(fail!(
                    Format,
                    "the index is corrupt, and its position is lost"
                ));
            }
            IndexSlot::Unknown(position) if position >> 63 == 0 => {
                return Err(fail!(
                    Format,
                    "the index has its position {position} more than once"
                ));
            }
            IndexSlot::Unknown(bits) => {
                return Err(fail!(Format, "the index has the unknown value {bits:#x}"));
            }
            _ => return Err(fail!(State, "it is not stored")),
        };
        if self.storage.sparse {
            let file = match self
                .storage
                .folder
                .open(&self.storage.chunk_path(position), self.access)
            {
                // the frame exists, but it is incomplete
                Err(e) if e.status == Status::Missing => {
                    return Err(fail!(Format, "its file is missing: {e}"));
                }
                file => file?,
            };
            let room = file.size()?;
            return Ok((file, 0, room));
        }
        let file = self.main()?;
        let room = cbytes
            .checked_sub(position)
            .filter(|room| *room >= blosc::EXTENDED_HEADER_LEN as u64);
        let room = room.ok_or_else(|| {
            fail!(
                Format,
                "its offset is {position} (there are {cbytes} bytes of chunks)"
            )
        })?;
        let at = position
            .checked_add(self.base)
            .ok_or_else(|| fail!(Format, "its offset {position} is out of range"))?;
        Ok((file.clone(), at, room))
    }

    // ---- changes by other writers

    /// Fails if another writer may have overwritten data since the frame was opened.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        if self.session.is_some() || self.main.is_none() || self.is_unchanged()? {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it was changed since it was opened; open it again to read on",
            self.storage.show()
        ))
    }

    fn is_unchanged(&self) -> Result<bool> {
        let Some(file) = &self.main else {
            return Ok(true);
        };
        let same = !self.storage.sparse
            || self.storage.folder.identity(&self.storage.main())? == Some(file.identity());
        let as_opened = same && file.size_and_modified()? == self.stamp;
        if as_opened || !same || !self.may_grow {
            return Ok(as_opened);
        }
        // other writers overwrite the trailer; writers of this library only that of a pair
        let mut tail = [0; TAIL];
        let n = file.read_at(self.last.tail_at, &mut tail)?;
        Ok(tail.get(..n) == Some(&self.last.tail) || self.is_in_pair(&**file)?)
    }

    /// Returns whether commits to the same pair of tails have added entries to the index.
    fn is_in_pair(&self, file: &dyn File) -> Result<bool> {
        let Some((at, slot)) = self.last.first_slot else {
            return Ok(false);
        };
        // other frames have uncompressed indices, too, if they are short
        let mut found = [0; MARK + EXTENDED_HEADER_LEN + ENTRY];
        let n = file.read_at(
            (at + ENTRY as u64).saturating_sub(found.len() as u64),
            &mut found,
        )?;
        Ok(n == found.len()
            && PairMark::parse(&found).is_some()
            && found.ends_with(&slot)
            && parts::is_sealed(file, self.at, self.last.header.len())?)
    }

    /// Fails if another writer, which did not hold the lock, has changed the file.
    pub(super) fn check_sole_writer(&self) -> Result<()> {
        let session = self.session()?;
        let file = self.main.as_ref();
        let file = file.ok_or_else(|| changed_by_others(&self.storage.show()))?;
        session.check_unchanged(&self.storage.main(), &**file, || {
            let mut head = alloc::zeroed(self.last.header.len())?;
            let mut tail = alloc::zeroed(self.last.tail.len())?;
            Ok(file.read_at(0, &mut head).is_ok_and(|n| n == head.len())
                && head == self.last.header
                && file.read_at(self.last.tail_at, &mut tail)? == tail.len()
                && tail == self.last.tail)
        })
    }

    /// Fails if another writer has changed the frame: after a read failed, this may be the cause.
    pub(super) fn check_not_changed_by_others(&self) -> Result<()> {
        if self.session.is_none() || self.is_new() {
            self.check_unchanged()
        } else {
            self.check_sole_writer()
        }
    }

    /// Fails if the first commit must not create the frame.
    pub(super) fn refuse_existing(&self) -> Result<()> {
        let (folder, other) = (
            &self.storage.folder,
            FrameStorage {
                sparse: !self.storage.sparse,
                ..self.storage.clone()
            },
        );
        if !self.storage.sparse && folder.exists(&other.main()).is_ok_and(|there| there) {
            return Err(fail!(
                Exists,
                "{}: a folder exists there, which a frame in one file does not replace, even with HOLDALL_REPLACE; remove it first",
                self.storage.show()
            ));
        }
        self.session()?.refuse_existing(&self.storage.main())
    }

    // ---- uncommitted data

    /// Writes a chunk at an offset of the file.
    pub(super) fn write_chunk(&self, position: u64, bytes: &[u8]) -> Result<()> {
        self.main()?
            .write_at(self.base.saturating_add(position), bytes)
    }

    /// Truncates a contiguous frame to its last commit, but to no less than `least` bytes. Must be
    /// called only while that commit is known to be the current one.
    pub(super) fn truncate_to_commit(&self, least: u64) {
        let Some(file) = self
            .main
            .as_ref()
            .filter(|_| !self.storage.sparse && !self.is_new())
        else {
            return;
        };
        let end = self.last.end().max(least);
        if file.size().is_ok_and(|n| n > end) && self.check_sole_writer().is_ok() {
            let _ = file.set_size(end);
        }
    }
}

/// Returns the access to files that the options request.
pub(super) fn access(options: &Options) -> Access {
    if options.get(Opt::Io, 0) == 1 {
        Access::Map
    } else {
        Access::Read
    }
}
