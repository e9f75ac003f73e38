//! `holdall pack`: into a superchunk or an array, or into a bag.

use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::cli::{Pack, one_operand, operands};
use crate::failure::{Exit, Result};
use crate::{bag, superchunk};

pub fn run(args: &Pack, usage: &Usage) -> Result<Exit> {
    let (inputs, out) = operands(&args.paths, &args.output)?;
    let is_named_superchunk = out.ends_with(".blp") || out.ends_with(".blpk");
    match args.to {
        Some(DataFormat::Blpk) => {}
        None if is_named_superchunk => {}
        _ => {
            usage.fit("bag")?;
            usage.refuse(&["filters"], "superchunks and arrays")?;
            return bag::pack::run(args, inputs, out);
        }
    }
    usage.fit("superchunk")?;
    let (input, out) = one_operand(&args.paths, &args.output)?;
    superchunk::pack::run(args, usage, input, out)
}
