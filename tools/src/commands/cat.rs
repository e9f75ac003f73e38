//! `holdall cat`: the content of any container.

use super::convert::by_name;
use crate::cli::Cat;
use crate::cli::slice::Picks;
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::rows::compression;
use crate::{array, bag, files, superchunk, usage};

/// What the ending of the output says.
fn format_of(out: &FileName) -> Result<Option<DataFormat>> {
    let (plain, compression) = compression::split(out);
    let format = match by_name(&plain) {
        Some(DataFormat::Csv) => DataFormat::Csv,
        Some(DataFormat::Jsonl) => DataFormat::Jsonl,
        Some(DataFormat::Npy) => DataFormat::Npy,
        Some(DataFormat::ArrowStream) => DataFormat::Arrow,
        None | Some(DataFormat::Raw) if compression.is_none() => return Ok(None),
        _ => {
            return Err(usage!(
                "'{out}' is a name of a format that convert writes (--to says what cat writes)"
            ));
        }
    };
    match compression {
        None => Ok(Some(format)),
        Some(_) => Err(usage!("cat does not compress '{out}': convert does")),
    }
}

pub fn run(args: &Cat, usage: &Usage) -> Result<Exit> {
    if let Some(out) = args.print.output.output.as_ref() {
        files::refuse_same(&args.print.path, out)?;
    }
    let container = detect::container(&args.print.path, args.print.source.frame.at);
    // a missing path is reported before options that do not apply
    if !detect::is_missing(&args.print.path) {
        usage.fit(container.name())?;
        match (container, args.print.to) {
            (Container::Bag, None | Some(DataFormat::Lines)) => {}
            (Container::Bag, Some(_)) => return Err(usage!("--to takes lines for bags")),
            (_, Some(DataFormat::Lines)) => {
                return Err(usage!("--to lines is for bags, and this is a {}", container.name()));
            }
            _ => {}
        }
        if container == Container::Bag {
            Picks::plain(args.select.slice.as_ref(), "a bag")?;
        }
    }
    let mut args = args.clone();
    if let (Some(out), None) = (&args.print.output.output, args.print.to)
        && container != Container::Bag
    {
        args.print.to = format_of(out)?;
    }
    match container {
        Container::Bag => bag::cat::run(&args, usage),
        Container::Superchunk => {
            array::cat::refuse_terminal(&args, false)?;
            superchunk::cat::run(&args)
        }
        Container::Dataset => array::cat::run(&args),
        Container::Store => Err(detect::refuse_store(&args.print.path)),
    }
}
