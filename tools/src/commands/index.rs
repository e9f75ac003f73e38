//! `holdall index`: indexes of bags.

use crate::bag;
use crate::cli::Index;
use crate::failure::{Exit, Result};

pub fn run(args: &Index) -> Result<Exit> {
    bag::index::run(args)
}
