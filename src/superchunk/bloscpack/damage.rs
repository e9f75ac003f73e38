//! The damage of a file that was found when it was opened.
#![forbid(unsafe_code)]

use super::layout::Layout;
use crate::error::{Error, Result};

/// The damage of a committed file, except that of its metadata.
#[derive(Default)]
pub struct Damage {
    /// Why the first lost chunk is lost; the position of the error is the chunk index.
    pub lost: Option<Error>,
    /// A contradiction about the positions or the number of the chunks that were found.
    pub suspected: Option<Error>,
    /// A chunk is lost or corrupt, and its size may differ from the size assumed here.
    pub unsure_size: Option<Error>,
    /// Number of chunks that are missing after the last chunk that was found.
    pub missing: u64,
    /// True if the header in use differs from the header in the file. `suspected` describes the
    /// difference.
    header_repaired: bool,
    /// True if the position of all content is certain in spite of `suspected`.
    positions_known: bool,
}

impl Damage {
    /// Returns the damage that the search for the parts of a file found.
    pub fn of(layout: &Layout) -> Damage {
        let (header, table) = (&layout.header, &layout.table);
        let found = table.chunks.len();
        let after = |e: &Error| e.position >= found as i64 || e.position < 0;
        let missing = header.nchunks.unwrap_or(0).saturating_sub(found as u64);
        Damage {
            lost: table.damage.clone(),
            suspected: table.suspected.clone(),
            unsure_size: None,
            missing: missing.max(table.damage.as_ref().is_some_and(after).into()),
            header_repaired: layout.header_repaired,
            positions_known: layout.positions_known,
        }
    }

    /// Returns true if content that was read may belong to other positions.
    pub fn is_position_unsure(&self) -> bool {
        self.suspected.is_some() && !self.positions_known || self.unsure_size.is_some()
    }

    /// Returns true if a chunk that was read may be another one.
    pub fn is_chunk_unsure(&self) -> bool {
        self.suspected.is_some() && self.lost.is_some()
    }

    /// Returns all errors. One error represents all missing chunks.
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        let missing = self.lost.iter().filter(|_| self.missing > 0);
        missing.chain(&self.suspected).chain(&self.unsure_size)
    }

    /// Returns an error if the file would appear to have less or different content than it has.
    /// `found` is the number of chunks that were found.
    pub fn refuse(&self, found: usize, verify: bool) -> Result<()> {
        let partial = |e: &Error, what: &str| {
            let mut e = e.clone();
            e.message.push_str(what);
            Err(e)
        };
        match (
            &self.lost,
            self.suspected.as_ref().or(self.unsure_size.as_ref()),
        ) {
            (Some(e), _) if self.missing > 0 => partial(
                e,
                &format!(
                    "; {found} chunks before it were found: HOLDALL_OPT_SKIP_DAMAGED reads them, repair retains them"
                ),
            ),
            (_, Some(e)) if verify || self.header_repaired => partial(
                e,
                "; HOLDALL_OPT_SKIP_DAMAGED reads the file as it is, repair fixes it",
            ),
            _ => Ok(()),
        }
    }

    /// Returns an error if chunks are missing and the `found` others may have been found at wrong
    /// positions. A repair could then destroy data that a manual inspection might recover.
    pub fn refuse_to_guess(&self, found: usize) -> Result<()> {
        match &self.suspected {
            Some(suspected) if self.lost.is_some() || found == 0 => {
                let mut e = suspected.clone();
                e.message
                    .push_str("; it is unknown which chunks are missing; nothing was changed");
                Err(e)
            }
            _ => Ok(()),
        }
    }
}
