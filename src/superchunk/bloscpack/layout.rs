//! What a file consists of: header, metadata, chunks; by its header, or, where that is damaged, by
//! one that fits the rest better.
#![forbid(unsafe_code)]

use super::chunk_table::ChunkTable;
use super::header::Header;
use super::header_repair::{self, mend};
use super::read::is_damage;
use crate::error::{Error, Result, Status};
use crate::io::File;

/// The parts of a file.
pub struct Layout {
    pub header: Header,
    pub table: ChunkTable,
    pub meta: Option<Vec<u8>>,
    pub meta_damage: Option<Error>,
    /// Is the header another one than the file has? The table's doubt tells what is wrong with
    /// that.
    pub mended: bool,
    /// Does the doubt leave no doubt that content is where it belongs?
    pub placed: bool,
}

impl Layout {
    /// Finds the parts of `file`; memory for at most `limit` bytes.
    pub fn find(file: &dyn File, limit: u64) -> Result<Layout> {
        let layout = Layout::of_places(file, limit)?;
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
        .guessed(false, why))
    }

    /// The parts of `file` by where they are.
    fn of_places(file: &dyn File, limit: u64) -> Result<Layout> {
        let first = Header::read(file).and_then(|h| Layout::by(h, file, limit));
        let sound = |l: &Layout| l.table.damage.is_none() && l.table.doubt.is_none();
        match &first {
            Ok(l) if sound(l) && l.meta_damage.is_none() => return first,
            // what a newer version means is not to be guessed
            Err(e) if !is_damage(e.status) || e.status == Status::Version => return first,
            _ => {}
        }
        let guess = mend(file, limit).and_then(|found| {
            found
                .map(|m| {
                    Layout::by(m.header, file, limit).map(|l| l.guessed(m.meta_is_lost, m.why))
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
            Err(e) if !is_damage(e.status) && e.status != Status::Limit => Err(e),
            _ => first,
        }
    }

    fn by(header: Header, file: &dyn File, limit: u64) -> Result<Layout> {
        let (meta, meta_damage) = match header
            .meta
            .as_ref()
            .map(|place| place.read(file, limit))
            .transpose()
        {
            Ok(json) => (json, None),
            Err(e) if is_damage(e.status) => (None, Some(e)),
            Err(e) => return Err(e),
        };
        let mut table = ChunkTable::read(file, &header, limit)?;
        // the size of the metadata says where the first chunk is, where the offsets do not
        if let Some(e) = meta_damage
            .as_ref()
            .filter(|_| !table.by_offsets && table.damage.is_some())
        {
            table.doubt.get_or_insert_with(|| e.clone());
        }
        Ok(Layout {
            header,
            table,
            meta,
            meta_damage,
            mended: false,
            placed: false,
        })
    }

    fn guessed(mut self, meta_is_lost: bool, why: Error) -> Layout {
        if meta_is_lost {
            (self.meta, self.meta_damage) = (None, Some(why.clone()));
        }
        let t = &mut self.table;
        let placed = t.by_offsets && t.in_order && t.damage.is_none() && t.doubt.is_none();
        t.doubt = Some(why);
        Layout {
            mended: true,
            placed,
            ..self
        }
    }
}
