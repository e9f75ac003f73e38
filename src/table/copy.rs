//! Copies a table, with other chunks, codec, checksum or format.
#![forbid(unsafe_code)]

use super::write::{self, NewColumn};
use super::{Column, NullRule, Table, ctable};
use crate::array::{Array, NewLocation};
use crate::dataset::like::{append_rows, inherit, inherit_no_checksum};
use crate::dataset::{create, meta_files};
use crate::dtype::Dtype;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::options::{Opt, Options};
use crate::progress::{Scope, Step};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;

/// Rows of which the nulls are in memory.
const PIECE: u64 = 1 << 16;

impl<A: AsRef<Array>> Table<A> {
    /// Creates a table at a path with the same columns, in chunks of the same length, without rows.
    pub fn create_like(&self, path: &OsStr, options: &Options) -> Result<Table> {
        let format = self.format();
        let mut options = options.clone();
        let mut columns = self.new_columns(format, &mut options)?;
        if format == Format::BlzRfc {
            self.share_form(&columns, &mut options)?;
        }
        for (new, column) in columns.iter_mut().zip(&self.columns) {
            let array = column.array.as_ref();
            inherit_no_checksum(&mut new.options, array)?;
            let is_given = options.given(Opt::ChunkBytes).is_some();
            if format != Format::BlzRfc && !is_given {
                let chunk = array.store().chunk_bytes();
                new.options.set(Opt::ChunkBytes, chunk as i64)?;
            }
        }
        write::create(
            NewLocation::Path(path),
            Mode::New,
            format,
            &columns,
            &options,
        )
    }

    /// Takes over what the columns of the BLZ RFC layout share: the checksum, and the number of rows
    /// in a chunk.
    fn share_form(&self, columns: &[NewColumn], options: &mut Options) -> Result<()> {
        let Some(first) = self.columns.first().map(|first| first.array.as_ref()) else {
            return Ok(());
        };
        inherit_no_checksum(options, first)?;
        let rows = first.chunkshape().first();
        if let (None, Some(rows)) = (options.given(Opt::ChunkBytes), rows) {
            let types: Vec<_> = columns.iter().map(|column| &column.dtype.item).collect();
            let bytes = rows.saturating_mul(create::blz_rfc_width(&types));
            options.set(Opt::ChunkBytes, i64::try_from(bytes).unwrap_or(i64::MAX))?;
        }
        Ok(())
    }

    /// Returns the columns of a new table that is like this one. The columns of the BLZ RFC layout
    /// share their encoding, which becomes that of the options.
    fn new_columns(&self, format: Format, options: &mut Options) -> Result<Vec<NewColumn<'_>>> {
        if let (Format::BlzRfc, Some(first)) = (format, self.columns.first()) {
            inherit(options, first.array.as_ref())?;
        }
        let columns = self.columns.iter();
        let new = columns.map(|column| new_column(column, format, options));
        new.collect()
    }

    /// Copies the table in its current state, with the attributes of the table and of its columns.
    /// Columns keep codec, level, filter and fill value unless the options specify others. The
    /// columns of the BLZ RFC layout share them: there, those of the first column are used. Returns
    /// true if corrupt parts were replaced by zeros because `HOLDALL_OPT_SKIP_DAMAGED` is set.
    pub fn copy(
        &self,
        to: NewLocation,
        mode: Mode,
        format: Format,
        options: &Options,
    ) -> Result<bool> {
        let mut options = options.clone();
        if options.given(Opt::ExpectedRows).is_none() {
            let rows = i64::try_from(self.rows).unwrap_or(i64::MAX);
            options.set(Opt::ExpectedRows, rows)?;
        }
        self.refuse_nulls(format)?;
        let columns = self.new_columns(format, &mut options)?;
        if format != Format::BlzRfc {
            let files = self.meta_file_names()?;
            meta_files::refuse_files(&self.name, &files, "the BLZ RFC layout")?;
        }
        let scope = Scope::open(options.progress(), self.nbytes(), Step::Call);
        let mut new = write::create(to, mode, format, &columns, &options)?;
        let mut corrupt = self.copy_attrs(&mut new)?;
        self.copy_meta_files(&mut new)?;
        let mut done = 0;
        for (from, to) in self.columns.iter().zip(&mut new.columns) {
            let report = &mut |n| scope.at(done + n);
            let limit = options.memory_limit();
            let copied = create::copy_rows(from.array.as_ref(), &mut to.array, limit, report);
            corrupt |= copied.map_err(|e| e.within(format_args!("column {:?}", from.name)))?;
            done += from.array.as_ref().nbytes();
        }
        new.rows = self.rows;
        self.copy_masks(&mut new)?;
        new.commit()?;
        scope.finish();
        Ok(corrupt)
    }

    /// Copies which rows are null, of columns that have masks in both tables.
    fn copy_masks(&self, new: &mut Table) -> Result<()> {
        for i in 0..self.columns.len() {
            let has_mask = |c: &Column<Array>| matches!(c.nulls, Some(NullRule::Written { .. }));
            if !new.columns.get(i).is_some_and(has_mask) {
                continue;
            }
            for first in (0..self.rows).step_by(PIECE as usize) {
                let nulls = self.nulls(i, first, PIECE.min(self.rows - first))?;
                new.set_nulls(i, first, &nulls.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Returns an error if a row of a column is null, and the format has no such nulls.
    fn refuse_nulls(&self, format: Format) -> Result<()> {
        for (i, column) in self.columns.iter().enumerate() {
            match column.nulls {
                // NaN stays NaN
                None | Some(NullRule::Nan) => continue,
                Some(_) if format == Format::CTable => continue,
                Some(_) => {}
            }
            for first in (0..self.rows).step_by(PIECE as usize) {
                let nulls = self.nulls(i, first, PIECE.min(self.rows - first))?;
                if let Some(row) = nulls.unwrap_or_default().iter().position(|null| *null) {
                    return Err(fail!(
                        Unsupported,
                        "{}: column {:?}: row {} is null, and tables of the format {format:?} have no nulls; export the table with Arrow",
                        self.name,
                        column.name,
                        first + row as u64
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns true if attributes are missing because they are corrupt and skipped.
    fn copy_attrs(&self, new: &mut Table) -> Result<bool> {
        let mut is_lost = self.attrs.damage().is_some();
        for name in self.attrs.names() {
            new.attr_set(name, self.attrs.get(name)?)?;
        }
        for (i, column) in self.columns.iter().enumerate() {
            let array = column.array.as_ref();
            is_lost |= array.has_lost_attrs();
            for (name, value) in array.attrs()? {
                new.column_attr_set(i, &name, Some(&value))?;
            }
        }
        Ok(is_lost)
    }

    /// Copies further files in `meta`, of the table or of its columns.
    fn copy_meta_files(&self, new: &mut Table) -> Result<()> {
        for name in self.meta_file_names()? {
            new.meta_file_set(&name, self.meta_file(&name)?.as_deref())?;
        }
        // in the BLZ RFC layout those of a column are those of the table
        let has_own = |column: &&Column<A>| column.array.as_ref().format() != Format::BlzRfc;
        for (from, to) in self.columns.iter().filter(has_own).zip(&mut new.columns) {
            meta_files::copy(from.array.as_ref(), &mut to.array)?;
        }
        Ok(())
    }
}

impl Table {
    /// Appends all rows of a table with the same columns. On failure none is appended.
    pub fn append_table(&mut self, from: &Table) -> Result<()> {
        let limit = self.writer()?.options().memory_limit();
        let names = |table: &Table| -> Vec<(String, String)> {
            let columns = table.columns.iter();
            let name = |c: &Column<Array>| (c.name.clone(), c.array.dtype_text());
            columns.map(name).collect()
        };
        let (here, there) = (names(self), names(from));
        if here != there {
            let name = &self.name;
            return Err(fail!(
                Type,
                "{name}: rows of other columns (expected {here:?}, found {there:?})"
            ));
        }
        let all = self.rows.checked_add(from.rows);
        let all = all.ok_or_else(|| fail!(Argument, "more than 2^64 rows"))?;
        for (i, (source, to)) in from.columns.iter().zip(&mut self.columns).enumerate() {
            if let Err(e) = append_rows(&source.array, &mut to.array, limit) {
                let e = e.within(format_args!("column {:?}", to.name));
                for column in self.columns.iter_mut().take(i + 1) {
                    write::cut(&mut column.array, self.rows)?;
                }
                return Err(e);
            }
        }
        self.rows = all;
        Ok(())
    }
}

/// Returns the column of a new table that is like this one.
fn new_column<'a, A: AsRef<Array>>(
    column: &'a Column<A>,
    format: Format,
    options: &Options,
) -> Result<NewColumn<'a>> {
    let (array, mut options) = (column.array.as_ref(), options.clone());
    let mut dtype = Dtype {
        spelling: array.dtype_text(),
        item: array.dtype().item.clone(),
    };
    let row = array.shape().get(1..).unwrap_or_default();
    if !row.is_empty() {
        dtype.item = dtype.item.in_shape(row)?;
    }
    if format != Format::BlzRfc {
        inherit(&mut options, array)?;
        if let (None, Some(value)) = (options.given_bytes(Opt::Fill), array.fill()?) {
            options.set_bytes(Opt::Fill, value)?;
        }
    }
    Ok(NewColumn {
        name: &column.name,
        dtype,
        nulls: match format {
            Format::CTable => column.nulls.clone(),
            _ => None,
        },
        entry: match format {
            Format::CTable => ctable::entry_of(array),
            _ => None,
        },
        options,
    })
}
