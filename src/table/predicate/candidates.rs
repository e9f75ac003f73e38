//! The rows for which a predicate can be true, by the zones of the columns.
#![forbid(unsafe_code)]

use super::bind::{Bound, BoundTest};
use crate::array::Array;
use crate::table::Table;
use crate::table::zones::Possible;
use std::ops::Range;

impl Bound {
    /// Returns the ranges of `rows` for which the predicate can be true, in ascending order. Zones that
    /// cannot be read are not used: the rows are tested.
    pub fn candidates<A: AsRef<Array>>(
        &self,
        table: &Table<A>,
        rows: &Range<u64>,
    ) -> Vec<Range<u64>> {
        self.possible(table, rows).yes
    }

    fn possible<A: AsRef<Array>>(&self, table: &Table<A>, rows: &Range<u64>) -> Possible {
        let unknown = || Possible::unknown(rows);
        match self {
            Bound::Not(inner) => inner.possible(table, rows).negated(),
            Bound::And(all) => all
                .iter()
                .map(|one| one.possible(table, rows))
                .reduce(|all, next| all.and(&next))
                .unwrap_or_else(unknown),
            Bound::Or(all) => all
                .iter()
                .map(|one| one.possible(table, rows).negated())
                .reduce(|all, next| all.and(&next))
                .map_or_else(unknown, Possible::negated),
            Bound::Column { index, test } => {
                let BoundTest::Keys(keys, ranges) = test else {
                    return unknown();
                };
                match table
                    .zones(*index)
                    .filter(|zones| zones.keys.orders_as(keys))
                {
                    Some(zones) => zones.test(rows, ranges),
                    None => unknown(),
                }
            }
        }
    }
}
