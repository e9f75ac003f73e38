//! `holdall convert` of a superchunk that is no array.
//!
//! The copy appears at its end: a failure before, or a signal, leaves OUT unchanged.

use super::source::Source;
use super::unpack::unpack;
use crate::array::convert::{converting, copied, format_of};
use crate::cli::Convert;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::{failure, options, standard};
use holdall::{Format, Schunk};

pub fn run(args: &Convert, input: &FileName, out: &FileName, to: DataFormat) -> Result<Exit> {
    let reading = options::frame(options::reading(&args.reading), &args.frame);
    let (source, mut damage) = Source::open(input, &reading, args.skip_damaged)?;
    let force = args.output.force;
    match format_of(to) {
        Some(format @ (Format::Bloscpack | Format::B2Frame)) => {
            let options = options::converting(args)?;
            converting(out, source.schunk.len(), &mut damage, |damage| {
                let copy = if force { Schunk::copy_replacing } else { Schunk::copy_to };
                copied(
                    copy(&source.schunk, standard::output(out), format, &options),
                    out,
                    force,
                    damage,
                )
            })
        }
        None if to == DataFormat::Raw => unpack("convert", &source, &mut damage, out, force),
        _ => Err(failure!("{input}: a superchunk that is no array has no rows")),
    }
}
