//! A table, or a bag, batch by batch. Each holds what it reads: it lives on when the handle it was
//! made of is closed.
#![forbid(unsafe_code)]

use super::data::{Buffer, Data};
use super::export::{At, Rules, Texts, field, listed};
use super::format::{Ends, Field, Format};
use crate::array::Array;
use crate::bag::{Bag, Records};
use crate::error::{Error, Result, Status, fail};
use crate::table::Table;
use crate::{alloc, parallel};
use std::sync::Arc;

/// Bytes of a batch, about, where nobody says how many rows it has.
const BATCH: u64 = 16 << 20;
/// The most rows then.
const ROWS: u64 = 1 << 20;
/// The metadata by which the type of NumPy's is told.
pub const DTYPE: &str = "holdall.dtype";

/// What gives batches.
pub trait Source: Send {
    /// What they are made of.
    fn schema(&self) -> &Field;
    /// The next one; nothing at the end.
    fn next_batch(&mut self) -> Result<Option<Data>>;
}

/// The rows of a table. `A`: what its columns are.
pub struct TableStream<A> {
    table: Arc<Table<A>>,
    schema: Field,
    rules: Rules,
    next: u64,
    end: u64,
    /// Rows of a batch, and whether each begins at a multiple of them.
    batch: (u64, bool),
}

/// The lengths of the lists that the rows of an array are.
pub(super) fn lists(array: &Array) -> Vec<usize> {
    array
        .shape()
        .iter()
        .skip(1)
        .map(|n| usize::try_from(*n).unwrap_or(usize::MAX))
        .collect()
}

/// Bytes of a row.
pub(super) fn row_bytes(array: &Array) -> u64 {
    array
        .shape()
        .iter()
        .skip(1)
        .fold(array.itemsize() as u64, |n, d| n.saturating_mul(*d))
}

fn within<A>(table: &Table<A>, column: &str, e: Error) -> Error {
    e.within(format_args!("{}: column {column:?}", table.name()))
}

impl<A: AsRef<Array> + Send + Sync> TableStream<A> {
    /// The rows from `first` on. `batch`: rows of each batch; 0: as many as suit the table.
    pub fn new(
        table: Arc<Table<A>>,
        first: u64,
        rows: u64,
        batch: u64,
        rules: Rules,
    ) -> Result<TableStream<A>> {
        let end = first.checked_add(rows).filter(|end| *end <= table.rows());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: {rows} rows from {first} on: there are {}",
                table.name(),
                table.rows()
            )
        })?;
        let columns = table.columns().iter().map(|c| {
            column_field(&c.name, c.array.as_ref(), rules).map_err(|e| within(&table, &c.name, e))
        });
        let schema = Field::of("", Format::Struct, columns.collect::<Result<_>>()?);
        let arrays: Vec<&Array> = table.columns().iter().map(|c| c.array.as_ref()).collect();
        let batch = if batch > 0 {
            (batch, false)
        } else {
            (suitable_rows(&arrays), true)
        };
        let most = most_rows(&arrays);
        let batch = (batch.0.min(most), batch.1);
        Ok(TableStream {
            table,
            schema,
            rules,
            next: first,
            end,
            batch,
        })
    }

    fn read(&self, n: u64) -> Result<Data> {
        let mut tasks = Vec::new();
        let mut threads = usize::MAX;
        for column in self.table.columns() {
            let array = column.array.as_ref();
            threads = threads.min(array.store().file_threads());
            tasks.push((column, Ok(Data::default())));
        }
        // one thread may read each, or else all threads one after the other
        let threads = if tasks.len() >= threads { threads } else { 1 };
        parallel::for_each(
            threads,
            tasks.iter_mut().collect(),
            |(column, done): &mut (_, _)| {
                let column: &crate::table::Column<A> = column;
                *done = self.column(column.array.as_ref(), n);
            },
        );
        let children = tasks
            .into_iter()
            .map(|(c, done)| done.map_err(|e| within(&self.table, &c.name, e)))
            .collect::<Result<_>>()?;
        Ok(Data::of(n as usize, children))
    }

    fn column(&self, array: &Array, n: u64) -> Result<Data> {
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
        let at = At {
            first: self.next,
            per_row: 1,
            rules: self.rules,
        };
        listed(&array.dtype().item, &lists(array), n as usize, buffer, at)
    }

    fn objects(&self, array: &Array, n: u64) -> Result<Data> {
        let (mut objects, mut size) = (alloc::with_room(n as usize)?, 0u64);
        for row in self.next..self.next + n {
            let object = array.store().object(row).map_err(|e| e.at(row))?;
            size = size.saturating_add(object.len() as u64);
            alloc::allow(size, array.memory_limit(), "the objects of a batch")?;
            objects.push(object);
        }
        let mut texts = Texts::new(objects.len(), usize::try_from(size).unwrap_or(usize::MAX))?;
        for object in &objects {
            texts.put(object);
            texts.end();
        }
        Ok(texts.data(objects.len()))
    }
}

impl<A: AsRef<Array> + Send + Sync> Source for TableStream<A> {
    fn schema(&self) -> &Field {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Data>> {
        let (rows, even) = self.batch;
        let end = if even {
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

fn column_field(name: &str, array: &Array, rules: Rules) -> Result<Field> {
    if array.store().has_objects() && array.shape().len() != 1 {
        return Err(fail!(
            Unsupported,
            "objects of Python's in {} dimensions",
            array.shape().len()
        ));
    }
    let mut field = field(name, &array.dtype().item, &lists(array), rules)?;
    if field.format != Format::Null {
        field.metadata.push((DTYPE.to_owned(), array.dtype_text()));
    }
    Ok(field)
}

/// As many rows as make a batch of some size, whole chunks of the first column where that can be.
fn suitable_rows(arrays: &[&Array]) -> u64 {
    let row = arrays.iter().fold(0u64, |n, a| {
        n.saturating_add(row_bytes(a).max(if a.store().has_objects() { 256 } else { 0 }))
    });
    let rows = (BATCH / row.max(1)).clamp(1, ROWS);
    let chunk = arrays
        .first()
        .and_then(|a| a.chunkshape().first())
        .copied()
        .unwrap_or(1)
        .max(1);
    match chunk {
        _ if chunk <= rows => rows / chunk * chunk,
        _ if chunk.saturating_mul(row) <= 4 * BATCH => chunk,
        // about as long, so that there are no crumbs
        _ => chunk.div_ceil(chunk.div_ceil(rows)),
    }
}

/// The most rows of a batch, so that offsets of 32 bits reach the end of every column.
fn most_rows(arrays: &[&Array]) -> u64 {
    arrays
        .iter()
        .map(|a| i32::MAX as u64 / row_bytes(a).max(1))
        .min()
        .unwrap_or(u64::MAX)
        .clamp(1, i32::MAX as u64)
}

/// The most records of a batch, where nobody says how many.
const RECORDS: u64 = 1 << 16;

/// The records of a bag.
pub struct BagStream {
    bag: Bag,
    schema: Field,
    next: u64,
    end: u64,
    /// Records of a batch, and whether the bag tells how many suit it.
    batch: (u64, bool),
}

impl BagStream {
    /// The records from `first` on. `batch`: how many are in each batch; 0: as many as suit the
    /// bag.
    pub fn new(bag: Bag, first: u64, n: u64, batch: u64) -> Result<BagStream> {
        let end = first.checked_add(n).filter(|end| *end <= bag.size());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{n} records from {first} on: there are {}",
                bag.size()
            )
            .at(first)
        })?;
        let format = Format::Variable {
            text: false,
            ends: Ends::Narrow,
        };
        let record = Field {
            nullable: true,
            ..Field::new("record", format)
        };
        let schema = Field::of("", Format::Struct, vec![record]);
        let batch = if batch > 0 {
            (batch.min(i32::MAX as u64), false)
        } else {
            (RECORDS, true)
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
        let (n, suit) = self.batch;
        let n = n.min(self.end - self.next);
        if n == 0 {
            return Ok(None);
        }
        let records =
            self.bag
                .read_some(self.next, n, if suit { BATCH } else { i32::MAX as u64 })?;
        let n = records.len();
        if suit {
            let wanted = (n as u64).saturating_mul(BATCH) / records.data.len().max(1) as u64;
            self.batch.0 = wanted.clamp(1, RECORDS.min(n as u64 * 4));
        }
        let data = record_data(records).map_err(|e| e.at(self.next))?;
        self.next += n as u64;
        Ok(Some(Data::of(n, vec![data])))
    }
}

/// Records that were damaged and skipped are nulls.
fn record_data(mut records: Records) -> Result<Data> {
    let n = records.len();
    if i32::try_from(records.data.len()).is_err() {
        let most = i32::MAX;
        return Err(Error::new(
            Status::Unsupported,
            format!(
                "a record of {} bytes: Arrow's offsets end at {most}",
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
