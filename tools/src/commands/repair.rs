//! `holdall repair`: restores the last consistent state.
//!
//! With `--json`, one object:
//!
//! - `path`: string
//! - `unit`: `"record"` or `"chunk"`
//! - `retained`, `lost`: numbers of them
//! - `metadata_lost`: whether the metadata of a superchunk were corrupt and are removed
//! - `corrupt`: number of records that are corrupt still; null for other containers
//!
//! With `--dry-run`, the same object.

use crate::cli::Repair;
use crate::cli::groups::BagInput;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result, library};
use crate::output::Output;
use crate::report::{self, plural};
use crate::{options, signals};
use holdall::{Options, Schunk};

/// The options of the repair, and of reading a bag that was repaired.
fn common_options(args: &Repair) -> Result<Options> {
    let options = Options::new().progress(|_, _| !signals::stopped());
    let options = options::given(options, args.threads, Options::threads);
    let options = options::given(options, args.memory_limit, Options::memory_limit);
    let mut bag = BagInput { codec: args.codec.clone(), ..BagInput::default() };
    bag.read.limits = args.limits;
    options::bag(options, &bag)
}

fn repair_options(options: Options, args: &Repair) -> Options {
    let mut options = options::sync(options, &args.sync);
    if args.skip_damaged {
        options = options.skip_corrupt(true);
    }
    if args.unchecked {
        options = options.verify(holdall::Verify::Never);
    }
    if args.dry_run { options.dry_run(true) } else { options }
}

/// The options of reading the result. After a dry run, the reader repairs in memory.
fn result_options(options: Options, args: &Repair) -> Options {
    if args.dry_run { repair_options(options, args) } else { options }
}

/// Returns whether a superchunk has corrupt metadata.
fn has_corrupt_metadata(args: &Repair) -> bool {
    if detect::container(&args.path, None) != Container::Superchunk {
        return false;
    }
    let options = options::given(Options::new(), args.memory_limit, Options::memory_limit);
    if let Ok(schunk) = Schunk::open_with(&args.path, &options) {
        return schunk.attribute("").is_err_and(|error| error.status().is_corruption());
    }
    // only verification reports more than the header
    let mut found = false;
    let _ = holdall::verify(&args.path, &options, |part, fault| {
        let message = fault.message();
        let message = message.strip_prefix(&format!("{part}: ")).unwrap_or(message);
        found |= fault.position().is_none() && message.starts_with("metadata");
        true
    });
    found
}

fn has_metadata(args: &Repair) -> bool {
    let opened = Schunk::open_with(&args.path, &result_options(Options::new(), args));
    opened.is_ok_and(|schunk| matches!(schunk.attribute(""), Ok(Some(_))))
}

/// Returns whether all records of a bag are intact, and how many are corrupt: repair changes none
/// of them.
fn verify_records(args: &Repair) -> Result<(bool, u64)> {
    let (path, mut first) = (&args.path, None);
    let options = result_options(common_options(args)?, args);
    let verified = holdall::verify(path, &options, |_, fault| {
        first.get_or_insert_with(|| fault.clone());
        true
    });
    let corrupt = verified.as_ref().map_or(0, |verified| verified.corrupt);
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
    Ok((fault.is_none(), corrupt))
}

pub fn run(args: &Repair, usage: &Usage) -> Result<Exit> {
    let path = &args.path;
    usage.fit_paths(std::slice::from_ref(path), None)?;
    let had_corrupt_metadata = has_corrupt_metadata(args);
    let options = repair_options(common_options(args)?, args);
    let repaired = holdall::repair(path, &options).map_err(library(path))?;
    let metadata_lost = had_corrupt_metadata && !has_metadata(args);
    // the library counts them with the chunks
    let lost = repaired.dropped.saturating_sub(u64::from(metadata_lost));
    let is_bag = detect::container(path, None) == Container::Bag;
    let unit = if is_bag { "record" } else { "chunk" };
    let mut output = Output::standard();
    let retained = repaired.retained;
    if !report::is_quiet() && !args.json {
        let (shown, suffix) = (report::printable(path), plural(retained));
        output.line(format_args!("{shown}: {retained} {unit}{suffix} retained, {lost} lost"))?;
    }
    if metadata_lost {
        report::error(&format!(
            "{path}: the metadata were damaged and are gone; where they made it an array, type and shape went with them"
        ));
    }
    let is_cut = is_bag && args.skip_damaged && lost > 0;
    if is_cut {
        report::error(&format!(
            "{path}: the bytes after its last complete frame could not be retained as records: they are in a file .holdall-damaged beside it"
        ));
    }
    let (is_intact, corrupt) = if is_bag { verify_records(args)? } else { (true, 0) };
    if args.json {
        output.line(serde_json::json!({
            "path": path, "unit": unit, "retained": retained, "lost": lost, "metadata_lost": metadata_lost,
            "corrupt": is_bag.then_some(corrupt),
        }))?;
    }
    output.finish(Exit::damaged(metadata_lost || is_cut || !is_intact))
}
