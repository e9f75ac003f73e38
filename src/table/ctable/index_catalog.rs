//! The catalog of the indexes of a CTable, a metalayer of `_meta`. Indexes of the kind `summary`
//! that are current are maintained by commits; all others are dropped, because other programs would
//! believe them.
//!
//! Source: `ctable_indexing.py` of python-blosc2 4.14.1.
#![forbid(unsafe_code)]

use super::schema_edit;
use crate::array::msgpack_json::{from_json, to_json};
use crate::error::Result;
use crate::json::Value;
use crate::superchunk::frame::Frame;
use std::collections::HashSet;
use std::path::{Component, Path};

pub const INDEXES: &str = "index_catalog";
/// The epoch of the values, and that of those from which an index was made.
const BUILT: &str = "built_value_epoch";
const LEVELS: &str = "levels";
const LEVEL: &str = "block";

/// The indexes that are maintained, by column.
pub struct IndexCatalog {
    entries: Vec<(String, Value)>,
    /// There were other indexes.
    dropped: bool,
}

/// A summary of the blocks of a column.
pub struct SummaryIndex {
    /// The file of its entries, from the folder of the store on.
    pub path: String,
    /// Rows of a segment.
    pub segment: u64,
    /// Nulls have no part in it.
    pub null_aware: bool,
}

impl IndexCatalog {
    /// Returns the catalog of a table without indexes.
    pub fn empty() -> IndexCatalog {
        IndexCatalog {
            entries: Vec::new(),
            dropped: false,
        }
    }

    /// Reads the catalog of a table whose values have this epoch.
    pub fn read(meta: &Frame, epoch: u64) -> Result<IndexCatalog> {
        meta.meta(INDEXES)
            .map(|stored| IndexCatalog::of(stored, epoch))
    }

    /// Returns what the metalayer of a table states whose values have this epoch.
    pub fn of(stored: Option<&[u8]>, epoch: u64) -> IndexCatalog {
        let Some(stored) = stored else {
            return IndexCatalog::empty();
        };
        let Ok(Value::Object(mut entries)) = Value::parse(to_json(stored).as_bytes()) else {
            return IndexCatalog {
                entries: Vec::new(),
                dropped: true,
            };
        };
        let all = entries.len();
        let mut paths = HashSet::new();
        entries.retain(|(_, index)| {
            let is_current = index.get("stale") != Some(&Value::Bool(true))
                && index.get(BUILT).and_then(Value::as_u64) == Some(epoch);
            let summary = summary(index).filter(|_| is_current);
            summary.is_some_and(|summary| paths.insert(summary.path))
        });
        IndexCatalog {
            dropped: entries.len() < all,
            entries,
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the summary of a column.
    pub fn summary(&self, column: &str) -> Option<SummaryIndex> {
        let found = self.entries.iter().find(|(name, _)| name == column);
        found.and_then(|(_, index)| summary(index))
    }

    /// Adds the index of a column that has none.
    pub fn add(&mut self, column: &str, entry: Value) {
        self.entries.push((column.to_owned(), entry));
    }

    /// Removes the index of a column. Returns its file.
    pub fn remove(&mut self, column: &str) -> Option<String> {
        let at = self.entries.iter().position(|(name, _)| name == column)?;
        self.dropped = true;
        summary(&self.entries.remove(at).1).map(|index| index.path)
    }

    /// Writes the catalog of a commit of columns with so many positions, whose values have this
    /// epoch.
    pub fn write(&mut self, meta: &mut Frame, positions: u64, epoch: u64) -> Result<()> {
        for (_, index) in &mut self.entries {
            let segment = summary(index).map_or(1, |summary| summary.segment);
            if let Some(Value::Array(shape)) = index.get_mut("shape")
                && let Some(last) = shape.last_mut()
            {
                *last = Value::Int(positions.into());
            }
            if let Some(level) = index
                .get_mut(LEVELS)
                .and_then(|levels| levels.get_mut(LEVEL))
            {
                let segments = positions.div_ceil(segment);
                schema_edit::set(level, "nsegments", Value::Int(segments.into()));
            }
            schema_edit::set(index, BUILT, Value::Int(epoch.into()));
        }
        if !self.entries.is_empty() {
            let catalog = Value::Object(self.entries.clone()).to_string();
            return meta.vlmeta_set(INDEXES, &from_json(catalog.as_bytes()));
        }
        match meta.meta(INDEXES)? {
            Some(_) => meta.meta_remove(INDEXES),
            None => Ok(()),
        }
    }

    /// Returns whether indexes were dropped since the last call.
    pub fn take_dropped(&mut self) -> bool {
        std::mem::take(&mut self.dropped)
    }
}

/// Returns what an index of the kind `summary` states, if it is one of the items of a column by
/// blocks only.
fn summary(index: &Value) -> Option<SummaryIndex> {
    let target = index.get("target")?;
    let is_field = target.get("source").and_then(Value::as_str) == Some("field")
        && target.get("field") == Some(&Value::Null);
    let Value::Object(levels) = index.get(LEVELS)? else {
        return None;
    };
    let [(name, level)] = &levels[..] else {
        return None;
    };
    let kind = index.get("kind").and_then(Value::as_str);
    if kind != Some("summary") || !is_field || name != LEVEL {
        return None;
    }
    let path = level.get("path")?.as_str()?;
    let is_inside = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    Some(SummaryIndex {
        path: is_inside.then(|| path.to_owned())?,
        segment: level.get("segment_len")?.as_u64().filter(|n| *n > 0)?,
        null_aware: index.get("null_aware") == Some(&Value::Bool(true)),
    })
}
