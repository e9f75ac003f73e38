//! Parts of tables: tables with the same columns, whose rows are appended.
#![forbid(unsafe_code)]

use super::files::Parts;
use super::token::Token;
use super::{Attempt, Commit, array, check_items, ends_with, of_part};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::options::Options;
use crate::superchunk::bloscpack::Mode;
use crate::table::Table;
use std::ffi::OsStr;

/// Creates a part without rows.
pub fn create(path: &OsStr, part: &OsStr, options: &Options) -> Result<()> {
    let table = Table::open(path, Mode::Read, &Options::new())?;
    if table.format() == Format::CTable {
        return Err(fail!(
            Unsupported,
            "{}: a CTable is not written in parts",
            path.display()
        ));
    }
    table.create_like(part, options)?.commit()
}

/// Returns the number of rows of a part.
pub fn finished(part: &OsStr) -> Result<u64> {
    Table::open(part, Mode::Read, &Options::new()).map(|table| table.rows())
}

/// Appends the rows of all parts to a table with one commit.
pub fn commit(path: &OsStr, parts: &Parts, tokens: &[Token], options: &Options) -> Result<()> {
    let table = Table::open(path, Mode::Append, options)?;
    commit_to(table, parts, tokens, &|token| {
        Table::open(&parts.path_of(token.id), Mode::Read, &Options::new())
    })
}

/// Commits parts to a table that is open for writing.
pub(super) fn commit_to(
    mut table: Table,
    parts: &Parts,
    tokens: &[Token],
    open: &dyn Fn(&Token) -> Result<Table>,
) -> Result<()> {
    let open = |token: &Token| parts.check(token.id).and_then(|()| open(token));
    let before = table.rows();
    let is_there = || {
        ends_with(before, tokens, &|token, last| {
            is_last(&table, last, &open(token)?, token)
        })
    };
    let (commit, attempt) = Commit::open(parts, tokens, Some(before), &is_there)?;
    if attempt != Attempt::Committed {
        for token in tokens {
            let appended = open(token).and_then(|part| append(&mut table, &part, token));
            appended.map_err(|e| of_part(parts, token, e))?;
        }
        commit.begin(before, table.rows())?;
        table.commit()?;
    }
    commit.end()
}

fn append(table: &mut Table, part: &Table, token: &Token) -> Result<()> {
    check_items(token, part.rows())?;
    table.append_table(part)
}

/// Returns whether a row of a table is the last one of a part.
fn is_last(table: &Table, last: u64, part: &Table, token: &Token) -> Result<bool> {
    for (here, there) in table.columns().iter().zip(part.columns()) {
        if array::row(&here.array, last)? != array::row(&there.array, token.items - 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
