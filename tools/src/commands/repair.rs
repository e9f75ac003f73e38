//! `holdall repair`: restores the last consistent state.
//!
//! With `--json`, one object, also of a failure:
//!
//! - `path`: string
//! - `unit`: `"record"` or `"chunk"`
//! - `retained`, `lost`: numbers of them; null: the repair failed, and nothing changed
//! - `metadata_lost`: whether the metadata of a superchunk were corrupt and are removed
//! - `corrupt`: number of records that are corrupt still; null for other containers
//! - `damaged`: list of strings, the parts other than records that were found damaged
//! - `columns_lost`: list of strings, the columns of a table that were removed
//! - `parts_removed`: list of strings, the names of parts that were never committed
//!
//! With `--dry-run`, the same object.

use crate::cli::Repair;
use crate::cli::groups::BagInput;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Exit, Failure, Result, library, repair};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::{self, plural};
use crate::{failure, options, signals};
use holdall::{Format, Options, Schunk};
use serde::Serialize;

/// Characters of names in a message.
const LISTED: usize = 400;

#[derive(Default, Serialize)]
struct Found {
    path: FileName,
    unit: &'static str,
    retained: Option<u64>,
    lost: Option<u64>,
    metadata_lost: bool,
    corrupt: Option<u64>,
    damaged: Vec<String>,
    columns_lost: Vec<String>,
    parts_removed: Vec<String>,
}

/// The options of the repair.
fn repair_options(args: &Repair) -> Result<Options> {
    let mut options = options::changing(&args.changing).progress(|_, _| !signals::stopped());
    options = options.skip_corrupt(args.skip_damaged).dry_run(args.dry_run);
    if args.unchecked {
        options = options.verify(holdall::Verify::Never);
    }
    bag_options(options, args)
}

fn bag_options(options: Options, args: &Repair) -> Result<Options> {
    let mut bag = BagInput { codec: args.codec.clone(), ..BagInput::default() };
    bag.read.limits = args.limits;
    options::bag(options, &bag)
}

/// The options of reading the result. After a dry run, the reader repairs in memory.
fn result_options(args: &Repair) -> Result<Options> {
    match args.dry_run {
        true => repair_options(args),
        false => bag_options(reading(args), args),
    }
}

fn reading(args: &Repair) -> Options {
    options::changing(&args.changing).progress(|_, _| !signals::stopped())
}

fn listed(names: &[String]) -> String {
    report::shortened(&names.join(", "), LISTED)
}

/// What verification finds damaged in a superchunk or a dataset before a repair.
#[derive(Default)]
struct Damage {
    parts: Vec<String>,
    chunks: Vec<u64>,
}

impl Damage {
    fn find(args: &Repair) -> Damage {
        let mut damage = Damage::default();
        let options = reading(args);
        // what prevents verification is one of the faults
        let _ = holdall::verify(args.path.path(), &options, |part, fault| {
            damage.chunks.extend(fault.position());
            if part != args.path.text() && !damage.parts.iter().any(|known| known == part) {
                damage.parts.push(part.to_owned());
            }
            true
        });
        damage
    }
}

/// Repairs a superchunk or a dataset. Returns whether nothing was lost that `--skip-damaged` gives
/// up.
fn chunks(args: &Repair, container: Container, found: &mut Found) -> Result<bool> {
    let path = &args.path;
    let options = repair_options(args)?;
    let in_memory = options.clone().dry_run(true);
    let planned = holdall::repair(path.path(), &in_memory).map_err(library(path))?;
    // superchunks and frames
    let is_chunked = |format| format == Format::Bloscpack || detect::is_frame(format);
    let is_superchunk =
        container == Container::Superchunk || detect::format(path, None).is_some_and(is_chunked);
    let damage = if planned.dropped > 0 { Damage::find(args) } else { Damage::default() };
    found.columns_lost.clone_from(&planned.columns_lost);
    found.damaged = damage.parts;
    if is_superchunk && !args.skip_damaged {
        let left = Schunk::open_with(path, &in_memory).map_or(u64::MAX, |schunk| schunk.chunks());
        if damage.chunks.iter().any(|chunk| *chunk < left) {
            let parts = listed(&found.damaged);
            return Err(failure!("{path}: damaged: {parts} (--skip-damaged replaces it by zeros)"));
        }
    }
    let done = if args.dry_run {
        planned
    } else {
        holdall::repair(path.path(), &options).map_err(library(path))?
    };
    found.parts_removed = done.parts_removed;
    found.metadata_lost = done.metadata_lost;
    if found.metadata_lost {
        report::error(&format!(
            "{path}: the metadata were damaged and are gone; where they made it an array, type and shape went with them"
        ));
    }
    // the library counts them with the chunks
    let lost = done.dropped.saturating_sub(u64::from(found.metadata_lost));
    (found.retained, found.lost) = (Some(done.retained), Some(lost));
    if !found.columns_lost.is_empty() {
        let s = plural(found.columns_lost.len() as u64);
        let names = listed(&found.columns_lost);
        report::error(&format!("{path}: column{s} removed: {names} (they cannot be repaired)"));
    } else if args.skip_damaged && lost > 0 {
        let instead = if is_superchunk { "zeros replace it" } else { "replaced or removed" };
        let parts =
            if found.damaged.is_empty() { unit_count(found, lost) } else { listed(&found.damaged) };
        report::error(&format!("{path}: damaged: {parts}; {instead}"));
    }
    Ok(!found.metadata_lost && (!args.skip_damaged || lost == 0))
}

fn unit_count(found: &Found, n: u64) -> String {
    format!("{n} {}{}", found.unit, plural(n))
}

/// Repairs a bag. Returns whether nothing was cut off and all records are intact: repair changes
/// none of them.
fn records(args: &Repair, found: &mut Found) -> Result<bool> {
    let (path, mut first) = (&args.path, None);
    let repaired = holdall::repair(path.path(), &repair_options(args)?).map_err(repair(path))?;
    (found.retained, found.lost) = (Some(repaired.retained), Some(repaired.dropped));
    found.parts_removed = repaired.parts_removed;
    let is_cut = args.skip_damaged && repaired.dropped > 0;
    if is_cut {
        report::error(&format!(
            "{path}: the bytes after its last complete frame could not be retained as records: they are in a file .holdall-damaged beside it"
        ));
    }
    let verified = holdall::verify(path.path(), &result_options(args)?, |_, fault| {
        first.get_or_insert_with(|| fault.clone());
        true
    });
    let corrupt = verified.as_ref().map_or(0, |verified| verified.corrupt);
    found.corrupt = Some(corrupt);
    let fault = verified.err().or(first);
    if let (0, Some(error)) = (corrupt, &fault) {
        report::error(&report::library_message(path, error));
    }
    if corrupt > 0 {
        let are = if corrupt == 1 { " is" } else { "s are" };
        report::error(&format!(
            "{path}: {corrupt} record{are} corrupt, and cannot be repaired: verify names each, convert --skip-damaged copies the others to another bag"
        ));
    }
    Ok(!is_cut && fault.is_none())
}

pub fn run(args: &Repair, usage: &Usage) -> Result<Exit> {
    usage.fit_paths(std::slice::from_ref(&args.path), None)?;
    let container = detect::container(&args.path, None);
    let unit = if container == Container::Bag { "record" } else { "chunk" };
    let mut found = Found { path: args.path.clone(), unit, ..Found::default() };
    let repaired = match container {
        Container::Bag => records(args, &mut found),
        _ => chunks(args, container, &mut found),
    };
    let is_complete = match repaired {
        Err(Failure::Message(text)) => {
            report::error(&text);
            false
        }
        repaired => repaired?,
    };
    let mut output = Output::standard();
    if args.json {
        output.line(serde_json::json!(found))?;
    } else if let (false, Some(retained), Some(lost)) =
        (report::is_quiet(), found.retained, found.lost)
    {
        let path = &args.path;
        output
            .line(format_args!("{path}: {} retained, {lost} lost", unit_count(&found, retained)))?;
        let n = found.parts_removed.len();
        if n > 0 {
            let (s, names) = (plural(n as u64), listed(&found.parts_removed));
            output.line(format_args!("{path}: removed {n} uncommitted part{s}: {names}"))?;
        }
    }
    output.finish(Exit::damaged(!is_complete))
}
