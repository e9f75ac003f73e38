//! `holdall info`: what a container is, and how it is stored.

use crate::cli::Info;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::{array, bag};

pub fn run(args: &Info, usage: &Usage) -> Result<Exit> {
    let container = detect::container(&args.path, args.source.frame.at);
    // a missing path is reported before options that do not apply
    if !detect::is_missing(&args.path) {
        usage.fit(container.name())?;
    }
    match container {
        Container::Bag => bag::info::run(args),
        _ => array::info::run(args),
    }
}
