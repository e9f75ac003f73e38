//! `holdall trim`: removes rows of an array or a table.

use crate::cli::Trim;
use crate::content::Content;
use crate::detect;
use crate::failure;
use crate::failure::{Exit, Result, library};
use crate::options;
use crate::report::{self, plural};
use holdall::{Format, Kind};
use std::ops::Range;

fn remove(content: &mut Content, rows: Range<u64>) -> holdall::Result<()> {
    match content {
        Content::Table(table) => table.remove(rows.start, rows.end - rows.start),
        Content::Array(array) => array.remove(0, rows),
        _ => Ok(()),
    }
}

/// The rows that are removed, of `all` rows.
fn removed(args: &Trim, all: u64) -> Result<Range<u64>> {
    let path = &args.path;
    if let Some(slice) = args.remove {
        let beyond = |end: Option<i64>| end.is_some_and(|end| end.unsigned_abs() > all);
        if beyond(slice.start) || beyond(slice.stop) {
            let suffix = plural(all);
            return Err(failure!("{path}: it has {all} row{suffix}, which --remove exceeds"));
        }
        let span = slice.resolve(all);
        return Ok(span.start..span.start + span.count);
    }
    let (rows, negative) = args.rows.map_or((0, false), |n| (n.unsigned_abs(), n < 0));
    if rows > all {
        let suffix = plural(all);
        return Err(failure!("{path}: it has {all} row{suffix}, and not {rows}"));
    }
    Ok(if negative { all - rows } else { rows }..all)
}

pub fn run(args: &Trim) -> Result<Exit> {
    let path = &args.path;
    match detect::identify(path, None) {
        Ok((Format::Bloscpack, Kind::Schunk)) => {
            return Err(failure!("{path}: a superchunk that is no array has no rows"));
        }
        Ok((Format::Bagz, _)) => {
            return Err(failure!(
                "{path}: trim is for arrays and tables, and this is a bag (convert --slice :N copies its first N records to another bag)"
            ));
        }
        _ => {}
    }
    let mut content = Content::open_for_writing(path, &options::changing(&args.changing))?;
    if content.array().is_some_and(|array| array.shape().is_empty()) {
        return Err(failure!("{path}: an array without dimensions has no rows"));
    }
    let all = content.len();
    let rows = removed(args, all)?;
    let gone = rows.end - rows.start;
    if gone > 0 {
        remove(&mut content, rows).map_err(library(path))?;
        content.commit(path)?;
    }
    let (suffix, now) = (plural(gone), all - gone);
    report::note(&format!("{path}: {gone} row{suffix} gone, now {now}"));
    Ok(Exit::Done)
}
