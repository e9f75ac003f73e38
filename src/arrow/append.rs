//! Appends an Arrow stream to a table: matches the columns by name, and splits or joins the batches
//! into pieces of a suitable size.
#![forbid(unsafe_code)]

use super::export::{ExportOptions, RowContext};
use super::ffi::{ArrowArray, Stream};
use super::format::{Field, Format};
use super::import::variable;
use super::import::{Plan, ValueIndices, first_null, match_fields, pack};
use super::table_columns::lists;
use crate::alloc;
use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::packed::PackedType;
use crate::dtype::{Kind, Type};
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::table::{Cells, NullRule, Rows, Table};
use std::borrow::Cow;

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
    /// The type of values of any length.
    pub variable: Option<PackedType>,
}

/// A column of the stream.
struct Source {
    /// Its number in the stream.
    child: usize,
    conversion: Conversion,
}

/// How values of a column are converted.
enum Conversion {
    /// To items of fixed length.
    Items(Box<Plan>, Option<Box<SourceNulls>>),
    /// To values of any length.
    Variable(PackedType),
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
    /// The values of each column.
    pub columns: Vec<Cells<'static>>,
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
        let schema = schema_of_columns(&mut stream)?;
        let found = match_fields(&schema.children, targets.iter().map(|t| t.name))?;
        let plan = |((child, field), t): ((usize, &Field), &TargetColumn)| {
            if let Some(of) = &t.variable {
                variable::check_type(field, of)
                    .map_err(|e| e.within(format_args!("column {:?}", t.name)))?;
                let conversion = Conversion::Variable(of.clone());
                return Ok(Source { child, conversion });
            }
            let plan = || {
                Plan::new(field, t.item, &t.lists)
                    .map_err(|e| e.within(format_args!("column {:?}", t.name)))
            };
            let item = match t.nulls.filter(|_| t.lists.is_empty()) {
                Some(NullRule::Item(item)) => item.clone(),
                Some(NullRule::Written { .. }) => alloc::zeroed(t.item.size)?,
                _ => {
                    let conversion = Conversion::Items(Box::new(plan()?), None);
                    return Ok(Source { child, conversion });
                }
            };
            let other: Vec<u8> = item.iter().map(|b| !b).collect();
            let converted = plan()?.with_null(&item);
            let nulls = SourceNulls {
                item,
                other: plan()?.with_null(&other),
                has_mask: matches!(t.nulls, Some(NullRule::Written { .. })),
            };
            let conversion = Conversion::Items(Box::new(converted), Some(Box::new(nulls)));
            Ok(Source { child, conversion })
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
        let empty = |source: &Source| match source.conversion {
            Conversion::Items(..) => Cells::of_items(&[]),
            Conversion::Variable(_) => Cells::Texts(Cow::Owned(Texts::new(u64::MAX))),
        };
        let mut out: Vec<Cells> = self.columns.iter().map(empty).collect();
        let mut nulls = vec![Vec::new(); self.columns.len()];
        let row = self
            .columns
            .iter()
            .fold(0usize, |n, source| n.saturating_add(source.size()));
        let max_rows = (PIECE_BYTES / row.max(1)).max(1);
        let mut rows = 0;
        let nbytes = |out: &[Cells]| out.iter().map(Cells::nbytes).sum::<u64>();
        while rows < max_rows && nbytes(&out) < PIECE_BYTES as u64 {
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
                if let Cells::Items(out) = out {
                    alloc::reserve(out.to_mut(), available.saturating_mul(source.size()))?;
                }
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
        out: &mut [Cells],
        nulls: &mut [Vec<bool>],
    ) -> Result<()> {
        let at = RowContext {
            rows: Rows::range(self.done, 0),
            per_row: 1,
            options: ExportOptions::default(),
        };
        for ((source, out), nulls) in self.columns.iter().zip(out).zip(nulls) {
            let child = source.child;
            let field =
                self.schema.children.get(child).ok_or_else(|| {
                    fail!(State, "Arrow stream: the schema has no column {child}")
                })?;
            let values = array.view().child(child)?;
            let add = |plan: &Plan, out: &mut Vec<u8>| {
                let rows = ValueIndices::Range(rows.clone());
                pack(plan, field, values, rows, at, out)
            };
            let packed = match (&source.conversion, out) {
                (Conversion::Items(plan, null), Cells::Items(out)) => {
                    let out = out.to_mut();
                    let before = out.len();
                    add(plan, out).and_then(|()| match null {
                        Some(of) => self.find_nulls(of, before, out, nulls, add),
                        None => Ok(()),
                    })
                }
                (Conversion::Variable(of), Cells::Texts(out)) => {
                    variable::push_rows(of, field, values, rows.clone(), at, out.to_mut())
                }
                _ => Err(fail!(State, "Arrow stream: a column changes its type")),
            };
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

impl Source {
    /// Returns the least number of bytes of a row.
    fn size(&self) -> usize {
        match &self.conversion {
            Conversion::Items(plan, _) => plan.size(),
            Conversion::Variable(_) => 1,
        }
    }
}

/// Returns the schema of a stream, which is a struct of columns.
pub fn schema_of_columns(stream: &mut Stream) -> Result<Field> {
    let schema = stream.schema()?;
    if schema.format == Format::Struct && schema.dictionary.is_none() {
        return Ok(schema);
    }
    Err(fail!(
        Type,
        "Arrow stream: the schema has the type {} (expected a struct of columns)",
        schema.describe()
    ))
}

/// Returns the type of values of any length.
fn variable_type(array: &Array) -> Option<PackedType> {
    let store = array.store();
    match (&array.dtype().item.kind, store.packed()) {
        (_, Some(of)) => Some(of.clone()),
        (Kind::Text, None) => Some(PackedType::Text),
        _ if store.has_objects() => Some(PackedType::Bytes),
        _ => None,
    }
}

impl<A: From<Array> + AsMut<Array> + AsRef<Array>> Table<A> {
    /// Appends all rows of a stream. On error, no row is appended.
    pub fn append_arrow(&mut self, stream: Stream) -> Result<()> {
        let before = self.rows();
        self.check_writable()?;
        let columns = self.columns().iter();
        let arrays = columns.map(|c| (&c.name, c.array.as_ref(), &c.nulls));
        let targets: Vec<TargetColumn> = arrays
            .map(|(name, a, nulls)| TargetColumn {
                name,
                item: &a.dtype().item,
                lists: lists(a),
                nulls: nulls.as_ref(),
                variable: variable_type(a),
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
            self.append_cells(piece.rows, &piece.columns)?;
            for (column, nulls) in piece.nulls.iter().enumerate() {
                if !nulls.is_empty() {
                    self.set_nulls(column, first, nulls)?;
                }
            }
        }
        Ok(())
    }
}
