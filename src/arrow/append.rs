//! Appends an Arrow stream to a table: matches the columns by name, and splits or joins the batches
//! into pieces of a suitable size.
#![forbid(unsafe_code)]

use super::batch_source::lists;
use super::export::{ExportOptions, RowContext};
use super::ffi::{ArrowArray, Stream};
use super::format::{Field, Format};
use super::import::{Plan, ValueIndices, first_null, match_fields, pack};
use crate::alloc;
use crate::array::Array;
use crate::dtype::Type;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::table::{NullRule, Table};

/// Approximate number of bytes that are appended to a table at once.
const PIECE_BYTES: usize = 16 << 20;
/// Maximum number of rows that are converted at once.
const MAX_ROWS: usize = 1 << 16;

/// A column that receives values.
pub struct TargetColumn<'a> {
    /// The name of the column.
    pub name: &'a str,
    /// The type of the items.
    pub item: &'a Type,
    /// The dimensions of a row, as lengths of nested lists.
    pub lists: Vec<usize>,
    /// The item that marks nulls, if the column has one.
    pub null: Option<&'a [u8]>,
}

/// A column of the stream.
struct Source {
    /// Its number in the stream.
    child: usize,
    plan: Plan,
    /// The item that marks nulls, with a plan that converts nulls to another one.
    null: Option<(Vec<u8>, Plan)>,
}

/// Reads the rows of a stream, converted to the types of the target columns.
pub struct StreamRows {
    stream: Stream,
    schema: Field,
    columns: Vec<Source>,
    /// The current batch and the index of its first unread row.
    batch: Option<(ArrowArray, usize)>,
    done: u64,
}

impl StreamRows {
    /// Creates a reader for a stream. Returns an error unless the stream has exactly the target
    /// columns, in any order.
    pub fn new(mut stream: Stream, targets: &[TargetColumn]) -> Result<StreamRows> {
        let schema = stream.schema()?;
        if schema.format != Format::Struct || schema.dictionary.is_some() {
            return Err(fail!(
                Type,
                "Arrow stream: the schema has the type {} (expected a struct of columns)",
                schema.describe()
            ));
        }
        let found = match_fields(&schema.children, targets.iter().map(|t| t.name))?;
        let plan = |((child, field), t): ((usize, &Field), &TargetColumn)| {
            let plan = || {
                Plan::new(field, t.item, &t.lists)
                    .map_err(|e| e.within(format_args!("column {:?}", t.name)))
            };
            let null = t.null.filter(|_| t.lists.is_empty());
            let Some(null) = null else {
                let (plan, null) = (plan()?, None);
                return Ok(Source { child, plan, null });
            };
            let other: Vec<u8> = null.iter().map(|b| !b).collect();
            Ok(Source {
                child,
                plan: plan()?.with_null(null),
                null: Some((null.to_vec(), plan()?.with_null(&other))),
            })
        };
        let columns = found
            .into_iter()
            .zip(targets)
            .map(plan)
            .collect::<Result<_>>()?;
        Ok(StreamRows {
            stream,
            schema,
            columns,
            batch: None,
            done: 0,
        })
    }

    /// Returns the number of the next rows and the bytes of each column, or `None` at the end.
    pub fn next_piece(&mut self) -> Result<Option<(u64, Vec<Vec<u8>>)>> {
        let mut out = vec![Vec::new(); self.columns.len()];
        let row = self
            .columns
            .iter()
            .fold(0usize, |n, source| n.saturating_add(source.plan.size()));
        let max_rows = (PIECE_BYTES / row.max(1)).max(1);
        let mut rows = 0;
        while rows < max_rows {
            let Some((array, from)) = self.batch.take() else {
                match self.stream.next_batch()? {
                    Some(array) => self.batch = Some((array, 0)),
                    None => break,
                }
                continue;
            };
            let (offset, len, _) = array.view().check(&self.schema)?;
            let available = (len - from).min(max_rows - rows);
            for (source, out) in self.columns.iter().zip(&mut out) {
                alloc::reserve(out, available.saturating_mul(source.plan.size()))?;
            }
            let n = available.min(MAX_ROWS);
            if let Some(null) = first_null(array.view(), &self.schema, from..from + n)? {
                let row = self.done + (null - from) as u64;
                return Err(fail!(Type, "row {row}: the struct is null").at(row));
            }
            self.take(&array, offset + from..offset + from + n, &mut out)?;
            rows += n;
            self.done += n as u64;
            if from + n < len {
                self.batch = Some((array, from + n));
            }
        }
        Ok((rows > 0).then_some((rows as u64, out)))
    }

    fn take(
        &self,
        array: &ArrowArray,
        rows: std::ops::Range<usize>,
        out: &mut [Vec<u8>],
    ) -> Result<()> {
        let at = RowContext {
            first: self.done,
            per_row: 1,
            options: ExportOptions::default(),
        };
        for (source, out) in self.columns.iter().zip(out) {
            let child = source.child;
            let field =
                self.schema.children.get(child).ok_or_else(|| {
                    fail!(State, "Arrow stream: the schema has no column {child}")
                })?;
            let add = |plan: &Plan, out: &mut Vec<u8>| {
                let rows = ValueIndices::Range(rows.clone());
                let values = array.view().child(child)?;
                pack(plan, field, values, rows, at, out)
            };
            let before = out.len();
            let packed = add(&source.plan, out).and_then(|()| match &source.null {
                Some(null) => self.refuse_null_values(null, out.at(before..)?, add),
                None => Ok(()),
            });
            packed.map_err(|e| e.within(format_args!("column {:?}", field.name)))?;
        }
        Ok(())
    }

    /// Returns an error if a value that is not null equals the item that marks nulls.
    fn refuse_null_values(
        &self,
        (null, other): &(Vec<u8>, Plan),
        packed: &[u8],
        add: impl Fn(&Plan, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let find = |items: &[u8]| {
            items
                .chunks(null.len().max(1))
                .position(|item| item == null)
        };
        if find(packed).is_none() {
            return Ok(());
        }
        let mut again = Vec::new();
        add(other, &mut again)?;
        match find(&again) {
            None => Ok(()),
            Some(row) => {
                let row = self.done + row as u64;
                let e = fail!(Type, "row {row}: this value marks nulls in the column");
                Err(e.at(row))
            }
        }
    }
}

impl<A: From<Array> + AsMut<Array> + AsRef<Array>> Table<A> {
    /// Appends all rows of a stream. On error, no row is appended.
    pub fn append_arrow(&mut self, stream: Stream) -> Result<()> {
        let before = self.rows();
        // returns an error if the table is open for reading only
        self.truncate(before)?;
        let columns = self.columns().iter();
        let arrays = columns.map(|c| (&c.name, c.array.as_ref(), &c.nulls));
        let targets: Vec<TargetColumn> = arrays
            .map(|(name, a, nulls)| TargetColumn {
                name,
                item: &a.dtype().item,
                lists: lists(a),
                null: match nulls {
                    Some(NullRule::Item(item)) => Some(item),
                    _ => None,
                },
            })
            .collect();
        let rows = StreamRows::new(stream, &targets).map_err(|e| e.within(self.name()))?;
        match self.append_all(rows) {
            Ok(()) => Ok(()),
            Err(e) => {
                self.truncate(before)?;
                Err(e)
            }
        }
    }

    fn append_all(&mut self, mut rows: StreamRows) -> Result<()> {
        while let Some((n, columns)) = rows.next_piece()? {
            self.append(n, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}
