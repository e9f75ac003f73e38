//! `holdall unpack`: the content of a superchunk, or of an array in a Bloscpack file, becomes a
//! file again.

use crate::cli::{self, Unpack};
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::superchunk::source::Source;
use crate::superchunk::unpack::unpack;
use crate::{failure, options, output};
use holdall::{Format, Kind};

/// Refuses containers whose content is not stored as one sequence of bytes.
fn check(input: &FileName) -> Result {
    let what = match detect::identify(input, None) {
        Ok((Format::Bagz, _)) => "a bag has records: convert, or cat, writes them",
        Ok((Format::Bloscpack, _)) => return Ok(()),
        Ok((_, Kind::Store)) => return Err(detect::refuse_store(input)),
        Ok((format, _)) if detect::is_frame(format) => match detect::container(input, None) {
            Container::Dataset => {
                "the order of the content of its chunks is not that of the items; convert --to raw, or cat, gives the items of the array"
            }
            _ => return Ok(()),
        },
        Ok(_) => {
            "unpack is for superchunks, and this is an array or a table in a folder: convert, or cat, writes its items"
        }
        Err(_) => return Ok(()),
    };
    Err(failure!("{input}: {what}"))
}

pub fn run(args: &Unpack) -> Result<Exit> {
    let (input, out) = cli::one_operand(&args.paths, &args.output)?;
    check(input)?;
    output::refuse_terminal(Some(out), "bytes")?;
    let options = options::reading(&args.reading);
    let (source, mut damage) = Source::open(input, &options, args.skip_damaged)?;
    unpack("unpack", &source, &mut damage, out, args.output.force)
}
