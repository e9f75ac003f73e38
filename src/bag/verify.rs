//! Verifies a bag: reads every byte and reports all corruption.
#![forbid(unsafe_code)]

use super::batch::{BatchConfig, Skip};
use super::{Bag, READ_OPTIONS, Requested, spec};
use crate::error::{Error, Result, Status};
use crate::options::{Opt, Options};
use std::ffi::{OsStr, OsString};

/// The result of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records that decode and match their checksum.
    pub intact: u64,
    /// Records that cannot be read.
    pub corrupt: u64,
    /// Records that decode but have no checksum.
    pub unchecked: u64,
}

/// Verifies a bag. Each fault is passed to `fault`, which returns whether to continue.
///
/// If the bag cannot be opened, that is a single fault and no records are counted. Returns `Busy`
/// if a writer commits during the verification. `retry` must be true after such a failure: the
/// limits are then read into memory, if the memory limit permits, so that appends do not interrupt
/// reading.
pub fn verify(
    spec: &OsStr,
    options: &Options,
    retry: bool,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    let known: Vec<Opt> = READ_OPTIONS
        .iter()
        .copied()
        .filter(|o| !matches!(o, Opt::Verify | Opt::SkipDamaged))
        .collect();
    options.only("holdall_verify", &known)?;
    spec::expand_nonempty(spec)?;
    let alone = options.clone();
    // An interleaved set beside other files cannot be opened as one bag: verify file by file.
    let options = match spec::expand_sets(spec)? {
        (files, sets)
            if options.given(Opt::BagShards).is_none()
                && sets.iter().any(|s| s.len() < files.len()) =>
        {
            &alone.with(Opt::BagShards, 0)?
        }
        _ => options,
    };
    let cached = if retry {
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
        Err(e) => report_each_file(spec, options, e, fault),
    }
}

/// Reports every file that prevents a bag of several files from being opened. The last fault is
/// returned as the error of the whole bag.
fn report_each_file(
    spec: &OsStr,
    options: &Options,
    bag_error: Error,
    mut fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    let files = spec::expand(spec).unwrap_or_default();
    let alone = |file: &OsString| Bag::open_files(std::slice::from_ref(file), &[], options).err();
    let mut faults: Vec<Error> = if files.len() > 1 {
        files.iter().filter_map(alone).collect()
    } else {
        Vec::new()
    };
    let last = faults.pop().unwrap_or(bag_error);
    let go_on = faults.iter().all(&mut fault);
    if go_on {
        Err(last)
    } else {
        Ok(Verified::default())
    }
}

/// Like [`verify`], for an open bag.
pub fn verify_bag(bag: &Bag, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
    let mut found = Verified::default();
    for shard in &bag.set.shards {
        if let Err(e) = shard.verify_dictionary() {
            bag.check_unchanged().map_err(Error::into_busy)?;
            if !e.status.is_corruption() {
                return Err(e);
            }
            if !fault(&e) {
                return Ok(found);
            }
        }
    }
    let mut stopped = false;
    let batch_config = BatchConfig {
        skip: Skip::Damaged,
        ..bag.batch_config()
    };
    let walked = bag.batches(
        Requested::Range(0, bag.size()),
        batch_config,
        &mut |first, records| {
            let alone;
            let damaged = match records {
                Ok(records) => {
                    let corrupt = records.damaged.len() as u64;
                    found.corrupt += corrupt;
                    found.unchecked += records.unchecked;
                    found.intact +=
                        (records.len() as u64).saturating_sub(corrupt + records.unchecked);
                    &records.damaged[..]
                }
                Err(e) => {
                    found.corrupt += 1;
                    alone = [(0, e)];
                    &alone[..]
                }
            };
            for (at, e) in damaged {
                bag.check_unchanged().map_err(Error::into_busy)?;
                if !fault(&super::read::positioned(e.clone(), first + at)) {
                    stopped = true;
                    return Err(Error::new(Status::Cancelled, ""));
                }
            }
            Ok(())
        },
    );
    match walked {
        Err(e) if !(stopped && e.status == Status::Cancelled) => Err(e),
        _ => Ok(found),
    }
}
