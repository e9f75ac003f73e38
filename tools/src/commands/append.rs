//! `holdall append`: content for a superchunk, rows for an array or a table.

use crate::cli::Append;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::{options, rows, superchunk, usage};
use holdall::{Format, Kind, Options, Status};

/// Returns whether the operands are swapped: the first one is no superchunk, and the second one is.
fn are_swapped(args: &Append) -> bool {
    let is_other = match holdall::identify(&args.path) {
        Ok((format, _)) => format == Format::Bagz,
        Err(error) => error.status() == Status::Format,
    };
    is_other && detect::container(&args.input, None) == Container::Superchunk
}

pub fn run(args: &Append) -> Result<Exit> {
    options::codecs(Options::new(), &args.encoding)?;
    if let Ok((_, Kind::Table)) = holdall::identify(&args.path) {
        superchunk::append::check_rows(args)?;
        return rows::append::run(args);
    }
    if are_swapped(args) {
        let (path, input) = (&args.path, &args.input);
        return Err(usage!("'{path}' is no superchunk, '{input}' is one: what grows comes first"));
    }
    superchunk::append::run(args)
}
