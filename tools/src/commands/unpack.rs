//! `holdall unpack`: the content of a superchunk becomes a file again.

use crate::cli::{self, Unpack};
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::{failure, files, superchunk, usage};

pub fn run(args: &Unpack) -> Result<Exit> {
    let (input, out) = cli::one_operand(&args.paths, &args.output)?;
    if files::is_standard(input) {
        return Err(usage!("a superchunk is not read from front to back: not from '-'"));
    }
    let is_frame = || detect::format(input, None).is_some_and(detect::is_frame);
    if detect::container(input, None) == Container::Dataset && is_frame() {
        return Err(failure!(
            "{input}: the order of the content of its chunks is not that of the items; convert --to raw, or cat, gives the items of the array"
        ));
    }
    superchunk::unpack::run(args, input, out)
}
