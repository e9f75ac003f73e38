//! `holdall split`: consecutive records of a bag into several bags.

use super::Access;
use super::copy::Source;
use super::reader::Reader;
use super::writer::{Mode, Plan};
use crate::cli::groups::BagOutput;
use crate::cli::slice::Slice;
use crate::cli::{Split, one_operand};
use crate::failure::{Exit, Result};
use crate::report::{self, plural};
use crate::{progress, signals, usage};
use holdall::Bag;

pub fn run(args: &Split) -> Result<Exit> {
    let (input, out) = one_operand(&args.paths, &args.output)?;
    let (plan_options, n) = (&args.target, u64::from(args.parts));
    let mode = Mode::of(false, args.output.force)?;
    let plans = (0..args.parts).map(|i| {
        let part = BagOutput { shards: Some(args.parts), shard: Some(i), ..BagOutput::default() };
        Plan::of_target(out, mode, &part, plan_options, args.reading.threads, &args.sync)
    });
    let plans = plans.collect::<Result<Vec<_>>>()?;
    let source = Source::new(input, out, args.target.codec.codec);
    let access = source.access(&args.reading, &args.bag)?;
    let size = access.open(input)?.len();
    if n > size.max(1) {
        return Err(usage!("--parts {n}: '{input}' has {size} record{}", plural(size)));
    }
    signals::catch();
    progress::begin("split");
    let mut complete = 0;
    let written = write(args, &source, &access, input, &plans, &mut complete);
    if written.is_err() && mode == Mode::Create {
        plans[..complete].iter().for_each(|plan| remove(&plan.path));
    }
    let damaged = written?;
    progress::end();
    report::note(&format!(
        "{input}: {} record{} in {n} bag{}, {} to {}",
        size - damaged,
        plural(size - damaged),
        plural(n),
        plans[0].path,
        plans[plans.len() - 1].path
    ));
    Ok(Exit::damaged(damaged > 0))
}

/// Writes the parts one after the other, so that files and memory in use do not grow with their
/// number. Counts those that are complete, and returns the number of damaged records that were left
/// out.
fn write(
    args: &Split,
    source: &Source,
    access: &Access,
    input: &str,
    plans: &[Plan],
    complete: &mut usize,
) -> Result<u64> {
    let size = access.open(input)?.len();
    let end = |i: usize| (u128::from(size) * i as u128 / plans.len() as u128) as i64;
    let mut damaged = 0;
    for (i, plan) in plans.iter().enumerate() {
        let slice = Slice { start: Some(end(i)), stop: Some(end(i + 1)), step: None };
        let part = Access { slice: Some(slice), ..access.clone() };
        let mut reader = Reader::open(input, &part, args.skip_damaged)?;
        let mut writer = plan.open()?;
        source.copy(&mut reader, &mut writer)?;
        damaged += reader.damaged;
        writer.commit(None)?;
        *complete += 1;
    }
    Ok(damaged)
}

/// Removes a bag that was just written, with its checksums.
fn remove(spec: &str) {
    for file in Bag::files(spec).unwrap_or_default() {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // what cannot be removed stays
        let _ = std::fs::remove_file(file.with_file_name(format!("checksums.{name}")));
        let _ = std::fs::remove_file(&file);
    }
}
