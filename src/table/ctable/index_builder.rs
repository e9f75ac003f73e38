//! Adds the extrema of the blocks of a column to a CTable that is open for writing, as an index of the
//! kind `summary`, which python-blosc2 has, too.
#![forbid(unsafe_code)]

use super::column_writer::ColumnWriter;
use super::commit_part::{CommitPart, store_of};
use super::summary::Summary;
use super::writer::{CTableWriter, new_array};
use crate::array::Array;
use crate::error::{Result, fail};
use crate::json::Value;
use crate::table::NullRule;

/// Entries of a chunk.
const CHUNK: u64 = 1 << 12;

impl CTableWriter {
    /// Adds the extrema of the blocks of a column, if it has none. Returns false if its values have no
    /// order.
    pub fn build_index(
        &mut self,
        name: &str,
        column: &mut Array,
        nulls: Option<&NullRule>,
    ) -> Result<bool> {
        let Ok(column) = store_of::<ColumnWriter>(column) else {
            // values of any length
            return Ok(false);
        };
        if column.has_summary() {
            return Ok(true);
        }
        let has_mask = column.mask().is_some();
        let nulls = nulls.filter(|_| !has_mask);
        let array = column.array();
        let (&[positions], &[block]) = (array.shape(), array.blockshape()) else {
            return Ok(false);
        };
        if !Summary::can_be_of(array, nulls) {
            return Ok(false);
        }
        let file = self.index_file(name)?;
        let item = array.dtype_text();
        let dtype = format!("[('min', '{item}'), ('max', '{item}'), ('flags', '|u1')]");
        let count = [positions.div_ceil(block)];
        let new = new_array(&dtype, &count, &[CHUNK]);
        let entries = self.new_member(&file, &new)?;
        let described = Described {
            name,
            path: &file.to_string_lossy(),
            item: &item,
            has_nulls: has_mask || nulls.is_some(),
            chunk: array.chunkshape().first().copied().unwrap_or(1),
            block,
        };
        let entry = described.entry()?;
        let summary = Summary::new(entries, array, block, nulls, has_mask);
        let mut summary =
            summary.ok_or_else(|| fail!(State, "{name}: no entries for its blocks"))?;
        summary.written(&(0..positions), None);
        column.set_summary(summary);
        self.index_added(name, entry);
        Ok(true)
    }
}

/// What the catalog states of an index.
struct Described<'a> {
    name: &'a str,
    path: &'a str,
    item: &'a str,
    has_nulls: bool,
    chunk: u64,
    block: u64,
}

impl Described<'_> {
    /// Returns the entry of the catalog, in the form of python-blosc2 4.14.1. The commit states the
    /// number of positions.
    fn entry(&self) -> Result<Value> {
        let text = |text: &str| Value::String(text.to_owned()).to_string();
        let (token, path, item) = (text(self.name), text(self.path), text(self.item));
        let Described {
            has_nulls,
            chunk,
            block,
            ..
        } = self;
        Value::parse(
            format!(
                r#"{{"name": "__self__", "token": {token},
                "target": {{"source": "field", "field": null}}, "field": null, "kind": "summary",
                "version": 1, "optlevel": 5, "persistent": true, "ooc": true, "stale": false,
                "dtype": {item}, "shape": ["__tuple__", 0], "chunks": ["__tuple__", {chunk}],
                "blocks": ["__tuple__", {block}], "levels": {{"block": {{"segment_len": {block},
                "nsegments": 0, "path": {path}, "dtype": [["__tuple__", "min", {item}],
                ["__tuple__", "max", {item}], ["__tuple__", "flags", "|u1"]]}}}}, "bucket": null,
                "partial": null, "full": null, "opsi": null, "cparams": null,
                "null_aware": {has_nulls}, "built_value_epoch": 0}}"#
            )
            .as_bytes(),
        )
    }
}
