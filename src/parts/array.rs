//! Parts of arrays: frames with the items of a box, or with rows to append. Rows of a dataset are in a
//! dataset of the same format.
//!
//! Where the array is a frame as well, with chunks that begin at the same items, the chunks are
//! copied as they are stored. So are complete chunks of a dataset.
#![forbid(unsafe_code)]

use super::files::Parts;
use super::token::Token;
use super::{Attempt, Commit, check_items, ends_with, of_part};
use crate::alloc;
use crate::array::Array;
use crate::dataset::{like, open};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::options::Options;
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;

/// Creates a part: a box of this array, or one without rows.
pub fn create(
    path: &OsStr,
    of_box: Option<[&[u64]; 2]>,
    part: &OsStr,
    options: &Options,
) -> Result<()> {
    let array = open::open(path, Mode::Read, &Options::new())?;
    let mut new = match of_box {
        Some([start, shape]) => {
            check_box(&array, start, shape)?;
            array.create_like(part, shape, options)
        }
        None => {
            let shape = without_rows(&array)?;
            let dataset = like::create(&array, part, options)?;
            dataset.map_or_else(|| array.create_like(part, &shape, options), Ok)
        }
    }?;
    new.commit()
}

/// Returns the shape of an array like this one that has no rows.
fn without_rows(array: &Array) -> Result<Vec<u64>> {
    let mut shape = array.shape().to_vec();
    match (array.slowest(), shape.first_mut()) {
        (Some(0), Some(rows)) => *rows = 0,
        _ => {
            return Err(fail!(
                Unsupported,
                "{}: rows can be appended in parts only along the first dimension of arrays in C order; write boxes",
                array.store().name()
            ));
        }
    }
    Ok(shape)
}

fn check_box(array: &Array, start: &[u64], shape: &[u64]) -> Result<()> {
    let name = array.store().name();
    let ndim = array.shape().len();
    if start.len() != ndim || shape.len() != ndim {
        return Err(fail!(
            Argument,
            "{name}: a box of {} and {} dimensions (expected {ndim})",
            start.len(),
            shape.len()
        ));
    }
    for (d, ((at, n), len)) in start.iter().zip(shape).zip(array.shape()).enumerate() {
        if at.checked_add(*n).is_none_or(|end| end > *len) {
            return Err(fail!(
                Range,
                "{name}: dimension {d}: {n} indices from {at} on: there are {len}"
            ));
        }
    }
    Ok(())
}

/// Returns the number of rows of a part, whose shape must be that of its box.
pub fn finished(part: &OsStr, of_box: Option<&[u64]>) -> Result<u64> {
    let array = open::open(part, Mode::Read, &Options::new())?;
    if let Some(shape) = of_box
        && array.shape() != shape
    {
        return Err(fail!(
            State,
            "{}: the shape of the box was changed (expected {shape:?}, found {:?})",
            array.store().name(),
            array.shape()
        ));
    }
    Ok(array.shape().first().copied().unwrap_or(1))
}

/// Writes boxes of all parts, or appends their rows, with one commit.
pub fn commit(path: &OsStr, parts: &Parts, tokens: &[Token], options: &Options) -> Result<()> {
    let array = open::open(path, Mode::Append, options)?;
    commit_to(array, parts, tokens, &|token| {
        open::open(&parts.path_of(token.id), Mode::Read, &Options::new())
    })
}

/// Commits parts to an array that is open for writing.
pub(super) fn commit_to(
    mut array: Array,
    parts: &Parts,
    tokens: &[Token],
    open: &dyn Fn(&Token) -> Result<Array>,
) -> Result<()> {
    let appends = tokens.iter().all(|token| token.start.is_none());
    let rows = |array: &Array| array.shape().first().copied().unwrap_or(0);
    let before = rows(&array);
    // boxes may be written again
    let length = appends.then_some(before);
    let is_there = || {
        ends_with(before, tokens, &|token, last| {
            Ok(row(&array, last)? == row(&open(token)?, token.items - 1)?)
        })
    };
    let (commit, attempt) = Commit::open(parts, tokens, length, &is_there)?;
    if attempt != Attempt::Committed {
        for token in tokens {
            let opened = parts.check(token.id).and_then(|()| open(token));
            let put = opened.and_then(|part| put(&mut array, &part, token));
            put.map_err(|e| of_part(parts, token, e))?;
        }
        commit.begin(before, rows(&array))?;
        array.commit()?;
    }
    commit.end()
}

/// Returns the items of a row.
pub(super) fn row(array: &Array, at: u64) -> Result<Vec<u8>> {
    let mut start = vec![0; array.shape().len()];
    let mut count = array.shape().to_vec();
    start.iter_mut().take(1).for_each(|start| *start = at);
    count.iter_mut().take(1).for_each(|count| *count = 1);
    let item = array.itemsize() as u64;
    let bytes = count.iter().fold(item, |n, d| n.saturating_mul(*d));
    let mut items = alloc::zeroed(alloc::allow(bytes, array.memory_limit(), "a row")?)?;
    array.read(&start, &count, None, &mut items, None)?;
    Ok(items)
}

/// Writes the items of a part to its box, or appends them.
fn put(array: &mut Array, part: &Array, token: &Token) -> Result<()> {
    if part.dtype().item != array.dtype().item {
        return Err(fail!(
            Type,
            "{}: items of another dtype (expected {}, found {})",
            part.store().name(),
            array.dtype_text(),
            part.dtype_text()
        ));
    }
    check_items(token, part.shape().first().copied().unwrap_or(1))?;
    match &token.start {
        Some(start) => {
            check_box(array, start, part.shape())?;
            array.paste(part, start)
        }
        None => {
            without_rows(array)?;
            append_rows(array, part)
        }
    }
}

/// Appends the rows of a part. In a frame, only chunks that exist can be replaced.
fn append_rows(array: &mut Array, part: &Array) -> Result<()> {
    if !matches!(array.format(), Format::B2nd | Format::Caterva) {
        let limit = array.memory_limit();
        return like::append_rows(part, array, limit);
    }
    let mut start = vec![0; array.shape().len()];
    let mut shape = array.shape().to_vec();
    let rows = part.shape().first().copied().unwrap_or(0);
    if let (Some(start), Some(all)) = (start.first_mut(), shape.first_mut()) {
        *start = *all;
        let more = all.checked_add(rows);
        *all = more.ok_or_else(|| fail!(Argument, "more than 2^64 rows"))?;
    }
    if shape.get(1..) != part.shape().get(1..) {
        return Err(fail!(
            Type,
            "{}: rows of another shape (expected {:?}, found {:?})",
            part.store().name(),
            array.shape(),
            part.shape()
        ));
    }
    array.resize(&shape)?;
    array.paste(part, &start)
}
