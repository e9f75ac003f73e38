//! `holdall split`: consecutive records of a bag into several bags.

use super::copy::Source;
use super::reader::Reader;
use super::writer::{Mode, Plan};
use crate::cli::groups::BagOutput;
use crate::cli::{Split, one_operand};
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::report::{self, plural};
use crate::{progress, signals, usage};
use holdall::Bag;
use std::ffi::OsString;

pub fn run(args: &Split) -> Result<Exit> {
    let (n, args) = (u64::from(args.parts), &args.copy);
    let (input, out) = one_operand(&args.paths, &args.output)?;
    let (target, mode) = (&args.target, Mode::of(false, args.output.force)?);
    let plans = (0..n as u32).map(|i| {
        let part = BagOutput { shards: Some(n as u32), shard: Some(i), ..BagOutput::default() };
        Plan::new(out, mode, &part, target, args.reading.threads, &args.sync)
    });
    let plans = plans.collect::<Result<Vec<_>>>()?;
    let source = Source::new(input, out, target.codec.codec);
    let bag = source.access(&args.reading, &args.bag)?.open(input)?;
    let size = bag.len();
    if n > size.max(1) {
        return Err(usage!("--parts {n}: '{input}' has {size} record{}", plural(size)));
    }
    signals::catch();
    progress::begin("split");
    let mut complete = 0;
    // one part after the other: files and memory in use do not grow with their number
    let parts = plans.iter().map(|plan| {
        let end = |i: u64| (u128::from(size) * u128::from(i) / u128::from(n)) as u64;
        let part = bag.slice(end(complete)..end(complete + 1)).map_err(library(input))?;
        let mut reader = Reader::of(input, part, args.skip_damaged);
        let mut writer = plan.open()?;
        source.copy(&mut reader, &mut writer)?;
        writer.commit(None)?;
        complete += 1;
        Ok(reader.damaged)
    });
    let written: Result<u64> = parts.sum();
    if written.is_err() && mode == Mode::Create {
        plans[..complete as usize].iter().for_each(|plan| remove(&plan.path));
    }
    let damaged = written?;
    progress::end();
    if let ([first, ..], [.., last]) = (&plans[..], &plans[..]) {
        let (records, s) = (size - damaged, plural(size - damaged));
        let (first, last, parts) = (&first.path, &last.path, plural(n));
        report::note(&format!("{input}: {records} record{s} in {n} bag{parts}, {first} to {last}"));
    }
    Ok(Exit::damaged(damaged > 0))
}

/// Removes a bag that was just written, with its checksums.
fn remove(spec: &FileName) {
    for file in Bag::files(spec.path()).unwrap_or_default() {
        let mut checksums = OsString::from("checksums.");
        checksums.push(file.file_name().unwrap_or_default());
        // what cannot be removed stays
        let _ = std::fs::remove_file(file.with_file_name(checksums));
        let _ = std::fs::remove_file(&file);
    }
}
