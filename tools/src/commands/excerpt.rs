//! `holdall head`, `tail` and `sample`: `cat` with a selection.

use super::cat;
use super::content::Content;
use crate::cli::excerpts::{Excerpt, Sample};
use crate::cli::groups::Numbers;
use crate::cli::slice::{Pick, Picks, Rows, Slice};
use crate::cli::usage::Usage;
use crate::failure;
use crate::failure::{Exit, Result};
use holdall::Epoch;

fn with_slice(args: &Excerpt, usage: &Usage, slice: Slice) -> Result<Exit> {
    let mut cat = args.cat();
    cat.select.slice = Some(Picks(vec![Pick::Range(slice)]));
    cat::run(&cat, usage)
}

pub fn head(args: &Excerpt, usage: &Usage) -> Result<Exit> {
    let stop = Some(args.n as i64);
    with_slice(args, usage, Slice { stop, ..Slice::default() })
}

pub fn tail(args: &Excerpt, usage: &Usage) -> Result<Exit> {
    let n = args.n as i64;
    // -0 would be the first one
    let (start, stop) = if n == 0 { (None, Some(0)) } else { (Some(-n), None) };
    with_slice(args, usage, Slice { start, stop, step: None })
}

/// Chooses records or rows without replacement. They are printed in rising order.
pub fn sample(args: &Sample, usage: &Usage) -> Result<Exit> {
    let (excerpt, path) = (&args.excerpt, &args.excerpt.print.path);
    let content = Content::open(path, usage, &excerpt.print.source)?;
    let n = usize::try_from(excerpt.n).unwrap_or(usize::MAX);
    let mut numbers: Vec<i64> =
        Epoch::new(content.len(), args.seed, 0).take(n).map(|number| number as i64).collect();
    numbers.sort_unstable();
    let mut cat = excerpt.cat();
    match content {
        Content::Schunk(_) => {
            return Err(failure!("{path}: a superchunk that is no array has no records or rows"));
        }
        Content::Bag(_) => cat.select.records = Some(Numbers(numbers)),
        _ => cat.select.rows = Some(Rows::List(numbers)),
    }
    drop(content);
    cat::run(&cat, usage)
}
