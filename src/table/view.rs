//! Read-only views of some rows and columns of a table.
#![forbid(unsafe_code)]

use super::{Column, Table};
use crate::array::Array;
use crate::error::{Result, fail};

impl<A: AsRef<Array>> Table<A> {
    /// Returns a view of `count` rows from `start` on, `step` apart, and of some columns, in any
    /// order; `None`: of all. The view is read-only and shares the files of the table. It has the
    /// attributes of the table.
    pub fn slice(
        &self,
        start: u64,
        count: u64,
        step: i64,
        columns: Option<&[usize]>,
    ) -> Result<Table> {
        let view = |column: &Column<A>| {
            let array = column.array.as_ref();
            let row = array.shape().get(1..).unwrap_or_default();
            let zeros = vec![0; row.len()];
            let steps = [&[step], vec![1; row.len()].as_slice()].concat();
            let starts = [&[start], zeros.as_slice()].concat();
            let array = array.slice(&starts, &[&[count], row].concat(), Some(&steps))?;
            Ok(Column {
                name: column.name.clone(),
                array,
                stored_rows: count,
                nulls: match &column.nulls {
                    Some(rule) => Some(rule.slice(start, count, step)?),
                    None => None,
                },
                folder: column.folder.clone(),
            })
        };
        if self.columns.is_empty() && count > 0 {
            return Err(fail!(
                Range,
                "{}: it has no columns, and no rows",
                self.name
            ));
        }
        let columns = match columns {
            None => self.columns.iter().map(view).collect::<Result<_>>()?,
            Some(columns) => self.distinct(columns)?.map(view).collect::<Result<_>>()?,
        };
        Ok(Table {
            name: self.name.clone(),
            rows: count,
            columns,
            attrs: self.attrs.clone(),
            writer: None,
            format: self.format,
            zones: None,
        })
    }

    /// Returns columns by index, each of which must exist and occur once.
    fn distinct(&self, columns: &[usize]) -> Result<impl Iterator<Item = &Column<A>>> {
        if columns.is_empty() {
            return Err(fail!(Argument, "columns: a slice has one column or more"));
        }
        for (i, index) in columns.iter().enumerate() {
            let Some(column) = self.columns.get(*index) else {
                return Err(fail!(
                    Range,
                    "column {index}: there are {}",
                    self.columns.len()
                ));
            };
            if columns.iter().take(i).any(|other| other == index) {
                return Err(fail!(Argument, "columns: {:?} occurs twice", column.name));
            }
        }
        Ok(columns.iter().filter_map(|index| self.columns.get(*index)))
    }
}
