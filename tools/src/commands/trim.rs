//! `holdall trim`: an array or a table retains its first rows.

use crate::array::dataset::{Content, Dataset};
use crate::cli::Trim;
use crate::detect;
use crate::failure;
use crate::failure::{Exit, Result, library};
use crate::options;
use crate::report::{self, plural};
use holdall::{Format, Kind, Options};

fn cut(content: &mut Content, from: u64, to: u64) -> holdall::Result<()> {
    match content {
        Content::Table(table) => {
            table.truncate(to)?;
            table.commit()
        }
        Content::Array(array) => {
            array.remove(0, to..from)?;
            array.commit()
        }
    }
}

pub fn run(args: &Trim) -> Result<Exit> {
    let path = &args.path;
    let options = options::given(Options::new(), args.threads, Options::threads);
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
    let mut dataset = Dataset::open_for_writing(path, &options::sync(options, &args.sync))?;
    if dataset.array().is_some_and(|array| array.shape().is_empty()) {
        return Err(failure!("{path}: an array without dimensions has no rows"));
    }
    let (from, rows) = (dataset.rows(), args.rows.unsigned_abs());
    if rows > from {
        let suffix = plural(from);
        return Err(failure!("{path}: it has {from} row{suffix}, and not {rows}"));
    }
    let to = if args.rows < 0 { from - rows } else { rows };
    if to < from {
        cut(&mut dataset.content, from, to).map_err(library(path))?;
    }
    let (gone, suffix) = (from - to, plural(from - to));
    report::note(&format!("{path}: {gone} row{suffix} gone, now {to}"));
    Ok(Exit::Done)
}
