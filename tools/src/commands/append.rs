//! `holdall append`: content for a superchunk, rows for an array or a table.

use crate::cli::Append;
use crate::detect;
use crate::failure::{Exit, Result};
use crate::{failure, options, rows, superchunk, usage};
use holdall::{Format, Kind, Options, Status};

pub fn run(args: &Append) -> Result<Exit> {
    let (path, input) = (&args.path, &args.input);
    options::codecs(Options::new(), &args.encoding)?;
    let is_bag = match detect::identify(path, None) {
        Ok((_, Kind::Table)) => {
            superchunk::append::check_rows(args)?;
            return rows::append::run(args);
        }
        Ok((format, _)) => format == Format::Bagz,
        Err(error) if error.status() == Status::Format => false,
        Err(_) => return superchunk::append::run(args),
    };
    let grows = |format| !matches!(format, None | Some(Format::Bagz));
    if !grows(detect::format(path, None)) && grows(detect::format(input, None)) {
        return Err(usage!("'{path}' is no superchunk, '{input}' is one: what grows comes first"));
    }
    if is_bag {
        return Err(failure!("{path}: a bag takes records: pack --append appends them"));
    }
    superchunk::append::run(args)
}
