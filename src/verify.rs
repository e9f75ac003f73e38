//! Verifies a path of any format. The result must describe a single commit, so verification starts
//! again if a writer commits during an attempt.
#![forbid(unsafe_code)]

use crate::array;
use crate::bag;
use crate::dataset::open::is_local;
use crate::error::{Error, Result, Status, fail};
use crate::identify::{check_bag, identify, is_bloscpack, is_store};
use crate::options::{Opt, Options};
use crate::store::path::Named;
use crate::store::{self, NodeLocation};
use crate::superchunk::{bloscpack, frame};
use crate::table;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Minimum number of attempts. Further attempts follow until [`PATIENCE`] has elapsed.
const ATTEMPTS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between attempts, longer than the granularity of file system timestamps.
const PAUSE: Duration = Duration::from_millis(20);

/// The layer that verifies a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Store,
    Frame,
    Folder,
    Bloscpack,
    Bag,
}

impl Target {
    /// Detects the layer for a path.
    fn at(path: &OsStr, options: &Options) -> Result<Target> {
        Ok(match frame::is_at(path, options)? {
            _ if is_store(path)? => Target::Store,
            true => Target::Frame,
            false if is_local(path) => Target::Folder,
            false if is_bloscpack(path)? => Target::Bloscpack,
            false => {
                check_bag(path, options)?;
                Target::Bag
            }
        })
    }

    /// Returns the name of a part of the container, for messages.
    fn part_name(self) -> &'static str {
        if self == Target::Bag {
            "record"
        } else {
            "chunk"
        }
    }
}

/// A callback for each fault, called with the name of the faulty part. Returns whether to continue.
type Report<'a> = &'a mut dyn FnMut(&str, &Error) -> bool;

/// Verifies the container at a path, or a node of a store, as [`verify_path`] does.
pub fn verify(path: &OsStr, options: &Options, report: Report<'_>) -> Result<[u64; 3]> {
    match store::path::named(path, options)? {
        Named::Other => verify_path(path, options, report),
        Named::Node(NodeLocation::Path(path)) => verify_path(&path, options, report),
        Named::Table(store, root) => {
            let found = store.verify_below(&root, options, report);
            found.map(|v| [v.intact, v.corrupt, v.unchecked])
        }
        Named::Node(NodeLocation::Folder(folder)) => {
            let found = array::verify_in(&folder, OsStr::new(""), options, |e| {
                report(&part_of(Target::Frame, path, e), e)
            });
            found.map(|v| [v.intact, v.corrupt, v.unchecked])
        }
    }
}

/// Verifies the container at a path and passes each fault to `report`. Returns how many records or
/// chunks are intact, corrupt, and without a checksum. Returns `Busy` if a writer committed during
/// every attempt; the state of the container is then unknown.
fn verify_path(path: &OsStr, options: &Options, report: Report<'_>) -> Result<[u64; 3]> {
    let mut reported = HashSet::new();
    // an earlier attempt may have reported the same fault
    let mut report_once = |part: &str, e: &Error| {
        let mut hasher = DefaultHasher::new();
        (part, &e.message).hash(&mut hasher);
        !reported.insert(hasher.finish()) || report(part, e)
    };
    let found = retry(PATIENCE, |attempt| {
        let (mut target, mut changed, mut stopped) = (Target::Bag, false, false);
        let found = Target::at(path, options).and_then(|detected| {
            target = detected;
            let mut fault = |part: Option<&str>, e: &Error| {
                changed |= is_change(e);
                stopped |= !changed && !report_once(part.unwrap_or(&part_of(detected, path, e)), e);
                !changed && !stopped
            };
            match detected {
                Target::Store => store::verify(path, options, &mut |part, e| fault(Some(part), e))
                    .map(|v| [v.intact, v.corrupt, v.unchecked]),
                Target::Frame => array::verify(path, options, |e| fault(None, e))
                    .map(|v| [v.intact, v.corrupt, v.unchecked]),
                Target::Folder => {
                    table::verify(path, options, fault).map(|v| [v.intact, v.corrupt, v.unchecked])
                }
                Target::Bloscpack => bloscpack::verify(path, options, |e| fault(None, e))
                    .map(|v| [v.intact, v.corrupt, v.unchecked]),
                Target::Bag => {
                    let v = bag::verify(path, options, attempt > 1, |e| fault(None, e))?;
                    let found = [v.intact, v.corrupt, v.unchecked];
                    // an empty file is a bag only if its name or the caller says so
                    if found == [0; 3] && options.given(Opt::Codec).is_none() {
                        identify(path)?;
                    }
                    Ok(found)
                }
            }
        });
        match found {
            Ok(found) if !changed => Ok(Some(found)),
            Err(e) if !changed && !is_change(&e) => {
                // errors of the arguments and a cancelled call are not faults of the container
                if !stopped && !matches!(e.status, Status::Argument | Status::Cancelled) {
                    report_once(&part_of(target, path, &e), &e);
                }
                Err(e)
            }
            _ => Ok(None),
        }
    })?;
    let message = "a writer changed the container during every attempt to verify it, so its state is unknown; verify it again when fewer writes are in progress";
    found.ok_or_else(|| fail!(Busy, "{}: {message}", path.display()))
}

/// Calls `attempt` with 1, 2, … until it returns a value. Returns `None` if it returns none for as
/// long as `patience`.
fn retry<T>(
    patience: Duration,
    mut attempt: impl FnMut(u32) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let begun = Instant::now();
    for n in 1.. {
        match attempt(n)? {
            None if n >= ATTEMPTS && begun.elapsed() >= patience => break,
            None => std::thread::sleep(PAUSE),
            found => return Ok(found),
        }
    }
    Ok(None)
}

/// Returns whether an error is due to a concurrent writer and not to the content.
fn is_change(e: &Error) -> bool {
    matches!(e.status, Status::State | Status::Busy)
}

/// Returns the name of the part that a fault is in.
fn part_of(target: Target, path: &OsStr, e: &Error) -> String {
    if e.position >= 0 {
        format!("{} {}", target.part_name(), e.position)
    } else {
        path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_end_with_a_result_an_error_or_a_timeout() {
        let after = |n: u32| move |attempt: u32| Ok((attempt == n).then_some(attempt));
        assert_eq!(retry(Duration::ZERO, after(1)), Ok(Some(1)));
        assert_eq!(retry(Duration::ZERO, after(ATTEMPTS)), Ok(Some(ATTEMPTS)));
        assert_eq!(retry(Duration::ZERO, after(ATTEMPTS + 1)), Ok(None));
        assert_eq!(
            retry(Duration::MAX, after(ATTEMPTS + 1)),
            Ok(Some(ATTEMPTS + 1))
        );
        let failed = fail!(Io, "no disk");
        assert_eq!(
            retry::<()>(Duration::MAX, |_| Err(failed.clone())),
            Err(failed)
        );
    }
}
