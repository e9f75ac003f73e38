//! `holdall cat`: the content of any container.

use crate::cli::Cat;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::{array, bag, superchunk};

pub fn run(args: &Cat, usage: &Usage) -> Result<Exit> {
    let container = detect::container(&args.path, args.frame.at);
    // a missing path is reported before options that do not apply
    if !detect::is_missing(&args.path) {
        usage.fit(container.name())?;
        if container == Container::Bag {
            array::cat::plain_slice(args, "a bag")?;
        }
    }
    match container {
        Container::Bag => bag::cat::run(args, usage),
        Container::Superchunk => {
            array::cat::refuse_terminal(args, false)?;
            superchunk::cat::run(args)
        }
        Container::Dataset => array::cat::run(args),
    }
}
