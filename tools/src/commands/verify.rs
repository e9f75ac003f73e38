//! `holdall verify`: reads everything, and reports each fault.
//!
//! With `--json`, one object per path, on a line of its own:
//!
//! - `path`: string
//! - `faults`: list of `{"part": string, "message": string, "position": number or null}`. `position` is the number of
//!   the record or chunk.
//! - `files`: only of a set that cannot be opened as a whole: a list of such objects, one for each of its files
//! - `intact`, `corrupt`, `unchecked`: numbers of records or chunks
//! - `result`: `"intact"`, `"corrupt"`, `"unsupported"` (no other fault than content that is not supported),
//!   `"unreadable"` (the reason is on standard error), or `"changed"` (a writer committed during each attempt)

use crate::cli::Verify;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::output::Output;
use crate::{options, progress, report, signals};
use holdall::{Bag, Error, Options, Status};
use serde_json::json;

/// What is known about a path, or about several files.
#[derive(Default)]
struct Verdict {
    intact: u64,
    corrupt: u64,
    unchecked: u64,
    /// Something is corrupt.
    is_corrupt: bool,
    /// Something is not supported: a codec, a version, a kind of object.
    is_unsupported: bool,
    /// A fault is none of a single record or chunk.
    is_broken: bool,
    /// A writer committed during each attempt.
    is_changed: bool,
    /// It cannot be read, which was reported.
    has_failed: bool,
}

impl Verdict {
    fn has_faults(&self) -> bool {
        self.is_corrupt || self.is_unsupported
    }

    fn has_counts(&self) -> bool {
        self.intact + self.corrupt + self.unchecked > 0
    }

    /// The members of the JSON object after the faults.
    fn members(&self) -> String {
        let result = match self {
            Verdict { is_corrupt: true, .. } => "corrupt",
            Verdict { has_failed: true, .. } => "unreadable",
            Verdict { is_changed: true, .. } => "changed",
            Verdict { is_unsupported: true, .. } => "unsupported",
            _ => "intact",
        };
        let (intact, corrupt, unchecked) = (self.intact, self.corrupt, self.unchecked);
        format!(
            r#""intact":{intact},"corrupt":{corrupt},"unchecked":{unchecked},"result":"{result}"}}"#
        )
    }
}

/// Returns whether a message names a part, and not one with a longer number.
fn names(message: &str, part: &str) -> bool {
    let after = message.find(part).map(|at| &message[at + part.len()..]);
    after.is_some_and(|after| after.is_empty() || after.starts_with([':', ' ']))
}

struct Verification<'a, 'o> {
    args: &'a Verify,
    output: &'a mut Output<'o>,
}

impl Verification<'_, '_> {
    /// Prints a part of the JSON object.
    fn put(&mut self, text: &str) -> Result {
        if self.args.json { self.output.text(text) } else { Ok(()) }
    }

    fn fault(&mut self, part: &str, fault: &Error, is_first: bool) -> Result {
        let message = report::translated(fault.message());
        if self.args.json {
            let separator = if is_first { "" } else { "," };
            let fault = json!({"part": part, "message": message, "position": fault.position()});
            return self.output.text(format_args!("{separator}{fault}"));
        }
        let message = report::printable(&message);
        match report::printable(part) {
            part if names(&message, &part) => self.output.line(message),
            part => self.output.line(format_args!("{part}: {message}")),
        }
    }

    /// Verifies one path, and prints its faults. Damage is a result; that something cannot be read
    /// at all (it is absent, the disk fails) is an error.
    fn verify_one(&mut self, path: &FileName, options: &Options) -> Result<Verdict> {
        let (mut verdict, mut printed) = (Verdict::default(), Ok(()));
        self.put(&format!(r#"{{"path":{},"faults":["#, json!(path)))?;
        progress::begin_with("verify", self.args.progress);
        let verified = holdall::verify(path.path(), options, |part, fault| {
            if !fault.status().is_corruption() {
                library(path)(fault.clone()).report_message();
                verdict.has_failed = true;
                return true;
            }
            let is_first = !verdict.has_faults();
            let is_damage = !fault.status().is_unsupported();
            verdict.is_corrupt |= is_damage;
            verdict.is_unsupported |= !is_damage;
            verdict.is_broken |= is_damage && fault.position().is_none();
            progress::suspend(|| printed = self.fault(part, fault, is_first));
            printed.is_ok()
        });
        progress::end();
        printed?;
        self.put("],")?;
        match verified {
            Ok(found) => {
                (verdict.intact, verdict.corrupt) = (found.intact, found.corrupt);
                verdict.unchecked = found.unchecked;
            }
            Err(_) if signals::stopped() => return Err(Failure::Stopped),
            Err(error) if !verdict.has_faults() && !verdict.has_failed => {
                verdict.is_changed = error.status() == Status::Busy;
                verdict.has_failed = !verdict.is_changed;
                library(path)(error).report_message();
            }
            Err(_) => {}
        }
        Ok(verdict)
    }

    fn counts(&mut self, path: &FileName, verdict: &Verdict) -> Result {
        let container = detect::container(path, self.args.source.frame.at).name();
        let broken = match verdict.is_broken {
            true => format!("; this is not an intact {container}"),
            false => String::new(),
        };
        let Verdict { intact, corrupt, unchecked, .. } = verdict;
        self.output.line(format_args!(
            "{path}: {intact} intact, {corrupt} corrupt, {unchecked} unchecked{broken}"
        ))
    }

    /// Verifies each file of a set: a fault in one of them does not hide the others.
    fn verify_each(&mut self, path: &FileName, files: &[FileName], all: &mut Verdict) -> Result {
        let is_text = !report::is_quiet() && !self.args.json;
        let mut bag = self.args.source.bag.clone();
        bag.read.shard_order = None;
        let options = options::bag(options::reading(&self.args.source.reading), &bag)?;
        all.is_broken = false;
        let (mut separator, mut faulty) = (r#""files":["#, 0);
        for file in files {
            self.put(separator)?;
            separator = ",";
            let verdict = self.verify_one(file, &options)?;
            self.put(&verdict.members())?;
            if is_text && verdict.has_faults() {
                self.counts(file, &verdict)?;
            }
            all.intact += verdict.intact;
            all.corrupt += verdict.corrupt;
            all.unchecked += verdict.unchecked;
            all.is_changed |= verdict.is_changed;
            faulty += usize::from(verdict.has_faults() || verdict.has_failed);
        }
        self.put("],")?;
        if is_text {
            self.counts(path, all)?;
            let n = files.len();
            self.output.line(format_args!("{path}: {faulty} of {n} files are faulty"))?;
        }
        Ok(())
    }

    /// Verifies a path. A set that cannot be opened says nothing of most of its files.
    fn verify(&mut self, path: &FileName, options: &Options) -> Result<Verdict> {
        let mut verdict = self.verify_one(path, options)?;
        let is_broken = (verdict.has_faults() || verdict.has_failed) && !verdict.has_counts();
        let mut files = Vec::new();
        if is_broken
            && path.bytes().iter().any(|byte| matches!(byte, b'@' | b','))
            && detect::container(path, self.args.source.frame.at) == Container::Bag
        {
            let found = Bag::files(path.path()).unwrap_or_default();
            files = found.into_iter().map(|file| file.into_os_string().into()).collect();
        }
        let is_known = verdict.has_counts() || !(verdict.has_failed || verdict.is_changed);
        if files.len() > 1 {
            self.verify_each(path, &files, &mut verdict)?;
        } else if !report::is_quiet() && !self.args.json && is_known {
            self.counts(path, &verdict)?;
        }
        self.put(&(verdict.members() + "\n"))?;
        Ok(verdict)
    }
}

pub fn run(args: &Verify, usage: &Usage) -> Result<Exit> {
    signals::catch();
    usage.refuse(&["unchecked"], "commands that print or copy content")?;
    usage.fit_paths(&args.paths, args.source.frame.at)?;
    let options = options::source(&args.source)?;
    let mut output = Output::standard();
    let mut verification = Verification { args, output: &mut output };
    let (mut corrupt, mut unsupported, mut failed, mut changed) = (0, 0, 0, 0);
    for path in &args.paths {
        let verdict = match verification.verify(path, &options) {
            Err(Failure::Stopped) => {
                // what was found so far
                output.flush()?;
                return Err(Failure::Stopped);
            }
            verdict => verdict?,
        };
        corrupt += usize::from(verdict.is_corrupt);
        unsupported += usize::from(verdict.is_unsupported && !verdict.is_corrupt);
        failed += usize::from(verdict.has_failed);
        changed += usize::from(verdict.is_changed);
    }
    let code = match (corrupt + unsupported + failed, changed) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::Changed,
        _ => Exit::Failed,
    };
    let code = output.finish(code)?;
    if corrupt + unsupported > 0 {
        report::error(&summary(args.paths.len(), corrupt, unsupported, failed));
    }
    Ok(code)
}

fn summary(paths: usize, corrupt: usize, unsupported: usize, failed: usize) -> String {
    let counts = [
        ("damage was found in ", corrupt, ""),
        ("content that is not supported in ", unsupported, ""),
        ("", failed, " could not be read"),
    ];
    let counts = counts.iter().filter(|(_, n, _)| *n > 0).enumerate();
    let parts: Vec<String> = counts
        .map(|(i, (before, n, after))| match i {
            0 => format!("{before}{n} of {paths}{after}"),
            _ => format!("{before}{n}{after}"),
        })
        .collect();
    format!("verify: {}", parts.join(", "))
}
