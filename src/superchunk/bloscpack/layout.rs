//! The layout of a file: header, metadata and chunks. A damaged header is replaced by a
//! reconstruction if that fits the rest of the file better.
#![forbid(unsafe_code)]

use super::chunk_table::ChunkTable;
use super::header::Header;
use super::header_repair::{self, repair_header};
use crate::error::{Error, Result, Status};
use crate::io::File;

/// The parts of a file.
pub struct Layout {
    pub header: Header,
    pub table: ChunkTable,
    pub meta: Option<Vec<u8>>,
    pub meta_damage: Option<Error>,
    /// True if `header` differs from the header in the file. `table.suspected` describes the
    /// difference.
    pub header_repaired: bool,
    /// True if the position of all content is certain in spite of `table.suspected`.
    pub positions_known: bool,
}

impl Layout {
    /// Finds the parts of `file`, of which this header was read. No allocation exceeds `limit` bytes.
    pub fn find(header: Result<Header>, file: &dyn File, limit: u64) -> Result<Layout> {
        let layout = Layout::by_positions(header, file, limit)?;
        let Some((sum, why)) = header_repair::checksum(file, &layout.header, &layout.table)? else {
            return Ok(layout);
        };
        let header = Header {
            checksum: sum,
            ..layout.header
        };
        let table = ChunkTable::read(file, &header, limit)?;
        Ok(Layout {
            header,
            table,
            ..layout
        }
        .with_guess(false, why))
    }

    /// Finds the parts of `file` by their positions, without a check of the checksum type.
    fn by_positions(header: Result<Header>, file: &dyn File, limit: u64) -> Result<Layout> {
        let first = header.and_then(|h| Layout::by(h, file, limit));
        let intact = |l: &Layout| l.table.damage.is_none() && l.table.suspected.is_none();
        match &first {
            Ok(l) if intact(l) && l.meta_damage.is_none() => return first,
            // the meaning of a newer version must not be guessed
            Err(e) if !e.status.is_corruption() || e.status == Status::Version => return first,
            _ => {}
        }
        let guess = repair_header(file, limit).and_then(|found| {
            found
                .map(|m| {
                    Layout::by(m.header, file, limit).map(|l| l.with_guess(m.meta_is_lost, m.why))
                })
                .transpose()
        });
        let found = |l: &Layout| l.table.chunks.iter().filter(|c| !c.is_lost()).count();
        match guess {
            Ok(Some(l))
                if first.as_ref().map_or(found(&l) > 0, |f| {
                    l.table.damage.is_none() || found(&l) > found(f)
                }) =>
            {
                Ok(l)
            }
            Err(e) if !e.status.is_corruption() && e.status != Status::Limit => Err(e),
            _ => first,
        }
    }

    fn by(header: Header, file: &dyn File, limit: u64) -> Result<Layout> {
        let (meta, meta_damage) = match header
            .meta
            .as_ref()
            .map(|location| location.read(file, limit))
            .transpose()
        {
            Ok(json) => (json, None),
            Err(e) if e.status.is_corruption() => (None, Some(e)),
            Err(e) => return Err(e),
        };
        let mut table = ChunkTable::read(file, &header, limit)?;
        // without offsets, the size of the metadata determines the position of the first chunk
        if let Some(e) = meta_damage
            .as_ref()
            .filter(|_| !table.by_offsets && table.damage.is_some())
        {
            table.suspected.get_or_insert_with(|| e.clone());
        }
        Ok(Layout {
            header,
            table,
            meta,
            meta_damage,
            header_repaired: false,
            positions_known: false,
        })
    }

    fn with_guess(mut self, meta_is_lost: bool, why: Error) -> Layout {
        if meta_is_lost {
            (self.meta, self.meta_damage) = (None, Some(why.clone()));
        }
        let t = &mut self.table;
        let positions_known =
            t.by_offsets && t.in_order && t.damage.is_none() && t.suspected.is_none();
        t.suspected = Some(why);
        Layout {
            header_repaired: true,
            positions_known,
            ..self
        }
    }
}
