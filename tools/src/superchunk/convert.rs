//! `holdall convert` of a superchunk that is no array.
//!
//! The copy appears at its end: a failure before, or a signal, leaves OUT unchanged.

use super::source::{Damage, Source};
use crate::array::convert::format_of;
use crate::cli::Convert;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Result, creation};
use crate::report::{self, plural};
use crate::{failure, options, output, progress, signals};
use holdall::{Format, Integrity};

/// Copies a superchunk to a Bloscpack file or a frame.
fn copy(
    source: &Source,
    damage: &mut Damage,
    args: &Convert,
    out: &str,
    format: Format,
) -> Result<Exit> {
    let (options, force) = (options::converting(args)?, args.output.force);
    progress::begin("convert");
    let copied = match force {
        true => source.schunk.copy_replacing(out, format, &options),
        false => source.schunk.copy_to(out, format, &options),
    };
    progress::end();
    if copied.map_err(creation(out, force))? == Integrity::Filled {
        damage.report("in the copy");
    }
    Ok(Exit::damaged(damage.found))
}

/// Writes the content to a file.
fn to_file(source: &Source, damage: &mut Damage, args: &Convert, out: &str) -> Result<Exit> {
    output::printed(Some(out), args.output.force, |output| {
        source.stream(0..source.schunk.len(), damage, |bytes| output.bytes(bytes))?;
        Ok(Exit::damaged(damage.found))
    })
}

pub fn run(args: &Convert, input: &str, out: &str, to: DataFormat) -> Result<Exit> {
    let reading = options::frame(options::reading(&args.reading), &args.frame);
    let (source, mut damage) = Source::open(input, &reading, args.skip_damaged)?;
    signals::catch();
    let code = match (format_of(to), to) {
        (Some(format @ (Format::Bloscpack | Format::B2Frame)), _) => {
            copy(&source, &mut damage, args, out, format)?
        }
        (_, DataFormat::Raw) => to_file(&source, &mut damage, args, out)?,
        _ => {
            return Err(failure!("{input}: a superchunk that is no array has no rows"));
        }
    };
    let n = source.schunk.len();
    report::note(&format!("{out}: {n} byte{} converted", plural(n)));
    Ok(code)
}
