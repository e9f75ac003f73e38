//! Division of the rows of a table at borders of the chunks of its columns.
#![forbid(unsafe_code)]

use super::Table;
use crate::array::Array;
use crate::array::splits::{Rows, chunk_of, closest_border};
use crate::error::Result;
use crate::splits::{Divisible, Split, Stride, divide};

impl<A: AsRef<Array>> Table<A> {
    /// Returns at most `n` ranges of rows, none empty, that contain each row once, in order.
    ///
    /// They begin at chunks of the column with the largest stored size, and of the other columns as
    /// far as there are `n` such rows. `bytes` is the sum of those of the columns, see
    /// [`Array::splits`].
    pub fn splits(&self, n: u64) -> Result<Vec<Split>> {
        divide(&TableRows::new(self, n)?, n)
    }
}

struct TableRows<'a> {
    columns: Vec<Rows<'a>>,
    count: u64,
    stride: Stride,
    /// Number of stored rows from one border to the next.
    unit: u64,
}

impl<'a> TableRows<'a> {
    fn new<A: AsRef<Array>>(table: &'a Table<A>, n: u64) -> Result<TableRows<'a>> {
        let columns = table
            .columns
            .iter()
            .map(|column| Rows::new(column.array.as_ref()));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        columns.sort_by_cached_key(|rows| std::cmp::Reverse(rows.bytes_before(rows.len()).ok()));
        let most = table.rows / n.max(1);
        let mut unit = columns.first().map_or(1, Rows::chunk_rows);
        for length in columns.iter().map(Rows::chunk_rows) {
            let common = (unit / greatest_divisor(unit, length)).checked_mul(length);
            unit = common.filter(|common| *common <= most).unwrap_or(unit);
        }
        Ok(TableRows {
            count: table.rows,
            stride: columns
                .first()
                .map_or(Stride { start: 0, step: 1 }, Rows::stride),
            columns,
            unit,
        })
    }
}

/// Returns the greatest common divisor of two numbers of which none is 0.
fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Divisible for TableRows<'_> {
    fn len(&self) -> u64 {
        self.count
    }

    fn parts(&self) -> u64 {
        let stored = self.columns.first().map_or(0, Rows::stored_rows);
        stored.div_ceil(self.unit)
    }

    fn bytes_before(&self, i: u64) -> Result<u64> {
        let sizes = self.columns.iter().map(|rows| rows.bytes_before(i));
        sizes.sum()
    }

    fn border(&self, i: u64, _: u64) -> Result<u64> {
        let at = self.stride.position(i.min(self.count - 1));
        let chunk = chunk_of(at, self.unit);
        Ok(closest_border(i, self.count, self.stride, &chunk))
    }
}
