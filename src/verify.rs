//! Verifying a path, whatever it is: what is found counts only for one commit, so it starts again
//! where a writer came in between.
#![forbid(unsafe_code)]

use crate::array;
use crate::bag;
use crate::dataset::open::is_local;
use crate::error::{Error, Result, Status, fail};
use crate::identify::{identify, is_bloscpack};
use crate::options::{Opt, Options};
use crate::superchunk::{bloscpack, frame};
use crate::table;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Attempts that are made however long they take; more are made for [`PATIENCE`].
const ATTEMPTS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than a file system takes for two changes that it gives the same time.
const PAUSE: Duration = Duration::from_millis(20);

/// How a path is verified.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Frame,
    Folder,
    Bloscpack,
    Bag,
}

impl What {
    /// What is at a path.
    fn at(path: &OsStr, options: &Options) -> Result<What> {
        Ok(match frame::is_at(path, options)? {
            true => What::Frame,
            false if is_local(path) => What::Folder,
            false if is_bloscpack(path)? => What::Bloscpack,
            false => What::Bag,
        })
    }

    /// What its parts are called.
    fn part(self) -> &'static str {
        if self == What::Bag { "record" } else { "chunk" }
    }
}

/// Told of each fault: which part it is in, and whether to go on.
type Tell<'a> = &'a mut dyn FnMut(&str, &Error) -> bool;

/// Verifies what is at a path; every fault goes to `tell`. How many records or chunks are intact,
/// corrupt, and without a checksum. `Busy` where a writer committed during each attempt: that says
/// nothing of the container.
pub fn verify(path: &OsStr, options: &Options, tell: Tell<'_>) -> Result<[u64; 3]> {
    let mut told = HashSet::new();
    // an attempt before this one may have told of it
    let mut tell_once = |part: &str, e: &Error| {
        let mut hasher = DefaultHasher::new();
        (part, &e.message).hash(&mut hasher);
        !told.insert(hasher.finish()) || tell(part, e)
    };
    let found = retry(PATIENCE, |attempt| {
        let (mut what, mut changed, mut stopped) = (What::Bag, false, false);
        let found = What::at(path, options).and_then(|at| {
            what = at;
            let mut fault = |part: Option<&str>, e: &Error| {
                changed |= is_change(e);
                stopped |= !changed && !tell_once(part.unwrap_or(&part_of(at, path, e)), e);
                !changed && !stopped
            };
            match at {
                What::Frame => array::verify(path, options, |e| fault(None, e))
                    .map(|v| [v.sound, v.bad, v.unchecked]),
                What::Folder => {
                    table::verify(path, options, fault).map(|v| [v.sound, v.bad, v.unchecked])
                }
                What::Bloscpack => bloscpack::verify(path, options, |e| fault(None, e))
                    .map(|v| [v.sound, v.bad, v.unchecked]),
                What::Bag => {
                    let v = bag::verify(path, options, attempt > 1, |e| fault(None, e))?;
                    let found = [v.sound, v.bad, v.unchecked];
                    // an empty file is a bag only where its name, or the caller, says so
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
                // the others are no faults of what is there
                if !stopped && !matches!(e.status, Status::Argument | Status::Cancelled) {
                    tell_once(&part_of(what, path, &e), &e);
                }
                Err(e)
            }
            _ => Ok(None),
        }
    })?;
    let words = "a writer changed it each time it was being verified, which says nothing of it; verify it again while less is written";
    found.ok_or_else(|| fail!(Busy, "{}: {words}", path.display()))
}

/// Calls `attempt` with 1, 2, … until it gives something; nothing where it does not for so long.
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

/// Does an error tell of a writer, not of what is there?
fn is_change(e: &Error) -> bool {
    matches!(e.status, Status::State | Status::Busy)
}

/// What a fault is in.
fn part_of(what: What, path: &OsStr, e: &Error) -> String {
    if e.position >= 0 {
        format!("{} {}", what.part(), e.position)
    } else {
        path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_end_with_a_result_with_an_error_or_without_patience() {
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
