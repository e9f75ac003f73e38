//! The zones of the columns of a CTable that is open for reading: the segments of its indexes of the
//! kind `summary`.
//!
//! They are read when the first condition asks for them. A table that was changed since it was opened
//! has other rows, so its zones are not used then.
#![forbid(unsafe_code)]

use super::index_catalog::{IndexCatalog, SummaryIndex};
use super::summary::{ALL_NAN, ALL_NULL, HAS_NAN};
use super::valid_rows::ValidRows;
use crate::alloc;
use crate::array::Array;
use crate::dtype::Kind;
use crate::error::{Error, Result};
use crate::io::Folder;
use crate::io::journal::Snapshot;
use crate::options::Options;
use crate::store::table_files::{META, TableFiles};
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::frame::Frame;
use crate::table::predicate::keys::Keys;
use crate::table::zones::{Zone, ZoneSource, Zones};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The blocks of a column, each of which has an entry.
#[derive(Clone, Copy)]
pub struct Segments {
    pub positions: u64,
    /// Positions of a block.
    pub len: u64,
}

/// The summaries of a table whose values had this epoch when it was opened.
pub struct StoredZones {
    pub files: TableFiles,
    pub catalog: IndexCatalog,
    pub epoch: u64,
    pub valid: Arc<ValidRows>,
    pub segments: HashMap<String, Segments>,
    pub options: Options,
    /// What was read, by column.
    pub read: Mutex<HashMap<String, Result<Option<Arc<Zones>>>>>,
}

impl ZoneSource for StoredZones {
    fn zones(&self, column: &str) -> Result<Option<Arc<Zones>>> {
        let Some((index, segments)) = self.catalog.summary(column).zip(self.segments.get(column))
        else {
            return Ok(None);
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let zones = read.entry(column.to_owned()).or_insert_with(|| {
            self.load(&index, *segments)
                .map(|zones| zones.map(Arc::new))
        });
        zones.as_ref().map(Clone::clone).map_err(Error::clone)
    }
}

impl StoredZones {
    fn load(&self, index: &SummaryIndex, segments: Segments) -> Result<Option<Zones>> {
        if index.segment != segments.len {
            return Ok(None);
        }
        Snapshot::read(&self.files.container(), |snapshot| {
            let folder = snapshot.folder()?;
            if self.current(&folder)? != self.epoch {
                return Ok(None);
            }
            let path = OsStr::new(&index.path);
            let entries = Array::open_in(&folder, path, Mode::Read, &self.options)?;
            let zones = self.zones_of(&entries, segments)?;
            let is_current = snapshot.same_journal()? && self.current(&folder)? == self.epoch;
            Ok(zones.filter(|_| is_current))
        })
    }

    /// Returns the epoch of the values that are stored now.
    fn current(&self, folder: &Arc<dyn Folder>) -> Result<u64> {
        let meta = Frame::open_in(folder, &self.files.file(META), Mode::Read, &self.options)?;
        super::writer::value_epoch(&meta)
    }

    fn zones_of(&self, entries: &Array, segments: Segments) -> Result<Option<Zones>> {
        let item = &entries.dtype().item;
        let (Kind::Struct(fields), &[n]) = (&item.kind, entries.shape()) else {
            return Ok(None);
        };
        let [low, high, flags] = &fields[..] else {
            return Ok(None);
        };
        let fits = low.item == high.item
            && flags.item.size == 1
            && n == segments.positions.div_ceil(segments.len.max(1));
        let Some(keys) = Keys::of(&low.item).filter(|_| fits) else {
            return Ok(None);
        };
        let limit = entries.memory_limit();
        alloc::allow(
            n.saturating_mul(size_of::<Zone>() as u64),
            limit,
            "the zones",
        )?;
        let len = alloc::allow(entries.nbytes(), limit, "the summaries")?;
        let mut bytes = alloc::zeroed(len)?;
        if entries.read(&[0], &[n], None, &mut bytes, None)? {
            return Ok(None);
        }
        let mut zones = alloc::with_capacity(n as usize)?;
        for (i, entry) in (0..n).zip(bytes.chunks_exact(item.size)) {
            let rows = |position: u64| self.valid.rows_before(position);
            let at = |field: &crate::dtype::Field| {
                let end = field.offset + field.item.size;
                entry.get(field.offset..end).unwrap_or_default()
            };
            let flags = at(flags).first().copied().unwrap_or(0);
            let extrema = keys.key(at(low)).zip(keys.key(at(high)));
            if extrema.is_none_or(|(low, high)| low > high) {
                return Ok(None);
            }
            zones.push(Zone {
                rows: rows(i.saturating_mul(segments.len))
                    ..rows((i + 1).saturating_mul(segments.len)),
                extrema: extrema.filter(|_| flags & (ALL_NAN | ALL_NULL) == 0),
                has_nan: flags & HAS_NAN != 0 || flags & (ALL_NAN | ALL_NULL) == ALL_NAN,
            });
        }
        Ok(Some(Zones { keys, zones }))
    }
}
