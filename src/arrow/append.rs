//! A stream of others as rows of a table: which of its columns becomes which, and its batches cut
//! to pieces that suit both.
#![forbid(unsafe_code)]

use super::export::{At, Rules};
use super::ffi::{ArrowArray, Stream};
use super::format::{Field, Format};
use super::import::{Plan, Slots, first_null, matched, pack};
use super::stream::lists;
use crate::alloc;
use crate::array::Array;
use crate::array::dtype::Type;
use crate::error::{Result, fail};
use crate::table::Table;

/// Bytes that are given to a table at once, about.
const PIECE: usize = 16 << 20;
/// Rows that are turned at once.
const ROWS: usize = 1 << 16;

/// A column that takes values.
pub struct Target<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its items.
    pub item: &'a Type,
    /// The lengths of the lists that its rows are.
    pub lists: Vec<usize>,
}

/// The rows of a stream.
pub struct Rows {
    stream: Stream,
    schema: Field,
    columns: Vec<(usize, Plan)>,
    /// What is left of a batch.
    batch: Option<(ArrowArray, usize)>,
    done: u64,
}

impl Rows {
    /// Of a stream that has just these columns, in any order.
    pub fn new(mut stream: Stream, targets: &[Target]) -> Result<Rows> {
        let schema = stream.schema()?;
        if schema.format != Format::Struct || schema.dictionary.is_some() {
            return Err(fail!(
                Type,
                "the stream has values of the type {}, batches of columns were expected",
                schema.words()
            ));
        }
        let found = matched(&schema.children, targets.iter().map(|t| t.name))?;
        let plan = |((child, field), t): ((usize, &Field), &Target)| {
            let plan = Plan::new(field, t.item, &t.lists)
                .map_err(|e| e.within(format_args!("column {:?}", t.name)))?;
            Ok((child, plan))
        };
        let columns = found
            .into_iter()
            .zip(targets)
            .map(plan)
            .collect::<Result<_>>()?;
        Ok(Rows {
            stream,
            schema,
            columns,
            batch: None,
            done: 0,
        })
    }

    /// The next rows: how many, and the bytes of each column. Nothing at the end.
    pub fn next_piece(&mut self) -> Result<Option<(u64, Vec<Vec<u8>>)>> {
        let mut out = vec![Vec::new(); self.columns.len()];
        let row = self
            .columns
            .iter()
            .fold(0usize, |n, (_, plan)| n.saturating_add(plan.size()));
        let most = (PIECE / row.max(1)).max(1);
        let mut rows = 0;
        while rows < most {
            let Some((array, from)) = self.batch.take() else {
                match self.stream.next_batch()? {
                    Some(array) => self.batch = Some((array, 0)),
                    None => break,
                }
                continue;
            };
            let (offset, len, _) = array.view().check(&self.schema)?;
            let now = (len - from).min(most - rows);
            for ((_, plan), out) in self.columns.iter().zip(&mut out) {
                alloc::reserve(out, now.saturating_mul(plan.size()))?;
            }
            let n = now.min(ROWS);
            if let Some(null) = first_null(array.view(), &self.schema, from..from + n)? {
                let row = self.done + (null - from) as u64;
                return Err(fail!(Type, "row {row} is null as a whole").at(row));
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
        let at = At {
            first: self.done,
            per_row: 1,
            rules: Rules::default(),
        };
        for ((child, plan), out) in self.columns.iter().zip(out) {
            let field = self
                .schema
                .children
                .get(*child)
                .ok_or_else(|| fail!(State, "a column of another stream"))?;
            let packed = array
                .view()
                .child(*child)
                .and_then(|values| pack(plan, field, values, Slots::Run(rows.clone()), at, out));
            packed.map_err(|e| e.within(format_args!("column {:?}", field.name)))?;
        }
        Ok(())
    }
}

impl<A: From<Array> + AsMut<Array> + AsRef<Array>> Table<A> {
    /// Puts all rows of a stream behind the last. On failure nothing was appended.
    pub fn append_arrow(&mut self, stream: Stream) -> Result<()> {
        let before = self.rows();
        // refuses a table that is read
        self.truncate(before)?;
        let arrays = self.columns().iter().map(|c| (&c.name, c.array.as_ref()));
        let targets: Vec<Target> = arrays
            .map(|(name, a)| Target {
                name,
                item: &a.dtype().item,
                lists: lists(a),
            })
            .collect();
        let rows = Rows::new(stream, &targets).map_err(|e| e.within(self.name()))?;
        match self.append_all(rows) {
            Ok(()) => Ok(()),
            Err(e) => {
                self.truncate(before)?;
                Err(e)
            }
        }
    }

    fn append_all(&mut self, mut rows: Rows) -> Result<()> {
        while let Some((n, columns)) = rows.next_piece()? {
            self.append(n, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}
