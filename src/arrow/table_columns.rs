//! Reads rows of some columns of a table as a batch.
#![forbid(unsafe_code)]

use super::data::{Buffer, Data};
use super::export::{BinaryBuilder, ExportOptions, RowContext, export_lists, field};
use super::format::{Field, Format};
use super::packed;
use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::Kind;
use crate::error::{Error, Result, fail};
use crate::progress::{Step, measured};
use crate::table::{Column, NullRule, Rows, Table, row_bytes, select_rows};
use crate::{alloc, parallel};
use std::collections::HashMap;
use std::sync::Arc;

/// The metadata key for the NumPy dtype of a column.
pub const DTYPE: &str = "holdall.dtype";

/// Some columns of a table whose columns are of type `A`.
pub struct TableColumns<A> {
    table: Arc<Table<A>>,
    /// The indices of the columns.
    columns: Vec<usize>,
    schema: Field,
    options: ExportOptions,
}

/// Items of columns that were read before, by the index of the column.
#[derive(Default)]
pub struct ReadItems {
    /// The first row of the items.
    pub first: u64,
    /// The items of consecutive rows.
    pub items: HashMap<usize, Vec<u8>>,
}

/// Returns the dimensions of a row of an array, as lengths of nested lists.
pub(super) fn lists(array: &Array) -> Vec<usize> {
    array
        .shape()
        .iter()
        .skip(1)
        .map(|n| usize::try_from(*n).unwrap_or(usize::MAX))
        .collect()
}

impl<A: AsRef<Array> + Send + Sync> TableColumns<A> {
    /// Selects the columns with these indices, in this order.
    pub fn new(
        table: Arc<Table<A>>,
        columns: Vec<usize>,
        options: ExportOptions,
    ) -> Result<TableColumns<A>> {
        let selected = columns.iter().filter_map(|i| table.columns().get(*i));
        let fields = selected.map(|c| {
            let field = column_field(&c.name, c.array.as_ref(), options);
            let field = field.map_err(|e| within(&table, &c.name, e))?;
            Ok(Field {
                nullable: field.nullable || c.nulls.is_some(),
                ..field
            })
        });
        let schema = Field::of("", Format::Struct, fields.collect::<Result<_>>()?);
        Ok(TableColumns {
            table,
            columns,
            schema,
            options,
        })
    }

    /// Returns the table.
    pub fn table(&self) -> &Arc<Table<A>> {
        &self.table
    }

    /// Returns the schema of all batches.
    pub fn schema(&self) -> &Field {
        &self.schema
    }

    /// Returns the arrays of the columns.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.selected().map(|(_, column)| column.array.as_ref())
    }

    fn selected(&self) -> impl Iterator<Item = (usize, &Column<A>)> {
        let columns = self.table.columns();
        self.columns
            .iter()
            .filter_map(|i| Some((*i, columns.get(*i)?)))
    }

    /// Reads rows. Items in `read` are not read again.
    pub fn read(&self, rows: &Rows, read: &ReadItems) -> Result<Data> {
        let n = rows.len() as u64;
        let total = self.arrays().fold(0u64, |all, array| {
            all.saturating_add(row_bytes(array).saturating_mul(n))
        });
        measured(self.table.progress(), total, Step::Decode, || {
            self.read_columns(rows, read)
        })
    }

    fn read_columns(&self, rows: &Rows, read: &ReadItems) -> Result<Data> {
        let mut tasks = Vec::new();
        let mut threads = usize::MAX;
        for (index, column) in self.selected() {
            let array = column.array.as_ref();
            threads = threads.min(array.store().file_threads());
            let read = read.items.get(&index).map(|items| (read.first, &items[..]));
            tasks.push((column, read, Ok(Data::default())));
        }
        // one thread per column, if there are enough columns; otherwise all threads read each
        // column
        let threads = if tasks.len() >= threads { threads } else { 1 };
        parallel::for_each(
            threads,
            tasks.iter_mut().collect(),
            |(column, read, result): &mut (_, _, _)| {
                let column: &Column<A> = column;
                *result = self.column(column, rows, *read);
            },
        );
        let children = tasks
            .into_iter()
            .map(|(c, _, result)| result.map_err(|e| within(&self.table, &c.name, e)))
            .collect::<Result<_>>()?;
        Ok(Data::of(rows.len(), children))
    }

    /// Reads rows of a column, or takes them from the items that were `read`.
    fn column(&self, column: &Column<A>, rows: &Rows, read: Option<(u64, &[u8])>) -> Result<Data> {
        let array = column.array.as_ref();
        if let Some(of) = array.store().packed() {
            return packed::export(&column.texts(rows)?, of);
        }
        if matches!(column.nulls, Some(NullRule::Texts)) || array.dtype().item.kind == Kind::Text {
            return texts(&column.texts(rows)?);
        }
        if array.store().has_objects() {
            return texts(&column.objects(rows)?);
        }
        let (row, item) = (row_bytes(array), &array.dtype().item);
        let size = row.saturating_mul(rows.len() as u64);
        let size = alloc::allow(size, array.memory_limit(), "a batch")?;
        let mut buffer = Buffer::zeroed(size)?;
        match read {
            Some(read) => select_rows(rows, row as usize, read, buffer.get_mut())?,
            None => _ = column.read_items(rows, buffer.get_mut())?,
        }
        let nulls = column.nulls_of(rows, item, buffer.get())?;
        let at = RowContext {
            rows: *rows,
            per_row: 1,
            options: self.options,
        };
        let data = export_lists(item, &lists(array), rows.len(), buffer, at)?;
        match nulls {
            Some(nulls) => data.with_nulls(&nulls),
            None => Ok(data),
        }
    }
}

fn within<A>(table: &Table<A>, column: &str, e: Error) -> Error {
    e.within(format_args!("{}: column {column:?}", table.name()))
}

fn column_field(name: &str, array: &Array, options: ExportOptions) -> Result<Field> {
    if array.store().has_objects() && array.shape().len() != 1 {
        return Err(fail!(
            Unsupported,
            "Python objects in {} dimensions are not supported (expected 1)",
            array.shape().len()
        ));
    }
    if let Some(of) = array.store().packed() {
        return packed::field(name, of);
    }
    let mut field = field(name, &array.dtype().item, &lists(array), options)?;
    if field.format != Format::Null && array.dtype().item.kind != Kind::Text {
        field.metadata.push((DTYPE.to_owned(), array.dtype_text()));
    }
    Ok(field)
}

/// Converts texts or bytes.
fn texts(texts: &Texts) -> Result<Data> {
    let mut all = BinaryBuilder::new(texts.ends.len(), texts.bytes.len())?;
    for (i, is_null) in texts.nulls.iter().enumerate() {
        // what is stored for a null is no value
        all.push_bytes(texts.get(i).filter(|_| !is_null).unwrap_or_default())?;
        all.finish_value()?;
    }
    all.finish(texts.ends.len()).with_nulls(&texts.nulls)
}
