//! `holdall merge` of bags.

use super::copy::Source;
use super::reader::Reader;
use super::writer::{Mode, Plan};
use crate::cli::groups::{BagCopy, BagOutput};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::{progress, signals};

pub fn run(args: &BagCopy, inputs: &[FileName], out: &FileName) -> Result<Exit> {
    let (mode, part) = (Mode::of(false, args.output.force)?, BagOutput::default());
    let plan = Plan::new(out, mode, &part, &args.target, args.reading.threads, &args.sync)?;
    signals::catch();
    progress::begin("merge");
    let mut writer = plan.open()?;
    let mut damaged = 0;
    for input in inputs {
        let source = Source::new(input, out, args.target.codec.codec);
        let access = source.access(&args.reading, &args.bag)?;
        let mut reader = Reader::open(input, &access, args.skip_damaged)?;
        source.copy(&mut reader, &mut writer)?;
        damaged += reader.damaged;
    }
    writer.commit(Some("merged"))?;
    Ok(Exit::damaged(damaged > 0))
}
