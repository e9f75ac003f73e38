//! Indexes of tables: the extrema of blocks, by which conditions exclude rows.
#![forbid(unsafe_code)]

use super::Table;
use super::write::Writer;
use crate::array::Array;
use crate::error::{Result, fail};

impl<A: From<Array> + AsRef<Array> + AsMut<Array>> Table<A> {
    /// Adds indexes to columns, which the commit stores and further ones maintain; `None`: to all whose
    /// values have an order. Columns that have one retain it.
    pub fn build_index(&mut self, columns: Option<&[usize]>) -> Result<()> {
        self.writer()?;
        let (name, all) = (&self.name, self.columns.len());
        let Some(Writer::CTable(writer)) = &mut self.writer else {
            return Err(fail!(
                Unsupported,
                "{name}: only a CTable stores indexes of its columns; copy the table to one"
            ));
        };
        let every: Vec<usize> = (0..all).collect();
        for index in columns.unwrap_or(&every) {
            let Some(column) = self.columns.get_mut(*index) else {
                return Err(fail!(Range, "column {index}: there are {all}"));
            };
            let array = column.array.as_mut();
            let built = writer
                .build_index(&column.name, array, column.nulls.as_ref())
                .map_err(|e| e.within(format_args!("{name}: column {:?}", column.name)))?;
            if !built && columns.is_some() {
                return Err(fail!(
                    Unsupported,
                    "{name}: column {:?} has no index: its values are no Booleans, integers, floats or times, one for each row",
                    column.name
                ));
            }
        }
        Ok(())
    }
}
