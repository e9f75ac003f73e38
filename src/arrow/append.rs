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
    /// How the column marks nulls, if it can.
    pub nulls: Option<&'a NullRule>,
}

/// A column of the stream.
struct Source {
    /// Its number in the stream.
    child: usize,
    plan: Plan,
    nulls: Option<SourceNulls>,
}

/// How nulls of a column are found.
struct SourceNulls {
    /// The item that nulls are converted to.
    item: Vec<u8>,
    /// Converts nulls to another item.
    other: Plan,
    /// A mask marks nulls, not the item.
    has_mask: bool,
}

/// Rows of a stream.
pub struct Piece {
    /// Their number.
    pub rows: u64,
    /// The bytes of each column.
    pub columns: Vec<Vec<u8>>,
    /// For each column with a mask whether each row is null; empty: none is.
    pub nulls: Vec<Vec<bool>>,
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
            let item = match t.nulls.filter(|_| t.lists.is_empty()) {
                Some(NullRule::Item(item)) => item.clone(),
                Some(NullRule::Written { .. }) => alloc::zeroed(t.item.size)?,
                _ => {
                    let (plan, nulls) = (plan()?, None);
                    return Ok(Source { child, plan, nulls });
                }
            };
            let other: Vec<u8> = item.iter().map(|b| !b).collect();
            Ok(Source {
                child,
                plan: plan()?.with_null(&item),
                nulls: Some(SourceNulls {
                    item,
                    other: plan()?.with_null(&other),
                    has_mask: matches!(t.nulls, Some(NullRule::Written { .. })),
                }),
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

    /// Returns the next rows, or `None` at the end.
    pub fn next_piece(&mut self) -> Result<Option<Piece>> {
        let mut out = vec![Vec::new(); self.columns.len()];
        let mut nulls = vec![Vec::new(); self.columns.len()];
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
            self.take(
                &array,
                offset + from..offset + from + n,
                &mut out,
                &mut nulls,
            )?;
            rows += n;
            for nulls in nulls.iter_mut().filter(|nulls| !nulls.is_empty()) {
                nulls.resize(rows, false);
            }
            self.done += n as u64;
            if from + n < len {
                self.batch = Some((array, from + n));
            }
        }
        Ok((rows > 0).then_some(Piece {
            rows: rows as u64,
            columns: out,
            nulls,
        }))
    }

    fn take(
        &self,
        array: &ArrowArray,
        rows: std::ops::Range<usize>,
        out: &mut [Vec<u8>],
        nulls: &mut [Vec<bool>],
    ) -> Result<()> {
        let at = RowContext {
            first: self.done,
            per_row: 1,
            options: ExportOptions::default(),
        };
        for ((source, out), nulls) in self.columns.iter().zip(out).zip(nulls) {
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
            let packed = add(&source.plan, out).and_then(|()| match &source.nulls {
                Some(of) => self.find_nulls(of, before, out, nulls, add),
                None => Ok(()),
            });
            packed.map_err(|e| e.within(format_args!("column {:?}", field.name)))?;
        }
        Ok(())
    }

    /// Finds the nulls among the items of `out` from byte `before` on. A value that is not null, but
    /// equals the item that marks nulls, is an error.
    fn find_nulls(
        &self,
        of: &SourceNulls,
        before: usize,
        out: &[u8],
        nulls: &mut Vec<bool>,
        add: impl Fn(&Plan, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let size = of.item.len().max(1);
        let items = out.at(before..)?.chunks(size);
        if !items.clone().any(|item| item == of.item) {
            return Ok(());
        }
        let mut again = Vec::new();
        add(&of.other, &mut again)?;
        if !of.has_mask {
            let Some(row) = again.chunks(size).position(|item| item == of.item) else {
                return Ok(());
            };
            let row = self.done + row as u64;
            let e = fail!(Type, "row {row}: this value marks nulls in the column");
            return Err(e.at(row));
        }
        let found: Vec<bool> = items.zip(again.chunks(size)).map(|(a, b)| a != b).collect();
        if found.contains(&true) {
            nulls.resize(before / size, false);
            alloc::reserve(nulls, found.len())?;
            nulls.extend(found);
        }
        Ok(())
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
                nulls: nulls.as_ref(),
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
        while let Some(piece) = rows.next_piece()? {
            let first = self.rows();
            let columns: Vec<&[u8]> = piece.columns.iter().map(Vec::as_slice).collect();
            self.append(piece.rows, &columns)?;
            for (column, nulls) in piece.nulls.iter().enumerate() {
                if !nulls.is_empty() {
                    self.set_nulls(column, first, nulls)?;
                }
            }
        }
        Ok(())
    }
}
