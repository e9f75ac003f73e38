//! Looks at every byte of a bag and tells of everything that is wrong with it.
#![forbid(unsafe_code)]

use super::batch::{Rules, Skip};
use super::{Bag, READ_OPTIONS, spec};
use crate::error::{Error, Result, Status};
use crate::options::{Opt, Options};
use std::ffi::{OsStr, OsString};

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records that decode and have a checksum that fits.
    pub sound: u64,
    /// Records that cannot be read.
    pub bad: u64,
    /// Records that decode and have no checksum.
    pub unchecked: u64,
}

/// Verifies a bag; every fault goes to `fault`, which says whether to go on. A bag that cannot be
/// opened at all is one fault, and nothing is counted. `Busy` where a writer came in between;
/// `again` where that happened before: with its limits in memory, as far as that is allowed, a bag
/// is read on through appends.
pub fn verify(
    spec: &OsStr,
    options: &Options,
    again: bool,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    let known: Vec<Opt> = READ_OPTIONS
        .iter()
        .copied()
        .filter(|o| !matches!(o, Opt::Verify | Opt::SkipDamaged))
        .collect();
    options.only("holdall_verify", &known)?;
    spec::expand_some(spec)?;
    let alone = options.clone();
    // of a set beside other files each is looked at as well
    let options = match spec::expand_sets(spec)? {
        (files, sets)
            if options.given(Opt::BagShards).is_none()
                && sets.iter().any(|s| s.len() < files.len()) =>
        {
            &alone.with(Opt::BagShards, 0)?
        }
        _ => options,
    };
    let cached = if again {
        Some(options.clone().with(Opt::BagLimitsCache, 1)?)
    } else {
        None
    };
    let opened = match cached.map(|cached| Bag::open(spec, &cached)) {
        Some(Err(e)) if e.status == Status::Limit => Bag::open(spec, options),
        Some(opened) => opened,
        None => Bag::open(spec, options),
    };
    match opened {
        Ok(bag) => verify_bag(&bag, fault),
        Err(e) => tell_of_each_file(spec, options, e, fault),
    }
}

/// Where a bag of several files cannot be opened, all files that keep it from that are told of; the
/// last of them is the answer, as a fault of the whole.
fn tell_of_each_file(
    spec: &OsStr,
    options: &Options,
    whole: Error,
    mut fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    let files = spec::expand(spec).unwrap_or_default();
    let alone = |file: &OsString| Bag::open_files(std::slice::from_ref(file), &[], options).err();
    let mut faults: Vec<Error> = if files.len() > 1 {
        files.iter().filter_map(alone).collect()
    } else {
        Vec::new()
    };
    let last = faults.pop().unwrap_or(whole);
    let go_on = faults.iter().all(&mut fault);
    if go_on {
        Err(last)
    } else {
        Ok(Verified::default())
    }
}

/// As [`verify`], on a bag that is open.
pub fn verify_bag(bag: &Bag, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
    let mut found = Verified::default();
    let mut stopped = false;
    let rules = Rules {
        skip: Skip::Damaged,
        ..bag.rules()
    };
    let walked = bag.batches(rules, &mut |first, records| {
        let alone;
        let damaged = match records {
            Ok(records) => {
                let bad = records.damaged.len() as u64;
                found.bad += bad;
                found.unchecked += records.unchecked;
                found.sound += (records.len() as u64).saturating_sub(bad + records.unchecked);
                &records.damaged[..]
            }
            Err(e) => {
                found.bad += 1;
                alone = [(0, e)];
                &alone[..]
            }
        };
        for (at, e) in damaged {
            bag.still().map_err(Error::because_changed)?;
            if !fault(&super::read::positioned(e.clone(), first + at)) {
                stopped = true;
                return Err(Error::new(Status::Cancelled, ""));
            }
        }
        Ok(())
    });
    match walked {
        Err(e) if !(stopped && e.status == Status::Cancelled) => Err(e),
        _ => Ok(found),
    }
}
