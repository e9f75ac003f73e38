//! `holdall head`, `tail` and `sample`: `cat` with a selection.

use super::cat;
use crate::cli::excerpts::{Excerpt, Sample};
use crate::cli::groups::Numbers;
use crate::cli::slice::{Picks, Rows, Slice};
use crate::cli::usage::Usage;
use crate::content::Content;
use crate::failure::{Exit, Result};
use holdall::Epoch;

fn with_slice(args: &Excerpt, usage: &Usage, slice: Slice) -> Result<Exit> {
    let mut cat = args.cat();
    cat.select.slice = Some(Picks::of(slice));
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

/// Chooses records, rows or items without replacement. They are printed in rising order.
pub fn sample(args: &Sample, usage: &Usage) -> Result<Exit> {
    let (excerpt, path) = (&args.excerpt, &args.excerpt.print.path);
    let content = Content::open(path, usage, &excerpt.print.source)?;
    let n = usize::try_from(excerpt.n).unwrap_or(usize::MAX);
    let chosen = Epoch::new(content.len(), args.seed, 0).take(n);
    let mut numbers: Vec<i64> = chosen.map(|number| number as i64).collect();
    numbers.sort_unstable();
    let mut cat = excerpt.cat();
    match content {
        // items of a superchunk, too
        Content::Bag(_) | Content::Schunk(_) => cat.select.records = Some(Numbers(numbers)),
        _ => cat.select.rows = Some(Rows::List(numbers)),
    }
    drop(content);
    cat::run(&cat, usage)
}
