//! `holdall pack` into a bag: the lines of a file, or whole files.

use super::parser;
use super::writer::{Mode, Plan};
use crate::cli::Pack;
use crate::cli::groups::BagTarget;
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::files::{self, Input};
use crate::{detect, output, progress, signals, standard, usage};

/// Names of containers that convert makes.
const OTHERS: [(&str, &[&str]); 2] =
    [("dataset", &[".bcolz", ".blz"]), ("Blosc2 frame", &[".b2nd", ".b2frame", ".caterva"])];

fn check_names(args: &Pack, inputs: &[FileName], out: &FileName) -> Result {
    let absent = FileName::default();
    let first = inputs.first().unwrap_or(&absent);
    let is_named = |ends: &[&str]| ends.iter().any(|end| out.ends_with(end));
    if let Some((what, _)) = OTHERS.iter().find(|(_, ends)| is_named(ends)) {
        return Err(usage!(
            "'{out}' is the name of a {what}: convert makes one (--to bagz insists)"
        ));
    }
    if !args.whole && first.ends_with(".npy") {
        return Err(usage!(
            "lines of a .npy are no records: --to blpk, or OUT.blp, makes it an array (--to bagz insists)"
        ));
    }
    if !detect::known_ending(out, &[".bag", ".bagz"]) {
        return Err(usage!(
            "'{out}' ends in none of .bag|.bagz|.blp|.blpk (--to says what it becomes)"
        ));
    }
    if let Some(stored) = detect::stored_format(first).filter(|_| !args.whole) {
        let is_of_records = stored == "tfrecord" || stored.starts_with("arrow");
        let hint = if is_of_records { "; convert takes its records" } else { "" };
        return Err(usage!(
            "'{first}' is a file of {stored}, which has no lines (--to bagz insists){hint}"
        ));
    }
    Ok(())
}

fn plan(args: &Pack, inputs: &[FileName], out: &FileName) -> Result<Plan> {
    if args.to.is_none() {
        check_names(args, inputs, out)?;
    }
    if let ([_, more, ..], false) = (inputs, args.whole) {
        return Err(usage!("one operand too many, '{more}'"));
    }
    let mode = Mode::of(args.append, args.output.force)?;
    if mode == Mode::Append && out.is_standard() {
        return Err(usage!("--append is for a bag that exists: not '-'"));
    }
    output::refuse_terminal(Some(out), "bytes")?;
    let target = BagTarget::of(&args.encoding, &args.bag);
    let plan = Plan::new(out, mode, &args.bag, &target, args.threads, &args.sync)?;
    Ok(if args.interleaved { plan.interleaved() } else { plan })
}

/// Packs inputs into the bag `out`.
pub fn run(args: &Pack, inputs: &[FileName], out: &FileName) -> Result<Exit> {
    let plan = plan(args, inputs, out)?;
    signals::catch();
    progress::begin("pack");
    let mut writer;
    if args.whole {
        writer = plan.open()?;
        for (i, input) in inputs.iter().enumerate() {
            writer.append(&files::read_all(input)?)?;
            progress::report(i as u64 + 1, inputs.len() as u64);
        }
    } else {
        let mut input = Input::open(&inputs[0], Some(&plan.path))?;
        writer = plan.open()?;
        parser::each_line(&mut input, &mut writer)?;
    }
    let done = if plan.mode == Mode::Append { "appended" } else { "packed" };
    writer.commit(Some(done))?;
    standard::finish(out)?;
    Ok(Exit::Done)
}
