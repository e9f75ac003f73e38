//! Reads a table or a bag batch by batch for an Arrow stream. A stream owns a reference to its
//! container, so it stays valid after the handle is closed.
#![forbid(unsafe_code)]

use super::data::{Buffer, Data};
use super::export::{BinaryBuilder, ExportOptions, RowContext, export_lists, field};
use super::format::{Field, Format, OffsetLayout};
use super::packed;
use crate::array::Array;
use crate::array::store::Texts;
use crate::bag::{Bag, Records};
use crate::dtype::Kind;
use crate::error::{Error, Result, Status, fail};
use crate::progress::{Step, measured};
use crate::table::{Column, NullRule, Table};
use crate::{alloc, parallel};
use std::sync::Arc;

/// Approximate number of bytes of a batch, if the caller does not set the number of rows.
const BATCH_BYTES: u64 = 16 << 20;
/// Maximum number of rows of such a batch.
const MAX_ROWS: u64 = 1 << 20;
/// The metadata key for the NumPy dtype of a column.
pub const DTYPE: &str = "holdall.dtype";

/// A source of batches.
pub trait Source: Send {
    /// Returns the schema of all batches.
    fn schema(&self) -> &Field;
    /// Returns the next batch, or `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Data>>;
}

/// Reads rows of some columns of a table whose columns are of type `A`.
pub struct TableStream<A> {
    table: Arc<Table<A>>,
    /// The indices of the columns.
    columns: Vec<usize>,
    schema: Field,
    options: ExportOptions,
    next: u64,
    end: u64,
    /// The number of rows of a batch, and whether each batch begins at a multiple of it.
    batch: (u64, bool),
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

/// Returns the number of bytes of a row.
pub(super) fn row_bytes(array: &Array) -> u64 {
    array
        .shape()
        .iter()
        .skip(1)
        .fold(array.itemsize() as u64, |n, d| n.saturating_mul(*d))
}

/// Returns the columns with these indices.
fn selected<'a, A>(
    table: &'a Table<A>,
    columns: &'a [usize],
) -> impl Iterator<Item = &'a Column<A>> {
    columns.iter().filter_map(|i| table.columns().get(*i))
}

fn within<A>(table: &Table<A>, column: &str, e: Error) -> Error {
    e.within(format_args!("{}: column {column:?}", table.name()))
}

impl<A: AsRef<Array> + Send + Sync> TableStream<A> {
    /// Creates a stream of `rows` rows from `first` on, of the columns with these indices, with
    /// `batch` rows per batch; 0: a number derived from the row size and the chunks.
    pub fn new(
        table: Arc<Table<A>>,
        columns: Vec<usize>,
        (first, rows): (u64, u64),
        batch: u64,
        options: ExportOptions,
    ) -> Result<TableStream<A>> {
        let end = first.checked_add(rows).filter(|end| *end <= table.rows());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: {rows} rows from {first} on exceed the table (found {} rows)",
                table.name(),
                table.rows()
            )
        })?;
        let fields = selected(&table, &columns).map(|c| {
            let field = column_field(&c.name, c.array.as_ref(), options);
            let field = field.map_err(|e| within(&table, &c.name, e))?;
            Ok(Field {
                nullable: field.nullable || c.nulls.is_some(),
                ..field
            })
        });
        let schema = Field::of("", Format::Struct, fields.collect::<Result<_>>()?);
        let arrays: Vec<&Array> = selected(&table, &columns)
            .map(|c| c.array.as_ref())
            .collect();
        let batch = if batch > 0 {
            (batch, false)
        } else {
            (suitable_rows(&arrays), true)
        };
        let max = max_rows(&arrays);
        let batch = (batch.0.min(max), batch.1);
        Ok(TableStream {
            table,
            columns,
            schema,
            options,
            next: first,
            end,
            batch,
        })
    }

    fn read(&self, n: u64) -> Result<Data> {
        let arrays = || selected(&self.table, &self.columns).map(|c| c.array.as_ref());
        let total = arrays().fold(0u64, |all, array| {
            all.saturating_add(row_bytes(array).saturating_mul(n))
        });
        measured(self.table.progress(), total, Step::Decode, || {
            self.read_columns(n)
        })
    }

    fn read_columns(&self, n: u64) -> Result<Data> {
        let mut tasks = Vec::new();
        let mut threads = usize::MAX;
        for column in selected(&self.table, &self.columns) {
            let array = column.array.as_ref();
            threads = threads.min(array.store().file_threads());
            tasks.push((column, Ok(Data::default())));
        }
        // one thread per column, if there are enough columns; otherwise all threads read each
        // column
        let threads = if tasks.len() >= threads { threads } else { 1 };
        parallel::for_each(
            threads,
            tasks.iter_mut().collect(),
            |(column, result): &mut (_, _)| {
                let column: &Column<A> = column;
                *result = self.column(column, n);
            },
        );
        let children = tasks
            .into_iter()
            .map(|(c, result)| result.map_err(|e| within(&self.table, &c.name, e)))
            .collect::<Result<_>>()?;
        Ok(Data::of(n as usize, children))
    }

    fn column(&self, column: &Column<A>, n: u64) -> Result<Data> {
        let array = column.array.as_ref();
        if let Some(of) = array.store().packed() {
            return packed::export(&array.texts(self.next, n)?, of);
        }
        if matches!(column.nulls, Some(NullRule::Texts)) || array.dtype().item.kind == Kind::Text {
            return texts(&array.texts(self.next, n)?);
        }
        if array.store().has_objects() {
            return self.objects(array, n);
        }
        let size = alloc::allow(
            row_bytes(array).saturating_mul(n),
            array.memory_limit(),
            "a batch",
        )?;
        let mut buffer = Buffer::zeroed(size)?;
        let (mut start, mut count) = (vec![0; array.shape().len()], array.shape().to_vec());
        if let (Some(start), Some(count)) = (start.first_mut(), count.first_mut()) {
            (*start, *count) = (self.next, n);
        }
        array.read(&start, &count, None, buffer.get_mut(), None)?;
        let nulls = match &column.nulls {
            Some(rule) => {
                Some(rule.nulls(self.next, n as usize, &array.dtype().item, buffer.get())?)
            }
            None => None,
        };
        let at = RowContext {
            first: self.next,
            per_row: 1,
            options: self.options,
        };
        let data = export_lists(&array.dtype().item, &lists(array), n as usize, buffer, at)?;
        match nulls {
            Some(nulls) => data.with_nulls(&nulls),
            None => Ok(data),
        }
    }

    fn objects(&self, array: &Array, n: u64) -> Result<Data> {
        let (mut objects, mut size) = (alloc::with_capacity(n as usize)?, 0u64);
        for row in self.next..self.next + n {
            let object = array.object(row).map_err(|e| e.at(row))?;
            size = size.saturating_add(object.len() as u64);
            alloc::allow(size, array.memory_limit(), "the objects of a batch")?;
            objects.push(object);
        }
        let mut texts =
            BinaryBuilder::new(objects.len(), usize::try_from(size).unwrap_or(usize::MAX))?;
        for object in &objects {
            texts.push_bytes(object)?;
            texts.finish_value()?;
        }
        Ok(texts.finish(objects.len()))
    }
}

impl<A: AsRef<Array> + Send + Sync> Source for TableStream<A> {
    fn schema(&self) -> &Field {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Data>> {
        let (rows, is_aligned) = self.batch;
        let end = if is_aligned {
            (self.next / rows + 1).saturating_mul(rows)
        } else {
            self.next.saturating_add(rows)
        }
        .min(self.end);
        if end <= self.next {
            return Ok(None);
        }
        let data = self.read(end - self.next)?;
        self.next = end;
        Ok(Some(data))
    }
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

/// Returns the number of rows for a batch of about `BATCH_BYTES`, in complete chunks of the first
/// column where possible.
fn suitable_rows(arrays: &[&Array]) -> u64 {
    let row = arrays.iter().fold(0u64, |n, a| {
        n.saturating_add(row_bytes(a).max(if a.store().has_objects() { 256 } else { 0 }))
    });
    let rows = (BATCH_BYTES / row.max(1)).clamp(1, MAX_ROWS);
    let chunk = arrays
        .first()
        .and_then(|a| a.chunkshape().first())
        .copied()
        .unwrap_or(1)
        .max(1);
    match chunk {
        _ if chunk <= rows => rows / chunk * chunk,
        _ if chunk.saturating_mul(row) <= 4 * BATCH_BYTES => chunk,
        // equal parts of a chunk, so that no small batch remains
        _ => chunk.div_ceil(chunk.div_ceil(rows)),
    }
}

/// Returns the maximum number of rows of a batch for which 32-bit offsets suffice in every column.
fn max_rows(arrays: &[&Array]) -> u64 {
    arrays
        .iter()
        .map(|a| i32::MAX as u64 / row_bytes(a).max(1))
        .min()
        .unwrap_or(u64::MAX)
        .clamp(1, i32::MAX as u64)
}

/// Maximum number of records of a batch, if the caller does not set it.
const MAX_RECORDS: u64 = 1 << 16;

/// Reads the records of a bag.
pub struct BagStream {
    bag: Bag,
    schema: Field,
    next: u64,
    end: u64,
    /// The number of records of a batch, and whether it adapts to the record sizes.
    batch: (u64, bool),
}

impl BagStream {
    /// Creates a stream of `n` records from `first` on, with `batch` records per batch; 0: a number
    /// that adapts to the record sizes.
    pub fn new(bag: Bag, first: u64, n: u64, batch: u64) -> Result<BagStream> {
        let end = first.checked_add(n).filter(|end| *end <= bag.size());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{n} records from {first} on exceed the bag (found {} records)",
                bag.size()
            )
            .at(first)
        })?;
        let format = Format::Variable {
            text: false,
            layout: OffsetLayout::Offsets32,
        };
        let record = Field {
            nullable: true,
            ..Field::new("record", format)
        };
        let schema = Field::of("", Format::Struct, vec![record]);
        let batch = if batch > 0 {
            (batch.min(i32::MAX as u64), false)
        } else {
            (MAX_RECORDS, true)
        };
        Ok(BagStream {
            bag,
            schema,
            next: first,
            end,
            batch,
        })
    }
}

impl Source for BagStream {
    fn schema(&self) -> &Field {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Data>> {
        let (n, is_adaptive) = self.batch;
        let n = n.min(self.end - self.next);
        if n == 0 {
            return Ok(None);
        }
        let records = self.bag.read_some(
            self.next,
            n,
            if is_adaptive {
                BATCH_BYTES
            } else {
                i32::MAX as u64
            },
        )?;
        let n = records.len();
        if is_adaptive {
            let adapted = (n as u64).saturating_mul(BATCH_BYTES) / records.data.len().max(1) as u64;
            self.batch.0 = adapted.clamp(1, MAX_RECORDS.min(n as u64 * 4));
        }
        let data = record_data(records).map_err(|e| e.at(self.next))?;
        self.next += n as u64;
        Ok(Some(Data::of(n, vec![data])))
    }
}

/// Converts records to an array. Corrupt records that were skipped are nulls.
fn record_data(mut records: Records) -> Result<Data> {
    let n = records.len();
    if i32::try_from(records.data.len()).is_err() {
        let max = i32::MAX;
        return Err(Error::new(
            Status::Unsupported,
            format!(
                "a record of {} bytes exceeds the 32-bit offsets of Arrow (limit {max})",
                records.data.len()
            ),
        ));
    }
    let mut offsets = Buffer::zeroed((n + 1).saturating_mul(4))?;
    for (to, from) in offsets
        .get_mut()
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(&records.offsets)
    {
        *to = (*from as i32).to_ne_bytes();
    }
    let data = Data::variable(n, offsets, Buffer::bytes(std::mem::take(&mut records.data)));
    if records.damaged.is_empty() {
        return Ok(data);
    }
    let mut damaged = vec![false; n];
    for (i, _) in &records.damaged {
        damaged
            .get_mut(*i as usize)
            .into_iter()
            .for_each(|d| *d = true);
    }
    data.with_nulls(&damaged)
}
